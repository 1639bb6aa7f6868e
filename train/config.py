"""Every setting of a training, once: its type, default and help.

The command line, files of settings and the checks of `train.fit` are made from `Config`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import Field, dataclass, field, fields
from pathlib import Path
from typing import Any

from . import Refused
from . import settings as of
from .scores import ROWS
from .settings import Type

__all__ = [
    "AUGMENT",
    "HYBRIDIZE",
    "MIXES",
    "NETS",
    "OPTIMIZERS",
    "SCHEDULES",
    "TYPES",
    "Config",
    "check_step",
    "checked",
]

# The settings of optimizers that are not the optimizer's own defaults, for the programs and for
# `fit`. Those that are given, by --lr and --optimizer-option or as arguments, replace them.
OPTIMIZERS: dict[str, dict[str, float]] = {
    "adam": {"learning_rate": 0.005},
    "sgd": {"learning_rate": 0.3, "momentum": 0.9},
}

# The settings of each schedule. `every` is in epochs, None for a third of all; `final` is a share
# of the learning rate.
SCHEDULES: dict[str, dict[str, Any]] = {
    "constant": {},
    "step": {"every": None, "factor": 0.1},
    "cosine": {"final": 0.0},
    "poly": {"power": 2.0, "final": 0.0},
}

# The arguments of `hybridize`. With "step", calls outside the compiled step are recorded.
RECORDED = {"static_alloc": True, "static_shape": True}
HYBRIDIZE = {
    "none": None,
    "recorded": RECORDED,
    "compiled": {"backend": "inductor"},
    "step": RECORDED,
}

# The options of each net, and their values where none is given.
NETS: dict[str, dict[str, Any]] = {
    "mlp": {
        "hidden": [256, 128],
        "activation": "sigmoid",
        "norm": None,
        "dropout": 0.0,
        "residual": False,
    },
    "mixer": {"patch": 2, "units": 64, "depth": 2, "dropout": 0.0},
    "vit": {"patch": 2, "units": 64, "depth": 2, "heads": 4, "dropout": 0.0},
    "conv": {"units": 32, "depth": 3, "dropout": 0.0},
    "resnet": {"units": 16, "depth": 2},
    "ssd_lite": {"units": 24},
}
GLUONCV: dict[str, Any] = {"pretrained": None, "head": "dense"}  # of ``gluoncv:NAME``
OF_NETS = [*dict.fromkeys(name for row in [*NETS.values(), GLUONCV] for name in row)]

MIXES = ("mixup", "cutmix")  # augmentations that mix labels, too
AUGMENT = ("flip", "crop", "color", "rotate", "randaugment", *MIXES)

DETECT, MODULE, FIND_LR = "train.detect", "train.module", "train.find_lr"
GROUPS = {"data": "what to learn", "lowest": "how", "ctx": "where"}  # from this setting on
# The settings that a program does not have.
WITHOUT = {
    "train": "lowest highest steps",
    MODULE: "lowest highest steps profile net activation norm dropout residual patch units depth "
    "heads pretrained head class_weight weights freeze schedule schedule_option warmup clip "
    "accumulate precision hybridize average kvstore",
    DETECT: "lowest highest steps metric task target features ignore columns encoding decimal "
    "image_size augment skip_broken hidden activation norm dropout residual patch depth heads "
    "pretrained head class_weight weights kvstore",
    FIND_LR: "epochs steps_per_epoch max_steps max_time limit_batches overfit_batches fast_dev_run "
    "profile patience metric lr schedule schedule_option warmup average folds repeat kvstore "
    "config resume checkpoint_steps tensorboard quiet",
}
DEFAULTS = {DETECT: {"data": "scenes", "net": "ssd_lite"}}  # other ones than those of `Config`
NO_FILE_HAS = ("config", "resume", "overwrite", "quiet")


def net_of(value: Any) -> str | None:
    """Return the name of a net, of one of GluonCV, or of a file and a function in it."""
    if not isinstance(value, str):
        return None
    file, _, function = value.rpartition(":")
    is_function = file.endswith(".py") and function.isidentifier()
    return value if value in NETS or is_function or (file == "gluoncv" and function) else None


def setting(default: Any, kind: Type, help: str, flag: str = "") -> Any:
    """Return a field of `Config`; `flag` is its name on the command line, where that is another."""
    data = {"type": kind, "help": help, "flag": flag}
    if isinstance(default, dict):
        return field(default_factory=dict, metadata=data)
    return field(default=default, metadata=data)


NET = Type(
    "mlp, mixer, vit, conv, resnet, gluoncv:NAME, or a function in a file such as my.py:build",
    net_of,
    "NET",
)

RATES = ", ".join(f"{row['learning_rate']} for {name}" for name, row in OPTIMIZERS.items())


@dataclass(frozen=True, kw_only=True)
class Config:
    """The settings of a training; those that a program has not are at their defaults."""

    program: str = "train"

    # What to learn.
    data: str = setting("digits", of.text("DATA"), "see below")
    validation: str | None = setting(None, of.text("DATA"), "held-out samples, as --data")
    task: str | None = setting(
        None,
        of.choice("classification", "regression"),
        "(classification, unless targets look like numbers)",
    )
    target: str | None = setting(None, of.text("COLUMN"), "what to predict (the last column)")
    features: tuple[str, ...] = setting((), of.names, "columns to use (all others)")
    ignore: tuple[str, ...] = setting((), of.names, "columns not to use (none)")
    columns: tuple[str, ...] = setting((), of.names, "kinds: year:category,... (found by looking)")
    encoding: str = setting("utf-8", of.text("NAME"), "of a table: utf-16, latin-1, ...")
    decimal: str | None = setting(None, of.choice(",", "."), "decimal mark of a table (.)")
    image_size: tuple[int, int] | None = setting(None, of.size, "resize images to H x W pixels")
    augment: tuple[str, ...] = setting(
        (), of.some(*AUGMENT), f"change images at random: {', '.join(AUGMENT)} (none)"
    )
    skip_broken: bool = setting(False, of.flag, "leave out images that cannot be read")
    net: str = setting("mlp", NET, "see below")
    hidden: list[int] | None = setting(None, of.sizes, "units of the hidden layers (256,128)")
    activation: str | None = setting(
        None, of.text("NAME"), "sigmoid, relu, tanh, gelu, swiglu, ... (sigmoid)"
    )
    norm: str | None = setting(None, of.choice("layer", "rms", "batch"), "after each hidden layer")
    dropout: float | None = setting(None, of.share, "share of the units that is dropped (0)")
    residual: bool | None = setting(None, of.flag, "add each hidden layer's input")
    patch: int | None = setting(None, of.whole(1), "side of a patch of an image (2)")
    units: int | None = setting(None, of.whole(1), "of a patch (64), or first channels (16 to 32)")
    depth: int | None = setting(None, of.whole(1), "blocks (2, of conv 3), or those of a stage")
    heads: int | None = setting(None, of.whole(1), "heads of a vit's attention (4)")
    pretrained: str | None = setting(
        None, of.text("FILE"), "parameters of a net of GluonCV, see docs"
    )
    head: str | None = setting(
        None, of.choice("dense", "fused"), "last layer of a net of GluonCV, fused: with the loss"
    )
    class_weight: str | None = setting(
        None, of.choice("balanced"), "balanced: each class counts alike, also a rare one"
    )
    weights: str | None = setting(None, of.text("COLUMN"), "how much each sample counts (alike)")
    holdout: str | None = setting(
        None, of.holdout, "a share, a fold such as 2/5, group:COLUMN or time:COLUMN (0.2)"
    )

    # How.
    lowest: float = setting(1e-6, of.positive, "lowest learning rate", "from")
    highest: float = setting(10.0, of.positive, "highest learning rate", "to")
    steps: int = setting(150, of.whole(10), "steps, at most")
    epochs: int = setting(30, of.whole(1), "passes over the data")
    steps_per_epoch: int | None = setting(
        None, of.whole(1), "steps after which an epoch ends (all of the data)"
    )
    max_steps: int | None = setting(None, of.whole(1), "end after so many steps in all (never)")
    max_time: float | None = setting(None, of.duration, "end after 90s, 15m, 2h, ... (never)")
    limit_batches: int | None = setting(
        None, of.whole(1), "use the first N batches only, to learn from and held out (all)"
    )
    overfit_batches: int | None = setting(
        None, of.whole(1), "learn from N batches, and measure on the same: can the net learn?"
    )
    fast_dev_run: bool = setting(False, of.flag, "one batch, one epoch, and no file is kept")
    profile: bool = setting(False, of.flag, "show where the time of the steps goes")
    patience: int | None = setting(
        None, of.whole(1), "end when so many epochs were not better than the best (never)"
    )
    metric: str | None = setting(
        None,
        of.choice(*ROWS),
        f"by which an epoch is best: {', '.join(ROWS)} (accuracy; of numbers mae)",
    )
    batch_size: int = setting(64, of.whole(1), "samples in a step")
    optimizer: str = setting("adam", of.text("NAME"), "one of mx.optimizer: sgd, nag, lamb, ...")
    optimizer_option: dict[str, Any] = setting(
        {}, of.options, "an option of the optimizer, such as beta1=0.95; again for more"
    )
    weight_decay: float = setting(0.0, of.not_negative, "the optimizer's wd")
    seed: int = setting(0, of.whole(0), "of initialization, order and held-out samples")
    lr: dict[str, float] = setting(
        {},
        of.rates,
        f"learning rate ({RATES}; else the optimizer's), or PATTERN=RATE; again for more",
    )
    schedule: str = setting("constant", of.choice(*SCHEDULES), "of the learning rate, see below")
    schedule_option: dict[str, Any] = setting(
        {}, of.options, "an option of the schedule, such as final=0.01; again for more"
    )
    warmup: float = setting(0.0, of.not_negative, "epochs in which the learning rate rises from 0")
    clip: float | None = setting(None, of.positive, "greatest norm of the gradients (no limit)")
    accumulate: int = setting(1, of.whole(1), "batches whose gradients are added for one update")
    precision: str = setting(
        "float32", of.choice("float32", "bfloat16", "float16"), "of weights and activations"
    )
    hybridize: str = setting("none", of.choice(*HYBRIDIZE), "see below")
    average: float | None = setting(
        None, of.share, "use the weights' moving mean, such as 0.99 (the last weights)"
    )

    freeze: tuple[str, ...] = setting(
        (), of.patterns, "parameters not to learn, such as features.* (none)"
    )
    folds: int | None = setting(
        None, of.whole(2), "train again with each of so many parts held out, for mean and deviation"
    )
    repeat: int | None = setting(
        None, of.whole(2), "train with so many seeds, the first of which is --seed"
    )

    # Where.
    ctx: tuple[tuple[str, int], ...] = setting(
        (("cpu", 0),), of.contexts, "cpu, gpu, gpu:1, or several: gpu:0,gpu:1 (cpu)"
    )
    kvstore: str = setting(
        "device",
        of.choice("device", "local", "dist_sync"),
        "dist_sync: together with all processes that torchrun starts",
    )
    engine: str | None = setting(None, of.choice("torch", "mxnet"), "(the one that is installed)")
    out: Path | None = setting(None, of.path, "folder of the results (a new one, runs/DATE-DATA)")
    config: Path | None = setting(
        None, of.path, "settings from JSON or YAML, or a run's config.json"
    )
    overwrite: bool = setting(False, of.flag, "replace the run in --out, unless --resume goes on")
    resume: bool = setting(False, of.flag, "go on with the run in --out, or begin it")
    checkpoint_steps: int | None = setting(
        None, of.whole(1), "save a checkpoint after this many steps too (after each epoch)"
    )
    tensorboard: Path | None = setting(None, of.path, "write the results for TensorBoard, too")
    quiet: bool = setting(False, of.flag, "print nothing but errors and warnings")

    @classmethod
    def of(cls, program: str, values: Mapping[str, Any]) -> Config:
        """Return the settings of a program, with its defaults, after all checks.

        Raises
        ------
        Refused
            Two settings do not go together.
        """
        config = cls(program=program, **(DEFAULTS.get(program, {}) | dict(values)))
        check_net(config)
        check_step(config.hybridize, config.clip, config.accumulate, config.precision)
        if config.profile and config.hybridize == "step":
            raise Refused("--profile: a compiled step has no parts; expected another --hybridize")
        if config.overfit_batches and config.limit_batches:
            raise Refused("--overfit-batches: expected no --limit-batches beside it")
        if config.program == FIND_LR and not config.lowest < config.highest:
            raise Refused(f"--from {config.lowest:g}: expected less than --to {config.highest:g}")
        return config

    def of_net(self, name: str) -> Any:
        """Return an option of the net: the one that is given, or the net's default."""
        given = getattr(self, name)
        return options_of(self.net)[name] if given is None else given

    def as_json(self) -> dict[str, Any]:
        """Return the settings of a run as its config.json has them, from which `parse` reads it."""
        found = {each.name: getattr(self, each.name) for each in settings_of(self.program)}
        found |= {name: self.of_net(name) for name in options_of(self.net) if name in found}
        found["ctx"] = ",".join(f"{kind}:{number}" for kind, number in self.ctx)
        return {
            name: str(value) if isinstance(value, Path) else value
            for name, value in found.items()
            if name not in NO_FILE_HAS
        }


TYPES: dict[str, Type] = {
    each.name: each.metadata["type"] for each in fields(Config) if each.metadata
}


def checked(**values: Any) -> dict[str, Any]:
    """Return arguments of `fit`, by the names of settings; None stays None. Raises as `expect`."""
    return {name: of.expect(TYPES[name], name, value) for name, value in values.items()}


def settings_of(program: str) -> list[Field]:
    """Return the fields of `Config` that a program has."""
    without = WITHOUT[program].split()
    return [each for each in fields(Config) if each.name in TYPES and each.name not in without]


def options_of(net: str) -> dict[str, Any]:
    """Return the options that a net has, with their defaults."""
    return GLUONCV if net.startswith("gluoncv:") else NETS.get(net, {})


def check_net(config: Config) -> None:
    """Refuse options that the net does not have, or that do not go with its head.

    Raises
    ------
    Refused
        The message has the option, and those that the net has.
    """
    own = options_of(config.net)
    is_detector = config.net == "ssd_lite"
    if config.net in NETS and is_detector != (config.program == DETECT):
        expected = "mlp, mixer, vit, conv or resnet" if is_detector else "ssd_lite"
        raise Refused(f"--net {config.net}: expected {expected}, or a function in a file")
    for name in OF_NETS:
        if getattr(config, name) is not None and name not in own:
            has = ", ".join(f"--{each}" for each in own)
            raise Refused(
                f"--{name}: the net {config.net} has no such option; expected "
                + (f"some of {has}" if has else f"no --{name}: its file says how it is made")
            )
    if config.program == DETECT and config.hybridize == "step":
        raise Refused(
            "--hybridize step: a detector's loss, which matches anchors, cannot be compiled; "
            "expected none, recorded or compiled"
        )
    if config.head == "fused":
        if config.precision != "float32":
            raise Refused("--head fused: computes in float32; expected no --precision")
        if config.task == "regression":
            raise Refused("--head fused: has the loss of classes; expected --head dense")
    if config.program == MODULE and (own := {*config.lr} - {"*"}):
        raise Refused(f"--lr {own.pop()}: Module has one learning rate; expected --lr RATE")
    if config.holdout and config.validation:
        raise Refused("--holdout: --validation names the held-out samples; expected one of both")
    if config.folds or config.repeat:
        option = "--folds" if config.folds else "--repeat"
        fold = of.SPLIT.fullmatch(config.holdout or "")
        if config.folds and (config.validation or (fold and fold[2])):
            by = "--validation" if config.validation else f"--holdout {config.holdout}"
            raise Refused(f"--folds: {by} says what is held out; expected one of both")
        if config.kvstore == "dist_sync":
            raise Refused(f"{option}: trains in one process; expected no --kvstore dist_sync")
    if config.class_weight and config.task == "regression":
        raise Refused("--class-weight: numbers have no classes; expected no --task regression")
    if mixes := [name for name in config.augment if name in MIXES]:
        if config.program == MODULE:
            raise Refused(f"--augment {mixes[0]}: the loss of Module takes no mixed labels")
        if config.head == "fused":
            raise Refused(f"--augment {mixes[0]}: mixes labels; expected --head dense")
        if config.class_weight or config.weights:
            option = "--class-weight" if config.class_weight else "--weights"
            raise Refused(f"--augment {mixes[0]}: mixes samples; expected no {option}")


def check_step(hybridize: str, clip: float | None, accumulate: int, precision: str) -> None:
    """Refuse steps between gradient and update, where both are in one compiled graph.

    Raises
    ------
    Refused
        The message names the setting.
    """
    between = {
        "clip": clip is not None,
        "accumulate": accumulate > 1,
        "precision float16": precision == "float16",
    }
    if hybridize == "step" and (given := [name for name, is_given in between.items() if is_given]):
        raise Refused(
            f"{given[0]}: not with hybridize step, where gradient and update are one graph; "
            f"expected no {given[0]}, or hybridize none, recorded or compiled"
        )
