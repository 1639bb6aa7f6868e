"""Dtypes of all expressions of a kernel, by NumPy's own rules, and code with these dtypes.

The kind of an expression is the name of a dtype, or 'int', 'float' or 'bool' for Python's numbers,
which take on the dtype of the other operand. It is the kind of NumPy's result for numbers of the
operands' kinds. A scalar that begins as ``s = 0`` and goes on as ``s += x[i]`` has two kinds, but
is stored in one dtype.
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
from .program import Program, called_name, is_shape

__all__ = ["WEAK", "Emitter", "common_kind", "kind_of", "native_dtype"]

WEAK = {"int": 1, "float": 1.0, "bool": True}
PYTHON = {ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/", ast.FloorDiv: "//", ast.Mod: "%",
          ast.Pow: "**", ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=", ast.Eq: "==",
          ast.NotEq: "!=", ast.And: "and", ast.Or: "or"}  # fmt: skip
FUNCTION_OF = {"+": operator.add, "-": operator.sub, "*": operator.mul, "/": operator.truediv,
               "//": operator.floordiv, "%": operator.mod, "**": operator.pow}  # fmt: skip

Kinds = frozenset


class Code(NamedTuple):
    """An expression in Numba's Python, the kinds that it can have, its value if constant."""

    text: str
    kinds: Kinds
    constant: Any = None


def kind_of(dtype: np.dtype) -> str:
    """Return the kind of a dtype: its name, but bool_ for conditions: 'bool' is Python's."""
    return "bool_" if dtype.kind == "b" else dtype.name


def _group(kind: str) -> str:
    if kind in WEAK:
        return kind
    return {"b": "bool", "i": "int", "u": "int", "f": "float"}[np.dtype(DTYPES[kind]).kind]


def common_kind(kinds: Kinds) -> str | None:
    """Return the one kind that can represent all these kinds, if there is one."""
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


def native_dtype(kinds: Kinds) -> str:
    """Return the dtype in which compiled code stores a value of these kinds."""
    kind = common_kind(kinds)
    if kind in ("int8", "int16", "int32", "uint8", "uint16", "uint32") and "int" in kinds:
        return "int64"  # a Python integer may be larger than the dtype
    return _NATIVE.get(kind, kind)


_NATIVE = {"int": "int64", "float": "float64", "float16": "float32", "bool_": "bool"}


@lru_cache(maxsize=4096)
def promoted_kind(what: str, operands: tuple[str, ...]) -> str | None:
    """Return the kind of NumPy's result of an operation or intrinsic; None if NumPy refuses it."""
    function = FUNCTION_OF.get(what) or FUNCTIONS[what]
    numbers = [WEAK[k] if k in WEAK else DTYPES[k](1) for k in operands]
    try:
        result = function(*numbers)
    except TypeError:  # such as bool - bool
        return None
    return kind_of(result.dtype) if isinstance(result, np.generic) else type(result).__name__


class Emitter:
    """Writer of a kernel's statements for given dtypes.

    Parameters
    ----------
    kinds : dict of str to str
        The kind of each parameter that is a number.
    dtypes : dict of str to str
        The kind of each tensor.
    unproven : set of int
        The numbers of the accesses whose indices must be checked.
    """

    def __init__(self, program: Program, kinds: dict[str, str], dtypes: dict[str, str], unproven):
        self.program, self.dtypes, self.unproven = program, dtypes, unproven
        self.kinds: dict[str, Kinds] = {n: Kinds([k]) for n, k in kinds.items()}
        self.lines: list[str] = []
        self.piece: ast.For | None = None  # the loop that runs over only a part of its range

    def infer(self, body: list[ast.stmt]) -> None:
        """Find the kinds of all scalars, even if a loop assigns them after their use."""
        before = None
        while before != self.kinds:
            before = dict(self.kinds)
            self.write(body)

    def write(self, body: list[ast.stmt], indent: int = 1) -> list[str]:
        """Return the lines of these statements."""
        self.lines = []
        self.block(body, indent)
        return self.lines

    def refuse(self, node: ast.AST, problem: str, expected: str):
        raise self.program.source.error(node, problem, expected)

    # Statements

    def add_line(self, indent: int, text: str) -> None:
        self.lines.append("    " * indent + text)

    def block(self, body: Sequence[ast.stmt], indent: int) -> None:
        for node in body:
            if isinstance(node, ast.For):
                self.loop(node, indent)
            elif isinstance(node, ast.If):
                self.add_line(indent, f"if {self.condition(node.test)}:")
                self.block(node.body, indent + 1)
                self.add_line(indent + 1, "pass")
                if node.orelse:
                    self.add_line(indent, "else:")
                    self.block(node.orelse, indent + 1)
                    self.add_line(indent + 1, "pass")
            elif isinstance(node, ast.AugAssign):
                value = self.arithmetic(node, node.op, node.target, node.value)
                self.store(node.target, value, node, indent)
            elif getattr(node.targets[0], "id", None) not in self.program.buffers:
                self.store(node.targets[0], self.value(node.value), node, indent)

    def loop(self, node: ast.For, indent: int) -> None:
        name = node.target.id
        self.kinds[name] = Kinds(["int"])
        bounds = [self.integer_code(a, "a loop's bound").text for a in node.iter.args]
        if node is self.piece:
            bounds = ["start", "stop", *bounds[2:]]
        self.add_line(indent, f"for u_{name} in range({', '.join(bounds)}):")
        self.block(node.body, indent + 1)
        self.add_line(indent + 1, "pass")

    def store(self, target: ast.expr, value: Code, node: ast.AST, indent: int) -> None:
        if is_element(target):
            target_kind = self.dtypes[target.value.id]
            text = self.convert(
                value, _NATIVE.get(target_kind, target_kind), node, target_kind, is_stored=True
            )
            self.add_line(indent, f"{self.element(target)} = {text}")
            return
        name = target.id
        known = self.kinds.get(name, Kinds())
        self.kinds[name] = known | value.kinds
        if common_kind(self.kinds[name]) is None:
            self.refuse(
                node,
                f"the scalar {name!r} is {_kinds_text(value.kinds)} here, "
                f"and {_kinds_text(known)} before",
                "one dtype for one name: another name, or a conversion such as "
                f"{next(iter(known))}(...)",
            )
        self.add_line(
            indent, f"u_{name} = {self.convert(value, native_dtype(self.kinds[name]), node)}"
        )

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
            return Code(self.element(node), Kinds([self.dtypes[node.value.id]]))
        if isinstance(node, ast.BinOp):
            return self.arithmetic(node, node.op, node.left, node.right)
        return _BY_NODE[type(node)](self, node)

    def element(self, node: ast.Subscript) -> str:
        name = node.value.id
        indices = []
        for axis, index in enumerate(node.slice.elts):
            code = self.integer_code(index, "an index")
            if code.constant is not None and code.constant < 0:
                code = Code(f"(u_{name}.shape[{axis}] - {-code.constant})", code.kinds)
            if node.site in self.unproven:
                size = f"u_{name}.shape[{axis}]"
                indices.append(f"checked_index({code.text}, {size}, {node.site}, {axis})")
            else:  # with a signed index, Numba adds a test for negative values
                indices.append(f"uintp({code.text})")
        return f"u_{name}[{', '.join(indices) or '()'}]"

    def integer_code(self, node: ast.expr, role: str) -> Code:
        code = self.value(node)
        kind = common_kind(code.kinds)
        if kind is None or _group(kind) != "int":
            self.refuse(node, f"{role} is {_kinds_text(code.kinds)}", "an integer: int64(...)")
        if native_dtype(code.kinds) == "int64":
            return code
        return Code(f"int64({code.text})", code.kinds)

    def condition(self, node: ast.expr) -> str:
        """Return the code of a condition; only the truth of ``and``, ``or``, ``not`` matters."""
        if isinstance(node, ast.BoolOp):
            return f"({f' {PYTHON[type(node.op)]} '.join(self.condition(v) for v in node.values)})"
        code = self.value(node)
        return code.text if self.is_condition(code) else f"({code.text} != 0)"

    @staticmethod
    def is_condition(code: Code) -> bool:
        return common_kind(code.kinds) in ("bool", "bool_")

    def single_kind(self, kinds: Kinds, node: ast.AST) -> str:
        kind = common_kind(kinds)
        if kind is None:
            self.refuse(
                node,
                f"a value that is {_kinds_text(kinds)}",
                "one dtype: a conversion such as float32(...)",
            )
        return kind

    def results(self, what: str, operands: Sequence[Code], node: ast.AST) -> Kinds:
        combinations = itertools.product(*(code.kinds for code in operands))
        kinds = Kinds(promoted_kind(what, kinds) for kinds in combinations)
        if None in kinds or "object" in kinds:
            kinds_text = " and ".join(_kinds_text(code.kinds) for code in operands)
            self.refuse(
                node, f"{what!r} of {kinds_text}", "numbers: a conversion such as int32(...)"
            )
        return kinds

    def arithmetic(self, node: ast.AST, op: ast.operator, left: ast.expr, right: ast.expr) -> Code:
        sign, a, b = PYTHON[type(op)], self.value(left), self.value(right)
        return self.power(node, a, b) if sign == "**" else self.operation(node, sign, a, b)

    def operation(self, node: ast.AST, sign: str, a: Code, b: Code) -> Code:
        kinds = self.results(sign, (a, b), node)
        kind = self.single_kind(kinds, node)
        if kind == "bool_" or kind == "bool":
            self.refuse(node, f"{sign!r} of conditions", "numbers: int32(...), or and, or, not")
        dtype = _NATIVE.get(kind, kind)
        x, y = (self.convert(code, dtype, node, kind) for code in (a, b))
        if sign in ("+", "-", "*"):
            text = f"({x} {sign} {y})"
            return Code(text if dtype[-2:] == "64" or "f" in dtype else f"{dtype}{text}", kinds)
        if kind in WEAK:  # Python's own numbers: division by zero is an error
            if sign == "/" and common_kind(a.kinds | b.kinds) == "int":
                x, y = f"float64({x})", f"float64({y})"
            y = y if b.constant else f"nonzero({y})"
        if sign == "/":
            return Code(f"({x} / {y})", kinds)
        function = {"//": "floor_divide", "%": "remainder"}[sign]
        return Code(f"{function}{f'_{dtype}' if 'f' in dtype else ''}({x}, {y})", kinds)

    def power(self, node: ast.AST, a: Code, b: Code) -> Code:
        kinds = self.results("**", (a, b), node)
        are_integers = [common_kind(code.kinds) == "int" for code in (a, b)]
        if all(are_integers) and b.constant is None:
            self.refuse(node, "a power of integers that are not known", "float64(x) ** y")
        if all(are_integers) and b.constant < 0:
            kinds = Kinds(["float"])
        kind = self.single_kind(kinds, node)
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
            return Code(f"(not {self.condition(node.operand)})", Kinds(["bool"]))
        code = self.value(node.operand)
        if isinstance(node.op, ast.UAdd):
            return code
        if code.constant is not None:
            return _constant(-code.constant)
        kind = self.single_kind(code.kinds, node)
        if kind in ("bool", "bool_"):
            self.refuse(node, "the negative of a condition", "a number: -int32(...)")
        dtype = native_dtype(code.kinds)
        return Code(f"{dtype}(-{code.text})", code.kinds)

    def logical(self, node: ast.BoolOp) -> Code:
        values = [self.value(v) for v in node.values]
        if not all(map(self.is_condition, values)):  # in Python the value is one of the operands
            kinds_text = " and ".join(_kinds_text(v.kinds) for v in values)
            self.refuse(
                node, f"the value of and, or of {kinds_text}", "conditions, such as x[i] > 0"
            )
        return Code(self.condition(node), Kinds().union(*(v.kinds for v in values)))

    def comparison(self, node: ast.Compare) -> Code:
        values = [self.value(v) for v in (node.left, *node.comparators)]
        parts = []
        for op, a, b in zip(node.ops, values, values[1:]):
            groups = {_group(k) for k in a.kinds | b.kinds}
            x, y = a.text, b.text
            if "float" in groups:
                dtype = native_dtype(self.results("*", (a, b), node))
                x, y = (self.convert(code, dtype, node) for code in (a, b))
            elif "bool" in groups:
                x, y = f"int64({x})", f"int64({y})"
            parts.append(f"({x} {PYTHON[type(op)]} {y})")
        strong = any(k not in WEAK for code in values for k in code.kinds)
        return Code(f"({' and '.join(parts)})", Kinds(["bool_" if strong else "bool"]))

    def conditional(self, node: ast.IfExp) -> Code:
        a, b = self.value(node.body), self.value(node.orelse)
        kinds = a.kinds | b.kinds
        self.single_kind(kinds, node)
        x, y = (self.convert(code, native_dtype(kinds), node) for code in (a, b))
        return Code(f"({x} if {self.condition(node.test)} else {y})", kinds)

    def call(self, node: ast.Call) -> Code:
        name, values = called_name(node), [self.value(a) for a in node.args]
        if name == "power":
            return self.power(node, *values)
        if name == "ceil_div":
            above = self.operation(node, "+", values[0], values[1])
            return self.operation(
                node, "//", self.operation(node, "-", above, _constant(1)), values[1]
            )
        kinds = self.results(name, values, node)
        kind = self.single_kind(kinds, node)
        dtype = _NATIVE.get(kind, kind)
        if name in TESTS:
            if common_kind(values[0].kinds) in ("float", "float16", "float32", "float64"):
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
        self,
        code: Code,
        dtype: str,
        node: ast.AST,
        target_kind: str | None = None,
        is_stored: bool = False,
    ) -> str:
        """Return the expression in another dtype; `is_stored` if it is stored in a tensor."""
        constant = code.constant
        if constant is not None:
            return self.literal(constant, dtype, node, target_kind or dtype)
        source = native_dtype(code.kinds)
        if dtype == "bool" and source != "bool":
            return f"({code.text} != 0)"
        if "int" not in dtype:
            return code.text if source == dtype else f"{dtype}({code.text})"
        # Python's numbers must not wrap around, nor may numbers that are stored.
        is_checked = is_stored or not code.kinds.isdisjoint(WEAK)
        if source.startswith("float"):
            text = f"checked_float({code.text}, {_limits(dtype)})" if is_checked else code.text
            return f"{dtype}({text})" if dtype[-2:] == "64" else f"{dtype}(int64({text}))"
        if (
            source == dtype
            or not is_checked
            or source == "bool"
            or not _may_overflow(source, dtype)
        ):
            return code.text if source == dtype else f"{dtype}({code.text})"
        return f"{dtype}(checked_int({code.text}, {_limits(dtype, source)}))"

    def literal(self, constant: Any, dtype: str, node: ast.AST, target_kind: str) -> str:
        if dtype == "bool":
            return f"{bool(constant)}"
        if "int" in dtype:
            if not math.isfinite(constant):
                self.refuse(node, f"{constant} as {target_kind}", "a finite number")
            limits = np.iinfo(dtype)
            if not limits.min <= int(constant) <= limits.max:
                self.refuse(
                    node,
                    f"{constant} does not fit into {target_kind}",
                    f"{limits.min} to {limits.max}",
                )
            return f"{dtype}({int(constant)})"
        return f"{dtype}({float(constant)!r})"  # inf is a name in compiled code


WRAPS = np.lib.NumpyVersion(np.__version__) < "2.0.0"  # integers that do not fit wrap around


def _may_overflow(source: str, dtype: str) -> bool:
    """True if NumPy checks that an integer fits; it does not if only the sign differs."""
    if source == "uint64" and dtype == "int64":
        return True
    same = dtype == f"u{source}" and source != "int64"
    return not (WRAPS or same or np.can_cast(source, dtype))


def _limits(dtype: str, source: str = "float64") -> str:
    low, high = np.iinfo(dtype).min, np.iinfo(dtype).max
    if source.startswith("float"):
        return f"{float(low)}, {float(high)}"
    source_limits = np.iinfo(source)
    return f"{source}({max(low, source_limits.min)}), {source}({min(high, source_limits.max)})"


def _constant(value: Any) -> Code:
    kind = type(value).__name__
    dtype = {"bool": "bool", "int": "int64", "float": "float64"}[kind]
    return Code(f"{dtype}({value!r})", Kinds([kind]), value)


def _kinds_text(kinds: Kinds) -> str:
    python = {"int": "a Python integer", "float": "a Python float", "bool": "a condition"}
    return " or ".join(sorted(python.get(k, k) for k in kinds)) or "unknown"


_BY_NODE: dict[type, Callable] = {
    ast.UnaryOp: Emitter.unary,
    ast.BoolOp: Emitter.logical,
    ast.Compare: Emitter.comparison,
    ast.IfExp: Emitter.conditional,
    ast.Call: Emitter.call,
}
