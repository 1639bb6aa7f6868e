"""gluoncv.utils: metrics, boxes, schedules, pictures and the rest."""

import importlib
import importlib.util
import json

import numpy as np
import pytest

pytestmark = pytest.mark.filterwarnings("ignore")  # GluonCV's own, of Python and NumPy
needs_coco = pytest.mark.skipif(
    importlib.util.find_spec("pycocotools") is None, reason="pycocotools is not installed"
)


def boxes(draw, *shape, extent=64):
    """Boxes by their corners."""
    low = draw.uniform(0, 0.6 * extent, (*shape, 2))
    size = draw.uniform(0.1 * extent, 0.4 * extent, (*shape, 2))
    return np.concatenate([low, low + size], -1).astype("float32")


def detected(draw, images=4, truths=3, found=8, classes=3):
    """Boxes in images, and what a detector may have found: some of them, shifted, and others."""
    truth = boxes(draw, images, truths)
    kinds = draw.randint(0, classes, (images, truths, 1)).astype("float32")
    near = truth + draw.normal(0, 2, truth.shape).astype("float32")
    predicted = np.concatenate([near, boxes(draw, images, found - truths)], 1)
    others = draw.randint(-1, classes, (images, found - truths, 1)).astype("float32")
    ids = np.concatenate([np.where(draw.rand(*kinds.shape) < 0.8, kinds, 1), others], 1)
    scores = draw.rand(images, found, 1).astype("float32")
    return predicted, ids, scores, truth, kinds


@pytest.mark.parametrize("names", [None, ["a", "b", "c"]])
@pytest.mark.parametrize("metric", ["VOCMApMetric", "VOC07MApMetric"])
def test_mean_average_precision(mx, gluoncv, draw, held, metric, names):
    metric = getattr(gluoncv.utils.metrics, metric)(iou_thresh=0.5, class_names=names)
    hard = (draw.rand(4, 3, 1) < 0.2).astype("float32")
    for batch in range(2):
        given = [mx.nd.array(x) for x in detected(draw)]
        metric.update(*given, mx.nd.array(hard) if batch else None)
    found = metric.get()
    assert found[0] == ([*names, "mAP"] if names else "VOCMeanAP")
    halves = [[x[:2], x[2:]] for x in given]  # as from two devices
    metric.update(*halves)
    held(found[1], metric.get()[1])


def test_segmentation(mx, gluoncv, draw, held):
    metric = gluoncv.utils.metrics.SegmentationMetric(4)
    label = mx.nd.array(draw.randint(-1, 4, (2, 6, 7)))
    scores = mx.nd.array(draw.rand(2, 4, 6, 7))
    metric.update(label, scores)
    one = metric.get()
    metric.update([label, label], [scores, scores[:, ::-1]])
    part = importlib.import_module("gluoncv.utils.metrics.segmentation")
    predicted, true = draw.randint(0, 4, (2, 6, 7))
    held(
        *(one, metric.get(), part.batch_pix_accuracy(scores, label)),
        part.batch_intersection_union(scores, label, 4),
        part.pixelAccuracy(predicted, true),
        part.intersectionAndUnion(predicted, true, 3),
    )


def test_accuracy_of_heatmaps(mx, gluoncv, draw, held):
    metric = gluoncv.utils.metrics.HeatmapAccuracy()
    label = draw.rand(3, 5, 12, 10)
    near = np.where(draw.rand(3, 5, 1, 1) < 0.5, label, draw.rand(3, 5, 12, 10))
    metric.update([mx.nd.array(label)], [mx.nd.array(near)])
    held(metric.get()[1])


def test_accuracy_without_some_labels(mx, gluoncv, draw, held):
    part = importlib.import_module("gluoncv.utils.metrics.accuracy")
    metric = part.Accuracy(ignore_labels=[2])
    label, scores = draw.randint(0, 4, 30), draw.rand(30, 4)
    metric.update([mx.nd.array(label)], [mx.nd.array(scores)])
    held(metric.get()[1])


def test_of_region_networks(mx, gluoncv, draw, held):
    part = importlib.import_module("gluoncv.utils.metrics.rcnn")
    label, weight = draw.randint(0, 2, (2, 20)), draw.randint(0, 2, (2, 20))
    label, weight, scores = [mx.nd.array(x) for x in (label, weight, draw.normal(size=(2, 20)))]
    corners = [mx.nd.array(draw.normal(size=(2, 20, 4))) for _ in range(3)]
    found = []
    for name in ("RPNAccMetric", "MaskAccMetric", "MaskFGAccMetric"):
        metric = getattr(part, name)()
        metric.update([label, weight], [scores])
        found.append(metric.get()[1])
    for name in ("RPNL1LossMetric", "RCNNL1LossMetric"):
        metric = getattr(part, name)()
        metric.update(corners[:2], corners[2:])
        found.append(metric.get()[1])
    metric = part.RCNNAccMetric()
    metric.update([label], [mx.nd.array(draw.rand(2, 20, 2))])
    held(found, metric.get()[1])


def annotations(draw, folder, names, keypoints=0):
    """A folder in COCO's format: two pictures with their boxes, outlines and keypoints."""
    from PIL import Image

    (folder / "annotations").mkdir()
    (folder / "val2017").mkdir()
    images, found = [], []
    for i in (1, 2):
        name = f"{i:012d}.png"
        Image.fromarray(draw.randint(0, 256, (64, 80, 3)).astype("uint8")).save(
            folder / "val2017" / name
        )
        images.append({"id": i, "file_name": name, "height": 64, "width": 80})
        images[-1]["coco_url"] = f"http://images.cocodataset.org/val2017/{name}"
        for box in boxes(draw, 3).round(1).astype(float):
            (x, y), (w, h) = box[:2], box[2:] - box[:2]
            outline = [x, y, x + w, y, x + w, y + h, x, y + h / 2]
            joints = [[int(x + w * a), int(y + h * b), 2] for a, b in draw.rand(keypoints, 2)]
            found.append(
                {
                    "id": len(found) + 1,
                    "image_id": i,
                    "category_id": 1 if keypoints else int(draw.randint(1, len(names) + 1)),
                    "bbox": [x, y, w, h],
                    "area": w * h,
                    "iscrowd": 0,
                    "segmentation": [outline],
                    "num_keypoints": keypoints,
                    "keypoints": sum(joints, []),
                }
            )
    categories = [{"id": i + 1, "name": name} for i, name in enumerate(names)]
    text = {"images": images, "annotations": found, "categories": categories}
    kind = "person_keypoints" if keypoints else "instances"
    (folder / "annotations" / f"{kind}_val2017.json").write_text(json.dumps(text))
    return found


@needs_coco
@pytest.mark.parametrize("shape", [None, (32, 40)])
def test_coco_detection(mx, gluoncv, draw, held, tmp_path, shape):
    classes = gluoncv.data.COCODetection.CLASSES
    found = annotations(draw, tmp_path, classes)
    data = gluoncv.data.COCODetection(tmp_path)
    prefix = str(tmp_path / "found")
    metric = gluoncv.utils.metrics.COCODetectionMetric(data, prefix, data_shape=shape)
    for image in (1, 2):
        here = [a for a in found if a["image_id"] == image]
        corners = np.array([a["bbox"] for a in here])
        corners[:, 2:] += corners[:, :2]
        corners = corners / (2 if shape else 1) + draw.normal(0, 0.5, corners.shape)
        ids = np.array([[data.json_id_to_contiguous[a["category_id"]]] for a in here])
        given = corners, ids, draw.rand(len(here), 1)
        metric.update(*[mx.nd.array(x[None]) for x in given])
    names, values = metric.get()
    held(data._labels, [float(v) for v in values[1:]])
    assert "Average Precision" in values[0]


@needs_coco
def test_coco_instances(mx, gluoncv, draw, held, tmp_path):
    found = annotations(draw, tmp_path, gluoncv.data.COCOInstance.CLASSES)
    data = gluoncv.data.COCOInstance(tmp_path)
    image, label, outlines = data[1]
    part = importlib.import_module("gluoncv.utils.metrics.coco_instance")
    metric = part.COCOInstanceMetric(data, str(tmp_path / "found"))
    mask = gluoncv.data.transforms.mask
    for i in range(2):
        _, label, outlines = data[i]
        masks = np.stack([mask.to_mask(o, (80, 64)) for o in outlines])
        scores = draw.rand(3, 1).astype("float32")
        metric.update(*map(mx.nd.array, (label[:, :4], label[:, 4:], scores, masks)))
    names, values = metric.get()
    assert len(found) == 6
    held(
        image, label, outlines, masks, data.get_im_aspect_ratio(), [float(v) for v in values[1::2]]
    )


@needs_coco
def test_coco_keypoints(mx, gluoncv, draw, held, tmp_path):
    annotations(draw, tmp_path, ["person"], keypoints=17)
    data = gluoncv.data.COCOKeyPoints(tmp_path, check_centers=False)
    metric = gluoncv.utils.metrics.COCOKeyPointsMetric(data, str(tmp_path / "found"))
    pictures = [data[i] for i in range(len(data))]
    for _, label, number in pictures:
        joints = mx.nd.array(label["joints_3d"][None, :, :2, 0] + draw.normal(0, 2, (1, 17, 2)))
        seen, score = mx.nd.array(draw.rand(1, 17, 1)), mx.nd.array(draw.rand(1))
        metric.update(joints, seen, score, mx.nd.array([number]))
    held(*(list(picture) for picture in pictures), list(metric.get()[0].values()))


def test_boxes(gluoncv, draw, held):
    part = gluoncv.utils.bbox
    a, b = boxes(draw, 5), boxes(draw, 4)
    held(
        *(part.bbox_iou(a, b), part.bbox_iou(a, b, offset=1)),
        *(part.bbox_xywh_to_xyxy(a), part.bbox_xyxy_to_xywh(a)),
        *(part.bbox_xywh_to_xyxy(tuple(a[0])), part.bbox_xyxy_to_xywh(list(a[0]))),
        *(part.bbox_clip_xyxy(a, 40, 30), part.bbox_clip_xyxy(tuple(a[0]), 40, 30)),
    )
    with pytest.raises(IndexError):
        part.bbox_iou(a[:, :3], b)


def test_schedules(mx, gluoncv, held):
    utils = gluoncv.utils
    parts = [
        utils.LRScheduler("linear", base_lr=0, target_lr=0.4, niters=10),
        utils.LRScheduler("cosine", base_lr=0.4, target_lr=0.1, nepochs=2, iters_per_epoch=5),
        utils.LRScheduler("poly", base_lr=0.1, niters=10, power=0.9),
        utils.LRScheduler("step", base_lr=0.1, nepochs=2, iters_per_epoch=5, step_epoch=[1]),
        utils.LRScheduler("constant", base_lr=0.05, niters=5),
    ]
    schedule = utils.LRSequential(parts)
    rates = [schedule(i) for i in range(50)]
    weight = mx.gluon.Parameter("weight", shape=(1,))
    weight.initialize()
    trainer = mx.gluon.Trainer([weight], "sgd", {"lr_scheduler": utils.LRSequential(parts)})
    trained = []
    for _ in range(5):
        with mx.autograd.record():
            loss = weight.data() * 1
        loss.backward()
        trainer.step(1)
        trained.append(trainer.learning_rate)
    held(rates, trained)


def test_history(gluoncv, tmp_path):
    import matplotlib

    matplotlib.use("agg")
    history = gluoncv.utils.TrainingHistory(["train", "validation"])
    for i in range(3):
        history.update([i, 2 * i])
    assert history.history == {"train": [0, 1, 2], "validation": [0, 2, 4]}
    history.plot(save_path=str(tmp_path / "history.png"))
    assert (tmp_path / "history.png").stat().st_size > 1000


def test_of_blocks(mx, gluoncv, draw, held):
    net = gluoncv.model_zoo.get_model("cifar_resnet20_v1")
    net.initialize(mx.init.One())
    utils = gluoncv.utils
    seen = []
    utils.recursive_visit(net, lambda block: seen.append(type(block).__name__))
    utils.set_lr_mult(net, ".*_weight", 0.1)
    utils.freeze_bn(net)
    rates = [p.lr_mult for p in net.collect_params().values()]
    net(mx.nd.zeros((1, 3, 32, 32)))
    bias = list(net.collect_params().values())[-1]
    bias.set_data(mx.nd.array([np.nan, np.inf] + [1] * 8))
    importlib.import_module("gluoncv.utils.block").purge_model_nan(net, nan=3)
    held(len(seen), rates, bias.data())
    assert seen.count("BatchNorm") == 21
    with mx.autograd.record():
        x = mx.nd.array(draw.rand(2, 3, 32, 32))
        once = net(x).asnumpy()
    assert (net(x).asnumpy() == once).all()  # by the same statistics


def test_random(mx, gluoncv):
    import random

    drawn = []
    for _ in range(2):
        gluoncv.utils.random.seed(7)
        drawn.append([random.random(), np.random.rand(), mx.nd.random.uniform().asscalar()])
    assert drawn[0] == drawn[1]


@pytest.mark.parametrize("preprocess", [True, False])
def test_export(mx, gluoncv, draw, held, tmp_path, preprocess, monkeypatch):
    # GluonCV takes it out of MXNet; monkeypatch puts it back.
    monkeypatch.setitem(vars(mx.sym.contrib), "box_encode", mx.sym.contrib.box_encode)
    net = gluoncv.model_zoo.get_model("cifar_resnet20_v1")
    net.initialize(mx.init.One())
    path = str(tmp_path / "net")
    shape, layout = ((32, 32, 3), "HWC") if preprocess else ((3, 32, 32), "CHW")
    gluoncv.utils.export_block(path, net, shape, preprocess=preprocess, layout=layout)
    loaded = mx.gluon.SymbolBlock.imports(f"{path}-symbol.json", ["data"], f"{path}-0000.params")
    held(loaded(mx.nd.array(draw.rand(1, *shape) * 255)))


def test_split_over_devices(mx, gluoncv, draw, held):
    devices = [mx.cpu(0), mx.cpu(1)]
    x = mx.nd.array(draw.rand(6, 5))
    part = importlib.import_module("gluoncv.utils.sync_loader_helper")
    held(
        *(part.split_data(x, 2), part.split_data(x[:5], 2, even_split=False)),
        *(part.split_data(x, 2, multiplier=2), part.split_data(x, 5, batch_axis=1)),
        part.split_and_load(x, devices),
    )
    with pytest.raises(ValueError, match="cannot be evenly split"):
        part.split_data(x, 4)


def test_parallel(mx, gluoncv, draw, held):
    parallel = gluoncv.utils.parallel
    devices = [mx.cpu(0), mx.cpu(1)]
    net = mx.gluon.nn.Dense(3, in_units=5)
    net.initialize(ctx=devices)
    net.weight.set_data(mx.nd.array(draw.rand(3, 5)))
    x, label = mx.nd.array(draw.rand(4, 5)), mx.nd.array(draw.rand(4, 3))
    found = []
    for sync in (False, True):
        model = parallel.DataParallelModel(net, devices, sync)
        loss = parallel.DataParallelCriterion(mx.gluon.loss.L2Loss(), devices, sync)
        net.weight.set_data(mx.nd.array(draw.rand(3, 5)))
        with mx.autograd.record():
            losses = loss(model(x), label)
            parallel.parallel_backward(losses, sync)
        found += [losses, net.weight.list_grad()]
    held(found)

    class Step(parallel.Parallelizable):
        def forward_backward(self, x):
            return x * 2

    workers = parallel.Parallel(2, Step())
    for i in range(4):
        workers.put(mx.nd.array([i]))
    assert sorted(workers.get().asscalar() for _ in range(4)) == [0, 2, 4, 6]


def test_files(gluoncv, tmp_path):
    import hashlib
    import zipfile

    part = gluoncv.utils.filesystem
    part.makedirs(tmp_path / "a" / "b")
    part.makedirs(tmp_path / "a" / "b")
    (tmp_path / "a" / "text").write_text("text")
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as packed:
        packed.writestr("inside/text", "other")
    part.unzip(tmp_path / "a.zip", tmp_path / "out")
    assert (tmp_path / "out" / "inside" / "text").read_text() == "other"
    sha1 = hashlib.sha1(b"text").hexdigest()
    assert gluoncv.utils.check_sha1(tmp_path / "a" / "text", sha1)
    assert "text" in str(part.PathTree(tmp_path / "a"))
    with part.temporary_filename(".txt") as name:
        assert name.endswith(".txt")
    gluoncv.utils.check_version("0.10.0")
    with pytest.raises(AssertionError, match="minimum required version"):
        gluoncv.utils.check_version("9.0")


def test_compressed_json(gluoncv, tmp_path):
    part = importlib.import_module("gluoncv.utils.compress_json")
    (tmp_path / "net.json").write_text('{"nodes": []}')
    packed = part.encode_json(tmp_path / "net.json")
    assert part.get_compressed_model("net", {"net": packed}) == '{"nodes": []}'


def drawing():
    import matplotlib

    matplotlib.use("agg")
    from matplotlib import pyplot

    pyplot.close("all")
    return pyplot


def picture(draw):
    return draw.randint(0, 256, (64, 80, 3)).astype("uint8")


def test_pictures_with_boxes(mx, gluoncv, draw, held):
    plot = drawing()
    viz = gluoncv.utils.viz
    image, corners = mx.nd.array(picture(draw)), mx.nd.array(boxes(draw, 4))
    scores, ids = mx.nd.array([0.875, 0.75, 0.25, 0.625]), mx.nd.array([0, 1, 1, -1])
    names = ["one", "two"]
    axes = viz.plot_bbox(image, corners, scores, ids, class_names=names)
    assert len(axes.patches) == 2
    assert [text.get_text() for text in axes.texts] == ["one 0.875", "two 0.750"]
    drawn = viz.cv_plot_bbox(image.astype("uint8"), corners, scores, ids, class_names=names)
    shown = viz.plot_image(image, reverse_rgb=True).images[0].get_array()
    held([patch.get_bbox().bounds for patch in axes.patches], drawn, shown)
    plot.close("all")


def test_pictures_with_keypoints(mx, gluoncv, draw, held):
    plot = drawing()
    viz = gluoncv.utils.viz
    image = mx.nd.array(picture(draw))
    joints, seen = mx.nd.array(draw.uniform(5, 60, (2, 17, 2))), mx.nd.array(draw.rand(2, 17, 1))
    ids, scores = mx.nd.zeros((1, 2, 1)), mx.nd.array([[[0.875], [0.75]]])
    corners = mx.nd.array(boxes(draw, 1, 2))
    colors = {-1: (1.0, 0.5, 0.0)}
    given = joints, seen, ids, corners, scores
    axes = viz.plot_keypoints(image, *given, colors=colors)
    drawn = viz.cv_plot_keypoints(image.astype("uint8"), *given, colors=colors)
    held([line.get_xydata() for line in axes.lines], drawn)
    plot.close("all")


def test_pictures_with_masks(mx, gluoncv, draw, held):
    viz = gluoncv.utils.viz
    masks, corners = mx.nd.array(draw.rand(3, 14, 14)), mx.nd.array(boxes(draw, 3))
    scores = mx.nd.array([0.9, 0.3, 0.8])
    found = []
    for order in (None, "area", "xmin", "ymin", "xmax", "ymax"):
        given = masks, corners.copy(), (80, 64), scores
        found.append(viz.expand_mask(*given, sortby=order))
    image = picture(draw)
    drawn = viz.plot_mask(mx.nd.array(image), found[0][0])
    held(found, drawn, viz.cv_merge_two_images(image, image[::-1].copy(), 0.3, (32, 40)))


@pytest.mark.parametrize("data", ["pascal_voc", "ade20k", "citys", "mhpv1", "coco"])
def test_color_palettes(mx, gluoncv, draw, held, data):
    labels = draw.randint(0, 19, (6, 7))
    found = gluoncv.utils.viz.get_color_pallete(labels, data)
    held(np.array(found), np.array(found.convert("RGB")))


def test_undone_normalization(mx, gluoncv, draw, held):
    undo = gluoncv.utils.viz.DeNormalize([0.5, 0.4, 0.3], [0.2, 0.3, 0.1])
    held(undo(mx.nd.array(draw.rand(3, 4, 5))))
