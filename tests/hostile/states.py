"""Hostile files of optimizer states: those of the Trainer, with changed settings or arrays."""

from __future__ import annotations

import json
import random
from functools import cache
from typing import Any

import numpy as np
import torch

from layers.mxnet import autograd, gluon, lr_scheduler, nd
from layers.mxnet._files import params
from layers.mxnet.optimizer.optimizer import pack

from .values import changed_bytes, changed_text, changed_tree

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
def valid(kind: tuple[str, str]) -> tuple[list[torch.Tensor], list[str]]:
    """The arrays that `save_states` writes."""
    return pack(Training(*kind).trainer._updaters[0], True)


class States:
    """The files, and the Trainer that loads them: of the same kind, and a new one after a load."""

    def __init__(self):
        self.kind = KINDS[0]
        self._trainings: dict[tuple[str, str], Training] = {}

    def make(self, rng: random.Random) -> dict[str, bytes]:
        """A file whose settings, arrays or bytes are changed."""
        self.kind = rng.choice(KINDS)
        tensors, names = valid(self.kind)
        arrays = dict(zip(names, tensors))
        change = rng.randrange(10)
        if change == 0:
            return {"a.states": changed_bytes(rng, params.writes(tensors, names))}
        if change == 1:
            arrays[rng.choice(names)] = torch.zeros(rng.choice([(), (2,), (2, 3), (0,)]))
        elif change == 2:
            name = rng.choice(names)
            arrays[name] = arrays[name].to(rng.choice([torch.float16, torch.int64, torch.bool]))
        elif change == 3:
            del arrays[rng.choice(names)]
        if "settings" in arrays and arrays["settings"].dtype == torch.uint8:
            content = arrays["settings"].numpy().tobytes()
            if change > 2 and content:
                content = changed_text(rng, json.dumps(changed_tree(rng, json.loads(content))))
            arrays["settings"] = torch.from_numpy(np.frombuffer(content, np.uint8).copy())
        return {"a.states": params.writes(list(arrays.values()), list(arrays))}

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
