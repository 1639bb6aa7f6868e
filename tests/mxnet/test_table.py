"""The table: names, arguments and defaults are MXNet's, and every row has what a row must have."""

from __future__ import annotations

import ctypes
import json
import os
import re
from ast import literal_eval
from importlib import import_module
from pathlib import Path

import cases  # noqa: F401 - fills CASES
import numpy as np
import pytest
from case import CASES, function

GOLDEN = Path(__file__).resolve().parents[1] / "golden"
# Those of mx.np are in a file of their own; what only MXNet itself calls is in none.
FILES = {
    "operators.json": re.compile("_np|_sg_|.*_?backward|_broadcast_backward|_cv"),
    "np_operators.json": re.compile("(?!_np)|.*_?backward|_npi_cv"),
}
# Rows of mx.np that MXNet has not as operators: it computes them in Python, or as Custom.
OURS = ("_npi_array_split", "_npi_multivariate_normal", "_npi_resize", "_npi_unravel_index")
WRONG = {
    "_linspace": "MXNet's operator information lists the arguments of _arange",
    "_linalg_potrf": "MXNet's operator information leaves out lower",
    "_linalg_potri": "MXNet's operator information leaves out lower",
    "BatchNorm_v1": "MXNet's operator information leaves out the auxiliary states",
    "IdentityAttachKLSparseReg": "MXNet's operator information leaves out the auxiliary state",
}

if os.environ["LAYERS_ENGINE"] == "torch":
    _op = import_module("layers.mxnet._table.registry")
    import_module("layers.mxnet.ndarray")  # fills the table
    EVERY = list(dict.fromkeys(map(_op.get, _op.names())))
    OPERATORS = [o for o in EVERY if not all(n.startswith("_np") for n in (o.name, *o.aliases))]
    OF_NP = [o for o in EVERY if o not in OPERATORS]
    ROWS = [o for o in OPERATORS if not isinstance(o, _op.Absent)]
else:
    OPERATORS = ROWS = OF_NP = []

MISSING = {"_npi_Custom", "_npi_copyto", "_npi_share_memory"}  # in no graph
each_operator = pytest.mark.parametrize("operator", OPERATORS, ids=lambda o: o.name)
each_row = pytest.mark.parametrize("row", ROWS, ids=lambda o: o.name)
each_of_np = pytest.mark.parametrize("row", OF_NP, ids=lambda o: o.name)
torch_only = pytest.mark.engine("torch")


@pytest.mark.engine("mxnet")
@pytest.mark.parametrize("file", FILES)
def test_information_is_recorded(pytestconfig, file):
    found = information(FILES[file])
    if pytestconfig.getoption("--record"):
        lines = [f'"{name}": {json.dumps(found[name])}' for name in sorted(found)]
        (GOLDEN / file).write_text("{\n" + ",\n".join(lines) + "\n}\n")
    assert found == recorded(file)


def recorded(file="operators.json"):
    return json.loads((GOLDEN / file).read_text())


def information(left_out):
    """MXNet's operators: {name: {aliases: [...], arguments: {argument: its type as text}}}."""
    from mxnet.base import _LIB, check_call

    count, names = ctypes.c_uint(), ctypes.POINTER(ctypes.c_char_p)()
    check_call(_LIB.MXListAllOpNames(ctypes.byref(count), ctypes.byref(names)))
    found = {}
    for name in sorted(names[i].decode() for i in range(count.value)):
        if not left_out.match(name):
            real, arguments = described(name)
            row = found.setdefault(real, {"aliases": [], "arguments": arguments})
            row["aliases"] += [name] if name != real else []
    return found


def described(name):
    """An operator's first name, and its arguments."""
    from mxnet.base import _LIB, check_call

    handle, count = ctypes.c_void_p(), ctypes.c_uint()
    texts = [ctypes.c_char_p() for _ in range(4)]
    lists = [ctypes.POINTER(ctypes.c_char_p)() for _ in range(3)]
    real, description, counted, _ = map(ctypes.byref, texts)
    names, types, descriptions = map(ctypes.byref, lists)
    check_call(_LIB.NNGetOpHandle(name.encode(), ctypes.byref(handle)))
    check_call(
        _LIB.MXSymbolGetAtomicSymbolInfo(
            handle, real, description, ctypes.byref(count), names, types, descriptions, counted, _
        )
    )
    names, types, _ = [[text[i].decode() for i in range(count.value)] for text in lists]
    number_of_inputs = (texts[2].value or b"").decode()  # nobody has to give it
    arguments = {n: t for n, t in zip(names, types) if n != number_of_inputs}
    return texts[0].value.decode(), arguments


@torch_only
@each_operator
def test_names(operator):
    expected = recorded()
    assert operator.name in expected
    of_np = [name for name in operator.aliases if name.startswith("_np")]
    assert sorted({*operator.aliases} - {*of_np}) == expected[operator.name]["aliases"]
    assert {*of_np} <= names_of_np()


@torch_only
@each_of_np
def test_names_of_np(row):
    assert {row.name, *row.aliases} <= names_of_np().union(OURS)


def names_of_np():
    rows = recorded("np_operators.json")
    return {*rows}.union(*[found["aliases"] for found in rows.values()])


@torch_only
@each_of_np
def test_arguments_of_np(row):
    """Files of MXNet have no attribute that a row does not take, and as many inputs."""
    found = recorded("np_operators.json").get(row.name)
    if row.name in OURS or found is None:
        pytest.skip("MXNet has no operator of this name of its own")
    arguments = found["arguments"]
    inputs = [n for n, t in arguments.items() if is_array(t)]
    assert row.variadic == any("[]" in arguments[n] for n in inputs)
    assert len(row.inputs) == len(inputs)
    attributes = {n: t for n, t in arguments.items() if not is_array(t)}
    assert {*attributes} <= {*row.attribute_names}


@torch_only
def test_every_operator_of_np_is_there():
    names = {name for name in names_of_np() if name.startswith("_np")}
    assert names - {*_op.names()} == MISSING


@torch_only
@each_row
def test_arguments(row):
    if row.name in WRONG:
        pytest.skip(WRONG[row.name])
    arguments = recorded()[row.name]["arguments"]
    assert list(row.inputs) == [n for n, t in arguments.items() if is_array(t)]
    assert row.variadic == any("[]" in t for t in arguments.values() if is_array(t))
    attributes = {n: t for n, t in arguments.items() if not is_array(t)}
    assert row.attribute_names == list(attributes)
    for name, text in attributes.items():
        check_default(row, name, text)
        if text.startswith("{"):
            check_choices(row, name, literal_eval(text[: text.index("}") + 1]))


def is_array(text):
    return "NDArray" in text or "Symbol" in text


def check_default(row, name, text):
    """A default is MXNet's, read from its text as a user's text is read."""
    assert (name in row.required) == ("required" in text), f"{name} is {text}"
    if "default=" in text:
        expected = row.parse(name, text.partition("default=")[2].strip("'"))
        default = row.defaults[name]
        if isinstance(default, float):
            expected, default = np.float32(expected), np.float32(default)
        assert default == expected, f"{name} is {text}"


def check_choices(row, name, choices):
    """What MXNet takes is taken; and where the values are no dtypes, nothing else is."""
    for value in choices:
        row.parse(name, value)
    if not {"float32", "int32"} & set(choices):
        with pytest.raises(TypeError, match="expected one of"):
            row.parse(name, "anything")


@torch_only
@each_row
def test_there_is_a_case(row):
    called = {case.operator for case in CASES.values()}
    assert called & {row.name, *row.aliases}, "no line in tests/cases.py"


@torch_only
@each_operator
def test_docstring(operator):
    assert operator.__doc__
    assert operator.__doc__.split("\n\n")[0].endswith((".", ":")), "no sentence"


@torch_only
@each_operator
def test_reachable(operator, mx):
    for name in (operator.name, *operator.aliases):
        assert function(mx.nd, name).operator is operator


@torch_only
def test_absent_says_why(mx):
    for operator in (o for o in OPERATORS if isinstance(o, _op.Absent)):
        absent = function(mx.nd, operator.name)
        for arguments in {}, {"anything": 1}:
            with pytest.raises(NotImplementedError, match=re.escape(operator.__doc__[15:])):
                absent(mx.nd.ones((2,)), **arguments)


@pytest.fixture
def registry(monkeypatch):
    monkeypatch.setattr(_op, "_registry", dict(_op._registry))


@torch_only
def test_a_name_is_taken_once(registry):
    def relu(data: _op.Tensor) -> _op.Tensor:
        return data

    def other(data: _op.Tensor) -> _op.Tensor:
        return data

    with pytest.raises(ValueError, match="'relu' is registered twice"):
        _op.op(relu)
    with pytest.raises(ValueError, match="'relu' is registered twice"):
        _op.op("relu")(other)
    _op.op(other)


@torch_only
def test_absent(registry):
    missing = _op.absent("anything", "nobody has asked for it")
    with pytest.raises(NotImplementedError, match="anything: not supported\n  nobody has asked"):
        missing.run()
    with pytest.raises(NotImplementedError, match="nobody has asked"):
        missing.parse("axis", 1)


@torch_only
def test_rows_show_their_own_names():
    row = _op.get("broadcast_add")
    with pytest.raises(TypeError, match=r"^broadcast_add\(\)"):
        row.function()
    assert str(row.signature) == "(lhs: 'Tensor', rhs: 'Tensor') -> 'Tensor'"


@pytest.mark.engine("torch")
def test_what_draws_random_numbers_is_marked(mx):
    torch = import_module("torch")
    drew = {"LeakyReLU", "RNN"}  # they do so with attributes that no case has
    for case in CASES.values():
        inputs = [mx.nd.array(value, dtype=value.dtype) for value in case.values()]
        before = torch.get_rng_state()
        with mx.autograd.record(case.train):
            function(mx.nd, case.operator)(*inputs, **case.attributes)
        if not torch.equal(before, torch.get_rng_state()):
            drew.add(_op.get(case.operator).name)
    assert drew == {row.name for row in ROWS if row.draws}
