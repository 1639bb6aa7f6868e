"""DataLoader: batches made in this process, by threads and by processes."""

import contextlib
import os
import signal
import subprocess
import sys
import threading
import time
from multiprocessing import TimeoutError as WorkerTimeout
from multiprocessing import active_children
from pathlib import Path

import numpy as np
import pytest
from repeated import first_alone

ROOT = Path(__file__).resolve().parents[4]
torch_only = pytest.mark.engine("torch")
WORKERS = {
    "here": {},
    "threads": {"num_workers": 2, "thread_pool": True},
    "processes": {"num_workers": 2},
}
each_way = pytest.mark.parametrize("way", WORKERS.values(), ids=WORKERS)
by_workers = pytest.mark.parametrize(
    "way", [WORKERS["threads"], WORKERS["processes"]], ids=["threads", "processes"]
)
# Python's, of a fork while there are threads, such as PyTorch's
pytestmark = pytest.mark.filterwarnings("ignore:This process .* is multi-threaded")


@pytest.fixture
def data(mx):
    return mx.gluon.data


def children():
    """The processes of loaders, when those that are ending have ended."""
    until = time.monotonic() + 10
    while (left := active_children()) and time.monotonic() < until:
        time.sleep(0.01)
    return left


class Numbers:
    """The squares of 0 to 9, each with its index and an array."""

    def __init__(self, mx):
        self.mx = mx

    def __len__(self):
        return 10

    def __getitem__(self, i):
        return self.mx.nd.full((2,), i), i**2, np.float32(i)


def test_the_loader_before_mxnet_1_5(mx, data):
    loader = data.dataloader.DataLoaderV1(Numbers(mx), 4, last_batch="discard")
    assert [squares.asnumpy().tolist() for _, squares, _ in loader] == [
        [0, 1, 4, 9],
        [16, 25, 36, 49],
    ]


@each_way
def test_batches(mx, data, way):
    loader = data.DataLoader(Numbers(mx), 4, **way)
    assert len(loader) == 3
    for _ in range(3):
        found = list(loader)
        assert [len(x) for x, _, _ in found] == [4, 4, 2]
        assert np.concatenate([x.asnumpy()[:, 1] for x, _, _ in found]).tolist() == [*range(10)]
        assert [v for _, y, _ in found for v in y.asnumpy()] == [i**2 for i in range(10)]
        assert [a.dtype for a in found[0]] == [np.float32, np.int64, np.float32]
        context = mx.Context("cpu_shared", 0) if way else mx.cpu()
        assert {a.context for batch in found for a in batch} == {context}
        assert type(found[0]) is list


@each_way
def test_orders(mx, data, way):
    def numbers(**options):
        return [b.asnumpy().tolist() for b in data.DataLoader(list(range(7)), **options, **way)]

    assert numbers(batch_size=3, last_batch="discard") == [[0, 1, 2], [3, 4, 5]]
    assert numbers(batch_sampler=[[6, 0], [1]]) == [[6, 0], [1]]
    assert numbers(batch_size=2, sampler=data.SequentialSampler(3, 2)) == [[2, 3], [4]]
    assert sorted(sum(numbers(batch_size=2, shuffle=True), [])) == [*range(7)]
    rolling = data.DataLoader(list(range(5)), 2, last_batch="rollover", **way)
    assert [[b.asnumpy().tolist() for b in rolling] for _ in range(2)] == [
        [[0, 1], [2, 3]],
        [[4, 0], [1, 2], [3, 4]],
    ]


@each_way
def test_arrays_as_data_sets(mx, data, way):
    for array in np.arange(10.0).reshape(5, 2), mx.nd.array(np.arange(10).reshape(5, 2)):
        batches = list(data.DataLoader(array, 2, **way))
        assert [b.shape for b in batches] == [(2, 2), (2, 2), (1, 2)]
        assert {np.dtype(b.dtype) for b in batches} == {np.dtype(array.dtype)}
        np.testing.assert_array_equal(
            np.concatenate([b.asnumpy() for b in batches])[:, 0], [0, 2, 4, 6, 8]
        )


class Pair:
    """A batch of a class of one's own."""

    def __init__(self, mx, samples):
        self.array, self.rest = mx.nd.stack(*samples), {"samples": samples, "count": len(samples)}


@torch_only
@each_way
def test_a_batch_of_ones_own(mx, data, way):
    big = mx.nd.array(np.arange(2 * 300_000).reshape(2, -1), dtype="float64")
    for batch in data.DataLoader(big, 2, batchify_fn=lambda samples: Pair(mx, samples), **way):
        np.testing.assert_array_equal(batch.array.asnumpy(), big.asnumpy())
        assert batch.rest["count"] == 2
        np.testing.assert_array_equal(batch.rest["samples"][1].asnumpy(), big[1].asnumpy())
        assert batch.array.context == mx.cpu() and batch.array.dtype == np.float64


@torch_only
@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "int8", "bool"])
@pytest.mark.parametrize("size", [3, 300_000])
def test_dtypes_and_sizes_that_come_out_of_processes(mx, data, dtype, size):
    array = mx.nd.array(np.arange(2 * size).reshape(2, size) % 100).astype(dtype)
    (batch,) = data.DataLoader(array, 2, num_workers=1)
    assert batch.dtype == array.dtype and batch.shape == (2, size)
    np.testing.assert_array_equal(batch.asnumpy(), array.asnumpy())
    batch[:] = 1  # it is the caller's


class Kept:
    def __init__(self, mx):
        self.array = mx.nd.zeros((300_000,))

    def __len__(self):
        return 3

    def __getitem__(self, i):
        return self.array


@torch_only
def test_a_batch_is_not_the_workers(mx, data):
    loader = data.DataLoader(Kept(mx), 1, batchify_fn=lambda samples: samples[0], num_workers=1)
    for batch in loader:
        assert batch.asnumpy().sum() == 0
        batch[:] = 1


def test_what_batches_are_made_of(mx, data):
    batchify = data.dataloader.default_batchify_fn
    assert batchify([True, False]).dtype == np.bool_
    assert batchify([1.0, 2.0]).dtype == np.float64
    assert batchify([[1, 2], [3, 4]]).shape == (2, 2)
    nested = batchify([(1, (2, 3.0)), (4, (5, 6.0))])
    assert nested[1][1].asnumpy().tolist() == [3, 6]
    for samples in (["a", "b"], [{"a": 1}], [None], [b"a"]):
        with pytest.raises((TypeError, KeyError)):
            batchify(samples)


@torch_only
def test_samples_that_make_no_batch(mx, data):
    for batchify in data.dataloader.default_batchify_fn, data.dataloader.default_mp_batchify_fn:
        with pytest.raises(ValueError, match=r"samples are \[\(2,\), \(3,\)\]\n.*pads them"):
            batchify([np.ones(2), np.ones(3)])
        with pytest.raises(ValueError, match=r"data0 is \(2,\), data1 is \(3,\)"):
            batchify([mx.nd.ones(2), mx.nd.ones(3)])
        with pytest.raises(TypeError, match=r"a sample is 'a' \(str\)\n  expected .*batchify_fn"):
            batchify(["a", "b"])


@torch_only
@pytest.mark.parametrize(
    "options, told",
    [
        ({}, "batch_size is None"),
        ({"batch_size": 1, "shuffle": True, "sampler": [0]}, "shuffle is True, and sampler"),
        ({"batch_size": 1, "batch_sampler": [[0]]}, "batch_sampler is given, and batch_size=1"),
        ({"batch_size": 1, "timeout": 0}, "timeout is 0"),
        ({"batch_size": 1, "last_batch": "drop"}, "last_batch is 'drop'"),
    ],
)
def test_arguments_that_do_not_go_together(data, options, told):
    with pytest.raises(ValueError, match=told):
        data.DataLoader([1, 2], **options)


def test_pinned_memory(mx, data):
    for way in WORKERS.values():
        for x, (y, z) in data.DataLoader([(mx.nd.ones(2), (1, 2))], 1, pin_memory=True, **way):
            assert {a.context for a in (x, y, z)} == {mx.cpu_pinned(0)}


@torch_only
def test_pinned_memory_of_a_gpu(mx, data):
    if not mx.num_gpus():
        pytest.skip("no GPU")
    for way in WORKERS.values():
        for x, (y, _) in data.DataLoader([(mx.nd.ones(2), (1, 2))], 1, pin_memory=True, **way):
            assert x.to_torch().is_pinned() and y.to_torch().is_pinned()
            assert x.as_in_context(mx.gpu()).asnumpy().tolist() == [[1, 1]]


@torch_only
def test_a_block_takes_what_workers_give(mx, data):
    net = mx.gluon.nn.Dense(2)
    net.initialize()
    for hybridize in False, True:
        net.hybridize(hybridize)
        (x,) = data.DataLoader(mx.nd.ones((3, 4)), 3, num_workers=1)
        with mx.autograd.record():
            y = net(x)
        y.backward()
        np.testing.assert_allclose(y.asnumpy(), net(mx.nd.ones((3, 4))).asnumpy(), rtol=1e-6)


@each_way
def test_two_epochs_at_once(data, way):
    loader = data.DataLoader(list(range(6)), 2, **way)
    pairs = [(a.asnumpy().tolist(), b.asnumpy().tolist()) for a, b in zip(loader, loader)]
    assert pairs == [([0, 1], [0, 1]), ([2, 3], [2, 3]), ([4, 5], [4, 5])]


# Errors


class NoMessage(Exception):
    """An exception that is not made of one message."""

    def __init__(self, code, place):
        super().__init__(code, place)
        self.code, self.place = code, place


class NotPickled(Exception):
    def __init__(self, code, place):
        super().__init__(f"{code} at {place}")


def failing(error):
    def fail(x):
        if x == 3:
            raise error
        return x

    return fail


@torch_only
@each_way
@pytest.mark.parametrize(
    "error", [KeyError("no 3"), NoMessage(3, "there"), OSError(2, "no such")], ids=repr
)
def test_an_error_arrives_as_itself(data, way, error):
    loader = data.DataLoader(data.SimpleDataset(range(9)).transform(failing(error)), 2, **way)
    found = []
    with pytest.raises(type(error)) as raised:
        for batch in loader:
            found.append(batch.asnumpy().tolist())
    assert found == [[0, 1]]
    assert raised.value.args == error.args and vars(raised.value) == vars(error)
    if "thread_pool" not in way and way:
        assert "in fail\n" in str(raised.value.__cause__)  # the line where it was
    assert len(next(iter(loader))) == 2  # and the loader goes on
    del loader, raised
    assert not children()


@torch_only
def test_what_cannot_be_pickled_is_told(data):
    def fails(batch):
        raise NotPickled(3, "there")

    numbers = data.SimpleDataset(range(3))
    with pytest.raises(RuntimeError, match="in a worker: NotPickled: 3 at there"):
        list(data.DataLoader(numbers.transform(fails), 2, num_workers=1))
    with pytest.raises((AttributeError, TypeError), match="pickle"):
        list(data.DataLoader(numbers, 2, num_workers=1, batchify_fn=lambda batch: lambda: batch))


@torch_only
@each_way
def test_the_error_of_a_sampler(data, way):
    class Broken(data.Sampler):
        def __iter__(self):
            yield 0
            raise RuntimeError("no more")

        def __len__(self):
            return 2

    with pytest.raises(RuntimeError, match="^no more$"):
        list(data.DataLoader([1, 2], 1, sampler=Broken(), **way))


@by_workers
def test_timeout(data, way):
    loader = data.DataLoader(data.SimpleDataset(range(3)).transform(wait), 1, timeout=0.5, **way)
    start = time.monotonic()
    with pytest.raises(WorkerTimeout) as raised:
        list(loader)
    assert time.monotonic() - start < 4
    del loader, raised


def wait(x):
    time.sleep(5)
    return x


@torch_only
def test_a_killed_worker(data):
    def die(x):
        if x == 2:
            os.kill(os.getpid(), signal.SIGKILL)
        return x

    loader = data.DataLoader(data.SimpleDataset(range(9)).transform(die), 1, num_workers=2)
    start = time.monotonic()
    with pytest.raises(RuntimeError, match="a worker ended .* (Killed|exited unexpectedly)"):
        list(loader)
    assert time.monotonic() - start < 4
    assert not children()


@torch_only
def test_an_idle_worker_is_replaced(data, monkeypatch):
    monkeypatch.setattr(data.dataloader, "LOOK", 0.5)
    loader = data.DataLoader(list(range(4)), 1, num_workers=2)
    assert len(list(loader)) == 4
    with contextlib.suppress(RuntimeError):  # PyTorch's handler of the signal may raise one
        os.kill(active_children()[0].pid, signal.SIGKILL)
        time.sleep(0.3)
    assert len(list(loader)) == 4
    del loader
    assert not children()


@torch_only
def test_a_worker_may_take_longer_than_until_it_is_looked_after(data, monkeypatch):
    monkeypatch.setattr(data.dataloader, "LOOK", 0.2)
    numbers = data.SimpleDataset(range(2)).transform(lambda x: time.sleep(0.5 * x) or x)
    loader = data.DataLoader(numbers, 2, num_workers=1, timeout=20)
    assert [batch.asnumpy().tolist() for batch in loader] == [[0, 1]]


@each_way
def test_no_samples(data, way):
    loader = data.DataLoader([], 2, **way)
    assert len(loader) == 0 and list(loader) == [] and list(loader) == []


@torch_only
def test_a_worker_that_exits(data):
    def leave(x):
        sys.exit(3)

    with pytest.raises(RuntimeError, match="a worker ended .* (exited unexpectedly|exit code)"):
        list(data.DataLoader(data.SimpleDataset([1]).transform(leave), 1, num_workers=1))
    assert not children()


@torch_only
def test_a_killed_worker_is_seen_in_a_thread(data, monkeypatch):
    """There no signal tells: the end of the wait does."""

    def die(x):
        os.kill(os.getpid(), signal.SIGKILL)

    monkeypatch.setattr(data.dataloader, "LOOK", 0.5)
    told = []

    def read():
        with pytest.raises(RuntimeError, match="a worker ended") as e:
            list(data.DataLoader(data.SimpleDataset([1]).transform(die), 1, num_workers=1))
        told.append(e.value)

    thread = threading.Thread(target=read)
    thread.start()
    thread.join(20)
    assert told and not children()


# Processes come and go


@torch_only
def test_an_epoch_that_is_broken_off_ends_the_processes(data):
    loader = data.DataLoader(data.SimpleDataset(range(9)).transform(slow), 1, num_workers=2)
    start = time.monotonic()
    for _ in loader:
        assert len(active_children()) == 2
        break
    assert not children()
    assert time.monotonic() - start < 4  # although the workers were busy for longer


def slow(x):
    time.sleep(30 if x else 0)
    return x


@torch_only
def test_processes_stay_for_the_next_epoch(data):
    loader = data.DataLoader(list(range(6)), 2, num_workers=2)
    pids = []
    for _ in range(2):
        assert sum(1 for _ in loader) == 3
        pids.append(sorted(p.pid for p in active_children()))
    assert pids[0] == pids[1] and len(pids[0]) == 2
    del loader
    assert not children()


@torch_only
@by_workers
def test_a_loader_leaves_nothing(data, way):
    before = threading.active_count()
    for auto_reload in False, True:
        loader = data.DataLoader(np.ones((99, 200)), 8, auto_reload=auto_reload, **way)
        batches = iter(loader)
        next(batches)
        del batches, loader
        assert not children()
    until = time.monotonic() + 10
    while threading.active_count() > before and time.monotonic() < until:
        time.sleep(0.01)
    assert threading.active_count() <= before


@torch_only
@by_workers
def test_auto_reload_begins_ahead(data, tmp_path, way):
    def mark(x):
        (tmp_path / str(x)).touch()
        return x

    def made():
        time.sleep(0.1)
        return len(list(tmp_path.iterdir()))

    numbers = data.SimpleDataset(range(10)).transform(mark)
    lazy = data.DataLoader(numbers, 1, **way)
    assert made() == 0
    batches = iter(lazy)
    assert made() == 0
    del batches
    eager = data.DataLoader(numbers, 1, auto_reload=True, prefetch=3, **way)
    until = time.monotonic() + 10
    while made() < 3 and time.monotonic() < until:
        pass
    assert 3 <= made() <= 4  # prefetch, rounded up to as many of each process
    assert sum(1 for _ in eager) == 10
    eager.clean()
    assert sum(1 for _ in eager) == 10


@torch_only
def test_workers_draw_different_numbers_and_the_same_for_a_seed(mx, data):
    def draw(_):
        return mx.nd.random.uniform(shape=(1,)).asscalar(), np.random.rand()

    found = []
    for _ in range(2):
        mx.random.seed(3)
        loader = data.DataLoader(data.SimpleDataset(range(4)).transform(draw), 1, num_workers=2)
        found.append([[a.asscalar() for a in batch] for batch in loader])
    assert found[0] == found[1]
    assert len({*sum(found[0], [])}) == 8


@torch_only
def test_nothing_is_recorded_in_a_process(mx, data):
    state = data.SimpleDataset([0]).transform(
        lambda _: (mx.autograd.is_recording(), mx.autograd.is_training())
    )
    with mx.autograd.record():
        for batch in data.DataLoader(state, 1, num_workers=1):
            assert [a.asscalar() for a in batch] == [False, False]


PROGRAM = """
import multiprocessing, sys
import numpy as np
import mxnet as mx


class Twice(mx.operator.CustomOp):
    def forward(self, is_train, req, in_data, out_data, aux):
        self.assign(out_data[0], req[0], mx.nd.array(2 * in_data[0].asnumpy()))


@mx.operator.register("twice")
class TwiceProp(mx.operator.CustomOpProp):
    def create_operator(self, ctx, shapes, dtypes):
        return Twice()


class Net(mx.gluon.HybridBlock):
    def hybrid_forward(self, F, x):
        return F.Custom(F.dot(x, x), op_type="twice")


def transform(x):
    net = Net()
    net.hybridize()
    return net(x.astype("float32"))


if __name__ == "__main__":
    multiprocessing.set_start_method(sys.argv[1])
    x = mx.nd.ones((300, 300))
    big = mx.nd.dot(x, x).asnumpy()  # on all threads, before the processes are there
    numbers = mx.gluon.data.SimpleDataset([x * i for i in range(6)]).transform(transform)
    loader = mx.gluon.data.DataLoader(numbers, 2, num_workers=1)
    for _ in range(2):
        print([int(batch.asnumpy()[:, 0, 0].sum()) for batch in loader])
"""


@pytest.mark.slow
@torch_only
@pytest.mark.parametrize("method", first_alone(["spawn", "fork", "forkserver"]))
def test_custom_operators_in_processes(tmp_path, method):
    (tmp_path / "program.py").write_text(PROGRAM)
    done = subprocess.run(
        [sys.executable, "-m", "layers.mxnet", "program.py", method],
        env={**os.environ, "PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "2"},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == ["[600, 7800, 24600]"] * 2


@torch_only
def test_a_pool_of_ones_own(mx, data):
    """As GluonCV makes one: the pool's function gives bytes."""
    import pickle
    from multiprocessing.pool import ThreadPool

    class Batches(data.dataloader._MultiWorkerIter):
        def _push_next(self):
            indices = next(self._iter, None)
            if indices is not None:
                result = self._worker_pool.apply_async(
                    self._worker_fn, (indices, self._batchify_fn)
                )
                self._data_buffer[self._sent_idx] = result
                self._sent_idx += 1

    def work(indices, batchify_fn):
        return pickle.dumps(batchify_fn([10 * i for i in indices]))

    with ThreadPool(2) as pool:
        batches = Batches(
            pool, data.dataloader.default_batchify_fn, [[0, 1], [2]], worker_fn=work, prefetch=2
        )
        assert len(batches) == 2
        assert [b.asnumpy().tolist() for b in batches] == [[0, 10], [20]]


class Stops:
    def __len__(self):
        return 8

    def __getitem__(self, i):
        if i == 5:
            raise StopIteration
        return i


@torch_only
@by_workers
def test_a_sample_that_raises_stop_iteration_does_not_end_the_epoch(data, way):
    with pytest.raises(RuntimeError, match="StopIteration"):
        list(data.DataLoader(Stops(), 2, **way))
