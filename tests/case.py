"""What a case of an operator is: its inputs, its attributes, and what comes out of it.

Nothing here knows an engine: `mx` is the module that a case runs on.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial

import numpy as np

TOLERANCE = {  # relative to each value, and to the largest of all (at least 1)
    "float16": (1e-2, 1e-3),
    "float32": (1e-5, 1e-6),
    "float64": (1e-9, 1e-12),
}
CASES: dict[str, Case] = {}
_section = ""


def section(name: str) -> None:
    """The cases that follow are recorded in tests/golden/<name>.npz."""
    global _section
    _section = name


def case(operators: str, *inputs, **options) -> None:
    """Add a case: ``case("sum", (2, 3, 4), axis=1)``, or one for each of ``"sum mean"``.

    An input is a shape, which stands for float32 values, or one of the constructors below. What
    is no option of `Case` is an attribute of the operator.
    """
    given = {name: options.pop(name) for name in Case.__dataclass_fields__ if name in options}
    for operator in operators.split():
        added = Case(operator, [Input.of(i) for i in inputs], options, section=_section, **given)
        if added.id in CASES:
            raise ValueError(f"the case {added.id} is there twice")
        CASES[added.id] = added


@dataclass
class Case:
    """One call of an operator.

    ours: why our values are not MXNet's; then `expected(*inputs)` gives them, as a dictionary of
          y0, y1, ... and the gradients d0, d1, ... for head gradients of ones.
    moments: (mean, standard deviation) of a random output, whose values are not compared.
    grad: False leaves the gradients out. train: whether the call is recorded for training.
    into: the inputs that the outputs are written to, by number: `out=`.
    """

    operator: str
    inputs: list[Input]
    attributes: dict
    section: str
    ours: str = ""
    expected: Callable | None = None
    moments: tuple[float, float] | None = None
    grad: bool = True
    train: bool = True
    into: tuple[int, ...] = ()
    id: str = field(init=False)

    def __post_init__(self):
        attributes = [f"{n}={text(v)}" for n, v in self.attributes.items()]
        switches = [n for n, on in (("nograd", not self.grad), ("predict", not self.train)) if on]
        shown = [*(i.id for i in self.inputs), *attributes, *switches]
        self.id = f"{self.operator}({','.join(shown)})"

    def values(self) -> list[np.ndarray]:
        """The inputs' values: the same ones on each run, and on each NumPy."""
        random = np.random.RandomState(zlib.crc32(self.id.encode()))
        return [i.make(random) for i in self.inputs]

    def heads(self, outputs: list[np.ndarray]) -> list[np.ndarray]:
        """The head gradients, in the shapes and types of the outputs."""
        if self.ours:
            return [np.ones_like(y) for y in outputs]
        random = np.random.RandomState(zlib.crc32(f"{self.id} heads".encode()))
        return [np.asarray(random.uniform(-1, 1, y.shape), y.dtype) for y in outputs]


@dataclass
class Input:
    """An input: how a case's id shows it, its values, and whether it has a gradient."""

    id: str
    make: Callable[[np.random.RandomState], np.ndarray]
    grad: bool = True

    @classmethod
    def of(cls, given: tuple | Input) -> Input:
        return given if isinstance(given, cls) else normal(*given)


def text(value) -> str:
    return str(value).replace(" ", "")


def _input(prefix: str, shape: tuple, draw: Callable, dtype="float32", grad=True) -> Input:
    size = "x".join(map(str, shape)) or "()"
    return Input(prefix + size, lambda random: np.asarray(draw(random, shape), dtype), grad)


def normal(*shape: int) -> Input:
    """From the normal distribution; a bare tuple means this."""
    return _input("", shape, lambda random, s: random.standard_normal(s))


def unit(*shape: int) -> Input:
    """Between -0.95 and 0.95."""
    return _input("unit:", shape, lambda random, s: random.uniform(-0.95, 0.95, s))


def positive(*shape: int) -> Input:
    """Between 0.1 and 3."""
    return _input("positive:", shape, lambda random, s: random.uniform(0.1, 3, s))


def ties(*shape: int) -> Input:
    """-1, 0 and 1: every value comes several times."""
    return _input("ties:", shape, lambda random, s: random.randint(-1, 2, s))


def ints(shape: tuple, below: int) -> Input:
    """float32 integers from 0, without a gradient: labels, indices, lengths."""
    draw = lambda random, s: random.randint(0, below, s)  # noqa: E731 - as its neighbours
    return _input(f"ints{below}:", shape, draw, grad=False)


def boxes(*shape: int, places: int = 8, empty: bool = False) -> Input:
    """Boxes (xmin, ymin, xmax, ymax) in [0, 1] whose corners lie on few places: many are equal."""

    def draw(random, s):
        low = random.randint(0, places, (*s[:-1], 2))
        high = low + random.randint(0 if empty else 1, places // 2 + 1, low.shape)
        return np.concatenate([low, high], -1) / (1.5 * places)

    return _input(f"boxes{places}{'e' * empty}:", shape, draw)


def detections(*shape: int, classes: int = 3, scores: int = 10) -> Input:
    """Rows (class, score, box, ...), of few classes and scores, so that many are equal."""

    def draw(random, s):
        made = boxes(*s[:-1], 4).make(random)
        parts = random.randint(-1, classes, s[:-1]), random.randint(0, scores, s[:-1]) / scores
        rest = random.standard_normal((*s[:-1], s[-1] - 6))
        return np.concatenate([np.stack(parts, -1), made, rest], -1)

    return _input(f"detections{classes},{scores}:", shape, draw)


def integers(dtype: str, *shape: int) -> Input:
    """All that dtype has, or for int32 up to 2²⁰, without a gradient."""
    info = np.iinfo(dtype)
    low, high = max(int(info.min), -(2**20)), min(int(info.max) + 1, 2**20)
    return _input(f"{dtype}:", shape, lambda random, s: random.randint(low, high, s), dtype, False)


def labelled(*shape: int, classes: int = 3) -> Input:
    """Rows (class, box, ...) of the boxes in images, -1 behind the last of an image."""

    def draw(random, s):
        made = boxes(*s[:-1], 4).make(random)
        rest = random.standard_normal((*s[:-1], s[-1] - 5))
        kinds = random.randint(0, classes, (*s[:-1], 1))
        rows = np.concatenate([kinds, made, rest], -1)
        rows[np.arange(s[1]) >= random.randint(0, s[1] + 1, (s[0], 1))] = -1
        return rows

    return _input(f"labelled{classes}:", shape, draw, grad=False)


def regions(count: int, images: int, extent: int, turned: bool = False) -> Input:
    """Rows (image, box), corners at quarters of pixels and some outside.

    `turned`: (image, x, y, width, height, degrees).
    """

    def draw(random, _):
        image = random.randint(0, images, (count, 1))
        low = random.randint(-4, 4 * extent, (count, 2)) / 4
        size = random.randint(1, 3 * extent, (count, 2)) / 4
        if turned:
            return np.concatenate([image, low, size, random.uniform(0, 180, (count, 1))], 1)
        return np.concatenate([image, low, low + size], 1)

    return _input(f"regions{extent}{'t' * turned}:{images}x", (count,), draw)


def values(*given, dtype="float32", grad=True) -> Input:
    """These very values: ``values(0.5, -0.5)``, ``values([1, 2], [3, 4])``."""
    prefix = "" if dtype == "float32" else f"{dtype}:"
    return Input(prefix + text(list(given)), lambda random: np.array(given, dtype), grad)


def still(given: Input) -> Input:
    """An input without a gradient."""
    return Input(f"still:{given.id}", given.make, grad=False)


def as_(dtype: str, given: tuple | Input) -> Input:
    """An input in another dtype; a shape means integers from -5 to 5 where dtype has no others."""
    if isinstance(given, tuple) and not dtype.startswith("float"):
        low, high = {"bool": (0, 2), "uint8": (0, 11)}.get(dtype, (-5, 6))
        given = _input("", given, lambda random, s: random.randint(low, high, s))
    source = Input.of(given)
    grad = source.grad and dtype.startswith("float")
    return Input(f"{dtype}:{source.id}", lambda random: source.make(random).astype(dtype), grad)


PLACES = ("contrib", "linalg", "image", "sparse")


def function(nd, name: str) -> Callable:
    """The function of an operator, where MXNet keeps it: nd.op, nd._internal, nd.contrib..."""
    place, rest = "op", name
    if name.startswith("_"):
        place, _, rest = name[1:].partition("_")
        if place not in PLACES and not (place == "random" and name.endswith("_like")):
            place, rest = "_internal", name
    return getattr(getattr(nd, place), rest)


UNTOUCHED = 7  # what a gradient holds before, to tell one of zeros from none


def untouched(name: str, value: np.ndarray) -> bool:
    """Whether this is a gradient that nobody has written."""
    return name.startswith("d") and value.size > 0 and (value == UNTOUCHED).all()


def run(mx, case: Case) -> dict[str, np.ndarray]:
    """Everything that comes out of a case.

    y0, y1, ...: the outputs; d0, d1, ...: the gradients of the inputs; x0, x1, ...: the inputs
    that the call has changed.
    """
    mx.random.seed(1)
    before = case.values()
    arrays = [mx.nd.array(v, dtype=v.dtype) for v in before]
    variables = {}
    for i, array in enumerate(arrays):
        if case.grad and case.inputs[i].grad and before[i].dtype.kind == "f":
            array.attach_grad()
            array.grad[:] = UNTOUCHED
            variables[f"d{i}"] = array
    operator = function(mx.nd, case.operator)
    if case.into:
        operator = partial(operator, out=[arrays[i] for i in case.into])
    if variables:
        with mx.autograd.record(train_mode=case.train):
            ys = operator(*arrays, **case.attributes)
    else:
        with mx.autograd.train_mode() if case.train else mx.autograd.predict_mode():
            ys = operator(*arrays, **case.attributes)
    ys = ys if isinstance(ys, (list, tuple)) else [ys]
    found = {f"y{i}": y.asnumpy() for i, y in enumerate(ys)}
    floats = any(y.dtype.kind == "f" for y in found.values())
    if variables and floats and differentiate(mx, case, ys, list(found.values())):
        found |= {name: array.grad.asnumpy() for name, array in variables.items()}
    after = [array.asnumpy() for array in arrays]
    found |= {
        f"x{i}": new
        for i, (old, new) in enumerate(zip(before, after))
        if not np.array_equal(old, new, equal_nan=new.dtype.kind == "f")
    }
    return found


def differentiate(mx, case: Case, ys: list, outputs: list[np.ndarray]) -> bool:
    """Go backward from the outputs; False when MXNet has no gradient for the operator."""
    real = [i for i, y in enumerate(outputs) if y.dtype.kind == "f"]
    heads = [mx.nd.array(h, dtype=h.dtype) for h in case.heads([outputs[i] for i in real])]
    try:
        mx.autograd.backward([ys[i] for i in real], heads, train_mode=case.train)
    except mx.base.MXNetError as error:
        if "non-differentiable" in str(error):
            return False
        raise
    return True


def check(name: str, found: np.ndarray, expected: np.ndarray) -> None:
    """Hold what came out of a case to what is expected: dtype, shape, values."""
    assert found.dtype == expected.dtype, name
    assert found.shape == expected.shape, name
    relative, absolute = TOLERANCE.get(expected.dtype.name, (0, 0))
    absolute *= np.max(np.abs(expected), initial=1, where=np.isfinite(expected))
    np.testing.assert_allclose(found, expected, relative, absolute, err_msg=name)
