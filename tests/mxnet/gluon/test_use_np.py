"""Gluon under the switches of ``mx.np``: layers and losses compute what they do of ``mx.nd``."""

import numpy as np
import pytest

# MXNet's own layers and losses raise errors there, about half of them.
torch_only = pytest.mark.engine("torch")
IMAGE, ROWS, STEPS = (2, 4, 8, 8), (3, 6), (5, 2, 4)
LAYERS = {
    "nn.Dense(4)": ROWS,
    "nn.Dense(4, activation='tanh', flatten=False)": STEPS,
    "nn.Dropout(0.5)": ROWS,
    "nn.BatchNorm()": IMAGE,
    "nn.LayerNorm()": ROWS,
    "nn.InstanceNorm()": IMAGE,
    "nn.GroupNorm(2)": IMAGE,
    "nn.Conv1D(3, 3)": (2, 4, 8),
    "nn.Conv2D(3, 3, padding=1, activation='relu')": IMAGE,
    "nn.Conv2DTranspose(3, 3)": IMAGE,
    "nn.MaxPool2D()": IMAGE,
    "nn.AvgPool2D()": IMAGE,
    "nn.GlobalAvgPool2D()": IMAGE,
    "nn.GlobalMaxPool2D()": IMAGE,
    "nn.Flatten()": IMAGE,
    "nn.ReflectionPad2D(1)": IMAGE,
    "nn.LeakyReLU(0.1)": ROWS,
    "nn.PReLU()": ROWS,
    "nn.ELU()": ROWS,
    "nn.SELU()": ROWS,
    "nn.GELU()": ROWS,
    "nn.Swish()": ROWS,
    "nn.Activation('sigmoid')": ROWS,
    "nn.HybridLambda(lambda F, x: F.npx.relu(x) if is_np else F.relu(x))": ROWS,
    "nn.Embedding(7, 3)": None,
    "rnn.LSTM(4)": STEPS,
    "rnn.GRU(4, 2, bidirectional=True)": STEPS,
    "rnn.RNN(4)": STEPS,
}
LOSSES = {
    "L2Loss()": (ROWS, ROWS),
    "L1Loss()": (ROWS, ROWS),
    "HuberLoss()": (ROWS, ROWS),
    "LogisticLoss()": (ROWS, ROWS),
    "SigmoidBinaryCrossEntropyLoss()": (ROWS, ROWS),
    "SigmoidBinaryCrossEntropyLoss(from_sigmoid=True)": ("unit", "unit"),
    "SoftmaxCrossEntropyLoss()": (ROWS, "label"),
    "SoftmaxCrossEntropyLoss(sparse_label=False)": (ROWS, ROWS),
    "KLDivLoss()": (ROWS, ROWS),
    "HingeLoss()": (ROWS, ROWS),
    "SquaredHingeLoss()": (ROWS, ROWS),
    "PoissonNLLLoss()": (ROWS, "unit"),
    "CosineEmbeddingLoss()": (ROWS, ROWS, (3,)),
    "TripletLoss()": (ROWS, ROWS, ROWS),
    "CTCLoss()": ((2, 5, 4), "sequence"),
}


def made(shape, seed=0):
    random = np.random.RandomState(seed)
    if shape is None:
        return random.randint(0, 7, (2, 3)).astype("float32")
    if shape == "label":
        return random.randint(0, 6, (3,)).astype("float32")
    if shape == "sequence":
        return np.array([[0, 1], [2, 2]], "float32")
    if shape == "unit":
        return random.uniform(0.1, 0.9, ROWS).astype("float32")
    return random.standard_normal(shape).astype("float32")


def computed(mx, make, values, is_np, hybridize):
    """The output, and the gradients of the first input and of the parameters."""
    array = mx.np.array if is_np else mx.nd.array
    inputs = [array(v, dtype=v.dtype) for v in values]
    inputs[0].attach_grad()
    net = make()
    net.initialize(mx.init.Constant(0.1))
    if hybridize:
        net.hybridize()
    with mx.autograd.record(train_mode=False):
        y = net(*inputs)
    kind = mx.np.ndarray if is_np else mx.nd.NDArray
    assert type(y) is kind
    y.backward()
    parameters = [p for p in net.collect_params().values() if p.grad_req != "null"]
    assert all(type(p.data()) is kind and type(p.grad()) is kind for p in parameters)
    gradients = [inputs[0].grad, *[p.grad() for p in parameters]]
    return [x.asnumpy() for x in (y, *gradients)]


def compare(mx, text, values, hybridize):
    names = {"nn": mx.gluon.nn, "rnn": mx.gluon.rnn, **vars(mx.gluon.loss)}
    expected = computed(mx, lambda: eval(text, names | {"is_np": False}), values, False, False)
    with mx.util.np_shape(True), mx.util.np_array(True):
        found = computed(mx, lambda: eval(text, names | {"is_np": True}), values, True, hybridize)
    for y, other in zip(found, expected):
        np.testing.assert_allclose(y, other, 1e-5, 1e-5)


hybridized = pytest.mark.parametrize("hybridize", [False, True], ids=["eager", "hybridized"])


@torch_only
@hybridized
@pytest.mark.parametrize("layer", LAYERS)
def test_layers(mx, layer, hybridize):
    compare(mx, layer, [made(LAYERS[layer])], hybridize)


@torch_only
@hybridized
@pytest.mark.parametrize("loss", LOSSES)
def test_losses(mx, loss, hybridize):
    values = [made(shape, seed) for seed, shape in enumerate(LOSSES[loss])]
    compare(mx, loss, values, hybridize)


@hybridized
def test_training(mx, hybridize):
    def trained(is_np):
        array = mx.np.array if is_np else mx.nd.array
        net = mx.gluon.nn.HybridSequential()
        net.add(mx.gluon.nn.Dense(8, activation="relu"), mx.gluon.nn.Dense(6))
        net.initialize(mx.init.Constant(0.05))
        if hybridize:
            net.hybridize()
        loss = mx.gluon.loss.SoftmaxCrossEntropyLoss()
        trainer = mx.gluon.Trainer(net.collect_params(), "adam", {"learning_rate": 0.1})
        x, label = array(made((3, 5))), array(made("label"))
        for _ in range(3):
            with mx.autograd.record():
                y = loss(net(x), label)
            y.backward()
            trainer.step(3)
        return y.asnumpy()

    expected = trained(False)
    with mx.util.np_shape(True), mx.util.np_array(True):
        found = trained(True)
    np.testing.assert_allclose(found, expected, 1e-5, 1e-5)


@torch_only
def test_export_and_import(mx, tmp_path):
    @mx.util.use_np
    class Net(mx.gluon.HybridBlock):
        def __init__(self):
            super().__init__()
            with self.name_scope():
                self.dense = mx.gluon.nn.Dense(3)

        def hybrid_forward(self, F, x):
            return F.np.tanh(self.dense(x)[:, 1:]) * 2 + F.np.ones((1, 2))

    net = Net()
    net.initialize()
    net.hybridize()
    with mx.util.np_shape(True), mx.util.np_array(True):
        x = mx.np.array(made(ROWS))
        y = net(x)
        files = net.export(str(tmp_path / "net"))
        read = mx.gluon.SymbolBlock.imports(files[0], ["data"], files[1])
        again = read(x)
    assert type(again) is mx.np.ndarray
    assert np.array_equal(again.asnumpy(), y.asnumpy())


@pytest.mark.filterwarnings("ignore:ndarray.as_in_context")  # which MXNet itself calls
def test_what_gluon_makes(mx):
    data = mx.gluon.data
    with mx.util.np_shape(True), mx.util.np_array(True):
        kind = mx.np.ndarray
        for workers in (0, 1):
            set_of = data.ArrayDataset(made((4, 3)), made((4,)))
            x, y = next(iter(data.DataLoader(set_of, 2, num_workers=workers)))
            assert type(x) is kind and type(y) is kind and x.shape == (2, 3)
        parts = mx.gluon.utils.split_and_load(made((4, 3)), [mx.cpu(0), mx.cpu(1)])
        assert [type(part) for part in parts] == [kind, kind]
        cell = mx.gluon.rnn.LSTM(3)
        cell.initialize()
        states = cell.begin_state(batch_size=2)
        assert all(type(state) is kind for state in states)
        constant = mx.gluon.Constant("c", mx.np.ones(2))
        constant.initialize()
        assert type(constant.data()) is kind
    x, _ = next(iter(data.DataLoader(set_of, 2)))
    assert type(x) is mx.nd.NDArray
