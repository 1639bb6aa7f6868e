"""gluoncv.nn: boxes, coders, matchers, samplers, feature extractors and layers.

The target generators of the models, which are made of these, are here too.
"""

import numpy as np
import pytest

pytestmark = pytest.mark.filterwarnings("ignore")  # GluonCV's own, of Python and NumPy


def real(draw, *shape):
    return draw.standard_normal(shape).astype("float32")


def labels(draw, below, *shape, least=0):
    return draw.randint(least, below, shape).astype("float32")


def boxes(draw, *shape, extent=64):
    """Boxes by their corners."""
    low = draw.uniform(0, 0.6 * extent, (*shape, 2))
    size = draw.uniform(0.1 * extent, 0.4 * extent, (*shape, 2))
    return np.concatenate([low, low + size], -1).astype("float32")


def overlaps(draw, *shape):
    """As of anchors with boxes: most are small."""
    return (draw.rand(*shape) ** 2).astype("float32")


def without_gradients(run, block, *inputs, **options):
    return run(block, *inputs, gradients=0, **options)


@pytest.mark.parametrize("split", [True, False])
@pytest.mark.parametrize("name", ["BBoxCornerToCenter", "BBoxCenterToCorner"])
def test_between_corners_and_centers(gluoncv, run, draw, held, name, split):
    held(run(getattr(gluoncv.nn.bbox, name)(split=split), boxes(draw, 2, 5)))


@pytest.mark.parametrize("split", [True, False])
def test_from_corners_to_centers_in_numpy(gluoncv, draw, held, split):
    held(gluoncv.nn.bbox.NumPyBBoxCornerToCenter(split=split)(boxes(draw, 2, 5)))


@pytest.mark.parametrize("fmt", ["corner", "center"])
def test_areas(gluoncv, run, draw, held, fmt):
    held(run(gluoncv.nn.bbox.BBoxArea(fmt=fmt), real(draw, 2, 6, 4)))


def test_intersection_over_union(gluoncv, run, draw, held):
    block = gluoncv.nn.bbox.BBoxBatchIOU(offset=1)
    held(run(block, boxes(draw, 2, 5), boxes(draw, 2, 3), gradients=2))


def test_intersection_over_union_of_centers(mx, gluoncv, draw):
    # It leaves the split axis, and fails on MXNet too where the counts of boxes differ.
    block = gluoncv.nn.bbox.BBoxBatchIOU(fmt="center")
    with pytest.raises(mx.base.MXNetError, match="broadcast"):
        block(mx.nd.array(boxes(draw, 2, 5)), mx.nd.array(boxes(draw, 2, 3)))


def test_clip_to_image(gluoncv, run, draw, held):
    held(run(gluoncv.nn.bbox.BBoxClipToImage(), 50 * real(draw, 2, 6, 4), real(draw, 2, 3, 32, 40)))


def test_split(gluoncv, run, draw, held):
    held(run(gluoncv.nn.bbox.BBoxSplit(axis=-1, squeeze_axis=True), boxes(draw, 2, 5)))


def matched(draw, anchors=12, truths=3):
    """Samples, matches, anchors and boxes of two images."""
    samples = labels(draw, 2, 2, anchors, least=-1)
    matches = labels(draw, truths, 2, anchors)
    return samples, matches, boxes(draw, 1, anchors), boxes(draw, 2, truths)


def test_box_encoder(gluoncv, run, draw, held):
    samples, matches, anchors, truths = matched(draw)
    block = gluoncv.nn.coder.NormalizedBoxCenterEncoder()
    anchors = np.repeat(anchors, 2, 0)
    held(without_gradients(run, block, samples, matches, anchors, truths))


def test_box_encoder_in_numpy(gluoncv, draw, held):
    samples, matches, anchors, truths = matched(draw)
    block = gluoncv.nn.coder.NumPyNormalizedBoxCenterEncoder(means=(0.1, 0.2, 0.3, 0.4))
    held(block(samples[:1], matches[:1].astype(int), anchors, truths[:1]))


def test_box_encoder_per_class(gluoncv, run, draw, held):
    samples, matches, anchors, truths = matched(draw)
    block = gluoncv.nn.coder.NormalizedPerClassBoxCenterEncoder(4, 5, 2)
    block.initialize()
    # One sample per image is taken, so that the order of equal ones does not count.
    samples[:] = -1
    samples[:, 3] = 1
    given = samples, matches, np.repeat(anchors, 2, 0), labels(draw, 4, 2, 3), truths
    held([found[0][:2] for found in without_gradients(run, block, *given)])


@pytest.mark.parametrize("minimal", [True, False])
@pytest.mark.parametrize("clip", [None, 0.3])
@pytest.mark.parametrize("corner", [True, False])
def test_box_decoder(gluoncv, run, draw, held, corner, clip, minimal):
    kind = gluoncv.nn.coder.NormalizedBoxCenterDecoder
    block = kind(convert_anchor=corner, clip=clip, minimal_opset=minimal)
    # Where the operator clips without a limit, a hybridized one is called with the limit -1.
    held(without_gradients(run, block, real(draw, 2, 6, 4), boxes(draw, 1, 6)))


def test_class_encoders(gluoncv, run, draw, held):
    samples, matches = labels(draw, 2, 2, 12, least=-1), labels(draw, 3, 2, 12)
    block = gluoncv.nn.coder.MultiClassEncoder()
    held(
        without_gradients(run, block, samples, matches, labels(draw, 5, 2, 3)),
        gluoncv.nn.coder.SigmoidClassEncoder()(samples),
    )


def test_class_decoders(gluoncv, run, draw, held):
    scores = draw.dirichlet(np.ones(5), (2, 6)).astype("float32")
    held(
        without_gradients(run, gluoncv.nn.coder.MultiClassDecoder(thresh=0.4), scores),
        without_gradients(run, gluoncv.nn.coder.MultiPerClassDecoder(5, thresh=0.2), scores),
    )


def test_center_net_decoder(gluoncv, run, draw, held):
    block = gluoncv.nn.coder.CenterNetDecoder(topk=7)
    maps = draw.rand(2, 3, 8, 10), draw.rand(2, 2, 8, 10), draw.rand(2, 2, 8, 10)
    held(without_gradients(run, block, *[m.astype("float32") for m in maps]))


@pytest.mark.parametrize("share", [True, False])
def test_matchers(gluoncv, run, draw, held, share):
    nn = gluoncv.nn.matcher
    bipartite, maximum = nn.BipartiteMatcher(share_max=share), nn.MaximumMatcher(0.6)
    both = nn.CompositeMatcher([bipartite, maximum])
    ious = overlaps(draw, 2, 12, 3)
    held([without_gradients(run, block, ious) for block in (bipartite, maximum, both)])


def test_naive_and_hard_example_sampler(gluoncv, run, draw, held):
    matches = labels(draw, 3, 2, 12, least=-1)
    hard = gluoncv.nn.sampler.OHEMSampler(1, thresh=0.5)
    given = matches, real(draw, 2, 12, 4), overlaps(draw, 2, 12, 3)
    held(
        without_gradients(run, gluoncv.nn.sampler.NaiveSampler(), matches),
        without_gradients(run, hard, *given, hybrid=False),
    )


@pytest.mark.parametrize("fill", [True, False])
def test_quota_sampler(gluoncv, run, draw, held, fill):
    kind = gluoncv.nn.sampler.QuotaSampler
    block = kind(8, 0.5, 0.4, neg_thresh_low=0.01, pos_ratio=0.25, fill_negative=fill)
    matches = np.where(draw.rand(2, 40) < 0.2, 1, -1).astype("float32")
    held(without_gradients(run, block, matches, overlaps(draw, 2, 40, 3), hybrid=False))


def test_quota_sampler_operator(mx, gluoncv, draw, held):
    matches = np.where(draw.rand(2, 40) < 0.2, 1, -1).astype("float32")
    given = mx.nd.array(matches), mx.nd.array(overlaps(draw, 2, 40, 3))
    given[1].attach_grad()
    with mx.autograd.record():
        found = mx.nd.Custom(
            *given, op_type="quota_sampler", num_sample=8, pos_thresh=0.5, pos_ratio=0.25
        )
    found.backward()
    held(found, given[1].grad)


def test_activations(gluoncv, run, draw, held):
    nn = gluoncv.nn.block
    x = 4 * real(draw, 3, 5)
    held([run(block, x) for block in (nn.ReLU6(), nn.HardSigmoid(), nn.HardSwish())])
    assert (run(nn.Identity(), x, gradients=0)[1][0].asnumpy() == x).all()


def drawn(block, draw, *inputs):
    """The block with parameters that NumPy has drawn."""
    import layers.engine

    mx = layers.engine.mx
    block.initialize()
    block(*map(mx.nd.array, inputs))
    for parameter in block.collect_params().values():
        if parameter.grad_req != "null":
            parameter.set_data(mx.nd.array(0.3 * real(draw, *parameter.shape)))
    return block


def test_batch_norm_without_cudnn(gluoncv, run, draw, held):
    x = real(draw, 4, 3, 5, 5)
    held(run(drawn(gluoncv.nn.block.BatchNormCudnnOff(), draw, x), x))


def test_group_norm(gluoncv, run, draw, held):
    x = real(draw, 2, 6, 4, 5)
    block = gluoncv.nn.GroupNorm(ngroups=3, in_channels=6)
    held(run(drawn(block, draw, x), x, hybrid=False))


def test_consensus(gluoncv, run, draw, held):
    held(run(gluoncv.nn.block.Consensus(4, 3), real(draw, 6, 4)))


@pytest.mark.parametrize("norm", ["sum", "softmax"])
def test_dsnt(gluoncv, run, draw, held, norm):
    held(run(gluoncv.nn.block.DSNT((6, 5), norm), draw.rand(2, 3, 5, 6).astype("float32")))


def test_upsampling_by_shuffled_pixels(gluoncv, run, draw, held):
    x = real(draw, 2, 3, 5, 6)
    held(run(drawn(gluoncv.nn.block.DUC(8), draw, x), x))


@pytest.mark.parametrize("radix", [1, 2])
def test_split_attention(gluoncv, run, draw, held, radix):
    from importlib import import_module

    x = real(draw, 2, 4, 6, 6)
    kind = import_module("gluoncv.nn.splat").SplitAttentionConv
    held(run(drawn(kind(6, 3, padding=(1, 1), in_channels=4, radix=radix), draw, x), x))


def test_predictors(gluoncv, run, draw, held):
    x = real(draw, 2, 3, 6, 5)
    nn = gluoncv.nn.predictor
    convolution = nn.ConvPredictor(4, activation="relu")
    held(run(drawn(convolution, draw, x), x), run(drawn(nn.FCPredictor(4), draw, x), x))


def test_drop_block(mx, gluoncv):
    from importlib import import_module

    part = import_module("gluoncv.nn.dropblock")
    block = part.DropBlock(0.2, 3, 4, 20, 20)
    x = mx.nd.ones((2, 4, 20, 20))
    assert (block(x) == x).asnumpy().all()
    with mx.autograd.train_mode():
        y = block(x).asnumpy()
    # What is left is made greater, so that the mean stays.
    assert 0.05 < (y == 0).mean() < 0.4 and abs(y.mean() - 1) < 1e-5
    scheduler = part.DropBlockScheduler(block, 0, 0.4, 4)
    scheduler(1)
    assert block.drop_prob == 0.2


def test_feature_extractor(gluoncv, run, draw, held):
    net = gluoncv.model_zoo.get_model("cifar_resnet20_v1")
    names = ["stage1_activation1", "stage2_activation0"]
    x = real(draw, 1, 3, 32, 32)
    held(run(drawn(gluoncv.nn.feature.FeatureExtractor(net, names), draw, x), x))


@pytest.mark.parametrize("bn", [True, False])
def test_feature_expander(gluoncv, run, draw, held, bn):
    net = gluoncv.model_zoo.get_model("cifar_resnet20_v1")
    x = real(draw, 1, 3, 32, 32)
    kind = gluoncv.nn.feature.FeatureExpander
    block = kind(net, ["stage3_activation2"], [8, 6], use_bn=bn, min_depth=4, global_pool=True)
    held(run(drawn(block, draw, x), x))


@pytest.mark.parametrize("conv", [True, False])
def test_feature_pyramid(gluoncv, run, draw, held, conv):
    net = gluoncv.model_zoo.get_model("cifar_resnet20_v1")
    names = ["stage1_activation2", "stage2_activation2", "stage3_activation2"]
    x = real(draw, 1, 3, 32, 32)
    kind = gluoncv.nn.feature.FPNFeatureExpander
    block = kind(net, names, [8, 8, 8], use_p6=True, p6_conv=conv, no_bias=False)
    held(run(drawn(block, draw, x), x))


def part(name):
    from importlib import import_module

    return import_module(f"gluoncv.model_zoo.{name}")


@pytest.mark.parametrize("ratio", [3, -1])
def test_ssd_targets(gluoncv, run, draw, held, ratio):
    block = part("ssd.target").SSDTargetGenerator(negative_mining_ratio=ratio)
    corners = boxes(draw, 1, 30)
    anchors = np.concatenate(
        [(corners[..., :2] + corners[..., 2:]) / 2, corners[..., 2:] - corners[..., :2]], -1
    )
    given = anchors, real(draw, 2, 30, 4), boxes(draw, 2, 3), labels(draw, 3, 2, 3, 1)
    held(without_gradients(run, block, *given, hybrid=False))


def test_rpn_targets(mx, gluoncv, draw, held):
    block = part("rcnn.rpn.rpn_target").RPNTargetGenerator(num_sample=16, pos_iou_thresh=0.5)
    given = mx.nd.array(boxes(draw, 3)), mx.nd.array(boxes(draw, 60, extent=80))
    held(block(*given, 64, 64))


def test_rcnn_samples(mx, gluoncv, draw):
    # It draws from MXNet's generator: what holds for each draw is asked.
    sampler = part("rcnn.faster_rcnn.rcnn_target").RCNNTargetSampler(2, 20, 8, 0.5, 0.25, 3)
    truths, rois = boxes(draw, 2, 3), boxes(draw, 2, 20)
    scores = draw.rand(2, 20, 1).astype("float32")
    found = [x.asnumpy() for x in sampler(*map(mx.nd.array, (rois, scores, truths)))]
    iou = gluoncv.utils.bbox_iou
    for chosen, samples, matches, given, truth in zip(*found, rois, truths):
        given = np.concatenate([given, truth])
        assert all((given == box).all(1).any() for box in chosen)
        overlap = iou(chosen, truth)
        assert (overlap.argmax(1) == matches).all()
        assert ((overlap.max(1) >= 0.5) == (samples == 1)).all()
        assert (np.diff(np.prod(chosen[:, 2:] - chosen[:, :2], 1)) >= 0).all()


def test_rcnn_targets(gluoncv, run, draw, held):
    generator = part("rcnn.faster_rcnn.rcnn_target").RCNNTargetGenerator(4, 4, 2)
    generator.initialize()
    matches, samples = labels(draw, 3, 2, 8), np.full((2, 8), -1, "float32")
    samples[:, :4] = 1  # as many as are taken
    given = boxes(draw, 2, 8), samples, matches, labels(draw, 3, 2, 3, 1), boxes(draw, 2, 3)
    held(without_gradients(run, generator, *given))


def test_yolo3_targets(mx, gluoncv, draw, held):
    module = part("yolo.yolo_target")
    maps = [mx.nd.zeros((2, 1, n, n)) for n in (2, 4)]
    anchors = [mx.nd.array(draw.uniform(10, 40, (1, 1, 2, 2))) for _ in maps]
    offsets = [mx.nd.zeros((1, n * n, 1, 2)) for n in (2, 4)]
    truths, kinds = mx.nd.array(boxes(draw, 2, 3)), mx.nd.array(labels(draw, 3, 2, 3, 1))
    prefetch = module.YOLOV3PrefetchTargetGenerator(3)
    image = mx.nd.zeros((2, 3, 64, 64))
    targets = prefetch(image, maps, anchors, offsets, truths, kinds)
    merger = module.YOLOV3TargetMerger(3, 0.4)
    predicted = mx.nd.array(boxes(draw, 2, targets[0].shape[1]))
    merged = merger(predicted, truths, *targets)
    merger.hybridize()
    held(targets, merged, merger(predicted, truths, *targets))


def test_center_net_targets(gluoncv, draw, held):
    block = part("center_net.target_generator").CenterNetTargetGenerator(3, 16, 16)
    held(block(boxes(draw, 4, extent=16), labels(draw, 3, 4, 1)))


def test_pose_targets(gluoncv, draw, held):
    kind = part("simple_pose.pose_target").SimplePoseGaussianTargetGenerator
    joints = np.ones((17, 3, 2), "float32")
    joints[:, :, 0] = draw.uniform(-10, 70, (17, 3))
    joints[:, :, 1] = labels(draw, 2, 17, 1)
    held(kind(17, (48, 64), (12, 16), 2)(joints))
