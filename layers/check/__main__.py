"""Program that checks an operator or a layer.

It is ``python -m layers.check module:name --input 4x3 --input 5x3``, or the console script
``layers-check``. The name may be an operator, a CustomOpProp, a function of NDArrays or a
Block; a class of Blocks is called with the attributes. The exit status is 0 if no check failed, 1
if one did, 2 for wrong arguments.
"""

from __future__ import annotations

import argparse
import ast
import os
import sys
from collections.abc import Callable
from importlib import import_module
from typing import Any

import numpy as np

from .._programs import command
from ..engine import gluon
from . import WrongArguments, check_operator
from ._report import describe_error
from ._subject import find_prop

__all__ = ["main", "script"]


def script() -> int:
    """Run as a console script, which finds modules in the current folder like ``python -m``."""
    sys.path.insert(0, os.getcwd())
    return main()


def main(arguments: list[str] | None = None) -> int:
    """Check the operator or layer in the arguments, print a report, return the exit status."""
    parser = _parser()
    given = parser.parse_args(arguments)
    attributes = dict(given.attribute)
    names = "compiled", "seeded", "quick", "wrt"
    options: dict[str, Any] = {name: getattr(given, name) for name in names}
    if sys.stderr.isatty():
        options["progress"] = _show
    try:
        found = _find(given.name)
        options["loss"] = given.loss and _find(given.loss)
        if isinstance(found, type) and issubclass(found, gluon.Block):
            literals = {n: _literal(v) for n, v in attributes.items()}
            found, attributes = _call_users(found, **literals), {}
        try:
            report = check_operator(found, *given.inputs, **options, **attributes)
        finally:
            if "progress" in options:
                _show("")
    except NotFound as error:
        parser.error(str(error))
    except WrongArguments as error:
        hint = "\n  each is given by --input 4x3 or --label 4:10, in this order"
        parser.error(f"{error}{'' if given.inputs else hint}")
    print(report)
    return 0 if report.passed else 1


def _show(check: str) -> None:
    """Show the current check on a line of the terminal, which the next call overwrites."""
    print(f"\r\033[K{check}", end="", file=sys.stderr, flush=True)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog=command("layers-check", "layers.check"),
        description="Check an operator or a layer: a line per check.",
        epilog="Exit status: 0 if no check failed, 1 if one did, 2 for wrong arguments.",
    )
    add = parser.add_argument
    many: dict[str, Any] = {"action": "append", "default": []}
    add("name", help="what to check, as package.module:name")
    text = "an input, such as 4x3 or 4x3:int32, in the operator's order; filled at random"
    add("--input", **many, dest="inputs", type=_input, metavar="SHAPE[:DTYPE]", help=text)
    text = "an input of class numbers, such as 4:10"
    add("--label", **many, dest="inputs", type=_label, metavar="SHAPE:CLASSES", help=text)
    text = "an attribute of the operator"
    add("--attribute", **many, type=_attribute, metavar="NAME=VALUE", help=text)
    add("--loss", metavar="MODULE:NAME", help="the function with its gradients: loss(y, label)")
    text = "the inputs to differentiate; all by default"
    add("--wrt", type=_names, metavar="NAME,...", help=text)
    add("--no-compile", action="store_false", dest="compiled", help="do not compile it")
    add(
        "--quick", action="store_true", help="leave out other sizes, dtypes, contexts, second order"
    )
    add("--seeded", action="store_true", help="draw the same random numbers in each call")
    return parser


class NotFound(Exception):
    """An error about a name without a value, or about code that fails while it is imported."""


def _call_users(function: Callable, *args: Any, **kwargs: Any) -> Any:
    """Call code of the user; an exception from it becomes NotFound, with the line of code."""
    try:
        return function(*args, **kwargs)
    except (Exception, SystemExit) as error:
        raise NotFound(describe_error(error)) from error


def _find(place: str) -> Any:
    """Return the object at ``package.module:name``, or the name if only the name is registered."""
    module, colon, name = place.partition(":")
    if module.endswith(".py"):
        name = f"{module.removesuffix('.py').replace(os.sep, '.')}:{name or 'name'}"
        raise NotFound(f"{place!r}\n  expected package.module:name, such as {name}")
    if not colon:
        raise NotFound(f"{place!r}\n  expected package.module:name")
    found = _call_users(import_module, module)
    for part in name.split("."):
        if not hasattr(found, part):
            if _is_registered(name):
                return name
            raise NotFound(f"there is no {part!r} in {module}\n  expected package.module:name")
        found = getattr(found, part)
    return found


def _is_registered(name: str) -> bool:
    try:
        return find_prop(name) is not None
    except RuntimeError:  # MXNetError: not registered
        return False


def _input(text: str) -> Any:
    shape, _, dtype = text.partition(":")
    if not dtype or dtype.startswith("float"):
        return _shape(shape)
    try:
        kind = np.dtype(dtype)
    except TypeError:
        raise argparse.ArgumentTypeError(f"{dtype!r}: expected a dtype such as int32") from None
    return _below(2, shape).astype(kind)


def _label(text: str) -> np.ndarray:
    shape, _, classes = text.rpartition(":")
    if not classes.isdigit() or int(classes) < 1:
        raise argparse.ArgumentTypeError(f"{text!r}: expected a shape and a number, such as 4:10")
    return _below(int(classes), shape)


def _below(number: int, shape: str) -> np.ndarray:
    return np.random.RandomState(0).randint(0, number, _shape(shape))


def _shape(text: str) -> tuple[int, ...]:
    try:
        shape = tuple(int(n) for n in text.split("x"))
    except ValueError:
        shape = (0,)
    if min(shape) < 1:
        raise argparse.ArgumentTypeError(f"{text!r}: expected a shape such as 4x3")
    return shape


def _names(text: str) -> list[str]:
    return [n for n in text.split(",") if n]


def _attribute(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not equals:
        raise argparse.ArgumentTypeError(f"{text!r}: expected name=value")
    return name, value


def _literal(text: str) -> Any:
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError):
        return text


if __name__ == "__main__":
    sys.exit(main())
