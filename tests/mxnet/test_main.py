"""``python -m layers.mxnet``: programs that say ``import mxnet``, unchanged."""

import subprocess
import sys
import textwrap

import forks
import numpy as np
import pytest
from repeated import first_alone

pytestmark = pytest.mark.engine("torch")
removed = pytest.mark.skipif(
    np.lib.NumpyVersion(np.__version__) < "1.24.0", reason="this NumPy has np.int itself"
)


def run(folder, *arguments):
    return forks.run(arguments, cwd=folder)


def start(folder, *arguments):
    """As `run`, in a process started as users start it: its parents and traceback are its own."""
    return subprocess.run(
        [sys.executable, *arguments], cwd=folder, capture_output=True, text=True, timeout=120
    )


@pytest.fixture
def write(tmp_path):
    def write(name, text):
        (tmp_path / name).write_text(textwrap.dedent(text))
        return tmp_path

    return write


def test_a_script_with_arguments_and_modules_of_its_own(write):
    write("mine.py", "import mxnet as mx\nONES = mx.nd.ones((2,))\n")
    folder = write(
        "script.py",
        """
        import sys
        import mxnet as mx
        from mxnet import gluon, autograd
        from mxnet.gluon import nn
        import mxnet.ndarray as nd
        import mine
        assert __name__ == "__main__"
        assert mx.gluon is gluon and nd is mx.nd and nn is gluon.nn
        print(mx.__name__, sys.argv, mine.ONES.sum().asscalar(), isinstance(mine.ONES, nd.NDArray))
        """,
    )
    done = run(folder, "-m", "layers.mxnet", "script.py", "--epochs", "3")
    assert done.stdout.strip() == "layers.mxnet ['script.py', '--epochs', '3'] 2.0 True", (
        done.stderr
    )


def test_a_module(write):
    folder = write(
        "module.py", "import sys, mxnet\nprint(mxnet.__name__, sys.argv[1:], __name__)\n"
    )
    done = run(folder, "-m", "layers.mxnet", "-m", "module", "x")
    assert done.stdout.strip() == "layers.mxnet ['x'] __main__", done.stderr


@pytest.mark.slow
def test_spawned_processes_and_commands(write):
    folder = write(
        "script.py",
        """
        import multiprocessing, subprocess, sys
        import mxnet as mx

        def work(n):
            return float(mx.nd.ones((n,)).sum().asscalar())

        if __name__ == "__main__":
            with multiprocessing.get_context("spawn").Pool(1) as pool:
                print(pool.map(work, [2, 3]))
            code = "import mxnet; print(mxnet.__name__)"
            command = [sys.executable, "-c", code]
            print(subprocess.run(command, capture_output=True, text=True).stdout)
        """,
    )
    done = start(folder, "-m", "layers.mxnet", "script.py")
    assert done.stdout.split("\n")[:2] == ["[2.0, 3.0]", "layers.mxnet"], done.stderr


def test_exit_status_and_errors_are_the_programs_own(write):
    folder = write("script.py", "import mxnet, sys\nsys.exit(7)\n")
    assert run(folder, "-m", "layers.mxnet", "script.py").returncode == 7
    write("broken.py", "import mxnet.nothing\n")
    done = run(folder, "-m", "layers.mxnet", "broken.py")
    assert "No module named 'mxnet.nothing'" in done.stderr
    done = run(folder, "-m", "layers.mxnet", "absent.py")
    assert done.returncode == 1 and "there is no file 'absent.py'" in done.stderr
    done = run(folder, "-m", "layers.mxnet", "--keep-nump", "broken.py")
    assert done.returncode == 1
    assert "no option '--keep-nump'\n  did you mean '--keep-numpy'?\n  expected" in done.stderr


@pytest.mark.parametrize("arguments", first_alone([["script.py"], ["-m", "script"]]), ids=" ".join)
def test_an_error_is_shown_from_the_program_on(write, arguments):
    folder = write("script.py", "def f():\n    return 1 / 0\n\nf()\n")
    told = start(folder, "-m", "layers.mxnet", *arguments).stderr
    assert told.startswith("Traceback (most recent call last):\n")
    files = [line for line in told.splitlines() if line.startswith("  File ")]
    assert len(files) == 2 and all("script.py" in line for line in files)
    assert told.endswith("ZeroDivisionError: division by zero\n")


def test_an_absent_module_is_told_as_python_does(tmp_path):
    done = start(tmp_path, "-m", "layers.mxnet", "-m", "nomod")
    assert done.returncode == 1
    assert done.stderr == f"{sys.executable}: No module named nomod\n"


@pytest.mark.slow
def test_a_syntax_error_is_shown_alone(write):
    folder = write("script.py", "def f(:\n")
    told = start(folder, "-m", "layers.mxnet", "script.py").stderr
    assert told.count("  File ") == 1 and "SyntaxError" in told


def test_install_in_a_notebook(write):
    folder = write(
        "cell.py",
        """
        import layers.mxnet
        layers.mxnet.install()
        layers.mxnet.install()
        import mxnet as mx
        from mxnet.gluon.nn import Dense
        from layers import DenseBlock
        assert mx is layers.mxnet and issubclass(DenseBlock, mx.gluon.HybridBlock)
        assert mx.__spec__.name == "layers.mxnet"
        print("ok")
        """,
    )
    done = run(folder, "cell.py")
    assert done.stdout.strip() == "ok", done.stderr


def test_install_beside_apache_mxnet_is_refused(write):
    write("mxnet.py", "")  # stands for the real one
    folder = write("cell.py", "import mxnet, layers.mxnet\nlayers.mxnet.install()\n")
    assert "Apache MXNet is imported already" in run(folder, "cell.py").stderr


PROGRAM = """
import numpy as np
import mxnet as mx
from mxnet import gluon, autograd


class Logistic(mx.operator.CustomOp):
    def forward(self, is_train, req, in_data, out_data, aux):
        y = 1.0 / (1.0 + np.exp(-in_data[0].asnumpy()))
        self.assign(out_data[0], req[0], mx.nd.array(y))

    def backward(self, req, out_grad, in_data, out_data, in_grad, aux):
        y, dy = out_data[0].asnumpy(), out_grad[0].asnumpy()
        self.assign(in_grad[0], req[0], mx.nd.array(dy * (1.0 - y) * y))


@mx.operator.register("sigmoid")
class LogisticProp(mx.operator.CustomOpProp):
    def __init__(self):
        super(LogisticProp, self).__init__(True)

    def infer_shape(self, in_shapes):
        return (in_shapes[0],), (in_shapes[0],), ()

    def create_operator(self, ctx, in_shapes, in_dtypes):
        return Logistic()


class Affine(mx.operator.CustomOp):
    def __init__(self, bias):
        self._bias = bias

    def forward(self, is_train, req, in_data, out_data, aux):
        y = in_data[0].asnumpy().dot(in_data[1].asnumpy().T) + self._bias
        self.assign(out_data[0], req[0], mx.nd.array(y))


@mx.operator.register("dense")
class AffineProp(mx.operator.CustomOpProp):
    def __init__(self, bias):
        super(AffineProp, self).__init__(True)
        self._bias = float(bias)

    def list_arguments(self):
        return ["data", "weight"]

    def infer_shape(self, in_shapes):
        return in_shapes, ((in_shapes[0][0], in_shapes[1][0]),), ()

    def create_operator(self, ctx, in_shapes, in_dtypes):
        return Affine(self._bias)


class AffineBlock(mx.gluon.Block):
    def __init__(self, in_channels, channels, bias, **kwargs):
        super(AffineBlock, self).__init__(**kwargs)
        self._bias = bias
        self.weight = self.params.get("weight", shape=(channels, in_channels))

    def forward(self, x):
        return mx.nd.Custom(x, self.weight.data(x.context), bias=self._bias, op_type="dense")


x = mx.nd.array([0, 1, 2, 3])
x.attach_grad()
with autograd.record():
    y = mx.nd.Custom(x, op_type="sigmoid")
y.backward()
print(x.grad)
block = AffineBlock(3, 5, 0.1)
block.initialize()
print(block(mx.nd.zeros((4, 3))))
"""
ROWS = " ".join(["[0.1 0.1 0.1 0.1 0.1]"] * 4)
PRINTED = (
    f"[0.25 0.19661193 0.10499363 0.04517666] <NDArray 4 @cpu(0)> [{ROWS}] <NDArray 4x5 @cpu(0)>"
)


@pytest.mark.parametrize("changed", first_alone([False, True]), ids=["unchanged", "import changed"])
def test_the_operators_of_a_tutorial(write, changed):
    text = PROGRAM
    if changed:
        text = text.replace("import mxnet as mx", "import layers.mxnet as mx")
        text = text.replace("from mxnet import", "from layers.mxnet import")
    folder = write("script.py", text)
    done = run(folder, *([] if changed else ["-m", "layers.mxnet"]), "script.py")
    assert " ".join(done.stdout.split()) == PRINTED, done.stderr


SYMBOLIC = """
import logging
import os
os.environ["MXNET_CPU_WORKER_NTHREADS"] = "2"
import mxnet as mx
import numpy as np


class Probabilities(mx.operator.CustomOp):
    def forward(self, is_train, req, in_data, out_data, aux):
        scores = in_data[0].asnumpy()
        e = np.exp(scores - scores.max(axis=1).reshape((-1, 1)))
        e /= e.sum(axis=1).reshape((-1, 1))
        self.assign(out_data[0], req[0], mx.nd.array(e))

    def backward(self, req, out_grad, in_data, out_data, in_grad, aux):
        label = in_data[1].asnumpy().ravel().astype(np.int)
        dx = out_data[0].asnumpy()
        dx[np.arange(label.shape[0]), label] -= 1.0
        self.assign(in_grad[0], req[0], mx.nd.array(dx))


@mx.operator.register("softmax")
class ProbabilitiesProp(mx.operator.CustomOpProp):
    def __init__(self):
        super(ProbabilitiesProp, self).__init__(need_top_grad=False)

    def list_arguments(self):
        return ['data', 'label']

    def list_outputs(self):
        return ['output']

    def infer_shape(self, in_shape):
        data_shape = in_shape[0]
        label_shape = (in_shape[0][0],)
        output_shape = in_shape[0]
        return [data_shape, label_shape], [output_shape], []

    def create_operator(self, ctx, shapes, dtypes):
        return Probabilities()


net = mx.symbol.Variable('data')
net = mx.symbol.FullyConnected(data=net, name='fc1', num_hidden=32)
net = mx.symbol.Activation(data=net, name='relu1', act_type="relu")
net = mx.symbol.FullyConnected(data=net, name='fc2', num_hidden=16)
net = mx.symbol.Activation(data=net, name='relu2', act_type="relu")
fc3 = mx.symbol.FullyConnected(data=net, name='fc3', num_hidden=4)
mlp = mx.symbol.Custom(data=fc3, name='softmax', op_type='softmax')

np.random.seed(0)
mx.random.seed(0)
labels = np.arange(400) % 4
points = np.eye(4, 10)[labels] * 2 + np.random.normal(0, 0.5, (400, 10)).astype(np.float)
train = mx.io.NDArrayIter(points[:300], labels[:300], 50, shuffle=True)
held_out = mx.io.NDArrayIter(points[300:], labels[300:], 50)

logging.basicConfig(level=logging.DEBUG)
model = mx.mod.Module(mlp, context=mx.cpu(0), label_names=['softmax_label'])
model.fit(train_data=train, eval_data=held_out, optimizer="sgd",
          optimizer_params={'learning_rate': 0.1, 'momentum': 0.9, 'wd': 0.00001},
          initializer=mx.init.Xavier(), num_epoch=10,
          batch_end_callback=mx.callback.Speedometer(50, 2))
print(mlp.list_arguments()[-1], model.score(held_out, 'acc')[0][1] > 0.95)
"""


def test_a_symbolic_program_of_its_time(write):
    folder = write("script.py", SYMBOLIC)
    done = run(folder, "-m", "layers.mxnet", "script.py")
    assert done.stdout.strip() == "softmax_label True", done.stderr
    assert "INFO:root:Epoch[9] Validation-accuracy=" in done.stderr


@removed
@pytest.mark.parametrize(
    "how, expected",
    first_alone(
        [
            (["-m", "layers.mxnet"], "True"),
            (["-m", "layers.mxnet", "--keep-numpy"], "False"),
            (["-c", "import layers.mxnet as mx; mx.install(); import script"], "True"),
            (["-c", "import layers.mxnet as mx; mx.install(numpy=False); import script"], "False"),
            (["-c", "import layers.mxnet, script"], "False"),
        ]
    ),
    ids=["program", "--keep-numpy", "install", "install(numpy=False)", "import"],
)
def test_who_gives_numpy_its_old_names(write, how, expected):
    folder = write("script.py", "import numpy as np\nprint(hasattr(np, 'int'))\n")
    done = run(folder, *how, *(["script.py"] if how[0] == "-m" else []))
    assert done.stdout.strip() == expected, done.stderr


@removed
@pytest.mark.parametrize("keep", [False, True], ids=["given", "kept"])
@pytest.mark.slow
def test_processes_that_a_program_starts_have_its_numpy(write, keep):
    folder = write(
        "script.py",
        """
        import multiprocessing, subprocess, sys
        import mxnet as mx
        import numpy as np

        def work(_):
            return hasattr(np, "int")

        if __name__ == "__main__":
            with multiprocessing.get_context("spawn").Pool(1) as pool:
                print(work(0), *pool.map(work, [0]), flush=True)
            code = "import mxnet, numpy; print(hasattr(numpy, 'int'))"
            subprocess.run([sys.executable, "-c", code], check=True)
        """,
    )
    done = start(folder, "-m", "layers.mxnet", *(["--keep-numpy"] if keep else []), "script.py")
    assert done.stdout.split() == [str(not keep)] * 3, done.stderr


def test_a_module_of_mxnet_is_run(tmp_path):
    ran = run(tmp_path, "-m", "layers.mxnet", "-m", "mxnet.tools.im2rec", "--help")
    assert ran.returncode == 0 and "--recursive" in ran.stdout
