"""What came of a verification: each check with its findings, what was not rechecked, and what may be concluded."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field

__all__ = ["MODELS", "OTHER_WORDS", "POLICY", "Check", "Verification"]

POLICY = "the policy: whether it is the adopted one (compare its SHA-256 with the ledger), and what the gate adds to it"
_GATE = "what the gate adds to the policy, such as approvals and how old the report is: ask `coordpath gate`"
MODELS = "the models: whether coefficients and facts are those of the model files (give --model, or compare their digests)"
OTHER_WORDS = (
    "the sentences of summary and limits: they are in the words of an earlier edition of coordpath; the figures were "
    "rechecked, so go by these, or compare the file's SHA-256 with the ledger"
)


@dataclass(frozen=True)
class Check:
    """One thing that was rechecked, at which level, and the mismatches that were found."""

    level: str
    claim: str
    findings: tuple[str, ...] = ()

    @property
    def passed(self) -> bool:
        """Whether there was no mismatch."""
        return not self.findings


@dataclass
class Verification:
    """All checks, what was not rechecked, and what may be concluded.

    - ``versions``: the sides that the report is about.
    - ``files``: by side, whether coefficients were read from the model files (True), or only their digest compared (False).
    - ``unchecked``: parts of the folder around the report, as a sentence names them, that nothing was compared with.
    """

    checks: list[Check] = field(default_factory=list)
    not_rechecked: list[str] = field(default_factory=list)
    versions: tuple[str, ...] = ("champion", "candidate")
    files: dict[str, bool] = field(default_factory=dict)
    unchecked: tuple[str, ...] = ()

    @property
    def passed(self) -> bool:
        """Whether every check passed."""
        return all(check.passed for check in self.checks)

    @property
    def conclusion(self) -> str:
        """The last line: what was checked and what was not. It says "verified" only if the data were rechecked too.

        Sentences that were not composed again count as verified only if a ledger recorded exactly these bytes.
        """
        if not self.passed:
            failed = sum(not check.passed for check in self.checks)
            return f"NOT verified: {failed} of {len(self.checks)} checks found a mismatch"
        levels = {check.level for check in self.checks}
        against = [self._files_of(who) for who in self._spoken(self.files)] if self.files else []
        against += ["the ledger"] if "ledger" in levels else []
        others = "".join(f"; {part} were not checked" for part in self.unchecked)
        old_words = OTHER_WORDS in self.not_rechecked and "ledger" not in levels
        words = f"{'; the sentences are of an earlier edition and were not checked' if old_words else ''}{others}"
        if "data" in levels:
            unread = [f"{owner} model files were not checked" for owner in self._sides_without_files()]
            unread += [] if "ledger" in levels else ["nor was the ledger" if unread else "the ledger was not checked"]
            held = "the figures hold" if old_words else "verified"
            return (
                f"{held} against {_enumerated(['the data', *against])}"
                + (f"; {', '.join(unread)}" if unread else "")
                + words
            )
        besides = f", and so does the comparison with {_enumerated(against)}" if against else ""
        return f"arithmetic and certificate hold{besides}; the data were not rechecked{words}"

    def _spoken(self, versions: Collection[str]) -> list[str]:
        """The sides as sentences name them: "all" if it is all of them, and alike."""
        both = set(versions) == set(self.versions) and len({self.files.get(who) for who in versions}) == 1
        return ["all"] if both else [who for who in self.versions if who in versions]

    def _files_of(self, who: str) -> str:
        read = next(iter(self.files.values())) if who == "all" else self.files[who]
        files = "the model files" if who == "all" else f"the {who}'s model files"
        return files if read else f"the digest of {files}"

    def _sides_without_files(self) -> list[str]:
        sides = [who for who in self.versions if who not in self.files]
        if not sides:
            return []
        return ["the" if who == "all" else f"the {who}'s" for who in self._spoken(sides)]

    def settle(self, who: str, coefficients: bool) -> None:
        """Note that the model files of the side ``who`` were compared: with their ``coefficients``, or by digest only."""
        self.files[who] = coefficients
        unread = [side for side in self.versions if not self.files.get(side)]
        points = [f"the {side}'s model: whether its coefficients are those of its files" for side in unread]
        others = [point for point in self.not_rechecked if point != MODELS and not point.endswith("are those of its files")]
        self.not_rechecked = [*others, *points]

    def settle_policy(self) -> None:
        """Note that the ledger was asked whether the policy was adopted; what the gate adds remains to be asked."""
        self.not_rechecked = [_GATE if point == POLICY else point for point in self.not_rechecked]


def _enumerated(parts: Sequence[str]) -> str:
    """`a`, `a and b`, `a, b and c`."""
    return " and ".join(filter(None, (", ".join(parts[:-1]), parts[-1])))
