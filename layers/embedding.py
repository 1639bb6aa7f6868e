"""Tables of learned vectors."""

from __future__ import annotations

import numpy as np

from ._inputs import expect_numbers, expect_sizes, in_order
from ._renamed import formerly
from .engine import adapter, expect, gluon, mxnet_error, nd
from .ops import embedding_bag, row_numbers

__all__ = ["EmbeddingBag"]


class EmbeddingBag(gluon.HybridBlock):
    """Sum or mean of the learned vectors of each bag of ids, yᵢ = Σⱼ weightsᵢⱼ w[idsᵢⱼ].

    It is an Embedding and a sum in one, for texts as bags of words and the like. Bags come in one
    of two forms. In the first, each row of ids is a bag, and all have one length; `padding` fills
    up shorter bags. In the second, the ids of all bags stand one after another, and `offsets` gives
    the start of each bag: bags may have any length, also 0. ::

        block = EmbeddingBag(1000, 16, padding=-1)
        block(nd.array([[4, 2, 7], [5, -1, -1]]))  # two bags: 4, 2, 7 and 5
        block = EmbeddingBag(1000, 16)
        block(nd.array([4, 2, 7, 5]), nd.array([0, 3]))  # the same
        block(nd.array([[4, 2], [5, 7]]), weights=nd.array([[1, 0.5], [1, 1]]))

    A hybridized block must always be called in the same form. The gradient of the table is dense:
    only rows that ids name differ from 0, but an optimizer updates all rows. For tables with
    millions of rows, `sparse_grad` makes it row_sparse, as in
    ``gluon.nn.Embedding(sparse_grad=True)``: it has the rows that ids name, and the first row if
    there is padding. The block then makes an array of the rows of all ids, (n k, output_dim), and
    none of the size of the table. For 1000 ids and 1,000,000 rows of 64, a step of SGD takes 6 ms;
    the dense gradient takes 256 MB and 96 ms.

    Parameters
    ----------
    input_dim : int
        Number of vectors.
    output_dim : int
        Size of a vector.
    mode : {'sum', 'mean'}
        The mean is taken over ids that are not padding; a bag without ids gives 0 in both modes.
    padding : int, optional
        An id to ignore, in rows of ids only; it may be no vector's number, such as -1.
    weight_initializer : str or Initializer, optional
        By default the initializer passed to `initialize`.
    dtype : str
        The dtype of the vectors; ids may be integers or floats.
    sparse_grad : bool
        If True, the gradient of the table is row_sparse.

    Inputs:
        - **ids**: (n, k) whole numbers below input_dim, or padding; (t,) with offsets
        - **offsets**: (n,) the start of each bag in ids, in ascending order from 0; optional
        - **weights**: a factor for each id, in the shape of ids, with the mode 'sum'; optional
    Outputs:
        - **y**: (n, output_dim)

    Raises
    ------
    ValueError
        `mode` is neither, or a size is no whole number from 1; shapes do not fit together; weights
        are given with the mode 'mean', or offsets with `padding`; offsets are not in ascending
        order from 0.
    IndexError
        An id is negative, too large, or not a whole number. Ids and offsets on a GPU are not
        checked, because a check would have to wait for the GPU; there, the nearest vector is taken.
        Inside a larger graph the error comes from PyTorch on a CPU, and MXNet raises none.
    """

    @formerly("input_dim output_dim mode padding weight_initializer dtype sparse_grad")
    def __init__(
        self,
        input_dim: int,
        output_dim: int,
        *,
        mode: str = "sum",
        padding: int | None = None,
        weight_initializer=None,
        dtype: str = "float32",
        sparse_grad: bool = False,
        **kwargs,
    ):
        expect_sizes("EmbeddingBag", input_dim=input_dim, output_dim=output_dim)
        if mode not in ("sum", "mean"):
            raise mxnet_error(
                ValueError, f"EmbeddingBag: mode is {mode!r}\n  expected 'sum' or 'mean'"
            )
        super().__init__(**kwargs)
        self._attributes = {"mode": mode, "padding": padding}
        self._looked_up = {"input_dim": input_dim, "output_dim": output_dim, "dtype": dtype}
        self._sparse_grad = sparse_grad
        with self.name_scope():
            self.weight = self.params.get(
                "weight",
                shape=(input_dim, output_dim),
                dtype=dtype,
                init=weight_initializer,
                grad_stype="row_sparse" if sparse_grad else "default",
            )

    def __call__(self, *inputs, **named):
        """Return the sum or mean of each bag; inputs are given by position or by name.

        Raises
        ------
        TypeError
            An input is missing, unknown, or of the other engine.
        ValueError, IndexError
            See the class.
        """
        inputs = in_order(self, inputs, named)
        expect(self.name, inputs)
        ids, offsets = inputs[0], inputs[1] if len(inputs) > 1 else None
        if isinstance(ids, nd.NDArray) and ids.size:
            self._expect_ids(ids)
        if isinstance(offsets, nd.NDArray) and offsets.context.device_type != "gpu":
            expect_ascending(adapter().view(offsets), ids.size)
        return super().__call__(*inputs)

    def _expect_ids(self, ids):
        count, padding = self.weight.shape[0], self._attributes["padding"]
        beside = "" if padding is None else f", or padding {padding}"
        expected = f"whole numbers from 0 to {count - 1}{beside}"
        expect_numbers("EmbeddingBag: ids", ids, count, padding, expected)

    def hybrid_forward(self, F, ids, offsets=None, weights=None, *, weight):
        attributes = self._attributes
        if self._sparse_grad:
            weight, ids, padding = self._rows_of(F, ids, weight)
            attributes = attributes | {"padding": padding}
        return embedding_bag(weight, ids, offsets, weights, **attributes)

    def _rows_of(self, F, ids, weight):
        """Return the table's row for each id, the numbers of these rows, and the number of padding.

        A lookup in the whole table would give the operator a dense gradient.
        """
        numbers, padding = F.contrib.arange_like(ids.astype("float64")), self._attributes["padding"]
        if padding is not None:
            numbers = F.where(ids != padding, numbers, -F.ones_like(numbers))
        ids = row_numbers(ids, rows=self._looked_up["input_dim"], padding=padding)
        rows = F.Embedding(F.reshape(ids, (-1,)), weight, sparse_grad=True, **self._looked_up)
        return rows, numbers, None if padding is None else -1

    def __repr__(self) -> str:
        count, size = self.weight.shape
        return f"{type(self).__name__}({count} -> {size}, {self._attributes['mode']})"


def expect_ascending(offsets: np.ndarray, count: int) -> None:
    """Refuse offsets that are not the starts of bags in `count` ids.

    Raises
    ------
    ValueError
        The offsets are not whole numbers in ascending order, from 0 to at most the count.
    """
    steps = np.diff(offsets.astype("float64"), prepend=0, append=count)
    if steps[0] or (steps < 0).any() or (offsets != np.floor(offsets)).any():
        raise mxnet_error(
            ValueError,
            f"EmbeddingBag: offsets are {np.array2string(offsets, threshold=8)} for {count} ids\n"
            f"  expected whole numbers in ascending order, from 0 to at most {count}",
        )
