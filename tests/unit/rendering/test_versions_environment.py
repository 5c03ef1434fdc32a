"""The environment of both versions in a report: what changed, what a person should look at, and nothing that hides."""

from __future__ import annotations

import json

import pytest

from coordpath_governance.models.environment import Environment, Pin, Remark
from coordpath_governance.rendering.render import render_html, render_markdown
from coordpath_governance.reports.version_parts import PinChange, environments_of, pin_changes

OLD = Environment(
    files=("requirements.txt", "python_env.yaml"),
    python="3.10.4",
    pins=(Pin("numpy", "==1.26.0"), Pin("scikit-learn", "==1.5.0"), Pin("scipy", ">=1.11,<2"), Pin("gone", "")),
)
NEW = Environment(
    files=("requirements.txt", "python_env.yaml"),
    python="3.11.7",
    pins=(Pin("numpy", "==1.26.0"), Pin("scikit-learn", "==1.9.1"), Pin("scipy", ">=1.11,<3"), Pin("new", "===1")),
    remarks=(Remark("requirements.txt", 7, "another package index: -i https://evil.example"),),
)


@pytest.fixture
def tell(make):
    """A sample document with these environments."""

    def told(old, new, kind="small"):
        return make(kind).model_copy(update={"environments": environments_of(old, new)})

    return told


def test_what_changed_by_name():
    assert pin_changes(environments_of(OLD, NEW)) == (
        PinChange("Python", "3.10.4", "3.11.7"),
        PinChange("gone", "any version", None),
        PinChange("new", None, "===1"),
        PinChange("scikit-learn", "1.5.0", "1.9.1"),
        PinChange("scipy", ">=1.11,<2", ">=1.11,<3"),
    )


@pytest.mark.parametrize(
    ("pins", "told"),
    [
        ((Pin("a", "==1,!=1.5"),), "==1,!=1.5"),
        ((Pin("a", "==1"), Pin("a", ">0 ; python_version < '3'")), "==1 and >0 ; python_version < '3'"),
        ((Pin("a", "[x]==1"),), "[x]==1"),
    ],
)
def test_only_one_exact_version_is_a_bare_number(pins, told):
    assert pin_changes(environments_of(Environment(), Environment(pins=pins))) == (PinChange("a", None, told),)


def test_without_a_champion_nothing_changed():
    assert pin_changes(environments_of(None, NEW)) == ()
    assert environments_of(None, None) is None


@pytest.mark.parametrize("render", [render_html, render_markdown])
def test_both_pages_show_changes_and_remarks(tell, render):
    page = render(tell(OLD, NEW))
    for text in ("1.5.0", "1.9.1", "3.10.4", "3.11.7", "not asked for", "any version"):
        assert text in page
    plain = page.replace("<wbr>", "").replace("\\", "")
    assert "scikit-learn" in plain
    assert "requirements.txt, line 7: another package index: -i https" in plain
    assert "5 changed." in plain


@pytest.mark.parametrize("render", [render_html, render_markdown])
def test_a_first_version_and_one_without_files(tell, render):
    page = render(tell(None, NEW, "first")).replace("<wbr>", "").replace("\\", "")
    assert "ask for 4 packages and Python 3.11.7." in page
    assert "changed." not in page.split("ask for 4 packages")[1][:60]
    assert "has no environment files" in render(tell(None, Environment(), "first"))
    same = render(tell(NEW, Environment(files=("requirements.txt",), pins=(Pin("a", ""),)))).replace("\\", "")
    assert "ask for 1 package." in same


@pytest.mark.parametrize("render", [render_html, render_markdown])
def test_without_the_part_pages_are_as_before(make, render):
    assert "packages" not in render(make("small"))


def test_thousands_of_packages_do_not_make_a_page_too_large(tell):
    many = Environment(
        files=("requirements.txt",),
        pins=tuple(Pin(f"package-{n}", "==" + "1" * 100) for n in range(2_000)),
        remarks=tuple(Remark("requirements.txt", n, "a path: " + "x" * 120) for n in range(50)),
    )
    document = tell(OLD, many)
    assert len(render_html(document).encode()) < 400_000
    assert len(render_markdown(document).encode()) < 100_000
    assert "packages are in" in render_html(document)


def test_the_part_survives_its_json(tell):
    document = tell(OLD, NEW)
    again = type(document).model_validate(json.loads(document.model_dump_json(by_alias=True)))
    assert again.environments == document.environments
