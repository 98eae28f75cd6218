"""Figures one would put in a talk.  Every function returns a `matplotlib.figure.Figure`.

Only `view_structure` does not: it is a chain in three dimensions to turn around in a notebook.

Nothing is shown or saved: `fields(…).savefig("fields.png")`, or the last line of a notebook's cell.
"""

from .curves import comparison, history, resolutions, spectra
from .distance_maps import error_by_separation, precision_curves
from .field_panels import fields
from .found_sizes import block_sizes, complexity_curve, size_masks
from .map_panels import operators
from .masks import mask_panels, roc_curves
from .rollout import rollout_figure
from .search import distance_curves, filters
from .shown import spectra_of
from .structure_view import view_structure
from .study_curves import strategies
from .term_drawing import architecture
from .transfer_matrix import transfer_matrix

__all__ = [
    "architecture",
    "block_sizes",
    "comparison",
    "complexity_curve",
    "distance_curves",
    "error_by_separation",
    "fields",
    "filters",
    "history",
    "mask_panels",
    "operators",
    "precision_curves",
    "resolutions",
    "roc_curves",
    "rollout_figure",
    "size_masks",
    "spectra",
    "spectra_of",
    "strategies",
    "transfer_matrix",
    "view_structure",
]
