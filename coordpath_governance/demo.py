"""The demo's story: a model is trained, retrained on newer patients, explained, and checked by somebody else."""

from __future__ import annotations

import logging
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from shlex import quote
from shutil import which
from typing import Any

from coordpath_governance.cli.clock import utc_now
from coordpath_governance.cli.overview import show_overview
from coordpath_governance.reference.sources import open_source
from coordpath_governance.registry.attach import attach
from coordpath_governance.registry.connection import connect
from coordpath_governance.registry.version_report import report_on_versions
from coordpath_governance.registry.versions import CHAMPION_ALIAS, ModelPointer, point_at
from coordpath_governance.reports.change_report import ChangeReport
from coordpath_governance.reports.document import ChangeFacts
from coordpath_governance.reports.make import Reference, settings_for
from coordpath_governance.reports.verify import verify_report

__all__ = ["tell_story"]

NAME = "progression"
TARGET = "target"


def tell_story(folder: Path, say: Callable[[str], None]) -> None:
    """Two versions, two reports, one check; ``say`` prints."""
    import mlflow

    logging.getLogger("mlflow").setLevel(logging.ERROR)
    warnings.filterwarnings("ignore", module="mlflow")
    store = f"sqlite:///{folder / 'mlflow.db'}"
    client = connect(store, store)
    if client.get_experiment_by_name("demo") is None:
        client.create_experiment("demo", artifact_location=(folder / "artifacts").as_uri())
    mlflow.set_experiment("demo")
    patients, holdout = _patients(folder)

    say("1. A model is trained on the first 200 patients, registered, and explained from zero.\n")
    first = _train(patients[:200], "1 to 200", client)
    report, place = _report(client, None, first, holdout, "first version")
    say(f"   {report.document.summary.headline} Attached to version {first.version} under {place}.")
    client.set_registered_model_alias(NAME, CHAMPION_ALIAS, first.version)

    say("\n2. It is retrained with 130 newer patients and registered again. What changed?\n")
    second = _train(patients[:330], "1 to 330", client)
    report, place = _report(client, first, second, holdout, "130 newer patients")
    show_overview(report.document)

    say("\n3. Somebody else checks the report against the rows.\n")
    verification = verify_report(report, holdout)
    for check in verification.checks:
        say(f"   {'ok' if check.passed else 'MISMATCH'}  {check.level}: {check.what}")
    say(f"   {verification.conclusion}")
    written = folder / "report"
    written.mkdir(exist_ok=True)
    (written / "change_report.html").write_text(report.to_html(), encoding="utf-8")
    (written / "change_report.md").write_text(report.to_markdown(), encoding="utf-8")
    (written / "change_report.json").write_bytes(report.to_bytes())
    commands = Path(sys.executable).parent
    coordpath, mlflow_command = (quote(which(name) or str(commands / name)) for name in ("coordpath", "mlflow"))
    say(
        f"\nWhere to look:\n"
        f"   the report     {written / 'change_report.html'}\n"
        f"   check it       {coordpath} verify {quote(str(written / 'change_report.json'))} --data {quote(str(holdout))}\n"
        f"   in MLflow      {mlflow_command} server --backend-store-uri {quote(store)}\n"
        f"                  then Models → {NAME} → Version {second.version} → Source Model → Artifacts → {place}"
    )


def _patients(folder: Path) -> tuple[Any, Path]:
    """The diabetes data in their own units; the last patients are kept as reference data."""
    from sklearn.datasets import load_diabetes

    frame = load_diabetes(as_frame=True, scaled=False).frame
    frame["sex"] = frame["sex"].map({1.0: "a", 2.0: "b"})
    path = folder / "holdout.csv"
    frame[330:].to_csv(path, index=False)
    return frame, path


def _train(rows: Any, period: str, client: Any) -> ModelPointer:  # noqa: ANN401 - DataFrame, MlflowClient
    """Fit a pipeline as people write them, log it and register it."""
    import mlflow
    from sklearn.compose import make_column_transformer
    from sklearn.linear_model import Ridge
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import OneHotEncoder, StandardScaler

    inputs = rows.drop(columns=TARGET)
    numeric = [column for column in inputs.columns if column != "sex"]
    encode = make_column_transformer((StandardScaler(), numeric), (OneHotEncoder(drop="first"), ["sex"]))
    model = make_pipeline(encode, Ridge(alpha=1.0)).fit(inputs, rows[TARGET])
    with mlflow.start_run(run_name=f"patients {period}"):
        logged = mlflow.sklearn.log_model(
            model,
            name="model",
            registered_model_name=NAME,
            serialization_format="skops",  # the default from MLflow 3.14 on
            skops_trusted_types=["numpy.dtype", "sklearn.compose._column_transformer._RemainderColsList"],
            pip_requirements=["scikit-learn"],
        )
    return point_at(client, NAME, str(logged.registered_model_version))


def _report(
    client: Any,  # noqa: ANN401 - MlflowClient
    champion: ModelPointer | None,
    candidate: ModelPointer,
    data: Path,
    reason: str,
) -> tuple[ChangeReport, str]:
    reference = Reference(open_source(data), TARGET, role="holdout", period="patients 331 to 442")
    facts = ChangeFacts(reason=reason, change_type="recalibration")
    report = report_on_versions(champion, candidate, reference, facts, settings_for(segments=("sex",)))
    return report, attach(client, champion, candidate, report, utc_now()).folder
