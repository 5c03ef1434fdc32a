"""Samples, byte for byte. To accept a change of look: COORDPATH_REGENERATE=1 pytest tests/unit/rendering."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from coordpath_governance.rendering.render import render_html, render_markdown, render_summary_markdown

GOLDEN = Path(__file__).resolve().parents[2] / "golden" / "reports"
RENDERERS = {
    "small.html": render_html,
    "small.md": render_markdown,
    "small.summary.md": render_summary_markdown,
    "binomial.md": render_markdown,
    "multinomial.md": render_markdown,
    "poisson.md": render_markdown,
}


@pytest.mark.parametrize("name", sorted(RENDERERS))
def test_samples(make, name):
    rendered = RENDERERS[name](make(name.partition(".")[0]))
    path = GOLDEN / name
    if os.environ.get("COORDPATH_REGENERATE") == "1":
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(rendered, encoding="utf-8", newline="\n")
    assert rendered == path.read_text(encoding="utf-8"), "if the change is meant, run with COORDPATH_REGENERATE=1"
