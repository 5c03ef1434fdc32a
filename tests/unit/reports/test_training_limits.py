"""Training data that bear the digest or the name of the reference data."""

import json

import pytest

from coordpath_governance import explain_change
from coordpath_governance.models.linear_model import LinearModel, NumericTerm
from coordpath_governance.rendering.change_report import ChangeReport
from coordpath_governance.reports.document import ChangeReportDocument, document_digest
from coordpath_governance.reports.limits import training_remarks
from coordpath_governance.verification.verify import verify_report


@pytest.fixture(scope="module")
def report(tmp_path_factory):
    path = tmp_path_factory.mktemp("remarks") / "rows.csv"
    path.write_text("a,y\n" + "".join(f"{i % 7},{2 * (i % 7) + i % 3}\n" for i in range(40)))
    old, new = (LinearModel(1.0, (NumericTerm("a", slope),)) for slope in (1.5, 2.0))
    return explain_change(old, new, data=path, target="y", role="holdout")


@pytest.fixture
def trained_on(report):
    """The report's document with one training data set of the candidate, and the remarks on it."""

    def remarks(role="holdout", kind="file", side="candidate", **dataset):
        content = json.loads(report.to_json())
        facts = {"stated_by": "run input", "name": None, "source": None, "digest": None, "rows": None}
        training = {"datasets": [facts | dataset], "more_datasets": 0, "period": None, "exclusions": None}
        content["subject"][side]["training"] = training
        content["data"] |= {"role": role, "kind": kind}
        document = ChangeReportDocument.model_validate(content)
        return training_remarks(document.subject, document.data)

    return remarks


def test_nothing_is_remarked_where_nothing_is_known(report, trained_on):
    assert training_remarks(report.document.subject, report.document.data) == ()
    assert trained_on() == ()
    assert trained_on(name="other", source="/data/other.csv", digest="3f2a91cc") == ()


def test_the_same_digest_is_the_same_data(report, trained_on):
    sha256 = report.document.data.sha256
    said = "(the same SHA-256), although their role is said to be holdout: accuracy on them flatters it."
    expected = f"The candidate names the reference data as its training data {said}"
    assert trained_on(digest=sha256) == trained_on(digest=f"sha256:{sha256.upper()} ") == (expected,)
    assert trained_on(digest=sha256, name="rows.csv") == (expected,)
    assert "although" not in trained_on(role="training", digest=sha256)[0]
    assert trained_on(side="champion", digest=sha256)[0].startswith("The champion names")


@pytest.mark.parametrize("dataset", [{"name": "rows.csv"}, {"source": "s3://x/rows.csv"}, {"source": "C:\\x\\rows.csv"}])
def test_the_same_name_asks_for_a_look(trained_on, dataset):
    (remark,) = trained_on(**dataset)
    assert remark.startswith("The training data of the candidate have the name of the reference data, 'rows.csv', although")
    assert remark.endswith("check that they are not the same rows.")
    assert trained_on(kind="table", **dataset) == ()


def test_a_report_lists_the_remark_among_its_limits_and_verify_misses_it(report):
    content = json.loads(report.to_json())
    facts = {"stated_by": "tags", "name": None, "source": None, "digest": report.document.data.sha256, "rows": None}
    training = {"datasets": [facts], "more_datasets": 0, "period": None, "exclusions": None}
    content["subject"]["candidate"]["training"] = training
    forged = ChangeReportDocument.model_validate(content)
    forged = forged.model_copy(update={"digest": document_digest(forged)})
    verification = verify_report(ChangeReport(forged))
    assert not verification.passed
    assert any("limits" in finding for check in verification.checks for finding in check.findings)


def test_dates_and_training_data_are_among_what_verify_did_not_recheck(report):
    assert not any("dates of registration" in text for text in verify_report(report).not_rechecked)
    content = json.loads(report.to_json())
    content["subject"]["candidate"]["registered_ms"] = 1_767_225_600_000
    dated = ChangeReportDocument.model_validate(content)
    dated = dated.model_copy(update={"digest": document_digest(dated)})
    verification = verify_report(ChangeReport(dated))
    assert verification.passed
    assert any("dates of registration" in text for text in verification.not_rechecked)
