"""An epoch of images from a RecordIO file, through a DataLoader, with Pillow."""

from __future__ import annotations

import io

import numpy as np
import torch
from PIL import Image
from torch.utils.data import DataLoader, Dataset

from layers.mxnet import recordio

from ..records import CROP, MEAN, SHORT, STD, written
from ..worker import Entry


class Records(Dataset):
    """Images resized, cropped, flipped and normalized, as torchvision's transforms do by Pillow."""

    def __init__(self, count: int):
        records, index = written(recordio, count)
        self.file, self.count = recordio.MXIndexedRecordIO(index, records, "r"), count
        self.mean = torch.tensor(MEAN).reshape(3, 1, 1)
        self.std = torch.tensor(STD).reshape(3, 1, 1)

    def __len__(self) -> int:
        return self.count

    def __getitem__(self, key: int) -> tuple[torch.Tensor, float]:
        header, data = recordio.unpack(self.file.read_idx(key))
        image = Image.open(io.BytesIO(data)).convert("RGB")
        w, h = image.size
        size = (SHORT, SHORT * h // w) if w < h else (SHORT * w // h, SHORT)
        image = image.resize(size, Image.Resampling.BILINEAR)
        x, y = (size[0] - CROP) // 2, (size[1] - CROP) // 2
        image = image.crop((x, y, x + CROP, y + CROP))
        image = image.transpose(Image.Transpose.FLIP_LEFT_RIGHT)
        pixels = torch.from_numpy(np.array(image)).permute(2, 0, 1).float()
        return pixels.sub_(self.mean).div_(self.std), header.label


def build(variant: str, device: str, count: int, batch: int) -> Entry:
    """`variant` is how many workers there are."""
    workers = int(variant)
    loader = DataLoader(Records(count), batch, num_workers=workers, persistent_workers=workers > 0)

    def step() -> list:
        return list(loader)

    def check() -> list[float]:
        found = step()
        means = [data.mean((2, 3)).flatten() for data, _ in found]
        return torch.cat([*means, *(label for _, label in found)]).tolist()

    return Entry(step, check)
