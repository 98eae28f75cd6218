"""How far apart residues are along the chain, whatever the alignment or the structure lacks."""

import numpy as np
import pytest
import torch

from sciops.metrics.distance_map import log_cosh, mae, map_scores
from sciops.proteins.alignments import LETTERS, Alignment
from sciops.proteins.columns import Indices, match
from sciops.proteins.map_windows import MapWindows, input_map, map_task
from sciops.proteins.own_files import Files, protein_from
from sciops.proteins.places import in_step
from sciops.proteins.structures import Chain
from tests.proteins.test_own_files import fasta, pdb

NAN = np.nan


def aligned(*rows):
    codes = np.array([[LETTERS.index(letter) for letter in row] for row in rows], np.uint8)
    return Alignment("family", codes, tuple(f"row{i}" for i in range(len(rows))))


def chain_of(sequence, numbers, missing=()):
    positions = np.arange(3.0 * len(sequence)).reshape(-1, 3)
    return Chain("structure", sequence, positions, tuple(map(str, numbers)), ("seen",), missing)


def both(alignment, chain, indices=None):
    """The query and another row, then sequence, numbers and first coordinates of the chain."""
    cut, piece = in_step(alignment, chain, *match(alignment, chain, indices), own=indices is None)
    rows = ["".join(LETTERS[code] for code in row) for row in cut.rows]
    return rows, piece.sequence, piece.numbers, piece.positions[:, 0], piece.notes


def test_ends_that_only_one_has_are_cut():
    rows, sequence, numbers, x, notes = both(
        aligned("-MKT", "AM-T"), chain_of("GMKTW", [4, 5, 6, "6A", 7])
    )
    assert rows == ["MKT", "M-T"] and sequence == "MKT" and numbers == ("5", "6", "6A")
    assert x.tolist() == [3, 6, 9]
    assert notes == ("seen", "3 of 5 residues have a column in 'family'")


def test_what_is_whole_has_no_note():
    assert both(aligned("-MKT"), chain_of("MKT", [1, 2, 3]))[-1] == ("seen",)


def test_columns_of_residues_that_the_structure_lacks_stay():
    chain = chain_of("MKTLEH", [1, 2, 3, 7, 8, 9])
    rows, sequence, numbers, x, notes = both(aligned("MKTA-YILEH", "MK-AWY-LE-"), chain)
    assert rows == ["MKTAYILEH", "MK-AY-LE-"]  # the gap of the query is no place
    assert sequence == "MKTAYILEH"
    assert numbers == ("1", "2", "3", "", "", "", "7", "8", "9")
    np.testing.assert_array_equal(x, [0, 3, 6, NAN, NAN, NAN, 9, 12, 15])
    lacking = "A in column 3, Y in column 5, I in column 6"
    assert notes == ("seen", f"residues of the query that the structure lacks: {lacking}")


def test_residues_that_the_query_lacks_stay():
    chain = chain_of("MKTAYIAWWKQRQIS", range(15))
    rows, sequence, _, x, notes = both(aligned("MKTAYIAKQRQIS", "MKTAYIAKQRQIW"), chain)
    assert rows == ["MKTAYIA--KQRQIS", "MKTAYIA--KQRQIW"] and sequence == "MKTAYIAWWKQRQIS"
    assert x.tolist() == [3 * i for i in range(15)]
    assert "residues between these that have no column, now gaps: 7, 8" in notes


def test_of_a_piece_with_other_letters_nothing_is_known():
    left, right = "MKTAYIAKQRQISFVKSHFSRQL", "EERLGLIEVQAPILSRVGDGTQDNL"
    chain = chain_of(left + "WWWWWWW" + right, range(55))
    rows, sequence, _, x, _ = both(aligned(left + "GGGGG" + right), chain)
    assert rows[0] == left + "GGGGG--" + right and sequence == left + "GGGGGXX" + right
    assert np.isnan(x[23:30]).all() and x[30] == 90


@pytest.mark.parametrize(
    ("missing", "places"), [((), 4), ((0, 0, 3, 0), 7), ((0, 0, 90, 0), 4), ((0, 1, 0, 2), 7)]
)
def test_of_another_query_the_numbers_in_the_structure_count(missing, places):
    """Columns between are of the other protein: how many there are does not matter."""
    table = Indices("table", np.array([0, 4, 8, 9]), "MKTA", ("1", "2", "3", "4"), "A")
    rows, sequence, _, x, _ = both(
        aligned("WWWWWWWWWW"), chain_of("MKTA", [1, 2, 3, 4], missing), table
    )
    assert len(rows[0]) == len(sequence) == places
    assert sequence.replace("X", "") == "MKTA" and rows[0].replace("-", "") == "WWWW"
    assert np.count_nonzero(~np.isnan(x)) == 4


def test_of_another_query_residues_without_a_column_stay():
    table = Indices("table", np.array([0, 1]), "MA", ("1", "4"), "A")
    rows, sequence, _, x, notes = both(aligned("WW"), chain_of("MKTA", [1, 2, 3, 4]), table)
    assert rows == ["W--W"] and sequence == "MKTA" and x.tolist() == [0, 3, 6, 9]
    assert "residues between these that have no column, now gaps: 2, 3" in notes


def test_letters_that_differ_are_named():
    query = "MKTAYIAKQRQISFVKSHFSRQLEERLGLIEVQAPILSRVGD"
    chain = chain_of(query[:10] + "W" + query[11:30] + "X" + query[31:], range(100, 142))
    *_, notes = both(aligned(f"-{query}"), chain)
    assert notes[1:] == ("letters of query and structure that differ: Q in column 11 is W 110",)


# -- from files to losses and scores ---------------------------------------------------------------


@pytest.fixture
def with_a_gap(tmp_path):
    """A protein of 40 residues of which the structure lacks 10 to 19."""
    query = "AGLKSTTLKAGSLTKAALGKSTGLKALSTKGAATLLKSGT"
    lines = pdb(query).splitlines(keepends=True)
    seen = [line for line in lines if line[:4] != "ATOM" or not 10 <= int(line[22:26]) - 1 < 20]
    (tmp_path / "gap.pdb").write_text("".join(seen))
    (tmp_path / "gap.fasta").write_text(fasta(query))
    return protein_from(Files(tmp_path / "gap.fasta", tmp_path / "gap.pdb")), query


def test_separations_are_those_of_the_protein(with_a_gap):
    protein, query = with_a_gap
    assert protein.sequence == query and len(protein) == 40
    assert protein.distance[9, 20] == pytest.approx(11 * 3.8, abs=1)
    task = map_task(protein, window=48)
    everything = input_map(protein, task, slice(None), slice(None))
    assert everything[-1][9, 20] == pytest.approx(np.log1p(11))
    assert np.isfinite(everything).all()


def test_losses_and_scores_skip_what_the_structure_lacks(with_a_gap):
    protein, _ = with_a_gap
    unknown = np.isnan(protein.distance)
    assert unknown[10:20, :10].all() and not unknown[:10, 20:].any()
    batch = MapWindows([protein], map_task(protein, window=48)).__getitems__([0])
    assert np.array_equal(np.isnan(batch.y[0, 0, :40, :40].numpy()), unknown)
    loss = log_cosh(torch.full_like(batch.y, 16.0), batch.y)
    assert torch.equal(log_cosh(batch.y.nan_to_num(16.0).clamp(max=16), batch.y), torch.zeros(1))
    assert loss.isfinite().all() and loss > 0
    truth = np.where(unknown, NAN, np.minimum(protein.distance, 7))  # all are contacts
    wrong = np.where(unknown, 99.0, truth + 1)
    np.fill_diagonal(wrong, 0)
    assert mae(wrong, truth) == pytest.approx(1)
    assert map_scores(wrong, truth)["precision_Nc"] == 1
