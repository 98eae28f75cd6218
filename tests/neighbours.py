"""The slow way to look at the neighbours of every point, for oracles of convolution and pooling."""

import itertools

import torch
from torch import Tensor


def neighbours(
    x: Tensor, kernel: int, periodic: tuple[bool, ...], *, stride: int = 1, dilation: int = 1
) -> list[tuple[tuple[int, ...], Tensor, Tensor]]:
    """For each tap: its index, what lies there (zero beyond an end), and whether anything does."""
    found = []
    for tap in itertools.product(range(kernel), repeat=len(periodic)):
        value, inside = x, torch.ones(x.shape[2:], dtype=torch.bool)
        inside = inside[tuple(slice(None, None, stride) for _ in periodic)]
        for axis, t in enumerate(tap):
            n = x.shape[2 + axis]
            place = torch.arange(0, n, stride) + dilation * (t - kernel // 2)
            value = value.index_select(2 + axis, place % n)
            if not periodic[axis]:
                on_grid = (place >= 0) & (place < n)
                inside = inside & on_grid.view([-1 if a == axis else 1 for a in range(inside.ndim)])
        found.append((tap, value * inside, inside))
    return found


def slow_convolution(
    x: Tensor,
    weight: Tensor,
    periodic: tuple[bool, ...],
    *,
    stride: int = 1,
    dilation: int = 1,
    groups: int = 1,
) -> Tensor:
    """Tap by tap, group by group."""
    total = 0
    looks = neighbours(x, weight.shape[-1], periodic, stride=stride, dilation=dilation)
    for tap, value, _ in looks:
        w = weight[(..., *tap)]  # (out, in/groups)
        parts = zip(value.chunk(groups, 1), w.chunk(groups, 0), strict=True)
        total = total + torch.cat([torch.einsum("oi,bi...->bo...", b, a) for a, b in parts], 1)
    return total


def slow_batch_norm(x: Tensor, eps: float = 1e-5) -> Tensor:
    """In training mode, without scale and shift."""
    flat = x.movedim(1, 0).flatten(1)
    shape = (1, -1, *[1] * (x.ndim - 2))
    variance = flat.var(1, correction=0)
    return (x - flat.mean(1).view(shape)) / (variance.view(shape) + eps).sqrt()
