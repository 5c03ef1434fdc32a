"""The sentences about generalised linear models; those of squared errors are tested where reports are made."""

from __future__ import annotations

from dataclasses import replace

import pytest

from coordpath_governance.alignment.layout import ModelPair
from coordpath_governance.models.linear_model import LinearModel, NumericTerm
from coordpath_governance.reports.limits import limits
from coordpath_governance.reports.summary import summarise

FREQUENCY = LinearModel(0.1, (NumericTerm("age", 0.2),), family="poisson", link="log")


@pytest.fixture
def told(make):
    """A factory: the limits of the Poisson sample for two models, with figures of both versions changed."""

    def tell(champion=FREQUENCY, candidate=FREQUENCY, constant_cost=1.0, **figures):
        document = make("poisson")
        sides = {side: getattr(document.impact, side).model_copy(update=figures) for side in ("champion", "candidate")}
        impact = document.impact.model_copy(update=sides)
        glm = document.glm.model_copy(update={"constant_cost": constant_cost})
        parts = {key: getattr(document, key) for key in ("data", "counts", "path")}
        pair = ModelPair(champion, candidate)
        return limits(pair, **parts, impact=impact, merged=(), has_rows=True, glm=glm)

    return tell


def test_the_average_score_is_not_the_average_prediction(told):
    sentence = "Moving a slope leaves the average score where it is; the average prediction still moves"
    assert any(limit.startswith(sentence) for limit in told())
    without = replace(FREQUENCY, intercept=0.0, has_intercept=False)
    assert not any(limit.startswith(sentence) for limit in told(without, without))


@pytest.mark.parametrize(
    ("facts", "sentence"),
    [
        ({"kind": "ridge", "alpha": 1.0}, "the penalty that a version was trained with is not part of it."),
        ({"class_weight": "balanced"}, "the class weights that a version was trained with are not part of it."),
        (
            {"kind": "ridge", "class_weight": "balanced"},
            "penalty and class weights that a version was trained with are not part of it.",
        ),
    ],
)
def test_penalty_and_class_weights_are_not_in_the_cost(told, facts, sentence):
    assert f"The cost is the plain mean Poisson deviance: {sentence}" in told(
        candidate=replace(FREQUENCY, regularisation=facts)
    )
    assert not any("plain" in limit for limit in told(candidate=replace(FREQUENCY, regularisation={"kind": "none"})))


def test_tweedie_powers_that_differ(told):
    old, new = (replace(FREQUENCY, family="tweedie", power=power) for power in (1.4, 1.6))
    sentence = (
        "The versions were trained for different Tweedie powers, the champion for 1.4, the candidate for 1.6: "
        "both are judged by the candidate's."
    )
    assert sentence in told(old, new)
    assert not any("Tweedie" in limit for limit in told(new, new))


def test_worse_than_the_best_constant(told):
    sentence = "Both versions predict these data worse than the best constant would: check that the target column is right."
    assert sentence in told(explained=-0.1)
    assert sentence not in told(explained=0.1)
    assert sentence not in told(explained=None)


def test_nothing_to_explain(told):
    sentence = "A constant predicts these data without any error: no share of the deviance can be explained."
    assert sentence in told(constant_cost=0.0)
    assert sentence not in told()


def test_declared_coefficients(told):
    declared = replace(FREQUENCY, source="declared by the author in coefficients.json")
    assert sum("declared by the author" in limit for limit in told(candidate=declared)) == 1


def test_a_loss_without_an_error_is_named_in_the_headline(make):
    document = make("poisson")
    impact = document.impact.model_copy(update={"delta_se": None})
    parts = {key: getattr(document, key) for key in ("data", "counts", "path")} | {"impact": impact}
    summary = summarise(("v3", "v4"), **parts, glm=document.glm)
    assert summary.headline == "v4 has a lower mean Poisson deviance than v3; whether by more than chance is not known."
    assert "mean squared error" in summarise(("v3", "v4"), **parts).headline
