"""Products of attention, of projections that lie beside each other in one array."""

from __future__ import annotations

import math

import torch

from ..base import ShapeError
from .product import bmm
from .registry import REQUIRED, Tensor, op


@op(same=True)
def _contrib_div_sqrt_dim(data: Tensor) -> Tensor:
    """data / √d, for d elements along the last axis; for integers √d is truncated first."""
    root = math.sqrt(data.shape[-1])
    if data.is_floating_point():
        return data / root
    return torch.div(data, int(root), rounding_mode="trunc")


def _parts(name, x, heads, count):
    """`count` arrays (batch heads, length, d) of one (length, batch, heads count d)."""
    if x.dim() != 3 or heads < 1 or x.shape[2] % (heads * count):
        raise ShapeError(
            f"{name}: an input is {tuple(x.shape)}, heads is {heads}\n"
            f"  expected (length, batch, heads {count} d), and heads of 1 or more"
        )
    length, batch, _ = x.shape
    x = x.reshape(length, batch, heads, count, -1).permute(3, 1, 2, 0, 4)
    return [part.reshape(batch * heads, length, -1) for part in x]


def _scores(q, k):
    return bmm(q / math.sqrt(q.shape[-1]), k.mT)


def _heads_last(x, heads):
    """(batch heads, length, d) as (length, batch, heads d)."""
    batch, length = x.shape[0] // heads, x.shape[1]
    return x.reshape(batch, heads, length, -1).permute(2, 0, 1, 3).reshape(length, batch, -1)


@op(names_input=True)
def _contrib_interleaved_matmul_selfatt_qk(
    queries_keys_values: Tensor, heads: int = REQUIRED
) -> Tensor:
    """q kᵀ / √d for each head of self-attention.

    queries_keys_values : (length, batch, heads 3 d)      y : (batch heads, length, length)
    """
    q, k, _ = _parts("_contrib_interleaved_matmul_selfatt_qk", queries_keys_values, heads, 3)
    return _scores(q, k)


@op
def _contrib_interleaved_matmul_selfatt_valatt(
    queries_keys_values: Tensor, attention: Tensor, heads: int = REQUIRED
) -> Tensor:
    """attention v for each head of self-attention.

    queries_keys_values : (length, batch, heads 3 d)      attention : (batch heads, length, length)
    y : (length, batch, heads d)
    """
    name = "_contrib_interleaved_matmul_selfatt_valatt"
    return _heads_last(bmm(attention, _parts(name, queries_keys_values, heads, 3)[2]), heads)


@op
def _contrib_interleaved_matmul_encdec_qk(
    queries: Tensor, keys_values: Tensor, heads: int = REQUIRED
) -> Tensor:
    """q kᵀ / √d for each head of attention to another sequence.

    queries : (m, batch, heads d)      keys_values : (n, batch, heads 2 d)
    y : (batch heads, m, n)
    """
    name = "_contrib_interleaved_matmul_encdec_qk"
    return _scores(*_parts(name, queries, heads, 1), _parts(name, keys_values, heads, 2)[0])


@op
def _contrib_interleaved_matmul_encdec_valatt(
    keys_values: Tensor, attention: Tensor, heads: int = REQUIRED
) -> Tensor:
    """attention v for each head of attention to another sequence.

    keys_values : (n, batch, heads 2 d)      attention : (batch heads, m, n)
    y : (m, batch, heads d)
    """
    name = "_contrib_interleaved_matmul_encdec_valatt"
    return _heads_last(bmm(attention, _parts(name, keys_values, heads, 2)[1]), heads)
