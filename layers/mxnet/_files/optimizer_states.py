"""The states of an optimizer, in the pickle that MXNet writes and reads.

A file is the pickle of a dict, or of a pair of it and the optimizer::

    {3: (array, array), ...}        index of a parameter: its state, None, an array or a tuple
    SGD                             with its attributes, and in them those of its scheduler

Only numbers, strings, lists and tables of them are set from it, and the counts of updates; a
schedule of another class than the present one is made anew, if its class is one of MXNet's. Unlike
for MXNet, a file cannot run code when it is read: see `pickled`.
"""

from __future__ import annotations

from collections.abc import Iterator
from copy import copy
from inspect import signature
from os import PathLike, fsdecode
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from .. import lr_scheduler as schedulers
from .._sparse.array import wrap
from .._sparse.stored import RowSparse, Stored
from ..base import ArgumentError, quoted
from ..context import Context
from ..ndarray import NDArray
from . import pickled
from .opening import open_file, write_files
from .params import ParamsFileError
from .pickled import Record

if TYPE_CHECKING:
    from ..optimizer import Optimizer, Updater

__all__ = ["dumps", "load", "loads", "save"]

MOST_NESTED = 8  # tuples in a state
INT_LIMIT = 1 << 63  # beyond 64 bits
# Attributes of an optimizer that are dicts, by index or name, with the type of their values.
TABLES = {"lr_mult": float, "wd_mult": float, "idx2name": str}
# What MXNet's optimizers have, and those here have not. SGD and its like take as many weights at
# once there.
MXNET_ATTRIBUTES = {"sym_info": (), "allow_np_array": False, "aggregate_num": 0}
MXNET_ATTRIBUTES_OF: dict[str, dict] = {
    "SGD": {"aggregate_num": 4},
    "ccSGD": {"aggregate_num": 4},
    "LAMB": {"aggregate_num": 45},
    "LARS": {"aggregate_num": 4, "skip": 0, "last_lr": None, "cur_lr": None},
    "DCASGD": {"weight_previous": {}},
    "LBSGD": {"lbmult": 1, "cumgrads": {}, "adaptive": False, "admult": 1},
}


def save(path: str | PathLike, updater: Updater, with_optimizer: bool) -> None:
    """Write the states of an updater; the file appears whole or not at all."""
    write_files({path: _pieces(updater, with_optimizer)})


def dumps(updater: Updater, with_optimizer: bool) -> bytes:
    """The bytes of the file that `save` writes."""
    return b"".join(_pieces(updater, with_optimizer))


def _pieces(updater: Updater, with_optimizer: bool) -> Iterator[bytes | memoryview]:
    states = {i: _tensors(state, i) for i, state in updater.states.items()}
    return pickled.pieces((states, _as_record(updater.optimizer)) if with_optimizer else states)


def _tensors(state, index):
    if state is None:
        return None
    if isinstance(state, NDArray):
        return _stored(state) if state.stype != "default" else state._tensor.detach()
    if isinstance(state, (tuple, list)):
        return tuple([_tensors(part, index) for part in state])
    raise ArgumentError(
        f"states: that of parameter {index} has {state!r}\n"
        "  expected None, NDArrays, and tuples of them"
    )


def _stored(state: NDArray) -> Stored:
    """What is stored of a sparse state, with all rows or none: MXNet reads no others."""
    stored = state._stored
    if not isinstance(stored, RowSparse) or not len(stored.rows):
        return stored
    return RowSparse(stored.shape, stored.to_dense(), torch.arange(stored.shape[0]))


def _as_record(optimizer: Optimizer) -> Record:
    """An optimizer as MXNet has it, with the attributes that are plain."""
    scheduler, kind = optimizer.lr_scheduler, type(optimizer).__name__
    attributes = MXNET_ATTRIBUTES | MXNET_ATTRIBUTES_OF.get(kind, {}) | _plain_attributes(optimizer)
    attributes |= {name: getattr(optimizer, name) for name in TABLES}
    counts = optimizer._all_index_update_counts
    attributes |= {"_all_index_update_counts": counts, "_index_update_count": {}}
    known = scheduler is not None and hasattr(scheduler, "__dict__")
    attributes["lr_scheduler"] = (
        Record(_name_in_mxnet(scheduler), _plain_attributes(scheduler)) if known else None
    )
    return Record(_name_in_mxnet(optimizer), attributes)


def _name_in_mxnet(target) -> str:
    name = f"{type(target).__module__}.{type(target).__qualname__}"
    return name.removeprefix("layers.") if name.startswith("layers.mxnet.") else name


def _plain_attributes(target) -> dict:
    """The attributes of an object that are numbers, text, and lists of them."""
    values = {n: v.item() if isinstance(v, np.generic) else v for n, v in vars(target).items()}
    return {n: v for n, v in values.items() if _is_plain(v)}


def _is_plain(value) -> bool:
    if isinstance(value, list):
        return all(map(_is_plain, value))
    return value is None or type(value) in (bool, int, float, str)


def load(path: str | PathLike, updaters: list[Updater], weights=None, keys=None) -> None:
    """Set the states of updaters from a file: see `loads`. Each has arrays of its own."""
    with open_file(path) as file:
        data = file.read()
    for updater in updaters:
        loads(updater, data, fsdecode(path), weights, keys)


def loads(updater: Updater, data: bytes, source: str, weights=None, keys=None) -> None:
    """Set the states of an updater, all or, with an error, none; errors name `source` as the file.

    With `weights`, NDArrays by index, the states must have the shapes and dtypes of those that the
    optimizer makes for them. `keys` are the indices of parameters that have others in the file.
    """
    optimizer = updater.optimizer
    present_scheduler = scheduler = optimizer.lr_scheduler
    try:
        saved = _SavedStates(_parsed(data, source), keys or {})
        changed = copy(optimizer)
        if saved.optimizer is not None:
            if not _is_of_class(optimizer, saved.optimizer):
                raise ArgumentError(
                    f"the states are those of {quoted(saved.optimizer.name)}\n"
                    f"  expected {type(optimizer).__name__}"
                )
            _set_attributes(changed, saved.optimizer.attributes)
            _set_tables(changed, saved.optimizer.attributes)
            scheduler = _scheduler(saved.optimizer.attributes.get("lr_scheduler"), scheduler)
        changed.lr_scheduler = copy(scheduler)
        for index, weight in (weights or {}).items():
            if index in saved.states:
                expected_state = changed.create_state_multi_precision(index, weight)
                _expect_same_form(
                    saved.states[index], expected_state, f"the state of parameter {index}"
                )
        changed._try_step(next(filter(None, saved.counts.values()), {}))
    except ParamsFileError:
        raise
    except (ArgumentError, RecursionError) as error:
        raise ParamsFileError(f"{source}: {error}") from None
    updater.states = saved.states
    updater.states_synced = dict.fromkeys(saved.states, False)
    if saved.optimizer is not None:
        if type(present_scheduler) is type(scheduler) and scheduler is not None:
            vars(present_scheduler).update(vars(scheduler))
            scheduler = present_scheduler  # which the program may hold, too
        vars(optimizer).update(vars(changed) | {"lr_scheduler": scheduler})
        optimizer._all_index_update_counts = saved.counts
        optimizer._index_update_count = saved.counts.setdefault(0, {})
        optimizer.counts_loaded()


def _parsed(data: bytes, source: str) -> Any:
    if data[:1] != b"\x80":
        raise ArgumentError(
            f"these are not the states of an optimizer; they begin with {data[:8]!r}\n"
            "  expected what Trainer.save_states or Updater.get_states wrote, a pickle"
        )
    return pickled.reads(data, source)


class _SavedStates:
    """The contents of a file of states, checked for their form but not for an optimizer.

    Raises ArgumentError where the form is wrong.

    Attributes
    ----------
    states : dict of index to state
    counts : dict of int to dict
        By device, how often each parameter was updated.
    optimizer : Record, or None
    """

    def __init__(self, content: Any, keys: dict):
        pair = content if isinstance(content, tuple) else (content, None)
        states, optimizer = pair if len(pair) == 2 else (None, None)
        if not isinstance(states, dict) or not isinstance(optimizer, Record | None):
            raise ArgumentError(
                "these are not the states of an optimizer\n"
                "  expected what Trainer.save_states or Updater.get_states wrote"
            )
        self.optimizer = optimizer
        self.states = {keys.get(i, i): _build_state(state, 0) for i, state in states.items()}
        attributes = optimizer.attributes if optimizer else {}
        # MXNet before 1.4 counted the updates of all devices together.
        together = {0: attributes.get("_index_update_count", {})}
        self.counts = {
            _expect_device(device): {
                i: _expect_count(i, n) for i, n in _expect_dict(of, "counts").items()
            }
            for device, of in _expect_dict(
                attributes.get("_all_index_update_counts", together), "counts"
            ).items()
        }


def _expect_dict(value: Any, name: str) -> dict:
    if not isinstance(value, dict):
        raise ArgumentError(f"{name} is {quoted(value)}\n  expected names and values")
    return value


def _expect_count(index: int | str, count: Any) -> int:
    """The number of updates of a parameter; refuse what cannot be one."""
    if type(count) is not int or not 0 <= count < INT_LIMIT:
        raise ArgumentError(
            f"parameter {quoted(index)} was updated {quoted(count)} times\n"
            "  expected a number, 0 or more, of 64 bits"
        )
    return count


def _expect_device(number: int | str) -> int:
    if not isinstance(number, int) or not 0 <= number < 1 << 30:
        raise ArgumentError(f"counts are of device {quoted(number)}\n  expected a number")
    return number


def _build_state(structure, depth: int):
    """A state of arrays, tuples of them and None."""
    if structure is None:
        return None
    if isinstance(structure, torch.Tensor):
        return NDArray(structure, Context("cpu"))
    if isinstance(structure, Stored):
        return wrap(structure, Context("cpu"))
    if type(structure) in (list, tuple) and depth < MOST_NESTED:
        return tuple([_build_state(part, depth + 1) for part in structure])
    raise ArgumentError(
        f"a state is {quoted(structure)}\n"
        "  expected an array that no other state has, "
        f"None, or tuples of them, {MOST_NESTED} deep at most"
    )


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
        sparse = "" if state.stype == "default" else f"{state.stype} "
        return f"{sparse}{state.shape} {state.dtype.__name__}"
    return "none" if state is None else f"{len(state)} arrays"


def _is_of_class(target, saved: Record) -> bool:
    """Whether what is in a file was an object of this class."""
    return saved.name.rpartition(".")[2] == type(target).__name__


def _scheduler(saved: Any, present):
    """The scheduler that a file has: a copy of the present one, changed, or one made anew.

    Raises ArgumentError where its class is neither that of the present one nor one of MXNet's.
    """
    if saved is None:
        return None
    known = {f"mxnet.lr_scheduler.{name}": getattr(schedulers, name) for name in schedulers.__all__}
    if not isinstance(saved, Record):
        raise ArgumentError(f"lr_scheduler is {quoted(saved)}\n  expected a scheduler, or None")
    if present is not None and _is_of_class(present, saved):
        scheduler = copy(present)
    elif (klass := known.get(saved.name)) is not None:
        required = [p.name for p in signature(klass).parameters.values() if p.default is p.empty]
        if missing := [name for name in required if name not in saved.attributes]:
            raise ArgumentError(f"{klass.__name__} has no {missing[0]}\n  expected its settings")
        scheduler = klass(
            **dict.fromkeys(required, [1] if klass is schedulers.MultiFactorScheduler else 1)
        )
    else:
        raise ArgumentError(
            f"the learning rate follows {quoted(saved.name)}, a class that no file brings along\n"
            "  expected an optimizer with a lr_scheduler of this class, whose numbers are then "
            f"set; there is {'none' if present is None else type(present).__name__}"
        )
    _set_attributes(scheduler, saved.attributes)
    return scheduler


def _set_tables(optimizer, settings: dict) -> None:
    """Set the factors of an optimizer, and its names of parameters, to those of a file."""
    for name in TABLES.keys() & settings.keys():
        table = _expect_dict(settings[name], name)
        for key, value in table.items():
            if not _same_type(TABLES[name](), value):
                raise ArgumentError(
                    f"{name} of parameter {quoted(key)} is {quoted(value)}\n"
                    f"  expected {_type_name(TABLES[name]())}"
                )
        setattr(optimizer, name, dict(table))


def _set_attributes(target, settings: dict) -> None:
    """Set those attributes of an optimizer or a scheduler that a file has too.

    Raises ArgumentError where one is of another type, or where they contradict each other.
    """
    class_name = type(target).__name__
    present = {name: value for name, value in vars(target).items() if _is_plain(value)}
    present.pop("lr_scheduler", None)  # None is plain, a scheduler in its place is not
    optional = _optional_arguments(type(target))
    for name in present.keys() & settings.keys():
        value = settings[name]
        known = [present[name], *([None, 0.0] if name in optional else [])]
        if not _is_plain(value) or not any(_same_type(candidate, value) for candidate in known):
            expected = " or ".join(sorted({_type_name(candidate) for candidate in known}))
            raise ArgumentError(f"{class_name}: {name} is {quoted(value)}\n  expected {expected}")
        setattr(target, name, value)
    if hasattr(target, "_check"):  # a scheduler may be any function
        target._check()


def _optional_arguments(klass: type) -> set[str]:
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
    """The type of a plain value; integers have 64 bits."""
    if (
        isinstance(value, int)
        and not isinstance(value, bool)
        and not -INT_LIMIT <= value < INT_LIMIT
    ):
        return "a number of more than 64 bits"
    return _type_names.get(type(value), type(value).__name__)


_type_names = {
    type(None): "null",
    bool: "true or false",
    int: "a number",
    float: "a number",
    str: "text",
    list: "a list",
}
