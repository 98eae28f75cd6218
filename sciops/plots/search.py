"""What a search did and what it found: distances from the start, and the filters of operations."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np
import torch
from torch import Tensor, nn

from .style import ERROR_MAP, INK, MUTED, RULE, colour, new_figure, styled, with_rules

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

DASHED = (0, (5, 2))


@styled
def distance_curves(distances: "pd.DataFrame | Mapping[str, pd.DataFrame]") -> "Figure":
    """How far the operation of each layer is from its start, ‖a − a₀‖ / ‖a₀‖, by epoch.

    distances: of a SearchResult, or several by name, whose lines then have other dashes
    """
    tables = distances if isinstance(distances, Mapping) else {"": distances}
    figure = new_figure(7.6, 4.0)
    axes = with_rules(figure.subplots())
    layers = list(dict.fromkeys(n for table in tables.values() for n in table["layer"]))
    kinds = ("-", DASHED, (0, (1, 1.4)), (0, (5, 1.5, 1, 1.5)))
    for number, (name, table) in enumerate(tables.items()):
        for layer, rows in table.groupby("layer", sort=False):
            epochs, values = (np.r_[0, rows[c]] for c in ("epoch", "distance"))
            line = dict(color=colour(layers.index(layer)), ls=kinds[number % len(kinds)])
            text = f"{layer} ({name})" if name else layer
            axes.plot(epochs, values, label=text, **line)
    axes.set(xlabel="epoch of the search", ylabel="distance from the start, |a − a₀| / |a₀|")
    axes.set_xlim(left=0)
    axes.set_ylim(bottom=0)
    axes.xaxis.get_major_locator().set_params(integer=True)
    if layers:
        axes.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0))
    return figure


@styled
def filters(
    layers: Mapping[str, nn.Module],
    size: tuple[int, ...],
    *,
    positions: int = 5,
    channels: tuple[int, int] = (0, 0),
    reach: int | None = None,
    seed: int = 0,
) -> "Figure":
    """The filters that operations apply at several positions: a row for each, a column a position.

    A filter is how an output depends on the inputs around it.  That of a convolution is the same
    everywhere; a row is drawn in units of its own largest number.

    layers: by name, of one or two dimensions
    size: of the grid they work on
    positions: how many, drawn at random, the same for all layers
    channels: of the output and of the input
    reach: how many points to either side are shown; None is the whole input
    """
    if len(size) not in (1, 2):
        raise ValueError(f"filters are drawn in one or two dimensions, got a grid of {size}")
    figure = new_figure(
        1.5 * positions + 1.4, (1.75 if len(size) == 2 else 1.4) * len(layers) + 0.4
    )
    panels = figure.subplots(len(layers), positions, squeeze=False)
    for row, (name, layer) in zip(panels, layers.items(), strict=True):
        found = filters_of(layer, size, positions, channels, seed)
        largest = max(float(values.abs().max()) for _, values in found) or 1.0
        for axes, (place, values) in zip(row, found, strict=True):
            _draw_filter(axes, values.numpy() / largest, place, reach)
        row[0].set_ylabel(name, color=INK)
    for axes, (place, _) in zip(panels[0], found, strict=True):
        axes.set_title(f"at {', '.join(map(str, place))}", fontsize=10, color=MUTED)
    return figure


def filters_of(
    layer: nn.Module, size: tuple[int, ...], positions: int, channels: tuple[int, int], seed: int
) -> list[tuple[tuple[int, ...], Tensor]]:
    """Places of the input, and how the output above each depends on all inputs, (*size)."""
    generator = torch.Generator().manual_seed(seed)
    shares = torch.rand(positions, len(size), generator=generator)
    out, given = channels
    parameter = next(layer.parameters())
    shape = (1, layer.in_channels, *size)
    x = torch.randn(shape, generator=generator).to(parameter.device, parameter.dtype)
    x.requires_grad_()
    y = layer(x)[0, out]
    found = []
    for share in shares.tolist():
        target = tuple(int(s * n) for s, n in zip(share, y.shape, strict=True))
        slope = torch.autograd.grad(y[target], x, retain_graph=True)[0]
        place = tuple(int((t + 0.5) * n / m) for t, n, m in zip(target, size, y.shape, strict=True))
        found.append((place, slope[0, given].cpu()))
    return found


def _draw_filter(axes: "Axes", values: np.ndarray, place: tuple[int, ...], reach: int | None):
    windows = [
        slice(None) if reach is None else slice(max(p - reach, 0), p + reach + 1) for p in place
    ]
    starts = [w.start or 0 for w in windows]
    shown = values[tuple(windows)]
    if shown.ndim == 1:
        axes.axhline(0, color=RULE, lw=1)
        axes.plot(starts[0] + np.arange(len(shown)), shown, color=colour(0), lw=1.5)
        axes.axvline(place[0], color=MUTED, lw=0.8, ls=DASHED)
        axes.set(ylim=(-1.1, 1.1), xticks=[], yticks=[])
        return
    edges = [(s - 0.5, s + n - 0.5) for s, n in zip(starts, shown.shape, strict=True)]
    axes.imshow(shown, cmap=ERROR_MAP, vmin=-1, vmax=1, extent=(*edges[1], *edges[0]))
    axes.plot(place[1], place[0], marker="+", color=INK, ms=6, mew=0.8)
    axes.set(xticks=[], yticks=[])
    for spine in axes.spines.values():
        spine.set(visible=True, color=RULE)
