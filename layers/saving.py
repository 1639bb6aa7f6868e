"""State of an optimizer as named arrays, the same on both engines, without pickle."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from ._errors import quoted
from .engine import gluon, mx, nd

__all__ = ["optimizer_state", "restore_optimizer_state"]

NamedArrays = dict[str, np.ndarray]
DEEPEST = 9  # levels of states inside states


def optimizer_state(trainer: Any) -> NamedArrays:
    """Return the state of the optimizer of a Trainer or Module as named arrays.

    It has the state of each parameter on each context: ``0/state/3/1`` is the second array of
    parameter 3 on context 0. It also has the number of updates of each parameter, and the numbers
    among the attributes of the optimizer and its scheduler. `restore_optimizer_state` takes it.

    Parameters
    ----------
    trainer : gluon.Trainer or mx.mod.Module
        A Module must have its optimizer already.

    Returns
    -------
    dict of str to numpy.ndarray
    """
    optimizer, updaters, _ = parts_of(trainer)
    arrays: NamedArrays = {}
    for k, updater in enumerate(updaters):
        for index, state in updater.states.items():
            flatten(f"{k}/state/{index}", state, arrays)
    for device, counts in optimizer._all_index_update_counts.items():
        for index, count in counts.items():
            arrays[f"count/{device}/{index}"] = np.array(count)
    for path, target in remembering(optimizer).items():
        arrays |= number_attributes(target, path)
    return arrays


def restore_optimizer_state(trainer: Any, arrays: Mapping[str, np.ndarray]) -> None:
    """Restore the state of an optimizer from the arrays of `optimizer_state`.

    Parameters
    ----------
    trainer : gluon.Trainer or mx.mod.Module
        It must have parameters of the same shapes, on as many contexts. Parameters of a Trainer
        must be initialized. The optimizer of a Module is made anew, from its present parameters.
    arrays : dict of str to numpy.ndarray

    Raises
    ------
    ValueError
        The state belongs to other parameters, or is no state of an optimizer.
    """
    prepare(trainer)
    optimizer, updaters, weights = parts_of(trainer)
    for k, updater in enumerate(updaters):
        found = unflatten(below(arrays, f"{k}/state"))
        states = {key(index): state for index, state in found.items()}
        fitted = fitting(optimizer, states, weights)
        updater.states.clear()
        updater.states.update(fitted)
        # The next update moves them to the contexts of their weights.
        updater.states_synced.clear()
        updater.states_synced.update(dict.fromkeys(updater.states, False))
    counts = optimizer._all_index_update_counts
    for found in counts.values():
        found.clear()
    for device, found in unflatten(below(arrays, "count"), count_of).items():
        counts.setdefault(int(device), {}).update({key(i): n for i, n in found.items()})
    if hasattr(optimizer, "counts_loaded"):  # MXNet's counts stay as they are on another context
        optimizer.counts_loaded()
    for path, target in remembering(optimizer).items():
        restore_numbers(target, path, arrays)


def parts_of(trainer: Any) -> tuple[Any, list, dict[Any, Any]]:
    """Return the optimizer, its updaters, and the weights by the updaters' indices."""
    if isinstance(trainer, gluon.Trainer):
        store = trainer._kvstore if trainer._update_on_kvstore else None
        updaters = [store._updater] if store else trainer._updaters
        weights = {i: p.list_data()[0] for i, p in enumerate(trainer._params)}
        return trainer.optimizer, updaters, weights
    optimizer, by_name = trainer._optimizer, trainer.get_params()[0]
    weights = by_name | {i: by_name[name] for i, name in optimizer.idx2name.items()}
    return optimizer, [trainer._updater or trainer._kvstore._updater], weights


def prepare(trainer: Any) -> None:
    """Make an updater for each context, as before the first step."""
    if not isinstance(trainer, gluon.Trainer):
        # A kvstore, used for several contexts, has its own copy of the parameters: make it anew.
        trainer.init_optimizer(optimizer=trainer._optimizer, force_init=True)
        return
    if not trainer._kv_initialized:
        trainer._init_kvstore()
    if trainer._params_to_init:
        trainer._init_params()  # copies the first context's parameters to the others


def number_attributes(target: Any, path: str) -> NamedArrays:
    """Return the numbers among the attributes of an object."""
    found = {name: value for name, value in vars(target).items() if type(value) in (int, float)}
    return {f"{path}/{name}": np.array(value) for name, value in found.items()}


def restore_numbers(target: Any, path: str, arrays: NamedArrays) -> None:
    """Set the attributes of an object to numbers that `number_attributes` returned.

    Raises
    ------
    ValueError
        The object has no such attribute, or a value is not a single number.
    """
    for name, value in below(arrays, path).items():
        if type(vars(target).get(name, "")) not in (int, float, type(None)):
            raise ValueError(f"it has a number {quoted(name)}, {type(target).__name__} has none")
        if value.shape or value.dtype.kind not in "iuf":
            raise ValueError(f"its {quoted(name)} is {value.dtype} {value.shape}, and no number")
        setattr(target, name, value.item())


def remembering(optimizer: Any) -> dict[str, Any]:
    """Return the objects with attributes that change in training: the optimizer, its scheduler."""
    scheduler = optimizer.lr_scheduler
    return {"optimizer": optimizer} | ({"scheduler": scheduler} if scheduler else {})


def flatten(path: str, state: Any, arrays: NamedArrays) -> None:
    """Add the arrays of a state to `arrays`; a state is an array, None, or a tuple of states."""
    if state is None:
        arrays[f"{path}/none"] = np.zeros(0, "uint8")
    elif isinstance(state, tuple | list):
        for i, part in enumerate(state):
            flatten(f"{path}/{i}", part, arrays)
    else:
        arrays[path] = state.asnumpy()


def fitting(optimizer: Any, states: dict[Any, Any], weights: Mapping[Any, Any]) -> dict[Any, Any]:
    """Return states in the dtypes that the optimizer makes for these weights.

    States of a user's own optimizer stay as they are: it may have changed them since it made them.

    Raises
    ------
    ValueError
        A state has another form, or belongs to no parameter of the net; the message names it.
    """
    if others := [index for index in states if index not in weights]:
        raise ValueError(f"it has a state of parameter {quoted(others[0])}, the net has none")
    if not type(optimizer).__module__.startswith(f"{mx.__name__}."):
        return states
    found = {}
    for index, state in states.items():
        made = optimizer.create_state_multi_precision(index, weights[index])
        if (its := shapes(state)) != (own := shapes(made)):
            raise ValueError(
                f"the state of parameter {quoted(index)} has the shapes {quoted(its)}, that of "
                f"this training {quoted(own)}"
            )
        found[index] = alike(state, made)
    return found


def shapes(state: Any) -> Any:
    """Return the shapes of a state's arrays, nested like the state."""
    if isinstance(state, tuple | list):
        return [shapes(part) for part in state]
    return None if state is None else state.shape


def alike(state: Any, made: Any) -> Any:
    """Return a state in the dtypes of another state of the same form."""
    if isinstance(state, tuple | list):
        return tuple(map(alike, state, made))
    return state if state is None else state.astype(made.dtype, copy=False)


def count_of(array: np.ndarray) -> int:
    """Return the number of updates of a parameter; raise ValueError if it is no count."""
    if array.shape or array.dtype.kind not in "iu" or array < 0:
        raise ValueError(f"a number of updates is {quoted(array.tolist())}; expected a count")
    return int(array)


def key(text: str) -> int | str:
    """Return the index of a parameter: a number, or a name in a Module."""
    return int(text) if text.isdigit() else text


def below(arrays: Mapping[str, Any], path: str) -> NamedArrays:
    """Return the arrays whose names begin with a path, without that path in their names."""
    return {
        name[len(path) + 1 :]: array
        for name, array in arrays.items()
        if name.startswith(f"{path}/")
    }


def unflatten(arrays: NamedArrays, make: Any = None) -> dict[str, Any]:
    """Nest arrays by the parts of their names, and return them by the first part.

    Raises ValueError if a name has more parts than a state can have levels.
    """
    if deep := next((name for name in arrays if name.count("/") > DEEPEST), None):
        raise ValueError(f"the name {quoted(deep)} has too many parts")
    parts: dict[str, NamedArrays] = {}
    for name, array in arrays.items():
        first, _, rest = name.partition("/")
        parts.setdefault(first, {})[rest] = array
    return {first: build(found, make) for first, found in parts.items()}


def build(arrays: NamedArrays, make: Any) -> Any:
    if "none" in arrays:
        return None
    if "" in arrays:
        found = arrays[""]
        return make(found) if make else nd.array(found, dtype=found.dtype)
    parts = unflatten(arrays, make)
    return parts if make else tuple([parts[str(i)] for i in range(len(parts))])
