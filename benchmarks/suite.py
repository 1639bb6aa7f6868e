"""What a suite is: cases, and who computes them."""

from __future__ import annotations

from typing import Any, NamedTuple

# The processes that contestants run in, each with an engine. MXNet has two: small networks run
# faster with one OpenMP thread, large ones with two. And with two it hangs when two matrix products
# are in flight, as in the backward of a custom operator with dx and dw. JAX, which needs a
# newer NumPy than MXNet, may have an interpreter of its own, as Keras and Lightning may.
OURS, MXNET, MXNET_1, JAX = "torch", "mxnet", "mxnet, 1 OpenMP thread", "jax"
KERAS, LIGHTNING = "keras", "lightning"
# PyTorch's threads and NumPy's may be in each other's way: what `layers.mxnet` can do about it
# depends on whether PyTorch is imported before it.
TORCH_FIRST, NUMPY_1 = "torch, imported first", "torch, 1 thread in NumPy"


class Contestant(NamedTuple):
    """A way to compute a case: `build` of ``benchmarks.<home>.<module>``, in a process."""

    name: str
    process: str
    home: str
    variant: str


class Case(NamedTuple):
    """One thing to compute; the arguments are those of `build`."""

    name: str
    arguments: dict[str, Any]


class Suite(NamedTuple):
    """Cases that the same contestants compute. The first contestant is the reference of ratios."""

    name: str
    module: str  # of the contestants
    title: str
    contestants: list[Contestant]
    cases: list[Case]
    tolerance: float  # relative and absolute, for the numbers in which all must agree
    device: str | None = None  # the only one that it is measured on
    compiles: bool = False  # that takes a minute for each case
    slowest: bool = False  # whether rows have the 99th percentile of single calls
    memory: bool = False  # whether rows have the peak of memory in a call
    most_rounds: int = 99  # fewer than others have, where there are many cases
    # A suite of so many cases that it is a list, and why some take longer than their `limit`.
    reasons: dict[str, str] | None = None
    limit: float = 3.0

    @property
    def reference(self) -> Contestant:
        return self.contestants[0]
