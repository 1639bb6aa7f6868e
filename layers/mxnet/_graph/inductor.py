"""Settings of inductor, PyTorch's compiler: products, norms, layouts, and its folders.

*Products.* Large ones are those of `_table/product.py` in compiled code too. Inductor's own
lowering of oneDNN's product wants weights that are constant, so its graph is rewritten before it is
lowered.

*Norms.* Inductor takes operators apart into simpler ones, and fuses these with what is around them.
For the layer normalization of an array that is larger than the processor's cache its code goes over
memory twice, where PyTorch's kernel goes over it once: for x (4096, 768) it takes 1.5 times as long
forward, and 2.4 times backward. So that kernel is called there.

*Layouts.* Convolutions are computed with the channels of a pixel side by side where that pays.

*Folders.* Compiled code is not loaded from where another user can change it.

What is not public of inductor may be missing: without it PyTorch's product is computed, and norms
are taken apart as inductor decides alone.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import torch

from ..._private import make_private_folder
from .._table import product
from ..base import UnsupportedError

aten = torch.ops.aten
LAYER_NORM = aten.native_layer_norm.default
LAYER_NORM_BACKWARD = aten.native_layer_norm_backward.default

LARGE = 2**20  # so many elements are not in the cache of a core
WIDE = 256  # with shorter rows inductor's code is the faster one forward
# What an element of an output saves, over what it costs to lay out one of a weight.
GAIN = 2
# Where compiled code is kept.
VARIABLES = "TORCHINDUCTOR_CACHE_DIR", "TRITON_CACHE_DIR"


@cache
def rewrite() -> Any:
    """Return a `post_grad_custom_pre_pass` of inductor.

    It changes nothing where PyTorch's product is the faster. Inductor keeps compiled code by the
    `uuid` of its passes, so that tells of its decompositions, too.
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
            files = get_hash_for_files((__file__, product.__file__))
            return files, product.describe(), is_lowered

    _define()
    is_lowered = _lower()
    return Rewrite()


@cache
def _define() -> torch.library.Library:
    """Make the product an operator of PyTorch; it is there as long as what this returns."""
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
    """True if oneDNN computes the product x w."""
    a, b = x.meta["val"], w.meta["val"]
    is_known = all(isinstance(n, int) for n in (*a.shape, *b.shape))
    return is_known and product.is_onednns(a, b.t())


def _split(graph: torch.fx.Graph, node: torch.fx.Node, bias, x, w) -> None:
    """Take the product and the sum apart; inductor puts the sum into what comes after."""
    with graph.inserting_before(node):
        product = graph.call_function(torch.ops.layers.mm.default, (x, w))
        result = graph.call_function(aten.add.Tensor, (product, bias))
    product.meta, result.meta = dict(node.meta), dict(node.meta)
    node.replace_all_uses_with(result)
    graph.erase_node(node)


def decompositions(options: dict[str, Any]) -> dict[Any, Callable] | None:
    """Return the decompositions of operators for inductor on a CPU; None for its own.

    Parameters
    ----------
    options : dict
        Options of inductor, for the graph that is compiled.
    """
    if not _call_kernels():
        return None
    from torch._inductor import config
    from torch._inductor.decomposition import select_decomp_table

    with config.patch(options):
        known = select_decomp_table()

    def layer_norm(x, shape, *rest):
        if x.numel() >= LARGE and x.shape[-1] >= WIDE:
            return NotImplemented
        return known[LAYER_NORM](x, shape, *rest)

    def layer_norm_backward(dy, x, *rest):
        return NotImplemented if x.numel() >= LARGE else known[LAYER_NORM_BACKWARD](dy, x, *rest)

    return {**known, LAYER_NORM: layer_norm, LAYER_NORM_BACKWARD: layer_norm_backward}


@cache
def _call_kernels() -> bool:
    """Let inductor call the kernels where it does not take them apart; returns whether it can.

    The functions for this are not public. Where inductor no longer has them, it decides alone.
    """
    try:
        from torch._inductor.lowering import make_fallback, require_contiguous

        for kernel in (LAYER_NORM, LAYER_NORM_BACKWARD):
            make_fallback(kernel, require_contiguous, warn=False, override_decomp=True)
    except (ImportError, TypeError):
        return False
    return True


def channels_last_pays(graph: torch.fx.GraphModule) -> bool:
    """True if a traced graph runs its convolutions faster on a CPU with the channels last.

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
    """Yield the shapes of the output and of the weight of each."""
    for node in graph.graph.nodes:
        if node.target is torch.convolution:
            weight = node.args[1]
            yield node.meta["example_value"].shape, weight.meta["example_value"].shape


def expect_private() -> None:
    """Refuse to compile where another user can change the code that PyTorch loads.

    By default it is in the folder of temporary files, which is everybody's, under a name that
    anyone can guess; precompiled headers are there with TORCHINDUCTOR_CACHE_DIR, too.

    Raises
    ------
    UnsupportedError
        The message says what another user can change.
    """
    from torch._inductor.runtime.runtime_utils import default_cache_dir

    for folder in filter(None, [default_cache_dir(), *map(os.environ.get, VARIABLES)]):
        try:
            changeable = make_private_folder(Path(folder))
        except OSError as error:
            changeable = str(error)
        if changeable:
            raise UnsupportedError(  # the log cuts long reasons
                "compiled code would be loaded from a place that others can change; expected "
                f"TMPDIR, {' and '.join(VARIABLES)} of your own: {changeable}"
            )
