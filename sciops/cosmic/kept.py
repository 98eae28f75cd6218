"""Simulated stamps as the verbs of data give them: made at once, or made once and kept."""

from sciops.data.synthetic import Synthetic

from .collection import synthetic_tree
from .stamps import open_stamps, write_stamps

VERSION = 1  # of the simulator; another one makes other stamps
USUAL = {"size": 128, "detector": "thin"}
TABLE = {  # a row of sciops.datasets()
    "title": "Cosmic rays in telescope images",
    "equation": "none: simulated exposures, deepCR's stamps, or your FITS files",
    "inputs": "image",
    "targets": "mask",
    "axes": "y, x",
    "parameters": ", ".join(f"{name}={value}" for name, value in USUAL.items()),
}

_synthetic = Synthetic(synthetic_tree, VERSION, USUAL, write_stamps, open_stamps)
generated, kept = _synthetic.generated, _synthetic.kept
