"""Sparse arrays in what uses arrays: gradients, Gluon, graphs, Module, files."""

import numpy as np
import pytest

A = np.float32([[1, 0, 2], [0, 0, 0], [0, 3, 0], [4, 0, -5]])
X = np.float32([[1, 0, 0], [0, 0, 0], [0, 0, 0], [4, 0, 0]])
STYPES = ("default", "row_sparse", "csr")


@pytest.fixture
def nd(mx):
    return mx.nd


@pytest.fixture(autouse=True)
def quiet(monkeypatch):
    monkeypatch.setenv("MXNET_STORAGE_FALLBACK_LOG_VERBOSE", "0")


def same(x, expected, stype=None):
    np.testing.assert_allclose(x.asnumpy(), expected, rtol=1e-5, atol=1e-6)
    assert x.shape == np.shape(expected)
    assert stype is None or x.stype == stype


def rows(x):
    return x.indices.asnumpy().tolist()


# Gradients

FUNCTIONS = {  # of A, and its gradient with respect to A
    "x * 2": (lambda nd, x: x * 2, np.full_like(A, 2)),
    "square": (lambda nd, x: nd.sparse.square(x), 2 * A),
    "sum": (lambda nd, x: nd.sparse.sum(nd.sparse.square(x)), 2 * A),
    "relu": (lambda nd, x: nd.relu(x), np.float32(A > 0)),
    "abs": (lambda nd, x: nd.abs(x), np.sign(A)),
    "x + x": (lambda nd, x: x + x, np.full_like(A, 2)),
    "exp": (lambda nd, x: nd.exp(x), np.exp(A)),
    "tostype": (lambda nd, x: x.tostype("default") * 3, np.full_like(A, 3)),
}


@pytest.mark.parametrize("case", FUNCTIONS)
@pytest.mark.parametrize("stype", STYPES)
def test_gradients(mx, nd, stype, case):
    """At all elements, in the storage type that `attach_grad` was told, or the array's own."""
    function, expected = FUNCTIONS[case]
    for asked in (None, "default", "row_sparse"):
        x = nd.array(A).tostype(stype)
        x.attach_grad(stype=asked)
        with mx.autograd.record():
            y = function(nd, x)
        y.backward()
        same(x.grad, expected, asked or stype)


def gradient(mx, w, function, **options):
    w.attach_grad(**options)
    with mx.autograd.record():
        y = function(w)
    y.backward()
    return w.grad


def test_gradients_of_products(mx, nd):
    x = nd.array(X).tostype("csr")
    for stype in (None, "default", "row_sparse", "csr"):
        g = gradient(mx, nd.ones((3, 2)), lambda w: nd.dot(x, w), stype=stype)
        same(g, X.T @ np.ones((4, 2)), stype or "default")
    for w in (nd.ones((3, 2)), nd.ones((3, 2)).tostype("row_sparse")):
        assert rows(gradient(mx, w, lambda w: nd.dot(x, w), stype="row_sparse")) == [0]
        g = gradient(mx, w, lambda w: nd.dot(x, w * 2), stype="row_sparse")
        same(g, 2 * X.T @ np.ones((4, 2)))
    g = gradient(mx, nd.ones((4, 2)), lambda w: nd.dot(x, w, transpose_a=True), stype="row_sparse")
    same(g, X @ np.ones((3, 2)), "row_sparse")


def looked_up(nd, w, *numbers):
    return nd.Embedding(nd.array(numbers), w, input_dim=4, output_dim=2, sparse_grad=True)


def test_gradients_of_an_embedding(mx, nd):
    expected = np.float32([[0, 0], [2, 2], [0, 0], [1, 1]])
    for w in (nd.ones((4, 2)), nd.ones((4, 2)).tostype("row_sparse")):
        g = gradient(mx, w, lambda w: looked_up(nd, w, 1, 3, 1), stype="row_sparse")
        same(g, expected, "row_sparse")
        assert rows(g) == [1, 3]

        def twice(w):
            return looked_up(nd, w, 1).sum() + looked_up(nd, w, 3, 1).sum()

        g = gradient(mx, w, twice, stype="row_sparse")
        same(g, expected, "row_sparse")
        assert rows(g) == [1, 3]
        g = gradient(mx, w, lambda w: looked_up(nd, w, 1).sum() + (w * w).sum(), stype="row_sparse")
        same(g, 2 + np.float32([[0, 0], [1, 1], [0, 0], [0, 0]]), "row_sparse")


def test_grad_returns_rows(mx, nd):
    w = nd.ones((4, 2))
    w.attach_grad(stype="row_sparse")
    with mx.autograd.record():
        y = looked_up(nd, w, 1, 3, 1)
    (g,) = mx.autograd.grad(y, [w])
    assert (g.stype, rows(g)) == ("row_sparse", [1, 3])


@pytest.mark.parametrize("stype", STYPES[1:])
def test_grad_of_a_sparse_variable(mx, nd, stype):
    x = nd.array(A).tostype(stype)
    x.attach_grad()
    with mx.autograd.record():
        y = nd.sparse.square(x)
    (g,) = mx.autograd.grad(y, [x])
    same(g, 2 * A)


@pytest.mark.engine("torch")  # MXNet's products do not add to a gradient
def test_adding_to_a_gradient(mx, nd):
    x, w = nd.array(X).tostype("csr"), nd.ones((3, 2))
    w.attach_grad("add", stype="row_sparse")
    for _ in range(2):
        with mx.autograd.record():
            y = nd.dot(x, w)
        y.backward()
    same(w.grad, 2 * X.T @ np.ones((4, 2)), "row_sparse")
    assert rows(w.grad) == [0]


@pytest.mark.engine("torch")  # in MXNet an error
def test_a_dense_gradient_of_a_sparse_one(mx, nd):
    g = gradient(mx, nd.ones((4, 2)), lambda w: looked_up(nd, w, 1, 3, 1))
    same(g, [[0, 0], [2, 2], [0, 0], [1, 1]], "default")


def test_writing_what_is_recorded(mx, nd):
    x = nd.array(A).tostype("row_sparse")
    x.attach_grad()
    with mx.autograd.record():
        y = x * 2
        with pytest.raises(mx.base.MXNetError):
            y[:] = nd.array(A)
            y.backward()


@pytest.mark.engine("torch")  # MXNet's BatchNorm takes no sparse states
def test_only_states_are_written(mx, nd):
    x, g, b = nd.array(A).tostype("csr"), nd.ones(3), nd.zeros(3)
    mean, variance = nd.zeros(3), nd.ones((3,)).tostype("row_sparse")
    stored = x._stored
    x.attach_grad()
    with mx.autograd.record():
        y = nd.BatchNorm(x, g, b, mean, variance, momentum=0)
    y.backward()
    assert x._stored is stored and x.grad.stype == "csr"
    same(mean, A.mean(0))
    same(variance, A.var(0), "row_sparse")
    before = variance._stored
    nd.BatchNorm(x, g, b, mean, variance)  # not in training
    assert variance._stored is before


# Gluon


@pytest.mark.parametrize(
    "options", [{}, {"static_alloc": True, "static_shape": True}, None], ids=str
)
def test_embedding(mx, nd, options):
    layer = mx.gluon.nn.Embedding(4, 2, sparse_grad=True)
    layer.initialize()
    if options is not None:
        layer.hybridize(**options)
    for _ in range(3):
        with mx.autograd.record():
            y = layer(nd.array([1, 3, 1]))
        y.backward()
        g = layer.weight.grad()
        assert (g.stype, rows(g)) == ("row_sparse", [1, 3])
        same(g, [[0, 0], [2, 2], [0, 0], [1, 1]])


@pytest.mark.parametrize("hybridize", [False, True])
def test_a_layer_of_a_csr_input(mx, nd, hybridize):
    class Layer(mx.gluon.HybridBlock):
        def __init__(self):
            super().__init__()
            with self.name_scope():
                self.w = self.params.get("w", shape=(3, 2), grad_stype="row_sparse")

        def hybrid_forward(self, F, x, w):
            return F.dot(x, w)

    layer = Layer()
    layer.initialize("ones")
    if hybridize:
        layer.hybridize()
    with mx.autograd.record():
        y = layer(nd.array(X).tostype("csr"))
    y.backward()
    same(y, X @ np.ones((3, 2)), "default")
    g = layer.w.grad()
    same(g, X.T @ np.ones((4, 2)), "row_sparse")
    assert rows(g) == [0]
    layer.w.zero_grad()
    same(g, np.zeros((3, 2)), "row_sparse")


def test_sparse_parameter(mx, nd, tmp_path):
    Parameter = mx.gluon.Parameter
    p = Parameter("w", shape=(4, 2), stype="row_sparse", grad_stype="row_sparse")
    p.initialize("ones", ctx=[mx.cpu(0), mx.cpu(1)])
    ids = nd.array([3, 1, 3])
    for call in (p.data, p.list_data, lambda: p.row_sparse_data(ids)):
        with pytest.raises(RuntimeError):  # of the last there is no Trainer yet
            call()
    trainer = mx.gluon.Trainer([p], "sgd")
    w = p.row_sparse_data(ids)
    assert w.stype == "row_sparse" and w.asnumpy()[[1, 3]].tolist() == [[1, 1], [1, 1]]
    assert [w.context for w in p.list_row_sparse_data(ids)] == [mx.cpu(0), mx.cpu(1)]
    assert p.grad(mx.cpu(1)).stype == "row_sparse" and trainer.learning_rate
    assert p.var().attr("__storage_type__") == "1"
    with pytest.raises(AssertionError):
        Parameter("w", stype="foo")


def test_sparse_embedding(mx, nd, tmp_path):
    net = mx.gluon.contrib.nn.SparseEmbedding(4, 2)
    net.initialize()
    trainers = [mx.gluon.Trainer(net.collect_params(), "sgd")]
    net.weight.set_data(nd.array(np.arange(8).reshape(4, 2)))
    with mx.autograd.record():
        y = net(nd.array([1, 3, 1]))
    y.backward()
    same(y, [[2, 3], [6, 7], [2, 3]])
    assert repr(net) == "SparseEmbedding(4 -> 2, float32)" and rows(net.weight.grad()) == [1, 3]
    net.save_parameters(str(tmp_path / "net.params"))
    assert nd.load(str(tmp_path / "net.params"))["weight"].stype == "row_sparse"
    other = mx.gluon.contrib.nn.SparseEmbedding(4, 2)
    other.load_parameters(str(tmp_path / "net.params"))
    trainers.append(mx.gluon.Trainer(other.collect_params(), "sgd"))
    same(other(nd.array([1, 3, 1])), [[2, 3], [6, 7], [2, 3]])


def test_split_and_load(mx, nd):
    x = nd.array(A).tostype("csr")
    parts = mx.gluon.utils.split_and_load(x, [mx.cpu(0), mx.cpu(1)])
    for part, context, expected in zip(parts, (mx.cpu(0), mx.cpu(1)), (A[:2], A[2:])):
        same(part, expected, "csr")
        assert part.context == context


def test_clip_global_norm(mx, nd):
    x = nd.array(A).tostype("row_sparse")
    norm = mx.gluon.utils.clip_global_norm([x], 1.0)
    np.testing.assert_allclose(norm, np.linalg.norm(A), rtol=1e-6)


# Graphs


def test_executor(mx, nd):
    s = mx.sym
    x, w = s.var("x", stype="csr"), s.var("w", stype="row_sparse")
    e = s.sparse.dot(x, w).bind(
        mx.cpu(),
        {"x": nd.array(X).tostype("csr"), "w": nd.ones((3, 2)).tostype("row_sparse")},
        args_grad={"w": nd.zeros((3, 2), stype="row_sparse")},
        grad_req={"x": "null", "w": "write"},
    )
    (y,) = e.forward(is_train=True)
    same(y, X @ np.ones((3, 2)), "default")
    e.backward(nd.ones((4, 2)))
    same(e.grad_dict["w"], X.T @ np.ones((4, 2)), "row_sparse")
    (y,) = s.cast_storage(s.square(s.var("q")), stype="csr").eval(q=nd.array(A))
    same(y, A * A, "csr")


@pytest.mark.engine("torch")  # MXNet's passes numbers for arrays
@pytest.mark.parametrize("everything", [False, True])
def test_monitor_of_an_executor(mx, nd, everything):
    s = mx.sym
    y = s.square(s.sparse.dot(s.var("x", stype="csr"), s.var("w"), name="d"), name="y")
    arrays = {"x": nd.array(X).tostype("csr"), "w": nd.ones((3, 2))}
    e = y.bind(mx.cpu(), arrays, args_grad={"w": nd.zeros((3, 2))}, grad_req={"w": "write"})
    shown = {}
    e.set_monitor_callback(lambda name, x: shown.update({name: x.asnumpy()}), everything)
    e.forward(is_train=True)
    product = X @ np.ones((3, 2))
    np.testing.assert_allclose(shown[b"d_output"], product)
    np.testing.assert_allclose(shown[b"y_output"], product**2)
    assert (b"w" in shown) is (b"d_lhs" in shown) is everything
    e.backward(nd.ones((4, 2)))
    np.testing.assert_allclose(shown[b"y_backward_output"], 2 * product)
    np.testing.assert_allclose(shown[b"d_backward_output1"], X.T @ (2 * product))
    same(e.grad_dict["w"], X.T @ (2 * product))


SIMPLE_BINDS = {  # a symbol, the shapes, and how arguments and their gradients are stored
    "csr rows": (
        lambda s: s.sparse.dot(s.var("x", stype="csr"), s.var("w", stype="row_sparse")),
        {"x": (4, 3), "w": (3, 2)},
        {"x": "csr", "w": "row_sparse"},
        {"x": "default", "w": "row_sparse"},
    ),
    "csr dense": (
        lambda s: s.dot(s.var("x", stype="csr"), s.var("w")),
        {"x": (4, 3), "w": (3, 2)},
        {"x": "csr", "w": "default"},
        {"x": "default", "w": "row_sparse"},
    ),
    "embedding": (
        lambda s: s.Embedding(s.var("x"), s.var("w"), input_dim=4, output_dim=2, sparse_grad=True),
        {"x": (3,), "w": (4, 2)},
        {"x": "default", "w": "default"},
        {"x": "default", "w": "row_sparse"},
    ),
    "twice": (
        lambda s: (lambda w: s.sum(s.dot(s.var("x", stype="csr"), w)) + s.sum(w))(s.var("w")),
        {"x": (4, 3), "w": (3, 2)},
        {"x": "csr", "w": "default"},
        {"x": "default", "w": "default"},
    ),
}


@pytest.mark.parametrize("case", SIMPLE_BINDS)
def test_simple_bind(mx, case):
    make, shapes, stypes, of_gradients = SIMPLE_BINDS[case]
    e = make(mx.sym).simple_bind(mx.cpu(), **shapes)
    assert {n: a.stype for n, a in e.arg_dict.items()} == stypes
    assert {n: a.stype for n, a in e.grad_dict.items()} == of_gradients


def test_module(mx, nd):
    """A linear regression on a csr matrix, whose weights and gradients are rows."""
    x, w = mx.sym.var("data", stype="csr"), mx.sym.var("w_weight", shape=(3, 1), stype="row_sparse")
    symbol = mx.sym.LinearRegressionOutput(mx.sym.dot(x, w), mx.sym.var("label"))
    module = mx.mod.Module(symbol, data_names=["data"], label_names=["label"])
    label = A @ np.float32([[1], [2], [3]])
    values = nd.array(A).tostype("csr"), {"label": nd.array(label)}
    data = mx.io.NDArrayIter(*values, 4, last_batch_handle="discard")
    module.bind(data.provide_data, data.provide_label)
    module.init_params(mx.init.One())
    assert module._arg_params["w_weight"].stype == "row_sparse"
    module.init_optimizer(optimizer_params={"learning_rate": 0.01, "rescale_grad": 1})
    for batch in data:
        module.forward(batch)
        module.backward()
        module.update()
    expected = 1 - 0.01 * A.T @ (A @ np.ones((3, 1)) - label)
    same(module.get_params()[0]["w_weight"], expected)


# Files


def test_files(mx, nd, tmp_path):
    path = str(tmp_path / "x.params")
    x = {stype: nd.array(A).tostype(stype) for stype in STYPES}
    x["nothing"] = nd.zeros((3, 2), stype="row_sparse")
    x["no cells"] = nd.zeros((3, 2), stype="csr")
    nd.save(path, x)
    loaded = nd.load(path)
    for name, array in x.items():
        same(loaded[name], array.asnumpy(), array.stype)
        if array.stype != "default":
            assert rows(loaded[name]) == rows(array)
            assert loaded[name].data.asnumpy().tolist() == array.data.asnumpy().tolist()
    nd.save(path, [x["csr"]])
    same(nd.load(path)[0], A, "csr")


@pytest.mark.engine("torch")
def test_a_sparse_array_of_a_file_takes_no_more_than_its_rows(nd, tmp_path):
    path = tmp_path / "x.params"
    x = nd.sparse.row_sparse_array((np.ones((1, 1 << 20)), [5]), shape=(1 << 30, 1 << 20))
    nd.save(path, x)
    assert nd.load(path)[0].shape == x.shape
    data = path.read_bytes()
    path.write_bytes(data[:-16] + (1 << 30).to_bytes(8, "little") + data[-8:])  # a row beyond
    with pytest.raises(ValueError, match=r"x\.params, array 0 of 1: row numbers go from"):
        nd.load(path)


# Custom operators


@pytest.fixture
def square_of_sparse(mx):
    """Its name; its state keeps three times the last input."""

    class Square(mx.operator.CustomOp):
        def forward(self, is_train, req, in_data, out_data, aux):
            assert in_data[0].stype == aux[0].stype == "default"
            aux[0][:] = in_data[0] * 3
            self.assign(out_data[0], req[0], in_data[0] * in_data[0])

        def backward(self, req, out_grad, in_data, out_data, in_grad, aux):
            self.assign(in_grad[0], req[0], 2 * in_data[0] * out_grad[0])

    @mx.operator.register("square_of_sparse")
    class SquareProp(mx.operator.CustomOpProp):
        def list_auxiliary_states(self):
            return ["kept"]

        def infer_shape(self, shapes):
            return shapes, shapes, shapes

        def create_operator(self, ctx, shapes, dtypes):
            return Square()

    return "square_of_sparse"


@pytest.mark.engine("torch")  # in MXNet an error, unless the Prop names storage types
@pytest.mark.parametrize("stype", ["csr", "row_sparse"])
def test_a_custom_operator_gets_dense_copies(mx, nd, square_of_sparse, stype):
    """Of its inputs and of its states, which keep their storage type."""
    x = nd.array(A).tostype(stype)
    kept = nd.zeros_like(x)
    x.attach_grad()
    with mx.autograd.record():
        y = nd.Custom(x, kept, op_type=square_of_sparse)
    y.backward()
    same(y, A * A, "default")
    same(x.grad, 2 * A, stype)
    same(kept, 3 * A, stype)


@pytest.mark.engine("torch")
@pytest.mark.parametrize("stype", ["csr", "row_sparse"])
def test_a_custom_operator_in_a_graph_of_sparse_arrays(mx, nd, square_of_sparse, stype):
    x = mx.sym.Variable("x", stype=stype)
    graph = mx.sym.Custom(x, name="square", op_type=square_of_sparse)
    array, kept = nd.array(A).tostype(stype), nd.zeros(A.shape, stype=stype)
    executor = graph.bind(mx.cpu(), [array], [nd.zeros_like(array)], aux_states=[kept])
    executor.forward(is_train=True)
    executor.backward(nd.ones(A.shape))
    same(executor.outputs[0], A * A)
    same(executor.grad_dict["x"], 2 * A, stype)
    same(kept, 3 * A, stype)
