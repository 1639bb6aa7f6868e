"""Emitters of the heads of MXNet's networks, which give predictions and have a loss's gradient.

Each is a `torch.autograd.Function` in the emitted file. Without a label the net predicts.
"""

from __future__ import annotations

from .names import literal
from .table import Expression, emits

SOFTMAX = '''
class SoftmaxOutput(torch.autograd.Function):
    """Softmax whose gradient is that of the cross entropy with the label."""

    @staticmethod
    def forward(ctx, x: Tensor, label: Tensor, dim: int, scale: float) -> Tensor:
        y = torch.softmax(x, dim)
        ctx.save_for_backward(y, label)
        ctx.dim, ctx.scale = dim, scale
        return y

    @staticmethod
    def backward(ctx, dy: Tensor):
        y, label = ctx.saved_tensors
        index = label.long().unsqueeze(ctx.dim)
        one = torch.ones((), dtype=y.dtype, device=y.device).expand(index.shape)
        return ctx.scale * y.scatter_add(ctx.dim, index, -one), None, None, None


def softmax_output(x: Tensor, label: Tensor | None, dim: int, scale: float) -> Tensor:
    """Return the softmax, with the gradient of a loss where there is a label."""
    if label is None:
        return torch.softmax(x, dim)
    return SoftmaxOutput.apply(x, label, dim, scale)
'''

REGRESSION = '''
class {name}(torch.autograd.Function):
    """{doc}"""

    @staticmethod
    def forward(ctx, x: Tensor, label: Tensor, scale: float) -> Tensor:
        y = {link}
        ctx.save_for_backward(y, label)
        ctx.scale = scale / max(y[0].numel(), 1)
        return y

    @staticmethod
    def backward(ctx, dy: Tensor):
        y, label = ctx.saved_tensors
        slope = {slope}
        return ctx.scale * slope, None, None


def {function}(x: Tensor, label: Tensor | None, scale: float) -> Tensor:
    """Return the prediction, with the gradient of a loss where there is a label."""
    if label is None:
        return {plain}
    return {name}.apply(x, label, scale)
'''

LOSS = '''
class MakeLoss(torch.autograd.Function):
    """The identity, with a gradient that is a number, whatever comes from above."""

    @staticmethod
    def forward(ctx, x: Tensor, scale: float) -> Tensor:
        ctx.scale = scale
        return x.clone()

    @staticmethod
    def backward(ctx, dy: Tensor):
        return torch.full_like(dy, ctx.scale), None
'''

SUPPORT = {
    "SoftmaxOutput": SOFTMAX,
    "MakeLoss": LOSS,
    "LinearRegressionOutput": REGRESSION.format(
        name="LinearRegressionOutput",
        function="linear_output",
        plain="x",
        doc="The identity, whose gradient is that of the squared error.",
        link="x.clone()",
        slope="y - label.reshape(y.shape)",
    ),
    "LogisticRegressionOutput": REGRESSION.format(
        name="LogisticRegressionOutput",
        function="logistic_output",
        plain="torch.sigmoid(x)",
        doc="The sigmoid, whose gradient is that of the cross entropy.",
        link="torch.sigmoid(x)",
        slope="y - label.reshape(y.shape)",
    ),
    "MAERegressionOutput": REGRESSION.format(
        name="MAERegressionOutput",
        function="mae_output",
        plain="x",
        doc="The identity, whose gradient is that of the absolute error.",
        link="x.clone()",
        slope="torch.where(y > label.reshape(y.shape), 1.0, -1.0)",
    ),
}
# The heads whose last input is a label, which may be left out.
WITH_LABEL = {*SUPPORT} - {"MakeLoss"}


@emits("SoftmaxOutput")
def _(
    of, data, label, grad_scale, multi_output, use_ignore, preserve_shape, normalization,
    out_grad, smooth_alpha,
):  # fmt: skip
    if use_ignore or out_grad or smooth_alpha or normalization != "null":
        of.refuse("use_ignore, out_grad, smooth_alpha or normalization is given")
    if multi_output or (of.rank not in (None, 2) and not preserve_shape):
        of.refuse("multi_output is True, or the data is no matrix")
    dim = -1 if preserve_shape else 1
    args = f"{data}, {label}, {dim}, {literal(grad_scale)}"
    return Expression(f"softmax_output({args})", support="SoftmaxOutput")


FUNCTIONS = {
    "LinearRegressionOutput": "linear_output",
    "LogisticRegressionOutput": "logistic_output",
    "MAERegressionOutput": "mae_output",
}


@emits(*FUNCTIONS)
def _(of, data, label, grad_scale):
    name = of.node.op.name
    args = f"{data}, {label}, {literal(grad_scale)}"
    return Expression(f"{FUNCTIONS[name]}({args})", support=name)


@emits("MakeLoss")
def _(of, data, grad_scale, normalization):
    if normalization != "null":
        of.refuse("normalization is not 'null'")
    return Expression(f"MakeLoss.apply({data}, {literal(grad_scale)})", support="MakeLoss")


@emits("make_loss")
def _(data):
    return Expression(f"MakeLoss.apply({data}, 1.0)", support="MakeLoss")
