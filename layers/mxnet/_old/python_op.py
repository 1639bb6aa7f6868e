"""MXNet's first way of writing operators: `NumpyOp` and `NDArrayOp`, objects that make symbols."""

from __future__ import annotations

import itertools
import warnings

from .. import symbol
from ..name import NameManager
from ..operator import CustomOp, CustomOpProp, register

__all__ = ["NDArrayOp", "NumpyOp", "PythonOp"]

_numbers = itertools.count()  # an operator is known by its number in this process alone


class PythonOp:
    """What `NumpyOp` and `NDArrayOp` have in common; `CustomOp` is the newer way.

    Called with symbols, an operator is one: ``MyOp()(data=x, name="mine")``.

    Parameters
    ----------
    need_top_grad : bool
        Whether `backward` uses the gradient of the outputs; False for a loss.
    """

    _hint = "python"

    def __init__(self, need_top_grad: bool = True):
        warnings.warn(
            f"{type(self).__name__}: use mx.operator.CustomOp", DeprecationWarning, stacklevel=2
        )
        self.need_top_grad_ = need_top_grad

    def __call__(self, *args, **kwargs):
        return self.get_symbol(*args, **kwargs)

    def get_symbol(self, *args, name: str | None = None, **kwargs):
        """The operator applied to symbols.

        Raises
        ------
        ArgumentError
            There are more inputs than `list_arguments` names, or others.
        """
        name = NameManager.current.get(name, self._hint)
        return symbol.Custom(*args, name=name, op_type=self._op_type(), **kwargs)

    def _op_type(self) -> str:
        """The name under which this object is registered, from the first call on."""
        owner, op_type = self.__dict__.get("_registered", (None, ""))
        if owner != id(self):  # a copy has the attributes of what it was copied from
            op_type = f"{type(self).__module__}.{type(self).__qualname__}.{next(_numbers)}"
            register(op_type)(type(f"{type(self).__name__}Prop", (_Prop,), {"_python_op": self}))
            self._registered = id(self), op_type
        return op_type

    def forward(self, in_data: list, out_data: list) -> None:
        """Write the outputs: by default the first input."""
        out_data[0][:] = in_data[0]

    def backward(self, out_grad: list, in_data: list, out_data: list, in_grad: list) -> None:
        """Write the gradients of the inputs: by default ones."""
        in_grad[0][:] = 1.0

    def infer_shape(self, in_shape: list) -> tuple[list, list]:
        """Shapes of inputs and outputs, from those of the inputs that are known."""
        return in_shape, [in_shape[0]]

    def list_outputs(self) -> list[str]:
        """Names of the outputs."""
        return ["output"]

    def list_arguments(self) -> list[str]:
        """Names of the inputs."""
        return ["data"]

    def need_top_grad(self) -> bool:
        """Whether `backward` uses the gradient of the outputs."""
        return self.need_top_grad_

    def _run(self, function, **arrays: list) -> None:
        function(**arrays)


class NDArrayOp(PythonOp):
    """An operator whose `forward` and `backward` get lists of NDArrays.

    Parameters
    ----------
    need_top_grad : bool
        Whether `backward` uses the gradient of the outputs; False for a loss.
    """

    _hint = "_ndarray"

    def declare_backward_dependency(self, out_grad: list, in_data: list, out_data: list) -> list:
        """Of these numbers of arrays, those that `backward` needs."""
        return [*(out_grad if self.need_top_grad() else ()), *in_data, *out_data]


class NumpyOp(PythonOp):
    """An operator whose `forward` and `backward` get lists of NumPy arrays.

    Parameters
    ----------
    need_top_grad : bool
        Whether `backward` uses the gradient of the outputs; False for a loss.
    """

    _hint = "_native"

    def _run(self, function, **arrays: list) -> None:
        """Call with NumPy arrays, and copy those that were written back into the NDArrays."""
        given = {name: [x.asnumpy() for x in xs] for name, xs in arrays.items()}
        function(**given)
        for name in ("out_data",) if "out_grad" not in arrays else ("in_grad",):
            for destination, x in zip(arrays[name], given[name]):
                destination[:] = x


class _Op(CustomOp):
    """A CustomOp that calls a PythonOp."""

    def __init__(self, python_op: PythonOp):
        super().__init__()
        self._python_op = python_op

    def forward(self, is_train, req, in_data, out_data, aux):
        outputs = [x.copy() for x in out_data]
        self._python_op._run(self._python_op.forward, in_data=in_data, out_data=outputs)
        for destination, each, x in zip(out_data, req, outputs):
            self.assign(destination, each, x)

    def backward(self, req, out_grad, in_data, out_data, in_grad, aux):
        op = self._python_op
        grads = [x.zeros_like() for x in in_grad]
        top = out_grad if op.need_top_grad() else []
        op._run(op.backward, out_grad=top, in_data=in_data, out_data=out_data, in_grad=grads)
        for destination, each, x in zip(in_grad, req, grads):
            self.assign(destination, each, x)


class _Prop(CustomOpProp):
    """The Prop of one PythonOp, which is an attribute of the subclass made for it."""

    _python_op: PythonOp

    def __init__(self):
        super().__init__(need_top_grad=self._python_op.need_top_grad())

    def list_arguments(self) -> list[str]:
        return self._python_op.list_arguments()

    def list_outputs(self) -> list[str]:
        return self._python_op.list_outputs()

    def infer_shape(self, in_shape):
        inputs, outputs = self._python_op.infer_shape(in_shape)
        return inputs, outputs, []

    def create_operator(self, ctx, in_shapes, in_dtypes):
        return _Op(self._python_op)
