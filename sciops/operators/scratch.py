"""Memory for large tensors on the CPU that does not cost more than the arithmetic done in it.

torch returns a large CPU tensor to the operating system as soon as it is freed, so a new one costs
a page fault for every 4 kB.  Two remedies:

- A temporary that is `take`n here and `give`n back keeps its pages for the next step; one that is
  not given back (a graph that is never differentiated) is simply freed.
- A `fresh` result, which the caller keeps, asks Linux for huge pages: one fault for every 2 MB.

Both are for `out=`, inside an autograd function and outside of a graph; elsewhere they are None and
torch allocates as usual.  Accelerators have caching allocators of their own.
"""

import ctypes
import math
import mmap
import sys
from functools import cache

import torch
from torch import Tensor

KEPT_NUMBERS = 2**26  # at most 256 MB in float32 wait to be used again
SMALL_NUMBERS = 2**15  # smaller tensors are left to torch
HUGE_BYTES = 2**20  # from here on huge pages are asked for
MADV_HUGEPAGE = 14

_waiting: dict[tuple, list[Tensor]] = {}


def take(shape: tuple[int, ...], like: Tensor) -> Tensor | None:
    """An uninitialised tensor for a temporary."""
    numbers = math.prod(shape)
    if numbers < SMALL_NUMBERS or not _reusing(like):
        return None
    try:
        return _waiting[numbers, like.dtype].pop().view(shape)
    except (KeyError, IndexError):  # none of this size, or another thread was faster
        return fresh(shape, like)


def give(x: Tensor) -> None:
    """Return a temporary that nobody refers to any more."""
    numbers = x.numel()
    if numbers < SMALL_NUMBERS or not _reusing(x):
        return
    kept = sum(len(tensors) * size for (size, _), tensors in _waiting.items())
    if kept + numbers <= KEPT_NUMBERS:
        _waiting.setdefault((numbers, x.dtype), []).append(x.detach().view(-1))


def clear() -> None:
    """Free what waits to be used again."""
    _waiting.clear()


def fresh(shape: tuple[int, ...], like: Tensor) -> Tensor | None:
    """An uninitialised tensor for a result."""
    if not _reusing(like):
        return None
    x = like.new_empty(shape)
    first = -(-x.data_ptr() // mmap.PAGESIZE) * mmap.PAGESIZE
    length = (x.data_ptr() + x.nbytes - first) // mmap.PAGESIZE * mmap.PAGESIZE
    if x.nbytes >= HUGE_BYTES and _advise() is not None:
        _advise()(ctypes.c_void_p(first), ctypes.c_size_t(length), MADV_HUGEPAGE)
    return x


@cache
def _advise():
    """madvise(2), a hint that Linux may follow; None on other systems."""
    return ctypes.CDLL(None).madvise if sys.platform == "linux" else None


def _reusing(x: Tensor) -> bool:
    recording = torch.is_grad_enabled() or torch.compiler.is_compiling()
    return x.is_cpu and not recording and not torch.is_inference_mode_enabled()
