"""Contexts: where an array lives."""

from __future__ import annotations

import torch

from ._state import ThreadStack, scope_type, this_thread
from .base import ContextError

__all__ = ["Context", "cpu", "cpu_pinned", "current_context", "gpu", "gpu_memory_info", "num_gpus"]


class Context(metaclass=scope_type("default_ctx", "_default_ctx")):
    """A device, by MXNet's name for it: ``cpu(0)``, ``gpu(1)``.

    ``cpu(0)`` and ``cpu(1)`` are different contexts on one device, which lets code for several
    devices run on a machine with one. ``gpu(i)`` is PyTorch's ``cuda:i``. Used in a ``with``
    statement a context becomes the default for arrays made without one, `Context.default_ctx`.

    Parameters
    ----------
    device_type : {'cpu', 'gpu', 'cpu_pinned', 'cpu_shared'} or Context
    device_id : int

    Raises
    ------
    ContextError
        There is no such type of device, or `device_id` is no number. Whether there is such a
        device is asked by its first use.
    """

    devtype2str = {1: "cpu", 2: "gpu", 3: "cpu_pinned", 5: "cpu_shared"}
    devstr2type = {name: number for number, name in devtype2str.items()}

    def __init__(self, device_type: str | Context, device_id: int = 0):
        if isinstance(device_type, Context):
            device_type, device_id = device_type.device_type, device_type.device_id
        if device_type not in self.devstr2type:
            raise ContextError(
                f"Context: unknown device type {device_type!r}\n  expected one of "
                + ", ".join(map(repr, self.devstr2type))
            )
        self.device_type = device_type
        try:
            self.device_id = int(device_id)
        except (TypeError, ValueError):
            raise ContextError(
                f"Context: the number of {device_type!r} is {device_id!r}\n"
                "  expected a whole number, as in mx.cpu(0)"
            ) from None
        self._device = None if device_type == "gpu" else torch.device("cpu")

    @property
    def device_typeid(self) -> int:
        return self.devstr2type[self.device_type]

    @property
    def device(self) -> torch.device:
        """PyTorch's device for this context.

        Raises
        ------
        ContextError
            The machine has no such device; the message names the ones it has.
        """
        if self._device is None:
            count = num_gpus()
            if self.device_id >= count:
                there = ", ".join(f"gpu({i})" for i in range(count)) or "no GPU"
                raise ContextError(
                    f"Context: {self} is not on this machine\n  there is cpu() and {there}"
                )
            self._device = torch.device("cuda", self.device_id)
        return self._device

    def empty_cache(self) -> None:
        """Give unused GPU memory back to the system."""
        if self.device.type == "cuda":
            torch.cuda.empty_cache()

    def __eq__(self, other) -> bool:
        return (
            isinstance(other, Context)
            and self.device_type == other.device_type
            and self.device_id == other.device_id
        )

    def __hash__(self) -> int:
        return hash((self.device_type, self.device_id))

    def __repr__(self) -> str:
        return f"{self.device_type}({self.device_id})"

    def __reduce__(self):
        return Context, (self.device_type, self.device_id)

    def __enter__(self) -> Context:
        self._default_ctx.push(self)
        return self

    def __exit__(self, *_) -> None:
        self._default_ctx.pop()


_first = Context("cpu", 0)
Context._default_ctx = ThreadStack("contexts", lambda: _first)


def current_context() -> Context:
    """The context that arrays get when none is named: the innermost ``with``, else ``cpu(0)``."""
    contexts = this_thread.state.contexts
    return contexts[-1] if contexts else _first


def cpu(device_id: int = 0) -> Context:
    """The CPU. Different numbers are different contexts on the same device."""
    return Context("cpu", device_id)


def cpu_pinned(device_id: int = 0) -> Context:
    """The CPU; memory is not pinned here, `DataLoader(pin_memory=True)` does that."""
    return Context("cpu_pinned", device_id)


def gpu(device_id: int = 0) -> Context:
    """The GPU with this number. That it exists is checked at the first use."""
    return Context("gpu", device_id)


def num_gpus() -> int:
    """How many GPUs PyTorch can use here."""
    return torch.cuda.device_count()


def gpu_memory_info(device_id: int = 0) -> tuple[int, int]:
    """Free and total memory of a GPU, in bytes."""
    return torch.cuda.mem_get_info(gpu(device_id).device)


def from_device(device: torch.device) -> Context:
    """The context of a tensor's device.

    Raises
    ------
    ContextError
        The device is neither a CPU nor a GPU of CUDA.
    """
    if device.type not in ("cpu", "cuda"):
        raise ContextError(f"Context: there is none for PyTorch's {device}\n  expected cpu or cuda")
    return Context("gpu", device.index or 0) if device.type == "cuda" else Context("cpu", 0)
