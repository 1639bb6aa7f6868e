"""ONNX files, which are not trusted, as Symbols and arrays."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from os import PathLike, fsdecode
from typing import Any

import numpy as np

from ...._arrays import ArraysError, room_of, validate
from ... import symbol
from ..._files.opening import open_file
from ...base import MXNetError, UnsupportedError, legible, quoted
from ...symbol import Symbol

__all__ = ["Graph", "Step", "load"]

OLDEST = 7  # of the sets of operators: those before broadcast by attributes
MOST = 2**31 - 1  # of numbers in the file that are sizes, and of the elements of an array
# A part without content takes 2 bytes in the file, and 140 and more in memory, several times.
MOST_PARTS = 1 << 16
BYTES_PER_PART = 4


def _library() -> Any:
    try:
        import onnx
        import onnx.shape_inference
    except ImportError:
        raise UnsupportedError(
            "ONNX files need the package onnx\n  expected pip install onnx"
        ) from None
    return onnx


def load(path: str | PathLike) -> Any:
    """The model in a file, checked, without what other files hold.

    Raises
    ------
    MXNetError
        The file is no valid ONNX.
    UnsupportedError
        The package onnx is missing, or values are in other files.
    """
    onnx = _library()
    with open_file(path) as file:
        data = file.read()
    try:
        model = onnx.ModelProto.FromString(data)
    except Exception as error:  # of the package protobuf, which need not be known here
        raise MXNetError(f"file {fsdecode(path)!r} is no ONNX file: {str(error)[:500]}") from None
    if not model.HasField("graph"):  # no bytes are a message too
        raise MXNetError(f"file {fsdecode(path)!r} is no ONNX file: it has no graph")
    # Calls of functions are not known here, and nothing trains.
    del model.functions[:], model.training_info[:]
    _expect_values(model, fsdecode(path), len(data))
    return model


def _messages(message) -> Iterator[Any]:
    """Yield a message of protobuf and all messages in it."""
    yield message
    for field, value in message.ListFields():
        if field.message_type is not None:
            for part in [value] if hasattr(value, "ListFields") else value:
                yield from _messages(part)


def _expect_values(model, path: str, size: int) -> None:
    """Refuse tensors and graphs, wherever they are, that are not read or take too much memory."""
    onnx, arrays = _library(), []
    most = max(MOST_PARTS, size // BYTES_PER_PART)
    for i, message in enumerate(_messages(model)):
        if i == most:
            raise MXNetError(
                f"file {path!r} has more than {most} parts\n  expected fewer in its size"
            )
        if isinstance(message, onnx.TensorProto):
            if message.data_location == message.EXTERNAL or message.external_data:
                raise UnsupportedError(
                    f"file {path!r}: the values of {quoted(message.name)} are in another file\n"
                    "  expected one file with all values: onnx.save writes it"
                )
            arrays.append((message.name, [*message.dims], _itemsize(message.data_type)))
        elif isinstance(message, onnx.SparseTensorProto):
            raise UnsupportedError(f"file {path!r} has sparse values\n  expected dense ones")
        elif isinstance(message, onnx.NodeProto):
            # The package onnx would make a list of so many sizes: 16 GB in a file of 100 bytes.
            counts = [a.i for a in message.attribute if a.name == "num_outputs"]
            if any(n != len(message.output) for n in counts):
                raise UnsupportedError(
                    f"file {path!r}: num_outputs of {quoted(message.op_type)} is {counts[0]}\n"
                    f"  expected the number of its outputs, {len(message.output)}"
                )
        elif isinstance(message, onnx.AttributeProto) and (message.HasField("g") or message.graphs):
            raise UnsupportedError(
                f"file {path!r}: the attribute {quoted(message.name)} is a graph\n"
                "  expected no graph in an operator"
            )
    try:
        validate(arrays, size, room_of(size))
    except ArraysError as error:
        raise MXNetError(f"file {path!r}: {error}") from None


def _itemsize(number: int) -> int:
    """Return the bytes of an element of a type; 1 for an unknown type, which is refused later."""
    try:
        return _library().helper.tensor_dtype_to_np_dtype(number).itemsize
    except KeyError:
        return 1


def checked(model, path: str | PathLike) -> Any:
    """The model with the shapes of what is computed.

    Raises
    ------
    MXNetError
        The model is not valid.
    """
    onnx = _library()
    try:
        onnx.checker.check_model(model)
        return onnx.shape_inference.infer_shapes(model, data_prop=True)  # and computed sizes
    except Exception as error:  # the checker has several types of its own
        raise MXNetError(f"file {fsdecode(path)!r} is no valid ONNX: {str(error)[:500]}") from None


def _text(value) -> Any:
    return value.decode(errors="replace") if isinstance(value, bytes) else value


class Step:
    """One node of a graph: its attributes and its inputs, of which all have to be used."""

    def __init__(self, graph: Graph, node):
        self._graph, self._node = graph, node
        values = {a.name: graph.library.helper.get_attribute_value(a) for a in node.attribute}
        self._attributes = {n: _text(v) for n, v in values.items()}
        self._unused = {*self._attributes, *[i for i, n in enumerate(node.input) if n]}
        self.outputs, self.opset = len(node.output), graph.opset

    def has(self, i: int) -> bool:
        return i < len(self._node.input) and bool(self._node.input[i])

    @property
    def inputs(self) -> list[Symbol]:
        return [self.x(i) for i in range(len(self._node.input))]

    def x(self, i: int = 0) -> Symbol:
        """An input as a symbol."""
        self._unused.discard(i)
        return self._graph.symbol(self._node.input[i])

    def state(self, i: int) -> Symbol:
        """An input, known beforehand, as a variable of its own, which training writes into."""
        self._unused.discard(i)
        return self._graph.own(self._node.input[i], self.known(i))

    def attribute(self, name: str, default=None) -> Any:
        self._unused.discard(name)
        value = self._attributes.get(name, default)
        numbers = value if isinstance(value, (list, tuple)) else [value]
        if any(isinstance(n, int) and abs(n) > MOST for n in numbers):
            raise self.unsupported(f"{name} is {quoted(value)}")
        return value

    def expect(self, name: str, *allowed) -> Any:
        """An attribute that has to be one of these values; the first is its default."""
        value = self.attribute(name, allowed[0])
        if value not in allowed:
            raise self.unsupported(
                f"{name} is {quoted(value)}, not {' or '.join(map(repr, allowed))}"
            )
        return value

    def known(self, i: int, name: str = "", default=None) -> Any:
        """An array or a number that the file holds: by set of operators an attribute or an input.

        Raises
        ------
        UnsupportedError
            It is computed from inputs of the network.
        """
        if name in self._attributes:
            self._unused.discard(name)
            return np.asarray(self._attributes[name])
        if not self.has(i):
            return default
        self._unused.discard(i)
        found = self._graph.constants.get(self._node.input[i])
        if found is None:
            raise self.unsupported(f"input {i}{f' ({name})' if name else ''} is computed")
        return found

    def numbers(self, i: int, name: str) -> list[int] | None:
        """The integers of `known`; None where they are left out."""
        found = self.known(i, name)
        return None if found is None else [int(n) for n in np.ravel(found)]

    def sizes(self, i: int, name: str) -> list[int] | None:
        """As `numbers`, all of which have to be sizes or axes that an array can have."""
        found = self.numbers(i, name)
        if any(abs(n) > MOST for n in found or ()):
            raise self.unsupported(f"{name} is {quoted(found)}")
        return found

    def sizes_or_output(self, i: int, name: str) -> list[int]:
        """As `sizes`; where they are computed, the output's shape, in which -1 is an open size."""
        output = self._graph.shapes.get(self._node.output[0])
        computed = self._node.input[i] not in self._graph.constants
        if not computed or not output or 0 in output or output.count(None) > 1:
            return self.sizes(i, name)
        self._unused.discard(i)
        return [-1 if size is None else size for size in output]

    def expect_size(self, shape: Sequence[int | None]) -> None:
        """Refuse an array of more elements than one can have; sizes that are open count as 1."""
        try:
            validate([("output", [1 if n is None else n for n in shape], 1)], MOST, MOST)
        except ArraysError as error:
            raise MXNetError(f"{self}: its {error}") from None

    def shape(self, i: int = 0) -> tuple[int | None, ...]:
        """The shape of an input; None for sizes that are open.

        Raises
        ------
        UnsupportedError
            Its number of axes is not known.
        """
        found = self._graph.shapes.get(self._node.input[i])
        if found is None:
            raise self.unsupported(f"the number of axes of input {i} is not known")
        return found

    def shape_or_none(self, i: int) -> tuple[int | None, ...] | None:
        return self._graph.shapes.get(self._node.input[i])

    def dtype(self, i: int = 0) -> np.dtype:
        return self._graph.dtypes.get(self._node.input[i], np.dtype("float32"))

    def dtype_of(self, number: int) -> np.dtype:
        """The dtype that ONNX calls by this number."""
        return self._graph.library.helper.tensor_dtype_to_np_dtype(number)

    def axis(self, value: int, more: int = 0) -> int:
        """An axis of the first input, counted from the front; of `more` axes than it has."""
        return value if value >= 0 else value + len(self.shape()) + more

    def unsupported(self, why: str) -> UnsupportedError:
        return UnsupportedError(f"{self}: {why}, which has no form here")

    def all_used(self) -> None:
        """Raises
        ------
        UnsupportedError
            There is an input or an attribute that the row does not know.
        """
        if self._unused:
            left = sorted(n if isinstance(n, str) else f"input {n}" for n in self._unused)
            raise self.unsupported(f"it has {quoted(left[0])}")

    def __str__(self) -> str:
        name = self._node.name or self._node.output[0]
        return (
            f"operator {legible(self._node.op_type)} in node {quoted(name)} of {self._graph.path!r}"
        )


class Graph:
    """A graph that becomes a Symbol, node by node.

    Parameters
    ----------
    path : path
    rows : dict of str to function
        What makes of a `Step` a Symbol or several, by ONNX's names of operators.

    Raises
    ------
    MXNetError
        The file is not valid.
    UnsupportedError
        It has operators without a row, which are all named; or forms of them.
    """

    def __init__(self, path: str | PathLike, rows: dict[str, Callable[[Step], Any]]):
        self.library = _library()
        self.path = fsdecode(path)
        model = load(path)
        self._expect_known(model, rows)
        model = checked(model, path)
        graph = model.graph
        if not graph.output:
            raise MXNetError(f"file {self.path!r} has no outputs")
        self.constants = {t.name: self._array(t) for t in graph.initializer}
        self.inputs = [v.name for v in graph.input if v.name not in self.constants]
        self.shapes: dict[str, tuple] = {}
        self.dtypes: dict[str, np.dtype] = {}
        for value in (*graph.value_info, *graph.output, *graph.input):
            self._note(value)
        for name, array in self.constants.items():
            self.shapes[name], self.dtypes[name] = array.shape, array.dtype
        self._symbols = {name: symbol.var(name) for name in self.inputs}
        self._values: dict[str, np.ndarray] = {}  # of the variables
        for node in graph.node:
            self._add(node, rows)
        self.outputs = [self.symbol(value.name) for value in graph.output]

    def _expect_known(self, model, rows: dict) -> None:
        """Raises UnsupportedError for a set of operators, or operators, that have no rows."""
        opsets = [o.version for o in model.opset_import if o.domain in ("", "ai.onnx")]
        self.opset = min(opsets, default=0)
        if self.opset < OLDEST:
            raise UnsupportedError(
                f"file {self.path!r} is of ONNX's set of operators {self.opset}\n"
                f"  expected {OLDEST} or later"
            )
        named = {
            str(n.op_type) if n.domain in ("", "ai.onnx") else f"{n.domain}.{n.op_type}"
            for n in model.graph.node
        }
        if unknown := sorted(named - {*rows, "Constant"}):
            raise UnsupportedError(
                f"file {self.path!r} has operators that are not known here: "
                f"{', '.join(map(quoted, unknown[:20]))}\n  expected some of: {', '.join(rows)}"
            )

    def _array(self, tensor) -> np.ndarray:
        try:
            found = self.library.numpy_helper.to_array(tensor)
            if found.shape != tuple(tensor.dims) or found.dtype.kind not in "fiub":
                raise ValueError(f"{found.dtype} of shape {tuple(tensor.dims)}")
        except Exception as error:  # the package does not say which types it raises
            raise MXNetError(
                f"file {self.path!r}: the values of {quoted(tensor.name)}: {error}"
            ) from None
        return found

    def _note(self, value) -> None:
        tensor = value.type.tensor_type
        if tensor.HasField("shape"):
            dims = tensor.shape.dim
            self.shapes[value.name] = tuple(
                [d.dim_value if d.HasField("dim_value") else None for d in dims]
            )
        if tensor.elem_type:
            try:
                dtype = self.library.helper.tensor_dtype_to_np_dtype(tensor.elem_type)
            except KeyError:
                raise MXNetError(
                    f"file {self.path!r}: {quoted(value.name)} is of the type {tensor.elem_type}\n"
                    "  expected a number that ONNX has for a type"
                ) from None
            self.dtypes[value.name] = dtype

    def _add(self, node, rows: dict) -> None:
        if node.op_type == "Constant":
            self.constants[node.output[0]] = self._constant(node)
            return
        step = Step(self, node)
        try:
            made = rows[node.op_type](step)
        except UnsupportedError:
            raise
        except (MXNetError, ArithmeticError, LookupError, TypeError, ValueError) as error:
            raise MXNetError(f"{step}: {error}") from error
        step.all_used()
        made = made if isinstance(made, (list, tuple)) else [made]
        self._symbols |= zip(node.output, made)

    def _constant(self, node) -> np.ndarray:
        (attribute,) = node.attribute
        if attribute.name == "value":
            return self._array(attribute.t)
        value = self.library.helper.get_attribute_value(attribute)
        if attribute.name in ("value_float", "value_floats"):
            return np.asarray(value, "float32")
        if attribute.name in ("value_int", "value_ints"):
            return np.asarray(value, "int64")
        raise Step(self, node).unsupported(f"it has {quoted(attribute.name)}")

    def symbol(self, name: str) -> Symbol:
        """The Symbol of a name in the file's graph.

        Raises
        ------
        UnsupportedError
            It is an output of an operator that has fewer here.
        """
        if name not in self._symbols:
            if name not in self.constants:
                raise UnsupportedError(
                    f"file {self.path!r}: {quoted(name)} is an output that its operator has not "
                    "here\n  expected only the first outputs to be used"
                )
            self._symbols[name] = self.own(name, self.constants[name])
        return self._symbols[name]

    def own(self, name: str, value: np.ndarray) -> Symbol:
        """A variable of this value, with a name that no other has."""
        taken, count = name, 0
        while taken in self._values or taken in self.inputs:
            count += 1
            taken = f"{name}_{count}"
        value = self._values[taken] = value.reshape(value.shape or (1,))
        return symbol.var(taken, shape=value.shape, dtype=value.dtype)

    def values(self) -> dict[str, np.ndarray]:
        """The values of the variables."""
        return self._values
