"""The band frame: XD on Fourier modes in physical coordinates, the same operation on every grid.

    y = Re( S K diag(L w + b) M A x ),        L = L̃ Φ,        Φ[f, j] = exp(−2πi f τⱼ / P)

A and S analyse and synthesise m modes (see `transforms`), K, L̃ and M are m × m K-matrices that
start at the identity, and tap j of the kernel sits at the physical distance τⱼ, a multiple of
`spacing`.  At its start the layer is a band-limited convolution or, with weights on the modes
(L = L̃), a Fourier layer.  With both, w = (v, t) and L = L̃ [1, Φ/√taps]: a Fourier layer whose
modes can also move together, as those of a small kernel do.  None of it knows the grid: what is
learned on one is meaningful on all (DESIGN: resolution "any").
"""

import math

import torch
from torch import Tensor, nn

from . import transforms
from .butterfly import constant, next_power_of_two
from .frame import AbstractFrame, kaleidoscopes
from .kaleidoscope import dense_matrices, identity_blocks
from .modes import rightward, rightward_block


class Band(AbstractFrame):
    """Frame of `len(modes)` axes.

    modes:   numbers kept per axis: −m/2 … m/2−1, on the last axis 0 … m−1
    kernel:  taps per axis, or None
    on_modes: whether there are weights on the modes, alone or beside taps
    spacing: distances of the taps, one per axis; None = `default_spacing`
    depth:   of K, L̃ and M; 0 leaves that map at the identity, without parameters
    tilt:    of weights on the modes: L = L̃ · diag(Π (1 + tilt · |f|)), a product over the axes
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
        dilation: tuple[int, ...] | None = None,
        depth: tuple[int, int, int] = (1, 1, 1),
        tilt: float = 0.0,
        on_modes: bool = False,
    ):
        super().__init__()
        self.modes, self.kernel, self.tilt = modes, kernel, tilt
        self.on_modes = on_modes or kernel is None
        self.period, self.grid = period, grid
        self.stride = stride or (1,) * len(modes)
        self.dilation = dilation or (1,) * len(modes)
        orders = [next_power_of_two(m) for m in modes]
        self.k, self.l, self.m = (
            kaleidoscopes([identity_blocks(n, d) for n in orders] if d else [], decreasing=False)
            for d in depth
        )
        self.log_spacing = None
        if kernel is not None:
            self._spacing = spacing or default_spacing(modes, kernel, period)
            if learn_spacing:
                self.log_spacing = nn.Parameter(torch.tensor(self._spacing).log())

    def one_sided(self, axis: int) -> bool:
        return axis == len(self.modes) - 1

    @property
    def spacing(self) -> tuple[float, ...]:
        """Physical distance of neighbouring taps, per axis."""
        return self._spacing if self.log_spacing is None else tuple(self.log_spacing.exp().tolist())

    def prepare(self, weight, arch_bias, gates, groups: int, taps: Tensor | None = None):
        """taps: those beside weights on the modes, (*kernel, groups, o, i)."""
        w = weight * self.start(weight) if self.tilt else weight
        if taps is not None:
            w = w + self.on_every_mode(taps)
        return super().prepare(w, arch_bias, gates, groups)

    def on_every_mode(self, taps: Tensor) -> Tensor:
        """Φ t / √taps, (*modes, 2, groups, o, i)."""
        axes = range(len(self.modes))
        blocks = [self._tap_block(axis, (), axis == 0, taps) for axis in axes]
        return rightward(taps / math.sqrt(math.prod(self.kernel)), blocks)

    def start(self, like: Tensor) -> Tensor:
        """The diagonal of L at the start, for weights on the modes."""
        return tilted(self.modes, self.tilt, like.dtype, like.device)

    def blocks(self, like: Tensor, *, real_taps: bool):
        axes = range(len(self.modes))
        dense = iter(dense_matrices([*self.k, *self.l, *self.m]))
        k, l_maps, m = (
            [self._cut(next(dense), a) for a in axes] if maps else None
            for maps in (self.k, self.l, self.m)
        )
        into, taps, out = [], [], []
        for a in axes:
            basis = (self.modes[a], self.one_sided(a), a == 0, like.dtype, like.device)
            into.append(_melt(m[a], fixed_basis(*basis)) if m else basis_block(*basis))
            out.append((_melt(k[a].mH, fixed_basis(*basis)) if k else basis_block(*basis)).mT)
            if not self.on_modes:
                taps.append(self._tap_block(a, l_maps, real_taps and a == 0, like))
            elif l_maps:
                taps.append(rightward_block(l_maps[a], real_input=False))
        return into, taps or None, out

    def _cut(self, dense: Tensor, axis: int) -> Tensor:
        """The modes kept, of a K-matrix whose order is a power of two."""
        m = self.modes[axis]
        return dense if len(dense) == m else dense[:m, :m]

    def _tap_block(self, axis: int, l_maps, real: bool, like: Tensor) -> Tensor:
        taps = (self.kernel[axis], self.dilation[axis])
        kind = (self.modes[axis], self.one_sided(axis), *taps, self.period[axis])
        if self.log_spacing is None:
            phases = transforms.fixed_tap_phases(
                *kind, self._spacing[axis], like.dtype.to_complex(), like.device
            )
        else:
            phases = transforms.tap_phases(*kind, self.log_spacing[axis].to(like).exp())
        return rightward_block(l_maps[axis] @ phases if l_maps else phases, real_input=real)

    def _bases(self, size, coords, like: Tensor):
        """Analysis and synthesis matrices per axis on this grid."""
        for axis, n in enumerate(size):
            kind = {
                "one_sided": self.one_sided(axis),
                "grid": self.grid[axis],
                "period": self.period[axis],
            }
            if coords is None:
                yield transforms.uniform_basis(
                    n, self.modes[axis], *kind.values(), like.dtype, like.device
                )
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
        bases = [
            b[::s] for (_, b), s in zip(self._bases(size, coords, c), self.stride, strict=True)
        ]
        return transforms.synthesise(c, bases)


@constant
def tilted(modes: tuple[int, ...], tilt: float, dtype, device) -> Tensor:
    """Π (1 + tilt · |f|) over the axes, (*modes, 1, 1, 1, 1).

    >>> tilted((4, 2), 0.5, torch.float32, None).squeeze().tolist()
    [[2.0, 3.0], [1.5, 2.25], [1.0, 1.5], [1.5, 2.25]]
    """
    scale = torch.ones((), dtype=torch.float64)
    for axis, m in enumerate(modes):
        f = transforms.frequencies(m, one_sided=axis == len(modes) - 1).abs()
        scale = scale[..., None] * (1 + tilt * f)
    return scale[..., None, None, None, None].to(device, dtype)


@constant
def basis_block(modes: int, one_sided: bool, real_input: bool, dtype, device) -> Tensor:
    """T, which makes modes of cosine and sine coefficients, in real form."""
    t = transforms.modes_from_basis(modes, one_sided=one_sided)
    return rightward_block(t, real_input=real_input).to(device, dtype)


@constant
def fixed_basis(modes: int, one_sided: bool, real_input: bool, dtype, device) -> Tensor:
    """X with `[Re A, Im A] X = real form of A T`, the entries of A interleaved; see `_melt`."""
    t = transforms.modes_from_basis(modes, one_sided=one_sided)
    both = torch.stack([t, 1j * t], 1).flatten(0, 1)
    return rightward_block(both, real_input=real_input).view(2 * modes, -1).to(device, dtype)


def _melt(a: Tensor, fixed: Tensor) -> Tensor:
    """The real form of A T, (2·modes, columns), by one real product."""
    pairs = torch.view_as_real(a.resolve_conj()).flatten(1)
    return (pairs @ fixed).view(2 * len(a), -1)


def default_spacing(modes, kernel, period) -> tuple[float, ...]:
    """As many taps to a period as there are frequencies of either sign, or taps if those are more.

    Twice the critical distance of the band: on Burgers the longer reach was worth more.
    """
    return tuple(
        p / max(m if a == len(modes) - 1 else m // 2, k)
        for a, (m, k, p) in enumerate(zip(modes, kernel, period, strict=True))
    )
