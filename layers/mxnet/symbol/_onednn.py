"""The operators that MXNet makes of a few for oneDNN, as files of quantized nets have them.

`_sg_mkldnn_conv` is a convolution with what follows it: BatchNorm, relu, the sum with another array
and relu again. `_sg_mkldnn_fully_connected` is an affine map with what follows. The node holds the
graph of these, and its variables are the first inputs. A node that is not quantized computes that
graph. One that is takes 8-bit integers, and the ends of their ranges as its last inputs
(`_table.quantize` says what they mean); its weights are numbers, which become int8 at the call.
"""

from __future__ import annotations

import torch

from .._table import int8, nn
from .._table.quantize import abs_max, expect_bytes, range_ends, saturate, steps_of_one
from .._table.quantized import OUTPUTS, RANGE, _product_range
from ._node import ordered
from ._subgraph import ControlFlow

Tensor = torch.Tensor
LEAST = 1e-20  # the greatest weight of a filter that has only zeros


class Fused(ControlFlow):
    """The base: a node that computes its graph, which has no integers."""

    parts, depends_on_values = ("its graph",), False

    def __init__(self, graphs, attributes: dict, count: int):
        self.count = count
        super().__init__(graphs, attributes, count)
        self.outputs_rule = self.names_of_outputs

    def names_of_outputs(self, quantized: bool) -> tuple[str, ...]:
        return OUTPUTS if quantized else OUTPUTS[:1]

    def inputs_of_graphs(self, *data: Tensor, quantized: bool = False):
        self._require(not quantized, "it is quantized", "one that is not")
        return [range(self.count)]

    def compute(self, run_graph, data, device, quantized=False):
        return run_graph(0, data)


class FusedFullyConnected(Fused):
    """An affine map and what follows it, of numbers."""

    op_name = "_sg_mkldnn_fully_connected"


class FusedConvolution(Fused):
    """A convolution, BatchNorm, relu, a sum and relu, as far as its graph has them.

    data, added : (n, c, ...), int8 or uint8; `added` is of the output's shape
    min_data, max_data, min_added, max_added : (1,)

    With a range a convolution that ends in relu gives uint8, else int8; without one it gives int32.
    What is added is so in its own type, as oneDNN writes the sum over it: where that is int8, the
    output is cut at 127 also as uint8.
    """

    op_name = "_sg_mkldnn_conv"

    def __init__(self, graphs, attributes: dict, count: int):
        self.in_order = [node for node in ordered(graphs[0]) if node.op is not None]
        self.variables = [node for node in ordered(graphs[0]) if node.op is None]
        self.steps = [node.op.name for node in self.in_order]
        self.nodes = dict(zip(self.steps, self.in_order))
        super().__init__(graphs, attributes, count)

    def inputs_of_graphs(
        self,
        *data: Tensor,
        quantized: bool = False,
        min_calib_range: float | None = None,
        max_calib_range: float | None = None,
    ):
        count = len(self.variables)
        if quantized:
            self._require_steps()
            ends = 4 if "elemwise_add" in self.nodes else 2
            self._require(
                self.count == count + ends, f"{self.count} inputs", f"{count + ends} of them"
            )
            calibrated = min_calib_range is not None and max_calib_range is not None
            self._require(calibrated or ends == 2, "a sum has no range", "min_ and max_calib_range")
        return [range(count)]

    def _require_steps(self) -> None:
        """Refuse a graph that is not known here for integers."""
        rest = self.steps[1:]
        for step in "BatchNorm", "Activation", "elemwise_add", "Activation":
            if rest[:1] == [step]:
                rest = rest[1:]
        self._require(
            self.steps[:1] == ["Convolution"] and not rest and self._is_chain(),
            f"its graph is {', '.join(self.steps)}",
            "Convolution, BatchNorm, relu, elemwise_add, relu, each of what the one before gives",
        )
        layout = self.nodes["Convolution"].attributes.get("layout")
        self._require(not nn._channels_last(layout), f"layout is {layout}", "channels on axis 1")

    def _is_chain(self) -> bool:
        """Whether each step takes what the one before gives, and the activations are relu."""
        before = None
        for node in self.in_order:
            name, sources = node.op.name, [n for n, _ in node.inputs if n.op is not None]
            data = node.inputs[0][0]
            if sources != [before] * (before is not None):
                return False
            if before is not None and name != "elemwise_add" and data is not before:
                return False
            if name == "Activation" and node.attributes["act_type"] != "relu":
                return False
            before = node
        return [*self.graphs[0].entries] == [(before, 0)]

    def compute(
        self, run_graph, data, device, quantized=False, min_calib_range=None, max_calib_range=None
    ):
        if not quantized:
            return run_graph(0, data)
        with torch.no_grad():
            return self._integers(data, min_calib_range, max_calib_range)

    def _integers(self, data, low, high):
        values = dict(zip(map(id, self.variables), data))
        ranges = data[len(self.variables) :]
        x = self._input("Convolution", 0, values)
        expect_bytes(self.op_name, data=x)
        weight, bias = self._weight_and_bias(values)
        of_data, of_weight = abs_max(*ranges[:2]), weight.abs().flatten(1).amax(1)
        if low is None or high is None:
            of_weight = of_weight.amax(0, keepdim=True)
        in_steps = steps_of_one(x.dtype, of_data)
        weight_steps = steps_of_one(torch.int8, of_weight.clamp(min=LEAST))
        whole = saturate(weight * _along_filters(weight_steps, weight), torch.int8)
        y = int8.convolution(x, whole, *self._windows(x.shape)).double()
        if bias is not None:
            y += _along_filters((bias * (weight_steps * in_steps)).double().round(), y, 1)
        if low is None or high is None:
            y = y.clamp_(min=0) if self.steps[-1] == "Activation" else y
            return saturate(y, torch.int32), *_product_range(x, whole, of_data, of_weight)
        dtype = self._output_type(low, high)
        ends = range_ends(x, low, high)
        out_steps = steps_of_one(dtype, abs_max(*ends))
        y = y.float() * _along_filters(out_steps / in_steps / weight_steps, y, 1)
        return self._after(y, values, ranges[2:], out_steps, dtype), *ends

    def _after(self, y, values, ranges, out_steps, dtype):
        """What follows the convolution, of numbers in steps of the output."""
        position = self.steps.index("elemwise_add") if "elemwise_add" in self.steps else None
        if "Activation" in self.steps[:position]:
            y = y.clamp_(min=0)
        if position is None:
            return saturate(y, dtype)
        added = values[id(self._added())]
        expect_bytes(self.op_name, added=added)
        steps = out_steps / steps_of_one(added.dtype, abs_max(*ranges))
        y = (y.double() + added * steps.double()).float()  # rounded once, as by oneDNN
        if self.steps[-1] == "Activation":
            y = y.clamp_(min=0)
        return saturate(y, added.dtype).view(dtype)

    def _weight_and_bias(self, values):
        """Those of the convolution, with BatchNorm's in them."""
        weight = self._input("Convolution", 1, values)
        has_bias = len(self.nodes["Convolution"].inputs) > 2
        bias = self._input("Convolution", 2, values) if has_bias else None
        if "BatchNorm" not in self.nodes:
            return weight, bias
        gamma, beta, mean, var = (self._input("BatchNorm", i, values) for i in range(1, 5))
        given = self.nodes["BatchNorm"].op.defaults | self.nodes["BatchNorm"].attributes
        gamma = torch.ones_like(gamma) if given["fix_gamma"] else gamma
        scale = (gamma.double() / torch.sqrt(var.double() + given["eps"])).float()
        shift = beta + scale * ((0 if bias is None else bias) - mean)
        return weight * _along_filters(scale, weight), shift

    def _input(self, step: str, index: int, values: dict) -> Tensor:
        return values[id(self.nodes[step].inputs[index][0])]

    def _added(self):
        """The variable of the sum that the convolution does not give."""
        return next(node for node, _ in self.nodes["elemwise_add"].inputs if node.op is None)

    def _windows(self, shape):
        given = self.nodes["Convolution"].op.defaults | self.nodes["Convolution"].attributes
        sizes = [given[name] for name in ("kernel", "stride", "dilate", "pad")]
        stride, dilate, pad = nn._spatial(self.op_name, shape, *sizes)
        return stride, pad, dilate, given["num_group"]

    def _output_type(self, low, high) -> torch.dtype:
        if low is None or high is None:
            return torch.int32
        return torch.uint8 if self.steps[-1] == "Activation" else torch.int8

    # The rules of an operator, for the graph around it

    def output_shapes(self, shapes, attributes):
        ends = [(1,), (1,)] if attributes.get("quantized") else []
        return super().output_shapes(shapes, attributes) + ends

    def infer_shapes(self, shapes, attributes):
        ends = list(shapes)[len(self.variables) :]
        return super().infer_shapes(shapes, attributes) | dict.fromkeys(ends, (1,))

    def input_types(self, dtypes, attributes):
        if not attributes.get("quantized"):
            return super().input_types(dtypes, attributes)
        integers = {id(self.nodes["Convolution"].inputs[0][0])}
        if "elemwise_add" in self.nodes:
            integers.add(id(self._added()))
        names = [f"arg{i}" for i, node in enumerate(self.variables) if id(node) not in integers]
        return dict.fromkeys(names, torch.float32)

    def output_types(self, dtypes, attributes):
        if not attributes.get("quantized"):
            return super().output_types(dtypes, attributes)
        ends = attributes.get("min_calib_range"), attributes.get("max_calib_range")
        return [self._output_type(*ends), *RANGE]


def _along_filters(values: Tensor, like: Tensor, axis: int = 0) -> Tensor:
    """One value for each filter, as it multiplies an array that has them on an axis."""
    return values.reshape(*(1,) * axis, -1, *(1,) * (like.dim() - axis - 1))


OPERATORS: dict[str, type[Fused]] = {
    cls.op_name: cls for cls in (FusedConvolution, FusedFullyConnected)
}
