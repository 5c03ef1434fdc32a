"""Dates, training data, plans and waivers on the page; what nobody recorded is missing, and never a placeholder."""

import html
import re

import pytest

from coordpath_governance.cli.report_answer import show_overview
from coordpath_governance.rendering.origin_view import moment_text
from coordpath_governance.rendering.render import render_html, render_markdown
from coordpath_governance.reports.stated_facts import ASKED_FACTS
from coordpath_governance.reports.version_parts import LAST_MOMENT


def row(markdown, name):
    line = next(line for line in markdown.splitlines() if line.startswith(f"| {name} |"))
    return [cell.strip().replace("&#8203;", "") for cell in line.strip("|").split("|")][1:]


@pytest.fixture
def candidate(make):
    """The Markdown of a sample whose candidate has another origin."""

    def page(**origin):
        document = make()
        subject = document.model_dump(mode="json")["subject"]
        subject["candidate"] |= origin
        return render_markdown(make(subject=subject))

    return page


def described(*datasets, more=0, period=None, exclusions=None):
    blank = {"stated_by": "run input", "name": None, "source": None, "digest": None, "rows": None}
    listed = [blank | dataset for dataset in datasets]
    return {"training": {"datasets": listed, "more_datasets": more, "period": period, "exclusions": exclusions}}


def test_times_are_dates_in_utc():
    assert moment_text(None) is None
    assert moment_text(0) == "1970-01-01 00:00:00 UTC"
    assert moment_text(1_767_225_600_999) == "2026-01-01 00:00:00 UTC"
    assert moment_text(LAST_MOMENT) == "9999-12-31 23:59:59 UTC"


def test_dates_of_both_versions(make):
    page = render_markdown(make())
    assert row(page, "Registered") == ["2026-01-01 00:00:00 UTC", "2026-04-01 00:00:00 UTC"]
    assert row(page, "Run started") == ["2025-12-31 23:00:00 UTC", "2026-03-31 23:00:00 UTC"]


def test_a_run_that_cannot_be_had_says_so(candidate):
    blank = {"run_started_ms": None}
    assert row(candidate(run_remark="not there", **blank), "Run started")[1] == "The run is not there any more"
    assert row(candidate(run_remark="not readable", **blank), "Run started")[1] == "The run could not be read"


def test_training_data_says_on_whose_word(candidate):
    assert row(candidate(**described({"stated_by": "tags"})), "Training data")[1] == "the author's words, from tags"
    unclear = candidate(**described({"name": "rows", "stated_by": "run input without context"}))
    assert row(unclear, "Training data")[1] == "rows (logged by the run; whether for training is not said)"
    assert row(unclear, "Training data, rows")[1] == "_missing_"


def test_several_data_sets_are_numbered_and_what_is_left_out_is_counted(candidate):
    page = candidate(**described({"name": "a", "rows": 1}, {"name": "b"}, {"name": "c", "rows": 3000}, more=4))
    assert row(page, "Training data, rows")[1] == "(1) 1; (3) 3,000; and 4 more"


def test_nothing_known_of_training_data_is_missing(candidate):
    page = candidate(training=None)
    names = ("Training data", *(f"Training data, {each}" for each in ("source", "digest", "rows", "period", "exclusions")))
    assert {row(page, name)[1] for name in names} == {"_missing_"}


@pytest.mark.parametrize("stated_by", ["run input", "tags"])
def test_what_mlflows_digest_covers_is_said_where_one_is_shown(make, stated_by):
    subject = make().model_dump(mode="json")["subject"]
    subject["champion"]["training"] = None
    subject["candidate"] |= described({"digest": "3f2a91cc", "stated_by": stated_by})
    said = "over at most the first 10,000 rows"
    for page in (render_html(make(subject=subject)), render_markdown(make(subject=subject))):
        assert (said in page) == (stated_by == "run input")


def test_training_data_with_the_name_of_the_reference_data_are_remarked(make, candidate, capsys):
    said = "▲ The training data of the candidate have the name of the reference data"
    same = described({"name": "rents_2025q4.parquet"})
    assert said in candidate(**same)
    subject = make().model_dump(mode="json")["subject"]
    subject["candidate"] |= same
    document = make(subject=subject)
    assert said in re.sub(r"</?bdi>", "", render_html(document))
    show_overview(document)
    assert said in capsys.readouterr().out


def test_all_are_filled_in_only_if_all_are(make):
    full = dict.fromkeys(ASKED_FACTS, "2026-12-31")
    assert "All 12 facts this report asks for are filled in." in render_html(make(facts=full))
    assert "All 12 facts this report asks for are filled in." in render_markdown(make(facts=full))
    page = render_html(make(facts=full | {"rollback": "  "}))
    assert "1 of the 12 facts this report asks for is missing: rollback plan." in page


def test_an_authors_words_are_shown_as_such(make):
    facts = {"reason": "newer rows", "planned": None, "implementation_date": None, "tagged": ["reason"]}
    facts |= {"unusable_tags": ["planned", "implementation_date"]}
    page = render_markdown(make(facts=facts))
    assert row(page, "Reason for the change") == ["newer rows (the author's words, from a tag)"]
    unused = "_missing_ (the tag coordpath.planned was not used: it is too long)"
    assert [cell.replace("\\", "") for cell in row(page, "Planned in advance")] == [unused]
    assert "or no date)" in row(page, "Implementation date")[0]


def test_the_terminal_says_when_versions_were_registered_and_what_is_missing(make, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "400")
    reason = "Class 'major' because sign_flips is 1 (from 1 on)."
    show_overview(make(assessment={"materiality": "major", "materiality_reason": reason}))
    lines = capsys.readouterr().out.splitlines()
    assert reason in lines
    assert "Registered: v3 2026-01-01 00:00:00 UTC, v4 2026-04-01 00:00:00 UTC" in lines
    missing = "purpose, tier, developer, validator, planned in advance, rollback plan, notification deadline"
    assert f"Missing: {missing}" in lines


def test_the_page_says_which_condition_set_the_class(make):
    reason = "Class 'major' because sign_flips is 1 (from 1 on)."
    document = make(assessment={"materiality": "major", "materiality_reason": reason})
    assert reason in html.unescape(re.sub(r"</?bdi>|<wbr>", "", render_html(document))).replace("\u200b", "")
    assert reason in html.unescape(render_markdown(document)).replace("\\", "").replace("\u200b", "")


@pytest.mark.parametrize(
    ("waivers", "says"),
    [
        ({}, "the policy lets nobody waive a rule"),
        ({"waivers": {"longest_days": 3}}, "the policy lets nobody waive a rule"),
        ({"waivers": {"roles": []}}, "the policy lets nobody waive a rule"),
        ({"waivers": {"roles": ["risk", "<b>"]}}, "risk or <b> may waive a rule"),
    ],
)
def test_where_waivers_are_to_be_found(make, waivers, says):
    policy = {"name": "rents", "sha256": "0" * 64, "document": {"name": "rents", **waivers}}
    document = make(assessment={"verdict": "review", "policy": policy, "rules": []})
    page = re.sub(r"</?bdi>", "", render_html(document))
    assert says.replace("<b>", "&lt;b&gt;") in page
    assert says.split(" or ")[0] in render_markdown(document)
    assert "<b>" not in page
