"""Your own proteins: alignments and structures become features and distances.

A structure is only ever the answer, never an input: all features come from the alignment.
"""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from .alignments import Alignment, read_alignment, stem
from .columns import match, read_indices
from .covariation import features
from .places import in_step
from .protein import Protein
from .structures import distance_map, read_structure


class Files(NamedTuple):
    """The files of one protein.

    structure: PDB or mmCIF; None if not known, for predictions only
    indices: which column of the alignment is which residue; None lets the sequences tell
    chain: of a structure with several
    """

    alignment: str | Path
    structure: str | Path | None = None
    indices: str | Path | None = None
    chain: str | None = None


def protein_from(files: Files, name: str | None = None) -> Protein:
    """The protein of these files, from the first to the last residue that both have."""
    alignment = read_alignment(files.alignment)
    name = stem(Path(files.alignment)) if name is None else name
    if files.structure is None:
        alignment = _at_the_query(alignment)
        return Protein(name, alignment.query, *features(alignment.rows))
    indices = None if files.indices is None else read_indices(files.indices)
    which = files.chain if indices is None else indices.chain
    chain = read_structure(files.structure, which)
    common = match(alignment, chain, indices)
    alignment, chain = in_step(alignment, chain, *common, own=indices is None)
    made = features(alignment.rows)
    return Protein(name, chain.sequence, *made, distance_map(chain), chain.notes)


def _at_the_query(alignment: Alignment) -> Alignment:
    """Only the columns where the first row has a residue."""
    letters = np.frombuffer(alignment.query.encode(), "S1")
    kept = letters != b"-"
    if not kept.any():
        raise ValueError(f"the first row of {alignment.name!r} is empty; it must be the protein")
    return Alignment(alignment.name, alignment.rows[:, kept], alignment.names)


def find_files(folder: str | Path) -> dict[str, Files]:
    """What lies in `alignments/`, `structures/` and `indices/` (if there) of a folder, by name.

    Files of one protein have the same name up to the first dot: PF00013.fasta.gz, PF00013.1wvn.pdb.
    """
    folder = Path(folder)
    if not (folder / "alignments").is_dir():
        raise ValueError(
            f"{folder} has no folder alignments/; expected alignments/NAME.fasta, "
            "structures/NAME.pdb and, where columns have to be told, indices/NAME.txt, or PDNET's "
            "deepcov.lst or psicov.lst"
        )
    of = {kind: _by_name(folder / kind) for kind in ("alignments", "structures", "indices")}
    found = {
        name: Files(file, of["structures"].get(name), of["indices"].get(name))
        for name, file in of["alignments"].items()
    }
    if not found:
        raise ValueError(f"{folder / 'alignments'} is empty")
    return found


def _by_name(folder: Path) -> dict[str, Path]:
    files: dict[str, Path] = {}
    for file in sorted(folder.iterdir()) if folder.is_dir() else []:
        name = file.name.split(".")[0]
        if name in files:
            raise ValueError(f"{folder} has two files of {name!r}: {files[name].name}, {file.name}")
        files[name] = file
    return files


def divided(
    names: Sequence[str], split: Mapping[str, int | Iterable[str]] | None, val: int | None
) -> dict[str, list[str]]:
    """Which proteins train, validate and test.

    split: {"train": 23, "test": 6}, in the order of the names, or lists of names; None tests on the
           last fifth
    val:   the last so many of train validate; None is a tenth of them

    >>> divided(["a", "b", "c", "d", "e"], None, None)
    {'train': ['a', 'b', 'c'], 'val': ['d'], 'test': ['e']}
    """
    names = list(names)
    if split is None:
        tested = max(len(names) // 5, 1)
        split = {"train": len(names) - tested, "test": tested}
    chosen: dict[str, list[str]] = {}
    place = 0
    for part, members in split.items():
        if isinstance(members, int):
            chosen[part] = names[place : place + members]
            place += members
        else:
            chosen[part] = list(members)
    _check_split(chosen, names, place)
    if "val" not in chosen:
        val = max(len(chosen["train"]) // 10, 1) if val is None else val
        if not 0 < val < len(chosen["train"]):
            raise ValueError(f"val={val} of {len(chosen['train'])} training proteins leaves none")
        chosen["train"], chosen["val"] = chosen["train"][:-val], chosen["train"][-val:]
    return {part: chosen[part] for part in ("train", "val", "test")}


def _check_split(chosen: Mapping[str, list[str]], names: list[str], counted: int) -> None:
    if not {"train", "test"} <= chosen.keys() <= {"train", "val", "test"}:
        raise ValueError(
            f"split has {', '.join(chosen)}; it needs train and test, and may have val"
        )
    asked = [name for members in chosen.values() for name in members]
    unknown = sorted(set(asked) - set(names))
    if unknown or counted > len(names):
        what = f"there is no {unknown[0]!r}" if unknown else f"split asks for {counted}"
        raise ValueError(f"{what}; the {len(names)} proteins are {', '.join(names)}")
    if len(set(asked)) < len(asked):
        raise ValueError("split has a protein twice; no protein may be in two parts")
    empty = [part for part, members in chosen.items() if not members]
    if empty:
        raise ValueError(f"split leaves {empty[0]!r} empty")
