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
from api import imports, recording

OLD = Path(__file__).parents[2] / "layers/mxnet/_old"
NAMES = OLD / "names.txt"
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


@pytest.mark.engine("mxnet")
def test_the_private_and_imported_names_are_mxnets(pytestconfig):
    code = "from api import imports; print(imports.PRIVATE.name.join(imports.record()), end='')"
    env = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[1])}
    done = forks.run(["-W", "ignore", "-c", code], env=env)
    assert done.returncode == 0, done.stderr
    texts = done.stdout.split(imports.PRIVATE.name)
    for path, text in zip((imports.RECORDED, imports.PRIVATE), texts):
        if pytestconfig.getoption("--record"):
            path.write_text(text, "utf-8")
        assert path.read_text("utf-8") == text


def modules_of(path):
    return sorted({module for module, _ in imports.recorded(path)})


@torch_only
@pytest.mark.parametrize("part", modules_of(imports.RECORDED))
def test_a_module_hands_on_what_mxnets_does(mx, part):
    """Each imported name is there, or is absent with a reason; a star import brings it too."""
    absent = {}
    names = [item.partition("=")[0] for module, item in imports.recorded(imports.RECORDED)
             if module == part]  # fmt: skip
    try:
        module = import_module(f"layers.mxnet.{part}".rstrip("."))
    except ModuleNotFoundError as error:
        assert re.match(TOLD, str(error))
        return
    for name in names:
        try:
            getattr(module, name)
        except AttributeError as error:
            absent[name] = str(error)
    assert all(re.match(TOLD, why) for why in absent.values()), absent
    found = {}
    exec(f"from layers.mxnet.{part} import *".replace(". ", " "), found)
    if part and part in modules_without_all():
        expected = {*names} - {*absent}
        assert {name for name in expected if is_brought(part, name)} <= {*found}


def is_brought(part, name):
    reasons = import_module("layers.mxnet._old.reasons")
    origin = dict(i.split("=") for m, i in imports.recorded(imports.RECORDED) if m == part)[name]
    place = origin.replace(":", ".").removeprefix("mxnet.")
    return not name.startswith("_") and not reasons.stated(place)


TOLD = r"mxnet\.[\w.]+ is not in layers\.mxnet: \w"


def modules_without_all():
    titles = [x for x in imports.RECORDED.read_text("utf-8").splitlines() if not x.startswith(" ")]
    return {title.removeprefix("mxnet.") for title in titles if not title.endswith("__all__")}


@torch_only
@pytest.mark.parametrize("part", modules_of(imports.PRIVATE))
def test_a_private_name_is_here_or_has_a_reason(mx, part):
    for module, name in imports.recorded(imports.PRIVATE):
        if module == part:
            package, _, last = f"layers.mxnet.{part}.{name}".replace("..", ".").rpartition(".")
            try:
                getattr(import_module(package), last)
            except (AttributeError, ModuleNotFoundError) as error:
                assert re.match(TOLD, str(error)), error


# What packages were seen to take from MXNet.
TAKEN = """
    autograd._RecordingStateScope base._LIB base._Null base._NullType base._as_list
    contrib.amp.amp._amp_initialized contrib.amp.amp._amp_loss_scale_initialized
    contrib.amp.amp._loss_scaler contrib.text.embedding._TokenEmbedding
    executor_manager._check_arguments executor_manager._load_general
    executor_manager._split_input_slice gluon.block._BlockScope gluon.block._flatten
    gluon.block._indent gluon.block._regroup gluon.data.dataloader.ForkingPickler
    gluon.data.dataloader._MultiWorkerIter gluon.data.dataloader._as_in_context
    gluon.data.dataset._DownloadedDataset gluon.data.dataset._LazyTransformDataset
    gluon.data.dataset._SampledDataset gluon.data.dataset._TransformFirstClosure
    gluon.data.vision.datasets.image gluon.data.vision.datasets.nd
    gluon.data.vision.datasets.recordio gluon.loss._apply_weighting gluon.loss._reshape_like
    gluon.model_zoo.vision.resnet._conv3x3 gluon.nn.conv_layers._Conv
    gluon.nn.conv_layers._Pooling gluon.rnn.rnn_cell._format_sequence
    gluon.rnn.rnn_cell._get_begin_state gluon.rnn.rnn_cell._mask_sequence_variable_length
    gluon.rnn.rnn_cell._reverse_sequences gluon.rnn.rnn_layer._RNNLayer
    gluon.utils._brief_print_list gluon.utils._get_repo_file_url gluon.utils._indent
    model._create_kvstore model._initialize_kvstore model._update_params
    model._update_params_on_kvstore module.base_module._as_list
    module.base_module._check_input_names module.base_module._parse_data_desc
    ndarray.ndarray._DTYPE_MX_TO_NP ndarray.ndarray._DTYPE_NP_TO_MX ndarray.ndarray._GRAD_REQ_MAP
    ndarray.ndarray._STORAGE_TYPE_STR_TO_ID operator._STORAGE_TYPE_CSR recordio._IR_FORMAT
    recordio._IR_SIZE registry._REGISTRY test_utils._parse_aux_states test_utils._parse_location
"""


@pytest.mark.parametrize("place", TAKEN.split())
@pytest.mark.filterwarnings("ignore")
def test_names_that_packages_take(mx, place):
    package, _, name = f"{mx.__name__}.{place}".rpartition(".")
    assert getattr(import_module(package), name, mx) is not mx


LOADED = Path(__file__).parents[1] / "golden/loaded_modules.txt"
LIST_MODULES = """
import sys
import mxnet
names = sorted(name for name in sys.modules if name.startswith("mxnet."))
print(*[name for name in names if "._" not in name and ".gen_" not in name],
      "multiprocessing.pool" in sys.modules, sep="\\n")
"""


def loaded_modules(code):
    done = forks.run(["-W", "ignore", "-c", code])
    assert done.returncode == 0, done.stderr
    *modules, pool = done.stdout.split()
    assert pool == "True"
    return [module for module in modules if not recording.NUMPY.fullmatch(module[6:])]


@pytest.mark.engine("mxnet")
def test_the_modules_that_an_import_brings_are_mxnets(pytestconfig):
    text = "\n".join(loaded_modules(LIST_MODULES)) + "\n"
    if pytestconfig.getoption("--record"):
        LOADED.write_text(text, "utf-8")
    assert LOADED.read_text("utf-8") == text


@torch_only
def test_an_import_brings_the_modules_that_mxnets_does(mx):
    reasons = import_module("layers.mxnet._old.reasons")
    expected = {m for m in LOADED.read_text("utf-8").split() if not reasons.stated(m[6:])}
    found = loaded_modules(f"import layers.mxnet\nlayers.mxnet.install(){LIST_MODULES}")
    assert expected <= {*found}


@torch_only
def test_names_of_the_c_library_can_be_imported_and_refuse(mx):
    base = mx.base
    for name in ("check_call", "c_str", "c_array", "c_handle_array", "ctypes2buffer"):
        with pytest.raises(mx.base.UnsupportedError, match=f"{name}: it belongs to MXNet's C lib"):
            getattr(base, name)(0)
    with pytest.raises(NotImplementedError, match="MXSymbolCreate: it belongs to MXNet's C lib"):
        base._LIB.MXSymbolCreate(base.mx_uint(1), base.SymbolHandle())


@torch_only
def test_names_that_programs_have_from_star_imports(mx):
    names = {}
    exec("from layers.mxnet.test_utils import *", names)
    assert names["mx"] is mx and names["np"] is np and names["sys"] is sys
    exec("from layers.mxnet.autograd import *", names)
    assert names["NDArray"] is mx.nd.NDArray
    exec("from layers.mxnet.contrib.quantization import *", names)
    assert names["cpu"] is mx.cpu


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
        ("base.build_param_doc", "it edits MXNet's own docstrings"),
        ("gluon.block._common_prefix", "it is a private part"),
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
    told = "ndarray.contrib.backward_quadratic is not in layers.mxnet yet$"
    with pytest.raises(AttributeError, match=told):
        mx.nd.contrib.backward_quadratic  # noqa: B018 - reading it is what raises


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
