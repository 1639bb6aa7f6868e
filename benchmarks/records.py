"""A RecordIO file of images of the size of photographs, made once under ``build/``."""

from __future__ import annotations

import io
import os
from pathlib import Path

import numpy as np

SIZE = (375, 500)  # of an image: that of many of ImageNet's
SHORT, CROP = 256, 224  # its shorter side is resized to the one, and a square of the other cut out
MEAN, STD = (123.68, 116.28, 103.53), (58.395, 57.12, 57.375)


FOLDER = Path(__file__).resolve().parents[1] / "build" / "records"


def encoded(count: int) -> list[bytes]:
    """JPEGs of soft shapes and noise, about 60 kB each."""
    from PIL import Image

    random, found = np.random.RandomState(0), []
    y, x = np.mgrid[: SIZE[0], : SIZE[1]]
    for _ in range(count):
        waves = [np.sin(x / a + y / b) for a, b in random.uniform(15, 60, (3, 2))]
        pixels = 128 + 80 * np.stack(waves, -1) + random.normal(0, 8, (*SIZE, 3))
        file = io.BytesIO()
        Image.fromarray(pixels.clip(0, 255).astype(np.uint8)).save(file, "JPEG", quality=90)
        found.append(file.getvalue())
    return found


def written(recordio, count: int) -> tuple[str, str]:
    """The paths of a file of so many records, labelled 0, 1, ..., and of its index."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    index, records = (str(FOLDER / f"{count}.{ending}") for ending in ("idx", "rec"))
    if not os.path.exists(records):
        writer = recordio.MXIndexedRecordIO(index, f"{records}.part", "w")
        for key, image in enumerate(encoded(count)):
            writer.write_idx(key, recordio.pack((0, key, key, 0), image))
        writer.close()
        os.replace(f"{records}.part", records)
    return records, index
