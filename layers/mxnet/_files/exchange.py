"""Files of other libraries: ONNX, PyTorch's programs, and its state dicts, which are read, too."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from io import BytesIO
from pathlib import Path

import numpy as np
import torch

from .. import onnx
from ..context import cpu
from ..ndarray import NDArray
from ..symbol import Symbol
from . import state_dict
from .opening import write_files
from .torch_export import open_sizes, trace

__all__ = ["LOADERS", "PROGRAM", "read_state_dict", "write", "write_program"]

PROGRAM = ".pt2"  # of torch.export.save
NAMES = "names.json"  # in extra_files of a program: its parameters' names in the graph, by its own
# Programs that need PyTorch alone: FILE INPUT.npy OUTPUT.npz; of arrays the output is their names,
# and the arrays as _0, _1, ...: savez takes no array called file, and cuts .npy off a name.
LOADERS = {
    PROGRAM: """\
import sys, numpy, torch
file, x, out = sys.argv[1:]
net = torch.export.load(file).module()
with torch.no_grad():
    numpy.savez(out, y=net(torch.from_numpy(numpy.load(x))).numpy())
""",
    **dict.fromkeys(
        state_dict.SUFFIXES,
        """\
import sys, numpy, torch
file, x, out = sys.argv[1:]
found = torch.load(file, weights_only=True)
numpy.savez(out, names=list(found), **{f"_{i}": v.numpy() for i, v in enumerate(found.values())})
""",
    ),
}


def read_state_dict(path: str | Path) -> dict[str, NDArray]:
    """Return the arrays of a state dict by name; nothing in the file runs.

    Raises
    ------
    ParamsFileError
        It is damaged, or has anything but tensors.
    """
    tensors, names = state_dict.read(path)
    return {name: NDArray(tensor, cpu()) for name, tensor in zip(names, tensors)}


def write(
    path: str | Path,
    graph: Symbol | None,
    arrays: Mapping[str, NDArray],
    shapes: Sequence[tuple] = (),
    *,
    open_batch: bool = False,
    notes: Mapping[str, str] | None = None,
) -> None:
    """Write a file of the kind that its name says: .onnx, .pt2, or .pt for the arrays alone.

    Parameters
    ----------
    shapes : of the inputs, in the graph's order
    open_batch : leave the first size of each input open
    notes : texts that the file carries too, where its kind can: not in .pt

    Raises
    ------
    MXNetError
        The graph cannot be brought into that form, or a package is missing.
    """
    path = str(path)
    if state_dict.has_suffix(path):
        tensors = [array._tensor for array in arrays.values()]
        write_files({path: state_dict.pieces(path, tensors, list(arrays))})
        return
    assert graph is not None
    sizes = [("n", *shape[1:]) for shape in shapes] if open_batch else None
    if path.endswith(PROGRAM):
        write_program(path, graph, arrays, shapes, sizes, notes)
        return
    onnx.export_model(
        graph, dict(arrays), shapes, np.float32, path, dynamic=open_batch,
        dynamic_input_shapes=sizes,
    )  # fmt: skip
    if notes:
        _note(path, notes)


def _note(path: str, notes: Mapping[str, str]) -> None:
    """Add texts to an ONNX file."""
    from onnx import helper, load_model, save_model

    model = load_model(path, load_external_data=False)
    helper.set_model_props(model, dict(notes))
    save_model(model, path)


def write_program(
    path: str,
    graph: Symbol,
    arrays: Mapping[str, NDArray],
    shapes: Sequence[tuple],
    sizes: Sequence[tuple] | None = None,
    notes: Mapping[str, str] | None = None,
) -> None:
    """Write what `torch.export` makes of a graph, for ``torch.export.load(path).module()``.

    Raises
    ------
    ArgumentError
        The number of shapes is not that of the inputs.
    MXNetError
        An operator cannot be traced.
    """
    shapes = [tuple(shape) for shape in shapes]
    dims = open_sizes(shapes, sizes) if sizes else None
    program, _, parameters = trace(graph, dict(arrays), shapes, np.float32, dims)
    told = {NAMES: json.dumps(parameters)} | dict(notes or {})
    buffer = BytesIO()
    torch.export.save(program, buffer, extra_files=told)
    write_files({path: [buffer.getbuffer()]})
