"""Studies: the best error so far, and how well a surrogate predicts errors it has not seen."""

from typing import TYPE_CHECKING

import numpy as np

from .style import INK, MUTED, PAPER, colour, log_scale, new_figure, short, styled, with_rules

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

    from sciops.runs.grammar_result import GrammarResult

SAME = ("task", "data", "budget")  # settings of searches whose errors can be compared
DASHED = (0, (5, 2))


@styled
def best_so_far(trials: "pd.DataFrame") -> "Figure":
    """Validation errors of trials in their order, the least so far, and those of controls.

    trials: of a GrammarResult
    """
    found, controls = (trials[trials["role"] == role] for role in ("search", "control"))
    figure = new_figure(7.2, 4.0)
    axes = with_rules(figure.subplots())
    number, finished = np.arange(len(found)), (found["state"] == "finished").to_numpy()
    val = found["val"].to_numpy(float)
    kinds = {"finished": (finished, colour(0)), "stopped early": (~finished, PAPER)}
    for name, (chosen, face) in kinds.items():
        known = chosen & np.isfinite(val)
        if known.any():
            axes.scatter(number[known], val[known], 28, face, edgecolors=colour(0), label=name)
    axes.step(number, _least(found), where="post", color=INK, label="least so far")
    for place, (name, error) in enumerate(zip(controls["trial"], controls["val"], strict=True)):
        label = f"{name}, {short(error)}"
        axes.axhline(error, color=colour(place + 1), ls=DASHED, lw=1.5, label=label)
    log_scale(axes, "y", np.concatenate([val, controls["val"].to_numpy(float)]))
    axes.set(xlabel="trial", ylabel="validation error")
    axes.xaxis.get_major_locator().set_params(integer=True)
    axes.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0))
    return figure


@styled
def strategies(**searches: "GrammarResult") -> "Figure":
    """The least validation error so far of several searches for the same, by the names given.

    strategies(bayes=found, random=other).savefig("strategies.png")
    """
    _expect_the_same(searches)
    figure = new_figure(7.2, 4.0)
    axes = with_rules(figure.subplots())
    errors = []
    for place, (name, search) in enumerate(searches.items()):
        found = search.trials[search.trials["role"] == "search"]
        errors.append(_least(found))
        label = f"{name}, {short(errors[-1][-1])}"
        number = np.arange(1, len(found) + 1)
        axes.step(number, errors[-1], where="post", color=colour(place), label=label)
    log_scale(axes, "y", np.concatenate(errors))
    axes.set(xlabel="trials", ylabel="least validation error so far")
    axes.xaxis.get_major_locator().set_params(integer=True)
    axes.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0))
    return figure


def _expect_the_same(searches: "dict[str, GrammarResult]") -> None:
    if not searches:
        raise ValueError("there is no search to draw; give some by name, such as bayes=found")
    (first, one), *others = searches.items()
    for name, other in others:
        for setting in SAME:
            values = [repr(search.settings[setting])[:60] for search in (one, other)]
            if one.settings[setting] != other.settings[setting]:
                raise ValueError(
                    f"errors of {first} and {name} cannot be compared: {setting} is {values[0]} of "
                    f"one and {values[1]} of the other; draw them by themselves"
                )


def _least(found: "pd.DataFrame") -> np.ndarray:
    """The least error of the finished trials so far, nan before the first."""
    finished = (found["state"] == "finished").to_numpy()
    return np.fmin.accumulate(np.where(finished, found["val"].to_numpy(float), np.nan))


@styled
def predicted_errors(calibration: "pd.DataFrame", kernel: str = "hierarchical") -> "Figure":
    """Validation errors beside their predictions with one standard deviation.

    calibration: of `GrammarResult.calibration`, whose scores are logarithms
    """
    truth, mean = np.exp(calibration["score"]), np.exp(calibration[kernel])
    spread = np.exp(calibration[f"{kernel}_deviation"])
    figure = new_figure(4.6, 4.2)
    axes = with_rules(figure.subplots(), "both")
    bars = [mean - mean / spread, mean * spread - mean]
    look = dict(fmt="o", color=colour(0), ecolor=MUTED, elinewidth=0.8, ms=4.5)
    axes.errorbar(truth, mean, bars, **look)
    for which in ("x", "y"):
        log_scale(axes, which, np.concatenate([truth, mean]))
    axes.axline((1, 1), (2, 2), color=INK, lw=1, ls=DASHED)
    axes.set(xlabel="validation error", ylabel="predicted from other trials")
    return figure
