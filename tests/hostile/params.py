"""Hostile ``.params`` files: fields of records of every version, changed one by one."""

from __future__ import annotations

import random
import struct

import torch

from layers.mxnet._files.params import writes

from .values import INTS, changed_bytes, packed, text

MAGIC, V1, V2, V3 = 0x112, 0xF993FAC8, 0xF993FAC9, 0xF993FACA
WIDTHS = {"I": 4, "i": 4, "Q": 8, "q": 8}
SIZES = [4, 8, 2, 1, 4, 1, 8, 1, 2, 2, 4, 8, 2]  # by the number of the type

Fields = list  # of (code, value) or bytes


def make(rng: random.Random) -> dict[str, bytes]:
    """A file of some arrays, a few of its fields or bytes changed."""
    data = file(rng)
    change = rng.randrange(10)
    if change == 0:
        data = changed_bytes(rng, data)
    elif change == 1:
        data = packed(rng, data, rng.choice([".gz", ".bz2", ".xz"]))
    elif change == 2:
        data = empty(rng)
    return {"a.params": data}


def file(rng: random.Random) -> bytes:
    """Records and names, with changed fields."""
    records = [record(rng) for _ in range(rng.choice([0, 1, 1, 2, 3]))]
    names: Fields = []
    if rng.random() < 0.7:
        for i in range(len(records)):
            name = rng.choice([f"arg:w{i}", f"0.w{i}", "weight", text(rng)])
            name = name.encode("utf-8", "surrogatepass")
            names += [("Q", len(name)), name]
    fields = [("Q", MAGIC), ("Q", 0), ("Q", len(records))]
    fields += [field for each in records for field in each]
    fields += [("Q", len(names) // 2), *names]
    for _ in range(rng.choice([0, 1, 1, 1, 2, 3])):
        _change(rng, fields)
    return _packed(fields)


def parameters(rng: random.Random) -> dict[str, bytes]:
    """The parameters of a Dense(2, in_units=3), of other shapes, types or names, or damaged."""
    arrays = {"weight": torch.ones(2, 3), "bias": torch.ones(2)}
    for _ in range(rng.choice([0, 1, 1, 2])):
        name, change = rng.choice(list(arrays) or ["weight"]), rng.randrange(5)
        if change == 0:
            arrays[name] = torch.zeros(rng.choice([(), (0,), (2,), (3, 2), (2, 3, 1), (2, 0)]))
        elif change == 1 and name in arrays:
            arrays[name] = arrays[name].to(rng.choice([torch.float16, torch.int64, torch.bool]))
        elif change == 2:
            arrays.pop(name, None)
        else:
            renamed = rng.choice(
                [f"arg:{name}", f"net.{name}", text(rng).encode("utf-8", "replace").decode()]
            )
            arrays[renamed] = arrays.get(name, torch.ones(2))
    data = writes(list(arrays.values()), list(arrays) if rng.random() < 0.95 else [])
    return {"a.params": changed_bytes(rng, data) if rng.random() < 0.3 else data}


def _change(rng: random.Random, fields: Fields) -> None:
    at = rng.randrange(len(fields))
    change = rng.randrange(8)
    if change == 0:
        del fields[at]
    elif change == 1:
        fields[at:at] = [fields[at]]
    elif change == 2 and isinstance(fields[at], bytes):
        fields[at] = changed_bytes(rng, fields[at])
    else:
        numbers = [i for i, field in enumerate(fields) if isinstance(field, tuple)]
        at = rng.choice(numbers or [at])
        if numbers:
            fields[at] = fields[at][0], rng.choice(INTS)


def _packed(fields: Fields) -> bytes:
    parts = []
    for field in fields:
        if isinstance(field, tuple):
            width = WIDTHS[field[0]]
            field = (field[1] % (1 << 8 * width)).to_bytes(width, "little")
        parts.append(field)
    return b"".join(parts)


def record(rng: random.Random) -> Fields:
    """An array, by the rules of one of the versions."""
    kind = rng.choice(["v0", "v1", "v2", "v2", "v3", "row_sparse", "csr"])
    flag = rng.choice([0, 0, 1, 2, 3, 4, 5, 6, 7, 12])
    shape = [rng.choice([0, 1, 2, 3, 3]) for _ in range(rng.choice([0, 1, 1, 2, 2, 3]))]
    place = [("i", 1), ("i", 0)]
    if kind == "row_sparse":
        return _row_sparse(rng, flag, [4, *shape], place)
    if kind == "csr":
        return _csr(rng, flag, place)
    data = _values(rng, flag, shape)
    if kind == "v0":
        return [("I", len(shape)), *(("I", n) for n in shape), *place, ("i", flag), data]
    head = {"v1": [("I", V1)], "v2": [("I", V2), ("i", 0)], "v3": [("I", V3), ("i", 0)]}[kind]
    return [*head, *_shape(shape), *place, ("i", flag), data]


def _shape(shape: list[int]) -> Fields:
    return [("i", len(shape)), *(("q", n) for n in shape)]


def _values(rng: random.Random, flag: int, shape: list[int]) -> bytes:
    count = SIZES[flag]
    for n in shape:
        count *= n
    return rng.randbytes(count)


def _row_sparse(rng: random.Random, flag: int, shape: list[int], place: Fields) -> Fields:
    rows = rng.sample(range(4), rng.choice([0, 1, 2]))
    stored = [len(rows), *shape[1:]]
    head = [("I", V2), ("i", 1), *_shape(stored), *_shape(shape), *place, ("i", flag)]
    numbers = [("q", row) for row in rows]
    return [*head, ("i", 6), *_shape([len(rows)]), _values(rng, flag, stored), *numbers]


def _csr(rng: random.Random, flag: int, place: Fields) -> Fields:
    indptr, columns = [0, 1, 3], [2, 0, 1]
    head = [("I", V2), ("i", 2), *_shape([3]), *_shape([2, 3]), *place, ("i", flag)]
    kinds = [("i", 6), *_shape([3]), ("i", 6), *_shape([3])]
    numbers = [("q", n) for n in [*indptr, *columns]]
    return [*head, *kinds, _values(rng, flag, [3]), *numbers]


def empty(rng: random.Random) -> bytes:
    """Many arrays of nothing: what is smallest in a file and not in memory."""
    count = rng.choice([1000, 1 << 14, (1 << 16) + 1, 1 << 17])
    one = struct.pack("<Iiiqiii", V2, 0, 1, 0, 1, 0, 0)
    return struct.pack("<QQQ", MAGIC, 0, count) + one * count + struct.pack("<Q", 0)
