"""Images that are changed at random while they are learned from."""

import json

import numpy as np
import pytest

from train import Refused
from train.__main__ import main
from train.command_line import parse
from train.config import AUGMENT
from train.data import ArrayBatches, augment
from train.data.augment import CHANGES, MIXES, OPERATIONS, Augmented

SHAPES = [(9, 12), (9, 12, 3), (3, 9, 12), (1, 7), (8, 1, 1)]


def images(shape, n=20, dtype="uint8"):
    return np.random.default_rng(0).integers(0, 256, (n, *shape)).astype(dtype)


def batches(how, shape=(9, 12, 3), classes=0, values=(0, 255), seed=5):
    x, y = images(shape).reshape(20, -1), np.arange(20, dtype="float32") % 4
    parts = Augmented(ArrayBatches(x, y, 10), shape, how, values, classes)
    return [*parts.batches(None if seed is None else np.random.default_rng(seed))]


def test_names_of_options_are_those_of_functions():
    assert (*CHANGES, *MIXES) == AUGMENT
    assert parse(["--augment", "mixup, flip"]).augment == ("flip", "mixup")
    with pytest.raises(Refused, match="expected some of flip, crop, color, .*, not 'flip,blur'"):
        parse(["--augment", "flip,blur"])


@pytest.mark.parametrize("name", AUGMENT)
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_images_stay_in_their_shape_and_range(name, shape):
    for x, y in batches([name], shape, classes=4):
        assert x.shape == (10, np.prod(shape)) and x.dtype == np.float32
        assert x.min() > -0.01 and x.max() < 255.01
        assert y.shape == (10, 4) and y.dtype == np.float32
        np.testing.assert_allclose(y.sum(axis=1), 1, rtol=1e-6)


@pytest.mark.parametrize("name", AUGMENT)
def test_a_seed_draws_the_same_and_another_draws_others(name):
    first, again, other = (batches([name], classes=4, seed=seed)[1] for seed in (3, 3, 4))
    np.testing.assert_array_equal(first[0], again[0])
    np.testing.assert_array_equal(first[1], again[1])
    assert not np.array_equal(first[0], other[0])


@pytest.mark.parametrize("classes", [0, 4])
def test_what_is_measured_is_not_changed(classes):
    [(x, y), _] = batches(AUGMENT, classes=classes, seed=None)
    np.testing.assert_array_equal(x, images((9, 12, 3)).reshape(20, -1)[:10])
    np.testing.assert_array_equal(y, np.eye(4)[np.arange(10) % 4] if classes else np.arange(10) % 4)


def test_half_of_the_images_are_flipped():
    x = images((3, 9, 12), 200, "float32")
    found = augment.flip(x, np.random.default_rng(0))
    turned = (found == x[..., ::-1]).all(axis=(1, 2, 3))
    assert 70 < turned.sum() < 130 and (turned | (found == x).all(axis=(1, 2, 3))).all()


def test_crops_repeat_edges():
    x = np.arange(16.0).reshape(1, 1, 4, 4)
    down, across = np.full((2, 1, 1, 1, 1), 0.25)
    [[found]] = augment.moved(x, down, -2 * across)
    np.testing.assert_array_equal(found[:, 0], [2, 2, 6, 10])
    np.testing.assert_array_equal(found[1], [2, 3, 3, 3])


@pytest.mark.parametrize("shape", [(9, 9), (9, 17)])
def test_rotations_turn_about_the_middle(shape):
    x = np.zeros((2, 1, *shape), "float32")
    row, column = shape[0] // 2, shape[1] // 2
    x[:, 0, row, column] = 1
    x[:, 0, row, column + 4] = 0.5  # four pixels to the right: a turn of 15 degrees moves it by one
    one, other = augment.rotated(x, np.array([[1.0], [-1.0]]))[:, 0]
    assert one[row, column] > 0.9 and other[row, column] > 0.9
    angle = np.pi / 12
    for found, sign in ((one, -1), (other, 1)):
        there = np.argwhere((found > 0.1) & (found < 0.6)).mean(axis=0)
        expected = row + sign * 4 * np.sin(angle), column + 4 * np.cos(angle)
        np.testing.assert_allclose(there, expected, atol=0.6)


@pytest.mark.parametrize("operation", OPERATIONS)
def test_operations_of_no_strength_change_little(operation):
    x = np.random.default_rng(0).random((6, 3, 8, 10)).astype("float32")
    assert abs(operation(x, np.zeros((6, 1, 1, 1), "float32")) - x).max() < 0.01
    assert abs(operation(x, np.ones((6, 1, 1, 1), "float32")) - x).max() > 0.05


def test_labels_are_mixed_as_images_are():
    x = np.repeat(np.arange(4, dtype="float32"), 5 * 6 * 7 * 3).reshape(20, 3, 6, 7) / 4
    y = np.arange(20) // 5 / np.float32(4)  # the image's value
    for mix in MIXES.values():
        found, labels = mix(x, y, np.random.default_rng(0))
        np.testing.assert_allclose(found.mean(axis=(1, 2, 3)), labels, atol=1e-6)
        assert len({*labels.round(5)}) > 5


@pytest.mark.parametrize("how, mode", [(AUGMENT, "none"), (("crop", "cutmix"), "recorded")])
def test_a_resumed_training_draws_as_if_it_had_not_ended(tmp_path, engine, how, mode):
    common = ["--augment", ",".join(how), "--hidden", "8", "--engine", engine, "--hybridize", mode]
    for out, *epochs in (("whole", "3"), ("parts", "1"), ("parts", "3", "--resume")):
        assert main([*common, "--out", str(tmp_path / out), "--epochs", *epochs]) == 0
    whole, parts = ((tmp_path / out / "model.params").read_bytes() for out in ("whole", "parts"))
    assert whole == parts
    config = json.loads((tmp_path / "whole/config.json").read_text())
    assert config["options"]["augment"] == [*how]
    assert config["result"]["held_out_accuracy"] > 0.15


def test_a_number_is_mixed_too(tmp_path, engine):
    x, y = np.random.default_rng(0).random((40, 6, 6)), np.arange(40) / 8
    np.savez(tmp_path / "a.npz", x=x + y[:, None, None], y=y)
    argv = ["--data", str(tmp_path / "a.npz"), "--task", "regression", "--augment", "mixup,flip"]
    argv += ["--engine", engine, "--epochs", "60", "--lr", "0.02", "--out", str(tmp_path / "out")]
    assert main(argv) == 0
    result = json.loads((tmp_path / "out/config.json").read_text())["result"]
    assert result["held_out_r2"] > 0.7


def refusal(capsys, *argv):
    assert main([*argv]) == 2
    return capsys.readouterr().err


def test_what_cannot_be_augmented(tmp_path, capsys, engine):
    (tmp_path / "t.csv").write_text("a,b\n" + "1,x\n2,y\n" * 10)
    out = ["--engine", engine, "--out", str(tmp_path / "out")]
    said = refusal(capsys, "--data", str(tmp_path / "t.csv"), "--augment", "flip", *out)
    assert "--augment: it changes images, and a sample is (1,)" in said
    net = ["--net", "gluoncv:cifar_resnet20_v1", "--head", "fused"]
    assert "--augment mixup: mixes labels" in refusal(capsys, "--augment", "mixup", *net, *out)


def test_module_has_changed_images_but_no_mixed_labels(tmp_path, capsys, engine):
    from train.module import main as module

    out = ["--engine", engine, "--epochs", "1", "--out", str(tmp_path / "out")]
    assert module(["--augment", "cutmix", *out]) == 2
    assert "the loss of Module takes no mixed labels" in capsys.readouterr().err
    assert module(["--augment", "flip", *out]) == 0


@pytest.mark.slow
def test_a_compiled_step_takes_mixed_labels(tmp_path, engine):
    if engine != "torch":
        pytest.skip("Apache MXNet compiles no step")
    argv = ["--augment", "flip,mixup", "--hybridize", "step", "--epochs", "2", "--hidden", "8"]
    assert main([*argv, "--out", str(tmp_path)]) == 0
