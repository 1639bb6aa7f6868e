"""Why names of MXNet differ or are absent, where the code of `layers.mxnet` does not say it."""

NOT_YET = "not yet"
NO_C = "it belongs to MXNet's C library, which is not used"
ITS_OWN = "MXNet's own part, not meant for programs"
NUMPY = "a part of MXNet's NumPy interface, not meant for programs"
NO_VALUES = "a Symbol has no values: MXNet's methods only raise NotImplementedForSymbol"

# By the place of a name, a pattern: why it is absent. What is not here asks
# layers/mxnet/_old/missing.py, and is NOT_YET if that says nothing.
ABSENT = {
    r"(.*\.)?(backward_\w+|get_oshape_of_gather_nd_op)": ITS_OWN,
    r"ndarray\.(get_indexing_dispatch_code|indexing_key_expand_implicit_axes)": ITS_OWN,
    r"ndarray\.ndarray\.check_boolean_array_dimension": ITS_OWN,
    r"gluon\.model_zoo\.vision\.inception\.make_aux": ITS_OWN,
    r"gluon\.data\.dataloader\.(?!DataLoaderV1)\w+(\..*)?": ITS_OWN,
    r".*\.((DL\w+|NDArrayBase|SymbolBase)(\..*)?|MXDataIter\.debug_skip_load)": NO_C,
    r"util\.(np_ufunc_legal_option|wrap_np_\w+)": NUMPY,
    r"space(\..*)?": "it needs MXNet built with TVM",
    r"tools\.im2rec\.\w+": "a part of the program, not meant for others",
    r"libinfo\.\w+": "there is no C library of MXNet to be found",
    r"ndarray\.imdecode": "MXNet 1.9.1's refuses every image; use mx.image.imdecode",
    r"symbol\.Symbol\.(as(numpy|scalar|_in_context)|backward|copy|detach|wait_to_read)": NO_VALUES,
    r"symbol\.Symbol\.gradient": "refuses every call, as MXNet's does",
}

# By the place of a name: what it does not do.
MADE_BY = "the constructor takes other arguments: MXNet's takes a handle of its C library"
NO_DOWNLOAD = "downloads nothing: it takes files that are there already"
NO_SHARING = "ignores `shared_exec` and other arguments that share memory"
DIFFERS = {
    "executor.Executor": MADE_BY,
    "gluon.contrib.nn.SyncBatchNorm": "`num_devices` must be 1",
    "gluon.model_zoo.model_store.get_model_file": NO_DOWNLOAD,
    "gluon.rnn.LSTM": "`state_clip_min`, `state_clip_max` must be None, as in MXNet on a CPU",
    "gluon.utils.download": NO_DOWNLOAD,
    "io.MXDataIter": MADE_BY,
    "kvstore.KVStore": MADE_BY,
    "ndarray.NDArray": MADE_BY,
    "numpy.ndarray": MADE_BY,
    "symbol.Symbol": MADE_BY,
    "symbol.Symbol.bind": NO_SHARING,
    "symbol.Symbol.get_backend_symbol": "returns the graph as it is, of any backend",
    "symbol.Symbol.optimize_for": "returns the graph as it is: MXNet's backends are not here",
    "symbol.Symbol.simple_bind": NO_SHARING,
    "symbol.Symbol.list_attr": "`recursive` must be False: use attr_dict",
}

# By the title on docs/differences.md: the names that it is about; none if it is about arrays,
# gradients or graphs as a whole.
DIFFERENCES = {
    "Errors are raised by the call that causes them": "",
    "The schedule goes on where it was on another context": "",
    "None cannot be written into an array": "",
    "hybrid_forward returns an output": "",
    "A NumPy mask chooses elements": "",
    "A list beside None": "",
    "Writing out of bounds": "",
    "Splitting gives no array of the shape ()": "",
    "Operators compute arrays without elements": "",
    "Numbers that an integer array cannot hold": "",
    "Division by 0": "",
    "Large integers": "",
    "Rows of a row_sparse parameter": "gluon.Parameter.row_sparse_data",
    "Iterators over csr arrays": "io.NDArrayIter io.LibSVMIter",
    "Mixed precision leaves the code of an operator alone": "",
    "The norm of integers": "ndarray.norm symbol.norm ndarray.NDArray.norm symbol.Symbol.norm",
    "amp_cast to integers truncates": "ndarray.amp_cast symbol.amp_cast",
    "A variable is overwritten before backward": "",
    "Only floating-point arrays have gradients": "",
    "Functions of integers": "",
    "NumPy's arrays and lists are operands": "",
    "grad_req='add' adds": "",
    "The gradient of an array with grad_req='null'": "",
    "Second derivatives of custom operators": "",
    "Where MXNet's gradient is not the derivative": """
        ndarray.LeakyReLU symbol.LeakyReLU gluon.nn.PReLU gluon.nn.SELU ndarray.RNN symbol.RNN
        ndarray.SoftmaxActivation symbol.SoftmaxActivation ndarray.SoftmaxOutput
        symbol.SoftmaxOutput ndarray.Pooling symbol.Pooling gluon.nn.AvgPool1D gluon.nn.AvgPool2D
        gluon.nn.AvgPool3D""",
    "The power 0.5 of minus infinity": "",
    "batch_take has a gradient": "ndarray.batch_take symbol.batch_take",
    "Derivatives at 0": "ndarray.prod symbol.prod ndarray.gamma symbol.gamma",
    "A backend that does not exist is refused": "gluon.HybridBlock.hybridize",
    "A hook of operators gets arrays": "gluon.Block.register_op_hook",
    "infer_shape_partial infers more": "",
    "A composition replaces all variables of a name": "",
    "mp_lamb_update_phase2 updates weight32": "ndarray.mp_lamb_update_phase2",
    "Regions of an image that is not there": "ndarray.contrib.ROIAlign symbol.contrib.ROIAlign",
    'PearsonCorrelation(average="micro") has a global value': "metric.PearsonCorrelation",
    "CheckpointHandler saves the graph of a hybridized net": """
        gluon.contrib.estimator.CheckpointHandler
    """,
    "The log of an Estimator": "gluon.contrib.estimator.LoggingHandler",
    "A hybridized block takes other inputs, too": "",
    "A value that is set leaves the states of the optimizer": "",
    "A stale gradient is not added again": "gluon.Trainer.step",
    "BatchNorm leaves gamma as it is": "ndarray.BatchNorm symbol.BatchNorm gluon.nn.BatchNorm",
    "BatchNorm updates its running averages in forward": "",
    "Dropout with p=1": "ndarray.Dropout symbol.Dropout gluon.nn.Dropout",
    "PoissonNLLLoss with targets of 0": "gluon.loss.PoissonNLLLoss",
    "SoftmaxOutput of three axes or more": "ndarray.Softmax symbol.Softmax",
    "A softmax of 16 bits in another dtype": "",
    "BidirectionalCell with valid_length": "gluon.rnn.BidirectionalCell",
    "Lengths of sequences on a CPU": """
        gluon.rnn.RNN gluon.rnn.LSTM gluon.rnn.GRU ndarray.RNN symbol.RNN""",
    "Deconvolution in float64 with dilation": "ndarray.Deconvolution symbol.Deconvolution",
    "Convolutions of 8-bit integers": """
        contrib.quantization.quantize_net contrib.ndarray.quantized_conv""",
    "Pooling with a pad as large as the kernel": "",
    "Sparse arrays where MXNet has no sparse form": """
        ndarray.dot ndarray.clip ndarray.sparse.CSRNDArray ndarray.sparse.RowSparseNDArray""",
    "The mean gradient of an SVRGModule": """
        contrib.svrg_optimization.svrg_module.SVRGModule.update_full_grads""",
    "A label that is no class": "ndarray.CTCLoss symbol.CTCLoss gluon.loss.CTCLoss",
    "Anchors of a negative ratio": "ndarray.contrib.MultiBoxPrior symbol.contrib.MultiBoxPrior",
    "diag beyond the corner of a matrix": "ndarray.diag symbol.diag",
    "PCC refuses labels below 0": "metric.PCC",
    "A crop has a pixel": """
        image.scale_down image.random_crop image.center_crop image.RandomCropAug
        image.CenterCropAug""",
    "The saturation of colours": """
        ndarray.image.random_saturation symbol.image.random_saturation
        gluon.data.vision.transforms.RandomSaturation""",
    "Images that MXNet does not write whole": """
        ndarray.image.flip_left_right symbol.image.flip_left_right ndarray.image.flip_top_bottom
        symbol.image.flip_top_bottom""",
    "Image operators have the gradients of what they compute": """
        ndarray.image.to_tensor symbol.image.to_tensor ndarray.image.resize symbol.image.resize""",
    "A data set is not downloaded": """
        gluon.data.vision.MNIST gluon.data.vision.FashionMNIST gluon.data.vision.CIFAR10
        gluon.data.vision.CIFAR100 gluon.contrib.data.text.WikiText2
        gluon.contrib.data.text.WikiText103""",
    "A worker that was killed ends the epoch": "gluon.data.DataLoader",
    "Images and records": """
        image.imdecode image.imread image.imresize io.ImageRecordIter io.ImageDetRecordIter
        recordio.MXRecordIO""",
    "The number of unknown words": "rnn.encode_sentences",
    "The length of an IntervalSampler": "gluon.contrib.data.IntervalSampler",
    "Early stopping watches for the lesser loss": """
        gluon.contrib.estimator.EarlyStoppingHandler gluon.contrib.estimator.CheckpointHandler""",
    "Inputs can be given by name": "ndarray.Custom symbol.Custom",
    "create_operator gets NumPy's dtypes": "operator.CustomOpProp.create_operator",
    "Mixed precision: a parameter that is used in both": """
        contrib.amp.convert_symbol contrib.amp.convert_model contrib.amp.convert_hybrid_block
        contrib.amp.amp.convert_bucketing_module""",
    "The states of an optimizer": """
        gluon.Trainer.save_states gluon.Trainer.load_states optimizer.Updater.get_states
        optimizer.Updater.set_states module.Module.save_optimizer_states
        module.Module.load_optimizer_states kvstore.KVStore.save_optimizer_states
        kvstore.KVStore.load_optimizer_states""",
    "Names stay when a net is loaded": "gluon.Block.load",
    "Several processes": "kvstore.create",
}

# Operators that are no rows of the table: nodes with graphs inside, and those that MXNet's engine
# makes for itself.
CONTROL = {"_cond", "_foreach", "_while_loop"}
OF_THE_ENGINE = {
    *("_CachedOp", "_CachedOpThreadSafe", "_CrossDeviceCopy", "_CustomFunction", "_NDArray"),
    *("_Native", "_NoGradient"),
}
