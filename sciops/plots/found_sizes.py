"""The architecture that DNArch found: its sizes block by block, its masks, and its cost."""

from typing import TYPE_CHECKING

import numpy as np
import torch

from sciops.backbones.ccnn_sizes import Sizes, kernel_reach
from sciops.operators.size_masks import (
    THRESHOLD,
    elements_at,
    gaussian_mask,
    sigmoid_cutoff,
    sigmoid_mask,
)

from .style import INK, MUTED, PAPER, RULE, colour, new_figure, styled, with_rules

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

SIDES = ("read", "middle", "written")
DASHED = (0, (5, 2))


@styled
def block_sizes(sizes: Sizes) -> "Figure":
    """Kernels, resolutions and channels of every block, and which blocks are left out.

    Above, a square is the domain, the filled part its kernel and the dark frame the share of
    frequencies that is kept; in one dimension it is as high as wide.  Below are the channels.
    """
    n, kept = sizes.max_blocks, sizes.blocks()
    figure = new_figure(max(1.25 * n + 1.2, 6.0), 5.2)
    upper, lower = figure.subplots(2, 1, height_ratios=(1, 1.15), sharex=True)
    for block in range(n):
        _draw_domain(upper, sizes, block, used=block < kept)
    upper.set(ylim=(-0.62, 0.5), yticks=[], aspect="equal")
    for side in ("left", "bottom"):
        upper.spines[side].set_visible(False)
    upper.tick_params(bottom=False)
    channels = np.array([sizes.channels(block) for block in range(kept)])
    with_rules(lower)
    for number, name in enumerate(SIDES):
        at = np.arange(kept) + (number - 1) * 0.26
        bars = lower.bar(at, channels[:, number], 0.24, color=colour(number), label=name)
        lower.bar_label(bars, fontsize=8.5, color=MUTED)
    lower.axhline(sizes.max_width, color=MUTED, lw=1, ls=DASHED)
    lower.set(xlim=(-0.6, n - 0.4), ylim=(0, 1.12 * sizes.max_width), ylabel="channels")
    lower.set_xticks(range(n), [_block_name(b, kept) for b in range(n)])
    lower.set_xlabel("block")
    figure.legend(*lower.get_legend_handles_labels(), loc="outside lower center", ncols=3)
    return figure


def _block_name(block: int, kept: int) -> str:
    return str(block + 1) if block < kept else f"{block + 1}\nleft out"


def _draw_domain(axes: "Axes", sizes: Sizes, block: int, *, used: bool) -> None:
    from matplotlib.patches import Rectangle

    def box(width: float, height: float, **look) -> None:
        axes.add_patch(Rectangle((block - width / 2, -height / 2), width, height, **look))

    box(0.84, 0.84, facecolor="none", edgecolor=RULE, lw=1.2)
    if not used:
        return
    reach = kernel_reach(sizes, block)
    size = sizes.block_size(block)
    share = [float(c.detach() / p) for c, p in zip(size.coarse, size.points, strict=True)]
    wide, high = (0.84 * reach[-1], 0.84 * reach[max(len(reach) - 2, 0)])
    box(wide, high, facecolor=colour(4), alpha=0.75, edgecolor="none")
    frame = dict(facecolor="none", edgecolor=INK, lw=1.6)
    box(0.84 * share[-1], 0.84 * share[max(len(share) - 2, 0)], **frame)
    coarse = " × ".join(f"{c.item():.0f}" for c in size.coarse)
    axes.text(block, -0.47, coarse, ha="center", va="top", fontsize=9, color=INK)


@styled
def complexity_curve(history: "pd.DataFrame", target: float | None = None) -> "Figure":
    """The cost of the network after every epoch, in units of that of the base network.

    history: of a run, with the column complexity
    target:  that the loss asks for, None if it does not
    """
    figure = new_figure(6.4, 3.6)
    axes = with_rules(figure.subplots())
    values = history["complexity"].to_numpy(float)
    marker = "o" if len(values) == 1 else None
    axes.plot(history["epoch"], values, color=colour(0), marker=marker)
    if target is not None:
        axes.axhline(target, color=MUTED, ls=DASHED, lw=1.2)
        place = dict(textcoords="offset points", color=MUTED, fontsize=9.5)
        axes.annotate("target", (history["epoch"].iloc[0], target), (2, 4), **place)
    low, high = min(values.min(), target or 1.0), max(values.max(), target or 1.0)
    room = max(0.05, 0.15 * (high - low))
    axes.set(ylim=(low - room, high + room), xlabel="epoch", ylabel="complexity / base network")
    axes.xaxis.get_major_locator().set_params(integer=True)
    return figure


@styled
def size_masks(sizes: Sizes) -> "Figure":
    """Every mask that was learned, a panel for each kind, a line for each block."""
    kinds = [name for name, _ in sizes.named_parameters()]
    if not kinds:
        raise ValueError("this network learned no sizes (learn=''), so it has no masks")
    figure = new_figure(3.3 * len(kinds) + 0.9, 3.0)
    panels = figure.subplots(1, len(kinds), squeeze=False)[0]
    x = torch.linspace(-1, 1, 801)
    for axes, kind in zip(panels, kinds, strict=True):
        with torch.no_grad():
            _draw_masks(with_rules(axes), sizes, kind, x)
        axes.axhline(THRESHOLD, color=MUTED, ls=DASHED, lw=1)
        axes.set(ylim=(-0.03, 1.06), title=kind, xlim=(-1, 1))
    panels[0].set_ylabel("mask")
    return figure


def _draw_masks(axes: "Axes", sizes: Sizes, kind: str, x: torch.Tensor) -> None:
    """Of the blocks that are computed, the first dark and the last light."""
    from matplotlib import colormaps

    blocks = range(sizes.blocks())
    shades = colormaps["viridis"](np.linspace(0.1, 0.85, len(blocks)))
    names = {
        "kernel": "distance / half the axis",
        "resolution": "frequency: −1 none, 1 Nyquist's",
        "width": "channel",
        "depth": "block",
    }
    axes.set_xlabel(names[kind])
    if kind == "depth":
        tau = sizes.tau.depth
        axes.plot(x, sigmoid_mask(x, sizes.depth, tau), color=colour(0))
        at = elements_at(sizes.max_blocks, x)
        used = at <= sigmoid_cutoff(sizes.depth, tau)
        fill = [colour(0) if u else PAPER for u in used.tolist()]
        mask = sigmoid_mask(at, sizes.depth, tau)
        axes.scatter(at, mask, c=fill, edgecolors=colour(0), zorder=3)
        return
    for block, shade in zip(blocks, shades, strict=True):
        for value in getattr(sizes, kind)[block]:
            if kind == "kernel":
                mask = gaussian_mask(x, value)
            else:
                mask = sigmoid_mask(x, value, getattr(sizes.tau, kind))
            axes.plot(x, mask, color=shade, lw=1.3)
