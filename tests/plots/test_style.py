"""Figures are shown by notebooks, whatever backend matplotlib has."""

import struct

from IPython.core.formatters import DisplayFormatter

from sciops.plots.style import NOTEBOOK_DPI, new_figure


def test_notebooks_show_figures_without_pyplot():
    figure = new_figure(3, 2)
    figure.subplots().plot([1, 2, 3])
    png = DisplayFormatter().format(figure)[0]["image/png"]
    assert png.startswith(b"\x89PNG")
    assert struct.unpack(">II", png[16:24]) == (3 * NOTEBOOK_DPI, 2 * NOTEBOOK_DPI)
