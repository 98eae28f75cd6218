"""A chain in three dimensions to turn around in a notebook, coloured by its errors."""

from typing import TYPE_CHECKING

import numpy as np

from sciops.metrics.distance_map import checked_maps

from .style import MUTED

if TYPE_CHECKING:
    import py3Dmol

SHADES = ("#440154", "#31688e", "#35b779", "#fde725")  # viridis
ATOM = "ATOM  {0:5d}  CA  ALA A{0:4d}    {1:8.3f}{2:8.3f}{3:8.3f}  1.00{4:6.2f}           C"


def view_structure(positions: np.ndarray, colours: np.ndarray | None = None) -> "py3Dmol.view":
    """A tube through the positions (L, 3) in Å, one a residue; NaN leaves a gap.

    colours: a number for each residue, such as of `residue_errors`: the smallest is dark, the
             largest bright, NaN grey; None is from the first residue to the last
    """
    try:
        import py3Dmol
    except ImportError as error:
        raise ImportError("view_structure needs py3Dmol: pip install sciops[notebook]") from error
    positions = np.asarray(positions, float)
    colours = np.asarray(range(len(positions)) if colours is None else colours, float)
    if positions.ndim != 2 or positions.shape[1] != 3 or colours.shape != positions.shape[:1]:
        raise ValueError(
            "positions must be (L, 3) and colours (L,) with a number for each residue, got "
            f"{positions.shape} and {colours.shape}"
        )
    scale = dict(prop="b", gradient="linear", colors=list(SHADES), min=0, max=100)
    view = py3Dmol.view(width=640, height=480)
    view.addModel(chain_as_pdb(positions, colours), "pdb")
    view.setStyle({"cartoon": {"style": "trace", "thickness": 0.6, "colorscheme": scale}})
    if grey := [n for n, value in enumerate(colours, start=1) if np.isnan(value)]:
        view.setStyle({"resi": grey}, {"cartoon": {"style": "trace", "color": MUTED}})
    view.zoomTo()
    return view


def chain_as_pdb(positions: np.ndarray, values: np.ndarray) -> str:
    """Residues 1 … L as Cα atoms about their centre, values as B factors from 0 to 100."""
    low, high = np.nanmin(values, initial=np.inf), np.nanmax(values, initial=-np.inf)
    factors = np.nan_to_num(100 * (values - low) / ((high - low) or 1))
    atoms = np.column_stack([positions - np.nanmean(positions, 0), factors])
    known = np.flatnonzero(~np.isnan(positions).any(1))
    return "\n".join(ATOM.format(n + 1, *atoms[n]) for n in known)


def residue_errors(prediction: np.ndarray, truth: np.ndarray, *, within: float = 15.0):
    """Mean |p − y| over the other residues at true distances y ≤ within, (L,); NaN without any."""
    prediction, truth = checked_maps(prediction, truth)
    near = (truth <= within) & ~np.eye(len(truth), dtype=bool)
    errors, count = np.where(near, np.abs(prediction - truth), 0).sum(1), near.sum(1)
    return np.where(count > 0, errors / np.maximum(count, 1), np.nan)
