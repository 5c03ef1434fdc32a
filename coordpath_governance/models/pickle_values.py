"""The part of the pickle interpreter that builds plain values: bytes, stack, memo, numbers, text and containers.

There is one method per opcode; `pickle_objects` adds those for names and objects.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, NoReturn

import numpy as np

from coordpath_governance.errors import ModelReadError, UnsupportedModelError
from coordpath_governance.models.pickle_arrays import ArrayShell, MalformedError, TypeShell
from coordpath_governance.models.tree import ITEMS, ArchivedObject, Named, Opaque, StoredTree

__all__ = ["ARROW_ARRAY", "VALUES", "PickleLimits", "PickleMachine"]

ARROW_ARRAY = "pyarrow.lib._restore_array"
"""The function that makes an array of pyarrow; it trusts the bytes that it is given."""

_NEWEST_PROTOCOL = 5
_DOUBLE = struct.Struct(">d")
_STOP = 0x2E
_KEYS = (str, int, float, bool, type(None), bytes, np.generic)
_MOST_DIGITS = 4000
_WHOLE = re.compile(r"0|-?[1-9][0-9]*")
_FLOAT = re.compile(r"-?(?:[0-9]+(?:\.[0-9]*)?(?:e[+-]?[0-9]+)?|inf|nan)")
_REFUSED = {
    0x50: ("PERSID", "an object that is stored somewhere else"),
    0x51: ("BINPERSID", "an object that is stored somewhere else"),
    0x82: ("EXT1", "an object of a registry of extensions"),
    0x83: ("EXT2", "an object of a registry of extensions"),
    0x84: ("EXT4", "an object of a registry of extensions"),
    0x97: ("NEXT_BUFFER", "bytes that are not in the file"),
    0x98: ("READONLY_BUFFER", "bytes that are not in the file"),
    0x53: ("STRING", "text as Python 2 wrote it"),
    0x54: ("BINSTRING", "text as Python 2 wrote it"),
    0x55: ("SHORT_BINSTRING", "text as Python 2 wrote it"),
}


@dataclass(frozen=True)
class PickleLimits:
    """How much we build from a pickle; real linear models stay far below these limits.

    ``text``: bytes of text, which take up to four times as much memory when built. Less text is read from a large file, so
    that the file and its text together stay within ``memory``.
    """

    size: int = 256 << 20
    text: int = 32 << 20
    memory: int = 288 << 20
    operations: int = 2_000_000
    objects: int = 600_000


class _OddKey:
    """Replaces a key that is neither text nor a number, because hashing such a key could take for ever."""


class PickleMachine:
    """A stack, a memo, and one method for each opcode."""

    operations: ClassVar[Mapping[int, Callable[..., None]]] = {}

    def __init__(self, data: bytes, where: str, limits: PickleLimits) -> None:
        self._data, self._view, self._where, self._limits = data, memoryview(data), where, limits
        self._at = 0
        self._protocol = 0
        self._stack: list[Any] = []
        self._below: list[list[Any]] = []
        self._memo: dict[int, Any] = {}
        self._names: dict[str, Named] = {}
        self._calls: set[str] = set()
        self._stated: dict[int, ArchivedObject] = {}
        self._objects = 0
        self._text_left = min(limits.text, max(0, limits.memory - len(data)) // 4)
        self._used: dict[int, object] = {}
        self._arrow_arrays: list[ArchivedObject] = []

    def run(self) -> StoredTree:
        """Interpret the whole file. Raises `ModelReadError` if it is damaged or forged."""
        try:
            self._follow()
            return self._finish()
        except MalformedError as error:
            self._damaged(str(error))
        except IndexError:
            self._damaged("it ends too early, or takes from an empty stack")
        except (struct.error, UnicodeDecodeError, ValueError, OverflowError) as error:
            if isinstance(error, ModelReadError):
                raise
            self._damaged(f"a value in it cannot be read ({str(error)[:80]})")

    def _follow(self) -> None:
        """Run every operation up to the one that stops."""
        handlers = [self.operations.get(code) for code in range(256)]
        data = self._data
        for _ in range(self._limits.operations):
            code = data[self._at]
            self._at += 1
            if code == _STOP:
                return
            handler = handlers[code]
            if handler is None:
                self._unknown(code)
            handler(self)
        self._damaged(f"it has more than the {self._limits.operations} operations we follow")

    def _finish(self) -> StoredTree:
        if self._at != len(self._data):
            self._damaged(f"{len(self._data) - self._at} bytes follow its end")
        if len(self._stack) != 1 or self._below:
            self._damaged("it leaves more than one object")
        stated = tuple(self._stated.values())
        calls, arrow = frozenset(self._calls), tuple(self._arrow_arrays)
        return StoredTree(self._stack[0], frozenset(self._names), "pickle", calls, stated, arrow)

    def _damaged(self, reason: str) -> NoReturn:
        raise ModelReadError(f"{self._where}: the pickle is damaged or forged: {reason}. Fit and log the model again.")

    def _unknown(self, code: int) -> NoReturn:
        if code in _REFUSED:
            name, referent = _REFUSED[code]
            raise UnsupportedModelError(
                f"{self._where}: the pickle refers to {referent} ({name}), which is not read; log the model again."
            )
        if self._at == 1:
            self._damaged("it does not begin like one (compressed by joblib, or another format?)")
        self._damaged(f"there is no operation {code:#04x}")

    def _made(self) -> None:
        self._objects += 1
        if self._objects > self._limits.objects:
            self._damaged(f"it has more than the {self._limits.objects} objects we build")

    def _spend_text(self, width: int) -> None:
        self._text_left -= width
        if self._text_left < 0:
            raise UnsupportedModelError(
                f"{self._where}: the pickle holds more text than we read, such as training data with columns of text; log "
                "the model without them, or make categories of them."
            )

    def _take(self, count: int) -> memoryview:
        begin, end = self._at, self._at + count
        if count < 0 or end > len(self._data):
            self._damaged("it ends too early")
        self._at = end
        return self._view[begin:end]

    def _line(self) -> str:
        end = self._data.index(b"\n", self._at, self._at + 10_000)
        line = self._data[self._at : end]
        self._at = end + 1
        return line.decode("ascii")

    def _byte(self) -> int:
        value = self._data[self._at]
        self._at += 1
        return value

    def _number(self, width: int) -> int:
        return int.from_bytes(self._take(width), "little")

    def _above_mark(self) -> list[Any]:
        items = self._stack
        self._stack = self._below.pop()
        return items

    # Framing, the stack and the memo

    def proto(self) -> None:
        """PROTO."""
        self._protocol = self._number(1)
        if self._protocol > _NEWEST_PROTOCOL or self._at != 2:
            self._damaged(f"its protocol {self._protocol} is not known, or said twice")

    def frame(self) -> None:
        """FRAME."""
        if self._number(8) > len(self._data) - self._at:
            self._damaged("a frame of it is longer than the file")

    def mark(self) -> None:
        """MARK."""
        self._made()
        self._below.append(self._stack)
        self._stack = []

    def pop(self) -> None:
        """POP."""
        if self._stack:
            self._stack.pop()
        else:
            self._above_mark()

    def pop_mark(self) -> None:
        """POP_MARK."""
        self._above_mark()

    def dup(self) -> None:
        """DUP."""
        self._stack.append(self._stack[-1])

    def _put(self, slot: int) -> None:
        if slot in self._memo:
            self._damaged("a slot of its memo is written twice")
        if len(self._memo) >= self._limits.objects:
            self._damaged(f"its memo has more than the {self._limits.objects} slots we keep")
        value = self._stack[-1]
        self._memo[slot] = value
        if type(value) is ArrayShell or type(value) is TypeShell:
            value.slots.append(slot)

    def memoize(self) -> None:
        """MEMOIZE."""
        self._put(len(self._memo))

    def put(self) -> None:
        """PUT."""
        self._put(_decimal(self._line()))

    def binput(self) -> None:
        """BINPUT."""
        self._put(self._byte())

    def long_binput(self) -> None:
        """LONG_BINPUT."""
        self._put(self._number(4))

    def _get(self, slot: int) -> None:
        try:
            self._stack.append(self._memo[slot])
        except KeyError:
            self._damaged("it refers to a slot of its memo that is empty")

    def get(self) -> None:
        """GET."""
        self._get(_decimal(self._line()))

    def binget(self) -> None:
        """BINGET."""
        self._get(self._byte())

    def long_binget(self) -> None:
        """LONG_BINGET."""
        self._get(self._number(4))

    # Numbers, text and bytes

    def none(self) -> None:
        """NONE."""
        self._stack.append(None)

    def true(self) -> None:
        """NEWTRUE."""
        self._stack.append(True)

    def false(self) -> None:
        """NEWFALSE."""
        self._stack.append(False)

    def int_line(self) -> None:
        """INT."""
        text = self._line()
        self._stack.append({"00": False, "01": True}[text] if text in ("00", "01") else _decimal(text))

    def long_line(self) -> None:
        """LONG."""
        self._stack.append(_decimal(self._line().removesuffix("L")))

    def binint(self) -> None:
        """BININT."""
        self._stack.append(int.from_bytes(self._take(4), "little", signed=True))

    def binint1(self) -> None:
        """BININT1."""
        self._stack.append(self._byte())

    def binint2(self) -> None:
        """BININT2."""
        self._stack.append(self._number(2))

    def _long(self, width: int) -> None:
        if width > _MOST_DIGITS:
            self._damaged("a whole number in it is too long")
        self._stack.append(int.from_bytes(self._take(width), "little", signed=True))

    def long1(self) -> None:
        """LONG1."""
        self._long(self._number(1))

    def long4(self) -> None:
        """LONG4."""
        self._long(self._number(4))

    def float_line(self) -> None:
        """FLOAT."""
        text = self._line()
        if not _FLOAT.fullmatch(text):
            raise MalformedError("a number in it is not written as pickles write it")
        self._stack.append(float(text))

    def binfloat(self) -> None:
        """BINFLOAT."""
        self._stack.append(_DOUBLE.unpack_from(self._data, self._at)[0])
        self._at += 8

    def unicode_line(self) -> None:
        """UNICODE."""
        end = self._data.index(b"\n", self._at)
        self._spend_text(end - self._at)
        self._stack.append(self._data[self._at : end].decode("raw-unicode-escape"))
        self._at = end + 1

    def _text(self, width: int) -> None:
        self._spend_text(width)
        self._stack.append(str(self._take(width), "utf-8", "surrogatepass"))

    def short_text(self) -> None:
        """SHORT_BINUNICODE."""
        begin = self._at + 1
        end = begin + self._data[self._at]
        self._spend_text(end - begin)
        if end > len(self._data):
            self._damaged("it ends too early")
        self._at = end
        self._stack.append(str(self._data[begin:end], "utf-8", "surrogatepass"))

    def text(self) -> None:
        """BINUNICODE."""
        self._text(self._number(4))

    def long_text(self) -> None:
        """BINUNICODE8."""
        self._text(self._number(8))

    def short_bytes(self) -> None:
        """SHORT_BINBYTES."""
        width = self._byte()
        self._spend_text(width)
        self._stack.append(bytes(self._take(width)))

    def bytes4(self) -> None:
        """BINBYTES."""
        self._stack.append(self._take(self._number(4)))

    def bytes8(self) -> None:
        """BINBYTES8 and BYTEARRAY8."""
        self._stack.append(self._take(self._number(8)))

    # Containers

    def empty_list(self) -> None:
        """EMPTY_LIST."""
        self._made()
        self._stack.append([])

    def list_above_mark(self) -> None:
        """LIST."""
        self._made()
        items = self._above_mark()
        self._stack.append(list(items))

    def append(self) -> None:
        """APPEND."""
        item = self._stack.pop()
        self._extend([item])

    def appends(self) -> None:
        """APPENDS."""
        self._extend(self._above_mark())

    def _use(self, value: object, *, is_argument: bool) -> None:
        """Record a value that a call or a state has used: pickle uses it at this point, we use it at the end.

        So lists and dictionaries within it may no longer change, and objects that are arguments may not get a state.
        """
        pending: list[Any] = [value]
        while pending:
            part = pending.pop()
            kind = type(part)
            if kind is ArchivedObject:
                if is_argument:
                    self._used[id(part)] = part
            elif (kind is list or kind is dict or kind is tuple) and id(part) not in self._used:
                self._used[id(part)] = part
                pending.extend(part.values() if kind is dict else part)

    def _refuse_late_change(self, target: object) -> None:
        if id(target) in self._used:
            self._damaged("it changes something after it was used, which others who read it have not seen then")

    def _extend(self, items: list[Any]) -> None:
        target = self._stack[-1]
        self._refuse_late_change(target)
        if type(target) is list:
            target.extend(items)
        elif type(target) is ArchivedObject:
            self._grow(target, items)
        else:
            self._damaged("it appends to something that is not a list")

    def _grow(self, target: ArchivedObject, items: list[Any]) -> None:
        """Keep items that are appended to an object, or set on it, apart from its attributes."""
        attributes: Any = target.attributes
        attributes.setdefault(ITEMS, []).extend(items)

    def empty_tuple(self) -> None:
        """EMPTY_TUPLE."""
        self._stack.append(())

    def _tuple(self, count: int) -> None:
        self._made()
        if len(self._stack) < count:
            raise IndexError
        items = tuple(self._stack[-count:])
        self._stack[-count:] = [items]

    def tuple1(self) -> None:
        """TUPLE1."""
        self._tuple(1)

    def tuple2(self) -> None:
        """TUPLE2."""
        self._tuple(2)

    def tuple3(self) -> None:
        """TUPLE3."""
        self._tuple(3)

    def tuple_above_mark(self) -> None:
        """TUPLE."""
        self._made()
        items = tuple(self._above_mark())
        self._stack.append(items)

    def empty_dict(self) -> None:
        """EMPTY_DICT."""
        self._made()
        self._stack.append({})

    def dict_above_mark(self) -> None:
        """DICT."""
        self._made()
        items = self._above_mark()
        self._stack.append({})
        self._set(items)

    def setitem(self) -> None:
        """SETITEM."""
        value = self._stack.pop()
        key = self._stack.pop()
        self._set([key, value])

    def setitems(self) -> None:
        """SETITEMS."""
        self._set(self._above_mark())

    def _set(self, items: list[Any]) -> None:
        target = self._stack[-1]
        self._refuse_late_change(target)
        if len(items) % 2:
            self._damaged("a dictionary in it has a key without a value")
        if type(target) is dict:
            for key, value in zip(items[::2], items[1::2], strict=True):
                target[key if isinstance(key, _KEYS) else _OddKey()] = value
        elif type(target) is ArchivedObject:
            self._grow(target, items)
        else:
            self._damaged("it sets items of something that is not a dictionary")

    def empty_set(self) -> None:
        """EMPTY_SET."""
        self._stack.append(Opaque("a set"))

    def additems(self) -> None:
        """ADDITEMS."""
        self._above_mark()
        if type(self._stack[-1]) is not Opaque:
            self._damaged("it adds to something that is not a set")

    def frozenset_above_mark(self) -> None:
        """FROZENSET."""
        self._above_mark()
        self._stack.append(Opaque("a set"))


def _decimal(text: str) -> int:
    """A whole number in the form that pickles write. Other readers take 010 as eight, and +1 as true."""
    if len(text) > _MOST_DIGITS:
        raise MalformedError("a whole number in it is too long")
    if not _WHOLE.fullmatch(text):
        raise MalformedError("a whole number in it is not written as pickles write it")
    return int(text)


VALUES: Mapping[int, Callable[[PickleMachine], None]] = {
    0x80: PickleMachine.proto,
    0x95: PickleMachine.frame,
    0x28: PickleMachine.mark,
    0x30: PickleMachine.pop,
    0x31: PickleMachine.pop_mark,
    0x32: PickleMachine.dup,
    0x4E: PickleMachine.none,
    0x88: PickleMachine.true,
    0x89: PickleMachine.false,
    0x49: PickleMachine.int_line,
    0x4A: PickleMachine.binint,
    0x4B: PickleMachine.binint1,
    0x4D: PickleMachine.binint2,
    0x4C: PickleMachine.long_line,
    0x8A: PickleMachine.long1,
    0x8B: PickleMachine.long4,
    0x46: PickleMachine.float_line,
    0x47: PickleMachine.binfloat,
    0x56: PickleMachine.unicode_line,
    0x8C: PickleMachine.short_text,
    0x58: PickleMachine.text,
    0x8D: PickleMachine.long_text,
    0x43: PickleMachine.short_bytes,
    0x42: PickleMachine.bytes4,
    0x8E: PickleMachine.bytes8,
    0x96: PickleMachine.bytes8,
    0x5D: PickleMachine.empty_list,
    0x6C: PickleMachine.list_above_mark,
    0x61: PickleMachine.append,
    0x65: PickleMachine.appends,
    0x29: PickleMachine.empty_tuple,
    0x85: PickleMachine.tuple1,
    0x86: PickleMachine.tuple2,
    0x87: PickleMachine.tuple3,
    0x74: PickleMachine.tuple_above_mark,
    0x7D: PickleMachine.empty_dict,
    0x64: PickleMachine.dict_above_mark,
    0x73: PickleMachine.setitem,
    0x75: PickleMachine.setitems,
    0x8F: PickleMachine.empty_set,
    0x90: PickleMachine.additems,
    0x91: PickleMachine.frozenset_above_mark,
    0x67: PickleMachine.get,
    0x68: PickleMachine.binget,
    0x6A: PickleMachine.long_binget,
    0x70: PickleMachine.put,
    0x71: PickleMachine.binput,
    0x72: PickleMachine.long_binput,
    0x94: PickleMachine.memoize,
}
"""Every operation that does not use a name."""
