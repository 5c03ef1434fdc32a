"""Environment files as data: packages by name, a remark on all else, and no file that breaks or stalls the reader."""

import tracemalloc

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from coordpath_governance.models.environment import Environment, read_environment
from coordpath_governance.models.requirement_lines import Pin, Remark, read_requirements
from coordpath_governance.text import EMPTY, visible

MLMODEL = "flavors: {python_function: {env: {conda: conda.yaml, virtualenv: python_env.yaml}}}"
REQUIREMENTS = "mlflow==3.17.2\nscikit-learn==1.9.1  # as trained\n\n# a comment\nnumpy>=1.26,<3\n"
CONDA = """\
channels:
- conda-forge
dependencies:
- python=3.11.7
- pip<=24.0
- pip:
  - mlflow==3.17.2
  - scikit-learn==1.9.1
  - numpy>=1.26,<3
name: mlflow-env
"""
PYTHON = """\
python: 3.11.7
build_dependencies:
- pip==24.0
- setuptools
- wheel==0.43.0
dependencies:
- -r requirements.txt
"""


@pytest.fixture
def folder(tmp_path):
    """The files that MLflow writes."""
    for name, text in {
        "MLmodel": MLMODEL,
        "requirements.txt": REQUIREMENTS,
        "conda.yaml": CONDA,
        "python_env.yaml": PYTHON,
    }.items():
        (tmp_path / name).write_text(text)
    return tmp_path


def remarks(folder):
    return [(each.file, each.line, each.what) for each in read_environment(folder).remarks]


def test_what_mlflow_writes_is_read_without_a_remark(folder):
    assert read_environment(folder) == Environment(
        files=("requirements.txt", "conda.yaml", "python_env.yaml"),
        python="3.11.7",
        pins=(Pin("mlflow", "==3.17.2"), Pin("numpy", "<3,>=1.26"), Pin("scikit-learn", "==1.9.1")),
        channels=("conda-forge",),
    )


def test_what_mlflow_itself_writes_today(tmp_path):
    import mlflow
    from sklearn.linear_model import LinearRegression

    model = LinearRegression().fit([[1.0], [2.0]], [1.0, 2.0])
    mlflow.sklearn.save_model(model, tmp_path / "model", pip_requirements=["scikit-learn==1.5.0", "numpy<3"])
    found = read_environment(tmp_path / "model")
    assert (found.remarks, found.damaged) == ((), ())
    assert Pin("scikit-learn", "==1.5.0") in found.pins
    assert found.python.startswith("3.")


def test_nothing_to_read(tmp_path):
    assert read_environment(tmp_path) is None
    assert read_environment(tmp_path / "absent") is None
    (tmp_path / "MLmodel").write_text("flavors: {sklearn: {}}")
    assert read_environment(tmp_path) == Environment()


@pytest.mark.parametrize(
    ("line", "what"),
    [
        ("--index-url https://evil.example/simple", "another package index"),
        ("--index-url=https://evil.example/simple", "another package index"),
        ("-i https://evil.example/simple", "another package index"),
        ("-ihttps://evil.example/simple", "another package index"),
        ("--extra-index-url https://evil.example/simple", "another package index"),
        ("--find-links https://evil.example", "another place for packages"),
        ("-f ./wheels", "another place for packages"),
        ("-e .", "an editable install"),
        ("--editable=git+https://evil.example/x.git#egg=x", "an editable install"),
        ("-r more.txt", "another requirements file"),
        ("-r requirements.txt", "another requirements file"),
        ("-c constraints.txt", "a constraints file"),
        ("--trusted-host evil.example", "a host that is trusted without a certificate"),
        ("--no-binary :all:", "an option of pip"),
        ("--pre", "an option of pip"),
        ("numpy==1.0 --config-settings=x=y", "an option of pip"),
        ("numpy @ https://evil.example/numpy.whl", "a package from an address"),
        ("numpy@https://evil.example/numpy.whl ; python_version > '3'", "a package from an address"),
        ("numpy[x] @ file:///tmp/numpy.whl", "a package from an address"),
        ("https://evil.example/numpy.whl", "a package from an address"),
        ("git+ssh://git@evil.example/x.git", "a package from an address"),
        ("file:///tmp/x.whl", "a package from an address"),
        ("./x", "a path"),
        ("../x", "a path"),
        ("/tmp/x", "a path"),
        ("~/x", "a path"),
        ("wheels/x", "a path"),
        (r"wheels\x", "a path"),
        ("x.whl", "a file of a package"),
        ("x-1.0.tar.gz", "a file of a package"),
        ("x.zip ; python_version > '3'", "a file of a package"),
        ("${PACKAGE}==1.0", "a variable of the environment"),
        ("numpy==1.0 numpy==2.0", "not a package by name and version"),
        ("numpy=1.0", "not a package by name and version"),
        ("numpy; python_version", "not a package by name and version"),
        ("*", "not a package by name and version"),
        ("nump\u200by==1.0", "characters that cannot be seen"),
        ("numpy==1.0\u2028--index-url https://evil.example", "characters that cannot be seen"),
        ("numpy==1.0\x0b-e .", "characters that cannot be seen"),
        ("numpy==1.0\x85-e .", "characters that cannot be seen"),
        ("# harmless\u2029-e .", "characters that cannot be seen"),
        ("\x1b[2Jnumpy", "characters that cannot be seen"),
        ("\ufeffnumpy==1.0", "characters that cannot be seen"),
        ("x" * 3000, "a line of more than 1000 characters"),
    ],
)
def test_what_is_not_a_package_by_name_is_a_remark_with_its_line(folder, line, what):
    (folder / "conda.yaml").unlink()
    (folder / "requirements.txt").write_bytes(f"{REQUIREMENTS}{line}\n".encode())
    ((file, number, told),) = remarks(folder)
    assert (file, number) == ("requirements.txt", 6)
    assert told.startswith(what)
    assert told.isprintable()
    assert len(told) < 260


@pytest.mark.parametrize(
    "line",
    [
        "numpy",
        "Num_Py == 1.0",
        "numpy[a,b]>=1,!=1.5",
        "numpy==1.0; python_version < '3.12' and sys_platform == 'linux'",
        "numpy==1.0 --hash=sha256:" + "a" * 64,
        "numpy==1.0 \\\n    --hash=sha256:" + "a" * 64 + " \\\n    --hash=sha256:" + "b" * 64,
        "numpy (>=1.0)",
        "numpy~=1.0  # why",
        "numpy===1.0+local",
    ],
)
def test_packages_by_name_are_no_remark(line):
    found = list(read_requirements("requirements.txt", line))
    assert [type(each) for each in found] == [Pin]
    assert found[0].package in ("numpy", "num-py")


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("numpy==1.0\n--index\\\n-url https://evil.example\n", 2),
        ("numpy==1.0 \\\n  @ https://evil.example/x.whl\n", 1),
        ("\n-\\\ne .", 2),
        ("numpy==1.0\r\n-e .\r\n", 2),
        ("numpy==1.0\n-e \\\n# comment\n .", 2),
    ],
)
def test_what_a_backslash_or_a_carriage_return_splits_is_put_together_as_pip_does(text, line):
    found = [each for each in read_requirements("requirements.txt", text) if isinstance(each, Remark)]
    assert [each.line for each in found][:1] == [line]


@pytest.mark.parametrize("first", ["# -*- coding: utf-7 -*-", "#coding=cp037", "\n# vim: set fileencoding=latin-1 :"])
def test_another_encoding_is_a_remark(first):
    """pip decodes a file by such a comment, so that it would see other lines than are here."""
    found = list(read_requirements("requirements.txt", f"{first}\nnumpy==1.0\n"))
    assert any(isinstance(each, Remark) and "an encoding other than UTF-8" in each.what for each in found)
    assert not any(isinstance(each, Remark) for each in read_requirements("x", "# coding: utf-8\nnumpy\n"))


def test_passwords_are_not_told(folder):
    (folder / "requirements.txt").write_text("--index-url https://user:secret@evil.example/simple\n")
    assert "secret" not in repr(read_environment(folder))


@pytest.mark.parametrize(
    ("change", "line", "what"),
    [
        (("- conda-forge", "- evil"), 2, "another channel of packages: evil"),
        (("- conda-forge", "- https://evil.example/channel"), 2, "another channel of packages: https://evil.example"),
        (("- conda-forge", "- file:///tmp/x"), 2, "another channel of packages"),
        (("- pip<=24.0", "- evil::numpy"), 5, "not a package by name and version"),
        (("- pip<=24.0", "- https://evil.example/x.conda"), 5, "not a package by name and version"),
        (("- pip<=24.0", "- numpy[channel=evil]"), 5, "not a package by name and version"),
        (("- pip<=24.0", "- ./x"), 5, "not a package by name and version"),
        (("- pip<=24.0", "- uv: [numpy]"), 5, "a key that is not known here: uv"),
        (("name: mlflow-env", "variables: {PIP_INDEX_URL: https://evil.example}"), 10, "a key that is not known here"),
        (("  - mlflow==3.17.2", "  - mlflow==3.17.2\n  - -i https://evil.example"), 8, "another package index"),
        (("  - mlflow==3.17.2", '  - mlflow==3.17.2\n  - "x\\n-e ."'), 8, "characters that cannot be seen"),
        (("  - mlflow==3.17.2", "  - mlflow==9"), None, "the files ask for different packages: mlflow==3.17.2, mlflow==9"),
        (("python=3.11.7", "python=3.9.1"), None, "it names another version of Python than conda.yaml does"),
    ],
)
def test_what_conda_is_told_besides(folder, change, line, what):
    (folder / "conda.yaml").write_text(CONDA.replace(*change))
    found = remarks(folder)
    assert any(number == line and told.startswith(what) for _, number, told in found), found


@pytest.mark.parametrize(
    ("change", "what"),
    [
        (("- -r requirements.txt", "- -r ../requirements.txt"), "another requirements file"),
        (("- -r requirements.txt", "- -e ."), "an editable install"),
        (("- setuptools", "- https://evil.example/setuptools.whl"), "a package from an address"),
        (("- setuptools", "- -r requirements.txt"), "another requirements file"),
        (("python: 3.11.7", "python: /tmp/python"), "not a version of Python"),
        (("build_dependencies:", "more: x\nbuild_dependencies:"), "a key that is not known here: more"),
    ],
)
def test_what_a_virtual_environment_is_told_besides(folder, change, what):
    (folder / "python_env.yaml").write_text(PYTHON.replace(*change))
    assert any(file == "python_env.yaml" and told.startswith(what) for file, _, told in remarks(folder))


def test_a_build_dependency_by_name_is_a_remark_and_is_shown(folder):
    changed = PYTHON.replace("- setuptools", "- setuptools\n- Evil_Package==6.6\n- scikit-learn==0.1")
    (folder / "python_env.yaml").write_text(changed)
    what = "a build dependency other than pip, setuptools, wheel:"
    assert remarks(folder) == [
        ("python_env.yaml", 5, f"{what} Evil_Package==6.6"),
        ("python_env.yaml", 6, f"{what} scikit-learn==0.1"),
    ]
    assert {Pin("evil-package", "==6.6"), Pin("scikit-learn", "==0.1")} <= set(read_environment(folder).pins)


@pytest.mark.parametrize("lines", ["- evil==6.6\n- numpy==1.0", "- -r requirements.txt\n- evil==6.6\n- numpy==1.0"])
def test_packages_that_only_a_virtual_environment_asks_for_are_a_remark_and_are_shown(folder, lines):
    (folder / "python_env.yaml").write_text(PYTHON.replace("- -r requirements.txt", lines))
    ((file, line, what),) = remarks(folder)
    assert (file, line) == ("python_env.yaml", None)
    assert what.startswith("the files ask for different packages: evil==6.6, ")
    assert {Pin("evil", "==6.6"), Pin("numpy", "==1.0"), Pin("mlflow", "==3.17.2")} <= set(read_environment(folder).pins)


def test_the_same_packages_in_every_file_are_no_remark(folder):
    named = "- mlflow==3.17.2\n- numpy>=1.26,<3\n- scikit_learn==1.9.1"
    (folder / "python_env.yaml").write_text(PYTHON.replace("- -r requirements.txt", named))
    assert remarks(folder) == []
    (folder / "conda.yaml").write_text("dependencies:\n- python=3.11.7\n- pip:\n  - -r requirements.txt\n")
    assert remarks(folder) == []
    (folder / "python_env.yaml").write_text("python: 3.11.7\n")
    assert remarks(folder) == []


def test_a_second_file_that_mlmodel_names_cannot_ask_for_other_packages_unseen(folder):
    (folder / "MLmodel").write_text("flavors: {python_function: {env: {conda: conda, virtualenv: other.yaml}}}")
    (folder / "conda").write_text(CONDA)
    (folder / "other.yaml").write_text("dependencies: [evil==6.6]\n")
    ((file, _, what),) = remarks(folder)
    assert (file, what.startswith("the files ask for different packages: evil==6.6, ")) == ("other.yaml", True)
    (folder / "other.yaml").write_text(PYTHON)
    assert remarks(folder) == []


def test_many_different_packages_are_told_in_one_bounded_remark(folder):
    (folder / "conda.yaml").unlink()
    lines = "".join(f"- p{i}{'x' * 90}==1\n" for i in range(900))
    (folder / "python_env.yaml").write_text(f"dependencies:\n{lines}")
    ((_, _, what),) = remarks(folder)
    assert what.endswith(" and 898 more")
    assert len(what) < 260


def test_files_that_mlmodel_names_instead_are_read_too(folder):
    (folder / "MLmodel").write_text("flavors: {python_function: {env: {conda: other.yaml, virtualenv: python_env.yaml}}}")
    (folder / "other.yaml").write_text("channels: [evil]\ndependencies: []\n")
    found = read_environment(folder)
    assert "other.yaml" in found.files
    assert any(each.file == "other.yaml" and "another channel" in each.what for each in found.remarks)


@pytest.mark.parametrize(
    "env", ["{docker: x}", "{conda: [a]}", "{conda: ../conda.yaml}", "{conda: absent.yaml}", "{virtualenv: /etc/hosts}"]
)
def test_an_environment_of_another_kind_or_elsewhere_does_not_go_unnoticed(folder, env):
    (folder / "MLmodel").write_text(f"flavors: {{python_function: {{env: {env}}}}}")
    found = read_environment(folder)
    assert found.remarks or found.damaged


def test_what_conda_itself_installs_is_compared_too(folder):
    (folder / "conda.yaml").write_text(CONDA.replace("- pip<=24.0", "- pip<=24.0\n- SciPy=1.14\n- openblas 0.3.*"))
    found = read_environment(folder)
    assert found.remarks == ()
    assert {Pin("scipy", "=1.14"), Pin("openblas", "0.3.*")} <= set(found.pins)


def test_old_models_name_conda_alone(folder):
    (folder / "MLmodel").write_text("flavors: {python_function: {env: conda.yaml}}")
    assert read_environment(folder).remarks == ()


def test_what_uv_installs_from_is_a_remark(folder):
    (folder / "uv.lock").write_text("version = 1")
    assert ("uv.lock", None, "a file that uv installs from and that is not read here") in remarks(folder)


BOMB = "a: &a [x,x,x,x,x,x,x,x,x]\n" + "".join(
    f"{chr(98 + i)}: &{chr(98 + i)} [{','.join([f'*{chr(97 + i)}'] * 9)}]\n" for i in range(9)
)


@pytest.mark.thorough
@pytest.mark.parametrize("name", ["conda.yaml", "python_env.yaml", "requirements.txt"])
@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"\xff\xfe\x00numpy",
        b"\x00" * 100,
        BOMB.encode(),
        b"[" * 100_000,
        b"- " * 60_000,
        b"? " * 60_000,
        b"x" * (10 << 20),
        b"dependencies: !!python/object/apply:os.system [id]\n",
        b"dependencies: {a: b}\n",
        b"dependencies: [[x]]\nchannels: [[x]]\npython: [x]\nbuild_dependencies: [[x]]",
        b"channels: [a]\nchannels: [b]\n",
        b"<<: {channels: [x]}\n",
        b"python: &x 3\ndependencies: [*x]\n",
        b"a: 1\n---\nb: 2\n",
        b"\xed\xa0\x80",
        ("numpy==1." + "0" * 1_900 + "\n").encode() * 500,
        b"x" * 1000 + b"\\\n" * 100_000,
        b" " * 1_000_000,
        b"a" + b" " * 80_000 + b"b",
        (b"a" + b" " * 1_900 + b"b\n") * 500,
        b"x #" * 300_000,
        b"#coding:" + b" " * 1_000_000,
        b" --hash= " * 100_000,
        b"x==1\n" * 200_000,
        ("a" * 1_990 + "\n").encode() * 500,
        ("a; " + "(" * 900 + "\n").encode() * 200,
    ],
    ids=lambda content: f"{content[:12]!r} {len(content)}",
)
def test_hostile_files_are_told_never_raised(folder, name, content):
    (folder / name).write_bytes(content)
    tracemalloc.start()
    found = read_environment(folder)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    told = found.remarks or found.damaged
    assert told or not content.strip() or name == "requirements.txt"
    assert peak < 300 << 20
    assert len(found.remarks) <= 50
    assert all(text.isprintable() for text in (*found.damaged, *(each.what for each in found.remarks)))


def test_a_link_out_of_the_folder_is_not_followed(folder, tmp_path_factory):
    outside = tmp_path_factory.mktemp("outside") / "secret.txt"
    outside.write_text("-e .\n")
    (folder / "requirements.txt").unlink()
    (folder / "requirements.txt").symlink_to(outside)
    found = read_environment(folder)
    assert found.damaged
    assert "editable" not in repr(found)


def test_many_remarks_and_packages_are_cut(folder):
    (folder / "requirements.txt").write_text("".join(f"-e ./x{i}\np{i}==1\n" for i in range(2_400)))
    found = read_environment(folder)
    assert len(found.remarks) == 50
    assert found.remarks[-1].what.startswith("and 23")
    assert len(found.pins) == 2_000
    assert any("2403 packages" in each for each in found.damaged)


@settings(max_examples=150, deadline=None)
@given(st.text(max_size=200))
def test_any_text_gives_packages_and_remarks_that_can_be_shown(text):
    for each in read_requirements("requirements.txt", text):
        shown = f"{each.package}{each.version}" if isinstance(each, Pin) else each.what
        assert visible(shown) in (shown, EMPTY)


@pytest.mark.thorough
@settings(max_examples=60, deadline=None)
@given(
    st.recursive(
        st.none() | st.text(max_size=8), lambda inner: st.lists(inner) | st.dictionaries(st.text(max_size=8), inner)
    )
)
def test_any_yaml_is_read_or_told(tmp_path_factory, value):
    folder = tmp_path_factory.mktemp("yaml")
    for name in ("conda.yaml", "python_env.yaml"):
        (folder / name).write_text(yaml.safe_dump(value), encoding="utf-8")
    assert read_environment(folder).files


PIECES = [
    *(
        "numpy",
        "==1.0",
        " ",
        "\\",
        "\n",
        "\r\n",
        "\t",
        "#",
        " # c",
        ";",
        "python_version>'3'",
        "@",
        " @ ",
        "https://e.x/a.whl",
    ),
    *(
        "-i",
        "-e",
        ".",
        "--index-url",
        "=",
        "-r",
        "x.txt",
        "--hash=sha256:aa",
        "${A}",
        "[x]",
        "\u2028",
        "\x0b",
        "\x0c",
        "/",
        "a.zip",
    ),
]


@settings(max_examples=400, deadline=None)
@given(st.lists(st.sampled_from(PIECES), max_size=12).map("".join))
def test_what_has_no_remark_is_to_pip_itself_a_list_of_names(text):
    pip = pytest.importorskip("pip._internal.req.req_file")
    found = list(read_requirements("requirements.txt", text))
    if any(isinstance(each, Remark) for each in found):
        return
    parse = pip.get_line_parser(None)
    nothing = parse("numpy")[1].format_control
    named = []
    for _, line in pip.preprocess(text):
        wanted, options = parse(line)
        options.format_control = None if options.format_control == nothing else options.format_control
        assert not any(value for key, value in vars(options).items() if key != "hashes"), line
        named.append(wanted)
    assert not any("://" in each or "@" in each or "/" in each for each in named)
    assert len(named) == len(found)
