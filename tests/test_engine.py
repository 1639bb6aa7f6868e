"""How the engine is chosen, and what happens when two of them meet."""

import os
import traceback

import forks
import pytest

import layers
from layers import ops
from layers.engine import EngineError, expect, nd


def run(code, **environment):
    """Run a program in a process of its own; what it printed, and its last line of error."""
    inherited = {k: v for k, v in os.environ.items() if not k.startswith("LAYERS_")}
    done = forks.run(["-W", "ignore", "-c", code], env=inherited | environment)
    return done.stdout.strip(), done.stderr.strip()


CHOSEN = "from layers.engine import mx, name; print(name(), mx.__name__)"
HOMES = {"torch": "torch layers.mxnet", "mxnet": "mxnet mxnet"}


def test_by_environment(engine, monkeypatch):
    """And MXNet gets two workers, which custom operators need."""
    monkeypatch.delenv("MXNET_CPU_WORKER_NTHREADS", raising=False)
    workers = "import os; print(os.environ['MXNET_CPU_WORKER_NTHREADS'])"
    if engine == "torch":  # which leaves the environment as it is
        assert run(CHOSEN, LAYERS_ENGINE=engine)[0] == HOMES[engine]
        return
    told = run(f"{CHOSEN}; {workers}", LAYERS_ENGINE=engine)[0]
    assert told.splitlines() == [HOMES[engine], "2"]


@pytest.mark.engine("torch")
def test_torch_is_the_default():
    assert run(CHOSEN)[0] == HOMES["torch"]


@pytest.mark.engine("mxnet")
def test_mxnet_when_it_is_imported_already():
    assert run("import mxnet\n" + CHOSEN)[0] == HOMES["mxnet"]


@pytest.mark.engine("torch")
def test_torch_under_the_name_of_mxnet():
    code = "import layers.mxnet; layers.mxnet.install(); import mxnet\n"
    assert run(code + CHOSEN)[0] == HOMES["torch"]


def test_mistakes(engine):
    told = run(CHOSEN, LAYERS_ENGINE="tensorflow")[1]
    assert "LAYERS_ENGINE is 'tensorflow'" in told and "expected 'torch' or 'mxnet'" in told
    other = {"torch": "mxnet", "mxnet": "torch"}[engine]
    package = {"torch": "mxnet", "mxnet": "torch"}[engine]
    told = run(CHOSEN, LAYERS_ENGINE=other)[1]
    assert f"the engine {other!r} needs {package}, which is not installed" in told


@pytest.fixture
def stranger(engine):
    """An array of the other engine, as far as can be seen from outside."""
    home = {"torch": "mxnet.ndarray.ndarray", "mxnet": "layers.mxnet.ndarray.ndarray"}[engine]
    return type("NDArray", (), {"__module__": home})()


def test_arrays_of_the_other_engine_are_refused(engine, stranger):
    other = {"torch": "mxnet", "mxnet": "torch"}[engine]
    from layers.ops import dense

    block = layers.DenseBlock(3, 5)
    block.initialize()
    for call in (
        lambda: expect("here", (nd.ones((1,)), stranger)),
        lambda: dense(stranger, nd.ones((5, 3))),
        lambda: block(stranger),
        lambda: layers.SigmoidBlock()(stranger),
        lambda: layers.SoftmaxLoss()(nd.ones((2, 3)), stranger),
    ):
        with pytest.raises(EngineError, match=f"(?s)engine '{other}'.*LAYERS_ENGINE={other}"):
            call()


def test_unknown_names():
    with pytest.raises(AttributeError, match="nothing"):
        layers.nothing  # noqa: B018 - the access is the test
    assert set(layers.__all__) <= set(dir(layers))


@pytest.mark.parametrize(
    "module, wrong, right",
    [
        (layers, "DenseBlok", "DenseBlock"),
        (layers, "softmaxloss", "SoftmaxLoss"),
        (ops, "sofmax_output", "softmax_output"),
        (ops, "linear_crossentropy", "linear_cross_entropy"),
    ],
)
def test_a_misspelt_name(module, wrong, right):
    with pytest.raises(AttributeError) as told:
        getattr(module, wrong)
    expected = f"module {module.__name__!r} has no attribute {wrong!r}\n  did you mean {right!r}?"
    assert "".join(traceback.format_exception_only(told.value)) == f"AttributeError: {expected}\n"
    wrapped = "__wrapped__"  # which Python asks for
    with pytest.raises(AttributeError, match="no attribute '__wrapped__'$"):
        getattr(module, wrapped)
