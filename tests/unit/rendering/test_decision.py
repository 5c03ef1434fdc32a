"""The page about a decision: what it says, that it is the same again, and that hostile text is text."""

import os
import re
from pathlib import Path

import pytest

from coordpath_governance.canonical import sha256_hex
from coordpath_governance.rendering.decision_view import DECISION_LAYOUT, render_decision_html, render_decision_markdown
from coordpath_governance.reports.decision import (
    ApprovalGiven,
    ChangeDigests,
    DecisionDocument,
    GateVerdict,
    RejectionGiven,
    WaiverGiven,
)
from coordpath_governance.reports.document import RuleFacts

GOLDEN = Path(__file__).parents[2] / "golden" / "decisions"
EVIL = "<script>alert(1)</script> | [x](javascript:alert) **b** @octocat \u202e\x1b[31m\n# head"


def signed(by="Bob", roles=("validator",), entry=11):
    return {"by": by, "roles": roles, "key": "ab" * 32, "at": f"2026-03-0{entry % 9 + 1}T10:20:30.000000Z", "entry": entry}


def decision(text=None, **changes):
    """A promotion with two approvals, one waiver and four rules; ``text`` in place of whatever people wrote."""
    expires = "2026-04-01T00:00:00.000000Z"
    rules = (
        RuleFacts(
            rule=text or "final_cost_increase", observed="cost: 0.1", limit="cost at most 0.2", result="pass", reason=""
        ),
        RuleFacts(
            rule="steps", observed="12", limit=text or "10", result="waived", reason=text or "Waived. Too many steps."
        ),
        RuleFacts(rule="pages", observed="as recorded", limit="as recorded", result="pass", reason=""),
    )
    facts = {
        "decision": "promoted",
        "name": text or "credit",
        "alias": text or "champion",
        "from_version": "6",
        "to_version": "7",
        "at": "2026-03-09T10:20:30.123456Z",
        "actor": text or "Olga",
        "authenticated_by": "server",
        "completed": "at once",
        "full_validation": False,
        "verdict": GateVerdict(verdict="pass", materiality=text or "ordinary", rules=rules, entry=14),
        "approvals": (
            ApprovalGiven(**signed(text or "Bob"), comment=text or "figures rechecked", expires=expires),
            ApprovalGiven(**signed("Cleo", ("validator", text or "owner"), 12), comment="", expires=expires),
        ),
        "waivers": (
            WaiverGiven(
                **signed("Rita", ("risk",), 13), rule="steps", reason=text or "agreed with finance", expires=expires
            ),
        ),
        "rejections": (),
        "digests": ChangeDigests(
            from_model="6" * 64,
            to_model="7" * 64,
            report="a" * 64,
            policy="b" * 64,
            pages={"change_report.html": "c" * 64, "change_report.md": "d" * 64},
        ),
        "ledger": "e" * 32,
        "entry": 16,
        "entry_sha256": "f" * 64,
        "intent": 15,
    }
    return DecisionDocument(**{**facts, **changes})


def rejection(text=None):
    no = RejectionGiven(**signed(text or "Bob", entry=15), comment=text or "the data are old")
    return decision(
        text,
        decision="rejected",
        from_version=None,
        actor=text or "Bob",
        authenticated_by="key",
        completed=None,
        full_validation=None,
        intent=None,
        approvals=(),
        waivers=(),
        rejections=(no,),
        verdict=None,
        digests=ChangeDigests(from_model=None, to_model="7" * 64, report="a" * 64, policy="b" * 64, pages={}),
    )


LAYOUTS = {1: "5af25aaec637cae7cecb5aba5a6c87ad2748008832759a02d7cdc8020de7935e"}
"""Of all golden pages together. A change of a byte needs another `DECISION_LAYOUT`, once a version with this one is out."""


def test_the_layout_has_a_number_of_its_own():
    """An audit lays pages of the same number out again, and calls a ledger with other bytes not intact."""
    pages = b"".join(path.read_bytes() for path in sorted(GOLDEN.iterdir()))
    assert LAYOUTS[DECISION_LAYOUT] == sha256_hex(pages)


@pytest.mark.parametrize("kind", [decision, rejection])
@pytest.mark.parametrize(("suffix", "render"), [("html", render_decision_html), ("md", render_decision_markdown)])
def test_pages_are_as_they_were(kind, suffix, render):
    """To accept a change of look: COORDPATH_REGENERATE=1."""
    path, rendered = GOLDEN / f"{kind.__name__}.{suffix}", render(kind())
    if os.environ.get("COORDPATH_REGENERATE") == "1":
        path.write_text(rendered, encoding="utf-8", newline="\n")
    golden = path.read_text(encoding="utf-8")
    assert rendered == golden
    assert render(DecisionDocument.from_bytes(kind().to_bytes())) == golden


def test_a_promotion_says_who_what_and_why():
    page, text = render_decision_html(decision()), render_decision_markdown(decision())
    for shown in (page.replace("<wbr>", ""), text.replace("\\", "")):
        for said in (
            "Promoted to champion",
            "Olga",
            "figures rechecked",
            "agreed with finance",
            "steps",
            "2026-03-09 at 10:20",
        ):
            assert said in shown
        assert "2 of 3 checks were met (entry 14)" in shown
        assert "Fail" not in shown
        assert "a" * 64 in shown
    assert "default-src 'none'" in page
    assert "http" not in page.replace("http-equiv", "")


def test_a_rejection_says_who_and_why_and_what_is_not_on_record():
    for shown in (render_decision_html(rejection()), render_decision_markdown(rejection())):
        assert "Rejected" in shown
        assert "the data are old" in shown
        assert "Nobody approved this change." in shown
        assert "is not on record" in shown


def test_without_approvals_waivers_or_actor_that_is_said_and_a_crash_too():
    bare = decision(approvals=(), waivers=(), actor=None, authenticated_by=None, completed="after a crash")
    for shown in (render_decision_html(bare), render_decision_markdown(bare)):
        assert "By somebody whom nobody vouches for" in shown
        assert "its policy asked for no approval" in shown
        assert "No rule was waived." in shown
        assert "It was completed after a crash." in shown


@pytest.mark.parametrize("kind", [decision, rejection])
def test_hostile_text_is_text(kind):
    page, text = render_decision_html(kind(EVIL)), render_decision_markdown(kind(EVIL))
    for shown in (page, text):
        assert "<script" not in shown
        assert "\u202e" not in shown
        assert "\x1b" not in shown
        assert "\n# head" not in shown
    assert not re.search(r"(?<!\\)\]\(", text)
    assert "@octocat" not in text
    rows = [line for line in text.splitlines() if line.startswith("| ") and "alert" in line]
    assert rows


def test_too_much_is_shortened_and_counted():
    many = tuple(ApprovalGiven(**signed(entry=n), comment="x" * 4000, expires="2026-04-01T00:00:00Z") for n in range(1, 300))
    crowd = decision(approvals=many, rejections=tuple(rejection().rejections) * 70)
    page, text = render_decision_html(crowd), render_decision_markdown(crowd)
    assert len(page.encode()) < 400_000
    assert len(text.encode()) < 95_000
    for shown in (page, text):
        assert "more in" in shown
