"""Figures of found sizes: they show what the masks say."""

import numpy as np
import pandas as pd
import pytest
import torch

from sciops.backbones.ccnn_sizes import Grid, Sizes, Temperatures
from sciops.plots import block_sizes, complexity_curve, size_masks


def made(learn: str = "KRWD", ndim: int = 2) -> Sizes:
    grid = Grid((16,) * ndim, (False,) * ndim, (1 / 15,) * ndim)
    sizes = Sizes(learn, 8, 3, grid, (1, 1, True), tau=Temperatures())
    if "R" in learn:
        sizes.resolution.data[1] -= 0.8
    return sizes


@pytest.mark.parametrize("ndim", [1, 2, 3])
def test_blocks_kernels_and_channels(ndim):
    sizes = made(ndim=ndim)
    upper, lower = block_sizes(sizes).axes
    assert len(upper.patches) == 6 + 2 * 3  # a frame each, and two boxes of those that are used
    bars = [patch.get_height() for patch in lower.patches]
    assert bars == [8] * 9
    words = [text.get_text() for text in upper.texts]
    assert words[1] == " × ".join([f"{sizes.block_size(1).coarse[0].item():.0f}"] * ndim)
    assert lower.get_xticklabels()[-1].get_text() == "6\nleft out"


def test_complexity_by_epoch():
    history = pd.DataFrame({"epoch": [1, 2, 3], "complexity": [1.2, 1.1, 1.0]})
    (axes,) = complexity_curve(history, 0.9).axes
    np.testing.assert_allclose(axes.lines[0].get_ydata(), [1.2, 1.1, 1.0])
    assert axes.get_ylim()[0] < 0.9 and axes.texts[0].get_text() == "target"
    assert len(complexity_curve(history.iloc[:1]).axes[0].lines) == 1


def test_masks_of_every_kind():
    panels = size_masks(made()).axes
    assert [axes.get_title() for axes in panels] == ["kernel", "resolution", "width", "depth"]
    counts = [len(axes.lines) for axes in panels]
    assert counts == [3 * 2 + 1, 3 * 2 + 1, 3 * 3 + 1, 2]  # and the threshold
    curve = panels[0].lines[0].get_ydata()
    assert curve.max() == pytest.approx(1) and curve.min() == 0
    assert [axes.get_title() for axes in size_masks(made("K")).axes] == ["kernel"]
    with pytest.raises(ValueError, match="no masks"):
        size_masks(made(""))
    assert torch.is_grad_enabled()
