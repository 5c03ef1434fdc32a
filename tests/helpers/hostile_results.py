"""Forged statsmodels results: each is an honest one with something in it that serves, loads or reads as something else."""

from __future__ import annotations

import copy
import os
import pickle
import struct
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pandas as pd
import statsmodels.api as sm
import statsmodels.formula.api as smf

sys.path.insert(0, str(Path(__file__).parents[1] / "golden" / "statsmodels"))
from write_results import training_data

MARKER = f"{os.environ.get('TMPDIR', '/tmp')}/coordpath-hostile-result-ran"
FRAME = training_data(20)


class Calling:
    """Runs a command when it is loaded."""

    def __reduce__(self) -> tuple[object, ...]:
        return os.system, (f"touch {MARKER}",)


def by_formula():
    """An honest result of a formula."""
    return smf.ols("price ~ age + C(city)", FRAME.copy()).fit()


def by_array():
    """An honest result of arrays."""
    return sm.OLS(FRAME["price"], sm.add_constant(FRAME[["age", "km"]])).fit()


def by_family():
    """An honest generalised linear model."""
    return sm.GLM(FRAME["count"], sm.add_constant(FRAME[["age", "km"]]), family=sm.families.Poisson()).fit()


def by_gaussian():
    """An honest generalised linear model with the identity."""
    return sm.GLM(FRAME["price"], sm.add_constant(FRAME[["age", "km"]])).fit()


def by_tweedie():
    """An honest Tweedie model."""
    family = sm.families.Tweedie(sm.families.links.Log(), var_power=1.5)
    return sm.GLM(FRAME["cost"], sm.add_constant(FRAME[["age", "km"]]), family=family).fit()


def by_counts():
    """An honest negative binomial model."""
    return sm.NegativeBinomial(FRAME["count"], sm.add_constant(FRAME[["age", "km"]])).fit(disp=0)


def _set(part: str, name: str, value: object, make: Callable[[], object] = by_array) -> Callable[[], object]:
    """A result with one attribute set on its wrapper, result, model, data, family or link."""

    def forged():
        wrapper = make()
        result = wrapper._results
        parts = {"wrapper": wrapper, "result": result, "model": result.model, "data": result.model.data}
        if hasattr(result.model, "family"):
            parts |= {"family": result.model.family, "link": result.model.family._link}
        parts[part].__dict__[name] = value
        return wrapper

    return forged


def _formulas(text: str) -> Callable[[], object]:
    """A result that says another formula in both places."""

    def forged():
        wrapper = by_formula()
        model = wrapper._results.model
        model.formula = model.data.formula = text
        return wrapper

    return forged


def _frame(change: Callable[[pd.DataFrame], object], *, bare: bool = False) -> Callable[[], object]:
    """A result whose data frame is another one."""

    def forged():
        wrapper = by_formula()
        if bare:
            wrapper.remove_data()
        data = wrapper._results.model.data
        data.frame = change(data.frame.copy())
        return wrapper

    return forged


def _second_data():
    """A second data object nobody refers to but the cache, whose formula is evaluated all the same."""
    wrapper = by_formula()
    evil = copy.copy(wrapper._results.model.data)
    evil.formula = f"price ~ I(age * (1 if __import__('os').system('touch {MARKER}') == 0 else 1))"
    wrapper._results._cache["more"] = evil
    return wrapper


def _other_model():
    """Coefficients of a linear model in a probit's clothes."""
    wrapper = by_array()
    wrapper._results.model.__class__ = sm.GLSAR
    return wrapper


def _other_result():
    wrapper = by_array()
    wrapper._results.__class__ = type(sm.QuantReg(FRAME["price"], FRAME[["age"]]).fit()._results)
    return wrapper


_CODE = f"__import__('os').system('touch {MARKER}')"


def _forgeries() -> dict[str, Callable[[], object]]:
    return {
        "code in I()": _formulas(f"price ~ I(age * (1 if {_CODE} == 0 else 1)) + C(city)"),
        "code as a call": _formulas(f"price ~ age + {_CODE}"),
        "code on the left": _formulas(f"I(price + {_CODE}) ~ age + C(city)"),
        "code in a string's place": _formulas(f"price ~ C(city, Treatment({_CODE}))"),
        "code behind a lambda": _formulas(f"price ~ I((lambda: {_CODE})())"),
        "an attribute": _formulas("price ~ age.__class__"),
        "another formula, same width": _formulas("price ~ km + C(city)"),
        "another formula, other width": _formulas("price ~ km"),
        "formula of the model only": _set("model", "formula", "price ~ km + C(city)", by_formula),
        "formula of the data only": _set("data", "formula", "price ~ km + C(city)", by_formula),
        "a formula where there is none": _set("model", "formula", "price ~ age"),
        "a formula of the data where there is none": _set("data", "formula", "price ~ age"),
        "a formula that is no text": _set("data", "formula", ["price ~ age"], by_formula),
        "a model_spec of text": _set("model", "model_spec", f"price ~ {_CODE}", by_formula),
        "a design_info": _set("model", "design_info", "x", by_formula),
        "a column C": _frame(lambda frame: frame.rename(columns={"km": "C"}), bare=True),
        "a column np": _frame(lambda frame: frame.rename(columns={"km": "np"}), bare=True),
        "levels in another order": _frame(
            lambda frame: frame.assign(city=pd.Categorical(frame["city"], categories=["Zug", "Chur", "Bern"]))
        ),
        "more levels": _frame(lambda frame: frame.assign(city=[f"c{i}" for i in range(20)]), bare=True),
        "other values": _frame(lambda frame: frame.assign(age=frame["age"] + 1)),
        "no such column": _frame(lambda frame: frame.drop(columns="age"), bare=True),
        "a column of calls": _frame(lambda frame: frame.assign(age=[Calling()] * 20), bare=True),
        "a frame with more": _frame(lambda frame: frame.assign(evil=[Calling()] * 20), bare=True),
        "no frame": _frame(lambda _: None),
        "a frame that is a dictionary": _frame(lambda frame: frame.to_dict("list")),
        "a second data object": _second_data,
        "predict on the result": _set("result", "predict", np.log),
        "predict on the wrapper": _set("wrapper", "predict", np.log),
        "predict on the model": _set("model", "predict", Calling()),
        "params on the wrapper": _set("wrapper", "params", np.zeros(3)),
        "a method in the data": _set("data", "model_spec", None),
        "a call in the cache": _set("result", "_cache", {"x": Calling()}),
        "a call as the design": _set("model", "exog", Calling()),
        "a function as the design": _set("data", "exog", np.log),
        "params of another length": _set("result", "params", np.zeros(7)),
        "params too short": _set("result", "params", np.zeros(2)),
        "params not finite": _set("result", "params", np.array([1.0, np.nan, 2.0])),
        "params of text": _set("result", "params", np.array(["a", "b", "c"])),
        "params of objects": _set("result", "params", np.array([1, None, 2], dtype=object)),
        "params in two dimensions": _set("result", "params", np.zeros((3, 1))),
        "no params": _set("result", "params", None),
        "designs of two widths": _set("model", "exog", np.zeros((20, 5))),
        "a constant elsewhere": _set("data", "const_idx", 9),
        "a constant that is no count": _set("data", "const_idx", "0"),
        "a link with a power": _set("link", "power", 2.0, by_family),
        "a link with inverse": _set("link", "inverse", np.log, by_family),
        "a family with fitted": _set("family", "fitted", np.log, by_family),
        "a link of another library": _set("family", "_link", Calling(), by_family),
        "two links": _set("family", "link", sm.families.links.Identity(), by_family),
        "a Tweedie power of nothing": _set("family", "var_power", None, by_tweedie),
        "a power of the identity": _set("link", "power", 2.0, by_gaussian),
        "a negative binomial of no method": _set("model", "loglike_method", "x", by_counts),
        "a negative binomial of more parameters": _set("model", "k_extra", 2, by_counts),
        "formulas that are arrays": _set("model", "formula", np.zeros(3), by_formula),
        "restoring by an array": _set("data", "restore_model_spec", np.zeros(3)),
        "a design of text": _set("data", "exog", np.array([["a"]])),
        "names for other columns": _set("data", "orig_exog", FRAME[["age", "km", "tier", "years"]]),
        "the same name twice": _set(
            "data", "orig_exog", FRAME[["age", "km", "tier"]].set_axis(["age", "age", "const"], axis=1)
        ),
        "a design of text in a series": _set("data", "orig_exog", FRAME["city"]),
        "a design of another width": _set("data", "exog", np.zeros((20, 9)), by_formula),
        "a family of nothing": _set("model", "family", None, by_family),
        "another model's class": _other_model,
        "another result's class": _other_result,
        "a result of nothing": lambda: sm.OLS(FRAME["price"], FRAME[["age"]]),
        "a frame alone": lambda: FRAME,
        "a call alone": Calling,
    }


def _bytes() -> Iterator[tuple[str, bytes]]:
    honest = pickle.dumps(by_formula(), 2)
    yield "bytes behind the end", honest + b"."
    yield "a call that is thrown away", b"\x80\x02cos\nsystem\n(Vtouch x\ntR0" + honest[2:]
    yield "statsmodels' own function called", b"\x80\x02cstatsmodels.base.l1_slsqp\nfit_l1_slsqp\n)R0" + honest[2:]
    yield (
        "a module of the same prefix",
        honest.replace(b"cstatsmodels.base.data\nPandasData", b"cstatsmodels.base.data2\nPandasData"),
    )
    yield (
        "a class of another module",
        honest.replace(b"clinear_model\nOLS\n", b"cevil\nOLS\n").replace(
            b"cstatsmodels.regression.linear_model\nOLS\n", b"cevil.regression.linear_model\nOLS\n"
        ),
    )
    shape = struct.pack("<q", 20)
    yield "text that ends behind its bytes", pickle.dumps(by_formula(), 5).replace(shape, struct.pack("<q", 1 << 40))
    bomb = b"\x80\x02(" + b"]" + b"".join(b"2\x86" for _ in range(60)) + b"t."
    yield "a shared tuple", bomb
    yield "a shared tuple as params", b"\x80\x02" + _wrapping(bomb[3:-2])


def _wrapping(params: bytes) -> bytes:
    """A result that consists of its params."""
    home = b"cstatsmodels.regression.linear_model\n"
    return home + b"OLSResults\n)\x81}(Vparams\n" + params + b"Vmodel\n" + home + b"OLS\n)\x81}(Vdata\nNubub."


def hostile_results() -> Iterator[tuple[str, bytes]]:
    """Name and bytes of every one."""
    for name, make in _forgeries().items():
        yield name, pickle.dumps(make(), 5)
    yield from _bytes()
