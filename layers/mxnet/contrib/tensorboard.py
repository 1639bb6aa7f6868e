"""Metrics for TensorBoard."""

from __future__ import annotations

from .._old import missing
from ..base import UnsupportedError

__all__ = ["LogMetricsCallback"]


class LogMetricsCallback:
    """Writes metrics for TensorBoard, at the end of a batch or an epoch.

    ``module.fit(..., eval_end_callback=[LogMetricsCallback("logs/eval")])``

    Parameters
    ----------
    logging_dir : path
        The folder of the logs.
    prefix : str, optional
        What the names of metrics begin with, before a dash.

    Raises
    ------
    UnsupportedError
        The package tensorboard is missing.
    """

    def __init__(self, logging_dir, prefix: str | None = None):
        self.prefix = prefix
        try:
            from torch.utils.tensorboard import SummaryWriter
        except ImportError as error:
            raise UnsupportedError(
                f"LogMetricsCallback: {error}\n  expected the package tensorboard"
            ) from None
        self.summary_writer = SummaryWriter(logging_dir)

    def __call__(self, param) -> None:
        """Write the metrics of a BatchEndParam under its epoch."""
        if param.eval_metric is None:
            return
        for name, value in param.eval_metric.get_name_value():
            if self.prefix is not None:
                name = f"{self.prefix}-{name}"
            self.summary_writer.add_scalar(name, value, global_step=param.epoch)


missing.watch(globals())
