"""Any operator as a layer."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import partial
from inspect import Parameter, signature
from typing import Any

from .engine import expect, gluon

__all__ = ["OperatorBlock"]


class OperatorBlock(gluon.HybridBlock):
    """An operator as a layer that owns some of its inputs.

    ``OperatorBlock(swish, params={"b": {"init": "ones"}})`` is the layer x ↦ swish(x, b) with the
    Parameter b. States of the operator are owned without saying so.

    Parameters
    ----------
    op : Operator, callable or str
        What is called with the layer's inputs and Parameters: an operator, written in any way, or
        the name of a registered one, for which the Parameters come after the inputs.
    params : sequence of str, or dict of str to dict
        The inputs that the layer owns; in a dict with options of ``ParameterDict.get``, such as
        `shape`, `init`, `lr_mult`. Shapes that are not given are the operator's to tell at the
        first call.
    prefix : str, optional
    **attributes
        Of the operator.

    Inputs:
        - the other inputs of the operator, in their order
    Outputs:
        - what the operator gives

    Raises
    ------
    TypeError
        The operator has no such input, or its name is taken by an attribute of Blocks.
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
        owned = {n: {"init": "zeros", "grad_req": "null"} for n in getattr(op, "states", ())}
        with self.name_scope():
            for name, given in (owned | options).items():
                self._own(name, {"allow_deferred_init": True} | owned.get(name, {}) | dict(given))

    def _own(self, name: str, options: dict[str, Any]) -> None:
        if self._inputs and name not in self._inputs:
            raise TypeError(
                f"OperatorBlock: {self._named!r} has no input {name!r}\n"
                f"  expected of {', '.join(self._inputs)}"
            )
        if hasattr(self, name):
            raise TypeError(
                f"OperatorBlock: {self._named!r} has the input {name!r}, which is the name of an "
                "attribute of Blocks\n  expected another name"
            )
        setattr(self, name, self.params.get(name, **options))

    @property
    def _named(self) -> str:
        return self._op if isinstance(self._op, str) else self._op.__name__

    def __call__(self, *inputs):
        expect(self.name, inputs)
        return super().__call__(*inputs)

    def hybrid_forward(self, F, *inputs, **params):
        if not self._inputs:
            call = partial(F.Custom, op_type=self._op)
            return call(*inputs, *params.values(), **self._attributes)
        given = iter(inputs)
        arrays = [params[n] if n in params else next(given, None) for n in self._inputs]
        return self._op(*arrays, *given, **self._attributes)

    def __repr__(self) -> str:
        owned = [f"{name} {p.shape}" for name, p in self._reg_params.items()]
        return f"OperatorBlock({', '.join([self._named, *owned])})"


def _inputs(op: Any) -> tuple[str, ...]:
    """The names of an operator's inputs; none where only its name is known."""
    if isinstance(op, str):
        return ()
    if hasattr(op, "inputs"):
        return tuple(op.inputs)
    parameters = signature(op).parameters.values()
    kinds = Parameter.POSITIONAL_ONLY, Parameter.POSITIONAL_OR_KEYWORD
    return tuple(p.name for p in parameters if p.kind in kinds)
