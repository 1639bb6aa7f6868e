"""What the signature of a row does not tell: where random values would be refused nearly always.

`ATTRIBUTES` and `INPUTS` are looked up by "row.name", then by "name". A hint is asked with the
draft of the call: its row, and the shapes and attributes that are drawn already.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from math import prod
from typing import Any

from hypothesis import strategies as st

from layers.mxnet._table.registry import Op

from .values import Draw, Shape, broadcastable, one, rarely
from .values import shape as any_shape


@dataclass
class Draft:
    """A call that is being drawn."""

    draw: Draw
    row: Op
    shapes: dict[str, Shape] = field(default_factory=dict)
    attributes: dict[str, Any] = field(default_factory=dict)

    @property
    def shape(self) -> Shape:
        """Of the first input."""
        return next(iter(self.shapes.values()), ())

    @property
    def axes(self) -> int:
        return len(self.shape)

    def one(self, *choices: Any) -> Any:
        return one(self.draw, *choices)

    def number(self, least: int, most: int) -> int:
        return self.draw(st.integers(least, max(least, most)))

    def rarely(self, times: int = 20) -> bool:
        return rarely(self.draw, times)


Hint = Callable[[Draft], Any]

# How many axes the first input has, where not 1 to 4


AXES: dict[str, tuple[int, int]] = {
    "batch_dot": (3, 4),
    "dot": (1, 3),
    "FullyConnected": (2, 4),
    "BatchNorm": (2, 4),
    "LayerNorm": (1, 4),
    "InstanceNorm": (2, 4),
    "GroupNorm": (3, 4),
    "Convolution": (3, 5),
    "Deconvolution": (3, 5),
    "Pooling": (3, 5),
    "UpSampling": (4, 4),
    "RNN": (3, 3),
    "SoftmaxOutput": (2, 4),
    "softmax_cross_entropy": (2, 2),
    "batch_take": (2, 2),
    "argmax_channel": (2, 3),
    "depth_to_space": (4, 4),
    "space_to_depth": (4, 4),
    "Pad": (4, 5),
    "diag": (1, 3),
    "SequenceMask": (2, 4),
    "SequenceLast": (2, 4),
    "SequenceReverse": (2, 4),
    "L2Normalization": (2, 4),
    "_contrib_BilinearResize2D": (4, 4),
    "_contrib_AdaptiveAvgPooling2D": (4, 4),
    "_contrib_box_iou": (1, 3),
    "_linalg_gemm": (2, 4),
    "_linalg_gemm2": (2, 4),
    "_linalg_potrf": (2, 3),
    "_linalg_syrk": (2, 3),
    "_linalg_trsm": (2, 3),
    "_sample_multinomial": (1, 2),
    "where": (1, 3),
    "SwapAxis": (2, 4),
}


def _square(c: Draft, shape: Shape) -> Shape:
    return (*shape[:-1], shape[-2])


def _multiple(*axes: int) -> Hint:
    def change(c: Draft, shape: Shape) -> Shape:
        times = c.one(2, 3)
        return tuple(
            s * times ** (2 if axes == (1,) else 1) if i in axes else s for i, s in enumerate(shape)
        )

    return change


FIRST: dict[str, Callable[[Draft, Shape], Shape]] = {  # the first input's shape, made to fit
    "_linalg_potrf": _square,
    "_linalg_trsm": _square,
    "_contrib_box_iou": lambda c, shape: (*shape[:-1], 4),
    "depth_to_space": _multiple(1),
    "space_to_depth": _multiple(2, 3),
    "Convolution": lambda c, shape: (*shape[:2], *(s + c.one(2, 0, 4) for s in shape[2:])),
    "Pooling": lambda c, shape: (*shape[:2], *(s + c.one(2, 0, 4) for s in shape[2:])),
}

# Attributes


def _axis(c: Draft) -> int:
    if c.rarely(40):
        return c.one(c.axes, -c.axes - 1)
    return c.number(-c.axes, c.axes - 1) if c.axes else 0


def _some_axes(c: Draft) -> Any:
    several = c.draw(st.permutations(range(c.axes)))[: c.number(0, c.axes)]
    mixed = tuple(a - c.axes * c.one(0, 0, 1) for a in several)
    return c.one(_axis(c), mixed, mixed, ())


def _spatial(*sizes: int) -> Hint:
    """One number for each axis of an image, or none."""

    def draw(c: Draft) -> tuple[int, ...]:
        return tuple(c.one(*sizes) for _ in range(max(0, c.axes - 2)))

    return draw


def _optional(hint: Hint) -> Hint:
    return lambda c: () if c.rarely(3) else hint(c)


def _divisor(c: Draft) -> int:
    channels = c.shape[1] if c.axes > 1 else 1
    return c.one(1, 1, *(k for k in range(2, channels + 1) if channels % k == 0))


def _slice_end(c: Draft) -> tuple:
    return tuple(c.one(None, c.number(-s - 1, s + 1)) for s in c.shape[: _sliced(c)])


def _sliced(c: Draft) -> int:
    given = [len(v) for v in c.attributes.values() if isinstance(v, tuple)]
    return given[0] if given else c.number(1, c.axes)


def _reshaped(c: Draft) -> tuple[int, ...]:
    size = prod(c.shape)
    ways = [(-1,), (0, -1), (-1, 0), (size,), c.shape[::-1], (-2,), (0, -2), (-3, -2), (1, -1)]
    ways += [(-4, 1, -1, -2), (-4, -1, 1, -2), (-1, 1), (2, -1), (-2, 1), (0, 0, -1), (-3, -3)]
    return c.one(*ways)


def _like(c: Draft) -> tuple[int, ...]:
    """The first input's shape, broadcast."""
    return tuple(c.one(3, 0) if s == 1 else c.one(s, s, 0) for s in c.shape)


def _some(*choices: Any) -> Hint:
    return lambda c: c.one(*choices)


ATTRIBUTES: dict[str, Hint] = {
    "axis": _axis,
    "axes": _some_axes,
    "axis1": _axis,
    "axis2": _axis,
    "dim": _axis,
    "dim1": _axis,
    "dim2": _axis,
    "ctx": _some("cpu(0)", ""),
    "name": _some(None),
    "shape": lambda c: any_shape(c.draw, 1, 3),
    "forward_stype": _some(None, "default"),
    "cudnn_tune": _some(None, "off"),
    "kernel": _spatial(2, 1, 3),
    "stride": _optional(_spatial(1, 2, 3)),
    "dilate": _optional(_spatial(1, 1, 2)),
    "pad": _optional(_spatial(0, 1, 0)),
    "adj": _optional(_spatial(0, 0, 1)),
    "layout": lambda c: c.one(None, {3: "NCW", 4: "NCHW", 5: "NCDHW"}.get(c.axes, "NCHW")),
    "target_shape": _some(()),
    "num_hidden": _some(1, 3, 2),
    "num_filter": lambda c: c.attributes.get("num_group", _divisor(c)) * c.one(1, 2),
    "num_group": _divisor,
    "num_groups": _divisor,
    "workspace": _some(1024),
    "p_value": _some(2, 1, 3),
    "block_size": _some(2, 3),
    "scale": _some(2, 1, 3),
    "state_size": _some(2, 1, 3),
    "num_layers": _some(1, 2),
    "projection_size": _some(None, None, 1),
    "lstm_state_clip_min": _some(None),
    "lstm_state_clip_max": _some(None),
    "input_dim": _some(5, 3),
    "output_dim": _some(2, 1, 3),
    "depth": _some(4, 1, 3),
    "ord": _some(2, 1),
    "k": lambda c: c.number(0, 2),
    "topk.k": lambda c: c.one(1, 2, 1, 0),
    "N": _some(2, 1, 3),
    "M": _some(0, 2, 3),
    "num": _some(5, 1, 2),
    "repeats": _some(2, 1, 3),
    "reps": lambda c: c.one((2,), (1, 2), (2, 1, 2), (1,)),
    "repeat": _some(1, 2),
    "num_outputs": lambda c: c.one(*[s for s in c.shape if s] or [1]),
    "squeeze_axis": _some(False, False, True),
    "indices": lambda c: c.one((0, 1), (1,), (0,), (0, 2)),
    "sections": _some(0, 1, 2),
    "begin": _slice_end,
    "end": _slice_end,
    "step": lambda c: c.one((), tuple(c.one(1, 2, -1, None) for _ in range(_sliced(c)))),
    "_arange.step": _some(1.0, 0.5, 2, -1),
    "slice_axis.begin": lambda c: c.number(0, 2),
    "slice_axis.end": lambda c: c.one(None, 2, 3, -1),
    "lhs_begin": _some(None),
    "lhs_end": _some(None),
    "rhs_begin": _some(None),
    "rhs_end": _some(None),
    "transpose.axes": lambda c: tuple(c.draw(st.permutations(range(c.axes)))),
    "Dropout.axes": lambda c: c.one((), (0,), (c.axes - 1,)),
    "slice_like.axes": lambda c: c.one((), (0,), (-1,), (c.axes - 1,)),
    "Reshape.shape": _reshaped,
    "broadcast_to.shape": _like,
    "broadcast_axis.axis": lambda c: tuple(i for i, s in enumerate(c.shape) if s == 1),
    "broadcast_axis.size": lambda c: tuple(c.one(2, 3) for s in c.shape if s == 1),
    "broadcast_like.lhs_axes": _some(None),
    "broadcast_like.rhs_axes": _some(None),
    "scatter_nd.shape": _some((4, 5), (8, 8, 2), (9, 9)),
    "squeeze.axis": lambda c: c.one(None, tuple(i for i, s in enumerate(c.shape) if s == 1)),
    "expand_dims.axis": lambda c: c.number(-c.axes - 1, c.axes),
    "stack.axis": lambda c: c.number(-c.axes - 1, c.axes),
    "reverse.axis": lambda c: c.one((_axis(c),), tuple(range(c.axes))),
    "SequenceMask.axis": _some(0, 1),
    "SequenceLast.axis": _some(0, 1),
    "SequenceReverse.axis": _some(0),
    "_linalg_gemm.axis": _some(-2),
    "_linalg_gemm2.axis": _some(-2),
    "pad_width": lambda c: (0, 0, 0, 0, *(c.one(1, 0, 2) for _ in range(2 * (c.axes - 2)))),
    "height": _some(4, 1, 3, 7),
    "width": _some(3, 1, 5),
    "scale_height": _some(None, None, 2, 0.5),
    "scale_width": _some(None, None, 2, 1.5),
    "output_size": _some(2, (1, 3), 1, (), (4, 2)),
    "temperature": _some(None, 2.0, 0.5, 1.0),
    "use_length": _some(False, True),
    "eps": _some(1e-3, 1e-5, 0.1),
    "epsilon": _some(1e-8, 1e-3),
    "momentum": _some(0.9, 0.0, 0.5),
    "p": _some(0.5, 0.0, 1.0, 0.3),
    "clip_gradient": _some(-1.0, 0.5, 0),
    "clip_weights": _some(-1.0, 0.5, 0),
    "smooth_alpha": _some(0.0, 0.1),
    "lam": _some(1.0, 3.0),
    "alpha": _some(1.0, 0.5, 2.0),
    "beta": _some(1.0, 0.5, 0.0),
    "low": _some(0, -1, 0.5),
    "high": _some(1, 2, 5),
    "_random_randint.low": _some(0, -5),
    "_random_randint.high": _some(5, 1, 100),
    "a_min": _some(-0.5, 0, -1),
    "a_max": _some(0.5, 1, 2),
    "infer_range": _some(False),
    "min_calib_range": _some(None),
    "max_calib_range": _some(None),
    "fix_gamma": _some(False, True),
}

# Shapes of inputs but the first


def _as_first(c: Draft) -> Shape:
    return c.shape


def _second(c: Draft) -> Shape:
    """The right operand: what broadcasts, or the very shape."""
    if c.row.name.startswith("broadcast_"):
        return broadcastable(c.draw, c.shape)
    return c.shape


def _factor(c: Draft) -> Shape:
    """The right factor of a product of matrices."""
    *batch, n, k = c.shape if c.axes > 1 else (1, *c.shape)
    inner = n if c.attributes.get("transpose_a") else k
    outer = c.one(2, 3, 1)
    if c.row.name == "dot":
        if c.axes == 1:
            return (k,) if c.rarely(3) else (k, outer)
        inner = c.shape[0] if c.attributes.get("transpose_a") else c.shape[-1]
        batch = ()
    pair = (outer, inner) if c.attributes.get("transpose_b") else (inner, outer)
    return (*batch, *pair)


def _product(c: Draft) -> Shape:
    a, b = c.shapes["A"], c.shapes["B"]
    rows = a[-1] if c.attributes.get("transpose_a") else a[-2]
    columns = b[-2] if c.attributes.get("transpose_b") else b[-1]
    return (*a[:-2], rows, columns)


def _solved(c: Draft) -> Shape:
    *batch, n = c.shape[:-1]
    return (*batch, 2, n) if c.attributes.get("rightside") else (*batch, n, 2)


def _without_axis(c: Draft) -> Shape:
    axis = c.attributes.get("axis", -1)
    if not isinstance(axis, int) or not -c.axes <= axis < c.axes:
        return c.shape
    kept = c.attributes.get("keepdims")
    rest = list(c.shape)
    rest[axis : axis + 1 or None] = [1] if kept else []
    return tuple(rest)


def _one_axis(c: Draft) -> Shape:
    axis = c.attributes.get("axis", 0)
    return (c.shape[axis],) if isinstance(axis, int) and -c.axes <= axis < c.axes else (1,)


def _batch(c: Draft) -> Shape:
    return c.shape[1 - c.attributes.get("axis", 0) :][:1]


def _coordinates(c: Draft) -> Shape:
    return (c.number(1, c.axes), c.one(2, 3, 1))


def _scattered(c: Draft) -> Shape:
    """Indices into what has the shape of the attribute, for all of data."""
    shape = c.attributes["shape"]
    taken = len(shape) - c.axes + 1
    return (max(1, taken), c.shape[0])


def _box(c: Draft) -> Shape:
    return (*any_shape(c.draw, 0, 1), 4)


def _broadcast_from(c: Draft) -> Shape:
    return tuple(c.one(2, 3) if s == 1 else s for s in c.shape)


def _elements(c: Draft) -> Shape:
    return c.one(c.shape[::-1], (prod(c.shape),), c.shape)


INPUTS: dict[str, Hint] = {
    "rhs": _second,
    "dot.rhs": _factor,
    "batch_dot.rhs": _factor,
    "B": _factor,
    "C": _product,
    "_linalg_trsm.B": _solved,
    "where.x": _as_first,
    "where.y": _as_first,
    "indices": lambda c: any_shape(c.draw, 1, 2),
    "pick.index": _without_axis,
    "length": _without_axis,
    "batch_take.indices": lambda c: c.shape[:1],
    "gather_nd.indices": _coordinates,
    "scatter_nd.indices": _scattered,
    "_contrib_boolean_mask.index": _one_axis,
    "_contrib_box_iou.rhs": _box,
    "sequence_length": _batch,
    "broadcast_like.rhs": _broadcast_from,
    "reshape_like.rhs": _elements,
    "like": lambda c: any_shape(c.draw, 4, 4),
    "SoftmaxOutput.label": lambda c: c.one(c.shape[:1] + c.shape[2:], c.shape[:-1]),
}

# The values of inputs

KINDS: dict[str, tuple[str, ...]] = {
    "indices": ("indices", "indices", "beyond", "fractions"),
    "index": ("indices", "beyond"),
    "gather_nd.indices": ("indices",),
    "scatter_nd.indices": ("indices",),
    "Embedding.data": ("indices", "beyond", "fractions"),
    "softmax_cross_entropy.label": ("indices",),
    "SoftmaxOutput.label": ("indices",),
    "sequence_length": ("counts",),
    "length": ("counts",),
    "condition": ("ties", "normal"),
    "moving_mean": ("normal",),
    "moving_var": ("positive",),
    "weight": ("normal", "ties"),
    "gamma": ("normal", "ties"),
    "B": ("normal", "ties"),
    "C": ("normal", "ties"),
    "bias": ("normal", "ties"),
    "grad": ("normal", "ties"),
    "mean": ("normal",),
    "mom": ("normal",),
    "z": ("normal",),
    "var": ("positive",),
    "n": ("positive",),
    "sigma": ("positive",),
    "lam": ("positive",),
    "alpha": ("positive",),
    "beta": ("positive",),
    "high": ("positive",),
    "_contrib_box_iou.lhs": ("normal", "positive"),
    "_contrib_box_iou.rhs": ("normal", "positive"),
    "_linalg_potrf.A": ("definite",),
    "_linalg_trsm.A": ("definite",),
    "_sample_multinomial.data": ("unit",),
    "arctanh.data": ("unit", "normal"),
}
NOT_DATA = {"indices", "index", "sequence_length", "length", "condition", "label"}  # in any dtype


def hint(table: dict[str, Any], row: Op, name: str, group: str | None = None) -> Any:
    """What a table knows of a row's parameter, or of all in its group; None if nothing."""
    return table.get(f"{row.name}.{name}", table.get(group or name))
