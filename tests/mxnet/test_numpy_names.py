"""NumPy's old names mean what they meant, and cover nothing that NumPy has."""

import ctypes
import io
import os
import warnings
from importlib import import_module

import forks
import numpy as np
import pytest

pytestmark = pytest.mark.engine("torch")

if os.environ["LAYERS_ENGINE"] == "torch":
    names = import_module("layers.mxnet._old.numpy_names")
    ALL = [*names.PYTHON, *names.RENAMED, *names.OTHERS]

MATRIX = np.array([[3.0, 1.0], [2.0, 4.0]])


@pytest.fixture
def old():
    """NumPy with its old names, in this process; `np` itself is put back afterwards."""
    before, exported = {*vars(np)}, list(np.__all__)
    functions = {name: getattr(np, name) for name in names.ARGUMENTS}
    methods = {kind: {**vars(kind)} for kind in (np.ndarray, np.generic)}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of the names that NumPy still has
        names.restore()
        yield np
    for name in (vars(np).keys() & {*ALL}) - before:
        delattr(np, name)
    vars(np).update(functions)
    np.__all__[:] = exported
    for kind, there in methods.items():
        names.attributes_of(kind).clear()
        names.attributes_of(kind).update(there)
        ctypes.pythonapi.PyType_Modified(ctypes.py_object(kind))


def test_each_name_once():
    assert len(ALL) == len(set(ALL))
    for table in (names.PYTHON, names.RENAMED, names.OTHERS):
        assert list(table) == sorted(table)


def test_all_are_there(old):
    assert [name for name in ALL if not hasattr(old, name)] == []
    assert not names.removed_names()


def test_to_ask_warns_of_nothing():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        names.removed_names()


def test_what_numpy_has_stays():
    there = {name: vars(np)[name] for name in ALL if name in vars(np)}
    assert not there.keys() & names.removed_names().keys()


def test_from_numpy_import_all():
    code = """if True:
        from layers.mxnet import install
        install()
        from numpy import *
        print(product([2, 3]), Inf, float is type(1.0), int is type(1), str is type(""))
    """
    done = forks.run(["-c", code])
    assert done.stdout == "6 inf True True True\n", done.stderr


@pytest.mark.parametrize(
    "call, expected",
    [
        pytest.param(lambda np: np.int("3") + np.float("0.5"), 3.5, id="int-float"),
        pytest.param(lambda np: np.ones(2, np.float).dtype, np.dtype("float64"), id="dtype=float"),
        pytest.param(
            lambda np: np.array([1, None], np.object).dtype, np.dtype("object"), id="dtype=object"
        ),
        pytest.param(
            lambda np: [np.float_, np.complex_, np.unicode_],
            [np.float64, np.complex128, np.str_],
            id="types",
        ),
        pytest.param(
            lambda np: [np.Inf, -np.NINF, np.PINF, np.infty], [np.inf] * 4, id="infinities"
        ),
        pytest.param(lambda np: [np.isnan(np.NaN), np.isnan(np.NAN)], [True, True], id="nan"),
        pytest.param(
            lambda np: [np.product([2, 3]), list(np.cumproduct([2, 3]))], [6, [2, 6]], id="products"
        ),
        pytest.param(
            lambda np: [np.sometrue([0, 1]), np.alltrue([0, 1])], [True, False], id="truths"
        ),
        pytest.param(
            lambda np: list(np.in1d([[1, 2], [3, 4]], [1, 4])),
            [True, False, False, True],
            id="in1d",
        ),
        pytest.param(
            lambda np: np.row_stack([[1, 2], [3, 4]]).tolist(), [[1, 2], [3, 4]], id="row_stack"
        ),
        pytest.param(lambda np: np.trapz([1, 2, 3], dx=2.0), 8.0, id="trapz"),
        pytest.param(lambda np: np.msort(MATRIX).tolist(), [[2.0, 1.0], [3.0, 4.0]], id="msort"),
        pytest.param(
            lambda np: np.asfarray([1, 2], dtype=int).dtype, np.dtype("float64"), id="asfarray-int"
        ),
        pytest.param(
            lambda np: np.asfarray([1, 2], dtype="f4").dtype, np.dtype("float32"), id="asfarray-f4"
        ),
        pytest.param(
            lambda np: [np.asscalar(MATRIX[:1, :1]), np.alen(MATRIX), np.alen(7)],
            [3.0, 2, 1],
            id="sizes",
        ),
        pytest.param(lambda np: [np.round_(1.26, 1), np.rank(MATRIX)], [1.3, 2], id="round_-rank"),
        pytest.param(lambda np: np.mat("1 2; 3 4").I.shape, (2, 2), id="mat"),
        pytest.param(lambda np: np.math.floor(2.5), 2, id="math"),
        pytest.param(lambda np: np.safe_eval("[1, 2]"), [1, 2], id="safe_eval"),
        pytest.param(lambda np: np.cast["f4"]([1, 2]).dtype, np.dtype("float32"), id="cast-f4"),
        pytest.param(lambda np: np.cast[int]([1.5]).tolist(), [1], id="cast-int"),
        pytest.param(lambda np: [np.nbytes[np.float64], np.nbytes["i4"]], [8, 4], id="nbytes"),
        pytest.param(lambda np: np.typeDict["float32"], np.float32, id="typeDict"),
        pytest.param(lambda np: np.float32 in np.sctypes["float"], True, id="sctypes"),
        pytest.param(
            lambda np: [np.issctype(np.int8), np.issctype("i1"), np.issctype(object)],
            [1, 0, 0],
            id="issctype",
        ),
        pytest.param(
            lambda np: [np.obj2sctype(MATRIX), np.obj2sctype("none")],
            [np.float64, None],
            id="obj2sctype",
        ),
        pytest.param(
            lambda np: [np.sctype2char(np.float32), np.issubsctype("i4", np.integer)],
            ["f", True],
            id="sctype2char",
        ),
        pytest.param(
            lambda np: [np.issubclass_(int, object), np.issubclass_(3, object)],
            [True, False],
            id="issubclass_",
        ),
    ],
)
def test_they_mean_what_they_meant(old, call, expected):
    assert call(old) == expected


def test_arguments_that_numpy_no_longer_takes(old):
    raw = np.array([1.5, -2], "float32").tobytes()
    x = old.fromstring(raw, "float32")
    assert x.tolist() == [1.5, -2] and x.flags.writeable
    assert old.fromstring("ab", np.uint8, count=1).tolist() == [97]
    assert old.fromstring("1 2", int, sep=" ").tolist() == [1, 2]
    assert old.reshape(MATRIX, newshape=4).shape == (4,)
    assert old.reshape(MATRIX, (1, -1), order="F").tolist() == [[3, 2, 1, 4]]
    assert not names.without_old_arguments()


def test_methods_that_arrays_no_longer_have(old):
    class Array(np.ndarray):
        pass

    x = np.arange(6, dtype="uint8").reshape(2, 3)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of a NumPy that still has them
        assert x.tostring() == x.view(Array).tostring() == bytes(range(6))
        assert x.tostring("F") == x.tobytes("F") and np.float32(2).tostring() == b"\0\0\0@"
        assert x.ptp() == 5 and x.ptp(axis=0).tolist() == [3, 3, 3]
        assert np.array([1], "<i2").newbyteorder().tolist() == [256]
        for place in (4,), ((0, 2),), (1, 0):
            x.itemset(*place, 9)
    assert x.tolist() == [[0, 1, 9], [9, 9, 5]]


def test_a_program_of_its_time(tmp_path):
    (tmp_path / "script.py").write_text(
        "import mxnet as mx, numpy as np\n"
        "raw = np.float32([1, 2, 3, 4]).tostring()\n"
        "x = np.reshape(np.fromstring(raw, dtype=np.float32), newshape=(2, 2))\n"
        "print(mx.nd.array(x).asnumpy().ptp())\n"
    )
    done = forks.run(["-m", "layers.mxnet", str(tmp_path / "script.py")])
    assert done.stdout == "3.0\n", done.stderr


def test_records_of_a_text(old):
    assert old.recfromcsv(io.StringIO("A,b\n1,2.5\n3,4\n")).b.tolist() == [2.5, 4.0]
    assert old.recfromtxt(io.StringIO("1 2.5\n3 4\n")).f0.tolist() == [1, 3]


def test_disp(old, capsys):
    old.disp("loss")
    assert capsys.readouterr().out == "loss\n"
