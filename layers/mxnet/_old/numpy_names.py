"""Names and arguments that NumPy has removed, with their meanings, for programs of MXNet's time.

Left out are NumPy's internals, helpers for the prompt, and finance (now numpy_financial).
"""

from __future__ import annotations

import ast
import ctypes
import gc
import math
import warnings
from collections.abc import Callable
from functools import wraps
from operator import attrgetter
from typing import Any

import numpy as np

# Removed in 1.24; ``from numpy import *`` did not import them.
PYTHON = {
    "bool": bool,
    "complex": complex,
    "float": float,
    "int": int,
    "long": int,
    "object": object,
    "str": str,
    "unicode": str,
}

# Names that NumPy has renamed, with the present ones.
RENAMED = {
    "AxisError": "exceptions.AxisError",
    "ComplexWarning": "exceptions.ComplexWarning",
    "DataSource": "lib.npyio.DataSource",
    "Inf": "inf",
    "Infinity": "inf",
    "ModuleDeprecationWarning": "exceptions.ModuleDeprecationWarning",
    "NAN": "nan",
    "NaN": "nan",
    "PINF": "inf",
    "RankWarning": "exceptions.RankWarning",
    "TooHardError": "exceptions.TooHardError",
    "VisibleDeprecationWarning": "exceptions.VisibleDeprecationWarning",
    "alltrue": "all",
    "bool8": "bool_",
    "byte_bounds": "lib.array_utils.byte_bounds",
    "bytes0": "bytes_",
    "cfloat": "complex128",
    "chararray": "char.chararray",
    "clongfloat": "clongdouble",
    "compare_chararrays": "char.compare_chararrays",
    "complex_": "complex128",
    "cumproduct": "cumprod",
    "float_": "float64",
    "format_parser": "rec.format_parser",
    "infty": "inf",
    "int0": "intp",
    "longcomplex": "clongdouble",
    "longfloat": "longdouble",
    "mat": "asmatrix",
    "object0": "object_",
    "product": "prod",
    "rank": "ndim",
    "round_": "round",
    "row_stack": "vstack",
    "singlecomplex": "complex64",
    "sometrue": "any",
    "str0": "str_",
    "string_": "bytes_",
    "trapz": "trapezoid",
    "uint0": "uintp",
    "unicode_": "str_",
    "void0": "void",
}


def alen(a):
    return len(np.atleast_1d(a))


def asfarray(a, dtype=np.float64):
    return np.asarray(a, dtype if np.issubdtype(dtype, np.inexact) else np.float64)


def asscalar(a):
    return a.item()


def disp(mesg, device=None, linefeed=True):
    print(mesg, file=device, end="\n" if linefeed else "", flush=True)


def in1d(ar1, ar2, assume_unique=False, invert=False):
    return np.isin(np.ravel(ar1), ar2, assume_unique=assume_unique, invert=invert)


def issctype(rep):
    return isinstance(rep, (type, np.dtype)) and obj2sctype(rep) not in (None, np.object_)


def issubclass_(arg1, arg2):
    return isinstance(arg1, type) and issubclass(arg1, arg2)


def issubsctype(arg1, arg2):
    return issubclass(obj2sctype(arg1), obj2sctype(arg2))


def msort(a):
    return np.sort(a, axis=0)


def obj2sctype(rep, default=None):
    if isinstance(rep, type) and issubclass(rep, np.generic):
        return rep
    try:
        return np.dtype(getattr(rep, "dtype", rep)).type
    except TypeError:
        return default


def recfromcsv(fname, **kwargs):
    csv = {"case_sensitive": "lower", "names": True, "delimiter": ","}
    return recfromtxt(fname, **csv | kwargs)


def recfromtxt(fname, **kwargs):
    return np.genfromtxt(fname, **{"dtype": None} | kwargs).view(np.recarray)


def sctype2char(sctype):
    return np.dtype(obj2sctype(sctype)).char


class ByType(dict):
    """A dictionary by scalar types, whose keys may also be float, 'f4' or np.dtype('float32')."""

    def __getitem__(self, key):
        return super().__getitem__(obj2sctype(key))


SCTYPES = {
    "int": [np.int8, np.int16, np.int32, np.int64],
    "uint": [np.uint8, np.uint16, np.uint32, np.uint64],
    "float": [np.float16, np.float32, np.float64, np.longdouble],
    "complex": [np.complex64, np.complex128, np.clongdouble],
    "others": [bool, object, bytes, str, np.void],
}
TYPES = [np.dtype(each).type for group in SCTYPES.values() for each in group]

OTHERS = {
    "NINF": -np.inf,
    "NZERO": -0.0,
    "PZERO": 0.0,
    "alen": alen,
    "asfarray": asfarray,
    "asscalar": asscalar,
    "cast": ByType((t, lambda x, t=t: np.asarray(x).astype(t)) for t in TYPES),
    "disp": disp,
    "in1d": in1d,
    "issctype": issctype,
    "issubclass_": issubclass_,
    "issubsctype": issubsctype,
    "math": math,
    "msort": msort,
    "nbytes": ByType((t, np.dtype(t).itemsize) for t in TYPES),
    "obj2sctype": obj2sctype,
    "recfromcsv": recfromcsv,
    "recfromtxt": recfromtxt,
    "safe_eval": ast.literal_eval,
    "sctype2char": sctype2char,
    "sctypes": SCTYPES,
    "typeDict": ByType((t, t) for t in TYPES),
    "warnings": warnings,
}


def removed_names() -> dict[str, Any]:
    """The removed names that this NumPy does not have, with their meanings."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # looking up a deprecated name warns
        gone = {n for n in (*PYTHON, *RENAMED, *OTHERS) if not hasattr(np, n)}
    found = PYTHON | OTHERS | {n: attrgetter(RENAMED[n])(np) for n in gone & RENAMED.keys()}
    return {name: found[name] for name in sorted(gone)}


def with_binary_mode(fromstring: Callable) -> Callable:
    """`np.fromstring` with the binary mode: without `sep`, the bytes themselves are numbers."""

    @wraps(fromstring)
    def old(string, dtype=float, count=-1, *, sep="", like=None):
        if sep:
            return fromstring(string, dtype, count, sep=sep, like=like)
        raw = string.encode("latin1") if isinstance(string, str) else string
        return np.frombuffer(raw, dtype, count).copy()

    return old


def with_newshape(reshape: Callable) -> Callable:
    """`np.reshape` with the argument `newshape`."""

    @wraps(reshape)
    def old(a, *args, **kwargs):
        if "newshape" in kwargs:
            kwargs["shape"] = kwargs.pop("newshape")
        return reshape(a, *args, **kwargs)

    return old


# Functions that no longer take an argument: the wrapper that does, and a call to test for it.
ARGUMENTS = {
    "fromstring": (with_binary_mode, lambda: np.fromstring(b"\0", np.uint8)),
    "reshape": (with_newshape, lambda: np.reshape([1], newshape=1)),
}


def without_old_arguments() -> dict[str, Any]:
    """The functions of this NumPy that refuse an old argument, wrapped to take it, by name."""
    found = {}
    for name, (wrap, call) in ARGUMENTS.items():
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # NumPy warned before it refused
                call()
        except (TypeError, ValueError):
            found[name] = wrap(getattr(np, name))
    return found


def itemset(self, *args):
    *index, value = args
    if len(index) == 1 and not isinstance(index[0], tuple):
        self.flat[index[0]] = value
    else:
        self[index[0] if len(index) == 1 else tuple(index)] = value


def newbyteorder(self, new_order="S"):
    return self.view(self.dtype.newbyteorder(new_order))


def ptp(self, axis=None, out=None, keepdims=False):
    return np.ptp(self, axis, out, keepdims)


def tostring(self, order="C"):
    return self.tobytes(order)


METHODS = {"itemset": itemset, "newbyteorder": newbyteorder, "ptp": ptp, "tostring": tostring}


def attributes_of(kind: type) -> dict[str, Any]:
    """The dictionary behind ``vars(kind)``, which can be written also for a class in C.

    Python refuses to set attributes of such a class by its name.
    """
    (found,) = gc.get_referents(vars(kind))
    return found


def add_methods(kind: type) -> None:
    """Add the removed methods to one of NumPy's classes. Those that it has stay as they are."""
    one = np.zeros(1) if kind is np.ndarray else np.float64()
    # An array is asked: until NumPy 2.2 the class still has some names, which only raise.
    attributes_of(kind).update({n: f for n, f in METHODS.items() if not hasattr(one, n)})
    ctypes.pythonapi.PyType_Modified(ctypes.py_object(kind))  # Python looks them up anew


def restore() -> None:
    """Add the removed names, arguments and methods to NumPy. Names that it has stay as they are."""
    names = removed_names()
    vars(np).update(names | without_old_arguments())
    np.__all__ += [name for name in names if name not in PYTHON]
    add_methods(np.ndarray)
    add_methods(np.generic)
