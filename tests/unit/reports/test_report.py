"""What a report says, and that it says the same twice."""

import json
from pathlib import Path
from typing import get_args

import numpy as np
import pandas as pd
import pytest
from jsonschema import Draft202012Validator

from coordpath_governance import explain_change
from coordpath_governance.errors import AlignmentError, ReferenceDataError, ReportFormatError, UsageError
from coordpath_governance.models.linear_model import LinearModel, NumericTerm
from coordpath_governance.paths.certificate import Status
from coordpath_governance.paths.path import StepKind
from coordpath_governance.rendering.change_report import ChangeReport, json_schema
from coordpath_governance.reports.document import KindOfStep, PathStatus
from coordpath_governance.reports.steps import _brackets

SCHEMA = Path(__file__).parents[3] / "docs" / "schemas" / "change_report.schema.json"


def test_same_input_same_bytes(rows, champion, candidate):
    one, two = (explain_change(champion, candidate, data=rows.copy(), target="y") for _ in range(2))
    assert one.to_bytes() == two.to_bytes()
    assert one.to_html() == two.to_html()
    assert one.to_markdown() == two.to_markdown()


def test_it_reads_back_as_it_was_written(report):
    again = ChangeReport.from_bytes(report.to_bytes())
    assert again.to_bytes() == report.to_bytes()
    assert again.sha256 == report.sha256


def test_the_schema_in_the_repository_is_the_current_one_and_fits(report):
    stored = json.loads(SCHEMA.read_text())
    assert stored == json.loads(json.dumps(json_schema()))
    Draft202012Validator(stored).validate(json.loads(report.to_bytes()))


def test_a_report_has_the_words_of_paths_for_a_status_and_a_step():
    assert get_args(PathStatus) == get_args(Status)
    assert get_args(KindOfStep) == get_args(StepKind)


@pytest.mark.parametrize(("field", "word"), [("status", "heuristic"), ("kind", "preprocessing")])
def test_words_that_no_path_ever_had_are_refused(report, field, word):
    document = json.loads(report.to_bytes())
    (document["path"] if field == "status" else document["path"]["steps"][0])[field] = word
    with pytest.raises(ReportFormatError, match=field):
        ChangeReport.from_bytes(json.dumps(document).encode())


def test_start_and_end_are_the_mean_squared_errors_of_the_two_models(report, rows):
    def score(slopes, intercept, effects):
        return intercept + sum(rows[name] * value for name, value in slopes.items()) + rows["colour"].map(effects).fillna(0)

    old = score({"a": 1.0, "b": 0.1, "c": 0.5, "still": 1.0}, 1.2, {"green": 0.8, "blue": 0.1})
    new = score({"a": 2.0, "b": -1.1, "c": 0.5, "still": 2.0}, 0.3, {"green": 1.0, "blue": 0.2, "teal": 0.1})
    loss_old, loss_new = (rows["y"] - old) ** 2, (rows["y"] - new) ** 2
    document = report.document
    assert document.path.start_cost == pytest.approx(loss_old.mean())
    assert document.path.steps[-1].cost == pytest.approx(loss_new.mean())
    assert document.impact.delta_se == pytest.approx((loss_new - loss_old).sem())
    assert document.impact.candidate.mae == pytest.approx((rows["y"] - new).abs().mean())
    assert document.impact.shift.mean == pytest.approx((new - old).mean())
    assert document.impact.shift.largest == pytest.approx((new - old).loc[(new - old).abs().idxmax()])
    assert document.impact.shift.p50 == pytest.approx(np.median(new - old), abs=0.02)
    flips = ((old >= 3) != (new >= 3)).mean()
    assert document.impact.flips.up + document.impact.flips.down == pytest.approx(flips)
    north = rows["region"] == "north"
    segment = document.impact.segments[0]
    assert (segment.value, segment.rows) == ("north", int(north.sum()))
    assert segment.delta == pytest.approx((loss_new - loss_old)[north].mean())
    assert segment.delta_se == pytest.approx((loss_new - loss_old)[north].sem(), rel=1e-6)


def test_unchanged_coefficients_are_no_steps_and_unexercised_ones_are_listed(report):
    document = report.document
    assert {step.feature for step in document.path.steps} == {"(baseline)", "a", "b", "colour"}
    still = next(c for c in document.coordinates if c.label == "still")
    assert still.changed
    assert not still.exercised
    assert document.counts.not_exercised >= 1
    assert any("not exercised" in text for text in document.limits)
    assert document.counts.sign_flips == 1


def test_levels_with_few_rows_are_not_shown_on_their_own(report, rows):
    assert 0 < (rows["colour"] == "teal").sum() < 10
    labels = [c.label for c in report.document.coordinates]
    assert "colour = teal" not in labels
    assert any("merged levels" in label for label in labels)
    assert all(c.rows is None or c.rows == 0 or c.rows >= 10 for c in report.document.coordinates)


def test_shapley_values_and_deltas_both_add_up_to_the_whole_change(report):
    path = report.document.path
    whole = path.steps[-1].cost - path.start_cost
    assert sum(step.delta for step in path.steps) == pytest.approx(whole)
    assert sum(step.shapley for step in path.steps) == pytest.approx(whole)
    assert sum(step.share for step in path.steps) == pytest.approx(1.0)


def test_other_orders_are_no_better(report):
    ours, greedy, direct = report.document.comparison
    assert ours.worse_per_step == 0
    assert greedy.objective >= ours.objective - 1e-12
    assert direct.objective >= ours.objective - 1e-12
    assert sorted(greedy.order) == sorted(ours.order)


def test_from_zero_without_a_champion(rows, candidate):
    document = explain_change(None, candidate, data=rows, target="y").document
    assert document.subject.champion is None
    assert document.models["champion"] is None
    assert document.path.start_cost == pytest.approx((rows["y"] ** 2).mean())
    assert "from zero" in document.summary.headline


def test_the_same_model_twice_has_an_empty_path(rows, champion):
    document = explain_change(champion, champion, data=rows, target="y").document
    assert document.path.steps == ()
    assert document.path.status == "optimal"
    assert "same function" in document.summary.headline
    assert document.comparison == ()


def test_many_coefficients_end_in_all_the_rest(rows):
    rng = np.random.default_rng(0)
    names = [f"x{i}" for i in range(15)]
    frame = pd.DataFrame(rng.normal(size=(200, 15)), columns=names)
    frame["y"] = frame.sum(axis=1) + rng.normal(size=200)
    old, new = (
        LinearModel(0.0, tuple(NumericTerm(n, v) for n, v in zip(names, rng.normal(1, 0.1, 15), strict=True))) for _ in "ab"
    )
    document = explain_change(old, new, data=frame, target="y", max_steps=4).document
    assert [step.kind for step in document.path.steps][-1] == "rest"
    assert len(document.path.steps) == 5
    assert document.path.steps[-1].feature == "all the rest"
    assert "the first 4 steps" in " ".join(document.summary.sentences)


def test_one_left_over_step_is_called_by_its_name(rows):
    frame = rows[["a", "b", "y"]]
    old = LinearModel(0.0, (NumericTerm("a", 1.0), NumericTerm("b", 1.0)), has_intercept=False)
    new = LinearModel(0.0, (NumericTerm("a", 2.0), NumericTerm("b", -1.0)), has_intercept=False)
    document = explain_change(old, new, data=frame, target="y", max_steps=1).document
    assert {step.feature for step in document.path.steps} == {"a", "b"}
    assert document.path.steps[-1].kind == "rest"


def test_a_constant_target_is_told(rows, champion, candidate):
    document = explain_change(champion, candidate, data=rows.assign(y=1.0), target="y").document
    assert document.impact.champion.r2 is None
    assert any("constant" in text for text in document.limits)


def test_a_perfect_fit_has_no_error_but_for_rounding(rows):
    frame = rows[["a", "b", "c"]].assign(y=0.1 + 0.3 * rows["a"] - 0.7 * rows["b"] + 0.9 * rows["c"])
    old = LinearModel(0.1, tuple(NumericTerm(n, v) for n, v in (("a", 0.3), ("b", -0.7), ("c", 0.8))))
    new = LinearModel(0.1, tuple(NumericTerm(n, v) for n, v in (("a", 0.3), ("b", -0.7), ("c", 0.9))))
    document = explain_change(old, new, data=frame, target="y").document
    assert document.impact.candidate.mse == pytest.approx(0.0, abs=1e-12)
    assert document.path.status == "optimal"


def test_a_model_without_raw_coefficients_is_told_by_its_terms(rows, candidate):
    declared = LinearModel(0.0, (NumericTerm("a", 1.5),), source="declared by the author in coefficients.json")
    document = explain_change(declared, candidate, data=rows, target="y").document
    assert next(raw.old for raw in document.raw if raw.name == "a") == 1.5
    assert any("declared" in text for text in document.limits)


def test_a_target_that_neither_model_predicts_is_told(rows, champion, candidate):
    document = explain_change(champion, candidate, data=rows.assign(y=rows["y"] + 1000.0), target="y").document
    assert any("check that the target column is right" in text for text in document.limits)


def test_to_frame_has_one_row_a_step(report):
    frame = report.to_frame()
    assert list(frame["feature"]) == [step.feature for step in report.document.path.steps]


def test_a_notebook_shows_it_in_a_sandboxed_frame(report):
    shown = report._repr_html_()
    assert shown.startswith("<iframe")
    assert "sandbox" in shown
    assert "<script" not in shown


@pytest.mark.parametrize(
    ("costs", "expected"),
    [
        ([5, 4, 3], [None, None]),
        ([5, 6, 4], [1, 1]),
        ([5, 6, 7, 5, 4], [1, 1, 1, None]),
        ([5, 6, 7], [None, None]),
        ([5, 6, 4, 5, 3], [1, 1, 2, 2]),
        ([5], []),
    ],
)
def test_brackets_hold_together_what_only_pays_off_together(costs, expected):
    assert _brackets(costs) == expected


def test_models_that_cannot_be_compared_are_refused(rows, champion):
    with pytest.raises(AlignmentError, match="target"):
        explain_change(LinearModel(0.0, target="price"), LinearModel(0.0, target="rent"), data=rows, target="y")
    with pytest.raises(AlignmentError, match="link"):
        explain_change(LinearModel(0.0, link="log"), LinearModel(0.0), data=rows, target="y")
    with pytest.raises(AlignmentError, match="not supported"):
        explain_change(LinearModel(0.0, link="log"), LinearModel(0.0, link="log"), data=rows, target="y")


def test_wrong_use_is_told(rows, champion, candidate, tmp_path):
    with pytest.raises(UsageError, match="data="):
        explain_change(champion, candidate)
    with pytest.raises(UsageError, match="target="):
        explain_change(champion, candidate, data=rows)
    with pytest.raises(UsageError, match="column name"):
        explain_change(champion, candidate, data=tmp_path, target=[1, 2])
    with pytest.raises(ReferenceDataError, match="no target column"):
        explain_change(champion, candidate, data=rows, target="z")


def test_the_target_may_be_given_as_values(rows, champion, candidate):
    by_name = explain_change(champion, candidate, data=rows, target="y")
    by_value = explain_change(champion, candidate, data=rows.drop(columns="y"), target=rows["y"])
    assert by_value.document.path == by_name.document.path
