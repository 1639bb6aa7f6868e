"""One class of the emitted file: the layers that it owns, and its forward."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import count
from typing import Any

from ..symbol._node import Entry, Node
from .names import OF_MODULES, Names
from .table import Expression, Layer, NotEmitted, Used, has_emitter
from .text import WIDTH

VALUES = ("x", "y", "z", "u", "v", "w")  # what values are called in a forward
Shapes = dict[Entry, tuple[int, ...]]


@dataclass(eq=False)
class Part:
    """A class to be written: nodes and calls of other parts, in their order.

    Attributes
    ----------
    title : str
        The class's name, if it can be one.
    inputs : list of (Entry, str)
        With their names.
    outputs : Entry, or nested lists
    steps : list of Node or Call
    optional : set of Entry
        Inputs that may be left out.
    is_chain : bool
        It may be a Sequential.
    """

    title: str
    inputs: list[tuple[Entry, str]]
    outputs: Any
    steps: list[Node | Call] = field(default_factory=list)
    optional: set[Entry] = field(default_factory=set)
    is_chain: bool = False
    doc: str = ""


@dataclass(eq=False)
class Call:
    """The call of a part in another one."""

    part: Part
    name: str
    inputs: list[Entry]
    outputs: list[Entry]


@dataclass
class Member:
    """A module or a parameter that a class owns.

    `made` is a Layer, the source of a module without arguments, a `Weight`, a Part, or a list of
    the members of a Sequential.
    """

    name: str
    made: Any
    frozen: tuple[str, ...] = ()  # its parameters that get no gradient


@dataclass(frozen=True)
class Weight:
    """A parameter that no module of torch.nn owns, or a buffer."""

    shape: tuple[int, ...]
    is_buffer: bool

    def source(self, name: str) -> str:
        zeros = f"torch.zeros({', '.join(map(str, self.shape))})"
        if self.is_buffer:
            return f'self.register_buffer("{name}", {zeros})'
        return f"self.{name} = nn.Parameter({zeros})"


class World:
    """The tables that all parts of a net share.

    Attributes
    ----------
    shapes : dict of Entry to tuple
    parameters : set of Node
        The variables that the net owns.
    buffers : set of Node
        Those that get no gradient.
    batch : int or None
        The size that stands for the batch's.
    short_name : callable
        The name of a node in the source, as it is wished.
    keys : dict of Node to list of (Part, str, str)
        Where the value of a parameter goes: in a part, the name there, and how.
    lacking : list of (str, str, str)
        Operators that cannot be emitted, their nodes, and reasons.
    support : dict of str to None
        Definitions that the file needs.
    functions : set of str
        The names of users' operators in the file.
    custom : callable, optional
        Emits a user's operator.
    """

    def __init__(self, shapes: Shapes, parameters, buffers, batch, short_name: Callable):
        self.shapes, self.parameters, self.buffers = shapes, parameters, buffers
        self.batch, self.short_name = batch, short_name
        self.keys: dict[Node, list[tuple[Part, str, str]]] = {}
        self.counters: list[tuple[Part, str]] = []
        self.lacking: list[tuple[str, str, str]] = []
        self.support: dict[str, None] = {}
        self.functions: set[str] = set()
        self.custom: Callable | None = None

    def comment(self, entry: Entry) -> str:
        """Return the shape of a value as a comment shows it."""
        shape = self.shapes.get(entry)
        if not shape or not any(shape):
            return ""
        sizes = [
            "n" if place == 0 and size in (0, self.batch) else str(size or "?")
            for place, size in enumerate(shape)
        ]
        return f"({', '.join(sizes)}{',' * (len(sizes) == 1)})"


class Writer:
    """Writes the class of a part.

    Attributes
    ----------
    members : list of Member
    forward : list of (str, str)
        Statements, and their comments.
    """

    def __init__(self, part: Part, world: World):
        self.part, self.world = part, world
        self.members: list[Member] = []
        self.forward: list[tuple[str, str]] = []
        self.result = ""
        self._names = Names(OF_MODULES)
        self._shared: dict[tuple, str] = {}
        self._weights: dict[Node, str] = {}
        self._text: dict[Entry, str] = {}
        self._merged: tuple[Entry, str] | None = None
        self._consumers = Counter(e for step in part.steps for e in {*step.inputs})
        outputs = flat(part.outputs)
        self._last: dict[Entry, Any] = {e: step for step in part.steps for e in step.inputs}
        self._last |= dict.fromkeys(outputs)
        self._places = {id(step): place for place, step in enumerate(part.steps)}
        self._free = [*reversed(VALUES)]
        self._extra = count()
        self.arguments: list[str] = []
        names = Names()
        for entry, wanted in part.inputs:
            name = names.take(wanted if wanted[:1].islower() else "", "x")  # no class's name
            self.arguments.append(name)
            self._text[entry] = name
            if name in self._free:
                self._free.remove(name)

    def write(self) -> Writer:
        """Write all of it."""
        if self.part.is_chain and self._write_chain():
            return self
        for step in self.part.steps:
            if isinstance(step, Call):
                self._add_call(step)
            else:
                self._add_node(step)
        self.result = self._nested(self.part.outputs)
        return self

    @property
    def is_sequential(self) -> bool:
        """True if it is written as a Sequential."""
        return bool(self.members) and not self.result

    # Steps

    def _add_call(self, call: Call) -> None:
        name = self._shared.get((call.part,))
        if name is None:
            name = self._names.take(call.name, "block")
            self._shared[(call.part,)] = name
            self.members.append(Member(name, call.part))
        args = ", ".join(self._of(e) for e in call.inputs)
        self._assign(call, call.outputs, f"self.{name}({args})")

    def _add_node(self, node: Node) -> None:
        found = self._emitted(node)
        if found is None:
            self._assign(node, node.entries, "None")
            return
        if isinstance(found, Layer):
            x = self._of(node.inputs[0])
            name = self._member(node, found)
            self._assign(
                node, node.entries, found.call.replace("{}", f"self.{name}", 1).format(x=x)
            )
            return
        if found.support:
            self.world.support[found.support] = None
        text = self._merge(node, found) or found.text
        self._assign(node, node.entries, text)

    def _merge(self, node: Node, found: Expression) -> str | None:
        """Return the expression around that of the statement before, where both fit in one."""
        if self._merged is None or found.module is None:
            return None
        entry, inner = self._merged
        if (
            node.inputs[0] != entry
            or self._consumers[entry] > 1
            or entry in flat(self.part.outputs)
        ):
            return None
        again = self._emitted(node, inner)
        if again is None or len(f"{again.text}") > WIDTH - 40:
            return None
        self.forward.pop()
        return again.text

    def _emitted(self, node: Node, data: str = "") -> Layer | Expression | None:
        """Return what a node is in the source, for the source of its data; None if it has none."""
        try:
            if not has_emitter(node) and not (node.op.own and self.world.custom):
                raise NotEmitted("it has no emitter")
            if self._owns(node):
                rest = [""] * (len(node.inputs) - 1)
                found = self._asked(node, [data or self._of(node.inputs[0]), *rest], True)
                if isinstance(found, Layer):
                    return found
            given = [data] if data else []
            given += [self._of(e) for e in node.inputs[len(given) :]]
            return self._asked(node, given, False)
        except NotEmitted as error:
            self.world.lacking.append((node.op.label, node.name, str(error)))
            return None

    def _asked(self, node: Node, inputs: list[str], owns: bool) -> Layer | Expression:
        used = Used(node, inputs, self.world.shapes, owns)
        return used.emitted() if has_emitter(node) else self.world.custom(used)

    def _owns(self, node: Node) -> bool:
        """True if the weights of a node are parameters that no other layer of the class has."""
        weights, world = node.inputs[1:], self.world
        users = [step for step in self.part.steps if not {*weights}.isdisjoint(step.inputs)]
        return bool(weights) and all(
            [e[0] in world.parameters and 0 not in world.shapes.get(e, (0,)) for e in weights]
            + [_same_layer(step, node) for step in users]
        )

    def _member(self, node: Node, layer: Layer) -> str:
        key = (layer.head, tuple(node.inputs[1:]), str(layer.args)) if layer.weights else (node,)
        if key in self._shared:
            return self._shared[key]
        name = self._names.take(self.world.short_name(node), layer.kind)
        self._shared[key] = name
        self.members.append(Member(name, layer, self._frozen(node, layer)))
        self._note_weights(node, layer, name)
        return name

    def _frozen(self, node: Node, layer: Layer) -> tuple[str, ...]:
        """Return the parameters of a layer that get no gradient."""
        fixed = [
            layer.weights[name]
            for name, (source, _) in zip(node.input_names, node.inputs)
            if name in layer.weights and source in self.world.buffers
        ]
        found = dict.fromkeys([*layer.frozen, *fixed])
        return tuple(name for name in found if not name.startswith("running_"))

    def _note_weights(self, node: Node, layer: Layer, name: str) -> None:
        for input_name, (source, _) in zip(node.input_names, node.inputs):
            if input_name in layer.weights:
                own = layer.weights[input_name]
                how = "ones" if own in layer.frozen else ""
                self.world.keys.setdefault(source, []).append((self.part, f"{name}.{own}", how))
        if layer.counts_batches:
            self.world.counters.append((self.part, f"{name}.num_batches_tracked"))

    # Values

    def _of(self, entry: Entry) -> str:
        """Return the source of a value."""
        if entry in self._text:
            return self._text[entry]
        if entry[0] not in self.world.parameters:
            raise NotEmitted("it takes a value from outside")
        return self._weight(entry[0])

    def _weight(self, node: Node) -> str:
        """Return the source of a parameter that is the class's own."""
        if node not in self._weights:
            shape = self.world.shapes.get((node, 0))
            if shape is None or 0 in shape:
                raise NotEmitted(f"the shape of its parameter {node.name!r} is not known")
            name = self._names.take(self.world.short_name(node), "weight")
            is_buffer = node in self.world.buffers
            self._weights[node] = name
            self.members.append(Member(name, Weight(tuple(shape), is_buffer)))
            self.world.keys.setdefault(node, []).append((self.part, name, ""))
        return f"self.{self._weights[node]}"

    def _assign(self, step: Node | Call, entries: Sequence[Entry], text: str) -> None:
        """Add the statement that gives values their names."""
        done = [
            self._text[e]
            for e in dict.fromkeys(step.inputs)
            if self._last.get(e, step) is step and e in self._text
        ]
        used = {self._text[e] for e in self._text if self._is_needed(e, step)}
        done = [name for name in done if name not in used]
        names = []
        for entry in entries:
            wanted = entry in self._last
            name = self._value_name(done) if wanted else "_"
            names.append(name)
        for name in done:
            if name not in names and name in VALUES and name not in self._free:
                self._free.append(name)
        for entry, name in zip(entries, names):
            self._text[entry] = name
        if not (len(names) == 1 and names[0] == text):
            comment = self.world.comment(entries[0]) if len(entries) == 1 else ""
            self.forward.append((f"{', '.join(names)} = {text}", comment))
        one_call = len(entries) == 1 and text.endswith(")") and text.startswith(("self.", "torch."))
        self._merged = (entries[0], text) if one_call else None

    def _is_needed(self, entry: Entry, step) -> bool:
        """True if a value is used after a step."""
        if entry not in self._last:
            return False
        last = self._last[entry]
        if last is None:
            return True
        return self._places[id(last)] > self._places[id(step)]

    def _value_name(self, done: list[str]) -> str:
        for place, name in enumerate(done):
            if not name.startswith("self."):
                return done.pop(place)
        if self._free:
            return self._free.pop()
        return f"t{next(self._extra)}"

    def _nested(self, outputs: Any) -> str:
        if isinstance(outputs, list):
            return f"[{', '.join(self._nested(o) for o in outputs)}]"
        if isinstance(outputs, tuple) and outputs and not isinstance(outputs[0], Node):
            inside = ", ".join(self._nested(o) for o in outputs)
            return f"({inside}{',' * (len(outputs) == 1)})"
        return self._of(outputs)

    def name_of(self, entry: Entry) -> str:
        """Return what a value that the part gives is called."""
        return self._text[entry]

    # A Sequential

    def _write_chain(self) -> bool:
        """Write it as a Sequential, if each step takes the value of the one before alone."""
        if len(self.part.inputs) != 1 or not self.part.steps:
            return False
        before = self.part.inputs[0][0]
        members = []
        notes = []
        for step in self.part.steps:
            data = [e for e in step.inputs if e[0] not in self.world.parameters]
            outputs = step.outputs if isinstance(step, Call) else step.entries
            if data != [before] or len(outputs) != 1 or self._consumers[before] != 1:
                return False
            if isinstance(step, Call):
                if any(m.made is step.part for m in members):
                    return False
                members.append(Member(str(len(members)), step.part))
            else:
                made = self._as_module(step)
                if made is None:
                    return False
                for one in made:
                    frozen = self._frozen(step, one) if isinstance(one, Layer) else ()
                    members.append(Member(str(len(members)), one, frozen))
                if isinstance(made[-1], Layer):
                    notes.append((step, made[-1], members[-1].name))
            before = outputs[0]
        if before != self.part.outputs:
            return False
        self.members = members
        for note in notes:
            self._note_weights(*note)
        return True

    def _as_module(self, node: Node) -> list[Any] | None:
        count = len(self.world.lacking)
        found = self._emitted(node, "x")
        if found is None:
            del self.world.lacking[count:]
            return None
        if isinstance(found, Layer):
            plain = {"{}({x})": [], "{}(torch.flatten({x}, 1))": ["nn.Flatten()"]}
            before = plain.get(found.call)
            return None if before is None else [*before, found]
        return [found.module] if found.module else None


def _same_layer(step: Node | Call, node: Node) -> bool:
    return step is node or (
        isinstance(step, Node)
        and step.op is node.op
        and step.attributes == node.attributes
        and step.inputs[1:] == node.inputs[1:]
    )


def flat(outputs: Any) -> list[Entry]:
    """Return the entries in nested lists."""
    if isinstance(outputs, tuple) and len(outputs) == 2 and isinstance(outputs[0], Node):
        return [outputs]
    return [entry for part in outputs for entry in flat(part)]
