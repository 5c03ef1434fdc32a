"""The function of the target that a model predicts, where that is not the target itself: log, log1p, Yeo-Johnson, ….

Such a model's score is compared with h(y), not with y, and what it predicts is h⁻¹(score). A chain of `maps` stands for h.
Only increasing functions with an inverse are taken, in one form each: an affine map at the end belongs into the
coefficients, so that two models of one function, scaled or not, have the same chain and costs in one unit.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from coordpath_governance.models.maps import (
    Affine,
    BoxCox,
    Elementary,
    Map,
    Scaled,
    YeoJohnson,
    finite,
    without_identities,
)

__all__ = ["canonical_target", "fault_of_target", "target_text"]

_INCREASING = ("log", "log1p", "log2", "sqrt", "exp", "expm1")
_NEAR_ZERO = 1e-15


def canonical_target(maps: Sequence[Map]) -> tuple[tuple[Map, ...], Affine]:
    """The same function as a chain that does not end in an affine map, and the affine map that comes after it.

    A box-cox map with λ = 0 is a logarithm, one with λ = 1 is affine; logarithms of other bases are multiples of one, and
    the logarithm of a multiple is one plus a constant.
    """
    chain, last = _merged(maps), Affine(1.0)
    while chain:
        *before, end = chain
        if isinstance(end, Affine):
            rest = end
        elif isinstance(end, YeoJohnson) and end.power == 1.0:
            rest = Affine(1.0)
        elif isinstance(end, BoxCox) and end.power == 1.0:
            rest = Affine(1.0, -1.0)
        elif isinstance(end, BoxCox) and abs(end.power) < _NEAR_ZERO:
            before, rest = [*before, Elementary("log")], Affine(1.0)
        elif end == Elementary("log2"):
            before, rest = [*before, Elementary("log")], Affine(1.0 / math.log(2.0))
        elif end == Elementary("log") and before and _multiple(before[-1]) is not None:
            before, rest = [*before[:-1], end], Affine(1.0, math.log(_multiple(before[-1]) or 1.0))
        else:
            break
        last = Affine(last.scale * rest.scale, last.scale * rest.shift + last.shift)
        chain = _merged(before)
    return tuple(chain), last


def _merged(maps: Sequence[Map]) -> list[Map]:
    """The same chain with neighbouring affine maps made one: nothing in it jumps, so that the last digit decides nothing."""
    out: list[Map] = []
    for each in maps:
        last = out[-1] if out else None
        own = Affine(each.scale, each.shift) if isinstance(each, Scaled) else each
        if isinstance(own, Affine) and isinstance(last, Affine):
            out[-1] = Affine(own.scale * last.scale, own.scale * last.shift + own.shift)
        else:
            out.append(own)
    return list(without_identities(out))


def _multiple(each: Map) -> float | None:
    """The factor of a map that multiplies by a positive number, None for any other."""
    return each.scale if isinstance(each, Affine) and each.shift == 0.0 and each.scale > 0.0 else None


def fault_of_target(maps: Sequence[Map]) -> str | None:
    """Why a chain of maps is not the function of a target that a model may predict; None if it is one."""
    for each in maps:
        known = isinstance(each, YeoJohnson | BoxCox) or (isinstance(each, Elementary) and each.name in _INCREASING)
        if not known and not (isinstance(each, Affine) and each.scale > 0.0):
            name = each.name if isinstance(each, Elementary) else each.kind
            return f"the target is transformed by '{name}', which is not increasing or has no inverse that we know"
        if not finite(each):
            return "the target is transformed with numbers that are not finite"
    if canonical_target(maps)[0] != tuple(maps):
        return "the transformation of the target has a simpler form: what is affine at its end belongs into the coefficients"
    return None


def target_text(maps: Sequence[Map], target: str) -> str:
    """The function of the target as people write it, such as log1p(price)."""
    text = target
    for each in maps:
        if isinstance(each, Affine):
            factor = "" if each.scale == 1.0 else f"{each.scale:g}·"
            constant = "" if each.shift == 0.0 else f" {'+' if each.shift > 0 else '−'} {abs(each.shift):g}"
            text = f"{factor}{text}{constant}"
        elif isinstance(each, Elementary):
            text = f"{each.name}({text})"
        elif isinstance(each, YeoJohnson | BoxCox):
            text = f"{each.kind.title()}({text}; λ = {each.power:.4g})"
    return text
