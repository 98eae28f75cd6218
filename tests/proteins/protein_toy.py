"""Small proteins with random features."""

import numpy as np

from sciops.proteins.protein import AMINO_ACIDS, Protein


def toy_protein(length: int, seed: int = 0, *, structure: bool = True) -> Protein:
    """With PDNET's features; no two values are alike."""
    rng = np.random.default_rng([length, seed])
    points = rng.normal(scale=8, size=(length, 3))
    distance = np.linalg.norm(points[:, None] - points, axis=-1).astype(np.float32)
    widths = {"ss": 3, "pssm": 22, "sa": 1, "entropy": 1}
    return Protein(
        f"chain{length}x{seed}",
        "".join(rng.choice(list(AMINO_ACIDS), length)),
        {name: rng.random((length, width), np.float32) for name, width in widths.items()},
        {n: rng.random((length, length), np.float32) for n in ("ccmpred", "freecon", "potential")},
        distance if structure else None,
    )


def assert_same(a: Protein, b: Protein) -> None:
    """Equal to the last bit, in the same order."""
    assert (a.name, a.sequence) == (b.name, b.sequence)
    assert (a.distance is None) == (b.distance is None)
    maps = ({**p.maps, "distance": p.distance} for p in (a, b) if p.distance is not None)
    for x, y in ((a.profiles, b.profiles), (a.maps, b.maps), tuple(maps) or ({}, {})):
        assert list(x) == list(y)
        for name in x:
            assert x[name].dtype == y[name].dtype == np.float32
            np.testing.assert_array_equal(x[name], y[name])
