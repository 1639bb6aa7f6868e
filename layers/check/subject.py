"""What is checked, in one shape: an `Operator`, a CustomOp, a function, a layer."""

from __future__ import annotations

import copy
import inspect
from collections.abc import Callable, Sequence
from functools import cache
from itertools import count
from typing import Any

import numpy as np

from ..engine import gluon, mx, nd
from ..operator_block import OperatorBlock
from ..ops.operator import Operator
from .direct import DirectCustom, DirectOperator
from .report import Unchecked, WrongArguments

__all__ = ["CustomSubject", "FunctionSubject", "LayerSubject", "OperatorSubject", "Subject"]

Values = dict[str, np.ndarray]


class Subject:
    """Something that is called with arrays by name, and gives arrays.

    Attributes
    ----------
    title : str
    values : dict of str to numpy.ndarray
        What it is called with, by name: floats are float64.
    states : tuple of str
        Of these, the ones that it updates in place.
    outputs : tuple of str
        Names; for a layer or function, found at the first call.
    is_loss : bool
        Whether it needs no gradient of its outputs.
    loss : callable or None
        What its gradients are those of, if not of its outputs.
    wanted : tuple of str
        The inputs that have a gradient.
    silent : dict of str to str
        The others, with the reason.
    declares : bool
        Whether it may declare shapes and types.
    declared_gradients : container of str, or None
        The inputs of which it says that there is a gradient, if it says so.
    kept : tuple of str
        The checks of how it is kept: 'pickle', "parameters' file".
    """

    title: str
    values: Values
    states: tuple[str, ...] = ()
    outputs: tuple[str, ...] = ()
    is_loss = False
    loss: Callable | None = None
    wanted: tuple[str, ...] = ()
    silent: dict[str, str]
    attributes: dict[str, Any]
    kept: tuple[str, ...] = ()
    declares = False
    declared_gradients: Any = None

    def ask_gradients(self, wrt: Sequence[str] | None) -> None:
        """Settle which inputs have a gradient: of `wrt`, if given, those that can."""
        for name in wrt or ():
            if name not in self.values:
                raise WrongArguments(
                    f"check {self.title}: wrt names {name!r}\n"
                    f"  expected of {', '.join(self.values)}"
                )
        self.silent = {}
        for name, value in self.values.items():
            if name in self.states:
                continue
            if value.dtype.kind != "f":
                self.silent[name] = f"it holds {value.dtype}"
            elif wrt is not None and name not in wrt:
                self.silent[name] = "not asked for"
            elif self.declared_gradients is not None and name not in self.declared_gradients:
                self.silent[name] = "the operator declares none"
        self.wanted = tuple(n for n in self.values if n not in self.silent and n not in self.states)

    def place(self, values: Values, dtype: str, context: Any, req: Any = None) -> dict[str, Any]:
        """NDArrays of the values, floats as `dtype`; with gradients if `req` says how by name."""
        arrays = {}
        for name, value in values.items():
            kind = dtype if value.dtype.kind == "f" else self.integers(name, value.dtype, dtype)
            arrays[name] = nd.array(value, ctx=context, dtype=kind)
            if req and name in req:
                arrays[name].attach_grad(req[name])
        return arrays

    def integers(self, name: str, dtype: np.dtype, floating: str) -> Any:
        """The dtype in which it takes an input of whole numbers."""
        return dtype

    def call(self, arrays: dict[str, Any]) -> list:
        """The outputs."""
        y = self.run(arrays)
        outputs = list(y) if isinstance(y, (list, tuple)) else [y]
        if not self.outputs:
            many = len(outputs) > 1
            self.outputs = tuple(f"y{i}" if many else "y" for i in range(len(outputs)))
        return outputs

    def run(self, arrays: dict[str, Any]) -> Any:
        """Call it, as a program does."""
        raise NotImplementedError

    def declared(self, values: Values, dtype: str) -> tuple[dict, dict]:
        """Shapes and dtypes by name, as it declares them for these inputs."""
        raise Unchecked("it declares none")

    def direct(self, arrays: dict[str, Any]) -> Any:
        """Its own code, to be called without the engine; None where there is no such thing."""
        return None

    def layer(self) -> LayerSubject:
        """It in a layer, to be hybridized."""
        raise Unchecked("a function is no part of a graph; an Operator or a HybridBlock is")

    def pickled(self) -> Any:
        """What is to be pickled."""
        raise NotImplementedError


class OperatorSubject(Subject):
    """An `Operator` with its attributes."""

    kept = ("pickle",)
    declares = True

    def __init__(self, op: Operator, inputs: list[np.ndarray], attributes: dict, shown: Any = None):
        self.op, self.shown = op, op if shown is None else shown
        self.title = f"operator {op.name}"
        check_count(self.title, op.inputs, inputs, len(op.inputs) - len(op.optional))
        if unknown := attributes.keys() - op.attributes.keys():
            raise WrongArguments(
                f"check {self.title}: it has no attribute {unknown.pop()!r}\n"
                f"  expected of {', '.join(op.attributes) or 'none'}"
            )
        self.attributes = {n: op.parse(n, v) for n, v in attributes.items()}
        self.values = {n: v for n, v in zip(op.inputs, inputs) if v is not None}
        self.states, self.outputs = op.states, op.outputs
        self.is_loss, self.loss, self.declared_gradients = op.is_loss, op.loss, op.needs

    def run(self, arrays):
        return self.op(*(arrays.get(n) for n in self.op.inputs), **self.attributes)

    def declared(self, values, dtype):
        op = self.op
        known = dict.fromkeys(op.inputs) | op.attributes | self.attributes
        shapes, types = {}, {}
        if op.shapes is not None:
            given = {n: v.shape for n, v in values.items()}
            shapes = {n: s for n, s in op.ask(op.shapes, known | given).items() if s is not None}
        if op.types is not None:
            kinds = {n: dtype if v.dtype.kind == "f" else str(v.dtype) for n, v in values.items()}
            types = op.ask(op.types, known | kinds)
        elif values and next(iter(values.values())).dtype.kind == "f":
            types = dict.fromkeys(op.outputs, dtype)
        return shapes, types

    def direct(self, arrays):
        return DirectOperator(self.op, self.attributes)

    def layer(self):
        if list(self.values) != list(self.op.inputs)[: len(self.values)]:
            raise Unchecked("an input in the middle is left out")
        states = {n: {"shape": self.values[n].shape} for n in self.states}
        block = OperatorBlock(self.op, params=states, **self.attributes)
        return LayerSubject(block, self.values, self.outputs)

    def pickled(self):
        return self.shown


class CustomSubject(Subject):
    """A CustomOpProp, or the name of a registered one."""

    declares = True

    def __init__(self, op: Any, inputs: list[np.ndarray], attributes: dict):
        self.op_type = op if isinstance(op, str) else registered(op)
        self.prop_class = find(op) if isinstance(op, str) else op
        self.title = f"operator {op if isinstance(op, str) else op.__name__}"
        self.attributes = {n: str(v) for n, v in attributes.items()}
        self.prop = self.prop_class and self.prop_class(**self.attributes)
        arguments, states, outputs = self._lists()
        check_count(self.title, (*arguments, *states), inputs)
        self.arguments, self.states, self.outputs = arguments, states, outputs
        self.values = dict(zip((*arguments, *states), inputs))
        self.is_loss = self.prop is not None and not self.prop.need_top_grad_

    def _lists(self) -> tuple[tuple[str, ...], ...]:
        if self.prop is None:
            node = mx.sym.Custom(op_type=self.op_type, name="op", **self.attributes)
            found = (
                node.list_arguments(),
                node.list_auxiliary_states(),
                node.list_outputs(),
            )
            return tuple(tuple(n.removeprefix("op_") for n in names) for names in found)
        prop = self.prop
        found = (prop.list_arguments(), prop.list_auxiliary_states(), prop.list_outputs())
        return tuple(map(tuple, found))

    def run(self, arrays):
        return nd.Custom(*arrays.values(), op_type=self.op_type, **self.attributes)

    def integers(self, name, dtype, floating):
        # By default an operator takes all inputs in the dtype of the first.
        if self.prop is None or name not in self.arguments:
            return floating
        kinds = [self.values[n].dtype for n in self.arguments]
        given = [np.dtype(floating if k.kind == "f" else k).type for k in kinds]
        return self.prop.infer_type(given)[0][self.arguments.index(name)]

    def declared(self, values, dtype):
        if self.prop is None:
            raise Unchecked(BY_NAME)
        shapes = [list(values[n].shape) for n in self.arguments]
        kinds = {n: np.dtype(dtype) for n in self.arguments}
        kinds |= {
            n: np.dtype(self.integers(n, values[n].dtype, dtype))
            for n in self.arguments
            if values[n].dtype.kind != "f"
        }
        found = {}
        for ask, given in (
            ("infer_shape", shapes),
            ("infer_type", [k.type for k in kinds.values()]),
        ):
            lists = getattr(self.prop, ask)(given)
            names = (self.arguments, self.outputs, self.states)
            found[ask] = {n: v for part, told in zip(names, lists) for n, v in zip(part, told)}
        shapes = {n: tuple(int(k) for k in s) for n, s in found["infer_shape"].items()}
        return shapes, {n: str(np.dtype(t)) for n, t in found["infer_type"].items()}

    def direct(self, arrays):
        return None if self.prop is None else DirectCustom(self.prop, arrays)

    def layer(self):
        states = {
            n: {"shape": self.values[n].shape, "init": "zeros", "grad_req": "null"}
            for n in self.states
        }
        block = OperatorBlock(self.op_type, params=states, **self.attributes)
        return LayerSubject(block, self.values, self.outputs)


class FunctionSubject(Subject):
    """A function of NDArrays."""

    def __init__(self, function: Callable, inputs: list[np.ndarray], attributes: dict):
        self.function, self.attributes = function, attributes
        self.title = f"function {getattr(function, '__name__', type(function).__name__)}"
        self.values = dict(zip(parameters(function, len(inputs)), inputs))

    def run(self, arrays):
        return self.function(*arrays.values(), **self.attributes)


class LayerSubject(Subject):
    """A copy of a Block, its Parameters among the inputs."""

    attributes: dict[str, Any] = {}
    kept = ("pickle", "parameters' file")

    def __init__(self, block: Any, given: list | Values, outputs: tuple[str, ...] = ()):
        self.block, self.outputs = block, outputs
        self.title = f"layer {type(block).__name__}"
        inputs = given if isinstance(given, dict) else self._named(given)
        self.parameters = block._collect_params_with_prefix()
        self.inputs = [n for n in inputs if n not in self.parameters]
        self._initialize([inputs[n] for n in self.inputs])
        held = {n: p.data().asnumpy() for n, p in self.parameters.items()}
        held = {n: v.astype("float64") if v.dtype.kind == "f" else v for n, v in held.items()}
        held |= {n: v for n, v in inputs.items() if n in held}
        self.values = {n: inputs[n] for n in self.inputs} | held
        self.requests = {n: p.grad_req for n, p in self.parameters.items()}
        self.states = tuple(n for n, r in self.requests.items() if r == "null")
        self.home: tuple[str, Any] = ("", None)

    def _named(self, inputs: list[np.ndarray]) -> Values:
        block = self.block
        hybrid = isinstance(block, gluon.HybridBlock)
        hybrid = hybrid and type(block).forward is gluon.HybridBlock.forward
        function = block.hybrid_forward if hybrid else block.forward
        owned = set(block._reg_params)
        names = parameters(function, len(inputs) + hybrid, skip=owned)
        return dict(zip(names[hybrid:], inputs))

    def _initialize(self, inputs: list[np.ndarray]) -> None:
        """Initialize what is not yet, and find the shapes that a first call tells."""
        deferred = False
        for parameter in self.parameters.values():
            try:
                parameter.data()
            except gluon.parameter.DeferredInitializationError:
                deferred = True
            except RuntimeError:
                parameter.initialize(ctx=mx.cpu())
                deferred = True
        if deferred:
            kinds = [np.dtype(p.dtype) for p in self.parameters.values()]
            kind = next((k for k in kinds if k.kind == "f"), "float32")
            arrays = [nd.array(v, dtype=kind if v.dtype.kind == "f" else v.dtype) for v in inputs]
            self.block(*arrays)

    def place(self, values, dtype, context, req=None):
        if self.home != (dtype, context):
            self.block.cast(dtype)
            self.block.collect_params().reset_ctx(context)
            self.home = (dtype, context)
        owned = {n: v for n, v in values.items() if n in self.parameters}
        inputs = {n: v for n, v in values.items() if n not in owned}
        arrays = super().place(inputs, dtype, context, req)
        for name, value in owned.items():
            parameter = self.parameters[name]
            asked = (req or {}).get(name, "null")
            if parameter.grad_req != asked:
                parameter.grad_req = asked
            parameter.set_data(nd.array(value, ctx=context, dtype=dtype))
            arrays[name] = parameter.data(context)
            if asked != "null":
                arrays[name].grad[:] = 0
        return arrays

    def run(self, arrays):
        return self.block(*(arrays[n] for n in self.inputs))

    def layer(self):
        if not isinstance(self.block, gluon.HybridBlock):
            raise Unchecked("a Block, not a HybridBlock, is never a graph")
        made = copy.copy(self)
        made.block = copy.deepcopy(self.block)
        made.parameters = made.block._collect_params_with_prefix()
        return made

    def pickled(self):
        return self.block


BY_NAME = "MXNet does not tell the class of a name; give its CustomOpProp"


NUMBERS = count(1)


def find(op_type: str) -> type | None:
    """The CustomOpProp of a name; None on MXNet, which keeps no classes by name."""
    known = getattr(mx.operator, "find", None)
    return known and known(op_type)


@cache
def registered(prop_class: type) -> str:
    """A name of its own under which a CustomOpProp is called here."""
    name = f"{prop_class.__name__} {next(NUMBERS)}"
    mx.operator.register(name)(prop_class)
    return name


def parameters(function: Callable, count: int, skip: Sequence[str] | set[str] = ()) -> list[str]:
    """Names for the first `count` positional arguments of a function."""
    try:
        found = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):  # it is no Python code
        found = []
    names = [p.name for p in found if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    names = [n for n in names if n not in skip][:count]
    return names + [f"x{i}" for i in range(len(names), count)]


def check_count(title: str, names: Sequence[str], inputs: list, least: int | None = None) -> None:
    """Refuse more inputs than there are, or fewer than there must be."""
    if not (len(names) if least is None else least) <= len(inputs) <= len(names):
        most = len(names)
        many = f"{most}" if least in (None, most) else f"{least} to {most}"
        raise WrongArguments(
            f"check {title}: {len(inputs)} inputs\n  expected {many}: {', '.join(names)}"
        )
