"""What tests of MXNet programs use: comparisons, numeric gradients, random data, local files."""

from __future__ import annotations

import bz2
import functools
import json
import math
import numbers
import os
import platform
import time
import zipfile
import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import torch

from . import autograd, io, symbol
from . import initializer as init
from . import ndarray as nd
from ._files.opening import write_files
from ._old import missing
from ._sparse.random import (
    create_sparse_array,
    create_sparse_array_zd,
    rand_sparse_ndarray,
)
from .base import ArgumentError, MXNetError, quoted
from .context import Context, current_context, num_gpus
from .gluon import utils
from .io._files import read_idx
from .ndarray import NDArray
from .symbol import Symbol

__all__ = [
    "DummyIter",
    "almost_equal",
    "assert_allclose",
    "assert_almost_equal",
    "assert_almost_equal_ignore_nan",
    "assert_almost_equal_with_err",
    "assert_exception",
    "assign_each",
    "assign_each2",
    "checkShapes",
    "check_consistency",
    "check_gluon_hybridize_consistency",
    "check_numeric_gradient",
    "check_speed",
    "check_symbolic_backward",
    "check_symbolic_forward",
    "chi_square_check",
    "collapse_sum_like",
    "compare_ndarray_tuple",
    "compare_optimizer",
    "create_2d_tensor",
    "create_sparse_array",
    "create_sparse_array_zd",
    "create_vector",
    "default_atols",
    "default_context",
    "default_dtype",
    "default_numeric_eps",
    "default_rtols",
    "discard_stderr",
    "download",
    "download_model",
    "effective_dtype",
    "environment",
    "gen_buckets_probs_with_ppf",
    "get_atol",
    "get_bz2_data",
    "get_cifar10",
    "get_etol",
    "get_identity_mat",
    "get_identity_mat_batch",
    "get_im2rec_path",
    "get_mnist",
    "get_mnist_iterator",
    "get_mnist_pkl",
    "get_mnist_ubyte",
    "get_rtol",
    "get_tolerance",
    "get_tols",
    "get_zip_data",
    "has_tvm_ops",
    "is_aarch64_run",
    "is_cd_run",
    "is_op_runnable",
    "list_gpus",
    "locationError",
    "mean_check",
    "new_matrix_with_real_eigvals_2d",
    "new_matrix_with_real_eigvals_nd",
    "new_orthonormal_matrix_2d",
    "new_sym_matrix_with_real_eigvals_2d",
    "new_sym_matrix_with_real_eigvals_nd",
    "np_reduce",
    "numeric_grad",
    "rand_coord_2d",
    "rand_ndarray",
    "rand_shape_2d",
    "rand_shape_3d",
    "rand_shape_nd",
    "rand_sparse_ndarray",
    "random_arrays",
    "random_sample",
    "random_uniform_arrays",
    "retry",
    "same",
    "same_array",
    "same_symbol_structure",
    "set_default_context",
    "shuffle_csr_column_indices",
    "simple_forward",
    "var_check",
    "verify_generator",
]

# By dtype, as MXNet has them: relative and absolute tolerance, and the step of a difference, a
# power of two so that adding it loses no bits. Integers and booleans have to be equal.
_TOLERANCES = {"float16": (1e-2, 1e-1), "float32": (1e-4, 1e-3), "float64": (1e-5, 1e-20)}
_EXACT = "bool", "int8", "uint8", "int32", "uint32", "int64", "uint64"
_FLOAT64 = np.dtype(np.float64)
_STEPS = {"float16": 2.0**-6, "float32": 2.0**-9, "float64": 2.0**-14}


def default_context() -> Context:
    """The context of arrays that name none."""
    return current_context()


def set_default_context(ctx: Context) -> None:
    """Make a context that of arrays that name none, in this thread, until a ``with`` ends."""
    Context.default_ctx = Context(ctx)


def default_dtype():
    """The dtype of random data: float32."""
    return np.float32


def default_rtols() -> dict:
    """The relative tolerance for each dtype."""
    return _by_dtype({n: t[0] for n, t in _TOLERANCES.items()} | dict.fromkeys(_EXACT, 0))


def default_atols() -> dict:
    """The absolute tolerance for each dtype."""
    return _by_dtype({n: t[1] for n, t in _TOLERANCES.items()} | dict.fromkeys(_EXACT, 0))


def default_numeric_eps() -> dict:
    """The step of a difference for each dtype."""
    return _by_dtype(_STEPS)


def _by_dtype(values: dict) -> dict:
    return {np.dtype(name): value for name, value in values.items()}


def effective_dtype(dat):
    """The dtype whose tolerance an array needs.

    It is float16 for float32 on a GPU that may multiply with TF32, which keeps as few digits.
    """
    dtype, ctx = np.dtype(dat.dtype), getattr(dat, "ctx", None)
    if dtype == np.float32 and ctx is not None and ctx.device_type == "gpu":
        capable = torch.cuda.get_device_capability(ctx.device_id) >= (8, 0)
        if capable and os.environ.get("NVIDIA_TF32_OVERRIDE") != "0":
            return np.dtype(np.float16)
    return dtype


def get_tolerance(dat, tol, default_tol: dict) -> float:
    """The tolerance for an array: `tol`, or what it has for the array's dtype, or the default.

    Parameters
    ----------
    dat : NDArray or numpy.ndarray
    tol : float, or dict of dtype to float, or None
    default_tol : dict of dtype to float
    """
    if isinstance(tol, numbers.Number):
        return tol
    dtype = effective_dtype(dat)
    return (tol or {}).get(dtype, default_tol.get(dtype, 0))


def get_tols(x, y, rtol, atol) -> tuple[float, float]:
    """The relative and absolute tolerance for two arrays: the greater of those for each."""
    x, y = (v if hasattr(v, "dtype") else np.asarray(v) for v in (x, y))
    rtols, atols = default_rtols(), default_atols()
    return (
        max(get_tolerance(x, rtol, rtols), get_tolerance(y, rtol, rtols)),
        max(get_tolerance(x, atol, atols), get_tolerance(y, atol, atols)),
    )


def get_atol(atol=None, dtype=_FLOAT64) -> float:
    """`atol`, by default that of the dtype."""
    return default_atols()[dtype] if atol is None else atol


def get_rtol(rtol=None, dtype=_FLOAT64) -> float:
    """`rtol`, by default that of the dtype."""
    return default_rtols()[dtype] if rtol is None else rtol


def get_etol(etol=None) -> float:
    """The share of elements that may differ, by default 0."""
    return 0 if etol is None else etol


# Random data


def random_arrays(*shapes):
    """An array of standard normal numbers, float32; for several shapes a list of arrays."""
    arrays = [np.array(np.random.randn(*shape), default_dtype()) for shape in shapes]
    return arrays[0] if len(arrays) == 1 else arrays


def random_uniform_arrays(*shapes, low=0.0, high=1.0, dtype=np.float32) -> list:
    """For each shape an array of uniform numbers from `low` to `high`."""
    return [np.random.uniform(low, high, shape).astype(dtype) for shape in shapes]


def random_sample(population, k: int) -> list:
    """`k` elements of a list, each at most once."""
    shuffled = list(population)
    np.random.shuffle(shuffled)
    return shuffled[:k]


def rand_shape_2d(dim0=10, dim1=10, allow_zero_size=False) -> tuple[int, int]:
    """A random shape; each size is from 1, or from 0 with `allow_zero_size`, to the given one."""
    return _rand_shape((dim0, dim1), allow_zero_size)


def rand_shape_3d(dim0=10, dim1=10, dim2=10, allow_zero_size=False) -> tuple[int, int, int]:
    """A random shape of three sizes, as `rand_shape_2d`."""
    return _rand_shape((dim0, dim1, dim2), allow_zero_size)


def rand_shape_nd(num_dim: int, dim=10, allow_zero_size=False) -> tuple[int, ...]:
    """A random shape of `num_dim` sizes up to `dim`, as `rand_shape_2d`."""
    return _rand_shape((dim,) * num_dim, allow_zero_size)


def _rand_shape(most: tuple[int, ...], allow_zero_size: bool) -> tuple[int, ...]:
    least = 0 if allow_zero_size else 1
    return tuple(int(np.random.randint(least, size + 1)) for size in most)


def rand_coord_2d(x_low: int, x_high: int, y_low: int, y_high: int) -> tuple[int, int]:
    """Two random integers, from each low to below its high."""
    return int(np.random.randint(x_low, x_high)), int(np.random.randint(y_low, y_high))


def rand_ndarray(
    shape,
    stype="default",
    density=None,
    dtype=None,
    modifier_func=None,
    shuffle_csr_indices=False,
    distribution=None,
    ctx=None,
) -> NDArray:
    """An NDArray of standard normal numbers, or a sparse one of uniform numbers.

    Parameters
    ----------
    shape : tuple of int
    stype : {'default', 'row_sparse', 'csr'}
    dtype : optional
        float32 by default.
    ctx : Context, optional
    density, modifier_func, shuffle_csr_indices, distribution
        Of sparse arrays; see `rand_sparse_ndarray`.

    Raises
    ------
    ArgumentError
        There is no such storage type.
    """
    if stype == "default":
        return nd.array(np.random.randn(*shape), ctx=ctx, dtype=dtype or default_dtype())
    return rand_sparse_ndarray(
        shape,
        stype,
        density,
        dtype,
        distribution,
        modifier_func=modifier_func,
        shuffle_csr_indices=shuffle_csr_indices,
        ctx=ctx,
    )[0]


def shuffle_csr_column_indices(csr) -> None:
    """Put the column indices of each row of a SciPy CSR matrix into random order, in place."""
    for start, end in zip(csr.indptr, csr.indptr[1:]):
        np.random.shuffle(csr.indices[start:end])


def assign_each(the_input: np.ndarray, function: Callable | None) -> np.ndarray:
    """An array of ``function(element)``; a copy without a function."""
    if function is None:
        return np.array(the_input)
    values = [function(value) for value in the_input.flat]
    return np.array(values, "float64").reshape(the_input.shape)


def assign_each2(input1: np.ndarray, input2: np.ndarray, function: Callable | None) -> np.ndarray:
    """An array of ``function(element, element)`` of two of one shape; a copy without a function."""
    if function is None:
        return np.array(input1)
    checkShapes(input1, input2)
    values = [function(x, y) for x, y in zip(input1.flat, input2.flat)]
    return np.array(values, "float64").reshape(input1.shape)


def create_2d_tensor(rows: int, columns: int, dtype=np.int64) -> NDArray:
    """An NDArray (rows, columns) with each row's number in all its columns."""
    return nd.broadcast_to(create_vector(rows, dtype).reshape((rows, 1)), shape=(rows, columns))


def create_vector(size: int, dtype=np.int64) -> NDArray:
    """The numbers from 0 to below `size`."""
    return nd.arange(0, size, dtype=dtype)


def get_identity_mat(size: int) -> NDArray:
    """The identity, (size, size)."""
    return nd.eye(size)


def get_identity_mat_batch(size: int) -> NDArray:
    """Two identities, (2, size, size)."""
    return nd.stack(nd.eye(size), nd.eye(size))


def new_orthonormal_matrix_2d(n: int) -> np.ndarray:
    """A random orthonormal matrix (n, n)."""
    return np.linalg.qr(np.random.randn(n, n))[0]


def new_sym_matrix_with_real_eigvals_2d(n: int) -> np.ndarray:
    """A random symmetric matrix (n, n) with eigenvalues from -10 to 10."""
    q = new_orthonormal_matrix_2d(n)
    return q.T @ np.diag(np.random.uniform(-10.0, 10.0, n)) @ q


def new_sym_matrix_with_real_eigvals_nd(shape) -> np.ndarray:
    """Symmetric matrices as those of `new_sym_matrix_with_real_eigvals_2d`, in a shape."""
    return _matrices(new_sym_matrix_with_real_eigvals_2d, shape)


def new_matrix_with_real_eigvals_2d(n: int) -> np.ndarray:
    """A random matrix (n, n) with real eigenvalues from -10 to 10 and well-conditioned vectors."""
    q = new_orthonormal_matrix_2d(n) @ np.diag(np.random.uniform(1.0, 3.0, n))  # condition <= 3
    return np.linalg.inv(q) @ np.diag(np.random.uniform(-10.0, 10.0, n)) @ q


def new_matrix_with_real_eigvals_nd(shape) -> np.ndarray:
    """Matrices as those of `new_matrix_with_real_eigvals_2d`, in a shape."""
    return _matrices(new_matrix_with_real_eigvals_2d, shape)


def _matrices(make: Callable, shape) -> np.ndarray:
    return np.array([make(shape[-1]) for _ in range(math.prod(shape[:-2]))]).reshape(shape)


# NumPy's reductions, in the form of MXNet's


def np_reduce(dat: np.ndarray, axis, keepdims: bool, numpy_reduce_func: Callable) -> np.ndarray:
    """Reduce over an axis, several or all, as ``numpy_reduce_func(array, axis)`` does over one.

    Parameters
    ----------
    dat : numpy.ndarray
    axis : int, sequence of int, or None
    keepdims : bool
    numpy_reduce_func : function of (array, axis=int)
    """
    axes = range(dat.ndim) if axis is None else np.atleast_1d(axis)
    axes = sorted(int(a) % dat.ndim for a in axes)
    result = dat
    for a in reversed(axes):
        result = numpy_reduce_func(result, axis=a)
    if not keepdims:
        return result
    return result.reshape([1 if a in axes else size for a, size in enumerate(dat.shape)])


def collapse_sum_like(a: np.ndarray, shape) -> np.ndarray:
    """The sum of an array over the axes along which `shape` was broadcast to its shape."""
    if math.prod(shape) == 0 or a.size == 0:
        return np.zeros(shape, dtype=a.dtype)
    added = a.ndim - len(shape)
    stretched = [added + i for i, n in enumerate(shape) if n != a.shape[added + i]]
    return np.sum(a, axis=(*range(added), *stretched)).reshape(shape)


# Comparisons


def same(a, b) -> bool:
    """Whether two arrays are equal in shape and all elements."""
    return np.array_equal(_numpy(a), _numpy(b))


def _numpy(x) -> Any:
    """An NDArray as NumPy's; other things as they are, lists as arrays."""
    if isinstance(x, NDArray):
        return x.asnumpy()
    return x if isinstance(x, (np.ndarray, numbers.Number)) else np.asarray(x)


def _report(what: str, a, b) -> str:
    """The message of a failed comparison, with both arrays."""
    return f"\nItems are not equal:{what}\n ACTUAL: {a!r}\n DESIRED: {b!r}"


def checkShapes(a, b) -> None:
    """Raise where two shapes differ.

    Raises
    ------
    AssertionError
        They do.
    """
    if a.shape != b.shape:
        raise AssertionError(
            _report(f" a.shape = {a.shape} and b.shape = {b.shape} are not equal", a, b)
        )


def almost_equal(a, b, rtol=None, atol=None, equal_nan=False, use_broadcast=True) -> bool:
    """Whether |a - b| <= atol + rtol |b| everywhere.

    Parameters
    ----------
    a, b : NDArray, numpy.ndarray or number
    rtol, atol : float
        By default those of float64, 1e-5 and 1e-20, whatever the dtypes.
    equal_nan : bool
    use_broadcast : bool
        Whether shapes may differ that broadcast.

    Raises
    ------
    AssertionError
        Shapes differ, and may not.
    """
    rtol, atol = get_rtol(rtol), get_atol(atol)
    a, b = _numpy(a), _numpy(b)
    if not use_broadcast:
        checkShapes(a, b)
    return bool(np.allclose(a, b, rtol=rtol, atol=atol, equal_nan=equal_nan))


def locationError(a, b, index: tuple[int, ...], names, maxError=False) -> str:
    """Where two arrays differ, with the values there."""
    which = " maximum" if maxError else ""
    return (
        f"Location of{which} error: {index}, {names[0]}={a[index]:.8f}, {names[1]}={b[index]:.8f}"
    )


def assert_almost_equal(
    a,
    b,
    rtol=None,
    atol=None,
    names=("a", "b"),
    equal_nan=False,
    use_broadcast=True,
    mismatches=(10, 10),
) -> None:
    """Raise unless |a - b| <= atol + rtol |b| everywhere; print where it is exceeded most.

    Parameters
    ----------
    a, b : NDArray, numpy.ndarray or number
    rtol, atol : float, or dict of dtype to float, optional
        By default those of the dtypes.
    names : tuple of two str
        What the message calls a and b.
    equal_nan : bool
    use_broadcast : bool
        Whether shapes may differ that broadcast.
    mismatches : tuple of two int
        How many elements to print, and how many to count; a second 0 counts them all.

    Raises
    ------
    AssertionError
        The difference is greater somewhere, or shapes differ that may not.
    """
    rtol, atol = get_tols(a, b, rtol, atol)
    a, b = _numpy(a), _numpy(b)
    if not use_broadcast:
        checkShapes(a, b)
    if np.array_equal(a, b):  # a single pass over memory, where isclose makes ten
        return
    wrong = ~np.isclose(a, b, rtol=rtol, atol=atol, equal_nan=equal_nan)
    if np.any(wrong):
        raise AssertionError(_exceeded(a, b, rtol, atol, names, wrong, mismatches))


def assert_allclose(a, b, rtol=1e-07, atol=0, equal_nan=True) -> None:
    """As `assert_almost_equal`, with NumPy's tolerances.

    Raises
    ------
    AssertionError
        The difference is greater somewhere.
    """
    assert_almost_equal(a, b, rtol=rtol, atol=atol, equal_nan=equal_nan)


def _exceeded(a, b, rtol, atol, names, wrong: np.ndarray, mismatches) -> str:
    """The message of arrays that differ; the worst elements are printed."""
    tolerance = f"tolerance rtol={rtol:e}, atol={atol:e}"
    errors = _errors(a, b, rtol, atol, wrong)
    if errors.ndim == 0:
        return _report(f"\nError {float(errors):f} exceeds {tolerance}.\n", a, b)
    broadcast_a, broadcast_b = (np.broadcast_to(v, errors.shape) for v in (a, b))
    count = np.count_nonzero(wrong)
    order = np.argsort(-np.nan_to_num(errors, nan=np.inf).ravel(), kind="stable")
    worst = [tuple(map(int, np.unravel_index(i, errors.shape))) for i in order[: mismatches[0]]]
    print(f"\n*** Maximum errors for vector of size {errors.size}:  rtol={rtol}, atol={atol}\n")
    for number, index in enumerate(worst[:count], 1):
        place = locationError(broadcast_a, broadcast_b, index, names)
        print(f"{number:3d}: Error {float(errors[index]):f}  {place}")
    counted, least = count, ""
    if mismatches[1] and count > mismatches[1]:
        counted, least = mismatches[1] + 1, "at least "
    first = tuple(map(int, np.unravel_index(order[0], errors.shape)))
    return _report(
        f"\nError {float(errors[first]):f} exceeds {tolerance} "
        f"(mismatch {least}{100 * counted / errors.size:f}%).\n"
        + locationError(broadcast_a, broadcast_b, first, names, maxError=True),
        a,
        b,
    )


def _errors(a, b, rtol, atol, wrong) -> np.ndarray:
    """|a - b| / (atol + rtol |b|), which is above 1 where too much; 0 where infinities agree."""
    if np.result_type(a, b).kind == "b":
        a, b = np.asarray(a, "float64"), np.asarray(b, "float64")
    with np.errstate(invalid="ignore", over="ignore"):
        errors = np.abs(a - b) / (atol + rtol * np.abs(b) + 1e-20)
    return np.where(wrong, errors, 0)


def assert_almost_equal_with_err(
    a, b, rtol=None, atol=None, etol=None, names=("a", "b"), equal_nan=False, mismatches=(10, 10)
) -> None:
    """As `assert_almost_equal`, but a share `etol` of the elements may differ.

    Raises
    ------
    AssertionError
        More elements differ.
    """
    if get_etol(etol) > 0:
        rtol, atol = get_tols(a, b, rtol, atol)
        a, b = _numpy(a), _numpy(b)
        wrong = ~np.isclose(a, b, rtol=rtol, atol=atol, equal_nan=equal_nan)
        if np.mean(wrong) > etol:
            raise AssertionError(_exceeded(a, b, rtol, atol, names, wrong, mismatches))
    else:
        assert_almost_equal(a, b, rtol, atol, names, equal_nan, mismatches=mismatches)


def assert_almost_equal_ignore_nan(a, b, rtol=None, atol=None, names=("a", "b")) -> None:
    """As `assert_almost_equal`, leaving out elements that are NaN in either array.

    Raises
    ------
    AssertionError
        Others differ.
    """
    a, b = np.array(_numpy(a)), np.array(_numpy(b))
    ignored = np.isnan(a) | np.isnan(b)
    a[ignored] = b[ignored] = 0
    assert_almost_equal(a, b, rtol, atol, names)


def assert_exception(f: Callable, exception_type, *args, **kwargs) -> None:
    """Raise unless ``f(*args, **kwargs)`` raises this type of exception.

    Raises
    ------
    AssertionError
        It raises nothing; another exception passes through.
    """
    try:
        f(*args, **kwargs)
    except exception_type:
        return
    raise AssertionError(f"{getattr(f, '__name__', f)} did not raise {exception_type}")


def retry(n: int) -> Callable:
    """A decorator of tests that may fail: up to `n` times, an AssertionError is tried again.

    Raises
    ------
    AssertionError
        `n` is below 1; or the last attempt failed.
    """
    if n < 1:
        raise AssertionError(f"retry: n is {n}\n  expected 1 or more")

    def decorate(test: Callable) -> Callable:
        @functools.wraps(test)
        def attempts(*args, **kwargs):
            for _ in range(n - 1):
                try:
                    return test(*args, **kwargs)
                except AssertionError:
                    nd.waitall()
            return test(*args, **kwargs)

        return attempts

    return decorate


def same_array(array1: NDArray, array2: NDArray) -> bool:
    """Whether two NDArrays are one memory: what is written into the one is seen in the other."""
    if array1.shape != array2.shape:
        return False
    array1[:] = array1 + 1
    if not same(array1, array2):
        array1[:] = array1 - 1
        return False
    array1[:] = array1 - 1
    return same(array1, array2)


def compare_ndarray_tuple(t1, t2, rtol=None, atol=None) -> None:
    """Compare NDArrays, and tuples of them, with `assert_almost_equal`; None is equal to all.

    Raises
    ------
    AssertionError
        Two arrays differ.
    """
    pairs = [(t1, t2)]
    while pairs:
        one, other = pairs.pop()
        if isinstance(one, tuple) and other is not None:
            pairs += reversed(list(zip(one, other)))
        elif one is not None and other is not None:
            assert_almost_equal(one, other, rtol=rtol, atol=atol)


def compare_optimizer(
    opt1,
    opt2,
    shape,
    dtype,
    w_stype="default",
    g_stype="default",
    rtol=1e-4,
    atol=1e-5,
    compare_states=True,
    ntensors=1,
) -> None:
    """Update random weights by two optimizers, and compare weights and states.

    Parameters
    ----------
    opt1, opt2 : Optimizer
    shape : tuple of int, or list of `ntensors` of them
        With a list the second optimizer updates all weights by one call.
    dtype : dtype
    w_stype, g_stype : {'default', 'row_sparse', 'csr'}
        The storage types of weights and gradients, for the second optimizer.
    rtol, atol : float
    compare_states : bool

    Raises
    ------
    AssertionError
        They differ.
    """
    shapes = shape if isinstance(shape, list) else [shape]

    def drawn(stype: str, density: float | None) -> list[NDArray]:
        if stype != "default":
            return [rand_ndarray(s, stype, density, dtype) for s in shapes]
        return [nd.random.uniform(shape=s, ctx=default_context(), dtype=dtype) for s in shapes]

    w2, g2 = drawn(w_stype, 1), drawn(g_stype, None)
    w1, g1 = [w.tostype("default") for w in w2], [g.tostype("default") for g in g2]
    numbers_ = range(len(shapes))
    state1 = [opt1.create_state_multi_precision(i, w1[i]) for i in numbers_]
    state2 = [opt2.create_state_multi_precision(i, w2[i]) for i in numbers_]
    if compare_states:
        compare_ndarray_tuple(tuple(state1), tuple(state2))
    for i in numbers_:
        opt1.update_multi_precision(i, w1[i], g1[i], state1[i])
    if isinstance(shape, list):
        opt2.update_multi_precision(list(numbers_), tuple(w2), tuple(g2), state2)
    else:
        opt2.update_multi_precision(0, w2[0], g2[0], state2[0])
    if compare_states:
        compare_ndarray_tuple(tuple(state1), tuple(state2), rtol, atol)
    compare_ndarray_tuple(tuple(w1), tuple(w2), rtol, atol)


def same_symbol_structure(sym1: Symbol, sym2: Symbol) -> bool:
    """Whether two graphs have the same operators in the same order."""
    operators = [[node["op"] for node in json.loads(s.tojson())["nodes"]] for s in (sym1, sym2)]
    return operators[0] == operators[1]


# Symbols against expected values, and gradients against differences


def simple_forward(sym: Symbol, ctx=None, is_train=False, **inputs):
    """The outputs of a Symbol, as NumPy arrays; one alone where there is one.

    Parameters
    ----------
    sym : Symbol
    ctx : Context, optional
    is_train : bool
    **inputs : numpy.ndarray
        All arguments by name.
    """
    ctx = ctx or default_context()
    args = {name: nd.array(value, ctx=ctx) for name, value in inputs.items()}
    outputs = sym.bind(ctx, args=args).forward(is_train=is_train)
    found = [y.asnumpy() for y in outputs]
    return found[0] if len(found) == 1 else found


def _located(sym: Symbol, what: str, names: list[str], values, ctx, dtype) -> dict[str, NDArray]:
    """Arguments or states by name, in new arrays."""
    if isinstance(values, dict):
        if set(values) != set(names):
            raise ArgumentError(
                f"Symbol {what} and keys of the given location do not match.\n"
                f"  symbol {what}: {sorted(names)}, given: {sorted(values)}"
            )
        values = {name: values[name] for name in names}
    else:
        values = dict(zip(names, values))
    return {name: _ndarray(value, ctx, dtype) for name, value in values.items()}


def _parse_location(sym: Symbol, location, ctx, dtype=np.float32) -> dict[str, NDArray]:
    return _located(sym, "arguments", sym.list_arguments(), location, ctx, dtype)


def _ndarray(value, ctx, dtype) -> NDArray:
    if isinstance(value, NDArray):
        return value.copyto(ctx)
    if isinstance(dtype, str) and dtype == "asnumpy":
        dtype = np.asarray(value).dtype
    return nd.array(value, ctx=ctx, dtype=dtype)


def _check_dtype(dtype) -> None:
    if not (isinstance(dtype, str) and dtype == "asnumpy") and np.dtype(dtype).name not in _STEPS:
        raise AssertionError(
            f"dtype is {dtype!r}\n  expected float16, float32, float64 or 'asnumpy'"
        )


def _parse_aux_states(sym: Symbol, aux_states, ctx, dtype) -> dict[str, NDArray]:
    names = sym.list_auxiliary_states()
    if aux_states is None:
        return {}
    return _located(sym, "states", names, aux_states, ctx, dtype)


def check_symbolic_forward(
    sym: Symbol,
    location,
    expected,
    rtol=None,
    atol=None,
    aux_states=None,
    ctx=None,
    equal_nan=False,
    dtype=np.float32,
) -> list[NDArray]:
    """Hold the outputs of a Symbol to expected values.

    Parameters
    ----------
    sym : Symbol
    location : list or dict of array
        The arguments, in order or by name.
    expected : list or dict of array
        The outputs, in order or by name.
    rtol, atol, equal_nan
        As for `assert_almost_equal`.
    aux_states : list or dict of array, optional
    ctx : Context, optional
    dtype : {float16, float32, float64, 'asnumpy'}
        Of the arguments; with 'asnumpy' as they are.

    Returns
    -------
    list of NDArray
        The outputs.

    Raises
    ------
    AssertionError
        An output differs; or dtype is another.
    """
    _check_dtype(dtype)
    ctx = ctx or default_context()
    args = _parse_location(sym, location, ctx, dtype)
    executor = sym.bind(ctx, args=args, aux_states=_parse_aux_states(sym, aux_states, ctx, dtype))
    executor.forward(is_train=False)
    names = sym.list_outputs()
    wanted = [expected[name] for name in names] if isinstance(expected, dict) else expected
    for name, value, output in zip(names, wanted, executor.outputs):
        labels = f"EXPECTED_{name}", f"FORWARD_{name}"
        assert_almost_equal(value, output, rtol, atol, labels, equal_nan=equal_nan)
    return executor.outputs


def check_symbolic_backward(
    sym: Symbol,
    location,
    out_grads,
    expected,
    rtol=None,
    atol=None,
    aux_states=None,
    grad_req="write",
    ctx=None,
    grad_stypes=None,
    equal_nan=False,
    dtype=np.float32,
) -> dict[str, NDArray]:
    """Hold the gradients of a Symbol to expected values.

    Parameters
    ----------
    sym : Symbol
    location : list or dict of array
        The arguments, in order or by name.
    out_grads : list or dict of array, or None
        The gradients of the outputs; None for losses.
    expected : list or dict of array
        The gradients of arguments, in order or by name.
    grad_req : str, list or dict of str
        With 'add', gradients begin with random numbers; with 'null', they must be left alone.
    rtol, atol, aux_states, ctx, equal_nan, dtype
        As for `check_symbolic_forward`.

    Returns
    -------
    dict of str to NDArray
        The gradients.

    Raises
    ------
    AssertionError
        A gradient differs; or dtype is another.
    """
    _check_dtype(dtype)
    ctx, names = ctx or default_context(), sym.list_arguments()
    args = _parse_location(sym, location, ctx, dtype)
    states = _parse_aux_states(sym, aux_states, ctx, dtype)
    expected = dict(expected if isinstance(expected, dict) else zip(names, expected))
    before = {name: np.random.normal(size=np.shape(value)) for name, value in expected.items()}
    grads = {name: nd.array(before[name], ctx=ctx, dtype=args[name].dtype) for name in expected}
    grads = _stored(grads, names, grad_stypes)
    requests = _requests(grad_req, names, expected)
    executor = sym.bind(ctx, args=args, args_grad=grads, grad_req=requests, aux_states=states)
    executor.forward(is_train=True)
    executor.backward(_head_grads(executor, sym, out_grads, ctx))
    for name, value in expected.items():
        found, begun = executor.grad_dict[name].asnumpy(), before[name].astype(args[name].dtype)
        if requests[name] == "add":
            found = found - begun
        elif requests[name] == "null":
            value = begun
        labels = f"EXPECTED_{name}", f"BACKWARD_{name}"
        assert_almost_equal(_numpy(value), found, rtol, atol, labels, equal_nan=equal_nan)
    return grads


def _stored(arrays: dict[str, NDArray], names: list[str], stypes) -> dict[str, NDArray]:
    """The arrays in storage types that are given by name or in order."""
    stypes = stypes if isinstance(stypes, dict) else dict(zip(names, stypes or ()))
    return {n: a.tostype(stypes.get(n) or "default") for n, a in arrays.items()}


def _requests(grad_req, names: list[str], asked) -> dict[str, str]:
    if isinstance(grad_req, str):
        return {name: grad_req if name in asked else "null" for name in names}
    by_name = dict(grad_req if isinstance(grad_req, dict) else zip(names, grad_req))
    return {name: by_name.get(name, "null") if name in asked else "null" for name in names}


def _head_grads(executor, sym: Symbol, out_grads, ctx) -> list[NDArray] | None:
    """The gradients of the outputs, in their dtypes."""
    if out_grads is None:
        return None
    if isinstance(out_grads, (NDArray, np.ndarray)):
        out_grads = [out_grads]
    if isinstance(out_grads, dict):
        out_grads = [out_grads[name] for name in sym.list_outputs()]
    return [nd.array(_numpy(g), ctx, y.dtype) for g, y in zip(out_grads, executor.outputs)]


def numeric_grad(
    executor, location: dict, aux_states=None, eps=1e-4, use_forward_train=True, dtype=np.float32
) -> dict[str, np.ndarray]:
    """The gradients of the sum of an executor's first output, by differences.

    f'(x) ≈ (f(x + eps / 2) - f(x - eps / 2)) / eps for each element of each array of floats.

    Parameters
    ----------
    executor : Executor
    location : dict of str to array
        The arguments.
    aux_states : dict of str to array, optional
        States, set anew before each forward.
    eps : float
    use_forward_train : bool
        Whether to run forward as in training.
    dtype : {float16, float32, float64}
        Of the arguments and gradients.

    Raises
    ------
    AssertionError
        dtype is another.
    """
    _check_dtype(dtype)
    states = {name: _numpy(value) for name, value in (aux_states or {}).items()}
    values = {name: np.array(_numpy(value)) for name, value in location.items()}
    for name, value in values.items():
        executor.arg_dict[name][:] = value

    def summed(name: str) -> float:
        executor.arg_dict[name][:] = values[name]
        for state, value in states.items():
            executor.aux_dict[state][:] = value
        executor.forward(is_train=use_forward_train)
        return executor.outputs[0].asnumpy().astype("float64").sum()

    gradients = {}
    for name, value in values.items():
        if value.dtype.kind != "f":
            continue
        values[name] = value = value.astype(dtype)
        gradient = gradients[name] = np.zeros(value.shape, dtype)
        for index in np.ndindex(value.shape):
            begun = value[index]
            value[index] = begun + eps / 2
            above = summed(name)
            value[index] = begun - eps / 2
            gradient[index] = (above - summed(name)) / eps
            value[index] = begun
        executor.arg_dict[name][:] = value
    return gradients


def check_numeric_gradient(
    sym: Symbol,
    location,
    aux_states=None,
    numeric_eps=None,
    rtol=None,
    atol=None,
    grad_nodes=None,
    use_forward_train=True,
    ctx=None,
    grad_stype_dict=None,
    dtype=np.float32,
) -> None:
    """Hold the gradients of a Symbol to differences, of a random projection of its outputs.

    Parameters
    ----------
    sym : Symbol
    location : list or dict of array
        The arguments, in order or by name.
    aux_states : list or dict of array, optional
    numeric_eps : float, optional
        The step of a difference, by default that of dtype.
    rtol, atol : float, optional
    grad_nodes : list of str, or dict of str to {'write', 'add', 'null'}, optional
        Whose gradients to check; by default of all arguments.
    use_forward_train : bool
        Whether differences are taken as in training.
    ctx : Context, optional
    dtype : {float16, float32, float64}

    Raises
    ------
    AssertionError
        A gradient differs; or dtype is another.
    ArgumentError
        `grad_nodes` is something else.
    """
    _check_dtype(dtype)
    ctx = ctx or default_context()
    args = _parse_location(sym, location, ctx, dtype)
    states = _parse_aux_states(sym, aux_states, ctx, dtype)
    requests = _checked_nodes(grad_nodes, args)
    begun = {name: value.asnumpy() for name, value in states.items()}
    loss, projections = _projected(sym, args, ctx, dtype)
    grads = {n: nd.array(np.random.normal(size=args[n].shape), ctx, dtype) for n in requests}
    before = {name: grad.asnumpy() for name, grad in grads.items()}
    grads = _stored(grads, sym.list_arguments(), grad_stype_dict)
    everything = args | projections
    asked = {name: requests.get(name, "null") for name in everything}
    executor = loss.bind(ctx, everything, args_grad=grads, grad_req=asked, aux_states=states)
    executor.forward(is_train=True)
    executor.backward()
    found = {name: grad.asnumpy() for name, grad in grads.items()}
    step = default_numeric_eps()[np.dtype(dtype)] if numeric_eps is None else numeric_eps
    numeric = numeric_grad(
        executor, {n: a.asnumpy() for n, a in args.items()}, begun, step, use_forward_train, dtype
    )
    for name, request in requests.items():
        labels = f"NUMERICAL_{name}", f"BACKWARD_{name}"
        if request == "null":
            assert_almost_equal(before[name], found[name], rtol, atol, labels)
        else:
            result = found[name] - before[name] if request == "add" else found[name]
            assert_almost_equal(numeric[name], result, rtol, atol, labels)


def _checked_nodes(grad_nodes, args: dict) -> dict[str, str]:
    """The gradient request of each argument whose gradient is to be checked."""
    if grad_nodes is None:
        return dict.fromkeys(args, "write")
    if isinstance(grad_nodes, dict):
        return dict(grad_nodes)
    if isinstance(grad_nodes, (list, tuple)):
        return dict.fromkeys(grad_nodes, "write")
    raise ArgumentError(f"check_numeric_gradient: grad_nodes is {grad_nodes!r}\n  expected names")


def _projected(sym: Symbol, args: dict, ctx, dtype) -> tuple[Symbol, dict[str, NDArray]]:
    """The sum of the outputs times random numbers, as a loss; and these numbers by name.

    Each number is at least 0.1, so that each output counts.
    """
    shapes = sym.infer_shape(**{name: value.shape for name, value in args.items()})[1]
    terms, projections = [], {}
    for index, shape in enumerate(shapes):
        name = f"__random_proj{index}" if index else "__random_proj"
        projections[name] = nd.array(np.random.rand(*shape) + 0.1, ctx, dtype)
        # Summed in float64: differences of sums in float32 are off by more than the tolerance.
        product = symbol.Cast(sym[index] * symbol.Variable(name), dtype="float64")
        terms.append(symbol.sum(product))
    return symbol.make_loss(terms[0] if len(terms) == 1 else symbol.add_n(*terms)), projections


def check_consistency(
    sym,
    ctx_list: list[dict],
    scale=1.0,
    grad_req="write",
    arg_params=None,
    aux_params=None,
    rtol=None,
    atol=None,
    raise_on_err=True,
    ground_truth=None,
    equal_nan=False,
    use_uniform=False,
    rand_type=np.float64,
) -> dict[str, NDArray]:
    """Hold a Symbol on several contexts and dtypes to its most precise run.

    Parameters
    ----------
    sym : Symbol or list of Symbol
        One for all, or one for each of `ctx_list`, with the same arguments and outputs.
    ctx_list : list of dict
        The arguments of `Symbol.simple_bind`: ``{'ctx': mx.cpu(), 'data': (2, 3),
        'type_dict': {'data': np.float32}}``.
    scale : float
        The standard deviation of random arguments, or with `use_uniform` their greatest value.
    grad_req : str, list or dict of str
        Without 'null', gradients are compared too, with the outputs as their head gradients.
    arg_params, aux_params : dict of str to array, optional
        Values of arguments that are not random, of states that are not 0.
    rtol, atol, equal_nan
        As for `assert_almost_equal`.
    raise_on_err : bool
        Else differences are printed only.
    ground_truth : dict of str to array, optional
        Outputs and gradients to hold the other runs to.
    rand_type : dtype
        Of which random arguments are drawn.

    Returns
    -------
    dict of str to NDArray
        The outputs of the most precise run, and its gradients.

    Raises
    ------
    AssertionError
        A run differs.
    ArgumentError
        There are fewer than two runs, or Symbols do not fit them.
    """
    symbols = sym if isinstance(sym, list) else [sym] * len(ctx_list)
    if len(ctx_list) < 2 or len(symbols) != len(ctx_list):
        raise ArgumentError(
            f"check_consistency: {len(symbols)} Symbols for {len(ctx_list)} contexts\n"
            "  expected two contexts or more, and one Symbol or as many"
        )
    names = {(*s.list_arguments(), "->", *s.list_outputs()) for s in symbols}
    if len(names) > 1:
        raise AssertionError(
            "check_consistency: the Symbols have the arguments and outputs "
            f"{' and '.join(sorted(map(' '.join, names)))}\n  expected the same names"
        )
    runs = [s.simple_bind(grad_req=grad_req, **where) for s, where in zip(symbols, ctx_list)]
    _fill(runs, arg_params, aux_params, scale, use_uniform, rand_type)
    for run in runs:
        run.forward(is_train=False)
    precise = int(np.argmax([np.dtype(run.outputs[0].dtype).itemsize for run in runs]))
    truth = ground_truth or {n: y.copy() for n, y in runs[precise].output_dict.items()}

    tolerances = {"rtol": rtol, "atol": atol, "equal_nan": equal_nan}
    compare = functools.partial(_compare_runs, precise, raise_on_err, tolerances)
    compare("Predict", [run.output_dict for run in runs], truth)
    if grad_req == "null":
        return truth
    heads = [y.asnumpy() for y in runs[precise].outputs]
    for run in runs:
        run.forward(is_train=True)
        run.backward([nd.array(h, y.context, y.dtype) for h, y in zip(heads, run.outputs)])
    if ground_truth is None:
        best = runs[precise]
        found = best.output_dict | {n: g for n, g in best.grad_dict.items() if g is not None}
        truth = {name: value.copy() for name, value in found.items()}
    compare("Train", [run.output_dict | run.grad_dict for run in runs], truth)
    return truth


def _compare_runs(
    precise: int, raise_on_err: bool, tolerances: dict, phase: str, results: list[dict], truth: dict
) -> None:
    """Hold the arrays of all runs but the most precise one to the truth."""
    for i, result in enumerate(results):
        if i == precise:
            continue
        for name, value in result.items():
            if value is None or name not in truth:
                continue
            try:
                assert_almost_equal(value, truth[name], **tolerances)
            except AssertionError as error:
                print(f"{phase} Err: ctx {i} vs ctx {precise} at {name}")
                if raise_on_err:
                    raise
                print(error)


def _fill(runs: list, arg_params, aux_params, scale, use_uniform: bool, rand_type) -> None:
    """Give all runs the same arguments and states, and gradients of 0."""
    arg_params, aux_params = dict(arg_params or {}), dict(aux_params or {})
    for name, array in runs[0].arg_dict.items():
        if name not in arg_params:
            if use_uniform:
                drawn = np.random.uniform(-0.92 * scale, 0.92 * scale, array.shape)
            else:
                drawn = np.random.normal(size=array.shape, scale=scale)
            arg_params[name] = drawn.astype(rand_type)
    for run in runs:
        for name, array in run.arg_dict.items():
            array[:] = _numpy(arg_params[name])
        for name, array in run.aux_dict.items():
            array[:] = _numpy(aux_params.get(name, 0))
        for array in run.grad_dict.values():
            if array is not None:
                array[:] = 0


def check_speed(
    sym: Symbol, location=None, ctx=None, N=20, grad_req=None, typ="whole", **kwargs
) -> float:
    """The mean time of a Symbol's forward, or forward and backward, in seconds.

    Parameters
    ----------
    sym : Symbol
    location : dict of str to array, optional
        The arguments; without, they are normal random numbers.
    ctx : Context, optional
    N : int
        How many runs to take the mean of.
    grad_req : str, optional
        'write' by default.
    typ : {'whole', 'forward'}
    **kwargs : tuple of int
        Shapes of arguments, without `location`.

    Raises
    ------
    ArgumentError
        `typ` is neither.
    """
    if typ not in ("whole", "forward"):
        raise ArgumentError(f"check_speed: typ is {typ!r}\n  expected 'whole' or 'forward'")
    ctx = ctx or default_context()
    shapes = kwargs if location is None else {n: np.shape(v) for n, v in location.items()}
    executor = sym.simple_bind(ctx, grad_req=grad_req or "write", **shapes)
    for name, array in executor.arg_dict.items():
        value = np.random.normal(size=array.shape) if location is None else location[name]
        array[:] = _numpy(value)

    def run() -> None:
        executor.forward(is_train=typ == "whole")
        if typ == "whole":
            executor.backward(executor.outputs)

    run()
    nd.waitall()
    begin = time.time()
    for _ in range(N):
        run()
    nd.waitall()
    return (time.time() - begin) / N


def check_gluon_hybridize_consistency(
    net_builder: Callable, data_l: Sequence, numpy_func=None, test_grad=True, rtol=1e-4, atol=1e-4
) -> None:
    """Compare the outputs and gradients of a block of ``mx.np`` before and after hybridize.

    Raises
    ------
    AssertionError
        They differ from each other, or the outputs from those of `numpy_func`.
    """
    found = []
    for is_hybridized in (False, True):
        inputs = [array.copy() for array in data_l]
        for array in inputs:
            array.attach_grad()
        net = net_builder()
        if is_hybridized:
            net.hybridize()
        net.initialize(init.One())
        with autograd.record():
            y = net(*inputs)
        if test_grad:
            y.backward()
        found.append([y.asnumpy(), *[a.grad.asnumpy() for a in inputs if test_grad]])
    for plain, hybridized in zip(*found):
        assert_almost_equal(plain, hybridized, rtol=rtol, atol=atol)
    if numpy_func is not None:
        expected = numpy_func(*[array.asnumpy() for array in data_l])
        assert_almost_equal(found[0][0], expected, rtol=rtol, atol=atol)


# Random generators


def gen_buckets_probs_with_ppf(ppf: Callable, nbuckets: int) -> tuple[list, list]:
    """Intervals of equal probability, from the inverse of a distribution function.

    Returns
    -------
    list of tuple, list of float
        The intervals, and the probability of each, 1 / nbuckets.
    """
    ends = [ppf(i / nbuckets) for i in range(nbuckets + 1)]
    return list(zip(ends, ends[1:])), [1 / nbuckets] * nbuckets


def mean_check(generator: Callable, mu: float, sigma: float, nsamples=1000000) -> bool:
    """Whether the mean of samples is within three standard errors, 3 sigma / √n, of `mu`."""
    samples = np.array(generator(nsamples))
    return bool(abs(samples.mean() - mu) < 3 * sigma / math.sqrt(nsamples))


def var_check(generator: Callable, sigma: float, nsamples=1000000) -> bool:
    """Whether the variance of samples is within three of its standard errors of sigma²."""
    samples = np.array(generator(nsamples))
    error = sigma**2 * math.sqrt(2 / (nsamples - 1))
    return bool(abs(samples.var(ddof=1) - sigma**2) < 3 * error)


def chi_square_check(generator: Callable, buckets: list, probs: list, nsamples=1000000):
    """The chi-square test of samples: does each bucket have its share?

    Parameters
    ----------
    generator : function of int
        Gives so many samples.
    buckets : list of tuple, or list of numbers
        Intervals of continuous samples, each without its end, or the values of discrete ones.
    probs : list of float
        The probability of each bucket.
    nsamples : int

    Returns
    -------
    float, numpy.ndarray, numpy.ndarray
        The p value, the numbers found in each bucket, and those expected.

    Raises
    ------
    AssertionError
        `buckets` is no list, or not as long as `probs`.
    """
    if not isinstance(buckets, list) or not buckets or len(buckets) != len(probs):
        raise AssertionError(
            f"chi_square_check: buckets is {buckets!r}\n  expected a list of {len(probs)}"
        )
    samples = np.array(generator(nsamples)).ravel()[:nsamples]
    if isinstance(buckets[0], (list, tuple)):
        found = np.array([((samples >= a) & (samples < b)).sum() for a, b in buckets])
    else:
        found = np.array([(samples == value).sum() for value in buckets])
    expected = (nsamples * np.array(probs)).astype(np.int32)
    statistic = ((found - expected) ** 2 / expected).sum()
    half = torch.tensor([(len(buckets) - 1) / 2, statistic / 2], dtype=torch.float64)
    return float(torch.special.gammaincc(*half)), found, expected


def verify_generator(
    generator: Callable,
    buckets: list,
    probs: list,
    nsamples=1000000,
    nrepeat=5,
    success_rate=0.2,
    alpha=0.05,
) -> list[float]:
    """Repeat `chi_square_check`, and raise unless enough of the p values are above `alpha`.

    Parameters
    ----------
    generator, buckets, probs, nsamples
        As for `chi_square_check`.
    nrepeat : int
    success_rate : float
        The share of repetitions that is enough.
    alpha : float

    Returns
    -------
    list of float
        The p values.

    Raises
    ------
    AssertionError
        Fewer are.
    """
    checks = [chi_square_check(generator, buckets, probs, nsamples) for _ in range(nrepeat)]
    found = [check[0] for check in checks]
    if sum(p > alpha for p in found) < nrepeat * success_rate:
        raise AssertionError(
            f"Generator test fails, Chi-square p={found}, obs_freq={[c[1] for c in checks]}, "
            f"expected_freq={[c[2] for c in checks]}.\nbuckets={buckets}, probs={probs}"
        )
    return found


# Files, which have to be there: nothing is downloaded


def download(url: str, fname=None, dirname=None, overwrite=False, retries=5) -> str:
    """The path of a file that is there already. Nothing is downloaded.

    Parameters
    ----------
    url : str
    fname : path, optional
        Of the file; by default the last part of the url.
    dirname : path, optional
        The folder of the file.
    overwrite, retries
        Of no meaning here.

    Raises
    ------
    UnsupportedError
        The file is not there; the message says which it is.
    """
    path = Path(fname or url.rpartition("/")[2])
    return utils.download(url, path if dirname is None else Path(dirname, path))


def download_model(model_name: str, dst_dir="./", meta_info=None) -> tuple[str, int]:
    """The prefix and the epoch of a checkpoint that is in `dst_dir` already.

    Raises
    ------
    UnsupportedError
        One of its two files is not there; the message says which.
    """
    known = (meta_info or {}).get(model_name, {})
    prefix = Path(dst_dir, model_name)
    for key, end in (("symbol", "-symbol.json"), ("params", "-0000.params")):
        download(known.get(key, f"{model_name}{end}"), f"{prefix}{end}")
    return str(prefix), 0


_MNIST = "http://data.mxnet.io/data/mnist/"


def get_mnist() -> dict[str, np.ndarray]:
    """MNIST from the four gzipped files in the current folder.

    Returns
    -------
    dict
        'train_data' and 'test_data', (n, 1, 28, 28) float32 from 0 to 1; 'train_label' and
        'test_label', (n,) int8.

    Raises
    ------
    UnsupportedError
        A file is not there; the message says which.
    MXNetError
        A file is not in MNIST's format.
    """
    found = {}
    for subset, name in (("train", "train"), ("test", "t10k")):
        labels = read_idx(download(f"{_MNIST}{name}-labels-idx1-ubyte.gz"), 1)
        images = read_idx(download(f"{_MNIST}{name}-images-idx3-ubyte.gz"), 3)
        found[f"{subset}_data"] = images[:, None].astype(np.float32) / 255
        found[f"{subset}_label"] = labels.astype(np.int8)
    return found


def get_mnist_pkl() -> None:
    """See that ``data/mnist.pkl.gz`` is there.

    Raises
    ------
    UnsupportedError
        It is not.
    """
    if not Path("data/mnist.pkl.gz").exists():
        download("http://deeplearning.net/data/mnist/mnist.pkl.gz", dirname="data")


def get_mnist_ubyte() -> None:
    """See that MNIST's four files are in ``data``, or unpack ``data/mnist.zip``.

    Raises
    ------
    UnsupportedError
        Neither is there.
    """
    for subset in ("train", "t10k"):
        for content in ("images-idx3", "labels-idx1"):
            url = "http://data.mxnet.io/mxnet/data/mnist.zip"
            get_zip_data("data", url, f"{subset}-{content}-ubyte")


def get_cifar10() -> None:
    """See that ``data/cifar/train.rec`` and ``test.rec`` are there, or unpack ``data/cifar10.zip``.

    Raises
    ------
    UnsupportedError
        Neither is there.
    """
    for name in ("cifar/train.rec", "cifar/test.rec", "cifar/train.lst", "cifar/test.lst"):
        get_zip_data("data", "http://data.mxnet.io/mxnet/data/cifar10.zip", name)


def get_mnist_iterator(batch_size: int, input_shape, num_parts=1, part_index=0) -> tuple:
    """`MNISTIter` of the training and of the test images in ``data``.

    Parameters
    ----------
    batch_size : int
    input_shape : tuple of int
        (1, 28, 28), or (784,) for flat images.
    num_parts, part_index : int
        Of how many parts of the files to read which.

    Raises
    ------
    UnsupportedError
        The files are not there.
    """
    get_mnist_ubyte()
    return tuple(
        io.MNISTIter(
            image=f"data/{name}-images-idx3-ubyte",
            label=f"data/{name}-labels-idx1-ubyte",
            batch_size=batch_size,
            shuffle=True,
            flat=len(input_shape) != 3,
            num_parts=num_parts,
            part_index=part_index,
        )
        for name in ("train", "t10k")
    )


def get_zip_data(data_dir, url: str, data_origin_name: str) -> None:
    """See that a file is in a folder, or unpack it there from the archive that `url` names.

    Raises
    ------
    UnsupportedError
        Neither is there.
    MXNetError
        The archive is damaged, has no such file, or one of more than 4 GiB.
    """
    unpacked = Path(data_dir, data_origin_name)
    if unpacked.exists():
        return
    packed = download(url, dirname=data_dir)
    with _unpacking(packed):
        archive = zipfile.ZipFile(packed)
    with archive:
        if data_origin_name not in archive.namelist():
            raise MXNetError(
                f"{packed}: it has no file {data_origin_name}\n"
                f"  expected it among {quoted(archive.namelist())}"
            )
        with _unpacking(packed):
            source = archive.open(data_origin_name)
        unpacked.parent.mkdir(parents=True, exist_ok=True)
        with source:
            write_files({unpacked: _unpacked(source, packed)})


def get_bz2_data(data_dir, data_name: str, url: str, data_origin_name: str) -> None:
    """See that a file is in a folder, or unpack it there from its bz2 file.

    Raises
    ------
    UnsupportedError
        Neither is there.
    MXNetError
        The bz2 file is damaged, or unpacks to more than 4 GiB.
    """
    unpacked = Path(data_dir, data_name)
    if unpacked.exists():
        return
    packed = download(url, Path(data_dir, data_origin_name))
    with bz2.BZ2File(packed) as source:
        write_files({unpacked: _unpacked(source, packed)})
    os.remove(packed)


_MOST_UNPACKED = 1 << 32  # bytes; a few packed ones can stand for any number


@contextmanager
def _unpacking(packed: str) -> Iterator[None]:
    """Raise MXNetError, with the name of the file, for what is wrong with a packed file."""
    try:
        yield
    except (EOFError, OSError, RuntimeError, zipfile.BadZipFile, zlib.error) as error:
        raise MXNetError(f"{packed}: it cannot be unpacked\n  {error}") from error


def _unpacked(source: BinaryIO, packed: str) -> Iterator[bytes]:
    """The pieces of a file in a packed file."""
    size = 0
    while True:
        with _unpacking(packed):
            piece = source.read(1 << 20)
            size += len(piece)
            if size > _MOST_UNPACKED:
                raise EOFError(f"expected {_MOST_UNPACKED} bytes or less")
        if not piece:
            return
        yield piece


def get_im2rec_path(home_env="MXNET_HOME") -> str:
    """The path of the program im2rec: this package's, whatever the environment variable says."""
    from .tools import im2rec

    return im2rec.__file__


class DummyIter(io.DataIter):
    """The first batch of an iterator, again and again: to measure speed without reading.

    Parameters
    ----------
    real_iter : DataIter
    """

    def __init__(self, real_iter):
        super().__init__()
        self.real_iter = real_iter
        self.batch_size = real_iter.batch_size
        self.provide_data = real_iter.provide_data
        self.provide_label = real_iter.provide_label
        self.the_batch = next(real_iter)

    def __iter__(self) -> DummyIter:
        return self

    def next(self):
        """The first batch."""
        return self.the_batch


# The process and the machine


def list_gpus() -> range:
    """The numbers of the GPUs."""
    return range(num_gpus())


@contextmanager
def environment(*args) -> Iterator[None]:
    """Set environment variables inside a ``with`` statement.

    Parameters
    ----------
    *args : str, str or None; or dict of them
        A name and its value, or several; None takes a variable away.

    Raises
    ------
    AssertionError
        There are other arguments.
    """
    if len(args) == 1 and isinstance(args[0], dict):
        wanted = args[0]
    elif len(args) == 2:
        wanted = {args[0]: args[1]}
    else:
        raise AssertionError(
            f"environment: {len(args)} arguments\n  expected one dict, or a name and a value"
        )
    before = {name: os.environ.get(name) for name in wanted}
    _set_environment(wanted)
    try:
        yield
    finally:
        nd.waitall()
        _set_environment(before)


def _set_environment(values: dict[str, str | None]) -> None:
    for name, value in values.items():
        if value is None:
            os.environ.pop(name, None)
        else:
            os.environ[name] = value


@contextmanager
def discard_stderr() -> Iterator[None]:
    """Let nothing through to stderr inside a ``with`` statement, not even from C code."""
    original_stderr = os.dup(2)
    try:
        with open(os.devnull, "wb") as nowhere:
            os.dup2(nowhere.fileno(), 2)
        yield
    finally:
        os.dup2(original_stderr, 2)
        os.close(original_stderr)


def is_cd_run() -> bool:
    """Whether the environment says CD_JOB=1."""
    return os.environ.get("CD_JOB") == "1"


def is_aarch64_run() -> bool:
    """Whether the machine is aarch64."""
    return platform.machine() == "aarch64"


def has_tvm_ops() -> bool:
    """Whether there are operators made by TVM: no."""
    return False


def is_op_runnable() -> bool:
    """Whether operators run on the current context: yes."""
    return True


missing.watch(globals())
