"""What one process makes and another uses, as a table of rows.

A row's `write` makes files in a folder, its `read` uses them; both return arrays, which are to be
the same. Each runs in a process of its own, which has imported ``layers.mxnet`` and nothing else of
this library.
"""

import os
import pickle
import traceback
from collections.abc import Callable
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import NamedTuple

import numpy as np

import layers.mxnet as mx

X = np.random.default_rng(0).normal(size=(2, 4)).astype("float32")


class Row(NamedTuple):
    write: Callable[[Path], list]
    read: Callable[[Path], list]


ROWS: dict[str, Row] = {}


# Networks


def library():
    """Blocks of this library, with its own operators."""
    from layers import DenseBlock, SigmoidBlock

    net = mx.gluon.nn.HybridSequential(prefix="net_")
    with net.name_scope():
        net.add(DenseBlock(4, 5, activation="relu"), SigmoidBlock(), DenseBlock(5, 3))
    return net


def gluon():
    net = mx.gluon.nn.HybridSequential(prefix="net_")
    with net.name_scope():
        net.add(mx.gluon.nn.Dense(5, activation="relu"), mx.gluon.nn.BatchNorm())
    return net


def users():
    """Operators of a user's, whose module is `myops`."""
    return import_module("myops").Net(prefix="net_")


def loops():
    """A loop kernel, in the module `mykernel`."""
    kernel = import_module("mykernel").gate
    return mx.gluon.nn.HybridLambda(lambda F, x: kernel(x))


def control():
    """Loops and branches, with an operator of this library in them."""
    from layers.ops import sigmoid

    def hybrid_forward(F, x):
        _, total = F.contrib.foreach(lambda row, s: (row, s + sigmoid(row)), x, F.zeros((4,)))
        _, (n, total) = F.contrib.while_loop(
            lambda n, s: n < 3, lambda n, s: ([], [n + 1, s * 2]), [F.zeros((1,)), total], 5
        )
        return F.contrib.cond(F.max(total) > 1, lambda: sigmoid(total), lambda: total)

    return mx.gluon.nn.HybridLambda(hybrid_forward)


def initialized(make):
    mx.random.seed(0)
    net = make()
    net.initialize(mx.init.Xavier(magnitude=6))
    net(mx.nd.array(X))  # which tells the shapes
    return net


def outputs(net):
    return [net(mx.nd.array(X)).asnumpy()]


# Files of networks. The reader imports the modules of users' operators, which it is told.


def exported(make, folder):
    net = initialized(make)
    net.hybridize()
    expected = outputs(net)
    net.export(str(folder / "net"))
    return expected


def imported(modules, folder):
    for name in modules:
        import_module(name)
    path = str(folder / "net")
    return outputs(
        mx.gluon.SymbolBlock.imports(f"{path}-symbol.json", ["data"], f"{path}-0000.params")
    )


def checkpointed(make, folder):
    net = initialized(make)
    graph = net(mx.sym.var("data"))
    parameters = {p.name: p.data() for p in net.collect_params().values()}
    states = {n: parameters.pop(n) for n in graph.list_auxiliary_states()}
    mx.model.save_checkpoint(str(folder / "net"), 0, graph, parameters, states)
    return outputs(net)


def bound(modules, folder):
    for name in modules:
        import_module(name)
    module = mx.mod.Module.load(str(folder / "net"), 0, label_names=None)
    module.bind([("data", X.shape)], for_training=False)
    module.forward(mx.io.DataBatch([mx.nd.array(X)]), is_train=False)
    return [module.get_outputs()[0].asnumpy()]


def to_onnx(modules, folder):
    """Export in the reader, which is where the tracer meets everything for the first time."""
    import onnxruntime

    for name in modules:
        import_module(name)
    path = str(folder / "net")
    files = f"{path}-symbol.json", f"{path}-0000.params"
    mx.onnx.export_model(*files, [X.shape], onnx_file_path=f"{path}.onnx")
    session = onnxruntime.InferenceSession(f"{path}.onnx", providers=["CPUExecutionProvider"])
    return session.run(None, {"data": X})


def to_torch_export(make, folder):
    import torch

    net = initialized(make)
    program = torch.export.export(net.to_torch().eval(), (torch.tensor(X),), strict=True)
    torch.export.save(program, folder / "net.pt2")
    return outputs(net)


def from_torch_export(folder):
    import torch

    program = torch.export.load(folder / "net.pt2")
    return [program.module()(torch.tensor(X)).detach().numpy()]


def saved(suffix, make, folder):
    net = initialized(make)
    net.save_parameters(str(folder / f"net{suffix}"))
    return outputs(net)


def loaded(suffix, make, folder):
    net = make()
    net.load_parameters(str(folder / f"net{suffix}"))
    return outputs(net)


for make, modules in ((library, []), (users, ["myops"]), (loops, ["mykernel"]), (control, [])):
    name = make.__name__
    ROWS[f"export, {name}"] = Row(partial(exported, make), partial(imported, modules))
    ROWS[f"Module, {name}"] = Row(partial(checkpointed, make), partial(bound, modules))
    if make in (library, users):  # kernels and branches are not traced
        ROWS[f"torch.export, {name}"] = Row(partial(to_torch_export, make), from_torch_export)
        ROWS[f"ONNX, {name}"] = Row(partial(exported, make), partial(to_onnx, modules))
for suffix in (".params", ".safetensors"):
    for make in (gluon, library, users):
        row = Row(partial(saved, suffix, make), partial(loaded, suffix, make))
        ROWS[f"{suffix}, {make.__name__}"] = row


def arrays(suffix, folder):
    given = {"x": mx.nd.array(X), "n": mx.nd.array([1, 2], dtype="int64")}
    mx.nd.save(str(folder / f"arrays{suffix}"), given)
    return [a.asnumpy() for a in given.values()]


def arrays_again(suffix, folder):
    found = mx.nd.load(str(folder / f"arrays{suffix}"))
    return [found[name].asnumpy() for name in ("x", "n")]


def trained(trainer):
    """A parameter after one more step."""
    (parameter,) = trainer._params
    with mx.autograd.record():
        loss = (parameter.data() * mx.nd.array(X)).square()
    loss.backward()
    trainer.step(1)
    return values(parameter.data())


def trainer():
    parameter = mx.gluon.Parameter("w", shape=X.shape, init="ones")
    parameter.initialize()
    return mx.gluon.Trainer([parameter], "adam", {"learning_rate": 0.1})


def states(folder):
    made = trainer()
    trained(made)
    made._params[0].set_data(mx.nd.ones(X.shape))
    made.save_states(str(folder / "states"))
    return trained(made)


def states_again(folder):
    made = trainer()
    made.load_states(str(folder / "states"))
    return trained(made)


for suffix in (".params", ".safetensors"):
    ROWS[f"nd.save, {suffix}"] = Row(partial(arrays, suffix), partial(arrays_again, suffix))
ROWS["Trainer.save_states"] = Row(states, states_again)


# Pickles. The reader imports what they name, by Python's rules. A Symbol in one is the text of its
# graph: modules of users' operators have to be imported first, as for a file.


def pickled(make, use, folder):
    made = make()
    (folder / "pickle").write_bytes(pickle.dumps(made))
    return use(made)


def unpickled(use, modules, folder):
    for name in modules:
        import_module(name)
    return use(pickle.loads((folder / "pickle").read_bytes()))


def hybridized(make, **options):
    net = initialized(make)
    net.hybridize(**options)
    outputs(net), outputs(net)
    return net


def called(op):
    """An operator's output and gradient."""
    x = mx.nd.array(X)
    x.attach_grad()
    with mx.autograd.record():
        y = op(x)
    y.backward()
    return [y.asnumpy(), x.grad.asnumpy()]


def stepped(optimizer):
    """Weights after two updates."""
    updater = optimizer if callable(optimizer) else mx.optimizer.get_updater(optimizer)
    weight = mx.nd.array(X)
    for _ in range(2):
        updater(0, mx.nd.ones_like(weight), weight)
    return [weight.asnumpy()]


def updater():
    made = mx.optimizer.get_updater(mx.optimizer.Adam(learning_rate=0.1))
    stepped(made)
    return made


def filled(initializer):
    mx.random.seed(3)
    array = mx.nd.zeros((4, 4))
    initializer(mx.init.InitDesc("fc_weight"), array)
    return [array.asnumpy()]


def values(it):
    return [it.asnumpy()]


def library_op(name):
    return getattr(import_module("layers.ops"), name)


def users_op(name):
    return getattr(import_module("myops"), name)


def symbol_of(make):
    return make()(mx.sym.var("data"))


def listed(symbol):
    return [np.array(symbol.list_arguments()), np.array([symbol.tojson()])]


def scored(metric):
    metric.update([mx.nd.array([0, 1])], [mx.nd.array([[0.9, 0.1], [0.8, 0.2]])])
    return [np.array(metric.get()[1])]


def losses(loss):
    return values(loss(mx.nd.array(X), mx.nd.array([0, 3])))


def shown(it):
    return [np.array([repr(it)])]


PICKLES = {
    "NDArray": (lambda: mx.nd.array(X, dtype="float16"), values),
    "array on another context": (lambda: mx.nd.array(X, ctx=mx.cpu(1)), shown),
    "Context": (lambda: mx.cpu(1), shown),
    "net": (lambda: initialized(gluon), outputs),
    "net, library": (lambda: initialized(library), outputs),
    "net, users": (lambda: initialized(users), outputs),
    "net hybridized": (lambda: hybridized(library), outputs),
    "net recorded": (lambda: hybridized(users, static_alloc=True, static_shape=True), outputs),
    "Symbol": (lambda: symbol_of(gluon), listed),
    "Symbol, library": (lambda: symbol_of(library), listed),
    "Symbol, users": (lambda: symbol_of(users), listed, "myops"),
    "Symbol, control": (lambda: symbol_of(control), listed),
    "dense": (lambda: library_op("sigmoid"), called),
    "@operator": (lambda: users_op("short"), called),
    "customop in NumPy": (lambda: users_op("in_numpy"), called),
    "customop in nd": (lambda: users_op("in_nd"), called),
    "Custom": (lambda: users_op("primitive"), called),
    "Custom of a kernel": (lambda: import_module("mykernel").gate, called),
    "Sigmoid block": (lambda: import_module("layers").SigmoidBlock(), called),
    "gluon loss": (lambda: mx.gluon.loss.SoftmaxCELoss(), losses),
    "library's loss": (lambda: import_module("layers").SoftmaxLoss(), losses),
    "SGD": (lambda: mx.optimizer.SGD(learning_rate=0.1, momentum=0.9), stepped),
    "Adam": (lambda: mx.optimizer.Adam(lr_scheduler=mx.lr_scheduler.FactorScheduler(1)), stepped),
    "updater": (updater, stepped),
    "Xavier": (lambda: mx.init.Xavier(magnitude=2), filled),
    "Mixed": (lambda: mx.init.Mixed([".*"], [mx.init.Uniform(2)]), filled),
    "Accuracy": (lambda: mx.metric.Accuracy(), scored),
    "CompositeEvalMetric": (lambda: mx.metric.create(["acc", "ce"]), scored),
    "DataDesc": (lambda: mx.io.DataDesc("data", (2, 3)), shown),
}
for name, (make, use, *modules) in PICKLES.items():
    ROWS[f"pickle, {name}"] = Row(partial(pickled, make, use), partial(unpickled, use, modules))


def main(phase: str, folder: Path, names: list[str]) -> None:
    """Run each row in a process of its own, a fork of this one, in which nothing has happened.

    What a row returns, or how it failed, is a file beside its own. This is not run as a script:
    pickles name this module.
    """
    for name in names:
        row, place = ROWS[name], folder / name
        place.mkdir(exist_ok=True)
        pid = os.fork()
        if pid == 0:
            try:
                np.savez(place / f"{phase}.npz", *getattr(row, phase)(place))
            except BaseException:
                (place / f"{phase}.txt").write_text(traceback.format_exc())
            finally:
                os._exit(0)
        os.waitpid(pid, 0)
