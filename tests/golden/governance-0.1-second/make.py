"""Makes this folder's files: one story with the events that came since `governance-0.1`, and what entries tell since.

Kept as a record, and for the fixture of the next version: `python make.py` in a new folder. It works in /fixture, which must
not be there: MLflow writes absolute paths into a model's files, and these are to be nobody's. Keys, ids and times are new
with every run.
"""

from __future__ import annotations

import getpass
import io
import json
import os
import re
import shutil
import sqlite3
import sys
import zipfile
from contextlib import closing, redirect_stdout
from pathlib import Path

PLACE = Path("/fixture")
DATABASE = f"sqlite:///{PLACE / 'mlflow.db'}"
ROLES = {
    "Ann": "policy-admin",
    "Ada": "policy-admin",
    "Bob": "validator",
    "Cleo": "validator",
    "Olga": "owner",
    "Rita": "risk",
    "Zoe": "validator",
}
HERE = Path(__file__).parent
EVERY_EVENT = 21
STAMP = (2026, 1, 1, 0, 0, 0)

POLICY = """\
schema: coordpath.policy/1
name: {name}
models: [{name}]
facts: {{owner: Example team, purpose: a fixture}}
reference: {{sha256: {sha256}, role: holdout, target: {target}}}
rules:
  final_cost_increase: {{absolute: {limit}}}
  gap: {{most: 0.1}}
materiality:
  - class: first
    when: {{first_version: 1}}
    approvals: [{{role: validator, count: 1}}, {{role: owner, count: 1}}]
  - class: ordinary
    approvals: [{{role: validator, count: 1}}]
waivers: {{roles: [risk], longest_days: 3660}}
approvals: {{longest_days: 3660}}
declarations: {{roles: [validator]}}
emergency: {{roles: [risk], days: 3660}}
retention: {{class: model change, years: 7}}
admins: {admins}
"""


def run(*words: str, code: int = 0) -> str:
    """A command in this process; it must end with ``code``."""
    from coordpath_governance.cli.main import _run

    sys.argv, printed = ["coordpath", *words], io.StringIO()
    with redirect_stdout(printed):
        found = _run()
    if found != code:
        raise SystemExit(f"{' '.join(words)}: {found} and not {code}\n{printed.getvalue()}")
    return printed.getvalue()


def rows() -> None:
    """Reference data for both models."""
    import numpy as np
    import pandas as pd

    rng = np.random.default_rng(11)
    frame = pd.DataFrame({"area": rng.normal(80, 20, 90).round(1), "age": rng.uniform(0, 60, 90).round(0)})
    price = (3 * frame["area"] - 0.8 * frame["age"] + rng.normal(0, 9, 90)).round(1)
    late = (rng.uniform(size=90) < 1 / (1 + np.exp(-(frame["age"] - 30) / 10))).astype(int)
    frame.assign(price=price).to_csv("price.csv", index=False)
    frame.assign(late=late).to_csv("late.csv", index=False)


def fitted(target: str, end: int) -> object:
    """A small model of the first rows."""
    import pandas as pd
    from sklearn.linear_model import LinearRegression, LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    frame = pd.read_csv(f"{target}.csv")[:end]
    last = LinearRegression() if target == "price" else LogisticRegression()
    return make_pipeline(StandardScaler(), last).fit(frame[["area", "age"]], frame[target])


def register(name: str, model: object, *, guarded: bool = True, **options: object) -> None:
    """Log a model and register it, as Olga and through the store that refuses unless it is not ``guarded``."""
    import mlflow

    with mlflow.start_run(experiment_id=mlflow.get_experiment_by_name("fixture").experiment_id) as run_:
        logged = mlflow.sklearn.log_model(model, name="model", pip_requirements=[], **options)
    os.environ["COORDPATH_KEY"] = "keys/olga.pem"
    client = mlflow.MlflowClient(registry_uri=f"coordpath:{DATABASE}" if guarded else DATABASE)
    client.create_model_version(name, f"models:/{logged.model_id}", run_.info.run_id, model_id=logged.model_id)
    del os.environ["COORDPATH_KEY"]


def report(name: str, version: str) -> None:
    run("report", name, "--candidate", version, "--data", f"{name}.csv", "--reason", "the next quarter")


def decide(name: str, version: str, *owners: str, word: str = "--approve") -> None:
    for owner in owners:
        run("review", name, version, word, "--comment", "looked at it", "--key", f"keys/{owner}.pem")


def story() -> None:
    """Two models, from the first key to the export."""
    import mlflow
    from sklearn.tree import DecisionTreeClassifier

    from coordpath_governance.models import LinearModel, NumericTerm, to_document
    from coordpath_governance.reference.sources import open_source

    mlflow.create_experiment("fixture", artifact_location=(PLACE / "artifacts").as_uri())
    client = mlflow.MlflowClient()
    rows()
    for owner, role in ROLES.items():
        signer = () if owner == "Ann" else ("--key", "keys/ann.pem")
        run("key", "new", owner, "--role", role, "--out", f"keys/{owner.lower()}.pem", "--no-passphrase", *signer)
    keys = run("key", "list").splitlines()
    zoe = next(line.split()[0] for line in keys if line.rstrip().endswith("Zoe"))
    run("key", "revoke", zoe, "--reason", "left", "--key", "keys/ann.pem")
    for name, limit, admins in (("price", 20.0, 2), ("late", -1e9, 1)):
        client.create_registered_model(name)
        sha256 = open_source(Path(f"{name}.csv")).sha256
        Path(f"{name}.yaml").write_text(POLICY.format(name=name, sha256=sha256, target=name, limit=limit, admins=admins))
    register("price", fitted("price", 40), guarded=False)
    client.set_registered_model_alias("price", "champion", "1")
    run("policy", "adopt", "late.yaml", "--key", "keys/ann.pem")
    run("policy", "retire", "late", "--reason", "a better one comes", "--key", "keys/ann.pem")
    run("policy", "adopt", "price.yaml", "--key", "keys/ann.pem")
    second(run("policy", "adopt", "late.yaml", "--key", "keys/ann.pem", code=3))
    run("adopt", "price", "--reason", "was champion before", "--key", "keys/ann.pem")

    for end in (50, 60, 70, 80):
        register("price", fitted("price", end))
    report("price", "2")
    decide("price", "2", "bob")
    run("promote", "price", "2", "--key", "keys/bob.pem")
    run("promote", "price", "1", "--emergency", "--reason", "fails on new codes", "--key", "keys/rita.pem")
    decide("price", "1", "bob", "olga")
    report("price", "2")
    decide("price", "2", "bob")
    run("promote", "price", "2", "--key", "keys/bob.pem")
    client.set_registered_model_alias("price", "champion", "3")
    run("sweep", code=1)
    client.set_registered_model_alias("price", "champion", "2")
    run("adopt", "price", "--reason", "put back what was approved", "--key", "keys/ann.pem")
    for version in ("3", "4", "5"):
        report("price", version)
    decide("price", "3", "cleo", word="--reject")
    run("retire", "price", "3", "--reason", "rejected", "--key", "keys/ann.pem")
    decide("price", "4", "bob")

    register("late", fitted("late", 80))
    report("late", "1")
    run("waive", "late", "1", "final_cost_increase", "--reason", "no other yet", "--key", "keys/rita.pem")
    decide("late", "1", "bob", "cleo", word="--approve")
    run("gate", "late", "1", code=3)
    tree = DecisionTreeClassifier(max_depth=1).fit([[0.0, 0.0], [1.0, 1.0]], [0, 1])
    register("late", tree, serialization_format="cloudpickle")
    terms = (NumericTerm("area", 0.0), NumericTerm("age", 0.1))
    told = LinearModel(-3.0, numeric=terms, family="binomial", link="logit", classes=("0", "1"), estimator="a tree")
    Path("coefficients.json").write_text(json.dumps(to_document(told), indent=1) + "\n")
    declared = ("--coefficients", "coefficients.json", "--reason", "same score", "--key", "keys/bob.pem")
    run("declare", "late", "2", *declared)

    run("audit", "anchor", "-o", "anchor.json")
    run("audit", "export", "-o", "ledger.jsonl")


def second(said: str) -> None:
    """Ada seconds what Ann has just proposed."""
    number = re.search(r"`coordpath second (\d+)", said) or re.search(r"entry (\d+)", said)
    run("second", number[1], "--key", "keys/ada.pem")


def neutral() -> None:
    """Who made the runs, and from what, is nobody's business."""
    from coordpath_governance.ledger.store import Ledger

    with closing(sqlite3.connect("mlflow.db")) as database:
        database.execute("DELETE FROM tags WHERE key LIKE 'mlflow.source.%'")
        database.execute("UPDATE runs SET user_id = 'fixture', source_name = '', entry_point_name = ''")
        database.execute("UPDATE tags SET value = 'fixture' WHERE key = 'mlflow.user'")
        database.commit()
        database.execute("VACUUM")
    events = {entry.event for entry in Ledger.open(f"sqlite:///{PLACE / 'coordpath-ledger.db'}").entries()}
    if len(events) < EVERY_EVENT:
        raise SystemExit(f"only {len(events)} kinds of events: {sorted(events)}")


def pack() -> None:
    """Beside this file: what a person reads as it is, the registry with its files in one archive."""
    with zipfile.ZipFile(HERE / "registry.zip", "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        for path in (Path("mlflow.db"), *sorted(Path("artifacts").rglob("*"))):
            if path.is_file():
                packed = zipfile.ZipInfo(path.as_posix(), STAMP)
                packed.compress_type = zipfile.ZIP_DEFLATED
                archive.writestr(packed, path.read_bytes())
    with closing(sqlite3.connect("coordpath-ledger.db")) as ledger, closing(sqlite3.connect(HERE / "ledger.db")) as copy:
        ledger.backup(copy)
    for name in ("anchor.json", "ledger.jsonl", "price.yaml", "late.yaml", "price.csv", "late.csv", "coefficients.json"):
        shutil.copy(name, HERE / name)
    (HERE / "keys").mkdir(exist_ok=True)
    for path in Path("keys").glob("*.pem"):
        shutil.copy(path, HERE / "keys" / f"test-only-{path.name}")
    shutil.copy("coordpath-ledger.key", HERE / "keys" / "test-only-service.pem")


def main() -> None:
    """Make everything, or nothing."""
    PLACE.mkdir()
    os.chdir(PLACE)
    getpass.getuser = lambda: "fixture"
    os.environ.update(MLFLOW_TRACKING_URI=DATABASE, COORDPATH_REPORTS="sweep", MLFLOW_DISABLE_TELEMETRY="true")
    Path("keys").mkdir()
    story()
    neutral()
    pack()


if __name__ == "__main__":
    main()
