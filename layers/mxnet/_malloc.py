"""How much freed memory the C library keeps for the next step.

glibc takes memory for a large array from the system, page by page, and gives it back as soon as it
is free; so it does with what is free at the end of its heap. Inference of an SSD-512 on 8 images,
whose arrays have 34 MB and less, takes 200,000 page faults a call then, and 1.4 times as long as
where the memory is kept; a training step of two LSTM layers of 200 units, whose arrays have a
megabyte or two, 1.3 times as long.

`tune` has glibc put arrays of up to 128 MB in its heap, or 32 MB where it is too old
for more, and keep up to a gigabyte that is free at its end, or an eighth of the machine's memory.
Larger arrays go back to the system: in a heap they leave holes, and those of a vocabulary of 32,000
words, of a gigabyte each, would take 1.7 times the memory. What users say in the environment takes
precedence.
"""

from __future__ import annotations

import ctypes
import os
import platform

M_TRIM_THRESHOLD, M_MMAP_THRESHOLD = -1, -3  # as in malloc.h
LARGEST_IN_HEAP = 128 * 2**20  # bytes
LARGEST_OF_OLD = 32 * 2**20  # what every glibc takes
MOST_KEPT = 2**30
OF_USERS = ("MALLOC_TRIM_THRESHOLD_", "MALLOC_MMAP_THRESHOLD_", "GLIBC_TUNABLES")


def tune() -> None:
    """Let the C library keep memory that a step frees, up to a gigabyte, for the next step.

    It holds for the whole process, so importing this package does not do it: programs call it, as
    ``python -m layers.mxnet`` and ``python -m train`` do. Nothing happens without glibc, and where
    the environment has MALLOC_TRIM_THRESHOLD_, MALLOC_MMAP_THRESHOLD_ or GLIBC_TUNABLES.
    """
    if platform.libc_ver()[0] != "glibc" or any(name in os.environ for name in OF_USERS):
        return
    memory = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    mallopt = ctypes.CDLL(None).mallopt
    if not mallopt(M_MMAP_THRESHOLD, LARGEST_IN_HEAP):  # 0 says that it is refused
        mallopt(M_MMAP_THRESHOLD, LARGEST_OF_OLD)
    mallopt(M_TRIM_THRESHOLD, min(MOST_KEPT, memory // 8))
