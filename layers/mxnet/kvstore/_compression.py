"""Gradients in two bits: plus or minus a threshold, or 0, and the rest next time."""

from __future__ import annotations

from typing import Any

import torch

from .. import _dtype
from ..base import ArgumentError, MXNetError
from . import _processes

__all__ = ["TwoBit", "expect_compressing"]

PLUS, MINUS = 3, 2  # in two bits; 0 is 0
SHIFTS = (6, 4, 2, 0)  # of four numbers in a byte, the first in the highest bits


class TwoBit:
    """Compresses gradients to two bits an element, and keeps what it has left out.

    r += g, then q is ±threshold where |r| reaches it, else 0, and r -= q. Each array of a key, one
    for each context or process, has an r of its own.

    Parameters
    ----------
    settings : dict
        ``{"type": "2bit", "threshold": 0.5}``: the threshold may be left out.

    Raises
    ------
    ArgumentError
        `settings` is no dict.
    MXNetError
        It is not a type that there is, or no threshold above 0.
    """

    def __init__(self, settings: dict):
        if not isinstance(settings, dict):
            raise ArgumentError(
                f"gradient compression: {settings!r}\n  expected {{'type': '2bit'}}"
            )
        if settings.get("type") != "2bit":
            raise MXNetError(
                f"gradient compression: {settings!r}\n"
                "  expected the type '2bit', such as {'type': '2bit', 'threshold': 0.5}"
            )
        self.threshold = _number(settings.get("threshold", 0.5))
        self._residuals: dict[tuple, torch.Tensor] = {}

    def quantized(self, key: Any, gradient: torch.Tensor) -> torch.Tensor:
        """What is sent of a gradient. `key` says whose rest it is added to.

        Raises ArgumentError for a gradient of integers.
        """
        if not gradient.is_floating_point():
            raise ArgumentError(
                f"gradient compression: key {key!r} is {_dtype.name(gradient.dtype)}\n"
                "  expected a type of floats"
            )
        rest = self._residuals.get(key)
        if rest is None or rest.shape != gradient.shape or rest.dtype != gradient.dtype:
            rest = self._residuals[key] = torch.zeros_like(gradient)
        rest = self._residuals[key] = rest.to(gradient.device)
        rest += gradient
        sent = torch.zeros_like(rest)
        sent[rest >= self.threshold] = self.threshold
        sent[rest <= -self.threshold] = -self.threshold
        rest -= sent
        return sent

    def sum_over_processes(self, gradients: list[torch.Tensor], keys: list) -> None:
        """Replace gradients by the sums of what all processes send of them."""
        for key, gradient in zip(keys, gradients):
            codes = _packed(self.quantized(key, gradient))
            gradient.zero_()
            for part in _processes.gather(codes):
                gradient += self._unpacked(part, gradient)

    def _unpacked(self, codes: torch.Tensor, like: torch.Tensor) -> torch.Tensor:
        shifts = torch.tensor(SHIFTS, dtype=torch.uint8, device=codes.device)
        two = (codes[:, None] >> shifts & 3).reshape(-1)[: like.numel()]
        values = torch.zeros(4, dtype=like.dtype, device=codes.device)
        values[PLUS], values[MINUS] = self.threshold, -self.threshold
        return values[two.long()].view(like.shape)


def _packed(sent: torch.Tensor) -> torch.Tensor:
    """Four numbers in a byte."""
    flat = sent.reshape(-1)
    two = (flat > 0) * PLUS + (flat < 0) * MINUS
    two = torch.nn.functional.pad(two.to(torch.uint8), (0, -len(two) % 4)).view(-1, 4)
    shifts = torch.tensor(SHIFTS, dtype=torch.uint8, device=sent.device)
    return (two << shifts).sum(1, dtype=torch.uint8)


def _number(given: Any) -> float:
    """The threshold, which may be text."""
    try:
        found = float(given)
    except (TypeError, ValueError):
        found = 0.0
    if not 0 < found < float("inf"):
        raise MXNetError(
            f"gradient compression: the threshold is {given!r}\n  expected a number above 0"
        )
    return found


def expect_compressing(store) -> None:
    """Refuse a store that has no compression.

    Raises ArgumentError.
    """
    if not hasattr(store, "set_gradient_compression"):
        raise ArgumentError(
            f"compression_params: {type(store).__name__} does not compress gradients\n"
            "  expected none, or a store of type 'device' or 'dist_sync'"
        )
