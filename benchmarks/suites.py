"""What is measured: suites of cases, their contestants, and the targets."""

from __future__ import annotations

from typing import Any, NamedTuple

# The processes that contestants run in, each with an engine. MXNet has two: small networks run
# faster with one OpenMP thread, large ones with two. And with two it hangs when two matrix products
# are in flight, as in the backward of a custom operator with dx and dw. JAX, which needs a
# newer NumPy than MXNet, may have an interpreter of its own.
OURS, MXNET, MXNET_1, JAX = "torch", "mxnet", "mxnet, 1 OpenMP thread", "jax"
# PyTorch's threads and NumPy's may be in each other's way: what `layers.mxnet` can do about it
# depends on whether PyTorch is imported before it.
TORCH_FIRST, NUMPY_1 = "torch, imported first", "torch, 1 thread in NumPy"


class Contestant(NamedTuple):
    """A way to compute a case: `build` of ``benchmarks.<home>.<module>``, in a process."""

    name: str
    process: str
    home: str
    variant: str


class Case(NamedTuple):
    """One thing to compute; the arguments are those of `build`."""

    name: str
    arguments: dict[str, Any]


class Suite(NamedTuple):
    """Cases that the same contestants compute. The first contestant is the reference of ratios."""

    name: str
    module: str  # of the contestants
    title: str
    contestants: list[Contestant]
    cases: list[Case]
    tolerance: float  # relative and absolute, for the numbers in which all must agree
    device: str | None = None  # the only one that it is measured on
    compiles: bool = False  # that takes a minute for each case
    slowest: bool = False  # whether rows have the 99th percentile of single calls

    @property
    def reference(self) -> Contestant:
        return self.contestants[0]


class Target(NamedTuple):
    """What is to be reached: the time of one contestant over that of another, at most `limit`.

    Where PyTorch's own matrix product is the faster one, as on every GPU, `limit_without_onednn`
    takes its place.
    """

    suite: str
    case: str
    contestant: str
    against: str
    limit: float
    limit_without_onednn: float | None = None

    def judge(self, results: dict, facts: dict) -> dict[str, Any]:
        """The target beside what was measured; `met` is None where it was not, or not steady."""
        onednn = facts["device"] == "cpu" and facts["gemm"]["onednn_from_multiplications"]
        limit = self.limit if onednn else self.limit_without_onednn or self.limit
        rows = results[self.suite][self.case]
        row, against = rows.get(self.contestant), rows.get(self.against)
        ratio = row["ratio"] / against["ratio"] if row and against else None
        steady = ratio is not None and row["steady"] and against["steady"]
        return {
            "case": self.case,
            "contestant": self.contestant,
            "against": self.against,
            "limit": limit,
            "ratio": ratio,
            "met": ratio <= limit if steady else None,
        }


OPERATORS_OF_ND = (
    "exp",
    "add",
    "sum(axis)",
    "dot",
    "FullyConnected",
    "slice",
    "asnumpy",
    "array",
)

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
        Contestant("layers, blocks of @operator", OURS, "gluon", "blocks eager"),
        Contestant("layers.mxnet, gluon.nn", OURS, "gluon", "nn eager"),
        Contestant("layers.mxnet, CustomOp in NumPy", OURS, "gluon", "numpy eager"),
        Contestant("MXNet, gluon.nn", MXNET, "gluon", "nn eager"),
        Contestant("MXNet, gluon.nn, 1 thread", MXNET_1, "gluon", "nn eager"),
        Contestant("MXNet, hybridized", MXNET, "gluon", "nn static"),
        Contestant("MXNet, hybridized, 1 thread", MXNET_1, "gluon", "nn static"),
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

LAYERS = {"gluon.nn": "nn", "blocks": "blocks", "in NumPy": "numpy"}
RUN = {"replayed": "replayed", "compiled": "compiled", "compiled_step": "whole"}

COMPILED = Suite(
    "compiled",
    "steps",
    "One training step of an MLP, as a graph",
    [
        Contestant("PyTorch, eager", OURS, "pytorch", "eager"),
        Contestant("PyTorch, torch.compile", OURS, "pytorch", "compiled"),
        Contestant("PyTorch, torch.compile, whole", OURS, "pytorch", "whole"),
        Contestant("JAX, jit, whole", JAX, "jax", "whole"),
        *(
            Contestant(f"layers, {run}, {name}", OURS, "gluon", f"{parts} {how}")
            for run, how in RUN.items()
            for name, parts in LAYERS.items()
        ),
        Contestant("MXNet, hybridized", MXNET, "gluon", "nn static"),
        Contestant("MXNet, hybridized, 1 thread", MXNET_1, "gluon", "nn static"),
    ],
    MLPS,
    1e-4,
    compiles=True,
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
            Contestant("layers.mxnet, replayed", OURS, "gluon", "replayed"),
            Contestant("layers.mxnet, compiled", OURS, "gluon", "compiled"),
            Contestant("MXNet, hybridized", MXNET, "gluon", "static"),
            Contestant("MXNet, hybridized, 1 thread", MXNET_1, "gluon", "static"),
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

PIPELINE = Suite(
    "pipeline",
    "pipeline",
    "An epoch of images from RecordIO: decode, resize, crop, flip, normalize",
    [
        Contestant("PyTorch, DataLoader, Pillow", OURS, "pytorch", "0"),
        Contestant("PyTorch, 1 worker", OURS, "pytorch", "1"),
        Contestant("PyTorch, 2 workers", OURS, "pytorch", "2"),
        Contestant("layers.mxnet, ImageIter", OURS, "gluon", "ImageIter"),
        Contestant("layers.mxnet, ImageRecordIter, 1", OURS, "gluon", "ImageRecordIter 1"),
        Contestant("layers.mxnet, ImageRecordIter, 2", OURS, "gluon", "ImageRecordIter 2"),
        Contestant("MXNet, ImageIter", MXNET, "gluon", "ImageIter"),
        Contestant("MXNet, ImageRecordIter, 1", MXNET, "gluon", "ImageRecordIter 1"),
        Contestant("MXNet, ImageRecordIter, 2", MXNET, "gluon", "ImageRecordIter 2"),
    ],
    [Case("128 images of 500 x 375, batch 16", {"count": 128, "batch": 16})],
    2e-2,  # where an image gets smaller, Pillow takes more pixels into account
    device="cpu",
)

SUITES = (
    CALLS,
    OPERATORS,
    KERNELS,
    LIBRARIES,
    PRODUCTS,
    STEPS,
    NUMPY,
    COMPILED,
    INFERENCE,
    TRAINING,
    BFLOAT16,
    PIPELINE,
)

FORTH_AND_BACK = [case.name for case in OPERATORS.cases if case.arguments["backward"]]
SMALL_STEPS, LARGE_STEPS = (
    [case.name for case in MLPS if case.arguments["batch"] == batch] for _, batch in (SMALL, LARGE)
)
BLOCKS = "layers, blocks of @operator"

WAYS = [c.name for c in OPERATORS.contestants if c.name.lower().startswith("layers, custom")]

TARGETS = [
    *(
        Target("operators", case, "layers, @operator", against, limit)
        for case in FORTH_AND_BACK
        for against, limit in (("torch.autograd.Function", 2), ("MXNet, CustomOp in nd", 1 / 8))
    ),
    *(
        Target("operators", case, way, against, limit)
        for case in FORTH_AND_BACK
        for way in WAYS
        for against, limit in (("torch.autograd.Function", 2.5), ("MXNet, CustomOp in nd", 1))
    ),
    *(
        Target("kernels", case.name, "layers, Kernel.run", "Numba, the loop itself", 1.2)
        for case in KERNELS.cases
        if "000" in case.name
    ),
    *(
        Target("steps", case, BLOCKS, against, limit)
        for case in SMALL_STEPS
        for against, limit in (
            ("PyTorch, eager", 1.5),
            ("MXNet, gluon.nn", 1),
            ("MXNet, gluon.nn, 1 thread", 1),
        )
    ),
    *(Target("steps", case, BLOCKS, "PyTorch, eager", 0.6, 1.05) for case in LARGE_STEPS),
    *(
        Target("numpy", case.name, f"{first} imported first", "1 thread in NumPy", limit)
        for case, limits in zip(NUMPY.cases, ((1.2, 1.2), (1, 1.2)))
        for first, limit in zip(("layers", "PyTorch"), limits)
    ),
    *(
        Target("compiled", case, f"layers, replayed, {name}", "PyTorch, eager", 1.25)
        for case in SMALL_STEPS
        for name in ("gluon.nn", "blocks")
    ),
    *(
        Target("compiled", case, "layers, compiled, in NumPy", "PyTorch, torch.compile", *limits)
        for cases, limits in ((SMALL_STEPS, (1.15,)), (LARGE_STEPS, (0.6, 1.05)))
        for case in cases
    ),
    *(
        Target("compiled", case, f"layers, compiled_step, {name}", "JAX, jit, whole", limit)
        for cases, limit in ((SMALL_STEPS, 1.25), (LARGE_STEPS, 1.1))
        for case in cases
        for name in LAYERS
    ),
    *(
        Target(suite.name, case.name, f"layers.mxnet, {run}", against, 1.05)
        for suite in (INFERENCE, TRAINING)
        for case in suite.cases
        for run, against in (
            ("eager", "PyTorch, eager"),
            ("compiled", "PyTorch, torch.compile"),
            ("compiled", "MXNet, hybridized"),
        )
    ),
    *(
        Target("bfloat16", case.name, "layers, DenseBlock", "PyTorch, torch.mm", 1 / 0.9)
        for case in BFLOAT16.cases
    ),
]
