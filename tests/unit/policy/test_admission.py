"""What speaks against adopting a policy: each check with what it objects to, what it lets be, and what it does not know."""

import pytest

from coordpath_governance.models.linear_model import LinearModel, NumericTerm, classifier
from coordpath_governance.policy.admission import Circumstances, remarks
from coordpath_governance.policy.load import read_policy
from coordpath_governance.policy.starting_policy import UNPINNED, starting_policy

SCORE = LinearModel(1.0, numeric=(NumericTerm("a", 2.0),))
MODELS = {
    "linear": SCORE,
    "rate": LinearModel(1.0, numeric=(NumericTerm("a", 2.0),), family="poisson", link="log"),
    "classifier": classifier([SCORE], ("no", "yes"), 0.5),
    "undecided": LinearModel(1.0, family="binomial", link="logit", classes=("no", "yes")),
    "several": classifier([SCORE] * 3, ("x", "y", "z"), 0.5),
}
DATA = {"columns": ("a", "y", "w", "region"), "sha256": "5" * 64}


@pytest.fixture
def said(policy_of):
    """What is said of a policy with sections changed: objections, and notes."""

    def tell(rules=None, sections=None, reference=None, **around):
        sections = sections or {}
        pinned = {"sha256": "5" * 64, "uri": "/data.csv", "role": "holdout", "target": "y", **(reference or {})}
        made = policy_of(rules or {"gap": {"most": 0.1}}, **{**sections, "reference": pinned})
        found = remarks(Circumstances(made, **around))
        return [each.text for each in found if each.certain], [each.text for each in found if not each.certain]

    return tell


def standing(kind):
    return {"models": {"rents": MODELS[kind]}}


def test_nothing_is_said_where_nothing_is_wrong(said):
    assert said(**DATA, **standing("linear"), registered=("rents",)) == ([], [])


def test_nothing_is_said_of_what_could_not_be_asked(said):
    assert said() == ([], [])


def test_what_could_not_be_asked_is_passed_on_as_a_note(said):
    assert said(unknown=("nobody answered",)) == ([], ["nobody answered"])


def other_policy(policy_of, *models):
    return policy_of({"gap": {}}, name="other", models=list(models))


def test_a_registered_model_that_another_policy_matches(said, policy_of):
    sections = {"models": ["credit*"]}
    others = (other_policy(policy_of, "*risk"),)
    objections, notes = said(sections=sections, others=others, registered=("credit risk", "credit", "risk"))
    assert len(objections) == 1
    assert objections[0].startswith(
        "models: policy 'other', which is in force, matches the registered model credit risk too"
    )
    assert "coordpath policy retire" in objections[0]
    assert notes == []


@pytest.mark.parametrize("registered", [None, (), ("credit", "risk")])
def test_patterns_that_may_overlap_are_a_note(said, policy_of, registered):
    others = (other_policy(policy_of, "*risk"),)
    note = "policy 'other' may match the same models; one that both match is refused"
    assert said(sections={"models": ["credit*"]}, others=others, registered=registered) == ([], [note])
    assert said(sections={"models": ["fraud"]}, others=others, registered=registered) == ([], [])


def test_other_bytes_than_those_pinned(said):
    (objection,), _ = said(sha256="6" * 64)
    assert objection.startswith(f"reference.sha256: the data at '/data.csv' have the SHA-256 {'6' * 64}")


@pytest.mark.parametrize(
    ("kind", "values", "wrong"),
    [
        ("linear", (1.5, 2), None),
        ("linear", ("1.5", "true"), None),
        ("linear", ("bad", "good"), "holds bad, good, and the registered model rents predicts numbers"),
        ("rate", ("3", "many"), "holds many, and the registered model rents predicts numbers"),
        ("classifier", ("no", "yes"), None),
        ("classifier", ("no",), None),
        ("classifier", (0, 1), "holds 0, 1, and the registered model rents is a classifier of no, yes"),
        ("several", ("x", "z", "v"), "holds v, and the registered model rents is a classifier of x, y, z"),
    ],
)
def test_a_target_that_cannot_be_the_models(said, kind, values, wrong):
    objections, notes = said(**DATA, **standing(kind), registered=("rents",), target_values=values)
    assert notes == []
    assert [wrong in each for each in objections] == ([] if wrong is None else [True])


def test_a_strange_label_in_rows_that_may_not_count_is_a_note(said):
    for reference in ({"weight": "w"}, {"missing": "drop"}):
        around = {**DATA, **standing("classifier"), "registered": ("rents",), "target_values": ("no", "perhaps")}
        objections, notes = said(reference=reference, **around)
        assert (objections, len(notes)) == ([], 1)


def test_data_that_are_not_pinned_yet_are_a_note(said):
    objections, (note,) = said(reference={"sha256": UNPINNED}, sha256="6" * 64)
    assert objections == []
    assert note.startswith("reference.sha256 is all zeros")


@pytest.mark.parametrize(
    ("reference", "named"),
    [
        ({"target": "z"}, "reference.target: the data have no column 'z'; they have: a, y, w, region"),
        ({"weight": "z"}, "reference.weight"),
        ({"offset": "z"}, "reference.offset"),
        ({"exposure": "z"}, "reference.exposure"),
        ({"segments": ["region", "z"]}, "reference.segments"),
    ],
)
def test_columns_that_the_data_do_not_have(said, reference, named):
    (objection,), _ = said(reference=reference, **DATA)
    assert objection.startswith(named)
    assert said(reference=reference, sha256="5" * 64) == ([], [])


def test_a_target_that_is_an_input_of_a_model(said):
    (objection,), _ = said(reference={"target": "a"}, **DATA, **standing("linear"))
    assert objection.startswith("reference.target: 'a' is also an input of the registered model rents, so no report could")
    assert said(reference={"target": "y"}, **DATA, **standing("linear")) == ([], [])


def test_columns_that_a_model_needs(said):
    (objection,), _ = said(columns=("b", "y"), **standing("linear"))
    assert objection.startswith("reference: the model 'rents' needs columns that the data do not have: a;")


@pytest.mark.parametrize(
    ("rule", "kind", "reference", "named"),
    [
        ({"decision_flips": {"overall": 0.1}}, "linear", {}, "rules.decision_flips"),
        ({"decision_flips": {"overall": 0.1}}, "rate", {}, "rules.decision_flips"),
        ({"decision_flips": {"overall": 0.1}}, "undecided", {}, "rules.decision_flips"),
        ({"decision_flips": {"by_segment": 0.1}}, "classifier", {}, "rules.decision_flips: a limit by_segment"),
        ({"mean_score_shift": {"by_segment": 0.1}}, "linear", {}, "rules.mean_score_shift: a limit by_segment"),
        ({"mean_score_shift": {"overall": 0.1}}, "several", {}, "rules.mean_score_shift"),
        ({"standardised_change": {"relative": 0.1}}, "classifier", {}, "rules.standardised_change"),
        ({"standardised_change": {"relative": 0.1}}, "rate", {}, "rules.standardised_change"),
        ({"gap": {}}, "linear", {"offset": "w"}, "reference.offset"),
        ({"gap": {}}, "several", {"exposure": "w"}, "reference.exposure"),
    ],
)
def test_a_wrong_kind_of_model(said, rule, kind, reference, named):
    (objection,), _ = said(rule, reference=reference, **standing(kind))
    assert objection.startswith(named)


@pytest.mark.parametrize(
    ("rule", "kind", "reference"),
    [
        ({"decision_flips": {"overall": 0.1}}, "classifier", {}),
        ({"decision_flips": {"overall": 0.1}}, "several", {}),
        ({"decision_flips": {"overall": 0.1}}, "linear", {"threshold": 5.0}),
        ({"decision_flips": {"by_segment": 0.1}}, "classifier", {"segments": ["region"]}),
        ({"mean_score_shift": {"overall": 0.1}}, "rate", {}),
        ({"mean_score_shift": {"by_segment": 0.1}}, "several", {"segments": ["region"]}),
        ({"standardised_change": {"relative": 0.1}}, "linear", {}),
        ({"standardised_change": {"absolute": 0.1}}, "classifier", {}),
        ({"gap": {}}, "rate", {"exposure": "w"}),
    ],
)
def test_the_right_kind_of_model(said, rule, kind, reference):
    assert said(rule, reference=reference, **standing(kind)) == ([], [])


@pytest.mark.parametrize("kind", ["linear", "classifier", "rate"])
def test_the_starting_policy_of_a_kind_fits_that_kind(kind):
    made = read_policy(starting_policy("rents", sha256="5" * 64, uri="/data.csv", target="y", kind=kind), "p")
    assert remarks(Circumstances(made, **DATA, **standing(kind))) == ()


def test_the_starting_policy_of_another_kind_does_not():
    made = read_policy(starting_policy("rents", sha256="5" * 64, uri="/data.csv", target="y"), "p")
    assert [each.certain for each in remarks(Circumstances(made, **DATA, **standing("classifier")))] == [True]


def test_a_relative_path_and_a_role_without_a_key_are_notes(said):
    sections = {"materiality": [{"class": "any", "approvals": [{"role": "validator"}]}], "waivers": {"roles": ["risk"]}}
    objections, notes = said(sections=sections, reference={"uri": "data.csv"}, roles=frozenset({"validator"}))
    assert objections == []
    assert [note.split(";")[0] for note in notes] == [
        "reference.uri 'data.csv' is a relative path: whoever makes reports must do it in the right folder",
        "nobody has the role 'risk' yet",
    ]
