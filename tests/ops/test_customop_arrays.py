"""Boxes, groups and constants, as CustomOps: inputs and outputs whose number an attribute tells."""

import ast
import pickle

import numpy as np
import pytest
from gallery import Sample, arrays, assert_bound, assert_eager, assert_replayed, f32, operator

from layers.engine import autograd, mx, nd

BOXES = f32([0, 0, 9, 9], [2, 3, 40, 21], [-5, 1, 4, 70], [8, 8, 15, 11])


def boolean(text):
    return {"true": True, "1": True, "false": False, "0": False}[text.lower()]


def numbers(text):
    """NumPy's own text of an array: ``"[0.1 0.2]"``."""
    return np.array(text.strip("[]").split(), dtype="float32")


def nothing(prop, dy, x, y):
    return []


def top(prop, dy, x, y):
    return [dy[0]]


def zero(op, req, in_grad):
    for dx, how in zip(in_grad, req):
        op.assign(dx, how, 0)


def proposal_outputs(output_score=False, **_):
    return ["rois", "score"] if output_score else ["rois"]


@operator(
    "arrays_proposal",
    arguments=("score", "delta", "size"),
    outputs=proposal_outputs,
    attributes={"count": int, "stds": numbers, "output_score": boolean},
    top=False,
    needs=nothing,
    shapes=lambda prop, s: (
        s, [(prop.values["count"], 4), (prop.values["count"], 1)][: len(prop.list_outputs())]),
)  # fmt: skip
class Proposal(mx.operator.CustomOp):
    """The best boxes, clipped to the image, padded to a fixed number; at times with scores."""

    def forward(self, is_train, req, in_data, out_data, aux):
        score, delta, size = (a.asnumpy() for a in in_data)
        boxes = BOXES + delta * self.stds
        height, width = size[0]
        boxes[:, 0::2] = np.clip(boxes[:, 0::2], 0, width - 1)
        boxes[:, 1::2] = np.clip(boxes[:, 1::2], 0, height - 1)
        order = np.argsort(-score)[: self.count]
        order = np.hstack([order, np.zeros(self.count - len(order), int)])
        self.assign(out_data[0], req[0], nd.array(boxes[order]))
        if len(out_data) > 1:
            self.assign(out_data[1], req[1], nd.array(score[order].reshape(-1, 1)))

    def backward(self, req, out_grad, in_data, out_data, in_grad, aux):
        zero(self, req, in_grad)


def levels(strides, **_):
    return ["rois", *[f"level{s}" for s in strides]]


@operator(
    "arrays_pyramid",
    arguments=levels,
    attributes={"strides": ast.literal_eval},
    needs=top,
    shapes=lambda prop, s: (s, [(s[0][0], s[1][1])]),
)
class Pyramid(mx.operator.CustomOp):
    """Rows from the level that fits their size; the gradient is autograd's, recorded in forward."""

    def forward(self, is_train, req, in_data, out_data, aux):
        level = in_data[0].asnumpy().astype(int)
        self.maps, parts, rows = [a.copy() for a in in_data[1:]], [], []
        for a in self.maps:
            a.attach_grad()
        with autograd.record():
            for i, a in enumerate(self.maps):
                places = np.where(level == i)[0]
                if len(places):
                    parts.append(nd.take(a, nd.array(places)) * (i + 1))
                    rows.append(places)
            self.joined = nd.concat(*parts, dim=0)
        self.back = np.argsort(np.concatenate(rows))
        self.order = np.concatenate(rows)
        self.assign(out_data[0], req[0], nd.take(self.joined, nd.array(self.back)))

    def backward(self, req, out_grad, in_data, out_data, in_grad, aux):
        self.joined.backward(nd.take(out_grad[0], nd.array(self.order)))
        self.assign(in_grad[0], req[0], 0)
        for dx, how, a in zip(in_grad[1:], req[1:], self.maps):
            self.assign(dx, how, a.grad)


def level_outputs(stride, **_):
    return [f"rois_s{s}" for s in stride]


@operator(
    "arrays_assign",
    outputs=level_outputs,
    attributes={"stride": ast.literal_eval, "scale": int},
    top=False,
    needs=nothing,
    shapes=lambda prop, s: (s, [s[0]] * len(prop.values["stride"])),
)
class Assign(mx.operator.CustomOp):
    """Each box into the output of its level, and zeros into the others."""

    def forward(self, is_train, req, in_data, out_data, aux):
        x = in_data[0]
        side = nd.sqrt((x[:, 2] - x[:, 0]) * (x[:, 3] - x[:, 1]))
        level = nd.clip(nd.floor(side / self.scale), 0, len(out_data) - 1)
        for i, (y, how) in enumerate(zip(out_data, req)):
            mask = nd.broadcast_like((level == i).expand_dims(1), x)
            self.assign(y, how, nd.where(mask, x, nd.zeros_like(x)))

    def backward(self, req, out_grad, in_data, out_data, in_grad, aux):
        zero(self, req, in_grad)


def picked(prefix, groups):
    return [f"{prefix}{i}" for i in range(groups)]


@operator(
    "arrays_groups",
    arguments=lambda groups: [*picked("data", groups), "index"],
    outputs=lambda groups: picked("picked", groups),
    attributes={"groups": int},
    shapes=lambda prop, s: (s, [(n[0], n[1] // 2) for n in s[:-1]]),
)
class Groups(mx.operator.CustomOp):
    """Half of the columns of each row, by its index; what was picked is kept for backward."""

    def forward(self, is_train, req, in_data, out_data, aux):
        self.index = in_data[-1].asnumpy().astype(int)
        for x, y, how in zip(in_data, out_data, req):
            halves = x.asnumpy().reshape(x.shape[0], 2, -1)
            self.assign(y, how, nd.array(halves[np.arange(len(halves)), self.index]))

    def backward(self, req, out_grad, in_data, out_data, in_grad, aux):
        for dy, dx, how in zip(out_grad, in_grad, req):
            given = np.zeros((dx.shape[0], 2, dx.shape[1] // 2), "float32")
            given[np.arange(len(given)), self.index] = dy.asnumpy()
            self.assign(dx, how, nd.array(given.reshape(dx.shape)))
        self.assign(in_grad[-1], req[-1], 0)


@operator(
    "arrays_targets",
    arguments=("rois", "truth"),
    outputs=("rois_out", "label", "dx", "dy", "dw", "dh", "count"),
    attributes={"threshold": float, "mean": ast.literal_eval},
    shapes=lambda prop, s: (s, [s[0], *[(s[0][0],)] * 5, (1,)], []),
)
class Targets(mx.operator.CustomOp):
    """Seven outputs: boxes, labels, what moves each box to the truth, and a count."""

    def forward(self, is_train, req, in_data, out_data, aux):
        rois, truth = (a.asnumpy() for a in in_data)
        low, high = np.maximum(rois[:, :2], truth[:, :2]), np.minimum(rois[:, 2:], truth[:, 2:])
        shared = np.prod(np.clip(high - low, 0, None), 1)
        label = (shared / np.prod(rois[:, 2:] - rois[:, :2], 1) > self.threshold).astype("float32")
        moves = (truth - rois - np.array(self.mean)).T
        for i, value in enumerate([rois, label, *moves, [label.sum()]]):
            self.assign(out_data[i], req[i], nd.array(value))

    def backward(self, req, out_grad, in_data, out_data, in_grad, aux):
        zero(self, req, in_grad)


@operator(
    "arrays_digitize",
    arguments=("data", "edges"),
    shapes=lambda prop, s: (s, [s[0]]),
    types=lambda prop, t: (t, [np.int32], []),
)
class Digitize(mx.operator.CustomOp):
    """The bin of each value: int32, and no gradient."""

    def forward(self, is_train, req, in_data, out_data, aux):
        x, edges = in_data[0].asnumpy(), in_data[1].asnumpy()
        self.assign(out_data[0], req[0], nd.array(np.digitize(x, edges), dtype="int32"))

    def backward(self, req, out_grad, in_data, out_data, in_grad, aux):
        raise NotImplementedError("bins have no gradient")


@operator(
    "arrays_jitter",
    arguments=("data", "sigma"),
    attributes={"initial": float, "growth": float},
    shapes=lambda prop, s: ([s[0], (1,)], [s[0]], []),
)
class Jitter(mx.operator.CustomOp):
    """The diagonal grows until the matrix is positive definite; the gradient passes."""

    def forward(self, is_train, req, in_data, out_data, aux):
        x, jitter = in_data[0], 0.0
        eye = nd.eye(x.shape[0])
        while True:
            y = x + eye * (in_data[1].asscalar() + jitter)
            if np.linalg.eigvalsh(y.asnumpy()).min() > 0:
                break
            jitter = jitter * self.growth if jitter else self.initial
        self.assign(out_data[0], req[0], y)

    def backward(self, req, out_grad, in_data, out_data, in_grad, aux):
        self.assign(in_grad[0], req[0], out_grad[0])
        self.assign(in_grad[1], req[1], nd.sum(nd.diag(out_grad[0])))


@operator(
    "arrays_clip",
    arguments=("data", "image"),
    attributes={"axis": int},
    shapes=lambda prop, s: (s, [s[0]], []),
    types=lambda prop, t: ([t[0], t[1]], [t[0]], []),
)
class Clip(mx.operator.CustomOp):
    """Boxes inside the image; the gradient goes to the boxes alone."""

    def forward(self, is_train, req, in_data, out_data, aux):
        height, width = in_data[1].shape[-2:]
        a, b, c, d = nd.split(in_data[0], axis=self.axis, num_outputs=4)
        sides = [a.clip(0, width), b.clip(0, height), c.clip(0, width), d.clip(0, height)]
        self.assign(out_data[0], req[0], nd.concat(*sides, dim=self.axis))

    def backward(self, req, out_grad, in_data, out_data, in_grad, aux):
        self.assign(in_grad[0], req[0], out_grad[0])
        self.assign(in_grad[1], req[1], 0)


@operator("arrays_diagonal", shapes=lambda prop, s: (s, [(*s[0], s[0][-1])], []))
class Diagonal(mx.operator.CustomOp):
    """Vectors to diagonal matrices; it looks at `req` itself."""

    def forward(self, is_train, req, in_data, out_data, aux):
        x = in_data[0]
        y = nd.broadcast_mul(x.expand_dims(-1), nd.one_hot(nd.arange(x.shape[-1]), x.shape[-1]))
        self.give(out_data[0], req[0], y)

    def backward(self, req, out_grad, in_data, out_data, in_grad, aux):
        n = out_grad[0].shape[-1]
        eye = nd.one_hot(nd.arange(n), n)
        self.give(in_grad[0], req[0], nd.sum(nd.broadcast_mul(out_grad[0], eye), axis=-1))

    def give(self, array, how, value):
        if how in ("write", "inplace"):
            array[:] = value
        elif how == "add":
            array[:] += value


@operator(
    "arrays_rotate",
    arguments=("points", "rotation", "shift"),
    attributes={"means": numbers, "project": boolean},
    shapes=lambda prop, s: (s, [s[0]], []),
)
class Rotate(mx.operator.CustomOp):
    """Points (3, n) by a rotation and a shift; all three have gradients."""

    def forward(self, is_train, req, in_data, out_data, aux):
        points, rotation, shift = in_data
        self.moved = shift + nd.array(self.means, ctx=shift.context)
        y = nd.broadcast_add(nd.dot(rotation, points), self.moved.expand_dims(1))
        self.assign(out_data[0], req[0], y)

    def backward(self, req, out_grad, in_data, out_data, in_grad, aux):
        dy, points, rotation = out_grad[0], in_data[0], in_data[1]
        self.assign(in_grad[0], req[0], nd.dot(rotation.T, dy))
        self.assign(in_grad[1], req[1], nd.dot(dy, points.T))
        self.assign(in_grad[2], req[2], nd.sum(dy, axis=1))


@operator(
    "arrays_twenty",
    arguments=[f"x{i}" for i in range(20)],
    outputs=("total", "last"),
    needs=nothing,
    shapes=lambda prop, s: (s, [s[0], s[-1]]),
)
class Twenty(mx.operator.CustomOp):
    """Twenty inputs."""

    def forward(self, is_train, req, in_data, out_data, aux):
        self.assign(out_data[0], req[0], nd.add_n(*[(i + 1) * x for i, x in enumerate(in_data)]))
        self.assign(out_data[1], req[1], in_data[-1])

    def backward(self, req, out_grad, in_data, out_data, in_grad, aux):
        zero(self, req, in_grad)


@operator(
    "arrays_lookup",
    arguments=("data", "table"),
    attributes={"in_dim": int},
    top=False,
    shapes=lambda prop, s: ([s[0], (prop.values["in_dim"], 1)], [s[0]]),
    types=lambda prop, t: (t, [t[1]], []),
)
class Lookup(mx.operator.CustomOp):
    """For inference only: forward refuses to train, and backward to run."""

    def forward(self, is_train, req, in_data, out_data, aux):
        assert not is_train
        y = nd.Embedding(in_data[0], in_data[1], input_dim=self.in_dim, output_dim=1)
        self.assign(out_data[0], req[0], y.squeeze(axis=-1))

    def backward(self, req, out_grad, in_data, out_data, in_grad, aux):
        assert False  # noqa: B011 - as people write it


class Constant(mx.operator.CustomOp):
    """No inputs: an array that comes pickled, as text."""

    def __init__(self, value):
        super().__init__()
        self.value = value

    def forward(self, is_train, req, in_data, out_data, aux):
        self.assign(out_data[0], req[0], self.value.as_in_context(out_data[0].context))

    def backward(self, req, out_grad, in_data, out_data, in_grad, aux):
        raise NotImplementedError("a constant")


@mx.operator.register("arrays_constant")
class ConstantProp(mx.operator.CustomOpProp):
    def __init__(self, pkl_data):
        super().__init__(need_top_grad=True)
        self.value = pickle.loads(bytes.fromhex(pkl_data))

    def list_arguments(self):
        return []

    def infer_shape(self, in_shape):
        return in_shape, [self.value.shape], []

    def create_operator(self, ctx, in_shapes, in_dtypes):
        return Constant(nd.array(self.value, ctx=ctx))


def proposal(output_score):
    score, delta = f32(0.2, 0.9, 0.5, 0.1), np.full((4, 4), 2, "float32")
    stds = f32(0.5, 0.5, 1, 1)
    boxes = BOXES + delta * stds
    boxes[:, 0::2], boxes[:, 1::2] = boxes[:, 0::2].clip(0, 31), boxes[:, 1::2].clip(0, 23)
    order = [1, 2, 0, 3, 0, 0]
    outputs = [boxes[order], score[order].reshape(-1, 1)][: 1 + output_score]
    options = {"count": 6, "stds": stds, "output_score": output_score}
    gradients = [0 * score, 0 * delta]
    return Sample(Proposal, [score, delta, f32([24, 32])], outputs, gradients, options)


def pyramid():
    random = np.random.RandomState(0)
    maps = [random.randn(5, 2).astype("float32") for _ in range(3)]
    level, head = f32(1, 0, 0, 2, 1), random.randn(5, 2).astype("float32")
    y = np.stack([maps[int(n)][i] * (n + 1) for i, n in enumerate(level)])
    gradients = [head * ((level == i) * (i + 1))[:, None] for i in range(3)]
    options = {"strides": (4, 8, 16)}
    return Sample(Pyramid, [level, *maps], [y], [None, *gradients], options, [head])


def assigned():
    side = np.sqrt((BOXES[:, 2] - BOXES[:, 0]) * (BOXES[:, 3] - BOXES[:, 1]))
    level = np.clip(np.floor(side / 10), 0, 2)
    outputs = [BOXES * (level == i)[:, None] for i in range(3)]
    return Sample(Assign, [BOXES], outputs, [0 * BOXES], {"stride": [4, 8, 16], "scale": 10})


def groups():
    random = np.random.RandomState(1)
    data = [random.randn(3, 2 * n).astype("float32") for n in (2, 3)]
    heads = [random.randn(3, n).astype("float32") for n in (2, 3)]
    index, outputs, gradients = f32(1, 0, 1), [], []
    for x, dy in zip(data, heads):
        half = x.shape[1] // 2
        columns = (index[:, None] * half + np.arange(half)).astype(int)
        outputs.append(np.take_along_axis(x, columns, 1))
        gradients.append(np.zeros_like(x))
        np.put_along_axis(gradients[-1], columns, dy, 1)
    return Sample(Groups, [*data, index], outputs, gradients, {"groups": 2}, heads)


def targets():
    truth = np.roll(BOXES, 1, axis=0)
    moves = truth - BOXES - f32(1, 0, 0, 0.5)
    low, high = np.maximum(BOXES[:, :2], truth[:, :2]), np.minimum(BOXES[:, 2:], truth[:, 2:])
    share = np.prod(np.clip(high - low, 0, None), 1) / np.prod(BOXES[:, 2:] - BOXES[:, :2], 1)
    label = (share > 0.1).astype("float32")
    outputs = [BOXES, label, *moves.T, label.sum(keepdims=True)]
    options = {"threshold": 0.1, "mean": [1, 0, 0, 0.5]}
    heads = [np.ones_like(y) for y in outputs]
    return Sample(Targets, [BOXES, truth], outputs, [0 * BOXES], options, heads)


def rotated():
    random = np.random.RandomState(2)
    points, rotation = random.randn(3, 5).astype("float32"), random.randn(3, 3).astype("float32")
    shift, means, head = f32(1, 2, 3), f32(0.5, 0, -0.5), random.randn(3, 5).astype("float32")
    y = rotation @ points + (shift + means)[:, None]
    gradients = [rotation.T @ head, head @ points.T, head.sum(1)]
    options = {"means": means, "project": "False"}
    return Sample(Rotate, [points, rotation, shift], [y], gradients, options, [head])


MATRIX, HEAD = f32([1, 2], [2, 1]), f32([1, -1], [0.5, 2])
MODES = [assert_eager, assert_replayed, assert_bound]
TWENTY = [f32(i, -i) for i in range(20)]
DEEP = np.arange(8, dtype="float32").reshape(2, 2, 2) - 3
SAMPLES = {
    "proposal": proposal(False),
    "proposal and score": proposal(True),
    "pyramid": pyramid(),
    "assign": assigned(),
    "groups": groups(),
    "targets": targets(),
    "digitize": Sample(Digitize, [f32(0.5, 2.5, -1), f32(0, 1, 2)], [[1, 3, 0]]),
    "jitter": Sample(
        Jitter, [MATRIX, f32(0.25)], [MATRIX + np.eye(2) * 1.25], [HEAD, f32(3)],
        {"initial": 0.01, "growth": 10.0}, [HEAD],
    ),
    "clip": Sample(
        Clip, [BOXES, np.zeros((1, 3, 30, 20), "float32")],
        [np.stack([BOXES[:, i].clip(0, (20, 30)[i % 2]) for i in range(4)], 1)],
        [BOXES / 10, np.zeros((1, 3, 30, 20))], {"axis": -1}, [BOXES / 10],
    ),
    "diagonal": Sample(
        Diagonal, [HEAD], [np.einsum("ij,jk->ijk", HEAD, np.eye(2))],
        [np.einsum("ijj->ij", DEEP)], {}, [DEEP],
    ),
    "rotate": rotated(),
    "twenty": Sample(
        Twenty, TWENTY, [sum((i + 1) * x for i, x in enumerate(TWENTY)), TWENTY[-1]],
        [f32(0, 0)] * 20, {}, [f32(1, 1)] * 2,
    ),
}  # fmt: skip


@pytest.mark.parametrize("check", MODES, ids=["eager", "replayed", "bound"])
@pytest.mark.parametrize("sample", SAMPLES.values(), ids=SAMPLES)
def test_values_and_gradients(sample, check):
    check(sample)


def test_inference_alone():
    """A backward that asserts False is not called where nothing is recorded."""
    x, table = arrays([f32(2, 0, 1), f32([5], [6], [7])])
    call = {"op_type": "arrays_lookup", "in_dim": 3}
    assert nd.Custom(x, table, **call).asnumpy().tolist() == [7, 5, 6]
    graph = mx.sym.Custom(mx.sym.var("x"), mx.sym.var("t"), **call)
    found = graph.bind(mx.current_context(), {"x": x, "t": table}).forward(is_train=False)
    assert found[0].asnumpy().tolist() == [7, 5, 6]
    with autograd.predict_mode():
        assert nd.Custom(x, table, **call).asnumpy().tolist() == [7, 5, 6]


@pytest.mark.engine("torch")  # MXNet 1.9.1 crashes without inputs
def test_a_constant():
    value = np.arange(4, dtype="float32").reshape(2, 2)
    call = {"op_type": "arrays_constant", "pkl_data": pickle.dumps(value).hex()}
    np.testing.assert_array_equal(nd.Custom(**call).asnumpy(), value)
    x = nd.ones((2, 2))
    x.attach_grad()
    with autograd.record():
        y = x * nd.Custom(**call)
    y.backward()  # the constant's backward raises, and is not called
    np.testing.assert_array_equal(x.grad.asnumpy(), value)
    with mx.cpu(1):
        assert nd.Custom(**call).context == mx.cpu(1)
    graph = mx.sym.var("x") * mx.sym.Custom(**call)
    executor = graph.bind(mx.cpu(1), {"x": x.as_in_context(mx.cpu(1))})
    np.testing.assert_array_equal(executor.forward()[0].asnumpy(), value)


def test_names_that_attributes_tell():
    graph = mx.sym.Custom(op_type="arrays_pyramid", strides=(4, 8), name="p")
    assert graph.list_arguments() == ["p_rois", "p_level4", "p_level8"]
    graph = mx.sym.Custom(
        mx.sym.var("x"), op_type="arrays_assign", stride=[4, 8], scale=1, name="a"
    )
    assert graph.list_outputs() == ["a_rois_s4", "a_rois_s8"]
