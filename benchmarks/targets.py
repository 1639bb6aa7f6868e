"""What is to be reached: ratios of what two contestants take of time, or of memory."""

from __future__ import annotations

from typing import Any, NamedTuple

from .graphs import GRAPHS
from .models import GLUONCV, OPTIMIZERS, ZOO_INFERENCE, ZOO_TRAINING
from .suites import (
    BFLOAT16,
    BUCKETING,
    COMPILED_FORMULAS,
    CPP_STEP,
    FIT,
    INFERENCE,
    KERNELS,
    LARGE,
    LAYERS,
    LSTM,
    MLPS,
    NUMPY,
    OPERATORS,
    PIPELINE,
    SMALL,
    TRAINING,
    VOCABULARY,
    workers,
)


class Target(NamedTuple):
    """What is to be reached: what one contestant takes over what another does, at most `limit`.

    Where PyTorch's own matrix product is the faster one, as on every GPU, `limit_without_onednn`
    takes its place. `measure` is 'ratio', for the time, or 'peak', for the peak of memory.
    """

    suite: str
    case: str
    contestant: str
    against: str
    limit: float
    limit_without_onednn: float | None = None
    measure: str = "ratio"

    def judge(self, results: dict, facts: dict) -> dict[str, Any]:
        """The target beside what was measured; `met` is None where it was not, or not steady."""
        onednn = facts["device"] == "cpu" and facts["gemm"]["onednn_from_multiplications"]
        limit = self.limit if onednn else self.limit_without_onednn or self.limit
        rows = results[self.suite][self.case]
        row, against = rows.get(self.contestant), rows.get(self.against)
        values = [found and found.get(self.measure) for found in (row, against)]
        ratio = None if None in values else values[0] / values[1]
        steady = ratio is not None and (
            self.measure == "peak" or row["steady"] and against["steady"]
        )
        return {
            "case": f"{self.case}, memory" if self.measure == "peak" else self.case,
            "contestant": self.contestant,
            "against": self.against,
            "limit": limit,
            "ratio": ratio,
            "met": ratio <= limit if steady else None,
        }


FORTH_AND_BACK = [case.name for case in OPERATORS.cases if case.arguments["backward"]]
SMALL_STEPS, LARGE_STEPS = (
    [case.name for case in MLPS if case.arguments["batch"] == batch] for _, batch in (SMALL, LARGE)
)
OWN = "layers, blocks of @operator"  # that a user wrote
BLOCKS = {"layers, blocks": 1.15, OWN: 1.5}  # the library's own call PyTorch's functions

WAYS = [c.name for c in OPERATORS.contestants if c.name.lower().startswith("layers, custom")]

TARGETS = [
    *(
        Target("operators", case, "layers, @operator", against, limit)
        for case in FORTH_AND_BACK
        for against, limit in (("torch.autograd.Function", 1.7), ("MXNet, CustomOp in nd", 1 / 8))
    ),
    *(
        Target("operators", case, way, against, limit)
        for case in FORTH_AND_BACK
        for way in WAYS
        for against, limit in (("torch.autograd.Function", 2.5), ("MXNet, CustomOp in nd", 1))
    ),
    *(
        Target("formulas", case.name, "layers", "PyTorch's own function", 1.1)
        for case in COMPILED_FORMULAS.cases
    ),
    *(
        Target("compiled_formulas", case.name, "layers, compiled", against, 1)
        for case in COMPILED_FORMULAS.cases
        for against in ("PyTorch's own function", "PyTorch's own, torch.compile")
    ),
    *(
        Target("vocabulary", case.name, "layers", "built-in operators", limit, measure=measure)
        for case in VOCABULARY.cases
        for limit, measure in ((1.1, "ratio"), (1 / 4, "peak"))
    ),
    *(
        Target("fit", c.name, "layers, train.fit", "layers.mxnet, bare loop", 1.05)
        for c in FIT.cases
    ),
    *(
        Target("kernels", case.name, "layers, Kernel.run", "Numba, the loop itself", 1.2)
        for case in KERNELS.cases
        if "000" in case.name
    ),
    *(
        Target("steps", case, blocks, against, limit)
        for case in SMALL_STEPS
        for blocks, most in BLOCKS.items()
        for against, limit in (
            ("PyTorch, eager", most),
            ("MXNet, gluon.nn", 1),
            ("MXNet, gluon.nn, 1 thread", 1),
        )
    ),
    *(
        Target("steps", case, blocks, "PyTorch, eager", 0.6, 1.05)
        for case in LARGE_STEPS
        for blocks in BLOCKS
    ),
    *(
        Target("numpy", case.name, f"{first} imported first", "1 thread in NumPy", limit)
        for case, limits in zip(NUMPY.cases, ((1.2, 1.2), (1, 1.2)))
        for first, limit in zip(("layers", "PyTorch"), limits)
    ),
    *(
        Target("compiled", case, f"layers, recorded, {name}", "PyTorch, eager", 1.15)
        for case in SMALL_STEPS
        for name in ("gluon.nn", "blocks", "@operator")
    ),
    *(
        Target("compiled", case, "layers, compiled, in NumPy", "PyTorch, torch.compile", *limits)
        for cases, limits in ((SMALL_STEPS, (1.15,)), (LARGE_STEPS, (0.6, 1.05)))
        for case in cases
    ),
    *(
        Target("compiled", case, step, "JAX, jit, whole", 1.0)
        for case in (*SMALL_STEPS, *LARGE_STEPS)
        for step in (*(f"layers, compiled_step, {name}" for name in LAYERS), CPP_STEP)
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
    *(
        Target("pipeline", case.name, f"layers.mxnet, {name}", f"torchvision, {name}", 1.1)
        for case in PIPELINE.cases
        for name in map(workers, (0, 1, 2))
    ),
    *(
        Target("lstm", case.name, f"layers.mxnet, {run}", "PyTorch, nn.LSTM", 1.1)
        for case in LSTM.cases
        for run in ("eager", "recorded")
    ),
    *(Target("bucketing", case.name, "layers.mxnet", "MXNet", 1.2) for case in BUCKETING.cases),
    *(Target("graphs", case.name, "layers.mxnet", "MXNet", 1.0) for case in GRAPHS.cases),
    *(
        Target(suite.name, case.name, f"layers.mxnet, {run}", f"torchvision, {against}", 1.05)
        for suite in (ZOO_INFERENCE, ZOO_TRAINING)
        for case in suite.cases
        for run, against in (
            ("plain", "eager"),
            ("recorded", "eager"),
            ("compiled", "torch.compile"),
        )
    ),
    *(
        Target("optimizers", case.name, "layers.mxnet", "PyTorch, foreach", 1.1)
        for case in OPTIMIZERS.cases
    ),
    *(
        Target("gluoncv", case.name, f"layers.mxnet, {run}", against, limit)
        for case in GLUONCV.cases
        for run, against, limit in (
            ("recorded", "MXNet, hybridized", 1),
            ("recorded", "torchvision, eager", 1.05),
            ("compiled", "torchvision, torch.compile", 1.05),
        )
        if case.arguments["net"] == "resnet50_v1b" or "MXNet" in against
    ),
]
