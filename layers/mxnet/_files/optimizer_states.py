"""The states of an optimizer as named arrays, for a file.

A file of states is a ``.params`` file. Each array of a state has a name, ``"3.0"``, ``"3.1"`` and
so on for parameter 3; the array ``"settings"`` is JSON as bytes::

    states     [[3, ["3.0", ["3.1", null]]], ...]       index of a parameter, structure of its state
    optimizer  {"class": "Adam", "lr": 0.001, ...}      null without the optimizer
    scheduler  {"class": "FactorScheduler", ...}        null without one
    counts     {"0": [[3, 17], ...]}                    updates: device, [parameter, number]

It has numbers, strings and lists of them, and only these are set from it. Unlike the pickle that
MXNet writes, a file cannot run code when it is read.
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
MOST_NESTED = 8  # tuples in a state
INT_LIMIT = 1 << 63  # beyond 64 bits


def pack(updater: Updater, with_optimizer: bool) -> tuple[list[torch.Tensor], list[str]]:
    """The arrays of an updater's states, and their names."""
    arrays: dict[str, torch.Tensor] = {}
    states = [[i, _add_arrays(state, str(i), arrays)] for i, state in updater.states.items()]
    optimizer = updater.optimizer if with_optimizer else None
    scheduler = optimizer and optimizer.lr_scheduler
    counts = optimizer._all_index_update_counts if optimizer else {}
    settings = {
        "states": states,
        "optimizer": optimizer and _plain_attributes(optimizer),
        "scheduler": scheduler and _plain_attributes(scheduler),
        "counts": {
            device: list(counts_of_device.items()) for device, counts_of_device in counts.items()
        },
    }
    text = json.dumps(settings).encode()
    arrays[SETTINGS] = torch.frombuffer(bytearray(text), dtype=torch.uint8)
    return list(arrays.values()), list(arrays)


def _add_arrays(state, name: str, arrays: dict):
    """Add a state's arrays to the others; return its structure for JSON: names, lists and null."""
    if state is None:
        return None
    if isinstance(state, NDArray):
        arrays[name] = state._tensor.detach()
        return name
    if isinstance(state, (tuple, list)):
        return [_add_arrays(part, f"{name}.{k}", arrays) for k, part in enumerate(state)]
    raise ArgumentError(
        f"states: that of parameter {name} has {state!r}\n"
        "  expected None, NDArrays, and tuples of them"
    )


def _plain_attributes(target) -> dict:
    """The name of an object's class, and the attributes that JSON can hold."""
    values = {n: v.item() if isinstance(v, np.generic) else v for n, v in vars(target).items()}
    return {"class": type(target).__name__} | {n: v for n, v in values.items() if _is_plain(v)}


def _is_plain(value) -> bool:
    if isinstance(value, list):
        return all(map(_is_plain, value))
    return value is None or type(value) in (bool, int, float, str)


def unpack(updater: Updater, tensors: list, names: list[str], source: str, weights=None) -> None:
    """Set the states of an updater, all or, with an error, none; errors name `source` as the file.

    With `weights`, NDArrays by index, the states must have the shapes and dtypes of those that the
    optimizer makes for them.
    """
    optimizer, scheduler = updater.optimizer, updater.optimizer.lr_scheduler
    try:
        saved = _SavedStates(dict(zip(names, tensors)))
        changed, changed_scheduler = copy(optimizer), copy(scheduler)
        if saved.optimizer is not None:
            if not _is_of_class(optimizer, saved.optimizer):
                raise ArgumentError(
                    f"the states are those of {quoted(saved.optimizer['class'])}\n"
                    f"  expected {type(optimizer).__name__}"
                )
            _set_attributes(changed, saved.optimizer)
        has_scheduler = scheduler is not None and saved.scheduler is not None
        if has_scheduler and _is_of_class(scheduler, saved.scheduler):
            _set_attributes(changed_scheduler, saved.scheduler)
        changed.lr_scheduler = changed_scheduler
        for index, weight in (weights or {}).items():
            if index in saved.states:
                expected_state = changed.create_state_multi_precision(index, weight)
                _expect_same_form(
                    saved.states[index], expected_state, f"the state of parameter {index}"
                )
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


class _SavedStates:
    """The contents of a file of states, checked for their form but not for an optimizer.

    Raises ArgumentError where the form is wrong.

    Attributes
    ----------
    states : dict of index to state
    counts : dict of int to dict
        By device, how often each parameter was updated.
    optimizer, scheduler : dict of str to value, or None
        The name of its class, and its attributes.
    """

    def __init__(self, arrays: dict[str, torch.Tensor]):
        settings = _parse_settings(arrays.pop(SETTINGS, None))
        self.states: dict = {}
        for pair in _expect_setting(settings, "states", list):
            index, structure = _pair(pair, "states")
            if index in self.states:
                raise ArgumentError(f"parameter {quoted(index)} has two states\n  expected one")
            self.states[index] = _build_state(structure, arrays, 0)
        self.counts = {
            _device(device): dict([_count(pair) for pair in _expect_setting(counts, device, list)])
            for counts in [_expect_setting(settings, "counts", dict)]
            for device in counts
        }
        self.optimizer = _expect_setting(settings, "optimizer", dict, type(None))
        self.scheduler = _expect_setting(settings, "scheduler", dict, type(None))


def _parse_settings(array: torch.Tensor | None) -> dict:
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


def _expect_setting(settings: dict, name: str, *types: type) -> Any:
    """The setting of this name; refuse one that is of none of these types."""
    found = settings.get(name)
    if not isinstance(found, types):
        raise ArgumentError(f"{name} is {quoted(found)}\n  expected {_names[types[0]]}")
    return found


_names = {dict: "names and values", list: "a list of pairs", str: "text"}


def _pair(value: Any, name: str) -> tuple[int | str, Any]:
    """The index of a parameter, and the value that belongs to it."""
    if not isinstance(value, list) or len(value) != 2 or type(value[0]) not in (int, str):
        raise ArgumentError(f"{name} has {quoted(value)}\n  expected an index and a value")
    return value[0], value[1]


def _count(value: Any) -> tuple[int | str, int]:
    """The index of a parameter, and how often it was updated."""
    index, count = _pair(value, "counts")
    if type(count) is not int or not 0 <= count < INT_LIMIT:
        raise ArgumentError(
            f"parameter {quoted(index)} was updated {quoted(count)} times\n"
            "  expected a number, 0 or more, of 64 bits"
        )
    return index, count


def _device(text: str) -> int:
    if not re.fullmatch(r"[0-9]{1,9}", text):
        raise ArgumentError(f"counts are of device {quoted(text)}\n  expected a number")
    return int(text)


def _build_state(structure, arrays: dict, depth: int):
    """Build a state from its structure: names, lists and nulls. Each array belongs to one state."""
    if structure is None:
        return None
    if isinstance(structure, list) and depth < MOST_NESTED:
        return tuple([_build_state(part, arrays, depth + 1) for part in structure])
    if not isinstance(structure, str) or structure not in arrays:
        raise ArgumentError(
            f"a state is {quoted(structure)}\n"
            "  expected the name of an array that no other state has, "
            f"null, or lists of them, {MOST_NESTED} deep at most"
        )
    return NDArray(arrays.pop(structure), Context("cpu"))


def _expect_same_form(state, expected_state, where: str) -> None:
    if (
        isinstance(expected_state, (tuple, list))
        and isinstance(state, tuple)
        and len(expected_state) == len(state)
    ):
        for part, expected in zip(state, expected_state):
            _expect_same_form(part, expected, where)
    elif _form(state) != _form(expected_state):
        raise ArgumentError(f"{where} is {_form(state)}\n  expected {_form(expected_state)}")


def _form(state) -> str:
    if isinstance(state, NDArray):
        return f"{state.shape} {state.dtype.__name__}"
    return "none" if state is None else f"{len(state)} arrays"


def _is_of_class(target, settings: dict) -> bool:
    """Whether the settings in a file are those of an object of this class."""
    return _expect_setting(settings, "class", str) == type(target).__name__


def _set_attributes(target, settings: dict) -> None:
    """Set those attributes of an optimizer or a scheduler that a file has too.

    Raises ArgumentError where one is of another type, or where they contradict each other.
    """
    class_name = type(target).__name__
    present = {name: value for name, value in vars(target).items() if _is_plain(value)}
    present.pop("lr_scheduler", None)  # None is plain, a scheduler in its place is not
    optional = _optional(type(target))
    for name in present.keys() & settings.keys():
        value = settings[name]
        known = [present[name], *([None, 0.0] if name in optional else [])]
        if not _is_plain(value) or not any(_same_type(candidate, value) for candidate in known):
            expected = " or ".join(sorted({_type_name(candidate) for candidate in known}))
            raise ArgumentError(f"{class_name}: {name} is {quoted(value)}\n  expected {expected}")
        setattr(target, name, value)
    if hasattr(target, "_check"):  # a scheduler may be any function
        target._check()


def _optional(klass: type) -> set[str]:
    """The arguments of a class whose default is None."""
    return {
        parameter.name
        for base in klass.__mro__
        if "__init__" in vars(base) and base is not object
        for parameter in signature(base.__init__).parameters.values()
        if parameter.default is None
    }


def _same_type(ours, theirs) -> bool:
    """Whether two plain values have the same type; of lists, whether all parts have."""
    if isinstance(ours, list) and isinstance(theirs, list):
        return not ours or all(_same_type(ours[0], part) for part in theirs)
    return _type_name(ours) == _type_name(theirs)


def _type_name(value) -> str:
    """The type of a plain value in JSON's terms; integers have 64 bits."""
    if (
        isinstance(value, int)
        and not isinstance(value, bool)
        and not -INT_LIMIT <= value < INT_LIMIT
    ):
        return "a number of more than 64 bits"
    return _type_names[type(value)]


_type_names = {
    type(None): "null",
    bool: "true or false",
    int: "a number",
    float: "a number",
    str: "text",
    list: "a list",
}
