"""Quantizers and operators with states, as CustomOps: autograd inside, minima kept, counters."""

import ast

import numpy as np
import pytest
from gallery import Sample, arrays, assert_bound, assert_eager, assert_replayed, f32, operator

from layers.engine import autograd, mx, nd

X = np.random.RandomState(1).uniform(-1.5, 1.5, (3, 4)).astype("float32")
HEAD = np.cos(np.arange(12.0, dtype="float32")).reshape(3, 4)


def boolean(text):
    return {"true": True, "1": True, "false": False, "0": False}[text.lower()]


@operator("quantizers_straight", attributes={"nbits": ast.literal_eval})
class Straight(mx.operator.CustomOp):
    """Rounded to steps of the largest value; the gradient passes as it is."""

    def forward(self, is_train, req, in_data, out_data, aux):
        x = in_data[0]
        step = nd.max(nd.abs(x)) / (2 ** (self.nbits - 1) - 1)
        self.assign(out_data[0], req[0], nd.round(x / step) * step)

    def backward(self, req, out_grad, in_data, out_data, in_grad, aux):
        self.assign(in_grad[0], req[0], out_grad[0])


@operator("quantizers_dorefa", attributes={"nbits": int})
class Dorefa(mx.operator.CustomOp):
    """What comes before rounding is recorded in forward, and gone back through in backward."""

    def forward(self, is_train, req, in_data, out_data, aux):
        levels = 2**self.nbits - 1
        self.x = in_data[0].copy()
        self.x.attach_grad()
        with autograd.record():
            t = nd.tanh(self.x)
            self.y = t / 2 + 0.5
        self.assign(out_data[0], req[0], 2 / levels * nd.round(self.y * levels) - 1)

    def backward(self, req, out_grad, in_data, out_data, in_grad, aux):
        self.y.backward(2 * out_grad[0])
        self.assign(in_grad[0], req[0], self.x.grad)


@operator(
    "quantizers_pact",
    arguments=("data", "gamma"),
    attributes={"nbits": int},
    shapes=lambda prop, s: ([s[0], (1,)], [s[0]], []),
    types=lambda prop, t: ([t[0], t[0]], [t[0]], []),
)
class Pact(mx.operator.CustomOp):
    """Clipped at a learned value. The inputs themselves become variables, of autograd inside."""

    def forward(self, is_train, req, in_data, out_data, aux):
        self.inputs = [a.copy() for a in in_data]
        for a in self.inputs:
            a.attach_grad()
        with autograd.record():
            x, gamma = self.inputs
            self.clipped = nd.broadcast_minimum(nd.relu(x), gamma)
        step = self.inputs[1] / (2**self.nbits - 1)
        y = nd.broadcast_mul(nd.round(nd.broadcast_div(self.clipped, step)), step)
        self.assign(out_data[0], req[0], y)

    def backward(self, req, out_grad, in_data, out_data, in_grad, aux):
        self.clipped.backward(out_grad[0])
        for dx, how, a in zip(in_grad, req, self.inputs):
            self.assign(dx, how, a.grad)


@operator(
    "quantizers_int8",
    states=("minmax",),
    attributes={"delay": int, "decay": float, "per_channel": boolean},
    shapes=lambda prop, s: (s, [s[0]], [(1,)]),
    types=lambda prop, t: (t, [t[0]], [t[0]]),
)
class Int8(mx.operator.CustomOp):
    """After `delay` calls of one object it quantizes, by a moving maximum that is a state."""

    def forward(self, is_train, req, in_data, out_data, aux):
        x = in_data[0].asnumpy()
        if is_train:
            aux[0][:] = aux[0] * self.decay + float(np.abs(x).max()) * (1 - self.decay)
        if self.delay > 0:
            self.delay -= 1
            self.assign(out_data[0], req[0], in_data[0])
            return
        step = aux[0].asnumpy() / 127
        self.assign(out_data[0], req[0], np.clip(np.round(x / step), -127, 127) * step)

    def backward(self, req, out_grad, in_data, out_data, in_grad, aux):
        inside = np.abs(in_data[0].asnumpy()) <= aux[0].asnumpy()
        self.assign(in_grad[0], req[0], out_grad[0] * nd.array(inside))


@operator(
    "quantizers_range",
    outputs=("scaled", "low", "high"),
    states=("minimum", "maximum"),
    shapes=lambda prop, s: (s, [s[0], (s[0][1],), (s[0][1],)], [(s[0][1],)] * 2),
    types=lambda prop, t: (t, [t[0]] * 3, [t[0]] * 2),
)
class Range(mx.operator.CustomOp):
    """Running minima and maxima of the columns, in two states, written by slices."""

    def forward(self, is_train, req, in_data, out_data, aux):
        x, (low, high) = in_data[0], aux
        low[:] = nd.minimum(low, nd.min(x, axis=0))
        for i in range(high.shape[0]):
            high[i : i + 1] = max(high[i].asscalar(), x[:, i].max().asscalar())
        self.width = high - low
        values = [nd.broadcast_div(nd.broadcast_sub(x, low), self.width), low, high]
        for y, how, value in zip(out_data, req, values):
            self.assign(y, how, value)

    def backward(self, req, out_grad, in_data, out_data, in_grad, aux):
        self.assign(in_grad[0], req[0], nd.broadcast_div(out_grad[0], self.width))


@operator(
    "quantizers_ternary",
    outputs=("ternary", "scale"),
    attributes={"filterwise": boolean, "ratio": float},
    shapes=lambda prop, s: (s, [s[0], (s[0][0], 1)], []),
)
class Ternary(mx.operator.CustomOp):
    """-1, 0 or 1, and a scale for each filter or for all."""

    def forward(self, is_train, req, in_data, out_data, aux):
        x = in_data[0]
        size = nd.abs(x)
        axes = 1 if self.filterwise else (0, 1)
        threshold = self.ratio * nd.max(size, axis=axes, keepdims=True)
        self.mask = nd.broadcast_greater(size, threshold)
        scale = nd.sum(size * self.mask, axis=axes, keepdims=True)
        scale = nd.broadcast_div(scale, nd.sum(self.mask, axis=axes, keepdims=True))
        self.assign(out_data[0], req[0], nd.sign(x) * self.mask)
        self.assign(out_data[1], req[1], nd.broadcast_to(scale, shape=(x.shape[0], 1)))

    def backward(self, req, out_grad, in_data, out_data, in_grad, aux):
        self.assign(in_grad[0], req[0], out_grad[0] * (in_data[0].abs() < 1))


def rbm_states(for_training=True, **_):
    return ["visible", "hidden"] if for_training else []


@operator(
    "quantizers_rbm",
    arguments=("data", "weight", "visible_bias", "hidden_bias"),
    outputs=("probability", "reconstruction"),
    states=rbm_states,
    attributes={"num_hidden": int, "k": int, "for_training": boolean},
    top=False,
    shapes=lambda prop, s: (
        [s[0], (prop.values["num_hidden"], s[0][1]), (s[0][1],), (prop.values["num_hidden"],)],
        [(s[0][0], prop.values["num_hidden"]), s[0]],
        [s[0], (s[0][0], prop.values["num_hidden"])] if prop.list_auxiliary_states() else [],
    ),
)
class Boltzmann(mx.operator.CustomOp):
    """A restricted Boltzmann machine; its chain is in states, which it has only in training."""

    for_training = True

    def forward(self, is_train, req, in_data, out_data, aux):
        x, w, bv, bh = in_data
        h = nd.sigmoid(nd.FullyConnected(x, w, bh, num_hidden=self.num_hidden))
        v = self.visible(h, w, bv)
        if self.for_training:
            for _ in range(self.k):
                aux[1][:] = nd.sigmoid(nd.FullyConnected(aux[0], w, bh, num_hidden=self.num_hidden))
                aux[0][:] = self.visible(aux[1], w, bv)
        self.assign(out_data[0], req[0], h)
        self.assign(out_data[1], req[1], v)

    def visible(self, h, w, bv):
        return nd.sigmoid(nd.broadcast_add(nd.dot(h, w), bv))

    def backward(self, req, out_grad, in_data, out_data, in_grad, aux):
        n = in_data[0].shape[0]
        positive = nd.dot(out_data[0], in_data[0], transpose_a=True)
        negative = nd.dot(aux[1], aux[0], transpose_a=True)
        values = [
            nd.zeros_like(in_data[0]),
            (negative - positive) / n,
            nd.mean(aux[0] - in_data[0], axis=0),
            nd.mean(aux[1] - out_data[0], axis=0),
        ]
        for dx, how, value in zip(in_grad, req, values):
            self.assign(dx, how, value)


@operator(
    "quantizers_folded",
    arguments=("data", "weight", "gamma", "beta"),
    states=("moving_mean", "moving_var"),
    attributes={"momentum": float, "eps": float},
    shapes=lambda prop, s: (
        [s[0], (s[1][0], s[0][1]), (s[1][0],), (s[1][0],)],
        [(s[0][0], s[1][0])],
        [(s[1][0],), (s[1][0],)],
    ),
)
class Folded(mx.operator.CustomOp):
    """An affine map with the normalization folded into its weight; the statistics are states."""

    def forward(self, is_train, req, in_data, out_data, aux):
        x, w, gamma, beta = (a.asnumpy() for a in in_data)
        y = x @ w.T
        if is_train:
            for state, value in zip(aux, (y.mean(0), y.var(0))):
                state[:] = self.momentum * state + (1 - self.momentum) * nd.array(value)
        mean, var = (a.asnumpy() for a in aux)
        self.fold = gamma / np.sqrt(var + self.eps)
        self.mean = mean
        self.assign(out_data[0], req[0], nd.array((y - mean) * self.fold + beta))

    def backward(self, req, out_grad, in_data, out_data, in_grad, aux):
        dy, x, w = out_grad[0].asnumpy(), in_data[0].asnumpy(), in_data[1].asnumpy()
        scaled = dy * self.fold
        self.assign(in_grad[0], req[0], nd.array(scaled @ w))
        self.assign(in_grad[1], req[1], nd.array(scaled.T @ x))
        in_grad[2][:] = 0  # held
        in_grad[3][:] = nd.array(dy.sum(0))


def dorefa():
    t = np.tanh(X)
    y = 2 / 7 * np.round((t / 2 + 0.5) * 7) - 1
    return Sample(Dorefa, [X], [y], [HEAD * (1 - t**2)], {"nbits": 3}, [HEAD])


def pact():
    gamma = f32(0.8)
    y = np.round(np.clip(X, 0, gamma) / (gamma / 15)) * (gamma / 15)
    dx, dgamma = HEAD * ((X > 0) & (gamma >= X)), (HEAD * (gamma < X)).sum(keepdims=True)[0]
    return Sample(Pact, [X, gamma], [y], [dx, dgamma], {"nbits": 4}, [HEAD])


def int8(delay):
    state = f32(0.5)
    after = 0.9 * state + 0.1 * np.abs(X).max()
    y = X if delay else np.clip(np.round(X / (after / 127)), -127, 127) * (after / 127)
    options = {"delay": delay, "decay": 0.9, "per_channel": False}
    return Sample(Int8, [X], [y], [HEAD * (np.abs(X) <= after)], options, [HEAD], [state], [after])


def ranges():
    low, high = np.full(4, -0.2, "float32"), np.full(4, 0.3, "float32")
    after = np.minimum(low, X.min(0)), np.maximum(high, X.max(0))
    width = after[1] - after[0]
    heads = [HEAD, np.ones(4, "float32"), np.ones(4, "float32")]
    outputs = [(X - after[0]) / width, *after]
    return Sample(Range, [X], outputs, [HEAD / width], {}, heads, [low, high], [*after])


def ternary(filterwise):
    axes = 1 if filterwise else (0, 1)
    size = np.abs(X)
    mask = size > 0.5 * size.max(axes, keepdims=True)
    scale = (size * mask).sum(axes, keepdims=True) / mask.sum(axes, keepdims=True)
    outputs = [np.sign(X) * mask, np.broadcast_to(scale, (3, 1))]
    options = {"filterwise": filterwise, "ratio": 0.5}
    heads = [HEAD, np.ones((3, 1), "float32")]
    return Sample(Ternary, [X], outputs, [HEAD * (size < 1)], options, heads)


def boltzmann():
    def s(x):
        return 1 / (1 + np.exp(-x))

    random = np.random.RandomState(2)
    x = random.uniform(size=(5, 4)).astype("float32")
    w = random.randn(3, 4).astype("float32")
    bv, bh = np.full(4, 0.1, "float32"), np.full(3, -0.2, "float32")
    h = s(x @ w.T + bh)
    visible = v0 = random.uniform(size=(5, 4)).astype("float32")
    for _ in range(2):
        hidden = s(visible @ w.T + bh)
        visible = s(hidden @ w + bv)
    dw = (hidden.T @ visible - h.T @ x) / 5
    gradients = [None, dw, (visible - x).mean(0), (hidden - h).mean(0)]
    return Sample(
        Boltzmann,
        [x, w, bv, bh],
        [h, s(h @ w + bv)],
        gradients,
        {"num_hidden": 3, "k": 2, "for_training": True},
        None,
        [v0, np.zeros((5, 3), "float32")],
        [visible, hidden],
    )


def folded():
    random = np.random.RandomState(3)
    x, w = random.randn(6, 4).astype("float32"), random.randn(2, 4).astype("float32")
    gamma, beta, head = f32(1.5, 0.5), f32(0.1, -0.1), random.randn(6, 2).astype("float32")
    z = x @ w.T
    mean, var = 0.25 * z.mean(0), 0.75 + 0.25 * z.var(0)
    fold = gamma / np.sqrt(var + 1e-3)
    return Sample(
        Folded,
        [x, w, gamma, beta],
        [(z - mean) * fold + beta],
        [(head * fold) @ w, (head * fold).T @ x, 0 * gamma, head.sum(0)],
        {"momentum": 0.75, "eps": 1e-3},
        [head],
        [np.zeros(2, "float32"), np.ones(2, "float32")],
        [mean, var],
    )


STEP = np.abs(X).max() / 127
SAMPLES = {
    "straight": Sample(
        Straight, [X], [np.round(X / STEP) * STEP], [HEAD], {"nbits": 8}, [HEAD]
    ),
    "dorefa": dorefa(),
    "pact": pact(),
    "int8 waits": int8(2),
    "int8": int8(0),
    "range": ranges(),
    "ternary": ternary(False),
    "ternary by filter": ternary(True),
    "boltzmann": boltzmann(),
    "folded": folded(),
}  # fmt: skip


@pytest.mark.parametrize(
    "sample",
    [
        # MXNet loses the storage types where there are more states than inputs.
        pytest.param(s, id=n, marks=[pytest.mark.engine("torch")] if s.operator is Range else [])
        for n, s in SAMPLES.items()
    ],
)
@pytest.mark.parametrize("check", [assert_eager, assert_bound], ids=["eager", "bound"])
def test_values_and_gradients(check, sample):
    check(sample)


@pytest.mark.parametrize("name", [n for n, s in SAMPLES.items() if not s.states])
def test_replayed(name):
    assert_replayed(SAMPLES[name])


def test_states_of_an_attribute():
    """Without training there are none."""
    x, w, bv, bh = arrays(SAMPLES["boltzmann"].inputs)
    options = {"num_hidden": 3, "k": 1, "op_type": "quantizers_rbm"}
    h, v = nd.Custom(x, w, bv, bh, for_training=False, **options)
    assert h.shape == (5, 3) and v.shape == (5, 4)
    graph = mx.sym.Custom(mx.sym.var("x"), name="rbm", **options)
    assert graph.list_auxiliary_states() == ["rbm_visible", "rbm_hidden"]
    assert graph.list_arguments() == ["x", "rbm_weight", "rbm_visible_bias", "rbm_hidden_bias"]


def test_a_counter_lasts_as_long_as_its_executor():
    """Call by call an operator is made anew; an executor makes it once."""
    options = {"delay": 2, "decay": 0.0, "per_channel": "False", "op_type": "quantizers_int8"}
    x = nd.array([0.1, 1.0])
    executor = mx.sym.Custom(mx.sym.var("x"), name="q", **options).bind(
        mx.current_context(), {"x": x}, aux_states=[nd.ones((1,))]
    )
    found = [executor.forward(is_train=False)[0].asnumpy()[0] for _ in range(4)]
    quantized = np.round(0.1 * 127) / 127
    np.testing.assert_allclose(found, [0.1, 0.1, quantized, quantized], rtol=1e-5)
    for _ in range(4):
        y = nd.Custom(x, nd.ones((1,)), **options)
        np.testing.assert_allclose(y.asnumpy()[0], 0.1, rtol=1e-5)
