"""One file with everything: the same bytes each time, read strictly, and every changed byte found."""

import base64
import json

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from coordpath_governance.canonical import canonical_bytes
from coordpath_governance.errors import CoordpathError, LedgerError, NotFoundError, UsageError
from coordpath_governance.ledger import export
from coordpath_governance.ledger.export import export_lines, read_export
from coordpath_governance.ledger.verify import audit


@pytest.fixture
def lines(story):
    return list(export_lines("ab" * 16, story.entries, story.blobs))


@pytest.fixture
def read(tmp_path):
    path = tmp_path / "ledger.jsonl"

    def read_lines(lines):
        path.write_bytes(b"".join(lines))
        return read_export(path)

    return read_lines


def conclusion(exported):
    return audit(exported.entries, exported.blobs, (), exported.damaged).conclusion


def test_what_was_written_reads_back_and_is_intact(story, lines, read):
    exported = read(lines)
    assert exported.ledger == "ab" * 16
    assert exported.entries == tuple(story.entries)
    assert exported.blobs == story.blobs
    assert conclusion(exported) == "intact, tail not anchored"


def test_the_same_ledger_gives_the_same_bytes(story, lines):
    backwards = dict(reversed(story.blobs.items()))
    assert list(export_lines("ab" * 16, story.entries, backwards)) == lines


def test_every_line_is_a_dsse_envelope_a_document_or_the_header(story, lines):
    assert json.loads(lines[0]) == {
        "schema": "coordpath.ledger_export/1",
        "ledger": "ab" * 16,
        "entries": len(story.entries),
        "blobs": len(story.blobs),
    }
    envelope = json.loads(lines[1])
    assert base64.b64decode(envelope["payload"]) == story.entries[0].payload
    assert envelope["payloadType"] == "application/vnd.coordpath.ledger-entry+json"
    assert envelope["signatures"] == [{"keyid": story.entries[0].key, "sig": story.entries[0].signature}]


def test_every_removed_line_is_found(lines, read):
    for at in range(len(lines)):
        with pytest.raises(LedgerError):
            read([*lines[:at], *lines[at + 1 :]])


def test_an_entry_removed_together_with_its_count_is_found(story, read):
    for at in range(len(story.entries) - 1):
        kept = [*story.entries[:at], *story.entries[at + 1 :]]
        assert conclusion(read(export_lines("ab" * 16, kept, story.blobs))).startswith("NOT intact")


def test_an_added_line_is_told(lines, read):
    with pytest.raises(LedgerError, match="other documents than its first line says"):
        read([*lines, b"{}\n"])


def test_a_document_given_twice_is_told(lines, read):
    with pytest.raises(LedgerError, match="other documents"):
        read([*lines[:-1], lines[-2]])


def test_another_name_in_the_header_is_found(lines, read):
    header = {**json.loads(lines[0]), "ledger": "0" * 32}
    assert "names another ledger" in conclusion(read([canonical_bytes(header), *lines[1:]]))


def test_another_key_on_the_envelope_is_found(lines, read):
    envelope = json.loads(lines[2])
    envelope["signatures"][0]["keyid"] = "0" * 64
    assert "names another key" in conclusion(read([*lines[:2], canonical_bytes(envelope), *lines[3:]]))


def content(line):
    return base64.b64decode(json.loads(line)["content"])


def test_payloads_and_documents_that_are_not_base64_are_found(lines, read):
    broken = canonical_bytes({**json.loads(lines[3]), "payload": "%"})
    assert conclusion(read([*lines[:3], broken, *lines[4:]])).startswith("NOT intact: entry 3")
    at = next(at for at, line in enumerate(lines) if "content" in json.loads(line) and b"coefficients" in content(line))
    lost = canonical_bytes({**json.loads(lines[at]), "content": "%"})
    assert "have another digest" in conclusion(read([*lines[:at], lost, *lines[at + 1 :]]))


@pytest.mark.parametrize("content", [b"", b"\n", b"{}\n", b"[]", b"\xff\n", b'{"schema":"coordpath.ledger_export/9"}\n'])
def test_another_file_is_told(read, content):
    with pytest.raises(LedgerError, match=r"ledger\.jsonl, line 1: "):
        read([content])


def test_a_file_that_is_not_there_a_folder_and_a_huge_one(tmp_path, lines, read, monkeypatch):
    with pytest.raises(NotFoundError, match="there is no file"):
        read_export(tmp_path / "none")
    with pytest.raises(UsageError, match="cannot read"):
        read_export(tmp_path)
    monkeypatch.setattr(export, "_MAX_BYTES", 10)
    with pytest.raises(LedgerError, match="more than 10 bytes"):
        read(lines)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=300)
@given(data=st.data())
def test_any_changed_byte_is_found_or_changes_nothing(data, story, lines, read):
    content = b"".join(lines)
    position = data.draw(st.integers(0, len(content) - 1))
    byte = data.draw(st.integers(0, 255).filter(lambda each: each != content[position]))
    try:
        exported = read([content[:position] + bytes([byte]) + content[position + 1 :]])
    except CoordpathError:
        return
    same = exported.entries == tuple(story.entries) and exported.blobs == story.blobs
    assert same or conclusion(exported).startswith("NOT intact")
