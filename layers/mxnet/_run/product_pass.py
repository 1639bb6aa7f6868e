"""The matrix product in compiled code: large ones are those of `_table/product.py` there too.

Inductor's own lowering of oneDNN's product wants weights that are constant, so its graph is
rewritten before it is lowered. Without this pass the same is computed by PyTorch's product.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import torch

from .._table import product
from . import decompositions

aten = torch.ops.aten


@cache
def rewrite() -> Any:
    """A `post_grad_custom_pre_pass` of inductor.

    It changes nothing where PyTorch's product is the faster. Inductor keeps compiled code by the
    `uuid` of its passes, so that tells of `decompositions`, too.
    """
    from torch._inductor.custom_graph_pass import CustomGraphPass, get_hash_for_files

    class Rewrite(CustomGraphPass):
        def __call__(self, graph: torch.fx.Graph) -> None:
            for node in list(graph.nodes):
                if node.target is aten.mm.default and _is_onednns(*node.args):
                    node.target = torch.ops.layers.mm.default
                elif node.target is aten.addmm.default and not node.kwargs:
                    bias, x, w = node.args
                    if _is_onednns(x, w):
                        _split(graph, node, bias, x, w)

        def uuid(self) -> Any:
            files = get_hash_for_files((__file__, product.__file__, decompositions.__file__))
            return files, product.describe(), is_lowered

    _define()
    is_lowered = _lower()
    return Rewrite()


@cache
def _define() -> torch.library.Library:
    """The product as an operator of PyTorch; it is there as long as what this returns."""
    library = torch.library.Library("layers", "DEF")
    library.define("mm(Tensor a, Tensor b) -> Tensor")
    library.impl("mm", lambda a, b: product.mm(a, b), "CPU")
    torch.library.register_fake("layers::mm")(lambda a, b: a.new_empty(a.shape[0], b.shape[1]))
    return library


@cache
def _lower() -> bool:
    """Let inductor call oneDNN itself: an operator in Python takes 5 us more; whether it does so.

    Not public. Where inductor has another inside, the operator in Python stays.
    """
    try:
        from torch._inductor.lowering import fallback_handler, permute, register_lowering

        onednn = fallback_handler(torch.ops.mkldnn._linear_pointwise.default, False)
        register = register_lowering(torch.ops.layers.mm.default, type_promotion_kind=None)
    except (ImportError, TypeError):
        return False
    register(lambda a, b: onednn(a, permute(b, [1, 0]), None, "none", [], ""))
    return True


def _is_onednns(x: torch.fx.Node, w: torch.fx.Node) -> bool:
    """Whether oneDNN is to compute x w."""
    a, b = x.meta["val"], w.meta["val"]
    is_known = all(isinstance(n, int) for n in (*a.shape, *b.shape))
    return is_known and product.is_onednns(a, b.t())


def _split(graph: torch.fx.Graph, node: torch.fx.Node, bias, x, w) -> None:
    """The product and the sum apart; inductor puts the sum into what comes after."""
    with graph.inserting_before(node):
        product = graph.call_function(torch.ops.layers.mm.default, (x, w))
        result = graph.call_function(aten.add.Tensor, (product, bias))
    product.meta, result.meta = dict(node.meta), dict(node.meta)
    node.replace_all_uses_with(result)
    graph.erase_node(node)
