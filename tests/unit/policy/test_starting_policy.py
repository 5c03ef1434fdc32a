"""The policy that `coordpath policy init` writes: an ordinary refit of a real model meets it, a bad one does not."""

import re
from copy import deepcopy
from itertools import pairwise

import pytest
from sklearn.datasets import load_breast_cancer, load_diabetes
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from coordpath_governance import explain_change
from coordpath_governance.errors import UsageError
from coordpath_governance.policy.judge import judge
from coordpath_governance.policy.load import read_policy
from coordpath_governance.policy.starting_policy import KINDS, exact_pattern, starting_policy
from coordpath_governance.reference.sources import open_source

MODELS = {
    "linear": (load_diabetes, lambda: make_pipeline(StandardScaler(), LinearRegression())),
    "classifier": (
        load_breast_cancer,
        lambda: make_pipeline(StandardScaler(), LogisticRegression(C=0.1, max_iter=5000)),
    ),
}


class Retrained:
    """A real model, fitted without the first and without the last hundredth of its training rows."""

    def __init__(self, kind, folder):
        load, make = MODELS[kind]
        rows = load(as_frame=True).frame.sample(frac=1, random_state=0)
        cut = len(rows) * 3 // 10
        training, holdout = rows.iloc[cut:], rows.iloc[:cut]
        few = max(1, round(len(training) / 100))
        self.data = folder / "holdout.csv"
        holdout.to_csv(self.data, index=False)
        self.champion, self.candidate = (
            make().fit(part.drop(columns="target"), part["target"]) for part in (training.iloc[few:], training.iloc[:-few])
        )
        text = starting_policy("risk", open_source(self.data).sha256, str(self.data), "target", kind)
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
    return Retrained(request.param, tmp_path_factory.mktemp(request.param))


def test_an_ordinary_refit_meets_every_rule(retrained):
    judged = retrained.judged(retrained.candidate)
    assert {each.rule: each.result for each in judged.results if each.result != "pass"} == {}
    assert judged.verdict == "pass"
    assert judged.materiality == "minor"


@pytest.mark.parametrize("factor", [0.5, -1.0])
def test_a_bad_retrain_does_not_pass(retrained, factor):
    bad = deepcopy(retrained.candidate)
    bad[-1].coef_ *= factor
    judged = retrained.judged(bad)
    assert judged.verdict == "fail"
    assert {each.rule for each in judged.results if each.result == "fail"} == {"final_cost_increase"}


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
def test_every_limit_has_a_comment_with_its_unit(kind):
    lines = starting_policy("risk", kind=kind).splitlines()
    rules = lines[lines.index("rules:") + 1 : lines.index("materiality:")]
    for before, line in pairwise(rules):
        if re.match(r"  \w", line):
            assert re.search(r"# .*(share|number|days|units)", before), line
