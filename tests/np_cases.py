"""The cases of ``mx.np`` and ``mx.npx``: expressions of inputs x, y, z, one line each.

They are held to NumPy, and to MXNet's values, which `pytest --engine mxnet --record` writes into
tests/golden/np.npz.
"""

from __future__ import annotations

import zlib
from dataclasses import dataclass, field

import numpy as np
from case import Input, as_, ints, positive, still, unit, values

CASES: dict[str, NPCase] = {}


@dataclass
class NPCase:
    """One expression of arrays.

    like_numpy: False where NumPy has no such function. like_mxnet: False where MXNet is wrong, or
    refuses it. mxnet_gradient: False where MXNet's gradient is wrong. in_graph: False where a
    Symbol has no such function. grad: False leaves the gradients out.
    """

    expression: str
    inputs: list[Input]
    like_numpy: bool = True
    like_mxnet: bool = True
    mxnet_gradient: bool = True
    in_graph: bool = True
    grad: bool = True
    id: str = field(init=False)

    def __post_init__(self):
        self.id = f"{self.expression}|{','.join(i.id for i in self.inputs)}".replace(" ", "")

    def values(self) -> list[np.ndarray]:
        """The inputs' values: the same ones on each run, and on each NumPy."""
        random = np.random.RandomState(zlib.crc32(self.id.encode()))
        return [i.make(random) for i in self.inputs]

    def heads(self, outputs: list[np.ndarray]) -> list[np.ndarray]:
        """The head gradients, in the shapes and types of the outputs."""
        random = np.random.RandomState(zlib.crc32(f"{self.id} heads".encode()))
        return [np.asarray(random.uniform(-1, 1, y.shape), y.dtype) for y in outputs]

    def evaluate(self, **names):
        """Return the outputs as a list; `names` are np, npx and the inputs."""
        found = eval(self.expression, names)  # of the rows below
        several = isinstance(found, (list, tuple)) or hasattr(found, "list_outputs")
        return list(found) if several else [found]


def case(expression: str, *inputs, **options) -> None:
    """Add a case, or with {} in the expression one for each of ``names="exp sin"``."""
    for name in options.pop("names", "").split() or [""]:
        made = NPCase(expression.replace("{}", name), [Input.of(i) for i in inputs], **options)
        if made.id in CASES:
            raise ValueError(f"the case {made.id} is there twice")
        CASES[made.id] = made


I32 = as_("int32", (2, 3))
F64 = as_("float64", (2, 3))

ANYWHERE = "exp expm1 sin cos tan arctan sinh cosh tanh arcsinh abs absolute fabs negative square \
degrees radians cbrt"
case("np.{}(x)", (2, 3, 4), names=ANYWHERE)
case("np.{}(x)", (), names=ANYWHERE)
case("np.{}(x)", (7,), names="rad2deg deg2rad", like_mxnet=False)  # MXNet's raise an error
case("np.{}(x)", as_("float64", (7,)), names="exp sin negative square")
case("np.{}(x)", as_("float16", positive(2, 1)), names="exp log sqrt abs")
case("np.{}(x)", positive(2, 3), names="sqrt log log2 log10 log1p reciprocal")
case("np.{}(x)", unit(7), names="arcsin arccos arctanh")
case("np.arccosh(1 + x)", positive(2, 3))
STEPS = "sign floor ceil trunc fix rint around round_ logical_not"
case("np.{}(x * 3)", (2, 3), names=STEPS)
case("np.around(x, 2)", (7,))
case("np.around(x, -1)", as_("int32", values(14, 25, -35)), like_mxnet=False)
case("np.{}(x)", values(np.nan, np.inf, -np.inf, 1), names="isnan isinf isfinite isposinf isneginf")
case("np.nan_to_num(x)", values(1, 2, np.nan, np.inf, -np.inf), grad=False)
case("np.nan_to_num(x, nan=2.0, posinf=5.0, neginf=-5.0)", values(1, 2, np.nan, np.inf, -np.inf))
case("np.{}(x)", I32, names="bitwise_not invert abs negative sign square")
case("np.exp(x)", I32, like_mxnet=False)  # MXNet truncates the exponentials of integers

BOTH = "add subtract multiply divide true_divide mod remainder"
case("np.{}(x, y)", (2, 3), (2, 3), names=BOTH)
case("np.{}(x, y)", (2, 3), (3,), names=BOTH)
case("np.{}(x, y)", (2, 1), (), names=BOTH)
case("np.{}(x, 2)", (2, 3), names=BOTH + " maximum minimum hypot arctan2")
case("np.{}(2.5, x)", (2, 3), names=BOTH + " maximum minimum hypot")
case("np.arctan2(2.5, x)", (2, 3), mxnet_gradient=False)
case("np.copysign(x, 2)", (2, 3), grad=False)
case("np.copysign(2.5, x)", (2, 3), grad=False)
case("np.power(x, y)", positive(2, 3), (3,))
case("np.power(x, 2)", (2, 3))
case("np.power(2.5, x)", (2, 3))
case("np.{}(x, y)", (2, 3), (2, 1), names="maximum minimum hypot arctan2 copysign")
case("np.{}(x, y)", I32, as_("float32", (2, 3)), names="add subtract multiply true_divide")
case("np.{}(x, y)", as_("int8", (3,)), as_("int64", (3,)), names="add multiply")
case("np.true_divide(x, y)", as_("int32", (3,)), values(1, 2, 4, dtype="int32"))
case("np.{}(x, y)", I32, I32, names="bitwise_and bitwise_or bitwise_xor lcm add")
case("np.{}(x, 6)", I32, names="bitwise_and bitwise_or bitwise_xor lcm add multiply")
case("np.ldexp(x, y)", (3,), values(1, 2, -1), like_numpy=False)
case("np.ldexp(x, 2)", (3,), grad=False)
case("np.ldexp(2.0, x)", values(1, 2, 3), like_numpy=False, grad=False)
COMPARED = "equal not_equal greater greater_equal less less_equal"
case("np.{}(x, y)", values(1, 2, 3), values(3, 2, 1), names=COMPARED)
case("np.{}(x, 2)", values(1, 2, 3), names=COMPARED)
case("np.{}(2, x)", values(1, 2, 3), names=COMPARED)
case("2 - x / 4 + x ** 2 * 3 - 1 / (x * x + 1)", (2, 3))
case("-abs(x) % 2", (2, 3), grad=False)
case("(x > y) | ~(x < 0)", (2, 3), (3,), like_mxnet=False)

OVER = "sum mean prod product max amax min amin all any sometrue"
case("np.{}(x)", (2, 3, 4), names=OVER)
case("np.{}(x)", (), names="sum mean prod max min")
case("np.{}(x, axis=1)", (2, 3, 4), names=OVER)
case("np.{}(x, axis=(0, 2), keepdims=True)", (2, 3, 4), names=OVER)
case("np.{}(x, axis=-1)", I32, names="sum prod max min all any")
case("np.{}(x)", I32, names="mean", like_numpy=False)
case("np.{}(x)", as_("bool", (2, 3)), names="sum prod all any")
case("np.{}(x, dtype='float64')", (2, 3), names="sum mean prod")
case("np.sum(x, axis=1, initial=2.0)", (2, 3), like_mxnet=False)
case("np.sum(x)", (2, 0))
case("np.{}(x)", (2, 3, 4), names="var std", grad=False)
case("np.{}(x, axis=(0, 1), ddof=1, keepdims=True)", (2, 3, 4), names="var std", grad=False)
case("np.{}(x)", (2, 3, 4), names="argmax argmin")
case("np.{}(x, axis=1)", (2, 3, 4), names="argmax argmin")
case("np.cumsum(x)", (2, 3))
case("np.cumsum(x, axis=1)", (2, 3))
case("np.average(x)", (2, 3))
case("np.average(x, axis=1, weights=y)", (2, 3), positive(3))
case(
    "np.average(x, axis=0, weights=y, returned=True)",
    (2, 3),
    positive(2),
    grad=False,
    like_mxnet=False,
)
case("np.percentile(x, 30)", (2, 3), grad=False)
case("np.percentile(x, y, axis=1)", (2, 3), still(values(10, 50)), grad=False)
case("np.quantile(x, 0.3, axis=0, keepdims=True)", (2, 3), grad=False)
case("np.percentile(x, 50, interpolation='lower')", (7,), grad=False)

case("np.reshape(x, (3, -1))", (2, 3))
case("x.reshape(3, 2)", (2, 3))
case("x.T", (2, 3))
case("np.transpose(x)", (2, 3, 4))
case("np.transpose(x, (1, 0, 2))", (2, 3, 4))
case("np.squeeze(x)", (1, 3, 1))
case("np.squeeze(x, axis=0)", (1, 3, 1))
case("np.expand_dims(x, 1)", (2, 3))
case("np.swapaxes(x, 0, 2)", (2, 3, 4))
case("np.moveaxis(x, 0, -1)", (2, 3, 4))
case("np.moveaxis(x, (0, 1), (1, 2))", (2, 3, 4))
case("np.roll(x, 2)", (2, 3))
case("np.roll(x, (1, 2), axis=(0, 1))", (2, 3))
case("np.flip(x, 1)", (2, 3))
case("np.{}(x)", (2, 3), names="flipud fliplr ravel diag diagflat tril copy diagonal trace")
case("np.rot90(x)", (2, 3), mxnet_gradient=False)
case("np.diag(x, k=1)", (3,))
case("np.tril(x, k=-1)", (3, 3))
case("np.trace(x, offset=1)", (3, 3, 2))
case("np.diagonal(x, 1, 1, 2)", (2, 3, 3))
case("np.broadcast_to(x, (2, 3))", (3,))
case("np.broadcast_arrays(x, y)", (3,), (2, 1), in_graph=False)
case("np.atleast_{}(x)", (), names="1d 2d 3d", mxnet_gradient=False)
case("np.atleast_{}(x, y)", (3,), (2, 3), names="1d 2d 3d", mxnet_gradient=False)
case("np.concatenate([x, y], axis=1)", (2, 3), (2, 1))
case("np.concatenate([x, y], axis=None)", (2, 3), (2, 1))
case("np.stack([x, y], axis=1)", (2, 3), (2, 3))
case("np.{}([x, y])", (2, 3), (2, 3), names="vstack hstack dstack column_stack row_stack")
case("np.{}([x, y])", (3,), (3,), names="vstack hstack dstack column_stack row_stack")
case("np.append(x, y)", (2, 3), (3,))
case("np.append(x, y, axis=0)", (2, 3), (1, 3))
case("np.split(x, 3, axis=1)", (2, 3))
case("np.split(x, (1, 3))", (4, 2))
case("np.array_split(x, 3)", (7,))
case("np.hsplit(x, 3)", (2, 3))
case("np.hsplit(x, 2)", (4,))
case("np.vsplit(x, 2)", (2, 3))
case("np.dsplit(x, (1,))", (2, 3, 2))
case("np.tile(x, (2, 1))", (2, 3))
case("np.tile(x, 2)", (3,))
case("np.repeat(x, 2)", (2, 3))
case("np.repeat(x, 2, axis=1)", (2, 3))
case("np.resize(x, (4, 2))", (2, 3), like_mxnet=False)
case("np.pad(x, ((1, 2), (0, 1)))", (2, 3))
case(
    "np.pad(x, ((1, 2), (2, 1)), mode='{}')",
    (3, 3),
    names="edge reflect symmetric",
    like_mxnet=False,
)
case("np.pad(x, ((1, 2), (0, 1)), mode='{}')", (3, 3), names="maximum minimum", grad=False)
case("np.clip(x, -0.5, 0.5)", (2, 3))
case("np.clip(x, None, 0.5)", (2, 3))
case("np.diff(x)", (2, 3))
case("np.diff(x, n=2, axis=0)", (4, 3))
case("np.ediff1d(x)", (4,))
case("np.ediff1d(x, to_begin=y, to_end=9)", (4,), (2,))
case("np.sort(x, axis=0)", (4, 3))
case("np.argsort(x)", (4, 3))
case("np.unique(x)", values(3, 1, 3, 2), grad=False)
case("np.unique(x, True, True, True)", values(3, 1, 3, 2), grad=False)
case("np.meshgrid(x, y)", (2,), (3,), in_graph=False)
case("np.meshgrid(x, y, indexing='ij')", (2,), (3,), in_graph=False)

case("np.take(x, y, axis=1)", (2, 3), ints((2,), 3), grad=False, like_numpy=False)
case("np.take(x, y)", (2, 3), values(0, 5, 1, dtype="int32"))
case("np.take(x, y, axis=0, mode='clip')", (2, 3), values(0, 5, dtype="int32"))
case("np.take(x, y, axis=0, mode='wrap')", (2, 3), values(0, 5, dtype="int32"))
case("np.where(x > 0, x, y)", (2, 3), (3,))
case("np.where(x > 0, x, 2)", (2, 3), mxnet_gradient=False)
case("np.where(x > 0, 2, x)", (2, 3), mxnet_gradient=False)
case("np.where(x > 0, 1, 0)", (2, 3), like_numpy=False, grad=False)
case("np.where(x > 0)", (2, 3), in_graph=False)
case("np.nonzero(x > 0)", (2, 3), in_graph=False)
case("np.bincount(x)", values(1, 1, 4, dtype="int64"))
case("np.bincount(x, y)", values(1, 1, 4, dtype="int64"), positive(3), grad=False)
case("np.histogram(x, 4, (-2, 2))", (20,), grad=False)
case("np.diag_indices_from(x)", (3, 3), in_graph=False)
case("np.unravel_index(x, (2, 3))", values(1, 5, dtype="int64"), in_graph=False)
case("np.delete(x, {}, axis=1)", (2, 4), names="1 -1 slice(0,3,2)")
case("np.delete(x, y)", (5,), values(1, 3, dtype="int64"))
case("np.insert(x, {}, 9, axis=1)", (2, 4), names="1 -1 slice(0,3,2)", like_mxnet=False)
case("np.insert(x, 1, y, axis=0)", (2, 3), (3,))
case("np.insert(x, y, z)", (5,), values(1, 3, dtype="int64"), (2,))
case("x[{}]", (4, 3), names="0 -1 1:3 ::-1 (0,1) (slice(None),2) (None,1)")
case("x[{}]", (4, 3), names="... (...,None,0)", in_graph=False)
case("x[x > 0]", (4, 3), in_graph=False, grad=False)
case("x[y]", (4, 3), values(0, 2, 0, dtype="int32"), in_graph=False)
case("x[y, 1]", (4, 3), values(0, 2, 0, dtype="int32"), in_graph=False)
case("x[:, y]", (4, 3), values(0, 2, 0, dtype="int32"), in_graph=False)

case("np.dot(x, y)", (2, 3), (3, 4))
case("np.dot(x, y)", (3,), (3,))
case("np.dot(x, y)", (2, 3), (3,))
case("np.dot(x, y)", (2, 3, 4), (4, 2))
case("np.dot(x, y)", (2, 4), (3, 4, 2))
case("np.dot(x, y)", (2, 3), ())
case("np.matmul(x, y)", (2, 3), (3, 4))
case("np.matmul(x, y)", (2, 1, 3, 4), (5, 4, 2), mxnet_gradient=False)
case("np.matmul(x, y)", (3,), (2, 3, 4))
case("x @ y", (2, 3), (3,), like_mxnet=False)
case("np.tensordot(x, y)", (2, 3, 4), (3, 4, 2))
case("np.tensordot(x, y, axes=1)", (2, 3), (3, 4))
case("np.tensordot(x, y, axes=((0, 1), (1, 0)))", (2, 3, 4), (3, 2, 5))
case("np.{}(x, y)", (3,), (3,), names="inner outer vdot")
case("np.inner(x, y)", (2, 3), (4, 3))
case("np.einsum('ij,jk->ik', x, y)", (2, 3), (3, 4))
case("np.einsum('ii->i', x)", (3, 3), mxnet_gradient=False)
case("np.einsum('bij,bjk->bik', x, y)", (2, 3, 4), (2, 4, 2))
case("np.polyval(x, y)", (3,), (2,))
SPD = "np.dot(x, x.T) + 3 * np.eye(3)"
case("np.linalg.{}(" + SPD + ")", (3, 4), names="inv det cholesky")
case("np.linalg.slogdet(" + SPD + ")", (3, 4))
case("np.linalg.svd(x)[1]", (3, 4), in_graph=False, grad=False)
case("np.linalg.{}(" + SPD + ")", (3, 4), names="eigvalsh", grad=False)
case("np.linalg.eigh(" + SPD + ")[0]", (3, 4), in_graph=False, grad=False)
case("np.sort(np.linalg.eigvals(" + SPD + "))", (3, 4), grad=False)
case("np.sort(np.linalg.eig(" + SPD + ")[0])", (3, 4), in_graph=False, grad=False)
case("np.linalg.solve(" + SPD + ", y)", (3, 4), (3, 2))
case("np.linalg.pinv(x)", (2, 3), grad=False)
case("np.linalg.tensorinv(" + SPD + ", ind=1)", (3, 4))
case("np.linalg.tensorsolve(" + SPD + ", y)", (3, 4), (3,))
case("np.linalg.norm(x)", (2, 3))
case("np.linalg.norm(x, axis=1)", (2, 3))
case("np.linalg.norm(x, ord={}, axis=1)", (2, 3), names="1 2", grad=False)
case("np.linalg.norm(x, ord=float('inf'), axis=1)", (2, 3), like_mxnet=False)
case("np.linalg.norm(x, ord='{}')", (3, 3), names="fro nuc", grad=False)

case("np.zeros((2, 3))")
case("np.ones(3, dtype='int32')")
case("np.full((2,), 3.5)")
case("np.eye(3, 4, k=1)")
case("np.identity(3)")
case("np.arange(2, 5, 0.5)")
case("np.arange(4)", like_numpy=False)
case("np.linspace(0, 1, 5)")
case("np.linspace(0, 1, 5, endpoint=False)")
case("np.logspace(0, 2, 4)")
case("np.indices((2, 3))")
case("np.{}(5)", names="hanning hamming blackman")
case("np.{}_like(x)", (2, 3), names="zeros ones")
case("np.full_like(x, 3)", I32)

case("npx.{}(x)", (2, 3), names="relu sigmoid softmax log_softmax erf", like_numpy=False)
case("npx.{}(x)", positive(2, 3), names="gamma gammaln", like_numpy=False)
case("npx.erfinv(x)", unit(3), like_numpy=False)
case("npx.reshape(x, (-2, -1))", (2, 3, 4), like_numpy=False)
case("npx.reshape(x, (-6, 2, -1, -4))", (4, 3, 2), like_numpy=False)
case("npx.reshape(x, (-4, -1, 3, -6), reverse=True)", (8, 5, 4, 6), like_numpy=False)
case("npx.nonzero(x > 0)", (2, 3), like_numpy=False)
case("npx.pick(x, y)", (2, 3), ints((2,), 3), like_numpy=False)
case("npx.one_hot(x, 3)", ints((2,), 3), like_numpy=False)
case("npx.topk(x, k=2)", (2, 3), like_numpy=False)
case("npx.constraint_check(x > -100, 'too small')", (2, 3), like_numpy=False)
case("npx.batch_dot(x, y)", (2, 3, 4), (2, 4, 2), like_numpy=False)
case("npx.fully_connected(x, y, z, num_hidden=4)", (2, 3), (4, 3), (4,), like_numpy=False)
case("npx.activation(x, act_type='tanh')", (2, 3), like_numpy=False)
case("npx.layer_norm(x, y, z)", (2, 3), (3,), (3,), like_numpy=False, grad=False)
