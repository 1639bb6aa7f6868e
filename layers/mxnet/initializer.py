"""Initializers: what fills a parameter before training.

Numbers are drawn by the default generator of the device that the array is on, so `random.seed`
makes them repeatable.
"""

from __future__ import annotations

import json
import logging
import math
import re
import warnings

import numpy as np
import torch

from . import registry
from ._table.rnn import columns_of, layout
from .base import ArgumentError, ShapeError, legible, quoted
from .ndarray import NDArray, load, zeros

__all__ = [
    "Bilinear",
    "Constant",
    "FusedRNN",
    "InitDesc",
    "Initializer",
    "LSTMBias",
    "Load",
    "MSRAPrelu",
    "Mixed",
    "Normal",
    "One",
    "Orthogonal",
    "Uniform",
    "Xavier",
    "Zero",
    "alias",
    "create",
    "register",
]

# What the end of a name says, and the method for it.
_BY_END = (
    ("weight", "_init_weight"),
    ("bias", "_init_bias"),
    ("gamma", "_init_gamma"),
    ("beta", "_init_beta"),
    ("min", "_init_zero"),
    ("max", "_init_one"),
)
# The same for a plain str, which MXNet reads otherwise: (beginning, end, method).
_BY_PLAIN_NAME = (
    ("upsampling", "", "_init_bilinear"),
    ("stn_loc", "weight", "_init_zero"),
    ("stn_loc", "bias", "_init_loc_bias"),
    *(("", end, method) for end, method in _BY_END),
    ("", "moving_mean", "_init_zero"),
    ("", "moving_var", "_init_one"),
    ("", "moving_inv_var", "_init_zero"),
    ("", "moving_avg", "_init_zero"),
)


class InitDesc(str):
    """A parameter's name, with what else an initializer may want to know.

    Parameters
    ----------
    name : str
    attrs : dict of str to str, optional
        The attributes of the variable; ``__init__`` names an initializer that goes first.
    global_init : Initializer, optional
        The initializer that was asked.
    """

    attrs: dict
    global_init: Initializer | None

    def __new__(cls, name, attrs=None, global_init=None):
        self = super().__new__(cls, name)
        self.attrs = attrs or {}
        self.global_init = global_init
        return self


class Initializer:
    """Fills an array by what its name says it is.

    Called with an `InitDesc` and an array: the ``__init__`` attribute goes first, then the end of
    the name: weight, bias, gamma, beta, min, max. Subclasses define ``_init_weight(name, array)``;
    the methods for the others can be replaced too. Keyword arguments are what `dumps` writes.
    """

    def __init__(self, **kwargs):
        self._kwargs = kwargs
        self._verbose = False
        self._print_func = None

    def set_verbosity(self, verbose: bool = False, print_func=None) -> Initializer:
        """Log each array that is filled.

        Parameters
        ----------
        verbose : bool
        print_func : callable, optional
            From the array to what is logged; by default its norm over √size.
        """
        self._verbose = verbose
        self._print_func = print_func or _root_mean_square
        return self

    def _verbose_print(self, desc: str, init: str, arr: NDArray) -> None:
        if self._verbose and self._print_func:
            logging.info(
                "Initialized %s as %s: %s", legible(desc), legible(str(init)), self._print_func(arr)
            )

    def dumps(self) -> str:
        """The initializer as JSON, which `create` reads: ``["xavier", {"magnitude": 3}]``."""
        return json.dumps([type(self).__name__.lower(), self._kwargs])

    def __eq__(self, other) -> bool:
        return type(other) is type(self) and self._kwargs == other._kwargs

    __hash__ = object.__hash__

    def __call__(self, desc: str, arr: NDArray) -> None:
        """Fill an array.

        Raises
        ------
        ArgumentError
            The name does not say what the array is.
        """
        if not isinstance(desc, InitDesc):
            self._legacy_init(desc, arr)
            return
        if desc.global_init is None:
            desc.global_init = self
        if arr.stype != "default":
            dense = arr.tostype("default")
            self(desc, dense)
            arr[:] = dense
            return
        if own := desc.attrs.get("__init__"):
            create(own)._init_weight(desc, arr)
            self._verbose_print(desc, own, arr)
            return
        for end, method in _BY_END:
            if desc.endswith(end):
                getattr(self, method)(desc, arr)
                self._verbose_print(desc, end, arr)
                return
        self._init_default(desc, arr)

    def _legacy_init(self, name: str, arr: NDArray) -> None:
        if not isinstance(name, str):
            raise ArgumentError(f"initializer: the name is {name!r}\n  expected an InitDesc")
        warnings.warn(
            f"initializer: the name {name!r} is a plain str; expected mx.init.InitDesc({name!r})",
            DeprecationWarning,
            stacklevel=3,
        )
        for begin, end, method in _BY_PLAIN_NAME:
            if name.startswith(begin) and name.endswith(end):
                getattr(self, method)(name, arr)
                return
        self._init_default(name, arr)

    def _init_weight(self, name: str, arr: NDArray) -> None:
        raise NotImplementedError(f"{type(self).__name__}._init_weight")

    def _init_default(self, name: str, _) -> None:
        raise ArgumentError(
            f"initializer: the name {quoted(name)} does not say how to fill the array\n"
            "  expected it to end in weight, bias, gamma or beta, or an initializer of its own"
        )

    def _init_zero(self, _, arr: NDArray) -> None:
        arr[:] = 0.0

    def _init_one(self, _, arr: NDArray) -> None:
        arr[:] = 1.0

    _init_bias = _init_beta = _init_zero
    _init_gamma = _init_one

    def _init_bilinear(self, name, arr: NDArray) -> None:
        if arr.ndim != 4:
            raise ShapeError(f"Bilinear: {name!r} is {arr.shape}\n  expected four axes")
        height, width = arr.shape[2:]
        half = math.ceil(width / 2.0)
        centre = (2 * half - 1 - half % 2) / (2.0 * half)
        rows, columns = (1 - abs(np.arange(n) / half - centre) for n in (height, width))
        arr[:] = np.broadcast_to(np.outer(rows, columns), arr.shape)

    def _init_loc_bias(self, _, arr: NDArray) -> None:
        arr[:] = np.array([1.0, 0, 0, 0, 1.0, 0])  # the identity of a spatial transformer


def _root_mean_square(arr: NDArray) -> str:
    values = arr.asnumpy()
    return str(np.linalg.norm(values) / math.sqrt(values.size))


register = registry.get_register_func(Initializer, "initializer")
alias = registry.get_alias_func(Initializer, "initializer")
create = registry.get_create_func(Initializer, "initializer")


@alias("zeros")
@register
class Zero(Initializer):
    """Zeros."""

    def _init_weight(self, name: str, arr: NDArray) -> None:
        arr[:] = 0


@alias("ones")
@register
class One(Initializer):
    """Ones."""

    def _init_weight(self, name: str, arr: NDArray) -> None:
        arr[:] = 1


@register
class Constant(Initializer):
    """One value everywhere, or the values of an array of the same shape."""

    def __init__(self, value):
        values = value.asnumpy() if isinstance(value, NDArray) else value
        is_array = isinstance(values, (np.ndarray, np.generic))
        super().__init__(value=values.tolist() if is_array else values)
        self.value = value

    def _init_weight(self, name: str, arr: NDArray) -> None:
        arr[:] = self.value


@register
class Uniform(Initializer):
    """Uniform on [-scale, scale)."""

    def __init__(self, scale=0.07):
        super().__init__(scale=scale)
        self.scale = scale

    def _init_weight(self, name: str, arr: NDArray) -> None:
        arr._writable().uniform_(-self.scale, self.scale)


@register
class Normal(Initializer):
    """Normal, with mean 0 and standard deviation `sigma`."""

    def __init__(self, sigma=0.01):
        super().__init__(sigma=sigma)
        self.sigma = sigma

    def _init_weight(self, name: str, arr: NDArray) -> None:
        arr._writable().normal_(0, self.sigma)


@register
class Orthogonal(Initializer):
    """`scale` times a matrix with orthonormal rows or columns (Saxe et al., arXiv:1312.6120).

    Parameters
    ----------
    scale : float
    rand_type : {'uniform', 'normal'}
        The matrix whose singular vectors are taken.
    """

    def __init__(self, scale=1.414, rand_type="uniform"):
        super().__init__(scale=scale, rand_type=rand_type)
        self.scale = scale
        self.rand_type = rand_type

    def _init_weight(self, name: str, arr: NDArray) -> None:
        target = _matrix(self, name, arr)
        drawn = torch.empty(len(target), target[0].numel(), device=target.device)
        if self.rand_type == "uniform":
            drawn.uniform_(-1, 1)
        elif self.rand_type == "normal":
            drawn.normal_()
        else:
            raise ArgumentError(
                f"Orthogonal: rand_type is {self.rand_type!r}\n  expected 'uniform' or 'normal'"
            )
        u, _, v = torch.linalg.svd(drawn, full_matrices=False)
        q = u if u.shape == drawn.shape else v
        target.copy_(self.scale * q.reshape(target.shape))


@register
class Xavier(Initializer):
    """Keeps the size of activations and gradients alike (Glorot and Bengio 2010).

    With n inputs, outputs or their mean, by `factor_type`: uniform on ±√(magnitude / n), or normal
    with that standard deviation. Weights are (outputs, inputs, ...kernel), at least 2-D.

    Parameters
    ----------
    rnd_type : {'uniform', 'gaussian'}
    factor_type : {'avg', 'in', 'out'}
    magnitude : float
    """

    def __init__(self, rnd_type="uniform", factor_type="avg", magnitude: float = 3):
        super().__init__(rnd_type=rnd_type, factor_type=factor_type, magnitude=magnitude)
        self.rnd_type = rnd_type
        self.factor_type = factor_type
        self.magnitude = float(magnitude)

    def _init_weight(self, name: str, arr: NDArray) -> None:
        target = _matrix(self, name, arr)
        outputs, inputs, *kernel = arr.shape
        fans = {"in": inputs, "out": outputs, "avg": (inputs + outputs) / 2}
        if self.factor_type not in fans:
            raise ArgumentError(
                f"Xavier: factor_type is {self.factor_type!r}\n  expected 'avg', 'in' or 'out'"
            )
        scale = math.sqrt(self.magnitude / (fans[self.factor_type] * math.prod(kernel)))
        if self.rnd_type == "uniform":
            target.uniform_(-scale, scale)
        elif self.rnd_type == "gaussian":
            target.normal_(0, scale)
        else:
            raise ArgumentError(
                f"Xavier: rnd_type is {self.rnd_type!r}\n  expected 'uniform' or 'gaussian'"
            )


def _matrix(init: Initializer, name: str, arr: NDArray) -> torch.Tensor:
    if arr.ndim < 2 or not arr.size:
        raise ShapeError(
            f"{type(init).__name__}: {name!r} is {arr.shape}\n"
            "  expected at least 2 axes, none of them empty"
        )
    return arr._writable()


@register
class MSRAPrelu(Xavier):
    """`Xavier` for layers before a PReLU of the given slope (He et al., arXiv:1502.01852)."""

    def __init__(self, factor_type="avg", slope=0.25):
        super().__init__("gaussian", factor_type, 2.0 / (1 + slope**2))
        self._kwargs = {"factor_type": factor_type, "slope": slope}


@register
class Bilinear(Initializer):
    """The weights with which a transposed convolution interpolates."""

    def _init_weight(self, name: str, arr: NDArray) -> None:
        self._init_bilinear(name, arr)


@register
class LSTMBias(Initializer):
    """Zeros, and `forget_bias` for the forget gate, the second quarter."""

    def __init__(self, forget_bias=1.0):
        super().__init__(forget_bias=forget_bias)
        self.forget_bias = forget_bias

    def _init_weight(self, name: str, arr: NDArray) -> None:
        quarter = arr.shape[0] // 4
        arr[:] = 0.0
        arr[quarter : 2 * quarter] = self.forget_bias


@register
class FusedRNN(Initializer):
    """The `parameters` of the operator RNN: each gate of each layer by its name, l0_i2h_f_weight.

    Parameters
    ----------
    init : Initializer or str, optional
        What fills a gate; by default the initializer that was asked.
    num_hidden, num_layers, mode, bidirectional
        As for the operator.
    forget_bias : float
        For the biases of lstm's forget gates.
    """

    def __init__(
        self, init, num_hidden, num_layers, mode, bidirectional=False, forget_bias: float = 1.0
    ):
        init = None if init is None else create(init)
        super().__init__(
            init=None if init is None else init.dumps(),
            num_hidden=num_hidden,
            num_layers=num_layers,
            mode=mode,
            bidirectional=bidirectional,
            forget_bias=forget_bias,
        )
        self._init, self._sizes = init, (num_hidden, num_layers, bidirectional, mode, None)
        self._forget_bias = forget_bias

    def _init_weight(self, name: str, arr: NDArray) -> None:
        _, layers, bidirectional, mode, _ = self._sizes
        columns = columns_of(arr.size, *self._sizes)
        if columns is None:
            raise ShapeError(f"FusedRNN: {name!r} is {arr.shape}\n  expected it for {self.dumps()}")
        gates = {"lstm": ("_i", "_f", "_c", "_o"), "gru": ("_r", "_z", "_o")}.get(mode, ("",))
        sides = [f"{side}{i}" for i in range(layers) for side in "lr"[: 1 + bidirectional]]
        maps = [f"{side}_{map}" for side in sides for map in ("i2h", "h2h")]
        parts = [(map, role) for role in ("weight", "bias") for map in maps]
        begin = 0
        for (map, role), (rows, *rest) in zip(parts, layout(columns, *self._sizes)):
            for gate in gates:
                desc = InitDesc(f"{map}{gate}_{role}", None, getattr(name, "global_init", None))
                values = zeros((rows // len(gates), *rest), arr.context, arr.dtype)
                if desc.endswith("_f_bias"):
                    values[:] = self._forget_bias
                else:
                    (self._init or desc.global_init)(desc, values)
                arr[begin : begin + values.size] = values.reshape(-1)
                begin += values.size


class Mixed:
    """Chooses an initializer by regular expressions on the name; the first that matches.

    Parameters
    ----------
    patterns : list of str
    initializers : list of Initializer or str
        As many.

    Raises
    ------
    ArgumentError
        There are not as many patterns as initializers.
    """

    def __init__(self, patterns, initializers):
        if len(patterns) != len(initializers):
            raise ArgumentError(
                f"Mixed: {len(patterns)} patterns, {len(initializers)} initializers\n"
                "  expected as many of each"
            )
        chosen = [i if callable(i) else create(i) for i in initializers]
        self.map = list(zip([re.compile(p) for p in patterns], chosen))

    def __call__(self, name: str, arr: NDArray) -> None:
        for pattern, initializer in self.map:
            if pattern.match(name):
                initializer(name, arr)
                return
        raise ArgumentError(
            f"Mixed: {name!r} matches no pattern\n  expected '.*' as the last, for all others"
        )


class Load:
    """Takes values from a saved file, or from a dict of arrays; others from `default_init`.

    Parameters
    ----------
    param : path or dict of str to NDArray
        Names may begin with ``arg:`` or ``aux:``.
    default_init : callable, optional
        What fills arrays that are not there.
    verbose : bool
        Log each array.

    Raises
    ------
    ArgumentError
        The arrays in the file have no names.
    """

    def __init__(self, param, default_init=None, verbose: bool = False):
        given = param if isinstance(param, dict) else load(param)
        if not isinstance(given, dict):
            raise ArgumentError(f"Load: {param} has arrays without names\n  expected names")
        self.param = {re.sub("^(arg|aux):", "", name): value for name, value in given.items()}
        self.default_init = default_init
        self.verbose = verbose

    def __call__(self, name: str, arr: NDArray) -> None:
        if name in self.param:
            value = self.param[name]
            if value.shape != arr.shape:
                raise ShapeError(f"Load: {name!r} is {value.shape}\n  expected {arr.shape}")
            arr[:] = value
        elif self.default_init is not None:
            self.default_init(name, arr)
        else:
            raise ArgumentError(
                f"Load: {quoted(name)} is not among the loaded arrays\n"
                "  expected it, or a default_init"
            )
        if self.verbose:
            how = "by loading" if name in self.param else "by default"
            logging.info("Initialized %s %s", legible(name), how)
