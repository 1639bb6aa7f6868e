"""An epoch of images from a RecordIO file, through MXNet's iterators."""

from __future__ import annotations

import numpy as np

from layers.engine import mx

from ..records import CROP, MEAN, SHORT, STD, written
from ..worker import Entry


def build(variant: str, device: str, count: int, batch: int) -> Entry:
    """`variant` is ImageIter, or ImageRecordIter and how many threads it has."""
    name, _, threads = variant.partition(" ")
    records, index = written(mx.recordio, count)
    shape = (3, CROP, CROP)
    if name == "ImageIter":
        flip = mx.image.HorizontalFlipAug(1.1)
        chain = mx.image.CreateAugmenter(
            shape, resize=SHORT, inter_method=1, mean=np.array(MEAN), std=np.array(STD)
        )
        chain.insert(-1, flip)
        source = mx.image.ImageIter(
            batch, shape, path_imgrec=records, path_imgidx=index, aug_list=chain
        )
    else:
        source = mx.io.ImageRecordIter(
            path_imgrec=records,
            data_shape=shape,
            batch_size=batch,
            preprocess_threads=int(threads),
            resize=SHORT,
            mirror=True,
            verbose=False,
            **dict(zip(("mean_r", "mean_g", "mean_b", "std_r", "std_g", "std_b"), (*MEAN, *STD))),
        )

    for _ in source:  # where an epoch has not ended, MXNet's next one begins somewhere
        pass

    def step() -> None:
        """All batches of an epoch. What was decoded ahead, while others had their turn, is lost."""
        source.reset()
        for one in source:
            one.data[0].wait_to_read()

    def check() -> list[float]:
        source.reset()
        means, labels = [], []
        for one in source:  # MXNet writes later batches into the memory of earlier ones
            means += one.data[0].asnumpy().mean((2, 3)).ravel().tolist()
            labels += one.label[0].asnumpy().tolist()
        return means + labels

    return Entry(step, check)
