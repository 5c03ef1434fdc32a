"""Where a ledger's database is: a URL that is read once, and never shown with what is secret in it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from urllib.parse import quote, quote_plus

from sqlalchemy import make_url
from sqlalchemy.engine import URL
from sqlalchemy.exc import ArgumentError

from coordpath_governance.errors import UsageError

__all__ = ["Address"]

_HIDDEN = "***"
_SECRET = ("pass", "secret", "token")
"""Parts of the names of parameters whose values are nobody's business."""

_LARGEST_PORT = 65535
_FORMS = "use sqlite:////folder/file.db or postgresql://…"


@dataclass(frozen=True)
class Address:
    """A URL of a kind that we can write to. It has no representation of its own that could tell a password."""

    url: URL

    @classmethod
    def of(cls, text: str) -> Address:
        """`UsageError`, which repeats nothing of it, if the URL is malformed or of another kind."""
        try:
            url = make_url(text)
        except (ArgumentError, ValueError):
            raise UsageError(f"the ledger's URL cannot be read; {_FORMS}") from None
        if url.get_backend_name() == "sqlite":
            _check_sqlite(url)
        elif url.get_backend_name() == "postgresql":
            _check_postgresql(url)
        else:
            raise UsageError(f"a ledger is kept in SQLite or PostgreSQL, not in '{url.get_backend_name()}'")
        return cls(url)

    def __repr__(self) -> str:
        return f"<Address {self.shown}>"

    @property
    def shown(self) -> str:
        """The URL without what is secret."""
        hidden = {name: _HIDDEN for name in self.url.query if _is_secret(name)}
        return self.url.update_query_dict(hidden).render_as_string(hide_password=True).replace(quote_plus(_HIDDEN), _HIDDEN)

    def without_secrets(self, text: str) -> str:
        """Somebody's words about this database, with what is secret hidden in every spelling."""
        for secret in self._secrets():
            for form in {secret, quote(secret), quote_plus(secret)}:
                text = text.replace(form, _HIDDEN)
        return text

    def _secrets(self) -> Iterator[str]:
        if isinstance(self.url.password, str) and self.url.password:
            yield self.url.password
        for name, values in self.url.normalized_query.items():
            yield from (value for value in values if value and _is_secret(name))


def _is_secret(name: str) -> bool:
    return any(part in name.lower() for part in _SECRET)


def _check_sqlite(url: URL) -> None:
    if url.host or url.username or url.password:
        raise UsageError("the ledger's URL names a host, but SQLite is a file; use sqlite:////folder/file.db")
    if not url.database or ":memory:" in url.database:
        raise UsageError("a ledger in memory would be gone with the process; use sqlite:////folder/file.db")


def _check_postgresql(url: URL) -> None:
    """What a password with a bare '@' or '/' in it turns into must not be taken for a host or a database, and shown."""
    if "@" in (url.host or "") or "@" in (url.database or ""):
        raise UsageError("the ledger's URL has more than one '@': write one that belongs to a password as %40, a '/' as %2F")
    ports = [str(url.port)] if url.port is not None else []
    ports += [port for given in url.normalized_query.get("port", ()) for port in given.split(",") if port]
    if not all(port.isdecimal() and 1 <= int(port) <= _LARGEST_PORT for port in ports):
        raise UsageError(f"the ledger's URL has a port that is none: give a number from 1 to {_LARGEST_PORT}")
