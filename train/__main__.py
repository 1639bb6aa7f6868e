"""``python -m train``: choose the engine, run, and say in one line what went wrong."""

from __future__ import annotations

import os
import sys
from importlib.util import find_spec

from . import Diverged, Refused
from .options import parse

__all__ = ["main"]

LIBRARIES = ("matplotlib", "tqdm")


def main(argv: list[str] | None = None) -> int:
    """Run the program with these options; returns the exit status, which ``--help`` explains."""
    try:
        options = parse(argv)
        start(options.engine)
        from .run import run  # not before the engine has started

        run(options)
    except Refused as error:
        return fail(2, error)
    except Diverged as error:
        return fail(3, error)
    except KeyboardInterrupt:
        return fail(130, "interrupted; no file was written")
    return 0


def fail(status: int, reason: object) -> int:
    print(f"train: {reason}", file=sys.stderr)
    return status


def start(asked: str | None) -> None:
    """Start the engine that is asked for, or else the one that `layers.engine` finds."""
    if missing := [name for name in LIBRARIES if find_spec(name) is None]:
        raise Refused(f"{missing[0]} is not installed: pip install layers[train]")
    if asked:
        os.environ["LAYERS_ENGINE"] = asked
    from layers import engine

    try:
        running = engine.mx and engine.name()
    except engine.EngineError as error:
        raise Refused(" ".join(str(error).split())) from error
    if asked and asked != running:
        raise Refused(f"--engine {asked}: this process runs on {running} already")


if __name__ == "__main__":
    sys.exit(main())
