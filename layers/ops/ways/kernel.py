"""Loop kernels: operators written element by element, run as Python or compiled."""

from __future__ import annotations

import functools
import inspect
import sys
from collections.abc import Callable
from types import FunctionType
from typing import Any, overload

import numpy as np

from ._kernel.compiler import COMPILING, Compiled, infer_dtypes, infer_shapes, storage_dtype
from ._kernel.expansion import expand
from ._kernel.intrinsics import DTYPES, NAMESPACE
from ._kernel.language import read
from ._kernel.program import KernelError
from ._kernel.types import WEAK, named

__all__ = ["Kernel", "KernelError", "kernel"]

# What a parameter is expected to be.
TENSOR = "a NumPy array: it has {}[...] or a shape"
NUMBER = "a number: the kernel uses it as one"


class Kernel:
    """A loop kernel: a function in a small language inside Python, checked when it is made.

    ::

        @kernel
        def outer(a, b):
            c = output_tensor((a.shape[0], b.shape[0]), a.dtype)
            for i in range(a.shape[0]):
                for j in range(b.shape[0]):
                    c[i, j] = a[i] * b[j]
            return c

        outer(a, b)       # plain Python: what it means
        outer.run(a, b)   # compiled, over the processor's cores: the same, fast

    Called with NumPy arrays and numbers, it runs as plain Python, by NumPy's rules: the reference.
    `run` is the same compiled. Both give fresh arrays: one, or a tuple if it returns several.

    Parameters are tensors (``x[i, j]``, ``x.shape[0]``, ``x.dtype``, ``len(x)``) or numbers.
    ``output_tensor(shape, dtype)`` and ``allocate(shape, dtype)`` make tensors of zeros, before
    the loops; their sizes come from shapes and whole numbers, with ``+ - * // % **``, ceil_div,
    max and min. Loops run over ``range``, or ``serial``, ``vectorize``, ``parallel``, ``reduce``,
    which mean the same, and ``grid(shape)``, all indices of a shape. Values are numbers and
    scalars, ``+ - * / // % **``, comparisons, ``and``, ``or``, ``not``, ``a if c else b``, and the
    intrinsics: abs, atan, atan2, ceil, ceil_div, cos, erf, exp, expm1, floor, isfinite, isinf,
    isnan, log, max, min, power, round, rsqrt, sign, sin, sqrt, tanh, trunc, and the dtypes as
    conversions, such as ``float32(k[i])``. The last statement returns all output tensors. What is
    outside is not seen.

    Compiled, float16 is computed in float32, and only the outputs are rounded; plain Python
    rounds each operation.

    Parameters
    ----------
    function : callable
        Written in a file, in the language of loop kernels.
    reg_info : dict, str, tuple or CustomRegOp, optional
        Registration information for the operator that is made of it; by default what the function
        carries.
    compile_attrs : dict, optional
        Hints for other compilers, which are stored and not used.

    Attributes
    ----------
    name : str
    parameters : tuple of str
    outputs : int
        How many arrays it returns.

    Raises
    ------
    KernelError
        It is not in the language: a TypeError and ValueError that shows the place.
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
        self.compile_attrs = _checked_attrs(self.name, compile_attrs)
        self._reference = FunctionType(
            plain.__code__, NAMESPACE, plain.__name__, None, plain.__closure__
        )
        self._checked: set[tuple] = set()
        self._compiled: dict[tuple, Compiled] = {}

    def __call__(self, *inputs: Any) -> Any:
        """Run as plain Python, with NumPy's numbers; overflow and division by zero are silent."""
        values, types = self._bind(inputs)
        self._check(types)
        try:
            with np.errstate(all="ignore"):
                return self._reference(*values)
        except Exception as error:
            self._program.source.locate(error, self._reference.__code__)
            raise

    def run(self, *inputs: Any) -> Any:
        """Run compiled: by Numba, once for each combination of dtypes and ranks.

        Loops whose iterations are independent are spread over threads; the result is the same.

        Raises
        ------
        KernelError
            An input is not of the type that the kernel uses it as.
        IndexError
            An index is out of range.
        ModuleNotFoundError
            Numba is not installed.
        """
        values, types = self._bind(inputs)
        compiled = self._compiled.get(types) or self._compile(types)
        tensors = [
            values[k] if _is_readable(values[k]) else _as_readable(values[k]) for k in self._tensors
        ]
        numbers = [values[k] for k in self._numbers]
        return compiled(tensors, [x.item() if isinstance(x, np.generic) else x for x in numbers])

    def infer_shapes(self, *inputs: Any) -> list[tuple[int, ...]]:
        """The shape of each output, without running; in the place of a tensor is its shape."""
        self._expect_count(inputs)
        for k, value in enumerate(inputs):
            if k in self._tensors and not isinstance(value, tuple):
                self._refuse(k, value, TENSOR.format(self.parameters[k]))
            if k in self._numbers and isinstance(value, tuple):
                self._refuse(k, value, NUMBER)
        return infer_shapes(self._program, dict(zip(self.parameters, inputs)))

    def infer_dtypes(self, *dtypes: Any) -> list[str]:
        """The dtype of each output, without running, from those of tensors and numbers.

        'bfloat16', which NumPy does not have, is an output's as any other.
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
        """The arrays and numbers, and their types."""
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
                types[k] = _python_type(value)
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
        """The kinds and ranks of the inputs, by name, if they fit the kernel."""
        found: dict[str, Any] = {}
        for name, kind in zip(self.parameters, types):
            known = self._kind(name, kind[0] if isinstance(kind, tuple) else kind)
            found[name] = (known, kind[1]) if isinstance(kind, tuple) else known
        if types not in self._checked:
            expand(self._program, {n: found[n][1] for n in found if n in self._program.tensors})
            self._checked.add(types)
        return found

    def _kind(self, name: str, dtype: Any) -> str | None:
        """The name of a parameter's dtype, if kernels know it."""
        known = named(dtype) if isinstance(dtype, np.dtype) else dtype
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
            return self.__qualname__  # pickled as a function is, by its module and name
        return Kernel, (self.__wrapped__, self.reg_info, self.compile_attrs)


def _dtype(dtype: Any) -> Any:
    """A dtype in any form as NumPy's, but for the name of the one that NumPy does not have."""
    return dtype if isinstance(dtype, str) and dtype == "bfloat16" else np.dtype(dtype)


def _python_type(number: Any) -> str:
    """The name of a Python number's type, which takes on the dtype of what it meets."""
    return next(kind.__name__ for kind in (bool, int, float) if isinstance(number, kind))


def _is_readable(x: np.ndarray) -> bool:
    """Whether compiled code can read an array without a copy."""
    flags = x.flags
    return flags.c_contiguous and flags.aligned and x.dtype.char != "e"


def _as_readable(x: np.ndarray) -> np.ndarray:
    """A copy of an array that compiled code can read."""
    return np.require(x, storage_dtype(named(x.dtype)), ["C_CONTIGUOUS", "ALIGNED"])


def _checked_attrs(name: str, attrs: Any) -> dict[str, Any]:
    attrs = {} if attrs is None else attrs
    if not isinstance(attrs, dict) or not all(isinstance(key, str) for key in attrs):
        raise TypeError(f"kernel {name!r}: compile_attrs is {attrs!r}\n  expected a dict by str")
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
    """Make a `Kernel` of a function; decorator, with or without arguments."""
    if fn is None:
        return lambda function: Kernel(function, reg_info, compile_attrs)
    return Kernel(fn, reg_info, compile_attrs)


if kernel.__doc__ and Kernel.__doc__:  # for help(kernel), which a name of this module hides
    kernel.__doc__ = f"{kernel.__doc__}\n\n{inspect.cleandoc(Kernel.__doc__)}"
