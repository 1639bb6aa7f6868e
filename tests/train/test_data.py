"""The data: splits, scales, batches, and arrays that do not fit together."""

import struct
import tracemalloc

import numpy as np
import pytest

from train import Refused
from train.data import Reading, batches, load, steps
from train.data.images import FILES, resize
from train.data.prepare import scaling

FILES = list(FILES)
IMAGES = np.arange(5 * 2 * 3).reshape(5, 2, 3)
LABELS = np.array([0, 1, 2, 1, 0])


@pytest.fixture
def npz(tmp_path):
    def save(**arrays):
        np.savez(tmp_path / "data.npz", **arrays)
        return str(tmp_path / "data.npz")

    return save


def refusal(name, **how):
    with pytest.raises(Refused) as refused:
        load(name, **how)
    line = str(refused.value)
    assert line.startswith(f"--data {name}: ") and "\n" not in line
    return line


def test_digits():
    data = load("digits")
    assert data.x.shape == (1438, 64) and data.held_out_x.shape == (359, 64)
    assert data.task.classes == tuple("0123456789") and data.shape == (8, 8)
    for array in (data.x, data.y, data.held_out_x, data.held_out_y):
        assert array.dtype == np.float32
    np.testing.assert_allclose(data.mean, data.x.mean(dtype="float64").reshape(1, 1), rtol=1e-6)
    np.testing.assert_allclose(data.std, data.x.std(dtype="float64").reshape(1, 1), rtol=1e-6)
    assert set(data.y) == set(data.held_out_y) == set(range(10))


def test_no_sample_is_on_both_sides():
    from sklearn.datasets import load_digits

    data = load("digits")
    both = np.concatenate([data.x, data.held_out_x])
    order = np.lexsort(both.T)
    expected = load_digits()
    np.testing.assert_array_equal(both[order], expected.data[np.lexsort(expected.data.T)])


def test_npz_holds_a_fifth_out(npz):
    x = np.arange(400.0).reshape(100, 2, 2)
    data = load(npz(x=x, y=np.arange(100) % 4))
    again = load(npz(x=x, y=np.arange(100) % 4))
    assert data.x.shape == (80, 4) and data.held_out_x.shape == (20, 4)
    assert data.task.classes == tuple("0123") and data.shape == (2, 2)
    np.testing.assert_array_equal(data.held_out_x, again.held_out_x)
    np.testing.assert_array_equal(data.held_out_y, again.held_out_y)
    for x, y in ((data.x, data.y), (data.held_out_x, data.held_out_y)):  # labels went along
        np.testing.assert_array_equal(x[:, 0] // 4 % 4, y)
    assert np.bincount(data.held_out_y.astype(int)).tolist() == [5] * 4


@pytest.mark.parametrize("dtype", ["uint8", "int64", "float16", "float64", "bool"])
def test_npz_held_out_apart(npz, dtype):
    x = np.array([[0, 1], [1, 1], [1, 0]], dtype)
    data = load(npz(x_train=x, y_train=[0, 1, 2], x_test=x[:1], y_test=[2.0]))
    assert data.x.shape == (3, 2) and data.held_out_y.tolist() == [2]
    np.testing.assert_array_equal(data.x, x)
    np.testing.assert_array_equal(data.held_out_x, x[:1])


def test_constant_samples_are_left_in_their_scale(npz):
    data = load(npz(x=np.full((5, 2), 7), y=LABELS))
    assert (data.std == 1).all() and (data.mean == 7).all() and data.std.shape == (1, 2)


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
    assert len(data.task.classes) == 10 and data.shape == (2, 3) and data.pixels == 255
    assert data.y.tolist() == LABELS.tolist()
    np.testing.assert_array_equal(data.x, IMAGES.reshape(5, 6))
    assert data.x.dtype == np.uint8  # 60,000 of them are not converted at once
    assert data.mean.item() == np.float32(IMAGES.mean()) and data.std.shape == (1, 1)
    assert data.std.item() == pytest.approx(IMAGES.std())
    assert data.task.classes[9] == ("9" if name == "mnist" else "Ankle boot")


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
        ({"x": X, "y": LABELS[:, None, None]}, "y is (5, 1, 1); expected (5,)"),
        ({"x": X, "y": LABELS[:4, None]}, "y is (4, 1); expected (5,), for x is (5, 2)"),
        (
            {"x": X, "y": np.eye(3)[LABELS]},
            "y is (5, 3); expected (5,), for x is (5, 2): y.argmax(1), where y is one-hot",
        ),
        (
            APART | {"y_test": np.eye(3, dtype=bool)[LABELS]},
            "y_test is (5, 3); expected (5,), for x_test is (5, 2): y_test.argmax(1), where y_",
        ),
        (
            {"x": X, "y": LABELS / 2},
            "y[1] is 0.5; expected classes, as whole numbers or texts; or --task",
        ),
        ({"x": X, "y": LABELS * np.nan}, "y[0] is nan; expected classes"),
        ({"x": X, "y": LABELS + np.inf}, "y[0] is inf; expected classes"),
        ({"x": X, "y": np.arange(5)}, "there are 5 classes, one for each sample"),
        ({"x": X, "y": LABELS * 0}, "y has only the class 0"),
        (
            {"x": np.where(np.arange(10).reshape(5, 2) > 6, np.nan, X), "y": LABELS},
            "x[3] has the value nan; 2 of 5 samples have one that is not finite; expected finite n",
        ),
        ({"x": X * np.inf, "y": LABELS}, "x[0] has the value inf; 5 of 5 samples have one that"),
        (
            APART | {"x_train": 0 * X + 3e-39, "x_test": 0 * X - 3e38},
            "x_train has values too far apart",
        ),
        ({"x": X[:3], "y": LABELS[:3]}, "there are 3 samples; expected 5 or more"),
        (APART | {"x_test": np.ones((5, 3))}, "x_test is (5, 3); expected (samples, 2)"),
        (APART | {"y_test": LABELS + 1}, "y_test[2] is 3; expected one of the classes 0, 1, 2"),
        (APART | {"y_test": LABELS[:2]}, "y_test is (2,); expected (5,)"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_npz_that_does_not_fit(npz, arrays, reason):
    assert reason in refusal(npz(**arrays))


def test_the_scaling_is_that_of_each_column_or_of_all_pixels(npz):
    x = np.random.default_rng(0).normal(size=(50, 6)) * [1, 10, 100, 1e-3, 1, 1] + [
        0,
        0,
        0,
        5,
        9,
        0,
    ]
    table = load(npz(x=x, y=np.arange(50) % 2))
    np.testing.assert_allclose(table.mean[0], table.x.mean(axis=0, dtype="float64"), rtol=1e-6)
    np.testing.assert_allclose(table.std[0], table.x.std(axis=0, dtype="float64"), rtol=1e-6)
    pixels = load(npz(x=x.reshape(50, 2, 3), y=np.arange(50) % 2))
    assert pixels.mean.item() == pytest.approx(pixels.x.mean(dtype="float64"))
    assert pixels.std.item() == pytest.approx(pixels.x.std(dtype="float64"))


def test_the_scaling_takes_little_memory():
    x = np.random.default_rng(0).integers(0, 256, (3000, 5000), np.uint8)
    tracemalloc.start()
    scaling(x, alike=True)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 8 * x.nbytes  # as float64


@pytest.mark.parametrize(
    "values, names",
    [
        ([10, 0, 5], ("0", "5", "10")),
        ([-1, 1], ("-1", "1")),
        ([2.0, 1.0], ("1", "2")),
        ([True, False], ("0", "1")),
        (["dog", "cat", "10", "9"], ("10", "9", "cat", "dog")),
    ],
    ids=str,
)
def test_classes_keep_their_names(npz, values, names):
    data = load(npz(x=np.arange(40).reshape(20, 2), y=np.resize(values, 20)))
    assert data.task.classes == names
    for x, y in ((data.x, data.y), (data.held_out_x, data.held_out_y)):
        for row, index in zip(x, y):
            value = np.resize(values, 20)[int(row[0]) // 2]
            expected = value if isinstance(value, str) else str(int(value))
            assert data.task.classes[int(index)] == expected


@pytest.mark.parametrize("values", [["a", "b"], [3, 4]], ids=str)
def test_classes_in_a_column(npz, values):
    x, y = np.arange(40).reshape(20, 2), np.resize(values, 20)
    data, expected = load(npz(x=x, y=y[:, None])), load(npz(x=x, y=y))
    assert data.task == expected.task
    np.testing.assert_array_equal(data.y, expected.y)
    np.testing.assert_array_equal(data.held_out_y, expected.held_out_y)


def test_each_class_is_held_out_in_its_part(npz):
    y = np.repeat([0, 1, 2], [85, 10, 5])
    data = load(npz(x=np.arange(200).reshape(100, 2), y=y))
    assert np.bincount(data.held_out_y.astype(int)).tolist() == [17, 2, 1]


def test_a_class_of_one_sample_is_learned_and_told(npz):
    data = load(npz(x=np.eye(30), y=[7, *[0, 1] * 14, 9]))
    assert data.task.classes == ("0", "1", "7", "9")
    assert {2, 3} <= {*data.y} and not {2, 3} & {*data.held_out_y}
    assert data.notes == ("classes of one sample, which is not held out: 7, 9",)
    assert len(data.x) + len(data.held_out_x) == 30


def test_a_key_that_is_not_used_is_told(npz):
    name = npz(x=X, y=LABELS, weights=LABELS, z=X)
    notes = [note for note in load(name).notes if "not used" in note]
    assert notes == [f"{name} also has weights, z: not used"]


def test_npy_pair(tmp_path):
    np.save(tmp_path / "x.npy", X)
    np.save(tmp_path / "y.npy", np.array(list("aabbb")))
    data = load(f"{tmp_path}/x.npy,{tmp_path}/y.npy")
    assert data.task.classes == ("a", "b") and data.features == 2
    np.save(tmp_path / "y.npy", LABELS[:, None])
    assert load(f"{tmp_path}/x.npy,{tmp_path}/y.npy").task.classes == ("0", "1", "2")
    np.save(tmp_path / "y.npy", LABELS[:4])
    assert "y.npy is (4,); expected (5,), for x.npy is (5, 2)" in refusal(
        f"{tmp_path}/x.npy,{tmp_path}/y.npy"
    )
    assert "there is no " in refusal(f"{tmp_path}/x.npy,{tmp_path}/absent.npy")


NUMBERS = Reading(regression=True)


def test_regression(npz):
    y = np.linspace(0, 1000, 50)
    data = load(npz(x=y[:, None] * [1, 2], y=y), how=NUMBERS)
    assert data.task.classes == () and data.task.outputs == 1
    assert data.task.mean == pytest.approx(data.y.mean())
    assert data.task.std == pytest.approx(data.y.std())
    assert len(data.held_out_y) == 10
    np.testing.assert_allclose(data.y, data.x[:, 0])
    column = load(npz(x=y[:, None] * [1, 2], y=y[:, None]), how=NUMBERS)
    np.testing.assert_array_equal(column.y, data.y)


@pytest.mark.parametrize(
    "y, reason",
    [
        (LABELS * 0, "y is always 0; there is nothing to learn"),
        (LABELS * np.nan, "y[0] has the value nan; 5 of 5 samples have one that is not finite"),
        (
            np.where(LABELS, LABELS, -np.inf),
            "y[0] has the value -inf; 2 of 5 samples have one that is not fin",
        ),
        (np.array(list("abcde")), "y[0] is 'a'; expected numbers, for --task regression"),
    ],
    ids=["one value", "nan", "infinite", "texts"],
)
def test_numbers_that_cannot_be_learned(npz, y, reason):
    assert reason in refusal(npz(x=X, y=y), how=NUMBERS)


def test_a_validation_file(tmp_path):
    np.savez(tmp_path / "a.npz", x=np.eye(6), y=[5, 0, 10] * 2)
    np.savez(tmp_path / "b.npz", x=np.ones((2, 6)), y=[10, 0], more=X)
    first, second = str(tmp_path / "a.npz"), str(tmp_path / "b.npz")
    data = load(first, second)
    assert len(data.x) == 6 and data.held_out_y.tolist() == [2, 0]
    np.testing.assert_array_equal(data.mean, np.full((1, 6), np.float32(1 / 6)))
    assert data.notes == (f"{second} also has more: not used",)


def test_classes_of_a_validation_file_go_by_their_names(tmp_path):
    np.savez(tmp_path / "a.npz", x=np.ones((20, 8, 8)), y=np.arange(10, 0, -1).repeat(2))  # 1 to 10
    with pytest.raises(
        Refused, match=r"^--validation digits.* is 0; expected one of the classes 1"
    ):
        load(str(tmp_path / "a.npz"), "digits")


@pytest.mark.parametrize(
    "arrays, reason",
    [
        ({"x": X, "y": LABELS + 1}, "--validation {}: y[2] is 3; expected one of the classes 0, 1"),
        ({"x": X.T, "y": [0, 1]}, "--validation {}: x is (2, 5); expected (samples, 2)"),
        ({"z": X}, "--validation {}: it has 'z'; expected x and y"),
        (APART, "--validation {}: it has held-out samples of its own"),
    ],
    ids=["another class", "other features", "other keys", "two sets"],
)
def test_a_validation_file_that_does_not_fit(tmp_path, npz, arrays, reason):
    np.savez(tmp_path / "b.npz", **arrays)
    second = str(tmp_path / "b.npz")
    with pytest.raises(Refused) as refused:
        load(npz(x=X, y=LABELS), second)
    assert str(refused.value).startswith(reason.format(second))


def test_a_validation_file_beside_held_out_samples(npz):
    with pytest.raises(Refused, match="--data .*: it has held-out samples of its own"):
        load(npz(**APART), "digits")


@pytest.mark.parametrize("name", ["", "cats", "mnist.gz", "digits:/here", "data.npy"])
def test_unknown_data(name):
    line = refusal(name)
    assert "expected digits, mnist[:FOLDER]" in line and " FILE.csv, FILE.tsv, " in line


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


@pytest.mark.parametrize("option", [{"target": "a"}, {"features": ("a", "b")}, {"ignore": ("a",)}])
def test_options_of_tables_are_for_tables(tmp_path, option):
    np.savez(tmp_path / "a.npz", x=np.ones((9, 2)), y=np.arange(9) % 2)
    (name,) = option
    for data in ("digits", str(tmp_path / "a.npz"), f"{tmp_path}/x.npy,{tmp_path}/y.npy"):
        with pytest.raises(Refused, match=f"it has no columns; expected no --{name}, which is for"):
            load(data, how=Reading(**option))


def test_tables_are_not_resized(tmp_path):
    (tmp_path / "a.csv").write_text("a,b\n1,2\n")
    with pytest.raises(Refused, match="it has no images; expected no --image-size"):
        load(str(tmp_path / "a.csv"), how=Reading(size=(4, 4)))
    np.savez(tmp_path / "a.npz", x=np.ones((9, 2)), y=np.arange(9) % 2)
    with pytest.raises(Refused, match=r"x is \(9, 2\); expected images, for --image-size"):
        load(str(tmp_path / "a.npz"), how=Reading(size=(4, 4)))


@pytest.mark.parametrize("shape", [(9, 4, 6), (9, 4, 6, 3), (9, 3, 5, 6)], ids=str)
def test_images_of_arrays_are_resized(tmp_path, shape):
    x = np.random.RandomState(0).uniform(size=shape).astype("float32")
    np.savez(tmp_path / "a.npz", x=x, y=np.arange(9) % 2)
    first = shape[1] == 3
    found = load(str(tmp_path / "a.npz"), how=Reading(size=(8, 12)))
    assert found.shape == ((3, 8, 12) if first else (8, 12, *shape[3:])) and found.resized
    assert x.min() <= found.x.min() < found.x.max() <= x.max()
    resized = resize(x, (8, 12))
    means = [each.mean(axis=(2, 3) if first else (1, 2)) for each in (x, resized)]
    np.testing.assert_allclose(*means, atol=0.05)


def test_digits_are_resized():
    small, large = load("digits"), load("digits", how=Reading(size=(16, 16)))
    assert large.shape == (16, 16) and large.pixels == 16
    np.testing.assert_array_equal(small.y, large.y)
    np.testing.assert_allclose(small.x.mean(axis=1), large.x.mean(axis=1), atol=0.35)
