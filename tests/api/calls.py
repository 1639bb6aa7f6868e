"""Calls of MXNet's public functions outside of the operators, whose arguments may have any type.

`CALLS` has by name a function, and arguments that it takes by keyword; `variants` gives other forms
of a value that programs give for it.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import numpy as np

from layers.engine import gluon, mx, nd

sym, nn, rnn = mx.sym, gluon.nn, gluon.rnn


def variants(value: Any) -> Iterator[tuple[str, Any]]:
    """Yield names and values that stand for this one in programs."""
    yield "None", None
    if isinstance(value, bool):
        yield from {"int": int(value), "bool_": np.bool_(value), "int32": np.int32(value)}.items()
    elif isinstance(value, int):
        yield from {"int32": np.int32(value), "int64": np.int64(value), "text": str(value)}.items()
        yield from {"float": float(value), "tuple": (value,), "list": [value]}.items()
    elif isinstance(value, float):
        yield from {"float32": np.float32(value), "float64": np.float64(value)}.items()
        yield "text", str(value)
        if value == int(value):
            yield from {"int": int(value), "int64": np.int64(value)}.items()
    elif isinstance(value, (tuple, list)):
        yield ("list", [*value]) if isinstance(value, tuple) else ("tuple", tuple(value))
        if value and all(isinstance(part, int) for part in value):
            yield "int64s", type(value)(np.int64(part) for part in value)
            yield "array", np.array(value)
        if len(value) == 1:
            yield "alone", value[0]
    elif value in ("float32", "float64", "int32", "int64", "float16", "uint8", "int8"):
        yield from {"type": np.dtype(value).type, "dtype": np.dtype(value)}.items()


def found() -> dict[str, dict[str, str]]:
    """By call and argument, by form: what is returned, or that the form is refused."""
    told: dict[str, dict[str, str]] = {}
    for name, (function, given) in CALLS.items():
        for argument, value in given.items():
            forms = {"as it is": value, **dict(variants(value))}
            told[f"{name} {argument}"] = {
                form: _outcome(function, given | {argument: other}) for form, other in forms.items()
            }
    return told


def _outcome(function: Any, given: dict[str, Any]) -> str:
    try:
        return json.dumps(_summary(function(**given)))
    except Exception:  # of any kind: the form is refused
        return "refused"


def _summary(found: Any) -> Any:
    """Dtypes and shapes, which do not depend on what is drawn."""
    if isinstance(found, (list, tuple)):
        return [*map(_summary, found)]
    if hasattr(found, "asnumpy"):
        return [str(np.dtype(found.dtype)), [*found.shape]]
    if isinstance(found, np.ndarray):
        return [str(found.dtype), [*found.shape]]
    return str(found) if isinstance(found, (int, float, str, type(None))) else type(found).__name__


def run_layer(L, shape, **k):
    l = L(**k)
    l.initialize(mx.init.One())
    y = l(nd.ones(shape))
    l.hybridize()
    z = l(nd.ones(shape))
    return [y, z]


def x34():
    return nd.array(np.arange(12).reshape(3, 4))


def sm(**k):
    return mx.mod.Module(
        sym.SoftmaxOutput(
            sym.FullyConnected(sym.var("data"), num_hidden=2, name="f"), name="softmax"
        ),
        **k,
    )


def module(
    data_names=("data",),
    label_names=("softmax_label",),
    for_training=True,
    inputs_need_grad=False,
    force_rebind=False,
    grad_req="write",
    allow_missing=False,
    force_init=False,
    learning_rate=0.1,
    shape=(2, 3),
    label=(2,),
):
    m = sm(data_names=data_names, label_names=label_names)
    m.bind(
        [("data", shape)],
        [("softmax_label", label)],
        for_training=for_training,
        inputs_need_grad=inputs_need_grad,
        force_rebind=force_rebind,
        grad_req=grad_req,
    )
    m.init_params(mx.init.One(), allow_missing=allow_missing, force_init=force_init)
    if for_training:
        m.init_optimizer(optimizer_params={"learning_rate": learning_rate})
        m.forward_backward(mx.io.DataBatch([nd.ones((2, 3))], [nd.zeros((2,))]))
        m.update()
    else:
        m.forward(mx.io.DataBatch([nd.ones((2, 3))]))
    return m.get_outputs()


def fit(num_epoch=2, begin_epoch=0, batch_size=2, shuffle=False):
    m = sm()
    m.fit(
        mx.io.NDArrayIter(np.ones((4, 3)), np.zeros(4), batch_size, shuffle),
        num_epoch=num_epoch,
        begin_epoch=begin_epoch,
        initializer=mx.init.One(),
    )
    return m.get_params()[0]["f_weight"]


def opt(name, **k):
    o = mx.optimizer.create(name, **k)
    w = nd.ones((2,))
    u = mx.optimizer.get_updater(o)
    u(0, nd.ones((2,)), w)
    return w


def sched(C, n=5, **k):
    s = C(**k)
    return [str(round(float(s(i)), 6)) for i in range(1, n)]


def metric(name, **k):
    m = mx.metric.create(name, **k)
    m.update([nd.array([0, 1, 1])], [nd.array([[0.9, 0.1], [0.2, 0.8], [0.6, 0.4]])])
    return str(m.get()[0])


def init(C, **k):
    w = nd.zeros((4, 4))
    C(**k)(mx.init.InitDesc("w_weight"), w)
    return w


def loader(
    batch_size=2,
    shuffle=False,
    num_workers=0,
    last_batch="keep",
    pin_memory=False,
    prefetch=None,
):
    d = gluon.data.DataLoader(
        gluon.data.ArrayDataset(x34(), np.arange(3)),
        batch_size=batch_size,
        shuffle=shuffle,
        num_workers=num_workers,
        last_batch=last_batch,
        pin_memory=pin_memory,
        prefetch=prefetch,
    )
    return list(d)


def cell(C, **k):
    c = C(**k)
    c.initialize()
    return c.unroll(2, nd.ones((1, 2, 3)), merge_outputs=True)[0]


def param(**k):
    p = gluon.Parameter("w", **k)
    p.initialize()
    return p.data()


def grads(retain_graph=False, train_mode=True):
    x = nd.ones((2,))
    x.attach_grad()
    with mx.autograd.record():
        y = x * 2
    y.backward(retain_graph=retain_graph, train_mode=train_mode)
    return x.grad


def trainer(step=1, ignore_stale_grad=False, learning_rate=0.1):
    n = nn.Dense(2, in_units=2)
    n.initialize(mx.init.One())
    t = gluon.Trainer(n.collect_params(), "sgd", {"learning_rate": learning_rate})
    with mx.autograd.record():
        y = n(nd.ones((1, 2)))
    y.backward()
    t.step(step, ignore_stale_grad=ignore_stale_grad)
    t.set_learning_rate(learning_rate)
    return [n.weight.data(), str(t.learning_rate)]


# By name, a function and its arguments.
CALLS: dict[str, tuple] = {
    "nd.zeros": (nd.zeros, {"shape": (2, 3), "dtype": "float32"}),
    "nd.ones": (nd.ones, {"shape": (2,), "dtype": "int32"}),
    "nd.full": (nd.full, {"shape": (2,), "val": 1.5, "dtype": "float32"}),
    "nd.empty": (nd.empty, {"shape": (2, 3), "dtype": "float32"}),
    "nd.arange": (
        nd.arange,
        {"start": 0, "stop": 4, "step": 1.0, "repeat": 1, "dtype": "float32"},
    ),
    "nd.linspace": (
        nd.linspace,
        {"start": 0, "stop": 4, "num": 3, "endpoint": True, "dtype": "float32"},
    ),
    "nd.eye": (nd.eye, {"N": 3, "M": 2, "k": 0, "dtype": "float32"}),
    "nd.array": (lambda **k: nd.array([[1, 2], [3, 4]], **k), {"dtype": "float32"}),
    "uniform": (nd.random.uniform, {"low": 0, "high": 1, "shape": (2, 3), "dtype": "float32"}),
    "normal": (nd.random.normal, {"loc": 0.0, "scale": 1.0, "shape": (2,), "dtype": "float32"}),
    "randint": (nd.random.randint, {"low": 0, "high": 5, "shape": (2,), "dtype": "int32"}),
    "poisson": (nd.random.poisson, {"lam": 1.0, "shape": (2,), "dtype": "float32"}),
    "exponential": (nd.random.exponential, {"scale": 1.0, "shape": (2,), "dtype": "float32"}),
    "gamma": (nd.random.gamma, {"alpha": 1.0, "beta": 1.0, "shape": (2,), "dtype": "float32"}),
    "multinomial": (
        lambda **k: nd.random.multinomial(nd.array([0.5, 0.5]), **k),
        {"shape": (3,), "get_prob": False, "dtype": "int32"},
    ),
    "seed": (mx.random.seed, {"seed_state": 3}),
    "randn": (
        lambda **k: nd.random.randn(2, 3, **k),
        {"loc": 0.0, "scale": 1.0, "dtype": "float32"},
    ),
    "reshape": (
        lambda shape, reverse: x34().reshape(shape=shape, reverse=reverse),
        {"shape": (4, 3), "reverse": False},
    ),
    "reshape*": (lambda a, b: x34().reshape(a, b), {"a": 4, "b": 3}),
    "transpose": (lambda axes: x34().transpose(axes), {"axes": (1, 0)}),
    "astype": (
        lambda dtype, copy: x34().astype(dtype, copy=copy),
        {"dtype": "int32", "copy": True},
    ),
    "sum": (
        lambda axis, keepdims: x34().sum(axis=axis, keepdims=keepdims),
        {"axis": 1, "keepdims": True},
    ),
    "mean2": (
        lambda axis, exclude: x34().mean(axis=axis, exclude=exclude),
        {"axis": (0,), "exclude": False},
    ),
    "topk": (
        lambda k, axis, is_ascend, dtype: x34().topk(
            k=k, axis=axis, is_ascend=is_ascend, dtype=dtype
        ),
        {"k": 2, "axis": 1, "is_ascend": False, "dtype": "float32"},
    ),
    "split": (
        lambda num_outputs, axis, squeeze_axis: x34().split(
            num_outputs=num_outputs, axis=axis, squeeze_axis=squeeze_axis
        ),
        {"num_outputs": 2, "axis": 1, "squeeze_axis": False},
    ),
    "split_v2": (
        lambda indices_or_sections, axis, squeeze_axis: nd.split_v2(
            x34(), indices_or_sections, axis=axis, squeeze_axis=squeeze_axis
        ),
        {"indices_or_sections": 2, "axis": 1, "squeeze_axis": False},
    ),
    "split_v2l": (
        lambda indices_or_sections: nd.split_v2(x34(), indices_or_sections, axis=1),
        {"indices_or_sections": (1, 3)},
    ),
    "expand_dims": (lambda axis: x34().expand_dims(axis=axis), {"axis": 1}),
    "tile": (lambda reps: x34().tile(reps=reps), {"reps": (2, 2)}),
    "repeat": (
        lambda repeats, axis: x34().repeat(repeats=repeats, axis=axis),
        {"repeats": 2, "axis": 1},
    ),
    "slice_axis": (
        lambda axis, begin, end: x34().slice_axis(axis=axis, begin=begin, end=end),
        {"axis": 1, "begin": 1, "end": 3},
    ),
    "getitem": (lambda i: x34()[i], {"i": 1}),
    "getitem2": (lambda i, j: x34()[i, j], {"i": 1, "j": 2}),
    "getslice": (lambda a, b: x34()[a:b], {"a": 0, "b": 2}),
    "take": (
        lambda axis, mode: x34().take(nd.array([0, 1]), axis=axis, mode=mode),
        {"axis": 1, "mode": "clip"},
    ),
    "pick": (
        lambda axis, keepdims: x34().pick(nd.array([0, 1, 2]), axis=axis, keepdims=keepdims),
        {"axis": 1, "keepdims": False},
    ),
    "one_hot": (
        lambda depth, on_value, dtype: nd.array([0, 1]).one_hot(
            depth=depth, on_value=on_value, dtype=dtype
        ),
        {"depth": 3, "on_value": 1.0, "dtype": "float32"},
    ),
    "clip": (lambda a_min, a_max: x34().clip(a_min, a_max), {"a_min": 1.0, "a_max": 5.0}),
    "attach_grad": (lambda grad_req: x34().attach_grad(grad_req), {"grad_req": "write"}),
    "broadcast_to": (lambda shape: nd.ones((1, 4)).broadcast_to(shape), {"shape": (3, 4)}),
    "swapaxes": (lambda dim1, dim2: x34().swapaxes(dim1, dim2), {"dim1": 0, "dim2": 1}),
    "concat": (lambda dim: nd.concat(x34(), x34(), dim=dim), {"dim": 1}),
    "stack": (lambda axis: nd.stack(x34(), x34(), axis=axis), {"axis": 0}),
    "dot": (
        lambda transpose_a, transpose_b: nd.dot(
            x34(), x34(), transpose_a=transpose_a, transpose_b=transpose_b
        ),
        {"transpose_a": False, "transpose_b": True},
    ),
    "norm": (
        lambda ord, axis, keepdims: x34().norm(ord=ord, axis=axis, keepdims=keepdims),
        {"ord": 2, "axis": 1, "keepdims": False},
    ),
    "pow": (lambda p: x34() ** p, {"p": 2}),
    "add": (lambda p: x34() + p, {"p": 2.0}),
    "mod": (lambda p: x34() % p, {"p": 2}),
    "eq": (lambda p: x34() == p, {"p": 2}),
    "Dense": (
        lambda **k: run_layer(nn.Dense, (2, 3), **k),
        {
            "units": 4,
            "use_bias": True,
            "flatten": True,
            "in_units": 3,
            "activation": "relu",
            "dtype": "float32",
        },
    ),
    "Conv2D": (
        lambda **k: run_layer(nn.Conv2D, (1, 4, 5, 5), **k),
        {
            "channels": 4,
            "kernel_size": (3, 3),
            "strides": (1, 1),
            "padding": (1, 1),
            "dilation": (1, 1),
            "groups": 2,
            "use_bias": True,
            "in_channels": 4,
        },
    ),
    "Conv2Di": (
        lambda **k: run_layer(nn.Conv2D, (1, 3, 5, 5), **k),
        {"channels": 4, "kernel_size": 3, "strides": 1, "padding": 1, "dilation": 1},
    ),
    "Conv1D": (
        lambda **k: run_layer(nn.Conv1D, (1, 3, 5), **k),
        {"channels": 4, "kernel_size": 3, "strides": 1, "padding": 1, "dilation": 1},
    ),
    "Conv2DT": (
        lambda **k: run_layer(nn.Conv2DTranspose, (1, 3, 5, 5), **k),
        {"channels": 4, "kernel_size": 3, "strides": 2, "padding": 1, "output_padding": 1},
    ),
    "MaxPool2D": (
        lambda **k: run_layer(nn.MaxPool2D, (1, 3, 5, 5), **k),
        {"pool_size": (2, 2), "strides": (2, 2), "padding": 0, "ceil_mode": False},
    ),
    "AvgPool2D": (
        lambda **k: run_layer(nn.AvgPool2D, (1, 3, 5, 5), **k),
        {
            "pool_size": 2,
            "strides": 2,
            "padding": 1,
            "ceil_mode": False,
            "count_include_pad": True,
        },
    ),
    "MaxPool1D": (
        lambda **k: run_layer(nn.MaxPool1D, (1, 3, 5), **k),
        {"pool_size": 2, "strides": 2, "padding": 0},
    ),
    "BatchNorm": (
        lambda **k: run_layer(nn.BatchNorm, (2, 3, 4), **k),
        {
            "axis": 1,
            "momentum": 0.9,
            "epsilon": 1e-05,
            "center": True,
            "scale": True,
            "use_global_stats": False,
            "in_channels": 3,
        },
    ),
    "LayerNorm": (
        lambda **k: run_layer(nn.LayerNorm, (2, 3), **k),
        {"axis": -1, "epsilon": 1e-05, "center": True, "scale": True, "in_channels": 3},
    ),
    "GroupNorm": (
        lambda **k: run_layer(nn.GroupNorm, (2, 4, 3), **k),
        {"num_groups": 2, "epsilon": 1e-05, "center": True, "scale": True},
    ),
    "InstanceNorm": (
        lambda **k: run_layer(nn.InstanceNorm, (2, 4, 3), **k),
        {"axis": 1, "epsilon": 1e-05, "center": True, "scale": False, "in_channels": 4},
    ),
    "Dropout": (lambda **k: run_layer(nn.Dropout, (2, 3), **k), {"rate": 0.5, "axes": ()}),
    "Embedding": (
        lambda **k: run_layer(nn.Embedding, (2,), **k),
        {"input_dim": 3, "output_dim": 4, "dtype": "float32", "sparse_grad": False},
    ),
    "LeakyReLU": (lambda **k: run_layer(nn.LeakyReLU, (2, 3), **k), {"alpha": 0.1}),
    "PReLU": (lambda **k: run_layer(nn.PReLU, (2, 3), **k), {"in_channels": 1}),
    "Activation": (lambda **k: run_layer(nn.Activation, (2, 3), **k), {"activation": "relu"}),
    "ReflectionPad2D": (
        lambda **k: run_layer(nn.ReflectionPad2D, (1, 1, 4, 4), **k),
        {"padding": 1},
    ),
    "LSTM": (
        lambda **k: run_layer(rnn.LSTM, (4, 2, 3), **k),
        {
            "hidden_size": 5,
            "num_layers": 2,
            "layout": "TNC",
            "dropout": 0.0,
            "bidirectional": True,
            "input_size": 3,
        },
    ),
    "LSTMCell": (lambda **k: cell(rnn.LSTMCell, **k), {"hidden_size": 4, "input_size": 3}),
    "DropoutCell": (lambda **k: cell(rnn.DropoutCell, **k), {"rate": 0.5}),
    "Parameter": (
        param,
        {
            "shape": (2, 3),
            "dtype": "float32",
            "lr_mult": 1.0,
            "wd_mult": 1.0,
            "grad_req": "write",
            "allow_deferred_init": False,
            "differentiable": True,
        },
    ),
    "Parameteri": (param, {"shape": 3}),
    "hybridize": (
        lambda **k: nn.Dense(2, in_units=2).hybridize(**k),
        {"active": True, "static_alloc": False, "static_shape": False, "inline_limit": 2},
    ),
    "initialize": (
        lambda **k: nn.Dense(2, in_units=2).initialize(**k),
        {"verbose": False, "force_reinit": False},
    ),
    "setattr": (lambda v: nn.Dense(2).collect_params().setattr("grad_req", v), {"v": "null"}),
    "cast": (lambda dtype: nn.Dense(2, in_units=2).cast(dtype), {"dtype": "float16"}),
    "module": (
        module,
        {
            "data_names": ("data",),
            "label_names": ("softmax_label",),
            "for_training": True,
            "inputs_need_grad": False,
            "force_rebind": False,
            "grad_req": "write",
            "allow_missing": False,
            "force_init": False,
            "learning_rate": 0.1,
            "shape": (2, 3),
            "label": (2,),
        },
    ),
    "fit": (fit, {"num_epoch": 2, "begin_epoch": 0, "batch_size": 2, "shuffle": False}),
    "sgd": (
        lambda **k: opt("sgd", **k),
        {
            "learning_rate": 0.1,
            "momentum": 0.9,
            "wd": 0.1,
            "rescale_grad": 1.0,
            "clip_gradient": 1.0,
            "lazy_update": True,
            "multi_precision": False,
        },
    ),
    "adam": (
        lambda **k: opt("adam", **k),
        {
            "learning_rate": 0.1,
            "beta1": 0.9,
            "beta2": 0.99,
            "epsilon": 1e-08,
            "wd": 0.0,
            "lazy_update": False,
            "begin_num_update": 0,
        },
    ),
    "rmsprop": (
        lambda **k: opt("rmsprop", **k),
        {"learning_rate": 0.1, "gamma1": 0.9, "centered": False},
    ),
    "Factor": (
        lambda **k: sched(mx.lr_scheduler.FactorScheduler, **k),
        {
            "step": 2,
            "factor": 0.5,
            "stop_factor_lr": 1e-08,
            "base_lr": 0.1,
            "warmup_steps": 0,
            "warmup_begin_lr": 0.0,
        },
    ),
    "Multi": (
        lambda **k: sched(mx.lr_scheduler.MultiFactorScheduler, **k),
        {"step": [2, 4], "factor": 0.5, "base_lr": 0.1},
    ),
    "Poly": (
        lambda **k: sched(mx.lr_scheduler.PolyScheduler, **k),
        {"max_update": 4, "base_lr": 0.1, "pwr": 2, "final_lr": 0.0},
    ),
    "Cosine": (
        lambda **k: sched(mx.lr_scheduler.CosineScheduler, **k),
        {"max_update": 4, "base_lr": 0.1, "final_lr": 0.0},
    ),
    "acc": (lambda **k: metric("acc", **k), {"axis": 1}),
    "topk_acc": (lambda **k: metric("top_k_accuracy", **k), {"top_k": 2}),
    "f1": (lambda **k: metric("f1", **k), {"average": "macro"}),
    "ppl": (lambda **k: metric("perplexity", **k), {"ignore_label": 0, "axis": -1}),
    "Uniform": (lambda **k: init(mx.init.Uniform, **k), {"scale": 0.1}),
    "Normal": (lambda **k: init(mx.init.Normal, **k), {"sigma": 0.1}),
    "Xavier": (
        lambda **k: init(mx.init.Xavier, **k),
        {"rnd_type": "uniform", "factor_type": "avg", "magnitude": 3},
    ),
    "Constant": (lambda **k: init(mx.init.Constant, **k), {"value": 0.5}),
    "Orthogonal": (lambda **k: init(mx.init.Orthogonal, **k), {"scale": 1.0}),
    "loader": (
        loader,
        {
            "batch_size": 2,
            "shuffle": False,
            "num_workers": 0,
            "last_batch": "keep",
            "pin_memory": False,
        },
    ),
    "NDArrayIter": (
        lambda **k: [b.data[0] for b in mx.io.NDArrayIter(np.ones((4, 3)), np.ones(4), **k)],
        {"batch_size": 2, "shuffle": False, "last_batch_handle": "pad"},
    ),
    "BatchSampler": (
        lambda **k: list(gluon.data.BatchSampler(gluon.data.SequentialSampler(5), **k)),
        {"batch_size": 2, "last_batch": "keep"},
    ),
    "SequentialSampler": (lambda **k: list(gluon.data.SequentialSampler(**k)), {"length": 3}),
    "backward": (grads, {"retain_graph": False, "train_mode": True}),
    "trainer": (trainer, {"step": 1, "ignore_stale_grad": False, "learning_rate": 0.1}),
    "split_and_load": (
        lambda **k: gluon.utils.split_and_load(x34(), [mx.cpu()], **k),
        {"batch_axis": 0, "even_split": True},
    ),
    "split_data": (
        lambda **k: gluon.utils.split_data(x34(), **k),
        {"num_slice": 3, "batch_axis": 0, "even_split": True},
    ),
    "clip_global_norm": (
        lambda **k: gluon.utils.clip_global_norm([x34()], **k),
        {"max_norm": 1.0, "check_isfinite": True},
    ),
    "L2Loss": (
        lambda **k: gluon.loss.L2Loss(**k)(x34(), x34()),
        {"weight": 1.0, "batch_axis": 0},
    ),
    "SCE": (
        lambda **k: gluon.loss.SoftmaxCrossEntropyLoss(**k)(x34(), nd.array([0, 1, 2])),
        {
            "axis": -1,
            "sparse_label": True,
            "from_logits": False,
            "weight": 1.0,
            "batch_axis": 0,
        },
    ),
    "Huber": (lambda **k: gluon.loss.HuberLoss(**k)(x34(), x34()), {"rho": 1.0}),
    "cpu": (mx.cpu, {"device_id": 0}),
    "Context": (lambda **k: mx.Context("cpu", **k), {"device_id": 0}),
    "simple_bind": (
        lambda grad_req, x: (
            (sym.var("x") * 2).simple_bind(mx.cpu(), grad_req=grad_req, x=x).forward()
        ),
        {"grad_req": "write", "x": (2, 3)},
    ),
    "infer": (lambda x: (sym.var("x") * 2).infer_shape(x=x)[1], {"x": (2, 3)}),
    "var": (
        lambda **k: sym.var("x", **k).attr_dict() and "ok",
        {"shape": (2, 3), "dtype": "float32", "lr_mult": 1.0, "wd_mult": 1.0},
    ),
    "symzeros": (lambda **k: sym.zeros(**k).eval()[0], {"shape": (2, 3), "dtype": "float32"}),
    "symarange": (
        lambda **k: sym.arange(**k).eval()[0],
        {"start": 0, "stop": 4, "step": 1.0, "repeat": 1, "dtype": "float32"},
    ),
    "Prefix": (lambda prefix: mx.name.Prefix(prefix) and "ok", {"prefix": "a"}),
    "imresize": (
        lambda **k: mx.image.imresize(nd.zeros((8, 8, 3), dtype="uint8"), **k),
        {"w": 4, "h": 5, "interp": 1},
    ),
    "resize_short": (
        lambda **k: mx.image.resize_short(nd.zeros((8, 6, 3), dtype="uint8"), **k),
        {"size": 4, "interp": 2},
    ),
    "center_crop": (
        lambda **k: mx.image.center_crop(nd.zeros((8, 6, 3), dtype="uint8"), **k)[0],
        {"size": (4, 4), "interp": 2},
    ),
    "fixed_crop": (
        lambda **k: mx.image.fixed_crop(nd.zeros((8, 6, 3), dtype="uint8"), **k),
        {"x0": 1, "y0": 1, "w": 3, "h": 3},
    ),
    "CreateAugmenter": (
        lambda **k: len(mx.image.CreateAugmenter(**k)),
        {
            "data_shape": (3, 4, 4),
            "resize": 5,
            "rand_crop": False,
            "rand_mirror": True,
            "mean": True,
            "std": True,
            "brightness": 0.1,
        },
    ),
    "Resize": (
        lambda **k: gluon.data.vision.transforms.Resize(**k)(nd.zeros((8, 6, 3), dtype="uint8")),
        {"size": 4, "keep_ratio": False, "interpolation": 1},
    ),
    "CenterCrop": (
        lambda **k: gluon.data.vision.transforms.CenterCrop(**k)(
            nd.zeros((8, 6, 3), dtype="uint8")
        ),
        {"size": 4},
    ),
    "Normalize": (
        lambda **k: gluon.data.vision.transforms.Normalize(**k)(nd.zeros((3, 8, 6))),
        {"mean": (0.5, 0.5, 0.5), "std": (0.5, 0.5, 0.5)},
    ),
    "NormalizeF": (
        lambda **k: gluon.data.vision.transforms.Normalize(**k)(nd.zeros((3, 8, 6))),
        {"mean": 0.5, "std": 0.5},
    ),
    "Cast": (
        lambda **k: gluon.data.vision.transforms.Cast(**k)(nd.zeros((3, 8, 6))),
        {"dtype": "float16"},
    ),
    "Speedometer": (
        lambda **k: type(mx.callback.Speedometer(**k)).__name__,
        {"batch_size": 2, "frequent": 5, "auto_reset": True},
    ),
    "Monitor": (
        lambda **k: type(mx.mon.Monitor(**k)).__name__,
        {"interval": 1, "pattern": ".*", "sort": False},
    ),
    "kv": (lambda type: mx.kv.create(type).type, {"type": "local"}),
    "waitall": (lambda: nd.waitall(), {}),
    "bulk": (lambda size: mx.engine.set_bulk_size(size), {"size": 3}),
}
