"""Mixed precision: the operators that cast, and the policy that says where.

While a policy is in force, `nd` casts the inputs of operators, and `sym` puts casts before them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

import torch

from ..base import UnsupportedError
from . import registry
from .attributes import DType
from .registry import NUM_ARRAYS, NUM_OUTPUTS, REQUIRED, Op, Tensor, op, zeros


@op(same=True)
def amp_cast(data: Tensor, dtype: DType = REQUIRED) -> Tensor:
    """Floats in another dtype; integers are left as they are."""
    return data.to(dtype if data.is_floating_point() else data.dtype, copy=True)


@amp_cast.types
def _(data, dtype):
    return dtype if data.is_floating_point else data


@op(same=True, counted=NUM_OUTPUTS)
def amp_multicast(
    *data: Tensor, num_outputs: int = REQUIRED, cast_narrow: bool = False
) -> tuple[Tensor, ...]:
    """The arrays in the widest of their dtypes, with `cast_narrow` in the narrowest.

    Only float16, bfloat16 and float32 count. Arrays of other dtypes stay as they are.

    Raises
    ------
    ArgumentError
        `num_outputs` is not the number of arrays.
    """
    dtype = _common([x.dtype for x in data], cast_narrow)
    return tuple([x.to(dtype if x.dtype in AMP else x.dtype, copy=True) for x in data])


AMP = (torch.float32, torch.float16, torch.bfloat16)  # mixed precision, the widest first


def _common(dtypes: list[torch.dtype], narrow: bool) -> torch.dtype:
    found = [dtype for dtype in AMP if dtype in dtypes]
    return found[-1 if narrow else 0] if found else torch.float32


@amp_multicast.gives
def _(num_outputs):
    return num_outputs


@amp_multicast.types
def _(dtypes, num_outputs, cast_narrow):
    if len(dtypes) < num_outputs:
        return ()
    return tuple([_common(dtypes, cast_narrow) if d in AMP else d for d in dtypes])


@op(names_input=True)
def all_finite(data: Tensor, init_output: bool = True) -> Tensor:
    """1 where all elements are finite, else 0: (...) to (1,)."""
    return multi_all_finite.run(data, init_output=init_output)


@op(counted=NUM_ARRAYS)
def multi_all_finite(*data: Tensor, num_arrays: int = 1, init_output: bool = True) -> Tensor:
    """1 where all elements of all arrays are finite, else 0: any number of (...) to (1,).

    Raises
    ------
    UnsupportedError
        `init_output` is False.
    """
    if not init_output:
        raise UnsupportedError(
            "multi_all_finite: init_output is False\n"
            "  expected True, and a product with what was found before"
        )
    # Of an array the least and the greatest number tell, which are NaN where one is: a tenth of the
    # time of asking each. The zero is for arrays without any.
    ends = [end for x in data if x.numel() for end in x.aminmax()]
    found = torch.stack([data[0].new_zeros(()), *ends]).isfinite().all()
    return found.to(torch.float32).reshape(1)


@all_finite.shaped
@multi_all_finite.shaped
def _(init_output):
    return (1,) if init_output else None


@all_finite.types
@multi_all_finite.types
def _():
    return torch.float32


all_finite.grad(zeros)
multi_all_finite.grad(zeros)


class Policy:
    """What the inputs of operators are cast to.

    Parameters
    ----------
    target : torch.dtype
        float16 or bfloat16.
    low, full : list of str
        Operators whose inputs are cast to `target`, and to float32.
    conditional : list of (str, str, list of str)
        Operators whose inputs are cast to float32 if an attribute has one of some values.
    widest : list of str
        Operators whose inputs are cast to float32 if one of them is.
    scaled : list of str
        Losses whose `grad_scale` is multiplied by what `scale` returns.
    scale : callable

    Names of operators that are not here have no effect.
    """

    def __init__(
        self,
        target: torch.dtype,
        low: Iterable[str],
        full: Iterable[str],
        conditional: Iterable[tuple[str, str, list[str]]],
        widest: Iterable[str],
        scaled: Iterable[str] = (),
        scale: Callable[[], float] = lambda: 1.0,
    ):
        self.target, self.scale = target, scale
        self._dtypes = dict.fromkeys(_operators(low), target)
        self._dtypes |= dict.fromkeys(_operators(full), torch.float32)
        self._conditions = {
            operator: (attribute, {*values})
            for name, attribute, values in conditional
            for operator in _operators([name])
        }
        self._widest, self.scaled = _operators(widest), _operators(scaled)

    def dtype(self, operator: Op, attributes: dict) -> torch.dtype | None:
        """What the inputs of an operator are cast to; None where they are not, or to the widest."""
        if operator.low_precision is not None:  # a user's
            return self.target if operator.low_precision else torch.float32
        attribute, values = self._conditions.get(operator, ("", ()))
        if attributes.get(attribute) in values:
            return torch.float32
        return self._dtypes.get(operator)

    def takes_widest(self, operator: Op) -> bool:
        """Whether the inputs of an operator are cast to the widest of their dtypes."""
        return operator in self._widest

    def prepare(self, operator: Op, tensors: list, attributes: dict) -> tuple[list, dict]:
        """What an operator is called with: its inputs cast, the gradient of a loss scaled."""
        if operator in self.scaled:
            given = attributes.get("grad_scale", 1.0)
            attributes = attributes | {"grad_scale": given * self.scale()}
        return self.cast(operator, tensors, attributes), attributes

    def cast(self, operator: Op, tensors: list, attributes: dict) -> list:
        """The inputs of an operator, cast; its states are not, nor what is of another dtype."""
        dtype = self.dtype(operator, attributes)
        if dtype is None:
            found = {t.dtype for t in tensors if t is not None}
            if not self.takes_widest(operator) or not found >= {self.target, torch.float32}:
                return tensors
            dtype = torch.float32
        other = self.target if dtype is torch.float32 else torch.float32
        cast = [t if t is None or t.dtype is not other else t.to(dtype) for t in tensors]
        for name in operator.states:
            cast[operator.inputs.index(name)] = tensors[operator.inputs.index(name)]
        return cast


def _operators(names: Iterable[str]) -> set[Op]:
    # MXNet's operators of sparse arrays are in its lists by themselves, `_sparse_FullyConnected`
    # as one of float32. Here that is another name of the dense one, which 16 bits are for.
    known = {name for name in registry.names() if not name.startswith("_sparse_")}
    return {registry.get(name) for name in names if name in known}
