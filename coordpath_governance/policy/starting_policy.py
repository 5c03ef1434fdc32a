"""A policy to start from: valid, commented, and strict until somebody loosens it."""

from __future__ import annotations

import yaml

__all__ = ["KINDS", "UNPINNED", "starting_policy"]

UNPINNED = "0" * 64
"""A digest that no data have: with it nothing passes."""

_TEXT = """\
# A policy for coordpath: which changes of a model pass, which need a person, which fail.
#   coordpath policy check FILE [--report change_report.json]    look at it, and try it on a report
#   coordpath policy adopt FILE --key KEY                         from then on the gate goes by it
schema: coordpath.policy/1
name: starting-policy

# Names of registered models; * and ? stand for anything. Exactly one adopted policy must match a model.
models: ["*"]
# Aliases that only a promotion may set or move.
aliases: [champion]

# What the model is. It fills the report, and wins over what an author says.
facts: {}
#  owner: Credit Risk
#  purpose: what the score is used for
#  tier: "2"
#  developer: Team A
#  validator: Team B

# The data that every change is judged on: these bytes, in this role, whatever the author would prefer.
reference:
%(pin)s
  # holdout or out-of-time; data that a version was trained on cannot be pinned.
  role: holdout
  target: %(target)s
  # weight: column of row weights
  # exposure: years             # or offset: column; of logistic, Poisson, gamma and Tweedie models
  # threshold: 0.5              # decisions "prediction >= threshold"; leave it out where the model has its own
  # segments: [region]          # needed by the limits by_segment
  missing: fail
  max_steps: 10

# A violation fails, unless the rule says "otherwise: review". What cannot be told never passes.
rules:
  final_cost_increase: {relative: 0.01, standard_errors: 2}
  gap: {most: 0.05, otherwise: review}
  rest: {coefficients: 200, otherwise: review}
  sign_flips: {most: 0, otherwise: review}
  features_added: {most: 0, otherwise: review}
  features_dropped: {most: 0, otherwise: review}
  unexercised: {changed: 0, otherwise: review}
%(change)s
  required_facts: {facts: [reason]}
  report_age: {days: 30}
  change_since_validation: {changes: 12, days: 366, standardised_change: 1.0, otherwise: review}
#  step_cost_increase: {relative: 0.05}
#  steps: {most: 11}
#  sign_constraints: {features: {income: positive, debt: negative}}
#  frozen_features: {features: [postcode]}
%(decisions)s
#  mean_score_shift: {overall: 0.1, by_segment: 0.2}

# Classes of change, the most severe first; one applies when any of its observations reaches the value, or is not known.
# The last takes all others. full_validation: a promotion in this class begins change_since_validation anew.
materiality:
  - class: major
    when: {first_version: 1, features_added: 1, features_dropped: 1, sign_flips: 1}
    approvals: [{role: validator, count: 1}, {role: owner, count: 1}]
    full_validation: true
  - class: moderate
    when: {%(moderate)s: 0.1}
    approvals: [{role: validator, count: 1}]
  - class: minor

# Who may take responsibility for a rule that is not met, and for how long.
waivers: {roles: [owner], longest_days: 30}
# Who may vouch for coefficients of a version that cannot be read (`coordpath declare`); nobody unless said.
# declarations: {roles: [validator]}
# How a version may have been read. Without it: in any way that coordpath reads itself; a reader plugin must be listed.
# formats: [skops, pickle, cloudpickle, parquet, declared]
# How long an approval holds, and how many more it takes where nobody vouches for the author.
approvals: {longest_days: 30, extra_for_unverified_author: 1}
"""


_LINEAR = """  # relative to the target's standard deviation
  standardised_change: {relative: 0.5, otherwise: review}"""
_SCORE = """  # in units of the score: log-odds, or the logarithm of a rate
  standardised_change: {absolute: 0.5, otherwise: review}"""
_BY_SEGMENT = "#  decision_flips: {overall: 0.05, by_segment: 0.1}"
_OVERALL = "  decision_flips: {overall: 0.05, otherwise: review}   # by_segment: 0.1 needs segments"

KINDS = {
    "linear": {"change": _LINEAR, "moderate": "standardised_change_relative", "decisions": _BY_SEGMENT},
    "classifier": {"change": _SCORE, "moderate": "standardised_change", "decisions": _OVERALL},
    "rate": {"change": _SCORE, "moderate": "standardised_change", "decisions": _BY_SEGMENT},
}
"""What differs by the kind of model: linear, logistic (a classifier), or Poisson, gamma and Tweedie (a rate)."""


def starting_policy(
    sha256: str | None = None, uri: str | None = None, target: str | None = None, kind: str = "linear"
) -> str:
    """The text of the policy for one of the `KINDS` of models, with the data pinned if they are known."""
    pin = f"  sha256: {_quoted(sha256 or UNPINNED)}"
    if sha256 is None:
        pin = f"  # Pin your data: `coordpath policy init --data FILE --target COL` writes their SHA-256.\n{pin}"
    if uri is not None:
        pin += f"\n  uri: {_quoted(uri)}"
    return _TEXT % {"pin": pin, "target": _quoted(target or "target"), **KINDS[kind]}


def _quoted(text: str) -> str:
    """``text`` in double quotes, as YAML writes it on one line."""
    return yaml.safe_dump(text, default_style='"', width=float("inf"), allow_unicode=True).strip()
