"""Hostile names in files, and every way on which a name could become source, a path or a format.

Some ways take PyTorch a second each; only some of the files take one of those.
"""

from __future__ import annotations

import builtins
import io
import json
import random
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stdout
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import torch

import layers.ops  # noqa: F401 - one of its operators is in the graph
from layers.mxnet import contrib, cpu, gluon, mod, nd, onnx, sym, viz
from layers.mxnet import io as mxio
from layers.mxnet._files import exchange
from layers.mxnet._files.params import writes

# No dot, since a dot parts structural names.
RUNS = "exec(\"__import__('builtins')\\x2ehostile_name_ran = 1\")"
# What ends a string, a line, a comment or an expression around a name, each in one way.
ENDINGS = [
    *("%", "\n%\n", "\r%\r", "\f%", "\u2028%\u2028", "x', %) or ('", 'x", %) or ("', "x\\', %) #"),
    *("x'\n%\n'", 'x"\n%\n"', "x')\n%\n('", 'x")\n%\n("', '"""\n%\n"""', "'''\n%\n'''", "{%}"),
    'x")\r%\rdef g(self, args_0):\r    v = ("',
    "x')\r%\rdef g(self, args_0):\r    v = ('",
    *("x]\n%\n#", "x, %, y", "x=(%)", "x: %", "x = %"),
]
NAMES = [
    *(
        "",
        " ",
        ".",
        "..",
        "a.b",
        "x\n",
        "x\r",
        "x\\",
        'x"',
        "x'",
        "\0",
        "\x1b[2J",
        "\x9b2J",
        "\u202e",
    ),
    *("../../x", "/etc/passwd", "C:\\x", "a/b", "a:b", "=cmd|'/c calc'!A0", "-rf", "@x", "+1"),
    *("%s%n%(x)s", "{}", "{0}", "{0.__class__}", "${x}", "<b>", "<script>", "(a+)+$", "[", "*"),
    *("__class__", "__dict__", "forward", "training", "class", "None", "self", "names", "block"),
    *("p0", "p1", "val_0", "args_0", "t0", "data_0", "arg:w", "aux:w", "é😀", "x" * 20000),
    *("\ud800", "\udcff"),
]
X = np.arange(8, dtype="float32").reshape(2, 4)
SOMETIMES = 0.06  # of the files take a way that takes long


class Ran(Exception):
    """A name in a file was run."""


@contextmanager
def nothing_runs() -> Iterator[None]:
    """Raise Ran if a name runs."""
    builtins.hostile_name_ran = 0  # type: ignore[attr-defined]
    try:
        yield
    finally:
        if builtins.hostile_name_ran:  # type: ignore[attr-defined]
            raise Ran


def utf8(text: str) -> str:
    return text.encode("utf-8", "replace").decode()


def name(rng: random.Random) -> str:
    """A name: mostly one that runs if it becomes source."""
    if rng.random() < 0.6:
        return rng.choice(ENDINGS).replace("%", RUNS)
    return rng.choice(NAMES) + (rng.choice(NAMES) if rng.random() < 0.2 else "")


def renamed(rng: random.Random, names: list[str]) -> dict[str, str]:
    """Other names for some of them, nearly always without a repetition."""
    found: dict[str, str] = {}
    for i, old in enumerate(names):
        new = name(rng) if rng.random() < 0.6 else old
        if utf8(new) in map(utf8, found.values()) and rng.random() < 0.98:
            new += f" {i}"
        found[old] = new
    return found


@cache
def network() -> tuple[str, dict[str, nd.NDArray], np.ndarray]:
    """A graph in JSON, the values of its variables, and what it gives for X."""
    y = sym.FullyConnected(sym.var("data"), num_hidden=3, name="fc")
    y = sym.BatchNorm(y, fix_gamma=False, name="bn")
    y = sym.Custom(y, op_type="layers.sigmoid", name="own")
    y = sym.broadcast_mul(y, sym.var("scale", shape=(3,)), name="out")
    draw = np.random.RandomState(0)
    arguments, _, states = y.infer_shape(data=X.shape)
    shapes = dict(zip(y.list_arguments(), arguments)) | dict(zip(y.list_auxiliary_states(), states))
    values = {n: nd.array(draw.rand(*shape)) for n, shape in shapes.items() if n != "data"}
    given = {n: v for n, v in values.items() if "moving" not in n}
    held = {n: v for n, v in values.items() if "moving" in n}
    executor = y.bind(cpu(), given | {"data": nd.array(X)}, aux_states=held, grad_req="null")
    return y.tojson(), values, executor.forward()[0].asnumpy()


def graph(rng: random.Random) -> tuple[dict[str, bytes], list[str]]:
    """A graph and its parameters under other names, and the name of its input."""
    tree, values, _ = json.loads(network()[0]), *network()[1:]
    names = renamed(rng, [node["name"] for node in tree["nodes"]])
    for node in tree["nodes"]:
        node["name"] = names[node["name"]]
        if rng.random() < 0.1:
            node.setdefault("attrs", {})[f"__{name(rng)}__"] = name(rng)
    marked = {f"{'aux' if 'moving' in n else 'arg'}:{utf8(names[n])}": values[n] for n in values}
    return {"a-symbol.json": json.dumps(tree).encode(), "a.params": params(marked)}, names["data"]


def params(arrays: dict[str, nd.NDArray]) -> bytes:
    return writes([a._tensor for a in arrays.values()], list(arrays))


def model(rng: random.Random) -> dict[str, bytes]:
    """An ONNX file of a product, a sum and a constant under other names."""
    from onnx import TensorProto, helper, numpy_helper

    old = ["data", "w", "b", "y", "z", "first", "second", "graph"]
    names = {n: utf8(new) for n, new in renamed(rng, old).items()}
    kind = TensorProto.FLOAT
    made = helper.make_model(
        helper.make_graph(
            [
                helper.make_node("Gemm", [names[n] for n in ("data", "w", "b")], [names["y"]],
                                 name=names["first"]),
                helper.make_node("Relu", [names["y"]], [names["z"]], name=names["second"]),
            ],
            names["graph"],
            [helper.make_tensor_value_info(names["data"], kind, [2, 4])],
            [helper.make_tensor_value_info(names["z"], kind, [2, 3])],
            [
                numpy_helper.from_array(np.ones((4, 3), "float32"), names["w"]),
                numpy_helper.from_array(np.ones(3, "float32"), names["b"]),
            ],
        ),
        opset_imports=[helper.make_opsetid("", 17)],
    )  # fmt: skip
    return {"a.onnx": made.SerializeToString()}


# The ways, each given the symbol, the values of its variables and the names of its inputs.


def block_of(symbol, values: dict, inputs: list[str]) -> gluon.SymbolBlock:
    block = gluon.SymbolBlock(symbol, [sym.var(n) for n in inputs])
    block.initialize()
    block(*[nd.array(X) for _ in inputs])
    for n, value in values.items():
        block.params[n].set_data(value)
    return block


def hybridized(folder: Path, *parts) -> Any:
    block = gluon.nn.HybridSequential()
    block.add(block_of(*parts))
    y = block(nd.array(X))
    block.hybridize(static_alloc=True, static_shape=True)
    for _ in range(3):
        assert np.array_equal(block(nd.array(X)).asnumpy(), y.asnumpy())
    return y


def shown(folder: Path, symbol, values: dict, inputs: list[str]) -> None:
    with redirect_stdout(io.StringIO()):
        viz.print_summary(symbol, {inputs[0]: X.shape})
        block_of(symbol, values, inputs).summary(nd.array(X))
    symbol.debug_str()
    if find_spec("graphviz"):
        assert viz.plot_network(symbol, hide_weights=False).source.count("[URL") == 0


def bound(folder: Path, symbol, values: dict, inputs: list[str]) -> Any:
    module = mod.Module(symbol, data_names=inputs, label_names=None)
    module.bind([(inputs[0], X.shape)], for_training=False)
    module.init_params(None, values, values)
    module.forward(mxio.DataBatch([nd.array(X)]))
    return module.get_outputs()[0]


def saved(folder: Path, symbol, values: dict, inputs: list[str]) -> None:
    for file in "b.safetensors", "b.pt", "b.params":
        nd.save(str(folder / file), values)
        found = nd.load(str(folder / file))
        assert found.keys() == values.keys()
    block = block_of(symbol, values, inputs)
    block.save_parameters(str(folder / "c.params"))
    block.load_parameters(str(folder / "c.params"))
    block.export(str(folder / "c"))


def module_of(*parts) -> torch.nn.Module:
    module = block_of(*parts).to_torch().eval()
    module.load_state_dict({n: t.clone() for n, t in module.state_dict().items()})
    return module


def as_module(folder: Path, *parts) -> Any:
    return module_of(*parts)(torch.from_numpy(X))


def compiled(folder: Path, *parts) -> Any:
    try:
        with torch.no_grad():
            return torch.compile(module_of(*parts), backend="eager")(torch.from_numpy(X))
    finally:
        torch._dynamo.reset()


def exported(folder: Path, *parts) -> Any:
    program = torch.export.export(module_of(*parts), (torch.from_numpy(X),))
    return program.module()(torch.from_numpy(X))


def strictly_exported(folder: Path, *parts) -> Any:
    program = torch.export.export(module_of(*parts), (torch.from_numpy(X),), strict=True)
    return program.module()(torch.from_numpy(X))


def written(folder: Path, symbol, values: dict, inputs: list[str]) -> Any:
    exchange.write(folder / "b.pt2", symbol, values, [X.shape])
    return torch.export.load(folder / "b.pt2").module()(torch.from_numpy(X))


def written_in_onnx(folder: Path, symbol, values: dict, inputs: list[str]) -> Any:
    if not find_spec("onnxscript"):
        return None
    onnx.export_model(symbol, values, [X.shape], onnx_file_path=folder / "b.onnx")
    return contrib.onnx.import_to_gluon(folder / "b.onnx")(nd.array(X))


SHORT = [hybridized, shown, bound, saved, as_module]
LONG = [compiled, exported, strictly_exported, written, written_in_onnx]


class Names:
    """The files, and the way that is taken with them."""

    def __init__(self):
        self.input, self.way = "data", hybridized

    def make(self, rng: random.Random) -> dict[str, bytes]:
        """A graph with its parameters, or an ONNX file."""
        self.way = rng.choice(LONG if rng.random() < SOMETIMES else SHORT)
        if rng.random() < 0.3 and find_spec("onnx"):
            return model(rng)
        files, self.input = graph(rng)
        return files

    def read(self, folder: Path) -> tuple:
        """The folder, the graph, the values of its variables, its inputs and its output for X."""
        with nothing_runs():
            if (folder / "a.onnx").exists():
                symbol, *parts = contrib.onnx.import_model(folder / "a.onnx")
                values = parts[0] | parts[1]
                inputs = [n for n in symbol.list_inputs() if n not in values]
                y = np.maximum(X @ np.ones((4, 3)) + 1, 0)
            else:
                gluon.SymbolBlock.imports(
                    folder / "a-symbol.json", [self.input], folder / "a.params"
                )
                symbol, inputs, y = sym.load(folder / "a-symbol.json"), [self.input], network()[2]
                values = {n[4:]: a for n, a in nd.load(str(folder / "a.params")).items()}
        names = symbol.list_inputs()
        return folder, symbol, values, inputs, y if len({*names}) == len(names) else None

    def use(self, found: tuple) -> None:
        """Take the way; names change no values."""
        *parts, expected = found
        with nothing_runs(), redirect_stdout(io.StringIO()):
            y = self.way(*parts)
        if y is not None and expected is not None:
            y = y.asnumpy() if isinstance(y, nd.NDArray) else y.detach().numpy()
            np.testing.assert_allclose(y, expected, rtol=1e-4, atol=1e-5)
