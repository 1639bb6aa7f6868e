"""Language of loop kernels, and its checker.

A kernel takes tensors and numbers, makes tensors with `output_tensor` and `allocate`, fills them
element by element in loops, and returns output tensors::

    def scaled(x, factor):
        y = output_tensor(x.shape, x.dtype)
        for i in range(x.shape[0]):
            y[i] = factor * x[i]
        return y

It is a small subset of Python: it runs as Python, it can be compiled, and its indices can be proven
to be in range.
"""

from __future__ import annotations

import ast
import inspect
import textwrap
from collections.abc import Callable
from typing import NoReturn

from .intrinsics import ARITIES, BUFFERS, DTYPES, FUNCTIONS, GRID, LOOPS
from .program import (
    Buffer,
    KernelError,
    Program,
    Source,
    called_name,
    describe,
    is_shape,
    literal_int,
    size_node,
    tensors_and_numbers,
)
from .sizes import check_sizes

__all__ = ["read"]

ARITHMETIC = (ast.Add, ast.Sub, ast.Mult, ast.Div, ast.FloorDiv, ast.Mod, ast.Pow)
COMPARISONS = (ast.Lt, ast.LtE, ast.Gt, ast.GtE, ast.Eq, ast.NotEq)
STATEMENTS = "assignments, for, if, pass, and a return at the end"
EXPRESSIONS = (
    "numbers, names, elements x[i, j], x.shape[0], + - * / // % **, comparisons, and, or, not, "
    "conditional expressions and intrinsics"
)


def read(function: Callable) -> Program:
    """Parse and check a kernel that is written as a Python function.

    Raises
    ------
    KernelError
        The function has no source, or is not in the language; the message shows the line.
    """
    name = getattr(function, "__name__", repr(function))
    if not inspect.isfunction(function):
        raise KernelError(
            f"operator {name!r}: a kernel is made of {type(function).__name__}\n"
            "  expected a function written in Python"
        )
    try:
        lines, first = inspect.getsourcelines(function)
    except (OSError, TypeError) as error:
        raise KernelError.unreadable(name, function, error) from None
    text = textwrap.dedent("".join(lines))
    indent = len(lines[0]) - len(lines[0].lstrip())
    source = Source(name, function.__code__.co_filename, first, indent, text.splitlines())
    try:
        node = next(iter(ast.parse(text).body), None)
    except SyntaxError:  # a lambda in the middle of a line
        node = None
    written = function.__code__.co_name
    if written not in (getattr(node, "name", None), "<lambda>"):
        # From Python 3.13 on, all functions that exec() defines inside python -c seem to have its
        # text.
        raise KernelError.unreadable(name, function, f"line {first} does not define it")
    if not isinstance(node, ast.FunctionDef):
        raise KernelError(
            f"operator {name!r}: it is not written as a function of its own\n"
            f"  expected def {name if name.isidentifier() else 'f'}(...)\n"
            f"  in {source.file}, line {first}"
        )
    return check_sizes(_Checker(source, node).program)


class _Checker:
    """Checker that walks the statements in order, tracks the meaning of names, renames scalars."""

    def __init__(self, source: Source, function: ast.FunctionDef):
        self.source = source
        parameters = self.parameters(function)
        tensors, numbers = tensors_and_numbers(function, parameters)
        self.program = Program(source, parameters, tensors, numbers)
        self.visible: dict[str, str] = {}  # scalars: user's name to new name
        # Scalars: the loop or branch where they were set.
        self.out_of_scope: dict[str, ast.AST] = {}
        self.loop_names: dict[str, str] = {}
        self.grid_points: set[str] = set()  # loop variables that stand for all indices of a grid
        self.loops = [0]
        self.count = 0  # number of loops
        self.names: dict[tuple[str, int], str] = {}
        body = function.body
        if isinstance(body[0], ast.Expr) and isinstance(body[0].value, ast.Constant):
            body = body[1:] or [body[0]]
        self.program.body = self.block(body[:-1])
        self.final_return(body[-1], function)

    def refuse(self, node: ast.AST, problem: str, expected: str) -> NoReturn:
        raise self.source.error(node, problem, expected)

    def parameters(self, function: ast.FunctionDef) -> tuple[str, ...]:
        a = function.args
        for other in (a.vararg, a.kwarg, *a.kwonlyargs, *a.defaults):
            if other is not None:
                self.refuse(other, "a parameter with a star, a default or by name", "plain names")
        names = [*a.posonlyargs, *a.args]
        for name in names:
            if name.arg in ARITIES:
                self.refuse(name, f"{name.arg!r} is the name of an intrinsic", "another name")
        return tuple(name.arg for name in names)

    # Statements

    def block(self, statements: list[ast.stmt]) -> list[ast.stmt]:
        checked: list[ast.stmt] = []
        for node in statements:
            check = _STATEMENTS.get(type(node))
            if check is None:
                self.refuse(node, f"{describe(node)} is not in the language", STATEMENTS)
            checked += check(self, node)
        return checked

    def empty(self, node: ast.Pass) -> list[ast.stmt]:
        return []

    def early_return(self, node: ast.Return) -> NoReturn:
        self.refuse(node, "a return before the end", "one return, as the last statement")

    def assign(self, node: ast.Assign) -> list[ast.stmt]:
        target = node.targets[0]
        if len(node.targets) > 1:
            self.refuse(node, "several targets in one assignment", "one target: x = ...")
        if isinstance(target, ast.Tuple):
            return self.sizes(target, node)
        if isinstance(target, ast.Name) and called_name(node.value) in BUFFERS:
            return self.buffer(target, node.value)
        node.value = self.value(node.value)
        node.targets = [self.target(target)]
        return [node]

    def augmented(self, node: ast.AugAssign) -> list[ast.stmt]:
        if not isinstance(node.op, ARITHMETIC):
            self.refuse(node, "an operation that is not in the language", "+= -= *= /= //= %= **=")
        node.value = self.value(node.value)
        if isinstance(node.target, ast.Name) and node.target.id not in self.visible:
            self.value(node.target)  # raises the error for a name of another kind
            self.refuse(node.target, f"{node.target.id!r} is no scalar of the kernel", "a scalar")
        node.target = self.target(node.target)
        return [node]

    def target(self, node: ast.expr) -> ast.expr:
        if isinstance(node, ast.Subscript):
            if getattr(node.value, "id", None) in self.program.parameters:
                name = node.value.id
                self.refuse(
                    node,
                    f"the input {name!r} is written",
                    f"a tensor of the kernel: copy {name} into an output_tensor or an allocate",
                )
            return self.element(node)
        if not isinstance(node, ast.Name):
            self.refuse(node, f"{describe(node)} is assigned", "a scalar, or an element y[i]")
        self.refuse_reserved(node)
        return self.scalar(node)

    def refuse_reserved(self, node: ast.Name) -> None:
        """Refuse to assign a name that has another meaning."""
        kinds = {
            "a loop variable, which cannot be overwritten": {*self.loop_names} | self.grid_points,
            "a tensor, which cannot be assigned as a whole": self.tensors,
            "a parameter, which cannot be overwritten": self.program.parameters,
            "the name of an intrinsic": ARITIES,
        }
        for kind, names in kinds.items():
            if node.id in names:
                self.refuse(node, f"{node.id!r} is {kind}", "another name, or an element y[i]")

    @property
    def tensors(self) -> set[str]:
        return {*self.program.tensors, *self.program.buffers}

    def scalar(self, node: ast.Name) -> ast.Name:
        """Rename a scalar that is assigned, and count the assignment."""
        if node.id not in self.visible:
            self.visible[node.id] = self.distinct_name(node.id, self.loops[-1])
        node.id = self.visible[node.id]
        self.program.stores[node.id] += 1
        return node

    def distinct_name(self, name: str, loop: int) -> str:
        """Return the new name of a variable that is declared under this name in this loop."""
        taken = {*self.names.values(), *self.tensors, *self.program.parameters}
        candidate, n = name, 1
        if (name, loop) not in self.names:
            while candidate in taken:
                n += 1
                candidate = f"{name}__{n}"
            self.names[name, loop] = candidate
            self.program.scopes[candidate] = loop
        return self.names[name, loop]

    def sizes(self, target: ast.Tuple, node: ast.Assign) -> list[ast.stmt]:
        """Turn ``n, m = x.shape`` into one assignment for each size."""
        if not is_shape(node.value) or not all(isinstance(t, ast.Name) for t in target.elts):
            self.refuse(target, "several targets in one assignment", "n, m = x.shape")
        tensor = self.tensor(node.value.value)
        checked: list[ast.stmt] = []
        for axis, name in enumerate(target.elts):
            self.refuse_reserved(name)
            value = size_node(tensor, axis, node.value)
            value.expected_rank = len(target.elts)
            checked.append(ast.copy_location(ast.Assign([self.scalar(name)], value), node))
        return checked

    def buffer(self, target: ast.Name, call: ast.Call) -> list[ast.stmt]:
        self.arity(call)
        name = target.id
        if name in self.program.buffers or name in self.visible:
            self.refuse(target, f"{name!r} is defined twice", "another name")
        self.refuse_reserved(target)
        if len(self.loops) > 1 or self.branch_depth:
            self.refuse(call, "a tensor is made in a loop or a branch", "it before the loops")
        shape, dtype = call.args[:2]
        if is_shape(shape):
            self.tensor(shape.value)
        elif isinstance(shape, ast.Tuple):
            shape.elts = [self.value(e) for e in shape.elts]
        else:
            shape = self.value(shape)
        self.dtype(dtype)
        is_output = call.func.id == "output_tensor"
        self.program.buffers[name] = Buffer(shape, dtype, call, is_output)
        return [ast.copy_location(ast.Assign([target], ast.Constant(name)), call)]

    def dtype(self, node: ast.expr) -> None:
        if isinstance(node, ast.Attribute) and node.attr == "dtype":
            self.tensor(node.value)
        elif getattr(node, "id", getattr(node, "value", None)) not in DTYPES:
            self.refuse(node, f"{describe(node)} is no dtype", f"x.dtype, or {', '.join(DTYPES)}")

    branch_depth = 0

    def branch(self, node: ast.If) -> list[ast.stmt]:
        node.test = self.value(node.test)
        before = dict(self.visible)
        self.branch_depth += 1
        node.body = self.block(node.body)
        first, self.visible = self.visible, dict(before)
        node.orelse = self.block(node.orelse)
        self.branch_depth -= 1
        second = self.visible
        self.visible = {n: first[n] for n in first if n in second}
        self.out_of_scope |= dict.fromkeys({*first, *second} - {*self.visible}, node)
        return [node]

    def loop(self, node: ast.For) -> list[ast.stmt]:
        if node.orelse:
            self.refuse(node.orelse[0], "an else after a loop", "a loop without else")
        call = node.iter
        if called_name(call) not in (*LOOPS, GRID):
            loops = ", ".join(f"{n}(...)" for n in (*LOOPS, GRID))
            self.refuse(call, f"a loop over {describe(call)}", loops)
        self.arity(call)
        names = node.target.elts if isinstance(node.target, ast.Tuple) else [node.target]
        if not all(isinstance(name, ast.Name) for name in names):
            self.refuse(node.target, f"{describe(node.target)} as a loop variable", "a name")
        if call.func.id == GRID:
            self.grid(node, call)
        else:
            if isinstance(node.target, ast.Tuple):
                self.refuse(node.target, "several loop variables", "one, or a loop over grid(...)")
            call.args = [self.value(a) for a in call.args]
        before = (dict(self.visible), dict(self.loop_names), set(self.grid_points))
        self.count += 1
        self.loops.append(self.count)
        for name in names:
            self.loop_variable(name, isinstance(node.target, ast.Name) and call.func.id == GRID)
        node.body = self.block(node.body)
        self.loops.pop()
        ended = dict.fromkeys({*self.visible, *self.loop_names} - {*before[0], *before[1]}, node)
        self.out_of_scope |= ended
        self.visible, self.loop_names, self.grid_points = before
        return [node]

    def loop_variable(self, name: ast.Name, is_point: bool) -> None:
        if name.id in self.visible:
            self.refuse(name, f"{name.id!r} is a scalar already", "another name for the loop's")
        self.refuse_reserved(name)
        if is_point:
            self.grid_points.add(name.id)
        self.loop_names[name.id] = self.distinct_name(name.id, self.loops[-1])
        name.id = self.loop_names[name.id]

    def grid(self, node: ast.For, call: ast.Call) -> None:
        shape = call.args[0]
        if is_shape(shape):
            self.tensor(shape.value)
        elif isinstance(shape, ast.Tuple):
            shape.elts = [self.value(e) for e in shape.elts]
            if isinstance(node.target, ast.Tuple) and len(node.target.elts) != len(shape.elts):
                self.refuse(node.target, "not as many loop variables as sizes", "one for each")
        else:
            self.refuse(shape, f"a grid of {describe(shape)}", "x.shape, or a tuple of sizes")

    def final_return(self, node: ast.stmt, function: ast.FunctionDef) -> None:
        expected = "return y, or return y, z: all that output_tensor made"
        if not isinstance(node, ast.Return):
            self.block([node])
            self.refuse(function, "there is no return at the end", expected)
        value = node.value
        self.program.returns_tuple = isinstance(value, ast.Tuple)
        names = value.elts if isinstance(value, ast.Tuple) else [value]
        outputs = [n for n, b in self.program.buffers.items() if b.is_output]
        for name in names:
            found = getattr(name, "id", None)
            if found in self.program.parameters:
                self.refuse(
                    name,
                    f"the parameter {found!r} is returned",
                    f"an output tensor: copy {found} into one",
                )
            if found not in outputs:
                self.refuse(name or node, f"{describe(name)} is returned", expected)
        self.program.returns = tuple(n.id for n in names)
        if missing := [n for n in outputs if n not in self.program.returns]:
            call = self.program.buffers[missing[0]].node
            self.refuse(call, f"the output tensor {missing[0]!r} is not returned", expected)
        if len({*self.program.returns}) < len(names) or not names:
            self.refuse(node, "an output tensor is returned twice, or none is", expected)

    # Expressions

    def value(self, node: ast.expr) -> ast.expr:
        check = _EXPRESSIONS.get(type(node))
        if check is None:
            self.refuse(node, f"{describe(node)} is not in the language", EXPRESSIONS)
        return check(self, node)

    def constant(self, node: ast.Constant) -> ast.expr:
        if not isinstance(node.value, (bool, int, float)):
            self.refuse(node, f"{describe(node)} is no number", "a number")
        return node

    def name(self, node: ast.Name) -> ast.expr:
        known = self.visible | self.loop_names
        if node.id in self.tensors:
            self.refuse(node, f"the tensor {node.id!r} is used as a whole", f"{node.id}[i, ...]")
        if node.id in self.grid_points:
            self.refuse(node, f"{node.id!r} stands for all indices", f"x[{node.id}]")
        if node.id in ARITIES:
            self.refuse(node, f"the intrinsic {node.id!r} is not called", f"{node.id}(...)")
        if node.id in known:
            node.id = known[node.id]
        elif node.id in self.out_of_scope and node.id not in self.program.numbers:
            line = self.source.line(self.out_of_scope[node.id])
            self.refuse(
                node,
                f"{node.id!r} is used outside the loop or branch of line {line} that defines it",
                f"{node.id} = ... before line {line}",
            )
        elif node.id not in self.program.numbers:
            self.refuse(
                node,
                f"{node.id!r} is not declared",
                "a parameter or a scalar of the kernel: names outside the function are not visible",
            )
        return node

    def attribute(self, node: ast.Attribute) -> ast.expr:
        if isinstance(node.value, ast.Name) and node.value.id in self.tensors:
            if node.attr == "shape":
                self.refuse(node, "a shape as a whole", f"{node.value.id}.shape[0]")
            if node.attr == "dtype":
                self.refuse(node, "a dtype as a number", "it in output_tensor(shape, dtype)")
        self.refuse(node, f"the attribute {describe(node)}", "the shape or the dtype of a tensor")

    def subscript(self, node: ast.Subscript) -> ast.expr:
        if is_shape(node.value):
            name = self.tensor(node.value.value)
            axis = literal_int(node.slice)
            if axis is None:
                self.refuse(node.slice, f"the axis {describe(node.slice)}", "a number: x.shape[0]")
            return size_node(name, axis, node)
        return self.element(node)

    def element(self, node: ast.Subscript) -> ast.expr:
        self.tensor(node.value)
        if isinstance(node.slice, ast.Name) and node.slice.id in self.grid_points:
            node.slice.id = self.loop_names[node.slice.id]
            return node
        indices = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
        for index in indices:
            if isinstance(index, ast.Slice):
                self.refuse(node, "a slice", f"one element: {node.value.id}[i, ...]")
        checked = [self.value(index) for index in indices]
        if not checked:
            self.refuse(node, "an element without an index", f"{node.value.id}[i, ...]")
        node.slice = ast.copy_location(ast.Tuple(checked, ast.Load()), node)
        return node

    def tensor(self, node: ast.expr) -> str:
        name = getattr(node, "id", None)
        if name not in self.tensors:
            if isinstance(node, ast.Subscript):
                self.refuse(node, "an index after an index", "all indices at once: x[i, j]")
            self.refuse(
                node,
                f"{describe(node)} is no tensor of the kernel",
                ", ".join(sorted(self.tensors)),
            )
        return name

    def binary(self, node: ast.BinOp) -> ast.expr:
        if not isinstance(node.op, ARITHMETIC):
            self.refuse(node, f"the operation in {describe(node)}", "one of + - * / // % **")
        node.left, node.right = self.value(node.left), self.value(node.right)
        return node

    def unary(self, node: ast.UnaryOp) -> ast.expr:
        if isinstance(node.op, ast.Invert):
            self.refuse(node, f"the operation in {describe(node)}", "-x, +x or not x")
        node.operand = self.value(node.operand)
        return node

    def logical(self, node: ast.BoolOp) -> ast.expr:
        node.values = [self.value(v) for v in node.values]
        return node

    def comparison(self, node: ast.Compare) -> ast.expr:
        if not all(isinstance(op, COMPARISONS) for op in node.ops):
            self.refuse(node, f"the comparison {describe(node)}", "one of < <= > >= == !=")
        node.left = self.value(node.left)
        node.comparators = [self.value(c) for c in node.comparators]
        return node

    def conditional(self, node: ast.IfExp) -> ast.expr:
        node.test, node.body = self.value(node.test), self.value(node.body)
        node.orelse = self.value(node.orelse)
        return node

    def call(self, node: ast.Call) -> ast.expr:
        name = called_name(node)
        if name in BUFFERS:
            self.refuse(node, f"{name} inside an expression", f"y = {name}(shape, dtype)")
        if name in (*LOOPS, GRID):
            self.refuse(node, f"{name} outside a loop's head", f"for i in {name}(...)")
        self.arity(node)
        if name == "len":
            return size_node(self.tensor(node.args[0]), 0, node)
        node.args = [self.value(a) for a in node.args]
        return node

    def arity(self, node: ast.Call) -> None:
        name = called_name(node)
        if name not in ARITIES:
            allowed = ", ".join(sorted({*FUNCTIONS, "len"}))
            name = ast.unparse(node.func)
            self.refuse(node.func, f"{name!r} is no intrinsic", f"a call of one of {allowed}")
        least, most = ARITIES[name]
        starred = [a for a in node.args if isinstance(a, ast.Starred)]
        if node.keywords or starred:
            self.refuse(node, f"{name} with arguments by name or with a star", "plain arguments")
        if not least <= len(node.args) <= most:
            count = f"{least}" if least == most else f"{least} to {most}"
            self.refuse(node, f"{name} with {len(node.args)} arguments", count)


_STATEMENTS: dict[type, Callable] = {
    ast.Assign: _Checker.assign,
    ast.AugAssign: _Checker.augmented,
    ast.For: _Checker.loop,
    ast.If: _Checker.branch,
    ast.Pass: _Checker.empty,
    ast.Return: _Checker.early_return,
}
_EXPRESSIONS: dict[type, Callable] = {
    ast.Attribute: _Checker.attribute,
    ast.BinOp: _Checker.binary,
    ast.BoolOp: _Checker.logical,
    ast.Call: _Checker.call,
    ast.Compare: _Checker.comparison,
    ast.Constant: _Checker.constant,
    ast.IfExp: _Checker.conditional,
    ast.Name: _Checker.name,
    ast.Subscript: _Checker.subscript,
    ast.UnaryOp: _Checker.unary,
}
