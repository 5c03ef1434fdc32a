"""The policy that `coordpath policy init` writes: an ordinary refit of a real model meets it, a bad one does not."""

import re
from copy import deepcopy
from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.datasets import load_breast_cancer, load_diabetes, load_wine
from sklearn.linear_model import (
    GammaRegressor,
    LinearRegression,
    LogisticRegression,
    PoissonRegressor,
    Ridge,
    TweedieRegressor,
)
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from coordpath_governance import explain_change
from coordpath_governance.errors import UsageError
from coordpath_governance.policy.document import ModelFacts
from coordpath_governance.policy.judge import judge
from coordpath_governance.policy.load import read_policy
from coordpath_governance.policy.patterns import exact_pattern
from coordpath_governance.policy.starting_policy import KINDS, kind_of, starting_policy
from coordpath_governance.reference.sources import open_source

CATEGORIES = make_column_selector(dtype_include=[object, "string"])
NUMBERS = make_column_selector(dtype_include=float)


def scaled(model):
    return make_pipeline(StandardScaler(), model)


def encoded(model):
    encode = make_column_transformer((StandardScaler(), NUMBERS), (OneHotEncoder(handle_unknown="ignore"), CATEGORIES))
    return make_pipeline(encode, model)


def houses():
    """Prices as in the Californian districts: skewed columns, two of them nearly the same, prices cut off."""
    rng = np.random.default_rng(0)
    n = 3000
    rooms, north = rng.gamma(9, 0.6, n), rng.uniform(32.5, 42, n)
    frame = pd.DataFrame({"income": rng.lognormal(1.2, 0.45, n), "rooms": rooms, "north": north})
    frame["bedrooms"], frame["west"] = rooms * 0.2 * rng.normal(1, 0.08, n), 114 + 0.9 * north + rng.normal(0, 1.2, n)
    price = (
        0.43 * frame.income - 0.1 * rooms + 0.6 * frame.bedrooms - 0.42 * north + 0.43 * frame.west + rng.normal(0, 0.7, n)
    )
    return frame.assign(target=(price - price.min()).clip(0.15, 5))


def policies(claims):
    """Motor policies with a rare region; how many claims each has, or how much they cost."""
    rng = np.random.default_rng(1)
    n = 4000
    frame = pd.DataFrame({"age": rng.uniform(18, 90, n), "power": rng.uniform(4, 15, n), "year": rng.uniform(0, 20, n)})
    frame["region"] = rng.choice(list("ABCD"), n, p=[0.5, 0.3, 0.17, 0.03])
    rate = np.exp(
        -2.2 - 0.01 * (frame.age - 45) + 0.04 * frame.power + frame.region.map({"A": 0, "B": 0.1, "C": -0.2, "D": 0.4})
    )
    return frame.assign(target=claims(rng, rate))


MODELS = {
    "diabetes": ("linear", lambda: load_diabetes(as_frame=True).frame, lambda: scaled(LinearRegression())),
    "diabetes, ridge": ("linear", lambda: load_diabetes(as_frame=True).frame, lambda: scaled(Ridge())),
    "diabetes, not scaled": ("linear", lambda: load_diabetes(as_frame=True).frame, LinearRegression),
    "houses": ("linear", houses, lambda: scaled(LinearRegression())),
    "breast cancer": (
        "classifier",
        lambda: load_breast_cancer(as_frame=True).frame,
        lambda: scaled(LogisticRegression(C=0.1, max_iter=5000)),
    ),
    "breast cancer, balanced": (
        "classifier",
        lambda: load_breast_cancer(as_frame=True).frame,
        lambda: scaled(LogisticRegression(class_weight="balanced", max_iter=5000)),
    ),
    "wine": ("classifier", lambda: load_wine(as_frame=True).frame, lambda: scaled(LogisticRegression(max_iter=5000))),
    "default": (
        "classifier",
        lambda: policies(lambda rng, rate: rng.random(len(rate)) < rate).astype({"target": int}),
        lambda: encoded(LogisticRegression()),
    ),
    "claims": (
        "rate",
        lambda: policies(lambda rng, rate: rng.poisson(rate)),
        lambda: encoded(PoissonRegressor(alpha=1e-4, max_iter=500)),
    ),
    "severity": (
        "rate",
        lambda: policies(lambda rng, rate: rng.gamma(2, 3000 * rate)),
        lambda: encoded(GammaRegressor(alpha=1e-4, max_iter=500)),
    ),
    "premium": (
        "rate",
        lambda: policies(lambda rng, rate: rng.poisson(rate) * rng.gamma(2, 500, len(rate))),
        lambda: encoded(TweedieRegressor(power=1.5, alpha=1e-4, link="log", max_iter=500)),
    ),
}


class Retrained:
    """A real model, and the same fitted again without a hundredth of its training rows."""

    def __init__(self, which, folder, seed=0):
        kind, load, make = MODELS[which]
        rows = load().sample(frac=1, random_state=seed)
        cut = len(rows) * 3 // 10
        training, holdout = rows.iloc[cut:], rows.iloc[:cut]
        few = max(1, round(len(training) / 100))
        self.data = folder / "holdout.csv"
        holdout.to_csv(self.data, index=False)
        self.champion, self.candidate = (
            make().fit(part.drop(columns="target"), part["target"]) for part in (training, training.iloc[:-few])
        )
        text = starting_policy("risk", sha256=open_source(self.data).sha256, uri=str(self.data), target="target", kind=kind)
        self.policy = read_policy(text, "policy")

    def judged(self, candidate):
        reference = self.policy.reference
        report = explain_change(
            self.champion,
            candidate,
            data=self.data,
            target="target",
            role="holdout",
            name="risk",
            max_steps=reference.max_steps,
        )
        document = report.document
        sides = {
            who: side.model_copy(update={"digest": digit * 64})
            for who, side, digit in (
                ("champion", document.subject.champion, "1"),
                ("candidate", document.subject.candidate, "2"),
            )
        }
        registered = document.model_copy(update={"subject": document.subject.model_copy(update=sides)})
        return judge(self.policy, registered)


@pytest.fixture(scope="module", params=MODELS)
def retrained(request, tmp_path_factory):
    return Retrained(request.param, tmp_path_factory.mktemp("retrained"))


def test_an_ordinary_refit_meets_every_rule(retrained):
    judged = retrained.judged(retrained.candidate)
    assert {each.rule: each.observed for each in judged.results if each.result != "pass"} == {}
    assert judged.verdict in ("pass", "review")
    assert judged.materiality in ("minor", "moderate")


@pytest.mark.parametrize("seed", [1, 2, 3])
@pytest.mark.parametrize("which", ["diabetes, ridge", "breast cancer", "claims"])
def test_so_it_does_whichever_rows_are_left_out(which, seed, tmp_path):
    retrained = Retrained(which, tmp_path, seed)
    judged = retrained.judged(retrained.candidate)
    assert {each.rule: each.observed for each in judged.results if each.result != "pass"} == {}


def test_a_bad_retrain_does_not_pass(retrained):
    bad = deepcopy(retrained.candidate)
    (bad[-1] if isinstance(bad, Pipeline) else bad).coef_ *= -4.0
    judged = retrained.judged(bad)
    assert judged.verdict == "fail"
    assert {each.rule for each in judged.results if each.result == "fail"} == {"final_cost_increase"}
    assert "sign_flips" in {each.rule for each in judged.results if each.result == "review"}


@pytest.mark.parametrize(
    "name", ["rents", "a b", 'say "hi"', "it's", "*", "a[b]c?", "#x: y", "yes", "Wärme 100 %", "a\\b", "!x"]
)
def test_the_policy_is_for_exactly_the_model_named(name):
    policy = read_policy(starting_policy(name), "policy")
    assert policy.name == name
    assert policy.matches(name)
    assert not policy.matches(f"{name}x")
    assert not policy.matches("other")


def test_special_characters_of_a_name_stand_for_themselves():
    assert not read_policy(starting_policy("a[b]c?"), "policy").matches("abcd")


@pytest.mark.parametrize(
    ("name", "problem"),
    [
        ("", "blank"),
        ("   ", "blank"),
        ("a\u202eb", "cannot be seen"),
        ("a\nb", "cannot be seen"),
        ("x" * 201, "201 characters"),
        ("*" * 100, "300 characters"),
    ],
)
def test_names_that_a_policy_cannot_hold_are_wrong_use(name, problem):
    with pytest.raises(UsageError, match=problem):
        starting_policy(name)


def test_the_longest_name_fits():
    assert read_policy(starting_policy("x" * 200), "policy").matches("x" * 200)
    assert exact_pattern("a*b") == "a[*]b"


@pytest.mark.parametrize("kind", KINDS)
def test_it_asks_nothing_that_registering_cannot_give_and_uses_documented_roles(kind):
    policy = read_policy(starting_policy("risk", kind=kind), kind)
    assert {name for name, _ in policy.named_rules()}.isdisjoint({"required_facts", "change_since_validation"})
    roles = {need.role for each in policy.materiality for need in each.approvals} | set(policy.waivers.roles)
    assert roles == {"validator", "owner", "risk"}


@pytest.mark.parametrize("kind", KINDS)
def test_its_comments_say_what_is_so(kind):
    """A reason can be given when registering, and `gap` is a share of what an order could still change."""
    text = starting_policy("risk", kind=kind)
    assert "when registering (tags coordpath.reason ...) or with `coordpath report --reason`" in text
    lines = text.splitlines()
    assert "what an order could still change" in lines[lines.index("  gap: {most: 0.05, otherwise: review}") - 1]
    commented = {line[1:].strip().partition(":")[0] for line in lines if line.startswith("#  ")}
    assert set(ModelFacts.model_fields) <= commented


@pytest.mark.parametrize("kind", KINDS)
def test_every_limit_has_a_comment_with_its_unit(kind):
    lines = starting_policy("risk", kind=kind).splitlines()
    rules = lines[lines.index("rules:") + 1 : lines.index("materiality:")]
    for before, line in pairwise(rules):
        if re.match(r"  \w", line):
            assert re.search(r"# .*(share|number|days|units)", before), line


@pytest.mark.parametrize(
    ("family", "kind"),
    [
        ("gaussian", "linear"),
        ("binomial", "classifier"),
        ("multinomial", "classifier"),
        ("poisson", "rate"),
        ("gamma", "rate"),
    ],
)
def test_the_kind_of_a_family(family, kind):
    assert kind_of(family) == kind


def test_a_remark_is_a_comment_whatever_is_in_it():
    text = starting_policy("risk", remark="no model\nrules: {}\u202e" + "x" * 1000)
    assert read_policy(text, "p") == read_policy(starting_policy("risk"), "p")
    assert max(map(len, text.splitlines())) < 450
