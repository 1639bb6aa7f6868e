"""What the processor can do, of which some kernels of MXNet make different results."""

from pathlib import Path

_INFO = Path("/proc/cpuinfo")


def lacks(instructions: str) -> bool:
    """Whether the processor is known to be without these, as Linux names them."""
    if not _INFO.exists():
        return False
    lines = _INFO.read_text().splitlines()
    flags = next((line.split(":")[1].split() for line in lines if line.startswith("flags")), None)
    return flags is not None and instructions not in flags
