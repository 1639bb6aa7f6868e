"""Device for new Tensors: `set_context`."""

from __future__ import annotations

from typing import Any

from ..engine import mx

__all__ = ["GRAPH_MODE", "PYNATIVE_MODE", "get_context", "set_context"]

GRAPH_MODE, PYNATIVE_MODE = 0, 1

_settings: dict[str, Any] = {"mode": GRAPH_MODE, "device_target": "CPU", "device_id": 0}


def set_context(**kwargs: Any) -> None:
    """Set the mode, and the device for new Tensors.

    Parameters
    ----------
    mode : {GRAPH_MODE, PYNATIVE_MODE}
        Both run the code as it is written.
    device_target : {'CPU', 'GPU'}
        The device on which Tensors are made.
    device_id : int
        The number of the GPU.

    Raises
    ------
    ValueError
        There is no such setting or mode.
    RuntimeError
        This machine has no such device.
    """
    requested = _settings | kwargs
    if unknown := kwargs.keys() - _settings.keys():
        raise ValueError(
            f"set_context: unknown setting {unknown.pop()!r}\n"
            f"  expected one of {', '.join(_settings)}"
        )
    if requested["mode"] not in (GRAPH_MODE, PYNATIVE_MODE):
        raise ValueError(
            f"set_context: mode is {requested['mode']!r}\n  expected GRAPH_MODE or PYNATIVE_MODE"
        )
    target, number = requested["device_target"], requested["device_id"]
    found = {"CPU": 1, "GPU": mx.context.num_gpus() if target == "GPU" else 0}
    if not found.get(target):
        raise RuntimeError(
            f"set_context: device_target is {target!r}, and there is none here\n"
            "  expected 'CPU', or 'GPU' on a machine with a GPU"
        )
    if isinstance(number, bool) or not isinstance(number, int) or number < 0:
        raise ValueError(f"set_context: device_id is {number!r}\n  expected an int from 0")
    if target == "GPU" and number >= found["GPU"]:
        raise RuntimeError(
            f"set_context: device_id is {number}\n  expected a number below {found['GPU']}"
        )
    _settings.update(kwargs)


def get_context(attr_key: str) -> Any:
    """Return a setting of `set_context`.

    Raises
    ------
    ValueError
        There is no setting of that name.
    """
    if attr_key not in _settings:
        raise ValueError(f"get_context: {attr_key!r}\n  expected one of {', '.join(_settings)}")
    return _settings[attr_key]


def device():
    """Return the engine's context for the settings."""
    if _settings["device_target"] == "GPU":
        return mx.gpu(_settings["device_id"])
    return mx.cpu()
