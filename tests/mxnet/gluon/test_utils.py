"""Batches over contexts, clipping by the global norm, files."""

import hashlib
import warnings
from collections import OrderedDict

import numpy as np
import pytest

from layers.engine import gluon, mx, nd

utils = gluon.utils


def shapes(slices):
    return [part.shape for part in slices]


def batch():
    return nd.array(np.arange(20).reshape(10, 2))


def test_split_evenly():
    parts = utils.split_data(batch(), 2)
    assert shapes(parts) == [(5, 2), (5, 2)]
    np.testing.assert_array_equal(parts[1].asnumpy(), np.arange(10, 20).reshape(5, 2))


@pytest.mark.parametrize(
    "count, sizes", [(3, [4, 3, 3]), (4, [3, 3, 2, 2]), (12, [1] * 10 + [0, 0]), (1, [10])]
)
def test_split_unevenly(count, sizes):
    parts = utils.split_data(np.arange(10), count, even_split=False)
    assert [len(part) for part in parts] == sizes
    assert np.concatenate(parts).tolist() == list(range(10))


def test_split_unevenly_is_refused():
    with pytest.raises(ValueError, match="even_split=False"):
        utils.split_data(batch(), 3)


def test_split_another_axis():
    parts = utils.split_data(batch(), 2, batch_axis=1)
    assert parts[1].asnumpy().ravel().tolist() == list(range(1, 20, 2))


def test_a_slice_is_a_view():
    data = batch()
    utils.split_data(data, 2)[0][:] = 7
    assert (data[:5].asnumpy() == 7).all()


def test_split_and_load():
    contexts = [mx.cpu(0), mx.cpu(1)]
    parts = utils.split_and_load(batch(), contexts)
    assert [part.context for part in parts] == contexts
    assert shapes(parts) == [(5, 2), (5, 2)]


@pytest.mark.parametrize("data", [np.ones((4, 2), "int64"), [[1, 2]] * 4], ids=["numpy", "list"])
def test_split_and_load_what_is_no_ndarray(data):
    parts = utils.split_and_load(data, [mx.cpu(0), mx.cpu(1)])
    assert shapes(parts) == [(2, 2), (2, 2)]
    assert parts[0].dtype == np.float32


def test_one_context_gets_all():
    data = batch()
    assert utils.split_and_load(data, [mx.cpu(0)])[0] is data


def test_a_context_is_not_a_list():
    with pytest.raises(TypeError):
        utils.split_and_load(batch(), mx.cpu())


@pytest.mark.parametrize("largest, scale", [(1.0, 0.2), (10.0, 1.0)])
def test_clip(largest, scale):
    arrays = [nd.array([3.0]), nd.array([4.0])]
    norm = utils.clip_global_norm(arrays, largest)
    assert norm == pytest.approx(5)
    assert isinstance(norm, np.float32)
    np.testing.assert_allclose([a.asscalar() for a in arrays], [3 * scale, 4 * scale], rtol=1e-6)


def test_clip_without_waiting():
    arrays = [nd.array([3.0, 0.0]), nd.array([4.0])]
    norm = utils.clip_global_norm(arrays, 1.0, check_isfinite=False)
    assert norm.shape == (1,)
    assert norm.asscalar() == pytest.approx(5)
    assert arrays[1].asscalar() == pytest.approx(0.8)


@pytest.mark.parametrize("value", [np.nan, np.inf], ids=str)
def test_clip_warns(value):
    arrays = [nd.array([value]), nd.ones(2)]
    with warnings.catch_warnings(record=True) as caught:  # MXNet has scipy warn beside it
        warnings.simplefilter("always")
        utils.clip_global_norm(arrays, 1.0)
    assert "undefined" in str([w.message for w in caught if w.category is UserWarning])


def test_clip_over_contexts():
    arrays = [nd.ones(2, ctx=mx.cpu(i)) for i in range(2)]
    assert utils.clip_global_norm(arrays, 1.0) == pytest.approx(2)
    assert [a.context for a in arrays] == [mx.cpu(0), mx.cpu(1)]
    np.testing.assert_allclose([a.asnumpy() for a in arrays], 0.5, rtol=1e-6)


def test_clip_gradients():
    x = nd.array([3.0, 4.0])
    x.attach_grad()
    with mx.autograd.record():
        y = (x * x).sum()
    y.backward()
    utils.clip_global_norm([x.grad], 1.0)
    np.testing.assert_allclose(x.grad.asnumpy(), [0.6, 0.8], rtol=1e-6)


@pytest.mark.engine("torch")
@pytest.mark.parametrize("dtype", ["float16", "float64"])
def test_clip_other_types(dtype):
    """A norm beyond float16's range; MXNet refuses all but float32."""
    arrays = [nd.full((2,), 40000, dtype=dtype), nd.full((2,), 40000, dtype=dtype)]
    assert utils.clip_global_norm(arrays, 1.0) == 80000
    assert arrays[0].dtype == np.dtype(dtype).type
    np.testing.assert_allclose(arrays[1].asnumpy(), 0.5, rtol=1e-3)


@pytest.mark.engine("torch")
def test_clip_nothing():
    with pytest.raises(ValueError, match="no arrays"):
        utils.clip_global_norm([], 1.0)


@pytest.mark.parametrize(
    "shape, known", [(None, False), ((), False), ((2, 3), True), ((0, 3), False)], ids=str
)
def test_shape_is_known(shape, known):
    assert utils.shape_is_known(shape) is known


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "x.bin"
    path.write_bytes(b"abc")
    return path


SHA1 = hashlib.sha1(b"abc").hexdigest()


def test_check_sha1(file):
    assert utils.check_sha1(str(file), SHA1)
    assert not utils.check_sha1(str(file), "0" * 40)


@pytest.mark.parametrize("sha1", [None, SHA1], ids=["any", "sha1"])
@pytest.mark.parametrize("given", ["file", "folder", "nothing"])
def test_download_what_is_there(file, monkeypatch, given, sha1):
    monkeypatch.chdir(file.parent)
    path = {"file": str(file), "folder": str(file.parent), "nothing": None}[given]
    found = utils.download("http://localhost:1/a/x.bin", path=path, sha1_hash=sha1)
    assert found == ("x.bin" if path is None else str(file))


@pytest.mark.engine("torch")
def test_download_refuses(file):
    missing = str(file) + ".2"
    with pytest.raises(NotImplementedError, match="x.bin.2 is not there"):
        utils.download("http://localhost:1/x", path=missing)
    with pytest.raises(NotImplementedError, match="SHA-1"):
        utils.download("http://localhost:1/x", path=str(file), sha1_hash="0" * 40)
    with pytest.raises(ValueError, match="path"):
        utils.download("http://localhost:1/")


def test_where_the_files_of_models_are(monkeypatch):
    monkeypatch.delenv("MXNET_GLUON_REPO", raising=False)
    assert utils._get_repo_url().startswith("https://apache-mxnet.s3")
    monkeypatch.setenv("MXNET_GLUON_REPO", "http://localhost:1/b")
    assert utils._get_repo_url() == "http://localhost:1/b/"
    assert utils._get_repo_file_url("gluon/x", "f.zip") == "http://localhost:1/b/gluon/x/f.zip"


# Hooks


def test_a_handle_has_one_hook():
    handle, hooks = utils.HookHandle(), OrderedDict()
    handle.attach(hooks, print)
    with pytest.raises(AssertionError):
        handle.attach(hooks, print)
    assert list(hooks.values()) == [print]
    handle.detach()
    handle.detach()
    assert not hooks


# Private ones, which programs import


def test_texts():
    assert utils._indent("a\nb\n  c", 2) == "a\n  b\n    c"
    assert utils._brief_print_list(["a", "b"]) == "'a', 'b'"
    assert utils._brief_print_list("abcdefg") == "'a', 'b', 'c', 'd', 'e', 'f', 'g'"
    assert utils._brief_print_list("abcdefghij") == "'a', 'b', 'c', ..., 'g', 'h', 'i', 'j'"
    assert utils._brief_print_list("abcdefgh", 3) == "'a', ..., 'g', 'h'"
    assert utils._check_same_symbol_type([mx.sym.var("a")]) is mx.sym.Symbol
