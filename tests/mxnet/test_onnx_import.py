"""ONNX files as graphs: each operator as onnx computes it, a network there and back, bad files."""

import sys
from itertools import product

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="layers.mxnet is MXNet's API on PyTorch")
onnx = pytest.importorskip("onnx", reason="it reads the files")

from hostile.judge import Memory  # noqa: E402 - torch first
from onnx import TensorProto, helper, numpy_helper  # noqa: E402 - absent in some environments
from onnx.reference import ReferenceEvaluator  # noqa: E402 - absent in some environments

import layers.mxnet as mx  # noqa: E402 - torch first
from layers import DenseBlock, SparsemaxBlock, nets  # noqa: E402 - torch first
from layers.mxnet.base import MXNetError, UnsupportedError  # noqa: E402 - torch first
from layers.mxnet.contrib.onnx import (  # noqa: E402 - torch first
    get_model_metadata,
    import_model,
    import_to_gluon,
)
from layers.mxnet.gluon import nn  # noqa: E402 - torch first

pytestmark = pytest.mark.engine("torch")

RANDOM = np.random.RandomState(0)


def numbers(*shape):
    return RANDOM.uniform(-2, 2, shape).astype("float32")


def positive(*shape):
    return np.abs(numbers(*shape)) + 0.1


def ints(*values):
    return np.array(values, "int64")


def single(value):
    return np.array(value, "float32")


class Known:
    """An array that the file holds, where others are inputs."""

    def __init__(self, value):
        self.value = np.asarray(value)


X, IMAGE = numbers(2, 3, 4), numbers(2, 4, 7, 6)
CHANNELS = [Known(positive(4)) for _ in range(4)]
W, W1, WT = Known(numbers(6, 4, 3, 3)), Known(numbers(6, 2, 3)), Known(numbers(4, 3, 3, 3))
UNARY = (
    "Relu Sigmoid Tanh Softsign Softplus Identity Neg Abs Exp Floor Ceil Sign Erf Sin Cos Tan "
    "Atan Sinh Cosh LeakyRelu Elu Selu HardSigmoid HardSwish Softmax LogSoftmax ArgMax ArgMin "
    "ReduceSum ReduceMean ReduceMax ReduceMin ReduceProd ReduceL1 ReduceL2 ReduceSumSquare "
    "ReduceLogSumExp Dropout Transpose Flatten Clip"
)
ROWS = {name: (name, [X]) for name in UNARY.split()}
ROWS |= {name: (name, [positive(2, 3)]) for name in ("Log", "Sqrt", "Reciprocal", "ReduceLogSum")}
ROWS |= {name: (name, [numbers(2, 3) / 2]) for name in ("Asin", "Acos")}
ROWS |= {name: (name, [X, numbers(3, 1)]) for name in ("Add", "Sub", "Mul", "Div")}
ROWS |= {name: (name, [X, numbers(3, 1), numbers(1, 4)]) for name in ("Sum", "Max", "Min", "Mean")}
ROWS |= {
    name: (name, [np.float32([1, 2, 3]), Known(single(2))])
    for name in ("Equal", "Greater", "GreaterOrEqual", "Less", "LessOrEqual")
}
ROWS |= {name: (name, [X > 0, X[:1] < 0.5]) for name in ("And", "Or", "Xor")}
ROWS |= {
    "Not": ("Not", [X > 0]),
    "Pow": ("Pow", [positive(2, 3), numbers(3)]),
    "Pow of integers": ("Pow", [X, Known(ints(3))]),
    "PRelu": ("PRelu", [X, Known(numbers(3, 1))]),
    "LeakyRelu 0.3": ("LeakyRelu", [X], {"alpha": 0.3}),
    "Elu 0.3": ("Elu", [X], {"alpha": 0.3}),
    "Selu 2, 3": ("Selu", [X], {"alpha": 2.0, "gamma": 3.0}),
    "HardSigmoid 0.5, 0.1": ("HardSigmoid", [X], {"alpha": 0.5, "beta": 0.1}),
    "Clip both": ("Clip", [X, Known(single(-0.5)), Known(single(0.5))]),
    "Clip above": ("Clip", [X, None, Known(single(0.5))]),
    "Clip 7": ("Clip", [X], {"min": -0.5, "max": 0.5}, 7),
    "Softmax axis": ("Softmax", [X], {"axis": 1}),
    "Softmax 11, last": ("Softmax", [X], {"axis": -1}, 11),
    "Dropout 7": ("Dropout", [X], {"ratio": 0.3}, 7),
    "Dropout ratio": ("Dropout", [X, Known(single(0.3))]),
    "MatMul": ("MatMul", [X, Known(numbers(4, 5))]),
    "MatMul of vectors": ("MatMul", [X, Known(numbers(4))]),
    "MatMul of batches": ("MatMul", [X, numbers(2, 4, 5)]),
    "Gemm": ("Gemm", [numbers(2, 3), Known(numbers(4, 3)), Known(numbers(4))], {"transB": 1}),
    "Gemm scaled": (
        "Gemm",
        [numbers(3, 2), numbers(3, 4), numbers(1, 4)],
        {"transA": 1, "alpha": 0.5, "beta": 2.0},
    ),
    "Gemm alone": ("Gemm", [numbers(2, 3), numbers(3, 4)]),
    "Conv": ("Conv", [IMAGE, W]),
    "Conv options": (
        "Conv",
        [IMAGE, W, Known(numbers(6))],
        {"pads": [1, 2, 1, 2], "strides": [2, 1], "dilations": [1, 2], "kernel_shape": [3, 3]},
    ),
    "Conv groups": ("Conv", [numbers(1, 4, 9), W1], {"group": 2}),
    "Conv uneven": ("Conv", [IMAGE, W], {"pads": [0, 1, 2, 0]}),
    "Conv uneven of lines": ("Conv", [numbers(1, 2, 9), W1], {"pads": [0, 1]}),
    "Conv same": ("Conv", [IMAGE, W], {"auto_pad": "SAME_UPPER", "strides": [2, 2]}),
    "Conv same below": ("Conv", [IMAGE, W], {"auto_pad": "SAME_LOWER", "strides": [2, 2]}),
    "Conv of steps 1": ("Conv", [IMAGE, W], {"auto_pad": "SAME_UPPER", "dilations": [2, 2]}),
    "ConvTranspose": ("ConvTranspose", [IMAGE, WT, Known(numbers(3))]),
    "ConvTranspose options": (
        "ConvTranspose",
        [IMAGE, WT],
        {"strides": [2, 2], "pads": [1, 1, 1, 1], "output_padding": [1, 0]},
    ),
    "MaxPool": ("MaxPool", [IMAGE], {"kernel_shape": [3, 2], "strides": [2, 1]}),
    "MaxPool ceil": (
        "MaxPool",
        [IMAGE],
        {"kernel_shape": [2, 2], "strides": [2, 2], "ceil_mode": 1},
    ),
    "AveragePool": ("AveragePool", [IMAGE], {"kernel_shape": [3, 3], "pads": [1, 1, 1, 1]}),
    "AveragePool counted": (
        "AveragePool",
        [IMAGE],
        {"kernel_shape": [3, 3], "pads": [1, 1, 0, 1], "count_include_pad": 1},
    ),
    "GlobalMaxPool": ("GlobalMaxPool", [IMAGE]),
    "GlobalAveragePool": ("GlobalAveragePool", [IMAGE]),
    "BatchNormalization": ("BatchNormalization", [IMAGE, *CHANNELS], {"epsilon": 0.1}),
    "BatchNormalization shared": ("BatchNormalization", [IMAGE, *CHANNELS[:1] * 4]),
    "LayerNormalization": (
        "LayerNormalization",
        [X, Known(numbers(4)), Known(numbers(4))],
        {"epsilon": 0.1},
    ),
    "LayerNormalization without bias": ("LayerNormalization", [X, Known(numbers(4))]),
    "Gelu": ("Gelu", [X], {}, 20),
    "Gelu tanh": ("Gelu", [X], {"approximate": "tanh"}, 20),
    "Shape": ("Shape", [X]),
    "Shape of some axes": ("Shape", [X], {"start": -2, "end": 9}),
    "Clip of integers": ("Clip", [ints(-3, 5), Known(np.int64(0))]),
    "InstanceNormalization": ("InstanceNormalization", [IMAGE, *CHANNELS[:2]], {"epsilon": 0.1}),
    "Flatten 2": ("Flatten", [IMAGE], {"axis": 2}),
    "Flatten 0": ("Flatten", [IMAGE], {"axis": 0}),
    "Reshape": ("Reshape", [X, Known(ints(0, -1, 2))]),
    "Transpose axes": ("Transpose", [X], {"perm": [1, 2, 0]}),
    "Squeeze": ("Squeeze", [numbers(1, 3, 1), Known(ints(-1))]),
    "Squeeze all": ("Squeeze", [numbers(1, 3, 1)]),
    "Squeeze 11": ("Squeeze", [numbers(1, 3, 1)], {"axes": [0]}, 11),
    "Unsqueeze": ("Unsqueeze", [X, Known(ints(-1, 0))]),
    "Unsqueeze 11": ("Unsqueeze", [X], {"axes": [0, 2]}, 11),
    "Concat": ("Concat", [X, numbers(2, 3, 1)], {"axis": -1}),
    "Split": ("Split", [X], {"axis": -1, "outputs": 2}, 17),
    "Split sizes": ("Split", [X, Known(ints(1, 2))], {"axis": 1, "outputs": 2}, 17),
    "Split 11": ("Split", [X], {"axis": 1, "split": [2, 1], "outputs": 2}, 11),
    "Split 18": ("Split", [X], {"axis": 2, "num_outputs": 2, "outputs": 2}, 18),
    "Slice": ("Slice", [X, Known(ints(1, -3)), Known(ints(9, 2**62)), Known(ints(0, -1))]),
    "Slice backwards": (
        "Slice",
        [X, Known(ints(-1)), Known(ints(-(2**62))), Known(ints(2)), Known(ints(-2))],
    ),
    "Slice 9": ("Slice", [X], {"starts": [0, 1], "ends": [1, 3]}, 9),
    "Gather": ("Gather", [X, Known(ints(0, -1, 1))], {"axis": 1}),
    "Gather one": ("Gather", [X, Known(np.int64(-1))], {"axis": -1}),
    "Pad": ("Pad", [IMAGE, Known(ints(0, 0, 1, 0, 0, 0, 2, 1)), Known(single(3))]),
    "Pad of lines": ("Pad", [X, Known(ints(0, 1, 2, 0, 0, 1))]),
    "Pad axes": ("Pad", [IMAGE, Known(ints(1, 2)), None, Known(ints(-1))], {"mode": "edge"}, 18),
    "Pad 7": ("Pad", [IMAGE], {"pads": [0, 0, 1, 0, 0, 0, 2, 1], "mode": "reflect"}, 7),
    "DepthToSpace": ("DepthToSpace", [IMAGE], {"blocksize": 2}),
    "SpaceToDepth": ("SpaceToDepth", [IMAGE[..., :6, :]], {"blocksize": 2}),
    "Tile": ("Tile", [X, Known(ints(2, 1, 3))]),
    "Expand": ("Expand", [numbers(3, 1), Known(ints(2, 1, 4))]),
    "Where": ("Where", [X > 0, X, numbers(2, 3, 4)]),
    "Where spread": ("Where", [X[0] > 0, X, Known(single(0.5))]),
    "Cast": ("Cast", [X], {"to": TensorProto.INT32}),
    "Cast to bool": ("Cast", [X], {"to": TensorProto.BOOL}),
    "TopK": ("TopK", [X, Known(ints(2))], {"outputs": 2}),
    "TopK smallest": (
        "TopK",
        [X, Known(ints(1))],
        {"axis": 1, "largest": 0, "sorted": 0, "outputs": 2},
    ),
    "ArgMax dropped": ("ArgMax", [X], {"axis": 1, "keepdims": 0}),
    "ReduceSum axes": ("ReduceSum", [X, Known(ints(0, -1))], {"keepdims": 0}),
    "ReduceMean 11": ("ReduceMean", [X], {"axes": [1], "keepdims": 0}, 11),
    "ReduceMean 18": ("ReduceMean", [X, Known(ints(1))], {}, 18),
    "ReduceLogSumExp large": ("ReduceLogSumExp", [100 * X], {"axes": [1], "keepdims": 0}, 17),
}


def model_of(op_type, inputs, attributes=None, opset=17, **more):
    attributes = dict(attributes or {})
    outputs = [f"y{i}" for i in range(attributes.pop("outputs", 1))]
    names = ["" if x is None else f"x{i}" for i, x in enumerate(inputs)]
    node = helper.make_node(op_type, names, outputs, **attributes, **more)
    given = {n: x for n, x in zip(names, inputs) if isinstance(x, np.ndarray)}
    held = {n: x.value for n, x in zip(names, inputs) if isinstance(x, Known)}
    return model(node, given, held, outputs, opset), given


def model(nodes, given, held, outputs, opset=17):
    nodes = nodes if isinstance(nodes, list) else [nodes]
    graph = helper.make_graph(
        nodes,
        "graph",
        [
            helper.make_tensor_value_info(n, helper.np_dtype_to_tensor_dtype(x.dtype), x.shape)
            for n, x in given.items()
        ],
        [onnx.ValueInfoProto(name=name) for name in outputs],
        [numpy_helper.from_array(x, n) for n, x in held.items()],
    )
    for value in graph.output:
        value.type.tensor_type.elem_type = TensorProto.FLOAT
        value.type.tensor_type.shape.SetInParent()
    made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)])
    made.ir_version = 8
    return made


def by_onnx(made, given):
    """The outputs as the package onnx computes them, whose types go into the model."""
    outputs = [np.asarray(y) for y in ReferenceEvaluator(made).run(None, given)]
    for value, y in zip(made.graph.output, outputs):
        number = helper.np_dtype_to_tensor_dtype(y.dtype)
        value.CopyFrom(helper.make_tensor_value_info(value.name, number, y.shape))
    return outputs


def saved(folder, made):
    path = folder / "net.onnx"
    path.write_bytes(made.SerializeToString())
    return path


def forward(path, given):
    """The outputs of a file, by `import_to_gluon` and by `import_model`, which have to agree."""
    inputs = {n: mx.nd.array(x, dtype=x.dtype) for n, x in given.items()}
    found = import_to_gluon(path, mx.cpu())(*inputs.values())
    found = found if isinstance(found, (list, tuple)) else [found]
    sym, arguments, states = import_model(path)
    bound = sym.bind(mx.cpu(), arguments | inputs, aux_states=states)
    again = bound.forward(is_train=False)
    for one, other in zip(found, again):
        assert (one.asnumpy() == other.asnumpy()).all()
    return [each.asnumpy() for each in found]


@pytest.mark.parametrize("name", ROWS)
def test_operators(name, tmp_path):
    made, given = model_of(*ROWS[name])
    expected = by_onnx(made, given)
    found = forward(saved(tmp_path, made), given)
    assert len(found) == len(expected)
    for y, correct in zip(found, expected):
        assert y.shape == (correct.shape or (1,)) and y.dtype == correct.dtype
        np.testing.assert_allclose(y, correct.reshape(y.shape), rtol=1e-4, atol=1e-5)


def softmax(x, axes):
    y = np.exp(x - x.max(axes, keepdims=True))
    return y / y.sum(axes, keepdims=True)


PADDED = np.pad(IMAGE, [(0, 0), (0, 0), (0, 1), (2, 0)], constant_values=-9)
BY_NUMPY = {  # where onnx itself computes something else than it says
    "Softmax 11": (model_of("Softmax", [X], {}, 11), softmax(X, (1, 2))),
    "Softmax 11, axis": (model_of("Softmax", [X], {"axis": -2}, 11), softmax(X, (1, 2))),
    "LogSoftmax 11": (
        model_of("LogSoftmax", [X], {"axis": 0}, 11),
        np.log(softmax(X, (0, 1, 2))),
    ),
    "Unsqueeze 11": (model_of("Unsqueeze", [X], {"axes": [2, 0]}, 11), X[None, :, None]),
    "MaxPool": (
        model_of("MaxPool", [IMAGE], {"kernel_shape": [2, 1], "pads": [0, 2, 1, 0]}),
        np.maximum(PADDED[:, :, :-1], PADDED[:, :, 1:]),
    ),
}


@pytest.mark.parametrize("name", BY_NUMPY)
def test_operators_by_numpy(name, tmp_path):
    (made, given), expected = BY_NUMPY[name]
    (found,) = forward(saved(tmp_path, made), given)
    if name == "MaxPool":
        found = np.maximum(found, -9)  # outside is the lowest number
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-5)


def test_every_row_is_compared():
    from layers.mxnet.contrib.onnx._rows import ROWS as there

    assert {op_type for op_type, *_ in ROWS.values()} == {*there}


def net():
    made = nn.HybridSequential()
    made.add(
        nn.Conv2D(4, 3, padding=1), nn.BatchNorm(), nn.Activation("relu"), nn.MaxPool2D(),
        nn.Conv2D(6, 3, use_bias=False), nn.LeakyReLU(0.1), nn.GlobalAvgPool2D(), nn.Flatten(),
        nn.Dropout(0.3), nn.Dense(5),
    )  # fmt: skip
    made.initialize(mx.init.Xavier())
    return made


def test_a_network_there_and_back(tmp_path):
    pytest.importorskip("onnxscript", reason="it writes the file")
    made, x = net(), mx.nd.random.uniform(shape=(2, 3, 8, 8))
    with mx.autograd.record():
        made(x)  # moves the statistics
    expected = made(x).asnumpy()
    made.hybridize()
    made(x)
    files = made.export(str(tmp_path / "net"))
    path = str(tmp_path / "net.onnx")
    mx.contrib.onnx.export_model(*map(str, files), [x.shape], onnx_file_path=path)
    (found,) = forward(path, {"data": x.asnumpy()})
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-5)
    sym, arguments, states = import_model(path)
    module = mx.mod.Module(sym, ["data"], label_names=None)
    module.bind([("data", x.shape)], for_training=False)  # before it has the parameters' shapes
    module.set_params(arguments, states)
    module.forward(mx.io.DataBatch([x]))
    found = module.get_outputs()[0].asnumpy()
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-5)
    block = import_to_gluon(path, [mx.cpu(0), mx.cpu(1)])
    assert block(x.copyto(mx.cpu(1))).context == mx.cpu(1)
    trainer = mx.gluon.Trainer(block.collect_params(), "sgd", {"learning_rate": 0.1})
    block.collect_params().reset_ctx(mx.cpu())
    with mx.autograd.record():
        loss = (block(x) ** 2).sum()
    loss.backward()
    trainer.step(1)
    assert (block(x) ** 2).sum().asscalar() < loss.asscalar()


def sparse():
    net = mx.gluon.nn.HybridSequential()
    net.add(DenseBlock(16, 5), SparsemaxBlock())
    return net


NETS = {
    "mlp": lambda: nets.mlp(16, (5,), 3, activation="gelu", norm="batch"),
    "gated mlp": lambda: nets.mlp(16, (5,), 3, activation="geglu", norm="rms", residual=True),
    "sparse": sparse,
    "mixer": lambda: nets.mixer((1, 4, 4), 3, hidden_channels=8, depth=1),
    "vit": lambda: nets.vit((1, 4, 4), 3, hidden_channels=8, num_heads=2, depth=1),
}
AT_ONCE = [("vit", True), ("gated mlp", True)]  # the others take seconds each, too: make test-all


@pytest.mark.parametrize(
    "name, open_batch",
    [
        pytest.param(*each, marks=() if each in AT_ONCE else pytest.mark.slow)
        for each in product(NETS, (False, True))
        if each != ("sparse", True)  # how many TopK gives is computed there
    ],
)
def test_nets_there_and_back(name, open_batch, tmp_path):
    pytest.importorskip("onnxscript", reason="it writes the file")
    made, path = NETS[name](), str(tmp_path / "net.onnx")
    made.initialize(mx.init.Xavier())
    made.hybridize()
    made(mx.nd.array(numbers(2, 16)))
    files = made.export(str(tmp_path / "net"))
    shapes = {"dynamic": True, "dynamic_input_shapes": [("n", 16)]} if open_batch else {}
    mx.onnx.export_model(*map(str, files), [(2, 16)], onnx_file_path=path, **shapes)
    for count in (2, 5) if open_batch else (2,):
        x = numbers(count, 16)
        (found,) = forward(path, {"data": x})
        np.testing.assert_allclose(found, made(mx.nd.array(x)).asnumpy(), rtol=1e-5, atol=1e-5)


def test_sizes_that_are_computed(tmp_path):
    nodes = [
        helper.make_node("Shape", ["x"], ["sizes"]),
        helper.make_node("Slice", ["sizes", "zero", "one"], ["count"]),
        helper.make_node("Concat", ["count", "twelve"], ["shape"], axis=0),
        helper.make_node("Reshape", ["x", "shape"], ["rows"]),
        helper.make_node("Relu", ["rows"], ["y"]),
    ]
    made = model(nodes, {"x": X}, {"zero": ints(0), "one": ints(1), "twelve": ints(12)}, ["y"])
    by_onnx(made, {"x": X})
    for value in (made.graph.input[0], made.graph.output[0]):
        value.type.tensor_type.shape.dim[0].dim_param = "n"
    for x in (X, numbers(5, 3, 4)):
        (found,) = forward(saved(tmp_path, made), {"x": x})
        np.testing.assert_array_equal(found, np.maximum(x, 0).reshape(-1, 12))


def test_metadata(tmp_path):
    made, _ = model_of("Add", [X, Known(X)])
    tensor = made.graph.output[0].type.tensor_type
    tensor.shape.dim.add(dim_param="n")
    tensor.shape.dim.add(dim_value=3)
    assert get_model_metadata(saved(tmp_path, made)) == {
        "input_tensor_data": [("x0", (2, 3, 4))],
        "output_tensor_data": [("y0", (0, 3))],
    }


def test_constants_and_states_of_their_own(tmp_path):
    constant = helper.make_node("Constant", [], ["two"], value_float=2.0)
    nodes = [constant, helper.make_node("Mul", ["x", "two"], ["y"])]
    made = model(nodes, {"x": X}, {}, ["y"])
    by_onnx(made, {"x": X})
    (found,) = forward(saved(tmp_path, made), {"x": X})
    assert (found == 2 * X).all()
    made, _ = model_of("BatchNormalization", [IMAGE, *CHANNELS])
    _, arguments, states = import_model(saved(tmp_path, made))
    assert [*arguments] == ["x1", "x2"] and [*states] == ["x3", "x4"]


REFUSED = {
    "all operators": (
        model([helper.make_node(n, ["x"], [n]) for n in ("Relu", "NonZero", "Det")], {"x": X}, {},
              ["Det"]),
        r"net.onnx' has operators that are not known here: 'Det', 'NonZero'\n  expected some of: ",
    ),
    "a domain": (model_of("Relu", [X], domain="other")[0], "net.onnx'.*: 'other.Relu'"),
    "an old set": (model_of("Relu", [X], opset=6)[0], "set of operators 6\n  expected 7 or later"),
    "no sizes": (
        model_of("Shape", [X], {"end": 0})[0],
        f"Shape .*: start and end leave none of the {X.ndim} sizes",
    ),
    "a computed shape": (
        model_of("Reshape", [X, ints(2, 12)])[0],
        r"operator Reshape in node 'y0' of .*net.onnx': input 1 \(shape\) is computed",
    ),
    "an attribute": (
        model_of("MaxPool", [IMAGE], {"kernel_shape": [2, 2], "dilations": [2, 2]})[0],
        r"MaxPool .*dilations are \(2, 2\)",
    ),
    "a window outside": (
        model_of(
            "MaxPool", [IMAGE], {"kernel_shape": [1, 1], "strides": [5, 5], "ceil_mode": 1}
        )[0],
        "MaxPool .*a window is outside of the image",
    ),
    "a long axis": (
        model_of("Tile", [X, Known(ints(1, 2**40, 1))])[0], r"repeats is \[1, 1099511627776, 1\]",
    ),
    "several k": (
        model_of("TopK", [X, Known(ints(1, 2))], {"outputs": 2})[0], r"TopK .*: k is \[1, 2\]",
    ),
    "an unknown attribute": (
        model_of("ConvTranspose", [IMAGE, WT], {"output_shape": [9, 9]})[0],
        "ConvTranspose .*: it has 'output_shape'",
    ),
    "MXNet's codes of shapes": (
        model_of("Reshape", [X, Known(ints(-2))])[0], r"Reshape .*: the shape is \[-2\]",
    ),
    "a size": (
        model_of("DepthToSpace", [IMAGE], {"blocksize": 2**40})[0], "blocksize is 1099511627776",
    ),
    "several axes": (
        model_of("LayerNormalization", [X, Known(numbers(4))], {"axis": 1}, opset=17)[0],
        "LayerNormalization .*: it is along the axes 1 to 2",
    ),
    "integers divided": (model_of("Div", [ints(3), ints(2)])[0], "it divides numbers of int64"),
    "a second output": (
        model(helper.make_node("MaxPool", ["x"], ["y", "i"], kernel_shape=[2, 2]), {"x": IMAGE},
              {}, ["i"]),
        "'i' is an output that its operator has not",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_what_has_no_form_is_named(name, tmp_path):
    made, message = REFUSED[name]
    with pytest.raises(UnsupportedError, match=message):
        import_model(saved(tmp_path, made))


def test_bad_files(tmp_path):
    path = tmp_path / "net.onnx"
    path.write_bytes(b"no model")
    with pytest.raises(MXNetError, match="net.onnx' is no ONNX file: "):
        import_model(path)
    path.write_bytes(b"")
    with pytest.raises(MXNetError, match="net.onnx' is no ONNX file: it has no graph"):
        import_model(path)
    with pytest.raises(FileNotFoundError):
        import_to_gluon(tmp_path / "none.onnx")
    made, _ = model_of("Add", [X, Known(X)])
    del made.graph.node[0].input[1]
    with pytest.raises(MXNetError, match="net.onnx' is no valid ONNX: "):
        import_model(saved(tmp_path, made))
    for dims in ([2**40, 2**20], [-1], [2]):
        made, _ = model_of("Add", [X, Known(X)])
        made.graph.initializer[0].dims[:] = dims
        with pytest.raises(MXNetError, match="net.onnx'"):
            import_model(saved(tmp_path, made))


def test_damaged_files(tmp_path):
    made, _ = model_of("Add", [X, X])
    made.graph.input[0].type.tensor_type.elem_type = 99
    with pytest.raises(MXNetError, match="net.onnx': 'x0' is of the type 99"):
        import_model(saved(tmp_path, made))
    made, _ = model_of("Add", [X, X])
    del made.graph.output[:]
    with pytest.raises(MXNetError, match="net.onnx' has no outputs"):
        import_model(saved(tmp_path, made))
    path = saved(tmp_path, model_of("Conv", [IMAGE, W], {"auto_pad": "SAME_UPPER"})[0])
    whole = path.read_bytes()
    for old, new, message in [
        (b"SAME_UPPER", b"SAM\xa2_UPPER", "auto_pad is 'SAM\ufffd_UPPER'"),
        (b"Conv", b"Con\xa2", "operators that are not known"),
    ]:
        path.write_bytes(whole.replace(old, new))
        with pytest.raises(MXNetError, match=message):
            import_model(path)


TENSORS = ["initializer", "constant", "tensors", "graph", "graphs", "sparse", "sparse attribute"]


@pytest.mark.parametrize("place", TENSORS)
def test_other_files_are_not_read(place, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "secret").write_bytes(bytes(96))
    made, _ = model_of("Add", [X, Known(X)])
    tensor = made.graph.initializer[0]
    tensor.ClearField("raw_data")
    tensor.data_location = TensorProto.EXTERNAL
    tensor.external_data.add(key="location", value="secret")
    if place == "constant":
        made.graph.node.insert(0, helper.make_node("Constant", [], ["x1"], value=tensor))
        del made.graph.initializer[0]
    elif place != "initializer":
        attribute = made.graph.node[0].attribute.add(name="more")
        attribute.tensors.append(tensor) if place == "tensors" else None
        attribute.g.initializer.append(tensor) if place == "graph" else None
        attribute.graphs.add().initializer.append(tensor) if place == "graphs" else None
        sparse = (
            made.graph.sparse_initializer.add() if place == "sparse" else attribute.sparse_tensor
        )
        if "sparse" in place:
            sparse.values.CopyFrom(tensor)
        tensor.ClearField("data_location")
        tensor.ClearField("external_data")
        tensor.raw_data = bytes(96)
    with pytest.raises(UnsupportedError, match="'x1' are in another|is a graph|sparse values"):
        import_model(saved(tmp_path, made))


@pytest.mark.parametrize("place", ["functions", "training_info"])
def test_what_is_not_used_is_not_looked_at(place, tmp_path):
    """Nor by the package onnx, which would read a file for its values."""
    made, _ = model_of("Relu", [X])
    if place == "functions":
        made.functions.add(name="Relu", domain="other")
    else:
        made.training_info.add().initialization.name = "more"
    assert import_model(saved(tmp_path, made))[0].list_arguments() == ["x0"]


# An operator, the sizes that it is given, its attributes, and what is said of it.
BOMBS = {
    "Expand": ([X, Known(ints(2**30, 2**30, 2, 3, 4))], {}, "Expand .* its 'output' .* 4"),
    "Tile": ([X, Known(ints(2**10, 2**10, 2**10))], {}, r"Tile .* its 'output' \(2048, 3072, 40"),
    "Pad": ([IMAGE, Known(ints(0, 0, 2**20, 0, 0, 0, 0, 2**20))], {}, "Pad .* its 'output'"),
    "Split": ([X], {"axis": 2, "num_outputs": 2**30}, "num_outputs"),
}


@pytest.mark.parametrize("name", BOMBS)
def test_arrays_that_are_only_declared_take_no_memory(name, tmp_path):
    given, attributes, message = BOMBS[name]
    memory, path = Memory(), saved(tmp_path, model_of(name, given, attributes, 18)[0])
    with pytest.raises(MXNetError, match=message):
        import_model(path)
    assert memory.taken() < 64 << 20


def test_a_file_has_no_more_parts_than_its_size_is_of(tmp_path):
    made, _ = model_of("Relu", [X])
    for _ in range(1 << 17):
        made.graph.value_info.add()
    with pytest.raises(MXNetError, match="net.onnx' has more than 65"):
        import_model(saved(tmp_path, made))


def test_an_initializer_has_the_bytes_that_it_declares(tmp_path):
    made, _ = model_of("Add", [X, Known(X)])
    made.graph.initializer[0].dims[:] = [1 << 20, 1 << 10]
    with pytest.raises(MXNetError, match=r"'x1' \(1048576, 1024\) takes 4294967296 bytes"):
        import_model(saved(tmp_path, made))


@pytest.mark.parametrize("call", [import_model, import_to_gluon, get_model_metadata])
def test_without_the_package(call, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "onnx", None)
    with pytest.raises(UnsupportedError, match="package onnx\n  expected pip install onnx"):
        call(tmp_path / "net.onnx")


def test_a_block_is_exported_first(tmp_path):
    block = nn.Dense(2)
    with pytest.raises(ValueError, match=r"sym is a Dense, a Block\n  expected a Symbol.*export"):
        mx.onnx.export_model(block, {}, [(1, 3)], np.float32, str(tmp_path / "net.onnx"))
