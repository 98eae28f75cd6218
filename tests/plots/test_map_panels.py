"""Pictures of K, L and M are their magnitudes, with the distance each moved."""

import io

import numpy as np
import pytest
import torch
from torch import nn

from sciops.operators import XD
from sciops.operators.learned_maps import learned_maps
from sciops.plots import operators
from sciops.plots.map_panels import FINEST, picture
from tests.plots.toy import moved


def test_every_map_of_every_layer_has_its_picture():
    model = moved(nn.Sequential(XD(1, 1, (3, 5), modes=(4, 4)), XD(1, 1, (3, 5), modes=(4, 4))))
    figure = operators(model)
    figure.savefig(io.BytesIO(), dpi=20)
    panels = [axes for axes in figure.axes if axes.images]
    maps = list(learned_maps(model))
    assert len(panels) == len(maps) == 2 * 3 * 2
    for axes, learned in zip(panels, maps, strict=True):
        np.testing.assert_allclose(axes.images[0].get_array(), learned.now.abs().numpy())
        assert axes.get_xlabel() == f"moved {100 * learned.relative_distance:.1f} %"
    titles = [axes.get_title().splitlines()[0] for axes in panels[:6]]
    assert titles == [f"|{m}|, axis {a}" for m in "KLM" for a in (0, 1)]
    assert [panels[i].get_ylabel() for i in (0, 6)] == ["Layer 1", "Layer 2"]


def test_maps_that_are_not_learned_have_no_picture():
    figure = operators(XD(1, 1, 3, modes=4, depth=(1, 0, 1)))
    assert [axes.get_title()[:3] for axes in figure.axes if axes.images] == ["|K|", "|M|"]


def test_large_matrices_are_averaged():
    matrix = torch.randn(2 * FINEST, 3, dtype=torch.complex128)
    expected = (matrix[::2].abs() + matrix[1::2].abs()) / 2
    np.testing.assert_allclose(picture(matrix), expected)


def test_a_model_without_xd_is_refused():
    with pytest.raises(ValueError, match="no XD layer with maps to learn"):
        operators(nn.Conv1d(1, 1, 3))
