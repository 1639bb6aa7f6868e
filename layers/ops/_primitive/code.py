"""What computes a `Custom`: a function in NumPy, a loop kernel, or a function of a library."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import lru_cache
from types import FunctionType, MappingProxyType
from typing import Any

import numpy as np

from .. import host
from ..kernel import Kernel
from ..library import Library
from .declared import Declared, noted

LOOP = "it is a loop kernel, which Numba compiles"
COMPILED = "it is compiled already"


class Code:
    """What runs on NumPy's arrays.

    Attributes
    ----------
    parameters : tuple of str, or None
        The names of its inputs; None where there may be any number.
    least : int
        How many inputs it takes at least.
    inferred : tuple of str
        What `infer` tells where it is not declared, of 'out_shape' and 'out_dtype'.
    outputs : int or None
        How many outputs it gives in a tuple, where it tells.
    take, give : callable
        From NDArrays to its arrays, and back.
    opaque : str
        Why a compiler cannot look into it, if so.
    on_cpu : bool
        Whether it runs on the CPU wherever its inputs are.
    attributes : dict
        What is registered beside its inputs.
    """

    parameters: tuple[str, ...] | None = None
    least = 0
    inferred: tuple[str, ...] = ()
    outputs: int | None = None
    opaque, on_cpu = "", False
    attributes: Mapping[str, Any] = MappingProxyType({})
    take, give = staticmethod(host.view), staticmethod(host.adopt)

    def function(self, declared: Declared) -> Callable:
        """What is called with arrays and numbers by position, with attributes by name."""
        raise NotImplementedError

    def infer(self, shapes: tuple, dtypes: tuple, numbers: tuple) -> tuple[list, list]:
        """The shapes and dtypes of outputs, from those of inputs and what is a number of them."""
        raise NotImplementedError


class Numpy(Code):
    """A function of NumPy's arrays, which a compiler can look into."""

    take, give = staticmethod(host.values), staticmethod(host.array)
    on_cpu = True

    def __init__(self, who: str, func: Any, attributes: tuple[str, ...]):
        _expect(who, func, callable(func), "a function")
        self.func = func
        self.opaque = "" if isinstance(func, FunctionType) else "it is no plain function"
        self.parameters, self.least = _parameters(who, func, attributes)

    def function(self, declared: Declared) -> Callable:
        return self.func


def _parameters(who: str, func: Callable, attributes: tuple) -> tuple[tuple | None, int]:
    """The names of what a function takes by position, without attributes, and the least of them."""
    try:
        signature = inspect.signature(func)
    except ValueError:  # what is written in C may tell none
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
        raise TypeError(f"{who}: func is {func!r} ({type(func).__name__})\n  expected {expected}")


def _expect_attributes(who: str, attributes: tuple, parameters: Collection[str]) -> None:
    if missing := [n for n in attributes if n not in parameters]:
        raise ValueError(
            f"{who}: reg_info has the attribute {missing[0]!r}\n"
            f"  expected of the parameters {', '.join(parameters)}"
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
        self.least, self.who = len(self.parameters), who
        self.outputs = self.kernel.outputs if self.kernel.outputs > 1 else None
        self.infer = lru_cache(maxsize=1024)(self._infer)

    def run(self, *values, **attributes) -> Any:
        """The outputs, from inputs by position."""
        return self.kernel.run(*self._bound(values, attributes))

    def _bound(self, values: Sequence, attributes: Mapping[str, Any]) -> list:
        given = dict(zip(self.parameters, values)) | attributes
        return [given[n] for n in self.kernel.parameters]

    def function(self, declared: Declared) -> Callable:
        return self.run

    def _infer(self, shapes: tuple, dtypes: tuple, numbers: tuple) -> tuple[list, list]:
        inputs = [
            np.broadcast_to(np.zeros((), t), s) if n is None else n
            for s, t, n in zip(shapes, dtypes, numbers)
        ]
        try:
            found = self.kernel.infer(*self._bound(inputs, self.attributes))
        except Exception as error:
            given = ", ".join(f"{s} {t}" for s, t in zip(shapes, dtypes))
            noted(error, f"  in {self.who}, of which the outputs are inferred ({given})")
            raise
        return [shape for shape, _ in found], [dtype for _, dtype in found]


class Compiled(Code):
    """A function of a compiled library."""

    opaque, inferred = COMPILED, ("out_shape",)

    def __init__(self, who: str, func: Any, attributes: tuple[str, ...]):
        text = "the text 'file:function', for func_type 'aot'"
        _expect(who, func, isinstance(func, str), text)
        self.library, self.who = Library(func), who

    def function(self, declared: Declared) -> Callable:
        @lru_cache(maxsize=1024)
        def plan(shapes: tuple, dtypes: tuple) -> tuple[list, list, int | None]:
            names, numbers = tuple(t.name for t in dtypes), (None,) * len(dtypes)
            types, count = declared.types(names), declared.count(names)
            shapes = declared.shapes(shapes, names, numbers, count)
            return shapes, [np.dtype(t) for t in types], count

        def run(*values, **attributes):
            arrays = [np.asarray(v, _NUMBERS.get(type(v))) for v in values]
            shapes, dtypes = tuple([a.shape for a in arrays]), tuple([a.dtype for a in arrays])
            shapes, types, count = plan(shapes, dtypes)
            found = self.library.run(arrays, shapes, types, attributes)
            return found[0] if count is None else tuple(found)

        return run

    def infer(self, shapes: tuple, dtypes: tuple, numbers: tuple) -> tuple[list, list]:
        found = self.library.infer_shape(shapes, [np.dtype(t) for t in dtypes], self.attributes)
        if found is None:
            raise TypeError(
                f"{self.who}: out_shape is None, and {self.library.function} has no InferShape\n"
                "  expected out_shape, or that function in the library"
            )
        return [found], []


_NUMBERS = {bool: np.bool_, int: np.int64, float: np.float32}
