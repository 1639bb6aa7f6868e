"""Data sets and what is made of them: parts, transformed ones, arrays side by side."""

import numpy as np
import pytest

torch_only = pytest.mark.engine("torch")


@pytest.fixture
def data(mx):
    return mx.gluon.data


@pytest.fixture
def ten(data):
    return data.SimpleDataset(list(range(10)))


def samples(dataset):
    return [dataset[i] for i in range(len(dataset))]


def test_the_base_is_abstract(data):
    for ask in (lambda: data.Dataset()[0], lambda: len(data.Dataset())):
        with pytest.raises(NotImplementedError):
            ask()


def test_filter(ten):
    assert samples(ten.filter(lambda x: x % 3 == 0)) == [0, 3, 6, 9]
    assert samples(ten.transform(lambda x: x + 1).filter(lambda x: x % 3 == 0)) == [3, 6, 9]
    assert samples(ten.filter(lambda x: False)) == []


@torch_only
def test_filter_asks_a_dataset_without_end_as_often_as_it_is_long(data):
    class Squares(data.Dataset):
        def __len__(self):
            return 4

        def __getitem__(self, idx):
            return idx**2  # for any index: iteration would not end

    assert samples(Squares().filter(lambda x: x > 1)) == [4, 9]
    assert samples(Squares().transform(lambda x: -x, lazy=False)) == [0, -1, -4, -9]


@pytest.mark.parametrize("count", [1, 3, 4, 10, 12])
def test_shards_have_all_samples_once(ten, count):
    shards = [samples(ten.shard(count, i)) for i in range(count)]
    assert sum(shards, []) == list(range(10))
    sizes = [len(shard) for shard in shards]
    assert sorted(sizes, reverse=True) == sizes and max(sizes) - min(sizes) <= 1


@pytest.mark.parametrize("count, index", [(2, 2), (2, -1), (0, 0)])
def test_no_such_shard(ten, engine, count, index):
    wrong, told = {
        "torch": (ValueError, f"index is {index}, num_shards is {count}"),
        "mxnet": (AssertionError, "must be|out of"),
    }[engine]
    with pytest.raises(wrong, match=told):
        ten.shard(count, index)


def test_take(ten):
    assert samples(ten.take(3)) == [0, 1, 2]
    assert samples(ten.take(0)) == []
    assert len(ten.take(None)) == len(ten.take(11)) == 10


@torch_only
def test_take_less_than_nothing(ten):
    with pytest.raises(ValueError, match="take: count is -1\n  expected 0 or more"):
        ten.take(-1)


def test_sample(ten, data):
    part = ten.sample(data.SequentialSampler(3, 5))
    assert samples(part) == [5, 6, 7]
    shuffled = ten.sample(data.RandomSampler(10))
    assert samples(shuffled) == samples(shuffled)  # the sampler was asked once
    assert sorted(samples(shuffled)) == list(range(10))
    with pytest.raises(TypeError, match="list"):
        ten.sample([1, 2])


def test_transform(data):
    calls = []

    def add(x, y):
        calls.append(x)
        return x + y

    pairs = data.SimpleDataset([(1, 2), (3, 4)])
    lazy = pairs.transform(add)
    assert calls == [] and samples(lazy) == [3, 7] and samples(lazy) == [3, 7]
    assert calls == [1, 3, 1, 3]
    eager = pairs.transform(add, lazy=False)
    assert isinstance(eager, data.SimpleDataset)
    assert samples(eager) == [3, 7] and len(calls) == 6
    samples(eager)
    assert len(calls) == 6
    assert samples(data.SimpleDataset([[1, 2]]).transform(len)) == [2]  # a list is one argument


def test_transform_first(data):
    pairs = data.SimpleDataset([(1, 2, 3), (4, 5, 6)])
    assert samples(pairs.transform_first(lambda x: -x)) == [(-1, 2, 3), (-4, 5, 6)]
    assert samples(pairs.transform_first(lambda x: -x, lazy=False)) == [(-1, 2, 3), (-4, 5, 6)]
    assert samples(data.SimpleDataset([1, 2]).transform_first(lambda x: -x)) == [-1, -2]


def test_arrays(mx, data):
    x, y = mx.nd.array([[1, 2], [3, 4]]), mx.nd.array([5, 6])
    pairs = data.ArrayDataset(x, y, ["a", "b"])
    first, label, name = pairs[1]
    assert len(pairs) == 2 and first.asnumpy().tolist() == [3, 4] and name == "b"
    assert isinstance(label, np.float32) and label == 6
    assert data.ArrayDataset(["a"])[0] == "a"


def test_arrays_in_slices(mx, data):
    x, y = data.ArrayDataset(mx.nd.ones((3, 2)), np.arange(3))[0:2]
    assert x.shape == (2, 2) and y.tolist() == [0, 1]


def test_arrays_of_different_lengths(data, engine):
    wrong = {"torch": ValueError, "mxnet": AssertionError}[engine]
    with pytest.raises(wrong, match="length"):
        data.ArrayDataset([1], [1, 2])
    with pytest.raises(wrong):
        data.ArrayDataset()


# Samplers


def test_orders(data):
    assert list(data.SequentialSampler(3)) == [0, 1, 2]
    assert (
        list(data.SequentialSampler(3, 4)) == [4, 5, 6] and len(data.SequentialSampler(3, 4)) == 3
    )
    sampler = data.RandomSampler(100)
    first, second = list(sampler), list(sampler)
    assert sorted(first) == sorted(second) == list(range(100)) and first != second
    assert len(sampler) == 100
    odd = data.FilterSampler(lambda x: x % 2, [1, 2, 3])
    assert list(odd) == [0, 2] and len(odd) == 2
    for ask in (iter, len):
        with pytest.raises(NotImplementedError):
            ask(data.Sampler())


def test_a_random_order_is_mxnets(data):
    np.random.seed(0)
    sampler = data.RandomSampler(5)
    assert list(sampler) == [2, 0, 1, 3, 4] and list(sampler) == [0, 2, 1, 4, 3]


BATCHES = {
    "keep": [[[0, 1, 2], [3, 4, 5], [6, 7, 8], [9]]] * 3,
    "discard": [[[0, 1, 2], [3, 4, 5], [6, 7, 8]]] * 3,
    "rollover": [
        [[0, 1, 2], [3, 4, 5], [6, 7, 8]],
        [[9, 0, 1], [2, 3, 4], [5, 6, 7]],
        [[8, 9, 0], [1, 2, 3], [4, 5, 6], [7, 8, 9]],
    ],
}


@pytest.mark.parametrize("last_batch", BATCHES)
def test_batches(data, last_batch):
    sampler = data.BatchSampler(data.SequentialSampler(10), 3, last_batch)
    for expected in BATCHES[last_batch]:
        assert len(sampler) == len(expected)
        assert list(sampler) == expected


@torch_only
@pytest.mark.parametrize("size, last", [(3, "drop"), (0, "keep"), (-1, "keep"), ("2", "keep")])
def test_batches_that_cannot_be(data, size, last):
    with pytest.raises(ValueError, match=f"'{last}'" if size == 3 else f"batch_size is {size!r}"):
        data.BatchSampler(data.SequentialSampler(10), size, last)
