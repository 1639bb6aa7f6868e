"""Custom operators inside `torch.func`'s transforms: right, or an error, and never zero."""

import contextlib

import pytest

from layers import operator
from layers.engine import autograd, gluon, mx, nd
from layers.ops import Custom, customop

torch = pytest.importorskip("torch", reason="torch.func is PyTorch's")
forward_mode = pytest.importorskip("torch.autograd.forward_ad")
errors = pytest.importorskip("layers.mxnet.base")
RecordingError, UnsupportedError = errors.RecordingError, errors.UnsupportedError

# PyTorch's forward mode compiles its formulas in a way that it deprecates itself.
pytestmark = [
    pytest.mark.engine("torch"),
    pytest.mark.filterwarnings("ignore:.torch.jit.script.*:DeprecationWarning"),
]

X = torch.tensor([[1.0, 2.0], [-3.0, 0.5], [2.0, 4.0]])


@operator(name="tests.transforms.cube")
class cube:
    def forward(x):
        return x * x * x

    def dx(dy, x):
        return dy * 3 * x * x

    def shapes(x):
        return {"y": x}


@operator(name="tests.transforms.cube_that_saves")
class cube_that_saves:
    saves = ("square",)

    def forward(x):
        return x * x * x, x * x

    def dx(dy, x, square):
        return dy * 3 * square

    def shapes(x):
        return {"y": x}


@customop("numpy")
def cube_in_numpy(x):
    return x**3


cube_in_numpy.def_grad(lambda ans, x: lambda g: 3 * g * x * x)


def cube_bprop(x, y, dy):
    return (nd.array(3 * x.asnumpy() ** 2) * dy,)


cube_by_bprop = Custom(lambda x: x**3, lambda x: x, lambda x: x, "pyfunc", bprop=cube_bprop)


class CubeOp(mx.operator.CustomOp):
    def forward(self, is_train, req, in_data, out_data, aux):
        self.assign(out_data[0], req[0], in_data[0] ** 3)

    def backward(self, req, out_grad, in_data, out_data, in_grad, aux):
        self.assign(in_grad[0], req[0], 3 * out_grad[0] * in_data[0] ** 2)


@mx.operator.register("tests_transforms_cube")
class CubeProp(mx.operator.CustomOpProp):
    def create_operator(self, ctx, shapes, dtypes):
        return CubeOp()


OPERATORS = {
    "nd": cube,
    "saves": cube_that_saves,
    "numpy": cube_in_numpy,
    "bprop": cube_by_bprop,
    "prop": lambda x: mx.sym.Custom(x, op_type="tests_transforms_cube"),
}
TWICE = "nd", "saves"


def module(name, hybrid=True):
    if hybrid:
        net = gluon.nn.HybridLambda(lambda F, x: OPERATORS[name](x))
        net.hybridize()
        return net.to_torch()
    return gluon.nn.Lambda(lambda x: OPERATORS[name](x)).to_torch()


def total(f):
    return lambda *args: f(*args).sum()


every = pytest.mark.parametrize("name", OPERATORS)


@every
def test_gradients(name):
    f, x = module(name), X[0]
    expected = 3 * x**2
    torch.testing.assert_close(torch.func.grad(total(f))(x), expected)
    torch.testing.assert_close(torch.func.vjp(f, x)[1](X[1])[0], expected * X[1])
    torch.testing.assert_close(torch.func.jacrev(f)(x), expected.diag())


@pytest.mark.parametrize("name", ["nd", "numpy"])
def test_a_block_without_a_graph(name):
    f = module(name, hybrid=False)
    torch.testing.assert_close(torch.func.grad(total(f))(X[0]), 3 * X[0] ** 2)


@every
def test_batches(name):
    f = module(name)
    torch.testing.assert_close(torch.vmap(f)(X), X**3)
    torch.testing.assert_close(torch.vmap(torch.func.grad(total(f)))(X), 3 * X**2)
    torch.testing.assert_close(torch.func.grad(total(torch.vmap(f)))(X), 3 * X**2)


@every
def test_twice(name):
    f, x = module(name), X[0]

    def second():
        return torch.func.grad(total(torch.func.grad(total(f))))(x)

    if name in TWICE:
        torch.testing.assert_close(second(), 6 * x)
    else:
        with pytest.raises(RecordingError, match="no second derivative"):
            second()


@every
def test_inside_autograd(name):
    """The gradient of `torch.func.grad` by a parameter, as physics-informed nets take it."""
    f, w = module(name), torch.tensor([1.0, 2.0], requires_grad=True)

    def penalty():
        torch.func.grad(lambda x: f(x * w).sum())(X[0]).sum().backward()
        return w.grad

    if name in TWICE:
        torch.testing.assert_close(penalty(), 9 * X[0] ** 2 * w.detach() ** 2)
    else:
        with pytest.raises(RecordingError, match="no second derivative"):
            penalty()


def dual(f, x):
    with forward_mode.dual_level():
        return forward_mode.unpack_dual(f(forward_mode.make_dual(x, torch.ones_like(x))))


@every
@pytest.mark.parametrize("grad_mode", [contextlib.nullcontext, torch.no_grad])
def test_forward_mode_is_refused(name, grad_mode):
    f, x = module(name), X[0]
    with grad_mode():
        for call in (
            lambda: torch.func.jvp(f, (x,), (x,)),
            lambda: torch.func.jacfwd(f)(x),
            lambda: torch.func.hessian(total(f))(x),
            lambda: dual(f, x),
        ):
            with pytest.raises(UnsupportedError, match=r"forward mode .*\n  expected torch.func.g"):
                call()


def test_values_of_a_batch_are_refused_without_gradients():
    with torch.no_grad():
        torch.testing.assert_close(torch.vmap(module("nd"))(X), X**3)
        with pytest.raises(UnsupportedError, match=r"asnumpy\(\) inside torch.vmap"):
            torch.vmap(module("numpy"))(X)


@pytest.mark.parametrize(
    "transform",
    [
        lambda f: torch.func.grad(total(f))(X[0]),
        lambda f: torch.func.jvp(f, (X[0],), (X[0],)),
        lambda f: torch.func.vjp(f, X[0]),
        lambda f: torch.func.jacrev(f)(X[0]),
        lambda f: torch.func.jacfwd(f)(X[0]),
        lambda f: torch.func.grad(total(torch.vmap(f)))(X),
        lambda f: torch.vmap(torch.func.grad(total(f)))(X),
        lambda f: dual(f, X[0]),
    ],
    ids=["grad", "jvp", "vjp", "jacrev", "jacfwd", "grad of vmap", "vmap of grad", "dual"],
)
@pytest.mark.parametrize("function", [cube, nd.square], ids=["operator", "nd"])
def test_from_torch_is_refused(transform, function):
    with pytest.raises(RecordingError, match=r"from_torch: .*differentiates\n  expected net.to_t"):
        transform(lambda t: function(nd.from_torch(t)).to_torch())


def test_from_torch_takes_what_is_not_differentiated():
    constant = torch.ones(2)

    def f(t):
        return t * cube(nd.from_torch(constant) * 2).to_torch()

    torch.testing.assert_close(torch.func.grad(total(f))(X[0]), torch.full((2,), 8.0))
    found = torch.vmap(lambda t: cube(nd.from_torch(t)).to_torch())(X)
    torch.testing.assert_close(found, X**3)
    x = nd.array([1.0, 2.0])
    x.attach_grad()
    with autograd.record():
        y = cube(x)
    y.backward()
    assert x.grad.asnumpy().tolist() == [3, 12]


def test_numpy_in_a_net_with_parameters():
    @customop("numpy")
    def square(x):
        return x * x

    square.def_grad(lambda ans, x: lambda g: 2 * x * g)
    net = gluon.nn.HybridSequential()
    net.add(gluon.nn.HybridLambda(lambda F, x: square(x)), gluon.nn.Dense(1, in_units=2))
    net.initialize()
    net(nd.ones((1, 2)))
    module = net.to_torch()
    x = torch.tensor([[1.0, 2.0]])
    given = x.clone().requires_grad_()
    module(given).sum().backward()
    function = torch.func.grad(lambda x: module(x).sum())
    assert torch.allclose(function(x), given.grad)
    with pytest.raises(mx.base.MXNetError, match="no second derivative"):
        torch.func.grad(lambda x: function(x).sum())(x)


@pytest.mark.parametrize(
    "constant",
    [
        lambda F, x: F.floor(x),
        lambda F, x: F.zeros_like(x),
        lambda F, x: F.broadcast_mul(F.argmax(x, axis=0, keepdims=True), F.ones_like(x)),
        lambda F, x: F.BlockGrad(x) * 0,
    ],
)
def test_a_part_of_a_net_that_is_constant(constant):
    class Cubed(gluon.HybridBlock):
        def hybrid_forward(self, F, x):
            return constant(F, x) + x * x * x

    net = Cubed()
    net.hybridize()
    net(nd.ones((2,)))
    module = net.to_torch()
    x = torch.tensor([1.5, -2.0])
    torch.testing.assert_close(torch.func.grad(total(module))(x), 3 * x**2)
    torch.testing.assert_close(torch.func.grad(total(torch.func.grad(total(module))))(x), 6 * x)
    many = torch.vmap(torch.func.grad(total(module)))(torch.stack([x, 2 * x]))
    torch.testing.assert_close(many, torch.stack([3 * x**2, 12 * x**2]))


@pytest.mark.parametrize("name", TWICE)
def test_all_second_derivatives(name):
    found = torch.func.jacrev(torch.func.jacrev(module(name)))(X[0])
    torch.testing.assert_close(found, torch.diag_embed(torch.diag(6 * X[0])))
