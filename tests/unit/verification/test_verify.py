"""Any changed number is found: by the digest, and by arithmetic when the digest was forged too."""

import itertools
import json
import math

import numpy as np
import pytest
from helpers.forging import changed, forge, leaves, noticed, reread

from coordpath_governance import explain_change
from coordpath_governance.alignment.change import align
from coordpath_governance.alignment.layout import ModelPair
from coordpath_governance.errors import NotFoundError, ReportFormatError, UsageError
from coordpath_governance.models import from_document, to_document
from coordpath_governance.models.linear_model import LinearModel, NumericTerm
from coordpath_governance.paths import Certificate, Solution, evaluate_order, solve_problem
from coordpath_governance.reference.logged import moments_to_log, read_logged_moments
from coordpath_governance.rendering.change_report import ChangeReport
from coordpath_governance.reports.compose import ReportInputs, compose
from coordpath_governance.reports.document import document_digest
from coordpath_governance.reports.make import ReferenceData, Request, make_report
from coordpath_governance.reports.problem import problem_on_moments
from coordpath_governance.verification.evidence import evidence_of
from coordpath_governance.verification.verify import verify_report

NOT_DERIVED = ("rows.", "recheck.versions", "settings.time_limit", "settings.seed", "problem.time_limit", "problem.seed")


def numbers(report):
    content = json.loads(report.to_bytes())
    return content, [(w, v) for w, v in leaves(content) if isinstance(v, int | float) and not isinstance(v, bool)]


def test_an_untouched_report_holds_but_is_not_called_verified_without_data(report):
    result = verify_report(report)
    assert result.passed
    assert "not rechecked" in result.conclusion
    assert any("the data" in text for text in result.not_rechecked)


def test_every_changed_number_breaks_the_digest(report):
    content, found = numbers(report)
    assert len(found) > 300
    for where, value in found:
        document = changed(content, where, value + 1)
        try:
            changed_report = reread(document)
        except ReportFormatError:
            continue
        assert document_digest(changed_report.document) != changed_report.document.digest, where


@pytest.mark.thorough
@pytest.mark.no_cover
def test_every_derived_number_is_found_even_with_a_forged_digest(report):
    content, found = numbers(report)
    merged = {level for c in content["coordinates"] for level in c["merged"]}
    own_evidence = {
        ("models", who, "categorical", 0, "effects", i)
        for who in ("champion", "candidate")
        for i, level in enumerate(content["models"][who]["categorical"][0]["levels"])
        if level in merged
    }
    assert own_evidence, "the effect of a level that is merged for its few rows can only be rechecked with the rows"
    found = [item for item in found if item[0] not in own_evidence]
    derived = [(w, v) for w, v in found if not ".".join(map(str, w)).startswith(NOT_DERIVED)]
    sample = [item for i, item in enumerate(derived) if i % 3 == 0 or item[0][0] in ("path", "impact", "counts", "data")]
    unnoticed = []
    for where, value in sample:
        new = value + 1 if isinstance(value, int) else value * 1.001 + (0.001 if value == 0 else 0.0)
        try:
            forged = forge(changed(content, where, new))
        except ReportFormatError:
            continue
        if not noticed(forged):
            unnoticed.append(".".join(map(str, where)))
    assert not unnoticed, " ".join(unnoticed)


@pytest.mark.parametrize(
    ("where", "value"),
    [
        (("path", "status"), "optimal"),
        (("summary", "headline"), "v2 is better in every way."),
        (("limits",), []),
        (("counts", "columns_added"), ["x"]),
        (("coordinates", 1, "label"), "A"),
        (("path", "steps", 0, "feature"), "b"),
        (("models", "candidate", "intercept"), 0.31),
    ],
)
def test_forged_texts_are_found(report, where, value):
    content = json.loads(report.to_bytes())
    if where == ("path", "status"):
        content["path"]["lower_bound"] -= 0.1
    assert noticed(forge(changed(content, where, value)))


def test_steps_in_another_order_called_optimal_are_found(report):
    content = json.loads(report.to_bytes())
    content["path"]["steps"] = content["path"]["steps"][::-1]
    assert noticed(forge(content))


def test_with_the_data_it_is_verified(file_report, data_file):
    result = verify_report(file_report, data_file)
    assert result.passed
    assert result.conclusion.startswith("verified against the data; ")


def test_the_same_data_under_another_name_are_the_same_data(file_report, data_file):
    assert verify_report(file_report, data_file.rename(data_file.with_name("received by mail.csv"))).conclusion.startswith(
        "verified against the data; "
    )


def test_a_report_on_a_table_is_rechecked_by_its_rows_and_says_what_that_leaves_open(report, data_file, rows):
    result = verify_report(report, data_file)
    assert result.passed
    assert any("table in memory" in text for text in result.not_rechecked)
    rows.assign(y=rows["y"] + 0.01).to_csv(data_file, index=False)
    assert not verify_report(report, data_file).passed


def test_a_report_on_logged_moments_wants_these_moments(rows, champion, candidate, data_file, tmp_path):
    frame = rows[rows["colour"] != "teal"]
    content = moments_to_log(frame, "y", weight=None, role="holdout", period=None, missing="fail")
    (tmp_path / "reference.json").write_bytes(content)
    facts = explain_change(champion, candidate, data=frame, target="y").document
    request = Request(facts.subject, facts.facts, facts.settings)
    report = ChangeReport(
        make_report(champion, candidate, ReferenceData(read_logged_moments(content), "y", role="holdout"), request)
    )
    result = verify_report(report, tmp_path / "reference.json")
    assert result.passed
    assert any("rows behind the logged moments" in text for text in result.not_rechecked)
    with pytest.raises(UsageError, match=r"reference\.json"):
        verify_report(report, data_file)
    with pytest.raises(NotFoundError, match=r"reference\.json"):
        verify_report(report, tmp_path / "nothing.json")


def test_row_evidence_is_found_out_by_the_data(file_report, data_file):
    content = json.loads(file_report.to_bytes())
    content["rows"]["total_se"] *= 0.5
    content["impact"]["delta_se"] *= 0.5
    forged = forge(content)
    result = verify_report(forged, data_file)
    assert not result.passed
    assert any("total_se" in finding for check in result.checks for finding in check.findings)


def test_other_data_are_found(file_report, data_file, rows):
    rows.assign(y=rows["y"] * 1.01).to_csv(data_file, index=False)
    result = verify_report(file_report, data_file)
    failed = {check.claim for check in result.checks if not check.passed}
    assert any("SHA-256" in what for what in failed)
    assert any("follow from the data" in what for what in failed)


def test_data_that_cannot_be_used_are_a_finding(file_report, data_file, rows):
    rows.drop(columns="a").to_csv(data_file, index=False)
    result = verify_report(file_report, data_file)
    assert not result.passed
    assert "'a'" in " ".join(f for check in result.checks for f in check.findings)


def test_at_the_scale_of_yen_no_figure_gets_more_room(rows, champion, candidate, tmp_path):
    """Rounding is judged in each figure's own unit: E[y²] = 1e15 gives R², counts and shares no slack."""
    factor = 1e7

    def scaled(model):
        document = to_document(model)
        document["intercept"] *= factor
        for term in document["numeric"]:
            term["coefficient"] *= factor
        for term in document["categorical"]:
            term["effects"] = [effect * factor for effect in term["effects"]]
        return from_document(document)

    path = tmp_path / "yen.csv"
    rows.assign(y=rows["y"] * factor).to_csv(path, index=False)
    settings = {"data": path, "target": "y", "segments": ["region"], "threshold": 3.0 * factor}
    report = explain_change(scaled(champion), scaled(candidate), **settings)
    assert verify_report(report, path).passed
    content = json.loads(report.to_bytes())
    forgeries = {
        ("impact", "candidate", "r2"): content["impact"]["candidate"]["r2"] + 0.01,
        ("impact", "flips", "up"): 0.0,
        ("counts", "changed"): 1,
        ("data", "rows"): 10_000,
        ("path", "gap"): 0.01,
        ("coordinates", 1, "standardised_new"): content["coordinates"][1]["standardised_new"] + 100.0,
        ("coordinates", 1, "sd"): content["coordinates"][1]["sd"] * 1.0001,
        ("data", "target_sd"): 1e12,
    }
    for where, value in forgeries.items():
        forged = forge(changed(content, where, value))
        try:
            assert not verify_report(forged, path).passed, where
        except ReportFormatError:
            continue


@pytest.mark.parametrize("hidden", ["a", "b", "still", "colour"])
def test_a_hidden_coordinate_is_found(report, hidden):
    """Leave a column out of the evidence and make the report anew: consistent in itself, but not what the models are."""
    document = report.document
    evidence = evidence_of(document)
    keep = [i for i, c in enumerate(evidence.moments.columns) if c.column != hidden]
    moments = evidence.moments.mapped(
        np.eye(len(evidence.moments.columns))[keep],
        [evidence.moments.columns[i] for i in keep],
        [evidence.moments.counts[i] for i in keep],
    )
    pair = ModelPair(evidence.champion, evidence.candidate)
    change = align(pair, moments)
    problem = problem_on_moments(change, document.settings)
    inputs = ReportInputs(document.subject, document.facts, document.data, document.settings, document.recheck.versions)
    forged = ChangeReport(
        compose(inputs, pair=pair, change=change, problem=problem, solution=solve_problem(problem), rows=None)
    )
    result = verify_report(forged)
    assert not result.passed
    assert any(f"{hidden}" in finding and "not there" in finding for check in result.checks for finding in check.findings)


def test_the_worst_order_is_not_optimal_however_small_the_change(rows):
    """The objective is nearly all noise; what counts is the part that an order can change."""
    best = LinearModel(0.0, tuple(NumericTerm(n, v) for n, v in (("a", 2.0), ("b", -1.0), ("c", 0.5))))
    near = LinearModel(0.0, tuple(NumericTerm(n, v) for n, v in (("a", 2.0 + 1e-5), ("b", -1.0 - 3e-5), ("c", 0.5 + 2e-5))))
    report = explain_change(best, near, data=rows, target="y")
    document, evidence = report.document, evidence_of(report.document)
    pair = ModelPair(evidence.champion, evidence.candidate)
    change = align(pair, evidence.moments)
    orders = [evaluate_order(evidence.problem, o) for o in itertools.permutations(range(len(evidence.problem.changed)))]
    worst = max(orders, key=lambda s: s.certificate.objective)
    objective = worst.certificate.objective
    claimed = Solution(
        evidence.problem,
        worst.path,
        Certificate(
            objective=objective, lower_bound=objective, gap=0.0, gap_per_step=0.0, status="optimal", solver="lattice"
        ),
    )
    inputs = ReportInputs(document.subject, document.facts, document.data, document.settings, document.recheck.versions)
    forged = ChangeReport(
        compose(inputs, pair=pair, change=change, problem=evidence.problem, solution=claimed, rows=document.rows)
    )
    assert verify_report(report).passed
    failed = [check.level for check in verify_report(forged).checks if not check.passed]
    assert "certificate" in failed


def test_a_forged_verdict_is_found_and_what_people_say_is_named_as_not_rechecked(report):
    content = json.loads(report.to_bytes())
    assert noticed(forge(changed(content, ("assessment", "verdict"), "pass")))
    assert noticed(forge(changed(content, ("assessment", "materiality"), "none")))
    said = verify_report(forge(changed(content, ("data", "period"), "the best quarter")))
    assert any("what people said" in text and "period" in text for text in said.not_rechecked)


@pytest.mark.parametrize("where", [("rows", "total_se"), ("rows", "step_se", 0), ("impact", "delta_se")])
def test_a_negative_standard_error_is_no_report(report, where):
    with pytest.raises(ReportFormatError, match="greater than or equal to 0"):
        reread(changed(json.loads(report.to_bytes()), where, -1.0))


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"{",
        b"[]",
        b"null",
        b'{"schema": "coordpath.change_report/2"}',
        b'{"schema": "coordpath.change_report/1"}',
        b'{"schema": "coordpath.change_report/1", "schema": "x"}',
        b'{"schema": NaN}',
        b"[" * 100_000,
        b"\xff\xfe",
    ],
)
def test_what_is_not_a_report_is_refused(content):
    with pytest.raises(ReportFormatError):
        ChangeReport.from_bytes(content)


def test_unknown_keys_are_refused(report):
    content = json.loads(report.to_bytes())
    content["extra"] = 1
    with pytest.raises(ReportFormatError, match="extra"):
        reread(content)


def test_a_problem_that_contradicts_the_coordinates_is_refused(report):
    content = json.loads(report.to_bytes())
    content["problem"]["features"][1] = "other"
    with pytest.raises(ReportFormatError):
        verify_report(reread(content))


def test_a_problem_in_which_coefficients_move_twice_is_refused(report):
    content = json.loads(report.to_bytes())
    content["problem"] |= {"steps": 9, "max_steps": None}
    with pytest.raises(ReportFormatError, match="moves once"):
        verify_report(reread(content))


def test_numbers_are_finite(report):
    _, found = numbers(report)
    assert all(math.isfinite(value) for _, value in found)
