"""By what rows are weighted where shares and means are told."""

from __future__ import annotations

from coordpath_governance.rendering.caps import Caps
from coordpath_governance.reports.document import ChangeReportDocument

__all__ = ["by_weight", "by_weight_and_exposure", "rate_unit"]


def by_weight(document: ChangeReportDocument, caps: Caps) -> str:
    """The weight of a row; "" where every row counts once."""
    weight = document.data.weight
    return "" if weight is None else f"by weight {caps.label(weight)}"


def by_weight_and_exposure(document: ChangeReportDocument, caps: Caps) -> str:
    """The weight of a rate: that of the row times its exposure."""
    unit = rate_unit(document, caps)
    if not unit:
        return by_weight(document, caps)
    weight = document.data.weight
    return f"by exposure {unit}" if weight is None else f"by weight {caps.label(weight)} times exposure {unit}"


def rate_unit(document: ChangeReportDocument, caps: Caps) -> str:
    """What rates are told for one unit of; "" where predictions are told as they are."""
    exposure, glm = document.data.exposure, document.glm
    return "" if exposure is None or glm is None or glm.classes else caps.label(exposure)
