"""Hostile files of whole models: PyTorch's state dicts, ONNX, and checkpoints of `train`."""

from __future__ import annotations

import hashlib
import io
import json
import random
import warnings
import zipfile
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import torch

from train import Refused, saved

from .arrays import safetensors
from .values import INTS, changed_bytes, changed_tree, text


def state_dict(rng: random.Random) -> dict[str, bytes]:
    """Make a file of `torch.save`: its tensors, its pickle, its zip or its bytes changed."""
    tensors = {f"w{i}": _tensor(rng) for i in range(rng.choice([0, 1, 1, 2, 3]))}
    if rng.random() < 0.1:
        tensors[text(rng).encode("utf-8", "replace").decode()] = torch.ones(2)
    if rng.random() < 0.05:
        tensors |= dict.fromkeys(map(str, range(300)), torch.zeros(1 << 18))  # one storage
    file = io.BytesIO()
    torch.save(tensors, file, _use_new_zipfile_serialization=rng.random() < 0.8)
    data = file.getvalue()
    if data.startswith(b"PK") and rng.random() < 0.7:
        data = _rezipped(rng, data)
    return {"a.pt": changed_bytes(rng, data) if rng.random() < 0.3 else data}


def _tensor(rng: random.Random) -> torch.Tensor:
    dtype = rng.choice([torch.float32, torch.float64, torch.float16, torch.int64, torch.bool])
    x = torch.zeros(rng.choice([(), (0,), (1,), (2, 3), (1 << 20,)]), dtype=dtype)
    change = rng.randrange(6)
    if change == 0 and x.dim() == 1:
        return x[:1].expand(rng.choice([2, 10**6, 10**9]), len(x[:1]))
    return x.t() if change == 1 and x.dim() < 3 else x


def _rezipped(rng: random.Random, data: bytes) -> bytes:
    """Compress, leave out, repeat or damage members of a zip; or change its pickle."""
    file, change = io.BytesIO(), rng.randrange(7)
    method = zipfile.ZIP_DEFLATED if change == 0 else zipfile.ZIP_STORED
    with zipfile.ZipFile(io.BytesIO(data)) as old, zipfile.ZipFile(file, "w", method) as new:
        chosen = rng.choice(old.infolist())
        for member in old.infolist():
            content = old.read(member)
            if change in (1, 2) and member.filename.endswith("data.pkl"):
                content = _changed_pickle(rng, content)
            if member is chosen and change == 3:
                continue
            if member is chosen and change == 4:
                content = changed_bytes(rng, content)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # of names that are there twice
                for _ in range(2 if member is chosen and change == 5 else 1):
                    new.writestr(member.filename, content)
    return file.getvalue()


CALLS = [
    b"cbuiltins\nbytearray\nJ\xff\xff\xff\x7f\x85R",
    b"ctorch\nFloatTensor\nJ\x00\x00\x00\x40\x85R",
    b"cos\nsystem\nX\x01\x00\x00\x00x\x85R",
    b"]" * 100_000,
]


def _changed_pickle(rng: random.Random, data: bytes) -> bytes:
    """Put another number, or one more instruction or call into a pickle."""
    places = [i for i, byte in enumerate(data) if byte == ord("K")]
    if places and rng.random() < 0.7:
        at, number = rng.choice(places), rng.choice(INTS) % 2**32
        return data[:at] + b"J" + number.to_bytes(4, "little") + data[at + 2 :]
    if rng.random() < 0.5:
        return data[:2] + rng.choice(CALLS) + data[2:]
    return changed_bytes(rng, data)


def onnx(rng: random.Random) -> dict[str, bytes]:
    """Make a model of some operators, with fields or bytes changed."""
    from onnx import ModelProto

    model = ModelProto.FromString(_whole_model())
    for _ in range(rng.choice([0, 1, 1, 2, 3])):
        _change_message(rng, model)
    data = model.SerializeToString()
    return {"a.onnx": changed_bytes(rng, data) if rng.random() < 0.3 else data}


@cache
def _whole_model() -> bytes:
    from onnx import TensorProto, helper, numpy_helper

    held = {"w": np.ones((3, 4), "f4"), "b": np.ones(3, "f4"), "reps": np.array([2, 1])}
    held |= {"shape": np.array([1, 4, 3]), "pads": np.array([0, 1, 0, 1])}
    nodes = [
        helper.make_node("Gemm", ["x", "w", "b"], ["h"], transB=1),
        helper.make_node("Relu", ["h"], ["r"]),
        helper.make_node("Tile", ["r", "reps"], ["t"]),
        helper.make_node("Expand", ["t", "shape"], ["e"]),
        helper.make_node("Pad", ["t", "pads"], ["p"]),
        helper.make_node("Split", ["e"], ["s0", "s1"], axis=1, num_outputs=2),
    ]
    values = [numpy_helper.from_array(x, n) for n, x in held.items()]
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, [2, 4])
    outputs = [helper.make_tensor_value_info(n, TensorProto.FLOAT, None) for n in ("p", "s0", "s1")]
    for value in outputs:
        value.type.tensor_type.shape.SetInParent()
    graph = helper.make_graph(nodes, "g", [x], outputs, values)
    made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=8)
    return made.SerializeToString()


def _change_message(rng: random.Random, model: Any) -> None:
    """Put another number, text or part anywhere into a message of protobuf."""
    message = model
    while True:
        fields = message.ListFields()
        inner = [part for f, value in fields if f.message_type for part in _listed(value)]
        if not inner or (message is not model and rng.random() < 0.2):
            break
        message = rng.choice(inner)
    if not fields:
        return
    field, value = rng.choice(fields)
    if rng.random() < 0.15:
        message.ClearField(field.name)
        return
    many = not isinstance(value, (int, float, str, bytes)) and not hasattr(value, "ListFields")
    if field.message_type:
        if many and rng.random() < 0.5:
            value.add().CopyFrom(rng.choice(list(value)))
        return
    other = _other(rng, value[0] if many else value)
    try:
        if many:
            value[rng.randrange(len(value))] = other
        else:
            setattr(message, field.name, other)
    except (ValueError, TypeError):  # a number that the field cannot have
        return


def _listed(value: Any) -> list:
    return [value] if hasattr(value, "ListFields") else list(value)


def _other(rng: random.Random, value: Any) -> Any:
    if isinstance(value, bytes):
        return changed_bytes(rng, value)
    if isinstance(value, str):
        return rng.choice([text(rng), "w", "x", "Relu", "Tile"]).encode("utf-8", "replace").decode()
    return rng.choice(INTS) if isinstance(value, int) else rng.random()


def saved_checkpoint(rng: random.Random) -> dict[str, bytes]:
    """Make a checkpoint whose arrays or index are changed; its hashes mostly fit them."""
    files = {
        saved.WEIGHTS: _arrays(rng),
        saved.PARAMS: b"not read",
        saved.STATE: _arrays(rng),
    }
    epoch = {"epoch": 1, "samples": 9, "seconds": 0.1, "loss": 0.5, "metric": 0.5}
    epoch |= {"held_out_loss": 0.5, "held_out_metric": None}
    index = {"format": saved.FORMAT, "epochs_done": 1, "step": 0, "history": [epoch]}
    index["meter"] = {"samples": 1, "steps": 1, "loss": 0.5, "metric": 0.5, "seconds": 0.0}
    index["files"] = {name: saved.fingerprint(content) for name, content in files.items()}
    if rng.random() < 0.3:
        index = changed_tree(rng, index)
    if isinstance(index, dict) and rng.random() < 0.9:
        dumped = json.dumps(index, sort_keys=True).encode()
        index["sha256"] = hashlib.sha256(dumped).hexdigest()
    written = json.dumps(index).encode("utf-8", "replace")
    return files | {saved.INDEX: written}


def _arrays(rng: random.Random) -> bytes:
    if rng.random() < 0.5:
        return saved.tensors_as_bytes({"a": np.ones((2, 3), "f4"), "b": np.arange(3)})
    (content,) = safetensors(rng).values()
    return content


def read_checkpoint(folder: Path) -> saved.Saved:
    """Read the files as a checkpoint's, with the error that `train` makes of it."""
    path = folder / saved.name_of(1, 0)
    path.mkdir()
    for name in saved.FILES:
        (folder / name).rename(path / name)
    try:
        return saved.read(path)
    except ValueError as error:
        raise Refused(f"{path}: {str(error)[:500]}") from error
