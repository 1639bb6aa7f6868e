"""Importing the library changes nothing in the process that others see."""

import forks
import pytest

pytestmark = pytest.mark.engine("torch")
PROGRAM = """
import ctypes, logging, os, random, signal, sys, warnings
import numpy, torch

called = []
library = ctypes.CDLL


class Watched(library):
    def __getattr__(self, name):
        if name == "mallopt":
            called.append(name)
        return super().__getattr__(name)


def state():
    return {
        "environment": dict(os.environ),
        "threads": (torch.get_num_threads(), torch.get_num_interop_threads()),
        "dtype": torch.get_default_dtype(),
        "gradients": (torch.is_grad_enabled(), torch.are_deterministic_algorithms_enabled()),
        "logging": (logging.root.handlers[:], logging.root.level, logging.raiseExceptions),
        "warnings": (warnings.filters[:], warnings.showwarning),
        "NumPy": (numpy.geterr(), numpy.geterrcall(), numpy.get_printoptions()),
        "random": (random.getstate(), str(numpy.random.get_state())),
        "generator": torch.get_rng_state().tolist(),
        "signals": [signal.getsignal(s) for s in signal.valid_signals()],
        "hooks": (sys.excepthook, sys.unraisablehook, sys.path_hooks[:]),
        # The last one tells what this package has not; it answers for names in it alone.
        "finders": [f for f in sys.meta_path if type(f).__module__ != "layers.mxnet._old.missing"],
        "path": (sys.path[:], sys.argv[:], sys.getrecursionlimit(), os.getcwd()),
        "mallopt": called[:],
    }


ctypes.CDLL = Watched
before = state()
import layers, layers.mxnet
layers.DenseBlock, layers.mxnet.gluon
after = state()
print(*[name for name in before if before[name] != after[name]])
layers.mxnet.tune()
print(*{*called})
"""


def test_importing_changes_nothing_that_others_see():
    found = forks.run(["-c", PROGRAM])
    assert found.returncode == 0, found.stderr
    assert found.stdout.splitlines() == ["", "mallopt"], found.stdout


IN_THIS_ORDER = """
import os
before = dict(os.environ)
import layers.mxnet
print(before == dict(os.environ))
"""


def test_the_environment_stays_where_pytorch_comes_with_it():
    assert forks.run(["-c", IN_THIS_ORDER]).stdout.strip() == "True"
