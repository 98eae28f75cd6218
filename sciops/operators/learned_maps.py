"""What a search has learned: the matrices K, L, M of every XD layer, and how far they moved.

    relative distance = ‖K − K₀‖ / ‖K₀‖        Frobenius norms, K₀ being the map before training

Matrices are those a layer works with: in the band frame K and M between the modes it keeps and
L = L̃ · exp(−2πi f τⱼ/P) from taps to modes, in the grid frame the rows and columns that carry
outputs, taps and inputs.  They are made one at a time, because those of long axes are large.
"""

from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

import torch
from torch import Tensor, nn

from .band import Band
from .grid import Grid
from .kaleidoscope import Kaleidoscope
from .transforms import tap_phases
from .xd import XD

if TYPE_CHECKING:
    import pandas as pd

MAPS = ("K", "L", "M")


class LearnedMap(NamedTuple):
    """One matrix of a layer, as it is and as it was before training."""

    layer: str  # name of the XD in the model
    map: str  # "K", "L" or "M"
    axis: int
    now: Tensor  # (rows, columns), complex, or real in the causal frame
    start: Tensor

    @property
    def relative_distance(self) -> float:
        """‖K − K₀‖ / ‖K₀‖."""
        return float((self.now - self.start).norm() / self.start.norm())


def learned_maps(model: nn.Module, start: nn.Module | None = None) -> Iterator[LearnedMap]:
    """The learned maps of all XD layers of a model; maps of depth 0 are not learned.

    start: a model of the same shape to compare with, instead of the start that K-matrices keep

    >>> layer = XD(1, 1, (3, 3), modes=4)
    >>> [(m.map, m.axis) for m in learned_maps(layer)]
    [('K', 0), ('K', 1), ('L', 0), ('L', 1), ('M', 0), ('M', 1)]
    """
    others = None if start is None else dict(start.named_modules())
    for name, layer in model.named_modules():
        if not isinstance(layer, XD):
            continue
        other = layer if others is None else others.get(name)
        for letter in MAPS:
            for axis in range(len(getattr(layer.frame, letter.lower()))):
                now = _matrix(layer.frame, letter, axis)
                reference = _reference(other, letter, axis, untrained=others is None)
                if reference is None or reference.shape != now.shape:
                    raise ValueError(
                        f"start has no {letter} of shape {tuple(now.shape)} in a layer {name!r}; "
                        "give a model built with the same options, or leave start out"
                    )
                yield LearnedMap(name, letter, axis, now, reference)


def drift(model: nn.Module, start: nn.Module | None = None) -> "pd.DataFrame":
    """How far each learned map of a model moved: a row for each layer, map and axis.

    `relative_distance` is ‖K − K₀‖ / ‖K₀‖; that a map moved says that training used it, not that it
    helped.

    start: a model of the same shape to compare with, instead of the start that K-matrices keep

    >>> drift(XD(1, 1, 3, modes=4).requires_grad_(False))["relative_distance"].tolist()
    [0.0, 0.0, 0.0]
    """
    import pandas as pd

    rows = [(m.layer, m.map, m.axis, m.relative_distance) for m in learned_maps(model, start)]
    return pd.DataFrame(rows, columns=["layer", "map", "axis", "relative_distance"])


def _reference(layer, letter: str, axis: int, *, untrained: bool) -> Tensor | None:
    if not isinstance(layer, XD) or axis >= len(getattr(layer.frame, letter.lower())):
        return None
    return _matrix(layer.frame, letter, axis, untrained=untrained)


def _matrix(frame: nn.Module, letter: str, axis: int, *, untrained: bool = False) -> Tensor:
    """The part of K, L or M that a layer uses on one axis, in double precision."""
    k = getattr(frame, letter.lower())[axis]
    dense = _as_at_start(k) if untrained else k
    with torch.no_grad():
        dense = dense.as_matrix().cpu()
    dense = dense.to(torch.complex128 if dense.is_complex() else torch.float64)
    if isinstance(frame, Band):
        m = frame.modes[axis]
        dense = dense[:m, :m]
        phases = letter == "L" and frame.kernel is not None
        return dense @ _tap_phases(frame, axis, untrained) if phases else dense
    if isinstance(frame, Grid):
        sites = frame.axes[axis]
        if letter == "K":
            return dense[sites.outputs()]
        return dense[:, sites.taps() if letter == "L" else sites.inputs()[0]]
    reach = frame.dilation * frame.kernel  # causal: tap j enters L at lag d·j
    return dense[:, : reach : frame.dilation] if letter == "L" else dense


def _as_at_start(k: Kaleidoscope) -> Kaleidoscope:
    """With the rounding of the parameters, so that what did not move is at distance 0."""
    start = k._start.to(k.values.dtype)
    blocks = torch.view_as_complex(start) if k.is_complex else start
    return Kaleidoscope(blocks, decreasing=k.decreasing, triangular=k.triangular)


def _tap_phases(frame: Band, axis: int, untrained: bool) -> Tensor:
    """exp(−2πi f τⱼ/P) with the distance of the taps as it is, or as it was if it is learned."""
    spacing = (frame._spacing if untrained else frame.spacing)[axis]
    taps = (frame.kernel[axis], frame.dilation[axis], frame.period[axis])
    kind = (frame.modes[axis], frame.one_sided(axis), *taps)
    return tap_phases(*kind, torch.tensor(spacing, dtype=torch.float64))
