"""The HTML page: complete, self-contained, safe, accessible, small."""

from __future__ import annotations

import itertools
import re
from html.parser import HTMLParser

import pytest

from coordpath_governance.rendering.render import render_html
from coordpath_governance.rendering.sections import SECTIONS
from coordpath_governance.rendering.wording import EMPTY_PATH, VERDICT_WORDS

CSP = "default-src 'none'; style-src 'unsafe-inline'; img-src data:"
VOID = {"meta", "br", "wbr", "rect", "line", "circle", "path"}


class Page(HTMLParser):
    """Elements in order, with a check that every element is closed where it was opened."""

    def __init__(self, source: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.text: dict[int, str] = {}
        self.open: list[int] = []
        self.feed(source)
        assert not self.open

    def handle_starttag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))
        self.text[len(self.elements) - 1] = ""
        if tag not in VOID:
            self.open.append(len(self.elements) - 1)

    def handle_startendtag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))

    def handle_endtag(self, tag):
        assert self.elements[self.open.pop()][0] == tag

    def handle_data(self, data):
        for index in self.open:
            self.text[index] += data

    def named(self, *tags):
        return [(tag, attrs, self.text.get(i, "")) for i, (tag, attrs) in enumerate(self.elements) if tag in tags]


def words(source: str) -> str:
    return " ".join(re.sub(r"<[^>]+>", "", re.sub(r"<style>.*?</style>", "", source, flags=re.DOTALL)).split())


def test_every_page_is_self_contained(sample):
    source = render_html(sample)
    page = Page(source)
    assert f'content="{CSP}"'.replace("'", "'") in source
    tags = {tag for tag, _ in page.elements}
    assert not tags & {"script", "link", "img", "iframe", "object", "embed", "form", "base", "image", "use", "foreignobject"}
    for _, attrs in page.elements:
        assert not any(name.startswith("on") for name in attrs)
        for name in ("src", "href", "xlink:href", "action", "style"):
            assert attrs.get(name) is None or attrs[name].startswith("#")
    assert not re.search(r"https?:|@import|url\((?!#)", source)


def test_head(sample):
    source = render_html(sample)
    assert source.startswith("<!doctype html>")
    assert '<html lang="en">' in source
    assert '<meta name="viewport" content="width=device-width, initial-scale=1">' in source
    assert len(Page(source).named("title")) >= 1


def test_sections_come_in_the_order_of_the_design(sample):
    page = Page(render_html(sample))
    assert [attrs["id"] for _, attrs, _ in page.named("section")] == [section.slug for section in SECTIONS]
    titles = [text for _, _, text in page.named("h2")]
    assert titles == [f"{number}{section.title}" for number, section in enumerate(SECTIONS, 1)]


def test_headings_go_down_one_level_at_a_time(sample):
    levels = [int(tag[1]) for tag, _, _ in Page(render_html(sample)).named("h1", "h2", "h3", "h4")]
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert all(after - before <= 1 for before, after in itertools.pairwise(levels))


def test_tables_and_pictures_are_told(sample):
    source = render_html(sample)
    page = Page(source)
    assert source.count("<table") == source.count("<caption")
    assert all(attrs.get("scope") in {"row", "col"} for _, attrs, _ in page.named("th"))
    for tag, attrs in page.elements:
        if tag == "svg":
            assert attrs.get("role") == "img" or attrs.get("aria-hidden") == "true"
    ids = [attrs["id"] for _, attrs in page.elements if "id" in attrs]
    assert len(ids) == len(set(ids))
    for _, attrs in page.elements:
        for name in ("aria-labelledby", "aria-describedby"):
            assert attrs.get(name) is None or attrs[name] in ids


def test_the_same_document_gives_the_same_bytes(make):
    assert render_html(make()) == render_html(make())


def test_nothing_reads_nan_or_none(sample):
    text = words(render_html(sample))
    assert not re.search(r"\b(nan|NaN|None|inf|undefined)\b", text)


@pytest.mark.parametrize("verdict", sorted(VERDICT_WORDS))
def test_verdicts_have_a_word_and_a_shape_of_their_own(make, verdict):
    policy = None if verdict == "not assessed" else {"name": "rents", "sha256": "ab" * 32, "document": {}}
    told = {"verdict": verdict, "reason": "Because.", "materiality": "class II", "policy": policy}
    source = render_html(make(assessment=told))
    card = source[source.index('class="verdict ') : source.index('id="summary"')]
    assert VERDICT_WORDS[verdict] in card
    assert "Because." in card
    assert "class II" in card
    assert "<svg" in card
    assert ("No policy was applied." in words(source)) == (verdict == "not assessed")
    assert ("abababababab" in card) == (policy is not None)


def test_small_sample_tells_path_brackets_and_certificate(make):
    source = render_html(make())
    text = words(source)
    assert "No other order of these steps keeps the in-between models more accurate (proved)." in text
    assert "Steps 6 and 7 belong together: step 6 makes the model worse until the bracket is complete." in text
    assert source.count("bracket-first") >= 2  # style and row
    assert "▲ worse: +0.0228" in text.replace("\u00a0", " ")
    assert "The axis does not start at zero" in text
    assert "Not exercised by this data" in text
    assert "Step 5, district: 4 coefficients" in text
    assert "⇄ sign flips" in text


def test_bounded_is_never_called_proved(make):
    text = words(render_html(make("large")))
    assert "No order can be better by more than 0.00042 per step on average (0.3 % of what any order" in text
    assert "roved" not in text


def test_empty_path(make):
    text = words(render_html(make("empty")))
    assert EMPTY_PATH.replace("'", "&#39;") in text
    assert "there is nothing to order" in text


def test_changes_that_the_data_do_not_exercise_are_never_harmless(make):
    document = make("empty")
    idle = document.coordinates[-1].model_copy(update={"new": 2.0, "changed": True})
    text = words(render_html(document.model_copy(update={"coordinates": (*document.coordinates[:-1], idle)})))
    assert "One coefficient changed that is not exercised by this data" in text
    assert "That does not make a change of it harmless." in text


def test_first_version(make):
    text = words(render_html(make("first")))
    assert "No champion: Candidate v4, explained from a model with all coefficients zero" in text
    assert "There is no champion" in text
    assert "12 of the 12 facts this report asks for are missing: owner, purpose, tier," in text


def test_moments_only(make):
    text = words(render_html(make("moments")))
    assert "There are no standard errors: the rows were not at hand." in text
    assert "Share of total" not in text
    assert "needs rows" in text
    assert "No threshold was given" in text


def test_missing_facts_are_missing(make):
    source = render_html(make(facts={"owner": None, "reason": " "}))
    assert source.count(">missing<") >= 7
    assert "[" not in words(source[source.index('id="provenance"') : source.index('id="limits"')])


def test_large_sample_is_small_and_says_what_it_leaves_out(make):
    source = render_html(make("large"))
    assert len(source.encode()) < 200_000
    text = words(source)
    assert "The other 80 coefficients are in change_report.json." in text
    assert "The other 70 moves are in change_report.json." in text
    assert "The problem has" in text


def test_hostile_text_stays_text(hostile_sample):
    source = render_html(hostile_sample)
    page = Page(source)
    assert "script" not in {tag for tag, _ in page.elements}
    assert not any(name.startswith("on") or name == "data-x" for _, attrs in page.elements for name in attrs)
    assert not re.search("[\u202a-\u202e\u2066-\u2069\x00-\x09\x0b-\x1f\x7f]", source)
    assert all(attrs.get("href", "#").startswith("#") for _, attrs in page.elements)
    assert len(source.encode()) < 400_000


def test_hostile_text_is_shown(make_hostile):
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in render_html(make_hostile("html"))
    assert "abc⟨U+202E⟩⟨U+2066⟩txt" in render_html(make_hostile("bidi")).replace("<wbr>", "")
    assert "<bdi>line one↵line two↵↵| three | four |</bdi>" in render_html(make_hostile("newline"))
    assert "<bdi>(empty)</bdi>" in render_html(make_hostile("empty"))


@pytest.mark.thorough
@pytest.mark.no_cover
def test_the_worst_of_all_worlds_is_still_small(make_hostile):
    document = make_hostile("'\"&<>" * 2000)
    crowd = document.model_copy(
        update={"coordinates": document.coordinates * 80, "raw": document.raw * 80, "limits": document.limits * 300}
    )
    assert len(render_html(crowd).encode()) < 400_000


def changed_steps(document, **changes):
    """The document with its first step changed."""
    steps = (document.path.steps[0].model_copy(update=changes), *document.path.steps[1:])
    return document.model_copy(update={"path": document.path.model_copy(update={"steps": steps})})


def test_a_bracket_of_one_step(make):
    text = words(render_html(changed_steps(make(), bracket=7, worsens=True)))
    assert "Step 1 makes the model worse by itself (−0.3513); no later step completes it." in text


def test_large_costs_are_told_with_their_power_of_ten(make):
    document = make()
    steps = tuple(
        s.model_copy(update={k: getattr(s, k) * 1e9 for k in ("cost", "delta", "shapley")}) for s in document.path.steps
    )
    path = document.path.model_copy(update={"steps": steps, "start_cost": document.path.start_cost * 1e9})
    text = words(render_html(document.model_copy(update={"path": path})))
    assert "Mean squared error (×10⁹)9.839 → 9.137" in text
    assert "in units of ×10⁹" in text


def test_a_difference_within_its_error_is_no_judgement(make):
    source = render_html(make(impact={"delta_se": 5.0}))
    impact = words(source[source.index('id="impact"') : source.index('id="policy"')])
    assert impact.count("no difference shown") == 3


def test_labels_that_only_repeat_the_role(make):
    document = make()
    subject = document.subject
    sides = {side: getattr(subject, side).model_copy(update={"label": side}) for side in ("champion", "candidate")}
    text = words(render_html(document.model_copy(update={"subject": subject.model_copy(update=sides)})))
    assert "From Champion to Candidate" in text
    assert "Champion champion" not in text


def test_the_scale_of_the_cost_is_named(make):
    assert "Half the mean squared error" in render_html(make(problem={"cost": {"kind": "quadratic", "scale": "1/2n"}}))


def test_rare_levels_are_named(make):
    document = make()
    rare = document.coordinates[-2].model_copy(update={"kind": "rare", "merged": ("Old Port", "Quay")})
    text = words(render_html(document.model_copy(update={"coordinates": (*document.coordinates[:-2], rare)})))
    assert "merged, since one has too few rows: Old Port, Quay" in text


def test_models_that_cannot_score_a_level(make):
    document = make()
    gone = document.coordinates[-1].model_copy(update={"old": None, "standardised_old": None})
    assert "cannot score" in render_html(document.model_copy(update={"coordinates": (*document.coordinates[:-1], gone)}))
