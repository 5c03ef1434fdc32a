"""A real report on pinned data, policies over it, and ways to change one figure of it."""

import json
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from coordpath_governance import explain_change
from coordpath_governance.models.linear_model import CategoricalTerm, LinearModel, NumericTerm, Provenance
from coordpath_governance.policy.load import read_policy
from coordpath_governance.reports.document import ChangeReportDocument


def model(version, intercept, slopes, effects):
    return LinearModel(
        intercept,
        tuple(NumericTerm(name, value) for name, value in slopes.items()),
        (CategoricalTerm("colour", tuple(effects), tuple(effects.values()), unknown=0.0),),
        provenance=Provenance(name="rent", version=version, digest=version * 64),
    )


@pytest.fixture(scope="session")
def data_file(tmp_path_factory):
    rng = np.random.default_rng(3)
    n = 400
    a = rng.normal(size=n)
    frame = pd.DataFrame(
        {
            "a": a,
            "b": 0.8 * a + 0.5 * rng.normal(size=n),
            "still": 1.0,
            "colour": rng.choice(["red", "green", "blue"], n),
            "region": rng.choice(["north", "south"], n),
        }
    )
    path = tmp_path_factory.mktemp("policy") / "rows.csv"
    frame.assign(y=1 + 2 * frame["a"] - frame["b"] + rng.normal(size=n)).to_csv(path, index=False)
    return path


@pytest.fixture(scope="session")
def champion():
    return model("1", 1.0, {"a": 1.8, "b": -0.9, "still": 0.5}, {"red": 0.0, "green": 0.1, "blue": 0.2})


@pytest.fixture(scope="session")
def candidate():
    return model("2", 1.1, {"a": 1.9, "b": -0.95, "still": 0.5}, {"red": 0.0, "green": 0.15, "blue": 0.2})


@pytest.fixture(scope="session")
def explain(data_file):
    """A report as the policy of `policy_of` pins it."""

    def made(champion, candidate, **options):
        settings = {"role": "holdout", "threshold": 1.0, "segments": ["region"], "reason": "newer rows"} | options
        return explain_change(champion, candidate, data=data_file, target="y", name="rent", **settings)

    return made


@pytest.fixture(scope="session")
def report(explain, champion, candidate):
    return explain(champion, candidate)


@pytest.fixture(scope="session")
def document(report):
    return report.document


@pytest.fixture(scope="session")
def first_document(explain, candidate):
    """The report of a first version."""
    return explain(None, candidate).document


@pytest.fixture(scope="session")
def flipped_document(explain, champion, candidate):
    """The slope of b changes its sign, that of a goes to where it must not, and what the data do not exercise moves."""
    slopes = (NumericTerm("a", -0.1), NumericTerm("b", 0.4), NumericTerm("still", 0.7))
    return explain(champion, replace(candidate, numeric=slopes)).document


@pytest.fixture(scope="session")
def policy_text(document):
    """A policy as a dictionary: rules, then other sections."""

    def made(rules=None, **sections):
        return {
            "schema": "coordpath.policy/1",
            "name": "rents",
            "models": ["rent*"],
            "reference": {
                "sha256": document.data.sha256,
                "role": "holdout",
                "target": "y",
                "threshold": 1.0,
                "segments": ["region"],
            },
            "rules": {"steps": {"most": 1000}} if rules is None else rules,
            "materiality": [
                {"class": "major", "when": {"features_added": 1}, "approvals": [{"role": "validator", "count": 2}]},
                {"class": "minor"},
            ],
        } | sections

    return made


@pytest.fixture(scope="session")
def policy_of(policy_text):
    """The same, read."""
    return lambda rules=None, **sections: read_policy(json.dumps(policy_text(rules, **sections)), "test")


@pytest.fixture(scope="session")
def alter():
    """A document with some figures changed: alter(document, {"impact.delta": 0.3, "path.steps.0.delta": 1.0})."""

    def altered(document, changes):
        content = document.model_dump(mode="json", by_alias=True)
        for where, value in changes.items():
            *way, last = where.split(".")
            place = content
            for key in way:
                place = place[int(key) if isinstance(place, list) else key]
            place[int(last) if isinstance(place, list) else last] = value
        return ChangeReportDocument.model_validate(content)

    return altered
