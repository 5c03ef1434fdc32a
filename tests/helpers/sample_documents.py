"""Sample documents for every kind of report, each validated as a `ChangeReportDocument`."""

from __future__ import annotations

from copy import deepcopy
from functools import cache
from typing import Any

import pytest

from coordpath_governance.reports.document import ChangeReportDocument
from coordpath_governance.reports.stated_facts import ASKED_FACTS
from helpers import glm_samples, samples

RESULTS = ("pass", "review", "fail", "unknown", "waived")
BIDI = "\u202e\u2066"
HOSTILE = {
    "html": "<script>alert(1)</script>",
    "attribute": "\" onmouseover='x' data-x=\"",
    "long": "W" * 5000,
    "bidi": f"abc{BIDI}txt.exe",
    "control": "bell\x07null\x00esc\x1b[31m",
    "newline": "line one\nline two\r\n\u2028| three | four |",
    "pipe": "a|b|c",
    "backtick": "`code` ```fence",
    "link": "[click](https://evil.example) ![x](https://evil.example/p.png) https://evil.example www.evil.example",
    "mention": "@octocat #123 GH-7 :tada: $x^2$ mail@evil.example",
    "emphasis": "*bold* _under_ ~~gone~~ # heading",
    "empty": "",
}


def small() -> dict[str, Any]:
    """Eight features, a categorical group, the baseline, a worsening step with its bracket; both versions have an origin."""
    made = samples.build(samples.Evidence(samples.RENT, samples.correlation), samples.Evidence.best_order)
    for side, day in (("champion", 0), ("candidate", 90 * DAY)):
        made["subject"][side] |= {"registered_ms": 1_767_225_600_000 + day, "run_started_ms": 1_767_222_000_000 + day}
    made["subject"]["champion"]["training"] = training(
        dataset("rents_2024", 8_400, source="s3://rents/2024.parquet") | {"digest": "9d04be17"}
    )
    made["subject"]["candidate"]["training"] = training(
        dataset("rents_2025", 9_120, source="s3://rents/2025.parquet"), period="2025", exclusions="test flats"
    )
    made["facts"] |= {"monitoring": "monthly A/E", "implementation_date": "2026-05-01", "tagged": ["reason"]}
    return made


DAY = 86_400_000


def dataset(name: str, rows: int | None, source: str, stated_by: str = "run input") -> dict[str, Any]:
    """A data set that a version was trained on."""
    return {"name": name, "rows": rows, "source": source, "stated_by": stated_by, "digest": "3f2a91cc"}


def training(*datasets: dict[str, Any], **more: Any) -> dict[str, Any]:
    """What a version was trained on."""
    return {"datasets": datasets, "more_datasets": 0, "period": None, "exclusions": None, **more}


def large() -> dict[str, Any]:
    """Two hundred coefficients, ten steps and the rest; bounded, not proved."""
    coefficients = samples.many(200)
    made = samples.build(
        samples.Evidence(coefficients, samples.long_correlation), lambda evidence: evidence.greedy_order(10)
    )
    made["path"] |= {"status": "bounded", "solver": "local", "gap": 0.0031, "gap_per_step": 0.00042}
    made["summary"]["sentences"][-1] = "No order can be better by more than 0.00042 per step on average."
    return made


def empty() -> dict[str, Any]:
    """Two models that are the same function."""
    same = tuple(samples.replace(c, old=c.new) for c in samples.RENT)
    made = samples.build(samples.Evidence(same, samples.correlation), samples.Evidence.best_order)
    made["summary"] = {"direction": "no change", "headline": "Nothing changed.", "sentences": []}
    made["impact"] |= {"flips": None, "segments": [], "delta_se": None}
    made["comparison"] = []
    return made


def first() -> dict[str, Any]:
    """A first version: explained from nothing."""
    fresh = tuple(samples.replace(c, old=0.0) for c in samples.RENT)
    made = samples.build(samples.Evidence(fresh, samples.correlation), samples.Evidence.best_order)
    made["subject"]["champion"] = None
    made["summary"]["headline"] = "v4 is more accurate than the zero model on these data."
    made["models"]["champion"] = None
    made["facts"] = {}
    return made


def moments() -> dict[str, Any]:
    """From moments only: no standard errors, no shares, no quantiles, no flips."""
    made = small()
    for step in made["path"]["steps"]:
        step |= {"delta_se": None, "share": None}
    made["data"] |= {"kind": "moments", "role": "not stated", "period": None}
    made["impact"] |= {"delta_se": None, "flips": None, "segments": []}
    made["impact"]["shift"] |= {"p05": None, "p50": None, "p95": None, "largest": None}
    for side in ("champion", "candidate"):
        made["impact"][side] |= {"mae": None, "r2": None}
    made["summary"]["direction"] = "not known"
    return made


def hostile(text: str, base: str = "small") -> dict[str, Any]:
    """A sample with ``text`` wherever a user's text can stand."""
    made = deepcopy(plain(base))
    made["subject"]["name"] = text
    for side in ("champion", "candidate"):
        made["subject"][side] |= dict.fromkeys(("label", "uri", "name", "version", "digest", "run_id"), text)
        made["subject"][side]["aliases"] = [text]
        made["models"][side] |= {"estimator": text, "library": text, "regularisation": {text: text}}
        said = dataset(text, 7, text) | {"digest": text}
        made["subject"][side]["training"] = training(said, said, period=text, exclusions=text)
    made["facts"] = dict.fromkeys(ASKED_FACTS, text) | {"tagged": [*ASKED_FACTS], "unusable_tags": [*ASKED_FACTS]}
    made["assessment"] |= {"reason": text, "materiality": text, "materiality_reason": text}
    made["assessment"]["policy"] = {"name": text, "sha256": text, "document": {text: text, "waivers": {"roles": [text]}}}
    rule = dict.fromkeys(("rule", "observed", "limit", "reason"), text)
    made["assessment"]["rules"] = [rule | {"result": result} for result in RESULTS]
    made["summary"] |= {"headline": text, "sentences": [text] * 3}
    made["data"] |= dict.fromkeys(("name", "sha256", "target", "weight", "period"), text)
    for entry in made["coordinates"]:
        entry |= {"label": text, "unit": text + "!", "column": text, "level": text}
    for entry in made["raw"]:
        entry["name"] = text
    for step in made["path"]["steps"]:
        step["feature"] = text
        for move in step["moves"]:
            move["feature"] = text
    made["path"]["solver"] = text
    made["counts"] |= {key: [text] for key in ("columns_added", "columns_dropped", "levels_added", "levels_dropped")}
    for order in made["comparison"]:
        order |= {"title": text, "order": [text] * len(order["order"])}
    for segment in made["impact"]["segments"]:
        segment |= {"segment": text, "value": text}
    made["limits"] = [text]
    made["recheck"] |= {"command": text, "versions": {text: text}}
    made["problem"]["features"] = [text]
    made["digest"] = text
    files = {
        "files": [text],
        "python": text,
        "pins": [{"package": text, "version": text + "!"}],
        "channels": [text],
        "remarks": [{"file": text, "line": 1, "what": text}],
        "damaged": [text],
    }
    made["environments"] = {"champion": files | {"pins": [], "python": None}, "candidate": files}
    return hostile_classes(made, text) if "glm" in made else made


def hostile_classes(made: dict[str, Any], text: str) -> dict[str, Any]:
    """The same for what only generalised linear models have."""
    made["glm"] |= {"classes": [text] * len(made["glm"]["classes"]), "loss": text}
    made["data"] |= {"offset": text, "exposure": text}
    for side in ("champion", "candidate"):
        made["models"][side] |= {"classes": [text, text], "power": 1.5}
        for balance in made["impact"][side]["classes"]:
            balance["label"] = text
    for flip in made["impact"]["flips"].get("classes", ()):
        flip |= {"before": text, "after": text}
    for step in made["impact"]["flips"]["steps"]:
        step["feature"] = text
    return made


@cache
def plain(name: str) -> dict[str, Any]:
    """A sample by its name, made once."""
    return SAMPLES[name]()


def binomial() -> dict[str, Any]:
    """Two classes, a categorical group, thresholds that differ."""
    return glm_samples.build_glm(glm_samples.CREDIT)


def poisson() -> dict[str, Any]:
    """Counts with an exposure."""
    return glm_samples.build_glm(glm_samples.FREQUENCY)


def multinomial() -> dict[str, Any]:
    """Three classes: a feature moves in all of them at once."""
    return glm_samples.build_glm(glm_samples.ROUTING)


SAMPLES = {"small": small, "large": large, "empty": empty, "first": first, "moments": moments}
SAMPLES |= {"binomial": binomial, "poisson": poisson, "multinomial": multinomial}


def document(made: dict[str, Any]) -> ChangeReportDocument:
    """Through the border, as a report would be read."""
    return ChangeReportDocument.model_validate(made)


@pytest.fixture
def make():
    """A factory: name of a sample, then sections to change, as plain dictionaries."""

    def made(name: str = "small", **sections: Any) -> ChangeReportDocument:
        changed = dict(plain(name))
        for key, value in sections.items():
            changed[key] = {**changed[key], **value} if isinstance(value, dict) else value
        return document(changed)

    return made


@pytest.fixture
def make_hostile():
    """A factory: one kind of hostile text (or any text) in every place of a sample."""
    return lambda kind, base="small": document(hostile(HOSTILE.get(kind, kind), base))


@pytest.fixture(params=sorted(SAMPLES))
def sample(request: pytest.FixtureRequest) -> ChangeReportDocument:
    """Every sample in turn."""
    return document(plain(request.param))


@pytest.fixture(
    params=[(base, kind) for base in ("small", "binomial", "multinomial") for kind in sorted(HOSTILE)], ids="-".join
)
def hostile_sample(request: pytest.FixtureRequest) -> ChangeReportDocument:
    """Every kind of hostile text in turn, in samples of every kind of cost."""
    base, kind = request.param
    return document(hostile(HOSTILE[kind], base))
