"""``python -m layers.mxnet script.py [args]``: run a program that says ``import mxnet``, unchanged.

``python -m layers.mxnet -m module [args]`` runs a module. Processes that the program starts, by
`multiprocessing` or as commands, find this package under that name too.

NumPy has its old names again, such as np.int, np.float and np.product: in this process from the
start, in those that the program starts from their ``import mxnet`` on. With ``--keep-numpy``
before the script, or LAYERS_KEEP_NUMPY=1 in the environment, NumPy stays as it is.

``python -m layers.mxnet convert`` converts files: see ``convert --help``; a script of this name is
run as ``./convert``. ``python -m layers.mxnet emit`` writes a net as source of PyTorch: see
``emit --help``. The console script ``layers-mxnet`` is the same program.
"""

from __future__ import annotations

import os
import runpy
import sys
from pathlib import Path

from .._errors import did_you_mean
from .._programs import command
from . import install, tune

OPTIONS = ("--help", "--keep-numpy", "-m")
SHIM = str(Path(__file__).parent / "_old" / "shim")


def show_from_the_program_on(kind, error, traceback) -> None:
    """Print an error as Python does, without the frames of this module and of runpy above it."""
    start = traceback
    above = (globals(), vars(sys.modules["__main__"]))  # also that of a console script
    while start and (
        any(start.tb_frame.f_globals is one for one in above)
        or start.tb_frame.f_globals["__name__"] == "runpy"
    ):
        start = start.tb_next
    if start is None and isinstance(error, ImportError):  # runpy finds no such module
        print(f"{sys.executable}: {error}", file=sys.stderr)
        return
    if start or isinstance(error, SyntaxError):  # which has its line in itself
        error.__traceback__ = traceback = start
    sys.__excepthook__(kind, error, traceback)


def script() -> None:
    """The console script, which finds modules in the current folder as ``python -m`` does."""
    sys.path.insert(0, os.getcwd())
    main(sys.argv[1:])


def main(arguments: list[str]) -> None:
    """Run a script or module as Python would."""
    own = command("layers-mxnet", "layers.mxnet")
    if arguments and arguments[0] in ("-h", "--help"):
        print(__doc__.replace("``", "").replace("python -m layers.mxnet", own))
        return
    if arguments and arguments[0] == "convert":
        from . import convert

        sys.exit(convert.main(arguments[1:]))
    if arguments and arguments[0] == "emit":
        from ._emit import main as emit

        sys.exit(emit.main(arguments[1:]))
    if arguments and arguments[0] == "--keep-numpy":
        os.environ["LAYERS_KEEP_NUMPY"] = "1"  # which spawned processes inherit
        arguments = arguments[1:]
    if arguments and arguments[0].startswith("-") and arguments[0] != "-m":
        hint = did_you_mean(arguments[0], OPTIONS)
        sys.exit(
            f"{own}: there is no option {arguments[0]!r}{hint}\n"
            f"  expected one of {', '.join(OPTIONS)}, or a script"
        )
    if not arguments or arguments == ["-m"]:
        sys.exit(f"{own}: expected a script, or -m and a module")
    sys.excepthook = show_from_the_program_on
    tune()
    install(numpy=not os.environ.get("LAYERS_KEEP_NUMPY"))
    inherited = os.environ.get("PYTHONPATH")
    os.environ["PYTHONPATH"] = os.pathsep.join([SHIM, inherited] if inherited else [SHIM])
    sys.path.insert(1, SHIM)  # spawned processes get this list
    if arguments[0] == "-m":
        sys.argv[:] = arguments[1:]
        runpy.run_module(arguments[1], run_name="__main__", alter_sys=True)
        return
    path = Path(arguments[0])
    if not path.exists():
        sys.exit(f"{own}: there is no file {str(path)!r}")
    sys.argv[:] = arguments
    sys.path[0] = str(path.resolve().parent)
    runpy.run_path(str(path), run_name="__main__")


if __name__ == "__main__":
    main(sys.argv[1:])
