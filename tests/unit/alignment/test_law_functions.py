"""The law "the same function gives an empty path" over curves, products and codings; and what a step of a function costs."""

from __future__ import annotations

import json

import numpy as np
import pytest
from helpers.bent_models import BENT, GROUPS, NUMBERS, bent_data
from helpers.forging import changed, forge
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.compose import make_column_transformer
from sklearn.linear_model import LinearRegression, LogisticRegression, Ridge
from sklearn.metrics import log_loss, mean_squared_error
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    MinMaxScaler,
    OneHotEncoder,
    PolynomialFeatures,
    SplineTransformer,
    StandardScaler,
)

from coordpath_governance import explain_change
from coordpath_governance.errors import AlignmentError, ReferenceDataError, UsageError
from coordpath_governance.models.functions import Curve, FunctionTerm, Piece
from coordpath_governance.models.linear_model import CategoricalTerm, LinearModel, NumericTerm
from coordpath_governance.models.maps import Affine, Elementary, Power, Quantile, Steps
from coordpath_governance.verification.verify import verify_report

DATA = bent_data()


@pytest.mark.parametrize("name", BENT)
def test_a_change_of_functions_costs_what_scikit_learn_says_and_verifies(name, tmp_path):
    champion = BENT[name]().fit(DATA.iloc[:150], DATA.y.iloc[:150])
    candidate = BENT[name]().fit(DATA, DATA.y)
    DATA.to_parquet(tmp_path / "rows.parquet")
    report = explain_change(champion, candidate, data=tmp_path / "rows.parquet", target="y")
    path = report.document.path
    assert path.start_cost == pytest.approx(mean_squared_error(DATA.y, champion.predict(DATA)), rel=1e-9)
    assert path.steps[-1].cost == pytest.approx(mean_squared_error(DATA.y, candidate.predict(DATA)), rel=1e-9)
    kinds = {step.feature: step.kind for step in path.steps if step.kind != "rest"}
    assert all((kind == "interaction") == ("×" in unit) for unit, kind in kinds.items())
    assert verify_report(report, tmp_path / "rows.parquet").conclusion.startswith("verified against the data; ")
    assert explain_change(candidate, candidate, data=DATA, target="y").document.path.steps == ()


def test_polynomials_of_scaled_columns_are_polynomials_of_raw_ones():
    first = make_pipeline(StandardScaler(), PolynomialFeatures(2), LinearRegression()).fit(DATA[NUMBERS], DATA.y)
    second = make_pipeline(PolynomialFeatures(2, include_bias=False), MinMaxScaler(), LinearRegression())
    second.fit(DATA[NUMBERS], DATA.y)
    assert explain_change(first, second, data=DATA, target="y").document.path.steps == ()


@pytest.mark.parametrize("dropped", [["x", "u"], ["z", "v"], None])
def test_products_with_a_category_do_not_depend_on_its_coding(dropped):
    def model(drop, scaler):
        columns = make_column_transformer((OneHotEncoder(drop=drop), GROUPS), (scaler, ["a", "b"]))
        return make_pipeline(columns, PolynomialFeatures(2, interaction_only=True), LinearRegression()).fit(DATA, DATA.y)

    first, second = model("first", StandardScaler()), model(dropped, "passthrough")
    np.testing.assert_allclose(first.predict(DATA), second.predict(DATA), rtol=1e-8)
    assert explain_change(first, second, data=DATA, target="y").document.path.steps == ()


def _model(*terms: FunctionTerm, numeric=(), categorical=(), intercept=1.0) -> LinearModel:
    return LinearModel(intercept, tuple(numeric), tuple(categorical), tuple(terms))


def test_a_function_that_is_linear_after_all_is_the_coefficient():
    bent = _model(FunctionTerm(("a",), (Piece(2.0, (Curve("a", (Affine(3.0, 1.0),)),)),)))
    straight = _model(numeric=[NumericTerm("a", 6.0)], intercept=3.0)
    assert explain_change(bent, straight, data=DATA[["a", "y"]], target="y").document.path.steps == ()


def test_functions_that_differ_by_a_constant_differ_in_the_baseline_only():
    log, shifted = (
        _model(FunctionTerm(("a",), (Piece(1.0, (Curve("a", maps),)),)))
        for maps in ((Elementary("log"),), (Affine(2.0), Elementary("log")))
    )
    report = explain_change(log, shifted, data=DATA[["a", "y"]], target="y").document
    assert [step.kind for step in report.path.steps] == ["baseline"]
    by_product = [
        _model(
            FunctionTerm(
                ("a", "g"), (Piece(1.0, (Curve("a", maps), CategoricalTerm("g", ("x", "y", "z"), (1.0, 2.0, 3.0)))),)
            )
        )
        for maps in ((Elementary("log"),), (Affine(2.0), Elementary("log")))
    ]
    steps = explain_change(*by_product, data=DATA[["a", "g", "y"]], target="y").document.path.steps
    assert {step.feature for step in steps} == {"(baseline)", "g"}


def test_functions_that_differ_where_no_row_lies_are_changed_but_not_exercised():
    old, new = (
        _model(FunctionTerm(("a",), (Piece(1.0, (Curve("a", (Steps((1.0, 1e6), (0.0, 1.0, last)),)),)),)))
        for last in (1.0, 2.0)
    )
    report = explain_change(old, new, data=DATA[["a", "y"]], target="y").document
    assert report.path.steps == ()
    assert [c.label for c in report.coordinates if c.changed and not c.exercised] == ["a (change)"]
    assert report.functions[0].changed


def test_rows_outside_of_a_functions_domain_are_counted_and_refused():
    log = _model(FunctionTerm(("b",), (Piece(1.0, (Curve("b", (Elementary("log"),)),)),)))
    count = int((DATA.b <= 0).sum())
    with pytest.raises(
        ReferenceDataError, match=rf"'b' has values that the candidate cannot score .* in {count} of 300 rows"
    ):
        explain_change(None, log, data=DATA[["b", "y"]], target="y")
    gaps = DATA[["a", "y"]].copy()
    gaps.loc[:4, "a"] = np.nan
    square = _model(FunctionTerm(("a",), (Piece(1.0, (Curve("a", (Power(2),)),)),)))
    with pytest.raises(ReferenceDataError, match="column 'a' is missing in 5 of 300 rows"):
        explain_change(None, square, data=gaps, target="y")
    assert explain_change(None, square, data=gaps, target="y", missing="drop").document.data.rows == 295


def test_functions_need_rows():
    from coordpath_governance.reference.logged import moments_to_log, read_logged_moments

    square = _model(FunctionTerm(("a",), (Piece(1.0, (Curve("a", (Power(2),)),)),)))
    logged = read_logged_moments(
        moments_to_log(DATA[["a", "y"]], "y", weight=None, role="training", period=None, missing="fail")
    )
    with pytest.raises(UsageError, match="'a' is a function that needs rows"):
        _explain_logged(square, logged)


def _explain_logged(model, logged):
    from coordpath_governance.reports.document import ChangeFacts, Subject
    from coordpath_governance.reports.make import ReferenceData, Request, make_report, settings_for, version_facts

    subject = Subject(name="m", champion=None, candidate=version_facts(model, "candidate"))
    make_report(None, model, ReferenceData(logged, "y"), Request(subject, ChangeFacts(), settings_for()))


def test_three_classes_with_splines_cost_what_scikit_learn_says(tmp_path):
    data = DATA.assign(y=np.digitize(DATA.y, [0.0, 2.0]).astype(str))
    models = [
        make_pipeline(SplineTransformer(3), LogisticRegression(C=0.5)).fit(part[["a", "c"]], part.y)
        for part in (data.iloc[:150], data)
    ]
    data.to_parquet(tmp_path / "rows.parquet")
    report = explain_change(*models, data=tmp_path / "rows.parquet", target="y")
    path = report.document.path
    costs = [log_loss(data.y, model.predict_proba(data[["a", "c"]])) for model in models]
    assert [path.start_cost, path.steps[-1].cost] == pytest.approx(costs, rel=1e-6)
    assert {(step.feature, step.kind) for step in path.steps} == {
        ("a", "function"),
        ("c", "function"),
        ("(baseline)", "group"),
    }
    assert verify_report(report, tmp_path / "rows.parquet").conclusion.startswith("verified against the data; ")


# The variance of a function is a square, which underflows if its values are smaller than about 1e-154.
WEIGHTS = st.floats(-3, 3).map(lambda weight: weight if abs(weight) > 1e-100 else 0.0)


@settings(max_examples=25, deadline=None)
@given(
    st.lists(WEIGHTS, min_size=6, max_size=6),
    st.floats(0.1, 4),
    st.floats(-2, 2),
    st.permutations(["x", "y", "z"]),
)
def test_law_over_random_products(weights, scale, shift, order):
    """The same polynomial with a category, once in raw columns, once in scaled ones with another coding."""
    w0, w1, w2, *slopes = weights
    table = CategoricalTerm("g", ("x", "y", "z"), tuple(slopes))
    raw = _model(
        FunctionTerm(("a", "b"), (Piece(w1, (Curve("a"), Curve("b"))),)),
        FunctionTerm(("a", "g"), (Piece(w2, (Curve("a"), table)),)),
        numeric=[NumericTerm("a", w0)],
    )
    base = table.effect(order[0]) or 0.0
    rest = CategoricalTerm("g", tuple(order[1:]), tuple((table.effect(o) or 0.0) - base for o in order[1:]), 0.0)
    scaled = Curve("a", (Affine(scale, shift),))
    coded = _model(
        FunctionTerm(("a", "b"), (Piece(w1 / scale, (Curve("b"), scaled)), Piece(-w1 * shift / scale, (Curve("b"),)))),
        FunctionTerm(("a", "g"), (Piece(w2, (Curve("a"), rest)),)),
        numeric=[NumericTerm("a", w0 + w2 * base)],
    )
    assert explain_change(raw, coded, data=DATA, target="y").document.path.steps == ()


def test_ridge_on_both_sides_tells_a_bent_column_from_a_straight_one():
    straight = make_pipeline(StandardScaler(), Ridge()).fit(DATA[["a", "b"]], DATA.y)
    bent = make_pipeline(FunctionTransformer(np.square), Ridge()).fit(DATA[["a", "b"]], DATA.y)
    report = explain_change(straight, bent, data=DATA, target="y").document
    assert {(step.feature, step.kind, step.from_) for step in report.path.steps} == {
        ("a", "function", None),
        ("b", "function", None),
    }
    first = next(each for each in report.functions if each.unit == "a")
    slope = next(term.coefficient for term in _read(straight).numeric if term.column == "a")
    ends = first.points[0], first.points[-1]
    assert (ends[1].old - ends[0].old) / (ends[1].at[0] - ends[0].at[0]) == pytest.approx(slope)


def _read(model):
    from coordpath_governance.models import from_estimator

    return from_estimator(model)


def _steps(column, edges, values):
    return Curve(column, (Steps(tuple(edges), tuple(values)),), 0.0)


def _told(old, new):
    report = explain_change(LinearModel(0.0, functions=old), LinearModel(0.0, functions=new), data=DATA, target="y")
    return report.document.path.steps, report.document.counts.changed


@pytest.mark.parametrize("cell", [(0, 0), (39, 0), (17, 23)])
def test_a_cell_of_an_interaction_that_no_row_is_in_is_a_change_all_the_same(cell):
    edges = np.linspace(50.0, 60.0, 39)

    def model(extra):
        at = [np.eye(40)[place] for place in cell]
        both = Piece(1.0, (_steps("a", edges, range(40)), _steps("b", edges, range(40))))
        more = Piece(extra, (_steps("a", edges, at[0]), _steps("b", edges, at[1])))
        return (FunctionTerm(("a", "b"), (both, more)),)

    assert _told(model(0.5), model(0.5)) == ((), 0)
    assert _told(model(0.5), model(1000.0))[1] >= 1


def test_one_of_twenty_thousand_steps_is_a_change():
    edges = np.linspace(50.0, 60.0, 20_000)

    def model(extra):
        values = np.arange(20_001.0)
        values[12_345] += extra
        return (FunctionTerm(("a",), (Piece(1.0, (_steps("a", edges, values),)),)),)

    assert _told(model(0.0), model(100.0))[1] == 1


def test_steps_behind_quantiles_are_compared_where_they_jump():
    def model(last):
        through = Quantile((0.0, 50.0, 60.0), (0.0, 0.5, 1.0), "uniform")
        return (FunctionTerm(("a",), (Piece(1.0, (Curve("a", (through, Steps((0.912, 0.913), (0.0, last, 0.0))), 0.0),)),)),)

    assert _told(model(1.0), model(100.0))[1] == 1


def test_a_column_called_like_an_interaction_is_refused():
    """Units are known by their names: one would silently take the place of the other."""
    data = DATA.assign(**{"a×b": DATA.c})
    columns = make_column_transformer(
        (PolynomialFeatures(2, interaction_only=True, include_bias=False), ["a", "b"]), ("passthrough", ["a×b"])
    )
    model = make_pipeline(columns, Ridge()).fit(data, data.y)
    with pytest.raises(AlignmentError, match=r"'a×b' is the name of two things, of 'a' with 'b' and 'a×b'"):
        explain_change(None, model, data=data, target="y")


def test_products_with_too_many_parts_are_refused():
    shifted = [tuple(Curve(c, (Affine(1.0, 1.0 + i),)) for c in (*NUMBERS, "y2", "y3", "y4")) for i in range(100)]
    term = FunctionTerm((*NUMBERS, "y2", "y3", "y4"), tuple(Piece(1.0 + i, shapes) for i, shapes in enumerate(shifted)))
    data = DATA.assign(y2=DATA.y, y3=DATA.y, y4=DATA.y)
    with pytest.raises(AlignmentError, match="have more than 50000 parts"):
        explain_change(None, LinearModel(0.0, functions=(term,)), data=data, target="y")


def test_a_report_whose_function_was_renamed_is_a_mismatch(tmp_path):
    def model(scale):
        return LinearModel(0.0, functions=(FunctionTerm(("a",), (Piece(scale, (Curve("a", (Power(2),), 0.0),)),)),))

    report = explain_change(model(1.0), model(2.0), data=DATA, target="y")
    base = json.loads(report.to_json())
    at = next(i for i, each in enumerate(base["coordinates"]) if each["column"] == "a")
    forged = forge(changed(base, ("coordinates", at, "column"), "ax"))
    findings = [finding for check in verify_report(forged).checks for finding in check.findings]
    assert any("neither model has a function of 'ax'" in finding for finding in findings)


def test_functions_that_a_constant_parts_are_a_step_of_the_baseline_and_verify(tmp_path):
    DATA.to_parquet(tmp_path / "rows.parquet")

    def model(constant):
        steps = Steps((1.0,), (constant, 1.0 + constant))
        return LinearModel(0.0, functions=(FunctionTerm(("a",), (Piece(1.0, (Curve("a", (steps,)),)),)),))

    report = explain_change(model(0.0), model(5.0), data=tmp_path / "rows.parquet", target="y")
    assert [step.kind for step in report.document.path.steps] == ["baseline"]
    assert report.document.counts.changed == 1
    assert verify_report(report, tmp_path / "rows.parquet").conclusion.startswith("verified against the data; ")
