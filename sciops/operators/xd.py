"""XD operations: a learnable family that contains convolutions, Fourier layers, pooling and more.

    XD(w)(x) = Re( K diag(L w + b) M x )                        one channel
    y_o = Σ_i C[o, i] XD(w[o, i])(x_i)                          many channels share K, L, M, b

K, L, M are K-matrices, Kronecker products over the axes; w are the weights, (K, L, M, b, C) the
*architecture*, learned too (Roberts et al. 2021, arXiv:2103.15798).  What K, L and M act on is the
`frame`: the points of one grid (`grid`, the paper), Fourier modes in physical coordinates (`band`,
any grid) or time steps (`causal`).
"""

import math
from collections.abc import Iterator

import torch
from torch import Tensor, nn

from . import special
from .band import Band
from .band_options import band_frame, check_coords
from .causal import causal_frame
from .grid import grid_frame
from .operator import AbstractOperator, Fixed, as_tuple, check_input, full_precision, whole_numbers

FRAMES = ("band", "grid", "causal")


class XD(AbstractOperator):
    """XD operation on `(batch, channel, *space)`, n-dimensional by the length of `kernel_size`.

    frame:    "band" works on any grid; "grid" on the one of `size`; "causal" on sequences, in
              blocks of `size`
    modes:    band: a number per axis, (32, 16) keeping f₀ = −16 … 15 and f₁ = 0 … 15; an int m is
              the isotropic band of frequencies below m, (2m, …, 2m, m)
    grid:     band: "periodic" (one period, end point left out) or "closed" ([0, 1], both ends)
    period:   band: P, 1 or, on closed grids, 1.25 (P > 1 is domain padding)
    spacing:  band: physical distance of the taps; a number, "learned", or an nn.Parameter to start
              learning from
    depth:    of the K-matrices, a number or a triple (K, L, M)
    weights:  "taps", real, (out, in/groups, *kernel_size), or "modes" (band), complex, as in a
              Fourier layer, (*modes, 2, groups, out/groups, in/groups), or "both" (band): `weight`
              is on the modes, and `taps`, (*kernel_size, groups, out/groups, in/groups), start at 0
    tilt:     of weights on modes: L starts as diag(Π (1 + tilt·|f|)) instead of the identity, and
              w so much smaller that the layer starts the same; high frequencies learn faster
    padding:  grid: as in torch, or a (left, right) pair per axis
    lags:     causal: how many steps back L may learn to look; None is as far as the taps reach

    >>> layer = XD(1, 4, (13, 13), modes=(32, 16))
    >>> layer(torch.zeros(2, 1, 64, 64)).shape, layer(torch.zeros(2, 1, 85, 97)).shape
    (torch.Size([2, 4, 64, 64]), torch.Size([2, 4, 85, 97]))
    """

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: int | tuple[int, ...],
        *,
        frame: str = "band",
        modes=None,
        grid: str | tuple[str, ...] = "periodic",
        period=None,
        spacing=None,
        size=None,
        depth: int | tuple[int, int, int] = 1,
        weights: str = "taps",
        tilt: float = 0.0,
        stride=1,
        dilation=1,
        groups: int = 1,
        padding="same",
        padding_mode: str = "circular",
        lags: int | None = None,
        arch_bias: bool = False,
        gates: bool = False,
        bias: bool = False,
    ):
        super().__init__()
        kernel = kernel_size if isinstance(kernel_size, tuple | list) else (kernel_size,)
        self.kernel_size = kernel = whole_numbers(kernel, len(kernel), "kernel_size")
        ndim = len(kernel)
        self.in_channels, self.out_channels, self.groups = in_channels, out_channels, groups
        self.stride, self.dilation = (
            whole_numbers(stride, ndim, "stride"),
            whole_numbers(dilation, ndim, "dilation"),
        )
        depth = as_tuple(depth, 3, "depth")
        _check_choices(frame, weights, padding_mode, depth)
        _check_channels(in_channels, out_channels, groups)
        if weights != "taps" and frame != "band":
            raise ValueError(
                f"weights={weights!r} needs frame='band', got frame={frame!r}; use weights='taps'"
            )
        if tilt and weights == "taps":
            raise ValueError(f"tilt={tilt!r} is of weights on modes; use it with weights='modes'")
        if frame == "band":
            place = (modes, grid, period, spacing, padding, padding_mode)
            steps = (self.stride, self.dilation)
            self.frame = band_frame(kernel, *place, *steps, depth, tilt, weights)
        elif frame == "grid":
            place = (size, padding, padding_mode)
            self.frame = grid_frame(kernel, *place, self.stride, self.dilation, depth)
            self.resolution = Fixed(tuple(axis.size for axis in self.frame.axes))
        else:
            self.frame = causal_frame(kernel, size, self.stride, self.dilation, depth, lags)
        pair = (out_channels, in_channels // groups)
        if weights == "taps":
            self.weight = nn.Parameter(torch.empty(*pair, *kernel))
        else:
            shape = (*self.frame.modes, 2, groups, out_channels // groups, in_channels // groups)
            self.weight = nn.Parameter(torch.empty(shape))
        self.taps = None
        if weights == "both":
            self.taps = nn.Parameter(torch.empty(*kernel, *self.weight.shape[-3:]))
        self.arch_bias = (
            nn.Parameter(torch.zeros(self.frame.arch_bias_shape)) if arch_bias else None
        )
        self.gates = nn.Parameter(self.frame.gates_at_one(*pair)) if gates else None
        self.bias = nn.Parameter(torch.empty(out_channels)) if bias else None
        self._cache: tuple | None = None
        self.reset_parameters()

    @classmethod
    def from_conv(cls, conv: nn.Module, size, *, kernel_size=None, **options) -> "XD":
        """The XD operation that starts as `conv` (Conv1d, Conv2d, Conv3d) on inputs of this `size`.

        In the grid frame (the default) it is the same function at every pixel; `frame="band"` gives
        its band-limited version.  A larger `kernel_size` adds taps that L leaves out until it
        learns to use them.
        """
        from .convert import xd_from_conv  # which needs XD

        return xd_from_conv(conv, size, kernel_size=kernel_size, **options)

    def reset_parameters(self) -> None:
        """Draw the weights anew, as torch draws those of a convolution; the architecture stays."""
        fan_in = self.in_channels // self.groups
        if self.weight.ndim == len(self.kernel_size) + 2:
            nn.init.kaiming_uniform_(self.weight, a=math.sqrt(5))
            fan_in *= math.prod(self.kernel_size)
        else:  # complex, variance 1 / fan_in: the energy of every mode is kept
            nn.init.normal_(self.weight, std=math.sqrt(0.5 / fan_in))
            with torch.no_grad():
                self.weight.div_(self.frame.start(self.weight))
        if self.taps is not None:
            nn.init.zeros_(self.taps)
        if self.bias is not None:
            nn.init.uniform_(self.bias, -1 / math.sqrt(fan_in), 1 / math.sqrt(fan_in))

    def arch_parameters(self) -> Iterator[nn.Parameter]:
        """K, L, M, then b, C and a learned spacing where asked for."""
        yield from self.frame.parameters()
        yield from (p for p in (self.arch_bias, self.gates) if p is not None)

    def set_maps(self, maps: "special.Maps") -> "XD":
        """Become the operation these maps describe (see `special`)."""
        return special.install(self, maps)

    def forward(self, x: Tensor, coords: tuple[Tensor, ...] | None = None) -> Tensor:
        """(batch, in_channels, *n) -> (batch, out_channels, *n_out).

        coords: the points of a tensor grid, one 1-dimensional tensor per axis, in physical units
        (band only).
        """
        self._check_input(x, coords)
        if len(x) == 0:
            return self(x.new_zeros(1, *x.shape[1:]), coords)[:0]
        with full_precision(x):
            y = self.frame.apply(x.to(self._compute_dtype()), self._prepared(), coords)
            if self.bias is not None:
                y = y + self.bias.view(-1, *[1] * len(self.kernel_size))
        return y.to(x.dtype)

    def train(self, mode: bool = True) -> "XD":
        self._cache = None
        return super().train(mode)

    def _prepared(self):
        """The folded matrices; in eval mode without gradients, kept until a parameter changes.

        A change that torch does not count, through `.data`, is seen after `train()` or `eval()`.
        """
        if self.training or torch.is_grad_enabled() or torch.compiler.is_compiling():
            return self._prepare()
        state = list(self.parameters())
        if any(p.is_inference() for p in state):  # such tensors do not count their changes
            return self._prepare()
        key = tuple((p.data_ptr(), p._version, p.dtype) for p in state)
        if self._cache is None or self._cache[0] != key:
            self._cache = (key, self.frame.finish(self._prepare()))
        return self._cache[1]

    def _prepare(self):
        dtype = self._compute_dtype()
        weight, arch_bias, gates, taps = (
            None if p is None else p.to(dtype)
            for p in (self.weight, self.arch_bias, self.gates, self.taps)
        )
        beside = {} if taps is None else {"taps": taps}
        return self.frame.prepare(weight, arch_bias, gates, self.groups, **beside)

    def _compute_dtype(self) -> torch.dtype:
        """That of the parameters, but not below single precision."""
        return torch.promote_types(next(self.parameters()).dtype, torch.float32)

    def _check_input(self, x: Tensor, coords) -> None:
        check_input(x, self.in_channels, len(self.kernel_size), self._compute_dtype())
        self.frame.check_size(tuple(x.shape[2:]))
        if coords is not None and not isinstance(self.frame, Band):
            raise ValueError("coords= have a meaning in frame='band' only; leave them out")
        check_coords(coords, len(self.kernel_size))

    def extra_repr(self) -> str:
        channels = f"{self.in_channels}, {self.out_channels}"
        return f"{channels}, kernel_size={self.kernel_size}, stride={self.stride}"


def _check_choices(frame: str, weights: str, padding_mode: str, depth: tuple) -> None:
    for name, value, known in (
        ("frame", frame, FRAMES),
        ("weights", weights, ("taps", "modes", "both")),
        ("padding_mode", padding_mode, ("circular", "zeros")),
    ):
        if value not in known:
            raise ValueError(
                f"{name}={value!r} is not known; choose one of {', '.join(map(repr, known))}"
            )
    least = 1 if frame == "grid" else 0
    if any(not isinstance(d, int) or d < least for d in depth):
        raise ValueError(f"depth={depth} must be whole numbers ≥ {least} in the {frame} frame")


def _check_channels(in_channels, out_channels, groups) -> None:
    counts = {"in_channels": in_channels, "out_channels": out_channels, "groups": groups}
    for name, value in counts.items():
        if not isinstance(value, int) or value < 1:
            raise ValueError(f"{name}={value!r} must be a whole number ≥ 1")
    if in_channels % groups or out_channels % groups:
        raise ValueError(
            f"groups={groups} must divide in_channels={in_channels} and out_channels={out_channels}"
        )
