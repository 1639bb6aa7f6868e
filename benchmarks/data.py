"""The numbers that all contestants begin with."""

from __future__ import annotations

from math import sqrt

import numpy as np

RATE = 0.1  # the learning rate
# With larger rates, rounding decides what such deep nets have learned after two steps.
RESNET_RATE, ZOO_RATE = 1e-4, 1e-5
HEADS = 8  # of multi_head_attention


def batches(sizes: tuple[int, ...], batch: int) -> tuple[np.ndarray, np.ndarray, list[np.ndarray]]:
    """Data (batch, k), labels (batch,) as floats, and a weight (m, k) for each layer."""
    random = np.random.RandomState(0)
    data = random.uniform(size=(batch, sizes[0])).astype("float32")
    label = random.randint(sizes[-1], size=batch).astype("float32")
    return data, label, spread(random, [(m, k) for k, m in zip(sizes, sizes[1:])])


def samples(sizes: tuple[int, ...], count: int) -> tuple[np.ndarray, np.ndarray, list[np.ndarray]]:
    """Data (count, k), labels (count,) that depend on it, and a weight for each layer."""
    data, _, weights = batches(sizes, count)
    rule = np.random.RandomState(1).normal(size=(sizes[0], sizes[-1]))
    return data, (data @ rule).argmax(axis=1).astype("float32"), weights


def transformer(
    batch: int, length: int, units: int
) -> tuple[np.ndarray, np.ndarray, dict[str, np.ndarray]]:
    """Data and targets (batch, length, units), and the weights (m, k) of a transformer's block."""
    random = np.random.RandomState(0)
    x, target = random.normal(size=(2, batch, length, units)).astype("float32")
    shapes = dict.fromkeys(("q", "k", "v", "out"), (units, units))
    shapes |= {"up": (4 * units, units), "down": (units, 4 * units)}
    return x, target, dict(zip(shapes, spread(random, [*shapes.values()])))


def factors(n: int, k: int, m: int) -> list[np.ndarray]:
    """x (n, k), w (m, k) and dy (n, m) of a dense layer."""
    random = np.random.RandomState(0)
    return [random.uniform(-1, 1, size).astype("float32") for size in ((n, k), (m, k), (n, m))]


def integers(data: tuple[int, ...], weight: tuple[int, ...]) -> list[np.ndarray]:
    """Data in uint8, and weights in int8."""
    random = np.random.RandomState(0)
    sizes = (("uint8", 0, 256, data), ("int8", -127, 128, weight))
    return [random.randint(low, high, shape).astype(dtype) for dtype, low, high, shape in sizes]


def elements(shape: tuple[int, ...]) -> np.ndarray:
    """Numbers between -2 and 2."""
    return np.random.RandomState(0).uniform(-2, 2, shape).astype("float32")


def formula_inputs(operator: str, shape: tuple[int, ...]) -> list[np.ndarray]:
    """The inputs of an operator of the library; those of integers have no gradient."""
    random = np.random.RandomState(0)
    shapes, ids = {
        "attention": ([shape] * 3, []),
        "dense": ([shape[:2], (shape[-1], shape[1]), shape[-1:]], []),
        "embedding_bag": ([shape[:2]], [(shape[0], shape[2:])]),
        "focal": ([shape], [(2, shape)]),
        "geglu_tanh": ([shape] * 2, []),
        "group_norm": ([shape, shape[1:2], shape[1:2]], []),
        "info_nce": ([shape] * 2, []),
        "layer_norm": ([shape, shape[-1:], shape[-1:]], []),
        "linear_cross_entropy": ([shape[:2], (shape[-1], shape[1])], [(shape[-1], shape[:1])]),
        "lsq": ([shape, (1,)], []),
        "multi_head_attention": ([shape, *[shape[-1:] * 2] * 4], []),
        "remat": (
            [shape[:2], *[(4 * shape[1], shape[1]), (shape[1], 4 * shape[1])] * shape[-1]],
            [],
        ),
        "rms_norm": ([shape, shape[-1:]], []),
        "sigmoid_cross_entropy": ([shape] * 2, []),
        "softmax": ([shape], [(shape[1], shape[:1])]),
        "softmax_cross_entropy": ([shape], [(shape[1], shape[:1])]),
        "swiglu": ([shape] * 2, []),
        "triplet": ([shape] * 3, []),
    }.get(operator, ([shape], []))
    floats = [random.uniform(-1, 1, s).astype("float32") for s in shapes]
    if operator == "lsq":
        floats[1][:] = 0.01  # the scale: some values are clipped to 127 of it, and none to 128
    if operator in ("multi_head_attention", "remat"):
        for w in floats[1:]:
            w *= sqrt(3 / w.shape[1])  # keeps the spread of what goes through
    return floats + [random.randint(most, size=s) for most, s in ids]


def images(size: int, batch: int) -> tuple[np.ndarray, np.ndarray]:
    """Images (batch, 3, size, size), and labels (batch,) as floats, of 1000 classes."""
    random = np.random.RandomState(0)
    data = random.normal(size=(batch, 3, size, size)).astype("float32")
    return data, random.randint(1000, size=batch).astype("float32")


def lookups(rows: int, size: int, batch: int) -> tuple[np.ndarray, np.ndarray]:
    """Numbers of rows (batch,), some of them several times, and a table (rows, size)."""
    random = np.random.RandomState(0)
    weight = np.zeros((rows, size), "float32")
    weight[: 1 << 10] = random.normal(size=(min(rows, 1 << 10), size))
    return random.randint(rows, size=batch).astype("int32"), weight


def parameters(count: int, shape: tuple[int, ...]) -> tuple[list[np.ndarray], list[np.ndarray]]:
    """So many weights of a shape, and a gradient of each."""
    random = np.random.RandomState(0)
    weights, gradients = (random.normal(size=(count, *shape)).astype("float32") for _ in range(2))
    return [*weights], [*gradients]


def spread(random: np.random.RandomState, shapes: list[tuple[int, ...]]) -> list[np.ndarray]:
    """Weights, the first size out, that keep the spread of what goes through them and a ReLU."""
    return [
        random.normal(scale=(2 / np.prod(shape[1:])) ** 0.5, size=shape).astype("float32")
        for shape in shapes
    ]


def sequences(
    steps: int, batch: int, size: int, layers: int
) -> tuple[np.ndarray, list[np.ndarray]]:
    """Sequences (steps, batch, size), and W, R, b and c of each layer of an LSTM of that size."""
    random = np.random.RandomState(0)
    shapes = [(4 * size, size), (4 * size, size), (4 * size,), (4 * size,)] * layers
    weights = [random.uniform(-1, 1, shape).astype("float32") / size**0.5 for shape in shapes]
    return random.normal(size=(steps, batch, size)).astype("float32"), weights


def sentences(count: int, longest: int, words: int) -> list[list[int]]:
    """Sentences of 1 to `longest` words, as numbers from 1 on."""
    random = np.random.RandomState(0)
    lengths = random.randint(1, longest + 1, count)
    return [random.randint(1, words, length).tolist() for length in lengths]
