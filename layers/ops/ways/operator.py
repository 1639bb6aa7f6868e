"""Operator: a forward, and one gradient for each input.

Every way of writing an operator ends in an `Operator`.

A gradient is a function whose parameters name the values that it needs: inputs, outputs (``y``),
their gradients (``dy``), attributes; or all of them, as ``**known``. An input or output that no
gradient names is not saved for backward. An input without a gradient is not differentiable, and a
gradient that nobody asks for is not computed. If no gradient names ``dy``, the operator is a loss:
its gradients do not depend on the head gradient.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Sequence
from functools import cached_property
from typing import Any

from ... import engine
from ..._errors import describe_value, did_you_mean, note
from ..._renamed import deprecate
from ...engine import mxnet_error
from . import inference
from ._attributes import PARSERS, HasArray, parse_literal, without_arrays
from ._validation import parameter_names, validate

__all__ = ["Operator"]

# Cached properties, computed from the operator's functions.
_COMPUTED = ("_adapter", "_parameters_of", "is_loss", "not_kept")


class Operator:
    """A differentiable function of arrays, called with NDArrays or Symbols.

    Parameters
    ----------
    name : str
        The `op_type` under which it is registered.
    forward : callable
        ``forward(*inputs, **attributes)`` returns the output, or a tuple of outputs, as NDArrays.
    inputs, outputs, states : sequence of str
        `states` are inputs that `forward` updates in place and that have no gradient.
    saves : sequence of str
        Values that `forward` returns after the outputs, for the gradients that name them. Callers
        do not see them; they may have any shape and dtype.
    optional : sequence of str
        Inputs that may be left out; they are None then.
    attributes : dict of str to value
        Attributes with their defaults.
    renamed : dict of str to str
        By an attribute's former name, its present name. Calls and graphs in files may have the
        former name; it is read with a DeprecationWarning.
    gradients : dict of str to callable
        By input, the function that returns its gradient.
    backward : callable, optional
        One function in place of `gradients` that returns all of them, as a dict by input.
    shapes : callable, optional
        ``shapes(shapes of inputs, attributes) -> {name: shape}``, for inputs of unknown shape and
        for outputs. An unknown shape is None, an unknown size 0.
    types : callable, optional
        ``types(dtypes of inputs, attributes) -> {name: dtype}``, for outputs whose dtype differs
        from that of the first input. Dtypes are text, such as 'float32'.
    loss : callable, optional
        The function with these gradients, if it is not the sum of the outputs. The checker compares
        with it.
    surrogate : callable or str, optional
        A function in `nd` that has these gradients, if `forward` does not have them; its parameters
        name inputs and attributes. Or text with the reason why there is no such function. The
        checker compares with it; calls do not use it.
    pure : bool
        True if the results of `forward` and of the gradients depend only on inputs and attributes.
        If False, their Python runs in each call, also where a graph is recorded or compiled.
    opaque : str
        The reason why PyTorch's compiler cannot trace it; "" if the compiler may try.
    low_precision : bool
        If True, mixed precision casts its inputs to 16 bits, not to float32. It has no effect on
        Apache MXNet, which casts the inputs of all custom operators to float32.

    Attributes
    ----------
    needs : dict of str to tuple of str
        By input, the names of the values that its gradient takes.
    rules : dict of str to callable
        By input, its gradient, or `backward`, as a function of these values by position.

    Raises
    ------
    TypeError
        A name is duplicate, a state is no input, a gradient or `surrogate` has a parameter of an
        unknown name, or `pure` or `low_precision` is no bool.
    """

    def __init__(
        self,
        name: str,
        forward: Callable,
        *,
        inputs: Sequence[str],
        outputs: Sequence[str] = ("y",),
        states: Sequence[str] = (),
        saves: Sequence[str] = (),
        optional: Sequence[str] = (),
        attributes: dict[str, Any] | None = None,
        renamed: dict[str, str] | None = None,
        gradients: dict[str, Callable] | None = None,
        backward: Callable | None = None,
        shapes: Callable | None = None,
        types: Callable | None = None,
        loss: Callable | None = None,
        surrogate: Callable | str | None = None,
        pure: bool = True,
        opaque: str = "",
        low_precision: bool = False,
    ):
        self.name, self.forward = name, forward
        self.__module__ = forward.__module__
        self.__name__ = self.__qualname__ = name.rpartition(".")[2]
        self.inputs, self.outputs, self.states = tuple(inputs), tuple(outputs), tuple(states)
        self.saves, self.optional = tuple(saves), tuple(optional)
        self.attributes, self.renamed = attributes or {}, renamed or {}
        self.gradients, self.backward = gradients or {}, backward
        self.shapes, self.types, self.loss = shapes, types, loss
        self.surrogate = surrogate
        what = f"operator {name!r}"
        self.pure, self.opaque = expect_bool(what, "pure", pure), opaque
        self.low_precision = expect_bool(what, "low_precision", low_precision)
        rules = self.gradients
        if backward is not None:
            rules = {n: backward for n in self.inputs if n not in self.states}
        self._set_rules(rules)
        validate(self)

    @property
    def custom_order(self) -> tuple[str, ...]:
        """Return the inputs in the order of `Custom`, with the states last."""
        return (*(n for n in self.inputs if n not in self.states), *self.states)

    @property
    def known(self) -> tuple[str, ...]:
        """Return the names that gradients may have as parameters."""
        tops = [f"d{n}" for n in self.outputs]
        return (*self.inputs, *self.attributes, *self.results, *tops)

    @property
    def results(self) -> tuple[str, ...]:
        """Return the names of `forward`'s results: the outputs, then the saved values."""
        return (*self.outputs, *self.saves)

    def with_formula(
        self,
        forward: Callable,
        gradients: dict[str, Callable],
        backward: Callable | None,
        saves: Sequence[str],
    ) -> Operator:
        """Return the same operator with other code for the same values."""
        made = object.__new__(type(self))
        kept = {n: v for n, v in vars(self).items() if n not in _COMPUTED}
        vars(made).update(kept, forward=forward, gradients=gradients, backward=backward)
        made.saves = tuple(saves)
        made._set_rules(dict.fromkeys(self.needs, backward) if backward else gradients)
        return made

    def _set_rules(self, rules: dict[str, Callable]) -> None:
        """Set the functions that return the gradients of inputs, by input."""
        self.needs = {n: self._names_needed(rule) for n, rule in rules.items()}
        self.rules = {n: _taken_by_position(rule, self.needs[n]) for n, rule in rules.items()}

    def _names_needed(self, rule: Callable) -> tuple[str, ...]:
        names = parameter_names(rule)
        return self.known if names is None else names

    @cached_property
    def not_kept(self) -> tuple[str, str, str] | None:
        """Return a gradient, a saved value that it takes, and an input that it does not, if any.

        Such a saved value cannot be computed again for a second derivative, as that takes all
        inputs. A state counts as an input that is not taken, since `forward` has changed it.
        """
        for gradient, names in self.needs.items():
            for value in (n for n in self.saves if n in names):
                for x in self.inputs:
                    if x not in names or x in self.states:
                        return gradient, value, x
        return None

    @cached_property
    def is_loss(self) -> bool:
        """True if no gradient takes the gradient of an output."""
        tops = {f"d{n}" for n in self.outputs}
        return not any(tops & set(names) for names in self.needs.values())

    @cached_property
    def _adapter(self) -> Callable:
        return engine.adapter()(self)

    def register(self) -> None:
        """Register the operator under its name, for ``Custom(op_type=name)``; replace another."""
        engine.adapter().register(self)

    def forget_calls(self) -> None:
        """Make the next calls, also in graphs, follow the present functions of the operator."""
        for name in ("is_loss", "not_kept"):
            vars(self).pop(name, None)
        if "_adapter" in vars(self):
            self._adapter.forget()

    def __call__(self, *args, **kwargs):
        """Run the operator on arrays, or put it into a graph of Symbols.

        Inputs are given by position or by name, and optional ones may be left out; attributes are
        given by name.

        Raises
        ------
        TypeError
            An input is missing or unknown, or an attribute cannot be parsed. Wrong values of inputs
            raise the errors of the engine.
        """
        return self._adapter(args, kwargs)

    def bind(self, args: tuple, kwargs: dict) -> tuple[list, dict]:
        """Return the inputs of a call in their order, None for one left out, and the attributes.

        Raises
        ------
        TypeError
            An input is missing or unknown, or an attribute is not of its default's type.
        """
        if not kwargs and len(args) == len(self.inputs):  # the most frequent call
            for a in args:
                if a is None:
                    break
            else:
                return list(args), {}
        values = dict(zip(self.inputs, args))
        attributes = {}
        kwargs = self.by_present_names(kwargs)
        for name, value in kwargs.items():
            if name in self.attributes:
                attributes[name] = self.parse(name, value)
            elif name in values:
                raise mxnet_error(
                    TypeError, f"operator {self.name!r}: {name} is given twice\n  {self._expected}"
                )
            elif name in self.inputs:
                values[name] = value
            else:
                hint = did_you_mean(name, [*self.inputs, *self.attributes])
                raise mxnet_error(
                    TypeError,
                    f"operator {self.name!r}: unexpected argument {name!r}{hint}\n"
                    f"  {self._expected}",
                )
        if len(args) > len(self.inputs):
            raise mxnet_error(
                TypeError, f"operator {self.name!r}: {len(args)} inputs\n  {self._expected}"
            )
        arrays = [values.get(n) for n in self.inputs]
        for name, value in zip(self.inputs, arrays):
            if value is None and name not in self.optional:
                raise mxnet_error(
                    TypeError, f"operator {self.name!r}: {name} is missing\n  {self._expected}"
                )
        return arrays, attributes

    def read_node(self, given: dict[str, Any]) -> dict[str, Any]:
        """Return the attributes of a node, parsed, by their present names.

        They may be text. ``no_b`` is True if the optional input ``b`` is left out.

        Raises
        ------
        TypeError
            An attribute is unknown, duplicate, or not of its default's type.
        """
        found: dict[str, Any] = {}
        for name, value in self.by_present_names(given).items():
            if name in self.attributes:
                found[name] = self.parse(name, value)
            elif name.startswith("no_") and name[3:] in self.optional:
                found |= {name: True} if str(value) == "True" else {}
            elif not (name.startswith("__") or name in ("ctx", "name")):  # attributes of nodes
                raise mxnet_error(
                    TypeError,
                    f"operator {self.name!r}: it has no attribute {name!r}"
                    f"{did_you_mean(name, self.attributes)}\n  {self._expected}",
                )
        return found

    def by_present_names(self, given: dict[str, Any]) -> dict[str, Any]:
        """Return arguments by their present names; warn about former names.

        Raises
        ------
        TypeError
            An argument is given by both names.
        """
        former = [name for name in given if name in self.renamed]
        if not former:
            return given
        for name in former:
            now = self.renamed[name]
            if now in given:
                raise mxnet_error(
                    TypeError,
                    f"operator {self.name!r}: {now} is given twice, once as {name}\n"
                    f"  {self._expected}",
                )
            deprecate(
                f"operator {self.name!r}: {name}={given[name]} is deprecated\n"
                f"  write {now}={given[name]}"
            )
        return {self.renamed.get(n, n): value for n, value in given.items()}

    def expect(self, inputs: tuple) -> None:
        """Refuse arrays of the other engine."""
        engine.expect(f"operator {self.name!r}", inputs)

    def wrong_count(self, count: int) -> str:
        """Return the message for a wrong number of results of `forward`."""
        saved = f", and what it saves: {', '.join(self.saves)}" if self.saves else ""
        names = tuple(f"y{i}" for i in range(count))
        declared = f"; outputs = {names} declares {count}" if count > len(self.results) else ""
        return (
            f"operator {self.name!r}: forward gave {count} output{'s' * (count != 1)}\n"
            f"  expected {len(self.results)}: {', '.join(self.outputs)}{saved}{declared}"
        )

    @property
    def _expected(self) -> str:
        return f"expected {self.__name__}({self._parameters})"

    @property
    def _parameters(self) -> str:
        arrays = [f"{n}=None" if n in self.optional else n for n in self.inputs]
        attributes = [f"{n}={v!r}" for n, v in self.attributes.items()]
        return ", ".join([*arrays, *(["*"] if attributes else []), *attributes])

    def parse(self, name: str, value: Any) -> Any:
        """Return an attribute's value in the type of its default; parse text, as MXNet passes it.

        Raises
        ------
        TypeError
            The value is not of that type.
        """
        default = self.attributes[name]
        if default is None and (value is None or isinstance(value, str) and value == "None"):
            return None
        parse = PARSERS.get(type(default), parse_literal)
        try:
            parsed = parse(without_arrays(value))
            hash(parsed)  # the value is part of the key of prepared calls
        except (ValueError, TypeError, KeyError, SyntaxError, MemoryError, RecursionError) as error:
            expected = "a number, text or tuple" if default is None else type(default).__name__
            if isinstance(error, HasArray):
                expected += "; an array is an input, and stands before * in forward"
            raise mxnet_error(
                TypeError,
                f"operator {self.name!r}: {name} is {describe_value(value)}\n  expected {expected}",
            ) from None
        return parsed

    def as_text(self, attributes: dict[str, Any]) -> dict[str, str]:
        """Return attributes as text for a graph; `parse` turns the text into the same values.

        Raises
        ------
        TypeError
            The text of a value would be parsed as another value.
        """
        text = {name: str(value) for name, value in attributes.items()}
        for name, value in attributes.items():
            if repr(self.parse(name, text[name])) != repr(value):
                raise mxnet_error(
                    TypeError,
                    f"operator {self.name!r}: {name} is {value}, which cannot be written as text\n"
                    "  expected a number, text, None or a tuple of such, in a graph",
                )
        return text

    def gradient(self, name: str, known: dict[str, Any]) -> Any:
        """Compute the gradient of one input, from the values of `known` that its function names."""
        return self.gradients[name](**{n: known[n] for n in self.needs[name]})

    def ask(self, rule: Callable, known: dict[str, Any]) -> Any:
        """Call `shapes`, `types` or `backward` with the values of `known` that it names."""
        if rule not in self._parameters_of:
            self._parameters_of[rule] = parameter_names(rule)
        names = self._parameters_of[rule]
        arguments = known if names is None else {n: known[n] for n in names}
        try:
            return rule(**arguments)
        except Exception as error:
            unknown = () if rule is self.backward else self.inputs
            shown = [
                f"{n} {'unknown' if v is None else v}"
                for n, v in arguments.items()
                if isinstance(v, (tuple, str)) or (v is None and n in unknown)
            ]
            note(error, f"  in {rule.__name__} of operator {self.name!r} ({', '.join(shown)})")
            raise

    def ask_shapes(self, known: dict[str, Any]) -> dict[str, tuple[int, ...]]:
        """Return the shapes that `shapes` returns, by input and output.

        Raises
        ------
        TypeError
            `shapes` does not return a dict by their names.
        """
        rule = self.shapes
        if rule is None:
            return {}
        found = self.ask(rule, known)
        names = (*self.inputs, *self.outputs)
        if not isinstance(found, dict) or found.keys() - set(names):
            raise mxnet_error(
                TypeError,
                f"operator {self.name!r}: `{rule.__name__}` gave {found!r}\n"
                f"  expected a dict of shapes by name, of {', '.join(names)}",
            )
        return found

    @cached_property
    def _parameters_of(self) -> dict[Callable, tuple[str, ...] | None]:
        """Return a cache of rules' parameters: `inspect.signature` is slower than operators."""
        return {}

    def infer_shape(
        self, arguments: Sequence[str], states: Sequence[str], in_shape: Sequence, attributes: dict
    ) -> tuple[list, list, list]:
        """Return the shapes of arguments, outputs and states; see `inference`."""
        return inference.infer_shape(self, arguments, states, in_shape, attributes)

    def infer_type(
        self, arguments: Sequence[str], states: Sequence[str], in_type: Sequence, attributes: dict
    ) -> tuple[list, list, list]:
        """Return the dtypes of arguments, outputs and states; see `inference`."""
        return inference.infer_type(self, arguments, states, in_type, attributes)

    def gradient_form(self, name: str) -> str:
        """Return code that defines the gradient of an input, for the error that it is missing."""
        return f"def d{name}(...)"

    def __repr__(self) -> str:
        return f"<operator {self.name}({self._parameters})>"

    def __reduce__(self) -> str:
        return self.__qualname__  # pickled like a function, by module and name


def name_of(definition: Any) -> str:
    """Return the name under which a class or function is registered."""
    module = getattr(definition, "__module__", None) or "__main__"
    return definition.__name__ if module == "__main__" else f"{module}.{definition.__name__}"


def expect_bool(who: str, name: str, value: Any) -> bool:
    """Return an argument that must be True or False.

    Raises
    ------
    TypeError
        The argument is neither True nor False.
    """
    if not isinstance(value, bool):
        raise mxnet_error(
            TypeError,
            f"{who}: {name} is {value!r} ({type(value).__name__})\n  expected True or False",
        )
    return value


def as_wrapper_of(function: Any, forward: Any) -> Callable:
    """Mark `forward` as a wrapper of a user's function, so that errors name its file and line."""
    if hasattr(function, "__code__"):
        forward.__wrapped__ = function
    return forward


def free_names(names: Sequence[str], taken: Iterable[str]) -> tuple[str, ...]:
    """Return names for outputs, with ``_`` appended until neither ``y`` nor ``dy`` is taken."""
    while {*names, *(f"d{n}" for n in names)} & {*taken}:
        names = [f"{n}_" for n in names]
    return tuple(names)


def _taken_by_position(rule: Callable, names: Sequence[str]) -> Callable:
    """Return the rule as a function of the values of `names`, in their order."""
    kinds = {p.kind for p in inspect.signature(rule).parameters.values()}
    if kinds <= {inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD}:
        return rule
    return lambda *values: rule(**dict(zip(names, values)))
