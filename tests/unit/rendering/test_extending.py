"""Somebody else's section of the report, through the doors that CONTRIBUTING names: a view, two templates, a line."""

from __future__ import annotations

import json
import re

from coordpath_governance.numbers import significant
from coordpath_governance.rendering.change_report import ChangeReport

VIEW = '''
    """The mean of each column in the reference data."""

    from __future__ import annotations

    from dataclasses import dataclass

    from coordpath_governance.numbers import significant
    from coordpath_governance.rendering.caps import Caps, Shown
    from coordpath_governance.reports.document import ChangeReportDocument


    @dataclass(frozen=True)
    class MeansView:
        """The section "means"."""

        columns: Shown[tuple[str, str]]


    def means_view(document: ChangeReportDocument, caps: Caps) -> MeansView:
        """The view of the section "means"."""
        entry = lambda c: (caps.label(c.label), significant(c.mean))
        return MeansView(Shown.first(document.coordinates, caps.entries, entry))
'''

HTML = """
    <section id="means" aria-labelledby="means-title">
    <h2 id="means-title"><span class="number">{{ section.number }}</span>{{ section.title }}</h2>
    <ul>
    {% for name, mean in report.means.columns.entries %}
    <li>{{ name|bdi }}: {{ mean }} on average</li>
    {% endfor %}
    </ul>
    </section>
"""

MARKDOWN = """\
    ## {{ section.number }}. {{ section.title }}

    {% for name, mean in report.means.columns.entries %}
    - {{ name }}: {{ mean }} on average
    {% endfor %}

"""

PAGES = """
import json
from coordpath_governance.rendering.change_report import ChangeReport
from coordpath_governance.rendering.render import render_html, render_markdown

document = ChangeReport.from_bytes(open("report.json", "rb").read()).document
print(json.dumps([render_html(document), render_markdown(document)]))
"""


def test_a_section_is_a_view_a_template_in_each_format_and_a_line(changed_tree, make):
    changed_tree.write("coordpath_governance/rendering/means_view.py", VIEW)
    changed_tree.write("templates/sections/means.html.j2", HTML)
    changed_tree.write("templates/sections/means.md.j2", MARKDOWN)
    table = "coordpath_governance/rendering/sections.py"
    view = "from coordpath_governance.rendering.means_view import means_view"
    changed_tree.add_line(table, "from coordpath_governance.rendering.summary_view", view)
    changed_tree.add_line(table, '    Section("coefficients"', '    Section("means", "Means of the columns", means_view),')

    document = make("large")
    idle = document.coordinates[-1].model_copy(update={"changed": True, "exercised": False})
    document = document.model_copy(update={"coordinates": (*document.coordinates[:-1], idle)})
    (changed_tree.root / "report.json").write_bytes(ChangeReport(document).to_bytes())
    html, markdown = json.loads(changed_tree.run("-c", PAGES))
    assert '<a href="#means">5&ensp;Means of the columns</a>' in html
    assert '<span class="number">5</span>Means of the columns</h2>' in html
    assert '<span class="number">6</span>Coefficients, old and new</h2>' in html
    titles = re.findall(r"(?m)^## (.*)$", markdown)
    assert titles[4:6] == ["5. Means of the columns", "6. Coefficients, old and new"]
    assert len(titles) == 12
    first = document.coordinates[0]
    assert f"<bdi>{first.label}</bdi>: {significant(first.mean)} on average" in html
    assert f"- {first.label}: {significant(first.mean)} on average" in markdown
    for page in (html, markdown):
        assert "(listed in section 6)" in page
        assert "section 5)" not in page
