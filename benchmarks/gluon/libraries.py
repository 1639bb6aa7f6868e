"""A function in a compiled library: called with NumPy's arrays, and as an operator."""

from __future__ import annotations

from layers.engine import nd
from layers.ops import Custom
from layers.ops.ways.library import Library

from ..data import elements
from ..plain.libraries import SOURCE
from ..worker import Entry
from . import place


def build(variant: str, device: str, body: str, shape: tuple[int, ...]) -> Entry:
    text, x = f"{SOURCE}:{body}_forward", elements(shape)
    if variant == "run":
        library = Library(text)

        def call():
            return library.run([x], [x.shape], [x.dtype], {})[0]

        return Entry(call, lambda: call().ravel()[:8].tolist())
    operator = Custom(text, lambda x: x, lambda x: x, func_type="aot")
    array = nd.array(x, ctx=place(device))
    return Entry(
        lambda: operator(array), lambda: operator(array).reshape((-1,))[:8].asnumpy().tolist()
    )
