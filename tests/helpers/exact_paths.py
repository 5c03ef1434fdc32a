"""The least objective of small problems in exact fractions: what every bound is judged by.

Nothing of the solvers is used. A problem's numbers are taken as they stand; all orders, or all sequences of units with the
best values along each, are tried one by one.
"""

from __future__ import annotations

import itertools
from fractions import Fraction

__all__ = ["ExactCost", "best_order", "best_walk", "solve_exactly"]


def solve_exactly(matrix, right):
    """A solution of a consistent symmetric system, free unknowns at zero; None if there is none."""
    rows = [[*row, value] for row, value in zip(matrix, right, strict=True)]
    pivots, at = [], 0
    for column in range(len(matrix)):
        found = next((r for r in range(at, len(rows)) if rows[r][column] != 0), None)
        if found is None:
            continue
        rows[at], rows[found] = rows[found], rows[at]
        rows[at] = [v / rows[at][column] for v in rows[at]]
        for r in range(len(rows)):
            if r != at and rows[r][column] != 0:
                rows[r] = [v - rows[r][column] * p for v, p in zip(rows[r], rows[at], strict=True)]
        pivots.append(column)
        at += 1
    if any(row[-1] != 0 for row in rows[at:]):
        return None
    solution = [Fraction(0)] * len(matrix)
    for r, column in enumerate(pivots):
        solution[column] = rows[r][-1]
    return solution


class ExactCost:
    """c(β) = βᵀGβ − 2bᵀβ + constant of a problem's document."""

    def __init__(self, cost):
        self.linear = [Fraction(v) for v in cost["linear"]]
        self.constant = Fraction(cost.get("constant", 0.0))
        gram = [[Fraction(v) for v in row] for row in cost["gram"]]
        self.gram = [[(gram[i][j] + gram[j][i]) / 2 for j in range(len(gram))] for i in range(len(gram))]

    def gradient(self, beta):
        """Gβ − b."""
        return [
            sum((g * v for g, v in zip(row, beta, strict=True)), Fraction(0)) - b
            for row, b in zip(self.gram, self.linear, strict=True)
        ]

    def __call__(self, beta):
        beta = [Fraction(v) for v in beta]
        pull = sum(v * (g - b) for v, g, b in zip(beta, self.gradient(beta), self.linear, strict=True))
        return pull + self.constant

    def minimum(self):
        """Least cost; None if it is unbounded below or no squared error, by whatever rounding."""
        return least(self.gram, [-b for b in self.linear], self.constant)


def least(matrix, slope, constant):
    """min xᵀMx + 2sᵀx + constant in exact fractions; None if it is unbounded below."""
    if not positive(matrix):
        return None
    x = solve_exactly(matrix, [-s for s in slope])
    return None if x is None else constant + sum(s * v for s, v in zip(slope, x, strict=True))


def positive(matrix):
    """Whether a symmetric matrix of fractions is positive semi-definite, by elimination."""
    rows = [list(row) for row in matrix]
    left = set(range(len(rows)))
    while left:
        pivot = max(left, key=lambda i: rows[i][i])
        if rows[pivot][pivot] < 0:
            return False
        if rows[pivot][pivot] == 0:
            return all(rows[i][j] == 0 for i in left for j in left)
        left.remove(pivot)
        for i in left:
            factor = rows[i][pivot] / rows[pivot][pivot]
            rows[i] = [v - factor * p for v, p in zip(rows[i], rows[pivot], strict=True)]
    return True


def _units(document):
    """Coordinates that move together."""
    index = {name: i for i, name in enumerate(document["features"])}
    grouped = [[index[name] for name in group] for group in document.get("groups", [])]
    taken = {i for group in grouped for i in group}
    return sorted([*grouped, *([i] for i in range(len(index)) if i not in taken)])


def _ends(document):
    size = len(document["features"])
    start = [Fraction(v) for v in document.get("start", [0.0] * size)]
    target = document.get("target")
    return start, None if target is None else [Fraction(v) for v in target]


def best_order(document, alphas):
    """The least Σαₖc(βₖ) where every changed unit moves once, or the first ``max_steps`` of them and then the rest."""
    cost, (start, target) = ExactCost(document["cost"]), _ends(document)
    changed = [unit for unit in _units(document) if any(start[i] != target[i] for i in unit)]
    singles = min(document.get("max_steps") or len(changed), len(changed))
    known = {}

    def after(moved):
        key = frozenset(moved)
        if key not in known:
            gone = {i for u in key for i in changed[u]}
            known[key] = cost([target[i] if i in gone else start[i] for i in range(len(start))])
        return known[key]

    terms = [Fraction(a) for a in alphas]
    rest = terms[singles] * after(range(len(changed))) if singles < len(changed) else Fraction(0)
    return rest + min(
        sum((terms[k] * after(order[: k + 1]) for k in range(singles)), Fraction(0))
        for order in itertools.permutations(range(len(changed)), singles)
    )


def best_walk(document, alphas):
    """The least Σαₖc(βₖ) over all sequences of units and all values along them; None if it is unbounded below."""
    cost, (start, target), units = ExactCost(document["cost"]), _ends(document), _units(document)
    terms = [Fraction(a) for a in alphas]
    changed = set() if target is None else {u for u, unit in enumerate(units) if any(start[i] != target[i] for i in unit)}
    values = [
        _walk(cost, start, target, [units[u] for u in sequence], terms)
        for sequence in itertools.product(range(len(units)), repeat=len(terms))
        if changed <= set(sequence)
    ]
    return None if any(value is None for value in values) else min(values)


def _walk(cost, start, target, sequence, terms):
    """The least Σαₖc(βₖ) along one sequence: an unknown for every coordinate of every visit that the end does not decide."""
    last = {i: k for k, unit in enumerate(sequence) for i in unit}
    beta, unknown, count = list(start), {}, 0
    constant, slopes, products = Fraction(0), {}, {}
    for k, unit in enumerate(sequence):
        for i in unit:
            if target is not None and last[i] == k:
                unknown.pop(i, None)
                beta[i] = target[i]
            else:
                unknown[i], beta[i] = count, Fraction(0)
                count += 1
        constant += terms[k] * cost(beta)
        gradient = cost.gradient(beta)
        for i, x in unknown.items():
            slopes[x] = slopes.get(x, 0) + terms[k] * gradient[i]
            for j, y in unknown.items():
                products[x, y] = products.get((x, y), 0) + terms[k] * cost.gram[i][j]
    matrix = [[products.get((x, y), Fraction(0)) for y in range(count)] for x in range(count)]
    return least(matrix, [slopes.get(x, Fraction(0)) for x in range(count)], constant)
