"""torchvision's ResNet-50, which is GluonCV's resnet50_v1b."""

from __future__ import annotations

from ..worker import Entry
from .vision import models
from .zoo import compute


def build(
    variant: str, device: str, net: str, size: int, batch: int, training: bool, options: dict
) -> Entry:
    if net != "resnet50_v1b":
        raise NotImplementedError(f"torchvision has no net like GluonCV's {net}")
    return compute(variant, models.resnet50(), device, size, batch, training)
