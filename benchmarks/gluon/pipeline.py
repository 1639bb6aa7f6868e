"""An epoch of images from a RecordIO file, through MXNet's iterators and Gluon's DataLoader."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from layers.engine import gluon, mx

from ..records import CROP, MEAN, SHORT, STD, written
from ..worker import Entry

SHAPE = (3, CROP, CROP)


def build(variant: str, device: str, count: int, batch: int) -> Entry:
    """`variant` is ImageIter, or ImageRecordIter and its threads, or DataLoader and its workers."""
    name, _, threads = variant.partition(" ")
    make = {"ImageIter": image_iter, "ImageRecordIter": record_iter, "DataLoader": loader}[name]
    batches = make(*written(mx.recordio, count), batch, int(threads or 0))

    def step() -> None:
        """All batches of an epoch. What was decoded ahead, while others had their turn, is lost."""
        for data, _ in batches():
            data.wait_to_read()

    def check() -> list[float]:
        means, labels = [], []
        for data, label in batches():  # MXNet writes later batches into the memory of earlier ones
            means += data.asnumpy().mean((2, 3)).ravel().tolist()
            labels += label.asnumpy().tolist()
        return means + labels

    return Entry(step, check)


def image_iter(records: str, index: str, batch: int, _: int) -> Callable[[], Iterator]:
    chain = mx.image.CreateAugmenter(
        SHAPE, resize=SHORT, inter_method=1, mean=np.array(MEAN), std=np.array(STD)
    )
    chain.insert(-1, mx.image.HorizontalFlipAug(0.5))
    return epochs(
        mx.image.ImageIter(batch, SHAPE, path_imgrec=records, path_imgidx=index, aug_list=chain)
    )


def record_iter(records: str, index: str, batch: int, threads: int) -> Callable[[], Iterator]:
    names = "mean_r", "mean_g", "mean_b", "std_r", "std_g", "std_b"
    return epochs(
        mx.io.ImageRecordIter(
            path_imgrec=records,
            data_shape=SHAPE,
            batch_size=batch,
            preprocess_threads=threads,
            resize=SHORT,
            rand_mirror=True,
            verbose=False,
            **dict(zip(names, (*MEAN, *STD))),
        )
    )


def epochs(source) -> Callable[[], Iterator]:
    """What gives the batches of another epoch of an iterator."""
    for _ in source:  # where an epoch has not ended, MXNet's next one begins somewhere
        pass

    def batches() -> Iterator:
        source.reset()
        for one in source:
            yield one.data[0], one.label[0]

    return batches


def loader(records: str, index: str, batch: int, workers: int) -> Callable[[], Iterator]:
    transforms = gluon.data.vision.transforms
    changes = transforms.Compose(
        [
            transforms.Resize(SHORT, keep_ratio=True),
            transforms.CenterCrop(CROP),
            transforms.RandomFlipLeftRight(),
            transforms.ToTensor(),
            transforms.Normalize([m / 255 for m in MEAN], [s / 255 for s in STD]),
        ]
    )
    images = gluon.data.vision.ImageRecordDataset(records).transform_first(changes)
    return gluon.data.DataLoader(images, batch, num_workers=workers).__iter__
