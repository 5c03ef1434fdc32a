"""Training data from dataset inputs and tags: read as text, never loaded, and without secrets."""

import json
from types import SimpleNamespace

import pytest

from coordpath_governance.registry.origin import MOST_DATASETS, training_facts


def logged(context=None, name="rows", digest="3f2a91cc", source='{"uri": "/data/rows.csv"}', profile='{"num_rows": 240}'):
    tags = [] if context is None else [SimpleNamespace(key="mlflow.data.context", value=context)]
    tags.append(SimpleNamespace(key="other", value="training"))
    dataset = SimpleNamespace(name=name, digest=digest, source=source, source_type="local", profile=profile)
    return SimpleNamespace(dataset=dataset, tags=tags)


def only(*inputs, tags=None):
    (dataset,) = training_facts(inputs, tags or {}, {}).datasets
    return dataset


def test_nothing_is_known_of_a_run_that_logged_nothing():
    assert training_facts((), {}, {}) is None
    assert training_facts((logged("validation"),), {"coordpath.training.rows": " "}, {}) is None


def test_an_input_logged_for_training():
    dataset = only(logged("Training"), logged("eval", name="holdout"), logged(name="unclear"))
    assert (dataset.name, dataset.source, dataset.digest, dataset.rows) == ("rows", "/data/rows.csv", "3f2a91cc", 240)
    assert dataset.stated_by == "run input"


def test_an_input_without_a_context_counts_where_no_other_does_and_says_so():
    assert only(logged("test"), logged(name="unclear")).stated_by == "run input without context"


def test_tags_name_one_more_data_set_and_replace_nothing():
    tags = {f"coordpath.training.{key}": key for key in ("source", "digest", "period", "exclusions")}
    tags |= {"coordpath.training.rows": "12,000"}
    facts = training_facts((logged("train"),), tags, {"coordpath.training.source": "of the run"})
    assert [(each.stated_by, each.source, each.digest, each.rows) for each in facts.datasets] == [
        ("run input", "/data/rows.csv", "3f2a91cc", 240),
        ("tags", "source", "digest", 12_000),
    ]
    assert (facts.period, facts.exclusions) == ("period", "exclusions")


def test_a_period_alone_is_worth_telling():
    facts = training_facts((), {}, {"coordpath.training.period": "2025"})
    assert (facts.datasets, facts.period) == ((), "2025")


@pytest.mark.parametrize("rows", ["many", "-5", "1e3", "9" * 40])
def test_rows_that_are_no_number_are_missing(rows):
    facts = training_facts((), {"coordpath.training.rows": rows, "coordpath.training.digest": "d"}, {})
    assert facts.datasets[0].rows is None


@pytest.mark.parametrize(
    ("profile", "rows"),
    [
        ('{"features_shape": [90, 3]}', 90),
        ('{"features_shape": []}', None),
        ('{"features_shape": "x"}', None),
        ('{"num_rows": true}', None),
        ('{"num_rows": -1}', None),
        ("[]", None),
        ("{", None),
        ("[" * 100_000, None),
        ("x" * 300_000, None),
        (None, None),
    ],
)
def test_profiles_as_mlflow_and_as_nobody_writes_them(profile, rows):
    assert only(logged("train", profile=profile)).rows == rows


@pytest.mark.parametrize(
    ("source", "shown"),
    [
        ({"url": "https://ann:secret@host/rows.csv?X-Signature=abc#f"}, "https://host/rows.csv?…"),
        ({"uri": "s3://bucket/rows.csv"}, "s3://bucket/rows.csv"),
        ({"uri": "http://[bad/rows.csv?key=abc"}, "http://…"),
        ({"delta_table_name": "risk.rows"}, "risk.rows"),
        ({"tags": {"mlflow.source.name": "train.py"}}, "in memory, logged by train.py"),
        ({"uri": " ", "tags": {"mlflow.source.name": 3}}, "local"),
        ({"tags": ["x"]}, "local"),
        ([], "local"),
    ],
)
def test_a_source_is_shown_without_what_would_open_it(source, shown):
    assert only(logged("train", source=json.dumps(source))).source == shown


def test_a_tagged_source_loses_its_secrets_too():
    tags = {"coordpath.training.source": "postgresql://ann:secret@host/db"}
    assert only(tags=tags).source == "postgresql://host/db"


def test_texts_are_bounded_and_can_be_written_as_json():
    dataset = only(logged("train", name="n" * 9000, digest="\ud800", source=json.dumps({"uri": "u" * 9000})))
    assert len(dataset.name) <= 500
    assert len(dataset.source) <= 500
    assert dataset.digest == "?"


def test_more_data_sets_than_a_report_lists_are_counted():
    facts = training_facts([logged("train") for _ in range(MOST_DATASETS + 3)], {}, {})
    assert (len(facts.datasets), facts.more_datasets) == (MOST_DATASETS, 3)
