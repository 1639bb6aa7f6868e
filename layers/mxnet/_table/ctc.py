"""The loss of sequences whose labels have no places in time."""

from __future__ import annotations

from typing import Literal

import torch
import torch.nn.functional as F

from ..base import ArgumentError, ShapeError
from .index import check_inside, positions
from .registry import Tensor, op

_NEVER = -1e30  # log 0, but finite: its gradient is 0, and not NaN


def _checked(data, label, lengths: dict[str, tuple[Tensor | None, bool]]) -> None:
    if data.dim() != 3 or label.dim() != 2 or label.shape[0] != data.shape[1]:
        raise ShapeError(
            f"CTCLoss: data is {tuple(data.shape)}, label is {tuple(label.shape)}\n"
            "  expected data (time, batch, classes) and label (batch, length)"
        )
    if label.shape[1] > data.shape[0]:
        raise ShapeError(
            f"CTCLoss: label is {tuple(label.shape)}, data is {tuple(data.shape)}\n"
            f"  expected at most {data.shape[0]} labels, as many as there are steps of time"
        )
    for name, (given, used) in lengths.items():
        if (given is None) is used:
            found = "is missing" if used else f"is {tuple(given.shape)}"
            raise ArgumentError(f"CTCLoss: {name} {found}\n  expected use_{name}={not used}")
        if given is not None and tuple(given.shape) != (label.shape[0],):
            raise ShapeError(
                f"CTCLoss: {name} is {tuple(given.shape)}\n  expected ({label.shape[0]},)"
            )


@op("ctc_loss", "_contrib_CTCLoss", "_contrib_ctc_loss")
def CTCLoss(
    data: Tensor,
    label: Tensor,
    data_lengths: Tensor | None = None,
    label_lengths: Tensor | None = None,
    use_data_lengths: bool = False,
    use_label_lengths: bool = False,
    blank_label: Literal["first", "last"] = "first",
) -> Tensor:
    """-log p(label | softmax(data)), of all ways to spread the labels over time.

    data : (time, batch, classes), before softmax      label : (batch, length)
    data_lengths, label_lengths : (batch,)             y : (batch,)

    One class is blank: 'first', 0, or 'last', classes - 1. Without `label_lengths` the labels of a
    sample end before the first 0, or with 'last' before the first -1. Labels that do not fit into
    the time have loss and gradient 0. A label that is no class is an error, but on a GPU and in
    compiled code it is taken for the nearest class.

    (Graves et al. 2006, Connectionist temporal classification)

    Raises
    ------
    ShapeError
        `data` or `label` has other axes than these, there are more labels than steps of time, or
        lengths are not one for each example.
    ArgumentError
        Lengths are given without the option that uses them, or missing with it.
    """
    if use_label_lengths and not use_data_lengths and label_lengths is None:
        data_lengths, label_lengths = None, data_lengths  # given by position
    lengths = {
        "data_lengths": (data_lengths, use_data_lengths),
        "label_lengths": (label_lengths, use_label_lengths),
    }
    _checked(data, label, lengths)
    time, batch, classes = data.shape
    x = data.float() if data.itemsize == 2 else data
    if data.is_meta:  # PyTorch's loss has no form for shapes alone
        return x.sum((0, 2)).to(data.dtype)
    if data_lengths is None:
        data_lengths = torch.full((batch,), time, device=data.device)
    else:  # what is behind the end may be NaN, and then softmax's gradient would be
        x = x.masked_fill(positions(x, 0) >= data_lengths[:, None], 0)
    x = torch.log_softmax(x, 2)
    if label_lengths is None:
        padding = 0 if blank_label == "first" else -1
        label_lengths = label.shape[1] - (label == padding).cummax(1).values.sum(1)
    # PyTorch's loss checks neither labels nor lengths: greater ones would read other memory.
    steps, counts = data_lengths.long().clamp(0, time), label_lengths.long()
    counts = counts.clamp(0, label.shape[1])
    targets = label.long().masked_fill(positions(label, 1) >= counts[:, None], 0)
    if targets.is_cpu:
        check_inside("CTCLoss", targets, 0, classes - 1, "a label")
    targets = targets.clamp(0, classes - 1)  # where nothing was checked
    blank = 0 if blank_label == "first" else classes - 1
    if torch.compiler.is_compiling():  # PyTorch's compiler does not know its loss
        y = _forward_algorithm(x, targets, steps, counts, blank)
    else:
        y = F.ctc_loss(x, targets, steps, counts, blank, reduction="none", zero_infinity=True)
    return y.to(data.dtype)


@CTCLoss.shaped
def _(data, label, shapes):
    fits = len(data) == 3 and len(label) == 2 and label[0] == data[1] and label[1] <= data[0]
    return data[1:2] if fits and all(lengths == data[1:2] for lengths in shapes[2:]) else None


def _forward_algorithm(x, targets, steps, counts, blank: int) -> Tensor:
    """The loss by its definition: for each place in the labels, -log p of all ways to be there.

    The places are those of the labels with a blank before, between and behind them.
    """
    batch, length = targets.shape
    places = targets.new_full((batch, 2 * length + 1), blank)
    places[:, 1::2] = targets
    skips = torch.zeros_like(places, dtype=torch.bool)  # over the blank between other labels
    skips[:, 3::2] = targets[:, 1:] != targets[:, :-1]
    emitted = x.gather(2, places.expand(x.shape[0], -1, -1))
    reached = torch.full_like(emitted[0], _NEVER)
    reached[:, :2] = emitted[0, :, :2]
    for t in range(1, x.shape[0]):
        one = F.pad(reached[:, :-1], (1, 0), value=_NEVER)
        two = F.pad(reached[:, :-2], (2, 0), value=_NEVER).masked_fill(~skips, _NEVER)
        following = torch.stack([reached, one, two[:, : places.shape[1]]]).logsumexp(0) + emitted[t]
        reached = torch.where(t < steps[:, None], following, reached)
    last = 2 * counts[:, None]
    blanks, label = reached.gather(1, last), reached.gather(1, (last - 1).clamp(min=0))
    whole = torch.logaddexp(blanks, label.masked_fill(last == 0, _NEVER)).squeeze(1)
    return torch.where((whole > _NEVER / 2) & (steps > 0), -whole, torch.zeros_like(whole))


@CTCLoss.takes
def _(use_data_lengths, use_label_lengths):
    used = {"data_lengths": use_data_lengths, "label_lengths": use_label_lengths}
    return ("data", "label", *(name for name, use in used.items() if use))


@CTCLoss.gives
def _():
    return ("output0",)


@CTCLoss.infer
def _(data, use_data_lengths, use_label_lengths):
    used = {"data_lengths": use_data_lengths, "label_lengths": use_label_lengths}
    return {name: (data[1],) for name, use in used.items() if use}


@CTCLoss.types
def _(data):
    return data
