"""Learning in 16 bits: weights and activations in them, their updates in float32."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from typing import Any

import numpy as np

from layers.engine import gluon, mx, nd

from . import Refused
from .screen import one_line

__all__ = ["Cast", "check_precision", "in_float32", "is_rounded", "loss_scaler", "without_rounding"]


class Cast(gluon.HybridBlock):
    """A network of 16 bits, the outputs of which become float32.

    Parameters
    ----------
    net : HybridBlock
    """

    def __init__(self, net, **kwargs):
        super().__init__(**kwargs)
        self.net = net

    def hybrid_forward(self, F, *inputs):
        y = self.net(*inputs)
        if isinstance(y, list | tuple):
            return [F.cast(each, dtype="float32") for each in y]
        return F.cast(y, dtype="float32")


def is_rounded(dtype: Any) -> bool:
    """True if 16 bits round whole numbers of this dtype; those of 8 bits they have exactly."""
    dtype = np.dtype(dtype)
    return dtype.kind in "iu" and dtype.itemsize > 1


def without_rounding(x: Any, precision: str) -> Any:
    """Inputs, of which whole numbers that this precision rounds stay whole.

    `nd.array` makes float32 of all of NumPy's, which is right where the net computes in float32.
    """
    if precision == "float32" or isinstance(x, nd.NDArray) or not is_rounded(np.asarray(x).dtype):
        return x
    x = np.asarray(x)
    return nd.array(x, dtype="int32" if np.can_cast(x.dtype, "int32") else "int64")


def check_precision(precision: str, ctx: list) -> None:
    """Refuse a precision in which the engine does not compute on these contexts.

    Raises
    ------
    Refused
        float16 on a CPU, or the engine has no layer in this precision.
    """
    if precision == "float16" and any(context.device_type == "cpu" for context in ctx):
        raise Refused("precision float16: needs a GPU (ctx gpu); on a CPU there is bfloat16")
    if precision == "float32":
        return
    try:
        x, w = (nd.ones((1, 1), ctx=ctx[0]).astype(precision) for _ in range(2))
        y = nd.FullyConnected(x, w, num_hidden=1, no_bias=True)
        nd.sigmoid(y).astype("float32").wait_to_read()
    except Exception as error:
        reason = one_line(error, 100) or type(error).__name__
        raise Refused(
            f"precision {precision}: this engine cannot compute in it on {ctx[0]} ({reason}); "
            "--engine torch can"
        ) from error


def loss_scaler(precision: str):
    """Return what finds the loss's factor for this precision; None where it needs none."""
    if precision != "float16":
        return None
    return import_module(f"{mx.__name__}.contrib.amp.loss_scaler").LossScaler()


@contextmanager
def in_float32(net, precision: str) -> Iterator[None]:
    """Inside the `with` statement the parameters are of float32."""
    if precision == "float32":
        yield
        return
    net.cast("float32")
    try:
        yield
    finally:
        net.cast(precision)
