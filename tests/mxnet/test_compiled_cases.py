"""Operators in compiled graphs: one of each family, and all that have rules of their own.

Many are compiled together, for a compilation costs seconds; what they compute is what the same
graph gives as it is.
"""

import warnings
from importlib import import_module

import cases  # noqa: F401 - fills CASES
import numpy as np
import pytest
from case import CASES, function
from repeated import as_slow

torch = pytest.importorskip("torch", reason="layers.mxnet is MXNet's API on PyTorch")

import layers.mxnet as mx  # noqa: E402 - it needs torch
from layers.mxnet import autograd, nd  # noqa: E402 - it needs torch
from layers.mxnet._graph.compiled import compiled  # noqa: E402 - it needs torch
from layers.mxnet._graph.program import Program  # noqa: E402 - it needs torch
from layers.mxnet._table import registry  # noqa: E402 - it needs torch

pytestmark = pytest.mark.engine("torch")
TOGETHER = 16
# Its size is known only at run time; inductor of PyTorch 2.13 fails on an index by `randperm`.
REPLAYED = ("_contrib_boolean_mask", "_shuffle")
TOLERANCE = {"float32": (2e-4, 2e-5), "float16": (1e-2, 2e-3)}  # relative, and to the largest


def chosen():
    """A case for each family, and for each operator with a rule, of those with a gradient."""
    found = {}
    for case in CASES.values():
        if case.ours or not case.inputs or case.operator in REPLAYED or not case.grad:
            continue
        row = registry.get(case.operator)
        rules = row.infer_rules or row.back_rule or row.inputs_rule or row.outputs_rule
        family = row.name if rules or row.states else row.function.__code__
        if all(v.dtype == np.float32 for v in case.values()):
            found.setdefault(family, case)
    return list(found.values())


CHOSEN = chosen()
# The first group is compiled by make test, all by make test-all.
GROUPS = [
    pytest.param(CHOSEN[i : i + TOGETHER], marks=pytest.mark.slow if i else ())
    for i in range(0, len(CHOSEN), TOGETHER)
]


def composed(together):
    """One Symbol of all the cases, and the values of its variables."""
    symbols, values = [], {}
    for k, case in enumerate(together):
        names = [f"x{k}_{i}" for i in range(len(case.inputs))]
        variables = [mx.sym.var(name) for name in names]
        op = function(mx.sym, case.operator)
        symbols.append(op(*variables, name=f"n{k}", **case.attributes))
        values |= dict(zip(names, case.values()))
    return mx.sym.Group(symbols), values


def computed(run, program, values):
    """Outputs and gradients by name."""
    mx.random.seed(4)
    tensors = [torch.from_numpy(values[name].copy()) for name in program.inputs]
    for i, tensor in enumerate(tensors):
        tensor.requires_grad_(i not in program.states)
    with autograd.record():
        outputs = run(tensors, mx.cpu())
    heads = [y for y in outputs if y.requires_grad]
    tops = [torch.cos(torch.arange(y.numel(), dtype=y.dtype)).reshape(y.shape) for y in heads]
    asking = [t for t in tensors if t.requires_grad]
    gradients = torch.autograd.grad(heads, asking, tops, allow_unused=True, materialize_grads=True)
    names = [n for n, t in zip(program.inputs, tensors) if t.requires_grad]
    found = {f"y{i}": y.detach() for i, y in enumerate(outputs)}
    found |= {f"d{name}": g for name, g in zip(names, gradients)}
    return found | dict(zip(program.inputs, (t.detach() for t in tensors)))


@pytest.fixture(scope="module", autouse=True)
def inductor():
    """Import it here: what it warns of while it is imported would refuse the first graph."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        import_module("torch._inductor.compile_fx")


@pytest.mark.parametrize("together", GROUPS, ids=lambda g: "-".join(sorted(c.operator for c in g)))
def test_compiled_together(together, caplog):
    symbol, values = composed(together)
    program = Program(symbol._entries)
    plain = computed(program, program, values)
    found = computed(compiled(program, "inductor"), program, values)
    refused = [r for r in caplog.records if r.name == "layers.mxnet.hybridize"]
    assert not refused, refused[0].getMessage()
    where = dict(zip((f"y{i}" for i in range(99)), symbol.list_outputs()))
    for name, value in plain.items():
        scale = float(value.abs().max()) if value.numel() and value.is_floating_point() else 1
        relative, absolute = TOLERANCE.get(str(value.numpy().dtype), (0, 0))
        np.testing.assert_allclose(
            found[name],
            value,
            relative,
            absolute * max(scale, 1),
            err_msg=f"{name} {where.get(name)}: {[c.id for c in together]}",
        )


# How many results they have, or what they compute next, depends on values.
DEPEND_ON_VALUES = {
    "_sample_unique_zipfian", "_contrib_calibrate_entropy", "_contrib_box_nms",
    "_contrib_bipartite_matching", "_contrib_MultiBoxTarget", "_contrib_MultiBoxDetection",
    "ROIPooling", "_contrib_Proposal", "_contrib_MultiProposal", "_image_random_color_jitter",
}  # fmt: skip
TRACED_BY_MAKE_TEST = ("dot", "FullyConnected", "Concat", "broadcast_add", "sum", "SliceChannel")


def calls_of_nd():
    """A case of each operator that can be traced; make test traces those of a few kinds."""
    first = {}
    for case in CASES.values():
        if not case.into and case.operator not in DEPEND_ON_VALUES:
            first.setdefault(case.operator, case)
    assert first.keys() >= {*TRACED_BY_MAKE_TEST}
    return [case if n in TRACED_BY_MAKE_TEST else as_slow(case) for n, case in first.items()]


@pytest.mark.filterwarnings("ignore")  # what cannot be traced is an error all the same
@pytest.mark.parametrize("case", calls_of_nd(), ids=lambda case: case.operator)
def test_the_tracer_takes_the_functions_of_nd(case):
    """As custom operators call them: what is not traced whole is not compiled."""
    call = function(nd, case.operator)

    def computed(*tensors):
        y = call(*[nd.NDArray(t, mx.cpu()) for t in tensors], **case.attributes)
        return [each._tensor for each in (y if isinstance(y, (list, tuple)) else [y])]

    tensors = [nd.array(v, dtype=v.dtype)._tensor for v in case.values()]
    torch._dynamo.reset()
    with autograd.predict_mode():
        torch.compile(computed, backend="eager", fullgraph=True)(*tensors)  # raises if it does not
