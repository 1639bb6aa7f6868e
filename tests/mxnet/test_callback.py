"""Callbacks of fit, and the Monitor: what they log."""

import logging
import re

import pytest


@pytest.fixture
def metric(mx):
    metric = mx.metric.Accuracy()
    metric.update([mx.nd.array([0, 1])], [mx.nd.array([[0.9, 0.1], [0.8, 0.2]])])
    return metric


@pytest.fixture
def logged(mx, metric, caplog):
    def logged(callback, batches, metric=metric):
        caplog.set_level(logging.INFO)
        for n in batches:
            callback(mx.model.BatchEndParam(1, n, metric, None))
        return [re.sub(r"[\d.]+ samples", "# samples", message) for message in caplog.messages]

    return logged


@pytest.mark.parametrize(
    "options, expected",
    [
        (
            {},
            ["[0-2]\tSpeed: # samples/sec\taccuracy=0.500000", "[2-4]\tSpeed: # samples/sec\tacc"],
        ),
        ({"auto_reset": False}, ["[0-2]\tSpeed", "[0-4]\tSpeed: # samples/sec\taccuracy=0.500000"]),
    ],
    ids=["reset", "kept"],
)
def test_speedometer(mx, logged, options, expected):
    lines = logged(mx.callback.Speedometer(4, 2, **options), range(5))
    assert len(lines) == 2
    assert all(line.startswith(f"Epoch[1] Batch {e}") for line, e in zip(lines, expected))


def test_speedometer_begins_anew_with_an_epoch(mx, logged):
    assert len(logged(mx.callback.Speedometer(4, 2), [0, 1, 2, 3, 0, 1, 2])) == 2


def test_speedometer_without_a_metric(mx, logged):
    lines = logged(mx.callback.Speedometer(4, 2), range(3), None)
    assert lines == ["Iter[1] Batch [2]\tSpeed: # samples/sec"]


def test_log_train_metric(mx, metric, logged):
    lines = logged(mx.callback.log_train_metric(2), range(3))
    assert lines == [f"Iter[1] Batch[{n}] Train-accuracy=0.500000" for n in (0, 2)]
    logged(mx.callback.log_train_metric(2, auto_reset=True), [0])
    assert metric.num_inst == 0


def test_progress_bar(mx, logged):
    lines = logged(mx.callback.ProgressBar(4, 10), [1, 2, 3])
    assert [line.strip() for line in lines] == [
        "[==--------] 25%",
        "[=====-----] 50%",
        "[========--] 75%",
    ]


def test_log_validation(mx, logged):
    lines = logged(mx.callback.LogValidationMetricsCallback(), [0])
    assert lines == ["Epoch[1] Validation-accuracy=0.500000"]


def test_checkpoints(mx, tmp_path):
    save = mx.callback.do_checkpoint(str(tmp_path / "net"), 2)
    net = mx.sym.Variable("x") * mx.sym.Variable("w")
    for epoch in range(4):
        save(epoch, net, {"w": mx.nd.ones(2)}, {})
    names = sorted(path.name for path in tmp_path.iterdir())
    assert names == ["net-0002.params", "net-0004.params", "net-symbol.json"]


def test_module_checkpoint(mx):
    class Recorder:
        saved = []

        def save_checkpoint(self, *arguments):
            self.saved.append(arguments)

    save = mx.callback.module_checkpoint(Recorder(), "net", 2, True)
    for epoch in range(4):
        save(epoch)
    assert Recorder.saved == [("net", 2, True), ("net", 4, True)]


@pytest.fixture
def executor(mx):
    net = mx.sym.FullyConnected(mx.sym.Variable("data"), num_hidden=3, name="fc")
    executor = mx.sym.Activation(net, act_type="relu", name="relu").simple_bind(
        mx.cpu(), data=(2, 2)
    )
    executor.arg_dict["data"][:] = 1
    executor.arg_dict["fc_weight"][:] = 2
    return executor


def test_monitor(mx, executor):
    monitor = mx.mon.Monitor(2)
    monitor.install(executor)
    found = []
    for _ in range(3):
        monitor.tic()
        executor.forward(is_train=True)
        found.append(monitor.toc())
    names = ["fc_output", "relu_output", "data", "fc_weight", "fc_bias"]
    assert [row[1] for row in found[0]] == names
    assert [float(row[2]) for row in found[0]] == [4, 4, 1, 2, 0]
    assert found[1] == [] and [row[0] for row in found[2]] == [3] * 5


def test_monitor_of_ones_own_statistic(mx, executor, caplog):
    caplog.set_level(logging.INFO)
    monitor = mx.monitor.Monitor(1, lambda x: [x.sum(), x.max()], ".*(weight|data)", sort=True)
    monitor.install(executor)
    monitor.tic()
    executor.forward()
    monitor.toc_print()
    assert [line.split() for line in caplog.messages] == [
        ["Batch:", "1", "data", "4.0", "1.0"],
        ["Batch:", "1", "fc_weight", "12.0", "2.0"],
    ]


def test_a_monitor_shows_a_number_as_its_dtype_has_it(mx):
    monitor = mx.mon.Monitor(1, lambda x: x.sum(), pattern="x")
    executor = mx.sym.exp(mx.sym.var("x")).bind(mx.cpu(), {"x": mx.nd.array([0.1])})
    monitor.install(executor)
    monitor.tic()
    executor.forward()
    assert monitor.toc() == [(1, "x", "0.1\t")]
