"""Epochs of a small MLP: Lightning's `Trainer.fit`, with all that can be switched off off."""

from __future__ import annotations

import logging
import warnings

import lightning
import torch
from torch.nn.functional import cross_entropy
from torch.utils.data import DataLoader

from ..data import RATE
from ..pytorch.fit import perceptron
from ..worker import Entry

EXTRAS = "logger", "enable_checkpointing", "enable_progress_bar", "enable_model_summary"


class Module(lightning.LightningModule):
    def __init__(self, net: torch.nn.Module):
        super().__init__()
        self.net, self.losses = net, []

    def training_step(self, batch, index):
        x, y = batch
        loss = cross_entropy(self.net(x), y)
        self.losses.append(loss.detach())
        return loss

    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), RATE, foreach=True)


def build(variant: str, device: str, sizes: tuple, batch: int, steps: int, epochs: int) -> Entry:
    logging.getLogger("lightning.pytorch").setLevel(logging.ERROR)
    warnings.filterwarnings("ignore", module="lightning")
    net, x, y = perceptron(sizes, batch * steps)
    module = Module(net)
    loader = DataLoader(list(zip(x.split(batch), y.split(batch))), batch_size=None)

    def step():
        module.losses.clear()
        off = dict.fromkeys(EXTRAS, False)
        trainer = lightning.Trainer(max_epochs=epochs, accelerator=device, devices=1, **off)
        trainer.fit(module, loader)

    def check():
        step()
        return torch.stack(module.losses).reshape(epochs, steps).mean(1).tolist()

    return Entry(step, check, wait=torch.cuda.synchronize if device == "gpu" else lambda: None)
