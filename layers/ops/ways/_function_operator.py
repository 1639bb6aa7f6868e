"""The `Operator` of a plain function of NumPy's arrays or of NDArrays, with gradients by rule."""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from types import FunctionType
from typing import Any

import numpy as np

from ...engine import mx, nd
from ._arguments import Layout
from .numpy_border import array, is_floating, values
from .operator import Operator, free_names

__all__ = ["BORDERS", "FunctionOperator", "Maker", "Rule"]

Maker = Callable[..., Callable]
NUMERIC = (np.ndarray, np.generic, bool, int, float, list)


@dataclass(frozen=True, eq=False)
class Rule:
    """How the gradients of some arguments are made; without a maker they are zero."""

    maker: Maker | None
    names: tuple[str, ...]
    together: bool = False  # whether it gives a list of them


class FunctionOperator(Operator):
    """A function of arrays, for one set of arguments that are."""

    is_loss = False  # who knows what its gradients do with theirs

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
        self._function, self._border = function, border(name, layout, outputs)
        super().__init__(
            name,
            _forward(function, self._border),
            inputs=layout.inputs,
            outputs=outputs,
            optional=layout.optional,
            attributes=layout.attributes,
            pure=pure,
        )
        for part in ("__doc__", "__module__", "__qualname__"):
            setattr(self, part, getattr(function, part, None) or getattr(self, part))

    def learn(self, rules: dict[str, Rule]) -> None:
        """Take over the rules of the gradients; graphs that have the operator use them too."""
        rules = {n: rules[n] for n in self.inputs if n in rules}
        made = {rule: _gradients(rule, self._border) for rule in rules.values()}
        self.needs = dict.fromkeys(rules, self.known)
        self.gradients = {n: _gradient(n, made[rule]) for n, rule in rules.items()}
        self.backward = _backward(rules, made) if any(rule.together for rule in made) else None
        written = [self._function, *(rule.maker for rule in made if rule.maker is not None)]
        plain = all(isinstance(f, FunctionType) for f in written)
        self.opaque = "" if plain else "it is made of something else than functions"
        vars(self).pop("_adapter", None)  # which has plans of what is kept for which gradient

    def parse(self, name: str, value: Any) -> Any:
        """An attribute's value, of any type; text is read, if it is that of a value."""
        if not isinstance(value, str) or isinstance(self.attributes[name], str):
            return value
        if value.startswith("<") and value.endswith(">"):
            raise TypeError(
                f"operator {self.name!r}: {name} is {value}, which is not to be told as text\n"
                "  expected a number, text, None or a tuple of such, in a graph"
            )
        for read in (ast.literal_eval, float):  # the second for inf and nan
            try:
                return read(value)
            except (ValueError, SyntaxError):
                continue
        return value

    def gradient_form(self, name: str) -> str:
        """How the gradient of an input is given."""
        return f"def_grad(..., argnum={name!r}) of {self.__name__}"


def _forward(function: Callable, border: Border) -> Callable:
    positional, keywords = border.layout.positional, border.layout.keywords

    def forward(*inputs, **attributes):
        given = border.raw(inputs) | attributes
        y = function(*[given[n] for n in positional], **{n: given[n] for n in keywords})
        return border.results(y, inputs, attributes)

    return _at(function, forward)


def _gradients(rule: Rule, border: Border) -> Callable:
    """The gradients that a rule gives, by input."""
    maker, together = rule.maker, rule.together
    places = [(i, n) for i, n in enumerate(rule.names) if n in border.layout.inputs]
    if maker is None:
        return lambda **known: {n: nd.zeros_like(known[n]) for _, n in places}
    taken = border.layout.taken(maker)
    positional, keywords, left = taken or (border.layout.positional, border.layout.keywords, ())

    def gradients(**known):
        given, ans, g = border.seen(known)
        border.expect_defaults(maker, left, given)
        grad = maker(ans, *[given[n] for n in positional], **{n: given[n] for n in keywords})
        found = border.applied(maker, grad, g)
        if together:
            border.count(maker, found, rule.names)
        else:
            found = (found,)
        return {n: border.gradient(n, found[i], known[n]) for i, n in places}

    return _at(maker, gradients)


def _gradient(name: str, gradients: Callable) -> Callable:
    """The gradient of one input."""

    def gradient(**known):
        return gradients(**known)[name]

    return _at(gradients, gradient)


def _backward(rules: dict[str, Rule], made: dict[Rule, Callable]) -> Callable:
    """All gradients, those that are given together made once."""

    def backward(**known):
        found = {}
        for rule, gradients in made.items():
            found |= {n: g for n, g in gradients(**known).items() if rules[n] is rule}
        return found

    return _at(next(rule.maker for rule in made if rule.together), backward)


def _at(function: Callable, made: Callable) -> Callable:
    """`made`, told as code of where `function` is: a compiler looks at what it reads."""
    made.__module__ = getattr(function, "__module__", None) or __name__
    made.__name__ = getattr(function, "__name__", made.__name__)
    made.__qualname__ = getattr(function, "__qualname__", made.__qualname__)
    return made


# Between an operator's NDArrays and what a function is given


class Border:
    """A function of NDArrays."""

    def __init__(self, name: str, layout: Layout, outputs: Sequence[str]):
        self.what, self.layout, self.outputs = f"operator {name!r}", layout, outputs
        self.tops = [f"d{n}" for n in outputs]

    def raw(self, inputs: Sequence) -> dict[str, Any]:
        """The inputs, as the function takes them."""
        return dict(zip(self.layout.inputs, inputs))

    def results(self, y: Any, inputs: tuple, attributes: dict) -> list:
        """The outputs, of what the function gave."""
        return self.listed(y)

    def shown(self, results: list, inputs: list, attributes: dict) -> list:
        """The outputs and their gradients, as makers see them."""
        return results

    def gradient(self, name: str, value: Any, x: Any) -> Any:
        """The gradient of an input, of what a function gave for it."""
        return nd.zeros_like(x) if value is None else value

    def seen(self, known: dict) -> tuple[dict, Any, Any]:
        """What a maker is given: the arguments, the result, and then its gradient."""
        inputs = [known[n] for n in self.layout.inputs]
        attributes = {n: known[n] for n in self.layout.attributes}
        results = [known[n] for n in (*self.outputs, *self.tops)]
        shown, count = self.shown(results, inputs, attributes), len(self.outputs)
        ys, gs = tuple(shown[:count]), tuple(shown[count:])
        return self.raw(inputs) | attributes, *((ys, gs) if count > 1 else (ys[0], gs[0]))

    def listed(self, y: Any) -> list:
        """The results, as many as there are to be."""
        listed = list(y) if isinstance(y, (list, tuple)) else [y]
        if len(listed) != len(self.outputs):
            raise ValueError(
                f"{self.what}: the function gave {len(listed)} results\n"
                f"  expected {len(self.outputs)}; customop(..., outputs={len(listed)}) says so"
            )
        return listed

    def expect_defaults(self, maker: Callable, names: tuple, given: dict) -> None:
        """Refuse arguments of which a maker knows nothing, when they are not what they are."""
        for name in names:
            default, value = self.layout.attributes.get(name), given[name]
            if value is not default and (name in self.layout.inputs or value != default):
                raise TypeError(
                    f"{self.what}: {name} is given, and {_shown(maker)} does not take it\n"
                    f"  expected a parameter {name} of {_shown(maker)}"
                )

    def applied(self, maker: Callable, grad: Any, g: Any) -> Any:
        """What a maker's function gives for an upstream gradient."""
        if not callable(grad):
            raise TypeError(
                f"{self.what}: {_shown(maker)} gave {type(grad).__name__}\n"
                "  expected a function of the upstream gradient"
            )
        return grad(g)

    def count(self, maker: Callable, found: Any, names: tuple) -> None:
        """Refuse another number of gradients than were registered."""
        if not isinstance(found, (list, tuple)) or len(found) != len(names):
            many = f"{len(found)} gradients" if isinstance(found, (list, tuple)) else type(found)
            raise ValueError(
                f"{self.what}: {_shown(maker)} gave {many}\n"
                f"  expected a list of {len(names)}: of {', '.join(names)}"
            )


class NumPyBorder(Border):
    """A function of NumPy's arrays. A number or an array without axes is an output of shape (1,).

    The function's gradients see it as the function gave it.
    """

    def __init__(self, name: str, layout: Layout, outputs: Sequence[str]):
        super().__init__(name, layout, outputs)
        # Which outputs were numbers, by shapes of inputs and attributes, where some were.
        self.numbers: dict[tuple, tuple[bool, ...]] = {}

    def raw(self, inputs: Sequence) -> dict[str, Any]:
        return {n: None if x is None else values(x) for n, x in zip(self.layout.inputs, inputs)}

    def results(self, y: Any, inputs: tuple, attributes: dict) -> list:
        listed = self.listed(y)
        listed = [self.numeric(f"result {i}", y) for i, y in enumerate(listed)]
        numbers = tuple([y.ndim == 0 for y in listed])
        if any(numbers):
            key = self.key(inputs, attributes)
            if key not in self.numbers:
                if len(self.numbers) >= 4096:
                    self.numbers.clear()
                self.numbers[key] = numbers
        there = [x for x in inputs if x is not None]
        context = there[0].context if there else mx.current_context()
        dtype = next((x.dtype for x in there if is_floating(x)), None)
        arrays = [array(y, context) for y in listed]
        if dtype is None:
            return arrays
        return [y.astype(dtype) if y.dtype is not dtype and is_floating(y) else y for y in arrays]

    def key(self, inputs: tuple, attributes: dict) -> tuple:
        """What decides of which shape the results are."""
        shapes = [None if x is None else x.shape for x in inputs]
        return (*shapes, *[attributes[n] for n in self.layout.attributes])

    def numeric(self, what: str, y: Any) -> np.ndarray:
        """What the function gave, as an array of numbers."""
        # Of an array a compiler does not see the dtype; `host.array` refuses what are no numbers.
        if not isinstance(y, NUMERIC):
            advice = ", or customop('mxnet')" if isinstance(y, nd.NDArray) else ""
            raise TypeError(
                f"{self.what}: {what} is {type(y).__name__}\n"
                f"  expected an array of NumPy or a number{advice}"
            )
        return np.asarray(y)

    def shown(self, results: list, inputs: list, attributes: dict) -> list:
        arrays = [values(y) for y in results]
        numbers = self.numbers and self.numbers.get(self.key(inputs, attributes))
        if not numbers:
            return arrays
        return [y.reshape(()) if one else y for y, one in zip(arrays, numbers * 2)]

    def gradient(self, name: str, value: Any, x: Any) -> Any:
        if value is None:
            return nd.zeros_like(x)
        made = array(self.numeric(f"the gradient of {name}", value), x.context)
        return made.astype(x.dtype, copy=False)


BORDERS = {"mxnet": Border, "numpy": NumPyBorder}


def _shown(maker: Callable) -> str:
    return getattr(maker, "__name__", repr(maker))
