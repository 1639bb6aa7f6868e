"""``python -m layers.mxnet._table.stub``: write what editors and type checkers know of the table.

The functions of `nd` and the methods of NDArray are made at import; the stubs spell them out.
"""

from __future__ import annotations

import inspect
from pathlib import Path
from types import NoneType
from typing import Any, Literal, get_args, get_origin, get_type_hints

import torch

from ..ndarray import _arithmetic, _methods, op
from ..ndarray.register import signature

HERE = Path(__file__).parents[1] / "ndarray"
HEAD = '''"""Written by `python -m layers.mxnet._table.stub` from the table; not to be edited."""

from typing import Any, Literal

from ..context import Context
from .ndarray import NDArray

Result = Any  # an NDArray, or a list of them
Operand = NDArray | float

'''


BESIDE = {  # what a module has beside the table
    "contrib": "from ._control import cond as cond, foreach as foreach, while_loop as while_loop\n"
}


def stubs() -> dict[Path, str]:
    """The text of each stub, by its path."""
    modules = {name: prefix for prefix, name in op.PREFIXES.items()} | {"op": ""}
    made = {
        HERE / f"{module}.pyi": HEAD
        + BESIDE.get(module, "")
        + "".join(_function(name, function) for name, function in op.functions(prefix).items())
        for module, prefix in modules.items()
        if module != "random"  # written by hand
    }
    methods = [
        _function(name, getattr(op, name), "    ") for name in _methods.NAMES if hasattr(op, name)
    ]
    for method in _methods.HANDWRITTEN:
        form = str(inspect.signature(method)).replace("self: 'NDArray'", "self").replace("'", "")
        methods.append(f"    def {method.__name__}{form}: ...\n")
    for *_, method in _arithmetic.ROWS.values():
        forms = {"": method, "r": method, "i": method} if method else {}
        for form in forms if method not in _arithmetic.ORDER else [""]:
            odd = "  # type: ignore[override]" if method in ("eq", "ne") else ""
            line = f"    def __{form}{method}__(self, other: Operand) -> NDArray: ..."
            methods.append(f"{line}{odd}\n")
    functions = []
    for name in _arithmetic.__all__:
        operands = [
            f"{n}: Operand" for n in inspect.signature(getattr(_arithmetic, name)).parameters
        ]
        functions.append(f"def {name}({', '.join(operands)}) -> NDArray: ...\n")
    made[HERE / "_arithmetic.pyi"] = HEAD + "".join(functions)
    made[HERE / "_methods.pyi"] = (
        f"{HEAD}class Methods:\n{''.join(methods)}\ndef fill(cls: type) -> None: ...\n"
    )
    return made


def _function(name: str, function, indent: str = "") -> str:
    operator = function.operator
    hints = get_type_hints(operator.function)
    parameters = list(signature(operator).parameters.values())
    if indent:
        parameters[0] = inspect.Parameter("self", inspect.Parameter.POSITIONAL_OR_KEYWORD)
    text, optional = [], False
    for p in parameters:
        optional = optional or p.default is not p.empty
        text.append(_parameter(p, hints.get(p.name), optional))
    result = "NDArray" if hints.get("return") is torch.Tensor else "Result"
    return f"{indent}def {name}({', '.join(text)}) -> {result}: ...\n"


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
    if hint is torch.dtype:
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
