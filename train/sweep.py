"""``python -m train.sweep``: trainings with other settings each, to find the best ones."""

from __future__ import annotations

import argparse
import sys

from . import Refused
from .command_line import Parser, from_file, merged, new_folder, refuse_code
from .config import Config
from .program import Program, add_engine
from .settings import path, text, whole
from .varied import SAMPLERS, STATE, state_of, varied_of

__all__ = ["main"]

DESCRIPTION = """\
Look for the best settings of `python -m train`: each trial is a training with other values of some
settings, which Optuna chooses by the results of the earlier ones. The held-out metric tells which
is best. A trial whose best epoch so far is worse than the median of the earlier ones ends early.
"""
MORE = """\
examples:
  {command} config.yaml --vary 'lr=log(1e-4,1e-1)' 'hidden=64|128|128,64' --trials 20
  {command} config.yaml --vary 'dropout=uniform(0,0.5)' 'net=mlp|resnet' --sampler random
  {command} --resume --out runs/sweep --trials 40

varied settings, in quotes for the shell:
  NAME=log(A,B)      a number from A to B, in each power of ten alike
  NAME=uniform(A,B)  a number from A to B; whole, where both are and the setting takes whole ones
  NAME=A|B|C         one of these values, as the option of this name takes them

files in --out:
  sweep.json         settings, trials and their results
  trial-001, ...     the run of each trial: for prediction, report, export, and --config
python -m train.report makes a page of the folder: the trials in a table and in plots, and the best.

--resume goes on with the sweep in --out, also within a trial: CONFIG, --vary, --sampler and --seed
are those that it has. It makes the same trials as if it had never ended. The best of many trials is
a little better on the held-out samples than it will be on others: keep some for `train.evaluate`.

exit status:
  0    done
  2    cannot be done as asked
  130  interrupted by Ctrl-C; 143 by SIGTERM, 129 by SIGHUP"""


def add(parser: Parser) -> None:
    option = parser.add_argument
    option("config", nargs="?", type=path.parse, metavar="CONFIG", help="settings, in JSON or YAML")
    option("--vary", nargs="+", default=[], metavar="NAME=HOW", help="see below")
    option("--trials", type=whole(1).parse, default=20, metavar="N", help="all together (20)")
    option("--sampler", choices=SAMPLERS, default="tpe", help="tpe or random (tpe)")
    option("--no-pruning", action="store_true", help="end no trial early")
    option("--seed", type=whole(0).parse, default=0, metavar="N", help="of what is chosen (0)")
    option("--net", type=text("NET").parse, help="a function in a file, which only CONFIG names")
    option("--out", type=path.parse, metavar="PATH", help="folder (a new one, runs/DATE-sweep)")
    option("--resume", action="store_true", help="go on with the sweep in --out")
    add_engine(parser)


def check(options: argparse.Namespace) -> None:
    """Read the settings of all trials, and those that are varied.

    Raises
    ------
    Refused
        One is unknown or has a wrong value, nothing is varied, or the folder has another sweep.
    """
    if options.resume and options.out is None:
        raise Refused("--resume: expected --out too, the folder of the sweep to go on with")
    options.out = options.out or new_folder("sweep")
    state = options.out / STATE
    if state.exists() and not options.resume:
        raise Refused(f"--out {options.out}: it holds a sweep; expected --resume or another folder")
    options.state = state_of(state) if options.resume and state.exists() else None
    if options.state:
        options.sampler, options.seed = options.state["sampler"], options.state["seed"]
    source = state if options.state else options.config
    if options.state and options.config:
        raise Refused(f"--resume: {state} has the settings; expected no {options.config}")
    given = {} if options.net is None else {"net": options.net}
    options.settings = merged(from_file(source, "train") if source else {}, given)
    options.settings.pop("out", None)
    base = Config.of("train", options.settings)
    refuse_code(base.net, options.net, source)
    if base.kvstore == "dist_sync":
        raise Refused("--kvstore dist_sync: the trials of a sweep are of one process each")
    texts = options.vary or (options.state or {}).get("vary", [])
    if options.state and texts != options.state["vary"]:
        raise Refused(f"--resume: --vary is {texts}, and {options.state['vary']} in {state}")
    options.varied = [varied_of(text) for text in texts]
    if not options.varied:
        raise Refused("expected --vary, such as --vary 'lr=log(1e-4,1e-1)' 'hidden=64|128'")


def work(options: argparse.Namespace) -> None:
    from .trials import sweep  # not before the engine

    sweep(options)


LIBRARIES = ("optuna", "matplotlib", "sklearn")
main = Program("sweep", DESCRIPTION, MORE, add, work, check, LIBRARIES).main

if __name__ == "__main__":
    sys.exit(main())
