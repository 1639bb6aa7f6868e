"""An operator's own code, called without the engine: what it does to the arrays that it is given.

The engine protects the caller: it copies what an operator returns twice, hides what it writes into
its inputs, makes a new object for each call. Here nothing does.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..engine import mx, nd
from ..ops.operator import Operator
from .report import Failure

__all__ = ["DirectCustom", "DirectOperator"]


class DirectOperator:
    """The functions of an `Operator`."""

    kept_on_self = None
    lies: dict[str, list[str]] = {}

    def __init__(self, operator: Operator, attributes: dict[str, Any]):
        self.operator, self.attributes = operator, operator.attributes | attributes

    def forward(self, arrays: dict[str, Any]) -> list:
        """The outputs."""
        inputs = [arrays.get(n) for n in self.operator.inputs]
        y = self.operator.forward(*inputs, **self.attributes)
        outputs = list(y) if isinstance(y, (list, tuple)) else [y]
        if len(outputs) != len(self.operator.outputs):
            raise Failure(
                f"forward gives {len(outputs)} outputs, "
                f"declared are {', '.join(self.operator.outputs)}"
            )
        for name, value in zip(self.operator.outputs, outputs):
            if not isinstance(value, nd.NDArray):
                raise Failure(f"output {name} is {type(value).__name__}, not an NDArray")
        return outputs

    def backward(self, arrays: dict[str, Any], outputs: list, heads: list) -> dict[str, Any]:
        """The gradients, by input."""
        operator = self.operator
        known = dict.fromkeys(operator.inputs) | arrays | self.attributes
        known |= dict(zip(operator.outputs, outputs))
        known |= {f"d{n}": dy for n, dy in zip(operator.outputs, heads)}
        if operator.backward is not None:
            return operator.ask(operator.backward, known)
        return {n: operator.gradient(n, known) for n in operator.gradients if n in arrays}


class DirectCustom:
    """A CustomOp that its CustomOpProp makes for arrays of these shapes and dtypes."""

    def __init__(self, prop: Any, arrays: dict[str, Any]):
        self.arguments, self.outputs = list(prop.list_arguments()), list(prop.list_outputs())
        self.states = list(prop.list_auxiliary_states())
        given = [arrays[n] for n in self.arguments]
        self.context = next((a.context for a in given), mx.cpu())
        shapes, types = [list(a.shape) for a in given], [a.dtype for a in given]
        self.kinds = list(zip(prop.infer_shape(shapes)[1], prop.infer_type(types)[1]))
        self.op = prop.create_operator(self.context, shapes, types)
        self.buffers: dict[int, tuple[str, Any]] = {}
        self.lies: dict[str, list[str]] = {"shapes": [], "types": []}
        self._watch_assign()

    def _watch_assign(self) -> None:
        assign = self.op.assign

        def watched(dst, req, src):
            self._look(dst, src)
            return assign(dst, req, src)

        self.op.assign = watched

    def _look(self, dst: Any, src: Any) -> None:
        """Whether what is assigned has the shape and kind of number that was declared."""
        name, buffer = self.buffers.get(id(dst), ("", None))
        if buffer is not dst or not hasattr(src, "shape"):
            return
        declared, given = tuple(dst.shape), tuple(src.shape)
        if given != declared and np.prod(given) != 1:
            self.lies["shapes"].append(f"{name} is declared {declared} and given {given}")
        whole = np.dtype(dst.dtype).kind in "iub" and np.dtype(src.dtype).kind == "f"
        if whole:
            values = src.asnumpy() if isinstance(src, nd.NDArray) else np.asarray(src)
            if (values != np.round(values)).any():
                self.lies["types"].append(
                    f"{name} is declared {np.dtype(dst.dtype)} and given {np.dtype(src.dtype)} "
                    f"values such as {values[values != np.round(values)][0]:.3g}"
                )

    def forward(self, arrays: dict[str, Any], fill: float = 0.0, req: str = "write") -> list:
        """The outputs, in buffers that are filled with `fill` before."""
        out = [nd.full(s, fill, ctx=self.context, dtype=t) for s, t in self.kinds]
        given = list(out)  # a list of its own: an operator may put other arrays into it
        self._name("y", self.outputs, out)
        self.op.forward(
            is_train=True,
            req=[req] * len(out),
            in_data=[arrays[n] for n in self.arguments],
            out_data=given,
            aux=[arrays[n] for n in self.states],
        )
        self._same("out_data", out, given)
        return out

    def backward(
        self,
        arrays: dict[str, Any],
        outputs: list,
        heads: list,
        fill: float = 0.0,
        req: str = "write",
    ) -> dict[str, Any]:
        """The gradients, in buffers that are filled with `fill` before."""
        inputs = [arrays[n] for n in self.arguments]
        buffers = [nd.full(x.shape, fill, ctx=x.context, dtype=x.dtype) for x in inputs]
        given = list(buffers)
        self._name("the gradient of", self.arguments, buffers)
        self.op.backward(
            req=[req] * len(buffers),
            out_grad=list(heads),
            in_data=inputs,
            out_data=list(outputs),
            in_grad=given,
            aux=[arrays[n] for n in self.states],
        )
        self._same("in_grad", buffers, given)
        return dict(zip(self.arguments, buffers))

    def _name(self, what: str, names: list[str], buffers: list) -> None:
        what = "" if what == "y" else f"{what} "
        self.buffers = {id(b): (f"{what}{n}", b) for n, b in zip(names, buffers)}

    @staticmethod
    def _same(what: str, before: list, after: list) -> None:
        for i, (a, b) in enumerate(zip(before, after)):
            if a is not b:
                raise Failure(
                    f"it puts another array in the place of {what}[{i}], which nobody sees; "
                    f"write {what}[{i}][:] = ..."
                )

    def kept_on_self(self) -> dict[str, Any]:
        """What the object has by now, arrays by their values."""
        return {n: _values(v) for n, v in vars(self.op).items() if n != "assign"}

    def holds(self, array: Any) -> str:
        """The attribute in which the object keeps an array, or nothing."""
        for name, value in vars(self.op).items():
            inside = value.values() if isinstance(value, dict) else value
            inside = inside if isinstance(inside, (list, tuple, set)) else [value]
            if any(v is array for v in inside):
                return name
        return ""


def _values(value: Any) -> Any:
    if isinstance(value, nd.NDArray):
        return value.asnumpy()
    if isinstance(value, (list, tuple)):
        return [_values(v) for v in value]
    if isinstance(value, dict):
        return {k: _values(v) for k, v in value.items()}
    return np.array(value) if isinstance(value, np.ndarray) else value
