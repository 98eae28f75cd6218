"""Compared operators on other grids: every cell is that of the runs, and an empty one says why."""

import numpy as np
import pandas as pd
import pytest
import xarray as xr

import sciops
from sciops.evaluation.resolution_transfer import CONTENDERS, refusals
from sciops.runs.compared_grids import FIGURE, TABLE, grid_table, read_grids
from tests.grid_toy import line
from tests.plots.toy import transfer
from tests.run_toy import NETWORKS

TINY = dict(resolution=9, n_train=8, n_val=2, n_test=3, batch_size=4, epochs=1, progress=False)
OPS = {op: NETWORKS[op] for op in ("fno", "conv", "xd-grid")}


@pytest.fixture(scope="module")
def compared(tmp_path_factory):
    """The table of a comparison, and its folder."""
    folder = tmp_path_factory.mktemp("compared")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SCIOPS_DATA_DIR", str(folder / "kept"))
        yield sciops.compare("darcy", OPS, seeds=2, resolutions=[12, 6], out=folder, **TINY), folder


def test_every_cell_is_that_of_the_runs(compared):
    table, folder = compared
    kept = read_grids(folder).set_index(["op", "resolution"])
    assert kept.index.tolist() == [(op, n) for op in OPS for n in (6, 9, 12)]
    for op in OPS:
        runs = [sciops.open_run(folder / f"{op}-seed{seed}") for seed in (0, 1)]
        tables = [run.transfer([6, 12], progress=False) for run in runs]
        for n in (6, 9, 12):
            row = kept.loc[(op, n)]
            for name in CONTENDERS:
                errors = np.array([t[name].sel(resolution=n).mean(skipna=False) for t in tables])
                assert row[name] == pytest.approx(errors.mean(), rel=1e-6, nan_ok=True)
                assert row[f"{name}_std"] == pytest.approx(
                    errors.std(ddof=1), rel=1e-4, nan_ok=True
                )
            assert (row["seeds"], row["trained_on"]) == (2, 9)
            assert table.loc[op, f"at_{n}"] == pytest.approx(row["relative_l2"], nan_ok=True)
        assert table.loc[op, "at_9"] == pytest.approx(table.loc[op, "mean"], rel=1e-5)
    written = pd.read_csv(folder / "comparison.csv", index_col="op")
    pd.testing.assert_frame_equal(written, table)
    assert (folder / FIGURE).read_bytes().startswith(b"\x89PNG")
    assert not list(folder.glob(".*partial"))


def test_an_empty_cell_says_why(compared):
    _, folder = compared
    rows = read_grids(folder).set_index(["op", "resolution"])
    empty = rows.index[rows["relative_l2"].isna()].tolist()
    assert empty == [("xd-grid", 6), ("xd-grid", 12)]
    assert rows["control_upsample"].notna().all() and rows["control_downsample"].notna().all()
    assert "built for size=(9, 9)" in rows.loc[("xd-grid", 12), "note"]
    assert "something else" in rows.loc[("conv", 12), "note"]
    assert set(rows.loc["fno", "note"]) == {""} == {rows.loc[("conv", 9), "note"]}


def test_a_grid_too_small_for_a_kernel_is_no_crash():
    table = transfer((8, 16, 32))
    table["relative_l2"][0] = np.nan
    why = "a kernel of (13, 13) points is larger than the grid of (8, 8); use a finer grid"
    table.attrs["refused"] = f"8: {why}"
    rows = grid_table({"conv": [table]}).set_index("resolution")
    assert rows.loc[8, "note"] == why and np.isnan(rows.loc[8, "relative_l2"])
    assert np.isnan(rows["relative_l2_std"]).all() and np.isfinite(rows.loc[16, "relative_l2"])


def test_reasons_are_told_apart():
    table = xr.Dataset(coords={"resolution": [4, 12, 32]})
    table.attrs["refused"] = "4: no; 12 is more; 12: built for 9: no"
    assert refusals(table) == {4: "no; 12 is more", 12: "built for 9: no"}
    assert refusals(table.assign_attrs(refused="")) == {}


def test_nothing_is_trained_again_for_another_grid(compared, monkeypatch):
    table, folder = compared
    monkeypatch.setenv("SCIOPS_DATA_DIR", str(folder / "kept"))
    monkeypatch.setattr(sciops.runs.frame, "fit", None)
    again = sciops.compare(
        "darcy", {"fno": OPS["fno"]}, seeds=1, resolutions=15, out=folder, **TINY
    )
    assert [name for name in again if name.startswith("at_")] == ["at_9", "at_15"]
    assert again.loc["fno", "seed_0"] == table.loc["fno", "seed_0"]
    assert read_grids(folder)["resolution"].tolist() == [9, 15]


@pytest.mark.parametrize(
    ("resolutions", "options", "message"),
    [
        ([], {}, r"resolutions=\[\] is empty"),
        ([9, 3], {}, "resolution=3 must be a whole number ≥ 4"),
        ([9.5], {}, "resolutions=9.5 must be a whole number"),
        (["32"], {}, "must be a whole number"),
        (
            [32],
            {"data": {"train": line(16, 4), "test": line(16, 3)}},
            "for generated data: no solver",
        ),
    ],
)
def test_grids_that_cannot_be_are_refused_before_training(resolutions, options, message, tmp_path):
    given = options or TINY
    with pytest.raises(ValueError, match=message):
        sciops.compare("darcy", ["fno"], resolutions=resolutions, out=tmp_path / "c", **given)
    assert not (tmp_path / "c").exists()


def test_the_first_process_alone_writes(compared, monkeypatch):
    _, folder = compared
    monkeypatch.setenv("SCIOPS_DATA_DIR", str(folder / "kept"))
    before = [(folder / name).stat().st_mtime_ns for name in (TABLE, FIGURE)]
    monkeypatch.setattr(sciops.runs.folder.rank_zero_only, "rank", 1)
    table = sciops.compare(
        "darcy", {"fno": OPS["fno"]}, seeds=1, resolutions=[6], out=folder, **TINY
    )
    assert list(table)[-1] == "at_9"
    assert [(folder / name).stat().st_mtime_ns for name in (TABLE, FIGURE)] == before
