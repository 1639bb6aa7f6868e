"""The table that `Block.summary` prints."""

from __future__ import annotations

from math import prod

from ..base import StateError
from ..ndarray import NDArray

ROW = "{:>20}  {:>42} {:>15}"
WIDTH = 80


class _Count:
    """Parameters in the order in which the forward pass used them."""

    def __init__(self):
        self.total = self.trainable = self.shared = 0
        self.seen = set()

    def add(self, parameters) -> int:
        """Count the parameters of one call; returns how many numbers they have."""
        before = self.total
        for parameter in parameters:
            size = prod(parameter.shape)
            self.total += size
            self.trainable += size if parameter.grad_req != "null" else 0
            if id(parameter) in self.seen:
                self.shared += size
            self.seen.add(id(parameter))
        return self.total - before


def indented(block) -> str:
    """The text of a block, for a place inside that of another."""
    return repr(block).replace("\n", "\n  ")


def summary(block, inputs: tuple) -> str:
    """The table for one forward pass: each call of a block, its output's shape, its parameters.

    A row of layers, such as Sequential, has none of its own.

    Raises
    ------
    StateError
        A block is hybridized: its graph would not call the blocks inside.
    """
    count = _Count()
    rows = [("Input", _shapes(list(inputs)), 0)]
    handles = []

    def record(called, _, output):
        name = f"{type(called).__name__}-{len(rows)}"
        rows.append((name, _shapes(output), count.add(called.params.values())))

    def watch(child):
        if getattr(child, "_active", False):
            raise StateError(
                f"summary: {child.name!r} is hybridized, so that it does not call the blocks inside"
                "\n  expected hybridize(False), or summary before hybridize"
            )
        if child._in_summary:
            handles.append(child.register_forward_hook(record))

    try:
        block.apply(watch)
        block(*inputs)
    finally:
        for handle in handles:
            handle.detach()
    return "\n".join(
        [
            "-" * WIDTH,
            ROW.format("Layer (type)", "Output Shape", "Param #"),
            "=" * WIDTH,
            *(ROW.format(*row) for row in rows),
            "=" * WIDTH,
            "Parameters in forward computation graph, duplicate included",
            f"   Total params: {count.total}",
            f"   Trainable params: {count.trainable}",
            f"   Non-trainable params: {count.total - count.trainable}",
            f"Shared params in forward computation graph: {count.shared}",
            f"Unique parameters in model: {count.total - count.shared}",
            "-" * WIDTH,
        ]
    )


def _shapes(value) -> str:
    """The shapes of nested arrays; the outermost brackets are left out."""
    text = _nested(value)
    return text[1:-1] if isinstance(value, (list, tuple)) else text


def _nested(value) -> str:
    if isinstance(value, NDArray):
        return str(value.shape)
    if isinstance(value, (list, tuple)):
        return f"[{', '.join(map(_nested, value))}]"
    return str(value)
