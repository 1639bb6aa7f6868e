"""The readers, each with the files that are made for it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch._dynamo  # noqa: F401 - else the first graph takes the seconds of this import

from layers.mxnet import MXNetError, gluon, image, init, io, nd, recordio, sym
from layers.mxnet._files import state_dict
from layers.mxnet.contrib.onnx import import_model
from train import data

from . import arrays, configurations, graphs, models, params, records
from .judge import Reader
from .names import Names
from .runs import Runs
from .states import States

EARLY = ".* ends early. a JPEG"  # the warning of an image that is read as far as it goes


class _Network:
    """Loads parameters into a network, which keeps its own where they are refused."""

    def __init__(self):
        self.net = gluon.nn.Dense(2, in_units=3)

    def read(self, folder: Path) -> gluon.nn.Dense:
        self.net.load_parameters(folder / "a.params")
        loaded, self.net = self.net, gluon.nn.Dense(2, in_units=3)
        return loaded

    def left(self) -> list:
        if self.net.weight._data is None:
            self.net.initialize(init.One())
        return [p.data().asnumpy().tolist() for p in self.net.collect_params().values()]


def _read_graph(folder: Path) -> tuple[Any, Path]:
    path = folder / "a-symbol.json"
    return sym.load(path), path


def _use_graph(found: tuple[Any, Path]) -> None:
    """Ask a graph all that a program asks before it computes."""
    symbol, path = found
    again = sym.load_json(symbol.tojson())
    assert again.tojson() == symbol.tojson()
    names = symbol.list_arguments()
    symbol.list_outputs(), symbol.list_auxiliary_states(), symbol.attr_dict(), symbol.debug_str()
    for ask, given in (
        (symbol.infer_shape_partial, dict.fromkeys(names[:1], (2, 3))),
        (symbol.infer_shape_partial, dict.fromkeys(names[:1], (2, 3, 4, 4))),
        (symbol.infer_shape_partial, {}),
        (symbol.infer_type_partial, dict.fromkeys(names[:1], "float16")),
    ):
        try:
            ask(**given)
        except Exception as error:
            if not isinstance(error, MXNetError):
                raise
    try:
        gluon.SymbolBlock.imports(path, names[:1])
    except MXNetError as error:
        assert str(path) in str(error), error


def _read_idx(folder: Path) -> io.MNISTIter:
    return io.MNISTIter(str(folder / "image"), str(folder / "label"), batch_size=1, shuffle=False)


def _read_cifar(folder: Path) -> gluon.data.Dataset:
    vision = gluon.data.vision
    kind = vision.CIFAR10 if (folder / "test_batch.bin").exists() else vision.CIFAR100
    return kind(folder, train=False)


def _read_csv(folder: Path) -> io.CSVIter:
    [path] = folder.iterdir()
    dtype = ("float32", "int32")[path.stat().st_size % 2]
    return io.CSVIter(str(path), (3,), batch_size=1, dtype=dtype)


def _read_libsvm(folder: Path) -> io.LibSVMIter:
    return io.LibSVMIter(str(folder / "a.svm"), (9,), batch_size=1)


def _read_records(folder: Path) -> list[bytes]:
    """The records of a file one after another, and by its index."""
    paths = str(folder / "a.idx"), str(folder / "a.rec")
    reader = recordio.MXIndexedRecordIO(*paths, "r")
    found = list(iter(reader.read, None))
    return found + [r for key in reader.keys if (r := reader.read_idx(key)) is not None]


def _use_records(found: list[bytes]) -> None:
    """Unpack images. A record that is damaged must not keep the next from being read."""
    for record in found:
        for iscolor in (-1, 0, 1):
            try:
                recordio.unpack_img(record, iscolor)
            except MXNetError:
                pass


def _read_image_batches(folder: Path) -> list:
    """Some batches of the images of a file, by one of the iterators."""
    path, index = str(folder / "a.rec"), str(folder / "a.idx")
    kind = Path(path).stat().st_size % 8 // 2
    if kind == 0:
        found = image.ImageIter(1, (3, 8, 8), path_imgrec=path)
    elif kind == 1:
        found = image.ImageDetIter(1, (3, 8, 8), path_imgrec=path, path_imgidx=index)
    else:
        iterator = (io.ImageRecordIter, io.ImageDetRecordIter)[kind - 2]
        options = {"preprocess_threads": 1, "prefetch_buffer": 1, "verbose": False}
        found = iterator(path_imgrec=path, data_shape=(3, 8, 8), batch_size=1, **options)
    return [batch for _, batch in zip(range(9), found)]


def _batches(found: Any) -> None:
    for _ in zip(range(3), found):
        pass


def _in_memory(found: Any) -> int:
    return found._data.nbytes + found._label.nbytes


def _of_matrix(found: Any) -> int:
    _, values, indptr, columns = found._data._stored
    return sum(part.nbytes for part in (values, indptr, columns)) + found._label.nbytes


def _pictures(found: Any) -> int:
    return found._data._tensor.nbytes + found._label.nbytes


def _prepared(found: data.Data) -> int:
    return sum(part.nbytes for part in (found.x, found.y, found.held_out_x, found.held_out_y))


_names, _network, _runs, _states = Names(), _Network(), Runs(), States()
READERS = {
    "params": Reader(params.make, lambda f: nd.load(f / "a.params")),
    "parameters": Reader(params.parameters, _network.read, left=_network.left),
    "graph": Reader(graphs.make, _read_graph, _use_graph),
    "states": Reader(_states.make, _states.read, lambda training: training.step(), _states.left),
    "safetensors": Reader(arrays.safetensors, lambda f: nd.load(f / "a.safetensors"), native=True),
    "state dict": Reader(models.state_dict, lambda f: state_dict.read(f / "a.pt"), native=True),
    "ONNX": Reader(models.onnx, lambda f: import_model(f / "a.onnx"), native=True),
    "checkpoint": Reader(models.saved_checkpoint, models.read_checkpoint),
    "npz": Reader(arrays.npz, lambda f: data.load(str(f / "a.npz"))),
    "mnist": Reader(arrays.mnist, lambda f: data.load(f"mnist:{f}"), size=_prepared),
    "idx": Reader(arrays.idx, _read_idx, _batches, size=_in_memory),
    "cifar": Reader(
        arrays.cifar,
        _read_cifar,
        lambda found: [found[i] for i in range(len(found))],
        size=_pictures,
    ),
    "records": Reader(
        records.make, _read_records, _use_records, size=lambda found: sum(map(len, found))
    ),
    "image batches": Reader(records.labelled, _read_image_batches),
    "image": Reader(
        records.images, lambda f: image.imread(f / "a.jpg"), size=lambda x: x._tensor.nbytes
    ),
    "table": Reader(arrays.table, lambda f: data.load(str(f / "a.csv")), size=_prepared),
    "pictures": Reader(records.pictures, lambda f: data.load(str(f / "a.rec")), size=_prepared),
    "configuration": Reader(configurations.make, configurations.read),
    "run": Reader(_runs.make, _runs.read, native=True),
    "libsvm": Reader(arrays.libsvm, _read_libsvm, _batches, size=_of_matrix),
    "csv": Reader(arrays.csv, _read_csv, _batches, size=_in_memory),
    # PyTorch's tracers take memory for any graph.
    "names": Reader(_names.make, _names.read, _names.use, size=lambda found: 64 << 20),
}
