"""The network of a run in the formats of other programs."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

import layers
from layers import engine
from layers._atomic import replacing
from layers.engine import mx, nd

from . import Refused, symbolic
from .description import add_notes, notes_of
from .tensors import tensors_as_bytes
from .trained import GRAPH, PARAMETERS, TrainedRun, network_of, read_run, refusing_networks

__all__ = ["export"]

SAMPLES = 5  # that a file is compared with the network on
CLOSE = 1e-4  # of the largest output: sums in another order
STRUCTURED = "model.params"  # the arrays by their places in the net, which train writes
OF_ARRAYS = (".pt", ".pth", ".bin")
OF_MXNET = PARAMETERS.removeprefix("model"), GRAPH.removeprefix("model")

# Programs that load a file: FILE INPUT.npy OUTPUT.npz. Of arrays alone the output is their names,
# and the arrays as _0, _1, ...: savez takes none that is called file, and cuts .npy off a name.
ONNX = """\
import sys, numpy, onnxruntime
file, x, out = sys.argv[1:]
net = onnxruntime.InferenceSession(file, providers=["CPUExecutionProvider"])
numpy.savez(out, y=net.run(None, {"data": numpy.load(x)})[0])
"""
SAFETENSORS = """\
import sys, numpy
try:
    from safetensors.numpy import load_file
except ImportError:
    from train.tensors import read_tensors as load_file
file, x, out = sys.argv[1:]
found = load_file(file)
numpy.savez(out, names=list(found), **{f"_{i}": x for i, x in enumerate(found.values())})
"""
MXNET = """\
import sys, warnings, numpy
from pathlib import Path
import layers.ops
from layers.engine import gluon, nd
from train.own_file import load_file
file, x, out, *operators = sys.argv[1:]
for each in operators:
    load_file(Path(each), "--operators")
warnings.simplefilter("ignore")
net = gluon.SymbolBlock.imports(f"{file}-symbol.json", ["data"], f"{file}-0000.params")
numpy.savez(out, y=net(nd.array(numpy.load(x))).asnumpy())
"""


@dataclass(frozen=True)
class Network:
    """A graph of one input, its arrays, and the arrays by the names that a program's net has."""

    graph: Any
    arrays: dict[str, Any]
    structured: dict[str, Any]
    notes: dict[str, str]
    features: int


@dataclass(frozen=True)
class Format:
    """How a network is written, what loads it, and what is lost."""

    suffixes: tuple[str, ...]
    write: Callable[[Path, Network], tuple[str, int]]  # what to say; the samples that fit
    loader: str | None  # None: the engine's
    lost: str
    needs: tuple[str, ...] = ()
    has_graph: bool = True
    has_operators: bool = False  # of the user's, which its loader has to know
    added: tuple[str, ...] = ("",)  # to the name, for each file
    needs_exchange: bool = False


def export(
    folder: Path,
    kind: str,
    out: Path | None,
    operators: Path | None = None,
    overwrite: bool = False,
) -> list[str]:
    """Write the network of a run's folder, and say what was written.

    `operators` is a file with operators of the network, which has been run.

    Raises
    ------
    Refused
        It has no run, the format cannot be written here, a file exists and is not to be replaced,
        or what was written gives other numbers.
    """
    out, form = target(folder, kind, out)
    files = [out.with_name(f"{out.name}{suffix}") for suffix in form.added]
    if not overwrite and (existing := [file for file in files if file.exists()]):
        raise Refused(
            f"--out {out}: {existing[0]} exists already; expected --overwrite, or another file"
        )
    if form.needs_exchange and engine.exchange() is None:
        raise Refused(
            f"--to {kind}: needs PyTorch; expected --engine torch, which exports runs of both"
        )
    if missing := [name for name in form.needs if find_spec(name) is None]:
        raise Refused(f"--to {kind}: not installed: pip install {' '.join(missing)}")
    run = read_run(folder)
    if form.write is write_foreign and run.outputs == "detections":
        raise Refused(
            f"--to {kind}: the network of {folder} detects objects, which this format cannot "
            "have: how many there are depends on the image; expected --to mxnet, or for its arrays "
            "alone --to safetensors"
        )
    network = read_network(folder, run)
    try:
        if not out.parent.is_dir():
            raise Refused(f"--out {out}: there is no folder {out.parent}")
        with TemporaryDirectory(prefix=".export", dir=out.parent) as made:
            with refusing_networks(f"--to {kind}"):
                said, count = form.write(Path(made) / out.name, network)
            own = (operators,) if operators and form.has_operators else ()
            compared = compare(Path(made) / out.name, form, folder, run, network, count, own)
            for file in files:
                with replacing(file) as new:
                    (Path(made) / file.name).rename(new)
    except OSError as error:
        raise Refused(f"--out {out}: {error.strerror or error}") from error
    lost = f"{form.lost}{''.join(f', and its own ones {file}' for file in own)}"
    return [f"{' and '.join(map(str, files))}: {said}", f"lost: {lost}", compared]


def target(folder: Path, kind: str, out: Path | None) -> tuple[Path, Format]:
    """The path of the file, and its format.

    Raises
    ------
    Refused
        The name's ending is that of no format, or a folder has the name.
    """
    forms = FORMATS[kind]
    if out is None:
        whole = folder.resolve() if folder.name in ("", "..") else folder
        return whole.with_name(whole.name + forms[0].suffixes[0]), forms[0]
    form = next((form for form in forms if out.name.endswith(form.suffixes)), None)
    if form is None or out.is_dir():
        found = "it is a folder; " if out.is_dir() else ""
        endings = ", ".join(suffix for form in forms for suffix in form.suffixes)
        expected = "the name of a file" + f" that ends in {endings}" * bool(endings)
        raise Refused(f"--out {out}: {found}expected {expected}")
    return out, form


def read_network(folder: Path, run: TrainedRun) -> Network:
    """The exported graph of a run, of one input, and its arrays."""
    with refusing_networks(f"{folder}: the network cannot be used"):
        symbolic.register_names_of_before(folder / GRAPH)
        graph = mx.sym.load(str(folder / GRAPH))
        if len(run.inputs) > 1:  # of train.module
            graph = symbolic.plain(graph)
        arrays = read_arrays(folder / PARAMETERS)
        structured = arrays
        if (folder / STRUCTURED).is_file():
            structured = read_arrays(folder / STRUCTURED)
    notes = notes_of({"data": vars(run), "network": vars(run)})
    return Network(graph, arrays, structured, notes, int(np.prod(run.shape)))


def read_arrays(path: Path) -> dict[str, Any]:
    """The arrays of a file, without the arg: and aux: before their names.

    Raises
    ------
    Refused
        The arrays have no names.
    """
    found = nd.load(str(path))
    if not isinstance(found, dict):
        raise Refused(f"{path} has arrays without names; expected those of a network")
    return {name.removeprefix("arg:").removeprefix("aux:"): a for name, a in found.items()}


def write_foreign(path: Path, network: Network) -> tuple[str, int]:
    """A graph of ONNX, or of torch.export; for any number of samples if it can be."""
    exchange, what = engine.exchange(), "with its scaling, the names of classes and columns"
    assert exchange is not None  # which `export` has checked

    def write(samples: int, open_batch: bool) -> None:
        exchange.write(
            path, network.graph, network.arrays, [(samples, network.features)],
            open_batch=open_batch, notes=network.notes,
        )  # fmt: skip

    try:
        write(2, True)
        return f"the network {what}, for any number of samples", SAMPLES
    except mx.base.MXNetError:  # it has a size that is fixed
        write(1, False)
        return f"the network {what}, for one sample at a time", 1


def write_state_dict(path: Path, network: Network) -> tuple[str, int]:
    exchange = engine.exchange()
    assert exchange is not None
    exchange.write(path, None, network.structured)
    return f"{len(network.structured)} arrays, those of the scaling among them", SAMPLES


def write_safetensors(path: Path, network: Network) -> tuple[str, int]:
    arrays = {name: array.asnumpy() for name, array in network.structured.items()}
    path.write_bytes(tensors_as_bytes(arrays, network.notes))
    said = f"{len(arrays)} arrays, those of the scaling among them, and the names of classes"
    return said, SAMPLES


def write_mxnet(path: Path, network: Network) -> tuple[str, int]:
    add_notes(network.graph, network.notes)
    network.graph.save(f"{path}{OF_MXNET[1]}")
    states = {*network.graph.list_auxiliary_states()}
    named = {f"{'aux' if n in states else 'arg'}:{n}": a for n, a in network.arrays.items()}
    nd.save(f"{path}{OF_MXNET[0]}", named)
    return "the network with its scaling, the names of classes and columns", SAMPLES


def compare(
    path: Path,
    form: Format,
    folder: Path,
    run: TrainedRun,
    network: Network,
    count: int,
    operators: tuple[Path, ...],
) -> str:
    """Load what was written in a process of its own, and compare it with the network.

    Raises
    ------
    Refused
        The arrays, or the numbers that the file gives, differ from the network's.
    """
    x = samples(network, run)[:count]
    found = reload(path, form, x, operators)
    if not form.has_graph:
        expected = {name: array.asnumpy() for name, array in network.structured.items()}
        same = found.keys() == expected.keys() and all(
            np.array_equal(found[name], value) for name, value in expected.items()
        )
        if not same:
            raise Refused(
                f"{path.name}: loaded again, its arrays are others; the file is not written"
            )
        return f"loaded in a process of its own: its {len(found)} arrays are those of the network"
    expected = network_of(folder, run)(x)
    y, size = found["y"], np.abs(expected).max()
    differ = np.abs(y - expected).max() if y.shape == expected.shape else np.inf
    if not differ <= CLOSE * size:
        raise Refused(
            f"{path.name}: loaded again, it gives numbers that differ by {differ:.3g} from the "
            f"network's, which are up to {size:.3g}, {differ / size:.2g} of them; expected at most "
            f"{CLOSE:g} of them; the file is not written"
        )
    share = differ / size if size else 0.0
    return (
        f"loaded in a process of its own: its outputs differ by {share:.2g} of the largest, which "
        f"is {size:.3g} ({differ:.2g})"
    )


def samples(network: Network, run: TrainedRun) -> np.ndarray:
    """Samples such as those that the network was trained with, as far as its scaling tells."""
    rng = np.random.default_rng(0)
    if run.pixels:
        return rng.integers(0, run.pixels + 1, (SAMPLES, network.features)).astype("float32")
    values = rng.normal(size=(SAMPLES, network.features - len(run.codes)))
    numbers = run.mean + np.array(run.std) * values
    codes = [rng.integers(0, count, (SAMPLES, 1)) for count in run.codes]
    return np.concatenate([numbers, *codes], axis=1).astype("float32")


def reload(
    path: Path, form: Format, x: np.ndarray, operators: tuple[Path, ...] = ()
) -> dict[str, np.ndarray]:
    """Return the outputs that a file's loader computes for samples.

    Raises
    ------
    Refused
        The file cannot be loaded again.
    """
    exchange = engine.exchange()
    loader = form.loader or (exchange and exchange.LOADERS[path.suffix]) or ""
    root = str(Path(layers.__file__).resolve().parents[1])
    paths = [root, *filter(None, [os.environ.get("PYTHONPATH")])]
    env = os.environ | {"PYTHONPATH": os.pathsep.join(paths), "LAYERS_ENGINE": engine.name()}
    with TemporaryDirectory() as folder:
        given, out = (Path(folder, name) for name in ("x.npy", "y.npz"))
        np.save(given, x)
        done = subprocess.run(
            [
                *(sys.executable, "-c", loader, path.resolve(), given, out),
                *(file.resolve() for file in operators),
            ],
            env=env,
            cwd=folder,  # no module of the current folder is imported
            capture_output=True,
            text=True,
            errors="replace",
        )
        if done.returncode:
            reason = (done.stderr.strip().splitlines() or [f"status {done.returncode}"])[-1][:300]
            raise Refused(f"{path.name}: cannot be loaded again: {reason}; the file is not written")
        with np.load(out) as arrays:
            if form.has_graph:
                return {"y": arrays["y"]}
            return {name: arrays[f"_{i}"] for i, name in enumerate(arrays["names"].tolist())}


PREDICTS = "the gradients of its operators: it predicts, and cannot be trained further"
FORMATS: dict[str, tuple[Format, ...]] = {
    "onnx": (
        Format(
            (".onnx",), write_foreign, ONNX, PREDICTS, ("onnx", "onnxscript", "onnxruntime"),
            needs_exchange=True,
        ),
    ),
    "torch": (
        Format((".pt2",), write_foreign, None, PREDICTS, needs_exchange=True),
        Format(
            OF_ARRAYS, write_state_dict, None,
            "the network itself, which has to be written, and the names of classes and columns",
            has_graph=False, needs_exchange=True,
        ),
    ),
    "safetensors": (
        Format(
            (".safetensors",), write_safetensors, SAFETENSORS,
            "the network itself, which a program has to make", has_graph=False,
        ),
    ),
    "mxnet": (
        Format(
            ("",), write_mxnet, MXNET, "nothing; its operators of this library need layers.ops",
            has_operators=True, added=OF_MXNET,
        ),
    ),
}  # fmt: skip
