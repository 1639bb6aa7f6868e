"""Parts of error messages, for both engines."""

from __future__ import annotations

import reprlib
import sys
from collections.abc import Iterable
from difflib import get_close_matches
from typing import Any

__all__ = [
    "describe_value",
    "did_you_mean",
    "legible",
    "listed",
    "no_array",
    "no_gradients",
    "note",
    "printable",
    "quoted",
    "showable",
    "wrong_gradient",
]

# Names in files may hold escape sequences, line ends and marks that change the direction of text,
# which a terminal obeys, or millions of characters.


def printable(text: str, keep: str = "") -> str:
    """Return a text with its unprintable characters escaped, except those in `keep`."""
    if text.isprintable():
        return text
    return "".join(c if c in keep or c.isprintable() else repr(c)[1:-1] for c in text)


def showable(message: str, most: int = 10_000, keep: str = "\n") -> str:
    """Return a message that is printable, with its middle left out if it is long."""
    if len(message) > most:
        message = f"{message[: most // 2]} ... {message[-most // 2 :]}"
    return printable(message, keep)


_short = reprlib.Repr()
_short.maxstring = _short.maxother = 100
_short.maxtuple = _short.maxlist = 16


def quoted(value: Any) -> str:
    """Return the repr of a value of a file or a caller, shortened for a message."""
    return _short.repr(value)


def legible(name: str) -> str:
    """Return a name for a table: without quotes, printable, its middle left out if it is long."""
    return showable(name, 100, keep="")


def listed(names: Iterable[str], most: int = 16) -> str:
    """Return the first `most` names, joined by commas, and the number of all if there are more."""
    names = list(names)
    more = [f"... ({len(names)} in all)"] if len(names) > most else []
    return ", ".join([*map(legible, names[:most]), *more])


def note(error: BaseException, text: str) -> BaseException:
    """Add a line to an exception, whose type and identity stay the same; return it.

    Python 3.10 has no notes: there the line is appended to the message. A KeyError is left alone,
    because its message is its key.
    """
    text = showable(text)
    if sys.version_info >= (3, 11):
        error.add_note(text)
    elif type(error).__str__ is KeyError.__str__:
        pass
    elif error.args and isinstance(error.args[0], str):
        error.args = (f"{error.args[0]}\n{text}", *error.args[1:])
    return error


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """Return a line with the known name most like an unknown one, or "" if none is like it.

    A name is also found by its last part, 'sigmoid' for 'layers.sigmoid', and by its initials, 'lr'
    for 'learning_rate'.
    """
    known = list(known)
    by_name = {part: whole for whole in known for part in (whole.rpartition(".")[2], whole)}
    initials = {"".join(word[:1] for word in n.split("_")): n for n in reversed(known) if "_" in n}
    near = get_close_matches(name[:100], by_name, 1)
    meant = by_name[near[0]] if near else initials.get(name)
    return f"\n  did you mean {meant!r}?" if meant else ""


def describe_value(value: Any) -> str:
    """Describe a value in an error: None, an array by type and shape, or a short repr."""
    kind = type(value).__name__
    if value is None:
        return "None"
    if _has_axes(value):
        return f"{kind} {tuple(value.shape)}"
    if isinstance(value, (list, tuple)) and any(map(_has_axes, value)):
        more = ", ..." if len(value) > 3 else ""
        return f"a {kind} of {', '.join(map(describe_value, value[:3]))}{more}"
    text = repr(value)
    return f"{text} ({kind})" if len(text) <= 40 and "\n" not in text else kind


def _has_axes(value: Any) -> bool:
    shape = getattr(value, "shape", None)
    return isinstance(shape, tuple) and shape != ()


# Messages about wrong results of an operator's functions. Both engines raise them, and the checker
# reports them.


def no_array(what: str, value: Any, like: str = "") -> str:
    """Return the message for a result that is no NDArray.

    `like` names an array of the right dtype.
    """
    dtype = f", dtype={like}.dtype" if like else ""
    hint = f"; nd.array(...{dtype}) makes one" if type(value).__module__ == "numpy" else ""
    hint = "; a function without `return` gives None" if value is None else hint
    return f"{what} is {describe_value(value)}\n  expected an NDArray{hint}"


def no_gradients(operator: Any, given: Any) -> str:
    """Return the message for a `backward` that did not return a dict of gradients by input."""
    shown = list(given) if isinstance(given, dict) else describe_value(given)
    return (
        f"operator {operator.name!r}: backward gave {shown}\n"
        f"  expected a dict of gradients by input, of {', '.join(operator.inputs)}"
    )


def wrong_gradient(
    who: str, name: str, found: tuple[tuple, str], expected: tuple[tuple, str]
) -> str:
    """Return the message for a gradient without the shape and dtype of its input."""
    (shape, dtype), (of, of_dtype) = found, expected
    axes = _broadcast_axes(tuple(shape), tuple(of))
    hint = ""
    if axes:
        named = f"axis {axes[0]}" if len(axes) == 1 else f"the axes {', '.join(map(str, axes))}"
        kept = ", with keepdims=True" if len(shape) == len(of) else ""
        hint = f": the sum over {named}, along which {name} was broadcast{kept}"
    return (
        f"{who}: the gradient of {name} is {tuple(shape)} {dtype}\n"
        f"  expected {tuple(of)} {of_dtype}{hint}"
    )


def _broadcast_axes(shape: tuple, of: tuple) -> list[int]:
    """Return the axes along which an array of shape `of` was broadcast to `shape`, else []."""
    whole = (1,) * (len(shape) - len(of)) + of
    if len(whole) != len(shape) or any(n not in (1, k) for n, k in zip(whole, shape)):
        return []
    return [i for i, (n, k) in enumerate(zip(whole, shape)) if n != k or i < len(shape) - len(of)]
