"""The shapes of inputs that an output, or another input, tells: a rule for each kind of operator.

As in MXNet, a state that was made for a batch of size 0 gets its size from what is computed with
it. Rules that need more of an operator stand beside it.
"""

from __future__ import annotations

import math

from .registry import get

Shape = tuple[int, ...]
Shapes = list[Shape | None]


def common(*shapes: Shape | None) -> Shape | None:
    """Return the sizes that shapes of one number of axes tell together, 0 where none tells it."""
    known = [shape for shape in shapes if shape]
    if not known or len({*map(len, known)}) > 1:
        return None
    return tuple(max(sizes) for sizes in zip(*known))


def _all_alike(inputs: Shapes, output: Shape) -> Shapes:
    return [common(*inputs, output)] * len(inputs)


def _first_as_output(inputs: Shapes, output: Shape) -> Shapes:
    return [common(inputs[0], output), *inputs[1:]]


def _last_as_output(inputs: Shapes, output: Shape) -> Shapes:
    return [*inputs[:-1], common(inputs[-1], output)]


FAMILIES = (
    "exponential gamma generalized_negative_binomial negative_binomial normal poisson uniform"
)
for _name in ("cast_storage", *(f"_random_{name}_like" for name in FAMILIES.split())):
    get(_name).back(_all_alike)
for _name in (
    *("_contrib_quantize", "_contrib_quantize_v2", "_contrib_quantize_asym"),
    *("_contrib_dequantize", "_contrib_requantize", "_contrib_index_copy"),
    *("_sparse_retain", "_linalg_gelqf"),
):
    get(_name).back(_first_as_output)
get("_linalg_gemm").back(_last_as_output)


@get("where").back
def _(inputs, output):
    """Give x and y the condition's shape, or a row for each of its elements."""
    condition, x, y = inputs
    found = common(x, y, output)
    if found and condition:
        rows = common(found[: len(condition)], condition)
        found = found if rows is None else (*rows, *found[len(condition) :])
    return [condition, found, found]


@get("cumsum").back
def _(inputs, output, axis):
    return inputs if axis is None else _first_as_output(inputs, output)


@get("expand_dims").back
def _(inputs, output, axis):
    if not output:
        return inputs
    at = axis % len(output)
    return [common(inputs[0], (*output[:at], *output[at + 1 :])) if len(output) > 1 else (1,)]


@get("SliceChannel").back
def _(inputs, output, num_outputs, axis, squeeze_axis):
    if not output:
        return inputs
    at = axis % (len(output) + squeeze_axis)
    if squeeze_axis:
        return [common(inputs[0], (*output[:at], num_outputs, *output[at:]))]
    return [common(inputs[0], (*output[:at], output[at] * num_outputs, *output[at + 1 :]))]


@get("_split_v2").back
def _(inputs, output, axis, squeeze_axis):
    """The sizes of the axes that stay whole."""
    if not output:
        return inputs
    at = axis % (len(output) + squeeze_axis)
    return [common(inputs[0], (*output[:at], 0, *output[at + (not squeeze_axis) :]))]


@get("Reshape").back
def _(inputs, output):
    """The one size that is not known."""
    known = inputs[0] or ()
    if known.count(0) != 1 or not output or 0 in output:
        return inputs
    rest = math.prod(output) // math.prod(size for size in known if size)
    return [tuple([size or rest for size in known])]


@get("_slice_assign").infer
def _(lhs, begin, end, step):
    steps = step or (None,) * len(begin)
    sizes = [len(range(*slice(*each).indices(size))) for *each, size in zip(begin, end, steps, lhs)]
    return {"rhs": (*sizes, *lhs[len(begin) :])}


get("_slice_assign").back(_first_as_output)


@get("_scatter_set_nd").back
def _(inputs, shape):
    return [shape, *inputs[1:]]


@get("_linalg_gemm").infer
def _(A, B, transpose_a, transpose_b, axis):
    if axis not in (-2, len(A) - 2):
        return {}
    return {"C": (*A[:-2], A[-1 if transpose_a else -2], B[-2 if transpose_b else -1])}


@get("_linalg_trsm").back
@get("_linalg_trmm").back
def _(inputs, output, rightside):
    b = common(inputs[1], output)
    return [b and (*b[:-2], *[b[-1 if rightside else -2]] * 2), b]


@get("_ravel_multi_index").back
def _(inputs, output, shape):
    return [(len(shape), *output)] if output and shape else inputs


@get("_unravel_index").back
def _(inputs, output):
    return [common(inputs[0], output[1:])] if output else inputs


def _of_draws(inputs: Shapes, output: Shape, shape: Shape) -> Shapes:
    found = common(*inputs, output[: len(output) - len(shape)])
    return [found] * len(inputs)


def _of_samples(inputs: Shapes) -> Shapes:
    """The parameters have one shape, with which that of the samples begins."""
    sample, *parameters = inputs
    found = common(*parameters)
    if sample and found:
        found = common(found, sample[: len(found)])
    return [sample, *[found] * len(parameters)]


for _name in FAMILIES.split():
    get(f"_sample_{_name}").back(_of_draws)
    get(f"_random_pdf_{_name}").back(_of_samples)


@get("_random_pdf_dirichlet").back
def _(inputs):
    sample, alpha = inputs
    if sample and alpha:
        alpha = common(alpha, (*sample[: len(alpha) - 1], sample[-1]))
    return [sample, alpha]


@get("_contrib_Proposal").back
@get("_contrib_MultiProposal").back
def _(inputs):
    scores, boxes, info = inputs
    shape = common(scores, boxes and (boxes[0], boxes[1] // 2, *boxes[2:]))
    if shape is None:
        return inputs
    return [shape, (shape[0], 2 * shape[1], *shape[2:]), common(info, (shape[0], 3))]


@get("_contrib_box_encode").infer
def _():
    return {"means": (4,), "stds": (4,)}


@get("_rnn_param_concat").back
def _(inputs, output, dim):
    """Apply the rule of Concat; inputs of unknown size along the axis share one size."""
    found = get("Concat").back_rule(inputs, output, dim)
    if not output or any(shape is None or len(shape) != len(output) for shape in found):
        return found
    at = dim % len(output)
    unknown = [shape for shape in found if not shape[at]]
    rest = output[at] - sum(shape[at] for shape in found)
    if not unknown or rest < 0 or not output[at] or rest % len(unknown):
        return found
    each = rest // len(unknown)
    return [shape if shape[at] else (*shape[:at], each, *shape[at + 1 :]) for shape in found]


@get("_contrib_quantized_concat").back
def _(inputs, output, dim):
    count = len(inputs) // 3
    arrays = get("Concat").back_rule(inputs[:count], output, dim)
    return [*arrays, *[(1,)] * (len(inputs) - count)]


@get("_contrib_quantized_fully_connected").back
def _(inputs, output, flatten):
    return [*get("FullyConnected").back_rule(inputs, output, flatten)[:1], *inputs[1:]]


@get("_contrib_DeformableConvolution").back
@get("_contrib_ModulatedDeformableConvolution").back
def _(inputs, output):
    data = inputs[0]
    return [common(data, (output[0], *data[1:])) if data and output else data, *inputs[1:]]


@get("_contrib_edge_id").back
def _(inputs, output):
    return [inputs[0], *[common(*inputs[1:], output)] * 2]
