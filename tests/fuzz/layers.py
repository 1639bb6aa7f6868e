"""Layers, recurrent layers and cells, and losses."""

from __future__ import annotations

from hypothesis import strategies as st

from .program import Expression, Program, array, call, literal, path
from .recording import program
from .values import Draw, Shape, one, rarely, shape, values

ACTIVATIONS = ("relu", "sigmoid", "tanh", "softrelu", "softsign")
SMOOTH = ACTIVATIONS[1:]  # behind a sum, rounding may fall on either side of relu's corner
HYBRIDIZED = ({}, {}, {"static_alloc": True, "static_shape": True})


def _conv(axes: int, transposed: bool = False):
    def draw(d: Draw) -> tuple[dict, Shape]:
        channels, groups = one(d, 2, 4, 1), one(d, 1, 1, 2)
        given = {"channels": channels * groups, "kernel_size": _sizes(d, axes, 1, 2, 3)}
        options = {
            "strides": _sizes(d, axes, 1, 2),
            "padding": _sizes(d, axes, 0, 1),
            "dilation": _sizes(d, axes, 1, 1, 2),
            "groups": groups,
            "use_bias": one(d, True, False),
            "activation": one(d, None, *SMOOTH),
        }
        if transposed:
            options["output_padding"] = _sizes(d, axes, 0, 0, 1)
        inputs = (one(d, 2, 1, 3), groups * one(d, 2, 1), *(one(d, 5, 7, 6) for _ in range(axes)))
        chosen = _some(d, options) | ({"groups": groups} if groups > 1 else {})
        return given | chosen, inputs

    return draw


def _sizes(d: Draw, axes: int, *sizes: int):
    return one(d, one(d, *sizes), tuple(one(d, *sizes) for _ in range(axes)))


def _pool(axes: int, kind: str):
    def draw(d: Draw) -> tuple[dict, Shape]:
        options = {
            "pool_size": _sizes(d, axes, 2, 1, 3),
            "strides": one(d, None, _sizes(d, axes, 1, 2)),
            "padding": _sizes(d, axes, 0, 1),
            "ceil_mode": one(d, False, True),
        }
        if kind == "Avg":
            options["count_include_pad"] = one(d, True, False)
        sizes = tuple(one(d, 5, 4, 7) for _ in range(axes))
        return _some(d, {} if kind == "Global" else options), (one(d, 2, 1), one(d, 2, 3), *sizes)

    return draw


def _of(least: int = 2, most: int = 4, **options):
    """Any input of so many axes; an option is a tuple of choices."""

    def draw(d: Draw) -> tuple[dict, Shape]:
        chosen = _some(d, {name: one(d, *choices) for name, choices in options.items()})
        return chosen, tuple(s or 1 for s in shape(d, least, most))

    return draw


def _some(d: Draw, options: dict) -> dict:
    return {name: value for name, value in options.items() if d(st.booleans())}


def _required(drawn, **choices):
    """The same with arguments that must be given."""

    def draw(d: Draw) -> tuple[dict, Shape]:
        options, of = drawn(d)
        return {n: one(d, *c) for n, c in choices.items()} | options, of

    return draw


def _norm(axes=(1,), **options):
    return _of(
        2, 4, epsilon=(1e-5, 0.1), center=(True, False), scale=(True, False), axis=axes, **options
    )


_BATCH_NORM = {"momentum": (0.9, 0.5), "use_global_stats": (False, True)}
LAYERS = {
    **{f"Conv{n}D": _conv(n) for n in (1, 2, 3)},
    **{f"Conv{n}DTranspose": _conv(n, transposed=True) for n in (1, 2, 3)},
    **{f"{kind}Pool{n}D": _pool(n, kind) for n in (1, 2, 3) for kind in ("Max", "Avg")},
    **{f"Global{k}Pool{n}D": _pool(n, "Global") for n in (1, 2, 3) for k in ("Max", "Avg")},
    "Dense": _required(
        _of(2, 4, activation=ACTIVATIONS, use_bias=(True, False), flatten=(True, False)),
        units=(3, 1, 2),
    ),
    "Activation": _required(_of(1, 4), activation=ACTIVATIONS),
    "BatchNorm": _norm((1, -1, 0), **_BATCH_NORM),
    "BatchNormReLU": _norm((1,), **_BATCH_NORM),
    "LayerNorm": _norm((-1, 1, 0)),
    "InstanceNorm": _of(3, 4, epsilon=(1e-5, 0.1), center=(True, False), scale=(True, False)),
    "GroupNorm": _of(3, 4, epsilon=(1e-5, 0.1), center=(True, False), num_groups=(1,)),
    "Dropout": _required(_of(1, 4), rate=(0.0,)),
    "ELU": _of(1, 4, alpha=(1.0, 0.5)),
    "SELU": _of(1, 4),
    "GELU": _of(1, 4),
    "Swish": _of(1, 4, beta=(1.0, 0.5)),
    "LeakyReLU": _required(_of(1, 4), alpha=(0.1, 0.5, 0)),
    "PReLU": _of(1, 4, in_channels=(1,)),
    "Flatten": _of(1, 4),
    "ReflectionPad2D": _required(_of(4, 4), padding=(1, 0)),
    "Embedding": _required(_of(1, 2), input_dim=(3, 5), output_dim=(2, 1)),
}


def made(where: str, options: dict) -> Expression:
    """A call that makes a layer."""
    return call(where, **{name: literal(value) for name, value in options.items()})


@st.composite
def layers(draw, only: tuple[str, ...] = ()) -> Program:
    """A layer of gluon.nn: its outputs, the gradients of its input and parameters, its states."""
    name = one(draw, *(only or LAYERS))
    options, of = LAYERS[name](draw)
    kind = "indices" if name == "Embedding" else one(draw, "normal", "ties")
    x = array(values(draw, of, "float32", kind))
    return _trained(draw, f"layers/{name}", made(f"mx.gluon.nn.{name}", options), {"x": x})


def _trained(draw: Draw, about: str, net: Expression, inputs: dict[str, Expression]) -> Program:
    places = [path(name) for name in inputs]
    do = [["let", name, value] for name, value in inputs.items()]
    do += [["let", "net", net], ["do", call("fill", path("mx"), path("net"), *places)]]
    if draw(st.booleans()):
        do.append(["do", call("net.hybridize", **one(draw, *HYBRIDIZED))])
    do += [["do", call("x.attach_grad")]]
    mode = {"train_mode": False} if rarely(draw, 4) else {}
    step = [
        ["with", call("mx.autograd.record", **mode), [["let", "y", call("net", *places)]]],
        ["do", call("backward", path("mx"), path("y"), **mode)],
    ]
    do += step * one(draw, 1, 2)
    return program(
        about,
        do,
        [
            path("y"),
            path("x.grad"),
            call("gradients", path("net")),
            call("parameters", path("net")),
        ],
    )


# Recurrent layers


@st.composite
def recurrent(draw) -> Program:
    """A layer of gluon.rnn over a sequence, or a cell that is unrolled over one."""
    t, n, k, hidden = one(draw, 3, 1, 4), one(draw, 2, 1), one(draw, 2, 3), one(draw, 2, 1, 3)
    layout = one(draw, "TNC", "NTC")
    of = (t, n, k) if layout == "TNC" else (n, t, k)
    x = {"x": array(values(draw, of, "float32", "normal"))}
    if draw(st.booleans()):
        name = one(draw, "RNN", "LSTM", "GRU")
        options = {"num_layers": one(draw, 1, 2), "bidirectional": one(draw, False, True)}
        if name == "RNN":
            options["activation"] = one(draw, "relu", "tanh")
        net = made(
            f"mx.gluon.rnn.{name}",
            {"hidden_size": hidden, **_some(draw, options), "layout": layout},
        )
        return _trained(draw, f"recurrent/{name}", net, x)
    do = [["let", "x", x["x"]], ["let", "cell", _cell(draw, hidden, k)]]
    options = {"layout": layout, "merge_outputs": one(draw, True, False, None)}
    if rarely(draw, 3):
        lengths = [draw(st.integers(1, t)) for _ in range(n)]
        options["valid_length"] = call("mx.nd.array", literal(lengths))
    arguments = {name: v if isinstance(v, list) else literal(v) for name, v in options.items()}
    unrolled = call("cell.unroll", t, path("x"), **arguments)
    do += [
        ["do", call("cell.initialize", call("mx.init.Constant", one(draw, 0.1, 0.3)))],
        ["do", call("x.attach_grad")],
        ["with", call("mx.autograd.record"), [["let", "y", unrolled]]],
        ["do", call("backward", path("mx"), ["item", path("y"), 0])],
    ]
    return program(
        "recurrent/cell", do, [path("y"), path("x.grad"), call("gradients", path("cell"))]
    )


def _cell(draw: Draw, hidden: int, inputs: int) -> Expression:
    """A cell; rarely one with others inside."""
    place = "mx.gluon.rnn."
    way = one(draw, *("plain",) * 6, "BidirectionalCell", "ResidualCell", "ZoneoutCell")
    if way == "plain":
        return call(f"{place}{one(draw, 'RNNCell', 'LSTMCell', 'GRUCell')}", hidden)
    if way == "BidirectionalCell":
        return call(place + way, _cell(draw, hidden, inputs), call(f"{place}GRUCell", hidden))
    return call(place + way, call(f"{place}{one(draw, 'RNNCell', 'LSTMCell')}", inputs))


# Losses: the values of prediction and label that they are for

LOSSES = {
    "L1Loss": ("normal", "normal", {}),
    "L2Loss": ("normal", "normal", {}),
    "HuberLoss": ("normal", "normal", {"rho": (1, 0.5)}),
    "HingeLoss": ("normal", "signs", {"margin": (1, 0.5)}),
    "SquaredHingeLoss": ("normal", "signs", {"margin": (1, 2)}),
    "LogisticLoss": ("normal", "signs", {"label_format": ("signed", "binary")}),
    "SigmoidBinaryCrossEntropyLoss": ("unit", "unit", {"from_sigmoid": (False, True)}),
    "KLDivLoss": ("normal", "unit", {"from_logits": (True, False), "axis": (-1, 1)}),
    "PoissonNLLLoss": (
        "normal",
        "positive",
        {"from_logits": (True, False), "compute_full": (False, True)},
    ),
    "TripletLoss": ("normal", "normal", {"margin": (1, 0.5)}),
    "CosineEmbeddingLoss": ("normal", "normal", {"margin": (0, 0.5)}),
    "SoftmaxCrossEntropyLoss": (
        "normal",
        "indices",
        {"axis": (-1, 1), "sparse_label": (True, False), "from_logits": (False, True)},
    ),
}  # fmt: skip


@st.composite
def losses(draw) -> Program:
    """A loss, with weights of the samples at times, and the gradient of its prediction."""
    name = one(draw, *LOSSES)
    kind, labels, choices = LOSSES[name]
    options = _some(draw, {n: one(draw, *c) for n, c in choices.items()})
    options |= _some(draw, {"weight": one(draw, 1.0, 2.0, 0.5), "batch_axis": one(draw, 0, 0, 1)})
    least = 1 if name not in ("SoftmaxCrossEntropyLoss", "CosineEmbeddingLoss") else 2
    of = tuple(s or 1 for s in shape(draw, least, 3))
    dtype = one(draw, "float32", "float32", "float64")
    x = values(draw, of, dtype, "positive" if options.get("from_logits") is False else kind)
    inputs = {"x": array(x), "label": array(_label(draw, of, dtype, labels, options))}
    if name in ("TripletLoss", "CosineEmbeddingLoss"):
        last = of if name == "TripletLoss" else of[:-1]
        inputs["third"] = array(values(draw, last, dtype, "ties"))
    if rarely(draw, 5):
        weights = (of[0],) + (1,) * (len(of) - 1)
        inputs["weights"] = array(values(draw, weights, dtype, "unit"))
    places = [path(name) for name in inputs]
    do = [["let", n, v] for n, v in inputs.items()]
    do += [["let", "loss", made(f"mx.gluon.loss.{name}", options)]]
    if draw(st.booleans()):
        do.append(["do", call("loss.hybridize")])
    do += [
        ["do", call("x.attach_grad")],
        ["with", call("mx.autograd.record"), [["let", "y", call("loss", *places)]]],
        ["do", call("backward", path("mx"), path("y"))],
    ]
    return program(f"losses/{name}", do, [path("y"), path("x.grad")])


def _label(draw: Draw, of: Shape, dtype: str, kind: str, options: dict):
    if kind == "indices" and options.get("sparse_label", True):
        axis = options.get("axis", -1)
        rest = list(of)
        if len(of) > 1:
            del rest[axis]
        return values(draw, tuple(rest), dtype, "indices")
    if kind == "indices":
        return values(draw, of, dtype, "unit")
    if kind == "signs":
        return (
            values(draw, of, dtype, "ties")
            % 2
            * (2 if options.get("label_format") != "binary" else 1)
        )
    return values(draw, of, dtype, kind)
