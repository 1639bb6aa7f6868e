"""Loop kernels: operators written element by element, run as Python or compiled."""

from __future__ import annotations

import functools
import inspect
import sys
from collections.abc import Callable
from types import FunctionType
from typing import Any, overload

import numpy as np

from ...engine import mxnet_error
from ._kernel.compiler import COMPILING, Compiled, infer_dtypes, infer_shapes, storage_dtype
from ._kernel.expansion import expand
from ._kernel.intrinsics import DTYPES, NAMESPACE
from ._kernel.language import read
from ._kernel.program import KernelError
from ._kernel.types import WEAK, kind_of

__all__ = ["Kernel", "KernelError", "kernel"]

# Descriptions of the two kinds of parameters, for errors.
TENSOR = "a NumPy array: it has {}[...] or a shape"
NUMBER = "a number: the kernel uses it as one"


class Kernel:
    """A loop kernel: a function in a small subset of Python, checked when the kernel is made.

    ::

        @kernel
        def outer(a, b):
            c = output_tensor((a.shape[0], b.shape[0]), a.dtype)
            for i in range(a.shape[0]):
                for j in range(b.shape[0]):
                    c[i, j] = a[i] * b[j]
            return c

        outer(a, b)       # runs as plain Python
        outer.run(a, b)   # the same result, compiled and on all cores

    Called with NumPy arrays and numbers, it runs as plain Python, by NumPy's rules; this is the
    reference. `run` computes the same with compiled code. Both return new arrays, one or a tuple of
    several.

    Parameters are tensors (``x[i, j]``, ``x.shape[0]``, ``x.dtype``, ``len(x)``) or numbers.
    ``output_tensor(shape, dtype)`` and ``allocate(shape, dtype)`` make tensors of zeros, before the
    loops. Their sizes come from shapes and whole numbers, with ``+ - * // % **``, ceil_div, max and
    min. Loops run over ``range``, or ``serial``, ``vectorize``, ``parallel``, ``reduce``, which
    mean the same, and over ``grid(shape)``, all indices of a shape. Values are numbers and scalars,
    ``+ - * / // % **``, comparisons, ``and``, ``or``, ``not``, ``a if c else b``, and the
    intrinsics: abs, atan, atan2, ceil, ceil_div, cos, erf, exp, expm1, floor, isfinite, isinf,
    isnan, log, max, min, power, round, rsqrt, sign, sin, sqrt, tanh, trunc, and the dtypes as
    conversions, such as ``float32(k[i])``. The last statement returns all output tensors. Names
    outside the function are not visible.

    Compiled code computes float16 in float32, and rounds only the outputs; plain Python rounds each
    operation.

    Parameters
    ----------
    function : callable
        A function in the language of loop kernels, written in a file.
    reg_info : dict, str, tuple or CustomRegOp, optional
        Registration information for an operator with this kernel; by default the function's.
    compile_attrs : dict, optional
        Options for other compilers, stored and not used.

    Attributes
    ----------
    name : str
    parameters : tuple of str
    outputs : int
        The number of arrays that the kernel returns.

    Raises
    ------
    KernelError
        The function is not in the language; this TypeError and ValueError shows the place.
    TypeError
        `compile_attrs` is no dict with keys of str.
    """

    def __init__(
        self, function: Callable, reg_info: Any = None, compile_attrs: dict[str, Any] | None = None
    ):
        plain = inspect.unwrap(function)
        functools.update_wrapper(self, plain)
        self._program = read(plain)
        self.name = self._program.source.name
        self.parameters = self._program.parameters
        places = range(len(self.parameters))
        self._tensors = [k for k in places if self.parameters[k] in self._program.tensors]
        self._numbers = [k for k in places if self.parameters[k] in self._program.numbers]
        self.outputs = len(self._program.returns)
        self.reg_info = getattr(function, "reg_info", None) if reg_info is None else reg_info
        self.compile_attrs = _check_attrs(self.name, compile_attrs)
        self._reference = FunctionType(
            plain.__code__, NAMESPACE, plain.__name__, None, plain.__closure__
        )
        self._checked_types: set[tuple] = set()
        self._compiled: dict[tuple, Compiled] = {}

    def __call__(self, *inputs: Any) -> Any:
        """Run as plain Python, with NumPy's numbers; overflow and division by zero are silent.

        Raises
        ------
        KernelError
            There are too few or too many inputs, or one is of a type that the kernel does not take.
        IndexError
            An index is out of range.
        """
        values, types = self._bind(inputs)
        self._check(types)
        try:
            with np.errstate(all="ignore"):
                return self._reference(*values)
        except Exception as error:
            self._program.source.locate(error, self._reference.__code__)
            raise

    def run(self, *inputs: Any) -> Any:
        """Run compiled code, which Numba makes once for each combination of dtypes and ranks.

        Loops whose iterations are independent are spread over threads; the result is the same.

        Raises
        ------
        KernelError
            There are too few or too many inputs, or one is of a type that the kernel does not take.
        IndexError
            An index is out of range.
        ModuleNotFoundError
            Numba is not installed.
        """
        values, types = self._bind(inputs)
        compiled = self._compiled.get(types) or self._compile(types)
        tensors = [
            values[k] if _is_compilable_input(values[k]) else _as_compilable_input(values[k])
            for k in self._tensors
        ]
        numbers = [values[k] for k in self._numbers]
        return compiled(tensors, [x.item() if isinstance(x, np.generic) else x for x in numbers])

    def infer_shapes(self, *inputs: Any) -> list[tuple[int, ...]]:
        """Return the outputs' shapes, from shapes of tensors and from numbers, without running.

        Raises
        ------
        KernelError
            An input is a shape where the kernel takes a number, or the reverse; or a size cannot be
            inferred.
        """
        self._expect_count(inputs)
        for k, value in enumerate(inputs):
            if k in self._tensors and not isinstance(value, tuple):
                self._refuse(k, value, TENSOR.format(self.parameters[k]))
            if k in self._numbers and isinstance(value, tuple):
                self._refuse(k, value, NUMBER)
        return infer_shapes(self._program, dict(zip(self.parameters, inputs)))

    def infer_dtypes(self, *dtypes: Any) -> list[str]:
        """Return the dtype of each output, from dtypes of tensors and numbers, without running.

        They may be 'bfloat16', which NumPy does not have.

        Raises
        ------
        KernelError
            There are too few or too many dtypes, or kernels do not support one of them.
        """
        self._expect_count(dtypes)
        kinds = {n: self._kind(n, _dtype(t)) for n, t in zip(self.parameters, dtypes)}
        return infer_dtypes(self._program, kinds)

    def _expect_count(self, inputs: tuple) -> None:
        if len(inputs) != len(self.parameters):
            raise KernelError(
                f"operator {self.name!r}: {len(inputs)} inputs\n"
                f"  expected {self.name}({', '.join(self.parameters)})"
            )

    def _bind(self, inputs: tuple) -> tuple[list, tuple]:
        """Return the arrays and numbers, and their types."""
        self._expect_count(inputs)
        values, types = list(inputs), [None] * len(inputs)
        for k in self._tensors:
            value = values[k]
            if not isinstance(value, np.ndarray):
                self._refuse(k, value, TENSOR.format(self.parameters[k]))
            if not value.dtype.isnative:
                value = values[k] = value.astype(value.dtype.newbyteorder("="))
            types[k] = (value.dtype, value.ndim)
        for k in self._numbers:
            value = values[k]
            if isinstance(value, np.ndarray) and not value.ndim:
                value = values[k] = value[()]
            if isinstance(value, np.generic):
                types[k] = value.dtype
            elif isinstance(value, (bool, int, float)):
                types[k] = _python_kind(value)
            else:
                self._refuse(k, value, NUMBER)
        return values, tuple(types)

    def _refuse(self, k: int, value: Any, expected: str):
        shown = type(value).__name__
        if isinstance(value, np.ndarray):
            shown = f"{value.shape} {value.dtype}"
        elif isinstance(value, tuple):
            shown = f"of shape {value}"
        elif isinstance(value, (bool, int, float, np.generic)):
            shown = f"the number {value}"
        raise KernelError(
            f"operator {self.name!r}: {self.parameters[k]} is {shown}\n  expected {expected}"
        )

    def _check(self, types: tuple) -> dict[str, Any]:
        """Return the kinds and ranks of the inputs, by name; refuse those that do not fit."""
        found: dict[str, Any] = {}
        for name, kind in zip(self.parameters, types):
            known = self._kind(name, kind[0] if isinstance(kind, tuple) else kind)
            found[name] = (known, kind[1]) if isinstance(kind, tuple) else known
        if types not in self._checked_types:
            expand(self._program, {n: found[n][1] for n in found if n in self._program.tensors})
            self._checked_types.add(types)
        return found

    def _kind(self, name: str, dtype: Any) -> str | None:
        """Return the kind of a parameter; refuse a dtype that kernels do not support."""
        known = kind_of(dtype) if isinstance(dtype, np.dtype) else dtype
        if known is not None and known not in (*DTYPES, *WEAK, "bfloat16"):
            raise KernelError(
                f"operator {self.name!r}: {name} is {dtype}\n  expected one of {', '.join(DTYPES)}"
            )
        return known

    def _compile(self, types: tuple) -> Compiled:
        kinds = self._check(types)
        with COMPILING:
            if types not in self._compiled:
                self._compiled[types] = Compiled(self._program, kinds)
            return self._compiled[types]

    def __repr__(self) -> str:
        return f"<kernel {self.name}({', '.join(self.parameters)})>"

    def __reduce__(self):
        place: Any = sys.modules.get(self.__module__)
        for part in self.__qualname__.split("."):
            place = getattr(place, part, None)
        if place is self:
            return self.__qualname__  # pickled like a function, by its module and name
        return Kernel, (self.__wrapped__, self.reg_info, self.compile_attrs)


def _dtype(dtype: Any) -> Any:
    """Return a dtype in any form as NumPy's; 'bfloat16', which NumPy lacks, stays text."""
    return dtype if isinstance(dtype, str) and dtype == "bfloat16" else np.dtype(dtype)


def _python_kind(number: Any) -> str:
    """Return the kind of a Python number: the name of its type."""
    return next(kind.__name__ for kind in (bool, int, float) if isinstance(number, kind))


def _is_compilable_input(x: np.ndarray) -> bool:
    """True if compiled code can read an array without a copy."""
    flags = x.flags
    return flags.c_contiguous and flags.aligned and x.dtype.char != "e"


def _as_compilable_input(x: np.ndarray) -> np.ndarray:
    """Return a copy of an array that compiled code can read."""
    return np.require(x, storage_dtype(kind_of(x.dtype)), ["C_CONTIGUOUS", "ALIGNED"])


def _check_attrs(name: str, attrs: Any) -> dict[str, Any]:
    attrs = {} if attrs is None else attrs
    if not isinstance(attrs, dict) or not all(isinstance(key, str) for key in attrs):
        raise mxnet_error(
            TypeError, f"kernel {name!r}: compile_attrs is {attrs!r}\n  expected a dict by str"
        )
    return attrs


@overload
def kernel(
    fn: Callable, reg_info: Any = None, compile_attrs: dict[str, Any] | None = None
) -> Kernel: ...
@overload
def kernel(
    fn: None = None, reg_info: Any = None, compile_attrs: dict[str, Any] | None = None
) -> Callable[[Callable], Kernel]: ...
def kernel(fn=None, reg_info=None, compile_attrs=None):
    """Make a `Kernel` from a function; a decorator, with or without arguments.

    Raises
    ------
    KernelError, TypeError
        See `Kernel`.
    """
    if fn is None:
        return lambda function: Kernel(function, reg_info, compile_attrs)
    return Kernel(fn, reg_info, compile_attrs)


# For help(kernel): this function hides the module of its name.
if kernel.__doc__ and Kernel.__doc__:
    kernel.__doc__ = f"{kernel.__doc__}\n\n{inspect.cleandoc(Kernel.__doc__)}"
