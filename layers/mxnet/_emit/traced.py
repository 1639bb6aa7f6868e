"""Code in NumPy as code of torch: PyTorch's tracer makes a graph of it, which is written here.

No text of the traced code is in the result: calls are those of PyTorch's own operators, names are
made, and constants are numbers.
"""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Callable
from typing import Any

import torch

from ...ops.ways.operator import Operator
from .. import symbol
from .._files.torch_export import trace_module
from ..gluon import SymbolBlock
from .names import Names, literal
from .table import NotEmitted

INFIX = {
    "add": "{} + {}",
    "sub": "{} - {}",
    "subtract": "{} - {}",
    "mul": "{} * {}",
    "multiply": "{} * {}",
    "div": "{} / {}",
    "divide": "{} / {}",
    "true_divide": "{} / {}",
    "pow": "{} ** {}",
    "matmul": "{} @ {}",
    "mm": "{} @ {}",
    "neg": "-{}",
    "negative": "-{}",
    "rsub": "{1} - {0}",
    "gt": "{} > {}",
    "ge": "{} >= {}",
    "lt": "{} < {}",
    "le": "{} <= {}",
    "eq": "{} == {}",
    "ne": "{} != {}",
}
# What changes no value of a float32 array: its first argument stands for it.
ALIASES = {
    "alias", "atleast_1d", "clone", "contiguous", "copy", "detach", "lift_fresh_copy", "view_as"
}  # fmt: skip
CASTS = {"_to_copy", "to"}
SHAPES = {"_unsafe_view", "expand", "reshape", "view"}
LONGEST = 60  # characters of an expression inside another


def traced(function: Callable, inputs: dict[str, tuple], outputs: list[str]) -> list[Any]:
    """Return the statements that compute a function of arrays, then the names of its outputs.

    Parameters
    ----------
    function : callable
        It takes NDArrays by position, and returns one, or a tuple of them.
    inputs : dict of str to tuple
        The shapes of the inputs by their names in the source.
    outputs : list of str

    Returns
    -------
    list of str, list of str

    Raises
    ------
    NotEmitted
        PyTorch's tracer cannot trace it, or there is no text for what it calls.
    """
    made = Operator("layers.emitted", function, inputs=[*inputs], outputs=outputs)
    variables = [symbol.var(f"input{i}") for i in range(len(inputs))]
    try:
        block = SymbolBlock(made(*variables), variables)
        args = tuple([torch.rand(shape) for shape in inputs.values()])
        program = trace_module(block.to_torch().eval(), args, True)
        with warnings.catch_warnings():  # PyTorch's own, of its later versions
            warnings.simplefilter("ignore", FutureWarning)
            program = program.run_decompositions({})
    except Exception as error:  # of the tracer or of the user's code, of any kind
        raise NotEmitted(f"PyTorch cannot trace it: {type(error).__name__}") from error
    return _Text(program, [*inputs]).found


class _Text:
    """The statements of a traced program.

    Attributes
    ----------
    found : list
        The statements, and the outputs.
    """

    def __init__(self, program: torch.export.ExportedProgram, names: list[str]):
        graph = program.graph
        constants = {**program.constants, **program.state_dict}
        lifted = program.graph_signature.inputs_to_lifted_tensor_constants
        self._texts: dict[Any, tuple[str, bool]] = {}  # the text, and whether it is one operand
        self._statements: list[str] = []
        self._names = Names(names)
        uses = Counter(n for node in graph.nodes for n in node.all_input_nodes)
        inputs = iter(names)
        outputs: list[str] = []
        for node in graph.nodes:
            if node.op == "placeholder":
                known = lifted.get(node.name)
                text = self._number(constants[known]) if known else next(inputs)
                self._texts[node] = text, not text.startswith("-")
            elif node.op == "output":
                outputs = [self._named(n) for n in node.args[0]]
            elif node.op == "call_function":
                self._add(node, uses[node])
            else:
                raise NotEmitted("PyTorch traces more than one graph")
        self.found = [self._statements, outputs]

    @staticmethod
    def _number(value: torch.Tensor) -> str:
        if value.numel() != 1 or value.dim():
            raise NotEmitted("it has an array of constants")
        return literal(value.item())

    def _add(self, node: Any, uses: int) -> None:
        if not isinstance(node.target, torch._ops.OpOverload):
            raise NotEmitted("PyTorch traces it in parts")
        name = node.target._schema.name.partition("::")[2]
        if name == "_assert_tensor_metadata":
            return
        if name in ALIASES or (name in CASTS | SHAPES and _keeps(node)):
            self._texts[node] = self._texts[node.args[0]]
            return
        text, is_operand = self._call(name, node)
        if uses > 1 or len(text) > LONGEST:
            text, is_operand = self._assigned(text), True
        self._texts[node] = text, is_operand

    def _call(self, name: str, node: Any) -> tuple[str, bool]:
        form = INFIX.get(name)
        if form and len(node.args) == form.count("{") and not node.kwargs:
            return form.format(*[self._operand(a) for a in node.args]), False
        options = {k: v for k, v in node.kwargs.items() if k not in ("device", "pin_memory")}
        given = [self._argument(a) for a in node.args]
        given += [f"{k}={self._argument(v)}" for k, v in options.items()]
        if name in CASTS:
            return f"{self._operand(node.args[0])}.to({literal(node.meta['val'].dtype)})", True
        if not name.startswith("_") and callable(getattr(torch, name, None)):
            return f"torch.{name}({', '.join(given)})", True
        if not name.startswith("_") and callable(getattr(torch.Tensor, name, None)):
            return f"{self._operand(node.args[0])}.{name}({', '.join(given[1:])})", True
        raise NotEmitted(f"it calls {name} of PyTorch")

    def _operand(self, value: Any) -> str:
        text = self._argument(value)
        is_operand = self._texts[value][1] if isinstance(value, torch.fx.Node) else text[0] != "-"
        return text if is_operand else f"({text})"

    def _argument(self, value: Any) -> str:
        if isinstance(value, torch.fx.Node):
            return self._texts[value][0]
        if isinstance(value, (list, tuple)):
            inside = ", ".join(self._argument(v) for v in value)
            return f"({inside}{',' * (len(value) == 1)})"
        return literal(value)

    def _assigned(self, text: str) -> str:
        name = self._names.take("", "t")
        self._statements.append(f"{name} = {text}")
        return name

    def _named(self, node: Any) -> str:
        text = self._texts[node][0]
        return text if text.isidentifier() else self._assigned(text)


def _keeps(node: Any) -> bool:
    """True if a call changes neither shape nor dtype."""
    result, data = node.meta["val"], node.args[0].meta["val"]
    return result.dtype is data.dtype and result.shape == data.shape
