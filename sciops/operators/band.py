"""The band frame: XD on Fourier modes in physical coordinates, the same operation on every grid.

    y = Re( S K diag(L w + b) M A x ),        L = L̃ · exp(−2πi f τⱼ / P)

A and S analyse and synthesise m modes (see `transforms`), K, L̃ and M are m × m K-matrices that start
at the identity, and tap j of the kernel sits at the physical distance τⱼ, a multiple of `spacing`.  At
its start the layer is a band-limited convolution or, with weights on the modes, a Fourier layer.
None of it knows the grid: what is learned on one is meaningful on all (DESIGN: resolution "any").
"""

import math

import torch
from torch import Tensor, nn

from . import transforms
from .butterfly import next_power_of_two
from .frame import AbstractFrame, kaleidoscopes
from .kaleidoscope import dense_matrices, identity_blocks


class Band(AbstractFrame):
    """Frame of `len(modes)` axes; `kernel=None` puts the weights on the modes.

    modes:   numbers kept per axis: −m/2 … m/2−1, on the last axis 0 … m−1
    spacing: distances of the taps, one per axis; None = `default_spacing`
    depth:   of K, L̃ and M; 0 leaves that map at the identity, without parameters
    """

    def __init__(
        self,
        modes: tuple[int, ...],
        kernel: tuple[int, ...] | None,
        *,
        period: tuple[float, ...],
        grid: tuple[str, ...],
        spacing: tuple[float, ...] | None = None,
        learn_spacing: bool = False,
        stride: tuple[int, ...] | None = None,
        depth: tuple[int, int, int] = (1, 1, 1),
    ):
        super().__init__()
        self.modes, self.kernel = modes, kernel
        self.period, self.grid = period, grid
        self.stride = stride or (1,) * len(modes)
        orders = [next_power_of_two(m) for m in modes]
        self.k, self.l, self.m = (
            kaleidoscopes([identity_blocks(n, d) for n in orders] if d else [], decreasing=False)
            for d in depth
        )
        if kernel is not None:
            spacing = spacing or default_spacing(modes, kernel, period)
            logarithm = torch.tensor([math.log(h) for h in spacing], dtype=torch.float64)
            if learn_spacing:
                self.log_spacing = nn.Parameter(logarithm.float())
            else:
                self.register_buffer("log_spacing", logarithm, persistent=False)

    def one_sided(self, axis: int) -> bool:
        return axis == len(self.modes) - 1

    @property
    def spacing(self) -> tuple[float, ...]:
        """Physical distance of neighbouring taps, per axis."""
        return tuple(self.log_spacing.detach().exp().tolist())

    def maps(self, like: Tensor):
        dtype, device = like.dtype.to_complex(), like.device
        axes = range(len(self.modes))
        dense = dense_matrices([*self.k, *self.l, *self.m])
        dense = [a[: self.modes[i % len(axes)], : self.modes[i % len(axes)]] for i, a in enumerate(dense)]
        k, dense = dense[: len(self.k)], dense[len(self.k) :]
        l_maps, m = dense[: len(self.l)], dense[len(self.l) :]
        basis = [_basis_map(self.modes[a], self.one_sided(a), dtype, device) for a in axes]
        m = [m[a] @ basis[a] for a in axes] if m else basis
        k = [basis[a].mH @ k[a] for a in axes] if k else [t.mH for t in basis]
        if self.kernel is not None:
            phases = [self._tap_phases(a, dtype) for a in axes]
            l_maps = [l_maps[a] @ phases[a] for a in axes] if l_maps else phases
        return m, l_maps or None, k

    def _tap_phases(self, axis: int, dtype) -> Tensor:
        """exp(−2πi f τⱼ / P), (modes, taps); tap j lies `left − j` spacings away, as in torch's conv."""
        f = transforms.frequencies(self.modes[axis], one_sided=self.one_sided(axis))
        k = self.kernel[axis]
        steps = (k - 1) // 2 - torch.arange(k)
        turns = torch.outer(f, steps).to(self.log_spacing) / self.period[axis]
        angle = turns * (-2 * math.pi * self.log_spacing[axis].exp())
        return torch.complex(angle.cos(), angle.sin()).to(dtype)

    def _bases(self, size, coords, like: Tensor):
        """Analysis and synthesis matrices per axis on this grid."""
        for axis, n in enumerate(size):
            kind = dict(one_sided=self.one_sided(axis), grid=self.grid[axis], period=self.period[axis])
            if coords is None:
                cached = transforms.uniform_basis
                make = cached.__wrapped__ if torch.compiler.is_compiling() else cached
                yield make(n, self.modes[axis], *kind.values(), like.dtype, like.device)
            else:
                points = transforms.check_points(
                    coords[axis], n, axis, grid=self.grid[axis], period=self.period[axis]
                )
                r, b = transforms.basis(points, self.modes[axis], **kind)
                yield r.to(like), b.to(like)

    def analyse(self, x: Tensor, coords) -> Tensor:
        bases = [r for r, _ in self._bases(x.shape[2:], coords, x)]
        return transforms.analyse(x, bases)

    def synthesise(self, c: Tensor, size: tuple[int, ...], coords) -> Tensor:
        bases = [b[::s] for (_, b), s in zip(self._bases(size, coords, c), self.stride, strict=True)]
        return transforms.synthesise(c, bases)


def _basis_map(modes: int, one_sided: bool, dtype, device) -> Tensor:
    return transforms.modes_from_basis(modes, one_sided=one_sided).to(device, dtype)


def default_spacing(modes, kernel, period) -> tuple[float, ...]:
    """As many taps to a period as there are frequencies of either sign, or taps if those are more.

    Twice the critical distance of the band: on Burgers the longer reach was worth more.
    """
    return tuple(
        p / max(m if a == len(modes) - 1 else m // 2, k)
        for a, (m, k, p) in enumerate(zip(modes, kernel, period, strict=True))
    )
