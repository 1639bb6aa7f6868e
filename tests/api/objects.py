"""The attributes of MXNet's objects, private ones too: programs read them, and subclasses set them.

`used` runs on both engines.
"""

from __future__ import annotations

import struct
import tempfile
from collections import Counter
from pathlib import Path
from typing import Any

from .recording import GOLDEN

RECORDED = GOLDEN / "objects.json"
NO_C = "it belongs to MXNet's C library"
OF_THE_ENGINE = "MXNet's engine asks for it"
OTHERWISE = "the same is kept in another form"
THREADS = "there are no threads of its own"
# By the object and the attribute, a pattern: why it is absent.
ABSENT = {
    r".*\.(handle|_debug_\w+|_old_\w+)": NO_C,
    r".*\.(_cached_op|_cached_op_args|_callback|_monitor_all|_monitor_callback)": OF_THE_ENGINE,
    r"(E|e)xecutor\._\w+": "its name without the underscore is here",
    r"(LSTM|GRU|RNN)\.(_\w+_initializer|_lstm_\w+|skip_states)": OTHERWISE,
    r"BatchNorm\.fuse_relu": "BatchNormReLU is a class of its own",
    r"Trainer\._(contains_sparse_\w+|distributed)": OTHERWISE,
    r"Updater\.aggregate_updates|DCASGD\.weight_previous|LARS\.(cur_lr|last_lr|skip)": OTHERWISE,
    r"KVStore\._(is_p3|str_updater_func|updater_func)": NO_C,
    r"SequentialModule\._(data_shapes|meta_keys)": OTHERWISE,
    r"(BucketingModule|SequentialModule|executor group)\._total_exec_bytes": OF_THE_ENGINE,
    r"executor group\.(_default_execs|logger)": OTHERWISE,
    r"NDArrayIter\._cache_(data|label)": OTHERWISE,
    r"PrefetchingIter\.\w+": THREADS,
    r"MNISTIter\.first_batch": OTHERWISE,
    r"metric\.(F1\.metrics|MCC\._average|MCC\._metrics|PCC\.(gcm|k|lcm))": OTHERWISE,
}


def record(mx) -> dict[str, list[str]]:
    """By class, the attributes of an object of it that was used."""
    return {name: attributes(each) for name, each in sorted(used(mx).items())}


def attributes(thing: Any) -> list[str]:
    names = {*getattr(thing, "__dict__", {})}
    for base in type(thing).__mro__[:-1]:
        slots = vars(base).get("__slots__", ())
        names |= {slots} if isinstance(slots, str) else {*slots}
    return sorted(name for name in names if not name.startswith("__"))


def used(mx) -> dict[str, Any]:
    """Objects of many classes, each used once."""
    parts = (arrays, blocks, trained, modules, data, small)
    return {name: each for part in parts for name, each in part(mx).items()}


def arrays(mx) -> dict[str, Any]:
    x, s = mx.nd.ones((2, 3)), mx.sym.var("x")
    executor = (s * 2).simple_bind(mx.cpu(), x=(2, 3))
    executor.forward(is_train=True)
    return {
        "NDArray": x,
        "CSRNDArray": x.tostype("csr"),
        "RowSparseNDArray": x.tostype("row_sparse"),
        "Symbol": s,
        "Context": mx.cpu(),
        "Executor": executor,
        "AttrScope": mx.AttrScope(),
        "NameManager": mx.name.NameManager(),
        "Prefix": mx.name.Prefix("a"),
        "Monitor": mx.mon.Monitor(1),
    }


def blocks(mx) -> dict[str, Any]:
    nn, rnn, x = mx.gluon.nn, mx.gluon.rnn, mx.nd.ones((2, 3, 8, 8))
    net = nn.HybridSequential()
    net.add(nn.Conv2D(4, 3), nn.BatchNorm(), nn.Activation("relu"), nn.MaxPool2D(), nn.Flatten())
    net.add(nn.Dense(3), nn.Dropout(0.5), nn.PReLU(), nn.LayerNorm())
    net.initialize()
    net.hybridize()
    net(x)
    layers = {type(child).__name__: child for child in net._children.values()}
    plain = nn.Sequential()
    plain.add(nn.Embedding(4, 3), nn.Lambda("relu"), nn.HybridLambda("relu"), nn.GroupNorm())
    plain.initialize()
    plain(mx.nd.ones((2, 3)))
    layers |= {type(child).__name__: child for child in plain._children.values()}
    s = mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=2, name="fc")
    symbol_block = mx.gluon.SymbolBlock(s, mx.sym.var("data"))
    symbol_block.initialize()
    symbol_block(mx.nd.ones((2, 3)))
    cells = [rnn.LSTMCell(3), rnn.GRUCell(3), rnn.RNNCell(3), rnn.SequentialRNNCell()]
    cells += [rnn.DropoutCell(0.5), rnn.ZoneoutCell(rnn.RNNCell(3), 0.5, 0.5)]
    cells += [rnn.ResidualCell(rnn.RNNCell(3)), rnn.BidirectionalCell(cells[0], cells[1])]
    stacks = [rnn.LSTM(3), rnn.GRU(3), rnn.RNN(3)]
    for stack in stacks:
        stack.initialize()
        stack(mx.nd.ones((4, 2, 3)))
    losses = [mx.gluon.loss.L2Loss(), mx.gluon.loss.SoftmaxCrossEntropyLoss()]
    losses += [mx.gluon.loss.HuberLoss(), mx.gluon.loss.CTCLoss(), mx.gluon.loss.TripletLoss()]
    others = [net, plain, symbol_block, *cells, *stacks, *losses]
    return layers | {type(each).__name__: each for each in others}


def trained(mx) -> dict[str, Any]:
    net = mx.gluon.nn.Dense(2)
    net.initialize()
    trainer = mx.gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 0.1, "momentum": 0.9})
    with mx.autograd.record():
        y = net(mx.nd.ones((2, 3))).sum()
    y.backward()
    trainer.step(2)
    deferred = mx.gluon.Parameter("w", shape=(2, 0), allow_deferred_init=True)
    deferred.initialize()
    found = {
        "Parameter": net.weight,
        "deferred Parameter": deferred,
        "Constant": mx.gluon.Constant("c", mx.nd.ones((2,))),
        "ParameterDict": net.collect_params(),
        "Trainer": trainer,
        "Updater": mx.optimizer.get_updater(mx.optimizer.SGD()),
        "KVStore": mx.kv.create("local"),
    }
    names = (
        "sgd adam nag rmsprop adagrad adadelta adamax nadam ftrl ftml signum sgld dcasgd lamb lars"
    )
    found |= {type(each).__name__: each for each in map(mx.optimizer.create, names.split())}
    scheduler = mx.lr_scheduler
    schedulers = [scheduler.FactorScheduler(2), scheduler.MultiFactorScheduler([2, 4])]
    schedulers += [scheduler.PolyScheduler(9), scheduler.CosineScheduler(9)]
    return found | {type(each).__name__: each for each in schedulers}


def modules(mx) -> dict[str, Any]:
    def network(key=None):
        s = mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=2, name="fc")
        return mx.sym.SoftmaxOutput(s, name="softmax"), ("data",), ("softmax_label",)

    batch = mx.io.DataBatch([mx.nd.ones((2, 3))], [mx.nd.zeros((2,))], bucket_key=3,
                            provide_data=[("data", (2, 3))],
                            provide_label=[("softmax_label", (2,))])  # fmt: skip
    module, bucketing = mx.mod.Module(network()[0]), mx.mod.BucketingModule(network, 3)
    for each in (module, bucketing):
        each.bind(batch.provide_data, batch.provide_label)
        each.init_params()
        each.init_optimizer()
        each.forward_backward(batch)
        each.update()
    sequential = mx.mod.SequentialModule()
    sequential.add(mx.mod.Module(network()[0]), take_labels=True)
    old = [mx.rnn.LSTMCell(3), mx.rnn.GRUCell(3), mx.rnn.FusedRNNCell(3), mx.rnn.DropoutCell(0.5)]
    found = [module, bucketing, sequential, batch]
    return {type(each).__name__: each for each in found} | {
        "executor group": module._exec_group,
        "executor": module._exec_group.execs[0],
        **{f"rnn.{type(each).__name__}": each for each in old},
    }


def data(mx) -> dict[str, Any]:
    d, x = mx.gluon.data, mx.nd.ones((4, 3))
    dataset = d.ArrayDataset(x, x)
    sampler = d.RandomSampler(4)
    iterator = mx.io.NDArrayIter(x, x, batch_size=2)
    transforms = d.vision.transforms
    folder = Path(tempfile.mkdtemp())
    (folder / "i").write_bytes(struct.pack(">IIII", 2051, 4, 28, 28) + bytes(4 * 784))
    (folder / "l").write_bytes(struct.pack(">II", 2049, 4) + bytes(4))
    record = mx.recordio.MXIndexedRecordIO(str(folder / "r.idx"), str(folder / "r.rec"), "w")
    record.write_idx(0, b"a")
    record.close()
    found = [dataset, sampler, d.BatchSampler(sampler, 2), d.DataLoader(dataset, 2), iterator]
    found += [mx.io.ResizeIter(iterator, 3), mx.io.PrefetchingIter(iterator), record]
    found += [d.SimpleDataset([1]), dataset.transform(lambda *x: x)]
    found += [d.RecordFileDataset(str(folder / "r.rec"))]
    found += [
        transforms.Compose([]),
        transforms.Normalize(),
        transforms.Resize(4),
        transforms.Cast(),
    ]
    found += [transforms.CenterCrop(4), transforms.RandomResizedCrop(4), transforms.ToTensor()]
    found += [mx.io.DataDesc("data", (2, 3)), mx.rnn.BucketSentenceIter([[1, 2], [1, 2]], 1, [2])]
    mnist = mx.io.MNISTIter(image=str(folder / "i"), label=str(folder / "l"), batch_size=2)
    return {type(each).__name__: each for each in found} | {"MNISTIter": mnist}


def small(mx) -> dict[str, Any]:
    m, i = mx.metric, mx.init
    metrics = [
        m.Accuracy(),
        m.TopKAccuracy(2),
        m.F1(),
        m.MCC(),
        m.MAE(),
        m.MSE(),
        m.RMSE(),
        m.Loss(),
    ]
    metrics += [m.CrossEntropy(), m.Perplexity(None), m.PearsonCorrelation(), m.PCC()]
    metrics += [m.NegativeLogLikelihood(), m.CompositeEvalMetric(), m.CustomMetric(lambda x, y: 0)]
    inits = [i.Uniform(), i.Normal(), i.Xavier(), i.Orthogonal(), i.MSRAPrelu(), i.Bilinear()]
    inits += [i.Constant(1), i.One(), i.LSTMBias(), i.Mixed([".*"], [i.One()]), i.InitDesc("x")]
    calls = [mx.callback.Speedometer(2), mx.callback.ProgressBar(2)]
    ones = mx.nd.ones(3)
    images = [mx.image.ResizeAug(2), mx.image.CenterCropAug((2, 2))]
    images += [mx.image.ColorNormalizeAug(ones, ones)]
    others = [*calls, *images, mx.contrib.text.vocab.Vocabulary(Counter("a"))]
    return {
        f"{part}{type(each).__name__}": each
        for part, found in (("metric.", metrics), ("init.", inits), ("", others))
        for each in found
    }
