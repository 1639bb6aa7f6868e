"""torchvision, also where its own compiled operators cannot be loaded.

The published torchvision has them for PyTorch with CUDA. Beside PyTorch for CPUs its import fails,
because it describes two operators that are not there. It goes on when these are declared: they
cannot be called, and no model or transform that is measured does.
"""

from __future__ import annotations

import torch

try:
    import torchvision
except RuntimeError:
    declared = torch.library.Library("torchvision", "DEF")
    for name in ("nms", "qnms"):
        declared.define(f"{name}(Tensor dets, Tensor scores, float iou_threshold) -> Tensor")
    import torchvision

from torchvision import models, transforms

__all__ = ["models", "torchvision", "transforms"]
