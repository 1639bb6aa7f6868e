"""`Remat`: a layer that is computed again in backward."""

import copy

import numpy as np
import pytest
from ways import each

from layers import DenseBlock, OperatorBlock, Remat, compiled_step, operator
from layers.check import check_layer
from layers.engine import autograd, gluon, mx, nd

on_torch = pytest.mark.engine("torch")


@operator
class scaled_tanh:
    """y = s tanh(x), which saves tanh(x)."""

    saves = ("t",)

    def forward(x, s):
        t = nd.tanh(x)
        return nd.broadcast_mul(t, s), t

    def dx(dy, x, s, t):
        return nd.broadcast_mul(dy, s) * (1 - t * t)

    def ds(dy, x, s, t):
        return nd.sum(dy * t).reshape((1,))

    def shapes(x):
        return {"s": (1,), "y": x}


@operator
class counts:
    """y = x (1 + n) and n becomes n + 1: a state that is read before it is written."""

    states = ("n",)

    def forward(x, n):
        y = nd.broadcast_mul(x, n + 1)
        n[:] = n + 1
        return y

    def dx(dy, y, x):
        return dy * y / x

    def shapes(x):
        return {"n": (1,), "y": x}


def built_in():
    block = gluon.nn.HybridSequential()
    block.add(gluon.nn.Dense(6, activation="tanh"), gluon.nn.Dropout(0.5))
    block.add(gluon.nn.BatchNorm(), gluon.nn.Dense(4, activation="sigmoid"))
    return block


def own():
    block = gluon.nn.HybridSequential()
    block.add(DenseBlock(5, 6, activation="relu"))
    block.add(OperatorBlock(scaled_tanh, params={"s": {"init": "ones"}}), gluon.nn.Dense(4))
    return block


def net_of(make, wrap):
    mx.random.seed(1)
    net = gluon.nn.HybridSequential(prefix="net_")
    with net.name_scope():
        net.add(gluon.nn.Dense(5), wrap(make()), gluon.nn.Dense(2))
    net.initialize(mx.init.Uniform(1))
    net(nd.ones((3, 5))).wait_to_read()
    return net


def trained(net, steps=3):
    """Outputs, gradients and parameters of some steps."""
    found = []
    parameters = net.collect_params().values()
    x = nd.array(np.random.RandomState(0).standard_normal((3, 5)))
    x.attach_grad()
    for i in range(steps):
        mx.random.seed(7 + i)
        with autograd.record():
            y = net(x)
            loss = (y * y).sum()
        loss.backward()
        found += [y, x.grad, *(p.grad() for p in parameters if p.grad_req != "null")]
        found = [a.asnumpy() if isinstance(a, nd.NDArray) else a for a in found]
        found += [p.data().asnumpy() for p in parameters]
    return found


def agree(found, expected, **tolerance):
    assert len(found) == len(expected)
    for a, b in zip(found, expected):
        np.testing.assert_allclose(a, b, **({"rtol": 1e-4, "atol": 1e-5} | tolerance))


@pytest.mark.parametrize("options", each())
@pytest.mark.parametrize("make", [pytest.param(built_in, marks=on_torch), own])
def test_the_results_are_those_of_the_block(make, options, engine, caplog):
    caplog.set_level("INFO", "layers")
    nets = [net_of(make, wrap) for wrap in (Remat, lambda block: block)]
    for net in nets:
        if options is not None:
            net.hybridize(**options)
    agree(*(trained(net) for net in nets))
    if engine == "torch" and make is own:
        assert not [r for r in caplog.records if r.levelname == "WARNING"]


@pytest.mark.engine("mxnet")
def test_mxnet_says_that_it_computes_nothing_again(caplog):
    from layers.remat import AsItIs

    AsItIs.is_told = False
    Remat(gluon.nn.Dense(1))
    Remat(gluon.nn.Dense(1))
    assert [r.getMessage() for r in caplog.records if r.name == "layers"] == [
        "Remat: blocks run as they are and keep what they compute: MXNet 1.9.1 computes nothing of "
        "a block again in backward"
    ]


def bytes_kept(net, x):
    """What PyTorch keeps for backward beside the parameters."""
    import torch

    own = {p.data()._tensor.untyped_storage().data_ptr() for p in net.collect_params().values()}
    kept = {}

    def keep(tensor):
        memory = tensor.untyped_storage()
        if memory.data_ptr() not in own:
            kept[memory.data_ptr()] = memory.nbytes()
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(keep, lambda t: t), autograd.record():
        y = net(x)
    return sum(kept.values()), y


def deep(wrap, layers=8, width=64):
    net = gluon.nn.HybridSequential()
    for _ in range(layers):
        block = gluon.nn.HybridSequential()
        block.add(gluon.nn.Dense(4 * width, activation="tanh"), gluon.nn.Dense(width))
        net.add(wrap(block))
    net.initialize()
    net(nd.ones((2, width)))
    return net


@on_torch
@pytest.mark.parametrize("hybridized", [False, True])
def test_the_memory_that_it_saves(hybridized):
    x = nd.ones((256, 64))
    kept = {}
    for name, wrap in {"Remat": Remat, "as it is": lambda block: block}.items():
        net = deep(wrap)
        if hybridized:
            net.hybridize()
        kept[name], _ = bytes_kept(net, x)
    # As it is: the input of each block and the 4 times wider array inside. Remat: the inputs.
    assert kept["as it is"] == 8 * 5 * 256 * 64 * 4
    assert kept["Remat"] == 8 * 256 * 64 * 4


@on_torch
def test_it_computes_twice_and_only_where_gradients_are_asked_for(monkeypatch):
    calls, forward = [], scaled_tanh.forward
    monkeypatch.setattr(
        scaled_tanh, "forward", lambda *args: calls.append(autograd.is_training()) or forward(*args)
    )
    block = Remat(OperatorBlock(scaled_tanh, params={"s": {"init": "ones"}}))
    block.initialize()
    x = nd.ones((2, 3))
    x.attach_grad()
    block(x)
    del calls[:]
    block(x)
    assert calls == [False]
    with autograd.record():
        y = block(x)
    assert calls == [False, True]
    y.backward(retain_graph=True)
    y.backward()
    assert calls == [False, True, True, True]


def test_states_are_updated_once():
    for wrap in (Remat, lambda block: block):
        for options in (None, {}):
            block = wrap(OperatorBlock(counts))
            block.initialize()
            x = nd.array([1.0, 2.0])
            x.attach_grad()
            block(x).wait_to_read()  # n is 1
            if options is not None:
                block.hybridize(**options)
            for n in (2, 3):
                with autograd.record():
                    y = block(x)
                y.backward()
                (state,) = [p.data().asscalar() for p in block.collect_params().values()]
                assert state == n and x.grad.asnumpy().tolist() == [n, n]


@on_torch
def test_a_layer_in_it_that_is_hybridized_by_itself():
    nets = [net_of(own, wrap) for wrap in (Remat, lambda block: block)]
    nets[0][1].block.hybridize(static_alloc=True, static_shape=True)
    agree(*(trained(net, 4) for net in nets))
    (graph,) = nets[0][1].block._graphs.values()
    assert not graph.run.runs  # recorded, it would keep other values than the first call


@on_torch
def test_nested():
    nets = [net_of(lambda: Remat(built_in()), Remat), net_of(built_in, lambda block: block)]
    agree(*(trained(net) for net in nets))
    for net in nets:
        net.hybridize()
    agree(*(trained(net) for net in nets))


class Gated(gluon.HybridBlock):
    """Several inputs, one left out, and several outputs."""

    def hybrid_forward(self, F, x, pair, left_out=None):
        a, b = pair
        return F.tanh(x * a) * b, [F.exp(a) if left_out is None else left_out, x * 2]


@pytest.mark.parametrize("hybridized", [False, True])
def test_nested_inputs_and_outputs(hybridized):
    found = []
    for block in (Remat(Gated()), Gated()):
        if hybridized:
            block.hybridize()
        arrays = [nd.array([0.5, 1.0]) * i for i in (1, 2, 3)]
        for a in arrays:
            a.attach_grad()
        with autograd.record():
            y, (z, w) = block(arrays[0], arrays[1:])
            loss = (y * z + w * w).sum()
        loss.backward()
        found.append([a.asnumpy() for a in (y, z, w, *(a.grad for a in arrays))])
    agree(*found)


@on_torch
@pytest.mark.parametrize("hybridized", [False, True])
def test_second_derivatives(hybridized):
    found = []
    for wrap in (Remat, lambda block: block):
        net = net_of(own, wrap)
        if hybridized:
            net.hybridize()
        x = nd.array(np.random.RandomState(0).standard_normal((3, 5)))
        x.attach_grad()
        with autograd.record():
            (dx,) = autograd.grad(net(x).sum(), [x], create_graph=True, retain_graph=True)
            total = (dx * dx).sum()
        total.backward()
        found.append([x.grad.asnumpy(), *(p.grad().asnumpy() for p in net[1].params.values())])
    agree(*found)


@pytest.mark.slow
def test_a_step():
    found = []
    for wrap in (Remat, lambda block: block):
        net = net_of(own, wrap)
        trainer = gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 0.1})
        step = compiled_step(net, gluon.loss.SoftmaxCrossEntropyLoss(), trainer)
        x, label = nd.array(np.random.RandomState(0).standard_normal((3, 5))), nd.array([0, 1, 1])
        losses = [step(x, label).asnumpy() for _ in range(3)]
        found.append([*losses, *(p.data().asnumpy() for p in net.collect_params().values())])
    agree(*found)


@pytest.mark.filterwarnings("ignore:Cannot decide type")
def test_files_and_copies_do_not_tell(tmp_path):
    net, plain = (net_of(own, wrap) for wrap in (Remat, lambda block: block))
    x = nd.ones((2, 5))
    net.save_parameters(str(tmp_path / "net.params"))
    other = net_of(own, lambda block: block)
    other.load_parameters(str(tmp_path / "net.params"))
    agree([other(x).asnumpy()], [net(x).asnumpy()])
    net.load_parameters(str(tmp_path / "net.params"))
    assert [*net._collect_params_with_prefix()] == [*plain._collect_params_with_prefix()]
    net.hybridize()
    expected = net(x).asnumpy()
    net.export(str(tmp_path / "net"))
    files = [str(tmp_path / name) for name in ("net-symbol.json", "net-0000.params")]
    loaded = gluon.SymbolBlock.imports(files[0], ["data"], files[1])
    agree([loaded(x).asnumpy()], [expected])


def test_a_file_of_one_layer(tmp_path):
    path = str(tmp_path / "layer.params")
    saved, plain = Remat(DenseBlock(3, 2)), DenseBlock(3, 2)
    for block in (saved, plain):
        block.initialize(mx.init.Uniform(1))
    saved.save_parameters(path)
    plain.load_parameters(path)
    x = nd.ones((2, 3))
    agree([plain(x).asnumpy()], [saved(x).asnumpy()])
    Remat(plain).load_parameters(path)


@on_torch
def test_a_copied_graph_is_computed_again_too():
    """Two calls of it are two parts."""
    from layers.mxnet.symbol._node import ordered

    block = Remat(gluon.nn.Dense(3, in_units=3))
    x = mx.sym.var("x")
    y = block(x)
    twice = y(x=copy.copy(y))
    parts = {node.part for node in ordered(twice._entries) if node.op is not None}
    assert len(parts) == 2 and None not in parts and {*y.list_inputs()} == {*twice.list_inputs()}


@on_torch
def test_a_copy_computes_its_own_block():
    net = net_of(own, Remat)
    twin = copy.deepcopy(net)
    twin[1].block[2].weight.set_data(nd.zeros((4, 6)))
    x = nd.ones((2, 5))
    with autograd.record():
        assert abs(net(x) - twin(x)).max().asscalar() > 1e-3


@pytest.mark.slow_on("mxnet")
def test_the_checker_agrees():
    assert check_layer(Remat(own()), (3, 5), compiled=False).passed


def test_what_is_no_hybrid_block():
    for block in (gluon.nn.Sequential(), 3, nd.relu):
        with pytest.raises(ValueError, match="expected a HybridBlock"):
            Remat(block)
