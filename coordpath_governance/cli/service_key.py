"""`coordpath key rotate-service`: a new key for what machines record, in place of the old one."""

from __future__ import annotations

from pathlib import Path
from shlex import quote

import click

from coordpath_governance.cli.options import check_text, check_words, key_option, ledger_options, load_key, read_ledger
from coordpath_governance.cli.screen import say
from coordpath_governance.cli.second_command import say_proposed
from coordpath_governance.errors import UsageError
from coordpath_governance.ledger.events import KeyAdded, KeyFacts, KeyRevoked
from coordpath_governance.ledger.location import SERVICE_KEY_VARIABLE
from coordpath_governance.ledger.seconding import record_or_propose
from coordpath_governance.policy.terms import SERVICE
from coordpath_governance.signing.keys import new_key

__all__ = ["rotate_service"]

_SHORT = 12
_OWNER = "coordpath service"


@click.command("rotate-service")
@click.option(
    "--out",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    required=True,
    help="Where the new service key goes, unencrypted: the registry's server reads it.",
)
@click.option("--old", metavar="KEYID", help="The service key to revoke, or the beginning of its id, if there are several.")
@click.option("--reason", default="rotated", show_default=True, help="Why the old key is revoked.")
@key_option
@ledger_options
def rotate_service(out: Path, old: str | None, reason: str, key: Path | None, **where: str | None) -> int:
    """Add a new service key and revoke the old one. --key is a policy-admin's.

    What the old key signed counts as before; what it signs from now on is refused. Start the registry again with the new
    one.
    Where a policy asks for two policy-admins, the new key is only proposed and the old one stays: exit code 3.
    """
    check_text(out)
    check_words("--reason", reason)
    ledger, signer = read_ledger(**where), load_key(key)
    services = ledger.keyring().services
    chosen = [each for each in services if each.facts.id.startswith((old or "").lower())]
    if old is not None and len(chosen) != 1:
        raise UsageError(f"--old {old}: {len(chosen)} service keys in use begin so; see `coordpath key list`")
    if len(chosen) > 1:
        ids = ", ".join(each.facts.id[:_SHORT] for each in chosen)
        raise UsageError(f"there are {len(chosen)} service keys in use, {ids}: say with --old KEYID which to revoke")
    revocations = [KeyRevoked(key=each.facts.id, reason=reason) for each in chosen]
    new_private = new_key()
    facts = KeyFacts(id=new_private.public.id, public=new_private.public.text, owner=_OWNER, roles=(SERVICE,))
    new_private.save(out)
    try:
        entry = record_or_propose(ledger, "key added", KeyAdded(key=facts), signer)
    except BaseException:
        out.unlink()
        raise
    say(f"The new service key {facts.id[:_SHORT]} is in {out}; whoever has this file can sign what machines record.")
    if entry.event == "proposal":
        code = say_proposed(entry)
        for each in chosen:
            say(f"Then: coordpath key revoke {each.facts.id[:_SHORT]} --reason {quote(reason)} --key FILE")
        return code
    for revocation in revocations:
        revoked = ledger.append("key revoked", revocation, signer)
        say(f"The old one, {revocation.key[:_SHORT]}, is revoked by entry {revoked.seq} of {ledger.url}.")
    say(f"Start the registry again with {SERVICE_KEY_VARIABLE}={out}, or put this file in the place of the old one.")
    return 0
