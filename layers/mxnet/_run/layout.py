"""Which convolutions of compiled code are computed with the channels of a pixel side by side."""

from __future__ import annotations

import math
from collections.abc import Iterator

import torch

# What an element of an output saves, over what it costs to lay out one of a weight.
GAIN = 2


def channels_last_pays(graph: torch.fx.GraphModule) -> bool:
    """Whether the convolutions of a traced graph are faster on a CPU with the channels last.

    Those of one pixel, or of each channel by itself, are; for the others the weights are laid out
    anew in each call. Forward through ResNet-50 of 96 x 96, batch 8, takes 0.87 of the time by it,
    through MobileNet v2 0.55, through ResNet-18 of 64 x 64 to 128 x 128 1.1 to 1.3 (Zen 4).
    """
    faster = slower = 0
    for output, weight in _convolutions(graph):
        if math.prod(weight[2:]) == 1 or weight[1] == 1:
            faster += math.prod(output)
        else:
            slower += math.prod(weight)
    return GAIN * faster > slower


def _convolutions(graph: torch.fx.GraphModule) -> Iterator[tuple[torch.Size, torch.Size]]:
    """The shapes of the output and of the weight of each."""
    for node in graph.graph.nodes:
        if node.target is torch.convolution:
            weight = node.args[1]
            yield node.meta["example_value"].shape, weight.meta["example_value"].shape
