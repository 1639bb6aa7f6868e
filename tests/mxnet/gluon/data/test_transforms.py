"""Transforms of images. The values of their operators are held to MXNet's by tests/cases.py."""

import pickle

import numpy as np
import pytest

torch_only = pytest.mark.engine("torch")


@pytest.fixture
def t(mx):
    return mx.gluon.data.vision.transforms


@pytest.fixture
def image(mx):
    values = np.random.RandomState(0).randint(0, 256, (6, 8, 3))
    return mx.nd.array(values, dtype="uint8")


def test_to_tensor_and_normalize(mx, t, image):
    y = t.ToTensor()(image)
    expected = image.asnumpy().transpose(2, 0, 1).astype("float32") / 255
    np.testing.assert_allclose(y.asnumpy(), expected, rtol=1e-6)
    z = t.Normalize((0.5, 0.4, 0.3), 0.2)(y)
    mean = np.array([0.5, 0.4, 0.3])[:, None, None]
    np.testing.assert_allclose(z.asnumpy(), (expected - mean) / 0.2, rtol=1e-4, atol=1e-5)
    assert t.Cast("float16")(y).dtype == np.float16


@pytest.mark.parametrize(
    "size, keep, shape",
    [(4, False, (4, 4)), ((5, 3), False, (3, 5)), (3, True, (3, 4)), ((5, 3), True, (3, 5))],
)
def test_resize(mx, t, image, size, keep, shape):
    y = t.Resize(size, keep)(image)
    assert y.shape == (*shape, 3) and y.dtype == np.uint8
    same = mx.image.imresize(image, shape[1], shape[0], 1)
    np.testing.assert_array_equal(y.asnumpy(), same.asnumpy())
    both = t.Resize(size, keep)(mx.nd.stack(image, image))
    np.testing.assert_array_equal(both[1].asnumpy(), y.asnumpy())


def test_parts(mx, t, image):
    x = image.asnumpy()
    np.testing.assert_array_equal(t.CropResize(1, 2, 4, 3)(image).asnumpy(), x[2:5, 1:5])
    assert t.CropResize(1, 2, 4, 3, (5, 7), 2)(image).shape == (7, 5, 3)
    np.testing.assert_array_equal(t.CenterCrop((4, 2))(image).asnumpy(), x[2:4, 2:6])
    assert t.CenterCrop(10)(image).shape == (10, 10, 3)
    for size, shape in (5, (5, 5, 3)), ((4, 7), (7, 4, 3)):
        assert t.RandomResizedCrop(size)(image).shape == shape


@torch_only
def test_a_part_that_is_resized_is_bilinear_if_nothing_is_said(t, image):
    given, default = (t.CropResize(1, 2, 4, 3, (5, 7), i)(image).asnumpy() for i in (1, None))
    np.testing.assert_array_equal(given, default)


def test_rotate(mx, t):
    x = mx.nd.array(np.arange(75).reshape(3, 5, 5))
    y = t.Rotate(90)(x).asnumpy()
    np.testing.assert_allclose(y, np.rot90(x.asnumpy(), 1, (1, 2)), atol=1e-4)
    assert t.Rotate(30, zoom_in=True)(x).asnumpy().min() > 0
    assert t.Rotate(30, zoom_out=True)(x).asnumpy()[0, 0, 0] == 0
    drawn = t.RandomRotation((-90, 90))(mx.nd.stack(x, x)).asnumpy()
    assert drawn.shape == (2, 3, 5, 5) and abs(drawn[0] - drawn[1]).max() > 0.01
    never = t.RandomRotation((-90, 90), rotate_with_proba=0)
    np.testing.assert_array_equal(never(x).asnumpy(), x.asnumpy())


def test_rotations_that_cannot_be(mx, t, image):
    for wrong in (
        lambda: t.Rotate(1, True, True)(mx.nd.ones((3, 2, 2))),
        lambda: t.RandomRotation((1, 2), True, True)(mx.nd.ones((3, 2, 2))),
        lambda: t.RandomRotation((2, 1)),
        lambda: t.RandomRotation((1, 2), rotate_with_proba=1.1),
    ):
        with pytest.raises(ValueError):
            wrong()
    for transform in t.Rotate(1), t.RandomRotation((1, 2)):
        with pytest.raises(TypeError, match="float32"):
            transform(image)


def test_random_apply(mx, t):
    x = mx.nd.ones((1, 1, 1))

    def applied(transform, p, count):
        return [t.RandomApply(transform, p)(x).asnumpy().item() for _ in range(count)]

    assert {*applied(lambda x: x + 1, 1, 9)} == {2}
    assert {*applied(lambda x: x + 1, 0, 9)} == {1}
    found = applied(t.Normalize(3, 1), 0.3, 500)
    assert {*found} == {1, -2} and 100 < found.count(-2) < 200  # 150 ± 10


def test_compose(mx, t, image):
    transform = t.Compose([t.Resize(4), t.ToTensor(), t.Normalize(0.5, 0.5)])
    y = t.Normalize(0.5, 0.5)(t.ToTensor()(t.Resize(4)(image)))
    for size in (6, 8), (5, 7):  # also another size, after the first was traced
        x = mx.nd.array(image.asnumpy()[: size[0], : size[1]], dtype="uint8")
        assert transform(x).shape == (3, 4, 4)
    np.testing.assert_allclose(transform(image).asnumpy(), y.asnumpy(), rtol=1e-5, atol=1e-6)
    mixed = t.Compose([t.Cast(), t.CenterCrop(2), t.ToTensor(), t.Normalize(0, 1)])
    kinds = [type(block).__name__ for block in mixed]
    assert kinds == ["Cast", "CenterCrop", "HybridSequential"]
    assert mixed(image).shape == (3, 2, 2)
    assert t.Compose([])(image) is image
    assert t.Compose([lambda x: x + 1])(mx.nd.ones((1,))).asscalar() == 2


def test_all_in_a_row(mx, t):
    jitters = [t.RandomBrightness(0.1), t.RandomContrast(0.1), t.RandomSaturation(0.1)]
    transform = t.Compose(
        [
            t.Resize(50),
            t.Resize(60, keep_ratio=True),
            t.Resize((80, 70), interpolation=2),
            t.CenterCrop(64),
            t.RandomResizedCrop(56),
            *jitters,
            t.RandomHue(0.1),
            t.RandomColorJitter(0.1, 0.1, 0.1, 0.1),
            t.RandomLighting(0.1),
            t.RandomFlipLeftRight(),
            t.RandomFlipTopBottom(),
            t.Cast("float32"),
            t.ToTensor(),
            t.RandomRotation((10.0, 20.0)),
            t.Normalize((0, 0, 0), (1, 1, 1)),
        ]
    )
    x = mx.nd.array(np.random.RandomState(0).randint(0, 256, (60, 90, 3)), dtype="uint8")
    for _ in range(2):
        y = transform(x)
        assert y.shape == (3, 56, 56) and y.dtype == np.float32
        assert 0 <= y.asnumpy().min() < y.asnumpy().max() <= 1.3


# What is drawn


def drawn(mx, transform, x, count=400):
    mx.random.seed(7)
    return np.stack([transform(x).asnumpy() for _ in range(count)])


@pytest.mark.parametrize("hybridized", [False, True])
@pytest.mark.parametrize("name", ["RandomFlipLeftRight", "RandomFlipTopBottom"])
def test_flips_are_as_often_as_not(mx, t, name, hybridized):
    x = mx.nd.array([[[1], [2]], [[3], [4]]])
    transform = getattr(t, name)()
    transform.hybridize(hybridized)
    firsts = drawn(mx, transform, x)[:, 0, 0, 0].tolist()
    other = {"RandomFlipLeftRight": 2, "RandomFlipTopBottom": 3}[name]
    assert {*firsts} == {1, other} and 140 < firsts.count(other) < 260  # 200 ± 10


def uniform(factors, low, high):
    """Whether they may have been drawn evenly between two numbers."""
    error = (high - low) / np.sqrt(12 * len(factors))
    assert low - 1e-4 <= factors.min() < low + 0.05 * (high - low)
    assert high - 0.05 * (high - low) < factors.max() <= high + 1e-4
    assert abs(factors.mean() - (low + high) / 2) < 5 * error


def test_brightness_and_contrast_are_drawn_evenly(mx, t):
    x = mx.nd.array([[[10, 20, 40], [60, 90, 200]]])
    for amount, low, high in (0.3, 0.7, 1.3), (1.5, 0, 2.5):
        y = drawn(mx, t.RandomBrightness(amount), x)
        uniform(y[:, 0, 0, 2] / 40, low, high)
        np.testing.assert_allclose(
            y / y[:, :, :1, :1], np.broadcast_to(x.asnumpy() / 10, y.shape), 1e-3
        )
        y = drawn(mx, t.RandomContrast(amount), x)
        uniform((y[:, 0, 1, 2] - y[:, 0, 0, 2]) / 160, low, high)
    y = drawn(mx, t.RandomColorJitter(brightness=0.3), x)
    uniform(y[:, 0, 0, 2] / 40, 0.7, 1.3)


@torch_only  # MXNet takes the brightness of a pixel from its blue alone
def test_saturation_is_drawn_evenly(mx, t):
    y = drawn(mx, t.RandomSaturation(0.3), mx.nd.array([[[10, 20, 40]]]))
    uniform((y[:, 0, 0, 2] - y[:, 0, 0, 0]) / 30, 0.7, 1.3)
    gray = y @ np.array([0.299, 0.587, 0.114])
    np.testing.assert_allclose(gray, gray[0, 0, 0], rtol=1e-5)


def test_hue_is_turned_evenly(mx, t):
    y = drawn(mx, t.RandomHue(0.1), mx.nd.array([[[40, 20, 0]]]))  # of 30 degrees
    assert np.allclose(y.max((1, 2, 3)), 40, atol=1e-3) and np.allclose(
        y.min((1, 2, 3)), 0, atol=1e-3
    )
    red, green, blue = y[:, 0, 0].T
    degrees = np.where(red > 39.99, 60 * (green - blue) / 40, 120 - 60 * red / 40)
    uniform((degrees - 30) / 360, -0.1, 0.1)


def test_lighting_is_drawn_normally(mx, t):
    y = drawn(mx, t.RandomLighting(0.1), mx.nd.zeros((1, 1, 3)))[:, 0, 0]
    parts = np.array(
        [[55.46 * -0.5675, 4.794 * 0.7192, 1.148 * 0.4009],
         [55.46 * -0.5808, 4.794 * -0.0045, 1.148 * -0.8140],
         [55.46 * -0.5836, 4.794 * -0.6948, 1.148 * 0.4203]]
    )  # fmt: skip
    alphas = np.linalg.solve(parts, y.T)
    assert (abs(alphas.mean(1)) < 0.025).all()  # 0 ± 0.005
    assert (abs(alphas.std(1) - 0.1) < 0.018).all()


@torch_only
def test_changes_of_colour_come_in_any_order(mx, t):
    """Brightness limits bytes to 255, so that contrast before it gives other values."""
    x = mx.nd.array([[[10, 10, 10], [200, 200, 200]]], dtype="uint8")
    mx.random.seed(7)
    jitter = t.RandomColorJitter(brightness=0.9, contrast=0.9)
    assert len({jitter(x).asnumpy().tobytes() for _ in range(50)}) > 25


# In graphs and workers


@torch_only
def test_a_graph_of_transforms_draws_anew(mx, t, image):
    net = mx.gluon.nn.HybridSequential()
    net.add(
        t.Cast(), t.RandomBrightness(0.5), t.RandomFlipLeftRight(), t.RandomColorJitter(0.1, 0.1)
    )
    for options in {}, {"static_alloc": True, "static_shape": True}:
        net.hybridize(**options)
        assert len({net(image).asnumpy().tobytes() for _ in range(6)}) == 6


@torch_only
def test_transforms_have_gradients(mx, t):
    x = mx.nd.random.uniform(shape=(4, 4, 3))
    x.attach_grad()
    with mx.autograd.record():
        y = t.Compose([t.CropResize(1, 0, 3, 4), t.ToTensor(), t.Normalize(0.5, 0.1)])(x)
    y.backward()
    expected = np.zeros((4, 4, 3), "float32")
    expected[:, 1:] = 1 / 25.5
    np.testing.assert_allclose(x.grad.asnumpy(), expected, rtol=1e-5)


@torch_only
def test_transforms_can_be_sent_to_a_process(mx, t, image):
    transform = t.Compose([t.Resize(4), t.CenterCrop(3), t.ToTensor(), t.Normalize(0.5, 0.1)])
    y = transform(image)
    again = pickle.loads(pickle.dumps(transform))
    np.testing.assert_array_equal(again(image).asnumpy(), y.asnumpy())


@torch_only
@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded")
@pytest.mark.parametrize("threads", [False, True])
def test_transforms_in_workers(mx, t, threads):
    images = np.random.RandomState(0).randint(0, 256, (16, 9, 7, 3)).astype("uint8")
    transform = t.Compose([t.Resize(4), t.ToTensor(), t.Normalize(0.5, 0.1)])
    images = mx.gluon.data.ArrayDataset(mx.nd.array(images, dtype="uint8"), np.arange(16))
    changed = images.transform_first(transform)
    loader = mx.gluon.data.DataLoader(changed, 4, num_workers=3, thread_pool=threads)
    found = [x.asnumpy() for x, _ in loader]
    np.testing.assert_array_equal(
        np.concatenate(found), [changed[i][0].asnumpy() for i in range(16)]
    )
