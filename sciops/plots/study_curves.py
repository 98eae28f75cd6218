"""Studies: the best error so far, and how well a surrogate predicts errors it has not seen."""

from typing import TYPE_CHECKING

import numpy as np

from .style import INK, MUTED, PAPER, colour, log_scale, new_figure, short, styled, with_rules

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

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
    least = np.fmin.accumulate(np.where(finished, val, np.nan))
    axes.step(number, least, where="post", color=INK, label="least so far")
    for place, (name, error) in enumerate(zip(controls["trial"], controls["val"], strict=True)):
        label = f"{name}, {short(error)}"
        axes.axhline(error, color=colour(place + 1), ls=DASHED, lw=1.5, label=label)
    log_scale(axes, "y", np.concatenate([val, controls["val"].to_numpy(float)]))
    axes.set(xlabel="trial", ylabel="validation error")
    axes.xaxis.get_major_locator().set_params(integer=True)
    axes.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0))
    return figure


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
