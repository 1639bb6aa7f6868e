"""Random nets, run in all ways that `hybridize` has; they must agree with the eager one."""

from __future__ import annotations

from hypothesis import strategies as st

from . import own
from .layers import ACTIVATIONS, made
from .program import Expression, Program, array, call, path
from .recording import program
from .values import Draw, one, rarely, values

WAYS: dict[str, dict | None] = {
    "eager": None,
    "hybridized": {},
    "recorded": {"static_alloc": True, "static_shape": True},
    "compiled": {"backend": "aot_eager"},
}

ANY: dict[str, dict[str, tuple]] = {  # layers that keep any shape
    "Activation": {"activation": ACTIVATIONS},
    "LeakyReLU": {"alpha": (0.1,)},
    "BatchNorm": {"scale": (True, False)},
    "LayerNorm": {},
    "GELU": {},
    "Swish": {},
    "ELU": {},
    "PReLU": {},
    "Dropout": {"rate": (0.0,)},
    "HybridLambda": {"function": ("tanh", "square", "abs")},
}
IMAGES: dict[str, dict[str, tuple]] = {  # layers that take images and give images
    "Conv2D": {"channels": (2, 3), "kernel_size": (1, 2)},
    "MaxPool2D": {"pool_size": (2,), "strides": (1,)},
    "AvgPool2D": {"pool_size": (2,), "strides": (1,)},
    "InstanceNorm": {},
    "GroupNorm": {},
}


def _layer(draw: Draw, images: bool) -> Expression:
    if rarely(draw, 3):
        name = one(draw, "steps", *own.CHOICES)
        return call("own", name, **{n: one(draw, *c) for n, c in own.CHOICES[name].items()})
    among = IMAGES if images and draw(st.booleans()) else ANY
    name = one(draw, *among)
    options = {option: one(draw, *choices) for option, choices in among[name].items()}
    return made(f"mx.gluon.nn.{name}", options)


@st.composite
def nets(draw) -> Program:
    """A net of random layers, in training."""
    images = draw(st.booleans())
    of = (2, one(draw, 1, 2, 3), 7, 6) if images else (one(draw, 2, 1, 4), one(draw, 3, 1, 5))
    layers = [_layer(draw, images) for _ in range(draw(st.integers(1, 4)))]
    if draw(st.booleans()):
        layers.append(made("mx.gluon.nn.Dense", {"units": one(draw, 2, 3, 1)}))
    last = (one(draw, of[0], of[0], 3), *of[1:])  # maybe a batch of another size
    return trained(layers, [array(values(draw, s, "float32", "normal")) for s in (of, of, last)])


def trained(layers: list[Expression], xs: list[Expression]) -> Program:
    """A net that goes forward and backward for each input, not hybridized: see `in_way`."""
    do = [["do", call("mx.random.seed", 0)], ["let", "net", call("mx.gluon.nn.HybridSequential")]]
    do += [["do", call("net.add", layer)] for layer in layers]
    do += [["do", call("fill", path("mx"), path("net"), xs[0])]]
    show = []
    for i, x in enumerate(xs):
        do += [["let", f"x{i}", x], ["do", call(f"x{i}.attach_grad")]]
        computed = [["let", f"y{i}", call("net", path(f"x{i}"))]]
        do += [["with", call("mx.autograd.record"), computed]]
        do += [["do", call("backward", path("mx"), path(f"y{i}"))]]
        do += [["let", f"g{i}", call("copies", call("gradients", path("net")))]]
        show += [path(f"y{i}"), path(f"x{i}.grad"), path(f"g{i}")]
    return program("nets", do, [*show, call("parameters", path("net")), call("net", path("x0"))])


def in_way(of: Program, way: str) -> Program:
    """The same program, hybridized."""
    options = WAYS[way]
    if options is None:
        return of
    filled = next(i for i, s in enumerate(of["do"]) if s[0] == "do" and s[1][1] == path("fill"))
    do = list(of["do"])
    do.insert(filled + 1, ["do", call("net.hybridize", **options)])
    return of | {"do": do}
