"""Custom operators: `CustomOp`, `CustomOpProp`, and `register`, by which `nd.Custom` finds them."""

from __future__ import annotations

import difflib
import sys
import warnings
from collections.abc import Callable
from importlib import import_module
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ._table import registry
from .base import ArgumentError, MXNetError, describe_value, quoted

__all__ = [
    "CustomOp",
    "CustomOpProp",
    "OperatorArguments",
    "get_all_registered_operators",
    "get_operator_arguments",
    "register",
]


class CustomOp:
    """What an operator computes; made anew for each call, and by an Executor once."""

    def forward(self, is_train, req, in_data, out_data, aux):
        """Compute the outputs.

        Parameters
        ----------
        is_train : bool
        req : list of {'null', 'write', 'inplace', 'add'}
            What to do with each output; `assign` does it.
        in_data, out_data, aux : list of NDArray
            Inputs, outputs to be written, states to be updated in place.
        """
        raise NotImplementedError(
            f"{type(self).__name__} has no forward\n"
            "  expected def forward(self, is_train, req, in_data, out_data, aux)"
        )

    def backward(self, req, out_grad, in_data, out_data, in_grad, aux):
        """Compute the gradients of the inputs; one that is left unwritten is zero.

        Parameters
        ----------
        req : list of {'null', 'write', 'inplace', 'add'}
            What to do with each gradient; `assign` does it.
        out_grad, in_data, out_data, aux : list of NDArray
            Gradients of the outputs, inputs, outputs, states; empty arrays in the places of those
            that `declare_backward_dependency` leaves out.
        in_grad : list of NDArray
            Gradients of the inputs, to be written.
        """
        raise NotImplementedError(
            f"{type(self).__name__} has no backward, and a gradient is asked for\n"
            "  expected def backward(self, req, out_grad, in_data, out_data, in_grad, aux)"
        )

    def assign(self, dst, req, src) -> None:
        """Write `src` (NDArray, NumPy array or number) into `dst`, as `req` says.

        Raises
        ------
        ArgumentError
            `src` is None, or `req` none of 'null', 'write', 'inplace' and 'add'.
        """
        if src is None and req != "null":  # which NumPy would take for NaN
            raise ArgumentError("assign: src is None\n  expected an array or a number")
        if req in ("write", "inplace"):
            dst[:] = src
        elif req == "add":
            term = dst.copy()
            term[:] = src
            dst[:] = dst + term
        elif req != "null":
            raise ArgumentError(
                f"assign: req is {req!r}\n  expected 'null', 'write', 'inplace' or 'add'"
            )


class _NotInitialized:
    """What stands for an attribute of a Prop until its ``__init__`` sets it."""

    def __get__(self, prop, cls):
        raise AttributeError(
            f"{cls.__module__}.{cls.__qualname__}: {cls.__init__.__qualname__} does not call "
            "super().__init__()\n"
            "  expected super().__init__(need_top_grad=True), or False for a loss"
        )


class CustomOpProp:
    """What an operator looks like: its inputs, outputs, states, shapes and types.

    Attributes of the call reach ``__init__`` as text.

    Parameters
    ----------
    need_top_grad : bool
        Whether `backward` uses the gradient of the outputs; False for a loss.

    Attributes
    ----------
    low_precision : bool
        Whether mixed precision casts the inputs to 16 bits, and not to float32.
    """

    low_precision = False
    need_top_grad_: Any = _NotInitialized()

    def __init__(self, need_top_grad: bool = True):
        self.need_top_grad_ = need_top_grad

    def list_arguments(self) -> list[str]:
        """Names of the inputs."""
        return ["data"]

    def list_outputs(self) -> list[str]:
        """Names of the outputs."""
        return ["output"]

    def list_auxiliary_states(self) -> list[str]:
        """Names of the states, which are passed after the inputs."""
        return []

    def infer_shape(self, in_shape):
        """Shapes of inputs, outputs and states, from those of the inputs: three lists, or two."""
        return in_shape, [in_shape[0]] * len(self.list_outputs()), []

    def infer_type(self, in_type):
        """Dtypes of inputs, outputs and states, from those of the inputs."""
        first = in_type[0] if in_type else np.float32
        return (
            in_type,
            [first] * len(self.list_outputs()),
            [first] * len(self.list_auxiliary_states()),
        )

    def infer_storage_type(self, in_stype):
        """Storage types of inputs, outputs and states, from those of the inputs: three lists.

        An operator that defines it is given sparse arrays as they are, and makes such; one that
        does not is given dense copies.

        Raises
        ------
        ArgumentError
            One is sparse.
        """
        _expect_dense("infer_storage_type", "in_stype", in_stype)
        dense = [
            ["default"] * len(names()) for names in (self.list_outputs, self.list_auxiliary_states)
        ]
        return in_stype, *dense

    def infer_storage_type_backward(self, ograd_stype, in_stype, out_stype, igrad_stype, aux_stype):
        """Storage types of all that `backward` uses, from those that are known: five lists.

        They are of the gradients of the outputs, the inputs, the outputs, the gradients of the
        inputs ('undefined' where no array takes one), and the states.

        Raises
        ------
        ArgumentError
            A gradient is sparse.
        """
        _expect_dense("infer_storage_type_backward", "ograd_stype", ograd_stype)
        _expect_dense("infer_storage_type_backward", "igrad_stype", igrad_stype)
        given = ograd_stype, in_stype, out_stype, igrad_stype, aux_stype
        return tuple([["default"] * len(part) for part in given])

    def declare_backward_dependency(self, out_grad, in_data, out_data):
        """Of these numbers of arrays, those that `backward` needs."""
        top = list(out_grad) if self.need_top_grad_ else []
        return top + list(in_data) + list(out_data)

    def create_operator(self, ctx, in_shapes, in_dtypes):
        """The `CustomOp` for arrays of these shapes and dtypes.

        Parameters
        ----------
        ctx : Context
        in_shapes : list of list of int
            Of the inputs, then of the states.
        in_dtypes : list of numpy type
            Of the same arrays. MXNet has its own numbers of types here.
        """
        raise NotImplementedError(
            f"{type(self).__name__} has no create_operator\n"
            "  expected def create_operator(self, ctx, in_shapes, in_dtypes): a CustomOp"
        )

    if TYPE_CHECKING:  # programs have other names for its parameters

        def create_operator(self, *args: Any, **kwargs: Any) -> CustomOp: ...


def _expect_dense(phase: str, what: str, stypes) -> None:
    """Refuse sparse arrays, for an operator that does not say what it does with them."""
    for i, stype in enumerate(stypes):
        if stype not in ("default", "undefined"):
            raise ArgumentError(
                f"{phase}: {what}[{i}] is {stype!r}\n"
                f"  expected 'default', or a CustomOpProp that defines {phase}"
            )


# By name: subclasses of `CustomOpProp`, and `Operator` objects of `layers.ops`.
_registry: dict[str, Any] = {}


def register(reg_name: str) -> Callable[[type], type]:
    """Register a `CustomOpProp` under a name, for ``nd.Custom(..., op_type=name)``.

    A class takes the name over from an earlier one, with a warning if that was another one: of
    another module, or another name.
    """

    def add(prop_cls: type) -> type:
        if not (isinstance(prop_cls, type) and issubclass(prop_cls, CustomOpProp)):
            raise TypeError(
                f"register {reg_name!r}: {prop_cls!r}\n  expected a subclass of CustomOpProp"
            )
        _add(reg_name, prop_cls)
        return prop_cls

    return add


def register_operator(operator: Any) -> None:
    """Register an `Operator` of `layers.ops` under its name, in place of an earlier one."""
    if _registry.get(operator.name) is not operator:
        _add(operator.name, operator)


def registered_operators() -> list[Any]:
    """Return the `Operator` objects that are registered now."""
    return [known for known in _registry.values() if not isinstance(known, type)]


def _add(name: str, definition: Any) -> None:
    before = _registry.get(name)
    if before and (before.__module__, before.__name__) != (
        definition.__module__,
        definition.__name__,
    ):
        warnings.warn(
            f"operator {name!r} of {_place(before)[0]} is replaced by "
            f"{'.'.join(_place(definition))}",
            stacklevel=_level_of_the_program(),
        )
    _registry[name] = definition


def _level_of_the_program() -> int:
    """The `stacklevel` at which a warning of the caller names the program's line, not ours."""
    frame, level = sys._getframe(1), 1
    while frame.f_back and frame.f_globals.get("__name__", "").partition(".")[0] == "layers":
        frame, level = frame.f_back, level + 1
    return level


def get_all_registered_operators() -> list[str]:
    """Names of all operators of the table; custom ones are not in it."""
    return registry.names()


class OperatorArguments(NamedTuple):
    """What an operator takes: how many arguments, their names, and their types as text."""

    narg: int
    names: list[str]
    types: list[str]


def get_operator_arguments(op_name: str) -> OperatorArguments:
    """What an operator of the table takes.

    Raises
    ------
    ArgumentError
        There is no such operator.
    """
    if op_name not in registry.names():
        near = difflib.get_close_matches(op_name, registry.names(), 3)
        raise ArgumentError(
            f"get_operator_arguments: there is no operator {op_name!r}\n"
            f"  expected one such as {', '.join(near or ['Activation'])}"
        )
    told = registry.get(op_name).described_arguments()
    return OperatorArguments(len(told), [*told], [*told.values()])


def is_current(name: str, definition: Any) -> bool:
    """True if a name is registered for a definition, or for a newer version of the same one."""
    now = _registry.get(name)
    if now is None or now is definition:
        return now is definition
    place = _place(definition)
    return place == _place(now) and "<" not in place[1]  # <locals>, <lambda>


def _place(definition: Any) -> tuple[str, str]:
    """Return the module of an operator's definition, and its name in that."""
    return definition.__module__, definition.__qualname__


def registered_name(prop_class: type) -> str | None:
    """The name that a `CustomOpProp` was registered under last, if it was."""
    names = [name for name, known in _registry.items() if known is prop_class]
    return names[-1] if names else None


def find(op_type: str | None) -> Any:
    """Return the `CustomOpProp` or the `Operator` of a name.

    A name may come from a file. No module that it names is imported, but this library's own.

    Raises
    ------
    ArgumentError
        It is None, or no text.
    MXNetError
        No operator is registered under the name; the nearest names are told.
    """
    if op_type is None:
        raise ArgumentError(
            "Custom: op_type is missing\n  expected the name of a registered operator"
        )
    if not isinstance(op_type, str):
        raise ArgumentError(
            f"Custom: op_type is {describe_value(op_type)}\n"
            "  expected the name of a registered operator"
        )
    if op_type not in _registry and op_type.startswith("layers."):
        import_module("layers.ops")
    if op_type not in _registry:
        raise MXNetError(
            f"Custom: operator {quoted(op_type)} is not registered\n"
            f"  expected {_registration(op_type)}; registered here: {_nearest(op_type)}"
        )
    return _registry[op_type]


def expect_registered(op_type: str, module: str | None, where: str) -> None:
    """Refuse an operator of a file that is not registered, with the module that would do it.

    Nothing is imported but this library's own: a file may be anybody's.

    Raises
    ------
    MXNetError
        No operator is registered under the name.
    """
    try:
        find(op_type)
    except MXNetError as error:
        module = module or op_type.rpartition(".")[0]
        if not _is_module(module):
            raise MXNetError(f"symbol: {where}: {error}") from None
        if module in sys.modules:
            raise MXNetError(
                f"symbol: {where}: operator {quoted(op_type)} is not registered, and "
                f"{quoted(module)[1:-1]} is imported\n"
                f"  expected {_definition(op_type)}; registered here: {_nearest(op_type)}"
            ) from None
        raise MXNetError(
            f"symbol: {where}: operator {quoted(op_type)} is not registered\n"
            f"  expected `import {quoted(module)[1:-1]}` first: the operator {quoted(op_type)} of "
            "this file is defined there"
        ) from None


def _is_module(name: str) -> bool:
    """Whether a name is one that a module may have, other than of this library."""
    return name != "layers" and all(part.isidentifier() for part in name.split("."))


def _nearest(op_type: str) -> str:
    """The registered names that are most like one that is not, as a message shows them."""
    name = op_type.rpartition(".")[2]
    elsewhere = [known for known in sorted(_registry) if known.rpartition(".")[2] == name][:8]
    if elsewhere:
        return (
            f"{', '.join(elsewhere)}\n"
            "  names begin with the operator's module, but not in the program that is started: "
            f"define it in a module that both programs import, or with name={quoted(op_type)}"
        )
    near = difflib.get_close_matches(op_type[:100], _registry) or sorted(_registry)[:8]
    return ", ".join(near) or "none"


def _registration(op_type: str) -> str:
    """What registers an operator: its name begins with that of its module, if it has one."""
    module = op_type.rpartition(".")[0]
    if _is_module(module):
        return f"`import {quoted(module)[1:-1]}`, which registers it"
    return _definition(op_type, "the module that registers it to be imported")


def _definition(op_type: str, otherwise: str = "an operator of this name there") -> str:
    """Return what registers an operator whose module is imported: of a Custom its attribute."""
    if not op_type.startswith("Custom_"):
        return otherwise
    return (
        "the Custom with this name (its attribute `name`), registered by reading its attribute "
        "`operator`; one made with `name=` is registered there"
    )
