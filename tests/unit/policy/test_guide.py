"""docs/policies.md names every rule with its parameters, every observation and every key of a policy."""

import re
from pathlib import Path
from typing import get_args

import pytest

from coordpath_governance.policy.document import PinnedReference, Policy
from coordpath_governance.policy.observations import OBSERVATIONS
from coordpath_governance.policy.rules import RULES

GUIDE = (Path(__file__).resolve().parents[3] / "docs" / "policies.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("rule", sorted(RULES))
def test_every_rule_and_its_parameters(rule):
    (row,) = [line for line in GUIDE.splitlines() if re.match(rf"\| [^|]*`{rule}`", line)]
    for parameter in set(RULES[rule].model_fields) - {"otherwise"}:
        assert f"`{parameter}`" in row


def test_every_limit_has_a_unit():
    """Every parameter of a rule that is a number stands in the table of units, and nothing else does."""
    units = GUIDE[GUIDE.index("### Units") : GUIDE.index("## Classes")]
    numbers = {
        f"{rule}.{name}"
        for rule, parameters in RULES.items()
        for name, field in parameters.model_fields.items()
        if {float, int} & set(_types(field.annotation))
    }
    assert set(re.findall(r"`(\w+\.\w+)`", units)) == numbers


def _types(annotation):
    """The plain types in an annotation."""
    inner = get_args(annotation)
    return [each for part in inner for each in _types(part)] if inner else [annotation]


def test_every_observation_and_key():
    classes = GUIDE[GUIDE.index("## Classes") :]
    assert set(OBSERVATIONS) <= set(re.findall(r"`(\w+)`", classes))
    keys = {field.alias or name for name, field in Policy.model_fields.items()} | set(PinnedReference.model_fields)
    assert keys <= set(re.findall(r"`(\w+)`", GUIDE))
