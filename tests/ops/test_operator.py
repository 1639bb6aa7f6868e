"""`@operator`: what a definition means, and what is told when it is wrong."""

import pickle
import re

import numpy as np
import pytest

from layers import OperatorBlock, operator
from layers.engine import autograd, gluon, mx, nd


@operator
class scale:
    """y = factor x"""

    def forward(x, *, factor: float = 2.0):
        return x * factor

    def dx(dy, factor):
        return dy * factor

    def shapes(x):
        return {"y": x}


@operator
class split_sign:
    """Positive and negative part: two outputs, gradients together."""

    outputs = ("p", "n")

    def forward(x):
        return nd.relu(x), nd.relu(-x)

    def backward(dp, dn, x):
        return {"x": dp * (x > 0) - dn * (x < 0)}

    def shapes(x):
        return {"p": x, "n": x}


@operator
class counted:
    """y = x, and counts the calls in a state."""

    states = ("count",)

    def forward(x, count):
        count[:] = count + 1
        return x * 1

    def dx(dy):
        return dy

    def shapes(x):
        return {"y": x, "count": (1,)}


@operator
class plain:
    """Without a rule for shapes, and in NumPy."""

    def forward(x):
        return nd.array(np.sin(x.asnumpy()), dtype=x.dtype)

    def dx(dy, x):
        return nd.array(dy.asnumpy() * np.cos(x.asnumpy()), dtype=x.dtype)


def recorded(function, *values):
    arrays = [nd.array(v) for v in values]
    for a in arrays:
        a.attach_grad()
    with autograd.record():
        y = function(*arrays)
    return y, arrays


def test_attributes():
    y, (x,) = recorded(lambda x: scale(x, factor=3), [1.0, 2.0])
    y.backward()
    assert y.asnumpy().tolist() == [3, 6] and x.grad.asnumpy().tolist() == [3, 3]
    assert scale(nd.ones((1,))).asnumpy().tolist() == [2]


@pytest.mark.engine("torch")  # MXNet prints what is raised inside of an operator
def test_outputs_that_are_not_declared():
    @operator
    class two:
        def forward(x):
            return x, 2 * x

        def dx(dy):
            return dy

    with pytest.raises(ValueError, match=r"2 outputs\n.*1: y; outputs = \('y0', 'y1'\) declares 2"):
        two(nd.ones((2,)))[0].asnumpy()


def test_several_outputs_and_gradients_together():
    (p, n), (x,) = recorded(split_sign, [1.0, -2.0])
    autograd.backward([p, n], [nd.array([10.0, 10.0]), nd.array([100.0, 100.0])])
    assert p.asnumpy().tolist() == [1, 0] and n.asnumpy().tolist() == [0, 2]
    assert x.grad.asnumpy().tolist() == [10, -100]


def test_states():
    count = nd.zeros((1,))
    for _ in range(3):
        counted(nd.ones((2,)), count).wait_to_read()
    assert count.asnumpy().tolist() == [3]


def test_without_shapes():
    y, (x,) = recorded(plain, [[0.5, 1.0]])
    y.backward()
    np.testing.assert_allclose(y.asnumpy(), np.sin([[0.5, 1.0]]), rtol=1e-6)
    np.testing.assert_allclose(x.grad.asnumpy(), np.cos([[0.5, 1.0]]), rtol=1e-6)


def test_the_name_says_where_it_is_from():
    from layers.ops import dense

    assert dense.name == "layers.dense"
    assert scale.name.endswith("scale")
    assert repr(scale).startswith("<operator")
    assert scale.__doc__ == "y = factor x"


def test_mistakes_in_a_definition():
    def dx(dy, z):
        return dy

    with pytest.raises(TypeError, match=r"gradient of x needs 'z'\n.*expected one of dy, x, y"):
        operator(type("bad", (), {"forward": lambda x: x, "dx": dx}))
    with pytest.raises(TypeError, match="'dw' is no gradient: there is no input 'w'"):
        operator(type("bad", (), {"forward": lambda x: x, "dw": lambda dy: dy}))
    with pytest.raises(TypeError, match="'y' is an input and an output"):
        operator(type("bad", (), {"forward": lambda x, y: x}))


@pytest.mark.parametrize(
    "parts, told",
    [
        ({}, "expected a class with forward"),
        ({"forward": lambda self, x: x}, "forward has the input 'self'"),
        ({"forward": lambda ctx, x: x}, "forward has the input 'ctx', and is called without it;"),
        ({"forward": lambda x: x, "states": "mean"}, "states is 'mean'"),
        (
            {"forward": lambda x: x, "output": ("z",)},
            "'output' is no part of an operator\n.*outputs",
        ),
        (
            {"forward": lambda x: (x, x), "outputs": ("y", "y")},
            "outputs are y, y\n.*different names",
        ),
        ({"forward": lambda x: x, "states": ("mean",)}, "the state 'mean' is no input of forward"),
        (
            {"forward": lambda x: x, "dx": lambda dy: dy, "backward": lambda dy: {"x": dy}},
            "there are a backward and single gradients\n  expected backward, or dx",
        ),
        (
            {"forward": lambda x, k=2.0: x},
            r"a default that is not None; attributes stand after \*\n  in forward\(x, k=2.0\)",
        ),
    ],
)
def test_definitions_that_cannot_be(parts, told):
    with pytest.raises(TypeError, match=told):
        operator(type("bad", (), parts))


def test_a_gradient_of_another_shape():
    @operator
    class summed:
        def forward(x):
            return x * 2

        def dx(dy):
            return dy.sum()

        def shapes(x):
            return {"y": x}

    y, (x,) = recorded(summed, [1.0, 2.0])
    with pytest.raises(Exception, match=r"gradient of x is \(1,\)|Check failed"):
        y.backward()
        x.grad.asnumpy()


@pytest.mark.engine("torch")  # MXNet also asks for gradients that nobody wants
def test_a_forgotten_gradient_is_told():
    @operator
    class product:
        def forward(x, w):
            return x * w

        def dx(dy, w):
            return dy * w

    y, _ = recorded(product, [1.0], [2.0])
    with pytest.raises(RuntimeError, match="(?s)w asks for a gradient.*expected def dw"):
        y.backward()
    x, w = nd.ones((1,)), nd.ones((1,))
    x.attach_grad()
    with autograd.record():
        y = product(x, w)
    y.backward()


@pytest.mark.engine("torch")
def test_backward_gives_a_dict():
    @operator
    class wrong:
        def forward(x):
            return x * 2

        def backward(dy):
            return {"dx": dy}

    y, _ = recorded(wrong, [1.0])
    with pytest.raises(TypeError, match=r"(?s)backward gave \['dx'\].*dict of gradients by input"):
        y.backward()


def test_mistakes_in_a_call():
    x = nd.ones((2,))
    for call, told in (
        (lambda: scale(), "x is missing"),
        (lambda: scale(x, x), "2 inputs"),
        (lambda: scale(x, fctor=3), "unexpected argument 'fctor'"),
        (lambda: scale(x, factor="many"), "factor is 'many'"),
        (lambda: scale(x, x=x), "x is given twice\n  expected scale"),
    ):
        with pytest.raises(TypeError, match=told):
            call()


@pytest.mark.engine("torch")
def test_what_came_back_is_checked():
    @operator
    class lies:
        def forward(x):
            return x[:1]

        def shapes(x):
            return {"y": x}

    with pytest.raises(ValueError, match=r"y is \(1,\)\n  expected \(3,\)"):
        lies(nd.ones((3,)))

    @operator
    class unknown:
        def forward(x):
            return x * 2

        def shapes(x):
            return {"z": x}

    with pytest.raises(TypeError, match=r"`shapes` gave \{'z': \(3,\)\}\n  expected .*, of x, y"):
        unknown(nd.ones((3,)))

    @operator
    class short:
        def forward(x):
            return x * 2

        def dx(dy):
            return dy[:1]

    y, _ = recorded(short, [1.0, 2.0])
    with pytest.raises(ValueError, match=r"gradient of x is \(1,\) float32\n  expected \(2,\)"):
        y.backward()

    @operator
    class nothing:
        def forward(x):
            return None

    with pytest.raises(TypeError, match="output y is None\n  expected an NDArray; .* `return`"):
        nothing(nd.ones((3,)))


@pytest.mark.parametrize("forward", [lambda *xs: xs[0], lambda x, **others: x])
def test_a_forward_of_any_number_of_inputs(forward):
    with pytest.raises(TypeError, match="forward takes any number of inputs.* customop takes any"):
        operator(type("cat_sum", (), {"forward": forward}))


@pytest.mark.engine("torch")
@pytest.mark.parametrize("phase", ["forward", "backward"])
def test_an_exception_keeps_its_type_and_gets_a_note(phase):
    @operator
    class fails:
        def forward(x):
            return [][0] if phase == "forward" else x * 2

        def dx(dy):
            return [][0]

    with pytest.raises(IndexError) as caught:
        y, _ = recorded(fails, [[1.0, 2.0]])
        y.backward()
    told = "\n".join([str(caught.value), *getattr(caught.value, "__notes__", [])])
    assert f"in {phase} of operator" in told and "(1, 2) float32" in told
    assert not autograd.is_recording()


@pytest.mark.engine("torch")
@pytest.mark.parametrize("hybridized", [False, True])
def test_an_exception_keeps_what_it_was_raised_in(hybridized):
    @operator
    class looks_up:
        def forward(x):
            try:
                return {}["key"]
            except KeyError:
                raise ValueError("no such key")  # noqa: B904, it is what users write

    net = gluon.nn.HybridLambda(lambda F, x: looks_up(x))
    net.hybridize(hybridized)
    with pytest.raises(ValueError, match="no such key") as caught:
        net(nd.ones((2,)))
    assert isinstance(caught.value.__context__, KeyError)
    assert not caught.value.__suppress_context__


@pytest.mark.engine("torch")  # MXNet has no second derivative of custom operators
def test_second_derivative():
    @operator
    class cube:
        def forward(x):
            return x * x * x

        def dx(dy, x):
            return 3 * dy * x * x

    y, (x,) = recorded(cube, [2.0])
    with autograd.record():
        (first,) = autograd.grad(cube(x), [x], create_graph=True)
        (second,) = autograd.grad(first, [x], create_graph=True)
    second.backward()
    assert [first.asscalar(), second.asscalar(), x.grad.asscalar()] == [12, 12, 6]

    with autograd.record():
        z = plain(x)
        with pytest.raises(RuntimeError, match="second derivative"):
            autograd.grad(z, [x], create_graph=True)


@pytest.mark.engine("torch")
def test_memory_is_its_own():
    @operator
    class identity:
        def forward(x):
            return x

        def dx(dy):
            return dy

    x = nd.ones((2,))
    y = identity(x)
    y[:] = 5
    assert x.asnumpy().tolist() == [1, 1]
    y, (x,) = recorded(identity, [1.0, 2.0])
    y.backward()
    assert x.grad.asnumpy().tolist() == [1, 1]


def test_a_parameter_used_twice():
    y, (x,) = recorded(lambda x: scale(x) + scale(x, factor=10), [1.0])
    y.backward()
    assert x.grad.asscalar() == 12


def test_in_a_graph_by_name():
    y = mx.nd.Custom(nd.ones((2,)), op_type=scale.name, factor=4)
    assert y.asnumpy().tolist() == [4, 4]


def test_by_name_with_out_and_too_many():
    out = nd.zeros((2,))
    mx.nd.Custom(nd.ones((2,)), op_type=scale.name, out=out)
    assert out.asnumpy().tolist() == [2, 2]
    with pytest.raises(Exception, match="2 inputs|got 2"):
        mx.nd.Custom(nd.ones((2,)), nd.ones((2,)), op_type=scale.name).wait_to_read()


@pytest.mark.parametrize(
    "text, value", [("inf", float("inf")), ("3", 3.0), (np.float32(2), 2.0), (True, 1.0)]
)
def test_attributes_are_read(text, value):
    assert scale.parse("factor", text) == value


def test_attributes_of_each_type():
    @operator
    class typed:
        def forward(x, *, n: int = 1, flag: bool = False, sizes: tuple = (), name: str = ""):
            return x * 1

    told = {"n": np.int64(3), "flag": "true", "sizes": [1, 2], "name": 5}
    read = {name: typed.parse(name, value) for name, value in told.items()}
    assert read == {"n": 3, "flag": True, "sizes": (1, 2), "name": "5"}
    for name, value in (("n", 2.5), ("flag", "maybe"), ("sizes", "1 +")):
        with pytest.raises(TypeError, match=f"{name} is"):
            typed.parse(name, value)


def test_an_attribute_whose_default_is_none_is_a_value_that_can_be_compared():
    @operator
    class reduced:
        def forward(x, *, axes=None):
            return nd.sum(x, axis=axes)

    assert reduced(nd.ones((2, 3)), axes=[0, 1]).asnumpy().tolist() == [6]
    assert reduced.parse("axes", "[0, [1]]") == (0, (1,))
    with pytest.raises(
        TypeError, match=r"axes is ndarray \(2,\)\n  expected a number, text or tuple"
    ):
        reduced(nd.ones((2, 3)), axes=np.arange(2))


def test_the_first_input_may_be_left_out():
    @operator(name="test_operator.first_optional")
    class either:
        def forward(a=None, b=None):
            return b * 2 if a is None else a * b

    assert either(None, nd.array([3.0])).asnumpy().tolist() == [6]
    assert either(b=nd.array([3.0])).asnumpy().tolist() == [6]
    by_name = nd.Custom(nd.array([3.0]), op_type="test_operator.first_optional", no_a=True)
    assert by_name.asnumpy().tolist() == [6]
    assert either(nd.array([4.0]), nd.array([3.0])).asnumpy().tolist() == [12]


def test_an_input_that_is_none_is_missing():
    @operator
    class product:
        def forward(a, b):
            return a * b

    one = nd.ones((1,))
    for args, kwargs in (((one, None), {}), ((one,), {"b": None}), ((one,), {})):
        with pytest.raises(TypeError, match="b is missing"):
            product(*args, **kwargs)


@operator
class between:
    """x, within bounds."""

    def forward(x, *, bounds: tuple = (0.0, 1.0), most=None):
        return nd.clip(x, *bounds) if most is None else nd.minimum(x, most)

    def dx(dy):
        return dy

    def shapes(x):
        return {"y": x}


@pytest.mark.parametrize(
    "attributes",
    [
        {"bounds": (0.0, float("inf"))},
        {"bounds": (-float("inf"), 2)},
        {"bounds": (np.float32(0), np.float32(2))},
        {"bounds": [0, 2]},
        {"most": float("inf")},
        {"most": np.float32(2)},
    ],
)
def test_attributes_of_a_graph_are_those_of_a_call(attributes):
    block = gluon.nn.HybridLambda(lambda F, x: between(x, **attributes))
    x = nd.array([1.0, 5.0])
    expected = block(x).asnumpy()
    block.hybridize()
    assert block(x).asnumpy().tolist() == expected.tolist()


def test_a_dtype_is_an_attribute():
    @operator
    class cast:
        def forward(x, *, dtype: str = "float32"):
            return x.astype(dtype)

        def dx(dy, x):
            return dy.astype(x.dtype)

        def types(x, dtype):
            return {"y": dtype}

    assert cast(nd.ones(2), dtype=np.dtype("float16")).dtype == np.float16


@pytest.mark.parametrize("make, told", [(nd.ones, "NDArray (3,)"), (np.ones, "ndarray (3,)")])
def test_an_array_within_an_attribute(make, told):
    message = re.escape(f"bounds is a tuple of {told}") + ".*\n.*an array is an input"
    with pytest.raises(TypeError, match=message):
        between(nd.ones((2,)), bounds=(make((3,)), 1))


def test_a_gradient_that_an_operator_keeps_is_not_written_by_it():
    kept = []

    @operator
    class keeping:
        def forward(x):
            return x * 2

        def dx(dy):
            kept.append(dy * 2)
            return kept[-1]

    class Keeping(autograd.Function):
        def forward(self, x):
            return x * 2

        def backward(self, dy):
            kept.append(dy * 2)
            return kept[-1]

    for function in (keeping, Keeping()):
        x = nd.ones((2,))
        x.attach_grad()
        with autograd.record():
            y = function(x)
        (dx,) = autograd.grad(y, [x])
        dx.wait_to_read()
        kept[-1][:] = 7
        assert dx.asnumpy().tolist() == [2, 2]


@pytest.mark.parametrize("default", [1.0, 1, "", (), None])
def test_an_array_is_no_attribute(default):
    @operator
    class scaled:
        def forward(x, *, rate=default):
            return x * 1

    with pytest.raises(TypeError, match=r"rate is NDArray \(1,\)\n.*an array is an input"):
        scaled(nd.ones((2,)), rate=nd.array([3.0]))


@pytest.mark.engine("torch")  # MXNet has the message in an error of its own
def test_a_gradient_of_another_dtype():
    @operator
    class doubled:
        def forward(x):
            return 2 * x

        def dx(dy):
            return (2 * dy).astype("float16")

    x = nd.ones((3,))
    x.attach_grad()
    with autograd.record():
        y = doubled(x)
    message = r"gradient of x is \(3,\) float16\n  expected \(3,\) float32"
    with pytest.raises(ValueError, match=message):
        y.backward()


@pytest.mark.engine("torch")
def test_many_values_of_an_attribute_leave_memory_flat():
    for i in range(600):
        scale(nd.ones((1,)), factor=float(i))
    assert len(scale._adapter._calls) <= 256


@pytest.mark.engine("torch")
def test_types_and_shapes_are_checked_on_every_call():
    shape = [(2,)]

    @operator
    class changing:
        def forward(x):
            return nd.ones(shape[0])

        def shapes(x):
            return {"y": x}

    changing(nd.ones((2,)))
    shape[0] = (7,)
    with pytest.raises(ValueError, match=r"y is \(7,\)"):
        changing(nd.ones((2,)))

    @operator
    class single:
        def forward(x):
            return nd.array(x.asnumpy())

    with pytest.raises(TypeError, match="output y is .* float32"):
        single(nd.ones((2,), dtype="float64"))


@operator
class largest:
    """The place of the largest element of each row: of another dtype than the input."""

    def forward(x):
        return nd.argmax(x, axis=1).astype("int32")

    def shapes(x):
        return {"y": x[:1]}

    def types(x):
        return {"y": "int32"}


@operator
class three:
    """A constant: no inputs."""

    def forward(*, size: int = 3):
        return nd.full((size,), 3.0)

    def shapes(size):
        return {"y": (size,)}


def test_an_output_of_another_dtype():
    x = nd.array([[1.0, 3.0, 2.0], [4.0, 0.0, 1.0]])
    for y in (largest(x), nd.Custom(x, op_type=largest.name)):
        assert y.dtype == np.int32 and y.asnumpy().tolist() == [1, 0]


@pytest.mark.engine("torch")
def test_a_lie_about_the_dtype():
    @operator
    class lying:
        def forward(x):
            return x * 1

        def types(x):
            return {"y": "int64"}

    with pytest.raises(TypeError, match="output y is .*float32.*\n  expected int64.*`types`"):
        lying(nd.ones((2,)))


@pytest.mark.engine("torch")  # MXNet prints it, and raises another error
@pytest.mark.parametrize(
    "shape, told",
    [
        ((3,), "(3,) float32: the sum over axis 0, along which b was broadcast"),
        ((1,), "(1,) float32: the sum over the axes 0, 1, along which b was broadcast"),
        (
            (4, 1),
            "(4, 1) float32: the sum over axis 1, along which b was broadcast, with keepdims=",
        ),
    ],
)
def test_a_gradient_of_the_shape_of_a_broadcast_result(shape, told):
    @operator
    class plus_bias:
        def forward(x, b):
            return nd.broadcast_add(x, b)

        def dx(dy):
            return dy

        def db(dy):
            return dy

    class PlusBias(autograd.Function):
        def forward(self, x, b):
            return nd.broadcast_add(x, b)

        def backward(self, dy):
            return dy, dy

    for function, name in (plus_bias, "b"), (lambda x, b: PlusBias()(x, b), "input 1"):
        x, b = nd.ones((4, 3)), nd.ones(shape)
        b.attach_grad()
        with autograd.record():
            y = function(x, b)
        expected = told.replace("which b", f"which {name}")
        message = f"the gradient of {name} is (4, 3) float32\n  expected {expected}"
        with pytest.raises(ValueError, match=re.escape(message)):
            y.backward()


@pytest.mark.engine("torch")  # MXNet refuses it in words of its own
def test_a_message_has_types_and_shapes_and_not_elements():
    @operator
    class doubled:
        def forward(x):
            return x * 2

    many = nd.ones((4, 3)), nd.ones((2,))
    for function in doubled, lambda x: nd.Custom(x, op_type=doubled.name):
        with pytest.raises(
            TypeError, match=r"x is ndarray \(4, 3\)\n  expected an NDArray; nd.arr"
        ):
            function(np.ones((4, 3)))
        told = r"x is a tuple of NDArray \(4, 3\), NDArray \(2,\)\n  expected the arrays one by one"
        with pytest.raises(TypeError, match=told):
            function(many)
    with pytest.raises(TypeError, match=r"a head is a tuple of NDArray \(4, 3\), NDArray"):
        autograd.backward([many])


@pytest.mark.engine("torch")
def test_arrays_of_numpy():
    """They are refused, and the message says what makes an NDArray of the right dtype."""

    @operator
    class doubled:
        def forward(x, *, way: str = "right"):
            y = 2 * x.asnumpy()
            return {"plain": y, "float32": nd.array(y)}.get(way, nd.array(y, dtype=x.dtype))

        def dx(dy):
            return 2 * dy.asnumpy()

    x = nd.ones((2,), dtype="float16")
    how = r"nd.array\(..., dtype=x.dtype\)"
    with pytest.raises(
        TypeError, match=rf"output y is ndarray \(2,\)\n  expected an NDArray; {how}"
    ):
        doubled(x, way="plain")
    with pytest.raises(TypeError, match=f"float32 .*\n  expected float16 .*first input is.* {how}"):
        doubled(x, way="float32")
    x.attach_grad()
    with autograd.record():
        y = doubled(x)
    with pytest.raises(TypeError, match=rf"gradient of x is ndarray \(2,\)\n  .* NDArray; {how}"):
        y.backward()


@pytest.mark.engine("torch")
def test_a_parameter_of_unknown_shape_is_named():
    @operator
    class product:
        def forward(x, w):
            return x * w

    class Scale(gluon.HybridBlock):
        def __init__(self):
            super().__init__(prefix="scale_")
            self.weight = self.params.get("weight", allow_deferred_init=True)

        def hybrid_forward(self, F, x, weight):
            return product(x, weight)

    layer = Scale()
    layer.initialize()
    with pytest.raises(ValueError, match="shape of w is not known; w is Parameter 'scale_weight'"):
        layer(nd.ones((2,)))


def test_no_inputs():
    assert three().asnumpy().tolist() == [3, 3, 3]
    assert nd.Custom(op_type=three.name, size=2).asnumpy().tolist() == [3, 3]


def test_an_operator_is_pickled_by_its_place():
    from layers.ops import dense

    assert pickle.loads(pickle.dumps(dense)) is dense


def test_a_gradient_that_asks_for_nothing():
    @operator
    class with_constant_gradient:
        def forward(x, b):
            return x + b

        def dx(dy):
            return dy

        def db():
            return nd.ones((2,))

    x, b = nd.ones((2,)), nd.ones((2,))
    b.attach_grad()
    with autograd.record():
        y = with_constant_gradient(x, b)
    y.backward(nd.array([3, 4]))
    assert b.grad.asnumpy().tolist() == [1, 1]


def test_a_gradient_that_asks_for_all():
    @operator
    class power:
        def forward(x, *, n: int = 2):
            return x**n

        def dx(**known):
            assert list(known) == ["x", "n", "y", "dy"]
            return known["dy"] * known["n"] * known["y"] / known["x"]

        def shapes(**known):
            return {"y": known["x"]}

    x = nd.array([2.0])
    x.attach_grad()
    with autograd.record():
        y = power(x, n=3)
    y.backward()
    assert x.grad.asscalar() == 12 and power.needs == {"x": ("x", "n", "y", "dy")}


@operator
class shifted:
    """A state between two inputs: y = x b, m = m + 1."""

    states = ("m",)

    def forward(x, m, b, *, scale: float = 1):
        m[:] = m + 1
        return x * b * scale

    def dx(dy, b, scale):
        return dy * b * scale

    def db(dy, x, scale):
        return dy * x * scale

    def shapes(x):
        return {"y": x, "m": x, "b": x}


@pytest.mark.parametrize("hybridize", [False, True])
def test_a_state_before_an_input(hybridize):
    block = OperatorBlock(shifted, params=["b"], scale=0.5)
    block.initialize(mx.init.Constant(3))
    if hybridize:
        block.hybridize()
    x = nd.array([1.0, 2.0])
    for _ in range(2):
        with autograd.record():
            y = block(x)
        y.backward()
    assert y.asnumpy().tolist() == [1.5, 3] and block.b.grad().asnumpy().tolist() == [0.5, 1]
    assert block.m.data().asnumpy().tolist() == [2, 2]  # begins with zeros
    assert block.b.data().asnumpy().tolist() == [3, 3]


def test_a_state_is_given_last_by_name():
    x, b, m = nd.array([1.0]), nd.array([3.0]), nd.array([7.0])
    assert nd.Custom(x, b, m, op_type=shifted.name, scale="0.5").asnumpy().tolist() == [1.5]
    assert m.asnumpy().tolist() == [8]


@pytest.mark.engine("torch")
def test_a_backward_that_leaves_one_out():
    @operator
    class halves:
        def forward(x, w):
            return x * w

        def backward(dy, w):
            return {"x": dy * w}

    with pytest.raises(TypeError, match="backward gave no gradient of w\n.*expected those of x, w"):
        recorded(halves, [1.0], [2.0])[0].backward()


@pytest.mark.engine("torch")
def test_an_exception_in_shapes_has_a_note():
    @operator
    class short:
        def forward(x):
            return x * 1

        def shapes(x):
            return {"y": (x[7],)}

    with pytest.raises(IndexError) as caught:
        short(nd.ones((2, 3)))
    assert "in shapes of operator" in "".join(getattr(caught.value, "__notes__", caught.value.args))
    assert "x (2, 3)" in "".join(getattr(caught.value, "__notes__", caught.value.args))


@pytest.mark.engine("torch")  # whose message it is
def test_a_constant_in_a_graph_is_told():
    @operator
    class weighted:
        def forward(x, w):
            return x * w

    class Weighted(gluon.HybridBlock):
        def hybrid_forward(self, F, x):
            return weighted(x, nd.ones((2,)))

    block = Weighted()
    block.hybridize()
    with pytest.raises(TypeError, match=r"NDArray \(2,\)\n.*self.params.get_constant\("):
        block(nd.ones((2,)))


def test_an_unknown_shape_is_told():
    @operator
    class product:
        def forward(x, w):
            return nd.dot(x, w.T)

        def shapes(x, w):
            return {"y": (x[0], w[0])}

    with pytest.raises(TypeError) as caught:
        product.ask_shapes({"x": (2, 3), "w": None})
    told = "".join(getattr(caught.value, "__notes__", caught.value.args))
    assert re.search(r"in shapes of operator '.*product' \(x \(2, 3\), w unknown\)", told)


def times(factor):
    @operator
    class times:
        def forward(x):
            return x * factor

        def dx(dy):
            return dy * factor

        def shapes(x):
            return {"y": x}

    return times


def test_two_operators_of_one_name():
    two, three = times(2), times(3)
    for op, factor in ((two, 2), (three, 3), (two, 2)):
        y, (x,) = recorded(op, [1.0])
        y.backward()
        assert y.asnumpy().tolist() == x.grad.asnumpy().tolist() == [factor]


def test_operators_of_one_name_in_one_graph():
    double, triple = times(2), times(3)
    assert double.name == triple.name == f"{__name__}.times"
    net = gluon.nn.HybridLambda(lambda F, x: double(x) + 10 * triple(x))
    x = nd.ones((2,))
    for _ in range(2):
        assert net(x).asnumpy().tolist() == [32, 32]
        net.hybridize()
    assert nd.Custom(x, op_type=triple.name).asnumpy().tolist() == [3, 3]


@pytest.mark.engine("torch")
def test_a_file_does_not_take_one_operator_for_another():
    double = times(2)
    graph = double(mx.sym.var("x"))
    assert mx.sym.load_json(graph.tojson()).eval(x=nd.ones((1,)))[0].asscalar() == 2
    times(3)
    with pytest.raises(
        mx.base.MXNetError, match="another one has its name now\n  expected names o"
    ):
        graph.tojson()


def test_attributes_that_are_equal_and_differ():
    @operator(name="test_exact_attributes")
    class shown:
        def forward(x, *, t=(0,), a=0.0):
            value = 1.5 if isinstance(t[0], float) else 1.0
            return x * 0 + value * (-1 if str(a).startswith("-") else 1)

        def shapes(x):
            return {"y": x}

    x = nd.ones((1,))
    given = [{"t": (2,)}, {"t": (2.0,)}, {"a": 0.0}, {"a": -0.0}]
    assert [shown(x, **attributes).asscalar() for attributes in given] == [1, 1.5, 1, -1]


@pytest.mark.engine("torch")  # MXNet writes it to its log
def test_another_operator_of_a_name_warns_with_the_line_of_the_program():
    def define(name):
        class definition:
            def forward(x):
                return x

        definition.__name__ = definition.__qualname__ = name
        return operator(name="test_operator.taken")(definition)

    define("first")
    with pytest.warns(
        UserWarning, match="taken' of .*test_operator is replaced by .*second"
    ) as told:
        define("second")
    assert told[0].filename == __file__


def test_what_is_no_class():
    with pytest.raises(
        TypeError, match="given 'mine' in .*\n  expected @operator.name='mine'. above"
    ):
        operator("mine")
    with pytest.raises(TypeError, match="expected a class with forward; layers.ops.customop makes"):
        operator(lambda x: x)


def test_a_class_whose_forward_is_misspelt():
    with pytest.raises(
        TypeError, match="misspelt'>: it has forwrad\n  expected a class with forward"
    ):

        @operator
        class misspelt:
            def forwrad(x):
                return x


@pytest.mark.engine("torch")
def test_what_is_not_recorded_goes_no_way_through_autograd(monkeypatch):
    """Also where PyTorch's own grad mode is on, as it is outside of `record`."""
    import torch

    from layers.mxnet import _differentiable

    @operator
    class twice:
        """y = 2 x"""

        def forward(x):
            return x * 2

        def dx(dy):
            return dy * 2

    monkeypatch.setattr(_differentiable, "apply_plainly", None)
    with torch.enable_grad():
        assert twice(nd.ones((2,))).asnumpy().tolist() == [2, 2]
        assert torch.is_grad_enabled()


@pytest.mark.engine("torch")
def test_an_error_of_a_function_inside_names_its_inputs():
    @operator
    class product:
        def forward(x, w):
            return nd.FullyConnected(x, w, no_bias=True, num_hidden=3)

    with pytest.raises(ValueError, match="weight is") as raised:
        product(nd.ones((2, 3)), nd.ones((4, 3)))
    (note, *_) = raised.value.__notes__
    assert note.startswith(
        "  in FullyConnected(data (2, 3) float32, weight (4, 3) float32, no_bias"
    )


def refused(call):
    with pytest.raises(mx.base.MXNetError) as caught:
        call()
    return caught.value


def test_a_wrong_call_is_an_error_of_mxnet_and_of_python():
    class scaled_class:
        def forward(x, *, by=2.0):
            return x * by

        def dx(dy, by):
            return dy * by

    scaled = operator(scaled_class)

    def by_name(**attributes):
        return OperatorBlock(scaled.name, **attributes)

    x = nd.ones(2)
    for call, message in [
        (lambda: scaled(), "x is missing"),
        (lambda: scaled(x, x), "2 inputs"),
        (lambda: scaled(x, to=1), "unexpected argument 'to'"),
        (lambda: scaled(x, by="much"), "by is 'much'"),
        (lambda: by_name(by="much"), "by is 'much'"),
        (lambda: operator(type("one", (), {"forward": 1})), "forward is 1 (int)"),
        (lambda: operator(type("one", (scaled_class,), {"dx": 1})), "dx is 1 (int)"),
    ]:
        error = refused(call)
        assert isinstance(error, TypeError) and message in str(error)
    error = refused(lambda: OperatorBlock("test_no_such_operator"))
    assert isinstance(error, ValueError) and "no operator is registered" in str(error)


@pytest.mark.engine("torch")
@pytest.mark.parametrize("profiled", ["forward", "backward"])
def test_a_profiler_may_begin_and_end_between_forward_and_backward(profiled, monkeypatch):
    from layers.mxnet._state import State

    @operator
    class cubed:
        def forward(x):
            return x * x * x

        def dx(dy, x):
            return dy * 3 * x * x

    x = nd.array([2.0, 3.0])
    x.attach_grad()
    seen = []
    profile = staticmethod(lambda category, name, function: seen.append(name) or function)
    with monkeypatch.context() as patch:
        if profiled == "forward":
            patch.setattr(State, "profile", profile)
        with autograd.record():
            y = cubed(x)
    if profiled == "backward":
        monkeypatch.setattr(State, "profile", profile)
    y.backward()
    assert x.grad.asnumpy().tolist() == [12, 27]
    assert any("cubed" in name for name in seen)
