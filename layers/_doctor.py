"""Program ``layers-doctor``: shows the engine, the machine and the packages."""

from __future__ import annotations

import os
import platform
import shutil
import sys
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, version

from layers import __version__, engine

__all__ = ["main"]

# The use of each optional package.
OPTIONAL = {
    "scikit-learn": "training, and the digits that it brings along",
    "pandas": "training with tables",
    "matplotlib": "curves of a training",
    "jinja2": "reports",
    "tqdm": "the bar of a training",
    "pyyaml": "settings in YAML",
    "tensorboard": "--tensorboard",
    "optuna": "sweeps over settings",
    "pillow": "images",
    "numba": "loop kernels",
    "safetensors": "files for other frameworks",
    "onnx": "ONNX files",
    "onnxruntime": "checking ONNX files",
    "pyarrow": "tables in .parquet",
    "openpyxl": "tables in .xlsx",
    "gluoncv": "the nets of GluonCV",
}


def main() -> int:
    """Print the engine, machine and packages; return the exit status, 2 without an engine."""
    print(f"layers     {__version__}, Python {platform.python_version()} on {platform.platform()}")
    try:
        for line in engine_lines():
            print(line)
        status = 0
    except engine.EngineError as error:
        print(f"engine     none: {error}")
        status = 2
    installed = {name: found for name in OPTIONAL if (found := version_of(name))}
    print(f"packages   {', '.join(f'{name} {found}' for name, found in installed.items())}")
    for name in OPTIONAL.keys() - installed.keys():
        print(f"lacks      {name}, for {OPTIONAL[name]}: pip install {name}")
    return status


def engine_lines() -> Iterator[str]:
    """Yield one line each about the engine, the processor, the GPUs and the compiler."""
    described = engine.describe()
    libraries = [f"{name} {v}" for name in ("torch", "mxnet") if (v := version_of(name))]
    api = f"MXNet's API {described['version']}"
    yield f"engine     {described['name']}: {api}; {', '.join(libraries)}"
    cpu = described.get("gemm", {}).get("cpu", platform.processor())
    threads = f", {described['threads']} threads" if "threads" in described else ""
    yield f"processor  {cpu}, {os.cpu_count()} cores{threads}"
    gpus = engine.mx.context.num_gpus()
    yield f"GPU        {gpus or 'none'}"
    compiler = next(filter(None, map(shutil.which, (os.environ.get("CXX", "c++"), "g++"))), None)
    if not compiler:
        yield "compiler   none: nothing is compiled; install g++ or clang, or set CXX"
    elif engine.compiles():
        yield f"compiler   {compiler}"


def version_of(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None


if __name__ == "__main__":
    sys.exit(main())
