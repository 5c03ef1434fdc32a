"""Whether two patterns have a name in common, against names that are tried one by one."""

from fnmatch import fnmatchcase
from itertools import product

import pytest

from coordpath_governance.policy.patterns import may_both_match

PATTERNS = ["", "*", "?", "a", "ab", "a*", "*a", "*b", "a?", "?b", "*a*", "a*b", "**", "[ab]", "[!a]", "[ab]*", "b[!b]", "["]
NAMES = ["".join(letters) for length in range(5) for letters in product("abc[", repeat=length)]


@pytest.mark.parametrize("one", PATTERNS)
@pytest.mark.parametrize("other", PATTERNS)
def test_it_is_true_wherever_a_name_fits_both(one, other):
    common = [name for name in NAMES if fnmatchcase(name, one) and fnmatchcase(name, other)]
    assert may_both_match(one, other) is may_both_match(other, one)
    two_sets = "[a" in one + "[!" and "[" in other.replace("[!", "[")
    if common or not two_sets:
        assert may_both_match(one, other) is bool(common)


@pytest.mark.parametrize(
    ("one", "other", "both"),
    [
        ("credit*", "*risk", True),
        ("credit*", "fraud*", False),
        ("credit", "credit", True),
        ("credit", "Credit", False),
        ("a[*]b", "a*b", True),
        ("a[*]b", "axb", False),
        ("x" * 200, "*" + "x" * 199, True),
        ("a*" * 100, "*a" * 100, True),
        ("*a" * 100, "*b" * 100, False),
        ("a" * 200, "b" * 200, False),
    ],
)
def test_patterns_as_people_write_them(one, other, both):
    assert may_both_match(one, other) is both


def test_two_sets_in_one_place_may_have_a_character_in_common():
    assert may_both_match("[a]", "[b]")
