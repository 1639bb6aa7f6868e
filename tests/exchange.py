"""Networks that two processes pass to each other in files; `mx` is MXNet or layers.mxnet."""

from functools import cache, partial
from pathlib import Path

import numpy as np

NAMES = ("mlp", "conv", "embedding", "recurrent")
KINDS = ("save_parameters", "export", "save", "save_checkpoint")


@cache
def _register(mx):
    """An operator of one's own, in NumPy: y = x tanh(scale x)."""

    class Gate(mx.operator.CustomOp):
        def __init__(self, scale):
            super().__init__()
            self.scale = scale

        def forward(self, is_train, req, in_data, out_data, aux):
            x = in_data[0].asnumpy()
            self.assign(out_data[0], req[0], mx.nd.array(x * np.tanh(self.scale * x)))

        def backward(self, req, out_grad, in_data, out_data, in_grad, aux):
            x = in_data[0].asnumpy()
            t = np.tanh(self.scale * x)
            dx = out_grad[0].asnumpy() * (t + self.scale * x * (1 - t * t))
            self.assign(in_grad[0], req[0], mx.nd.array(dx))

    @mx.operator.register("exchange_gate")
    class GateProp(mx.operator.CustomOpProp):
        def __init__(self, scale="1"):
            super().__init__(need_top_grad=True)
            self.scale = float(scale)

        def infer_shape(self, in_shape):
            return in_shape, [in_shape[0]], []

        def create_operator(self, ctx, shapes, dtypes):
            return Gate(self.scale)


def _net(mx, name, prefix="net_"):
    _register(mx)
    nn = mx.gluon.nn
    gate = partial(
        mx.gluon.nn.HybridLambda, lambda F, x: F.Custom(x, op_type="exchange_gate", scale=2)
    )

    class Unrolled(mx.gluon.HybridBlock):
        def __init__(self):
            super().__init__()
            with self.name_scope():
                self.cell = mx.gluon.rnn.LSTMCell(5)

        def hybrid_forward(self, F, x):  # the states begin as zeros of a batch not known
            return self.cell.unroll(4, x, layout="NTC", merge_outputs=True)[0]

    layers = {
        "mlp": lambda: [nn.Dense(8, activation="tanh"), gate(), nn.Dense(4)],
        "conv": lambda: (
            [nn.Conv2D(6, 3), nn.BatchNorm(), nn.Activation("relu"), nn.MaxPool2D()] + [nn.Dense(4)]
        ),
        "recurrent": lambda: [Unrolled(), nn.Dense(4)],
        "embedding": lambda: [nn.Embedding(9, 5), gate(), nn.Dense(4, use_bias=False)],
    }
    net = nn.HybridSequential(prefix=prefix)
    with net.name_scope():
        net.add(*layers[name]())
    return net


def _data(mx, name):
    rng = np.random.RandomState(3)
    shapes = {"mlp": (5, 6), "conv": (5, 3, 8, 8), "embedding": (5, 3), "recurrent": (5, 4, 3)}
    x = rng.rand(*shapes[name])
    return mx.nd.array(np.floor(9 * x) if name == "embedding" else x)


def written(mx, folder):
    """Write each network in each kind of file; returns their outputs."""
    folder = Path(folder)
    folder.mkdir()
    outputs = {}
    for name in NAMES:
        net, x = _net(mx, name), _data(mx, name)
        net.initialize(mx.init.Xavier(magnitude=4))
        with mx.autograd.record():  # statistics move
            net(2 * x if name == "conv" else x)
        outputs[name] = net(x).asnumpy()
        net.save_parameters(str(folder / f"{name}.params"))
        net.hybridize()
        net(x)
        net.export(str(folder / name), epoch=2)
        net.save(str(folder / name))
        _checkpoint(mx, folder, name, net, x)
    return outputs


def _checkpoint(mx, folder, name, net, x):
    """Write a Module of the same graph and values."""
    module = mx.mod.Module(net(mx.sym.var("data")), label_names=None)
    module.bind([("data", x.shape)], for_training=False)
    values = {n: p.data() for n, p in net.collect_params().items()}
    states = module.symbol.list_auxiliary_states()
    module.set_params(
        {n: v for n, v in values.items() if n not in states},
        {n: v for n, v in values.items() if n in states},
    )
    module.save_checkpoint(str(folder / f"{name}-module"), 3)


def read(mx, folder):
    """The outputs of the networks in the files that `written` wrote on the other side."""
    folder = Path(folder)
    outputs = {}
    for name in NAMES:
        net, x = _net(mx, name), _data(mx, name)
        net.load_parameters(str(folder / f"{name}.params"))
        outputs[f"{name} save_parameters"] = net(x).asnumpy()
        files = str(folder / f"{name}-symbol.json"), str(folder / f"{name}-0002.params")
        block = mx.gluon.SymbolBlock.imports(files[0], ["data"], files[1])
        outputs[f"{name} export"] = block(x).asnumpy()
        net = _net(mx, name, "other_")
        net.load(str(folder / name))
        outputs[f"{name} save"] = net(x).asnumpy()
        module = mx.mod.Module.load(str(folder / f"{name}-module"), 3, label_names=None)
        module.bind([("data", x.shape)], for_training=False)
        module.forward(mx.io.DataBatch([x], None), is_train=False)
        outputs[f"{name} save_checkpoint"] = module.get_outputs()[0].asnumpy()
    return outputs
