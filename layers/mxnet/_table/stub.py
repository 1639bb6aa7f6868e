"""``python -m layers.mxnet._table.stub``: write what editors and type checkers know of the table.

The functions of `nd` and `sym` and the methods of their arrays and graphs are made at import; the
stubs spell them out, functions with their docstrings.
"""

from __future__ import annotations

import inspect
import textwrap
from pathlib import Path
from types import NoneType
from typing import Any, Literal, get_args, get_origin, get_type_hints

import torch

from ..ndarray import _arithmetic, _methods, op
from ..ndarray.register import signature
from ..symbol import _arithmetic as of_symbols
from ..symbol import _methods as symbol_methods

HERE = Path(__file__).parents[1] / "ndarray"
SYMBOLS = Path(__file__).parents[1] / "symbol"
HEAD = '''"""Written by `python -m layers.mxnet._table.stub` from the table; not to be edited."""

from typing import Any, Literal

from ..context import Context
from .ndarray import NDArray

Result = Any  # an NDArray, or a list of them
Operand = NDArray | float

'''

SYMBOL_HEAD = HEAD.replace("from .ndarray import NDArray", "from .symbol import Symbol").replace(
    "Result = Any  # an NDArray, or a list of them\nOperand = NDArray", "Operand = Symbol"
)

_CONTRIB = "from ._contrib import *\nfrom ._control import *\n"
BESIDE = {"contrib": _CONTRIB}  # what a module has beside the table


def stubs() -> dict[Path, str]:
    """The text of each stub, by its path."""
    return _of_arrays() | _of_symbols()


def _modules() -> dict[str, str]:
    """The beginnings of the names of operators by module; `random` is written by hand."""
    modules = {name: prefix for prefix, name in op.PREFIXES.items()} | {"op": ""}
    return {name: prefix for name, prefix in modules.items() if name != "random"}


def _of_arrays() -> dict[Path, str]:
    made = {
        HERE / f"{module}.pyi": HEAD
        + BESIDE.get(module, "")
        + "".join(_function(name, function) for name, function in op.functions(prefix).items())
        for module, prefix in _modules().items()
    }
    functions = []
    for name in _arithmetic.__all__:
        operands = [
            f"{n}: Operand" for n in inspect.signature(getattr(_arithmetic, name)).parameters
        ]
        functions.append(f"def {name}({', '.join(operands)}) -> NDArray: ...\n")
    made[HERE / "_arithmetic.pyi"] = HEAD + "".join(functions)
    made[HERE / "_methods.pyi"] = HEAD + _class_of_methods("NDArray", _methods)
    return made


def _of_symbols() -> dict[Path, str]:
    made = {
        SYMBOLS / f"{module}.pyi": SYMBOL_HEAD
        + BESIDE.get(module, "")
        + "".join(_composed(name, function) for name, function in op.functions(prefix).items())
        for module, prefix in _modules().items()
    }
    functions = [
        f"def {name}({', '.join(f'{n}: Operand' for n in _operands(name))}) -> Symbol: ...\n"
        for name in of_symbols.__all__
    ]
    made[SYMBOLS / "_arithmetic.pyi"] = SYMBOL_HEAD + "".join(functions)
    made[SYMBOLS / "_methods.pyi"] = SYMBOL_HEAD + _class_of_methods("Symbol", symbol_methods)
    return made


def _operands(name: str) -> list[str]:
    return list(inspect.signature(getattr(of_symbols, name)).parameters)


def _class_of_methods(owner: str, module: Any) -> str:
    """The methods of NDArray, or of Symbol, that are operators."""
    spell = _function if owner == "NDArray" else _composed
    own = {method.__name__ for method in module.HANDWRITTEN}
    methods = [
        spell(name, getattr(op, name), "    ")
        for name in _methods.NAMES
        if hasattr(op, name) and name not in own
    ]
    for method in module.HANDWRITTEN:
        form = str(inspect.signature(method)).replace(f"self: '{owner}'", "self").replace("'", "")
        methods.append(f"    def {method.__name__}{form}: ...\n")
    for *_, method in _arithmetic.ROWS.values():
        forms = {"": method, "r": method, "i": method} if method else {}
        for form in forms if method not in _arithmetic.ORDER else [""]:
            # In an operator's `def forward(x, w)` checkers take x for self: x * w is for w to type.
            other = "Any" if form == "r" else "Operand"
            odd = "  # type: ignore[override]" if method in ("eq", "ne") else ""
            line = f"    def __{form}{method}__(self, other: {other}) -> {owner}: ..."
            methods.append(f"{line}{odd}\n")
    methods += [f"    def __{name}__(self) -> {owner}: ...\n" for name in ("neg", "abs")]
    return f"class Methods:\n{''.join(methods)}\ndef fill(cls: type) -> None: ...\n"


def _composed(name: str, function, indent: str = "") -> str:
    """A function of Symbols: an input that is left out becomes a variable."""
    hints = get_type_hints(function.operator.function)
    parameters = list(signature(function.operator, "Symbol").parameters.values())
    if indent:
        parameters[0] = inspect.Parameter("self", inspect.Parameter.POSITIONAL_OR_KEYWORD)
    text = [
        p.name if p.name == "self" else _optional(p, hints.get(p.name, Any)) for p in parameters
    ]
    if all(p.kind is not p.VAR_KEYWORD for p in parameters):
        text.append("**kwargs: Any")
    return f"{indent}def {name}({', '.join(text)}) -> Symbol:{_body(function, indent)}\n"


def _optional(p: inspect.Parameter, hint: Any) -> str:
    spelled = _spelled(hint).replace("NDArray", "Symbol")
    star = {p.VAR_POSITIONAL: "*", p.VAR_KEYWORD: "**"}.get(p.kind, "")
    if star:
        return f"{star}{p.name}: {spelled}"
    return _parameter(p, hint, True).replace("NDArray", "Symbol | None")


def _function(name: str, function, indent: str = "") -> str:
    operator = function.operator
    hints = get_type_hints(operator.function)
    parameters = list(signature(operator).parameters.values())
    if indent:
        parameters[0] = inspect.Parameter("self", inspect.Parameter.POSITIONAL_OR_KEYWORD)
    text, optional = [], False
    for p in parameters:
        optional = optional or p.default is not p.empty
        text.append(_parameter(p, hints.get(p.name, Any), optional))
    result = "NDArray" if hints.get("return") is torch.Tensor else "Result"
    return f"{indent}def {name}({', '.join(text)}) -> {result}:{_body(function, indent)}\n"


def _body(function, indent: str) -> str:
    """The docstring of a function; that of a method is its function's."""
    text = inspect.getdoc(function)
    if indent or not text:
        return " ..."
    end = "\n" if "\n" in text else ""
    raw = "r" if "\\" in text else ""
    return "\n" + textwrap.indent(f'{raw}"""{text}{end}"""', "    ")


def _parameter(p: inspect.Parameter, hint: Any, optional: bool) -> str:
    star = {p.VAR_POSITIONAL: "*", p.VAR_KEYWORD: "**"}.get(p.kind, "")
    text = f"{star}{p.name}" + (f": {_spelled(hint)}" if hint and p.name != "self" else "")
    if star or not optional:
        return text
    plain = (
        isinstance(p.default, (bool, int, float, str, tuple, NoneType)) and p.default == p.default
    )
    return f"{text} = {p.default!r}" if plain else f"{text} = ..."


def _spelled(hint: Any) -> str:
    """A type of the table in the words of a caller."""
    if hint is torch.Tensor:
        return "NDArray"
    if hint is torch.dtype or hint is Any:
        return "Any"
    if get_origin(hint) is Literal:
        return f"Literal[{', '.join(map(repr, get_args(hint)))}]"
    if get_origin(hint) is tuple:
        element = _spelled(get_args(hint)[0])
        return f"{element} | tuple[{element}, ...]"
    if get_args(hint):
        return " | ".join(map(_spelled, get_args(hint)))
    return "None" if hint is NoneType else hint.__name__


def main() -> None:
    """Write the stubs."""
    for path, text in stubs().items():
        path.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
