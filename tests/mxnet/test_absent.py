"""Names of MXNet that are not here say so, asked for as an attribute or imported."""

import os
import re
import sys
import textwrap
from importlib import import_module
from pathlib import Path
from types import ModuleType

import forks
import numpy as np
import pytest

OLD = Path(__file__).parents[2] / "layers/mxnet/_old"
NAMES = OLD / "names.txt"
STARS = OLD / "star_imports.txt"
MODULES = """
    attribute autograd base callback context contrib contrib.amp contrib.amp.amp contrib.amp.lists
    contrib.amp.lists.symbol_bf16 contrib.amp.lists.symbol_fp16 contrib.amp.loss_scaler
    contrib.autograd contrib.io contrib.ndarray contrib.onnx contrib.onnx.onnx2mx
    contrib.symbol contrib.tensorboard contrib.text contrib.text.embedding contrib.text.utils
    contrib.text.vocab engine error executor executor_manager gluon gluon.block gluon.data
    gluon.data.dataloader gluon.data.dataset gluon.data.sampler gluon.data.vision
    gluon.data.vision.datasets gluon.data.vision.transforms gluon.loss gluon.nn gluon.parameter
    gluon.rnn gluon.trainer gluon.utils image initializer io kvstore libinfo log lr_scheduler
    metric model module monitor name ndarray ndarray.contrib ndarray.image ndarray.linalg
    ndarray.random ndarray.sparse ndarray.utils operator optimizer profiler random recordio
    registry rnn rnn.io rnn.rnn rnn.rnn_cell runtime symbol symbol.contrib symbol.image
    symbol.linalg symbol.random symbol.sparse test_utils util visualization
"""
torch_only = pytest.mark.engine("torch")


GENERATED = ("mxnet", "ndarray", "symbol")  # operators' functions are made in the last two


def public(module):
    """The names of a module that are MXNet's: not what it has imported from elsewhere."""
    return sorted(
        name
        for name, value in vars(module).items()
        if not name.startswith("_") and home(value).partition(".")[0] in GENERATED
    )


def home(value):
    """The module that a value comes from; MXNet for numbers, which do not tell."""
    named = value.__name__ if isinstance(value, ModuleType) else getattr(value, "__module__", None)
    return named or "mxnet"


def listed():
    """The names of all modules, which are imported first: from then on they are names too."""
    names = ("mxnet", *(f"mxnet.{name}" for name in MODULES.split()))
    lines = []
    for name, module in zip(names, [import_module(name) for name in names]):
        lines += [name, *textwrap.wrap(" ".join(public(module)), 99)]
    return "\n".join(line if line.startswith("mxnet") else f" {line}" for line in lines) + "\n"


@pytest.mark.engine("mxnet")
def test_the_names_are_mxnets(pytestconfig):
    # In a process of its own, where no test has imported others.
    code = "import runpy, sys; print(runpy.run_path(sys.argv[1])['listed'](), end='')"
    folders = Path(__file__).parents[2], Path(__file__).parents[1]  # and none that a test has left
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(map(str, folders))}
    done = forks.run(["-W", "ignore", "-c", code, __file__], env=env)
    assert done.returncode == 0, done.stderr
    text = done.stdout
    if pytestconfig.getoption("--record"):
        NAMES.write_text(text, "utf-8")
    assert NAMES.read_text("utf-8") == text


STANDARD = sys.stdlib_module_names - {"ctypes", "_ctypes", "importlib"}
ABSENT = re.compile(
    r".*Handle|c_.*|check_call|ctypes.*|MXCallbackList|mx_u?int|mx_float|DataParallelExecutorManager"
)


def imported(module):
    """The names that a star import of a module brings and that it has imported itself."""
    found = {}
    for name, value in sorted(vars(module).items()):
        origin = origin_of(name, value)
        own = origin.startswith((f"{module.__name__}:", f"{module.__name__}."))
        public = name.isidentifier() and not name.startswith("_") and "._" not in origin
        if public and not own and not ABSENT.fullmatch(name) and is_at(value, origin):
            found[name] = origin
    return found


def origin_of(name, value):
    """Where a value seems to come from: a module, or a module and a name."""
    if isinstance(value, ModuleType):
        return value.__name__
    if getattr(import_module("mxnet.base"), name, None) is value:
        return f"mxnet.base:{name}"
    return f"{getattr(value, '__module__', '')}:{getattr(value, '__name__', '')}"


def is_at(value, origin):
    """Whether it does come from there, and from MXNet, NumPy or Python."""
    module, _, name = origin.partition(":")
    if module.partition(".")[0] not in {"mxnet", "numpy", *STANDARD}:
        return False
    found = import_module(module)
    return value is (getattr(found, name, None) if name else found)


@pytest.mark.engine("mxnet")
def test_what_star_imports_bring(mx, pytestconfig):
    lines = []
    for part in sorted(MODULES.split()):
        module = import_module(f"mxnet.{part}")
        if not hasattr(module, "__all__") and imported(module):
            names = " ".join(f"{name}={origin}" for name, origin in imported(module).items())
            lines += [module.__name__, *(f" {line}" for line in textwrap.wrap(names, 99))]
    text = "\n".join(lines) + "\n"
    if pytestconfig.getoption("--record"):
        STARS.write_text(text, "utf-8")
    assert STARS.read_text("utf-8") == text


@torch_only
@pytest.mark.parametrize("part", MODULES.split())
def test_a_star_import_brings_what_mxnets_does(mx, part):
    stars = import_module("layers.mxnet._old.star_imports")
    names = {}
    exec(f"from layers.mxnet.{part} import *", names)
    assert import_module(f"layers.mxnet.{part}").__getattr__
    for name, origin in stars.handed_on().get(part, {}).items():
        assert names[name] is stars.load(origin)


@torch_only
def test_names_that_programs_have_from_star_imports(mx):
    names = {}
    exec("from layers.mxnet.test_utils import *", names)
    assert names["mx"] is mx and names["np"] is np and names["sys"] is sys
    exec("from layers.mxnet.autograd import *", names)
    assert names["NDArray"] is mx.nd.NDArray


# By module, of what a star import brings: parts of it that are imported when they are used.
LATER = {
    "": "contrib gluon image img profiler recordio rnn test_utils",
    "contrib": "io onnx tensorboard text",
    "executor_manager": "DataParallelExecutorManager",
    "gluon": "contrib data model_zoo nn rnn",
    "io": "ImageDetRecordIter ImageRecordIter NDArrayIter",
    "operator": "CustomOp NumpyOp",
}


@pytest.mark.parametrize("part", LATER)
def test_a_star_import_brings_what_is_imported_later(mx, part):
    names = {}
    exec(f"from {mx.__name__}.{part} import *".replace(". ", " "), names)
    assert {*LATER[part].split()} <= {*names}
    assert not {"TYPE_CHECKING", "missing"} & {*names}


@torch_only
@pytest.mark.parametrize("part", ["rtc", "th", "notebook"])
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
def test_the_example_of_the_docs_is_not_here(mx):
    page = (Path(__file__).parents[2] / "docs" / "differences.md").read_text("utf-8")
    message, name = re.search(r"such as\s\*(mxnet\.(\w+) is not in [^*]*)\*", page).groups()
    with pytest.raises(AttributeError) as caught:
        getattr(mx, name)
    assert str(caught.value) == " ".join(message.split())


@torch_only
@pytest.mark.parametrize("package", ["layers.mxnet", "layers.mxnet.gluon"])
def test_a_name_of_nothing(mx, package):
    with pytest.raises(AttributeError, match=f"module '{package}' has no attribute 'nothing'"):
        import_module(package).nothing  # noqa: B018 - reading it is what raises
    with pytest.raises(ModuleNotFoundError, match=f"No module named '{package}.nothing'"):
        import_module(f"{package}.nothing")


@torch_only
def test_a_name_that_is_not_here(mx):
    with pytest.raises(AttributeError, match="operator.MXCallbackList is not in layers.mxnet yet$"):
        mx.operator.MXCallbackList  # noqa: B018 - reading it is what raises


@torch_only
def test_an_optimizer_that_is_not_here(mx):
    for name in ("none", "create"):
        with pytest.raises(ValueError, match=f"'{name}' is not registered\n"):
            mx.optimizer.create(name)


@torch_only
@pytest.mark.parametrize(
    "text, hint", [("mx.np.one", "'ones'"), ("mx.rtc", ""), ("mx.gluon.bloc", "'block'")]
)
def test_python_hints_at_names_that_are_meant(text, hint):
    code = f"import layers.mxnet as mx\n{text}"
    done = forks.run(["-c", code])
    assert ("Did you mean" in done.stderr) is bool(hint)
    assert hint in done.stderr.splitlines()[-1]
