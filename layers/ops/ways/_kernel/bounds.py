"""Survey of a kernel before it runs: shapes of buffers, ranges of loops, indices in range.

If the shapes are known, integers have bounds. A loop variable is bounded by its range, a sum or
product by its operands. An access whose indices are proven to be in range is not checked at run
time.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from .expansion import is_element
from .intrinsics import DTYPES, FUNCTIONS
from .program import Program, called_name, is_shape
from .sizes import unknown_size

__all__ = ["Plan", "Span", "survey"]

LARGEST = 1 << 60  # beyond it no bounds are known, because machine integers wrap around
CALL = 20  # additions in the time of one exp or tanh
_CHEAP = {*DTYPES, "max", "min", "abs", "sqrt"}


class Span(NamedTuple):
    """Range of integers from `low` to `high`, both included."""

    low: int
    high: int


@dataclass
class Plan:
    """Plan of a kernel's run, for inputs of certain shapes."""

    shapes: list[tuple[int, ...]] = field(default_factory=list)  # of the buffers, in order
    unproven: set[int] = field(default_factory=set)  # accesses that may be out of range
    ranges: list[range | None] = field(default_factory=list)  # of the statements that are loops
    work: list[int] = field(default_factory=list)  # of the statements, in additions, roughly
    parts: list[tuple[int, range | None]] = field(default_factory=list)  # where loops are spread


def survey(program: Program, body: list[ast.stmt], shapes: dict, integers: dict) -> Plan:
    """Plan a run of a kernel, for known shapes and known values of integer parameters.

    Raises
    ------
    KernelError
        The shape of a buffer depends on values, or is negative.
    """
    survey = _Survey(program, shapes, {n: Span(v, v) for n, v in integers.items()})
    for node in body:
        survey.plan.work.append(survey.statement(node))
        survey.plan.ranges.append(survey.range if isinstance(node, ast.For) else None)
    return survey.plan


class _Survey:
    def __init__(self, program: Program, shapes: dict, known: dict[str, Span]):
        self.program, self.shapes, self.known = program, dict(shapes), known
        self.plan = Plan()
        self.range: range | None = None  # of the loop that was visited last

    def block(self, body: Sequence[ast.stmt]) -> int:
        return sum(self.statement(node) for node in body)

    def statement(self, node: ast.stmt) -> int:
        if isinstance(node, ast.For):
            return self.loop(node)
        if isinstance(node, ast.If):
            self.visit(node.test)
            before = self.known
            self.known = self.known_where(node.test, True)
            work = self.block(node.body)
            self.known = before
            self.known = self.known_where(node.test, False)
            work += self.block(node.orelse)
            self.known = before
            return work
        if isinstance(node, ast.AugAssign):
            self.visit(node.value)
            self.visit(node.target)
            return _cost(node)
        target = node.targets[0]
        if isinstance(target, ast.Subscript):
            self.visit(node.value)
            self.visit(target)
        elif target.id in self.program.buffers:
            self.allocate(target.id)
        else:
            span = self.visit(node.value)
            # A scalar that is assigned in several places may have any of their values.
            self.bind(target.id, span if self.program.stores[target.id] == 1 else None)
        return _cost(node)

    def bind(self, name: str, span: Span | None) -> None:
        self.known.pop(name, None)
        if span is not None:
            self.known[name] = span

    def loop(self, node: ast.For) -> int:
        spans = [self.visit(a) for a in node.iter.args]
        start, stop, step = {1: [Span(0, 0), *spans, Span(1, 1)], 2: [*spans, Span(1, 1)]}.get(
            len(spans), spans
        )
        first, last, trips = None, None, 1
        if start and stop and step and step.low == step.high != 0:
            s = step.low
            first = start.low if s > 0 else stop.low + 1
            last = stop.high - 1 if s > 0 else start.high
            trips = max(0, (last - first) // abs(s) + 1)
        if trips:
            span = None if first is None else Span(first, last)
            self.bind(node.target.id, span)
            trips *= 1 + self.block(node.body)
        exact = all(s is not None and s.low == s.high for s in (start, stop, step))
        self.range = range(start.low, stop.low, step.low) if exact and step.low else None
        return trips

    def allocate(self, name: str) -> None:
        buffer = self.program.buffers[name]
        if is_shape(buffer.shape):
            shape = self.shapes[buffer.shape.value.id]
        else:
            single = not isinstance(buffer.shape, ast.Tuple)
            sizes = [buffer.shape] if single else buffer.shape.elts
            shape = tuple(self.size(node) for node in sizes)
        self.shapes[name] = shape
        self.plan.shapes.append(shape)

    def size(self, node: ast.expr) -> int:
        span = self.visit(node)
        if span is None or span.low != span.high:
            raise unknown_size(self.program, node)
        if span.low < 0:
            raise self.program.source.error(node, f"a size of {span.low}", "0 or more")
        return span.low

    # Expressions: every access is examined, and known bounds are returned.

    def visit(self, node: ast.expr) -> Span | None:
        visit = _VISITS.get(type(node))
        if visit is not None:
            return visit(self, node)
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.expr):
                self.visit(child)
        return None

    def constant(self, node: ast.Constant) -> Span | None:
        return Span(node.value, node.value) if type(node.value) is int else None

    def name(self, node: ast.Name) -> Span | None:
        return self.known.get(node.id)

    def subscript(self, node: ast.Subscript) -> Span | None:
        if not is_element(node):
            n = self.shapes[node.value.value.id][node.slice.value]
            return Span(n, n)
        for index, n in zip(node.slice.elts, self.shapes[node.value.id]):
            span = self.visit(index)
            if span is not None and _is_negative_constant(index):
                span = Span(n + span.low, n + span.high)
            if span is None or span.low < 0 or span.high >= n:
                self.plan.unproven.add(node.site)
        return None

    def unary(self, node: ast.UnaryOp) -> Span | None:
        span = self.visit(node.operand)
        if span is None or isinstance(node.op, ast.Not):
            return None
        return span if isinstance(node.op, ast.UAdd) else Span(-span.high, -span.low)

    def binary(self, node: ast.BinOp) -> Span | None:
        a, b = self.visit(node.left), self.visit(node.right)
        if a is None or b is None:
            return None
        exact = a.low == a.high and b.low == b.high
        if isinstance(node.op, (ast.FloorDiv, ast.Mod)) and b.low <= 0 <= b.high:
            return None
        if isinstance(node.op, ast.Mod) and not exact:
            if b.low <= 0:
                return None
            return a if a.low >= 0 and a.high < b.low else Span(0, b.high - 1)
        if isinstance(node.op, ast.Pow) and not (exact and 0 <= b.low < 64):
            return None
        return _hull(_CORNERS.get(type(node.op)), a, b)

    def conditional(self, node: ast.IfExp) -> Span | None:
        self.visit(node.test)
        before = self.known
        self.known = self.known_where(node.test, True)
        a = self.visit(node.body)
        self.known = before
        self.known = self.known_where(node.test, False)
        b = self.visit(node.orelse)
        self.known = before
        return Span(min(a.low, b.low), max(a.high, b.high)) if a and b else None

    def logical(self, node: ast.BoolOp) -> None:
        before = self.known
        # Evaluated only if all values before it are true (and) or false (or).
        for value in node.values:
            self.visit(value)
            self.known = self.known_where(value, isinstance(node.op, ast.And))
        self.known = before

    def call(self, node: ast.Call) -> Span | None:
        spans = [self.visit(a) for a in node.args]
        name = called_name(node)
        if None in spans:
            return None
        if name == "ceil_div" and spans[1].low > 0:
            return _hull(FUNCTIONS[name], *spans)
        if name not in ("max", "min"):
            return None
        choose = max if name == "max" else min
        return Span(choose(s.low for s in spans), choose(s.high for s in spans))

    # Conditions

    def known_where(self, test: ast.expr, truth: bool) -> dict[str, Span]:
        """Return the bounds that are known where a condition has the value `truth`."""
        known = dict(self.known)
        for node, holds in _conditions(test, truth):
            left, op, right = node.left, type(node.ops[0]), node.comparators[0]
            for a, b, sign in ((left, right, op), (right, left, _MIRROR.get(op))):
                sign = sign if holds else _OPPOSITE.get(sign)
                if isinstance(a, ast.Name) and a.id in known and sign in _NARROW:
                    other = self.bounds_of(b)
                    if other is not None:
                        span = Span(*_NARROW[sign](known[a.id], other))
                        # An empty span: the branch is never taken, so any bounds will do.
                        known[a.id] = span if span.low <= span.high else known[a.id]
        return known

    def bounds_of(self, node: ast.expr) -> Span | None:
        """Return the bounds of an expression whose accesses have already been examined."""
        unproven = set(self.plan.unproven)
        span = self.visit(node)
        self.plan.unproven = unproven
        return span


def _conditions(test: ast.expr, truth: bool):
    """Yield comparisons, and True if each holds, else False, where the condition is `truth`."""
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        yield from _conditions(test.operand, not truth)
    elif isinstance(test, ast.BoolOp) and isinstance(test.op, ast.And if truth else ast.Or):
        for value in test.values:
            yield from _conditions(value, truth)
    elif isinstance(test, ast.Compare):
        if len(test.ops) == 1:
            yield test, truth
        elif truth:
            values = [test.left, *test.comparators]
            for left, op, right in zip(values, test.ops, values[1:]):
                yield ast.Compare(left, [op], [right]), True


def _hull(corner: Callable | None, a: Span, b: Span) -> Span | None:
    if corner is None:
        return None
    corners = [corner(x, y) for x in a for y in b]
    low, high = min(corners), max(corners)
    return Span(low, high) if low > -LARGEST and high < LARGEST else None


def _cost(node: ast.stmt) -> int:
    """Return an estimate of a statement's time, in additions."""
    calls = (n for n in ast.walk(node) if isinstance(n, (ast.Call, ast.Pow)))
    return 1 + sum(CALL for n in calls if called_name(n) not in _CHEAP)


def _is_negative_constant(node: ast.expr) -> bool:
    return isinstance(node, ast.UnaryOp) and isinstance(node.operand, ast.Constant)


_CORNERS: dict[type, Callable] = {
    ast.Add: int.__add__,
    ast.Sub: int.__sub__,
    ast.Mult: int.__mul__,
    ast.FloorDiv: int.__floordiv__,
    ast.Mod: int.__mod__,
    ast.Pow: int.__pow__,
}
_MIRROR = {ast.Lt: ast.Gt, ast.Gt: ast.Lt, ast.LtE: ast.GtE, ast.GtE: ast.LtE, ast.Eq: ast.Eq}
_OPPOSITE = {ast.Lt: ast.GtE, ast.GtE: ast.Lt, ast.Gt: ast.LtE, ast.LtE: ast.Gt}
_OPPOSITE[ast.NotEq] = ast.Eq
_NARROW: dict[type, Callable] = {
    ast.Lt: lambda a, b: (a.low, min(a.high, b.high - 1)),
    ast.LtE: lambda a, b: (a.low, min(a.high, b.high)),
    ast.Gt: lambda a, b: (max(a.low, b.low + 1), a.high),
    ast.GtE: lambda a, b: (max(a.low, b.low), a.high),
    ast.Eq: lambda a, b: (max(a.low, b.low), min(a.high, b.high)),
}
_VISITS: dict[type, Callable] = {
    ast.BinOp: _Survey.binary,
    ast.BoolOp: _Survey.logical,
    ast.Call: _Survey.call,
    ast.Constant: _Survey.constant,
    ast.IfExp: _Survey.conditional,
    ast.Name: _Survey.name,
    ast.Subscript: _Survey.subscript,
    ast.UnaryOp: _Survey.unary,
}
