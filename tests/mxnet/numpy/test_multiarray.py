"""``mx.np.ndarray``: indexing, views, writes, conversions, printing, and NumPy's protocols."""

import pickle

import numpy as np
import pytest

torch_only = pytest.mark.engine("torch")
# MXNet itself calls NumPy in ways that NumPy warns of.
pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")


@pytest.fixture(autouse=True)
def numpy_interface(mx):
    with mx.util.np_shape(True), mx.util.np_array(True):
        yield


def test_defaults_of_array(mx):
    kinds = [
        (3, "float32", ()),
        ([1, 2], "float32", (2,)),
        (True, "float32", ()),
        (np.arange(3), "int64", (3,)),
        (np.ones(2), "float64", (2,)),
        (mx.np.ones(2, dtype="int32"), "int32", (2,)),
        ([], "float32", (0,)),
    ]
    for given, dtype, shape in kinds:
        x = mx.np.array(given)
        assert (x.dtype, x.shape) == (np.dtype(dtype), shape)
    assert mx.np.array([1, 2], dtype=int).dtype == np.int64
    assert mx.np.ones((2, 0)).size == 0 and mx.np.ones(()).shape == ()


KEYS = [
    *(0, -1, slice(1, 3), slice(None, None, -1), slice(3, 0, -2), ..., None, (), True, False),
    *((0, 1), (slice(None), 2), (None, 1, ...), (..., 0, None), (slice(None), None, slice(0, 2))),
    *([0, 2], [[0, 1], [2, 0]], (slice(None), [2, 0]), ([0, 1], [1, 2]), ([0, 1], slice(1, 2))),
    *(np.array([True, False, True, True]), np.int64(1), (np.array([0, 1]), 2), ([], slice(None))),
    *((1, [0, 2]), (True, 0), np.ones((4, 3), bool), (slice(None), np.array([True, False, True]))),
]


@torch_only  # MXNet refuses some of them
@pytest.mark.parametrize("key", KEYS, ids=str)
def test_indexing_is_numpys(mx, key):
    values = np.arange(24, dtype="float32").reshape(4, 3, 2)
    if isinstance(key, np.ndarray) and key.shape == (4, 3):
        key[1] = False
    x = mx.np.array(values)
    assert x[key].shape == values[key].shape
    assert np.array_equal(x[key].asnumpy(), values[key])
    x.attach_grad()
    with mx.autograd.record():
        y = x[key]
    y.backward()
    gradient = np.zeros_like(values)
    np.add.at(gradient, key, 1)
    assert np.array_equal(x.grad.asnumpy(), gradient)
    written = mx.np.array(values)
    written[key] = -1
    values[key] = -1
    assert np.array_equal(written.asnumpy(), values)


@torch_only
@pytest.mark.parametrize("key", [5, (0, 3), [4], (0, 0, 0, 0), np.ones((3, 3), bool), 1.5], ids=str)
def test_a_wrong_index(mx, key):
    with pytest.raises(IndexError):
        mx.np.ones((4, 3, 2))[key]


VIEWS = {
    "x[1]": True,
    "x[0:1]": True,
    "x[...]": True,
    "x[None]": True,
    "x[0, 1:2]": True,
    "x.detach()": True,
    "x.as_nd_ndarray()": True,
    "x.reshape_view(3, 2)": True,
    "x.astype('float32', copy=False)": True,
    "x[:, 1]": False,
    "x[::-1]": False,
    "x.reshape(3, 2)": False,
    "x.T": False,
    "x.flatten()": False,
    "x.squeeze()": False,
    "np.expand_dims(x, 0)": False,
    "np.array(x)": False,
    "np.split(x, 2)[0]": False,
    "x.copy()": False,
}


@pytest.mark.parametrize("view", VIEWS)
def test_writes_into_views(mx, view):
    x = mx.np.arange(6).reshape(2, 3).copy()
    y = eval(view, {"x": x, "np": mx.np})  # of the rows above
    y[:] = 7
    assert (x.asnumpy() == 7).any() == VIEWS[view]


def test_writes_of_both_kinds_are_seen(mx):
    x = mx.nd.zeros((2,))
    y = x.as_np_ndarray()
    x[:] = 1
    assert y.tolist() == [1, 1]
    y += 1
    y[0] = 5
    assert x.asnumpy().tolist() == [5, 2]
    y.attach_grad()
    with mx.autograd.record():
        z = (y * y).sum()
    z.backward()
    assert y.grad.tolist() == [10, 4] and type(y.grad) is mx.np.ndarray


def test_in_place(mx):
    x = mx.np.ones((2, 3))
    x += mx.np.ones(3)
    x *= 2
    x -= 1
    x /= 2
    assert x.asnumpy().tolist() == [[1.5] * 3] * 2
    with pytest.raises(Exception, match="expected|inferred"):
        x += mx.np.ones((4, 2, 3))
    with pytest.raises(mx.MXNetError):
        i = mx.np.ones(2, dtype="int32")
        i /= 2
    x.attach_grad()
    with mx.autograd.record():
        y = x * 2
        with pytest.raises(mx.MXNetError):
            y += 1


def test_numbers(mx):
    x = mx.np.array(2.5)
    assert (float(x), int(x), bool(x), x.item(), x.tolist()) == (2.5, 2, True, 2.5, 2.5)
    assert mx.np.array([[1, 2]]).item(1) == 2
    assert f"{x:.1f}" == "2.5" and f"{mx.np.ones(2)}" == "[1. 1.]"
    assert not bool(mx.np.array([]))
    with pytest.raises(ValueError):
        bool(mx.np.ones(2))
    with pytest.raises(TypeError):
        len(x)
    assert mx.np.exp(0.0) == 1 and type(mx.np.add(1, 2)) is np.int64


PRINTED = {
    "np.ones((2, 2))": "array([[1., 1.],\n       [1., 1.]])",
    "np.array(2.5, dtype='float64')": "array(2.5, dtype=float64)",
    "np.array([1, 2], dtype='int64')": "array([1, 2], dtype=int64)",
    "np.ones(2) > 0": "array([ True,  True])",
    "np.zeros((0, 2))": "array([], shape=(0, 2))",
}


@pytest.mark.parametrize("text", PRINTED)
def test_printing(mx, text):
    assert repr(eval(text, {"np": mx.np})) == PRINTED[text]  # of the rows above


def test_numpys_functions_and_ufuncs(mx):
    x = mx.np.array([[1.0, 2.0], [3.0, 4.0]])
    for y, expected in (
        (np.mean(x, axis=0), [2, 3]),
        (np.concatenate([x, x])[3], [3, 4]),
        (np.exp(x * 0), [[1, 1], [1, 1]]),
        (np.add(x, 1), [[2, 3], [4, 5]]),
        (np.linalg.norm(x), 30**0.5),
    ):
        assert type(y) is mx.np.ndarray
        np.testing.assert_allclose(y.asnumpy(), expected, 1e-6)
    assert type(np.cov(x)) is mx.np.ndarray  # which NumPy computes


@torch_only
def test_numpys_arrays_are_operands(mx):
    x = mx.np.ones((2,))
    for y in (x + np.ones(2, "float32"), np.ones(2, "float32") + x, x + [1, 1], [1, 1] + x):
        assert type(y) is mx.np.ndarray and y.tolist() == [2, 2]
    assert np.array_equal(np.asarray(x), [1, 1])


@torch_only
def test_a_fallback_is_not_recorded(mx):
    with mx.autograd.record(), pytest.raises(mx.MXNetError, match="autograd cannot record"):
        mx.np.cov(mx.np.ones((2, 2)))


def test_conversions(mx):
    x = mx.np.array([1.5, 2.5])
    assert type(x.as_nd_ndarray()) is mx.nd.NDArray and x.as_np_ndarray() is x
    assert x.astype("int32").tolist() == [1, 2]
    copied = pickle.loads(pickle.dumps(x))
    assert type(copied) is mx.np.ndarray and copied.tolist() == [1.5, 2.5]
    again = mx.nd.from_dlpack(x.to_dlpack_for_read())
    assert again.asnumpy().tolist() == [1.5, 2.5]


def test_files(mx, tmp_path):
    path = str(tmp_path / "a.npy")
    mx.npx.save(path, {"a": mx.np.ones(()), "b": mx.np.zeros((2, 0))})
    found = mx.npx.load(path)
    assert {n: (type(a), a.shape) for n, a in found.items()} == {
        "a": (mx.np.ndarray, ()),
        "b": (mx.np.ndarray, (2, 0)),
    }
    mx.npx.save(path, [mx.np.ones(2)])
    assert mx.npx.load(path)[0].tolist() == [1, 1]


def test_integers_have_gradients(mx):
    x = mx.np.array([1, 2, 3], dtype="int32")
    x.attach_grad()
    with mx.autograd.record():
        y = mx.np.flip(x * x, 0) + 1
        z = x.reshape(3, 1)
    assert y.dtype == np.int32
    mx.autograd.backward([y, z], [mx.np.array([1, 10, 100], dtype="int32"), None])
    assert x.grad.tolist() == [201, 41, 7] and x.grad.dtype == np.int32


def test_what_is_constant_gives_zeros(mx):
    x = mx.np.array([1.0, 2.0])
    x.attach_grad()
    x.grad[:] = 7
    with mx.autograd.record():
        y = x > 1
    y.backward()
    assert x.grad.tolist() == [0, 0]


@torch_only
def test_integers_of_a_hybridized_block_have_gradients(mx):
    class Net(mx.gluon.HybridBlock):
        def hybrid_forward(self, F, x):
            return F.np.transpose(x) * 3

    net = Net()
    net.hybridize()
    x = mx.np.array([[1, 2]], dtype="int64")
    x.attach_grad()
    with mx.autograd.record():
        y = net(x)
    y.backward()
    assert x.grad.tolist() == [[3, 3]]


@torch_only  # MXNet gives arrays of mx.np only where the operator gets such arrays, too
def test_operators_of_ones_own(mx):
    class Square(mx.operator.CustomOp):
        def forward(self, is_train, req, in_data, out_data, aux):
            self.assign(out_data[0], req[0], in_data[0] * in_data[0])

        def backward(self, req, out_grad, in_data, out_data, in_grad, aux):
            self.assign(in_grad[0], req[0], 2 * in_data[0] * out_grad[0])

    @mx.operator.register("numpy.test_multiarray.square")
    class SquareProp(mx.operator.CustomOpProp):
        def create_operator(self, ctx, shapes, dtypes):
            return Square()

    x = mx.np.array([1.0, 3.0])
    x.attach_grad()
    with mx.autograd.record():
        y = mx.nd.Custom(x, op_type="numpy.test_multiarray.square")
    y.backward()
    assert type(y) is mx.np.ndarray and y.tolist() == [1, 9] and x.grad.tolist() == [2, 6]


@torch_only  # MXNet hands it arrays of mx.nd
def test_a_function_of_autograd(mx):
    class Square(mx.autograd.Function):
        def forward(self, x):
            self.save_for_backward(x)
            return mx.np.square(x)

        def backward(self, dy):
            (x,) = self.saved_tensors
            return 2 * x * dy

    x = mx.np.array(3.0)
    x.attach_grad()
    with mx.autograd.record():
        y = Square()(x)
    y.backward()
    assert type(y) is mx.np.ndarray and y.shape == () and x.grad.item() == 6
