"""Subjects of checks: operators, CustomOps, functions and layers, with one interface."""

from __future__ import annotations

import copy
import inspect
import warnings
from collections.abc import Callable, Collection, Iterable, Sequence
from functools import cache, cached_property
from itertools import count
from typing import Any

import numpy as np

from .. import engine
from ..engine import gluon, mx, nd
from ..operator_block import OperatorBlock
from ..ops.ways.operator import Operator
from ._report import Unchecked, WrongArguments
from ._unprotected import CustomCode, OperatorCode
from ._values import Values

NUMBERS = count(1)


def make_subject(given: Any, inputs: list, attributes: dict[str, Any]) -> Subject:
    """Return the subject for an object to check, with these inputs."""
    if isinstance(given, gluon.Block):
        if attributes:
            names = ", ".join(attributes)
            raise WrongArguments(f"check {given.name}: {names}\n  expected no attributes")
        return LayerSubject(copy.deepcopy(given), inputs)
    operator = _operator(given, len(inputs))
    if operator is not None and (operator is given or len(inputs) <= len(operator.inputs)):
        return OperatorSubject(operator, inputs, attributes, given)
    is_prop = isinstance(given, type) and issubclass(given, mx.operator.CustomOpProp)
    if isinstance(given, str) or is_prop:
        return CustomSubject(given, inputs, attributes)
    if callable(given) and not isinstance(given, type):
        return FunctionSubject(given, inputs, attributes)
    raise WrongArguments(
        f"check_operator: {given!r} ({type(given).__name__})\n"
        "  expected an Operator, a CustomOpProp, a registered name, or a function of NDArrays"
    )


def _operator(given: Any, count: int) -> Operator | None:
    """Return the `Operator` of a customop, of a name, or of a Custom with `count` inputs."""
    if isinstance(given, str):
        named = {known.name: known for known in engine.adapter().registered()}
        return named.get(given)
    if isinstance(given, Operator):
        return given
    try:
        operator = getattr(given, "operator", None)
    except TypeError:  # a Custom may take any number of inputs
        operator = given.operator_of(count) if hasattr(given, "operator_of") else None
    return operator if isinstance(operator, Operator) else None


class Subject:
    """Base of subjects: an object that is called with arrays by name, and returns arrays."""

    title: str
    values: Values  # of the inputs, by name: floats are float64
    drawn: Collection[str] = ()  # inputs with random values
    states: tuple[str, ...] = ()  # inputs that it updates in place
    outputs: tuple[str, ...] = ()  # set at the first call of a layer or function
    attributes: dict[str, Any] = {}  # attributes of the call
    defaults: dict[str, Any] = {}  # defaults of all attributes
    is_loss = False  # True if its gradients use no head gradients
    loss: Callable | None = None  # the function to differentiate, if not the sum of the outputs
    needs: Collection[str] | None = None  # inputs with declared gradients, if it declares any
    differentiated: tuple[str, ...] = ()  # inputs whose gradients are checked
    without_gradient: dict[str, str]  # reasons why other inputs' are not
    declares = False  # True if it may declare shapes and types
    undeclared = "it declares none"  # why there are none to compare with
    declared_by = ""  # the rule for the types of outputs, if not its own
    pure: bool | None = None  # True if it depends only on inputs and attributes, None if unknown
    pickled: Any = None  # the object that a program would pickle
    operator: Any = None  # for a graph: an Operator, or the name of one
    has_kernel = False  # True if the engine has other code for its formula
    block: Any = None
    parameters: dict[str, Any] = {}  # parameters of the block; their values are inputs

    def choose_gradients(self, wrt: Sequence[str] | None) -> None:
        """Choose the inputs whose gradients are checked: if given, inputs in `wrt`, else all."""
        wrt = (wrt,) if isinstance(wrt, str) else wrt
        for name in wrt or ():
            if name not in self.values:
                raise WrongArguments(
                    f"check {self.title}: wrt names {name!r}\n"
                    f"  expected one of {', '.join(self.values)}"
                )
        inputs = [n for n in self.values if n not in self.states]
        reasons = {n: self._reason_without_gradient(n, wrt) for n in inputs}
        self.without_gradient = {n: reason for n, reason in reasons.items() if reason}
        self.differentiated = tuple(n for n in inputs if n not in self.without_gradient)

    def _reason_without_gradient(self, name: str, wrt: Sequence[str] | None) -> str:
        """Return the reason why the gradient of an input is not checked, or ""."""
        if self.values[name].dtype.kind != "f":
            return f"it holds {self.values[name].dtype}"
        if wrt is not None and name not in wrt:
            return "not asked for"
        if self.needs is not None and name not in self.needs:
            return "the operator declares none"
        return ""

    def place(self, values: Values, dtype: str, context: Any, req: Any = None) -> dict[str, Any]:
        """Return NDArrays of the values, floats as `dtype`, with gradients as in `req`."""
        arrays = {}
        for name, value in values.items():
            kind = dtype if value.dtype.kind == "f" else self.integer_type(name, dtype)
            arrays[name] = nd.array(value, ctx=context, dtype=kind)
            if req and name in req:
                arrays[name].attach_grad(req[name])
        return arrays

    def integer_type(self, name: str, floating: str) -> Any:
        """Return the dtype for an input of whole numbers if floats are `floating`."""
        return self.values[name].dtype

    def call(self, arrays: dict[str, Any]) -> list:
        """Return the outputs as a list."""
        y = self.run(arrays)
        outputs = list(y) if isinstance(y, (list, tuple)) else [y]
        if not self.outputs:
            many = len(outputs) > 1
            self.outputs = tuple(f"y{i}" if many else "y" for i in range(len(outputs)))
        return outputs

    @property
    def eager(self) -> Subject:
        """Return the subject in a form whose operators run their own Python in each call."""
        return self

    def run(self, arrays: dict[str, Any]) -> Any:
        """Call the subject as a program does."""
        raise NotImplementedError

    def declared(self, values: Values, dtype: str) -> tuple[dict, dict]:
        """Return the shapes and dtypes, by name, that it declares for these inputs."""
        return {}, {}

    def code(self, arrays: dict[str, Any]) -> Any:
        """Return its functions in a form to call without the engine; None without any."""
        return None

    def functions(self) -> Iterable[Callable]:
        """Return the functions whose Python runs in a call."""
        return ()

    def layer(self) -> LayerSubject:
        """Return a subject that is a layer, to be hybridized, around this one."""
        if self.operator is None:
            raise Unchecked("a function is no part of a graph; an Operator or a HybridBlock is")
        state = {"init": "zeros", "grad_req": "null"}
        states = {n: state | {"shape": self.values[n].shape} for n in self.states}
        block = OperatorBlock(self.operator, params=states, **self.attributes)
        return LayerSubject(block, self.values, self.outputs)


class OperatorSubject(Subject):
    """Subject that is an `Operator` with attributes."""

    declares = True

    def __init__(self, op: Operator, inputs: list, attributes: dict[str, Any], pickled: Any):
        self.operator, self.pickled = op, pickled
        self.title = f"operator {op.name}"
        _expect_count(self.title, op.inputs, inputs, len(op.inputs) - len(op.optional))
        attributes = op.by_present_names(attributes)
        if unknown := attributes.keys() - op.attributes.keys():
            raise WrongArguments(
                f"check {self.title}: it has no attribute {unknown.pop()!r}\n"
                f"  expected one of {', '.join(op.attributes) or 'none'}"
            )
        self.attributes = {n: op.parse(n, v) for n, v in attributes.items()}
        self.values = {n: v for n, v in zip(op.inputs, inputs) if v is not None}
        self.states, self.outputs, self.defaults = op.states, op.outputs, op.attributes
        self.is_loss, self.loss, self.needs = op.is_loss, op.loss, op.needs
        self.pure, self.has_kernel = op.pure, engine.kernel(op) is not None
        if op.types is None and op.inputs:
            like = f"nd.array(..., dtype={op.inputs[0]}.dtype)"
            self.declared_by = f": that of the first input, such as {like}"

    def run(self, arrays):
        return self.operator(*(arrays.get(n) for n in self.operator.inputs), **self.attributes)

    def declared(self, values, dtype):
        op = self.operator
        known = dict.fromkeys(op.inputs) | op.attributes | self.attributes
        kinds = {n: dtype if v.dtype.kind == "f" else str(v.dtype) for n, v in values.items()}
        shapes, types = {}, {}
        if op.shapes is not None:
            given = {n: v.shape for n, v in values.items()}
            shapes = {n: s for n, s in op.ask_shapes(known | given).items() if s is not None}
        if op.types is not None:
            types = op.ask(op.types, known | kinds)
        elif next(iter(kinds.values()), None) == dtype:
            types = dict.fromkeys(op.outputs, dtype)
        return shapes, types

    def code(self, arrays):
        return OperatorCode(self.operator, self.attributes)

    def functions(self):
        op = self.operator
        return (op.forward, *([op.backward] if op.backward else op.gradients.values()))

    def layer(self):
        if list(self.values) != list(self.operator.inputs)[: len(self.values)]:
            raise Unchecked("an input in the middle is left out")
        return super().layer()


class CustomSubject(Subject):
    """Subject that is a CustomOpProp, or the name of a registered one."""

    declares = True

    def __init__(self, op: Any, inputs: list[np.ndarray], attributes: dict[str, Any]):
        name = op if isinstance(op, str) else _registered_name(op) or op.__name__
        self.operator = op if isinstance(op, str) else _registered(op)
        self.title = f"operator {name}"
        self.attributes = {n: str(v) for n, v in attributes.items()}
        prop = find_prop(op) if isinstance(op, str) else op
        self.prop: Any = prop and prop(**self.attributes)
        self._find_names()
        names = (*self.arguments, *self.states)
        _expect_count(self.title, names, inputs, len(names))
        self.values = dict(zip(names, inputs))
        self.is_loss = self.prop is not None and not self.prop.need_top_grad_
        self.pure = getattr(self.prop, "pure", None)

    def _find_names(self) -> None:
        """Find the names of inputs, outputs and states, from the Prop or from a Symbol of it."""
        known, prefix = self.prop, ""
        if known is None:
            self.undeclared = "MXNet does not tell the class of a name; give its CustomOpProp"
            known, prefix = (
                mx.sym.Custom(op_type=self.operator, name="op", **self.attributes),
                "op_",
            )
        lists = known.list_arguments(), known.list_auxiliary_states(), known.list_outputs()
        self.arguments, self.states, self.outputs = (
            tuple(n.removeprefix(prefix) for n in names) for names in lists
        )

    def run(self, arrays):
        return nd.Custom(*arrays.values(), op_type=self.operator, **self.attributes)

    def _infer_type(self, floating: str) -> tuple[list, ...]:
        kinds = [self.values[n].dtype for n in self.arguments]
        return self.prop.infer_type(
            [np.dtype(floating if k.kind == "f" else k).type for k in kinds]
        )

    def integer_type(self, name, floating):
        # By default, an operator takes all inputs in the dtype of the first.
        if self.prop is None or name not in self.arguments:
            return floating
        return self._infer_type(floating)[0][self.arguments.index(name)]

    def declared(self, values, dtype):
        if self.prop is None:
            return {}, {}
        shapes = self.prop.infer_shape([list(values[n].shape) for n in self.arguments])
        types = self._infer_type(dtype)
        return (
            {n: tuple(int(k) for k in shape) for n, shape in self._by_name(shapes)},
            {n: str(np.dtype(kind)) for n, kind in self._by_name(types)},
        )

    def _by_name(self, lists: Any) -> list[tuple[str, Any]]:
        names = self.arguments, self.outputs, self.states
        return [pair for part, values in zip(names, lists) for pair in zip(part, values)]

    def code(self, arrays):
        return self.prop and CustomCode(self.prop, arrays)

    def functions(self):
        if self.prop is None:
            return ()
        made = self.code(self.place(self.values, "float32", mx.cpu())).op
        return [f for _, f in inspect.getmembers(type(made), inspect.isfunction)]


class FunctionSubject(Subject):
    """Subject that is a function of NDArrays."""

    def __init__(self, function: Callable, inputs: list, attributes: dict[str, Any]):
        self.function, self.attributes = function, attributes
        self.title = f"function {getattr(function, '__name__', type(function).__name__)}"
        self.values = dict(zip(_parameters(function, len(inputs)), inputs))

    def run(self, arrays):
        return self.function(*arrays.values(), **self.attributes)

    def functions(self):
        return [self.function] if inspect.isfunction(self.function) else []


class LayerSubject(Subject):
    """Subject that is a Block, owned by the subject, with its Parameters as inputs."""

    def __init__(self, block: Any, given: list | Values, outputs: tuple[str, ...] = ()):
        self.block = self.pickled = block
        self.title, self.outputs = f"layer {type(block).__name__}", outputs
        values = given if isinstance(given, dict) else self._by_name(given)
        self.parameters = block._collect_params_with_prefix()
        self.inputs = [n for n in values if n not in self.parameters]
        self._initialize([values[n] for n in self.inputs])
        data = {n: p.data().asnumpy() for n, p in self.parameters.items()}
        data = {n: v.astype("float64") if v.dtype.kind == "f" else v for n, v in data.items()}
        self.values = {n: values[n] for n in self.inputs} | data
        self.values |= {n: values[n] for n in data if n in values}
        self.states = tuple(n for n, p in self.parameters.items() if p.grad_req == "null")
        self.placed: tuple[str, Any] = ("", None)  # dtype and context of its parameters

    def _by_name(self, inputs: list[np.ndarray]) -> Values:
        hybrid, block = self._is_traced, self.block
        function = block.hybrid_forward if hybrid else block.forward
        names = _parameters(function, len(inputs) + hybrid, skip=block._reg_params)
        return dict(zip(names[hybrid:], inputs))

    @property
    def _is_traced(self) -> bool:
        """Return True if a graph is made of the block's `hybrid_forward`."""
        kind = type(self.block)
        hybrid = issubclass(kind, gluon.HybridBlock)
        return hybrid and inspect.unwrap(kind.forward) is gluon.HybridBlock.forward

    def functions(self):
        return [type(self.block).hybrid_forward] if self._is_traced else []

    def _initialize(self, inputs: list[np.ndarray]) -> None:
        """Initialize the parameters; a first call infers unknown shapes."""
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
        if self.placed != (dtype, context):
            self.block.cast(dtype)
            self.block.collect_params().reset_ctx(context)
            self.placed = (dtype, context)
        arrays = super().place({n: values[n] for n in self.inputs}, dtype, context, req)
        for name, parameter in self.parameters.items():
            asked = (req or {}).get(name, "null")
            if parameter.grad_req != asked:
                parameter.grad_req = asked
            parameter.set_data(nd.array(values[name], ctx=context, dtype=dtype))
            arrays[name] = parameter.data(context)
            if asked != "null":
                arrays[name].grad[:] = 0
        return arrays

    def run(self, arrays):
        return self.block(*(arrays[n] for n in self.inputs))

    def layer(self):
        if not isinstance(self.block, gluon.HybridBlock):
            raise Unchecked("a Block, not a HybridBlock, is never a graph")
        return self.twin()

    @cached_property
    def eager(self) -> LayerSubject:
        try:
            twin = self.twin()
        except ValueError:  # MXNet cannot copy a block that has a graph
            return self
        with warnings.catch_warnings():  # a warning that a Sequential could be a HybridSequential
            warnings.simplefilter("ignore")
            twin.block.hybridize(False)
        return twin

    def twin(self) -> LayerSubject:
        """Return the same subject with a copy of the block."""
        twin = copy.copy(self)
        twin.block = copy.deepcopy(self.block)
        twin.parameters = twin.block._collect_params_with_prefix()
        return twin


def _registered_name(prop_class: type) -> str | None:
    """Return the name of a registered CustomOpProp; None on MXNet, which does not tell."""
    name_of = getattr(mx.operator, "registered_name", None)
    return name_of and name_of(prop_class)


@cache
def _registered(prop_class: type) -> str:
    """Return the name of a registered CustomOpProp; register it under a new name if unknown."""
    name = _registered_name(prop_class)
    if name is None:
        name = f"{prop_class.__name__} {next(NUMBERS)}"
        mx.operator.register(name)(prop_class)
    return name


def find_prop(op_type: str) -> type | None:
    """Return the CustomOpProp of a name; None on MXNet, which keeps no classes by name."""
    known = getattr(mx.operator, "find", None)
    return known and known(op_type)


def _parameters(function: Callable, count: int, skip: Collection[str] = ()) -> list[str]:
    """Return names for the first `count` positional arguments of a function."""
    try:
        found = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):  # no Python code
        found = ()
    names = [p.name for p in found if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    names = [n for n in names if n not in skip][:count]
    return names + [f"x{i}" for i in range(len(names), count)]


def _expect_count(title: str, names: Sequence[str], inputs: list, least: int) -> None:
    most = len(names)
    if not least <= len(inputs) <= most:
        many = f"{most}" if least == most else f"{least} to {most}"
        raise WrongArguments(
            f"check {title}: {len(inputs)} inputs\n  expected {many}: {', '.join(names)}"
        )
