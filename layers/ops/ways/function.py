"""Operators of plain functions: the decorator `customop` and `def_grad`, MinPy's way.

    @customop("numpy")
    def square(x):
        return x * x

    square.def_grad(lambda ans, x: lambda g: 2 * x * g)

Which arguments are arrays is seen in the call, and each set of them makes an `Operator`. What is no
array (a number, text, None, a tuple of them) is an attribute, and is not differentiated.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import update_wrapper
from threading import RLock
from typing import Any
from weakref import WeakSet

import numpy as np

from ...engine import mx, nd, sym
from ._arguments import Form, Layout, is_array, signature
from ._function_operator import BORDERS, FunctionOperator, Maker, Rule
from .custom import register
from .numpy_border import array
from .operator import expect_bool, name_of

__all__ = ["Primitive", "customop"]

VALUES = {type(None), bool, int, float, str}  # attributes that are taken as they are


def customop(type: str, *, outputs: int = 1, pure: bool = True) -> Callable[[Callable], Primitive]:
    """Make an operator of a function of arrays; decorator.

    It is called with NDArrays (or NumPy's arrays, or Symbols), and is registered under its name
    after its module's, for ``nd.Custom(..., op_type=name)``.

    Parameters
    ----------
    type : {'numpy', 'mxnet'}
        What the function and its gradients are given and give: NumPy's arrays, or NDArrays.
        Floating results in NumPy get the dtype of the first floating input.
    outputs : int
        How many arrays it returns, in a tuple where they are several.
    pure : bool
        Whether it and its gradients are functions of their arguments. False keeps their Python
        running in each call, also where a graph is recorded or compiled.

    Raises
    ------
    ValueError, TypeError
        The type is unknown, `outputs` is no number from 1, `pure` is no bool; or the decorator
        stands without parentheses.

    Examples
    --------
    >>> @customop("numpy")
    ... def square(x):
    ...     return x * x
    >>> square.def_grad(lambda ans, x: lambda g: 2 * x * g)
    """
    if not isinstance(type, str):
        shown = getattr(type, "__name__", type)
        raise TypeError(
            f"customop: its type is missing, and it is given {shown!r}\n"
            "  expected @customop('numpy') or @customop('mxnet') above the function"
        )
    if type not in BORDERS:
        raise ValueError(f"customop: the type is {type!r}\n  expected 'numpy' or 'mxnet'")
    if not isinstance(outputs, int) or isinstance(outputs, bool) or outputs < 1:
        raise ValueError(f"customop: outputs is {outputs!r}\n  expected their number, 1 or more")

    expect_bool("customop", "pure", pure)

    def decorate(function: Callable) -> Primitive:
        if not (callable(function) and hasattr(function, "__name__")):
            raise TypeError(f"customop({type!r}): {function!r}\n  expected a function")
        return Primitive(function, type, outputs, pure=pure)

    return decorate


class Primitive:
    """What `customop` makes of a function: an operator with gradients that are registered.

    A gradient is given by its maker: ``maker(ans, *args, **kwargs)`` is given the result and the
    arguments, and gives a function of the result's gradient. Of several results both are tuples. A
    gradient that is None is zero.

    As an attribute of a class it is a method. A first parameter `self` is not counted in `argnum`,
    and makers are given it.

    Attributes
    ----------
    name : str
        The `op_type` it is registered under; methods are not.
    type : str
        'numpy' or 'mxnet'.
    pure : bool
    operator : Operator
        What it is when it is called by name.
    """

    def __init__(
        self,
        function: Callable,
        type: str,
        outputs: int = 1,
        name: str | None = None,
        pure: bool = True,
    ):
        self.type, self.name = type, name or name_of(function)
        self._function, self._form = function, Form(self.name, function)
        self._outputs, self.pure = outputs, pure
        self._rules: dict[str, Rule] = {}
        self._operators: dict[tuple, FunctionOperator] = {}
        self._calls: dict[tuple, Called] = {}
        self._bound: WeakSet[Method] = WeakSet()
        self._lock = RLock()
        update_wrapper(self, function)
        self.operator = self._operator(self._form.by_name())
        if name is None and not self._form.is_method:
            register(self.operator)

    @property
    def inputs(self) -> tuple[str, ...]:
        """The inputs of the operator that it is when it is called by name."""
        return self.operator.inputs

    def def_grad(self, func: Maker, argnum: int | str = 0) -> Primitive:
        """Register what makes the gradient of one argument; the last call counts.

        Parameters
        ----------
        func : callable
            ``func(ans, *args, **kwargs) -> grad``, and ``grad(g)`` gives the gradient in the shape
            of the argument.
        argnum : int or str
            The argument, by position or by name.

        Raises
        ------
        TypeError, ValueError
            There is no such argument, or `func` cannot be called so.
        """
        name = self._form.place(argnum)
        self._form.check_maker(name, func)
        return self._register(Rule(func, (name,)))

    def def_grad_zero(self, argnum: int | str = 0) -> Primitive:
        """Register that the gradient of an argument is zero."""
        return self._register(Rule(None, (self._form.place(argnum),)))

    def def_multiple_grad(self, func: Maker, argnums: Sequence[int | str]) -> Primitive:
        """Register what makes the gradients of several arguments, as a list in their order."""
        names = tuple(self._form.place(argnum) for argnum in argnums)
        if not names or len(set(names)) < len(names):
            raise ValueError(
                f"operator {self.name!r}: argnums is {argnums!r}\n  expected different arguments"
            )
        self._form.check_maker(", ".join(names), func)
        return self._register(Rule(func, names, together=True))

    def def_grad_kw(self, func: Maker, key: str) -> Primitive:
        """Register what makes the gradient of an argument that is given by name."""
        return self.def_grad(func, key)

    def _register(self, rule: Rule) -> Primitive:
        with self._lock:
            self._rules |= dict.fromkeys(rule.names, rule)
            for operator in self._operators.values():
                operator.learn(self._rules)
            for method in self._bound:
                method._register(method.rule_of(rule))
        return self

    def __call__(self, *args, **kwargs):
        """Run the function on arrays, or put it into a graph of Symbols."""
        key = tuple(map(type, args))
        if kwargs:
            key = (*key, *kwargs, *map(type, kwargs.values()))
        called = self._calls.get(key)
        if called is None:
            called = self._called(key, args, kwargs)
        return called(args, kwargs)

    def _called(self, key: tuple, args: tuple, kwargs: dict) -> Called:
        """What a call with arguments of these types is."""
        with self._lock:
            given = (*args, *kwargs.values())
            layout, arrays, attributes = self._form.split(len(args), tuple(kwargs), given)
            operator = self._operator(layout)
            if any(isinstance(value, sym.Symbol) for value in given):
                register(operator)
            called = self._calls[key] = Called(operator, arrays, attributes, given)
            return called

    def _operator(self, layout: Layout) -> FunctionOperator:
        """The operator with these inputs."""
        key = layout.inputs, tuple(layout.attributes)
        if key not in self._operators:
            usual = not self._operators
            name = self.name if usual else f"{self.name}({', '.join(layout.inputs)})"
            made = FunctionOperator(
                name, self._function, BORDERS[self.type], layout, self._outputs, self.pure
            )
            made.__doc__ = self.__doc__
            made.learn(self._rules)
            self._operators[key] = made
        return self._operators[key]

    def __get__(self, instance: Any, owner: Any = None) -> Primitive:
        if instance is None:
            return self
        kept = getattr(instance, "__dict__", {})
        place = f"customop {self.__qualname__}"
        method = kept.get(place)
        if method is None or method.unbound is not self or method.instance is not instance:
            kept[place] = method = Method(self, instance)
        return method

    def __repr__(self) -> str:
        return f"<customop {self.type} {self.name}{inspect.signature(self)}>"

    def __reduce__(self) -> Any:
        return self.__qualname__  # pickled as a function is: by its place


class Method(Primitive):
    """A primitive that is an attribute of a class, of one instance."""

    def __init__(self, unbound: Primitive, instance: Any):
        self.unbound, self.instance = unbound, instance
        function = unbound._function

        def method(*args, **kwargs):
            return function(instance, *args, **kwargs)

        # In a graph each instance has an operator of its own, which keeps the instance.
        name = f"{unbound.name}@{id(instance):x}"
        made = _as(function, method, 0)
        super().__init__(made, unbound.type, unbound._outputs, name, unbound.pure)
        with unbound._lock:
            unbound._bound.add(self)
            for rule in unbound._rules.values():
                self._register(self.rule_of(rule))

    def rule_of(self, rule: Rule) -> Rule:
        """A rule of the unbound primitive, with the instance bound."""
        maker, instance = rule.maker, self.instance
        if maker is None:
            return rule

        def bound(ans, *args, **kwargs):
            return maker(ans, instance, *args, **kwargs)

        return replace(rule, maker=_as(maker, bound, 1))

    def __get__(self, instance: Any, owner: Any = None) -> Primitive:
        return self  # a bound method is not bound again

    def __reduce__(self) -> Any:
        return Primitive.__get__, (self.unbound, self.instance)


def _as(function: Callable, made: Callable, bound: int) -> Callable:
    """`made` with the name and place of `function`, and its signature but for a bound parameter."""
    made = update_wrapper(made, function)
    if (found := signature(function)) is not None:
        parameters = list(found.parameters.values())
        if parameters[bound].kind is not inspect.Parameter.VAR_POSITIONAL:
            del parameters[bound]
        made.__signature__ = found.replace(parameters=parameters)
    return made


class Called:
    """Calls with arguments of some types: where the arrays are, and which operator takes them."""

    def __init__(self, operator: FunctionOperator, arrays: dict, attributes: dict, given: tuple):
        self.operator, self.arrays = operator, tuple(arrays.values())
        self.attributes = tuple(attributes.items())
        self.in_numpy = any(isinstance(given[i], np.ndarray) for i in self.arrays if i >= 0)

    def __call__(self, args: tuple, kwargs: dict) -> Any:
        given = (*args, *kwargs.values(), None)  # the last is that of what is left out
        arrays = [given[i] for i in self.arrays]
        if self.in_numpy:
            arrays = _arrays(arrays)
        attributes = {n: self._value(n, given[i]) for n, i in self.attributes}
        return self.operator._adapter(arrays, attributes)

    def _value(self, name: str, value: Any) -> Any:
        """An attribute: no array, nor anything that is made of arrays."""
        kind = type(value)
        if kind in VALUES:
            return value
        if isinstance(value, (list, tuple)):
            return tuple([self._value(name, v) for v in value])
        if isinstance(value, np.generic):
            return value.item()
        if kind.__hash__ is None or is_array(kind) or hasattr(kind, "__array__"):
            shown = kind.__name__ if is_array(kind) else f"{value!r} ({kind.__name__})"
            raise TypeError(
                f"operator {self.operator.name!r}: {name} is or has {shown}\n"
                "  expected an NDArray, an array of NumPy, a number, text, None or a tuple of such"
            )
        return value


def _arrays(arrays: list) -> list:
    """NDArrays in the place of NumPy's arrays, of their dtypes, where the others are."""
    contexts = (a.context for a in arrays if isinstance(a, nd.NDArray))
    context = next(contexts, None) or mx.current_context()
    return [array(a, context) if isinstance(a, np.ndarray) else a for a in arrays]
