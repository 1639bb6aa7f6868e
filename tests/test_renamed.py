"""Arguments in their former order and by former names: they mean what they meant, and warn."""

import inspect
import re
import warnings
from contextlib import contextmanager
from functools import partial

import numpy as np
import pytest

import layers
from layers import nets, ops
from layers._renamed import formerly
from layers.check import check_operator
from layers.engine import gluon, mx, nd

FORMER = {
    "DenseBlock(3, 5, False, 'relu')": "DenseBlock(3, 5, False, activation='relu')",
    "SwishBlock(1.5)": "SwishBlock(beta=1.5)",
    "GELUBlock(True)": "GELUBlock(approximate=True)",
    "LayerNormBlock(6, 0.5, False)": "LayerNormBlock(6, epsilon=0.5, center=False)",
    "RMSNormBlock(6, 0.5)": "RMSNormBlock(6, epsilon=0.5)",
    "GroupNormBlock(2)": "GroupNormBlock(num_groups=2)",
    "GroupNormBlock(2, 6, 0.5)": "GroupNormBlock(in_channels=6, num_groups=2, epsilon=0.5)",
    "GroupNormBlock(2, in_channels=6)": "GroupNormBlock(in_channels=6, num_groups=2)",
    "MultiHeadAttention(8, 2)": "MultiHeadAttention(0, 8, num_heads=2)",
    "MultiHeadAttention(8, 2, 6, True, prefix='a_')": (
        "MultiHeadAttention(6, 8, num_heads=2, causal=True, prefix='a_')"
    ),
    "MultiHeadAttention(units=8, heads=2)": "MultiHeadAttention(0, 8, num_heads=2)",
    "MultiHeadAttention(8, heads=2)": "MultiHeadAttention(0, 8, num_heads=2)",
    "ScaledDotProductAttention(True)": "ScaledDotProductAttention(causal=True)",
    "EmbeddingBag(7, 4, 'mean')": "EmbeddingBag(7, 4, mode='mean')",
    "SwiGLU(3, 4, 5, True)": "SwiGLU(3, 4, 5, bias=True)",
    "GeGLU(3, 4, 5, False, None, 'float32', True)": (
        "GeGLU(3, 4, 5, bias=False, weight_initializer=None, dtype='float32', approximate=True)"
    ),
    "RotaryBlock(3)": "RotaryBlock(offset=3)",
    "LSQBlock(4, False)": "LSQBlock(bits=4, signed=False)",
    "GradientScaleBlock(0.5)": "GradientScaleBlock(scale=0.5)",
    "GradientReversalBlock(0.5)": "GradientReversalBlock(scale=0.5)",
    "GradientClipBlock(1.0, 2.0)": "GradientClipBlock(value=1.0, norm=2.0)",
    "SoftmaxLoss(2.0, 0, False)": "SoftmaxLoss(weight=2.0, batch_axis=0, sparse_label=False)",
    "SigmoidLoss(2.0, 1)": "SigmoidLoss(weight=2.0, batch_axis=1)",
    "FocalLoss(0, 0.5, 2.0)": "FocalLoss(weight=2.0, gamma=0, alpha=0.5)",
    "HuberLoss(0.5)": "HuberLoss(rho=0.5)",
    "CTCLoss('TNC', 'TN')": "CTCLoss(layout='TNC', label_layout='TN')",
    "LinearCrossEntropyLoss(3, 4, False, 2.0)": (
        "LinearCrossEntropyLoss(3, 4, weight=2.0, bias=False)"
    ),
    "ContrastiveLoss(3)": "ContrastiveLoss(margin=3)",
    "TripletLoss(3, 2.0)": "TripletLoss(weight=2.0, margin=3)",
    "InfoNCELoss(0.5, False)": "InfoNCELoss(temperature=0.5, normalize=False)",
    "OperatorBlock('layers.relu', (), 'r_')": "OperatorBlock('layers.relu', (), prefix='r_')",
    "mlp(4, hidden=(3,), outputs=2)": "mlp(4, (3,), 2)",
    "mlp(inputs=4)": "mlp(4)",
    "mixer((1, 4, 4), outputs=3, units=8)": "mixer((1, 4, 4), 3, hidden_channels=8)",
    "vit((1, 4, 4), units=8, heads=2)": "vit((1, 4, 4), hidden_channels=8, num_heads=2)",
    "ssd_lite((1, 8, 8), 3, units=8)": "ssd_lite((1, 8, 8), 3, hidden_channels=8)",
}
NAMES = {name: getattr(layers, name) for name in layers.__all__}
NAMES |= {name: getattr(nets, name) for name in nets.__all__}


def described(block):
    """What a block is: of its parameters the names and shapes, and the values of attributes."""
    parameters = [(n.split("_", 1)[-1], p.shape) for n, p in block.collect_params().items()]
    own = {n: v for n, v in vars(block).items() if isinstance(v, (int, float, str, tuple, dict))}
    for name in ("_prefix", "_name", "_params", "_empty_prefix"):
        own.pop(name, None)
    plain = {n: v for n, v in own.items() if "object at" not in str(v) and "Block" not in str(v)}
    return re.sub(r"\d+_", "_", f"{block!r} {parameters} {plain}")


@pytest.mark.parametrize("before, now", FORMER.items(), ids=list(FORMER))
def test_a_former_call_means_what_it_meant(before, now):
    with pytest.warns(DeprecationWarning) as caught:
        found = eval(before, NAMES)
    assert len(caught) == 1
    assert str(caught[0].message) == f"{before} is deprecated\n  write {now}"
    assert caught[0].filename == "<string>"  # of the program
    assert described(found) == described(eval(now, NAMES))  # without a warning


@pytest.mark.parametrize(
    "call",
    [
        "GroupNormBlock(2, 6, num_groups=3)",
        "MultiHeadAttention(0, 8, heads=2)",  # the second was heads before, and is channels now
        "MultiHeadAttention(8, 2, num_heads=2, heads=2)",
        "mlp(4, (3,), hidden=(3,))",
        "SwishBlock(1.5, 2)",
        "DenseBlock(64)",
        "HuberLoss(0.5, rho=2)",
    ],
)
def test_what_fits_neither_is_an_error(call):
    with pytest.raises(TypeError), warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        eval(call, NAMES)
    assert not caught


def test_gated_units_without_bias_warn():
    for kind in (layers.SwiGLU, partial(layers.GeGLU, approximate=True)):
        with pytest.warns(DeprecationWarning, match=r"GLU: bias .*\n  write bias=False") as caught:
            block = kind(3, 4, 5)
        assert caught[0].filename == __file__
        assert not [name for name in block.collect_params() if name.endswith("bias")]
    assert len(list(layers.SwiGLU(3, 4, 5, bias=np.bool_(True)).collect_params())) == 6


def test_the_signature_is_the_new_one():
    names = [*inspect.signature(layers.MultiHeadAttention).parameters]
    assert names[:3] == ["in_channels", "channels", "num_heads"]
    assert layers.MultiHeadAttention.__init__.__doc__ is None


def test_a_function_of_ones_own():
    @formerly("b a", c="d")
    def f(a, b=2, *, d=0):
        return a, b, d

    assert f(1) == (1, 2, 0) and f(1, 3, d=4) == (1, 3, 4)
    with pytest.warns(DeprecationWarning, match=r"f\(3, 1, c=4\) .*\n  write f\(1, 3, d=4\)"):
        assert f(3, 1, c=4) == (1, 3, 4)


def test_sizes_come_first_and_options_by_name():
    """One order in all blocks and nets: sizes, or what they are made of; then names alone."""
    sizes = ["in_channels", "hidden_channels", "channels", "input_dim", "output_dim"]
    objects = ["op", "params", "block", "image", "classes", "net", "loss", "trainer"]
    gluons = ["prefix", "params"]  # where a block has no arguments of its own
    others = ("kernels", "nets", "operator", "optimizer_state", "restore_optimizer_state")
    public = {n: getattr(layers, n) for n in layers.__all__ if n not in others}
    public |= {name: getattr(nets, name) for name in nets.__all__}
    public.pop("Operator")
    for name, it in public.items():
        by_position = [
            p.name
            for p in inspect.signature(it).parameters.values()
            if p.kind is p.POSITIONAL_OR_KEYWORD
        ]
        if name == "DenseBlock":  # a constant bias comes third in MXNet's tutorial
            assert by_position.pop() == "bias"
        assert by_position in (
            [s for s in sizes if s in by_position],
            [o for o in objects if o in by_position],
            ["image", "channels"],
            gluons,
        ), name


def test_one_word_and_one_default():
    other = {
        "eps", "use_bias", "units", "in_units", "heads", "groups", "hidden", "inputs", "outputs"
    }  # fmt: skip
    makers = [getattr(layers, name) for name in layers.__all__ if name not in ("nets", "Operator")]
    for it in [*makers, *(getattr(nets, name) for name in nets.__all__)]:
        parameters = inspect.signature(it).parameters
        assert not other & {*parameters}, it
        if "bias" in parameters and it not in (layers.SwiGLU, layers.GeGLU):  # they warn
            assert parameters["bias"].default is True, it
        if isinstance(it, type) and issubclass(it, gluon.loss.Loss):
            options = [n for n, p in parameters.items() if p.kind is p.KEYWORD_ONLY]
            first = ["weight"] if it is layers.CTCLoss else ["weight", "batch_axis"]
            assert options[: len(first)] == first, it


def test_softmax_is_softmax_output():
    with pytest.warns(DeprecationWarning, match=r"ops.softmax is .*\n  write layers.ops.softmax_o"):
        found = ops.softmax
    assert found is ops.softmax_output and "softmax" not in ops.__all__
    assert found.name == "layers.softmax_output"
    with pytest.warns(DeprecationWarning) as caught:
        from layers.ops import softmax
    assert softmax is found and {each.filename for each in caught} == {__file__}


def test_a_graph_of_before_has_layers_softmax(tmp_path):
    """The name stays registered: files outlive releases."""
    x, label = mx.sym.Variable("x"), mx.sym.Variable("label")
    mx.sym.Custom(x, label, op_type="layers.softmax_output", name="y").save(str(tmp_path / "now"))
    text = (tmp_path / "now").read_text()
    assert text.count("layers.softmax_output") == 1
    (tmp_path / "before").write_text(text.replace("layers.softmax_output", "layers.softmax"))
    results = []
    for file in ("before", "now"):
        inputs = {
            "x": nd.array([[1.0, 2.0, 4.0], [0.0, 1.0, -1.0]]),
            "label": nd.array([2, 0]),
        }
        gradient = nd.zeros((2, 3))
        bound = mx.sym.load(str(tmp_path / file)).bind(mx.cpu(), inputs, {"x": gradient})
        y = bound.forward(is_train=True)[0].asnumpy()
        bound.backward()
        results.append((y, gradient.asnumpy()))
    for before, now in zip(*results):
        np.testing.assert_array_equal(before, now)
    assert np.abs(results[0][1]).sum() > 0


def test_block_ends_the_name_of_a_layer_of_one_operator_on_one_array():
    of_several = {"EmbeddingBag", "MultiHeadAttention", "ScaledDotProductAttention"}
    made_of_layers = {"GeGLU", "Remat", "SwiGLU"}
    public = {name: getattr(layers, name) for name in layers.__all__ if name != "nets"}
    blocks = {
        n: it for n, it in public.items() if isinstance(it, type) and gluon.Block in it.__mro__
    }
    for name, kind in blocks.items():
        suffix = "Loss" if gluon.loss.Loss in kind.__mro__ else "Block"
        assert name.endswith(suffix) is (name not in of_several | made_of_layers), name


@contextmanager
def deprecations():
    """The warnings of this library; Apache MXNet has some of its own at first calls."""
    caught = []
    with warnings.catch_warnings(record=True) as all_of_them:
        warnings.simplefilter("always")
        yield caught
    caught += [w for w in all_of_them if "is deprecated\n  write" in str(w.message)]


def normalized(call, **attributes):
    x, gamma, beta = nd.array([[[1, 2], [4, 8]]]), nd.ones((2,)), nd.zeros((2,))
    return call(x, gamma, beta, **attributes).asnumpy()


def by_operator(x, gamma, beta, **attributes):
    return ops.group_norm(x, gamma, beta, **attributes)


def by_block(x, gamma, beta, **attributes):
    return layers.OperatorBlock(ops.group_norm, **attributes)(x, gamma, beta)


def by_block_of_a_name(x, gamma, beta, **attributes):
    return layers.OperatorBlock("layers.group_norm", **attributes)(x, gamma, beta)


def by_name(x, gamma, beta, **attributes):
    return nd.Custom(x, gamma, beta, op_type="layers.group_norm", **attributes)


def in_a_graph(x, gamma, beta, **attributes):
    node = ops.group_norm(*map(mx.sym.var, "xgb"), **attributes)
    return node.eval(x=x, g=gamma, b=beta)[0]


def in_a_file(x, gamma, beta, **attributes):
    text = ops.group_norm(*map(mx.sym.var, "xgb"), num_groups=2, epsilon=0.5).tojson()
    for name, other in zip(("num_groups", "epsilon"), attributes):
        text = text.replace(f'"{name}"', f'"{other}"')
    return mx.sym.load_json(text).eval(x=x, g=gamma, b=beta)[0]


CALLS = [by_operator, by_block, by_block_of_a_name, by_name, in_a_graph, in_a_file]


@pytest.mark.parametrize("call", CALLS)
def test_a_former_attribute_of_an_operator(call):
    with deprecations() as caught:
        expected = normalized(call, num_groups=2, epsilon=0.5)
    assert not caught
    with deprecations() as caught:
        found = normalized(call, groups=2, eps=0.5)
    np.testing.assert_array_equal(found, expected)
    assert {str(w.message) for w in caught} == {
        "operator 'layers.group_norm': groups=2 is deprecated\n  write num_groups=2",
        "operator 'layers.group_norm': eps=0.5 is deprecated\n  write epsilon=0.5",
    }


def test_the_warning_is_of_the_line_that_calls_an_operator():
    with deprecations() as caught:
        normalized(by_operator, eps=0.5)
    assert [w.filename for w in caught] == [__file__]


@pytest.mark.parametrize("operator", [ops.layer_norm, ops.rms_norm])
def test_former_attributes_of_the_other_norms(operator):
    arrays = [nd.array([[1, 2]]), nd.ones((2,)), nd.ones((2,))][: len(operator.inputs)]
    with deprecations() as caught:
        found = operator(*arrays, eps=0.5)
    assert len(caught) == 1
    np.testing.assert_array_equal(found.asnumpy(), operator(*arrays, epsilon=0.5).asnumpy())


def test_the_checker_takes_a_former_attribute():
    with deprecations() as caught:
        report = check_operator(ops.rms_norm, (2, 3), (3,), compiled=False, eps=0.5)
    assert len(caught) == 1 and report.passed and "epsilon=0.5" in report.title


def test_an_attribute_by_both_names():
    told = "operator 'layers.rms_norm': epsilon is given twice, once as eps\n  expected rms_norm"
    with pytest.raises(TypeError, match=re.escape(told)):
        ops.rms_norm(nd.ones((2, 3)), nd.ones((3,)), eps=0.5, epsilon=0.5)


@pytest.mark.parametrize("renamed", [{"a": "c"}, {"x": "b"}, {"b": "b"}])
def test_what_an_operator_cannot_rename(renamed):
    parts = {"forward": lambda x, *, b=1: x, "renamed": renamed}
    with pytest.raises(TypeError, match="renamed has .*\n  expected a former name"):
        ops.operator(type("wrong", (), parts))


@pytest.mark.parametrize("call", [by_name, in_a_file])
@pytest.mark.parametrize("given", ["epsilom", "no_gamma"])
def test_an_unknown_attribute_of_a_node(call, given, capfd):
    """On Apache MXNet the message is printed, and another error raised."""
    with pytest.raises(mx.MXNetError) as error:
        normalized(call, **{given: 0.5})
    told = str(error.value) + "".join(capfd.readouterr())
    assert f"operator 'layers.group_norm': it has no attribute '{given}'\n" in told
    assert ("did you mean 'epsilon'?" in told) is (given == "epsilom")
    assert "expected group_norm(x, gamma, beta, *, num_groups=1, epsilon=1e-05)" in told


@pytest.mark.parametrize("call", [by_operator, in_a_graph])
def test_an_unknown_attribute_of_a_call(call):
    with pytest.raises(TypeError, match="unexpected argument 'epsilom'\n  did you mean 'epsilon'"):
        normalized(call, epsilom=0.5)
