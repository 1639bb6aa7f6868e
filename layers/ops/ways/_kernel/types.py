"""The dtype of every expression of a kernel, by NumPy's own rules, and the code that keeps to it.

What kind an expression has is what NumPy makes of numbers of the operands' kinds: a dtype's name,
or one of Python's numbers ('int', 'float', 'bool'), which take on the dtype they meet. A scalar
that begins as ``s = 0`` and goes on as ``s += x[i]`` has two kinds, and is kept in one dtype.
"""

from __future__ import annotations

import ast
import itertools
import math
import operator
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from .expansion import is_element
from .intrinsics import DTYPES, FLOATING, FUNCTIONS, ROUNDING, TESTS
from .program import Program, called, is_shape

__all__ = ["Emitter", "named", "native", "settle"]

WEAK = {"int": 1, "float": 1.0, "bool": True}
PYTHON = {ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/", ast.FloorDiv: "//", ast.Mod: "%",
          ast.Pow: "**", ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=", ast.Eq: "==",
          ast.NotEq: "!=", ast.And: "and", ast.Or: "or"}  # fmt: skip
FUNCTION_OF = {"+": operator.add, "-": operator.sub, "*": operator.mul, "/": operator.truediv,
               "//": operator.floordiv, "%": operator.mod, "**": operator.pow}  # fmt: skip

Kinds = frozenset


class Code(NamedTuple):
    """An expression in Numba's Python, of which kinds it can be, its value if it is a constant."""

    text: str
    kinds: Kinds
    constant: Any = None


def named(dtype: np.dtype) -> str:
    """The kind that a dtype is: its name, but for that of conditions, which Python has too."""
    return "bool_" if dtype.kind == "b" else dtype.name


def _group(kind: str) -> str:
    if kind in WEAK:
        return kind
    return {"b": "bool", "i": "int", "u": "int", "f": "float"}[np.dtype(DTYPES[kind]).kind]


def settle(kinds: Kinds) -> str | None:
    """The one kind that stands for all of them, if there is one."""
    strong = [k for k in kinds if k not in WEAK]
    groups = {_group(k) for k in strong}
    weak = kinds - {*strong}
    if not strong:
        if "bool" in weak:
            return "bool" if len(weak) == 1 else None
        return "float" if "float" in weak else "int"
    if len(strong) > 1 and groups != {"float"}:
        return None
    fits = {"float": {"int", "float"}, "int": {"int"}, "bool": {"bool"}}[groups.pop()]
    return (
        max(strong, key=lambda k: int(k[-2:]) if k[-2:].isdigit() else 0) if weak <= fits else None
    )


def native(kinds: Kinds) -> str:
    """What the compiled code keeps such a value in."""
    kind = settle(kinds)
    if kind in ("int8", "int16", "int32", "uint8", "uint16", "uint32") and "int" in kinds:
        return "int64"  # as long as it is one of Python's, it may be larger
    return _NATIVE.get(kind, kind)


_NATIVE = {"int": "int64", "float": "float64", "float16": "float32", "bool_": "bool"}


@lru_cache(maxsize=4096)
def promoted(what: str, operands: tuple[str, ...]) -> str | None:
    """The kind of an operation's or an intrinsic's result, as NumPy gives it; None for none."""
    function = FUNCTION_OF.get(what) or FUNCTIONS[what]
    numbers = [WEAK[k] if k in WEAK else DTYPES[k](1) for k in operands]
    try:
        result = function(*numbers)
    except TypeError:  # such as bool - bool
        return None
    return named(result.dtype) if isinstance(result, np.generic) else type(result).__name__


class Emitter:
    """Writes a kernel's statements for given dtypes.

    Parameters
    ----------
    kinds : dict of str to str
        Of the number parameters: a dtype or one of Python's.
    dtypes : dict of str to str
        Of all tensors.
    unproven : set of int
        The accesses whose indices are to be checked, by their number.
    """

    def __init__(self, program: Program, kinds: dict[str, str], dtypes: dict[str, str], unproven):
        self.program, self.dtypes, self.unproven = program, dtypes, unproven
        self.kinds: dict[str, Kinds] = {n: Kinds([k]) for n, k in kinds.items()}
        self.lines: list[str] = []
        self.piece: ast.For | None = None  # the loop that runs over a part of its range

    def infer(self, body: list[ast.stmt]) -> None:
        """Find the kinds of all scalars: what is assigned later in a loop counts at its start."""
        before = None
        while before != self.kinds:
            before = dict(self.kinds)
            self.write(body)

    def write(self, body: list[ast.stmt], indent: int = 1) -> list[str]:
        """The lines of these statements."""
        self.lines = []
        self.block(body, indent)
        return self.lines

    def refuse(self, node: ast.AST, problem: str, expected: str):
        raise self.program.source.error(node, problem, expected)

    # Statements

    def put(self, indent: int, text: str) -> None:
        self.lines.append("    " * indent + text)

    def block(self, body: Sequence[ast.stmt], indent: int) -> None:
        for node in body:
            if isinstance(node, ast.For):
                self.loop(node, indent)
            elif isinstance(node, ast.If):
                self.put(indent, f"if {self.truth(node.test)}:")
                self.block(node.body, indent + 1)
                self.put(indent + 1, "pass")
                if node.orelse:
                    self.put(indent, "else:")
                    self.block(node.orelse, indent + 1)
                    self.put(indent + 1, "pass")
            elif isinstance(node, ast.AugAssign):
                value = self.arithmetic(node, node.op, node.target, node.value)
                self.store(node.target, value, node, indent)
            elif getattr(node.targets[0], "id", None) not in self.program.buffers:
                self.store(node.targets[0], self.value(node.value), node, indent)

    def loop(self, node: ast.For, indent: int) -> None:
        name = node.target.id
        self.kinds[name] = Kinds(["int"])
        bounds = [self.whole(a, "a loop's bound").text for a in node.iter.args]
        if node is self.piece:
            bounds = ["start", "stop", *bounds[2:]]
        self.put(indent, f"for u_{name} in range({', '.join(bounds)}):")
        self.block(node.body, indent + 1)
        self.put(indent + 1, "pass")

    def store(self, target: ast.expr, value: Code, node: ast.AST, indent: int) -> None:
        if is_element(target):
            wanted = self.dtypes[target.value.id]
            text = self.convert(value, _NATIVE.get(wanted, wanted), node, wanted, into=True)
            self.put(indent, f"{self.place(target)} = {text}")
            return
        name = target.id
        known = self.kinds.get(name, Kinds())
        self.kinds[name] = known | value.kinds
        if settle(self.kinds[name]) is None:
            self.refuse(
                node,
                f"the scalar {name!r} is {_listed(value.kinds)} here, and {_listed(known)} before",
                "one dtype for one name: another name, or a conversion such as "
                f"{next(iter(known))}(...)",
            )
        self.put(indent, f"u_{name} = {self.convert(value, native(self.kinds[name]), node)}")

    # Expressions

    def value(self, node: ast.expr) -> Code:
        if isinstance(node, ast.Constant):
            if isinstance(node.value, int):
                self.literal(node.value, "int64", node, "int64")
            return _constant(node.value)
        if isinstance(node, ast.Name):
            return Code(f"u_{node.id}", self.kinds[node.id])
        if isinstance(node, ast.Subscript) and is_shape(node.value):
            return Code(f"u_{node.value.value.id}.shape[{node.slice.value}]", Kinds(["int"]))
        if isinstance(node, ast.Subscript):
            return Code(self.place(node), Kinds([self.dtypes[node.value.id]]))
        if isinstance(node, ast.BinOp):
            return self.arithmetic(node, node.op, node.left, node.right)
        return _BY_NODE[type(node)](self, node)

    def place(self, node: ast.Subscript) -> str:
        name = node.value.id
        indices = []
        for axis, index in enumerate(node.slice.elts):
            code = self.whole(index, "an index")
            if code.constant is not None and code.constant < 0:
                code = Code(f"(u_{name}.shape[{axis}] - {-code.constant})", code.kinds)
            if node.site in self.unproven:
                size = f"u_{name}.shape[{axis}]"
                indices.append(f"at({code.text}, {size}, {node.site}, {axis})")
            else:  # Numba looks for negative indices among the signed ones
                indices.append(f"uintp({code.text})")
        return f"u_{name}[{', '.join(indices) or '()'}]"

    def whole(self, node: ast.expr, role: str) -> Code:
        code = self.value(node)
        kind = settle(code.kinds)
        if kind is None or _group(kind) != "int":
            self.refuse(node, f"{role} is {_listed(code.kinds)}", "an integer: int64(...)")
        return code if native(code.kinds) == "int64" else Code(f"int64({code.text})", code.kinds)

    def truth(self, node: ast.expr) -> str:
        """The code of a condition; of and, or, not only the truth counts there."""
        if isinstance(node, ast.BoolOp):
            return f"({f' {PYTHON[type(node.op)]} '.join(self.truth(v) for v in node.values)})"
        code = self.value(node)
        return code.text if self.is_condition(code) else f"({code.text} != 0)"

    @staticmethod
    def is_condition(code: Code) -> bool:
        return settle(code.kinds) in ("bool", "bool_")

    def one(self, kinds: Kinds, node: ast.AST) -> str:
        kind = settle(kinds)
        if kind is None:
            self.refuse(
                node,
                f"a value that is {_listed(kinds)}",
                "one dtype: a conversion such as float32(...)",
            )
        return kind

    def results(self, what: str, operands: Sequence[Code], node: ast.AST) -> Kinds:
        combinations = itertools.product(*(code.kinds for code in operands))
        kinds = Kinds(promoted(what, kinds) for kinds in combinations)
        if None in kinds or "object" in kinds:
            told = " and ".join(_listed(code.kinds) for code in operands)
            self.refuse(node, f"{what!r} of {told}", "numbers: a conversion such as int32(...)")
        return kinds

    def arithmetic(self, node: ast.AST, op: ast.operator, left: ast.expr, right: ast.expr) -> Code:
        sign, a, b = PYTHON[type(op)], self.value(left), self.value(right)
        return self.power(node, a, b) if sign == "**" else self.operation(node, sign, a, b)

    def operation(self, node: ast.AST, sign: str, a: Code, b: Code) -> Code:
        kinds = self.results(sign, (a, b), node)
        kind = self.one(kinds, node)
        if kind == "bool_" or kind == "bool":
            self.refuse(node, f"{sign!r} of conditions", "numbers: int32(...), or and, or, not")
        dtype = _NATIVE.get(kind, kind)
        x, y = (self.convert(code, dtype, node, kind) for code in (a, b))
        if sign in ("+", "-", "*"):
            text = f"({x} {sign} {y})"
            return Code(text if dtype[-2:] == "64" or "f" in dtype else f"{dtype}{text}", kinds)
        if kind in WEAK:  # Python's own: an error where it divides by zero
            if sign == "/" and settle(a.kinds | b.kinds) == "int":
                x, y = f"float64({x})", f"float64({y})"
            y = y if b.constant else f"nonzero({y})"
        if sign == "/":
            return Code(f"({x} / {y})", kinds)
        function = {"//": "floor_divide", "%": "remainder"}[sign]
        return Code(f"{function}{f'_{dtype}' if 'f' in dtype else ''}({x}, {y})", kinds)

    def power(self, node: ast.AST, a: Code, b: Code) -> Code:
        kinds = self.results("**", (a, b), node)
        whole = [settle(code.kinds) == "int" for code in (a, b)]
        if all(whole) and b.constant is None:
            self.refuse(node, "a power of integers that are not known", "float64(x) ** y")
        if all(whole) and b.constant < 0:
            kinds = Kinds(["float"])
        kind = self.one(kinds, node)
        dtype = _NATIVE.get(kind, kind)
        if _group(kind) == "int":
            y = self.convert(b, "int64", node)
            x = self.convert(a, dtype, node, kind)
            return Code(f"{dtype}(integer_power(int64({x}), {y}))", kinds)
        x = self.convert(a, dtype, node)
        if isinstance(b.constant, int) and 0 <= b.constant <= 3:
            return Code(f"({x} ** {b.constant})", kinds)
        return Code(f"pow({x}, {self.convert(b, dtype, node)})", kinds)

    def unary(self, node: ast.UnaryOp) -> Code:
        if isinstance(node.op, ast.Not):
            return Code(f"(not {self.truth(node.operand)})", Kinds(["bool"]))
        code = self.value(node.operand)
        if isinstance(node.op, ast.UAdd):
            return code
        if code.constant is not None:
            return _constant(-code.constant)
        kind = self.one(code.kinds, node)
        if kind in ("bool", "bool_"):
            self.refuse(node, "the negative of a condition", "a number: -int32(...)")
        dtype = native(code.kinds)
        return Code(f"{dtype}(-{code.text})", code.kinds)

    def logical(self, node: ast.BoolOp) -> Code:
        values = [self.value(v) for v in node.values]
        if not all(map(self.is_condition, values)):  # Python gives the operand that decided
            told = " and ".join(_listed(v.kinds) for v in values)
            self.refuse(node, f"the value of and, or of {told}", "conditions, such as x[i] > 0")
        return Code(self.truth(node), Kinds().union(*(v.kinds for v in values)))

    def comparison(self, node: ast.Compare) -> Code:
        values = [self.value(v) for v in (node.left, *node.comparators)]
        parts = []
        for op, a, b in zip(node.ops, values, values[1:]):
            groups = {_group(k) for k in a.kinds | b.kinds}
            x, y = a.text, b.text
            if "float" in groups:
                dtype = native(self.results("*", (a, b), node))
                x, y = (self.convert(code, dtype, node) for code in (a, b))
            elif "bool" in groups:
                x, y = f"int64({x})", f"int64({y})"
            parts.append(f"({x} {PYTHON[type(op)]} {y})")
        strong = any(k not in WEAK for code in values for k in code.kinds)
        return Code(f"({' and '.join(parts)})", Kinds(["bool_" if strong else "bool"]))

    def conditional(self, node: ast.IfExp) -> Code:
        a, b = self.value(node.body), self.value(node.orelse)
        kinds = a.kinds | b.kinds
        self.one(kinds, node)
        x, y = (self.convert(code, native(kinds), node) for code in (a, b))
        return Code(f"({x} if {self.truth(node.test)} else {y})", kinds)

    def call(self, node: ast.Call) -> Code:
        name, values = called(node), [self.value(a) for a in node.args]
        if name == "power":
            return self.power(node, *values)
        if name == "ceil_div":
            above = self.operation(node, "+", values[0], values[1])
            return self.operation(
                node, "//", self.operation(node, "-", above, _constant(1)), values[1]
            )
        kinds = self.results(name, values, node)
        kind = self.one(kinds, node)
        dtype = _NATIVE.get(kind, kind)
        if name in TESTS:
            if settle(values[0].kinds) in ("float", "float16", "float32", "float64"):
                return Code(f"{name}({values[0].text})", kinds)
            return Code(f"{name}(float64({values[0].text}))", kinds)
        if name in DTYPES:
            return Code(self.convert(values[0], dtype, node, kind), kinds)
        x, *rest = (self.convert(v, dtype, node, kind) for v in values)
        if name in ("max", "min"):
            for y in rest:
                x = f"{name}imum({x}, {y})"
            return Code(x, kinds)
        if name in ROUNDING and "f" not in dtype:
            return Code(x, kinds)
        if name == "rsqrt":
            return Code(f"({dtype}(1.0) / sqrt({x}))", kinds)
        if name in FLOATING or name in ROUNDING or name == "atan2":
            return Code(f"{name}({', '.join([x, *rest])})", kinds)
        if name == "sign" and "f" not in dtype:
            return Code(f"{dtype}(int64({x} > {dtype}(0)) - int64({x} < {dtype}(0)))", kinds)
        return Code(f"{dtype}({name}({x}))", kinds)  # abs, sign

    def convert(
        self, code: Code, dtype: str, node: ast.AST, wanted: str | None = None, into: bool = False
    ) -> str:
        """The expression in another dtype, such as that of the tensor that it goes into."""
        constant = code.constant
        if constant is not None:
            return self.literal(constant, dtype, node, wanted or dtype)
        source = native(code.kinds)
        if dtype == "bool" and source != "bool":
            return f"({code.text} != 0)"
        if "int" not in dtype:
            return code.text if source == dtype else f"{dtype}({code.text})"
        # A Python number is not let wrap around, nor a number that is stored where it does not fit.
        held = into or not code.kinds.isdisjoint(WEAK)
        if source.startswith("float"):
            text = f"whole({code.text}, {_limits(dtype)})" if held else code.text
            return f"{dtype}({text})" if dtype[-2:] == "64" else f"{dtype}(int64({text}))"
        if source == dtype or not held or source == "bool" or not _may_overflow(source, dtype):
            return code.text if source == dtype else f"{dtype}({code.text})"
        return f"{dtype}(fitting({code.text}, {_limits(dtype, source)}))"

    def literal(self, constant: Any, dtype: str, node: ast.AST, wanted: str) -> str:
        if dtype == "bool":
            return f"{bool(constant)}"
        if "int" in dtype:
            if not math.isfinite(constant):
                self.refuse(node, f"{constant} as {wanted}", "a finite number")
            limits = np.iinfo(dtype)
            if not limits.min <= int(constant) <= limits.max:
                self.refuse(
                    node,
                    f"{constant} does not fit into {wanted}",
                    f"{limits.min} to {limits.max}",
                )
            return f"{dtype}({int(constant)})"
        return f"{dtype}({float(constant)!r})"  # inf is a name of the compiled code's


WRAPS = np.lib.NumpyVersion(np.__version__) < "2.0.0"  # whole numbers that do not fit


def _may_overflow(source: str, dtype: str) -> bool:
    """Whether NumPy looks if an integer fits; it does not where only the sign differs."""
    if source == "uint64" and dtype == "int64":
        return True
    same = dtype == f"u{source}" and source != "int64"
    return not (WRAPS or same or np.can_cast(source, dtype))


def _limits(dtype: str, source: str = "float64") -> str:
    low, high = np.iinfo(dtype).min, np.iinfo(dtype).max
    if source.startswith("float"):
        return f"{float(low)}, {float(high)}"
    of = np.iinfo(source)
    return f"{source}({max(low, of.min)}), {source}({min(high, of.max)})"


def _constant(value: Any) -> Code:
    kind = type(value).__name__
    dtype = {"bool": "bool", "int": "int64", "float": "float64"}[kind]
    return Code(f"{dtype}({value!r})", Kinds([kind]), value)


def _listed(kinds: Kinds) -> str:
    python = {"int": "a Python integer", "float": "a Python float", "bool": "a condition"}
    return " or ".join(sorted(python.get(k, k) for k in kinds)) or "unknown"


_BY_NODE: dict[type, Callable] = {
    ast.UnaryOp: Emitter.unary,
    ast.BoolOp: Emitter.logical,
    ast.Compare: Emitter.comparison,
    ast.IfExp: Emitter.conditional,
    ast.Call: Emitter.call,
}
