"""Operator: a forward, and one gradient for each input.

The one definition that every way of writing an operator ends in::

    @operator
    class dense:
        def forward(x, w, b): return nd.FullyConnected(x, w, b, num_hidden=w.shape[0])
        def dx(dy, w): return nd.dot(dy, w)
        def dw(dy, x): return nd.dot(dy, x, transpose_a=True)
        def db(dy): return nd.sum(dy, axis=0)
        def shapes(x, w): return {"w": (w[0], x[1]), "b": (w[0],), "y": (x[0], w[0])}

A gradient names what it needs: inputs, outputs (``y``), their gradients (``dy``), attributes; or
all of them, as ``**known``. What none names is not kept for backward; an input without a gradient
is not differentiable; a gradient that nobody asks for is not computed; gradients that name no
``dy`` are those of a loss.
"""

from __future__ import annotations

import ast
import inspect
from collections.abc import Callable, Iterable, Sequence
from functools import cached_property
from operator import index
from typing import Any, overload

from ... import engine

__all__ = ["Operator", "operator"]


class Operator:
    """A differentiable function of arrays, called with NDArrays or Symbols.

    `operator` makes one of a class; the other ways of writing an operator say the same here.

    Parameters
    ----------
    name : str
        The `op_type` it is registered under.
    forward : callable
        ``forward(*inputs, **attributes)`` gives the output, or a tuple of them, as NDArrays.
    inputs, outputs, states : sequence of str
        `states` are inputs that `forward` updates in place and that have no gradient.
    optional : sequence of str
        Inputs that may be left out; they are None then.
    attributes : dict of str to value
        With their defaults.
    gradients : dict of str to callable
        By input: what gives its gradient.
    backward : callable, optional
        In the place of `gradients`: gives all, as a dict by input.
    shapes : callable, optional
        ``shapes(shapes of inputs, attributes) -> {name: shape}``, of inputs not yet known and of
        outputs. An unknown shape is None, an unknown size 0.
    types : callable, optional
        ``types(dtypes of inputs, attributes) -> {name: dtype}``, of outputs that have another dtype
        than the first input. Dtypes are text, such as 'float32'.
    loss : callable, optional
        What the gradients are those of, if not of the outputs' sum: what the checker compares with.
    pure : bool
        Whether all that `forward` and the gradients give is a function of inputs and attributes. If
        not, their Python runs in each call: it is left out of no recorded graph, and not compiled.
    opaque : str
        Why a compiler cannot look into its code, if so.

    Attributes
    ----------
    needs : dict of str to tuple of str
        By input, what its gradient is given by name.
    prop : type
        What is registered for it, in MXNet's form, once it is.
    """

    prop: type

    def __init__(
        self,
        name: str,
        forward: Callable,
        *,
        inputs: Sequence[str],
        outputs: Sequence[str] = ("y",),
        states: Sequence[str] = (),
        optional: Sequence[str] = (),
        attributes: dict[str, Any] | None = None,
        gradients: dict[str, Callable] | None = None,
        backward: Callable | None = None,
        shapes: Callable | None = None,
        types: Callable | None = None,
        loss: Callable | None = None,
        pure: bool = True,
        opaque: str = "",
    ):
        self.name, self.forward = name, forward
        self.__name__ = self.__qualname__ = name.rpartition(".")[2]
        self.inputs, self.outputs, self.states = tuple(inputs), tuple(outputs), tuple(states)
        self.optional, self.attributes = tuple(optional), attributes or {}
        self.gradients, self.backward = gradients or {}, backward
        self.shapes, self.types, self.loss = shapes, types, loss
        self.pure, self.opaque = expect_bool(f"operator {name!r}", "pure", pure), opaque
        rules = self.gradients
        if backward is not None:
            rules = {n: backward for n in self.inputs if n not in self.states}
        self.needs = {n: self._needed(rule) for n, rule in rules.items()}
        self._validate()

    @property
    def placed(self) -> tuple[str, ...]:
        """The inputs as `Custom` takes them: the states last."""
        return (*(n for n in self.inputs if n not in self.states), *self.states)

    @property
    def known(self) -> tuple[str, ...]:
        """What there is for gradients to need."""
        tops = [f"d{n}" for n in self.outputs]
        return (*self.inputs, *self.attributes, *self.outputs, *tops)

    @property
    def codes(self) -> list[Callable]:
        """What its author wrote, of what runs in a call."""
        return [f for f in (self.forward, self.backward, *self.gradients.values()) if f]

    def _needed(self, rule: Callable) -> tuple[str, ...]:
        names = _named(rule)
        return self.known if names is None else names

    def _validate(self) -> None:
        if stray := set(self.states) - set(self.inputs):
            raise TypeError(
                f"operator {self.name!r}: the state {stray.pop()!r} is no input of forward\n"
                f"  expected of {', '.join(self.inputs)}"
            )
        if clash := set(self.inputs) & set(self.outputs):
            raise TypeError(f"operator {self.name!r}: {clash.pop()!r} is an input and an output")
        for what, names in (("inputs", self.inputs), ("outputs", self.outputs)):
            if len({*names}) < len(names):
                raise TypeError(
                    f"operator {self.name!r}: {what} are {', '.join(names)}\n"
                    "  expected different names"
                )
        for place, names in self.needs.items():
            if unknown := [n for n in names if n not in self.known]:
                raise TypeError(
                    f"operator {self.name!r}: the gradient of {place} needs {unknown[0]!r}\n"
                    f"  expected of {', '.join(sorted(self.known))}"
                )

    @cached_property
    def is_loss(self) -> bool:
        """Whether no gradient needs the gradient of an output."""
        tops = {f"d{n}" for n in self.outputs}
        return not any(tops & set(names) for names in self.needs.values())

    @cached_property
    def _adapter(self) -> Callable:
        return engine.adapter()(self)

    def __call__(self, *args, **kwargs):
        """Run the operator on arrays, or put it into a graph of Symbols.

        Inputs by position or by name; an optional one may be left out. Attributes by name.
        """
        return self._adapter(*self.bind(args, kwargs))

    def bind(self, args: tuple, kwargs: dict) -> tuple[list, dict]:
        """The inputs in their order, None for one left out, and the attributes that were given."""
        if not kwargs and not self.optional and len(args) == len(self.inputs):
            return list(args), {}
        values = dict(zip(self.inputs, args))
        attributes = {}
        for name, value in kwargs.items():
            if name in self.attributes:
                attributes[name] = self.parse(name, value)
            elif name in self.inputs and name not in values:
                values[name] = value
            else:
                raise TypeError(
                    f"operator {self.name!r}: unexpected argument {name!r}\n  {self._expected}"
                )
        if len(args) > len(self.inputs):
            raise TypeError(f"operator {self.name!r}: {len(args)} inputs\n  {self._expected}")
        arrays = [values.get(n) for n in self.inputs]
        for name, value in zip(self.inputs, arrays):
            if value is None and name not in self.optional:
                raise TypeError(f"operator {self.name!r}: {name} is missing\n  {self._expected}")
        return arrays, attributes

    def bind_named(self, args: tuple, kwargs: dict) -> tuple[list, dict]:
        """`bind` for the arguments of ``Custom(..., op_type=name)``."""
        kwargs = {k: v for k, v in kwargs.items() if k not in ("ctx", "name")}
        left_out = {n for n in self.optional if str(kwargs.pop(f"no_{n}", "False")) == "True"}
        places = [n for n in self.placed if n not in left_out]
        if len(args) > len(places):
            raise TypeError(f"operator {self.name!r}: {len(args)} inputs\n  {self._expected}")
        given = dict(zip(places, args))
        if twice := given.keys() & kwargs.keys():
            raise TypeError(f"operator {self.name!r}: {twice.pop()} is given twice")
        return self.bind((), given | kwargs)

    def expect(self, inputs: tuple) -> None:
        """Refuse arrays of the other engine."""
        engine.expect(f"operator {self.name!r}", inputs)

    @property
    def _expected(self) -> str:
        return f"expected {self.__name__}({self._parameters})"

    @property
    def _parameters(self) -> str:
        arrays = [f"{n}=None" if n in self.optional else n for n in self.inputs]
        attributes = [f"{n}={v!r}" for n, v in self.attributes.items()]
        return ", ".join([*arrays, *(["*"] if attributes else []), *attributes])

    def parse(self, name: str, value: Any) -> Any:
        """An attribute's value in the type of its default; text, as MXNet passes it, is read."""
        kind = type(self.attributes[name])
        if self.attributes[name] is None and value in (None, "None"):
            return None
        try:
            return READERS.get(kind, _literal)(value)
        except (ValueError, TypeError, KeyError, SyntaxError, MemoryError, RecursionError):
            raise TypeError(
                f"operator {self.name!r}: {name} is {value!r}\n  expected {kind.__name__}"
            ) from None

    def gradient(self, name: str, known: dict[str, Any]) -> Any:
        """The gradient of one input, from what it names of `known`."""
        return self.gradients[name](**{n: known[n] for n in self.needs[name]})

    def ask(self, rule: Callable, known: dict[str, Any]) -> Any:
        """Call `shapes` or `backward` with what it names of `known`."""
        if rule not in self._asked:
            self._asked[rule] = _named(rule)
        names = self._asked[rule]
        given = known if names is None else {n: known[n] for n in names}
        try:
            return rule(**given)
        except Exception as error:
            unknown = () if rule is self.backward else self.inputs
            shown = [
                f"{n} {'unknown' if v is None else v}"
                for n, v in given.items()
                if isinstance(v, (tuple, str)) or (v is None and n in unknown)
            ]
            noted(error, f"  in {rule.__name__} of operator {self.name!r} ({', '.join(shown)})")
            raise

    def ask_shapes(self, known: dict[str, Any]) -> dict[str, tuple[int, ...]]:
        """What `shapes` tells, when it is shapes of inputs and outputs."""
        rule = self.shapes
        if rule is None:
            return {}
        told = self.ask(rule, known)
        names = (*self.inputs, *self.outputs)
        if not isinstance(told, dict) or told.keys() - set(names):
            raise TypeError(
                f"operator {self.name!r}: `{rule.__name__}` gave {told!r}\n"
                f"  expected a dict of shapes by name, of {', '.join(names)}"
            )
        return told

    @cached_property
    def _asked(self) -> dict[Callable, tuple[str, ...] | None]:
        """What rules ask for: `inspect.signature` costs as much as several operators."""
        return {}

    def gradient_form(self, name: str) -> str:
        """How the gradient of an input is written, for the message that there is none."""
        return f"def d{name}(...)"

    def __repr__(self) -> str:
        return f"<operator {self.name}({self._parameters})>"

    def __reduce__(self) -> str:
        return self.__qualname__  # pickled as a function is: by its place


def name_of(definition: Any) -> str:
    """What a class or function is registered as."""
    module = getattr(definition, "__module__", None) or "__main__"
    return definition.__name__ if module == "__main__" else f"{module}.{definition.__name__}"


def noted(error: BaseException, text: str) -> None:
    """Add a line to an exception without changing what it is."""
    if hasattr(error, "add_note"):
        error.add_note(text)
    elif error.args and isinstance(error.args[0], str):  # Python 3.10
        error.args = (f"{error.args[0]}\n{text}", *error.args[1:])


def expect_bool(who: str, name: str, value: Any) -> bool:
    """Return an argument that has to be True or False."""
    if not isinstance(value, bool):
        raise TypeError(
            f"{who}: {name} is {value!r} ({type(value).__name__})\n  expected True or False"
        )
    return value


def free(names: Sequence[str], taken: Iterable[str]) -> tuple[str, ...]:
    """Names for outputs, where neither they nor those of their gradients are taken."""
    while {*names, *(f"d{n}" for n in names)} & {*taken}:
        names = [f"{n}_" for n in names]
    return tuple(names)


def _named(rule: Callable) -> tuple[str, ...] | None:
    """What a rule asks for; all there is, as ``**known`` does, is None."""
    parameters = inspect.signature(rule).parameters
    everything = any(p.kind is p.VAR_KEYWORD for p in parameters.values())
    return None if everything else tuple(parameters)


def _typed(parameter: inspect.Parameter) -> Any:
    """The default of an attribute, whose type all values get: 1.0 in ``a: float = 1``."""
    default = parameter.default
    floating = parameter.annotation in (float, "float") and type(default) is int
    return float(default) if floating else default


def _literal(value: Any) -> Any:
    return ast.literal_eval(value) if isinstance(value, str) else value


def _bool(value: Any) -> bool:
    return {"true": True, "1": True, "false": False, "0": False}[str(value).lower()]


def _int(value: Any) -> int:
    return int(value) if isinstance(value, str) else index(value)


def _tuple(value: Any) -> tuple:
    return tuple(_literal(value))


READERS: dict[type, Callable] = {bool: _bool, int: _int, float: float, str: str, tuple: _tuple}


@overload
def operator(
    definition: type, *, name: str | None = None, pure: bool | None = None
) -> Operator: ...
@overload
def operator(
    *, name: str | None = None, pure: bool | None = None
) -> Callable[[type], Operator]: ...
def operator(
    definition: type | None = None, *, name: str | None = None, pure: bool | None = None
) -> Any:
    """Make an `Operator` of a class with `forward` and gradients; decorator.

    Parameters
    ----------
    name : str, optional
        What it is registered as; by default the class's name after its module's, which is left out
        in a program's own file.
    pure : bool, optional
        Whether it is a function of its inputs and attributes; by default as the class's ``pure``
        says, and else True. False keeps its Python running in each call.

    Raises
    ------
    TypeError
        The class does not describe an operator; the message says what is wrong with it.
    """
    if definition is None:
        return lambda cls: operator(cls, name=name, pure=pure)
    made = _read(definition, name or name_of(definition), pure)
    from .custom import register  # which asks for the engine

    register(made)
    return made


def _read(definition: type, name: str, pure: bool | None) -> Operator:
    """The operator that a class describes."""
    if not isinstance(definition, type) or not hasattr(definition, "forward"):
        raise TypeError(f"operator {name!r}: {definition!r}\n  expected a class with forward")
    names = ("backward", "shapes", "types", "loss")
    parts: dict[str, Any] = {n: getattr(definition, n, None) for n in names}
    signature = inspect.signature(definition.forward)
    parameters = signature.parameters.values()
    arrays = [p for p in parameters if p.kind is not p.KEYWORD_ONLY]
    inputs = [p.name for p in arrays]
    attributes = {p.name: _typed(p) for p in parameters if p.kind is p.KEYWORD_ONLY}
    gradients = {n: getattr(definition, f"d{n}") for n in inputs if hasattr(definition, f"d{n}")}
    problems = {
        "forward has the input 'self', and is called without": "self" in inputs,
        "there are a backward and single gradients": parts["backward"] and gradients,
        "a keyword of forward has no default": inspect.Parameter.empty in attributes.values(),
        "an input has a default that is not None; attributes stand after *": any(
            p.default is not None and p.default is not p.empty for p in arrays
        ),
    }
    for problem, there in problems.items():
        if there:
            raise TypeError(f"operator {name!r}: {problem}\n  in forward{signature}")
    _expect_parts(definition, name, {"forward", *parts, *(f"d{n}" for n in inputs)})
    made = Operator(
        name,
        definition.forward,
        inputs=inputs,
        outputs=_names(definition, name, "outputs", ("y",)),
        states=_names(definition, name, "states", ()),
        optional=[p.name for p in arrays if p.default is None],
        attributes=attributes,
        gradients=gradients,
        pure=getattr(definition, "pure", True) if pure is None else pure,
        **parts,
    )
    for part in ("__doc__", "__module__", "__name__", "__qualname__"):
        setattr(made, part, getattr(definition, part))
    return made


def _expect_parts(definition: type, name: str, functions: set[str]) -> None:
    """Refuse what a class has and no operator: a name that is misspelt would do nothing."""
    for part, value in vars(definition).items():
        if inspect.isfunction(value):
            kind, known = "gradient", functions
            reason = f": there is no input {part.removeprefix('d')!r}"
        else:
            kind, known, reason = (
                "part of an operator",
                {*functions, "outputs", "states", "pure"},
                "",
            )
        if part not in known and (reason or not part.startswith("_")):
            raise TypeError(
                f"operator {name!r}: {part!r} is no {kind}{reason}\n"
                f"  expected of {', '.join(sorted(known))}"
            )


def _names(definition: type, name: str, what: str, default: tuple) -> tuple[str, ...]:
    names = getattr(definition, what, default)
    if isinstance(names, str):
        raise TypeError(f"operator {name!r}: {what} is {names!r}\n  expected a tuple of names")
    return tuple(names)
