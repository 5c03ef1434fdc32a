"""`coordpath promote`: move a guarded alias, if the gate lets it."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Any

import click

from coordpath_governance.cli.answers import print_json, say_line, show_answer, show_readiness
from coordpath_governance.cli.clock import utc_moment
from coordpath_governance.cli.governed import (
    Governed,
    alias_option,
    open_governed,
    open_registry,
    show_moved,
    version_number,
)
from coordpath_governance.cli.options import check_text, check_words, find_ledger, key_option, ledger_options, load_key
from coordpath_governance.cli.screen import say
from coordpath_governance.errors import EXIT_REVIEW, NotFoundError, RefusedError, UsageError
from coordpath_governance.ledger.events import Emergency, Intent, Promotion
from coordpath_governance.registry.client_registry import ask_to_promote, number_at, registry_guard
from coordpath_governance.review.belonging import check_belongs
from coordpath_governance.review.guard import Guard
from coordpath_governance.review.history import ModelHistory
from coordpath_governance.review.requests import REQUEST_TAG, sign_request
from coordpath_governance.signing import KEY_VARIABLE

if TYPE_CHECKING:
    from coordpath_governance.ledger.store import Ledger
    from coordpath_governance.registry.ports import RegistryClient
    from coordpath_governance.review.gate import Answer
    from coordpath_governance.review.ports import AliasRegistry
    from coordpath_governance.signing.keys import PrivateKey

__all__ = ["PROMOTION_SCHEMA", "PromotionAnswer", "command"]

PROMOTION_SCHEMA = "coordpath.promotion/1"


class PromotionAnswer:
    """The answer to one request to promote, as a JSON document."""

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
        """The alias has the version. What was recorded is added if the command can read the ledger (``opened``).

        ``judged`` is False for an emergency rollback, which the gate did not judge.
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
        verdict = {"verdict": answer.verdict, "reason": answer.reason, "exit_code": answer.exit_code}
        self.document |= {**verdict, "ledger": ledger}
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


@click.command("promote")
@click.argument("name")
@click.argument("version")
@alias_option
@click.option(
    "--emergency", is_flag=True, help="Put the previous champion back alone and at once; needs --reason and --key."
)
@click.option("--reason", help="Why the emergency rollback cannot wait.")
@click.option("--dry-run", is_flag=True, help="Change no alias; say what would happen.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document (coordpath.promotion/1) instead of lines.")
@key_option
@ledger_options
def command(
    name: str,
    version: str,
    alias: str | None,
    emergency: bool,
    reason: str | None,
    dry_run: bool,
    as_json: bool,
    key: Path | None,
    ledger: str | None,
    tracking_uri: str | None,
    registry_uri: str | None,
) -> int:
    """Let the alias of NAME stand for VERSION. Rolling back is a promotion like any other.

    A guarded registry decides and records: the command sets the alias there and says what it answered, and needs neither
    ledger nor service key. If its server does not know who asks, --key signs the request. On a registry that does not guard
    itself the command is the guard: intent, alias, read back, done in the ledger; after a crash, run it again to finish.
    --dry-run looks into the ledger. Exits 0 promoted, 1 refused, 3 approvals are missing, 4 cannot tell.

    --emergency puts back the version that stood there before, without report and approvals, if the policy lets the key's
    owner do that (emergency). It is recorded with the reason, and `gate` and `sweep` exit 1 until others have reviewed it.
    """
    check_text(name, version, alias)
    _check_emergency(emergency, reason, key, dry_run)
    signer = load_key(key) if key is not None else None
    registry = open_registry(tracking_uri, registry_uri)
    client = registry.client
    try:
        number = version_number(client, name, version)
    except NotFoundError:
        opened = find_ledger(ledger, tracking_uri, registry_uri)
        if opened is not None:
            check_belongs(opened, registry, name)
        raise
    answer = PromotionAnswer(name, number, alias)
    try:
        behind = None if dry_run else registry_guard(client, name)
        if behind is not None:
            alias = answer.document["alias"] = alias or behind.alias
            wish = _wish(client, name, alias, reason)
            previous = number_at(client, name, alias)
            ask_to_promote(client, name, number, alias, request=_request(behind.ledger, name, number, alias, signer, wish))
            answered = f"the registry let it, and recorded it in ledger {behind.ledger}"
            if previous == number:
                answered = f"it was before, and the registry, whose ledger is {behind.ledger}, lets it stay"
            text = f"{name} version {number} is '{alias}': {answered}."
            text += _what_is_left(name, number, emergency)
            return answer.promoted(text, behind.ledger, judged=not emergency) if as_json else _say(text)
        governed = open_governed(name, ledger=ledger, tracking_uri=tracking_uri, registry_uri=registry_uri)
        alias = answer.document["alias"] = governed.alias(alias)
        if dry_run:
            if as_json:
                return answer.answered(governed.ask(number, alias), governed.ledger.id)
            return _say_what_would_happen(governed, number, alias)
        wish = _wish(client, name, alias, reason)
        request = None if wish is None else _request(governed.ledger.id, name, number, alias, signer, wish)
        take = None if request is None else lambda: request[1]
        guard = Guard(governed.ledger, after=partial(_show, governed, quiet=as_json))
        guard.set_alias(governed.registry, name, alias, number, governed.actor(signer), take)
        text = f"{name} version {number} is '{alias}'." + _what_is_left(name, number, emergency)
        return answer.promoted(text, governed.ledger.id, governed.ledger, judged=not emergency) if as_json else _say(text)
    except RefusedError as error:
        if not as_json:
            raise
        return answer.refused(error)


def _show(governed: Governed, _registry: AliasRegistry, name: str, version: str, *, quiet: bool) -> None:
    show_moved(governed.registry, governed.ledger, name, version, quiet=quiet)


def _say(text: str) -> int:
    say_line(text)
    return 0


def _check_emergency(emergency: bool, reason: str | None, key: Path | None, dry_run: bool) -> None:
    """`UsageError` for options that do not go together, or a reason that the ledger cannot hold."""
    check_words("--reason", reason or "")
    if not emergency:
        if reason is not None:
            raise UsageError("--reason is for an --emergency rollback; other promotions have theirs in the report")
        return
    if dry_run:
        raise UsageError("--dry-run cannot try an --emergency rollback; leave one of them out")
    if not (reason or "").strip():
        raise UsageError("an --emergency rollback needs a --reason")
    if key is None:
        raise UsageError(f"an --emergency rollback needs your signature: --key FILE, or {KEY_VARIABLE}")


def _wish(client: RegistryClient, name: str, alias: str, reason: str | None) -> tuple[str, str] | None:
    """The version to leave, and why; None if no emergency rollback is asked for."""
    if reason is None:
        return None
    return version_number(client, name, alias), reason


def _what_is_left(name: str, version: str, emergency: bool) -> str:
    """What others have to do after an emergency rollback; empty after any other promotion."""
    if not emergency:
        return ""
    return (
        " This was an emergency rollback: `coordpath gate` and `coordpath sweep` exit 1 until others have reviewed it. "
        f"Next: `coordpath review {quote(name)} {version} --approve --comment …` by somebody else"
    )


def _request(
    registry: str, name: str, version: str, alias: str, signer: PrivateKey | None, wish: tuple[str, str] | None
) -> tuple[str, str] | None:
    """The tag with the signed request, and its value; None without a key."""
    if signer is None:
        return None
    return REQUEST_TAG, sign_request(
        registry=registry, name=name, version=version, alias=alias, key=signer, now=utc_moment(), emergency=wish
    )


def _say_what_would_happen(governed: Governed, version: str, alias: str) -> int:
    answer = governed.ask(version, alias)
    show_answer(answer, governed.adopted, governed.name, version)
    if answer.readiness is not None:
        show_readiness(answer.readiness, governed.adopted, governed.ledger)
    would = f"Would let '{alias}' stand for version {version}." if answer.verdict == "pass" else "Would be refused."
    say()
    say_line(f"{would} No alias was changed.")
    return answer.exit_code
