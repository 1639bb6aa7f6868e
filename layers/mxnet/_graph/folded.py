"""Convolutions with the BatchNorm and relu behind them made one, for the prediction of an Executor.

In prediction BatchNorm multiplies each channel and adds to it. The weight and the bias of the
convolution before it can do both, and oneDNN computes relu as it writes. Where it cannot, on
another device or for another dtype, the operators are called one after the other.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable

import torch

from .._table import nn, registry
from .._table.registry import Tensor
from ..symbol._node import Entry, Node
from .convolutions import LAYOUTS, is_available, onednn, suits
from .program import Program

__all__ = ["folded"]

BatchNorm, Convolution = nn.BatchNorm, nn.Convolution


def folded(program: Program) -> tuple[Program, dict[Node, Node]]:
    """Return a program with such chains as one node, and its nodes by those of the other one.

    It is the same program where there are none, or the environment variable
    MXNET_SUBGRAPH_BACKEND=NONE wants none, as in MXNet.
    """
    nodes, entries = [*program.variables, *program.nodes], program.entries
    chains = _chains(nodes, entries)
    if not chains or not is_available() or os.environ.get("MXNET_SUBGRAPH_BACKEND") == "NONE":
        return program, {node: node for node in nodes}
    places: dict[Node, Node] = {}
    ends = {chain[-1]: chain for chain in chains}
    inside = {node for chain in chains for node in chain[:-1]}
    for node in nodes:
        if node in inside:
            continue
        chain = ends.get(node, [node])
        inputs = [e for i, n in enumerate(chain) for e in (n.inputs[1:] if i else n.inputs)]
        placed = [(places[source], index) for source, index in inputs]
        if len(chain) > 1:
            places[node] = Node(_operator(chain), chain[0].name, placed)
        else:
            places[node] = node if placed == inputs else node.copied(placed)
    return Program([(places[node], index) for node, index in entries]), places


def _chains(nodes: list[Node], entries: list[Entry]) -> list[list[Node]]:
    """Return the nodes of each convolution with what follows it, and nothing else takes."""
    uses = Counter(entries)
    uses.update(entry for node in nodes for entry in node.inputs)
    by_input = {node.inputs[0]: node for node in nodes if node.inputs}
    chains = []
    for node in nodes:
        if node.op is not Convolution or node.attributes.get("layout") not in LAYOUTS:
            continue
        chain = [node]
        for follows in (_is_norm, _is_relu):
            end = chain[-1], 0
            after = by_input.get(end)
            if uses[end] == 1 and after is not None and follows(after):
                chain.append(after)
        if len(chain) > 1:
            chains.append(chain)
    return chains


def _is_norm(node: Node) -> bool:
    given = node.attributes
    return node.op is BatchNorm and given.get("axis", 1) == 1 and not given.get("output_mean_var")


def _is_relu(node: Node) -> bool:
    is_activation = node.op is nn.Activation and node.attributes["act_type"] == "relu"
    return is_activation or (node.op is not None and node.op.name == "relu")


def _operator(chain: list[Node]) -> registry.Op:
    run = _Folded(chain)

    def operator(*data: Tensor) -> Tensor:
        return run(*data)

    count = len(chain[0].inputs)
    states = [f"data{count + i}" for i in (2, 3)] if run.norm else []
    return registry.Op(operator, Convolution.name, states=tuple(states), counted=None)


class _Folded:
    """The function of a chain: of the data, and of the parameters of all its operators.

    The folded weight is kept, and made when the same parameters come a second time with data of
    the same shape, and nobody has written into them.
    """

    def __init__(self, chain: list[Node]):
        convolution, *rest = chain
        self.convolution = convolution.attributes
        self.count = len(convolution.inputs) - 1  # of its parameters
        self.norm = next((BatchNorm.defaults | n.attributes for n in rest if _is_norm(n)), None)
        self.after = "relu" if _is_relu(chain[-1]) else "none"
        # What the folded parameters are made of, which is kept so that no other has its address.
        self._parameters: tuple[Tensor, ...] = ()
        self._key: tuple | None = None
        self._run: Callable[[Tensor], Tensor] | None = None

    def __call__(self, data: Tensor, *parameters: Tensor) -> Tensor:
        bias = parameters[1] if self.count > 1 else None
        if not suits(data, parameters[0], bias) or not data.numel():
            return self._one_by_one(data, parameters)
        key = data.shape, *[(t.data_ptr(), t._version, t.dtype) for t in parameters]
        if key != self._key:
            y = self._one_by_one(data, parameters)  # only then it is known to be computable
            self._key, self._parameters, self._run = key, parameters, None
            return y
        if self._run is None:
            self._run = self._folded(data, *parameters)
        return self._run(data)

    def _one_by_one(self, data: Tensor, parameters: tuple[Tensor, ...]) -> Tensor:
        y = Convolution.run(data, *parameters[: self.count], **self.convolution)
        if self.norm is not None:
            y = BatchNorm.run(y, *parameters[self.count :], **self.norm, training=False)
        return torch.relu(y) if self.after == "relu" else y

    def _folded(self, data: Tensor, weight: Tensor, *rest: Tensor) -> Callable[[Tensor], Tensor]:
        bias = rest[0] if self.count > 1 else None
        if self.norm is not None:
            gamma, beta, mean, var = (t.double() for t in rest[self.count - 1 :])
            scale = torch.rsqrt(var + self.norm["eps"])
            scale = scale if self.norm["fix_gamma"] else scale * gamma
            bias = (beta + scale * ((0 if bias is None else bias) - mean)).float()
            weight = (weight * scale.reshape(-1, 1, 1, 1)).float()
        given = nn.checked_convolution(data, weight, bias, **self.convolution | {"no_bias": False})
        bias, stride, dilate, pad = given
        settings = (pad, stride, dilate, self.convolution.get("num_group", 1))
        packed = onednn._reorder_convolution_weight(weight, *settings, data.shape)
        after = self.after
        return lambda x: onednn._convolution_pointwise(x, packed, bias, *settings, after, [], "")
