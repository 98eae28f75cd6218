"""Are these proteins what they say they are?  Features, distances, leaks between splits."""

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

import numpy as np

from sciops.domains.checking import Finding, finding

from .protein import Protein
from .ragged import protein_at

if TYPE_CHECKING:
    import xarray as xr

NEIGHBOURS = (4.0, 7.5)  # Å between the Cβ of neighbours, the median of a protein
SYMMETRY = 1e-4  # of the largest entry


def check_proteins(splits: Mapping[str, "xr.Dataset"]) -> list[Finding]:
    """A line for the features and the distances of each split, and one for all of them."""
    findings, sequences = [], {}
    for split, ds in splits.items():
        ds = ds.compute()
        proteins = [protein_at(ds, k) for k in range(ds.sizes["protein"])]
        wrong = [text for p in proteins for text in _feature_problems(p)]
        findings.append(finding("features", split, wrong, "finite, and symmetric where of pairs"))
        wrong = [text for p in proteins for text in _distance_problems(p)]
        findings.append(finding("distances", split, wrong, "symmetric, in Å"))
        sequences[split] = {p.sequence: p.name for p in proteins}
    if len(splits) > 1:
        wrong = list(_leaks(sequences))
        findings.append(finding("leaks", "all", wrong, "no sequence is in two splits"))
    return findings


def _feature_problems(protein: Protein) -> Iterator[str]:
    for name, values in {**protein.profiles, **protein.maps}.items():
        if not np.isfinite(values).all():
            yield f"{name!r} of {protein.name} has NaN or infinite values"
    for name, values in protein.maps.items():
        if not _is_symmetric(values):
            yield f"{name!r} of {protein.name} is not symmetric"


def _distance_problems(protein: Protein) -> Iterator[str]:
    distance = protein.distance
    if distance is None:
        return
    if not _is_symmetric(distance):
        yield f"the distances of {protein.name} are not symmetric"
    if (distance < 0).any():
        yield f"{protein.name} has negative distances"
    known = np.diagonal(distance, 1)
    known = known[~np.isnan(known)]
    if len(known) and not NEIGHBOURS[0] <= np.median(known) <= NEIGHBOURS[1]:
        yield (
            f"neighbours in {protein.name} are {np.median(known):.3g} apart, expected about 5.5 Å: "
            "wrong units?"
        )


def _is_symmetric(values: np.ndarray) -> bool:
    largest = np.nanmax(np.abs(values), initial=0.0)
    return np.allclose(values, values.T, rtol=0, atol=SYMMETRY * largest, equal_nan=True)


def _leaks(sequences: Mapping[str, Mapping[str, str]]) -> Iterator[str]:
    seen: dict[str, tuple[str, str]] = {}
    for split, of_split in sequences.items():
        for sequence, name in of_split.items():
            if sequence in seen:
                where, other = seen[sequence]
                yield f"{name} of {split} has the sequence of {other} of {where}"
            seen[sequence] = split, name
