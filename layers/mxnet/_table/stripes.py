"""How MKL shares out a matrix product between two threads.

MKL, which computes PyTorch's products, cuts a result into pieces for its threads. On AMD's
processors it cuts some results of small nets badly. With one stripe the columns are not cut, and
each thread has one half of the rows. A thread computes 16 rows at once: where the number of rows is
no multiple of 32, one thread waits for the other. The time with one stripe over that of MKL's own
choice, for float32 on Zen 4 (in microseconds, what MKL's own choice takes):

    rows, summed, columns              rows, summed, columns
     64, 128, 128       15   0.94       10, 128, 784       28   1.16
    128,  64, 784       98   0.80       16, 128, 784       29   1.43
    128,  64, 128       16   0.93       24, 128, 784       38   1.10
     64, 784, 128       75   0.99       48, 128, 784       68   1.08
    512, 512, 512     1313   1.00      100, 128, 784      131   1.03

In float32 the results have the same bits. In float64 some differ, so one stripe is not used there.
A setting of MKL holds for the whole process, so it is made for one call, and taken back: for a
product that a custom operator calls, and for a compiled graph.
"""

from __future__ import annotations

import ctypes
import os
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode

from .. import _cpu

aten, Tensor = torch.ops.aten, torch.Tensor
# Their last two arguments are the matrices.
PRODUCTS = {aten.mm.default, aten.mm.out, aten.addmm.default, aten.addmm.out}
ROWS = 32  # of which there has to be a multiple
MEASURED = {25}  # families of AMD's processors
# A product of other rows may lose half of its time, where one of these saves a fifth of it.
LOSS = 2.5


def _function() -> Callable[[int], int] | None:
    """MKL's function that sets the number of stripes.

    None where PyTorch has no such function, where it was not measured, and where the user has set
    the number in the environment.
    """
    if "MKL_NUM_STRIPES" in os.environ or _cpu.vendor() != "AuthenticAMD":
        return None
    if _cpu.family() not in MEASURED:
        return None
    try:
        library = ctypes.CDLL(str(Path(torch.__file__).parent / "lib" / "libtorch_cpu.so"))
        return library.mkl_serv_set_num_stripes
    except (OSError, AttributeError):  # another build of PyTorch
        return None


_set_stripes = _function()


def is_faster(a: Tensor) -> bool:
    """Whether a product of this and another matrix is the faster one in one stripe."""
    return (
        _set_stripes is not None
        and not a.size(0) % ROWS
        and a.is_cpu
        and a.dtype is torch.float32
        and torch.get_num_threads() == 2
    )


def in_one_stripe(function: Callable, *args: Any) -> Any:
    """Call a function, whose products are computed in one stripe."""
    assert _set_stripes is not None
    _set_stripes(1)
    try:
        return function(*args)
    finally:
        _set_stripes(0)  # MKL's own choice


def with_best_stripes(operator: torch._ops.OpOverload, args: tuple) -> Callable:
    """The C++ function of an operator of PyTorch, in one stripe if it is faster so for these."""
    pays = operator in PRODUCTS and is_faster(args[-2])
    return partial(in_one_stripe, operator._op) if pays else operator._op


class Products(TorchDispatchMode):
    """``with Products() as products:`` counts the multiplications of matrix products inside.

    Those of products that are faster in one stripe are counted apart from the others.
    """

    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        return False  # else PyTorch imports its compiler, which takes seconds

    def __init__(self):
        super().__init__()
        self._faster = self._others = 0

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        if function in PRODUCTS:
            a, b = args[-2:]
            if is_faster(a):
                self._faster += a.numel() * b.size(1)
            else:
                self._others += a.numel() * b.size(1)
        return function(*args, **(kwargs or {}))

    def with_best_stripes(self, function: Callable) -> Callable:
        """The function, called in one stripe if its products are faster so, all in all."""
        pays = self._faster > LOSS * self._others
        return partial(in_one_stripe, function) if pays else function
