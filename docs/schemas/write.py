"""Write the JSON Schemas beside this file, for those who read our documents without us."""

import json
from pathlib import Path

from coordpath_governance.policy.load import policy_schema
from coordpath_governance.rendering.change_report import json_schema
from coordpath_governance.reports.front_document import front_schema

HERE = Path(__file__).parent

if __name__ == "__main__":
    for name, schema in (("change_report", json_schema()), ("front", front_schema()), ("policy", policy_schema())):
        text = json.dumps(schema, indent=2, sort_keys=True, ensure_ascii=False) + "\n"
        (HERE / f"{name}.schema.json").write_text(text, encoding="utf-8")
