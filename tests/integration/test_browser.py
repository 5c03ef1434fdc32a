"""A real report in a real browser: from a file, and inside MLflow's own artifact viewer."""

import json
import os
import uuid
from pathlib import Path

import pytest

import coordpath_governance as cg

pytestmark = pytest.mark.browser
TARGET = "price"
VERDICTS = {"pass": "Pass", "review": "Needs review", "fail": "Fail"}
RESULTS = {"pass": "✔ met", "review": "◆ needs review", "fail": "✖ not met", "unknown": "? not known"}
SHAPES = [(width, scheme) for width in (360, 1440) for scheme in ("light", "dark")]

CONTRAST = """
  const parse = text => text.match(/[\\d.]+/g).map(Number).concat(1).slice(0, 4);
  const over = (top, under) => [0, 1, 2].map(i => top[i] * top[3] + under[i] * (1 - top[3])).concat(1);
  const light = c => { const f = v => (v /= 255) <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4;
                       return 0.2126 * f(c[0]) + 0.7152 * f(c[1]) + 0.0722 * f(c[2]); };
  const behind = node => {
    const layers = [];
    for (; node; node = node.parentElement) {
      const colour = parse(getComputedStyle(node).backgroundColor);
      if (colour[3] > 0) layers.push(colour);
      if (colour[3] === 1) break;
    }
    const canvas = matchMedia('(prefers-color-scheme: dark)').matches ? [18, 18, 18, 1] : [255, 255, 255, 1];
    return layers.reverse().reduce((under, top) => over(top, under), canvas);
  };
  const contrast = element => {
    const ground = behind(element), ink = over(parse(getComputedStyle(element).color), ground);
    const [a, b] = [light(ink), light(ground)].sort((x, y) => y - x);
    return (a + 0.05) / (b + 0.05);
  };
"""
FAINT_TEXT = f"""
(() => {{ {CONTRAST}
  const faint = new Map();
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  for (let text; (text = walker.nextNode());) {{
    const element = text.parentElement, style = getComputedStyle(element);
    if (!text.data.trim() || !element.getClientRects().length || style.visibility === 'hidden') continue;
    if (element.closest('svg') || ['STYLE', 'TITLE'].includes(element.tagName)) continue;
    const ratio = contrast(element);
    const large = parseFloat(style.fontSize) >= 24 || (parseFloat(style.fontSize) >= 18.66 && style.fontWeight >= 700);
    if (ratio < (large ? 3 : 4.5))
      faint.set(element.tagName + '.' + element.className, ratio.toFixed(2) + ' ' + text.data.trim().slice(0, 40));
  }}
  return [...faint].map(([where, what]) => where + ': ' + what);
}})()
"""
RULES_SHOWN = f"""
(() => {{ {CONTRAST}
  return [...document.querySelectorAll('#policy tbody tr')].map(row => {{
    const result = row.querySelector('.result'), mark = result.querySelector('[aria-hidden]');
    const box = result.getBoundingClientRect();
    return {{
      rule: row.querySelector('th').innerText.trim(), text: result.innerText.trim(), mark: mark.innerText.trim(),
      contrast: Math.min(contrast(result), contrast(mark)),
      inside: box.width > 0 && box.left >= 0 && box.right <= document.documentElement.clientWidth,
    }};
  }});
}})()
"""
CUT_OFF = """
[...document.querySelectorAll('#verdict *, #policy *')]
  .filter(e => e.getClientRects().length && !e.closest('pre') && !e.closest('thead'))
  .map(e => [e, e.getBoundingClientRect()])
  .filter(([, box]) => box.left < 0 || box.right > document.documentElement.clientWidth + 0.5)
  .map(([e]) => e.tagName + ': ' + e.innerText.slice(0, 40))
"""
LABELS_OF_NOTHING = "[...document.querySelectorAll('#policy td:empty')].filter(e => e.getClientRects().length).length"


def keep_picture(page, name, **options):
    """For whoever wants to look: set COORDPATH_SHOTS to a folder."""
    if folder := os.environ.get("COORDPATH_SHOTS"):
        page.picture(Path(folder) / f"{name}.png", **options)


@pytest.fixture(scope="module")
def reports(tmp_path_factory):
    """Pages from real data with names that are far too long: changes, a first version, none at all, other costs."""
    import numpy as np
    import pandas as pd
    from sklearn.linear_model import LogisticRegression, PoissonRegressor, Ridge

    folder = tmp_path_factory.mktemp("pages")
    rng = np.random.default_rng(3)
    columns = [
        "area",
        "age",
        *(f"feature_number_{i}" for i in range(14)),
        "w" * 300,
        "a name with <b>tags</b> & many words " * 4,
    ]
    frame = pd.DataFrame(rng.normal(size=(300, len(columns))), columns=columns)
    frame["region"] = rng.choice(["north", "south", "w" * 80], 300)
    frame[TARGET] = 1e6 * (frame["area"] - 0.5 * frame["age"]) + rng.normal(0, 1e5, 300)
    old, new = (Ridge().fit(rows[columns], rows[TARGET]) for rows in (frame[:150], frame))
    facts = {"data": frame, "target": TARGET, "name": "House prices", "threshold": 0.0, "segments": ("region",)}
    frame["sold"] = np.where(frame["area"] - frame["age"] + rng.logistic(size=300) > 0, "yes " + "y" * 60, "no")
    some = [*columns[:4], *columns[-2:]]
    slow, fast = (LogisticRegression().fit(rows[some], rows["sold"]) for rows in (frame[:150], frame))
    decided = facts | {"target": "sold", "threshold": 0.4, "champion_threshold": 0.5}
    frame["years"], frame["w"] = rng.uniform(0.1, 1.0, 300), rng.uniform(0.5, 2.0, 300)
    frame["claims"] = rng.poisson(frame["years"] * np.exp(0.3 * frame["area"]))
    frame["grade"] = rng.choice(["A", "B", "C " + "c" * 60], 300)
    few = ["area", "age", "feature_number_1"]
    rate = facts | {"target": "claims", "exposure": "years", "weight": "w", "threshold": None}
    often, rare = (PoissonRegressor().fit(rows[few], rows["claims"] / rows["years"]) for rows in (frame[:150], frame))
    grade, grades = (LogisticRegression().fit(rows[few], rows["grade"]) for rows in (frame[:150], frame))
    made = {
        "rates": cg.explain_change(often, rare, **rate),
        "classes": cg.explain_change(grade, grades, **facts | {"target": "grade", "weight": "w", "threshold": None}),
        "classifier": cg.explain_change(slow, fast, **decided, reason="more rows", role="holdout"),
        "change": cg.explain_change(old, new, **facts, reason="more rows", role="holdout", period="2025"),
        "first": cg.explain_change(None, new, **facts),
        "same": cg.explain_change(new, new, **facts),
    }
    pages = {}
    for name, report in made.items():
        pages[name] = folder / f"{name}.html"
        pages[name].write_text(report.to_html(), encoding="utf-8")
    return pages


@pytest.mark.parametrize("kind", ["change", "first", "same", "classifier", "rates", "classes"])
def test_a_page_asks_for_nothing_and_complains_of_nothing(chromium, reports, kind):
    with chromium.page() as page:
        page.open(reports[kind].as_uri())
        assert page.run("document.querySelector('h1').innerText") == "House prices"
        assert page.complaints == []
        assert page.requests == [reports[kind].as_uri()]
        assert page.run("document.scripts.length") == 0
        assert page.run("document.querySelectorAll('main > section, main section').length") >= 11
        broken = page.run(
            "[...document.querySelectorAll('a[href^=\"#\"]')].filter(a => !document.querySelector(a.hash)).length"
        )
        assert broken == 0


@pytest.mark.parametrize("kind", ["change", "first", "same", "classifier", "rates", "classes"])
@pytest.mark.parametrize(("width", "scheme"), SHAPES)
def test_a_page_fits_every_window_and_can_be_read(chromium, reports, kind, width, scheme):
    with chromium.page() as page:
        page.shape(width, scheme=scheme)
        page.open(reports[kind].as_uri())
        page.run("document.querySelectorAll('details').forEach(d => d.open = true)")
        assert page.run("innerWidth") == width
        assert page.run("document.documentElement.scrollWidth") <= width
        assert page.run(FAINT_TEXT) == []
        keep_picture(page, f"report-{kind}-{width}-{scheme}")


WIDER_THAN_THE_PAGE = """
[...document.querySelectorAll('#coefficients .box, #impact .box')]
  .filter(e => e.scrollWidth > e.clientWidth).map(e => e.getAttribute('aria-label') + ' ' + e.scrollWidth)
"""


@pytest.mark.parametrize("kind", ["rates", "classes"])
@pytest.mark.parametrize("width", [1100, 1160, 1200])
def test_tables_of_generalised_linear_models_fit_without_a_scroll_bar(chromium, reports, kind, width):
    with chromium.page() as page:
        page.shape(width)
        page.open(reports[kind].as_uri())
        page.run("document.querySelectorAll('details').forEach(d => d.open = true)")
        assert page.run(WIDER_THAN_THE_PAGE) == []
        keep_picture(page, f"tables-{kind}-{width}")


def test_dark_is_dark_and_light_is_light(chromium, reports):
    grounds = {}
    with chromium.page() as page:
        for scheme in ("light", "dark"):
            page.shape(1440, scheme=scheme)
            page.open(reports["change"].as_uri())
            colour = page.run("getComputedStyle(document.body).backgroundColor.match(/[\\d.]+/g).map(Number)")
            grounds[scheme] = sum(colour[:3]) / 3
    assert grounds["light"] > 200
    assert grounds["dark"] < 60


def test_a_page_prints(chromium, reports):
    with chromium.page() as page:
        page.open(reports["change"].as_uri())
        assert len(page.call("Page.printToPDF")["data"]) > 10_000
        assert page.complaints == []


HOSTILE = "</td><script>alert('1')</script>\u202e & " + "x" * 60
LONG = "an_extremely_long_column_name_" * 8
FAILING = {
    "final_cost_increase": {"relative": -0.9},
    "sign_flips": {"features": [HOSTILE, LONG]},
    "sign_constraints": {"features": {HOSTILE: "positive", "area": "positive"}},
    "frozen_features": {"features": ["a slip of the <b>pen</b> " + "y" * 80]},
    "features_added": {"allowed": [HOSTILE]},
    "decision_flips": {"overall": 0.0, "by_segment": 0.9, "otherwise": "review"},
    "steps": {"most": 1, "otherwise": "review"},
    "mean_score_shift": {"overall": 1e9},
    "step_cost_increase": {"relative": 0.5},
    "required_facts": {"facts": ["owner", "validator"]},
    "report_age": {"days": 30},
}
POLICIES = {
    "pass": ({"steps": {"most": 1000}, "gap": {"most": 0.1}}, []),
    "review": (
        {"steps": {"most": 1, "otherwise": "review"}, "sign_flips": {"features": ["a slip of the pen"]}},
        ["validator"],
    ),
    "fail": (FAILING, ["validator " + "w" * 100, "<b>chair</b> of the model risk committee"]),
}


@pytest.fixture(scope="module")
def assessed(tmp_path_factory):
    """Pages with each verdict: the page's path and the rules that it should show, by verdict."""
    import numpy as np
    import pandas as pd

    from coordpath_governance.models.linear_model import LinearModel, NumericTerm, Provenance
    from coordpath_governance.policy.judge import assess
    from coordpath_governance.policy.load import read_policy
    from coordpath_governance.rendering.change_report import ChangeReport

    def model(version, *slopes):
        terms = tuple(NumericTerm(name, value) for name, value in zip(("area", HOSTILE, LONG), slopes, strict=False))
        return LinearModel(1.0, terms, provenance=Provenance("Rents", version=version, digest=version * 64))

    folder = tmp_path_factory.mktemp("assessed")
    rng = np.random.default_rng(5)
    frame = pd.DataFrame(rng.normal(size=(300, 3)), columns=["area", HOSTILE, LONG])
    frame["region"] = rng.choice(["north", "<i>south</i>", "w" * 80], 300)
    frame[TARGET] = 1 + 2 * frame["area"] - frame[HOSTILE] + rng.normal(size=300)
    frame.to_csv(folder / "rows.csv", index=False)
    how = {"target": TARGET, "role": "holdout", "threshold": 1.0, "segments": ["region"]}
    old, new = model("1", 1.5, 0.4), model("2", 1.9, -0.9, 0.2)
    document = cg.explain_change(old, new, data=folder / "rows.csv", name="Rents", **how).document
    made = {}
    for verdict, (rules, roles) in POLICIES.items():
        kind = {"class": f"minor {'m' * 80 if roles else ''}".strip(), "approvals": [{"role": role} for role in roles]}
        content = {"schema": "coordpath.policy/1", "name": f"rents <b>{verdict}</b>", "models": ["Rents"], "rules": rules}
        content |= {"reference": {"sha256": document.data.sha256, **how}, "materiality": [kind]}
        told = assess(document, read_policy(json.dumps(content), "test"))
        assert told.assessment.verdict == verdict
        page = folder / f"{verdict}.html"
        page.write_text(ChangeReport(told).to_html(), encoding="utf-8")
        made[verdict] = page, told.assessment.rules
    assert {rule.result for rule in made["fail"][1]} == {"pass", "review", "fail", "unknown"}
    return made


@pytest.mark.parametrize("verdict", ["pass", "review", "fail"])
@pytest.mark.parametrize(("width", "scheme"), SHAPES)
def test_an_assessed_page_can_be_read_without_seeing_colours(chromium, assessed, verdict, width, scheme):
    path, rules = assessed[verdict]
    assert path.stat().st_size < 400_000
    with chromium.page() as page:
        page.shape(width, scheme=scheme)
        page.open(path.as_uri())
        page.run("document.querySelectorAll('details').forEach(d => d.open = true)")
        shown = page.run(RULES_SHOWN)
        assert page.complaints == []
        assert page.requests == [path.as_uri()]
        assert page.run("document.scripts.length") == 0
        assert page.run("document.documentElement.scrollWidth") <= width
        assert page.run(CUT_OFF) == []
        assert width > 600 or page.run(LABELS_OF_NOTHING) == 0
        assert page.run(FAINT_TEXT) == []
        assert page.run("document.querySelector('.verdict-word').innerText.trim()") == VERDICTS[verdict]
        assert sorted(row["text"] for row in shown) == sorted(RESULTS[rule.result] for rule in rules)
        assert all(row["inside"] and row["contrast"] >= 4.5 and row["text"].startswith(row["mark"]) for row in shown)
        keep_picture(page, f"assessed-{verdict}-{width}-{scheme}")


def test_a_rule_is_named_beside_its_own_result(chromium, assessed):
    path, rules = assessed["fail"]
    with chromium.page() as page:
        page.shape(1440)
        page.open(path.as_uri())
        shown = {row["rule"]: row["text"] for row in page.run(RULES_SHOWN)}
    assert shown == {rule.rule: RESULTS[rule.result] for rule in rules}


@pytest.mark.parametrize(
    ("verdict", "caption", "last"),
    [("pass", "Every check is met", "Result"), ("fail", "What is not met comes first", "Why")],
)
def test_a_page_says_why_only_where_there_is_something_to_say(chromium, assessed, verdict, caption, last):
    with chromium.page() as page:
        page.shape(1440)
        page.open(assessed[verdict][0].as_uri())
        assert page.run("document.querySelector('#policy caption').innerText.trim()") == caption
        assert page.run("document.querySelector('#policy thead th:last-child').innerText") == last


@pytest.mark.server
def test_the_viewer_of_mlflow_shows_the_report(chromium, remote, coordpath):
    """Open the logged model's artifacts in MLflow's UI and click down the tree to our page."""
    model = remote.fresh()
    name = remote.register(f"Viewed {uuid.uuid4().hex[:6]}", remote.first, model)
    assert coordpath("report", name, "--champion", "1", *remote.rows.args, "--segment", "town").code == 0
    folder = remote.tags(name, 2)["coordpath.report_path"]
    with chromium.page() as page:
        page.shape(1440, 1000)
        page.open(f"{remote.uri}/#/experiments/{remote.experiment}/models/{model.model_id}/artifacts")
        for label in [*folder.split("/"), "change_report.html"]:
            page.until(f"!!({find(label)})")
            page.run(f"({find(label)}).click()")
        page.until("!!document.querySelector('iframe')")
        frame = page.run(
            "({src: document.querySelector('iframe').src, sandbox: document.querySelector('iframe').sandbox.value})"
        )
        assert "allow-same-origin" not in frame["sandbox"]
        assert page.until("document.querySelector('h1')?.innerText", in_frame=True) == name
        assert page.until("document.documentElement.scrollWidth <= innerWidth", in_frame=True)
        keep_picture(page, "mlflow-artifact-viewer", whole=False)
        page.run(f"({find('change_report.md')}).click()")
        page.until(f"document.body.innerText.includes('Change report: {name}')")
        keep_picture(page, "mlflow-markdown-viewer", whole=False)
        page.open(f"{remote.uri}/#/models/{name.replace(' ', '%20')}/versions/2")
        page.until("document.body.innerText.includes('Full report')")
        assert "coordpath:begin" not in page.run("document.body.innerText")
        keep_picture(page, "mlflow-version-description", whole=False)


def find(label):
    """A script for a node of MLflow's artifact tree."""
    return f"document.querySelector('[data-testid=artifact-tree-node][aria-label={json.dumps(label)}]')"
