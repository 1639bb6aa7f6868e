"""The program of MindSpore's document on custom operators, with its import and device changed."""

import importlib.util
import os
from pathlib import Path

import forks
import numpy as np
import pytest

import layers.mindspore as ms
import layers.mindspore.ops as ops
from layers.mindspore.nn import Cell

ROOT = Path(__file__).resolve().parents[2]

PROGRAM = """
import numpy as np
import layers.mindspore as ms
from layers.mindspore.nn import Cell
import layers.mindspore.ops as ops

ms.set_context(mode=ms.GRAPH_MODE, device_target="CPU")


def square(x):
    y = output_tensor(x.shape, x.dtype)
    for i0 in range(x.shape[0]):
        y[i0] = y[i0] * y[i0]
    return y


def square_grad(x, dout):
    dx = output_tensor(x.shape, x.dtype)
    for i0 in range(x.shape[0]):
        dx[i0] = 2.0 * x[i0]
    for i0 in range(x.shape[0]):
        dx[i0] = dx[i0] * dout[i0]
    return dx


def bprop():
    op = ops.Custom(square_grad, lambda x, _: x, lambda x, _: x, func_type="akg")

    def custom_bprop(x, out, dout):
        dx = op(x, dout)
        return (dx,)

    return custom_bprop


class Net(Cell):
    def __init__(self):
        super(Net, self).__init__()
        self.op = ops.Custom(square, lambda x: x, lambda x: x, bprop=bprop(), func_type="akg")

    def construct(self, x):
        return self.op(x)


if __name__ == "__main__":
    x = np.array([1.0, 4.0, 9.0]).astype(np.float32)
    dx = ms.grad(Net())(ms.Tensor(x))
    print(dx)
"""


def run(tmp_path, text):
    """What the program prints, in a process of its own."""
    (tmp_path / "test_grad.py").write_text(text)
    ran = forks.run(
        ["test_grad.py"], cwd=tmp_path, env={**os.environ, "PYTHONPATH": str(ROOT)}, timeout=200
    )
    return ran.returncode, ran.stdout, ran.stderr


@pytest.mark.slow_on("mxnet")
def test_it_runs_as_printed(tmp_path):
    code, out, errors = run(tmp_path, PROGRAM)
    assert (code, out) == (0, "[ 2.  8. 18.]\n"), errors


@pytest.mark.slow_on("mxnet")
def test_a_device_that_is_not_there(tmp_path):
    if ms.context.mx.context.num_gpus():
        pytest.skip("there is a GPU")
    code, _, errors = run(tmp_path, PROGRAM.replace('"CPU"', '"GPU"'))
    assert code == 1 and "device_target is 'GPU', and there is none here\n  expected" in errors


def program(path, text=PROGRAM):
    """The names that the program defines; a kernel is read from its file."""
    path.write_text(text)
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize(
    "old, new",
    [
        ('func_type="akg"', 'func_type="hybrid"'),
        ('func_type="akg"', 'func_type="pyfunc"'),
        ("GRAPH_MODE", "PYNATIVE_MODE"),
    ],
)
def test_it_runs_in_other_ways(tmp_path, old, new):
    text = PROGRAM.replace(old, new).replace("\ndef square", "\n@ops.kernel\ndef square")
    net = program(tmp_path / f"other_{len(new)}.py", text).Net()
    assert str(ms.grad(net)(ms.Tensor(np.float32([1, 4, 9])))) == "[ 2.  8. 18.]"


def test_its_forward_and_other_heads(tmp_path):
    text = PROGRAM.replace("y[i0] * y[i0]", "x[i0] * x[i0]")
    net, x = program(tmp_path / "right.py", text).Net(), ms.Tensor([1.0, 4.0, 9.0])
    assert str(net(x)) == "[ 1. 16. 81.]"
    assert ms.grad(lambda x: 3.0 * net(x))(x).asnumpy().tolist() == [6, 24, 54]
    printed = program(tmp_path / "printed.py").Net()
    assert printed(x).asnumpy().tolist() == [0, 0, 0]  # it squares y, which is zeros


@pytest.mark.engine("torch")  # MXNet has no second derivative of custom operators
def test_its_second_derivative_is_refused(tmp_path):
    net = program(tmp_path / "second.py").Net()
    with pytest.raises(NotImplementedError, match="(?s)'Custom_square_grad.*has no bprop"):
        ms.grad(ms.grad(net))(ms.Tensor([1.0]))


def test_a_cell_as_bprop():
    class Backward(Cell):
        def construct(self, x, out, dout):
            assert all(isinstance(a, ms.Tensor) for a in (x, out, dout))
            return (2 * x * dout,)

    op = ops.Custom(lambda x: x * x, lambda x: x, lambda x: x, "pyfunc", Backward())
    x = ms.Tensor(np.float32([1, 4, 9]))
    assert str(op(x)) == "[ 1. 16. 81.]" and str(ms.grad(op)(x)) == "[ 2.  8. 18.]"
