"""Lines of a pip requirements file, as data: packages by name and version, and a remark on anything else.

pip accepts much more than names: addresses of indexes and of files, paths, other files, options, variables. Each of them
decides which code is installed, and we can judge none of them, so each becomes a remark that a person looks at.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from packaging.requirements import InvalidRequirement, Requirement
from packaging.utils import canonicalize_name

from coordpath_governance.errors import ModelReadError
from coordpath_governance.text import shorten, visible

__all__ = ["Pin", "Remark", "read_requirement", "read_requirements", "shown"]

_SHOWN = 120
_LONGEST = 1_000
_MOST_BRACKETS = 20
_MOST_LINES = 5_000
_CREDENTIALS = re.compile(r"(?<=://)[^/@\s]+@")
_ENCODING = re.compile(r"#.*coding[:=]\s*(?!utf-?8\b)[-\w.]", re.IGNORECASE)
_HASH = re.compile(r"\s--hash[= ]\s*sha(?:256|384|512):[0-9a-fA-F]+(?=\s|$)")
_VARIABLE = re.compile(r"\$\{[^}]*\}")
_ADDRESS = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:|.*://", re.DOTALL)
_PATH = re.compile(r"[./~\\]|.*[/\\]|[A-Za-z]:", re.DOTALL)
_ARCHIVE = re.compile(r"\.(?:whl|zip|egg|tgz|tbz|txz|tlz|tar(?:\.[a-z0-9]+)?)$", re.IGNORECASE)
_OPTIONS = {
    "-i": "another package index",
    "--index-url": "another package index",
    "--extra-index-url": "another package index",
    "--pypi-url": "another package index",
    "-f": "another place for packages",
    "--find-links": "another place for packages",
    "-e": "an editable install",
    "--editable": "an editable install",
    "-r": "another requirements file",
    "--requirement": "another requirements file",
    "-c": "a constraints file",
    "--constraint": "a constraints file",
    "--trusted-host": "a host that is trusted without a certificate",
}


@dataclass(frozen=True)
class Pin:
    """One package by its canonical name, and the condition on its version; "" if there is no condition."""

    package: str
    version: str


@dataclass(frozen=True)
class Remark:
    """Something that a person should look at, with its file and line; ``line`` is None for the whole file."""

    file: str
    line: int | None
    what: str


def shown(text: str) -> str:
    """A line of the author in the form in which people see it: visible characters only, short, without passwords."""
    return shorten(visible(_CREDENTIALS.sub("***@", shorten(text, _LONGEST))), _SHOWN)


def read_requirements(file: str, text: str) -> Iterator[Pin | Remark]:
    """Every package that ``text``, the content of ``file``, asks for, and a remark on every other line.

    Raises `ModelReadError` if there are too many lines.
    """
    numbered = list(enumerate(text.split("\n"), 1))
    for number, line in numbered[:2]:
        if _ENCODING.match(line):
            yield Remark(file, number, f"an encoding other than UTF-8: {shown(line)}")
    asked = 0
    for number, line in _joined((number, line.removesuffix("\r")) for number, line in numbered):
        for request in read_requirement(file, number, line):
            asked += 1
            if asked > _MOST_LINES:
                raise ModelReadError(f"{file}: it has more than {_MOST_LINES} lines that ask for something")
            yield request


def read_requirement(file: str, number: int | None, line: str) -> Iterator[Pin | Remark]:
    """The package that one line asks for, or a remark on it; nothing for a comment."""
    if any(not char.isprintable() and char != "\t" for char in line):
        yield Remark(file, number, f"characters that cannot be seen, or that end a line for some: {shown(line)}")
        return
    text = _HASH.sub("", _without_comment(line).strip()).strip()
    if not text:
        return
    fault = _fault(text)
    if fault is not None:
        yield Remark(file, number, f"{fault}: {shown(text)}")
        return
    try:
        requirement = Requirement(text)
    except (InvalidRequirement, ValueError, RecursionError):
        yield Remark(file, number, f"not a package by name and version: {shown(text)}")
        return
    if requirement.url is not None:
        yield Remark(file, number, f"a package from an address: {shown(text)}")
        return
    extras = f"[{','.join(sorted(requirement.extras))}]" if requirement.extras else ""
    marker = f" ; {requirement.marker}" if requirement.marker else ""
    version = f"{extras}{requirement.specifier}{marker}"
    yield Pin(shorten(str(canonicalize_name(requirement.name)), _SHOWN), shorten(version, _SHOWN))


def _fault(text: str) -> str | None:
    """Why a line is not a package's name and version, as far as that shows before parsing; None if it may be one."""
    if len(text) > _LONGEST or text.count("(") > _MOST_BRACKETS:
        return f"a line of more than {_LONGEST} characters or {_MOST_BRACKETS} brackets"
    if text.startswith("-"):
        option = re.split(r"[\s=]", text, maxsplit=1)[0]
        short = option[:2] if not option.startswith("--") else option
        return _OPTIONS.get(option) or _OPTIONS.get(short) or "an option of pip"
    if _VARIABLE.search(text):
        return "a variable of the environment"
    if _ADDRESS.match(text) and "@" not in text.split(":")[0]:
        return "a package from an address"
    if _PATH.match(text.split(";")[0].split("@")[0]):
        return "a path"
    name = re.split(r"[\s;\[<>=!~(@]", text, maxsplit=1)[0]
    if _ARCHIVE.search(name):
        return "a file of a package"
    return "an option of pip" if re.search(r"\s-", text) else None


def _without_comment(line: str) -> str:
    """The line up to the first # that begins it or follows white space; found in one pass, however long the line is."""
    at = line.find("#")
    while at > 0 and not line[at - 1].isspace():
        at = line.find("#", at + 1)
    return line if at < 0 else line[:at]


def _joined(lines: Iterable[tuple[int, str]]) -> Iterator[tuple[int, str]]:
    """The lines, with a line that ends in a backslash joined to the next one, as pip does; a comment ends the joining."""
    begun: list[str] = []
    first = 0
    for number, line in lines:
        comment = line.lstrip().startswith("#")
        if line.endswith("\\") and not comment:
            first = first if begun else number
            begun.append(line.strip("\\"))
            continue
        last = f" {line}" if comment else line
        yield (first, "".join([*begun, last])) if begun else (number, last)
        begun = []
    if begun:
        yield first, "".join(begun)
