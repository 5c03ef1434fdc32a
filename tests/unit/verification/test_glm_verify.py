"""Reports on classifiers and rates that say something else than they did: found in the report itself, or by the rows."""

import itertools
import json
import re

import numpy as np
import pandas as pd
import pytest
from helpers.forging import changed, forge, leaves, noticed

from coordpath_governance import explain_change
from coordpath_governance.alignment.change import align
from coordpath_governance.alignment.layout import ModelPair
from coordpath_governance.errors import CoordpathError, ReportFormatError
from coordpath_governance.models.linear_model import CategoricalTerm, LinearModel, NumericTerm, RawCoefficient
from coordpath_governance.paths import Certificate, Solution, evaluate_order, parse_problem
from coordpath_governance.rendering.change_report import ChangeReport
from coordpath_governance.reports.compose import ReportInputs, compose
from coordpath_governance.verification.evidence import evidence_of
from coordpath_governance.verification.verify import verify_report

ROWS = 60
SAID = ("facts.", "recheck.versions.", "subject.", "tool.")
"""What people said, and which programmes were at work."""

OF_THE_MODELS = ("estimator", "library", "source", "missing", "numeric_levels", "has_intercept")
"""Facts of the model files that no figure follows from here."""

ONLY_ROWS = re.compile(
    r"problem\.cost\.record\.(curvature|evaluations)\..+|coordinates\.\d+\.rows"
    r"|data\.(sha256|target|target_sd|exposure|weight|weight_sum|weight_square_sum)"
)
"""What can be changed so that nothing else in the report says otherwise, at least of weighted counts."""


def score(intercept, slopes, effects, **kind):
    return LinearModel(
        intercept,
        tuple(NumericTerm(name, value) for name, value in slopes.items()),
        (CategoricalTerm("colour", tuple(effects), tuple(effects.values()), unknown=0.0),),
        raw=tuple(RawCoefficient(name, value) for name, value in slopes.items()),
        **kind,
    )


OLD = (-0.2, {"a": 0.5, "b": -0.2, "c": 0.1}, {"red": 0.0, "green": 0.3})
NEW = (0.1, {"a": 0.8, "b": -0.6, "c": 0.1}, {"red": 0.1, "green": -0.3})
THIRD = (0.3, {"a": -0.2, "b": 0.1, "c": 0.1}, {"red": 0.4, "green": 0.0})


def several(*scores):
    plain = tuple(score(*each) for each in scores)
    facts = {"family": "multinomial", "link": "softmax", "classes": ("A", "B", "C"), "class_scores": plain}
    return LinearModel(0.0, has_intercept=False, **facts)


LOGIT = {"family": "binomial", "link": "logit", "classes": ("good", "bad")}
RATE = {"family": "poisson", "link": "log"}
CASES = {
    "logistic": (
        score(*OLD, **LOGIT, threshold=0.5),
        score(*NEW, **LOGIT, threshold=0.4),
        {"target": "risk", "segments": ["region"]},
    ),
    "poisson": (score(*OLD, **RATE), score(*NEW, **RATE), {"target": "claims", "exposure": "years", "weight": "w"}),
    "multinomial": (several(OLD, NEW, THIRD), several(NEW, OLD, THIRD), {"target": "grade"}),
}


@pytest.fixture(scope="module")
def glm_file(tmp_path_factory):
    rng = np.random.default_rng(3)
    frame = pd.DataFrame(rng.normal(size=(ROWS, 3)), columns=["a", "b", "c"])
    frame["colour"] = rng.choice(["red", "green"], ROWS)
    frame["region"] = rng.choice(["north", "south"], ROWS)
    eta = -0.3 + 0.7 * frame["a"] - 0.5 * frame["b"] + 0.6 * (frame["colour"] == "red")
    frame["risk"] = np.where(rng.random(ROWS) < 1 / (1 + np.exp(-eta)), "bad", "good")
    frame["claims"] = rng.poisson(np.exp(eta))
    frame["years"] = rng.uniform(0.3, 1.0, ROWS)
    frame["grade"] = rng.choice(["A", "B", "C"], ROWS)
    frame["w"] = rng.uniform(0.5, 2.0, ROWS)
    path = tmp_path_factory.mktemp("glm") / "rows.csv"
    frame.to_csv(path, index=False)
    return path


@pytest.fixture(scope="module")
def made(glm_file):
    """A report of each kind on the same file, by name."""
    return {
        name: explain_change(old, new, data=glm_file, role="holdout", reason="newer rows", **asked)
        for name, (old, new, asked) in CASES.items()
    }


def other(value):
    """Something a little different, of the same kind."""
    if isinstance(value, bool):
        return not value
    if isinstance(value, int):
        return value + 1
    if isinstance(value, float):
        return value * 1.001 + (0.001 if value == 0 else 0.0)
    return f"{value}x" if isinstance(value, str) else 1.0


@pytest.mark.parametrize("name", CASES)
def test_untouched_reports_hold_and_with_the_rows_they_are_verified(name, made, glm_file):
    alone = verify_report(made[name])
    assert alone.passed
    assert "not rechecked" in alone.conclusion
    assert any("recorded evaluations" in check.claim for check in alone.checks)
    assert verify_report(made[name], glm_file).conclusion.startswith("verified against the data; ")


@pytest.mark.thorough
@pytest.mark.no_cover
@pytest.mark.parametrize(("name", "every"), [("logistic", 1), ("poisson", 3), ("multinomial", 4)])
def test_every_leaf_that_is_changed_is_found(name, every, made, glm_file):
    """Without rows where it follows from the rest of the report, with them wherever rows tell; the digest is forged too."""
    content = json.loads(made[name].to_bytes())
    tampered = [(where, value) for where, value in leaves(content) if where != ("digest",)]
    assert len(tampered) > 500
    derived, inputs = [], []
    for where, value in tampered[::every]:
        place = ".".join(map(str, where))
        if place.startswith(SAID) or where[-1] in OF_THE_MODELS:
            continue
        try:
            forged = forge(changed(content, where, other(value)))
        except ReportFormatError:
            continue
        if not noticed(forged):
            derived += [] if ONLY_ROWS.fullmatch(place) else [place]
            inputs += [] if noticed(forged, glm_file) else [place]
    assert derived == []
    assert inputs == []


@pytest.mark.parametrize(
    "where", [("rows", "champion_mae"), ("rows", "shift_p50"), ("rows", "candidate_metrics", "auc"), ("rows", "total_se")]
)
def test_what_is_told_twice_must_agree(made, where):
    """The impact tells it too."""
    content = json.loads(made["logistic"].to_bytes())
    value = content
    for key in where:
        value = value[key]
    assert noticed(forge(changed(content, where, value * 0.9)))


CONTRADICTIONS = [
    (("glm", "gram"), [[1.0]]),
    (("glm", "gram", 1, 2), 0.3),
    (("glm", "gram", 0, 0), 2.0),
    (("glm", "family"), "poisson"),
    (("glm", "loss"), "log loss per year"),
    (("glm", "classes"), ["good", "worse"]),
    (("problem", "cost", "kind"), "gamma"),
    (("problem", "cost", "record", "depth"), 9),
    (("problem", "cost", "record", "curvature", 0, 0), 9.0),
    (("problem", "cost", "record", "curvature", 0, 1), 0.5),
    (("problem", "cost", "record", "minimum"), 0.1),
    (("problem", "cost", "record", "evaluations"), []),
    (("data", "target_mean"), 0.4),
    (("data", "target_sd"), 0.4),
    (("path", "solver"), "magic"),
    (("path", "lower_bound"), 99.0),
    (("settings", "champion_threshold"), 0.2),
    (("settings", "threshold"), 0.2),
    (("rows", "flips", "threshold"), 0.2),
    (("rows", "flips"), None),
    (("rows", "champion_metrics"), None),
    (("rows",), None),
    (("glm",), None),
]


@pytest.mark.parametrize(("where", "value"), CONTRADICTIONS, ids=[".".join(map(str, where)) for where, _ in CONTRADICTIONS])
def test_contradictions_are_found_without_rows(made, where, value):
    assert noticed(forge(changed(json.loads(made["logistic"].to_bytes()), where, value)))


def test_coordinates_that_do_not_stand_class_by_class_are_refused(made):
    content = json.loads(made["multinomial"].to_bytes())
    listed, features = content["coordinates"], content["problem"]["features"]
    listed[:] = [*listed[1:3], listed[0], *listed[3:]]
    features[:] = [*features[1:3], features[0], *features[3:]]
    listed[:] = [*listed[:3], *listed[4:6], listed[3], *listed[6:]]
    with pytest.raises(ReportFormatError):
        verify_report(forge(content))


def retold(report, problem, solution):
    """The report with another solution, everything that follows from it made anew: consistent in itself."""
    document = report.document
    evidence = evidence_of(document)
    pair = ModelPair(evidence.champion, evidence.candidate)
    change = align(pair, evidence.moments)
    inputs = ReportInputs(
        document.subject, document.facts, document.data, document.settings, document.recheck.versions, document.glm
    )
    return ChangeReport(compose(inputs, pair=pair, change=change, problem=problem, solution=solution, rows=document.rows))


def claimed_optimal(problem, order):
    path = evaluate_order(problem, order).path
    objective = evaluate_order(problem, order).certificate.objective
    return Solution(
        problem,
        path,
        Certificate(objective=objective, lower_bound=objective, gap=0.0, gap_per_step=0.0, status="optimal", solver="cuts"),
    )


@pytest.mark.parametrize("name", CASES)
def test_an_order_that_is_not_the_best_is_not_called_optimal(name, made):
    """Every other order whose sets are in the record, inputs consistently and called optimal, is found without rows."""
    problem = evidence_of(made[name].document).problem
    best, inputs = made[name].document.path.objective, 0
    for order in itertools.permutations(range(len(problem.changed))):
        try:
            solution = claimed_optimal(problem, order)
        except CoordpathError:
            continue
        if solution.certificate.objective > best + 1e-9:
            inputs += 1
            forged = retold(made[name], problem, solution)
            failed = [check.level for check in verify_report(forged).checks if not check.passed]
            flips = made[name].document.rows.flips
            assert failed == (["certificate"] if flips is None else ["arithmetic", "certificate"])
    assert inputs >= 1


def with_record(report, change):
    """The report's problem with another record."""
    content = json.loads(report.to_bytes())["problem"]
    change(content["cost"]["record"])
    return content


def raise_all_but(keep, amount):
    """Every set that is not on the way that a forger wants is said to cost more."""

    def change(record):
        for each in record["evaluations"]:
            if each.get("moved") and each["moved"] not in keep:
                each["value"] += amount
                each.pop("slopes", None)

    return change


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("amount", [1e-6, 1e-3, 1.0])
def test_costs_invented_so_that_a_worse_order_looks_best_never_pass_with_the_rows(name, amount, made, glm_file):
    report = made[name]
    problem = evidence_of(report.document).problem
    size, best = len(problem.changed), report.document.path.objective
    for order in itertools.permutations(range(size)):
        keep = [sorted(order[:k]) for k in range(size + 1)]
        try:
            invented = parse_problem(with_record(report, raise_all_but(keep, amount)))
            solution = claimed_optimal(invented, order)
            if evaluate_order(problem, order).certificate.objective <= best + 1e-9:
                continue
            forged = retold(report, invented, solution)
        except CoordpathError:
            continue
        result = verify_report(forged, glm_file)
        assert not result.conclusion.startswith("verified")
        break
    else:
        pytest.fail("no other order is in the record: nothing was tried")


INVENTED = {
    "curvature inflated": lambda record: record.update(curvature=(2.0 * np.array(record["curvature"])).tolist()),
    "curvature deflated": lambda record: record.update(curvature=(0.5 * np.array(record["curvature"])).tolist()),
    "minimum lower": lambda record: record.update(minimum=record["minimum"] - 0.01),
    "minimum higher": lambda record: record.update(minimum=record["minimum"] + 1e-4),
    "slopes turned": lambda record: record["evaluations"][4].update(
        slopes=[-slope for slope in record["evaluations"][4]["slopes"]]
    ),
    "slopes doubled": lambda record: [
        each.update(slopes=[2.0 * slope for slope in each["slopes"]]) for each in record["evaluations"] if "slopes" in each
    ],
    "all values lower": lambda record: [each.update(value=each["value"] - 0.01) for each in record["evaluations"]],
    "one set twice": lambda record: record["evaluations"].append(
        {**record["evaluations"][-1], "value": record["evaluations"][-1]["value"] + 0.5}
    ),
    "a set beyond the units": lambda record: record["evaluations"].append({"moved": [99], "value": 1.0}),
    "a point outside": lambda record: record["evaluations"][4].update(at=[2.0] * len(record["evaluations"][4]["at"])),
}


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("how", INVENTED)
def test_a_record_that_rows_do_not_give_never_passes(name, how, made, glm_file):
    """Made anew from the forged record, so that all figures fit it; the rows, or the record itself, say otherwise."""
    report = made[name]
    try:
        problem = parse_problem(with_record(report, INVENTED[how]))
        order = [
            next(i for i, unit in enumerate(problem.changed) if problem.features[unit.members[0]] == step.moves[0].feature)
            for step in report.document.path.steps
        ]
        forged = retold(report, problem, claimed_optimal(problem, order))
        result = verify_report(forged, glm_file)
    except CoordpathError:
        return
    assert not result.passed


@pytest.mark.parametrize("name", CASES)
def test_a_record_without_one_of_its_evaluations_proves_the_same_or_is_found(name, made, glm_file):
    """What is left may be proof enough; then nothing that the report says is wrong."""
    content = json.loads(made[name].to_bytes())
    listed = content["problem"]["cost"]["record"]["evaluations"]
    found = 0
    for i in range(len(listed)):
        forged = forge(changed(content, ("problem", "cost", "record", "evaluations"), listed[:i] + listed[i + 1 :]))
        if noticed(forged):
            found += 1
        else:
            assert forged.document.path == made[name].document.path
            assert noticed(forged, glm_file) is False
    assert found > len(listed) // 2


def test_the_same_rows_in_another_file_or_order_are_other_bytes(made, glm_file, tmp_path):
    """What is inputs follows from them all the same; that they are the rows named cannot be said."""
    frame = pd.read_csv(glm_file)
    for stem, rows in (("same", frame), ("reordered", frame.sample(frac=1.0, random_state=1))):
        path = tmp_path / f"{stem}.parquet"
        rows.to_parquet(path)
        for report in made.values():
            checks = [check for check in verify_report(report, path).checks if not check.passed]
            assert [check.claim for check in checks] == ["these are the data that the report names (SHA-256)"]


def test_a_report_on_a_table_is_verified_by_a_file_of_any_kind(glm_file, tmp_path):
    frame = pd.read_csv(glm_file)
    frame.to_parquet(tmp_path / "rows.parquet")
    old, new, asked = CASES["logistic"]
    report = explain_change(old, new, data=frame, **asked)
    for path in (glm_file, tmp_path / "rows.parquet"):
        assert verify_report(report, path).conclusion.startswith("verified against the data; ")


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (lambda f: f.assign(risk="bad"), "all 60 rows of 'risk'"),
        (lambda f: f.assign(a=f["a"] * 1.01), "follow from the data"),
        (lambda f: f.assign(a=1.0), "units change on these rows"),
        (lambda f: f.assign(risk=np.where(f["a"] > 0.1, "bad", "good")), "'a'"),
        (lambda f: f.drop(columns="region"), "region"),
        (lambda f: f[:50], "data.rows"),
    ],
    ids=["one class", "another scale", "a constant column", "separated", "no segment", "fewer rows"],
)
def test_other_rows_are_found(made, glm_file, tmp_path, change, says):
    path = tmp_path / "other.csv"
    change(pd.read_csv(glm_file)).to_csv(path, index=False)
    result = verify_report(made["logistic"], path)
    inputs = " ".join(f"{check.claim} {' '.join(check.findings)}" for check in result.checks if not check.passed)
    assert not result.passed
    assert says in inputs
