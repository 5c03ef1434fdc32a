"""Somebody else's rule, through the doors that CONTRIBUTING names and no others: a class, a line, a row of the guide."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

from coordpath_governance.rendering.change_report import ChangeReport

GUIDE_TEST = Path(__file__).with_name("test_guide.py")

RULE = '''
    """How far the average score may move in one change."""

    from __future__ import annotations

    from collections.abc import Sequence

    from coordpath_governance.policy.results import Finding, limit_text, value_text
    from coordpath_governance.policy.rules.base import JudgedChange, Limit, Rule


    class BaselineMove(Rule):
        """The largest change of the baseline, up or down."""

        largest: Limit

        def findings(self, change: JudgedChange) -> Sequence[Finding]:
            """One comparison: the baseline of both versions."""
            limit = f"at most {limit_text(self.largest, 'number')}"
            moves = [abs(c.new - c.old) for c in change.document.coordinates if c.kind == "baseline"]
            move = max(moves, default=0.0)
            met = move <= self.largest
            observed = f"baseline moves by {value_text(move, 'number', self.largest)}"
            return [Finding(observed, limit, met, "" if met else "The baseline moves too far.")]
'''

JUDGED = """
import json, sys
from coordpath_governance.errors import PolicyError
from coordpath_governance.policy.judge import assess, judge
from coordpath_governance.policy.load import policy_schema, read_policy
from coordpath_governance.rendering.change_report import ChangeReport
from coordpath_governance.rendering.render import render_html, render_markdown

document = ChangeReport.from_bytes(open("report.json", "rb").read()).document
policy = read_policy(open("policy.json").read(), "policy.json")
assessed = assess(document, policy)
try:
    read_policy(open("policy.json").read().replace("largest", "smallest"), "policy.json")
except PolicyError as error:
    refusal = str(error)
print(json.dumps({
    "verdict": judge(policy, document).verdict,
    "rule": next(r.model_dump() for r in judge(policy, document).results if r.rule == "baseline_move"),
    "schema": sorted(policy_schema()["$defs"]["Rules"]["properties"]),
    "html": render_html(assessed),
    "markdown": render_markdown(assessed),
    "refusal": refusal,
}))
"""


def test_a_rule_is_a_class_a_line_and_a_row_of_the_guide(changed_tree, document, policy_text):
    changed_tree.write("coordpath_governance/policy/rules/baseline.py", RULE)
    table = "coordpath_governance/policy/rules/__init__.py"
    changed_tree.add_line(table, "from coordpath_governance.policy.rules.change", IMPORT)
    changed_tree.add_line(table, '    "report_age"', '    "baseline_move": BaselineMove,')
    changed_tree.add_line("docs/policies.md", "| `report_age`", "| `baseline_move` | `largest`: of the average score |")
    changed_tree.add_line("docs/policies.md", "| days |", "| units of the average score | `baseline_move.largest` |")

    (changed_tree.root / "report.json").write_bytes(ChangeReport(document).to_bytes())
    (changed_tree.root / "policy.json").write_text(json.dumps(policy_text({"baseline_move": {"largest": 0.01}})))
    judged = json.loads(changed_tree.run("-c", JUDGED))
    assert judged["verdict"] == "fail"
    assert judged["rule"]["result"] == "fail"
    assert judged["rule"]["limit"] == "at most 0.01"
    assert judged["rule"]["observed"].startswith("baseline moves by 0.")
    assert "baseline_move" in judged["schema"]
    for page in (judged["html"], judged["markdown"].replace("\\_", "_").replace("&#8203;", "")):
        assert "baseline" in page
        assert "The baseline moves too far." in page
    assert "rules.baseline_move.smallest: there is no such key" in judged["refusal"]

    changed_tree.run("docs/schemas/write.py")
    schema = json.loads((changed_tree.root / "docs" / "schemas" / "policy.schema.json").read_text())
    assert schema["$defs"]["BaselineMove"]["required"] == ["largest"]
    (changed_tree.root / "tests" / "unit" / "policy").mkdir(parents=True)
    shutil.copy(GUIDE_TEST, changed_tree.root / "tests" / "unit" / "policy")
    guide = changed_tree.run("-m", "pytest", "-q", "-p", "no:randomly", "-p", "no:cacheprovider", "--rootdir=.", "tests")
    assert "failed" not in guide


IMPORT = "from coordpath_governance.policy.rules.baseline import BaselineMove"
