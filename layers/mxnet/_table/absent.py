"""Operators of MXNet that are not here, and what to do instead."""

from .registry import absent

for _name in (
    "_contrib_dgl_adjacency",
    "_contrib_dgl_csr_neighbor_non_uniform_sample",
    "_contrib_dgl_csr_neighbor_uniform_sample",
    "_contrib_dgl_graph_compact",
    "_contrib_dgl_subgraph",
):
    absent(_name, "Sample graphs with the library DGL.")
absent("_copyto", "Use x.copyto(y).")
absent("_imdecode", "Use mx.image.imdecode.")
absent("_onehot_encode", "Use nd.onehot_encode.")
absent("_set_value", "Write x[:] = value.")
absent("_zeros_without_dtype", "Use nd.zeros with a dtype.")
