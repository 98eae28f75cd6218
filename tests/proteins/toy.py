"""Small proteins: random walks with features that have something to do with them."""

import numpy as np

from sciops.proteins.protein import AMINO_ACIDS, Protein


def walk(residues: int, seed: int = 0, name: str = "toy") -> Protein:
    rng = np.random.default_rng(seed)
    places = np.cumsum(rng.normal(size=(residues, 3)), 0) * 2
    distance = np.linalg.norm(places[:, None] - places, axis=2).astype(np.float32)
    noise = rng.normal(size=(residues, residues))
    couplings = (distance < 8) + 0.2 * (noise + noise.T)
    letters = "".join(AMINO_ACIDS[i] for i in rng.integers(20, size=residues))
    profile = rng.normal(size=(residues, 3)).astype(np.float32)
    return Protein(
        name, letters, {"profile": profile}, {"couplings": couplings.astype(np.float32)}, distance
    )
