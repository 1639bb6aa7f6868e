"""Emitters of this library's operators that PyTorch has too, gradients and all."""

from __future__ import annotations

from .names import literal
from .table import Expression, Layer, Used, emits

_UNARY = {
    "layers.relu": ("torch.relu({})", "nn.ReLU()"),
    "layers.sigmoid": ("torch.sigmoid({})", "nn.Sigmoid()"),
    "layers.softplus": ("F.softplus({})", "nn.Softplus()"),
    "layers.gelu_tanh": ('F.gelu({}, approximate="tanh")', 'nn.GELU(approximate="tanh")'),
    "layers.hard_swish": ("F.hardswish({})", "nn.Hardswish()"),
}


def _unary(form: str, module: str):
    return lambda of: Expression(form.format(of.inputs[0]), module)


for _name, (_form, _module) in _UNARY.items():
    emits(_name)(_unary(_form, _module))


@emits("layers.swish")
def _(of: Used, x, beta=1.0):
    if beta != 1:
        return f"{x} * torch.sigmoid({literal(beta)} * {x})"
    return Expression(f"F.silu({x})", "nn.SiLU()")


@emits("layers.dense")
def _(of: Used, x, w, b, bias):
    if bias:
        of.refuse("its bias is a number")
    has_bias = len(of.inputs) > 2
    if not of.owns:
        return f"F.linear({', '.join(of.inputs)})"
    units, size = of.shape("w")
    args = {"in_features": size, "out_features": units} | ({} if has_bias else {"bias": False})
    return Layer("nn.Linear", args, {"w": "weight", "b": "bias"}, 2, kind="linear")


@emits("layers.layer_norm")
def _(of: Used, x, gamma, beta, epsilon):
    (size,) = of.shape("gamma")
    if of.owns:
        args = {"normalized_shape": size} | ({} if epsilon == 1e-5 else {"eps": epsilon})
        return Layer("nn.LayerNorm", args, {"gamma": "weight", "beta": "bias"}, kind="norm")
    return f"F.layer_norm({x}, ({size},), {gamma}, {beta}, {literal(epsilon)})"


@emits("layers.rms_norm")
def _(of: Used, x, gamma, epsilon):
    (size,) = of.shape("gamma")
    if of.owns:
        args = {"normalized_shape": size, "eps": epsilon}
        return Layer("nn.RMSNorm", args, {"gamma": "weight"}, kind="norm")
    return f"F.rms_norm({x}, ({size},), {gamma}, {literal(epsilon)})"


@emits("layers.swiglu")
def _(gate, value):
    return f"F.silu({gate}) * {value}"


@emits("layers.geglu_tanh")
def _(gate, value):
    return f'F.gelu({gate}, approximate="tanh") * {value}'


@emits("layers.scaled_dot_product_attention")
def _(of: Used, q, k, v, causal, scale):
    if len(of.inputs) > 3:
        of.refuse("it has a mask")
    shapes = of.shapes
    if causal and (not shapes[0] or not shapes[1] or shapes[0][2] != shapes[1][2]):
        of.refuse("causal is True, and the numbers of queries and keys are not the same")
    rest = (", is_causal=True" if causal else "") + (
        "" if scale is None else f", scale={literal(scale)}"
    )
    return f"F.scaled_dot_product_attention({q}, {k}, {v}{rest})"
