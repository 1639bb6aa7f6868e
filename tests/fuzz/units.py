"""What is fuzzed: the strategies, and how many programs of each a short run takes."""

from __future__ import annotations

from . import arrays, layers, operators, training

UNITS = {  # the share of each in a run
    "operators": (operators.calls(), 50),
    "arithmetic": (arrays.arithmetic(), 10),
    "methods": (arrays.methods(), 6),
    "indexing": (arrays.indexing(), 8),
    "recorded indexing": (arrays.recorded_indexing(), 4),
    "layers": (layers.layers(), 8),
    "recurrent": (layers.recurrent(), 3),
    "losses": (layers.losses(), 4),
    "metrics": (training.metrics(), 2),
    "optimizers": (training.optimizers(), 3),
    "schedulers": (training.schedulers(), 1),
    "initializers": (training.initializers(), 1),
}
