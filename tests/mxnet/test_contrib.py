"""mx.contrib: the former autograd, a loader for Module, metrics for TensorBoard."""

import sys
import types
from importlib import import_module

import numpy as np
import pytest

from layers.engine import autograd, gluon, mx, nd

torch_only = pytest.mark.engine("torch")


def former():
    return import_module(f"{mx.__name__}.contrib.autograd")


def numbers(*values):
    return nd.array(list(values))


def test_sections():
    def state():
        return autograd.is_recording(), autograd.is_training()

    with former().train_section():
        assert state() == (True, True)
        with former().test_section():
            assert state() == (False, False)
        assert state() == (True, True)
    assert state() == (False, False)
    assert former().set_is_training(True) is False and state() == (True, True)
    assert former().set_is_training(False) is True and state() == (False, False)
    with former().TrainingStateScope(True):
        assert state() == (True, True)


def test_marked_variables():
    x, gradient = numbers(1, 2, 3), nd.zeros(3)
    former().mark_variables([x], [gradient])
    with former().train_section():
        y = x * x
        with former().test_section():
            y * 3
    former().backward([y])
    assert gradient.asnumpy().tolist() == [2, 4, 6]
    with former().train_section():
        y, z = x * x, x + 1
    former().backward([y, z], [nd.ones(3) * 2, None])
    assert gradient.asnumpy().tolist() == [5, 9, 13]
    former().mark_variables([x], [gradient], "add")
    with former().train_section():
        y = x * x
    former().compute_gradient([y])
    assert gradient.asnumpy().tolist() == [7, 13, 19]


@pytest.mark.parametrize(
    "argnum, expected", [(None, [[3, 4], [2, 3]]), (1, [[2, 3]]), ([1, 0], [[2, 3], [3, 4]])]
)
def test_gradients_of_a_function(argnum, expected):
    def function(a, b):
        """A sum."""
        return a * b + b

    arguments = numbers(1, 2), numbers(3, 4)
    both = former().grad_and_loss(function, argnum)
    gradients, y = both(*arguments)
    assert [g.asnumpy().tolist() for g in gradients] == expected
    assert y.asnumpy().tolist() == [6, 12] and both.__doc__ == "A sum."
    gradients = former().grad(function, argnum)(*arguments)
    assert [g.asnumpy().tolist() for g in gradients] == expected
    gradients = former().grad(lambda a, b: [a * b, a])(*arguments)
    assert [g.asnumpy().tolist() for g in gradients] == [[4, 5], [1, 2]]


def test_what_cannot_be_derived():
    with pytest.raises((AssertionError, ValueError), match="list"):
        former().backward(numbers(1))
    with pytest.raises((AssertionError, ValueError), match="NDArray"):
        former().grad(lambda a: a * 2)(3)


def loader(**options):
    data = np.arange(20, dtype="float32").reshape(10, 2)
    return gluon.data.DataLoader(gluon.data.ArrayDataset(data, data[:, 0]), 4, **options)


def test_a_loader_for_module():
    iterator = mx.contrib.io.DataLoaderIter(loader())
    assert iterator.batch_size == 4
    assert iterator.provide_data[0][:2] == ("data", (4, 2))
    assert iterator.provide_label[0][:2] == ("softmax_label", (4,))
    for _ in range(2):
        batches = list(iterator)
        assert [batch.pad for batch in batches] == [0, 0, 2]
        assert [batch.data[0].shape for batch in batches] == [(4, 2)] * 3
        assert batches[1].data[0].asnumpy().tolist() == [[8, 9], [10, 11], [12, 13], [14, 15]]
        assert batches[2].label[0].asnumpy()[:2].tolist() == [16, 18]
        iterator.reset()


def test_names_and_a_dtype():
    iterator = mx.contrib.io.DataLoaderIter(loader(last_batch="discard"), "x", "y", "float16")
    batch = iterator.next()
    assert iterator.provide_data[0].name == "x" and iterator.provide_label[0].name == "y"
    assert batch.data[0].dtype == batch.label[0].dtype == np.float16
    assert len([batch, *iterator]) == 2


@torch_only
def test_a_loader_without_labels(mx):
    data = gluon.data.SimpleDataset([1.0, 2.0])
    with pytest.raises(ValueError, match="is a NDArray\n  expected data and labels"):
        mx.contrib.io.DataLoaderIter(gluon.data.DataLoader(data, 2))
    data = gluon.data.ArrayDataset(*[np.arange(4)] * 3)
    with pytest.raises(ValueError, match="is a list with 3 parts"):
        mx.contrib.io.DataLoaderIter(gluon.data.DataLoader(data, 2))


@torch_only  # MXNet's begins an epoch for the shapes alone
def test_a_loader_is_read_once_an_epoch(mx):
    epochs = []

    class Counted:
        def __iter__(self):
            epochs.append(0)
            return iter(loader())

    iterator = mx.contrib.io.DataLoaderIter(Counted())
    assert [len(list(iterator)), len(epochs)] == [3, 1]
    iterator.reset()
    assert [len(list(iterator)), len(epochs)] == [3, 2]


@torch_only
def test_padding_is_zeros(mx):
    *_, last = mx.contrib.io.DataLoaderIter(loader())
    assert last.data[0].asnumpy()[2:].tolist() == [[0, 0], [0, 0]]


class Writer:
    """What stands for a SummaryWriter."""

    written = []

    def __init__(self, folder):
        self.folder = folder

    def add_scalar(self, name, value, global_step=None):
        self.written.append((self.folder, name, value, global_step))


def test_metrics_for_tensorboard(monkeypatch):
    for package in ("mxboard", "torch.utils.tensorboard"):
        module = types.ModuleType(package)
        module.SummaryWriter = Writer
        monkeypatch.setitem(sys.modules, package, module)
    metric = mx.metric.Accuracy()
    metric.update([nd.array([1, 0])], [nd.array([1, 1])])
    logged = mx.contrib.tensorboard.LogMetricsCallback("logs", prefix="train")
    plain = mx.contrib.tensorboard.LogMetricsCallback("logs")
    Writer.written.clear()
    for callback, given in ((logged, metric), (plain, metric), (plain, None)):
        callback(mx.model.BatchEndParam(epoch=3, nbatch=4, eval_metric=given, locals=None))
    assert Writer.written == [("logs", "train-accuracy", 0.5, 3), ("logs", "accuracy", 0.5, 3)]


@torch_only
def test_without_tensorboard(mx, monkeypatch):
    monkeypatch.setitem(sys.modules, "torch.utils.tensorboard", None)
    with pytest.raises(NotImplementedError, match="expected the package tensorboard"):
        mx.contrib.tensorboard.LogMetricsCallback("logs")


@torch_only
def test_other_places(mx):
    assert mx.contrib.nd.foreach is mx.nd.contrib.foreach
    assert mx.contrib.sym.foreach is mx.sym.contrib.foreach
    assert mx.contrib.onnx.export_model is mx.onnx.export_model


@pytest.mark.engine("torch")  # MXNet's need the package onnx
def test_mxnets_places_of_what_reads_onnx(mx):
    from layers.mxnet.contrib.onnx.onnx2mx.import_model import get_model_metadata, import_model
    from layers.mxnet.contrib.onnx.onnx2mx.import_to_gluon import import_to_gluon

    onnx = mx.contrib.onnx
    assert onnx.import_model is onnx.import_model_ is import_model
    assert onnx.get_model_metadata is onnx.get_model_metadata_ is get_model_metadata
    assert onnx.import_to_gluon is onnx.import_to_gluon_ is import_to_gluon
    with pytest.raises(AttributeError, match="use mx.contrib.onnx.import_model"):
        _ = onnx.onnx2mx.import_onnx
