"""The functions of operators of MXNet's NumPy interface, by the operators' names."""

from __future__ import annotations

from collections.abc import Callable

from .numpy._array import F as _F

__all__: list[str] = []


def _get_builtin_op(op_name: str) -> Callable | None:
    """Return the function of ``mx.np`` or ``mx.npx`` of an operator; None where it has none."""
    for prefix, modules in (("_np_", ["numpy"]), ("_npx_", ["numpy_extension"])):
        if op_name.startswith(prefix):
            return _F.modules[modules[0]].get(op_name.removeprefix(prefix))
    return None
