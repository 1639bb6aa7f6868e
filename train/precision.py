"""Learning in 16 bits: weights and activations in them, their updates in float32."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module

from layers.engine import gluon, mx, nd

from . import Refused
from .messages import one_line

__all__ = ["Cast", "check_precision", "in_float32", "loss_scaler"]

PRECISIONS = ("float32", "bfloat16", "float16")


class Cast(gluon.HybridBlock):
    """A network of 16 bits as one of float32: y = net(x), cast at both ends.

    Parameters
    ----------
    net : HybridBlock
        Its parameters are of `dtype`.
    dtype : str
    inputs : bool
        Cast the inputs; else the network does it.
    """

    def __init__(self, net, dtype: str, inputs: bool = True, **kwargs):
        super().__init__(**kwargs)
        self.net, self.dtype, self.inputs = net, dtype, inputs

    def hybrid_forward(self, F, x):
        x = F.cast(x, dtype=self.dtype) if self.inputs else x
        y = self.net(x)
        if isinstance(y, list | tuple):
            return [F.cast(each, dtype="float32") for each in y]
        return F.cast(y, dtype="float32")


def check_precision(precision: str, ctx: list) -> None:
    """Refuse a precision in which the engine does not compute on these contexts.

    Raises
    ------
    Refused
        float16 on a CPU, or the engine has no layer in this precision.
    """
    if precision not in PRECISIONS:
        raise Refused(f"--precision: expected one of {', '.join(PRECISIONS)}, not {precision!r}")
    if precision == "float16" and any(context.device_type == "cpu" for context in ctx):
        raise Refused("--precision float16: needs a GPU (--ctx gpu); on a CPU there is bfloat16")
    if precision == "float32":
        return
    try:
        x, w = (nd.ones((1, 1), ctx=ctx[0]).astype(precision) for _ in range(2))
        y = nd.FullyConnected(x, w, num_hidden=1, no_bias=True)
        nd.sigmoid(y).astype("float32").wait_to_read()
    except Exception as error:
        reason = one_line(error, 100) or type(error).__name__
        raise Refused(
            f"--precision {precision}: this engine cannot compute in it on {ctx[0]} ({reason}); "
            "--engine torch can"
        ) from error


def loss_scaler(precision: str):
    """What finds the factor of the loss for this precision; None where it needs none."""
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
