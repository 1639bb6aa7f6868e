"""Hostile files of optimizer states: those of the Trainer, with changed values or instructions."""

from __future__ import annotations

import random
from functools import cache
from typing import Any

import torch

from layers.mxnet import autograd, gluon, lr_scheduler, nd
from layers.mxnet._files import pickled
from layers.mxnet._files.pickled import Record

from .values import changed_bytes, changed_tree

SCHEDULERS = {
    "factor": lambda: lr_scheduler.FactorScheduler(2, 0.5, base_lr=0.1),
    "multi": lambda: lr_scheduler.MultiFactorScheduler([2, 4], 0.5, base_lr=0.1, warmup_steps=1),
    "poly": lambda: lr_scheduler.PolyScheduler(9, 0.1),
    "cosine": lambda: lr_scheduler.CosineScheduler(9, 0.1),
    "none": lambda: None,
}
KINDS = [
    (optimizer, scheduler)
    for optimizer in ("sgd", "nag", "adam", "adamax", "nadam", "rmsprop", "ftrl", "adadelta")
    for scheduler in SCHEDULERS
]


class Training:
    """A network and a Trainer of one kind, after a step."""

    def __init__(self, optimizer: str, scheduler: str):
        self.net = gluon.nn.Dense(2, in_units=3)
        self.net.initialize()
        arguments = {"lr_scheduler": SCHEDULERS[scheduler]()}
        self.trainer = gluon.Trainer(self.net.collect_params(), optimizer, arguments)
        self.step()

    def step(self) -> None:
        with autograd.record():
            loss = self.net(nd.ones((1, 3))).sum()
        loss.backward()
        self.trainer.step(1)

    def facts(self) -> Any:
        """What a file could change."""
        optimizer, updater = self.trainer.optimizer, self.trainer._updaters[0]
        plain = {n: v for n, v in vars(optimizer).items() if isinstance(v, int | float | str)}
        states = {
            i: [part.asnumpy().tolist() for part in parts(s)] for i, s in updater.states.items()
        }
        scheduler = optimizer.lr_scheduler and dict(vars(optimizer.lr_scheduler))
        return repr((plain, optimizer._all_index_update_counts, scheduler, states))


def parts(state) -> list[nd.NDArray]:
    """The arrays of a state."""
    if state is None:
        return []
    return (
        [array for part in state for array in parts(part)] if isinstance(state, tuple) else [state]
    )


@cache
def valid(kind: tuple[str, str]) -> bytes:
    """What `save_states` writes."""
    return Training(*kind).trainer._updaters[0].get_states(dump_optimizer=True)


def changed_value(rng: random.Random, value: Any) -> Any:
    """A value of a file with something else in it: an array, an attribute, a key, an order."""
    if isinstance(value, Record):
        attributes = changed_tree(rng, {n: v for n, v in value.attributes.items() if n != NESTED})
        if not isinstance(attributes, dict):
            return attributes
        nested = value.attributes.get(NESTED)
        if isinstance(nested, Record) and rng.random() < 0.5:
            nested = changed_value(rng, nested)
        name = value.name if rng.random() < 0.9 else rng.choice(["", "os.system", "a.Adam"])
        return Record(name, {str(n): v for n, v in attributes.items()} | {NESTED: nested})
    if isinstance(value, torch.Tensor):
        other = torch.zeros(rng.choice([(1,), (2,), (2, 3), (0,)]))
        return rng.choice([other, value.half(), value.long(), None, [value], 3, "x"])
    if isinstance(value, (tuple, dict)) and value:
        keys = list(value) if isinstance(value, dict) else list(range(len(value)))
        parts = dict(value) if isinstance(value, dict) else dict(enumerate(value))
        key = rng.choice(keys)
        if rng.random() < 0.2:
            del parts[key]
        else:
            parts[key] = changed_value(rng, parts[key])
        return parts if isinstance(value, dict) else tuple(parts.values())
    return rng.choice([None, (), {}, 0, "x", (value, value)])


NESTED = "lr_scheduler"


class States:
    """The files, and the Trainer that loads them: of the same kind, and a new one after a load."""

    def __init__(self):
        self.kind = KINDS[0]
        self._trainings: dict[tuple[str, str], Training] = {}

    def make(self, rng: random.Random) -> dict[str, bytes]:
        """A file whose values or bytes are changed."""
        self.kind = rng.choice(KINDS)
        data = valid(self.kind)
        change = rng.randrange(10)
        if change < 4:
            data = changed_bytes(rng, data)
        elif change < 9:
            value = changed_value(rng, pickled.reads(data, "valid"))
            data = b"".join(pickled.pieces(value))
        return {"a.states": data}

    @property
    def training(self) -> Training:
        """The one that is to load the file."""
        if self.kind not in self._trainings:
            self._trainings[self.kind] = Training(*self.kind)
        return self._trainings[self.kind]

    def read(self, folder) -> Training:
        training = self.training
        training.trainer.load_states(folder / "a.states")
        del self._trainings[self.kind]  # loaded, it is as the file says
        return training

    def left(self) -> Any:
        return self.training.facts()
