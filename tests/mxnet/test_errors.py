"""The commonest mistakes: what is wrong, with the values; what was expected; where."""

import numpy as np
import pytest

pytestmark = pytest.mark.engine("torch")  # MXNet's are a C++ file, a line and a stack


@pytest.fixture
def nd(mx):
    return mx.nd


@pytest.fixture
def a(nd):
    return nd.ones((3, 4))


MISTAKES = {
    "mixed dtypes": (
        lambda nd, a: a + a.astype("float64"),
        TypeError,
        ["broadcast_add: lhs is float32, rhs is float64", "expected one dtype; astype changes it"],
    ),
    "shapes that do not broadcast": (
        lambda nd, a: a + nd.ones((3,)),
        ValueError,
        [
            "broadcast_add: lhs is (3, 4), rhs is (3,)\n  expected sizes that are equal or 1",
            "in broadcast_add(lhs (3, 4) float32, rhs (3,) float32)",
        ],
    ),
    "the dtypes of a layer": (
        lambda nd, a: nd.FullyConnected(
            a.astype("int32"), nd.ones((2, 4)), nd.ones(2), num_hidden=2
        ),
        TypeError,
        ["FullyConnected: data is int32, weight is float32", "expected one dtype; astype changes"],
    ),
    "a dtype that an operator has not": (
        lambda nd, a: nd.softmax(a.astype("int32")),
        TypeError,
        ["softmax: data is int32\n  expected another dtype; astype changes it"],
    ),
    "a kernel larger than the data": (
        lambda nd, a: nd.Convolution(
            nd.ones((1, 2, 2, 2)), nd.ones((4, 2, 3, 3)), kernel=(3, 3), num_filter=4, no_bias=True
        ),
        ValueError,
        [
            "Convolution: data is (1, 2, 2, 2), weight is (4, 2, 3, 3)\n"
            "  expected a kernel that fits into the padded data"
        ],
    ),
    "data without an axis for the kernel": (
        lambda nd, a: nd.Convolution(a, nd.ones((4, 2, 3)), kernel=(3,), num_filter=4),
        ValueError,
        [
            "Convolution: data is (3, 4), and the kernel (3,)\n"
            "  expected 3 axes: batch, channels, and 1 for the kernel"
        ],
    ),
    "a patch larger than the data": (
        lambda nd, a: nd.im2col(nd.ones((1, 2, 3, 3)), kernel=(2, 2), dilate=(1, 3)),
        ValueError,
        [
            "im2col: data is (1, 2, 3, 3), kernel is (2, 2), dilate is (1, 3), pad is (0, 0)\n"
            "  expected a kernel that fits into the padded data"
        ],
    ),
    "patches that do not move": (
        lambda nd, a: nd.im2col(nd.ones((1, 2, 3, 3)), kernel=(2, 2), stride=(0, 1)),
        ValueError,
        ["im2col: stride is (0, 1)\n  expected two numbers of 1 or more"],
    ),
    "an image without channels": (
        lambda nd, a: nd.im2col(nd.ones((1, 3, 3)), kernel=(2, 2)),
        ValueError,
        ["im2col: data is (1, 3, 3)\n  expected (n, c, h, w)"],
    ),
    "an axis named twice": (
        lambda nd, a: nd.transpose(a, axes=(1, 1)),
        ValueError,
        ["transpose: axes are (1, 1) for (3, 4)\n  expected each of (0, 1) once"],
    ),
    "a shape that is none": (
        lambda nd, a: nd.zeros("a"),
        ValueError,
        ["zeros: shape is 'a'\n  expected whole numbers of 0 or more"],
    ),
    "a context without a number": (
        lambda nd, a: a.as_in_context(type(a.context)("cpu", "a")),
        ValueError,
        ["Context: the number of 'cpu' is 'a'\n  expected a whole number, as in mx.cpu(0)"],
    ),
    "sizes that do not line up": (
        lambda nd, a: nd.concat(a, nd.ones((3, 5)), dim=0),
        ValueError,
        ["Concat: data0 is (3, 4), data1 is (3, 5)\n  expected sizes that are equal on all axes"],
    ),
    "axes that are not as many": (
        lambda nd, a: nd.concat(a, nd.ones(4), dim=0),
        ValueError,
        ["Concat: data0 is (3, 4), data1 is (4,)\n  expected arrays of as many axes each"],
    ),
    "a shape with fewer axes": (
        lambda nd, a: nd.broadcast_like(a, nd.ones(4)),
        ValueError,
        ["broadcast_like: lhs is (3, 4), rhs is (4,)", "expected as many axes of both"],
    ),
    "shapes to be stacked": (
        lambda nd, a: nd.stack(a, nd.ones((3, 5))),
        ValueError,
        ["stack: data0 is (3, 4), data1 is (3, 5)\n  expected equal shapes"],
    ),
    "a NumPy operand": (
        lambda nd, a: a + np.ones((3, 4)),
        TypeError,
        ["add: an operand is of type ndarray", "nd.array(...) makes an array"],
    ),
    "compared with None": (lambda nd, a: a == None, TypeError, ["equal", "NoneType"]),  # noqa: E711 - the mistake
    "a list for an array": (
        lambda nd, a: nd.exp([1, 2]),
        TypeError,
        ["exp: data is [1, 2] (list)", "expected an NDArray; nd.array(...) makes one"],
    ),
    "a list of arrays": (
        lambda nd, a: nd.concat([a, a], dim=0),
        TypeError,
        ["Concat: data0 is a list of NDArray (3, 4)", "expected the arrays one by one"],
    ),
    "a missing input": (
        lambda nd, a: nd.dot(a),
        TypeError,
        ["dot: rhs is missing", "expected dot(lhs, rhs, transpose_a=False, transpose_b=False"],
    ),
    "none of any number of inputs": (
        lambda nd, a: nd.concat(dim=1),
        TypeError,
        ["Concat: data is missing", "expected Concat(*data, dim=1)"],
    ),
    "a missing attribute": (
        lambda nd, a: nd.FullyConnected(a, a, a),
        TypeError,
        [
            "FullyConnected: num_hidden is missing",
            "expected FullyConnected(data, weight, bias=None",
        ],
    ),
    "an unknown attribute": (
        lambda nd, a: nd.sum(a, axes=1),
        TypeError,
        ["sum: unknown argument 'axes' (given 1)", "expected data, axis, keepdims"],
    ),
    "an unreadable attribute": (
        lambda nd, a: nd.sum(a, axis="x"),
        TypeError,
        ["sum: axis is 'x'", "expected"],
    ),
    "an axis too far": (lambda nd, a: nd.sum(a, axis=5), ValueError, ["sum", "5", "(3, 4)"]),
    "a matrix product": (
        lambda nd, a: nd.dot(a, a),
        ValueError,
        ["dot: lhs is (3, 4)", "rhs is (3, 4)"],
    ),
    "weights that do not fit": (
        lambda nd, a: nd.FullyConnected(a, nd.ones((5, 3)), nd.ones(5), num_hidden=5),
        ValueError,
        ["weight is (5, 3)", "data (3, 4)", "4 columns", "expected weight (num_hidden=5, 4)"],
    ),
    "@": (lambda nd, a: a @ a, TypeError, ["@: of NDArray and NDArray", "expected nd.dot(a, b)"]),
    "@ of NumPy": (lambda nd, a: a.asnumpy() @ a, TypeError, ["@: of NDArray and ndarray"]),
    "a tensor": (
        lambda nd, a: a + a.to_torch(),
        ValueError,
        ["add: an operand is of type Tensor", "nd.from_torch(...) makes"],
    ),
    "one-hot labels": (
        lambda nd, a: nd.pick(a, a),
        ValueError,
        ["pick: index is (3, 4)", "SoftmaxCrossEntropyLoss(sparse_label=False) takes one-hot"],
    ),
    "data that does not fit": (
        lambda nd, a: nd.FullyConnected(a, nd.ones((5, 3)), no_bias=True, num_hidden=5),
        ValueError,
        ["expected weight (num_hidden=5, 4), or data with 3 columns"],
    ),
    "reshape": (
        lambda nd, a: a.reshape((5, -1)),
        ValueError,
        ["reshape: (3, 4) cannot take the shape (5, -1)", "expected 12 elements"],
    ),
    "an index too far": (lambda nd, a: a[5], IndexError, ["index 5 is out of bounds", "size 3"]),
    "a float index": (lambda nd, a: a[1.5], IndexError, ["index 1.5 (float)", "expected an int"]),
    "an item that does not fit": (
        lambda nd, a: a.__setitem__(0, [1, 2, 3]),
        ValueError,
        ["x[key] = y: y is (3,)", "broadcasts to (4,)"],
    ),
    "ragged lists": (
        lambda nd, a: nd.array([[1, 2], [3]]),
        TypeError,
        ["array: list does not make an array of float32", "lists of equal lengths"],
    ),
    "text": (lambda nd, a: nd.array(["x"]), TypeError, ["float32", "'x'", "expected numbers"]),
    "a dtype for a context": (
        lambda nd, a: nd.array([1], "int32"),
        TypeError,
        ["ctx is 'int32'", "expected a Context", "dtype='int32'"],
    ),
    "an unknown dtype": (
        lambda nd, a: a.astype("float8"),
        TypeError,
        ["dtype 'float8' is unknown", "expected one of float32, float64"],
    ),
    "truth": (lambda nd, a: bool(a), ValueError, ["(3, 4)", "ambiguous", "expected one element"]),
    "asscalar": (lambda nd, a: a.asscalar(), ValueError, ["asscalar", "(3, 4)", "one element"]),
    "an operand of another shape in place": (
        lambda nd, a: nd.ones((1, 4)).__iadd__(a),
        ValueError,
        ["add in place: the array is (1, 4) float32", "expected (3, 4) float32"],
    ),
    "not recorded": (
        lambda nd, a: (a * a).backward(),
        RuntimeError,
        ["backward: the head (3, 4) was not recorded", "autograd.record()", "attach_grad()"],
    ),
    "grad_req": (
        lambda nd, a: a.attach_grad("sum"),
        TypeError,
        ["grad_req is 'sum'", "expected 'write', 'add' or 'null'"],
    ),
    "displacements that do not move": (
        lambda nd, a: nd.Correlation(nd.ones((1, 2, 9, 9)), nd.ones((1, 2, 9, 9)), stride2=0),
        ValueError,
        ["Correlation: stride1 is 1, stride2 is 0\n  expected 1 or more"],
    ),
    "a shape of more axes": (
        lambda nd, a: nd.broadcast_to(nd.ones(3), shape=(2, 3)),
        ValueError,
        ["broadcast_to: data is (3,), shape is (2, 3)\n  expected as many axes"],
    ),
    "sizes for some of the axes": (
        lambda nd, a: nd.broadcast_axis(nd.ones((1, 1, 3)), axis=(0, 1), size=(4,)),
        ValueError,
        ["broadcast_axis: axis is (0, 1), size is (4,)\n  expected one size for each axis"],
    ),
    "axes of one side": (
        lambda nd, a: nd.broadcast_like(nd.ones((1, 3)), nd.ones((4, 3)), lhs_axes=(0,)),
        ValueError,
        ["lhs_axes is (0,), rhs_axes is None\n  expected as many axes of both"],
    ),
    "an axis that is not there": (
        lambda nd, a: nd.split(nd.ones(4), num_outputs=2),
        ValueError,
        ["SliceChannel: data is (4,)\n  expected axes, or an `axis`, that fit"],
    ),
    "the largest of integers": (
        lambda nd, a: nd.Pooling(nd.ones((1, 1, 4, 4), dtype="uint8"), kernel=(2, 2)),
        TypeError,
        ["Pooling: data is uint8\n  expected floats"],
    ),
    "rows of another weight": (
        lambda nd, a: nd.sgd_update(
            nd.ones((2, 3)),
            nd.sparse.row_sparse_array((np.ones((1, 3), "float32"), [1]), shape=(4, 3)),
            lr=0.1,
        ),
        ValueError,
        ["sgd_update: weight is (2, 3) float32, grad is (4, 3) float32"],
    ),
    "images enlarged without a weight": (
        lambda nd, a: nd.UpSampling(nd.ones((1, 2, 3, 3)), scale=2, sample_type="bilinear"),
        ValueError,
        ["UpSampling: 1 inputs, num_filter is 0, for 'bilinear'\n  expected data and weight"],
    ),
    "coordinates of an axis that is not there": (
        lambda nd, a: nd.contrib.index_array(nd.ones((2, 3)), axes=(5,)),
        ValueError,
        ["_contrib_index_array: axes is (5,), data is (2, 3)\n  expected axes of data's 2"],
    ),
    "a part of one number": (
        lambda nd, a: nd.Crop(nd.ones((1, 2, 9, 9)), h_w=(4,)),
        ValueError,
        ["Crop: data is (1, 2, 9, 9), the part has size (4,), offset is (0, 0)\n  expected a part"],
    ),
    "a sum over no channel": (
        lambda nd, a: nd.LRN(nd.ones((1, 2, 9, 9)), nsize=0),
        ValueError,
        ["LRN: nsize is 0\n  expected 1 or more"],
    ),
    "no heads": (
        lambda nd, a: nd.contrib.interleaved_matmul_selfatt_qk(nd.ones((3, 2, 6)), heads=0),
        ValueError,
        ["an input is (3, 2, 6), heads is 0\n  expected (length, batch, heads 3 d), and"],
    ),
    "a histogram of too few bins": (
        lambda nd, a: nd.contrib.calibrate_entropy(nd.ones(7), nd.ones(8)),
        ValueError,
        ["hist is (7,), hist_edges is (8,), num_quantized_bins is 255\n  expected an odd number"],
    ),
    "windows on three axes": (
        lambda nd, a: nd.contrib.AdaptiveAvgPooling2D(nd.ones((1, 2, 9, 9)), output_size=(1, 2, 3)),
        ValueError,
        ["output_size is (1, 2, 3)\n  expected one or two numbers"],
    ),
    "windows on an array of two axes": (
        lambda nd, a: nd.contrib.AdaptiveAvgPooling2D(a, output_size=2),
        ValueError,
        ["_contrib_AdaptiveAvgPooling2D: data is (3, 4)\n  expected (n, c, h, w)"],
    ),
    "windows on an image without a batch": (
        lambda nd, a: nd.contrib.AdaptiveAvgPooling2D(nd.ones((2, 4, 4)), output_size=2),
        ValueError,
        ["_contrib_AdaptiveAvgPooling2D: data is (2, 4, 4)\n  expected (n, c, h, w)"],
    ),
    "fewer windows than none": (
        lambda nd, a: nd.contrib.AdaptiveAvgPooling2D(nd.ones((1, 2, 4, 4)), output_size=-1),
        ValueError,
        ["output_size is (-1,)\n  expected one or two numbers of 0 or more"],
    ),
    "fewer arrays counted than given": (
        lambda nd, a: nd.multi_sum_sq(a, a, num_arrays=1),
        ValueError,
        ["multi_sum_sq: num_arrays is 1 for 2 arrays\n  expected num_arrays=2"],
    ),
    "arrays that are not counted": (
        lambda nd, a: nd.multi_all_finite(a, a),
        ValueError,
        ["multi_all_finite: num_arrays is 1 for 2 arrays\n  expected num_arrays=2"],
    ),
    "more arrays counted than given": (
        lambda nd, a: nd.reset_arrays(a, num_arrays=2),
        ValueError,
        ["reset_arrays: num_arrays is 2 for 1 arrays\n  expected num_arrays=1"],
    ),
    "more arguments counted than given": (
        lambda nd, a: nd.concat(a, a, num_args=3),
        ValueError,
        ["Concat: num_args is 3 for 2 arrays\n  expected num_args=2"],
    ),
    "arguments counted by a word": (
        lambda nd, a: nd.add_n(a, a, num_args="two"),
        ValueError,
        ["add_n: num_args is 'two'\n  expected an int"],
    ),
    "arguments counted that come in threes": (
        lambda nd, a: nd.contrib.quantized_concat(
            *[nd.ones((1, 2), dtype="int8")] * 2, *[nd.ones(1)] * 4, num_args=6
        ),
        ValueError,
        ["_contrib_quantized_concat: num_args is 6 for 6 arrays\n  expected 3 arrays for each"],
    ),
    "rates of one layer for several": (
        lambda nd, a: nd.multi_lars(nd.ones(1), *[nd.ones(2)] * 3, eta=0.1, eps=0.1),
        ValueError,
        ["multi_lars: lrs is (1,), weights_sum_sq is (2,), grads_sum_sq is (2,), wds is (2,)\n"],
    ),
    "more rates than weights": (
        lambda nd, a: nd.preloaded_multi_sgd_update(a, a, nd.ones(2), nd.ones(1), num_weights=1),
        ValueError,
        ["preloaded_multi_sgd_update: lrs is (2,)\n  expected (1,), as num_weights says"],
    ),
    "fewer decays than weights": (
        lambda nd, a: nd.preloaded_multi_sgd_update(
            a, a, a, a, nd.ones(2), nd.ones(1), num_weights=2
        ),
        ValueError,
        ["preloaded_multi_sgd_update: wds is (1,)\n  expected (2,), as num_weights says"],
    ),
    "fewer gradients than weights": (
        lambda nd, a: nd.contrib.multi_lamb_update(
            [a, a], [a], [a, a], [a, a], step_count=[1, 1], lrs=[1, 1], wds=[0, 0]
        ),
        ValueError,
        [
            "_multi_lamb_update: the numbers of arrays are weights 2, grads 1, mean 2, var 2\n"
            "  expected one or more weights, and as many of each of the others"
        ],
    ),
    "no weights": (
        lambda nd, a: nd.contrib.multi_adamw_update(*[[]] * 4, 1.0, lrs=[], wds=[], etas=[]),
        ValueError,
        ["_multi_adamw_update: the numbers of arrays are weights 0, grads 0, mean 0, var 0\n"],
    ),
    "attention to another length": (
        lambda nd, a: nd.contrib.interleaved_matmul_selfatt_valatt(
            nd.ones((5, 2, 12)), nd.ones((4, 3, 5)), heads=2
        ),
        ValueError,
        [
            "_contrib_interleaved_matmul_selfatt_valatt: attention is (4, 3, 5), the values of "
            "all heads are (4, 5, 2)\n  expected attention (4, 5, 5)"
        ],
    ),
    "attention of other heads": (
        lambda nd, a: nd.contrib.interleaved_matmul_encdec_valatt(
            nd.ones((5, 2, 8)), nd.ones((8, 3, 5)), heads=2
        ),
        ValueError,
        ["attention is (8, 3, 5), the values of all heads are (4, 5, 2)\n  expected attention (4"],
    ),
    "attention without heads": (
        lambda nd, a: nd.contrib.interleaved_matmul_encdec_valatt(
            nd.ones((5, 2, 8)), nd.ones((3, 5)), heads=2
        ),
        ValueError,
        ["attention is (3, 5), the values of all heads are (4, 5, 2)\n  expected attention (4, m"],
    ),
    "keys of another batch": (
        lambda nd, a: nd.contrib.interleaved_matmul_encdec_qk(
            nd.ones((5, 1, 4)), nd.ones((5, 2, 8)), heads=2
        ),
        ValueError,
        ["queries is (5, 1, 4), keys_values is (5, 2, 8)\n  expected one batch, and keys_values"],
    ),
    "no bins": (
        lambda nd, a: nd.histogram(a, bins=0),
        ValueError,
        ["histogram: bins is 0\n  expected an int of 1 or more, or an NDArray"],
    ),
    "a range of one number": (
        lambda nd, a: nd.histogram(a, bins=2, range=(1,)),
        ValueError,
        ["_histogram: bin_cnt is 2, range is (1,)\n  expected 1 bin or more, and (least, most)"],
    ),
    "one edge": (
        lambda nd, a: nd.histogram(a, bins=nd.ones(1)),
        ValueError,
        ["_histogram: bins is (1,)\n  expected two edges or more, on one axis"],
    ),
    "boxes of integers": (
        lambda nd, a: nd.contrib.box_nms(nd.ones((2, 6), dtype="int32")),
        TypeError,
        ["_contrib_box_nms: data is int32\n  expected floats; astype changes it"],
    ),
    "integers to be quantized": (
        lambda nd, a: nd.contrib.quantize_asym(nd.ones(3, dtype="int32")),
        TypeError,
        ["_contrib_quantize_asym: data is int32\n  expected float32; astype changes it"],
    ),
    "integers to be quantized in a range": (
        lambda nd, a: nd.contrib.quantize(nd.ones(3, dtype="int32"), nd.ones(1), nd.ones(1)),
        TypeError,
        ["_contrib_quantize: data is int32\n  expected float32; astype changes it"],
    ),
    "anchors nowhere": (
        lambda nd, a: nd.contrib.MultiBoxPrior(nd.ones((1, 1, 2, 2)), offsets=(float("nan"), 0.5)),
        ValueError,
        ["steps is (-1.0, -1.0), offsets is (nan, 0.5)\n  expected two finite numbers each"],
    ),
    "anchors without a width": (
        lambda nd, a: nd.contrib.MultiBoxPrior(nd.ones((1, 1, 2, 2)), ratios=(1, -2)),
        ValueError,
        ["_contrib_MultiBoxPrior: ratios is (1, -2)\n  expected finite numbers above 0"],
    ),
    "groups that do not divide the channels": (
        lambda nd, a: nd.contrib.DeformableConvolution(
            nd.ones((1, 4, 3, 3)),
            nd.zeros((1, 2, 3, 3)),
            nd.ones((6, 1, 1, 1)),
            kernel=(1, 1),
            num_filter=6,
            num_group=3,
            no_bias=True,
        ),
        ValueError,
        ["data is (1, 4, 3, 3), num_filter is 6, num_group 3, num_deformable_group 1\n  expected"],
    ),
    "out": (
        lambda nd, a: nd.exp(a, out=nd.zeros(3)),
        TypeError,
        ["out: the array is (3,)", "(3, 4)"],
    ),
}


@pytest.mark.parametrize("mistake, kind, words", MISTAKES.values(), ids=MISTAKES)
def test_message(mx, nd, a, mistake, kind, words):
    with pytest.raises(kind) as caught:
        mistake(nd, a)
    said = "\n".join([str(caught.value), *getattr(caught.value, "__notes__", ())])
    assert not [word for word in words if word not in said], said
    assert kind is IndexError or isinstance(caught.value, mx.MXNetError)
    assert len(said.splitlines()) <= 3


def test_recorded(mx, nd):
    x = nd.ones(3)
    x.attach_grad()
    with mx.autograd.record():
        with pytest.raises(
            mx.MXNetError, match="(?s)writing into an array.*x = x [+] y, not x [+]= y"
        ):
            x += 1
        y = x * x
        with pytest.raises(mx.MXNetError, match="(?s)x.key. = y where y is part.*slice_assign"):
            nd.zeros(3)[0] = y[0]
    x[:] = 2
    with pytest.raises(mx.MXNetError, match=r"(?s)array \[3\] was overwritten.*until backward"):
        y.backward()
    with mx.autograd.record():
        y = x * x
    y.backward()
    with pytest.raises(mx.MXNetError, match="(?s)used up.*retain_graph=True"):
        y.backward()


@pytest.mark.engine("torch")
@pytest.mark.parametrize("name, shape", [("SoftmaxOutput", 2), ("LinearRegressionOutput", (2, 3))])
def test_gradients_by_rule_that_are_asked_for_twice(mx, nd, name, shape):
    x = nd.ones((2, 3))
    x.attach_grad()
    with mx.autograd.record():
        y = getattr(nd, name)(x, nd.zeros(shape))
    y.backward()
    with pytest.raises(mx.MXNetError, match="(?s)used up.*retain_graph=True"):
        y.backward()


@pytest.mark.engine("torch")
def test_dtypes_are_named_as_everywhere(mx):
    x, i = mx.nd.ones((2, 3)), mx.nd.ones((2, 3), dtype="int32")
    for mistake in (lambda: mx.nd.concat(x, i), lambda: mx.nd.dot(x, i)):
        with pytest.raises(TypeError, match="float32.* int32") as caught:
            mistake()
        assert "torch" not in str(caught.value)


@pytest.mark.engine("torch")
def test_shapes_that_do_not_broadcast_in_a_graph(mx):
    y = mx.sym.broadcast_add(mx.sym.var("a"), mx.sym.var("b"), name="s")
    told = r"lhs is \(2, 3\), rhs is \(4,\)\n  expected sizes that are equal or 1"
    with pytest.raises(ValueError, match=told):
        y.infer_shape(a=(2, 3), b=(4,))
    with pytest.raises(ValueError, match=told + r"\n  in broadcast_add 's' of the graph"):
        y.eval(a=mx.nd.ones((2, 3)), b=mx.nd.ones(4))


@pytest.mark.parametrize("name, count", [("multi_sum_sq", "num_arrays"), ("add_n", "num_args")])
def test_inputs_of_a_graph_that_are_counted(mx, name, count):
    x, y = mx.sym.var("x"), mx.sym.var("y")
    for number in (1, 3):
        with pytest.raises(ValueError, match=f"{name}: {count} is {number} for 2 arrays\n  exp"):
            getattr(mx.sym, name)(x, y, **{count: number})
    text = getattr(mx.sym, name)(x, y, **{count: 2}).tojson()
    assert f'"{count}": "2"' in text
    with pytest.raises(ValueError, match=f"node 2 .*{name}: {count} is 3 for 2 arrays\n  exp"):
        mx.sym.load_json(text.replace(f'"{count}": "2"', f'"{count}": "3"'))


def test_what_is_not_here_makes_no_dense_copies(mx, nd, a, caplog):
    with pytest.raises(NotImplementedError, match="_contrib_dgl_adjacency: not supported"):
        nd.contrib.dgl_adjacency(a.tostype("csr"))
    assert not caplog.records


@pytest.mark.engine("torch")
def test_dtypes_in_a_graph(mx):
    net = mx.gluon.nn.Dense(2, in_units=3)
    net.initialize()
    net.hybridize()
    with pytest.raises(TypeError, match="data is int32, weight is float32, bias is float32"):
        net(mx.nd.ones((2, 3), dtype="int32"))
