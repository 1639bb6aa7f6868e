"""Small modules that programs import: util, runtime, libinfo, engine, log, error, base, ndarray."""

import logging
import os
from importlib import import_module

import numpy as np
import pytest

torch_only = pytest.mark.engine("torch")


@pytest.fixture
def part(mx):
    """A module of the engine, by its name."""
    return lambda name: import_module(f"{mx.__name__}.{name}")


# util


def test_environment_variables(mx, monkeypatch):
    monkeypatch.setenv("LAYERS_TEST", "before")
    mx.util.setenv("LAYERS_TEST", "1")
    assert mx.util.getenv("LAYERS_TEST") == "1"
    mx.util.setenv("LAYERS_TEST", None)
    assert mx.util.getenv("LAYERS_TEST") is None


@torch_only
def test_a_variable_is_python_s_too(mx, monkeypatch):
    monkeypatch.setenv("LAYERS_TEST", "before")
    mx.util.setenv("LAYERS_TEST", "1")
    assert os.environ["LAYERS_TEST"] == "1"


def test_gpus(mx):
    assert mx.util.get_gpu_count() == mx.context.num_gpus()
    with pytest.raises(ValueError, match="cpu\\(0\\)"):
        mx.util.get_cuda_compute_capability(mx.cpu())


@pytest.mark.parametrize("name", ["is_np_array", "is_np_shape"])
def test_numpys_interface_is_off(mx, name):
    assert getattr(mx.util, name)() is False
    assert getattr(mx, name)() is False


def test_numpys_interface_can_be_switched_off(mx):
    with mx.util.np_array(False), mx.util._NumpyArrayScope(False):
        assert not mx.util.is_np_array()
    mx.util.set_np(shape=False, array=False)
    mx.util.reset_np()


def test_set_module(mx):
    def function():
        pass

    assert mx.util.set_module("somewhere")(function).__module__ == "somewhere"
    assert mx.util.set_module(None)(function).__module__ == "somewhere"


# runtime and libinfo


def test_features(mx):
    features = mx.runtime.Features()
    assert features.is_enabled("LAPACK") is features.is_enabled("lapack") is True
    assert features["CUDA"].name == "CUDA"
    assert features["CUDA"].enabled is bool(mx.context.num_gpus())
    assert repr(features["TVM_OP"]) == "✖ TVM_OP"
    assert "✔ LAPACK" in repr(features)
    assert [feature.name for feature in mx.runtime.feature_list()] == [*features]
    assert len(features) == 32
    with pytest.raises(RuntimeError, match="'NOPE' is unknown"):
        features.is_enabled("NOPE")


def test_version(mx):
    assert mx.libinfo.__version__ == mx.__version__ == "1.9.1"


@torch_only
def test_there_is_no_library(mx):
    with pytest.raises(RuntimeError, match="there is no library libmxnet"):
        mx.libinfo.find_lib_path()
    with pytest.raises(RuntimeError, match="there is no folder of C headers"):
        mx.libinfo.find_include_path()


# engine


def test_bulk(mx):
    mx.engine.set_bulk_size(4)
    with mx.engine.bulk(10):
        assert mx.engine.set_bulk_size(12) == 10
    assert mx.engine.set_bulk_size(0) == 4


# log


@pytest.fixture
def name(request):
    yield request.node.name
    logging.getLogger(request.node.name).handlers.clear()


def test_a_logger_with_a_file(mx, part, name, tmp_path):
    log = part("log")
    path = tmp_path / "out.log"
    logger = log.get_logger(name, str(path), "w", log.INFO)
    logger.debug("unseen")
    logger.info("seen %d", 1)
    assert log.get_logger(name) is logger
    logger.error("too")
    assert len(logger.handlers) == 1 and logger.level == log.INFO
    logger.handlers[0].close()
    lines = path.read_text().splitlines()
    assert [line.split()[-1] for line in lines if line.endswith(("1", "too"))] == ["1", "too"]
    assert "unseen" not in path.read_text()


@torch_only
def test_the_lines_of_a_log(mx, part, name, tmp_path):
    path = tmp_path / "out.log"
    logger = part("log").get_logger(name, str(path))
    logger.warning("careful")
    logger.handlers[0].close()
    line = path.read_text()
    assert line.startswith("W") and line.endswith("] careful\n")
    assert f"{__file__}:test_the_lines_of_a_log:" in line


def test_the_root_logger_stays_as_it_is(part):
    before = [*logging.getLogger().handlers]
    assert part("log").get_logger() is logging.getLogger()
    assert logging.getLogger().handlers == before


def test_the_older_name_of_get_logger(part, name, tmp_path):
    with pytest.warns(DeprecationWarning):
        logger = part("log").getLogger(name, str(tmp_path / "out.log"))
    assert logger is logging.getLogger(name)
    logger.handlers[0].close()


# base


def test_names_that_programs_import_from_base(mx, part):
    base = part("base")
    assert base.py_str(b"\xc3\xa4") == "ä"
    assert base._as_list(3) == [3] and base._as_list((3,)) == (3,) and base._as_list([3]) == [3]
    assert base.mx_real_t is np.float32
    assert repr(base._Null) == "_Null" and isinstance(base._Null, base._NullType)
    assert base.string_types == (str,)
    assert isinstance(1, base.integer_types) and isinstance(np.int32(1), base.integer_types)
    assert isinstance(np.float32(1), base.numeric_types)


def test_data_dir(part, monkeypatch):
    base = part("base")
    monkeypatch.delenv("MXNET_HOME", raising=False)
    assert base.data_dir() == base.data_dir_default() == os.path.expanduser("~/.mxnet")
    monkeypatch.setenv("MXNET_HOME", "elsewhere")
    assert base.data_dir() == "elsewhere"


def test_a_property_of_a_class(part):
    class Counted:
        number = 3

        @part("base").classproperty
        def double(cls):
            return 2 * cls.number

    class More(Counted):
        number = 4

    assert Counted.double == 6 and More.double == 8


def test_a_metaclass(part):
    class Meta(type):
        def __new__(meta, name, bases, members):
            return super().__new__(meta, name, bases, members | {"made": True})

    class Base:
        pass

    class Made(part("base").with_metaclass(Meta, Base)):
        pass

    assert type(Made) is Meta and Made.made and issubclass(Made, Base)


def test_errors_by_name(mx, part):
    base = part("base")
    assert part("error").InternalError is base.error_types["InternalError"]
    assert issubclass(part("error").InternalError, mx.MXNetError)

    @base.register_error
    class ErrorOfTests(mx.MXNetError):
        pass

    @base.register_error("AnotherName")
    class ErrorOfTests2(mx.MXNetError):
        pass

    assert base.error_types.pop("ErrorOfTests") is ErrorOfTests
    assert base.error_types.pop("AnotherName") is ErrorOfTests2


def test_not_implemented_for_symbol(mx, part):
    error = part("base").NotImplementedForSymbol(np.sort, "sort", 1, "x")
    assert isinstance(error, mx.MXNetError)
    for word in ("sort", "int", "str"):
        assert word in str(error)


# executor_manager


@pytest.mark.parametrize(
    "batch, shares, ends",
    [
        (10, [1, 1, 1], [3, 6, 10]),
        (8, [1, 3], [2, 8]),
        (7, [1, 1], [4, 7]),
        (5, [0.5, 0.5], [2, 5]),
    ],
)
def test_a_batch_is_divided_by_shares(part, batch, shares, ends):
    slices = part("executor_manager")._split_input_slice(batch, shares)
    assert slices == [slice(a, b) for a, b in zip([0, *ends], ends)]


def test_a_batch_that_is_too_small(part):
    with pytest.raises(ValueError):
        part("executor_manager")._split_input_slice(2, [1, 1, 1])


def test_arrays_are_loaded_into_others_and_into_slices(mx, part):
    source = mx.nd.arange(4)
    whole, first, second = mx.nd.zeros(4), mx.nd.zeros(2), mx.nd.zeros(2)
    parts = [(slice(0, 2), first), (slice(2, 4), second)]
    batch = mx.io.DataBatch([source, source], [source])
    part("executor_manager")._load_data(batch, [whole, parts])
    assert whole.asnumpy().tolist() == [0, 1, 2, 3]
    assert first.asnumpy().tolist() == [0, 1] and second.asnumpy().tolist() == [2, 3]


def test_arguments_of_one_name_are_refused(mx, part):
    x = mx.sym.var("x")
    part("executor_manager")._check_arguments(x + mx.sym.var("y"))
    with pytest.raises(ValueError, match="x"):
        part("executor_manager")._check_arguments(mx.sym.Group([x + mx.sym.var("x")]))


# nd.ndarray, sym.symbol


@pytest.mark.parametrize("package, module", [("nd", "ndarray"), ("sym", "symbol")])
@pytest.mark.parametrize("name", ["arange", "full", "maximum", "ones", "power", "split_v2"])
def test_functions_that_are_beside_the_class_too(mx, package, module, name):
    package = getattr(mx, package)
    assert getattr(getattr(package, module), name) is getattr(package, name)


def test_arguments_have_mxnet_s_names(mx):
    nd, sym = mx.nd, mx.sym
    assert nd.ones((1, 3)).broadcast_like(other=nd.ones((2, 3))).shape == (2, 3)
    assert nd.from_numpy(np.ones(2), array_cls=nd.NDArray).shape == (2,)
    x, y = sym.var("x"), sym.var("y")
    assert x.broadcast_like(y).list_arguments() == ["x", "y"]
    assert sym.Group([x, y], create_fn=sym.Symbol).list_outputs() == ["x", "y"]
    for block in (mx.gluon.nn.LayerNorm(), mx.gluon.nn.GroupNorm()):
        n = 1 if isinstance(block, mx.gluon.nn.GroupNorm) else 2
        z = block.hybrid_forward(nd, data=nd.ones((1, 2, 2)), gamma=nd.ones(n), beta=nd.ones(n))
        assert z.asnumpy().tolist() == [[[1, 1], [1, 1]]]


@pytest.mark.engine("torch")  # MXNet 1.9.1's refuse every call: "Not enough argument"
@pytest.mark.parametrize("mixed", [False, True], ids=["float32", "mixed"])
def test_a_symbol_of_adamw_takes_its_settings_by_name(mx, mixed):
    names = ["weight", "grad", "mean", "var"] + ["weight32"] * mixed
    function = getattr(mx.sym.contrib, "mp_adamw_update" if mixed else "adamw_update")
    settings = {"beta1": 0.5, "beta2": 0.5, "epsilon": 1e-3, "wd": 0.1, "clip_gradient": 1.0}
    names.append("scale")
    y = function(*map(mx.sym.var, names), lr=0.1, eta=1.0, name="step", **settings)
    arrays = {n: mx.nd.ones(2, dtype="float16" if mixed and i < 2 else "float32")
              for i, n in enumerate(names)}  # fmt: skip
    arrays["scale"] = mx.nd.ones(1)
    states = {n: arrays.pop(n) for n in y.list_auxiliary_states()}
    (found,) = y.bind(mx.cpu(), arrays, aux_states=states).forward()
    np.testing.assert_allclose(found.asnumpy(), 0.8, atol=1e-3)
    assert y.name == "step"


@pytest.mark.parametrize("name", ["NotSupportedForSparseNDArray", "NotImplementedForSymbol"])
def test_an_error_for_a_kind_of_array(mx, name):
    error = getattr(mx.base, name)(np.sort, "order", 1)
    assert "sort" in str(error)
    assert "order" in str(error)


@pytest.mark.engine("torch")
def test_what_a_symbol_has_no_graph_for(mx):
    x = mx.sym.var("x")
    with pytest.warns(UserWarning, match="there is no backend 'MKLDNN'"):
        assert x.get_backend_symbol("MKLDNN") is x
    with pytest.raises(mx.base.MXNetError, match="expected bind and backward"):
        x.gradient(["x"])
    with pytest.raises(ValueError, match="array_cls is "):
        mx.nd.from_numpy(np.ones(2), array_cls=np.ndarray)
