"""``python -m train``: choose the engine, run, and report an error in one line."""

from __future__ import annotations

import os
import sys
from importlib import import_module
from importlib.util import find_spec

from . import Diverged, Interrupted, Lost, Refused
from .messages import one_line
from .options import parse
from .screen import open_closed_streams, say

__all__ = ["main", "program"]

LIBRARIES = ("matplotlib", "tqdm")


def main(argv: list[str] | None = None) -> int:
    """Train with Gluon; returns the exit status, which ``--help`` explains."""
    return program("train", ".blocks", argv)


def program(name: str, learner: str, argv: list[str] | None) -> int:
    """Run the program of this name with the `Learner` of this module."""
    open_closed_streams()
    try:
        options = parse(argv, name)
        start(options.engine)
        from .run import run  # not before the engine has started

        run(options, import_module(learner, __package__).Learner)
    except Refused as error:
        return fail(name, 2, error)
    except Diverged as error:
        return fail(name, 3, error)
    except Lost as error:
        return fail(name, 4, error)
    except Interrupted as error:
        return fail(name, 128 + error.signal, error)
    except KeyboardInterrupt:
        return fail(name, 130, "interrupted at once")
    return 0


def fail(name: str, status: int, reason: object) -> int:
    say(f"{name}: {reason}", sys.stderr)
    return status


def start(requested: str | None, libraries: tuple[str, ...] = LIBRARIES) -> None:
    """Start the requested engine, or else the one that `layers.engine` chooses."""
    if missing := [name for name in libraries if find_spec(name) is None]:
        raise Refused(f"not installed: pip install {' '.join(missing)}")
    if requested:
        os.environ["LAYERS_ENGINE"] = requested
    from layers import engine

    try:
        running = engine.mx and engine.name()
    except engine.EngineError as error:
        raise Refused(one_line(error, None)) from error
    if requested and requested != running:
        raise Refused(f"--engine {requested}: this process runs on {running} already")


if __name__ == "__main__":
    sys.exit(main())
