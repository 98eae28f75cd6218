"""Where input, taps and output of a convolution sit on a circle of 2ᵐ points.

A convolution with `left`, `right` padding, dilation d and stride s computes

    y[t] = Σⱼ w[j] u(s·t − left + d·j),

u being the input continued by zeros or periodically.  On a circle of n points input j is placed at
j, tap j at `left − d·j`, output t is read at `s·t` (all mod n), and y is then a circular
convolution, exact at every output if n is large enough: the zeros behind the input serve both
borders; a periodic input is wrapped explicitly unless its length is a power of two, when the circle
is the axis itself.
"""

from dataclasses import dataclass

import torch
from torch import Tensor

from .butterfly import next_power_of_two


@dataclass(frozen=True)
class GridAxis:
    """One axis of a convolution on a grid of `size` points."""

    size: int
    kernel: int
    stride: int = 1
    dilation: int = 1
    left: int = 0
    right: int = 0
    circular: bool = False

    def __post_init__(self):
        if self.reach > self.size:
            raise ValueError(
                f"a kernel of {self.kernel} taps with dilation {self.dilation} spans "
                f"{self.reach} points, larger than the grid of {self.size}; "
                "use a smaller kernel_size or a larger size"
            )
        if self.n_out < 1:
            raise ValueError(
                f"no output is left: {self.size} points with padding ({self.left}, {self.right}) "
                f"are fewer than the {self.reach} points of the kernel; increase the padding"
            )
        if self.circular and max(self.left, self.right) > self.size:
            raise ValueError(
                f"circular padding ({self.left}, {self.right}) wraps a grid of {self.size} points "
                "more than once; use less padding or padding_mode='zeros'"
            )

    @property
    def reach(self) -> int:
        return self.dilation * (self.kernel - 1) + 1

    @property
    def n_out(self) -> int:
        return (self.size + self.left + self.right - self.reach) // self.stride + 1

    @property
    def wraps(self) -> bool:
        """Whether a periodic input must be wrapped by hand."""
        return self.circular and self.size != next_power_of_two(self.size)

    @property
    def n(self) -> int:
        """Points on the circle."""
        last_output = self.stride * (self.n_out - 1)
        if not self.circular:
            return next_power_of_two(
                max(self.size + max(self.left, self.right, 0), last_output + 1)
            )
        if self.wraps:
            padded = self.size + max(self.left, 0) + max(self.right, 0)
            return next_power_of_two(max(padded, last_output + 1))
        return self.size

    def taps(self) -> Tensor:
        """Positions of the taps on the circle, (kernel,)."""
        return (self.left - self.dilation * torch.arange(self.kernel)) % self.n

    def inputs(self) -> tuple[Tensor, Tensor]:
        """Positions on the circle and the input points they hold, (≥ size,) each."""
        first, last = (
            (-max(self.left, 0), self.size + max(self.right, 0)) if self.wraps else (0, self.size)
        )
        positions = torch.arange(first, last)
        return positions % self.n, positions % self.size

    def outputs(self) -> Tensor:
        """Positions where the outputs are read, (n_out,)."""
        return (self.stride * torch.arange(self.n_out)) % self.n


def padding_pairs(padding, kernel: tuple[int, ...], dilation: tuple[int, ...]):
    """Padding as torch writes it ("same", "valid", numbers), or (left, right) pairs, as pairs.

    >>> padding_pairs("same", (3, 4), (1, 2)), padding_pairs(1, (3,), (1,))
    (((1, 1), (3, 3)), ((1, 1),))
    """
    if padding == "valid":
        return tuple((0, 0) for _ in kernel)
    if padding == "same":
        spans = [d * (k - 1) for k, d in zip(kernel, dilation, strict=True)]
        return tuple((span // 2, span - span // 2) for span in spans)
    if isinstance(padding, str):
        raise ValueError(f"padding={padding!r} is not known; use 'same', 'valid', numbers or pairs")
    per_axis = padding if isinstance(padding, tuple | list) else (padding,) * len(kernel)
    if len(per_axis) != len(kernel):
        raise ValueError(f"padding={padding} must have one entry per axis, expected {len(kernel)}")
    pairs = tuple(tuple(p) if isinstance(p, tuple | list) else (p, p) for p in per_axis)
    if any(len(p) != 2 or not all(isinstance(n, int) for n in p) for p in pairs):
        raise ValueError(f"padding={padding} must be whole numbers or (left, right) pairs of them")
    return pairs
