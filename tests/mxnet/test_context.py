"""Contexts: what they are, the default, and those that the machine has not."""

import copy
import pickle
import threading

import pytest


@pytest.fixture
def nd(mx):
    return mx.nd


@pytest.fixture
def no_gpu(mx):
    """A context that no machine has."""
    return mx.gpu(63)


def test_equality(mx):
    assert mx.cpu() == mx.cpu(0) == mx.Context("cpu") == mx.Context(mx.cpu(0))
    assert mx.cpu(0) != mx.cpu(1)
    assert mx.cpu(0) != mx.gpu(0)
    assert mx.cpu(0) != mx.cpu_pinned(0)
    assert mx.cpu() != "cpu(0)" and mx.cpu() != None  # noqa: E711 - the operator is what is tested
    assert {mx.cpu(0): 1, mx.cpu(1): 2}[mx.Context("cpu", 1)] == 2


@pytest.mark.parametrize(
    "text, kind, number",
    [
        ("cpu(0)", "cpu", 0),
        ("cpu(3)", "cpu", 3),
        ("gpu(1)", "gpu", 1),
        ("cpu_pinned(0)", "cpu_pinned", 0),
    ],
)
def test_parts(mx, text, kind, number):
    context = mx.Context(kind, number)
    assert str(context) == repr(context) == text
    assert (context.device_type, context.device_id) == (kind, number)
    assert getattr(mx, kind)(number) == context
    assert mx.Context.devtype2str[context.device_typeid] == kind
    assert mx.Context.devstr2type[kind] == context.device_typeid


def test_copies(mx):
    for context in (mx.cpu(1), mx.gpu(2)):
        assert pickle.loads(pickle.dumps(context)) == context
        assert copy.deepcopy(context) == context


def test_unknown_device_type(mx):
    with pytest.raises((KeyError, ValueError), match="tpu"):
        mx.Context("tpu")


def test_default(mx, nd):
    assert mx.current_context() == mx.cpu(0)
    with mx.cpu(1) as entered:
        assert entered == mx.current_context() == mx.cpu(1)
        with mx.Context("cpu", 2):
            assert nd.zeros(1).context == nd.array([1]).context == mx.cpu(2)
            assert nd.random.uniform().context == mx.cpu(2)
            assert nd.arange(2).context == nd.eye(2).context == mx.cpu(2)
        assert nd.zeros(1, ctx=mx.cpu(0)).context == mx.cpu(0)
        assert nd.zeros(1).context == mx.cpu(1)
    assert mx.current_context() == mx.cpu(0)


def test_an_exception_leaves_the_default(mx):
    with pytest.raises(KeyError), mx.cpu(1):
        raise KeyError
    assert mx.current_context() == mx.cpu(0)


@pytest.mark.engine("torch")  # MXNet comes out of it with the wrong default
def test_one_context_entered_twice(mx):
    context = mx.cpu(1)
    with context, mx.cpu(2), context:
        assert mx.current_context() == context
    assert mx.current_context() == mx.cpu(0)


def test_each_thread_has_its_own_default(mx):
    seen = []
    with mx.cpu(1):
        thread = threading.Thread(target=lambda: seen.append(mx.current_context()))
        thread.start()
        thread.join()
    assert seen == [mx.cpu(0)]


def test_results_live_where_the_first_array_does(mx, nd):
    here, there = nd.ones(3), nd.ones(3, ctx=mx.cpu(1))
    with mx.cpu(2):
        assert (here + there).context == mx.cpu(0)
        assert (there * here).context == (there > here).context == mx.cpu(1)
        assert nd.exp(there).context == (2 - there).context == there[0].context == mx.cpu(1)
        assert there.copy().context == there.reshape((3, 1)).context == mx.cpu(1)
        assert there.astype("int32").context == there[[0]].context == mx.cpu(1)


def test_a_gpu_may_be_named_anywhere(mx, no_gpu):
    assert str(no_gpu) == "gpu(63)"
    with no_gpu:
        assert mx.current_context() == no_gpu


def test_a_gpu_that_is_not_there(mx, nd, no_gpu):
    x = nd.ones(2)
    for use in (
        lambda: nd.zeros((2,), ctx=no_gpu),
        lambda: nd.array([1], ctx=no_gpu),
        lambda: nd.random.uniform(ctx=no_gpu),
        lambda: x.as_in_context(no_gpu),
        lambda: x.copyto(no_gpu),
    ):
        with pytest.raises(mx.MXNetError):
            use().asnumpy()


@pytest.mark.engine("torch")
def test_the_error_names_what_there_is(mx, nd, no_gpu, monkeypatch):
    with pytest.raises(ValueError, match=r"(?s)gpu\(63\) is not on this machine.*there is cpu\(\)"):
        nd.zeros((2,), ctx=no_gpu)
    monkeypatch.setattr(mx.context, "num_gpus", lambda: 2)
    with pytest.raises(ValueError, match=r"there is cpu\(\) and gpu\(0\), gpu\(1\)"):
        nd.zeros((2,), ctx=mx.gpu(62))


def test_num_gpus(mx):
    assert mx.context.num_gpus() >= 0
    with pytest.raises(mx.MXNetError):
        mx.context.gpu_memory_info(63)


@pytest.mark.engine("torch")  # MXNet's complains of a missing attribute
def test_something_else_as_context(mx, nd):
    with pytest.raises(TypeError, match="(?s)ctx is 'int32'.*dtype='int32'"):
        nd.array([1], "int32")
    for make in (nd.zeros, nd.ones, nd.empty, nd.arange, nd.eye):
        with pytest.raises(TypeError, match="ctx is 'cpu'"):
            make(2, ctx="cpu")


def test_empty_cache(mx):
    mx.cpu().empty_cache()
