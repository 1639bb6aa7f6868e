"""MindSpore's array, Tensor, around an NDArray."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from ..engine import nd
from ..ops.ways.numpy_border import as_dtype, dtype_name, dtype_of, is_floating
from .context import device

__all__ = ["Parameter", "Tensor"]

NUMBERS = (bool, int, float, np.generic)


class Tensor:
    """An array on the device of `set_context`.

    A number has the shape (1,), and so does a sum over all elements.

    Parameters
    ----------
    input_data : Tensor, NDArray, numpy.ndarray, number or nested list of them
        An NDArray is used without a copy; other values are copied.
    dtype : optional
        By default the dtype of an array; float32, int64 or bool for numbers.

    Raises
    ------
    TypeError
        The values are not numbers, or the engine has no such dtype.
    """

    __slots__ = ("__weakref__", "array")
    __array_ufunc__ = None  # makes NumPy leave `values + tensor` to the Tensor
    __hash__ = object.__hash__

    def __init__(self, input_data: Any, dtype: Any = None):
        if isinstance(input_data, Tensor):
            input_data = input_data.array
        if isinstance(input_data, nd.NDArray):
            same = dtype is None or dtype_name(dtype) == dtype_of(input_data)
            self.array = input_data if same else input_data.astype(dtype_name(dtype))
            return
        values = np.asarray(input_data)
        if dtype is None:
            has_dtype = isinstance(input_data, (np.ndarray, np.generic))
            dtype = np.float32 if values.dtype == np.float64 and not has_dtype else values.dtype
        if values.dtype.kind not in "biuf":
            raise TypeError(
                f"Tensor: given {type(input_data).__name__} of {values.dtype}\n  expected numbers"
            )
        self.array = nd.array(np.atleast_1d(values), ctx=device(), dtype=dtype_name(dtype))

    @property
    def shape(self) -> tuple[int, ...]:
        """Return the shape, a tuple of ints."""
        return self.array.shape

    @property
    def dtype(self) -> np.dtype:
        """Return the dtype of the elements, such as ``ms.float32``."""
        return as_dtype(dtype_of(self.array))

    @property
    def size(self) -> int:
        """Return the number of elements."""
        return self.array.size

    @property
    def ndim(self) -> int:
        """Return the number of axes."""
        return self.array.ndim

    @property
    def T(self) -> Tensor:
        """Return a copy with the axes reversed."""
        return Tensor(self.array.T)

    def asnumpy(self) -> np.ndarray:
        """Return a NumPy copy; bfloat16, which NumPy lacks, becomes float32."""
        return self.array.asnumpy()

    def astype(self, dtype: Any) -> Tensor:
        """Return a copy with another dtype."""
        return Tensor(self.array.astype(dtype_name(dtype)))

    def copy(self) -> Tensor:
        """Return a copy."""
        return Tensor(self.array.copy())

    def reshape(self, *shape: Any) -> Tensor:
        """Return a copy with another shape, given as ints or as a tuple."""
        from .ops import reshape

        return reshape(self, shape[0] if len(shape) == 1 else shape)

    def item(self) -> bool | int | float:
        """Return the only element as a Python number.

        Raises
        ------
        ValueError
            There are several elements, or none.
        """
        if self.size != 1:
            raise ValueError(f"item: the shape is {self.shape}\n  expected one element")
        return self.asnumpy().reshape(-1)[0].item()

    def __len__(self) -> int:
        return self.shape[0]

    def __iter__(self):
        return (self[i] for i in range(len(self)))

    def __float__(self) -> float:
        return float(self.item())

    def __int__(self) -> int:
        return int(self.item())

    def __bool__(self) -> bool:
        return bool(self.item())

    def __index__(self) -> int:
        if self.dtype.kind not in "iu":
            raise TypeError(f"a Tensor of {self.dtype} is not an index")
        return int(self.item())

    def __str__(self) -> str:
        return str(self.asnumpy())

    def __repr__(self) -> str:
        shape, dtype = list(self.shape), dtype_name(self.dtype).capitalize()
        return f"{type(self).__name__}(shape={shape}, dtype={dtype}, value={self})"

    def __getitem__(self, key: Any) -> Tensor:
        return Tensor(self.array[_as_ndarray_key(key)])

    def __setitem__(self, key: Any, value: Any) -> None:
        self.array[_as_ndarray_key(key)] = as_ndarray(value)

    def __neg__(self) -> Tensor:
        return Tensor(-self.array)

    def __abs__(self) -> Tensor:
        return Tensor(nd.abs(self.array))

    def __matmul__(self, other: Any) -> Tensor:
        from .ops import matmul

        return matmul(self, other)


def as_ndarray(value: Any) -> Any:
    """Return the NDArray of a Tensor, and other values unchanged."""
    return value.array if isinstance(value, Tensor) else value


def _as_ndarray_key(key: Any) -> Any:
    return tuple(map(as_ndarray, key)) if isinstance(key, tuple) else as_ndarray(key)


def common(a: Any, b: Any, least: str = "") -> tuple[Any, Any]:
    """Return the NDArrays of two operands in one dtype; a number stays one if it fits.

    The dtype is the wider one, floating if one of the two is; with `least`, at least that dtype.
    """
    operands = [x if isinstance(x, NUMBERS) else Tensor(x).array for x in (a, b)]
    arrays = [x for x in operands if isinstance(x, nd.NDArray)]
    names = [dtype_of(x) for x in arrays]
    others = [_number(x) for x in operands if isinstance(x, NUMBERS)] + [least] * bool(least)
    names += [n for n in others if _rank(n) > max(map(_rank, names))]
    dtype = _widest(names)
    return tuple(_python(x) if isinstance(x, NUMBERS) else _cast(x, dtype) for x in operands)


def _number(x: Any) -> str:
    kind = np.asarray(x).dtype.kind
    return {"b": "bool", "i": "int64", "u": "int64"}.get(kind, "float32")


def _cast(x: Any, dtype: str) -> Any:
    return x if dtype_of(x) == dtype else x.astype(dtype)


def _python(x: Any) -> Any:
    return x.item() if isinstance(x, np.generic) else x


def _rank(name: str) -> int:
    """Return the rank of a dtype in a promotion: bool, then integers, then floats."""
    return {"b": 0, "i": 1, "u": 1}.get(as_dtype(name).kind, 2)


def _widest(names: list[str]) -> str:
    highest = max(map(_rank, names))
    names = [n for n in names if _rank(n) == highest]
    if "bfloat16" in names:
        others = set(names) - {"bfloat16"}
        return "float32" if "float16" in others else max(others, default="bfloat16")
    return np.result_type(*names).name


def _arithmetic(function: Callable) -> Callable:
    return lambda a, b: function(*common(a, b))


def _divide(a: Any, b: Any):
    return operator.truediv(*common(a, b, least="float32"))


def _floor_divide(a: Any, b: Any):
    x, y = common(a, b)
    array = x if isinstance(x, nd.NDArray) else y
    if _rank(dtype_of(array)) == 2:
        return nd.floor(x / y)
    wide = [v if isinstance(v, NUMBERS) else v.astype("float64") for v in (x, y)]
    return nd.floor(wide[0] / wide[1]).astype(array.dtype)  # exact below 2^53


def _comparison(function: Callable) -> Callable:
    return lambda a, b: function(*common(a, b)).astype("bool")


BINARY: dict[str, Callable] = {
    "add": _arithmetic(operator.add),
    "sub": _arithmetic(operator.sub),
    "mul": _arithmetic(operator.mul),
    "truediv": _divide,
    "floordiv": _floor_divide,
    "mod": _arithmetic(operator.mod),
    "pow": _arithmetic(operator.pow),
    "eq": _comparison(operator.eq),
    "ne": _comparison(operator.ne),
    "lt": _comparison(operator.lt),
    "le": _comparison(operator.le),
    "gt": _comparison(operator.gt),
    "ge": _comparison(operator.ge),
}


def _method(name: str, function: Callable, reflected: bool) -> Callable:
    def method(self, other):
        if other is None or isinstance(other, str):
            return NotImplemented
        return Tensor(function(other, self) if reflected else function(self, other))

    method.__name__ = method.__qualname__ = name
    return method


for _name, _function in BINARY.items():
    setattr(Tensor, f"__{_name}__", _method(f"__{_name}__", _function, False))
    if _name not in ("eq", "ne", "lt", "le", "gt", "ge"):
        setattr(Tensor, f"__r{_name}__", _method(f"__r{_name}__", _function, True))


class Parameter(Tensor):
    """A Tensor that is an attribute of a Cell and that `grad` can differentiate by.

    Parameters
    ----------
    default_input : Tensor, or any argument of Tensor
        The values, which are copied.
    name : str, optional
        By default the name of the attribute of the Cell.
    requires_grad : bool
        If True, `trainable_params` returns it.
    """

    __slots__ = ("name", "requires_grad")

    def __init__(self, default_input: Any, name: str | None = None, requires_grad: bool = True):
        super().__init__(Tensor(default_input).array.copy())
        self.name, self.requires_grad = name, requires_grad
        if is_floating(self.array):
            self.array.attach_grad()

    def set_data(self, data: Any) -> None:
        """Write new values of the same shape.

        Raises
        ------
        ValueError
            The values have another shape.
        """
        data = Tensor(data)
        if data.shape != self.shape:
            raise ValueError(f"set_data: the shape is {data.shape}\n  expected {self.shape}")
        self.array[:] = data.array
