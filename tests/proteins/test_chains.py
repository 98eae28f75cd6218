"""Made-up proteins: the same ones always, shaped like real ones, with features worth learning."""

import math
from functools import lru_cache
from pathlib import Path

import numpy as np
import pytest

from sciops.domains.domain import SPLIT_STARTS
from sciops.proteins import chains
from sciops.proteins.chain_geometry import side_chains
from sciops.proteins.chains import (
    distances,
    fold_chain,
    generate_proteins,
    is_sound,
    nearest,
    synthetic_protein,
    usual_radius,
)
from sciops.proteins.protein import AMINO_ACIDS
from sciops.proteins.structures import distance_map, read_structure

SHARED = Path(__file__).resolve().parents[2].parent / "shared" / "data" / "protein"
COUNT = 20


@lru_cache
def made():
    """Synthetic proteins 0, 1, …, and the Cα and structure that each was made of."""
    found = []

    def recording(residues, rng):
        found.append(fold_chain(residues, rng))
        return found[-1]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(chains, "fold_chain", recording)
        return generate_proteins(range(COUNT), progress=False), found


def proteins():
    return made()[0]


def traces():
    return made()[1]


def same(one, other):
    assert (one.name, one.sequence) == (other.name, other.sequence)
    np.testing.assert_array_equal(one.distance, other.distance)
    for own, others in ((one.maps, other.maps), (one.profiles, other.profiles)):
        assert own.keys() == others.keys()
        for name in own:
            np.testing.assert_array_equal(own[name], others[name])


# -- the same ones always -------------------------------------------------------------------------


def test_a_protein_depends_on_its_number_alone():
    same(synthetic_protein(5), proteins()[5])
    backwards = generate_proteins([9, 5], progress=False)
    same(backwards[0], proteins()[9])
    same(backwards[1], proteins()[5])
    np.random.seed(3)  # somebody else's numbers
    same(synthetic_protein(np.int64(5), length=[60, 200]), proteins()[5])


def test_seeds_numbers_and_splits_give_other_proteins():
    options = dict(length=(40, 40))
    numbers = [0, 1, *(SPLIT_STARTS[split] for split in ("val", "test"))]
    others = [synthetic_protein(number, **options) for number in numbers]
    others.append(synthetic_protein(0, seed=1, **options))
    assert len({p.sequence for p in others}) == len({p.name for p in others}) == 5
    for i, one in enumerate(others):
        for other in others[:i]:
            assert abs(one.distance - other.distance).max() > 3


def test_they_say_that_they_are_synthetic():
    assert synthetic_protein(3, seed=2, length=(30, 30)).name == "synthetic-2-3"
    assert "SYNTHETIC" in chains.__doc__


def test_lengths_are_spread_over_the_range_with_its_ends():
    assert {len(synthetic_protein(i, length=(30, 31))) for i in range(6)} == {30, 31}
    lengths = [len(p) for p in proteins()]
    assert 60 <= min(lengths) < 90 < 170 < max(lengths) <= 200


# -- shaped like real ones ------------------------------------------------------------------------


def slow_distances(protein, alpha):
    """Between Cβ, and Cα of glycine, pair by pair."""
    beta = side_chains(alpha)
    places = [alpha[i] if letter == "G" else beta[i] for i, letter in enumerate(protein.sequence)]
    return [[math.dist(a, b) for b in places] for a in places]


@pytest.mark.parametrize("number", [0, 1])
def test_distances_are_between_side_chains_and_those_of_glycine_at_the_chain(number):
    protein = proteins()[number]
    assert "G" in protein.sequence
    slow = slow_distances(protein, traces()[number][0])
    np.testing.assert_allclose(protein.distance, slow, atol=1e-4)
    assert (np.diagonal(protein.distance) == 0).all()


def test_bonds_are_as_long_as_bonds():
    for alpha, _ in traces():
        bonds = np.linalg.norm(np.diff(alpha, axis=0), axis=1)
        assert 3.65 < bonds.min() < bonds.max() < 3.95


def test_no_residues_overlap():
    for alpha, _ in traces():
        assert nearest(alpha) > 3.8
        assert nearest(side_chains(alpha)) > 3.4


def test_the_size_is_that_of_folded_proteins():
    sizes = [math.sqrt(alpha.var(0).sum()) / (2.2 * len(alpha) ** 0.38) for alpha, _ in traces()]
    assert 0.82 < min(sizes) < max(sizes) < 1.18
    assert np.mean(sizes) == pytest.approx(1, abs=0.04)


def test_some_chains_shall_be_wider_than_others(monkeypatch):
    wanted = []
    monkeypatch.setattr(chains, "relax", lambda x, limits, radius: wanted.append(radius) or x)
    monkeypatch.setattr(chains, "is_sound", lambda alpha: True)
    for seed in range(80):
        alpha, structure = fold_chain(90, np.random.default_rng(seed))
        assert len(alpha) == len(structure) == 90
    ratio = np.array(wanted) / usual_radius(90)
    assert ratio.mean() == pytest.approx(1, abs=0.015)
    assert ratio.std() == pytest.approx(0.04, abs=0.012)


def test_the_shares_of_helix_and_strand_are_usual():
    structures = [structure for _, structure in traces()]
    assert set("".join(structures)) == {"H", "E", "C"}
    helix, strand = (np.mean([s.count(kind) / len(s) for s in structures]) for kind in "HE")
    assert 0.2 < helix < 0.5
    assert 0.15 < strand < 0.45
    assert min(s.count("C") / len(s) for s in structures) > 0.15


def angles(a, b, c):
    one, other = a - b, c - b
    sizes = np.linalg.norm(one, axis=1) * np.linalg.norm(other, axis=1)
    return np.degrees(np.arccos((one * other).sum(1) / sizes))


def dihedrals(a, b, c, d):
    one, axis, other = b - a, c - b, d - c
    left, right = np.cross(one, axis), np.cross(axis, other)
    sine = np.linalg.norm(axis, axis=1) * (one * right).sum(1)
    return np.degrees(np.arctan2(sine, (left * right).sum(1)))


def inside(kind):
    """Four residues in a row of one kind, of all chains: four arrays (n, 3)."""
    found = [
        alpha[i : i + 4]
        for alpha, structure in traces()
        for i in range(len(structure) - 3)
        if structure[i : i + 4] == 4 * kind
    ]
    return np.array(found).swapaxes(0, 1)


def test_helices_are_right_handed_with_the_angles_of_alpha_helices():
    windows = inside("H")
    assert angles(*windows[:3]).mean() == pytest.approx(91, abs=3)
    assert np.median(dihedrals(*windows)) == pytest.approx(50, abs=4)
    assert (abs(dihedrals(*windows) - 50) < 25).mean() > 0.97


def test_strands_are_extended():
    windows = inside("E")
    assert 115 < angles(*windows[:3]).mean() < 130
    assert (abs(dihedrals(*windows)) > 130).mean() > 0.85


def contacts(distance, least):
    return (distance[np.triu_indices(len(distance), least)] < 8).sum() / len(distance)


def test_there_are_as_many_contacts_as_in_real_proteins():
    """29 X-ray structures of 64 to 150 residues have 2.9 (2.6 to 3.3) and 1.2 (0.5 to 1.7)."""
    every = [contacts(p.distance, 3) for p in proteins()]
    long_range = [contacts(p.distance, 24) for p in proteins()]
    assert 2.6 < np.mean(every) < 3.3
    assert 1.0 < np.mean(long_range) < 1.8
    assert 0.3 < min(long_range) < max(long_range) < 3


@pytest.mark.skipif(not SHARED.exists(), reason="no real structures beside the repository")
def test_distances_are_distributed_as_in_real_proteins():
    """Pairs a residue in shells of distance, against six real chains."""
    files = sorted((SHARED / "kortemme" / "structures").glob("*.pdb"))[::5]
    real = np.mean([shells(distance_map(read_structure(file))) for file in files], axis=0)
    synthetic = np.mean([shells(p.distance) for p in proteins() if len(p) < 130], axis=0)
    np.testing.assert_allclose(synthetic, real, rtol=0.3)


def shells(distance):
    pairs = distance[np.triu_indices(len(distance), 6)]
    return np.histogram(pairs, [3, 6, 8, 10, 12, 14])[0] / len(distance)


def test_sheets_make_lines_of_long_range_contacts_along_and_across_the_diagonal():
    found = {"parallel": 0, "antiparallel": 0}
    for protein in proteins():
        near = np.triu(protein.distance < 6.5, 24)
        found["parallel"] += lines(near)
        found["antiparallel"] += lines(near[:, ::-1])
    assert min(found.values()) >= 10


def lines(near):
    """How many lines of four contacts run down and to the right."""
    end = len(near) - 3
    return (
        sum(near[k : end + k, k : end + k].astype(int) for k in range(4)).ravel().tolist().count(4)
    )


# -- chains that are not like this ----------------------------------------------------------------


def spoiled(change):
    alpha = traces()[1][0].copy()
    change(alpha)
    return alpha


def push_together(alpha):
    """A far residue comes near the first one, with its neighbours, so that no bond breaks."""
    pairs = distances(alpha)[0]
    j = max(range(20, len(alpha) - 1), key=lambda k: -pairs[k])
    alpha[0] += 0.97 * (alpha[j] - alpha[0])


def test_sound_chains_are_told_from_others():
    assert is_sound(traces()[1][0])
    assert not is_sound(spoiled(push_together))
    assert not is_sound(1.1 * traces()[1][0])  # bonds of 4.2 Å
    line = np.zeros((60, 3))
    line[:, 0] = 3.3 * np.arange(60)
    line[:, 1] = 0.95 * (-1.0) ** np.arange(60)
    line[:, 2] = 0.3 * np.sin(np.arange(60))
    assert not is_sound(line)  # bonds and neighbours are right, the size is not


@pytest.mark.parametrize(
    ("limit", "value"),
    [("BOND_ERROR", 0.0), ("SIZE_ERROR", 0.0), ("LEAST_APART", (9, 0)), ("LEAST_APART", (0, 9))],
)
def test_every_condition_counts(monkeypatch, limit, value):
    monkeypatch.setattr(chains, limit, value)
    assert not is_sound(traces()[1][0])


def test_nearest_is_over_pairs_three_apart():
    x = np.array([[0.0, 0, 0], [1, 0, 0], [2, 0, 0], [7, 0, 0], [0, 5.5, 1]])
    assert nearest(x) == pytest.approx(math.dist(x[0], x[4]))
    assert nearest(x[:4]) == pytest.approx(7)


def test_a_tangled_chain_is_made_again(monkeypatch):
    first, _ = fold_chain(40, np.random.default_rng(0))
    verdicts = iter([False, False, True, True])
    monkeypatch.setattr(chains, "is_sound", lambda alpha: next(verdicts))
    third, structure = fold_chain(40, np.random.default_rng(0))
    assert next(verdicts)  # the third was taken
    assert len(structure) == len(third) == 40
    assert abs(distances(first) - distances(third)).max() > 1


def test_attempts_come_to_an_end(monkeypatch):
    tried = []
    monkeypatch.setattr(chains, "ATTEMPTS", 2)
    monkeypatch.setattr(chains, "is_sound", tried.append)
    alpha, structure = fold_chain(30, np.random.default_rng(0))
    assert len(tried) == 2
    assert alpha is tried[-1]
    assert len(structure) == 30


def test_the_usual_radius():
    assert usual_radius(100) == pytest.approx(12.66, abs=0.01)


# -- features -------------------------------------------------------------------------------------


def test_features_have_the_names_and_shapes_of_real_ones():
    for protein in proteins()[:4]:
        n = len(protein)
        profiles = {name: values.shape for name, values in protein.profiles.items()}
        assert profiles == {"profile": (n, 22), "entropy": (n, 1)}
        assert set(protein.maps) == {"mutual_information", "couplings"}
        for values in (*protein.profiles.values(), *protein.maps.values(), protein.distance):
            assert values.dtype == np.float32
            assert np.isfinite(values).all()
        assert set(protein.sequence) <= set(AMINO_ACIDS)


def precision(scores, distance, count):
    """The part of the `count` best pairs, 24 or more apart, that are contacts."""
    pairs = [(i, j) for i in range(len(scores)) for j in range(i + 24, len(scores))]
    best = sorted(pairs, key=lambda pair: -scores[pair])[:count]
    return np.mean([distance[pair] < 8 for pair in best])


def test_couplings_find_contacts_as_well_as_real_ones_and_leave_much_to_learn():
    scores = {
        (name, share): np.mean(
            [precision(p.maps[name], p.distance, round(share * len(p))) for p in proteins()]
        )
        for name in ("couplings", "mutual_information")
        for share in (0.2, 1.0)
    }
    assert 0.6 < scores["couplings", 0.2] < 0.85
    assert 0.25 < scores["couplings", 1.0] < 0.5
    assert scores["mutual_information", 0.2] < scores["couplings", 0.2] - 0.03


def test_letters_know_the_structure_and_the_inside():
    inside, outside, loops, others = "", "", "", ""
    for number, protein in enumerate(proteins()):
        crowd = (distances(side_chains(traces()[number][0])) < 10).sum(1)
        for i, letter in enumerate(protein.sequence):
            if crowd[i] > np.quantile(crowd, 0.75):
                inside += letter
            if crowd[i] < np.quantile(crowd, 0.25):
                outside += letter
            if traces()[number][1][i] == "C":
                loops += letter
            else:
                others += letter

    def share(letters, text):
        return sum(map(text.count, letters)) / len(text)

    assert 2 * share("ILVFM", outside) < share("ILVFM", inside) < 0.75
    assert share("GP", loops) > 1.5 * share("GP", others)


# -- bad arguments --------------------------------------------------------------------------------


@pytest.mark.parametrize("options", [dict(number=-1), dict(number=1.5), dict(seed=-3),
                                     dict(seed=True), dict(number="7")])  # fmt: skip
def test_bad_numbers_are_refused(options):
    name = next(iter(options))
    with pytest.raises(ValueError, match=f"{name}=.* whole number, 0 or more"):
        synthetic_protein(**{"number": 0, **options})


@pytest.mark.parametrize("length", [(29, 60), (80, 60), (60,), 60, (60.0, 80), None, (60, 70, 80)])
def test_bad_lengths_are_refused(length):
    with pytest.raises(ValueError, match=r"length=.*two whole numbers ≥ 30, as in \(60, 200\)"):
        synthetic_protein(0, length=length)
