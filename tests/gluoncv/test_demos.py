"""Programs that show what a model finds in a picture: a file is read, predicted and drawn.

Their nets are not trained. What each part gives is compared with MXNet's in the other tests.
"""

import importlib

import numpy as np
import pytest
from PIL import Image
from zoo.steps import drawn

pytestmark = [
    pytest.mark.filterwarnings("ignore"),  # GluonCV's own, of Python and NumPy
    pytest.mark.slow_on("mxnet"),
]


@pytest.fixture
def path(draw, tmp_path):
    """A picture of 96 x 72 pixels."""
    y, x = np.mgrid[:72, :96]
    waves = [120 + 90 * np.sin(x / (5 + c)) * np.cos(y / (7 - c)) for c in range(3)]
    Image.fromarray(np.stack(waves, -1).astype("uint8")).save(tmp_path / "picture.png")
    return str(tmp_path / "picture.png")


@pytest.fixture
def made(mx, gluoncv):
    """A net of the zoo by its name, with parameters that are drawn."""

    def made(name, **options):
        if "mobilenetv2" not in name:
            options["pretrained_base"] = False
        net = gluoncv.model_zoo.get_model(name, **options)
        mx.random.seed(1)
        net.initialize(drawn(mx), force_reinit=True)
        return net

    return made


@pytest.fixture
def plot():
    import matplotlib

    matplotlib.use("agg")
    from matplotlib import pyplot

    yield pyplot
    pyplot.close("all")


@pytest.mark.parametrize(
    "part, name",
    [
        ("ssd", "ssd_300_mobilenet0.25_voc"),
        ("yolo", "yolo3_mobilenet0.25_voc"),
        ("center_net", "center_net_mobilenetv3_small_duc_voc"),
        pytest.param("rcnn", "faster_rcnn_resnet50_v1b_voc", marks=pytest.mark.slow),
    ],
)
def test_boxes(gluoncv, path, made, plot, part, name, preset):
    x, picture = preset(part).load_test(path, short=64)
    net = made(name)
    kinds, scores, boxes = (y[0] for y in net(x))
    best = float(scores.max().asscalar())
    axes = gluoncv.utils.viz.plot_bbox(
        picture, boxes, scores, kinds, thresh=0.999 * best, class_names=net.classes
    )
    found = (scores.asnumpy() > 0.999 * best).sum()
    assert 1 <= len(axes.patches) <= found
    plot.gcf().canvas.draw()


def test_classes(mx, gluoncv, path, made, preset):
    x = preset("imagenet").transform_eval(mx.image.imread(path), 40, 32)
    net = made("mobilenetv2_0.25", classes=5)
    chances = mx.nd.softmax(net(x))[0].asnumpy()
    assert chances.shape == (5,) and abs(chances.sum() - 1) < 1e-5


def test_segments(mx, gluoncv, path, made, preset):
    """By the evaluator that joins predictions at several scales, too."""
    segmentation = preset("segmentation")
    x = segmentation.test_transform(mx.image.imread(path)[:64, :64], mx.cpu())
    net = made("fastscnn_citys", base_size=64, crop_size=64)
    y = net.predict(x)
    kinds = y.argmax(axis=1)[0].asnumpy()
    assert y.shape == (1, 19, 64, 64)
    drawn = gluoncv.utils.viz.get_color_pallete(kinds, "citys")
    assert drawn.size == (64, 64) and drawn.mode == "P"
    scales = gluoncv.model_zoo.segbase.MultiEvalModel(net, 19, [mx.cpu()], scales=[0.75, 1.0])
    joined = scales.parallel_forward([x[0]])
    assert joined[0][0].shape == y.shape[1:] and np.isfinite(joined[0][0].asnumpy()).all()


def test_people(mx, gluoncv, path, made, plot):
    """A detector's boxes, and the joints in each."""
    pose = importlib.import_module("gluoncv.data.transforms.pose")
    picture = mx.image.imread(path)
    kinds, scores = mx.nd.zeros((1, 2, 1)), mx.nd.array([[[0.9], [0.8]]])
    boxes = mx.nd.array([[[5, 6, 50, 60], [30, 10, 90, 70]]])
    x, places = pose.detector_to_simple_pose(picture, kinds, scores, boxes, output_shape=(64, 64))
    heat = made("simple_pose_resnet18_v1b")(x)
    joints, sure = pose.heatmap_to_coord(heat, places)
    assert joints.shape == (2, 17, 2) and sure.shape == (2, 17, 1)
    axes = gluoncv.utils.viz.plot_keypoints(
        picture,
        joints,
        sure,
        kinds,
        boxes,
        scores,
        keypoint_thresh=float(sure.min().asscalar()) / 2,
    )
    assert axes.patches
