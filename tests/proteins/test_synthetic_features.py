"""Features of made-up chains: what they tell about the chain, and that they tell no more."""

import numpy as np
import pytest

from sciops.proteins import synthetic_features
from sciops.proteins.alignments import GAP
from sciops.proteins.protein import AMINO_ACIDS
from sciops.proteins.synthetic_features import (
    HYDROPATHY,
    PREFERENCES,
    column_features,
    covariation_maps,
    family,
)

MAPS = ("mutual_information", "couplings")


def compact(n=80, seed=0):
    """Distances in a cloud of points, without a chain."""
    x = 6.5 * np.random.default_rng(seed).standard_normal((n, 3))
    return np.linalg.norm(x[:, None] - x, axis=-1)


def maps_of(distance, seed=0):
    return covariation_maps(distance, np.random.default_rng(seed))


def far(n, least=4):
    return np.triu_indices(n, least)


def letters_of(rows):
    """How often each letter is in the rows, by letter."""
    count = np.bincount(rows[rows != GAP], minlength=20)
    return dict(zip(AMINO_ACIDS, count / count.sum(), strict=True))


def test_a_family_has_letters_and_gaps_and_the_chain_itself_has_no_gaps():
    rows = family("HEC" * 30, np.zeros(90), np.random.default_rng(0))
    assert rows.dtype == np.uint8
    assert rows.shape[1] == 90
    assert 100 <= len(rows) < 800
    assert set(np.unique(rows)) == {*range(20), GAP}
    assert (rows[0] != GAP).all()
    assert 0.005 < (rows[1:] == GAP).mean() < 0.08


def test_letters_suit_the_structure():
    rng = np.random.default_rng(0)
    used = {kind: letters_of(family(kind * 400, np.zeros(400), rng)) for kind in "HEC"}
    assert used["C"]["G"] > 1.5 * max(used["H"]["G"], used["E"]["G"])
    assert used["C"]["P"] > 1.5 * max(used["H"]["P"], used["E"]["P"])
    assert used["E"]["V"] > 1.3 * used["H"]["V"]
    assert used["H"]["E"] > 2 * used["E"]["E"]


def test_hydrophobic_letters_are_inside():
    rng = np.random.default_rng(0)
    rows = family("C" * 600, np.repeat([-1.5, 1.5], 300), rng)
    hydropathy = np.append(HYDROPATHY, [0, 0])[rows]
    assert hydropathy[:, 300:].mean() > hydropathy[:, :300].mean() + 1.5


def test_columns_of_a_family_differ_in_variety():
    entropy = column_features(family("H" * 300, np.zeros(300), np.random.default_rng(0)))["entropy"]
    assert 0.45 < entropy.mean() < 0.7
    assert 0.12 < entropy.std() < 0.28


def test_tables_are_in_the_order_of_the_letters():
    """The strongest likes and dislikes, known by heart to biochemists."""
    table = {kind: dict(zip(AMINO_ACIDS, values, strict=True)) for kind, values in
             {**PREFERENCES, "hydropathy": HYDROPATHY}.items()}  # fmt: skip
    strongest = {kind: max(values, key=values.get) for kind, values in table.items()}
    assert strongest["H"] == "E"
    assert strongest["E"] == "V"
    assert strongest["C"] in "NG"
    assert strongest["hydropathy"] == "I"
    assert min(table["hydropathy"], key=table["hydropathy"].get) == "R"
    assert min(table["E"], key=table["E"].get) == "E"


def test_profiles_have_the_columns_of_real_ones():
    rows = family("HHHHEEEECCCC", np.zeros(12), np.random.default_rng(0))
    features = column_features(rows)
    profile, entropy = features["profile"], features["entropy"]
    assert profile.shape == (12, 22)
    assert entropy.shape == (12, 1)
    assert profile.dtype == entropy.dtype == np.float32
    assert (entropy >= 0).all() and (entropy <= 1).all()
    np.testing.assert_allclose(profile[:, 20], (rows == GAP).mean(0), atol=1e-6)
    assert (profile[:, 21] > 0).all()
    commonest = [np.bincount(column[column != GAP]).argmax() for column in rows.T]
    assert np.mean([profile[i, code] > 0 for i, code in enumerate(commonest)]) == 1


@pytest.mark.parametrize("name", MAPS)
def test_maps_are_symmetric_and_standardised(name):
    scores = maps_of(compact())[name]
    assert scores.dtype == np.float32
    np.testing.assert_array_equal(scores, scores.T)
    assert (np.diagonal(scores) == 0).all()
    assert scores[far(80)].mean() == pytest.approx(0, abs=1e-5)
    assert scores[far(80)].std() == pytest.approx(1, abs=1e-5)


@pytest.mark.parametrize("name", MAPS)
def test_maps_know_contacts_but_no_distances(name):
    """What is far apart may be anywhere, and closer contacts are no stronger."""
    distance = compact()
    moved = np.where(distance > 13, 2 * distance, distance)
    moved = np.where(distance < 4, distance / 2, moved)
    assert abs(moved - distance).max() > 10
    np.testing.assert_allclose(maps_of(distance)[name], maps_of(moved)[name], atol=2e-2)


@pytest.mark.parametrize("name", MAPS)
def test_without_contacts_maps_are_noise(name):
    nothing = maps_of(np.full((200, 200), 50.0))
    signal = maps_of(np.where(compact(200) < 8, 5.0, 50.0))
    true = (compact(200) < 8)[far(200)]
    assert abs(nothing[name][far(200)][true].mean()) < 0.08
    assert signal[name][far(200)][true].mean() > 0.5


def pure_signal(monkeypatch, distance, seed=0, **settings):
    """Couplings without noise: what is left is the signal, shifted and scaled."""
    quiet = {"MISSING": 0.0, "FALSE": 0.0, "BLUR": 0.0, **settings}
    for name, value in quiet.items():
        monkeypatch.setattr(synthetic_features, name, value)
    return synthetic_features._signal(distance, np.random.default_rng(seed))


def test_the_signal_is_contacts_of_random_strength(monkeypatch):
    distance = compact(150)
    signal = pure_signal(monkeypatch, distance)
    near = (distance < 6) & ~np.eye(150, dtype=bool)
    assert (signal[distance > 16] < 1e-5).all()
    assert (np.diagonal(signal) == 0).all()
    strengths = signal[near]
    assert 1.1 * 0.9 < strengths.mean() < 2.7 * 1.1
    assert strengths.std() == pytest.approx(strengths.mean(), rel=0.1)  # exponential
    at_the_edge = abs(distance - 8) < 0.05
    assert signal[at_the_edge].mean() == pytest.approx(strengths.mean() / 2, rel=0.3)


def test_chains_differ_in_how_strong_their_signal_is(monkeypatch):
    distance = compact(100)
    near = (distance < 6) & ~np.eye(100, dtype=bool)
    means = [pure_signal(monkeypatch, distance, seed)[near].mean() for seed in range(12)]
    assert max(means) > 1.4 * min(means)


def test_some_contacts_are_missing_and_some_are_false(monkeypatch):
    distance = compact(150)
    near, apart = np.triu(distance < 6, 1), np.triu(distance > 16, 1)
    missing = pure_signal(monkeypatch, distance, MISSING=0.3)
    assert (missing[near] == 0).mean() == pytest.approx(0.3, abs=0.05)
    false = pure_signal(monkeypatch, np.full((400, 400), 99.0), FALSE=0.15)
    assert (np.triu(false, 1) > 1e-9).sum() / 400 == pytest.approx(0.15, abs=0.06)
    true = pure_signal(monkeypatch, np.full((400, 400), 1.0))
    strong = false[false > 1e-9].mean() / true[np.triu_indices(400, 1)].mean()
    assert strong == pytest.approx(2, rel=0.35)
    assert (missing[apart] < 1e-5).all()


def test_neighbours_of_a_contact_get_a_part_of_it(monkeypatch):
    distance = np.full((30, 30), 99.0)
    distance[10, 20] = distance[20, 10] = 5.0
    signal = pure_signal(monkeypatch, distance, BLUR=0.2)
    patch = signal[9:12, 19:22] / signal[10, 20]
    np.testing.assert_allclose(patch, [[0.04, 0.2, 0.04], [0.2, 1, 0.2], [0.04, 0.2, 0.04]])
    assert signal[8, 20] == pytest.approx(0, abs=1e-12)


def test_noise_is_larger_near_the_diagonal():
    nothing = [maps_of(np.full((60, 60), 99.0), seed)["couplings"] for seed in range(20)]
    deviation = [np.std([np.diagonal(m, k) for m in nothing]) for k in (1, 8, 40)]
    assert deviation[0] / deviation[2] == pytest.approx(1 + np.exp(-1 / 4), rel=0.12)
    assert deviation[1] / deviation[2] == pytest.approx(1 + np.exp(-2), rel=0.12)


def test_mutual_information_sees_chains_of_contacts_that_couplings_do_not():
    """0 – 1 – 2 of groups of residues: the outer ones never touch."""
    group = np.arange(120) // 40
    touching = abs(group[:, None] - group) == 1
    distance = np.where(touching, 5.0, 99.0)
    outer = (group[:, None] == 0) & (group == 2)
    maps = maps_of(distance)
    assert maps["couplings"][outer].mean() < -0.3  # below the mean, which the contacts raise
    assert maps["mutual_information"][outer].mean() > 0.3


def test_the_two_maps_share_a_part_of_their_noise():
    maps = maps_of(np.full((150, 150), 99.0))
    both = np.corrcoef(*[maps[name][far(150)] for name in MAPS])[0, 1]
    assert both == pytest.approx(1 / np.hypot(1, 2), abs=0.1)
