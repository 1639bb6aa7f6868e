"""Training programs made of GluonCV's parts, a few steps each: their losses are MXNet's to 1e-3.

GluonCV's own scripts are in no package. These programs have what those have: its data sets, from
files in their formats, its transforms, target generators, losses, batches and schedules. Both
engines begin with the same parameters. Dropout is left out, since each engine draws its own.
"""

import json
import random

import numpy as np
import pytest
from PIL import Image
from repeated import first_alone

pytestmark = pytest.mark.filterwarnings("ignore")  # GluonCV's own, of Python and NumPy

MEAN, STD = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)
KINDS = ["cat", "dog", "bird"]


def prepared(mx, net, *inputs):
    """A net whose weights are drawn by NumPy, the others as their initializers have them."""
    net.initialize(mx.init.Zero())
    net(*inputs)  # tells the shapes that are not known yet
    draw = np.random.default_rng(5)
    for parameter in net.collect_params().values():
        if parameter.grad_req != "null" and len(parameter.shape) > 1:
            spread = (2 / np.prod(parameter.shape[1:])) ** 0.5
            parameter.set_data(mx.nd.array(draw.normal(0, spread, parameter.shape)))
    net.apply(without_dropout)
    random.seed(2)
    np.random.seed(2)
    return net


def without_dropout(block):
    if type(block).__name__ == "Dropout":
        block._rate = 0


@pytest.fixture
def learn(mx, golden, request):
    """Train, and hold the mean losses of all steps, or of the first `held`, to MXNet's.

    `losses` gives, for a batch, the heads to go backward from and the losses to be compared.
    """

    def learn(trainer, batches, losses, size, held=None):
        found = []
        for batch in batches:
            batch = [mx.gluon.utils.split_and_load(part, [mx.cpu()])[0] for part in batch]
            with mx.autograd.record():
                heads, told = losses(*batch)
            mx.autograd.backward(heads)
            trainer.step(size)
            found.append([float(value.mean().asscalar()) for value in told])
        assert np.isfinite(found).all()
        golden.check(request.node.name, found[:held], 1e-3)

    return learn


def without_decay_of_norms(net):
    """As the option no-wd of the scripts: only weights of layers get smaller by themselves."""
    for parameter in net.collect_params(".*beta|.*gamma|.*bias").values():
        parameter.wd_mult = 0.0


# Classification


def write_records(mx, draw, path, classes, count=16, size=32):
    """Pictures of one brightness for each class, in a RecordIO file."""
    record = mx.recordio.MXIndexedRecordIO(str(path.with_suffix(".idx")), str(path), "w")
    for i in range(count):
        pixels = (draw.rand(size, size, 3) * 100 + 150 * (i % classes) / classes).astype("uint8")
        picture = path.with_suffix(".png")
        Image.fromarray(pixels).save(picture)
        header = mx.recordio.IRHeader(0, float(i % classes), i, 0)
        record.write_idx(i, mx.recordio.pack(header, picture.read_bytes()))
    record.close()


def smooth(y, classes, share):
    """One-hot labels of which a share is spread over all classes."""
    least = share / classes
    return y.one_hot(classes, on_value=1 - share + least, off_value=least)


def test_classification_of_imagenet(mx, gluoncv, draw, learn, tmp_path):
    """Records, mixup, label smoothing, last-gamma, no-wd, and a warm-up before a cosine."""
    classes, size, epochs = 4, 8, 3
    write_records(mx, draw, tmp_path / "train.rec", classes)
    net = gluoncv.model_zoo.get_model("resnet18_v1", classes=classes, last_gamma=True)
    prepared(mx, net, mx.nd.zeros((1, 3, 32, 32)))
    gammas = [p for name, p in net.collect_params(".*gamma").items()]
    assert sum(not p.data().asnumpy().any() for p in gammas) == 8  # one of each block
    without_decay_of_norms(net)
    net.hybridize(static_alloc=True, static_shape=True)
    schedule = gluoncv.utils.LRSequential(
        [
            gluoncv.utils.LRScheduler("linear", 0, 0.01, nepochs=1, iters_per_epoch=2),
            gluoncv.utils.LRScheduler("cosine", 0.01, 0, nepochs=2, iters_per_epoch=2),
        ]
    )
    options = {"wd": 0.1, "momentum": 0.9, "lr_scheduler": schedule}
    trainer = mx.gluon.Trainer(net.collect_params(), "nag", options)
    loss = mx.gluon.loss.SoftmaxCrossEntropyLoss(sparse_label=False)
    scale = {f"{of}_{c}": 255 * x[i] for of, x in (("mean", MEAN), ("std", STD))
             for i, c in enumerate("rgb")}  # fmt: skip
    pictures = mx.io.ImageRecordIter(
        path_imgrec=str(tmp_path / "train.rec"), data_shape=(3, 32, 32), batch_size=size,
        preprocess_threads=1, **scale,
    )  # fmt: skip

    def batches():
        for _ in range(epochs):
            pictures.reset()
            yield from ((batch.data[0], batch.label[0]) for batch in pictures)

    def mixed(x, y):
        share = np.random.beta(0.2, 0.2)
        y = smooth(y, classes, 0.1)
        x, y = (share * each + (1 - share) * each[::-1] for each in (x, y))
        value = loss(net(x), y)
        return value, [value, mx.nd.array([trainer.learning_rate])]

    learn(trainer, batches(), mixed, size)


def test_classification_of_cifar(mx, gluoncv, draw, learn):
    """Crops of padded pictures by GluonCV, and its steps of the rate."""
    transforms, size = mx.gluon.data.vision.transforms, 4
    y = np.arange(12, dtype="int32") % 3
    x = (draw.rand(12, 32, 32, 3) * 100 + 70 * y[:, None, None, None]).astype("uint8")
    crop = gluoncv.data.transforms.RandomCrop(32, pad=4)
    change = transforms.Compose([crop, transforms.ToTensor(), transforms.Normalize(MEAN, STD)])
    pictures = mx.gluon.data.ArrayDataset(mx.nd.array(x, dtype="uint8"), y)
    batches = mx.gluon.data.DataLoader(pictures.transform_first(change), size, shuffle=True)
    net = gluoncv.model_zoo.get_model("cifar_resnet20_v1", classes=3)
    prepared(mx, net, mx.nd.zeros((1, 3, 32, 32)))
    net.hybridize()
    trainer = mx.gluon.Trainer(
        net.collect_params(), "nag", {"learning_rate": 0.01, "wd": 1e-4, "momentum": 0.9}
    )
    loss = mx.gluon.loss.SoftmaxCrossEntropyLoss()

    def losses(x, y):
        value = loss(net(x), y)
        return value, [value]

    learn(trainer, batches, losses, size)


# Detection


def write_voc(draw, root, count=6):
    """Noisy pictures with a bright box each, in Pascal VOC's format."""
    for name in ("Annotations", "JPEGImages", "ImageSets/Main"):
        (root / name).mkdir(parents=True)
    for i in range(count):
        x, y = draw.randint(5, 40, 2)
        pixels = (draw.rand(96, 128, 3) * 100).astype("uint8")
        pixels[y : y + 48, x : x + 56] = 230
        Image.fromarray(pixels).save(root / "JPEGImages" / f"{i}.jpg", "png")
        (root / "Annotations" / f"{i}.xml").write_text(
            f"<annotation><size><width>128</width><height>96</height></size>"
            f"<object><name>{KINDS[i % 3]}</name><difficult>0</difficult><bndbox>"
            f"<xmin>{x}</xmin><ymin>{y}</ymin><xmax>{x + 56}</xmax><ymax>{y + 48}</ymax>"
            "</bndbox></object></annotation>"
        )
    (root / "ImageSets/Main/train.txt").write_text("".join(f"{i}\n" for i in range(count)))


@pytest.fixture
def boxes(gluoncv, draw, tmp_path):
    """A data set of `KINDS`."""
    write_voc(draw, tmp_path / "VOC")

    class Own(gluoncv.data.VOCDetection):
        CLASSES = tuple(KINDS)

    return Own(tmp_path, splits=(("VOC", "train"),))


def detector(gluoncv, family, frozen):
    """The smallest one of `KINDS`."""
    return gluoncv.model_zoo.get_model(
        f"{family}_mobilenet0.25_custom",
        classes=KINDS,
        pretrained_base=False,
        norm_kwargs={"use_global_stats": frozen},
    )


def loader(mx, data, size, batchify):
    return mx.gluon.data.DataLoader(data, size, shuffle=True, batchify_fn=batchify)


# MXNet's BatchNorm rounds its variances by up to 4e-4, and norms of two pictures, of which the last
# maps are single pixels, enlarge that: a rate of 1e-6 makes second losses that are 1 % apart. With
# those only the first loss is held to MXNet's; with norms that are frozen those of all steps are.
frozen = pytest.mark.parametrize("frozen", [False, True], ids=["norms", "frozen"])


@frozen
def test_ssd(mx, gluoncv, boxes, learn, frozen, preset):
    size, side, batchify = 2, 128, gluoncv.data.batchify
    zeros, net = mx.nd.zeros((1, 3, side, side)), detector(gluoncv, "ssd_300", frozen)
    prepared(mx, net, zeros)
    with mx.autograd.train_mode():
        anchors = net(zeros)[2]
    change = preset("ssd").SSDDefaultTrainTransform(side, side, anchors)
    stacked = batchify.Tuple(*[batchify.Stack() for _ in range(3)])
    net.hybridize(static_alloc=True, static_shape=True)
    options = {"learning_rate": 1e-3, "wd": 5e-4, "momentum": 0.9}
    trainer = mx.gluon.Trainer(net.collect_params(), "sgd", options)
    loss = gluoncv.loss.SSDMultiBoxLoss()

    def losses(x, classes, places):
        scores, found, _ = net(x)
        total, *parts = loss([scores], [found], [classes], [places])
        return total, [part[0] for part in parts]

    batches = loader(mx, boxes.transform(change), size, stacked)
    learn(trainer, batches, losses, 1, held=None if frozen else 1)


@pytest.mark.slow_on("mxnet")
@frozen
def test_yolo3(mx, gluoncv, boxes, learn, frozen, preset):
    """With mixup, label smoothing, and a warm-up before steps of the rate."""
    size, side, batchify = 2, 96, gluoncv.data.batchify
    net, schedule = detector(gluoncv, "yolo3", frozen), gluoncv.utils.LRScheduler
    prepared(mx, net, mx.nd.zeros((1, 3, side, side)))
    without_decay_of_norms(net)
    net._target_generator._label_smooth = True
    mixed = gluoncv.data.MixupDetection(boxes, np.random.beta, 1.5, 1.5)
    change = preset("yolo").YOLO3DefaultTrainTransform(side, side, net, mixup=True)
    stacks = [batchify.Stack() for _ in range(6)]
    padded = batchify.Tuple(*stacks, batchify.Pad(axis=0, pad_val=-1))
    net.hybridize()
    rates = gluoncv.utils.LRSequential(
        [
            schedule("linear", 0, 1e-5, nepochs=1, iters_per_epoch=1),
            schedule("step", 1e-5, nepochs=2, iters_per_epoch=1, step_epoch=[1], step_factor=0.1),
        ]
    )
    options = {"wd": 5e-4, "momentum": 0.9, "lr_scheduler": rates}
    trainer = mx.gluon.Trainer(net.collect_params(), "sgd", options, kvstore="local")

    def losses(x, *targets):
        *targets, truths = targets
        found = net(x, truths, *targets)
        return sum(found), found if frozen else [sum(found)]

    batches = loader(mx, mixed.transform(change), size, padded)
    learn(trainer, batches, losses, size, held=None if frozen else 1)


def small_faster_rcnn(mx, gluoncv):
    """As GluonCV makes its Faster R-CNNs, of a ResNet with 18 layers."""
    base = gluoncv.model_zoo.resnet18_v1b(dilated=False, use_global_stats=True)
    features = [base.conv1, base.bn1, base.relu, base.maxpool]
    parts = [*features, base.layer1, base.layer2, base.layer3], [base.layer4]
    rows = [mx.gluon.nn.HybridSequential() for _ in parts]
    for row, blocks in zip(rows, parts):
        row.add(*blocks)
    return gluoncv.model_zoo.FasterRCNN(
        *rows, KINDS, train_patterns=".*dense|.*rpn|.*conv", roi_size=(7, 7), strides=16,
        rpn_channel=32, scales=(1, 2, 4), alloc_size=(16, 16), rpn_train_pre_nms=200,
        rpn_train_post_nms=48, rpn_test_post_nms=16, rpn_min_size=4, num_sample=32,
        per_device_batch_size=2, max_num_gt=4,
    )  # fmt: skip


@pytest.mark.slow
def test_faster_rcnn(mx, gluoncv, boxes, golden, request, monkeypatch, preset):
    """Its sampler draws by NumPy: the engines have generators of their own."""
    from gluoncv.model_zoo.rcnn.faster_rcnn.data_parallel import ForwardBackwardTask

    def uniform(low, high, shape):
        return mx.nd.array(np.random.uniform(low, high, shape))

    monkeypatch.setattr(mx.nd.random, "uniform", uniform)
    net, size = small_faster_rcnn(mx, gluoncv), 2
    prepared(mx, net, mx.nd.zeros((1, 3, 96, 128)))
    train = preset("rcnn").FasterRCNNDefaultTrainTransform
    change = train(96, 128, net, ashape=16, num_sample=32)
    batches = loader(
        mx, boxes.transform(change), size, gluoncv.data.batchify.FasterRCNNTrainBatchify(net)
    )
    options = {"learning_rate": 1e-5, "wd": 1e-4, "momentum": 0.9}
    trainer = mx.gluon.Trainer(net.collect_train_params(), "sgd", options)
    of = mx.gluon.loss
    losses = [
        of.SigmoidBinaryCrossEntropyLoss(from_sigmoid=False), of.HuberLoss(rho=1 / 9),
        of.SoftmaxCrossEntropyLoss(), of.HuberLoss(rho=1),
    ]  # fmt: skip
    task = ForwardBackwardTask(net, trainer, *losses, mix_ratio=1.0, amp_enabled=False)
    parallel = gluoncv.utils.parallel.Parallel(0, task)
    found = []
    for batch in batches:
        parts = [part[0] if isinstance(part, (list, tuple)) else part for part in batch]
        parallel.put([part.as_in_context(mx.cpu()) for part in parts])
        found.append([float(value.asscalar()) for value in parallel.get()[:4]])
        trainer.step(size)
    golden.check(request.node.name, found, 1e-3)


# Segmentation


@pytest.fixture
def masks(mx, gluoncv, draw, tmp_path):
    """Pictures of 64 pixels and their masks, in Pascal VOC's format."""
    root = tmp_path / "VOC2012"
    for name in ("JPEGImages", "SegmentationClass", "ImageSets/Segmentation"):
        (root / name).mkdir(parents=True)
    for i in range(4):
        kind = draw.randint(0, 20)
        mask = np.zeros((72, 80), "uint8")
        mask[20:60, 10 + i : 60] = kind
        pixels = (draw.rand(72, 80, 3) * 100 + 7 * mask[..., None]).astype("uint8")
        Image.fromarray(pixels).save(root / "JPEGImages" / f"{i}.jpg", "png")
        Image.fromarray(mask).save(root / "SegmentationClass" / f"{i}.png")
    (root / "ImageSets/Segmentation/trainval.txt").write_text("0\n1\n2\n3\n")
    transforms = mx.gluon.data.vision.transforms
    scale = transforms.Compose([transforms.ToTensor(), transforms.Normalize(MEAN, STD)])
    return gluoncv.data.get_segmentation_dataset(
        "pascal_voc", root=str(tmp_path), split="train", mode="train", transform=scale,
        base_size=72, crop_size=64,
    )  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("name", first_alone(["fcn", "deeplab", "psp"]))
def test_segmentation(mx, gluoncv, masks, learn, name):
    """With the auxiliary loss, heads that learn ten times as fast, and a polynomial rate."""
    size = 2
    net = gluoncv.model_zoo.segbase.get_segmentation_model(
        name, backbone="resnet50", aux=True, crop_size=64, pretrained_base=False
    )
    prepared(mx, net, mx.nd.zeros((size, 3, 64, 64)))
    without_decay_of_norms(net)
    net.hybridize(static_alloc=True)
    loss = gluoncv.loss.MixSoftmaxCrossEntropyLoss(aux=True, aux_weight=0.5)
    rates = gluoncv.utils.LRScheduler("poly", 1e-3, nepochs=1, iters_per_epoch=2, power=0.9)
    options = {"lr_scheduler": rates, "wd": 1e-4, "momentum": 0.9, "multi_precision": True}
    trainer = mx.gluon.Trainer(net.collect_params(), "sgd", options)

    def losses(x, y):
        value = loss(*net(x), y)
        return value, [value]

    learn(trainer, mx.gluon.data.DataLoader(masks, size, shuffle=True), losses, size)


# Pose


@pytest.fixture
def people(gluoncv, draw, tmp_path):
    """Pictures with a box and 17 joints each, in COCO's format."""
    pytest.importorskip("pycocotools")
    for name in ("annotations", "val2017"):
        (tmp_path / name).mkdir()
    images, objects = [], []
    for i in range(1, 5):
        file = f"val2017/{i:012}.png"
        Image.fromarray((draw.rand(96, 80, 3) * 255).astype("uint8")).save(tmp_path / file)
        url = f"http://images.cocodataset.org/{file}"
        images.append({"id": i, "width": 80, "height": 96, "coco_url": url})
        joints = [[int(15 + 45 * a), int(15 + 60 * b), 2] for a, b in draw.rand(17, 2)]
        person = {"id": i, "image_id": i, "category_id": 1, "iscrowd": 0, "area": 3500}
        person |= {"bbox": [10, 10, 55, 70], "num_keypoints": 17, "keypoints": sum(joints, [])}
        objects.append(person)
    kind = {"id": 1, "name": "person"}
    text = {"images": images, "annotations": objects, "categories": [kind]}
    (tmp_path / "annotations/person_keypoints_val2017.json").write_text(json.dumps(text))
    return gluoncv.data.COCOKeyPoints(str(tmp_path))


def test_simple_pose(mx, gluoncv, people, learn, preset):
    size = 2
    net = gluoncv.model_zoo.get_model("simple_pose_resnet18_v1b", pretrained_base=False)
    prepared(mx, net, mx.nd.zeros((1, 3, 96, 64)))
    net.hybridize(static_alloc=True, static_shape=True)
    change = preset("simple_pose").SimplePoseDefaultTrainTransform(
        people.num_joints, people.joint_pairs, (96, 64), (24, 16), scale_factor=0.3,
        rotation_factor=40, random_flip=True,
    )  # fmt: skip
    loss = mx.gluon.loss.L2Loss()
    trainer = mx.gluon.Trainer(net.collect_params(), "adam", {"learning_rate": 1e-3})

    def losses(x, heat, weight, _):
        value = loss(net(x), heat, weight)
        return value, [value]

    batches = mx.gluon.data.DataLoader(people.transform(change), size, shuffle=True)
    learn(trainer, batches, losses, size)
