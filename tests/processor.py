"""The instruction sets of the processor, on which some results of MXNet depend."""

from pathlib import Path

_INFO = Path("/proc/cpuinfo")


def lacks(instructions: str) -> bool:
    """Whether the processor is known to lack an instruction set, such as avx512bw."""
    if not _INFO.exists():
        return False
    lines = _INFO.read_text().splitlines()
    flags = next((line.split(":")[1].split() for line in lines if line.startswith("flags")), None)
    return flags is not None and instructions not in flags
