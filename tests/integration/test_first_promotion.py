"""docs/governance.md, followed word for word: from an existing registry to the first approved promotion."""

import os
import re
import subprocess
import sys
from pathlib import Path

import mlflow
import pytest
from helpers.mlflow_server import mlflow_server
from helpers.mlflow_store import Store, use

pytestmark = [pytest.mark.server, pytest.mark.no_cover]

GUIDE = Path(__file__).parents[2] / "docs" / "governance.md"
TITLE = "## From an existing registry to the first approved promotion"
MOST = 12
IN_WORDS = {8: "eight", 9: "nine", 10: "ten", 11: "eleven", 12: "twelve"}
ONLY_LOOK = ("gate", "policy check")


def blocks():
    """The indented blocks of the section, each a list of lines as they are printed."""
    text = GUIDE.read_text(encoding="utf-8")
    section = text[text.index(TITLE) + len(TITLE) :].partition("\n## ")[0]
    return [[line[4:] for line in block.splitlines()] for block in re.findall(r"(?:^ {4}.+\n)+", section, re.MULTILINE)]


def commands(lines):
    return [line.removeprefix("coordpath ") for line in lines if line.startswith("coordpath ")]


@pytest.fixture
def place(tmp_path):
    """An existing registry: two versions of `price`, the first one champion long before there was a gate."""
    uri = f"sqlite:///{tmp_path / 'mlflow.db'}"
    store = Store(uri, tmp_path, (tmp_path / "artifacts").as_uri())
    store.two_versions("price")
    store.client.set_registered_model_alias("price", "champion", "1")
    store.rows.frame.to_parquet(tmp_path / "holdout.parquet")
    yield tmp_path
    use(None)


def follow(lines, folder, server=None):
    """Run the lines in one shell, as pasted; the guide's folder and address become those of the test."""
    text = "\n".join(lines).replace("/srv/mlflow", str(folder))
    if server is not None:
        text = text.replace("http://127.0.0.1:5000", server)
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("MLFLOW_T", "COORDPATH_"))}
    environment |= {"HOME": str(folder), "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}
    script = 'coordpath() { python -m coordpath_governance "$@"; echo "[exit $?]"; }\n' + text
    done = subprocess.run(
        ["bash", "-c", script], cwd=folder, env=environment, capture_output=True, text=True, stdin=subprocess.DEVNULL
    )
    assert "Traceback" not in done.stderr
    return [int(code) for code in re.findall(r"^\[exit (\d+)\]$", done.stdout, re.MULTILINE)], done.stdout + done.stderr


def test_the_guide_leads_to_the_first_approved_promotion(place):
    once, server, every_change = blocks()
    codes, said = follow(once, place)
    assert codes == [0] * len(commands(once)), said
    options = server[0].replace("/srv/mlflow", str(place)).split()
    assert options[:2] == ["mlflow", "server"]
    with mlflow_server(place, *options[2:]) as uri:
        codes, said = follow(every_change, place, uri)
        wanted = [3 if command.startswith("gate ") else 0 for command in commands(every_change)]
        assert codes == wanted, said
        client = mlflow.MlflowClient(uri)
        assert str(client.get_model_version_by_alias("price", "champion").version) == "2"


def test_it_takes_no_more_commands_than_promised():
    counted = [line for block in blocks() for line in commands(block) if not line.startswith(ONLY_LOOK)]
    assert len(counted) <= MOST
    for document in (GUIDE, GUIDE.parents[1] / "README.md"):
        assert f"{IN_WORDS[len(counted)]} commands" in document.read_text(encoding="utf-8")
    assert len([line for line in counted if line.startswith("review ")]) == 2
