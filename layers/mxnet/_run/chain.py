"""Operators of one's own that follow one another in a graph, as one function for autograd.

What PyTorch's autograd does around a function costs more than a small operator, and so does the
Python between PyTorch's functions. In a chain the first is done once: what its operators keep for
their gradients is kept together, and in backward each hands its gradients to the one before it.
And where their Python does nothing but call PyTorch, it is noted once and done again without it.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import count
from typing import NamedTuple

import torch

from .._own.call import Call, Differentiable, Kind, call, kinds_of
from .._own.node import input_numbers, prepared
from .._table.registry import Op
from ..autograd import state
from ..base import note
from ..context import Context
from ..symbol._node import Node
from .program import in_graph
from .reads import Read
from .tape import taped
from .trial import settled

log = logging.getLogger("layers.mxnet.hybridize")
Tensor = torch.Tensor
Numbers = tuple[int | None, ...]  # of values in a chain; None for an input that is left out
NOTINGS = 64  # for one chain


class Link(NamedTuple):
    """An operator in a chain, with the numbers of its values."""

    node: Node
    inputs: Numbers  # of the node
    given: Numbers  # of the operator, in its order
    outputs: Numbers
    done: Numbers  # what nobody needs after it


class Step(NamedTuple):
    """What the gradients of one operator need."""

    link: Link
    it: Call
    asked: tuple[bool, ...]
    kept: Numbers
    kinds: list[Kind | None]  # of its inputs
    output_kinds: list[Kind]


@dataclass(frozen=True)
class Noted:
    """What is the same in all calls of one kind.

    Attributes
    ----------
    forward : callable or None
        From the inputs to the outputs and what is kept; None if Python is to run.
    reads : list of Read
        That holds as long as none of them has changed.
    steps : list of Step
    kept : tuple of int
    is_constant : bool
        Whether the outputs have no gradient.
    backwards : dict of tuple to (numbers, callable or None)
        From what is kept and the gradients of the outputs to those of the inputs, by their strides.
    """

    forward: Callable | None
    reads: list[Read]
    steps: list[Step]
    kept: Numbers
    is_constant: bool
    backwards: dict[tuple, tuple[Numbers, Callable | None]] = field(default_factory=dict)

    @property
    def holds(self) -> bool:
        """Whether the Python would do the same again."""
        return not any(map(Read.has_changed, self.reads))


class Chain(Op):
    """The operators of nodes that follow one another.

    Its values have numbers: its inputs first, then what its nodes compute. Its outputs are those of
    the last node.

    Attributes
    ----------
    sources : list of (Node, int)
        What its inputs are of other nodes.
    """

    own = explains = True

    def __init__(self, nodes: list[Node]):
        super().__init__(self._run, "chain")
        computed = {e: None for n in nodes for e in n.entries}
        used = {e: n for n in nodes for e in n.inputs}  # by whom at last
        self.sources = [e for e in used if e not in computed]
        numbers = dict(zip([*self.sources, *computed], count()))
        self.results = tuple([numbers[e] for e in nodes[-1].entries])
        self.links: list[Link] = []
        for node in nodes:
            inputs = tuple([numbers[e] for e in node.inputs])
            given = input_numbers(node.attributes, len(inputs))
            done = [e for e in computed if used.get(e, e[0]) is node and node is not nodes[-1]]
            self.links.append(
                Link(
                    node,
                    inputs,
                    tuple([None if i is None else inputs[i] for i in given]),
                    tuple([numbers[e] for e in node.entries]),
                    tuple([numbers[e] for e in done]),
                )
            )
        self.left = NOTINGS
        self._noted: dict[tuple, Noted | None] = {}  # by kind; None after a first call
        self._told: set[str] = set()

    def output_names(self, attributes: dict) -> list[str]:
        return [f"output{i}" for i in range(len(self.results))]

    def _run(self, *data: Tensor, context: Context):
        it = self._call(data, context)
        results = call(it, data)
        if it.is_constant:
            results = [t.detach() for t in results]
        it.keep_past(data)
        return results if len(results) > 1 else results[0]

    def _call(self, tensors: tuple, context: Context) -> ChainCall:
        """The first call of a kind as it is, the second noted, later ones by what is noted."""
        kinds = [(t.shape, t.stride(), t.dtype, t.requires_grad) for t in tensors]
        key = (context, state.training, state.recording, *kinds)
        noted = self._noted.get(key)
        if noted is not None and noted.holds:
            return NotedCall(self, context, noted) if noted.forward else ChainCall(self, context)
        if key in self._noted and self.left:
            return NotingCall(self, context, key)
        if len(self._noted) < NOTINGS:
            self._noted.setdefault(key)
        return ChainCall(self, context)

    def keep(self, key: tuple, noted: Noted, reason: str) -> None:
        """Do calls of a kind as is noted from now on; by their Python, if there is a reason."""
        self._noted[key] = noted
        self.count(reason)

    def count(self, reason: str) -> None:
        """Count what was noted; say why it cannot be done again, if there is a reason."""
        self.left -= 1
        if reason and reason not in self._told:
            self._told.add(reason)
            names = ", ".join(link.node.name for link in self.links)
            log.debug("the Python of %s runs in each call: %s", names, reason)


class ChainCall(Call):
    """One call of a chain, by its operators' own Python."""

    what, twice, is_constant = "a graph", True, False

    def __init__(self, chain: Chain, context: Context):
        self.chain, self.context = chain, context
        self._steps: list[Step] = []
        self._kept: dict[int, Tensor | None] = {}
        self._pasts: dict[int, Tensor] = {}

    def forward(self, tensors) -> tuple[Tensor, ...]:
        return self._compute(tensors, [])

    def _compute(self, tensors: tuple, calls: list[Call]) -> tuple[Tensor, ...]:
        """The outputs; the calls of the operators are put into a list."""
        values = dict(enumerate(tensors))
        asking = {i for i, t in values.items() if t.requires_grad and state.recording}
        for link in self.chain.links:
            given = [values[i] for i in link.inputs]
            it, given = prepared(given, link.node.attributes, self.context)
            calls.append(it)
            results = _forward(link.node, it, tuple(given))
            values |= zip(link.outputs, results)
            asked = tuple([i in asking for i in link.given])
            if True in asked:
                asking |= {i for i, y in zip(link.outputs, results) if y.is_floating_point()}
                kept = tuple(it.kept(link.given, link.outputs, asked))
                self._kept |= {i: values[i] for i in kept if i is not None}
                step = Step(link, it, asked, kept, kinds_of(given), kinds_of(results))
                self._steps.append(step)
            for i in link.done:
                del values[i]
        self.is_constant = state.recording and asking.isdisjoint(self.chain.results)
        return tuple([values[i] for i in self.chain.results])

    def kept(self, inputs, outputs, asked) -> list[Tensor]:
        tensors = [*self._kept.values()]
        self._kept = dict.fromkeys(self._kept)  # PyTorch has them now, and frees them
        return tensors

    def keep_past(self, tensors: tuple) -> None:
        """Keep the past of inputs whose values are not kept: a second derivative goes there."""
        for i, t in enumerate(tensors):
            if t.requires_grad and state.recording and i not in self._kept:
                self._pasts[i] = t if t.is_leaf else Past.apply(t)

    def backward(self, kept, dys, kinds, asked) -> tuple[Tensor | None, ...]:
        known, tops = dict(zip(self._kept, kept)), dict(zip(self.chain.results, dys))
        if torch.is_grad_enabled():
            found = self._differentiable(known, tops, asked, kinds)
        else:
            found = self._gradients(known, tops)
        return tuple([found.get(i) if a else None for i, a in enumerate(asked)])

    def _gradients(self, known: dict, tops: dict[int, Tensor]) -> dict[int, Tensor]:
        """The gradients of the inputs, from those of the outputs."""
        found = dict(tops)
        for link, it, asked, kept, kinds, output_kinds in reversed(self._steps):
            dys = [found.pop(i, None) for i in link.outputs]
            if all(dy is None for dy in dys):
                continue
            for i, (shape, dtype) in enumerate(output_kinds):
                if dys[i] is None:
                    dys[i] = torch.zeros(shape, dtype=dtype, device=self.context.device)
            values = tuple([None if i is None else known[i] for i in kept])
            for i, dx in zip(link.given, it.backward(values, tuple(dys), kinds, asked)):
                if dx is not None:
                    found[i] = found[i] + dx if i in found else dx
        return found

    def _differentiable(self, known: dict, tops: dict, asked, kinds) -> dict[int, Tensor | None]:
        """The same with a past: by a function for each operator, whose outputs are known.

        What nobody kept has a past only, and no value.
        """
        device = self.context.device
        values = known | self._pasts
        values |= {i: t.view_as(t) for i, t in values.items() if i < len(kinds)}
        inputs = {i: values[i] for i, a in enumerate(asked) if a}
        for step in self._steps:
            given = [
                None if kind is None else values[i] if i in values else blank(kind, device)
                for i, kind in zip(step.link.given, step.kinds)
            ]
            results = Differentiable.apply(Known(step, known, device), *given)
            values |= zip(step.link.outputs, results)
        heads = {i: values[i] for i in tops if values[i].requires_grad}
        gradients = torch.autograd.grad(
            [*heads.values()],
            [*inputs.values()],
            [tops[i] for i in heads],
            create_graph=True,
            allow_unused=True,
        )
        return dict(zip(inputs, gradients))


class NotedCall(ChainCall):
    """A call by what is noted of an earlier one."""

    def __init__(self, chain: Chain, context: Context, noted: Noted):
        super().__init__(chain, context)
        self._noted = noted

    def forward(self, tensors) -> tuple[Tensor, ...]:
        noted, n = self._noted, len(self.chain.results)
        try:
            found = noted.forward(*tensors)
        except Exception:  # a division by 0, say, which the operators' own Python tells better
            return super().forward(tensors)
        self._steps, self._kept = noted.steps, dict(zip(noted.kept, found[n:]))
        self.is_constant = noted.is_constant
        return found[:n]

    def _gradients(self, known: dict, tops: dict[int, Tensor]) -> dict[int, Tensor]:
        noted = self._noted
        if noted.forward is None or not noted.holds:
            return super()._gradients(known, tops)
        key = tuple([dy.stride() for dy in tops.values()])
        if key not in noted.backwards and self.chain.left:
            return self._note_gradients(key, known, tops)
        numbers, function = noted.backwards.get(key, ((), None))
        if function is None:
            return super()._gradients(known, tops)
        try:
            return dict(zip(numbers, function(*known.values(), *tops.values())))
        except Exception:  # as in forward
            return super()._gradients(known, tops)

    def _note_gradients(self, key: tuple, known: dict, tops: dict) -> dict[int, Tensor]:
        """The gradients; and how they are computed is noted."""
        known, tops = ({i: t.detach() for i, t in d.items()} for d in (known, tops))  # none twice
        found: dict[int, Tensor] = {}

        def run():
            found.update(ChainCall._gradients(self, known, tops))
            return found.values()

        _, function, reason = taped(run, [*known.values(), *tops.values()])
        self._noted.backwards[key] = tuple(found), function
        self.chain.count(reason)
        return found


class NotingCall(NotedCall):
    """A call that is noted, for the next ones of its kind."""

    def __init__(self, chain: Chain, context: Context, key: tuple):
        ChainCall.__init__(self, chain, context)
        self._key = key

    def forward(self, tensors) -> tuple[Tensor, ...]:
        calls: list[Call] = []

        def run():
            results = self._compute(tensors, calls)
            return *results, *self._kept.values()

        found, function, reason = taped(run, tensors)
        reads, unsettled = settled(calls)
        reason = unsettled or reason
        self._noted = Noted(
            None if reason else function,
            reads,
            self._steps,
            tuple(self._kept),
            self.is_constant,
        )
        self.chain.keep(self._key, self._noted, reason)
        return found[: len(self.chain.results)]


def _forward(node: Node, it: Call, tensors: tuple) -> tuple[Tensor, ...]:
    try:
        return it.forward(tensors)
    except Exception as error:
        shapes = {n: tuple(t.shape) for n, t in zip(it.inputs, tensors) if t is not None}
        note(error, in_graph(node, shapes))
        raise


class Known(Call):
    """The call of an operator again, whose outputs are known."""

    def __init__(self, step: Step, known: dict[int, Tensor], device: torch.device):
        it = step.it
        self.what, self.twice, self.kept, self.backward = it.what, it.twice, it.kept, it.backward
        self._step, self._known, self._device = step, known, device

    def forward(self, tensors) -> tuple[Tensor, ...]:
        outputs = zip(self._step.link.outputs, self._step.output_kinds)
        known, device = self._known, self._device
        return tuple([known[i].detach() if i in known else blank(k, device) for i, k in outputs])


class Past(torch.autograd.Function):
    """The past of a tensor, without its value."""

    @staticmethod
    def forward(ctx, x: Tensor):
        return blank((x.shape, x.dtype), x.device)

    @staticmethod
    def backward(ctx, dy: Tensor):
        return dy


def blank(kind: Kind, device: torch.device) -> Tensor:
    """A tensor that is not looked at, in the memory of one number."""
    shape, dtype = kind
    value = torch.nan if dtype.is_floating_point else 0
    return torch.full((), value, dtype=dtype, device=device).expand(shape)
