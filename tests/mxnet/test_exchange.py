"""Blocks as modules of PyTorch and modules as Blocks, .safetensors files, and ONNX."""

import copy
import importlib
import logging
import os
import pickle
import subprocess
import sys
import warnings

import numpy as np
import pytest
from repeated import first_alone

torch = pytest.importorskip("torch", reason="layers.mxnet is MXNet's API on PyTorch")

import layers  # noqa: E402 - torch first
import layers.mxnet as mx  # noqa: E402 - torch first
from layers import _arrays  # noqa: E402 - torch first
from layers.mxnet import autograd, gluon, nd  # noqa: E402 - torch first
from layers.mxnet._files.torch_export import open_sizes, trace  # noqa: E402 - torch first
from layers.mxnet.base import ArgumentError, ContextError, MXNetError  # noqa: E402 - torch first
from layers.mxnet.gluon import nn  # noqa: E402 - torch first
from layers.mxnet.gluon._nesting import BlockError  # noqa: E402 - torch first
from layers.mxnet.gluon._torch import ModuleBlock  # noqa: E402 - torch first

pytestmark = pytest.mark.engine("torch")

CLOSE = {"rtol": 1e-5, "atol": 1e-5}


class NumpySigmoid(mx.operator.CustomOp):
    def forward(self, is_train, req, in_data, out_data, aux):
        x = in_data[0].asnumpy()
        self.assign(out_data[0], req[0], nd.array(1 / (1 + np.exp(-x))))

    def backward(self, req, out_grad, in_data, out_data, in_grad, aux):
        y, dy = out_data[0].asnumpy(), out_grad[0].asnumpy()
        self.assign(in_grad[0], req[0], nd.array(dy * y * (1 - y)))


class NumpySoftmax(mx.operator.CustomOp):
    def forward(self, is_train, req, in_data, out_data, aux):
        x = in_data[0].asnumpy()
        y = np.exp(x - x.max(axis=1).reshape((x.shape[0], 1)))
        y /= y.sum(axis=1).reshape((x.shape[0], 1))
        self.assign(out_data[0], req[0], nd.array(y))


class Noise(mx.operator.CustomOp):
    def forward(self, is_train, req, in_data, out_data, aux):
        x = in_data[0].asnumpy()
        self.assign(out_data[0], req[0], nd.array(x + np.random.rand(*x.shape)))


class Windows(mx.operator.CustomOp):  # PyTorch's tracer does not know this function of NumPy
    def forward(self, is_train, req, in_data, out_data, aux):
        x = np.lib.stride_tricks.sliding_window_view(in_data[0].asnumpy(), 1, axis=1)
        self.assign(out_data[0], req[0], nd.array(x.sum(-1)))


def register(name, made, *more_arguments):
    @mx.operator.register(name)
    class Prop(mx.operator.CustomOpProp):
        def list_arguments(self):
            return ["data", *more_arguments]

        def infer_shape(self, in_shape):
            data = in_shape[0]
            return [data, *[[data[0]]] * len(more_arguments)], [data], []

        def create_operator(self, ctx, shapes, dtypes):
            return made()


register("exchange_sigmoid", NumpySigmoid)
register("exchange_softmax", NumpySoftmax, "label")
register("exchange_noise", Noise)
register("exchange_windows", Windows)


class Sigmoid(nn.HybridBlock):
    def hybrid_forward(self, F, x):
        return F.Custom(x, op_type="exchange_sigmoid")


class Plain(nn.Block):
    """Not hybrid: it runs as its forward."""

    def __init__(self):
        super().__init__()
        self.dense = nn.Dense(4, in_units=3)
        self.norm = nn.BatchNorm(in_channels=4)
        self.act = Sigmoid()

    def forward(self, x):
        return self.act(self.norm(self.dense(x)))


def conv_net():
    net = nn.HybridSequential()
    with net.name_scope():
        net.add(
            nn.Conv2D(4, 3, in_channels=3),
            nn.BatchNorm(in_channels=4),
            nn.Activation("relu"),
            nn.MaxPool2D(),
            nn.Flatten(),
            nn.Dense(3, in_units=36),
        )
    return net


def numpy_net():
    net = nn.HybridSequential()
    with net.name_scope():
        net.add(nn.Dense(5, in_units=3), Sigmoid(), layers.DenseBlock(5, 4))
    return net


NETS = {
    "conv": (conv_net, (2, 3, 8, 8)),
    "numpy": (numpy_net, (2, 3)),
    "plain": (Plain, (4, 3)),
}


@pytest.fixture(params=NETS)
def net(request):
    made = NETS[request.param][0]()
    made.initialize(mx.init.Xavier())
    return made


def data_for(net):
    shape = next(shape for make, shape in NETS.values() if repr(make()) == repr(net))
    return nd.random.uniform(shape=shape)


def values(net):
    return {n: p.data().asnumpy() for n, p in net._collect_params_with_prefix().items()}


# A Block as a module


def test_state_dict_has_the_structural_names_and_the_blocks_memory(net):
    module, parameters = net.to_torch(), net._collect_params_with_prefix()
    state = module.state_dict()
    assert list(state) and set(state) == set(parameters)
    for name, tensor in state.items():
        assert tensor.data_ptr() == parameters[name].data().to_torch().data_ptr(), name
    buffers = {module.names[name] for name, _ in module.named_buffers()}
    assert buffers == {name for name in state if "running" in name}


def test_a_modules_outputs_and_gradients_are_the_blocks(net):
    x, module = data_for(net), net.to_torch()
    with autograd.record():
        y = net(x)
        (y * y).sum().backward()
    expected = {n: p.grad().asnumpy() for n, p in _trained(net)}
    out = module(x.to_torch())
    (out * out).sum().backward()
    np.testing.assert_allclose(out.detach().numpy(), y.asnumpy(), **CLOSE)
    for name, parameter in named_parameters(module):
        np.testing.assert_allclose(parameter.grad.numpy(), expected[name], **CLOSE, err_msg=name)


def named_parameters(module):
    return [(module.names[name], parameter) for name, parameter in module.named_parameters()]


def _trained(net):
    return [(n, p) for n, p in net._collect_params_with_prefix().items() if p.grad_req != "null"]


def test_both_sides_see_what_either_optimizer_does(net):
    x, module = data_for(net), net.to_torch()
    optimizer = torch.optim.SGD(module.parameters(), lr=0.1)
    before = values(net)
    module(x.to_torch()).square().sum().backward()
    for name, parameter in _trained(net):
        assert not parameter.grad().asnumpy().any(), name  # each side has a gradient of its own
    optimizer.step()
    gradients = {n: p.grad.numpy().copy() for n, p in named_parameters(module)}
    for name, value in values(net).items():
        if name in gradients:
            np.testing.assert_allclose(value, before[name] - 0.1 * gradients[name], **CLOSE)
    trainer = gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 0.1})
    before = {n: p.detach().numpy().copy() for n, p in named_parameters(module)}
    with autograd.record():
        (net(x) ** 2).sum().backward()
    trainer.step(1)
    for name, parameter in named_parameters(module):
        np.testing.assert_array_equal(parameter.grad.numpy(), gradients[name])
        assert (parameter.detach().numpy() != before[name]).any(), name
        np.testing.assert_array_equal(parameter.detach().numpy(), values(net)[name])


@pytest.mark.parametrize("make, shape", [NETS["conv"], NETS["plain"]], ids=["graph", "forward"])
def test_train_and_eval_say_whether_statistics_move(make, shape):
    net = make()
    net.initialize()
    module, x = net.to_torch(), torch.rand(shape)
    name = next(n for n in module.state_dict() if n.endswith("running_mean"))
    mean, buffer = net._collect_params_with_prefix()[name], module.state_dict()[name]
    with torch.no_grad():
        module.eval()(x)
        assert not buffer.any()
        module.train()(x)
        assert buffer.any()
        after = module.eval()(x)
    np.testing.assert_array_equal(mean.data().asnumpy(), buffer.numpy())
    np.testing.assert_allclose(net(nd.from_torch(x)).asnumpy(), after.numpy(), **CLOSE)


def test_load_state_dict_and_set_data_reach_the_other_side():
    net = nn.Dense(2, in_units=2)
    net.initialize()
    module = net.to_torch()
    module.load_state_dict({"weight": torch.eye(2), "bias": torch.ones(2)})
    np.testing.assert_array_equal(net.weight.data().asnumpy(), np.eye(2))
    net.weight.set_data(nd.zeros((2, 2)))
    assert not module.state_dict()["weight"].any()


def test_what_is_frozen_shared_and_constant():
    net = nn.HybridSequential(prefix="net_")
    with net.name_scope():
        first = nn.Dense(3, in_units=3)
        net.add(first, nn.Dense(3, in_units=3, params=first.params))
    net.initialize()
    first.bias.grad_req = "null"
    module = net.to_torch()
    assert list(module.state_dict()) == ["0.weight", "0.bias", "1.weight", "1.bias"]
    assert [n for n, _ in named_parameters(module)] == ["0.weight", "0.bias"]
    assert not dict(named_parameters(module))["0.bias"].requires_grad

    class Scaled(nn.HybridBlock):
        def __init__(self):
            super().__init__()
            self.scale = self.params.get_constant("scale", [2.0, 3.0])

        def hybrid_forward(self, F, x, scale):
            return F.broadcast_mul(x, scale)

    net = Scaled()
    net.initialize()
    module = net.to_torch()
    assert list(module.state_dict()) == ["scale"] and not list(module.parameters())
    assert module(torch.ones(1, 2)).tolist() == [[2, 3]]


def test_several_inputs_and_nested_outputs():
    class Both(nn.HybridBlock):
        def hybrid_forward(self, F, x, y):
            return x + y, [x - y, x * y]

    module = Both().to_torch()
    x, y = torch.tensor([3.0]), torch.tensor([2.0])
    total, (difference, product) = module(x, y)
    assert (total, difference, product) == (5, 1, 6)
    with pytest.raises(ArgumentError, match="1 tensors\n  expected data0, data1"):
        module(x)
    with pytest.raises(BlockError, match="no input is a tensor"):
        module(3)


def test_to_takes_the_block_along_and_a_cast_block_has_a_new_module():
    net, x = conv_net(), nd.random.uniform(shape=(2, 3, 8, 8))
    net.initialize()
    module, expected = net.to_torch().eval(), net(x).asnumpy()
    module.to(torch.float64)
    assert {np.dtype(p.dtype).name for p in net.collect_params().values()} == {"float64"}
    y = net(x.astype("float64"))
    np.testing.assert_allclose(y.asnumpy(), expected, **CLOSE)
    np.testing.assert_array_equal(module(x.astype("float64").to_torch()).detach(), y.asnumpy())
    with torch.no_grad():
        module.state_dict()["5.bias"].add_(1)
    assert net[5].bias.data().asnumpy().min() > 0.5
    net.cast("float32")
    with pytest.raises(BlockError, match="was cast.* since\n  expected to_torch"):
        module(x.to_torch())
    np.testing.assert_allclose(net.to_torch().eval()(x.to_torch()).detach(), net(x).asnumpy())


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda m: pickle.loads(pickle.dumps(m))])
def test_a_copy_has_a_block_of_its_own(copied):
    net = numpy_net()
    net.initialize()
    module = net.to_torch().eval()
    other = copied(module)
    assert other.block is not net and not other.training
    with torch.no_grad():
        other.state_dict()["0.weight"].zero_()
    assert values(net)["0.weight"].any() and not values(other.block)["0.weight"].any()


def test_what_cannot_be_a_module():
    net = nn.Dense(2)
    with pytest.raises(gluon.parameter.ParameterError, match="not been initialized"):
        net.to_torch()
    net.initialize()
    with pytest.raises(gluon.DeferredInitializationError, match="one batch"):
        net.to_torch()
    net = nn.Dense(2, in_units=2)
    net.initialize(ctx=[mx.cpu(0), mx.cpu(1)])
    with pytest.raises(ContextError, match="one context"):
        net.to_torch()


# PyTorch's compiler keeps this from being shown, but not from being an error.
@pytest.mark.filterwarnings("ignore:The .grad attribute of a Tensor that is not a leaf:UserWarning")
def test_torch_export_and_compile():
    net, x = numpy_net(), torch.rand(2, 3)
    net.initialize()
    module = net.to_torch().eval()
    expected = module(x)
    with pytest.raises(MXNetError, match="'exchange_sigmoid'.*NumPy(.|\n)*strict=True"):
        torch.export.export(module, (x,))
    program = torch.export.export(module, (x,), strict=True)
    torch.testing.assert_close(program.module()(x), expected)
    assert list(program.state_dict) == list(module.names)
    compiled = torch.compile(module, backend="eager")
    torch.testing.assert_close(compiled(x), expected)
    expected.sum().backward()
    gradients = [p.grad.clone() for p in module.parameters()]
    module.zero_grad()
    compiled(x).sum().backward()  # also through what is not compiled
    torch.testing.assert_close([p.grad for p in module.parameters()], gradients)
    torch._dynamo.reset()


def test_load_state_dict_tells_structural_names():
    module = torch.nn.Sequential(conv_net_module(), torch.nn.Linear(3, 2))
    state = module.state_dict()
    module.load_state_dict(state)
    assert "0.1.running_mean" in state and "1.weight" in state
    wrong = {**state, "0.0.weight": torch.ones(3), "0.7.x": torch.ones(1)}
    del wrong["0.5.bias"]
    with pytest.raises(RuntimeError) as error:
        module.load_state_dict(wrong)
    told = str(error.value)
    assert 'Missing key(s) in state_dict: "0.5.bias"' in told
    assert 'Unexpected key(s) in state_dict: "0.7.x"' in told
    assert "size mismatch for 0.0.weight: " in told
    module.load_state_dict({**state, "0.7.x": torch.ones(1)}, strict=False)


def conv_net_module():
    net = conv_net()
    net.initialize()
    return net.to_torch()


@pytest.mark.parametrize("strict", [False, True])
def test_torch_export_of_operators_in_nd(strict):
    """Also of values that a forward saves; and of a block that takes any number of inputs."""

    @layers.operator
    class cube:
        saves = ("square",)

        def forward(x, *, c: float = 1.0):
            square = x * x
            return c * square * x, square

        def dx(dy, square, c):
            return 3 * c * square * dy

    block = layers.OperatorBlock(cube, c=2)
    block.initialize()
    module, x = block.to_torch(), torch.rand(2, 3)
    program = torch.export.export(module, (x,), strict=strict)
    torch.testing.assert_close(program.module()(x), 2 * x**3)
    torch._dynamo.reset()


def test_the_batch_of_torch_export_stays_open():
    @layers.operator
    class double:
        def forward(x):
            return 2 * x

        def dx(dy):
            return 2 * dy

    block = layers.OperatorBlock(double)
    block.initialize()
    shapes = {"args": ({0: torch.export.Dim("batch", max=9)},)}
    module = block.to_torch()
    program = torch.export.export(module, (torch.rand(2, 3),), dynamic_shapes=shapes, strict=True)
    x = torch.rand(5, 3)
    torch.testing.assert_close(program.module()(x), 2 * x)
    torch._dynamo.reset()


# A module as a Block


@pytest.mark.parametrize(
    "make, x",
    [
        (
            lambda: layers.GroupNormBlock(in_channels=4, num_groups=2),
            np.random.RandomState(0).randn(3, 4, 5),
        ),
        (lambda: layers.SparsemaxBlock(), np.random.RandomState(0).randn(3, 6)),
        (lambda: layers.EmbeddingBag(6, 3), np.arange(12).reshape(3, 4) % 6),
        (
            lambda: layers.EmbeddingBag(6, 3, mode="mean", padding=-1),
            np.arange(12).reshape(3, 4) % 5 - 1,
        ),
    ],
    ids=["GroupNormBlock", "SparsemaxBlock", "EmbeddingBag", "EmbeddingBag, padding"],
)
def test_a_program_with_an_open_batch(make, x, tmp_path):
    from layers.mxnet._files.exchange import write

    block = make()
    block.initialize()
    write(tmp_path / "net.pt2", *_graph(block), [x.shape], open_batch=True)
    program = torch.export.load(tmp_path / "net.pt2").module()
    for given in x, x[:2], np.concatenate([x] * 3):
        y = program(torch.from_numpy(given).float())
        y = y[0] if isinstance(y, (list, tuple)) else y
        expected = block(nd.array(given)).asnumpy()
        np.testing.assert_allclose(y.detach().numpy(), expected, rtol=1e-5, atol=1e-6)


def _graph(block):
    values = {name: p.data() for name, p in block.collect_params().items()}
    return block(mx.sym.var("data")), values


def torch_net():
    torch.manual_seed(0)
    return torch.nn.Sequential(
        torch.nn.Linear(3, 4), torch.nn.BatchNorm1d(4), torch.nn.ReLU(), torch.nn.Linear(4, 2)
    )


def test_a_module_is_trained_as_a_block():
    module, x = torch_net(), torch.rand(5, 3)
    twin = copy.deepcopy(module)
    optimizer = torch.optim.SGD(twin.parameters(), lr=0.1)
    block = mx.from_torch(module)
    assert isinstance(block, ModuleBlock)
    trainer = gluon.Trainer(block.collect_params(), "sgd", {"learning_rate": 0.1})
    for _ in range(3):
        with autograd.record():
            loss = (block(nd.from_torch(x)) ** 2).sum()
        loss.backward()
        trainer.step(1)
        optimizer.zero_grad()
        twin(x).square().sum().backward()
        optimizer.step()
    state = module.state_dict()  # the module's own memory
    assert state["1.num_batches_tracked"] == 3
    for name, expected in twin.state_dict().items():
        np.testing.assert_allclose(state[name], expected, **CLOSE, err_msg=name)
    assert all(p.grad is None for p in module.parameters())
    y = block(nd.from_torch(x))
    assert not module.training
    np.testing.assert_allclose(y.asnumpy(), twin.eval()(x).detach(), **CLOSE)


def test_a_modules_parameters_have_their_names_and_grad_req(tmp_path):
    module = torch_net()
    module[0].bias.requires_grad_(False)
    block = mx.from_torch(module, prefix="net_")
    parameters = block._collect_params_with_prefix()
    assert list(parameters) == [n for n, _ in module.named_parameters()] + [
        n for n, _ in module.named_buffers()
    ]
    assert {n for n, p in parameters.items() if p.grad_req == "null"} == {
        *["0.bias", "1.running_mean", "1.running_var", "1.num_batches_tracked"]
    }
    assert "net_0_weight" in block.collect_params()
    block.save_parameters(tmp_path / "net.params")
    other = mx.from_torch(torch_net())
    with torch.no_grad():
        other.module[0].weight.zero_()
    other.load_parameters(tmp_path / "net.params")
    assert torch.equal(other.module[0].weight, module[0].weight)
    assert "Linear(in_features=3" in repr(block)


def test_a_module_inside_a_net():
    net = nn.Sequential()
    with net.name_scope():
        net.add(nn.Dense(3, in_units=2), mx.from_torch(torch_net()))
    net[0].initialize()
    with autograd.record():
        (net(nd.random.uniform(shape=(4, 2))) ** 2).sum().backward()
    assert net[0].weight.grad().asnumpy().any()
    assert net[1].collect_params().values()
    assert set(net._collect_params_with_prefix()) > {"0.weight", "1.0.weight", "1.1.running_var"}


def test_a_module_on_two_contexts_and_in_another_type():
    block = mx.from_torch(torch_net())
    expected = block(nd.ones((2, 3))).asnumpy()
    block.collect_params().reset_ctx([mx.cpu(0), mx.cpu(1)])
    y = block(nd.ones((2, 3), ctx=mx.cpu(1)))
    assert y.context == mx.cpu(1)
    np.testing.assert_array_equal(y.asnumpy(), expected)
    block.cast("float64")
    np.testing.assert_allclose(block(nd.ones((2, 3), dtype="float64")).asnumpy(), expected, **CLOSE)
    assert block._reg_params["1.num_batches_tracked"].dtype == np.int64


def test_a_module_of_nested_outputs_that_sets_its_buffers():
    class Counts(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.lstm = torch.nn.LSTM(2, 3)
            self.register_buffer("calls", torch.zeros(1))

        def forward(self, x, again=None):
            self.calls = self.calls + 1
            return {"same": x, "state": self.lstm(x)[1]}

    block = mx.from_torch(Counts())
    x = nd.ones((4, 1, 2))
    for _ in range(2):
        y = block(x, None)
    assert block._reg_params["calls"].data().asscalar() == 2
    assert [s.shape for s in y["state"]] == [(1, 1, 3), (1, 1, 3)]
    y["same"][:] = 0  # not the memory of the input
    assert x.asnumpy().all()


def test_what_cannot_be_a_block():
    with pytest.raises(ArgumentError, match="expected a torch.nn.Module; nd.from_torch"):
        mx.from_torch(torch.ones(2))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # that lazy modules are new
        lazy = torch.nn.LazyLinear(3)
    with pytest.raises(ArgumentError, match="weight of LazyLinear has no shape"):
        mx.from_torch(lazy)


# Files in .safetensors


@pytest.fixture
def safetensors():
    return pytest.importorskip("safetensors.torch", reason="of the extra `exchange`")


def test_arrays_as_safetensors(safetensors, tmp_path):
    x = nd.arange(6).reshape((2, 3))
    dtypes = ["float32", "float64", "float16", "bfloat16"]
    dtypes += ["uint8", "int8", "int32", "int64", "bool"]
    given = {d: nd.array([[1, 0]], dtype=d) for d in dtypes} | {"all": x, "row": x[:1], "T": x.T}
    path = tmp_path / "a.safetensors"
    nd.save(path, given)
    for name, value in nd.load(str(path)).items():
        assert (value.dtype, value.shape) == (given[name].dtype, given[name].shape)
        np.testing.assert_array_equal(value.asnumpy(), given[name].asnumpy())
    assert safetensors.load_file(path)["row"].tolist() == [[0, 1, 2]]
    safetensors.save_file({"theirs": torch.eye(2)}, path)
    np.testing.assert_array_equal(nd.load(path)["theirs"].asnumpy(), np.eye(2))


def test_parameters_as_safetensors(safetensors, net, tmp_path):
    path = str(tmp_path / "net.safetensors")
    net.save_parameters(path)
    saved = safetensors.load_file(path)
    assert set(saved) == set(net._collect_params_with_prefix())
    expected = values(net)
    for parameter in net.collect_params().values():
        parameter.set_data(nd.zeros(parameter.shape))
    net.load_parameters(path)
    for name, value in values(net).items():
        np.testing.assert_array_equal(value, expected[name], err_msg=name)
        np.testing.assert_array_equal(saved[name], expected[name], err_msg=name)


HEADER = b'{"a":{"dtype":"%s","shape":[2],"data_offsets":[0,%d]}}'


@pytest.mark.parametrize(
    "content, problem",
    [
        (b"", "header too small"),
        (b"\xff" * 64, "header too large"),
        (b"\x07" + bytes(7) + b"not {} ", "header"),
        (HEADER % (b"F32", 8) + bytes(4), "not fully covered"),
        (HEADER % (b"U32", 8) + bytes(8), "'a': dtype torch.uint32 is unknown"),
        ((HEADER % (b"F32", 0)).replace(b"[2]", b"[0,1,%d]" % 2**63), r"'a' is \(0, 1, 92"),
        ((HEADER % (b"F32", 0)).replace(b"[2]", b"[0,1,%d]" % 2**62), r"'a' is \(0, 1, 46116"),
        (b'{"a":' * 200 + b"}}", "recursion limit"),
    ],
    ids=["empty", "long header", "no JSON", "cut short", "unknown type", "size", "strides", "deep"],
)
def test_a_damaged_file_is_named_and_changes_nothing(safetensors, tmp_path, content, problem):
    path = tmp_path / "bad.safetensors"
    if content.startswith(b"{"):
        content = (content.index(b"}}") + 2).to_bytes(8, "little") + content
    path.write_bytes(content)
    net = nn.Dense(2, in_units=2)
    net.initialize()
    before = values(net)
    with pytest.raises(MXNetError, match=rf"bad\.safetensors: .*{problem}"):
        net.load_parameters(path)
    np.testing.assert_array_equal(values(net)["weight"], before["weight"])


def test_a_bool_of_a_file_is_0_or_1(safetensors, tmp_path):
    header = HEADER % (b"BOOL", 2)
    (tmp_path / "a.safetensors").write_bytes(len(header).to_bytes(8, "little") + header + b"\0\2")
    loaded = nd.load(tmp_path / "a.safetensors")["a"]
    assert loaded.astype("int32").asnumpy().tolist() == [0, 1]


def test_more_arrays_than_a_file_may_have(safetensors, tmp_path, monkeypatch):
    nd.save(tmp_path / "a.safetensors", {str(i): nd.array([]) for i in range(9)})
    monkeypatch.setattr(_arrays, "MAX_ARRAYS", 8)
    monkeypatch.setattr(_arrays, "BYTES_PER_ARRAY", 1 << 20)
    with pytest.raises(MXNetError, match=r"a\.safetensors: more than 8 arrays\n  expected at m"):
        nd.load(tmp_path / "a.safetensors")
    with pytest.raises(FileNotFoundError, match=r"none\.safetensors"):
        nd.load(tmp_path / "none.safetensors")


CUT = """
import os, sys
from layers import _arrays
from layers.mxnet import MXNetError, nd
path, validate = sys.argv[1], _arrays.validate
nd.save(path, {"a": nd.ones(1 << 20)})
def cut(*given):
    os.truncate(path, 4096)
    return validate(*given)
_arrays.validate = cut
try:
    nd.load(path)
except MXNetError as error:
    print("refused:", error)
"""


def test_a_file_that_is_cut_while_it_is_read_ends_no_process(safetensors, tmp_path):
    command = [sys.executable, "-c", CUT, str(tmp_path / "a.safetensors")]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0 and done.stdout.startswith("refused: "), done


def test_a_save_that_fails_leaves_the_file(safetensors, tmp_path, monkeypatch):
    path = tmp_path / "a.safetensors"
    nd.save(path, {"a": nd.ones(2)})
    with pytest.raises(MXNetError, match=r"a\.safetensors: arrays without names"):
        nd.save(path, [nd.ones(3)])

    def fail(*_):
        raise OSError("disk full")

    monkeypatch.setattr(safetensors, "save", fail)
    with pytest.raises(OSError, match="disk full"):
        nd.save(path, {"a": nd.ones(3)})
    assert nd.load(path)["a"].shape == (2,) and len(list(tmp_path.iterdir())) == 1
    with pytest.raises(FileNotFoundError, match=r"none\.safetensors"):
        nd.load(tmp_path / "none.safetensors")


def test_without_the_package_an_error_says_what_to_install(monkeypatch, tmp_path):
    monkeypatch.setitem(importlib.sys.modules, "safetensors", None)
    with pytest.raises(MXNetError, match="expected pip install safetensors"):
        nd.save(tmp_path / "a.safetensors", {"a": nd.ones(2)})
    with pytest.raises(MXNetError, match="expected pip install safetensors"):
        nd.load(tmp_path / "a.safetensors")


# ONNX


@pytest.fixture
def onnx_run():
    """Runs an ONNX file on named inputs; skips where the packages are not installed."""
    for name in ("onnx", "onnxscript"):
        pytest.importorskip(name, reason="of the extra `exchange`")
    runtime = pytest.importorskip("onnxruntime", reason="of the extra `exchange`")

    def run(path, **inputs):
        session = runtime.InferenceSession(path, providers=["CPUExecutionProvider"])
        assert [i.name for i in session.get_inputs()] == list(inputs)
        return session.run(None, inputs)[0]

    return run


def test_onnx_of_an_exported_net_of_any_batch_size(onnx_run, tmp_path):
    net, x = nn.HybridSequential(), nd.random.uniform(shape=(2, 6))
    with net.name_scope():
        net.add(layers.DenseBlock(6, 5, activation="sigmoid"), layers.DenseBlock(5, 3))
    net.initialize(mx.init.Xavier())
    net.hybridize()
    net(x)
    files = net.export(str(tmp_path / "net"))
    path = str(tmp_path / "net.onnx")
    told = {"dynamic": True, "dynamic_input_shapes": [("batch", 6)]}
    assert mx.onnx.export_model(*files, [(2, 6)], np.float32, path, **told) == path
    for data in (x, nd.random.uniform(shape=(7, 6))):
        np.testing.assert_allclose(
            onnx_run(path, data=data.asnumpy()), net(data).asnumpy(), **CLOSE
        )


@pytest.mark.parametrize(
    "data, names",
    [
        ("data", ("val_3", "val_7", "w")),
        ("data", ("val_3", "val_3_", "w")),
        ("val_3", ("a", "val_3_", "val_7")),
        ("softmax", ("a", "b", "softmax_1")),
    ],
)
def test_onnx_of_names_of_pytorchs_exporter(onnx_run, tmp_path, data, names):
    y, path = mx.sym.var(data), str(tmp_path / "net.onnx")
    weights = {name: nd.random.uniform(-3, 3, shape=(4, 4)) for name in names}
    for name in weights:
        y = mx.sym.softmax(mx.sym.reshape(mx.sym.dot(y, mx.sym.var(name)), shape=(4, 2)))
        y = mx.sym.reshape(y, shape=(2, 4))
    mx.onnx.export_model(y, weights, [(2, 4)], np.float32, path)
    x = nd.random.uniform(shape=(2, 4))
    expected = y.bind(mx.cpu(), {data: x} | weights).forward()[0].asnumpy()
    np.testing.assert_allclose(onnx_run(path, **{data: x.asnumpy()}), expected, **CLOSE)
    read, parameters, _ = mx.contrib.onnx.import_model(path)
    found = read.bind(mx.cpu(), {data: x} | parameters).forward()[0].asnumpy()
    np.testing.assert_allclose(found, expected, **CLOSE)


@pytest.mark.parametrize("largest", first_alone([2**30, 0]), ids=["one file", "two files"])
def test_onnx_files_appear_whole_or_not_at_all(onnx_run, tmp_path, monkeypatch, largest):
    monkeypatch.setattr(mx.onnx, "LARGEST", largest)  # above, parameters are in a file beside
    x, weight = nd.ones((1, 300)), nd.random.uniform(shape=(3, 300))
    symbol = mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=3, no_bias=True, name="fc")
    path = tmp_path / "net.onnx"
    arguments = symbol, {"fc_weight": weight}, [(1, 300)], np.float32, path
    mx.onnx.export_model(*arguments)
    expected = nd.dot(x, weight, transpose_b=True).asnumpy()
    np.testing.assert_allclose(onnx_run(path, data=x.asnumpy()), expected, **CLOSE)
    names = {"net.onnx"} if largest else {"net.onnx", "net.onnx.data"}
    assert {file.name for file in tmp_path.iterdir()} == names
    before = {file: file.read_bytes() for file in tmp_path.iterdir()}

    def fail(*_):
        raise OSError("disk full")

    monkeypatch.setattr(os, "fsync", fail)
    with pytest.raises(OSError, match="disk full"):
        mx.onnx.export_model(symbol, {"fc_weight": 2 * weight}, *arguments[2:])
    assert {file: file.read_bytes() for file in tmp_path.iterdir()} == before


# PyTorch's exporter copies what PyTorch itself has deprecated.
@pytest.mark.filterwarnings("ignore:.*LeafSpec:FutureWarning")
def test_onnx_of_a_module(onnx_run, tmp_path):
    net, x = conv_net(), nd.random.uniform(shape=(2, 3, 8, 8))
    net.initialize(mx.init.Xavier())
    with autograd.record():
        net(x * 2 + 1)  # statistics that are not the first ones
    path = str(tmp_path / "net.onnx")
    torch.onnx.export(
        net.to_torch().eval(), (x.to_torch(),), path, input_names=["data"], verbose=False
    )
    np.testing.assert_allclose(onnx_run(path, data=x.asnumpy()), net(x).asnumpy(), **CLOSE)


def module_of_numpy():
    """A network and a loss in NumPy, as a Symbol with parameters."""
    h = mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=5, name="fc1")
    h = mx.sym.Custom(h, op_type="exchange_sigmoid", name="act")
    h = mx.sym.FullyConnected(mx.sym.BatchNorm(h, name="bn"), num_hidden=3, name="fc2")
    out = mx.sym.Custom(data=h, name="softmax", op_type="exchange_softmax")
    module = mx.mod.Module(out)
    module.bind([("data", (4, 6))], [("softmax_label", (4,))], for_training=False)
    module.init_params(mx.init.Xavier())
    return module


@pytest.mark.slow
def test_onnx_of_operators_in_numpy(onnx_run, tmp_path):
    module, x = module_of_numpy(), nd.random.uniform(shape=(4, 6))
    module.forward(mx.io.DataBatch([x], [nd.zeros(4)]))
    path = str(tmp_path / "model.onnx")
    mx.onnx.export_model(module.symbol, list(module.get_params()), [(4, 6)], onnx_file_path=path)
    found = onnx_run(path, data=x.asnumpy())
    np.testing.assert_allclose(found, module.get_outputs()[0].asnumpy(), **CLOSE)


@pytest.mark.parametrize(
    "op_type, told, problem",
    [
        (
            "exchange_noise",
            {},
            "'exchange_noise' cannot be traced: .*draws random numbers from NumPy.*np.random.rand",
        ),
        ("exchange_windows", {}, "'exchange_windows' cannot be traced: "),
        ("exchange_sigmoid", {"dynamic": True}, "'exchange_sigmoid' is a CustomOp, made for"),
    ],
)
def test_onnx_errors_name_the_operator(onnx_run, tmp_path, op_type, told, problem):
    data = mx.sym.var("data")
    path = tmp_path / "model.onnx"
    path.write_bytes(b"before")
    graph = mx.sym.Custom(mx.sym.tanh(data), op_type=op_type, name="here")
    with pytest.raises(MXNetError, match=rf"{problem}(.|\n)*in 'here' of the graph"):
        mx.onnx.export_model(graph, {}, [(2, 3)], onnx_file_path=path, **told)
    assert path.read_bytes() == b"before"


@pytest.mark.slow
def test_onnx_errors_name_an_operator_of_the_table(onnx_run):
    data = mx.sym.var("data")
    lacks = mx.sym.gammaln(mx.sym.tanh(data), name="here")
    with pytest.raises(MXNetError, match=r"'gammaln' has no form in ONNX: .*lgamma.*\n  in 'here'"):
        mx.onnx.export_model(lacks, {}, [(2, 3)])
    branches = mx.sym.contrib.cond(
        mx.sym.max(data) > 1, lambda: data / 2, lambda: data, name="here"
    )
    with pytest.raises(
        MXNetError, match=r"'_cond' cannot be traced: .*depend on values(.|\n)* in '_cond"
    ):
        mx.onnx.export_model(branches, {}, [(2, 3)])


@pytest.mark.parametrize("name", ["Proposal", "MultiBoxDetection"])
def test_what_cannot_be_traced_is_told_in_two_lines(name, capfd):
    """PyTorch prints all of the graph, as far as it came."""
    inputs = [mx.sym.var(f"input{i}") for i in range(3)]
    if name == "Proposal":
        settings = {"scales": (8,), "ratios": (1,), "rpn_post_nms_top_n": 5}
        shapes = [(1, 2, 4, 4), (1, 4, 4, 4), (1, 3)]
    else:
        settings, shapes = {}, [(1, 3, 4), (1, 16), (1, 4, 4)]
    graph = getattr(mx.sym.contrib, name)(*inputs, name="here", **settings)
    told = f"'_contrib_{name}' cannot be traced: it makes numbers or shapes of values\n  in 'here'"
    with pytest.raises(MXNetError, match=told):
        trace(graph, {}, shapes, "float32", None)
    assert capfd.readouterr() == ("", "")


def test_a_size_that_cannot_stay_open_is_told_in_one_line(capfd):
    @layers.operator
    class times_its_length:
        def forward(x):
            return x * int(x.shape[0])

    sizes = open_sizes([(2, 6)], [("n", 6)])
    told = "the graph cannot be traced: it fixes a size that is to be open"
    with pytest.raises(MXNetError, match=told):
        trace(times_its_length(mx.sym.var("data")), {}, [(2, 6)], "float32", sizes)
    assert capfd.readouterr() == ("", "")


HIDDEN = (
    "torch.onnx._internal.exporter._registration",
    "onnx_ir.passes.common.initializer_deduplication",
)


def test_onnx_is_silent_about_other_packages_and_its_own_passes(onnx_run, tmp_path):
    logs, told = [logging.getLogger(name) for name in HIDDEN], []
    handler = logging.Handler()
    handler.emit = told.append
    for log in logs:
        log.addHandler(handler)
    graph = mx.sym.Group([mx.sym.tanh(mx.sym.var("data")), mx.sym.arange(0, 3)])
    try:
        mx.onnx.export_model(graph, {}, [(2, 3)], onnx_file_path=tmp_path / "model.onnx")
    finally:
        for log in logs:
            log.removeHandler(handler)
    assert told == [] and not any(log.filters for log in logs)


def test_onnx_errors_of_what_is_given(onnx_run, monkeypatch):
    graph = mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=2, name="fc")
    with pytest.raises(ArgumentError, match=r"1 in_shapes, but 3 .*\n.*data, fc_weight, fc_bias"):
        mx.onnx.export_model(graph, {}, [(2, 3)])
    with pytest.raises(ArgumentError, match=r"in_shapes is \(2, 3\)\n  expected a list of tuples"):
        mx.onnx.export_model(graph, {}, (2, 3))
    monkeypatch.setattr(mx.onnx, "find_spec", lambda name: None)
    with pytest.raises(MXNetError, match="expected pip install onnx onnxscript"):
        mx.onnx.export_model(graph, {}, [(2, 3)])


@pytest.mark.parametrize("kind", [torch.nn.ReLU, torch.nn.Dropout])
def test_a_module_that_writes_into_its_input_gets_a_copy(kind):
    net = mx.from_torch(kind(inplace=True))
    expected = [0, 2] if kind is torch.nn.ReLU else [-1, 2]
    x = nd.array([-1.0, 2.0])
    for _ in range(2):
        assert net(x).asnumpy().tolist() == expected and x.asnumpy().tolist() == [-1, 2]
    x.attach_grad()
    for _ in range(2):
        with autograd.record():
            y = net(x)
        y.backward()
        assert x.asnumpy().tolist() == [-1, 2]
        assert ((x.grad.asnumpy() != 0) == (y.asnumpy() != 0)).all()
