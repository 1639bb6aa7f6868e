"""What the graph of an unrolled LSTM costs, before it computes anything."""

from __future__ import annotations

import json

from layers.engine import mx

from ..worker import Entry
from .bucketing import WORDS, symbol_of

BATCH, SIZE, LAYERS = 2, 10, 2
NODES_OF_STEP = 27


def build(variant: str, device: str, work: str, nodes: int) -> Entry:
    """`work` is one of the functions below, by its name; the graph has about so many nodes."""
    steps = max(nodes // NODES_OF_STEP, 1)
    shapes = {"data": (BATCH, steps), "softmax_label": (BATCH, steps)}

    def compose():
        return symbol_of(steps, SIZE, LAYERS)[0]

    graph = compose()
    text = graph.tojson()

    def bind():
        return graph.simple_bind(mx.cpu(), grad_req="null", **shapes)

    def predict():
        return bind().forward()[0].asnumpy()

    works = {
        "compose": compose,
        "infer_shape": lambda: graph.infer_shape(**shapes),
        "bind": bind,
        "bind and predict": predict,
        "tojson": graph.tojson,
        "load": lambda: mx.sym.load_json(text),
    }
    return Entry(works[work], lambda: numbers(works[work](), steps))


def numbers(made, steps: int) -> list[float]:
    """Numbers that tell a graph, its text, its shapes, an executor or what it predicts."""
    if isinstance(made, tuple):
        return [float(sum(map(len, shapes))) for shapes in made] + [float(made[1][0][0])]
    if isinstance(made, str):
        return [float(len(json.loads(made)["nodes"]))]
    if hasattr(made, "arg_dict"):
        return [float(sum(array.size for array in made.arg_dict.values()))]
    if hasattr(made, "get_internals"):
        return [float(len(made.get_internals().list_outputs()))]
    return [*map(float, made.shape), float(made.sum()), made.shape[0] * WORDS / steps]
