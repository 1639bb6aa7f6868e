"""Classes by name: how initializers and metrics are found, and a user's own kinds of thing."""

from __future__ import annotations

import json
import re
import warnings
from collections.abc import Callable
from inspect import signature

from .._errors import did_you_mean
from .base import ArgumentError, quoted

__all__ = ["get_alias_func", "get_create_func", "get_register_func", "get_registry"]


def built(klass: type, *args, **kwargs):
    """Make an object of a class.

    Raises
    ------
    ArgumentError
        An argument is unknown; the known ones are told.
    """
    try:
        return klass(*args, **kwargs)
    except TypeError as error:
        unknown = re.search(r"__init__\(\) got an unexpected keyword argument '(\w+)'$", str(error))
        if not (unknown and unknown[1] in kwargs):
            raise
        known = _arguments(klass)
        raise ArgumentError(
            f"{klass.__name__}: unexpected argument {unknown[1]!r}"
            f"{did_you_mean(unknown[1], known)}\n  expected one of {', '.join(known)}"
        ) from error


def _arguments(klass: type) -> list[str]:
    """What its `__init__` takes by name, and those of its bases that are handed the rest."""
    found: dict[str, None] = {}
    for base in klass.__mro__:
        if "__init__" not in vars(base):
            continue
        parameters = list(signature(base.__init__).parameters.values())[1:]
        named = [p.name for p in parameters if p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD)]
        found |= dict.fromkeys(named)
        if not any(p.kind is p.VAR_KEYWORD for p in parameters):
            break
    return list(found)


_REGISTRY: dict[type, dict[str, type]] = {}


def get_registry(base_class: type) -> dict[str, type]:
    """A copy of the names and classes registered under a base class."""
    return dict(_REGISTRY.get(base_class, {}))


def get_register_func(base_class: type, nickname: str) -> Callable:
    """A function ``register(klass, name=None)``, also a decorator, for subclasses of a class."""
    registry = _REGISTRY.setdefault(base_class, {})

    def register(klass: type, name: str | None = None) -> type:
        if not (isinstance(klass, type) and issubclass(klass, base_class)):
            raise ArgumentError(
                f"{nickname}.register: {klass!r}\n  expected a subclass of {base_class.__name__}"
            )
        name = (name or klass.__name__).lower()
        known = registry.get(name, klass)
        if known is not klass:
            warnings.warn(
                f"{nickname} {klass.__module__}.{klass.__name__} registered with name {name} "
                f"replaces {known.__module__}.{known.__name__}",
                UserWarning,
                stacklevel=2,
            )
        registry[name] = klass
        return klass

    register.__doc__ = f"Register a {nickname} class under its lower-case name."
    return register


def get_alias_func(base_class: type, nickname: str) -> Callable:
    """A decorator ``alias(*names)`` that registers a class under other names."""
    register = get_register_func(base_class, nickname)

    def alias(*aliases: str) -> Callable:
        def decorate(klass: type) -> type:
            for name in aliases:
                register(klass, name)
            return klass

        return decorate

    alias.__doc__ = f"Register a {nickname} class under other names too."
    return alias


def _described(text: str, nickname: str) -> dict:
    """What ``["name", {...}]`` or ``{nickname: "name", ...}`` says, in the second form."""
    try:
        found = json.loads(text)
        if isinstance(found, list):
            name, arguments = found
            found = {nickname: name, **arguments}
    except (ValueError, TypeError, RecursionError):
        found = {}
    if not isinstance(found.get(nickname), str):
        raise ArgumentError(
            f'no description\n  expected ["name", {{...}}] or {{"{nickname}": ...}}'
        )
    return found


def get_create_func(base_class: type, nickname: str) -> Callable:
    """A function ``create(name, *args, **kwargs)`` that makes an object of a registered class.

    The name may also be an object of the class, which is returned, or JSON: ``["name", {...}]``
    with the arguments, or ``{nickname: "name", ...}``, also as a dict.
    """
    registry = _REGISTRY.setdefault(base_class, {})

    def create(*args, **kwargs):
        name, args = (args[0], args[1:]) if args else (kwargs.pop(nickname, None), ())
        if isinstance(name, base_class):
            if args or kwargs:
                raise ArgumentError(
                    f"{nickname}: {name!r} with arguments\n"
                    "  expected none beside an object that is made already"
                )
            return name
        if isinstance(name, dict):
            return create(**name)
        if not isinstance(name, str):
            raise ArgumentError(f"{nickname} is {name!r}\n  expected a name")
        if name.startswith(("[", "{")):
            try:
                return create(**_described(name, nickname))
            except (TypeError, ValueError) as error:
                raise ArgumentError(f"{nickname} {quoted(name)}: {error}") from error
        if name.lower() not in registry:
            raise ArgumentError(
                f"{nickname} {quoted(name)} is not registered\n"
                f"  expected one of {', '.join(sorted(registry))}"
            )
        return built(registry[name.lower()], *args, **kwargs)

    create.__doc__ = f"Make a {nickname} from a registered name, or from JSON."
    return create
