"""Classifiers and rates in a real registry: from `coordpath report` to promotion, and rows that cannot be used."""

import json
import uuid
from pathlib import Path

import mlflow
import numpy as np
import pandas as pd
import pytest
from helpers.office import Office
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import TransformedTargetRegressor, make_column_transformer
from sklearn.linear_model import GammaRegressor, LogisticRegression, PoissonRegressor, Ridge
from sklearn.model_selection import FixedThresholdClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.svm import LinearSVC

import coordpath_governance as cg
from coordpath_governance.errors import ReferenceDataError

INPUTS = ["income", "debt", "town"]
ROWS = 400
TARGETS = {"logistic": "default", "poisson": "claims", "gamma": "cost"}


@pytest.fixture(scope="module")
def frame():
    rng = np.random.default_rng(11)
    rows = pd.DataFrame({"income": rng.normal(3, 1, ROWS), "debt": rng.normal(1, 1, ROWS)})
    rows["town"] = rng.choice(["Ayr", "Bath", "Cork"], ROWS)
    score = -0.4 - 0.3 * rows["income"] + 0.5 * rows["debt"] + 0.4 * (rows["town"] == "Bath")
    rows["years"] = rng.uniform(0.2, 1.0, ROWS)
    rows["load"] = rng.normal(0, 0.2, ROWS)
    rows["weight"] = rng.uniform(0.5, 1.5, ROWS)
    rows["default"] = np.where(rng.random(ROWS) < 1 / (1 + np.exp(-score)), "yes", "no")
    rows["claims"] = rng.poisson(rows["years"] * np.exp(score))
    rows["cost"] = rng.gamma(2.0, np.exp(score) / 2.0) + 1e-3
    return rows


def trained(rows, name):
    """A pipeline as people write them."""
    estimator = {
        "logistic": LogisticRegression(),
        "poisson": PoissonRegressor(alpha=1e-3),
        "gamma": GammaRegressor(alpha=1e-3),
    }[name]
    encode = make_column_transformer((StandardScaler(), ["income", "debt"]), (OneHotEncoder(drop="first"), ["town"]))
    model = make_pipeline(encode, estimator)
    if name != "poisson":
        return model.fit(rows[INPUTS], rows[TARGETS[name]])
    fit = {"poissonregressor__sample_weight": rows["years"]}
    return model.fit(rows[INPUTS], rows["claims"] / rows["years"], **fit)


@pytest.fixture(scope="module")
def logged(_sqlite_store, frame):
    """Two versions of each kind, as skops archives; the second classifier decides at another threshold."""
    patch = pytest.MonkeyPatch()
    patch.setenv("MLFLOW_TRACKING_URI", _sqlite_store.uri)
    mlflow.set_tracking_uri(_sqlite_store.uri)
    made = {}
    for name in TARGETS:
        old, new = trained(frame[:200], name), trained(frame[50:], name)
        if name == "logistic":
            new = FixedThresholdClassifier(new, threshold=0.3).fit(frame[INPUTS], frame["default"])
        made[name] = [_sqlite_store.log(model, serialization_format="skops") for model in (old, new)]
    patch.undo()
    return made


@pytest.fixture(scope="module")
def data(frame, tmp_path_factory):
    path = tmp_path_factory.mktemp("glm data") / "rows.csv"
    frame.to_csv(path, index=False)
    return path


@pytest.fixture
def registered(store, logged):
    """A registered model of a kind with both versions, the first being the champion."""

    def register(name):
        registered = store.register(f"{name} {uuid.uuid4().hex[:8]}", *logged[name])
        store.client.set_registered_model_alias(registered, "champion", "1")
        return registered

    return register


EXPOSED = {"logistic": (), "poisson": ("--exposure", "years"), "gamma": ("--offset", "load", "--weight", "weight")}


@pytest.mark.parametrize("kind", TARGETS)
def test_report_attach_and_verify(kind, store, registered, data, coordpath, tmp_path):
    name = registered(kind)
    made = coordpath("report", name, "--data", data, "--target", TARGETS[kind], "--segment", "town", *EXPOSED[kind])
    assert made.code == 0, made.err
    assert "Attached to" in made.plain
    tags = store.tags(name, 2)
    assert tags["coordpath.status"] == "optimal"
    assert tags["coordpath.verdict"] == "not assessed"
    assert (tags["coordpath.champion_version"], tags["coordpath.steps"]) == ("1", "4")
    source = store.client.get_model_version(name, "2").source
    location = store.client.get_logged_model(source.removeprefix("models:/")).artifact_location
    folder = Path(
        mlflow.artifacts.download_artifacts(
            artifact_uri=f"{location}/{tags['coordpath.report_path']}", dst_path=str(tmp_path)
        )
    )
    report = cg.ChangeReport.from_bytes((folder / "change_report.json").read_bytes())
    assert report.sha256 == tags["coordpath.report_sha256"]
    assert report.to_html() == (folder / "change_report.html").read_text(encoding="utf-8")
    assert report.document.glm.loss in made.plain
    assert (report.document.data.exposure, report.document.data.offset) == {
        "poisson": ("years", None),
        "gamma": (None, "load"),
    }.get(kind, (None, None))
    alone = coordpath("verify", folder / "change_report.json")
    assert alone.code == 0
    assert "the data were not rechecked" in alone.plain
    checked = coordpath("verify", folder / "change_report.json", "--data", data)
    assert checked.code == 0, checked.plain
    assert checked.out.splitlines()[-1].startswith("verified against the data; ")


def test_a_rate_is_told_with_its_exposure_as_python_tells_it(registered, data, coordpath, tmp_path):
    name = registered("poisson")
    args = ("--data", data, "--target", "claims", "--exposure", "years", "--role", "holdout")
    assert coordpath("report", name, *args, "--no-attach", "--out", tmp_path).code == 0
    made = cg.explain_change(
        f"models:/{name}/1", f"models:/{name}/2", data=data, target="claims", exposure="years", role="holdout"
    )
    assert made.to_bytes() == (tmp_path / "change_report.json").read_bytes()
    assert made.document.summary.direction in ("better", "worse", "no difference")


@pytest.mark.parametrize(
    ("asked", "expected"),
    [
        ((), (0.5, 0.3)),
        (("--threshold", "0.4"), (None, 0.4)),
        (("--champion-threshold", "0.6"), (0.6, 0.3)),
        (("--threshold", "0.4", "--champion-threshold", "0.2"), (0.2, 0.4)),
    ],
)
def test_thresholds(asked, expected, registered, data, coordpath, tmp_path):
    name = registered("logistic")
    args = ("--data", data, "--target", "default", "--no-attach", "--out", tmp_path, *asked)
    assert coordpath("report", name, *args).code == 0
    flips = json.loads((tmp_path / "change_report.json").read_bytes())["impact"]["flips"]
    assert (flips.get("champion_threshold"), flips["threshold"]) == expected
    assert (flips["steps"][-1]["feature"] == "(threshold)") == (expected[0] is not None)
    assert coordpath("verify", tmp_path / "change_report.json", "--data", data).code == 0


BAD = {
    "one class only": ("logistic", lambda f: f.assign(default="no"), (), "'default'", "all 400 rows"),
    "unknown labels": (
        "logistic",
        lambda f: f.assign(default=f["default"].where(f.index > 4, "perhaps")),
        (),
        "'default'",
        "'perhaps' (5 rows)",
    ),
    "missing offset": (
        "logistic",
        lambda f: f.assign(load=f["load"].where(f.index > 2)),
        ("--offset", "load"),
        "'load'",
        "3 of 400 rows",
    ),
    "all weights zero": ("logistic", lambda f: f.assign(weight=0.0), ("--weight", "weight"), "'weight'", "400 rows"),
    "offset and exposure": ("logistic", lambda f: f, ("--offset", "load", "--exposure", "years"), "'load'", "'years'"),
    "zero exposure": (
        "poisson",
        lambda f: f.assign(years=f["years"].where(f.index > 0, 0.0)),
        ("--exposure", "years"),
        "'years'",
        "1 of 400 rows",
    ),
    "negative count": (
        "poisson",
        lambda f: f.assign(claims=f["claims"].where(f.index > 1, -3)),
        (),
        "'claims'",
        "2 of 400 rows",
    ),
    "zero amount": ("gamma", lambda f: f.assign(cost=f["cost"].where(f.index > 5, 0.0)), (), "'cost'", "6 of 400 rows"),
    "no such column": ("poisson", lambda f: f.drop(columns="years"), ("--exposure", "years"), "'years'", "lacks"),
}


@pytest.mark.parametrize("what", BAD)
def test_rows_that_cannot_be_used_are_named_and_counted_in_one_line(what, store, registered, frame, coordpath, tmp_path):
    kind, change, args, column, says = BAD[what]
    change(frame).to_csv(tmp_path / "bad.csv", index=False)
    name = registered(kind)
    outcome = coordpath("report", name, "--data", tmp_path / "bad.csv", "--target", TARGETS[kind], *args)
    assert outcome.code == 2
    assert len(outcome.err.splitlines()) == 1
    assert column in outcome.err
    assert says in outcome.err
    assert "coordpath.report_sha256" not in store.tags(name, 2)


def test_logged_moments_do_not_tell_the_loss_of_a_classifier(store, frame, coordpath):
    with mlflow.start_run(experiment_id=store.experiment) as run:
        model = mlflow.sklearn.log_model(trained(frame, "logistic"), name="model", pip_requirements=[])
        cg.log_reference(frame[INPUTS], (frame["default"] == "yes").astype(float), target="default")
    name = f"moments {uuid.uuid4().hex[:8]}"
    store.client.create_registered_model(name)
    store.client.create_model_version(name, f"models:/{model.model_id}", run.info.run_id, model_id=model.model_id)
    outcome = coordpath("report", name)
    assert outcome.code == 2
    assert len(outcome.err.splitlines()) == 1
    assert "needs rows" in outcome.err
    assert "--data" in outcome.err


def test_labels_have_no_moments_to_log(store, frame):
    says = r"'default' holds no numbers: .* a classifier needs rows"
    with mlflow.start_run(experiment_id=store.experiment), pytest.raises(ReferenceDataError, match=says):
        cg.log_reference(frame[INPUTS], frame["default"])


@pytest.mark.parametrize(
    ("kind", "pinned", "rules"),
    [
        ("logistic", {"target": "default", "exposure": "years"}, {"decision_flips": {"overall": 0.9}}),
        ("poisson", {"target": "claims", "exposure": "years"}, {"mean_score_shift": {"overall": 5.0}}),
    ],
)
def test_under_a_policy_that_pins_the_exposure(kind, pinned, rules, store, logged, data, coordpath, tmp_path):
    """From the first report to the second promotion; what the author says of exposures changes nothing."""
    office = Office(store, coordpath, tmp_path, data, **pinned)
    store.register(office.name, *logged[kind])
    office.adopt_policy(rules={"final_cost_increase": {"absolute": 5.0}, "gap": {"most": 0.05}, **rules})
    office.champion()
    outcome = office.run("report", office.name, "--candidate", "2", "--gate", "--offset", "load", "--threshold", "0.9")
    assert outcome.code == 3, outcome.err
    assert "As policy 'prices' pins, not as given: --offset, --threshold" in outcome.plain
    folder = office.attached("2", "v1-to-v2")
    document = cg.ChangeReport.from_bytes((folder / "change_report.json").read_bytes()).document
    assert (document.data.exposure, document.data.offset, document.settings.threshold) == ("years", None, None)
    results = {rule.rule: rule.result for rule in document.assessment.rules}
    assert set(results.values()) == {"pass"}, results
    assert coordpath("verify", folder / "change_report.json", "--data", data).code == 0
    assert office.run("gate", office.name, "2").code == 3
    office.approve("2", "Bob", "Cleo")
    assert office.run("gate", office.name, "2").code == 0
    assert office.run("promote", office.name, "2").code == 0
    assert office.alias() == "2"
    assert office.run("audit", "verify").code == 0


def test_a_report_with_another_exposure_than_pinned_fails(data, registered):
    """Whoever makes a report by hand and hands it in does not get round the pinned exposure."""
    from coordpath_governance.policy.judge import assess
    from coordpath_governance.policy.load import read_policy

    name = registered("poisson")
    how = {"data": data, "target": "claims", "role": "holdout"}
    documents = [
        cg.explain_change(f"models:/{name}/1", f"models:/{name}/2", **how, **more).document
        for more in ({"exposure": "years"}, {}, {"offset": "load"})
    ]
    content = {
        "schema": "coordpath.policy/1",
        "name": "claims",
        "models": ["*"],
        "reference": {
            "sha256": documents[0].data.sha256,
            "role": "holdout",
            "target": "claims",
            "exposure": "years",
        },
        "rules": {"gap": {"most": 0.05}},
        "materiality": [{"class": "ordinary"}],
    }
    policy = read_policy(json.dumps(content), "test")
    assert [assess(document, policy).assessment.verdict for document in documents] == ["pass", "fail", "fail"]


@pytest.mark.parametrize("form", ["skops", "cloudpickle"])
def test_a_transformed_target_and_a_calibrated_classifier_in_a_registry(form, store, frame, data, coordpath, tmp_path):
    """From `coordpath report` to `verify`; the function of the target and the calibration are said on the way."""
    trusted = {"skops_trusted_types": [f"sklearn.calibration.{n}" for n in ("_CalibratedClassifier", "_SigmoidCalibration")]}
    options = {"serialization_format": form, **(trusted if form == "skops" else {})}
    encode = make_column_transformer((StandardScaler(), ["income", "debt"]), (OneHotEncoder(drop="first"), ["town"]))
    logarithm = TransformedTargetRegressor(make_pipeline(encode, Ridge()), func=np.log, inverse_func=np.exp)
    sigmoid = CalibratedClassifierCV(make_pipeline(encode, LinearSVC()), ensemble=False)
    told = {"cost": ("log(cost)", "mean squared error of log(cost)"), "default": (None, "log loss")}
    for target, model in (("cost", logarithm), ("default", sigmoid)):
        versions = [store.log(model.fit(rows[INPUTS], rows[target]), **options) for rows in (frame[:200], frame[50:])]
        name = store.register(f"{target} {form} {uuid.uuid4().hex[:8]}", *versions)
        store.client.set_registered_model_alias(name, "champion", "1")
        folder = tmp_path / target
        made = coordpath("report", name, "--data", data, "--target", target, "--no-attach", "--out", folder)
        assert made.code == 0, made.err
        path = next(folder.rglob("change_report.json"))
        document = cg.ChangeReport.from_bytes(path.read_bytes()).document
        predicted, loss = told[target]
        assert document.data.predicted == predicted
        assert loss in " ".join(made.plain.split())
        checked = coordpath("verify", path, "--data", data)
        assert checked.out.splitlines()[-1].startswith("verified against the data; "), checked.plain


@pytest.fixture
def credit(store, coordpath, tmp_path, data, logged):
    """An office whose model is the classifier, before any policy."""
    office = Office(store, coordpath, tmp_path, data, target="default")
    store.register(office.name, *logged["logistic"])
    return office


def policy_adopted_before(office, path):
    """As a version did that asked no model: the same policy, signed and recorded."""
    from coordpath_governance.ledger.events import PolicyAdopted
    from coordpath_governance.policy.load import policy_bytes, policy_sha256, read_policy
    from coordpath_governance.signing.keys import PrivateKey

    policy = read_policy(path.read_bytes(), "policy")
    body = PolicyAdopted(policy=policy_sha256(policy), name=policy.name, models=policy.models)
    office.ledger.append("policy adopted", body, PrivateKey.load(office.key("Ann"), None), blob=policy_bytes(policy))


FLIPS = {"rules": {"decision_flips": {"overall": 1.0}}, "materiality": [{"class": "ordinary"}]}


def test_a_bare_threshold_of_a_classifier_is_not_adopted(credit):
    for threshold, says in (
        (0.2, f"registered model {credit.name} is a classifier of no, yes: say whose probability the 0.2 is"),
        ({"value": 0.2, "class": "bad"}, "there is no class 'bad'"),
    ):
        path = credit.write_policy(reference=credit.pinned | {"threshold": threshold}, **FLIPS)
        for command in (("adopt", path, "--key", credit.key("Ann")), ("check", path)):
            done = credit.run("policy", *command) if command[0] == "adopt" else credit._coordpath("policy", *command)
            assert done.code == 1
            assert says in " ".join((done.plain + done.err).split())
    assert "policy adopted" not in [entry.event for entry in credit.ledger.entries()]
    credit.adopt_policy(reference=credit.pinned | {"threshold": {"value": 0.2, "class": "yes"}}, **FLIPS)


def test_under_a_bare_threshold_adopted_before_decisions_are_not_known(credit):
    policy_adopted_before(credit, credit.write_policy(reference=credit.pinned | {"threshold": 0.2}, **FLIPS))
    credit.store.client.set_registered_model_alias(credit.name, "champion", "1")
    assert credit.run("adopt", credit.name, "--key", credit.key("Ann")).code == 0
    made = credit.run("report", credit.name, "--candidate", "2")
    assert made.code == 0, made.err
    assert "P(yes) was taken: was P(no) meant?" in " ".join(made.plain.split())
    asked = credit.run("gate", credit.name, "2", "--json")
    rule = next(rule for rule in json.loads(asked.out)["rules"] if rule["rule"] == "decision_flips")
    assert rule["result"] == "unknown"
    assert "name one of no, yes in the policy" in rule["reason"]
    assert asked.code != 0
    named = credit.pinned | {"threshold": {"value": 0.2, "class": "no"}}
    credit.adopt_policy(reference=named, **FLIPS)
    assert credit.run("report", credit.name, "--candidate", "2").code == 0
    asked = credit.run("gate", credit.name, "2", "--json")
    rule = next(rule for rule in json.loads(asked.out)["rules"] if rule["rule"] == "decision_flips")
    assert "The versions' own thresholds differ" in rule["reason"]
    assert "name one of" not in rule["reason"]
    assert credit.run("audit", "verify").code == 0


def test_the_class_of_a_cut_off_on_the_command_line(registered, data, coordpath, tmp_path):
    name = registered("logistic")
    args = ("--data", data, "--target", "default", "--no-attach", "--out", tmp_path)
    asked = coordpath("report", name, *args, "--threshold", "0.2")
    assert asked.code == 0
    assert "P(yes) was taken: was P(no) meant?" in " ".join(asked.plain.split())
    named = coordpath("report", name, *args, "--threshold", "0.2", "--threshold-class", "no")
    said = " ".join(named.plain.split())
    assert "At the cut-off P(no) ≥ 0.2, " in said
    assert "meant?" not in said
    assert coordpath("verify", tmp_path / "change_report.json", "--data", data).code == 0
    wrong = coordpath("report", name, *args, "--threshold", "0.2", "--threshold-class", "bad")
    assert wrong.code == 2
    assert "the models' classes are 'no' and 'yes'" in " ".join(wrong.err.split())
    assert coordpath("report", name, *args, "--threshold-class", "no").code == 2
