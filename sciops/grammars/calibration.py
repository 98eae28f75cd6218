"""How well a surrogate ranks candidates it has not seen."""

from collections.abc import Sequence

from .candidates import C, CandidateSpace, Trial
from .proposers import finished, fit_surrogate


def rank_correlation(
    space: CandidateSpace[C],
    trials: Sequence[Trial[C]],
    held_out: Sequence[Trial[C]],
    kernel: str = "hierarchical",
) -> float:
    """Kendall's τ of predicted and true scores of held-out trials: 1 the same order, −1 reversed.

    Failed held-out trials have no true score and are left out; nan if there is nothing to rank.
    """
    from scipy.stats import kendalltau

    judged = finished(held_out)
    if len(judged) < 2:
        raise ValueError(f"{len(judged)} held-out trials with a score; at least 2 are needed")
    surrogate = fit_surrogate(space, trials, kernel)
    predicted, _ = surrogate.predict([space.levels(trial.candidate) for trial in judged])
    return float(kendalltau(predicted, [trial.score for trial in judged]).statistic)
