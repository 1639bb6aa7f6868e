"""The contestants in plain PyTorch."""

import torch


def place(device: str) -> torch.device:
    """PyTorch's device for ``'cpu'`` or ``'gpu'``."""
    return torch.device("cuda" if device == "gpu" else "cpu")
