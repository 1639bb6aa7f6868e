"""Batches over contexts, gradients' norms, and files."""

from __future__ import annotations

import hashlib
import math
import os
import warnings
from collections.abc import Callable
from pathlib import Path
from urllib.parse import urlsplit

import torch

from .. import _np_shape, ndarray
from ..base import ArgumentError, ShapeError, StateError, UnsupportedError, printable
from ..context import Context
from ..ndarray import NDArray
from ..numpy._array import in_kind

__all__ = [
    "HookHandle",
    "check_sha1",
    "clip_global_norm",
    "download",
    "replace_file",
    "shape_is_known",
    "split_and_load",
    "split_data",
]


_REPOSITORY = "https://apache-mxnet.s3-accelerate.dualstack.amazonaws.com/"


class HookHandle:
    """What registering a hook returns: `detach` takes the hook away again.

    In a ``with`` statement that happens at its end.
    """

    _hooks: dict | None = None

    def attach(self, hooks_dict: dict, hook: Callable) -> None:
        """Add a hook to a dictionary of them, from which `detach` takes it.

        Raises
        ------
        StateError
            The handle has a hook already.
        """
        if self._hooks is not None:
            raise StateError("HookHandle: it has a hook already\n  expected a handle for each hook")
        self._hooks, self._key = hooks_dict, object()
        hooks_dict[self._key] = hook

    def detach(self) -> None:
        """Take the hook away; a second time does nothing."""
        if self._hooks is not None:
            self._hooks.pop(self._key, None)

    def __enter__(self) -> HookHandle:
        return self

    def __exit__(self, *_) -> None:
        self.detach()


def split_data(data, num_slice: int, batch_axis: int = 0, even_split: bool = True) -> list:
    """Split a batch into `num_slice` slices along an axis.

    Parameters
    ----------
    data : NDArray or numpy.ndarray
    num_slice : int
    batch_axis : int
    even_split : bool
        Refuse a batch that does not split evenly; else the first slices have one sample more.

    Raises
    ------
    ShapeError
        The batch does not split evenly.
    ArgumentError
        `num_slice` is below 1.
    """
    if num_slice < 1:
        raise ArgumentError(f"split_data: num_slice is {num_slice}\n  expected 1 or more")
    size = data.shape[batch_axis]
    each, more = divmod(size, num_slice)
    if even_split and more:
        raise ShapeError(
            f"split_data: axis {batch_axis} of {data.shape} does not split into {num_slice}\n"
            f"  expected a multiple of {num_slice}, or even_split=False"
        )
    ends = [each * k + min(k, more) for k in range(num_slice + 1)]
    before = (slice(None),) * (batch_axis % len(data.shape))
    return [data[(*before, slice(a, b))] for a, b in zip(ends, ends[1:])]


def split_and_load(
    data, ctx_list: list[Context], batch_axis: int = 0, even_split: bool = True
) -> list[NDArray]:
    """Split a batch as `split_data` does, and put each slice on its context.

    Parameters
    ----------
    data : NDArray, or what `nd.array` takes
    ctx_list : list of Context
    batch_axis, even_split
        As for `split_data`.

    Raises
    ------
    ArgumentError
        `ctx_list` is one context.
    ShapeError
        The batch does not split evenly.
    """
    if isinstance(ctx_list, Context):
        raise ArgumentError(f"split_and_load: ctx_list is {ctx_list}\n  expected a list of them")
    if not isinstance(data, NDArray):
        data = in_kind(ndarray.array(data, ctx=ctx_list[0]))
    if len(ctx_list) == 1:
        return [data.as_in_context(ctx_list[0])]
    slices = split_data(data, len(ctx_list), batch_axis, even_split)
    return [part.as_in_context(ctx) for part, ctx in zip(slices, ctx_list)]


def clip_global_norm(arrays: list[NDArray], max_norm: float, check_isfinite: bool = True):
    """Scale arrays, in place, so that the norm of them all is at most `max_norm`.

    All are multiplied by min(1, max_norm / (norm + 1e-8)). They may be on several contexts.

    Parameters
    ----------
    arrays : list of NDArray
    max_norm : float
    check_isfinite : bool
        Warn where the norm is NaN or infinite, which takes waiting for it.

    Returns
    -------
    numpy.float32 or NDArray
        The norm before; an NDArray of shape (1,) when it is not checked.

    Raises
    ------
    ArgumentError
        There are no arrays.
    """
    if not arrays:
        raise ArgumentError("clip_global_norm: there are no arrays\n  expected at least one")
    groups: dict[tuple, list[NDArray]] = {}
    for array in arrays:
        groups.setdefault((array._elements.device, array._elements.dtype), []).append(array)
    home = arrays[0]._elements.device
    with torch.no_grad():
        norms = [
            _norm(group, torch.promote_types(dtype, torch.float32)).to(home, torch.float32)
            for (_, dtype), group in groups.items()
        ]
        norm = torch.stack(norms).norm()
        scale = (max_norm / (norm + 1e-8)).clamp(max=1.0)
        for (device, _), group in groups.items():
            scaled = torch._foreach_mul([a._elements for a in group], scale.to(device))
            for array, tensor in zip(group, scaled):
                array._replace_elements(tensor)
    result = NDArray(norm.reshape(1), arrays[0].context)
    if not check_isfinite:
        return result
    value = result.asscalar()
    if not math.isfinite(value):
        warnings.warn(
            f"clip_global_norm: the norm is {value}, the clipped arrays are undefined",
            UserWarning,
            stacklevel=2,
        )
    return value


def _norm(arrays: list[NDArray], dtype: torch.dtype) -> torch.Tensor:
    return torch.stack(torch._foreach_norm([a._elements for a in arrays], dtype=dtype)).norm()


def shape_is_known(shape: tuple[int, ...] | None) -> bool:
    """Whether a shape is known whole: no size in it is 0 or -1; with np_shape semantics 0 is."""
    return _np_shape.is_known(shape)


def check_sha1(filename: str | os.PathLike, sha1_hash: str) -> bool:
    """Whether a file has this SHA-1, given in hexadecimal, whole or its beginning."""
    sha1 = hashlib.sha1(usedforsecurity=False)
    with open(filename, "rb") as file:
        while block := file.read(1 << 20):
            sha1.update(block)
    digest = sha1.hexdigest()
    return bool(sha1_hash) and digest.startswith(sha1_hash)


def download(
    url: str,
    path: str | os.PathLike | None = None,
    overwrite: bool = False,
    sha1_hash: str | None = None,
    retries: int = 5,
    verify_ssl: bool = True,
) -> str:
    """The path of a file that is there already. Nothing is downloaded.

    Parameters
    ----------
    url : str
    path : path, optional
        Of the file, or of its folder; by default the last part of the url, in the current folder.
    overwrite, retries, verify_ssl
        Of no meaning here.
    sha1_hash : str, optional
        What the file must have.

    Raises
    ------
    UnsupportedError
        The file is not there, or has another SHA-1.
    ArgumentError
        The path is a folder or not given, and the url ends in no name.
    """
    name = urlsplit(url).path.rpartition("/")[2]
    file = Path(name) if path is None else Path(path).expanduser()
    if path is not None and file.is_dir():
        file /= name
    if not name and (path is None or file.is_dir()):
        raise ArgumentError(f"download: {url!r} ends in no name\n  expected path to be given")
    if not file.is_file():
        wrong = "is not there"
    elif sha1_hash and not check_sha1(file, sha1_hash):
        wrong = f"has another SHA-1 than {sha1_hash}"
    else:
        return str(file)
    raise UnsupportedError(
        f"download: {file} {wrong}, and nothing is downloaded at run time\n"
        f"  expected the file there: fetch {url} yourself"
    )


def _get_repo_url() -> str:
    """Where the files of MXNet's data sets and models are: MXNET_GLUON_REPO, or its own place."""
    return os.environ.get("MXNET_GLUON_REPO", _REPOSITORY).rstrip("/") + "/"


def _get_repo_file_url(namespace: str, filename: str) -> str:
    """The url of one of these files."""
    return f"{_get_repo_url()}{namespace}/{filename}"


def replace_file(src: str | os.PathLike, dst: str | os.PathLike) -> None:
    """Move a file over another, at once."""
    os.replace(src, dst)


# What programs import, though MXNet's names for it are private


def _indent(s_: str, numSpaces: int) -> str:
    """A text whose lines but the first are indented."""
    return s_.replace("\n", "\n" + numSpaces * " ")


def _brief_print_list(lst: list, limit: int = 7) -> str:
    """The quoted items of a list, those in the middle left out if there are more than `limit`."""
    shown = [f"'{printable(str(item))}'" for item in lst]
    if len(shown) > limit:
        shown = [*shown[: limit // 2], "...", *shown[-limit // 2 :]]
    return ", ".join(shown)


def _check_same_symbol_type(symbols: list) -> type:
    """The type of Symbols."""
    return type(symbols[0])
