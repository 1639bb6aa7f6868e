"""The switches of MXNet's NumPy interface: functions, scopes and decorators, in each thread."""

import threading

import pytest


@pytest.fixture(autouse=True)
def off(mx):
    yield
    mx.util.reset_np()


def switches(mx):
    return mx.util.is_np_shape(), mx.util.is_np_array()


def test_set_and_reset(mx):
    mx.npx.set_np(array=False)
    assert switches(mx) == (True, False)
    mx.npx.set_np()
    assert switches(mx) == (True, True)
    mx.npx.reset_np()
    assert switches(mx) == (False, False)
    with pytest.raises(ValueError, match="(?i)shape"):
        mx.util.set_np(shape=False, array=True)


def test_scopes(mx):
    with mx.util.np_shape(True), mx.util.np_array(True):
        assert switches(mx) == (True, True)
        with mx.util.np_array(False):
            assert switches(mx) == (True, False)
        assert switches(mx) == (True, True)
    assert switches(mx) == (False, False)


def test_a_thread_begins_without_it(mx):
    mx.npx.set_np()
    seen = []
    thread = threading.Thread(target=lambda: seen.append(switches(mx)[1]))
    thread.start()
    thread.join()
    assert seen == [False] and switches(mx) == (True, True)


def test_functions(mx):
    @mx.util.use_np
    def function(x, by=2):
        """Doc."""
        return switches(mx), x * by

    assert function.__name__ == "function" and function.__doc__ == "Doc."
    assert function(2, by=3) == ((True, True), 6)
    assert mx.util.use_np_array(lambda: switches(mx))() == (False, True)
    assert mx.util.use_np_shape(lambda: switches(mx))() == (True, False)
    assert switches(mx) == (False, False)
    with pytest.raises((TypeError, AssertionError)):
        mx.util.use_np(3)


def test_classes(mx):
    class Base:
        def inherited(self):
            return switches(mx)

    @mx.util.use_np
    class Use(Base):
        def __init__(self):
            self.at_first = switches(mx)

        @property
        def told(self):
            return switches(mx)

        def fails(self):
            raise KeyError("x")

    use = Use()
    assert use.at_first == use.told == use.inherited() == (True, True)
    assert Base().inherited() == (False, False)
    with pytest.raises(KeyError):
        use.fails()
    assert switches(mx) == (False, False)


def test_blocks(mx):
    @mx.util.use_np
    class Net(mx.gluon.HybridBlock):
        def __init__(self):
            super().__init__()
            with self.name_scope():
                self.w = self.params.get("w", shape=(0, 4), allow_deferred_init=True)

        def hybrid_forward(self, F, x, w):
            return F.np.dot(x, w)

    for hybridize in (False, True):
        net = Net()
        net.initialize()
        if hybridize:
            net.hybridize()
        x = mx.nd.ones((2, 3)).as_np_ndarray()
        assert type(net(x)) is mx.np.ndarray
        assert type(net.w.data()) is mx.np.ndarray and net.w.shape == (3, 4)
