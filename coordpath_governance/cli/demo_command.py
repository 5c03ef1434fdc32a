"""`coordpath demo`: the whole story on an embedded store."""

from __future__ import annotations

import os
from pathlib import Path

import click

from coordpath_governance.cli.screen import say
from coordpath_governance.errors import UsageError
from coordpath_governance.files import writing

__all__ = ["command"]


@click.command("demo")
@click.argument("folder", type=click.Path(path_type=Path, file_okay=False), default=Path("demo-store"), metavar="[DIR]")
def command(folder: Path) -> None:
    """Train, register, report, review, promote, retrain, refuse, approve, audit, verify, all in DIR (default: demo-store).

    Uses the diabetes data that ship with scikit-learn, and an MLflow store in a SQLite file. In a folder made by an earlier
    demo the story is told again about another model.
    """
    with writing(folder):
        taken = folder.exists() and any(folder.iterdir()) and not (folder / "mlflow.db").exists()
    if taken:
        raise UsageError(f"'{folder}' is not empty and not a demo store; name another folder")
    with writing(folder):
        folder.mkdir(parents=True, exist_ok=True)
    os.environ.setdefault("MLFLOW_DISABLE_TELEMETRY", "true")
    from coordpath_governance.demo import tell_story

    tell_story(folder.resolve(), say)
