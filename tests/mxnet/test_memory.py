"""No two arrays share memory unless they are meant to; those that are see each other's writes."""

import gc
import weakref

import cases  # noqa: F401 - fills CASES
import numpy as np
import pytest
from case import CASES, function
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule, run_state_machine_as_test


@pytest.fixture
def nd(mx):
    return mx.nd


def same(array, expected):
    assert array.asnumpy().tolist() == np.asarray(expected, "float32").tolist()


which = st.integers(0, 99)
number = st.integers(-4, 4)


class Arrays(RuleBasedStateMachine):
    """Pairs of an NDArray and a NumPy array, which views and writes take the same way."""

    def __init__(self, mx):
        super().__init__()
        self.mx, self.pairs, self.start = mx, [], 0
        self.make()

    def pick(self, i):
        return self.pairs[i % len(self.pairs)]

    def add(self, x, y):
        if len(self.pairs) < 12:
            self.pairs.append((x, y))

    @rule()
    def make(self):
        values = np.arange(self.start, self.start + 6, dtype="float32").reshape(2, 3)
        self.start += 6
        self.add(self.mx.nd.array(values), values)

    @rule(i=which)
    def first_axis(self, i):
        x, y = self.pick(i)
        self.add(x[0:1], y[0:1])

    @rule(i=which)
    def flat(self, i):
        x, y = self.pick(i)
        self.add(x.reshape((-1,)), y.reshape(-1))

    @rule(i=which)
    def detach(self, i):
        x, y = self.pick(i)
        self.add(x.detach(), y[...])

    @rule(i=which)
    def copy(self, i):
        x, y = self.pick(i)
        self.add(x.copy(), y.copy())

    @rule(i=which)
    def compute(self, i):
        x, y = self.pick(i)
        self.add(x * 1, y.copy())

    @rule(i=which, v=number)
    def fill(self, i, v):
        x, y = self.pick(i)
        x[:] = v
        y[...] = v

    @rule(i=which, v=number)
    def fill_first(self, i, v):
        x, y = self.pick(i)
        x[0] = v
        y[0] = v

    @rule(i=which, j=which)
    def assign(self, i, j):
        (x, y), (v, w) = self.pick(i), self.pick(j)
        if y.shape == w.shape:
            x[:] = v
            y[...] = w.copy()

    @rule(i=which, j=which)
    def copyto(self, i, j):
        (x, y), (v, w) = self.pick(i), self.pick(j)
        if y.shape == w.shape and x is not v:
            v.copyto(x)
            y[...] = w.copy()

    @rule(i=which, j=which)
    def assign_first(self, i, j):
        (x, y), (v, w) = self.pick(i), self.pick(j)
        if y[0].shape == w[0].shape:
            x[0] = v[0]
            y[0] = w[0].copy()

    @rule(i=which, v=number)
    def add_in_place(self, i, v):
        x, y = self.pick(i)
        x += v
        y += v

    @rule(i=which, j=which)
    def subtract_in_place(self, i, j):
        (x, y), (v, w) = self.pick(i), self.pick(j)
        if y.shape == w.shape:
            x -= v
            y -= w.copy()

    @rule(i=which, j=which)
    def out(self, i, j):
        (x, y), (v, w) = self.pick(i), self.pick(j)
        if y.shape == w.shape:
            self.mx.nd.negative(v, out=x)
            y[...] = -w

    @rule(i=which, req=st.sampled_from(["write", "add"]))
    def gradient(self, i, req):
        x, y = self.pick(i)
        x.attach_grad(req)
        gradient = np.zeros_like(y)
        for _ in range(2):
            with self.mx.autograd.record():
                z = x.reshape((-1,)) * 2 + self.mx.nd.ones_like(x).reshape((-1,))
            z.backward()
            gradient[...] = 2 + (gradient if req == "add" else 0)
        self.add(x.grad, gradient)
        self.add(z, (2 * y + 1).reshape(-1))

    @invariant()
    def all_are_equal(self):
        for x, y in self.pairs:
            same(x, y)


def test_any_sequence_of_views_and_writes(mx):
    run_state_machine_as_test(
        lambda: Arrays(mx), settings=settings(max_examples=100, stateful_step_count=25)
    )


def test_assigned_array_stays_apart(nd):
    """x[:] = y may take over y's memory: whoever writes next must not be seen by the other."""
    for write in (
        lambda x: x.__setitem__(0, 7),
        lambda x: x.__setitem__(slice(None), 7),
        lambda x: x.__setitem__(slice(None), nd.array([7, 7])),
        lambda x: x.__iadd__(7),
        lambda x: x.reshape((2, 1)).__setitem__(slice(None), 7),
        lambda x: nd.negative(nd.array([7, 7]), out=x),
    ):
        x, y, z = nd.zeros(2), nd.array([1, 2]), nd.zeros(2)
        x[:] = y
        z[:] = x
        write(y)
        same(x, [1, 2])
        same(z, [1, 2])
        y = nd.array([1, 2])
        x[:] = y
        write(x)
        same(y, [1, 2])
        same(z, [1, 2])


def test_assigned_from_an_array_with_views(nd):
    x, y = nd.zeros(2), nd.array([1, 2])
    view = y[0:1]
    x[:] = y
    view[:] = 7
    same(x, [1, 2])
    same(y, [7, 2])
    y[:] = 8
    same(view, [8])
    same(x, [1, 2])


def test_assigned_from_a_variable(mx, nd):
    x, y = nd.array([1, 2]), nd.zeros(2)
    x.attach_grad()
    y[:] = x
    x[:] = 3
    y[0] = 4
    same(y, [4, 2])
    with mx.autograd.record():
        z = x * x
    z.backward()
    same(x.grad, [6, 6])


@pytest.mark.engine("torch")
def test_strides_of_a_tensor_are_not_seen(nd):
    """Some of PyTorch's functions give tensors that are not contiguous."""
    import torch

    for take in (lambda x: x[1], lambda x: x[1:2, 1:3], lambda x: x.reshape((2, 6))):
        x = nd.zeros((3, 4))
        x._tensor = torch.arange(12.0).reshape(4, 3).T
        view = take(x)
        view[:] = -1
        same(take(x), view.asnumpy())
        x[:] = 5
        same(view, np.full(view.shape, 5))


def test_gradients_of_two_variables_stay_apart(mx, nd):
    """Through reshape and a sum both are the head gradient's own memory in PyTorch."""
    x, y, dz = nd.ones((2, 2)), nd.ones((2, 2)), nd.ones(4)
    x.attach_grad()
    y.attach_grad()
    with mx.autograd.record():
        z = x.reshape((4,)) + y.reshape((4,))
    z.backward(dz)
    x.grad[0] = 5
    same(y.grad, np.ones((2, 2)))
    same(dz, np.ones(4))
    dz[:] = 7
    same(x.grad, [[5, 5], [1, 1]])
    same(y.grad, np.ones((2, 2)))


def test_a_head_gradient_stays_the_callers(mx, nd):
    x, dy = nd.ones((2, 2)), nd.ones(4)
    view = dy[0:2]
    x.attach_grad()
    with mx.autograd.record():
        y = x.reshape((4,))
    y.backward(dy)
    view[:] = 4
    same(x.grad, np.ones((2, 2)))
    same(dy, [4, 4, 1, 1])
    x.grad[0] = 3
    dy[0] = 5
    same(dy, [5, 4, 1, 1])
    same(view, [5, 4])
    same(x.grad, [[3, 3], [1, 1]])


def test_an_updated_variable_stays_a_variable(mx, nd):
    source = nd.array([1, 2])
    x = nd.zeros(2)
    x[:] = source  # the memory may be the source's now
    x.attach_grad()
    view = x[0:1]
    for update in (
        lambda: x.__setitem__(slice(None), x - 0.5 * x.grad),
        lambda: x.__isub__(x.grad),
        lambda: x.__setitem__(0, 3),
        lambda: x.__setitem__(slice(None), nd.array([3, 4])),
        lambda: x.__setitem__(slice(None), 5),
    ):
        update()
        with mx.autograd.record():
            y = x * x
        y.backward()
        same(x.grad, 2 * x.asnumpy())
        same(view, x.asnumpy()[:1])
    same(source, [1, 2])


def test_what_is_assigned_outside_record_has_no_past(mx, nd):
    x, b = nd.array([1, 2]), nd.zeros(2)
    x.attach_grad()
    with mx.autograd.record():
        y = x * 3
    b[:] = y
    c = nd.array(y)
    with mx.autograd.record():
        z = x * b * c
    z.backward()
    same(x.grad, [9, 36])


@pytest.mark.engine("torch")  # of MXNet's own memory nothing is known
def test_a_custom_operator_keeps_its_own(mx, nd):
    """What it stored is not changed by writes to its outputs, or to the gradients it gave."""

    class Keep(mx.autograd.Function):
        def forward(self, x):
            self.y = x * 2
            x[0] = 100  # its input: the caller does not see it
            return self.y

        def backward(self, dy):
            self.dx = dy * self.y
            return self.dx

    x = nd.array([1, 2])
    x.attach_grad()
    keep = Keep()
    with mx.autograd.record():
        y = keep(x)
    same(x, [1, 2])
    y[:] = 50
    y[0:1] = 60
    same(keep.y, [2, 4])
    y.backward()
    same(x.grad, [2, 4])
    gradient = x.grad
    gradient += 1
    same(keep.dx, [2, 4])


@pytest.mark.engine("torch")
def test_the_memory_of_contiguous_views_is_one(nd):
    x = nd.zeros((4, 3))
    for view in (x[1], x[1:3], x.reshape((2, 6)), x.detach(), x[1:3].reshape(-1)):
        assert view._tensor.untyped_storage().data_ptr() == x._tensor.untyped_storage().data_ptr()


@pytest.mark.engine("torch")
def test_a_variable_keeps_its_tensor(nd):
    """Autograd knows it by that; a copy would have the variable in its past."""
    x, y = nd.array([1, 2]), nd.zeros(2)
    x.attach_grad()
    tensor = x._tensor
    y[:] = x
    x[:] = 3
    x[:] = y
    x += 1
    assert x._tensor is tensor


@pytest.mark.engine("torch")
@pytest.mark.parametrize("case", [pytest.param(c, id=i) for i, c in CASES.items()])
def test_results_of_operators_have_memory_of_their_own(mx, nd, case):
    call = function(nd, case.operator)
    inputs = [nd.array(v, dtype=v.dtype) for v in case.values()]
    for i, x in enumerate(inputs):
        state = call.operator.inputs[min(i, len(call.operator.inputs) - 1)] in call.operator.states
        if np.dtype(x.dtype).kind == "f" and not state:
            x.attach_grad()
    for recording in (False, True):
        mx.autograd.set_recording(recording)
        try:
            results = call(*inputs, **case.attributes)
        finally:
            mx.autograd.set_recording(False)
        results = results if isinstance(results, list) else [results]
        memories = [x._tensor.untyped_storage().data_ptr() for x in (*inputs, *results) if x.size]
        assert len(set(memories)) == len(memories)


class Twice:
    """Keeps its input and its output."""

    def compute(self, x):
        self.x, self.y = x, x * 2
        return self.y


@pytest.fixture(params=["Function", "Custom"])
def twice(request, mx):
    """Makes an operator and calls it: the operator, and its result."""

    class Function(Twice, mx.autograd.Function):
        def forward(self, x):
            self.save_for_backward(x)
            return self.compute(x)

        def backward(self, dy):
            return dy * self.y / self.x

    class Op(Twice, mx.operator.CustomOp):
        def forward(self, is_train, req, in_data, out_data, aux):
            made.append(self)
            self.assign(out_data[0], req[0], self.compute(in_data[0]))
            self.out = out_data[0]

        def backward(self, req, out_grad, in_data, out_data, in_grad, aux):
            self.assign(in_grad[0], req[0], out_grad[0] * self.out / self.x)

    @mx.operator.register("test_memory_twice")
    class Prop(mx.operator.CustomOpProp):
        def create_operator(self, ctx, shapes, dtypes):
            return Op()

    made = []

    def call(x):
        if request.param == "Custom":
            y = mx.nd.Custom(x, op_type="test_memory_twice")
            return made.pop(), y
        function = Function()
        return function, function(x)

    return call


@pytest.mark.engine("torch")
def test_an_operator_is_gone_when_its_results_are(mx, nd, twice):
    """Without the garbage collector: what it keeps may be large."""
    x = nd.ones(3)
    x.attach_grad()
    gc.disable()
    try:
        with mx.autograd.record():
            operator, y = twice(x)
        kept = weakref.ref(operator), weakref.ref(operator.y), weakref.ref(y)
        del operator
        y.backward()
        same(x.grad, [2, 2, 2])
        del y
        assert [it() for it in kept] == [None] * 3
    finally:
        gc.enable()
