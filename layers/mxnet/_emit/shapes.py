"""Emitters of operators that move elements: shapes, slices, products, indices."""

from __future__ import annotations

from collections.abc import Sequence

from .names import literal
from .table import Expression, emits


@emits("Flatten")
def _(data):
    return Expression(f"torch.flatten({data}, 1)", "nn.Flatten()")


@emits("Reshape")
def _(of, data, shape, reverse, target_shape):
    if target_shape or not shape:
        of.refuse("target_shape is given")
    known = of.shapes[0]
    sizes = _sizes(of, data, shape, known) if not reverse else None
    if sizes is None:
        out = of.out
        if not known or not out or 0 in out[1:]:
            of.refuse(f"shape is {literal(shape)}, and the data's is not known")
        sizes = [f"{data}.shape[0]" if out[0] == known[0] else "-1", *map(str, out[1:])]
    return f"{data}.reshape({', '.join(sizes)})"


def _sizes(of, data: str, shape: Sequence[int], known) -> list[str] | None:
    """The sizes of a reshape by place: 0 keeps one, -2 the rest, -3 joins two, -4 splits one."""
    sizes, place, rest = [], 0, iter(shape)
    for size in rest:
        if size >= -1 and size != 0:
            sizes.append(str(size))
            place += 1
        elif size == 0:
            sizes.append(f"{data}.shape[{place}]")
            place += 1
        elif size == -3:
            sizes.append(f"{data}.shape[{place}] * {data}.shape[{place + 1}]")
            place += 2
        elif size == -2 and known:
            sizes += [f"{data}.shape[{i}]" for i in range(place, len(known))]
            place = len(known)
        elif size == -4:
            one, other = next(rest), next(rest)
            whole = f"{data}.shape[{place}]"
            sizes.append(f"{whole} // {other}" if one == -1 else str(one))
            sizes.append(f"{whole} // {one}" if other == -1 else str(other))
            place += 1
        else:
            return None
    return sizes


@emits("transpose")
def _(of, data, axes):
    if not axes and of.rank is None:
        of.refuse("the number of axes is not known")
    axes = axes or tuple(range(of.rank))[::-1]
    return f"{data}.permute({', '.join(map(str, axes))})"


@emits("expand_dims")
def _(data, axis):
    return f"{data}.unsqueeze({axis})"


@emits("squeeze")
def _(of, data, axis):
    if axis is None:
        return f"{data}.squeeze()"
    return f"{data}.squeeze({literal(axis[0] if len(axis) == 1 else axis)})"


@emits("SwapAxis")
def _(data, dim1, dim2):
    return f"{data}.transpose({dim1}, {dim2})"


@emits("reshape_like")
def _(of, lhs, rhs, lhs_begin, lhs_end, rhs_begin, rhs_end):
    if any(v is not None for v in (lhs_begin, lhs_end, rhs_begin, rhs_end)):
        of.refuse("only a part of the shape is taken")
    return f"{lhs}.reshape({rhs}.shape)"


@emits("broadcast_like")
def _(of, lhs, rhs, lhs_axes, rhs_axes):
    if lhs_axes is not None:
        of.refuse("lhs_axes are given")
    return f"{lhs}.expand({rhs}.shape)"


@emits("broadcast_to")
def _(data, shape):
    return f"{data}.expand({', '.join(str(size or -1) for size in shape)})"


@emits("broadcast_axis")
def _(of, data, axis, size):
    if of.rank is None:
        of.refuse("the number of axes is not known")
    sizes = [-1] * of.rank
    for a, n in zip(axis, size):
        sizes[a] = n
    return f"{data}.expand({', '.join(map(str, sizes))})"


@emits("Concat")
def _(of, dim):
    return f"torch.cat(({', '.join(of.inputs)}{',' * (len(of.inputs) == 1)}), dim={dim})"


@emits("stack")
def _(of, axis):
    return f"torch.stack(({', '.join(of.inputs)}{',' * (len(of.inputs) == 1)}), dim={axis})"


@emits("SliceChannel")
def _(of, data, num_outputs, axis, squeeze_axis):
    if squeeze_axis:
        return f"torch.unbind({data}, {axis})"
    return f"torch.chunk({data}, {num_outputs}, dim={axis})"


@emits("slice_axis")
def _(of, data, axis, begin, end):
    if axis < 0:
        axis = axis + of.rank if of.rank else of.refuse("the number of axes is not known")
    part = f"{begin or ''}:{'' if end is None else end}"
    return f"{data}[{', '.join([*[':'] * axis, part])}]"


@emits("slice")
def _(of, data, begin, end, step):
    if any((s or 1) < 0 for s in step):
        of.refuse("a step is negative")
    steps = step or (None,) * len(begin)
    parts = [
        ":".join("" if v is None else str(v) for v in ((b, e, s) if s else (b, e)))
        for b, e, s in zip(begin, end, steps)
    ]
    return f"{data}[{', '.join(parts)}]"


@emits("slice_like")
def _(of, data, shape_like, axes):
    rank = of.rank or of.refuse("the number of axes is not known")
    over = {a % rank for a in axes} if axes else {*range(rank)}
    last = max(over) + 1
    parts = [f": {shape_like}.shape[{a}]" if a in over else ":" for a in range(last)]
    return f"{data}[{', '.join(parts)}]"


@emits("tile")
def _(data, reps):
    return f"torch.tile({data}, {literal(reps)})"


@emits("repeat")
def _(data, repeats, axis):
    return f"torch.repeat_interleave({data}, {repeats}, dim={literal(axis)})"


@emits("reverse")
def _(data, axis):
    return f"{data}.flip({literal(axis)})"


@emits("Pad")
def _(of, data, mode, pad_width, constant_value):
    pairs = [*zip(pad_width[::2], pad_width[1::2])]
    while pairs and mode != "constant" and pairs[0] == (0, 0):
        pairs = pairs[1:]
    flat = literal(tuple(n for pair in reversed(pairs) for n in pair))
    if mode == "constant":
        return f"F.pad({data}, {flat}, value={literal(constant_value)})"
    modes = {"edge": '"replicate"', "reflect": '"reflect"'}
    return f"F.pad({data}, {flat}, mode={modes[mode]})"


@emits("UpSampling")
def _(of, scale, sample_type):
    if sample_type != "nearest" or len(of.inputs) > 1:
        of.refuse("it is bilinear, or has several inputs")
    return f'F.interpolate({of.inputs[0]}, scale_factor={scale}, mode="nearest")'


@emits("_contrib_BilinearResize2D")
def _(of, data, height, width, scale_height, scale_width, mode, align_corners):
    if mode != "size" or scale_height or scale_width or len(of.inputs) > 1:
        of.refuse("mode is not 'size'")
    corners = f'mode="bilinear", align_corners={align_corners}'
    return f"F.interpolate({data}, ({height}, {width}), {corners})"


# Products and indices


@emits("dot")
def _(of, lhs, rhs, transpose_a, transpose_b):
    shapes = of.shapes
    if not all(shapes) or any(len(s) != 2 for s in shapes):
        of.refuse("its inputs are not known to be matrices")
    return f"{lhs}{'.T' * transpose_a} @ {rhs}{'.T' * transpose_b}"


@emits("batch_dot")
def _(lhs, rhs, transpose_a, transpose_b):
    return f"torch.bmm({lhs}{'.mT' * transpose_a}, {rhs}{'.mT' * transpose_b})"


@emits("_linalg_gemm2")
def _(of, A, B, transpose_a, transpose_b, alpha, axis):
    if axis != -2:
        of.refuse("axis is given")
    scale = "" if alpha == 1 else f"{literal(alpha)} * "
    y = f"{A}{'.mT' * transpose_a} @ {B}{'.mT' * transpose_b}"
    return f"{scale}({y})" if scale else y


@emits("take")
def _(of, a, indices, axis, mode):
    shapes = of.shapes
    if mode != "clip" or axis != 0:
        of.refuse("mode is not 'clip', or axis not 0")
    size = shapes[0][0] if shapes[0] and shapes[0][0] else 0
    last = str(size - 1) if size else f"len({a}) - 1"
    return f"{a}[{indices}.long().clamp(0, {last})]"


@emits("pick")
def _(of, data, index, axis, keepdims, mode):
    shapes = of.shapes
    size = shapes[0][axis] if shapes[0] and axis is not None else 0
    if mode != "clip" or not size or (shapes[1] and len(shapes[1]) == len(shapes[0])):
        of.refuse("mode is not 'clip', or the shapes are not known")
    at = f"{index}.long().clamp(0, {size - 1}).unsqueeze({axis})"
    y = f"{data}.gather({axis}, {at})"
    return y if keepdims else f"{y}.squeeze({axis})"


@emits("one_hot")
def _(of, indices, depth, on_value, off_value, dtype):
    if (on_value, off_value) != (1, 0):
        of.refuse("on_value is not 1, or off_value not 0")
    classes = f"torch.arange({depth}, device={indices}.device)"
    return f"({indices}.long().unsqueeze(-1) == {classes}).to({literal(dtype)})"
