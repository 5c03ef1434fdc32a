"""What `coordpath promote --json` prints: whether the alias was moved, why, and what the ledger recorded of it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from coordpath_governance.cli.answer_document import print_json
from coordpath_governance.errors import EXIT_REVIEW, RefusedError
from coordpath_governance.ledger.events import Emergency, Intent, Promotion
from coordpath_governance.review.history import ModelHistory

if TYPE_CHECKING:
    from coordpath_governance.ledger.store import Ledger
    from coordpath_governance.review.gate import Answer

__all__ = ["PROMOTION_SCHEMA", "Asked"]

PROMOTION_SCHEMA = "coordpath.promotion/1"


class Asked:
    """One promotion that was asked for, and the document about it."""

    def __init__(self, name: str, version: str, alias: str | None) -> None:
        self.document: dict[str, Any] = {
            "schema": PROMOTION_SCHEMA,
            "name": name,
            "version": version,
            "alias": alias,
            "promoted": False,
            "verdict": None,
            "reason": None,
            "ledger": None,
            "entry": None,
            "actor": None,
            "authenticated_by": None,
            "completed": None,
            "exit_code": 0,
        }

    def promoted(self, reason: str, ledger: str, opened: Ledger | None = None, *, judged: bool = True) -> int:
        """The alias stands for the version. What was recorded is told where the command can read the ledger (``opened``).

        Not ``judged``: by an emergency rollback, of which the gate has said nothing.
        """
        verdict = "pass" if judged else None
        self.document |= {"promoted": True, "verdict": verdict, "reason": reason, "ledger": ledger}
        if opened is not None:
            self.document |= self._recorded(opened)
        return self._print()

    def refused(self, error: RefusedError) -> int:
        """The gate says no, or not yet."""
        verdict = "review" if error.exit_code == EXIT_REVIEW else "fail"
        self.document |= {"verdict": verdict, "reason": str(error), "exit_code": error.exit_code}
        return self._print()

    def answered(self, answer: Answer, ledger: str) -> int:
        """A dry run: what the gate would say."""
        said = {"verdict": answer.verdict, "reason": answer.reason, "exit_code": answer.exit_code}
        self.document |= {**said, "ledger": ledger}
        return self._print()

    def _recorded(self, ledger: Ledger) -> dict[str, Any]:
        """The newest promotion to this alias, and who had asked for it."""
        history = ModelHistory(ledger.entries(self.document["name"]))
        intents: dict[str, Intent | Emergency] = {entry.hash: facts for entry, facts in history.of(Intent)}
        intents |= {entry.hash: facts for entry, facts in history.of(Emergency)}
        for entry, facts in reversed([*history.of(Promotion)]):
            if (facts.alias, facts.to_version) == (self.document["alias"], self.document["version"]):
                intent = intents[facts.intent]
                who = {"actor": intent.actor, "authenticated_by": intent.authenticated_by}
                return {"entry": entry.seq, **who, "completed": facts.completed}
        return {}

    def _print(self) -> int:
        print_json(self.document)
        code: int = self.document["exit_code"]
        return code
