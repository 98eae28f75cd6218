"""Synthetic proteins as the verbs of data give them: made at once, or made once and kept."""

from sciops.data.synthetic import Synthetic

from .collection import synthetic_tree

VERSION = 1  # of the generator; another one makes other chains
LENGTH = (60, 200)
USUAL = {"length": LENGTH}
TABLE = {  # a row of sciops.datasets()
    "title": "Distances between the residues of proteins",
    "equation": "none: synthetic chains, or your alignments and structures",
    "inputs": "profile, entropy, mutual_information, couplings",
    "targets": "distance",
    "axes": "i, j",
    "parameters": f"length={LENGTH}",
}

_synthetic = Synthetic(synthetic_tree, VERSION, USUAL)
generated, kept = _synthetic.generated, _synthetic.kept
