"""Reports of generalised linear models: the family's language, calibration, ratios, decisions."""

from __future__ import annotations

import re

import pytest

from coordpath_governance.reference.versions import MOST_CLASSES
from coordpath_governance.rendering.caps import HTML_CAPS
from coordpath_governance.rendering.family import family_words, ratios, standing_for
from coordpath_governance.rendering.impact_view import metric_rows
from coordpath_governance.rendering.render import render_html, render_markdown, render_summary_markdown
from coordpath_governance.reports.impact_parts import CalibrationBin, ClassBalance, ClassFlip, FlipStep
from coordpath_governance.reports.summary import summarise

GLM = ("binomial", "multinomial", "poisson")


def words(source: str) -> str:
    shown = re.sub(r"<[^>]+>", " ", re.sub(r"<style>.*?</style>", "", source, flags=re.DOTALL))
    return " ".join(shown.replace("\u00a0", " ").replace("&#39;", "'").split())


def section(source: str, slug: str, following: str) -> str:
    return words(source[source.index(f'id="{slug}"') : source.index(f'id="{following}"')])


def updated(document, **changes):
    """The document with fields of its parts changed, as part__field."""
    for name, value in changes.items():
        part, _, key = name.partition("__")
        inner = getattr(document, part).model_copy(update={key: value})
        document = document.model_copy(update={part: inner})
    return document


@pytest.mark.parametrize(
    ("name", "loss", "ratio", "score"),
    [
        ("binomial", "log loss", "Odds ratio", "log-odds"),
        ("multinomial", "log loss", "Relative odds", "log-odds against the average class"),
        ("poisson", "mean Poisson deviance", "Rate ratio", "log rate"),
    ],
)
def test_a_report_speaks_the_language_of_its_family(make, name, loss, ratio, score):
    source = render_html(make(name))
    for text in (words(source), render_markdown(make(name)).replace("\u00a0", " ")):
        assert f"{loss} goes from" in text
        assert f"The lowest {loss} that any coefficients could reach" in text
        assert f"{ratio} for one unit" in text
        assert f"{ratio} for one standard deviation" in text
        assert f"a score, the {score}" in text
        assert "Share of deviance explained" in text
        assert "When all move together" in text
        assert "Average over all orders" not in text
        assert "squared error" not in text
        assert "evaluations of it (“cuts”" in text
    assert f"{loss[0].upper()}{loss[1:]} after each step." in words(source)
    assert f"Cost: {loss}" in render_summary_markdown(make(name))


@pytest.mark.parametrize(
    ("family", "exposure", "score", "ratio", "prediction"),
    [
        ("gamma", None, "log of the mean", "ratio of means", "mean"),
        ("tweedie", None, "log of the mean", "ratio of means", "mean"),
        ("tweedie", "years", "log rate", "rate ratio", "rate per unit of years"),
        ("poisson", None, "log rate", "rate ratio", "rate"),
    ],
)
def test_rates_and_means_under_a_log_link(make, family, exposure, score, ratio, prediction):
    told = family_words(updated(make("poisson"), glm__family=family, data__exposure=exposure), HTML_CAPS[0])
    assert (told.score, told.ratio, told.prediction) == (score, ratio, prediction)


def test_squared_errors_have_no_such_words(make):
    assert family_words(make(), HTML_CAPS[0]) is None
    assert standing_for(make()) == {}
    assert "track-new" not in render_html(make())


def test_an_event_without_a_name(make):
    assert family_words(updated(make("binomial"), glm__classes=()), HTML_CAPS[0]).prediction == "probability of the event"


def test_ratios_are_powers_of_e(make):
    utilisation = next(c for c in make("binomial").coordinates if c.label == "utilisation")
    assert [ratio.replace("\u00a0", " ") for ratio in ratios(utilisation)] == ["13.87 → 32.51", "2.034 → 2.560"]
    same = utilisation.model_copy(update={"new": utilisation.old, "standardised_new": None})
    assert [ratio.replace("\u00a0", " ") for ratio in ratios(same)] == ["13.87", "2.034 → –"]
    huge = utilisation.model_copy(update={"old": 800.0, "new": -800.0, "standardised_old": None, "standardised_new": None})
    assert [ratio.replace("\u00a0", " ") for ratio in ratios(huge)] == [">10³⁰⁰ → <10⁻³⁰⁰", "–"]


def test_ratios_where_there_is_no_unit(make):
    baseline, other, *_ = make("binomial").coordinates
    assert ratios(baseline) == ("–", "–")
    assert ratios(other.model_copy(update={"kind": "rare-champion"}))[0] == "–"


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("binomial", {"(baseline)": "0.1652 → 0.2010"}),
        ("poisson", {"(baseline)": "0.3329 → 0.3985"}),
        (
            "multinomial",
            {
                "(baseline) [billing]": "0.4319 → 0.5065",
                "(baseline) [delivery]": "0.3536 → 0.3072",
                "(baseline) [other | rest]": "0.2145 → 0.1863",
            },
        ),
    ],
)
def test_the_prediction_that_an_average_score_stands_for(make, name, expected):
    told = {label: text.replace("\u00a0", " ") for label, text in standing_for(make(name)).items()}
    assert told == expected
    text = section(render_html(make(name)), "coefficients", "orders")
    assert all(f"the average score, which stands for {value}" in text for value in expected.values())


def test_figures_of_two_classes(make):
    text = section(render_html(make("binomial")), "impact", "policy")
    for row in ("Log loss 0.5265 0.4926 −0.0340 ± 0.0133 better", "AUC 0.7605 0.7671", "Gini 0.5210 0.5343"):
        assert row in text
    assert "Expected ÷ observed 0.6949 0.9162 +0.221 nearer to 1" in text
    assert "good 72.5 % 80.9 % 74.8 % bad 27.5 % 19.1 % 25.2 %" in text
    assert "10 40 0.4212 0.6500 0.6621 0.6750" in text
    assert "Candidate's score (log-odds) minus the champion's, over the rows" in text


def test_a_moved_threshold_is_the_last_step(make):
    text = section(render_html(make("binomial")), "impact", "policy")
    moved = "The champion decides for bad where P(bad) ≥ 0.3, the candidate where P(bad) ≥ 0.25; each is taken at its own"
    assert f"{moved} threshold. 89 of 400 (22.25 %) change from good to bad. 1 (0.25 %) from bad to good." in text
    assert "whose decision flips at each step; bad: its probability is at or above the threshold" in text
    assert "Step What moves To bad To good 1 overall level" in text
    assert "6 months_on_book 3.50 % 1.75 % threshold 0.3 → 0.25 5.00 % 0.00 % From first to last 22.25 % 0.25 %" in text


def test_one_threshold_for_both(make):
    document = make("binomial")
    flips = document.impact.flips.model_copy(update={"champion_threshold": None, "steps": document.impact.flips.steps[:-1]})
    text = section(render_html(updated(document, impact__flips=flips)), "impact", "policy")
    assert "Both versions are taken to decide for bad where P(bad) ≥ 0.25. 89 of 400 (22.25 %) change from good" in text
    assert "threshold 0.3" not in text
    assert "6 months_on_book 3.50 % 1.75 % From first to last" in text


def test_only_the_threshold_moves(make):
    document = make("binomial")
    flips = document.impact.flips.model_copy(update={"steps": document.impact.flips.steps[-1:]})
    text = render_markdown(updated(document, impact__flips=flips, path__steps=())).replace("\u00a0", " ")
    assert "|  | threshold 0.3 → 0.25 | 5.00 % | 0.00 % |\n| | **From first to last** |" in text


def test_several_classes_decide_for_the_most_probable(make):
    source = render_html(make("multinomial"))
    text = section(source, "impact", "policy")
    assert "Another class becomes the most probable one for 95 of 400 (23.75 %)." in text
    assert "To another class" in text
    assert "To yes" not in text
    assert "Average shift +" not in text
    assert "Expected against observed" not in text
    assert "whose most probable class is the observed one) 0.5250 0.5475" in text
    assert "delivery 32.5 % 36.0 % 30.5 % 0.7141 0.7268" in text
    assert "“delivery” Tenth Rows Old: expected Old: observed New: expected New: observed 1 40 0.1430 0.0750" in text
    assert "From To Share delivery other | rest 9.50 % billing other | rest 9.25 % delivery billing 5.00 %" in text
    assert "Mean absolute error" not in text
    assert "Target mean" not in section(source, "provenance", "limits")


def with_classes(document, count):
    """The sample of several classes with more of them, each a copy of the first."""
    sides = {}
    for side in ("champion", "candidate"):
        metrics = getattr(document.impact, side)
        many = tuple(metrics.classes[0].model_copy(update={"label": f"desk {k}"}) for k in range(count))
        if count > MOST_CLASSES:
            many = tuple(each.model_copy(update={"auc": None, "calibration": ()}) for each in many)
        sides[side] = metrics.model_copy(update={"classes": many})
    return document.model_copy(update={"impact": document.impact.model_copy(update=sides)})


@pytest.mark.parametrize(("count", "tables", "folded"), [(3, 3, False), (4, 4, True), (20, 20, True), (21, 0, False)])
def test_the_calibration_of_many_classes_is_folded_and_of_a_crowd_not_measured(make, count, tables, folded):
    document = with_classes(make("multinomial"), count)
    source, markdown = render_html(document), render_markdown(document)
    assert len(source.encode()) < 200_000
    assert source.count('aria-label="Calibration of a class"') == tables
    assert source.count("<summary><bdi>desk") == markdown.count("<details><summary>desk") == tables * folded
    assert ("Old: AUC" in source) == ("Old: AUC" in markdown) == bool(tables)
    for text in (words(source), markdown):
        assert ("With more than 20 classes AUC and calibration" in text) == (tables == 0)
        assert "desk 2" in text


def test_a_class_without_rows_has_no_auc(make):
    document = with_classes(make("multinomial"), 3)
    for side in ("champion", "candidate"):
        metrics = getattr(document.impact, side)
        last = metrics.classes[-1].model_copy(update={"auc": None, "observed": 0.0})
        changed = metrics.model_copy(update={"classes": (*metrics.classes[:-1], last)})
        document = updated(document, **{f"impact__{side}": changed})
    assert re.search(r"\| desk 2 \| 0\.0 % \| .* \| – \| – \|", render_markdown(document).replace("\u00a0", " "))


def test_only_the_ten_most_frequent_changes_of_class_are_shown(make):
    document = make("multinomial")
    moves = tuple(ClassFlip(before="a", after=f"b{k}", flips=0.01 * k) for k in range(12))
    flips = document.impact.flips.model_copy(update={"classes": moves})
    text = section(render_html(updated(document, impact__flips=flips)), "impact", "policy")
    assert "From To Share a b11 11.00 % a b10 10.00 %" in text
    assert "The other 2 changes of class are in change_report.json" in text
    flips = document.impact.flips.model_copy(update={"classes": moves[:11]})
    markdown = render_markdown(updated(document, impact__flips=flips))
    assert "One of the changes of class is only in `change_report.json`." in markdown


@pytest.mark.parametrize(
    ("name", "given", "says"),
    [
        ("poisson", {}, None),
        ("poisson", {"threshold": 0.5}, "No threshold was given and neither"),
        ("binomial", {}, "No threshold was given and neither"),
    ],
)
def test_why_no_decisions_were_counted(make, name, given, says):
    """Not a word where neither version decides anything."""
    document = make(name, settings=given, models={side: {"threshold": None} for side in ("champion", "candidate")})
    document = updated(document, impact__flips=None)
    for text in (section(render_html(document), "impact", "policy"), render_markdown(document)):
        assert "Decisions that flip" in text if says else "ecisions" not in text.partition("## 7.")[2].partition("## 8.")[0]
        assert says is None or says in text


def test_one_version_decides_and_the_other_does_not(make):
    models = {"champion": {"threshold": None}, "candidate": {"threshold": 0.5}}
    document = updated(make("binomial", models=models), impact__flips=None)
    assert "Only the candidate has a threshold, so decisions that flip were not counted." in render_markdown(document)
    first = updated(document, subject__champion=None)
    assert "There is no champion, so there are no decisions that could flip." in render_markdown(first)


@pytest.mark.parametrize("name", ["small", *GLM])
def test_weights_are_named_where_shares_and_means_are_told(make, name):
    document = make(name, data={"weight": "w_col"})
    text = section(render_html(document).replace("<wbr>", ""), "impact", "policy")
    assert "Accuracy of both versions on the same rows, by weight w_col" in text
    assert ", over the rows, by weight w_col" in text
    assert "small cells are merged, and means are by weight w_col" in text
    markdown = render_markdown(document).replace("\\", "")
    assert "Shares and means are by weight w_col." in markdown
    for page in (text, markdown):
        if name in ("binomial", "multinomial"):
            assert "Share of each class among the rows (by weight w_col), and" in page
            assert "Share of the rows (by weight w_col) whose decision flips" in page
        if name == "multinomial":
            assert "By tenths of the rows (by weight w_col), each version in the order of its own probability" in page
            assert "Share of the rows (by weight w_col) whose most probable class becomes another" in page
        if name == "poisson":
            assert "By tenths of the rows (by weight w_col times exposure years_insured), each" in page


def test_what_auc_and_gini_are_is_said(make):
    for name, says in (
        ("binomial", "Gini: 2·AUC − 1."),
        ("multinomial", "How often the class is given a higher probability in a row that has it"),
        ("poisson", "relative to the best possible order, that of what was observed itself"),
    ):
        assert says in section(render_html(make(name)), "reading", "coefficients")
        assert says in render_markdown(make(name))


def test_remarks_have_a_column_only_if_there_are_any(make):
    document = make("binomial")
    assert "Remarks" in render_html(document)
    plain = tuple(c.model_copy(update={"flips": False, "changed": True}) for c in document.coordinates)
    calm = document.model_copy(update={"coordinates": plain})
    assert "Remarks" not in render_html(calm)
    assert "for one standard deviation |\n| :-- |" in render_markdown(calm)


def test_of_what_does_not_vary_no_effect_is_told(make):
    document = make("binomial")
    still = document.coordinates[1].model_copy(
        update={"exercised": False, "sd": 0.0, "standardised_old": 0.0, "standardised_new": 0.0, "label": "still"}
    )
    source = render_html(document.model_copy(update={"coordinates": (*document.coordinates, still)}))
    text = section(source, "coefficients", "orders")
    assert re.search(r"still moves with utilisation 2\.630 → 3\.481 – 13\.87 → 32\.51 – ", text)


def test_one_that_the_chart_leaves_out_is_one(make):
    document = make("binomial")
    extra = tuple(document.coordinates[1].model_copy(update={"label": f"more {k}"}) for k in range(10))
    for count, says in ((10, "The other one is in the table."), (9, "Largest change first. Both models")):
        more = document.model_copy(update={"coordinates": (*document.coordinates, *extra[:count])})
        assert says in section(render_html(more), "coefficients", "orders")


@pytest.mark.parametrize("kind", ["html", "long", "bidi", "pipe"])
def test_hostile_classes_are_named_safely_where_decisions_are_told(make_hostile, kind):
    document = make_hostile(kind, "binomial")
    label = document.glm.classes[-1]
    parts = {key: getattr(document, key) for key in ("data", "counts", "path", "impact", "glm")}
    sentence = next(text for text in summarise(("a", "b"), **parts).sentences if "cut-off" in text)
    assert len(sentence) < 420
    source = render_html(updated(document, summary__sentences=(sentence,)))
    assert "<script" not in source
    assert "\u202e" not in source
    assert label not in section(source, "impact", "policy") or kind == "pipe"


def test_counts_have_a_gini_but_no_classes(make):
    source = render_html(make("poisson"))
    text = section(source, "impact", "policy")
    assert "Gini, relative to the best possible order 0.3542 0.4722" in text
    assert "AUC" not in text
    assert "Class balance" not in text
    assert "Old deviance New deviance" in text
    assert "hreshold" not in text
    assert "Decisions that flip" not in text
    assert "The baseline is the average score, without the exposure, not the average prediction" in words(source)
    provenance = section(source, "provenance", "limits")
    assert "Exposure (its logarithm is added to the score) years_insured" in provenance
    assert "Family of the cost poisson, link log" in provenance


def test_provenance_tells_offset_power_classes_and_thresholds(make):
    text = section(render_html(updated(make("poisson"), data__offset="log_sum", glm__power=1.5)), "provenance", "limits")
    assert "Offset (added to the score) log_sum" in text
    assert "link log, power 1.5" in text
    text = section(render_html(make("binomial")), "provenance", "limits")
    assert "Offset or exposure none" in text
    assert "Class predicted bad" in text
    assert "Classes good, bad good, bad Own threshold 0.3 0.25" in text
    assert "Classes billing, delivery, other | rest" in section(render_html(make("multinomial")), "provenance", "limits")


def test_tenths_of_unequal_size_are_told_for_both(make):
    document = make("binomial")
    fewer = document.impact.candidate.model_copy(update={"calibration": document.impact.candidate.calibration[:9]})
    document = updated(document, impact__candidate=fewer, data__weight="w")
    text = section(render_html(document), "impact", "policy")
    assert "By tenths of the rows (by weight w), each version" in text
    assert "Tenth Old: rows Old: expected Old: observed New: rows New: expected New: observed" in text
    assert "10 40 0.4212 0.6500 Class balance" in text
    assert "| 10 | 40 | 0.4212 | 0.6500 |  |  |  |" in render_markdown(document)


def test_what_one_version_lacks_is_not_defined(make):
    document = make("binomial")
    blank = document.impact.champion.model_copy(update={"auc": None, "explained": None, "observed": 0.0, "classes": ()})
    document = updated(document, impact__champion=blank)
    rows = {row.name: row for row in metric_rows(document.impact, "Log loss")}
    assert (rows["AUC"].old, rows["AUC"].new, rows["AUC"].direction) == ("not defined", "0.7671", "not known")
    assert rows["Share of deviance explained"].difference == "–"
    assert rows["Expected ÷ observed"].old == "not defined"
    assert "bad 27.5 % – 25.2 %" in words(render_html(document))


@pytest.mark.parametrize(("ratio", "word"), [(1.3, "farther from 1"), (0.9, "nearer to 1"), (0.8, "the same")])
def test_a_ratio_is_judged_by_its_distance_from_one(make, ratio, word):
    impact = make("binomial").impact
    sides = [impact.champion.model_copy(update={"expected": value, "observed": 1.0}) for value in (0.8, ratio)]
    rows = metric_rows(impact.model_copy(update={"champion": sides[0], "candidate": sides[1]}), "Log loss")
    assert rows[-1].direction == word


def test_figures_of_different_kinds_are_not_compared(make):
    impact = make("binomial").impact.model_copy(update={"candidate": make().impact.candidate})
    assert [row.name for row in metric_rows(impact, "Log loss")] == ["Log loss"]


def test_the_problem_is_laid_out_by_evaluations(make):
    source = render_html(make("binomial"))
    assert "The report keeps 7 evaluations of it" in words(source)
    assert "    {&#34;moved&#34;: [0], &#34;value&#34;: 0.51" in source
    assert "keeps 0 evaluations" in words(render_html(make("binomial", problem={"cost": {"kind": "logistic"}})))


@pytest.mark.no_cover
@pytest.mark.parametrize("text", ["$" * 3000, "|`<@" * 900])
def test_a_crowd_of_classes_and_tenths_stays_within_the_limits(make_hostile, text):
    document = make_hostile(text, "binomial")
    classes = tuple(ClassBalance(label=text, observed=0.0, expected=0.0) for _ in range(300))
    tenths = tuple(CalibrationBin(rows=1, expected=1e9 * k, observed=2e9 * k) for k in range(300))
    sides = {
        side: getattr(document.impact, side).model_copy(update={"classes": classes, "calibration": tenths})
        for side in ("champion", "candidate")
    }
    steps = tuple(FlipStep(feature=text, up=0.5, down=0.5) for _ in range(200))
    flips = document.impact.flips.model_copy(update={"steps": steps})
    crowd = updated(document, path__steps=document.path.steps * 30, glm__classes=(text,) * 300)
    crowd = crowd.model_copy(update={"impact": crowd.impact.model_copy(update={**sides, "flips": flips})})
    source, markdown = render_html(crowd), render_markdown(crowd)
    assert len(source.encode()) < 400_000
    assert len(markdown) < 60_000
    assert len(render_summary_markdown(crowd)) <= 1_500
    text = words(source)
    for what in ("tenths", "classes", "steps"):
        assert re.search(rf"The other \d+ {what} are in change_report.json", text)
        assert re.search(rf"The other \d+ {what} are in `change_report.json`", markdown)


@pytest.mark.no_cover
@pytest.mark.parametrize("text", ["$" * 3000, "|`<@" * 900])
def test_a_crowd_of_calibrations_stays_within_the_limits(make_hostile, text):
    document = make_hostile(text, "multinomial")
    tenths = tuple(CalibrationBin(rows=1, expected=0.01 * k, observed=0.02 * k) for k in range(100))
    classes = tuple(
        ClassBalance(label=f"{k}{text}", observed=0.0, expected=0.0, auc=0.5, calibration=tenths) for k in range(100)
    )
    sides = {
        side: getattr(document.impact, side).model_copy(update={"classes": classes}) for side in ("champion", "candidate")
    }
    moves = tuple(ClassFlip(before=text, after=text, flips=0.5) for _ in range(400))
    flips = document.impact.flips.model_copy(update={"classes": moves})
    crowd = document.model_copy(update={"impact": document.impact.model_copy(update={**sides, "flips": flips})})
    source, markdown = render_html(crowd), render_markdown(crowd)
    assert len(source.encode()) < 400_000
    assert len(markdown) < 60_000
    for what in ("tenths", "tables of classes", "changes of class"):
        assert re.search(rf"The other \d+ {what} are in change_report.json", words(source))
        assert re.search(rf"The other \d+ {what} are in `change_report.json`", markdown)


@pytest.mark.parametrize("name", GLM)
def test_a_first_version_and_one_that_changes_nothing(make, name):
    document = make(name)
    first = updated(document, subject__champion=None).model_copy(update={"models": {**document.models, "champion": None}})
    assert "minus zero, over the rows" in words(render_html(first))
    same = updated(document, path__steps=(), impact__flips=None)
    assert "nothing to explain" in words(render_html(same.model_copy(update={"comparison": ()})))
