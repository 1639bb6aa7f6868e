"""Inductor's code of a recorded call, forward and backward, as one node for autograd.

What AOTAutograd does around that code, for views, states and other devices, takes 60 us a call, as
long as a small graph. The first calls of a kind, until there is a backward, see what the code is
given and gives. Where these are nothing but tensors of the call, later calls are of the code.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import torch

from ..context import Context
from .graph_call import Gradients, GraphCall, autograd_call, gradients_of_given, keeps_graph
from .kinds import Run
from .program import Program
from .whole import Call, Whole, graphs_watched, only_call, places, versions

Tensor = torch.Tensor
MOST_SAVED = 2**24  # bytes; AOTAutograd frees them while backward runs, autograd at its end
ATTEMPTS = 8  # calls that are watched while no backward follows


class InductorCode:
    """Does the recorded calls of a kind: by the compiler's function, then by inductor's code.

    Parameters
    ----------
    program : Program
    what : str
        What messages name it.
    context : Context
    function : Whole
        The compiler's function.
    run : callable
        The calls by that.
    """

    def __init__(self, program: Program, what: str, context: Context, function: Whole, run: Run):
        self.program, self.what, self.context = program, what, context
        self.function, self.run = function, run
        self.direct: DirectCall | None = None
        self._attempts = 0

    def __call__(self, tensors: Sequence[Tensor], context: Context) -> list[Tensor]:
        """The outputs, in the graph of autograd."""
        if self.direct is not None:
            return autograd_call(self.direct, tensors)
        self._attempts += 1
        if self._attempts > ATTEMPTS or not any(t.requires_grad for t in tensors):
            return self.run(tensors, context)
        return autograd_call(WatchedCall(self), tensors)


class Code(NamedTuple):
    """Inductor's code of a kind of call, and which tensors it takes and gives.

    Attributes
    ----------
    forward, backward : callable
        They take a list of tensors.
    inputs, outputs : list of int
        What `forward` takes of the inputs, and which of its results are the outputs.
    saved : list of int
        What autograd keeps of the results of `forward`, and of the inputs after them.
    backward_inputs : list of int
        What `backward` takes of that, and of the outputs' gradients after it.
    gradients : list of int or None
        Which of its results are the gradients of the inputs that ask for one; None for zeros.
    head_specs : list of tuple
        Shape and dtype of each output that has a gradient.
    """

    forward: Callable
    backward: Callable
    inputs: list[int]
    outputs: list[int]
    saved: list[int]
    backward_inputs: list[int]
    gradients: list[int | None]
    head_specs: list[tuple[torch.Size, torch.dtype]]


class _Call(GraphCall):
    """A call of compiled code, of which the program as it is computes nothing again."""

    draws = twice = False

    def __init__(self, owner: InductorCode):
        super().__init__(owner.program, owner.what, owner.context)


class WatchedCall(_Call):
    """A call of the compiler's function, whose backward finds the code for later ones."""

    def __init__(self, owner: InductorCode):
        super().__init__(owner)
        self._owner = owner

    def forward(self, tensors):
        self._inputs = [t.detach().requires_grad_(t.requires_grad) for t in tensors]
        before = versions(tensors)
        with graphs_watched(wait=False) as self._ahead:
            self._outputs = self._owner.run(self._inputs, self.context)
        self._is_pure = None not in before and before == versions(tensors)
        self.differentiable = tuple([y.requires_grad for y in self._outputs])
        return [y.detach() for y in self._outputs], [torch.empty(0)]  # by which PyTorch knows use

    def backward(self, saved, dys):
        heads = [y for y in self._outputs if y.requires_grad]
        with graphs_watched(wait=False) as behind:
            found = gradients_of_given(heads, self._inputs, dys, retain_graph=keeps_graph())
        if all(dy is not None for dy in dys) and self._is_direct(dys):
            code = self._code(behind, dys, found)
            if code is not None:
                self._owner.direct = DirectCall(self._owner, code, self.differentiable)
        return found

    def release(self):
        self._inputs = self._outputs = self._ahead = ()

    def _is_direct(self, dys: Sequence[Tensor]) -> bool:
        """Whether the call did nothing beside the code, and its tensors can be told apart."""
        tensors = [*self._inputs, *self._outputs, *dys]
        is_apart = len({*map(_memory, tensors)}) == len(tensors)
        return is_apart and self._is_pure and self._owner.function.direct is not None

    def _code(
        self, behind: Sequence[Call], dys: Sequence[Tensor], gradients: Gradients
    ) -> Code | None:
        """The code of this call; None where it takes or gives other tensors."""
        first = only_call(self._ahead, self._inputs, self._outputs)
        if first is None or len(behind) != 1:
            return None
        forward, inputs, outputs = first
        ((_, _, results),) = self._ahead
        ((backward, given, found),) = behind
        pool = [*results, *self._inputs]
        taken = _same_elements(given, [*pool, *dys])
        given_back = places([g for g in gradients if g is not None], found)
        if taken is None or given_back is None:
            return None
        # An input or output of which a view is taken is saved too: autograd sees whether it is
        # overwritten.
        memory = {*map(_memory, given)}
        shown = [*outputs, *range(len(results), len(pool))]
        viewed = {i for i in shown if _memory(pool[i]) in memory}
        saved = sorted(viewed.union(i for i in taken if i < len(pool)))
        made = [pool[i] for i in saved if not any(pool[i] is t for t in self._inputs)]
        if sum(t.nbytes for t in made) > MOST_SAVED:
            return None
        order = {i: k for k, i in enumerate([*saved, *range(len(pool), len(pool) + len(dys))])}
        numbers = iter(given_back)
        return Code(
            forward,
            backward,
            inputs,
            outputs,
            saved,
            [order[i] for i in taken],
            [None if g is None else next(numbers) for g in gradients],
            [(dy.shape, dy.dtype) for dy in dys],
        )


class DirectCall(_Call):
    """A call of the code alone."""

    def __init__(self, owner: InductorCode, code: Code, differentiable: tuple[bool, ...]):
        super().__init__(owner)
        self._code, self.differentiable = code, differentiable

    def forward(self, tensors):
        code = self._code
        results = self.program.results(self._run, tensors, self.context)
        pool = [*results, *tensors]
        return [results[i] for i in code.outputs], [pool[i] for i in code.saved]

    def _run(self, *tensors: Tensor, **_: Any) -> Sequence[Tensor]:
        return self._code.forward([tensors[i] for i in self._code.inputs])

    def backward(self, saved, dys):
        code = self._code
        # The code may write into what is saved, which another backward would find.
        pool = [t.clone() for t in saved] if keeps_graph() else [*saved]
        for dy, (shape, dtype) in zip(dys, code.head_specs):
            pool.append(torch.zeros(shape, dtype=dtype) if dy is None else dy)
        found = code.backward([pool[i] for i in code.backward_inputs])
        return [None if i is None else found[i] for i in code.gradients]


def _same_elements(tensors: Sequence[Any], among: Sequence[Any]) -> list[int] | None:
    """Where each of the tensors, or one of the same elements, is among others; None if not."""
    found = {_elements(t): i for i, t in reversed([*enumerate(among)]) if isinstance(t, Tensor)}
    numbers = [found.get(_elements(t)) if isinstance(t, Tensor) else None for t in tensors]
    return None if None in numbers else numbers


def _elements(tensor: Tensor) -> tuple:
    return tensor.data_ptr(), tensor.shape, tensor.stride(), tensor.dtype


def _memory(tensor: Tensor) -> int:
    return tensor.untyped_storage()._cdata
