"""Hostile graphs: those that the library writes, and random ones of all operators, changed."""

from __future__ import annotations

import json
import random
from functools import cache
from typing import Any

from layers.mxnet import operator, sym
from layers.mxnet._table import registry

from .values import changed_text, changed_tree, text

HIDDEN = ["__shape__", "__dtype__", "__lr_mult__", "__init__", "ctx_group", "lr_mult", "mood"]


@operator.register("hostile_sum")
class Sum(operator.CustomOpProp):
    """An operator of a user's, with an argument."""

    def __init__(self, size="2"):
        super().__init__(need_top_grad=True)
        self.size = int(size)

    def create_operator(self, ctx, shapes, dtypes):
        return operator.CustomOp()


def make(rng: random.Random) -> dict[str, bytes]:
    """A graph, changed as a tree or as a text."""
    graph = rng.choice(valid()) if rng.random() < 0.5 else drawn(rng)
    if rng.random() < 0.7:
        graph = changed_tree(rng, graph)
    return {"a-symbol.json": changed_text(rng, json.dumps(graph))}


@cache
def valid() -> list[Any]:
    """Graphs of the usual layers, control flow and custom operators, as they are written."""
    x = sym.var("data", shape=(2, 3), dtype="float32")
    y = sym.FullyConnected(x, num_hidden=4, name="fc")
    y = sym.BatchNorm(sym.Activation(y, act_type="relu"), name="bn")
    mlp = sym.SoftmaxOutput(sym.Dropout(y, p=0.3), name="softmax")
    image = sym.Convolution(sym.var("data"), kernel=(3, 3), num_filter=2, pad=(1, 1), name="conv")
    image = sym.Pooling(image, kernel=(2, 2), pool_type="max", stride=(2, 2))
    parts = sym.split(sym.reshape(image, shape=(0, -1)), num_outputs=2, name="parts")
    rnn = sym.RNN(
        sym.var("data"), state_size=3, num_layers=1, mode="lstm", state_outputs=True, name="rnn"
    )
    step = lambda row, state: (row * state, row + state)  # noqa: E731 - one of three alike
    looped = sym.contrib.foreach(step, sym.var("data"), sym.var("state"))[0]
    rows = sym.contrib.while_loop(
        lambda i: i < 3, lambda i: (i * 2, [i + 1]), [sym.var("data")], max_iterations=4
    )[0]
    x = sym.var("data")
    chosen = sym.contrib.cond(x.sum() > 0, lambda: x + 1, lambda: x - 1)
    own = sym.Custom(x, op_type="hostile_sum", size=3, name="own")
    symbols = [mlp, sym.Group([parts[0], parts[1]]), rnn, looped, rows[0], chosen, own]
    return [json.loads(symbol.tojson()) for symbol in symbols]


def drawn(rng: random.Random) -> dict[str, Any]:
    """A few operators of the table, with random attributes and inputs."""
    nodes: list[dict] = []
    for i in range(rng.randrange(1, 4)):
        attrs = {rng.choice(HIDDEN): text(rng)} if rng.random() < 0.1 else {}
        nodes.append({"op": "null", "name": f"x{i}", "attrs": attrs, "inputs": []})
    for i in range(rng.randrange(1, 5)):
        name = rng.choice(registry.names())
        operator = registry.get(name)
        attrs = {
            n: _attribute(rng, n, operator) for n in operator.defaults if _wanted(rng, n, operator)
        }
        count = rng.choice([len(operator.needed), len(operator.inputs), rng.randrange(4)])
        inputs = [[rng.randrange(len(nodes)), 0, 0] for _ in range(count)]
        nodes.append({"op": name, "name": f"n{i}", "attrs": attrs, "inputs": inputs})
    return {
        "nodes": nodes,
        "arg_nodes": [i for i, node in enumerate(nodes) if node["op"] == "null"],
        "node_row_ptr": list(range(len(nodes) + 1)),
        "heads": [[len(nodes) - 1, 0, 0]],
        "attrs": {"mxnet_version": ["int", rng.choice([10901, 800, 904, 10**9])]},
    }


def _wanted(rng: random.Random, name: str, operator: registry.Op) -> bool:
    return rng.random() < (0.95 if name in operator.required else 0.3)


def _attribute(rng: random.Random, name: str, operator: registry.Op) -> str:
    """A text that may be right, from its default or the type; or any."""
    default = operator.defaults[name]
    if rng.random() < 0.3:
        return text(rng)
    if default is registry.REQUIRED or default is None:
        return rng.choice(["1", "2", "(1, 1)", "(2, 3)", "0", "float32", "-1", "0.5"])
    return str(default).replace("torch.", "")
