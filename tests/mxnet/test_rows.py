"""What recorded cases cannot show of an operator: errors, inferred shapes, states, draws."""

import os
from importlib import import_module

import numpy as np
import pytest

torch_only = pytest.mark.engine("torch")

if os.environ["LAYERS_ENGINE"] == "torch":
    _op = import_module("layers.mxnet._table.registry")

REFUSED = [  # operator, shapes of the inputs, attributes, what the message says
    ("Reshape", [(2, 3)], {}, "shape is ()"),
    ("sum", [(2, 3)], {"axis": 2}, "axis is (2,), data is (2, 3)"),
    ("prod", [(2, 3)], {"axis": (0, -3)}, "axis is (0, -3), data is (2, 3)"),
    ("max", [(2, 3)], {"axis": 2, "exclude": True}, "axis is (2,), data is (2, 3)"),
    ("mean", [(2, 3)], {"axis": (1, -1)}, "expected axes from -2 to 1, each once"),
    ("squeeze", [(1, 3)], {"axis": 1}, "axis 1 of (1, 3) has size 3"),
    ("Concat", [(2, 3), (3, 3)], {}, "Concat: "),
    ("SliceChannel", [(2, 3)], {"num_outputs": 2}, "axis 1 of (2, 3) has size 3"),
    ("SliceChannel", [(2, 4)], {"num_outputs": 2, "squeeze_axis": True}, "expected 2 parts"),
    ("slice", [(2, 3)], {"begin": (0, 1), "end": (1,)}, "begin is (0, 1), end is (1,)"),
    ("slice", [(2, 3)], {"begin": (0,), "end": (1,), "step": (0,)}, "step is (0,)"),
    ("slice_axis", [(2, 3)], {"axis": 1, "begin": 1, "end": 4}, "begin is 1, end is 4"),
    ("slice_axis", [(2, 3)], {"axis": 1, "begin": 2, "end": 2}, "one element or more"),
    ("slice_like", [(2, 3), (3, 3)], {}, "axis 0 of shape_like (3, 3) has size 3"),
    ("slice_like", [(2, 3), (2,)], {}, "shape_like is (2,)"),
    ("reshape_like", [(2, 3), (5,)], {}, "cannot take the shape (5,)"),
    ("repeat", [(2, 3)], {"repeats": -1}, "repeats is -1"),
    ("Pad", [(2, 3)], {"mode": "edge", "pad_width": (0, 0, 1, 1)}, "pad_width is (0, 0, 1, 1)"),
    ("depth_to_space", [(1, 6, 2, 2)], {"block_size": 2}, "multiples of 4 on axis 1"),
    ("space_to_depth", [(1, 6, 2, 3)], {"block_size": 2}, "multiples of 2 on axis 2 and 3"),
    ("diag", [(2, 3)], {"k": 3}, "k is 3"),
    ("Embedding", [(2,), (3, 4)], {"input_dim": 3, "output_dim": 5}, "weight is (3, 4)"),
    ("pick", [(2, 3), (3,)], {}, "index is (3,)"),
    ("pick", [(2, 3), (2,)], {"axis": None}, "axis is None"),
    ("gather_nd", [(2, 3), (1,)], {}, "indices is (1,)"),
    ("SequenceMask", [(2, 3), (3,)], {}, "sequence_length is (3,)"),
    ("SequenceLast", [(2, 3)], {"use_sequence_length": True}, "sequence_length is missing"),
    ("SequenceLast", [(3,)], {}, "data is (3,)"),
    ("SequenceReverse", [(2, 3)], {"axis": 1}, "axis is 1"),
    ("dot", [(2, 3), (2, 3)], {}, "lhs is (2, 3) float32, rhs is (2, 3)"),
    ("batch_dot", [(2, 3, 4), (1, 4, 5)], {}, "rhs is (1, 4, 5)"),
    ("FullyConnected", [(2, 3, 4), (5, 8), (5,)], {"num_hidden": 5}, "flattens to 12 columns"),
    ("FullyConnected", [(2, 3), (5, 3)], {"num_hidden": 5}, "bias is missing"),
    ("FullyConnected", [(2, 3), (5, 3), (1,)], {"num_hidden": 5}, "bias is (1,)"),
    ("FullyConnected", [(5, 3), (5, 3), (5, 1)], {"num_hidden": 5}, "bias is (5, 1)"),
    ("FullyConnected", [(2, 3), (5, 3)], {"num_hidden": 4, "no_bias": True}, "num_hidden=4"),
    ("LeakyReLU", [(2, 3)], {"act_type": "prelu"}, "gamma is missing"),
    ("LeakyReLU", [(2, 3), (3,)], {}, "gamma is (3,)"),
    ("softmax", [(2, 3), (2,)], {}, "length is (2,)"),
    ("softmax", [(2, 3)], {"use_length": True}, "length is missing"),
    ("softmax_cross_entropy", [(2, 3), (3,)], {}, "label is (3,)"),
    ("Dropout", [(2, 3)], {"p": 1.5}, "p is 1.5"),
    ("BatchNorm", [(2, 3), (4,), (3,), (3,), (3,)], {}, "gamma is (4,) for data (2, 3)"),
    ("LayerNorm", [(2, 3), (3,), (2,)], {}, "beta is (2,)"),
    ("InstanceNorm", [(2, 3), (3,), (3,)], {}, "data is (2, 3)"),
    ("GroupNorm", [(2, 4, 3), (3,), (3,)], {"num_groups": 3}, "num_groups is 3"),
    (
        "Convolution",
        [(1, 2, 5), (4, 3, 3), (4,)],
        {"kernel": 3, "num_filter": 4},
        "weight is (4, 3",
    ),
    (
        "Convolution",
        [(2, 5), (4, 2, 3), (4,)],
        {"kernel": 3, "num_filter": 4},
        "and the kernel (3,)",
    ),
    (
        "Deconvolution",
        [(1, 2, 5), (3, 4, 3)],
        {"kernel": 3, "num_filter": 4},
        "weight is (3, 4, 3)",
    ),
    ("Pooling", [(1, 2, 5)], {"kernel": 7}, "kernel is 7"),
    ("_image_to_tensor", [(2, 3)], {}, "expected (h, w, c) or (n, h, w, c)"),
    ("_image_normalize", [(2, 3, 3)], {}, "with 1 or 3 channels"),
    ("_image_normalize", [(3, 2, 2)], {"mean": (1, 2)}, "mean is (1, 2), data is (3, 2, 2)"),
    ("_image_normalize", [(3, 2, 2)], {"mean": (2, 2)}, "mean is (2, 2), data is (3, 2, 2)"),
    ("_image_normalize", [(1, 2, 2)], {"std": (1, 1, 1)}, "std is (1, 1, 1), data is (1, 2, 2)"),
    ("_image_crop", [(4, 5, 3)], {"x": 3, "y": 0, "width": 3, "height": 1}, "within width 5"),
    ("_image_crop", [(4, 5, 3)], {"x": -1, "y": 0, "width": 1, "height": 1}, "x=-1"),
    ("_image_crop", [(4, 5, 3)], {"x": 0, "y": 0, "width": 0, "height": 1}, "width=0"),
    ("_image_resize", [(4, 5, 3)], {}, "size is ()"),
    ("_image_resize", [(4, 5, 3)], {"size": (1, 2, 3)}, "size is (1, 2, 3)"),
    ("_image_resize", [(4, 5, 3)], {"size": -1}, "size is (-1,)"),
    ("_image_resize", [(4, 5, 3)], {"size": 2, "interp": 5}, "interp is 5"),
    ("_image_resize", [(9, 2, 3)], {"size": 1, "keep_ratio": True, "interp": 9}, "interp is 9"),
    ("_image_resize", [(0, 5, 3)], {"size": 2}, "from (0, 5, 3)"),
    ("_image_flip_left_right", [(2, 2, 4)], {}, "expected (h, w, 3) or (h, w, 1)"),
    ("_image_random_flip_top_bottom", [(1, 2, 2, 3)], {}, "expected (h, w, c)"),
    (
        "_image_random_hue",
        [(2, 2, 3)],
        {"min_factor": -1, "max_factor": 1},
        "min_factor is -1, max_factor is 1",
    ),
    ("_image_adjust_lighting", [(2, 2, 3)], {"alpha": (1, 2)}, "alpha is (1, 2)"),
    ("Pooling", [(1, 2, 5)], {"kernel": 2, "pad": 2}, "pad 2"),
    ("Pooling", [(1, 2, 5)], {"kernel": 2, "pool_type": "lp"}, "p_value is None"),
    ("SoftmaxOutput", [(2, 3), (3,)], {}, "label is (3,) for data (2, 3)\n  expected (2,)"),
    ("LinearRegressionOutput", [(2, 3), (3, 2)], {}, "label is (3, 2)"),
    ("_contrib_BilinearResize2D", [(2, 3)], {}, "data is (2, 3)"),
    ("linalg_trmm", [(2, 2), (1, 2, 2)], {}, "A is (2, 2), B is (1, 2, 2)"),
    ("linalg_extractdiag", [(2, 2)], {"offset": -2}, "offset is -2\n  expected -1 to 1"),
    ("linalg_extracttrian", [(2, 2)], {"offset": 2}, "offset is 2\n  expected -1 to 1"),
    ("linalg_sumlogdiag", [(2, 3)], {}, "A is (2, 3)\n  expected square matrices"),
    ("linalg_maketrian", [(1, 4)], {}, "A is (1, 4)"),
    ("linalg_gelqf", [(3, 2)], {}, "A is (3, 2)"),
]


@torch_only
@pytest.mark.parametrize("name, shapes, attributes, message", REFUSED)
def test_refused(mx, name, shapes, attributes, message):
    with pytest.raises(mx.base.MXNetError) as error:
        function(mx, name)(*[mx.nd.array(np.ones(shape)) for shape in shapes], **attributes)
    assert message in str(error.value)
    shown = str(error.value) + "".join(getattr(error.value, "__notes__", []))
    assert f"  in {'_' * name.startswith('linalg_')}{name}(" in shown


def test_a_matrix_that_is_not_positive(mx):
    with pytest.raises(mx.base.MXNetError, match="positive[- ]definite"):
        mx.nd.linalg.potrf(mx.nd.array([[-1]])).asnumpy()


@torch_only
def test_hard_sigmoid_refuses_integers(mx):
    with pytest.raises(TypeError, match="hard_sigmoid: data is int32"):
        mx.nd.hard_sigmoid(mx.nd.ones((2,), dtype="int32"))


def function(mx, name):
    for prefix, place in (("_contrib_", mx.nd.contrib), ("_image_", mx.nd.image)):
        if name.startswith(prefix):
            return getattr(place, name.removeprefix(prefix))
    return getattr(mx.nd, name)


OUTSIDE = [
    ("take", [5.0], {"mode": "raise"}, "take: an index is 5\n  expected 0 to 1"),
    ("take", [-1.0], {"mode": "raise"}, "an index is -1\n  expected 0 to 1"),
    ("gather_nd", [[0.0], [3.0]], {}, "an index is 3\n  expected -3 to 2"),
]


@pytest.mark.parametrize("name, index, attributes, message", OUTSIDE)
def test_an_index_outside(mx, engine, name, index, attributes, message):
    with pytest.raises((mx.base.MXNetError, IndexError)) as error:
        getattr(mx.nd, name)(mx.nd.ones((2, 3)), mx.nd.array(index), **attributes).asnumpy()
    assert engine == "mxnet" or message in str(error.value)


@torch_only
@pytest.mark.parametrize("label, problem", [(7, 7), (3, 3), (-1, -1)])
def test_a_label_that_is_no_class(mx, label, problem):
    data, one = mx.nd.ones((4, 1, 3)), mx.nd.array([1])
    labels = mx.nd.array([[1, label]])
    with pytest.raises(
        mx.base.MXNetError, match=f"CTCLoss: a label is {problem}\n  expected 0 to 2"
    ):
        mx.nd.CTCLoss(data, labels)
    behind_the_end = mx.nd.CTCLoss(data, labels, one, use_label_lengths=True)
    alone = mx.nd.CTCLoss(data, mx.nd.array([[1, 0]]))
    assert behind_the_end.asnumpy() == alone.asnumpy()


INFERRED = [  # operator, shape of the data, attributes, shapes of the other inputs
    ("FullyConnected", (2, 3, 4), {"num_hidden": 5}, {"weight": (5, 12), "bias": (5,)}),
    ("FullyConnected", (2, 3, 4), {"num_hidden": 5, "flatten": False, "no_bias": True},
     {"weight": (5, 4)}),
    ("Embedding", (2, 3), {"input_dim": 5, "output_dim": 7}, {"weight": (5, 7)}),
    ("LeakyReLU", (2, 3, 4), {"act_type": "prelu"}, {"gamma": (3,)}),
    ("BatchNorm", (2, 3, 4), {"axis": -1},
     {"gamma": (4,), "beta": (4,), "moving_mean": (4,), "moving_var": (4,)}),
    ("LayerNorm", (2, 3, 4), {"axis": 1}, {"gamma": (3,), "beta": (3,)}),
    ("InstanceNorm", (2, 3, 4), {}, {"gamma": (3,), "beta": (3,)}),
    ("GroupNorm", (2, 4, 3), {"num_groups": 2}, {"gamma": (2,), "beta": (2,)}),
    ("Convolution", (2, 4, 5, 6), {"kernel": (3, 2), "num_filter": 6, "num_group": 2},
     {"weight": (6, 2, 3, 2), "bias": (6,)}),
    ("Convolution", (2, 5, 6, 4), {"kernel": (3, 2), "num_filter": 6, "layout": "NHWC"},
     {"weight": (6, 3, 2, 4), "bias": (6,)}),
    ("Deconvolution", (2, 4, 5, 6), {"kernel": (3, 2), "num_filter": 6, "num_group": 2},
     {"weight": (4, 3, 3, 2)}),
    ("Deconvolution", (2, 5, 6, 4), {"kernel": (3, 2), "num_filter": 6, "layout": "NHWC",
     "no_bias": False}, {"weight": (4, 3, 2, 6), "bias": (6,)}),
    ("softmax", (2, 3, 4), {"axis": 1, "use_length": True}, {"length": (2, 4)}),
    ("SequenceMask", (5, 3, 4), {"use_sequence_length": True}, {"sequence_length": (3,)}),
    ("SequenceLast", (5, 3, 4), {"use_sequence_length": True, "axis": 1},
     {"sequence_length": (5,)}),
    ("SoftmaxOutput", (2, 3), {}, {"label": (2,)}),
    ("SoftmaxOutput", (2, 3, 4, 5), {"multi_output": True}, {"label": (2, 20)}),
    ("SoftmaxOutput", (2, 3), {"multi_output": True}, {"label": (2, 1)}),
    ("SoftmaxOutput", (2, 3, 4), {"preserve_shape": True}, {"label": (2, 3)}),
    ("LinearRegressionOutput", (2, 3), {}, {"label": (2, 3)}),
    ("LogisticRegressionOutput", (2, 1), {}, {"label": (2,)}),
    ("MAERegressionOutput", (2,), {}, {"label": (2,)}),
]  # fmt: skip


@pytest.mark.parametrize("name, data, attributes, expected", INFERRED)
def test_inferred_shapes(mx, engine, name, data, attributes, expected):
    if engine == "mxnet":
        symbol = getattr(mx.sym, name)(mx.sym.var("data"), name="n", **attributes)
        arguments, _, states = symbol.infer_shape_partial(data=data)
        named = [*symbol.list_arguments(), *symbol.list_auxiliary_states()]
        found = {n.removeprefix("n_"): s for n, s in zip(named, [*arguments, *states])}
        assert found == {"data": data} | expected
        return
    row = _op.get(name)
    shapes = dict.fromkeys(row.inputs) | {"data": data}
    assert row.infer_shapes(shapes, attributes) == expected
    if row.inputs_rule:
        assert set(_op.ask(row.inputs_rule, row.defaults | attributes)) == {"data", *expected}


def normalized(mx, **attributes):
    """BatchNorm of [0, 0, 0], [2, 4, 6], and its gamma and states."""
    states = [mx.nd.full((3,), v) for v in (5, 0, 1, 1)]
    data = mx.nd.array([[0, 0, 0], [2, 4, 6]])
    return mx.nd.BatchNorm(data, *states, **attributes), states


@torch_only  # MXNet's states move on the way back, on a CPU
def test_batch_norm_moves_its_states_on_the_way_forward(mx):
    with mx.autograd.train_mode():
        _, (_, _, mean, var) = normalized(mx, momentum=0.75)
    assert mean.asnumpy().tolist() == [1, 1.25, 1.5]
    np.testing.assert_allclose(var.asnumpy(), [1, 1.75, 3], rtol=1e-6)


def test_batch_norm_leaves_its_states(mx):
    _, (_, _, mean, var) = normalized(mx)
    with mx.autograd.train_mode():
        _, (_, _, *more) = normalized(mx, use_global_stats=True)
    for state in mean, var, *more:
        assert state.asnumpy().tolist() == [1, 1, 1]


@torch_only  # MXNet writes ones into gamma
def test_fix_gamma_leaves_gamma(mx):
    y, (gamma, *_) = normalized(mx, eps=0)
    assert gamma.asnumpy().tolist() == [5, 5, 5]
    assert y.asnumpy()[0].tolist() == [-1, -1, -1]


def test_a_copy_of_a_state_stays(mx):
    weight, gradient, mom = mx.nd.ones((3,)), mx.nd.ones((3,)), mx.nd.ones((3,))
    kept = mx.nd.zeros((3,))
    kept[:] = mom
    mx.nd.sgd_mom_update(weight, gradient, mom, lr=0.5, momentum=0.5, out=weight)
    assert kept.asnumpy().tolist() == [1, 1, 1]
    assert mom.asnumpy().tolist() == [0, 0, 0]
    assert weight.asnumpy().tolist() == [1, 1, 1]


def test_out_stays_a_variable(mx):
    weight = mx.nd.ones((3,))
    weight.attach_grad()
    for expected in [0, 0, 0], [-1, -1, -1]:
        with mx.autograd.record():
            y = weight * 2
        y.backward()
        assert mx.nd.sgd_update(weight, weight.grad, lr=0.5, out=weight) is weight
        assert weight.asnumpy().tolist() == expected


@torch_only  # MXNet divides 0 by 0
def test_dropout_of_everything(mx):
    with mx.autograd.train_mode():
        assert not mx.nd.Dropout(mx.nd.ones((5,)), p=1).asnumpy().any()


def test_dropout_axes_share_a_draw(mx):
    with mx.autograd.train_mode():
        y = mx.nd.Dropout(mx.nd.ones((8, 200)), p=0.5, axes=(0,)).asnumpy()
    assert (y == y[0]).all()
    assert set(y.flat) == {0, 2}


@torch_only  # MXNet crashes
def test_rrelu_draws_slopes(mx):
    x = mx.nd.full((4000,), -1)
    with mx.autograd.train_mode():
        y, mask = mx.nd.LeakyReLU(x, act_type="rrelu", lower_bound=0.2, upper_bound=0.6)
    slopes = -y.asnumpy()
    assert 0.2 <= slopes.min() < 0.21 < 0.59 < slopes.max() <= 0.6
    assert abs(slopes.mean() - 0.4) < 0.02
    assert (mask.asnumpy() == slopes).all()


def test_outputs_of_leaky_relu(mx):
    x = mx.sym.Variable("x")
    assert mx.sym.LeakyReLU(x, name="y").list_outputs() == ["y_output"]
    drawn = mx.sym.LeakyReLU(x, act_type="rrelu", name="y")
    assert drawn.list_outputs() == ["y_output", "y_mask"]
    assert drawn.infer_shape(x=(2, 3))[1] == [(2, 3), (2, 3)]


@torch_only  # MXNet crashes
@pytest.mark.parametrize("size, expected", [(4, [2, 3]), (5, [1, 3, 4])])
def test_same_pooling(mx, size, expected):
    x = mx.nd.arange(size).reshape((1, 1, size))
    y = mx.nd.Pooling(x, kernel=3, stride=2, pooling_convention="same")
    assert y.asnumpy().ravel().tolist() == expected


@torch_only
def test_a_window_beyond_the_edge(mx):
    x = mx.nd.ones((1, 1, 5))
    found = {
        pool_type: mx.nd.Pooling(
            x, kernel=3, stride=3, pad=1, pool_type=pool_type, pooling_convention="full"
        ).asnumpy()
        for pool_type in ("max", "sum", "avg")
    }
    assert found["max"].ravel().tolist() == [1, 1, np.finfo("float32").min]
    assert found["sum"].ravel().tolist() == [2, 3, 0]
    np.testing.assert_allclose(found["avg"].ravel(), [2 / 3, 1, 0], rtol=1e-6)


def test_topk_takes_the_first_of_equal_elements(mx):
    x = mx.nd.array([[10, 0, 0, 0], [5, 5, 5, 5]])
    assert mx.nd.topk(x, k=2).asnumpy().tolist() == [[0, 1], [0, 1]]
    mask = mx.nd.topk(x, k=2, ret_typ="mask").asnumpy().tolist()
    assert mask == [[1, 1, 0, 0], [1, 1, 0, 0]]


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("low, high", [(0, 6), (-0.5, 0.5), (-4, -2), (1, 1), (0.1, 123.456)])
def test_clip_has_a_gradient_up_to_its_bounds(mx, low, high, dtype):
    low, high = np.float32(low), np.float32(high)  # as MXNet has attributes
    bounds, infinity = np.array([low, high], dtype), np.array(np.inf, dtype)
    outside = np.nextafter(bounds, [-infinity, infinity])
    outside[bounds == 0] = -np.finfo(dtype).tiny
    inside = np.nextafter(bounds, bounds[::-1])
    values = [*inside, *bounds, *outside, np.nan, -np.inf, np.inf]
    x = mx.nd.array(values * 16, dtype=dtype)  # also as many as processors take at once
    x.attach_grad()
    with mx.autograd.record():
        y = mx.nd.clip(x, float(low), float(high))
    y.backward()
    np.testing.assert_array_equal(x.grad.asnumpy(), [1, 1, 1, 1, 0, 0, 1, 0, 0] * 16)


def test_an_index_outside_is_an_index_error_too(mx):
    x, places = mx.nd.ones((2, 3)), mx.nd.array([[0, 1], [0, 3]])
    with pytest.raises(IndexError):
        mx.nd.gather_nd(x, places).asnumpy()


@torch_only
@pytest.mark.parametrize("name", ["depth_to_space", "space_to_depth"])
def test_blocks_of_size_0_or_of_nothing(mx, name):
    for shape, size in (((1, 4, 2, 2), 0), ((1, 4, 0, 2), 2)):
        with pytest.raises(mx.base.MXNetError):
            getattr(mx.nd, name)(mx.nd.empty(shape), size)
    with pytest.raises(mx.base.MXNetError, match="block_size is -2\n  expected 1 or more"):
        getattr(mx.nd, name)(mx.nd.ones((1, 4, 2, 2)), -2)


@torch_only
def test_what_is_no_number_or_matrix_is_refused(mx):
    with pytest.raises(TypeError, match="arange: start is 'a'\n  expected a number"):
        mx.nd.arange("a")
    with pytest.raises(mx.base.MXNetError, match=r"A is \(3,\)\n  expected square matrices"):
        mx.nd.linalg.potri(mx.nd.ones(3))
    with pytest.raises(mx.base.MXNetError, match=r"reps is \(1, 0\)"):
        mx.nd.tile(mx.nd.ones((2, 2)), (1, 0))


@torch_only
def test_a_misspelt_name_is_answered_by_the_nearest(mx):
    with pytest.raises(AttributeError, match="'Convoluton'\n  did you mean 'Convolution'?"):
        mx.nd.Convoluton  # noqa: B018 - asked for its error
    with pytest.raises(AttributeError, match="'ImgRecordIter'\n  did you mean 'ImageRecordIter'?"):
        mx.io.ImgRecordIter  # noqa: B018 - it is imported when it is asked for
    with pytest.raises(AttributeError, match="'nop'\n  did you mean 'np'?"):
        mx.nop  # noqa: B018 - asked for its error


NUMBERS = [2.0, 0.0, -0.0, 0.1, 1e-45, 1e300, float("inf"), float("nan")]


@torch_only
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", ["add", "sub", "rsub", "mul", "div"])
def test_numbers_are_rounded_as_pytorch_does(name, dtype):
    torch = import_module("torch")
    operators = {"add": "_plus", "sub": "_minus", "rsub": "_rminus", "mul": "_mul", "div": "_div"}
    row = _op.get(f"{operators[name]}_scalar")
    x = torch.tensor([1.0, -0.0, 0.3, 1e-45, 65504, float("inf")], dtype=getattr(torch, dtype))
    for number in NUMBERS * 2:
        found, expected = row.run(x, number), getattr(torch, name)(x, number)
        torch.testing.assert_close(found, expected, rtol=0, atol=0, equal_nan=True)
        assert torch.equal(found.signbit(), expected.signbit()), number


@torch_only
def test_numbers_that_came_first_in_inference_mode():
    torch = import_module("torch")
    row, x = _op.get("_mul_scalar"), torch.ones(2, requires_grad=True)
    with torch.inference_mode():
        row.run(torch.ones(2), 0.7381)
    row.run(x, 0.7381).sum().backward()
    torch.testing.assert_close(x.grad, torch.full((2,), 0.7381))


@torch_only
def test_numbers_that_came_first_on_another_default_device():
    torch = import_module("torch")
    row = _op.get("_plus_scalar")
    x = torch.ones(2)
    torch.set_default_device("meta")
    try:
        row.run(x, 3.7311)
    finally:
        torch.set_default_device(None)
    assert torch.equal(row.run(x, 3.7311), x + 3.7311)


@torch_only
@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_layer_norm_sums_gradients_of_16_bits_in_32(mx, dtype):
    random = np.random.RandomState(0)
    x, dy = (mx.nd.array(random.randn(512, 10)).astype(dtype) for _ in range(2))

    def gradients(dtype):
        arrays = [
            x.astype(dtype),
            mx.nd.ones((10,)).astype(dtype),
            mx.nd.zeros((10,)).astype(dtype),
        ]
        for array in arrays:
            array.attach_grad()
        with mx.autograd.record():
            y = mx.nd.LayerNorm(*arrays)
        y.backward(dy.astype(dtype))
        return [array.grad.astype("float64").asnumpy() for array in arrays]

    step = 2.0**-8 if dtype == "bfloat16" else 2.0**-11
    for found, expected in zip(gradients(dtype), gradients("float64")):
        np.testing.assert_allclose(found, expected, rtol=2 * step, atol=2 * step)
