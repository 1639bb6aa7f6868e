"""An epoch of images from a RecordIO file, through a DataLoader, with torchvision's transforms."""

from __future__ import annotations

import io

import torch
from PIL import Image
from torch.utils.data import DataLoader, Dataset

from layers.mxnet import recordio

from ..records import CROP, MEAN, SHORT, STD, written
from ..worker import Entry
from .vision import transforms


class Records(Dataset):
    """Images resized, cropped, perhaps mirrored, and normalized; and their labels."""

    def __init__(self, count: int):
        records, index = written(recordio, count)
        self.file, self.count = recordio.MXIndexedRecordIO(index, records, "r"), count
        self.transform = transforms.Compose(
            [
                transforms.Resize(SHORT),
                transforms.CenterCrop(CROP),
                transforms.RandomHorizontalFlip(),
                transforms.ToTensor(),
                transforms.Normalize([m / 255 for m in MEAN], [s / 255 for s in STD]),
            ]
        )

    def __len__(self) -> int:
        return self.count

    def __getitem__(self, key: int) -> tuple[torch.Tensor, float]:
        header, data = recordio.unpack(self.file.read_idx(key))
        return self.transform(Image.open(io.BytesIO(data)).convert("RGB")), header.label


def build(variant: str, device: str, count: int, batch: int) -> Entry:
    """`variant` is DataLoader, and how many workers there are."""
    workers = int(variant.split()[1])
    loader = DataLoader(Records(count), batch, num_workers=workers, persistent_workers=workers > 0)

    def step() -> list:
        return list(loader)

    def check() -> list[float]:
        found = step()
        means = [data.mean((2, 3)).flatten() for data, _ in found]
        return torch.cat([*means, *(label for _, label in found)]).tolist()

    return Entry(step, check)
