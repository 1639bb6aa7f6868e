"""A whole training step in one call."""

from __future__ import annotations

from . import engine
from ._renamed import formerly
from .engine import autograd

__all__ = ["compiled_step"]


@formerly("net loss trainer labels")
def compiled_step(net, loss, trainer, *, labels: int = 1, **options):
    """Return a function that trains: ``step(x, ..., label)`` returns the losses of the samples.

    One call computes the net's outputs for all inputs except the label, the losses, and the
    gradients, and lets the Trainer update the parameters. It does the same as ::

        with autograd.record():
            losses = loss(net(x), label)
        losses.backward()
        trainer.step(x.shape[0])

    On PyTorch, forward, loss, backward and update are one compiled graph. The first call with each
    combination of shapes and dtypes makes it, with the Trainer's states and learning rate. In
    some cases the update runs after the graph, not inside it: if the optimizer is Nadam or your
    own, if the Trainer is of a subclass, updates on a kvstore or has other parameters than the net,
    with ``grad_req='add'``, and for 16-bit weights. On the MXNet engine nothing is compiled: the
    blocks are hybridized.

    Parameters
    ----------
    net, loss : HybridBlock
        `loss` takes the net's output and the label.
    labels : int
        Number of arrays that the loss takes after the net's output; a step takes them last. 2 is
        for a label and weights of samples, ``step(x, label, weights)``.
    trainer : gluon.Trainer
        The trainer of the net's parameters, which are on one context.
    **options
        ``backend='inductor'``, and `mode` and `options` of `torch.compile`; without effect on the
        MXNet engine.

    Returns
    -------
    callable
        ``step(*inputs, *labels, batch_size=None)`` takes NDArrays and returns the losses before the
        update, (n,), not recorded. Gradients are divided by `batch_size`, by default n, the first
        size of the first input, and stay in `Parameter.grad()`. Inputs get no gradients. If the
        update is part of the graph, a step that raises an error leaves the gradients at 0.

    Raises
    ------
    BlockError
        On PyTorch: `net` or `loss` is no HybridBlock.
    ArgumentError
        On PyTorch: `trainer` is no Trainer, or has none of the parameters; there is no such backend
        or option; a gradient is sparse; or `labels` is no number from 1. In a step: none of the
        parameters is trained, or the label is missing.
    RecordingError
        On PyTorch, in a step: it is called inside ``autograd.record()``.
    ContextError
        On PyTorch: the parameters are on several contexts.
    """
    return engine.step()(net, loss, trainer, labels, **options)


class Step:
    """A training step on an engine that does not compile."""

    def __init__(self, net, loss, trainer, labels=1, backend="inductor", mode=None, options=None):
        self.net, self.loss, self.trainer, self.labels = net, loss, trainer, labels
        for block in (net, loss):
            block.hybridize(static_alloc=True, static_shape=True)

    def __call__(self, *args, batch_size: float | None = None):
        with autograd.record():
            losses = self.loss(self.net(*args[: -self.labels]), *args[-self.labels :])
        losses.backward()
        self.trainer.step(args[0].shape[0] if batch_size is None else batch_size)
        return losses.detach()
