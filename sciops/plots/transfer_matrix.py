"""Trained on × judged on: the errors of several runs, each trained on another grid."""

from typing import TYPE_CHECKING

import numpy as np

from .style import new_figure, short, styled

if TYPE_CHECKING:
    import xarray as xr
    from matplotlib.figure import Figure

DARK = 0.55  # of the colour scale, from where on words on it are white


@styled
def transfer_matrix(transfer: "xr.Dataset") -> "Figure":
    """Mean relative L2 error: a row for each training grid, a column for each grid it is judged on.

    transfer: of `sciops.transfer([run, run, …])`.  An empty cell is a grid that the operator does
              not take, or a prediction that is not finite; bold is the training grid.
    """
    if "trained" not in transfer.dims:
        raise ValueError(
            "this is the transfer of a single run; give that of several, "
            "sciops.transfer([run, run, …]), or plots.resolutions this one"
        )
    errors = (
        transfer["relative_l2"]
        .transpose("trained", "resolution", "sample")
        .mean("sample", skipna=False)
    )
    trained, grids = errors["trained"].values.tolist(), errors["resolution"].values.tolist()
    figure = new_figure(1.1 * len(grids) + 1.6, 0.7 * len(trained) + 1.2)
    axes = figure.subplots()
    with np.errstate(divide="ignore"):
        logs = np.log(errors.values)
    image = axes.imshow(np.ma.masked_invalid(logs), cmap="YlGnBu", origin="upper", aspect="auto")
    for (row, column), error in np.ndenumerate(errors.values):
        dark = np.isfinite(logs[row, column]) and image.norm(logs[row, column]) > DARK
        weight = "bold" if trained[row] == grids[column] else "normal"
        text = dict(ha="center", va="center", color="white" if dark else "black", weight=weight)
        axes.text(column, row, short(error), **text)
    axes.set_xticks(range(len(grids)), [str(n) for n in grids])
    axes.set_yticks(range(len(trained)), [str(n) for n in trained])
    axes.tick_params(length=0)
    axes.spines[:].set_visible(False)
    axes.set(xlabel="points along an axis, judged on", ylabel="trained on")
    return figure
