"""A real PostgreSQL server of our own."""

from __future__ import annotations

import os
import shutil
import subprocess
import uuid
from pathlib import Path


class PostgreSQL:
    """A throw-away PostgreSQL server that listens on a socket in its own folder and nowhere else."""

    def __init__(self, programs: Path, folder: Path) -> None:
        self.folder = folder
        self._programs = programs
        self._data = folder / "data"
        self._as: dict[str, object] = {}
        if os.geteuid() == 0:
            import pwd

            owner = next(each for each in pwd.getpwall() if each.pw_name in ("postgres", "nobody"))
            os.chown(folder, owner.pw_uid, owner.pw_gid)
            self._as = {"user": owner.pw_uid, "group": owner.pw_gid, "extra_groups": []}
        self._run("initdb", "-D", self._data, "-U", "coordpath", "-A", "trust", "-E", "UTF8", "--no-locale", "--no-sync")
        options = f"-k {folder} -c listen_addresses='' -c fsync=off"
        self._run("pg_ctl", "-D", self._data, "-l", folder / "log", "-o", options, "-w", "start")

    def _run(self, program: str, *args: object) -> None:
        command = [str(self._programs / program), *map(str, args)]
        done = subprocess.run(
            command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, cwd=self.folder, **self._as
        )
        assert done.returncode == 0, f"{program}: {done.stderr.decode(errors='replace')}"

    def url(self, database: str) -> str:
        return f"postgresql+psycopg://coordpath@/{database}?host={self.folder}"

    def fresh(self) -> str:
        """The URL of a new, empty database."""
        import psycopg

        name = f"ledger_{uuid.uuid4().hex}"
        with psycopg.connect(f"host={self.folder} user=coordpath dbname=postgres", autocommit=True) as connection:
            connection.execute(f"CREATE DATABASE {name}")
        return self.url(name)

    def stop(self) -> None:
        self._run("pg_ctl", "-D", self._data, "-m", "immediate", "-w", "stop")


def postgresql_programs() -> Path | None:
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"))
    beside = shutil.which("initdb")
    return found[-1].parent if found else Path(beside).resolve().parent if beside else None
