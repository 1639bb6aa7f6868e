"""Attributes that symbols get where none are given: ``with AttrScope(ctx_group='dev1'):``."""

from __future__ import annotations

from ._state import ThreadStack, scope_type

__all__ = ["AttrScope"]


class AttrScope(metaclass=scope_type("current", "_current")):
    """Gives its attributes to every symbol made inside; scopes inside each other add up.

    `AttrScope.current` is the scope in force, and may be set to another one.

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
        """The scope's attributes, and over them those given.

        Raises
        ------
        ValueError
            The value of an attribute is not text.
        """
        for name, value in (attr or {}).items():
            if not isinstance(value, str):
                raise ValueError(f"attribute {name} is {value!r}\n  expected text")
        return self._attr | (attr or {})

    def __enter__(self) -> AttrScope:
        inner = AttrScope()
        inner._attr = AttrScope.current.get(self._attr)
        AttrScope._current.push(inner)
        return self

    def __exit__(self, *_) -> None:
        AttrScope._current.pop()


AttrScope._current = ThreadStack("attribute_scopes", AttrScope)
