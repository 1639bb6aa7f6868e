"""Steps of optimizers for many weights at once, and what LARS and LAMB measure.

The inputs are those of the operator for one weight, weight after weight; ``out=`` takes the
weights. What moves in place for one weight does so for each.
"""

from __future__ import annotations

from inspect import Parameter, Signature

import torch

from ..base import ArgumentError, ShapeError
from . import optimizer, registry
from .attributes import Floats, Shape
from .registry import NUM_ARRAYS, REQUIRED, Tensor, op


class Many(registry.Op):
    """An operator that calls update(i, group, *rest, **settings) for the i-th of many weights.

    Parameters
    ----------
    update : callable
        Of one weight: `group` has its inputs, `rest` what follows all groups, `settings` the
        attributes, of those that are lists the element for this weight.
    name, doc : str
    inputs : tuple of str
        Names of the inputs for one weight; those behind the gradient move in place.
    attributes : dict of str to (type, default)
        A list of numbers has one for each weight.
    after : tuple of str
        Names of the inputs that follow all groups; lrs and wds have a number for each weight.
    count : str
        The attribute that says how many weights there are.
    """

    def __init__(self, update, name, doc, inputs, attributes, after=(), count="num_weights"):
        self.each, self.after, self.count = inputs, after, count
        attributes = attributes | {count: (int, 1)}
        listed = [n for n, (kind, _) in attributes.items() if kind in (Floats, Shape)]
        defaults = {n: default for n, (_, default) in attributes.items()}

        def row(*data, **given):
            given = defaults | given
            number = given.pop(count)
            self._check(data, number, {n: given[n] for n in listed})
            size = len(inputs)
            rest, found = data[number * size :], []
            for i in range(number):
                own = given | {n: given[n][i] for n in listed}
                found.append(update(i, data[i * size : (i + 1) * size], *rest, **own))
            return tuple(found)

        row.__name__ = row.__qualname__ = name
        row.__module__ = __name__
        row.__doc__ = f"{doc}\n\n    data : {', '.join(inputs)} of each weight"
        row.__doc__ += f"; then {', '.join(after)}\n" if after else "\n"
        row.__annotations__ = {n: kind for n, (kind, _) in attributes.items()} | {"data": Tensor}
        keywords = [
            Parameter(n, Parameter.KEYWORD_ONLY, annotation=kind, default=default)
            for n, (kind, default) in attributes.items()
        ]
        data = Parameter("data", Parameter.VAR_POSITIONAL, annotation="Tensor")
        row.__signature__ = Signature([data, *keywords], return_annotation="tuple[Tensor, ...]")
        super().__init__(row, name, counted=None)
        self.shape_rule = self._shapes

    def _check(self, data, number, lists):
        shown = ", ".join([f"{number} times ({', '.join(self.each)})", *self.after])
        if len(data) != number * len(self.each) + len(self.after):
            raise ArgumentError(
                f"{self.name}: {self.count} is {number} for {len(data)} arrays\n  expected {shown}"
            )
        for name, values in lists.items():
            if len(values) != number:
                raise ArgumentError(
                    f"{self.name}: {name} has {len(values)} numbers\n"
                    f"  expected {number}, as {self.count} says"
                )
        for name, x in zip(self.after, data[number * len(self.each) :]):
            if name in _LISTS and x.shape != (number,):
                raise ShapeError(
                    f"{self.name}: {name} is {tuple(x.shape)}\n"
                    f"  expected ({number},), as {self.count} says"
                )

    def _shapes(self, shapes):
        """Return the shapes of the weights, where all arrays of a group share one shape."""
        size = len(self.each)
        groups = [shapes[i : i + size] for i in range(0, len(shapes), size)]
        fits = not self.after and all(len({*group}) == 1 for group in groups)
        return [group[0] for group in groups] if fits else None

    def _names(self, attributes, inputs):
        number = attributes.get(self.count, 1)
        return [f"{name}_{i}" for i in range(number) for name in inputs]

    def shown_outputs(self, attributes):
        return attributes.get(self.count, 1)

    def input_names(self, attributes, count=0):
        return [*self._names(attributes, self.each), *self.after]

    def state_names(self, attributes):
        return tuple(self._names(attributes, self.each[2:]))


_CUT = {"rescale_grad": (float, 1.0), "clip_gradient": (float, -1.0)}
_LISTS = {"lrs": (Floats, REQUIRED), "wds": (Floats, REQUIRED)}
_PLAIN, _MIXED = ("weight", "grad"), ("weight32",)


def _descent(one):
    def update(i, group, lrs, wds, **settings):
        return one.function(*group, lr=lrs, wd=wds, **settings)

    def preloaded(i, group, lrs, wds, **settings):
        return one.function(*group, lr=lrs[i], wd=wds[i], **settings)

    return update, preloaded


for _name, _one, _moving in (
    ("sgd", optimizer.sgd_update, ()),
    ("sgd_mom", optimizer.sgd_mom_update, ("mom",)),
    ("mp_sgd", optimizer.mp_sgd_update, _MIXED),
    ("mp_sgd_mom", optimizer.mp_sgd_mom_update, ("mom", *_MIXED)),
):
    _given = ({"momentum": (float, 0.0)} if "mom" in _moving else {}) | _CUT
    _inputs, (_update, _preloaded) = (*_PLAIN, *_moving), _descent(_one)
    _doc = f"{_name}_update of many weights."
    registry.add(Many(_update, f"multi_{_name}_update", _doc, _inputs, _LISTS | _given))
    _doc = f"multi_{_name}_update with the rates and decays in arrays."
    _after = ("lrs", "wds")
    registry.add(Many(_preloaded, f"preloaded_multi_{_name}_update", _doc, _inputs, _given, _after))


_ADAM = {"beta1": (float, 0.9), "beta2": (float, 0.999)}
_ADAMW = {
    "lrs": (Floats, REQUIRED),
    **_ADAM,
    "epsilon": (float, 1e-8),
    "wds": (Floats, REQUIRED),
    "etas": (Floats, REQUIRED),
    "clip_gradient": (float, -1.0),
}
_LAMB = {
    "learning_rates": (Floats, REQUIRED),
    **_ADAM,
    "epsilon": (float, 1e-6),
    "wds": (Floats, REQUIRED),
    "rescale_grad": (float, 1.0),
    "lower_bound": (float, -1.0),
    "upper_bound": (float, -1.0),
    "clip_gradient": (float, -1.0),
    "bias_correction": (bool, True),
    "step_count": (Shape, REQUIRED),
}


def _adamw(i, group, rescale_grad, lrs, wds, etas, **settings):
    one = optimizer._adamw_update if len(group) == 4 else optimizer._mp_adamw_update
    return one.function(*group, rescale_grad, lr=lrs, wd=wds, eta=etas, **settings)


def _lamb(i, group, learning_rates, wds, step_count, lower_bound, upper_bound, **settings):
    weight, grad, mean, var, *master = group
    w = master[0] if master else weight
    step = optimizer.lamb_update_phase1.function(
        w, grad.to(w.dtype), mean, var, t=step_count, wd=wds, **settings
    )
    norms = [torch.linalg.vector_norm(x.to(w.dtype)).reshape(1) for x in (weight, step)]
    bounds = lower_bound, upper_bound
    new = optimizer.lamb_update_phase2.function(w, step, *norms, learning_rates, *bounds)
    return master[0].copy_(new).to(weight.dtype, copy=True) if master else new


for _prefix, _master in ("", ()), ("mp_", _MIXED):
    _inputs = (*_PLAIN, "mean", "var", *_master)
    _doc = f"_{_prefix}adamw_update of many weights."
    _name = f"_multi_{_prefix}adamw_update"
    registry.add(Many(_adamw, _name, _doc, _inputs, _ADAMW, ("rescale_grad",)))
    _doc = f"Both phases of {_prefix}lamb_update, of many weights."
    _name = f"_multi_{_prefix}lamb_update"
    registry.add(Many(_lamb, _name, _doc, _inputs, _LAMB, count="num_tensors"))


@op(counted=NUM_ARRAYS)
def multi_sum_sq(*data: Tensor, num_arrays: int = REQUIRED) -> Tensor:
    """Σx² of each array, as float32: any number of (...) to (num_arrays,)."""
    return torch.stack([x.float().square().sum() for x in data])


@multi_sum_sq.types
def _():
    return torch.float32


@op(same=True)
def multi_lars(
    lrs: Tensor,
    weights_sum_sq: Tensor,
    grads_sum_sq: Tensor,
    wds: Tensor,
    eta: float = REQUIRED,
    eps: float = REQUIRED,
    rescale_grad: float = 1.0,
) -> Tensor:
    """The learning rates of LARS, lr eta |w| / (rescale_grad |g| + wd |w| + eps); lr where |w| or
    |g| is 0.

    lrs, weights_sum_sq, grads_sum_sq, wds : (n,); the sums of squares are |w|² and |g|²

    Raises
    ------
    ShapeError
        They are not of one shape.
    """
    shapes = [tuple(x.shape) for x in (lrs, weights_sum_sq, grads_sum_sq, wds)]
    if len({*shapes}) > 1:
        raise ShapeError(
            "multi_lars: lrs is {}, weights_sum_sq is {}, grads_sum_sq is {}, wds is {}\n"
            "  expected one shape".format(*shapes)
        )
    w, g = weights_sum_sq.sqrt(), grads_sum_sq.sqrt()
    fitted = lrs * eta * w / (rescale_grad * g + wds * w + eps)
    return torch.where((w > 0) & (g > 0), fitted, lrs)


class _Emptied(registry.Op):
    """An operator that changes all its inputs, and has no output."""

    def shown_outputs(self, attributes):
        return 0

    def state_names(self, attributes):
        return tuple(self.input_names(attributes, attributes["num_arrays"]))


def reset_arrays(*data: Tensor, num_arrays: int = REQUIRED) -> tuple[Tensor, ...]:
    """Fill arrays with zeros, in place; there is no output."""
    for x in data:
        x.zero_()
    return ()


registry.add(_Emptied(reset_arrays, "reset_arrays", counted=NUM_ARRAYS))
