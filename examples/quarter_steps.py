"""A step type of your own: coefficients that people remember, in quarters, and that move by at most one unit at a time."""

import coordpath_governance as cg
from coordpath_governance.paths.step_types import GridSteps, register_step_type

register_step_type(GridSteps("quarter", spacing=0.25, up=4, down=4))

AGE = {
    "features": ["height", "weight"],
    "cost": {"gram": [[1, 0.9], [0.9, 1]], "linear": [1.274, 0.968], "constant": 2.04096},
    "target": None,
    "steps": 4,
}

if __name__ == "__main__":
    for title, asked in (
        ("any values", {}),
        ("quarters", {"step_type": "quarter"}),
        ("quarters, no negative ones", {"step_type": "quarter", "constraints": {"sign": {"weight": "positive"}}}),
    ):
        solution = cg.solve({**AGE, **asked})
        steps = ", ".join(f"{step.label} {step.moves[0].after:.4g} (cost {step.cost:.3f})" for step in solution.path.steps)
        print(f"{title}, {solution.status}: {steps}")
