"""The grid frame: XD as published (Roberts et al. 2021, arXiv:2103.15798), on one fixed grid.

    y = Re( K diag(L w + b) M x ),        at the start  K = F⁻¹, L = F, M = F

Each axis lies on a circle of n = 2ᵐ points (`axes`), where K, L and M are K-matrices of order n.  F
is kept without its bit reversal: M and L leave the spectrum bit-reversed, K expects it so, and
products mode by mode do not care.  So depth 1 suffices and the layer starts *equal to the
convolution it replaces, at every pixel*.

Only the columns of L that hold taps are used, the columns of M that hold inputs, and the rows of K
that are read; what depends on the axis is folded into the matrices, never into the data.  Small
kernels in two dimensions take a shorter way to the same numbers (`tap_products`).
"""

import torch
from torch import Tensor

from . import special
from .axes import GridAxis, padding_pairs
from .frame import AbstractFrame, Prepared, kaleidoscopes
from .kaleidoscope import Kaleidoscope, dense_is_cheaper, dense_matrices
from .modes import leftward_block, rightward_block
from .operator import whole_numbers
from .tap_products import TapProducts, multiply, tap_maps, tap_products, taps_are_cheaper

COLUMNS = 4096  # batch × channels × points of other axes that an axis is typically applied to


class Grid(AbstractFrame):
    """Frame of the given axes; `starts` are the blocks of K, L and M, one per axis each."""

    def __init__(self, axes: tuple[GridAxis, ...], starts):
        super().__init__()
        self.axes = axes
        self.modes = tuple(axis.n for axis in axes)
        k, l_blocks, m = starts
        # The Fourier block is K's first (increasing strides) and the last of L and M (decreasing).
        self.k = kaleidoscopes(k, decreasing=False)
        self.l = kaleidoscopes(l_blocks, decreasing=bool(len(l_blocks[0]) % 2))
        self.m = kaleidoscopes(m, decreasing=bool(len(m[0]) % 2))

    def blocks(self, like: Tensor, *, real_taps: bool):
        short = [a for a, k in enumerate(self.m) if not is_long(k)]
        dense = dense_matrices([maps[a] for a in short for maps in (self.k, self.l, self.m)])
        k, l_maps, m = (dict(zip(short, dense[i::3], strict=False)) for i in range(3))
        into, taps, out = [], [], []
        for a, axis in enumerate(self.axes):
            first = a == 0
            if a in m:
                into.append(rightward_block(_gather_inputs(m[a], axis), real_input=first))
                columns = l_maps[a][:, axis.taps()]
                out.append(leftward_block(k[a][axis.outputs()], real_output=first))
            else:
                into.append(LongInput(self.m[a], axis))
                columns = _columns(self.l[a], axis.taps())
                out.append(LongOutput(self.k[a], axis))
            taps.append(rightward_block(columns, real_input=real_taps and first))
        return into, taps, out

    def prepare(self, weight: Tensor, arch_bias: Tensor | None, gates: Tensor | None, groups: int):
        plain = arch_bias is None and gates is None and groups == 1
        if plain and not any(map(is_long, self.m)) and taps_are_cheaper(self.axes, weight):
            return tap_products(weight, *self._tap_maps())
        return super().prepare(weight, arch_bias, gates, groups)

    def _tap_maps(self) -> list[Tensor]:
        """K diag(L[:, t]) M between the points of an axis for each of its taps t, for each axis."""
        triples = zip(self.k, self.l, self.m, strict=True)
        dense = dense_matrices([matrix for triple in triples for matrix in triple])
        per_axis = zip(self.axes, dense[::3], dense[1::3], dense[2::3], strict=True)
        return [
            tap_maps(k[axis.outputs()], l_map[:, axis.taps()], _gather_inputs(m, axis))
            for axis, k, l_map, m in per_axis
        ]

    def finish(self, prepared: Prepared | TapProducts):
        return prepared if isinstance(prepared, TapProducts) else super().finish(prepared)

    def apply(self, x: Tensor, prepared: Prepared | TapProducts, coords) -> Tensor:
        by_taps = isinstance(prepared, TapProducts)
        return multiply(x, prepared) if by_taps else super().apply(x, prepared, coords)

    def check_size(self, size: tuple[int, ...]) -> None:
        built = tuple(axis.size for axis in self.axes)
        if tuple(size) != built:
            raise ValueError(
                f"this grid-frame XD was built for size={built} and has no meaning on "
                f"{tuple(size)}; resample the input, build a layer for that size, or use "
                "frame='band'"
            )

    def analyse(self, x: Tensor, coords) -> Tensor:
        return x  # its coefficients are its values

    def synthesise(self, c: Tensor, size: tuple[int, ...], coords) -> Tensor:
        return c.contiguous()


def is_long(k: Kaleidoscope) -> bool:
    """Whether a K-matrix costs less in fused stages than as a dense matrix."""
    return not dense_is_cheaper(k.n, k.depth, COLUMNS)


def _gather_inputs(square: Tensor, axis: GridAxis) -> Tensor:
    """M E (n, size), where E lays the input on the circle."""
    positions, sources = axis.inputs()
    if len(positions) == axis.size:
        return square[:, : axis.size]
    folded = square.new_zeros(axis.n, axis.size)
    return folded.index_add(1, sources.to(square.device), square[:, positions])


def _columns(k: Kaleidoscope, index: Tensor) -> Tensor:
    """Some columns of a large K-matrix, (n, len(index)), by applying it to unit vectors."""
    units = torch.zeros(len(index), k.n, dtype=k.values.dtype, device=k.values.device)
    units[torch.arange(len(index)), index] = 1
    return k(units).mT


class LongInput:
    """M E for a long axis, applied in fused stages."""

    def __init__(self, k: Kaleidoscope, axis: GridAxis):
        self.k, self.axis, self.shape = k, axis, (axis.n, axis.size)

    def apply(self, x: Tensor) -> Tensor:  # (before, size, after) -> (before, n, after)
        positions, sources = self.axis.inputs()
        circle = x.new_zeros(len(x), self.axis.n, x.shape[2])
        circle = circle.index_copy(1, positions.to(x.device), x[:, sources])
        return self.k(circle.mT).mT


class LongOutput:
    """The rows of K that are read, for a long axis, applied in fused stages."""

    def __init__(self, k: Kaleidoscope, axis: GridAxis):
        self.k, self.axis, self.shape = k, axis, (axis.n_out, axis.n)

    def apply(self, z: Tensor) -> Tensor:  # (before, n, after) -> (before, n_out, after)
        return self.k(z.mT).mT[:, self.axis.outputs()]


def grid_frame(kernel, size, padding, padding_mode, stride, dilation, depth) -> Grid:
    """The frame that XD's options describe, starting as a convolution."""
    if size is None:
        raise ValueError("frame='grid' is built for one grid: give its size=, or use frame='band'")
    size = whole_numbers(size, len(kernel), "size")
    pairs = padding_pairs(padding, kernel, dilation)
    axes = tuple(
        GridAxis(n, k, s, d, left, right, padding_mode == "circular")
        for n, k, s, d, (left, right) in zip(size, kernel, stride, dilation, pairs, strict=True)
    )
    start = special.convolution(axes, depth)
    return Grid(axes, (start.k, start.l, start.m))
