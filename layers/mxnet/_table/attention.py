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


def _weighted(name, attention, values, rows=None):
    """attention v; `rows` is how many rows attention must have, None if any number will do."""
    batch, length, _ = values.shape
    shape = tuple(attention.shape)
    if len(shape) != 3 or shape != (batch, shape[1] if rows is None else rows, length):
        raise ShapeError(
            f"{name}: attention is {shape}, the values of all heads are {tuple(values.shape)}\n"
            f"  expected attention ({batch}, {'m' if rows is None else rows}, {length})"
        )
    return bmm(attention, values)


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


def _part_shape(shape, heads, count):
    """The length, the batch with its heads, and the width of a part; None as `_parts` refuses."""
    if len(shape) != 3 or heads < 1 or shape[2] % (heads * count):
        return None
    return shape[0], shape[1] * heads, shape[2] // count


@_contrib_interleaved_matmul_selfatt_qk.shaped
def _(queries_keys_values, heads):
    part = _part_shape(queries_keys_values, heads, 3)
    return part and (part[1], part[0], part[0])


@op
def _contrib_interleaved_matmul_selfatt_valatt(
    queries_keys_values: Tensor, attention: Tensor, heads: int = REQUIRED
) -> Tensor:
    """attention v for each head of self-attention.

    queries_keys_values : (length, batch, heads 3 d)      attention : (batch heads, length, length)
    y : (length, batch, heads d)
    """
    name = "_contrib_interleaved_matmul_selfatt_valatt"
    values = _parts(name, queries_keys_values, heads, 3)[2]
    return _heads_last(_weighted(name, attention, values, len(values[0])), heads)


@_contrib_interleaved_matmul_selfatt_valatt.shaped
def _(queries_keys_values, attention, heads):
    part = _part_shape(queries_keys_values, heads, 3)
    if part is None or attention != (part[1], part[0], part[0]):
        return None
    return part[0], queries_keys_values[1], part[2]


@op
def _contrib_interleaved_matmul_encdec_qk(
    queries: Tensor, keys_values: Tensor, heads: int = REQUIRED
) -> Tensor:
    """q kᵀ / √d for each head of attention to another sequence.

    queries : (m, batch, heads d)      keys_values : (n, batch, heads 2 d)
    y : (batch heads, m, n)
    """
    name = "_contrib_interleaved_matmul_encdec_qk"
    q, k = *_parts(name, queries, heads, 1), _parts(name, keys_values, heads, 2)[0]
    if q.shape[::2] != k.shape[::2]:
        raise ShapeError(
            f"{name}: queries is {tuple(queries.shape)}, keys_values is "
            f"{tuple(keys_values.shape)}\n  expected one batch, and keys_values twice as wide"
        )
    return _scores(q, k)


@_contrib_interleaved_matmul_encdec_qk.shaped
def _(queries, keys_values, heads):
    q, k = _part_shape(queries, heads, 1), _part_shape(keys_values, heads, 2)
    return (q[1], q[0], k[0]) if q and k and q[1:] == k[1:] else None


@op
def _contrib_interleaved_matmul_encdec_valatt(
    keys_values: Tensor, attention: Tensor, heads: int = REQUIRED
) -> Tensor:
    """attention v for each head of attention to another sequence.

    keys_values : (n, batch, heads 2 d)      attention : (batch heads, m, n)
    y : (m, batch, heads d)
    """
    name = "_contrib_interleaved_matmul_encdec_valatt"
    values = _parts(name, keys_values, heads, 2)[1]
    return _heads_last(_weighted(name, attention, values), heads)


@_contrib_interleaved_matmul_encdec_valatt.shaped
def _(keys_values, attention, heads):
    part = _part_shape(keys_values, heads, 2)
    if part is None or len(attention) != 3 or attention[::2] != (part[1], part[0]):
        return None
    return attention[1], keys_values[1], part[2]
