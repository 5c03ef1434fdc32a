"""A database's URL: malformed ones are the caller's mistake, and no password is ever repeated."""

import pytest

from coordpath_governance.errors import UsageError
from coordpath_governance.ledger.database import Address
from coordpath_governance.ledger.location import ledger_url

SECRET = "hunter2"


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("postgresql://u:hunter2@h:5432/db", "postgresql://u:***@h:5432/db"),
        ("postgresql://h/db?user=u&password=hunter2", "postgresql://h/db?password=***&user=u"),
        ("postgresql://h/db?PassWord=hunter2&sslpassword=hunter2", "postgresql://h/db?PassWord=***&sslpassword=***"),
        ("postgresql://h/db?password=a&password=hunter2", "postgresql://h/db?password=***"),
        ("postgresql://u:hun/hunter2@h/db", "postgresql://u:***@h/db"),
        ("postgresql://u:a%40hunter2@h/db?port=1,2", "postgresql://u:***@h/db?port=1%2C2"),
        ("postgresql:///db?host=/tmp/socket", "postgresql:///db?host=%2Ftmp%2Fsocket"),
        ("sqlite:////dir/l.db?mode=ro&uri=true", "sqlite:////dir/l.db?mode=ro&uri=true"),
    ],
)
def test_a_url_is_shown_without_its_passwords(url, shown):
    address = Address.of(url)
    assert address.shown == shown
    assert repr(address) == f"<Address {shown}>"


def test_passwords_are_hidden_in_every_spelling():
    address = Address.of("postgresql://me:p%40ss%20w@h/db?password=o%2Fther&sslpassword=")
    assert address.without_secrets("p@ss w, p%40ss%20w, p%40ss+w, o/ther, o%2Fther") == ", ".join(["***"] * 5)
    assert Address.of("sqlite:///x.db").without_secrets("as it is") == "as it is"


@pytest.mark.parametrize(
    ("url", "said"),
    [
        ("postgresql://u:p@ss:hunter2@h/db", "cannot be read"),
        ("postgresql://u:hunter2@h:abc/db", "cannot be read"),
        ("postgresql://u:hunter2@h:1:2/db", "cannot be read"),
        ("postgresql://u:x@[::1/db", "cannot be read"),
        ("coordpath:postgresql://u:hunter2@h/db", "cannot be read"),
        ("postgresql://u:p@hunter2@h/db", "more than one '@'"),
        ("postgresql://u:p@x/hunter2@h/db", "more than one '@'"),
        ("postgresql://u:hunter2@h:99999999/db", "not a port"),
        ("postgresql://u:hunter2@h:0/db", "not a port"),
        ("postgresql://u:hunter2@h:-5/db", "not a port"),
        ("postgresql://u:hunter2@/db?host=a&port=x", "not a port"),
        ("sqlite://u:hunter2@h/l.db", "SQLite is a file"),
        ("sqlite://", "in memory"),
        ("mysql://u:hunter2@h/db", "not in 'mysql'"),
    ],
)
def test_a_malformed_url_is_wrong_use_and_not_repeated(url, said):
    with pytest.raises(UsageError, match=said) as raised:
        Address.of(url)
    assert SECRET not in str(raised.value)
    assert raised.value.__cause__ is None


@pytest.mark.parametrize(
    ("registry", "ledger"),
    [
        (None, "u:hunter2@h/db"),
        (None, "postgresql:u:hunter2@h/db"),
        ("coordpath://u:hunter2@h/db", None),
        ("coordpath:coordpath:postgresql://u:hunter2@h/db", None),
        ("u:hunter2@h/db", None),
        ("https://u:hunter2@h", None),
        ("sqlite://u:hunter2@h/mlflow.db", None),
        ("file://[::1:hunter2", None),
    ],
)
def test_no_ledger_is_looked_for_where_a_password_would_be_its_name(registry, ledger):
    with pytest.raises(UsageError) as raised:
        ledger_url(registry, ledger)
    assert SECRET not in str(raised.value)
