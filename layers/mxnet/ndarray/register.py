"""From the table to the functions of `nd`: called with NDArrays, computed at once."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Iterable, Sequence
from functools import cache
from typing import Any

import torch

from .._state import State, this_thread
from .._table import registry
from .._tensor import PYTORCH_ERRORS, contiguous_copy, copy_if_aliased, describe
from ..autograd import _set_grad_enabled, is_inside_operator
from ..base import (
    ArgumentError,
    DeferredInitializationError,
    DTypeError,
    MXNetError,
    describe_value,
    explained,
    note,
)
from ..context import Context, current_context
from ._origin import note_origin
from .ndarray import NDArray

__all__ = ["Pending", "bind", "call", "compute", "eager", "evaluate", "give", "signature"]

Tensor, is_grad_enabled = torch.Tensor, torch.is_grad_enabled
# Arguments for Symbols: arrays have no name or attr, and `check_count` alone looks at num_args.
_SYMBOL_ARGUMENTS = ("name", "attr", "num_args")
FAILURES = RuntimeError, IndexError, TypeError  # of operators, which are told with their inputs


class Pending:
    """An input of unknown shape; the first operator that can infer it makes the array."""

    known: tuple[int, ...] = ()  # the shape as far as it is known, with 0 for an unknown size

    def resolve(self, shape: tuple[int, ...]) -> NDArray:
        """Make the array, now that its shape is known."""
        raise NotImplementedError

    def __getattr__(self, name: str):
        raise MXNetError(
            f"{self}: its shape is not known yet, and {name!r} needs it\n"
            "  expected its first use as an input of an operator that infers shapes"
        )


def eager(operator: registry.Op, array_class: type[NDArray] | None = None) -> Callable:
    """Return the function of `nd` for an operator, or with its class of arrays that of `np`.

    Without a class the results are of the first array's.
    """
    least, most, names = _counts(operator)
    parsers, required, run = operator.parsers, operator.required, operator.function
    of_storage = operator.storage_attributes
    supplied, is_view = operator.supplied, operator.view

    def function(*args, **kwargs):
        # A fast path for the commonest calls, arrays by position. `call` takes every other call,
        # and raises the errors.
        count = len(args)
        if not least <= count <= most:
            named = dict(zip(names, args[most:])) | kwargs
            if most < count <= most + len(names) and len(named) == count - most + len(kwargs):
                return function(*args[:most], **named)
            return call(operator, args, kwargs, array_class)
        try:
            if count == 1:
                tensors = (args[0]._tensor,)
            elif count == 2:
                tensors = args[0]._tensor, args[1]._tensor
            else:
                tensors = tuple([a._tensor for a in args])
            attributes = {}
            if kwargs:
                for name, value in kwargs.items():
                    if name != "name":  # only Symbols have one
                        attributes[name] = parsers[name](value)
            for name in required:
                attributes[name]  # else a KeyError
        except (AttributeError, KeyError, ValueError, MXNetError):
            tensors = None  # call after the handler: this error is not the cause of call's
        if tensors is None:
            return call(operator, args, kwargs, array_class)
        for name in of_storage:
            if name in attributes:
                return call(operator, args, kwargs, array_class)
        context, wrap = args[0]._context, array_class or args[0]._array_class
        if supplied:
            _supply(operator, attributes, context)
        state = this_thread.state
        if state.recording or State.precision is not None or State.profile is not None:
            return evaluate(operator, args, tensors, attributes, context, wrap)
        # As `evaluate`, with a call less.
        enabled = is_grad_enabled()
        try:
            if enabled:
                _set_grad_enabled(False)
            y = run(*tensors, **attributes) if attributes else run(*tensors)
            if is_view:
                y = _in_own_memory(y, tensors)
        except FAILURES as error:
            raise _explained(error, operator, tensors, attributes) from error.__cause__
        finally:
            if enabled:
                _set_grad_enabled(True)
        if isinstance(y, Tensor):
            return wrap(y, context)
        return _several(operator, y, attributes, context, wrap)

    return _described(function, operator)


def _described(function: Callable, operator: registry.Op) -> Callable:
    """Return a function of `nd` with its operator's name, docstring and signature."""
    function.__name__ = function.__qualname__ = operator.name
    function.__doc__ = operator.__doc__
    function.__signature__ = signature(operator)
    function.operator = operator
    return function


def _counts(operator: registry.Op) -> tuple[int, int, list[str]]:
    """Return the least and the greatest number of arrays of a plain call, and names.

    Each array is given by position, and may be followed by the attributes of those names.
    """
    least, most, names = len(operator.needed), len(operator.inputs), operator.positions
    is_counted = False  # by an attribute, which `call` compares with the number of arrays
    if operator.variadic:
        least, most, names = 1, sys.maxsize, []
        is_counted = operator.counted is not None and operator.counted.attribute in operator.parsers
    never = not least or is_counted or _has_states(operator)
    return (sys.maxsize, sys.maxsize, []) if never else (least, most, names)


def _has_states(operator: registry.Op) -> bool:
    """True if the operator may update inputs in place."""
    return bool(operator.states) or type(operator).state_names is not registry.Op.state_names


class _Unquoted(str):
    """An annotation that `help` shows without quotes."""

    __repr__ = str.__str__


@cache
def _annotation_for(annotation: Any, array: str) -> Any:
    """An annotation of the table with `Tensor` replaced by NDArray or Symbol."""
    text = isinstance(annotation, str)
    return _Unquoted(annotation.replace("Tensor", array)) if text else annotation


@cache
def signature(operator: registry.Op, array: str = "NDArray") -> inspect.Signature:
    """The signature that a user sees: the operator's own, with `out` and `name`."""
    parameters = [
        p.replace(annotation=_annotation_for(p.annotation, array))
        for p in operator.signature.parameters.values()
        if p.name not in registry.SUPPLIED
    ]
    kind = parameters[-1].kind if parameters else None
    if operator.variadic:
        kind = inspect.Parameter.KEYWORD_ONLY
    extra = [
        inspect.Parameter(name, kind or inspect.Parameter.POSITIONAL_OR_KEYWORD, default=None)
        for name in ("out", "name")
        if name not in operator.positions and kind is not inspect.Parameter.VAR_KEYWORD
    ]
    returned = _annotation_for(operator.signature.return_annotation, array)
    return inspect.Signature([*parameters, *extra], return_annotation=returned)


def call(
    operator: registry.Op, args: tuple, kwargs: dict, array_class: type[NDArray] | None = None
) -> Any:
    """Call an operator: inputs and attributes by position or name, pending inputs, `out`.

    Raises
    ------
    MXNetError
        The shape of a parameter that is not yet initialized cannot be inferred from the other
        inputs.
    """
    if operator.of_numbers is not None and _are_numbers(args, kwargs):
        return operator.of_numbers(*args, **kwargs)
    inputs, attributes, out = bind(operator, args, kwargs)
    pending = [n for n, a in inputs.items() if isinstance(a, Pending)]
    if pending:
        _resolve(operator, inputs, attributes, pending)
    arrays = [a for a in inputs.values() if a is not None]
    if arrays:
        context, wrap = arrays[0]._context, array_class or arrays[0]._array_class
    else:
        context, wrap = _context(attributes.get("ctx")), array_class or NDArray
    _supply(operator, attributes, context)
    if True in [a._is_sparse for a in arrays] or operator.stores_sparse(attributes):
        from .._sparse.call import call as call_sparse

        result = call_sparse(operator, [*inputs.values()], attributes, context, out)
    else:
        states = operator.state_names(attributes)
        places = operator.places(attributes, len(inputs)) if states else inputs
        tensors = [
            None if a is None else a._state_tensor() if n in states else a._tensor
            for n, a in zip(places, inputs.values())
        ]
        result = evaluate(operator, inputs.values(), tensors, attributes, context, wrap)
    return result if out is None else give(result, out)


def _are_numbers(args: tuple, kwargs: dict) -> bool:
    """True if no argument is an array."""
    return not any(isinstance(a, (NDArray, Pending)) for a in (*args, *kwargs.values()))


def _supply(operator: registry.Op, attributes: dict, context: Context) -> dict:
    """Add the arguments that the caller fills in; see `registry.SUPPLIED`."""
    for name in operator.supplied:
        if name == "training":
            attributes[name] = this_thread.state.training
        else:
            attributes[name] = context.device if name == "device" else context
    return attributes


def bind(operator: registry.Op, args: tuple, kwargs: dict) -> tuple[dict, dict, Any]:
    """Arrays by input name, attributes parsed, and `out`, from a call's arguments.

    Raises
    ------
    ArgumentError
        An argument is missing, unknown, given twice, or of a wrong type or value; or one says
        another number of arrays than there are.
    """
    out = kwargs.pop("out", None)
    attributes = {}
    if operator.variadic:
        inputs = {f"{operator.inputs[0]}{i}": a for i, a in enumerate(args)}
    else:
        inputs = dict(zip(operator.inputs, args))
        rest = args[len(operator.inputs) :]
        positions = operator.positions
        if len(rest) > len(positions) and out is None:
            *rest, out = rest
        for i, value in enumerate(rest):
            if i < len(positions) and positions[i] == "out":
                out = value
            else:
                attributes[positions[i]] = operator.parse_at(i, value)
    for name, value in kwargs.items():
        if name in operator.inputs and not operator.variadic:
            if name in inputs:
                raise ArgumentError(f"{operator.name}: {name} is given twice")
            inputs[name] = value
        elif name in operator.parsers:
            if name in attributes:
                raise ArgumentError(f"{operator.name}: {name} is given twice")
            attributes[name] = operator.parse(name, value)
        elif name.startswith("__"):  # attached to a Symbol, without effect on an array
            continue
        elif name not in _SYMBOL_ARGUMENTS and not operator.drops(name):
            operator.parse(name, value)
    _check_arguments(operator, inputs, attributes)
    if operator.variadic:
        operator.check_count(kwargs, len(inputs))
    else:
        inputs = {name: inputs.get(name) for name in operator.inputs}
    return inputs, attributes, out


def _check_arguments(operator: registry.Op, inputs: dict, attributes: dict) -> None:
    for name, value in inputs.items():
        if not isinstance(value, (NDArray, Pending)) and not (
            value is None and not operator.variadic
        ):
            raise _not_an_array(operator, name, value)
    needed = operator.needed if inputs or not operator.variadic else operator.inputs
    missing = [n for n in needed if inputs.get(n) is None]
    missing += [n for n in operator.required if n not in attributes]
    if missing:
        raise ArgumentError(f"{operator.name}: {missing[0]} is missing\n  expected {operator.form}")


def _not_an_array(operator: registry.Op, name: str, value: Any) -> ArgumentError:
    return ArgumentError(
        f"{operator.name}: {name} is {describe_value(value)}\n  expected {expected_array(value)}"
    )


def expected_array(value: Any) -> str:
    """What a message expects in the place of an input that is no NDArray."""
    if isinstance(value, (list, tuple)) and any(isinstance(a, NDArray) for a in value):
        return "the arrays one by one: f(*arrays)"
    maker = "from_torch" if isinstance(value, Tensor) else "array"
    return f"an NDArray; nd.{maker}(...) makes one"


def _resolve(operator: registry.Op, inputs: dict, attributes: dict, pending: list[str]) -> None:
    shapes = {n: getattr(a, "shape", None) for n, a in inputs.items() if n not in pending}
    try:
        found = operator.infer_shapes(shapes, attributes)
    except IndexError as error:  # an input has fewer axes than the rule asks for
        given = [a if isinstance(a, NDArray) else None for a in inputs.values()]
        tensors = [None if a is None or a._is_sparse else a._tensor for a in given]
        raise _explained(error, operator, tensors, attributes) from error.__cause__
    for name in pending:
        if name not in found:
            raise DeferredInitializationError(
                f"{operator.name}: the shape of {name} cannot be inferred from the other inputs\n"
                f"  expected the shape where {inputs[name]} is made"
            )
        inputs[name] = inputs[name].resolve(found[name])


def _context(ctx: str | None) -> Context:
    if not ctx:
        return current_context()
    device_type, _, number = str(ctx).rstrip(")").partition("(")
    return Context(device_type, int(number or 0))


def evaluate(
    operator: registry.Op,
    arrays: Iterable[NDArray | None],
    tensors: Sequence,
    attributes: dict,
    context: Context,
    wrap: type[NDArray] = NDArray,
) -> Any:
    """Run an operator on the tensors of arrays, and note what it computes from them, if recorded.

    The results are of the class `wrap`.

    Where nothing is recorded, cast or profiled, its function is called at once.

    Raises
    ------
    Exception
        As `compute`.
    """
    state = this_thread.state
    if state.recording or State.precision is not None or State.profile is not None:
        result = compute(operator, tensors, attributes, context, wrap)
        if state.recording:
            note_origin(result, operator, attributes, arrays)
        return result
    enabled = is_grad_enabled()
    try:
        if enabled:
            _set_grad_enabled(False)
        function = operator.function
        y = function(*tensors, **attributes) if attributes else function(*tensors)
        if operator.view:
            y = _in_own_memory(y, tensors)
    except FAILURES as error:
        raise _explained(error, operator, tensors, attributes) from error.__cause__
    finally:
        if enabled:
            _set_grad_enabled(True)
    if isinstance(y, Tensor):
        return wrap(y, context)
    return _several(operator, y, attributes, context, wrap)


def _in_own_memory(y: Any, tensors: Sequence) -> Any:
    """Return the results of an operator, copied where they share memory with its inputs."""
    if not isinstance(y, Tensor):
        return copy_if_aliased(y, tensors)
    if not torch.compiler.is_compiling() and (base := y._base) is not None:
        x = tensors[0]  # asked first, for it is nearly always this one's memory
        if x is not None and (base is x or base is x._base):
            return contiguous_copy(y)
    return copy_if_aliased([y], tensors)[0]


def compute(
    operator: registry.Op,
    tensors: Sequence,
    attributes: dict,
    context: Context,
    wrap: type[NDArray] = NDArray,
) -> Any:
    """Run an operator on tensors, with PyTorch's grad mode on where autograd records.

    Raises
    ------
    Exception
        What the operator raises, with its name; PyTorch's own errors as those of this package.
    """
    recording = this_thread.state.recording
    mode_differs = is_grad_enabled() is not recording
    try:
        if mode_differs:
            _set_grad_enabled(recording)
        if State.precision is not None and not is_inside_operator():
            tensors, attributes = State.precision.prepare(operator, tensors, attributes)
        profile = State.profile
        run = operator.run if profile is None else profile("operator", operator.name, operator.run)
        y = run(*tensors, **attributes)
        if operator.view:
            y = _in_own_memory(y, tensors)
        if recording and isinstance(y, Tensor) and not y.requires_grad:
            y = _with_zero_gradients(y, tensors)
    except FAILURES as error:
        raise _explained(error, operator, tensors, attributes) from error.__cause__
    finally:
        if mode_differs:
            _set_grad_enabled(not recording)
    if isinstance(y, Tensor):  # also one of a tracer
        return wrap(y, context)
    return _several(operator, y, attributes, context, wrap)


def _several(
    operator: registry.Op,
    results: Any,
    attributes: dict,
    context: Context,
    wrap: type[NDArray] = NDArray,
) -> Any:
    """The arrays of an operator's results, as far as a user sees them; an array where it is one."""
    shown = results
    if operator.outputs_rule is not None:
        shown = results[: operator.count_outputs(attributes)]
    arrays = [wrap(t, context) for t in shown]
    return arrays[0] if len(arrays) == 1 else arrays


def _with_zero_gradients(y: torch.Tensor, tensors: Sequence) -> torch.Tensor:
    """y, with gradients of zeros for the variables, of which it uses nothing but the shape."""
    variables = [t for t in tensors if t is not None and t.requires_grad]
    return registry.constant(y, *variables) if variables and y.is_floating_point() else y


def give(result: Any, out: Any) -> Any:
    """Write a result into `out`.

    Raises
    ------
    ArgumentError
        `out` has another number of arrays, or another shape.
    DTypeError
        It is an array of ``mx.np`` of another dtype.
    """
    results = result if isinstance(result, list) else [result]
    targets = list(out) if isinstance(out, (list, tuple)) else [out]
    if len(targets) != len(results):
        raise ArgumentError(f"out: {len(targets)} arrays for {len(results)} outputs")
    for target, value in zip(targets, results):
        if target.shape != value.shape:
            raise ArgumentError(f"out: the array is {target.shape}\n  expected {value.shape}")
        if target._array_class is not NDArray and target.dtype != value.dtype:
            raise DTypeError(f"out: the array is {target.dtype}\n  expected {value.dtype}")
        if value is not target:
            target[:] = value if value.stype == target.stype else value._as_dense()
    return out


def _explained(
    error: Exception, operator: registry.Op, tensors: Sequence, attributes: dict
) -> Exception:
    """PyTorch's error as one of this package, naming operator and inputs; others with a note."""
    named = zip(_input_names(operator, tensors), tensors)
    inputs = {n: t for n, t in named if t is not None}
    shown = [f"{n} {describe(t)}" for n, t in inputs.items()]
    shown += [f"{n}={v!r}" for n, v in attributes.items() if n not in registry.SUPPLIED]
    where = f"  in {operator.name}({', '.join(shown)})"
    if type(error) in PYTORCH_ERRORS:
        shapes = {n: tuple(t.shape) for n, t in inputs.items()}
        error_class, problem = explained(error, shapes, [t.dtype for t in inputs.values()])
        return error_class(f"{operator.name}: {problem}\n{where}").with_traceback(
            error.__traceback__
        )
    return note(error, where)


def _input_names(operator: registry.Op, tensors: Sequence) -> list[str]:
    if operator.variadic:
        return [f"{operator.inputs[0]}{i}" for i in range(len(tensors))]
    return list(operator.inputs)
