"""Checks of the arguments and inputs of blocks; inputs may be given by name too."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from inspect import Parameter, signature
from numbers import Integral, Real
from typing import Any

import numpy as np

from ._errors import describe_value
from .engine import adapter, gluon, mxnet_error, nd, sym

__all__ = [
    "expect_arrays",
    "expect_bias",
    "expect_kind",
    "expect_numbers",
    "expect_shapes",
    "expect_sizes",
    "expect_weights",
    "in_order",
    "package_of",
]


def in_order(block: Any, given: tuple, named: dict[str, Any]) -> tuple:
    """Return the inputs of a call in the order of the block's `hybrid_forward`.

    Gluon's blocks take inputs only by position. None stands for an input that is left out before a
    given one.

    Raises
    ------
    TypeError
        An input is missing, unknown or given twice, or there are too many.
    """
    names, needed = _names(type(block))
    if not named and needed <= len(given) <= len(names):
        for value in given[:needed]:
            if value is None:
                break
        else:  # the usual case
            return given
    values = dict(zip(names, given))
    problem = f"it is given {len(given)} inputs" if len(given) > len(names) else ""
    for name in named:
        if name not in names:
            problem = f"it has no input {name!r}"
        elif name in values:
            problem = f"{name} is given twice"
    values = {n: v for n, v in (values | named).items() if v is not None}
    missing = [n for n in names[:needed] if n not in values]
    if problem or missing:
        shown = [*names[:needed], *(f"{n}=None" for n in names[needed:])]
        raise mxnet_error(
            TypeError,
            f"{type(block).__name__}: {problem or f'{missing[0]} is missing'}\n"
            f"  expected {', '.join(shown)}",
        )
    last = max(i for i, name in enumerate(names) if name in values)
    return tuple([values.get(name) for name in names[: last + 1]])


@cache
def _names(block: type) -> tuple[tuple[str, ...], int]:
    """Return the names of a block's inputs, and the number of inputs without a default."""
    parameters = list(signature(block.hybrid_forward).parameters.values())[2:]  # after self and F
    inputs = [p for p in parameters if p.kind is Parameter.POSITIONAL_OR_KEYWORD]
    return tuple([p.name for p in inputs]), sum(p.default is p.empty for p in inputs)


def expect_arrays(block: Any, inputs: tuple) -> None:
    """Refuse inputs of a loss that are neither arrays nor Symbols.

    Raises
    ------
    TypeError
        An input is neither; the message has its type, and the shapes of arrays inside it.
    """
    for name, value in zip(_names(type(block))[0], inputs):
        if value is None or isinstance(value, (nd.NDArray, sym.Symbol)):
            continue
        single = "an NDArray; nd.array(...) makes one"
        several = "an array: one of a network's outputs, or a loss for each"
        expected = several if isinstance(value, (list, tuple)) else single
        raise mxnet_error(
            TypeError,
            f"{type(block).__name__}: {name} is {describe_value(value)}\n  expected {expected}",
        )


def expect_shapes(fits: bool, who: str, expected: str, **arrays: Any) -> None:
    """Refuse arrays whose shapes do not fit together.

    Raises
    ------
    ValueError
        They do not; the message has the shapes.
    """
    if not fits:
        shown = ", ".join(f"{name} is {a.shape}" for name, a in arrays.items())
        raise mxnet_error(ValueError, f"{who}: {shown}\n  expected {expected}")


def expect_weights(who: str, weights: Any, loss: tuple[int, ...], batch_axis: int = 0) -> None:
    """Refuse weights that do not broadcast to a loss of this shape, from its first axis on.

    Raises
    ------
    ValueError
        The shapes do not fit; the message has both.
    """
    given = weights.shape
    fits = all(size in (1, of) for size, of in zip(given, loss))
    fits = fits and all(size == 1 for size in given[len(loss) :])
    if fits and (batch_axis == 0 or len(given) == len(loss)):
        return
    samples = [1] * len(loss)
    samples[batch_axis] = loss[batch_axis]
    one_each = loss[:1] if batch_axis == 0 else tuple(samples)
    raise mxnet_error(
        ValueError,
        f"{who}: sample_weight is {given} for losses {loss}\n"
        f"  expected {one_each}, a factor for each sample; or sizes of the losses or of 1, from "
        "the first axis on",
    )


def expect_numbers(who: str, array: Any, count: int, left_out: Any, expected: str) -> None:
    """Refuse numbers that are not whole, are negative, or are not below `count`.

    The number `left_out` is allowed too, if it is not None. Arrays on a GPU are not checked,
    because a check would have to wait for the GPU.

    Raises
    ------
    IndexError
        A number is refused; the message has the first one.
    """
    if array.context.device_type == "gpu":
        return
    values = adapter().view(array)
    wrong = (values < 0) | (values >= count)
    if values.dtype.kind == "f":
        wrong |= values != np.floor(values)
    if left_out is not None:
        wrong &= values != left_out
    if np.count_nonzero(wrong):  # a sixth of the time of any()
        raise mxnet_error(IndexError, f"{who} has {values[wrong][0]}\n  expected {expected}")


def expect_number(who: str, expected: str, fits: Callable[[Any], bool], **given: Any) -> None:
    """Refuse arguments that are no numbers, or that `fits` refuses.

    Raises
    ------
    ValueError
        An argument is refused; the message has the name and value of the first one.
    """
    for name, value in given.items():
        if not isinstance(value, Real) or not fits(value):
            raise mxnet_error(ValueError, f"{who}: {name} is {value!r}\n  expected {expected}")


def expect_sizes(who: str, least: int = 1, **sizes: int) -> None:
    """Refuse sizes that are not whole numbers from `least`.

    Parameters
    ----------
    least : int
        0 if a size of 0 stands for the size of the first call's input.

    Raises
    ------
    ValueError
        A size is refused; the message has its name and value.
    """
    for name, value in sizes.items():
        if isinstance(value, bool) or not isinstance(value, Integral) or value < least:
            raise mxnet_error(
                ValueError, f"{who}: {name} is {value!r}\n  expected a whole number from {least}"
            )


def expect_bias(who: str, bias: Any) -> bool:
    """Return `bias` as a bool; refuse a value that is neither True nor False.

    Raises
    ------
    TypeError
        The value is refused; the message has it.
    """
    if not isinstance(bias, (bool, np.bool_)):
        raise mxnet_error(TypeError, f"{who}: bias is {bias!r}\n  expected True or False")
    return bool(bias)


def expect_kind(who: str, old, kinds: tuple[type, ...]) -> None:
    """Refuse a layer that is of none of these classes, or has a `hybrid_forward` of its own.

    Raises
    ------
    TypeError
        The layer is refused; the message has its class.
    """
    kind = next((kind for kind in kinds if isinstance(old, kind)), None)
    if kind and type(old).hybrid_forward is kind.hybrid_forward:
        return
    given = "has a forward pass of its own" if kind else "is another layer"
    expected = ", ".join(f"{package_of(kind)}'s {kind.__name__}" for kind in kinds)
    raise mxnet_error(TypeError, f"{who}.of: {type(old).__name__} {given}\n  expected {expected}")


def package_of(kind: type) -> str:
    """Return the package that defines a class of layers; ``gluon`` for classes of `gluon.nn`."""
    is_gluons = getattr(gluon.nn, kind.__name__, None) is kind
    return "gluon" if is_gluons else kind.__module__.partition(".")[0]
