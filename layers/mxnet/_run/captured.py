"""A graph on a GPU whose kernels are launched as one: a CUDA graph, on memory of its own.

A call copies the inputs into that memory, launches what was captured, and copies the outputs out;
parameters are read where they are. What is captured is compared with what was computed before.
"""

from __future__ import annotations

import gc
import warnings
import weakref
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from threading import RLock

import torch

from .._own.call import Call, refuse_second
from .._own.node import CUSTOM, prepared
from ..autograd import saved_tensors, state
from ..base import RecordingError, UnsupportedError
from ..context import Context
from ..symbol._node import Node
from .compiled import KINDS, warn
from .program import Program
from .reads import Read
from .trial import first_line, near, settled, undisturbed

_one_by_one = RLock()  # a process captures one graph at a time


class Captured:
    """A program that is captured at the second call of a kind on a GPU, and launched from then on.

    Elsewhere, and where it cannot be captured, it is run as it is; why is logged.

    Parameters
    ----------
    program : Program
    replayed : callable
        What runs it elsewhere.
    fixed : set of int
        The inputs that are read where they are, such as parameters.
    what : str
        The graph, as messages name it.
    """

    def __init__(self, program: Program, replayed: Callable, fixed: set[int], what: str):
        self.program, self.fixed, self.what = program, sorted(fixed | program.states), what
        self._replayed = replayed
        self._seen: dict[tuple, list[int]] = {}  # by kind of call, where the fixed inputs were
        self._launches: dict[tuple, Launch] = {}
        self._refused: set[tuple] = set()
        self._lock = RLock()

    def __call__(self, tensors: list[torch.Tensor], context: Context) -> list[torch.Tensor]:
        """The outputs, in memory of their own, recorded when recording is on."""
        if captures(context):
            with self._lock:
                launch = self._launch(tensors, context)
                if launch is not None and not launch.is_pending:
                    return launch(tensors)
        return self._replayed(tensors, context)

    def _launch(self, tensors: list[torch.Tensor], context: Context) -> Launch | None:
        """What was captured of such calls; None at the first one, and where nothing can be."""
        kinds = [(t.shape, t.stride(), t.dtype, t.requires_grad) for t in tensors]
        places = [tensors[i].data_ptr() for i in self.fixed]
        key = (state.recording, state.training, context, *kinds)
        launch = self._launches.get(key)
        if key in self._refused:
            return None
        if launch is not None and launch.places == places:
            return None if any(read.has_changed() for read in launch.reads) else launch
        if self._seen.get(key) != places:  # of a kind that is new, or whose parameters have moved
            if key not in self._seen and len(self._seen) >= KINDS:
                warn(f"{self.what} is captured for {KINDS} shapes and modes, and replayed for more")
            else:
                self._seen[key] = places
            return None
        try:
            with _one_by_one:
                self._launches.pop(key, None)  # and its memory
                launch = Launch(self, places, tensors, context)
        except Exception as error:  # of an operator's author or of CUDA, of any kind
            warn(f"{self.what} is no CUDA graph, and is replayed: {first_line(error)}")
            self._refused.add(key)
            return None
        self._launches[key] = launch
        return launch

    def __getstate__(self) -> dict:
        """A copy captures for itself."""
        return {n: getattr(self, n) for n in ("program", "_replayed", "fixed", "what")}

    def __setstate__(self, values: dict) -> None:
        fixed = {*values["fixed"]}
        self.__init__(values["program"], values["_replayed"], fixed, values["what"])


class Turn:
    """One recorded launch, until its gradients are computed or it is forgotten."""

    __slots__ = ("__weakref__", "is_done")

    def __init__(self):
        self.is_done = False


class Launch:
    """What was captured of the calls of one kind: forward and, if it is recorded, backward."""

    def __init__(self, it: Captured, places: list[int], tensors: list, context: Context):
        self.what, self.places, self.recording = it.what, places, state.recording
        self._lock, self._program, self._context = it._lock, it.program, context
        self.by_address = [i for i in it.fixed if i not in it.program.states]
        self.reads: list[Read] = []  # by its operators
        self._copied = [i for i in range(len(tensors)) if i not in it.fixed]
        self._inputs = [
            (t.detach().clone() if i in self._copied else t.detach()).requires_grad_(
                self.recording and t.requires_grad
            )
            for i, t in enumerate(tensors)
        ]
        self._wanted = [t for t in self._inputs if t.requires_grad]
        self._turn: Callable[[], Turn | None] = lambda: None
        stream = None if context.device.type == "cpu" else torch.cuda.Stream(context.device)
        results = []
        for step in (self._try, self._capture, self._replay):
            with kept([tensors[i] for i in it.program.states]), undisturbed(context.device):
                results.append(step(stream))
        expected, _, found = results
        if not all(map(_same, expected, found)):
            raise UnsupportedError("captured, it gives other values")

    def _try(self, stream) -> list:
        """The outputs and gradients of the program as it is; its operators are looked at."""
        its: list[Call] = []

        def watched(node: Node) -> Callable:
            def run(*tensors, **supplied):
                its.append(prepared(tensors, node.attributes, self._context)[0])
                return node.op.run(*tensors, **supplied)

            return run

        nodes = [n for n in self._program.nodes if n.op is CUSTOM]
        with aside(stream), waiting_is_told(stream):
            outputs = self._run(self._program.bound({n: watched(n) for n in nodes}))
            self._heads = [torch.rand_like(y) for y in self._live]
            results = [y.clone() for y in outputs] + (self._back() if self._heads else [])
        self._live = []  # what it holds is not to be captured
        self.reads, reason = settled(its)
        if reason:
            raise UnsupportedError(reason)
        return results

    def _capture(self, stream) -> None:
        self._forward, self._backward = Recorder(self._run, stream), None
        if self._heads:
            self._backward = Recorder(self._back, stream, self._forward.pool)

    def _run(self, function: Callable | None = None) -> list[torch.Tensor]:
        program = self._program
        function = function or program.function
        results = program.run(function, self._inputs, self._context, self.recording)
        self._live = [y for y in results if y.requires_grad]
        self.differentiable = [y.requires_grad for y in results]
        return [y.detach() for y in results]

    def _back(self) -> list[torch.Tensor | None]:
        gradients = torch.autograd.grad(
            self._live, self._wanted, self._heads, retain_graph=True, allow_unused=True
        )
        return list(gradients)

    def _replay(self, _) -> list:
        """What is launched gives; of what is not, there is nothing left."""
        found = []
        for recorder in filter(None, (self._forward, self._backward)):
            for y in filter(lambda y: y is not None, recorder.results):
                y.fill_(torch.nan if y.is_floating_point() else 0)
            recorder.replay()
            found += recorder.results
        return found

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

    @torch.no_grad()
    def backward(self, turn: Turn, dys: tuple) -> list[torch.Tensor | None]:
        """The gradients of the inputs, in memory of their own."""
        with self._lock:
            if self._turn() is not turn:
                raise RecordingError(
                    f"backward: {self.what} was called again since its gradients were computed\n"
                    "  expected all backwards before the next call, or hybridize() without "
                    "static_shape"
                )
            given = [dy for dy, there in zip(dys, self.differentiable) if there]
            for head, dy in zip(self._heads, given):
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
        ctx.save_for_backward(*[tensors[i] for i in launch.by_address])
        differentiable = zip(outputs, launch.differentiable)
        ctx.mark_non_differentiable(*[y for y, there in differentiable if not there])
        return tuple(outputs)

    @staticmethod
    def backward(ctx, *dys):
        saved_tensors(ctx)  # an error if they were overwritten, or the gradients are computed
        gradients = ctx.launch.backward(ctx.turn, dys)
        if torch.is_grad_enabled():
            gradients = refuse_second(tuple(gradients), ctx.launch.what)
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

    def __init__(self, function: Callable, stream, pool: tuple | None = None):
        self._graph = torch.cuda.CUDAGraph()
        torch.cuda.synchronize(stream.device)
        gc.collect()  # nothing is to be freed while it is captured
        with aside(stream):  # not torch.cuda.graph, whose stream is on the first GPU that was used
            self._graph.capture_begin(pool=pool, capture_error_mode="thread_local")
            try:
                self.results = function()
            finally:
                self._graph.capture_end()
        self.pool = self._graph.pool()

    def replay(self) -> None:
        """Do it again, on the current stream."""
        self._graph.replay()


def captures(context: Context) -> bool:
    """Whether CUDA graphs can be captured on a context now."""
    on_gpu = context.device_type == "gpu"
    return on_gpu and not torch.cuda.is_current_stream_capturing()


@contextmanager
def aside(stream) -> Iterator[None]:
    """On another stream, where there are streams, which begins and ends with the current one."""
    if stream is None:
        yield
        return
    current = torch.cuda.current_stream(stream.device)
    stream.wait_stream(current)
    try:
        with torch.cuda.stream(stream):
            yield
    finally:
        current.wait_stream(stream)


def waiting_is_told(stream) -> AbstractContextManager:
    """Refuse what waits for the GPU: a capture does not survive that."""
    return nullcontext() if stream is None else _waiting_is_told()


@contextmanager
def _waiting_is_told() -> Iterator[None]:
    before = torch.cuda.get_sync_debug_mode()
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        torch.cuda.set_sync_debug_mode("warn")
        try:
            yield
        finally:
            torch.cuda.set_sync_debug_mode(before)
    if any("synchroniz" in str(w.message) for w in told):
        raise UnsupportedError("something in it waits for the GPU")


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
