"""What the ledger says about one model: who registered, what was reported and decided, and which version has an alias."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import TypeVar

from coordpath_governance.ledger.authors import author_of
from coordpath_governance.ledger.entries import Entry
from coordpath_governance.ledger.events import (
    Adoption,
    Approval,
    Binding,
    Body,
    Emergency,
    Intent,
    OutsideMove,
    Promotion,
    Rejection,
    ReportMade,
    VersionRetired,
    Waiver,
)

__all__ = ["ModelHistory", "Standing"]

Facts = TypeVar("Facts", bound=Body)


@dataclass(frozen=True)
class Standing:
    """The version that has an alias by the ledger. ``doubt`` is why that may be wrong; None if there is no doubt.

    A version without ``digest`` was adopted after its files, and all that was known about them, were gone.
    """

    version: str | None
    digest: str | None
    doubt: str | None = None

    @property
    def explained_from(self) -> str | None:
        """The version from which the next change is explained; None: from zero, because nothing is known about it."""
        return None if self.digest is None else self.version


@dataclass(frozen=True)
class ModelHistory:
    """One model's chain."""

    entries: tuple[Entry, ...]

    @property
    def newest(self) -> int:
        """Place of the newest entry in the model's chain; 0 if there is none."""
        return self.entries[-1].model_seq or 0 if self.entries else 0

    def of(self, kind: type[Facts]) -> Iterator[tuple[Entry, Facts]]:
        """All entries of one kind, oldest first."""
        for entry in self.entries:
            facts = entry.facts
            if isinstance(facts, kind):
                yield entry, facts

    @property
    def aliases(self) -> frozenset[str]:
        """Every alias that a promotion was begun for or that was adopted; they stay guarded whatever policies say later."""
        begun = {facts.binding.alias for _, facts in self.of(Intent)}
        return frozenset(begun | {facts.alias for _, facts in self.of(Adoption)})

    def author(self, version: str, model_created_at: int | None = None, version_created_at: int | None = None) -> str | None:
        """Who registered a version, if the server or a key vouched for it; see `author_of`."""
        return author_of(self.entries, version, model_created_at, version_created_at)

    def report(self, version: str, champion: str | None) -> tuple[Entry, ReportMade] | None:
        """The newest report on a version, if there is one on the change from this champion rather than another."""
        reports = [(entry, facts) for entry, facts in self.of(ReportMade) if facts.version == version]
        fitting = [each for each in reports if each[1].champion == champion] or reports
        return fitting[-1] if fitting else None

    def reported_from(self, *champions: str | None) -> tuple[str, ...]:
        """Versions, not retired, whose newest report explains the change from one of these, by number."""
        newest = {facts.version: facts.champion for _, facts in self.of(ReportMade)}
        explained = [version for version, before in newest.items() if before in champions and not self.retired(version)]
        return tuple(sorted(explained, key=int))

    def decisions(self, binding: Binding) -> tuple[tuple[Entry, Approval | Rejection], ...]:
        """All decisions on exactly this change, oldest first."""
        return tuple(
            (entry, facts)
            for entry in self.entries
            if isinstance(facts := entry.facts, Approval | Rejection) and facts.binding == binding
        )

    def last_move(self, alias: str) -> int:
        """The newest entry that says where the alias stands; approvals and waivers from before it do not count."""
        moves = [
            entry.seq
            for entry in self.entries
            if isinstance(facts := entry.facts, Promotion | Adoption | OutsideMove) and facts.alias == alias
        ]
        return max(moves, default=0)

    def waivers(self, binding: Binding) -> tuple[tuple[Entry, Waiver], ...]:
        """Waivers of rules for exactly this change."""
        return tuple((entry, facts) for entry, facts in self.of(Waiver) if facts.binding == binding)

    @cached_property
    def consumed(self) -> frozenset[str]:
        """Hashes of the approvals and waivers that a promotion has used up."""
        return frozenset(digest for _, facts in self.of(Intent) for digest in (*facts.approvals, *facts.waivers))

    @cached_property
    def promoted(self) -> dict[str, Entry]:
        """Entries of promotions by the hash of their intent."""
        return {facts.intent: entry for entry, facts in self.of(Promotion)}

    @cached_property
    def intents(self) -> dict[str, Intent]:
        """The intents by the hash of their entry."""
        return {entry.hash: facts for entry, facts in self.of(Intent)}

    def decided_on(self, alias: str, version: str) -> ReportMade | None:
        """The report on which the newest promotion of a version to an alias was decided; None if there was none."""
        for _, promotion in reversed([*self.of(Promotion)]):
            if (promotion.alias, promotion.to_version) == (alias, version):
                intent = self.intents.get(promotion.intent)
                reports = [report for _, report in self.of(ReportMade) if intent and report.report == intent.binding.report]
                return reports[-1] if reports else None
        return None

    def stands_by(self, version: str, champion: str | None) -> ReportMade | None:
        """The report on exactly this change by which a version got the alias that it has now; None if there is none."""
        for alias in sorted(self.aliases):
            report = self.decided_on(alias, version) if self.standing(alias).version == version else None
            if report is not None and report.champion == champion:
                return report
        return None

    def open_intent(self, alias: str) -> tuple[Entry, Intent | Emergency] | None:
        """A promotion that was begun, is not completed, and was not overtaken by an adoption or a move outside the gate."""
        waiting: tuple[Entry, Intent | Emergency] | None = None
        for entry in self.entries:
            facts = entry.facts
            if isinstance(facts, Intent | Emergency) and facts.binding.alias == alias:
                waiting = None if entry.hash in self.promoted else (entry, facts)
            elif isinstance(facts, OutsideMove | Adoption) and facts.alias == alias:
                waiting = None
        return waiting

    def standing(self, alias: str) -> Standing:
        """The version to which the newest promotion or adoption gave the alias, and whether it was moved since."""
        current = Standing(None, None)
        for entry in self.entries:
            facts = entry.facts
            if isinstance(facts, Promotion) and facts.alias == alias:
                current = Standing(facts.to_version, facts.to_digest)
            elif isinstance(facts, Adoption) and facts.alias == alias:
                current = Standing(facts.version, facts.digest)
            elif isinstance(facts, OutsideMove) and facts.alias == alias:
                current = Standing(current.version, current.digest, facts.reason)
        return current

    def kept(self, version: str) -> Entry | None:
        """The newest entry that gave the version an alias, unless the version was retired since."""
        newest: Entry | None = None
        for entry in self.entries:
            facts = entry.facts
            if (isinstance(facts, Promotion) and facts.to_version == version) or (
                isinstance(facts, Adoption) and facts.version == version
            ):
                newest = entry
            elif isinstance(facts, VersionRetired) and facts.version == version:
                newest = None
        return newest

    @property
    def kept_versions(self) -> tuple[str, ...]:
        """All versions that ever had an alias and were not retired since, in the order of their numbers."""
        once = {facts.to_version for _, facts in self.of(Promotion)} | {facts.version for _, facts in self.of(Adoption)}
        return tuple(sorted((each for each in once if each is not None and self.kept(each)), key=int))

    def retired(self, version: str) -> bool:
        """Whether the version was retired and got no alias since."""
        return self.kept(version) is None and any(facts.version == version for _, facts in self.of(VersionRetired))

    def since_validation(self, alias: str) -> tuple[tuple[str, ...], str | None]:
        """Reports of the promotions since the last full validation, and when that was.

        Adopting other files starts again with no validation, because nobody measured that change. An emergency rollback
        removes the changes after the version that it puts back.
        """
        intents = self.intents
        emergencies = {entry.hash for entry, _ in self.of(Emergency)}
        reports: list[str] = []
        validated: str | None = None
        standing: str | None = None
        before: dict[str | None, tuple[list[str], str | None]] = {}
        for entry in self.entries:
            facts = entry.facts
            if isinstance(facts, Adoption) and facts.alias == alias:
                if facts.digest != standing:
                    reports, validated = [], None
                standing = facts.digest
            elif isinstance(facts, Promotion) and facts.alias == alias and facts.intent in intents:
                intent = intents[facts.intent]
                reports = [] if intent.full_validation else [*reports, intent.binding.report]
                validated = entry.at if intent.full_validation else validated
                standing = facts.to_digest
            elif isinstance(facts, Promotion) and facts.alias == alias and facts.intent in emergencies:
                reports, validated = before.get(facts.to_digest, ([], None))
                standing = facts.to_digest
            before[standing] = (reports, validated)
        return tuple(reports), validated
