"""Typical arguments of every operator of MXNet's table, and why some take longer than MXNet's."""

from __future__ import annotations

from typing import Any, NamedTuple


class Ints(NamedTuple):
    """Whole numbers below a bound, as an input."""

    shape: tuple[int, ...]
    below: int
    dtype: str = "float32"


class Exact(NamedTuple):
    """These very numbers, as an input."""

    values: tuple
    dtype: str = "float32"


class Boxes(NamedTuple):
    """Boxes (xmin, ymin, xmax, ymax) in [0, scale], behind other numbers: (n, columns)."""

    shape: tuple[int, ...]
    scale: float = 1.0
    first: int = 0  # how many images, or classes, the first column has


class Row(NamedTuple):
    """Inputs, of which a tuple is the shape of numbers between 0.1 and 0.9, and attributes."""

    inputs: tuple
    attributes: dict[str, Any]
    draws: bool = False  # random numbers: only shapes are compared
    into: tuple[int, ...] = ()  # the inputs that the outputs are written to


ROWS: dict[str, Row] = {}
# Rows that take more than 3 times as long as MXNet's, and why.
_PASSES = "passes through memory, of which MXNet makes one"
_CALLS = "some calls of PyTorch, each of which costs more than its part of the work"
REASONS: dict[str, str] = {
    "LRN": "a sum for each of its channels, and two roots, each through memory",
    "SequenceMask": _PASSES,
    "_contrib_quantize": _PASSES,
    "_image_adjust_lighting": _CALLS,
    "_contrib_hawkesll": "the sum over pairs of events, for PyTorch has no loop over them",
    "_contrib_quantize_asym": _PASSES,
    "_contrib_quantize_v2": _PASSES,
    "_contrib_quantized_concat": _PASSES,
    "_histogram": "finds the edges that NumPy has, to the last bit",
    "_image_random_lighting": _CALLS,
    "_image_random_saturation": _PASSES,
    "_scatter_set_nd": "gives a copy of the array, of which MXNet writes the places alone",
    "_image_resize": "MXNet asks OpenCV, which computes bytes with bytes",
}
LEFT_OUT = {
    "BatchNorm_v1": "MXNet's takes no moving statistics from a caller",
    "Deconvolution": "MXNet's fails on processors of today",
    "IdentityAttachKLSparseReg": "MXNet's takes no moving average from a caller",
    "_contrib_SparseEmbedding": "measured as Embedding",
    "_contrib_allclose": "MXNet's fails on arrays",
    "_contrib_count_sketch": "MXNet's is for GPUs alone",
    "_contrib_edge_id": "takes a csr",
    "_contrib_fft": "MXNet's is for GPUs alone",
    "_contrib_getnnz": "takes a csr",
    "_contrib_group_adagrad_update": "MXNet's wants a gradient that is sparse",
    "_contrib_ifft": "MXNet's is for GPUs alone",
    "_contrib_quantized_batch_norm": "MXNet's wants ranges of its own",
    "_contrib_quantized_conv": "measured by the suite int8",
    "_contrib_quantized_elemwise_mul": "MXNet's fails on arrays",
    "_contrib_quantized_fully_connected": "measured by the suite int8",
    "_contrib_quantized_rnn": "MXNet's fails",
    "_np_cumsum": "MXNet's is that of mx.np",
    "_sample_unique_zipfian": "MXNet's takes no arguments of nd",
    "_square_sum": "MXNet's takes a row_sparse",
    "batch_take": "measured as pick, which MXNet says to use at each call",
    "cast_storage": "makes sparse arrays",
    "reset_arrays": "gives nothing",
}
M, BATCH, IMAGE = (256, 1024), (16, 64, 28, 28), (224, 224, 3)


def row(names: str, *inputs, draws: bool = False, into=(), **attributes) -> None:
    """Typical arguments of some operators."""
    for name in names.split():
        ROWS[name] = Row(inputs, attributes, draws, into)


row(
    "abs negative reciprocal square sqrt rsqrt exp expm1 log log2 log10 log1p sin cos tan arcsin", M
)
row("arccos arctan sinh cosh tanh arcsinh arctanh degrees radians erf erfinv gammaln sigmoid", M)
row("softsign relu sign floor ceil trunc fix logical_not zeros_like ones_like _copy BlockGrad", M)
row("round rint gamma cbrt rcbrt hard_sigmoid _contrib_quadratic _contrib_gradientmultiplier", M)
row("_contrib_round_ste _contrib_sign_ste shape_array size_array all_finite", M)
row("arccosh", Ints(M, 9))
row("clip", M, a_min=0.2, a_max=0.7)
row("smooth_l1", M, scalar=1.0)
row("Cast", M, dtype="float64")
row("amp_cast", M, dtype="float16")
row("amp_multicast", M, M, num_outputs=2)
row("multi_all_finite", M, M, num_arrays=2)
row("where", Ints(M, 2), M, M)
for _name in ("add", "sub", "mul", "div", "mod", "power", "hypot", "maximum", "minimum"):
    row(f"broadcast_{_name}", M, (1, 1024))
for _name in ("equal", "not_equal", "greater", "greater_equal", "lesser", "lesser_equal",
              "logical_and", "logical_or", "logical_xor"):  # fmt: skip
    row(f"broadcast_{_name}", M, (1, 1024))
    row(f"_{_name}", M, M)
    row(f"_{_name}_scalar", M, scalar=0.5)
row("elemwise_add elemwise_sub elemwise_mul elemwise_div _grad_add _scatter_elemwise_div", M, M)
row("_mod _power _hypot _maximum _minimum _identity_with_attr_like_rhs add_n", M, M)
row("_plus_scalar _minus_scalar _scatter_plus_scalar _scatter_minus_scalar _rminus_scalar", M,
    scalar=0.5)  # fmt: skip
row("_mul_scalar _div_scalar _rdiv_scalar _mod_scalar _rmod_scalar _power_scalar _rpower_scalar", M,
    scalar=0.5)  # fmt: skip
row("_hypot_scalar _maximum_scalar _minimum_scalar", M, scalar=0.5)
row("broadcast_axis", (256, 1), axis=1, size=1024)
row("broadcast_to", (256, 1), shape=M)
row("broadcast_like", (256, 1), M)
row("sum mean prod nansum nanprod max min norm argmax argmin", M, axis=1)
row("argmax_channel L2Normalization", M)
row("moments", M, axes=(1,))
row("Reshape", M, shape=(-1, 64))
row("Flatten", BATCH)
row("transpose", M)
row("expand_dims", M, axis=1)
row("squeeze", (256, 1, 1024))
row("SwapAxis", BATCH, dim1=1, dim2=2)
row("Concat", M, M, dim=1)
row("stack", M, M, axis=1)
row("SliceChannel", M, num_outputs=4, axis=1)
row("_split_v2", M, indices=(0, 256, 512), axis=1)
row("slice", M, begin=(10, 20), end=(200, 900))
row("slice_axis", M, axis=1, begin=10, end=900)
row("slice_like", M, (200, 900))
row("reshape_like", M, (1024, 256))
row("tile", (64, 64), reps=(4, 16))
row("repeat", (64, 1024), repeats=4, axis=0)
row("reverse", M, axis=1)
row("Pad", BATCH, mode="constant", pad_width=(0, 0, 0, 0, 1, 1, 1, 1), constant_value=0)
row("depth_to_space space_to_depth", BATCH, block_size=2)
row("diag", (512, 512))
row("take", (1000, 256), Ints((32, 20), 1000))
row("Embedding", Ints((32, 20), 1000), (1000, 256), input_dim=1000, output_dim=256)
row("one_hot", Ints((1024,), 256), depth=256)
row("pick", M, Ints((256,), 1024), axis=1)
row("gather_nd", M, Ints((2, 5000), 256))
row("scatter_nd", (5000,), Ints((2, 5000), 256), shape=M)
row("_scatter_set_nd", M, (5000,), Ints((2, 5000), 256), shape=M, into=(0,))
row("SequenceMask SequenceLast SequenceReverse", (50, 32, 128), Exact((25,) * 32),
    use_sequence_length=True)  # fmt: skip
row("_slice_assign", M, (100, 100), begin=(0, 0), end=(100, 100))
row("_slice_assign_scalar", M, begin=(0, 0), end=(100, 100), scalar=1)
row("fill_element_0index", M, (256,), Ints((256,), 1024))
row("_contrib_boolean_mask", M, Ints((256,), 2))
row("_contrib_arange_like", M, axis=1)
row("_contrib_index_array", (64, 128))
row("_contrib_index_copy", M, Exact(tuple(range(50)), "int64"), (50, 1024))
row("_ravel_multi_index", Ints((2, 10000), 256), shape=M)
row("_unravel_index", Ints((10000,), 10000), shape=M)
row("_histogram", M, bin_cnt=100, range=(0.0, 1.0))
row("sort argsort", M, axis=1)
row("topk", M, axis=1, k=10)
row("dot", (256, 256), (256, 256))
row("batch_dot _linalg_gemm2", (16, 64, 64), (16, 64, 64))
row("_linalg_gemm", (16, 64, 64), (16, 64, 64), (16, 64, 64))
EYE = Exact(tuple(tuple((i + 9) / 20 * (i == j) + 0.01 for j in range(32)) for i in range(32)))
row("_linalg_potrf _linalg_potri _linalg_inverse _linalg_det _linalg_slogdet", EYE)
row("_linalg_sumlogdiag _linalg_extractdiag _linalg_extracttrian _linalg_syevd", EYE)
row("_linalg_syrk", (64, 64))
row("_linalg_trsm _linalg_trmm", EYE, EYE)
row("_linalg_makediag", (16, 64))
row("_linalg_maketrian", (16, 528))
row("_linalg_gelqf", (32, 64))
row("khatri_rao", (20, 64), (30, 64))
row("_contrib_quantize", M, Exact((0.0,)), Exact((1.0,)))
row("_contrib_quantize_v2", M, min_calib_range=0.0, max_calib_range=1.0)
row("_contrib_quantize_asym", (16, 16, 1024))
row("_contrib_dequantize", Ints(M, 128, "int8"), Exact((-1.0,)), Exact((1.0,)))
row("_contrib_requantize", Ints(M, 2**20, "int32"), Exact((-1.0,)), Exact((1.0,)))
row("_contrib_calibrate_entropy", Ints((1001,), 100), Exact(tuple(range(-501, 501))))
ENDS = Exact((-1.0,)), Exact((1.0,))
row("_contrib_quantized_pooling", Ints(BATCH, 128, "int8"), *ENDS, kernel=(2, 2), stride=(2, 2))
row("_contrib_quantized_flatten", Ints(BATCH, 128, "int8"), *ENDS)
row("_contrib_quantized_act", Ints(BATCH, 128, "int8"), *ENDS, act_type="relu")
row("_contrib_quantized_embedding", Ints((32, 20), 1000), Ints((1000, 256), 128, "int8"), *ENDS,
    input_dim=1000, output_dim=256)  # fmt: skip
row("_contrib_quantized_elemwise_add", Ints(M, 128, "int8"), Ints(M, 128, "int8"), *ENDS, *ENDS,
    min_calib_range=-1.0, max_calib_range=1.0)  # fmt: skip
row("_contrib_quantized_concat", Ints(M, 128, "int8"), Ints(M, 128, "int8"), *ENDS, *ENDS,
    num_args=2)  # fmt: skip
row("FullyConnected", (64, 512), (256, 512), (256,), num_hidden=256)
row("Activation", M, act_type="relu")
row("LeakyReLU", M, act_type="leaky")
row("softmax log_softmax softmin SoftmaxActivation", M)
row("softmax_cross_entropy", M, Ints((256,), 1024))
row("Dropout", M, draws=True)
CHANNELS = [(64,)] * 4
row("BatchNorm _contrib_BatchNormWithReLU", BATCH, *CHANNELS)
row("_contrib_SyncBatchNorm", BATCH, *CHANNELS, key="rows", ndev=1)
row("LayerNorm", M, (1024,), (1024,))
row("InstanceNorm", BATCH, (64,), (64,))
row("GroupNorm", BATCH, (4,), (4,), num_groups=4)
row("Convolution", BATCH, (64, 64, 3, 3), (64,), kernel=(3, 3), pad=(1, 1), num_filter=64)
row("Convolution_v1", (4, 16, 28, 28), (16, 16, 3, 3), (16,), kernel=(3, 3), num_filter=16)
row("Pooling Pooling_v1", BATCH, kernel=(2, 2), stride=(2, 2), pool_type="max")
row("UpSampling", (4, 16, 28, 28), scale=2, sample_type="nearest")
row("_contrib_div_sqrt_dim", M)
row("_contrib_interleaved_matmul_selfatt_qk", (64, 4, 768), heads=8)
row("_contrib_interleaved_matmul_selfatt_valatt", (64, 4, 768), (32, 64, 64), heads=8)
row("_contrib_interleaved_matmul_encdec_qk", (64, 4, 256), (64, 4, 512), heads=8)
row("_contrib_interleaved_matmul_encdec_valatt", (64, 4, 512), (32, 64, 64), heads=8)
row("RNN", (20, 16, 64), (33280,), (1, 16, 64), (1, 16, 64), state_size=64, num_layers=1,
    mode="lstm")  # fmt: skip
row("_rnn_param_concat", (10000,), (10000,), dim=0)
row("SoftmaxOutput SVMOutput", M, Ints((256,), 1024))
row("LinearRegressionOutput LogisticRegressionOutput MAERegressionOutput", M, M)
row("MakeLoss make_loss", M)
row("CTCLoss", (50, 16, 40), Ints((16, 10), 39))
for _name in ("uniform", "normal", "exponential", "gamma", "poisson", "negative_binomial",
              "generalized_negative_binomial"):  # fmt: skip
    _given = {"negative_binomial": {"k": 3, "p": 0.5}}.get(_name, {})
    row(f"_random_{_name}", shape=M, draws=True, **_given)
    row(f"_random_{_name}_like", M, draws=True, **_given)
    _count = 1 if _name in ("exponential", "poisson") else 2
    row(f"_sample_{_name}", *[(256,)] * _count, shape=(256,), draws=True)
    row(f"_random_pdf_{_name}", M, *[(256,)] * _count)
row("_random_randint", low=0, high=10, shape=M, draws=True)
row("_sample_multinomial", (64, 100), shape=10, draws=True)
row("_shuffle", M, draws=True)
row("_random_pdf_dirichlet", (64, 100, 4), (64, 4))
row("_zeros _ones", shape=M)
row("_full", shape=M, value=2.0)
row("_eye", N=512)
row("_arange", start=0, stop=100000)
row("_linspace", start=0, stop=1, num=100000)
row("_contrib_BilinearResize2D", (4, 16, 28, 28), height=56, width=56)
row("_contrib_AdaptiveAvgPooling2D", BATCH, output_size=(7, 7))
row("GridGenerator", (16, 6), transform_type="affine", target_shape=(64, 64))
row("BilinearSampler", (4, 16, 28, 28), (4, 2, 28, 28))
row("SpatialTransformer", (4, 16, 28, 28), (4, 6), target_shape=(28, 28),
    transform_type="affine", sampler_type="bilinear")  # fmt: skip
row("Correlation", (2, 16, 28, 28), (2, 16, 28, 28), kernel_size=1, max_displacement=4, pad_size=4)
row("Crop", BATCH, num_args=1, h_w=(20, 20))
row("LRN", BATCH, nsize=5)
row("im2col", (8, 16, 28, 28), kernel=(3, 3), pad=(1, 1))
row("col2im", (8, 144, 784), output_size=(28, 28), kernel=(3, 3), pad=(1, 1))
row("_contrib_hawkesll", (16, 4), (4,), (4,), (16, 4), (16, 100), Ints((16, 100), 4, "int32"),
    Exact((100.0,) * 16), Exact((100.0,) * 16))  # fmt: skip
row("_contrib_box_iou", Boxes((500, 4)), Boxes((200, 4)))
row("_contrib_bipartite_matching", (4, 100, 50), threshold=0.1)
# The anchors of SSD 300, and classes of VOC.
row("_contrib_box_encode", Ints((4, 8732), 2), Ints((4, 8732), 10), Boxes((4, 8732, 4)),
    Boxes((4, 10, 4)), Exact((0.1,) * 4), Exact((0.1,) * 4))  # fmt: skip
row("_contrib_box_decode", (4, 8732, 4), Boxes((1, 8732, 4)))
row("_contrib_MultiBoxPrior", (1, 16, 38, 38), sizes=(0.1, 0.14), ratios=(1, 2, 0.5))
row("_contrib_MultiBoxTarget", Boxes((1, 8732, 4)), Boxes((4, 8, 5), first=20), (4, 21, 8732))
row("_contrib_MultiBoxDetection", (4, 21, 8732), (4, 4 * 8732), Boxes((1, 8732, 4)), nms_topk=400)
row("_contrib_box_nms", Boxes((4, 8732, 6), first=20), coord_start=2, score_index=1, id_index=0,
    topk=400)  # fmt: skip
row("_contrib_Proposal", (1, 24, 20, 20), (1, 48, 20, 20), Exact(((320.0, 320.0, 1.0),)))
row("_contrib_MultiProposal", (2, 24, 20, 20), (2, 48, 20, 20),
    Exact(((320.0, 320.0, 1.0),) * 2))  # fmt: skip
# The regions of Faster R-CNN, and R-FCN's channels.
MAPS, ROIS, BINS = (1, 256, 50, 50), Boxes((128, 5), 49.0, first=1), (1, 21 * 49, 38, 38)
row("ROIPooling", MAPS, ROIS, pooled_size=(7, 7), spatial_scale=1.0)
row("_contrib_ROIAlign", MAPS, ROIS, pooled_size=(7, 7), spatial_scale=1.0, sample_ratio=2)
row("_contrib_RROIAlign", MAPS, Boxes((128, 6), 49.0, first=1), pooled_size=(7, 7),
    spatial_scale=1.0, sampling_ratio=2)  # fmt: skip
row("_contrib_PSROIPooling", BINS, ROIS, spatial_scale=0.75, output_dim=21, pooled_size=7)
row("_contrib_DeformablePSROIPooling", BINS, ROIS, (128, 2, 7, 7), spatial_scale=0.75,
    output_dim=21, group_size=7, pooled_size=7, part_size=7, sample_per_part=2)  # fmt: skip
row("_contrib_DeformableConvolution", (2, 16, 14, 14), (2, 18, 14, 14), (16, 16, 3, 3), (16,),
    kernel=(3, 3), pad=(1, 1), num_filter=16)  # fmt: skip
row("_contrib_ModulatedDeformableConvolution", (2, 16, 14, 14), (2, 18, 14, 14), (2, 9, 14, 14),
    (16, 16, 3, 3), (16,), kernel=(3, 3), pad=(1, 1), num_filter=16)  # fmt: skip
row("_image_to_tensor", Ints(IMAGE, 256, "uint8"))
row("_image_normalize", (3, 224, 224), mean=(0.5,) * 3, std=(0.2,) * 3)
row("_image_crop", Ints(IMAGE, 256, "uint8"), x=10, y=10, width=200, height=200)
row("_image_resize", Ints(IMAGE, 256, "uint8"), size=(112, 112))
row("_image_flip_left_right _image_flip_top_bottom", Ints(IMAGE, 256, "uint8"))
row("_image_random_flip_left_right _image_random_flip_top_bottom", Ints(IMAGE, 256, "uint8"),
    draws=True)  # fmt: skip
row("_image_random_brightness _image_random_contrast _image_random_saturation",
    Ints(IMAGE, 256), min_factor=0.5, max_factor=1.5, draws=True)  # fmt: skip
row("_image_random_hue", Ints(IMAGE, 256), min_factor=0.5, max_factor=1.5, draws=True)
row("_image_random_color_jitter", Ints(IMAGE, 256), brightness=0.4, contrast=0.4, saturation=0.4,
    hue=0.4, draws=True)  # fmt: skip
row("_image_adjust_lighting", Ints(IMAGE, 256), alpha=(0.1, 0.2, 0.3))
row("_image_random_lighting", Ints(IMAGE, 256), draws=True)
HALF = Ints(M, 2, "float16")
row("sgd_update signsgd_update", M, M, lr=0.1)
row("sgd_mom_update nag_mom_update signum_update", M, M, M, lr=0.1)
row("rmsprop_update", M, M, M, lr=0.1)
row("adam_update ftrl_update", M, M, M, M, lr=0.1)
row("mp_sgd_update", HALF, HALF, M, lr=0.1)
row("mp_sgd_mom_update mp_nag_mom_update", HALF, HALF, M, M, lr=0.1)
row("ftml_update", M, M, M, M, M, lr=0.1, t=1)
row("rmspropalex_update", M, M, Exact(((9.0,) * 1024,) * 256), M, M, lr=0.1)
row("lamb_update_phase1", M, M, M, M, t=1, wd=0.1)
row("lamb_update_phase2", M, M, (1,), (1,), lr=0.1)
row("mp_lamb_update_phase1", HALF, HALF, M, M, M, t=1, wd=0.1)
row("mp_lamb_update_phase2", HALF, M, (1,), (1,), M, lr=0.1)
row("_adamw_update", M, M, M, M, (1,), lr=0.1, eta=0.1)
row("_mp_adamw_update", HALF, HALF, M, M, M, (1,), lr=0.1, eta=0.1)
TWO, RATES = {"num_weights": 2}, {"lrs": (0.1, 0.1), "wds": (0.1, 0.1)}
row("multi_sgd_update", *(M, M) * 2, **TWO, **RATES, into=(0, 2))
row("multi_sgd_mom_update", *(M, M, M) * 2, **TWO, **RATES, into=(0, 3))
row("multi_mp_sgd_update", *(HALF, HALF, M) * 2, **TWO, **RATES, into=(0, 3))
row("multi_mp_sgd_mom_update", *(HALF, HALF, M, M) * 2, **TWO, **RATES, into=(0, 4))
row("preloaded_multi_sgd_update", *(M, M) * 2, (2,), (2,), **TWO, into=(0, 2))
row("preloaded_multi_sgd_mom_update", *(M, M, M) * 2, (2,), (2,), **TWO, into=(0, 3))
row("preloaded_multi_mp_sgd_update", *(HALF, HALF, M) * 2, (2,), (2,), **TWO, into=(0, 3))
row("preloaded_multi_mp_sgd_mom_update", *(HALF, HALF, M, M) * 2, (2,), (2,), **TWO, into=(0, 4))
row("_multi_adamw_update", *(M, M, M, M) * 2, (1,), etas=(1.0, 1.0), **TWO, **RATES, into=(0, 4))
row(
    "_multi_mp_adamw_update",
    *(HALF, HALF, M, M, M) * 2,
    (1,),
    etas=(1.0, 1.0),
    **TWO,
    **RATES,
    into=(0, 5),
)
LAMB = {"learning_rates": (0.1, 0.1), "wds": (0.1, 0.1), "step_count": (1, 1), "num_tensors": 2}
row("_multi_lamb_update", *(M, M, M, M) * 2, **LAMB, into=(0, 4))
row("_multi_mp_lamb_update", *(HALF, HALF, M, M, M) * 2, **LAMB, into=(0, 5))
row("multi_sum_sq", M, M, num_arrays=2)
row("multi_lars", (100,), (100,), (100,), (100,), eta=0.1, eps=1e-8)
