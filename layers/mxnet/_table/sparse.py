"""What sparse storage adds to the table, and the names that MXNet has under `nd.sparse`.

On dense tensors these are here; `_sparse/rules.py` has what is done with sparse ones.
"""

from __future__ import annotations

from typing import Literal

import torch

from .attributes import DType
from .index import Embedding, embedding_inputs, embedding_shape, embedding_types
from .registry import REQUIRED, Tensor, get, op, rename, zeros

StorageType = Literal["csr", "default", "row_sparse"]

# The operators that are under `sparse` as well, by their names there.
_NAMES = """
ElementWiseSum Embedding FullyConnected LinearRegressionOutput LogisticRegressionOutput
MAERegressionOutput abs adam_update add_n arccos arccosh arcsin arcsinh arctan arctanh
broadcast_add broadcast_div broadcast_minus broadcast_mul broadcast_plus broadcast_sub
cast_storage cbrt ceil clip concat cos cosh degrees dot elemwise_add elemwise_div elemwise_mul
elemwise_sub exp expm1 fix floor ftrl_update gamma gammaln log log10 log1p log2 make_loss mean
negative norm radians relu rint round rsqrt sgd_mom_update sgd_update sigmoid sign sin sinh
slice sqrt square stop_gradient sum tan tanh trunc where zeros_like  _contrib_round_ste
_contrib_sign_ste
"""


@op(view=True)
def cast_storage(data: Tensor, stype: StorageType = REQUIRED) -> Tensor:
    """The same values in another storage type; from one sparse type not to the other."""
    return data


@cast_storage.stored
def _(stype):
    return stype


@op
def _sparse_retain(data: Tensor, indices: Tensor) -> Tensor:
    """The rows at the indices, the others 0; of a row_sparse array those rows are stored."""
    rows = indices.reshape(-1).long()
    return torch.zeros_like(data).index_copy(0, rows, data[rows])


@_sparse_retain.types
def _(data):
    return data


@op
def _contrib_SparseEmbedding(
    data: Tensor,
    weight: Tensor,
    input_dim: int = REQUIRED,
    output_dim: int = REQUIRED,
    dtype: DType = torch.float32,
    sparse_grad: bool = False,
) -> Tensor:
    """The rows of `weight` at the indices in `data`, with a row_sparse gradient.

    data : (...)      weight : (input_dim, output_dim)      y : (..., output_dim)
    """
    return Embedding.function(data, weight, input_dim, output_dim, sparse_grad=True)


_contrib_SparseEmbedding.typed(embedding_types)
_contrib_SparseEmbedding.shaped(embedding_shape)
_contrib_SparseEmbedding.infer(embedding_inputs)


@_contrib_SparseEmbedding.sends_rows
def _():
    return ("weight",)


@op(names_input=True)
def _contrib_getnnz(data: Tensor, axis: int | None = None) -> Tensor:
    """How many values are stored of a csr matrix, or are not 0; with axis 1 in each row."""
    there = data != 0
    return there.sum().reshape(1) if axis is None else there.sum(axis)


@_contrib_getnnz.types
def _():
    return torch.int64


@op
def _contrib_edge_id(data: Tensor, u: Tensor, v: Tensor) -> Tensor:
    """The elements data[u, v] of a csr matrix, -1 where none is stored."""
    y = data[u.long(), v.long()]
    return torch.where(y == 0, -1, y)


_contrib_edge_id.grad(zeros)
_contrib_getnnz.grad(zeros)

for _name in _NAMES.split():
    rename(get(_name), f"_sparse_{_name}")
