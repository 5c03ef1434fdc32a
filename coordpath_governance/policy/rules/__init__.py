"""The rules that a policy may set, by their names in it."""

from __future__ import annotations

from coordpath_governance.policy.rules.base import JudgedChange, Rule
from coordpath_governance.policy.rules.change import (
    DecisionFlips,
    FinalCostIncrease,
    Gap,
    MeanScoreShift,
    RequiredFacts,
    Rest,
    StepCostIncrease,
    Steps,
)
from coordpath_governance.policy.rules.coefficients import (
    FeaturesAdded,
    FeaturesDropped,
    FrozenFeatures,
    SignConstraints,
    SignFlips,
    StandardisedChange,
    Unexercised,
)
from coordpath_governance.policy.rules.gate import ChangeSinceValidation, ReportAge

__all__ = ["RULES", "JudgedChange", "Rule"]

RULES: dict[str, type[Rule]] = {
    "final_cost_increase": FinalCostIncrease,
    "step_cost_increase": StepCostIncrease,
    "steps": Steps,
    "rest": Rest,
    "gap": Gap,
    "sign_flips": SignFlips,
    "sign_constraints": SignConstraints,
    "frozen_features": FrozenFeatures,
    "features_added": FeaturesAdded,
    "features_dropped": FeaturesDropped,
    "standardised_change": StandardisedChange,
    "unexercised": Unexercised,
    "decision_flips": DecisionFlips,
    "mean_score_shift": MeanScoreShift,
    "required_facts": RequiredFacts,
    "report_age": ReportAge,
    "change_since_validation": ChangeSinceValidation,
}
