"""Estimator: what it calls when, what it logs, saves, refuses, and how it goes on."""

import logging
import re
from importlib import import_module

import numpy as np
import pytest

from layers.engine import gluon, mx, nd

torch_only = pytest.mark.engine("torch")
contrib = import_module(f"{mx.__name__}.gluon.contrib.estimator")
handlers = contrib.event_handler
nn = gluon.nn


def network(hybrid=False):
    net = nn.HybridSequential(prefix="net_")
    net.add(nn.Dense(3, in_units=2, prefix="d_"))
    net.initialize(mx.init.One())
    if hybrid:
        net.hybridize()
    return net


def loader(count=10, batch_size=4):
    x = nd.array(np.random.RandomState(0).rand(count, 2))
    data = gluon.data.ArrayDataset(x, nd.array(np.arange(count) % 3))
    return gluon.data.DataLoader(data, batch_size=batch_size)


class Lines(logging.Handler):
    """What is logged, with T in the place of times, and D in the place of folders."""

    def __init__(self):
        super().__init__()
        self.lines = []

    def emit(self, record):
        line = re.sub(r"\d+(\.\d+)?s\b", "T", record.getMessage())
        self.lines.append(re.sub(r"/\S*/", "D/", line))


def estimator(hybrid=False, **options):
    net = network(hybrid)
    trainer = gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 0.1})
    made = contrib.Estimator(net, gluon.loss.SoftmaxCrossEntropyLoss(), trainer=trainer, **options)
    made.logger.handlers = [Lines()]
    made.lines = made.logger.handlers[0].lines
    return made


def check_lines(made, *expected):
    """Each line is as expected, where ``...`` stands for words that each engine chooses."""
    assert len(made.lines) == len(expected)
    for line, words in zip(made.lines, expected):
        assert re.fullmatch(re.escape(words).replace(r"\.\.\.", ".*"), line), line


def test_metrics_and_defaults():
    made = estimator()
    names = [metric.name for metric in made.train_metrics + made.val_metrics]
    assert names == [
        f"{part} {name}"
        for part in ("training", "validation")
        for name in ("accuracy", "softmaxcrossentropyloss")
    ]
    assert made.context == [mx.cpu()]
    mse = mx.metric.MSE()
    made = estimator(train_metrics=[mse, mx.metric.MAE()], val_metrics=mx.metric.MSE())
    assert made.train_metrics[0] is mse
    assert [m.name for m in made.train_metrics] == ["training mse", "training mae"]
    assert [m.name for m in made.val_metrics] == ["validation mse"]
    with pytest.warns(UserWarning, match="No trainer specified"):
        made = contrib.Estimator(network(), gluon.loss.L2Loss())
    assert (made.trainer.learning_rate, made.train_metrics[0].name) == (0.001, "training l2loss")


@pytest.mark.filterwarnings("ignore:No trainer specified", "ignore:Parameter .* is already init")
def test_initialization():
    net = nn.HybridSequential()
    net.add(nn.Dense(2, in_units=2), nn.Dense(3, in_units=2))
    net[0].initialize(mx.init.One())
    contrib.Estimator(net, gluon.loss.L2Loss(), initializer=mx.init.Zero())
    assert net[0].weight.data().asnumpy().tolist() == [[1, 1], [1, 1]]
    assert net[1].weight.data().asnumpy().tolist() == [[0, 0]] * 3
    with pytest.warns(UserWarning, match="Network already fully initialized"):
        contrib.Estimator(net, gluon.loss.L2Loss(), initializer=mx.init.Zero())


@pytest.mark.parametrize(
    "options, message",
    [
        ({"loss": "l2"}, "(?s)loss.*Loss"),
        ({"train_metrics": "acc"}, "(?s)metrics.*EvalMetric"),
        ({"trainer": "sgd"}, "gluon.Trainer"),
        ({"context": "cpu"}, "(?s)context.*Context"),
        ({"batch_processor": 3}, "(?s)fit_batch.* and evaluate_batch"),
    ],
)
@pytest.mark.filterwarnings("ignore:No trainer specified")
def test_what_is_refused(options, message):
    with pytest.raises(ValueError, match=message):
        contrib.Estimator(network(), **{"loss": gluon.loss.L2Loss()} | options)


def test_a_context_that_is_not_here():
    with pytest.raises(AssertionError):
        contrib.Estimator(network(), gluon.loss.L2Loss(), context=[mx.gpu(99)])


def test_fit_refuses():
    made, data = estimator(), loader()
    for options in ({}, {"epochs": 1, "batches": 3}):
        with pytest.raises(ValueError, match="(?s)epochs.*batches"):
            made.fit(data, **options)
    for other in ([1], mx.io.NDArrayIter(nd.ones((4, 2)), nd.ones(4), 2)):
        with pytest.raises(ValueError, match="(?s)Estimator.*DataLoader"):
            made.fit(other, epochs=1)
        with pytest.raises(ValueError, match="(?s)Estimator.*DataLoader"):
            made.evaluate(other)
    with pytest.raises(ValueError, match="(?s)handlers.*EventHandler"):
        made.fit(data, epochs=1, event_handlers=[3])
    for kind in (handlers.MetricHandler, handlers.LoggingHandler):
        handler = kind(metrics=[mx.metric.Accuracy()])
        with pytest.raises(ValueError, match=f"(?s){kind.__name__}.*train_metrics"):
            made.fit(data, epochs=1, event_handlers=handler)


def test_log():
    made = estimator()
    made.fit(loader(), val_data=loader(5, 3), epochs=2)
    begin = "[Epoch {0}] Begin...learning rate: 0.1000"
    validated = (
        "[Epoch 0] Finished in T, validation accuracy: 0.4000, validation softmaxcrossentropyloss: "
    )
    trained = "training accuracy: 0.4000, training softmaxcrossentropyloss: "
    check_lines(
        made,
        "Training begin...SGD...0.1000...",
        "Train for 2 epochs.",
        begin.format(0),
        "Validation ...egin...",
        f"{validated}1.0942",
        f"[Epoch 0] Finished in T, {trained}1.0986",
        begin.format(1),
        "Validation ...egin...",
        f"{validated}1.0919",
        f"[Epoch 1] Finished in T, {trained}1.0864",
        f"Train... T...2...{trained}1.0864",
    )
    assert (made.max_epoch, made.max_batch) == (2, None)


def test_log_of_batches():
    made = estimator()
    handler = handlers.LoggingHandler(log_interval=2, metrics=made.train_metrics[:1])
    made.fit(loader(), batches=4, event_handlers=handler)
    check_lines(
        made,
        "Training begin...",
        "Train for 4 batches.",
        "[Epoch 0] Begin...learning rate: 0.1000",
        "[Epoch 0][Batch 0][Samples 4] time/interval: T training accuracy: 0.5000",
        "[Epoch 0][Batch 2][Samples 10] time/interval: T training accuracy: 0.4000",
        "[Epoch 0] Finished in T, training accuracy: 0.4000",
        "[Epoch 1] Begin...learning rate: 0.1000",
        "[Epoch 1][Batch 0][Samples 14] time/interval: T training accuracy: 0.5000",
        "[Epoch 1] Finished in T, training accuracy: 0.5000",
        "Train... T...2...training accuracy: 0.5000",
    )
    with pytest.raises(ValueError, match="(?s)log_interval.*'epoch'"):
        handlers.LoggingHandler(log_interval="batch")


class Events(
    handlers.TrainBegin,
    handlers.TrainEnd,
    handlers.EpochBegin,
    handlers.EpochEnd,
    handlers.BatchBegin,
    handlers.BatchEnd,
):
    """The events, with what comes with them; stops where it is told to."""

    def __init__(self, stop=None, priority=0):
        self.seen, self.stop, self.priority = [], stop, priority

    def _note(self, name, **kwargs):
        self.seen.append((name, *sorted(kwargs)) if kwargs else name)
        return len(self.seen) == self.stop

    def train_begin(self, estimator, *args, **kwargs):
        self._note("train_begin", **kwargs)

    def train_end(self, estimator, *args, **kwargs):
        self._note("train_end", **kwargs)

    def epoch_begin(self, estimator, *args, **kwargs):
        self._note("epoch_begin", **kwargs)

    def epoch_end(self, estimator, *args, **kwargs):
        return self._note("epoch_end", **kwargs)

    def batch_begin(self, estimator, *args, **kwargs):
        self._note("batch_begin", **kwargs)

    def batch_end(self, estimator, *args, **kwargs):
        return self._note("batch_end", **kwargs)


BATCH = [("batch_begin", "batch"), ("batch_end", "batch", "label", "loss", "pred")]


def test_events():
    events = Events()
    estimator().fit(loader(), batches=2, event_handlers=events)
    assert events.seen == ["train_begin", "epoch_begin", *BATCH * 2, "epoch_end", "train_end"]
    events = Events()
    estimator().evaluate(loader(5, 3), event_handlers=[events])
    assert events.seen == ["epoch_begin", *BATCH * 2, "epoch_end"]


def test_a_handler_ends_an_epoch_and_the_training():
    events = Events(stop=4)  # at the end of the first batch
    estimator().fit(loader(), epochs=2, event_handlers=events)
    end = "epoch_end"
    assert events.seen[1:-1] == ["epoch_begin", *BATCH, end, "epoch_begin", *BATCH * 3, end]
    events = Events(stop=9)  # at the end of the first epoch
    estimator().fit(loader(), epochs=2, event_handlers=events)
    assert events.seen == ["train_begin", "epoch_begin", *BATCH * 3, end, "train_end"]


def test_order():
    made = estimator()
    made.max_epoch = made.max_batch = None
    found = made._prepare_default_handlers(loader(), [Events(priority=-5000), Events()])
    assert [type(handler).__name__ for handler in found] == [
        "Events",
        "GradientUpdateHandler",
        "MetricHandler",
        "ValidationHandler",
        "Events",
        "StoppingHandler",
        "LoggingHandler",
    ]


def test_the_update_is_a_handlers():
    class NoUpdate(handlers.GradientUpdateHandler):
        def batch_end(self, estimator, *args, **kwargs):
            pass

    made = estimator()
    made.fit(loader(), epochs=1, event_handlers=NoUpdate())
    assert (made.net[0].weight.data().asnumpy() == 1).all()
    made.fit(loader(), epochs=1)
    assert (made.net[0].weight.data().asnumpy() != 1).any()


def test_a_batch_processor():
    seen = []

    class Noting(contrib.BatchProcessor):
        def fit_batch(self, estimator, train_batch, batch_axis=0):
            found = super().fit_batch(estimator, train_batch, batch_axis)
            seen.append([len(part) for part in found])
            return found

        def evaluate_batch(self, estimator, val_batch, batch_axis=0):
            found = super().evaluate_batch(estimator, val_batch, batch_axis)
            seen.append([type(part).__name__ for part in found])
            return found

    made = estimator(batch_processor=Noting())
    made.fit(loader(), val_data=loader(5, 5), epochs=1)
    assert seen == [[1] * 4] * 3 + [["list"] * 4]


@pytest.mark.parametrize(
    "periods, count",
    [({}, 3), ({"epoch_period": 2}, 1), ({"epoch_period": None, "batch_period": 2}, 4)],
)
def test_validation(periods, count):
    calls = []

    def evaluate(val_data, batch_axis=0, event_handlers=None):
        calls.append((batch_axis, event_handlers))

    handler = handlers.ValidationHandler(loader(5, 3), evaluate, **periods)
    made = estimator()
    made.fit(loader(), epochs=3, event_handlers=handler)
    assert calls == [(0, None)] * count


def files(folder):
    return sorted(path.name for path in folder.iterdir())


def both(*names):
    return sorted(f"{name}.{ending}" for name in names for ending in ("params", "states"))


@pytest.mark.parametrize(
    "options, names",
    [
        ({}, ["epoch0batch3", "epoch1batch6", "epoch2batch9", "epoch3batch12"]),
        ({"epoch_period": 2}, ["epoch1batch6", "epoch3batch12"]),
        ({"max_checkpoints": 1}, ["epoch3batch12"]),
        (
            {"epoch_period": None, "batch_period": 4},
            ["epoch1batch3", "epoch2batch7", "epoch3batch11"],
        ),
    ],
)
def test_checkpoints(tmp_path, options, names):
    handler = handlers.CheckpointHandler(str(tmp_path), model_prefix="net", **options)
    estimator().fit(loader(), epochs=4, event_handlers=handler)
    assert files(tmp_path) == both(*(f"net-{name}" for name in names))


def test_the_graph_is_saved(tmp_path):
    handler = handlers.CheckpointHandler(str(tmp_path))
    estimator(hybrid=True).fit(loader(), epochs=1, event_handlers=handler)
    assert "model-symbol.json" in files(tmp_path)
    names = mx.sym.load(str(tmp_path / "model-symbol.json")).list_arguments()
    assert names == ["data", "d_weight", "d_bias"]


@pytest.mark.parametrize("mode, best", [("min", 1.07049), ("max", 1.09863)])
def test_the_best_is_saved(tmp_path, mode, best):
    made = estimator()
    loss = made.train_metrics[1]
    handler = handlers.CheckpointHandler(str(tmp_path), monitor=loss, save_best=True, mode=mode)
    made.fit(loader(), epochs=4, event_handlers=handler)
    assert set(both("model-best")) < set(files(tmp_path))
    assert handler.best == pytest.approx(best, 1e-4)
    with pytest.raises(ValueError, match="(?s)best.*train_metrics"):
        handlers.CheckpointHandler(str(tmp_path), save_best=True)


@pytest.mark.slow
def test_resuming(tmp_path):
    whole = estimator()
    whole.fit(loader(), epochs=5)
    estimator().fit(loader(), epochs=2, event_handlers=handlers.CheckpointHandler(str(tmp_path)))
    made = estimator()
    handler = handlers.CheckpointHandler(str(tmp_path), resume_from_checkpoint=True)
    made.fit(loader(), epochs=5, event_handlers=handler)
    assert made.max_epoch == 3
    assert "model-epoch4batch15.params" in files(tmp_path)
    found, expected = (e.net[0].weight.data().asnumpy() for e in (made, whole))
    np.testing.assert_allclose(found, expected, 1e-6)
    with pytest.raises(ValueError, match="2.*resume_from_checkpoint=False|2 epochs are already"):
        made.fit(loader(), epochs=2, event_handlers=handler)
    with pytest.raises(AssertionError, match="same type of period|expected batch_period alone"):
        made.fit(loader(), batches=20, event_handlers=handler)
    handler = handlers.CheckpointHandler(
        str(tmp_path), resume_from_checkpoint=True, epoch_period=None, batch_period=2
    )
    made.fit(loader(), batches=20, event_handlers=handler)
    assert made.max_batch == 4
    assert {"model-epoch5batch17.params", "model-epoch6batch19.params"} < set(files(tmp_path))


@pytest.mark.parametrize(
    "options, epochs",
    [
        ({"mode": "max"}, 2),
        ({"mode": "max", "patience": 2}, 3),
        ({"mode": "min"}, 6),
        ({"mode": "min", "min_delta": 0.5}, 2),
        ({"mode": "min", "baseline": 1.05}, 1),
    ],
)
def test_early_stopping(options, epochs):
    made = estimator()
    handler = handlers.EarlyStoppingHandler(made.train_metrics[1], **options)
    made.fit(loader(), epochs=6, event_handlers=handler)
    assert handler.current_epoch == epochs
    assert handler.stop_training == (epochs < 6)
    with pytest.raises(ValueError, match="train_metrics"):
        handlers.EarlyStoppingHandler("accuracy")


@torch_only  # MXNet's 'auto' takes the greatest value of a loss too as the best
@pytest.mark.parametrize(
    "metric, better", [("acc", np.greater), ("f1", np.greater), ("mse", np.less)]
)
def test_what_is_better(metric, better):
    with pytest.warns(UserWarning, match=f"a {better.__name__} value of {metric}"):
        made = handlers.EarlyStoppingHandler(mx.metric.create(metric))
    assert made.monitor_op is better
    with pytest.warns() as seen:
        handlers.EarlyStoppingHandler(mx.metric.create(metric), mode="most")
    assert "mode is 'most', and 'auto' is used" in str(seen[0].message)
