"""Of a PDB or mmCIF file the lines that decide which residues a chain has and where its Cβ are.

Giant files hold a million atoms, of which Biopython makes a kilobyte of objects each, and mmCIF has
many other tables.  So it is given only

    N, Cα, C and Cβ of each residue    in the first model
    the first atom of each residue     in the first model, so that none is forgotten
    the first atom of each model       in the others, so that they are counted
"""

import io
from collections.abc import Hashable, Iterable
from operator import itemgetter
from pathlib import Path

ATOMS = frozenset((b"N", b"CA", b"C", b"CB"))
MOST_LINES = 2**21  # giants of 60 MB have 0.7 million
MOST_RESIDUES = 90_000  # a capsid of 60 MB has 80 000
MOST_ATOMS = 4 * MOST_RESIDUES  # of those that are kept
IRREGULAR = 2**22  # bytes of mmCIF with other than one line an atom, which is read word by word

_RECORDS = (b"ATOM  ", b"HETATM")
_MODELS = (b"MODEL ", b"ENDMDL")
_ENDS = (b"END   ", b"CONECT")
_PREFIX = b"_atom_site."
_COLUMNS = (  # of mmCIF: atom, residue and model, then what else is used
    *(b"label_atom_id", b"label_comp_id", b"auth_asym_id", b"auth_seq_id", b"pdbx_PDB_ins_code"),
    *(b"pdbx_PDB_model_num", b"group_PDB", b"id", b"type_symbol", b"label_alt_id"),
    *(b"Cartn_x", b"Cartn_y", b"Cartn_z", b"occupancy", b"B_iso_or_equiv"),
)


def check_lines(text: bytes, path: Path) -> None:
    """ValueError if there are more lines than any structure has."""
    n = text.count(b"\n")
    if n > MOST_LINES:
        raise ValueError(
            f"{path} has {n} lines, and at most {MOST_LINES} are read; save the chain that is "
            "wanted in a file of its own"
        )


def pdb_lines(text: bytes, path: Path) -> bytes:
    """A PDB file whose needless lines are empty, so that the others keep their numbers."""
    needed, model, lines = _Needed(path), 0, []
    for line in io.BytesIO(text):
        record = line[:6]
        if record in _ENDS:  # no atoms follow
            break
        if record in _MODELS:
            model += 1
            needed.count()
        elif record not in _RECORDS or not needed.is_one(line[12:16].strip(), line[17:27], model):
            line = b"\n"
        lines.append(line)
    return b"".join(lines)


def cif_lines(text: bytes, path: Path) -> bytes | None:
    """An mmCIF file of the needed atoms alone; None if it does not have one line an atom."""
    start = text.find(b"\n" + _PREFIX) + 1
    stream, found, lines = io.BytesIO(text), [], []
    stream.seek(start)
    line = stream.readline()
    while line.startswith(_PREFIX):
        found.append(line.strip().removeprefix(_PREFIX))
        line = stream.readline()
    if not text.startswith(b"loop_\n", start - 6) or not set(_COLUMNS) <= set(found):
        return None
    columns = itemgetter(*map(found.index, _COLUMNS))
    needed = _Needed(path)
    while line.strip() and not line.startswith((b"#", b"_", b"loop_", b"data_")):
        words = line.split()
        if len(words) != len(found) or line.startswith(b";"):
            return None
        values = columns(words)
        if needed.is_one(values[0], values[1:5], values[5]):
            lines.append(b" ".join(_unquoted(values) if b"'" in line or b'"' in line else values))
        line = stream.readline()
    if text.find(b"\n" + _PREFIX, stream.tell() - len(line) - 1) >= 0:  # a second table
        return None
    head = [b"data_x", b"loop_", *(_PREFIX + c for c in _COLUMNS)]
    return b"\n".join([*head, *lines, b"#", b""])


def _unquoted(words: Iterable[bytes]) -> list[bytes]:
    return [w[1:-1] if len(w) > 2 and w[:1] == w[-1:] and w[0] in b"'\"" else w for w in words]


class _Needed:
    """Decides atom by atom and counts."""

    def __init__(self, path: Path):
        self.path, self.atoms, self.residues = path, 0, 0
        self.first = self.model = self.residue = None

    def is_one(self, name: bytes, residue: Hashable, model: Hashable) -> bool:
        """Whether an atom is needed, that of this name in this residue of this model."""
        if model != self.model:
            self.first = model if self.first is None else self.first
            self.model, self.residue = model, None
        elif model != self.first:
            return False
        if residue != self.residue:
            self.residue = residue
            self.residues += 1
        elif name not in ATOMS:
            return False
        self.count()
        return True

    def count(self) -> None:
        self.atoms += 1
        if self.atoms > MOST_ATOMS or self.residues > MOST_RESIDUES:
            raise ValueError(
                f"{self.path} holds more than {MOST_RESIDUES} residues, or {MOST_ATOMS} atoms of "
                "backbones, the most that are read; save the chain that is wanted in a file of its "
                "own"
            )
