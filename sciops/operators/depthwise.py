"""Convolution of each channel with a kernel of its own, directly or by Fourier transforms.

    y[p] = Σⱼ k[j] x[p + j],        j = −r … r on every axis, 2r + 1 taps

x goes on periodically on periodic axes and with zeros beyond others.  Both ways give the same; the
one with fewer operations is taken.  A direct one is counted `DIRECT` times: in training, where the
gradient of the kernel costs more than everything else, it took three times as long as one of a
Fourier transform (float32, one core, 32² to 64² points).
"""

import math

import torch
import torch.nn.functional as F
from torch import Tensor

from .butterfly import constant
from .convolution import CONVOLUTIONS

DIRECT = 3.0
SMALL_PRIMES = (2, 3, 5, 7)


def depthwise(x: Tensor, kernel: Tensor, periodic: tuple[bool, ...]) -> Tensor:
    """(batch, channel, *n) with a kernel (channel, *taps), an odd number each."""
    if kernel.ndim != x.ndim - 1 or len(kernel) != x.shape[1] or not _odd(kernel.shape[1:]):
        raise ValueError(
            f"expected a kernel of {x.shape[1]} channels and {x.ndim - 2} odd numbers of taps for "
            f"x {tuple(x.shape)}, got {tuple(kernel.shape)}"
        )
    size, taps = tuple(x.shape[2:]), tuple(kernel.shape[1:])
    way = direct if direct_is_cheaper(len(x), size, taps, periodic) else by_fft
    return way(x, kernel, periodic)


def ends_halved(x: Tensor, periodic: tuple[bool, ...]) -> Tensor:
    """x with the weights of the trapezoidal rule: points at the ends of an axis count half.

    A sum over it is then an integral between the ends, to the second order of the spacing.

    >>> ends_halved(torch.ones(1, 1, 2, 3), (True, False))
    tensor([[[[0.5000, 1.0000, 0.5000],
              [0.5000, 1.0000, 0.5000]]]])
    """
    if all(periodic):
        return x
    return x * _trapezoids(tuple(x.shape[2:]), periodic, x.dtype, x.device)


@constant
def _trapezoids(size: tuple[int, ...], periodic: tuple[bool, ...], dtype, device) -> Tensor:
    weights = torch.ones(size, dtype=dtype, device=device)
    for axis, circular in enumerate(periodic):
        if not circular:
            weights.select(axis, 0).mul_(0.5)
            weights.select(axis, -1).mul_(0.5)
    return weights


def direct(x: Tensor, kernel: Tensor, periodic: tuple[bool, ...]) -> Tensor:
    """By torch's convolution."""
    padding = []
    for axis, (taps, circular) in enumerate(zip(kernel.shape[1:], periodic, strict=True)):
        reach = taps // 2
        padding.append(0 if circular else reach)
        if circular and reach:
            n = x.shape[2 + axis]
            around = torch.arange(-reach, n + reach, device=x.device) % n
            x = x.index_select(2 + axis, around)
    convolve = CONVOLUTIONS[len(periodic) - 1]
    return convolve(x, kernel[:, None], padding=tuple(padding), groups=len(kernel))


def by_fft(x: Tensor, kernel: Tensor, periodic: tuple[bool, ...]) -> Tensor:
    """On circles that are long enough."""
    size, axes = tuple(x.shape[2:]), tuple(range(-len(periodic), 0))
    circle = circles(size, tuple(kernel.shape[1:]), periodic)
    for axis, n in zip(axes, circle, strict=True):
        kernel = around(kernel, n, axis)
    spectrum = torch.fft.rfftn(x, circle, axes) * torch.fft.rfftn(kernel, circle, axes).conj()
    y = torch.fft.irfftn(spectrum, circle, axes)
    return y[(..., *(slice(n) for n in size))]


def circles(
    size: tuple[int, ...], taps: tuple[int, ...], periodic: tuple[bool, ...]
) -> tuple[int, ...]:
    """Points of each axis for a transform: the period, or room for half a kernel behind the end."""
    axes = zip(size, taps, periodic, strict=True)
    return tuple(n if circular else fast_length(n + k // 2) for n, k, circular in axes)


def fast_length(n: int) -> int:
    """The next number without large prime factors.

    >>> [fast_length(n) for n in (1, 11, 67, 128)]
    [1, 12, 70, 128]
    """
    while True:
        rest = n
        for prime in SMALL_PRIMES:
            while rest % prime == 0:
                rest //= prime
        if rest == 1:
            return n
        n += 1


def fft_operations(points: int) -> float:
    """Of a real transform: 2.5 n log₂ n."""
    return 2.5 * points * math.log2(max(points, 2))


def direct_is_cheaper(
    batch: int, size: tuple[int, ...], taps: tuple[int, ...], periodic: tuple[bool, ...]
) -> bool:
    """By the operations of one channel."""
    points = math.prod(circles(size, taps, periodic))
    by_transforms = (2 * batch + 1) * fft_operations(points) + 3 * batch * points
    return DIRECT * 2 * batch * math.prod(size) * math.prod(taps) <= by_transforms


def around(kernel: Tensor, n: int, axis: int) -> Tensor:
    """The kernel on a circle of n points: taps at j mod n, those at one place added up."""
    taps = kernel.shape[axis]
    if taps <= n:
        pad = [0, n - taps]
        kernel = F.pad(kernel.movedim(axis, -1), pad).roll(-(taps // 2), -1)
        return kernel.movedim(-1, axis)
    places = (torch.arange(taps, device=kernel.device) - taps // 2) % n
    shape = list(kernel.shape)
    shape[axis] = n
    return kernel.new_zeros(shape).index_add(axis, places, kernel)


def _odd(taps) -> bool:
    return all(k % 2 for k in taps)
