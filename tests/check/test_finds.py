"""The checker finds what is wrong, and says it with the numbers; what is right passes."""

import logging
import re

import numpy as np
import pytest
import wrong

from layers.check import CheckFailed, check_layer, check_operator
from layers.engine import autograd, gluon, mx, nd
from layers.ops import Custom, layer_norm, operator, sigmoid
from layers.ops.ways.function import customop

LABEL = np.array([0, 2, 1, 3])


def failures(report):
    return {c.name: c.text for c in report.failed}


def checked(op, *inputs, **options):
    check = check_layer if isinstance(op, gluon.Block) else check_operator
    return check(op, *inputs, **{"compiled": False} | options)


def found(op, *inputs, **options):
    return failures(checked(op, *inputs, **options))


def test_a_right_custom_op_passes_all():
    report = checked(wrong.prop(wrong.Custom), (4, 3))
    assert report.passed, str(report)
    left = {c.name for c in report.not_checked}
    assert left == {"compiled = eager"}
    assert report["gradient of data"].text.startswith("max difference")


@pytest.mark.parametrize(
    "op, name, text",
    [
        (wrong.IgnoresAdd, "req add", "'add' overwrites the gradient of data"),
        (wrong.IgnoresAdd, "req null", "'null' writes the gradient of data"),
        (wrong.WritesIntoItsInput, "inputs unchanged", "forward writes into data"),
        (wrong.WritesIntoItsHeadGradient, "inputs unchanged", "backward writes into the gradient"),
        (wrong.KeepsItsOutput, "outputs its own", "output is kept in self.y"),
        (wrong.CountsOnSelf, "states", r"self.calls changes with each call \(1, then 2\)"),
        (wrong.PutsItsOutputInTheList, "runs", r"another array in the place of out_data\[0\]"),
        (wrong.WritesHalf, "req write", "forward does not write 6 of 12 elements of output"),
        (wrong.FailsInForward, "runs", r"KeyError: 'missing' \(wrong.py, line \d+\)"),
        (wrong.FailsInBackward, "gradient of data", r"KeyError: 'missing' \(wrong.py, line"),
    ],
)
def test_a_custom_op(op, name, text):
    problems = found(wrong.prop(op), (4, 3))
    if op is wrong.WritesHalf and "deterministic" in problems:
        return  # on MXNet the other half is what the memory held before
    assert name in problems, problems
    assert re.search(text, problems[name])


def test_what_a_prop_declares():
    shape = found(wrong.prop(wrong.Custom, shape=lambda s: s[:1]), (4, 3))
    assert shape["shapes"] == "output is declared (4,) and given (4, 3)"
    dtype = found(wrong.prop(wrong.Custom, dtype=lambda t: np.int32), (4, 3))
    assert dtype["types"].startswith("output is declared int32 and given float64 values such as")
    assert "ValueError: no such operator" in found(wrong.FailsInInit, (4, 3))["runs"]


def test_the_tutorials_dense():
    """With as many rows as columns of the result, the wrong gradient has the right shape."""
    report = checked(wrong.TutorialDenseProp, (4, 3), (4, 3), bias=0.1)
    problems = failures(report)
    assert set(problems) == {"gradient of data", "gradient of weight"}
    assert "12 of 12 elements are wrong" in problems["gradient of data"]
    assert problems["gradient of weight"].startswith("0 at ")
    assert "rounds to float32" in report["float64"].text

    problems = found(wrong.TutorialDenseProp, (4, 3), (5, 3), bias=0.1)
    assert "(5, 3)" in problems["gradient of data"]


@pytest.mark.parametrize("factor", [0.5, -1])
def test_a_gradient_that_is_wrong_by_a_factor(factor):
    @operator
    class square:
        def forward(x):
            return x * x

        def dx(dy, x):
            return 2 * factor * dy * x

    text = checked(square, (2, 3))["gradient of x"].text
    assert text.endswith(f"; 6 of 6 elements are wrong; each is {factor} times the numeric one")


def test_a_gradient_that_is_wrong_elsewhere_has_no_factor():
    @operator
    class square:
        def forward(x):
            return x * x

        def dx(dy, x):
            return 2 * dy * x + 1

    assert "times" not in checked(square, (2, 3))["gradient of x"].text


def test_a_gradient_of_the_wrong_shape_is_that_of_one_input():
    @operator
    class product:
        def forward(x, w):
            return nd.dot(x, w)

        def dx(dy, w):
            return nd.dot(dy, w, transpose_b=True)

        def dw(dy, x):
            return nd.dot(dy, x, transpose_a=True)

    report = checked(product, (3, 4), (4, 5))
    name = product.name
    told = f"operator {name!r}: the gradient of w is (5, 4) float64\n  expected (4, 5) float64"
    assert failures(report) == {"gradient of w": told}
    assert report["gradient of x"].text == "the gradient of w has the wrong shape"


def plus_with(name, function):
    """An operator x + b with one part in the place of the right one, or beside it."""
    parts = {
        "forward": lambda x, b: nd.broadcast_add(x, b),
        "dx": lambda dy: dy,
        "db": lambda dy: nd.sum(dy, axis=0),
    }
    if name == "backward":
        del parts["dx"], parts["db"]
    return operator(type("plus", (), parts | {name: function}))


@pytest.mark.engine("torch")  # MXNet prints it, and raises another error
@pytest.mark.parametrize(
    "name, function",
    [
        ("forward", lambda x, b: (x + 1, x + 2)),
        ("forward", lambda x, b: x.asnumpy()),
        ("forward", lambda x, b: None),
        ("forward", lambda x, b: nd.dot(x, x)),
        ("dx", lambda dy: dy.asnumpy()),
        ("dx", lambda dy: nd.dot(dy, dy)),
        ("db", lambda dy: dy),
        ("backward", lambda dy: [dy, nd.sum(dy, axis=0)]),
        ("backward", lambda dy: {"x": dy, "c": nd.sum(dy, axis=0)}),
        ("shapes", lambda x: x),
    ],
)
def test_a_report_says_what_a_call_says(name, function):
    op = plus_with(name, function)
    arrays = [nd.ones(shape, dtype="float64") for shape in ((4, 3), (3,))]
    for array in arrays:
        array.attach_grad()
    with pytest.raises((TypeError, ValueError)) as raised, autograd.record():
        op(*arrays).backward()
    told = [line.strip() for line in str(raised.value).splitlines()]
    told = [line for line in told if not line.startswith(("in forward of", "in backward of"))]
    texts = [text.replace("\n  ", "\n") for text in found(op, (4, 3), (3,)).values()]
    assert any("\n".join(told) in text for text in texts)


def test_a_report_says_how_to_keep_the_dtype():
    op = plus_with("forward", lambda x, b: nd.broadcast_add(x, b).astype("float16"))
    told = (
        "y is float16, declared float64: that of the first input, such as nd.array(..., dtype=x.dt"
    )
    assert found(op, (4, 3), (3,))["types"].startswith(told)


def test_what_makes_no_custom_op():
    told = found(wrong.prop(lambda: None), (4, 3))["runs"]
    assert told == "create_operator gave None\n  expected a CustomOp"


@pytest.mark.engine("torch")  # MXNet asks a custom operator for gradients that nobody wants
def test_rounding_to_float32_inside_a_net():
    class Tanh(mx.operator.CustomOp):
        def forward(self, is_train, req, in_data, out_data, aux):
            self.assign(out_data[0], req[0], nd.array(np.tanh(in_data[0].asnumpy())))

        def backward(self, req, out_grad, in_data, out_data, in_grad, aux):
            dy, y = out_grad[0].asnumpy(), out_data[0].asnumpy()
            self.assign(in_grad[0], req[0], nd.array(dy * (1 - y * y)))

    @mx.operator.register("check_tanh_in_float32")
    class TanhProp(mx.operator.CustomOpProp):
        def create_operator(self, ctx, shapes, dtypes):
            return Tanh()

    net = gluon.nn.HybridSequential()
    tanh = gluon.nn.HybridLambda(lambda F, x: F.Custom(x, op_type="check_tanh_in_float32"))
    net.add(gluon.nn.Dense(6, in_units=4), tanh, gluon.nn.Dense(3, in_units=6))
    net.initialize()
    report = checked(net, (2, 4))
    assert "rounds to float32" in report["float64"].text and not failures(report)


def test_the_tutorials_softmax_is_that_of_the_cross_entropy():
    assert set(found(wrong.TutorialSoftmaxProp, (4, 5), LABEL)) == {"gradient of data"}
    report = checked(wrong.TutorialSoftmaxProp, (4, 5), LABEL, loss=wrong.cross_entropy)
    assert report.passed and report["head gradient"].status == "passed"
    assert report["gradient of label"].status == "not checked"


def test_a_loss_may_need_an_attribute_that_is_not_given():
    @operator
    class squared:
        def forward(x, *, k=2.0):
            return x * k

        def dx(x, k):
            return 2 * k * x

        def loss(x, k):
            return k * x * x

    assert checked(squared, (4, 3)).passed and checked(squared, (4, 3), k=3).passed


def test_a_softmax_that_drops_its_head_gradient():
    problems = found(wrong.drops_its_head_gradient, (4, 5), LABEL)
    assert set(problems) == {"gradient of x"}


def test_a_customop_that_drops_its_head_gradient():
    @customop("numpy")
    def my_softmax(x, y):
        probs = np.exp(x - np.max(x, axis=1, keepdims=True))
        probs /= np.sum(probs, axis=1, keepdims=True)
        return -np.sum(np.log(probs[np.arange(len(x)), y])) / len(x)

    def difference(x, y):
        probs = np.exp(x - np.max(x, axis=1, keepdims=True))
        probs /= np.sum(probs, axis=1, keepdims=True)
        probs[np.arange(len(x)), y] -= 1
        return probs / len(x)

    my_softmax.def_grad(lambda ans, x, y: lambda g: difference(x, y))
    assert set(found(my_softmax, (4, 5), LABEL)) == {"gradient of x"}
    my_softmax.def_grad(lambda ans, x, y: lambda g: g * difference(x, y))
    assert checked(my_softmax, (4, 5), LABEL).passed


@pytest.mark.parametrize(
    "op, name, text",
    [
        ("lies_about_its_shape", "shapes", "y is (4,), declared (4, 3)"),
        ("lies_about_its_type", "types", "y is float64, declared int32"),
        ("draws", "deterministic", "y differs by 0."),
        ("draws_in_backward", "deterministic", "the gradient of x differs by"),
        ("a_loss_that_draws", "deterministic", "the gradient of x differs by"),
        ("returns_its_input", "outputs its own", "y is the memory of x: return a copy"),
        ("returns_one_buffer", "outputs its own", "y of one call changes in the next"),
        ("writes_into_its_input", "inputs unchanged", "forward writes into x"),
        ("divides_by_four", "another batch size", "x (5, 3): the gradient of x is 0."),
        ("runs_with_four_only", "another batch size", "x (5, 3): "),
        ("not_a_number_at_zero", "finite", "at 0, the outputs are finite"),
    ],
)
def test_an_operator(op, name, text):
    problems = found(getattr(wrong, op), (4, 3))
    assert set(problems) == {name}
    assert problems[name].startswith(text)


@pytest.mark.engine("torch")  # which has tensors
def test_a_customop_that_writes_into_its_tensor_gets_a_copy():
    @customop("torch")
    def doubled(x):
        return x.mul_(2)

    doubled.def_grad(lambda ans, x: lambda g: g * 2)
    assert found(doubled, (4, 3)) == {}


@pytest.mark.engine("torch")  # MXNet refuses every second derivative of custom operators
def test_a_second_derivative_that_is_zero_in_silence():
    problems = found(wrong.zero_second_derivative, (4, 3))
    assert set(problems) == {"second order"}
    assert problems["second order"].startswith("in x it is 0 in silence, numeric")


def test_a_layer_that_is_another_in_a_graph():
    problems = found(wrong.WrongReplayed(), (4, 3))
    assert set(problems) == {"hybridized = eager"}
    problems = found(wrong.WrongWithFive(), (4, 3))
    assert problems["hybridized = eager"].startswith("x (5, 3): y is")


@pytest.mark.engine("torch")  # MXNet compiles nothing
def test_a_layer_that_is_wrong_compiled_only():
    assert set(found(wrong.WrongCompiled(), (4, 3), compiled=True)) == {"compiled = eager"}


@pytest.mark.engine("mxnet")  # PyTorch does
def test_an_engine_that_does_not_compile():
    report = checked(wrong.WrongCompiled(), (4, 3), compiled=True)
    assert report["compiled = eager"].text == "this engine compiles nothing"


@pytest.mark.engine("mxnet")  # which keeps no classes by name
def test_what_a_name_declares_is_not_known():
    mx.operator.register("test_finds.sine")(wrong.prop(wrong.Custom))
    report = checked("test_finds.sine", (4, 3))
    assert "give its CustomOpProp" in report["shapes"].text


def test_the_name_of_an_operator():
    report = checked("layers.relu", (4, 3))
    assert report.passed and report["shapes"].text == "as declared"


@pytest.mark.engine("torch")  # which tells what it does not compile
def test_what_is_not_compiled_is_told():
    for _ in range(2):  # the log says it once
        report = checked(wrong.counts, (4, 3), np.zeros(1), compiled=True)
        assert report.passed and report["states"].text == "count updated"
        assert report["compiled = eager"].text.endswith("runs as it is: it has states")


@pytest.mark.slow  # inductor logs much
@pytest.mark.engine("torch")
def test_what_is_logged_beside_warnings_is_no_reason():
    logger = logging.getLogger("layers")
    logger.setLevel(logging.DEBUG)
    try:
        report = checked(sigmoid, (4, 3), compiled=True)
    finally:
        logger.setLevel(logging.NOTSET)
    assert "not compiled" not in report["compiled = eager"].text


def test_random_on_purpose():
    net = gluon.nn.HybridSequential()
    net.add(gluon.nn.Dense(3), gluon.nn.Dropout(0.5))
    (text,) = found(net, (4, 3)).values()
    assert text.endswith("seeded=True (--seeded) has it draw the same in each call")
    report = checked(net, (4, 3), seeded=True)
    assert report.passed and report["gradient of 0.weight"].status == "passed", str(report)


def test_states_of_a_layer():
    net = gluon.nn.BatchNorm()
    report = checked(net, (4, 3))
    assert report.passed and report["states"].text == "running_mean, running_var updated"
    with pytest.raises(Exception, match="not.*initialized"):
        net.gamma.data()  # a copy was checked


def test_a_block_that_is_no_graph():
    net = gluon.nn.Sequential()
    net.add(gluon.nn.Dense(2))
    report = checked(net, (4, 3))
    assert report.passed and report["parameters' file"].text == "0.weight, 0.bias"
    assert "a Block, not a HybridBlock" in report["hybridized = eager"].text


def test_states_of_a_custom_op(engine):
    class Largest(mx.operator.CustomOp):
        def forward(self, is_train, req, in_data, out_data, aux):
            aux[0][:] = nd.maximum(aux[0], in_data[0].max())
            self.assign(out_data[0], req[0], in_data[0] * 2)

        def backward(self, req, out_grad, in_data, out_data, in_grad, aux):
            self.assign(in_grad[0], req[0], out_grad[0] * 2)

    @mx.operator.register("check_largest")
    class LargestProp(mx.operator.CustomOpProp):
        def list_auxiliary_states(self):
            return ["largest"]

        def infer_shape(self, in_shape):
            return in_shape, [in_shape[0]], [(1,)]

        def create_operator(self, ctx, in_shapes, in_dtypes):
            return Largest()

    for op in (LargestProp, "check_largest"):
        report = checked(op, (4, 3), np.zeros(1))
        assert report.passed and report["states"].text == "largest updated", str(report)
        if engine == "torch" or op == "check_largest":  # MXNet does not tell the name of a class
            assert report.title.startswith("operator check_largest: ")


def test_functions():
    report = checked(lambda a, b: nd.broadcast_mul(a, b), (4, 3), (4, 1))
    assert report.passed and report["gradient of b"].status == "passed"
    assert report["hybridized = eager"].status == "not checked"
    assert "gradient of a" in found(lambda a: a * a.detach(), (4, 3))


def test_only_float32():
    @operator
    class sine:
        def forward(x):
            return nd.array(np.sin(x.asnumpy()))

        def dx(dy, x):
            return nd.array(dy.asnumpy() * np.cos(x.asnumpy()))

    report = checked(sine, (4, 3))
    assert report.passed and report["float64"].status == "not checked"
    assert "float32" in report["runs"].text and "0.002 of the largest" in report["float64"].text


def test_a_gradient_of_float32_that_is_wrong_by_half_a_percent():
    @operator
    class sine:
        def forward(x):
            return nd.array(np.sin(x.asnumpy()))

        def dx(dy, x):
            return nd.array(1.005 * dy.asnumpy() * np.cos(x.asnumpy()))

    assert set(found(sine, (4, 3))) == {"gradient of x"}


def test_numeric_gradients_that_float32_makes_inexact():
    @operator
    class inverse:
        def forward(x):
            return nd.array(1 / x.asnumpy())

        def dx(dy, x):
            return nd.array(-dy.asnumpy() / x.asnumpy() ** 2)

    report = checked(inverse, np.array([0.1, 0.15, -0.1]))
    assert report["gradient of x"].status == "passed", str(report)


@pytest.mark.engine("torch")  # MXNet's process may end with an exception in forward
def test_an_operator_that_takes_its_first_values_only():
    seen = []

    @operator
    class once:
        def forward(x):
            seen.append(x.asnumpy())
            if np.abs(seen[0] - seen[-1]).max() > 0:
                raise KeyError("other values")
            return nd.array(np.sin(seen[-1])).astype(x.dtype)  # tried with other digits: it rounds

        def dx(dy, x):
            return dy * nd.cos(x)

    assert "KeyError: 'other values'" in found(once, (4, 3))["gradient of x"]


def test_outside_the_domain():
    report = checked(nd.log, (4, 3))
    assert "are not finite: give inputs inside its domain" in report["gradient of data"].text
    assert checked(nd.log, np.linspace(1, 2, 12).reshape(4, 3)).passed


def test_large_inputs_are_sampled():
    @operator
    class doubled:
        def forward(x):
            return x * 2

        def dx(dy, x):  # wrong in one element of many
            return dy * 2 + (nd.arange(x.size, dtype=x.dtype).reshape(x.shape) == 1)

    text = found(doubled, (100, 3))["gradient of x"]
    assert "along a random direction" in text
    right = checked(nd.relu, (100, 3))["gradient of data"]
    assert right.status == "passed" and "32 of 300 elements" in right.text


def test_without_gradients():
    report = checked(wrong.largest, (4, 3))
    assert report.passed and report["gradient of x"].text == "the operator declares none"
    report = checked(wrong.draws_in_backward, (4, 3), wrt=())
    assert report.passed and report["gradient of x"].text == "not asked for"


def test_the_name_of_one_input():
    given = layer_norm, (4, 3), (3,), (3,)
    report = checked(*given, wrt="gamma")
    assert report.passed and report["gradient of x"].text == "not asked for"
    assert str(report) == str(checked(*given, wrt=["gamma"]))


def test_the_report():
    report = checked(wrong.divides_by_four, (4, 3))
    assert [c.name for c in report][:2] == ["runs", "shapes"] and len(report) > 10
    assert not report.passed and [c.name for c in report.failed] == ["another batch size"]
    lines = str(report).splitlines()
    assert lines[0] == "operator wrong.divides_by_four: x (4, 3)" or "divides_by_four" in lines[0]
    assert lines[-1].endswith("1 failed, 2 not checked")
    starts = {line.index("as declared") for line in lines if "as declared" in line}
    assert len(starts) == 1
    with pytest.raises(CheckFailed, match="failed +another batch size +x .5, 3.: the gradient"):
        report.raise_on_failure()
    with pytest.raises(KeyError, match="expected one of 'runs', 'shapes'"):
        report["gradient of z"]


def test_the_call_leaves_no_trace():
    net = gluon.nn.Dense(2, in_units=3)
    net.initialize()
    before = net.weight.data().asnumpy()
    checked(net, (4, 3)).raise_on_failure()
    assert (net.weight.data().asnumpy() == before).all()
    assert net.weight.data().dtype == np.float32 and net.weight.grad_req == "write"
    assert not autograd.is_recording() and not autograd.is_training()


@pytest.mark.parametrize(
    "call, told",
    [
        (lambda: check_operator(wrong.draws), "check operator .*draws: 0 inputs\n  expected 1: x"),
        (
            lambda: check_operator(wrong.draws, (4, 3), k=3),
            "no attribute 'k'\n  expected one of none",
        ),
        (
            lambda: check_operator(wrong.draws, (4, 3), wrt=["z"]),
            "wrt names 'z'\n  expected one of x",
        ),
        (lambda: check_operator(3, (4, 3)), "check_operator: 3 .int.\n  expected an Operator"),
        (lambda: check_operator(wrong.draws, "ab"), "input 0 is .*\n  expected an array"),
        (lambda: check_layer(wrong.draws, (4, 3)), "check_layer: .*\n  expected a Block"),
    ],
)
def test_wrong_arguments(call, told):
    with pytest.raises(TypeError, match=told):
        call()


def test_a_head_gradient_that_is_ignored_is_told():
    @operator
    class tanh:
        def forward(x):
            return nd.tanh(x)

        def dx(y):  # without dy: a loss
            return 1 - y * y

    line = check_operator(tanh, (2, 3), compiled=False)["head gradient"]
    assert line.status == "not checked" and "right for a loss only" in line.text


def test_a_number_is_no_input():
    with pytest.raises(TypeError, match="input 1 is the number 2.5\n.*lambda x: operator"):
        check_operator(lambda x, a: x * a, (2, 3), 2.5)
    assert check_operator(lambda x: x * 2.5, (2, 3), compiled=False).passed


def test_an_operator_of_any_number_of_inputs_is_checked_for_these():
    def total(*arrays):
        return sum(arrays)

    def first(*shapes):
        return shapes[0]

    op = Custom(total, first, first, "pyfunc", lambda a, b, y, dy: (dy, dy))
    report = check_operator(op, (4, 3), (4, 3), compiled=False)
    assert report.passed, str(report)
    assert report["hybridized = eager"].status == "passed" and "x0 (4, 3), x1 (4, 3)" in str(report)


def scaled(saves, forward, dx):
    parts = {"states": ("m",), "saves": saves, "forward": forward, "dx": dx}
    return operator(type("scaled", (), parts | {"shapes": lambda x, m: {"y": x, "m": x}}))


def test_a_gradient_by_a_state_that_forward_has_updated():
    def updated(x, m):
        y = x * m
        m[:] = m + 1
        return y

    text = found(scaled((), updated, lambda dy, m: dy * m), (2, 3), (2, 3))["gradient of x"]
    assert "backward gets m as forward leaves it" in text and "keep that in `saves`" in text
    wrong = found(scaled((), updated, lambda dy, m: dy * m * m), (2, 3), (2, 3))["gradient of x"]
    assert "elements are wrong" in wrong and "as forward leaves it" not in wrong


def test_a_gradient_by_the_state_of_before():
    def updated(x, m):
        old = m.copy()
        m[:] = m + 1
        return x * old, old

    report = checked(scaled(("old",), updated, lambda dy, old: dy * old), (2, 3), (2, 3))
    assert report["gradient of x"].status == "passed", report


def piecewise(wrong):
    """Make y = max(x, 0) + max(x - 3, 0)² / 2, whose gradient is wrong by 1 where `wrong` says."""

    @operator(name=f"test_finds.piecewise_{id(wrong)}")
    class piecewise:
        def forward(x):
            return nd.relu(x) + nd.square(nd.relu(x - 3)) / 2

        def dx(dy, x):
            return dy * ((x > 0) + nd.relu(x - 3) + wrong(x))

        def shapes(x):
            return {"y": x}

    return piecewise


@pytest.mark.parametrize(
    "wrong, text",
    [
        (lambda x: x < -1, "at 4 times the input"),
        (lambda x: x < -10, "at 40 times the input"),
        (lambda x: x > 2, "at 4 times the input"),
        (lambda x: nd.abs(x) < 0.05, "at 0.01 times the input"),
        (lambda x: 2 * (x == 0), r"with a 0, .* at \[0, 0\]"),
        (lambda x: -(x == 0), r"with a 0, .* at \[0, 0\]"),
    ],
)
def test_a_gradient_that_is_wrong_in_one_place(wrong, text):
    problem = found(piecewise(wrong), (2, 3), quick=True)["gradient of x"]
    assert re.match(text, problem), problem


@pytest.mark.parametrize("choice", [0, 0.5, 1])
def test_a_kink_is_not_wrong(choice):
    op = piecewise(lambda x: choice * (x == 0))
    for x in ((2, 3), np.array([[0.0, -1], [2, 0]])):
        line = checked(op, x, quick=True)["gradient of x"]
        assert line.status == "passed"
        assert choice == 0.5 or "not differentiable where x is 0" in line.text


def test_a_gradient_is_compared_inside_the_domain_only():
    def arcsine(x):
        return nd.arcsin(x)

    assert checked(arcsine, (2, 3)).passed


@pytest.mark.engine("torch")  # MXNet has to know the size before it computes
def test_an_output_whose_size_depends_on_values():
    @operator(name="test_finds.positive")
    class positive:
        def forward(x):
            values = x.asnumpy()
            return nd.array(values[values > 0], dtype=x.dtype)

        def dx(dy, x):
            gradient = (x.asnumpy() > 0).astype(x.dtype)
            gradient[gradient > 0] = dy.asnumpy()
            return nd.array(gradient, dtype=x.dtype)

    assert checked(positive, (2, 3), quick=True)["gradient of x"].status == "passed"


def test_arrays_are_left_as_they_are():
    line = checked(piecewise(lambda x: x < -1), np.full((2, 2), -0.5), quick=True)
    assert line["gradient of x"].status == "passed"
