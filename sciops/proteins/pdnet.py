"""PDNET's data: features of alignments and Cβ distances of DeepCov, PSICOV and CAMEO chains.

    deepcov.lst  deepcov/features/<id>.pkl  deepcov/distance/<id>-cb.npy      train and val
    psicov.lst   psicov/…                                                     test
    cameo-hard.lst  cameo/…                                                   cameo

`.pkl` is a dict: seq, ss (3, L), pssm (L, 22), sa (L), entropy (L), and ccmpred, freecon, potential
(L, L); `.npy` a triple of L, sequence and distances in Å.  Both are pickles, and only read through
`load_plain`.  In CAMEO residues can be missing: their distances are NaN.

B. Adhikari, A fully open-source framework for deep learning protein real-valued distances,
Scientific Reports 10 (2020) 13374.
"""

import logging
import re
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path

import numpy as np

from sciops.data.plain_pickle import load_plain

from .protein import Protein
from .ragged import expanded

logger = logging.getLogger(__name__)

LISTS = {"deepcov": "deepcov.lst", "psicov": "psicov.lst", "cameo": "cameo-hard.lst"}
FOLDERS = {"train": "deepcov", "val": "deepcov", "test": "psicov", "cameo": "cameo"}
VALIDATION = 100  # the first of deepcov.lst
PROFILES = ("ss", "pssm", "sa", "entropy")
MAPS = ("ccmpred", "freecon", "potential")
LARGEST_FEATURE, LARGEST_DISTANCE = 100.0, 500.0  # as PDNET asserts


def read_pdnet(
    root: str | Path,
    *,
    names: str | Path | Collection[str] | None = None,
    limit: int | Mapping[str, int] | None = None,
) -> dict[str, list[Protein]]:
    """The proteins of PDNET's tree by split: train, val, test and cameo, as far as they are there.

    names: only these, or those that a list file names
    limit: at most so many of each split, or of the split that it is given for
    """
    splits = pdnet_names(root)
    if names is not None:
        chosen = set(_listed(Path(names)) if isinstance(names, str | Path) else names)
        unknown = chosen.difference(*splits.values())
        if unknown:
            raise ValueError(f"the lists of {root} do not name {', '.join(sorted(unknown))}")
        splits = {split: [n for n in ids if n in chosen] for split, ids in splits.items()}
    limits = limit if isinstance(limit, Mapping) else dict.fromkeys(splits, limit)
    if not limits.keys() <= FOLDERS.keys():
        raise ValueError(f"limit={limit!r} should be for some of {', '.join(FOLDERS)}")
    return {
        split: list(_proteins(Path(root), split, ids, limits.get(split)))
        for split, ids in splits.items()
        if ids[: limits.get(split)]
    }


def pdnet_proteins(root: str | Path, split: str, limit: int | None = None) -> Iterator[Protein]:
    """The proteins of a split, read one after the other."""
    splits = pdnet_names(root)
    if split not in splits:
        raise ValueError(f"{root} has no split {split!r}, only {', '.join(splits)}")
    return _proteins(Path(root), split, splits[split], limit)


def pdnet_names(root: str | Path) -> dict[str, list[str]]:
    """The proteins' names by split, in the order of the lists.

    The first 100 of deepcov.lst are the validation set; of a list that is not longer, the first 30
    percent.
    """
    lists = _lists(Path(root))
    splits = {}
    if "deepcov" in lists:
        ids = lists["deepcov"]
        held = VALIDATION if len(ids) > VALIDATION else int(0.3 * len(ids))
        splits = {"train": ids[held:], "val": ids[:held]}
    for split in ("test", "cameo"):
        splits[split] = lists.get(FOLDERS[split], [])
    return {split: ids for split, ids in splits.items() if ids}


def channels(protein: Protein) -> np.ndarray:
    """PDNET's 57 input channels in its order, (57, L, L)."""
    return expanded(protein, PROFILES, MAPS)


def clean_distance(matrix: np.ndarray) -> np.ndarray:
    """Distances as PDNET learns them, float32.

    What is below 1 Å becomes 1 Å.  The diagonal becomes the mean of its neighbours to the left and
    to the right: of those that are known, or 1 Å if none is; its ends copy the one that they have.
    NaN stays.
    """
    clean = np.maximum(np.asarray(matrix, np.float32), 1)
    left, right = np.full((2, len(clean)), np.nan, np.float32)
    left[1:], right[:-1] = np.diagonal(clean, -1), np.diagonal(clean, 1)
    sides = np.stack([left, right])
    known = (~np.isnan(sides)).sum(axis=0)
    mean = np.where(known > 0, np.nansum(sides, axis=0) / np.maximum(known, 1), 1)
    mean[0], mean[-1] = right[0], left[-1]
    np.fill_diagonal(clean, np.where(np.isnan(np.diagonal(clean)), np.nan, mean))
    return clean


# -- lists ------------------------------------------------------------------------------------


def _lists(root: Path) -> dict[str, list[str]]:
    """The names of each set of chains whose files are there."""
    present = [name for name in LISTS if (root / name).is_dir()]
    if not present:
        raise ValueError(
            f"{root} is not PDNET's data: it has none of the folders {', '.join(LISTS)}; name the "
            "folder in which they and their lists are"
        )
    for name, file in LISTS.items():
        if name not in present:
            logger.warning("%s has no folder %s: its chains are left out", root, name)
        elif not (root / file).is_file():
            raise ValueError(f"{root / file} is missing, which lists the chains of {name}")
    return {name: _listed(root / LISTS[name]) for name in present}


def _listed(file: Path) -> list[str]:
    """The first word of each line."""
    lines = file.read_bytes().decode(errors="replace").splitlines()
    names = [line.split()[0] for line in lines if line.strip()]
    strange = [name for name in names if not re.fullmatch(r"[\w.-]+", name)]
    if strange:
        raise ValueError(f"{file} has {strange[0]!r}, which is no name of a chain")
    if not names or len(set(names)) < len(names):
        raise ValueError(
            f"{file} should list chains, each once: it has {len(names)} lines, "
            f"{len(set(names))} different names"
        )
    return names


# -- one chain --------------------------------------------------------------------------------


def _proteins(root: Path, split: str, ids: list[str], limit: int | None) -> Iterator[Protein]:
    if limit is not None and limit < 0:
        raise ValueError(f"limit={limit} must not be negative")
    folder, ids = root / FOLDERS[split], ids[:limit]
    for file in (f for name in ids for f in _files(folder, name)):
        if not file.is_file():
            raise ValueError(f"{file} is missing; {LISTS[folder.name]} names it")
    return (_protein(folder, name) for name in ids)


def _files(folder: Path, name: str) -> tuple[Path, Path]:
    return folder / "features" / f"{name}.pkl", folder / "distance" / f"{name}-cb.npy"


def _protein(folder: Path, name: str) -> Protein:
    feature_file, distance_file = _files(folder, name)
    sequence, features = _features(feature_file)
    seen, distance = _distances(distance_file)
    n, known = len(sequence), len(distance)
    if folder.name == "cameo" and known < n:  # residues at the end are missing
        distance = np.pad(distance, (0, n - known), constant_values=np.nan)
    if len(distance) != n:
        raise ValueError(f"{feature_file} has {n} residues, {distance_file} has {known}")
    if folder.name != "cameo" and np.isnan(distance).any():
        raise ValueError(f"{distance_file} has distances that are not numbers")
    differing = sum(a not in ("-", b) for a, b in zip(seen, sequence, strict=False))
    if differing:
        logger.warning("%s and %s differ in %d residues", feature_file, distance_file, differing)
    profiles = {key: features[key].reshape(n, -1) for key in PROFILES if key != "ss"}
    profiles = {"ss": np.ascontiguousarray(features["ss"].T), **profiles}
    maps = {key: features[key] for key in MAPS}
    return Protein(name, sequence, profiles, maps, clean_distance(distance))


def _features(file: Path) -> tuple[str, dict[str, np.ndarray]]:
    """The sequence, and the features in float32 with their shapes in the file."""
    content = load_plain(file, "features")
    missing = {"seq", *PROFILES, *MAPS}.difference(content if isinstance(content, dict) else ())
    if missing:
        raise ValueError(f"{file} should hold a dict of features; it lacks {sorted(missing)}")
    sequence = _text(file, content["seq"])
    n = len(sequence)
    shapes = {"ss": (3, n), "pssm": (n, 22), "sa": (n,), "entropy": (n,)}
    shapes |= dict.fromkeys(MAPS, (n, n))
    return sequence, {key: _checked(file, key, content[key], s) for key, s in shapes.items()}


def _checked(file: Path, key: str, values: object, shape: tuple[int, ...]) -> np.ndarray:
    values = _numbers(file, key, values)
    if values.shape != shape:
        raise ValueError(f"{key!r} of {file} has the shape {values.shape}, not {shape}")
    if not (np.abs(values) < LARGEST_FEATURE).all():
        raise ValueError(f"{key!r} of {file} has values that are not between −100 and 100")
    return values


def _distances(file: Path) -> tuple[str, np.ndarray]:
    """The sequence, with "-" for residues that are not in the structure, and distances."""
    triple = load_plain(file, "distances")
    triple = triple.tolist() if isinstance(triple, np.ndarray) else triple
    if not isinstance(triple, tuple | list) or len(triple) != 3:
        raise ValueError(f"{file} should hold three things: length, sequence and distances")
    length, sequence, matrix = triple
    sequence, matrix = _text(file, sequence), _numbers(file, "distances", matrix)
    if matrix.shape != (length, length) or len(sequence) != length:
        raise ValueError(
            f"{file} says {length} residues; it has a sequence of {len(sequence)} and "
            f"distances of shape {matrix.shape}"
        )
    if (matrix < 0).any() or (matrix > LARGEST_DISTANCE).any():
        raise ValueError(f"{file} has distances that are not between 0 and 500 Å")
    return sequence, matrix


def _text(file: Path, sequence: object) -> str:
    if not isinstance(sequence, str):
        raise ValueError(f"the sequence of {file} is a {type(sequence).__name__}, not text")
    return str(sequence)


def _numbers(file: Path, key: str, values: object) -> np.ndarray:
    if not isinstance(values, np.ndarray) or values.dtype.kind not in "fiu":
        raise ValueError(f"{key!r} of {file} should be an array of numbers")
    return values.astype(np.float32)
