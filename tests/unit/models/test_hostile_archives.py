"""Archives made to hurt: every one is refused with a ModelReadError, and none runs code."""

from __future__ import annotations

import contextlib
import copy
import io
import json
import pickle
import struct
import zipfile

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sklearn.compose import ColumnTransformer
from sklearn.impute import SimpleImputer
from sklearn.linear_model import Ridge
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import MinMaxScaler, OneHotEncoder, StandardScaler

from coordpath_governance.errors import ModelReadError, UnsupportedModelError
from coordpath_governance.models import Limits, LinearModel, fold_stored
from coordpath_governance.models.archive import read_archive_bytes

RAN: list[str] = []


class Bomb:
    """Would leave a mark if anything unpickled it."""

    def __reduce__(self):
        return (RAN.append, ("ran",))


@pytest.fixture(scope="module")
def genuine(dumps, unzip):
    """A small real archive: its members and its schema."""
    inputs = np.array([[1.0, 2.0], [2.0, np.nan], [3.0, 1.0], [5.0, 2.0]])
    part = ColumnTransformer(
        [
            ("n", make_pipeline(SimpleImputer(add_indicator=True), StandardScaler()), [0, 1]),
            ("c", OneHotEncoder(handle_unknown="ignore", min_frequency=2, drop="if_binary"), [0]),
        ],
        remainder=MinMaxScaler(),
    )
    model = Pipeline([("prepare", part), ("model", Ridge())]).fit(inputs, [1.0, 2.0, 3.0, 4.0])
    return unzip(dumps(model))


@pytest.fixture
def schema(genuine):
    return json.loads(genuine["schema.json"])


def read(data: bytes, **limits: int) -> LinearModel:
    return fold_stored(read_archive_bytes(data, limits=Limits(**limits)))


def nodes(part, found=None):
    """Every node of a schema, outermost first."""
    found = [] if found is None else found
    if isinstance(part, dict):
        if "__loader__" in part:
            found.append(part)
        for value in part.values():
            nodes(value, found)
    elif isinstance(part, list):
        for value in part:
            nodes(value, found)
    return found


def attributes(schema, class_name):
    """The stored attributes of the last object of a class, the one that was fitted."""
    return [node for node in nodes(schema) if node["__class__"] == class_name][-1]["content"]["content"]


def add(schema, class_name, name, node):
    """Store one more attribute, as an attacker would."""
    state = [each for each in nodes(schema) if each["__class__"] == class_name][-1]["content"]
    state["content"][name] = node
    state["key_types"]["content"].append({"__class__": "str", "__module__": "builtins", "__loader__": "TypeNode"})


def text(value):
    return {"__class__": "str", "__module__": "builtins", "__loader__": "JsonNode", "content": json.dumps(value)}


def npy(array) -> bytes:
    buffer = io.BytesIO()
    np.save(buffer, array)
    return buffer.getvalue()


def test_the_genuine_archive_reads(genuine, rezip):
    assert read(rezip(genuine)).estimator == "Ridge"
    assert read(rezip(genuine, zipfile.ZIP_DEFLATED)).estimator == "Ridge"


def test_truncated_anywhere(genuine, rezip):
    data = rezip(genuine)
    for end in range(0, len(data), 997):
        with pytest.raises(ModelReadError, match=r"truncated|zip"):
            read(data[:end])


@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(position=st.integers(0, 10**6), value=st.integers(0, 255))
def test_any_flipped_byte(position, value, genuine, rezip):
    data = bytearray(rezip(genuine, zipfile.ZIP_DEFLATED))
    data[position % len(data)] = value
    with contextlib.suppress(ModelReadError):
        assert isinstance(read(bytes(data)), LinearModel)


def test_zip_bombs(genuine, rezip):
    bomb = rezip({**genuine, "bomb.npy": bytes(30_000_000)}, zipfile.ZIP_DEFLATED)
    with pytest.raises(ModelReadError, match="unpack to more"):
        read(bomb, total_bytes=20_000_000)
    name = next(name for name in genuine if name.endswith(".npy"))
    with pytest.raises(ModelReadError, match="more than the 1000 we read"):
        read(rezip({**genuine, name: bytes(30_000)}, zipfile.ZIP_DEFLATED), member_bytes=1000)
    with pytest.raises(ModelReadError, match="more than the 100 we read"):
        read(rezip(genuine), schema_bytes=100)
    with pytest.raises(ModelReadError, match="more than the 100 we read"):
        read(rezip(genuine), archive_bytes=100)


def test_member_larger_than_it_declares(genuine, rezip):
    data = bytearray(rezip(genuine, zipfile.ZIP_DEFLATED))
    size = struct.pack("<I", len(genuine["schema.json"]))
    assert data.count(size) >= 2
    for wrong in (10, len(genuine["schema.json"]) + 5):
        with pytest.raises(ModelReadError, match=r"schema\.json"):
            read(bytes(data.replace(size, struct.pack("<I", wrong))))


def test_too_many_members(genuine, rezip):
    many = rezip({**genuine, **{f"{number}.bin": b"" for number in range(50)}})
    with pytest.raises(ModelReadError, match="members, more than"):
        read(many, members=len(genuine) + 10)
    with pytest.raises(ModelReadError, match="directory has"):
        read(many, members=2)


@pytest.mark.parametrize("name", ["../evil.npy", "/etc/passwd", "a/b.npy", "a\\b.npy", "ü.npy", ".hidden", "x" * 300])
def test_member_names(name, genuine, rezip):
    with pytest.raises(ModelReadError, match="name"):
        read(rezip({**genuine, name: b""}))


def test_duplicate_encrypted_and_oddly_compressed_members(genuine, rezip):
    buffer = io.BytesIO(rezip(genuine))
    with zipfile.ZipFile(buffer, "a") as archive, pytest.warns(UserWarning, match="Duplicate"):
        archive.writestr("schema.json", "{}")
    with pytest.raises(ModelReadError, match="same name"):
        read(buffer.getvalue())
    with pytest.raises(ModelReadError, match="compressed in a way"):
        read(rezip(genuine, zipfile.ZIP_BZIP2))
    data = bytearray(rezip({"schema.json": b"{}"}))
    data[data.index(b"PK\x01\x02") + 8] |= 1
    with pytest.raises(ModelReadError, match="encrypted"):
        read(bytes(data))


def test_data_behind_the_archive_and_zip64(genuine, rezip):
    data = rezip(genuine)
    with pytest.raises(ModelReadError, match="does not end like"):
        read(data + b"x")
    locator = b"PK\x06\x07" + bytes(16)
    with pytest.raises(ModelReadError, match="does not end like"):
        read(data[:-22] + locator + data[-22:])
    with pytest.raises(ModelReadError, match="does not begin with its first member"):
        read(data[:-22] + data[-22:-10] + b"\xff\xff\x00\x00" + data[-6:])


def test_missing_members(genuine, rezip):
    for name in genuine:
        with pytest.raises(ModelReadError, match="missing"):
            read(rezip({other: content for other, content in genuine.items() if other != name}))


def test_pickle_in_an_array(genuine, rezip, schema):
    objects = np.array([Bomb()], dtype=object)
    name = attributes(schema, "Ridge")["coef_"]["file"]
    for content, reason in ((npy(objects), "pickle"), (pickle.dumps(Bomb()), r"not a \.npy"), (b"", r"not a \.npy")):
        with pytest.raises(ModelReadError, match=reason):
            read(rezip({**genuine, name: content}))
    assert RAN == []


@pytest.mark.parametrize(
    "header",
    [
        "{'descr': '<f8', 'fortran_order': False, 'shape': (1000000000000,), }",
        "{'descr': '<f8', 'fortran_order': False, 'shape': (99999999999999999999, 0), }",
        "{'descr': '<U0', 'fortran_order': False, 'shape': (1000000000000,), }",
        "{'descr': '<f8', 'fortran_order': False, 'shape': (), }",
        "{'descr': '<f7', 'fortran_order': False, 'shape': (0,), }",
        "{'descr': '<f8', 'fortran_order': False, 'shape': " + "(1, " * 2000 + "), }",
        "__import__('os').system('false')",
    ],
)
def test_array_headers(header, genuine, rezip, schema):
    content = b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode()
    file = attributes(schema, "Ridge")["coef_"]["file"]
    with pytest.raises(ModelReadError, match=r"shape|type|not a list of numbers|\.npy"):
        read(rezip({**genuine, file: content}))


def test_array_header_of_a_length_that_is_not_there(genuine, rezip, schema):
    file = attributes(schema, "Ridge")["coef_"]["file"]
    for content in (b"\x93NUMPY\x01\x00\xff\xff", b"\x93NUMPY\x07\x00\x01\x00 xxxx", b"\x93NUMPY\x02\x00\xff\xff\xff\xff"):
        with pytest.raises(ModelReadError, match=r"not a \.npy"):
            read(rezip({**genuine, file: content}))


def test_deep_nesting(genuine, rezip):
    for depth, reason in ((300, "deeper"), (100_000, "deep")):
        nested = b'{"__loader__": "ListNode", "content": [' * depth + b"]}" * depth
        with pytest.raises(ModelReadError, match=reason):
            read(rezip({"schema.json": b'{"protocol": 2, "content": ' + nested + b"}"}))
    node = text([])
    node["content"] = "[" * 100_000
    with pytest.raises(ModelReadError, match="deep"):
        read(rezip({"schema.json": {**node, "protocol": 2}}))


@pytest.mark.parametrize("protocol", [None, True, -1, 1.0, "2"])
def test_odd_protocols(protocol, rezip):
    with pytest.raises(ModelReadError, match="protocol"):
        read(rezip({"schema.json": {"protocol": protocol}}))
    with pytest.raises(UnsupportedModelError, match="protocol 3"):
        read(rezip({"schema.json": {"protocol": 3}}))
    with pytest.raises(ModelReadError, match="not an object"):
        read(rezip({"schema.json": []}))


def test_cycles_end(genuine, rezip, schema):
    """An object that refers to itself, by id or as a cached node, is not opened again."""
    schema["__id__"] = 77
    steps = schema["content"]["content"]["steps"]["content"]
    steps[0]["content"][1] = {"__class__": None, "__module__": None, "__loader__": "CachedNode", "__id__": 77}
    with pytest.raises(ModelReadError, match="back to itself"):
        read(rezip({**genuine, "schema.json": schema}))


@pytest.mark.parametrize("identity", [999, None, "x", True, [], 1.5])
def test_unknown_references(identity, genuine, rezip, schema):
    steps = schema["content"]["content"]["steps"]["content"]
    steps[0]["content"][1] = {"__class__": None, "__module__": None, "__loader__": "CachedNode", "__id__": identity}
    with pytest.raises(ModelReadError, match="unknown id"):
        read(rezip({**genuine, "schema.json": schema}))


def test_shared_objects_are_found_again(genuine, rezip, schema):
    state = attributes(schema, "Ridge")
    state["tol"] = {"__class__": None, "__module__": None, "__loader__": "CachedNode", "__id__": state["coef_"]["__id__"]}
    assert read(rezip({**genuine, "schema.json": schema})).estimator == "Ridge"


def test_one_id_on_two_nodes(genuine, rezip, schema):
    """skops would take the first one everywhere, so another one may not say something else."""
    state = attributes(schema, "Ridge")
    hidden = {"__class__": "x", "__module__": "y", "__loader__": "PartialNode", "content": {"func": text(5.0)}}
    hidden["content"]["func"]["__id__"] = state["intercept_"]["__id__"]
    state["tol"] = hidden
    with pytest.raises(ModelReadError, match="two different nodes"):
        read(rezip({**genuine, "schema.json": schema}))
    state["tol"] = {**text(1), "__id__": "text"}
    with pytest.raises(ModelReadError, match="the id 'text'"):
        read(rezip({**genuine, "schema.json": schema}))


@pytest.mark.parametrize("part", ["[]", "{}", '"ab"', "1.5"])
def test_few_bytes_that_stand_for_many_values(part, rezip):
    """Thirty kilobytes of an archive would take a gigabyte."""
    node = '{"protocol":2,"__class__":"list","__module__":"builtins","__loader__":"ListNode","content":[%s]}'
    data = rezip({"schema.json": (node % ",".join([part] * 3_000_001)).encode()}, zipfile.ZIP_DEFLATED)
    with pytest.raises(ModelReadError, match="more than the 3000000 values"):
        read(data)


def test_names_that_are_no_short_texts(rezip):
    """Each level would write out all that is below it, and keep it."""
    chain: object = "x" * 1_000_000
    for _ in range(100):
        chain = {"__class__": "A", "__module__": chain, "__loader__": "ObjectNode"}
    schema = {"__class__": "list", "__module__": "builtins", "__loader__": "ListNode", "content": [chain], "protocol": 2}
    with pytest.raises(ModelReadError, match="a node whose kind, module or class is") as caught:
        read(rezip({"schema.json": json.dumps(schema).encode()}))
    assert len(str(caught.value)) < 1000


def test_exponential_sharing(rezip):
    """Two references to the same part at every level would be 2^60 steps without a limit on the work."""

    reference = {"__class__": None, "__module__": None, "__loader__": "CachedNode"}
    key = {"__class__": "str", "__module__": "builtins", "__loader__": "TypeNode"}

    def obj(name, module, state, identity):
        content = {
            "__class__": "dict",
            "__module__": "builtins",
            "__loader__": "DictNode",
            "content": state,
            "key_types": {"content": [key] * len(state)},
        }
        return {"__class__": name, "__module__": module, "__loader__": "ObjectNode", "content": content, "__id__": identity}

    node = obj("FunctionTransformer", "sklearn.preprocessing._function_transformer", {"n_features_in_": text(1)}, 1)
    for level in range(2, 32):
        halves = {"left": node, "right": {**reference, "__id__": level - 1}}
        parts = [
            {"__class__": "tuple", "__module__": "builtins", "__loader__": "TupleNode", "content": [text(name), half]}
            for name, half in halves.items()
        ]
        listed = {"__class__": "list", "__module__": "builtins", "__loader__": "ListNode", "content": parts}
        node = obj("FeatureUnion", "sklearn.pipeline", {"transformer_list": listed}, level)
    step = {"__class__": "tuple", "__module__": "builtins", "__loader__": "TupleNode", "content": [text("u"), node]}
    last = {**step, "content": [text("m"), text(None)]}
    steps = {"__class__": "list", "__module__": "builtins", "__loader__": "ListNode", "content": [step, last]}
    schema = {**obj("Pipeline", "sklearn.pipeline", {"steps": steps}, 1000), "protocol": 2}
    with pytest.raises(ModelReadError, match="more steps or columns"):
        read(rezip({"schema.json": schema}), depth=1000)


@pytest.mark.parametrize(
    "module", ["evil", "evil.sklearn.linear_model", "sklearnevil.linear_model", "sklearn", "sklearn.linear_model.tests.x"]
)
def test_known_name_in_another_package(module, genuine, rezip, schema):
    for node in nodes(schema):
        if node["__class__"] == "Ridge":
            node["__module__"] = module
    with pytest.raises(UnsupportedModelError, match="Ridge"):
        read(rezip({**genuine, "schema.json": schema}))


@pytest.mark.parametrize(
    "loader", ["FunctionNode", "MethodNode", "PartialNode", "TypeNode", "OperatorFuncNode", "ObjectNode"]
)
@pytest.mark.parametrize("owner", ["Ridge", "Pipeline", "StandardScaler", "MissingIndicator"])
def test_functions_that_shadow_methods(loader, owner, genuine, rezip, schema):
    """skops would put it into the object's dictionary, where it hides the method that we believe is called."""
    add(schema, owner, "predict", {"__class__": "square", "__module__": "numpy", "__loader__": loader})
    with pytest.raises(ModelReadError, match="attribute 'predict'"):
        read(rezip({**genuine, "schema.json": schema}))


def test_contradictions(genuine, rezip, schema):
    """Forged attributes that scikit-learn and we would read differently."""
    cases = [
        (
            "ColumnTransformer",
            "_transformer_to_input_indices",
            lambda node: node["content"]["n"].update(content=[text(1), text(0)]),
        ),
        ("OneHotEncoder", "_n_features_outs", lambda node: node.update(content=[text(7)])),
        ("OneHotEncoder", "_infrequent_indices", lambda node: node.update(content=[text([0])])),
        ("OneHotEncoder", "_drop_idx_after_grouping", lambda node: node.update(content=[text(9)])),
        ("ColumnTransformer", "sparse_output_", lambda node: node.update(text(3))),
        ("MissingIndicator", "error_on_new", lambda node: node.update(text(True))),
        ("StandardScaler", "n_features_in_", lambda node: node.update(text(9))),
        ("Ridge", "intercept_", lambda node: node.update(text("text"))),
        ("Ridge", "alpha", lambda node: node.update(text(None))),
    ]
    for owner, name, change in cases:
        forged = copy.deepcopy(schema)
        state = attributes(forged, owner)
        state[name] = {**state[name], "__id__": 1}
        change(state[name])
        with pytest.raises(ModelReadError):
            read(rezip({**genuine, "schema.json": forged}))


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_coefficients_that_are_not_finite(value, genuine, rezip, schema):
    file = attributes(schema, "Ridge")["coef_"]["file"]
    broken = np.load(io.BytesIO(genuine[file])).copy()
    broken[0] = value
    with pytest.raises(ModelReadError, match="not finite"):
        read(rezip({**genuine, file: npy(broken)}))
    with pytest.raises(ModelReadError, match="entries, but the steps before it make"):
        read(rezip({**genuine, file: npy(broken[1:])}))


JUNK = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-3, 2**40),
    st.floats(),
    st.text(max_size=3),
    st.just([]),
    st.just({}),
    st.sampled_from(["ListNode", "DictNode", "NdArrayNode", "ObjectNode", "JsonNode", "SliceNode", "SparseMatrixNode"]),
    st.sampled_from(["Ridge", "Pipeline", "OneHotEncoder", "StandardScaler", "numpy", "float64", "int8", "ndarray"]),
    st.sampled_from(["json", "schema.json", "null", "[1]", "1e999", '"x"', "true", "-1", "NaN"]),
)


def places(part, found):
    """Every (container, key) of a schema."""
    pairs = part.items() if isinstance(part, dict) else enumerate(part) if isinstance(part, list) else ()
    for key, value in pairs:
        found.append((part, key))
        places(value, found)
    return found


@pytest.mark.no_cover
@settings(max_examples=100, deadline=None, suppress_health_check=list(HealthCheck))
@given(
    picks=st.lists(st.tuples(st.integers(0, 10**6), JUNK), min_size=1, max_size=4), clear=st.booleans(), swap=st.booleans()
)
def test_any_mutation_is_read_or_refused(picks, clear, swap, genuine, rezip):
    schema = json.loads(genuine["schema.json"])
    if clear:
        for node in nodes(schema):
            node.pop("__id__", None)
    for position, junk in picks:
        found = places(schema, [])
        container, key = found[position % len(found)]
        if swap:
            other, name = found[(position * 7919) % len(found)]
            junk = copy.deepcopy(other[name])
        container[key] = junk
    schema["protocol"] = 2
    with contextlib.suppress(ModelReadError):
        assert isinstance(read(rezip({**genuine, "schema.json": schema})), LinearModel)
    assert RAN == []


ARRAYS = [
    np.array([1.0, 2.0]),
    np.array(["x", "y"]),
    np.array([True, False]),
    np.zeros((2, 2)),
    np.array([1, 0]),
    np.array(3.0),
]
WRONG = st.one_of(
    st.integers(-2, 5),
    st.floats(),
    st.text(max_size=2),
    st.none(),
    st.booleans(),
    st.sampled_from(ARRAYS),
    st.just([1]),
    st.sampled_from(["error", "first", "passthrough", "drop"]),
)


@pytest.mark.no_cover
@settings(max_examples=80, deadline=None, suppress_health_check=list(HealthCheck))
@given(picks=st.lists(st.tuples(st.integers(0, 10**6), WRONG), min_size=1, max_size=3))
def test_any_wrong_value_of_an_attribute_is_read_or_refused(picks, genuine, rezip):
    """Well-formed archives whose attributes have the wrong type or value."""
    members = dict(genuine)
    schema = json.loads(members["schema.json"])
    for node in nodes(schema):
        node.pop("__id__", None)
    states = [node["content"]["content"] for node in nodes(schema) if node["__loader__"] == "ObjectNode"]
    slots = [(state, name) for state in states for name in state]
    for number, (position, value) in enumerate(picks):
        state, name = slots[position % len(slots)]
        if isinstance(value, np.ndarray):
            members[f"forged{number}.npy"] = npy(value)
            array = {"__class__": "ndarray", "__module__": "numpy", "__loader__": "NdArrayNode", "type": "numpy"}
            state[name] = {**array, "file": f"forged{number}.npy"}
        else:
            state[name] = text(value)
    with contextlib.suppress(ModelReadError):
        assert isinstance(read(rezip({**members, "schema.json": schema})), LinearModel)


def test_every_attribute_as_an_array(genuine, rezip):
    """An array where a word or a number belongs has no truth value of its own."""
    schema = json.loads(genuine["schema.json"])
    for node in nodes(schema):
        node.pop("__id__", None)
    array = {
        "__class__": "ndarray",
        "__module__": "numpy",
        "__loader__": "NdArrayNode",
        "type": "numpy",
        "file": "forged.npy",
    }
    members = {**genuine, "forged.npy": npy(np.array([1.0, 2.0]))}
    states = [node["content"]["content"] for node in nodes(schema) if node["__loader__"] == "ObjectNode"]
    for state in states[-8:]:
        for name, value in list(state.items()):
            state[name] = array
            with contextlib.suppress(ModelReadError):
                assert isinstance(read(rezip({**members, "schema.json": schema})), LinearModel)
            state[name] = value
