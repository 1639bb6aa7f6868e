"""Pickles of numbers, text, arrays and objects of them, as MXNet writes an optimizer's states.

A pickle is a program for a machine with a stack, which may import and call anything. The machine
here has the instructions that such files need, and imports nothing: a class is a name, an object
is this name with its attributes. What it calls is built in below: arrays, bytes and numbers of
NumPy. MXNet, or `pickle` where there is one, reads what `pieces` writes.
"""

from __future__ import annotations

import pickletools
import struct
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
import torch

from .._sparse.stored import CSR, RowSparse, Stored
from . import params
from .params import ParamsFileError

__all__ = ["Record", "pieces", "reads"]

# An instruction is one byte, and makes an object of 60 and more.
MOST_INSTRUCTIONS = 1 << 19
BYTES_PER_INSTRUCTION = 8
SHOWN = 60  # characters of a name in an error

ARRAYS = {
    "mxnet.ndarray.ndarray.NDArray",
    "mxnet.ndarray.sparse.CSRNDArray",
    "mxnet.ndarray.sparse.RowSparseNDArray",
    "mxnet.numpy.multiarray.ndarray",
}
NAMES = {RowSparse: "sparse\nRowSparseNDArray", CSR: "sparse\nCSRNDArray"}
SCALARS = {"numpy.core.multiarray.scalar", "numpy._core.multiarray.scalar"}
NUMBERS = {f"{kind}{size}" for kind in "iu" for size in (1, 2, 4, 8)} | {"f2", "f4", "f8", "b1"}


class Record(NamedTuple):
    """An object: the name of its class, with that of the module, and its attributes."""

    name: str
    attributes: dict


class _Name(NamedTuple):
    """A class or a function, which is not imported."""

    name: str


class _Called:
    """An array or a dtype of NumPy, whose content is to come."""

    def __init__(self, name: str, argument: Any = None):
        self.name, self.argument = name, argument


_MARK = object()


def reads(data: bytes, source: str) -> Any:
    """The value of a pickle; errors name `source` as the file.

    None, bools, ints, floats, text, lists, tuples, dicts, Records, for NDArrays tensors, or what is
    stored of a sparse one.

    Raises ParamsFileError where the file is damaged, or has an instruction or a call that these
    values do not need.
    """
    return _Machine(data, source).run()


class _Machine:
    def __init__(self, data: bytes, source: str):
        self.data, self.source = data, source
        self.stack: list = []
        self.memo: dict[int, Any] = {}
        self.most = max(MOST_INSTRUCTIONS, len(data) // BYTES_PER_INSTRUCTION)
        self.left = len(data)  # bytes that arrays may still have: each has its own in the file

    def error(self, wrong: str, expected: str) -> ParamsFileError:
        return ParamsFileError(f"{self.source}: {wrong}\n  expected {expected}")

    def run(self) -> Any:
        count = 0
        try:
            for instruction, argument, _ in pickletools.genops(self.data):
                count += 1
                self.expect(count <= self.most, f"more than {self.most} instructions")
                if instruction.name == "STOP":
                    break
                self.step(instruction.name, argument)
        except (ValueError, IndexError, DeprecationWarning) as error:  # where warnings are errors
            if isinstance(error, ParamsFileError):
                raise
            raise self.error(
                f"the pickle is damaged: {str(error)[:200]}", "what MXNet's Updater.get_states gave"
            ) from None
        alone = len(self.stack) == 1 and self.stack[0] is not _MARK
        self.expect(alone, f"a pickle that leaves {len(self.stack)} values")
        self.expect_no_cycle(self.stack[0], 4 * count)
        return self.stack[0]

    def expect(self, holds: bool, wrong: str) -> None:
        if not holds:
            raise self.error(
                wrong, "numbers, text and arrays, as MXNet's Updater.get_states writes them"
            )

    def expect_no_cycle(self, value: Any, most: int) -> None:
        """Refuse what contains itself, or the same many times."""
        left = [value]
        while left:
            value = left.pop()
            most -= 1
            self.expect(most > 0, "a list that contains itself, or others many times")
            if isinstance(value, Record):
                left.append(value.attributes)
            elif isinstance(value, dict):
                left.extend(value.values())
            elif type(value) in (list, tuple):
                left.extend(value)

    def step(self, name: str, argument: Any) -> None:
        if name in CONSTANTS:
            self.stack.append(CONSTANTS[name]())
        elif name in LITERALS:
            if name == "LONG1":
                self.expect(argument.bit_length() < 64, "a number of more than 64 bits")
            self.stack.append(argument)
        elif name in TUPLES:
            self.push_tuple(self.pop(TUPLES[name]))
        elif (do := STEPS.get(name)) is not None:
            do(self, argument)
        else:
            self.expect(name in IGNORED, f"the instruction {name} in a pickle")

    # The stack

    def pop(self, count: int) -> list:
        values = [self.stack.pop() for _ in range(count)][::-1]
        self.expect(not any(v is _MARK for v in values), "too few values")
        return values

    def pop_to_mark(self) -> list:
        values = []
        while (value := self.stack.pop()) is not _MARK:
            values.append(value)
        return values[::-1]

    def target(self, kind: type) -> Any:
        """The container that is filled."""
        found = self.stack[-1]
        self.expect(type(found) is kind, f"a {type(found).__name__} is filled as a {kind.__name__}")
        return found

    def push_tuple(self, values: list) -> None:
        self.stack.append(tuple(values))

    def put(self, number: int | None) -> None:
        self.memo[len(self.memo) if number is None else number] = self.stack[-1]

    def get(self, number: int) -> None:
        self.expect(number in self.memo, f"the value {number} is not there")
        self.stack.append(self.memo[number])

    def append(self, values: list) -> None:
        self.target(list).extend(values)

    def set_items(self, values: list) -> None:
        target = self.target(dict)
        self.expect(len(values) % 2 == 0, "a key without a value")
        for key, value in zip(values[::2], values[1::2]):
            self.expect(type(key) in (int, str), f"a key is a {type(key).__name__}")
            target[key] = value

    # Names and objects

    def push_name(self, module: Any, name: Any) -> None:
        self.expect(type(module) is str and type(name) is str, "a name that is no text")
        self.stack.append(_Name(f"{module}.{name}"))

    def make(self) -> None:
        """NEWOBJ: an object without attributes yet."""
        of, arguments = self.pop(2)
        self.expect(type(of) is _Name and arguments == (), "an object made with arguments")
        self.stack.append(Record(of.name, {}))

    def call(self) -> None:
        """REDUCE: one of the functions that are known."""
        function, arguments = self.pop(2)
        name = function.name if type(function) is _Name else repr(type(function).__name__)
        arguments = arguments if type(arguments) is tuple else (_MARK,)
        kinds = tuple(type(a) for a in arguments)
        if name in ARRAYS and arguments == (None,):
            found = _Called(name)
        elif name == "builtins.bytearray" and kinds in ((bytes,), ()):
            found = arguments[0] if arguments else b""
        elif name == "numpy.dtype" and kinds == (str, bool, bool) and arguments[0] in NUMBERS:
            found = _Called(name, arguments[0])
        elif name in SCALARS and kinds == (_Called, bytes) and arguments[0].argument:
            found = self.number(*arguments)
        else:
            raise self.error(
                f"the pickle calls {name[:SHOWN]}, with {len(arguments)} arguments",
                "no calls but those that make MXNet's arrays and NumPy's numbers",
            )
        self.stack.append(found)

    def number(self, dtype: _Called, data: bytes) -> Any:
        kind = np.dtype(f"<{dtype.argument}")
        self.expect(len(data) == kind.itemsize, f"a number {kind} has {len(data)} bytes")
        return np.frombuffer(data, kind)[0].item()

    def build(self) -> None:
        """BUILD: the content of an object."""
        content = self.pop(1)[0]
        target = self.stack[-1]
        if isinstance(target, Record) and type(content) is dict:
            self.expect(all(type(n) is str for n in content), "an attribute whose name is no text")
            target.attributes.update(content)
        elif type(target) is _Called and target.name in ARRAYS and type(content) is dict:
            data = content.get("handle")
            self.expect(type(data) in (bytes, bytearray), "an array without content")
            self.left -= len(data)
            self.expect(self.left >= 0, "arrays that share their content")
            target.argument = self.stack[-1] = params.read_array(bytes(data), self.source)
        else:
            is_dtype = type(target) is _Called and target.name == "numpy.dtype"
            order = content[1:2] if is_dtype and type(content) is tuple else ()
            self.expect(order in (("<",), ("|",)), "an object with other content than MXNet's")


CONSTANTS: dict[str, Callable[[], Any]] = {
    "NONE": lambda: None,
    "NEWTRUE": lambda: True,
    "NEWFALSE": lambda: False,
    "EMPTY_DICT": dict,
    "EMPTY_LIST": list,
    "EMPTY_TUPLE": tuple,
    "MARK": lambda: _MARK,
}
LITERALS = {"BININT", "BININT1", "BININT2", "LONG1", "BINFLOAT"}
LITERALS |= {"SHORT_BINUNICODE", "BINUNICODE", "BINUNICODE8"}
LITERALS |= {"SHORT_BINBYTES", "BINBYTES", "BINBYTES8", "BYTEARRAY8"}
TUPLES = {"TUPLE1": 1, "TUPLE2": 2, "TUPLE3": 3}
IGNORED = {"PROTO", "FRAME"}
STEPS: dict[str, Callable[[_Machine, Any], None]] = {
    "TUPLE": lambda m, _: m.push_tuple(m.pop_to_mark()),
    "APPEND": lambda m, _: m.append(m.pop(1)),
    "APPENDS": lambda m, _: m.append(m.pop_to_mark()),
    "SETITEM": lambda m, _: m.set_items(m.pop(2)),
    "SETITEMS": lambda m, _: m.set_items(m.pop_to_mark()),
    "MEMOIZE": lambda m, _: m.put(None),
    "BINPUT": _Machine.put,
    "LONG_BINPUT": _Machine.put,
    "BINGET": _Machine.get,
    "LONG_BINGET": _Machine.get,
    "GLOBAL": lambda m, names: m.push_name(*names.split(" ", 1)),
    "STACK_GLOBAL": lambda m, _: m.push_name(*m.pop(2)),
    "NEWOBJ": lambda m, _: m.make(),
    "REDUCE": lambda m, _: m.call(),
    "BUILD": lambda m, _: m.build(),
}


def pieces(value: Any) -> Iterator[bytes | memoryview]:
    """The bytes of a pickle of such values as `reads` returns, in order."""
    yield b"\x80\x04"
    yield from _encoded(value)
    yield b"."


def _encoded(value: Any) -> Iterator[bytes | memoryview]:
    if value is None or isinstance(value, bool):
        yield {None: b"N", True: b"\x88", False: b"\x89"}[value]
    elif isinstance(value, int):
        data = value.to_bytes(value.bit_length() // 8 + 1, "little", signed=True)
        yield b"\x8a" + bytes([len(data)]) + data
    elif isinstance(value, float):
        yield b"G" + struct.pack(">d", value)
    elif isinstance(value, str):
        data = value.encode("utf-8", "surrogatepass")
        yield b"X" + struct.pack("<I", len(data)) + data
    elif isinstance(value, torch.Tensor | Stored):
        yield from _encoded_array(value)
    elif isinstance(value, Record):
        module, _, name = value.name.rpartition(".")
        yield f"c{module}\n{name}\n)\x81".encode("latin-1")
        yield from _encoded(value.attributes)
        yield b"b"
    elif isinstance(value, dict):
        yield b"}("
        for pair in value.items():
            yield from _encoded(pair[0])
            yield from _encoded(pair[1])
        yield b"u"
    else:
        yield b"](" if isinstance(value, list) else b"("
        for part in value:
            yield from _encoded(part)
        yield b"e" if isinstance(value, list) else b"t"


def _encoded_array(array: torch.Tensor | Stored) -> Iterator[bytes | memoryview]:
    found = params.record_pieces(array)
    name = NAMES.get(type(array), "ndarray\nNDArray")
    yield f"cmxnet.ndarray.{name}\n".encode()
    yield b"N\x85R}X\x06\x00\x00\x00handlecbuiltins\nbytearray\n"
    yield b"\x8e" + struct.pack("<Q", sum(map(len, found)))
    yield from found
    yield b"\x85Rsb"
