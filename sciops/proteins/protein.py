"""A protein as the networks know it: features of residues, features of pairs, distances."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

AMINO_ACIDS = "ARNDCQEGHILKMFPSTWYV"  # in the order of the columns of a profile
UNKNOWN = "X"


@dataclass(frozen=True, eq=False)
class Protein:
    """One chain of L residues; float32 throughout.

    profiles: features of residues by name, (L, channels); they stay one-dimensional until a batch
              is made of them
    maps:     features of pairs by name, (L, L)
    distance: between Cβ atoms (Cα of glycine) in Å, (L, L), NaN where not known; None if no
              structure is known
    notes:    what the files left open and how it was decided
    """

    name: str
    sequence: str
    profiles: Mapping[str, np.ndarray]
    maps: Mapping[str, np.ndarray]
    distance: np.ndarray | None = None
    notes: tuple[str, ...] = ()

    def __post_init__(self):
        n = len(self.sequence)
        for name, values in self.profiles.items():
            if values.ndim != 2 or len(values) != n:
                raise ValueError(self._wrong(name, values, "(L, channels)"))
        known = {} if self.distance is None else {"distance": self.distance}
        for name, values in {**self.maps, **known}.items():
            if values.shape != (n, n):
                raise ValueError(self._wrong(name, values, "(L, L)"))

    def _wrong(self, name: str, values: np.ndarray, wanted: str) -> str:
        return (
            f"{name!r} of {self.name!r} has the shape {values.shape}; with L = {len(self)} "
            f"residues it must be {wanted}"
        )

    def __len__(self) -> int:
        return len(self.sequence)


def noted(what: str, where: Sequence[str]) -> list[str]:
    """A note, if there is a place for it; of many, eight are named.

    >>> noted("insertion codes", ["52A", "52B"]), noted("insertion codes", [])
    (['insertion codes: 52A, 52B'], [])
    """
    more = f" and {len(where) - 8} more" if len(where) > 8 else ""
    return [f"{what}: {', '.join(where[:8])}{more}"] if where else []
