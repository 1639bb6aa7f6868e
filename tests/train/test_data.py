"""The data: splits, scales, batches, and arrays that do not fit together."""

import struct

import numpy as np
import pytest

from train import Refused
from train.data import FILES, batches, load, steps

FILES = list(FILES)
IMAGES = np.arange(5 * 2 * 3).reshape(5, 2, 3)
LABELS = np.array([0, 1, 2, 1, 0])


@pytest.fixture
def npz(tmp_path):
    def save(**arrays):
        np.savez(tmp_path / "data.npz", **arrays)
        return str(tmp_path / "data.npz")

    return save


def refusal(name):
    with pytest.raises(Refused) as refused:
        load(name)
    line = str(refused.value)
    assert line.startswith(f"--data {name}: ") and "\n" not in line
    return line


def test_digits():
    data = load("digits")
    assert data.x.shape == (1438, 64) and data.held_out_x.shape == (359, 64)
    assert data.classes == 10 and data.shape == (8, 8)
    for array in (data.x, data.y, data.held_out_x, data.held_out_y):
        assert array.dtype == np.float32
    assert abs(data.x.mean()) < 1e-5 and abs(data.x.std() - 1) < 1e-5
    assert set(data.y) == set(data.held_out_y) == set(range(10))


def test_no_sample_is_on_both_sides():
    from sklearn.datasets import load_digits

    data = load("digits")
    both = np.concatenate([data.x, data.held_out_x]) * data.std + data.mean
    order = np.lexsort(both.T)
    expected = load_digits()
    np.testing.assert_allclose(both[order], expected.data[np.lexsort(expected.data.T)], atol=1e-4)


def test_npz_holds_a_fifth_out(npz):
    x = np.arange(400.0).reshape(100, 2, 2)
    data = load(npz(x=x, y=np.arange(100) % 4))
    again = load(npz(x=x, y=np.arange(100) % 4))
    assert data.x.shape == (80, 4) and data.held_out_x.shape == (20, 4)
    assert data.classes == 4 and data.shape == (2, 2)
    np.testing.assert_array_equal(data.held_out_x, again.held_out_x)
    np.testing.assert_array_equal(data.held_out_y, again.held_out_y)
    for x, y in ((data.x, data.y), (data.held_out_x, data.held_out_y)):  # labels went along
        raw = x * data.std + data.mean
        np.testing.assert_array_equal(np.round(raw[:, 0]) // 4 % 4, y)


@pytest.mark.parametrize("dtype", ["uint8", "int64", "float16", "float64", "bool"])
def test_npz_held_out_apart(npz, dtype):
    x = np.array([[0, 1], [1, 1], [1, 0]], dtype)
    data = load(npz(x_train=x, y_train=[0, 1, 2], x_test=x[:1], y_test=[2.0]))
    assert data.x.shape == (3, 2) and data.held_out_y.tolist() == [2]
    np.testing.assert_allclose(data.x * data.std + data.mean, x, atol=1e-6)
    np.testing.assert_allclose(data.held_out_x * data.std + data.mean, x[:1], atol=1e-6)


def test_constant_samples_are_left_in_their_scale(npz):
    data = load(npz(x=np.full((5, 2), 7), y=LABELS))
    assert data.std == 1 and not data.x.any()


@pytest.fixture
def mnist(tmp_path):
    def save(**changed):
        arrays = dict(zip(FILES, (IMAGES, LABELS, IMAGES[:2], LABELS[:2]))) | changed
        for name, array in arrays.items():
            shape = struct.pack(f">{array.ndim}I", *array.shape)
            head = bytes([0, 0, 8, array.ndim]) + shape
            tmp_path.joinpath(name).write_bytes(head + array.astype("uint8").tobytes())
        return tmp_path

    return save


@pytest.mark.parametrize("name", ["mnist", "fashion-mnist"])
def test_mnist(mnist, name):
    data = load(f"{name}:{mnist()}")
    assert data.x.shape == (5, 6) and data.held_out_x.shape == (2, 6)
    assert data.classes == 10 and data.shape == (2, 3)
    assert data.y.tolist() == LABELS.tolist()
    np.testing.assert_allclose(data.x * data.std + data.mean, IMAGES.reshape(5, 6), atol=1e-5)


def test_mnist_where_mxnet_keeps_it(mnist, monkeypatch, tmp_path_factory):
    home = tmp_path_factory.mktemp("home")
    (home / "datasets").mkdir()
    mnist().rename(home / "datasets/mnist")
    monkeypatch.setenv("MXNET_HOME", str(home))
    assert load("mnist").x.shape == (5, 6)
    assert str(home / "datasets/fashion-mnist" / FILES[0]) in refusal("fashion-mnist")


@pytest.mark.parametrize(
    "changed, reason",
    [
        ({FILES[1]: LABELS[:4]}, f"{FILES[1]} is (4,); expected (5,)"),
        ({FILES[3]: LABELS}, f"{FILES[3]} is (5,); expected (2,)"),
        ({FILES[2]: IMAGES.reshape(5, 3, 2)}, "is (5, 3, 2); expected (samples, 2, 3)"),
        ({FILES[0]: IMAGES[:0]}, f"{FILES[0]} is (0, 2, 3); expected (samples, features)"),
        ({FILES[1]: LABELS + 9}, f"{FILES[1]}[1] is 10; expected class numbers from 0 to 9"),
    ],
    ids=["fewer labels", "more labels", "another size", "nothing", "a label too high"],
)
def test_mnist_that_does_not_fit(mnist, changed, reason):
    assert reason in refusal(f"mnist:{mnist(**changed)}")


X = np.ones((5, 2))
APART = {"x_train": X, "y_train": LABELS, "x_test": X, "y_test": LABELS}


@pytest.mark.parametrize(
    "arrays, reason",
    [
        ({"x": X[0], "y": LABELS[:2]}, "x is (2,); expected (samples, features)"),
        ({"x": 3.0, "y": 1}, "x is (); expected"),
        ({"x": X, "y": LABELS[:, None]}, "y is (5, 1); expected (5,)"),
        ({"x": X, "y": LABELS - 1}, "y[0] is -1; expected class numbers from 0"),
        ({"x": X, "y": LABELS / 2}, "y[1] is 0.5; expected class numbers"),
        ({"x": X, "y": LABELS * np.nan}, "y[0] is nan; expected class numbers"),
        ({"x": X, "y": LABELS + np.inf}, "y[0] is inf; expected class numbers"),
        ({"x": X, "y": LABELS * 10**9}, "y[1] is 1000000000; expected class numbers from 0 to 4"),
        ({"x": X, "y": LABELS * 0}, "y has only the class 0"),
        ({"x": X * np.inf, "y": LABELS}, "x has values that are not finite"),
        ({"x": X * 1e300, "y": LABELS}, "x has values that are not finite in float32"),
        (
            APART | {"x_train": 0 * X + 3e38, "x_test": 0 * X - 3e38},
            "x_train has values too far apart",
        ),
        ({"x": X[:3], "y": LABELS[:3]}, "there are 3 samples; expected 5 or more"),
        (APART | {"x_test": np.ones((5, 3))}, "x_test is (5, 3); expected (samples, 2)"),
        (APART | {"y_test": LABELS + 1}, "y_test[2] is 3; expected class numbers from 0 to 2"),
        (APART | {"y_test": LABELS[:2]}, "y_test is (2,); expected (5,)"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_npz_that_does_not_fit(npz, arrays, reason):
    assert reason in refusal(npz(**arrays))


@pytest.mark.parametrize("name", ["", "cats", "mnist.gz", "digits:/here", "data.npy"])
def test_unknown_data(name):
    assert "expected digits, mnist[:FOLDER]" in refusal(name)


def test_scikit_learn_is_missing(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "sklearn.datasets", None)
    assert "sklearn.datasets is not installed: pip install scikit-learn" in refusal("digits")


@pytest.mark.parametrize("size", [1, 3, 4, 10, 11])
def test_batches(size):
    x, y = np.arange(10)[:, None], np.arange(10)
    parts = list(batches(x, y, size))
    assert len(parts) == steps(10, size) == -(-10 // size)
    assert max(len(x) for x, _ in parts) <= size
    assert max(len(x) for x, _ in parts) - min(len(x) for x, _ in parts) <= 1
    np.testing.assert_array_equal(np.concatenate([y for _, y in parts]), y)


def test_batches_in_an_order_of_the_generator():
    x, y = np.arange(10)[:, None], np.arange(10)

    def order(rng):
        parts = list(batches(x, y, 4, rng))
        assert all((x[:, 0] == y).all() for x, y in parts)
        return np.concatenate([y for _, y in parts]).tolist()

    rng = np.random.default_rng(3)
    first, second = order(rng), order(rng)
    assert first != second and sorted(first) == sorted(second) == list(range(10))
    assert first == order(np.random.default_rng(3)) != order(np.random.default_rng(4))
