"""Keeping freed memory for the next tensor, while a network is trained on CPUs.

glibc gives every large block back to the operating system as soon as it is freed, and the next one
costs a page fault for every 4 kB: more than half of a training step.  `kept_heap` asks it to take
large blocks from the heap instead and not to shrink that, for as long as the context lasts.

glibc cannot be asked what its settings were, and once told, it no longer adapts them to the program
by itself.  So afterwards it has the largest that it adapts to.
"""

import contextlib
import ctypes
import sys
from collections.abc import Iterator

from . import scratch

TRIM_THRESHOLD, MMAP_THRESHOLD, MMAP_MAX = -1, -3, -4  # of mallopt(3)
USUAL = {TRIM_THRESHOLD: 64 * 2**20, MMAP_THRESHOLD: 32 * 2**20, MMAP_MAX: 65536}
KEEPING = {TRIM_THRESHOLD: -1, MMAP_MAX: 0}  # −1 is the largest there is; 0 blocks outside the heap


@contextlib.contextmanager
def kept_heap() -> Iterator[bool]:
    """Whether the C library could be asked; afterwards what is free goes back to the system."""
    libc = _glibc()
    try:
        yield libc is not None and all(libc.mallopt(*setting) for setting in KEEPING.items())
    finally:
        scratch.clear()  # sequences of many lengths leave memory of many sizes waiting
        if libc is not None:
            for setting in USUAL.items():
                libc.mallopt(*setting)
            libc.malloc_trim(0)


def _glibc():
    if sys.platform != "linux":
        return None
    libc = ctypes.CDLL(None)
    return libc if hasattr(libc, "mallopt") and hasattr(libc, "malloc_trim") else None
