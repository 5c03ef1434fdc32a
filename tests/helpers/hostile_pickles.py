"""Forged pickles: what a reader must refuse without running, writing or building much. Used by tests and benchmarks."""

from __future__ import annotations

import io
import pickle
import struct
from collections.abc import Callable, Iterator

import cloudpickle
import numpy as np
from sklearn.linear_model import LinearRegression, Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler

__all__ = ["calling", "endless_pickles", "honest", "hostile_pickles"]

MARKER = "/tmp/coordpath-hostile-marker"
"""A file that appears if one of them is run."""


class _Call:
    """Pickled as a call."""

    def __init__(self, function: Callable[..., object], *arguments: object) -> None:
        self._reduced = function, arguments

    def __reduce__(self) -> tuple[Callable[..., object], tuple[object, ...]]:
        return self._reduced


def calling(marker: str = MARKER) -> object:
    """Something that makes a file when it is loaded."""
    return _Call(exec, f"open({marker!r}, 'w').close()")


def honest() -> LinearRegression:
    """A model that is read."""
    return LinearRegression().fit(np.arange(6.0).reshape(3, 2), [1.0, 2.0, 4.0])


def _text(value: str) -> bytes:
    return b"\x8c" + bytes([len(value)]) + value.encode()


def _name(module: str, name: str) -> bytes:
    return _text(module) + _text(name) + b"\x93"


def _state(more: bytes) -> bytes:
    """The honest model with operations that set more of its state, before the state is set."""
    data = pickle.dumps(honest(), 4)
    assert data.endswith(b"ub.")
    return b"\x80\x04" + data[11:-3] + more + b"ub."


def _own(**attributes: object) -> bytes:
    model = honest()
    vars(model).update(attributes)
    return cloudpickle.dumps(model)


def _bomb(levels: int = 60) -> tuple[object, ...]:
    shared: tuple[object, ...] = ()
    for _ in range(levels):
        shared = (shared, shared)
    return shared


class _Subclass(Ridge):
    """A class of the author's own."""

    def predict(self, rows: np.ndarray) -> np.ndarray:
        return super().predict(rows) * 2


def _by_value() -> bytes:
    import __main__

    kind = type("Mine", (Ridge,), {"__module__": "__main__", "predict": lambda self, rows: Ridge.predict(self, rows) + 1})
    __main__.Mine = kind
    try:
        return cloudpickle.dumps(kind().fit([[1.0], [2.0]], [1.0, 2.0]))
    finally:
        del __main__.Mine


def hostile_pickles() -> Iterator[tuple[str, bytes]]:
    """Each with what is wrong with it."""
    plain = pickle.dumps(honest(), 4)
    body = plain[11:-1]  # without protocol, frame and stop
    call = _name("builtins", "exec") + _text(f"open('{MARKER}', 'w').close()") + b"\x85R"
    start, stop = b"\x80\x04", b"."
    array = _name("numpy._core.multiarray", "_reconstruct")
    shell = array + _name("numpy", "ndarray") + b"K\x00\x85C\x01b\x87R"
    double = _name("numpy", "dtype") + _text("f8") + b"\x89\x88\x87R"
    typed = double + b"(K\x03" + _text("<") + b"NNNJ\xff\xff\xff\xffJ\xff\xff\xff\xffK\x00tb"
    yield "a call in place of a model", pickle.dumps(calling())
    yield "a call in an attribute that nobody looks at", _own(random_state=calling())
    yield "a call in an attribute that no model has", _own(extra_=[calling()])
    yield "a call that is thrown away", start + call + b"0" + body + stop
    yield "a call that only the memo keeps", start + call + b"\x940" + body + stop
    yield "a call above a mark that is thrown away", start + b"(" + call + b"1" + body + stop
    yield "a name that leads into another module", start + _name("numpy", "f2py.os.system") + b"0" + body + stop
    yield "a name beneath a known prefix", start + _name("sklearn.linear_model._base", "np") + b"0" + body + stop
    yield (
        "a name of a private module of scikit-learn",
        start + _name("sklearn.utils._joblib", "Parallel") + b"0" + body + stop,
    )
    for name in ("eval", "getattr", "__import__", "open", "compile", "globals"):
        yield f"builtins.{name}", start + _name("builtins", name) + b"0" + body + stop
    yield "a subclass by reference", pickle.dumps(_Subclass().fit([[1.0], [2.0]], [1.0, 2.0]))
    yield "a subclass by value", _by_value()
    yield (
        "a function by value",
        cloudpickle.dumps(
            make_pipeline(FunctionTransformer(lambda x: x * 2, validate=True), Ridge()).fit([[1.0], [2.0]], [1.0, 2.0])
        ),
    )
    yield "a second pickle behind the first", plain + pickle.dumps(calling())
    yield "a byte behind the end", plain + b"\x00"
    yield "text before the beginning", b"model" + plain
    yield "two objects", start + body + b"N."
    yield "a mark left open", start + b"(" + body + b"."
    yield "a slot of the memo written twice", start + b"Nq\x000Nq\x000" + body + stop
    yield "an extension", start + b"\x82\x010" + body + stop
    yield "an extension of two bytes", start + b"\x83\x01\x000" + body + stop
    yield "an extension of four bytes", start + b"\x84\x01\x00\x00\x000" + body + stop
    yield "a persistent id", start + b"Pid\n0" + body + stop
    yield "a persistent id from the stack", start + b"NQ0" + body + stop
    yield "a buffer from outside", b"\x80\x05\x970" + body + stop
    yield "a buffer that may not be written", b"\x80\x05C\x01x\x980" + body + stop
    yield "text of Python 2", start + b"S'x'\n0" + body + stop
    yield "a state set twice", start + body + b"}b."
    yield "a class set by the state", _state(_text("__class__") + _name("sklearn.linear_model._ridge", "Ridge"))
    yield "a method set by the state", _state(_text("predict") + _name("numpy", "log"))
    yield "a decision set by the state", _state(_text("_decision_function") + _name("numpy", "log1p"))
    yield "an array without its state", _state(_text("coef_") + shell)
    yield "an array of another class", start + array + _name("numpy", "matrix") + b"K\x00\x85C\x01b\x87R0" + body + stop
    yield (
        "an array larger than its bytes",
        start + shell + b"(K\x01K\x05\x85" + typed + b"\x89C\x08" + bytes(8) + b"tb0" + body + stop,
    )
    huge = b"\x8a\x06" + (1 << 40).to_bytes(6, "little")
    yield (
        "an array of no end",
        start + shell + b"(K\x01" + huge + b"\x85" + typed + b"\x89C\x08" + bytes(8) + b"tb0" + body + stop,
    )
    yield (
        "an array of a negative size",
        start + shell + b"(K\x01J\xff\xff\xff\xff\x85" + typed + b"\x89C\x00tb0" + body + stop,
    )
    yield (
        "an array of a type without its state",
        start + shell + b"(K\x01K\x01\x85" + double + b"\x89C\x08" + bytes(8) + b"tb0" + body + stop,
    )
    yield (
        "an array whose state is set twice",
        start + shell + b"(K\x01K\x01\x85" + typed + b"\x89C\x08" + bytes(8) + b"tbNb0" + body + stop,
    )
    objects = (
        _name("numpy", "dtype")
        + _text("O8")
        + b"\x89\x88\x87R(K\x03"
        + _text("|")
        + b"NNNJ\xff\xff\xff\xffJ\xff\xff\xff\xffK\x3ftb"
    )
    yield (
        "objects from bytes",
        start
        + _name("numpy._core.numeric", "_frombuffer")
        + b"(C\x08"
        + bytes(8)
        + objects
        + b"K\x01\x85"
        + _text("C")
        + b"tR0"
        + body
        + stop,
    )
    yield (
        "a number of too few bytes",
        start + _name("numpy._core.multiarray", "scalar") + typed + b"C\x04" + bytes(4) + b"\x86R0" + body + stop,
    )
    yield (
        "a type that there is none",
        start
        + _name("numpy", "dtype")
        + _text("f7")
        + b"\x89\x88\x87R(K\x03"
        + _text("<")
        + b"NNNJ\xff\xff\xff\xffJ\xff\xff\xff\xffK\x00tb0"
        + body
        + stop,
    )
    yield "what leaves are shared without end, as a number", _own(n_features_in_=_bomb())
    yield "what leaves are shared without end, as a flag", _own(positive=_bomb())
    yield "what leaves are shared without end, as coefficients", _own(coef_=_bomb())
    yield "lists nested without end as a number", _state(_text("n_features_in_") + b"]" * 200_000 + b"a" * 199_999)
    yield "more operations than are followed", start + b"N0" * 1_500_000 + body + stop
    yield "more objects than are built", start + b"}0" * 700_000 + body + stop
    yield "more slots than are kept", start + b"N\x94" * 700_000 + body + stop
    yield "marks without end", start + b"(" * 700_000 + body + stop
    yield "a frame longer than the file", b"\x80\x04\x95" + struct.pack("<Q", 1 << 40) + body + stop
    yield "a protocol of the future", b"\x80\x06" + body + stop
    yield "a protocol said twice", b"\x80\x04\x80\x02" + body + stop
    yield "a whole number of many digits", start + b"I" + b"9" * 9000 + b"\n0" + body + stop
    yield "a long whole number", start + b"\x8b" + struct.pack("<I", 5000) + bytes(5000) + b"0" + body + stop
    yield "bytes that are not there", start + b"\x8e" + struct.pack("<Q", 1 << 40) + stop
    yield "text that is no text", start + b"\x8c\x02\xff\xfe0" + body + stop
    yield "an operation that there is none", start + b"\xff" + body + stop
    yield "a key without a value", start + b"}(NNNu0" + body + stop
    yield "items of a tuple", start + b")Na0" + body + stop
    yield "items of a number", start + b"K\x01(NNu0" + body + stop
    yield "what is added to no set", start + b"](N\x900" + body + stop
    yield (
        "arguments by name",
        start + _name("sklearn.linear_model._base", "LinearRegression") + b")}" + _text("a") + b"Ns\x920" + body + stop,
    )
    yield "a state of a number", start + b"K\x01}b0" + body + stop
    yield "an empty stack", start + b"R."
    yield "a slot that is empty", start + b"h\x05."
    yield "a function given to a constructor", _constructed()
    yield "an estimator that is called", pickle.dumps(_Made(LinearRegression, (), honest().__getstate__()))
    yield "a pipeline within itself", _cycle()
    whole = LinearRegression().fit([[1.0], [2.0]], [1.0, 2.0])
    whole.intercept_ = 123456789
    for what, other in (
        ("octal", b"I0100000"),
        ("with a plus", b"I+1"),
        ("with a blank", b"I 1"),
        ("minus nothing", b"I-0"),
    ):
        yield f"a whole number that is {what}", pickle.dumps(whole, 0).replace(b"I123456789", other)
    whole.intercept_ = 10.25
    yield "a number with a line under it", pickle.dumps(whole, 0).replace(b"F10.25", b"F1_0.25")
    yield "a type that is numpy's own and not a copy", repickled(_another_type("f8", (False, False), ">", 0))
    yield "a type whose numbers are addresses", repickled(_another_type("f8", (False, True), "<", 1))
    yield "objects that are no addresses", repickled(_another_type("O8", (False, True), "|", 2))
    yield "a type of several fields", pickle.dumps(_with_attribute([np.zeros(2, dtype=[("a", "f8")])]))
    kept = struct.pack("<I", 1_000_000)
    call = _name("numpy.random._pickle", "__randomstate_ctor") + b"]r" + kept + b"\x85R0"
    yield "arguments that are changed after the call", start + body + call + b"j" + kept + b"Na0" + stop
    state = _name("numpy.random.bit_generator", "SeedSequence") + b")\x81" + b"]r" + kept + b"b0"
    yield "a state that is changed after it was set", start + body + state + b"j" + kept + b"Na0" + stop
    late = _name("numpy.random.bit_generator", "SeedSequence") + b")\x81r" + kept + b"0"
    late += _name("numpy.random._pickle", "__randomstate_ctor") + b"j" + kept + b"\x85R0j" + kept + b"}b0"
    yield "a state that is set after a call has used the object", start + body + late + stop
    yield "more text than is built", start + b"\x8d" + struct.pack("<Q", 40 << 20) + bytes(40 << 20) + b"0" + body + stop
    yield "many texts", start + (b"\x8c\xc8" + b"a" * 200 + b"0") * 200_000 + body + stop
    yield "nothing", b""
    yield "another format", b"\x1f\x8b\x08\x00" + bytes(20)


def endless_pickles() -> Iterator[tuple[str, bytes]]:
    """What is thrown away, and takes for ever only if somebody walks through it."""
    start, body = b"\x80\x04", pickle.dumps(honest(), 4)[11:]
    yield "leaves shared without end, as a key", start + b"})" + b"2\x86" * 60 + b"Ns0" + body
    yield "tuples nested without end", start + b")" + b"\x85" * 500_000 + b"0" + body


def repickled(reduce_type: Callable[[np.dtype], tuple[object, ...]]) -> bytes:
    """An honest model whose numpy types are written in another way."""
    model = honest()
    model.feature_names_in_ = np.array(["a"], dtype=object)

    class Pickler(pickle._Pickler):
        def save_reduce(self, func, args, state=None, *rest, obj=None, **named):
            if isinstance(obj, np.dtype):
                args, state = reduce_type(obj) or (args, state)
            super().save_reduce(func, args, state, *rest, obj=obj, **named)

    buffer = io.BytesIO()
    Pickler(buffer, 4).dump(model)
    return buffer.getvalue()


def _another_type(code: str, flags: tuple[bool, bool], order: str, holds: int):
    def reduce(found: np.dtype):
        if found.__reduce__()[1][0] == code:
            return (code, *flags), (3, order, None, None, None, -1, -1, holds)
        return None

    return reduce


def _with_attribute(value: object) -> LinearRegression:
    model = honest()
    model.rank_ = value
    return model


class _Made:
    """Pickled as a call of a class, and a state."""

    def __init__(self, *reduced: object) -> None:
        self._reduced = reduced

    def __reduce__(self) -> tuple[object, ...]:
        return self._reduced


def _constructed() -> bytes:
    """A function that only the constructor is given, with the state of a step that has none."""
    model = make_pipeline(FunctionTransformer(validate=True), Ridge()).fit([[1.0], [2.0]], [1.0, 2.0])
    state = {key: value for key, value in model[0].__getstate__().items() if key not in ("func", "inverse_func")}
    model.steps[0] = ("functiontransformer", _Made(FunctionTransformer, (np.exp,), state))
    return pickle.dumps(model)


def _cycle() -> bytes:
    model = make_pipeline(StandardScaler(), Ridge()).fit([[1.0], [2.0]], [1.0, 2.0])
    model.steps[0] = ("standardscaler", model)
    return pickle.dumps(model)
