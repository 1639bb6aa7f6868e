"""What an operator's functions read from outside is told as advice: no check fails by it."""

import types

import numpy as np
import pytest

from layers import ops
from layers.check import check_layer, check_operator
from layers.engine import gluon, mx, nd
from layers.ops import Custom, customop, operator

pytestmark = pytest.mark.slow_on("mxnet")

SCALE = 2.0
TABLE = np.ones((3, 2))
settings = types.SimpleNamespace(scale=2.0, unread=3.0)


class Settings:
    scale = 2.0

    def __init__(self):
        self.shift = 1.0

    def method(self):
        return 1.0

    @property
    def computed(self):
        raise AssertionError("code of the user's is run")


SHARED = Settings()


def advice(op, **options):
    report = check_operator(op, (2, 3), compiled=False, **options)
    assert report["runs"].status == "passed", str(report)
    return report.advice


def reads(op, **options):
    """What is read and by whom, without what becomes of it."""
    return {text.partition(":")[0] for text in advice(op, **options)}


def made(forward, dx=lambda dy: dy, **said):
    body = {"__qualname__": "made.<locals>.op", "forward": forward, "dx": dx}
    return operator(type("op", (), body | said), name="test_advice.op")


def scaled(x):
    return x * SCALE


def nested(ans, x):
    return lambda g: g * SCALE


def test_a_global_that_an_operator_reads():
    @operator
    class twice:
        def forward(x):
            return x * SCALE

        def dx(dy):
            return dy * SCALE

    (text,) = advice(twice)
    assert text.startswith("SCALE (2.0), read by forward and dx: a recorded or compiled graph")
    assert (
        "keeps its value until hybridize()" in text
        and "with pure=False it is read in each call" in text
    )


COUNT, SEEN, COUNTS = 0, [], {"calls": 0}


class Counter:
    calls = 0


COUNTER = Counter()


def counting(x):
    global COUNT
    COUNT += 1
    SEEN.append(x.shape)
    COUNTS["calls"] += 1
    COUNTER.calls = COUNT
    y = {"SCALE": x}
    y["SCALE"] = x * SCALE
    return y["SCALE"]


def test_what_is_changed_is_not_told_as_read():
    found = {text.partition(" ")[0]: text for text in advice(made(counting))}
    assert set(found) == {"COUNT", "SEEN", "COUNTS", "COUNTER.calls", "SCALE"}
    assert "read by counting: a recorded or compiled graph" in found.pop("SCALE")
    for text in found.values():
        assert "changed by counting: a recorded graph leaves the change out" in text
    assert not advice(made(counting, pure=False))


def test_what_is_read_in_each_call_needs_no_advice():
    assert advice(made(lambda x: x * SCALE)) and not advice(made(lambda x: x * SCALE, pure=False))


def test_the_report_has_a_part_for_advice_and_nothing_fails():
    report = check_operator(made(scaled, lambda dy: dy * SCALE), (2, 3), compiled=False)
    assert report.passed
    lines = str(report).splitlines()
    assert lines[-4] == "advice" and lines[-3].startswith("  SCALE (2.0), read by scaled and <lam")
    assert ", 0 failed, " in lines[-1]
    assert "advice" not in str(check_operator(nd.relu, (2, 3), compiled=False))


def test_variables_of_an_enclosing_function():
    shift = [1.0]
    assert reads(made(lambda x: x + shift[0])) == {"shift ([1.0]), read by <lambda>"}


def test_through_the_functions_that_it_calls():
    assert reads(made(lambda x: scaled(x))) == {"SCALE (2.0), read by <lambda>"}


def test_attributes_of_objects_modules_and_classes(monkeypatch):
    module = types.ModuleType("test_advice_settings")
    module.__file__, module.factor = __file__, 2.0
    monkeypatch.setitem(__import__("sys").modules, module.__name__, module)

    def forward(x):
        y = x * SHARED.shift + Settings.scale * module.factor
        return y if SHARED.method() or SHARED.computed else x

    expected = {"SHARED.shift (1.0)", "SHARED.scale (2.0)"}  # a name is that of any attribute
    expected |= {"Settings.scale (2.0)", "module.factor (2.0)"}
    assert reads(made(forward)) == {f"{what}, read by forward" for what in expected}


def test_arrays_and_objects_of_libraries():
    random = np.random.RandomState(0)

    def forward(x):
        return x * TABLE.sum() * settings.scale + 0 * random.rand()

    what = ("TABLE (an array (3, 2))", "settings (a SimpleNamespace)", "random (a RandomState)")
    assert reads(made(forward)) == {f"{name}, read by forward" for name in what}


def test_what_libraries_have_is_no_value_from_outside():
    twice = customop("numpy")(lambda x: x + np.sin(np.pi) + x)

    def forward(x):
        return ops.relu(twice(mx.nd.abs(x)) * float(len(x.shape)))

    assert not advice(made(forward))


@pytest.mark.parametrize("op", [ops.dense, ops.softmax_cross_entropy])
def test_the_operators_of_the_library_read_nothing(op):
    label = np.array([0, 2])
    report = check_operator(op, (2, 3), (4, 3) if op is ops.dense else label, compiled=False)
    assert report.advice == []


def test_a_function_and_the_makers_of_its_gradients():
    f = customop("numpy")(scaled)
    f.def_grad(nested)
    assert reads(f) == {"SCALE (2.0), read by scaled and nested"}
    assert not advice(customop("numpy", pure=False)(scaled).def_grad(nested))


def test_the_object_that_a_method_is_bound_to():
    class Scaled:
        def __init__(self):
            self.factor = 3.0

        @customop("numpy")
        def scale(self, x):
            return x * self.factor

        scale.def_grad(lambda ans, self, x: lambda g: g * self.factor)

    assert reads(Scaled().scale) == {"self.factor (3.0), read by scale and <lambda>"}


def test_the_function_and_bprop_of_a_custom():
    same = lambda *given: given[0]  # noqa: E731  a rule, as the original writes it

    def bprop(x, out, dout):
        return (dout * SCALE,)

    op = Custom(scaled, same, same, "pyfunc", bprop)
    assert reads(op) == {"SCALE (2.0), read by scaled and bprop"}


class Twice(mx.operator.CustomOp):
    def forward(self, is_train, req, in_data, out_data, aux):
        self.assign(out_data[0], req[0], in_data[0] * SCALE)

    def backward(self, req, out_grad, in_data, out_data, in_grad, aux):
        self.assign(in_grad[0], req[0], out_grad[0] * SCALE)


@pytest.mark.parametrize(
    "said, text",
    [
        (
            {},
            "a compiled graph keeps its value until hybridize() is called again; with `pure = F",
        ),
        ({"pure": True}, "a recorded or compiled graph keeps"),
        ({"pure": False}, None),
    ],
)
def test_a_custom_op(said, text):
    class TwiceProp(mx.operator.CustomOpProp):
        def create_operator(self, ctx, in_shapes, in_dtypes):
            return Twice()

    for name, value in said.items():
        setattr(TwiceProp, name, value)
    found = advice(TwiceProp)
    if text is None:
        assert found == []
    else:
        assert [t.partition(":")[0] for t in found] == ["SCALE (2.0), read by backward and forward"]
        assert found[0].partition(": ")[2].startswith(text)


def test_a_function_and_a_layer():
    class Layer(gluon.HybridBlock):
        factor = 3.0

        def hybrid_forward(self, F, x):
            return x * SCALE * self.factor

    told = "SCALE (2.0), read by {}: a graph keeps its value until hybridize() is called again"
    assert advice(scaled) == [told.format("scaled")]
    report = check_layer(Layer(), (2, 3), compiled=False)
    assert report.advice == [told.format("hybrid_forward")]
    assert check_layer(gluon.nn.Dense(3), (2, 3), compiled=False).advice == []
