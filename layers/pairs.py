"""Losses of pairs and triplets of samples that belong together or not, one for each."""

from __future__ import annotations

from ._inputs import expect_number, expect_shapes
from ._renamed import formerly
from ._weighted import Weighted
from .ops import info_nce, triplet

__all__ = ["ContrastiveLoss", "InfoNCELoss", "TripletLoss"]


def expect_rows(who, **arrays):
    """Refuse arrays that are not all of one shape (n, k)."""
    shapes = {a.shape for a in arrays.values()}
    fits = len(shapes) == 1 and len(*shapes) == 2
    expect_shapes(fits, who, f"{', '.join(arrays)} (n, k), of one shape", **arrays)


class ContrastiveLoss(Weighted):
    """Contrastive loss of pairs, ½ t d² + ½ (1 - t) max(0, margin - d)², with d = |x - z|.

    It is composed of built-in operators; of their results, only x - z is as large as the inputs.

    Parameters
    ----------
    weight : float, optional
        A factor for all losses.
    batch_axis : int
        The axis of samples.
    margin : float
        Distance from which on pairs that do not belong together have the loss 0.

    Inputs:
        - **x**, **z**: (n, k)
        - **label**: (n,), 1 for a pair that belongs together, else 0
        - **sample_weight**: (n,) a factor for each pair, optional
    Outputs:
        - **loss**: (n,)

    Raises
    ------
    ValueError
        `margin` is below 0, or the shapes of the inputs do not fit together.

    R. Hadsell, S. Chopra, Y. LeCun, Dimensionality reduction by learning an invariant mapping,
    CVPR 2006.
    """

    @formerly("margin weight")
    def __init__(
        self, *, weight: float | None = None, batch_axis: int = 0, margin: float = 1.0, **kwargs
    ):
        super().__init__(weight=weight, batch_axis=batch_axis, **kwargs)
        expect_number("ContrastiveLoss", "a number from 0", lambda v: v >= 0, margin=margin)
        self._margin = float(margin)

    def _expect(self, x, z, label, sample_weight=None):
        who = type(self).__name__
        expect_rows(who, x=x, z=z)
        n = x.shape[0]
        expect_shapes(label.shape in ((n,), (n, 1)), who, f"a label ({n},)", x=x, label=label)
        self._expect_weights(sample_weight, (n,))

    def hybrid_forward(self, F, x, z, label, sample_weight=None):
        square = F.sum(F.square(x - z), axis=1)
        label = F.reshape_like(label, square)
        d = F.sqrt(F.maximum(square, 1e-12))  # the square root has no derivative at 0
        loss = F.where(label, square, F.square(F.relu(self._margin - d))) / 2
        return self._weighted(F, loss, sample_weight)


class TripletLoss(Weighted):
    """Loss of triplets, max(0, |x - near|² - |x - far|² + margin).

    Parameters
    ----------
    weight : float, optional
        A factor for all losses.
    batch_axis : int
        The axis of samples.
    margin : float
        The loss is 0 where |x - far|² exceeds |x - near|² by at least this.

    Inputs:
        - **x**, **near**, **far**: (n, k)
        - **sample_weight**: (n,) a factor for each triplet, optional
    Outputs:
        - **loss**: (n,)

    Raises
    ------
    ValueError
        `margin` is below 0, or the shapes of the inputs do not fit together.

    F. Schroff, D. Kalenichenko, J. Philbin, FaceNet, CVPR 2015.
    """

    @formerly("margin weight")
    def __init__(
        self, *, weight: float | None = None, batch_axis: int = 0, margin: float = 1.0, **kwargs
    ):
        super().__init__(weight=weight, batch_axis=batch_axis, **kwargs)
        expect_number("TripletLoss", "a number from 0", lambda v: v >= 0, margin=margin)
        self._margin = float(margin)

    def _expect(self, x, near, far, sample_weight=None):
        expect_rows(type(self).__name__, x=x, near=near, far=far)
        self._expect_weights(sample_weight, x.shape[:1])

    def hybrid_forward(self, F, x, near, far, sample_weight=None):
        return self._weighted(F, triplet(x, near, far, margin=self._margin), sample_weight)


class InfoNCELoss(Weighted):
    """InfoNCE loss, which tells each pair from all others, -log softmax(x zᵀ / temperature)[own].

    The matrix x zᵀ is never whole in memory.

    Parameters
    ----------
    weight : float, optional
        A factor for all losses.
    batch_axis : int
        The axis of samples.
    temperature : float
        The smaller it is, the more weight the most similar other pairs have.
    normalize : bool
        If True, scale the rows of x and z to length 1 first.
    symmetric : bool
        If True, take the mean of the loss and the loss with x and z exchanged, as for images and
        their texts.

    Inputs:
        - **x**, **z**: (n, k); row i of x and row i of z belong together
        - **sample_weight**: (n,) a factor for each pair, optional
    Outputs:
        - **loss**: (n,)

    Raises
    ------
    ValueError
        `temperature` is not positive, or the shapes of the inputs do not fit together.

    (van den Oord et al. 2018, Representation learning with contrastive predictive coding)
    """

    @formerly("temperature normalize symmetric weight")
    def __init__(
        self,
        *,
        weight: float | None = None,
        batch_axis: int = 0,
        temperature: float = 0.07,
        normalize: bool = True,
        symmetric: bool = False,
        **kwargs,
    ):
        super().__init__(weight=weight, batch_axis=batch_axis, **kwargs)
        expect_number("InfoNCELoss", "a positive number", lambda v: v > 0, temperature=temperature)
        self._temperature, self._normalize = float(temperature), normalize
        self._symmetric = symmetric

    def _expect(self, x, z, sample_weight=None):
        expect_rows(type(self).__name__, x=x, z=z)
        self._expect_weights(sample_weight, x.shape[:1])

    def hybrid_forward(self, F, x, z, sample_weight=None):
        if self._normalize:
            x, z = F.L2Normalization(x), F.L2Normalization(z)
        loss = info_nce(x, z, temperature=self._temperature)
        if self._symmetric:
            loss = (loss + info_nce(z, x, temperature=self._temperature)) / 2
        return self._weighted(F, loss, sample_weight)
