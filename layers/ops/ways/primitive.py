"""Operators in MindSpore's way: a forward in NumPy, in loops or in a library, and a `bprop`.

    op = Custom(square, lambda x: x, lambda x: x, bprop=square_bprop, func_type="pyfunc")

A `Custom` makes its `Operator` at the first call, which shows how many inputs there are, and which
of them are numbers.
"""

from __future__ import annotations

import inspect
import reprlib
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from ..._errors import note
from ...engine import mx, mxnet_error, nd, sym
from ._primitive.code import Code, Compiled, Loop, Numpy
from ._primitive.declared import Declared
from ._primitive.input_dtypes import InputDtypes
from ._primitive.names import unique_name
from ._validation import expect_name
from .kernel import Kernel, KernelError
from .numpy_border import NUMBERS, dtype_of, is_floating
from .operator import Operator, as_wrapper_of, expect_bool, free_names
from .registration import Registration, dicts, registrations

__all__ = ["Custom"]

CODES = {"hybrid": Loop, "akg": Loop, "pyfunc": Numpy, "aot": Compiled}
REFUSED = {
    "tbe": "Ascend's tensor compiler, and a device of that kind",
    "aicpu": "Ascend's AI CPU, a device of its own",
    "julia": "the Julia language, which is not called from here",
}
ZEROS = {"bool": False, "int64": 0, "float32": 0.0}


class Custom:
    """An operator from a function on NumPy arrays, a loop kernel, or a compiled library.

    It is called with NDArrays or Symbols, and with numbers in between, by position.

    Parameters
    ----------
    func : callable or str
        The function that computes the output, or a tuple of outputs; for 'aot' ``"file:function"``.
    out_shape, out_dtype : callable or value, optional
        ``out_shape(*shapes of inputs)`` returns the output's shape, a tuple of ints, or a tuple of
        shapes for a tuple of outputs; likewise `out_dtype` for dtypes or their names. Loop kernels
        need neither; libraries need no shape if they have an ``InferShape``.
    func_type : {'hybrid', 'akg', 'pyfunc', 'aot'}
        The kind of `func`: a loop kernel (the first two), a function in NumPy, a library.
    bprop : callable, optional
        ``bprop(*inputs, out, dout)`` returns the gradients of the inputs, as a tuple of arrays with
        the inputs' shapes and dtypes, or None for zeros. With several outputs `out` and `dout` are
        tuples. Without `bprop` there is no gradient.
    reg_info : dict, str, CustomRegOp, or list of them, optional
        Registration information, one for each target; it overrides `custom_info_register`.
    pure : bool
        True if `func` and `bprop` depend only on their arguments. With False their Python runs in
        each call, also where a graph is recorded or compiled.
    dtypes : str or list of str, optional
        The dtypes of inputs for which `func` is written, ``"float32 int32"``; a list if it supports
        several combinations. ``any`` is any dtype; a single dtype holds for all inputs. Smaller
        inputs of the same kind are cast up. By default 'float32' for 'aot', 'any' for the others.
    name : str, optional
        The name under which it is registered when it is made. By default the name has a hash of the
        arguments, and is registered at the first use in a graph. If the number of inputs is not
        fixed, it is registered at the first call, under the name and that number.

    Attributes
    ----------
    name : str

    Raises
    ------
    TypeError, ValueError
        An argument is of a wrong type or value; in a call, an output or a gradient differs from its
        declaration.
    NotImplementedError
        `func_type` needs other hardware or another language.
    """

    def __init__(
        self,
        func: Callable | str,
        out_shape: Any = None,
        out_dtype: Any = None,
        func_type: str = "hybrid",
        bprop: Callable | None = None,
        reg_info: Any = None,
        pure: bool = True,
        dtypes: Any = None,
        name: str | None = None,
    ):
        self._arguments = func, out_shape, out_dtype, func_type, bprop, reg_info, pure, dtypes, name
        info = getattr(func, "reg_info", None) if reg_info is None else reg_info
        who = f"Custom {_title(func)!r}"
        code = _code(who, func, func_type)
        if not (bprop is None or callable(bprop)):
            raise mxnet_error(
                TypeError,
                f"{who}: bprop is {bprop!r} ({type(bprop).__name__})\n  expected a function",
            )
        self.pure = expect_bool(who, "pure", pure)
        self.__name__ = _title(func)
        told = () if dtypes is None else (dtypes,)
        expect_name(who, name)
        self.name = name or unique_name(
            self.__name__, (*self._arguments[:5], dicts(who, info), *told)
        )
        self.bprop, self._who = bprop, f"operator {self.name!r}"
        self.registered = registrations(who, info, func_type)
        registered = next(iter(self.registered.values()), None)
        self._code = _read(code, who, func, func_type, registered.names if registered else ())
        self._code.who = self._who
        if registered:
            self._code.attributes = registered.attributes
            _expect_values(who, registered, optional=func_type == "aot")
        for one in self.registered.values():
            _expect_rows(who, one, dtypes, func_type)
        self._dtypes = InputDtypes(self._who, dtypes, code.dtypes)
        self._count_range = self._find_count_range(registered)
        self._declared = Declared(self._who, out_shape, out_dtype, self._code)
        self._operators: dict[tuple, Operator] = {}  # by the dtypes of numbers, None for an array
        self._by_types: dict[tuple, Operator] = {}  # by the types of inputs, if all are arrays
        least, most = self._count_range
        if name is not None and least == most:
            self.operator_of(least)

    def _find_count_range(self, registered: Registration | None) -> tuple[int, int | None]:
        """Return the least and the greatest number of inputs; the latter is None if unlimited."""
        names, least = self._code.parameters, self._code.least
        told = ", ".join(registered.inputs) if registered else ""
        counts = {f"reg_info ({told})": len(registered.inputs)} if told else {}
        if self._dtypes.count > 1:
            counts["dtypes"] = self._dtypes.count
        for where, count in counts.items():
            if names is not None and not least <= count <= len(names):
                raise mxnet_error(
                    ValueError,
                    f"{self._who}: {count} inputs in {where}\n"
                    f"  expected {', '.join(names)}, as {self.__name__} takes",
                )
            least, names = count, (names or tuple(f"x{i}" for i in range(count)))[:count]
        return least, None if names is None else len(names)

    @staticmethod
    def _to_bprop(array: Any) -> Any:
        """Return an NDArray in the form that `bprop` takes."""
        return array

    @staticmethod
    def _from_bprop(value: Any) -> Any:
        """Return a result of `bprop`; convert an array to an NDArray."""
        return value

    def __call__(self, *inputs):
        """Compute the output, or a tuple of outputs.

        Raises
        ------
        TypeError, ValueError
            There are too few or too many inputs; one is neither an array nor a number; the operator
            is registered for other dtypes or another target; or an output differs from its
            declaration.
        """
        operator = self._by_types.get(tuple(map(type, inputs)))
        if operator is None:
            return self._first_call(inputs)
        return _as_declared(operator, operator._adapter.call_bound(inputs, {}))

    def _first_call(self, inputs: Sequence) -> Any:
        """Call the operator with inputs of new types, or with numbers among them."""
        values = [a.item() if isinstance(a, np.generic) else a for a in inputs]
        kinds = tuple([NUMBERS.get(type(a)) for a in values])
        self._expect_numbers(values)
        dtypes = [kind or _known_dtype(a) for a, kind in zip(values, kinds)]
        operator = self._operator(kinds, dtypes)
        arrays = [a for a, kind in zip(values, kinds) if kind is None]
        numbers = {n: a for n, a, kind in zip(operator.places, values, kinds) if kind is not None}
        if any(isinstance(a, sym.Symbol) for a in arrays):
            operator.register()
        if not numbers:
            self._by_types[tuple(map(type, inputs))] = operator
        return _as_declared(operator, operator(*arrays, **numbers))

    def _expect_numbers(self, values: Sequence) -> None:
        """Refuse values of Python and NumPy that are no numbers; the engine refuses others."""
        for name, value in zip(self._names(len(values)), values):
            if type(value) not in NUMBERS and type(value).__module__ in ("builtins", "numpy"):
                raise mxnet_error(
                    TypeError,
                    f"{self._who}: {name} is {reprlib.repr(value)} ({type(value).__name__})\n"
                    "  expected an NDArray, a Symbol or a number",
                )

    @property
    def operator(self) -> Operator:
        """Return the operator for arrays, registered, for ``nd.Custom(x, op_type=op.name)``.

        Raises
        ------
        TypeError
            The number of inputs is not fixed.
        """
        least, most = self._count_range
        if least != most:
            raise mxnet_error(
                TypeError,
                f"{self._who}: it takes {least} inputs or more\n"
                "  expected a function with a fixed number of inputs, or reg_info that names them",
            )
        return self.operator_of(least)

    def operator_of(self, count: int) -> Operator:
        """Return the operator for `count` arrays, registered."""
        operator = self._operator((None,) * count, ["float32"] * count)
        operator.register()
        return operator

    @property
    def __signature__(self) -> inspect.Signature:
        if self._code.parameters is None:
            return inspect.signature(Custom.__call__)
        kind = inspect.Parameter.POSITIONAL_ONLY
        names = self._code.parameters[: self._count_range[1]]
        return inspect.Signature([inspect.Parameter(n, kind) for n in names])

    def __reduce__(self) -> tuple:
        return type(self), self._arguments

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.name}>"

    def _operator(self, kinds: tuple, dtypes: Sequence[str]) -> Operator:
        """Return the operator for inputs of these kinds: a number's dtype, None for an array."""
        found = self._operators.get(kinds)
        return found or self._operators.setdefault(kinds, self._make_operator(kinds, dtypes))

    def _make_operator(self, kinds: tuple, dtypes: Sequence[str]) -> Operator:
        places, count = self._names(len(kinds)), self._declared.count(dtypes)
        arrays = tuple(n for n, kind in zip(places, kinds) if kind is None)
        names = ["y"] if count in (None, 1) else [f"y{i}" for i in range(count)]
        names = free_names(names, places)
        shapes, types = self._declared.rules(dict(zip(places, kinds)), names, count)
        operator = Operator(
            "_".join([self.name, *_suffix(kinds, self._count_range)]),
            self._forward(places, count),
            inputs=arrays,
            outputs=names,
            attributes={n: ZEROS[kind] for n, kind in zip(places, kinds) if kind is not None},
            backward=self._backward(places, arrays, names, count),
            shapes=shapes,
            types=types,
            pure=self.pure,
            opaque=self._code.opaque,
        )
        operator.places, operator.count, operator.__name__ = places, count, self.__name__
        # A definition is recognized by its code's names.
        for part in ("__module__", "__qualname__"):
            setattr(
                operator, part, getattr(self._arguments[0], part, None) or getattr(operator, part)
            )
        return operator

    def _names(self, count: int) -> tuple[str, ...]:
        least, most = self._count_range
        if count < least or (most is not None and count > most):
            shown = str(self.__signature__) if most is not None else f"({least} inputs or more)"
            raise mxnet_error(
                TypeError, f"{self._who}: {count} inputs\n  expected {self.__name__}{shown}"
            )
        names = self._code.parameters
        return tuple(f"x{i}" for i in range(count)) if names is None else names[:count]

    def _forward(self, places: tuple, count: int | None) -> Callable:
        func = self._code.function(self._declared)
        to_argument, to_output = self._code.to_argument, self._code.to_output
        make_plan, plans = self._make_plan, {}
        who, expected = self._who, count or 1

        def forward(*arrays, **numbers):
            context = arrays[0].context if arrays else mx.context.current_context()
            dtypes = tuple([dtype_of(a) for a in arrays])
            key = context.device_type, dtypes
            plan = plans.get(key) or make_plan(plans, key, places, numbers)
            values = [to_argument(a) for a in arrays]
            if plan.casts:
                values = [v.astype(t) for v, t in zip(values, plan.inputs)]
            if numbers:
                rest = iter(values)
                values = [numbers[n] if n in numbers else next(rest) for n in places]
            found = func(*values, **plan.attributes)
            results = found if count and isinstance(found, (tuple, list)) else (found,)
            if len(results) != expected:
                raise mxnet_error(
                    ValueError,
                    f"{who}: it gave {len(results)} outputs\n"
                    f"  expected a tuple of {count}, as declared",
                )
            outputs = [to_output(i, results[i], t, context) for i, t in enumerate(plan.outputs)]
            if plan.casts:
                outputs = [y.astype(t) for y, t in zip(outputs, plan.final)]
            return outputs

        return as_wrapper_of(func, forward)

    def _make_plan(self, plans: dict, key: tuple, places: tuple, numbers: dict) -> Plan:
        """Find the dtypes to run on: the inputs' own, or registered ones."""
        (device, dtypes), registered, attributes = key, None, {}
        if self.registered:
            target = "CPU" if self._code.on_cpu else {"cpu": "CPU", "gpu": "GPU"}.get(device)
            registered = self.registered.get(target)
            if registered is None:
                raise mxnet_error(
                    ValueError,
                    f"{self._who}: called on {target}\n"
                    f"  expected {' or '.join(self.registered)}, where it is registered",
                )
            attributes = registered.attributes
        rest = iter(dtypes)
        full = tuple([NUMBERS[type(numbers[n])] if n in numbers else next(rest) for n in places])
        rows = registered and registered.rows
        run = registered.row(self._who, full) if rows else self._dtypes.row(full)
        run = tuple(map(_numpy_dtype, run))
        final = self._declared.types(full)
        outputs = [_numpy_dtype(t) for t in self._declared.types(run)]
        inputs = [t for n, t in zip(places, run) if n not in numbers]
        plans[key] = Plan(inputs, outputs, final, (run, outputs) != (full, final), attributes)
        return plans[key]

    def _backward(self, places, arrays, names, count: int | None) -> Callable:
        bprop, who = self.bprop, self._who
        to_bprop, from_bprop = self._to_bprop, self._from_bprop
        tops = [f"d{n}" for n in names]
        if bprop is None:

            def backward(**_):
                raise NotImplementedError(
                    f"{who}: its gradient is needed, and it has no bprop\n"
                    "  expected Custom(..., bprop=...), or inputs without gradients; where it "
                    "computes another operator's gradient, a second derivative is asked for"
                )

            return backward

        def backward(**known):
            inputs = [to_bprop(known[n]) if n in arrays else known[n] for n in places]
            out, dout = [to_bprop(known[n]) for n in names], [to_bprop(known[n]) for n in tops]
            if count:
                out, dout = [tuple(out)], [tuple(dout)]
            found = bprop(*inputs, *out, *dout)
            gradients = found if isinstance(found, (tuple, list)) else [found]
            if len(gradients) != len(places):
                raise mxnet_error(
                    ValueError,
                    f"{who}: bprop gave {len(gradients)} gradients\n"
                    f"  expected {len(places)}, of {', '.join(places)}",
                )
            return {
                n: _gradient(who, n, known[n], from_bprop(g))
                for n, g in zip(places, gradients)
                if n in arrays
            }

        return backward


def _as_declared(operator: Operator, found: Any) -> Any:
    """Return an output, or a tuple of outputs, as it was declared."""
    if operator.count is None:
        return found
    return tuple(found) if operator.count > 1 else (found,)


def _code(who: str, func: Any, func_type: str) -> type[Code]:
    """Return the class of code for a `func_type`; a `Kernel` may have the type 'pyfunc', too."""
    if func_type not in CODES:
        needs = f" needs {REFUSED[func_type]}" if func_type in REFUSED else ""
        raise (NotImplementedError if needs else ValueError)(
            f"{who}: func_type {func_type!r}{needs}\n  expected one of {', '.join(CODES)}"
        )
    return Loop if func_type == "pyfunc" and isinstance(func, Kernel) else CODES[func_type]


def _read(code: type[Code], who: str, func: Any, func_type: str, names: tuple[str, ...]) -> Code:
    """Return the code of a function, with these names for its inputs."""
    try:
        return code(who, func, names)
    except KernelError as error:
        note(
            error,
            f"  in {who}: func_type {func_type!r} is a loop kernel; "
            "a function in NumPy is func_type='pyfunc'",
        )
        raise


class Plan(NamedTuple):
    """Dtypes and attributes to use for inputs of certain dtypes.

    Attributes
    ----------
    inputs, outputs : list of str
        The dtypes that the code takes, and the dtypes that it returns for them.
    final : list of str
        The dtypes to which the outputs are cast.
    casts : bool
        True if anything is cast.
    attributes : dict of str to value
    """

    inputs: list[str]
    outputs: list[str]
    final: list[str]
    casts: bool
    attributes: dict[str, Any]


def _numpy_dtype(dtype: str) -> str:
    """Return the dtype for NumPy: float32 for bfloat16, which NumPy lacks."""
    return "float32" if dtype == "bfloat16" else dtype


def _gradient(who: str, name: str, x, found: Any):
    """Return the gradient from bprop; zeros for None, and for an input of integers."""
    if isinstance(found, nd.NDArray):
        return found
    if found is None or not is_floating(x):
        return nd.zeros_like(x)
    raise mxnet_error(
        TypeError,
        f"{who}: bprop gave {type(found).__name__} for {name}\n"
        "  expected an NDArray (nd.array(...) makes one), or None",
    )


def _known_dtype(a: Any) -> str:
    """Return the dtype of an input; float32 for a Symbol, which has no dtype yet."""
    return dtype_of(a) if isinstance(a, nd.NDArray) else "float32"


def _suffix(kinds: tuple, count_range: tuple) -> list[str]:
    """Return the end of an operator's name: an open number of inputs, and dtypes of numbers."""
    least, greatest = count_range
    count = [str(len(kinds))] if least != greatest else []
    return count + ["_".join(kind or "array" for kind in kinds)] * any(kinds)


def _title(func: Any) -> str:
    """Return the name of a function, a callable object, or a function in a library."""
    if isinstance(func, str):
        return func.rpartition(":")[2]
    name = getattr(func, "__name__", None) or getattr(func, "name", None) or type(func).__name__
    return name.strip("<>")


def _expect_values(who: str, registered: Registration, optional: bool) -> None:
    """Refuse attributes without a value that are parameters of a function."""
    attributes = registered.attributes
    if missing := [n for n in registered.names if n not in attributes and not optional]:
        raise mxnet_error(
            ValueError,
            f"{who}: attribute {missing[0]!r} in reg_info has no value\n"
            "  expected attr(..., value=...) or a default_value",
        )


def _expect_rows(who: str, registered: Registration, dtypes: Any, func_type: str) -> None:
    """Refuse dtypes given in two places, and bfloat16 for a library, which gets float32 for it."""
    problem = ""
    if registered.rows and dtypes is not None:
        problem = f"dtypes={dtypes!r}, and dtype_format in reg_info\n  expected one of the two"
    elif func_type == "aot" and any("bfloat16" in row for row in registered.rows):
        problem = "bfloat16 in reg_info of a library\n  expected float32, to which it is cast"
    if problem:
        raise mxnet_error(ValueError, f"{who}: {problem}")
