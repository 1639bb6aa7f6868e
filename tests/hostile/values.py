"""Values that readers do not expect, and changes of bytes, texts and trees of JSON."""

from __future__ import annotations

import bz2
import gzip
import json
import lzma
import math
import random
import re
from typing import Any

POWERS = [2**n + d for n in (24, 31, 32, 53, 60, 62, 63, 64) for d in (-1, 0, 1)]
INTS = [0, 1, -1, 2, 3, 7, 8, 64, 65, 127, 128, 255, 256, 65535, 65536, 10**9, 10**12, 10**30]
INTS += POWERS + [-n for n in POWERS]
FLOATS = [math.nan, math.inf, -math.inf, 1e308, -1e308, 5e-324, 0.5, 2.5, -0.0, 1e-30, 1e30]
TEXTS = [
    *("", " ", "x", "None", "True", "false", "nan", "inf", "-1", "1", "1e999", "0x10", "1_0", "1L"),
    *("(", "(1,", "()", "(1,)", "(-1, 0)", "(2, 2)", "(1, 2, 3, 4, 5, 6, 7, 8, 9)", "(((((((("),
    *("(3, x)", "float32", "int32", "bool", "f4,(2", "[('a','f4')]", "object", "__class__"),
    *("\0", "\ud800", "é😀", "\udcff", "../../x", "%s%n{0}", "\x1b[2J", "\x9b2J", "\r\n", "\u202e"),
    *("9" * 400, "9" * 5000, "(" * 2000, "1," * 3000, "a" * 70000),
]
NUMBERS = ["9" * 5000, "9" * 400, "1e400", "-0", "01", "NaN", "-Infinity", "1.5", "1e-400", "true"]


def number(rng: random.Random) -> int | float:
    """A number, mostly whole."""
    if rng.random() < 0.2:
        return rng.choice(FLOATS)
    return rng.choice(INTS) if rng.random() < 0.7 else rng.randrange(-5, 300)


def text(rng: random.Random) -> str:
    """A text; numbers among them."""
    return rng.choice(TEXTS) if rng.random() < 0.7 else str(number(rng))


def value(rng: random.Random) -> Any:
    """What JSON may have in any place."""
    deep: Any = rng.choice([0, None, "x", []])
    for _ in range(rng.choice([1, 3, 20, 400])):
        deep = [deep] if rng.random() < 0.8 else {"x": deep}
    plain = [None, True, False, [], {}, [0], [[]], {"": ""}]
    return rng.choice([number(rng), number(rng), text(rng), text(rng), rng.choice(plain), deep])


def changed_tree(rng: random.Random, tree: Any, changes: int = 0) -> Any:
    """A copy of a tree of JSON with one to three changes anywhere in it."""
    tree = json.loads(json.dumps(tree))
    for _ in range(changes or rng.choice([1, 1, 1, 2, 3])):
        slots = _slots(tree)
        if not slots:
            return value(rng)
        holder, key = rng.choice(slots)
        change = rng.randrange(8)
        if change <= 3:
            holder[key] = value(rng)
        elif change == 4:
            del holder[key]
        elif change == 5:
            other, place = rng.choice(slots)
            holder[key] = json.loads(json.dumps(other[place]))
        elif change == 6 and isinstance(holder, list):
            holder[key:key] = [holder[key]] * rng.choice([1, 2, 50])
        elif isinstance(holder, dict):
            holder[text(rng)] = holder[key]
        else:
            rng.shuffle(holder)
    return tree


def _slots(tree: Any) -> list[tuple[Any, Any]]:
    """Every place of a value in a tree: its list or dict, and index or key."""
    slots, rest = [], [tree]
    while rest:
        holder = rest.pop()
        inner = holder.items() if isinstance(holder, dict) else enumerate(holder)
        for key, part in list(inner):
            slots.append((holder, key))
            if isinstance(part, dict | list):
                rest.append(part)
    return slots


def changed_text(rng: random.Random, text: str) -> bytes:
    """A text of JSON in bytes: another number in it, another encoding, cut or damaged."""
    change = rng.randrange(12)
    if change == 0 and (found := list(re.finditer(r"(?<![\"\w])-?\d+(?![\"\w])", text))):
        place = rng.choice(found)
        text = text[: place.start()] + rng.choice(NUMBERS) + text[place.end() :]
    elif change == 1:
        return text.encode(rng.choice(["utf-16", "utf-32", "utf-8-sig", "utf-7"]), "surrogatepass")
    elif change == 2:
        deep = rng.choice([100, 5000, 200_000])
        text = rng.choice(["[", '{"nodes":', "[[],"]) * deep + text
    elif change == 3:
        return changed_bytes(rng, text.encode())
    return text.encode("utf-8", "surrogatepass" if rng.random() < 0.5 else "replace")


def changed_bytes(rng: random.Random, data: bytes) -> bytes:
    """Cut, longer, with parts overwritten, repeated, exchanged or left out."""
    data = bytearray(data)
    for _ in range(rng.choice([1, 1, 2, 4])):
        at, size = rng.randrange(len(data) + 1), rng.choice([1, 2, 4, 8, 30, 300])
        change = rng.randrange(8)
        if change == 0:
            del data[at:]
        elif change == 1:
            data += rng.randbytes(size)
        elif change == 2:
            data[at : at + 1] = rng.randbytes(1)
        elif change == 3:
            width, order = rng.choice([1, 2, 4, 8]), rng.choice(["little", "big"])
            wanted = rng.choice(INTS) % (1 << 8 * width)
            data[at : at + width] = wanted.to_bytes(width, order)
        elif change == 4:
            data[at:at] = data[at : at + size]
        elif change == 5:
            del data[at : at + size]
        elif change == 6:
            data[at : at + size] = bytes(len(data[at : at + size]))
        else:
            other = rng.randrange(len(data) + 1)
            data[at : at + size], data[other : other + size] = (
                data[other : other + size],
                data[at : at + size],
            )
    return bytes(data)


PACKERS = {".gz": gzip.compress, ".bz2": bz2.compress, ".xz": lzma.compress}


def packed(rng: random.Random, data: bytes, suffix: str) -> bytes:
    """Compressed: as one member or several, whole or damaged, with a bomb behind it or none."""
    pack = PACKERS[suffix]
    change = rng.randrange(6)
    if change == 0:
        half = rng.randrange(len(data) + 1)
        return pack(data[:half]) + pack(data[half:])
    if change == 1:
        return pack(data + bytes(1 << rng.choice([20, 24])))
    if change == 2:
        return pack(data) + rng.randbytes(rng.choice([1, 8, 40]))
    return changed_bytes(rng, pack(data)) if change < 5 else pack(data)
