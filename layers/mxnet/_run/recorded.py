"""A graph whose calls of PyTorch are recorded, forward and backward, and done again as one node.

The first call of a kind runs the program as it is, under a recorder, and so does its backward.
Later calls of that kind do the recorded calls, and no other Python. On a GPU they are launched as
CUDA graphs. On a CPU only graphs with custom operators are recorded: where there are none,
PyTorch's autograd does the calls of a backward without Python already, and faster.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

import torch

from .. import autograd
from .._own.node import CUSTOM
from ..context import Context
from . import cuda_graph
from .convolutions import static_convolutions
from .draws import draws_restored, generator_states
from .kinds import Kind, Specialized, agree, log
from .node import Gradients, GraphCall, autograd_call, gradients_of_given
from .program import Program
from .recorder import Recorder

Tensor = torch.Tensor
ATTEMPTS = 8  # calls of a kind that are recorded while no backward follows
_below_autograd = torch._C._AutoDispatchBelowAutograd


class Recorded(Specialized):
    """A program that is recorded at the first call of each kind.

    One that looks at values, makes shapes of values, computes outside of PyTorch, or has a custom
    operator that is not pure, is not recorded and runs as it is.

    Parameters
    ----------
    program : Program
    what : str
        What messages name it.
    fixed : iterable of int
        The inputs that CUDA graphs read where they are, such as parameters.
    is_asked : bool
        Whether the user has asked for it. If not, refusals are logged at DEBUG, no CUDA graphs are
        made, and graphs of several outputs run as they are, because one output of a recorded graph
        cannot be differentiated by another.
    """

    done, most_kinds = "recorded", 32  # each holds memory on a GPU

    def __init__(
        self,
        program: Program,
        what: str = "a graph",
        fixed: Iterable[int] = (),
        is_asked: bool = True,
    ):
        super().__init__(program, what)
        self.fixed, self.is_asked = sorted({*fixed} | program.states), is_asked
        self._has_custom = any(n.op is CUSTOM for n in program.nodes)
        self._attempts: dict[Kind, int] = {}
        self._static_function: Callable | None = None

    def __call__(
        self, tensors: Sequence[Tensor], context: Context, kind: Kind | None = None
    ) -> list[Tensor]:
        if self._has_custom:
            helps = self.is_asked or self.program.outputs == 1
        else:
            helps = self.is_asked and cuda_graph.can_capture(context)
        return super().__call__(tensors, context, kind) if helps else self.plain(tensors, context)

    def first_call(self, kind: Kind, tensors: Sequence[Tensor], context: Context) -> list[Tensor]:
        if len(self._attempts) >= self.most_kinds and kind not in self._attempts:
            self.log_refusal(self.too_many_kinds)
            return self.plain(tensors, context)
        self._attempts[kind] = attempt = self._attempts.get(kind, 0) + 1
        if attempt > ATTEMPTS:
            self.refuse(kind, f"no gradient was asked for in {ATTEMPTS} calls")
            return self.plain(tensors, context)
        return Recording(self, kind, context)(tensors)

    def plain(self, tensors: Sequence[Tensor], context: Context) -> list[Tensor]:
        """The outputs, not recorded; on a CPU a static graph lays out its convolutions."""
        recording = autograd.state.recording
        return self.program.run(self.function_on(context), tensors, context, recording)

    def function_on(self, context: Context) -> Callable:
        """The graph's function; that of a static graph on a CPU lays out its convolutions."""
        if not self.is_asked or context.device.type != "cpu":
            return self.program.function
        if self._static_function is None:
            self._static_function = self.program.bound(static_convolutions(self.program.nodes))
        return self._static_function

    def log_refusal(self, reason: str) -> None:
        if self.is_asked:
            super().log_refusal(reason)
        else:
            log.debug("%s is not recorded: %s", self.what, reason)

    def __getstate__(self) -> dict:
        return super().__getstate__() | {"_attempts": {}, "_static_function": None}


class Recording(GraphCall):
    """The first call of a kind: what it does is recorded, and kept for the later ones."""

    def __init__(self, owner: Recorded, kind: Kind, context: Context):
        super().__init__(owner.program, owner.what, context)
        self._owner, self._kind, self._recorder = owner, kind, Recorder()

    def __call__(self, tensors: Sequence[Tensor]) -> list[Tensor]:
        if autograd.state.recording and any(t.requires_grad for t in tensors):
            return autograd_call(self, tensors)
        return self._run(tensors, False)

    def forward(self, tensors):
        outputs = self._run(tensors, True)
        return [y.detach() for y in outputs], [torch.empty(0)]  # by which PyTorch knows it is used

    def _run(self, tensors: Sequence[Tensor], for_backward: bool) -> list[Tensor]:
        """The outputs, recorded by autograd if it is for a backward."""
        program, recorder = self.program, self._recorder
        self._inputs = [
            t.detach().requires_grad_(for_backward and t.requires_grad) for t in tensors
        ]
        # Before the call changes its states: to be compared with what the recorded calls give.
        self._given = [t.clone() if i in program.states else t for i, t in enumerate(self._inputs)]
        self._generators = generator_states(self.context)
        versions = [t._version for t in tensors]
        self._names = recorder.name_inputs(self._inputs)
        with recorder:
            function = self._owner.function_on(self.context)
            self._outputs = program.run(function, self._inputs, self.context, for_backward)
        for i, name in enumerate(program.inputs):
            if tensors[i]._version != versions[i] and i not in program.states:
                recorder.refuse(f"it writes into {name}")
        self._results, self._forward_count = recorder.names(self._outputs), len(recorder.lines)
        self.differentiable = tuple([y.requires_grad for y in self._outputs])
        self.draws = recorder.draws
        if not any(self.differentiable):
            self._keep()
        return self._outputs

    def backward(self, saved, dys):
        heads = [y for y in self._outputs if y.requires_grad]
        recorder = self._recorder
        if recorder is None:  # this is not the first backward
            return gradients_of_given(heads, self._inputs, dys, retain_graph=True)
        tops = recorder.name_inputs([dy for dy in dys if dy is not None])
        with recorder:
            gradients = gradients_of_given(heads, self._inputs, dys, retain_graph=True)
        self._keep(tops, dys, gradients)
        return gradients

    def release(self):
        self._inputs = self._given = self._outputs = ()

    def _keep(
        self, tops: Sequence[str] = (), dys: Sequence[Tensor | None] = (), gradients: Gradients = ()
    ) -> None:
        """Keep what is recorded for the later calls of the kind, if it does the same again."""
        recorder, self._recorder = self._recorder, None
        if recorder.reason:
            self._owner.refuse(self._kind, recorder.reason)
            return
        results = recorder.names(gradients)
        count = self._forward_count
        ahead, behind = recorder.lines[:count], recorder.lines[count:]
        made = {*self._names}.union(*[line.made for line in ahead])
        saved = sorted(made & recorder.needed(behind, results))
        replay = Replay(
            self,
            recorder.function(self._names, ahead, [*self._results, *saved]),
            recorder.function([*saved, *tops], behind, results) if tops else None,
            tuple([dy is not None for dy in dys]),
        )
        log.debug(
            "%s is recorded: later calls of this kind run no Python of its operators", self.what
        )
        if problem := self._disagreement(replay, dys, gradients):
            self._owner.refuse(self._kind, f"done again, its calls {problem}")
        elif self._owner.is_asked and cuda_graph.can_capture(self.context):
            self._owner.keep(
                self._kind, cuda_graph.Launched(replay, self._owner.fixed, self._given)
            )
        else:
            self._owner.keep(self._kind, replay)

    def _disagreement(
        self, replay: Replay, dys: Sequence[Tensor | None], gradients: Gradients
    ) -> str:
        """How the recorded calls do not give what the call gave; empty if they do."""
        try:
            with torch.no_grad(), draws_restored(self.context, self._generators):
                outputs, saved = replay.forward(self._given)
                found = replay.backward(saved, dys) if dys else ()
        except RuntimeError as error:  # a kernel whose backward needs more than tensors: oneDNN's
            return f"raise {error}"
        # Apart, for gradients are of another size: large outputs would hide what they lack.
        agreed = agree(self._outputs, outputs) and agree(gradients, found)
        return "" if agreed else "give other values"


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
        with _below_autograd():
            found = self._forward(*tensors)
        return found[: self._count], found[self._count :]

    def backward(self, saved, dys):
        if tuple([dy is not None for dy in dys]) != self.has_dy:
            return None
        with _below_autograd():
            return self._backward(*saved, *[dy for dy in dys if dy is not None])
