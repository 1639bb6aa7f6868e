"""Metrics, held to MXNet's; names, JSON, several as one, one's own."""

import json
import math

import numpy as np
import pytest
from recorded import Recorded

from layers.engine import mx, nd

metric = mx.metric
TOLERANCE = 1e-6, 1e-7  # relative, absolute

random = np.random.RandomState(0)
SCORES = random.rand(2, 5, 4)
SHARES = SCORES / SCORES.sum(2, keepdims=True)
CLASSES = np.array([[0, 3, 2, 1, 1], [2, 2, 0, 1, 3]])
TWO = random.rand(2, 6, 2)
YES = np.array([[0, 1, 1, 0, 1, 1], [0, 0, 1, 0, 0, 1]])
NUMBERS, OTHERS = random.rand(2, 5, 1), random.rand(2, 5, 1)
PIXELS = random.rand(2, 3, 4, 5)
LABELS = random.randint(0, 4, (2, 3, 5))

# id: metric, arguments, labels and predictions of two batches
CASES = {
    "accuracy": ("acc", {}, CLASSES, SCORES),
    "accuracy,axis": ("accuracy", {"axis": 1}, LABELS, PIXELS),
    "accuracy,last axis": ("accuracy", {"axis": 2}, CLASSES[:, None], SCORES[:, None]),
    "accuracy,classes": ("accuracy", {}, CLASSES, CLASSES[::-1]),
    "accuracy,column": ("accuracy", {}, CLASSES[..., None], SCORES),
    "top_k": ("top_k_accuracy", {"top_k": 2}, CLASSES, SCORES),
    "top_k,all": ("top_k_acc", {"top_k": 4}, CLASSES, SCORES),
    "cross entropy": ("ce", {}, CLASSES, SHARES),
    "cross entropy,eps": ("ce", {"eps": 0.1}, CLASSES, SHARES),
    "nll": ("nll_loss", {}, CLASSES, SHARES),
    "perplexity": ("perplexity", {"ignore_label": None}, CLASSES, SHARES),
    "perplexity,ignore": ("perplexity", {"ignore_label": 1}, CLASSES, SHARES),
    "mae": ("mae", {}, NUMBERS, OTHERS),
    "mse": ("mse", {}, NUMBERS, OTHERS),
    "mse,vectors": ("mse", {}, NUMBERS[..., 0], OTHERS),
    "rmse": ("rmse", {}, NUMBERS, OTHERS),
    "f1": ("f1", {}, YES, TWO),
    "f1,micro": ("f1", {"average": "micro"}, YES, TWO),
    "f1,no hits": ("f1", {}, YES * 0, TWO),
    "mcc": ("mcc", {}, YES, TWO),
    "mcc,micro": ("mcc", {"average": "micro"}, YES, TWO),
    "mcc,one class": ("mcc", {}, YES * 0, TWO),
    "pearson": ("pearsonr", {}, NUMBERS, OTHERS),
    "pearson,micro": ("pearsonr", {"average": "micro"}, NUMBERS[..., 0], OTHERS[..., 0]),
    "pcc": ("pcc", {}, CLASSES, SCORES),
    "pcc,more classes": ("pcc", {}, CLASSES + [[0], [2]], np.pad(SCORES, ((0, 0), (0, 0), (0, 2)))),
    "pcc,classes": ("pcc", {}, CLASSES, CLASSES[::-1]),
    "pcc,column": ("pcc", {}, CLASSES[..., None], SCORES),
    "loss": ("loss", {}, NUMBERS, OTHERS),
}


@pytest.fixture(scope="module")
def recorded(pytestconfig):
    values = Recorded("metric", pytestconfig.getoption("--record"))
    yield values
    values.write()


@pytest.mark.parametrize("case", CASES)
def test_values(recorded, case):
    name, settings, labels, preds = CASES[case]
    made = metric.create(name, **settings)
    found = []
    for label, pred in zip(labels, preds):
        made.update([nd.array(label)], [nd.array(pred)])
        found.append(made.get()[1])
    made.reset_local()
    assert math.isnan(made.get()[1])
    if case != "pearson,micro":  # MXNet has no global values of it, and does not begin anew
        found.append(made.get_global()[1])
        made.update([nd.array(labels[1])], [nd.array(preds[1])])
        found.append(made.get()[1])
    made.reset()
    assert math.isnan(made.get_global()[1])
    recorded.check(case, found, *TOLERANCE)


def test_sums_can_be_read_and_set():
    accuracy = metric.Accuracy()
    right = [nd.array([1, 1, 0])], [nd.array([[0, 1], [1, 0], [1, 0]])]
    accuracy.update(*right)
    accuracy.update(*right)
    assert (accuracy.sum_metric, accuracy.num_inst) == (4.0, 6)
    accuracy.sum_metric = 1.0
    accuracy.update(*right)
    assert accuracy.get() == ("accuracy", 3 / 9)
    assert accuracy.global_sum_metric == 6.0


def test_sums_do_not_lose_small_numbers():
    loss = metric.Loss()
    for value in (2.0**24, 1.0, 1.0, 1.0):
        loss.update(None, [nd.array([value])])
    assert loss.sum_metric == 2**24 + 3


@pytest.mark.engine("torch")  # MXNet's table has a row for each class up to the greatest
def test_classes_of_great_numbers_need_no_memory():
    few, great = mx.metric.create("pcc"), mx.metric.create("pcc")
    for labels, preds in (([0, 1, 1, 2], [0, 1, 2, 2]), ([2, 2, 0], [2, 1, 0])):
        few.update([nd.array(labels)], [nd.array(preds)])
        labels, preds = (np.array(classes) * (1 << 40) for classes in (labels, preds))
        great.update([nd.array(labels, dtype="int64")], [nd.array(preds, dtype="int64")])
    assert great.get() == few.get()


def test_a_batch_over_contexts():
    accuracy = metric.Accuracy()
    contexts = [mx.cpu(0), mx.cpu(1)]
    labels = [nd.array([1], ctx=c) for c in contexts]
    preds = [nd.array([row], ctx=c) for row, c in zip([[0.1, 0.9], [0.9, 0.1]], contexts)]
    accuracy.update(labels, preds)
    assert accuracy.get() == ("accuracy", 0.5)


@pytest.mark.parametrize("name", ["f1", "mcc"])
def test_a_binary_score_is_of_all_arrays_of_an_update(name):
    """As of several devices, which share a batch; the mean over updates follows."""
    at_once, in_two = metric.create(name), metric.create(name)
    for label, pred in zip(YES, TWO):
        at_once.update([nd.array(label)], [nd.array(pred)])
        parts = [
            (nd.array(label[:4]), nd.array(pred[:4])),
            (nd.array(label[4:]), nd.array(pred[4:])),
        ]
        in_two.update(*zip(*parts))
        assert in_two.get() == at_once.get()
    assert in_two.num_inst == 2


@pytest.mark.engine("torch")
def test_accuracy_waits_for_nothing(monkeypatch):
    """The value is read when it is asked for, not at each update."""
    monkeypatch.setattr(nd.NDArray, "asnumpy", lambda self: pytest.fail("read by update"))
    accuracy = metric.Accuracy()
    for _ in range(3):
        accuracy.update([nd.array([1])], [nd.array([[0.2, 0.8]])])
    assert accuracy._waiting
    assert accuracy.get() == ("accuracy", 1.0)
    assert not accuracy._waiting


def test_before_anything():
    accuracy = metric.Accuracy()
    assert str(accuracy) == "EvalMetric: {'accuracy': nan}"
    assert accuracy.get_name_value()[0][0] == "accuracy"


def test_config():
    config = metric.Accuracy(axis=2, label_names=["l"]).get_config()
    assert config == {
        "metric": "Accuracy",
        "name": "accuracy",
        "output_names": None,
        "label_names": ["l"],
        "axis": 2,
    }
    for made in (metric.create(config), metric.create(json.dumps(config))):
        assert made.get_config() == config


def test_by_name():
    accuracy = metric.Accuracy(output_names=["o"], label_names=["l"])
    labels = {"l": nd.array([1]), "x": nd.array([0])}
    accuracy.update_dict(labels, {"o": nd.array([[0.2, 0.8]]), "q": nd.array([[0.8, 0.2]])})
    assert accuracy.get() == ("accuracy", 1.0)


def test_composite():
    both = metric.create(["acc", metric.MSE()])
    assert both.get_name_value()[1][0] == "mse"
    both.update([nd.array([[1.0]])], [nd.array([[3.0]])])
    assert both.get() == (["accuracy", "mse"], [0.0, 4.0])
    both.add("mae")
    assert both.get_metric(2).name == "mae"
    assert [m["metric"] for m in both.get_config()["metrics"]] == ["Accuracy", "MSE", "MAE"]
    both.reset()
    assert np.isnan(both.get()[1]).all()


def test_composite_by_name():
    both = metric.CompositeEvalMetric(["acc"], label_names=["l"])
    both.update_dict({"l": nd.array([1]), "x": nd.array([0])}, {"o": nd.array([[0.2, 0.8]])})
    assert both.get() == (["accuracy"], [1.0])


def total_error(label, pred):
    return float(np.abs(label - pred).sum())


def test_of_a_function():
    labels, preds = [nd.array([1.0, 2.0])], [nd.array([1.0, 4.0])]
    for made in (metric.create(total_error), metric.np(total_error)):
        made.update(labels, preds)
        assert made.get() == ("total_error", 2.0)
    assert metric.CustomMetric(lambda label, pred: 1.0).name == "custom(<lambda>)"
    mean = metric.CustomMetric(lambda label, pred: (total_error(label, pred), len(label)), "mean")
    mean.update(labels, preds)
    assert mean.get() == ("mean", 1.0)
    with pytest.raises(NotImplementedError):
        mean.get_config()


def test_of_a_function_with_more_outputs():
    labels, preds = [nd.ones(2)], [nd.ones(2), nd.ones(2)]
    with pytest.raises(ValueError, match="1.*2"):
        metric.np(total_error).update(labels, preds)
    more = metric.np(total_error, allow_extra_outputs=True)
    more.update(labels, preds)
    assert more.get()[1] == 0.0


def test_of_ones_own():
    @metric.alias("mine_too")
    @metric.register
    class Mine(metric.EvalMetric):
        def __init__(self, **kwargs):
            super().__init__("mine", **kwargs)

        def reset(self):
            self.num_inst = 0
            self.sum_metric = 0.0

        def update(self, labels, preds):
            self.sum_metric += preds[0].sum().asscalar()
            self.num_inst += 1

    for name in ("mine", "mine_too"):
        mine = metric.create(name)
        for _ in range(2):
            mine.update([], [nd.array([2.0, 3.0])])
        assert mine.get() == mine.get_global() == ("mine", 5.0)


@pytest.mark.engine("torch")
@pytest.mark.parametrize("name", ["f1", "pcc"])
def test_labels_that_are_no_classes_are_shown_and_only_some(name):
    labels, scores = nd.array([0.0] * 1000) - 3, nd.array([[0.0, 1.0]] * 1000)
    with pytest.raises(ValueError, match=rf"{name}: labels are \[-3, .*\.\.\.\]") as caught:
        metric.create(name).update([labels], [scores])
    assert len(str(caught.value)) < 200


@pytest.mark.parametrize("name, options", [("f1", {}), ("top_k_acc", {"top_k": 2})])
def test_as_many_labels_as_predictions(name, options):
    with pytest.raises((ValueError, AssertionError, IndexError)):
        metric.create(name, **options).update([nd.ones(2)], [nd.ones((3, 3))])


def test_base():
    with pytest.raises(NotImplementedError):
        metric.EvalMetric("x").update([], [])


@pytest.mark.parametrize(
    "name, labels, preds",
    [
        ("acc", [(3,)], [(3, 2), (3, 2)]),
        ("acc", [(3,)], [(4, 2)]),
        ("f1", [(3,)], [(3,)]),
        ("mae", [(2,)], [(2,), (2,)]),
    ],
)
def test_refused(name, labels, preds):
    with pytest.raises(ValueError, match=r"\w"):
        metric.create(name).update([nd.ones(s) for s in labels], [nd.ones(s) for s in preds])


@pytest.mark.engine("torch")
@pytest.mark.parametrize(
    "name, label, pred, message",
    [
        ("pearsonr", (2,), (3, 4), r"labels are \(2,\), predictions \(3, 4\)\n  expected the same"),
        ("acc", (3, 4), (2,), r"accuracy: predictions are \(2,\)\n  expected .* along axis 1"),
        ("ce", (3,), (3,), r"3 labels for predictions \(3,\)\n  expected predictions \(n, classes"),
        ("nll_loss", (3,), (3, 2, 2), r"3 labels for predictions \(3, 2, 2\)"),
        ("ce", (3,), (3, 1), r"label 1 for predictions of 1 classes\n  expected 0 to 0"),
    ],
)
def test_what_is_refused_is_said_with_the_shapes(name, label, pred, message):
    with pytest.raises(ValueError, match=message):
        metric.create(name).update([nd.ones(label)], [nd.ones(pred)])


@pytest.mark.engine("torch")
@pytest.mark.parametrize("name", ["foo", 3, None])
def test_unknown(name):
    with pytest.raises(ValueError, match="metric"):
        metric.create(name)


@pytest.mark.engine("torch")
def test_perplexity_along_another_axis():
    """MXNet refuses any axis but the last."""
    last, first = (metric.Perplexity(None, axis=axis) for axis in (-1, 1))
    last.update([nd.array(LABELS[0])], [nd.array(PIXELS[0].transpose(0, 2, 1))])
    first.update([nd.array(LABELS[0])], [nd.array(PIXELS[0])])
    assert last.get() == first.get()


def test_more_than_two_classes():
    with pytest.raises(ValueError, match="binary|two"):
        metric.F1().update([nd.array([0, 1, 2])], [nd.array(SCORES[0, :3])])


def test_check_label_shapes():
    x, y = nd.ones((2, 3)), nd.ones((2, 2))
    assert metric.check_label_shapes(x, y, wrap=True) == ([x], [y])
    with pytest.raises(ValueError, match="3"):
        metric.check_label_shapes(x, y, shape=True)


@pytest.mark.parametrize("name", ["mae", "mse", "rmse"])
@pytest.mark.parametrize("label, pred", [((6, 2), (6, 3)), ((6,), (5,))])
def test_an_error_of_shapes_that_do_not_fit(name, label, pred):
    made = metric.create(name)
    with pytest.raises(ValueError, match="broadcast"):
        made.update([nd.ones(label)], [nd.ones(pred)])
    assert made.num_inst == 0
    made.update([nd.ones((6, 1))], [nd.zeros((6, 3))])
    assert made.get()[1] == 1.0


def test_the_name_of_a_metric_of_a_function():
    def mistakes(label, pred):
        return 0.0

    for make in (metric.np, metric.CustomMetric):
        assert make(mistakes).name == "mistakes"
        assert make(lambda label, pred: 0.0).name == "custom(<lambda>)"
        assert make(mistakes, name="below<1").name == "below<1"
