"""Figures of proteins show the numbers of their maps; structures are what py3Dmol is given."""

import io
import sys
from types import ModuleType

import numpy as np
import pytest
from matplotlib.colors import to_hex

from sciops.metrics.distance_map import contact_precision, mae, score_precision, symmetrised
from sciops.plots.distance_maps import (
    bin_error,
    distance_maps,
    error_by_separation,
    precision_curves,
)
from sciops.plots.structure_view import residue_errors, view_structure
from sciops.plots.style import INK, MUTED, RULE, colour


def walk(n, seed=0):
    """Positions of a compact random walk."""
    rng = np.random.default_rng(seed)
    x = np.zeros((n, 3))
    for i in range(1, n):
        step = rng.normal(size=3) - x[i - 1] / 12
        x[i] = x[i - 1] + 3.8 * step / np.linalg.norm(step)
    return x


def distances(x):
    return np.linalg.norm(x[:, None] - x, axis=2)


def proteins(noise=2.0, lengths=(40, 64, 110)):
    """Pairs (prediction, truth), the first with a residue that is not known."""
    rng = np.random.default_rng(0)
    pairs = []
    for seed, n in enumerate(lengths):
        truth = distances(walk(n, seed))
        prediction = symmetrised(np.abs(truth + rng.normal(scale=noise, size=truth.shape)))
        pairs.append((prediction, truth))
    pairs[0][1][7], pairs[0][1][:, 7] = np.nan, np.nan
    return pairs


def maps_of(figure):
    return [axes for axes in figure.axes if axes.images]


# --- maps -----------------------------------------------------------------------------------------


def test_truth_is_above_the_diagonal_and_the_prediction_below():
    (prediction, truth), other, _ = proteins()
    figure = distance_maps([truth, other[1]], [prediction, other[0]], ["one", "two"])
    figure.savefig(io.BytesIO(), dpi=20)
    first, second = maps_of(figure)
    drawn = first.images[0].get_array().filled(np.nan)
    for p in range(40):
        for q in range(40):
            expected = prediction[p, q] if q < p else truth[p, q]
            np.testing.assert_equal(drawn[p, q], expected)
    assert [axes.get_title() for axes in (first, second)] == ["one", "two"]
    assert first.images[0].get_clim() == second.images[0].get_clim() == (4, 16)
    assert first.images[0].get_cmap() is not None and first.images[0].origin == "upper"
    assert to_hex(first.get_facecolor()) == RULE  # seen where nothing is known


def test_residues_are_counted_from_1_and_scores_are_below():
    prediction, truth = proteins()[1]
    (axes,) = maps_of(distance_maps([truth], [prediction], ["one"]))
    assert axes.images[0].get_extent() == [0.5, 64.5, 64.5, 0.5]
    assert axes.get_xlim() == (0.5, 64.5) and axes.get_ylim() == (64.5, 0.5)
    error, precision = mae(prediction, truth), contact_precision(prediction, truth)
    words = f"residue\nMAE₈ {error:.2f} Å,  precision L/5 {100 * precision:.0f} %"
    assert (axes.get_xlabel(), axes.get_ylabel()) == (words, "residue")


def test_contacts_are_outlined_where_there_are_some():
    truth = np.full((30, 30), 20.0)
    truth[10:13, 20:23] = truth[20:23, 10:13] = 5.0
    (axes,) = maps_of(distance_maps([truth], [np.full((30, 30), 20.0)], ["one"]))
    (outline,) = axes.collections
    assert to_hex(outline.get_edgecolor()) == INK
    points = np.concatenate([path.vertices for path in outline.get_paths()])
    assert points[:, 0].min() > 20 and points[:, 0].max() < 24.0  # columns 21 to 23, truth only
    assert points[:, 1].min() > 10 and points[:, 1].max() < 14.0
    for everywhere in (20.0, 5.0, np.nan):
        same = np.full((30, 30), everywhere)
        (axes,) = maps_of(distance_maps([same], [np.full((30, 30), 20.0)], ["one"]))
        assert len(axes.collections) == (everywhere == 5)  # the truth, all of it in contact
    assert "MAE₈ – Å,  precision L/5 –" in axes.get_xlabel()
    near = np.full((30, 30), 5.0)
    (axes,) = maps_of(distance_maps([near], [near], ["one"]))
    assert not axes.collections


@pytest.mark.parametrize(
    ("count", "rows", "columns"), [(1, 1, 1), (3, 1, 3), (5, 2, 3), (6, 2, 3), (9, 3, 3)]
)
def test_maps_fill_a_rectangle(count, rows, columns):
    prediction, truth = proteins(lengths=(26,))[0]
    figure = distance_maps([truth] * count, [prediction] * count, [f"p{i}" for i in range(count)])
    shown = maps_of(figure)
    assert len(shown) == count
    assert shown[0].get_subplotspec().get_gridspec().get_geometry() == (rows, columns)
    assert figure.axes[-1].get_ylabel() == "distance (Å)"


def test_every_map_needs_a_name_a_truth_and_a_prediction():
    prediction, truth = proteins()[1]
    with pytest.raises(ValueError, match="got 2, 1 and 1"):
        distance_maps([truth, truth], [prediction], ["one"])
    with pytest.raises(ValueError, match="got 0, 0 and 0"):
        distance_maps([], [], [])
    with pytest.raises(ValueError, match="not symmetric"):
        distance_maps([truth], [prediction + np.arange(64.0)], ["one"])


# --- lines ----------------------------------------------------------------------------------------


def test_error_of_a_bin_is_that_of_its_pairs():
    prediction, truth = proteins()[1]
    errors = [
        abs(prediction[p, q] - truth[p, q])
        for p in range(64)
        for q in range(64)
        if 12 <= q - p < 18 and truth[p, q] <= 9
    ]
    assert bin_error(prediction, truth, 12, 18, 9.0) == pytest.approx(np.mean(errors))
    assert np.isnan(bin_error(prediction, truth, 70, np.inf, 9.0))


def test_errors_by_separation_are_means_over_proteins():
    models = {"plain": proteins(3.0), "xd": proteins(1.0)}
    figure = error_by_separation(models)
    figure.savefig(io.BytesIO(), dpi=20)
    (axes,) = figure.axes
    ticks = [label.get_text() for label in axes.get_xticklabels()]
    assert ticks == ["6–11", "12–17", "18–23", "24–35", "36–47", "48–71", "72–95", "≥ 96"]
    plain, xd = axes.lines[:2]
    assert [line.get_label() for line in (plain, xd)] == ["plain", "xd"]
    assert [to_hex(line.get_color()) for line in (plain, xd)] == [colour(0), colour(1)]
    assert (plain.get_ydata() > xd.get_ydata()).all()
    errors = [bin_error(*pair, 24, 36, 12.0) for pair in models["plain"]]
    assert plain.get_ydata()[3] == pytest.approx(np.mean(errors))
    longest = [bin_error(*pair, 72, 96, 12.0) for pair in models["plain"]]
    assert np.isnan(longest[:2]).all()
    assert plain.get_ydata()[6] == pytest.approx(longest[2])  # of the one protein that is so long
    assert [text.get_text() for text in axes.texts] == ["long range"]
    assert list(axes.lines[2].get_xdata()) == [2.5, 2.5]  # between 18–23 and 24–35
    assert axes.get_ylim()[0] == 0


def test_bands_are_the_standard_error_over_proteins():
    models = {"plain": proteins(3.0)}
    (axes,) = error_by_separation(models, within=15.0).axes
    assert axes.get_ylabel() == "mean error (Å), true distance ≤ 15 Å"
    errors = np.array([bin_error(*pair, 6, 12, 15.0) for pair in models["plain"]])
    spread = errors.std(ddof=1) / np.sqrt(3)
    (band,) = axes.collections
    corners = band.get_paths()[0].vertices
    at_first = corners[corners[:, 0] == 0][:, 1]
    assert at_first.min() == pytest.approx(errors.mean() - spread)
    assert at_first.max() == pytest.approx(errors.mean() + spread)


def test_bins_end_with_the_longest_chain():
    (axes,) = error_by_separation({"plain": proteins(lengths=(24, 14))}).axes
    assert [label.get_text() for label in axes.get_xticklabels()] == ["6–11", "12–17", "≥ 18"]
    assert not axes.texts  # no long range


def test_precision_curves_are_means_over_proteins_and_scores_are_dashed():
    distances_of, scores = proteins(6.0), [(-p, y) for p, y in proteins(9.0)]
    figure = precision_curves({"xd": distances_of}, {"covariation": scores})
    figure.savefig(io.BytesIO(), dpi=20)
    (axes,) = figure.axes
    xd, covariation = axes.lines
    np.testing.assert_allclose(xd.get_xdata(), [1 / k for k in range(10, 0, -1)])
    for line, pairs, precision in (
        (xd, distances_of, contact_precision),
        (covariation, scores, score_precision),
    ):
        expected = [
            100 * np.nanmean([precision(*pair, top=f"L/{k}") for pair in pairs])
            for k in range(10, 0, -1)
        ]
        np.testing.assert_allclose(line.get_ydata(), expected)
    assert xd.get_linestyle() == "-" != covariation.get_linestyle()
    legend = [text.get_text() for text in axes.get_legend().get_texts()]
    assert legend == ["xd", "covariation"]
    ticks = [label.get_text() for label in axes.get_xticklabels()]
    assert ticks == ["L/10", "L/5", "L/3", "L/2", "L"]


def test_proteins_without_long_contacts_do_not_count_in_a_curve():
    pairs = proteins(3.0)
    far = np.full((30, 30), 20.0)
    (with_it,), (without,) = (
        precision_curves({"xd": p}).axes for p in ([*pairs, (far, far)], pairs)
    )
    np.testing.assert_array_equal(with_it.lines[0].get_ydata(), without.lines[0].get_ydata())
    (axes,) = precision_curves({"xd": [(far, far)]}).axes
    assert len(axes.lines[0].get_ydata()) == 0


@pytest.mark.parametrize("draw", [error_by_separation, precision_curves])
def test_models_need_proteins(draw):
    with pytest.raises(ValueError, match=r"numbers of pairs: {'plain': 0}"):
        draw({"plain": []})
    with pytest.raises(ValueError, match="at least one protein"):
        draw({})


# --- structures -----------------------------------------------------------------------------------


class View:
    """What py3Dmol is asked to do."""

    def __init__(self, width, height):
        self.styles, self.model, self.zoomed = [], None, False

    def addModel(self, text, kind):
        self.model = (text, kind)

    def setStyle(self, *style):
        self.styles.append(style)

    def zoomTo(self):
        self.zoomed = True


@pytest.fixture
def py3dmol(monkeypatch):
    module = ModuleType("py3Dmol")
    module.view = View
    monkeypatch.setitem(sys.modules, "py3Dmol", module)


def atoms(view):
    """{residue: (x, y, z, B factor)} as the columns of the format say."""
    text, kind = view.model
    assert kind == "pdb"
    lines = text.splitlines()
    assert all(line[:6] == "ATOM  " and line[12:16] == " CA " for line in lines)
    assert all(line[76:78] == " C" and len(line) == 78 for line in lines)
    fields = [(line[30:38], line[38:46], line[46:54], line[60:66]) for line in lines]
    numbers = [tuple(map(float, field)) for field in fields]
    return dict(zip([int(line[22:26]) for line in lines], numbers, strict=True))


def test_a_structure_is_a_tube_coloured_along_the_chain(py3dmol):
    x = walk(30) + 2000.0
    view = view_structure(x)
    found = atoms(view)
    assert list(found) == list(range(1, 31)) and view.zoomed
    places = np.array([found[n][:3] for n in found])
    np.testing.assert_allclose(places, x - x.mean(0), atol=6e-4)
    np.testing.assert_allclose([found[n][3] for n in found], np.linspace(0, 100, 30), atol=6e-3)
    ((style,),) = view.styles
    assert style["cartoon"]["style"] == "trace"
    scheme = style["cartoon"]["colorscheme"]
    assert (scheme["prop"], scheme["min"], scheme["max"]) == ("b", 0, 100)


def test_errors_are_shades_and_what_is_not_known_grey_or_a_gap(py3dmol):
    x, errors = walk(6), np.array([2.0, 1.0, np.nan, 3.0, 2.5, 1.5])
    x[4] = np.nan
    view = view_structure(x, errors)
    found = atoms(view)
    assert {n: b for n, (*_, b) in found.items()} == {1: 50, 2: 0, 3: 0, 4: 100, 6: 25}
    np.testing.assert_allclose(np.mean([f[:3] for f in found.values()], 0), 0, atol=1e-3)
    assert view.styles[1] == ({"resi": [3]}, {"cartoon": {"style": "trace", "color": MUTED}})
    same = atoms(view_structure(walk(4), np.full(4, 7.0)))
    assert [b for *_, b in same.values()] == [0] * 4


def test_positions_and_colours_must_agree(py3dmol):
    for x, colours in ((walk(5), np.zeros(4)), (walk(5)[:, :2], None), (walk(5)[0], None)):
        with pytest.raises(ValueError, match=r"positions must be \(L, 3\)"):
            view_structure(x, colours)


def test_without_py3dmol_it_says_how_to_get_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "py3Dmol", None)
    with pytest.raises(ImportError, match=r"pip install sciops\[notebook\]"):
        view_structure(walk(5))


def test_py3dmol_itself_takes_a_structure():
    pytest.importorskip("py3Dmol", reason="py3Dmol is not installed")
    view = view_structure(walk(12), np.linspace(0, 3, 12))
    assert "ATOM" in view.write_html()


def test_errors_of_residues_are_those_of_loops():
    prediction, truth = proteins()[0]
    prediction[:, 20] = prediction[20] = 0.0
    truth[11], truth[:, 11] = 99.0, 99.0  # far from all
    found = residue_errors(prediction, truth, within=10.0)
    for p in range(40):
        errors = [
            abs(prediction[p, q] - truth[p, q]) for q in range(40) if q != p and truth[p, q] <= 10
        ]
        expected = np.mean(errors) if errors else np.nan
        np.testing.assert_allclose(found[p], expected)
    assert np.isnan(found[[7, 11]]).all() and np.isfinite(found).sum() == 38
