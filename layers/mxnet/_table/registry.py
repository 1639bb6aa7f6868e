"""The registry: an operator is a plain function on tensors, with MXNet's signature.

Parameters annotated `Tensor` are inputs, the others are attributes, in MXNet's order and with
MXNet's defaults. Keyword-only parameters named in `SUPPLIED` are filled in by the caller. What
is not the default hangs on the operator as a rule::

    @op("fc")                                   # other names
    def FullyConnected(data: Tensor, weight: Tensor, ..., num_hidden: int = REQUIRED): ...

    @FullyConnected.infer                       # shapes of inputs that are not yet known
    def _(data, num_hidden): return {"weight": (num_hidden, data[1])}

    @SoftmaxOutput.grad                         # a gradient that is not the derivative
    def _(dy, y, label): return y - label       # of the first input; a tuple for several
"""

from __future__ import annotations

import inspect
import sys
import warnings
from collections.abc import Callable, Sequence
from functools import cache, lru_cache
from types import SimpleNamespace
from typing import Any, NamedTuple, get_type_hints

import torch

from .. import _dtype, _np_shape
from .._differentiable import Call, apply
from .._tensor import transforms
from ..base import ArgumentError, UnsupportedError, quoted
from . import attributes

Tensor = torch.Tensor


class _Required:
    """The default of an attribute that must be given."""

    def __repr__(self) -> str:
        return "required"


REQUIRED: Any = _Required()
SUPPLIED = (
    "context",
    "device",
    "training",
)  # what the caller fills in: a Context, its device, bool

_registry: dict[str, Op] = {}


class Count(NamedTuple):
    """How files tell the number of inputs of an operator that takes any number of them.

    attribute : what has the number; input : the names of the inputs, which are numbered;
    group : so many inputs come for each that is counted.
    """

    attribute: str
    input: str
    group: int = 1


NUM_ARGS, NUM_ARRAYS = Count("num_args", "arg"), Count("num_arrays", "array_")
NUM_OUTPUTS = Count("num_outputs", "data_")


class Op:
    """One operator: a function on tensors, and the rules that the function cannot tell.

    Attributes
    ----------
    name : str
        MXNet's name for it; `aliases` are the others.
    run : callable
        The function, differentiable: with the `grad` rule where there is one.
    inputs : tuple of str
        Names of the inputs. `variadic` says that there is one, which takes any number.
    needed : tuple of str
        The inputs that have no default.
    attributes : dict of str to (parse, default)
        In MXNet's order; `defaults` has the defaults alone, `required` the names without one.
    positions : list of str
        What may follow the inputs by position: the attributes, and `out` where a row of ``mx.np``
        has it among them, as NumPy does. Its function is not given it.
    view : bool
        The result may share memory with an input; who shows it to a user must copy.
    states : tuple of str
        Inputs that the operator updates in place when training.
    same : bool
        Inputs and output have one shape, so that one of them tells the others; of several
        outputs, each has that of its input.
    traceable : bool
        PyTorch's compiler may look inside; else it runs as it is, between compiled parts.
    draws : bool
        It may draw random numbers, and give something else for the same inputs.
    names_input : bool
        A monitor is shown its only input by name; that of others is ``input0``, as in MXNet.
    inits : dict of str to str
        How inputs that become variables are filled: the attribute ``__init__`` of a Symbol.
    whole : tuple of str
        Inputs without whose whole shape nothing is told of the outputs, as in MXNet.
    cuts : bool
        Of an axis of the first input whose size is not known, nothing is told of the output's.
    ignores : tuple of str
        Arguments that MXNet takes for it, and leaves without effect.
    counted : Count, optional
        Where it is variadic, how files tell the number of inputs; None: by no attribute.

    Operators that are not of the table, users' and control flow, differ as classes do:

    any_size : bool
        Its rules and its function may be asked of sizes that are made up.
    own : bool
        Its rules and its function are a user's.
    of_numbers : callable, optional
        NumPy's function, which computes where no input of a row of ``mx.np`` is an array.
    low_precision : bool, optional
        Whether mixed precision casts the inputs of a user's to 16 bits, and not to float32.
    label : str
        The name that people know it by.
    explains : bool
        Its errors say by themselves where in the graph they are.
    """

    any_size = True
    own = explains = False
    module_to_record: dict[str, str] = {}  # of a user's, where a file has to tell it
    is_current = True
    low_precision: bool | None = None
    of_numbers: Callable | None = None

    # The rules; where there is none, the function tells, or MXNet's default holds.
    shape_rule: Callable | None = None
    back_rule: Callable | None = None
    types_rule: Callable | None = None
    inputs_rule: Callable | None = None
    outputs_rule: Callable | None = None
    sized_rule: Callable | None = None
    storage_rule: Callable | None = None
    row_gradients_rule: Callable | None = None

    def __init__(
        self,
        function: Callable,
        name: str,
        aliases=(),
        *,
        view=False,
        states=(),
        same=False,
        traceable=True,
        draws=False,
        names_input=False,
        inits=None,
        ignores=(),
        whole=(),
        cuts=False,
        counted=NUM_ARGS,
    ):
        self.function = self.run = function
        self.name, self.label, self.aliases = name, name, aliases
        self.view, self.states, self.same = view, states, same
        self.traceable, self.draws, self.names_input = traceable, draws, names_input
        self.inits: dict[str, str] = inits or {}
        self.ignores, self.whole, self.counted = ignores, whole, counted
        self.cuts = cuts
        self.infer_rules: list[Callable] = []
        self.type_rules: list[Callable] = []
        self.__doc__ = function.__doc__
        self.signature = inspect.signature(function)
        parameters = self.signature.parameters.values()
        inputs = [p for p in parameters if "Tensor" in str(p.annotation)]
        after = [p.name for p in parameters if p not in inputs and p.name not in SUPPLIED]
        rest = [p for p in parameters if p.name in after and p.name != "out"]
        self.inputs = tuple(p.name for p in inputs)
        self.variadic = any(p.kind is p.VAR_POSITIONAL for p in inputs)
        self.needed = tuple(p.name for p in inputs if p.default is p.empty and not self.variadic)
        self.required = tuple(p.name for p in rest if p.default is REQUIRED)
        self.attribute_names = [p.name for p in rest]
        self.positions = after
        self.defaults = {p.name: p.default for p in rest}
        self.parsers = {p.name: _parser(p.annotation, function.__module__) for p in rest}
        self.supplied = tuple(p.name for p in parameters if p.name in SUPPLIED)

    def shown_outputs(self, attributes: dict) -> int | Sequence[str]:
        """How many outputs a user sees, or the names of those."""
        return (
            1 if self.outputs_rule is None else ask(self.outputs_rule, self.defaults | attributes)
        )

    def count_outputs(self, attributes: dict) -> int:
        """How many outputs a user sees."""
        shown = self.shown_outputs(attributes)
        return shown if isinstance(shown, int) else len(shown)

    def places(self, attributes: dict, count: int) -> list[str]:
        """Names of the inputs in the order of their positions in a call."""
        names = self.input_names(attributes, count)
        return names if self.variadic or len(names) == count else list(self.inputs)

    def input_names(self, attributes: dict, count: int = 0) -> list[str]:
        """Names of the inputs that these attributes leave; of `count` where any number may come."""
        ruled = self.inputs_rule and ask(self.inputs_rule, self.defaults | attributes)
        if ruled:
            return list(ruled)
        if self.variadic:
            name = "data" if self.counted is None else self.counted.input
            return [f"{name}{i}" for i in range(count)]
        return list(self.inputs if count > len(self.needed) else self.needed)

    def check_count(self, given: dict[str, Any], count: int) -> None:
        """Compare the `count` of inputs with the number that an attribute of a call or file gives.

        Raises
        ------
        ArgumentError
            The attribute, or its default, is another number, or is no number.
        """
        if not self.variadic or self.counted is None:
            return
        attribute, _, group = self.counted
        told = given.get(attribute, self.defaults.get(attribute))
        if told is None or (self.inputs_rule and ask(self.inputs_rule, self.defaults | given)):
            return
        try:
            number = attributes.parser(int)(told)
        except (ValueError, TypeError) as error:
            raise ArgumentError(
                f"{self.name}: {attribute} is {quoted(told)}\n  expected {error}"
            ) from None
        if number * group != count:
            expected = f"{group} arrays for each" if group > 1 else f"{attribute}={count}"
            raise ArgumentError(
                f"{self.name}: {attribute} is {number} for {count} arrays\n  expected {expected}"
            )

    def output_names(self, attributes: dict) -> list[str]:
        """Names of the outputs that a user sees."""
        shown = self.shown_outputs(attributes)
        if not isinstance(shown, int):
            return list(shown)
        return ["output"] if shown == 1 else [f"output{i}" for i in range(shown)]

    def output_name(self, index: int, attributes: dict) -> str:
        """The name of one of them; for an operator of very many it is not found among all."""
        shown = self.shown_outputs(attributes)
        if not isinstance(shown, int):
            return shown[index]
        return "output" if shown == 1 else f"output{index}"

    def state_names(self, attributes: dict) -> tuple[str, ...]:
        """Names of the inputs that are updated in place."""
        return self.states

    def infer_shapes(self, shapes: dict, attributes: dict) -> dict[str, tuple[int, ...]]:
        """Shapes of inputs not yet known, by name, from those that are."""
        known = {n: s for n, s in shapes.items() if _np_shape.is_known(s)}
        known |= self.defaults | attributes
        told = {}
        for rule in self.infer_rules:
            if known.keys() >= set(_named(rule)):
                told |= ask(rule, known)
        return told

    def one_type(self, attributes: dict) -> bool:
        """Whether inputs and outputs have one dtype, so that one of them tells the others."""
        free = not self.inputs or self.types_rule or self.type_rules
        return not free and (self.defaults | attributes).get("dtype") is None

    def input_types(self, dtypes: dict, attributes: dict) -> dict[str, torch.dtype]:
        """Dtypes of inputs, by name, from those that are known."""
        known = self.defaults | attributes | dtypes
        rules = [rule for rule in self.type_rules if known.keys() >= set(_named(rule))]
        return {name: dtype for rule in rules for name, dtype in ask(rule, known).items()}

    def output_types(self, dtypes: dict, attributes: dict) -> list[torch.dtype]:
        """Dtypes of the outputs: by rule, else the `dtype` attribute, else the first input's."""
        known = self.defaults | attributes
        told = known.get("dtype")
        if self.types_rule:
            known |= dtypes | {"dtypes": list(dtypes.values())}
            told = ask(self.types_rule, known) if known.keys() >= {*_named(self.types_rule)} else ()
        elif told is None:
            told = next(iter(dtypes.values()), ()) if self.inputs else torch.float32
        count = len(self.output_names(attributes))
        return list(told) if isinstance(told, tuple) else [told] * count

    def output_shapes(self, shapes: list[tuple], attributes: dict) -> list[tuple[int, ...]]:
        """Shapes of the outputs: by rule, else the function's on PyTorch's meta device.

        That device has no data; its first call in a process imports modules for up to two seconds.
        """
        told = self._shapes_by_rule(shapes, attributes) if self.shape_rule else None
        if told:
            return told
        key = tuple(shapes), tuple(attributes.items()), _np_shape.is_on()
        return list(_shapes_without_data(self, *key))

    def _shapes_by_rule(
        self, shapes: list[tuple], attributes: dict
    ) -> list[tuple[int, ...]] | None:
        """Shapes of the outputs by rule; None where the function is to tell them, or an error."""
        inputs = dict(zip(self.input_names(attributes, len(shapes)), shapes))
        expected = self.infer_shapes(inputs, attributes)
        if any(0 in s for s in shapes) or any(inputs.get(n) != s for n, s in expected.items()):
            return None
        told = ask(self.shape_rule, self.defaults | attributes | inputs | {"shapes": shapes})
        return told if told is None or isinstance(told, list) else [tuple(told)]

    def owns(self, attribute: str) -> bool:
        """Whether an attribute of a node is the operator's, and not attached by a user."""
        return attribute in self.parsers

    def drops(self, name: str) -> bool:
        """Whether an argument has no effect, as all have on an operator without attributes."""
        if name in self.ignores:
            return True
        if self.parsers:
            return False
        warnings.warn(f"{self.name}: {name!r} has no effect", stacklevel=4)
        return True

    def sized_function(self, attributes: dict) -> Callable | None:
        """The function for attributes that leave the shape to the graph around the node."""
        return self.sized_rule and ask(self.sized_rule, self.defaults | attributes)

    def stores_sparse(self, attributes: dict) -> bool:
        """Whether it makes a sparse array of dense inputs."""
        rule = self.storage_rule
        return rule is not None and ask(rule, self.defaults | attributes) != "default"

    @property
    def storage_attributes(self) -> tuple[str, ...]:
        """The attributes by which it makes a sparse array of dense inputs."""
        return () if self.storage_rule is None else _named(self.storage_rule)

    def row_gradients(self, stypes: dict[str, str], attributes: dict) -> Sequence[str]:
        """The inputs whose gradient is row_sparse, from the storage types of all by name."""
        rule = self.row_gradients_rule
        return () if rule is None else ask(rule, self.defaults | attributes | stypes)

    def read(self, given: dict[str, Any]) -> dict[str, Any]:
        """Return the values of the attributes of a node, from those that a call or a file gave."""
        return {name: self.parse(name, value) for name, value in given.items()}

    def as_texts(self, given: dict[str, Any], attributes: dict[str, Any]) -> dict[str, str]:
        """Return the attributes of a node as texts: those that were given."""
        return {name: _as_text(value, attributes.get(name)) for name, value in given.items()}

    def arguments_of_run(self, attributes: dict[str, Any]) -> dict[str, Any]:
        """Return the attributes of a node as keyword arguments of `run`."""
        return attributes

    def call_sparse(self, arrays: list, attributes: dict, context: Any) -> Any:
        """Return the outputs for arrays of which some are sparse; None to have it done by rules."""
        return None

    def parse(self, name: str, value: Any) -> Any:
        """The value of an attribute, from what a caller or a file gave."""
        try:
            parse = self.parsers[name]
        except KeyError:
            known = ", ".join((*self.inputs, *self.parsers))
            raise ArgumentError(
                f"{self.name}: unknown argument {quoted(name)} (given {quoted(value)})\n"
                f"  expected {known}"
            ) from None
        try:
            return parse(value)
        except (ValueError, TypeError) as error:
            raise ArgumentError(
                f"{self.name}: {name} is {quoted(value)}\n  expected {error}"
            ) from None

    def parse_at(self, index: int, value: Any) -> Any:
        """The same for the attribute at a position."""
        if index >= len(self.positions):
            raise ArgumentError(
                f"{self.name}: {index + 1 + len(self.inputs)} arguments are too many, "
                f"the last is {value!r}\n  expected {self.form}"
            )
        return self.parse(self.positions[index], value)

    def described_arguments(self) -> dict[str, str]:
        """The types of all arguments by name, as MXNet describes them."""
        kind = "NDArray-or-Symbol[]" if self.variadic else "NDArray-or-Symbol"
        hints = get_type_hints(self.function, vars(sys.modules[self.function.__module__]))
        told = dict.fromkeys(self.inputs, kind)
        for name, default in self.defaults.items():
            text = [*default] if isinstance(default, tuple) else default
            text = None if default is REQUIRED else str(text).removeprefix("torch.")
            told[name] = attributes.described(hints[name], text)
        return told

    @property
    def form(self) -> str:
        """How it is called, for a message: ``sum(data, axis=None, keepdims=False)``."""
        shown = []
        for p in self.signature.parameters.values():
            star = {p.VAR_POSITIONAL: "*", p.VAR_KEYWORD: "**"}.get(p.kind, "")
            default = "" if p.default is p.empty else f"={p.default!r}".replace("=torch.", "=")
            shown += [] if p.name in (*SUPPLIED, "out") else [star + p.name + default]
        return f"{self.name}({', '.join(shown)})"

    def split(self, args: tuple, kwargs: dict) -> tuple[list, dict]:
        """All inputs, in order, and all attributes of a call."""
        bound = self.signature.bind(*args, **kwargs)
        bound.apply_defaults()
        given = bound.arguments
        inputs = [given.pop(name) for name in self.inputs]
        return list(inputs[0]) if self.variadic else inputs, given

    # The rules. Each is a decorator; a rule names what it needs of the inputs and attributes.

    def infer(self, rule: Callable) -> Callable:
        """rule(shapes of known inputs, attributes) -> {input: shape} for the others."""
        self.infer_rules.append(rule)
        return rule

    def shaped(self, rule: Callable) -> Callable:
        """rule(shapes of inputs, attributes) -> that of the output, or a list of them; None where
        only the function tells. The shapes are those that `infer` asks for; `shapes` are all."""
        self.shape_rule = rule
        return rule

    def sized(self, rule: Callable) -> Callable:
        """rule(attributes) -> None, or the function that takes the place of the operator's, with
        the shape of the output that the graph tells as ``shape``."""
        self.sized_rule = rule
        return rule

    def back(self, rule: Callable) -> Callable:
        """rule(shapes of all inputs, None or 0 where unknown; that of the output, maybe ()) -> what
        can be told of the inputs."""
        self.back_rule = rule
        return rule

    def types(self, rule: Callable) -> Callable:
        """rule(dtypes of inputs, attributes) -> that of all outputs, or a tuple of them; with it
        the inputs need not have one dtype. `dtypes` are those of all inputs that are known."""
        self.types_rule = rule
        return rule

    def typed(self, rule: Callable) -> Callable:
        """rule(dtypes of known inputs, attributes) -> {input: dtype} for others."""
        self.type_rules.append(rule)
        return rule

    def takes(self, rule: Callable) -> Callable:
        """rule(attributes) -> names of the inputs that these attributes leave; None: any number."""
        self.inputs_rule = rule
        return rule

    def gives(self, rule: Callable) -> Callable:
        """rule(attributes) -> how many outputs of the function the user sees, or their names."""
        self.outputs_rule = rule
        return rule

    def stored(self, rule: Callable) -> Callable:
        """rule(attributes) -> the storage type of the output, where all inputs are dense."""
        self.storage_rule = rule
        return rule

    def sends_rows(self, rule: Callable) -> Callable:
        """rule(storage types of inputs, attributes) -> names of the inputs whose gradient is
        row_sparse."""
        self.row_gradients_rule = rule
        return rule

    def grad(self, rule: Callable) -> Callable:
        """rule(dy, y, inputs, attributes) -> gradient of the first input, or a tuple."""
        self.run = _constant(self) if rule is zeros else GradientRule(self, rule)
        return rule

    def __reduce__(self):
        return get, (self.name,)

    def __repr__(self) -> str:
        return f"<operator {self.name}{self.signature}>"


@lru_cache(maxsize=4096)  # graphs of cells, step after step, ask the same; a run takes up to 1 ms
def _shapes_without_data(
    operator: Op,
    shapes: tuple[tuple[int, ...], ...],
    attributes: tuple[tuple[str, Any], ...],
    np_shape: bool,
) -> tuple[tuple[int, ...], ...]:
    supplied = {"training": False, "device": torch.device("meta"), "context": None}
    with torch.no_grad():
        y = operator.function(
            *[torch.empty(shape, device="meta") for shape in shapes],
            **dict(attributes),
            **{name: supplied[name] for name in operator.supplied},
        )
    return tuple([tuple(t.shape) for t in ([y] if isinstance(y, Tensor) else y)])


def _as_text(value: Any, parsed: Any) -> str:
    """Return an attribute as text; a dtype by its name, since it may be one of NumPy's classes."""
    if isinstance(parsed, torch.dtype) and not isinstance(value, str):
        return _dtype.name(parsed)
    return str(value)


@cache
def _parser(annotation: Any, module: str) -> Callable[[Any], Any]:
    """The parser of an attribute, from its annotation in a module; a few serve all operators."""
    holder = SimpleNamespace(__annotations__={"attribute": annotation})
    return attributes.parser(get_type_hints(holder, vars(sys.modules[module]))["attribute"])


@cache
def _named(rule: Callable) -> tuple[str, ...]:
    """What a rule asks for; `inspect.signature` costs as much as several operators."""
    return tuple(inspect.signature(rule).parameters)


def ask(rule: Callable, known: dict[str, Any]) -> Any:
    """Call a rule with what it names of `known`."""
    return rule(**{name: known[name] for name in _named(rule)})


class GradientRule:
    """A rule of `grad`, with the names of what it takes.

    Attributes
    ----------
    saved : list of str
        The inputs that it takes, and ``y`` where it takes the output.
    attributes : list of str
    """

    def __init__(self, operator: Op, function: Callable):
        names = _named(function)
        self.operator, self.function = operator, function
        self.places = [i for i, n in enumerate(operator.inputs) if n in names]
        self.saved = [operator.inputs[i] for i in self.places] + ["y"] * ("y" in names)
        self.attributes = [n for n in names if n not in self.saved and n != "dy"]

    def __call__(self, *args, **kwargs) -> Tensor:
        operator = self.operator
        if not torch.is_grad_enabled():
            return operator.function(*args, **kwargs)
        if len(args) != len(operator.inputs):
            args, kwargs = operator.split(args, kwargs)
        return apply(RuleCall(self, operator.defaults | kwargs), args)[0]


class RuleCall(Call):
    """A call of an operator of the table whose gradient is that of a rule."""

    def __init__(self, rule: GradientRule, arguments: dict[str, Any]):
        self.rule, self.arguments, self.what = rule, arguments, rule.operator.name

    def forward(self, tensors, specs):
        return (self.rule.operator.function(*tensors, **self.arguments),)

    def saved_for_backward(self, inputs, outputs, asked):
        rule = self.rule
        return [*[inputs[i] for i in rule.places], *outputs * ("y" in rule.saved)]

    def backward(self, saved, dys, specs, asked):
        rule, arguments = self.rule, self.arguments
        known = dict(zip(rule.saved, saved), dy=dys[0])
        known |= {name: arguments[name] for name in rule.attributes}
        found = ask(rule.function, known)
        found = found if isinstance(found, tuple) else (found,)
        return *found, *[None] * (len(specs) - len(found))


class Constant(torch.autograd.Function):
    """make(), computed from the tensors by what is constant almost everywhere.

    Nothing is sent back, not even zeros: an infinite derivative on their way would make them NaN,
    and they would cost as much as a gradient. The variables at the end see that none came.
    """

    @staticmethod
    def forward(ctx, make, *tensors):
        ctx.set_materialize_grads(False)
        return make()

    @staticmethod
    def backward(ctx, *_):
        return (None,) * len(ctx.needs_input_grad)


def _constant(operator: Op) -> Callable:
    def run(*args, **kwargs):
        if not _links_constants():
            return operator.function(*args, **kwargs)
        if len(args) != len(operator.inputs):
            args, kwargs = operator.split(args, kwargs)
        return Constant.apply(lambda: operator.function(*args, **kwargs), *args)

    return run


def constant(y: Tensor, *tensors: Tensor) -> Tensor:
    """y, computed from the tensors by what is constant almost everywhere."""
    return Constant.apply(lambda: y, *tensors) if _links_constants() else y


def _links_constants() -> bool:
    """True if a constant is to be linked with its variables.

    The transforms of torch.func give zeros for what is not, and have tensors of several levels.
    """
    return torch.is_grad_enabled() and (torch.compiler.is_compiling() or not transforms())


def op(*aliases, **rules) -> Any:
    """Register a function as the operator of its name: ``@op``, ``@op("alias", view=True)``."""
    if aliases and callable(aliases[0]):
        return _register(aliases[0])
    return lambda function: _register(function, aliases, **rules)


def _register(function: Callable, aliases=(), **rules) -> Op:
    return add(Op(function, function.__name__, aliases, **rules))


def add(operator: Op) -> Op:
    """Register an operator under its names."""
    names = (operator.name, *operator.aliases)
    for name in names:
        if name in _registry:
            raise ValueError(f"operator {name!r} is registered twice")
    _registry.update(dict.fromkeys(names, operator))
    return operator


def rename(operator: Op, *aliases: str) -> None:
    """Register a registered operator under more names."""
    operator.aliases = (*operator.aliases, *aliases)
    _registry.update(dict.fromkeys(aliases, operator))


def family(
    template: Callable, hole: Callable, name: str, doc: str, *aliases, kind: type[Op] = Op, **rules
) -> Op:
    """Register one row of a family: `template(hole)` is the function, named and documented."""
    row = template(hole)
    row.__name__ = row.__qualname__ = name
    row.__doc__ = doc
    return add(kind(row, name, aliases, **rules))


UFUNC_OPTIONS = {
    "where": True,
    "casting": "same_kind",
    "order": "K",
    "dtype": None,
    "subok": True,
}
CASTINGS = ("no", "equiv", "safe", "same_kind", "unsafe")


def check_ufunc_option(name: str, key: str, value: Any) -> None:
    """Refuse an option of NumPy's ufuncs that is not its default.

    Raises
    ------
    NotImplementedError
        It is another value.
    TypeError
        It is no option of ufuncs, or no value of it.
    """
    if key not in UFUNC_OPTIONS:
        raise TypeError(f"{name}: {key!r} is no option\n  expected {', '.join(UFUNC_OPTIONS)}")
    if value != UFUNC_OPTIONS[key]:
        if key == "dtype":
            _dtype.to_torch(value)
        if key == "casting" and value not in CASTINGS:
            raise TypeError(f"{name}: casting is {value!r}\n  expected one of {CASTINGS}")
        raise NotImplementedError(f"{name}: {key}={value!r}\n  expected {UFUNC_OPTIONS[key]!r}")


class Ufunc(Op):
    """A function of NumPy of one array, which takes the options of ufuncs: their defaults alone."""

    def parse(self, name: str, value: Any) -> Any:
        if name in self.parsers:
            return super().parse(name, value)
        check_ufunc_option(self.name, name, value)

    def drops(self, name: str) -> bool:
        return False


class Absent(Op):
    """An operator of MXNet that does not exist here, and why; a call says so."""

    def __init__(self, name: str, reason: str):
        def missing(*data: Tensor) -> Tensor:
            raise UnsupportedError(f"{name}: not supported\n  {reason}")

        missing.__doc__ = f"Not supported: {reason}"
        super().__init__(missing, name)

    def drops(self, name: str) -> bool:
        return False

    def parse(self, name: str, value: Any) -> Any:
        return self.run()


def absent(name: str, reason: str) -> Op:
    """Register an operator of MXNet that does not exist here, and why."""
    return add(Absent(name, reason))


def zeros(*inputs: Tensor) -> tuple[Tensor, ...]:
    """The gradient rule of operators that are constant almost everywhere: zeros for each input."""
    return tuple(torch.zeros_like(x) for x in inputs)


def get(name: str) -> Op:
    """The operator of this name."""
    return _registry[name]


def names() -> list[str]:
    """All names, in the order of registration."""
    return list(_registry)
