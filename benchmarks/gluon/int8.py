"""A dense layer and a convolution, of 8-bit integers or of the same numbers in float32."""

from __future__ import annotations

from layers.engine import nd

from ..data import integers
from ..worker import Entry
from . import place


def build(
    variant: str, device: str, data: tuple[int, ...], weight: tuple[int, ...], pad: int
) -> Entry:
    x, w = (nd.array(a, ctx=place(device), dtype=a.dtype) for a in integers(data, weight))
    count, kernel = weight[0], weight[2:]
    ends = [nd.array([end], ctx=place(device)) for end in (0, 1, -1, 1)]
    shape = {"num_hidden": count} if not kernel else {"num_filter": count, "kernel": kernel}
    if kernel:
        shape["pad"] = (pad,) * len(kernel)
    if variant == "int8":
        name = "quantized_conv" if kernel else "quantized_fully_connected"
        operator, inputs = getattr(nd.contrib, name), (x, w, *ends)
    else:
        operator = nd.Convolution if kernel else nd.FullyConnected
        inputs = x.astype("float32"), w.astype("float32")

    def step():
        y = operator(*inputs, no_bias=True, **shape)
        return y[0] if variant == "int8" else y

    return Entry(step, lambda: step().reshape(-1)[:8].asnumpy().tolist())
