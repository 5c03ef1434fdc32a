"""A copy of the source tree in which somebody adds something: the files they write, the lines they add, what comes of it."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from textwrap import dedent

import pytest

ROOT = Path(__file__).resolve().parents[2]


@dataclass(frozen=True)
class ChangedTree:
    root: Path

    def write(self, path: str, content: str) -> None:
        """A file that is not there yet."""
        target = self.root / path
        assert not target.exists()
        target.write_text(dedent(content), encoding="utf-8")

    def add_line(self, path: str, before: str, line: str) -> None:
        """A line in a file that is there, above the one line that begins with ``before``."""
        target = self.root / path
        lines = target.read_text(encoding="utf-8").splitlines(keepends=True)
        (place,) = [i for i, text in enumerate(lines) if text.startswith(before)]
        target.write_text("".join([*lines[:place], f"{line}\n", *lines[place:]]), encoding="utf-8")

    def run(self, *arguments: str) -> str:
        """What Python says that is started in the tree with these arguments."""
        environment = {**os.environ, "PYTHONPATH": str(self.root)}
        done = subprocess.run(
            [sys.executable, *arguments], cwd=self.root, env=environment, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout


@pytest.fixture
def changed_tree(tmp_path):
    for part in ("coordpath_governance", "templates", "docs"):
        shutil.copytree(ROOT / part, tmp_path / part)
    return ChangedTree(tmp_path)
