"""The functions of ``mx.np``, ``mx.npx`` and their modules, for arrays or for Symbols.

An operator of the table that has NumPy's signature is one of them by its name alone: `_npi_exp` is
``np.exp``, `_np_sum` ``np.sum``, `_npx_relu` ``npx.relu``. The others are fronts: functions of `F`,
which call operators::

    @front("numpy")
    def stack(F, arrays, axis=0, out=None): return F._npi_stack(*arrays, axis=axis, out=out)
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import partial
from typing import Any

from .._table import registry

FRONTS: dict[str, dict[str, Callable]] = {}  # by the module of MXNet, by name
# Functions of mx.np that are made for an `F`, by name: what makes each.
MAKERS: dict[str, Callable] = {}
# Operators that have the signature of a function of NumPy, and no other front.
_LINALG = "inv det slogdet cholesky svd eig eigvals eigh eigvalsh solve tensorinv norm"
_NUMPY = """
absolute abs arccos arccosh arcsin arcsinh arctan arctanh cbrt ceil cos cosh degrees exp expm1 fix
floor log log10 log1p log2 logical_not negative radians reciprocal rint sign sin sinh sqrt square
tan tanh trunc bitwise_not isnan isinf isfinite isposinf isneginf around
sum prod product mean max amax min amin all any sometrue var std argmax argmin cumsum
reshape transpose squeeze roll flip rot90 broadcast_to copy diag diagflat tril diagonal
trace dot matmul hanning hamming blackman indices polyval unique
"""
LINALG, NUMPY = _LINALG.split(), _NUMPY.split()
# NumPy's other names for functions of the table.
SAME = {
    "fabs": "absolute",
    "rad2deg": "degrees",
    "deg2rad": "radians",
    "invert": "bitwise_not",
    "round": "around",
    "round_": "around",
    "row_stack": "vstack",
    "remainder": "mod",
    "divide": "true_divide",
}
NPX_IMAGE = "_npx__image_"


def front(module: str, *aliases: str) -> Callable:
    """Register a function of `F` as one of a module of MXNet: numpy, numpy.linalg, ..."""

    def add(function: Callable) -> Callable:
        for name in (function.__name__, *aliases):
            FRONTS.setdefault(module, {})[name] = function
        return function

    return add


class Functions:
    """All functions of the NumPy interface for one kind of operand.

    Parameters
    ----------
    of_operator : callable
        ``of_operator(operator, name)`` is the function of an operator of the table.
    operand : type
        The class of arrays or of Symbols.

    Attributes
    ----------
    are_symbols : bool
        True if the operands are Symbols.
    modules : dict of str to dict
        The public functions: by module, by name.
    """

    def __init__(self, of_operator: Callable, operand: type):
        self.operand = operand
        self.modules: dict[str, dict[str, Any]] = {name: {} for name in FRONTS}
        for name in registry.names():
            if name.startswith("_np"):
                setattr(self, name, of_operator(registry.get(name), name))
        self._add_operators()
        for name, make in MAKERS.items():
            self._add("numpy", name, make(self))
        for module, fronts in FRONTS.items():
            for name, function in fronts.items():
                self._add(module, name, self._bound(function, name))
        for name, other in SAME.items():
            self._add("numpy", name, self.modules["numpy"][other])

    def _add(self, module: str, name: str, function: Callable) -> None:
        """Make a function public in a module; those of ``mx.np`` are attributes of `F`, too."""
        self.modules.setdefault(module, {})[name] = function
        if module == "numpy":
            setattr(self, name, function)

    def _add_operators(self) -> None:
        internal = self.modules.setdefault("numpy._internal", {})
        for name, function in vars(self).items():
            if name.startswith("_npi_"):
                internal[name.removeprefix("_npi_")] = function
        for name in NUMPY:
            of_np = getattr(self, f"_np_{name}", None)
            self._add("numpy", name, of_np or getattr(self, f"_npi_{name}"))
        for name in LINALG:
            self._add("numpy.linalg", name, getattr(self, f"_npi_{name}"))
        for name, function in list(vars(self).items()):
            if name.startswith(NPX_IMAGE):
                self._add("numpy_extension.image", name.removeprefix(NPX_IMAGE), function)
            elif name.startswith("_npx_"):
                self._add("numpy_extension", name.removeprefix("_npx_"), function)

    def _bound(self, function: Callable, name: str) -> Callable:
        """Return a front for this `F`, with the signature that is left."""
        bound = partial(function, self)
        parameters = list(inspect.signature(function).parameters.values())[1:]

        def call(*args, **kwargs):
            return bound(*args, **kwargs)

        call.__name__ = call.__qualname__ = name
        call.__doc__ = function.__doc__
        call.__signature__ = inspect.Signature(parameters)
        return call
