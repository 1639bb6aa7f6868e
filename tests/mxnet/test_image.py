"""Images: MXNet's values for each case are recorded in tests/golden/image.npz."""

import json
import random
from functools import partial
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("PIL", reason="images are read by Pillow")

GOLDEN = Path(__file__).resolve().parents[1] / "golden"
FILES = sorted(path.name for path in (GOLDEN / "image").iterdir())
torch_only = pytest.mark.engine("torch")


def pixels(mx, dtype="uint8", size=(19, 27), channels=3):
    """An image of smooth and of sharp edges."""
    y, x = np.mgrid[: size[0], : size[1]]
    parts = 128 + 100 * np.sin(x / 9), 128 + 90 * np.cos(y / 7 + x / 20), (x * 3 + y * 4) % 256
    image = np.clip(np.stack([*parts, 255 - parts[2]], -1), 0, 255)[..., :channels]
    return mx.nd.array(image.astype("uint8"), dtype=dtype)


def whole(array):
    """What is not written into: a copy."""
    return array.asnumpy().copy()


# Cases: the name of each, and a function of `mx` that gives one array or several

CASES = {}


def case(*keys):
    def add(function):
        for key in keys or [()]:
            values = key if isinstance(key, tuple) else (key,)
            name = " ".join([function.__name__, *map(str, values)])
            CASES[name] = partial(function, values=values)
        return add

    return add


@case(*((name, flag) for name in FILES for flag in (0, 1)))
def decode(mx, values):
    name, flag = values
    return [mx.image.imread(str(GOLDEN / "image" / name), flag=flag)]


@case(*((n, c, w, h, i) for n, c, w, h in (
    ("uint8", 3, 10, 15), ("uint8", 1, 45, 31), ("uint8", 3, 50, 4), ("uint8", 4, 27, 10),
    ("float32", 3, 10, 15), ("float32", 3, 45, 31), ("float64", 1, 10, 31), ("int8", 1, 13, 9))
    for i in range(5)))  # fmt: skip
def resize(mx, values):
    dtype, channels, w, h, interp = values
    image = pixels(mx, "uint8", channels=channels)
    image = (image / 2 if dtype == "int8" else image).astype(dtype)
    return [mx.image.imresize(image, w, h, interp)]


@case(*range(5))
def resize_to_whole_places(mx, values):
    """From 90 rows to 100, every tenth is at a row, which rounding may miss."""
    image = pixels(mx, size=(90, 3))
    return [mx.image.imresize(image, 2, 100, values[0])]


@case(*((size, interp) for size in (10, 19, 25) for interp in (0, 2, 9, 10)))
def short(mx, values):
    tall = mx.nd.transpose(pixels(mx), (1, 0, 2))
    return [mx.image.resize_short(image, *values) for image in (pixels(mx), tall)]


@case(0, 1, 2, 3, 4)
def border(mx, values):
    options = {"type": values[0]}
    wide = mx.image.copyMakeBorder(pixels(mx, size=(2, 3)), 7, 9, 8, 10, **options)
    floats = mx.image.copyMakeBorder(pixels(mx, "float32"), 0, 1, 2, 0, value=2.5, **options)
    many = mx.image.copyMakeBorder(pixels(mx), 1, 1, 0, 3, values=(1, 2, 3), **options)
    return [wide, floats, many]


@case(0, 30, -50, 90, 135)
def rotate(mx, values):
    image = mx.nd.transpose(pixels(mx, "float32"), (2, 0, 1))
    both = mx.nd.stack(image, 255 - image)
    rotate = mx.image.imrotate
    angles = mx.nd.array([values[0], 10])
    return [
        *(rotate(image, *values, **{zoom: True}) for zoom in ("zoom_in", "zoom_out")),
        rotate(image, *values),
        rotate(both, *values),
        rotate(both, angles),
        mx.image.random_rotate(image, (-20, values[0])),
        mx.image.random_rotate(both, (-20, values[0])),
    ]


@case((10, 5), (27, 19), (30, 5), (40, 45), (5, 45))
def crops(mx, values):
    found, image = [], pixels(mx)
    for crop in (mx.image.center_crop, mx.image.random_crop, mx.image.random_crop):
        part, place = crop(image, values, 1)
        found += [part, mx.nd.array(place)]
    for area, ratio in ((0.1, (0.75, 1.3)), ((0.5, 0.6), (1, 1)), (0.9, (3, 4))):
        part, place = mx.image.random_size_crop(image, values, area, ratio)
        found += [part, mx.nd.array(place)]
    found += [mx.nd.array(mx.image.scale_down((53, 37), values))]
    part = 3, 4, 20, 10
    fixed = mx.image.fixed_crop
    return [*found, fixed(image, *part), fixed(image, *part, values, 3)]


def augmenters(mx):
    image, each = mx.image, mx.nd.array([1.0, 2, 3])
    return {
        "brightness": image.BrightnessJitterAug(0.3),
        "contrast": image.ContrastJitterAug(0.3),
        "saturation": image.SaturationJitterAug(0.3),
        "hue": image.HueJitterAug(0.3),
        "colour": image.ColorJitterAug(0.1, 0.2, 0.3),
        "some colour": image.ColorJitterAug(0, 0.2, 0),
        "lighting": image.LightingAug(0.5, np.array([3.0, 2, 1]), np.eye(3) + 0.5),
        "mean": image.ColorNormalizeAug(each, None),
        "mean and std": image.ColorNormalizeAug(np.array([1.0, 2, 3]), each),
        "gray": image.RandomGrayAug(0.5),
        "flip": image.HorizontalFlipAug(0.5),
        "cast": image.CastAug("float64"),
        "resize": image.ResizeAug(10),
        "force": image.ForceResizeAug((20, 10), 9),
        "crop": image.RandomCropAug((20, 10)),
        "sized": image.RandomSizedCropAug((20, 10), 0.1, (0.75, 1.3)),
        "sized between": image.RandomSizedCropAug((20, 10), (0.3, 0.6), (0.75, 1.3), interp=3),
        "center": image.CenterCropAug((20, 10)),
        "sequence": image.SequentialAug([image.CastAug(), image.ResizeAug(30, 1)]),
        "order": image.RandomOrderAug([image.ResizeAug(30, 1), image.CenterCropAug((20, 20), 1)]),
    }


NAMES = [
    *("brightness", "contrast", "saturation", "hue", "colour", "some colour", "lighting", "mean"),
    *("mean and std", "gray", "flip", "cast", "resize", "force", "crop", "sized", "sized between"),
    *("center", "sequence", "order"),
]


@case(*NAMES)
def augment(mx, values):
    """Three times one after another, and the image that was given, which some write into."""
    augmenter, image = augmenters(mx)[values[0]], pixels(mx, "float32")
    return [*(mx.nd.array(whole(augmenter(image))) for _ in range(3)), image]


CHAINS = {
    "plain": {},
    "train": {"resize": 20, "rand_crop": True, "rand_mirror": True, "mean": True, "std": True},
    "parts": {"rand_crop": True, "rand_resize": True, "inter_method": 10, "rand_gray": 0.5},
    "colours": {"brightness": 0.1, "contrast": 0.2, "saturation": 0.1, "hue": 0.1,
                "pca_noise": 0.1, "mean": np.array([1.0, 2, 3]), "inter_method": 1},
}  # fmt: skip


@case(*CHAINS)
def chain(mx, values):
    found = []
    for _ in range(3):
        image = pixels(mx)
        for augmenter in mx.image.CreateAugmenter((3, 12, 15), **CHAINS[values[0]]):
            image = augmenter(image)
        found.append(image)
    return found


@pytest.mark.engine("mxnet")
def test_values_are_recorded(mx, pytestconfig):
    found = {}
    for name, run in CASES.items():
        random.seed(7)
        np.random.seed(7)
        for number, array in enumerate(run(mx)):
            found[f"{name} {number}"] = array.asnumpy()
    path = GOLDEN / "image.npz"
    if pytestconfig.getoption("--record"):
        np.savez_compressed(path, **found)
    recorded = np.load(path)
    assert set(recorded) == set(found)
    for name, array in found.items():
        assert recorded[name].dtype == array.dtype, name
        # Processors round the products of a change of hue in different ways.
        np.testing.assert_allclose(recorded[name], array, rtol=1e-5, atol=1e-3, err_msg=name)


RECORDED = np.load(GOLDEN / "image.npz") if (GOLDEN / "image.npz").exists() else {}


@torch_only
@pytest.mark.parametrize("name", CASES)
def test_values(mx, name):
    random.seed(7)
    np.random.seed(7)
    for number, array in enumerate(CASES[name](mx)):
        expected, found = RECORDED[f"{name} {number}"], array.asnumpy()
        assert found.shape == expected.shape and found.dtype == expected.dtype
        limit = 0 if expected.dtype.kind in "ui" else 1e-3
        # Rounded in another way: gray of colours, and areas that shrink on one axis alone.
        if name.startswith(("decode", "crops")) or "int8" in name:
            limit = 2 if "cmyk" in name else 1
        assert abs(found.astype(float) - expected).max() <= limit


def test_augmenters_have_cases(mx):
    assert set(augmenters(mx)) == set(NAMES)


DUMPS = {
    "brightness": '["brightnessjitteraug", {"brightness": 0.3}]',
    "lighting": '["lightingaug", {"alphastd": 0.5, "eigval": [3.0, 2.0, 1.0], "eigvec": '
    "[[1.5, 0.5, 0.5], [0.5, 1.5, 0.5], [0.5, 0.5, 1.5]]}]",
    "mean": '["colornormalizeaug", {"mean": [1.0, 2.0, 3.0], "std": null}]',
    "cast": '["castaug", {"type": "float64"}]',
    "sized between": '["randomsizedcropaug", {"size": [20, 10], "area": [0.3, 0.6], '
    '"ratio": [0.75, 1.3], "interp": 3}]',
    "sequence": [
        "sequentialaug",
        ['["castaug", {"type": "float32"}]', '["resizeaug", {"size": 30, "interp": 1}]'],
    ],
    "some colour": ["colorjitteraug", ['["contrastjitteraug", {"contrast": 0.2}]']],
    "flip": '["horizontalflipaug", {"p": 0.5}]',
    "center": '["centercropaug", {"size": [20, 10], "interp": 2}]',
}


def test_dumps(mx):
    found = augmenters(mx)
    assert {name: found[name].dumps() for name in DUMPS} == DUMPS
    assert json.loads(mx.image.Augmenter(a=mx.nd.ones(2), b=np.ones(2)).dumps()) == [
        "augmenter",
        {"a": [1, 1], "b": [1, 1]},
    ]
    chain = mx.image.CreateAugmenter((3, 4, 5), mean=True)
    assert chain[-1].dumps().startswith('["colornormalizeaug", {"mean": [123.68000030')


def test_decode(mx):
    data = (GOLDEN / "image" / "colours.jpg").read_bytes()
    expected = mx.image.imread(str(GOLDEN / "image" / "colours.jpg")).asnumpy()
    for given in (data, bytearray(data), np.frombuffer(data, np.uint8),
                  mx.nd.array(np.frombuffer(data, np.uint8), dtype="uint8")):  # fmt: skip
        image = mx.image.imdecode(given)
        assert image.dtype == np.uint8 and (image.asnumpy() == expected).all()
    turned = mx.image.imdecode(data, to_rgb=False)
    assert (turned.asnumpy() == expected[..., ::-1]).all()
    assert mx.image.imdecode(data, flag=0).shape == (37, 53, 1)
    with pytest.raises(ValueError, match="bytes, bytearray or numpy.ndarray"):
        mx.image.imdecode("text")


@pytest.mark.parametrize("name", ["imread", "imdecode", "imresize", "fixed_crop", "ResizeAug"])
def test_names_of_the_module(mx, name):
    assert getattr(mx.image, name) is getattr(mx.img, name) is getattr(mx.image.image, name)


@torch_only
def test_into_an_array(mx):
    image = pixels(mx)
    out = mx.nd.zeros((5, 6, 3), dtype="uint8")
    assert mx.image.imresize(image, 6, 5, out=out) is out
    assert (out.asnumpy() == mx.image.imresize(image, 6, 5).asnumpy()).all()


@pytest.mark.filterwarnings("ignore:imdecode. the image ends early")
def test_a_jpeg_that_ends_early(mx):
    """Data sets have some; the pixels that are missing differ on the two engines."""
    data = (GOLDEN / "image" / "colours.jpg").read_bytes()
    whole, most = mx.image.imdecode(data).asnumpy(), mx.image.imdecode(data[:-200]).asnumpy()
    assert most.shape == whole.shape
    assert (most[:8] == whole[:8]).all() and (most != whole).any()


@torch_only
def test_a_jpeg_without_its_end(mx):
    data = (GOLDEN / "image" / "colours.jpg").read_bytes()
    with pytest.warns(UserWarning, match="imdecode: the image ends early: a JPEG, decoded as far"):
        found = mx.image.imdecode(data[:-2])
    assert (found.asnumpy() == mx.image.imdecode(data).asnumpy()).all()


@torch_only
def test_what_is_no_image(mx, tmp_path):
    data = (GOLDEN / "image" / "colours.jpg").read_bytes()
    png = mx.recordio.pack_img((0, 1, 1, 0), pixels(mx).asnumpy(), img_fmt=".png")[24:]
    with pytest.raises(FileNotFoundError):
        mx.image.imread(tmp_path / "none.jpg")
    for content, message in (
        (b"junk", "begin with 6a 75 6e 6b are no image of a known format"),
        (png[:-200], "image file is truncated"),
        (data[:20], "cannot be decoded"),
    ):
        (tmp_path / "a.jpg").write_bytes(content)
        with pytest.raises(mx.MXNetError, match=rf"a\.jpg'.* {message}"):
            mx.image.imread(tmp_path / "a.jpg")
        with pytest.raises(mx.MXNetError, match=message):
            mx.image.imdecode(content)


@torch_only
@pytest.mark.parametrize(
    "run, message",
    [
        (lambda mx, x: mx.image.imresize(x, 0, 5), "w is 0"),
        (lambda mx, x: mx.image.imresize(x, 5, 5, 7), "interp is 7\n  expected 0 to 5"),
        (lambda mx, x: mx.image.imresize(x[0], 5, 5), r"is \(27, 3\)\n  expected \(height"),
        (lambda mx, x: mx.image.resize_short(x, 5, 7), "interp is 7\n  expected 0 to 4"),
        (lambda mx, x: mx.image.copyMakeBorder(x, 1, 1, 1, -1), "margins are"),
        (lambda mx, x: mx.image.copyMakeBorder(x, 1, 1, 1, 1, 5), "type is 5"),
        (lambda mx, x: mx.image.imdecode(b"", flag=3), "flag is 3"),
        (lambda mx, x: mx.image.imdecode(mx.nd.ones(3)), "expected uint8"),
        (lambda mx, x: mx.image.imrotate(x, 3), "expected float32"),
        (lambda mx, x: mx.image.imrotate(x.astype("float32"), mx.nd.ones(1)), "array of angles"),
        (lambda mx, x: mx.image.imrotate(x.astype("float32"), 3, True, True), "zoom_out are True"),
        (lambda mx, x: mx.image.random_size_crop(x, (2, 2), 1, (1, 1), a=3), r"\['a'\]"),
        (lambda mx, x: mx.image.CreateAugmenter((3, 4, 5), rand_resize=True), "rand_crop"),
        (lambda mx, x: mx.image.CreateAugmenter((3, 4, 5), mean=5), "mean is 5"),
        (lambda mx, x: mx.image.CreateAugmenter((4, 5)), r"data_shape is \(4, 5\)"),
        (lambda mx, x: mx.image.CreateDetAugmenter((4, 5)), r"data_shape is \(4, 5\)"),
    ],
)
def test_wrong_arguments(mx, run, message):
    with pytest.raises(mx.MXNetError, match=message):
        run(mx, pixels(mx))


@torch_only
@pytest.mark.parametrize(
    "name", ["brightness", "contrast", "saturation", "hue", "colour", "lighting"]
)
def test_colours_of_whole_numbers_are_refused(mx, name):
    """MXNet refuses them too, but for the brightness, where the image becomes black."""
    image = pixels(mx)
    with pytest.raises(TypeError, match="uint8\n  expected float32, which CastAug gives"):
        augmenters(mx)[name](image)
    assert (image.asnumpy() == pixels(mx).asnumpy()).all()


@pytest.mark.engine("torch")
@pytest.mark.parametrize("shape", [(1 << 20, 1, 3), (1, 1 << 20, 3)])
def test_a_shorter_side_has_a_limit(mx, shape):
    """A file of 3128 bytes can have this image; with a shorter side of 256 it has 805 MB."""
    line = mx.nd.zeros(shape, dtype="uint8")
    with pytest.raises(mx.base.MXNetError, match="resize_short: (?s:.*)at most 33554432 pixels"):
        mx.image.resize_short(line, 256)
    with pytest.raises(mx.base.MXNetError, match="_image_resize: (?s:.*)at most 33554432 pixels"):
        mx.nd.image.resize(line, size=256, keep_ratio=True)
    assert mx.image.resize_short(line, 2, 0).size == 12 << 20


@pytest.mark.engine("torch")
def test_a_drawn_crop_has_pixels(mx):
    """A ten-thousandth of 6 x 6 pixels is rounded to none: the middle is taken."""
    image = pixels(mx, size=(6, 6))
    y, place = mx.image.random_size_crop(image, (3, 3), (1e-4, 1e-4), (1, 1))
    assert y.shape == (3, 3, 3) and place == (1, 1, 3, 3)
