"""Settings of an ``MLmodel`` file and requirements of a model, changed in their text: all other lines stay as they are."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TypeAlias

import yaml

from coordpath_governance.errors import UpdateError
from coordpath_governance.models.model_files import compose_yaml

__all__ = ["Setting", "setting", "with_requirement", "with_settings"]

Setting: TypeAlias = str | int | Sequence[str] | None


def setting(text: str, key: str, where: str) -> str | None:
    """The text of a setting at the top of the YAML text; None if it is not there."""
    pair = _entries(compose_yaml(text.encode(), where), where).get(key)
    return None if pair is None else str(pair[1].value)


def with_settings(text: str, settings: Mapping[tuple[str, ...], Setting], where: str) -> str:
    """The YAML text with these settings, each given by the keys that lead to it.

    A setting that is not there is added to its section. Raises `ModelReadError` if the text is not YAML that we read, and
    `UpdateError` if a section is missing; ``where`` names the file in both.
    """
    for path, setting in settings.items():
        text = _with_setting(text, path, json.dumps(setting), where)
    return text


def _with_setting(text: str, path: tuple[str, ...], value: str, where: str) -> str:
    node = compose_yaml(text.encode(), where)
    for key in path[:-1]:
        section = _entries(node, where).get(key)
        node = None if section is None else section[1]
    entries = _entries(node, where)
    if path[-1] in entries:
        name, old = entries[path[-1]]
        start, end = name.start_mark.index, old.end_mark.index
        entry = text[start:end]
        return f"{text[:start]}{path[-1]}: {value}{entry[len(entry.rstrip()) :]}{text[end:]}"
    first = next(iter(entries.values()))[0].start_mark
    return f"{text[: first.index]}{path[-1]}: {value}\n{' ' * first.column}{text[first.index :]}"


def _entries(node: yaml.Node | None, where: str) -> dict[str, tuple[yaml.Node, yaml.Node]]:
    """The keys and values of a section by the text of the key."""
    if not isinstance(node, yaml.MappingNode) or not node.value or node.flow_style:
        raise UpdateError(f"{where}: it is not laid out as MLflow writes it; log the champion again.")
    return {str(key.value): (key, value) for key, value in node.value}


def with_requirement(folder: Path, package: str) -> None:
    """Add a package to ``requirements.txt`` and ``conda.yaml`` of a model's folder, unless they name it."""
    pip = folder / "requirements.txt"
    if pip.is_file():
        lines = pip.read_text(encoding="utf-8").splitlines()
        if not any(_names(line, package) for line in lines):
            pip.write_text("\n".join([*lines, package]) + "\n", encoding="utf-8")
    conda = folder / "conda.yaml"
    if conda.is_file():
        lines = conda.read_text(encoding="utf-8").splitlines()
        at = next((number for number, line in enumerate(lines) if line.strip() == "- pip:"), None)
        if at is not None and not any(_names(line.strip().removeprefix("- "), package) for line in lines):
            indent = lines[at].index("-") + 2
            conda.write_text(
                "\n".join([*lines[: at + 1], f"{' ' * indent}- {package}", *lines[at + 1 :]]) + "\n", encoding="utf-8"
            )


def _names(line: str, package: str) -> bool:
    rest = line.strip().removeprefix(package)
    return rest != line.strip() and not rest[:1].isalnum() and rest[:1] not in ("-", "_", ".")
