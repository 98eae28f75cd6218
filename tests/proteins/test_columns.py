"""Columns and residues: pairs known beforehand, mismatches that are shown, real families."""

import time
from pathlib import Path

import numpy as np
import pytest

from sciops.proteins.alignments import LETTERS, Alignment, read_alignment
from sciops.proteins.columns import Indices, match, read_indices
from sciops.proteins.places import in_step
from sciops.proteins.protein import AMINO_ACIDS
from sciops.proteins.structures import Chain, read_structure

SHARED = Path(__file__).resolve().parents[2].parent / "shared" / "data" / "protein"
PROTEIN = "MKTAYIAKQRQISFVKSHFSRQLEERLGLIEVQAPILSRVGDGTQDNLSGAEKAVQVKVKALPDAQFEVVHSL"


def aligned(*rows):
    codes = np.array([[LETTERS.index(letter) for letter in row] for row in rows], np.uint8)
    return Alignment("family", codes, tuple(f"row{i}" for i in range(len(rows))))


def chain_of(sequence, numbers=None, notes=()):
    numbers = range(1, len(sequence) + 1) if numbers is None else numbers
    positions = np.arange(3.0 * len(sequence)).reshape(-1, 3)
    return Chain("structure", sequence, positions, tuple(map(str, numbers)), notes)


def table(columns, letters, numbers):
    return Indices("table", np.array(columns), letters, tuple(map(str, numbers)), "A")


def pairs(*arguments):
    columns, residues = match(*arguments)
    return list(zip(columns.tolist(), residues.tolist(), strict=True))


# -- tables ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_tables_are_read(tmp_path, end):
    path = tmp_path / "toy.indices"
    lines = ["0\tD\t2\t804 A\t8", "3\tA\t3\t-5 A\t12", "17\tW\t4\t52B A"]
    path.write_bytes(end.join(lines).encode())
    found = read_indices(str(path))
    assert found.columns.tolist() == [0, 3, 17] and found.letters == "DAW"
    assert found.numbers == ("804", "-5", "52B")
    assert (found.name, found.chain) == ("toy.indices", "A")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "is empty"),
        ("0\tD\t2\t804 A\nnonsense\n", r"line 2 of .* is 'nonsense'; expected column, letter"),
        ("0 D 2 804 A\n", "line 1"),
        ("-1\tD\t2\t804 A\n", "line 1"),
        ("0\tD\t2\t804\n", "line 1"),
        ("0\tASP\t2\t804 A\n", "line 1"),
        ("1" * 5000 + "\tD\t2\t804 A\n", "line 1"),
        ("0\tD\t2\t804 A\n" * 400_000, "more than 4 MiB"),
        ("0\tD\t2\t4 A\n1\tD\t3\t5 B\n", r"names the chains \['A', 'B'\], expected one"),
    ],
)
def test_bad_tables(tmp_path, text, message):
    (tmp_path / "toy.indices").write_text(text)
    with pytest.raises(ValueError, match=message):
        read_indices(tmp_path / "toy.indices")


def test_a_table_pairs_by_number():
    family, chain = aligned("MKTAY"), chain_of("GWVXL", [10, 11, "11A", 20, 21])
    assert pairs(family, chain, table([1, 2, 4], "WVA", [11, "11A", 20])) == [
        (1, 1),
        (2, 2),
        (4, 3),
    ]


def test_a_table_that_disagrees_is_shown_beside_the_chain():
    family, chain = aligned("MKTAY"), chain_of("GWVL", [10, 11, 12, 13])
    with pytest.raises(ValueError, match=r"'table' .* and the chain 'structure'") as error:
        match(family, chain, table([1, 2, 3, 4], "WKLA", [11, 12, 13, 99]))
    shown = str(error.value).split("\n", 1)[1]
    assert shown == "  column 1 WKLA\n            * *\nresidue 11 WVL?"


@pytest.mark.parametrize(
    ("columns", "numbers", "message"),
    [
        ([1, 5], [11, 12], "names column 5, and the last one of 'family' is 4"),
        ([2, 2], [11, 12], "do not increase"),
        ([2, 1], [11, 12], "do not increase"),
        ([1, 2], [11, 11], "do not increase"),
    ],
)
def test_tables_that_cannot_be(columns, numbers, message):
    with pytest.raises(ValueError, match=message):
        match(aligned("MKTAY"), chain_of("WWW", [10, 11, 12]), table(columns, "WW", numbers))


# -- sequences ------------------------------------------------------------------------------------


def test_the_same_sequence():
    assert pairs(aligned(PROTEIN), chain_of(PROTEIN)) == [(i, i) for i in range(len(PROTEIN))]


def test_gaps_of_the_query_have_no_residue():
    assert pairs(aligned("-MKTA--Y-"), chain_of("MKTAY")) == [
        (1, 0),
        (2, 1),
        (3, 2),
        (4, 3),
        (7, 4),
    ]


def test_only_the_first_row_counts():
    assert len(pairs(aligned("MKTAY", "-----"), chain_of("MKTAY"))) == 5


def test_a_chain_that_is_longer_at_both_ends():
    assert pairs(aligned("MKTAY"), chain_of("GSHMKTAYLEHHHHHH")) == [(i, i + 3) for i in range(5)]


def test_a_query_that_is_longer_at_both_ends():
    assert pairs(aligned(PROTEIN), chain_of(PROTEIN[20:40])) == [(i + 20, i) for i in range(20)]


def test_two_that_overlap():
    assert pairs(aligned(PROTEIN[:45]), chain_of(PROTEIN[15:])) == [(i + 15, i) for i in range(30)]
    with pytest.raises(ValueError, match="agree in 15 residues and differ in 0"):
        match(aligned(PROTEIN[:45]), chain_of(PROTEIN[30:]))


def test_a_tag_behind_the_chain_is_not_paired():
    assert pairs(aligned(PROTEIN), chain_of(PROTEIN[:60] + "CWCW")) == [(i, i) for i in range(60)]


def test_ends_stay_with_their_neighbours():
    """The last residue of the chain also ends the query, far from where the chain ends."""
    chain = chain_of(PROTEIN[2:40] + PROTEIN[40])
    query = PROTEIN[:41] + "NASGNGSGG" + PROTEIN[40]
    assert pairs(aligned(query), chain) == [(i + 2, i) for i in range(39)]


def test_missing_residues_are_placed_by_the_numbers():
    query = "MTAYKKKKGGWDEPVL"
    for kept in ([0, 1, 2, 3, 4, 7, *range(8, 16)], [0, 1, 2, 3, 6, 7, *range(8, 16)]):
        chain = chain_of("".join(query[i] for i in kept), [i + 70 for i in kept])
        assert pairs(aligned(query), chain) == [(i, n) for n, i in enumerate(kept)]


def test_a_single_residue_between_two_gaps():
    kept = [*range(12), 16, *range(22, 60)]
    chain = chain_of("".join(PROTEIN[i] for i in kept), kept)
    assert pairs(aligned(PROTEIN), chain) == [(i, n) for n, i in enumerate(kept)]


@pytest.mark.parametrize("jump", [3, 900, 10**12, -30])
def test_numbers_that_jump_for_no_reason(jump):
    half = len(PROTEIN) // 2
    numbers = [i + jump * (i >= half) for i in range(len(PROTEIN))]
    assert pairs(aligned(PROTEIN), chain_of(PROTEIN, numbers)) == [
        (i, i) for i in range(len(PROTEIN))
    ]


@pytest.mark.parametrize("step", [2, 3, 40, 10_000])
def test_numbers_that_always_jump(step):
    numbers = range(0, step * len(PROTEIN), step)
    assert len(pairs(aligned(PROTEIN), chain_of(PROTEIN, numbers))) == len(PROTEIN)


def test_missing_residues_are_placed_beside_a_jump():
    query = "MTAYKKKKGGWDEPVL"
    for kept in ([0, 1, 2, 3, 4, 7, *range(8, 16)], [0, 1, 2, 3, 6, 7, *range(8, 16)]):
        numbers = [i + 1000 * (i > 10) for i in kept]
        chain = chain_of("".join(query[i] for i in kept), numbers)
        assert pairs(aligned(query), chain) == [(i, n) for n, i in enumerate(kept)]


def test_long_chains_with_strange_numbers_do_not_take_long():
    long = (PROTEIN * 21)[:1500]
    start = time.process_time()
    assert len(pairs(aligned(long), chain_of(long, range(0, 15_000_000, 10_000)))) == 1500
    assert time.process_time() - start < 5  # it took 45 s and 6.6 GB


def test_chains_too_long_to_compare():
    with pytest.raises(ValueError, match=r"has 9000 residues .* at most 67108864 pairs .* indices"):
        match(aligned("A" * 9000), chain_of("A" * 9000))
    with pytest.raises(ValueError, match=r"has 65537 residues .* queries of at most 65536"):
        match(aligned("A" * 65537), chain_of("AAAA", [1, 50_000, 50_001, 50_002]))


def test_insertion_codes_count_as_no_step():
    numbers = [1, 2, "2A", "2B", *range(3, len(PROTEIN) - 1)]
    assert len(pairs(aligned(PROTEIN), chain_of(PROTEIN, numbers))) == len(PROTEIN)


@pytest.mark.parametrize("seed", range(20))
def test_random_pieces_of_random_proteins(seed):
    rng = np.random.default_rng(seed)
    query = "".join(rng.choice(list(AMINO_ACIDS), 90))
    start, stop = rng.integers(0, 10), rng.integers(75, 91)
    seen = rng.random(90) > 0.04
    seen &= np.roll(seen, 1) & np.roll(seen, 2)  # missing in runs
    kept = [i for i in range(start, stop) if seen[i]]
    letters = [query[i] for i in kept]
    letters[len(letters) // 2] = "X"
    columns = np.sort(rng.choice(130, 90, replace=False))
    row = np.full(130, "-")
    row[columns] = list(query)
    chain = chain_of("".join(letters), np.array(kept) - 5)
    assert pairs(aligned("".join(row)), chain) == [(columns[i], n) for n, i in enumerate(kept)]


def changed(places):
    return "".join("W" if i in places else letter for i, letter in enumerate(PROTEIN))


def test_a_few_mutations_are_the_same_protein():
    mutant = changed({10, 30, 50})  # of 73
    assert len(pairs(aligned(PROTEIN), chain_of(mutant))) == len(PROTEIN)


def test_more_mutations_are_shown():
    mutant = changed({10, 30, 50, 70})
    with pytest.raises(ValueError, match="agree in 69 residues and differ in 4") as error:
        match(aligned(f"-{PROTEIN}"), chain_of(mutant, range(100, 173)))
    first, marks, below, _, *second = str(error.value).split("\n")[1:]
    assert first == f"   column 1 {PROTEIN[:60]}" and below == f"residue 100 {mutant[:60]}"
    assert [i - 12 for i, mark in enumerate(marks) if mark == "*"] == [10, 30, 50]
    assert second[0].split() == ["column", "61", PROTEIN[60:]]
    assert second[2].split() == ["residue", "160", mutant[60:]]


def test_lines_are_named_by_their_first_residue():
    mutant = changed({10, 20, 30, 40})
    numbers = [*range(10), *range(50, 116)]  # jump for no reason, which is not shown
    with pytest.raises(ValueError, match="differ in 4") as error:
        match(aligned(PROTEIN), chain_of("GSH" + mutant, numbers))
    above, _, below = str(error.value).split("\n")[1:4]
    assert above == f" column 0 ---{PROTEIN[:57]}" and below == f"residue 0 GSH{mutant[:57]}"
    with pytest.raises(ValueError, match="differ in 4") as error:
        match(aligned("GSH" + PROTEIN), chain_of(mutant, range(40, 113)))
    above, _, below = str(error.value).split("\n")[1:4]
    assert above == f"  column 0 GSH{PROTEIN[:57]}" and below == f"residue 40 ---{mutant[:57]}"


def test_unknown_residues_do_not_prove_anything():
    with pytest.raises(ValueError, match="agree in 5 residues and differ in 0"):
        match(aligned("MKTAY" + "X" * 20), chain_of("MKTAY" + "X" * 20))


def test_gaps_are_shown_without_marks():
    mutant = changed({3, 30, 50, 70})
    with pytest.raises(ValueError, match="differ in 4") as error:
        match(aligned(PROTEIN), chain_of(mutant[:10] + mutant[20:], [*range(10), *range(20, 73)]))
    shown = str(error.value).split("\n")
    assert shown[1] == f" column 0 {PROTEIN[:60]}"
    assert shown[3] == f"residue 0 {mutant[:10]}----------{mutant[20:60]}"
    assert [i - 10 for i, mark in enumerate(shown[2]) if mark == "*"] == [3, 30, 50]


@pytest.mark.parametrize(
    ("places", "lines", "rest"),
    [
        (range(60, 460, 5), range(60, 460, 60), ""),
        (range(0, 1460, 10), range(0, 480, 60), "17 more"),
    ],
)
def test_of_long_sequences_eight_lines_that_differ_are_shown(places, lines, rest):
    long = PROTEIN * 20
    mutant = "".join("W" if i in places else letter for i, letter in enumerate(long))
    with pytest.raises(ValueError, match="are they the same protein") as error:
        match(aligned(long), chain_of(mutant))
    shown = [line.split()[2] for line in str(error.value).split("\n") if "residue " in line[:12]]
    assert shown == [mutant[i : i + 60] for i in lines]
    assert str(error.value).endswith(rest or shown[-1])


@pytest.mark.parametrize(
    "sequence", ["WCWCWCWCWCWCWCWCHPHP" * 4, "X" * len(PROTEIN), PROTEIN[:20] + "WCHP" * 12]
)
def test_another_protein_is_refused_and_both_are_shown(sequence):
    with pytest.raises(ValueError, match="are they the same protein") as error:
        match(aligned(PROTEIN), chain_of(sequence))
    assert PROTEIN[:20] in str(error.value) and sequence[:20] in str(error.value)
    assert not any(line.endswith(" ") for line in str(error.value).split("\n"))


def test_a_query_of_gaps():
    with pytest.raises(ValueError, match="the first row of 'family' has gaps only"):
        match(aligned("---", "MKT"), chain_of("MKT"))


# -- real pairs -----------------------------------------------------------------------------------


def test_real_families():
    paths = sorted((SHARED / "kortemme" / "indices").glob("*"))
    if not paths:
        pytest.skip("kortemme is not on this machine")
    for path in paths:
        indices, lines = read_indices(path), path.read_text().splitlines()
        family = path.name.split(".")[0]
        alignment = read_alignment(SHARED / "kortemme" / "alignments" / f"{family}.fasta.gz")
        chain = read_structure(
            SHARED / "kortemme" / "structures" / f"{path.stem}.pdb", chain=indices.chain
        )
        columns, residues = match(alignment, chain, indices)
        assert [f"{c}\t{chain.sequence[r]}" for c, r in zip(columns, residues, strict=True)] == [
            "\t".join(line.split("\t")[:2]) for line in lines
        ]
        cut, piece = in_step(alignment, chain, columns, residues, own=False)
        assert np.array_equal(cut.rows, alignment.rows[:, columns])  # none has residues missing
        assert np.array_equal(piece.positions, chain.positions[residues], equal_nan=True)
    assert len(paths) == 29


@pytest.mark.parametrize(
    ("alignment", "structure", "columns"),
    [
        ("T1055", "T1055-D1", [*range(2, 124)]),
        ("2p90A02", "2p90A02", [*range(45)]),
        (
            "2hzrA00",
            "2hzrA00",
            [i for i in range(166) if i not in {*range(32, 36), 46, 48, 90, 154}],
        ),
    ],
)
def test_real_queries(alignment, structure, columns):
    path = SHARED / "prospr" / f"{alignment}.a3m"
    if not path.exists():
        pytest.skip("prospr is not on this machine")
    family, chain = read_alignment(path), read_structure(path.with_name(f"{structure}.pdb"))
    found, residues = match(family, chain)
    assert found.tolist() == columns and residues.tolist() == [*range(len(chain))]
    cut, piece = in_step(family, chain, found, residues, own=True)
    assert cut.query == piece.sequence
    between = np.arange(columns[0], columns[-1] + 1)  # the separation is that along the protein
    assert np.array_equal(cut.rows, family.rows[:, between])
    seen = ~np.isnan(piece.positions).any(1)
    assert between[seen].tolist() == columns and len(residues) == np.count_nonzero(seen)


def test_a_real_chain_and_the_table_of_another():
    folder = SHARED / "kortemme"
    if not folder.exists():
        pytest.skip("kortemme is not on this machine")
    alignment = read_alignment(folder / "alignments" / "PF00041.fasta.gz")
    chain = read_structure(folder / "structures" / "PF00041.1TEN_A.pdb")
    with pytest.raises(ValueError, match="are they of one structure"):
        match(alignment, chain, read_indices(folder / "indices" / "PF00018.2O9S_A.indices"))
