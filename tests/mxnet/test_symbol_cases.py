"""Every operator as a Symbol: shapes, types, values and gradients are those of the eager call."""

import cases  # noqa: F401 - fills CASES
import numpy as np
import pytest
from case import CASES, check, function, run, untouched

pytestmark = pytest.mark.engine("torch")
every_case = pytest.mark.parametrize("case", [pytest.param(c, id=i) for i, c in CASES.items()])


def composed(mx, case):
    """The case's operator on variables x0, x1, ..."""
    with mx.name.NameManager():
        variables = [mx.sym.var(f"x{i}") for i in range(len(case.inputs))]
        return function(mx.sym, case.operator)(*variables, **case.attributes)


def bound(mx, case, symbol):
    """What `case.run` finds, by an executor of a Symbol."""
    mx.random.seed(1)
    before = case.values()
    arrays = {f"x{i}": mx.nd.array(v, dtype=v.dtype) for i, v in enumerate(before)}
    wanted = [
        f"x{i}"
        for i, (x, value) in enumerate(zip(case.inputs, before))
        if case.grad and x.grad and value.dtype.kind == "f"
    ]
    states = symbol.list_auxiliary_states()
    gradients = {n: mx.nd.zeros_like(arrays[n]) for n in wanted if n not in states}
    executor = symbol.bind(
        mx.cpu(),
        {n: arrays[n] for n in symbol.list_arguments()},
        gradients,
        aux_states={n: arrays[n] for n in states},
    )
    ys = [y.asnumpy() for y in executor.forward(is_train=case.train)]
    found = {f"y{i}": y for i, y in enumerate(ys)}
    real = [i for i, y in enumerate(ys) if y.dtype.kind == "f"]
    if case.train and gradients and real:
        heads = [mx.nd.zeros_like(y) for y in executor.outputs]
        for i, head in zip(real, case.heads([ys[i] for i in real])):
            heads[i] = mx.nd.array(head, dtype=head.dtype)
        executor.backward(heads)
        found |= {n.replace("x", "d"): g.asnumpy() for n, g in gradients.items()}
    return found | {n: a.asnumpy() for n, a in arrays.items()}


@every_case
def test_bound(mx, case):
    expected = run(mx, case)
    symbol = composed(mx, case)
    again = mx.sym.load_json(symbol.tojson())
    assert again.tojson() == symbol.tojson()
    found = bound(mx, case, again)
    outputs = [v for n, v in expected.items() if n[0] == "y"]
    assert len(symbol.list_outputs()) == len(outputs)
    for name, value in expected.items():
        if name.startswith("d"):
            value = np.zeros_like(value) if untouched(name, value) else value
            if not case.train:  # an executor keeps what is needed to go back when it trains
                continue
        check(name, found[name], value)


@every_case
def test_shapes_and_types(mx, case):
    expected = [v for n, v in run(mx, case).items() if n[0] == "y"]
    symbol = composed(mx, case)
    values = case.values()
    names = [f"x{i}" for i in range(len(values))]
    shapes = symbol.infer_shape(**{n: v.shape for n, v in zip(names, values)})[1]
    assert shapes == [y.shape for y in expected]
    types = symbol.infer_type(**{n: v.dtype for n, v in zip(names, values)})[1]
    assert types == [y.dtype for y in expected]
