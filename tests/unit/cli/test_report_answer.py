"""The report in the terminal."""

from __future__ import annotations

import pytest

from coordpath_governance.cli.report_answer import show_overview
from coordpath_governance.rendering.render import render_html, render_markdown
from coordpath_governance.rendering.wording import step_name


@pytest.fixture
def shown(make, capsys, monkeypatch):
    """A factory: what a sample looks like in a wide terminal."""
    monkeypatch.setenv("COLUMNS", "400")

    def show(name, **sections):
        show_overview(make(name, **sections))
        return capsys.readouterr().out.replace("\u00a0", " ").splitlines()

    return show


def columns(lines):
    return next(line.split() for line in lines if line.startswith("step"))


def test_squared_errors_are_a_cost_and_nothing_beside_it(shown):
    lines = shown("small")
    assert columns(lines) == ["step", "what", "moves", "from", "to", "cost", "change"]
    assert "   8  floor" in lines[-2]


def test_two_classes(shown):
    lines = shown("binomial")
    assert columns(lines)[-3:] == ["log", "loss", "change"]
    assert "AUC 0.7605 → 0.7671, Gini 0.5210 → 0.5343" in lines
    moved = (
        "With the cut-off moving from P(bad) ≥ 0.3 to P(bad) ≥ 0.25, 89 of 400 change from good to bad, 1 from bad to good."
    )
    assert moved in lines
    assert sum("change from good to bad" in line for line in lines) == 1


def test_counts(shown):
    lines = shown("poisson")
    assert columns(lines)[-2:] == ["deviance", "change"]
    assert lines[-1] == "Gini 0.3542 → 0.4722"


def test_several_classes(shown):
    lines = shown("multinomial")
    assert sum("becomes the most probable one" in line for line in lines) == 1
    assert any("prior_contacts (3 coefficients)" in line for line in lines)


def test_in_a_terminal_of_80_columns_names_are_legible(make, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    for name in ("small", "binomial", "poisson"):
        document = make(name)
        steps = [each.model_dump(by_alias=True) | {"delta": -4.53e-5, "delta_se": 1.2e-4} for each in document.path.steps]
        show_overview(make(name, path={"steps": steps}))
        lines = capsys.readouterr().out.splitlines()
        table = lines[next(at for at, line in enumerate(lines) if line.startswith("step")) :]
        first_words = [step_name(step).split()[0][:14] for step in document.path.steps]
        assert [word for word in first_words if not any(word in line for line in table)] == []
        assert "~ within noise: these rows cannot tell it from no change" in lines


@pytest.mark.parametrize("width", [40, 60, 80, 100, 120])
@pytest.mark.parametrize("name", ["small", "binomial", "poisson", "multinomial"])
def test_no_figure_is_cut_off_however_narrow_the_terminal_is(make, shown, capsys, monkeypatch, name, width):
    """Half a number is another number: of "± 5.3×10⁻⁵" nothing may be lost."""
    small = {"from": -5.423e-5, "to": 8.629e-5, "delta": -6.9e-6, "delta_se": 5.3e-5}
    path = {"steps": [each.model_dump(by_alias=True) | small for each in make(name).path.steps]}

    def figures(lines):
        at = next(at for at, line in enumerate(lines) if line.startswith("step"))
        table = lines[at : next(at for at, line in enumerate(lines) if line.startswith("~ within noise"))]
        return sorted(word for line in table for word in line.split() if any(letter.isdigit() for letter in word))

    wide = [word for word in figures(shown(name, path=path)) if "×10" in word or "." in word]
    assert any("×10⁻⁵" in word for word in wide)
    monkeypatch.setenv("COLUMNS", str(width))
    show_overview(make(name, path=path))
    narrow = capsys.readouterr().out.replace("\u00a0", " ").splitlines()
    assert [word for word in figures(narrow) if "×10" in word or "." in word] == wide


def test_changes_and_their_errors_are_in_the_power_of_ten_of_the_heading(make, shown):
    """A cost of millions is told in millions, and so is what it changes by, give or take."""
    path = make("small").path
    large = [
        step.model_copy(update={"cost": step.cost * 1e8, "delta": step.delta * 1e8, "delta_se": 2.5e7})
        for step in path.steps
    ]
    lines = shown(
        "small", path={"start_cost": path.start_cost * 1e8, "steps": [each.model_dump(by_alias=True) for each in large]}
    )
    heading = next(line for line in lines if line.startswith("step"))
    exponent = int("".join(str("⁰¹²³⁴⁵⁶⁷⁸⁹".index(char)) for char in heading.split("10")[1] if char in "⁰¹²³⁴⁵⁶⁷⁸⁹"))
    told = {line.split("± ")[1].split()[0] for line in lines if " ± " in line and not line[:1].isalpha()}
    assert {float(each.replace(",", "")) for each in told} == {2.5e7 / 10**exponent}


@pytest.mark.parametrize(("delta", "within"), [(-0.02, True), (0.0199, True), (-0.0201, False), (0.5, False)])
def test_a_small_step_is_said_to_be_within_noise_wherever_it_is_shown(make, shown, delta, within):
    """Two standard errors of the difference over the rows are noise."""
    path = make("small").path
    quiet = [each.model_dump(by_alias=True) | {"delta": -3.0, "delta_se": 0.01} for each in path.steps]
    steps = {"steps": [quiet[0] | {"delta": delta}, *quiet[1:]]}
    document, lines = make("small", path=steps), shown("small", path=steps)
    marked = [line for line in lines if "~ " in line]
    assert [line.split()[0] for line in marked] == (["1", "~"] if within else [])
    assert render_html(document).count(">within noise<") == within
    assert render_markdown(document).count("(within noise)") == within
