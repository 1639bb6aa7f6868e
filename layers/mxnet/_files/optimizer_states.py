"""The states of an optimizer as named arrays, for a file.

A file of states is a ``.params`` file. Each array of a state has a name, ``"3.0"``, ``"3.1"`` and
so on for parameter 3; the array ``"settings"`` is JSON as bytes::

    states     [[3, ["3.0", ["3.1", null]]], ...]       index of a parameter, structure of its state
    optimizer  {"class": "Adam", "lr": 0.001, ...}      null without the optimizer
    scheduler  {"class": "FactorScheduler", ...}        null without one
    counts     {"0": [[3, 17], ...]}                    updates: device, [parameter, number]

Only numbers, strings and lists of them are in it, and only such are set from it: reading a file
runs no code of the file's choosing, unlike the pickle that MXNet writes.
"""

from __future__ import annotations

import json
import re
from copy import copy
from inspect import signature
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from ..base import ArgumentError, quoted
from ..context import Context
from ..ndarray import NDArray
from .params import ParamsFileError

if TYPE_CHECKING:
    from ..optimizer import Updater

__all__ = ["pack", "unpack"]

SETTINGS = "settings"
DEPTH = 8  # of tuples in a state
BIG = 1 << 63


def pack(updater: Updater, with_optimizer: bool) -> tuple[list[torch.Tensor], list[str]]:
    """The arrays of an updater's states, and their names."""
    arrays: dict[str, torch.Tensor] = {}
    states = [[i, _store(state, str(i), arrays)] for i, state in updater.states.items()]
    optimizer = updater.optimizer if with_optimizer else None
    scheduler = optimizer and optimizer.lr_scheduler
    counts = optimizer._all_index_update_counts if optimizer else {}
    settings = {
        "states": states,
        "optimizer": optimizer and _plain(optimizer),
        "scheduler": scheduler and _plain(scheduler),
        "counts": {device: list(those.items()) for device, those in counts.items()},
    }
    text = json.dumps(settings).encode()
    arrays[SETTINGS] = torch.frombuffer(bytearray(text), dtype=torch.uint8)
    return list(arrays.values()), list(arrays)


def _store(state, name: str, arrays: dict):
    """Put a state's arrays among the others; what JSON keeps of it is names, lists and null."""
    if state is None:
        return None
    if isinstance(state, NDArray):
        arrays[name] = state._tensor.detach()
        return name
    if isinstance(state, (tuple, list)):
        return [_store(part, f"{name}.{k}", arrays) for k, part in enumerate(state)]
    raise ArgumentError(
        f"states: that of parameter {name} has {state!r}\n"
        "  expected None, NDArrays, and tuples of them"
    )


def _plain(thing) -> dict:
    """What of an object JSON can keep."""
    values = {n: v.item() if isinstance(v, np.generic) else v for n, v in vars(thing).items()}
    return {"class": type(thing).__name__} | {n: v for n, v in values.items() if _is_plain(v)}


def _is_plain(value) -> bool:
    if isinstance(value, list):
        return all(map(_is_plain, value))
    return value is None or type(value) in (bool, int, float, str)


def unpack(updater: Updater, tensors: list, names: list[str], source: str, weights=None) -> None:
    """Take over states, or, with an error, nothing; `source` names the file in errors.

    With `weights`, NDArrays by index, the states must be such as the optimizer makes for them.
    """
    optimizer, scheduler = updater.optimizer, updater.optimizer.lr_scheduler
    try:
        saved = _Saved(dict(zip(names, tensors)))
        changed, changed_scheduler = copy(optimizer), copy(scheduler)
        if saved.optimizer is not None:
            if not _is_of_class(optimizer, saved.optimizer):
                raise ArgumentError(
                    f"the states are those of {quoted(saved.optimizer['class'])}\n"
                    f"  expected {type(optimizer).__name__}"
                )
            _change(changed, saved.optimizer)
        has_scheduler = scheduler is not None and saved.scheduler is not None
        if has_scheduler and _is_of_class(scheduler, saved.scheduler):
            _change(changed_scheduler, saved.scheduler)
        changed.lr_scheduler = changed_scheduler
        for index, weight in (weights or {}).items():
            if index in saved.states:
                made = changed.create_state_multi_precision(index, weight)
                _compare(saved.states[index], made, f"the state of parameter {index}")
        changed._try_step(saved.counts.get(0, {}))
    except (ArgumentError, RecursionError) as error:
        raise ParamsFileError(f"{source}: {error}") from None
    updater.states = saved.states
    updater.states_synced = dict.fromkeys(saved.states, False)
    if saved.optimizer is not None:
        vars(optimizer).update(vars(changed) | {"lr_scheduler": scheduler})
        if scheduler is not None:
            vars(scheduler).update(vars(changed_scheduler))
        optimizer._all_index_update_counts = saved.counts
        optimizer._index_update_count = saved.counts.setdefault(0, {})


class _Saved:
    """What a file of states says: of the right form, whatever optimizer it is for.

    Raises ArgumentError where it is not.

    Attributes
    ----------
    states : dict of index to state
    counts : dict of int to dict
        For each device, how often each parameter was updated.
    optimizer, scheduler : dict of str to value, or None
        Their classes' names and attributes.
    """

    def __init__(self, arrays: dict[str, torch.Tensor]):
        settings = _described(arrays.pop(SETTINGS, None))
        self.states: dict = {}
        for pair in _expected(settings, "states", list):
            index, shape = _pair(pair, "states")
            if index in self.states:
                raise ArgumentError(f"parameter {quoted(index)} has two states\n  expected one")
            self.states[index] = _fetch(shape, arrays, 0)
        self.counts = {
            _device(device): dict([_count(pair) for pair in _expected(counts, device, list)])
            for counts in [_expected(settings, "counts", dict)]
            for device in counts
        }
        self.optimizer = _expected(settings, "optimizer", dict, type(None))
        self.scheduler = _expected(settings, "scheduler", dict, type(None))


def _described(array: torch.Tensor | None) -> dict:
    """The JSON in the array of settings."""
    settings = None
    if array is not None and array.dtype == torch.uint8:
        try:
            settings = json.loads(array.numpy().tobytes())
        except (ValueError, RecursionError):
            pass
    if not isinstance(settings, dict):
        raise ArgumentError(
            "these are not the states of an optimizer\n"
            "  expected what Trainer.save_states or Updater.get_states wrote"
        )
    return settings


def _expected(settings: dict, name: str, *kinds: type) -> Any:
    """What is called so, and is of one of these types."""
    found = settings.get(name)
    if not isinstance(found, kinds):
        raise ArgumentError(f"{name} is {quoted(found)}\n  expected {_names[kinds[0]]}")
    return found


_names = {dict: "names and values", list: "a list of pairs", str: "text"}


def _pair(value: Any, name: str) -> tuple[int | str, Any]:
    """The index of a parameter, and what it has."""
    if not isinstance(value, list) or len(value) != 2 or type(value[0]) not in (int, str):
        raise ArgumentError(f"{name} has {quoted(value)}\n  expected an index and a value")
    return value[0], value[1]


def _count(value: Any) -> tuple[int | str, int]:
    """The index of a parameter, and how often it was updated."""
    index, count = _pair(value, "counts")
    if type(count) is not int or not 0 <= count < BIG:
        raise ArgumentError(
            f"parameter {quoted(index)} was updated {quoted(count)} times\n"
            "  expected a number, 0 or more, of 64 bits"
        )
    return index, count


def _device(text: str) -> int:
    if not re.fullmatch(r"[0-9]{1,9}", text):
        raise ArgumentError(f"counts are of device {quoted(text)}\n  expected a number")
    return int(text)


def _fetch(shape, arrays: dict, depth: int):
    """A state from its names, lists and nulls. Each array is of one state."""
    if shape is None:
        return None
    if isinstance(shape, list) and depth < DEPTH:
        return tuple([_fetch(part, arrays, depth + 1) for part in shape])
    if not isinstance(shape, str) or shape not in arrays:
        raise ArgumentError(
            f"a state is {quoted(shape)}\n  expected the name of an array that no other state has, "
            f"null, or lists of them, {DEPTH} deep at most"
        )
    return NDArray(arrays.pop(shape), Context("cpu"))


def _compare(state, made, where: str) -> None:
    if isinstance(made, (tuple, list)) and isinstance(state, tuple) and len(made) == len(state):
        for part, expected in zip(state, made):
            _compare(part, expected, where)
    elif _form(state) != _form(made):
        raise ArgumentError(f"{where} is {_form(state)}\n  expected {_form(made)}")


def _form(state) -> str:
    if isinstance(state, NDArray):
        return f"{state.shape} {state.dtype.__name__}"
    return "none" if state is None else f"{len(state)} arrays"


def _is_of_class(thing, settings: dict) -> bool:
    """Whether the attributes in a file are those of an object of this class."""
    return _expected(settings, "class", str) == type(thing).__name__


def _change(thing, settings: dict) -> None:
    """Set the attributes of a file that an optimizer or a scheduler has as well.

    Raises ArgumentError where one is of another kind, or they do not go together.
    """
    ours = type(thing).__name__
    present = {name: value for name, value in vars(thing).items() if _is_plain(value)}
    present.pop("lr_scheduler", None)  # None is plain, and what it stands for is not
    optional = _optional(type(thing))
    for name in present.keys() & settings.keys():
        value = settings[name]
        known = [present[name], *([None, 0.0] if name in optional else [])]
        if not _is_plain(value) or not any(_alike(one, value) for one in known):
            expected = " or ".join(sorted({_kind(one) for one in known}))
            raise ArgumentError(f"{ours}: {name} is {quoted(value)}\n  expected {expected}")
        setattr(thing, name, value)
    if hasattr(thing, "_check"):  # a scheduler may be any function
        thing._check()


def _optional(klass: type) -> set[str]:
    """The arguments of a class that are None where they are not given."""
    return {
        parameter.name
        for base in klass.__mro__
        if "__init__" in vars(base) and base is not object
        for parameter in signature(base.__init__).parameters.values()
        if parameter.default is None
    }


def _alike(ours, theirs) -> bool:
    """Whether two plain values are of one kind; lists, whether all their parts are."""
    if isinstance(ours, list) and isinstance(theirs, list):
        return not ours or all(_alike(ours[0], part) for part in theirs)
    return _kind(ours) == _kind(theirs)


def _kind(value) -> str:
    """What a plain value is, as JSON names it; numbers are of 64 bits."""
    if isinstance(value, int) and not isinstance(value, bool) and not -BIG <= value < BIG:
        return "a number of more than 64 bits"
    return _kinds[type(value)]


_kinds = {
    type(None): "null",
    bool: "true or false",
    int: "a number",
    float: "a number",
    str: "text",
    list: "a list",
}
