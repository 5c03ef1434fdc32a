"""The coefficients section: both models on common coordinates and in raw terms, and what came and went."""

from __future__ import annotations

from coordpath_governance.alignment.change import Change, Coordinate
from coordpath_governance.alignment.layout import ModelPair
from coordpath_governance.models.linear_model import LinearModel
from coordpath_governance.reports.document import CoordinateFacts, Counts, RawChange

__all__ = ["coordinate_facts", "count_changes", "merged_levels", "raw_changes"]

RAW_TOLERANCE = 1e-9
INTERCEPT = "(intercept)"


def coordinate_facts(change: Change) -> tuple[CoordinateFacts, ...]:
    """One line per coordinate, in the order of the change."""
    return tuple(_facts(c) for c in change.coordinates)


def _facts(c: Coordinate) -> CoordinateFacts:
    source = c.source
    return CoordinateFacts(
        label=c.label,
        unit=c.unit,
        kind="baseline" if source is None else source.kind,
        column=None if source is None else source.column,
        level=None if source is None else source.level,
        merged=() if source is None else source.merged,
        old=c.old,
        new=c.new,
        standardised_old=None if c.old is None or source is None else c.old * c.sd,
        standardised_new=None if c.new is None or source is None else c.new * c.sd,
        mean=c.mean,
        sd=c.sd,
        rows=c.rows,
        changed=c.changed,
        exercised=c.exercised,
        flips=c.flips,
    )


def merged_levels(change: Change) -> tuple[str, ...]:
    """The levels that stand together because one of them has too few rows, by column."""
    sources = [c.source for c in change.coordinates if c.source is not None and c.source.kind == "rare"]
    return tuple(dict.fromkeys(f"{source.column} ({', '.join(source.merged)})" for source in sources))


def raw_changes(pair: ModelPair) -> tuple[RawChange, ...]:
    """Every number of the models' own vectors, the intercept first."""
    old, new = _raw(pair.champion, pair.has_champion), _raw(pair.candidate, present=True)
    return tuple(_raw_change(name, old.get(name), new.get(name)) for name in dict.fromkeys([*new, *old]))


def _raw(model: LinearModel, present: bool) -> dict[str, float]:
    if not present:
        return {}
    if model.class_scores:
        scores = zip(model.classes, model.class_scores, strict=True)
        return {f"{name} [{label}]": value for label, score in scores for name, value in _raw(score, present=True).items()}
    values = {INTERCEPT: model.intercept} if model.has_intercept else {}
    if model.raw:
        return values | {raw.name: raw.value for raw in model.raw}
    values |= {term.column: term.coefficient for term in model.numeric}
    levels = (
        (f"{term.column}_{level}", effect)
        for term in model.categorical
        for level, effect in zip(term.levels, term.effects, strict=True)
    )
    return values | dict(levels)


def _raw_change(name: str, old: float | None, new: float | None) -> RawChange:
    before, after = old or 0.0, new or 0.0
    differs = abs(after - before) > RAW_TOLERANCE * max(abs(before), abs(after))
    return RawChange(name=name, old=old, new=new, differs=differs)


def count_changes(pair: ModelPair, change: Change, raw: tuple[RawChange, ...]) -> Counts:
    """How much differs; columns and levels added and dropped are told against the champion, if there is one."""
    old, new = pair.champion, pair.candidate
    added = [c for c in new.columns if c not in old.columns] if pair.has_champion else []
    dropped = [c for c in old.columns if c not in new.columns]
    levels = {side: _levels(model) for side, model in (("old", old), ("new", new))}
    shared = {column for column, _ in levels["old"]} & {column for column, _ in levels["new"]}
    return Counts(
        coefficients=len(change.coordinates),
        changed=sum(c.changed for c in change.coordinates),
        raw_coefficients=len(raw),
        raw_changed=sum(r.differs for r in raw),
        sign_flips=sum(c.flips for c in change.coordinates),
        columns_added=tuple(added),
        columns_dropped=tuple(dropped),
        levels_added=tuple(
            f"{c} = {level}" for c, level in levels["new"] if c in shared and (c, level) not in levels["old"]
        ),
        levels_dropped=tuple(
            f"{c} = {level}" for c, level in levels["old"] if c in shared and (c, level) not in levels["new"]
        ),
        not_exercised=sum(not c.exercised for c in change.coordinates),
    )


def _levels(model: LinearModel) -> dict[tuple[str, str], None]:
    scores = model.class_scores or (model,)
    return {(term.column, level): None for score in scores for term in score.categorical for level in term.levels}
