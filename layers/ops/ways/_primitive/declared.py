"""Declared outputs of a `Custom`: their number, shapes and dtypes."""

from __future__ import annotations

from collections.abc import Sequence
from operator import index
from typing import Any

from ...._errors import note
from ....engine import mxnet_error
from ..numpy_border import as_dtype, dtype_name


class Declared:
    """Declaration of a `Custom`'s outputs: values, functions of the inputs', or None to infer.

    Parameters
    ----------
    who : str
        The operator's name in errors.
    code : Code
        Infers the shapes and dtypes that are not declared.

    Raises
    ------
    TypeError, ValueError
        A value is no shape or dtype; or it is None and cannot be inferred.
    """

    def __init__(self, who: str, out_shape: Any, out_dtype: Any, code: Any):
        self.who, self.code = who, code
        self.out_shape, self.out_dtype = out_shape, out_dtype
        for what, value in (("out_shape", out_shape), ("out_dtype", out_dtype)):
            if value is None and what not in code.inferred:
                raise mxnet_error(
                    TypeError,
                    f"{who}: {what} is None\n  expected it to be declared; it is not inferred here",
                )
        if out_dtype is not None and not _is_rule(out_dtype):
            self._types(out_dtype)
        if out_shape is not None and not _is_rule(out_shape):
            self._check_value(out_shape)

    def _check_value(self, shape: Any) -> None:
        if not isinstance(shape, (tuple, list)):
            raise mxnet_error(
                TypeError,
                f"{self.who}: out_shape is {shape!r} ({type(shape).__name__})\n"
                "  expected a tuple of ints, a tuple of such tuples, or a function",
            )
        for one in shape if _is_many(shape) else [shape]:
            self._shape(one)
        if self.out_dtype is not None and not _is_rule(self.out_dtype):
            self._shapes(shape, _count(self.out_dtype))

    def count(self, dtypes: Sequence[str]) -> int | None:
        """Return the number of outputs in a tuple; None for a single output without a tuple."""
        if self.out_dtype is None:
            return self.code.outputs
        found = self._evaluate("out_dtype", self.out_dtype, [*map(as_dtype, dtypes)])
        self._types(found)
        return _count(found)

    def rules(self, kinds: dict[str, str | None], names: Sequence[str], count: int | None):
        """Return the rules `shapes` and `types` of an `Operator` with the outputs `names`.

        `kinds` has, by input, the dtype of a number, or None for an array.
        """

        def out_shape(**known):
            shapes = [() if kind else known[n] for n, kind in kinds.items()]
            if any(s is None or 0 in s for s in shapes):
                return {}
            shapes = tuple([tuple(s) for s in shapes])
            numbers = tuple([known[n] if kind else None for n, kind in kinds.items()])
            return dict(zip(names, self.shapes(shapes, numbers, count)))

        def out_dtype(**known):
            dtypes = tuple([kind or known[n] for n, kind in kinds.items()])
            if None in dtypes:
                return {}
            return dict(zip(names, self.types(dtypes)))

        return out_shape, out_dtype

    def shapes(self, shapes, numbers, count: int | None) -> list[tuple[int, ...]]:
        """Return the shapes of the outputs."""
        if self.out_shape is None:
            return [s or (1,) for s in self.code.infer_shapes(shapes, numbers)]
        found = self._evaluate("out_shape", self.out_shape, shapes)
        return self._shapes(found, count)

    def types(self, dtypes: tuple[str, ...]) -> list[str]:
        """Return the dtypes of the outputs."""
        if self.out_dtype is None:
            return self.code.infer_dtypes(dtypes)
        return self._types(self._evaluate("out_dtype", self.out_dtype, [*map(as_dtype, dtypes)]))

    def _evaluate(self, what: str, declared: Any, arguments: Sequence) -> Any:
        """Return a declared value, or the result of a declared function."""
        if not _is_rule(declared):
            return declared
        try:
            return declared(*arguments)
        except Exception as error:
            note(error, f"  in {what} of {self.who} ({', '.join(map(str, arguments))})")
            raise

    def _types(self, found: Any) -> list[str]:
        """Return the names of one dtype, or of several in a tuple."""
        try:
            names = [dtype_name(t) for t in ([found] if _count(found) is None else found)]
        except TypeError as error:
            raise mxnet_error(
                TypeError,
                f"{self.who}: out_dtype is {found!r}: {error}\n"
                "  expected a dtype or its name, a tuple of them, or a function",
            ) from None
        if not names:
            raise mxnet_error(
                ValueError, f"{self.who}: out_dtype is {found!r}\n  expected at least one output"
            )
        return names

    def _shapes(self, found: Any, count: int | None) -> list[tuple[int, ...]]:
        """Return a list of one shape, or of `count` shapes from a tuple."""
        if count is None:
            return [self._shape(found)]
        if not isinstance(found, (tuple, list)) or len(found) != count:
            raise mxnet_error(
                ValueError,
                f"{self.who}: out_shape is {found!r}\n"
                f"  expected a tuple of {count} shapes, one for each dtype in out_dtype",
            )
        return [self._shape(shape) for shape in found]

    def _shape(self, found: Any) -> tuple[int, ...]:
        """Return a shape as a tuple; (1,) for (), because MXNet's arrays have at least one axis."""
        if isinstance(found, (tuple, list)):
            try:
                shape = tuple(index(n) for n in found)
            except TypeError:
                shape = (-1,)
            if all(n >= 0 for n in shape):
                return shape or (1,)
        raise mxnet_error(
            TypeError,
            f"{self.who}: out_shape is {found!r} ({type(found).__name__})\n"
            "  expected a tuple of ints, one for each axis, for a single dtype in out_dtype",
        )


def _is_rule(declared: Any) -> bool:
    """True for a function; a dtype such as np.float32 can be called, but is no function here."""
    return callable(declared) and not isinstance(declared, type)


def _count(found: Any) -> int | None:
    """Return the number of entries of a tuple; None for a single dtype."""
    return len(found) if isinstance(found, (tuple, list)) else None


def _is_many(shape: Sequence) -> bool:
    """True for a tuple of shapes, False for a shape."""
    return any(isinstance(n, (tuple, list)) for n in shape)
