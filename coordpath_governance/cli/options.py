"""Options that several commands share: which ledger, and whose key signs; and texts that nothing can hold, as wrong use."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from coordpath_governance.errors import UsageError
from coordpath_governance.ledger.events import LONGEST_WORDS
from coordpath_governance.ledger.location import LEDGER_VARIABLE, ledger_url
from coordpath_governance.signing import KEY_VARIABLE, PASSPHRASE_VARIABLE

if TYPE_CHECKING:
    from coordpath_governance.ledger.store import Ledger
    from coordpath_governance.signing.keys import PrivateKey

__all__ = [
    "Command",
    "check_text",
    "check_words",
    "find_ledger",
    "key_option",
    "ledger_exists",
    "ledger_options",
    "load_key",
    "open_ledger",
    "passphrase",
    "read_ledger",
    "registry_options",
]

Command = TypeVar("Command", bound=Callable[..., Any])
"""What an option is put on: the function of a command."""


def ledger_options(function: Command) -> Command:
    """--ledger, --tracking-uri and --registry-uri, as ``ledger``, ``tracking_uri`` and ``registry_uri``."""
    option = click.option(
        "--ledger",
        envvar=LEDGER_VARIABLE,
        metavar="URL",
        help="The ledger: sqlite:////folder/file.db or postgresql://…; default: beside the registry's database.",
    )
    return option(registry_options(function))


def registry_options(function: Command) -> Command:
    """--tracking-uri and --registry-uri, as ``tracking_uri`` and ``registry_uri``."""
    for option in (
        click.option("--registry-uri", envvar="MLFLOW_REGISTRY_URI", help="MLflow registry, if it is another."),
        click.option("--tracking-uri", envvar="MLFLOW_TRACKING_URI", help="MLflow tracking store."),
    ):
        function = option(function)
    return function


def key_option(function: Command) -> Command:
    """--key, as ``key``: the path of a private key, or None."""
    option = click.option(
        "--key",
        envvar=KEY_VARIABLE,
        type=click.Path(path_type=Path),
        metavar="FILE",
        help=f"Your private key; its passphrase, if it has one, in {PASSPHRASE_VARIABLE}.",
    )
    return option(function)


def open_ledger(ledger: str | None, *, tracking_uri: str | None, registry_uri: str | None, create: bool = True) -> Ledger:
    """The ledger that the options of `ledger_options` name; MLflow is asked only if none of them does."""
    from coordpath_governance.ledger.store import Ledger

    return Ledger.open(_url(ledger, tracking_uri, registry_uri), create=create)


def ledger_exists(ledger: str | None, tracking_uri: str | None, registry_uri: str | None) -> bool:
    """Whether the ledger that the options name has been begun."""
    from coordpath_governance.ledger.store import Ledger

    return Ledger.exists(_url(ledger, tracking_uri, registry_uri))


def read_ledger(ledger: str | None, tracking_uri: str | None, registry_uri: str | None) -> Ledger:
    """The same ledger for commands that only read it: no service key is looked for."""
    from coordpath_governance.ledger.store import Ledger

    return Ledger.open(_url(ledger, tracking_uri, registry_uri), create=False, with_service_key=False)


def find_ledger(ledger: str | None, tracking_uri: str | None, registry_uri: str | None) -> Ledger | None:
    """The ledger if there is one; one that was named must be there."""
    from coordpath_governance.ledger.store import find_ledger as find

    return find(_registry(tracking_uri, registry_uri), ledger)


def _url(ledger: str | None, tracking_uri: str | None, registry_uri: str | None) -> str:
    return ledger_url(None if ledger else _registry(tracking_uri, registry_uri), ledger)


def _registry(tracking_uri: str | None, registry_uri: str | None) -> str:
    """The registry's URI, as given or as MLflow is set."""
    if registry_uri or tracking_uri:
        return str(registry_uri or tracking_uri)
    from coordpath_governance.registry.connection import registry_uri_in_use

    return registry_uri_in_use()


def load_key(path: Path | None) -> PrivateKey:
    """The private key of `key_option`."""
    from coordpath_governance.signing.keys import PrivateKey

    if path is None:
        raise UsageError(f"say who signs: --key FILE, or {KEY_VARIABLE}; `coordpath key new` makes a key")
    return PrivateKey.load(path, passphrase())


def passphrase() -> str | None:
    """The passphrase of the person's key, if there is one."""
    return os.environ.get(PASSPHRASE_VARIABLE) or None


def check_text(*values: object) -> None:
    """Raise `UsageError` for text that is not valid UTF-8; such bytes reach Python as lone surrogates."""
    for value in values:
        for text in value if isinstance(value, tuple) else (value,):
            if isinstance(text, str | Path) and any("\ud800" <= char <= "\udfff" for char in str(text)):
                raise UsageError(f"'{text}' is not valid UTF-8; write it in UTF-8")


def check_words(option: str, words: str) -> None:
    """Raise `UsageError` for text that is longer than the ledger can hold."""
    check_text(words)
    if len(words) > LONGEST_WORDS:
        raise UsageError(f"{option} has {len(words)} characters; the ledger holds up to {LONGEST_WORDS}")
