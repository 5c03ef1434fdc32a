"""A policy to start from, for one model: valid, with comments, and with limits that an ordinary refit meets."""

from __future__ import annotations

import yaml

from coordpath_governance.policy.patterns import exact_pattern
from coordpath_governance.text import shorten, visible

__all__ = ["KINDS", "UNPINNED", "kind_of", "starting_policy"]

UNPINNED = "0" * 64
"""The digest of no data at all: with it no report passes."""

_LONGEST_REMARK = 400

_TEXT = """\
# A policy for coordpath: which changes of a model pass, which need a person, which fail.
%(comment)s#   coordpath policy check FILE [--report change_report.json]    look at it, and try it on a report
#   coordpath policy adopt FILE --key KEY                         from then on the gate goes by it
schema: coordpath.policy/1
name: %(name)s

# Names of registered models; * and ? stand for anything, [*] for the character *.
# Exactly one adopted policy must match a model.
models: [%(models)s]
# Aliases that only a promotion may set or move.
aliases: [champion]

# What the model is. It fills the report, and wins over what an author says.
facts: {}
#  owner: Credit Risk
#  purpose: what the score is used for
#  tier: "2"
#  developer: Team A
#  validator: Team B
#  monitoring: accuracy, every month
#  rollback: promote the version before

# The data that every change is judged on: these bytes, in this role, whatever the author would prefer.
reference:
%(pin)s
  # holdout or out-of-time; data that a version was trained on cannot be pinned.
  role: holdout
  target: %(target)s
  # weight: column of row weights
  # exposure: years             # or offset: column; of logistic, Poisson, gamma and Tweedie models
%(threshold)s
  # segments: [region]          # needed by the limits by_segment
  missing: fail
  # number of single steps that are shown, before all the rest
  max_steps: 10

# A violation fails, unless the rule says "otherwise: review". What cannot be told never passes.
rules:
  # relative: share of the champion's cost, 0.02 is 2 %%; within_errors: within so many standard errors it counts as none
  final_cost_increase: {relative: 0.02, within_errors: 3}
  # share of what an order could still change, 0.05 is 5 %%
  gap: {most: 0.05, otherwise: review}
  # number of slopes and curves; at_least: share of the largest standardised coefficient, smaller ones may change sign
  sign_flips: {most: 0, at_least: 0.1, otherwise: review}
  # number of columns
  features_added: {most: 0, otherwise: review}
  # number of columns
  features_dropped: {most: 0, otherwise: review}
  # number of coefficients
  unexercised: {changed: 0, otherwise: review}
%(change)s
%(decisions)s
  # days
  report_age: {days: 30}
# More rules. The first needs a full validation to count from: a promotion in the class 'major' below.
#  change_since_validation: {changes: 12, days: 366, otherwise: review}   # number of promotions; days
#  step_cost_increase: {relative: 0.05}                     # share of the champion's cost
#  steps: {most: 11}                                        # number of steps
#  rest: {coefficients: 200}                                # number of coefficients in the step "all the rest"
#  sign_constraints: {features: {income: positive, debt: negative}}
#  frozen_features: {features: [postcode]}
#  mean_score_shift: {overall: 0.1, by_segment: 0.2}        # units of the score
# What an author says when registering (tags coordpath.reason ...) or with `coordpath report --reason`.
#  required_facts: {facts: [reason]}

# Classes of change, the most severe first; one applies when any of its observations reaches the value, or is not known.
# The last takes all others. full_validation: a promotion in this class begins change_since_validation anew.
materiality:
  - class: major
    # first_version: 1 is yes; the others: number of columns
    when: {first_version: 1, features_added: 1, features_dropped: 1}
    # count: number of people
    approvals: [{role: validator, count: 1}, {role: owner, count: 1}]
    full_validation: true
  - class: moderate
    # %(moderate_unit)s
    when: {%(moderate)s: 0.1}
    # count: number of people
    approvals: [{role: validator, count: 1}]
  - class: minor

# Who may take responsibility for a rule that is not met, and for how many days.
waivers: {roles: [risk], longest_days: 30}
# Who may vouch for coefficients of a version that cannot be read (`coordpath declare`); nobody unless said.
# declarations: {roles: [validator]}
# How a version may have been read. Without it: in any way that coordpath reads itself; a reader plugin must be listed.
# formats: [skops, pickle, cloudpickle, parquet, declared]
# How many days an approval holds, and how many more people it takes where nobody vouches for the author.
approvals: {longest_days: 30, extra_for_unverified_author: 1}
"""


_LINEAR = """  # share of the target's standard deviation, 0.5 is half of it
  standardised_change: {relative: 0.5, otherwise: review}"""
_SCORE = """  # units of the score: log-odds, or the logarithm of a rate
  standardised_change: {absolute: 0.5, otherwise: review}"""
_BY_SEGMENT = """  # share of decisions; needs a threshold in reference, by_segment also segments
#  decision_flips: {overall: 0.05, by_segment: 0.1}"""
_OVERALL = """  # share of decisions, 0.05 is 5 %; by_segment: 0.1 needs segments
  decision_flips: {overall: 0.05, otherwise: review}"""
_NUMBER = '  # threshold: 0.5              # decisions "prediction >= threshold", in units of the prediction'
_PROBABILITY = """  # decisions "probability of this class >= value"; leave it out where the model has its own
  # threshold: {value: 0.5, class: bad}"""
_OF_TARGET = "share of the target's standard deviation, 0.1 is a tenth of it"
_OF_SCORE = "units of the score: log-odds, or the logarithm of a rate"
_IN_TARGET = {"moderate": "standardised_change_relative", "moderate_unit": _OF_TARGET}
_IN_SCORE = {"moderate": "standardised_change", "moderate_unit": _OF_SCORE}

KINDS = {
    "linear": {"change": _LINEAR, "decisions": _BY_SEGMENT, "threshold": _NUMBER, **_IN_TARGET},
    "classifier": {"change": _SCORE, "decisions": _OVERALL, "threshold": _PROBABILITY, **_IN_SCORE},
    "rate": {"change": _SCORE, "decisions": _BY_SEGMENT, "threshold": _NUMBER, **_IN_SCORE},
}
"""What differs by the kind of model: linear, logistic (a classifier), or Poisson, gamma and Tweedie (a rate)."""


def kind_of(family: str) -> str:
    """The kind of a model with this `LinearModel.family`, one of `KINDS`."""
    if family == "gaussian":
        return "linear"
    return "classifier" if family in ("binomial", "multinomial") else "rate"


def starting_policy(
    model: str,
    *,
    sha256: str | None = None,
    uri: str | None = None,
    target: str | None = None,
    kind: str = "linear",
    remark: str | None = None,
) -> str:
    """The text of a policy for the registered ``model``, which is of one of the `KINDS`.

    ``sha256`` and ``uri`` of the reference data, and the column of their ``target``, are filled in where they are known.
    ``remark`` is a sentence about the policy, which becomes a comment.

    Raises `UsageError` if the model's name is too long, blank, or holds characters that cannot be seen.
    """
    pin = f"  sha256: {_quoted(sha256 or UNPINNED)}"
    if sha256 is None:
        advice = "Pin your data: `coordpath policy init --model NAME --data FILE --target COL` writes their SHA-256."
        pin = f"  # {advice}\n{pin}"
    if uri is not None:
        pin += f"\n  uri: {_quoted(uri)}"
    names = {"models": _quoted(exact_pattern(model)), "name": _quoted(model)}
    comment = "" if remark is None else f"# {shorten(visible(remark), _LONGEST_REMARK)}\n"
    return _TEXT % {**names, "comment": comment, "pin": pin, "target": _quoted(target or "target"), **KINDS[kind]}


def _quoted(text: str) -> str:
    """``text`` in double quotes, as YAML writes it on one line."""
    return yaml.safe_dump(text, default_style='"', width=float("inf"), allow_unicode=True).strip()
