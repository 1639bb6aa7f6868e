"""Operators of plain functions, in MinPy's way: the decorator `customop` and `def_grad`.

    @customop("numpy")
    def square(x):
        return x * x

    square.def_grad(lambda ans, x: lambda g: 2 * x * g)

The arguments of a call decide which parameters are inputs; each choice of inputs has its own
`Operator`. Other arguments (a number, text, None, or a tuple of them) are attributes, which have no
gradient.
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

from ..._errors import describe_value
from ...engine import mx, mxnet_error, nd, sym
from ._arguments import Form, Layout, is_array, signature
from ._function_operator import BORDERS, FunctionOperator, Maker, Rule
from ._validation import expect_name
from .numpy_border import array
from .operator import expect_bool, name_of

__all__ = ["Primitive", "customop"]

CONSTANTS = {type(None), bool, int, float, str}  # types of attributes that cannot contain an array


def customop(
    type: str, *, outputs: int = 1, pure: bool = True, name: str | None = None
) -> Callable[[Callable], Primitive]:
    """Make an operator from a function of arrays; a decorator.

    It is called with NDArrays, NumPy arrays or Symbols. It is registered as ``module.function``,
    for ``nd.Custom(..., op_type=name)``.

    Parameters
    ----------
    type : {'numpy', 'mxnet', 'torch'}
        The arrays that the function and its gradients take and return: NumPy's, NDArrays, or
        PyTorch's tensors. Floating results in NumPy get the dtype of the first floating input.
        Tensors share the memory of the arrays, and must not be written to. The MXNet engine has no
        tensors.
    outputs : int
        The number of arrays that the function returns, in a tuple if there are several.
    pure : bool
        True if the function and its gradients depend only on their arguments. With False their
        Python runs in each call, also where a graph is recorded or compiled.
    name : str, optional
        The name to register it under; ``module.function`` by default.

    Raises
    ------
    ValueError, TypeError
        The type is unknown, `outputs` is no number from 1, `pure` is no bool, `name` no text; or
        the decorator is used without parentheses.
    EngineError
        A TypeError: the type is 'torch', and the engine is MXNet.

    Examples
    --------
    >>> @customop("numpy")
    ... def square(x):
    ...     return x * x
    >>> square.def_grad(lambda ans, x: lambda g: 2 * x * g)
    """
    if not isinstance(type, str):
        shown = getattr(type, "__name__", type)
        raise mxnet_error(
            TypeError,
            f"customop: its type is missing, and it is given {shown!r}\n"
            "  expected @customop('numpy'), 'mxnet' or 'torch', above the function",
        )
    if type not in BORDERS:
        raise mxnet_error(
            ValueError, f"customop: the type is {type!r}\n  expected 'numpy', 'mxnet' or 'torch'"
        )
    if not isinstance(outputs, int) or isinstance(outputs, bool) or outputs < 1:
        raise mxnet_error(
            ValueError, f"customop: outputs is {outputs!r}\n  expected their number, 1 or more"
        )

    expect_bool("customop", "pure", pure)
    expect_name("customop", name)

    def decorate(function: Callable) -> Primitive:
        if not (callable(function) and hasattr(function, "__name__")):
            raise mxnet_error(TypeError, f"customop({type!r}): {function!r}\n  expected a function")
        made = Primitive(function, type, outputs, name, pure)
        if name is not None:
            made.operator.register()
        return made

    return decorate


class Primitive:
    """Operator of a plain function, whose gradients are registered one by one.

    The gradient of an argument is registered as a maker: ``maker(ans, *args, **kwargs)`` takes the
    result and the arguments, and returns a function of the result's gradient. If there are several
    results, `ans` and their gradients are tuples. A gradient of None is zero.

    In the body of a class it is a method. `argnum` does not count a first parameter `self`, but
    makers take it, too.

    Attributes
    ----------
    name : str
        The `op_type` under which it is registered; methods are not registered.
    type : str
        'numpy', 'mxnet' or 'torch'.
    pure : bool
    operator : Operator
        The operator that runs in a call by name.
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
        self._calls: dict[tuple, PreparedCall] = {}
        self._methods: WeakSet[Method] = WeakSet()
        self._lock = RLock()
        update_wrapper(self, function)
        self.operator = self._operator(self._form.layout_by_name())
        if name is None and not self._form.is_method:
            self.operator.register()

    @property
    def inputs(self) -> tuple[str, ...]:
        """Return the names of the inputs in a call by name."""
        return self.operator.inputs

    def def_grad(self, func: Maker, argnum: int | str = 0) -> Primitive:
        """Register the maker of the gradient of one argument; it replaces an earlier maker.

        Parameters
        ----------
        func : callable
            ``func(ans, *args, **kwargs) -> grad``, where ``grad(g)`` returns the gradient, of the
            argument's shape.
        argnum : int or str
            The argument, by position or by name.

        Raises
        ------
        TypeError, ValueError
            There is no such argument, or `func` cannot be called with these arguments.
        """
        name = self._form.argument_name(argnum)
        self._form.check_maker(name, func)
        return self._register(Rule(func, (name,)))

    def def_grad_zero(self, argnum: int | str = 0) -> Primitive:
        """Register zero as the gradient of an argument.

        Raises
        ------
        TypeError, ValueError
            There is no such argument.
        """
        return self._register(Rule(None, (self._form.argument_name(argnum),)))

    def def_multiple_grad(self, func: Maker, argnums: Sequence[int | str]) -> Primitive:
        """Register one maker for the gradients of several arguments, a list in their order.

        Raises
        ------
        TypeError, ValueError
            There is no such argument, one is named twice, or `func` cannot be called with these
            arguments.
        """
        names = tuple(self._form.argument_name(argnum) for argnum in argnums)
        if not names or len(set(names)) < len(names):
            raise mxnet_error(
                ValueError,
                f"operator {self.name!r}: argnums is {argnums!r}\n  expected different arguments",
            )
        self._form.check_maker(", ".join(names), func)
        return self._register(Rule(func, names, joint=True))

    def def_grad_kw(self, func: Maker, key: str) -> Primitive:
        """Register the maker of the gradient of an argument by its name.

        Raises
        ------
        TypeError, ValueError
            See `def_grad`.
        """
        return self.def_grad(func, key)

    def _register(self, rule: Rule) -> Primitive:
        with self._lock:
            self._rules |= dict.fromkeys(rule.names, rule)
            for operator in self._operators.values():
                operator.learn(self._rules)
            for method in self._methods:
                method._register(method.bind_rule(rule))
        return self

    def __call__(self, *args, **kwargs):
        """Run the function on arrays, or put it into a graph of Symbols.

        Raises
        ------
        TypeError
            Arguments are missing or too many, or one of them is neither an array nor an attribute.
        """
        key = tuple(map(type, args))
        if kwargs:
            key = (*key, *kwargs, *map(type, kwargs.values()))
        call = self._calls.get(key)
        if call is None:
            call = self._make_call(key, args, kwargs)
        return call(args, kwargs)

    def _make_call(self, key: tuple, args: tuple, kwargs: dict) -> PreparedCall:
        """Prepare calls with arguments of these types."""
        with self._lock:
            values = (*args, *kwargs.values())
            layout, arrays, attributes = self._form.split(len(args), tuple(kwargs), values)
            operator = self._operator(layout)
            if any(isinstance(value, sym.Symbol) for value in values):
                operator.register()
            call = self._calls[key] = PreparedCall(operator, arrays, attributes, values)
            return call

    def _operator(self, layout: Layout) -> FunctionOperator:
        """Return the operator with these inputs."""
        key = layout.inputs, tuple(layout.attributes)
        if key not in self._operators:
            first = not self._operators
            name = self.name if first else f"{self.name}({', '.join(layout.inputs)})"
            operator = FunctionOperator(
                name, self._function, BORDERS[self.type], layout, self._outputs, self.pure
            )
            operator.__doc__ = self.__doc__
            operator.learn(self._rules)
            self._operators[key] = operator
        return self._operators[key]

    def __get__(self, instance: Any, owner: Any = None) -> Primitive:
        if instance is None:
            return self
        attributes = getattr(instance, "__dict__", {})
        key = f"customop {self.__qualname__}"
        method = attributes.get(key)
        if method is None or method.unbound is not self or method.instance is not instance:
            attributes[key] = method = Method(self, instance)
        return method

    def __repr__(self) -> str:
        return f"<customop {self.type} {self.name}{inspect.signature(self)}>"

    def __reduce__(self) -> Any:
        return self.__qualname__  # pickled like a function, by its module and name


class Method(Primitive):
    """Primitive that is a method, bound to one instance."""

    def __init__(self, unbound: Primitive, instance: Any):
        self.unbound, self.instance = unbound, instance
        function = unbound._function

        def method(*args, **kwargs):
            return function(instance, *args, **kwargs)

        # In a graph, each instance has its own operator, which keeps the instance alive.
        name = f"{unbound.name}@{id(instance):x}"
        method = _without_parameter(function, method, 0)
        super().__init__(method, unbound.type, unbound._outputs, name, unbound.pure)
        with unbound._lock:
            unbound._methods.add(self)
            for rule in unbound._rules.values():
                self._register(self.bind_rule(rule))

    def bind_rule(self, rule: Rule) -> Rule:
        """Return a rule of the unbound primitive with the instance bound."""
        maker, instance = rule.maker, self.instance
        if maker is None:
            return rule

        def bound(ans, *args, **kwargs):
            return maker(ans, instance, *args, **kwargs)

        return replace(rule, maker=_without_parameter(maker, bound, 1))

    def __get__(self, instance: Any, owner: Any = None) -> Primitive:
        return self  # a bound method is not bound again

    def __reduce__(self) -> Any:
        return Primitive.__get__, (self.unbound, self.instance)


def _without_parameter(function: Callable, wrapper: Callable, bound: int) -> Callable:
    """Give `wrapper` the name and signature of `function`, without its bound parameter."""
    wrapper = update_wrapper(wrapper, function)
    if (found := signature(function)) is not None:
        parameters = list(found.parameters.values())
        if parameters[bound].kind is not inspect.Parameter.VAR_POSITIONAL:
            del parameters[bound]
        wrapper.__signature__ = found.replace(parameters=parameters)
    return wrapper


class PreparedCall:
    """Call with arguments of certain types: the places of their arrays, and the operator."""

    def __init__(self, operator: FunctionOperator, arrays: dict, attributes: dict, values: tuple):
        self.operator, self.arrays = operator, tuple(arrays.values())
        self.attributes = tuple(attributes.items())
        self.in_numpy = any(isinstance(values[i], np.ndarray) for i in self.arrays if i >= 0)

    def __call__(self, args: tuple, kwargs: dict) -> Any:
        # The last one, at index -1, is for arrays left out.
        values = (*args, *kwargs.values(), None)
        arrays = [values[i] for i in self.arrays]
        if self.in_numpy:
            arrays = _as_ndarrays(arrays)
        attributes = {n: self._value(n, values[i]) for n, i in self.attributes}
        return self.operator._adapter.call_bound(arrays, attributes)

    def _value(self, name: str, value: Any) -> Any:
        """Return the value of an attribute; refuse an array, or a list that contains one."""
        kind = type(value)
        if kind in CONSTANTS:
            return value
        if isinstance(value, (list, tuple)):
            try:
                return tuple([self._value(name, v) for v in value])
            except TypeError:
                raise self._no_attribute(name, value) from None
        if isinstance(value, np.generic):
            return value.item()
        if kind.__hash__ is None or is_array(kind) or hasattr(kind, "__array__"):
            raise self._no_attribute(name, value)
        return value

    def _no_attribute(self, name: str, value: Any) -> Exception:
        """Return the error for an argument that is neither an array nor an attribute."""
        listed = isinstance(value, (list, tuple)) and any(hasattr(v, "shape") for v in value)
        one = f"an NDArray{self.operator._border.advice} or an array of NumPy"
        return mxnet_error(
            TypeError,
            f"operator {self.operator.name!r}: {name} is {describe_value(value)}\n"
            f"  expected {'the arrays one by one: f(*arrays)' if listed else one}; or as an "
            "attribute a number, text, None or a tuple of those",
        )


def _as_ndarrays(arrays: list) -> list:
    """Return NumPy arrays as NDArrays of the same dtypes, on the context of the other arrays."""
    contexts = (a.context for a in arrays if isinstance(a, nd.NDArray))
    context = next(contexts, None) or mx.current_context()
    return [array(a, context) if isinstance(a, np.ndarray) else a for a in arrays]
