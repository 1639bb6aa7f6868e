"""How much freed memory the C library keeps for the next step.

glibc gives memory back to the system once what is free at the end of its heap is more than a few
megabytes, and takes it again page by page, zeroed: a training step of two LSTM layers of 200 units,
whose arrays have a megabyte or two, then takes 22 ms instead of 17, whatever library makes them. It
stops that by itself, up to 64 MB, once an array of 32 MB was freed, the size from which on arrays
have pages of their own. Here it does so from the beginning, unless the environment says otherwise.
"""

from __future__ import annotations

import ctypes
import os
import platform

M_TRIM_THRESHOLD, M_MMAP_THRESHOLD = -1, -3  # as in malloc.h
PAGES_OF_THEIR_OWN = 32 * 2**20  # bytes
OF_USERS = ("MALLOC_TRIM_THRESHOLD_", "MALLOC_MMAP_THRESHOLD_", "GLIBC_TUNABLES")


if platform.libc_ver()[0] == "glibc" and not any(name in os.environ for name in OF_USERS):
    _mallopt = ctypes.CDLL(None).mallopt
    _mallopt(M_MMAP_THRESHOLD, PAGES_OF_THEIR_OWN)
    _mallopt(M_TRIM_THRESHOLD, 2 * PAGES_OF_THEIR_OWN)  # as glibc sets it with the other
