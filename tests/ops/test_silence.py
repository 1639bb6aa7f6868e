"""A custom operator that is wrong says so: by the exception it raised, or by an error."""

import gc
import os
from collections import Counter

import forks
import numpy as np
import pytest
from gallery import assert_close, operator

from layers import operator as formula
from layers.engine import autograd, gluon, mx, nd, sym

# MXNet prints the exception and raises another, or hangs, or goes on.
pytestmark = pytest.mark.engine("torch")


def told(caught):
    """All that the error says."""
    return "\n".join([str(caught.value), *getattr(caught.value, "__notes__", [])])


class Mistake(Exception):
    pass


FAULTS = {}  # by phase: what is raised there


def maybe(phase):
    if phase in FAULTS:
        raise FAULTS[phase](f"raised in {phase}")


class Faulty(mx.operator.CustomOp):
    """y = 3 x, but for what is in FAULTS."""

    def forward(self, is_train, req, in_data, out_data, aux):
        maybe("forward")
        self.assign(out_data[0], req[0], 3 * in_data[0])

    def backward(self, req, out_grad, in_data, out_data, in_grad, aux):
        maybe("backward")
        self.assign(in_grad[0], req[0], 3 * out_grad[0])


class FaultyProp(mx.operator.CustomOpProp):
    def __init__(self):
        maybe("__init__")
        super().__init__()

    def create_operator(self, ctx, in_shapes, in_dtypes):
        maybe("create_operator")
        return Faulty()


def guarded(phase):
    def rule(self, *args):
        maybe(phase)
        return getattr(mx.operator.CustomOpProp, phase)(self, *args)

    return rule


RULES = [
    "list_arguments",
    "list_outputs",
    "list_auxiliary_states",
    "infer_shape",
    "infer_type",
    "declare_backward_dependency",
]
PHASES = ["__init__", *RULES, "create_operator", "forward", "backward"]
SHAPED = {"infer_shape", "infer_type", "create_operator", "forward", "backward"}
MODES = {"eager": None, "replayed": {}, "compiled": {"backend": "aot_eager"}}


@pytest.fixture
def faulty():
    """The name of an operator that nobody has called before."""
    faulty.count = getattr(faulty, "count", 0) + 1
    name = f"silence_faulty_{faulty.count}"
    rules = {phase: guarded(phase) for phase in RULES}
    mx.operator.register(name)(type("Prop", (FaultyProp,), rules))
    yield name
    FAULTS.clear()


def step(net, x):
    with autograd.record():
        y = net(x)
    y.backward()
    return y


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("phase", PHASES)
def test_an_exception_reaches_the_caller(faulty, phase, mode):
    kind = RuntimeError  # what PyTorch raises too
    net = gluon.nn.HybridLambda(lambda F, x: F.Custom(x, op_type=faulty) + 1)
    if MODES[mode] is not None:
        net.hybridize(**MODES[mode])
    x = nd.ones((2, 3))
    x.attach_grad()
    FAULTS[phase] = kind
    for _ in range(2):
        with pytest.raises(kind, match=f"raised in {phase}") as caught:
            step(net, x)
        assert type(caught.value) is kind
        assert f"in {phase} of Custom '{faulty}'" in told(caught)
        assert phase not in SHAPED or "data (2, 3) float32" in told(caught)
        assert phase not in ("forward", "backward") or "req ['write']" in told(caught)
        assert not autograd.is_recording() and not autograd.is_training()
    FAULTS.clear()
    assert_close([step(net, x), x.grad], [np.full((2, 3), 4), np.full((2, 3), 3)])


@pytest.mark.parametrize("phase", ["infer_shape", "infer_type", "forward", "backward"])
def test_an_exception_in_an_executor(faulty, phase):
    graph = sym.Custom(sym.var("x"), op_type=faulty, name="own")
    FAULTS[phase] = TypeError
    with pytest.raises(TypeError, match=f"raised in {phase}") as caught:
        executor = graph.simple_bind(mx.current_context(), x=(2,))
        executor.forward(is_train=True)
        executor.backward(nd.ones((2,)))
    assert type(caught.value) is TypeError
    FAULTS.clear()
    executor = graph.simple_bind(mx.current_context(), x=(2,))
    executor.forward(is_train=True)
    executor.backward(nd.ones((2,)))
    assert_close(executor.grad_arrays, [[3, 3]])


# What a CustomOpProp says


def written(self, is_train, req, in_data, out_data, aux):
    self.assign(out_data[0], req[0], 1)


@pytest.fixture
def define():
    """Register an operator whose forward writes ones, and whose other parts are given."""
    define.count = getattr(define, "count", 0)

    def made(forward=written, backward=None, **parts):
        define.count += 1
        name = f"silence_{define.count}"
        rules = {n: parts.pop(n) for n in ("create_operator", "list_outputs") if n in parts}
        members = {"forward": forward} | ({"backward": backward} if backward else {})
        operator(name, **parts)(type("Op", (mx.operator.CustomOp,), members))
        for rule, value in rules.items():
            setattr(mx.operator.find(name), rule, value)
        return name

    return made


LIES = {
    "shapes are None": ({"shapes": lambda p, s: None}, "infer_shape gave None"),
    "a list too few": ({"shapes": lambda p, s: (s,)}, "gave 1 lists"),
    "a list of no lists": ({"shapes": lambda p, s: (s, None)}, "infer_shape gave"),
    "an entry too few": ({"shapes": lambda p, s: (s, [])}, "gave 0 entries for ['output']"),
    "an entry too many": ({"shapes": lambda p, s: (s, s * 2)}, "gave 2 entries for ['output']"),
    "a shape is None": ({"shapes": lambda p, s: (s, [None])}, "gave None for output"),
    "a size is not whole": ({"shapes": lambda p, s: (s, [(1.5,)])}, "gave (1.5,) for output"),
    "a size is negative": ({"shapes": lambda p, s: (s, [(-1,)])}, "gave (-1,) for output"),
    "no axis": ({"shapes": lambda p, s: (s, [()])}, "gave () for output"),
    "an input of another shape": ({"shapes": lambda p, s: ([(9,)], s)}, "data is (2, 3)"),
    "types are None": ({"types": lambda p, t: None}, "infer_type gave None"),
    "a type is None": ({"types": lambda p, t: (t, [None])}, "gave None for output"),
    "a type that is none": ({"types": lambda p, t: (t, ["text"])}, "gave 'text' for output"),
    "a type too few": ({"types": lambda p, t: (t, [])}, "gave 0 entries for ['output']"),
    "an input of another type": ({"types": lambda p, t: (["int8"], t)}, "data is float32"),
    "no names": ({"arguments": "data"}, ""),
    "a name alone": ({"list_outputs": lambda p: "y"}, "list_outputs gave 'y'"),
    "no outputs": ({"list_outputs": lambda p: []}, "list_outputs gave []"),
    "two of a name": ({"arguments": ["a", "a"]}, "its inputs and states are a, a"),
    "needs arrays": ({"needs": lambda p, dy, x, y: [dy, x]}, "gave [[0], [1]]"),
    "needs what is not": ({"needs": lambda p, dy, x, y: [7]}, "gave [7]"),
    "needs None": ({"needs": lambda p, dy, x, y: None}, "gave None"),
    "no operator": ({"create_operator": lambda p, c, s, t: None}, "create_operator gave None"),
}


@pytest.mark.parametrize("lie", LIES)
@pytest.mark.parametrize("mode", ["eager", "replayed"])
def test_what_is_declared_wrongly_is_named(define, lie, mode):
    parts, message = LIES[lie]
    name = define(**parts)
    net = gluon.nn.HybridLambda(lambda F, x: F.Custom(x, op_type=name))
    if mode == "replayed":
        net.hybridize()
    with pytest.raises((TypeError, ValueError, mx.MXNetError)) as caught:
        net(nd.ones((2, 3)))
    text = told(caught)
    assert f"Custom '{name}'" in text and "\n  expected " in text
    assert message in text


def test_a_state_of_another_shape_or_dtype(define):
    name = define(states=["total"], shapes=lambda p, s: (s, [s[0]], [(5,)]))
    with pytest.raises(ValueError, match=r"total is \(4,\)\n  expected \(5,\)"):
        nd.Custom(nd.ones((2,)), nd.zeros((4,)), op_type=name)
    with pytest.raises(TypeError, match="total is float64\n  expected float32"):
        nd.Custom(nd.ones((2,)), nd.zeros((5,), dtype="float64"), op_type=name)
    with pytest.raises(TypeError, match="total is missing\n  expected data, total"):
        nd.Custom(nd.ones((2,)), op_type=name)


# What it writes


def ignored(self, *_, **__):
    pass


def test_what_is_not_written_is_zero(define):
    name = define(ignored, ignored, outputs=["a", "b"])
    for net in both(name):
        x = nd.ones((3,))
        x.attach_grad()
        x.grad[:] = 5
        with autograd.record():
            a, b = net(x)
        autograd.backward([a, b])
        assert_close([a, b, x.grad], [[0, 0, 0]] * 3)


def both(name):
    """A block that calls an operator: plain, and hybridized."""
    for hybridize in (False, True):
        net = gluon.nn.HybridLambda(lambda F, *x: F.Custom(*x, op_type=name))
        if hybridize:
            net.hybridize()
        yield net


def test_an_array_of_the_wrong_shape_is_refused(define):
    def forward(self, is_train, req, in_data, out_data, aux):
        self.assign(out_data[0], req[0], nd.ones((7,)))

    def backward(self, req, out_grad, in_data, out_data, in_grad, aux):
        self.assign(in_grad[0], req[0], np.ones((2, 2)))

    for parts, phase in (({"forward": forward}, "forward"), ({"backward": backward}, "backward")):
        name = define(**parts)
        for net in both(name):
            x = nd.ones((3,))
            x.attach_grad()
            with pytest.raises(ValueError) as caught:
                step(net, x)
            assert f"in {phase} of Custom '{name}' (data (3,) float32; req" in told(caught)


def test_a_list_with_other_arrays_is_refused(define):
    """out_data[0] = y, which MXNet does not see."""

    def forward(self, is_train, req, in_data, out_data, aux):
        out_data[0] = in_data[0] * 2

    def backward(self, req, out_grad, in_data, out_data, in_grad, aux):
        in_grad.append(out_grad[0])

    x = nd.ones((3,))
    x.attach_grad()
    with pytest.raises(ValueError, match=r"out_data has other arrays .*\n  expected self.assign"):
        nd.Custom(x, op_type=define(forward))
    name = define(backward=backward)
    with pytest.raises(ValueError, match="in_grad has other arrays"):
        step(lambda x: nd.Custom(x, op_type=name), x)


def test_inputs_and_gradients_stay_the_callers(define):
    """An operator may write into what it is given, and keep it: nobody sees that."""
    kept = []

    def forward(self, is_train, req, in_data, out_data, aux):
        self.assign(out_data[0], req[0], in_data[0])
        in_data[0][:] = 100
        kept.append(out_data[0])

    def backward(self, req, out_grad, in_data, out_data, in_grad, aux):
        out_grad[0] *= 2
        self.assign(in_grad[0], req[0], out_grad[0])
        for array in (*out_grad, *in_data, *out_data):
            array[:] = -1
        kept.append(in_grad[0])

    for net in both(define(forward, backward)):
        kept.clear()
        x, dy = nd.array([1, 2]), nd.array([5, 6])
        x.attach_grad()
        with autograd.record():
            y = net(x)
            z = y * 3
        z.backward(dy)
        assert_close([x, y, dy, x.grad], [[1, 2], [1, 2], [5, 6], [30, 36]])
        kept[0][:] = 7
        kept[1][:] = 8
        assert_close([y, x.grad], [[1, 2], [30, 36]])


def test_a_second_derivative_is_refused_by_name(define):
    def backward(self, req, out_grad, in_data, out_data, in_grad, aux):
        self.assign(in_grad[0], req[0], out_grad[0] * 2 * in_data[0])

    name = define(backward=backward)
    for net in both(name):
        x = nd.array([3.0])
        x.attach_grad()
        with autograd.record():
            (dx,) = autograd.grad(net(x), [x], create_graph=True)
            penalty = dx * dx
        assert_close([dx], [[6]])
        with pytest.raises(mx.MXNetError, match=f"Custom '{name}' has no second derivative"):
            penalty.backward()


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64"])
@pytest.mark.parametrize("way", ["nd", "numpy"])
def test_dtypes_are_kept(define, dtype, way):
    def value(x):
        return x if way == "nd" else x.asnumpy()

    def forward(self, is_train, req, in_data, out_data, aux):
        self.assign(out_data[0], req[0], value(in_data[0]) * 2)

    def backward(self, req, out_grad, in_data, out_data, in_grad, aux):
        self.assign(in_grad[0], req[0], value(out_grad[0]) * 2)
        self.assign(in_grad[0], "add", value(out_grad[0]))

    kind = mx.nd.ones((1,), dtype=dtype).dtype
    for net in both(define(forward, backward)):
        x = nd.array([1, 2]).astype(dtype)
        x.attach_grad()
        y = step(net, x)
        assert y.dtype == kind and x.grad.dtype == kind
        assert_close([y.astype("float32"), x.grad.astype("float32")], [[2, 4], [3, 3]])


# NaN on request


class Roots(mx.operator.CustomOp):
    def forward(self, is_train, req, in_data, out_data, aux):
        self.assign(out_data[0], req[0], nd.sqrt(in_data[0]))

    def backward(self, req, out_grad, in_data, out_data, in_grad, aux):
        self.assign(in_grad[0], req[0], out_grad[0] / (2 * out_data[0]))


operator("silence_roots")(Roots)


@formula
class root:
    def forward(x):
        return nd.sqrt(x)

    def dx(dy, y):
        return dy / (2 * y)

    def shapes(x):
        return {"y": x}


class Root(autograd.Function):
    def forward(self, x):
        self.y = nd.sqrt(x)
        return self.y

    def backward(self, dy):
        return dy / (2 * self.y)


ROOTS = {
    "Custom 'silence_roots'": (lambda x: nd.Custom(x, op_type="silence_roots"), "output", "data"),
    f"operator '{root.name}'": (root, "y", "x"),
    "Function 'Root'": (lambda x: Root()(x), "0", "0"),
}


@pytest.fixture
def nan_is_told(monkeypatch):
    monkeypatch.setattr("layers.mxnet._op.call.CHECK_NAN", True)


@pytest.mark.parametrize("what", ROOTS)
def test_nan_is_told_on_request(nan_is_told, what):
    call, output, x_name = ROOTS[what]
    x = nd.array([[4.0, -1.0]])
    with pytest.raises(FloatingPointError) as caught:
        call(x)
    assert f"{what}: output {output} is nan at (0, 1)" in told(caught)
    x = nd.array([4.0, 0.0])
    x.attach_grad()
    with autograd.record():
        y = call(x)
    with pytest.raises(FloatingPointError, match=rf"the gradient of {x_name} is inf at \(1,\)"):
        y.backward()


def test_nan_that_was_there_before_is_no_ones_fault(nan_is_told):
    for call, *_ in ROOTS.values():
        assert np.isnan(call(nd.array([np.nan])).asnumpy())
        x = nd.array([4.0])
        x.attach_grad()
        assert_close([step(call, x), x.grad], [[2], [0.25]])


def test_nan_is_told_of_compiled_graphs(nan_is_told):
    net = gluon.nn.HybridLambda(lambda F, x: F.Custom(x, op_type="silence_roots") * 2)
    net.hybridize(backend="aot_eager")
    assert_close([net(nd.array([4.0]))], [[4]])
    with pytest.raises(FloatingPointError, match="output output is nan"):
        net(nd.array([-4.0]))


def test_nan_is_asked_for_by_the_environment():
    done = forks.run(
        ["-c", "from layers.mxnet._op import call; print(call.CHECK_NAN)"],
        env=os.environ | {"LAYERS_CHECK_NAN": "1"},
    )
    assert done.stdout.strip() == "True", done.stderr


# Memory


def resident():
    """Resident memory of this process, in MB."""
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * 4096 / 2**20


def several(self, is_train, req, in_data, out_data, aux):
    self.kept = in_data[0] * 2
    self.assign(out_data[0], req[0], self.kept)
    out_data[1][:] = in_data[0].asnumpy()
    aux[0][:] = aux[0] + 1
    if in_data[0][0, 0].asscalar() < 0:
        raise Mistake("negative")


def several_grad(self, req, out_grad, in_data, out_data, in_grad, aux):
    x = in_data[0].copy()
    x.attach_grad()
    with autograd.record():
        y = x * self.kept
    y.backward(out_grad[0] + out_grad[1])
    self.assign(in_grad[0], req[0], x.grad)


@pytest.mark.slow
@pytest.mark.parametrize(
    "mode",
    [
        "eager",
        pytest.param("replayed", marks=pytest.mark.slow),
        pytest.param("exceptions", marks=pytest.mark.slow),
    ],
)
def test_a_thousand_calls(define, mode):
    name = define(
        several,
        several_grad,
        outputs=["a", "b"],
        states=["count"],
        shapes=lambda p, s: (s, [s[0]] * 2, [(1,)]),
    )
    net = gluon.nn.HybridLambda(lambda F, *x: F.Custom(*x, op_type=name))
    if mode == "replayed":
        net.hybridize()
    x = nd.array(np.random.RandomState(0).uniform(1, 2, (64, 64)))
    state = nd.zeros((1,))
    if mode == "exceptions":
        x[0, 0] = -1
    x.attach_grad()

    def calls(count):
        for _ in range(count):
            try:
                with autograd.record():
                    a, b = net(x, state)
                autograd.backward([a, b])
            except Mistake:
                assert mode == "exceptions"
        gc.collect()
        return resident(), len(gc.get_objects())

    try:
        before, objects = calls(100)
    except FileNotFoundError:
        pytest.skip("resident memory is read from /proc, which is not here")
    kinds = Counter(type(o).__name__ for o in gc.get_objects())
    after, more = calls(1000)
    assert state.asscalar() == 1100
    if after - before >= 16:  # the heap of tests before this one; a leak grows again
        before, (after, more) = after, calls(1000)
    assert after - before < 16, f"grew from {before:.1f} to {after:.1f} MB"
    grown = (Counter(type(o).__name__ for o in gc.get_objects()) - kinds).most_common(3)
    assert more - objects < 200, f"grew from {objects} to {more} objects: {grown}"
