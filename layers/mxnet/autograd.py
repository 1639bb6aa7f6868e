"""Recording and differentiating, on PyTorch's autograd.

Two switches, each its own for every thread: *recording* (remember what is computed) and
*training* (what Dropout and BatchNorm look at). Operators set PyTorch's grad mode after the first
while they run; a program's own PyTorch code is left alone.
"""

from __future__ import annotations

import os
import re
import threading
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import TYPE_CHECKING, NoReturn
from weakref import ref

import numpy as np
import torch

from ._state import this_thread
from ._threads import end_of_operator
from .base import ArgumentError, MXNetError, RecordingError, describe_value

if TYPE_CHECKING:
    from ._op.function import Function as Function  # the package puts it here
    from .symbol._recorded import get_symbol as get_symbol  # and this

__all__ = [
    "Function",
    "backward",
    "get_symbol",
    "grad",
    "is_recording",
    "is_training",
    "mark_variables",
    "pause",
    "predict_mode",
    "record",
    "set_recording",
    "set_training",
    "train_mode",
]

_set_grad_enabled = torch._C._set_grad_enabled  # a fifth of the cost of the context managers
_is_grad_enabled = torch.is_grad_enabled
_current_graph_task_id = torch._C._current_graph_task_id


class _RecordingStateScope:
    """Sets one or both switches inside a `with` statement, and sets them back at its end.

    Ctrl-C may be raised where `__exit__` has begun and has done nothing. Then Python frees the
    scope, and the weak reference to it in `State.entered` sets the switches back.
    """

    def __init__(self, recording: bool | None, training: bool | None):
        self._recording, self._training = recording, training

    def __enter__(self) -> None:
        state = this_thread.state
        before = state.recording, state.training
        recording = before[0] if self._recording is None else bool(self._recording)
        training = before[1] if self._training is None else bool(self._training)
        state.entered.append((ref(self, _set_back), before))
        # Python raises Ctrl-C at calls. None follows: the switches are set last.
        state.recording, state.training = recording, training

    def __exit__(self, *_) -> None:
        _set_back(self)


def _set_back(scope: _RecordingStateScope | ref) -> None:
    """Set the switches back to what they were before a scope.

    That ends the scopes inside it too, and those around it that Python has freed without a call of
    their `__exit__`.
    """
    state = this_thread.state
    entered = state.entered
    if len(entered) == 1 and entered[0][0]() is scope:  # nearly always
        state.recording, state.training = entered[0][1]
        entered.clear()
        return
    scopes = [reference() for reference, _ in entered]  # None for one that is freed
    first = len(scopes) - 1 - scopes[::-1].index(scope) if scope in scopes else len(scopes)
    while first and scopes[first - 1] is None:
        first -= 1
    if first < len(scopes):
        state.recording, state.training = entered[first][1]
        del entered[first:]


def set_recording(is_recording: bool) -> bool:
    """Switch recording; returns what it was."""
    state = this_thread.state
    before, state.recording = state.recording, bool(is_recording)
    return before


def set_training(train_mode: bool) -> bool:
    """Switch training; returns what it was."""
    state = this_thread.state
    before, state.training = state.training, bool(train_mode)
    return before


def is_recording() -> bool:
    """Whether what is computed now is remembered for `backward`."""
    return this_thread.state.recording


def is_training() -> bool:
    """Whether Dropout drops and BatchNorm learns its statistics now."""
    return this_thread.state.training


def record(train_mode: bool = True) -> _RecordingStateScope:
    """``with record():`` remember what is computed, and train."""
    return _RecordingStateScope(True, train_mode)


def pause(train_mode: bool = False) -> _RecordingStateScope:
    """``with pause():`` inside `record`, compute without remembering."""
    return _RecordingStateScope(False, train_mode)


def train_mode() -> _RecordingStateScope:
    """``with train_mode():`` train, whether recorded or not."""
    return _RecordingStateScope(None, True)


def predict_mode() -> _RecordingStateScope:
    """``with predict_mode():`` predict, whether recorded or not."""
    return _RecordingStateScope(None, False)


def enter_operator(context, training: bool, differentiable: bool = False) -> tuple:
    """The code of a user's operator begins; what is returned is for `leave_operator`.

    It runs on the context of its inputs, and is not recorded unless it is a gradient that is itself
    to be differentiated.
    """
    state, enabled = this_thread.state, _is_grad_enabled()
    before = (
        state.recording,
        state.training,
        state.differentiating,
        state.elements_in_numpy,
        enabled,
    )
    state.recording = state.differentiating = differentiable
    state.training = training
    if enabled is not differentiable:
        _set_grad_enabled(differentiable)
    state.contexts.append(context)
    state.elements_in_numpy = 0
    return before


def leave_operator(before: tuple) -> None:
    """The code of the operator has ended."""
    state = this_thread.state
    if state.elements_in_numpy:
        end_of_operator(state.elements_in_numpy)
    (
        state.recording,
        state.training,
        state.differentiating,
        state.elements_in_numpy,
        enabled,
    ) = before
    if enabled is not _is_grad_enabled():
        _set_grad_enabled(enabled)
    state.contexts.pop()


def is_inside_operator() -> bool:
    """Whether the code of a user's operator runs, or a graph with it is traced."""
    return this_thread.state.elements_in_numpy is not None or torch.compiler.is_compiling()


@contextmanager
def inside(context, training: bool) -> Iterator[None]:
    """``with inside(...)``: the code of a user's operator runs."""
    before = enter_operator(context, training)
    try:
        yield
    finally:
        leave_operator(before)


def expect_no_second_derivative(way: str = "asnumpy()") -> None:
    """Refuse to read values in a gradient that is itself to be differentiated.

    Raises
    ------
    RecordingError
        A gradient is being computed that is itself to be differentiated.
    """
    if this_thread.state.differentiating:
        raise RecordingError(
            f"no second derivative: the gradient is computed from what {way} gives, which "
            "autograd does not record\n"
            "  expected a gradient written in nd, such as by customop('mxnet') in place of 'numpy'"
        )


class Leaf:
    """The gradient of a marked array: the one place where it is.

    Attributes
    ----------
    grad : NDArray
    req : {'write', 'add', 'null'}
        What `backward` does to it.
    fresh : bool
        Whether `backward` has given it since `Trainer` used it last; NDArrays show it as
        `_fresh_grad`, MXNet's name.
    ready : callable or None
        Called with this object when `backward` has given it, while it computes others.
    replaced : bool
        Whether `replace_value` has given the array another tensor.
    """

    __slots__ = ("_backward", "fresh", "grad", "ready", "replaced", "req")

    def __init__(self, grad, req: str):
        self.grad, self.req, self.fresh, self.ready = grad, req, False, None
        self.replaced, self._backward = False, -1

    def collect(self, tensor: torch.Tensor) -> None:
        """PyTorch has summed up a gradient for `tensor`: move it into the gradient array."""
        given, tensor.grad = tensor.grad, None
        if given is not None and given._is_zerotensor():  # it has no memory that NumPy could read
            given = None
        add = self.req == "add" or (self.replaced and self._is_second())
        self.grad._take_gradient(given, add)  # as `take`, with a call less
        self.fresh = True
        if self.ready is not None:
            self.ready(self)

    def _is_second(self) -> bool:
        """True if this `backward` has given a gradient already, of another value of the array."""
        before, self._backward = self._backward, _current_graph_task_id()
        return before == self._backward

    def take(self, given: torch.Tensor | None) -> None:
        """Move a gradient into the gradient array; None is one of zeros."""
        self.grad._take_gradient(given, self.req == "add")
        self.fresh = True


def mark(array, grad, req: str) -> None:
    """Make an array a variable whose gradient goes to `grad`.

    Raises
    ------
    ArgumentError
        `req` is not 'write', 'add' or 'null'.
    """
    if req not in ("write", "add", "null"):
        raise ArgumentError(
            f"attach_grad: grad_req is {req!r}\n  expected 'write', 'add' or 'null'"
        )
    array._copy_if_lent()
    tensor = array._autograd_tensor.detach()
    leaf = Leaf(grad, req)
    if req != "null" and tensor.is_floating_point():
        tensor.requires_grad_().register_post_accumulate_grad_hook(leaf.collect)
    elif req != "null" and not array._records_integers:
        warnings.warn(
            f"attach_grad on an array of {np.dtype(array.dtype)}: its gradient stays 0, for only "
            "floats are differentiated here",
            stacklevel=3,
        )
    array._become_variable(tensor, leaf)


def is_inside_record() -> bool:
    """True inside `record`, also where `pause` inside it has switched it off."""
    state = this_thread.state
    return state.recording or any(before[0] for _, before in state.entered)


def replace_value(array, value) -> None:
    """Give a variable another value in other memory.

    What was recorded keeps the former value; `backward` sums the gradients of both.
    """
    leaf, tensor = array._leaf, array._as_source(value).detach()
    tensor = tensor.expand(array.shape).clone()
    if array._requires_grad():
        tensor.requires_grad_().register_post_accumulate_grad_hook(leaf.collect)
        leaf.replaced = True
    array._become_variable(tensor, leaf)


def mark_variables(variables, gradients, grad_reqs="write") -> None:
    """Mark arrays as variables, each with the array that receives its gradient.

    Parameters
    ----------
    variables, gradients : NDArray or list of NDArray
    grad_reqs : {'write', 'add', 'null'} or list of them

    Raises
    ------
    ArgumentError
        The lists differ in length, or a gradient and its variable in shape or dtype.
    """
    variables, gradients = _listed(variables), _listed(gradients)
    if isinstance(grad_reqs, str):
        grad_reqs = [grad_reqs] * len(variables)
    if not len(variables) == len(gradients) == len(grad_reqs):
        raise ArgumentError(
            f"mark_variables: {len(variables)} variables, {len(gradients)} gradients, "
            f"{len(grad_reqs)} grad_reqs\n  expected as many of each"
        )
    for variable, gradient, req in zip(variables, gradients, grad_reqs):
        if (gradient.shape, gradient.dtype) != (variable.shape, variable.dtype):
            raise ArgumentError(
                f"mark_variables: the gradient is {gradient.shape} {np.dtype(gradient.dtype)}\n"
                f"  expected {variable.shape} {np.dtype(variable.dtype)}, as the variable"
            )
        mark(variable, gradient, req)


def backward(heads, head_grads=None, retain_graph: bool = False, train_mode: bool = True) -> None:
    """Compute the gradients of all variables that `heads` were computed from.

    Parameters
    ----------
    heads : NDArray or list of NDArray
        An array that is given several times counts once, with its last gradient. Through integers
        no gradient goes.
    head_grads : NDArray or list of NDArray or None, optional
        Gradients with respect to the heads, of as many elements; ones where None.
    retain_graph : bool
        Keep what was recorded, to go back a second time.
    train_mode : bool
        Whether operators compute the gradients as for training.

    Raises
    ------
    RecordingError
        Nothing was recorded for a head, or it is used up by an earlier `backward`.
    """
    heads = _listed(heads)
    go_back(heads, _listed_like(heads, head_grads), retain_graph, train_mode)


def go_back(heads: Sequence, head_grads: Sequence, retain_graph: bool, train_mode: bool) -> None:
    """Do what `backward` does, for as many gradients as heads."""
    tensors, gradients = _heads("backward", heads, head_grads)
    if not tensors:
        return
    state = this_thread.state
    before, state.training = state.training, bool(train_mode)
    try:
        with _alone(tensors):
            metadata = _metadata_of(tensors)
            _run_engine(tensors, gradients, bool(retain_graph), False)
            if not retain_graph:
                _mark_used(metadata)
    except RuntimeError as error:
        _explain(error)
    finally:
        state.training = before


def grad(heads, variables, head_grads=None, retain_graph=None, create_graph=False, train_mode=True):
    """Gradients of `heads` with respect to `variables`, returned and not stored.

    Parameters
    ----------
    heads, variables : NDArray or list of NDArray
    head_grads : NDArray or list of NDArray or None, optional
    retain_graph : bool, optional
        As for `backward`; by default what `create_graph` is.
    create_graph : bool
        Record the computation of the gradients too, for gradients of gradients.
    train_mode : bool

    Returns
    -------
    list of NDArray
        In the shapes of `variables`, one of them even when `variables` is one array.

    Raises
    ------
    ArgumentError
        A variable is not an array.
    RecordingError
        Nothing was recorded, or it is used up, or a variable was not used.
    """
    listed = _listed(variables)
    for i, variable in enumerate(listed):
        if not hasattr(variable, "_autograd_tensor"):
            raise ArgumentError(
                f"grad: variable {i} is {describe_value(variable)}\n  expected an NDArray"
            )
    create_graph = bool(create_graph)
    retain_graph = create_graph if retain_graph is None else bool(retain_graph)
    heads = _listed(heads)
    tensors, gradients = _heads("grad", heads, _listed_like(heads, head_grads))
    if Refused.exists:
        _expect_derivatives(tensors, [v._autograd_tensor for v in listed])
    metadata = _metadata_of(tensors)
    with _RecordingStateScope(None, train_mode):
        found = _run(
            gradients_of,
            tensors,
            [v._autograd_tensor for v in listed],
            gradients,
            retain_graph=retain_graph,
            create_graph=create_graph,
        )
    if not retain_graph:
        _mark_used(metadata)
    results = []
    for i, (value, variable) in enumerate(zip(found, listed)):
        if value is None and tensors and not _depend(tensors, variable._autograd_tensor):
            raise RecordingError(f"grad: the heads do not depend on variable {i} of {len(listed)}")
        if value is None or value._is_zerotensor():
            value = torch.zeros_like(variable._autograd_tensor, requires_grad=False)
        if create_graph and not value.requires_grad:
            value = _Constant.of(value, variable._autograd_tensor)
        results.append(variable._wrap_gradient(value))
    return results


class Refused(torch.autograd.Function):
    """A gradient, which has none itself.

    Attributes of its nodes
    -----------------------
    message : str
    behind : list of nodes
        Those that the gradient depends on beside its inputs, which PyTorch does not know.
    """

    exists = False  # in this process

    @staticmethod
    def forward(ctx, message, behind, gradient, *given):
        ctx.message, ctx.behind = message, behind
        return gradient.clone()

    @staticmethod
    def backward(ctx, *_):
        raise RecordingError(ctx.message)


def refuse_second(ctx, gradients: Sequence, message: str, given: Sequence) -> tuple:
    """Return gradients that raise when they are differentiated again, instead of giving zeros.

    `ctx` is the node that they are of; `given` are tensors that they depend on.
    """
    Refused.exists = True
    given = [t for t in given if t is not None and t.requires_grad]
    behind = [node for node, _ in ctx.next_functions if node is not None]

    def refused(gradient: torch.Tensor) -> torch.Tensor:
        return Refused.apply(message, behind, gradient.detach().requires_grad_(), *given)

    return tuple([None if g is None else refused(g) for g in gradients])


def _expect_derivatives(heads: Sequence[torch.Tensor], variables: Sequence[torch.Tensor]) -> None:
    """Raise if heads depend on a variable by a gradient that has none itself.

    PyTorch leaves out of its way what it knows of no path to the variables.
    """
    targets = {torch.autograd.graph.get_gradient_edge(v)[0] for v in variables}
    for node in _reached([h.grad_fn for h in heads]):
        behind = getattr(node, "behind", None)
        if behind and not targets.isdisjoint(_reached(behind)):
            raise RecordingError(node.message)


def _reached(nodes: list) -> Iterator:
    """Yield the nodes of a graph that these lead to, and themselves."""
    seen, nodes = set(), [n for n in nodes if n is not None]
    while nodes:
        node = nodes.pop()
        if node not in seen:
            seen.add(node)
            yield node
            nodes += [behind for behind, _ in node.next_functions if behind is not None]


class _Constant(torch.autograd.Function):
    """A gradient that is the same for all values of its variable, as a function of it.

    So its own derivative is zero, and not an error.
    """

    @staticmethod
    def forward(ctx, gradient, variable):
        ctx.shape = variable.shape
        return gradient.view_as(gradient)

    @staticmethod
    def backward(ctx, dy):
        return None, dy.new_zeros(ctx.shape)

    @classmethod
    def of(cls, gradient: torch.Tensor, variable: torch.Tensor) -> torch.Tensor:
        with torch.enable_grad():
            return cls.apply(gradient, variable)


def _listed(arrays) -> list | tuple:
    return arrays if isinstance(arrays, (list, tuple)) else [arrays]


def _listed_like(heads: Sequence, head_grads) -> Sequence:
    """Return the gradients of the heads as a list, None for ones."""
    return [None] * len(heads) if head_grads is None else _listed(head_grads)


def _heads(name: str, heads: Sequence, given: Sequence) -> tuple[tuple, tuple]:
    """Return the tensors of the heads, and their gradients; without integers."""
    if not heads or len(given) != len(heads):
        raise ArgumentError(
            f"{name}: {len(heads)} heads, {len(given)} head_grads\n  expected as many of each"
        )
    if len(heads) == 1:  # nearly always
        found = _head(name, heads[0], given[0], {})
        return ((found[0],), (found[1],)) if found else ((), ())
    twins: dict = {}
    # By the array: a later gradient takes the place of an earlier one.
    by_array = {id(h): _head(name, h, gradient, twins) for h, gradient in zip(heads, given)}
    found = [each for each in by_array.values() if each]
    return tuple(zip(*found)) or ((), ())


def _head(name: str, head, gradient, twins: dict) -> tuple[torch.Tensor, torch.Tensor] | None:
    """Return the tensor of a head, and its gradient; None for integers, which have none.

    `twins` are the tensors of integers that were computed again for the heads before.
    """
    tensor = getattr(head, "_autograd_tensor", None)
    if tensor is None:
        raise _no_array(name, "a head", head)
    if not tensor.requires_grad and head._records_integers:
        twin = head._computed_again(twins)
        if twin is not None:
            return twin, _gradient_of_twin(name, head, twin, gradient)
    if not tensor.is_floating_point():
        return None
    if not tensor.requires_grad:
        raise RecordingError(
            f"{name}: the head {head.shape} was not recorded, or used no array with a "
            "gradient\n  expected it to be computed inside autograd.record() from arrays with "
            "attach_grad()"
        )
    if gradient is None:
        return tensor, torch.ones_like(tensor)
    if not hasattr(gradient, "_autograd_tensor"):
        raise _no_array(name, "a head gradient", gradient)
    if gradient._is_sparse and _takes_sparse(tensor):
        dy = gradient._lend().to_coo()
    else:
        dy = gradient._tensor_to_keep()
    if dy.shape != tensor.shape:
        if dy.numel() != tensor.numel():
            raise ArgumentError(
                f"{name}: the head gradient is {gradient.shape}\n  expected {head.shape}, or as "
                "many elements"
            )
        dy = dy.reshape(tensor.shape)
    return tensor, dy


def _gradient_of_twin(name: str, head, twin: torch.Tensor, gradient) -> torch.Tensor:
    """The gradient of a head that is computed again, in the dtype of its twin."""
    if gradient is None:
        return torch.ones_like(twin)
    if gradient.shape != head.shape:
        raise ArgumentError(
            f"{name}: the head gradient is {gradient.shape}\n  expected {head.shape}"
        )
    return gradient._tensor.detach().to(twin.dtype)


def _no_array(name: str, what: str, value) -> ArgumentError:
    return ArgumentError(f"{name}: {what} is {describe_value(value)}\n  expected an NDArray")


def _takes_sparse(head: torch.Tensor) -> bool:
    """Whether what computed a head takes its gradient as PyTorch's sparse tensor."""
    return getattr(head.grad_fn, "takes_sparse_gradients", False)


def _metadata_of(heads: Sequence[torch.Tensor]) -> list[dict]:
    """The metadata of the nodes that computed the heads.

    A head that `backward` has used up is refused; PyTorch does it only where values were saved.
    """
    found = []
    for head in heads:
        if (node := head.grad_fn) is not None:
            metadata = node.metadata
            if _USED in metadata:
                raise _used_up()
            found.append(metadata)
    return found


def _mark_used(metadata: list[dict]) -> None:
    for of_node in metadata:
        of_node[_USED] = True


_USED = "layers: used by a backward"


def _used_up() -> RecordingError:
    return RecordingError(
        "backward: what was recorded is used up\n"
        "  expected retain_graph=True at the first backward, to go back a second time"
    )


def _depend(heads: Sequence[torch.Tensor], variable: torch.Tensor) -> bool:
    """Whether the heads were computed from the variable, be it in a way that is constant."""
    target, number = torch.autograd.graph.get_gradient_edge(variable)[:2]
    # Of two outputs of one node, such as a recorded graph, neither was computed from the other.
    siblings = [h for h in heads if h.grad_fn is target and h.output_nr != number]
    nodes = [h.grad_fn for h in heads if not any(h is s for s in siblings)]
    return target in _reached(nodes)


def _run(function, *args, **kwargs):
    try:
        return function(*args, **kwargs)
    except RuntimeError as error:
        _explain(error)


_one_by_one = threading.RLock()
_at_once = nullcontext()


def _alone(tensors: Sequence[torch.Tensor]) -> AbstractContextManager:
    """What keeps the gradients of several threads apart, which meet in the variables they share.

    PyTorch's own threads compute those of a GPU, one by one already; and a user's operator that
    goes back itself is a part of a `backward` that is alone.
    """
    is_inside = _current_graph_task_id() >= 0
    return _one_by_one if tensors[0].is_cpu and not is_inside else _at_once


def _renew() -> None:
    """A child of fork has not the thread that may hold the lock."""
    global _one_by_one
    _one_by_one = threading.RLock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_renew)


def saved_tensors(ctx) -> tuple[torch.Tensor, ...]:
    """The tensors that a `torch.autograd.Function` saved for its backward.

    Raises
    ------
    RecordingError
        One was overwritten since, or they were freed by an earlier backward.
    """
    try:
        return ctx.saved_tensors
    except RuntimeError as error:
        raise translated(error) from error


def plain_apply(function: type[torch.autograd.Function]) -> Callable:
    """Its `apply` without what is for functorch's transforms: that takes 1.2 us a call.

    The class is changed so that backward does not look for a `vjp`, another 0.4 us. Its backward
    class is not public: without one, backward looks for it.
    """
    if (backward_class := getattr(function, "_backward_cls", None)) is not None:
        backward_class.apply = function.backward
    return super(torch.autograd.Function, function).apply


def _explain(error: RuntimeError) -> NoReturn:
    """Raise an error of PyTorch's autograd as ours, and one of an operator's code as it is."""
    if type(error) is RuntimeError and _raised_by_pytorch(error):
        raise translated(error) from error
    raise error


NO_SECOND = (
    "a second derivative through a compiled graph, which has none\n"
    "  expected hybridize() without a backend"
)


def translated(error: RuntimeError) -> MXNetError:
    """Our error for one of PyTorch's autograd."""
    text = str(error)
    if "second time" in text:
        return _used_up()
    if "double backward" in text:
        return RecordingError(NO_SECOND)
    if "inplace operation" in text or "modified inplace" in text:
        found = re.search(r"\[torch\.\w+ (\[.*?\])\]", text)
        return RecordingError(
            f"backward: an array{f' {found[1]}' if found else ''} was overwritten after it was "
            "used in the recorded computation\n  expected it to keep its value until backward"
        )
    return MXNetError(f"backward: {text}")


def _raised_by_pytorch(error: BaseException) -> bool:
    """Whether PyTorch itself raised an error, and not the code of an operator that it called."""
    frames = error.__traceback__
    while frames.tb_next:
        frames = frames.tb_next
    frame = frames.tb_frame
    module = frame.f_globals.get("__name__", "")  # the code of a graph is in none
    if module == __name__ or module.startswith(("torch.autograd", "torch._functorch")):
        return True
    return frame.f_code.co_filename.startswith(_FUNCTORCH)


# Where the code is that PyTorch generates for the gradients of a compiled graph: it has no module.
_FUNCTORCH = os.path.join(os.path.dirname(torch.__file__), "_functorch", "")


# What torch.autograd.backward and grad call after their checks. These are made above; they are half
# of the cost, and for the first time in a process 0.4 s, for they import SymPy. Not public.
_engine_run_backward = getattr(torch.autograd.graph, "_engine_run_backward", None)
# What that calls, after it has handed context variables to the threads of GPUs: 10 us, and 0.3 us a
# node (Zen 1). The nodes on a CPU run in this thread, which has them. Not public.
_engine = getattr(torch.autograd.Variable, "_execution_engine", None)
_has_engine = _engine is not None and _engine_run_backward is not None


def _run_engine(
    heads: tuple, dys: tuple, retain_graph: bool, create_graph: bool, inputs: tuple | None = None
) -> tuple:
    """The gradients of the inputs; without inputs, those of all leaves are accumulated."""
    accumulate = inputs is None
    if _has_engine:
        on_cpu = heads and False not in [head.is_cpu for head in heads]
        run = _engine.run_backward if on_cpu else _engine_run_backward
        return run(heads, dys, retain_graph, create_graph, inputs or (), True, accumulate)
    options = {"retain_graph": retain_graph, "create_graph": create_graph}
    if accumulate:
        torch.autograd.backward(heads, dys, **options)
        return ()
    return torch.autograd.grad(heads, inputs, dys, allow_unused=True, **options)


def gradients_of(
    heads: Sequence[torch.Tensor],
    inputs: Sequence[torch.Tensor],
    dys: Sequence[torch.Tensor],
    retain_graph: bool = False,
    create_graph: bool = False,
) -> tuple[torch.Tensor | None, ...]:
    """The gradients of `inputs` from those of `heads`; None for one that was not used."""
    return _run_engine(tuple(heads), tuple(dys), retain_graph, create_graph, tuple(inputs))
