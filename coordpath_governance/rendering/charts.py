"""The pictures of a report, as inline SVG text in a wide and a narrow layout."""

from __future__ import annotations

from dataclasses import dataclass

from coordpath_governance.rendering.calibration import Calibration, CalibrationPoint, draw_calibration
from coordpath_governance.rendering.dumbbell import Dumbbell, DumbbellRow, draw_dumbbell
from coordpath_governance.rendering.waterfall import Waterfall, WaterfallStep, draw_waterfall

__all__ = [
    "Calibration",
    "CalibrationPoint",
    "Dumbbell",
    "DumbbellRow",
    "Picture",
    "Waterfall",
    "WaterfallStep",
    "calibration",
    "dumbbell",
    "waterfall",
]


@dataclass(frozen=True)
class Picture:
    """One chart in both layouts; the style sheet shows the one that fits."""

    wide: str
    narrow: str


def waterfall(chart: Waterfall) -> Picture:
    """The waterfall of the path."""
    return Picture(draw_waterfall(chart), draw_waterfall(chart, narrow=True))


def dumbbell(chart: Dumbbell) -> Picture:
    """The dumbbell of the standardised coefficients."""
    return Picture(draw_dumbbell(chart), draw_dumbbell(chart, narrow=True))


def calibration(chart: Calibration) -> Picture:
    """Expected against observed."""
    return Picture(draw_calibration(chart), draw_calibration(chart, narrow=True))
