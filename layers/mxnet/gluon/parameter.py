"""Parameters, which are arrays that a Block owns on each context; and dictionaries of them."""

from __future__ import annotations

import threading
import warnings
import weakref
from collections.abc import Iterable
from typing import Any

import numpy as np

from ..._arrays import ArraysError
from .. import _dtype, _np_shape, autograd, initializer, ndarray, symbol
from .._state import this_thread
from ..base import (
    ArgumentError,
    ContextError,
    DeferredInitializationError,
    MXNetError,
    ParameterError,
    legible,
    quoted,
)
from ..context import Context, cpu, current_context
from ..ndarray import NDArray
from ..ndarray.register import Pending
from ..numpy._array import in_kind
from ..util import is_np_array
from ._load import fill, first, read, unmarked

__all__ = [
    "Constant",
    "DeferredInitializationError",
    "Parameter",
    "ParameterDict",
    "ParameterError",
    "tensor_types",
]

Shape = tuple[int, ...]
tensor_types = (NDArray,)
_initializing = threading.RLock()  # of threads that call one net first, one makes its arrays


class Parameter:
    """An array that a Block owns, with its gradient, on one or more contexts.

    Parameters
    ----------
    name : str
    grad_req : {'write', 'add', 'null'}
        What `backward` does to the gradient: overwrite it, add to it, or leave it alone.
    shape : int or tuple of int, optional
        0 or -1 where unknown: the first forward pass tells.
    dtype : str or numpy type
    lr_mult, wd_mult : float
        Factors of the learning rate and of the weight decay.
    init : str or Initializer, optional
        By default the one that `initialize` is given for all.
    allow_deferred_init : bool
        Whether `initialize` may come before the shape is known.
    differentiable : bool
        False: `grad_req` is 'null', whatever it is set to.
    stype, grad_stype : {'default', 'row_sparse', 'csr'}
        How the value and its gradient are stored. A value that is 'row_sparse' is read by
        `row_sparse_data`.

    Raises
    ------
    ParameterError
        `grad_req` is none of the three, or a storage type is none of MXNet's.
    """

    def __init__(
        self,
        name: str,
        grad_req: str = "write",
        shape: int | Iterable[int] | None = None,
        dtype=np.float32,
        lr_mult: float = 1.0,
        wd_mult: float = 1.0,
        init=None,
        allow_deferred_init: bool = False,
        differentiable: bool = True,
        stype: str = "default",
        grad_stype: str = "default",
    ):
        for key, kind in (("stype", stype), ("grad_stype", grad_stype)):
            if kind not in ("default", "row_sparse", "csr"):
                raise ParameterError(
                    f"Parameter {name!r}: {key} is {kind!r}\n"
                    "  expected 'default', 'row_sparse' or 'csr'"
                )
        self._stype, self._grad_stype = stype, grad_stype
        _dtype.to_torch(dtype)
        self.name, self.init, self.lr_mult, self.wd_mult = name, init, lr_mult, wd_mult
        self._shape = as_shape(shape)
        self._dtype = dtype
        self._allow_deferred_init, self._differentiable = allow_deferred_init, differentiable
        self._data: list[NDArray] | None = None
        self._deferred_init: tuple = ()  # init, contexts, default_init, data or None
        self._grad_req = None
        self._var = None
        self._trainer_ref: weakref.ref | None = None
        self.grad_req = grad_req

    def __repr__(self) -> str:
        return (
            f"{type(self).__name__} {legible(self.name)} (shape={self.shape}, dtype={self.dtype})"
        )

    # What it is

    @property
    def grad_req(self) -> str:
        """What `backward` does to the gradient: 'write', 'add' or 'null'.

        Raises
        ------
        ParameterError
            It is set to another text.
        """
        return self._grad_req

    @grad_req.setter
    def grad_req(self, req: str) -> None:
        if req not in ("write", "add", "null"):
            raise ParameterError(
                f"Parameter {self.name!r}: grad_req is {req!r}\n  expected 'write', 'add' or 'null'"
            )
        req = req if self._differentiable else "null"
        if req != self._grad_req:
            self._grad_req = req
            if self._data is not None:
                self._mark(self._data)

    @property
    def dtype(self):
        """The type of the elements; setting it casts."""
        return self._dtype

    @dtype.setter
    def dtype(self, dtype) -> None:
        self.cast(dtype)

    @property
    def shape(self) -> Shape | Any:  # None, before it is known
        """The shape, 0 or -1 where unknown. Once known, a size cannot be set to another.

        With np_shape semantics it is shown with -1 for 0.

        Raises
        ------
        ParameterError
            The shape that is set does not fit; the message has both.
        """
        shape = self._shape
        if shape is None or 0 not in shape or not _np_shape.is_on():
            return shape
        return tuple([size or -1 for size in shape])

    @shape.setter
    def shape(self, shape: int | Iterable[int]) -> None:
        shape = as_shape(shape)
        if self._shape is not None and merged(self._shape, shape) != shape:
            raise ParameterError(
                f"Parameter {self.name!r}: the shape {shape} is incompatible with its own"
                f"\n  expected {self._shape}"
            )
        self._shape = shape

    # Making its arrays

    def initialize(
        self, init=None, ctx=None, default_init=None, force_reinit: bool = False
    ) -> None:
        """Make the arrays and set their values, or, where the shape is not known, remember to.

        Parameters
        ----------
        init : str or Initializer, optional
            By default the parameter's own, else `default_init`.
        ctx : Context or list of Context, optional
            By default the current context.
        default_init : str or Initializer, optional
            By default ``Uniform(0.07)``.
        force_reinit : bool
            Do it anew for a parameter that has its arrays; else that is a warning.

        Raises
        ------
        ParameterError
            The shape is not known, and `allow_deferred_init` is False.
        """
        if self._data is not None and not force_reinit:
            warnings.warn(
                f"Parameter {quoted(self.name)} is already initialized, ignoring. "
                "Set force_reinit=True to re-initialize.",
                stacklevel=2,
            )
            return
        default_init = initializer.create(default_init or "uniform")
        init = initializer.create(init or self.init or default_init)
        if not _np_shape.is_known(self.shape) and not self._allow_deferred_init:
            raise ParameterError(
                f"Parameter {self.name!r}: cannot initialize the shape {self.shape}\n"
                "  expected all sizes to be known, or allow_deferred_init=True"
            )
        contexts = _contexts(ctx)
        self._data = None
        self._deferred_init = (init, contexts, default_init, None)
        if _np_shape.is_known(self.shape):
            self._finish_deferred_init()

    def _finish_deferred_init(self) -> None:
        """Make the arrays that `initialize` asked for, now that the shape is known."""
        with _initializing, autograd.pause():
            if not self._deferred_init:
                return
            init, contexts, default_init, data = self._deferred_init
            if not _np_shape.is_known(self.shape):
                raise ParameterError(
                    f"Parameter {self.name!r}: its shape {self.shape} cannot be inferred\n"
                    "  expected in_units, in_channels, ... or the shape to be given"
                )
            if data is None:
                data = in_kind(ndarray.zeros(self.shape, cpu(), self.dtype, self._stype))
                description = initializer.InitDesc(self.name, {"__init__": init})
                default_init(description, data)
            self._init_impl(data, contexts)
            self._deferred_init = ()
            if trainer := self._trainer:
                trainer._has_shape(self)

    def _init_impl(self, data: NDArray, ctx_list: list[Context]) -> None:
        """Take a copy of `data` on each context."""
        data = data if data.stype == self._stype else data.tostype(self._stype)
        self._set([in_kind(data.copyto(context)) for context in ctx_list])

    def _set(self, arrays: list[NDArray]) -> None:
        self._mark(arrays)
        self._data = arrays  # last: from here on, other threads compute with them

    def _mark(self, arrays: list[NDArray]) -> None:
        """Give arrays gradients of zeros, or none, as `grad_req` says."""
        for array in arrays:
            if self.grad_req == "null":
                array._become_variable(array._autograd_tensor.detach(), None)
            else:
                self._attach(array, array._zeros(self._grad_stype))

    def _attach(self, array: NDArray, gradient: NDArray) -> None:
        """Make a gradient that of an array."""
        real = array._autograd_tensor.is_floating_point()  # the gradients of integers stay 0
        autograd.mark(array, gradient, self.grad_req if real else "null")

    def pending(self, context: Context) -> NDArray | Pending:
        """The array on a context; while its shape is unknown, what stands for it."""
        return _Awaited(self, context) if self._deferred_init else self.data(context)

    def set_data(self, data) -> None:
        """Set the value on all contexts, and the shape where it was not known.

        Parameters
        ----------
        data : NDArray or numpy.ndarray

        Raises
        ------
        ParameterError
            The shape does not fit.
        MXNetError
            It has not been initialized.
        """
        self.shape = data.shape
        if self._data is not None:
            if trainer := self._trainer:
                trainer._forget_kvstore(self)
            inside = autograd.is_inside_record() and not this_thread.state.recording
            for array in self._data:
                if inside and array.stype == "default":  # of use for the gradient of what is before
                    autograd.replace_value(array, data)
                else:
                    array[:] = data
        elif self._deferred_init:
            data = data.copy() if isinstance(data, NDArray) else ndarray.array(data)
            self._deferred_init = (*self._deferred_init[:3], data.astype(self.dtype, copy=False))
        else:
            raise self._missing()

    def _check_load(self, data: NDArray, ctx, cast_dtype: bool) -> list[Context] | None:
        """Whether loaded values fit; returns the contexts that they go to, None for its own."""
        if self.shape is not None and merged(self.shape, data.shape) != data.shape:
            raise ParameterError(
                f"Parameter {self.name!r}: the shape in the file is incompatible, {data.shape}"
                f"\n  expected {self.shape}"
            )
        if data.stype != "default" and (self.shape is None or 0 in self.shape):
            try:
                data._expect_room(self.name)
            except ArraysError as error:
                raise ParameterError(
                    f"Parameter {error}\n  or a Parameter of a known shape"
                ) from None
        if not cast_dtype and _dtype.to_torch(self.dtype) is not data._autograd_tensor.dtype:
            raise ParameterError(
                f"Parameter {self.name!r}: the dtype in the file is {np.dtype(data.dtype).name}\n"
                f"  expected {np.dtype(self.dtype).name}; cast_dtype=True casts"
            )
        own = None
        if self._data is not None or self._deferred_init:
            own = self.list_ctx()
        if ctx is None:
            return own or [cpu()]
        contexts = _contexts(ctx)
        if own is not None and set(own) != set(contexts):
            raise ParameterError(
                f"Parameter {self.name!r}: cannot load to {contexts}, it was initialized on {own}\n"
                "  expected those, or reset_ctx() before"
            )
        return own or contexts

    def _load_init(
        self, data: NDArray, ctx, cast_dtype: bool = False, dtype_source: str = "current"
    ) -> None:
        """Take values from a file, initialized or not."""
        contexts = self._check_load(data, ctx, cast_dtype)
        self._shape = data.shape
        if cast_dtype and dtype_source == "saved":
            self.cast(data.dtype)
        with autograd.pause():
            if self._data is None:
                self._init_impl(data.astype(self.dtype, copy=False), contexts)
            else:
                self.set_data(data)
            self._deferred_init = ()

    def reset_ctx(self, ctx) -> None:
        """Move to other contexts; what differs between the present ones is averaged.

        Parameters
        ----------
        ctx : Context or list of Context

        Raises
        ------
        MXNetError
            The parameter has not been initialized.
        """
        contexts = _contexts(ctx)
        if self._data is not None:
            with autograd.pause():
                self._init_impl(self._reduce(), contexts)
        elif self._deferred_init:
            init, _, default_init, data = self._deferred_init
            self._deferred_init = (init, contexts, default_init, data)
        else:
            raise self._missing()

    def cast(self, dtype) -> None:
        """Convert value and gradient to another dtype."""
        _dtype.to_torch(dtype)
        self._dtype = dtype
        if self._data is not None:
            with autograd.pause():
                self._set([array.astype(dtype) for array in self._data])

    # Its arrays

    def data(self, ctx: Context | None = None) -> NDArray:
        """The value on a context, by default the only one there is, else the current one.

        Raises
        ------
        DeferredInitializationError
            The shape is not known before the first forward pass.
        ParameterError
            Not initialized, or not on this context, or of storage type 'row_sparse'.
        """
        arrays = self._data
        if self._stype == "row_sparse":
            raise self._is_row_sparse("data", "row_sparse_data")
        if arrays is not None and len(arrays) == 1 and (ctx is None or arrays[0]._context is ctx):
            return arrays[0]
        return self._on(arrays, ctx)

    def list_data(self) -> list[NDArray]:
        """The values on all contexts, in the order of `list_ctx`.

        Raises
        ------
        DeferredInitializationError
            The shape is not known before the first forward pass.
        ParameterError
            Not initialized, or of storage type 'row_sparse'.
        """
        if self._stype == "row_sparse":
            raise self._is_row_sparse("list_data", "list_row_sparse_data")
        return list(self._listed(self._data))

    def grad(self, ctx: Context | None = None) -> NDArray:
        """The gradient on a context, by default the only one there is, else the current one.

        Raises
        ------
        ParameterError
            Not initialized, not on this context, or `grad_req` is 'null'.
        """
        return self._on(self._gradients(), ctx)

    def list_grad(self) -> list[NDArray]:
        """The gradients on all contexts.

        Raises
        ------
        DeferredInitializationError
            The shape is not known before the first forward pass.
        ParameterError
            Not initialized, or `grad_req` is 'null'.
        """
        return self._gradients()

    @property
    def _grad(self) -> list[NDArray] | None:  # MXNet's name, which programs read
        return None if self._data is None or self.grad_req == "null" else self.list_grad()

    @_grad.setter
    def _grad(self, gradients: list[NDArray] | None) -> None:
        for array, gradient in zip(self._data or (), gradients or ()):
            if array.grad is not gradient:
                self._attach(array, gradient)

    # Programs read these names of MXNet's, and copy them to other parameters: they follow from the
    # arrays.

    @property
    def _ctx_list(self) -> list[Context] | None:
        return None if self._data is None else self.list_ctx()

    @_ctx_list.setter
    def _ctx_list(self, contexts: list[Context] | None) -> None:
        pass

    @property
    def _ctx_map(self) -> list[list[int | None]] | None:
        """The numbers of arrays by the number of the device, on GPUs and on CPUs."""
        if self._data is None:
            return None
        found: list[list[int | None]] = [[], []]
        for i, context in enumerate(self.list_ctx()):
            devices = found[context.device_typeid & 1]
            devices += [None] * (context.device_id + 1 - len(devices))
            devices[context.device_id] = i
        return found

    @_ctx_map.setter
    def _ctx_map(self, numbers: list | None) -> None:
        pass

    def list_ctx(self) -> list[Context]:
        """The contexts that the parameter is initialized on, or will be.

        Raises
        ------
        MXNetError
            It has not been initialized.
        """
        if self._data is not None:
            return [array.context for array in self._data]
        if self._deferred_init:
            return list(self._deferred_init[1])
        raise self._missing()

    def zero_grad(self) -> None:
        """Set the gradients to 0."""
        if self._data is not None and self.grad_req != "null":
            for gradient in self._gradients():
                if gradient.stype == "default":
                    gradient[:] = 0
                else:
                    gradient._take_gradient(None, add=False)

    def row_sparse_data(self, row_id: NDArray) -> NDArray:
        """The value on the context of `row_id`, of which at least those rows are there.

        Parameters
        ----------
        row_id : NDArray
            Numbers of rows, in any order and any number of times.

        Raises
        ------
        ParameterError
            The storage type is not 'row_sparse', or no Trainer has this parameter.
        """
        self._expect_row_sparse("row_sparse_data", "data")
        array = self._on(self._data, row_id.context)
        self._pull_rows("row_sparse_data", [array], row_id)
        return array

    def list_row_sparse_data(self, row_id: NDArray) -> list[NDArray]:
        """The values on all contexts, of which at least those rows are there.

        Raises
        ------
        ParameterError
            The storage type is not 'row_sparse', or no Trainer has this parameter.
        """
        self._expect_row_sparse("list_row_sparse_data", "list_data")
        arrays = list(self._listed(self._data))
        self._pull_rows("list_row_sparse_data", arrays, row_id)
        return arrays

    def _expect_row_sparse(self, asked_by: str, of_others: str) -> None:
        if self._stype != "row_sparse":
            raise ParameterError(
                f"Parameter {self.name!r}: {asked_by} of storage type {self._stype!r}\n"
                f"  expected {of_others}()"
            )

    def _pull_rows(self, asked_by: str, arrays: list[NDArray], row_id: NDArray) -> None:
        """Have the Trainer bring rows of arrays up to date."""
        trainer = self._trainer
        if trainer is None:
            raise ParameterError(
                f"Parameter {self.name!r}: {asked_by} where no Trainer has this parameter\n"
                "  expected a Trainer to be made for it before"
            )
        with autograd.pause():
            trainer._row_sparse_pull(self, arrays, row_id)

    def _is_row_sparse(self, asked_by: str, instead: str) -> ParameterError:
        return ParameterError(
            f"Parameter {self.name!r}: {asked_by}() of storage type 'row_sparse'\n"
            f"  expected {instead}(row_id)"
        )

    def var(self):
        """The parameter as a variable of a Symbol."""
        if self._var is None:
            told = {"lr_mult": self.lr_mult, "wd_mult": self.wd_mult, "init": self.init}
            if self._stype != "default":
                told["stype"] = self._stype
            self._var = symbol.var(self.name, shape=self.shape, dtype=self.dtype, **told)
        return self._var.as_np_ndarray() if is_np_array() else self._var

    @property
    def _trainer(self):
        """The Trainer that was made last for it, if there is one still."""
        return self._trainer_ref and self._trainer_ref()

    @_trainer.setter
    def _trainer(self, trainer) -> None:
        self._trainer_ref = trainer and weakref.ref(trainer)

    def _set_trainer(self, trainer) -> None:
        before = self._trainer
        if self._stype != "default" and None not in (before, trainer) and before is not trainer:
            raise MXNetError(
                f"Parameter {self.name!r} of storage type {self._stype!r} has a Trainer already\n"
                "  expected one Trainer for it"
            )
        self._trainer = trainer

    def _reduce(self) -> NDArray:
        """The value on the CPU, averaged over contexts."""
        arrays = self._listed(self._data)
        if self._stype == "row_sparse" and (trainer := self._trainer):
            whole = ndarray.zeros(self.shape, cpu(), self.dtype, self._stype)
            trainer._row_sparse_pull(self, [whole], ndarray.arange(self.shape[0]), full_idx=True)
            return whole
        copies = [array.copyto(cpu()) for array in arrays]
        return sum(copies[1:], copies[0]) / len(copies) if len(copies) > 1 else copies[0]

    def _gradients(self) -> list[NDArray]:
        """The gradients on all contexts, each that of its array."""
        arrays = self._listed(self._data)
        if self.grad_req == "null":
            raise ParameterError(
                f"Parameter {self.name!r}: no gradient, because grad_req='null'\n"
                "  expected grad_req 'write' or 'add'"
            )
        return [array.grad for array in arrays]

    def _listed(self, arrays: list[NDArray] | None) -> list[NDArray]:
        if arrays is None:
            raise self._missing()
        return arrays

    def _on(self, arrays: list[NDArray] | None, ctx: Context | None) -> NDArray:
        arrays = self._listed(arrays)
        if ctx is None:
            if len(arrays) == 1:
                return arrays[0]
            ctx = current_context()
        elif ctx is list:
            return list(arrays)
        elif not isinstance(ctx, Context):
            raise ContextError(f"Parameter {self.name!r}: ctx is {ctx!r}\n  expected a Context")
        gpu = ctx.device_type == "gpu"  # cpu_pinned(0) and cpu_shared(0) are cpu(0)'s memory
        for array in arrays:
            there = array._context
            if there.device_id == ctx.device_id and (there.device_type == "gpu") is gpu:
                return array
        raise ParameterError(
            f"Parameter {self.name!r}: it was not initialized on context {ctx}\n"
            f"  expected one of {self.list_ctx()}"
        )

    def _missing(self) -> MXNetError:
        if self._deferred_init:
            return DeferredInitializationError(
                f"Parameter {self.name!r}: initialization was deferred, its shape {self.shape} is "
                "not known before the first forward pass\n"
                "  expected one batch to be passed through the network before its parameters are "
                "accessed, or in_units, in_channels, ... to be given to its layers"
            )
        return ParameterError(
            f"Parameter {self.name!r}: it has not been initialized\n"
            "  expected initialize() or load_parameters() of the network that it belongs to before "
            "it is used; network.params.initialize() leaves out the parameters of its children"
        )

    # Copies and pickles of arrays come without their gradients.

    def __getstate__(self) -> dict:
        gradients = [a.grad for a in self._data or ()]
        return self.__dict__ | {"_gradients_of_data": gradients, "_trainer_ref": None}

    def __setstate__(self, state: dict) -> None:
        self.__dict__.update(state)
        for array, gradient in zip(self._data or (), self.__dict__.pop("_gradients_of_data")):
            if gradient is not None:
                self._attach(array, gradient)


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
                f"Constant parameter {quoted(self.name)} does not support grad_req other than "
                f"'null', and new value {req!r} is ignored.",
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

    def update(self, other: ParameterDict | dict[str, Parameter]) -> None:
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
        """Set the values from a dictionary of arrays: see `load`.

        Raises
        ------
        ParameterError
            A name does not begin with `restore_prefix`, or the values do not fit: see `load`.
        """
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


class _Awaited(Pending):
    """A parameter whose shape the first operator that uses it tells."""

    def __init__(self, parameter: Parameter, context: Context):
        self._parameter, self._on = parameter, context
        self.known = tuple(parameter.shape or ())

    def resolve(self, shape: Shape) -> NDArray:
        parameter = self._parameter
        with _initializing:
            if parameter._deferred_init:
                parameter.shape = shape
                parameter._finish_deferred_init()
        return parameter.data(self._on)

    def _refuse(self, *_):
        return self.__getattr__("arithmetic")

    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = _refuse
    __truediv__ = __rtruediv__ = __pow__ = __neg__ = __getitem__ = _refuse

    def __repr__(self) -> str:
        return f"Parameter {self._parameter.name!r}"


def merged(one: Shape, other: Shape) -> Shape | None:
    """The shape that two make together, each unknown where 0 or -1; None where they differ."""
    if len(one) != len(other) or any(a != b for a, b in zip(one, other) if a > 0 and b > 0):
        return None
    return tuple(b if b > 0 or a <= 0 else a for a, b in zip(one, other))


def as_shape(shape: int | Iterable[int] | None) -> Shape | None:
    if shape is None:
        return None
    try:
        return (int(shape),) if isinstance(shape, (int, np.integer)) else tuple(map(int, shape))
    except (TypeError, ValueError):
        raise ParameterError(f"shape is {shape!r}\n  expected a tuple of ints") from None


def _contexts(ctx) -> list[Context]:
    contexts = [current_context()] if ctx is None else [ctx] if isinstance(ctx, Context) else ctx
    if not isinstance(contexts, (list, tuple)) or not contexts:
        raise ContextError(
            f"ctx is {ctx!r}\n  expected a Context such as mx.cpu(), or a list of them"
        )
    for context in contexts:
        if not isinstance(context, Context):
            raise ContextError(f"ctx has {context!r}\n  expected a Context")
    return list(contexts)


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
