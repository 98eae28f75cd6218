"""Reusable memory for large temporaries on the CPU.

torch returns a large CPU tensor to the operating system as soon as it is freed, so a fresh one
costs a page fault for every 4 kB, which is often more than the arithmetic done on it.  A temporary
that is `take`n here and `give`n back keeps its pages for the next step; one that is not given back
(a graph that is never differentiated) is simply freed.  Accelerators have caching allocators of
their own.

Only for results that nothing else will refer to: inside an autograd function, outside of a graph.
"""

import torch
from torch import Tensor

KEPT_NUMBERS = 2**26  # at most 256 MB in float32 wait to be used again

_waiting: dict[tuple, list[Tensor]] = {}


def take(shape: tuple[int, ...], like: Tensor) -> Tensor | None:
    """An uninitialised tensor for `out=`; None (torch allocates) where memory is not reused."""
    if not _reusing(like):
        return None
    try:
        return _waiting[torch.Size(shape).numel(), like.dtype].pop().view(shape)
    except (KeyError, IndexError):  # none of this size, or another thread was faster
        return like.new_empty(shape)


def give(x: Tensor) -> None:
    """Return a result written to a tensor that was taken."""
    kept = sum(len(tensors) * size for (size, _), tensors in _waiting.items())
    if _reusing(x) and kept + x.numel() <= KEPT_NUMBERS:
        _waiting.setdefault((x.numel(), x.dtype), []).append(x.detach().view(-1))


def clear() -> None:
    """Free what waits to be used again."""
    _waiting.clear()


def _reusing(x: Tensor) -> bool:
    recording = torch.is_grad_enabled() or torch.compiler.is_compiling()
    return x.device.type == "cpu" and not recording and not torch.is_inference_mode_enabled()
