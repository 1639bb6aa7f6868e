"""Whatever shapes of inputs MXNet infers from outputs and other inputs are inferred here too."""

import json
from pathlib import Path

import cases  # noqa: F401 - fills CASES
import pytest
from case import CASES, function

RECORDED = Path(__file__).parents[1] / "golden/inferred_inputs.json"
MOST = 2  # cases of an operator
# By the beginning of a case: why less is inferred here.
LESS = {
    "LinearRegressionOutput(": "a label (n,) for data (n, 1), of which the 1 is hidden",
    "LogisticRegressionOutput(": "as LinearRegressionOutput",
    "MAERegressionOutput(": "as LinearRegressionOutput",
    "RNN(": "MXNet takes a size that is not known for 0",
    "pick(": "an index without the axis, though keepdims is True",
    "reshape(": "from the output that the attribute tells",
    "_rnn_param_concat(7,2,1,": "sizes that do not add up to that of the output",
    "unravel_index(": "MXNet infers one axis of an index that has two",
}


def hidden(shapes):
    """Ways to hide shapes of inputs: a name, and what is left of the shapes."""
    for i, shape in enumerate(shapes):
        ways = {"": None, "axes": (0,) * len(shape)}
        ways |= {str(a): (*shape[:a], 0, *shape[a + 1 :]) for a in range(len(shape))}
        for name, left in ways.items():
            yield f"{i} {name}".strip(), [*shapes[:i], left, *shapes[i + 1 :]]
    yield "all", [None] * len(shapes)
    for name, first in (("all but 0", 1), ("all rows", 0)):
        yield name, [*shapes[:first], *[(0, *s[1:]) for s in shapes[first:]]]


def composed(mx, case, count):
    variables = [mx.sym.var(f"x{i}") for i in range(count)]
    return function(mx.sym, case.operator)(*variables, name="n", **case.attributes)


def inferred(mx, case, shapes, outputs):
    """The shapes of the inputs, from those and, where given, from those of the outputs."""
    symbol = composed(mx, case, len(shapes))
    given = {f"x{i}": shape for i, shape in enumerate(shapes) if shape is not None}
    if outputs:
        beside = [mx.sym.elemwise_add(y, mx.sym.var(f"y{i}")) for i, y in enumerate(symbol)]
        symbol = mx.sym.Group(beside)
        given |= {f"y{i}": shape for i, shape in enumerate(outputs)}
    arguments, _, states = symbol.infer_shape_partial(**given)
    names = symbol.list_arguments() + symbol.list_auxiliary_states()
    found = dict(zip(names, arguments + states))
    return [[*(found.get(f"x{i}") or ())] for i in range(len(shapes))]


def chosen():
    """The first cases of each operator whose inputs all have elements."""
    counts = {}
    for id, case in CASES.items():
        if case.operator != "reset_arrays" and case.inputs:
            shapes = [value.shape for value in case.values()]
            if all(shape and 0 not in shape for shape in shapes):
                counts[case.operator] = counts.get(case.operator, 0) + 1
                if counts[case.operator] <= MOST:
                    yield id, case, shapes


def told(before, after):
    """Whether a shape says more than another of the same input."""
    return any(b and b != (a or [0] * len(b)) for a, b in zip(before, after))


def record(mx):
    found = {}
    for id, case, shapes in chosen():
        try:
            symbol = composed(mx, case, len(shapes))
            given = {f"x{i}": shape for i, shape in enumerate(shapes)}
            outputs = symbol.infer_shape_partial(**given)[1]
        except Exception:  # of a case that MXNet refuses
            continue
        if not all(shape and 0 not in shape for shape in outputs):
            continue
        of_case = {}
        for name, left in hidden(shapes):
            before = [None if shape is None else [*shape] for shape in left]
            for key, ys in ((name, None), (f"{name}, outputs known", outputs)):
                try:
                    after = inferred(mx, case, left, ys)
                except Exception:  # MXNet refuses what it cannot infer
                    continue
                if told(before, after):
                    of_case[key] = after
        if of_case:
            found[id] = {"outputs": [[*shape] for shape in outputs], "inferred": of_case}
    return found


@pytest.mark.engine("mxnet")
def test_what_mxnet_infers(mx, pytestconfig):
    found = record(mx)
    lines = [f" {json.dumps(id)}: {json.dumps(entry)}" for id, entry in found.items()]
    text = "{\n" + ",\n".join(lines) + "\n}\n"
    if pytestconfig.getoption("--record"):
        RECORDED.write_text(text, "utf-8")
    assert RECORDED.read_text("utf-8") == text


ENTRIES = json.loads(RECORDED.read_text("utf-8")) if RECORDED.exists() else {}


@pytest.mark.engine("torch")
@pytest.mark.parametrize("id", [id for id in ENTRIES if not id.startswith(tuple(LESS))])
def test_as_much_is_inferred(mx, id):
    case, entry = CASES[id], ENTRIES[id]
    shapes = [value.shape for value in case.values()]
    outputs = [tuple(shape) for shape in entry["outputs"]]
    for name, left in hidden(shapes):
        for key, ys in ((name, None), (f"{name}, outputs known", outputs)):
            if key in entry["inferred"]:
                found = inferred(mx, case, left, ys)
                for own, expected in zip(found, entry["inferred"][key]):
                    sizes = own or [0] * len(expected)
                    assert [a if b else 0 for a, b in zip(sizes, expected)] == expected, key


@pytest.mark.engine("torch")
@pytest.mark.parametrize("beginning", LESS)
def test_reasons_are_for_cases(beginning):
    assert any(id.startswith(beginning) for id in ENTRIES)
