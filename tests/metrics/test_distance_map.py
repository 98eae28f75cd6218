"""Losses and scores of distance maps: worked out by hand, and against loops over all pairs."""

import itertools
import math

import numpy as np
import pytest
import torch

from sciops.metrics.distance_map import (
    LONG,
    RANGES,
    TOPS,
    across_proteins,
    contact_precision,
    inverse_log_cosh,
    known_residues,
    lddt,
    log_cosh,
    mae,
    map_scores,
    number_of_pairs,
    precision_scores,
    score_precision,
    symmetrised,
)
from sciops.proteins.structures import Chain, distance_map

NAN = math.nan
LOSSES = [log_cosh, inverse_log_cosh]


def windows(seed=0, shape=(3, 1, 4, 5)):
    """Predictions and targets in float64, a third of the cells not known."""
    made = torch.Generator().manual_seed(seed)
    prediction, target, hidden = (
        torch.rand(shape, generator=made, dtype=torch.float64) for _ in range(3)
    )
    return 25 * prediction + 2, torch.where(hidden < 1 / 3, NAN, 25 * target + 2)


def chain(n=60, seed=0, spread=16.0):
    """Distances of a compact random walk, with two residues missing."""
    rng = np.random.default_rng(seed)
    x = np.zeros((n, 3))
    for i in range(1, n):
        step = rng.normal(size=3) - x[i - 1] / spread
        x[i] = x[i - 1] + 3.8 * step / np.linalg.norm(step)
    distance = np.linalg.norm(x[:, None] - x, axis=2)
    missing = [4, n - 9]
    distance[missing], distance[:, missing] = NAN, NAN
    return distance


def noisy(truth, noise=2.0, seed=1):
    """A symmetric prediction; noise may make distances negative."""
    error = np.random.default_rng(seed).normal(scale=noise, size=truth.shape)
    return symmetrised(np.nan_to_num(truth, nan=12.0) + error)


def square(n, **pairs):
    """Distances of 20 Å, but for pairs such as p0q3=5.0."""
    distance = np.full((n, n), 20.0)
    np.fill_diagonal(distance, 0)
    for name, value in pairs.items():
        p, q = map(int, name[1:].split("q"))
        distance[p, q] = distance[q, p] = value
    return distance


# --- losses ---------------------------------------------------------------------------------------


def loop_over_known(prediction, target, cell):
    """The mean of cell(p, y) over the known cells of each sample, by loops."""
    means = []
    for p, y in zip(prediction.flatten(1).tolist(), target.flatten(1).tolist(), strict=True):
        known = [cell(a, b) for a, b in zip(p, y, strict=True) if b == b]
        means.append(sum(known) / len(known))
    return torch.tensor(means, dtype=torch.float64)


@pytest.mark.parametrize("limit", [16.0, 9.5, 0.5])
def test_log_cosh_is_the_mean_over_known_cells_of_clipped_targets(limit):
    prediction, target = windows()
    expected = loop_over_known(
        prediction, target, lambda p, y: math.log(math.cosh(p - min(y, limit)))
    )
    torch.testing.assert_close(log_cosh(prediction, target, limit), expected)


def test_targets_are_clipped_at_16_unless_told():
    prediction, target = windows()
    assert torch.equal(log_cosh(prediction, target), log_cosh(prediction, target, limit=16.0))


def test_inverse_log_cosh_is_the_mean_over_known_cells():
    prediction, target = windows()
    expected = loop_over_known(
        prediction, target, lambda p, y: math.log(math.cosh(100 / p - 100 / y))
    )
    torch.testing.assert_close(inverse_log_cosh(prediction, target), expected)


def test_targets_below_1_count_as_1():
    prediction = torch.tensor([[[[1.0, 2.0]]]])
    zeros, ones = torch.zeros(1, 1, 1, 2), torch.ones(1, 1, 1, 2)
    assert torch.equal(inverse_log_cosh(prediction, zeros), inverse_log_cosh(prediction, ones))


def test_inverses_go_on_along_their_tangent_below_1():
    def inverse(p):  # far from the target log cosh(x) = |x| − log 2
        target = torch.full((1, 1, 1, 1), 100.0)
        loss = inverse_log_cosh(torch.full((1, 1, 1, 1), p, dtype=torch.float64), target)
        return float(loss) + math.log(2) + 1

    assert inverse(1.0) == pytest.approx(100)
    assert inverse(0.0) == pytest.approx(200)
    assert inverse(-1.0) == pytest.approx(300)
    assert inverse(1.0 + 1e-6) - inverse(1.0) == pytest.approx(-1e-4, rel=1e-4)


@pytest.mark.parametrize("p", [-3.0, 0.0, 0.5, 0.999, 1.0, 2.0])
def test_the_gradient_of_the_inverse_leads_away_from_0(p):
    prediction = torch.full((1, 1, 1, 1), p, requires_grad=True)
    inverse_log_cosh(prediction, torch.full((1, 1, 1, 1), 10.0)).sum().backward()
    assert -101 < float(prediction.grad) < -1


def test_log_cosh_has_the_gradient_tanh_over_the_count_and_none_where_not_known():
    prediction, target = windows()
    prediction.requires_grad_()
    log_cosh(prediction, target).sum().backward()
    known = ~target.isnan()
    counts = known.flatten(1).sum(1)[:, None, None, None]
    expected = torch.tanh(prediction.detach() - target.clamp(max=16)) / counts
    torch.testing.assert_close(prediction.grad, torch.where(known, expected, 0))


@pytest.mark.parametrize("loss", LOSSES)
def test_gradients_are_those_of_the_values(loss):
    prediction, target = windows(shape=(2, 1, 3, 2))
    prediction[0, 0, 0, 0] = 0.3  # on the tangent
    target[0, 0, 0, 0] = 0.45
    assert torch.autograd.gradcheck(lambda p: loss(p, target), prediction.requires_grad_())


@pytest.mark.parametrize("x", [20.0, 90.0, 1e4, 1e30])
def test_large_errors_do_not_overflow(x):
    prediction = torch.tensor([[[[x, -x]]]], requires_grad=True)
    loss = log_cosh(prediction, torch.zeros(1, 1, 1, 2))
    assert loss.item() == pytest.approx(x - math.log(2), rel=1e-6)
    loss.sum().backward()
    assert prediction.grad.tolist() == [[[[0.5, -0.5]]]]


@pytest.mark.parametrize("x", [0.0, 1e-3, 0.02])
def test_small_errors_are_precise_in_float32(x):
    prediction = torch.full((1, 1, 1, 1), x, requires_grad=True)
    loss = log_cosh(prediction, torch.zeros(1, 1, 1, 1))
    assert loss.item() == pytest.approx(x * x / 2, rel=1e-3)
    loss.sum().backward()
    assert prediction.grad.item() == pytest.approx(math.tanh(x), rel=1e-3)


@pytest.mark.parametrize("loss", LOSSES)
def test_a_sample_without_known_cells_has_no_loss_and_no_gradient(loss):
    prediction, target = windows()
    alone = loss(prediction, target)
    target[1] = NAN
    prediction[1, 0, 0, 0] = NAN  # as of padding that blew up
    prediction.requires_grad_()
    losses = loss(prediction, target)
    losses.sum().backward()
    assert losses[1] == 0 and torch.equal(losses[[0, 2]], alone[[0, 2]])
    assert (prediction.grad[1] == 0).all() and prediction.grad.isfinite().all()
    assert (prediction.grad[0] != 0).any()


@pytest.mark.parametrize("loss", LOSSES)
def test_losses_keep_the_contract_of_metrics(loss):
    prediction, target = windows()
    assert torch.equal(
        loss(prediction, target)[[2, 0, 1]], loss(prediction[[2, 0, 1]], target[[2, 0, 1]])
    )
    near = target.clamp(max=16)
    torch.testing.assert_close(loss(near.nan_to_num(), near), torch.zeros(3, dtype=torch.float64))
    assert loss(prediction.bfloat16(), target.bfloat16()).dtype == torch.float32
    prediction[1][~target[1].isnan()] = NAN
    assert loss(prediction, target).isnan().tolist() == [False, True, False]
    with pytest.raises(ValueError, match="same shape"):
        loss(prediction, target[:, :, :-1])


# --- symmetry -------------------------------------------------------------------------------------


def with_averaged_upper(prediction):
    """The trap: the mean of the triangles is written into the upper one only."""
    averaged = prediction.copy()
    upper = np.triu_indices(len(prediction))
    averaged[upper] = symmetrised(prediction)[upper]
    return averaged


def test_averaging_one_triangle_and_then_both_is_not_symmetrising():
    truth = chain()
    raw = np.nan_to_num(truth, nan=12.0) + np.random.default_rng(0).normal(size=truth.shape)
    upper, lower = np.triu(raw, 1), np.tril(raw, -1).T
    once, twice = symmetrised(raw), symmetrised(with_averaged_upper(raw))
    np.testing.assert_allclose(np.triu(once, 1), (upper + lower) / 2)
    np.testing.assert_allclose(np.triu(twice, 1), (upper + 3 * lower) / 4)
    assert mae(once, truth) != pytest.approx(mae(twice, truth), rel=1e-3)
    np.testing.assert_array_equal(symmetrised(once), once)


@pytest.mark.parametrize("score", [mae, contact_precision, score_precision, lddt, map_scores])
def test_a_map_that_is_not_symmetric_is_refused(score):
    truth = chain()
    half_done = with_averaged_upper(noisy(truth) + np.arange(60.0))
    with pytest.raises(ValueError, match="prediction is not symmetric; symmetrise once"):
        score(half_done, truth)
    one_sided = truth.copy()
    one_sided[0, 40] = NAN
    with pytest.raises(ValueError, match="truth is not symmetric"):
        score(noisy(truth), one_sided)


def test_rounding_is_no_asymmetry():
    truth = chain()
    prediction = noisy(truth)
    rounded = prediction * (1 + 1e-6 * np.random.default_rng(0).normal(size=truth.shape))
    assert mae(rounded, truth) == pytest.approx(mae(prediction, truth), rel=1e-4)


def test_asymmetry_is_seen_on_every_scale():
    truth = chain()
    tiny = 1e-9 * np.arange(3600.0).reshape(60, 60)
    with pytest.raises(ValueError, match="not symmetric"):
        score_precision(tiny, truth)
    prediction = noisy(truth)
    prediction[0, 1] += 0.1
    with pytest.raises(ValueError, match="not symmetric"):
        mae(prediction, truth)
    capped = np.full((60, 60), 2.0)  # all as likely to be contacts
    capped[0, 1] = 3.0
    with pytest.raises(ValueError, match="not symmetric"):
        contact_precision(capped, truth)


def test_a_prediction_that_is_no_map_of_this_protein_is_refused():
    truth = chain()
    with pytest.raises(ValueError, match=r"got \(59, 59\) and \(60, 60\)"):
        mae(noisy(truth)[1:, 1:], truth)
    for shape in ((1, 60, 60), (60, 60, 1)):
        with pytest.raises(ValueError, match=r"\(L, L\)"):
            mae(noisy(truth).reshape(shape), truth.reshape(shape))
    with pytest.raises(ValueError, match=r"\(L, L\)"):
        mae(truth[:50], truth[:50])
    for value in (NAN, math.inf):
        broken = noisy(truth)
        broken[4, 4] = value
        with pytest.raises(ValueError, match="NaN or infinite"):
            lddt(broken, truth)


# --- mean absolute error --------------------------------------------------------------------------


def test_mae_by_hand():
    truth = square(5, p0q2=7.0, p0q3=8.0, p1q4=8.5, p0q1=4.0)
    prediction = square(5, p0q2=9.0, p0q3=4.0, p1q4=9.0, p0q1=14.0)
    assert mae(prediction, truth, separation=2) == 3.0  # |9 − 7|, |4 − 8|: 8 is within
    assert mae(prediction, truth, separation=3) == 4.0
    assert mae(prediction, truth, separation=2, within=12) == 6.5 / 3
    assert mae(prediction, truth, separation=1) == 16.0 / 3
    assert math.isnan(mae(prediction, truth, separation=4))


def test_true_distances_choose_the_pairs_not_predicted_ones():
    assert mae(square(3, p0q2=30.0), square(3, p0q2=5.0), separation=2) == 25.0
    assert math.isnan(mae(square(3, p0q2=5.0), square(3, p0q2=30.0), separation=2))


def mae_by_loops(prediction, truth, within, separation):
    errors = []
    for p, q in itertools.product(range(len(truth)), repeat=2):
        if q - p >= separation and truth[p, q] <= within:
            errors.append(abs(prediction[p, q] - truth[p, q]))
    return sum(errors) / len(errors)


@pytest.mark.parametrize("within", [8, 12])
@pytest.mark.parametrize("separation", [24, 12])
def test_mae_is_that_of_loops(within, separation):
    truth = chain()
    prediction = noisy(truth)
    expected = mae_by_loops(prediction, truth, within, separation)
    assert mae(prediction, truth, within=within, separation=separation) == pytest.approx(expected)
    if (within, separation) == (8, 24):
        assert mae(prediction, truth) == pytest.approx(expected)


# --- contacts -------------------------------------------------------------------------------------


def test_precision_by_hand():
    truth = square(10, p0q5=7.0, p1q6=8.0, p2q8=7.9, p0q2=4.0)
    prediction = square(10, p1q6=5.0, p0q5=6.0, p3q9=7.0, p2q8=9.0, p0q2=2.0)
    chosen = dict(separation=5)
    assert contact_precision(prediction, truth, top="L/5", **chosen) == 1 / 2  # 8 Å is no contact
    assert contact_precision(prediction, truth, top="L/3", **chosen) == 1 / 3
    assert contact_precision(prediction, truth, top="Nc", **chosen) == 1 / 2
    assert contact_precision(prediction, truth, top="L/2", **chosen) == (2 + 0 / 11) / 5
    assert contact_precision(prediction, truth, top="L/2", separation=2) == 3 / 5


def test_a_protein_without_contacts_has_no_precision():
    assert all(math.isnan(contact_precision(square(40), square(40), top=top)) for top in TOPS)
    near = square(40, p0q20=5.0)
    assert math.isnan(contact_precision(near, near))
    assert contact_precision(near, near, separation=12, top="Nc") == 1.0


def test_residues_without_coordinates_do_not_count_in_the_length():
    truth = square(20, p0q19=5.0, p1q18=5.0)
    prediction = square(20, p0q19=5.0, p2q17=6.0, p1q18=7.0, p3q16=7.5)
    assert contact_precision(prediction, truth, top="L/5", separation=10) == 2 / 4
    hidden = truth.copy()
    hidden[6:11], hidden[:, 6:11] = NAN, NAN  # 15 remain
    assert contact_precision(prediction, hidden, top="L/5", separation=10) == 2 / 3
    np.fill_diagonal(hidden, NAN)  # as some write it
    assert contact_precision(prediction, hidden, top="L/5", separation=10) == 2 / 3


def test_residues_without_coordinates_do_not_count_through_a_structure():
    """25 of 100 have none; `distance_map` writes 0 for the distance of each to itself."""
    positions = np.random.default_rng(0).normal(scale=12, size=(100, 3))
    positions[30:55] = NAN
    truth = distance_map(Chain("toy", "A" * 100, positions, tuple(map(str, range(100)))))

    assert known_residues(truth) == 75
    scores = np.where(truth < 8, 0.0, 1.0)
    first, second = np.argwhere(np.triu(truth < 8, LONG))[:15].T
    scores[first, second] = scores[second, first] = 2.0  # 15 contacts before all others
    assert score_precision(scores, truth, top="L/5") == 15 / 15
    assert score_precision(scores, truth, top="L") == 15 / 75


def test_pairs_that_are_not_known_are_not_ranked():
    truth = square(6, p0q5=5.0)
    truth[1, 4] = truth[4, 1] = NAN
    prediction = square(6, p1q4=4.5, p0q5=5.0)
    assert contact_precision(prediction, truth, top="Nc", separation=3) == 1.0


def test_fewer_pairs_than_asked_for_are_all_counted():
    truth = square(6, p0q5=5.0)
    assert contact_precision(square(6), truth, top="L", separation=4) == 1 / 3


@pytest.mark.parametrize(
    ("residues", "counts"), [(13, (3, 6, 13)), (12, (2, 6, 12)), (15, (3, 8, 15)), (2, (1, 1, 2))]
)
def test_counts_are_rounded_to_the_nearest_and_halves_to_even(residues, counts):
    assert tuple(number_of_pairs(top, residues, 99) for top in ("L/5", "L/2", "L")) == counts
    assert number_of_pairs("Nc", residues, 99) == 99


@pytest.mark.parametrize("top", ["L/0", "L5", "5", "l", 5, "L/1.5", "xL/5", None])
def test_an_unknown_count_is_refused(top):
    with pytest.raises(ValueError, match="top must be"):
        number_of_pairs(top, 10, 3)


def ranked_by_loops(scores, truth, top, separation):
    """Precision when a tie is broken by the order of the pairs."""
    n = len(truth)
    pairs = [(p, q) for p in range(n) for q in range(p, n) if q - p >= separation]
    pairs = [(p, q) for p, q in pairs if truth[p, q] == truth[p, q]]
    residues = sum(any(d == d for d in row) for row in truth.tolist())
    contacts = sum(truth[pair] < 8 for pair in pairs)
    count = {"L/5": round(0.2 * residues), "L/2": round(0.5 * residues), "L": residues}
    ranked = sorted(pairs, key=lambda pair: -scores[pair])[: count.get(top, contacts)]
    return sum(truth[pair] < 8 for pair in ranked) / len(ranked)


@pytest.mark.parametrize("top", TOPS)
@pytest.mark.parametrize("separation", [24, 12])
def test_precision_is_that_of_loops(top, separation):
    truth = chain()
    prediction = np.abs(noisy(truth, 8.0)) + 4  # no ties
    expected = ranked_by_loops(-prediction, truth, top, separation)
    found = contact_precision(prediction, truth, top=top, separation=separation)
    assert 0 < found < 1
    assert found == pytest.approx(expected)
    by_score = score_precision(-prediction, truth, top=top, separation=separation)
    assert by_score == pytest.approx(expected)
    worst = ranked_by_loops(prediction, truth, top, separation)
    assert score_precision(prediction, truth, top=top, separation=separation) == worst


def test_long_range_and_a_fifth_are_the_defaults():
    truth = chain()
    prediction = noisy(truth, 4.0)
    expected = contact_precision(prediction, truth, top="L/5", separation=24)
    assert contact_precision(prediction, truth) == expected
    assert score_precision(4 / np.maximum(prediction, 4), truth) == expected


def test_ties_count_as_the_mean_over_all_their_orders():
    truth = square(6, p0q5=5.0, p0q4=7.0)
    scores = np.ones((6, 6))
    scores[0, 5] = scores[5, 0] = 2
    scores[0, 3] = scores[3, 0] = 0
    values, hits = [2, 1, 1, 1, 1, 0], [True, True, False, False, False, False]
    for top, count in (("L/3", 2), ("L/2", 3), ("L", 6)):
        orders = [
            sum(hits[i] for i in sorted(order, key=lambda i: -values[i])[:count]) / count
            for order in itertools.permutations(range(6))
        ]
        found = score_precision(scores, truth, top=top, separation=3)
        assert found == pytest.approx(np.mean(orders))


def test_distances_below_4_tie_and_the_direction_of_the_chain_does_not_matter():
    truth = chain()
    prediction = noisy(truth, 6.0)
    prediction[30:, :12] = prediction[:12, 30:] = -1
    forwards, backwards = (
        [contact_precision(p, y, top=top) for top in TOPS]
        for p, y in ((prediction, truth), (prediction[::-1, ::-1], truth[::-1, ::-1]))
    )
    assert forwards == pytest.approx(backwards)
    assert contact_precision(np.maximum(prediction, 3.9), truth) == pytest.approx(forwards[0])


def test_a_constant_prediction_finds_the_share_of_contacts():
    truth = chain()
    long_range = truth[np.triu(~np.isnan(truth), 24)]
    share = np.mean(long_range < 8)
    found = [contact_precision(np.full((60, 60), 16.0), truth, top=top) for top in TOPS]
    assert found == pytest.approx([share] * 4)


# --- lDDT and all together ------------------------------------------------------------------------


def test_lddt_by_hand():
    truth = square(4, p0q1=5.0, p0q2=10.0, p1q3=14.5, p0q3=15.0)
    prediction = square(4, p0q1=5.25, p0q2=11.0, p1q3=17.0, p0q3=99.0)
    # kept within 0.5, 1, 2, 4: all four; the last two, as 1 is not less than 1; the last
    assert lddt(prediction, truth) == (4 + 2 + 1) / 12
    assert lddt(prediction, truth, separation=2) == (2 + 1) / 8
    assert lddt(prediction, truth, radius=6) == 1.0
    assert lddt(prediction, truth, thresholds=(1.5,)) == pytest.approx(2 / 3)
    assert math.isnan(lddt(prediction, truth, separation=3))
    assert lddt(truth, truth) == 1.0


def lddt_by_loops(prediction, truth):
    kept = pairs = 0
    for p in range(len(truth)):
        for q in range(p + 1, len(truth)):
            if truth[p, q] < 15:
                error = abs(prediction[p, q] - truth[p, q])
                kept += sum(bool(error < t) for t in (0.5, 1, 2, 4))
                pairs += 1
    return kept / (4 * pairs)


def test_lddt_is_that_of_loops():
    truth = chain()
    prediction = noisy(truth)
    assert lddt(prediction, truth) == pytest.approx(lddt_by_loops(prediction, truth))


def test_all_scores_have_their_names():
    truth = chain()
    prediction = noisy(truth, 6.0)
    assert (prediction < 4).sum() > 100  # tied
    found = map_scores(prediction, truth)
    assert list(RANGES.items()) == [("", 24), ("_medium", 12)]
    expected = {"lddt": lddt_by_loops(prediction, truth)}
    names = {"L/5": "precision_L5", "L/2": "precision_L2", "L": "precision_L", "Nc": "precision_Nc"}
    for ending, separation in (("", 24), ("_medium", 12)):
        for within in (8, 12):
            error = mae_by_loops(prediction, truth, within, separation)
            expected[f"mae{within}{ending}"] = error
        for top, name in names.items():
            precision = contact_precision(prediction, truth, top=top, separation=separation)
            expected[f"{name}{ending}"] = precision
    assert found == pytest.approx(expected)
    by_score = precision_scores(-np.maximum(prediction, 4), truth)
    assert by_score == pytest.approx({k: v for k, v in expected.items() if "precision" in k})


def test_a_perfect_prediction_has_perfect_scores():
    truth = np.maximum(chain(80, spread=4.0), 0)
    found = map_scores(np.nan_to_num(truth, nan=30.0), truth)
    assert found["lddt"] == 1 and found["mae8"] == found["mae12_medium"] == 0
    assert found["precision_L5"] == found["precision_Nc"] == found["precision_Nc_medium"] == 1


def test_single_precision_maps_are_scored_as_well():
    truth = chain()
    prediction = noisy(truth)
    expected = map_scores(prediction, truth)
    found = map_scores(prediction.astype("f4"), truth.astype("f4"))
    assert found == pytest.approx(expected, rel=1e-4)


def test_proteins_count_alike_and_those_without_a_score_not_at_all():
    scores = [{"mae8": 1.0, "lddt": 0.2}, {"mae8": NAN, "lddt": 0.4}, {"mae8": 4.0, "lddt": 0.9}]
    means = across_proteins(iter(scores))
    assert means.to_dict() == pytest.approx({"mae8": 2.5, "lddt": 0.5})
    assert math.isnan(across_proteins([{"mae8": NAN}])["mae8"])
