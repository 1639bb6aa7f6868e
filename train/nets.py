"""The network that the options name: one of this library's, or a user's function makes it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from layers import nets
from layers.engine import gluon, mx, nd

from . import Refused, scaling
from .config import NETS, Config
from .data import Batches, Data, as_tuple
from .data.images import image_shape
from .own_file import described, load_file
from .precision import without_rounding
from .screen import one_line
from .summary import Summary, summarize
from .workers import refusing

__all__ = ["Answering", "Images", "first_call", "initialize", "net_of", "own", "try_out", "width"]

# The options of nets whose names are not those of arguments.
ARGUMENTS = {"hidden": "hidden_channels", "units": "hidden_channels", "heads": "num_heads"}

# He's initializer, for layers that relu follows.
LIKE_RELU = mx.init.Xavier(rnd_type="gaussian", factor_type="in", magnitude=2)


def net_of(options: Config, data: Data):
    """Return the network of ``--net``, for features that are scaled already.

    Returns
    -------
    HybridBlock
        (n, features) to (n, outputs).

    Raises
    ------
    Refused
        It cannot be made for this data with these options, or its file cannot be used.
    """
    name, outputs = options.net, data.task.outputs
    if name.startswith("gluoncv:"):
        from .gluoncv_nets import made_by_gluoncv  # which needs what others do not

        return of_images(made_by_gluoncv(options, image_shape(data.shape), outputs), data.shape)
    if name not in NETS:
        return made_by_user(name, data)
    settings = {ARGUMENTS.get(option, option): options.of_net(option) for option in NETS[name]}
    image = image_shape(data.shape)
    if name != "mlp" and image is None:
        raise Refused(
            f"--net {name}: it takes images, and a sample is {data.shape}; "
            "for tables there is --net mlp"
        )
    try:
        if name == "mlp":
            return nets.mlp(width(data), settings.pop("hidden_channels"), outputs, **settings)
        make = {"conv": conv, "resnet": resnet}.get(name) or getattr(nets, name)
        return of_images(make(image, outputs, **settings), data.shape)
    except (ValueError, TypeError) as error:
        reason = one_line(error).removeprefix(f"{name}: ")
        raise Refused(f"--net {name}: {reason}") from error


def width(data: Data) -> int:
    """Return the number of inputs of the net, after categories became numbers."""
    codes = data.codes
    return scaling.width(data.features - len(codes), codes)


def conv(image: tuple, channels: int, hidden_channels: int, depth: int, dropout: float):
    """Return a convolutional net: blocks pool(relu(norm(W * x))), means of channels, then W x + b.

    Each block halves height and width, and all but the first double the channels.
    """
    net = gluon.nn.HybridSequential()
    with net.name_scope():
        for i in range(depth):
            net.add(
                gluon.nn.Conv2D(hidden_channels << i, 3, padding=1, use_bias=False),
                gluon.nn.BatchNorm(),
                gluon.nn.Activation("relu"),
                gluon.nn.MaxPool2D(3, strides=2, padding=1),
            )
        net.add(gluon.nn.GlobalAvgPool2D(), gluon.nn.Dropout(dropout), gluon.nn.Dense(channels))
    net.initialize(LIKE_RELU)
    return net


def resnet(image: tuple, channels: int, hidden_channels: int, depth: int):
    """Return Gluon's residual net for small images: three stages of `depth` blocks each.

    The second and third stage halve height and width, and double the channels.
    """
    zoo, wide = gluon.model_zoo.vision, hidden_channels
    sizes = [wide, wide, 2 * wide, 4 * wide]
    net = zoo.ResNetV1(zoo.BasicBlockV1, [depth] * 3, sizes, classes=channels, thumbnail=True)
    net.initialize(LIKE_RELU)
    return net


def of_images(net, shape: tuple[int, ...]):
    """Return a network of images as one of rows."""
    return behind(Images(shape), net)


class Behind(gluon.nn.HybridSequential):
    """A net, behind a block that rows go through first."""


def behind(first, net) -> Behind:
    """Return a net behind a block."""
    found = Behind()
    with found.name_scope():
        found.add(first, net)
    return found


def own(net):
    """Return the net that --net names, of what `net_of` returns."""
    return net[1] if isinstance(net, Behind) else net


class Answering(gluon.HybridBlock):
    """A net, and a block that goes on where it ends."""

    def __init__(self, net: gluon.HybridBlock, answers: gluon.HybridBlock, **kwargs):
        super().__init__(**kwargs)
        self.net, self.answers = net, answers

    def hybrid_forward(self, F, x):
        return self.answers(*self.net(x))


class Images(gluon.HybridBlock):
    """Rows as the images that they were, with their channels before height and width.

    Parameters
    ----------
    shape : tuple of int
        Of an image: (h, w), (h, w, c) or (c, h, w).

    Inputs:
        - **x**: (n, features)
    Outputs:
        - **y**: (n, c, h, w)

    Raises
    ------
    ValueError
        `shape` is not that of an image.
    """

    def __init__(self, shape: tuple[int, ...], **kwargs):
        super().__init__(**kwargs)
        image = image_shape(shape)
        if image is None:
            raise ValueError(f"Images: shape is {shape}\n  expected (h, w), (h, w, c) or (c, h, w)")
        self.image = image
        self.stored = shape if len(shape) == 3 else image

    def hybrid_forward(self, F, x):
        x = F.reshape(x, shape=(-1, *self.stored))
        return x if self.stored == self.image else F.transpose(x, axes=(0, 3, 1, 2))


# A user's own


def made_by_user(name: str, data: Data):
    """Call the function of a file with the shape of a sample and the outputs; return its net.

    Raises
    ------
    Refused
        The function raises an error, or returns no HybridBlock.
    """
    file, _, function = name.rpartition(":")
    factory = function_of(name, Path(file).expanduser(), function)
    image = image_shape(data.shape)
    shape = image or ((width(data),) if data.table else data.shape)
    try:
        net = factory(shape, data.task.outputs)
    except Exception as error:
        call = f"{function}({shape}, {data.task.outputs})"
        raise Refused(f"--net {name}: {call}: {described(error, file)}") from error
    if not isinstance(net, gluon.HybridBlock):
        raise Refused(
            f"--net {name}: {function} returned {type(net).__name__}; expected a HybridBlock"
        )
    if image:
        return of_images(net, data.shape)
    if len(shape) == 1:
        return net
    return behind(gluon.nn.HybridLambda(lambda F, x: F.reshape(x, shape=(-1, *shape))), net)


def function_of(name: str, path: Path, function: str) -> Callable:
    """Return a function of a Python file.

    Raises
    ------
    Refused
        The file has no function of this name.
    """
    module = load_file(path, f"--net {name}")
    found = getattr(module, function, None)
    if not callable(found):
        own = {n: it for n, it in vars(module).items() if callable(it) and not n.startswith("_")}
        there = [n for n, it in own.items() if getattr(it, "__module__", "") == module.__name__]
        expected = f"one of {', '.join(there)}" if there else "a file that defines functions"
        raise Refused(f"--net {name}: {path} has no function {function}; expected {expected}")
    return found


# Parameters, and a first call


def initialize(net, ctx: list) -> None:
    """Initialize the parameters on these contexts; those that have values already keep them."""
    for parameter in net.collect_params().values():
        try:
            if parameter.list_ctx() != ctx:
                parameter.reset_ctx(ctx)
        except RuntimeError:  # it has not been initialized
            parameter.initialize(ctx=ctx)


def first_call(net, loss, batches: Batches, ctx: list, precision: str, seed: int | None) -> Any:
    """Initialize net and loss from a seed; return the net's outputs for two samples of the data.

    Shapes that are not known yet are found out by this call.

    Raises
    ------
    Refused
        There is no batch, or the net does not take its samples.
    """
    if seed is not None:
        mx.random.seed(seed)
    with refusing("net"):
        initialize(net, ctx)
    with refusing("loss"):
        initialize(loss, ctx)
    with refusing("data"):
        batch = next(iter(batches.batches()), None)
        if batch is None:
            raise Refused("data: there is no batch")
        x = [without_rounding(each[:2], precision) for each in as_tuple(batch[0])]
        x = [nd.array(each, ctx=ctx[0]) for each in x]
    with refusing(f"net: of x {', '.join(str(each.shape) for each in x)} of data"):
        return net(*x)


def try_out(net, options: Config, data: Data, ctx) -> Summary:
    """Call the network once, in which shapes that are not known yet are found out.

    Raises
    ------
    Refused
        It does not take the samples, or its outputs have another shape than those of the task.
    """
    x = nd.array(data.x[:2], ctx=ctx)
    try:
        found = summarize(net, x)
    except Exception as error:
        file = options.net.rpartition(":")[0]
        hint = enlarging(options.net, data.shape)
        raise Refused(f"--net {options.net}: {described(error, file)}{hint}") from error
    if not data.task.takes(found.outputs):
        shape = ", ".join(map(str, ("samples", *found.outputs)))
        raise Refused(f"--net {options.net}: outputs are ({shape}); expected {data.task.expected}")
    return found


def enlarging(name: str, shape: tuple[int, ...]) -> str:
    """Return a hint to --image-size, where images are smaller than a net of GluonCV's wants."""
    image = image_shape(shape)
    if not name.startswith("gluoncv:") or image is None:
        return ""
    from .gluoncv_nets import wanted

    size, (_, height, width) = wanted(name.partition(":")[2]), image
    if min(height, width) >= size:
        return ""
    return (
        f"; it is made for images of {size} x {size}, and these are {height} x {width}: "
        f"--image-size {size} resizes them"
    )
