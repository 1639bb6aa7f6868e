"""Any operator as a layer."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import partial
from inspect import Parameter, signature
from typing import Any

from . import engine
from ._errors import did_you_mean
from ._renamed import formerly
from .engine import expect, gluon, mx, mxnet_error, sym

__all__ = ["OperatorBlock"]


class OperatorBlock(gluon.HybridBlock):
    """An operator as a layer, some of whose inputs are Parameters.

    ``OperatorBlock(swish, params={"b": {"init": "ones"}})`` is the layer x ↦ swish(x, b) with the
    Parameter b. States of the operator always become Parameters of the layer.

    Parameters
    ----------
    op : Operator, callable or str
        The operator to call with the layer's inputs and Parameters, however it was written; or the
        name of a registered operator.
    params : str, sequence of str, or dict of str to dict
        Names of the inputs that become Parameters. In a dict, each name has options of
        ``ParameterDict.get``, such as `shape`, `init`, `lr_mult`. The operator infers missing
        shapes at the first call.
    prefix : str, optional
    **attributes
        The operator's attributes.

    Inputs:
        - the other inputs of the operator, in their order
    Outputs:
        - the outputs of the operator

    Raises
    ------
    TypeError
        `op` is no operator, no function with known parameters, and no name; it has no such input or
        attribute; the input's name is an attribute of Blocks; or `params` has an option that
        Parameters do not have.
    ValueError
        No operator is registered under the name.
    """

    @formerly("op params prefix")
    def __init__(
        self,
        op: Any,
        params: str | Iterable[str] | Mapping[str, Mapping[str, Any]] = (),
        *,
        prefix: str | None = None,
        **attributes: Any,
    ):
        params = (params,) if isinstance(params, str) else params
        for operator in engine.adapter().registered():
            if op is operator or op == operator.name:
                attributes = operator.by_present_names(attributes)
        inputs = _inputs(op, attributes)
        _expect_attributes(op, inputs, attributes)
        super().__init__(prefix=prefix)
        self._op: Any = op
        self._attributes, self._inputs = attributes, inputs
        options = dict(params) if isinstance(params, Mapping) else dict.fromkeys(params, {})
        state = {"init": "zeros", "grad_req": "null", "differentiable": False}
        states: dict[str, dict[str, Any]] = dict.fromkeys(getattr(op, "states", ()), state)
        with self.name_scope():
            for name, more in (states | options).items():
                _expect_options(name, more)
                defaults = {"allow_deferred_init": True} | states.get(name, {})
                self._add_parameter(name, defaults | dict(more))

    def _add_parameter(self, name: str, options: dict[str, Any]) -> None:
        if name not in self._inputs:
            names = (
                f"one of {', '.join(self._inputs)}" if self._inputs else "none: they have no names"
            )
            raise mxnet_error(
                TypeError,
                f"OperatorBlock: {self._operator_name!r} has no input {name!r}\n  expected {names}",
            )
        if hasattr(self, name):
            raise mxnet_error(
                TypeError,
                f"OperatorBlock: {self._operator_name!r} has the input {name!r}, which is the name "
                "of an attribute of Blocks\n  expected another name",
            )
        setattr(self, name, self.params.get(name, **options))

    @property
    def _operator_name(self) -> str:
        return (
            self._op if isinstance(self._op, str) else getattr(self._op, "__name__", repr(self._op))
        )

    def __call__(self, *inputs):
        expect(self.name, inputs)
        return super().__call__(*inputs)

    def hybrid_forward(self, F, *inputs, **params):
        call = partial(F.Custom, op_type=self._op) if isinstance(self._op, str) else self._op
        rest = iter(inputs)
        arrays = [params[n] if n in params else next(rest, None) for n in self._inputs]
        while arrays and arrays[-1] is None:  # a function has its own defaults
            arrays.pop()
        return call(*arrays, *rest, **self._attributes)

    def __repr__(self) -> str:
        params = [f"{name} {p.shape}" for name, p in self._reg_params.items()]
        return f"OperatorBlock({', '.join([self._operator_name, *params])})"


def _inputs(op: Any, attributes: dict[str, Any]) -> tuple[str, ...]:
    """Return the names of an operator's inputs, including its states."""
    if isinstance(op, str):
        return _registered_inputs(op, attributes)
    if hasattr(op, "inputs"):
        return tuple(op.inputs)
    try:
        if isinstance(op, type):
            raise TypeError("a class has instances, not inputs")
        parameters = signature(op).parameters.values()
    except (TypeError, ValueError):
        raise mxnet_error(
            TypeError,
            f"OperatorBlock: op is {op!r} ({type(op).__name__})\n  expected an operator, a "
            "function whose parameters Python knows, or the name of a registered operator",
        ) from None
    kinds = Parameter.POSITIONAL_ONLY, Parameter.POSITIONAL_OR_KEYWORD
    return tuple(p.name for p in parameters if p.kind in kinds)


def _registered_inputs(name: str, attributes: dict[str, Any]) -> tuple[str, ...]:
    """Return the names of the inputs of the operator that is registered under a name."""
    for operator in engine.adapter().registered():
        if operator.name == name:  # checked here: Apache MXNet crashes if its Prop refuses one
            operator.read_node(attributes)
    try:
        node = sym.Custom(op_type=name, name="of", **attributes)
    except mx.base.MXNetError as error:
        if isinstance(error, TypeError):  # it is registered, but refuses these attributes
            raise
        names = [known.name for known in engine.adapter().registered()]
        raise mxnet_error(
            ValueError,
            f"OperatorBlock: no operator is registered under the name {name!r}"
            f"{did_you_mean(name, names)}\n  expected the name of an operator whose module "
            "is imported",
        ) from error
    return tuple([variable.removeprefix("of_") for variable in node.list_inputs()])


def _expect_attributes(op: Any, inputs: tuple[str, ...], attributes: dict[str, Any]) -> None:
    """Refuse attributes that are not among the known ones of an operator or function."""
    if isinstance(op, str):
        return
    if hasattr(op, "inputs"):
        known = list(getattr(op, "attributes", attributes))
    else:
        parameters = signature(op).parameters.values()
        if any(p.kind is Parameter.VAR_KEYWORD for p in parameters):
            return
        known = [p.name for p in parameters if p.kind is Parameter.KEYWORD_ONLY]
    for name in attributes:
        if name not in known and name not in inputs:
            expected = f"one of {', '.join(known)}" if known else "none"
            raise mxnet_error(
                TypeError,
                f"OperatorBlock: {getattr(op, '__name__', repr(op))!r} has no attribute {name!r}"
                f"{did_you_mean(name, [*known, 'params', 'prefix'])}\n  expected {expected}",
            )


def _expect_options(name: str, options: Any) -> None:
    """Refuse options that Parameters do not have."""
    if not isinstance(options, Mapping):
        raise mxnet_error(
            TypeError,
            f"OperatorBlock: params has {options!r} for {name!r}\n"
            "  expected a dict of options, such as {'init': 'ones'}",
        )
    known = [option for option in signature(gluon.Parameter).parameters if option != "name"]
    for option in options:
        if option not in known:
            raise mxnet_error(
                TypeError,
                f"OperatorBlock: params has the option {option!r} for {name!r}"
                f"{did_you_mean(option, known)}\n  expected options of ParameterDict.get",
            )
