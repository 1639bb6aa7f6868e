"""What computes a `Custom`: a function in NumPy, a loop kernel, or a function of a library."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
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
        How many outputs it gives, where it tells.
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
        if not callable(func):
            raise TypeError(
                f"{who}: func is {func!r} ({type(func).__name__})\n  expected a function"
            )
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
    if missing := [n for n in attributes if n not in signature.parameters]:
        if not any(p.kind is p.VAR_KEYWORD for p in parameters):
            raise ValueError(
                f"{who}: reg_info has the attribute {missing[0]!r}\n"
                f"  expected of the parameters {func.__name__}{signature}"
            )
    places = [
        p
        for p in parameters
        if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD) and p.name not in attributes
    ]
    least = sum(p.default is p.empty for p in places)
    if any(p.kind is p.VAR_POSITIONAL for p in parameters):
        return None, least
    return tuple(p.name for p in places), least


class Loop(Code):
    """A loop kernel."""

    opaque, inferred = LOOP, ("out_shape", "out_dtype")

    def __init__(self, who: str, func: Any, attributes: tuple[str, ...]):
        if not callable(func):
            raise TypeError(
                f"{who}: func is {func!r} ({type(func).__name__})\n  expected a function"
            )
        self.kernel = func if isinstance(func, Kernel) else Kernel(func)
        names = tuple(self.kernel.parameters)
        if missing := [n for n in attributes if n not in names]:
            raise ValueError(
                f"{who}: reg_info has the attribute {missing[0]!r}\n"
                f"  expected of the parameters {', '.join(names)}"
            )
        self.parameters = tuple(n for n in names if n not in attributes)
        self.least, self.outputs, self.who = len(self.parameters), self.kernel.outputs, who
        self.infer = lru_cache(maxsize=1024)(self._infer)

    def run(self, *values, **attributes) -> Any:
        """The outputs, from inputs by position."""
        given = dict(zip(self.parameters, values)) | attributes
        return self.kernel.run(*[given[n] for n in self.kernel.parameters])

    def function(self, declared: Declared) -> Callable:
        return self.run

    def _infer(self, shapes: tuple, dtypes: tuple, numbers: tuple) -> tuple[list, list]:
        zeros = [np.zeros(s, t) if n is None else n for s, t, n in zip(shapes, dtypes, numbers)]
        try:
            found = self.run(*zeros, **self.attributes)
        except Exception as error:
            given = ", ".join(f"{s} {t}" for s, t in zip(shapes, dtypes))
            noted(error, f"  in {self.who}, run on zeros to infer its outputs ({given})")
            raise
        outputs = found if isinstance(found, tuple) else (found,)
        return [y.shape for y in outputs], [y.dtype.name for y in outputs]


class Compiled(Code):
    """A function of a compiled library."""

    opaque, inferred = COMPILED, ("out_shape",)

    def __init__(self, who: str, func: Any, attributes: tuple[str, ...]):
        if not isinstance(func, str):
            raise TypeError(
                f"{who}: func is {func!r} ({type(func).__name__})\n"
                "  expected the text 'file:function', for func_type 'aot'"
            )
        self.library, self.who = Library(func), who

    def function(self, declared: Declared) -> Callable:
        @lru_cache(maxsize=1024)
        def plan(shapes: tuple, dtypes: tuple) -> tuple[list, list, bool]:
            names, numbers = tuple(t.name for t in dtypes), (None,) * len(dtypes)
            types = declared.types(names)
            _, many = declared.outputs(names)
            shapes = declared.shapes(shapes, names, numbers, len(types), many)
            return shapes, [np.dtype(t) for t in types], many

        def run(*values, **attributes):
            arrays = [np.asarray(v, _NUMBERS.get(type(v))) for v in values]
            shapes, types, many = plan(
                tuple([a.shape for a in arrays]), tuple([a.dtype for a in arrays])
            )
            found = self.library.run(arrays, shapes, types, attributes)
            return tuple(found) if many else found[0]

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
