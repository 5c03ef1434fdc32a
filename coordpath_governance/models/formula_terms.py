"""The terms that a formula's operators make, and how each of them is coded, in patsy's order.

A term is a product of factors; the intercept is the product of no factors. Terms are sorted by the numbers in them and then
by their degree. A category has a column for all of its levels, or for all but one if earlier columns already span the last
one (Chambers and Hastie). a:b is 1 + a⁻ + b⁻ + a⁻:b⁻: the parts that earlier terms span are left out, and the others are
put together.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import TypeAlias

from coordpath_governance.models.formula_text import Factor, Node, Operation
from coordpath_governance.models.formula_tokens import refused

__all__ = ["Coded", "Term", "coded_terms", "terms_of"]

Term: TypeAlias = tuple[Factor, ...]
"""Different factors, in the order in which the formula names them."""

_MOST_TERMS, _MOST_CATEGORIES = 2_000, 5
_Part: TypeAlias = frozenset[tuple[Factor, bool]]
"""Factors, each with a flag: whether all of its levels have a column."""


@dataclass(frozen=True)
class _Sum:
    """Terms, and whether the formula names or removes the intercept."""

    terms: tuple[Term, ...] = ()
    intercept: bool = False
    removed: bool = False


@dataclass(frozen=True)
class Coded:
    """Columns of one term: the factors in order, and for each category whether all of its levels have a column."""

    factors: tuple[Factor, ...]
    full: Mapping[Factor, bool]


def terms_of(node: Node, *, predictors: bool) -> tuple[Term, ...]:
    """The terms of one side, the intercept first.

    Predictors have an intercept unless the formula removes it; targets have one only if the formula names it.
    """
    total = _evaluate(node)
    intercept = not total.removed if predictors else total.intercept
    return ((), *total.terms) if intercept else total.terms


def _evaluate(node: Node) -> _Sum:
    if isinstance(node, int):
        if node not in (0, 1):
            raise refused(f"has the number {node} outside of I()")
        return _Sum(intercept=node == 1, removed=node == 0)
    if isinstance(node, Factor):
        return _Sum(((node,),))
    if node.left is None:
        if node.sign == "-":
            return _Sum(intercept=node.right == 0, removed=node.right == 1)
        return _evaluate(node.right)
    chain, first = [node], node.left
    while isinstance(first, Operation) and first.left is not None:
        chain.append(first)
        first = first.left
    total = _evaluate(first)
    for operation in reversed(chain):
        total = _OPERATIONS[operation.sign](total, operation)
    return total


def _plus(left: _Sum, node: Operation) -> _Sum:
    if node.right == 0:
        return _Sum(left.terms, removed=True)
    right = _evaluate(node.right)
    terms = _distinct((*left.terms, *right.terms))
    return _Sum(terms, intercept=True) if right.intercept else _Sum(terms, left.intercept, left.removed)


def _minus(left: _Sum, node: Operation) -> _Sum:
    if node.right in (0, 1):
        return _Sum(left.terms, intercept=node.right == 0, removed=node.right == 1)
    right = _evaluate(node.right)
    removed = {frozenset(term) for term in right.terms}
    terms = tuple(term for term in left.terms if frozenset(term) not in removed)
    return _Sum(terms, removed=True) if right.intercept else _Sum(terms, left.intercept, left.removed)


def _product(left: _Sum, node: Operation) -> _Sum:
    right = _evaluate(node.right)
    return _Sum(_distinct((*left.terms, *right.terms, *_crossed(left, right))))


def _nested(left: _Sum, node: Operation) -> _Sum:
    product = tuple(dict.fromkeys(factor for term in left.terms for factor in term))
    return _Sum(_distinct((*left.terms, *_crossed(_Sum((product,), left.intercept), _evaluate(node.right)))))


def _interaction(left: _Sum, node: Operation) -> _Sum:
    return _Sum(_crossed(left, _evaluate(node.right)))


def _power(left: _Sum, node: Operation) -> _Sum:
    if left.intercept:
        raise refused("multiplies the intercept")
    power = node.right if isinstance(node.right, int) else 1
    terms, last = left.terms, left
    for _ in range(1, min(len(left.terms), power)):
        last = _Sum(_crossed(left, last))
        terms = _distinct((*terms, *last.terms))
    return _Sum(terms)


_OPERATIONS: Mapping[str, Callable[[_Sum, Operation], _Sum]] = {
    "+": _plus,
    "-": _minus,
    "*": _product,
    "/": _nested,
    ":": _interaction,
    "**": _power,
}


def _crossed(left: _Sum, right: _Sum) -> tuple[Term, ...]:
    """Every term of ``left`` multiplied with every term of ``right``."""
    if left.intercept or right.intercept:
        raise refused("multiplies the intercept")
    if len(left.terms) * len(right.terms) > _MOST_TERMS:
        raise refused(f"has more than {_MOST_TERMS} terms")
    return _distinct(tuple(dict.fromkeys((*term, *other))) for term in left.terms for other in right.terms)


def _distinct(terms: Iterable[Term]) -> tuple[Term, ...]:
    """The terms without those that have the same factors as an earlier term."""
    first: dict[frozenset[Factor], Term] = {}
    for term in terms:
        first.setdefault(frozenset(term), term)
    if len(first) > _MOST_TERMS:
        raise refused(f"has more than {_MOST_TERMS} terms")
    return tuple(first.values())


def coded_terms(terms: Sequence[Term], is_category: Callable[[Factor], bool]) -> list[Coded]:
    """The factors of the columns of a design, in the order of the columns."""
    by_numbers: dict[frozenset[Factor], list[Term]] = {}
    for term in terms:
        by_numbers.setdefault(frozenset(f for f in term if not is_category(f)), []).append(term)
    out: list[Coded] = []
    for numbers in sorted(by_numbers, key=bool):
        spanned: set[_Part] = set()
        for term in sorted(by_numbers[numbers], key=len):
            for part in _coding([f for f in term if f not in numbers], spanned):
                full = dict(part)
                out.append(Coded(tuple(f for f in term if f in numbers or f in full), full))
    return out


def _coding(categories: Sequence[Factor], spanned: set[_Part]) -> list[_Part]:
    """The parts of one term that are not ``spanned`` yet; they are added to ``spanned``."""
    if len(categories) > _MOST_CATEGORIES:
        raise refused(f"multiplies more than {_MOST_CATEGORIES} categories with each other")
    subsets = [chosen for size in range(len(categories) + 1) for chosen in combinations(categories, size)]
    parts = [frozenset((factor, False) for factor in subset) for subset in subsets]
    parts = [part for part in parts if part not in spanned]
    spanned.update(parts)
    while _put_together(parts):
        pass
    return parts


def _put_together(parts: list[_Part]) -> bool:
    """Replace the first part and the first longer one by one factor, a + a:b⁻, by a:b of all levels of b."""
    for at, short in enumerate(parts):
        for behind in range(at + 1, len(parts)):
            more = parts[behind] - short
            if len(more) == 1 and len(parts[behind]) == len(short) + 1:
                ((factor, _),) = more
                parts[behind] = short | {(factor, True)}
                del parts[at]
                return True
    return False
