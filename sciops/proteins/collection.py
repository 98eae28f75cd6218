"""Collections of proteins as trees with train, val and test: synthetic, PDNET's, or your own."""

import logging
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sciops.domains import collection

from .own_files import Files, divided, find_files, protein_from
from .pdnet import LISTS, read_pdnet
from .protein import Protein
from .ragged import as_dataset

if TYPE_CHECKING:
    import xarray as xr

logger = logging.getLogger(__name__)

SYNTHETIC = {
    "title": "Protein-like chains, synthetic",
    "source": "made by sciops: no real proteins, no real alignments",
    "synthetic": True,
}
PDNET = {"title": "PDNET: DeepCov, PSICOV and CAMEO chains", "source": "Adhikari 2020"}
OWN = {"title": "Proteins from alignments and structures", "source": "files of the user"}

tree_of = partial(collection.tree_of, as_dataset)


def synthetic_tree(
    counts: Mapping[str, int], *, seed: int, length: tuple[int, int], progress: bool
) -> "xr.DataTree":
    """Synthetic chains; number k of a split is the same however many there are."""
    from .chains import generate_proteins

    how = dict(seed=seed, length=tuple(length), progress=progress)
    return collection.numbered_tree(as_dataset, generate_proteins, counts, SYNTHETIC, **how)


def read_tree(
    paths: str | Path | Mapping[str, Any] | Sequence[Any],
    *,
    split: Mapping[str, int | Iterable[str]] | None = None,
    val: int | None = None,
    limit: int | Mapping[str, int] | None = None,
) -> "xr.DataTree":
    """PDNET's folder, a folder of alignments/ and structures/, or the files of each protein.

    paths: a folder, or {name: (alignment, structure)}, where a third member tells the columns
    split: {"train": 23, "test": 6}, in the order of the names, or lists of names; PDNET has its own
    val:   how many of the training proteins validate
    limit: of PDNET's proteins of each split
    """
    if not isinstance(paths, Mapping):
        folder = Path(paths)
        if any((folder / name).exists() for name in LISTS.values()):
            if split is not None or val is not None:
                raise ValueError("PDNET's lists say what trains and tests; leave split, val out")
            return tree_of(read_pdnet(folder, limit=limit), PDNET)
        paths = find_files(folder)
    if limit is not None:
        raise ValueError("limit is for PDNET's folder; here split says how many there are")
    files = {name: Files(*parts) for name, parts in paths.items()}
    parts = divided(sorted(files), split, val)
    made = {p: [protein_from(files[n], n) for n in names] for p, names in parts.items()}
    _tell([protein for proteins in made.values() for protein in proteins])
    return tree_of(made, OWN)


def _tell(proteins: Sequence[Protein]) -> None:
    """One line for all that structures left open."""
    noted = [p for p in proteins if p.notes]
    if noted:
        first = f"{noted[0].name}: {'; '.join(noted[0].notes)}"
        logger.warning(
            "structures of %d of %d proteins left something open, each told in the attribute "
            "notes of its split; %s%s",
            *(len(noted), len(proteins), first, "; …" if len(noted) > 1 else ""),
        )
