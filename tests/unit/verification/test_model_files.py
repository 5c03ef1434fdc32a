"""Reports about models that only somebody declares: the digest of the files, and what they hold."""

from dataclasses import replace

import pytest

from coordpath_governance import explain_change, to_coefficients
from coordpath_governance.models import model_digest, read_model
from coordpath_governance.models.formats import DECLARED, recalled_source, vouched_source
from coordpath_governance.models.linear_model import LinearModel, NumericTerm, Provenance
from coordpath_governance.verification.model_files import check_model_files
from coordpath_governance.verification.verify import verify_report

OLD = LinearModel(0.0, numeric=(NumericTerm("a", 1.0), NumericTerm("b", 0.0)))
NEW = LinearModel(0.0, numeric=(NumericTerm("a", 2.0), NumericTerm("b", -1.0)))


@pytest.fixture
def folder(tmp_path):
    """A model of an unknown flavour, whose author states coefficients beside it."""
    path = tmp_path / "model"
    path.mkdir()
    (path / "MLmodel").write_text("flavors: {forest: {data: trees.bin}}")
    to_coefficients(NEW, path / "coefficients.json")
    return path


def checked(rows, folder, **changed):
    """The report on the folder's model, verified against these files."""
    read = read_model(folder, Provenance(digest=model_digest(folder)))
    report = explain_change(OLD, replace(read, **changed), data=rows, target="y")
    result = verify_report(report)
    check_model_files(result, report.document, "candidate", folder)
    return result


def test_what_the_author_states_is_compared_with_the_file(rows, folder):
    result = checked(rows, folder)
    assert result.passed
    assert result.files == {"candidate": True}
    assert any("states the coefficients of the candidate" in check.claim for check in result.checks)


@pytest.mark.parametrize("before", [DECLARED, "read from the model's files"])
def test_files_that_were_gone_for_a_while_are_compared_by_how_they_had_been_read(rows, folder, before):
    result = checked(rows, folder, source=recalled_source("ab" * 32, before))
    assert result.passed is (before == DECLARED)
    assert result.files == {"candidate": True}


def test_other_coefficients_than_the_author_states(rows, folder):
    result = checked(rows, folder, numeric=(NumericTerm("a", 2.0), NumericTerm("b", -1.5)))
    assert [check.findings for check in result.checks if not check.passed] == [
        ("models.candidate.numeric[1].coefficient: -1.5, recomputed -1.0",)
    ]


@pytest.mark.parametrize("author_states", [True, False])
def test_what_a_person_vouches_for_is_compared_by_the_digest_alone(rows, folder, author_states):
    stated = read_model(folder)
    if not author_states:
        (folder / "coefficients.json").unlink()
    vouched = replace(stated, source=vouched_source("Bob"), provenance=Provenance(digest=model_digest(folder)))
    report = explain_change(OLD, vouched, data=rows, target="y")
    result = verify_report(report)
    check_model_files(result, report.document, "candidate", folder)
    assert result.passed
    assert result.files == {"candidate": False}
    assert "the candidate's model: whether its coefficients are those of its files" in result.not_rechecked
    assert result.conclusion == (
        "arithmetic and certificate hold, and so does the comparison with the digest of the candidate's model files; "
        "the data were not rechecked"
    )
    assert stated.source == DECLARED


def test_files_that_hold_no_environment_although_the_report_tells_one(rows, tmp_path):
    path = tmp_path / "coefficients.json"
    to_coefficients(NEW, path)
    read = read_model(path, Provenance(digest=model_digest(path)))
    report = explain_change(OLD, read, data=rows, target="y")
    environment = {"files": (), "python": None, "pins": (), "channels": (), "remarks": (), "damaged": ()}
    told = report.document.model_validate(
        {**report.document.model_dump(by_alias=True), "environments": {"champion": None, "candidate": environment}}
    )
    result = verify_report(report)
    check_model_files(result, told, "candidate", path)
    assert ("environments.candidate: the files ask for nothing",) in [check.findings for check in result.checks]
