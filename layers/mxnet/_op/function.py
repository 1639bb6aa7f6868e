"""`autograd.Function`: a function with a gradient of its own, for one call."""

from __future__ import annotations

import torch

from ..._errors import wrong_gradient
from .. import _dtype
from .._state import this_thread
from ..base import ArgumentError, MXNetError, RecordingError, ShapeError, describe_value
from ..context import current_context
from ..ndarray._memory import LENT
from ..ndarray.ndarray import NDArray
from ..ndarray.register import expected_array
from .call import CustomCall, as_input, as_output, call, take_tensor

__all__ = ["Function"]


class Function:
    """A differentiable function whose gradient is written beside it; for one call.

    Subclasses define ``forward(self, *inputs)`` and ``backward(self, *output_grads)`` on NDArrays;
    `backward` returns one NDArray per input. `save_for_backward` keeps arrays, `saved_tensors`
    gives them back.
    """

    _used = False
    _saved = ()

    def save_for_backward(self, *args) -> None:
        """Keep arrays for `backward`."""
        self._saved = [(array, array._tensor, array._tensor._version) for array in args]

    @property
    def saved_tensors(self) -> tuple:
        """The arrays that were kept.

        Raises
        ------
        RecordingError
            One was overwritten since.
        """
        for i, (array, tensor, version) in enumerate(self._saved):
            if array._tensor is not tensor or tensor._version != version:
                raise RecordingError(
                    f"{type(self).__name__}: saved array {i} {array.shape} was overwritten since\n"
                    "  expected it to keep its value until backward"
                )
        return tuple([array for array, _, _ in self._saved])

    def forward(self, *inputs):
        """Return the outputs: an NDArray or a tuple of them."""
        raise NotImplementedError(f"{type(self).__name__}.forward")

    def backward(self, *output_grads):
        """Return the gradients of the inputs: an NDArray, or one for each input."""
        raise NotImplementedError(f"{type(self).__name__}.backward")

    def __call__(self, *inputs):
        if self._used:
            raise MXNetError(
                f"{type(self).__name__}: this instance was called before\n"
                "  expected a new instance for each call"
            )
        self._used = True
        return FunctionCall(self, inputs)(inputs)


class FunctionCall(CustomCall):
    """The one call of an `autograd.Function`."""

    pure = False  # each is an object of its own, which may remember what it was called with

    def __init__(self, function, inputs):
        self.function, self.name, self.many = function, type(function).__name__, False
        self.what = f"Function {self.name!r}"
        self._are_arrays("input", inputs)
        self.context = inputs[0]._context if inputs else current_context()
        self.array_class = inputs[0]._array_class if inputs else NDArray
        self.training = this_thread.state.training

    def __call__(self, inputs) -> NDArray | list[NDArray]:
        results = call(self, [a._tensor for a in inputs])
        outputs = [as_output(t, self.context, self.array_class) for t in results]
        return outputs if self.many else outputs[0]

    def forward(self, tensors, specs) -> tuple[torch.Tensor, ...]:
        arrays = [as_input(t, self.context, self.array_class) for t in tensors]
        y = self.run("forward", tensors, self.function.forward, arrays, {})
        self.many = isinstance(y, (list, tuple))
        arrays = y if self.many else (y,)
        self._are_arrays("output", arrays)
        return tuple([take_tensor(a) for a in arrays])

    def backward(self, saved, dys, specs, asked) -> tuple[torch.Tensor | None, ...]:
        arrays = [as_input(t, self.context, self.array_class) for t in dys]
        given = self.run("backward", dys, self.function.backward, arrays, {})
        given = given if isinstance(given, (list, tuple)) else (given,)
        if len(given) != len(specs):
            raise MXNetError(
                f"{self.name}: backward gave {len(given)} gradients\n"
                f"  expected {len(specs)}, one for each input"
            )
        self._are_arrays("gradient", [g for g in given if g is not None])
        for i, (gradient, (shape, dtype)) in enumerate(zip(given, specs)):
            if gradient is not None and gradient._tensor.shape != shape:
                found = gradient.shape, _dtype.name(gradient._tensor.dtype)
                expected = shape, _dtype.name(dtype)
                raise ShapeError(wrong_gradient(self.name, f"input {i}", found, expected))
        for gradient in given:
            if gradient is not None and gradient._held is None:
                gradient._held = LENT  # the function may have kept it, and write into it
        return tuple([None if g is None else g._tensor for g in given])

    def _are_arrays(self, what: str, arrays) -> None:
        for i, array in enumerate(arrays):
            if not isinstance(array, NDArray):
                raise ArgumentError(
                    f"{self.name}: {what} {i} is {describe_value(array)}\n"
                    f"  expected {expected_array(array)}"
                )
