"""The Markdown report and the short summary: complete, safe, within their limits."""

from __future__ import annotations

import re

import pytest
from markdown_it import MarkdownIt

from coordpath_governance.rendering.render import render_html, render_markdown, render_summary_markdown
from coordpath_governance.rendering.sections import SECTIONS
from coordpath_governance.rendering.wording import EMPTY_PATH
from coordpath_governance.reports.document import FunctionFacts, FunctionPoint


def rendered(markdown: str) -> str:
    return MarkdownIt("gfm-like", {"linkify": False, "html": True}).render(markdown)


def test_sections_come_in_the_order_of_the_design(sample):
    page = rendered(render_markdown(sample))
    assert re.findall(r"<h2>(.*?)</h2>", page) == [
        f"{number}. {section.title.replace(chr(39), '&#39;')}" for number, section in enumerate(SECTIONS, 1)
    ]


def test_every_table_row_has_as_many_cells_as_its_head(sample):
    for table in re.findall(r"<table>.*?</table>", rendered(render_markdown(sample)), re.DOTALL):
        rows = re.findall(r"<tr>.*?</tr>", table, re.DOTALL)
        assert len({len(re.findall("<t[dh][ >]", row)) for row in rows}) == 1
    lines = re.sub(r"```.*?```", "", render_markdown(sample), flags=re.DOTALL).splitlines()
    widths: set[int] = set()
    for line in [*lines, ""]:
        if line.startswith("|"):
            widths.add(line.count("|"))
        else:
            assert len(widths) <= 1, line
            widths = set()


def test_no_row_of_a_table_falls_out_of_it(sample):
    assert "<p>|" not in rendered(render_markdown(sample))


def test_the_small_sample_is_complete(make):
    markdown = render_markdown(make()).replace("\u00a0", " ")
    assert (
        "| 1 | energy\\_use\\_kwh\\_per\\_m2 | 0 → −0.006230 | `·············██████████·` | 9.4882 | −0.3513 ± 0.0205 |"
        in markdown
    )
    assert "| ┌ 6 **A** | rooms |" in markdown
    assert "▲ +0.0228 ± 0.0248" in markdown
    assert "| Purpose | _missing_ |" in markdown
    assert "Not exercised by this data" in markdown
    assert "(proved)" in markdown
    assert '"schema": "coordpath.problem/1"' in markdown


def test_the_same_document_gives_the_same_text(make):
    assert render_markdown(make()) == render_markdown(make())


def test_large_and_empty(make):
    large = render_markdown(make("large"))
    assert len(large) < 60_000
    assert "The other 140 coefficients are in `change_report.json`." in large
    assert "roved" not in large
    assert EMPTY_PATH in render_markdown(make("empty"))


def test_hostile_text_stays_text(hostile_sample):
    for markdown in (render_markdown(hostile_sample), render_summary_markdown(hostile_sample)):
        page = rendered(markdown)
        assert not re.search("[\u202a-\u202e\u2066-\u2069\x00-\x09\x0b-\x1f\x7f]", markdown)
        tags = set(re.findall(r"<([a-z0-9]+)", page))
        allowed = "h1 h2 h3 p table thead tbody tr th td ul li strong em code pre details summary br span"
        assert tags <= set(allowed.split())
        prose = re.sub(r"<(code|pre)\b.*?</\1>", "", page, flags=re.DOTALL)
        assert not re.search(r"@\w|#\d|GH-\d|:tada:|https://|www\.|\$x", prose)


def test_hostile_text_does_not_break_tables(hostile_sample):
    for table in re.findall(r"<table>.*?</table>", rendered(render_markdown(hostile_sample)), re.DOTALL):
        rows = re.findall(r"<tr>.*?</tr>", table, re.DOTALL)
        assert len({len(re.findall("<t[dh][ >]", row)) for row in rows}) == 1
    assert "<p>|" not in rendered(render_markdown(hostile_sample))


@pytest.mark.no_cover
@pytest.mark.parametrize("text", ["$" * 5000, "|`<@" * 900, "😀" * 4000, "\u202e" * 3000, "a\n" * 3000])
def test_the_worst_of_all_worlds_is_within_the_limits(make_hostile, text):
    document = make_hostile(text)
    crowd = document.model_copy(
        update={
            "coordinates": document.coordinates * 80,
            "raw": document.raw * 80,
            "limits": document.limits * 300,
            "path": document.path.model_copy(update={"steps": document.path.steps * 20}),
        }
    )
    markdown = render_markdown(crowd)
    assert len(markdown) < 60_000
    assert len(markdown.encode()) < 100_000
    assert len(render_summary_markdown(crowd, text)) <= 1_500


def test_summary(make):
    summary = render_summary_markdown(make(), "coordpath/apartment-rent/v3-to-v4/change_report.html")
    assert len(summary) <= 1_500
    assert summary.startswith("**○ Not assessed.**")
    assert "**v4 is more accurate than v3 on these data.**" in summary
    assert len(re.findall(r"^\| \d", summary, re.MULTILINE)) == 5
    assert "… 3 more steps" in summary
    assert "`coordpath/apartment-rent/v3-to-v4/change_report.html`" in summary
    assert "5a0f5a0f5a0f" in summary


def test_summary_of_every_sample(sample):
    summary = render_summary_markdown(sample)
    assert len(summary) <= 1_500
    assert "`change_report.html` under `coordpath/`" in summary


def test_limits_that_are_left_out_are_counted(make):
    many = make("small", limits=[f"limit {i}" for i in range(70)])
    assert "- limit 39\n- 30 more are in `change_report.json`" in render_markdown(many)
    assert "The other 10 limits are in <code>change_report.json</code>" in render_html(many)


def test_places_of_a_function_that_are_left_out_are_counted(make):
    points = tuple(FunctionPoint(at=(float(place),), old=0.0, new=1.0) for place in range(70))
    bent = FunctionFacts(
        unit="age",
        label=None,
        kind="function",
        columns=("age",),
        in_champion=True,
        in_candidate=True,
        changed=True,
        points=points,
    )
    assert "The other 10 places are in" in render_markdown(make().model_copy(update={"functions": (bent,)}))
