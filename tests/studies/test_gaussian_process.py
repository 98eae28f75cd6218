"""The posterior and its likelihood against the closed form in dense numpy."""

import numpy as np
import pytest
import torch

from sciops.studies.gaussian_process import (
    FULL_H,
    NOISE,
    GaussianProcess,
    Hyperparameters,
    by_level,
    fit_gaussian_process,
    log_likelihood,
)
from sciops.studies.wl_kernel import wl_kernel
from tests.studies.term_toy import levels, objective, sample


def terms(seed, count):
    rng = np.random.default_rng(seed)
    return [sample(rng) for _ in range(count)]


def graphs_and_scores(seed, count):
    drawn = terms(seed, count)
    return [levels(t) for t in drawn], np.array([objective(t) for t in drawn])


def dense_kernel(candidates, hyper):
    parts = zip(hyper.weights, by_level(candidates, len(hyper.depths)), hyper.depths, strict=True)
    return sum(w * wl_kernel(graphs, h=h) for w, graphs, h in parts)


@pytest.mark.parametrize("kernel", ["hierarchical", "flat"])
def test_prediction_is_the_closed_form(kernel):
    candidates, scores = graphs_and_scores(0, 20)
    new, _ = graphs_and_scores(1, 7)
    process = fit_gaussian_process(candidates, scores, kernel)
    hyper = process.hyperparameters
    whole = dense_kernel([*candidates, *new], hyper)
    inverse = np.linalg.inv(whole[:20, :20] + hyper.noise * np.eye(20))
    y = (scores - scores.mean()) / scores.std()
    cross = whole[20:, :20]
    variance = whole[20:, 20:].diagonal() - (cross @ inverse * cross).sum(1)
    mean, deviation = process.predict(new)
    np.testing.assert_allclose(mean, scores.mean() + scores.std() * cross @ inverse @ y, rtol=1e-8)
    expected = scores.std() * np.sqrt(np.maximum(variance, hyper.noise))
    np.testing.assert_allclose(deviation, expected, rtol=1e-6)


def kernels_and_targets(count=8):
    candidates, scores = graphs_and_scores(2, count)
    kernels = np.stack([wl_kernel(graphs, h=1) for graphs in by_level(candidates, 3)])
    y = (scores - scores.mean()) / scores.std()
    return torch.from_numpy(kernels), torch.from_numpy(y)


def test_likelihood_is_the_closed_form():
    kernels, y = kernels_and_targets()
    logits = torch.tensor([0.3, -0.2, 1.0]).double()
    value = log_likelihood(kernels, y, logits, torch.tensor(0.05).double().log())
    weights = np.exp(logits.numpy()) / np.exp(logits.numpy()).sum()
    covariance = np.tensordot(weights, kernels.numpy(), 1) + 0.05 * np.eye(8)
    quadratic = y.numpy() @ np.linalg.solve(covariance, y.numpy())
    expected = -(quadratic + np.linalg.slogdet(covariance)[1] + 8 * np.log(2 * np.pi)) / 2
    assert value.item() == pytest.approx(expected, rel=1e-6)


def test_gradient_of_the_likelihood():
    kernels, y = kernels_and_targets()
    logits = torch.randn(3, dtype=torch.double, requires_grad=True)
    log_noise = torch.tensor(-2.0, dtype=torch.double, requires_grad=True)
    assert torch.autograd.gradcheck(
        lambda a, s: log_likelihood(kernels, y, a, s), (logits, log_noise)
    )


def test_fitting_raises_the_likelihood_within_the_bounds():
    candidates, scores = graphs_and_scores(3, 30)
    process = fit_gaussian_process(candidates, scores)
    hyper = process.hyperparameters
    assert NOISE[0] * 0.999 <= hyper.noise <= NOISE[1] * 1.001
    assert sum(hyper.weights) == pytest.approx(1) and min(hyper.weights) > 0
    assert hyper.depths[:-1] == (1, 2) and hyper.depths[-1] in FULL_H
    found = likelihood(candidates, process.targets, hyper)
    equal = Hyperparameters(hyper.depths, (1 / 3,) * 3, 1e-3)
    assert found > likelihood(candidates, process.targets, equal) + 1


def likelihood(candidates, targets, hyper):
    kernel = torch.from_numpy(dense_kernel(candidates, hyper))[None]
    log_noise = torch.tensor(hyper.noise).double().log()
    return log_likelihood(kernel, torch.from_numpy(targets), torch.zeros(1).double(), log_noise)


@pytest.mark.parametrize("label", ["xd", ("conv", "xd")])
def test_depth_of_the_full_graph_is_the_likeliest(label):
    """Scores that count labels of nodes, or of the two ends of edges."""
    graphs = [levels(t)[-1] for t in terms(4, 60)]
    ends = [[(g.labels[i], g.labels[j]) for i, j in g.edges] for g in graphs]
    scores = np.array([(*g.labels, *e).count(label) for g, e in zip(graphs, ends, strict=True)])
    process = fit_gaussian_process([[g] for g in graphs], scores)

    def best(h):
        """Over all noises, looked for one by one."""
        hypers = [Hyperparameters((h,), (1.0,), noise) for noise in np.geomspace(*NOISE, 200)]
        return max(likelihood([[g] for g in graphs], process.targets, hyper) for hyper in hypers)

    found = likelihood([[g] for g in graphs], process.targets, process.hyperparameters)
    assert found >= max(map(best, FULL_H)) - 1e-3
    assert (process.hyperparameters.depths[0] > 0) or label == "xd"


def test_level_that_explains_the_scores_gets_the_weight():
    drawn = terms(5, 40)
    scores = [float(t[0] == "chain") for t in drawn]
    weights = fit_gaussian_process([levels(t) for t in drawn], scores).hyperparameters.weights
    assert np.argmax(weights) == 0 and weights[0] > 0.8


def test_noise_is_learned():
    candidates, scores = graphs_and_scores(6, 60)
    noisy = scores + np.random.default_rng(0).normal(size=60) * scores.std()
    clean = fit_gaussian_process(candidates, scores).hyperparameters.noise
    assert fit_gaussian_process(candidates, noisy).hyperparameters.noise > 10 * clean


def test_hallucinated_candidates_keep_means_and_lose_deviation():
    candidates, scores = graphs_and_scores(7, 15)
    pending, new = graphs_and_scores(8, 3)[0], graphs_and_scores(9, 10)[0]
    targets = (scores - scores.mean()) / scores.std()
    known = Hyperparameters((1, 2, 2), (0.2, 0.3, 0.5), 1e-3)
    process = GaussianProcess(known, candidates, targets, scores.mean(), scores.std())
    imagined = process.hallucinate(pending)
    np.testing.assert_allclose(imagined.predict(new)[0], process.predict(new)[0], rtol=1e-6)
    assert (imagined.predict(new)[1] <= process.predict(new)[1] + 1e-12).all()
    assert (imagined.predict(pending)[1] < 0.5 * process.predict(pending)[1]).all()
    assert process.hallucinate([]) is process


def test_units_of_the_scores_do_not_matter():
    candidates, scores = graphs_and_scores(10, 12)
    mean, deviation = fit_gaussian_process(candidates, scores).predict(candidates[:5])
    moved, spread = fit_gaussian_process(candidates, 5 + 100 * scores).predict(candidates[:5])
    np.testing.assert_allclose(moved, 5 + 100 * mean, rtol=1e-4)
    np.testing.assert_allclose(spread, 100 * deviation, rtol=1e-3)


@pytest.mark.parametrize("score", [0.0, 0.1])
def test_equal_scores_are_predicted_everywhere(score):
    candidates, _ = graphs_and_scores(11, 5)
    mean, deviation = fit_gaussian_process(candidates, [score] * 5).predict(candidates)
    np.testing.assert_allclose(mean, score, atol=1e-12)
    assert np.isfinite(deviation).all() and (deviation > 0).all()


def test_candidates_may_differ_in_their_number_of_levels():
    one, two, three = levels(terms(12, 1)[0])
    assert by_level([[one, two, three], [one, three]], 3) == [
        [one, one],
        [two, three],
        [three, three],
    ]
    assert by_level([[one, two, three]], 2) == [[one], [three]]
    process = fit_gaussian_process([[one, two, three], [one, three]], [0.0, 1.0])
    assert isinstance(process, GaussianProcess)
    assert process.predict([[three]])[0].shape == (1,)


def test_errors_say_what_to_do():
    candidates, scores = graphs_and_scores(13, 3)
    with pytest.raises(ValueError, match="choose one of hierarchical, flat"):
        fit_gaussian_process(candidates, scores, "deep")
    with pytest.raises(ValueError, match="3 candidates and 2 scores"):
        fit_gaussian_process(candidates, scores[:2])
    with pytest.raises(ValueError, match="leave out candidates that failed"):
        fit_gaussian_process(candidates, [1.0, 2.0, float("inf")])
    with pytest.raises(ValueError, match="at least the full graph"):
        fit_gaussian_process([[], *candidates[1:]], scores)
