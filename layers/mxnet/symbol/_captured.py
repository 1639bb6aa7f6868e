"""A graph on a GPU whose kernels are launched as one: a CUDA graph, on memory of its own.

A call copies the inputs into that memory, launches what was captured, and copies the outputs out;
parameters are read where they are. What is captured is compared with what was computed before.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import RLock

import torch

from .._custom import CUSTOM, prepared
from .._function import refuse_second
from .._whole import first_line, forbidden, near, undisturbed
from ..autograd import state
from ..base import RecordingError, UnsupportedError
from ..context import Context
from ._compiled import KINDS, warn
from ._node import Node
from ._program import Program


class Captured:
    """A program that is captured at the second call of a kind on a GPU, and launched from then on.

    Elsewhere, and where it cannot be captured, it is run as it is; why is logged.

    Parameters
    ----------
    program : Program
    fixed : set of int
        The inputs that are read where they are, such as parameters.
    what : str
        The graph, as messages name it.
    """

    def __init__(self, program: Program, fixed: set[int], what: str):
        self.program, self.fixed, self.what = program, fixed | program.states, what
        self._called: set[tuple] = set()
        self._launches: dict[tuple, Launch | None] = {}
        self._lock = RLock()

    def __call__(self, tensors: list[torch.Tensor], context: Context) -> list[torch.Tensor]:
        """The outputs, in memory of their own, recorded when recording is on."""
        if on_gpu(context):
            with self._lock:
                launch = self._launch(tensors, context)
                if launch is not None and not launch.is_pending:
                    return launch(tensors)
        return self.program(tensors, context)

    def _launch(self, tensors: list[torch.Tensor], context: Context) -> Launch | None:
        """What was captured of such calls; None at the first one, and where nothing can be."""
        kinds = [(t.shape, t.stride(), t.dtype, t.requires_grad) for t in tensors]
        places = [tensors[i].data_ptr() for i in self.fixed]
        key = (state.recording, state.training, context, *kinds, *places)
        if key in self._launches or len(self._launches) >= KINDS:
            return self._launches.get(key)
        if key not in self._called:
            self._called.add(key)
            return None
        try:
            launch = Launch(self.program, tensors, self.fixed, context, self.what)
        except Exception as error:  # of an operator's author or of CUDA, of any kind
            warn(f"{self.what} is no CUDA graph, and is replayed: {first_line(error)}")
            launch = None
        self._launches[key] = launch
        return launch

    def __getstate__(self) -> dict:
        return self.__dict__ | {"_called": set(), "_launches": {}, "_lock": None}

    def __setstate__(self, values: dict) -> None:
        self.__dict__ |= values | {"_lock": RLock()}


class Turn:
    """One recorded launch, until its gradients are computed or it is forgotten."""

    __slots__ = ("__weakref__", "is_done")

    def __init__(self):
        self.is_done = False


class Launch:
    """What was captured of the calls of one kind: forward and, if it is recorded, backward."""

    def __init__(self, program, tensors, fixed: set[int], context: Context, what: str):
        self.what, self.recording = what, state.recording
        self._copied = [i for i in range(len(tensors)) if i not in fixed]
        self._inputs = [
            (t.detach() if i in fixed else t.detach().clone()).requires_grad_(
                self.recording and t.requires_grad
            )
            for i, t in enumerate(tensors)
        ]
        self._wanted = [t for t in self._inputs if t.requires_grad]
        self._turn: Callable[[], Turn | None] = lambda: None
        self._lock = RLock()
        results = []
        for step in (self._try, self._capture, self._replay):
            with kept([tensors[i] for i in program.states]), undisturbed(context.device):
                results.append(step(program, context))
        expected, _, found = results
        if not all(map(_same, expected, found)):
            raise UnsupportedError("captured, it gives other values")

    def _try(self, program: Program, context: Context) -> list:
        """The outputs and gradients of the program as it is; its operators are looked at."""
        reasons: list[str] = []

        def watched(node: Node) -> Callable:
            def run(*tensors, **supplied):
                reasons.append(forbidden(prepared(tensors, node.attributes, context)[0]))
                return node.op.run(*tensors, **supplied)

            return run

        function = program.bound({n: watched(n) for n in program.nodes if n.op is CUSTOM})
        with aside(context.device):
            outputs = self._run(program, function, context)
            self._heads = [torch.rand_like(y) for y in self._live]
            results = [y.clone() for y in outputs] + (self._back() if self._heads else [])
        if reason := next(filter(None, reasons), ""):
            raise UnsupportedError(reason)
        return results

    def _capture(self, program: Program, context: Context) -> None:
        def run() -> list[torch.Tensor]:
            return self._run(program, program.function, context)

        self._forward, self._backward = Recorder(run, context.device), None
        if self._heads:
            self._backward = Recorder(self._back, context.device, self._forward.pool)

    def _run(self, program: Program, function: Callable, context: Context) -> list[torch.Tensor]:
        results = program.run(function, self._inputs, context, self.recording)
        self._live = [y for y in results if y.requires_grad]
        self.differentiable = [y.requires_grad for y in results]
        return [y.detach() for y in results]

    def _back(self) -> list[torch.Tensor | None]:
        gradients = torch.autograd.grad(
            self._live, self._wanted, self._heads, retain_graph=True, allow_unused=True
        )
        return list(gradients)

    def _replay(self, *_) -> list:
        self._forward.replay()
        if self._backward is None:
            return self._forward.results
        self._backward.replay()
        return [*self._forward.results, *self._backward.results]

    @property
    def is_pending(self) -> bool:
        """Whether its memory has what the gradients of an earlier call will need."""
        turn = self._turn()
        return turn is not None and not turn.is_done

    def __call__(self, tensors: list[torch.Tensor]) -> list[torch.Tensor]:
        """The outputs."""
        if self._backward is None:
            return self.forward(tensors)
        with torch.enable_grad():
            return list(Differentiable.apply(self, *tensors))

    @torch.no_grad()
    def forward(self, tensors) -> list[torch.Tensor]:
        """The outputs, in memory of their own."""
        for i in self._copied:
            self._inputs[i].copy_(tensors[i])
        self._forward.replay()
        return [y.clone() for y in self._forward.results]

    def begin(self) -> Turn:
        """What a recorded call holds while its gradients may be asked for."""
        turn = Turn()
        self._turn = weakref.ref(turn)
        return turn

    def backward(self, turn: Turn, dys: tuple) -> list[torch.Tensor | None]:
        """The gradients of the inputs, in memory of their own."""
        with self._lock:
            if self._turn() is not turn:
                raise RecordingError(
                    f"backward: {self.what} was called again since its gradients were computed\n"
                    "  expected all backwards before the next call, or hybridize() without "
                    "static_shape"
                )
            for head, dy in zip(self._heads, dys):
                head.copy_(dy)
            self._backward.replay()
            gradients = iter([g if g is None else g.clone() for g in self._backward.results])
            turn.is_done = True  # from now on the memory may be written again
        return [next(gradients) if t.requires_grad else None for t in self._inputs]


class Differentiable(torch.autograd.Function):
    """A launch, with its gradients."""

    @staticmethod
    def forward(ctx, launch: Launch, *tensors):
        outputs = launch.forward(tensors)
        ctx.launch, ctx.turn = launch, launch.begin()
        differentiable = zip(outputs, launch.differentiable)
        ctx.mark_non_differentiable(*[y for y, there in differentiable if not there])
        return tuple(outputs)

    @staticmethod
    def backward(ctx, *dys):
        launch = ctx.launch
        with torch.no_grad():
            given = [dy for dy, there in zip(dys, launch.differentiable) if there]
            gradients = launch.backward(ctx.turn, given)
        if torch.is_grad_enabled():
            gradients = refuse_second(tuple(gradients), launch.what)
        return None, *gradients


class Recorder:
    """What a function does on a GPU, to be done again on the same memory.

    Attributes
    ----------
    results : list of Tensor or None
        Of the last replay.
    pool : tuple
        Where its memory is from.
    """

    def __init__(self, function: Callable, device: torch.device, pool: tuple | None = None):
        self._graph = torch.cuda.CUDAGraph()
        with (
            torch.cuda.device(device),
            torch.cuda.graph(self._graph, pool=pool, capture_error_mode="thread_local"),
        ):
            self.results = function()
        self.pool = self._graph.pool()

    def replay(self) -> None:
        """Do it again, on the current stream."""
        self._graph.replay()


def on_gpu(context: Context) -> bool:
    """Whether there are CUDA graphs on a context."""
    return context.device_type == "gpu"


@contextmanager
def aside(device: torch.device) -> Iterator[None]:
    """On a stream of its own, as PyTorch wants it before something is captured."""
    if device.type != "cuda":
        yield
        return
    stream, current = torch.cuda.Stream(device), torch.cuda.current_stream(device)
    stream.wait_stream(current)
    with torch.cuda.stream(stream):
        yield
    current.wait_stream(stream)


@contextmanager
def kept(tensors: list[torch.Tensor]) -> Iterator[None]:
    """What is written to these tensors inside is forgotten after it."""
    before = [t.clone() for t in tensors]
    try:
        yield
    finally:
        for tensor, value in zip(tensors, before):
            tensor.copy_(value)


def _same(a: torch.Tensor | None, b: torch.Tensor | None) -> bool:
    return a is b if a is None or b is None else near(a, b)
