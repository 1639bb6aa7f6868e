"""The call of an `Operator` on PyTorch, with all that the first call of a kind decides."""

from __future__ import annotations

from collections.abc import Iterable, Sequence, Set
from typing import TYPE_CHECKING, Any

import torch

from ..._errors import no_array, no_gradients, wrong_gradient
from .. import _dtype
from .._draws import generator_states
from .._tensor import describe
from ..base import DTypeError, RecordingError, ShapeError
from ..context import Context
from ..ndarray._memory import BORROWED, LENT, VIEWED
from ..ndarray.ndarray import NDArray
from .call import CustomCall, take_tensor

if TYPE_CHECKING:
    from .._kernels import Kernel

__all__ = ["OperatorCall"]

is_grad_enabled = torch.is_grad_enabled


class OperatorCall(CustomCall):
    """The call of an operator with its attributes, on one context, for training or not.

    It keeps nothing of the arrays that it is called with: one serves all calls of its kind.

    Parameters
    ----------
    operator : Operator
        The operator, or that of its kernel.
    context : Context
    training : bool
    attributes : dict
    formula : OperatorCall, optional
        The same call by the operator's formula, where `operator` is a kernel's: it differentiates
        the gradients.
    """

    def __init__(
        self,
        operator,
        context: Context,
        training: bool,
        attributes: dict[str, Any],
        formula: OperatorCall | None = None,
    ):
        self.operator, self.context, self.training = operator, context, training
        self.name, self.what = operator.name, f"operator {operator.name!r}"
        self.formula = formula
        self.twice = not (operator.is_loss or operator.not_kept)
        if formula is not None:
            self.twice, self.reason = formula.twice, formula.reason
        elif operator.is_loss:
            self.reason = "\n  expected dy among the parameters of its gradients"
        elif operator.not_kept:
            self.reason = _without_second(operator, *operator.not_kept)
        self.visible = len(operator.outputs) if operator.saves else None
        self.inputs, self.outputs = operator.inputs, operator.outputs
        self.attributes = operator.attributes | attributes
        self.opaque, self.pure = operator.opaque, operator.pure
        self.states = [operator.inputs.index(n) for n in operator.states]
        # By the shapes and dtypes of inputs, those of the outputs, which were checked.
        self._seen: dict[tuple, Any] = {}
        self._plans: dict[tuple[bool, ...], GradientPlan] = {}
        self._by_kernel: OperatorCall | None = None

    def by_kernel(self, kernel: Kernel) -> OperatorCall:
        """Return the same call by a kernel."""
        if self._by_kernel is None:
            self._by_kernel = OperatorCall(
                kernel.operator, self.context, self.training, self.attributes, self
            )
        if self.traced:
            return self._by_kernel.as_traced()
        return self._by_kernel

    def forward(self, tensors, specs) -> tuple[torch.Tensor, ...]:
        arrays = self._arrays(tensors)
        for i in self.states:
            arrays[i]._held = VIEWED
        y = self.run("forward", tensors, self.operator.forward, arrays, self.attributes)
        return self._results(y, tensors, specs)

    def _results(self, y: Any, tensors, specs) -> tuple[torch.Tensor, ...]:
        """Return the tensors of what forward gave, checked once for inputs of a kind."""
        if type(y) is NDArray:  # nearly always
            tensor = y._tensor
            if not self.traced and self._seen.get(specs) != (tensor.shape, tensor.dtype):
                self._check_once(specs, (tensor.shape, tensor.dtype), (y,), tensors)
            if y._held is None:  # as `take_tensor`, with a call less
                y._held = LENT
                return (tensor,)
            return (take_tensor(y),)
        values = y if isinstance(y, (list, tuple)) else (y,)
        if not self.traced:  # where it is, it was checked before; sizes may be open
            found = [(a._tensor.shape, a._tensor.dtype) for a in values if isinstance(a, NDArray)]
            if self._seen.get(specs) != found:
                self._check_once(specs, found, values, tensors)
        return tuple([take_tensor(a) for a in values])

    def saved_for_backward(self, inputs, outputs, asked):
        plan = self._plans.get(asked) or self._new_plan(asked)
        if not plan.saved:
            return ()
        values = inputs + outputs
        return [values[i] for i in plan.saved]

    def _new_plan(self, asked: tuple[bool, ...]) -> GradientPlan:
        if self.formula is None:
            plan = GradientPlan(self.operator, asked)
        else:
            again = GradientPlan(self.formula.operator, asked)
            plan = GradientPlan(self.operator, asked, {*again.known} - again.saves)
            plan.again = again
        self._plans[asked] = plan
        return plan

    def backward(self, saved, dys, specs, asked):
        plan = self._plans.get(asked) or self._new_plan(asked)
        if plan.missing:
            raise RecordingError(self._no_gradient(plan.missing[0]))
        tensors = saved + dys
        if is_grad_enabled() and (self.twice or self.traced):
            found = self.run("backward", tensors, self._gradients_again, (tensors, plan), {})
        else:
            values = [*self._arrays(tensors), *self.attributes.values()]
            found = self.run("backward", tensors, plan.compute, (values,), {})
        return self._expect_gradients(found, plan, specs, dys)

    def _expect_gradients(self, found: dict, plan: GradientPlan, specs, dys) -> list:
        """Return the tensors of the gradients, each of its input's shape and dtype."""
        gradients: list[torch.Tensor | None] = [None] * len(specs)
        for name, i in plan.wanted.items():
            gradient, (shape, dtype) = found.get(name), specs[i]
            tensor = gradient._tensor if isinstance(gradient, NDArray) else None
            if tensor is None or tensor.shape != shape or tensor.dtype is not dtype:
                raise self._wrong_gradient(name, found, plan, specs[i])
            if gradient._held is None:
                gradient._held = LENT  # the operator may have kept it, and write into it
            elif gradient._held is BORROWED and not any(tensor is dy for dy in dys):
                tensor = tensor.clone()  # a saved value, of which others have the memory
            gradients[i] = tensor
        return gradients

    def _arrays(self, tensors: Iterable[torch.Tensor | None]) -> list[NDArray | None]:
        """Return the tensors as the operator's code sees them, outside of autograd's graph."""
        context = self.context
        return [
            None if t is None else NDArray(t.detach() if t.requires_grad else t, context, BORROWED)
            for t in tensors
        ]

    def _gradients_again(self, tensors: tuple, plan: GradientPlan) -> dict[str, NDArray]:
        """Return gradients that are to be differentiated themselves."""
        # In compiled code the formula's own saved values would have to be computed again.
        if self.formula is not None and not self.traced:
            given = dict(zip(plan.known, tensors))
            again = tuple(map(given.get, plan.again.known))
            return self.formula._gradients_again(again, plan.again)
        arrays = [None if t is None else NDArray(t, self.context) for t in tensors]
        known = self.attributes | dict(zip(plan.known, arrays))
        if plan.saves and not self.traced:
            known |= self._saves_again(known)
        return plan.compute([known[name] for name in plan.values])

    def _saves_again(self, arrays: dict[str, Any]) -> dict[str, NDArray]:
        """Compute the saved values from the inputs again, in the graph of autograd.

        As constants they would make a second derivative wrong.
        """
        operator = self.operator
        before = generator_states(self.context)
        y = operator.forward(*[arrays[n] for n in operator.inputs], **self.attributes)
        after = generator_states(self.context)
        if not all(map(torch.equal, before, after)):
            raise RecordingError(
                f"{self.what} has no second derivative: forward draws random numbers, and "
                f"{', '.join(operator.saves)} would be computed of others\n"
                "  expected random numbers that are an input"
            )
        return dict(zip(operator.saves, y[len(operator.outputs) :]))

    def _check_once(self, specs, found, values: Sequence, tensors: tuple) -> None:
        """Check the outputs for inputs of new shapes or dtypes, and remember theirs."""
        self._check(values, tensors)
        if len(self._seen) > 1024:
            self._seen.clear()
        self._seen[specs] = found

    def _check(self, values: tuple, tensors) -> None:
        """Refuse outputs that are not as the operator declares them."""
        operator = self.operator
        if len(values) != len(operator.results):
            raise ShapeError(operator.wrong_count(len(values)))
        for name, value in zip(operator.saves, values[len(operator.outputs) :]):
            if not isinstance(value, NDArray):
                raise DTypeError(no_array(f"{self.what}: {name}, which it saves,", value))
        declared = self._declared_types(tensors)
        first = next((t for t in tensors if t is not None), None)
        for name, value in zip(operator.outputs, values):
            if not isinstance(value, NDArray):
                like = "".join(operator.inputs[:1])
                raise DTypeError(no_array(f"{self.what}: output {name}", value, like))
            if name in declared:
                self._check_type(name, value, declared[name])
            elif first is not None:
                self._check_like_input(name, value._tensor, value._context, first)
        if operator.shapes is None:
            return
        shapes = {
            n: None if t is None else tuple(t.shape) for n, t in zip(operator.inputs, tensors)
        }
        declared = operator.ask_shapes(shapes | self.attributes)
        real = shapes | {n: v.shape for n, v in zip(operator.outputs, values)}
        for name, shape in declared.items():
            if real[name] is not None and tuple(shape) != real[name]:
                raise ShapeError(
                    f"operator {operator.name!r}: {name} is {real[name]}\n"
                    f"  expected {tuple(shape)}, which its `{operator.shapes.__name__}` gives\n"
                    f"  in forward of {self.what} ({self.shown(tensors)})"
                )

    def _declared_types(self, tensors) -> dict[str, Any]:
        """Return the dtypes that the operator declares, by output."""
        if self.operator.types is None:
            return {}
        names = zip(self.operator.inputs, tensors)
        given = {n: None if t is None else _dtype.name(t.dtype) for n, t in names}
        return self.operator.ask(self.operator.types, given | self.attributes)

    def _check_type(self, name: str, value: NDArray, declared: Any) -> None:
        dtype = _dtype.name(_dtype.to_torch(declared))
        if _dtype.name(value._tensor.dtype) != dtype or value._context != self.context:
            raise DTypeError(
                f"operator {self.operator.name!r}: output {name} is {describe(value._tensor)} on "
                f"{value._context}\n  expected {dtype} on {self.context}, which its `types` gives"
            )

    def _check_like_input(
        self, name: str, y: torch.Tensor, context: Context, x: torch.Tensor
    ) -> None:
        """Refuse an output unless it has the first input's dtype, among floats, and context."""
        floating = y.is_floating_point() and x.is_floating_point()
        if (floating and y.dtype is not x.dtype) or context != self.context:
            raise DTypeError(
                f"operator {self.operator.name!r}: output {name} is {describe(y)} on {context}\n"
                f"  expected {_dtype.name(x.dtype)} on {self.context}, as the first "
                f"input is, such as nd.array(..., dtype={self.inputs[0]}.dtype)"
            )

    def _no_gradient(self, name: str) -> str:
        return (
            f"{self.what}: {name} asks for a gradient, but there is none\n"
            f"  expected {self.operator.gradient_form(name)}, or {name}.detach() where it is passed"
        )

    def _wrong_gradient(self, name: str, found: dict, plan: GradientPlan, spec: tuple) -> Exception:
        """Return the error of a gradient that is missing, no array, or not like its input."""
        if name not in found:
            return DTypeError(
                f"{self.what}: backward gave no gradient of {name}\n"
                f"  expected those of {', '.join(plan.wanted)}; it gave {', '.join(found)}"
            )
        gradient, (shape, dtype) = found[name], spec
        if not isinstance(gradient, NDArray):
            return DTypeError(no_array(f"{self.what}: the gradient of {name}", gradient, name))
        given = gradient._tensor.shape, _dtype.name(gradient._tensor.dtype)
        return ShapeError(wrong_gradient(self.what, name, given, (shape, _dtype.name(dtype))))


def _without_second(operator, gradient: str, value: str, x: str) -> str:
    """Explain why a saved value cannot be computed again for a second derivative."""
    if x in operator.states:
        why, expected = f"forward has changed {x} since", "an operator without states"
    else:
        why, expected = (
            f"{x} is not kept",
            f"{x} among the parameters of the gradient of {gradient}",
        )
    return (
        f": the gradient of {gradient} takes {value}, which would have to be computed again, and "
        f"{why}\n  expected {expected}"
    )


class GradientPlan:
    """The choice of gradients to compute, and of values to save for them.

    Attributes
    ----------
    wanted : dict of str to int
        By name, the places of the inputs whose gradients are computed.
    missing : list of str
        The inputs whose gradients are asked for and do not exist.
    saved : list of int
        The places, among the inputs and results, of those that are saved.
    known : list of str
        The names of what is saved, then those of the gradients of the outputs.
    values : list of str
        The names of all that gradients take: `known`, then the attributes.
    saves : set of str
        The names of what is saved beside inputs and outputs.
    """

    again: GradientPlan | None = None  # of the formula, where this is a kernel's

    def __init__(self, operator, asked: tuple[bool, ...], also: Set[str] = frozenset()):
        self._operator = operator
        places = dict(zip(operator.inputs, range(len(operator.inputs))))
        self.wanted = {n: i for n, i in places.items() if asked[i] and n in operator.needs}
        # Gradients that are asked for and do not exist: an error, and not zeros in silence.
        self.missing = [
            n
            for n, i in places.items()
            if asked[i] and n not in operator.needs and n not in operator.states
        ]
        names = (*operator.inputs, *operator.results)
        needed = {n for w in self.wanted for n in operator.needs[w]} | also
        self.saved = [i for i, n in enumerate(names) if n in needed]
        self.saves = needed & {*operator.saves}
        self.known = [names[i] for i in self.saved] + [f"d{n}" for n in operator.outputs]
        self.values = [*self.known, *operator.attributes]
        self._rules = [
            (n, operator.rules[n], self._places_of(operator.needs[n])) for n in self.wanted
        ]

    def compute(self, values: list) -> dict[str, NDArray]:
        """Return the gradients by input, from the list of `values`."""
        if self._operator.backward is not None and self._rules:  # it is the rule of each
            _, rule, places = self._rules[0]
            return _expect_gradients(self._operator, rule(*[values[i] for i in places]))
        return {name: rule(*[values[i] for i in places]) for name, rule, places in self._rules}

    def _places_of(self, names: Sequence[str]) -> list[int]:
        return [self.values.index(n) for n in names]


def _expect_gradients(operator, given: Any) -> dict:
    """Return what `backward` gave; refuse it unless it is a dict of gradients by input."""
    if not isinstance(given, dict) or given.keys() - set(operator.inputs):
        raise DTypeError(no_gradients(operator, given))
    return given
