"""Decorator `operator`, which makes an operator of a class with a forward and gradients.

@operator
class dense:
    def forward(x, w, b): return nd.FullyConnected(x, w, b, num_hidden=w.shape[0])
    def dx(dy, w): return nd.dot(dy, w)
    def dw(dy, x): return nd.dot(dy, x, transpose_a=True)
    def db(dy): return nd.sum(dy, axis=0)
    def shapes(x, w): return {"w": (w[0], x[1]), "b": (w[0],), "y": (x[0], w[0])}
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from difflib import get_close_matches
from functools import partial
from typing import Any, overload

from ..._errors import describe_value
from ...engine import mxnet_error
from .operator import Operator, name_of

__all__ = ["operator"]


@overload
def operator(
    definition: type, *, name: str | None = None, pure: bool | None = None
) -> Operator: ...
@overload
def operator(
    *, name: str | None = None, pure: bool | None = None
) -> Callable[[type], Operator]: ...
def operator(
    definition: type | None = None, *, name: str | None = None, pure: bool | None = None
) -> Any:
    """Make an `Operator` from a class with `forward` and gradients; a decorator.

    Parameters
    ----------
    name : str, optional
        The name to register it under; by default ``module.class``, in the main program only the
        class's name.
    pure : bool, optional
        True for a function that depends only on its inputs and attributes; by default the class's
        ``pure``, or True. With False its Python runs in each call.

    Raises
    ------
    TypeError
        The class does not describe an operator; the message has the reason.
    """
    if isinstance(definition, str):
        raise mxnet_error(
            TypeError,
            f"operator: it is given {definition!r} in place of a class\n"
            f"  expected @operator(name={definition!r}) above a class with forward",
        )
    if definition is None:
        return lambda cls: operator(cls, name=name, pure=pure)
    result = _make_operator(definition, name or name_of(definition), pure)
    result.register()
    return result


def _make_operator(definition: type, name: str, pure: bool | None) -> Operator:
    """Make the operator that a class describes."""
    if not isinstance(definition, type) or getattr(definition, "forward", None) is None:
        near = get_close_matches("forward", dir(definition), 1)
        raise mxnet_error(
            TypeError,
            f"operator {name!r}: {definition!r}{f': it has {near[0]}' if near else ''}\n"
            "  expected a class with forward; layers.ops.customop makes an operator of a function",
        )
    get = partial(_function, definition, name)
    forward, surrogate = get("forward"), getattr(definition, "surrogate", None)
    parts = {part: get(part) for part in ("backward", "shapes", "types", "loss")}
    parameters = inspect.signature(forward).parameters.values()
    arrays = [p for p in parameters if p.kind is not p.KEYWORD_ONLY]
    inputs = [p.name for p in arrays]
    attributes = {p.name: _typed_default(p) for p in parameters if p.kind is p.KEYWORD_ONLY}
    gradients = {n: function for n in inputs if (function := get(f"d{n}"))}
    _expect_forward(definition, name, arrays, attributes)
    if parts["backward"] and gradients:
        raise mxnet_error(
            TypeError,
            f"operator {name!r}: there are a backward and single gradients\n"
            f"  expected backward, or {', '.join(f'd{n}' for n in gradients)}",
        )
    _expect_parts(definition, name, {"forward", "surrogate", *parts, *(f"d{n}" for n in inputs)})
    result = Operator(
        name,
        forward,
        inputs=inputs,
        outputs=_names(definition, name, "outputs", ("y",)),
        states=_names(definition, name, "states", ()),
        saves=_names(definition, name, "saves", ()),
        optional=[p.name for p in arrays if p.default is None],
        attributes=attributes,
        renamed=getattr(definition, "renamed", None),
        gradients=gradients,
        pure=getattr(definition, "pure", True) if pure is None else pure,
        low_precision=getattr(definition, "low_precision", False),
        surrogate=surrogate,
        **parts,
    )
    for part in ("__doc__", "__module__", "__name__", "__qualname__"):
        setattr(result, part, getattr(definition, part))
    return result


def _expect_forward(
    definition: type, name: str, arrays: list[inspect.Parameter], attributes: dict[str, Any]
) -> None:
    """Refuse a forward with parameters that are neither inputs nor attributes."""
    inputs = [p.name for p in arrays]
    problems = {
        "a default of forward is a list, which may change; expected a tuple": any(
            isinstance(value, list) for value in attributes.values()
        ),
        "forward has the input 'self', and is called without it": "self" in inputs,
        "forward has the input 'ctx', and is called without it; gradients name what they need": (
            "ctx" in inputs
        ),
        "forward takes any number of inputs, and each needs a name; customop takes any number": any(
            p.kind in (p.VAR_POSITIONAL, p.VAR_KEYWORD) for p in arrays
        ),
        "a keyword of forward has no default": inspect.Parameter.empty in attributes.values(),
        "an input has a default that is not None; attributes stand after *": any(
            p.default is not None and p.default is not p.empty for p in arrays
        ),
    }
    for problem, found in problems.items():
        if found:
            signature = inspect.signature(definition.forward)
            raise mxnet_error(TypeError, f"operator {name!r}: {problem}\n  in forward{signature}")


def _expect_parts(definition: type, name: str, functions: set[str]) -> None:
    """Refuse attributes of the class that are no part of an operator, such as a misspelt name."""
    for part, value in vars(definition).items():
        if inspect.isfunction(value):
            kind, known = "gradient", functions
            reason = f": there is no input {part.removeprefix('d')!r}"
        else:
            kind, known, reason = (
                "part of an operator",
                {*functions, "outputs", "states", "saves", "renamed", "pure", "low_precision"},
                "",
            )
        if part not in known and (reason or not part.startswith("_")):
            raise mxnet_error(
                TypeError,
                f"operator {name!r}: {part!r} is no {kind}{reason}\n"
                f"  expected one of {', '.join(sorted(known))}",
            )


def _function(definition: type, name: str, part: str) -> Any:
    """Return a function of the class, or None if it has none."""
    found = getattr(definition, part, None)
    if found is not None and not callable(found):
        raise mxnet_error(
            TypeError,
            f"operator {name!r}: {part} is {describe_value(found)}\n  expected a function",
        )
    return found


def _names(definition: type, name: str, what: str, default: tuple) -> tuple[str, ...]:
    """Return the names in an attribute of the class: `outputs`, `states` or `saves`."""
    names = getattr(definition, what, default)
    if isinstance(names, str):
        raise mxnet_error(
            TypeError, f"operator {name!r}: {what} is {names!r}\n  expected a tuple of names"
        )
    return tuple(names)


def _typed_default(parameter: inspect.Parameter) -> Any:
    """Return an attribute's default in the type of all its values: 1.0 for ``a: float = 1``."""
    default = parameter.default
    floating = parameter.annotation in (float, "float") and type(default) is int
    return float(default) if floating else default
