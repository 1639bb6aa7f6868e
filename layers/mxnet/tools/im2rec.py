"""Make lists of the images of a folder, and RecordIO files of the images of lists.

python -m layers.mxnet.tools.im2rec --list --recursive data images     writes data.lst
python -m layers.mxnet.tools.im2rec --resize 256 data images           writes data.rec, data.idx
"""

from __future__ import annotations

import argparse
import os
import random
import runpy
import sys
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import islice
from pathlib import Path

if not __package__:  # run by its path, as `test_utils.get_im2rec_path` gives it
    runpy.run_module("layers.mxnet.tools.im2rec", run_name="__main__")
    sys.exit()

import numpy as np
import torch

from .. import recordio
from .._files import images
from .._threads import use_one_thread
from ..base import ArgumentError, MXNetError, printable
from ..image._resize import resized, short_size
from ..io._record_source import path_below, read_list

__all__ = ["main"]

SEED = 100  # MXNet's: the same folder gives the same order
TOLD = 1000  # images between two lines of progress


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the program; its exit status, 1 where an image or a list could not be read."""
    options = _parser().parse_args(arguments)
    prefix = Path(options.prefix)
    try:
        if options.list:
            write_lists(prefix, found_images(options), options)
            return 0
        lists = sorted(prefix.parent.glob(f"{_quoted(prefix.name)}*.lst"))
        if not lists:
            print(
                f"There is no list {printable(options.prefix)}*.lst: --list makes one",
                file=sys.stderr,
            )
            return 1
        return int(sum(pack(path, options) for path in lists) > 0)
    except (MXNetError, OSError) as error:
        print(printable(str(error), keep="\n"), file=sys.stderr)
        return 1


def _quoted(name: str) -> str:
    """A name as a pattern of `glob` that matches it alone."""
    return "".join(f"[{c}]" if c in "*?[" else c for c in name)


def _count(text: str) -> int:
    """A number of lists or threads, of an argument's text."""
    if (count := int(text)) < 1:
        raise argparse.ArgumentTypeError(f"{count} is not 1 or more")
    return count


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="im2rec",
        description=__doc__.split("\n\n")[0],
        formatter_class=argparse.ArgumentDefaultsHelpFormatter,
    )
    parser.add_argument("prefix", help="how the names of lists and RecordIO files begin")
    parser.add_argument("root", help="the folder of the images")
    lists = parser.add_argument_group("lists")
    lists.add_argument("--list", action="store_true", help="make lists, not RecordIO files")
    lists.add_argument("--exts", nargs="+", default=[".jpeg", ".jpg", ".png"], help="of images")
    lists.add_argument("--chunks", type=_count, default=1, help="how many lists to make")
    lists.add_argument("--train-ratio", type=float, default=1.0, help="of images for training")
    lists.add_argument("--test-ratio", type=float, default=0.0, help="of images for testing")
    lists.add_argument(
        "--recursive", action="store_true", help="folders too, each with a label of its own"
    )
    lists.add_argument(
        "--no-shuffle", dest="shuffle", action="store_false", help="keep the order of names"
    )
    records = parser.add_argument_group("RecordIO files")
    add = records.add_argument
    add("--pass-through", action="store_true", help="pack files as they are")
    add("--resize", type=int, default=0, help="resize the shorter side to it; 0 for not")
    add("--center-crop", action="store_true", help="cut the longer side, to a square")
    add("--quality", type=int, default=95, help="of JPEG, 1 to 100; compression of PNG, 1 to 9")
    add("--num-thread", type=_count, default=1, help="threads that decode and encode")
    add("--color", type=int, default=1, choices=[-1, 0, 1], help="1: RGB, 0: gray, -1: as it is")
    add("--encoding", default=".jpg", choices=[".jpg", ".png"], help="of packed images")
    add("--pack-label", action="store_true", help="pack all numbers of a label, not the first")
    return parser


def found_images(options: argparse.Namespace) -> list[tuple[str, int]]:
    """The paths of the images below the folder, and a label for each.

    Links to folders are followed, but not to one that the link itself is in.

    Raises
    ------
    ArgumentError
        There is no such folder, or no image in it; or a name has a tab or the end of a line in
        it, which separate what is in a list.
    """
    if not os.path.isdir(options.root):
        raise ArgumentError(f"im2rec: {options.root!r} is no folder\n  expected the images' folder")
    endings = {ending.lower() for ending in options.exts}
    found, labels = [], {}
    above = {options.root: {os.path.realpath(options.root)}}  # each folder and those it is in
    for folder, folders, names in os.walk(options.root, followlinks=True):
        places = {name: os.path.realpath(os.path.join(folder, name)) for name in folders}
        folders[:] = sorted(name for name in folders if places[name] not in above[folder])
        for name in folders:
            above[os.path.join(folder, name)] = above[folder] | {places[name]}
        for name in sorted(names):
            if os.path.splitext(name)[1].lower() in endings:
                label = labels.setdefault(folder, len(labels)) if options.recursive else 0
                path = os.path.relpath(os.path.join(folder, name), options.root)
                if any(c in path for c in "\t\n\r"):
                    raise ArgumentError(
                        f"the image {path!r} cannot be in a list\n"
                        "  expected a name without tabs and ends of lines"
                    )
                found.append((path, label))
        if not options.recursive:
            break
    if not found:
        within = "" if options.recursive else ", or --recursive for those in folders within it"
        raise ArgumentError(
            f"im2rec: no image is in {options.root!r}\n"
            f"  expected files that end in {', '.join(sorted(endings))}{within}"
        )
    for folder, label in labels.items():
        path = os.path.relpath(folder, options.root)
        print(printable(path), label)
    return found


def write_lists(prefix: Path, found: list[tuple[str, int]], options: argparse.Namespace) -> None:
    """Write the lists: of all images, or of parts of them for training, testing and validation."""
    rows = [f"{key}\t{label:f}\t{path}\n" for key, (path, label) in enumerate(found)]
    if options.shuffle:
        random.Random(SEED).shuffle(rows)
    size = -(-len(rows) // options.chunks)
    for chunk in range(options.chunks):
        part = rows[chunk * size : (chunk + 1) * size]
        name = f"{prefix}_{chunk}" if options.chunks > 1 else str(prefix)
        if options.train_ratio == 1.0:
            _write(f"{name}.lst", part)
            continue
        tested = int(size * options.test_ratio)
        trained = tested + int(size * options.train_ratio)
        if options.test_ratio:
            _write(f"{name}_test.lst", part[:tested])
        if options.train_ratio + options.test_ratio < 1.0:
            _write(f"{name}_val.lst", part[trained:])
        _write(f"{name}_train.lst", part[tested:trained])


def _write(name: str, rows: list[str]) -> None:
    # A path that is not UTF-8 is written with the bytes that it has, and read_list reads it so.
    Path(name).write_text("".join(rows), "utf-8", "surrogateescape")


def pack(path: Path, options: argparse.Namespace) -> int:
    """Write the RecordIO file of a list, and its index; how many images could not be read."""
    target = path.with_suffix(".rec")
    print(printable(f"Creating {target} and its index from {path}"))
    writer = recordio.MXIndexedRecordIO(path.with_suffix(".idx"), target, "w")
    begin, failed = time.perf_counter(), 0
    try:
        for count, (key, record) in enumerate(_records(path, options), 1):
            if isinstance(record, bytes):
                writer.write_idx(key, record)
            else:
                failed += 1
                print(printable(f"left out: {record}", keep="\n"), file=sys.stderr)
            if count % TOLD == 0:
                print(f"{count} images in {time.perf_counter() - begin:.1f} s")
    finally:
        writer.close()
    return failed


def _records(path: Path, options: argparse.Namespace) -> Iterator[tuple[int, bytes | Exception]]:
    """The record of each image of a list, or what is wrong with it, in the list's order."""
    rows = iter(read_list(path).items())
    with ThreadPoolExecutor(options.num_thread, "pack", use_one_thread) as threads:
        while some := list(islice(rows, 8 * options.num_thread)):
            yield from threads.map(lambda row: _record(row, options), some)


def _record(row: tuple, options: argparse.Namespace) -> tuple[int, bytes | Exception]:
    key, (label, name) = row
    numbers = label if options.pack_label and len(label) > 1 else float(label[0])
    header = recordio.IRHeader(0, numbers, key, 0)
    try:
        path = path_below(options.root, name)
        data = path.read_bytes()
        if not options.pass_through:
            shown = repr(str(path))
            pixels = _changed(_decoded(data, shown, options.color), shown, options)
            data = images.encode(pixels, options.encoding, options.quality)
        return key, recordio.pack(header, data)
    except (MXNetError, OSError) as error:
        return key, error


def _decoded(data: bytes, name: str, color: int) -> np.ndarray:
    if color == -1:
        pixels = images.decode_as_stored(data, name)
        return pixels if pixels.dtype == np.uint8 else (pixels >> 8).astype(np.uint8)
    return images.decode_upright(data, name, gray=not color)


def _changed(pixels: np.ndarray, name: str, options: argparse.Namespace) -> np.ndarray:
    """Cropped to a square, and resized."""
    pixels = pixels.reshape(*pixels.shape[:2], -1)
    h, w = pixels.shape[:2]
    if options.center_crop:
        side = min(h, w)
        y, x = (h - side) // 2, (w - side) // 2
        pixels = pixels[y : y + side, x : x + side]
        h = w = side
    if options.resize:
        h, w = short_size(name, h, w, options.resize)
        pixels = resized(torch.from_numpy(np.ascontiguousarray(pixels)), w, h, 1).numpy()
    return pixels


if __name__ == "__main__":
    sys.exit(main())
