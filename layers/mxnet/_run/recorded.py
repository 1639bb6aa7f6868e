"""A graph whose calls of PyTorch are recorded, forward and backward, and done again as one node.

The first call of a kind runs the program as it is, under a recorder, and so does its backward. The
second runs it as it is once more, and the recorded calls have to give the same of its inputs: so a
value is found that came to the first in a way that the recorder does not see. Later calls of that
kind do the recorded calls, and no other Python. On a GPU they are launched as
CUDA graphs. On a CPU only graphs with custom operators are recorded: where there are none,
PyTorch's autograd does the calls of a backward without Python already, and faster.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

import torch

from .._draws import draws_restored, generator_states
from .._own.node import CUSTOM
from .._state import this_thread
from .._tensor import PYTORCH_ERRORS
from ..base import explained
from ..context import Context
from . import cuda_graph
from .convolutions import static_convolutions
from .graph_call import Gradients, GraphCall, autograd_call, gradients_of_given
from .kinds import Kind, Specialized, agree, log
from .program import Program
from .recorder import Recorder
from .whole import versions

Tensor = torch.Tensor
ATTEMPTS = 8  # calls of a kind that are recorded while no backward follows
_below_autograd = torch._C._AutoDispatchBelowAutograd


class Recorded(Specialized):
    """A program that is recorded at the first call of each kind, and compared at the second.

    One that looks at values, makes shapes of values, computes outside of PyTorch, or has a custom
    operator that is not pure, is not recorded and runs as it is.

    Parameters
    ----------
    program : Program
    what : str
        What messages name it.
    fixed : iterable of int
        The inputs that CUDA graphs read where they are, such as parameters.
    """

    done, most_kinds = "recorded", 32  # each holds memory on a GPU

    def __init__(self, program: Program, what: str = "a graph", fixed: Iterable[int] = ()):
        super().__init__(program, what)
        self.fixed = sorted({*fixed} | program.states)
        self._has_custom = any(n.op is CUSTOM for n in program.nodes)
        self._attempts: dict[Kind, int] = {}
        self.to_compare: dict[Kind, Replay] = {}  # what was recorded of kinds called once
        self._static_function: Callable | None = None

    def __call__(
        self, tensors: Sequence[Tensor], context: Context, kind: Kind | None = None
    ) -> list[Tensor]:
        helps = self._has_custom or cuda_graph.can_capture(context)
        return super().__call__(tensors, context, kind) if helps else self.plain(tensors, context)

    def first_call(self, kind: Kind, tensors: Sequence[Tensor], context: Context) -> list[Tensor]:
        if len(self._attempts) >= self.most_kinds and kind not in self._attempts:
            self.log_refusal(self.too_many_kinds)
            return self.plain(tensors, context)
        self._attempts[kind] = attempt = self._attempts.get(kind, 0) + 1
        if attempt > ATTEMPTS:
            self.refuse(kind, f"no gradient was asked for in {ATTEMPTS} calls")
            return self.plain(tensors, context)
        made = Comparison if kind in self.to_compare else Recording
        return made(self, kind, context)(tensors)

    def plain(self, tensors: Sequence[Tensor], context: Context) -> list[Tensor]:
        """The outputs, not recorded; on a CPU its convolutions are laid out."""
        recording = this_thread.state.recording
        return self.program.run(self.function_on(context), tensors, context, recording)

    def function_on(self, context: Context) -> Callable:
        """Return the graph's function; the one for a CPU lays out its convolutions."""
        if context.device.type != "cpu":
            return self.program.function
        if self._static_function is None:
            self._static_function = self.program.bound(static_convolutions(self.program.nodes))
        return self._static_function

    def __getstate__(self) -> dict:
        return super().__getstate__() | {
            "_attempts": {},
            "to_compare": {},
            "_static_function": None,
        }


class FirstCall(GraphCall):
    """A call of a kind that is not kept yet: the program as it is."""

    def __init__(self, owner: Recorded, kind: Kind, context: Context):
        super().__init__(owner.program, owner.what, context)
        self._owner, self._kind = owner, kind
        self._is_done = False  # with what the first backward is for

    def __call__(self, tensors: Sequence[Tensor]) -> list[Tensor]:
        if this_thread.state.recording and any(t.requires_grad for t in tensors):
            return autograd_call(self, tensors)
        return self._run(tensors, False)

    def forward(self, tensors):
        outputs = self._run(tensors, True)
        return [y.detach() for y in outputs], [torch.empty(0)]  # by which PyTorch knows it is used

    def _run(self, tensors: Sequence[Tensor], for_backward: bool) -> list[Tensor]:
        """The outputs, recorded by autograd if it is for a backward."""
        self._inputs = [
            t.detach().requires_grad_(for_backward and t.requires_grad) for t in tensors
        ]
        self._outputs = self._compute(tensors, for_backward)
        self.differentiable = tuple([y.requires_grad for y in self._outputs])
        if not any(self.differentiable):
            self._finish((), ())
        return self._outputs

    def _compute(self, tensors: Sequence[Tensor], for_backward: bool) -> list[Tensor]:
        function = self._owner.function_on(self.context)
        return self.program.run(function, self._inputs, self.context, for_backward)

    def backward(self, saved, dys):
        is_done, self._is_done = self._is_done, True
        return self._differentiate(dys) if is_done else self._first_backward(dys)

    def _differentiate(self, dys: Sequence[Tensor | None]) -> Gradients:
        heads = [y for y in self._outputs if y.requires_grad]
        return gradients_of_given(heads, self._inputs, dys, retain_graph=True)

    def _first_backward(self, dys: Sequence[Tensor | None]) -> Gradients:
        gradients = self._differentiate(dys)
        self._finish(dys, gradients)
        return gradients

    def _finish(self, dys: Sequence[Tensor | None], gradients: Gradients) -> None:
        """The call is over, with its backward if there is one."""
        raise NotImplementedError

    def release(self):
        self._inputs = self._outputs = ()


class Recording(FirstCall):
    """The first call of a kind: what it does is recorded, to be compared at the second."""

    def __init__(self, owner: Recorded, kind: Kind, context: Context):
        super().__init__(owner, kind, context)
        self._recorder, self._tops = Recorder(), []

    def _compute(self, tensors, for_backward):
        program, recorder = self.program, self._recorder
        before = versions(tensors)
        self._names = recorder.name_inputs(self._inputs)
        with recorder:
            outputs = super()._compute(tensors, for_backward)
        for i, (name, old, new) in enumerate(zip(program.inputs, before, versions(tensors))):
            if new is None:
                recorder.refuse(
                    f"PyTorch does not count writes into {name}, made in inference mode"
                )
            elif old != new and i not in program.states:
                recorder.refuse(f"it writes into {name}")
        self._results, self._forward_count = recorder.names(outputs), len(recorder.lines)
        self.draws = recorder.draws
        return outputs

    def _first_backward(self, dys):
        # One tensor may be the gradient of two outputs, and each needs a name of its own.
        dys = [None if dy is None else dy.detach() for dy in dys]
        self._tops = self._recorder.name_inputs([dy for dy in dys if dy is not None])
        with self._recorder:
            gradients = self._differentiate(dys)
        self._finish(dys, gradients)
        return gradients

    def _finish(self, dys, gradients):
        """Keep what is recorded, if it can be done again."""
        recorder, tops = self._recorder, self._tops
        del self._recorder  # with all tensors that it has seen
        if recorder.reason:
            self._owner.refuse(self._kind, recorder.reason)
            return
        results, count = recorder.names(gradients), self._forward_count
        ahead, behind = recorder.lines[:count], recorder.lines[count:]
        made = {*self._names}.union(*[line.made for line in ahead])
        saved = sorted(made & recorder.needed(behind, results))
        self._owner.to_compare[self._kind] = Replay(
            self,
            recorder.function(self._names, ahead, [*self._results, *saved]),
            recorder.function([*saved, *tops], behind, results) if tops else None,
            tuple([dy is not None for dy in dys]),
        )


class Comparison(FirstCall):
    """The second call of a kind: what was recorded is kept if it gives the same."""

    def __init__(self, owner: Recorded, kind: Kind, context: Context):
        super().__init__(owner, kind, context)
        self._replay = owner.to_compare[kind]

    def _compute(self, tensors, for_backward):
        # Before the call changes its states, and draws.
        states = self.program.states
        self._given = [t.clone() if i in states else t for i, t in enumerate(self._inputs)]
        self._generators = generator_states(self.context)
        return super()._compute(tensors, for_backward)

    def _finish(self, dys, gradients):
        owner, kind, replay = self._owner, self._kind, self._replay
        if replay.has_dy != tuple([dy is not None for dy in dys]):
            return  # a later call may be differentiated by the outputs that the first one was
        owner.to_compare.pop(kind, None)
        if problem := self._disagreement(dys, gradients):
            owner.refuse(kind, f"done again, its calls {problem}")
            return
        log.debug(
            "%s is recorded: later calls of this kind run no Python of its operators", self.what
        )
        if cuda_graph.can_capture(self.context):
            owner.keep(kind, cuda_graph.Launched(replay, owner.fixed, self._given))
        else:
            owner.keep(kind, replay)

    def _disagreement(self, dys: Sequence[Tensor | None], gradients: Gradients) -> str:
        """How the recorded calls do not give what the call gave; empty if they do."""
        replay = self._replay
        try:
            with torch.no_grad(), draws_restored(self.context, self._generators):
                outputs, saved = replay.forward(self._given)
                found = replay.backward(saved, dys) if dys else ()
        except RuntimeError as error:  # a kernel whose backward needs more than tensors: oneDNN's
            return f"raise {str(error).partition(chr(10))[0]}"
        # Apart, for gradients are of another size: large outputs would hide what they lack.
        agreed = agree(self._outputs, outputs) and agree(gradients, found)
        return "" if agreed else "give other values"

    def release(self):
        super().release()
        self._given = ()


class Replay(GraphCall):
    """A later call of a kind: the recorded calls.

    Attributes
    ----------
    has_dy : tuple of bool
        The differentiable outputs whose gradients the recorded backward was given.
    """

    def __init__(
        self,
        first: Recording,
        forward: Callable[..., tuple],
        backward: Callable[..., tuple] | None,
        has_dy: tuple[bool, ...],
    ):
        super().__init__(first.program, first.what, first.context)
        self.training, self.draws = first.training, first.draws
        self.differentiable, self._count = first.differentiable, len(first.differentiable)
        self._forward, self._backward, self.has_dy = forward, backward, has_dy

    def __call__(self, tensors: Sequence[Tensor], context: Context) -> list[Tensor]:
        """The outputs, which can be differentiated when recording is on."""
        if self._backward is None:
            with torch.no_grad():
                return list(self.forward(tensors)[0])
        return autograd_call(self, tensors)

    def forward(self, tensors):
        try:
            with _below_autograd():
                found = self._forward(*tensors)
        except PYTORCH_ERRORS as error:
            if type(error) not in PYTORCH_ERRORS:
                raise
            raise self._explained(error, tensors) from error
        return found[: self._count], found[self._count :]

    def backward(self, saved, dys):
        if tuple([dy is not None for dy in dys]) != self.has_dy:
            return None
        given = [dy for dy in dys if dy is not None]
        try:
            with _below_autograd():
                return self._backward(*saved, *given)
        except PYTORCH_ERRORS as error:
            if type(error) not in PYTORCH_ERRORS:
                raise
            raise self._explained(error, given) from error

    def _explained(self, error: Exception, tensors: Sequence[Tensor]) -> Exception:
        """An error of PyTorch's as ours; in which operator it is nobody knows here."""
        shapes = {f"input {i}": tuple(t.shape) for i, t in enumerate(tensors)}
        error_class, problem = explained(error, shapes, [t.dtype for t in tensors])
        return error_class(f"{self.what}: {problem}\n  in a recorded call of it")
