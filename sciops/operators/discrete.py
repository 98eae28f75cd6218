"""The eight operations of DARTS in one layer, mixed by a softmax over learnable logits a.

    y = Σₖ pₖ opₖ(x) + bias,        p = softmax(a)

    conv3, conv5, dilated3, dilated5    convolutions with one and the same w of 5 taps an axis;
                                        3 taps are its centre, dilated ones lie 2 points apart
    max3, mean3                         pooling over 3 points an axis
    skip, zero                          x itself, and nothing

All operations look at the same points: output t is centred where the layer that was replaced has
it, so outputs are cropped and padded about the centre.  Beyond the grid are zeros (also for the
mean) or its other side.  Where channels differ in number, max3, mean3 and skip crop or pad them
about the centre (Roberts et al. 2021, arXiv:2103.15798, whose code this follows, except that the
operations of a pool have its stride).

All but max3 are linear, so together they are one convolution with a kernel of 9 points an axis.
"""

import math
from collections.abc import Iterator

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from .operator import AbstractOperator, check_input

OPERATIONS = ("conv3", "conv5", "dilated3", "dilated5", "max3", "mean3", "skip", "zero")
UNIFORM = 1 - 1 / len(OPERATIONS)  # the `perturb` that gives all operations the same share
TAPS = 5
SPAN = 8  # of dilated5: between its first and last point
CONV = (F.conv1d, F.conv2d, F.conv3d)
MAX_POOL = (F.max_pool1d, F.max_pool2d, F.max_pool3d)
NONE = -1e4  # a logit whose share is 0


class Discrete(AbstractOperator):
    """Mixture of the eight operations on `(batch, channel, *space)`.

    margins:  per axis, how many points the first output's centre lies before the first input, and
              the last one's after the last input; (0, 0) keeps the grid
    circular: per axis, whether it is periodic
    perturb:  share of all operations but `start`, together; UNIFORM gives each the same

    >>> layer = Discrete(3, 8, margins=((0, 0), (0, 0)), start="conv5", perturb=0.1)
    >>> [round(p, 4) for p in layer.shares().tolist()]
    [0.0143, 0.9, 0.0143, 0.0143, 0.0143, 0.0143, 0.0143, 0.0143]
    >>> layer(torch.zeros(2, 3, 9, 12)).shape
    torch.Size([2, 8, 9, 12])
    """

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        *,
        margins: tuple[tuple[int, int], ...],
        stride: tuple[int, ...] | None = None,
        circular: tuple[bool, ...] | None = None,
        groups: int = 1,
        bias: bool = False,
        start: str = "conv5",
        perturb: float = UNIFORM,
    ):
        super().__init__()
        self.in_channels, self.out_channels, self.groups = in_channels, out_channels, groups
        self.margins, self.axes = tuple(margins), len(margins)
        self.stride = (1,) * self.axes if stride is None else stride
        self.circular = (False,) * self.axes if circular is None else circular
        if groups > 1 and in_channels != out_channels:
            raise ValueError(
                f"groups={groups} with {in_channels} channels in and {out_channels} out: pooling "
                "and skipping would leave their group; use as many channels out as in"
            )
        shape = (out_channels, in_channels // groups, *[TAPS] * self.axes)
        self.weight = nn.Parameter(torch.empty(shape))
        self.bias = nn.Parameter(torch.zeros(out_channels)) if bias else None
        self.logits = nn.Parameter(torch.log(start_shares(start, perturb)))
        same = channel_identity(out_channels, in_channels, groups)
        self.register_buffer("same", same, persistent=False)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw the weights anew; the architecture stays."""
        nn.init.kaiming_normal_(self.weight)
        if self.bias is not None:
            nn.init.zeros_(self.bias)

    def arch_parameters(self) -> Iterator[nn.Parameter]:
        yield self.logits

    def shares(self) -> Tensor:  # (8,)
        """p, in the order of OPERATIONS."""
        return torch.softmax(self.logits, 0)

    def choose(self, operation: str) -> "Discrete":
        """Become one of the operations."""
        values = torch.full_like(self.logits, NONE)
        values[_number(operation)] = 0.0
        with torch.no_grad():
            self.logits.copy_(values)
        return self

    def forward(self, x: Tensor, coords: tuple[Tensor, ...] | None = None) -> Tensor:
        """(batch, in_channels, *n) -> (batch, out_channels, *n_out); coordinates are ignored."""
        check_input(x, self.in_channels, self.axes, self.weight.dtype)
        p = self.shares()
        linear = self._padded(x, SPAN // 2, 0.0)
        y = CONV[self.axes - 1](linear, self.kernel(p), self.bias, self.stride, groups=self.groups)
        return y + p[OPERATIONS.index("max3")] * self._max(x)

    def kernel(self, p: Tensor | None = None) -> Tensor:
        """The kernel of all linear operations together, (out, in/groups, 9, …)."""
        p = self.shares() if p is None else p
        share = dict(zip(OPERATIONS, p, strict=True))
        small = self.weight[(..., *[slice(1, 4)] * self.axes)]
        same = self.same.view(*self.same.shape, *[1] * self.axes)
        mean = same.expand(*self.same.shape, *[3] * self.axes) / 3**self.axes
        return (
            share["conv3"] * _widened(small, 1)
            + share["conv5"] * _widened(self.weight, 1)
            + share["dilated3"] * _widened(small, 2)
            + share["dilated5"] * _widened(self.weight, 2)
            + share["mean3"] * _widened(mean, 1)
            + share["skip"] * _widened(same, 1)
        )

    def _max(self, x: Tensor) -> Tensor:
        """The largest of 3 points an axis; nothing where all of them are beyond the grid."""
        padded = self._padded(x, 1, -math.inf)
        largest = MAX_POOL[self.axes - 1](padded, 3, self.stride)
        largest = largest.masked_fill(largest == -math.inf, 0.0)
        front, back = _centred(self.out_channels, self.in_channels)
        return F.pad(largest, (*[0, 0] * self.axes, front, back))

    def _padded(self, x: Tensor, reach: int, beyond: float) -> Tensor:
        pads = [(left + reach, right + reach) for left, right in self.margins]
        for axis, (left, right) in enumerate(pads):
            if self.circular[axis]:
                n = x.shape[axis + 2]
                x = x.index_select(axis + 2, torch.arange(-left, n + right, device=x.device) % n)
                pads[axis] = (0, 0)
        return F.pad(x, [p for pair in reversed(pads) for p in pair], value=beyond)

    def as_matrix(self, size: tuple[int, ...] | None = None) -> Tensor:
        """Only a layer that takes no maxima is linear."""
        if self.shares()[OPERATIONS.index("max3")] > 0:
            raise ValueError("a mixture with max3 is no linear map and has no matrix")
        return super().as_matrix(size)

    def extra_repr(self) -> str:
        best = OPERATIONS[int(self.logits.argmax())]
        return f"{self.in_channels}, {self.out_channels}, stride={self.stride}, mostly {best}"


def start_shares(start: str, perturb: float) -> Tensor:
    """1 − perturb for one operation, the rest in equal parts for the others."""
    if not 0 < perturb < 1:
        raise ValueError(
            f"perturb={perturb!r} must lie between 0 and 1, both left out; {UNIFORM} is uniform"
        )
    shares = torch.full((len(OPERATIONS),), perturb / (len(OPERATIONS) - 1))
    shares[_number(start)] = 1 - perturb
    return shares


def channel_identity(out_channels: int, in_channels: int, groups: int = 1) -> Tensor:
    """(out, in/groups), 1 where an output channel is an input channel, about the centre.

    >>> channel_identity(3, 1).tolist(), channel_identity(1, 3).tolist()
    ([[0.0], [1.0], [0.0]], [[0.0, 1.0, 0.0]])
    """
    if groups > 1:
        return torch.eye(in_channels // groups).repeat(groups, 1)
    return F.pad(torch.eye(in_channels), (0, 0, *_centred(out_channels, in_channels)))


def _centred(wanted: int, given: int) -> tuple[int, int]:
    """How many to add before and after; negative numbers are taken away."""
    difference = abs(wanted - given)
    front, back = difference // 2, difference - difference // 2
    return (front, back) if wanted >= given else (-front, -back)


def _widened(kernel: Tensor, dilation: int) -> Tensor:
    """A kernel (out, in, k, …) with its taps this far apart, in the middle of 9 points an axis."""
    reach, axes = dilation * (kernel.shape[-1] - 1), kernel.ndim - 2
    first = (SPAN - reach) // 2
    wide = kernel.new_zeros(*kernel.shape[:2], *[SPAN + 1] * axes)
    wide[(..., *[slice(first, first + reach + 1, dilation)] * axes)] = kernel
    return wide


def _number(operation: str) -> int:
    if operation not in OPERATIONS:
        raise ValueError(f"{operation!r} is not one of {', '.join(OPERATIONS)}")
    return OPERATIONS.index(operation)
