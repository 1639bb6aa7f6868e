"""An iterator over image records with boxes of objects."""

import numpy as np
import pytest

pytest.importorskip("PIL", reason="images are read by Pillow")

BOXES = [[0.1, 0.2, 0.5, 0.6], [0.3, 0.05, 0.95, 0.9], [0.8, 0.8, 0.85, 0.9]]
H, W = 37, 53
torch_only = pytest.mark.engine("torch")
pytestmark = [
    pytest.mark.filterwarnings("ignore:tostring:DeprecationWarning"),  # MXNet's
    pytest.mark.filterwarnings("ignore:The binary mode of fromstring:DeprecationWarning"),
]


def objects(number):
    return [[number, *box] for box in BOXES[: 1 + number % 3]]


@pytest.fixture
def path(mx, tmp_path):
    """A file of images whose pixels tell where they are, with one to three objects each."""
    pytest.importorskip("cv2" if mx.__name__ == "mxnet" else "PIL")
    y, x = np.mgrid[:H, :W]
    image = np.stack([x * 0, y * 6, x * 4], -1).astype(np.uint8)  # BGR
    writer = mx.recordio.MXRecordIO(str(tmp_path / "d.rec"), "w")
    for i in range(5):
        label = [2, 5, *np.ravel(objects(i))]
        writer.write(mx.recordio.pack_img((0, label, i, 0), image, 9, ".png"))
    writer.close()
    return str(tmp_path / "d.rec")


def batches(mx, path, **options):
    options = {"data_shape": (3, H, W), "batch_size": 1, "fill_value": 255} | options
    return mx.io.ImageDetRecordIter(path_imgrec=path, verbose=False, **options)


def found_objects(label):
    """The objects of a label in a batch."""
    count = int(label[3])
    assert (label[4:6] == (2, 5)).all() and (label[4 + count :] == -1).all()
    return label[6 : 4 + count].reshape(-1, 5)


def test_labels(mx, path):
    iterator = batches(mx, path, batch_size=2, data_shape=(3, 20, 24))
    assert iterator.provide_data == [("data", (2, 3, 20, 24))]
    assert iterator.provide_label == [("softmax_label", (2, 4 + 2 + 15))]
    found = [(batch.label[0].asnumpy(), batch.pad) for batch in iterator]
    assert [pad for _, pad in found] == [0, 0, 1]
    for i, label in enumerate(np.concatenate([labels for labels, _ in found])):
        assert label[:4].tolist() == [3, 20, 24, 2 + 5 * (1 + i % 5 % 3)]
        np.testing.assert_allclose(found_objects(label), objects(i % 5), atol=1e-6)


@pytest.mark.parametrize("options, width", [
    ({"label_pad_width": 30}, 34), ({"label_pad_width": -1}, 21), ({"label_pad_value": -2}, 21),
])  # fmt: skip
def test_widths_of_labels(mx, path, options, width):
    label = next(batches(mx, path, **options)).label[0].asnumpy()[0]
    assert label.shape == (width,)
    assert (label[11:] == options.get("label_pad_value", -1)).all()


@torch_only
def test_widths_are_read_without_the_images(mx, path, monkeypatch):
    from layers.mxnet._files.records import Reader

    monkeypatch.setattr(Reader, "_part", lambda self, at: pytest.fail("a whole record is read"))
    assert batches(mx, path).provide_label == [("softmax_label", (1, 4 + 2 + 15))]


@pytest.mark.parametrize("mode, shape, size", [
    ("force", (20, 24), (20, 24)), ("force", (60, 60), (60, 60)),
    ("fit", (20, 24), (16, 24)), ("fit", (60, 60), (41, 59)), ("fit", (30, 80), (30, 42)),
    ("shrink", (20, 24), (16, 24)), ("shrink", (60, 60), (37, 53)), ("shrink", (30, 80), (30, 42)),
])  # fmt: skip
def test_how_an_image_fits(mx, path, mode, shape, size):
    batch = next(batches(mx, path, data_shape=(3, *shape), resize_mode=mode))
    data, label = batch.data[0].asnumpy()[0], batch.label[0].asnumpy()[0]
    assert tuple(label[1:3]) == size
    image = data[:, : size[0], : size[1]]
    assert image[:2].min() >= 0 and image[0, :, -1].min() > 180 and image[1, -1].min() > 180
    assert (data[:, size[0] :] == 0).all() and (data[:, :, size[1] :] == 0).all()


@pytest.mark.parametrize("method", range(5))
def test_resizing(mx, path, method):
    y, x = np.mgrid[:H, :W]
    image = mx.nd.array(np.stack([x * 4, y * 6, x * 0], -1), dtype="uint8")
    expected = mx.image.imresize(mx.image.resize_short(image, 30, method), 24, 20, method)
    options = {"data_shape": (3, 20, 24), "resize": 30, "inter_method": method}
    found = next(batches(mx, path, **options)).data[0].asnumpy()[0]
    assert abs(found - expected.asnumpy().transpose(2, 0, 1).astype(float)).max() <= 1


def test_normalization(mx, path):
    plain = next(batches(mx, path)).data[0].asnumpy()[0]
    options = {"mean_r": 1, "mean_g": 2, "std_r": 2, "std_b": 4, "scale": 0.5}
    found = next(batches(mx, path, **options)).data[0].asnumpy()[0]
    mean, std = np.reshape([1, 2, 0], (3, 1, 1)), np.reshape([2, 1, 4], (3, 1, 1))
    np.testing.assert_allclose(found, (plain - mean) / std / 2, atol=1e-4)


DRAWN = {
    "mirror": {"rand_mirror_prob": 1},
    "pad": {"rand_pad_prob": 1, "max_pad_scale": 2},
    "crop": {"rand_crop_prob": 1, "min_crop_scales": 0.5, "max_crop_scales": 0.51},
    "wide crop": {"rand_crop_prob": 1, "min_crop_scales": 0.5, "max_crop_scales": 0.51,
                  "min_crop_aspect_ratios": 2, "max_crop_aspect_ratios": 2.01},
    "covering crop": {"rand_crop_prob": 1, "min_crop_scales": 0.3, "max_crop_scales": 0.9,
                      "min_crop_object_coverages": 0.9, "crop_emit_mode": "overlap"},
    "crops": {"rand_crop_prob": 1, "num_crop_sampler": 2, "min_crop_scales": (0.3, 0.6),
              "max_crop_scales": (0.5, 0.9), "min_crop_aspect_ratios": (0.5, 0.9),
              "max_crop_aspect_ratios": (2, 1.1), "min_crop_overlaps": (0.1, 0),
              "max_crop_overlaps": (1, 1), "min_crop_sample_coverages": (0, 0),
              "max_crop_sample_coverages": (1, 1), "min_crop_object_coverages": (0, 0),
              "max_crop_object_coverages": (1, 1), "max_crop_trials": (25, 25)},
}  # fmt: skip


def whereabouts(image):
    """Of an image of such pixels, x and y of the original are linear in those of the image."""
    h, w = image.shape[1:]
    shown = ~(image == 255).all(0)
    y, x = np.mgrid[:h, :w] + 0.5
    ones = np.ones_like(x)
    at = np.stack([x, y, ones], -1)[shown]
    along = np.linalg.lstsq(at, image[0][shown] / 4 + 0.5, rcond=None)[0]
    down = np.linalg.lstsq(at, image[1][shown] / 6 + 0.5, rcond=None)[0]
    return along, down


@pytest.mark.parametrize("name", DRAWN)
def test_boxes_go_with_the_image(mx, path, name):
    for number, batch in enumerate(batches(mx, path, label_pad_width=30, seed=3, **DRAWN[name])):
        image, label = batch.data[0].asnumpy()[0], batch.label[0].asnumpy()[0]
        along, down = whereabouts(image)
        original = np.array(objects(number))[:, 1:]
        found = found_objects(label)
        assert 1 <= len(found) <= len(original)
        for _, *box in found:
            corners = np.reshape(box, (2, 2)) * (W, H)
            places = [
                [axis @ [*corner, 1] / size for axis, size in ((along, W), (down, H))]
                for corner in corners
            ]
            low, high = np.min(places, 0), np.max(places, 0)
            # It is one of the boxes, or what a crop has of it.
            assert any(
                (low > each[:2] - 0.05).all() and (high < each[2:] + 0.05).all()
                for each in original
            )
        if name == "pad":
            assert 1 <= along[0] < 2.05 and abs(along[0] - down[1]) < 0.3
        if name == "wide crop":
            ratio = along[0] * W / (down[1] * H)
            assert 1.8 < ratio < 2.3


@torch_only
@pytest.mark.parametrize(
    "options, message",
    [
        ({"label_pad_width": 5}, "expected at least 17"),
        ({"label_width": 12}, "label of 7 numbers\n  expected 12"),
        ({"resize_mode": "x"}, "resize_mode is 'x'"),
        ({"crop_emit_mode": "x"}, "crop_emit_mode is 'x'"),
        ({"num_crop_sampler": 3, "min_crop_scales": (0.1, 0.2)}, "one or 3 of each"),
        ({"min_crop_scales": 0.9, "max_crop_scales": 0.1}, "from 0.9 to 0.1"),
        ({"mean_img": "x"}, "mean_img 'x'"),
        ({"rand_crop": 1}, "no option 'rand_crop'"),
    ],
)
def test_wrong_options(mx, path, options, message):
    with pytest.raises(mx.MXNetError, match=message):
        batches(mx, path, **options)


@torch_only
@pytest.mark.parametrize("label", [3.0, [2, 3, 1, 2, 3], [9, 5, 1], [np.nan, 5, 1, 2, 3, 4, 5]])
def test_a_damaged_label(mx, path, label):
    writer = mx.recordio.MXRecordIO(path, "w")
    image = np.zeros((9, 9, 3), np.uint8)
    writer.write(mx.recordio.pack_img((0, label, 0, 0), image, 9, ".png"))
    writer.close()
    with pytest.raises(mx.MXNetError, match=r"d\.rec': the record at offset 0 has a label of"):
        next(batches(mx, path))


@pytest.mark.engine("torch")
def test_ranges_as_texts():
    from layers.mxnet.io._image_records import read_options

    given = {"scales": "(0.1,0.3)"}
    assert read_options("test", given, {"scales": (0.0,)}).scales == (0.1, 0.3)
