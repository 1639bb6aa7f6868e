"""Custom operators as people write them: how one is registered, and held to what it should give."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from layers.engine import autograd, gluon, mx, nd, sym


def operator(
    name,
    arguments=("data",),
    outputs=("output",),
    states=(),
    attributes=None,
    needs=None,
    shapes=None,
    types=None,
    top=True,
):
    """Register a CustomOp; decorator.

    `attributes` reads the text of each; names that depend on them are functions of them. `needs`,
    `shapes` and `types` are methods of the CustomOpProp.
    """
    readers = attributes or {}

    def add(op):
        class Prop(mx.operator.CustomOpProp):
            def __init__(self, **text):
                super().__init__(need_top_grad=top)
                self.values = {k: readers[k](v) for k, v in text.items()}

            def list_arguments(self):
                return self.named(arguments)

            def list_outputs(self):
                return self.named(outputs)

            def list_auxiliary_states(self):
                return self.named(states)

            def named(self, names):
                return list(names(**self.values) if callable(names) else names)

            def create_operator(self, ctx, in_shapes, in_dtypes):
                made = op()
                vars(made).update(self.values)
                return made

        rules = {
            "infer_shape": shapes,
            "infer_type": types,
            "declare_backward_dependency": needs,
        }
        for rule, function in rules.items():
            if function is not None:
                setattr(Prop, rule, function)
        Prop.__name__ = Prop.__qualname__ = f"{op.__name__}Prop"
        mx.operator.register(name)(Prop)
        op.op_type = name
        return op

    return add


class Sample(NamedTuple):
    """What an operator is given, and what it should give.

    A gradient that is None is not asked for; without `heads` the outputs are losses.
    """

    operator: Any
    inputs: list
    outputs: list
    gradients: list = []
    attributes: dict = {}
    heads: list | None = None
    states: list = []
    states_after: list = []

    def asked(self):
        return [*self.gradients, *[None] * (len(self.inputs) - len(self.gradients))]

    def head_arrays(self):
        return None if self.heads is None else arrays(self.heads)


def arrays(values):
    return [nd.array(v, dtype=v.dtype) for v in map(np.asarray, values)]


def f32(*values):
    return np.array(values, "float32")


def assert_close(found, expected):
    assert len(found) == len(expected)
    for array, value in zip(found, expected):
        np.testing.assert_allclose(array.asnumpy(), value, rtol=2e-5, atol=2e-6)


def assert_eager(sample):
    """By `nd.Custom`."""
    inputs, states = arrays(sample.inputs), arrays(sample.states)

    def call(*x):
        return nd.Custom(*x, *states, op_type=sample.operator.op_type, **sample.attributes)

    assert_recorded(sample, inputs, call)
    assert_close(states, sample.states_after)


def assert_replayed(sample):
    """In a hybridized block, twice."""
    options = {"op_type": sample.operator.op_type, **sample.attributes}
    net = gluon.nn.HybridLambda(lambda F, *x: F.Custom(*x, **options))
    net.hybridize()
    for _ in range(2):
        assert_recorded(sample, arrays(sample.inputs), net)


def assert_recorded(sample, inputs, call):
    pairs = [(x, g) for x, g in zip(inputs, sample.asked()) if g is not None]
    for x, _ in pairs:
        x.attach_grad()
    with autograd.record():
        y = call(*inputs)
    y = y if isinstance(y, list) else [y]
    assert_close(y, sample.outputs)
    if pairs:
        autograd.backward(y, sample.head_arrays())
        assert_close([x.grad for x, _ in pairs], [g for _, g in pairs])


def assert_bound(sample):
    """As a Symbol, bound to arrays."""
    variables = [sym.var(f"x{i}") for i in range(len(sample.inputs))]
    options = {"op_type": sample.operator.op_type, "name": "own", **sample.attributes}
    graph = sym.Custom(*variables, **options)
    inputs, states = arrays(sample.inputs), arrays(sample.states)
    asked = {f"x{i}": g for i, g in enumerate(sample.asked()) if g is not None}
    index = {name: int(name[1:]) for name in asked}
    gradients = {name: nd.zeros_like(inputs[i]) for name, i in index.items()}
    executor = graph.bind(
        mx.current_context(),
        args={f"x{i}": x for i, x in enumerate(inputs)},
        args_grad=gradients,
        grad_req={f"x{i}": "write" if f"x{i}" in asked else "null" for i in range(len(inputs))},
        aux_states=states,
    )
    assert_close(executor.forward(is_train=True), sample.outputs)
    if asked:
        executor.backward(sample.head_arrays())
        assert_close(list(gradients.values()), list(asked.values()))
    assert_close(states, sample.states_after)
