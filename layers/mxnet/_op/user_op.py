"""Users' operators as the `op` of a node: what graphs and `nd.Custom` ask of them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from operator import index
from types import NoneType
from typing import Any

import torch

from .. import _dtype, operator
from .._table import registry
from ..base import ArgumentError, DTypeError, MXNetError, ShapeError, describe_value, note
from ..context import Context
from ..ndarray.ndarray import NDArray
from ..ndarray.register import Pending, expected_array
from .call import CustomCall, call

__all__ = ["Lists", "UserOp"]

Shape = tuple[int, ...]
Lists = tuple[list, list, list]  # of inputs, outputs and states


class UserOp(registry.Op):
    """An operator that a user has registered, as the `op` of nodes in graphs.

    A node has its attributes as values, but for those of a Prop, which the op is made with.

    Parameters
    ----------
    op_type : str
        The name that it is registered under.
    definition : type or Operator
        The registered class or object.

    Attributes
    ----------
    what : str
        The operator, as messages name it.
    outputs : sequence of str
    optional : sequence of str
        Inputs that a call may leave out.
    pure : bool or None
        Whether it is a function of its inputs and attributes; None where the Prop does not say.
    any_shape : bool
        True if one call serves inputs of any shapes.
    """

    any_size, own = False, True
    any_shape = False
    outputs: Sequence[str]
    optional: Sequence[str] = ()
    pure: bool | None

    def __init__(self, op_type: str, definition: Any):
        super().__init__(_of_tensors, "Custom", traceable=False)
        self.op_type, self.definition, self.what = op_type, definition, f"Custom {op_type!r}"
        self.label, self.low_precision = op_type, definition.low_precision
        self.run = self._run

    # For subclasses.

    def input_parts(self, attributes: dict[str, Any]) -> tuple[Sequence[str], Sequence[str]]:
        """Return the names of the arguments, and those of the states, which follow them."""
        raise NotImplementedError

    def prepare(
        self,
        tensors: Sequence[torch.Tensor],
        attributes: dict[str, Any],
        context: Context,
        made: dict | None = None,
    ) -> tuple[CustomCall, list[torch.Tensor | None]]:
        """Return the call of a node, and the tensors of its inputs, None for one left out.

        In `made` a `CustomOp` is kept for the next call of its kind; without it, each call has one
        of its own.
        """
        raise NotImplementedError

    def call_arrays(
        self, arrays: list[NDArray | None], attributes: dict[str, Any], context: Context
    ) -> list[NDArray]:
        """Return the outputs for arrays in the order of `input_names`, None for one left out."""
        raise NotImplementedError

    def _ask_definition(
        self, phase: str, where: str, attributes: dict[str, Any], known: list
    ) -> Any:
        """Return what the definition gives in `infer_shape` or `infer_type`."""
        raise NotImplementedError

    # For graphs.

    def _run(
        self,
        *tensors: torch.Tensor,
        context: Context,
        attributes: dict[str, Any],
        made: dict | None = None,
    ):
        """Call the operator on tensors; its states, the last of them, are written in place."""
        results = call(*self.prepare(tensors, attributes, context, made))
        return results if len(results) > 1 else results[0]

    def arguments_of_run(self, attributes: dict[str, Any]) -> dict[str, Any]:
        return {"attributes": attributes}

    def with_memory(self) -> Callable:
        """Return `run` as an Executor calls it: a `CustomOp` is kept from call to call."""
        return self._run

    def call_sparse(self, arrays, attributes, context):
        return self.call_arrays(arrays, attributes, context)

    def drops(self, name: str) -> bool:
        return False

    def owns(self, attribute: str) -> bool:
        return not attribute.startswith("__")

    def places(self, attributes: dict, count: int) -> list[str]:
        return self.input_names(attributes)

    def input_names(self, attributes: dict, count: int = 0) -> list[str]:
        arguments, states = self.input_parts(attributes)
        return [*arguments, *states]

    def shown_outputs(self, attributes: dict) -> Sequence[str]:
        return self.outputs

    def state_names(self, attributes: dict) -> tuple[str, ...]:
        return tuple(self.input_parts(attributes)[1])

    def infer_shapes(self, shapes: dict, attributes: dict) -> dict[str, Shape]:
        names, _ = self.input_parts(attributes)
        if not names or not shapes.get(names[0]):  # the first is the data, which tells the rest
            return {}
        inputs, _, states = self.all_shapes([list(shapes.get(n) or ()) for n in names], attributes)
        found = zip(self.input_names(attributes), [*inputs, *states])
        return {name: shape for name, shape in found if shape}

    def one_type(self, attributes: dict) -> bool:
        return False

    def input_types(self, dtypes: dict, attributes: dict) -> dict[str, torch.dtype]:
        names, _ = self.input_parts(attributes)
        known = [dtypes[name] for name in names if name in dtypes]
        if not known or dtypes.keys() >= {*self.input_names(attributes)}:
            return {}
        inputs, _, states = self.all_types([dtypes.get(n, known[0]) for n in names], attributes)
        return dict(zip(self.input_names(attributes), [*inputs, *states]))

    def output_types(self, dtypes: dict, attributes: dict) -> list[torch.dtype]:
        names, _ = self.input_parts(attributes)
        known = dtypes.keys() >= {*names}
        return self.all_types([dtypes[n] for n in names], attributes)[1] if known else []

    def output_shapes(self, shapes: list[tuple], attributes: dict) -> list[Shape]:
        names, _ = self.input_parts(attributes)
        return self.all_shapes([list(s) for s in shapes[: len(names)]], attributes)[1]

    # For files.

    @property
    def module_to_record(self) -> dict[str, str]:
        """The module of the operator by its name, for a file: where the name does not begin so."""
        module = self.definition.__module__
        known = module == "__main__" or self.op_type.startswith(f"{module}.")
        return {} if known or module.startswith("layers.") else {self.op_type: module}

    @property
    def is_current(self) -> bool:
        """True if its name is registered for it, or for a newer version of the same definition."""
        return operator.is_current(self.op_type, self.definition)

    # For calls.

    def arrange(
        self, args: Sequence, named: dict[str, Any], attributes: dict[str, Any]
    ) -> list[NDArray | None]:
        """Return the inputs in their order, from those by position and by name.

        Those of unknown shape are made; None is an optional one that is left out.
        """
        names = self.input_names(attributes)
        if not named and len(args) == len(names) and all(type(a) is NDArray for a in args):
            return list(args)  # the commonest call
        expected = f"expected {', '.join(names) or 'none'}"
        if len(args) > len(names):
            raise ArgumentError(f"{self.what}: {len(args)} inputs\n  {expected}")
        given = dict(zip(names, args))
        for name, value in named.items():
            if name not in names or name in given:
                problem = "given twice" if name in given else "unknown"
                raise ArgumentError(f"{self.what}: input {name!r} is {problem}\n  {expected}")
            given[name] = value
        for name in names:
            value = given.setdefault(name)
            if value is None and name not in self.optional:
                raise ArgumentError(f"{self.what}: {name} is missing\n  {expected}")
            if not isinstance(value, (NDArray, Pending, NoneType)):
                raise ArgumentError(
                    f"{self.what}: {name} is {describe_value(value)}\n"
                    f"  expected {expected_array(value)}"
                )
        if any(isinstance(value, Pending) for value in given.values()):
            given = self._resolved(given, attributes)
        return [given[name] for name in names]

    def _resolved(self, given: dict[str, Any], attributes: dict) -> dict[str, NDArray | None]:
        """Return the inputs with those of unknown shape made, of the shapes that the rules give."""
        pending = {name for name, value in given.items() if isinstance(value, Pending)}
        names, _ = self.input_parts(attributes)
        known = [given[n].known if n in pending else given[n].shape for n in names]
        inputs, _, states = self.all_shapes([list(shape) for shape in known], attributes)
        found = dict(zip(self.input_names(attributes), [*inputs, *states]))
        return given | {name: given[name].resolve(found[name]) for name in pending}

    # Shapes and types.

    def all_shapes(
        self, given: list[list[int]], attributes: dict[str, Any], where: str = ""
    ) -> Lists:
        """Return the shapes of inputs, outputs and states; () stands for an unknown one."""
        names, _ = self.input_parts(attributes)
        where = where or ", ".join(f"{n} {tuple(s)}" for n, s in zip(names, given))
        return self._lists("infer_shape", where, attributes, [list(s) for s in given])

    def all_types(
        self, given: list[torch.dtype], attributes: dict[str, Any], where: str = ""
    ) -> Lists:
        """Return the dtypes of inputs, outputs and states, from those of the inputs."""
        names, _ = self.input_parts(attributes)
        where = where or ", ".join(f"{n} {_dtype.name(t)}" for n, t in zip(names, given))
        return self._lists("infer_type", where, attributes, [_dtype.to_numpy(t) for t in given])

    def _lists(self, phase: str, where: str, attributes: dict, known: list) -> Lists:
        """Return what the definition infers; refuse what is not two or three lists that fit."""
        error_class, read, expected = _PHASES[phase]

        def refuse(gave: str, expected: str) -> MXNetError:
            return error_class(
                f"{self.what}: {phase} gave {gave}\n  expected {expected}\n  in {where}"
            )

        def entry(name: str, value: Any) -> Any:
            try:
                return read(value)
            except (TypeError, ValueError):
                raise refuse(f"{value!r} for {name}", expected) from None

        given = self._ask_definition(phase, where, attributes, known)
        lists = [list(part) for part in given] if _is_nested(given) else None
        if lists is None or len(lists) not in (2, 3):
            gave = repr(given) if lists is None else f"{len(lists)} lists"
            raise refuse(gave, "two or three lists: of inputs, outputs, states")
        arguments, states = self.input_parts(attributes)
        parts = [arguments, self.outputs, states]
        for part, names in zip(lists, parts):
            if len(part) != len(names):
                raise refuse(f"{len(part)} entries for {[*names]}", str(len(names)))
        found = [[entry(n, v) for n, v in zip(names, part)] for part, names in zip(lists, parts)]
        return found[0], found[1], found[2] if len(found) > 2 else []

    def _ask(self, phase: str, where: str, function: Callable, /, *args, **kwargs) -> Any:
        """Call the user's code; an exception gets a note of where it came from."""
        try:
            return function(*args, **kwargs)
        except Exception as error:
            note(error, f"  in {phase} of {self.what}" + (f" ({where})" if where else ""))
            raise

    def __repr__(self) -> str:
        return f"<operator {self.op_type}>"


def _of_tensors(*, context: Context):
    """Give `Op` a signature to read: the only argument is a context, which graphs supply."""


def _is_nested(given: Any) -> bool:
    return isinstance(given, Iterable) and all(isinstance(part, Iterable) for part in given)


def _shape(value: Any) -> Shape:
    shape = tuple([index(n) for n in value])
    if any(n < 0 for n in shape):
        raise ValueError("a negative size")
    return shape


def _inferred_type(value: Any) -> torch.dtype:
    """Return the dtype that a definition infers; None, which elsewhere is float32, is none."""
    if value is None:
        raise TypeError
    return _dtype.to_torch(value)


# By phase: the error's class, the function that reads an entry, and the entry that is expected.
_PHASES = {
    "infer_shape": (ShapeError, _shape, "a tuple of sizes, whole numbers from 0"),
    "infer_type": (DTypeError, _inferred_type, "a dtype, such as numpy.float32"),
}
