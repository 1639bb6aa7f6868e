"""Functions of an operator, called without the engine.

The engine protects the caller: it copies an output that is returned twice, hides writes of an
operator into its inputs, and makes a new object for each call. Here nothing does.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .._errors import no_array, no_gradients
from ..engine import mx, nd
from ..ops.ways.operator import Operator
from ._report import Failure


class OperatorCode:
    """Functions of an `Operator`."""

    op = None  # no object keeps anything between calls
    mismatches: dict[str, list[str]] = {}

    def __init__(self, operator: Operator, attributes: dict[str, Any]):
        self.operator, self.attributes = operator, operator.attributes | attributes
        self.saved: dict[str, Any] = {}

    def forward(self, arrays: dict[str, Any]) -> list:
        names = self.operator.results
        inputs = [arrays.get(n) for n in self.operator.inputs]
        y = self.operator.forward(*inputs, **self.attributes)
        outputs = list(y) if isinstance(y, (list, tuple)) else [y]
        if len(outputs) != len(names):
            raise Failure(self.operator.wrong_count(len(outputs)))
        like = "".join(self.operator.inputs[:1])
        for name, value in zip(names, outputs):
            if not isinstance(value, nd.NDArray):
                raise Failure(
                    no_array(f"operator {self.operator.name!r}: output {name}", value, like)
                )
        count = len(self.operator.outputs)
        self.saved = dict(zip(names[count:], outputs[count:]))
        return outputs[:count]

    def backward(self, arrays: dict[str, Any], outputs: list, heads: list) -> dict[str, Any]:
        operator = self.operator
        known = dict.fromkeys(operator.inputs) | arrays | self.attributes
        known |= self.saved | dict(zip(operator.outputs, outputs))
        known |= {f"d{n}": dy for n, dy in zip(operator.outputs, heads)}
        if operator.backward is not None:
            found = operator.ask(operator.backward, known)
            if not isinstance(found, dict) or found.keys() - set(operator.inputs):
                raise Failure(no_gradients(operator, found))
            return found
        return {n: operator.gradient(n, known) for n in operator.gradients if n in arrays}


class CustomCode:
    """A CustomOp, made by its CustomOpProp for arrays of these shapes and dtypes."""

    def __init__(self, prop: Any, arrays: dict[str, Any]):
        self.arguments, self.outputs = list(prop.list_arguments()), list(prop.list_outputs())
        self.states = list(prop.list_auxiliary_states())
        given = [arrays[n] for n in self.arguments]
        self.context = next((a.context for a in given), mx.cpu())
        shapes, types = [list(a.shape) for a in given], [a.dtype for a in given]
        self.kinds = list(zip(prop.infer_shape(shapes)[1], prop.infer_type(types)[1]))
        states = [arrays[n] for n in self.states]
        shapes += [list(a.shape) for a in states]
        self.op = prop.create_operator(self.context, shapes, types + [a.dtype for a in states])
        if not isinstance(self.op, mx.operator.CustomOp):
            raise Failure(f"create_operator gave {self.op!r}\n  expected a CustomOp")
        self.names: list[tuple[Any, str]] = []  # of the present buffers
        self.mismatches: dict[str, list[str]] = {"shapes": [], "types": []}
        self._watch_assign()

    def _watch_assign(self) -> None:
        assign = self.op.assign

        def watched(dst, req, src):
            for buffer, name in self.names:
                if buffer is dst and hasattr(src, "shape"):
                    self._note_mismatch(name, dst, src)
            return assign(dst, req, src)

        self.op.assign = watched

    def _note_mismatch(self, name: str, dst: Any, src: Any) -> None:
        """Note a value whose shape differs from its buffer's, or whose fractions are lost in it."""
        declared, given = tuple(dst.shape), tuple(src.shape)
        if given != declared and np.prod(given) != 1:
            self.mismatches["shapes"].append(f"{name} is declared {declared} and given {given}")
        if np.dtype(dst.dtype).kind in "iub" and np.dtype(src.dtype).kind == "f":
            values = src.asnumpy() if isinstance(src, nd.NDArray) else np.asarray(src)
            if (broken := values[values != np.round(values)]).size:
                self.mismatches["types"].append(
                    f"{name} is declared {np.dtype(dst.dtype)} and given {np.dtype(src.dtype)} "
                    f"values such as {broken[0]:.3g}"
                )

    def forward(self, arrays: dict[str, Any], fill: float = 0.0, req: str = "write") -> list:
        """Return the outputs, in buffers that are filled with `fill` first."""
        out = [nd.full(s, fill, ctx=self.context, dtype=t) for s, t in self.kinds]
        self.names = list(zip(out, self.outputs))
        given = list(out)  # a new list: an operator may put other arrays into it
        self.op.forward(is_train=True, req=[req] * len(out), out_data=given, **self._inputs(arrays))
        _expect_same("out_data", out, given)
        return out

    def backward(
        self,
        arrays: dict[str, Any],
        outputs: list,
        heads: list,
        fill: float = 0.0,
        req: str = "write",
    ) -> dict[str, Any]:
        """Return the gradients, in buffers that are filled with `fill` first."""
        named = {n: arrays[n] for n in self.arguments}
        buffers = [nd.full(x.shape, fill, ctx=x.context, dtype=x.dtype) for x in named.values()]
        self.names = list(zip(buffers, (f"the gradient of {n}" for n in named)))
        given = list(buffers)
        self.op.backward(
            req=[req] * len(buffers),
            out_grad=list(heads),
            out_data=list(outputs),
            in_grad=given,
            **self._inputs(arrays),
        )
        _expect_same("in_grad", buffers, given)
        return dict(zip(named, buffers))

    def _inputs(self, arrays: dict[str, Any]) -> dict[str, list]:
        names = {"in_data": self.arguments, "aux": self.states}
        return {part: [arrays[n] for n in named] for part, named in names.items()}


def _expect_same(what: str, before: list, after: list) -> None:
    for i, (a, b) in enumerate(zip(before, after)):
        if a is not b:
            raise Failure(
                f"it puts another array in the place of {what}[{i}], which nobody sees; "
                f"write {what}[{i}][:] = ..."
            )
