"""Formulas by our own grammar; patsy is the oracle for names, order, coding and values of the design."""

import contextlib
import pickle

import hypothesis.strategies as st
import numpy as np
import pandas as pd
import patsy
import pytest
from hypothesis import given, settings

from coordpath_governance.errors import UnsupportedModelError
from coordpath_governance.models.assembly import assemble
from coordpath_governance.models.formula_design import build_design
from coordpath_governance.models.formula_text import parse_formula
from coordpath_governance.models.linear_model import LinearModel
from coordpath_governance.models.pickle_objects import read_pickle_bytes
from coordpath_governance.models.stored_frames import frame_of
from tests.helpers.bent_models import score


def data(rows=40, seed=0):
    rng = np.random.default_rng(seed)
    return pd.DataFrame(
        {
            "y": rng.normal(size=rows),
            "a": rng.gamma(2.0, 1.0, rows) + 0.1,
            "k": rng.gamma(3.0, 1.0, rows) + 0.1,
            "i": rng.integers(1, 4, rows),
            "b": rng.choice(["x", "y", "z"], rows),
            "c": pd.Categorical(rng.choice(["u", "v", "w"], rows), categories=["w", "u", "v", "unused"]),
            "f": rng.random(rows) < 0.5,
            "a column": rng.normal(size=rows),
        }
    )


FRAME = data()
STORED = frame_of(read_pickle_bytes(pickle.dumps(FRAME)).root)


def design_of(formula):
    return build_design(parse_formula(formula), STORED)


def values_of(design, frame):
    """The design's columns, each as the score of a model with weight 1 there."""
    columns = []
    for position in range(len(design.names)):
        weights = [float(position == each) for each in range(len(design.names))]
        terms = assemble(weights, 0.0, design.frame, design.inputs, "the formula")
        model = LinearModel(terms.intercept, terms.numeric, terms.categorical, terms.functions)
        columns.append(score(model, frame))
    return np.array(columns).T.reshape(len(frame), len(columns))


def assert_as_patsy(formula):
    _, expected = patsy.dmatrices(formula, FRAME.astype({"b": object}), return_type="dataframe")
    design = design_of(formula)
    assert list(design.names) == list(expected.columns)
    np.testing.assert_allclose(values_of(design, FRAME), expected.to_numpy(), rtol=1e-9, atol=1e-9)


FORMULAS = [
    "y ~ a",
    "y ~ a - 1",
    "y ~ 0 + b",
    "y ~ b + 0",
    "y ~ -1 + b",
    "y ~ 1",
    "y ~ a*b",
    "y ~ a:b",
    "y ~ b:c",
    "y ~ b*c*f",
    "y ~ b:c + f:b - 1",
    "y ~ b/c",
    "y ~ (a + b)/c",
    "y ~ (a + b + c)**2 - a:b",
    "y ~ (a + k)**3",
    "y ~ C(i) + i",
    "y ~ C(i, Treatment(2))",
    "y ~ C(i, Treatment(-1))",
    "y ~ C(b, Treatment('z')) + a",
    'y ~ C(b, Treatment(reference = "y")) * a',
    "y ~ C(b, Treatment) + C(c)",
    "y ~ Q('a column') + C(Q('b'))",
    "y ~ np.log(a) + np.log1p( a*2 ) + np.sqrt(a) + np.exp(-a) + np.expm1(k/10) + np.square(a) + np.abs(k - 3)",
    "y ~ I(a**2) + I(a * k) + I((a - 1)*(k + 2)) + I(a/k) + I(1/(a + 1)) + I(-a) + I(a ** .5)",
    "y ~ I(a + k)*b",
    "np.log(I(y*y) ) ~ a",
    "y ~ a:k + b:a:k + b:k",
    "y ~ a + a + b:a + a:b",
    "y ~ f",
    "y ~ 0 + f:a",
    "y ~ np.log(np.log1p(a))",
    "y ~\n a\t+ k",
    "y ~ c",
    "y ~ (a) + ((b))",
    "y ~ (a + 0) + b",
    "y ~ a - (b - 1)",
    "y ~ + a + b",
    "y ~ " + "+".join(["a", "k"] * 150),
    "y ~ -0 + b",
    "y ~ 0 + a - 0",
    "y ~ a + b - a",
    "y ~ b:(a + 0)",
]


@pytest.mark.parametrize("formula", FORMULAS)
def test_the_design_is_patsys(formula):
    if formula == "np.log(I(y*y) ) ~ a":
        assert design_of(formula).target == "np.log(I(y * y))"
    assert_as_patsy(formula)


_COLUMNS = st.sampled_from(["a", "k", "i", "b", "c", "f", "C(i)", "C(b)", "np.log(a)", "I(a * k)", "C(b, Treatment('z'))"])


def _operations(children):
    signs = st.sampled_from(["+", "-", "*", "/", ":"])
    joined = st.tuples(children, signs, children).map(lambda each: f"({each[0]} {each[1]} {each[2]})")
    powers = st.tuples(children, st.integers(1, 3)).map(lambda each: f"({each[0]})**{each[1]}")
    return st.one_of(joined, powers)


@settings(max_examples=150, deadline=None)
@given(
    st.recursive(_COLUMNS, _operations, max_leaves=5),
    st.sampled_from(["", " - 1", " + 0", " + 1"]),
    st.booleans(),
)
def test_any_formula_of_the_grammar_makes_patsys_design(body, ending, first):
    formula = f"y ~ {'0 + ' if first else ''}{body}{ending}"
    _, expected = patsy.dmatrices(formula, FRAME.astype({"b": object}), return_type="dataframe")
    if expected.shape[1] > 60:
        return
    design = design_of(formula)
    assert list(design.names) == list(expected.columns)
    np.testing.assert_allclose(values_of(design, FRAME), expected.to_numpy(), rtol=1e-9, atol=1e-9)


_WORDS = st.sampled_from(
    [
        *("a", "k", "b", "f", "C(", "I(", "np.log(", "Q('a')", "(", ")", ")", "+", "+", "-", "*", "/", ":", "**"),
        *("0", "1", "2", ",", "Treatment('x')", ".5"),
    ]
)


@settings(max_examples=400, deadline=None)
@given(st.lists(_WORDS, min_size=1, max_size=9))
def test_whatever_is_accepted_is_what_patsy_makes_of_it(words):
    formula = f"y ~ {' '.join(words)}"
    try:
        design = design_of(formula)
    except UnsupportedModelError:
        return
    _, expected = patsy.dmatrices(formula, FRAME.astype({"b": object}), return_type="dataframe")
    assert list(design.names) == list(expected.columns)
    np.testing.assert_allclose(values_of(design, FRAME), expected.to_numpy(), rtol=1e-9, atol=1e-9)


@settings(max_examples=300, deadline=None)
@given(st.text(st.sampled_from("ab CIQnp.logTreatment'\"0123+-*/:~(),=\n\t_#[]{}\\"), max_size=60))
def test_any_text_is_read_or_refused(text):
    with contextlib.suppress(UnsupportedModelError):
        design_of(f"y ~ {text}")


_NUMBERS = st.sampled_from(["a", "k", "(i * 1.)", "2", "0.5", "3."])


def _arithmetic(children):
    joined = st.tuples(children, st.sampled_from(["+", "-", "*", " - ", "* "]), children).map(
        lambda each: f"({''.join(each)})"
    )
    return st.one_of(
        joined,
        children.map(lambda each: f"{each} / 4"),
        children.map(lambda each: f"-{each}"),
        children.map(lambda each: f"({each}) ** 2"),
        st.sampled_from(["np.log(a)", "np.sqrt(k * 2 + 1)", "np.exp(-a)", "np.abs(a - 2)"]),
    )


@settings(max_examples=100, deadline=None)
@given(st.recursive(_NUMBERS, _arithmetic, max_leaves=4))
def test_arithmetic_is_pythons(body):
    formula = f"y ~ I({body} + a)"
    assert_as_patsy(formula)


@pytest.mark.parametrize(
    ("formula", "named"),
    [
        ("y ~ I(a * (1 if __import__('os').system('true') == 0 else 1))", "if"),
        ("y ~ I(__import__('os').system('true'))", "__import__"),
        ("I(__import__('os').system('true') + y) ~ a", "__import__"),
        ("y ~ a + center(a)", "center"),
        ("y ~ standardize(a)", "standardize"),
        ("y ~ bs(a, df=4)", "bs"),
        ("y ~ a.values", "attribute of 'a'"),
        ("y ~ np.linalg.norm(a)", "np.linalg"),
        ("y ~ np.where(a)", "np.where"),
        ("y ~ np", "np"),
        ("y ~ I(a // 2)", "//"),
        ("y ~ I(a % 2)", "%"),
        ("y ~ I(a > 2)", "> 2"),
        ("y ~ I([a])", "[a]"),
        ("y ~ I(a)[0]", "[0]"),
        ("y ~ I(lambda: 1)", "lambda"),
        ("y ~ I((a, k))", ","),
        ("y ~ f'{a}'", "f'"),
        ("y ~ C(b, Sum)", "Sum"),
        ("y ~ C(b, levels=['x'])", "['x']"),
        ("y ~ C(b, levels=b)", "levels"),
        ("y ~ C(f, Treatment(True))", "True"),
        ("y ~ C(I(a))", "calls 'I'"),
        ("y ~ C(b, Treatment(a))", "'a'"),
        ("y ~ C(b, Treatment('q'))", "reference"),
        ("y ~ Q(a)", "Q()"),
        ("y ~ Q('a' 'b')", "'b'"),
        ("y ~ '''a'''", "''"),
        ("y ~ a # comment", "#"),
        ("y ~ a \\\n + k", "\\"),
        ("y ~ 2*a", "2"),
        ("y ~ a**k", "k"),
        ("y ~ a**2.0", "2.0"),
        ("y ~ a:1", "intercept"),
        ("y ~ -a", "minus"),
        ("y ~ a ~ k", "~"),
        ("y", "too early"),
        ("~ a", "'~'"),
        ("y + a ~ k", "left-hand side"),
        ("1 ~ k", "left-hand side"),
        ("b ~ k", "left-hand side"),
        ("f ~ k", "left-hand side"),
        ("I(f) ~ k", "left-hand side"),
        ("I(y * 2 + f) ~ k", "left-hand side"),
        ("C(y) ~ k", "left-hand side"),
        ("np.log(f) ~ k", "left-hand side"),
        ("np.log(nowhere) ~ k", "nowhere"),
        ("y ~ nowhere", "nowhere"),
        ("nowhere ~ a", "nowhere"),
        ("y ~ nan", "nan"),
        ("y ~ \ufb01", "name"),
        ("y ~ I(f * a)", "'f'"),
        ("y ~ I(b)", "'b'"),
        ("y ~ np.log(a * k)", "several columns"),
        ("y ~ I(1/(a + k))", "several columns"),
        ("y ~ I(a ** k)", "power"),
        ("y ~ I(a ** -1)", "power"),
        ("y ~ I(a ** 1.5)", "power"),
        ("y ~ I(a / 0)", "0"),
        ("y ~ I(a * 1e999)", "1e999"),
        ("y ~ I(a * 010)", "010"),
        ("y ~ I(a * 1_0)", "1_0"),
        ("y ~ I(a * 0x10)", "0x10"),
        ("y ~ " + "(" * 60 + "a" + ")" * 60, "nested"),
        ("y ~ I(" + "-" * 60 + "a)", "nested"),
        ("y ~ " + "+".join(f"a{i}" for i in range(9000)), "characters"),
        ("y ~ (" + "+".join(f"Q('a{i}')" for i in range(100)) + ")**9", "terms"),
        ("y ~ I((a + k)**16 * (a + k + i)**16)", "too long"),
        (None, "text"),
        ("y ~ I(" + "+".join(["a"] * 3000) + ")", "operations"),
        ("y ~ I(" + "*".join(["a"] * 3000) + ")", "operations"),
        ("y ~ I(" + "**".join(["a"] * 3000) + ")", "nested"),
        ("y ~ C(b)*C(i)*C(c)*f*C(Q('b'))*C(Q('c'))*C(Q('i'))", "categories"),
        ("y ~ (1 + a)**2", "intercept"),
        ("y ~ I(1e308 * 1e308 * a)", "finite"),
        ("y ~ np.exp(1000) : a", "finite"),
        ("y ~ C(2)", "C() of"),
        (
            "y ~ (" + "+".join(f"Q('a{i}')" for i in range(100)) + "):(" + "+".join(f"Q('b{i}')" for i in range(100)) + ")",
            "terms",
        ),
    ],
)
def test_anything_else_is_refused_by_name(formula, named):
    with pytest.raises(UnsupportedModelError) as caught:
        design_of(formula)
    assert named in str(caught.value)


@pytest.mark.parametrize("name", ["C", "I", "np", "Q", "Treatment"])
def test_a_column_that_takes_the_place_of_a_function_is_refused(name):
    stored = frame_of(read_pickle_bytes(pickle.dumps(FRAME.rename(columns={"k": name}))).root)
    with pytest.raises(UnsupportedModelError, match=f"column called '{name}'"):
        build_design(parse_formula("y ~ a"), stored)


def test_columns_that_wrap_around_or_are_rounded_are_not_computed_with():
    for kind in ("int8", "uint64", "float32", "int32"):
        frame = pd.DataFrame({"y": [1.0, 2.0], "a": np.array([1, 2], dtype=kind)})
        stored = frame_of(read_pickle_bytes(pickle.dumps(frame)).root)
        assert build_design(parse_formula("y ~ a"), stored).names == ("Intercept", "a")
        with pytest.raises(UnsupportedModelError, match="float64 or int64"):
            build_design(parse_formula("y ~ I(a ** 2)"), stored)


def _refused_for_size():
    return pytest.raises(
        UnsupportedModelError,
        match=r"whole numbers \((i|a|constants)\).*wrap around; convert the column to float and fit the model again",
    )


WRAPS = [
    *("I(100000000000000000*(10*i))", "I(i**3)", "I(i*i*i)", "np.square(i*2)", "np.abs(i*i*4)", "I(np.abs(i)**3)"),
    *("I((i*0 + 100000000000000000)*100)", "I(4*(i*i)/8)", "np.log(i**3)", "I(-(i**3))", "I((i - i)**3)", "I(i**3 * 1.0)"),
]


@pytest.mark.parametrize("body", WRAPS)
def test_whole_numbers_that_may_wrap_around_are_refused(body):
    with _refused_for_size():
        design_of(f"y ~ {body}")


@pytest.mark.parametrize(
    "body",
    [
        *("I(i**2)", "I(i*i)", "np.square(i)", "np.log(i)", "np.sqrt(i) + np.exp(i)", "I(1000*i - 7)", "I(1.0*i*i*i)"),
        *("I(i**3.0)", "I((i/2)**3)", "I(np.log(i)**3)", "I(a**3)", "i:np.square(i)", "I(i**2):I(i**2)", "I(a*i*i)"),
    ],
)
def test_whole_numbers_that_cannot_wrap_around_are_read(body):
    assert_as_patsy(f"y ~ {body}")


_WHOLE = st.recursive(
    st.sampled_from(["i", "2", "7", "30000", "100000000000000000"]),
    lambda children: st.one_of(
        st.tuples(children, st.sampled_from("+-*"), children).map(lambda each: f"({''.join(each)})"),
        children.map(lambda each: f"({each}) ** 2"),
        children.map(lambda each: f"-{each}"),
        children.map(lambda each: f"np.abs({each})"),
    ),
    max_leaves=4,
)


@settings(max_examples=150, deadline=None)
@given(_WHOLE, st.integers(-(2**31), 2**31))
def test_whole_numbers_that_are_read_are_those_of_unlimited_arithmetic(body, value):
    with contextlib.suppress(UnsupportedModelError):
        design_of(f"y ~ I(i + {body})")
        for extreme in (value, 2**31, -(2**31)):
            exact = eval(body.replace("np.", ""), {"i": extreme, "abs": abs})
            assert np.all(eval(body, {"i": np.array([extreme]), "np": np}) == exact)


def test_the_type_that_is_served_decides_whether_numbers_wrap_around():
    def typed(body, kind):
        return build_design(parse_formula(f"y ~ {body}"), STORED, {"a": kind})

    for kind in ("double", "float", "long"):
        assert typed("I(a**2)", kind).names == ("Intercept", "I(a ** 2)")
    with _refused_for_size():
        typed("I(a**3)", "long")
    assert typed("I(a**3)", "double").inputs == ("a",)
    for kind in ("integer", "boolean", "string", ""):
        assert typed("a + I(k**2)", kind).inputs == ("a", "k")
        with pytest.raises(UnsupportedModelError, match=f"'a', which its signature gives the type '{kind}'.*says double"):
            typed("I(a**2)", kind)


def test_levels_of_a_frame_are_those_patsy_sees():
    frame = pd.DataFrame(
        {
            "y": np.arange(6.0),
            "t": ["b", "a", None, "c", "a", "b"],
            "n": [2.5, np.nan, 1.0, 2.5, 1.0, -3.0],
            "c": pd.Categorical(["r", None, "q", "q", "r", "r"], categories=["r", "q", "s"]),
            "d": pd.Categorical([3, 1, 3, 1, 1, 3]),
        }
    )
    stored = frame_of(read_pickle_bytes(pickle.dumps(frame)).root)
    formula = "y ~ t + C(n) + c + d"
    _, expected = patsy.dmatrices(formula, frame.astype({"t": object}), return_type="dataframe")
    assert list(build_design(parse_formula(formula), stored).names) == list(expected.columns)


def test_a_category_of_no_level_or_of_too_many_is_refused():
    empty = pd.DataFrame({"y": [1.0, 2.0], "a": pd.Categorical([None, None], categories=[])})
    many = pd.DataFrame({"y": np.zeros(20_001), "a": np.arange(20_001)})
    for frame, named in ((empty, "no levels"), (many, "more than 20000 levels")):
        stored = frame_of(read_pickle_bytes(pickle.dumps(frame)).root)
        with pytest.raises(UnsupportedModelError, match=named):
            build_design(parse_formula("y ~ C(a)"), stored)


def test_more_columns_than_are_read_are_refused():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"y": rng.normal(size=600), "a": np.arange(600) % 200, "b": np.arange(600) % 190})
    stored = frame_of(read_pickle_bytes(pickle.dumps(frame)).root)
    with pytest.raises(UnsupportedModelError, match="more than 20000 columns"):
        build_design(parse_formula("y ~ C(a):C(b)"), stored)
    with pytest.raises(UnsupportedModelError, match="more than 20000 columns"):
        build_design(parse_formula("y ~ " + " + ".join(f"C(a):I(y*{i})" for i in range(120))), stored)


def test_a_formula_longer_than_patsy_can_read_is_read():
    assert design_of("y ~ " + "+".join(["a", "k"] * 2000)).names == ("Intercept", "a", "k")
