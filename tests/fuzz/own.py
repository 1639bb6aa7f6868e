"""Layers around custom operators, written in each of the ways, for random nets.

Each layer makes an operator of its own. All keep the shape of their input.
"""

from __future__ import annotations

import numpy as np

from layers import operator
from layers.mxnet import gluon, nd
from layers.mxnet import operator as mxnet
from layers.ops import customop


class Own(gluon.HybridBlock):
    """Calls a function of F, the input, and the parameters of these names, of shape (1,).

    The names of states begin with ``state``: they are no weights, and have no gradient.
    """

    def __init__(self, function, *parameters: str):
        super().__init__()
        self._function = function
        for name in parameters:
            trained = {} if not name.startswith("state") else {"grad_req": "null"}
            self._reg_params[name] = self.params.get(name, shape=(1,), init="ones", **trained)

    def hybrid_forward(self, F, x, **parameters):
        return self._function(F, x, **parameters)


# @operator


def square(scale: float = 1.0) -> Own:
    """scale x^2, in nd, with an attribute."""

    @operator(name="fuzz.square")
    class square:
        def forward(x, *, scale=1.0):
            return scale * x * x

        def dx(dy, x, scale):
            return 2 * scale * x * dy

    return Own(lambda F, x: square(x, scale=scale))


def squash(pure: bool = True) -> Own:
    """tanh(x), in NumPy; the gradient needs the output."""

    @operator(name="fuzz.squash", pure=pure)
    class squash:
        def forward(x):
            return nd.array(np.tanh(x.asnumpy()))

        def dx(dy, y):
            return nd.array(dy.asnumpy() * (1 - y.asnumpy() ** 2))

        def shapes(x):
            return {"y": x}

    return Own(lambda F, x: squash(x))


def weighted(array: str = "nd", by_name: bool = False) -> Own:
    """x w + b with weights of one element, called itself or by its name."""

    @operator(name="fuzz.weighted")
    class weighted:
        def forward(x, w, b):
            return nd.broadcast_add(nd.broadcast_mul(x, _one(w, x)), _one(b, x))

        def dx(dy, w):
            return nd.broadcast_mul(dy, _one(w, dy))

        def dw(dy, x):
            return nd.sum(dy * x).reshape((1,))

        def db(dy):
            if array == "numpy":
                return nd.array(dy.asnumpy().sum().reshape(1))
            return nd.sum(dy).reshape((1,))

        def shapes(x):
            return {"w": (1,), "b": (1,), "y": x}

    def call(F, x, w, b):
        return F.Custom(x, w, b, op_type="fuzz.weighted") if by_name else weighted(x, w, b)

    return Own(call, "w", "b")


def _one(w, x):
    return w.reshape((1,) * x.ndim)


def counted(pure: bool = False) -> Own:
    """x times the number of calls so far, which is not pure, whatever it says."""
    calls = [0]

    @operator(name="fuzz.counted", pure=pure)
    class counted:
        def forward(x):
            calls[0] += 1
            return x * (0.1 * calls[0])

        def dx(dy):
            return dy * (0.1 * calls[0])

        def shapes(x):
            return {"y": x}

    return Own(lambda F, x: counted(x))


def split(array: str = "nd", used: int = 2) -> Own:
    """sin(x) and cos(x), of which one may be unused; each gradient is written by itself."""
    sin, cos = (nd.sin, nd.cos) if array == "nd" else (_numpy(np.sin), _numpy(np.cos))

    @operator(name="fuzz.split")
    class split:
        outputs = ("y", "z")

        def forward(x):
            return sin(x), cos(x)

        def dx(dy, dz, y, z):
            return dy * z - dz * y

        def shapes(x):
            return {"y": x, "z": x}

    def call(F, x):
        y, z = split(x)
        return y - 0.5 * z if used == 2 else z

    return Own(call)


def _numpy(function):
    return lambda x: nd.array(function(x.asnumpy()))


def moving(pure: bool = True) -> Own:
    """x less a moving mean, which is a state."""

    @operator(name="fuzz.moving", pure=pure)
    class moving:
        states = ("m",)

        def forward(x, m):
            m[:] = 0.9 * m + 0.1 * nd.mean(x)
            return nd.broadcast_sub(x, _one(m, x))

        def dx(dy):
            return dy

        def shapes(x):
            return {"m": (1,), "y": x}

    return Own(lambda F, x, state_m: moving(x, state_m), "state_m")


# Steps that a recorder has to follow: writes, views, copies, constants, values that Python reads


def _add_in_place(x):
    y = x.copy()
    y += 1
    y *= 0.5
    return y


def _write_rows(x):
    y = nd.zeros_like(x)
    y[:1] = x[:1]
    y[1:] = 2 * x[1:]
    return y


def _write_a_view(x):
    y = x * 1
    y[0:1][:] = 3
    y.reshape((-1,))[:1] = 4
    return y


def _write_out(x):
    y = nd.empty(x.shape)
    nd.tanh(x, out=y)
    return y


def _copy_to(x):
    y = nd.ones(x.shape)
    x.copyto(y)
    return y


def _row_by_row(x):
    return nd.stack(*[row * i for i, row in enumerate(x)])


STEPS = {
    "add in place": _add_in_place,
    "write rows": _write_rows,
    "write a view": _write_a_view,
    "write out": _write_out,
    "copy": _copy_to,
    "row by row": _row_by_row,
    "sort": lambda x: nd.sort(x, axis=0),
    "where": lambda x: nd.where(x > 0, x, -x),
    "constant": lambda x: x + nd.array([0.5]),
    "constants": lambda x: x * nd.arange(1, x.size + 1).reshape(x.shape) / 4,
    "cast": lambda x: x.astype("float64").astype("float32") * 2,
    "shape": lambda x: x / x.shape[0],
    "twice": lambda x: nd.concat(x, 2 * x, dim=0)[len(x) :],
    "transposed": lambda x: x.T.T + 1,
    "a number": lambda x: x * nd.mean(x).asscalar(),
    "a branch": lambda x: -x if nd.sum(x).asscalar() > 0 else 3 * x,
    "random": lambda x: x + nd.random.uniform(shape=x.shape),
    "the same": lambda x: x,
    "identity": nd.identity,
}


def steps(first: str, then: str, back: str, pure: bool = True, rule: bool = True) -> Own:
    """Two steps forward, and one backward, which is not the derivative."""

    class steps:
        def forward(x):
            return STEPS[then](STEPS[first](x))

        def dx(dy, y):
            return STEPS[back](dy) - y

        if rule:

            def shapes(x):
                return {"y": x}

    made = operator(steps, name="fuzz.steps", pure=pure)
    return Own(lambda F, x: made(x))


# customop


def function(module: str = "numpy", power: int = 3) -> Own:
    """x^power by MinPy's way, with its gradient."""

    @customop(module)
    def function(x):
        return x**power

    function.def_grad(lambda ans, x: lambda g: g * power * x ** (power - 1))
    return Own(lambda F, x: function(x))


# CustomOp


class Slope(mxnet.CustomOp):
    """x, times a slope where it is negative; it keeps what it needs from forward to backward."""

    def __init__(self, slope: float, array: str, write: str):
        self.slope, self.array, self.write = slope, array, write

    def forward(self, is_train, req, in_data, out_data, aux):
        x = in_data[0].asnumpy() if self.array == "numpy" else in_data[0]
        self.factor = (x > 0) * 1.0 + (x <= 0) * self.slope
        self._give(out_data[0], req[0], x * self.factor)

    def backward(self, req, out_grad, in_data, out_data, in_grad, aux):
        dy = out_grad[0].asnumpy() if self.array == "numpy" else out_grad[0]
        self._give(in_grad[0], req[0], dy * self.factor)

    def _give(self, to, req, value):
        value = nd.array(value) if self.array == "numpy" and self.write != "assign" else value
        if self.write == "assign":
            self.assign(to, req, value)
        elif self.write == "rows":
            for i in range(len(to)):
                to[i : i + 1] = value[i : i + 1]
        else:
            to[:] = value / 2
            to += value / 2


def slope(
    slope: float = 0.1, array: str = "nd", write: str = "assign", pure: bool | None = None
) -> Own:
    """`Slope`, whose attribute comes as text."""

    @mxnet.register("fuzz.slope")
    class Prop(mxnet.CustomOpProp):
        def __init__(self, slope):
            super().__init__()
            self.pure, self.slope = pure, float(slope)

        def create_operator(self, ctx, shapes, dtypes):
            return Slope(self.slope, array, write)

    return Own(lambda F, x: F.Custom(x, op_type="fuzz.slope", slope=slope))


class Normed(mxnet.CustomOp):
    """x / (1 + s) and s, where s is a state: what |x| was on average."""

    def forward(self, is_train, req, in_data, out_data, aux):
        if is_train:
            aux[0][:] = 0.5 * aux[0] + 0.5 * in_data[0].abs().mean()
        self.scale = 1 + aux[0].asscalar()
        self.assign(out_data[0], req[0], in_data[0] / self.scale)
        self.assign(out_data[1], req[1], aux[0])

    def backward(self, req, out_grad, in_data, out_data, in_grad, aux):
        self.assign(in_grad[0], req[0], out_grad[0] / self.scale)


@mxnet.register("fuzz.normed")
class NormedProp(mxnet.CustomOpProp):
    def list_outputs(self):
        return ["y", "scale"]

    def list_auxiliary_states(self):
        return ["state"]

    def infer_shape(self, in_shape):
        return in_shape, [in_shape[0], [1]], [[1]]

    def create_operator(self, ctx, shapes, dtypes):
        return Normed()


def normed(used: int = 2) -> Own:
    """`Normed`, of whose outputs one may be unused."""

    def call(F, x, state):
        y, s = F.Custom(x, state, op_type="fuzz.normed")
        return (
            F.broadcast_add(F.reshape(y, (1, -1)), F.reshape(s, (1, 1))).reshape_like(y)
            if (used == 2)
            else y
        )

    return Own(call, "state")


LAYERS = {
    f.__name__: f
    for f in (steps, square, squash, weighted, counted, split, moving, function, slope, normed)
}
CHOICES: dict[str, dict[str, tuple]] = {
    "steps": {
        "first": (*STEPS,),
        "then": (*STEPS,),
        "back": (*STEPS,),
        "pure": (True, True, False),
    },
    "square": {"scale": (0.5, 1.0)},
    "squash": {"pure": (True, False)},
    "weighted": {"array": ("nd", "numpy"), "by_name": (False, True)},
    "counted": {},
    "split": {"array": ("nd", "numpy"), "used": (2, 1)},
    "moving": {"pure": (True, False)},
    "function": {"module": ("numpy", "mxnet"), "power": (3, 2)},
    "slope": {
        "array": ("nd", "numpy"),
        "write": ("assign", "rows", "in place"),
        "pure": (None, True),
    },
    "normed": {"used": (2, 1)},
}
