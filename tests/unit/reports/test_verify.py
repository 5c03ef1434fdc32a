"""Any changed number is found: by the digest, and by arithmetic when the digest was forged too."""

import copy
import json
import math

import pytest

from coordpath_governance.errors import ReportFormatError
from coordpath_governance.reports.change_report import ChangeReport
from coordpath_governance.reports.compose import document_digest
from coordpath_governance.reports.verify import verify_report

NOT_DERIVED = ("rows.", "recheck.versions", "settings.time_limit", "settings.seed", "problem.time_limit", "problem.seed")


def leaves(value, where=()):
    if isinstance(value, dict):
        for key, item in value.items():
            yield from leaves(item, (*where, key))
    elif isinstance(value, list):
        for i, item in enumerate(value):
            yield from leaves(item, (*where, i))
    else:
        yield where, value


def changed(document, where, value):
    out = copy.deepcopy(document)
    place = out
    for key in where[:-1]:
        place = place[key]
    place[where[-1]] = value
    return out


def reread(document):
    return ChangeReport.from_bytes(json.dumps(document).encode())


def forge(document):
    """What somebody does who knows our digest: change a figure and compute the digest again."""
    report = reread(document)
    return ChangeReport(report.document.model_copy(update={"digest": document_digest(report.document)}))


def outcome(report):
    """Whether a change was noticed: a failed check, or a report so contradictory that it cannot be read."""
    try:
        return not verify_report(report).passed
    except ReportFormatError:
        return True


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
        if not outcome(forged):
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
    assert outcome(forge(changed(content, where, value)))


def test_steps_in_another_order_called_optimal_are_found(report):
    content = json.loads(report.to_bytes())
    content["path"]["steps"] = content["path"]["steps"][::-1]
    assert outcome(forge(content))


def test_with_the_data_it_is_verified(file_report, data_file):
    result = verify_report(file_report, data_file)
    assert result.passed
    assert result.conclusion == "verified"


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
    failed = {check.what for check in result.checks if not check.passed}
    assert any("SHA-256" in what for what in failed)
    assert any("follow from the data" in what for what in failed)


def test_data_that_cannot_be_used_are_a_finding(file_report, data_file, rows):
    rows.drop(columns="a").to_csv(data_file, index=False)
    result = verify_report(file_report, data_file)
    assert not result.passed
    assert "'a'" in " ".join(f for check in result.checks for f in check.findings)


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


def test_numbers_are_finite(report):
    _, found = numbers(report)
    assert all(math.isfinite(value) for _, value in found)
