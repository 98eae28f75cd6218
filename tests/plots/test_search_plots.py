"""Figures of a search: lines begin at zero; the filter of a convolution is its kernel anywhere."""

import pandas as pd
import pytest
import torch
from torch import nn

from sciops.operators import XD
from sciops.plots.search import distance_curves, filters, filters_of

TABLE = pd.DataFrame(
    {"epoch": [1, 1, 2, 2], "layer": ["a", "b"] * 2, "distance": [0.1, 0.2, 0.3, 0.4]}
)


def test_distances_begin_at_zero_and_have_a_line_a_layer():
    (axes,) = distance_curves(TABLE).axes
    lines = {line.get_label(): line.get_xydata().tolist() for line in axes.get_lines()}
    assert lines == {"a": [[0, 0], [1, 0.1], [2, 0.3]], "b": [[0, 0], [1, 0.2], [2, 0.4]]}
    (axes,) = distance_curves({"plain": TABLE, "permuted": TABLE}).axes
    assert [t.get_text() for t in axes.get_legend().get_texts()][-1] == "b (permuted)"
    assert distance_curves(TABLE[:0]).axes[0].get_legend() is None


def test_the_filter_of_a_convolution_is_its_kernel_everywhere():
    conv = nn.Conv2d(2, 3, 3, padding=1, bias=False)
    for (row, column), values in filters_of(conv, (9, 9), 6, (2, 1), seed=0):
        expected = torch.zeros(11, 11)
        expected[row : row + 3, column : column + 3] = conv.weight[2, 1].detach()
        assert torch.allclose(values, expected[1:-1, 1:-1])


def test_places_of_strided_layers_lie_in_the_input():
    conv = nn.Conv1d(1, 1, 4, 4)
    for (place,), values in filters_of(conv, (32,), 5, (0, 0), seed=1):
        touched = values.nonzero().flatten().tolist()
        assert len(touched) == 4 and touched[0] <= place <= touched[-1]


@pytest.mark.parametrize("size", [(16,), (8, 9)])
def test_a_row_an_operation_and_a_column_a_position(size):
    kernel = (3,) * len(size)
    kind = nn.Conv1d if len(size) == 1 else nn.Conv2d
    layers = {
        "convolution": kind(1, 2, 3, padding=1),
        "XD": XD(1, 2, kernel, frame="grid", size=size),
    }
    figure = filters(layers, size, positions=3, reach=4)
    assert len(figure.axes) == 6 and figure.axes[3].get_ylabel() == "XD"
    with pytest.raises(ValueError, match="one or two dimensions"):
        filters(layers, (4, 4, 4))
