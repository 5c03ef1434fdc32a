"""Templates and style: found where they are, legible in every theme, never printing what is not there."""

from __future__ import annotations

import re

import pytest

from coordpath_governance.errors import CoordpathError
from coordpath_governance.rendering import templates as environment


def luminance(colour: str) -> float:
    channels = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.03928 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one: str, other: str) -> float:
    light, dark = sorted((luminance(one), luminance(other)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


@pytest.mark.parametrize("theme", [0, 1, 2], ids=["light", "dark", "print"])
def test_contrast_is_at_least_four_and_a_half(theme):
    css = (environment.template_folder() / "report.css").read_text(encoding="utf-8")
    colours = dict(re.findall(r"--([a-z-]+): (#[0-9a-f]{6})", re.findall(r":root \{(.*?)\}", css, re.DOTALL)[theme]))
    for ink in ("ink", "soft", "better", "worse", "link", "review", "neutral"):
        for paper in ("paper", "wash"):
            assert contrast(colours[ink], colours[paper]) >= 4.5, (ink, paper)
    for tone in ("neutral", "pass", "review", "fail"):
        for ink in (tone, "ink", "soft"):
            assert contrast(colours[ink], colours[f"{tone}-wash"]) >= 4.5, (ink, tone)


def test_templates_are_found_in_the_package_or_around_it(tmp_path):
    package = tmp_path / "package"
    (package / "templates").mkdir(parents=True)
    with pytest.raises(CoordpathError, match="install coordpath-governance again"):
        environment.template_folder(package)
    (tmp_path / "templates").mkdir()
    (tmp_path / "templates" / "report.html.j2").touch()
    assert environment.template_folder(package) == tmp_path / "templates"
    (package / "templates" / "report.html.j2").touch()
    assert environment.template_folder(package) == package / "templates"


def test_a_missing_value_is_never_printed():
    with pytest.raises(CoordpathError):
        environment.finalize_html(None)
    with pytest.raises(CoordpathError):
        environment.finalize_markdown(None)
