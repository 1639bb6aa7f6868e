"""Options of the suite: which engine it runs on, and whether it records MXNet's values."""

import logging
import os

# On busy cores, threads that wait for each other make a training step 50 times slower.
os.environ.setdefault("OMP_NUM_THREADS", "1")
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version

import hypothesis
import numpy as np
import processor
import pytest

ENGINES = ("torch", "mxnet")

# The same examples on every run, and no time limit on each: CI is slow and shared.
hypothesis.settings.register_profile("tests", derandomize=True, deadline=None)
hypothesis.settings.load_profile("tests")


def pytest_addoption(parser):
    group = parser.getgroup("layers")
    group.addoption("--engine", choices=ENGINES, default="torch", help="the engine (torch)")
    group.addoption("--context", help="where arrays are made that name no context, such as gpu(0)")
    group.addoption("--record", action="store_true", help="write MXNet's values into tests/golden/")


def pytest_configure(config):
    engine = config.getoption("--engine")
    if config.getoption("--record") and engine != "mxnet":
        raise pytest.UsageError("--record writes MXNet's values: it goes with --engine mxnet")
    os.environ["LAYERS_ENGINE"] = engine  # read once, when layers.engine is imported


def pytest_report_header(config):
    engine = config.getoption("--engine")
    return f"engine: {engine} {installed(engine)}, numpy {installed('numpy')}"


def installed(package):
    try:
        return version(package)
    except PackageNotFoundError:
        return "(not installed)"


@pytest.hookimpl(tryfirst=True)  # before pytest leaves out what is slow
def pytest_collection_modifyitems(config, items):
    """Leave out what holds for the other engine only, and what this one takes too long for."""
    engine = config.getoption("--engine")
    held, other = [], []
    for item in items:
        if any(engine in mark.args for mark in item.iter_markers("slow_on")):
            item.add_marker("slow")
        for mark in item.iter_markers("mxnet_needs"):
            if engine == "mxnet" and processor.lacks(*mark.args):
                reason = f"MXNet cannot compute it without {mark.args[0]}"
                item.add_marker(pytest.mark.skip(reason=reason))
        engines = [mark.args for mark in item.iter_markers("engine")]
        if any(not names or not set(names) <= set(ENGINES) for names in engines):
            raise pytest.UsageError(
                f"{item.nodeid}: its mark `engine` names none, or an unknown one"
            )
        (held if all(engine in names for names in engines) else other).append(item)
    if other:
        config.hook.pytest_deselected(items=other)
        items[:] = held


@pytest.fixture(autouse=True)
def context(pytestconfig):
    """Arrays that name no context are made on that of ``--context``."""
    asked = pytestconfig.getoption("--context")
    if asked is None:
        yield
        return
    kind, _, number = asked.rstrip(")").partition("(")
    with import_module("layers.engine").mx.Context(kind, int(number or 0)):
        yield


@pytest.fixture(scope="session")
def engine(pytestconfig):
    """The name of the engine under test: torch or mxnet."""
    return pytestconfig.getoption("--engine")


@pytest.fixture(scope="session")
def mx(engine):
    """The engine under test, by MXNet's API."""
    module = import_module({"torch": "layers.mxnet", "mxnet": "mxnet"}[engine])
    # In each phase of a test pytest adds its handlers to all loggers that do not propagate; PyTorch
    # has 43 of them.
    for logger in logging.root.manager.loggerDict.values():
        if isinstance(logger, logging.Logger):
            logger.propagate = True
    return module


@pytest.fixture
def phases(monkeypatch):
    """The phases in which operators' own code ran, in their order."""
    from layers.mxnet._state import State

    seen = []

    def profile(category, name, function):
        if category == "Custom Operator":
            seen.append("backward" if name.startswith("_backward_") else "forward")
        return function

    monkeypatch.setattr(State, "profile", staticmethod(profile))
    return seen


@pytest.fixture(autouse=True)
def _seeded(mx):
    """The same numbers in every run: what is drawn without a seed must not decide a test."""
    mx.random.seed(0)
    np.random.seed(0)
