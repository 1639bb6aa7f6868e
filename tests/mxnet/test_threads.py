"""PyTorch's and NumPy's threads: that they do not fight, and what is done for that."""

import os
import subprocess
import sys
import textwrap
import time
from threading import Event, Thread

import numpy as np
import pytest
from repeated import first_alone
from threadpoolctl import threadpool_info, threadpool_limits

from layers import operator
from layers.engine import mx, nd
from layers.ops import Custom, customop

pytestmark = pytest.mark.engine("torch")


def run(code, **environment):
    """Run a program on two threads of each kind; what it wrote."""
    settings = ("GOMP_SPINCOUNT", "OMP_WAIT_POLICY", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS")
    inherited = {k: v for k, v in os.environ.items() if k not in settings}
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)],
        env=inherited | environment,
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout, done.stderr


def openblas_threads():
    """How many threads NumPy's OpenBLAS has, None where NumPy has another library."""
    found = [i for i in threadpool_info() if i["internal_api"] == "openblas"]
    numbers = [i["num_threads"] for i in found if "numpy" in i["filepath"]]
    return numbers[0] if numbers else None


needs_libgomp = pytest.mark.skipif(sys.platform != "linux", reason="libgomp is PyTorch's on Linux")
needs_openblas = pytest.mark.skipif(openblas_threads() is None, reason="NumPy has no OpenBLAS here")


@needs_libgomp
@pytest.mark.parametrize(
    "first, environment, spin_count",
    [
        ("layers.mxnet", {}, "10000"),
        ("numpy, layers.mxnet", {}, "10000"),
        ("layers.mxnet", {"GOMP_SPINCOUNT": "500"}, "500"),
        ("layers.mxnet", {"OMP_WAIT_POLICY": "PASSIVE"}, "0"),
        ("torch, layers.mxnet", {"GOMP_SPINCOUNT": "600"}, "600"),
    ],
    ids=["default", "NumPy first", "the user's spins", "the user's policy", "torch first"],
)
@pytest.mark.slow
def test_how_often_libgomp_spins(first, environment, spin_count):
    """And the environment stays as it was."""
    code = f"import os; before = {{**os.environ}}; import {first}; print(before == os.environ)"
    stays, told = run(code, OMP_DISPLAY_ENV="VERBOSE", **environment)
    assert stays == "True\n"
    assert f"GOMP_SPINCOUNT = '{spin_count}'" in told


@pytest.mark.slow
@pytest.mark.parametrize("first", ["layers.mxnet", "torch, layers.mxnet"])
def test_the_environment_stays_as_it_was(first):
    code = f"import os; before = {{**os.environ}}; import {first}; print(before == os.environ)"
    assert run(code)[0] == "True\n"


@pytest.fixture
def two_threads():
    """OpenBLAS on two threads, as the suite's own environment does not have it."""
    with threadpool_limits(2, user_api="blas"):
        yield


@pytest.fixture
def small():
    """The most elements for which an operator multiplies on one thread."""
    from layers.mxnet._threads import SMALL

    return SMALL


@pytest.fixture
def watched(two_threads):
    """A function of an array whose forward and backward note OpenBLAS's threads."""
    seen = []

    class Watched(mx.autograd.Function):
        inner = None

        def forward(self, x):
            seen.append(openblas_threads())
            values = x.asnumpy()
            seen.append(openblas_threads())
            if self.inner is not None:
                self.inner()
                seen.append(openblas_threads())
            return nd.array(values)

        def backward(self, dy):
            return nd.array(dy.asnumpy())

    Watched.seen = seen
    return Watched


@needs_openblas
@pytest.mark.parametrize("share, more, inside", [(0, 16, 1), (1, 0, 1), (1, 1, 2), (0, 0, 2)])
def test_small_operators_have_one_thread(watched, small, share, more, inside):
    watched()(nd.array(np.zeros(share * small + more)))
    assert watched.seen == [2, inside]  # from the first array that goes to NumPy
    assert openblas_threads() == 2


@needs_openblas
def test_all_arrays_of_an_operator_count(two_threads, small):
    seen = []

    class Add(mx.autograd.Function):
        def forward(self, *arrays):
            for array in arrays:
                array.asnumpy()
                seen.append(openblas_threads())
            return arrays[0]

    half = nd.zeros((small // 2,))
    Add()(half, half, half)
    assert seen == [1, 1, 2]


@pytest.mark.parametrize(
    "first, environment, small",
    [
        ("layers.mxnet", {}, 2**19),
        ("torch, layers.mxnet", {}, 2**21),
        ("torch, layers.mxnet", {"GOMP_SPINCOUNT": "10000"}, 2**19),
        ("torch, layers.mxnet", {"OMP_WAIT_POLICY": "PASSIVE"}, 2**19),
    ],
    ids=["default", "torch first", "the user's spins", "the user's policy"],
)
@pytest.mark.slow
def test_what_is_small_depends_on_how_long_libgomp_spins(first, environment, small):
    told = run(f"import {first}; print(layers.mxnet._threads.SMALL)", **environment)[0]
    assert told == f"{small}\n"


@needs_openblas
def test_outside_operators_nothing_is_changed(two_threads):
    nd.zeros((4, 4)).asnumpy()
    assert openblas_threads() == 2


@needs_openblas
@pytest.mark.parametrize("share", [0, 1])
def test_an_operator_inside_a_small_one(watched, small, share):
    outer = watched()
    outer.inner = lambda: watched()(nd.zeros((share * small + 1,)))
    outer(nd.zeros((4, 4)))
    assert watched.seen == [2, 1, 1, 1, 1]
    assert openblas_threads() == 2


@needs_openblas
def test_a_small_operator_inside_a_large_one(watched, small):
    outer = watched()
    outer.inner = lambda: watched()(nd.zeros((4, 4)))
    outer(nd.zeros((small + 1,)))
    assert watched.seen == [2, 2, 2, 1, 2]


@needs_openblas
def test_after_an_exception(two_threads):
    class Fails(mx.autograd.Function):
        def forward(self, x):
            raise KeyError(x.asnumpy().shape)

    with pytest.raises(KeyError):
        Fails()(nd.zeros((4, 4)))
    assert openblas_threads() == 2


@needs_openblas
def test_operators_in_several_threads(watched):
    """The first that ends must not give back the threads while another one still computes."""
    started, finish = Event(), Event()
    slow = watched()
    slow.inner = lambda: (started.set(), finish.wait(60))
    thread = Thread(target=slow, args=[nd.zeros((4, 4))])
    thread.start()
    assert started.wait(60)
    watched()(nd.zeros((4, 4)))
    assert openblas_threads() == 1
    finish.set()
    thread.join()
    assert openblas_threads() == 2


def doubled(values):
    """What operators compute in NumPy; on how many threads is noted."""
    doubled.threads.add(openblas_threads())
    return values * 2


class Doubled(mx.operator.CustomOp):
    def forward(self, is_train, req, in_data, out_data, aux):
        self.assign(out_data[0], req[0], nd.array(doubled(in_data[0].asnumpy())))


@mx.operator.register("doubled")
class DoubledProp(mx.operator.CustomOpProp):
    def create_operator(self, ctx, in_shapes, in_dtypes):
        return Doubled()


@operator
class short_form:
    def forward(x):
        return nd.array(doubled(np.asarray(x)))


WAYS = {
    "CustomOp": lambda x: nd.Custom(x, op_type="doubled"),
    "operator": short_form,
    "customop": customop("numpy")(lambda x: doubled(x)),
    "Custom": Custom(lambda x: doubled(x), lambda x: x, lambda x: x, func_type="pyfunc"),
}


@needs_openblas
@pytest.mark.parametrize("way", WAYS)
def test_every_way_of_writing_an_operator_in_numpy(two_threads, way):
    doubled.threads = set()
    np.testing.assert_array_equal(WAYS[way](nd.ones((2, 3))).asnumpy(), 2)
    assert doubled.threads == {1}
    assert openblas_threads() == 2


FIGHT = """
    import time
    import numpy as np
    from threadpoolctl import threadpool_limits
    import layers.mxnet as mx
    import torch
    torch.set_num_threads(2)

    class Dense(mx.autograd.Function):
        def forward(self, x, w):
            return mx.nd.array(x.asnumpy() @ w.asnumpy().T)

    x, w = mx.nd.ones((256, 256)), mx.nd.ones((256, 256))

    def step():
        start = time.perf_counter()
        for _ in range(3):
            mx.nd.relu(Dense()(x, w) + x)
        return time.perf_counter() - start

    times = {1: [], 2: []}
    for _ in range(6):
        for threads in times:
            with threadpool_limits(threads, user_api="blas"):
                times[threads] += [step() for _ in range(5)]
    print(np.median(times[2]) / np.median(times[1]))
"""


@needs_openblas
@needs_libgomp
@pytest.mark.parametrize("first", first_alone(["torch", "layers", "numpy"]))
def test_pools_of_threads_do_not_fight(first):
    """A step takes as long as with one thread in OpenBLAS; 5 to 10 times as long if they fight.

    Both are measured in turns in one process, so that what else runs slows both. One of three
    tries must succeed: no fight has been seen to pause for long enough to let one.
    """
    program = f"import {first}\n{textwrap.dedent(FIGHT)}"
    assert any(float(run(program)[0]) <= 2 for _ in range(3))


def record_iter(folder, note):
    """Batches of an ImageRecordIter, whose threads call `note` for each image."""
    path = str(folder / "a.rec")
    records = mx.recordio.MXRecordIO(path, "w")
    for number in range(4):
        header = mx.recordio.IRHeader(0, 0.0, number, 0)
        records.write(mx.recordio.pack_img(header, np.zeros((8, 8, 3), np.uint8)))
    records.close()

    class Noted(mx.io.ImageRecordIter):
        def _prepare(self, *given):
            note()
            return super()._prepare(*given)

    return Noted(path_imgrec=path, data_shape=(3, 8, 8), batch_size=2, preprocess_threads=2)


def loader(folder, note):
    """Batches that threads of a DataLoader make, which call `note` for each sample."""
    data = mx.gluon.data.SimpleDataset([0, 1, 2, 3]).transform(lambda x: note() or x, lazy=True)
    return mx.gluon.data.DataLoader(data, 2, num_workers=2, thread_pool=True)


def prefetching(folder, note):
    """Batches that a PrefetchingIter asks for in a thread, which calls `note` for each."""

    class Noted(mx.io.NDArrayIter):
        def next(self):
            note()
            return super().next()

    return mx.io.PrefetchingIter(Noted(np.zeros((4, 2)), batch_size=2))


@pytest.mark.parametrize("batches", [record_iter, loader, prefetching])
def test_threads_that_make_batches_compute_on_one(batches, tmp_path):
    """Threads of their own would slow down all computations of the process from then on."""
    import torch

    seen, later = set(), []
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    try:
        assert len([*batches(tmp_path, lambda: seen.add(torch.get_num_threads()))]) == 2
        deadline = time.monotonic() + 10
        while later[-1:] != [2] and time.monotonic() < deadline:
            # One that starts while another is set to one takes over its number.
            thread = Thread(target=lambda: later.append(torch.get_num_threads()))
            thread.start()
            thread.join()
        assert torch.get_num_threads() == 2
    finally:
        torch.set_num_threads(before)
    assert seen == {1} and later[-1] == 2


def test_threads_that_are_set_to_one_at_a_time_leave_the_number_as_it_was():
    """None takes what another has set for a moment for the number of all later threads."""
    import torch

    from layers.mxnet._threads import use_one_thread

    seen = []
    before = torch.get_num_threads()
    try:
        for _ in range(10):
            torch.set_num_threads(2)
            threads = [Thread(target=use_one_thread) for _ in range(8)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            later = Thread(target=lambda: seen.append(torch.get_num_threads()))
            later.start()
            later.join()
    finally:
        torch.set_num_threads(before)
    assert seen == [2] * 10
