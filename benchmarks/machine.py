"""What is said of the machine beside the measurements: no names of hosts, no paths."""

from __future__ import annotations

import os
import platform
import re
from pathlib import Path
from typing import Any

VENDORS = {"AuthenticAMD": "amd", "GenuineIntel": "intel"}


def facts(contest) -> dict[str, Any]:
    """Device, CPU, cores, threads, versions and the matrix product's rule; `label` names them."""
    vendor, model = _cpu()
    label = f"cpu-{VENDORS.get(vendor, platform.machine())}"
    if contest.device == "gpu":
        label = "gpu-" + re.sub(r"\W+", "-", contest.facts["gpu_name"].lower()).strip("-")
    return {
        "label": label,
        "device": contest.device,
        "gpu": contest.facts.get("gpu_name") if contest.device == "gpu" else None,
        "cpu_vendor": vendor,
        "cpu_model": model,
        "cores": os.cpu_count(),
        "threads": contest.threads,
        "system": f"{platform.system()} {platform.machine()}",
        "versions": {"python": platform.python_version()} | contest.facts["versions"],
        "gemm": contest.facts["gemm"],
    }


def _cpu() -> tuple[str, str]:
    """Vendor and model of the processor, empty where the system does not tell."""
    try:
        text = Path("/proc/cpuinfo").read_text(encoding="utf-8")
    except OSError:
        return "", platform.processor()
    found = dict(re.findall(r"^(vendor_id|model name|cpu family|model)\s*:\s*(.*)$", text, re.M))
    numbers = f"family {found.get('cpu family')}, model {found.get('model')}"
    return found.get("vendor_id", ""), f"{found.get('model name', '')} ({numbers})"
