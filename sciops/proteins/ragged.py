"""Proteins of any length in one data set without padding, and their features as maps.

The layout is CF's contiguous ragged array, one protein after the other:

    length    (protein)                       number of residues L
    letter    (residue)                       the sequence, ASCII
    <profile> (residue, <profile>_channel)    features of residues
    <map>     (pair)                          features of pairs, L rows of L
    distance  (pair)                          Å, NaN where not known
    has_distance (protein)                    1 where a structure is known

Profiles stay one-dimensional until `expanded` makes a batch of them: of PDNET's 57 L² numbers only
3 L² + 27 L are kept.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from .protein import Protein

if TYPE_CHECKING:
    import xarray as xr

RESERVED = ("length", "letter", "distance", "has_distance", "protein", "residue", "pair", "sample")


def expanded(
    protein: Protein, profile_names: Sequence[str], map_names: Sequence[str]
) -> np.ndarray:
    """All features as channels of a map, (2 · profile channels + maps, L, L), float32.

    A feature v of residues gives two channels: v[j] at (i, j), then v[i].
    """
    for names, known in ((profile_names, protein.profiles), (map_names, protein.maps)):
        missing = [name for name in names if name not in known]
        if missing:
            raise ValueError(
                f"{protein.name!r} has no {', '.join(missing)}; it has {', '.join(known)}"
            )
    n = len(protein)
    profiles = [np.empty((n, 0)), *(protein.profiles[name] for name in profile_names)]
    v = np.concatenate(profiles, axis=1).T  # (channels, L)
    channels = np.empty((2 * len(v) + len(map_names), n, n), np.float32)
    channels[0 : 2 * len(v) : 2] = v[:, None, :]
    channels[1 : 2 * len(v) : 2] = v[:, :, None]
    for channel, name in zip(channels[2 * len(v) :], map_names, strict=True):
        channel[:] = protein.maps[name]
    return channels


def as_dataset(proteins: Iterable[Protein], attrs: Mapping[str, Any]) -> "xr.Dataset":
    """Proteins with the same features as one data set.

    attrs: title, source, licence and so on; the names of the proteins are added as `ids`, what
           their files left open as `notes` by name
    """
    import xarray as xr

    proteins = list(proteins)
    _check_alike(proteins)
    profiles, maps = list(proteins[0].profiles), list(proteins[0].maps)
    variables = {
        "length": ("protein", np.array([len(p) for p in proteins], np.int32), LENGTH),
        "letter": ("residue", _letters(proteins)),
        "distance": ("pair", _pairs([_distance(p) for p in proteins]), {"units": "Å"}),
        "has_distance": ("protein", np.array([p.distance is not None for p in proteins], "u1")),
    }
    for name in profiles:
        values = np.concatenate([np.asarray(p.profiles[name], np.float32) for p in proteins])
        variables[name] = (("residue", f"{name}_channel"), values)
    for name in maps:
        variables[name] = ("pair", _pairs([p.maps[name] for p in proteins]))
    names = dict(ids=[p.name for p in proteins], profiles=profiles, maps=maps)
    notes = {p.name: list(p.notes) for p in proteins if p.notes}
    told = {"notes": notes} if notes else {}
    return xr.Dataset(variables, attrs={"name": "protein", **attrs, **names, **told})


def proteins_of(ds: "xr.Dataset") -> list[Protein]:
    """The proteins of `as_dataset`."""
    ds = ds.compute()
    return [protein_at(ds, k) for k in range(ds.sizes["protein"])]


def protein_at(ds: "xr.Dataset", k: int) -> Protein:
    """Protein k of `as_dataset`; of a store, only its own part is read."""
    lengths = ds["length"].values.astype(np.int64)
    _check_sizes(ds, lengths)
    if not 0 <= k < len(lengths):
        raise IndexError(f"there are {len(lengths)} proteins, from 0 on, and no number {k}")
    n = int(lengths[k])
    first_residue, first_pair = int(lengths[:k].sum()), int((lengths[:k] ** 2).sum())

    def of_residues(name: str) -> np.ndarray:
        return ds[name][first_residue : first_residue + n].values

    def of_pairs(name: str) -> np.ndarray:
        return ds[name][first_pair : first_pair + n * n].values.reshape(n, n)

    name = ds.attrs["ids"][k]
    return Protein(
        name,
        of_residues("letter").tobytes().decode("ascii"),
        {name: of_residues(name) for name in ds.attrs["profiles"]},
        {name: of_pairs(name) for name in ds.attrs["maps"]},
        of_pairs("distance") if ds["has_distance"].values[k] else None,
        tuple(ds.attrs.get("notes", {}).get(name, ())),
    )


LENGTH = {"long_name": "number of residues", "sample_dimension": "residue"}  # a count in CF's words


def _letters(proteins: Sequence[Protein]) -> np.ndarray:
    return np.frombuffer("".join(p.sequence for p in proteins).encode("ascii"), np.uint8)


def _pairs(maps: Sequence[np.ndarray]) -> np.ndarray:
    return np.concatenate([np.asarray(m, np.float32).ravel() for m in maps])


def _distance(protein: Protein) -> np.ndarray:
    if protein.distance is None:
        return np.full((len(protein), len(protein)), np.nan, np.float32)
    return protein.distance


def _check_alike(proteins: Sequence[Protein]) -> None:
    if not proteins:
        raise ValueError("a data set needs at least one protein")
    names = [p.name for p in proteins]
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"there are two proteins called {twice!r}; give each a name of its own")
    for name in [*proteins[0].profiles, *proteins[0].maps]:
        both = name in proteins[0].profiles and name in proteins[0].maps
        if name in RESERVED or not name.isidentifier() or both:
            raise ValueError(f"a feature cannot be called {name!r}; choose another name")
    first = _features(proteins[0])
    for p in proteins:
        if len(p) == 0 or not p.sequence.isascii():
            raise ValueError(f"the sequence of {p.name!r} must be letters, at least one")
        if _features(p) != first:
            raise ValueError(
                f"{proteins[0].name!r} has the features {first}, {p.name!r} has {_features(p)}; "
                "all proteins of a data set need the same"
            )


def _features(protein: Protein) -> dict[str, str]:
    profiles = {name: f"{values.shape[1]} a residue" for name, values in protein.profiles.items()}
    return {**profiles, **dict.fromkeys(protein.maps, "1 a pair")}


def _check_sizes(ds: "xr.Dataset", lengths: np.ndarray) -> None:
    needed = dict(residue=int(lengths.sum()), pair=int((lengths**2).sum()))
    found = {dim: ds.sizes[dim] for dim in needed}
    if found != needed or len(ds.attrs["ids"]) != len(lengths):
        raise ValueError(
            f"no data set of proteins: its lengths need {needed} and {len(lengths)} ids; it has "
            f"{found} and {len(ds.attrs['ids'])} ids"
        )
