"""`coordpath demo`: the whole story on an embedded store.

A model is trained, explained, reviewed and promoted; retrained, refused, approved; audited and checked. Every step is the
command that a user would type, run here in one process.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable
from pathlib import Path
from shlex import join, quote
from shutil import which
from typing import Any

import click

from coordpath_governance.cli.main import cli
from coordpath_governance.cli.screen import say
from coordpath_governance.errors import CoordpathError, UsageError
from coordpath_governance.files import writing
from coordpath_governance.reference.sources import open_source
from coordpath_governance.registry.demo_store import DemoStore
from coordpath_governance.registry.versions import CHAMPION_ALIAS

__all__ = ["command", "tell_story"]

TARGET = "target"
PERIOD = "patients 331 to 442"
Say = Callable[[str], None]


@click.command("demo")
@click.argument("folder", type=click.Path(path_type=Path, file_okay=False), default=Path("demo-store"), metavar="[DIR]")
def command(folder: Path) -> None:
    """Train, register, report, review, promote, retrain, refuse, approve, audit, verify, all in DIR (default: demo-store).

    Uses the diabetes data that ship with scikit-learn, and an MLflow store in a SQLite file. In a folder made by an earlier
    demo the story is told again about another model.
    """
    with writing(folder):
        is_foreign = folder.exists() and any(folder.iterdir()) and not (folder / "mlflow.db").exists()
    if is_foreign:
        raise UsageError(f"'{folder}' is not empty and not a demo store; name another folder")
    with writing(folder):
        folder.mkdir(parents=True, exist_ok=True)
    os.environ.setdefault("MLFLOW_DISABLE_TELEMETRY", "true")

    tell_story(folder.resolve(), say)


def tell_story(folder: Path, say: Say) -> None:
    """The whole story in ``folder``; told again, under a new model name. ``say`` prints."""
    story = _Story(folder, say)
    story.decide_who_decides()
    story.first_version()
    story.retrain()
    story.refuse()
    story.approve_and_promote()
    story.audit()
    story.check_the_report()
    story.where_to_look()


class _Story:
    def __init__(self, folder: Path, say: Say) -> None:
        self.folder, self.say, self.store = folder, say, DemoStore(folder)
        self.patients, self.holdout = _patients(folder)
        self.name = self.store.new_name("progression")

    def run(self, *arguments: str) -> None:
        """One command, as a user would type it, and what it says."""
        self.say(f"   $ coordpath {join(arguments)}\n")
        try:
            cli.main(args=list(arguments), prog_name="coordpath", standalone_mode=False)
        except CoordpathError as error:
            self.say(f"   refused, exit code {error.exit_code}: {error}")
        self.say("")

    def key(self, owner: str) -> str:
        """The file of a person's key."""
        return str(self.folder / "keys" / f"{owner.lower()}.pem")

    def decide_who_decides(self) -> None:
        """Keys and a policy."""
        self.say("1. Who decides? Ann answers for the policy, Bob validates, Eve trains models.\n")
        people = {"Ann": "policy-admin", "Bob": "validator", "Eve": "author"}
        for owner, role in people.items():
            if not Path(self.key(owner)).exists():
                signer = () if owner == "Ann" else ("--key", self.key("Ann"))
                self.run("key", "new", owner, "--role", role, "--out", self.key(owner), "--no-passphrase", *signer)
        policy = self.folder / "policy.json"
        policy.write_text(json.dumps(_policy(self.holdout), indent=2), encoding="utf-8")
        self.run("policy", "adopt", str(policy), "--key", self.key("Ann"))

    def first_version(self) -> None:
        """Trained, registered, explained from zero, approved, promoted."""
        self.say("2. Eve trains a model on 200 patients and registers it. It is explained, approved and promoted.\n")
        self._train(200)
        self.run("report", self.name, "--reason", "first version", "--change-type", "development")
        self.run("review", self.name, "1", "--approve", "--comment", "signs as expected", "--key", self.key("Bob"))
        self.run("promote", self.name, "1", "--key", self.key("Eve"))

    def retrain(self) -> None:
        """Retrained and explained."""
        self.say("3. Eve retrains it with 130 newer patients and registers it again. What changed?\n")
        self._train(330)
        self.run("report", self.name, "--reason", "130 newer patients", "--change-type", "recalibration")

    def refuse(self) -> None:
        """Neither our command nor MLflow's own client moves the alias."""
        self.say("4. Eve would like to promote it at once; so would a plain MLflow client of the guarded registry.\n")
        self.run("promote", self.name, "2", "--key", self.key("Eve"))
        self.say(f"   >>> client.set_registered_model_alias({self.name!r}, 'champion', 2)\n")
        refusal = self.store.try_alias(self.name, CHAMPION_ALIAS, "2")
        if refusal is not None:
            self.say(f"   {refusal}\n")

    def approve_and_promote(self) -> None:
        """Bob looks at the report and approves."""
        self.say("5. Bob reads the report and approves exactly this change. Now it can be promoted.\n")
        self.run("review", self.name, "2", "--approve", "--comment", "read the report", "--key", self.key("Bob"))
        self.run("promote", self.name, "2", "--key", self.key("Eve"))

    def audit(self) -> None:
        """Everything is on record, and checks without us."""
        self.say("6. The auditor takes the ledger away and checks it without MLflow or database.\n")
        self.run("audit", "log", self.name)
        for file in ("anchor.json", "ledger.jsonl"):
            (self.folder / file).unlink(missing_ok=True)
        self.run("audit", "anchor", "-o", str(self.folder / "anchor.json"))
        self.run("audit", "export", "-o", str(self.folder / "ledger.jsonl"))
        self.run("audit", "verify", str(self.folder / "ledger.jsonl"), "--anchor", str(self.folder / "anchor.json"))

    def check_the_report(self) -> None:
        """Against the rows."""
        self.say("7. And the report, against the rows.\n")
        place = f"coordpath/{self.name}/v1-to-v2"
        self.report = self.folder / "report"
        self.report.mkdir(exist_ok=True)
        self.store.copy_files(f"models:/{self.name}/2/{place}", self.report)
        self.run("verify", str(self.report / "change_report.json"), "--data", str(self.holdout))

    def where_to_look(self) -> None:
        """What a user may want to open next."""
        commands = Path(sys.executable).parent
        mlflow_command = quote(which("mlflow") or str(commands / "mlflow"))
        self.say(
            f"Where to look:\n"
            f"   the report     {self.report / 'change_report.html'}\n"
            f"   in MLflow      {mlflow_command} server --backend-store-uri {quote(self.store.uri)} "
            f"--registry-store-uri {quote(self.store.guarded_uri)}\n"
            f"                  then Models → {self.name} → Version 2 → Source Model → Artifacts → coordpath\n"
            f"   commands       export MLFLOW_TRACKING_URI={quote(self.store.uri)}"
        )

    def _train(self, rows: int) -> None:
        """Fit a pipeline as people write them, log it and register it, in Eve's name."""
        os.environ["COORDPATH_KEY"] = self.key("Eve")
        try:
            self.store.register(_fit(self.patients[:rows]), self.name, f"{rows} patients")
        finally:
            del os.environ["COORDPATH_KEY"]


def _policy(holdout: Path) -> dict[str, Any]:
    """What the demo's organisation wants of a change."""
    return {
        "schema": "coordpath.policy/1",
        "name": "progression models",
        "models": ["progression*"],
        "facts": {"owner": "diabetes team", "purpose": "planning of check-ups", "tier": "2"},
        "reference": {
            "sha256": open_source(holdout).sha256,
            "uri": str(holdout),
            "role": "holdout",
            "target": TARGET,
            "period": PERIOD,
            "segments": ["sex"],
        },
        "rules": {
            "final_cost_increase": {"standard_errors": 2, "otherwise": "review"},
            "sign_flips": {"most": 2, "otherwise": "review"},
            "gap": {"most": 0.05},
            "features_dropped": {"most": 0},
            "required_facts": {"facts": ["owner", "purpose", "reason"]},
            "report_age": {"days": 30},
        },
        "materiality": [{"class": "ordinary", "approvals": [{"role": "validator", "count": 1}]}],
    }


def _patients(folder: Path) -> tuple[Any, Path]:
    """The diabetes data in their own units; the last patients are kept as reference data."""
    from sklearn.datasets import load_diabetes

    frame = load_diabetes(as_frame=True, scaled=False).frame
    frame["sex"] = frame["sex"].map({1.0: "a", 2.0: "b"})
    path = folder / "holdout.csv"
    frame[330:].to_csv(path, index=False)
    return frame, path


def _fit(rows: Any) -> Any:  # noqa: ANN401 - DataFrame in, estimator out
    from sklearn.compose import make_column_transformer
    from sklearn.linear_model import Ridge
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import OneHotEncoder, StandardScaler

    inputs = rows.drop(columns=TARGET)
    numeric = [column for column in inputs.columns if column != "sex"]
    encode = make_column_transformer((StandardScaler(), numeric), (OneHotEncoder(drop="first"), ["sex"]))
    return make_pipeline(encode, Ridge(alpha=1.0)).fit(inputs, rows[TARGET])
