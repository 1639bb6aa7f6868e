"""`Operator` of a plain function, in NumPy, PyTorch or `nd`, with registered gradients."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ... import engine
from ..._errors import describe_value
from ...engine import mx, mxnet_error, nd
from ._arguments import Layout
from ._attributes import read_literal
from .numpy_border import array, is_floating, values
from .operator import Operator, as_wrapper_of, free_names

__all__ = ["BORDERS", "FunctionOperator", "Maker", "Rule"]

Maker = Callable[..., Callable]
NUMERIC = (np.ndarray, np.generic, bool, int, float, list)


@dataclass(frozen=True, eq=False)
class Rule:
    """Maker of the gradients of the arguments in `names`.

    Without a maker, the gradients are zero. A joint maker's function returns a list of all of them.
    """

    maker: Maker | None
    names: tuple[str, ...]
    joint: bool = False


class FunctionOperator(Operator):
    """Operator of a function, for one choice of the arguments that are arrays."""

    # A maker's parameters do not show which values it uses, so it may use dy.
    is_loss = False

    def __init__(
        self,
        name: str,
        function: Callable,
        border: type,
        layout: Layout,
        count: int,
        pure: bool,
    ):
        outputs = ["output"] if count == 1 else [f"output{i}" for i in range(count)]
        outputs = free_names(outputs, (*layout.inputs, *layout.attributes))
        self._border = border(name, layout, outputs)
        super().__init__(
            name,
            _forward(function, self._border),
            inputs=layout.inputs,
            outputs=outputs,
            optional=layout.optional,
            attributes=layout.attributes,
            pure=pure,
        )
        for part in ("__doc__", "__module__", "__name__", "__qualname__"):
            setattr(self, part, getattr(function, part, None) or getattr(self, part))

    def learn(self, rules: dict[str, Rule]) -> None:
        """Set the rules of the gradients, also for graphs that already contain the operator."""
        rules = {n: rules[n] for n in self.inputs if n in rules}
        functions = {rule: _gradients(rule, self._border) for rule in rules.values()}
        self.gradients = {n: _gradient(n, functions[rule]) for n, rule in rules.items()}
        any_joint = any(rule.joint for rule in functions)
        self.backward = _backward(rules, functions) if any_joint else None
        self._set_rules(dict.fromkeys(rules, self.backward) if any_joint else self.gradients)
        self.forget_calls()

    def parse(self, name: str, value: Any) -> Any:
        """Return the value of an attribute, of any type; parse text that is a literal."""
        if not isinstance(value, str) or isinstance(self.attributes[name], str):
            return value
        try:
            return read_literal(value)
        except (ValueError, SyntaxError, MemoryError, RecursionError):
            return value

    def gradient_form(self, name: str) -> str:
        """Return code that registers the gradient of an input, for the error that it is missing."""
        return f"def_grad(..., argnum={name!r}) of {self.__name__}"


def _forward(function: Callable, border: Border) -> Callable:
    positional, keywords = border.layout.positional, border.layout.keywords

    def call(values):
        return function(*[values[n] for n in positional], **{n: values[n] for n in keywords})

    run = border.protected(call)

    def forward(*inputs, **attributes):
        y = run(border.to_arguments(inputs) | attributes)
        return border.to_outputs(y, inputs, attributes)

    return as_wrapper_of(function, forward)


def _gradients(rule: Rule, border: Border) -> Callable:
    """Return a function that returns the gradients of a rule, by input."""
    maker, joint = rule.maker, rule.joint
    places = [(i, n) for i, n in enumerate(rule.names) if n in border.layout.inputs]
    if maker is None:
        return lambda **known: {n: nd.zeros_like(known[n]) for _, n in places}
    arguments = border.layout.arguments_of(maker)
    positional, keywords, left_out = arguments or (
        border.layout.positional,
        border.layout.keywords,
        (),
    )

    count = len(border.outputs)

    def call(values):
        ans, g = [values[i] for i in range(count)], [values[count + i] for i in range(count)]
        ans, g = (tuple(ans), tuple(g)) if count > 1 else (ans[0], g[0])
        grad = maker(ans, *[values[n] for n in positional], **{n: values[n] for n in keywords})
        return border.apply(maker, grad, g)

    run = border.protected(call)

    def gradients(**known):
        values, ans, g = border.maker_arguments(known)
        border.expect_defaults(maker, left_out, values)
        found = run(values | dict(enumerate([*ans, *g] if count > 1 else [ans, g])))
        if joint:
            border.expect_count(maker, found, rule.names)
        else:
            found = (found,)
        return {n: border.to_gradient(n, found[i], known[n]) for i, n in places}

    return _named_as(maker, gradients)


def _gradient(name: str, gradients: Callable) -> Callable:
    """Return a function that returns the gradient of one input."""

    def gradient(**known):
        return gradients(**known)[name]

    return _named_as(gradients, gradient)


def _backward(rules: dict[str, Rule], functions: dict[Rule, Callable]) -> Callable:
    """Return a function that returns all gradients, and calls each maker once."""

    def backward(**known):
        found = {}
        for rule, gradients in functions.items():
            found |= {n: g for n, g in gradients(**known).items() if rules[n] is rule}
        return found

    return _named_as(next(rule.maker for rule in functions if rule.joint), backward)


def _named_as(function: Callable, wrapper: Callable) -> Callable:
    """Give `wrapper` the name of `function`, for error messages."""
    wrapper.__name__ = getattr(function, "__name__", wrapper.__name__)
    return wrapper


# Conversion between the NDArrays of an operator and the arguments of a function


class Border:
    """Converter that calls a function, and the makers of its gradients, with NDArrays."""

    advice = ""  # advice in an error: code that makes an NDArray

    def __init__(self, name: str, layout: Layout, outputs: Sequence[str]):
        self.what, self.layout, self.outputs = f"operator {name!r}", layout, outputs
        self.tops = [f"d{n}" for n in outputs]

    def protected(self, function: Callable) -> Callable:
        """Return a function, of a dict of values, that cannot change the caller's arrays."""
        return function  # NumPy arrays are copies, and an NDArray is copied before a write

    def to_arguments(self, inputs: Sequence) -> dict[str, Any]:
        """Return the inputs by name, in the form that the function takes."""
        return dict(zip(self.layout.inputs, inputs))

    def to_outputs(self, y: Any, inputs: tuple, attributes: dict) -> list:
        """Return the outputs of the operator from the results of the function."""
        return self.as_list(y)

    def to_maker(self, arrays: list, inputs: list, attributes: dict) -> list:
        """Return the outputs and their gradients in the form that makers take."""
        return arrays

    def to_gradient(self, name: str, value: Any, x: Any) -> Any:
        """Return the gradient of an input from the result of a maker's function."""
        return nd.zeros_like(x) if value is None else value

    def maker_arguments(self, known: dict) -> tuple[dict, Any, Any]:
        """Return the values for a maker: the arguments by name, the result, and its gradient."""
        inputs = [known[n] for n in self.layout.inputs]
        attributes = {n: known[n] for n in self.layout.attributes}
        results = [known[n] for n in (*self.outputs, *self.tops)]
        converted, count = self.to_maker(results, inputs, attributes), len(self.outputs)
        ys, gs = tuple(converted[:count]), tuple(converted[count:])
        return self.to_arguments(inputs) | attributes, *((ys, gs) if count > 1 else (ys[0], gs[0]))

    def as_list(self, y: Any) -> list:
        """Return the results of the function as a list, one for each output."""
        results = list(y) if isinstance(y, (list, tuple)) else [y]
        if len(results) != len(self.outputs):
            raise mxnet_error(
                ValueError,
                f"{self.what}: the function gave {len(results)} results\n"
                f"  expected {len(self.outputs)}; customop(..., outputs={len(results)}) says so",
            )
        return results

    def expect_defaults(self, maker: Callable, names: tuple, values: dict) -> None:
        """Refuse values other than the defaults for parameters that a maker does not take."""
        for name in names:
            default, value = self.layout.attributes.get(name), values[name]
            if value is not default and (name in self.layout.inputs or value != default):
                raise mxnet_error(
                    TypeError,
                    f"{self.what}: {name} is given, and {_name(maker)} does not take it\n"
                    f"  expected a parameter {name} of {_name(maker)}",
                )

    def apply(self, maker: Callable, grad: Any, g: Any) -> Any:
        """Call the function that a maker returned on the gradient of the output."""
        if not callable(grad):
            raise mxnet_error(
                TypeError,
                f"{self.what}: {_name(maker)} gave {describe_value(grad)}\n"
                "  expected a function of the upstream gradient",
            )
        return grad(g)

    def expect_count(self, maker: Callable, found: Any, names: tuple) -> None:
        """Refuse a list without exactly one gradient for each name."""
        if not isinstance(found, (list, tuple)) or len(found) != len(names):
            listed = isinstance(found, (list, tuple))
            many = f"{len(found)} gradients" if listed else describe_value(found)
            raise mxnet_error(
                ValueError,
                f"{self.what}: {_name(maker)} gave {many}\n"
                f"  expected a list of {len(names)}: of {', '.join(names)}",
            )


class ForeignBorder(Border):
    """Converter that calls a function, and its gradients' makers, with another library's arrays.

    A result without axes becomes an output of shape (1,); makers take it without axes again.
    """

    def __init__(self, name: str, layout: Layout, outputs: Sequence[str]):
        super().__init__(name, layout, outputs)
        # By shapes of inputs and attributes: True for each result without axes, if there is one.
        self._without_axes: dict[tuple, tuple[bool, ...]] = {}

    def read(self, x: Any) -> Any:
        """Return the other library's array for an NDArray."""
        raise NotImplementedError

    def expect(self, what: str, y: Any) -> Any:
        """Return a result of the function or of a gradient; refuse a value that is no array."""
        raise NotImplementedError

    def as_arrays(self, results: list, inputs: Sequence, context: Any) -> list:
        """Return the outputs, as NDArrays of the results."""
        raise NotImplementedError

    def to_arguments(self, inputs: Sequence) -> dict[str, Any]:
        return {n: None if x is None else self.read(x) for n, x in zip(self.layout.inputs, inputs)}

    def to_outputs(self, y: Any, inputs: tuple, attributes: dict) -> list:
        results = self.as_list(y)
        results = [self.expect(f"result {i}", y) for i, y in enumerate(results)]
        without_axes = tuple([y.ndim == 0 for y in results])
        if any(without_axes):
            key = self._key(inputs, attributes)
            if key not in self._without_axes:
                if len(self._without_axes) >= 4096:
                    self._without_axes.clear()
                self._without_axes[key] = without_axes
        present = [x for x in inputs if x is not None]
        context = present[0].context if present else mx.current_context()
        return self.as_arrays(results, inputs, context)

    def _key(self, inputs: Sequence, attributes: dict) -> tuple:
        """Return the shapes of the inputs and the attributes, which decide the results' shapes."""
        shapes = [None if x is None else x.shape for x in inputs]
        return (*shapes, *[attributes[n] for n in self.layout.attributes])

    def to_maker(self, arrays: list, inputs: list, attributes: dict) -> list:
        found = [self.read(y) for y in arrays]
        without_axes = self._without_axes and self._without_axes.get(self._key(inputs, attributes))
        if not without_axes:
            return found
        return [y.reshape(()) if scalar else y for y, scalar in zip(found, without_axes * 2)]


class NumPyBorder(ForeignBorder):
    """Converter that calls a function, and the makers of its gradients, with NumPy's arrays."""

    def read(self, x: Any) -> np.ndarray:
        return values(x)

    def expect(self, what: str, y: Any) -> np.ndarray:
        # The dtype is not checked here, because PyTorch's compiler cannot trace that. `array`
        # refuses elements that are no numbers.
        if not isinstance(y, NUMERIC):
            advice = ", or customop('mxnet')" if isinstance(y, nd.NDArray) else ""
            raise mxnet_error(
                TypeError,
                f"{self.what}: {what} is {describe_value(y)}\n"
                f"  expected an array of NumPy or a number{advice}",
            )
        return np.asarray(y)

    def as_arrays(self, results: list, inputs: Sequence, context: Any) -> list:
        dtype = next((x.dtype for x in inputs if x is not None and is_floating(x)), None)
        arrays = [array(y, context) for y in results]
        if dtype is None:
            return arrays
        return [y.astype(dtype) if y.dtype is not dtype and is_floating(y) else y for y in arrays]

    def to_gradient(self, name: str, value: Any, x: Any) -> Any:
        if value is None:
            return nd.zeros_like(x)
        gradient = array(self.expect(f"the gradient of {name}", value), x.context)
        return gradient.astype(x.dtype, copy=False)


class TorchBorder(ForeignBorder):
    """Converter that calls a function, and the makers of its gradients, with tensors.

    Dense tensors are copied only if the function writes to them.
    """

    advice = " (nd.from_torch(...) makes one of a tensor)"

    def __init__(self, name: str, layout: Layout, outputs: Sequence[str]):
        super().__init__(name, layout, outputs)
        self._tensors = engine.adapter().tensors(self.what)

    def protected(self, function: Callable) -> Callable:
        return self._tensors.Protected(self.what, function)

    def read(self, x: Any) -> Any:
        return self._tensors.tensor(x)

    def expect(self, what: str, y: Any) -> Any:
        return self._tensors.expect_tensor(f"{self.what}: {what}", y)

    def as_arrays(self, results: list, inputs: Sequence, context: Any) -> list:
        with_axes = [y if y.ndim else y.reshape((1,)) for y in results]
        return [self._tensors.output(y, context, inputs) for y in with_axes]

    def to_gradient(self, name: str, value: Any, x: Any) -> Any:
        if value is None:
            return nd.zeros_like(x)
        return self._tensors.array(self.expect(f"the gradient of {name}", value), x.context)


BORDERS = {"mxnet": Border, "numpy": NumPyBorder, "torch": TorchBorder}


def _name(maker: Callable) -> str:
    return getattr(maker, "__name__", repr(maker))
