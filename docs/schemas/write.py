"""Write the JSON Schemas beside this file, for those who read our documents without us."""

import json
from pathlib import Path

from coordpath_governance.paths.document_schemas import path_schema, problem_schema
from coordpath_governance.policy.load import policy_schema
from coordpath_governance.rendering.change_report import json_schema
from coordpath_governance.reports.front_document import front_schema

HERE = Path(__file__).parent

if __name__ == "__main__":
    schemas = {
        "change_report": json_schema(),
        "front": front_schema(),
        "path": path_schema(),
        "policy": policy_schema(),
        "problem": problem_schema(),
    }
    for name, schema in schemas.items():
        text = json.dumps(schema, indent=2, sort_keys=True, ensure_ascii=False) + "\n"
        (HERE / f"{name}.schema.json").write_text(text, encoding="utf-8")
