"""Iterators over images, and detection: MXNet's batches are recorded in golden/image_iter.json."""

import json
import random
import shutil
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("PIL", reason="images are read by Pillow")

GOLDEN = Path(__file__).resolve().parents[1] / "golden"
IMAGES = str(GOLDEN / "image")
SHAPE = (3, 20, 24)
torch_only = pytest.mark.engine("torch")
pytestmark = [
    pytest.mark.filterwarnings("ignore:tostring:DeprecationWarning"),  # MXNet's
    pytest.mark.filterwarnings("ignore:invalid value encountered:RuntimeWarning"),  # MXNet's
]


@pytest.fixture
def folder(mx, tmp_path):
    """Files of seven images: in records with and without an index, and in lists."""
    encoded = [(Path(IMAGES) / name).read_bytes() for name in ("colours.jpg", "colours.png")]
    pack = mx.recordio.pack
    with_index = mx.recordio.MXIndexedRecordIO(
        str(tmp_path / "a.idx"), str(tmp_path / "a.rec"), "w"
    )
    wide = mx.recordio.MXRecordIO(str(tmp_path / "wide.rec"), "w")
    boxes = mx.recordio.MXIndexedRecordIO(str(tmp_path / "d.idx"), str(tmp_path / "d.rec"), "w")
    for i in range(7):
        with_index.write_idx(2 * i, pack((0, i, 2 * i, 0), encoded[i % 2]))
        wide.write(pack((0, [i, i + 0.5], i, 0), encoded[0]))
        boxes.write_idx(i, pack((0, objects(i), i, 0), encoded[0]))
    for writer in (with_index, wide, boxes):
        writer.close()
    names = ["colours.png", "colours.jpg"]
    lines = [f"{2 * i}\t{10 * i}\t{names[i % 2]}\n" for i in range(7)]
    (tmp_path / "a.lst").write_text("".join(lines))
    lines = [f"{i}\t{10 * i}\t{i + 0.5}\t{names[i % 2]}\n" for i in range(7)]
    (tmp_path / "wide.lst").write_text("".join(lines))
    return tmp_path


def objects(number):
    """The label of an image with one to three boxes, and a header of 2 or 3 numbers."""
    rng = np.random.RandomState(number)
    found = rng.uniform(0, 0.5, (1 + number % 3, 5))
    found[:, 0] = number
    found[:, 3:] += 0.5
    header = [2, 5] if number % 2 else [3, 5, 99]
    return [*header, *found.ravel().round(3)]


PATHS = {
    "records": {"path_imgrec": "a.rec"},
    "index": {"path_imgrec": "a.rec", "path_imgidx": "a.idx"},
    "list": {"path_imglist": "a.lst", "path_root": IMAGES},
    "labels of a list": {"path_imgrec": "a.rec", "path_imgidx": "a.idx", "path_imglist": "a.lst"},
    "items": {"imglist": [[i, "colours.jpg"] for i in range(7)], "path_root": IMAGES},
}
DRAWN = {"shuffle": True, "rand_crop": True, "rand_mirror": True, "inter_method": 1}
ITERATORS = {
    **{
        f"{paths} {handle}": PATHS[paths] | {"batch_size": 3, "last_batch_handle": handle}
        for paths in PATHS
        for handle in ("pad", "discard", "roll_over")
    },
    "more than there are": PATHS["records"] | {"batch_size": 10},
    "drawn": PATHS["index"] | DRAWN | {"batch_size": 3},
    "drawn roll_over": PATHS["list"] | DRAWN | {"batch_size": 3, "last_batch_handle": "roll_over"},
    "part": PATHS["index"] | {"batch_size": 2, "num_parts": 3, "part_index": 1},
    "part of a list": PATHS["list"] | {"batch_size": 2, "num_parts": 2, "part_index": 1},
    "wide": {"path_imgrec": "wide.rec", "label_width": 2, "batch_size": 2},
    "wide list": {"path_imglist": "wide.lst", "path_root": IMAGES, "label_width": 2}
    | {"batch_size": 2},
    "wide items": {"imglist": [[1, 2, "gray.jpg"], [[3, 4], "gray.png"]], "path_root": IMAGES}
    | {"batch_size": 2, "label_width": 2},
}
BOXES = {"path_imgrec": "d.rec"}
INDEXED = BOXES | {"path_imgidx": "d.idx"}
FOUND = {"shuffle": True, "rand_crop": 1, "rand_pad": 1, "rand_mirror": True, "inter_method": 1}
DETECTION = {
    **{f"{handle}": BOXES | {"last_batch_handle": handle} for handle in ("pad", "discard")},
    "roll_over": INDEXED | {"last_batch_handle": "roll_over"},
    "drawn": INDEXED | FOUND | {"last_batch_handle": "pad"},
    "colours": INDEXED | {"brightness": 0.1, "mean": True, "std": True, "rand_gray": 0.5}
    | {"inter_method": 1, "resize": 30},
    "items": {"imglist": [[objects(i), "colours.jpg"] for i in range(7)], "path_root": IMAGES},
}  # fmt: skip
LABEL = [[0, 0.1, 0.2, 0.5, 0.6, 7], [2, 0.3, 0.05, 0.95, 0.9, 8], [1, 0.8, 0.8, 0.85, 0.9, 9],
         [3, 0.2, 0.2, 0.2, 0.4, 1]]  # fmt: skip


def epochs(iterator, count=2):
    """Labels, pads and the mean pixel of all batches of some epochs."""
    found = []
    for _ in range(count):
        for batch in iterator:
            mean = float(batch.data[0].asnumpy().mean())
            found.append([batch.label[0].asnumpy().tolist(), batch.pad, mean])
        found.append("end")
        iterator.reset()
    return found


def placed(options, folder):
    """Options whose paths are in a folder."""
    return {
        name: str(folder / value) if name.startswith("path_img") else value
        for name, value in options.items()
    }


def augmenters(mx):
    image = mx.image
    several = [image.DetRandomCropAug(), image.DetRandomPadAug(), image.DetHorizontalFlipAug(1)]
    return {
        "crop": image.DetRandomCropAug(),
        "large crop": image.DetRandomCropAug(0.5, (0.5, 2), (0.3, 0.8), 0.6, 20),
        "crop of few attempts": image.DetRandomCropAug(0.9, (1, 1), (0.1, 0.2), 0.0, 3),
        "square crop": image.DetRandomCropAug(aspect_ratio_range=1, area_range=0.5),
        "pad": image.DetRandomPadAug(),
        "large pad": image.DetRandomPadAug((0.3, 3), (1.5, 6), 10, (1, 2, 3)),
        "flip": image.DetHorizontalFlipAug(0.5),
        "select": image.DetRandomSelectAug(several, 0.3),
        "crops": image.CreateMultiRandCropAugmenter(
            [0.1, 0.5, 0.9], [(0.5, 2), (1, 1), (0.3, 1)], skip_prob=0.2
        ),
    }


def augmented(mx, augmenter, count=25):
    """Labels, sizes and the mean pixel of some augmented images, and a number drawn after each."""
    image, found = mx.image.imread(f"{IMAGES}/colours.png"), []
    for _ in range(count):
        changed, label = augmenter(image, np.array(LABEL, np.float32))
        mean = float(changed.asnumpy().mean())
        found.append([label.tolist(), list(changed.shape), mean, random.random()])
    return found


def everything(mx, folder):
    """By name, a function that gives what is recorded."""
    image = mx.image
    found = {
        f"ImageIter {name}": lambda options=options: epochs(
            image.ImageIter(data_shape=SHAPE, **placed(options, folder)), 3
        )
        for name, options in ITERATORS.items()
    }
    found |= {
        f"ImageDetIter {name}": lambda options=options: epochs(
            image.ImageDetIter(3, SHAPE, **placed(options, folder))
        )
        for name, options in DETECTION.items()
    }
    return found | {
        f"augmenter {name}": lambda each=each: augmented(mx, each)
        for name, each in augmenters(mx).items()
    }


AUGMENTERS = ["crop", "large crop", "crop of few attempts", "square crop", "pad", "large pad",
              "flip", "select", "crops"]  # fmt: skip
NAMES = [
    *(f"ImageIter {name}" for name in ITERATORS),
    *(f"ImageDetIter {name}" for name in DETECTION),
    *(f"augmenter {name}" for name in AUGMENTERS),
]


def seeded(run):
    random.seed(3)
    np.random.seed(3)
    return run()


@pytest.mark.engine("mxnet")
def test_batches_are_recorded(mx, folder, pytestconfig):
    runs = everything(mx, folder)
    assert list(runs) == NAMES
    found = {name: seeded(run) for name, run in runs.items()}
    path = GOLDEN / "image_iter.json"
    if pytestconfig.getoption("--record"):
        lines = [f'"{name}": {json.dumps(value)}' for name, value in found.items()]
        path.write_text("{\n" + ",\n".join(lines) + "\n}\n")
    assert json.loads(path.read_text()) == found


@torch_only
@pytest.mark.parametrize("name", NAMES)
def test_batches(mx, folder, name):
    expected = json.loads((GOLDEN / "image_iter.json").read_text())[name]
    found = seeded(everything(mx, folder)[name])
    assert len(found) == len(expected)
    for ours, theirs in zip(found, expected):
        if theirs == "end":
            assert ours == theirs
            continue
        assert np.shape(ours[0]) == np.shape(theirs[0])
        np.testing.assert_allclose(ours[0], theirs[0], atol=1e-5)
        assert ours[1] == theirs[1]
        assert abs(ours[2] - theirs[2]) < 1e-2
        assert ours[3:] == theirs[3:]


def test_what_is_provided(mx, folder):
    iterator = mx.image.ImageIter(
        2, SHAPE, path_imgrec=str(folder / "a.rec"), data_name="x", label_name="y"
    )
    assert iterator.provide_data == [("x", (2, *SHAPE))]
    assert iterator.provide_label == [("y", (2,))]
    batch = iterator.next()
    assert batch.data[0].dtype == np.float32 and batch.data[0].shape == (2, *SHAPE)
    assert batch.label[0].dtype == np.float32


def test_hard_reset(mx, folder):
    options = placed(PATHS["index"], folder)
    iterator = mx.image.ImageIter(3, SHAPE, last_batch_handle="roll_over", **options)
    assert len(list(iterator)) == 2
    iterator.hard_reset()
    assert next(iterator).label[0].asnumpy().tolist() == [0, 1, 2]


def test_augmenters_of_ones_own(mx, folder):
    """Without a CastAug, images of uint8 become batches of float32."""
    crop = mx.image.CenterCropAug((24, 20))
    iterator = mx.image.ImageIter(2, SHAPE, path_imgrec=str(folder / "a.rec"), aug_list=[crop])
    expected = crop(mx.image.imread(f"{IMAGES}/colours.jpg")).asnumpy()
    batch = iterator.next()
    assert batch.data[0].dtype == np.float32
    assert (batch.data[0].asnumpy()[0] == expected.transpose(2, 0, 1)).all()


def test_a_subclass_that_leaves_images_out(mx, folder):
    class Odd(mx.image.ImageIter):
        def next_sample(self):
            label, image = super().next_sample()
            self.last = label
            return label, image

        def check_valid_image(self, data):
            if self.last % 2 == 0:
                raise RuntimeError("even")

    iterator = Odd(3, SHAPE, path_imgrec=str(folder / "a.rec"))
    assert [batch.label[0].asnumpy().tolist() for batch in iterator] == [[1, 3, 5]]


def test_shapes_of_labels(mx, folder):
    first = mx.image.ImageDetIter(3, SHAPE, path_imgrec=str(folder / "d.rec"))
    second = mx.image.ImageDetIter(3, SHAPE, path_imgrec=str(folder / "d.rec"))
    assert first.label_shape == (3, 5) and first.provide_label == [("label", (3, 3, 5))]
    first.reshape(label_shape=(5, 5))
    assert first.next().label[0].shape == (3, 5, 5)
    assert first.sync_label_shape(second) is second and second.label_shape == (5, 5)
    second.reshape((3, 10, 12))
    assert second.provide_data == [("data", (3, 3, 10, 12))]
    for shape in ((2, 5), (9, 6), (9,)):
        with pytest.raises(ValueError):
            first.reshape(label_shape=shape)


def test_boxes_are_drawn(mx, folder, engine):
    if engine == "mxnet":
        pytest.importorskip("cv2", reason="MXNet draws with OpenCV")
    path = str(folder / "d.rec")
    iterator = mx.image.ImageDetIter(3, (3, 60, 60), path_imgrec=path, inter_method=0)
    drawn = list(iterator.draw_next(color=(255, 0, 0), id2labels={0: "a", 1: "b"}))
    assert len(drawn) == 7
    for i, image in list(enumerate(drawn))[::2]:  # in every second, MXNet takes RGB for BGR
        assert image.shape == (60, 60, 3) and image.dtype == np.uint8
        box = np.array(objects(i)[2 + (i + 1) % 2 :]).reshape(-1, 5)[-1, 1:]
        x, y = (60 * box[:2]).astype(int)
        assert image[y, (x + int(60 * box[2])) // 2].tolist() == [0, 0, 255]


def test_dumps_of_detection(mx):
    image = mx.image
    assert image.DetRandomCropAug().dumps() == (
        '["detrandomcropaug", {"min_object_covered": 0.1, "aspect_ratio_range": [0.75, 1.33], '
        '"area_range": [0.05, 1.0], "min_eject_coverage": 0.3, "max_attempts": 50}]'
    )
    assert image.DetRandomPadAug(1).dumps() == (
        '["detrandompadaug", {"aspect_ratio_range": [1, 1], "area_range": [1.0, 3.0], '
        '"max_attempts": 50, "pad_val": [128, 128, 128]}]'
    )
    chain = image.CreateDetAugmenter(SHAPE, rand_pad=0.5, rand_mirror=True, mean=True)
    assert [each.dumps() for each in chain[:4]] == [
        '["dethorizontalflipaug", {"p": 0.5}]',
        ["detrandomselectaug", [image.DetRandomPadAug(pad_val=[127] * 3).dumps()]],
        ["detborrowaug", '["forceresizeaug", {"size": [24, 20], "interp": 2}]'],
        ["detborrowaug", '["castaug", {"type": "float32"}]'],
    ]
    assert chain[1].skip_prob == 0.5
    assert '"mean": [123.68, 116.28, 103.53]' in chain[4].dumps()[1]


@torch_only
@pytest.mark.parametrize(
    "options, message",
    [
        ({}, "there are no images"),
        ({"path_imgrec": "a.rec", "dtype": "uint8"}, "dtype is 'uint8'"),
        ({"path_imgrec": "a.rec", "last_batch_handle": "x"}, "last_batch_handle is 'x'"),
        ({"path_imgrec": "a.rec", "shuffle": True}, "shuffle is True.*\n  expected path_imgidx"),
        ({"path_imgrec": "a.rec", "num_parts": 2}, "num_parts is 2.*\n  expected path_imgidx"),
        (PATHS["index"] | {"num_parts": 2, "part_index": 2}, "part_index is 2"),
        ({"path_imgrec": "a.rec", "data_shape": (1, 20, 24)}, "expected 3 channels"),
        ({"path_imgrec": "a.rec", "data_shape": (3, 20)}, "three numbers"),
        ({"path_imglist": "bad.lst"}, r"bad\.lst': line 2 is .*two"),
    ],
)
def test_wrong_options(mx, folder, options, message):
    (folder / "bad.lst").write_text("1\t1\tcolours.jpg\n2\ttwo\tcolours.jpg\n")
    with pytest.raises(mx.MXNetError, match=message):
        mx.image.ImageIter(2, **{"data_shape": SHAPE} | placed(options, folder))


@torch_only
@pytest.mark.parametrize("kind", ["ImageIter", "ImageDetIter"])
def test_a_list_names_images_below_path_root(mx, folder, kind):
    (folder / "images").mkdir()
    shutil.copy(f"{IMAGES}/colours.jpg", folder / "secret.jpg")
    paths = "../secret.jpg", str(folder / "secret.jpg"), "x/../../secret.jpg"
    label = "2\t5\t0\t0\t0\t1\t1" if kind == "ImageDetIter" else "1"
    for path in paths:
        (folder / "out.lst").write_text(f"0\t{label}\t{path}\n")
        options = {"path_imglist": str(folder / "out.lst"), "path_root": str(folder / "images")}
        iterator = getattr(mx.image, kind)(1, SHAPE, **options)
        with pytest.raises(mx.MXNetError, match="the list has the path .*\n  expected one below"):
            iterator.next()


@torch_only
def test_a_broken_image_is_named(mx, folder):
    path, index = str(folder / "b.rec"), str(folder / "b.idx")
    writer = mx.recordio.MXIndexedRecordIO(index, path, "w")
    for key in (5, 6):
        writer.write_idx(key, mx.recordio.pack((0, 1, 1, 0), b"junk"))
    writer.close()
    for options, named in (
        ({"path_imgrec": path}, r"index: 0 of '.*b\.rec'"),
        ({"path_imgrec": path, "path_imgidx": index}, r"index: 5 of '.*b\.rec'"),
        ({"imglist": [[1, "b.rec"]], "path_root": str(folder)}, r"filename: b\.rec"),
    ):
        iterator = mx.image.ImageIter(1, SHAPE, **options)
        with pytest.raises(mx.MXNetError, match=f"Broken image {named}, .* no image of a known"):
            iterator.next()
    iterator = mx.image.ImageIter(
        1, (3, 2, 2), imglist=[[1, "colours.jpg"]], path_root=IMAGES, aug_list=[]
    )
    with pytest.raises(ValueError, match=r"colours.jpg is .* after .*\n  expected \(3, 2, 2\)"):
        iterator.next()
    iterator = mx.image.ImageIter(2, SHAPE, path_imgrec=str(folder / "wide.rec"))
    with pytest.raises(mx.MXNetError, match="label of 2 numbers\n  expected 1; label_width"):
        iterator.next()


@torch_only
@pytest.mark.parametrize(
    "label, message",
    [
        ([1, 2, 3], "label of 3 numbers.*\n  expected whole objects of 2"),
        ([2, 5, 1, 0.5, 0.5, 0.4, 0.6], "an object with an area"),
        (
            [2, 5, 1, 0.1, 0.1, 0.4, 1, 1],
            r"whole objects of 5 numbers \(5 or more\) after a header of 2",
        ),
        ([2, 0, 1, 0.1, 0.1, 0.4, 1], "whole objects of 0"),
        ([-5, 5, 1, 0.1, 0.1, 0.4, 1], "header of -5"),
        ([float("nan"), 5, 1, 0.1, 0.1, 0.4, 1], "nan"),
    ],
)
def test_a_wrong_label_of_objects(mx, label, message):
    with pytest.raises(mx.MXNetError, match=message) as raised:
        mx.image.ImageDetIter(1, SHAPE, imglist=[[label, "colours.jpg"]], path_root=IMAGES)
    assert "filename: colours.jpg" in str(raised.value)


@torch_only
@pytest.mark.parametrize("index", [{}, {"path_imgidx": "d.idx"}])
def test_labels_of_objects_are_read_without_the_images(mx, folder, monkeypatch, index):
    """To know their shape, all of them are read at first: images would be many bytes."""
    from layers.mxnet._files.records import Reader

    paths = {name: str(folder / path) for name, path in index.items()}
    with monkeypatch.context() as patch:
        patch.setattr(Reader, "_part", lambda self, at: pytest.fail("a whole record is read"))
        records = mx.image.ImageDetIter(3, SHAPE, path_imgrec=str(folder / "d.rec"), **paths)
    assert records.label_shape == (3, 5) and records.next().data[0].shape == (3, *SHAPE)
    listed = [[objects(i), "nowhere.jpg"] for i in range(7)]
    assert mx.image.ImageDetIter(1, SHAPE, imglist=listed).label_shape == (3, 5)


@pytest.mark.parametrize("is_file", [False, True])
def test_labels_of_a_list(mx, folder, is_file):
    names = {"path_imglist": str(folder / "a.lst")}
    items = {"imglist": [[10 * i, "colours.jpg"] for i in range(7)]}
    options = names if is_file else items
    iterator = mx.image.ImageIter(1, SHAPE, path_root=IMAGES, dtype="int32", **options)
    labels = [iterator.next_sample()[0] for _ in range(7)]
    assert [label.asnumpy().tolist() for label in labels] == [[10 * i] for i in range(7)]
    assert {label.dtype for label in labels} == {np.int32}
    if mx.__name__ == "layers.mxnet":
        assert {type(label) for label, _ in iterator.imglist.values()} == {np.ndarray}


@torch_only
def test_labels_of_a_subclass_with_its_own_samples(mx, folder):
    class Twice(mx.image.ImageDetIter):
        def next_sample(self):
            label, image = super().next_sample()
            head = int(label[0])
            return [*label[:head], *np.tile(label[head:], 2)], image

    iterator = Twice(3, SHAPE, path_imgrec=str(folder / "d.rec"))
    assert iterator.label_shape == (6, 5) and iterator.next().label[0].shape == (3, 6, 5)


@torch_only
def test_wrong_augmenters(mx):
    image = mx.image
    with pytest.raises(TypeError, match="expected an Augmenter"):
        image.DetBorrowAug(3)
    with pytest.raises(ValueError, match="expected DetAugmenter"):
        image.DetRandomSelectAug([image.CastAug()])
    with pytest.raises(ValueError, match="aspect_ratio_range has 2 values\n  expected 1 or 3"):
        image.CreateMultiRandCropAugmenter([0.1, 0.2, 0.3], [(1, 2), (3, 4)])
    with pytest.warns(UserWarning, match="area_range is"):
        skipped = image.DetRandomCropAug(area_range=(0.5, 0.3))
    picture, label = image.imread(f"{IMAGES}/colours.png"), np.array(LABEL)
    assert skipped(picture, label)[0] is picture
