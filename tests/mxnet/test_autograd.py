"""Recording and differentiating."""

import pickle
import threading

import forks
import numpy as np
import pytest


@pytest.fixture
def nd(mx):
    return mx.nd


@pytest.fixture
def autograd(mx):
    yield mx.autograd
    assert not mx.autograd.is_recording() and not mx.autograd.is_training()


@pytest.fixture
def variable(nd):
    def make(values=(1, 2, 3), req="write", **kwargs):
        x = nd.array(values, **kwargs)
        x.attach_grad(req)
        return x

    return make


def same(array, expected, tolerance=1e-6):
    np.testing.assert_allclose(array.asnumpy(), expected, rtol=tolerance, atol=tolerance)
    assert array.shape == np.shape(expected)


# The two switches


def switches(autograd):
    return autograd.is_recording(), autograd.is_training()


def test_scopes(autograd):
    assert switches(autograd) == (False, False)
    with autograd.record():
        assert switches(autograd) == (True, True)
        with autograd.pause():
            assert switches(autograd) == (False, False)
            with autograd.record(train_mode=False):
                assert switches(autograd) == (True, False)
        with autograd.pause(train_mode=True):
            assert switches(autograd) == (False, True)
        with autograd.predict_mode():
            assert switches(autograd) == (True, False)
            with autograd.train_mode():
                assert switches(autograd) == (True, True)
        assert switches(autograd) == (True, True)
    with autograd.record(train_mode=False):
        assert switches(autograd) == (True, False)
    with autograd.train_mode():
        assert switches(autograd) == (False, True)


def test_set_returns_what_was(autograd):
    assert autograd.set_recording(True) is False
    assert autograd.set_training(True) is False
    assert switches(autograd) == (True, True)
    assert autograd.set_recording(False) is True
    assert autograd.set_training(False) is True


def test_an_exception_leaves_the_switches(autograd):
    for scope in (autograd.record, autograd.train_mode):
        with pytest.raises(KeyError), autograd.record(train_mode=False), scope():
            raise KeyError
        assert switches(autograd) == (False, False)


@pytest.mark.engine("torch")  # MXNet's scopes are good for one use at a time
def test_a_scope_is_used_again_within_itself(autograd):
    scope = autograd.record()
    with scope:
        with scope:
            pass
        assert switches(autograd) == (True, True)
    assert switches(autograd) == (False, False)


def test_each_thread_has_its_own_switches(autograd, nd):
    barrier, results = threading.Barrier(8, timeout=10), {}

    def run(i):
        x = nd.array([1, 2, 3])
        x.attach_grad()
        for _ in range(10):
            barrier.wait()
            if i % 2:
                with autograd.record():
                    barrier.wait()
                    y = x * x * i
                y.backward()
            else:
                barrier.wait()
                y = x * x * i
                assert not autograd.is_recording()
        results[i] = x.grad.asnumpy().tolist()

    threads = [threading.Thread(target=run, args=(i,)) for i in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == {i: [2 * i * (i % 2) * v for v in (1, 2, 3)] for i in range(8)}


@pytest.mark.engine("torch")
def test_gradients_of_several_threads_do_not_mix(autograd, nd):
    weights = [nd.ones((30, 30)) for _ in range(4)]
    for w in weights:
        w.attach_grad()
    failures, places = [], {900 * (i + 1) for i in range(6)}

    def run(i):
        try:
            for _ in range(100):
                with autograd.record():
                    y = sum(((i + 1) * w).sum() for w in weights)
                y.backward()
                found = {float(w.grad.sum().asscalar()) for w in weights}
                assert found <= places, found
        except Exception as error:
            failures.append(error)

    threads = [threading.Thread(target=run, args=(i,)) for i in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures


# backward


def test_gradient(autograd, variable):
    x = variable()
    same(x.grad, [0, 0, 0])
    with autograd.record():
        y = x * x
    y.backward()
    same(x.grad, [2, 4, 6])


@pytest.mark.parametrize("req, expected", [("write", [2, 4, 6]), ("add", [4, 8, 12])])
def test_twice(autograd, variable, req, expected):
    x = variable(req=req)
    for _ in range(2):
        with autograd.record():
            y = x * x
        y.backward()
    same(x.grad, expected)


def test_req_null(autograd, mx, variable):
    x, z = variable(req="null"), variable()
    with autograd.record():
        y = x * z
    y.backward()
    same(z.grad, [1, 2, 3])
    with autograd.record():
        y = x * x
    with pytest.raises(mx.MXNetError):
        y.backward()


@pytest.mark.engine("torch")  # MXNet forgets the gradient once the array was used
def test_req_null_keeps_zeros(autograd, variable):
    x, z = variable(req="null"), variable()
    with autograd.record():
        y = x * z
    y.backward()
    same(x.grad, [0, 0, 0])


def test_used_twice_gets_the_sum(autograd, variable):
    x = variable()
    with autograd.record():
        y = x * x + x
        z = y * x
    z.backward()
    same(x.grad, [5, 16, 33])


def test_reset_to_zero(autograd, variable):
    x = variable(req="add")
    for _ in range(2):
        x.grad[:] = 0
        with autograd.record():
            y = x * x
        y.backward()
    same(x.grad, [2, 4, 6])


def test_a_variable_that_is_not_used_keeps_its_gradient(autograd, variable):
    x, z = variable(), variable()
    z.grad[:] = 7
    with autograd.record():
        y = x * x
    y.backward()
    same(z.grad, [7, 7, 7])


@pytest.mark.engine("torch")  # MXNet makes a new object for each look
def test_the_gradient_stays_the_same_object(autograd, variable):
    for req in ("write", "add"):
        x = variable(req=req)
        gradient, view = x.grad, x.grad[0:2]
        for _ in range(2):
            with autograd.record():
                y = x * 3
            y.backward()
        assert x.grad is gradient
        same(view, gradient.asnumpy()[:2])


def test_views_of_a_gradient_see_it(autograd, variable):
    x = variable()
    view = x.grad[0:2]
    with autograd.record():
        y = x * x
    y.backward()
    same(view, [2, 4])


def test_the_copy_of_an_array_is_recorded(autograd, nd, variable):
    x = variable()
    with autograd.record():
        y = nd.array(x, dtype="float64") * 2
    y.backward()
    same(x.grad, [2, 2, 2])


@pytest.mark.parametrize(
    "compute",
    [
        lambda nd, x: nd.slice_like(nd.ones((5,)), x),
        lambda nd, x: nd.reshape_like(nd.ones((1, 3)), x),
        lambda nd, x: nd.broadcast_like(nd.ones((1,)), x),
        lambda nd, x: nd.where(x, nd.ones((3,)), nd.zeros((3,))),
        lambda nd, x: nd.pick(nd.ones((3, 4)), x),
    ],
    ids=["slice_like", "reshape_like", "broadcast_like", "where", "pick"],
)
def test_what_looks_only_at_shape_or_order_has_a_gradient_of_zeros(autograd, nd, variable, compute):
    x = variable()
    x.grad[:] = 7
    with autograd.record():
        y = compute(nd, x)
    y.backward()
    same(x.grad, [0, 0, 0])


def test_head_gradients(autograd, nd, variable):
    x = variable()
    with autograd.record():
        y = x * x
    y.backward(nd.array([1, 10, 100]))
    same(x.grad, [2, 40, 600])


def test_several_heads(autograd, nd, variable):
    x = variable()
    with autograd.record():
        y, z = x * x, 3 * x
    autograd.backward([y, z])
    same(x.grad, [5, 7, 9])
    with autograd.record():
        y, z = x * x, 3 * x
    autograd.backward([y, z], [None, nd.array([1, 2, 3])])
    same(x.grad, [5, 10, 15])
    with autograd.record():
        y = x * x
        z = 2 * y
    autograd.backward([z, y])
    same(x.grad, [6, 12, 18])


def test_retain_graph(autograd, mx, variable):
    x = variable(req="add")
    with autograd.record():
        y = x * x
    y.backward(retain_graph=True)
    y.backward()
    same(x.grad, [4, 8, 12])
    with pytest.raises(mx.MXNetError):
        y.backward()


def test_a_head_given_several_times_counts_once_with_its_last_gradient(autograd, nd, variable):
    x = variable()
    with autograd.record():
        y = x * 2
        copy = y.copy()
    heads, gradients = [y, copy, y], [nd.full((3,), factor) for factor in (5, 10, 100)]
    autograd.backward(heads, gradients, retain_graph=True)
    same(x.grad, [220] * 3)
    same(autograd.grad(heads, [x], gradients)[0], [220] * 3)


def test_backward_inside_record(autograd, variable):
    x = variable()
    with autograd.record():
        y = x * x
        y.backward()
        assert switches(autograd) == (True, True)
        z = x * 3
    same(x.grad, [2, 4, 6])
    z.backward()
    same(x.grad, [3, 3, 3])


def test_two_scopes_are_one_computation(autograd, variable):
    x = variable()
    with autograd.record():
        y = x * x
    with autograd.record():
        z = y * 3
    z.backward()
    same(x.grad, [6, 12, 18])


def test_paused(autograd, variable):
    x = variable()
    with autograd.record():
        y = x * x
        with autograd.pause():
            w = y * 2
        z = y + w
    z.backward()
    same(x.grad, [2, 4, 6])


def test_backward_of_a_variable(variable, autograd):
    x = variable()
    x.backward()
    same(x.grad, [1, 1, 1])


def test_train_mode_of_backward(autograd, nd, variable):
    x = variable(np.ones(1000))
    with autograd.record(train_mode=False):
        y = nd.Dropout(x, p=0.5)
    y.backward(train_mode=False)
    same(x.grad, np.ones(1000))


def test_contexts(autograd, mx, variable):
    x = variable(ctx=mx.cpu(1))
    with autograd.record():
        y = (x * x).as_in_context(mx.cpu(0)) * 2
        z = y.copyto(mx.cpu(2))
    z.backward()
    assert (x.grad.context, y.context, z.context) == (mx.cpu(1), mx.cpu(0), mx.cpu(2))
    same(x.grad, [4, 8, 12])


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_dtypes(autograd, variable, dtype):
    x = variable(dtype=dtype)
    with autograd.record():
        y = (x * x).sum()
    y.backward()
    assert x.grad.dtype == np.dtype(dtype).type
    same(x.grad, [2, 4, 6])


def test_through_a_cast(autograd, variable):
    x = variable()
    with autograd.record():
        y = x.astype("float64") * 2
    y.backward()
    assert x.grad.dtype is np.float32
    same(x.grad, [2, 2, 2])


@pytest.mark.engine("torch")  # MXNet differentiates integers, in integers
def test_integers_are_constants(autograd, nd, variable):
    i = nd.array([1, 2, 3], dtype="int32")
    with pytest.warns(UserWarning, match="int32"):
        i.attach_grad()
    assert i.grad.dtype is np.int32
    x = variable()
    with autograd.record():
        y = x * i.astype("float32")
    y.backward()
    same(x.grad, [1, 2, 3])
    same(i.grad, [0, 0, 0])
    i.attach_grad("null")


READS = {
    "x[0:2]": (lambda x: x[0:2], [1, 1, 0]),
    "x[1]": (lambda x: x[1], [0, 1, 0]),
    "x[::-1]": (lambda x: x[::-1], [1, 1, 1]),
    "x[::2]": (lambda x: x[::2], [1, 0, 1]),
    "x[[0,0,2]]": (lambda x: x[[0, 0, 2]], [2, 0, 1]),
    "x[:]": (lambda x: x[:], [1, 1, 1]),
    "x[None]": (lambda x: x[None], [1, 1, 1]),
    "reshape": (lambda x: x.reshape((3, 1)), [1, 1, 1]),
    "copy": (lambda x: x.copy(), [1, 1, 1]),
    "iter": (lambda x: sum(v for v in x), [1, 1, 1]),
    "as_in_context": (lambda x: x.as_in_context(x.context), [1, 1, 1]),
    "x[1:][1:]": (lambda x: x[1:][1:], [0, 0, 1]),
}


@pytest.mark.parametrize("read, expected", READS.values(), ids=READS)
def test_reading_is_recorded(autograd, variable, read, expected):
    x = variable()
    with autograd.record():
        y = read(x) * 2
    y.backward()
    same(x.grad, 2 * np.array(expected))


def test_what_is_read_before_record_is_a_constant(autograd, variable):
    x = variable()
    parts = x[0:2], x[...][1:], x.reshape(-1)[:2], x.copy()[:2], x[[0, 1]]
    for part in parts:
        with autograd.record():
            y = part * x[0:2]
        y.backward()
        same(x.grad, [*part.asnumpy(), 0])


# What has no gradient, and what has zeros

CONSTANT = {
    "BlockGrad": lambda nd, x: nd.BlockGrad(x * x),
    "x>1": lambda nd, x: (x * x) > 1,
    "x==x": lambda nd, x: x == x,
    "argmax": lambda nd, x: x.argmax(axis=0),
    "floor": lambda nd, x: nd.floor(x),
    "round": lambda nd, x: nd.round(x * x),
    "sign": lambda nd, x: nd.sign(x),
    "zeros_like": lambda nd, x: nd.zeros_like(x),
    "ones_like": lambda nd, x: nd.ones_like(x * 2),
}


@pytest.mark.parametrize("constant", CONSTANT.values(), ids=CONSTANT)
def test_zero_gradients(autograd, nd, variable, constant):
    x = variable()
    x.grad[:] = 5
    with autograd.record():
        y = constant(nd, x)
    y.backward()
    same(x.grad, [0, 0, 0])
    with autograd.record():
        y = constant(nd, x) * x
    y.backward()
    same(x.grad, np.broadcast_to(constant(nd, x).asnumpy(), 3))


INTEGERS = {
    "shape_array": lambda nd, x: nd.shape_array(x),
    "topk": lambda nd, x: nd.topk(x, k=2, dtype="int32"),
    "argsort": lambda nd, x: nd.argsort(x, dtype="int32"),
}


@pytest.mark.parametrize("integers", INTEGERS.values(), ids=INTEGERS)
def test_the_gradients_of_integers_are_zero(autograd, nd, variable, integers):
    x = variable()
    with autograd.record():
        y = integers(nd, x)
    y.backward()
    same(x.grad, [0, 0, 0])
    with autograd.record():
        y, z = integers(nd, x), x * 2
    autograd.backward([y, z])
    same(x.grad, [2, 2, 2])
    with autograd.record():
        y = integers(nd, x)
    same(autograd.grad(y, [x])[0], [0, 0, 0])


@pytest.mark.parametrize("shape", [(6,), (3, 2), (2, 3, 1), (1, 6)])
def test_a_head_gradient_of_another_shape(autograd, nd, shape):
    x = nd.ones((2, 3))
    x.attach_grad()
    with autograd.record():
        y = x * 2
    y.backward(nd.arange(6).reshape(shape))
    same(x.grad, [[0, 2, 4], [6, 8, 10]])


@pytest.mark.engine("torch")  # MXNet reads beyond its end
def test_a_head_gradient_of_fewer_elements(autograd, nd, mx):
    x = nd.ones((2, 3))
    x.attach_grad()
    with autograd.record():
        y = x * 2
    told = r"the head gradient is \(3,\)\n  expected \(2, 3\), or as many elements"
    with pytest.raises(mx.MXNetError, match=told):
        y.backward(nd.ones((3,)))


def test_detach(autograd, variable):
    x = variable()
    with autograd.record():
        y = x * x
        z = y.detach() * x
    z.backward()
    same(x.grad, [1, 4, 9])
    assert x.detach().grad is None


def test_attach_grad_cuts(autograd, variable):
    x = variable()
    with autograd.record():
        y = x * x
        y.attach_grad()
        z = y * y
    z.backward()
    same(y.grad, [2, 8, 18])
    same(x.grad, [0, 0, 0])


def test_attach_grad_again(autograd, variable):
    x = variable()
    before = x.grad
    with autograd.record():
        y = x * x
    y.backward()
    x.attach_grad("add")
    same(x.grad, [0, 0, 0])
    same(before, [2, 4, 6])
    for _ in range(2):
        with autograd.record():
            y = x * x
        y.backward()
    same(x.grad, [4, 8, 12])


def test_an_unknown_req(nd):
    with pytest.raises((KeyError, TypeError), match="foo"):
        nd.array([1]).attach_grad("foo")


def test_mark_variables(autograd, mx, nd):
    x, y = nd.array([1, 2]), nd.array([3, 4])
    dx, dy = nd.zeros(2), nd.ones(2)
    autograd.mark_variables([x, y], [dx, dy], ["write", "add"])
    with autograd.record():
        z = x * y
    z.backward()
    same(dx, [3, 4])
    same(dy, [2, 3])
    autograd.mark_variables(x, dx, "add")
    with autograd.record():
        z = x * y
    z.backward()
    same(dx, [6, 8])


@pytest.mark.engine("torch")  # MXNet crashes, or says nothing
def test_mark_variables_called_wrongly(autograd, mx, nd):
    x = nd.zeros(2)
    for gradient in (nd.zeros(3), nd.zeros(2, dtype="float64")):
        with pytest.raises(mx.MXNetError, match="expected"):
            autograd.mark_variables(x, gradient)
    with pytest.raises(mx.MXNetError, match="2 variables, 1 gradients"):
        autograd.mark_variables([x, x], [x])


# Errors


def test_nothing_was_recorded(autograd, mx, nd, variable):
    x = variable()
    with pytest.raises(mx.MXNetError):
        (x * x).backward()
    with autograd.record():
        y = nd.array([1]) * 2
    with pytest.raises(mx.MXNetError):
        y.backward()
    with autograd.record():
        z = x * x
    with pytest.raises(mx.MXNetError):
        autograd.backward([z, nd.array([1])])


def test_backward_called_wrongly(autograd, nd, variable):
    x = variable()
    with autograd.record():
        y = x * x
    with pytest.raises((AssertionError, TypeError)):
        autograd.backward([y, y], [nd.array([1, 2, 3])])
    with pytest.raises(TypeError):
        autograd.backward(3)


@pytest.mark.engine(
    "torch"
)  # MXNet reads beyond a short head gradient, and aborts for another dtype
def test_head_gradients_that_do_not_fit(autograd, mx, nd, variable):
    x = variable()
    with autograd.record():
        y = x * x
    for wrong in (nd.array([1, 10]), nd.array([1])):
        with pytest.raises(mx.MXNetError, match=r"expected \(3,\)"):
            y.backward(wrong)
    y.backward(nd.array([1, 10, 100], dtype="float64"))
    same(x.grad, [2, 40, 600])


# Overwriting

WRITES = {
    "x+=1": lambda nd, x: x.__iadd__(1),
    "x*=x": lambda nd, x: x.__imul__(x),
    "x[0]=5": lambda nd, x: x.__setitem__(0, 5),
    "x[:]=5": lambda nd, x: x.__setitem__(slice(None), 5),
    "x[:]=y": lambda nd, x: x.__setitem__(slice(None), nd.zeros(3)),
    "x[[0]]=5": lambda nd, x: x.__setitem__([0], 5),
    "out=x": lambda nd, x: nd.negative(nd.ones(3), out=x),
    "copyto": lambda nd, x: nd.zeros(3).copyto(x),
}


@pytest.mark.parametrize("write", WRITES.values(), ids=WRITES)
def test_writing_into_what_is_recorded(autograd, mx, nd, variable, write):
    x = variable()
    with autograd.record():
        with pytest.raises(mx.MXNetError):
            write(nd, x)
        y = x * 2
        with pytest.raises(mx.MXNetError):
            write(nd, y)


@pytest.mark.parametrize("write", WRITES.values(), ids=WRITES)
@pytest.mark.engine("torch")  # MXNet writes first and complains then
def test_refused_writes_change_nothing(autograd, mx, nd, variable, write):
    x = variable()
    with autograd.record():
        y = x * x
        for array in (x, y):
            with pytest.raises(mx.MXNetError, match="x = x \\+ y"):
                write(nd, array)
    same(x, [1, 2, 3])
    same(y, [1, 4, 9])
    y.backward()
    same(x.grad, [2, 4, 6])


@pytest.mark.parametrize("write", WRITES.values(), ids=WRITES)
def test_writing_into_a_constant(autograd, nd, variable, write):
    x, c = variable(), nd.array([4, 5, 6])
    with autograd.record():
        write(nd, c)
        y = x * c
    y.backward()
    same(x.grad, c.asnumpy())


@pytest.mark.parametrize("write", WRITES.values(), ids=WRITES)
@pytest.mark.engine("torch")  # MXNet silently uses the new value
def test_a_variable_overwritten_before_backward(autograd, mx, nd, variable, write):
    x = variable()
    with autograd.record():
        y = x * x
    write(nd, x)
    with pytest.raises(mx.MXNetError, match="overwritten"):
        y.backward()
    with autograd.record():
        y = x * x
    y.backward()
    same(x.grad, 2 * x.asnumpy())


@pytest.mark.parametrize("write", WRITES.values(), ids=WRITES)
@pytest.mark.engine("torch")  # MXNet silently uses the new value
def test_a_constant_overwritten_before_backward(autograd, mx, nd, variable, write):
    """The gradient of what was computed, or an error; never another."""
    x, c = variable(), nd.array([4, 5, 6])
    with autograd.record():
        y = x * c
    write(nd, c)
    try:
        y.backward()
    except mx.MXNetError as error:
        assert "overwritten" in str(error)
    else:
        same(x.grad, [4, 5, 6])


def test_overwritten_where_the_value_is_not_needed(autograd, variable):
    x = variable()
    with autograd.record():
        y = x + x
    x[:] = 7
    y.backward()
    same(x.grad, [2, 2, 2])


def test_updates_outside_record(autograd, variable):
    x = variable()
    for _ in range(2):
        with autograd.record():
            y = x * x
        y.backward()
        x[:] = x - 0.25 * x.grad
        x -= 0.25 * x.grad
    same(x, [0, 0, 0])
    same(x.grad, [0, 0, 0])


def test_recorded_values_written_into_an_array(autograd, mx, nd, variable):
    """Whole arrays take them with their past; parts cannot."""
    x = variable()
    for write in (
        lambda b: b.__setitem__(slice(None), x * 2),
        lambda b: (x * 2).copyto(b),
        lambda b: nd.broadcast_mul(x, nd.full(3, 2), out=b),
    ):
        b = nd.zeros(3)
        with autograd.record():
            write(b)
            y = b * x
        y.backward()
        same(x.grad, [4, 8, 12])
    b = nd.zeros(3)
    with autograd.record(), pytest.raises(mx.MXNetError):
        b[0:1] = x[0:1] * 2


def test_writing_outside_record_into_a_result(autograd, variable):
    """The gradient is that of what was recorded."""
    x = variable()
    with autograd.record():
        y = x * x
    y[:] = 100
    y += 1
    same(y, [101, 101, 101])
    y.backward()
    same(x.grad, [2, 4, 6])


# grad


def test_grad(autograd, nd, variable):
    x, w = variable(), variable([4, 5, 6])
    with autograd.record():
        y = x * x * w
    dx, dw = autograd.grad(y, [x, w])
    same(dx, [8, 20, 36])
    same(dw, [1, 4, 9])
    same(x.grad, [0, 0, 0])
    with autograd.record():
        y = x * x * w
    found = autograd.grad([y], x, head_grads=[nd.array([1, 0, 1])])
    assert isinstance(found, list)
    same(found[0], [8, 0, 36])


def test_grad_uses_up_what_was_recorded(autograd, mx, variable):
    x = variable()
    with autograd.record():
        y = x * x
    autograd.grad(y, x, retain_graph=True)
    autograd.grad(y, x)
    with pytest.raises(mx.MXNetError):
        autograd.grad(y, x)


def test_grad_of_what_was_not_used(autograd, mx, variable):
    x, z = variable(), variable()
    with autograd.record():
        y = x * x
    with pytest.raises(mx.MXNetError):
        autograd.grad(y, [x, z])


def test_grad_of_what_is_not_recorded(autograd, mx, nd):
    x = nd.array([1, 2])
    with autograd.record():
        y = x * x
    with pytest.raises(mx.MXNetError):
        autograd.grad(y, x)


def test_second_order(autograd, nd, variable):
    x = variable()
    with autograd.record():
        y = nd.sin(x)
        dx = autograd.grad(y, x, create_graph=True, retain_graph=True)[0]
        z = nd.sin(dx)
    z.backward()
    same(x.grad, -np.sin([1, 2, 3]) * np.cos(np.cos([1, 2, 3])))


CONSTANT = {  # at [1, 2, 3]
    "abs": (lambda nd, x: nd.abs(x), [1, 1, 1]),
    "clip": (lambda nd, x: nd.clip(x, 0, 2.5), [1, 1, 0]),
    "dropout": (lambda nd, x: nd.Dropout(x, mode="training", p=0.0), [1, 1, 1]),
    "round": (lambda nd, x: nd.round(x), [0, 0, 0]),
}


@pytest.mark.parametrize("function, slope", CONSTANT.values(), ids=CONSTANT)
def test_a_constant_gradient_has_the_derivative_zero(autograd, nd, variable, function, slope):
    x = variable()
    with autograd.record():
        dx = autograd.grad(function(nd, x), x, create_graph=True, retain_graph=True)[0]
    dx.backward()
    same(dx, slope)
    same(x.grad, [0, 0, 0])


@pytest.mark.engine("torch")  # most of MXNet's operators have one derivative, some two
def test_third_order(autograd, variable):
    x = variable()
    with autograd.record():
        y = x**4
        first = autograd.grad(y, x, create_graph=True)[0]
        second = autograd.grad(first, x, create_graph=True)[0]
        third = autograd.grad(second, x, create_graph=True)[0]
    third.backward()
    same(first, [4, 32, 108])
    same(second, [12, 48, 108])
    same(third, [24, 48, 72])
    same(x.grad, [24, 24, 24])


@pytest.mark.engine("torch")  # MXNet knows no second derivative of the product
def test_gradient_penalty(autograd, nd, variable):
    x, w = variable(), variable([4, 5, 6])
    with autograd.record():
        y = (x * x * w).sum()
        dx = autograd.grad(y, x, create_graph=True)[0]
        penalty = (dx * dx).sum()
    assert not autograd.is_recording()
    penalty.backward()
    same(w.grad, 8 * np.array([1, 4, 9]) * [4, 5, 6])


@pytest.mark.engine("torch")
def test_grad_of_a_constant_is_zeros(autograd, nd, variable):
    x = variable()
    with autograd.record():
        y = nd.floor(x * x)
    same(autograd.grad(y, x)[0], [0, 0, 0])


# Function


@pytest.mark.engine("torch")  # MXNet's has no __all__
def test_function_is_a_name_of_autograd(autograd):
    assert "Function" in dir(autograd) and "Function" in autograd.__all__
    assert pickle.loads(pickle.dumps(autograd.Function)) is autograd.Function


@pytest.fixture
def product(autograd):
    class Product(autograd.Function):
        """x y and x + y."""

        def forward(self, x, y):
            assert not autograd.is_recording()
            self.training = autograd.is_training()
            self.save_for_backward(x, y)
            return x * y, x + y

        def backward(self, dp, ds):
            x, y = self.saved_tensors
            return dp * y + ds, dp * x + ds

    return Product


def test_function(autograd, nd, variable, product):
    x, y = variable(), variable([4, 5, 6])
    with autograd.record():
        p, s = product()(x, y)
        z = p * 2 + s * 3
    z.backward()
    same(p, [4, 10, 18])
    same(s, [5, 7, 9])
    same(x.grad, [11, 13, 15])
    same(y.grad, [5, 7, 9])


def test_function_of_one(autograd, nd, variable):
    class Sigmoid(autograd.Function):
        def forward(self, x):
            y = 1 / (1 + nd.exp(-x))
            self.save_for_backward(y)
            return y

        def backward(self, dy):
            (y,) = self.saved_tensors
            return dy * y * (1 - y)

    x = variable()
    y = 1 / (1 + np.exp([-1, -2, -3]))
    with autograd.record():
        out = Sigmoid()(x * 2 - x)
        assert isinstance(out, nd.NDArray)
    out.backward()
    same(out, y)
    same(x.grad, y * (1 - y))


def test_function_sees_training(autograd, variable, product):
    x = variable()
    for train_mode in (True, False):
        function = product()
        with autograd.record(train_mode=train_mode):
            function(x, x)
        assert function.training is train_mode
    function = product()
    function(x, x)
    assert function.training is False


@pytest.mark.engine("torch")  # MXNet swallows exceptions, aborts, or says nothing
def test_function_called_wrongly(autograd, mx, nd, variable, product):
    x, y = variable(), variable()
    function = product()
    with autograd.record():
        function(x, y)
        with pytest.raises(mx.MXNetError, match="new instance"):
            function(x, y)

    class Wrong(autograd.Function):
        def __init__(self, gradients):
            self.gradients = gradients

        def forward(self, x):
            return x * 2

        def backward(self, dy):
            return self.gradients

    for gradients, message in (
        ((nd.ones(3), nd.ones(3)), "2 gradients"),
        (nd.ones(2), r"gradient of input 0 is \(2,\)"),
    ):
        with autograd.record():
            z = Wrong(gradients)(x)
        with pytest.raises(mx.MXNetError, match=f"(?s)Wrong.*{message}"):
            z.backward()


@pytest.mark.engine("torch")  # MXNet prints them, and ends the process
@pytest.mark.parametrize("kind", [KeyError, RuntimeError, ValueError])
def test_exceptions_of_a_function_pass_through(autograd, nd, variable, kind):
    raised = kind("mine")

    class Raises(autograd.Function):
        def __init__(self, where):
            self.where = where

        def forward(self, x):
            if self.where == "forward":
                raise raised
            return x * 2

        def backward(self, dy):
            raise raised

    x = variable()
    with autograd.record():
        with pytest.raises(kind) as caught:
            Raises("forward")(x)
        assert caught.value is raised
        assert switches(autograd) == (True, True)
        y = Raises("backward")(x)
    with pytest.raises(kind) as caught:
        y.backward()
    assert caught.value is raised
    assert switches(autograd) == (False, False)
    with autograd.record():
        y = x * x
    y.backward()
    same(x.grad, [2, 4, 6])


@pytest.mark.engine("torch")  # MXNet silently uses the new value
def test_what_a_function_saved_is_overwritten(autograd, mx, nd, variable, product):
    x, y = variable(), variable()
    with autograd.record():
        p, _ = product()(x, y)
    x[:] = 7
    with pytest.raises(mx.MXNetError, match="saved array 0"):
        p.backward()


def test_a_function_without_inputs(autograd, nd, variable):
    class Two(autograd.Function):
        def forward(self):
            return nd.ones(3) * 2

        def backward(self, dy):
            return ()

    same(Two()(), [2, 2, 2])
    x = variable()
    with autograd.record():
        y = x * Two()()
    y.backward()
    same(x.grad, [2, 2, 2])


@pytest.mark.engine("torch")
def test_function_that_is_not_finished(autograd, variable):
    with pytest.raises(NotImplementedError, match="forward"):
        autograd.Function()(variable())


# Beside PyTorch


@pytest.mark.engine("torch")
@pytest.mark.parametrize("enabled", [True, False])
def test_pytorchs_own_mode_is_left_alone(autograd, nd, variable, enabled):
    import torch

    x = variable()
    with torch.set_grad_enabled(enabled):
        for scope in (autograd.record, autograd.pause, autograd.train_mode):
            _ = (x * x)[0]
            assert torch.is_grad_enabled() is enabled
            with scope():
                y = x * x
                with pytest.raises(IndexError):
                    _ = y[5]
            assert torch.is_grad_enabled() is enabled
            if scope is autograd.record:
                y.backward()
                same(x.grad, [2, 4, 6])
        with autograd.record():
            w = torch.ones(3, requires_grad=enabled)
            assert (w * 2).requires_grad is enabled
        autograd.set_recording(True)
        autograd.set_recording(False)
        assert torch.is_grad_enabled() is enabled


@pytest.mark.engine("torch")
def test_beside_pytorch(autograd, nd, variable):
    import torch

    w = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
    loss = (w * w).sum()
    x = variable()
    with autograd.record():
        y = x * x
    loss.backward()
    y.backward()
    assert w.grad.tolist() == [2, 4, 6]
    same(x.grad, [2, 4, 6])
    with autograd.record():
        z = x * 2
    assert z.to_torch().requires_grad
    assert not (x * 2).to_torch().requires_grad


@pytest.mark.engine("torch")
def test_importing_changes_nothing_of_pytorch():
    import subprocess
    import sys

    code = """
import torch
before = torch.is_grad_enabled(), torch.get_default_dtype(), torch.get_num_threads()
import layers.mxnet as mx
(mx.nd.ones((2,)) * 2).asnumpy()
assert before == (torch.is_grad_enabled(), torch.get_default_dtype(), torch.get_num_threads())
assert (torch.ones(1, requires_grad=True) * 2).requires_grad
"""
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.mark.engine("torch")  # MXNet takes the new value in silence
@pytest.mark.parametrize("other", [False, True])
def test_a_saved_array_is_overwritten(mx, other):
    class Times(mx.autograd.Function):
        def forward(self, x, w):
            self.save_for_backward(w)
            return x * w

        def backward(self, dy):
            (w,) = self.saved_tensors
            return dy * w, dy

    x, w = mx.nd.ones((2,)), mx.nd.ones((2,))
    x.attach_grad()
    with mx.autograd.record():
        y = Times()(x, w)
    w[:] = mx.nd.full((2,), 100) if other else 100
    if other:
        y.backward()  # w has another memory now, and the old one is as it was
        assert x.grad.asnumpy().tolist() == [1, 1]
    else:
        with pytest.raises(RuntimeError, match="overwritten"):
            y.backward()


@pytest.mark.engine("torch")
def test_an_error_of_the_users_own_is_that_error(mx):
    class Fails(mx.autograd.Function):
        def forward(self, x):
            return x * 2

        def backward(self, dy):
            raise RuntimeError("my own inplace operation failed")

    x = mx.nd.ones((2,))
    x.attach_grad()
    with mx.autograd.record():
        y = Fails()(x)
    with pytest.raises(RuntimeError, match="my own inplace operation failed") as caught:
        y.backward()
    assert type(caught.value) is RuntimeError


@pytest.mark.parametrize("way", ["backward", "grad"])
def test_a_second_time_is_refused_where_nothing_was_saved_too(mx, way):
    x = mx.nd.ones(2)
    x.attach_grad()
    go_back = {"backward": lambda y: y.backward(), "grad": lambda y: mx.autograd.grad(y, x)}[way]
    with mx.autograd.record():
        y = x + 1
    y.backward(retain_graph=True)
    go_back(y)
    with pytest.raises(RuntimeError, match="retain_graph=True"):
        go_back(y)


def test_two_heads_of_one_node(mx):
    x = mx.nd.ones((2, 2))
    x.attach_grad()
    with mx.autograd.record():
        a, b = mx.nd.split(x, 2)
    mx.autograd.backward([a, b])
    assert x.grad.asnumpy().tolist() == [[1, 1], [1, 1]]


@pytest.mark.engine("torch")
def test_a_backward_that_failed_can_be_done_again(mx):
    class Once(mx.autograd.Function):
        failed = False

        def forward(self, x):
            return x * 2

        def backward(self, dy):
            if not Once.failed:
                Once.failed = True
                raise KeyError("once")
            return dy * 2

    x = mx.nd.ones(2)
    x.attach_grad()
    with mx.autograd.record():
        y = Once()(x)
    with pytest.raises(KeyError):
        y.backward()
    y.backward()
    assert x.grad.asnumpy().tolist() == [2, 2]


HEAD_GRADIENTS = """
import sys
from layers.mxnet import autograd, nd

x = nd.ones(2)
x.attach_grad()
with autograd.record():
    y = x * x
    (dx,) = autograd.grad(y, x, nd.ones(2), create_graph=True)
dx.backward(nd.ones(2))
print(x.grad.asnumpy(), "sympy" in sys.modules)
"""


@pytest.mark.engine("torch")
def test_head_gradients_import_no_sympy():
    """PyTorch's own check of their shapes would, and take 0.4 s for it."""
    found = forks.run(["-c", HEAD_GRADIENTS])
    assert (found.stdout.strip(), found.returncode) == ("[2. 2.] False", 0), found.stderr


@pytest.mark.engine("torch")
@pytest.mark.parametrize("is_private", [True, False])
def test_by_pytorch_s_private_engine_and_by_its_public_functions(
    autograd, variable, monkeypatch, is_private
):
    if not is_private:
        monkeypatch.setattr(autograd, "_has_engine", False)
    x, unused = variable(), variable()
    with autograd.record():
        y = x * x * x
        (dx,) = autograd.grad(y, x, create_graph=True)
        z = dx * x
    same(dx, [3, 12, 27])
    z.backward(retain_graph=True)
    same(x.grad, [9, 36, 81])
    z.backward()
    same(x.grad, [9, 36, 81])
    with pytest.raises(RuntimeError, match="do not depend on variable 0"), autograd.record():
        autograd.grad(x * 2, unused)
