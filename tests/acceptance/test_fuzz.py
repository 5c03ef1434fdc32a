"""Files with bytes changed, cut and repeated by lot: read, or refused with an error of ours; nothing else ever comes out."""

from __future__ import annotations

import io
import pickle
import random
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np  # noqa: F401 - formulas say np.log
import pytest
import statsmodels.formula.api as smf
from skops import io as skops_io

from coordpath_governance.errors import ModelReadError
from coordpath_governance.models import fold_stored
from coordpath_governance.models.archive import read_archive_bytes
from coordpath_governance.models.pickle_objects import read_pickle_bytes
from coordpath_governance.models.statsmodels_folding import fold_result

sys.path.insert(0, str(Path(__file__).parents[1] / "golden" / "pickles"))
from write_pickles import fitted, training_data

_LONGEST_MESSAGE = 20_000


def mutated(data: bytes, count: int, lot: random.Random) -> Iterator[bytes]:
    """The same bytes with some of them changed, cut out, repeated or moved."""
    for _ in range(count):
        out = bytearray(data)
        for _ in range(lot.choice((1, 1, 1, 2, 4, 16))):
            at, width = lot.randrange(len(out)), lot.choice((1, 1, 2, 4, 8, 64))
            piece = bytes(out[at : at + width])
            match lot.randrange(6):
                case 0 | 1:
                    out[at] = lot.randrange(256)
                case 2:
                    out[at : at + width] = lot.randbytes(width)
                case 3:
                    del out[at : at + width]
                case 4:
                    out[at:at] = piece
                case _:
                    elsewhere = lot.randrange(len(out))
                    out[elsewhere : elsewhere + width] = piece
            if not out:
                break
        yield bytes(out)


def outcomes(read, forged: Iterator[bytes]) -> tuple[int, int]:
    """How many were read, and refused; any other error is raised."""
    told = [outcome(read, data) for data in forged]
    assert max(map(len, told)) < _LONGEST_MESSAGE
    return told.count(""), len(told) - told.count("")


def outcome(read, data: bytes) -> str:
    try:
        read(data)
    except ModelReadError as error:
        return str(error)
    return ""


def rezipped(data: bytes, count: int, lot: random.Random) -> Iterator[bytes]:
    """An archive with its schema or one of its arrays mutated: in the zip itself hardly a change gets past its checksums."""
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    for _ in range(count):
        chosen = "schema.json" if lot.random() < 0.8 else lot.choice(list(members))
        buffer = io.BytesIO()
        with zipfile.ZipFile(buffer, "w") as archive:
            for name, content in members.items():
                archive.writestr(name, next(mutated(content, 1, lot)) if name == chosen and content else content)
        yield buffer.getvalue()


MODELS = {name: model for name, (model, _, _) in fitted().items()}


@pytest.mark.parametrize("name", MODELS)
def test_pickles_and_archives_of_scikit_learn(name):
    lot = random.Random(name)
    for protocol in (0, 2, 5):
        data = pickle.dumps(MODELS[name], protocol)
        assert sum(outcomes(lambda data: fold_stored(read_pickle_bytes(data)), mutated(data, 300, lot))) == 300
    try:
        archive = skops_io.dumps(MODELS[name])
    except TypeError:
        return  # skops cannot store this one
    assert sum(outcomes(lambda data: fold_stored(read_archive_bytes(data)), rezipped(archive, 100, lot))) == 100


@pytest.mark.parametrize("formula", ["price ~ age + C(city)*np.log1p(km)", "np.log1p(count) ~ age + I(km**2)"])
def test_results_of_statsmodels(formula):
    result = smf.ols(formula, training_data()[["price", "count", "age", "km", "city"]]).fit()
    lot = random.Random(formula)
    for protocol in (2, 5):
        data = pickle.dumps(result, protocol)
        read, refused = outcomes(lambda data: fold_result(read_pickle_bytes(data)), mutated(data, 3000, lot))
        assert read + refused == 3000
        assert refused > 500
