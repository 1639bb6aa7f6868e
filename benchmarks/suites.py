"""What is measured: suites of cases, and their contestants."""

from __future__ import annotations

from .graphs import GRAPHS
from .models import GLUONCV, OPTIMIZERS, ZOO_INFERENCE, ZOO_TRAINING
from .other_arrays import INT8, SPARSE
from .rows import REASONS
from .rows import ROWS as OPERATOR_ROWS
from .suite import (
    JAX,
    KERAS,
    LIGHTNING,
    MXNET,
    MXNET_1,
    NUMPY_1,
    OURS,
    TORCH_FIRST,
    Case,
    Contestant,
    Suite,
)


def workers(count: int) -> str:
    return f"{count} worker{'s' * (count != 1)}"


OPERATORS_OF_ND = (
    "exp", "relu", "add", "greater", "reshape", "sum(axis)", "dot", "FullyConnected", "slice",
    "asnumpy", "array",
)  # fmt: skip

CALLS = Suite(
    "calls",
    "calls",
    "One call of nd",
    [
        Contestant("PyTorch", OURS, "pytorch", "plain"),
        Contestant("layers.mxnet", OURS, "gluon", "nd"),
        Contestant("MXNet", MXNET, "gluon", "nd"),
    ],
    [
        Case(f"{operator}, {size} x {size}", {"operator": operator, "size": size})
        for operator in OPERATORS_OF_ND
        for size in (1, 4)
    ],
    1e-5,
)

OPERATORS = Suite(
    "operators",
    "operators",
    "One call of a custom operator, 4 x 4",
    [
        Contestant("torch.autograd.Function", OURS, "pytorch", "nd"),
        Contestant("the same in NumPy", OURS, "pytorch", "numpy"),
        Contestant("layers, @operator", OURS, "gluon", "operator"),
        Contestant("layers, customop in nd", OURS, "gluon", "function mxnet"),
        Contestant("layers, customop in NumPy", OURS, "gluon", "function numpy"),
        Contestant("layers, Custom in NumPy", OURS, "gluon", "pyfunc"),
        Contestant("layers, Custom, loop kernel", OURS, "gluon", "kernel"),
        Contestant("layers, Custom, library", OURS, "gluon", "library"),
        Contestant("layers.mxnet, CustomOp in nd", OURS, "gluon", "nd"),
        Contestant("layers.mxnet, CustomOp in NumPy", OURS, "gluon", "numpy"),
        Contestant("MXNet, CustomOp in nd", MXNET, "gluon", "nd"),
        Contestant("MXNet, CustomOp in NumPy", MXNET, "gluon", "numpy"),
        Contestant("layers on MXNet, @operator", MXNET, "gluon", "operator"),
        Contestant("JAX, custom_vjp, jit", JAX, "jax", "custom_vjp"),
        Contestant("Keras, custom_gradient, jit", KERAS, "keras", "custom_gradient"),
    ],
    [
        Case("2 x, forward", {"body": "double", "backward": False}),
        Case("2 x, forward and backward", {"body": "double", "backward": True}),
        Case("sigmoid, forward", {"body": "sigmoid", "backward": False}),
        Case("sigmoid, forward and backward", {"body": "sigmoid", "backward": True}),
    ],
    1e-5,
)

MILLION = 1_000_000

KERNELS = Suite(
    "kernels",
    "kernels",
    "A loop over elements",
    [
        Contestant("Numba, the loop itself", OURS, "plain", "numba"),
        Contestant("NumPy", OURS, "plain", "numpy"),
        Contestant("layers, Kernel.run", OURS, "gluon", "run"),
        Contestant("layers, Custom", OURS, "gluon", "operator"),
    ],
    [
        Case(
            f"{body}, {shape[0]}" + (f" x {shape[1]}" if shape[1:] else ""),
            {"body": body, "shape": shape},
        )
        for body, shape in (
            ("polynomial", (MILLION,)),
            ("gelu", (MILLION,)),
            ("rows", (1000, 1000)),
            ("polynomial", (4,)),
        )
    ],
    1e-4,
)

LIBRARIES = Suite(
    "libraries",
    "libraries",
    "A function in a compiled library",
    [
        Contestant("ctypes", OURS, "plain", "ctypes"),
        Contestant("layers, Library.run", OURS, "gluon", "run"),
        Contestant("layers, Custom", OURS, "gluon", "operator"),
    ],
    [
        Case(f"{body}, {n} x {n}", {"body": body, "shape": (n, n)})
        for body, n in (("double", 2), ("double", 1000), ("sigmoid", 1000))
    ],
    1e-4,
)

PRODUCTS = Suite(
    "products",
    "products",
    "One matrix product of a dense layer",
    [
        Contestant("PyTorch, torch.mm", OURS, "pytorch", "mm"),
        Contestant("oneDNN", OURS, "pytorch", "onednn"),
        Contestant("layers.mxnet", OURS, "gluon", "nd"),
        Contestant("MXNet, 1 thread", MXNET_1, "gluon", "nd"),
    ],
    [
        Case(f"{product}, {n} x {k} x {m}", {"product": product, "n": n, "k": k, "m": m})
        for n, k, m in ((64, 784, 128), (256, 1024, 1024))
        for product in ("y", "dx", "dw")
    ],
    1e-3,
)

SMALL, LARGE = ((784, 128, 128, 10), 64), ((784, 1024, 1024, 10), 256)

MLPS = [
    Case(
        f"{'-'.join(map(str, sizes))}, {activation}, batch {batch}",
        {"sizes": sizes, "batch": batch, "activation": activation},
    )
    for sizes, batch in (SMALL, LARGE)
    for activation in ("relu", "sigmoid")
]

STEPS = Suite(
    "steps",
    "steps",
    "One training step of an MLP",
    [
        Contestant("PyTorch, eager", OURS, "pytorch", "eager"),
        Contestant("PyTorch, autograd.Functions", OURS, "pytorch", "functions"),
        Contestant("layers, blocks", OURS, "gluon", "blocks eager"),
        Contestant("layers, blocks of @operator", OURS, "gluon", "own eager"),
        Contestant("layers.mxnet, gluon.nn", OURS, "gluon", "nn eager"),
        Contestant("layers.mxnet, CustomOp in NumPy", OURS, "gluon", "numpy eager"),
        Contestant("MXNet, gluon.nn", MXNET, "gluon", "nn eager"),
        Contestant("MXNet, gluon.nn, 1 thread", MXNET_1, "gluon", "nn eager"),
        Contestant("MXNet, hybridized", MXNET, "gluon", "nn recorded"),
        Contestant("MXNet, hybridized, 1 thread", MXNET_1, "gluon", "nn recorded"),
        Contestant("MXNet, CustomOp in NumPy", MXNET, "gluon", "numpy eager"),
        Contestant("layers on MXNet, blocks, 1 thr.", MXNET_1, "gluon", "blocks eager"),
    ],
    MLPS,
    1e-4,
)

NUMPY = Suite(
    "numpy",
    "steps",
    "One training step of an MLP of CustomOps in NumPy",
    [
        Contestant("1 thread in NumPy", NUMPY_1, "gluon", "numpy eager"),
        Contestant("layers imported first", OURS, "gluon", "numpy eager"),
        Contestant("PyTorch imported first", TORCH_FIRST, "gluon", "numpy eager"),
    ],
    [case for case in MLPS if case.arguments["activation"] == "relu"],
    1e-4,
    device="cpu",
    slowest=True,
)

LAYERS = {"gluon.nn": "nn", "blocks": "blocks", "@operator": "own", "in NumPy": "numpy"}
RUN = {"recorded": "recorded", "compiled": "compiled", "compiled_step": "whole"}
CPP_STEP = "layers, compiled_step, cpp_wrapper"  # which takes longer to compile

COMPILED = Suite(
    "compiled",
    "steps",
    "One training step of an MLP, as a graph",
    [
        Contestant("PyTorch, eager", OURS, "pytorch", "eager"),
        Contestant("PyTorch, torch.compile", OURS, "pytorch", "compiled"),
        Contestant("PyTorch, torch.compile, whole", OURS, "pytorch", "whole"),
        Contestant("JAX, jit, whole", JAX, "jax", "whole"),
        Contestant("Keras, train_on_batch", KERAS, "keras", "train_on_batch"),
        *(
            Contestant(f"layers, {run}, {name}", OURS, "gluon", f"{parts} {how}")
            for run, how in RUN.items()
            for name, parts in LAYERS.items()
        ),
        Contestant(CPP_STEP, OURS, "gluon", "blocks cpp"),
        Contestant("MXNet, hybridized", MXNET, "gluon", "nn recorded"),
        Contestant("MXNet, hybridized, 1 thread", MXNET_1, "gluon", "nn recorded"),
    ],
    MLPS,
    1e-4,
    compiles=True,
)

TRANSFORMER = Suite(
    "transformer",
    "transformer",
    "One training step of a transformer's block",
    [
        Contestant("PyTorch, eager", OURS, "pytorch", "eager"),
        Contestant("PyTorch, torch.compile", OURS, "pytorch", "compiled"),
        Contestant("JAX, jit, whole", JAX, "jax", "whole"),
        Contestant("Keras, train_on_batch", KERAS, "keras", "train_on_batch"),
        Contestant("layers, blocks, eager", OURS, "gluon", "blocks eager"),
        Contestant("layers, blocks, recorded", OURS, "gluon", "blocks recorded"),
        Contestant("layers, blocks, compiled", OURS, "gluon", "blocks compiled"),
        Contestant("layers, blocks, compiled_step", OURS, "gluon", "blocks whole"),
        Contestant("layers.mxnet, gluon.nn, eager", OURS, "gluon", "nn eager"),
        Contestant("MXNet, gluon.nn, hybridized", MXNET, "gluon", "nn recorded"),
    ],
    [
        Case(
            f"{batch} x {length} x {units}, {heads} heads",
            {"batch": batch, "length": length, "units": units, "heads": heads},
        )
        for batch, length, units, heads in ((8, 32, 64, 4), (4, 256, 256, 8))
    ],
    1e-3,
    compiles=True,
)

FIT = Suite(
    "fit",
    "fit",
    "Epochs of a training loop",
    [
        Contestant("layers.mxnet, bare loop", OURS, "gluon", "bare"),
        Contestant("layers, train.fit", OURS, "gluon", "fit"),
        Contestant("PyTorch, bare loop", OURS, "pytorch", "bare"),
        Contestant("Lightning, Trainer.fit", LIGHTNING, "lightning", "fit"),
        Contestant("Keras, bare loop", KERAS, "keras", "bare"),
        Contestant("Keras, fit", KERAS, "keras", "fit"),
    ],
    [
        Case(
            "784-128-128-10, batch 64, 3 epochs of 100 steps",
            {"sizes": SMALL[0], "batch": 64, "steps": 100, "epochs": 3},
        )
    ],
    1e-3,
)

INFERENCE, TRAINING = (
    Suite(
        name,
        "resnet",
        f"ResNet-18, {name}",
        [
            Contestant("PyTorch, eager", OURS, "pytorch", "eager"),
            Contestant("PyTorch, torch.compile", OURS, "pytorch", "compiled"),
            Contestant("layers.mxnet, eager", OURS, "gluon", "eager"),
            Contestant("layers.mxnet, recorded", OURS, "gluon", "recorded"),
            Contestant("layers.mxnet, compiled", OURS, "gluon", "compiled"),
            Contestant("MXNet, hybridized", MXNET, "gluon", "recorded"),
            Contestant("MXNet, hybridized, 1 thread", MXNET_1, "gluon", "recorded"),
        ],
        [Case("3 x 64 x 64, batch 8", {"size": 64, "batch": 8, "training": training})],
        2e-2,  # a GPU's convolutions are in TensorFloat-32
        compiles=True,
    )
    for name, training in (("inference", False), ("training", True))
)

BFLOAT16 = Suite(
    "bfloat16",
    "bfloat16",
    "A dense layer in bfloat16",
    [
        Contestant("PyTorch, torch.mm", OURS, "pytorch", "mm"),
        Contestant("PyTorch, nn.Linear", OURS, "pytorch", "linear"),
        Contestant("layers, DenseBlock", OURS, "gluon", "eager"),
        Contestant("layers, DenseBlock, compiled", OURS, "gluon", "compiled"),
    ],
    [
        Case(f"8192 x 8192, {name}", {"size": 8192, "backward": backward})
        for name, backward in (("forward", False), ("forward and backward", True))
    ],
    2e-2,
    device="gpu",
    compiles=True,
)

LSTM = Suite(
    "lstm",
    "lstm",
    "An LSTM, forward and backward",
    [
        Contestant("PyTorch, nn.LSTM", OURS, "pytorch", "eager"),
        Contestant("layers.mxnet, eager", OURS, "gluon", "eager"),
        Contestant("layers.mxnet, plain", OURS, "gluon", "plain"),
        Contestant("layers.mxnet, recorded", OURS, "gluon", "recorded"),
        Contestant("MXNet, eager", MXNET, "gluon", "eager"),
        Contestant("MXNet, hybridized", MXNET, "gluon", "recorded"),
        Contestant("MXNet, hybridized, 1 thread", MXNET_1, "gluon", "recorded"),
    ],
    [
        Case(
            f"{layers} x {size}, {steps} steps of {batch}",
            {"steps": steps, "batch": batch, "size": size, "layers": layers},
        )
        for layers, size, steps, batch in ((1, 64, 10, 16), (2, 200, 35, 20), (1, 512, 20, 20))
    ],
    1e-4,
)

BUCKETING = Suite(
    "bucketing",
    "bucketing",
    "An epoch of a BucketingModule: 200 sentences, 2 x 100 LSTM cells, batch 16",
    [
        Contestant("MXNet", MXNET, "gluon", ""),
        Contestant("MXNet, 1 thread", MXNET_1, "gluon", ""),
        Contestant("layers.mxnet", OURS, "gluon", ""),
    ],
    [
        Case(
            name, {"count": 200, "batch": 16, "size": 100, "layers": 2, "is_first": name == "first"}
        )
        for name in ("first", "later")
    ],
    1e-3,
)

PIPELINE = Suite(
    "pipeline",
    "pipeline",
    "An epoch of images from RecordIO: decode, resize, crop, flip, normalize",
    [
        *(
            Contestant(f"{who}, {workers(count)}", process, home, f"DataLoader {count}")
            for who, process, home in (
                ("torchvision", OURS, "pytorch"),
                ("layers.mxnet", OURS, "gluon"),
                ("MXNet", MXNET, "gluon"),
            )
            for count in (0, 1, 2)
        ),
        *(
            Contestant(f"{who}, {name}", process, "gluon", name)
            for who, process in (("layers.mxnet", OURS), ("MXNet", MXNET))
            for name in ("ImageIter", "ImageRecordIter 1", "ImageRecordIter 2")
        ),
    ],
    [Case("128 images of 500 x 375, batch 16", {"count": 128, "batch": 16})],
    2e-2,  # where an image gets smaller, Pillow takes more pixels into account
    device="cpu",
)

ROWS, UNITS = (4096, 768), (512, 1024)

FORMULAS = Suite(
    "formulas",
    "formulas",
    "An operator of the library, forward and backward",
    [
        Contestant("built-in operators", OURS, "gluon", "plain"),
        Contestant("layers", OURS, "gluon", "ours"),
        Contestant("PyTorch's own function", OURS, "pytorch", "own"),
        Contestant("MXNet, built-in operators", MXNET_1, "gluon", "plain"),
        Contestant("layers on MXNet", MXNET_1, "gluon", "ours"),
    ],
    [
        Case(f"{operator}, {' x '.join(map(str, shape))}", {"operator": operator, "shape": shape})
        for operator, shape in (
            ("dense", (256, 1024, 1024)),
            *((name, UNITS) for name in ("relu", "sigmoid", "softplus", "swish", "hard_swish")),
            *((name, UNITS) for name in ("mish", "gelu", "gelu_tanh", "swiglu", "geglu_tanh")),
            *((name, shape) for name in ("layer_norm", "rms_norm") for shape in (ROWS, (32, 64))),
            ("group_norm", (32, 256, 8, 8)),
            ("rotary", (4, 8, 512, 64)),
            ("sparsemax", (512, 1000)),
            *(("attention", shape) for shape in ((4, 8, 512, 64), (1, 4, 2048, 64))),
            ("multi_head_attention", (4, 512, 512)),
            ("remat", (4096, 128, 12)),  # the built-in operators are without it
            *(
                ("embedding_bag", shape)
                for shape in ((100000, 64, 1024, 50), (10000, 128, 256, 20))
            ),
            *((name, (256, 1000)) for name in ("softmax", "softmax_cross_entropy")),
            ("linear_cross_entropy", (1024, 128, 8000)),
            *((name, (512, 4096)) for name in ("sigmoid_cross_entropy", "focal")),
            ("triplet", (4096, 256)),
            *(("info_nce", shape) for shape in ((256, 128), (4096, 64))),
            *((f"gradient_{name}", UNITS) for name in ("reversal", "scale", "clip")),
            *((f"straight_{name}", UNITS) for name in ("round", "sign")),
            ("lsq", UNITS),
        )
    ],
    1e-3,
    memory=True,
    most_rounds=7,
)

COMPILED_FORMULAS = Suite(
    "compiled_formulas",
    "formulas",
    "A compiled operator of the library, forward and backward",
    [
        Contestant("PyTorch's own function", OURS, "pytorch", "own"),
        Contestant("PyTorch's own, torch.compile", OURS, "pytorch", "compiled"),
        Contestant("layers", OURS, "gluon", "ours"),
        Contestant("layers, compiled", OURS, "gluon", "compiled"),
    ],
    [
        case
        for case in FORMULAS.cases
        if case.arguments["operator"] in ("attention", "layer_norm", "rms_norm", "swiglu")
    ],
    1e-3,
    compiles=True,
)

VOCABULARY = Suite(
    "vocabulary",
    "formulas",
    "The last layer of a large vocabulary and its loss, forward and backward",
    FORMULAS.contestants[:3],
    [
        Case(
            "linear_cross_entropy, 8192 x 512 x 32000",
            {"operator": "linear_cross_entropy", "shape": (8192, 512, 32000)},
        )
    ],
    1e-3,
    memory=True,
    most_rounds=3,
)

TABLE = Suite(
    "table",
    "table",
    "Every operator of MXNet's table, forward",
    [
        Contestant("MXNet", MXNET_1, "gluon", ""),
        Contestant("layers.mxnet", OURS, "gluon", ""),
    ],
    [Case(operator, {"operator": operator}) for operator in sorted(OPERATOR_ROWS)],
    1e-2,
    device="cpu",
    most_rounds=3,
    reasons=REASONS,
)

SUITES = (
    CALLS,
    OPERATORS,
    FORMULAS,
    COMPILED_FORMULAS,
    VOCABULARY,
    KERNELS,
    LIBRARIES,
    PRODUCTS,
    TABLE,
    INT8,
    STEPS,
    NUMPY,
    COMPILED,
    TRANSFORMER,
    FIT,
    INFERENCE,
    TRAINING,
    BFLOAT16,
    PIPELINE,
    LSTM,
    BUCKETING,
    GRAPHS,
    OPTIMIZERS,
    SPARSE,
    ZOO_INFERENCE,
    ZOO_TRAINING,
    GLUONCV,
)
