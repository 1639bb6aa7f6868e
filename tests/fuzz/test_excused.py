"""A rule excuses what it names, and no defect beside it."""

from __future__ import annotations

import numpy as np
import pytest
from repeated import first_alone

from fuzz.compare import DIFFER, MXNETS_OWN, REFUSED
from fuzz.excused import excuse
from fuzz.judge import beside_mxnet
from fuzz.oracle import ABSENT, PYTHON, MXNet
from fuzz.program import array, call, literal, path
from fuzz.recording import program
from layers.mxnet._table import registry
from layers.mxnet.base import ArgumentError, ShapeError

pytestmark = pytest.mark.filterwarnings("ignore")


@pytest.fixture(scope="module")
def mxnet():
    if not PYTHON.exists():
        pytest.skip(ABSENT)
    with MXNet() as started:
        yield started


def calls(row, *inputs, of="float32", **attributes):
    """A program that records a call of a row, and shows the output, gradients and inputs."""
    names = [f"x{i}" for i in range(len(inputs))]
    do = [["let", n, array(np.array(x, of))] for n, x in zip(names, inputs)]
    do += [["do", call(f"{n}.attach_grad")] for n in names[:2]]
    options = {name: literal(value) for name, value in attributes.items()}
    y = call(f"mx.nd.{row}", *map(path, names), **options)
    do += [["with", call("mx.autograd.record"), [["let", "y", y]]]]
    show = [path("y")]
    if "dtype" not in attributes:  # integers have no gradient
        do.append(["do", call("backward", path("mx"), path("y"))])
        show += [path(f"{n}.grad") for n in names[:2]] + [path(n) for n in names]
    return program(f"operators/{row}", do, show)


def layer(of, name, **options):
    """A program that trains a layer for a step."""
    do = [["let", "x", array(np.array(of, "float32"))]]
    do += [["let", "net", call(f"mx.gluon.nn.{name}", **options)]]
    do += [["do", call("fill", path("mx"), path("net"), path("x"))]]
    do += [["with", call("mx.autograd.record"), [["let", "y", call("net", path("x"))]]]]
    do += [["do", call("backward", path("mx"), path("y"))]]
    return program(f"layers/{name}", do, [path("y"), call("parameters", path("net"))])


def wrong(run):
    """What a row computes, a little wrong."""

    def changed(*args, **kwargs):
        y = run(*args, **kwargs)
        first, *rest = y if isinstance(y, tuple) else (y,)
        first = first * 1.01 if first.is_floating_point() else first + 1
        return (first, *rest) if isinstance(y, tuple) else first

    return changed


def wrong_gradient(run):
    return lambda x, *args, **kwargs: run(x * 1.01 - x.detach() * 0.01, *args, **kwargs)


def refuses(error):
    def refusing(run):
        def refuse(*args, **kwargs):
            raise error

        return refuse

    return refusing


BATCH = [[[2.0, -1.0], [1.0, 3.0], [0.5, 4.0]], [0.5, 2.0], [1.0, 0.0], [0.3, 0.1], [1.5, 2.5]]
KERNEL = [[[1.0, 10.0, 100.0]]]
DILATED = {"of": "float64", "kernel": (3,), "num_filter": 1, "stride": (2,), "dilate": (2,)}
PADDED = {"kernel": (1,), "pad": (1,)}

gamma = calls("BatchNorm", *BATCH)
gamma_of_a_layer = layer(BATCH[0], "BatchNorm", scale=False)
rounded = calls("amp_cast", [[0.6, 1.7, -2.5, 3.0]], dtype="int32")
padded = calls("Pooling", [[[1.0, 2.0]]], **PADDED, pool_type="sum")
beyond = calls("diag", [[1.0, 2.0, 3.0]], k=-1)
anchors = calls("contrib.MultiBoxPrior", [[[[1.0]]]], ratios=(1, 0))
dilated = calls("Deconvolution", [[[1.0, 2.0]]], KERNEL, **DILATED)

EXCUSED = [
    ("a fixed gamma", gamma),
    ("a fixed gamma", gamma_of_a_layer),
    ("amp_cast to integers", rounded),
    ("a pad as large as the kernel", padded),
    ("diag beyond the corner", beyond),
    ("a ratio of anchors that is not above 0", anchors),
    ("Deconvolution in float64", dilated),
]
DEFECTS = [  # a program, the row of it that is broken, and how
    (gamma, "BatchNorm", wrong),
    (gamma, "BatchNorm", wrong_gradient),
    (gamma_of_a_layer, "BatchNorm", wrong),
    (rounded, "amp_cast", wrong),
    (
        padded,
        "Pooling",
        refuses(ShapeError("Pooling: kernel is 2, stride 1, pad 1 for an axis of 2")),
    ),
    (padded, "Pooling", refuses(ArgumentError("Pooling: pad is wrong"))),
    (
        calls("Pooling", [[[1.0, 2.0]]], kernel=(1,), pool_type="sum"),
        "Pooling",
        refuses(ShapeError("Pooling: kernel is 1, stride 1, pad 0 for an axis of 2")),
    ),
    (beyond, "diag", refuses(ArgumentError("diag: axis1 is 0"))),
    (
        calls("diag", [[1.0, 2.0], [3.0, 4.0]], k=1),
        "diag",
        refuses(ArgumentError("diag: k is 1")),
    ),
    (anchors, "_contrib_MultiBoxPrior", refuses(ArgumentError("MultiBoxPrior: sizes is (1,)"))),
    (dilated, "Deconvolution", wrong_gradient),
    (dilated, "Deconvolution", refuses(ArgumentError("float64"))),
    (
        calls("Deconvolution", [[[1.0, 2.0]]], KERNEL, **DILATED | {"dilate": (1,)}),
        "Deconvolution",
        wrong,
    ),
    (calls("Dropout", [[1.0, 2.0]], p=0.0), "Dropout", wrong),
    (calls("cast", [[0.0, 0.123456789]], dtype="int32"), "Cast", wrong),
]


@pytest.mark.parametrize("reason, what", EXCUSED, ids=[name for name, _ in EXCUSED])
def test_what_a_rule_names_is_excused(mx, mxnet, reason, what):
    verdict = beside_mxnet(mx, mxnet)(what)
    assert (verdict.outcome, verdict.reason) == (MXNETS_OWN, reason), verdict


@pytest.mark.parametrize(
    "what, name, broken", first_alone(DEFECTS), ids=[name for _, name, _ in DEFECTS]
)
def test_a_defect_beside_it_is_not(mx, mxnet, monkeypatch, what, name, broken):
    row = registry.get(name)
    monkeypatch.setattr(row, "run", broken(row.run))
    verdict = beside_mxnet(mx, mxnet)(what)
    assert verdict.outcome in (DIFFER, REFUSED), verdict


def test_digits_behind_the_point_are_no_large_integer():
    of = program("operators/mean", [["let", "x0", array(np.array([1], "int32"))]], [path("x0")])
    theirs, ours = ({"shown": [["array", "float32", [1], [x]]]} for x in (0.123456789, 0.2))
    assert excuse(of, theirs, ours) is None
