"""GluonCV on the engine under test, and MXNet's values for its parts."""

import importlib
import importlib.util
import random
import zlib

import numpy as np
import pytest
from recorded import Recorded

from train import gluoncv_package


@pytest.fixture(scope="session")
def gluoncv():
    """The package, imported for all tests in this one place."""
    spec = importlib.util.find_spec("gluoncv")  # a folder of the name has no origin
    if not (spec and spec.origin):
        pytest.skip("GluonCV is not installed here")
    return gluoncv_package.gluoncv()


@pytest.fixture(scope="module")
def golden(request):
    """MXNet's values for the tests of a module, in tests/golden/gluoncv_<its part>.json."""
    part = request.path.stem.removeprefix("test_")
    found = Recorded(f"gluoncv_{part}", request.config.getoption("--record"))
    yield found
    found.write()


@pytest.fixture
def held(golden, request):
    """Hold what a test has found to MXNet's: arrays of both kinds, numbers, and lists of them."""

    def held(*found, relative=1e-4):
        values = [digest(value) for value in arrays(found)]
        golden.check(request.node.name, values, relative, relative)

    return held


@pytest.fixture
def draw(request):
    """NumPy's generator, the same for a test on both engines; all others are seeded too."""
    random.seed(1)
    np.random.seed(1)
    return np.random.RandomState(zlib.crc32(request.node.name.encode()))


@pytest.fixture
def run(mx):
    """Call a block and go backward: its outputs and the gradients of its first inputs.

    It is called as it is and, where it is not said otherwise, hybridized.
    """

    def run(block, *inputs, gradients=1, hybrid=True):
        inputs = [mx.nd.array(x, dtype=x.dtype) for x in inputs]
        found = []
        for hybridized in (False, True)[: 1 + hybrid]:
            if hybridized:
                block.hybridize()
            for x in inputs[:gradients]:
                x.attach_grad()
            with mx.autograd.record():
                outputs = block(*inputs)
            if gradients:
                mx.autograd.backward(flat(outputs), [head(mx, y) for y in flat(outputs)])
            found.append([outputs, [x.grad for x in inputs[:gradients]]])
        return found

    return run


@pytest.fixture
def preset(gluoncv):
    """GluonCV's transforms for a kind of model, by the name of their module."""
    return lambda name: importlib.import_module(f"gluoncv.data.transforms.presets.{name}")


def head(mx, y):
    """A gradient of an output that is not the same everywhere."""
    return mx.nd.cos(mx.nd.arange(y.size)).reshape(y.shape)


def flat(found):
    """The values in nested lists and dictionaries, in their order."""
    if isinstance(found, dict):
        found = [found[name] for name in sorted(found)]
    if not isinstance(found, (list, tuple)):
        return [found]
    return [value for part in found for value in flat(part)]


def arrays(found):
    values = [value for value in flat(found) if value is not None]
    return [v.asnumpy() if hasattr(v, "asnumpy") else np.asarray(v) for v in values]


def digest(value):
    """An array in few numbers: its shape, some values and a sum of all with weights.

    All but the shape and the last, the greatest value, are in parts of that.
    """
    value = np.asarray(value, "float64")
    greatest = np.abs(value).max(initial=1e-9)
    parts = value.ravel() / greatest
    weighted = (parts * np.cos(np.arange(parts.size))).sum() / max(1, parts.size) ** 0.5
    return [*value.shape, *parts[:: max(1, parts.size // 16)][:16], weighted, greatest]
