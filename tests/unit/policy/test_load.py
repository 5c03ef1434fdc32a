"""Policies in, and everything that is not one refused with the place where it is wrong."""

import json
from pathlib import Path

import jsonschema
import pytest
import yaml

from coordpath_governance.errors import PolicyError
from coordpath_governance.policy.load import MAX_POLICY_BYTES, policy_bytes, policy_schema, policy_sha256, read_policy
from coordpath_governance.policy.rules import RULES
from coordpath_governance.policy.starting_policy import starting_policy

EVERY_RULE = {
    "final_cost_increase": {"absolute": 0.5, "relative": 1e-2, "standard_errors": 2},
    "step_cost_increase": {"absolute": 0.5, "relative": 0.1, "otherwise": "review"},
    "steps": {"most": 11},
    "rest": {"coefficients": 100, "cost_change": 0.1},
    "gap": {"most": 0.05},
    "sign_flips": {"most": 1, "features": ["a", "b"]},
    "sign_constraints": {"features": {"a": "positive", "b": "negative"}},
    "frozen_features": {"features": ["still"]},
    "features_added": {"most": 1, "allowed": ["x"]},
    "features_dropped": {"allowed": ["y"]},
    "standardised_change": {"absolute": 1, "relative": 0.5},
    "unexercised": {"changed": 0, "in_all": 5},
    "decision_flips": {"overall": 0.05, "by_segment": 0.1},
    "mean_score_shift": {"overall": 0.1, "by_segment": 0.2},
    "required_facts": {"facts": ["owner", "reason"]},
    "report_age": {"days": 30},
    "change_since_validation": {
        "changes": 5,
        "days": 365.5,
        "cost_increase": 1,
        "mean_score_shift": 1,
        "standardised_change": 1,
    },
}
GOOD = """\
schema: coordpath.policy/1
name: p
models: [m]
reference: {sha256: 0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef, role: holdout, target: y}
rules: {gap: {most: 1e-3}}
materiality: [{class: any}]
"""


def test_a_policy_with_every_rule_round_trips(policy_text):
    assert set(EVERY_RULE) == set(RULES)
    raw = policy_text(EVERY_RULE, facts={"owner": "Anna"}, waivers={"roles": ["owner"]}, approvals={"longest_days": 7})
    policy = read_policy(yaml.safe_dump(raw, allow_unicode=True), "p.yaml")
    assert [name for name, _ in policy.named_rules()] == list(RULES)
    again = read_policy(policy_bytes(policy), "blob")
    assert again == policy
    assert policy_bytes(again) == policy_bytes(policy)
    assert policy_sha256(again) == policy_sha256(policy)
    assert json.loads(policy_bytes(policy)) == raw


def test_yaml_and_json_of_one_policy_have_one_digest(policy_text):
    raw = policy_text(EVERY_RULE)
    assert policy_sha256(read_policy(yaml.safe_dump(raw), "y")) == policy_sha256(read_policy(json.dumps(raw, indent=3), "j"))


def test_yaml_means_what_people_mean():
    text = GOOD.replace(
        "{gap: {most: 1e-3}}", "{gap: {most: 1e-3}, frozen_features: {features: [no, on, 2025-01-01, 012, 1:30]}}"
    )
    rules = dict(read_policy(text, "p").named_rules())
    assert rules["gap"].most == 0.001
    assert rules["frozen_features"].features == ("no", "on", "2025-01-01", "012", "1:30")
    assert read_policy("\ufeff".encode() + text.encode(), "p") == read_policy(text, "p")


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "empty"),
        ("[]", "a list"),
        ("just text", "a text"),
        ("a: 1", "schema"),
        (GOOD.replace("policy/1", "policy/2"), "'coordpath.policy/2'"),
        (GOOD + "name: q\n", "the key 'name' is there twice"),
        (GOOD.replace("{gap:", "{gap: {most: 1}, gap:"), "the key 'gap' is there twice"),
        (GOOD + "1: q\n", "the key '1' is not text"),
        (GOOD + "true: q\n", "put it in quotes"),
        (GOOD + "? [a]\n: q\n", "is not text"),
        (GOOD + "a: &x [1]\nb: *x\n", "aliases (*name) are not read"),
        (GOOD + "<<: {a: 1}\n", "there is no such key"),
        (GOOD + "a: !!python/object/apply:os.system [echo]\n", "could not determine a constructor"),
        (GOOD + "a: !!timestamp 2025-01-01\n", "which no policy holds"),
        (GOOD + "a: !!set {b, c}\n", "which no policy holds"),
        (GOOD + "---\nschema: x\n", "expected a single document"),
        (GOOD + "a: [\n", "line 8"),
        (GOOD + "\ta: 1\n", "line 7"),
        (GOOD + "a: \x07\n", "is not YAML"),
        (GOOD + 'a: "\\uD800"\n', "half a character"),
        (GOOD.replace("1e-3", ".nan"), "rules.gap.most: is not a finite number"),
        (GOOD.replace("1e-3", "-.inf"), "rules.gap.most: is not a finite number"),
        (GOOD.replace("1e-3", "9" * 5000), "rules.gap.most"),
        (GOOD.replace("{most: 1e-3}", "[" * 30 + "]" * 30), "nested too deeply"),
        (GOOD.replace("{most: 1e-3}", "[" * 20_000), "nested too deeply"),
        ('{"schema": "coordpath.policy/1", "schema": 1}', "twice"),
        ('{"schema": NaN}', "NaN"),
        ("{" * 50_000, "JSON"),
        (b"\xff\xfe", "is not UTF-8"),
        (b"#" * (MAX_POLICY_BYTES + 1), "at most 1000000"),
    ],
)
def test_what_is_not_yaml_or_not_a_policy_is_refused(text, says):
    with pytest.raises(PolicyError) as caught:
        read_policy(text, "here.yaml")
    assert str(caught.value).startswith("here.yaml: ")
    assert says in str(caught.value)
    assert len(str(caught.value)) < 1000
    assert caught.value.exit_code == 2


@pytest.mark.parametrize(
    ("place", "value", "says"),
    [
        ("extra", 1, "extra: there is no such key"),
        ("rules", {}, "rules: there is no rule"),
        ("rules", {"nonsense": {}}, "rules.nonsense: there is no such key"),
        ("rules", {"gap": None}, "rules.gap: "),
        ("rules", {"gap": {"most": "0.1"}}, "rules.gap.most: "),
        ("rules", {"gap": {"most": True}}, "rules.gap.most: "),
        ("rules", {"gap": {"most": -1}}, "rules.gap.most: "),
        ("rules", {"gap": {"otherwise": "pass"}}, "rules.gap.otherwise: "),
        ("rules", {"steps": {}}, "rules.steps.most: is missing"),
        ("rules", {"steps": {"most": 1.5}}, "rules.steps.most: "),
        ("rules", {"final_cost_increase": {}}, "rules.final_cost_increase: give at least one of absolute"),
        ("rules", {"change_since_validation": {}}, "rules.change_since_validation: give at least one of changes"),
        ("rules", {"sign_constraints": {"features": {}}}, "rules.sign_constraints.features: "),
        ("rules", {"sign_constraints": {"features": {"a": "up"}}}, "rules.sign_constraints.features.a: "),
        ("rules", {"frozen_features": {"features": []}}, "rules.frozen_features.features: "),
        ("rules", {"required_facts": {"facts": ["shoe size"]}}, "rules.required_facts.facts[0]: "),
        ("schema_", "coordpath.policy/1", "schema_: there is no such key"),
        ("name", " ", "name: "),
        ("name", "a\u202eb", "characters that cannot be seen"),
        ("models", [], "models: "),
        ("models", ["a", "a"], "models: 'a' is there twice"),
        ("aliases", [], "aliases: "),
        ("aliases", ["latest"], "cannot be an alias"),
        ("aliases", ["v12"], "cannot be an alias"),
        ("facts", {"boss": "x"}, "facts.boss: there is no such key"),
        ("reference", {"sha256": "AB" * 32, "role": "holdout", "target": "y"}, "reference.sha256: "),
        ("reference", {"role": "holdout", "target": "y"}, "reference.sha256: is missing"),
        ("reference", {"sha256": "ab" * 32, "role": "training", "target": "y"}, "reference.role: "),
        ("reference", {"sha256": "ab" * 32, "role": "holdout", "target": "y", "gamma": 0}, "reference.gamma: "),
        ("reference", {"sha256": "ab" * 32, "role": "holdout", "target": "y", "segments": ["r", "r"]}, "'r' is there twice"),
        ("waivers", {"roles": ["service"]}, "waivers.roles[0]: the role 'service' does not approve"),
        ("waivers", {"longest_days": 0}, "waivers.longest_days: "),
        ("approvals", {"extra_for_unverified_author": 0}, "approvals.extra_for_unverified_author: "),
        ("retention", {"class": "a"}, "retention.years: is missing"),
        ("retention", {"class": " ", "years": 7}, "retention.class: "),
        ("retention", {"class": "a\u202eb", "years": 7}, "retention: 'a⟨U+202E⟩b' holds characters that cannot be seen"),
        ("retention", {"class": "a", "years": 0}, "retention.years: "),
        ("retention", {"class": "a", "years": 7.5}, "retention.years: "),
        ("materiality", [], "materiality: "),
        ("materiality", [{"class": "a", "when": {"steps": 1}}], "the last class, 'a', has a 'when'"),
        ("materiality", [{"class": "a"}, {"class": "b"}], "'a' has no 'when'"),
        ("materiality", [{"class": "a", "when": {"steps": 1}}, {"class": "a"}], "'a' is there twice"),
        ("materiality", [{"class": "a", "when": {"shoes": 1}}, {"class": "b"}], "no observation 'shoes'"),
        ("materiality", [{"class": "a", "when": {}}, {"class": "b"}], "materiality[0].when: "),
        ("materiality", [{"class": "a", "full_validation": True}], "needs somebody who approves"),
        ("materiality", [{"class": "a", "approvals": [{"role": "policy-admin"}]}], "'policy-admin' does not approve"),
        ("materiality", [{"class": "a", "approvals": [{"role": "r", "count": 0}]}], "materiality[0].approvals[0].count"),
        ("materiality", [{"class": "a", "approvals": [{"role": "r"}, {"role": "r"}]}], "'r' is there twice"),
        (
            "materiality",
            [{"class": "a", "when": {"steps": 1}}, {"class": "b", "approvals": [{"role": "r"}]}],
            "'a' is more severe than 'b', but asks for less",
        ),
        (
            "materiality",
            [
                {"class": "a", "when": {"steps": 1}, "approvals": [{"role": "r"}]},
                {"class": "b", "approvals": [{"role": "r"}], "full_validation": True},
            ],
            "asks for less",
        ),
    ],
)
def test_every_mistake_is_named_with_its_place(policy_text, place, value, says):
    with pytest.raises(PolicyError) as caught:
        read_policy(json.dumps(policy_text() | {place: value}), "p.yaml")
    assert says in str(caught.value)


def test_many_mistakes_are_counted(policy_text):
    raw = policy_text() | {f"extra{i}": 1 for i in range(9)}
    with pytest.raises(PolicyError, match="and 4 more"):
        read_policy(json.dumps(raw), "p.yaml")


def test_the_schema_fits_what_is_accepted_and_refuses_what_is_not(policy_text):
    schema = policy_schema()
    jsonschema.Draft202012Validator.check_schema(schema)
    check = jsonschema.Draft202012Validator(schema)
    assert check.is_valid(policy_text(EVERY_RULE))
    assert not check.is_valid(policy_text({"nonsense": {}}))
    assert not check.is_valid(policy_text({"gap": None}))


@pytest.mark.parametrize("name", ["rows.csv", 'a "quoted" \\ name', "emoji 😀 and \u202e\x7f", "yes", "#x: y"])
def test_the_starting_policy_is_valid_whatever_the_data_are_called(name):
    policy = read_policy(starting_policy("model", sha256="ab" * 32, uri=name, target=name), "start")
    assert policy.reference.uri == policy.reference.target == name
    assert policy.reference.sha256 == "ab" * 32
    empty = read_policy(starting_policy("model"), "start")
    assert empty.reference.sha256 == "0" * 64
    assert empty.reference.uri is None


def test_the_schema_in_the_repository_is_the_current_one():
    kept = Path(__file__).resolve().parents[3] / "docs" / "schemas" / "policy.schema.json"
    assert json.loads(kept.read_text(encoding="utf-8")) == policy_schema(), "run python docs/schemas/write.py"
