"""Several runs on each other's grids: a row of the matrix is the transfer of one of them."""

import numpy as np
import pytest
import xarray as xr

import sciops
from sciops.plots import transfer_matrix
from sciops.plots.style import short
from tests.grid_toy import line
from tests.run_toy import NUMBERS, darcy, on_lines

OF_ONE_GRID = ["training_resolution", "control_upsample_input"]  # attributes


@pytest.fixture(scope="module", autouse=True)
def own_directory(tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SCIOPS_DATA_DIR", str(tmp_path_factory.mktemp("kept")))
        yield


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    folder = tmp_path_factory.mktemp("runs")
    return {n: darcy(folder / f"on{n}", resolution=n) for n in (9, 12)}


def test_a_row_of_the_matrix_is_the_transfer_of_its_run(runs):
    matrix = sciops.transfer([runs[12], runs[9].path], [15, 9])  # finest first, and a folder
    assert matrix["relative_l2"].dims == ("trained", "resolution", "sample")
    assert matrix["trained"].values.tolist() == [9, 12]
    assert matrix["resolution"].values.tolist() == [9, 12, 15]
    for n, run in runs.items():
        own, row = run.transfer([9, 12, 15]), matrix.sel(trained=n)
        for name in set(own.data_vars) - {"seconds"}:
            np.testing.assert_array_equal(row[name], own[name], err_msg=name)
        assert row["training_nyquist"] == own.attrs["training_nyquist"] == (n - 1) / 2
        assert row["growth"].sel(resolution=n) == 1
    assert not np.array_equal(matrix["relative_l2"][0], matrix["relative_l2"][1])


def test_without_resolutions_the_matrix_is_square(runs):
    matrix = sciops.transfer(list(runs.values()))
    assert matrix["relative_l2"].shape[:2] == (2, 2)
    assert (sciops.transfer([runs[9]], 9)["relative_l2"].shape[:2]) == (1, 1)


def test_the_matrix_can_be_kept_and_is_labelled(runs, tmp_path):
    matrix = sciops.transfer(list(runs.values()))
    for name, variable in matrix.variables.items():
        assert name == "sample" or {"long_name", "units"} <= set(variable.attrs), name
    matrix.to_zarr(tmp_path / "matrix.zarr", consolidated=False)
    kept = xr.open_zarr(tmp_path / "matrix.zarr", consolidated=False)
    xr.testing.assert_identical(kept.load(), matrix)


def test_operators_of_one_grid_have_a_diagonal(tmp_path):
    made = [darcy(tmp_path / f"{n}", "xd-grid", resolution=n, epochs=1) for n in (9, 12)]
    matrix = sciops.transfer(made)
    known = np.isfinite(matrix["relative_l2"]).all("sample").values
    np.testing.assert_array_equal(known, np.eye(2))
    assert np.isfinite(matrix["control_upsample"]).all()
    refused = matrix.attrs["refused"]
    assert "trained on 9: 12: this grid-frame XD was built for size=(9, 9)" in refused
    assert "trained on 12: 9: this" in refused


def test_given_data_are_given_to_all(tmp_path):
    given = {n: {"train": line(n, 6), "test": line(n, 3, first=NUMBERS["test"])} for n in (16, 20)}
    made = {n: on_lines(tmp_path / str(n), data) for n, data in given.items()}
    data = {n: splits["test"] for n, splits in given.items()}
    matrix = sciops.transfer(list(made.values()), data=data)
    for n, run in made.items():
        own = run.transfer(data=data)["relative_l2"]
        np.testing.assert_array_equal(matrix["relative_l2"].sel(trained=n), own)
    with pytest.raises(ValueError, match=r"no solver can make .* run\.transfer\(data="):
        sciops.transfer(list(made.values()))


def test_what_does_not_fit_into_one_matrix(runs, tmp_path):
    again = darcy(tmp_path / "again", seed=1)
    with pytest.raises(ValueError, match="trained on 9, 9 points; give one run for each"):
        sciops.transfer([runs[9], again])
    other = darcy(tmp_path / "fno", "fno", resolution=12)
    with pytest.raises(ValueError, match=r"fno on darcy, xd on darcy; .*sciops\.compare\("):
        sciops.transfer([runs[9], other])
    for number, changes in enumerate((dict(n_test=2), dict(low=4.0))):
        other = darcy(tmp_path / f"other{number}", resolution=12, **changes)
        with pytest.raises(ValueError, match=r"other\d has other test samples than on9"):
            sciops.transfer([runs[9], other])
    with pytest.raises(ValueError, match="there are no runs"):
        sciops.transfer([])
    with pytest.raises(ValueError, match="no run of an equation"):
        sciops.transfer([3])


def test_a_default_may_be_said(runs, tmp_path):
    said = darcy(tmp_path / "said", resolution=12, low=3.0)
    assert sciops.transfer([runs[9], said])["trained"].values.tolist() == [9, 12]


# --- its figure -----------------------------------------------------------------------------------


def test_the_figure_has_the_mean_of_every_cell(runs):
    matrix = sciops.transfer(list(runs.values()), [15])
    matrix["relative_l2"][0, 2] = np.nan
    (axes,) = transfer_matrix(matrix).axes
    words = [text.get_text() for text in axes.texts]
    means = matrix["relative_l2"].mean("sample", skipna=False).values.ravel()
    assert words == [short(mean) for mean in means] and words[2] == "–"
    bold = [text.get_text() for text in axes.texts if text.get_weight() == "bold"]
    assert bold == [words[0], words[4]]
    assert [tick.get_text() for tick in axes.get_yticklabels()] == ["9", "12"]


def test_a_single_run_has_no_matrix_to_draw(runs):
    with pytest.raises(ValueError, match="transfer of a single run"):
        transfer_matrix(runs[9].transfer([9]))
