"""Run a command in a process that can import neither MLflow nor SQLAlchemy nor any database driver."""

import os
import subprocess
import sys

OFFLINE = """
import sys

class Forbid:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in ("mlflow", "sqlalchemy", "psycopg", "sqlite3"):
            raise ModuleNotFoundError(f"{name} is not installed here")

sys.meta_path.insert(0, Forbid())
from coordpath_governance.cli.main import main
main()
"""


def run_offline(*args):
    """The finished process; its output is text."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("COORDPATH", "MLFLOW"))}
    command = [sys.executable, "-c", OFFLINE, *map(str, args)]
    return subprocess.run(command, capture_output=True, text=True, env=environment, timeout=120)
