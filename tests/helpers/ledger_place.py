"""Where a ledger is, and what somebody can do to it who has the right to write to its database."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class LedgerPlace:
    """Where a ledger is or will be, and its service key."""

    url: str
    key: Path

    def open(self, **options: object):
        from coordpath_governance.ledger.store import Ledger

        return Ledger.open(self.url, **{"service_key": self.key, **options})

    def tamper(self, *statements: str, **values: object) -> None:
        """What somebody with the right to write to the database can do: the triggers are no obstacle."""
        from sqlalchemy import create_engine, text

        engine = create_engine(self.url)
        with engine.begin() as connection:
            for table in ("coordpath_ledger", "coordpath_blobs"):
                if engine.dialect.name == "postgresql":
                    connection.execute(text(f"ALTER TABLE {table} DISABLE TRIGGER USER"))
                else:
                    for guard in ("update", "delete", "replace"):
                        connection.execute(text(f"DROP TRIGGER IF EXISTS {table}_no_{guard}"))
            for statement in statements:
                connection.execute(text(statement), values)
        engine.dispose()
