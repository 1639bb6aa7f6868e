"""How blocks get their prefixes, and their parameters their names."""

from __future__ import annotations

import inspect

from .._state import ThreadStack
from ..base import ArgumentError
from ..name import NameManager, Prefix
from .parameter import ParameterDict


class _BlockScope:
    """What `with block.name_scope()` names: the children and parameters made inside.

    Parameters
    ----------
    block : Block, or another object with ``prefix`` and ``_empty_prefix``
        With an empty prefix, what is made inside is named as what is made around the scope.
    """

    _current = ThreadStack("blocks", lambda: None)  # of the Blocks that are being made

    def __init__(self, block):
        self._prefix, self._transparent = block.prefix, block._empty_prefix
        # Not the Block itself: in a circle it would wait for Python's collector.
        self._params: ParameterDict | None = getattr(block, "_params", None)
        self._names = NameManager()

    def __enter__(self) -> _BlockScope:
        if not self._transparent:
            self._current.push(self)
            Prefix(self._prefix).__enter__()
        return self

    def __exit__(self, *_) -> None:
        if not self._transparent:
            NameManager._current.pop()
            self._current.pop()

    @staticmethod
    def create(prefix: str | None, params: ParameterDict | None, hint: str):
        """The prefix and the parameters of a Block that is made in the present scope."""
        scope = _BlockScope._current.value
        if prefix is None:
            names = scope._names if scope else NameManager.current
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
        f"  expected one of {', '.join(known[1:])}"
    )
