"""Emitters of operators that are modules of torch.nn."""

from __future__ import annotations

from .names import literal
from .table import Expression, Layer, emits, listed, short


@emits("FullyConnected")
def _(of, data, weight, bias, num_hidden, no_bias, flatten):
    x = f"torch.flatten({data}, 1)" if flatten and of.rank != 2 else data
    if not of.owns:
        return f"F.linear({x}, {weight}" + ("" if no_bias else f", {bias}") + ")"
    args = {"in_features": of.shape("weight")[1], "out_features": num_hidden}
    args |= {"bias": False} if no_bias else {}
    call = "{}({x})" if x == data else "{}(torch.flatten({x}, 1))"
    return Layer("nn.Linear", args, _same(no_bias), 2, call, kind="linear")


def _same(no_bias: bool) -> dict[str, str]:
    return {"weight": "weight"} if no_bias else {"weight": "weight", "bias": "bias"}


def _spatial(kernel, stride, dilate, pad) -> dict:
    """The arguments of a convolution that are not PyTorch's defaults."""
    n = len(kernel)
    given = {"stride": (stride, 1), "padding": (pad, 0), "dilation": (dilate, 1)}
    values = {name: listed(n, v, default) for name, (v, default) in given.items()}
    return {name: short(v) for name, v in values.items() if v != (given[name][1],) * n}


def _keywords(args: dict) -> str:
    return "".join(f", {name}={literal(value)}" for name, value in args.items())


def _channels_last(layout) -> bool:
    return layout is not None and layout.endswith("C")


@emits("Convolution", "Convolution_v1")
def _(
    of, data, weight, bias, kernel, stride, dilate, pad, num_filter, num_group, no_bias, layout
):  # fmt: skip
    args = _spatial(kernel, stride, dilate, pad)
    args |= {"groups": num_group} if num_group > 1 else {}
    n = len(kernel)
    if of.owns and not _channels_last(layout):
        sizes = {"in_channels": of.shape("weight")[1] * num_group, "out_channels": num_filter}
        sizes |= {"kernel_size": short(kernel)} | args | ({"bias": False} if no_bias else {})
        return Layer(f"nn.Conv{n}d", sizes, _same(no_bias), 2, kind="conv")
    b = "" if no_bias else f", {bias}"
    return _maybe_last(f"F.conv{n}d", data, weight, f"{b}{_keywords(args)}", layout)


def _maybe_last(function, data, weight, rest, layout):
    if not _channels_last(layout):
        return f"{function}({data}, {weight}{rest})"
    first = ".movedim(-1, 1)"
    return f"{function}({data}{first}, {weight}{first}{rest}).movedim(1, -1)"


@emits("Deconvolution")
def _(
    of, data, weight, bias, kernel, stride, dilate, pad, adj, target_shape, num_filter, num_group,
    no_bias, layout,
):  # fmt: skip
    if target_shape:
        of.refuse("target_shape is given")
    n = len(kernel)
    args = _spatial(kernel, stride, dilate, pad)
    args |= {"output_padding": short(adj)} if any(adj) else {}
    args |= {"groups": num_group} if num_group > 1 else {}
    if of.owns and not _channels_last(layout):
        sizes = {"in_channels": of.shape("weight")[0], "out_channels": num_filter}
        sizes |= {"kernel_size": short(kernel)} | args | ({"bias": False} if no_bias else {})
        return Layer(f"nn.ConvTranspose{n}d", sizes, _same(no_bias), 2, kind="deconv")
    b = "" if no_bias else f", {bias}"
    return _maybe_last(f"F.conv_transpose{n}d", data, weight, f"{b}{_keywords(args)}", layout)


NORMED = {
    "gamma": "weight",
    "beta": "bias",
    "moving_mean": "running_mean",
    "moving_var": "running_var",
}


@emits("BatchNorm", "BatchNorm_v1")
def _(
    of, data, gamma, beta, moving_mean, moving_var, eps, momentum, fix_gamma, use_global_stats,
    output_mean_var, axis,
):  # fmt: skip
    return _batch_norm(**locals())


@emits("_contrib_SyncBatchNorm")
def _(
    of, data, gamma, beta, moving_mean, moving_var, eps, momentum, fix_gamma, use_global_stats,
    output_mean_var,
):  # fmt: skip
    return _batch_norm(**locals(), axis=1)


def _batch_norm(
    of, data, gamma, beta, moving_mean, moving_var, eps, momentum, fix_gamma, use_global_stats,
    output_mean_var, axis,
):  # fmt: skip
    if output_mean_var:
        of.refuse("output_mean_var is True")
    rank = of.rank
    axis = axis + rank if axis < 0 and rank else axis
    if of.owns and axis == 1 and rank and 2 <= rank <= 5 and not use_global_stats:
        args = {"num_features": of.shape("gamma")[0]}
        args |= {} if eps == 1e-5 else {"eps": eps}
        args |= {} if abs(momentum - 0.9) < 1e-7 else {"momentum": 1 - float(f"{momentum:.7g}")}
        args = {n: float(f"{v:.7g}") if n == "momentum" else v for n, v in args.items()}
        frozen = ("weight",) if fix_gamma else ()
        head = f"nn.BatchNorm{max(rank - 2, 1)}d"
        return Layer(head, args, NORMED, 1, frozen=frozen, kind="norm", counts_batches=True)
    x = data if axis == 1 else f"{data}.movedim({axis}, 1)"
    training = "False" if use_global_stats else "self.training"
    scale = "None" if fix_gamma else gamma
    rest = [moving_mean, moving_var, scale, beta, training]
    rest += [literal(float(f"{1 - momentum:.7g}")), literal(eps)]
    y = f"F.batch_norm({x}, {', '.join(rest)})"
    return y if axis == 1 else f"{y}.movedim(1, {axis})"


@emits("LayerNorm")
def _(of, data, gamma, beta, axis, eps, output_mean_var):
    if output_mean_var:
        of.refuse("output_mean_var is True")
    rank = of.rank
    last = axis == -1 or (rank is not None and axis == rank - 1)
    (size,) = of.shape("gamma")
    if of.owns and last:
        args = {"normalized_shape": size} | ({} if eps == 1e-5 else {"eps": eps})
        return Layer("nn.LayerNorm", args, {"gamma": "weight", "beta": "bias"}, kind="norm")
    x = data if last else f"{data}.movedim({axis}, -1)"
    y = f"F.layer_norm({x}, ({size},), {gamma}, {beta}, {literal(eps)})"
    return y if last else f"{y}.movedim(-1, {axis})"


@emits("InstanceNorm")
def _(of, data, gamma, beta, eps):
    (size,) = of.shape("gamma")
    if of.owns:
        args = {"num_groups": size, "num_channels": size}
        args |= {} if eps == 1e-5 else {"eps": eps}
        weights = {"gamma": "weight", "beta": "bias"}
        return Layer("nn.GroupNorm", args, weights, 2, kind="norm")
    return f"F.group_norm({data}, {size}, {gamma}, {beta}, {literal(eps)})"


@emits("GroupNorm")
def _(of, data, gamma, beta, num_groups, eps, output_mean_var):
    """MXNet has a gamma and a beta for each group, and PyTorch for each channel."""
    if output_mean_var or not of.shapes[0] or not of.shapes[0][1]:
        of.refuse("output_mean_var is True, or the number of channels is not known")
    each = of.shapes[0][1] // num_groups
    scales = [f"{w}.repeat_interleave({each})" for w in (gamma, beta)]
    return f"F.group_norm({data}, {num_groups}, {', '.join(scales)}, {literal(eps)})"


@emits("Embedding", "_contrib_SparseEmbedding")
def _(of, data, weight, input_dim, output_dim):
    index = f"{data}.long().clamp(0, {input_dim - 1})"
    if of.owns:
        args = {"num_embeddings": input_dim, "embedding_dim": output_dim}
        call = "{}({x}.long().clamp(0, " + f"{input_dim - 1}))"
        return Layer("nn.Embedding", args, {"weight": "weight"}, 2, call, kind="embedding")
    return f"F.embedding({index}, {weight})"


@emits("Dropout")
def _(of, data, p, mode, axes):
    if axes:
        of.refuse("axes are given")
    if mode == "always":
        return f"F.dropout({data}, {literal(p)}, training=True)"
    return Layer("nn.Dropout", {"p": p}, kind="dropout")


# Pooling

_POOLS = {"max": ("nn.MaxPool", "F.max_pool"), "avg": ("nn.AvgPool", "F.avg_pool")}


@emits("Pooling", "Pooling_v1")
def _(
    of, data, kernel, pool_type, global_pool, pooling_convention, stride, pad, count_include_pad,
    layout,
):  # fmt: skip
    if _channels_last(layout) or pool_type not in _POOLS:
        of.refuse(f"pool_type is {pool_type!r}, layout {layout!r}")
    n = of.rank - 2 if of.rank else len(kernel)
    if global_pool:
        return _global_pool(of, data, pool_type, n)
    module, _ = _POOLS[pool_type]
    stride, pad = listed(n, stride, 1), listed(n, pad, 0)
    if pooling_convention == "same":
        of.refuse("pooling_convention is 'same'")
    if any(p > k // 2 for p, k in zip(pad, kernel)):
        of.refuse("pad is more than half of the kernel")
    full = pooling_convention == "full"
    if full and any(p + s > k for p, s, k in zip(pad, stride, kernel)):
        full = _needs_ceil(of, kernel, stride, pad)
    args = {"kernel_size": short(kernel)}
    if tuple(stride) != tuple(kernel):
        args["stride"] = short(stride)
    args |= {"padding": short(pad)} if any(pad) else {}
    args |= {"ceil_mode": True} if full else {}
    if pool_type == "avg" and any(pad) and count_include_pad is False:
        args["count_include_pad"] = False
    return Layer(f"{module}{n}d", args, kind="pool")


def _needs_ceil(of, kernel, stride, pad) -> bool:
    """PyTorch drops a window that begins behind the image; with known sizes it has none."""
    sizes = of.shapes[0]
    if not sizes or 0 in sizes[2:]:
        of.refuse("a window may begin in the padding, and the image's size is not known")
    rests = [(z + 2 * p - k) % s for z, k, s, p in zip(sizes[2:], kernel, stride, pad)]
    if any(rests):
        of.refuse("a window may begin in the padding")
    return False


def _global_pool(of, data, pool_type, n):
    if not n:
        of.refuse("the number of axes is not known")
    name = "Avg" if pool_type == "avg" else "Max"
    return Layer(f"nn.Adaptive{name}Pool{n}d", {"output_size": 1}, kind="pool")


@emits("_contrib_AdaptiveAvgPooling2D")
def _(data, output_size):
    return Layer("nn.AdaptiveAvgPool2d", {"output_size": short(output_size or (1,))}, kind="pool")


@emits("LeakyReLU")
def _(of, data, gamma, act_type, slope, lower_bound, upper_bound):
    if act_type == "prelu":
        if of.owns and len(of.shape("gamma")) == 1:
            args = {"num_parameters": of.shape("gamma")[0]}
            return Layer("nn.PReLU", args, {"gamma": "weight"}, kind="prelu")
        return f"F.prelu({data}, {gamma})"
    if act_type == "leaky":
        text = literal(slope)
        return Expression(f"F.leaky_relu({data}, {text})", f"nn.LeakyReLU({text})")
    if act_type == "elu":
        text = literal(slope)
        return Expression(f"F.elu({data}, {text})", f"nn.ELU({text})")
    if act_type == "rrelu":
        of.refuse("act_type is 'rrelu'")
    modules = {"gelu": "nn.GELU()", "selu": "nn.SELU()"}
    return Expression(f"F.{act_type}({data})", modules[act_type])
