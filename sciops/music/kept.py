"""Synthetic music as the verbs of data give them: made at once, or made once and kept."""

from sciops.data.synthetic import Synthetic

from .collection import synthetic_tree
from .tonal import LENGTH

VERSION = 1  # of the generator; another one makes other pieces
USUAL = {"length": LENGTH}
TABLE = {  # a row of sciops.datasets()
    "title": "The next frame of polyphonic music",
    "equation": "none: synthetic tonal sequences, or piano rolls such as JSB Chorales",
    "inputs": "notes",
    "targets": "notes, a frame later",
    "axes": "time",
    "parameters": f"length={LENGTH}",
}

_synthetic = Synthetic(synthetic_tree, VERSION, USUAL)
generated, kept = _synthetic.generated, _synthetic.kept
