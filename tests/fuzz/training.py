"""What trains and measures: metrics, optimizers, initializers, learning-rate schedulers."""

from __future__ import annotations

from hypothesis import strategies as st

from .program import Expression, Program, array, call, literal, path
from .recording import program
from .values import Draw, one, rarely, shape, values


def _some(draw: Draw, choices: dict) -> dict[str, Expression]:
    """Some of the options, each as one of its choices."""
    return {
        name: literal(one(draw, *options))
        for name, options in choices.items()
        if draw(st.booleans())
    }


# Metrics: what they take beside name, and the kinds of labels and predictions

METRICS = {
    "Accuracy": ("classes", {"axis": (1, -1)}),
    "TopKAccuracy": ("classes", {}),
    "F1": ("binary", {"average": ("macro", "micro")}),
    "MCC": ("binary", {"average": ("macro", "micro")}),
    "CrossEntropy": ("classes", {"eps": (1e-12, 1e-3)}),
    "NegativeLogLikelihood": ("classes", {"eps": (1e-12, 1e-3)}),
    "Perplexity": ("classes", {"axis": (-1,)}),
    "MAE": ("numbers", {}),
    "MSE": ("numbers", {}),
    "RMSE": ("numbers", {}),
    "PearsonCorrelation": ("numbers", {"average": ("macro", "micro")}),
    "Loss": ("numbers", {}),
}


@st.composite
def metrics(draw) -> Program:
    """A metric over several updates, of one array each or of several."""
    name = one(draw, *METRICS)
    kind, choices = METRICS[name]
    given = _some(draw, choices)
    if name == "TopKAccuracy":
        given["top_k"] = one(draw, 2, 3)
    if name == "Perplexity":
        given["ignore_label"] = one(draw, None, 0)
    do = [["let", "m", call(f"mx.metric.{name}", **given)]]
    show = []
    for i in range(one(draw, 1, 2, 3)):
        pairs = [_judged(draw, kind) for _ in range(2 if rarely(draw, 4) else 1)]
        labels, predictions = (["list", *(map(array, side))] for side in zip(*pairs))
        do += [["do", call("m.update", labels, predictions)], ["let", f"r{i}", call("m.get")]]
        show.append(path(f"r{i}"))
        if rarely(draw, 6):
            do.append(["do", call(one(draw, "m.reset", "m.reset_local"))])
    return program(f"metrics/{name}", do, [*show, call("m.get_name_value"), call("m.get_global")])


def _judged(draw: Draw, kind: str):
    n = one(draw, 4, 1, 7)
    dtype = one(draw, "float32", "float32", "int32")
    if kind == "numbers":
        of = (n,) if draw(st.booleans()) else (n, one(draw, 1, 3))
        return values(draw, of, "float32", "normal"), values(draw, of, "float32", "ties")
    k = 2 if kind == "binary" else 3
    predicted = values(draw, (n, k), "float32", "unit") + 0.01
    predicted /= predicted.sum(1, keepdims=True)
    return values(draw, (n,), dtype, "indices") % k, predicted


# Optimizers

_COMMON = {
    "learning_rate": (0.1, 0.5),
    "wd": (0.0, 0.1),
    "rescale_grad": (1.0, 0.5),
    "clip_gradient": (None, 0.5),
    "begin_num_update": (0, 3),
}
OPTIMIZERS = {
    "SGD": {"momentum": (0.9, 0.0), "multi_precision": (False, True), "lazy_update": (True, False)},
    "NAG": {"momentum": (0.9, 0.0), "multi_precision": (False, True)},
    "Adam": {"beta1": (0.9, 0.5), "beta2": (0.999, 0.9), "epsilon": (1e-8, 1e-3)},
    "AdaGrad": {"eps": (1e-7, 1e-3)},
    "AdaDelta": {"rho": (0.9, 0.5), "epsilon": (1e-5, 1e-3)},
    "Adamax": {"beta1": (0.9, 0.5), "beta2": (0.999, 0.9)},
    "Nadam": {"beta1": (0.9, 0.5), "schedule_decay": (0.004, 0.1)},
    "Ftrl": {"lamda1": (0.01, 0.1), "beta": (1, 0.5)},
    "RMSProp": {"gamma1": (0.9, 0.5), "centered": (False, True), "clip_weights": (None, 0.5)},
    "Signum": {"momentum": (0.9, 0.0), "wd_lh": (0.0, 0.1)},
}


@st.composite
def optimizers(draw) -> Program:
    """Several steps of an optimizer, on one or two weights."""
    name = one(draw, *OPTIMIZERS)
    options = _some(draw, _COMMON | OPTIMIZERS[name])
    if rarely(draw, 5):
        options["lr_scheduler"] = _scheduler(draw, "FactorScheduler")
    dtype = "float16" if options.get("multi_precision") and draw(st.booleans()) else "float32"
    do = [["let", "o", call(f"mx.optimizer.{name}", **options)]]
    do += [["let", "update", call("mx.optimizer.get_updater", path("o"))]]
    if rarely(draw, 4):
        do.append(["do", call("o.set_learning_rate", 0.25)])
    if rarely(draw, 4):
        do.append(["do", call("o.set_wd_mult", call("dict", ["list", ["tuple", 0, 0.5]]))])
    weights = [shape(draw, 1, 3) for _ in range(one(draw, 1, 2))]
    do += [["let", f"w{i}", array(values(draw, s, dtype, "normal"))] for i, s in enumerate(weights)]
    for _ in range(one(draw, 2, 1, 4)):
        for i, s in enumerate(weights):
            gradient = array(values(draw, s, dtype, "normal"))
            do.append(["do", call("update", i, gradient, path(f"w{i}"))])
    show = [path(f"w{i}") for i in range(len(weights))]
    return program(f"optimizers/{name}", do, [*show, path("o.num_update"), path("o.learning_rate")])


# Schedulers

SCHEDULERS = {
    "FactorScheduler": {"factor": (0.5, 1), "stop_factor_lr": (1e-8, 0.3)},
    "MultiFactorScheduler": {"factor": (0.5, 0.1)},
    "PolyScheduler": {"pwr": (2, 1), "final_lr": (0, 0.1)},
    "CosineScheduler": {"final_lr": (0, 0.1)},
}
_WARMUP = {
    "base_lr": (0.1, 1.0, 0.5),
    "warmup_steps": (0, 3),
    "warmup_begin_lr": (0, 0.05),
    "warmup_mode": ("linear", "constant"),
}


def _scheduler(draw: Draw, name: str) -> Expression:
    first = {"FactorScheduler": one(draw, 2, 1, 5), "MultiFactorScheduler": literal([4, 7])}
    options = _some(draw, _WARMUP | SCHEDULERS[name])
    return call(f"mx.lr_scheduler.{name}", first.get(name, one(draw, 8, 5)), **options)


@st.composite
def schedulers(draw) -> Program:
    """The learning rates of a scheduler, at growing numbers of updates."""
    name = one(draw, *SCHEDULERS)
    steps = sorted(draw(st.lists(st.integers(0, 20), min_size=1, max_size=6)))
    do = [["let", "s", _scheduler(draw, name)]]
    do += [["let", f"r{i}", call("s", step)] for i, step in enumerate(steps)]
    return program(f"schedulers/{name}", do, [path(f"r{i}") for i in range(len(steps))])


# Initializers

INITIALIZERS = {  # whose values are not random, then the others
    "Zero": {},
    "One": {},
    "Constant": {"value": (0.5, -1)},
    "LSTMBias": {"forget_bias": (1.0, 0.5)},
    "Bilinear": {},
    "Uniform": {"scale": (0.07, 1)},
    "Normal": {"sigma": (0.01, 1)},
    "Xavier": {
        "rnd_type": ("uniform", "gaussian"),
        "factor_type": ("avg", "in", "out"),
        "magnitude": (3, 1.5),
    },
    "MSRAPrelu": {"factor_type": ("avg", "in", "out"), "slope": (0.25, 0)},
    "Orthogonal": {"scale": (1.414, 1), "rand_type": ("uniform", "normal")},
}
NAMES = ("weight", "weight", "fc1_weight", "bias", "gamma", "beta")


@st.composite
def initializers(draw) -> Program:
    """An initializer on an array of a name; of random values the kind."""
    name = one(draw, *INITIALIZERS)
    options = _some(draw, INITIALIZERS[name])
    if name == "Constant":
        options = {"value": one(draw, 0.5, -1)}
    of = shape(draw, 4, 4) if name == "Bilinear" else shape(draw, 2, 3)
    of = (of[0] * 4,) if name == "LSTMBias" else of
    what = one(draw, *NAMES) if not rarely(draw, 20) else "other"
    do = [
        ["let", "x", call("mx.nd.ones", literal(of))],
        ["let", "init", call(f"mx.init.{name}", **options)],
        ["do", call("init", call("mx.init.InitDesc", what), path("x"))],
    ]
    fixed = name in list(INITIALIZERS)[:5] or what not in ("weight", "fc1_weight")
    shown = path("x") if fixed else call("kind", path("x"))
    return program(f"initializers/{name}", do, [shown, call("init.dumps")])
