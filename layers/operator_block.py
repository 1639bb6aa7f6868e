"""Any operator as a layer."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import partial
from inspect import Parameter, signature
from typing import Any

from .engine import expect, gluon

__all__ = ["OperatorBlock"]


class OperatorBlock(gluon.HybridBlock):
    """An operator as a layer, some of whose inputs are Parameters.

    ``OperatorBlock(swish, params={"b": {"init": "ones"}})`` is the layer x ↦ swish(x, b) with the
    Parameter b. States of the operator always become Parameters of the layer.

    Parameters
    ----------
    op : Operator, callable or str
        The operator to call with the layer's inputs and Parameters, written in any way; or the name
        of a registered one, for which the Parameters follow the inputs.
    params : sequence of str, or dict of str to dict
        The inputs that are Parameters; in a dict with options of ``ParameterDict.get``, such as
        `shape`, `init`, `lr_mult`. The operator infers missing shapes at the first call.
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
        The operator has no such input, or its name is that of an attribute of Blocks.
    """

    def __init__(
        self,
        op: Any,
        params: Iterable[str] | Mapping[str, Mapping[str, Any]] = (),
        prefix: str | None = None,
        **attributes: Any,
    ):
        super().__init__(prefix=prefix)
        self._op, self._attributes, self._inputs = op, attributes, _inputs(op)
        options = dict(params) if isinstance(params, Mapping) else dict.fromkeys(params, {})
        state = {"init": "zeros", "grad_req": "null", "differentiable": False}
        states: dict[str, dict[str, Any]] = dict.fromkeys(getattr(op, "states", ()), state)
        with self.name_scope():
            for name, more in (states | options).items():
                defaults = {"allow_deferred_init": True} | states.get(name, {})
                self._add_parameter(name, defaults | dict(more))

    def _add_parameter(self, name: str, options: dict[str, Any]) -> None:
        if self._inputs and name not in self._inputs:
            raise TypeError(
                f"OperatorBlock: {self._operator_name!r} has no input {name!r}\n"
                f"  expected one of {', '.join(self._inputs)}"
            )
        if hasattr(self, name):
            raise TypeError(
                f"OperatorBlock: {self._operator_name!r} has the input {name!r}, which is the name "
                "of an attribute of Blocks\n  expected another name"
            )
        setattr(self, name, self.params.get(name, **options))

    @property
    def _operator_name(self) -> str:
        return self._op if isinstance(self._op, str) else self._op.__name__

    def __call__(self, *inputs):
        expect(self.name, inputs)
        return super().__call__(*inputs)

    def hybrid_forward(self, F, *inputs, **params):
        if not self._inputs:
            call = partial(F.Custom, op_type=self._op)
            return call(*inputs, *params.values(), **self._attributes)
        rest = iter(inputs)
        arrays = [params[n] if n in params else next(rest, None) for n in self._inputs]
        return self._op(*arrays, *rest, **self._attributes)

    def __repr__(self) -> str:
        params = [f"{name} {p.shape}" for name, p in self._reg_params.items()]
        return f"OperatorBlock({', '.join([self._operator_name, *params])})"


def _inputs(op: Any) -> tuple[str, ...]:
    """The names of an operator's inputs; none where only its name is known."""
    if isinstance(op, str):
        return ()
    if hasattr(op, "inputs"):
        return tuple(op.inputs)
    parameters = signature(op).parameters.values()
    kinds = Parameter.POSITIONAL_ONLY, Parameter.POSITIONAL_OR_KEYWORD
    return tuple(p.name for p in parameters if p.kind in kinds)
