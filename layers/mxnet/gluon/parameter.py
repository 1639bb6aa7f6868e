"""Parameters, and dictionaries of them."""

from __future__ import annotations

import warnings

import numpy as np

from .. import _dtype, initializer, ndarray
from ..base import ArgumentError
from ..context import Context
from ..ndarray import NDArray
from ._load import fill, first, read, unmarked
from ._parameter import DeferredInitializationError, Parameter, ParameterError, as_shape, merged

__all__ = [
    "Constant",
    "DeferredInitializationError",
    "Parameter",
    "ParameterDict",
    "ParameterError",
    "tensor_types",
]

tensor_types = (NDArray,)


class Constant(Parameter):
    """A parameter that no training changes.

    Parameters
    ----------
    name : str
    value : NDArray or what `nd.array` takes
    """

    def __init__(self, name: str, value):
        if not isinstance(value, NDArray):
            value = ndarray.array(value)
        self.value = value
        super().__init__(
            name, grad_req="null", shape=value.shape, dtype=value.dtype, init=_Value(value)
        )

    @property
    def grad_req(self) -> str:
        """'null', always."""
        return "null"

    @grad_req.setter
    def grad_req(self, req: str) -> None:
        if req != "null":
            warnings.warn(
                f"Constant parameter {self.name!r} does not support grad_req other than 'null', "
                f"and new value {req!r} is ignored.",
                stacklevel=2,
            )


class _Value(initializer.Initializer):
    """Sets the value that it was made with."""

    def __init__(self, value: NDArray):
        super().__init__()
        self._value = value

    def _init_weight(self, name: str, arr: NDArray) -> None:
        arr[:] = self._value


class ParameterDict:
    """Parameters by name; a new one is made by `get`.

    Parameters
    ----------
    prefix : str
        What `get` puts before every name.
    shared : ParameterDict, optional
        Where `get` looks for a parameter before it makes one.
    """

    def __init__(self, prefix: str = "", shared: ParameterDict | None = None):
        self._prefix, self._shared = prefix, shared
        self._params: dict[str, Parameter] = {}

    def __repr__(self) -> str:
        rows = "\n".join(f"  {parameter!r}" for parameter in self.values())
        return f"{self._prefix}{' ' if self._prefix else ''}(\n{rows}\n)"

    def __getitem__(self, key: str) -> Parameter:
        return self._params[key]

    def __iter__(self):
        return iter(self._params)

    def __contains__(self, key: str) -> bool:
        return key in self._params

    def items(self):
        """Names and parameters."""
        return self._params.items()

    def keys(self):
        """The names, with the prefix."""
        return self._params.keys()

    def values(self):
        """The parameters."""
        return self._params.values()

    @property
    def prefix(self) -> str:
        """What `get` puts before every name."""
        return self._prefix

    def _get_impl(self, name: str) -> Parameter | None:
        if name not in self._params and self._shared is not None and name in self._shared:
            self._params[name] = self._shared[name]
        return self._params.get(name)

    def get(self, name: str, **kwargs) -> Parameter:
        """The parameter of this name, after the prefix; made if there is none.

        Sizes that one side does not know (0 or -1) are taken from the other.

        Parameters
        ----------
        name : str
        **kwargs
            As for `Parameter`.

        Raises
        ------
        ParameterError
            The parameter is there, with another value of an argument.
        """
        name = self.prefix + name
        parameter = self._get_impl(name)
        if parameter is None:
            parameter = self._params[name] = Parameter(name, **kwargs)
            return parameter
        for key, wanted in kwargs.items():
            _agree(parameter, key, wanted)
        return parameter

    def get_constant(self, name: str, value=None) -> Constant:
        """The constant of this name, after the prefix; made of `value` if there is none.

        Raises
        ------
        KeyError
            There is none, and no `value` is given.
        ParameterError
            It has another value, or the parameter of this name is no constant.
        """
        name = self.prefix + name
        parameter = self._get_impl(name)
        if parameter is None:
            if value is None:
                raise KeyError(f"no constant named {name!r}: specify its value to create it")
            parameter = self._params[name] = Constant(name, value)
        elif not isinstance(parameter, Constant):
            raise ParameterError(f"Parameter {name!r} exists already, and is not a constant")
        elif value is not None:
            value = value if isinstance(value, NDArray) else ndarray.array(value)
            if not np.array_equal(value.asnumpy(), parameter.value.asnumpy()):
                raise ParameterError(f"Constant {name!r} exists already, with another value")
        return parameter

    def update(self, other: ParameterDict) -> None:
        """Add all parameters of another dictionary.

        Raises
        ------
        ParameterError
            The two have different parameters of one name.
        """
        for name, parameter in other.items():
            if self._params.get(name, parameter) is not parameter:
                raise ParameterError(
                    f"ParameterDict: two different parameters have the name {name!r}\n"
                    "  expected children created in `with self.name_scope()`, or other prefixes"
                )
        self._params.update(other.items())

    def initialize(
        self, init=None, ctx=None, verbose: bool = False, force_reinit: bool = False
    ) -> None:
        """Initialize all parameters: see `Parameter.initialize`.

        Parameters
        ----------
        init : str or Initializer, optional
            For those without one of their own; by default ``Uniform(0.07)``.
        ctx : Context or list of Context, optional
        verbose : bool
            Whether initializers tell what they do.
        force_reinit : bool
        """
        init = initializer.create(init or "uniform")
        if verbose:
            init.set_verbosity(verbose)
        waiting = {n: p for n, p in self.items() if p._data is None or force_reinit}
        if done := [name for name in self.keys() if name not in waiting]:
            warnings.warn(
                f"Parameter {first(done)} already initialized, ignoring. "
                "Set force_reinit=True to re-initialize.",
                stacklevel=2,
            )
        for parameter in waiting.values():
            parameter.initialize(None, ctx, init, force_reinit=force_reinit)

    def zero_grad(self) -> None:
        """Set all gradients to 0."""
        for parameter in self.values():
            parameter.zero_grad()

    def reset_ctx(self, ctx) -> None:
        """Move all parameters to other contexts."""
        for parameter in self.values():
            parameter.reset_ctx(ctx)

    def list_ctx(self) -> list[Context]:
        """All contexts that any of the parameters is on."""
        return list(dict.fromkeys(c for parameter in self.values() for c in parameter.list_ctx()))

    def setattr(self, name: str, value) -> None:
        """Set an attribute of all parameters: ``setattr('grad_req', 'null')``."""
        for parameter in self.values():
            setattr(parameter, name, value)

    def save(self, filename, strip_prefix: str = "") -> None:
        """Save the values under the parameters' names.

        Parameters
        ----------
        filename : path
        strip_prefix : str
            Left out of every name.

        Raises
        ------
        ParameterError
            A name does not begin with it.
        """
        for name in self.keys():
            if not name.startswith(strip_prefix):
                raise ParameterError(
                    f"save: Parameter {name!r} does not start with strip_prefix\n"
                    f"  expected {strip_prefix!r}: were children created in `with name_scope()`?"
                )
        values = {n.removeprefix(strip_prefix): p._reduce() for n, p in self.items()}
        ndarray.save(filename, values)

    def load(
        self,
        filename,
        ctx=None,
        allow_missing: bool = False,
        ignore_extra: bool = False,
        restore_prefix: str = "",
        cast_dtype: bool = False,
        dtype_source: str = "current",
    ) -> None:
        """Load the values that `save`, `export` or MXNet saved.

        Parameters
        ----------
        filename : path
        ctx : Context or list of Context, optional
            For parameters that are not initialized yet; by default the CPU.
        allow_missing, ignore_extra : bool
            Leave parameters alone that the file has not; leave out what only the file has.
        restore_prefix : str
            Put before every name in the file.
        cast_dtype : bool
            Convert values of another dtype, else they are an error.
        dtype_source : {'current', 'saved'}
            Convert the values to the parameter's dtype, or the parameter to theirs.

        Raises
        ------
        ParameterError
            Names, shapes or dtypes do not fit: then no parameter is changed.
        """
        values = read(filename)
        self.load_dict(
            values,
            ctx,
            allow_missing,
            ignore_extra,
            restore_prefix,
            filename,
            cast_dtype,
            dtype_source,
        )

    def load_dict(
        self,
        param_dict: dict[str, NDArray],
        ctx=None,
        allow_missing: bool = False,
        ignore_extra: bool = False,
        restore_prefix: str = "",
        filename=None,
        cast_dtype: bool = False,
        dtype_source: str = "current",
    ) -> None:
        """Set the values from a dictionary of arrays: see `load`."""
        for name in self.keys():
            if not name.startswith(restore_prefix):
                raise ParameterError(
                    f"load: Parameter {name!r} does not start with restore_prefix\n"
                    f"  expected {restore_prefix!r}"
                )
        values = {restore_prefix + name: value for name, value in unmarked(param_dict).items()}
        source = "param_dict" if filename is None else f"file {str(filename)!r}"
        fill(
            self._params, values, source, ctx, allow_missing, ignore_extra, cast_dtype, dtype_source
        )


def _agree(parameter: Parameter, key: str, wanted) -> None:
    """Hold a parameter that is there to an argument of `get`."""
    if key == "allow_deferred_init":
        parameter._allow_deferred_init |= wanted
        return
    if wanted is None or key in ("differentiable", "stype", "grad_stype"):
        return
    if key not in ("shape", "dtype", "init", "grad_req", "lr_mult", "wd_mult"):
        raise ArgumentError(f"Parameter {parameter.name!r}: unknown argument {key!r}")
    there = getattr(parameter, key)
    if key == "shape":
        wanted = as_shape(wanted)
        fits = there is None or merged(there, wanted)
        parameter._shape = wanted if there is None else fits or there
    elif key == "dtype":
        fits = _dtype.to_torch(there) is _dtype.to_torch(wanted)
    elif there is None:
        fits = True
        setattr(parameter, key, wanted)
    else:
        fits = there == wanted
    if not fits:
        raise ParameterError(
            f"Parameter {parameter.name!r} exists already, with {key}={there!r}\n"
            f"  expected {wanted!r}"
        )
