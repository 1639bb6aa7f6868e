"""How blocks get their prefixes, and their parameters their names."""

from __future__ import annotations

import inspect

from .. import name
from .._stack import ThreadStack
from ..base import ArgumentError
from .parameter import ParameterDict

_scopes = ThreadStack(lambda: None)  # of the Blocks that are being made


class _BlockScope:
    """What `with block.name_scope()` names: the children and parameters made inside."""

    def __init__(self, prefix: str, params: ParameterDict, transparent: bool):
        self._prefix, self._params, self._transparent = prefix, params, transparent
        self._names = name.NameManager()

    def __enter__(self) -> _BlockScope:
        if not self._transparent:
            _scopes.push(self)
            name.Prefix(self._prefix).__enter__()
        return self

    def __exit__(self, *_) -> None:
        if not self._transparent:
            name.NameManager._current.pop()
            _scopes.pop()


def named(prefix: str | None, params: ParameterDict | None, hint: str):
    """The prefix and the parameters of a Block that is made in the present scope."""
    scope = _scopes.value
    if prefix is None:
        names = scope._names if scope else name.NameManager._current.value
        prefix = names.get(None, hint) + "_"
    if params is not None:
        params = ParameterDict(params.prefix, params)
    elif scope:
        params = ParameterDict(scope._params.prefix + prefix, scope._params._shared)
    else:
        params = ParameterDict(prefix)
    return (scope._prefix if scope else "") + prefix, params


def refuse_unknown(block, unknown: dict) -> None:
    """Raise an error for keyword arguments that reached `Block.__init__`, and are nobody's."""
    if not unknown:
        return
    parameters = inspect.signature(type(block).__init__).parameters.values()
    known = [p.name for p in parameters if p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY)]
    known += [name for name in ("prefix", "params") if name not in known]
    raise ArgumentError(
        f"{type(block).__name__}: unknown argument {next(iter(unknown))!r}\n"
        f"  expected of {', '.join(known[1:])}"
    )
