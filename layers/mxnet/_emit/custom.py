"""Operators of users as `torch.autograd.Function`, with the gradients that were written.

Forward and gradients run once on arrays, and what they call of `nd` is recorded: a graph, which is
written as any other. Code in NumPy is traced by PyTorch. Attributes are constants in both.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import torch

from .. import autograd
from ..context import cpu
from ..ndarray import NDArray
from ..ndarray._origin import UNKNOWN, step_and_index, variable
from ..symbol._infer import completed
from ..symbol._node import Entry, Node, ordered
from ..symbol._recorded import _in_order, _node
from .names import Names, is_plain
from .scope import Part, World, Writer
from .table import Expression, Layer, NotEmitted, Used
from .text import lines

SIZES = 2, 3  # of the batch, for which the graphs have to be the same
VALUES = (0.1, 0.9), (-0.9, -0.1), (-3, 5)  # and the least and the greatest values


class Functions:
    """The functions of a file, one for each operator and source.

    Parameters
    ----------
    world : World
    """

    def __init__(self, world: World):
        self._world = world
        self._names: dict[tuple[str, str], str] = {}

    def __call__(self, used: Used) -> Expression:
        """Return the call of a user's operator, and see that its function is in the file."""
        operator = getattr(used.node.op, "operator", None)
        if operator is None:
            used.refuse("it is a class of mx.operator, and no function")
        if operator.states or not operator.pure:
            used.refuse("it updates states, or is not pure")
        shapes = used.shapes
        if any(not shape or 0 in shape for shape in shapes):
            used.refuse("the shapes of its inputs are not known")
        batch = self._world.batch
        sizes = SIZES if batch else SIZES[:1]
        each = [
            [(size, *s[1:]) if batch and s[0] == batch else s for s in shapes] for size in sizes
        ]
        texts = [_Function(operator, used.node, given, VALUES[0]).text for given in each]
        if len({*texts}) > 1:
            used.refuse("its code has the size of the batch in it")
        others = [_Function(operator, used.node, each[0], values).text for values in VALUES[1:]]
        if len({*texts, *others}) > 1:
            used.refuse("its code depends on the values of arrays")
        name = self._name(operator.__name__, texts[0])
        self._world.support["\n".join(lines_of(texts[0], name))] = None
        return Expression(f"{name}.apply({', '.join(used.inputs)})")

    def _name(self, own: str, text: tuple) -> str:
        key = own, str(text)
        if key not in self._names:
            title = "".join(word[:1].upper() + word[1:] for word in own.split("_"))
            first = name = title if is_plain(title) else "Operator"
            number = 1
            while name in self._names.values():
                number += 1
                name = f"{first}_{number}"
            self._names[key] = name
            self._world.functions.add(name)
        return self._names[key]


def lines_of(text: Sequence[str], name: str) -> list[str]:
    """Return the lines of a function's class."""
    return [f"class {name}(torch.autograd.Function):", *text]


class _Function:
    """The text of an operator's function, for inputs of some shapes.

    Attributes
    ----------
    text : tuple of str
        Its lines, without the first.
    """

    def __init__(
        self, operator: Any, node: Node, shapes: list[tuple], between: tuple[float, float]
    ):
        self._operator, self._between = operator, between
        values = {n: v for n, v in node.attributes.items() if n in operator.attributes}
        self._attributes = operator.attributes | values
        self._given = dict(zip(node.input_names, shapes))
        try:
            try:
                self.text = tuple(self._forward())
            except NotEmitted:  # it computes in NumPy
                self.text = tuple(self._traced())
        except NotEmitted:
            raise
        except Exception as error:  # of the user's code, of any kind
            raise NotEmitted(f"it fails for {shapes}: {type(error).__name__}: {error}") from error

    def _forward(self) -> list[str]:
        operator = self._operator
        arrays = {name: self._array(shape) for name, shape in self._given.items()}
        every = {name: arrays.get(name) for name in operator.inputs}
        trace = _Trace(arrays)
        with autograd.record():
            y = operator.forward(*every.values(), **self._attributes)
        results = dict(zip(operator.results, y if isinstance(y, (list, tuple)) else [y]))
        entries = {n: trace.entry(a, "forward") for n, a in results.items()}
        entries |= {n: trace.entry(a, "forward") for n, a in arrays.items()}
        backward, saved = self._backward(arrays, results)
        outputs = [entries[n] for n in operator.outputs]
        inputs = [(entries[n], n) for n in arrays]
        part = Part("", inputs, (*outputs, *[entries[n] for n in saved]), trace.steps())
        writer, body = _body(part, trace)
        found = [*self._head("forward", writer.arguments), *body]
        kept = ", ".join(writer.name_of(entries[n]) for n in saved)
        found += lines(f"ctx.save_for_backward({kept})", 8) if saved else []
        found += [f"        return {', '.join(writer.name_of(e) for e in outputs)}"]
        return [*found, "", *backward]

    def _backward(self, arrays: dict, results: dict) -> tuple[list[str], list[str]]:
        """Return the lines of backward, and the names of the values that it takes."""
        operator = self._operator
        known = {n: self._array(a.shape) for n, a in (arrays | results).items()}
        heads = {f"d{n}": self._array(results[n].shape) for n in operator.outputs}
        trace = _Trace(known | heads)
        every = dict.fromkeys(operator.inputs) | self._attributes | known | heads
        with autograd.record():
            if operator.backward is not None:
                found = operator.ask(operator.backward, every)
            else:
                wanted = [n for n in operator.gradients if n in arrays]
                found = {n: operator.gradient(n, every) for n in wanted}
        wanted = {n: found.get(n) for n in arrays}
        entries = {n: trace.entry(g, f"d{n}") for n, g in wanted.items() if g is not None}
        steps = trace.steps()
        taken = {e for n in steps for e in n.inputs} | {*entries.values()}
        saved = [n for n in known if trace.entry(known[n], "") in taken]
        inputs = [(trace.entry((known | heads)[n], ""), n) for n in [*heads, *saved]]
        writer, body = _body(Part("", inputs, tuple(entries.values()), steps), trace)
        names = dict(zip([*heads, *saved], writer.arguments))
        text = self._head("backward", [names[n] for n in heads])
        if saved:
            text += [f"        {_unpacked([names[n] for n in saved])} = ctx.saved_tensors"]
        given = [writer.name_of(entries[n]) if n in entries else "None" for n in arrays]
        return [*text, *body, f"        return {', '.join(given)}"], saved

    def _traced(self) -> list[str]:
        """Return the lines of code in NumPy, as PyTorch's tracer makes operators of it."""
        from .traced import traced  # which imports PyTorch's exporter

        operator, attributes = self._operator, self._attributes

        def forward(*arrays):
            every = dict.fromkeys(operator.inputs) | dict(zip(self._given, arrays))
            return operator.forward(*every.values(), **attributes)

        y = forward(*[self._array(shape) for shape in self._given.values()])
        results = dict(zip(operator.results, y if isinstance(y, (list, tuple)) else [y]))
        shapes = self._given | {n: a.shape for n, a in results.items()}
        shapes |= {f"d{n}": shapes[n] for n in operator.outputs}
        names = Names()
        own = {n: names.take(n, "x") for n in shapes}
        rules = {n: needs for n, needs in operator.needs.items() if n in self._given}
        needed = {n for needs in rules.values() for n in needs}
        heads = [f"d{n}" for n in operator.outputs]
        saved = [n for n in shapes if n in needed and n not in heads]

        def backward(*arrays):
            known = dict.fromkeys(operator.inputs) | attributes
            known |= dict(zip([*heads, *saved], arrays))
            if operator.backward is not None:
                found = operator.ask(operator.backward, known)
                return tuple([found[n] for n in rules])
            return tuple([operator.gradient(n, known) for n in rules])

        body, values = traced(forward, {own[n]: s for n, s in self._given.items()}, [*results])
        given = {own[n]: shapes[n] for n in [*heads, *saved]}
        back, gradients = traced(backward, given, [f"of_{n}" for n in rules])
        words = {*re.findall(r"\w+", " ".join([*back, *gradients]))}
        saved = [n for n in saved if own[n] in words]
        made = {n: own[n] for n in self._given} | dict(zip(results, values))
        found = dict(zip(rules, gradients))
        return [
            *self._head("forward", [own[n] for n in self._given]),
            *[line for statement in body for line in lines(statement, 8)],
            *(lines(f"ctx.save_for_backward({_listed(made, saved)})", 8) if saved else []),
            f"        return {_listed(made, operator.outputs)}",
            "",
            *self._head("backward", [own[n] for n in heads]),
            *(
                [f"        {_unpacked([own[n] for n in saved])} = ctx.saved_tensors"]
                if saved
                else []
            ),
            *[line for statement in back for line in lines(statement, 8)],
            f"        return {', '.join(found.get(n, 'None') for n in self._given)}",
        ]

    def _array(self, shape: tuple) -> NDArray:
        """Return an array with a gradient: what is computed from it is recorded."""
        generator = torch.Generator().manual_seed(0)
        least, greatest = self._between
        values = torch.rand(shape, generator=generator) * (greatest - least) + least
        array = NDArray(values, cpu())
        array.attach_grad()
        return array

    def _head(self, method: str, arguments: list[str]) -> list[str]:
        """Return the first lines of a method."""
        shown = ", ".join(f"{a}: Tensor" for a in arguments)
        many = len(self._operator.outputs) > 1
        returned = " -> tuple[Tensor, ...]" if many else " -> Tensor"
        returned = returned if method == "forward" else ""
        return ["    @staticmethod", *lines(f"def {method}(ctx, {shown}){returned}:", 4)]


def _listed(names: dict[str, str], wanted: Sequence[str]) -> str:
    return ", ".join(names[n] for n in wanted)


def _unpacked(names: list[str]) -> str:
    return f"({names[0]},)" if len(names) == 1 else ", ".join(names)


def _body(part: Part, trace: _Trace) -> tuple[Writer, list[str]]:
    world = World(trace.shapes(), set(), set(), None, lambda node: "")
    writer = Writer(part, world).write()
    for operator, _, reason in world.lacking:
        raise NotEmitted(f"it calls {operator}: {reason}")
    found = []
    for text, _ in writer.forward:
        for member in writer.members:
            if not isinstance(member.made, Layer):
                raise NotEmitted("it has a parameter")
            text = text.replace(f"self.{member.name}(", f"{member.made.source()}(")
        if "self." in text:
            raise NotEmitted("it depends on training")
        found += lines(text, 8)
    return writer, found


class _Trace:
    """A recorded computation, as a graph whose variables are given arrays."""

    def __init__(self, arrays: dict[str, NDArray]):
        self._made: dict[int, list[Entry]] = {}
        self._alive: list = []
        self._variables: dict[Node, tuple] = {}
        for name, array in arrays.items():
            array._origin = variable()
            node = Node(None, name)
            self._made[id(array._origin)] = node.entries
            self._alive.append(array._origin)
            self._variables[node] = array.shape
        self._heads: list[Entry] = []

    def entry(self, array: Any, where: str) -> Entry:
        """Return what an array was computed as."""
        if not isinstance(array, NDArray):
            raise NotEmitted(f"{where} returns a {type(array).__name__}")
        if array._origin is None:
            raise NotEmitted(f"{where} does not compute with nd alone")
        last, index = step_and_index(array._origin)
        for step in _in_order(last):
            if id(step) not in self._made:
                self._made[id(step)] = self._entries(step, where)
                self._alive.append(step)
        found = self._made[id(last)][index]
        self._heads.append(found)
        return found

    def _entries(self, step: Any, where: str) -> list[Entry]:
        operator, attributes, sources = step
        if operator is None or step is UNKNOWN or hasattr(operator, "symbol"):
            raise NotEmitted(f"{where} does not compute with nd alone")
        origins = [step_and_index(o) for o in sources if o is not None]
        inputs = [self._made[id(o)][i] for o, i in origins]
        return _node("", operator, attributes, inputs).entries

    def steps(self) -> list[Node]:
        """Return the nodes that compute the heads."""
        return [n for n in ordered(self._heads) if n.op is not None]

    def shapes(self) -> dict[Entry, tuple]:
        """Return the shapes of all values."""
        nodes = ordered([*self._heads, *[(n, 0) for n in self._variables]])
        return completed(nodes, {(n, 0): s for n, s in self._variables.items()})
