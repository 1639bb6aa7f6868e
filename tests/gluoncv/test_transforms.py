"""gluoncv.data.transforms: pictures, boxes, masks, poses, videos and the models' own."""

import importlib
import random

import numpy as np
import pytest
from PIL import Image
from repeated import first_alone

pytestmark = pytest.mark.filterwarnings("ignore")  # GluonCV's own, of Python and NumPy


def picture(draw, height=48, width=64):
    """A smooth one with some noise: resizing it is no lottery."""
    y, x = np.mgrid[:height, :width]
    waves = [120 + 90 * np.sin(x / (5 + c)) * np.cos(y / (7 - c)) for c in range(3)]
    noise = draw.randint(0, 30, (height, width, 3))
    return (np.stack(waves, -1) + noise).clip(0, 255).astype("uint8")


def array(mx, value):
    return mx.nd.array(value, dtype=value.dtype)


def boxes(draw, n=4, width=64, height=48):
    """Rows of a box by its corners, its class, and whether it is difficult."""
    low = draw.uniform(0, 0.5, (n, 2)) * [width, height]
    size = draw.uniform(0.2, 0.45, (n, 2)) * [width, height]
    kinds = draw.randint(0, 3, (n, 1)), np.zeros((n, 1))
    return np.concatenate([low, low + size, *kinds], -1)


def part(name):
    return importlib.import_module(f"gluoncv.data.transforms.{name}")


# Pictures


@pytest.mark.parametrize("interp", [0, 1, 2, 3, 4, 9, 10])
def test_resize(mx, gluoncv, draw, held, interp):
    image = part("image")
    src = array(mx, picture(draw))
    random.seed(interp)
    smaller = image.imresize(src, 40, 30, interp)
    held(smaller, image.imresize(src, 80, 90, interp))
    assert smaller.dtype == np.uint8


def test_resize_by_a_side(mx, gluoncv, draw, held):
    image = part("image")
    src = array(mx, picture(draw))
    held(
        *(image.resize_long(src, 40), image.resize_long(src.transpose((1, 0, 2)), 80)),
        *(image.resize_short_within(src, 30, 100), image.resize_short_within(src, 60, 70)),
        image.resize_short_within(src, 30, 100, mult_base=8),
        *(image.resize_contain(src, (32, 40)), image.resize_contain(src, (90, 70), [9, 9, 9])),
    )


@pytest.mark.parametrize("seed", range(4))
def test_random_changes_of_pictures(mx, gluoncv, draw, held, seed):
    image = part("image")
    random.seed(seed)
    np.random.seed(seed)
    src = array(mx, picture(draw))
    held(
        *(image.random_expand(src, fill=3), image.random_expand(src, 2, [1, 2, 3], False)),
        *(image.random_flip(src, 0.5, 0.5), image.random_flip(src, 0.5, 0.5, copy=True)),
        image.random_pca_lighting(src.astype("float32"), 0.1),
        part("experimental.image").random_color_distort(src),
        image.ten_crop(src, (20, 30)),
    )


def test_color_distortion_in_numpy(gluoncv, draw, held):
    image = (picture(draw) / 255).astype("float32")
    rng = np.random.RandomState(3)
    held(part("experimental.image").np_random_color_distort(image, data_rng=rng))


@pytest.mark.parametrize("seed", range(3))
def test_random_blocks(mx, gluoncv, draw, held, seed):
    block = part("block")
    random.seed(seed)
    src = array(mx, picture(draw))
    held(
        *(block.RandomCrop((20, 30))(src), block.RandomCrop(32, pad=4)(src)),
        block.RandomErasing(probability=1.0)(src.astype("float32")),
    )
    with pytest.raises(TypeError):
        block.RandomErasing(probability=1)(src)


# Boxes and masks


def test_boxes(gluoncv, draw, held):
    bbox = part("bbox")
    rows = boxes(draw)
    matrix = bbox.get_affine_transform(np.float32([32, 24]), 64.0, 10, [40, 30])
    held(
        *(bbox.crop(rows, (10, 8, 40, 30)), bbox.crop(rows, (10, 8, 40, 30), False)),
        *(bbox.crop(rows), bbox.crop(rows, (None, None, None, None))),
        *(bbox.flip(rows, (64, 48), True), bbox.flip(rows, (64, 48), False, True)),
        *(bbox.resize(rows, (64, 48), (30, 40)), bbox.translate(rows, 3, -2)),
        *(matrix, bbox.affine_transform(rows[0, :2], matrix)),
        bbox.get_affine_transform(np.float32([32, 24]), 64.0, 10, [40, 30], inv=1),
    )


@pytest.mark.parametrize("seed", range(4))
def test_random_crop_with_constraints(gluoncv, draw, held, seed):
    random.seed(seed)
    np.random.seed(seed)
    crop = part("experimental.bbox").random_crop_with_constraints
    held(crop(boxes(draw), (64, 48)), crop(np.zeros((0, 6)), (64, 48)))


def test_masks(gluoncv, draw, held):
    mask = part("mask")
    outlines = [draw.uniform(0, 40, (5, 2)) for _ in range(2)]
    held(
        mask.flip(outlines, (64, 48), True, True),
        mask.resize(outlines, (64, 48), (32, 40)),
        mask.fill(draw.rand(3, 14, 14), boxes(draw, 3)[:, :4], (64, 48)),
    )


def test_slow_filling_of_masks_fails_on_mxnet_too(gluoncv, draw):
    # SciPy 1.14 has removed interp2d.
    with pytest.raises((AttributeError, NotImplementedError), match="interp2d"):
        part("mask").fill(draw.rand(3, 14, 14), boxes(draw, 3)[:, :4], (64, 48), fast_fill=False)


# Poses


def joints(draw, n=17):
    """Places of joints in x, y and z, and whether they are seen."""
    found = np.ones((n, 3, 2), "float32")
    found[:, :2, 0] = draw.uniform(5, 45, (n, 2))
    found[:, 2, 0] = 0
    found[:, :, 1] = draw.randint(0, 2, (n, 1))
    return found


PAIRS = [[1, 2], [3, 4], [5, 6], [7, 8], [9, 10], [11, 12], [13, 14], [15, 16]]


def test_poses(mx, gluoncv, draw, held):
    pose = part("pose")
    heat = draw.rand(2, 17, 16, 12)
    center, scale = np.float32([30, 25]), np.float32([40, 50])
    image = picture(draw)
    matrix = pose.get_affine_transform(center, scale, 20, (12, 16))
    held(
        *(pose.flip_heatmap(heat.copy(), PAIRS), pose.flip_heatmap(heat.copy(), PAIRS, True)),
        *(pose.flip_joints_3d(joints(draw), 64, PAIRS), matrix),
        pose.affine_transform(np.float32([4, 5]), matrix),
        pose.transform_predictions(draw.rand(3, 2) * 10, center, scale, (12, 16)),
        pose.transform_preds(mx.nd.array(draw.rand(3, 2) * 10), center, scale, (12, 16)),
        *(pose.crop(image, center, scale, (20, 30), 15), pose.cv_rotate(image, 20, 64, 48)),
        pose.upscale_bbox_fn([5, 6, 40, 30], image),
    )


def test_poses_of_heatmaps(mx, gluoncv, draw, held):
    pose = part("pose")
    heat = mx.nd.array(draw.rand(2, 5, 16, 12) - 0.1)
    corners = boxes(draw, 2)[:, :4]
    held(
        pose.get_max_pred(heat),
        pose.get_final_preds(heat, np.float32([[30, 25], [20, 20]]), np.float32([[40, 50]] * 2)),
        pose.heatmap_to_coord(heat, corners),
        pose.heatmap_to_coord_alpha_pose(heat, corners),
    )


@pytest.mark.parametrize("name", ["detector_to_simple_pose", "detector_to_alpha_pose"])
def test_poses_of_detections(mx, gluoncv, draw, held, name):
    image = mx.nd.array(picture(draw)) if name.endswith("simple_pose") else picture(draw)
    ids, scores = mx.nd.array([[[0], [0], [1]]]), mx.nd.array([[[0.9], [0.3], [0.8]]])
    corners = mx.nd.array(boxes(draw, 3)[None, :, :4])
    found = getattr(part("pose"), name)(image, ids, scores, corners, output_shape=(32, 24))
    none = getattr(part("pose"), name)(image, ids, scores * 0, corners)
    held(found)
    assert none[0] is None


@pytest.mark.parametrize("seed", range(3))
def test_random_changes_of_poses(gluoncv, draw, held, seed):
    pose = part("pose")
    random.seed(seed)
    np.random.seed(seed)
    low, high = np.array([5, 6]), np.array([40, 30])
    held(
        pose.refine_bound(low.copy(), low.copy() + 1),
        pose.random_crop_bbox(low.copy(), high.copy()),
        pose.random_sample_bbox(low.copy(), high.copy(), 35, 24, 64, 48),
        pose.count_visible(low, high, joints(draw)),
        pose.drawGaussian(np.zeros((16, 12), "float32"), np.array([5, 4]), 1),
        pose.transformBox((10, 12), low, high, 32, 24, 16, 12),
    )


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("model", ["simple_pose.SimplePose", "alpha_pose.AlphaPose"])
def test_transforms_of_pose_models(mx, gluoncv, draw, held, model, seed):
    random.seed(seed)
    np.random.seed(seed)
    module, kind = model.split(".")
    preset = part(f"presets.{module}")
    train = getattr(preset, f"{kind}DefaultTrainTransform")(17, PAIRS, (64, 48), (16, 12))
    label = {"bbox": (4.0, 5.0, 50.0, 44.0), "joints_3d": joints(draw)}
    src = array(mx, picture(draw))
    trained = train(src, label, "0001")
    check = getattr(preset, f"{kind}DefaultValTransform")(17, PAIRS, (64, 48))
    held(trained[:-1], check(src, label, "0001")[:-1])
    assert trained[-1] == "0001"


# Videos


@pytest.mark.parametrize("seed", range(2))
def test_videos(gluoncv, draw, held, seed):
    video = part("video")
    random.seed(seed)
    np.random.seed(seed)
    clips = [picture(draw) for _ in range(2)]
    mean, std = [0.5, 0.4, 0.3], [0.2, 0.2, 0.3]
    ratios = [1.0, 0.875, 0.75]
    tensors = video.VideoToTensor()(clips)
    held(
        *(tensors, video.VideoNormalize(mean, std)(tensors)),
        *(video.VideoRandomHorizontalFlip()(clips), video.VideoCenterCrop((24, 20))(clips)),
        *(video.VideoMultiScaleCrop((24, 20), ratios)(clips), video.ShortSideRescale(30)(clips)),
        video.VideoMultiScaleCrop((24, 20), ratios, fix_crop=False)(clips),
        *(video.RandomResizedCrop((24, 20))(clips), video.VideoTenCrop((24, 20))(clips)),
        video.VideoThreeCrop((48, 30))(clips),
        video.VideoGroupTrainTransform((24, 20), ratios, mean, std)(clips),
        video.VideoGroupTrainTransformV2((24, 20), 30, ratios, mean, std)(clips),
        video.VideoGroupTrainTransformV3((24, 20), 30, 40, mean, std)(clips),
        video.VideoGroupTrainTransformV4((24, 20), mean, std)(clips),
        video.VideoGroupValTransform((24, 20), mean, std)(clips),
        video.VideoGroupValTransformV2((24, 20), 30, mean, std)(clips),
    )


@pytest.mark.parametrize("seed", range(3))
def test_tracking(gluoncv, draw, held, seed):
    track = part("track")
    np.random.seed(seed)
    change = track.SiamRPNaugmentation(shift=4, scale=0.05, blur=0.5, flip=0.5, color=1.0)
    corner = track.Corner(20, 18, 40, 36)
    found = change(picture(draw, 64, 64), corner, 48, gray=bool(seed % 2))
    held(*map(list, found))


# What the models take


PRESETS = ["ssd", "rcnn", "yolo", "center_net"]


@pytest.mark.parametrize("model", PRESETS)
def test_pictures_for_a_detector(mx, gluoncv, draw, held, model, tmp_path):
    preset = part(f"presets.{model}")
    src = picture(draw)
    names = [str(tmp_path / f"{i}.png") for i in range(2)]
    for name in names:
        Image.fromarray(src).save(name)
    one = preset.load_test(names[0], short=32)
    two = preset.load_test(names, short=32, max_size=36)
    held(one, two, preset.transform_test(array(mx, src), 40))


def test_pictures_for_a_classifier_and_a_segmenter(mx, gluoncv, draw, held):
    src = array(mx, picture(draw))
    one = part("presets.imagenet").transform_eval(src, 40, 32)
    two = part("presets.imagenet").transform_eval([src, src], 40, 32)
    held(one, two, part("presets.segmentation").test_transform(src, mx.cpu()))


@pytest.mark.parametrize("seed", range(4))
def test_training_of_ssd(mx, gluoncv, draw, held, seed):
    random.seed(seed)
    np.random.seed(seed)
    preset = part("presets.ssd")
    low = draw.uniform(4, 28, (1, 60, 2))
    anchors = mx.nd.array(np.concatenate([low, draw.uniform(6, 20, (1, 60, 2))], -1))
    src, label = array(mx, picture(draw)), boxes(draw)
    held(
        preset.SSDDefaultTrainTransform(32, 32, anchors)(src, label),
        preset.SSDDefaultTrainTransform(32, 32)(src, label),
        preset.SSDDefaultValTransform(32, 32)(src, label),
    )


@pytest.mark.parametrize("seed", range(4))
def test_training_of_yolo3(mx, gluoncv, draw, held, seed):
    random.seed(seed)
    np.random.seed(seed)
    preset = part("presets.yolo")
    net = gluoncv.model_zoo.yolo3_mobilenet1_0_voc(pretrained_base=False)
    net.initialize()
    src, label = array(mx, picture(draw)), boxes(draw)
    mixed = np.concatenate([label, draw.rand(4, 1)], 1)
    found = preset.YOLO3DefaultTrainTransform(64, 64, net, mixup=True)(src, mixed)
    held(
        *(found, preset.YOLO3DefaultTrainTransform(64, 64)(src, label)),
        preset.YOLO3DefaultValTransform(32, 32)(src, label),
    )


@pytest.mark.parametrize("seed", range(4))
def test_training_of_center_net(mx, gluoncv, draw, held, seed):
    random.seed(seed)
    np.random.seed(seed)
    preset = part("presets.center_net")
    src, label = array(mx, picture(draw)), boxes(draw)
    held(
        preset.CenterNetDefaultTrainTransform(32, 32, 3)(src, label.copy()),
        preset.CenterNetDefaultValTransform(32, 32)(src, label.copy()),
        preset.get_post_transform(64, 48, 32, 32),
    )


@pytest.mark.parametrize("pyramid", first_alone([False, True]))
def test_training_of_faster_rcnn(mx, gluoncv, draw, held, pyramid):
    preset = part("presets.rcnn")
    name = f"faster_rcnn_{'fpn_resnet50_v1b_coco' if pyramid else 'resnet50_v1b_voc'}"
    net = gluoncv.model_zoo.get_model(name, pretrained_base=False)
    net.collect_params(".*anchor.*").initialize()
    src, label = array(mx, picture(draw)), boxes(draw)
    given = {"short": 48, "max_size": 64, "net": net, "ashape": 16, "multi_stage": pyramid}
    transform = preset.FasterRCNNDefaultTrainTransform(**given)
    batch = gluoncv.data.batchify.FasterRCNNTrainBatchify(net)
    found = transform(src, label)
    other = transform(src.transpose((1, 0, 2)), label[:2])
    masks = [mx.nd.array(draw.rand(n, 6, 5 + n)) for n in (4, 2)]
    masked = gluoncv.data.batchify.MaskRCNNTrainBatchify(net)
    held(
        masked([(*found, masks[0]), (*other, masks[1])]),
        *(found, batch([found, other])),
        preset.FasterRCNNDefaultTrainTransform(short=(30, 40), max_size=64)(src, label),
        preset.FasterRCNNDefaultValTransform(48, 64)(src, label),
        preset.MaskRCNNDefaultValTransform(48, 64)(src, label, None),
    )


def test_training_of_mask_rcnn(mx, gluoncv, draw, held):
    pytest.importorskip("pycocotools")
    preset = part("presets.rcnn")
    outlines = [[draw.uniform(0, 40, (5, 2)).astype("float32")] for _ in range(4)]
    transform = preset.MaskRCNNDefaultTrainTransform(short=48, max_size=64)
    held(transform(array(mx, picture(draw)), boxes(draw), outlines))


@pytest.mark.parametrize("count", [1, 4])
def test_efficient_net_crops(gluoncv, draw, held, count):
    crops = importlib.import_module("gluoncv.utils.transforms")
    image = Image.fromarray(picture(draw))
    random.seed(count)
    held(
        np.array(crops.EfficientNetRandomCrop(32)(image)),
        np.array(crops.EfficientNetCenterCrop(32)(image)),
    )
