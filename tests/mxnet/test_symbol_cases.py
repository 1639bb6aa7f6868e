"""Every operator as a Symbol: shapes, types, values and gradients are those of the eager call."""

import cases  # noqa: F401 - fills ALL_CASES
import numpy as np
import pytest
from case import CASES as ALL_CASES
from case import check, function, run, untouched

pytestmark = pytest.mark.engine("torch")
# A Symbol without outputs has nothing to compute.
CASES = {name: case for name, case in ALL_CASES.items() if case.operator != "reset_arrays"}


def composed(mx, case):
    """The case's operator on variables x0, x1, ..."""
    variables = [mx.sym.var(f"x{i}") for i in range(len(case.inputs))]
    return function(mx.sym, case.operator)(*variables, name="n", **case.attributes)


def bound(mx, case, symbol):
    """What `case.run` finds, by an executor of a Symbol; inputs also where they did not change."""
    mx.random.seed(1)
    before = case.values()
    arrays = {f"x{i}": mx.nd.array(v, dtype=v.dtype) for i, v in enumerate(before)}
    states = symbol.list_auxiliary_states()
    gradients = {
        f"x{i}": mx.nd.zeros_like(arrays[f"x{i}"])
        for i, (x, value) in enumerate(zip(case.inputs, before))
        if case.grad and x.grad and value.dtype.kind == "f" and f"x{i}" not in states
    }
    arguments = {n: arrays[n] for n in symbol.list_arguments()}
    auxiliary = {n: arrays[n] for n in states}
    executor = symbol.bind(mx.current_context(), arguments, gradients, aux_states=auxiliary)
    ys = [y.asnumpy() for y in executor.forward(is_train=case.train)]
    found = {f"y{i}": y for i, y in enumerate(ys)}
    real = [i for i, y in enumerate(ys) if y.dtype.kind == "f"]
    if case.train and gradients and real:
        heads = [mx.nd.zeros_like(y) for y in executor.outputs]
        for i, head in zip(real, case.heads([ys[i] for i in real])):
            heads[i] = mx.nd.array(head, dtype=head.dtype)
        executor.backward(heads)
        found |= {f"d{name[1:]}": g.asnumpy() for name, g in gradients.items()}
    return found | {name: array.asnumpy() for name, array in arrays.items()}


@pytest.mark.parametrize("case", [pytest.param(c, id=i) for i, c in CASES.items()])
def test_case(mx, case):
    expected = run(mx, case)
    symbol = composed(mx, case)
    check_shapes_and_types(case, symbol, expected)
    text = symbol.tojson(remove_amp_cast=False)
    again = mx.sym.load_json(text)
    assert again.tojson(remove_amp_cast=False) == text
    found = bound(mx, case, again)
    assert len(symbol.list_outputs()) == sum(name.startswith("y") for name in expected)
    for name, value in expected.items():
        if name.startswith("d") and not case.train:
            continue  # an executor keeps what the way back needs only when it trains
        if name in [f"x{i}" for i in case.into]:
            continue  # an executor has outputs of its own
        check(name, found[name], np.zeros_like(value) if untouched(name, value) else value)


def check_shapes_and_types(case, symbol, expected):
    outputs = [value for name, value in expected.items() if name.startswith("y")]
    given = {f"x{i}": value for i, value in enumerate(case.values())}
    types = symbol.infer_type(**{name: value.dtype for name, value in given.items()})[1]
    assert types == [y.dtype for y in outputs]
    shapes = {name: value.shape for name, value in given.items()}
    if case.operator == "_contrib_boolean_mask":
        with pytest.raises(NotImplementedError, match="only at run time"):
            symbol.infer_shape(**shapes)
    else:
        assert symbol.infer_shape_partial(**shapes)[1] == [y.shape for y in outputs]
