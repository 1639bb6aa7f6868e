"""Operators in MindSpore's way: a forward in NumPy, in loops or in a library, and a `bprop`.

    op = Custom(square, lambda x: x, lambda x: x, bprop=square_bprop, func_type="pyfunc")

`Custom` only reads this form. What it becomes is an `Operator`, made at the first call: only that
tells how many inputs there are, and which of them are numbers.
"""

from __future__ import annotations

import hashlib
import inspect
import itertools
import reprlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from types import FunctionType
from typing import Any, NamedTuple

import numpy as np

from ..._errors import note
from ...engine import mx, nd, sym
from ._primitive.code import Code, Compiled, Loop, Numpy
from ._primitive.declared import Declared
from .custom import register
from .kernel import Kernel, KernelError
from .numpy_border import NUMBERS, dtype_of, is_floating
from .operator import Operator, expect_bool, free_names
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
    """An operator of a function on NumPy's arrays, a loop kernel, or a compiled library.

    It is called with NDArrays or Symbols, and numbers in between, by position.

    Parameters
    ----------
    func : callable or str
        What computes the outputs, one or a tuple of them; for 'aot' ``"file:function"``.
    out_shape, out_dtype : callable or value, optional
        ``out_shape(*shapes of inputs)`` gives the output's shape, a tuple of ints, or a tuple of
        them for a tuple of outputs; likewise `out_dtype`, in dtypes or their names. Loop kernels
        need none, libraries no shape if they have an ``InferShape``.
    func_type : {'hybrid', 'akg', 'pyfunc', 'aot'}
        A loop kernel (the first two), a function in NumPy, a library.
    bprop : callable, optional
        ``bprop(*inputs, out, dout)`` gives the gradients of the inputs, a tuple of arrays of their
        shapes and dtypes, or None for zeros. With several outputs `out` and `dout` are tuples.
        Without it there is no gradient.
    reg_info : dict, str, CustomRegOp, or list of them, optional
        Registration information, one for each target; before that of `custom_info_register`.
    pure : bool
        Whether `func` and `bprop` are functions of their arguments. False keeps their Python
        running in each call, also where a graph is recorded or compiled.

    Attributes
    ----------
    name : str
        What it is registered under, when it is used in a graph; no other operator has it.

    Raises
    ------
    TypeError, ValueError
        An argument is not what it should be; at a call, an output or a gradient is not what was
        declared.
    NotImplementedError
        `func_type` is one that needs other hardware or another language.
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
    ):
        self._made_of = func, out_shape, out_dtype, func_type, bprop, reg_info, pure
        info = getattr(func, "reg_info", None) if reg_info is None else reg_info
        who = f"Custom {_title(func)!r}"
        code = _code(who, func, func_type)
        if not (bprop is None or callable(bprop)):
            raise TypeError(
                f"{who}: bprop is {bprop!r} ({type(bprop).__name__})\n  expected a function"
            )
        self.pure = expect_bool(who, "pure", pure)
        self.__name__ = _title(func)
        self.name = _unique(self.__name__, (*self._made_of[:5], dicts(who, info)))
        self.bprop, self._who = bprop, f"operator {self.name!r}"
        self.registered = registrations(who, info, func_type)
        told = next(iter(self.registered.values()), None)
        try:
            self._code = code(who, func, told.names if told else ())
        except KernelError as error:
            note(
                error,
                f"  in {who}: func_type {func_type!r} is a loop kernel; "
                "a function in NumPy is func_type='pyfunc'",
            )
            raise
        self._code.who = self._who
        if told:
            self._code.attributes = told.attributes
            _values(who, told, optional=func_type == "aot")
        self._expected = self._places(told)
        self._declared = Declared(self._who, out_shape, out_dtype, self._code)
        self._made: dict[tuple, Operator] = {}  # by which inputs are numbers, and of which dtypes
        self._called: dict[tuple, Operator] = {}  # by types, when all inputs are arrays

    def _places(self, told: Registration | None) -> tuple[int, int | None]:
        """How many inputs it takes: from so many, to so many."""
        names, least = self._code.parameters, self._code.least
        if told and told.inputs:
            count = len(told.inputs)
            if names is not None and not least <= count <= len(names):
                raise ValueError(
                    f"{self._who}: {count} inputs in reg_info ({', '.join(told.inputs)})\n"
                    f"  expected {', '.join(names)}, as {self.__name__} takes"
                )
            return count, count
        return least, None if names is None else len(names)

    @staticmethod
    def _show(array: Any) -> Any:
        """An NDArray, as `bprop` sees it."""
        return array

    @staticmethod
    def _read(value: Any) -> Any:
        """What `bprop` gave, as an NDArray; as it is, if it is no array."""
        return value

    def __call__(self, *inputs):
        """The output, or a tuple of outputs."""
        made = self._called.get(tuple(map(type, inputs)))
        if made is None:
            return self._call(inputs)
        return _as_declared(made, made._adapter(list(inputs), {}))

    def _call(self, inputs: Sequence) -> Any:
        values = [a.item() if isinstance(a, np.generic) else a for a in inputs]
        kinds = tuple([NUMBERS.get(type(a)) for a in values])
        self._expect(values)
        made = self._operator(kinds, [kind or _probed(a) for a, kind in zip(values, kinds)])
        arrays = [a for a, kind in zip(values, kinds) if kind is None]
        numbers = {n: a for n, a, kind in zip(made.places, values, kinds) if kind is not None}
        if any(isinstance(a, sym.Symbol) for a in arrays):
            register(made)
        if not numbers:
            self._called[tuple(map(type, inputs))] = made
        return _as_declared(made, made(*arrays, **numbers))

    def _expect(self, values: Sequence) -> None:
        """Refuse what Python and NumPy have but numbers; the rest is for the engine to tell."""
        for name, value in zip(self._names(len(values)), values):
            if type(value) not in NUMBERS and type(value).__module__ in ("builtins", "numpy"):
                raise TypeError(
                    f"{self._who}: {name} is {reprlib.repr(value)} ({type(value).__name__})\n"
                    "  expected an NDArray, a Symbol or a number"
                )

    @property
    def operator(self) -> Operator:
        """The operator on arrays, registered: for ``nd.Custom(x, op_type=op.name)``."""
        least, most = self._expected
        if least != most:
            raise TypeError(
                f"{self._who}: it takes {least} inputs or more\n"
                "  expected a function of so many inputs, or reg_info that names them"
            )
        made = self._operator((None,) * least, ["float32"] * least)
        register(made)
        return made

    @property
    def __signature__(self) -> inspect.Signature:
        if self._code.parameters is None:
            return inspect.signature(Custom.__call__)
        kind = inspect.Parameter.POSITIONAL_ONLY
        names = self._code.parameters[: self._expected[1]]
        return inspect.Signature([inspect.Parameter(n, kind) for n in names])

    def __reduce__(self) -> tuple:
        return type(self), self._made_of

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.name}>"

    def _operator(self, kinds: tuple, dtypes: Sequence[str]) -> Operator:
        """The operator for so many inputs, numbers where `kinds` has a dtype."""
        return self._made.get(kinds) or self._made.setdefault(kinds, self._make(kinds, dtypes))

    def _make(self, kinds: tuple, dtypes: Sequence[str]) -> Operator:
        places, count = self._names(len(kinds)), self._declared.count(dtypes)
        arrays = tuple(n for n, kind in zip(places, kinds) if kind is None)
        names = free_names(["y"] if count in (None, 1) else [f"y{i}" for i in range(count)], places)
        shapes, types = self._declared.rules(dict(zip(places, kinds)), names, count)
        made = Operator(
            "_".join([self.name, *_suffix(kinds, self._expected)]),
            self._forward(places, count),
            inputs=arrays,
            outputs=names,
            attributes={n: ZEROS[kind] for n, kind in zip(places, kinds) if kind is not None},
            backward=self._backward(places, arrays, names, count),
            shapes=shapes,
            types=types,
            pure=self.pure,
            opaque=self._code.opaque or _opaque(self.bprop),
        )
        made.places, made.count, made.__name__ = places, count, self.__name__
        return made

    def _names(self, given: int) -> tuple[str, ...]:
        least, most = self._expected
        if given < least or (most is not None and given > most):
            shown = str(self.__signature__) if most is not None else f"({least} inputs or more)"
            raise TypeError(f"{self._who}: {given} inputs\n  expected {self.__name__}{shown}")
        names = self._code.parameters
        return tuple(f"x{i}" for i in range(given)) if names is None else names[:given]

    def _forward(self, places: tuple, count: int | None) -> Callable:
        func = self._code.function(self._declared)  # a name here, for who reads code of forward
        take, give, plan, plans = self._code.take, self._code.give, self._plan, {}
        who, several = self._who, count or 1

        def forward(*arrays, **numbers):
            context = arrays[0].context if arrays else mx.context.current_context()
            dtypes = tuple([dtype_of(a) for a in arrays])
            key = context.device_type, dtypes
            planned = plans.get(key) or plan(plans, key, places, numbers)
            values = [take(a) for a in arrays]
            if planned.casts:
                values = [v.astype(t) for v, t in zip(values, planned.inputs)]
            if numbers:
                given = iter(values)
                values = [numbers[n] if n in numbers else next(given) for n in places]
            found = func(*values, **planned.attributes)
            results = found if count and isinstance(found, (tuple, list)) else (found,)
            if len(results) != several:
                raise ValueError(
                    f"{who}: it gave {len(results)} outputs\n"
                    f"  expected a tuple of {count}, as declared"
                )
            outputs = [give(i, results[i], t, context) for i, t in enumerate(planned.outputs)]
            if planned.casts:
                outputs = [y.astype(t) for y, t in zip(outputs, planned.final)]
            return outputs

        return forward

    def _plan(self, plans: dict, key: tuple, places: tuple, numbers: dict) -> Plan:
        """On which dtypes it runs for inputs of these: on others where that is registered."""
        (device, dtypes), registered, attributes = key, None, {}
        if self.registered:
            target = "CPU" if self._code.on_cpu else {"cpu": "CPU", "gpu": "GPU"}.get(device)
            registered = self.registered.get(target)
            if registered is None:
                raise ValueError(
                    f"{self._who}: called on {target}\n"
                    f"  expected {' or '.join(self.registered)}, which it is registered for"
                )
            attributes = registered.attributes
        given = iter(dtypes)
        full = tuple([NUMBERS[type(numbers[n])] if n in numbers else next(given) for n in places])
        run = registered.row(self._who, full) if registered else full
        run = tuple(map(_in_numpy, run))
        final = self._declared.types(full)
        outputs = [_in_numpy(t) for t in self._declared.types(run)]
        inputs = [t for n, t in zip(places, run) if n not in numbers]
        plans[key] = Plan(inputs, outputs, final, (run, outputs) != (full, final), attributes)
        return plans[key]

    def _backward(self, places, arrays, names, count: int | None) -> Callable:
        bprop, who, show, read = self.bprop, self._who, self._show, self._read
        tops = [f"d{n}" for n in names]
        if bprop is None:

            def backward(**_):
                raise NotImplementedError(
                    f"{who}: its gradient is asked for, and it has no bprop\n"
                    "  expected Custom(..., bprop=...), or inputs without gradients"
                )

            return backward

        def backward(**known):
            shown = [show(known[n]) if n in arrays else known[n] for n in places]
            out, dout = [show(known[n]) for n in names], [show(known[n]) for n in tops]
            found = bprop(*shown, tuple(out), tuple(dout)) if count else bprop(*shown, *out, *dout)
            given = found if isinstance(found, (tuple, list)) else [found]
            if len(given) != len(places):
                raise ValueError(
                    f"{who}: bprop gave {len(given)} gradients\n"
                    f"  expected {len(places)}, of {', '.join(places)}"
                )
            gradients = zip(places, given)
            return {n: _gradient(who, n, known[n], read(g)) for n, g in gradients if n in arrays}

        return backward


def _as_declared(made: Operator, found: Any) -> Any:
    """An output, or a tuple of outputs."""
    if made.count is None:
        return found
    return tuple(found) if made.count > 1 else (found,)


def _code(who: str, func: Any, func_type: str) -> type[Code]:
    """What reads `func`: a kernel is one in any Python form."""
    if func_type not in CODES:
        needs = f" needs {REFUSED[func_type]}" if func_type in REFUSED else ""
        raise (NotImplementedError if needs else ValueError)(
            f"{who}: func_type {func_type!r}{needs}\n  expected one of {', '.join(CODES)}"
        )
    return Loop if func_type == "pyfunc" and isinstance(func, Kernel) else CODES[func_type]


class Plan(NamedTuple):
    """How it runs for inputs of certain dtypes.

    `inputs` are the dtypes of the arrays that it runs on, `outputs` those that it gives for them,
    and `final` those that the outputs are cast to.
    """

    inputs: list[str]
    outputs: list[str]
    final: list[str]
    casts: bool
    attributes: dict[str, Any]


def _in_numpy(dtype: str) -> str:
    """What an array of a dtype has in NumPy, which knows no bfloat16."""
    return "float32" if dtype == "bfloat16" else dtype


def _gradient(who: str, name: str, x, given: Any):
    """What bprop gave for an input, if it is an array; zeros where that is None or of no matter."""
    if isinstance(given, nd.NDArray):
        return given
    if given is None or not is_floating(x):
        return nd.zeros_like(x)
    raise TypeError(
        f"{who}: bprop gave {type(given).__name__} for {name}\n"
        "  expected an NDArray (nd.array(...) makes one), or None"
    )


def _probed(a: Any) -> str:
    """The dtype of an input; of what has none yet, a usual one."""
    return dtype_of(a) if isinstance(a, nd.NDArray) else "float32"


def _opaque(bprop: Any) -> str:
    plain = bprop is None or isinstance(bprop, FunctionType)
    return "" if plain else "its bprop is no plain function"


def _suffix(kinds: tuple, expected: tuple) -> list[str]:
    """What tells operators of one `Custom` apart: how many inputs they have, and which numbers."""
    several = [str(len(kinds))] if expected[0] != expected[1] else []
    return several + ["_".join(kind or "array" for kind in kinds)] * any(kinds)


def _title(func: Any) -> str:
    if isinstance(func, str):
        return func.rpartition(":")[2]
    name = getattr(func, "__name__", None) or getattr(func, "name", None) or type(func).__name__
    return name.strip("<>")


def _values(who: str, told: Registration, optional: bool) -> None:
    """Refuse attributes without a value, where they are parameters of a function."""
    if missing := [n for n in told.names if n not in told.attributes and not optional]:
        raise ValueError(
            f"{who}: attribute {missing[0]!r} in reg_info has no value\n"
            "  expected attr(..., value=...) or a default_value"
        )


_names: dict[str, itertools.count] = {}


def _unique(title: str, made_of: tuple) -> str:
    """A name that no other operator has, the same in each process that makes them in one order.

    It stands for the module and the name of each function that an operator is made of, the values
    around it and its defaults. Operators that are alike in all that are numbered.
    """
    text = "\n".join(map(_identity, made_of))
    name = f"Custom_{title}_{hashlib.sha256(text.encode()).hexdigest()[:8]}"
    number = next(_names.setdefault(name, itertools.count()))
    return f"{name}_{number}" if number else name


def _identity(part: Any) -> str:
    """What one of the things that an operator is made of is named by."""
    if not callable(part):
        return repr(part)
    function = getattr(part, "__wrapped__", part)
    named = function if hasattr(function, "__name__") else type(function)
    module = getattr(named, "__module__", None)
    place = [] if module in (None, "__main__") else [module]  # a program has one, run or imported
    place.append(getattr(named, "__qualname__", named.__name__))
    return "\n".join([".".join(place), *map(_as_text, _bound_values(function))])


def _bound_values(function: Any) -> Iterator[Any]:
    """The values that a function has from where it was made: variables around it, and defaults."""
    for cell in getattr(function, "__closure__", None) or ():
        with suppress(ValueError):  # of a variable that has no value yet
            yield cell.cell_contents
    yield from getattr(function, "__defaults__", None) or ()
    yield from (getattr(function, "__kwdefaults__", None) or {}).items()


def _as_text(value: Any) -> str:
    """Numbers, text, arrays of numbers and tuples of them as text; of any other, its name."""
    if isinstance(value, tuple):
        return f"({', '.join(map(_as_text, value))})"
    if isinstance(value, (np.ndarray, np.generic)) and value.dtype.kind in "biuf":
        return f"{value.dtype} {value.shape} {hashlib.sha256(value.tobytes()).hexdigest()}"
    if isinstance(value, (bool, int, float, complex, str, bytes, type(None))):
        return f"{type(value).__name__} {value!r}"
    return str(getattr(value, "__name__", type(value).__name__))
