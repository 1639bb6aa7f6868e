"""A tree of Blocks as parts: what each Block computes is a class, a layer alone a line of it.

The Blocks are traced once with Symbols. Their hooks say which nodes each call made.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from .. import symbol
from ..gluon import Block, HybridBlock
from ..gluon._graph import call_with_symbols, required_inputs
from ..gluon.nn import HybridSequential, Sequential
from ..gluon.parameter import Parameter
from ..symbol import Symbol
from ..symbol._node import Entry, Node, ordered, serials
from .graph import world_of
from .names import is_plain
from .scope import Call, Part, World, flat

SMALL = 4  # nodes of a Block that is written as lines of the one around it


@dataclass(eq=False)
class Frame:
    """A call of a Block: the nodes that it made, those of inner calls aside."""

    block: Block
    name: str
    inputs: list[Entry]
    start: int
    outputs: Any = None
    end: int = 0
    inner: list[Frame] = field(default_factory=list)
    nodes: list[Node] = field(default_factory=list)

    @property
    def steps(self) -> list[Frame | Node]:
        """Nodes and inner calls, in their order."""
        return sorted([*self.nodes, *self.inner], key=_place)

    def all_nodes(self) -> list[Node]:
        """Return its nodes and those of inner calls."""
        return self.nodes + [n for frame in self.inner for n in frame.all_nodes()]


def _place(step: Frame | Node) -> int:
    return step.start if isinstance(step, Frame) else step.serial


def part_of_block(
    block: HybridBlock, shapes: list[tuple] | None
) -> tuple[Part, World, dict[Node, Parameter]]:
    """Return a HybridBlock as a tree of parts, and the parameters by their variables."""
    inputs = [symbol.var(name) for name in required_inputs(block)]
    root = _traced(block, inputs)
    nodes = ordered(flat(root.outputs))
    found = {p.name: p for p in block.collect_params().values()}
    variables = [v._entries[0][0] for v in inputs]
    parameters = {n: found[n.name] for n in nodes if n.op is None and n.name in found}
    given = {n: tuple(p.shape) for n, p in parameters.items()}
    given |= dict(zip(variables, shapes or ()))
    fixed = [n for n, p in parameters.items() if p.grad_req == "null"]
    names: dict[Node, str] = {}
    world = world_of(nodes, variables, given, fixed, lambda n: names.get(n) or _own_name(n))
    _place_nodes(root, [n for n in nodes if n.op is not None])
    for frame in root.inner:
        _rename(frame)
    _simplify(root, {*parameters}, names)
    part = _part_of(root)
    part.is_chain = False  # its forward shows the shapes
    return part, world, parameters


def _own_name(node: Node) -> str:
    """Return the end of a node's name, behind the prefix of its Block."""
    return node.name.removesuffix("_fwd").rpartition("_")[2]


# Tracing


def _traced(block: HybridBlock, inputs: list[Symbol]) -> Frame:
    """Return the calls of a Block and of those inside, with the outputs as entries."""
    root = Frame(block, "", [e for v in inputs for e in v._entries], next(serials))
    open_frames = [root]

    def before(inner: Block, args: tuple) -> None:
        around = open_frames[-1]
        name = next((n for n, b in around.block._children.items() if b is inner), "")
        frame = Frame(inner, name, [*_entries(args)], next(serials))
        around.inner.append(frame)
        open_frames.append(frame)

    def after(inner: Block, args: tuple, output: Any) -> None:
        frame = open_frames.pop()
        frame.outputs, frame.end = _as_entries(output), next(serials)

    with _hooked(block, before, after):
        output = call_with_symbols(block, *inputs)
    root.outputs, root.end = _as_entries(output), next(serials)
    return root


@contextmanager
def _hooked(block: Block, before: Callable, after: Callable) -> Iterator[None]:
    handles = []

    def attach(inner: Block) -> None:
        if inner is not block and not any(inner is known for known in seen):
            seen.append(inner)
            handles.append(inner.register_forward_pre_hook(before))
            handles.append(inner.register_forward_hook(after))

    seen: list[Block] = []
    block.apply(attach)
    try:
        yield
    finally:
        for handle in handles:
            handle.detach()


def _entries(value: Any) -> Iterator[Entry]:
    if isinstance(value, Symbol):
        yield from value._entries
    elif isinstance(value, (list, tuple)):
        for item in value:
            yield from _entries(item)


def _as_entries(output: Any) -> Any:
    """Return Symbols, nested in lists, as entries that are nested alike."""
    if isinstance(output, (list, tuple)):
        return [_as_entries(item) for item in output]
    entries = output._entries
    return entries[0] if len(entries) == 1 else [*entries]


def _place_nodes(root: Frame, nodes: list[Node]) -> None:
    """Put each node into the innermost call that made it."""
    for node in nodes:
        frame = root
        while inner := next((f for f in frame.inner if f.start < node.serial < f.end), None):
            frame = inner
        frame.nodes.append(node)


def _rename(frame: Frame) -> None:
    """Leave the underscore out that private children begin with."""
    frame.name = frame.name.lstrip("_")
    for inner in frame.inner:
        _rename(inner)


# Simplifying


def _simplify(frame: Frame, parameters: set[Node], names: dict[Node, str]) -> None:
    """Write small calls, and those that cannot be classes, as lines of the call around them."""
    for inner in [*frame.inner]:
        _simplify(inner, parameters, names)
    shared = _shared(frame, parameters)
    for inner in [*frame.inner]:
        if _is_small(inner, parameters) or not _is_closed(inner, parameters) or inner in shared:
            _dissolve(frame, inner, names)


def _dissolve(frame: Frame, inner: Frame, names: dict[Node, str]) -> None:
    for deeper in [*inner.inner]:
        _dissolve(inner, deeper, names)
    frame.inner.remove(inner)
    frame.nodes += inner.nodes
    for node in inner.nodes:
        names[node] = inner.name


def _is_small(frame: Frame, parameters: set[Node]) -> bool:
    """True if a call has one layer alone, and some functions around it."""
    nodes = frame.all_nodes()
    weighted = [n for n in nodes if any(e[0] in parameters for e in n.inputs)]
    repeated = len({id(f.block) for f in frame.inner}) < len(frame.inner)
    return len(nodes) <= SMALL and len(weighted) <= 1 and not repeated


def _is_closed(frame: Frame, parameters: set[Node]) -> bool:
    """True if all that it takes are its inputs, and it makes all outputs; each input is one."""
    nodes = {*frame.all_nodes()}
    taken = {e for n in nodes for e in n.inputs if e[0] not in nodes and e[0] not in parameters}
    made = all(entry[0] in nodes for entry in flat(frame.outputs))
    return taken <= {*frame.inputs} and made and len({*frame.inputs}) == len(frame.inputs)


def _shared(frame: Frame, parameters: set[Node]) -> set[Frame]:
    """Return the inner calls with a parameter that another call, of another kind, has too."""
    users: dict[Node, list[Frame | None]] = {}
    for inner in [None, *frame.inner]:
        nodes = frame.nodes if inner is None else inner.all_nodes()
        for source in {e[0] for n in nodes for e in n.inputs} & parameters:
            users.setdefault(source, []).append(inner)
    found = set()
    for frames in users.values():
        first = frames[0]
        if first is None or any(f is not None and not _alike(first, f) for f in frames):
            found |= {f for f in frames if f is not None and len(frames) > 1}
    return found


def _alike(one: Frame, other: Frame) -> bool:
    """True if two calls of a Block compute the same."""
    if one.block is not other.block:
        return False
    pairs = [*zip(one.all_nodes(), other.all_nodes())]
    same = all(a.op is b.op and a.attributes == b.attributes for a, b in pairs)
    return same and len(one.all_nodes()) == len(other.all_nodes())


# Parts


def _part_of(frame: Frame) -> Part:
    """Return a call as a part; calls of one Block inside it are calls of one part."""
    known: dict[int, Part] = {}
    steps: list[Node | Call] = []
    for step in frame.steps:
        if isinstance(step, Node):
            steps.append(step)
            continue
        if id(step.block) not in known:
            known[id(step.block)] = _part_of(step)
        steps.append(Call(known[id(step.block)], step.name, step.inputs, flat(step.outputs)))
    inputs = [*zip(frame.inputs, _input_names(frame))]
    is_chain = isinstance(frame.block, (HybridSequential, Sequential))
    return Part(_title(frame), inputs, frame.outputs, steps, is_chain=is_chain)


def _title(frame: Frame) -> str:
    """Return the name of a class: the Block's; of containers the name that they have."""
    kind = type(frame.block)
    if kind not in (HybridSequential, Sequential):
        return kind.__name__.lstrip("_")
    title = "".join(word.capitalize() for word in frame.name.split("_"))
    return title if is_plain(title) else "Net" if not frame.name else "Layers"


def _input_names(frame: Frame) -> list[str]:
    if len(frame.inputs) == 1:
        return ["x"]
    names = required_inputs(frame.block) if isinstance(frame.block, HybridBlock) else []
    return [*names, *["x"] * len(frame.inputs)][: len(frame.inputs)]
