"""Every rule below, at and above its limit, and where it cannot tell."""

from dataclasses import replace

import pytest

from coordpath_governance.models.functions import Curve, FunctionTerm, Piece
from coordpath_governance.models.maps import Elementary, Power
from coordpath_governance.policy.judge import GateFacts, judge
from coordpath_governance.policy.observations import observe
from coordpath_governance.policy.rules import RULES

NOW = "2026-03-01T12:00:00.000000Z"
LONG_AGO = "2026-01-30T12:00:00.000000Z"
VALIDATED = "2026-02-01T00:00:00.000000Z"


@pytest.fixture
def result(policy_of, document):
    """The result of one rule on a document."""

    def found(rule, parameters, on=None, gate=None, waived=()):
        judgement = judge(policy_of({rule: parameters}), on or document, gate, waived)
        return next(each for each in judgement.results if each.rule == rule)

    return found


LIMITS = [
    ("final_cost_increase", "absolute", {"impact.delta": 0.25}, 0.25),
    ("final_cost_increase", "relative", {"impact.delta": 0.25, "impact.champion.mse": 2.0}, 0.125),
    ("final_cost_increase", "standard_errors", {"impact.delta": 0.25, "impact.delta_se": 0.125}, 2.0),
    ("step_cost_increase", "absolute", {"path.steps.1.delta": 0.5}, 0.5),
    ("step_cost_increase", "relative", {"path.steps.1.delta": 0.5, "path.start_cost": 2.0}, 0.25),
    ("rest", "cost_change", {"path.steps.1.kind": "rest", "path.steps.1.delta": -0.5}, 0.5),
    ("gap", "most", {"path.status": "bounded", "path.gap": 0.25}, 0.25),
    ("standardised_change", "absolute", {"coordinates.1.standardised_new": 9.0, "coordinates.1.standardised_old": 8.0}, 1.0),
    (
        "standardised_change",
        "relative",
        {"coordinates.1.standardised_new": 9.0, "coordinates.1.standardised_old": 8.0, "data.target_sd": 4.0},
        0.25,
    ),
    ("decision_flips", "overall", {"impact.flips.up": 0.125, "impact.flips.down": 0.25}, 0.375),
    ("decision_flips", "by_segment", {"impact.segments.0.flips": 0.5}, 0.5),
    ("mean_score_shift", "overall", {"impact.shift.mean": -0.5}, 0.5),
    ("mean_score_shift", "by_segment", {"impact.segments.0.mean_shift": -2.0}, 2.0),
]


@pytest.mark.parametrize(("rule", "parameter", "changes", "value"), LIMITS)
def test_below_at_and_above_a_limit(result, alter, document, rule, parameter, changes, value):
    on = alter(document, changes)
    tiny = 1e-9
    assert result(rule, {parameter: value + tiny}, on).result == "pass"
    assert result(rule, {parameter: value}, on).result == "pass"
    over = result(rule, {parameter: value - tiny}, on)
    assert over.result == "fail"
    assert over.reason
    assert result(rule, {parameter: value - tiny, "otherwise": "review"}, on).result == "review"


COUNTS = [
    ("steps", "most", {}, 4),
    ("rest", "coefficients", {"path.steps.3.kind": "rest"}, None),
    ("unexercised", "changed", {"coordinates.1.exercised": False}, 1),
    ("unexercised", "in_all", {"counts.not_exercised": 3}, 3),
    ("sign_flips", "most", {"coordinates.1.flips": True, "coordinates.2.flips": True}, 2),
    ("features_added", "most", {"counts.columns_added": ["x", "z"]}, 2),
    ("features_dropped", "most", {"counts.columns_dropped": ["x"]}, 1),
]


@pytest.mark.parametrize(("rule", "parameter", "changes", "value"), COUNTS)
def test_counts_below_at_and_above_a_limit(result, alter, document, rule, parameter, changes, value):
    on = alter(document, changes)
    value = len(document.path.steps[3].moves) if value is None else value
    assert result(rule, {parameter: value + 1}, on).result == "pass"
    assert result(rule, {parameter: value}, on).result == "pass"
    assert result(rule, {parameter: value - 1}, on).result == "fail"


UNKNOWN = [
    ("final_cost_increase", {"standard_errors": 2}, {"impact.delta_se": None}, "pinned rows"),
    ("final_cost_increase", {"relative": 0.1}, {"impact.champion.mse": 0.0, "impact.delta": 1.0}, "absolute limit"),
    ("decision_flips", {"overall": 1.0}, {"impact.flips": None}, "threshold"),
    ("decision_flips", {"by_segment": 1.0}, {"impact.segments": []}, "segments"),
    ("decision_flips", {"by_segment": 1.0}, {"impact.segments.0.flips": None}, "segments"),
    ("mean_score_shift", {"by_segment": 99}, {"impact.segments": []}, "segments"),
    ("standardised_change", {"absolute": 99}, {"coordinates.1.exercised": False}, "not exercised"),
    ("standardised_change", {"relative": 99}, {"data.target_sd": 0.0}, "constant"),
    ("standardised_change", {"absolute": 99}, {"coordinates.1.standardised_new": None}, "not exercised"),
    ("sign_constraints", {"features": {"c": "positive"}}, {}, "No coefficient is called c"),
    ("sign_constraints", {"features": {"colour": "positive"}}, {}, "colour"),
    ("sign_constraints", {"features": {"a": "positive"}}, {"coordinates.1.new": None}, "cannot score"),
    ("frozen_features", {"features": ["c"]}, {}, "No coefficient is called c"),
    ("sign_flips", {"features": ["c"]}, {}, "No coefficient is called c"),
]


@pytest.mark.parametrize(("rule", "parameters", "changes", "says"), UNKNOWN)
def test_what_cannot_be_told_is_unknown_and_says_what_to_do(result, alter, document, rule, parameters, changes, says):
    found = result(rule, parameters, alter(document, changes))
    assert found.result == "unknown"
    assert says in found.reason
    assert "not" in found.observed


@pytest.mark.parametrize(
    ("rule", "parameters"),
    [
        ("final_cost_increase", {"absolute": 1e9}),
        ("sign_flips", {}),
        ("frozen_features", {"features": ["a"]}),
        ("features_added", {}),
        ("features_dropped", {}),
        ("standardised_change", {"absolute": 1e9}),
        ("decision_flips", {"overall": 1.0}),
        ("mean_score_shift", {"overall": 1e9}),
    ],
)
def test_a_first_version_compares_with_nothing_and_needs_a_person(result, first_document, rule, parameters):
    found = result(rule, parameters, first_document)
    assert found.result == "unknown"
    assert "no champion" in found.reason


def test_a_difference_without_any_doubt_is_over_every_number_of_standard_errors(result, alter, document):
    worse = alter(document, {"impact.delta": 1e-9, "impact.delta_se": 0.0})
    better = alter(document, {"impact.delta": -1e-9, "impact.delta_se": 0.0})
    same = alter(document, {"impact.delta": 0.0, "impact.delta_se": 0.0, "impact.champion.mse": 0.0})
    limit = {"standard_errors": 1e6}
    assert result("final_cost_increase", limit, worse).result == "fail"
    assert "without bound" in result("final_cost_increase", limit, worse).observed
    assert result("final_cost_increase", limit, better).result == "pass"
    assert result("final_cost_increase", limit | {"relative": 0}, same).result == "pass"


def test_a_limit_below_zero_asks_for_an_improvement(result, alter, document):
    assert result("final_cost_increase", {"absolute": -0.1}, alter(document, {"impact.delta": -0.05})).result == "fail"
    assert result("final_cost_increase", {"absolute": -0.1}, alter(document, {"impact.delta": -0.1})).result == "pass"


def test_signs(result, document, flipped_document):
    wanted = {"features": {"a": "positive", "b": "negative"}}
    assert result("sign_constraints", wanted).result == "pass"
    found = result("sign_constraints", wanted, flipped_document)
    assert found.result == "fail"
    assert "a is −0.1" in found.observed
    assert "b is 0.4" in found.observed
    assert result("sign_flips", {}).result == "pass"
    assert result("sign_flips", {}, flipped_document).result == "fail"
    assert result("sign_flips", {"features": ["still", "colour"]}, flipped_document).result == "pass"
    assert result("sign_flips", {"features": ["b"]}, flipped_document).result == "fail"
    assert result("sign_flips", {"most": 1, "features": ["b", "still"]}, flipped_document).result == "pass"


def _curved(champion, weight, *maps):
    curve = FunctionTerm(("a",), (Piece(weight, (Curve("a", maps),)),))
    return replace(champion, numeric=champion.numeric[1:], functions=(curve,))


@pytest.fixture(scope="session")
def curved_document(champion, candidate, explain):
    """From one function of a, to another."""

    def made(old, new):
        return explain(_curved(champion, *old), _curved(candidate, *new)).document

    return made


def test_a_curve_has_no_slope_whose_sign_could_pass(result, curved_document):
    up, down, both = (1.0, Elementary("exp")), (-1.0, Elementary("exp")), (1.0, Power(2))
    rises, falls, bends = curved_document(up, (2.0, Elementary("exp"))), curved_document(up, down), curved_document(up, both)
    positive, negative = ({"features": {"a": sign}} for sign in ("positive", "negative"))
    for document, sign, expected in (
        *((rises, positive, "unknown"), (rises, negative, "fail")),
        *((falls, positive, "fail"), (falls, negative, "unknown")),
        *((bends, positive, "fail"), (bends, negative, "fail")),
    ):
        assert result("sign_constraints", sign, document).result == expected
    assert "a falls" in result("sign_constraints", positive, falls).observed
    assert [result("sign_flips", {}, each).result for each in (rises, falls, bends)] == ["pass", "fail", "pass"]
    assert result("sign_flips", {"features": ["b"]}, falls).result == "pass"
    assert result("sign_flips", {"features": ["a"]}, falls).result == "fail"
    assert observe(falls, "sign_flips") == 1.0


def test_frozen_features_are_labels_columns_or_the_baseline_exercised_or_not(result, document, flipped_document):
    assert result("frozen_features", {"features": ["still"]}).result == "pass"
    assert result("frozen_features", {"features": ["still"]}, flipped_document).result == "fail"
    assert result("frozen_features", {"features": ["colour"]}).result == "fail"
    assert "colour = green" in result("frozen_features", {"features": ["colour"]}).observed
    assert result("frozen_features", {"features": ["(baseline)"]}).result == "fail"
    both = result("frozen_features", {"features": ["colour", "nothing"]})
    assert both.result == "fail"
    assert "nothing" in both.reason


def test_a_frozen_column_includes_what_is_done_where_it_is_missing(result, alter, document):
    missing = {"coordinates.1.label": "still is missing", "coordinates.1.column": "still", "coordinates.1.kind": "missing"}
    found = result("frozen_features", {"features": ["still"]}, alter(document, missing))
    assert found.result == "fail"
    assert found.observed == "changed: still is missing"


def test_allowed_features_do_not_count(result, alter, document):
    on = alter(document, {"counts.columns_added": ["x", "z"]})
    assert result("features_added", {"allowed": ["x", "z"]}, on).result == "pass"
    found = result("features_added", {"allowed": ["x"]}, on)
    assert found.result == "fail"
    assert found.observed == "added: z"


def test_a_proved_order_has_no_gap_however_it_is_rounded(result, alter, document):
    assert result("gap", {}, alter(document, {"path.gap": 9e-7})).result == "pass"
    assert result("gap", {}, alter(document, {"path.gap": 9e-7, "path.status": "bounded"})).result == "fail"


def test_facts_that_are_blank_are_missing(result, alter, document, policy_of):
    wanted = {"facts": ["owner", "reason"]}
    assert result("required_facts", wanted, alter(document, {"facts.owner": "Anna"})).result == "pass"
    found = result("required_facts", wanted, alter(document, {"facts.owner": " \t"}))
    assert found.result == "fail"
    assert found.observed == "missing: owner"
    known = judge(policy_of({"required_facts": wanted}, facts={"owner": "Anna"}), document)
    assert known.results[-1].result == "pass"


@pytest.mark.parametrize(
    ("made_at", "outcome"),
    [
        ("2026-02-19T12:00:00.000000Z", "pass"),
        ("2026-02-19T11:59:59.000000Z", "fail"),
        (NOW, "pass"),
        ("2026-03-01T12:00:01+00:00", "unknown"),
        ("2026-03-01", "unknown"),
        ("yesterday", "unknown"),
    ],
)
def test_the_age_of_a_report(result, made_at, outcome):
    assert result("report_age", {"days": 10}, gate=GateFacts(NOW, made_at)).result == outcome


def test_the_text_of_an_age_holds_for_a_day(result):
    ages = {result("report_age", {"days": 10}, gate=GateFacts(NOW, f"2026-02-19T{h}:00:00Z")).observed for h in (13, 18, 23)}
    assert ages == {"age: at most 10 days"}


@pytest.fixture
def since(alter, document):
    """Gate facts with a few promoted changes before this one."""
    shifted = alter(document, {"impact.shift.mean": 0.25, "impact.delta": 0.5})

    def made(times, validated_at=VALIDATED):
        return GateFacts(NOW, NOW, (shifted,) * times, validated_at)

    return made


SUMS = [
    ("changes", {}, 4),
    ("days", {}, 28.5),
    ("cost_increase", {"impact.delta": 0.5}, 2.0),
    ("mean_score_shift", {"impact.shift.mean": 0.25}, 1.0),
]


@pytest.mark.parametrize(("limit", "changes", "value"), SUMS)
def test_what_adds_up_since_the_last_validation(result, alter, document, since, limit, changes, value):
    on = alter(document, changes)
    rule = "change_since_validation"
    assert result(rule, {limit: value}, on, since(3)).result == "pass"
    less = value - 1 if limit == "changes" else value - 1e-6
    assert result(rule, {limit: less}, on, since(3)).result == "fail"
    assert result(rule, {limit: value}, on, since(3, None)).result == "unknown"


def test_many_small_moves_of_one_coefficient_add_up_and_moves_back_take_away(result, alter, document):
    rule = "change_since_validation"
    there = alter(document, {"coordinates.1.standardised_old": 0.0, "coordinates.1.standardised_new": 0.5})
    back = alter(document, {"coordinates.1.standardised_old": 0.5, "coordinates.1.standardised_new": 0.0})
    hidden = alter(document, {"coordinates.1.exercised": False})

    def facts(*before):
        return GateFacts(NOW, NOW, before, VALIDATED)

    limit = {"standardised_change": 1.5}
    assert result(rule, limit, there, facts(there, there)).result == "pass"
    assert result(rule, limit, there, facts(there, there, there)).result == "fail"
    assert result(rule, limit, back, facts(there, there, there)).result == "pass"
    assert result(rule, limit, there, facts(hidden)).result == "unknown"


def test_a_change_that_is_a_full_validation_begins_anew(policy_of, document, since):
    rules = {"change_since_validation": {"changes": 0}}
    kind = {"class": "all", "approvals": [{"role": "validator"}], "full_validation": True}
    judged = judge(policy_of(rules, materiality=[kind]), document, since(9, None))
    assert judged.results[-1].result == "pass"
    assert "itself a full validation" in judged.results[-1].observed
    assert judged.full_validation


def test_rules_for_the_gate_are_left_out_of_a_report(policy_of, document):
    judged = judge(policy_of({"report_age": {"days": 1}, "change_since_validation": {"days": 1}}), document)
    assert judged.at_gate == ("report_age", "change_since_validation")
    assert {each.rule for each in judged.results}.isdisjoint(judged.at_gate)
    assert "Checked at the gate: report_age, change_since_validation." in judged.reason


def test_a_waived_rule_is_waived_unless_it_is_met(result, alter, document):
    assert result("steps", {"most": 1}, waived=["steps"]).result == "waived"
    assert result("steps", {"most": 1}, waived=["steps"]).reason.startswith("Waived. ")
    assert result("steps", {"most": 100}, waived=["steps"]).result == "pass"
    assert result("steps", {"most": 1}, waived=["gap"]).result == "fail"
    assert (
        result("decision_flips", {"overall": 1}, alter(document, {"impact.flips": None}), waived=["decision_flips"]).result
        == "waived"
    )


def test_a_value_is_told_apart_from_the_limit_it_breaks(result, alter, document):
    found = result("final_cost_increase", {"absolute": 0.1}, alter(document, {"impact.delta": 0.1000001}))
    assert found.limit == "at most 0.1"
    assert found.observed == "cost increase: 0.1000001"


def test_hostile_names_are_short_and_on_one_line(result, alter, document):
    names = ["evil\n  pass  gap\x1b[31m\u202e" + "W" * 5000 + str(i) for i in range(40)]
    found = result("features_added", {}, alter(document, {"counts.columns_added": names}))
    for text in (found.observed, found.reason):
        assert len(text) < 1500
        assert text.isprintable()
        assert "and 35 more" in text


def test_every_rule_says_what_it_is():
    assert all(rule.__doc__ for rule in RULES.values())


def test_a_level_nobody_has_seen_counts_with_all_it_does_to_a_row(result, alter, document):
    at = next(str(i) for i, c in enumerate(document.coordinates) if c.kind == "other")
    moved = alter(document, {f"coordinates.{at}.old": 0.0, f"coordinates.{at}.new": -3.0})
    assert result("unexercised", {"changed": 0}, moved).result == "pass"
    assert result("standardised_change", {"absolute": 2.9}, moved).result == "fail"
    assert result("standardised_change", {"absolute": 3.0}, moved).result == "pass"
    refused = alter(document, {f"coordinates.{at}.new": None})
    assert result("standardised_change", {"absolute": 3.0}, refused).result == "unknown"


def sized(alter, document, old, new, **changes):
    """The document with a largest standardised coefficient of 10, and a slope that changes sign."""
    places = {"coordinates.1.standardised_old": 10.0, "coordinates.1.standardised_new": 10.0}
    for place in range(2, len(document.coordinates)):
        places |= {f"coordinates.{place}.standardised_old": 0.0, f"coordinates.{place}.standardised_new": 0.0}
    flip = {"flips": True, "standardised_old": old, "standardised_new": new, "exercised": True, **changes}
    return alter(document, places | {f"coordinates.2.{key}": value for key, value in flip.items()})


@pytest.mark.parametrize(
    ("old", "new", "changes", "found"),
    [
        (-0.9, 0.4, {}, "pass"),
        (-1.0, 0.1, {}, "fail"),
        (-0.1, 1.0, {}, "fail"),
        (None, 0.1, {}, "fail"),
        (-0.1, None, {}, "fail"),
        (-0.1, 0.1, {"exercised": False}, "fail"),
    ],
)
def test_small_slopes_may_change_sign_where_the_policy_says_so(result, alter, document, old, new, changes, found):
    flipped = sized(alter, document, old, new, **changes)
    label = flipped.coordinates[2].label
    for rule in ({"at_least": 0.1}, {"at_least": 0.1, "features": [label]}):
        judged = result("sign_flips", rule, flipped)
        assert judged.result == found
        assert "of slopes from 10\N{NO-BREAK SPACE}% of the largest on" in judged.limit
    assert result("sign_flips", {}, flipped).result == "fail"


@pytest.mark.parametrize(
    ("parameters", "delta", "error", "found"),
    [
        ({"absolute": 0.1}, 0.5, 0.25, "fail"),
        ({"absolute": 0.1, "within_errors": 2}, 0.5, 0.25, "pass"),
        ({"relative": 0.1, "within_errors": 2}, 0.5, 0.25, "pass"),
        ({"absolute": 0.1, "within_errors": 1.9}, 0.5, 0.25, "fail"),
        ({"absolute": 0.1, "within_errors": 2}, 0.5, 0.0, "fail"),
        ({"absolute": 0.1, "within_errors": 2}, 0.5, None, "fail"),
        ({"absolute": 0.1, "within_errors": 2}, 0.05, None, "pass"),
        ({"absolute": -0.1, "within_errors": 2}, 0.5, 0.25, "fail"),
        ({"absolute": -0.1, "within_errors": 2}, -0.05, 0.25, "fail"),
        ({"absolute": -0.1, "within_errors": 2}, -0.2, 0.25, "pass"),
        ({"standard_errors": 1, "within_errors": 3}, 0.5, 0.25, "fail"),
    ],
)
def test_an_increase_that_the_rows_cannot_tell_from_none(result, alter, document, parameters, delta, error, found):
    changed = alter(document, {"impact.delta": delta, "impact.delta_se": error, "impact.champion.mse": 1.0})
    judged = result("final_cost_increase", parameters, changed)
    assert judged.result == found
    noted = (
        {"absolute", "relative"} & set(parameters)
        and (delta, error) == (0.5, 0.25)
        and parameters.get("within_errors", 0) >= 2
    )
    assert ("counts as none" in judged.limit) is bool(noted)
    assert (judged.reason == "") == (found == "pass")
