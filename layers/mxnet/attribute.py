"""Attributes that symbols get where none are given: ``with AttrScope(ctx_group='dev1'):``."""

from __future__ import annotations

from ._stack import ThreadStack

__all__ = ["AttrScope"]


class AttrScope:
    """Gives its attributes to every symbol made inside; scopes inside each other add up.

    Parameters
    ----------
    **kwargs : str
        ``lr_mult``, ``wd_mult``, ``ctx_group`` are kept as ``__lr_mult__`` and so on.

    Raises
    ------
    ValueError
        A value is not text.
    """

    def __init__(self, **kwargs: str):
        for name, value in kwargs.items():
            if not isinstance(value, str):
                raise ValueError(f"AttrScope: {name} is {value!r}\n  expected text")
        self._attr = kwargs

    def get(self, attr: dict[str, str] | None) -> dict[str, str]:
        """The scope's attributes, and over them those given."""
        return self._attr | (attr or {})

    def __enter__(self) -> AttrScope:
        inner = AttrScope()
        inner._attr = current().get(self._attr)
        _stack.push(inner)
        return self

    def __exit__(self, *_) -> None:
        _stack.pop()


_stack = ThreadStack(AttrScope)


def current() -> AttrScope:
    """The scope in force."""
    return _stack.value
