"""Layers in a row, and the common layers."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

from ... import ndarray
from ..block import Block, HybridBlock
from ..parameter import ParameterError
from ._normalization import BatchNorm, BatchNormReLU, GroupNorm, InstanceNorm, LayerNorm
from .activations import Activation

__all__ = [
    "BatchNorm",
    "BatchNormReLU",
    "Dense",
    "Dropout",
    "Embedding",
    "Flatten",
    "GroupNorm",
    "HybridLambda",
    "HybridSequential",
    "InstanceNorm",
    "Lambda",
    "LayerNorm",
    "Sequential",
]


class _Row:
    """Children in a row: what Sequential and HybridSequential have in common."""

    _in_summary = False

    def add(self, *blocks: Block) -> None:
        """Put blocks at the end."""
        for block in blocks:
            self.register_child(block)

    def _run(self, x):
        for block in self._children.values():
            x = block(x)
        return x

    def __getitem__(self, key) -> Any:  # a block, of any class
        layers = list(self._children.values())[key]
        if not isinstance(layers, list):
            return layers
        row = type(self)(prefix=self._prefix)
        row.add(*layers)
        return row

    def __len__(self) -> int:
        return len(self._children)


class Sequential(_Row, Block):
    """Blocks in a row, each on the output of the one before.

    ``net[0]`` is a layer, ``net[1:3]`` a Sequential of the same layers.
    """

    def forward(self, x):
        """The output of the last block."""
        return self._run(x)

    def hybridize(self, active: bool = True, **kwargs) -> None:
        """Hybridize the blocks, each for itself; warns where a HybridSequential would do more."""
        blocks = self._children.values()
        if blocks and all(isinstance(block, HybridBlock) for block in blocks):
            warnings.warn(
                f"{self.name}: all blocks are HybridBlocks; a HybridSequential makes one graph of "
                "them",
                stacklevel=2,
            )
        super().hybridize(active, **kwargs)


class HybridSequential(_Row, HybridBlock):
    """HybridBlocks in a row, each on the output of the one before.

    ``net[0]`` is a layer, ``net[1:3]`` a HybridSequential of the same layers.
    """

    def hybrid_forward(self, F, x):
        """The output of the last block."""
        return self._run(x)


class Dense(HybridBlock):
    """An affine map, y = activation(x Wᵀ + b).

    Parameters
    ----------
    units : int
        The size of the output.
    activation : str, optional
        As for `Activation`.
    use_bias : bool
    flatten : bool
        Take all axes of x but the first as one; else map the last axis.
    dtype : str or numpy type
    weight_initializer, bias_initializer : str or Initializer, optional
    in_units : int
        The size of the input; 0: the first call tells.

    Inputs: x (n, k), or (n, ...) with flatten, (..., k) without.
    Outputs: (n, units), (..., units) without flatten.
    """

    def __init__(
        self,
        units: int,
        activation: str | None = None,
        use_bias: bool = True,
        flatten: bool = True,
        dtype="float32",
        weight_initializer=None,
        bias_initializer="zeros",
        in_units: int = 0,
        **kwargs,
    ):
        super().__init__(**kwargs)
        self._units, self._in_units, self._flatten = units, in_units, flatten
        with self.name_scope():
            self.weight = self.params.get(
                "weight",
                shape=(units, in_units),
                init=weight_initializer,
                dtype=dtype,
                allow_deferred_init=True,
            )
            self.bias = None
            if use_bias:
                self.bias = self.params.get(
                    "bias",
                    shape=(units,),
                    init=bias_initializer,
                    dtype=dtype,
                    allow_deferred_init=True,
                )
            self.act = None
            if activation is not None:
                self.act = Activation(activation, prefix=f"{activation}_")

    def hybrid_forward(self, F, x, weight, bias=None):
        """x Wᵀ + b, and the activation of it."""
        y = F.FullyConnected(
            x,
            weight,
            bias,
            num_hidden=self._units,
            no_bias=bias is None,
            flatten=self._flatten,
            name="fwd",
        )
        return y if self.act is None else self.act(y)

    def __repr__(self) -> str:
        return f"Dense({self.weight.shape[1] or None} -> {self._units}, {self.act or 'linear'})"


class Dropout(HybridBlock):
    """In training, each element is 0 with probability `rate`, the others grow by 1 / (1 - rate).

    Parameters
    ----------
    rate : float
    axes : tuple of int
        Axes along which the same elements are dropped.

    Inputs: any shape. Outputs: the same shape.
    """

    def __init__(self, rate: float, axes: tuple[int, ...] = (), **kwargs):
        super().__init__(**kwargs)
        self._rate, self._axes = rate, axes

    def hybrid_forward(self, F, x):
        """x with elements dropped, in training."""
        if self._rate > 0:
            return F.Dropout(x, p=self._rate, axes=self._axes, name="fwd")
        return F.identity(x)

    def __repr__(self) -> str:
        return f"Dropout(p = {self._rate}, axes={self._axes})"


class Embedding(HybridBlock):
    """Rows of a learned table, by their numbers.

    Parameters
    ----------
    input_dim, output_dim : int
        The shape of the table.
    dtype : str or numpy type
    weight_initializer : str or Initializer, optional
    sparse_grad : bool
        The gradient of the table is row_sparse: it has the rows that were looked up.

    Inputs: x of numbers below input_dim, any shape. Outputs: (*x.shape, output_dim).
    """

    def __init__(
        self,
        input_dim: int,
        output_dim: int,
        dtype="float32",
        weight_initializer=None,
        sparse_grad: bool = False,
        **kwargs,
    ):
        super().__init__(**kwargs)
        self._kwargs = {
            "input_dim": input_dim,
            "output_dim": output_dim,
            "dtype": dtype,
            "sparse_grad": sparse_grad,
        }
        self.weight = self.params.get(
            "weight",
            shape=(input_dim, output_dim),
            init=weight_initializer,
            dtype=dtype,
            allow_deferred_init=True,
            grad_stype="row_sparse" if sparse_grad else "default",
        )

    def hybrid_forward(self, F, x, weight):
        """The rows that x numbers."""
        return F.Embedding(x, weight, name="fwd", **self._kwargs)

    def __repr__(self) -> str:
        row = self._kwargs
        return f"Embedding({row['input_dim']} -> {row['output_dim']}, {row['dtype']})"


class Flatten(HybridBlock):
    """All axes but the first as one.

    Inputs: (n, ...). Outputs: (n, k).
    """

    def hybrid_forward(self, F, x):
        """x in two axes."""
        return F.Flatten(x)

    def __repr__(self) -> str:
        return "Flatten"


class Lambda(Block):
    """A function as a block.

    Parameters
    ----------
    function : str or callable
        The name of a function of `nd`, or any function of arrays.
    prefix : str, optional

    Raises
    ------
    ParameterError
        `nd` has no such function.
    """

    def __init__(self, function: str | Callable, prefix: str | None = None):
        super().__init__(prefix=prefix)
        self._func_name = _function_name(function)
        self._func_impl = getattr(ndarray, function) if isinstance(function, str) else function

    def forward(self, *args):
        """What the function returns."""
        return self._func_impl(*args)

    def __repr__(self) -> str:
        return f"Lambda({self._func_name})"


class HybridLambda(HybridBlock):
    """A function of F and arrays as a block.

    Parameters
    ----------
    function : str or callable
        The name of a function of F, or a function ``f(F, x, ...)``.
    prefix : str, optional

    Raises
    ------
    ParameterError
        F has no such function.
    """

    def __init__(self, function: str | Callable, prefix: str | None = None):
        super().__init__(prefix=prefix)
        self._func_name, self._func = _function_name(function), function

    def hybrid_forward(self, F, x, *args):
        """What the function returns."""
        if isinstance(self._func, str):
            return getattr(F, self._func)(x, *args)
        return self._func(F, x, *args)

    def __repr__(self) -> str:
        return f"HybridLambda({self._func_name})"


def _function_name(function: str | Callable) -> str:
    if isinstance(function, str):
        if not hasattr(ndarray, function):
            raise ParameterError(f"Lambda: nd has no function {function!r}")
        return function
    if not callable(function):
        raise ParameterError(f"Lambda: {function!r}\n  expected a function, or the name of one")
    return getattr(function, "__name__", type(function).__name__)
