"""The function of the target that a model predicts, where that is not the target itself: log, log1p, Yeo-Johnson, ….

The score of such a model predicts h(y), not y, and its prediction of y is h⁻¹(score). A chain of `maps` stands for h. h must
be increasing and have an inverse, and has exactly one form: an affine map at the end belongs into the coefficients. So two
models of the same function, scaled or not, have the same chain, and costs in the same unit.
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
    """The same function as a chain that does not end in an affine map, and the affine map that follows it.

    A Box-Cox map with λ = 0 is a logarithm, one with λ = 1 is affine. A logarithm of another base is a multiple of the
    natural one, and the logarithm of a multiple of x is the logarithm of x plus a constant.
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
    """The same chain with neighbouring affine maps joined. Nothing in it jumps, so rounding decides nothing."""
    out: list[Map] = []
    for step in maps:
        last = out[-1] if out else None
        current = Affine(step.scale, step.shift) if isinstance(step, Scaled) else step
        if isinstance(current, Affine) and isinstance(last, Affine):
            out[-1] = Affine(current.scale * last.scale, current.scale * last.shift + current.shift)
        else:
            out.append(current)
    return list(without_identities(out))


def _multiple(step: Map) -> float | None:
    """The factor of a map that multiplies by a positive number; None for any other map."""
    return step.scale if isinstance(step, Affine) and step.shift == 0.0 and step.scale > 0.0 else None


def fault_of_target(maps: Sequence[Map]) -> str | None:
    """Why a model may not predict this function of the target; None if it may."""
    for step in maps:
        increasing = isinstance(step, YeoJohnson | BoxCox) or (isinstance(step, Elementary) and step.name in _INCREASING)
        if not increasing and not (isinstance(step, Affine) and step.scale > 0.0):
            name = step.name if isinstance(step, Elementary) else step.kind
            return f"the target is transformed by '{name}', which is not increasing or has no inverse that we know"
        if not finite(step):
            return "the target is transformed with numbers that are not finite"
    if canonical_target(maps)[0] != tuple(maps):
        return "the transformation of the target has a simpler form: what is affine at its end belongs into the coefficients"
    return None


def target_text(maps: Sequence[Map], target: str) -> str:
    """The function of the target as people write it, such as log1p(price)."""
    text = target
    for step in maps:
        if isinstance(step, Affine):
            factor = "" if step.scale == 1.0 else f"{step.scale:g}·"
            constant = "" if step.shift == 0.0 else f" {'+' if step.shift > 0 else '−'} {abs(step.shift):g}"
            text = f"{factor}{text}{constant}"
        elif isinstance(step, Elementary):
            text = f"{step.name}({text})"
        elif isinstance(step, YeoJohnson | BoxCox):
            text = f"{step.kind.title()}({text}; λ = {step.power:.4g})"
    return text
