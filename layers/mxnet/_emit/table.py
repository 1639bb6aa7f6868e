"""The emitters: how each operator is written in PyTorch.

An emitter names what it needs of the inputs, as source, and of the attributes, and returns a
`Layer`, or an expression, or one with the module that does the same in a Sequential::

    @emits("softmax")
    def _(data, axis):
        return f"torch.softmax({data}, dim={axis})"
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from .._table.registry import ask
from ..base import UnsupportedError
from ..symbol._node import Entry, Node
from .names import literal

_emitters: dict[str, Callable] = {}


def emits(*names: str) -> Callable[[Callable], Callable]:
    """Register the emitter of operators."""

    def add(emitter: Callable) -> Callable:
        for name in names:
            if name in _emitters:
                raise ValueError(f"emits: {name} has an emitter")
            _emitters[name] = emitter
        return emitter

    return add


def has_emitter(node: Node) -> bool:
    """True if the operator of a node has an emitter: one of the table, or of this library."""
    operator = node.op
    if not operator.own:
        return operator.name in _emitters
    formula = getattr(operator, "operator", None)
    return operator.label in _emitters and f"{formula.__module__}.".startswith("layers.ops.")


@dataclass(frozen=True)
class Layer:
    """A module of torch.nn that does what a node does.

    Attributes
    ----------
    head : str
        Its class, such as ``nn.Conv2d``.
    args : dict of str to value
        Its arguments by name; the first `positional` ones are written without.
    weights : dict of str to str
        The module's names of the node's inputs, such as ``{"gamma": "weight"}``.
    call : str
        The call; `{}` is the module, `{x}` the data.
    frozen : tuple of str
        The module's parameters that are ones and get no gradient.
    kind : str
        A name for it, where the node's cannot be one.
    """

    head: str
    args: dict[str, Any]
    weights: dict[str, str] = field(default_factory=dict)
    positional: int = 1
    call: str = "{}({x})"
    frozen: tuple[str, ...] = ()
    kind: str = "layer"
    counts_batches: bool = False

    def source(self, names: dict[str, str | None] | None = None) -> str:
        """Return the call that makes it; `names` are written in place of some arguments."""
        texts = {n: (names or {}).get(n) or literal(v) for n, v in self.args.items()}
        parts = [
            text if place < self.positional else f"{name}={text}"
            for place, (name, text) in enumerate(texts.items())
        ]
        return f"{self.head}({', '.join(parts)})"


@dataclass(frozen=True)
class Expression:
    """An expression; `module` is a module that does the same.

    `support` names definitions that have to be in the file.
    """

    text: str
    module: str | None = None
    support: str | None = None


class Used:
    """A node where it is used: what its emitter may ask.

    Attributes
    ----------
    inputs : list of str
        The inputs, as source.
    owns : bool
        No other node uses its weights, and their shapes are known: it can be a module.
    """

    def __init__(self, node: Node, inputs: Sequence[str], shapes: dict[Entry, tuple], owns: bool):
        self.node, self.inputs, self.owns = node, list(inputs), owns
        self._shapes = shapes

    @property
    def shapes(self) -> list[tuple[int, ...] | None]:
        """The shapes of the inputs; a size that is not known is 0."""
        return [self._shapes.get(entry) for entry in self.node.inputs]

    def shape(self, name: str) -> tuple[int, ...]:
        """Return the shape of an input, which has to be known."""
        names = self.node.input_names
        shape = self.shapes[names.index(name)] if name in names else None
        if not shape or 0 in shape:
            self.refuse(f"the shape of its {name} is not known")
        return shape

    @property
    def rank(self) -> int | None:
        """The number of axes of the first input, if it is known."""
        shape = self.shapes[0] if self.node.inputs else None
        return len(shape) if shape else None

    @property
    def out(self) -> tuple[int, ...] | None:
        """The shape of the first output, if it is known."""
        return self._shapes.get((self.node, 0))

    def refuse(self, reason: str) -> Any:
        """Raise the error that this node cannot be written."""
        raise NotEmitted(reason)

    def emitted(self) -> Layer | Expression | list[Expression]:
        """Return what its emitter gives."""
        op, attributes = self.node.op, self.node.attributes
        if op.own:
            known = dict.fromkeys(op.operator.inputs) | op.operator.attributes | attributes
        else:
            known = dict.fromkeys((*op.inputs, "length")) | op.defaults | attributes
        known |= dict(zip(self.node.input_names, self.inputs)) | {"of": self}
        found = ask(_emitters[op.label if op.own else op.name], known)
        return Expression(found) if isinstance(found, str) else found


class NotEmitted(UnsupportedError):
    """The error of a node that has no form in PyTorch here; its text is the reason."""


def listed(count: int, values: Sequence[int], default: int) -> tuple[int, ...]:
    """Return one value for each axis of a kernel."""
    return tuple(values[:count]) if values else (default,) * count


def short(values: Sequence[int]) -> int | tuple[int, ...]:
    """Return one number for many equal ones, as torch.nn takes it."""
    return values[0] if len({*values}) == 1 else tuple(values)
