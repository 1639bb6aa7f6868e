"""Names of MXNet that are not here say so, asked for as an attribute or imported."""

import subprocess
import sys
import textwrap
from importlib import import_module
from pathlib import Path
from types import ModuleType

import pytest

NAMES = Path(__file__).parents[2] / "layers/mxnet/_old/names.txt"
MODULES = """
    attribute autograd base callback context engine error executor executor_manager gluon
    gluon.block gluon.data gluon.data.dataloader gluon.data.dataset gluon.data.sampler gluon.loss
    gluon.nn gluon.parameter gluon.rnn gluon.trainer gluon.utils initializer io kvstore libinfo log
    lr_scheduler metric model module monitor name ndarray ndarray.contrib ndarray.image
    ndarray.linalg ndarray.random ndarray.sparse ndarray.utils operator optimizer random recordio
    registry runtime symbol symbol.contrib symbol.image symbol.linalg symbol.random symbol.sparse
    util visualization
"""
torch_only = pytest.mark.engine("torch")


def public(module):
    """The names of a module that are MXNet's: not what it has imported from elsewhere."""
    return sorted(
        name
        for name, value in vars(module).items()
        if not name.startswith("_") and home(value).startswith("mxnet")
    )


def home(value):
    """The module that a value comes from; MXNet for numbers, which do not tell."""
    named = value.__name__ if isinstance(value, ModuleType) else getattr(value, "__module__", None)
    return named or "mxnet"


@pytest.mark.engine("mxnet")
def test_the_names_are_mxnets(mx, pytestconfig):
    lines = []
    for module in ("mxnet", *(f"mxnet.{name}" for name in MODULES.split())):
        lines += [module, *textwrap.wrap(" ".join(public(import_module(module))), 99)]
    text = "\n".join(line if line.startswith("mxnet") else f" {line}" for line in lines) + "\n"
    if pytestconfig.getoption("--record"):
        NAMES.write_text(text, "utf-8")
    assert NAMES.read_text("utf-8") == text


@torch_only
@pytest.mark.parametrize(
    "part", ["numpy.ones", "image", "contrib", "gluon.data.vision", "gluon.model_zoo", "rtc"]
)
def test_a_part_that_is_not_here(mx, part):
    package, _, name = f"layers.mxnet.{part}".rpartition(".")
    told = f"^mxnet.{part} is not in layers.mxnet"
    with pytest.raises(AttributeError, match=told):
        getattr(import_module(package), name)
    with pytest.raises(ModuleNotFoundError, match=told):
        import_module(f"{package}.{name}")
    with pytest.raises(ModuleNotFoundError, match=told):
        import_module(f"{package}.{name}.inside")
    with pytest.raises(ModuleNotFoundError, match=told):
        __import__(package, fromlist=[name])  # from package import name


@torch_only
@pytest.mark.parametrize(
    "name, instead",
    [
        ("np.ones", "use mx.nd"),
        ("npx.softmax", "use mx.nd"),
        ("sym.numpy.ones", "use mx.sym"),
        ("base.check_call", "it belongs to MXNet's C library"),
        ("base._LIB", "it belongs to MXNet's C library"),
        ("rtc", "register a .cu kernel"),
    ],
)
def test_what_to_use_instead(mx, name, instead):
    module, _, last = f"mx.{name}".rpartition(".")
    with pytest.raises(AttributeError, match=f"is not in layers.mxnet: {instead}"):
        getattr(eval(module, {"mx": mx}), last)


@torch_only
@pytest.mark.parametrize("package", ["layers.mxnet", "layers.mxnet.gluon"])
def test_a_name_of_nothing(mx, package):
    with pytest.raises(AttributeError, match=f"module '{package}' has no attribute 'nothing'"):
        import_module(package).nothing  # noqa: B018 - reading it is what raises
    with pytest.raises(ModuleNotFoundError, match=f"No module named '{package}.nothing'"):
        import_module(f"{package}.nothing")


@torch_only
@pytest.mark.parametrize("place", ["nd.contrib.box_nms", "gluon.loss.SDMLLoss", "optimizer.LAMB"])
def test_a_name_that_is_not_here(mx, place):
    module, _, name = place.rpartition(".")
    with pytest.raises(AttributeError, match=rf"{place[2:]} is not in layers.mxnet yet$"):
        getattr(import_module(f"layers.mxnet.{module.replace('nd', 'ndarray')}"), name)


@torch_only
@pytest.mark.parametrize(
    "text, hint", [("mx.np.one", ""), ("mx.rtc", ""), ("mx.gluon.bloc", "'block'")]
)
def test_python_hints_at_names_that_are_meant(text, hint):
    code = f"import layers.mxnet as mx\n{text}"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert ("Did you mean" in done.stderr) is bool(hint)
    assert hint in done.stderr.splitlines()[-1]
