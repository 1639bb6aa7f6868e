"""Code of a `Custom`: a function in NumPy, a loop kernel, or a function of a library."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import lru_cache
from types import MappingProxyType
from typing import Any

import numpy as np

from .... import engine
from ...._errors import note
from ....engine import mxnet_error
from .. import numpy_border
from ..kernel import Kernel
from ..library import Library
from .declared import Declared

LOOP = "it is a loop kernel, which Numba compiles"
COMPILED = "it is compiled already"


class Code:
    """Code that computes arrays from arrays, in one of several languages.

    Attributes
    ----------
    who : str
        The operator's name in errors; `Custom` sets it once it has a name.
    parameters : tuple of str, or None
        The names of its inputs; None for any number of inputs.
    least : int
        The least number of inputs.
    inferred : tuple of str
        Which of 'out_shape' and 'out_dtype' it can infer if they are not declared.
    outputs : int or None
        The number of outputs in a tuple; None for one output, or if only a call shows it.
    to_argument : callable
        Converts an NDArray to the argument that the function takes.
    opaque : str
        The reason why PyTorch's compiler cannot trace it; "" if the compiler may try.
    on_cpu : bool
        True if it runs on the CPU, wherever its inputs are.
    dtypes : str
        The dtype of inputs if `Custom` is given none; "" for any dtype.
    attributes : dict
        The registered attributes, which the function takes by name.
    """

    who: str
    parameters: tuple[str, ...] | None = None
    least = 0
    inferred: tuple[str, ...] = ()
    outputs: int | None = None
    opaque, on_cpu, dtypes = "", False, ""
    attributes: Mapping[str, Any] = MappingProxyType({})
    to_argument: Callable

    def function(self, declared: Declared) -> Callable:
        """Return the function: it takes arrays and numbers by position, attributes by name."""
        raise NotImplementedError

    def to_output(self, i: int, y: Any, dtype: str, context: Any) -> Any:
        """Return an output as an NDArray, from the result of the function."""
        raise NotImplementedError

    def infer_shapes(self, shapes: tuple, numbers: tuple) -> list[tuple[int, ...]]:
        """Return the shapes of outputs, from the shapes of arrays and the values of numbers."""
        raise NotImplementedError

    def infer_dtypes(self, dtypes: tuple[str, ...]) -> list[str]:
        """Return the dtypes of outputs, from the dtypes of inputs."""
        raise NotImplementedError

    def expect(self, i: int, array: Any, dtype: str) -> Any:
        """Return an output; refuse one whose dtype is not the declared one."""
        if numpy_border.dtype_of(array) != dtype:
            raise mxnet_error(
                TypeError,
                f"{self.who}: output {i} is {array.shape} {numpy_border.dtype_of(array)}\n"
                f"  expected {dtype}, which out_dtype gives",
            )
        return array


class Numpy(Code):
    """A function of NumPy arrays, which PyTorch's compiler may be able to trace."""

    to_argument = staticmethod(numpy_border.values)
    on_cpu = True

    def __init__(self, who: str, func: Any, attributes: tuple[str, ...]):
        _expect(who, func, callable(func), "a function")
        self.func = func
        self.parameters, self.least = _parameters(who, func, attributes)

    def function(self, declared: Declared) -> Callable:
        return self.func

    def to_output(self, i: int, y: Any, dtype: str, context: Any) -> Any:
        if not isinstance(y, np.ndarray):
            y = self._array(i, y, dtype)
        return self.expect(i, numpy_border.array(y, context), dtype)

    def _array(self, i: int, y: Any, dtype: str) -> np.ndarray:
        """Convert a number from the function to an array; Python's get the declared dtype."""
        if isinstance(y, (bool, int, float)) and _can_hold(dtype, y):
            return np.asarray(y, dtype)
        if not isinstance(y, np.generic):
            raise mxnet_error(
                TypeError,
                f"{self.who}: output {i} is {type(y).__name__}\n"
                f"  expected an array of NumPy, {dtype}",
            )
        return np.asarray(y)


def _can_hold(dtype: str, number: Any) -> bool:
    """True if a dtype can hold Python numbers of this type."""
    kinds = "biuf" if isinstance(number, bool) else "iuf" if isinstance(number, int) else "f"
    return np.dtype(dtype).kind in kinds


def _parameters(who: str, func: Callable, attributes: tuple) -> tuple[tuple | None, int]:
    """Return the names of the positional parameters without attributes, and the required number."""
    try:
        signature = inspect.signature(func)
    except ValueError:  # functions written in C may have none
        return None, 0
    parameters = signature.parameters.values()
    if not any(p.kind is p.VAR_KEYWORD for p in parameters):
        _expect_attributes(who, attributes, signature.parameters)
    places = [
        p
        for p in parameters
        if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD) and p.name not in attributes
    ]
    least = sum(p.default is p.empty for p in places)
    if any(p.kind is p.VAR_POSITIONAL for p in parameters):
        return None, least
    return tuple(p.name for p in places), least


def _expect(who: str, func: Any, fits: bool, expected: str) -> None:
    if not fits:
        raise mxnet_error(
            TypeError, f"{who}: func is {func!r} ({type(func).__name__})\n  expected {expected}"
        )


def _expect_attributes(who: str, attributes: tuple, parameters: Collection[str]) -> None:
    if missing := [n for n in attributes if n not in parameters]:
        raise mxnet_error(
            ValueError,
            f"{who}: reg_info has the attribute {missing[0]!r}\n"
            f"  expected one of the parameters {', '.join(parameters)}",
        )


class Loop(Code):
    """A loop kernel."""

    opaque, inferred = LOOP, ("out_shape", "out_dtype")

    def __init__(self, who: str, func: Any, attributes: tuple[str, ...]):
        _expect(who, func, callable(func), "a function")
        self.kernel = func if isinstance(func, Kernel) else Kernel(func)
        names = self.kernel.parameters
        _expect_attributes(who, attributes, names)
        self.parameters = tuple(n for n in names if n not in attributes)
        self.least = len(self.parameters)
        self.outputs = self.kernel.outputs if self.kernel.outputs > 1 else None

    @property
    def to_argument(self) -> Callable:
        return engine.adapter().view

    def run(self, *values, **attributes) -> Any:
        """Compute the outputs, from inputs by position."""
        return self.kernel.run(*(self._in_order(values, attributes) if attributes else values))

    def _in_order(self, values: Sequence, attributes: Mapping[str, Any]) -> list:
        """Return inputs and attributes in the order of the kernel's parameters."""
        arguments = dict(zip(self.parameters, values)) | attributes
        return [arguments[n] for n in self.kernel.parameters]

    def function(self, declared: Declared) -> Callable:
        return self.run

    def to_output(self, i: int, y: Any, dtype: str, context: Any) -> Any:
        return self.expect(i, numpy_border.adopt(y, context), dtype)

    def infer_shapes(self, shapes: tuple, numbers: tuple) -> list[tuple[int, ...]]:
        arguments = [s if n is None else n for s, n in zip(shapes, numbers)]
        return self._infer("shapes", self.kernel.infer_shapes, arguments, self.attributes)

    def infer_dtypes(self, dtypes: tuple[str, ...]) -> list[str]:
        kinds = {n: type(v) for n, v in self.attributes.items()}
        return self._infer("dtypes", self.kernel.infer_dtypes, dtypes, kinds)

    def _infer(self, what: str, rule: Callable, arguments: Sequence, attributes: Mapping) -> list:
        try:
            return rule(*self._in_order(arguments, attributes))
        except Exception as error:
            shown = ", ".join(map(str, arguments))
            note(error, f"  in {self.who}, while the {what} of outputs are inferred ({shown})")
            raise


class Compiled(Code):
    """A function of a compiled library."""

    opaque, inferred, dtypes = COMPILED, ("out_shape",), "float32"

    def __init__(self, who: str, func: Any, attributes: tuple[str, ...]):
        text = "the text 'file:function', for func_type 'aot'"
        _expect(who, func, isinstance(func, str), text)
        self.library = Library(func)

    @staticmethod
    def to_argument(array: Any) -> Any:
        return array

    def to_output(self, i: int, y: Any, dtype: str, context: Any) -> Any:
        return y

    def function(self, declared: Declared) -> Callable:
        launch = engine.adapter().launch

        @lru_cache(maxsize=1024)
        def plan(shapes: tuple, dtypes: tuple) -> tuple[list, list, int | None]:
            names = tuple(map(numpy_border.dtype_name, dtypes))
            types, count = declared.types(names), declared.count(names)
            shapes = declared.shapes(shapes, (None,) * len(shapes), count)
            return shapes, [np.dtype(t) for t in types], count

        def run(*values, **attributes):
            dtypes = tuple([numpy_border.NUMBERS.get(type(v)) or v.dtype for v in values])
            shapes = tuple([() if type(v) in numpy_border.NUMBERS else v.shape for v in values])
            shapes, types, count = plan(shapes, dtypes)
            found = launch(self.library, values, shapes, types, attributes)
            return found[0] if count is None else tuple(found)

        return run

    def infer_shapes(self, shapes: tuple, numbers: tuple) -> list[tuple[int, ...]]:
        found = self.library.infer_shape(shapes, self.attributes)
        if found is None:
            raise mxnet_error(
                TypeError,
                f"{self.who}: out_shape is None, and {self.library.function} has no InferShape\n"
                "  expected out_shape, or that function in the library",
            )
        return [found]
