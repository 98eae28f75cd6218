"""Multiple sequence alignments: N related proteins in rows, L positions in columns.

FASTA, a3m and Stockholm are told apart by what is in the file, plain or packed by gzip.  Small
letters and dots usually mark insertions relative to the first sequence or to a family model; those
are no columns of their own and are left out:

    .a3m, or rows of different lengths     every small letter and dot is an insertion
    equal lengths, each column either all
    small letters and dots or free of them the same: such columns are insertions
    equal lengths, anything else           small letters are residues and dots are gaps

Codes are positions in `LETTERS`.  B, Z and J (one of two residues), U and O (selenocysteine and
pyrrolysine, which no profile counts) and * are X, unknown.
"""

import gzip
import io
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

import numpy as np

from .protein import AMINO_ACIDS, UNKNOWN

LETTERS = AMINO_ACIDS + UNKNOWN + "-"  # code → letter
GAP = LETTERS.index("-")
LARGEST = 2**27  # bytes of text; 100 000 rows of 500 columns have less than half of it
MOST_ROWS = 2**20  # the largest families of Pfam
MOST_LINES = 2**22  # a row may go on over several

_ILLEGAL = 255
_INSERTIONS = b"abcdefghijklmnopqrstuvwxyz."
_IS_INSERTION = np.isin(np.arange(256), list(_INSERTIONS))
_ANNOTATIONS = (b"ss_pred", b"ss_conf", b"ss_dssp", b"sa_dssp", b"aa_dssp")  # rows of HH-suite


def _table() -> np.ndarray:
    """Byte → code."""
    table = np.full(256, _ILLEGAL, np.uint8)
    table[list(b"BZJUO*")] = LETTERS.index(UNKNOWN)
    table[list(LETTERS.encode())] = np.arange(len(LETTERS))
    return table


_CODES = _table()


@dataclass(frozen=True, eq=False)
class Alignment:
    """N aligned sequences of L columns; the first one is the query.

    rows: uint8 codes (N, L), positions in `LETTERS`
    """

    name: str
    rows: np.ndarray
    names: tuple[str, ...]

    def __post_init__(self):
        if self.rows.dtype != np.uint8 or self.rows.ndim != 2 or len(self.rows) != len(self.names):
            raise ValueError(
                f"{self.name!r}: rows must be uint8 of shape (N, L) with N = {len(self.names)} "
                f"names, got {self.rows.dtype} of shape {self.rows.shape}"
            )

    @property
    def query(self) -> str:
        """The first row as text, gaps included.

        >>> Alignment("two", np.array([[0, 21, 19], [0, 1, 20]], np.uint8), ("a", "b")).query
        'A-V'
        """
        return np.frombuffer(LETTERS.encode(), np.uint8)[self.rows[0]].tobytes().decode()


def read_alignment(path: str | Path) -> Alignment:
    """The alignment in an a3m, aligned FASTA or Stockholm file, packed by gzip or not."""
    path = Path(path)
    text = read_text(path, LARGEST)
    _check_number(text.count(b"\n"), MOST_LINES, "lines", path)
    if text.startswith(b"# STOCKHOLM"):
        names, rows = _stockholm(text, path)
        _check_lengths(names, rows, path)
    else:
        _check_number(text.count(b"\n>"), MOST_ROWS, "sequences", path)
        names, rows = _fasta(text, path)
    del text
    rows = _without_insertions(rows, a3m=path.name.removesuffix(".gz").endswith(".a3m"))
    _check_lengths(names, rows, path)
    return Alignment(stem(path), _codes(names, rows, path), tuple(names))


def _check_number(n: int, most: int, what: str, path: Path) -> None:
    if n > most:
        raise ValueError(
            f"{path} has more than {most} {what}, the most that are read; leave out sequences that "
            "are nearly the same, as hhfilter or CD-HIT do"
        )


def stem(path: Path) -> str:
    """The name of a file without its folder, its format and .gz.

    >>> stem(Path("here/PF00041.1TEN_A.pdb.gz"))
    'PF00041.1TEN_A'
    """
    return Path(path.name.removesuffix(".gz")).stem


def read_text(path: Path, largest: int) -> bytes:
    """The content of a text file, unpacked if it is gzip and with "\\n" at the ends of lines."""
    if not path.is_file():
        raise ValueError(f"there is no file {path}; check the path")
    pieces, size = [], 0
    with path.open("rb") as file, _unpacked(file) as stream:
        try:
            while piece := stream.read(2**22):
                pieces.append(piece)
                size += len(piece)
                if size > largest:
                    raise ValueError(
                        f"{path} holds more than {largest / 2**20:.0f} MiB of text, the most that "
                        "is read; keep fewer sequences, chains or lines"
                    )
        except (EOFError, gzip.BadGzipFile, zlib.error) as error:
            raise ValueError(f"{path} is damaged ({error}); fetch or pack it again") from error
    text = b"".join(pieces).removeprefix(b"\xef\xbb\xbf")
    del pieces
    if not text or text.isspace():
        raise ValueError(f"{path} is empty")
    return text.replace(b"\r\n", b"\n").replace(b"\r", b"\n")


def _unpacked(file: BinaryIO) -> BinaryIO:
    packed = file.read(2) == b"\x1f\x8b"
    file.seek(0)
    return gzip.GzipFile(fileobj=file) if packed else file


# -- the two ways to write rows -------------------------------------------------------------------


def _fasta(text: bytes, path: Path) -> tuple[list[str], list[bytes]]:
    """Names and rows; comments may stand before the first ">"."""
    start = 0 if text.startswith(b">") else text.find(b"\n>") + 1
    before = text[:start].split(b"\n")
    if not text.startswith(b">", start) or any(b.strip() and b[:1] != b"#" for b in before):
        raise ValueError(
            f"{path} begins with {text[:30]!r}; an alignment in FASTA or a3m begins with '>', one "
            "in Stockholm with '# STOCKHOLM'"
        )
    names, rows = [], []
    for head, sequence in _records(text, start):
        if not head.startswith(_ANNOTATIONS):
            names.append(_name(head))
            rows.append(sequence.translate(None, b" \t\n"))
    if not rows:
        raise ValueError(f"{path} holds predictions of secondary structure and no sequence")
    return names, rows


def _records(text: bytes, start: int) -> Iterator[tuple[bytes, bytes]]:
    """What stands behind each ">", the first line and the others."""
    while start < len(text):
        end = text.find(b"\n>", start)
        end = len(text) if end < 0 else end
        head, _, sequence = text[start + 1 : end].partition(b"\n")
        yield head, sequence
        start = end + 1


def _name(head: bytes) -> str:
    words = head.split(maxsplit=1)
    return words[0].decode(errors="replace") if words else ""


def _stockholm(text: bytes, path: Path) -> tuple[list[str], list[bytes]]:
    """Names and rows, of which each may come in several pieces, one a block."""
    end = text.find(b"\n//")
    if end < 0:
        raise ValueError(f"{path} has no closing '//': it was cut short; fetch it again")
    if text.find(b"# STOCKHOLM", end) >= 0:
        raise ValueError(f"{path} holds several alignments; save the one you want on its own")
    pieces = {}
    for number, line in enumerate(io.BytesIO(text[:end]), 1):
        words = line.split()
        if not words or line.startswith(b"#"):
            continue
        if len(words) != 2:
            raise ValueError(
                f"line {number} of {path} has {len(words)} words, expected a name and a row: "
                f"{line.strip()[:60]!r}"
            )
        pieces.setdefault(words[0], []).append(words[1])
        _check_number(len(pieces), MOST_ROWS, "sequences", path)
    if not pieces:
        raise ValueError(f"{path} holds no rows, only annotations")
    return [_name(name) for name in pieces], [b"".join(parts) for parts in pieces.values()]


# -- from text to codes ---------------------------------------------------------------------------


def _without_insertions(rows: list[bytes], *, a3m: bool) -> list[bytes]:
    if not a3m and len({len(row) for row in rows}) == 1 and _small_letters_are_residues(rows):
        return [row.upper().replace(b".", b"-") for row in rows]
    return [row.translate(None, _INSERTIONS) for row in rows]


def _small_letters_are_residues(rows: list[bytes]) -> bool:
    """Of rows of equal length: whether they share columns with capital letters, or are all."""
    inserted = _IS_INSERTION[np.frombuffer(b"".join(rows), np.uint8)].reshape(len(rows), -1)
    whole = inserted.all(axis=0)
    return bool(whole.all() or (inserted.any(axis=0) & ~whole).any())


def _check_lengths(names: list[str], rows: list[bytes], path: Path) -> None:
    length = len(rows[0])
    if length == 0:
        raise ValueError(f"row 1 ({names[0]!r}) of {path} has no columns")
    for number, row in enumerate(rows, 1):
        if len(row) != length:
            raise ValueError(
                f"row {number} ({names[number - 1]!r}) of {path} has {len(row)} columns and the "
                f"first row has {length}, insertions not counted; all rows of an alignment are "
                "equally long: align the sequences first"
            )


def _codes(names: list[str], rows: list[bytes], path: Path) -> np.ndarray:
    text = np.frombuffer(b"".join(rows), np.uint8).reshape(len(rows), -1)
    codes = _CODES[text]
    illegal = codes == _ILLEGAL
    if illegal.any():
        row, column = (int(i[0]) for i in np.nonzero(illegal))
        raise ValueError(
            f"row {row + 1} ({names[row]!r}) of {path} has {chr(text[row, column])!r} in column "
            f"{column + 1}; expected the letters of amino acids, '-' and '.'"
        )
    return codes
