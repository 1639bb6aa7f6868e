"""Emitters of operators that are functions of torch: families first, a row for each operator."""

from __future__ import annotations

from .names import literal
from .table import Expression, emits

ACTIVATIONS = {
    "relu": ("torch.relu", "nn.ReLU()"),
    "sigmoid": ("torch.sigmoid", "nn.Sigmoid()"),
    "softrelu": ("F.softplus", "nn.Softplus()"),
    "softsign": ("F.softsign", "nn.Softsign()"),
    "tanh": ("torch.tanh", "nn.Tanh()"),
}
UNARY = {
    "arccos": "torch.acos",
    "arccosh": "torch.acosh",
    "arcsin": "torch.asin",
    "arcsinh": "torch.asinh",
    "arctan": "torch.atan",
    "arctanh": "torch.atanh",
    "degrees": "torch.rad2deg",
    "fix": "torch.trunc",
    "gammaln": "torch.lgamma",
    "negative": "-",
    "radians": "torch.deg2rad",
    "softsign": "F.softsign",
}
SAME_NAME = """
abs ceil cos cosh erf erfinv exp expm1 floor log log10 log1p log2 ones_like reciprocal rsqrt sign
sin sinh sqrt square tan trunc zeros_like
"""
BINARY = {
    "add": "{} + {}",
    "sub": "{} - {}",
    "mul": "{} * {}",
    "div": "{} / {}",
    "mod": "torch.remainder({}, {})",
    "power": "{} ** {}",
    "hypot": "torch.hypot({}, {})",
}
SCALAR = {
    "_plus_scalar": "{x} + {n}",
    "_minus_scalar": "{x} - {n}",
    "_rminus_scalar": "{n} - {x}",
    "_mul_scalar": "{x} * {n}",
    "_div_scalar": "{x} / {n}",
    "_rdiv_scalar": "{n} / {x}",
    "_power_scalar": "{x} ** {n}",
    "_rpower_scalar": "{n} ** {x}",
    "_maximum_scalar": "torch.clamp({x}, min={n})",
    "_minimum_scalar": "torch.clamp({x}, max={n})",
}
COMPARISONS = {
    "equal": "==",
    "not_equal": "!=",
    "greater": ">",
    "greater_equal": ">=",
    "lesser": "<",
    "lesser_equal": "<=",
}
REDUCTIONS = {
    "sum": "sum",
    "mean": "mean",
    "max": "amax",
    "min": "amin",
    "nansum": "nansum",
}


def _unary(function: str, module: str | None = None):
    return lambda data: Expression(f"-{data}" if function == "-" else f"{function}({data})", module)


def _binary(form: str):
    return lambda lhs, rhs: form.format(lhs, rhs)


def _scalar(form: str):
    return lambda data, scalar: form.format(x=data, n=_signed(scalar))


def _signed(scalar: float) -> str:
    text = literal(scalar)
    return f"({text})" if text.startswith("-") else text


def _comparison(sign: str):
    return lambda lhs, rhs: f"({lhs} {sign} {rhs}).to({lhs}.dtype)"


def _compared(sign: str):
    return lambda data, scalar: f"({data} {sign} {literal(scalar)}).to({data}.dtype)"


def _reduction(function: str):
    return lambda of, data, axis, keepdims, exclude: _reduced(
        of, f"{data}.{function}", axis, keepdims, exclude
    )


for _name in SAME_NAME.split():
    emits(_name)(_unary(f"torch.{_name}"))
for _name, _function in UNARY.items():
    emits(_name)(_unary(_function))
for _name in "relu", "sigmoid", "tanh":
    emits(_name)(_unary(*ACTIVATIONS[_name]))
for _name, _form in BINARY.items():
    _names = [f"broadcast_{_name}"]
    _names += [f"elemwise_{_name}"] if _name in ("add", "sub", "mul", "div") else [f"_{_name}"]
    emits(*_names)(_binary(_form))
emits("_grad_add")(_binary("{} + {}"))
for _name, _form in SCALAR.items():
    emits(_name)(_scalar(_form))
for _name, _sign in COMPARISONS.items():
    emits(f"broadcast_{_name}", f"_{_name}")(_comparison(_sign))
    emits(f"_{_name}_scalar")(_compared(_sign))
for _name, _function in REDUCTIONS.items():
    emits(_name)(_reduction(_function))


def _reduced(of, call: str, axis, keepdims: bool, exclude: bool = False) -> str:
    """The call of a reduction; what is one number has the shape (1,)."""
    rank = of.rank
    if exclude or not axis:
        if rank is None and (exclude or keepdims):
            of.refuse("the number of axes is not known")
        given = {a % rank for a in axis or ()} if rank else set()
        axis = tuple(a for a in range(rank or 0) if a not in given) if exclude else ()
        axis = tuple(range(rank)) if not axis and keepdims and rank else axis
    inside = ([literal(axis[0] if len(axis) == 1 else axis)] if axis else []) + (
        ["keepdim=True"] if keepdims else []
    )
    y = f"{call}({', '.join(inside)})"
    every = not keepdims and (not axis or (rank is not None and len(axis) == rank))
    return f"{y}.reshape(1)" if every else y


@emits("norm")
def _(of, data, ord, axis, keepdims):
    rank = of.rank
    rest = (
        f", {ord}" + (f", {literal(axis)}" if axis else "") + (", keepdim=True" if keepdims else "")
    )
    y = f"torch.linalg.vector_norm({data}{rest})"
    every = not keepdims and (not axis or (rank is not None and len(axis) == rank))
    return f"{y}.reshape(1)" if every else y


# Element by element


@emits("Activation")
def _(data, act_type):
    function, module = ACTIVATIONS[act_type]
    return Expression(f"{function}({data})", module)


@emits("clip")
def _(data, a_min, a_max):
    return f"torch.clamp({data}, {literal(a_min)}, {literal(a_max)})"


@emits("hard_sigmoid")
def _(data, alpha, beta):
    return f"torch.clamp({literal(alpha)} * {data} + {literal(beta)}, 0, 1)"


@emits("_copy", "identity", "_identity_with_attr_like_rhs")
def _(of):
    return of.inputs[0]


@emits("BlockGrad")
def _(data):
    return f"{data}.detach()"


@emits("Cast", "amp_cast")
def _(data, dtype):
    return f"{data}.to({literal(dtype)})"


@emits("where")
def _(of, condition, x, y):
    shapes = of.shapes
    if shapes[0] and shapes[1] and len(shapes[0]) < len(shapes[1]):
        of.refuse("the condition has fewer axes")
    return f"torch.where({condition} != 0, {x}, {y})"


@emits("broadcast_maximum", "_maximum")
def _(lhs, rhs):
    return f"torch.where({lhs} >= {rhs}, {lhs}, {rhs})"


@emits("broadcast_minimum", "_minimum")
def _(lhs, rhs):
    return f"torch.where({lhs} <= {rhs}, {lhs}, {rhs})"


@emits("add_n")
def _(of):
    return " + ".join(of.inputs)


@emits("smooth_l1")
def _(data, scalar):
    beta = literal(1 / scalar**2) if scalar else "torch.inf"
    zero = f"torch.zeros_like({data})"
    return f'F.smooth_l1_loss({data}, {zero}, reduction="none", beta={beta})'


@emits("_contrib_div_sqrt_dim")
def _(data):
    return f"{data} / {data}.shape[-1] ** 0.5"


# Along an axis


def _by_axis(function: str):
    def emitter(of, data, axis, temperature, dtype, use_length=False):
        if use_length or dtype is not None:
            of.refuse("use_length or dtype is given")
        x = data if temperature in (None, 1) else f"{data} / {literal(temperature)}"
        return f"torch.{function}({x}, dim={axis})"

    return emitter


emits("softmax")(_by_axis("softmax"))
emits("log_softmax")(_by_axis("log_softmax"))


@emits("SoftmaxActivation")
def _(data, mode):
    return f"torch.softmax({data}, dim={1 if mode == 'channel' else -1})"


@emits("L2Normalization")
def _(of, data, eps, mode):
    if of.rank is None:
        of.refuse("the number of axes is not known")
    over = {"instance": range(1, of.rank), "channel": (1,), "spatial": range(2, of.rank)}
    axes = literal(tuple(over[mode]))
    return f"{data} * torch.rsqrt({data}.square().sum({axes}, keepdim=True) + {literal(eps)})"


@emits("LRN")
def _(of, data, alpha, beta, knorm, nsize):
    if nsize % 2 == 0:
        of.refuse("nsize is even")
    rest = ", ".join(literal(v) for v in (alpha, beta, knorm))
    return f"F.local_response_norm({data}, {nsize}, {rest})"


@emits("argmax", "argmin")
def _(of, data, axis, keepdims):
    if axis is None:
        of.refuse("axis is None")
    keep = ", keepdim=True" if keepdims else ""
    name = "argmax" if of.node.op.name == "argmax" else "argmin"
    return f"{data}.{name}({axis}{keep}).to({data}.dtype)"
