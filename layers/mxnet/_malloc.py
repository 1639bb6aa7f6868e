"""How much freed memory the C library keeps for the next step.

Once more than a few megabytes are free at the end of its heap, glibc gives them back to the system,
and takes them again page by page. A training step of two LSTM layers of 200 units, whose arrays
have a megabyte or two, takes 22 ms then, and 17 ms where the memory is kept.

glibc raises its two limits by itself when a large array is freed: to 32 MB for the arrays that it
puts in the heap, and 64 MB for what it keeps free there, at most. Importing this module sets them
to these values, unless the environment says otherwise.
"""

from __future__ import annotations

import ctypes
import os
import platform

M_TRIM_THRESHOLD, M_MMAP_THRESHOLD = -1, -3  # as in malloc.h
LARGEST_IN_HEAP = 32 * 2**20  # bytes; larger arrays are never in the heap
OF_USERS = ("MALLOC_TRIM_THRESHOLD_", "MALLOC_MMAP_THRESHOLD_", "GLIBC_TUNABLES")


if platform.libc_ver()[0] == "glibc" and not any(name in os.environ for name in OF_USERS):
    _mallopt = ctypes.CDLL(None).mallopt
    _mallopt(M_MMAP_THRESHOLD, LARGEST_IN_HEAP)
    _mallopt(M_TRIM_THRESHOLD, 2 * LARGEST_IN_HEAP)  # as glibc sets it with the other
