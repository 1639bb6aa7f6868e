"""Settings of PyTorch that a graph depends on: a graph made under one is not run under another."""

import os

import pytest
from repeated import as_slow

from layers import compiled_step
from layers.engine import autograd, gluon, mx, nd
from layers.ops import customop

pytestmark = pytest.mark.engine("torch")
torch = pytest.importorskip("torch") if os.environ.get("LAYERS_ENGINE") == "torch" else None
RECORDED = {"static_alloc": True, "static_shape": True}


def read(name):
    """A number for a setting, as the code of an operator may read it."""
    return {
        "default dtype": lambda: torch.finfo(torch.get_default_dtype()).bits,
        "deterministic": lambda: 1 + torch.are_deterministic_algorithms_enabled(),
        "threads": lambda: torch.get_num_threads(),
        "inference": lambda: 1 + torch.is_inference_mode_enabled(),
        "precision": lambda: len(torch.get_float32_matmul_precision()),
        "autocast": lambda: 1 + torch.is_autocast_enabled("cpu"),
        "warn only": lambda: 1 + torch.is_deterministic_algorithms_warn_only_enabled(),
        "convolutions": lambda: 1 + (torch.backends.mkldnn.conv.fp32_precision == "bf16"),
        "device": lambda: 1 + (torch.get_default_device().type == "meta"),
    }[name]


@pytest.fixture(autouse=True)
def _nondeterministic():
    yield
    torch.set_deterministic_debug_mode("default")


def set_precision_of_convolutions(precision):
    torch.backends.mkldnn.conv.fp32_precision = precision


def switched(name):
    """Two functions: they throw the switch, and throw it back."""
    if name in ("inference", "autocast"):
        mode = torch.inference_mode() if name == "inference" else torch.autocast("cpu")
        return mode.__enter__, lambda: mode.__exit__(None, None, None)
    setter, there, back = {
        "default dtype": (torch.set_default_dtype, torch.float64, torch.float32),
        "deterministic": (torch.use_deterministic_algorithms, True, False),
        "threads": (torch.set_num_threads, 3, torch.get_num_threads()),
        "warn only": (torch.set_deterministic_debug_mode, "warn", "error"),
        "convolutions": (set_precision_of_convolutions, "bf16", "none"),
        "device": (torch.set_default_device, "meta", None),
        "precision": (torch.set_float32_matmul_precision, "medium", "highest"),
    }[name]
    return lambda: setter(there), lambda: setter(back)


NAMES = [
    "default dtype", "deterministic", "threads", "inference", "precision", "autocast", "warn only",
    "convolutions", "device",
]  # fmt: skip


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("how", [RECORDED, {"backend": "aot_eager"}], ids=["recorded", "compiled"])
@pytest.mark.parametrize("starts_switched", [False, True])
def test_a_setting_that_an_operator_reads(name, how, starts_switched):
    number = read(name)

    @customop("torch")
    def scaled(x):
        return x * number()

    scaled.def_grad(lambda ans, x: lambda g: g * number())
    net = gluon.nn.HybridLambda(lambda F, x: scaled(x))
    net.hybridize(**how)
    on, off = switched(name)
    for is_switched in (starts_switched, not starts_switched, starts_switched):
        if is_switched:
            on()
        try:
            expected = [number()] * 2
            for _ in range(3):
                assert net(nd.ones((2,))).asnumpy().tolist() == expected
        finally:
            if is_switched:
                off()


@pytest.mark.parametrize(
    "how", [RECORDED, {"backend": "aot_eager"}, as_slow({"backend": "inductor"})], ids=str
)
@pytest.mark.parametrize("starts_switched", [False, True])
def test_autocast(how, starts_switched):
    @customop("torch")
    def square(x):
        return x * x

    square.def_grad(lambda ans, x: lambda g: 2 * x * g)
    net = gluon.nn.HybridSequential()
    net.add(gluon.nn.Dense(8, in_units=8), gluon.nn.HybridLambda(lambda F, x: square(x)))
    net.initialize(mx.init.Xavier())
    x = nd.random.uniform(shape=(4, 8))
    with torch.autocast("cpu", torch.bfloat16):
        assert net(x)._tensor.dtype is torch.bfloat16  # operator by operator
    net.hybridize(**how)
    for is_switched in (starts_switched, not starts_switched, starts_switched):
        for _ in range(3):
            with torch.autocast("cpu", torch.bfloat16, enabled=is_switched), autograd.record():
                y = net(x)
            y.backward()
            assert (y._tensor.dtype is torch.bfloat16) == is_switched


class Squares(gluon.HybridBlock):
    def hybrid_forward(self, F, y, label):
        return F.sum(F.square(F.cast(y, "float32") - label), axis=1)


@pytest.mark.parametrize("backend", ["aot_eager", as_slow("inductor")])
def test_autocast_in_a_step(backend):
    net = gluon.nn.Dense(8, in_units=8)
    net.initialize(mx.init.One())
    trainer = gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 0.0})
    step = compiled_step(net, Squares(), trainer, backend=backend)
    x, label, losses = nd.full((4, 8), 0.3), nd.zeros((4, 8)), []
    for is_switched in (False, False, True, True, False):
        with torch.autocast("cpu", torch.bfloat16, enabled=is_switched):
            eager = Squares()(net(x), label)
            losses.append(step(x, label).asnumpy()[0])
            assert losses[-1] == pytest.approx(eager.asnumpy()[0], rel=1e-6)
    assert losses[0] == losses[4] != losses[2]
