"""``python -m train.detect``: its scenes, its loss and metric, and a detector from end to end."""

import base64
import csv
import importlib.util
import io
import json
import re
import sys

import numpy as np
import pytest
from PIL import Image

from layers import nets
from layers.engine import autograd, gluon, mx, nd
from train import Refused, detect, export, predict_program, report
from train.data import Reading, load
from train.data.samples import Samples
from train.data.scenes import CLASSES, SIDE, scenes
from train.detecting import Detections, MeanAveragePrecision, MultiBoxLoss
from train.task import Detection

spec = importlib.util.find_spec("gluoncv")
there = bool(spec and spec.origin)
needs_gluoncv = pytest.mark.skipif(not there, reason="GluonCV is not installed here")
pytestmark = [
    pytest.mark.filterwarnings("ignore"),  # GluonCV's own, of Python and NumPy
    pytest.mark.slow_on("mxnet"),
]
SHORT = ["--data", "scenes:24", "--epochs", "2", "--batch-size", "12", "--units", "4"]
BOXES = Reading(boxes=True)


@pytest.fixture(scope="module")
def folder(tmp_path_factory, engine):
    """The folder of a short run."""
    out = tmp_path_factory.mktemp("scenes")
    argv = [*SHORT, "--hybridize", "recorded", "--engine", engine, "--out", str(out)]
    assert detect.main(argv) == 0
    return out


def rows(folder):
    with open(folder / "history.csv", encoding="utf-8") as file:
        return list(csv.DictReader(file))


# Data


def test_scenes_are_the_same_each_time_and_have_their_objects():
    found, again = scenes(40), scenes(40)
    np.testing.assert_array_equal(found.x, again.x)
    np.testing.assert_array_equal(found.y, again.y)
    np.testing.assert_array_equal(found.x[:9], scenes(9).x)
    assert found.x.shape == (40, SIDE, SIDE, 3) and found.held_out.x.shape == (10, SIDE, SIDE, 3)
    labels = np.concatenate([found.y, found.held_out.y])
    kind, box = labels[..., 0], labels[..., 1:]
    assert ((kind == -1) | (kind >= 0) & (kind < len(CLASSES))).all() and (kind[:, 0] >= 0).all()
    box = box[kind >= 0]
    assert (box[:, 2:] - box[:, :2] >= 4 / SIDE).all() and box.min() >= 0 and box.max() <= 1
    assert (found.y[kind[:40] == -1] == -1).all()


def test_boxes_of_scenes_are_where_the_objects_are():
    found = scenes(200)
    single = np.flatnonzero((found.y[:, 0, 0] == CLASSES.index("square")) & (found.y[:, 1, 0] < 0))
    assert single.size
    for i in single:
        left, top, right, bottom = (found.y[i, 0, 1:] * SIDE).round().astype(int)
        x = found.x[i].astype(float)
        inside = x[top:bottom, left:right].reshape(-1, 3)
        assert inside.std(axis=0).max() < 12  # one colour, and noise
        around = x[:, max(left - 3, 0) : max(left - 1, 1)].mean(axis=(0, 1))
        assert np.abs(inside.mean(axis=0) - around).max() > 20


def test_no_digit_is_in_scenes_of_both_parts(monkeypatch):
    from train.data import scenes as module

    parts = []
    monkeypatch.setattr(module, "drawn", lambda images, *_: parts.append(images) or ([], []))
    module.scenes(8)
    learned, held_out = ({image.tobytes() for image in part} for part in parts)
    assert len(learned) > 1000 and len(held_out) > 300 and not learned & held_out


def test_data_of_a_file(tmp_path):
    y = np.full((10, 2, 5), -1.0)
    y[:, 0] = [[i % 3, 0.1, 0.2, 0.5, 0.75] for i in range(10)]
    name = str(tmp_path / "cells.npz")
    np.savez(name, x=np.zeros((10, 8, 9), "uint8"), y=y)
    data = load(name, how=BOXES)
    assert (data.x.shape, data.y.shape, data.held_out_y.shape) == ((8, 72), (8, 2, 5), (2, 2, 5))
    assert data.task == Detection(("0", "1", "2")) and data.task.name == "detection"
    assert sorted([*data.y[:, 0, 0], *data.held_out_y[:, 0, 0]]) == sorted(y[:, 0, 0])


BOX = [0.1, 0.2, 0.5, 0.75]


@pytest.mark.parametrize(
    "y, message",
    [
        ([[0, *BOX]], "boxes is (1, 5) of float64; expected numbers (1, objects, 5)"),
        ([[[-1, *BOX]]], "the greatest class is -1; expected one from 0 to 999"),
        ([[[0.5, *BOX]]], "boxes[0, 0] is (0.5, 0.1, 0.2, 0.5, 0.75); expected class numbers from"),
        ([[[0, 0.5, 0.2, 0.1, 0.75]]], "expected the left, upper, right and lower edge of a box"),
        ([[[0, 0.1, 0.2, 0.5, 1.5]]], "(0, 0.1, 0.2, 0.5, 1.5); expected the left, upper, right"),
        ([[[0, 0.1, 0.2, 0.5, np.nan]]], "(0, 0.1, 0.2, 0.5, nan); expected the left, upper"),
        ([[[-1, *BOX], [0, *BOX]]], "boxes[0, 1] is (0, 0.1, 0.2, 0.5, 0.75); expected no object"),
    ],
    ids=["rows", "no class", "class", "order", "outside", "nan", "behind"],
)
def test_wrong_boxes_are_refused(y, message):
    from train.data.prepare import prepare

    y = np.array(y, "float64")
    samples = Samples(np.zeros((1, 8, 8), "uint8"), y, "x", "boxes")
    with pytest.raises(Refused) as caught:
        prepare(samples, BOXES)
    assert message in str(caught.value)


def test_an_image_without_an_object_is_refused():
    from train.data.boxes import boxes

    y = np.array([[[0, *BOX]], [[-1] * 5]])
    samples = Samples(np.zeros((2, 8, 8), "uint8"), y, "x", "boxes")
    with pytest.raises(Refused, match=r"boxes\[1, 0\] is .*; expected an object in each image"):
        boxes(samples, ("a",))


# Loss, detections and metric

ANCHORS = np.array([[[0.1, 0.1, 0.4, 0.4], [0.5, 0.5, 0.9, 0.9], [0, 0.6, 0.3, 0.9]] * 4], "f")
LABEL = np.array([[[1, 0.12, 0.1, 0.4, 0.44], [-1] * 5], [[0, 0.5, 0.5, 0.9, 0.9], [-1] * 5]], "f")


def perfect():
    """What a net without mistakes gives for the anchors and labels above."""
    k = ANCHORS.shape[1]
    scores = np.zeros((2, k, 3), "float32")
    anchors, label = nd.array(ANCHORS), nd.array(LABEL)
    target = nd.contrib.MultiBoxTarget(anchors, label, nd.zeros((2, 3, k)))
    kinds = target[2].asnumpy().astype(int)
    assert {*kinds.ravel()} == {0, 1, 2}
    np.put_along_axis(scores, kinds[..., None], 20, axis=2)
    return nd.array(scores), target[0], anchors, label


def test_loss_is_none_without_mistakes_and_counts_each():
    scores, offsets, anchors, label = perfect()
    loss = MultiBoxLoss()
    assert loss([scores, offsets, anchors], label).shape == (2,)
    assert loss([scores, offsets, anchors], label).asnumpy().max() < 1e-5
    off = loss([scores, offsets + 2, anchors], label).asnumpy()
    np.testing.assert_allclose(off, [6, 6], rtol=1e-3)  # four numbers, each |2| - 1/2
    shown = loss([scores * 0, offsets, anchors], label).asnumpy()
    assert (shown > 2 * np.log(3) - 1e-4).all() and (shown < 4 * np.log(3) + 1e-4).all()


@pytest.mark.parametrize("options", [None, {}, {"static_alloc": True, "static_shape": True}],
                         ids=["eager", "plain", "recorded"])  # fmt: skip
def test_gradients_of_the_loss(options):
    scores, offsets, anchors, label = perfect()
    scores, offsets, loss = scores * 0, offsets + 2, MultiBoxLoss()
    if options is not None:
        loss.hybridize(**options)
    for _ in range(3):
        scores.attach_grad()
        offsets.attach_grad()
        with autograd.record():
            y = loss([scores, offsets, anchors], label)
        y.backward()
    moved = offsets.grad.asnumpy().reshape(2, -1, 4)
    there = moved.any(axis=2)
    objects = there.sum(axis=1)
    assert (objects > 0).all()
    for image in range(2):
        np.testing.assert_allclose(moved[image][there[image]], 1 / objects[image], rtol=1e-5)
    np.testing.assert_allclose(scores.grad.asnumpy().sum(axis=2), 0, atol=1e-5)
    assert scores.grad.asnumpy()[there].any(axis=1).all()


def test_detections_are_the_objects():
    scores, offsets, anchors, _ = perfect()
    found = Detections()(scores, offsets, anchors).asnumpy()
    for image, label in zip(found, LABEL):
        [row] = image[image[:, 0] >= 0]  # the others are suppressed
        assert row[0] == label[0, 0] and row[1] > 0.99
        np.testing.assert_allclose(row[2:], label[0, 1:], atol=1e-5)


@needs_gluoncv
def test_mean_average_precision():
    height, width = 20, 10  # the boxes are not square
    metric = MeanAveragePrecision(("a", "b"), (height, width))
    label = nd.array([[[0, 0.1, 0.1, 0.5, 0.5], [1, 0.5, 0.5, 0.9, 0.9]]])
    right = [[0, 0.9, 0.1, 0.1, 0.5, 0.5], [1, 0.8, 0.5, 0.5, 0.9, 0.9], [-1] * 6]
    metric.update([label], [nd.array([right])])
    assert metric.get() == ("map", 1.0)
    metric.reset()
    half = np.array([right])
    half[0, 1, 2] = 0.71  # less than half of the box
    metric.update([label], [nd.array(half)])
    assert metric.get()[1] == 0.5 and metric.by_class() == {"a": 1.0, "b": 0.0}
    metric.reset()
    half[0, 1, 2] = 0.69
    metric.update([label], [nd.array(half)])
    assert metric.get()[1] == 1.0


# From end to end


@needs_gluoncv
def test_files_and_history(folder):
    history = rows(folder)
    assert [*history[0]] == ["epoch", "loss", "held_out_loss", "held_out_map", "samples"]
    assert float(history[1]["loss"]) < float(history[0]["loss"])
    config = json.loads((folder / "config.json").read_text())
    assert config["network"]["net"] == "ssd_lite" and config["network"]["outputs"] == "detections"
    assert config["data"]["task"] == "detection" and config["data"]["classes"] == [*CLASSES]
    assert 0 <= config["result"]["held_out_map"] <= 1 and "map" not in config["result"]
    assert {"curves.png", "model.params", "checkpoints"} <= {path.name for path in folder.iterdir()}


@needs_gluoncv
@pytest.mark.filterwarnings("ignore:Cannot decide type")  # MXNet's, of the type of data
def test_what_is_exported_gives_detections(folder):
    files = [str(folder / name) for name in ("model-symbol.json", "model-0000.params")]
    net = gluon.SymbolBlock.imports(files[0], ["data"], files[1])
    x = scenes(24).x[:3].reshape(3, -1)
    found = net(nd.array(x)).asnumpy()
    assert found.shape == (3, 100, 6) and (found[..., 0] < len(CLASSES)).all()
    assert (np.diff(found[0][found[0][:, 0] >= 0][:, 1]) <= 0).all()


@needs_gluoncv
@pytest.mark.engine("torch")
def test_a_format_that_cannot_have_detections(folder, tmp_path, capsys):
    out = tmp_path / "net.pt2"
    assert export.main([str(folder), "--to", "torch", "--out", str(out)]) == 2
    line = capsys.readouterr().err
    assert line.startswith(f"train.export: --to torch: the network of {folder} detects objects, ")
    assert line.endswith("; expected --to mxnet, or for its arrays alone --to safetensors\n")
    assert not out.exists()


@pytest.mark.slow
@needs_gluoncv
def test_resuming_gives_the_same_run(folder, tmp_path, engine, capsys):
    out = tmp_path / "run"
    argv = [*SHORT, "--hybridize", "recorded", "--engine", engine, "--out", str(out)]
    assert detect.main([*argv, "--epochs", "1"]) == 0
    assert detect.main([*argv, "--resume"]) == 0
    assert "1 epochs are done" in capsys.readouterr().out
    assert (out / "history.csv").read_text() == (folder / "history.csv").read_text()
    again = tmp_path / "again"
    assert detect.main(["--config", str(out / "config.json"), "--out", str(again)]) == 0
    assert (again / "history.csv").read_text() == (folder / "history.csv").read_text()


@needs_gluoncv
@pytest.mark.engine("torch")  # MXNet does not compute in 16 bits
def test_options_of_learning(tmp_path, engine):
    options = [
        "--precision",
        "bfloat16",
        "--clip",
        "5",
        "--accumulate",
        "2",
        "--average",
        "0.9",
        "--schedule",
        "cosine",
    ]
    assert detect.main([*SHORT, *options, "--engine", engine, "--out", str(tmp_path)]) == 0
    assert float(rows(tmp_path)[1]["loss"]) < float(rows(tmp_path)[0]["loss"])


def found_objects(monkeypatch):
    """Have each detection of an untrained net be one that is told of."""
    from train import rows
    from train.report import pictures

    for module in (rows, pictures):
        monkeypatch.setattr(module, "SURE", 0.02)


@needs_gluoncv
def test_prediction(folder, tmp_path, engine, capsys, monkeypatch):
    found_objects(monkeypatch)
    image = tmp_path / "scene.png"
    Image.fromarray(scenes(24).x[0]).save(image)
    capsys.readouterr()
    argv = [str(folder), str(image), "--engine", engine]
    assert predict_program.main([*argv, "--format", "json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found and all(each["class"] in CLASSES and each["file"] == str(image) for each in found)
    for each in found:
        assert 0 <= each["left"] <= each["right"] <= SIDE and 0.02 <= each["probability"] <= 1
    assert predict_program.main([*argv, "--probabilities"]) == 2
    assert "finds objects" in capsys.readouterr().err


@needs_gluoncv
def test_report(folder, tmp_path, engine, monkeypatch):
    found_objects(monkeypatch)
    out = tmp_path / "report.html"
    assert report.main([str(folder), "--engine", engine, "--out", str(out)]) == 0
    text = out.read_text()
    for heading in ("Objects found, by class", "The first held-out images", "Worst mistakes"):
        assert f"<h3>{heading}</h3>" in text
    assert "python -m train.detect --config " in text and "average precision" in text
    images = re.findall(r'<image [^>]*href="data:image/png;base64,([^"]*)"', text)
    assert len(images) == 12  # six held-out scenes, each with a mistake
    for data in images:
        assert Image.open(io.BytesIO(base64.b64decode(data))).size == (SIDE, SIDE)
    assert text.count('<svg role="img" aria-label="image ') == 12
    assert re.search(
        '<g class="(right|wrong|missed)"><rect [^>]*/><text [^>]*>[^<]+</text></g>', text
    )


def test_right_wrong_and_missed_objects():
    from train.report.measured import Measured
    from train.report.pictures import scene

    y = np.array([[[0, 0.1, 0.1, 0.4, 0.4], [1, 0.5, 0.5, 0.9, 0.9]]], "float32")
    said = np.array([[[0, 0.9, 0.1, 0.1, 0.4, 0.42], [0, 0.8, 0.1, 0.1, 0.4, 0.4], [-1] * 6]])
    found = scene(Measured(np.zeros((1, 64, 64, 3), "uint8"), y, said, np.array([])), 0)
    assert found.right.tolist() == [True, False] and found.seen.tolist() == [True, False]
    assert found.mistakes == 2


# Mistakes


def test_without_gluoncv_it_says_what_to_install(engine, tmp_path, capsys, monkeypatch):
    monkeypatch.setitem(sys.modules, "gluoncv", None)
    assert detect.main([*SHORT, "--engine", engine, "--out", str(tmp_path / "run")]) == 2
    said = capsys.readouterr().err
    assert "GluonCV is not installed; expected pip install 'gluon-layers[gluoncv]'" in said
    assert said.count("\n") == 1 and not (tmp_path / "run").exists()


@pytest.mark.parametrize(
    "options, message",
    [
        (["--data", "digits"], "--data digits: expected scenes, scenes:N or FILE.npz"),
        (["--data", "scenes:0"], "--data scenes:0: expected scenes, or their number behind a"),
        (["--net", "vit"], "--net vit: expected ssd_lite, or a function in a file"),
        (["--hybridize", "step"], "--hybridize step: a detector's loss, which"),
        (["--task", "regression"], "unrecognized arguments: --task"),
    ],
    ids=["digits", "none", "vit", "step", "task"],
)
def test_mistakes(options, message, engine, tmp_path, capsys):
    argv = [*options, "--engine", engine, "--out", str(tmp_path / "run")]
    assert detect.main(argv) == 2
    assert message in capsys.readouterr().err


@needs_gluoncv
def test_a_net_of_ones_own(tmp_path, engine, capsys):
    (tmp_path / "own.py").write_text(
        "from layers import nets\nfrom layers.engine import gluon\n\n"
        "def build(shape, classes):\n"
        "    return nets.ssd_lite(shape, classes, hidden_channels=4)\n\n"
        "def flat(shape, classes):\n    return gluon.nn.Dense(classes)\n\n"
        "class Scores(gluon.HybridBlock):\n    def __init__(self, net):\n"
        "        super().__init__()\n        self.net = net\n\n"
        "    def hybrid_forward(self, F, x):\n        return self.net(x)[0]\n\n"
        "def scores(shape, classes):\n    return Scores(build(shape, classes))\n"
    )
    argv = [*SHORT[:-2], "--epochs", "1", "--engine", engine, "--out", str(tmp_path / "run")]
    assert detect.main([*argv, "--net", f"{tmp_path}/own.py:build"]) == 0
    capsys.readouterr()
    for name, said in (
        ("flat", "outputs are (samples, 13); expected (samples, anchors, 14)"),
        ("scores", "outputs are (2, 1344, 14); expected scores (samples, anchors, 14), offsets"),
    ):
        net = f"{tmp_path}/own.py:{name}"
        assert detect.main([*argv, "--overwrite", "--net", net]) == 2
        assert said in capsys.readouterr().err


# Learning


@needs_gluoncv
@pytest.mark.slow
@pytest.mark.engine("torch")
@pytest.mark.parametrize("mode", ["none", "recorded", "compiled"])
def test_it_learns(mode, tmp_path, engine):
    """To 0.7 mAP at least: measured are 0.85 with the 2,000 scenes, in 33 s of one thread."""
    argv = ["--epochs", "6", "--hybridize", mode, "--engine", engine, "--out", str(tmp_path)]
    assert detect.main(argv) == 0
    assert float(rows(tmp_path)[-1]["held_out_map"]) > 0.7


def test_it_learns_a_few_scenes_by_heart():
    """The loss of four scenes goes down to a tenth: net, targets and loss fit together."""
    mx.random.seed(0)
    data = scenes(4)
    net, loss = nets.ssd_lite((3, SIDE, SIDE), 13, hidden_channels=8), MultiBoxLoss()
    net.initialize()
    x, y = nd.array(data.x.transpose(0, 3, 1, 2) / 255.0), nd.array(data.y)
    trainer = gluon.Trainer(net.collect_params(), "adam", {"learning_rate": 0.01})
    net.hybridize(static_alloc=True, static_shape=True)
    losses = []
    for _ in range(60):
        with autograd.record():
            value = loss(net(x), y)
        value.backward()
        trainer.step(len(x))
        losses.append(float(value.mean().asnumpy().item()))
    assert losses[-1] < losses[0] / 10
