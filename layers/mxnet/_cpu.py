"""What Linux tells of the processor, by which the faster matrix product is chosen."""

from __future__ import annotations

import platform
import re
from pathlib import Path

VENDORS = "AuthenticAMD", "GenuineIntel"


def vendor() -> str:
    """The vendor by the name that its processors give, empty where it cannot be told."""
    text = _line("vendor_id") or platform.processor()
    return next((v for v in VENDORS if v in text), "")


def family() -> int | None:
    """The number of the processor's family; None where it cannot be told."""
    found = re.search(r"\d+", _line("cpu family") or platform.processor())
    return int(found[0]) if found else None


def _line(name: str) -> str:
    """The line of this name about the first processor; empty on other systems."""
    try:
        with Path("/proc/cpuinfo").open() as lines:
            return next((line for line in lines if line.startswith(name)), "")
    except OSError:
        return ""
