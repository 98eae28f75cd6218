"""Structures of proteins: one chain of a PDB or mmCIF file as the places of its Cβ atoms.

Files hold more than a chain and less than all of it; what was decided is said in `Chain.notes`.  A
residue that is written as a hetero compound (HETATM) belongs to the chain if it has the atoms of a
backbone and its Cα is near enough to a neighbour's for a peptide bond; ligands and waters do not.
"""

import contextlib
import gc
import io
import warnings
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from sciops.data.found import memory

from .alignments import read_text, stem
from .atom_lines import IRREGULAR, check_lines, cif_lines, pdb_lines
from .protein import UNKNOWN, noted

if TYPE_CHECKING:
    from Bio.PDB.Residue import Residue
    from Bio.PDB.Structure import Structure

LARGEST = 2**27  # bytes of text; giants such as capsids have half of it, in mmCIF
MAP_BYTES = 28  # of a pair of residues while its distance is computed
BOND = 4.5  # Å between neighbouring Cα atoms at most; 3.8 is usual
ATOM = " "  # how Biopython marks residues that are no hetero compounds
SUFFIXES = (".pdb", ".ent", ".cif", ".mmcif")


@dataclass(frozen=True, eq=False)
class Chain:
    """The L residues of a chain that a structure has coordinates of, in the file's order.

    sequence:  one letter a residue, X if it has no standard parent
    positions: of the Cβ atoms (Cα of glycine) in Å, float64 (L, 3), NaN where missing
    numbers:   of the residues as in the file, with insertion codes: "52", "52A"
    notes:     what the file left open and how it was decided
    missing:   how many residues the structure lacks before each; () if none anywhere
    """

    name: str
    sequence: str
    positions: np.ndarray
    numbers: tuple[str, ...]
    notes: tuple[str, ...] = ()
    missing: tuple[int, ...] = ()

    def __post_init__(self):
        n = len(self.sequence)
        if self.positions.shape != (n, 3) or len(self.numbers) != n:
            raise ValueError(
                f"{self.name!r} has {n} residues, positions of shape {self.positions.shape} and "
                f"{len(self.numbers)} residue numbers; expected ({n}, 3) and {n}"
            )

    def __len__(self) -> int:
        return len(self.sequence)


def distance_map(chain: Chain) -> np.ndarray:
    """Distances |xᵢ − xⱼ| in Å, float32 (L, L); NaN where not known, 0 on the diagonal.

    >>> chain = Chain("two", "AG", np.array([[0.0, 0, 0], [3, 4, 0]]), ("1", "2"))
    >>> distance_map(chain)
    array([[0., 5.],
           [5., 0.]], dtype=float32)
    """
    if MAP_BYTES * len(chain) ** 2 > memory():
        raise ValueError(
            f"the distance map of the {len(chain)} residues of {chain.name!r} needs "
            f"{MAP_BYTES * len(chain) ** 2 / 1e9:.3g} GB of memory, {memory() / 1e9:.3g} GB are "
            "there; cut the chain to the residues that are wanted"
        )
    squared = sum((x[:, None] - x) ** 2 for x in chain.positions.T)
    distance = np.sqrt(squared).astype(np.float32)
    np.fill_diagonal(distance, 0)
    return distance


def read_structure(path: str | Path, chain: str | None = None) -> Chain:
    """A chain of a PDB or mmCIF file (.pdb, .ent, .cif, .mmcif, each also with .gz).

    The chain has to be named if the file holds several of amino acids.  mmCIF files have two names
    for each chain and residue; the authors', which publications use, are taken.
    """
    path = Path(path)
    structure, notes = _parsed(path)
    try:
        return _chain_of(structure, notes, chain, path)
    except (AttributeError, LookupError, TypeError) as error:  # of atoms that Biopython half knows
        said = f"{type(error).__name__}: {error}"
        raise ValueError(f"{path} is damaged: {said}; get an intact copy") from error


def _chain_of(structure: "Structure", notes: list[str], chain: str | None, path: Path) -> Chain:
    model = next(iter(structure), ())
    found = {part.id: residues for part in model if (residues := _protein(part))}
    name = _chosen(found, chain, path)
    if len(structure) > 1:
        notes.append(f"{len(structure)} models, the first taken")
    residues = _one_a_number(found[name], notes)
    positions = np.array([_place(r, _beta(r)) for r in residues])
    if np.isnan(positions).all():
        raise ValueError(f"chain {name!r} of {path} has no Cβ atoms, and distances are of those")
    notes += [*_gap_notes(residues), *_residue_notes(residues, positions)]
    title = f"{stem(path)}_{name}" if len(found) > 1 else stem(path)
    sequence, numbers = "".join(map(_letter, residues)), tuple(map(_number, residues))
    return Chain(title, sequence, positions, numbers, tuple(notes), _missing(residues))


def _parsed(path: Path) -> tuple["Structure", list[str]]:
    """The file as Biopython understands it, and notes of what it could not."""
    suffix = Path(path.name.lower().removesuffix(".gz")).suffix
    if suffix not in SUFFIXES:
        raise ValueError(f"{path} ends in {suffix!r}; structures end in {', '.join(SUFFIXES)}")
    text = read_text(path, LARGEST)
    check_lines(text, path)
    parser, needed = (_cif if "cif" in suffix else _pdb)(text, path)
    del text
    lines = io.TextIOWrapper(io.BytesIO(needed), encoding="utf-8", errors="replace", newline="\n")
    grave = []
    with _no_collection(), warnings.catch_warnings():
        warnings.simplefilter("always")
        warnings.showwarning = lambda message, *_, **__: grave.extend(_left_out(str(message)))
        try:
            structure = parser.get_structure(path.name, lines)
        except Exception as error:
            said = f"{type(error).__name__}: {error}"
            raise ValueError(f"{path} is damaged or no {suffix} file: {said}") from error
    return structure, noted("not understood in the file", grave)


@contextlib.contextmanager
def _no_collection() -> Iterator[None]:
    """Garbage is looked for again and again while millions of objects are made, half of the time.

    There is none: what they are made for holds all of them.
    """
    usual = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if usual:
            gc.enable()


def _pdb(text: bytes, path: Path) -> tuple:
    """A parser, and what of the text it needs."""
    from Bio.PDB import PDBParser

    return PDBParser(), pdb_lines(text, path)


def _cif(text: bytes, path: Path) -> tuple:
    from Bio.PDB import FastMMCIFParser, MMCIFParser

    needed = cif_lines(text, path)
    if needed is not None:
        return FastMMCIFParser(), needed
    if len(text) > IRREGULAR:
        raise ValueError(
            f"{path} has no table of atoms with one line each, and of such files at most "
            f"{IRREGULAR / 2**20:.0f} MiB are read, not {len(text) / 2**20:.0f}; get it from the "
            "PDB, or write it again with another program"
        )
    return MMCIFParser(), text


def _left_out(message: str) -> list[str]:
    """What a warning of Biopython says if an atom may be missing, else nothing."""
    if "may be missing" not in message:
        return []
    said = message.splitlines()[0].partition(": ")[2]
    return [] if "missing occupancy" in said or "missing B factor" in said else [said]


def _chosen(found: dict[str, list], chain: str | None, path: Path) -> str:
    lengths = {name: len({*map(_number, residues)}) for name, residues in found.items()}
    listed = ", ".join(f"{name!r} ({length} residues)" for name, length in lengths.items())
    if not found:
        raise ValueError(f"{path} holds no amino acids with coordinates")
    if chain is None and len(found) > 1:
        raise ValueError(f"{path} holds several chains: {listed}; choose one with chain=")
    if chain not in (None, *found):
        raise ValueError(f"{path} holds no chain {chain!r} of amino acids, but {listed}")
    return next(iter(found)) if chain is None else chain


# -- which residues make the chain ----------------------------------------------------------------


def _protein(chain: Iterable["Residue"]) -> list["Residue"]:
    """The amino acids of a chain; where several share a place, all of them."""
    alternatives = (p.disordered_get_list() if p.is_disordered() == 2 else [p] for p in chain)
    residues = [r for several in alternatives for r in several if _is_amino_acid(r)]
    if not residues:
        return []
    near = _steps(residues) <= BOND
    bound = np.append(near, False) | np.append(False, near)
    return [r for r, held in zip(residues, bound, strict=True) if held or r.id[0] == ATOM]


def _is_amino_acid(residue: "Residue") -> bool:
    backbone = all(name in residue for name in ("N", "CA", "C"))
    return backbone or (_is_standard(residue) and residue.id[0] == ATOM)


def _one_a_number(residues: Sequence["Residue"], notes: list[str]) -> list["Residue"]:
    """Of residues with the same number the one of highest occupancy, the first of equals."""
    places = {_number(r): [] for r in residues}
    for residue in residues:
        places[_number(residue)].append(residue)
    mixed = [f"{n} ({' or '.join(r.resname for r in p)})" for n, p in places.items() if len(p) > 1]
    notes += noted("several residues at one place, that of highest occupancy taken", mixed)
    return [max(several, key=_occupancy) for several in places.values()]


def _occupancy(residue: "Residue") -> float:
    return max((atom.get_occupancy() or 0.0 for atom in residue), default=0.0)


# -- what is known of a residue -------------------------------------------------------------------


def _number(residue: "Residue") -> str:
    """With its insertion code: "52A"."""
    _, number, insertion = residue.id
    return f"{number}{insertion.strip()}"


def _is_standard(residue: "Residue") -> bool:
    from Bio.Data.PDBData import protein_letters_3to1

    return residue.resname in protein_letters_3to1


def _letter(residue: "Residue") -> str:
    from Bio.Data.PDBData import protein_letters_3to1_extended

    return protein_letters_3to1_extended.get(residue.resname, UNKNOWN)


def _beta(residue: "Residue") -> str:
    return "CA" if _letter(residue) == "G" else "CB"


def _place(residue: "Residue", atom: str) -> np.ndarray:
    """Where an atom is; NaN if the file does not say."""
    place = np.array(residue[atom].coord if atom in residue else [np.nan] * 3, np.float64)
    return place if np.isfinite(place).all() else np.full(3, np.nan)


def _steps(residues: Sequence["Residue"]) -> np.ndarray:
    """Distances in Å from the Cα of each residue to that of the next, NaN where not known."""
    alpha = np.array([_place(r, "CA") for r in residues])
    return np.linalg.norm(np.diff(alpha, axis=0), axis=1)


# -- notes ----------------------------------------------------------------------------------------


def _residue_notes(residues: Sequence["Residue"], positions: np.ndarray) -> list[str]:
    inserted = [_number(r) for r in residues if r.id[2].strip()]
    changed = [f"{r.resname} {_number(r)} as {_letter(r)}" for r in residues if not _is_standard(r)]
    several = [_number(r) for r in residues if _has_locations(r)]
    without = [_number(residues[i]) for i in np.flatnonzero(np.isnan(positions).any(axis=1))]
    return [
        *noted("insertion codes", inserted),
        *noted("non-standard residues", changed),
        *noted("alternate locations, that of highest occupancy taken", several),
        *noted("no Cβ atom (Cα of glycine)", without),
    ]


def _has_locations(residue: "Residue") -> bool:
    atom = residue.child_dict.get(_beta(residue))
    return atom is not None and atom.is_disordered() == 2 and len(atom.child_dict) > 1


def _missing(residues: Sequence["Residue"]) -> tuple[int, ...]:
    """How many numbers are left out before each residue where the chain does not go on."""
    pairs = zip(pairwise(residues), _steps(residues), strict=True)
    left_out = [(after.id[1] - before.id[1] - 1, step) for (before, after), step in pairs]
    return (0, *(n if n > 0 and not step <= BOND else 0 for n, step in left_out))


def _gap_notes(residues: Sequence["Residue"]) -> list[str]:
    """Where residues are missing by their numbers, by the distance of neighbours, or both."""
    missing, jumps, breaks = [], [], []
    steps = zip(pairwise(residues), _steps(residues), _missing(residues)[1:], strict=True)
    for (before, after), distance, left_out in steps:
        first, last, step = before.id[1], after.id[1], f"{_number(before)}→{_number(after)}"
        if left_out:
            missing.append(f"{left_out} in {step}")
        elif distance > BOND:
            breaks.append(f"{step} ({distance:.1f} Å)")
        elif not first <= last <= first + 1:
            jumps.append(step)
    return [
        *noted("residues missing", missing),
        *noted("numbering jumps where the chain goes on", jumps),
        *noted(f"breaks of the chain, Cα more than {BOND} Å apart", breaks),
    ]
