"""MXNet's CustomOp and CustomOpProp for an `Operator`, for `nd.Custom` and `sym.Custom`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any
from weakref import WeakValueDictionary

import numpy as np

from ... import engine
from ..._errors import no_array, wrong_gradient
from ...engine import mx, mxnet_error
from .numpy_border import adopt, number
from .operator import Operator

__all__ = ["Adapter"]

_registered: WeakValueDictionary[str, Operator] = WeakValueDictionary()  # by name


def register(operator: Operator) -> None:
    """Register an operator under its name; it replaces an earlier operator of the same name.

    A call by name leaves an input out with ``no_<input>=True``.
    """
    if _registered.get(operator.name) is operator:
        return

    class Prop(_Prop):
        def __init__(self, **text):
            super().__init__(operator, text)

    Prop.low_precision = operator.low_precision
    for part in ("__module__", "__name__", "__qualname__"):
        setattr(Prop, part, getattr(operator, part))
    mx.operator.register(operator.name)(Prop)
    _registered[operator.name] = operator


def registered() -> list[Operator]:
    """Return the operators that are registered now."""
    return list(_registered.values())


class _Prop(mx.operator.CustomOpProp):
    """CustomOpProp of an `Operator`."""

    def __init__(self, operator: Operator, text: dict[str, str]):
        super().__init__(need_top_grad=not operator.is_loss)
        self.operator = operator
        given, self.refusal = {}, None
        try:
            given = operator.read_node(text)
        except TypeError as error:  # raised here, it would end the process on Apache MXNet
            self.refusal = error
        self.inputs = [n for n in operator.inputs if f"no_{n}" not in given]
        self.attributes = {n: v for n, v in given.items() if n in operator.attributes}

    def list_arguments(self) -> list[str]:
        if self.refusal is not None:
            raise self.refusal
        return [n for n in self.inputs if n not in self.operator.states]

    def list_outputs(self) -> list[str]:
        return list(self.operator.outputs)

    def list_auxiliary_states(self) -> list[str]:
        return [n for n in self.inputs if n in self.operator.states]

    def infer_shape(self, in_shape):
        return self._infer(self.operator.infer_shape, in_shape)

    def infer_type(self, in_type):
        return self._infer(self.operator.infer_type, in_type)

    def _infer(self, rule: Callable, known: Sequence) -> tuple[list, list, list]:
        names = self.list_arguments(), self.list_auxiliary_states()
        return rule(*names, known, self.attributes)

    def create_operator(self, ctx, in_shapes, in_dtypes):
        return _Op(self)


class _Op(mx.operator.CustomOp):
    """CustomOp of an `Operator`."""

    def __init__(self, prop: _Prop):
        super().__init__()
        self.prop, self.operator = prop, prop.operator
        self.attributes = self.operator.attributes | prop.attributes
        self.saved: dict[str, Any] = {}  # values of the last forward

    def _by_name(self, in_data: list, aux: list) -> dict[str, Any]:
        """Return inputs and states by name, None for those that are left out."""
        names = dict.fromkeys(self.operator.inputs)
        return (
            names
            | dict(zip(self.prop.list_arguments(), in_data))
            | dict(zip(self.prop.list_auxiliary_states(), aux))
        )

    def forward(self, is_train, req, in_data, out_data, aux):
        inputs = self._by_name(in_data, aux)
        outputs = self._results(inputs)
        self.saved = self._by_saved_name(outputs)
        for name, dst, req_of, value in zip(self.operator.outputs, out_data, req, outputs):
            self._write(name, dst, req_of, value)

    def _results(self, inputs: dict[str, Any]) -> list:
        """Return the results of the operator's own forward."""
        y = self.operator.forward(*inputs.values(), **self.attributes)
        results = y if isinstance(y, (list, tuple)) else [y]
        if len(results) != len(self.operator.results):
            raise mxnet_error(ValueError, self.operator.wrong_count(len(results)))
        return list(results)

    def _by_saved_name(self, results: list) -> dict[str, Any]:
        """Return the values that only gradients see, by name; they stay in this object.

        MXNet has one object for each call whose backward has yet to run, also in a static graph and
        on several contexts. A view of an input is as good as a copy: backward depends on all inputs
        and outputs, so MXNet leaves their memory alone until then.
        """
        operator = self.operator
        values = results[len(operator.outputs) :]
        for name, value in zip(operator.saves, values):
            if not isinstance(value, mx.nd.NDArray):
                raise mxnet_error(
                    ValueError,
                    no_array(f"operator {operator.name!r}: {name}, which it saves,", value),
                )
        return dict(zip(operator.saves, values))

    def _write(self, name: str, dst, req_of: str, value, is_gradient: bool = False) -> None:
        """Write an output of the declared shape, or a gradient of the declared shape and dtype."""
        is_array = isinstance(value, mx.nd.NDArray)
        fits = is_array and value.shape == dst.shape
        if fits and not (is_gradient and value.dtype is not dst.dtype):
            self.assign(dst, req_of, value)
            return
        who = f"operator {self.operator.name!r}"
        if not is_array:
            what = "the gradient of" if is_gradient else "output"
            raise mxnet_error(ValueError, no_array(f"{who}: {what} {name}", value))
        if is_gradient:
            kinds = [(a.shape, np.dtype(a.dtype).name) for a in (value, dst)]
            raise mxnet_error(ValueError, wrong_gradient(who, name, *kinds))
        raise mxnet_error(
            ValueError, f"{who}: output {name} is {value.shape}\n  expected {dst.shape}"
        )

    def backward(self, req, out_grad, in_data, out_data, in_grad, aux):
        outputs = self.operator.outputs
        # All arrays are declared as needed: MXNet 1.9.1 cannot rebuild the list if some are
        # missing.
        known = self._by_name(in_data, aux) | self.attributes | dict(zip(outputs, out_data))
        if self.operator.saves:
            known |= self.saved
        known |= dict(zip([f"d{n}" for n in outputs], out_grad))
        all_gradients = self.operator.backward and self.operator.ask(self.operator.backward, known)
        for name, req_of, dst in zip(self.prop.list_arguments(), req, in_grad):
            if req_of == "null":
                continue
            if name not in self.operator.needs or np.dtype(dst.dtype).kind != "f":  # integers
                value = mx.nd.zeros_like(dst)
            elif all_gradients:
                value = all_gradients[name]
            else:
                value = self.operator.gradient(name, known)
            self._write(name, dst, req_of, value, is_gradient=True)


class Adapter:
    """Caller of an operator through `Custom`, with NDArrays or Symbols."""

    def __init__(self, operator: Operator):
        register(operator)  # some operators are registered only here, at the first call
        self.operator = operator

    def forget(self) -> None:
        """Do nothing: no call is prepared; each call asks the operator itself."""

    register = staticmethod(register)
    registered = staticmethod(registered)

    @staticmethod
    def warn_again() -> None:
        """Do nothing; on MXNet, the log has no messages that appear only once."""

    @staticmethod
    def view(array) -> np.ndarray:
        """Return the values of an NDArray, which must not be written to."""
        return array.asnumpy()

    @staticmethod
    def adopt(values: np.ndarray, context):
        """Return an NDArray that takes over the memory of `values`, which nobody else may use."""
        return mx.nd.from_numpy(values).as_in_context(context)

    @staticmethod
    def array(values: np.ndarray, context):
        """Return an NDArray with a copy of `values`."""
        return mx.nd.from_numpy(values, zero_copy=False).as_in_context(context)

    @staticmethod
    def in_plain_layout(F, operator, x, *inputs, **attributes):
        """Call a custom operator on x where it stands between operators that oneDNN computes.

        oneDNN's convolutions of 8, 16, ... channels return arrays in a layout of their own, which
        MXNet 1.9.1 does not always convert for `Custom`. Without this function, 26 of 30 passes
        forward and backward with an activation between two convolutions were wrong; with it, none
        was.
        """

        def plain(x):
            # A reshape would be dropped from graphs.
            return F.slice_axis(x, axis=0, begin=0, end=None)

        return plain(operator(plain(x), *inputs, **attributes))

    @staticmethod
    def tensors(who: str):
        """Refuse an operator that is written in PyTorch.

        Raises
        ------
        EngineError
            Always: this engine has no tensors of PyTorch.
        """
        raise engine.EngineError(
            f"{who}: customop('torch') takes tensors of PyTorch, and layers runs on 'mxnet'\n"
            "  expected customop('numpy') or customop('mxnet'), or LAYERS_ENGINE=torch"
        )

    refuses_classes = False  # an error in an operator ends the process

    @staticmethod
    def class_numbers(who: str, label, count: int, ignored: int | None):
        """Return labels as class numbers, (n,); an invalid one becomes the nearest class."""
        label = label.reshape((-1,)).astype("float32")
        return mx.nd.clip(label, a_min=0, a_max=count - 1)

    @staticmethod
    def row_numbers(ids, rows: int, padding: int | None):
        """Return row ids; an invalid one becomes the nearest row."""
        return mx.nd.clip(ids, 0, rows - 1)

    @staticmethod
    def bag_numbers(who: str, numbers, offsets, rows: int):
        """Return ids clipped to the rows, and offsets clipped to the number of ids."""
        if offsets is not None:
            offsets = mx.nd.clip(offsets, 0, numbers.shape[0])
        return mx.nd.clip(numbers, 0, rows - 1), offsets

    @staticmethod
    def add_rows(rows, numbers, count: int):
        """Return `count` rows; row i is the sum of the rows with the number i."""
        shape = (count, *rows.shape[1:])
        return mx.nd._internal._backward_gather_nd(rows, numbers.reshape((1, -1)), shape=shape)

    @staticmethod
    def launch(library, values: list, shapes: list, dtypes: list, attributes: dict) -> list:
        """Call a function of a library on arrays and numbers; return the outputs."""
        arrays = [v for v in values if isinstance(v, mx.nd.NDArray)]
        context = arrays[0].context if arrays else mx.context.current_context()
        inputs = [v.asnumpy() if isinstance(v, mx.nd.NDArray) else number(v) for v in values]
        found = library.run(inputs, shapes, dtypes, attributes)
        return [adopt(np.atleast_1d(y), context) for y in found]

    def __call__(self, args: tuple, kwargs: dict[str, Any]):
        return self.call_bound(*self.operator.bind(args, kwargs))

    def call_bound(self, inputs: Sequence, attributes: dict[str, Any]):
        """Call the operator with all inputs, None for one left out, and with parsed attributes."""
        operator = self.operator
        operator.expect(tuple(inputs))
        register(operator)  # again: MXNet calls by name, and another operator may have taken it
        by_name = dict(zip(operator.inputs, inputs))
        arrays = [by_name[n] for n in operator.custom_order if by_name[n] is not None]
        text = self.operator.as_text(attributes)
        text |= {f"no_{n}": "True" for n, a in zip(operator.inputs, inputs) if a is None}
        package = mx.sym if any(isinstance(a, mx.sym.Symbol) for a in arrays) else mx.nd
        return package.Custom(*arrays, op_type=operator.name, **text)
