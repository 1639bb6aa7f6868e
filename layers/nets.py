"""Nets of this library's layers: a perceptron, a mixer, a vision transformer, a detector."""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Real

from ._inputs import expect_number, expect_shapes, expect_sizes
from ._renamed import formerly
from .activation import ACTIVATIONS, activate
from .attention import MultiHeadAttention
from .dense import DenseBlock
from .detector import SSD
from .engine import expect, gluon, mx, mxnet_error, nd
from .gated import GeGLU, SwiGLU
from .norm import LayerNormBlock, RMSNormBlock

__all__ = ["mixer", "mlp", "ssd_lite", "vit"]

_GATED = {"swiglu": SwiGLU, "geglu": GeGLU}
_NORMS = {"layer": LayerNormBlock, "rms": RMSNormBlock, "batch": gluon.nn.BatchNorm}

# Magnitudes of Xavier's initializer that keep the size of signals through an activation: the slope
# of a sigmoid is at most 1/4, and relu and its like are 0 for half of their inputs.
_MAGNITUDES = {"sigmoid": 48, "tanh": 3, "softsign": 3}
_LIKE_RELU = 6


@formerly(
    "inputs hidden outputs", inputs="in_channels", hidden="hidden_channels", outputs="channels"
)
def mlp(
    in_channels: int,
    hidden_channels: Sequence[int] = (256, 128),
    channels: int = 10,
    *,
    activation: str = "sigmoid",
    norm: str | None = None,
    dropout: float = 0.0,
    residual: bool = False,
):
    """Return a multi-layer perceptron: layers dropout(activation(norm(W x + b))), then W x + b.

    With `residual`, a hidden layer adds its input x to its output, or V x if their sizes differ. A
    hidden layer with a gated unit is dropout(norm(SwiGLU(x))), as wide inside
    as its output.

    Parameters
    ----------
    in_channels : int
        Features of a sample; 0 takes them from the first call's input.
    hidden_channels : sequence of int
        Size of each hidden layer.
    channels : int
        Outputs per sample.
    activation : str
        'swiglu' or 'geglu', or a name that DenseBlock takes, such as 'sigmoid', 'relu', 'tanh',
        'gelu', 'silu'.
    norm : str, optional
        'layer', 'rms' or 'batch'.
    dropout : float
        Share of a hidden layer's units that is set to 0 in a step of training.
    residual : bool

    Returns
    -------
    HybridSequential
        A net that maps (n, in_channels) to (n, channels), not initialized.

    Raises
    ------
    ValueError
        `activation` or `norm` is unknown, `dropout` is not in [0, 1), `hidden_channels` is no
        sequence, or it or `channels` holds a value that is no whole number from 1.
    """
    if isinstance(hidden_channels, str) or not isinstance(hidden_channels, Sequence):
        raise mxnet_error(
            ValueError,
            f"mlp: hidden_channels is {hidden_channels!r}\n"
            "  expected a sequence of the sizes of hidden layers, such as (64,) for one layer",
        )
    expect_sizes("mlp", 0, in_channels=in_channels)
    hidden = {f"hidden_channels[{i}]": size for i, size in enumerate(hidden_channels)}
    expect_sizes("mlp", channels=channels, **hidden)
    _expect_share("mlp", dropout)
    net = gluon.nn.HybridSequential()
    with net.name_scope():
        size = in_channels
        for wide in hidden_channels:
            layer = _hidden_layer(size, wide, activation, norm, dropout)
            if residual:
                net.add(Residual(layer, None if size == wide else wide))
            else:
                net.add(*layer)
            size = wide
        net.add(DenseBlock(size, channels, weight_initializer=mx.init.Xavier()))
    return net


@formerly("image outputs", outputs="channels", units="hidden_channels")
def mixer(
    image: tuple[int, int, int],
    channels: int = 10,
    *,
    patch: int = 2,
    hidden_channels: int = 64,
    depth: int = 2,
    dropout: float = 0.0,
):
    """Return an MLP-Mixer: blocks of a perceptron across patches and one across channels.

    Each block computes x += mlp(norm(x)ᵀ)ᵀ, then x += mlp(norm(x)). After the last block, an affine
    map follows the mean of norm(x) over patches.

    Parameters
    ----------
    image : tuple of int
        Channels, height and width.
    channels : int
        Outputs per image.
    patch : int
        Height and width of a patch.
    hidden_channels : int
        Size of a patch's vector; hidden layers are 2 times (across patches) and 4 times as wide.
    depth : int
        Number of blocks.
    dropout : float
        Share of each perceptron's outputs that is set to 0 in a step of training.

    Returns
    -------
    HybridSequential
        A net that maps images (n, c, height, width), or flattened images (n, c * height * width),
        to (n, channels), not initialized.

    Raises
    ------
    ValueError
        `patch` does not divide height and width, `dropout` is not in [0, 1), or a number is below
        1 or not whole.

    I. Tolstikhin et al., MLP-Mixer: an all-MLP architecture for vision, NeurIPS 2021.
    """
    units = hidden_channels
    expect_sizes("mixer", channels=channels, hidden_channels=units, depth=depth)
    _expect_share("mixer", dropout)
    net = gluon.nn.HybridSequential()
    with net.name_scope():
        patches = Patches(image, patch)
        net.add(patches, DenseBlock(patches.size, units, weight_initializer=mx.init.Xavier()))
        for _ in range(depth):
            across = _perceptron(patches.count, 2 * patches.count, dropout)
            net.add(Residual([LayerNormBlock(units), Transposed(across)]))
            net.add(Residual([LayerNormBlock(units), *_perceptron(units, 4 * units, dropout)]))
        net.add(LayerNormBlock(units), Mean())
        net.add(DenseBlock(units, channels, weight_initializer=mx.init.Xavier()))
    return net


@formerly("image outputs", outputs="channels", units="hidden_channels", heads="num_heads")
def vit(
    image: tuple[int, int, int],
    channels: int = 10,
    *,
    patch: int = 2,
    hidden_channels: int = 64,
    depth: int = 2,
    num_heads: int = 4,
    dropout: float = 0.0,
):
    """Return a vision transformer: blocks of attention between the patches of an image, and SwiGLU.

    Patches become vectors, to which a learned vector for each position is added. Each block
    computes x += attention(norm(x)), then x += SwiGLU(norm(x)). After the last block, an affine map
    follows the mean of norm(x) over patches.

    Parameters
    ----------
    image : tuple of int
        Channels, height and width.
    channels : int
        Outputs per image.
    patch : int
        Height and width of a patch.
    hidden_channels : int
        Size of a patch's vector.
    depth : int
        Number of blocks.
    num_heads : int
        Heads of each attention.
    dropout : float
        Share of the outputs of attention and SwiGLU that is set to 0 in a step of training.

    Returns
    -------
    HybridSequential
        A net that maps images (n, c, height, width), or flattened images (n, c * height * width),
        to (n, channels), not initialized.

    Raises
    ------
    ValueError
        `patch` does not divide height and width, `num_heads` does not divide `hidden_channels`,
        `dropout` is not in [0, 1), or a number is below 1.

    A. Dosovitskiy et al., An image is worth 16x16 words, ICLR 2021; the mean over patches as in
    X. Zhai et al., Scaling vision transformers, CVPR 2022.
    """
    units = hidden_channels
    sizes = {"hidden_channels": units, "depth": depth, "num_heads": num_heads}
    expect_sizes("vit", channels=channels, **sizes)
    _expect_share("vit", dropout)
    init = mx.init.Xavier()
    wide = max(1, 8 * units // 3)
    net = gluon.nn.HybridSequential()
    with net.name_scope():
        patches = Patches(image, patch)
        net.add(patches, DenseBlock(patches.size, units, weight_initializer=init))
        net.add(Positions(patches.count, units))
        for _ in range(depth):
            attention = MultiHeadAttention(
                units, units, num_heads=num_heads, weight_initializer=init
            )
            net.add(Residual([LayerNormBlock(units), attention, *_dropout(dropout)]))
            forward = SwiGLU(units, wide, units, bias=False, weight_initializer=init)
            net.add(Residual([LayerNormBlock(units), forward, *_dropout(dropout)]))
        net.add(LayerNormBlock(units), Mean())
        net.add(DenseBlock(units, channels, weight_initializer=init))
    return net


@formerly("image classes", units="hidden_channels")
def ssd_lite(
    image: tuple[int, int, int],
    classes: int = 20,
    *,
    hidden_channels: int = 24,
    sizes: Sequence[Sequence[float]] = ((0.2, 0.28), (0.36, 0.45), (0.6, 0.8)),
    ratios: Sequence[float] = (1.0, 0.6, 1.6),
):
    """Return a single shot detector with separable convolutions, for objects in small images.

    Convolutions make feature maps; the first has a quarter of the image's height and width, and
    each next map half of the height and width of the map before. Each pixel of a map has anchors:
    boxes of each of the map's sizes with the first ratio, and boxes of its first size with each
    other ratio. For each anchor, a head computes class scores, and the offset of the object's box
    from the anchor. A head is a depthwise convolution, then an affine map of the channels.

    Parameters
    ----------
    image : tuple of int
        Channels, height and width.
    classes : int
        Number of classes of objects, without the background.
    hidden_channels : int
        Channels of the first convolutions; the maps have 2, 4, 4, ... times as many.
    sizes : sequence of sequences of float
        Sizes of the anchors of each map, as fractions of the image's height.
    ratios : sequence of float
        Width of an anchor divided by its height.

    Returns
    -------
    SSD
        A net, not initialized, that maps (n, channels, height, width) to three arrays, for k
        anchors: scores (n, k, classes + 1), with the background first; offsets (n, 4 k); and
        anchors (1, k, 4), the left, upper, right and lower edges as fractions of the image.
        `MultiBoxTarget` and `MultiBoxDetection` of MXNet take them.

    Raises
    ------
    ValueError
        A number is below 1 or not whole, or a size or ratio is not above 0.

    W. Liu et al., SSD: Single shot multibox detector, ECCV 2016; the heads as in M. Sandler et al.,
    MobileNetV2: Inverted residuals and linear bottlenecks, CVPR 2018.
    """
    if isinstance(image, str) or not isinstance(image, Sequence) or len(image) != 3:
        raise mxnet_error(
            ValueError,
            f"ssd_lite: image is {image!r}\n"
            "  expected the channels, height and width of an image, such as (3, 64, 64)",
        )
    channels, height, width = image
    expect_sizes("ssd_lite", channels=channels, height=height, width=width)
    expect_sizes("ssd_lite", classes=classes, hidden_channels=hidden_channels)
    if not isinstance(sizes, Sequence) or not sizes or not all(map(_are_sizes, [*sizes, ratios])):
        raise mxnet_error(
            ValueError,
            f"ssd_lite: sizes is {sizes!r}, ratios is {ratios!r}\n"
            "  expected numbers above 0: sizes for each map, such as ((0.2, 0.3), (0.5,)), and one "
            "ratio or more",
        )
    return SSD(channels, classes, hidden_channels, sizes, ratios)


class Residual(gluon.HybridBlock):
    """Layers in a row with a shortcut around them: y = x + layers(x), or V x + layers(x).

    Parameters
    ----------
    layers : list of HybridBlock
    units : int, optional
        Size of the layers' output, if it differs from that of x.
    """

    def __init__(self, layers: list, units: int | None = None, **kwargs):
        super().__init__(**kwargs)
        with self.name_scope():
            self.body = gluon.nn.HybridSequential(prefix="")
            self.body.add(*layers)
            self.shortcut = None
            if units is not None:
                self.shortcut = DenseBlock(
                    0, units, bias=False, weight_initializer=mx.init.Xavier()
                )

    def hybrid_forward(self, F, x):
        return self.body(x) + (x if self.shortcut is None else self.shortcut(x))


class Patches(gluon.HybridBlock):
    """Patches of images, each flattened to a vector.

    Inputs:
        - **x**: (n, channels, height, width) or (n, channels * height * width)
    Outputs:
        - **y**: (n, count, size), patches row by row, the channels of a patch one after another

    Raises
    ------
    ValueError
        x holds images of another size.
    """

    def __init__(self, image: tuple[int, int, int], patch: int, **kwargs):
        super().__init__(**kwargs)
        if isinstance(image, str) or not isinstance(image, Sequence) or len(image) != 3:
            raise mxnet_error(
                ValueError,
                f"Patches: image is {image!r}\n"
                "  expected the channels, height and width of an image, such as (3, 32, 32)",
            )
        self._image = channels, height, width = tuple(image)
        expect_sizes("Patches", channels=channels, height=height, width=width, patch=patch)
        if height % patch or width % patch:
            raise mxnet_error(
                ValueError,
                f"Patches: the image is {self._image}, patch is {patch}\n"
                "  expected a patch that divides height and width",
            )
        self._patch, self._places = patch, (height // patch, width // patch)
        self.count, self.size = self._places[0] * self._places[1], channels * patch * patch

    def __call__(self, x):
        expect(self.name, (x,))
        if isinstance(x, nd.NDArray):
            channels, height, width = self._image
            allowed = self._image, (channels * height * width,)
            expect_shapes(
                x.shape[1:] in allowed, "Patches", f"(n, {channels}, {height}, {width})", x=x
            )
        return super().__call__(x)

    def hybrid_forward(self, F, x):
        (down, across), patch = self._places, self._patch
        # Flatten each image first, so that a graph refuses inputs with as many elements in all.
        x = F.reshape(x, shape=(0, -1))
        x = F.reshape(x, shape=(0, self._image[0], down, patch, across, patch))
        x = F.transpose(x, axes=(0, 2, 4, 1, 3, 5))
        return F.reshape(x, shape=(-1, self.count, self.size))

    def __repr__(self) -> str:
        return f"Patches({self._image} -> {self.count} x {self.size})"


class Positions(gluon.HybridBlock):
    """Learned positions, y = x + table.

    Inputs:
        - **x**: (n, places, units)
    Outputs:
        - **y**: the shape of x
    """

    def __init__(self, places: int, units: int, **kwargs):
        super().__init__(**kwargs)
        with self.name_scope():
            self.table = self.params.get(
                "table", shape=(1, places, units), init=mx.init.Normal(0.02)
            )

    def hybrid_forward(self, F, x, table):
        return F.broadcast_add(x, table)


class Transposed(gluon.HybridBlock):
    """Layers applied to the second axis: the last two axes are swapped before and after."""

    def __init__(self, layers: list, **kwargs):
        super().__init__(**kwargs)
        with self.name_scope():
            self.body = gluon.nn.HybridSequential(prefix="")
            self.body.add(*layers)

    def hybrid_forward(self, F, x):
        return F.swapaxes(self.body(F.swapaxes(x, dim1=1, dim2=2)), dim1=1, dim2=2)


class Mean(gluon.HybridBlock):
    """Mean over the second axis."""

    def hybrid_forward(self, F, x):
        return F.mean(x, axis=1)


def _hidden_layer(inputs: int, units: int, activation: str, norm: str | None, dropout: float):
    if norm is not None and norm not in _NORMS:
        raise mxnet_error(
            ValueError, f"mlp: norm is {norm!r}\n  expected None, {', '.join(map(repr, _NORMS))}"
        )
    names = sorted((*ACTIVATIONS, *_GATED))
    if activation not in names:
        raise mxnet_error(
            ValueError, f"mlp: activation is {activation!r}\n  expected one of {', '.join(names)}"
        )
    norms = [] if norm is None else [_NORMS[norm]()]
    if activation in _GATED:
        init = mx.init.Xavier()
        gated = _GATED[activation](inputs, units, units, bias=False, weight_initializer=init)
        return [gated, *norms, *_dropout(dropout)]
    init = mx.init.Xavier(magnitude=_MAGNITUDES.get(activation, _LIKE_RELU))
    dense = DenseBlock(inputs, units, weight_initializer=init)
    return [dense, *norms, activate("mlp", activation), *_dropout(dropout)]


def _are_sizes(values) -> bool:
    """True if `values` is a sequence of one or more numbers above 0."""
    is_given = isinstance(values, Sequence) and bool(values)
    return is_given and all(isinstance(value, Real) and float(value) > 0 for value in values)


def _perceptron(units: int, hidden: int, dropout: float) -> list:
    """Return the layers of a perceptron with one hidden layer, and as many outputs as inputs."""
    relu = mx.init.Xavier(magnitude=_LIKE_RELU)
    first = DenseBlock(units, hidden, activation="gelu", weight_initializer=relu)
    last = DenseBlock(hidden, units, weight_initializer=mx.init.Xavier())
    return [first, last, *_dropout(dropout)]


def _dropout(share: float) -> list:
    return [gluon.nn.Dropout(share)] if share else []


def _expect_share(who: str, dropout: float) -> None:
    expect_number(who, "a number from 0 and below 1", lambda v: 0 <= v < 1, dropout=dropout)
