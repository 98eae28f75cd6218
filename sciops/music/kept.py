"""Synthetic music as the verbs of data give them: made at once, or made once and kept."""

from sciops.data.synthetic import Synthetic

from .collection import synthetic_tree
from .tonal import LENGTH

VERSION = 1  # of the generator; another one makes other pieces
TABLE = {  # a row of sciops.datasets()
    "title": "The next frame of polyphonic music",
    "equation": "none: synthetic tonal sequences, or piano rolls such as JSB Chorales",
    "inputs": "notes",
    "targets": "notes, a frame later",
    "axes": "time",
    "parameters": f"length={LENGTH}",
}
NO_RESOLUTION = (
    "music has no resolution, and is made by one process; give length="
    f"{LENGTH}, the least and the most frames"
)

_synthetic = Synthetic(synthetic_tree, VERSION, LENGTH)
generated, kept = _synthetic.generated, _synthetic.kept
