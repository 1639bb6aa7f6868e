"""Random draws, from PyTorch's generator of the device.

`_random_x` takes numbers and gives an array of `shape`; `_sample_x` takes arrays and draws `shape`
for each of their elements; `_random_x_like` gives an array of the shape and dtype of `data`;
`_random_pdf_x` gives the densities of samples, (..., m) for parameters (...).
"""

from __future__ import annotations

import math
from inspect import Parameter, Signature

import torch

from .. import _np_shape
from ..base import ArgumentError, ShapeError
from .attributes import DType, Shape
from .registry import REQUIRED, Tensor, constant, family, op, zeros


def _sizes(name, shape):
    """The shape to draw; (1,) where none is given."""
    if shape is None:
        return (1,)
    if not shape or 0 in shape:
        _np_shape.require_size(f"random.{name}", shape)
    return shape


def distribution(name, draw, doc, arrays=None, aliases=(), positive=(), from_zero=(), **numbers):
    """Register the three forms of `draw(y, *parameters)`, which fills y and returns it.

    numbers : the parameters of `_random_x` and their defaults; arrays : their names in `_sample_x`.
    Of the numbers, those that are `positive` are above 0, and those `from_zero` not below it.
    """
    arrays = arrays or tuple(numbers)

    def checked(given):
        found = numbers | given
        for n, value in found.items():
            if n in positive and not value > 0:
                raise ArgumentError(f"random.{name}: {n} is {value}\n  expected more than 0")
            if n in from_zero and not value >= 0:
                raise ArgumentError(f"random.{name}: {n} is {value}\n  expected at least 0")
        return found.values()

    def random(draw):
        def row(*, shape=None, ctx="", dtype=None, device=None, **given):
            y = torch.empty(_sizes(name, shape), dtype=dtype or torch.float32, device=device)
            return draw(y, *checked(given))

        return _signed(row, [], numbers, shape=(Shape | None, None), ctx=(str, ""), dtype=_DTYPE)

    def like(draw):
        def row(data, **given):
            y = torch.empty_like(data, memory_format=torch.contiguous_format)
            return draw(y, *checked(given))

        return _signed(row, ["data"], numbers)

    def sample(draw):
        def row(*given, shape=(), dtype=None):
            size = given[0].shape + shape
            y = torch.empty(size, dtype=dtype or torch.float32, device=given[0].device)
            return draw(y, *[p.reshape(p.shape + (1,) * len(shape)) for p in given])

        return _signed(row, arrays, {}, shape=(Shape, ()), dtype=_DTYPE)

    text, names = f"Draws {doc}.", (f"random_{name}", *aliases)
    drawn = family(random, draw, f"_random_{name}", text, *names, draws=True)
    drawn.sized(_as_the_graph_tells(drawn))
    drawn.shaped(lambda shape: _sizes(name, shape))
    text = f"Draws {doc}, in the shape of data."
    family(like, draw, f"_random_{name}_like", text, draws=True, same=True).grad(zeros)
    text = f"For each element of the parameters, `shape` draws {doc}."
    rules = {"draws": True, "names_input": True}
    row = family(sample, draw, f"_sample_{name}", text, f"sample_{name}", **rules)
    row.grad(zeros)
    row.types(lambda dtype: dtype or torch.float32)
    row.shaped(lambda shapes, shape: shapes[0] + shape if len({*shapes}) == 1 else None)


def _as_the_graph_tells(operator):
    """In a graph, a draw without a whole shape has that of what is around it, else (1,)."""

    def rule(shape):
        return None if _np_shape.is_known(shape) else operator.function

    return rule


_DTYPE = (DType | None, None)


def _signed(row, tensors, numbers, **attributes):
    """The row with the signature that these parameters make."""
    attributes = {n: (type(default), default) for n, default in numbers.items()} | attributes
    place = Parameter.POSITIONAL_OR_KEYWORD
    inputs = [Parameter(name, place, annotation="Tensor") for name in tensors]
    rest = [Parameter(n, place, annotation=a, default=d) for n, (a, d) in attributes.items()]
    supplied = [] if tensors else [Parameter("device", Parameter.KEYWORD_ONLY)]
    row.__signature__ = Signature([*inputs, *rest, *supplied])
    row.__annotations__ = {n: a for n, (a, _) in attributes.items()}
    return row


def _uniform(y, low, high):
    if isinstance(low, Tensor):
        return y.uniform_().mul_(high - low).add_(low)
    if low > high:
        raise ArgumentError(f"random.uniform: low is {low}, high is {high}\n  expected low <= high")
    return y.uniform_(low, high)


def _normal(y, loc, scale):
    if isinstance(loc, Tensor):
        return y.normal_().mul_(scale).add_(loc)
    return y.normal_(loc, scale)


def _exponential(y, lam):
    return y.exponential_().div_(lam)


def _gamma(y, alpha, beta):
    return y.copy_(torch._standard_gamma(_spread(alpha, y))).mul_(beta)


def _poisson(y, lam):
    return y.copy_(torch.poisson(_spread(lam, y)))


def _negative_binomial(y, k, p):
    return _poisson(y, torch._standard_gamma(_spread(k, y)) * ((1 - p) / p))


def _generalized_negative_binomial(y, mu, alpha):
    mu, alpha = _spread(mu, y), _spread(alpha, y)
    is_poisson = alpha == 0  # the limit
    rate = torch._standard_gamma(1 / torch.where(is_poisson, 1.0, alpha)) * (mu * alpha)
    return _poisson(y, torch.where(is_poisson, mu, rate))


def _spread(parameter, y):
    """A parameter for each element of y, in a dtype that PyTorch draws in."""
    dtype = torch.float64 if y.dtype is torch.float64 else torch.float32
    return torch.as_tensor(parameter, dtype=dtype, device=y.device).expand(y.shape).contiguous()


distribution("uniform", _uniform, "uniform on [low, high)", aliases=("uniform",), low=0.0, high=1.0)
distribution(
    "normal",
    _normal,
    "from the normal distribution with mean loc (mu) and deviation scale (sigma)",
    ("mu", "sigma"),
    ("normal",),
    from_zero=("scale",),
    loc=0.0,
    scale=1.0,
)
distribution(
    "exponential",
    _exponential,
    "with density λ exp(-λy), mean 1 / λ",
    positive=("lam",),
    lam=1.0,
)
distribution(
    "gamma",
    _gamma,
    "of shape alpha and scale beta, mean αβ",
    positive=("alpha", "beta"),
    alpha=1.0,
    beta=1.0,
)
distribution("poisson", _poisson, "counts with mean λ", from_zero=("lam",), lam=1.0)
distribution(
    "negative_binomial",
    _negative_binomial,
    "the failures before the k-th success, each with probability p",
    from_zero=("k", "p"),
    k=1,
    p=1.0,
)
distribution(
    "generalized_negative_binomial",
    _generalized_negative_binomial,
    "counts with mean μ and variance μ + αμ²",
    from_zero=("mu", "alpha"),
    mu=1.0,
    alpha=1.0,
)


@op("random_randint", draws=True)
def _random_randint(
    low: int = REQUIRED,
    high: int = REQUIRED,
    shape: Shape | None = None,
    ctx: str = "",
    dtype: DType | None = None,
    *,
    device,
) -> Tensor:
    """Integers, each from low to high - 1 as likely; int32 where no dtype is given."""
    sizes = _sizes("randint", shape)
    if low >= high:
        raise ArgumentError(f"random.randint: low is {low}, high is {high}\n  expected low < high")
    return torch.randint(low, high, sizes, dtype=dtype or torch.int32, device=device)


_random_randint.sized(_as_the_graph_tells(_random_randint))


@_random_randint.shaped
def _(shape):
    return _sizes("randint", shape)


@_random_randint.types
def _(dtype):
    return dtype or torch.int32


@op("sample_multinomial", draws=True)
def _sample_multinomial(
    data: Tensor, shape: Shape = (), get_prob: bool = False, dtype: DType = torch.int32
) -> Tensor | tuple[Tensor, Tensor]:
    """Indices drawn with the probabilities in the last axis of data; `shape` of them for each row.

    With `get_prob` also the logarithms of their probabilities, whose gradient is that of data.
    """
    rows = data.reshape(-1, data.shape[-1])
    count = torch.Size(shape).numel()
    drawn = torch.multinomial(rows.detach(), count, replacement=True)
    size = data.shape[:-1] + shape or (1,)
    index = constant(drawn.to(dtype).reshape(size), data)
    return (index, torch.log(rows.gather(1, drawn)).reshape(size)) if get_prob else index


@_sample_multinomial.gives
def _(get_prob):
    return 2 if get_prob else 1


@_sample_multinomial.shaped
def _(data, shape, get_prob):
    size = data[:-1] + shape or (1,)
    return [size, size] if get_prob else size


@_sample_multinomial.types
def _(data, dtype, get_prob):
    return (dtype, data) if get_prob else dtype


@op(draws=True, traceable=False)
def _sample_unique_zipfian(
    range_max: int = REQUIRED, shape: Shape | None = None, *, device
) -> tuple[Tensor, Tensor]:
    """In each row different classes by Zipf's law, and how many draws it took to find them.

    P(c) = log((c + 2) / (c + 1)) / log(range_max + 1); int64, (n, m) and (n,)
    """
    if shape is None or len(shape) != 2 or not 0 < shape[1] <= range_max:
        raise ShapeError(
            f"_sample_unique_zipfian: shape is {shape}, range_max is {range_max}\n"
            "  expected (n, m), m at most range_max"
        )
    rows, tries = zip(*[_different(shape[1], range_max) for _ in range(shape[0])])
    return torch.tensor(rows, device=device), torch.tensor(tries, device=device)


def _different(count, range_max):
    """`count` different classes in the order in which they were drawn, and the number of draws."""
    found, tries = {}, 0
    while len(found) < count:
        drawn = torch.rand(count, dtype=torch.float64).mul_(math.log(range_max + 1)).exp_().long()
        for c in drawn.sub_(1).remainder_(range_max).tolist():
            tries += 1
            found.setdefault(c)
            if len(found) == count:
                break
    return list(found), tries


@_sample_unique_zipfian.gives
def _():
    return 2


@_sample_unique_zipfian.types
def _():
    return torch.int64


@_sample_unique_zipfian.shaped
def _(shape):
    return [shape, shape[:1]]


@op("shuffle", same=True, draws=True)
def _shuffle(data: Tensor) -> Tensor:
    """The same rows in random order."""
    return data[torch.randperm(data.shape[0], device=data.device)]


def density(name, logarithm, doc, *parameters, flat=False):
    """Register exp(logarithm(sample, *parameters)), the density of a distribution at samples.

    With `flat` the gradient by samples is 0: they are counts, or the density does not need them.
    """
    dirichlet = name == "dirichlet"

    def template(logarithm):
        def row(sample, *given, is_log=False):
            fits = sample.dim() > dirichlet and all(
                p.shape == sample.shape[: p.dim() - dirichlet] + sample.shape[-1:] * dirichlet
                for p in given
            )
            if not fits:
                shapes = ", ".join(f"{n} is {tuple(p.shape)}" for n, p in zip(parameters, given))
                raise ShapeError(
                    f"_random_pdf_{name}: sample is {tuple(sample.shape)}, {shapes}\n"
                    "  expected samples (..., m) for parameters (...)"
                    + " of k, which both have as the last axis"
                    * dirichlet
                )
            at = [p.reshape(p.shape + (1,) * (sample.dim() - p.dim())) for p in given]
            if dirichlet:
                ones = (1,) * (sample.dim() - given[0].dim())
                at = [p.reshape(p.shape[:-1] + ones + p.shape[-1:]) for p in given]
            y = logarithm(sample.detach() if flat else sample, *at)
            y = y if is_log else y.exp()
            if flat and torch.is_grad_enabled():
                return y + constant(torch.zeros_like(sample), sample)
            return y.expand_as(sample).contiguous() if flat else y

        return _signed(row, ["sample", *parameters], {}, is_log=(bool, False))

    text = f"The density {doc}; with `is_log` its logarithm."
    row = family(template, logarithm, f"_random_pdf_{name}", text, f"random_pdf_{name}")
    row.shaped(_dirichlet_shape if dirichlet else _samples_shape)


def _samples_shape(sample, shapes):
    return sample if all(p == sample[: len(p)] for p in shapes) else None


def _dirichlet_shape(sample, alpha):
    fits = len(sample) > 1 and alpha == sample[: len(alpha) - 1] + sample[-1:]
    return sample[:-1] if fits else None


def _log_negative_binomial(x, k, p):
    """The logarithm of Γ(x + k) / (Γ(x + 1) Γ(k)) pᵏ (1 - p)ˣ."""
    choices = torch.lgamma(x + k) - torch.lgamma(x + 1) - torch.lgamma(k)
    return choices + k * torch.log(p) + x * torch.log(1 - p)


density(
    "uniform",
    lambda x, low, high: -torch.log(high - low),
    "1 / (high - low), also where a sample lies outside",
    "low",
    "high",
    flat=True,
)
density(
    "normal",
    lambda x, mu, sigma: (
        -0.5 * ((x - mu) / sigma) ** 2 - torch.log(sigma) - 0.5 * math.log(2 * math.pi)
    ),
    "of the normal distribution with mean mu and deviation sigma",
    "mu",
    "sigma",
)
density(
    "gamma",
    lambda x, alpha, beta: (
        alpha * torch.log(beta) + (alpha - 1) * torch.log(x) - beta * x - torch.lgamma(alpha)
    ),
    "of the gamma distribution of shape alpha and rate beta, mean α / β",
    "alpha",
    "beta",
)
density("exponential", lambda x, lam: torch.log(lam) - lam * x, "λ exp(-λx)", "lam")
density(
    "poisson",
    lambda x, lam: x * torch.log(lam) - lam - torch.lgamma(x + 1),
    "λˣ exp(-λ) / x!",
    "lam",
    flat=True,
)
density(
    "negative_binomial",
    _log_negative_binomial,
    "of the failures before the k-th success, each with probability p",
    "k",
    "p",
    flat=True,
)
density(
    "generalized_negative_binomial",
    lambda x, mu, alpha: _log_negative_binomial(x, 1 / alpha, 1 / (1 + mu * alpha)),
    "of counts with mean μ and variance μ + αμ²",
    "mu",
    "alpha",
    flat=True,
)
density(
    "dirichlet",
    lambda x, alpha: (
        ((alpha - 1) * torch.log(x)).sum(-1)
        + torch.lgamma(alpha.sum(-1))
        - torch.lgamma(alpha).sum(-1)
    ),
    "of the Dirichlet distribution: samples (..., m, k) for alpha (..., k)",
    "alpha",
)
