"""``python -m train``: train with Gluon."""

from __future__ import annotations

import os
import sys
from contextlib import ExitStack, redirect_stdout
from importlib import import_module

from .command_line import parse
from .program import ExitStatus, start_engine

__all__ = ["main"]


def main(
    argv: list[str] | None = None, program: str = "train", module: str = ".learner",
    made_by: str = "learner_of",
) -> int:  # fmt: skip
    """Train; return the exit status, which ``--help`` explains.

    Parameters
    ----------
    argv : list of str, optional
        The arguments; by default those of the process.
    program, module, made_by : str
        The program's name, and the function of a module of this package that makes its learner.
    """
    with ExitStatus(program, "interrupted at once") as status, ExitStack() as stack:
        options = parse(argv, program)
        if options.quiet:
            stack.enter_context(redirect_stdout(stack.enter_context(open(os.devnull, "w"))))
        start_engine(options.engine, ("matplotlib", "tqdm"))
        from .run import run  # not before the engine has started
        from .several import runs_of, summarize

        runs = runs_of(options)
        for each in runs:
            run(each, getattr(import_module(module, __package__), made_by))
        if len(runs) > 1:
            summarize(options, runs)
    return status.code


if __name__ == "__main__":
    sys.exit(main())
