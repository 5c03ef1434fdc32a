"""The impact of generalised linear models, from what their rows told."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

from coordpath_governance.alignment.change import Change, Coordinate
from coordpath_governance.errors import ReportFormatError
from coordpath_governance.reference.design import DesignColumn
from coordpath_governance.reports.impact import impact_facts, shift_moments
from coordpath_governance.reports.impact_parts import GlmRowMetrics, RowEvidence

COSTS = (0.9, 0.6)
GRAM = np.array([[1.0, 0.0], [0.0, 4.0]])


def coordinate(label, column, old, new):
    return Coordinate(label, label, column, old, new, 0.0, 2.0, None, exercised=True, changed=True)


CHANGE = Change(
    (coordinate("(baseline)", None, 0.5, 0.75), coordinate("age", DesignColumn("numeric", "age"), 1.0, 1.5)),
    centred=True,
    gram=np.zeros((2, 2)),
    linear=np.zeros(2),
    constant=0.0,
)
PROBLEM = SimpleNamespace(start=np.array([0.5, 1.0]), target=np.array([0.75, 1.5]))


@pytest.fixture
def evidence(make):
    """Row evidence that says what a sample's impact says."""

    def of(name):
        impact = make(name).impact
        fields = GlmRowMetrics.model_fields
        metrics = [
            GlmRowMetrics(**{key: getattr(side, key) for key in fields}) for side in (impact.champion, impact.candidate)
        ]
        return RowEvidence(
            step_se=(0.1,),
            total_se=0.1,
            champion_mae=0.4,
            candidate_mae=0.3,
            shift_p05=-0.2,
            shift_p50=0.2,
            shift_p95=0.6,
            shift_largest=1.5,
            flips=impact.flips,
            segments=impact.segments,
            champion_metrics=metrics[0],
            candidate_metrics=metrics[1],
        )

    return of


def test_the_shift_of_the_score_follows_from_the_gram_matrix():
    assert shift_moments(CHANGE, PROBLEM, GRAM) == pytest.approx((0.25, 1.0))


def test_figures_follow_from_costs_and_rows(make, evidence):
    document, rows = make("binomial"), evidence("binomial")
    glm = document.glm.model_copy(update={"constant_cost": 1.2, "gram": ((1.0, 0.0), (0.0, 4.0))})
    impact = impact_facts(CHANGE, PROBLEM, document.data, COSTS, rows, glm)
    assert (impact.champion.cost, impact.candidate.cost, impact.delta) == (0.9, 0.6, pytest.approx(-0.3))
    assert (impact.champion.explained, impact.candidate.explained) == pytest.approx((0.25, 0.5))
    assert (impact.champion.mae, impact.candidate.mae) == (0.4, 0.3)
    assert impact.candidate.calibration == rows.candidate_metrics.calibration
    assert impact.champion.auc == rows.champion_metrics.auc
    assert (impact.shift.mean, impact.shift.sd, impact.shift.p95) == pytest.approx((0.25, 1.0, 0.6))
    assert impact.flips == rows.flips
    assert impact.flips.steps
    assert impact.flips.champion_threshold == 0.3


def test_several_classes_have_no_one_shift(make, evidence):
    document = make("multinomial")
    impact = impact_facts(CHANGE, PROBLEM, document.data, COSTS, evidence("multinomial"), document.glm)
    assert (impact.shift.mean, impact.shift.sd, impact.shift.p50) == (0.0, 0.0, 0.2)
    assert [balance.label for balance in impact.candidate.classes] == list(document.glm.classes)


def test_nothing_is_explained_where_a_constant_is_perfect(make, evidence):
    document = make("poisson")
    glm = document.glm.model_copy(update={"constant_cost": 0.0, "gram": ((1.0, 0.0), (0.0, 4.0))})
    assert impact_facts(CHANGE, PROBLEM, document.data, COSTS, evidence("poisson"), glm).champion.explained is None


def test_without_rows_nothing_can_be_said(make, evidence):
    document = make("multinomial")
    blank = evidence("multinomial").model_copy(update={"candidate_metrics": None})
    for rows in (None, blank):
        with pytest.raises(ReportFormatError, match="says nothing of the rows"):
            impact_facts(CHANGE, PROBLEM, document.data, COSTS, rows, document.glm)
