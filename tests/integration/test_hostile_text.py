"""Names, levels and reasons made to do harm: to a terminal, a page or a description they are text and nothing else."""

import json
import re
import uuid
from html.parser import HTMLParser

import mlflow
import pandas as pd
import pytest

from coordpath_governance.governance.shown import BEGIN, END
from coordpath_governance.models import LinearModel, NumericTerm, to_document
from coordpath_governance.models.linear_model import CategoricalTerm

pytestmark = pytest.mark.no_cover

TARGET = "price"
ESCAPE = "\x1b[31m\x1b]0;title\x07"
BIDI = "\u202e\u2066\u200f"
SCRIPT = "<script>alert(1)</script><img src=x onerror=alert(1)>"
MARKDOWN = "](https://evil.example) ![x](https://evil.example/x.png) `code` | cell | **bold** https://evil.example @octocat"
NAMES = {
    "space": "a b",
    "escape": f"red {ESCAPE}",
    "bidi": f"abc{BIDI}txt",
    "newline": "line\nAttached to forged under nothing\rover",
    "html": "<img src=x onerror=alert(1)><!-- coordpath\N{FULLWIDTH COLON}end -->",
    "markdown": "[x](javascript;alert) **b** | `c` | #h",
    "percent": "a%20b%2e%2e",
    "dots": "%2e%2e",
    "query": "a?b=c&d",
    "fragment": "a#b",
    "at": "a@champion",
    "quote": "a'b\"c",
    "backslash": "a\\b\\'c",
    "null": "a\x00b",
    "long": "n" * 256,
    "wide": "é" * 256,
    "glob": "*[a]{b}~$HOME;rm",
}


def harmless(text):
    """No character that a terminal obeys, or that hides or turns text around."""
    return not re.search(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069]", text)


class Tags(HTMLParser):
    """Every element and attribute of a page, and its text."""

    def __init__(self, page):
        super().__init__(convert_charrefs=True)
        self.elements, self.attributes, self.text = [], [], []
        self.feed(page)

    def handle_starttag(self, tag, attrs):
        self.elements.append(tag)
        self.attributes += attrs

    def handle_data(self, data):
        self.text.append(data)


def check_page(page):
    tags = Tags(page)
    assert "script" not in tags.elements
    assert "img" not in tags.elements
    assert not [name for name, _ in tags.attributes if name.startswith("on")]
    links = [value for name, value in tags.attributes if name in ("href", "src", "xlink:href")]
    assert all(link.startswith("#") for link in links)
    assert harmless(page)


def check_markdown(text):
    assert harmless(text)
    outside = re.sub(r"(?ms)^(`{3,})[^\n]*\n.*?^\1$|(`+)[^`].*?\2", "", text)
    assert not re.search(r"<(script|img|/?b\b)", outside)
    assert not re.search(r"(?<!\\)\]\(", outside)


@pytest.mark.parametrize("kind", NAMES)
def test_a_registered_model_with_a_hostile_name(store, coordpath, kind):
    name = store.register(NAMES[kind], store.first, store.second)
    for how in ("Attached to", "Already attached to"):
        outcome = coordpath("report", name, "--champion", "1", *store.rows.args)
        assert outcome.code == 0, outcome.err
        assert harmless(outcome.out + outcome.err)
        assert len(re.findall(r"(?m)^(Already a|A)ttached to", outcome.out)) == 1
        assert f"\n{how} " in outcome.out
    tags = store.tags(name, 2)
    assert tags["coordpath.subject"].startswith(f"{name}/2@sha256:")
    folder = store.path(store.second) / tags["coordpath.report_path"]
    assert json.loads((folder / "change_report.json").read_bytes())["subject"]["name"] == name
    check_page((folder / "change_report.html").read_text(encoding="utf-8"))
    check_markdown((folder / "change_report.md").read_text(encoding="utf-8"))
    description = store.description(name, 2)
    assert description.count(BEGIN) == description.count(END) == 1
    check_markdown(description.replace(BEGIN, "").replace(END, ""))
    assert len(mlflow.sklearn.load_model(store.second.uri).predict(store.rows.frame)) == len(store.rows.frame)


@pytest.mark.parametrize("kind", ["escape", "newline", "bidi", "quote", "percent"])
def test_a_hostile_name_that_is_not_there(store, coordpath, kind):
    outcome = coordpath("report", f"none {NAMES[kind]}", "--champion", f"alias {NAMES[kind]}", *store.rows.args)
    assert outcome.code == 2
    assert harmless(outcome.out + outcome.err)
    assert outcome.err.count("\n") == 1


def test_versions_of_a_hostile_name_by_uri(store, coordpath):
    name = store.register("by uri a@b?c", store.first, store.second)
    store.client.set_registered_model_alias(name, "champion", "1")
    outcome = coordpath(
        "report", name, "--champion", f"models:/{name}@champion", "--candidate", f"models:/{name}/2", *store.rows.args
    )
    assert outcome.code == 0, outcome.err
    assert store.tags(name, 2)["coordpath.report_path"] == "coordpath/by=20uri=20a=40b=3Fc/v1-to-v2"


@pytest.fixture(scope="module")
def hostile_models(tmp_path_factory):
    """Two declared models whose columns, levels and facts are hostile, and rows for them."""
    folder = tmp_path_factory.mktemp("hostile")
    columns = [f"num {ESCAPE}", f"{SCRIPT}", f"{MARKDOWN}", f"bidi {BIDI}", "new\nline\r\n| cell", "w" * 3000]
    levels = (f"level {ESCAPE}", SCRIPT, f"{MARKDOWN}\n", f"x{BIDI}")
    rows = pd.DataFrame({column: [float((i * (k + 2)) % 7) for i in range(80)] for k, column in enumerate(columns)})
    rows[f"town {SCRIPT}"] = [levels[i % 4] for i in range(80)]
    rows[TARGET] = [float(i % 11) for i in range(80)]
    rows.to_parquet(folder / "rows.parquet")
    for which, shift in (("old", 0.0), ("new", 0.5)):
        model = LinearModel(
            intercept=1.0 + shift,
            numeric=tuple(NumericTerm(column, 0.5 + shift * k) for k, column in enumerate(columns)),
            categorical=(CategoricalTerm(f"town {SCRIPT}", levels, (0.0, 1.0 + shift, 2.0, -shift), 0.0),),
            estimator=f"Estimator {SCRIPT} {ESCAPE}",
            library=f"library {BIDI}",
            regularisation={f"alpha {ESCAPE}": f"{SCRIPT}"},
        )
        (folder / which).mkdir()
        (folder / which / "coefficients.json").write_text(json.dumps(to_document(model)), encoding="utf-8")
    return folder


def test_hostile_columns_levels_and_reasons(store, coordpath, hostile_models, tmp_path):
    reason = f"because {SCRIPT} {ESCAPE} {BIDI} {MARKDOWN}\nand\r\nmore"
    with mlflow.start_run(experiment_id=store.experiment) as run:
        mlflow.log_artifacts(str(hostile_models / "new"), "model")
    name = f"hostile {uuid.uuid4().hex}"
    store.client.create_registered_model(name)
    store.client.create_model_version(name, f"{run.info.artifact_uri}/model", run.info.run_id)
    outcome = coordpath(
        *("report", name, "--champion", str(hostile_models / "old"), "--out", tmp_path),
        *("--data", hostile_models / "rows.parquet", "--target", TARGET, "--segment", f"town {SCRIPT}"),
        *("--reason", reason, "--owner", reason, "--purpose", reason, "--change-type", reason, "--planned", reason),
        *("--period", reason, "--threshold", "5", "--all-steps"),
    )
    assert outcome.code == 0, outcome.err
    assert harmless(outcome.out + outcome.err)
    document = json.loads((tmp_path / "change_report.json").read_bytes())
    assert document["facts"]["reason"] == reason
    page = (tmp_path / "change_report.html").read_text(encoding="utf-8")
    check_page(page)
    assert "&lt;script&gt;" in page
    assert len(page.encode()) < 400_000
    check_markdown((tmp_path / "change_report.md").read_text(encoding="utf-8"))
    description = store.description(name, 1)
    check_markdown(description.replace(BEGIN, "").replace(END, ""))
    assert len(description) <= 5000
    outcome = coordpath("verify", tmp_path / "change_report.json", "--data", hostile_models / "rows.parquet")
    assert outcome.code == 0, outcome.out
    assert harmless(outcome.out)
    document["impact"]["delta"] += 1
    document["raw"][0]["new"] = 99.0
    (tmp_path / "forged.json").write_text(json.dumps(document), encoding="utf-8")
    outcome = coordpath("verify", tmp_path / "forged.json")
    assert outcome.code == 1
    assert harmless(outcome.out)


def test_an_unseen_level_is_named_harmlessly(store, coordpath, hostile_models, tmp_path):
    rows = pd.read_parquet(hostile_models / "rows.parquet")
    model = json.loads((hostile_models / "new" / "coefficients.json").read_text(encoding="utf-8"))
    model["categorical"][0]["unknown"] = None
    rows.loc[:3, f"town {SCRIPT}"] = f"unseen {ESCAPE}{BIDI}"
    rows.to_parquet(tmp_path / "rows.parquet")
    (tmp_path / "coefficients.json").write_text(json.dumps(model), encoding="utf-8")
    name = store.two_versions()
    args = ("--candidate", f"{tmp_path}/", "--champion", "none", "--no-attach", "--out", tmp_path / "out")
    outcome = coordpath("report", name, *args, "--data", tmp_path / "rows.parquet", "--target", TARGET)
    assert outcome.code == 2
    assert "unseen ⟨U+001B⟩" in outcome.err
    assert harmless(outcome.err)
