"""Memory for large tensors on the CPU that does not cost more than the arithmetic done in it.

torch returns a large CPU tensor to the operating system as soon as it is freed, so each new one
costs a page fault for every 4 kB.  Memory that is `lend` here comes back by itself when the last
tensor that shares it is gone, and is lent again with its pages; the pages are huge ones (2 MB)
where Linux grants them.

For `out=`, inside an autograd function and outside of a graph; elsewhere there is none and torch
allocates as usual.  Accelerators have caching allocators of their own.
"""

import ctypes
import math
import mmap
import sys
import weakref
from functools import cache

import torch
from torch import Tensor

KEPT_BYTES = 2**29  # before new memory is asked for, no more than this waits unused
SMALL_NUMBERS = 2**15  # smaller tensors are left to torch
HUGE_BYTES = 2**20  # from here on huge pages are asked for
MADV_HUGEPAGE = 14

_waiting: dict[tuple[int, torch.dtype], list[Tensor]] = {}
_lent: dict[int, weakref.ref] = {}


def lend(shape: tuple[int, ...], like: Tensor) -> Tensor | None:
    """An uninitialised tensor of the dtype of `like`."""
    numbers = math.prod(shape)
    if numbers < SMALL_NUMBERS or not _reusing(like):
        return None
    kind = (numbers, like.dtype)
    try:
        memory = _waiting[kind].pop()
    except (KeyError, IndexError):  # none of this size, or another thread was faster
        memory = _new(numbers, like)
    array = memory.numpy()  # what the lent tensor and all its views hold on to

    def come_back(_) -> None:
        del _lent[id(memory)]
        _waiting.setdefault(kind, []).append(memory)

    _lent[id(memory)] = weakref.ref(array, come_back)
    return torch.from_numpy(array).view(shape)


def clear() -> None:
    """Free what waits to be lent again."""
    _waiting.clear()


def _make_room(needed: int) -> None:
    """Keep less than KEPT_BYTES waiting: of the sizes seen first, nothing is kept."""
    waiting = sum(x.nbytes for group in list(_waiting.values()) for x in group)
    for kind in list(_waiting):
        if waiting + needed <= KEPT_BYTES:
            return
        waiting -= sum(x.nbytes for x in _waiting.pop(kind, []))


def _new(numbers: int, like: Tensor) -> Tensor:
    _make_room(numbers * like.element_size())
    with torch.inference_mode(False):
        x = torch.empty(numbers, dtype=like.dtype)
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
    return x.device.type == "cpu" and not recording
