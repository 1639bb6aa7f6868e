"""CustomOps where MXNet hangs or dies: each program has to end in time, with the right numbers."""

import subprocess
import sys
import textwrap

import pytest

pytestmark = pytest.mark.engine("torch")
LIMIT = 100  # seconds for a program of two; a hang is told from a slow machine

OPERATOR = '''
import threading

import numpy as np

import layers.mxnet as mx
from layers.mxnet import autograd, gluon, nd


class Next(mx.operator.CustomOp):
    """y = x + 1, there and back through NumPy; a negative number is refused."""

    def forward(self, is_train, req, in_data, out_data, aux):
        x = in_data[0].asnumpy()
        if x.min() < 0:
            raise ValueError(f"negative: {x.min()}")
        self.assign(out_data[0], req[0], nd.array(x + 1) * nd.ones((1,)))

    def backward(self, req, out_grad, in_data, out_data, in_grad, aux):
        dy = nd.sum(out_grad[0], axis=0, keepdims=True).asnumpy()
        self.assign(in_grad[0], req[0], nd.array(dy))


class Nested(mx.operator.CustomOp):
    """y = x + 2, by two of the other one, which backward goes back through."""

    def forward(self, is_train, req, in_data, out_data, aux):
        self.x = in_data[0].copy()
        self.x.attach_grad()
        with autograd.record():
            self.y = nd.Custom(nd.Custom(self.x, op_type="next"), op_type="next")
        self.assign(out_data[0], req[0], self.y)

    def backward(self, req, out_grad, in_data, out_data, in_grad, aux):
        self.y.backward(out_grad[0])
        self.assign(in_grad[0], req[0], self.x.grad)


for kind in (Next, Nested):
    @mx.operator.register(kind.__name__.lower())
    class Prop(mx.operator.CustomOpProp):
        kind = kind

        def create_operator(self, ctx, in_shapes, in_dtypes):
            return self.kind()


def chain(start, count=3, op_type="next"):
    """What comes of a number, and the gradient."""
    x = nd.array([start])
    x.attach_grad()
    with autograd.record():
        y = x
        for _ in range(count):
            y = nd.Custom(y, op_type=op_type)
        y = 2 * y
    y.backward()
    return float(y.asscalar()), float(x.grad.asscalar())

'''

CHAINS = """
assert chain(1, 50) == (102, 2)
assert chain(1, 100, "nested") == (402, 2)
x = mx.sym.var("x")
y = x
for _ in range(50):
    y = mx.sym.Custom(y, op_type="next")
executor = y.simple_bind(mx.cpu(), x=(1,))
assert executor.forward(is_train=True)[0].asscalar() == 50
executor.backward(nd.ones((1,)))
assert executor.grad_arrays[0].asscalar() == 1
"""

THREADS = """
found, errors = {}, []


def run(number):
    try:
        for _ in range(10):
            found[number] = chain(number, 5, ("next", "nested")[number % 2])
    except ValueError as error:
        errors.append(str(error).splitlines()[0])  # Python 3.10 has the notes in the message


threads = [threading.Thread(target=run, args=[n]) for n in (-1, *range(8))]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
assert errors == ["negative: -1.0"], errors
assert found == {n: (2 * (n + 5 * (1 + n % 2)), 2) for n in range(8)}, found
"""

# It ends with graphs that nobody went back through, and with a thread that is not done.
EXIT = """
net = gluon.nn.HybridLambda(lambda F, x: F.Custom(x, op_type="nested"))
net.hybridize()
x = nd.ones((3,))
x.attach_grad()
with autograd.record():
    left = [net(x) for _ in range(20)]
kept = Next()
executor = mx.sym.Custom(mx.sym.var("x"), op_type="next").simple_bind(mx.cpu(), x=(1,))
executor.forward(is_train=True)
threading.Thread(target=lambda: [chain(1) for _ in range(100)]).start()
"""

WORKERS = """
import multiprocessing
import sys

import torch.utils.data


class Numbers(torch.utils.data.Dataset):
    def __len__(self):
        return 6

    def __getitem__(self, number):
        return torch.tensor(chain(number))


if __name__ == "__main__":
    way = sys.argv[1]
    assert chain(0) == (6, 2)  # the process has recorded and gone back before
    expected = [(2 * (n + 3), 2.0) for n in range(6)]
    with multiprocessing.get_context(way).Pool(2) as pool:
        assert pool.map_async(chain, range(6)).get(60) == expected
        try:
            pool.map_async(chain, [1, -1]).get(60)
        except ValueError as error:
            assert "negative: -1.0" in str(error)
        else:
            raise AssertionError("an exception is lost")
    loader = torch.utils.data.DataLoader(
        Numbers(), batch_size=3, num_workers=2, multiprocessing_context=way, timeout=60
    )
    assert torch.cat(list(loader)).tolist() == [list(pair) for pair in expected]
    assert chain(0) == (6, 2)
    print("ended")
"""


def ended(tmp_path, program, *arguments):
    path = tmp_path / "program.py"
    path.write_text(OPERATOR + textwrap.dedent(program))
    done = subprocess.run(
        [sys.executable, "-W", "ignore", path, *arguments],
        capture_output=True,
        text=True,
        timeout=LIMIT,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout == "ended\n" and not done.stderr, done.stderr


@pytest.mark.slow
def test_chains_threads_and_the_end(tmp_path):
    ended(tmp_path, CHAINS + THREADS + EXIT + 'print("ended")\n')


@pytest.mark.parametrize("way", ["fork", pytest.param("spawn", marks=pytest.mark.slow)])
def test_workers(tmp_path, way):
    ended(tmp_path, WORKERS, way)
