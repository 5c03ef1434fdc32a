"""The path as a page shows it: rows of text, the waterfall, the brackets in words."""

from __future__ import annotations

from dataclasses import dataclass

from coordpath_governance.numbers import CostColumn, cost_column, count, is_within_noise, pair, percent
from coordpath_governance.rendering import wording
from coordpath_governance.rendering.caps import Caps, Shown
from coordpath_governance.rendering.svg import Picture
from coordpath_governance.rendering.templates import bar
from coordpath_governance.rendering.waterfall import Waterfall, WaterfallStep, waterfall
from coordpath_governance.reports.document import ChangeReportDocument, StepFacts

__all__ = [
    "BracketView",
    "MoveView",
    "PathView",
    "StepView",
    "end_label",
    "path_column",
    "path_view",
    "start_label",
    "unexercised",
]

TIES = {"none": "", "only": "", "first": "┌ ", "middle": "│ ", "last": "└ "}
"""A bracket in plain characters, for Markdown."""


@dataclass(frozen=True)
class MoveView:
    """One coefficient of a step, from → to."""

    label: str
    old: str
    new: str


@dataclass(frozen=True)
class StepView:
    """One row of the path's table."""

    number: str
    label: str
    kind: str
    slug: str
    move: MoveView | None
    moves: Shown[MoveView]
    moves_count: str
    is_function: bool
    cost: str
    delta: str
    direction: str
    worsens: bool
    within_noise: bool
    share: str | None
    shapley: str
    bracket: str | None
    place: str
    tie: str
    bar: str


@dataclass(frozen=True)
class BracketView:
    """Steps that only together pay off, in words."""

    name: str
    sentence: str


@dataclass(frozen=True)
class PathView:
    """The view of the section "path"."""

    empty: bool
    empty_text: str
    cost_name: str
    cost_title: str
    order_free: str
    suffix: str
    steps: tuple[StepView, ...]
    left_out: int
    start_label: str
    start_cost: str
    end_label: str
    end_cost: str
    total: str
    minimum: str
    has_errors: bool
    has_share: bool
    brackets: tuple[BracketView, ...]
    certificate: str
    status: str
    axis_note: str
    picture: Picture | None


def start_label(document: ChangeReportDocument, caps: Caps) -> str:
    """What the path starts from: the champion, or nothing at all."""
    champion = document.subject.champion
    return (
        "No model (all coefficients zero)"
        if champion is None
        else wording.version_label("Champion", caps.label(champion.label))
    )


def end_label(document: ChangeReportDocument, caps: Caps) -> str:
    """What the path ends at."""
    return wording.version_label("Candidate", caps.label(document.subject.candidate.label))


def path_column(document: ChangeReportDocument) -> CostColumn:
    """One number format for every cost in the report."""
    steps = document.path.steps
    costs = [document.path.start_cost, *(step.cost for step in steps)]
    return cost_column(costs, [step.delta for step in steps])


def path_view(document: ChangeReportDocument, caps: Caps) -> PathView:
    """The section "path": every step with its cost, and the waterfall."""
    path = document.path
    column = path_column(document)
    cost = wording.cost_name(document)
    drawn = path.steps[: caps.steps]
    chart = _chart(document, caps, column)
    low, high = chart.domain() if chart else (0.0, 0.0)
    end = path.steps[-1].cost if path.steps else path.start_cost
    views: list[StepView] = []
    before = path.start_cost
    for index, step in enumerate(drawn):
        text_bar = bar(before, step.cost, low, high)
        views.append(_step_view(step, _place(drawn, index), text_bar, caps, column))
        before = step.cost
    return PathView(
        empty=not path.steps,
        empty_text=wording.EMPTY_PATH,
        cost_name=cost,
        cost_title=wording.sentence_start(cost),
        order_free=wording.order_free(document)[0],
        suffix=column.suffix,
        steps=tuple(views),
        left_out=len(path.steps) - len(drawn),
        start_label=start_label(document, caps),
        start_cost=column.cost(path.start_cost),
        end_label=end_label(document, caps),
        end_cost=column.cost(end),
        total=column.delta_with_error(end - path.start_cost, document.impact.delta_se) if path.steps else "0",
        minimum=column.cost(path.minimum_cost) + column.suffix,
        has_errors=any(step.delta_se is not None for step in path.steps),
        has_share=any(step.share is not None for step in path.steps),
        brackets=_brackets(path.steps, column, cost)[: caps.entries],
        certificate=wording.certificate(document, column),
        status=path.status,
        axis_note=_axis_note(chart),
        picture=waterfall(chart) if chart and caps.chart_rows else None,
    )


def unexercised(document: ChangeReportDocument, section: int) -> str:
    """A warning where coefficients changed that the data cannot judge, "" if there are none; ``section`` lists them."""
    changed = sum(c.changed and not c.exercised for c in document.coordinates)
    if not changed:
        return ""
    some = "One coefficient changed that is" if changed == 1 else f"{count(changed)} coefficients changed that are"
    return f"{some} not exercised by this data (listed in section {section}): what that change does is not known."


def _axis_note(chart: Waterfall | None) -> str:
    if chart is None:
        return ""
    note = "The axis starts at zero."
    if not chart.starts_at_zero():
        note = "The axis does not start at zero; it is drawn to show the differences between steps."
    return (
        f"{note} The first step is larger than the axis (in the drawing it breaks at the mark //)."
        if chart.breaks()
        else note
    )


def _step_view(step: StepFacts, place: str, text_bar: str, caps: Caps, column: CostColumn) -> StepView:
    single = step.from_ is not None and step.to is not None
    is_function = step.kind in ("function", "interaction")
    listed = () if single or is_function else step.moves
    return StepView(
        number=str(step.k),
        label=caps.label(wording.step_name(step)),
        kind=wording.KIND_WORDS[step.kind],
        slug=step.kind,
        move=_texts(step.feature, step.from_, step.to, caps) if single else None,
        moves=Shown.first(listed, caps.moves, lambda move: _texts(move.feature, move.from_, move.to, caps)),
        moves_count=f"{count(len(step.moves))} coefficient{'' if len(step.moves) == 1 else 's'}",
        is_function=is_function,
        cost=column.cost(step.cost),
        delta=column.delta_with_error(step.delta, step.delta_se),
        direction="worse" if step.delta > 0 else "better" if step.delta < 0 else "same",
        worsens=step.worsens,
        within_noise=is_within_noise(step.delta, step.delta_se),
        share=None if step.share is None else percent(step.share),
        shapley=column.delta(step.shapley),
        bracket=_letter(step.bracket),
        place=place,
        tie=TIES[place],
        bar=text_bar,
    )


def _texts(label: str, old: float | None, new: float | None, caps: Caps) -> MoveView:
    texts = pair(old or 0.0, new or 0.0)
    return MoveView(caps.label(label), *texts)


def _letter(bracket: int | None) -> str | None:
    """A, B, … Z, then A2 and so on."""
    if bracket is None:
        return None
    round_, index = divmod(max(bracket - 1, 0), 26)
    return chr(ord("A") + index) + (str(round_ + 1) if round_ else "")


def _place(steps: tuple[StepFacts, ...], index: int) -> str:
    """Where in its bracket a step stands: first, middle, last, only; none without a bracket."""
    own = steps[index].bracket
    if own is None:
        return "none"
    follows = index > 0 and steps[index - 1].bracket == own
    goes_on = index + 1 < len(steps) and steps[index + 1].bracket == own
    return {(False, True): "first", (True, True): "middle", (True, False): "last", (False, False): "only"}[follows, goes_on]


def _brackets(steps: tuple[StepFacts, ...], column: CostColumn, cost: str) -> tuple[BracketView, ...]:
    runs: dict[int, list[StepFacts]] = {}
    for step in steps:
        if step.bracket is not None:
            runs.setdefault(step.bracket, []).append(step)
    return tuple(BracketView(_letter(key) or "", _bracket_sentence(run, column, cost)) for key, run in runs.items())


def _bracket_sentence(run: list[StepFacts], column: CostColumn, cost: str) -> str:
    worse = [str(step.k) for step in run if step.worsens]
    which = f"{run[0].k} and {run[-1].k}" if len(run) == 2 else f"{run[0].k} to {run[-1].k}"
    total = column.delta(sum(step.delta for step in run)) + column.suffix
    if len(run) == 1:
        return f"Step {run[0].k} makes the model worse by itself ({total}); no later step completes it."
    lead = f"Steps {which} belong together"
    if worse:
        alone = f"step {worse[0]} makes" if len(worse) == 1 else f"steps {', '.join(worse)} make"
        lead += f": {alone} the model worse until the bracket is complete"
    return f"{lead}. Together they change the {cost} by {total}."


def _chart(document: ChangeReportDocument, caps: Caps, column: CostColumn) -> Waterfall | None:
    path = document.path
    if not path.steps[: caps.steps]:
        return None
    steps: list[WaterfallStep] = []
    before = path.start_cost
    for step in path.steps[: caps.steps]:
        label = caps.label(wording.step_name(step))
        amount = column.delta(step.delta)
        name = _letter(step.bracket)
        steps.append(WaterfallStep(str(step.k), label, before, step.cost, step.delta_se, amount, name))
        before = step.cost
    left_out = len(path.steps) - len(steps)
    end = f"After step {steps[-1].number}" if left_out else end_label(document, caps)
    words = "; ".join(f"step {step.number}, {step.label}: {step.amount}" for step in steps)
    return Waterfall(
        start_label=start_label(document, caps),
        end_label=end,
        steps=tuple(steps),
        left_out=left_out,
        minimum=path.minimum_cost,
        column=column,
        cost_name=wording.cost_name(document),
        description=f"From {column.cost(path.start_cost)} to {column.cost(before)}{column.suffix}. {words}.",
    )
