"""Alignments in three formats: the same rows from each, an oracle letter by letter, bad files."""

import gzip
import time
from pathlib import Path

import numpy as np
import pytest

from sciops.proteins import alignments
from sciops.proteins.alignments import GAP, LETTERS, Alignment, read_alignment

SHARED = Path(__file__).resolve().parents[2].parent / "shared" / "data" / "protein"
ROWS = ["MK-WV", "MRAWV", "-KXW-"]
FASTA = ">q the query\nMK-WV\n>b\nMRA\nWV\n>c/1-3\n-KXW-\n"
STOCKHOLM = """# STOCKHOLM 1.0
#=GF ID   toy
#=GS b    AC P1

q         MK-
b         MRA
#=GR b SS HHH
c/1-3     -KX
#=GC RF   xxx

q         WV
b         WV
c/1-3     W-
//
"""


def rows_of(alignment):
    return ["".join(LETTERS[code] for code in row) for row in alignment.rows]


@pytest.fixture
def written(tmp_path):
    def write(text, name="toy.txt"):
        (tmp_path / name).write_bytes(text if isinstance(text, bytes) else text.encode())
        return tmp_path / name

    return write


# -- formats --------------------------------------------------------------------------------------


@pytest.mark.parametrize("text", [FASTA, STOCKHOLM, "# made by hand\n\n" + FASTA], ids=repr)
@pytest.mark.parametrize("name", ["toy.a3m", "toy.fasta", "toy.sto", "toy"])
@pytest.mark.parametrize("change", [
    bytes, gzip.compress,
    lambda t: t.replace(b"\n", b"\r\n"), lambda t: t.replace(b"\n", b"\r"),
    lambda t: b"\xef\xbb\xbf" + t, lambda t: t.rstrip(b"\n"),
])  # fmt: skip
def test_formats_are_told_by_content(written, text, name, change):
    alignment = read_alignment(written(change(text.encode()), name))
    assert alignment.name == "toy" and alignment.names == ("q", "b", "c/1-3")
    assert rows_of(alignment) == ROWS and alignment.query == "MK-WV"
    assert alignment.rows.dtype == np.uint8 and alignment.rows.shape == (3, 5)


def test_path_as_text_and_name_without_gz(written):
    path = written(gzip.compress(FASTA.encode()), "PF1.v2.fasta.gz")
    assert read_alignment(str(path)).name == "PF1.v2"


@pytest.mark.parametrize(
    ("name", "text", "rows"),
    [
        ("a.a3m", ["MKV", "MakK.V", "-KlV"], ["MKV", "MKV", "-KV"]),
        ("a.txt", ["MKV", "MakK.V", "-KlV"], ["MKV", "MKV", "-KV"]),
        ("a.a3m", ["MaKV", "MKlV"], ["MKV", "MKV"]),  # equal lengths, but the name says it
        ("a.a3m.gz", ["MaKV", "MKlV"], ["MKV", "MKV"]),
        ("a.txt", ["Mak-V", "M..KV", "Ml.KV"], ["M-V", "MKV", "MKV"]),  # columns of insertions
        ("a.txt", ["M.KV", "MAKV"], ["M-KV", "MAKV"]),  # dots as gaps
        ("a.txt", ["MaKV", "MAK."], ["MAKV", "MAK-"]),  # masked letters
        ("a.txt", ["mak.", "ma.v"], ["MAK-", "MA-V"]),
    ],
)
def test_small_letters_and_dots(written, name, text, rows):
    content = "".join(f">{i}\n{row}\n" for i, row in enumerate(text)).encode()
    path = written(gzip.compress(content) if name.endswith(".gz") else content, name)
    assert rows_of(read_alignment(path)) == rows


@pytest.mark.parametrize(
    ("above", "below", "rows"),
    [("Mak-V", "M..KV", ["M-V", "MKV"]), ("MAK.V", "M..KV", ["MAK-V", "M--KV"])],
)
def test_small_letters_and_dots_of_stockholm(written, above, below, rows):
    text = f"# STOCKHOLM 1.0\nq {above}\nb {below}\n//\n"
    assert rows_of(read_alignment(written(text))) == rows


def test_codes():
    assert LETTERS == "ARNDCQEGHILKMFPSTWYVX-" and GAP == 21


def test_odd_residues_are_unknown(written):
    alignment = read_alignment(written(">q\nABZJUOX*V\n"))
    assert alignment.query == "AXXXXXXXV"


def test_predictions_among_the_rows_are_left_out(written):
    text = ">ss_pred PSIPRED\nCHHEC\n>ss_conf\n91239\n" + FASTA
    assert rows_of(read_alignment(written(text, "toy.a3m"))) == ROWS


def test_blanks_in_rows_do_not_count(written):
    assert read_alignment(written(">q\nMK TA\t\n \n\nYI \n")).query == "MKTAYI"


def test_a_name_in_another_encoding(written):
    assert read_alignment(written(b">prot\xe9ine\nMK\n")).names == ("prot\ufffdine",)


def test_a_row_without_a_name(written):
    assert read_alignment(written(">\nMK\n> \nMR\n")).names == ("", "")


def letter_by_letter(text):
    """The rows of an a3m file as codes, the slow and obvious way."""
    rows = []
    for line in text.splitlines():
        if line.startswith(">"):
            rows.append([])
        else:
            kept = [c for c in line if not c.islower() and c != "."]
            rows[-1] += ["ARNDCQEGHILKMFPSTWYVX-".index("X" if c in "BZJUO*" else c) for c in kept]
    return np.array(rows, np.uint8)


def test_against_letter_by_letter(written):
    rng = np.random.default_rng(0)
    lines = []
    for i in range(50):
        kept = rng.choice(list("ARNDCQEGHILKMFPSTWYVXBZJUO*-"), 130)
        inserted = [["", "ab.", "y"][k] for k in rng.choice(3, 130, p=[0.9, 0.05, 0.05])]
        row = "".join(a + b for a, b in zip(kept, inserted, strict=True))
        lines += [f">row{i}", row[:60], row[60:]]
    text = "\n".join(lines) + "\n"
    np.testing.assert_array_equal(read_alignment(written(text)).rows, letter_by_letter(text))


def test_fifteen_thousand_rows_in_well_under_a_second(written):
    codes = np.random.default_rng(0).choice(np.frombuffer(LETTERS.encode(), "S1"), (15260, 100))
    text = b"".join(b">name%d\n%s\n" % (i, row.tobytes()) for i, row in enumerate(codes))
    path = written(gzip.compress(text, 1))
    start = time.process_time()
    alignment = read_alignment(path)
    assert time.process_time() - start < 0.6
    assert alignment.rows.shape == (15260, 100)
    assert alignment.query == codes[0].tobytes().decode()


# -- bad files ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "toy.txt is empty"),
        (gzip.compress(b"\n \n", mtime=0), "toy.txt is empty"),
        (b"\x00\x80\xff" * 99, r"begins with b'\\x00\\x80\\xff.*begins with '>'"),
        ("MKV\n>q\nMKV\n", "begins with b'MKV"),
        ("# a comment only\n", "begins with b'# a comment"),
        (">q\nMKV\n>b\nMK\n>c\nMK\n", r"row 2 \('b'\) of .* has 2 columns and the first row has 3"),
        (">q\nMKV\n>b\n>c\nMKV\n", r"row 2 \('b'\) of .* has 0 columns"),
        (">q\n>b\n", r"row 1 \('q'\) of .* has no columns"),
        (">q\nMKV\n>b\nMK1\n", r"row 2 \('b'\) of .* has '1' in column 3"),
        (">q\nM\x00V\n", r"row 1 \('q'\) of .* has '\\x00' in column 2"),
        (">q\nMé\n", r"has 'Ã' in column 2"),
        (">ss_pred\nHH\n", "no sequence"),
        (gzip.compress(FASTA.encode(), mtime=0)[:-10], "toy.txt is damaged"),
        (gzip.compress(FASTA.encode(), mtime=0)[:10] + b"\xff" * 50, "toy.txt is damaged"),
        (STOCKHOLM.replace("//", ""), "no closing '//'"),
        (STOCKHOLM * 2, "several alignments"),
        (STOCKHOLM.replace("b         WV", "b         W V"), r"line 12 of .* has 3 words"),
        (STOCKHOLM.replace("b         WV\n", ""), r"row 2 \('b'\) of .* has 3 columns"),
        ("# STOCKHOLM 1.0\nq MaK\nb MK\n//\n", r"row 2 \('b'\) of .* has 2 columns"),
        ("# STOCKHOLM 1.0\n#=GF ID toy\n//\n", "only annotations"),
    ],
    ids=lambda value: repr(value)[:30],
)
def test_bad_files(written, text, message):
    with pytest.raises(ValueError, match=message):
        read_alignment(written(text))


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(ValueError, match=r"there is no file .*nowhere\.a3m"):
        read_alignment(tmp_path / "nowhere.a3m")


def test_only_small_letters_in_a3m(written):
    with pytest.raises(ValueError, match="has no columns"):
        read_alignment(written(">q\nmkv\n", "toy.a3m"))


@pytest.mark.parametrize("change", [bytes, gzip.compress])
def test_too_large(written, monkeypatch, change):
    path = written(change(b">q\n" + b"M" * 2**21 + b"\n"))
    monkeypatch.setattr(alignments, "LARGEST", 2**21 + 4)
    assert read_alignment(path).rows.shape == (1, 2**21)
    monkeypatch.setattr(alignments, "LARGEST", 2**21 + 3)
    with pytest.raises(ValueError, match="holds more than 2 MiB"):
        read_alignment(path)


@pytest.mark.parametrize("name", ["toy.fasta", "toy.a3m.gz"])
def test_more_sequences_than_any_family_has(written, name):
    text = b">q\nA\n" * (alignments.MOST_ROWS + 2)
    path = written(gzip.compress(text, 1) if name.endswith(".gz") else text, name)
    with pytest.raises(ValueError, match=r"more than 1048576 sequences, .* leave out sequences"):
        read_alignment(path)


def test_more_rows_of_stockholm(written, monkeypatch):
    monkeypatch.setattr(alignments, "MOST_ROWS", 1)
    with pytest.raises(ValueError, match="more than 1 sequences"):
        read_alignment(written(STOCKHOLM))


def test_more_lines_than_can_be_meant(written):
    text = b"# STOCKHOLM 1.0\n" + b"\n" * alignments.MOST_LINES + b"q MK\n//\n"
    with pytest.raises(ValueError, match="more than 4194304 lines"):
        read_alignment(written(text))


@pytest.mark.parametrize(
    "rows", [np.zeros((2, 3), np.uint8), np.zeros((1, 3)), np.zeros(1, np.uint8)]
)
def test_rows_and_names_must_fit(rows):
    with pytest.raises(ValueError, match=r"rows must be uint8 of shape \(N, L\) with N = 1 names"):
        Alignment("toy", rows, ("q",))


# -- real alignments ------------------------------------------------------------------------------


def test_real_families():
    paths = sorted((SHARED / "kortemme" / "alignments").glob("*.gz"))
    if not paths:
        pytest.skip("kortemme is not on this machine")
    for path in paths:
        alignment = read_alignment(path)
        text = gzip.decompress(path.read_bytes())
        lines = text.split()
        assert alignment.names == tuple(x[1:].decode() for x in lines if x.startswith(b">"))
        assert alignment.query == lines[1].decode()
        letters = b"".join(x for x in lines if not x.startswith(b">"))
        for code, letter in enumerate(LETTERS.replace("X", "?")):
            assert letter == "?" or (alignment.rows == code).sum() == letters.count(letter.encode())


def test_a_real_a3m():
    path = SHARED / "prospr" / "T1055.a3m"
    if not path.exists():
        pytest.skip("prospr is not on this machine")
    alignment = read_alignment(path)
    assert alignment.rows.shape == (28, 148) and alignment.query.startswith("GNGKYFSKV")
    np.testing.assert_array_equal(alignment.rows, letter_by_letter(path.read_text()))
