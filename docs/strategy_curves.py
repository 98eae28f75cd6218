"""The picture of strategies in grammars: how soon their searches find what is best.

Drawn by `docs.figures` from benchmarks/results/grammar_search.csv, which
`python -m benchmarks.grammar_search --groups strategies` writes.
"""

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from sciops.plots.style import colour, new_figure, styled, with_rules

if TYPE_CHECKING:
    from matplotlib.figure import Figure

TABLE = Path(__file__).parents[1] / "benchmarks" / "results" / "grammar_search.csv"
LONGEST = 120  # trials shown


def found_by(searches: pd.DataFrame, trials: np.ndarray) -> np.ndarray:
    """The share of searches that have found one of the best after so many trials, (trials,).

    searches: with columns `trials` and `found`; those that found none never do

    >>> table = pd.DataFrame({"trials": [2, 4, 400], "found": [True, True, False]})
    >>> found_by(table, np.array([1, 2, 4, 400])).round(2).tolist()
    [0.0, 0.33, 0.67, 0.67]
    """
    needed = searches["trials"].where(searches["found"].astype(bool), np.inf).to_numpy(float)
    return (needed[:, None] <= trials).mean(axis=0)


@styled
def strategies() -> "Figure":
    """A panel for each grammar, a line for each strategy."""
    table = pd.read_csv(TABLE)
    table = table[table["group"] == "strategies"]
    figure = new_figure(11.6, 3.2)
    spaces = sorted(table["space"].unique())
    panels = figure.subplots(1, len(spaces), sharey=True)
    trials = np.arange(1, LONGEST + 1)
    for axes, space in zip(panels, spaces, strict=True):
        with_rules(axes)
        found = table[table["space"] == space]
        for place, arm in enumerate(found["arm"].unique()):
            share = found_by(found[found["arm"] == arm], trials)
            axes.step(trials, share, where="post", color=colour(place), label=arm)
        axes.set(title=space, xlabel="trials", ylim=(0, 1.02), xlim=(0, LONGEST))
    panels[0].set_ylabel("share of searches that\nfound one of the best 1 %")
    panels[-1].legend(loc="upper left", bbox_to_anchor=(1.0, 1.0))
    return figure
