"""What a network is made of: its layers, their outputs, parameters and work."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import layers
from layers.engine import autograd, gluon, nd

__all__ = ["Layer", "Summary", "summarize", "table"]

MOST = 24  # layers in a table; of a network with more its own list is shown
WHOLE = (layers.SwiGLU, layers.GeGLU, layers.MultiHeadAttention)  # whose parts are not listed
ROW = (gluon.nn.HybridSequential, gluon.nn.Sequential)


@dataclass(frozen=True)
class Layer:
    """A layer: its name in the network, its class, and what it gives for one sample.

    `flops` are those of products with its weights, and of attention's products: a multiplication
    and an addition are two. The rest of a network is small beside them, and is not counted.
    """

    name: str
    kind: str
    shape: tuple[int, ...]
    parameters: int
    flops: int


@dataclass(frozen=True)
class Summary:
    """The layers of a network, the shape of its outputs for one sample, and the sums.

    A parameter that layers share counts once in the sum.
    """

    layers: tuple[Layer, ...]
    outputs: tuple[int, ...]
    parameters: int
    flops: int


def summarize(net: gluon.Block, *inputs: Any) -> Summary:
    """Call a network that is not hybridized with samples, and note what each layer gives.

    Parameters
    ----------
    net : Block
        Its parameters are initialized.
    *inputs : NDArray
        (n, ...): samples, which the network takes.

    Returns
    -------
    Summary
        Its layers in the order of the calls: those that have no layers inside, or the network's own
        list if they are more than 24.
    """
    calls, handles = [], []

    def note(block, given, result):
        y = result[0] if isinstance(result, list | tuple) else result
        if not isinstance(y, nd.NDArray):
            return  # a graph is made, in which shapes are found out
        calls.append((id(block), [x.shape for x in given if hasattr(x, "shape")], y.shape))

    for _, block in named(net):
        handles.append(block.register_forward_hook(note))
    try:
        with autograd.predict_mode():
            net(*inputs)
    finally:
        for handle in handles:
            handle.detach()
    blocks = {id(block): block for _, block in named(net)}
    shapes, work = {}, dict.fromkeys(blocks, 0)
    for block, given, shape in calls:
        shapes[block] = shape
        work[block] += flops(blocks[block], given, shape) // len(inputs[0])
    return Summary(
        tuple(
            Layer(
                name or net.name,
                type(block).__name__,
                tuple(shapes[id(block)][1:]),
                learned(block),
                sum(work[id(part)] for _, part in named(block)),
            )
            for name, block in listed_layers(net)
            if id(block) in shapes
        ),
        tuple(shapes[id(net)][1:]),
        learned(net),
        sum(work.values()),
    )


def listed_layers(net: gluon.Block) -> list[tuple[str, gluon.Block]]:
    """Return the layers that a table lists, each once."""
    inside = [*parts(net, is_opened)]
    if len(inside) > MOST:
        inside = [*parts(net, lambda block: isinstance(block, ROW))]
    once = {id(block): (name, block) for name, block in reversed(inside)}
    return [*reversed(once.values())]


def is_opened(block: gluon.Block) -> bool:
    """True if a table lists the blocks inside a block, and not the block."""
    return bool(block._children) and not [*block.params.keys()] and not isinstance(block, WHOLE)


def parts(net: gluon.Block, opened: Callable, prefix: str = ""):
    """Yield the blocks of a network with their names; for those that are opened, their parts.

    A network without any is its own part.
    """
    if not opened(net):
        yield prefix, net
        return
    for name, child in net._children.items():
        yield from parts(child, opened, f"{prefix}.{name}" if prefix else name)


def named(block: gluon.Block, prefix: str = ""):
    """Yield a block and all blocks inside it, with the names that their parameters begin with."""
    yield prefix, block
    for name, child in block._children.items():
        yield from named(child, f"{prefix}.{name}" if prefix else name)


def learned(block: gluon.Block) -> int:
    parameters = block.collect_params().values()
    return sum(math.prod(p.shape) for p in parameters if p.grad_req != "null")


def flops(block: gluon.Block, given: list[tuple[int, ...]], shape: tuple[int, ...]) -> int:
    """Return the work of a call, without that of the blocks inside the block."""
    if isinstance(block, layers.ScaledDotProductAttention):  # scores, and values' means by them
        return 4 * math.prod(given[0]) * given[1][-2]
    if isinstance(block, gluon.nn.Embedding) or not given:
        return 0
    weights = [p.shape for p in block.params.values() if p.grad_req != "null" and p.shape]
    return sum(2 * math.prod(w) * places(w, given[0], shape) for w in weights)


def places(weight: tuple[int, ...], x: tuple[int, ...], y: tuple[int, ...]) -> int:
    """Return how often a weight is multiplied in a call from x to y: 0 where it is no product."""
    if len(weight) == 2:  # on the last axis, or on all but the first
        if math.prod(x) % weight[1] == 0:
            return math.prod(x) // weight[1]
        return math.prod(y) // weight[1] if y[-1] == weight[1] else 0  # recurrent
    if len(weight) > 2 and len(weight) == len(y) == len(x):  # a convolution, or a transposed one
        channels = next((s for s in (y, x) if s[1] == weight[0]), None)
        return math.prod(channels) // weight[0] if channels else 0
    return 0


def table(found: Summary) -> str:
    """Return the layers and their sums as lines of text."""
    rows = [("layer", "", "output", "parameters", "FLOPs")]
    for layer in found.layers:
        output = " x ".join(map(str, layer.shape)) or "1"
        counts = [f"{n:,}" if n else "" for n in (layer.parameters, layer.flops)]
        rows.append((layer.name, layer.kind, output, counts[0], counts[1]))
    rows.append(("in all", "", "", f"{found.parameters:,}", f"{found.flops:,}"))
    widths = [max(map(len, column)) for column in zip(*rows)]
    lines = []
    for row in rows:
        texts = [cell.ljust(width) for cell, width in zip(row[:3], widths)]
        texts += [cell.rjust(width) for cell, width in zip(row[3:], widths[3:])]
        lines.append("  ".join(texts).rstrip())
    return "\n".join(lines)
