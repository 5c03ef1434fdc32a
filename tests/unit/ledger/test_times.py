"""Times in the ledger are real ones."""

import pytest
from pydantic import TypeAdapter, ValidationError

from coordpath_governance.ledger.events import Approval
from coordpath_governance.ledger.times import LAST_MILLISECOND, Time, moment, shown_milliseconds

READ = TypeAdapter(Time).validate_python


@pytest.mark.parametrize(
    "text", ["2026-01-31T23:59:59.999999Z", "2028-02-29T00:00:00.000000Z", "0001-01-01T00:00:00.000000Z"]
)
def test_a_time(text):
    assert READ(text) == text
    assert moment(text).strftime("%m-%dT%H:%M:%S.%fZ") == text[5:]


@pytest.mark.parametrize(
    "text",
    [
        "2026-13-45T99:99:99.000000Z",
        "2026-02-29T00:00:00.000000Z",
        "2026-01-01T24:00:00.000000Z",
        "2026-01-01T00:00:60.000000Z",
        "0000-01-01T00:00:00.000000Z",
        "２０２６-01-01T00:00:00.000000Z",
        "2026-01-01T00:00:00.000000Z\n",
        "2026-01-01T00:00:00Z",
        "",
    ],
)
def test_what_is_no_time(text, book):
    with pytest.raises(ValidationError):
        READ(text)
    with pytest.raises(ValidationError, match="expires"):
        Approval(binding=book.binding(), comment="", nonce="0" * 32, expires=text)


def test_a_registrys_time_is_shown_to_the_millisecond():
    assert shown_milliseconds(1_700_000_000_007) == "2023-11-14 22:13:20.007 UTC"
    assert shown_milliseconds(0) == "1970-01-01 00:00:00.000 UTC"
    assert shown_milliseconds(LAST_MILLISECOND) == "9999-12-31 23:59:59.999 UTC"
