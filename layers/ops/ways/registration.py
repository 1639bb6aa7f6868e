"""Registration information of MindSpore: inputs, outputs, attributes and dtypes for each target.

It is a dict, which a chain of calls of `CustomRegOp` builds. Each row lists dtypes that the
operator supports; inputs of other dtypes are cast up to the nearest row.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from copy import deepcopy
from dataclasses import dataclass
from typing import Any

from ...engine import mx, mxnet_error
from ._attributes import PARSERS
from ._primitive.input_dtypes import DTYPES, nearest_row

__all__ = ["CustomRegOp", "DataType", "RegistrationError", "custom_info_register"]

TARGETS = ("CPU", "GPU", "Ascend")
PARAM_TYPES = ("required", "dynamic", "optional")
VALUE_TYPES = ("int", "str", "bool", "float", "listInt", "listStr", "listBool", "listFloat")
PLAIN_FORMATS = ("", "DefaultFormat", "NCHW")  # formats of arrays in both engines

_PREFIXES = {
    "BOOL": "bool", "I8": "int8", "U8": "uint8", "I16": "int16", "U16": "uint16",
    "I32": "int32", "U32": "uint32", "I64": "int64", "U64": "uint64",
    "F16": "float16", "F32": "float32", "F64": "float64", "BF16": "bfloat16",
}  # fmt: skip

_FORMATS = {
    "None": ("",), "Default": ("DefaultFormat",), "5HD": ("NC1HWC0",), "FracZ": ("FRACTAL_Z",),
    "FracNZ": ("FRACTAL_NZ",), "C1HWNCoC0": ("C1HWNCoC0",), "NCHW": ("NCHW",), "NHWC": ("NHWC",),
    "HWCN": ("HWCN",), "NDHWC": ("NDHWC",), "ChannelLast": ("ChannelLast",),
    "Default_Tuple": ("DefaultFormat", "tuple"), "Default_List": ("DefaultFormat", "list"),
}  # fmt: skip
_FLOAT_FORMATS = {
    "NCDHW": ("NCDHW",), "DHWCN": ("DHWCN",), "NDC1HWC0": ("NDC1HWC0",),
    "FRACTAL_Z_3D": ("FRACTAL_Z_3D",), "FracZNLSTM": ("FRACTAL_ZN_LSTM",),
    "FracZNRNN": ("FRACTAL_ZN_RNN",), "ND_RNNBIAS": ("ND_RNN_BIAS",),
}  # fmt: skip
_MORE_FORMATS = {
    **dict.fromkeys(("I8", "U8"), {n: (n,) for n in ("NCDHW", "NDC1HWC0", "NC1HWC0")}),
    "I32": {n: (n,) for n in ("NCDHW", "NDC1HWC0")},
    **dict.fromkeys(("F16", "F32", "BF16"), _FLOAT_FORMATS),
}


class RegistrationError(mx.base.MXNetError, ValueError):
    """An error about registration information that contradicts itself or something else."""


class DataType:
    """Pairs of a dtype and a format, such as ``F32_Default = ("float32", "DefaultFormat")``."""


def _constants() -> dict[str, tuple[str, ...]]:
    found = {"None_None": ("", ""), "None_Default": ("", "DefaultFormat")}
    for prefix, dtype in _PREFIXES.items():
        formats = _FORMATS | _MORE_FORMATS.get(prefix, {})
        found |= {f"{prefix}_{name}": (dtype, *format) for name, format in formats.items()}
    for prefix, dtype in (("C64", "complex64"), ("C128", "complex128")):
        for name in ("Default", "Default_Tuple"):
            found[f"{prefix}_{name}"] = (dtype, *_FORMATS[name])
    return found


for _name, _value in _constants().items():
    setattr(DataType, _name, _value)


class CustomRegOp:
    """Builder of registration information: a chain of calls that ends in `get_op_info`.

    Parameters
    ----------
    op_name : str

    Raises
    ------
    TypeError
        An argument, here or in the chain, is of a wrong type.
    RegistrationError
        An argument is none of the allowed values.

    Examples
    --------
    >>> CustomRegOp("Add").input(0, "a").input(1, "b").output(0, "y").dtype_format(
    ...     DataType.F32_Default, DataType.F32_Default, DataType.F32_Default
    ... ).target("CPU").get_op_info()
    """

    def __init__(self, op_name: str = "Custom"):
        if not isinstance(op_name, str) or not op_name.strip():
            raise RegistrationError(
                f"CustomRegOp: op_name is {op_name!r}\n  expected text that is not empty"
            )
        self._name = op_name
        self._info: dict[str, Any] = {
            "op_name": op_name,
            "inputs": [],
            "outputs": [],
            "attr": [],
            "fusion_type": "",
            "dtype_format": [],
            "target": "UnKnown",
        }

    def input(
        self, index: int | None = None, name: str | None = None, param_type="required", **kwargs
    ) -> CustomRegOp:
        """Add an input: its number, its name, and 'required', 'dynamic' or 'optional'.

        Raises
        ------
        TypeError, RegistrationError
            An argument is of a wrong type, or none of the allowed values.
        """
        return self._add_array("input", index, name, param_type, kwargs)

    def output(
        self, index: int | None = None, name: str | None = None, param_type="required", **kwargs
    ) -> CustomRegOp:
        """Add an output, with the arguments of `input`.

        Raises
        ------
        TypeError, RegistrationError
            See `input`.
        """
        return self._add_array("output", index, name, param_type, kwargs)

    def _add_array(self, what, index, name, param_type, more) -> CustomRegOp:
        places = self._info[f"{what}s"]
        if index is not None:
            if isinstance(index, bool) or not isinstance(index, int):
                raise mxnet_error(TypeError, self._message(f"{what} index", index, "an int"))
            if index < 0 or any(place.get("index") == index for place in places):
                raise RegistrationError(
                    self._message(f"{what} index", index, "a number from 0 that no other one has")
                )
        self._expect_text(f"{what} name", name)
        self._expect_one_of(f"{what} param_type", param_type, PARAM_TYPES)
        places.append(_without_none(index=index, name=name, paramType=param_type) | more)
        return self

    def attr(
        self,
        name: str | None = None,
        param_type: str | None = None,
        value_type: str | None = None,
        default_value: str | None = None,
        **kwargs,
    ) -> CustomRegOp:
        """Add an attribute.

        Parameters
        ----------
        name : str
        param_type : {'required', 'optional'}
        value_type : {'int', 'str', 'bool', 'float', 'listInt', 'listStr', 'listBool', 'listFloat'}
        default_value : str
            The default as text: ``"1.0"``, ``"1,2,3"``.
        value : optional
            The value, in any type.

        Raises
        ------
        TypeError, RegistrationError
            An argument is of a wrong type, or none of the allowed values.
        """
        self._expect_text("attr name", name)
        self._expect_one_of("attr param_type", param_type, ("required", "optional"))
        self._expect_one_of("attr value_type", value_type, VALUE_TYPES)
        self._expect_text("attr default_value", default_value)
        entry = _without_none(
            name=name, paramType=param_type, type=value_type, defaultValue=default_value
        )
        self._info["attr"].append(entry | kwargs)
        return self

    def dtype_format(self, *args: tuple[str, ...]) -> CustomRegOp:
        """Add a row: the dtype and format of each input, then of each output; see `DataType`.

        Raises
        ------
        TypeError, RegistrationError
            The row has an entry that is no such pair, or not one pair for each input and output.
        """
        counts = len(self._info["inputs"]), len(self._info["outputs"])
        _check_row(f"CustomRegOp {self._name!r}", args, *counts)
        self._info["dtype_format"].append(args)
        return self

    def fusion_type(self, fusion_type: str) -> CustomRegOp:
        """Set the fusion type, which has no effect here.

        Raises
        ------
        TypeError
            The fusion type is no text.
        """
        self._expect_text("fusion_type", fusion_type, optional=False)
        self._info["fusion_type"] = fusion_type
        return self

    def target(self, target: str | None = None) -> CustomRegOp:
        """Set the target: 'CPU', 'GPU' or 'Ascend'.

        Raises
        ------
        TypeError, RegistrationError
            The target is no text, or none of these.
        """
        self._expect_one_of("target", target, TARGETS)
        if target is not None:
            self._info["target"] = target
        return self

    def get_op_info(self) -> dict[str, Any]:
        """Return a copy of the information as a dict."""
        return deepcopy(self._info)

    def _expect_text(self, what: str, value: Any, optional: bool = True) -> None:
        if not (isinstance(value, str) or optional and value is None):
            raise mxnet_error(TypeError, self._message(what, value, "text"))

    def _expect_one_of(self, what: str, value: Any, known: Sequence[str]) -> None:
        self._expect_text(what, value)
        if value is not None and value not in known:
            raise RegistrationError(self._message(what, value, f"one of {', '.join(known)}"))

    def _message(self, what: str, value: Any, expected: str) -> str:
        return f"CustomRegOp {self._name!r}: {what} is {value!r}\n  expected {expected}"


def _without_none(**values: Any) -> dict[str, Any]:
    """Return the arguments that are not None."""
    return {name: value for name, value in values.items() if value is not None}


def _check_row(who: str, row: Sequence, inputs: int, outputs: int) -> None:
    """Refuse a row without exactly one (dtype, format[, container]) for each input and output."""
    if len(row) != inputs + outputs:
        raise RegistrationError(
            f"{who}: a row of {len(row)} dtypes and formats\n"
            f"  expected {inputs + outputs}: {inputs} inputs, {outputs} outputs"
        )
    for pair in row:
        _check_pair(who, pair)


def _check_pair(who: str, pair: Any) -> None:
    if not isinstance(pair, (tuple, list)) or len(pair) not in (2, 3):
        raise RegistrationError(
            f"{who}: {pair!r} in a row of dtypes and formats\n"
            "  expected a dtype and a format, such as DataType.F32_Default"
        )
    if not all(isinstance(part, str) for part in pair):
        raise mxnet_error(
            TypeError, f"{who}: {pair!r} in a row of dtypes and formats\n  expected text"
        )
    if pair[0] not in ("", *DTYPES):
        raise RegistrationError(f"{who}: dtype {pair[0]!r}\n  expected one of {', '.join(DTYPES)}")


def custom_info_register(*reg_info: Any) -> Callable[[Callable], Callable]:
    """Attach registration information to a function; a decorator.

    The argument `reg_info` of `Custom` overrides it.

    Parameters
    ----------
    *reg_info : dict, str or CustomRegOp
        One for each target; text is JSON.

    Raises
    ------
    TypeError
        An argument is no registration information.
    RegistrationError
        An argument is text that is no JSON.
    """
    found = dicts("custom_info_register", reg_info)

    def bind(function: Callable) -> Callable:
        function.reg_info = tuple(found)
        return function

    return bind


def dicts(who: str, reg_info: Any) -> list[dict]:
    """Return registration information of any form as a list of dicts, one for each target.

    Raises
    ------
    TypeError, RegistrationError
        It has none of the forms, or is text that is no JSON.
    """
    if reg_info is None:
        return []
    if isinstance(reg_info, CustomRegOp):
        return [reg_info.get_op_info()]
    if isinstance(reg_info, dict):
        return [reg_info]
    if isinstance(reg_info, (list, tuple)):
        return [found for one in reg_info for found in dicts(who, one)]
    if isinstance(reg_info, str):
        try:
            return dicts(who, json.loads(reg_info))
        except json.JSONDecodeError as error:
            raise RegistrationError(
                f"{who}: reg_info is {reg_info!r}: {error}\n  expected JSON"
            ) from None
    raise mxnet_error(
        TypeError,
        f"{who}: reg_info is {reg_info!r} ({type(reg_info).__name__})\n"
        "  expected a dict, JSON, a CustomRegOp, or a list of them",
    )


@dataclass(frozen=True)
class Registration:
    """Registration of an operator for one target.

    Attributes
    ----------
    target : str
    inputs, outputs : tuple of str
        Their names; empty if none are registered.
    attributes : dict
        The values of attributes by name, without attributes that have no value.
    names : tuple of str
        The names of all attributes.
    rows : tuple of tuple of str
        The dtypes of inputs, then outputs, that the operator supports, where ``''`` is any dtype;
        empty if it supports all.
    """

    target: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    attributes: dict[str, Any]
    names: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]

    def row(self, who: str, dtypes: tuple[str, ...]) -> tuple[str, ...]:
        """Return the dtypes to run on: these, or the nearest row to which they can be cast up.

        Raises
        ------
        TypeError
            They can be cast up to no row.
        """
        if not self.rows:
            return dtypes
        inputs = [row[: len(self.inputs)] for row in self.rows]
        if (found := nearest_row(dtypes, inputs)) is not None:
            return found
        known = "; ".join(", ".join(t or "any" for t in row) for row in inputs)
        raise mxnet_error(
            TypeError,
            f"{who}: inputs of {', '.join(dtypes)}\n"
            f"  expected, for {self.target}, dtypes that can be cast up to one of: {known}",
        )


def parse(who: str, info: dict[str, Any], func_type: str) -> Registration:
    """Return the registration that a dict describes.

    Raises
    ------
    RegistrationError
        The dict contradicts itself, or its target does not exist.
    """
    inputs, outputs = _names(who, info, "inputs"), _names(who, info, "outputs")
    target = _target(who, info, func_type)
    rows = info.get("dtype_format") or ()
    for row in rows:
        _check_row(f"{who}: reg_info", row, len(inputs), len(outputs))
        unknown = [pair[1] for pair in row if pair[1] not in PLAIN_FORMATS]
        if unknown and target != "Ascend":
            raise RegistrationError(
                f"{who}: format {unknown[0]!r} for {target}\n"
                f"  expected one of {', '.join(map(repr, PLAIN_FORMATS))}; there are no others"
            )
    dtypes = tuple(tuple(pair[0] for pair in row) for row in rows)
    attributes = info.get("attr") or ()
    with_value = [a for a in attributes if "value" in a or "defaultValue" in a]
    values = {a["name"]: _value(who, a) for a in with_value}
    names = tuple(a.get("name", "") for a in attributes)
    return Registration(target, inputs, outputs, values, names, dtypes)


def _names(who: str, info: dict, part: str) -> tuple[str, ...]:
    """Return the names of the inputs or outputs, in the order of their indices."""
    places = info.get(part) or ()
    if dynamic := [p for p in places if p.get("paramType") == "dynamic"]:
        raise RegistrationError(
            f"{who}: {dynamic[0].get('name')!r} of the {part} is dynamic, a list of arrays\n"
            "  expected one array for each"
        )
    numbered = sorted(enumerate(places), key=lambda pair: pair[1].get("index", pair[0]))
    return tuple(place.get("name") or f"{part[:-1]}{i}" for i, place in numbered)


_TARGET_OF_PROCESSOR = {"AiCore": "Ascend", "CUDA": "GPU", "CPU": "CPU"}


def _target(who: str, info: dict, func_type: str) -> str:
    target = info.get("target")
    if target in TARGETS:
        return target
    if target in (None, "UnKnown"):
        if found := _TARGET_OF_PROCESSOR.get(info.get("processor")):
            return found
        if func_type == "pyfunc":
            return "CPU"
    raise RegistrationError(
        f"{who}: the target in reg_info is {target!r}\n  expected one of {', '.join(TARGETS)}"
    )


def _value(who: str, attribute: dict) -> Any:
    """Return an attribute's value, or its default, which is parsed from text."""
    if "value" in attribute:
        return attribute["value"]
    text, kind = attribute["defaultValue"], attribute.get("type", "str")
    try:
        if kind.startswith("list"):
            parse_part = _PARSERS[kind.removeprefix("list").lower()]
            return [parse_part(part.strip()) for part in text.split(",")] if text.strip() else []
        return _PARSERS[kind](text)
    except (ValueError, KeyError, AttributeError):
        raise RegistrationError(
            f"{who}: the default of attribute {attribute.get('name')!r} is {text!r}\n"
            f"  expected text that is a value of type {kind}"
        ) from None


_PARSERS = {kind.__name__: parser for kind, parser in PARSERS.items()}


def registrations(who: str, reg_info: Any, func_type: str) -> dict[str, Registration]:
    """Return the registrations that `reg_info` describes, by target.

    Raises
    ------
    RegistrationError
        Two of them are for one target, or have different attributes.
    """
    found: dict[str, Registration] = {}
    for one in (parse(who, info, func_type) for info in dicts(who, reg_info)):
        before = found.setdefault(one.target, one)
        if before != one:
            raise RegistrationError(
                f"{who}: two reg_info for {one.target}: {_difference(before, one)}\n"
                "  expected one for each target"
            )
        first = next(iter(found.values()))
        if set(first.names) != set(one.names):
            raise RegistrationError(
                f"{who}: attributes ({', '.join(one.names)}) for {one.target}\n"
                f"  expected ({', '.join(first.names)}), as for {first.target}"
            )
    return found


def _difference(a: Registration, b: Registration) -> str:
    name = next(n for n in vars(a) if getattr(a, n) != getattr(b, n))
    return f"{name} were {getattr(a, name)!r} and are {getattr(b, name)!r}"
