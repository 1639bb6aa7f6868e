"""Hostile files of arrays that other programs write: safetensors, npz, idx and CSV."""

from __future__ import annotations

import io
import json
import math
import pickle
import random
import struct
import warnings
import zipfile

import numpy as np

from .values import INTS, NUMBERS, changed_bytes, changed_text, changed_tree, number, packed, text

DTYPES = [
    "F32",
    "F64",
    "F16",
    "BF16",
    "I8",
    "U8",
    "I32",
    "I64",
    "BOOL",
    "U16",
    "U64",
    "F8_E4M3",
    "X",
]


def safetensors(rng: random.Random) -> dict[str, bytes]:
    """A header whose tree or length is changed, and its data."""
    header: dict = {"__metadata__": {"format": "pt"}} if rng.random() < 0.5 else {}
    body = b""
    for i in range(rng.choice([0, 1, 2, 3])):
        shape = [rng.choice([0, 1, 2, 3]) for _ in range(rng.randrange(4))]
        dtype = rng.choice(DTYPES[:9])
        size = math.prod(shape) * {"F64": 8, "I64": 8, "F32": 4, "I32": 4, "F16": 2, "BF16": 2}.get(
            dtype, 1
        )
        place = [len(body), len(body) + size]
        header[f"w{i}"] = {"dtype": dtype, "shape": shape, "data_offsets": place}
        body += rng.randbytes(size)
    if rng.random() < 0.3 and len(header) > 1:
        one = header[rng.choice([n for n in header if n != "__metadata__"])]
        one[rng.choice(["dtype", "shape", "data_offsets"])] = rng.choice(
            [rng.choice(DTYPES), [0, rng.choice(INTS)], [rng.choice(INTS), 0], [0, 1, 2**62, 2**62]]
        )
    elif rng.random() < 0.8:
        header = changed_tree(rng, header)
    content = changed_text(rng, json.dumps(header))
    length = rng.choice(INTS) % 2**64 if rng.random() < 0.1 else len(content)
    data = struct.pack("<Q", length) + content + body
    return {"a.safetensors": changed_bytes(rng, data) if rng.random() < 0.2 else data}


def whole_idx(rng: random.Random, shape: tuple[int, ...]) -> bytes:
    """An idx file of numbers below 10."""
    values = bytes([rng.randrange(10) for _ in range(math.prod(shape))])
    return bytes((0, 0, 8, len(shape))) + struct.pack(f">{len(shape)}I", *shape) + values


def damaged_idx(rng: random.Random, shape: tuple[int, ...]) -> bytes:
    """One with another size, other bytes, or compressed in ways that are right or wrong."""
    data = bytearray(whole_idx(rng, shape))
    change = rng.randrange(6)
    if change < 3:
        at = 4 * rng.randrange(len(shape) + 1)
        data[at : at + 4] = (rng.choice(INTS) % 2**32).to_bytes(4, "big")
    elif change == 3:
        data = changed_bytes(rng, data)
    return bytes(data)


def idx(rng: random.Random) -> dict[str, bytes]:
    """Images and labels for MNISTIter, one of them damaged; as they are or compressed."""
    count, wrong = rng.choice([0, 1, 4]), rng.choice(["image", "label", "none"])
    files = {}
    for name, shape in {"image": (count, 2, 3), "label": (count,)}.items():
        files[name] = (damaged_idx if name == wrong else whole_idx)(rng, shape)
        if rng.random() < 0.4:
            files[name] = packed(rng, files[name], ".gz")
    return files


def mnist(rng: random.Random) -> dict[str, bytes]:
    """The four files that `train` reads from a folder, one of them damaged or compressed."""
    shapes = {"images-idx3": (6, 2, 3), "labels-idx1": (6,)}
    files = {
        f"{p}-{n}-ubyte": whole_idx(rng, s) for p in ("train", "t10k") for n, s in shapes.items()
    }
    wrong = rng.choice(list(files))
    if rng.random() < 0.6:
        files[wrong] = damaged_idx(rng, (6, 2, 3) if "images" in wrong else (6,))
    if rng.random() < 0.6:
        files[f"{wrong}.gz"] = packed(rng, files.pop(wrong), ".gz")
    return files


def cifar(rng: random.Random) -> dict[str, bytes]:
    """A file of CIFAR-10 or CIFAR-100, whole, damaged, empty, or of the version in Python."""
    name, labels = rng.choice([("test_batch.bin", 1), ("test.bin", 2)])
    data = rng.randbytes(rng.choice([0, 1, 3]) * (labels + 3072))
    change = rng.randrange(6)
    if change < 2:
        data = changed_bytes(rng, data)
    elif change == 2:
        data = packed(rng, data, ".gz")
    elif change == 3:
        data = pickle.dumps({b"data": data, b"labels": [1, 2]})
    if rng.random() < 0.1:
        name = {"test_batch.bin": "test.bin", "test.bin": "test_batch.bin"}[name]
    return {name: data}


def npz(rng: random.Random) -> dict[str, bytes]:
    """A zip of npy files: their headers, the directory or the bytes changed."""
    kind = rng.choice(["f4", "f8", "u1", "i8", "?", "f2", ">f4", "u8"])
    names = ("x", "y") if rng.random() < 0.6 else ("x_train", "y_train", "x_test", "y_test")
    content = io.BytesIO()
    methods = [zipfile.ZIP_STORED] * 4 + [zipfile.ZIP_DEFLATED] * 4 + [zipfile.ZIP_BZIP2]
    method = rng.choice(methods)
    with zipfile.ZipFile(content, "w", method) as archive, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of names that are there twice
        for name in names:
            array = np.arange(6) % 3 if name[0] == "y" else np.arange(12).reshape(6, 2).astype(kind)
            data = npy(rng, array)
            if rng.random() < 0.05:
                name = text(rng)[:60000].strip("\0").encode("utf-8", "replace").decode()
            archive.writestr(f"{name}.npy", data)
    data = content.getvalue()
    return {"a.npz": changed_bytes(rng, data) if rng.random() < 0.4 else data}


def npy(rng: random.Random, array: np.ndarray) -> bytes:
    """One npy file, with another header, other bytes, or neither."""
    fields = np.lib.format.header_data_from_array_1_0(array)
    change = rng.randrange(20)
    if change == 0:
        fields["shape"] = rng.choice(
            [(), (-1,), (0, rng.choice(INTS)), (rng.choice(INTS),), (1,) * 70, (6, 2.5), 3, None]
        )
    elif change == 1:
        fields["descr"] = rng.choice(
            ["O", "|O", "U9", "<f1", "f99", "m8[s]", "", text(rng), [("a", "<f4")], 3, None, "V4"]
        )
    elif change == 2:
        fields["fortran_order"] = rng.choice([True, 1, None, "x"])
    elif change == 3:
        del fields[rng.choice(list(fields))]
    elif change == 4:
        fields[rng.choice(["x", "shape ", text(rng)[:100]])] = rng.choice([0, "x", []])
    try:
        header = repr(dict(sorted(fields.items())))
    except ValueError:  # a number of too many digits
        header = "{}"
    if change == 5:
        header = rng.choice(
            ["(" * 300 + header, header.replace("6", "9" * 5000), header[:20], "", "lambda: 0"]
        )
    encoded = header.encode("latin1", "replace") + b" " * rng.randrange(40) + b"\n"
    version = rng.choice([(1, 0)] * 8 + [(2, 0), (3, 0), (9, 1)])
    length = len(encoded) if change != 6 else rng.choice(INTS)
    width = 2 if version == (1, 0) else 4
    size = (length % (1 << 8 * width)).to_bytes(width, "little")
    return b"\x93NUMPY" + bytes(version) + size + encoded + array.tobytes()


def csv(rng: random.Random) -> dict[str, bytes]:
    """Rows of numbers, some of them none; as they are or compressed."""
    rows = [[str(rng.randrange(9)) for _ in range(3)] for _ in range(rng.choice([0, 1, 5, 200]))]
    for _ in range(rng.choice([0, 1, 1, 2])):
        if rows:
            row = rng.choice(rows)
            change = rng.randrange(5)
            if change == 0:
                row.append(rng.choice(["1", "1," * 100_000, ""]))
            elif change == 1:
                del row[rng.randrange(len(row) + 1) :]
            else:
                row[rng.randrange(len(row)) if row else 0 :] = [cell(rng)]
    lines = rng.choice(["\n", "\n", "\r\n", "\r", "\n\n"]).join(",".join(row) for row in rows)
    data = lines.encode(rng.choice(["utf-8"] * 6 + ["utf-16", "utf-8-sig"]), "surrogatepass")
    if rng.random() < 0.2:
        data = changed_bytes(rng, data)
    suffix = rng.choice([".gz", ".bz2", ".xz"])
    if rng.random() < 0.3:
        data = packed(rng, data, suffix)
    return {"a.csv" + (suffix if rng.random() < 0.3 else ""): data}


def libsvm(rng: random.Random) -> dict[str, bytes]:
    """Lines of a label and pairs, some of them none."""
    rows = []
    for _ in range(rng.choice([0, 1, 5, 200])):
        columns = sorted(rng.sample(range(9), rng.randrange(5)))
        rows.append([str(rng.randrange(3)), *[f"{c}:{rng.random():.3}" for c in columns]])
    for _ in range(rng.choice([0, 1, 1, 2])):
        if rows:
            row = rng.choice(rows)
            wrong = [f"{cell(rng)}:1", f"1:{cell(rng)}", cell(rng), "9:1", "0:1 " * 9, "#", ":", ""]
            row[rng.randrange(len(row)) :] = [rng.choice(wrong)]
    data = rng.choice(["\n", "\n", "\r\n"]).join(" ".join(row) for row in rows)
    content = data.encode(rng.choice(["utf-8"] * 6 + ["utf-16"]), "surrogatepass")
    return {"a.svm": changed_bytes(rng, content) if rng.random() < 0.2 else content}


def table(rng: random.Random) -> dict[str, bytes]:
    """Lines with two numbers and the name of a class, below the names of the columns."""
    rows = [["a", "b", "kind"]]
    for i in range(rng.choice([0, 1, 5, 20, 200])):
        rows.append([str(rng.random()), str(rng.randrange(9)), "xyz"[i % 3]])
    for _ in range(rng.choice([0, 1, 1, 2])):
        row = rng.choice(rows)
        row[rng.randrange(3) if len(row) == 3 else 0 :] = [
            cell(rng) for _ in range(rng.choice([1, 1, 2, 3, 1000]))
        ]
    separator = rng.choice([",", ",", ";", "\t"])
    data = "\n".join(separator.join(row) for row in rows).encode("utf-8", "surrogatepass")
    return {"a.csv": changed_bytes(rng, data) if rng.random() < 0.2 else data}


def cell(rng: random.Random) -> str:
    """What may be in the place of a number."""
    return rng.choice(
        [
            text(rng),
            str(number(rng)),
            rng.choice(NUMBERS),
            '"1',
            "'1'",
            "1e5",
            "#",
            "1j",
            "1;2",
            "1 2",
            "\x1a",
        ]
    )
