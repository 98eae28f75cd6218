"""Layers of made-up folds: what is beside what, which way it runs."""

import itertools

import numpy as np
import pytest

from sciops.proteins import chain_layout
from sciops.proteins.chain_layout import (
    BETWEEN_LAYERS,
    FOLDS,
    HELIX,
    LENGTHS,
    SPACING,
    STRAND,
    Element,
    lay_out,
    side_by_side,
)


def layouts(count=60, residues=150):
    return [lay_out(residues, np.random.default_rng([3, i])) for i in range(count)]


def strand_at(x, z=0.0, **changes):
    return Element(**{"kind": STRAND, "length": 5, "direction": 1, "shift": 0, **changes}, x=x, z=z)


def test_rungs_count_around_the_middle_in_the_order_of_the_chain():
    assert strand_at(0, length=5).rungs().tolist() == [-2, -1, 0, 1, 2]
    assert strand_at(0, length=4, direction=-1).rungs().tolist() == [1, 0, -1, -2]
    assert strand_at(0, length=3, shift=2).rungs().tolist() == [1, 2, 3]
    assert strand_at(0, length=3, shift=2, direction=-1).rungs().tolist() == [3, 2, 1]


def test_strands_are_side_by_side_in_one_sheet_only():
    elements = [
        strand_at(4.8),
        strand_at(0.0),
        strand_at(0.0, z=10.0),
        strand_at(4.8, kind=HELIX),
        strand_at(9.6),
        strand_at(14.0),
    ]
    assert side_by_side(elements) == [(0, 4), (1, 0)]


def test_elements_run_up_and_down_in_turn_and_have_usual_lengths():
    for elements in layouts():
        assert [e.direction for e in elements] == [(-1) ** i for i in range(len(elements))]
        for element in elements:
            assert LENGTHS[element.kind][0] <= element.length < LENGTHS[element.kind][1]
            assert element.shift in (-1, 0, 1)
    lengths = {e.length for elements in layouts() for e in elements if e.kind == STRAND}
    assert lengths == set(range(*LENGTHS[STRAND]))


def test_neighbours_in_a_layer_have_their_spacing_and_layers_theirs():
    for elements in layouts():
        for (kind, z), layer in layers_of(elements).items():
            x = sorted(e.x for e in layer)
            np.testing.assert_allclose(np.diff(x), SPACING[kind])
            assert z % (BETWEEN_LAYERS / 2) == 0
        heights = sorted({e.z for e in elements})
        assert all(b - a >= BETWEEN_LAYERS for a, b in itertools.pairwise(heights))


def layers_of(elements):
    found = {}
    for element in elements:
        found.setdefault((element.kind, element.z), []).append(element)
    return found


def test_the_layers_inside_are_around_zero():
    for elements in layouts():
        sheets = {e.z for e in elements if e.kind == STRAND}
        assert sheets <= {0.0} or sheets <= {-5.0, 5.0}
        if not sheets:
            heights = sorted({e.z for e in elements})
            np.testing.assert_allclose(np.diff(heights), BETWEEN_LAYERS)
            assert sum(heights) == 0


def test_strands_are_inside_and_helices_around_them():
    mixed = [e for e in layouts() if {HELIX, STRAND} == {element.kind for element in e}]
    assert mixed
    for elements in mixed:
        sheets = [abs(e.z) for e in elements if e.kind == STRAND]
        helices = {abs(e.z) for e in elements if e.kind == HELIX}
        assert helices == {max(sheets) + BETWEEN_LAYERS}


@pytest.mark.parametrize(
    ("fold", "strands", "sheets"), [(0, 0, 0), (1, 0.94, 2), (2, 0.5, 1), (3, 0.67, 1)]
)
def test_folds_have_their_shares_of_strands_and_their_sheets(monkeypatch, fold, strands, sheets):
    kind = FOLDS[fold]
    monkeypatch.setattr(chain_layout, "FOLDS", (type(kind)(1.0, *list(vars(kind).values())[1:]),))
    made = layouts(80)
    kinds = [e.kind for elements in made for e in elements]
    assert abs(kinds.count(STRAND) / len(kinds) - strands) < 0.06
    first = [elements[0].kind == STRAND for elements in made]
    assert np.mean(first) == pytest.approx(kind.strand_after_helix, abs=0.1)
    found = [len({e.z for e in elements if e.kind == STRAND}) for elements in made]
    assert max(found) == sheets
    if sheets == 2:
        assert np.mean(found) > 1.8


def test_all_kinds_of_folds_occur():
    assert sum(fold.share for fold in FOLDS) == pytest.approx(1)
    without_strands = [all(e.kind == HELIX for e in elements) for elements in layouts(200, 120)]
    assert 0.13 < np.mean(without_strands) < 0.30


def test_many_helices_make_several_layers():
    layers = {1: 1, 2: 1, 3: 2, 4: 2, 5: 2, 6: 2, 7: 3, 8: 3, 9: 3, 10: 3, 11: 3, 12: 3}
    for elements in [*layouts(50, 200), *layouts(50, 60)]:
        if all(element.kind == HELIX for element in elements):
            assert len({e.z for e in elements}) == layers[len(elements)]


def test_a_strand_a_helix_and_a_strand_are_a_turn_of_a_right_handed_screw():
    """A screw that moves along Δ turns about ω = r × v; r from its axis to the first strand."""
    turns = 0
    for elements in layouts():
        for one, helix, other in zip(elements, elements[1:], elements[2:], strict=False):
            if (one.kind, helix.kind, other.kind) != (STRAND, HELIX, STRAND) or one.x == other.x:
                continue
            from_axis = np.array([0, 0, (one.z - helix.z) / 2])
            turning = np.cross(from_axis, [0, one.direction, 0])
            assert turning @ [other.x - one.x, 0, 0] > 0
            turns += 1
    assert turns > 50


def test_pairs_are_parallel_and_antiparallel():
    pairs = [
        elements[i].direction * elements[j].direction
        for elements in layouts()
        for i, j in side_by_side(elements)
    ]
    assert 0.2 < np.mean(np.array(pairs) == 1) < 0.6


def test_more_residues_have_more_elements_and_few_have_one():
    counts = {n: np.mean([len(e) for e in layouts(30, n)]) for n in (10, 60, 120, 240)}
    assert counts[10] == 1
    assert 3 < counts[60] < 6
    assert 1.8 < counts[240] / counts[120] < 2.3


def test_strands_that_follow_each_other_are_mostly_neighbours():
    followers = near = 0
    for elements in layouts():
        beside = {frozenset(pair) for pair in side_by_side(elements)}
        for i in range(len(elements) - 1):
            if elements[i].kind == elements[i + 1].kind == STRAND:
                followers += 1
                near += frozenset((i, i + 1)) in beside
    assert 0.35 < near / followers < 0.8


def test_strands_that_follow_each_other_are_rather_in_one_sheet():
    same = [
        one.z == other.z
        for elements in layouts()
        if {e.z for e in elements if e.kind == STRAND} == {-5.0, 5.0}
        for one, other in itertools.pairwise(elements)
        if one.kind == other.kind == STRAND
    ]
    assert 0.5 < np.mean(same) < 0.75


def wanted_x(elements, place):
    """In the middle of the strands before and after a helix."""
    before = [e.x for e in elements[:place] if e.kind == STRAND][-1:]
    after = [e.x for e in elements[place:] if e.kind == STRAND][:1]
    return np.mean(before + after)


def test_helices_are_beside_the_strands_that_they_connect():
    for elements in layouts():
        if STRAND not in {e.kind for e in elements}:
            continue
        for (kind, _), layer in layers_of(elements).items():
            if kind == HELIX:
                row = sorted(layer, key=lambda e: e.x)
                wanted = [wanted_x(elements, elements.index(e)) for e in row]
                assert wanted == sorted(wanted)
                assert np.mean([e.x for e in row]) == pytest.approx(np.mean(wanted), abs=1e-9)


def test_two_helices_between_strands_are_on_any_sides():
    sides = set()
    for elements in layouts(300):
        kinds = "".join(e.kind for e in elements)
        place = kinds.find(STRAND + 2 * HELIX + STRAND)
        if place >= 0:
            sides.add((elements[place + 1].z > 0, elements[place + 2].z > 0))
    assert len(sides) == 4
