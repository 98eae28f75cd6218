"""Synthetic proteins as the verbs of data give them: made at once, or made once and kept."""

from sciops.data.synthetic import Synthetic

from .collection import synthetic_tree

VERSION = 1  # of the generator; another one makes other chains
LENGTH = (60, 200)
TABLE = {  # a row of sciops.datasets()
    "title": "Distances between the residues of proteins",
    "equation": "none: synthetic chains, or your alignments and structures",
    "inputs": "profile, entropy, mutual_information, couplings",
    "targets": "distance",
    "axes": "i, j",
    "parameters": f"length={LENGTH}",
}
NO_RESOLUTION = (
    "proteins have no resolution, and are made by one process; give length="
    f"{LENGTH}, the least and the most residues"
)

_synthetic = Synthetic(synthetic_tree, VERSION, LENGTH)
generated, kept = _synthetic.generated, _synthetic.kept
