"""`coordpath key`: who may sign what in a ledger."""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click
from pydantic import ValidationError

from coordpath_governance.cli.clock import utc_moment
from coordpath_governance.cli.options import (
    check_text,
    key_option,
    ledger_exists,
    ledger_options,
    load_key,
    open_ledger,
)
from coordpath_governance.cli.screen import say
from coordpath_governance.cli.second_command import say_proposed
from coordpath_governance.cli.service_key import rotate_service
from coordpath_governance.errors import NotFoundError, UsageError
from coordpath_governance.ledger.alone import few_admins
from coordpath_governance.ledger.events import KeyAdded, KeyFacts, KeyRevoked
from coordpath_governance.ledger.keyring import make_proof
from coordpath_governance.ledger.seconding import record_or_propose
from coordpath_governance.policy.terms import ADMIN, SERVICE
from coordpath_governance.signing import NEW_PASSPHRASE_VARIABLE
from coordpath_governance.signing.keys import PrivateKey, PublicKey, new_key
from coordpath_governance.text import visible

if TYPE_CHECKING:
    from coordpath_governance.ledger.events import KeyProof
    from coordpath_governance.ledger.keyring import KeyRing, KnownKey
    from coordpath_governance.ledger.store import Ledger

__all__ = ["command", "read_proof_file", "write_proof_file"]

_SHORT = 12
_SHORTEST_PREFIX = 6
_LONGEST_NAME = 200
_LEDGER_ID = re.compile(r"[0-9a-f]{32}")

_LONGEST = 100_000


@click.group("key")
def command() -> None:
    """Keys: who may adopt policies, review, and waive."""


@command.command("new")
@click.argument("owner")
@click.option("--role", "roles", multiple=True, required=True, help=f"'{ADMIN}' or a role that policies name; repeatable.")
@click.option(
    "--out",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="Where the private key goes; default: ~/.config/coordpath/keys/OWNER.pem.",
)
@click.option("--no-passphrase", is_flag=True, help="Leave the private key unencrypted.")
@click.option("--public", metavar="TEXT", help="Add this public key, which OWNER made with `coordpath key make`.")
@click.option(
    "--proof",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="With --public: OWNER's proof of having the private key, from `coordpath key make --proof`.",
)
@key_option
@ledger_options
def new(
    owner: str,
    roles: tuple[str, ...],
    out: Path | None,
    no_passphrase: bool,
    public: str | None,
    proof: Path | None,
    key: Path | None,
    **where: str | None,
) -> int:
    """Make a key for OWNER and add it to the ledger; with --public and --proof, add the key that OWNER made.

    The first key must have the role policy-admin and signs for itself; for every later one a policy-admin signs (--key).
    The private key is encrypted with the passphrase in COORDPATH_NEW_KEY_PASSPHRASE, or one that is asked for at a
    terminal; the passphrase of the key that signs is in COORDPATH_KEY_PASSPHRASE. Where a policy asks for two
    policy-admins, the key is only proposed: exit code 3, until another one seconds it (`coordpath second`).
    """
    if public is not None:
        return _add_public(open_ledger(**where, create=False), PublicKey.from_text(public), owner, roles, proof, key)
    if proof is not None:
        raise UsageError("--proof goes with --public TEXT: a key that is made here needs no proof")
    if not ledger_exists(**where) and ADMIN not in {role.strip() for role in roles}:
        raise UsageError(
            f"the first key of a ledger is a {ADMIN}'s, who signs for itself: `coordpath key new OWNER --role {ADMIN}`"
        )
    ledger = open_ledger(**where, create=True)
    new_private = new_key()
    body = KeyAdded(key=_facts(new_private.public, owner, roles))
    signer = load_key(key) if ledger.keyring().has_admin else new_private
    path, secret = _save(new_private, out, _slug(owner) or new_private.public.id[:_SHORT], no_passphrase=no_passphrase)
    try:
        code = _add(ledger, body, signer)
    except BaseException:
        path.unlink()
        raise
    _tell_where(path, secret)
    if ADMIN in body.key.roles:
        for line in few_admins(ledger.keyring()):
            say(visible(f"Note: {line}"))
    return code


def _add_public(
    ledger: Ledger, public: PublicKey, owner: str, roles: tuple[str, ...], proof: Path | None, key: Path | None
) -> int:
    facts = _facts(public, owner, roles)
    shown = read_proof_file(proof, public, facts.owner, ledger.id)
    return _add(ledger, KeyAdded(key=facts, proof=shown), load_key(key))


@command.command("make")
@click.argument("owner", required=False)
@click.option(
    "--out", type=click.Path(path_type=Path, dir_okay=False), metavar="FILE", required=True, help="The private key."
)
@click.option(
    "--proof",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="Also write a proof that you have the key; a policy-admin needs it to add the key.",
)
@click.option(
    "--ledger-id", metavar="ID", help="The proof counts only for the ledger of this id (`coordpath audit verify`)."
)
@click.option("--no-passphrase", is_flag=True, help="Leave the private key unencrypted.")
def make(owner: str | None, out: Path, proof: Path | None, ledger_id: str | None, no_passphrase: bool) -> None:
    """Make a key of your own, without any ledger, and print its public half for a policy-admin to add.

    So that nobody but you ever has the private key: `coordpath key new YOU --public TEXT --proof FILE --role ROLE --key
    ADMIN`. OWNER is your name as it will stand in the ledger: the proof counts for no other then.
    """
    if proof is None and (owner or ledger_id):
        raise UsageError("OWNER and --ledger-id stand in the proof: give --proof FILE, too")
    private = new_key()
    content = None if proof is None else _proof(private, owner, ledger_id)
    path, secret = _save(private, out, "", no_passphrase=no_passphrase)
    if proof is not None and content is not None:
        try:
            write_proof_file(proof, content)
        except BaseException:
            path.unlink()
            raise
    _tell_where(path, secret)
    if proof is not None:
        say(f"The proof that you have it is in {visible(str(proof))}; give it to a policy-admin with the public key.")
    say(f"Public key: {private.public.text}")


def _proof(private: PrivateKey, owner: str | None, ledger_id: str | None) -> bytes:
    check_text(owner)
    if owner is not None and not 0 < len(owner.strip()) <= _LONGEST_NAME:
        raise UsageError(f"OWNER has to be a name of 1 to {_LONGEST_NAME} characters")
    if ledger_id is not None and not _LEDGER_ID.fullmatch(ledger_id):
        raise UsageError(f"--ledger-id {ledger_id}: a ledger's id is 32 hexadecimal digits; see `coordpath audit verify`")
    return make_proof(private, owner=owner and owner.strip(), ledger=ledger_id, now=utc_moment())


def _save(private: PrivateKey, out: Path | None, name: str, *, no_passphrase: bool) -> tuple[Path, str | None]:
    path = out or Path.home() / ".config" / "coordpath" / "keys" / f"{name}.pem"
    secret = None if no_passphrase else os.environ.get(NEW_PASSPHRASE_VARIABLE) or _asked_passphrase()
    private.save(path, secret)
    return path, secret


def _tell_where(path: Path, secret: str | None) -> None:
    state = " and its passphrase can sign" if secret else " can sign: it is not encrypted"
    say(f"The private key is in {path}; whoever has this file{state}.")


def _add(ledger: Ledger, body: KeyAdded, signer: PrivateKey) -> int:
    """Add a key or propose it; the exit code."""
    entry = record_or_propose(ledger, "key added", body, signer)
    who = visible(f"{body.key.owner} ({', '.join(body.key.roles)})")
    if entry.event == "proposal":
        say(f"Key {body.key.id[:_SHORT]} of {who} is proposed in {ledger.url}")
        return say_proposed(entry)
    say(f"Key {body.key.id[:_SHORT]} of {who} is entry {entry.seq} of {ledger.url}")
    return 0


@command.command("list")
@click.option("--public", is_flag=True, help="Also the public keys, as text and as PEM.")
@ledger_options
def list_(public: bool, **where: str | None) -> None:
    """All keys that the ledger knows or knew."""
    ledger = open_ledger(**where, create=False)
    for known_key in ledger.keyring().keys.values():
        facts, revoked = known_key.facts, known_key.revoked
        state = f"revoked by entry {revoked}" if revoked is not None else f"since entry {known_key.added}"
        say(visible(f"{facts.id[:_SHORT]}  {', '.join(facts.roles):<24}  {state:<22}  {facts.owner}"))
        if public:
            say(f"{known_key.public.text}\n{known_key.public.pem}")
    for line in few_admins(ledger.keyring()):
        click.echo(f"Note: {visible(line)}", err=True)


@command.command("revoke")
@click.argument("key_id", metavar="KEYID")
@click.option("--reason", required=True, help="Why: lost, left, stolen …")
@key_option
@ledger_options
def revoke(key_id: str, reason: str, key: Path | None, **where: str | None) -> None:
    """Take a key out: from now on it signs nothing. KEYID is its id or the beginning of it; --key is a policy-admin's."""
    ledger = open_ledger(**where, create=False)
    revoked = _key_by_prefix(ledger, key_id)
    try:
        body = KeyRevoked(key=revoked.facts.id, reason=reason)
    except ValidationError as error:
        raise UsageError(f"--reason: {error.errors()[0]['msg']}") from error
    ring = ledger.keyring()
    if _is_last_admin(ring, revoked):
        raise UsageError(
            f"{revoked.facts.id[:_SHORT]} is the only {ADMIN} left, and without one nobody can add a key ever again: "
            f"add another {ADMIN} first"
        )
    entry = ledger.append("key revoked", body, load_key(key))
    say(f"Key {revoked.facts.id[:_SHORT]} of {visible(revoked.facts.owner)} is revoked by entry {entry.seq} of {ledger.url}")
    if SERVICE in revoked.facts.roles and not ledger.keyring().services:
        say("No service key is left: the registry records nothing until `coordpath key rotate-service` adds one.")


command.add_command(rotate_service)


def _facts(public: PublicKey, owner: str, roles: tuple[str, ...]) -> KeyFacts:
    distinct = tuple(dict.fromkeys(role.strip() for role in roles))
    if not owner.strip() or not all(distinct):
        raise UsageError("a key needs an OWNER and roles that are not empty")
    try:
        return KeyFacts(id=public.id, public=public.text, owner=owner.strip(), roles=distinct)
    except ValidationError as error:
        first = error.errors()[0]
        raise UsageError(f"{' '.join(map(str, first['loc']))}: {first['msg']}") from error


def _slug(owner: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", owner.casefold()).strip("-")[:80]


def _asked_passphrase() -> str | None:
    """The passphrase that a person types. None without a terminal, and for an empty one."""
    if not sys.stdin.isatty():
        return None
    passphrase: str = click.prompt(
        "Passphrase for the new key (empty: none)", hide_input=True, confirmation_prompt=True, default="", show_default=False
    )
    return passphrase or None


def _key_by_prefix(ledger: Ledger, prefix: str) -> KnownKey:
    """The one key whose id begins with ``prefix``. Raises `UsageError` or `NotFoundError` if it is not exactly one."""
    keys = ledger.keyring().keys
    matching = [known_key for key_id, known_key in keys.items() if key_id.startswith(prefix.lower())]
    if len(prefix) < _SHORTEST_PREFIX:
        raise UsageError(f"'{prefix}' is too short to name a key: give at least {_SHORTEST_PREFIX} digits of its id")
    if not matching:
        raise NotFoundError(f"no key of this ledger begins with '{prefix}'; see `coordpath key list`")
    if len(matching) > 1:
        raise UsageError(f"{len(matching)} keys begin with '{prefix}'; give more digits")
    return matching[0]


def _is_last_admin(ring: KeyRing, candidate: KnownKey) -> bool:
    admins = [each for each in ring.keys.values() if ADMIN in each.facts.roles and each.revoked is None]
    return admins == [candidate]


def write_proof_file(path: Path, content: bytes) -> None:
    """Write a new file; `UsageError` if it is there already or cannot be written."""
    try:
        with path.open("xb") as file:
            file.write(content)
    except FileExistsError:
        raise UsageError(f"'{path}' is there already; name another file for the proof") from None
    except OSError as error:
        raise UsageError(f"cannot write the proof to '{path}': {error.strerror}") from error


def read_proof_file(path: Path | None, public: PublicKey, owner: str, ledger: str) -> KeyProof:
    """The proof in a file, checked: `UsageError` without one, `SignatureError` if it does not prove what it should."""
    from coordpath_governance.ledger.keyring import read_proof

    if path is None:
        raise UsageError(
            "a public key is added with proof that its owner has the private one: give --proof FILE. The owner makes key "
            "and proof with `coordpath key make OWNER --out KEY.pem --proof FILE`"
        )
    try:
        with path.open("rb") as file:
            content = file.read(_LONGEST)
    except FileNotFoundError:
        raise NotFoundError(f"there is no file '{path}'") from None
    except OSError as error:
        raise UsageError(f"cannot read the proof '{path}': {error.strerror}") from error
    return read_proof(content, f"'{path}'", public, owner=owner, ledger=ledger)
