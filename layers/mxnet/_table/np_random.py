"""NumPy's random draws, from PyTorch's generator of the device.

A parameter is a number or an array. By default as many are drawn as the parameters have elements;
`size` is the shape of all, or for the forms `_n` what stands in front of that of the parameters. A
draw is a function of its parameters and of noise, and so has a gradient.
"""

from __future__ import annotations

from inspect import Parameter, Signature

import torch

from ..base import ArgumentError
from .attributes import DType, Shape
from .registry import REQUIRED, Tensor, family, op


def distribution(name, draw, doc, *numbers, typed=False, n_form=False, defaults=None, check=None):
    """Register y = draw(noise, *parameters); noise() is an array to fill of the result's shape.

    `typed` rows have a dtype, float32 by default; `n_form` registers `_npi_<name>_n`, too.
    """

    def template(is_n):
        def row(*inputs, size=None, ctx="cpu", dtype=torch.float32, device=None, **given):
            arrays = iter([x for x in inputs if x is not None])
            parameters = [next(arrays) if given.get(n) is None else given[n] for n in numbers]
            if check is not None:
                check(*parameters)
            tensors = [p for p in parameters if isinstance(p, Tensor)]
            device = tensors[0].device if tensors else device
            shape = torch.broadcast_shapes(*[p.shape for p in tensors])
            shape = shape if size is None else (*size, *(shape if is_n else ()))

            def empty():
                return torch.empty(shape, dtype=dtype, device=device)

            return draw(empty, *[p.to(dtype) if isinstance(p, Tensor) else p for p in parameters])

        place = Parameter.POSITIONAL_OR_KEYWORD
        names = [f"input{i + 1}" for i in range(len(numbers))]
        inputs = [Parameter(n, place, annotation="Tensor | None", default=None) for n in names]
        kind = (float | None, None)
        attributes = {n: (kind[0], (defaults or {}).get(n)) for n in numbers}
        attributes |= {"size": (Shape | None, None), "ctx": (str, "cpu")}
        attributes |= {"dtype": (DType, torch.float32)} if typed else {}
        rest = [Parameter(n, place, annotation=a, default=d) for n, (a, d) in attributes.items()]
        row.__signature__ = Signature([*inputs, *rest, Parameter("device", Parameter.KEYWORD_ONLY)])
        row.__annotations__ = {n: a for n, (a, _) in attributes.items()}
        return row

    for suffix in ("", "_n") if n_form else ("",):
        made = family(template, bool(suffix), f"_npi_{name}{suffix}", f"Draws {doc}.", draws=True)

        def inputs(**given):
            arrays = sum(given[n] is None for n in numbers)
            return [f"input{i + 1}" for i in range(arrays)]

        inputs.__signature__ = Signature([Parameter(n, Parameter.KEYWORD_ONLY) for n in numbers])
        made.takes(inputs)


def _uniform(empty):
    """Return numbers in (0, 1), whose logarithms are finite."""
    y = empty().uniform_()
    return y.clamp_(torch.finfo(y.dtype).tiny, 1 - torch.finfo(y.dtype).eps / 2)


def _gamma(empty, shape, scale):
    y = empty()
    exact = y.dtype if y.dtype is torch.float64 else torch.float32
    alpha = torch.as_tensor(shape, dtype=exact, device=y.device).expand(y.shape)
    return (torch._standard_gamma(alpha.contiguous()) * scale).to(y.dtype)


def _from_zero(name, strictly=False):
    """Return the check that parameters are not below 0, or are above it."""

    def check(*parameters):
        for p in parameters:
            if isinstance(p, Tensor):
                if p.is_meta or not p.numel():
                    continue
                p = float(p.detach().min())
            if p < 0 or (strictly and not p):
                expected = "more than 0" if strictly else "at least 0"
                raise ArgumentError(f"random.{name}: a parameter is {p}\n  expected {expected}")

    return check


def _scale_from_zero(name):
    check = _from_zero(name)
    return lambda loc, scale: check(scale)


distribution(
    "uniform",
    lambda empty, low, high: empty().uniform_() * (high - low) + low,
    "uniform on [low, high)",
    *("low", "high"),
    typed=True,
    n_form=True,
)
distribution(
    "normal",
    lambda empty, loc, scale: empty().normal_() * scale + loc,
    "from the normal distribution with mean loc and deviation scale",
    *("loc", "scale"),
    typed=True,
    n_form=True,
    check=_scale_from_zero("normal"),
)
distribution(
    "gumbel",
    lambda empty, loc, scale: loc - scale * torch.log(-torch.log(_uniform(empty))),
    "from the Gumbel distribution with mode loc",
    *("loc", "scale"),
    check=_scale_from_zero("gumbel"),
)
distribution(
    "logistic",
    lambda empty, loc, scale: loc + scale * torch.logit(_uniform(empty)),
    "from the logistic distribution with mean loc",
    *("loc", "scale"),
    check=_scale_from_zero("logistic"),
)
distribution(
    "gamma",
    _gamma,
    "of a shape and a scale, mean shape scale",
    *("shape", "scale"),
    typed=True,
    check=_from_zero("gamma", strictly=True),
)
distribution(
    "exponential",
    lambda empty, scale: empty().exponential_() * scale,
    "from the exponential distribution with mean scale",
    "scale",
    defaults={"scale": 1.0},
    check=_from_zero("exponential"),
)
distribution(
    "rayleigh",
    lambda empty, scale: torch.sqrt(2 * empty().exponential_()) * scale,
    "from the Rayleigh distribution with mode scale",
    "scale",
    defaults={"scale": 1.0},
    check=_from_zero("rayleigh"),
)
distribution(
    "weibull",
    lambda empty, a: torch.pow(empty().exponential_(), 1 / a),
    "from the Weibull distribution of shape a",
    "a",
    check=_from_zero("weibull", strictly=True),
)
distribution(
    "pareto",
    lambda empty, a: torch.expm1(empty().exponential_() / a),
    "from the Pareto II distribution of shape a",
    "a",
    check=_from_zero("pareto", strictly=True),
)
distribution(
    "powerd",
    lambda empty, a: torch.pow(_uniform(empty), 1 / a),
    "in [0, 1) with density a yᵃ⁻¹",
    "a",
    check=_from_zero("power", strictly=True),
)


@op(draws=True)
def _npi_bernoulli(
    input1: Tensor | None = None,
    prob: float | None = None,
    logit: float | None = None,
    size: Shape | None = None,
    ctx: str = "cpu",
    dtype: DType = torch.float32,
    is_logit: bool = False,
    *,
    device,
) -> Tensor:
    """Draws 1 with a probability, or with that of a logit, else 0."""
    given = input1 if input1 is not None else torch.tensor(logit if is_logit else prob)
    if not is_logit and given.numel() and not given.is_meta:
        least, most = map(float, given.detach().aminmax())
        if not 0 <= least <= most <= 1:
            raise ArgumentError(
                f"random.bernoulli: prob is from {least} to {most}\n  expected from 0 to 1"
            )
    p = torch.sigmoid(given) if is_logit else given
    sizes = p.shape if size is None else size
    return (torch.rand(sizes, device=p.device) < p).to(dtype)


@_npi_bernoulli.takes
def _(prob, logit):
    return ["input1"] if prob is None and logit is None else []


@op(draws=True)
def _npi_multinomial(
    a: Tensor | None = None,
    n: int = REQUIRED,
    pvals: tuple[float, ...] | None = None,
    size: Shape | None = None,
    *,
    device,
) -> Tensor:
    """How often each outcome comes in n draws with the probabilities pvals: (size, outcomes)."""
    p = torch.tensor(pvals, device=device) if a is None else a
    shape = (*(size or ()), p.numel())
    count = torch.Size(size or ()).numel()
    if not p.numel() or not count:
        return torch.zeros(shape, dtype=torch.int64, device=p.device)
    if float(p.sum()) > 1 + 1e-5:
        raise ArgumentError(
            f"random.multinomial: the sum of pvals is {float(p.sum())}\n  expected 1"
        )
    drawn = torch.multinomial(p.double().expand(count, -1), n, replacement=True) if n else None
    counts = torch.zeros(count, p.numel(), dtype=torch.int64, device=p.device)
    if drawn is not None:
        counts.scatter_add_(1, drawn, torch.ones_like(drawn))
    return counts.reshape(shape)


@_npi_multinomial.takes
def _(pvals):
    return ["a"] if pvals is None else []


_npi_multinomial.types(lambda: torch.int64)


@op(draws=True)
def _npi_multivariate_normal(mean: Tensor, cov: Tensor, size: Shape | None = None) -> Tensor:
    """Draws from normal distributions with a mean and a matrix of covariance."""
    batch = torch.broadcast_shapes(mean.shape[:-1], cov.shape[:-2])
    noise = mean.new_empty((*(size or ()), *batch, mean.shape[-1], 1)).normal_()
    exact = torch.promote_types(cov.dtype, torch.float32)  # there are no factors of float16
    return mean + (torch.linalg.cholesky(cov.to(exact)).to(cov.dtype) @ noise).squeeze(-1)


@op(draws=True)
def _npi_choice(
    input1: Tensor | None = None,
    input2: Tensor | None = None,
    a: int | None = None,
    size: Shape | None = None,
    ctx: str = "cpu",
    replace: bool = True,
    weighted: bool = False,
    *,
    device,
) -> Tensor:
    """Draws elements of an array, or integers below a, evenly or by weights."""
    arrays = iter([x for x in (input1, input2) if x is not None])
    source = None if a is not None else next(arrays)
    weights = next(arrays) if weighted else None
    count, sizes = a if source is None else len(source), size or ()
    number = torch.Size(sizes).numel()
    if not replace and number > count:
        raise ArgumentError(
            f"random.choice: {number} of {count}\n  expected as many, or replace=True"
        )
    if weights is not None:
        drawn = torch.multinomial(weights.double(), number, replacement=replace)
    elif replace:
        drawn = torch.randint(count, (number,), device=device)
    else:
        drawn = torch.randperm(count, device=device)[:number]
    drawn = drawn.reshape(sizes)
    return drawn if source is None else source[drawn]


@_npi_choice.takes
def _(a, weighted):
    return ["input1", "input2"][: (a is None) + weighted]
