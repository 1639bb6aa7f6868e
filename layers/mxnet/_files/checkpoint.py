"""Checkpoints: a graph and its parameters as files that MXNet reads too."""

from __future__ import annotations

import logging

from .. import ndarray, symbol
from ..ndarray import NDArray
from ..symbol import Symbol
from . import params
from .opening import write_files

Params = dict[str, NDArray]


def save_checkpoint(
    prefix,
    epoch: int,
    symbol: Symbol | None,
    arg_params: Params,
    aux_params: Params,
    remove_amp_cast: bool = True,
) -> None:
    """Write ``prefix-symbol.json`` and ``prefix-0001.params``, for epoch 1.

    Each appears whole or not at all, and both are on the disk before the first appears.

    Parameters
    ----------
    prefix : path
    epoch : int
    symbol : Symbol or None
    arg_params, aux_params : dict of str to NDArray
    remove_amp_cast : bool
        Leave the casts of mixed precision out of the graph.
    """
    path = _params_path(prefix, epoch)
    graph = None if symbol is None else symbol.tojson(remove_amp_cast).encode()
    files = {} if graph is None else {f"{prefix}-symbol.json": [graph]}
    write_files(files | {path: ndarray.utils.pieces(path, merge(arg_params, aux_params))})
    logging.info('Saved checkpoint to "%s"', path)


def load_checkpoint(prefix, epoch: int) -> tuple[Symbol, Params, Params]:
    """The graph, the parameters and the states that `save_checkpoint` wrote.

    Raises
    ------
    MissingFileError
        A file is missing.
    MXNetError
        A file is damaged, or of another format.
    """
    return symbol.load(f"{prefix}-symbol.json"), *load_params(prefix, epoch)


def load_params(prefix, epoch: int) -> tuple[Params, Params]:
    """The parameters and the states that `save_checkpoint` wrote."""
    path = _params_path(prefix, epoch)
    return split(ndarray.load(path), path)


def _params_path(prefix, epoch: int) -> str:
    return f"{prefix}-{epoch:04d}.params"


def merge(arg_params: Params, aux_params: Params) -> Params:
    """Parameters and states in one dict, under their names in a file."""
    arguments = {f"arg:{name}": value for name, value in arg_params.items()}
    return arguments | {f"aux:{name}": value for name, value in aux_params.items()}


def split(saved: Params | list, path: str) -> tuple[Params, Params]:
    """Parameters and states of a file: the inverse of `merge`; errors name `path`."""
    parts: dict[str, Params] = {"arg": {}, "aux": {}}
    if not saved:
        logging.warning("Params file '%s' is empty", path)
        return {}, {}
    for name in saved if isinstance(saved, dict) else [""]:
        prefix, colon, rest = name.partition(":")
        if not colon or prefix not in parts:
            raise params.ParamsFileError(
                f"{path}: an array is named {name!r}\n  expected arg: or aux: and a name"
            )
        parts[prefix][rest] = saved[name]
    return parts["arg"], parts["aux"]
