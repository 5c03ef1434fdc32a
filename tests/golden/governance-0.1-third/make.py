"""Write ledger.jsonl: `python make.py` in this folder."""

import tempfile
from pathlib import Path

from coordpath_governance.ledger.events import Refusal, VersionUnreadable
from coordpath_governance.ledger.export import export_lines
from coordpath_governance.ledger.store import Ledger

HERE = Path(__file__).parent

with tempfile.TemporaryDirectory() as folder:
    ledger = Ledger.open(f"sqlite:///{folder}/ledger.db")
    unreadable = VersionUnreadable(version="2", champion="1", digest="1" * 64, reason="'model.pkl' names os.system")
    ledger.record("version unreadable", unreadable, model="price")
    refused = Refusal(
        operation="set alias",
        alias="champion",
        version="2",
        actor="Olga",
        reason="no report",
        request="0123456789abcdef" * 2,
    )
    ledger.record("refusal", refused, model="price")
    (HERE / "ledger.jsonl").write_bytes(b"".join(export_lines(ledger.id, ledger.entries(), ledger.blobs)))
