"""How well a surrogate ranks candidates it has not seen."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from .candidates import KERNELS, C, CandidateSpace, Trial
from .proposers import finished, fit_surrogate

if TYPE_CHECKING:
    import pandas as pd

FOLDS = 5


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


def cross_validated(
    space: CandidateSpace[C], trials: Sequence[Trial[C]], guessed: Sequence[Trial[C]] = ()
) -> "pd.DataFrame":
    """The scores of trials, each predicted by a surrogate of those in the four other fifths.

    guessed: trials without a true score, such as those that were stopped; every surrogate learns of
             them, none is judged on them

    A column `score`, and for each kernel its prediction and `<kernel>_deviation`; attrs["tau"] has
    Kendall's τ of scores and predictions by kernel.  Failed trials are left out.
    """
    import pandas as pd
    from scipy.stats import kendalltau

    judged = finished(trials)
    if len(judged) < 2 * FOLDS:
        raise ValueError(f"{len(judged)} trials with a score; at least {2 * FOLDS} are needed")
    fold = np.arange(len(judged)) % FOLDS
    table = pd.DataFrame({"score": [trial.score for trial in judged]})
    for kernel in KERNELS:
        found = np.empty((2, len(judged)))
        for number in range(FOLDS):
            inside = [t for t, f in zip(judged, fold, strict=True) if f != number]
            outside = [t for t, f in zip(judged, fold, strict=True) if f == number]
            surrogate = fit_surrogate(space, [*inside, *guessed], kernel)
            found[:, fold == number] = surrogate.predict(
                [space.levels(t.candidate) for t in outside]
            )
        table[kernel], table[f"{kernel}_deviation"] = found
    table.attrs["tau"] = {k: float(kendalltau(table[k], table["score"]).statistic) for k in KERNELS}
    return table
