"""Ideal helices and strands, loops and side chains, by hand and by finite differences."""

import math
from pathlib import Path

import numpy as np
import pytest

from sciops.proteins.chain_geometry import (
    OUTWARD,
    SIDEWAYS,
    assemble,
    connect,
    helix,
    pull_back,
    shortest_loops,
    side_chains,
    strand,
)
from sciops.proteins.chain_layout import HELIX, STRAND, Element
from sciops.proteins.structures import read_structure

SHARED = Path(__file__).resolve().parents[2].parent / "shared" / "data" / "protein"


def angle(a, b, c):
    """The bond angle at b, in degrees."""
    u, v = (a - b) / np.linalg.norm(a - b), (c - b) / np.linalg.norm(c - b)
    return math.degrees(math.acos(u @ v))


def dihedral(a, b, c, d):
    """The angle about b – c, in degrees; positive if d is clockwise of a, seen from b."""
    one, axis, other = b - a, c - b, d - c
    left, right = np.cross(one, axis), np.cross(axis, other)
    return math.degrees(math.atan2(np.linalg.norm(axis) * (one @ right), left @ right))


def random_chain(n=12, seed=0):
    steps = np.random.default_rng(seed).standard_normal((n, 3))
    return np.cumsum(3.8 * steps / np.linalg.norm(steps, axis=1, keepdims=True), axis=0)


def test_a_helix_has_the_angles_of_alpha_helices():
    x = helix(8, phase=1.0)
    assert np.linalg.norm(x[1] - x[0]) == pytest.approx(3.8, abs=0.03)
    assert angle(*x[2:5]) == pytest.approx(91, abs=2)
    assert dihedral(*x[2:6]) == pytest.approx(50, abs=2)
    np.testing.assert_allclose(x[:, 1].mean(), 0, atol=1e-12)


def test_a_strand_has_the_angles_of_beta_strands_and_its_rungs():
    x = strand(np.arange(-2, 4))
    assert np.linalg.norm(x[1] - x[0]) == pytest.approx(3.8, abs=0.05)
    assert 115 < angle(*x[1:4]) < 130
    assert abs(dihedral(*x[1:5])) == pytest.approx(180)
    np.testing.assert_allclose(x[:, 1], 3.3 * np.arange(-2, 4))
    np.testing.assert_allclose(x[:, 2], [0.9, -0.9, 0.9, -0.9, 0.9, -0.9])
    np.testing.assert_allclose(strand(np.array([3, 2, 1]))[:, 2], [-0.9, 0.9, -0.9])  # as its rungs


def element(kind, direction=1, shift=0, x=0.0, z=0.0, length=8):
    return Element(kind, length, direction, shift, x, z)


@pytest.mark.parametrize("kind", [HELIX, STRAND])
@pytest.mark.parametrize("direction", [-1, 1])
def test_elements_are_where_the_layout_has_them(kind, direction):
    made = [
        assemble([element(kind, direction, 1, x=0.0, z=10.0)], np.random.default_rng(i))[0]
        for i in range(300)
    ]
    middle = np.mean(made, axis=(0, 1))
    assert middle == pytest.approx([0, 3.3 - (1.65 if kind == STRAND else 0), 10.0], abs=0.15)
    along = np.mean(made, axis=0)[-1] - np.mean(made, axis=0)[0]
    assert along[1] * direction > 0
    assert np.std(made, axis=0).max() > 0.25  # none is where another is


def test_elements_lean_a_little():
    made = [assemble([element(STRAND)], np.random.default_rng(i))[0] for i in range(300)]
    axes = np.array([(x[-2] - x[0]) / np.linalg.norm(x[-2] - x[0]) for x in made])
    np.testing.assert_allclose(axes[:, [0, 2]].std(0), 0.12, atol=0.02)


@pytest.mark.parametrize("direction", [-1, 1])
def test_all_helices_are_right_handed(direction):
    for i in range(10):
        x = assemble([element(HELIX, direction, x=12.0)], np.random.default_rng(i))[0]
        assert dihedral(*x[2:6]) == pytest.approx(50, abs=12)


def test_neighbouring_strands_are_twisted_to_the_left():
    angles = []
    for i in range(100):
        pair = [element(STRAND, x=x) for x in (0.0, 4.8)]
        one, other = (x[-1] - x[0] for x in assemble(pair, np.random.default_rng(i)))
        heading = [math.atan2(v[2], v[1]) for v in (one, other)]
        angles.append(math.degrees(heading[1] - heading[0]))
    assert -15 < np.mean(angles) < -11  # uniform from −8 to −18


def test_twisting_keeps_a_layer_in_its_distance_from_the_axis():
    made = [
        assemble([element(HELIX, x=20.0, z=10.0)], np.random.default_rng(i))[0].mean(0)
        for i in range(100)
    ]
    assert np.mean([np.hypot(y, z) for _, y, z in made]) == pytest.approx(10.0, abs=0.15)
    assert np.mean([x for x, _, _ in made]) == pytest.approx(20.0, abs=0.15)
    assert np.std([z for _, _, z in made]) > 1


def test_loops_are_long_enough_for_their_gaps():
    pieces = [np.array([[0.0, 0, 0]]), np.array([[4.0, 0, 0], [5, 0, 0]]), np.array([[25.0, 0, 0]])]
    assert shortest_loops(pieces).tolist() == [1, 2, 6, 1]  # 7 bonds of 3 Å bridge 20 Å, not 6
    assert shortest_loops(pieces[:1]).tolist() == [1, 1]


def test_connecting_keeps_the_pieces_and_counts_the_loops():
    pieces = [
        helix(9),
        helix(7) + np.array([10, 0, 0]),
        strand(np.arange(5)) + np.array([20, 0, 0]),
    ]
    x = connect(pieces, [2, 5, 4, 3], np.random.default_rng(0))
    assert x.shape == (9 + 7 + 5 + 14, 3)
    for start, piece in zip((2, 16, 27), pieces, strict=True):
        np.testing.assert_array_equal(x[start : start + len(piece)], piece)


def test_loops_go_on_as_the_piece_before_them_and_end_at_the_next():
    up, down = strand(np.arange(6)), strand(np.arange(6)[::-1]) + np.array([10, 0, 0])
    loops = [connect([up, down], [3, 7, 3], np.random.default_rng(i)) for i in range(200)]
    x = np.mean(loops, axis=0)
    top = up[-1, 1]
    assert (x[9:16, 1] > top + 1).all()  # above both strands
    assert x[9:16, 1].argmax() == 3
    assert x[9:16, 1].max() == pytest.approx(top + math.sqrt(24**2 - 10**2) / 2, abs=0.3)
    np.testing.assert_allclose(np.diff(x[8:17, 0]), 10 / 8, atol=0.3)
    np.testing.assert_allclose(np.diff(x[:4, 1]), 3.0, atol=0.4)  # tails: straight on
    np.testing.assert_allclose(np.diff(x[-4:, 1]), -3.0, atol=0.4)
    assert 0.5 < np.std(loops, axis=0)[9:16].mean() < 0.9


def test_a_stretched_loop_is_straight():
    pieces = [strand(np.arange(6)), strand(np.arange(6)) + np.array([40, 0, 0])]
    loops = [connect(pieces, [1, 2, 1], np.random.default_rng(i)) for i in range(200)]
    straight = pieces[0][-1] + np.outer([1, 2], pieces[1][0] - pieces[0][-1]) / 3
    np.testing.assert_allclose(np.mean(loops, axis=0)[7:9], straight, atol=0.2)


def test_side_chains_by_hand():
    """A right angle in the plane z = 0, turning left: outwards is (1, −1), across is z."""
    x = np.array([[0.0, 0, 0], [3.8, 0, 0], [3.8, 3.8, 0]])
    offset = np.array([OUTWARD / math.sqrt(2), -OUTWARD / math.sqrt(2), SIDEWAYS])
    np.testing.assert_allclose(side_chains(x) - x, [offset] * 3)
    assert np.linalg.norm(offset) == pytest.approx(1.53, abs=0.005)


def test_side_chains_move_with_the_chain():
    x = random_chain()
    turn = np.linalg.qr(np.random.default_rng(1).standard_normal((3, 3)))[0]
    turn *= np.linalg.det(turn)  # no mirror image
    np.testing.assert_allclose(side_chains(x @ turn.T + 5), side_chains(x) @ turn.T + 5, atol=1e-12)
    assert abs(side_chains(-x) + side_chains(x)).max() > 0.5  # but not in a mirror


def test_pulling_back_is_the_transposed_derivative():
    x, gradient = random_chain(), np.random.default_rng(2).standard_normal((12, 3))
    slow = np.zeros_like(x)
    for place in np.ndindex(x.shape):
        step = np.zeros_like(x)
        step[place] = 1e-6
        change = side_chains(x + step) - side_chains(x - step)
        slow[place] = (gradient * change).sum() / 2e-6
    np.testing.assert_allclose(pull_back(x, gradient), slow, atol=1e-8)


@pytest.mark.skipif(not SHARED.exists(), reason="no real structures beside the repository")
def test_side_chains_of_a_real_protein_are_placed_to_half_an_angstrom():
    path = next((SHARED / "kortemme" / "structures").glob("PF00254*.pdb"))
    alpha = np.array(
        [
            [float(line[30:38]), float(line[38:46]), float(line[46:54])]
            for line in path.read_text().splitlines()
            if line.startswith("ATOM") and line[12:16].strip() == "CA" and line[16] in " A"
        ]
    )
    chain = read_structure(path)
    assert len(alpha) == len(chain)
    error = np.linalg.norm(side_chains(alpha) - chain.positions, axis=1)
    inner = [i for i in range(1, len(alpha) - 1) if chain.sequence[i] != "G"]
    assert np.median(error[inner]) < 0.4
    assert np.median(np.linalg.norm(alpha - chain.positions, axis=1)[inner]) > 1.5
