"""Compilation of kernels with Numba, once for each combination of input types."""

from __future__ import annotations

import ast
import os
import threading
from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np

from . import threads
from .bounds import Plan, survey
from .expansion import expand, is_element
from .filling import is_filled
from .intrinsics import DTYPES
from .program import KernelError, Program
from .spreading import is_spreadable, recomputable_scalars
from .types import Emitter, native_dtype

__all__ = ["COMPILING", "Compiled", "infer_dtypes", "infer_shapes", "storage_dtype"]

VARIANTS = 4  # of a kernel for given types, by the accesses they check; beyond, all are checked
PLANS = 256  # in the cache of a kernel, one for each combination of input shapes
# The least number of additions in a loop that is spread: about 0.5 ms. A piece costs about 20 us.
MIN_WORK = 1 << 22
INTEGERS = ("int", "int64")  # the kinds of parameters on which sizes may depend

# Numba compiles one function at a time; a child that is forked meanwhile would wait forever.
COMPILING = threading.RLock()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=COMPILING.acquire,
        after_in_parent=COMPILING.release,
        after_in_child=COMPILING.release,
    )


class Compiled:
    """A kernel for inputs of given types: (dtype, rank) of a tensor, the kind of a number."""

    def __init__(self, program: Program, types: dict[str, Any]):
        self.program = program
        self.tensors = [n for n in types if n in program.tensors]
        self.numbers = [n for n in types if n in program.numbers]
        self.kinds = {n: types[n] for n in self.numbers}
        self.integers = [k for k, n in enumerate(self.numbers) if types[n] in INTEGERS]
        self.ranks = {n: types[n][1] for n in self.tensors}
        self.dtypes = {n: types[n][0] for n in self.tensors}
        for name, buffer in program.buffers.items():
            self.dtypes[name] = _dtype(buffer.dtype, self.dtypes)
        self.body = expand(program, self.ranks)
        emitter = Emitter(program, self.kinds, self.dtypes, ())
        emitter.infer(self.body)
        self.scalars = emitter.kinds
        self.buffer_dtypes = [np.dtype(storage_dtype(self.dtypes[n])) for n in program.buffers]
        self.is_rounded = "float16" in self.dtypes.values()
        self.makers = [
            np.empty if is_filled(program, self.body, n, self.ranks[n]) else np.zeros
            for n in program.buffers
        ]
        self.outputs = [[*program.buffers].index(n) for n in program.returns]
        self.prologue = recomputable_scalars(program, self.body)
        self.parts = _split_into_parts(program, self.body)
        self.plan = lru_cache(PLANS)(self._plan)
        self._variants: dict[frozenset, Variant] = {}

    def _plan(self, shapes: tuple, integers: tuple) -> tuple[Plan, Variant]:
        known = dict(zip(self.tensors, shapes))
        names = [self.numbers[k] for k in self.integers]
        plan = survey(self.program, self.body, known, dict(zip(names, integers)))
        variant = self._variant(frozenset(plan.unproven))
        plan.parts = variant.spread(plan)
        return plan, variant

    def _variant(self, unproven: frozenset) -> Variant:
        """Return the code that checks these accesses; beyond `VARIANTS`, code that checks all."""
        with COMPILING:
            if unproven not in self._variants and len(self._variants) >= VARIANTS:
                unproven = frozenset(n.site for n in _accesses(self.body))
            return self._variants.setdefault(unproven, Variant(self, unproven))

    def __call__(self, tensors: list[np.ndarray], numbers: list[Any]) -> Any:
        shapes = tuple([x.shape for x in tensors])
        integers = tuple([numbers[k] for k in self.integers]) if numbers else ()
        plan, variant = self.plan(shapes, integers)
        buffers = [
            make(shape, dtype)
            for make, shape, dtype in zip(self.makers, plan.shapes, self.buffer_dtypes)
        ]
        try:
            variant.run(plan, (*tensors, *numbers, *buffers))
        except IndexError as error:
            raise self._out_of_range(error, [*shapes, *plan.shapes]) from None
        except (ArithmeticError, ValueError) as error:
            raise type(error)(f"operator {self.program.source.name!r}: {error}") from None
        outputs = tuple([buffers[k] for k in self.outputs])
        if self.is_rounded:
            outputs = self._rounded(outputs)
        return outputs if self.program.returns_tuple else outputs[0]

    def _rounded(self, outputs: tuple) -> tuple:
        """Round float16 outputs, which are computed in float32 because Numba has no float16."""
        with np.errstate(all="ignore"):
            return tuple(
                y.astype("float16") if self.dtypes[n] == "float16" else y
                for n, y in zip(self.program.returns, outputs)
            )

    def _out_of_range(self, error: IndexError, shapes: list[tuple]) -> IndexError:
        site, axis, index = error.args
        node = next(n for n in _accesses(self.body) if n.site == site)
        name = node.value.id
        shape = dict(zip([*self.tensors, *self.program.buffers], shapes))[name]
        shown = self.program.source.error(
            node,
            f"index {index} is out of range for axis {axis} of {name!r}, {shape}",
            f"{-shape[axis]} to {shape[axis] - 1}" if shape[axis] else "no access",
        )
        return IndexError(str(shown))


class Variant:
    """Functions of a kernel that check the same accesses, each compiled at its first use."""

    def __init__(self, kernel: Compiled, unproven: frozenset):
        self.kernel, self.unproven = kernel, unproven
        self._functions: dict[int | None, Callable] = {}

    def spread(self, plan: Plan) -> list[tuple[int, range | None]]:
        """Return the parts to run one after another, with the range of each loop that is spread.

        The result is empty if the kernel runs as a whole.
        """
        kernel = self.kernel
        if kernel.prologue is None or threads.count() == 1:
            return []
        parts: list[tuple[int, range | None]] = []
        for k, part in enumerate(kernel.parts):
            iterations = plan.ranges[part[0]]
            worth = iterations and len(iterations) > 1 and plan.work[part[0]] >= MIN_WORK
            parts.append((k, iterations if worth and self._may_spread(part) else None))
        return parts if any(iterations for _, iterations in parts) else []

    def _may_spread(self, part: list[int]) -> bool:
        """True for a loop that can be spread and whose indices of buffers are all in range.

        A negative index could belong to another iteration.
        """
        loop, kernel = self.kernel.body[part[0]], self.kernel
        return is_spreadable(kernel.program, loop) and not any(
            n.site in self.unproven and n.value.id in kernel.program.buffers
            for n in _accesses([loop])
        )

    def run(self, plan: Plan, values: tuple) -> None:
        if not plan.parts:
            self._function(None, False)(*values)
        for k, iterations in plan.parts:
            function = self._function(k, iterations is not None)
            if iterations is None:
                function(*values)
            else:
                threads.spread(lambda r, run=function: run(*values, r.start, r.stop), iterations)

    def _function(self, part: int | None, in_pieces: bool) -> Callable:
        key = (part, in_pieces)
        if key not in self._functions:
            with COMPILING:
                if key not in self._functions:
                    self._functions[key] = self._compile(part, in_pieces)
        return self._functions[key]

    def _compile(self, part: int | None, in_pieces: bool) -> Callable:
        name = self.kernel.program.source.name
        try:
            from .native import NAMES, build
        except ModuleNotFoundError as error:
            if (error.name or "").partition(".")[0] not in ("numba", "llvmlite"):
                raise
            raise ModuleNotFoundError(
                f"operator {name!r}: compiling a kernel needs Numba, which is not installed\n"
                "  expected pip install numba",
                name=error.name,
            ) from None
        scope = dict(NAMES)
        text = self.text(part, in_pieces)
        exec(compile(text, f"<kernel {name}>", "exec"), scope)
        kernel = self.kernel
        types = [(storage_dtype(kernel.dtypes[n]), kernel.ranks[n]) for n in kernel.tensors]
        types += [native_dtype(frozenset([kernel.kinds[n]])) for n in kernel.numbers]
        types += [
            (storage_dtype(kernel.dtypes[n]), kernel.ranks[n]) for n in kernel.program.buffers
        ]
        types += ["int64", "int64"] * in_pieces
        try:
            return build(scope["kernel"], types)
        except Exception as error:  # Numba raises errors of many types
            shown = ", ".join(f"{n} {d}" for n, d in kernel.dtypes.items())
            raise KernelError(
                f"operator {name!r}: Numba cannot compile it for {shown}\n"
                f"  it says: {str(error).strip()}"
            ) from error

    def text(self, part: int | None, in_pieces: bool) -> str:
        """Return the code of a part, or of the whole kernel."""
        kernel = self.kernel
        emitter = Emitter(kernel.program, {}, kernel.dtypes, self.unproven)
        emitter.kinds = dict(kernel.scalars)
        names = [f"u_{n}" for n in (*kernel.tensors, *kernel.numbers, *kernel.program.buffers)]
        nodes = kernel.body if part is None else [kernel.body[n] for n in kernel.parts[part]]
        if in_pieces:
            emitter.piece = nodes[0]
            names += ["start", "stop"]
        lines = [] if part is None else emitter.write(kernel.prologue)
        lines = [*lines, *emitter.write(nodes)]
        return "\n".join([f"def kernel({', '.join(names)}):", *lines, "    return", ""])


def infer_shapes(program: Program, values: dict[str, Any]) -> list[tuple[int, ...]]:
    """Return the shapes of outputs, from shapes of tensors and from numbers, without compiling."""
    shapes = {n: values[n] for n in program.tensors}
    body = expand(program, {n: len(shape) for n, shape in shapes.items()})
    numbers = {n: values[n] for n in program.numbers if not isinstance(values[n], bool)}
    integers = {n: int(x) for n, x in numbers.items() if isinstance(x, (int, np.integer))}
    plan = survey(program, body, shapes, integers)
    found = dict(zip(program.buffers, plan.shapes))
    return [found[n] for n in program.returns]


def infer_dtypes(program: Program, dtypes: dict[str, Any]) -> list[str]:
    """Return the dtypes of outputs, from the dtypes of tensors."""
    dtypes = {n: dtypes[n] for n in program.tensors}
    for name, buffer in program.buffers.items():
        dtypes[name] = _dtype(buffer.dtype, dtypes)
    return [dtypes[n].rstrip("_") for n in program.returns]  # bool_ is bool


def _split_into_parts(program: Program, body: list[ast.stmt]) -> list[list[int]]:
    """Return the numbers of the statements in each part.

    A loop that may be spread is a part of its own, and so are the statements between two such
    loops. Assignments of scalars and tensors belong to no part, because every part repeats them.
    """
    parts: list[list[int]] = []
    ends_part = True
    for k, node in enumerate(body):
        if isinstance(node, ast.Assign) and not is_element(node.targets[0]):
            continue
        spreadable = is_spreadable(program, node)
        if ends_part or spreadable:
            parts.append([])
        parts[-1].append(k)
        ends_part = spreadable
    return parts


def _accesses(body: list[ast.stmt]) -> list[ast.Subscript]:
    return [n for s in body for n in ast.walk(s) if is_element(n)]


def storage_dtype(kind: str) -> str:
    """Return the dtype of a tensor in compiled code."""
    return {"float16": "float32", "bool_": "bool"}.get(kind, kind)


def _dtype(node: ast.expr, known: dict[str, str]) -> str:
    """Return the kind of a buffer from its dtype argument: x.dtype, a name or text."""
    if isinstance(node, ast.Attribute):
        return known[node.value.id]
    kind = node.id if isinstance(node, ast.Name) else node.value
    return kind if kind in DTYPES else "bool_"
