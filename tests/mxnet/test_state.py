"""Nothing that programs do here changes what they share with others: loggers, warnings, seeds."""

import re
from pathlib import Path

import forks
import pytest

LAYERS = Path(__file__).parents[2] / "layers"
# Where MXNet's own Python calls a function of the module `logging`, too.
AS_IN_MXNET = """
    _files/checkpoint.py callback.py contrib/amp/amp.py contrib/amp/loss_scaler.py
    image/_iterator.py image/detection.py initializer.py lr_scheduler.py module/module.py monitor.py
"""
STATE = """
import gc, locale, logging, os, random, sys, warnings
from importlib import import_module
import numpy

mx = import_module(ENGINE)
logging.root.setLevel(logging.DEBUG)
lines = []


class Keep(logging.Handler):
    def emit(self, record):
        lines.append(record.name)


logging.root.addHandler(Keep())


def levels():
    loggers = logging.root.manager.loggerDict
    return {name: each.level for name, each in loggers.items() if hasattr(each, "level")
            and not name.startswith(("layers", "mxnet"))}


def state():
    return {
        "handlers": (logging.root.handlers[:], logging.root.level, logging.root.disabled),
        "levels": {name: level for name, level in levels().items() if level},
        "logging": (logging.raiseExceptions, logging.root.manager.disable),
        "warnings": (warnings.filters[:], warnings.showwarning),
        "NumPy": (numpy.geterr(), numpy.geterrcall(), numpy.get_printoptions()),
        "random": (random.getstate(), str(numpy.random.get_state())),
        "hooks": (sys.excepthook, sys.unraisablehook, sys.displayhook, gc.isenabled()),
        "streams": (sys.stdout, sys.stderr, sys.argv[:], os.getcwd()),
        "locale": locale.setlocale(locale.LC_ALL),
    }


work = WORK
work()
random.seed(0)
numpy.random.seed(0)
before = state()
lines.clear()
work()
after = state()
print("changed:", *[name for name in before if before[name] != after[name]])
print("lines:", *sorted({*lines}))
"""
FILES = """
import pathlib, struct, tempfile
folder = pathlib.Path(tempfile.mkdtemp())
(folder / "i").write_bytes(struct.pack(">IIII", 2051, 20, 28, 28) + bytes(20 * 784))
(folder / "l").write_bytes(struct.pack(">II", 2049, 20) + bytes(20))
(folder / "c").write_text("1,2\\n3,4\\n")
(folder / "s").write_text("1 0:1\\n0 1:2\\n")
record = mx.recordio.MXIndexedRecordIO(str(folder / "r.idx"), str(folder / "r.rec"), "w")
for i in range(4):
    pixels = numpy.full((8, 8, 3), i, "uint8")
    header = mx.recordio.IRHeader(0, float(i), i, 0)
    record.write_idx(i, mx.recordio.pack_img(header, pixels, img_fmt=".png", quality=3))
record.close()
"""
ITERATORS = {
    "MNISTIter": "image=str(folder / 'i'), label=str(folder / 'l'), batch_size=10, shuffle=False",
    "ImageRecordIter": "path_imgrec=str(folder / 'r.rec'), data_shape=(3, 8, 8), batch_size=2",
    "CSVIter": "data_csv=str(folder / 'c'), data_shape=(2,), batch_size=1",
    "LibSVMIter": "data_libsvm=str(folder / 's'), data_shape=(2,), batch_size=1",
    "NDArrayIter": "numpy.ones((4, 2)), numpy.ones(4), 2",
}
WORKS = {name: f"mx.io.{name}({given})" for name, given in ITERATORS.items()}
WORKS["ImageIter"] = (
    "mx.image.ImageIter(2, (3, 8, 8), path_imgrec=str(folder / 'r.rec'), "
    "path_imgidx=str(folder / 'r.idx'))"
)
ITERATE = """
def work():
    for batch in {made}:
        batch.data[0].wait_to_read()
"""
FIT = """
def work():
    fc = mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=2, name="fc")
    symbol = mx.sym.SoftmaxOutput(fc, name="softmax")
    module = mx.mod.Module(symbol, logger=logging.getLogger("mine"))
    data = mx.io.NDArrayIter(numpy.ones((4, 2)), numpy.ones(4), 2)
    module.fit(data, eval_data=data, num_epoch=1, initializer=mx.init.Xavier())
    module.predict(data)
"""
GLUON = """
def work():
    net = mx.gluon.nn.HybridSequential()
    net.add(mx.gluon.nn.Conv2D(2, 3), mx.gluon.nn.BatchNorm(), mx.gluon.nn.Dense(2))
    net.initialize(mx.init.Xavier())
    net.hybridize()
    trainer = mx.gluon.Trainer(net.collect_params(), "adam")
    dataset = mx.gluon.data.ArrayDataset(mx.nd.ones((4, 3, 8, 8)), mx.nd.ones((4,)))
    loss = mx.gluon.loss.SoftmaxCrossEntropyLoss()
    for x, y in mx.gluon.data.DataLoader(dataset, 2):
        with mx.autograd.record():
            total = loss(net(x), y)
        total.backward()
        trainer.step(2)
    str(net(x))
"""
PROGRAMS = {name: ITERATE.format(made=made) for name, made in WORKS.items()}
PROGRAMS |= {"fit": FIT, "gluon": GLUON}


# MXNet's ImageIter itself calls logging.info.
EACH = [
    pytest.param(name, marks=pytest.mark.engine("torch")) if name == "ImageIter" else name
    for name in PROGRAMS
]


@pytest.mark.parametrize("name", EACH)
def test_a_second_time_changes_nothing_that_others_see(mx, name):
    head, rest = STATE.split("work = WORK\n")
    program = head.replace("ENGINE", repr(mx.__name__)) + FILES + PROGRAMS[name] + rest
    found = forks.run(["-W", "ignore", "-c", program])
    assert found.returncode == 0, found.stderr
    changed, lines = found.stdout.splitlines()[-2:]
    assert changed == "changed:"
    assert {*lines.split()[1:]} <= {
        "mine",
        "layers.mxnet.iterators",
    }  # MXNet's C++ writes to stderr


FIRST = """
import logging
from importlib import import_module
import numpy
mx = import_module(ENGINE)
"""


@pytest.mark.parametrize("name", EACH)
def test_the_first_time_leaves_the_root_logger_alone(mx, name):
    """It has no handler, so that the program's own basicConfig() takes effect."""
    program = FIRST.replace("ENGINE", repr(mx.__name__)) + FILES + PROGRAMS[name]
    found = forks.run(["-W", "ignore", "-c", f"{program}\nwork()\nprint(logging.root.handlers)"])
    assert found.returncode == 0, found.stderr
    assert found.stdout.splitlines()[-1] == "[]"


@pytest.mark.engine("torch")
def test_the_root_logger_is_called_where_mxnet_calls_it():
    pattern = re.compile(r"\blogging\.(debug|info|warn|warning|error|exception|critical|log)\(")
    package = LAYERS / "mxnet"
    found = {str(f.relative_to(package)) for f in package.rglob("*.py")
             if pattern.search(f.read_text("utf-8"))}  # fmt: skip
    assert found == {*AS_IN_MXNET.split()}
    others = [f for f in LAYERS.rglob("*.py") if package not in f.parents]
    assert not [f for f in others if pattern.search(f.read_text("utf-8"))]
