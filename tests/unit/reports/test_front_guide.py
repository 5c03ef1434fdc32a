"""The examples of docs/fronts.md give what it prints."""

from __future__ import annotations

import doctest
from pathlib import Path

GUIDE = Path(__file__).parents[3] / "docs" / "fronts.md"


def test_the_examples_of_the_guide():
    text = GUIDE.read_text(encoding="utf-8")
    examples = doctest.DocTestParser().get_doctest(text, {}, GUIDE.name, GUIDE.name, 0)
    assert len(examples.examples) > 10
    assert doctest.DocTestRunner().run(examples).failed == 0
