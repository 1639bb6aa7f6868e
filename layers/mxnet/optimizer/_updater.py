"""An optimizer with its states; and the states as named arrays, for a file.

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

import numpy as np
import torch

from .._files import params
from .._files.params import ParamsFileError
from ..base import ArgumentError
from ..context import Context
from ..ndarray import NDArray
from ._base import Optimizer

__all__ = ["Updater", "get_updater", "pack", "unpack"]

SETTINGS = "settings"


class Updater:
    """Calls an optimizer, and keeps the states between the calls.

    ``updater(index, grad, weight)`` takes one parameter, or lists of the three.
    """

    def __init__(self, optimizer: Optimizer):
        self.optimizer = optimizer
        self.states: dict = {}
        self.states_synced: dict = {}  # whether a state is on the context of its weight

    def __call__(self, index, grad, weight) -> None:
        if not isinstance(index, (list, tuple)):
            index, grad, weight = [index], [grad], [weight]
        if not index:
            return
        optimizer, states = self.optimizer, self._states(index, weight)
        optimizer._set_current_context(weight[0]._context.device_id)
        at_once = optimizer.aggregate_num
        if at_once > 1:
            for k in range(0, len(index), at_once):
                part = slice(k, k + at_once)
                optimizer.update_multi_precision(
                    index[part], weight[part], grad[part], states[part]
                )
        else:
            for row in zip(index, weight, grad, states):
                optimizer.update_multi_precision(*row)

    def _states(self, index, weight) -> list:
        """The states of weights, made where there are none, and on their contexts."""
        for i, w in zip(index, weight):
            if not self.states_synced.get(i):
                self._make_state(i, w)
        return [self.states[i] for i in index]

    def _make_state(self, index, weight: NDArray) -> None:
        if index in self.states:
            self.states[index] = self.sync_state_context(self.states[index], weight._context)
        else:
            self.states[index] = self.optimizer.create_state_multi_precision(index, weight)
        self.states_synced[index] = True

    def sync_state_context(self, state, context: Context):
        """A state, on a context."""
        if isinstance(state, NDArray):
            return state.as_in_context(context)
        if isinstance(state, (tuple, list)):
            return type(state)(self.sync_state_context(part, context) for part in state)
        return state

    def get_states(self, dump_optimizer: bool = False) -> bytes:
        """The states as the bytes of a ``.params`` file; on request with the optimizer's settings.

        Not a pickle, as in MXNet: arrays, and JSON.
        """
        return params.writes(*pack(self, dump_optimizer))

    def set_states(self, states: bytes) -> None:
        """Take over what `get_states` gave.

        Raises
        ------
        ParamsFileError
            These are not such bytes, or those of another optimizer.
        """
        unpack(self, *params.reads(states, "states"), "states")


def get_updater(optimizer: Optimizer) -> Updater:
    """An updater for an optimizer."""
    return Updater(optimizer)


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
    """Take over states; `source` names the file in errors.

    With `weights`, NDArrays by index, the states must be such as the optimizer makes for them.
    """
    arrays = dict(zip(names, tensors))
    try:
        settings = json.loads(arrays.pop(SETTINGS).numpy().tobytes())
        states = {index: _fetch(shape, arrays) for index, shape in settings["states"]}
        counts = {int(d): dict(pairs) for d, pairs in settings["counts"].items()}
        ours, theirs = settings["optimizer"], settings["scheduler"]
    except (KeyError, TypeError, ValueError, RecursionError) as error:
        raise ParamsFileError(
            f"{source}: these are not the states of an optimizer: {error!r}\n"
            "  expected what Trainer.save_states or Updater.get_states wrote"
        ) from None
    optimizer = updater.optimizer
    if ours and ours["class"] != type(optimizer).__name__:
        raise ParamsFileError(
            f"{source}: the states are those of {ours['class']}\n"
            f"  expected {type(optimizer).__name__}"
        )
    for index, weight in (weights or {}).items():
        if index in states:
            made = optimizer.create_state_multi_precision(index, weight)
            _compare(states[index], made, f"{source}: the state of parameter {index}")
    updater.states = states
    updater.states_synced = dict.fromkeys(states, False)
    if ours:
        _set_plain(optimizer, ours)
        optimizer._all_index_update_counts = counts
        optimizer._index_update_count = counts.setdefault(0, {})
        if theirs and theirs["class"] == type(optimizer.lr_scheduler).__name__:
            _set_plain(optimizer.lr_scheduler, theirs)


def _fetch(shape, arrays: dict):
    """A state from its names, lists and nulls."""
    if shape is None:
        return None
    if isinstance(shape, str):
        return NDArray(arrays[shape], Context("cpu"))
    return tuple([_fetch(part, arrays) for part in shape])


def _compare(state, made, where: str) -> None:
    if isinstance(made, (tuple, list)) and isinstance(state, tuple) and len(made) == len(state):
        for part, expected in zip(state, made):
            _compare(part, expected, where)
    elif _kind(state) != _kind(made):
        raise ParamsFileError(f"{where} is {_kind(state)}\n  expected {_kind(made)}")


def _kind(state) -> str:
    if isinstance(state, NDArray):
        return f"{state.shape} {state.dtype.__name__}"
    return "none" if state is None else f"{len(state)} arrays"


def _set_plain(thing, settings: dict) -> None:
    """Set attributes that are there, and plain, to plain values."""
    for name, value in settings.items():
        if name in vars(thing) and _is_plain(getattr(thing, name)) and _is_plain(value):
            setattr(thing, name, value)
