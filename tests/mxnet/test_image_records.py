"""Iterators over image records: MXNet's batches are recorded in golden/image_records.npz."""

import json
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("PIL", reason="images are read by Pillow")

GOLDEN = Path(__file__).resolve().parents[1] / "golden"
SHAPE = (3, 20, 24)
torch_only = pytest.mark.engine("torch")
pytestmark = pytest.mark.filterwarnings("ignore:tostring:DeprecationWarning")  # MXNet's


def write(mx, folder, name, labels, images=("colours.jpg", "colours.png")):
    """A file of records with these labels, and its index."""
    writer = mx.recordio.MXIndexedRecordIO(
        str(folder / f"{name}.idx"), str(folder / f"{name}.rec"), "w"
    )
    for i, label in enumerate(labels):
        image = (GOLDEN / "image" / images[i % len(images)]).read_bytes()
        writer.write_idx(2 * i, mx.recordio.pack((0, label, 2 * i, 0), image))
    writer.close()


@pytest.fixture
def folder(mx, tmp_path):
    write(mx, tmp_path, "a", range(7))
    write(mx, tmp_path, "many", range(40))
    write(mx, tmp_path, "one", [[i] for i in range(3)])
    write(mx, tmp_path, "wide", [[i, i + 0.5] for i in range(7)])
    lines = [f"{2 * i}\t{10 * i}\tx.jpg\n" for i in range(7)]
    (tmp_path / "a.lst").write_text("".join(lines))
    return tmp_path


def iterator(mx, folder, name="ImageRecordIter", **options):
    options = {"path_imgrec": "a.rec", "data_shape": SHAPE, "batch_size": 3} | options
    for key, value in options.items():
        if key.startswith("path_"):
            options[key] = str(folder / value)
    return getattr(mx.io, name)(verbose=False, **options)


EPOCHS = {
    "plain": {},
    "batches of 4": {"batch_size": 4},
    "a batch of more than there are": {"batch_size": 10},
    "index": {"path_imgidx": "a.idx"},
    "list": {"path_imglist": "a.lst"},
    "wide": {"path_imgrec": "wide.rec", "label_width": 2},
    "labels of one": {"path_imgrec": "one.rec", "batch_size": 2},
    **{
        f"part {part} of {path}{' with its index' if index else ''}": {
            "path_imgrec": f"{path}.rec", "batch_size": 2, "num_parts": 3, "part_index": part,
        } | ({"path_imgidx": f"{path}.idx"} if index else {})
        for path in ("a", "many") for index in (0, 1) for part in range(3)
        if (path, index, part) != ("a", 1, 2)  # one record, and MXNet's second epoch is empty
    },
}  # fmt: skip

CHANGES = {
    "center": {},
    "odd": {"data_shape": (3, 21, 25)},
    "gray": {"data_shape": (1, 20, 24)},
    **{f"resized by {i}": {"resize": 30, "inter_method": i} for i in (0, 1, 2, 3, 4, 9)},
    "larger": {"resize": 50, "inter_method": 9},
    "too small": {"data_shape": (3, 60, 60)},
    "too narrow": {"data_shape": (3, 20, 60)},
    "too low": {"data_shape": (3, 60, 24)},
    "normalized": {"mean_r": 1, "mean_g": 2, "mean_b": 3, "std_r": 2, "std_g": 3, "scale": 0.5},
    "mirrored": {"mirror": True},
    "padded": {"data_shape": (3, 43, 59), "pad": 3, "fill_value": 7},
    "rotated": {"data_shape": (3, 37, 53), "rotate": 30},
    "at least": {"min_img_size": 50},
    "at most": {"max_img_size": 30},
    "square": {"min_crop_size": 30, "max_crop_size": 30},
    "scaled": {"min_random_scale": 0.7, "max_random_scale": 0.7},
    "stretched": {"min_aspect_ratio": 1.2, "max_aspect_ratio": 1.2},
    "int8": {"dtype": "int8", "mean_r": 100, "mean_g": 90, "mean_b": 120},
    "uint8": {"dtype": "uint8", "mean_r": 100},
}


def epochs(batches, count=2):
    found = []
    for _ in range(count):
        found.append([[b.label[0].asnumpy().tolist(), b.pad] for b in batches])
        batches.reset()
    return found


@pytest.mark.engine("mxnet")
def test_batches_are_recorded(mx, folder, pytestconfig):
    if not pytestconfig.getoption("--record"):
        pytest.skip("MXNet ends the process in three of four runs")
    found = {
        name: json.dumps(epochs(iterator(mx, folder, **options)))
        for name, options in EPOCHS.items()
    }
    for name, options in CHANGES.items():
        found[name] = next(iterator(mx, folder, batch_size=2, **options)).data[0].asnumpy()
    path = GOLDEN / "image_records.npz"
    if pytestconfig.getoption("--record"):
        np.savez_compressed(path, **found)
    recorded = np.load(path)
    assert set(recorded) == set(found)
    for name, value in found.items():
        assert (recorded[name] == value).all(), name


def recorded(name):
    return np.load(GOLDEN / "image_records.npz")[name]


@torch_only
@pytest.mark.parametrize("name", EPOCHS)
def test_epochs(mx, folder, name):
    found = epochs(iterator(mx, folder, **EPOCHS[name]))
    assert json.loads(json.dumps(found)) == json.loads(str(recorded(name)))


@torch_only
@pytest.mark.parametrize("name", CHANGES)
def test_changes(mx, folder, name):
    found = next(iterator(mx, folder, batch_size=2, **CHANGES[name])).data[0].asnumpy()
    expected = recorded(name)
    assert found.shape == expected.shape and found.dtype == expected.dtype
    # OpenCV warps by coordinates in 32nds of a pixel, which shows at sharp edges.
    far = abs(found.astype(float) - expected)
    assert far.max() <= (8 if name == "rotated" else 1) and far.mean() <= 0.5


@pytest.mark.parametrize(
    "name, dtype",
    [
        ("ImageRecordIter", np.float32),
        ("ImageRecordIter_v1", np.float32),
        ("ImageRecordUInt8Iter", np.uint8),
        ("ImageRecordUInt8Iter_v1", np.uint8),
        ("ImageRecordInt8Iter", np.int8),
    ],
)
def test_types(mx, folder, name, dtype):
    batches = iterator(mx, folder, name)
    assert batches.provide_data == [("data", (3, *SHAPE))]
    assert batches.provide_label == [("softmax_label", (3,))]
    batch = next(batches)
    assert batch.data[0].dtype is dtype and batch.label[0].dtype is np.float32
    assert batches.batch_size == 3


def test_without_round_batch(mx, folder):
    """The last batch has the records that are left; each epoch begins with the first."""
    batches = iterator(mx, folder, round_batch=False)
    for _ in range(2):
        labels = [batch.label[0].asnumpy().tolist() for batch in batches]
        assert labels[:2] == [[0, 1, 2], [3, 4, 5]] and labels[2][0] == 6
        batches.reset()


def test_shuffle(mx, folder):
    def orders(seed):
        batches = iterator(
            mx, folder, path_imgrec="many.rec", batch_size=8, shuffle=True, seed=seed
        )
        found = [[label for labels, _ in epoch for label in labels] for epoch in epochs(batches)]
        assert all(sorted(order) == list(range(40)) for order in found)
        return found

    first = orders(1)
    assert first[0] != first[1] and first[0] != sorted(first[0])
    assert first == orders(1) != orders(2)


@torch_only  # in MXNet, what was decoded ahead decides
def test_a_reset_before_the_end(mx, folder):
    batches = iterator(mx, folder)
    next(batches)
    batches.reset()
    assert next(batches).label[0].asnumpy().tolist() == [0, 1, 2]


def drawn(mx, folder, **options):
    options = {"path_imgrec": "many.rec", "batch_size": 40} | options
    return next(iterator(mx, folder, **options)).data[0].asnumpy()


@pytest.mark.parametrize(
    "options",
    [
        {"rand_crop": True},
        {"rand_mirror": True},
        {"rand_crop": True, "min_crop_size": 22, "max_crop_size": 30},
        {"random_resized_crop": True, "min_random_area": 0.3, "max_aspect_ratio": 0.2},
        {"max_rotate_angle": 20},
        {"max_shear_ratio": 0.2},
        {"min_random_scale": 0.7, "max_random_scale": 1.3},
        {"max_aspect_ratio": 0.2},
        {"brightness": 0.3},
        {"contrast": 0.3},
        {"saturation": 0.3},
        {"pca_noise": 0.3},
        {"random_h": 30},
        {"random_s": 30},
        {"random_l": 30},
        {"max_random_contrast": 0.3},
        {"max_random_illumination": 20},
        {"inter_method": 10, "resize": 30},
    ],
    ids=lambda options: " ".join(options),
)
def test_what_is_drawn(mx, folder, options):
    """Images of one file differ from each other, but not from run to run; they stay images."""
    found = drawn(mx, folder, **options)
    assert len({image.tobytes() for image in found[::2]}) > 1
    assert (
        drawn(mx, folder, preprocess_threads=1, **options) == found
    ).all() or mx.__name__ == "mxnet"
    plain = drawn(mx, folder)
    assert abs(found.mean() - plain.mean()) < 40 and found.std() > 20


@pytest.mark.parametrize("option", ["random_h", "random_s", "random_l"])
def test_hue_and_saturation_leave_the_lightness(mx, folder, option):
    def lightness(images):
        return (images.max(1) + images.min(1)) / 2

    moved = abs(lightness(drawn(mx, folder, **{option: 60})) - lightness(drawn(mx, folder)))
    assert moved.max() > 10 if option == "random_l" else moved.max() <= 3


@torch_only
def test_crops_are_everywhere(mx, folder):
    """Parts of the image, from all sides of it; mirrored in half of the cases."""
    image = mx.image.imread(str(GOLDEN / "image" / "colours.png")).asnumpy()
    crops = drawn(mx, folder, rand_crop=True)[1::2].transpose(0, 2, 3, 1)
    places = set()
    for crop in crops:
        [place] = [
            (y, x) for y in range(18) for x in range(30)
            if (image[y : y + 20, x : x + 24] == crop).all()
        ]  # fmt: skip
        places.add(place)
    ys, xs = zip(*places)
    assert max(ys) - min(ys) > 9 and max(xs) - min(xs) > 15
    mirrored = drawn(mx, folder, rand_mirror=True)[1::2]
    plain = drawn(mx, folder)[1]
    same = [(each == plain).all() for each in mirrored]
    assert 4 < sum(same) < 16
    assert all((each[..., ::-1] == plain).all() for each, s in zip(mirrored, same) if not s)


def test_a_mean_image(mx, folder):
    path = str(folder / "mean.bin")
    first = next(iterator(mx, folder, mean_img=path)).data[0].asnumpy()
    [mean] = [array.asnumpy() for array in mx.nd.load(path).values()]
    plain = next(iterator(mx, folder)).data[0].asnumpy()
    assert mean.shape == SHAPE
    again = next(iterator(mx, folder, mean_img=path)).data[0].asnumpy()
    np.testing.assert_allclose(again, plain - mean, atol=1e-3)
    assert first.shape == again.shape


@torch_only
@pytest.mark.parametrize(
    "options, message",
    [
        ({"foo": 1}, "no option 'foo'"),
        ({"data_shape": (3, 4)}, "expected .channels"),
        ({"data_shape": "(3, x)"}, r"data_shape is '\(3, x\)'\n  expected "),
        ({"batch_size": 0}, "batch_size is 0"),
        ({"resize": "x"}, "resize is 'x'\n  expected an int"),
        ({"batch_size": "two"}, "batch_size is 'two'\n  expected an int"),
        ({"min_aspect_ratio": "a"}, "min_aspect_ratio is 'a'\n  expected a number"),
        ({"num_parts": 2, "part_index": 2}, "part_index is 2"),
        ({"num_parts": 20, "part_index": 19, "path_imgidx": "a.idx"}, "no records"),
        ({"aug_seq": "aug_own"}, "aug_own"),
        ({"std_r": 0}, "std is|std "),
    ],
)
def test_wrong_options(mx, folder, options, message):
    with pytest.raises(mx.MXNetError, match=message):
        iterator(mx, folder, **options)


@torch_only
def test_what_is_damaged(mx, folder):
    path = str(folder / "bad.rec")
    writer = mx.recordio.MXRecordIO(path, "w")
    writer.write(mx.recordio.pack((0, 1, 0, 0), b"junk"))
    writer.close()
    with pytest.raises(mx.MXNetError, match=r"bad\.rec': the record at offset 0 cannot be decoded"):
        next(iterator(mx, folder, path_imgrec="bad.rec"))
    with open(path, "ab") as file:
        file.write(b"junk")
    with pytest.raises(mx.MXNetError, match=r"bad\.rec': at offset 36"):
        iterator(mx, folder, path_imgrec="bad.rec")
    with pytest.raises(mx.MXNetError, match=r"wide\.rec'.* a label of 2 numbers\n  expected 1"):
        next(iterator(mx, folder, path_imgrec="wide.rec"))
    (folder / "b.lst").write_text("0\t1\tx.jpg\n")
    with pytest.raises(mx.MXNetError, match="has id 2\n  expected one of the 1 keys"):
        next(iterator(mx, folder, path_imglist="b.lst"))
    (folder / "b.lst").write_text("0 1 x.jpg\n")
    with pytest.raises(mx.MXNetError, match=r"b\.lst': line 1 is"):
        iterator(mx, folder, path_imglist="b.lst")
    with pytest.raises(FileNotFoundError):
        iterator(mx, folder, path_imgrec="none.rec")


@torch_only
def test_options_as_texts(mx, folder):
    batch = next(iterator(mx, folder, data_shape="(3, 20, 24)", batch_size="2", mirror="True"))
    assert batch.data[0].shape == (2, *SHAPE)
    assert (
        batch.data[0].asnumpy()
        == next(iterator(mx, folder, batch_size=2, mirror=True)).data[0].asnumpy()
    ).all()


def write_line(mx, folder, height, width):
    """A file of one record, an image of few bytes with many pixels on one side."""
    from PIL import Image

    Image.new("RGB", (width, height)).save(folder / "line.png")
    writer = mx.recordio.MXRecordIO(str(folder / "line.rec"), "w")
    writer.write(mx.recordio.pack((0, 1.0, 0, 0), (folder / "line.png").read_bytes()))
    writer.close()


@torch_only
@pytest.mark.parametrize("size", [(1, 1 << 20), (1 << 20, 1)])
@pytest.mark.parametrize("draws", [False, True])
def test_a_line_is_enlarged_where_it_is_needed(mx, folder, size, draws):
    """The whole line in the height of a batch would have 400 million pixels."""
    write_line(mx, folder, *size)
    options = {"path_imgrec": "line.rec", "batch_size": 1, "rand_crop": draws}
    batch = iterator(mx, folder, **options).next()
    assert batch.data[0].shape == (1, *SHAPE)
    assert (batch.data[0].asnumpy() == 0).all()


@torch_only
@pytest.mark.parametrize("name", ["ImageRecordIter", "ImageDetRecordIter"])
def test_a_line_has_a_limit(mx, folder, name):
    write_line(mx, folder, 1, 1 << 20)
    if name == "ImageDetRecordIter":
        label = np.array([2, 5, 0, 0.1, 0.1, 0.9, 0.9], np.float32)
        writer = mx.recordio.MXRecordIO(str(folder / "line.rec"), "w")
        image = (folder / "line.png").read_bytes()
        writer.write(mx.recordio.pack((0, label, 0, 0), image))
        writer.close()
    batches = iterator(mx, folder, name, path_imgrec="line.rec", batch_size=1, resize=256)
    message = r"(?s)line\.rec.*offset 0: .*1048576 x 1 pixels.*268435456 x 256.*at most 33554432"
    with pytest.raises(mx.base.MXNetError, match=message):
        batches.next()


@torch_only
@pytest.mark.parametrize("ahead", [1, 2])
def test_an_epoch_goes_on_after_a_damaged_record(mx, folder, ahead):
    image = (GOLDEN / "image" / "colours.jpg").read_bytes()
    writer = mx.recordio.MXRecordIO(str(folder / "bad.rec"), "w")
    for i in range(6):
        writer.write(mx.recordio.pack((0, i, i, 0), b"no image" if i in (1, 2) else image))
    writer.close()
    options = {"path_imgrec": "bad.rec", "batch_size": 1, "prefetch_buffer": ahead}
    batches, found, failed = iterator(mx, folder, **options), [], 0
    for _ in range(6):
        try:
            found += batches.next().label[0].asnumpy().tolist()
        except mx.base.MXNetError:
            failed += 1
    assert (found, failed) == ([0, 3, 4, 5], 2)
    with pytest.raises(StopIteration):
        batches.next()


@torch_only
def test_numbers_as_texts(mx, folder):
    texts = {"random_resized_crop": "1", "min_aspect_ratio": "0.5", "max_aspect_ratio": "2"}
    numbers = {"random_resized_crop": 1, "min_aspect_ratio": 0.5, "max_aspect_ratio": 2}
    found = [next(iterator(mx, folder, **o)).data[0].asnumpy() for o in (texts, numbers)]
    np.testing.assert_array_equal(*found)


@torch_only
def test_a_mean_file_of_two_arrays(mx, folder):
    path = str(folder / "two.bin")
    mx.nd.save(path, {name: mx.nd.zeros(SHAPE) for name in "ab"})
    with pytest.raises(mx.MXNetError, match=r"two\.bin' has 2 arrays\n  expected one"):
        iterator(mx, folder, mean_img=path)
