"""The functions of ``mx.np`` whose arguments are not those of one operator."""

from __future__ import annotations

import numbers
from operator import index

import numpy as np

from . import arithmetic
from .create import expect_c, shape_of
from .front import front

numpy = front("numpy")


def _axes(axis) -> tuple[int, ...]:
    return tuple(axis) if hasattr(axis, "__len__") else (index(axis),)


# Parts and stacks


@numpy
def stack(F, arrays, axis=0, out=None):
    """Return the arrays one after the other along a new axis."""
    return F._npi_stack(*arrays, axis=axis, out=out)


@numpy
def concatenate(F, seq, axis=0, out=None):
    """Return the arrays one after the other along an axis; None: all of them flattened."""
    return F._npi_concatenate(*seq, dim=axis, out=out)


@numpy
def append(F, arr, values, axis=None):
    """Return the array with values behind it along an axis; by default all flattened."""
    return F.concatenate([arr, F.as_operand("append", values, arr)], axis)


@numpy
def vstack(F, arrays, out=None):
    """Return the arrays as rows of one, one after the other."""
    return F._npi_vstack(*arrays, out=out)


@numpy
def hstack(F, arrays):
    """Return the arrays one after the other along axis 1, or 0 where there is one axis."""
    return F._npi_hstack(*arrays)


@numpy
def dstack(F, arrays):
    """Return the arrays one after the other along axis 2."""
    return F._npi_dstack(*arrays)


@numpy
def column_stack(F, tup):
    """Return the arrays as columns of one."""
    return F._npi_column_stack(*tup)


def _at_least(count):
    def function(F, *arys):
        found = [getattr(F, f"_np_atleast_{count}d")(x) for x in arys]
        return found[0] if len(found) == 1 else found

    function.__name__ = f"atleast_{count}d"
    function.__doc__ = f"Return the arrays with {count} axes or more."
    return function


for _count in (1, 2, 3):
    numpy(_at_least(_count))


@numpy
def split(F, ary, indices_or_sections, axis=0):
    """Return parts along an axis: so many equal ones, or one from each index to the next."""
    return F.as_list(F._npi_split(ary, axis=axis, **_sections(indices_or_sections)))


def _sections(indices_or_sections) -> dict:
    """Return the places of `split` as attributes."""
    if isinstance(indices_or_sections, numbers.Integral):
        if indices_or_sections < 1:
            raise ValueError(f"split: {indices_or_sections} sections\n  expected 1 or more")
        return {"indices": (), "sections": indices_or_sections}
    if not hasattr(indices_or_sections, "__iter__"):
        raise ValueError(
            f"split: {indices_or_sections!r}\n  expected a number, or a sequence of indices"
        )
    if isinstance(indices_or_sections, set):
        indices_or_sections = sorted(indices_or_sections)
    ends = [0, *map(int, indices_or_sections)]
    return {"indices": tuple(ends)}


@numpy
def array_split(F, ary, indices_or_sections, axis=0):
    """Return parts along an axis: so many of nearly equal size, or as `split`."""
    if not isinstance(indices_or_sections, numbers.Integral):
        return F.split(ary, indices_or_sections, axis)
    if indices_or_sections < 1:
        raise ValueError(f"array_split: {indices_or_sections} sections\n  expected 1 or more")
    return F.as_list(F._npi_array_split(ary, sections=indices_or_sections, axis=axis))


@numpy
def hsplit(F, ary, indices_or_sections):
    """Return parts along axis 1, or 0 where there is one axis."""
    _expect_axes("hsplit", ary, 1)
    return F.as_list(F._npi_hsplit(ary, **_sections(indices_or_sections)))


@numpy
def vsplit(F, ary, indices_or_sections):
    """Return parts along axis 0."""
    _expect_axes("vsplit", ary, 2)
    return F.split(ary, indices_or_sections, 0)


@numpy
def dsplit(F, ary, indices_or_sections):
    """Return parts along axis 2."""
    _expect_axes("dsplit", ary, 3)
    return F.split(ary, indices_or_sections, 2)


def _expect_axes(name, ary, count) -> None:
    if len(getattr(ary, "shape", (0,) * count)) < count:
        raise ValueError(
            f"{name}: the array is {tuple(ary.shape)}\n  expected {count} axes or more"
        )


# Another shape or order


@numpy
def ravel(F, x, order="C"):
    """Return a copy with one axis."""
    return F._np_reshape(x, newshape=(-1,), order=order)


@numpy
def expand_dims(F, a, axis):
    """Return a copy with new axes of size 1, at these places of the result."""
    return F._npi_expand_dims(a, axis=_axes(axis))


@numpy
def swapaxes(F, a, axis1, axis2):
    """Return a copy with two axes in each other's place."""
    return F._npi_swapaxes(a, dim1=axis1, dim2=axis2)


@numpy
def moveaxis(F, a, source, destination):
    """Return a copy with axes in other places."""
    source, destination = _axes(source), _axes(destination)
    if len(source) != len(destination):
        raise ValueError(
            f"moveaxis: source is {source}, destination is {destination}\n  expected as many"
        )
    return F._np_moveaxis(a, source=source, destination=destination)


@numpy
def flipud(F, m):
    """Return the rows in reverse order."""
    return F.flip(m, 0)


@numpy
def fliplr(F, m):
    """Return the columns in reverse order."""
    return F.flip(m, 1)


@numpy
def tile(F, A, reps):
    """Return the array repeated along each axis."""
    if isinstance(A, (numbers.Number, np.bool_)):
        return np.tile(A, reps)
    return F._npi_tile(A, reps=_axes(reps))


@numpy
def repeat(F, a, repeats, axis=None):
    """Return each element so many times, along an axis; by default of the flattened array."""
    return F._np_repeat(a, repeats=_axes(repeats), axis=axis)


@numpy
def resize(F, a, new_shape):
    """Return the elements, again and again, in another shape."""
    return F._npi_resize(a, new_shape=shape_of(new_shape))


@numpy
def pad(F, x, pad_width=None, mode="constant", **kwargs):
    """Return the array with elements added before and after, along each axis."""
    known = {
        "constant": {"constant_values"},
        "reflect": {"reflect_type"},
        "symmetric": {"reflect_type"},
    }
    wrong = [name for name in kwargs if name not in known.get(mode, ())]
    if wrong or mode not in ("constant", "edge", "maximum", "minimum", "reflect", "symmetric"):
        raise ValueError(f"pad: mode is {mode!r}, with {wrong}\n  expected one that is supported")
    width = np.asarray(pad_width)
    width = (width if width.ndim == 2 else np.broadcast_to(width, (len(x.shape), 2))).tolist()
    if kwargs.get("reflect_type", "even") != "even":
        raise ValueError(f"pad: reflect_type is {kwargs['reflect_type']!r}\n  expected 'even'")
    value = kwargs.get("constant_values", 0)
    if not isinstance(value, numbers.Number):
        raise ValueError(f"pad: constant_values is {value!r}\n  expected one number")
    return F._npi_pad(x, pad_width=tuple(map(tuple, width)), mode=mode, constant_value=value)


@numpy
def clip(F, a, a_min, a_max, out=None):
    """Return the values, none below `a_min` or above `a_max`; None bounds nothing."""
    return F._npi_clip(a, a_min=a_min, a_max=a_max, out=out)


@numpy
def nan_to_num(F, x, copy=True, nan=0.0, posinf=None, neginf=None):
    """Return the values, with numbers in place of NaN and of the infinities.

    Without `copy` they are written into the array.
    """
    if isinstance(x, arithmetic.NUMBERS):
        return np.nan_to_num(x, copy, nan, posinf, neginf)
    out = None if copy or F.are_symbols else x
    return F._npi_nan_to_num(x, nan=nan, posinf=posinf, neginf=neginf, out=out)


@numpy
def sort(F, a, axis=-1, kind=None, order=None):
    """Return the values in order along an axis."""
    if order is not None:
        raise NotImplementedError(f"sort: order is {order!r}\n  expected None")
    return F._npi_sort(a, axis=axis)


@numpy
def argsort(F, a, axis=-1, kind=None, order=None):
    """Return the indices that bring the values in order along an axis."""
    if order is not None:
        raise NotImplementedError(f"argsort: order is {order!r}\n  expected None")
    return F._npi_argsort(a, axis=axis)


# Indices and conditions


@numpy
def take(F, a, indices, axis=None, mode="raise", out=None):
    """Return the slices of `a` at the indices."""
    if mode not in ("raise", "clip", "wrap"):
        raise NotImplementedError(f"take: mode is {mode!r}\n  expected 'raise', 'clip' or 'wrap'")
    at = F.as_operand("take", indices, a)
    return F._npi_take(a, at, axis=axis, mode=mode, out=out)


@numpy
def where(F, condition, x=None, y=None):
    """Return x where the condition is not 0, else y; without them the indices where it is not."""
    if x is None and y is None:
        return F.nonzero(condition)
    if x is None or y is None:
        raise ValueError("where: one of x and y is missing\n  expected both, or none")
    if isinstance(condition, arithmetic.NUMBERS):
        condition = F.full((), bool(condition))
    numbers_of = [isinstance(v, arithmetic.NUMBERS) for v in (x, y)]
    if all(numbers_of):
        return F._npi_where_scalar2(condition, x=float(x), y=float(y))
    if numbers_of[0]:
        return F._npi_where_rscalar(condition, F.as_operand("where", y, condition), scalar=x)
    if numbers_of[1]:
        return F._npi_where_lscalar(condition, F.as_operand("where", x, condition), scalar=y)
    x, y = F.as_operand("where", x, condition), F.as_operand("where", y, condition)
    return F._npi_where(condition, x, y)


@numpy
def nonzero(F, a):
    """Return the indices of the elements that are not 0: an array for each axis."""
    return F.as_rows(F.transpose(F._npx_nonzero(a)))


@numpy
def bincount(F, x, weights=None, minlength=0):
    """Return how often each integer from 0 on is in an array, or the sum of its weights."""
    if minlength < 0:
        raise ValueError(f"bincount: minlength is {minlength}\n  expected 0 or more")
    if weights is None:
        return F._npi_bincount(x, minlength=minlength, has_weights=False)
    return F._npi_bincount(x, weights, minlength=minlength, has_weights=True)


@numpy
def histogram(F, a, bins=10, range=None, normed=None, weights=None, density=None):
    """Return how many values lie in each bin, and the edges of the bins."""
    for name, value in (("normed", normed), ("weights", weights), ("density", density)):
        if value:
            raise NotImplementedError(f"histogram: {name} is {value!r}\n  expected None")
    if isinstance(bins, F.operand):
        return F.as_list(F._npi_histogram(a, bins))
    if range is None:
        raise NotImplementedError("histogram: range is None\n  expected (least, most)")
    return F.as_list(F._npi_histogram(a, bin_cnt=bins, range=range))


@numpy
def diag_indices_from(F, arr):
    """Return the indices of the diagonal: an array for each axis."""
    return F.as_rows(F._npi_diag_indices_from(arr))


@numpy
def unravel_index(F, indices, shape, order="C"):
    """Return the indices of places of the flattened array: an array for each axis."""
    expect_c("unravel_index", order)
    indices = F.as_operand("unravel_index", indices, None)
    return F.as_rows(F._npi_unravel_index(indices, shape=shape_of(shape)))


def _place(obj) -> dict:
    """Return the places of `delete` and `insert` as attributes."""
    if isinstance(obj, slice):
        return {"start": obj.start, "stop": obj.stop, "step": obj.step}
    return {"int_ind": index(obj)}


@numpy
def delete(F, arr, obj, axis=None):
    """Return the array without the slices at some places along an axis."""
    if isinstance(obj, (slice, numbers.Integral)):
        return F._npi_delete(arr, **_place(obj), axis=axis)
    return F._npi_delete(arr, F.as_operand("delete", obj, None), axis=axis)


@numpy
def insert(F, arr, obj, values, axis=None):
    """Return the array with values before the places along an axis."""
    is_number = isinstance(values, arithmetic.NUMBERS)
    given = [] if is_number else [F.as_operand("insert", values, arr)]
    options = {"axis": axis} | ({"val": values} if is_number else {})
    if isinstance(obj, slice):
        return F._npi_insert_slice(arr, *given, **_place(obj), **options)
    if isinstance(obj, numbers.Integral):
        return F._npi_insert_scalar(arr, *given, **_place(obj), **options)
    return F._npi_insert_tensor(
        arr, *given, **{"obj": F.as_operand("insert", obj, None)}, **options
    )


# Numbers


@numpy
def average(F, a, axis=None, weights=None, returned=False, out=None):
    """Return the mean over axes, weighted; with `returned` the sum of the weights, too."""
    given = [] if weights is None else [weights]
    options = {"axis": axis, "returned": returned, "weighted": weights is not None}
    y = F._npi_average(a, *given, **options, out=out)
    return tuple(y) if returned else y


@numpy
def percentile(
    F, a, q, axis=None, out=None, overwrite_input=None, interpolation="linear", keepdims=False
):
    """Return the q-th percentiles over axes."""
    if overwrite_input is not None:
        raise NotImplementedError("percentile: overwrite_input is not None\n  expected None")
    options = {"axis": axis, "interpolation": interpolation, "keepdims": keepdims, "out": out}
    if isinstance(q, arithmetic.NUMBERS):
        return F._npi_percentile(a, q_scalar=q, **options)
    return F._npi_percentile(a, F.as_operand("percentile", q, a), **options)


@numpy
def quantile(
    F, a, q, axis=None, out=None, overwrite_input=None, interpolation="linear", keepdims=False
):
    """Return the q-th quantiles over axes."""
    if not isinstance(q, arithmetic.NUMBERS):
        q = F.as_operand("quantile", q, a)
    return F.percentile(a, q * 100, axis, out, overwrite_input, interpolation, keepdims)


@numpy
def diff(F, a, n=1, axis=-1, prepend=None, append=None):
    """Return the n-th differences between neighbours along an axis."""
    if prepend is not None or append is not None:
        raise NotImplementedError("diff: prepend or append is given\n  expected None")
    return F._npi_diff(a, n=n, axis=axis)


@numpy
def ediff1d(F, ary, to_end=None, to_begin=None):
    """Return the differences between elements that follow each other, with others around them."""
    arrays, options = [], {}
    for name, value in (("to_begin", to_begin), ("to_end", to_end)):
        if isinstance(value, F.operand):
            arrays.append((name, value))
            options[f"{name}_arr_given"] = True
        elif value is not None:
            options[f"{name}_scalar"] = value
    return F._npi_ediff1d(ary, **dict(arrays), **options)


# Products


@numpy
def tensordot(F, a, b, axes=2):
    """Return the sum of the products over axes of a and of b."""
    if isinstance(axes, numbers.Integral):
        return F._npi_tensordot_int_axes(a, b, axes=axes)
    if len(axes) != 2:
        raise ValueError(f"tensordot: axes are {axes}\n  expected a number, or two sequences")
    left, right = map(_axes, axes)
    if len(left) != len(right):
        raise ValueError(f"tensordot: axes are {axes}\n  expected as many of a as of b")
    return F._npi_tensordot(a, b, a_axes_summed=left, b_axes_summed=right)


@numpy
def inner(F, a, b):
    """Return the sum of the products over the last axes."""
    return F.tensordot(a, b, ((-1,), (-1,)))


@numpy
def outer(F, a, b):
    """Return the products of all elements of a with all of b."""
    return F.tensordot(F.ravel(a), F.ravel(b), 0)


@numpy
def vdot(F, a, b):
    """Return the sum of the products of all elements."""
    return F.tensordot(F.ravel(a), F.ravel(b), 1)


@numpy
def einsum(F, *operands, **kwargs):
    """Return the sum of products that subscripts describe: ``einsum('ij,jk->ik', a, b)``."""
    subscripts, *arrays = operands
    optimize = int(bool(kwargs.pop("optimize", False)))
    return F._npi_einsum(
        *arrays, subscripts=subscripts.replace(" ", ""), optimize=optimize, **kwargs
    )


@numpy
def shape(F, a):
    """Return the shape, a tuple of ints."""
    return a.shape


@numpy
def may_share_memory(F, a, b, max_work=None):
    """Return True if two arrays are in the same memory."""
    return F.shares_memory(a, b, max_work)


@numpy
def shares_memory(F, a, b, max_work=None):
    """Return True if the memory of two arrays overlaps."""
    (begin, end), (other_begin, other_end) = _extent(a._tensor), _extent(b._tensor)
    return begin < other_end and other_begin < end


def _extent(tensor) -> tuple[int, int]:
    """Return the addresses of the first byte of a tensor and of that behind the last."""
    if not tensor.numel():
        return 0, 0
    last = sum((n - 1) * step for n, step in zip(tensor.shape, tensor.stride()))
    return tensor.data_ptr(), tensor.data_ptr() + (last + 1) * tensor.itemsize
