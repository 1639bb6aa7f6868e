"""Operators of one's own that follow one another in a graph, as one function for autograd.

What PyTorch's autograd does around a function costs more than a small operator, and so does the
Python between PyTorch's functions. In a chain the first is done once: what its operators keep for
their gradients is kept together, and in backward each hands its gradients to the one before it.
And where their Python does nothing but call PyTorch, it is noted once and done again without it.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from itertools import count
from typing import NamedTuple

import torch

from .._custom import placed, prepared
from .._effects import Read
from .._function import Call, Differentiable, Kind, call, kinds_of
from .._op import Op
from .._tape import taped
from .._whole import settled
from ..autograd import state
from ..base import note
from ..context import Context
from ._node import Entry, Node
from ._program import place

log = logging.getLogger("layers.mxnet.hybridize")
Tensor = torch.Tensor
Numbers = tuple[int | None, ...]  # of values in a chain; None for an input that is left out
KINDS = 64  # of calls of a chain that are noted


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


class Way:
    """What is noted of calls with tensors of the same kinds, once there was one.

    Attributes
    ----------
    steps : list of Step
    saved : tuple of int
        The numbers of what is kept for the gradients.
    forward : callable or None
        From the inputs to the outputs and what is kept.
    backwards : dict of tuple to (numbers, callable)
        From what is kept and the gradients of the outputs to those of the inputs; by which outputs
        have one.
    """

    def __init__(self):
        self.steps: list[Step] = []
        self.saved: Numbers = ()
        self.forward: Callable | None = None
        self.backwards: dict[tuple, tuple[Numbers, Callable]] = {}


class Chain(Op):
    """The operators of nodes that follow one another.

    Its values have numbers: its inputs first, then what its nodes compute.

    Parameters
    ----------
    nodes : list of Node
    asked : set of (Node, int)
        What is an output, if it is computed here.

    Attributes
    ----------
    sources, targets : list of (Node, int)
        What its inputs are of other nodes, and its outputs of these.
    """

    own = tells = True

    def __init__(self, nodes: list[Node], asked: set[Entry]):
        super().__init__(self._run, "chain")
        computed = [e for n in nodes for e in n.entries]
        used = [e for n in nodes for e in n.inputs]
        self.sources = [*dict.fromkeys(e for e in used if e not in computed)]
        self.targets = [e for e in computed if e in asked]
        numbers = dict(zip([*self.sources, *computed], count()))
        self.results = [numbers[e] for e in self.targets]
        last = {e: e[0] for e in computed} | {e: n for n in nodes for e in n.inputs}
        self.links: list[Link] = []
        for node in nodes:
            inputs = [numbers[e] for e in node.inputs]
            given = [None if i is None else inputs[i] for i in placed(node.attributes, len(inputs))]
            outputs = [numbers[e] for e in node.entries]
            done = [numbers[e] for e in computed if last[e] is node and e not in asked]
            self.links.append(Link(node, *map(tuple, (inputs, given, outputs, done))))
        self._reads: list[Read] | None = None  # before a first call
        self._refusal = ""
        self._ways: dict[tuple, Way] = {}

    def output_names(self, attributes: dict) -> list[str]:
        return [f"output{i}" for i in range(len(self.results))]

    def _run(self, *data: Tensor, context: Context):
        it = ChainCall(self, context, self._way(data, context))
        results = call(it, data)
        it.keep_past(data)
        return results if len(results) > 1 else results[0]

    def _way(self, tensors: tuple, context: Context) -> Way | None:
        """What is noted of such calls; None if their Python is to run."""
        if self._reads is None or self._refusal or any(r.has_changed() for r in self._reads):
            return None
        kinds = [(t.shape, t.stride(), t.dtype, t.requires_grad) for t in tensors]
        key = (context, state.training, state.recording, *kinds)
        way = self._ways.get(key)
        if way is None and len(self._ways) < KINDS:
            way = self._ways[key] = Way()
        return way

    def look(self, its: list[Call]) -> None:
        """Read the code of the operators, after a first call."""
        if self._reads is None:
            self._reads, reason = settled(its)
            self.refuse(reason)

    def refuse(self, reason: str) -> None:
        """Have the Python of the operators run in each call from now on, if there is a reason."""
        if reason and not self._refusal:
            self._refusal = reason
            self._ways.clear()
            names = ", ".join(link.node.name for link in self.links)
            log.debug("the Python of %s runs in each call: %s", names, reason)


class ChainCall(Call):
    """One call of a chain."""

    twice = sparse = True

    def __init__(self, chain: Chain, context: Context, way: Way | None):
        self.chain, self.context, self._way = chain, context, way
        self._steps: list[Step] = []
        self._saved: dict[int, Tensor] = {}
        self._keys: tuple[int, ...] = ()  # what PyTorch has saved, once it has
        self._pasts: dict[int, Tensor] = {}

    # Forward

    def forward(self, tensors) -> tuple[Tensor, ...]:
        way = self._way
        if way is None:
            return self._compute(tensors)
        if way.forward is None:
            return self._noted(way, tensors)
        found, n = way.forward(*tensors), len(self.chain.results)
        self._steps, self._saved = way.steps, dict(zip(way.saved, found[n:]))
        return found[:n]

    def _noted(self, way: Way, tensors: tuple) -> tuple[Tensor, ...]:
        """Compute, and note how."""
        found, function, reason = taped(
            lambda: (*self._compute(tensors), *self._saved.values()), tensors
        )
        way.steps, way.saved, way.forward = self._steps, tuple(self._saved), function
        self.chain.refuse(reason)
        return found[: len(self.chain.results)]

    def _compute(self, tensors: tuple) -> tuple[Tensor, ...]:
        """The outputs, by the operators' own Python."""
        values = dict(enumerate(tensors))
        asking = {i for i, t in values.items() if t.requires_grad and state.recording}
        its = []
        for link in self.chain.links:
            given = [values[i] for i in link.inputs]
            it, given = prepared(given, link.node.attributes, self.context)
            results = _forward(link.node, it, tuple(given))
            values |= zip(link.outputs, results)
            asked = tuple([i in asking for i in link.given])
            if True in asked:
                asking |= {i for i, y in zip(link.outputs, results) if y.is_floating_point()}
                kept = tuple(it.kept(link.given, link.outputs, asked))
                self._saved |= {i: values[i] for i in kept if i is not None}
                step = Step(link, it, asked, kept, kinds_of(given), kinds_of(results))
                self._steps.append(step)
            for i in link.done:
                del values[i]
            its.append(it)
        self.chain.look(its)
        return tuple([values[i] for i in self.chain.results])

    def kept(self, inputs, outputs, asked) -> list[Tensor]:
        tensors = [*self._saved.values()]
        self._keys, self._saved = tuple(self._saved), {}  # PyTorch has them now, and frees them
        return tensors

    def keep_past(self, tensors: tuple) -> None:
        """Keep the past of inputs whose values are not kept: a second derivative goes there."""
        for i, t in enumerate(tensors):
            if t.requires_grad and state.recording and i not in self._keys:
                self._pasts[i] = t if t.is_leaf else Past.apply(t)

    # Backward

    def backward(self, kept, dys, kinds, asked) -> tuple[Tensor | None, ...]:
        known = dict(zip(self._keys, kept))
        tops = {i: dy for i, dy in zip(self.chain.results, dys) if dy is not None}
        if torch.is_grad_enabled():
            found = self._differentiable(known, tops, asked, kinds)
        elif self._way is None:
            found = self._gradients(known, tops)
        else:
            found = self._noted_gradients(self._way, known, tops)
        return tuple([found.get(i) if a else None for i, a in enumerate(asked)])

    def _noted_gradients(self, way: Way, known: dict, tops: dict) -> dict[int, Tensor]:
        """The gradients of the inputs, by what is noted; if nothing is, it is now."""
        tensors = [*known.values(), *tops.values()]
        key = tuple([(i, dy.stride()) for i, dy in tops.items()])
        if key in way.backwards:
            numbers, function = way.backwards[key]
            return dict(zip(numbers, function(*tensors)))
        gradients: dict[int, Tensor] = {}

        def run():
            gradients.update(self._gradients(known, tops))
            return gradients.values()

        _, function, reason = taped(run, tensors)
        if function is not None:
            way.backwards[key] = tuple(gradients), function
        self.chain.refuse(reason)
        return gradients

    def _gradients(self, known: dict, tops: dict) -> dict[int, Tensor]:
        """The gradients of the inputs, from those of the outputs, by the operators' own Python."""
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
        gradients = torch.autograd.grad(
            [values[i] for i in tops],
            [*inputs.values()],
            [*tops.values()],
            create_graph=True,
            allow_unused=True,
        )
        return dict(zip(inputs, gradients))


def _forward(node: Node, it: Call, tensors: tuple) -> tuple[Tensor, ...]:
    try:
        return it.forward(tensors)
    except Exception as error:
        shapes = {n: tuple(t.shape) for n, t in zip(it.inputs, tensors) if t is not None}
        note(error, place(node, shapes))
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
