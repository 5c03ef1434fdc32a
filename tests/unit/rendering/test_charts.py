"""Charts: well-formed, told in words, legible at both widths."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET

import pytest

from coordpath_governance.numbers import cost_column
from coordpath_governance.rendering import svg
from coordpath_governance.rendering.calibration_view import Calibration, CalibrationPoint, calibration
from coordpath_governance.rendering.dumbbell import Dumbbell, DumbbellRow, dumbbell
from coordpath_governance.rendering.svg import Scale, decimals_of, padded_domain, round_ticks
from coordpath_governance.rendering.waterfall import Waterfall, WaterfallStep, waterfall


def chart(costs, *, start=10.0, minimum=8.9, error=0.01, brackets=(), label="feature"):
    steps, before = [], start
    for k, cost in enumerate(costs, 1):
        name = "A" if k in brackets else None
        steps.append(WaterfallStep(str(k), f"{label} {k}", before, cost, error, f"{cost - before:+.3f}", name))
        before = cost
    column = cost_column([start, *costs], [step.after - step.before for step in steps])
    return Waterfall("Champion v1", "Candidate v2", tuple(steps), 0, minimum, column, "mean squared error", "told in words")


def texts(picture):
    return [element.text for element in ET.fromstring(picture).iter("text")]


@pytest.mark.parametrize("steps", [1, 2, 8, 11])
def test_waterfall_is_well_formed_for_every_number_of_steps(steps):
    picture = waterfall(chart([10.0 - 0.1 * k for k in range(1, steps + 1)]))
    for drawn in (picture.wide, picture.narrow):
        root = ET.fromstring(drawn)
        assert root.get("role") == "img"
        assert root.find("title").text
        assert root.find("desc").text == "told in words"
        assert len([g for g in root.iter("g") if g.get("class") == "step"]) == steps
        assert root.get("viewBox").startswith("0 0 ")


def test_everything_drawn_lies_within_the_picture():
    for picture in (waterfall(chart([9.5, 9.9, 9.1], brackets=(2, 3))).wide, waterfall(chart([9.5, 9.9, 9.1])).narrow):
        root = ET.fromstring(picture)
        width, height = (float(part) for part in root.get("viewBox").split()[2:])
        for element in root.iter():
            for name in ("x", "x1", "x2", "cx"):
                assert 0 <= float(element.get(name, 0)) <= width
            for name in ("y", "y1", "y2", "cy"):
                assert 0 <= float(element.get(name, 0)) <= height


def test_a_worsening_step_is_hatched_and_marked():
    picture = waterfall(chart([9.5, 9.9, 9.1])).wide
    assert picture.count('class="bar worse" fill="url(#waterfall-wide-hatch)"') == 1 or picture.count("url(#") == 1
    assert "▲ +0.400" in texts(picture)
    assert "▼ -0.500" in texts(picture)


def test_the_axis_says_that_it_does_not_start_at_zero():
    assert any("does not start at zero" in text for text in texts(waterfall(chart([9.5])).wide))
    near_zero = chart([0.5, 0.01], start=1.0, minimum=0.0)
    assert near_zero.starts_at_zero()
    assert any("starts at zero" in text for text in texts(waterfall(near_zero).wide))


def test_the_lowest_possible_cost_is_drawn_only_if_it_fits():
    assert "lowest possible" in texts(waterfall(chart([9.5, 9.1], minimum=9.0)).wide)
    assert "lowest possible" not in texts(waterfall(chart([9.5, 9.1], minimum=1.0)).wide)


def test_a_first_step_that_dwarfs_the_others_runs_off_the_axis():
    broken = chart([13.0, 11.0, 9.5, 9.2], start=224.0)
    assert broken.breaks()
    assert broken.domain()[1] < 20
    assert 'class="break"' in waterfall(broken).wide
    assert not chart([9.5, 9.1], start=224.0).breaks()


def test_brackets_are_drawn_beside_their_steps():
    picture = waterfall(chart([9.5, 9.9, 9.1], brackets=(2, 3)))
    assert picture.wide.count('class="bracket"') == 1
    assert "A" in texts(picture.wide)
    assert "2 A" in texts(picture.narrow)


def test_long_and_hostile_labels_are_cut_and_escaped():
    picture = waterfall(chart([9.5], label="<script>&" + "W" * 400 + "\u202e")).wide
    label = next(text for text in texts(picture) if text.startswith("<script>"))
    assert len(label) < 60
    assert "…" in label
    assert "<script>" not in picture


def test_no_difference_at_all_still_has_an_axis():
    flat = chart([10.0], start=10.0, error=None)
    low, high = flat.domain()
    assert low < 10.0 < high
    assert any(text.startswith("=") for text in texts(waterfall(flat).wide))


def test_dumbbell_shows_old_new_and_flips():
    rows = (
        DumbbellRow("rooms", -0.17, 0.29, flips=True),
        DumbbellRow("added", None, 0.5, flips=False),
        DumbbellRow("gone", 0.4, None, flips=False),
    )
    picture = dumbbell(Dumbbell(rows, "old", "new", "told in words"))
    for drawn in (picture.wide, picture.narrow):
        shown = texts(drawn)
        assert "⇄ −0.170 → 0.290" in shown
        assert "new only: 0.500" in shown
        assert "old only: 0.400" in shown
        assert drawn.count('class="flip"') == 1
        assert drawn.count('class="mark-old"') == 2
        assert drawn.count('class="mark-new"') == 2
        assert drawn.count('class="zero"') == 1


def test_dumbbell_of_one_sided_values():
    low, high = Dumbbell((DumbbellRow("a", 0.0, 0.0, flips=False),), "o", "n", "d").domain()
    assert low < 0 < high


def test_identifiers_do_not_clash():
    picture = waterfall(chart([9.5]))
    other = dumbbell(Dumbbell((DumbbellRow("a", 0.1, 0.2, flips=False),), "o", "n", "d"))
    ids = [
        i for drawn in (picture.wide, picture.narrow, other.wide, other.narrow) for i in re.findall(r'id="([^"]+)"', drawn)
    ]
    assert len(ids) == len(set(ids))


@pytest.mark.parametrize(("low", "high"), [(9.1, 9.9), (-1.3, 0.9), (0.0, 1e9), (1e-9, 2e-9), (9.40, 9.405)])
@pytest.mark.parametrize("wanted", [1, 3, 6])
def test_ticks_are_round_and_within_the_axis(low, high, wanted):
    ticks = round_ticks(low, high, wanted)
    assert 2 <= len(ticks) <= 4 * wanted + 4
    slack = 1e-6 * (high - low)
    assert all(low - slack <= tick <= high + slack for tick in ticks)
    assert decimals_of(ticks) >= 0


def test_scale_stops_at_the_edge():
    scale = Scale(0.0, 10.0, 100.0, 200.0)
    assert (scale(-5.0), scale(5.0), scale(50.0)) == (100.0, 150.0, 200.0)
    assert scale.holds(10.0)
    assert not scale.holds(10.1)


def test_domain_does_not_go_below_zero_by_padding():
    assert padded_domain((0.001, 1.0))[0] == 0.0
    assert padded_domain((-1.0, 1.0))[0] < -1.0


def test_svg_escapes_attributes_and_text():
    assert (
        svg.text(0, 0, 'a"<b>', 'x" onload="y') == '<text x="0" y="0" class="x&quot; onload=&quot;y">a&quot;&lt;b&gt;</text>'
    )
    assert svg.attributes(x=-0.01, y=1.26, class_=None) == ' x="0" y="1.3"'


def calibrated(*observed, scale=1.0):
    points = [tuple(CalibrationPoint(scale * (k + 1), scale * o) for k, o in enumerate(side)) for side in observed]
    column = cost_column([value for side in points for p in side for value in (p.expected, p.observed)], [])
    return Calibration(*points, column, "told in words")


def test_calibration_is_well_formed_and_tells_versions_apart_by_shape():
    picture = calibration(calibrated((1.2, 1.9, 3.3), (0.9, 2.2)))
    for drawn in (picture.wide, picture.narrow):
        root = ET.fromstring(drawn)
        assert root.get("role") == "img"
        assert root.find("desc").text == "told in words"
        classes = [element.get("class") for element in root.iter()]
        assert (classes.count("mark-old"), classes.count("mark-new"), classes.count("diagonal")) == (3, 2, 1)
        assert {e.tag for e in root.iter() if e.get("class") == "mark-old"} == {"circle"}
        assert {e.tag for e in root.iter() if e.get("class") == "mark-new"} == {"path"}
        width, height = (float(part) for part in root.get("viewBox").split()[2:])
        for element in root.iter():
            assert all(0 <= float(element.get(name, 0)) <= width for name in ("x", "x1", "x2", "cx"))
            assert all(0 <= float(element.get(name, 0)) <= height for name in ("y", "y1", "y2", "cy"))


def test_a_point_on_the_diagonal_is_drawn_on_it():
    root = ET.fromstring(calibration(calibrated((1.0, 2.0, 3.0), ())).wide)
    line = next(e for e in root.iter("line") if e.get("class") == "diagonal")
    x1, y1, x2, y2 = (float(line.get(name)) for name in ("x1", "y1", "x2", "y2"))
    for mark in root.iter("circle"):
        along = (float(mark.get("cx")) - x1) / (x2 - x1)
        assert y1 + along * (y2 - y1) == pytest.approx(float(mark.get("cy")), abs=0.2)


def test_axes_of_a_calibration():
    assert calibrated((1.0, 2.0, 3.0), ()).domain()[0] == 0.0
    assert calibrated((1.0,), (1.05,)).domain()[0] > 0.9
    assert calibrated((-1.0, 2.0), ()).domain()[0] < -1.0
    assert any("×10⁶" in text for text in texts(calibration(calibrated((1.0, 2.0), (), scale=2e6)).wide))
