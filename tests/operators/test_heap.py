"""While the heap is kept, large blocks come from it; afterwards from the system again."""

import ctypes
import mmap
import sys
from pathlib import Path

import pytest
import torch

from sciops.operators import heap, scratch
from sciops.operators.heap import kept_heap

LARGE = 16 * 2**20  # numbers; more than any threshold of glibc
LARGEST = 16 * LARGE  # more than the heap can have free, whatever ran before


class Use(ctypes.Structure):
    """mallinfo2(3): `hblks` is the number of blocks outside the heap."""

    names = "arena ordblks smblks hblks hblkhd usmblks fsmblks uordblks fordblks keepcost"
    _fields_ = [(name, ctypes.c_size_t) for name in names.split()]


def blocks_outside() -> int:
    libc = ctypes.CDLL(None)
    libc.mallinfo2.restype = Use
    return libc.mallinfo2().hblks


def goes_outside() -> bool:
    """Whether a large tensor is a block of its own."""
    before = blocks_outside()
    tensor = torch.empty(LARGEST)
    after = blocks_outside()
    del tensor
    return after > before


needs_glibc = pytest.mark.skipif(
    sys.platform != "linux" or not hasattr(ctypes.CDLL(None), "mallinfo2"), reason="glibc only"
)


@needs_glibc
def test_large_blocks_come_from_the_heap_and_then_no_longer():
    assert goes_outside()
    with kept_heap() as kept:
        assert kept
        assert not goes_outside()
    assert goes_outside()


@needs_glibc
def test_a_failure_ends_it_too():
    with pytest.raises(RuntimeError), kept_heap():
        raise RuntimeError
    assert goes_outside()


@needs_glibc
def test_what_was_kept_is_given_back():
    def resident_bytes() -> int:
        return int(Path("/proc/self/statm").read_text().split()[1]) * mmap.PAGESIZE

    before = resident_bytes()
    with kept_heap():
        torch.ones(LARGE)
        inside = resident_bytes()
    assert inside - before > 3 * LARGE  # of 4 bytes each
    assert resident_bytes() - before < LARGE


def test_other_systems_go_on_without(monkeypatch):
    monkeypatch.setattr(heap.sys, "platform", "darwin")
    with kept_heap() as kept:
        assert not kept


def test_memory_that_waits_to_be_lent_is_given_back_too():
    with kept_heap():
        with torch.no_grad():
            for numbers in (2**16, 2**17, 2**18):  # as of sequences of several lengths
                scratch.lend((numbers,), torch.zeros(1))
        assert len(scratch._waiting) >= 3
    assert not scratch._waiting
