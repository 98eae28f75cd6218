"""A run is opened from its folder alone, and predicts, judges and transfers as it did before."""

import json
import shutil

import numpy as np
import pytest
import torch
import xarray as xr

import sciops
import sciops.reporting.frame
import sciops.runs.data
from sciops.checkpoint import CheckpointError, load_model, save_model
from sciops.data.samples import MemorySamples
from sciops.data.store import write
from sciops.data.symmetries import Placed, members
from sciops.runs.opening import open_run
from sciops.task import Batch
from tests.grid_toy import closed_line, line
from tests.run_toy import NUMBERS, UNEVEN, darcy, flow, lines, on_lines, uneven_lines


@pytest.fixture(scope="module", autouse=True)
def kept_data(tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SCIOPS_DATA_DIR", str(tmp_path_factory.getbasetemp() / "kept"))
        yield


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    return darcy(tmp_path_factory.mktemp("runs") / "darcy")


@pytest.fixture(scope="module")
def of_lines(tmp_path_factory):
    return on_lines(tmp_path_factory.mktemp("runs") / "lines")


@pytest.fixture
def copied(of_lines, tmp_path):
    """The folder of a run, to be damaged."""
    return shutil.copytree(of_lines.path, tmp_path / "copied")


# --- opening --------------------------------------------------------------------------------------


def test_the_folder_is_all_it_needs(run, tmp_path, monkeypatch):
    """Moved, from another directory, and without the data, which are made again."""
    shutil.copytree(run.path, tmp_path / "moved")
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    monkeypatch.setenv("SCIOPS_DATA_DIR", str(tmp_path / "empty"))
    opened = open_run("../moved")
    assert repr(opened).endswith(f", {tmp_path.resolve().as_posix()}/moved)")
    assert opened.config == run.config and opened.metrics == run.metrics
    assert opened.task == run.task and not opened.model.training
    assert not list(tmp_path.glob("empty/*"))  # data are made when they are asked for
    monkeypatch.chdir(tmp_path)
    assert repr(opened).endswith(", moved)")
    xr.testing.assert_identical(opened.evaluate(), run.evaluate())
    xr.testing.assert_identical(opened.data["train"].to_dataset(), run.data["train"].to_dataset())
    assert opened.path == (tmp_path / "moved").resolve()
    np.testing.assert_allclose(opened.history, run.history, rtol=1e-14)


def test_what_is_not_a_run_is_refused(tmp_path):
    with pytest.raises(ValueError, match=r"is not a run: it has no model\.json; give the folder"):
        open_run(tmp_path)
    with pytest.raises(ValueError, match="is not a run"):
        open_run(tmp_path / "nowhere")


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("model.safetensors", r"model\.safetensors is damaged .* SHA-256 differs"),
        ("model.json", r"model\.json (is not the JSON|was changed)"),
    ],
)
def test_damaged_files_are_noticed(name, message, copied, of_lines):
    content = bytearray((copied / name).read_bytes())
    content[len(content) // 2] ^= 1
    (copied / name).write_bytes(content)
    with pytest.raises(CheckpointError, match=message):
        open_run(copied)
    with pytest.raises(CheckpointError, match=message):
        on_lines(copied)
    (copied / name).write_bytes(b"")
    with pytest.raises(CheckpointError, match=name.replace(".", r"\.")):
        open_run(copied)
    with pytest.raises(CheckpointError, match=r"remove .*model\.json and call the same training"):
        on_lines(copied)
    (copied / "model.json").unlink()
    assert on_lines(copied).metrics == of_lines.metrics
    shutil.rmtree(copied / "checkpoints")
    (copied / "model.safetensors").unlink()
    with pytest.raises(CheckpointError, match=r"or save it again$"):
        open_run(copied)


def test_a_history_that_was_cut_is_noticed(copied):
    whole = (copied / "metrics.csv").read_bytes()
    for length in (len(whole) - 1, whole.index(b"\n2,") + 1):
        (copied / "metrics.csv").write_bytes(whole[:length])
        with pytest.raises(CheckpointError, match=r"metrics\.csv is cut short: \d of 2 epochs"):
            open_run(copied)


def test_missing_files_are_named(copied):
    (copied / "metrics.csv").unlink()
    with pytest.raises(CheckpointError, match=r"metrics\.csv.*copy the whole folder again"):
        open_run(copied)
    (copied / "model.safetensors").unlink()
    with pytest.raises(CheckpointError, match=r"model\.safetensors is missing"):
        open_run(copied)


def test_a_model_that_no_run_has_written_is_refused(copied):
    tensors, description = load_model(copied)
    first = next(iter(tensors))
    cases = (
        (tensors, {"about": "something else"}, "'task'"),
        ({k: v for k, v in tensors.items() if k != first}, description, "Missing key"),
    )
    for state, notes, message in cases:
        save_model(copied, state, notes)
        with pytest.raises(CheckpointError, match=rf"not a run that .* can open (?s:.*){message}"):
            open_run(copied)


def test_scores_that_are_not_numbers_come_back(copied):
    tensors, description = load_model(copied)
    description["metrics"]["test_relative_l2"] = None
    save_model(copied, tensors, description)
    opened = open_run(copied)
    assert np.isnan(opened.metrics["test_relative_l2"])
    assert "nan" in repr(opened)


# --- data -----------------------------------------------------------------------------------------


def test_arrays_that_are_not_kept_are_asked_for(of_lines):
    opened = open_run(of_lines.path)
    with pytest.raises(ValueError, match=r"not kept with it; give them again: run\.data = "):
        opened.plot()
    scores = opened.evaluate(lines())
    assert float(scores["relative_l2"].mean()) == of_lines.metrics["test_relative_l2"]
    xr.testing.assert_identical(scores, opened.evaluate(lines()["test"]))
    changed = lines()
    changed["test"]["u"].values[0, 0] += 1
    with pytest.raises(ValueError, match=r"other data than when .* trained; judge it on"):
        opened.data = changed
    opened.data = lines()
    xr.testing.assert_identical(opened.evaluate(), of_lines.evaluate())
    assert opened.plot() is not None


@pytest.mark.parametrize(("factor", "same"), [(1 + 1e-6, True), (1.001, False)])
def test_a_solver_that_has_changed_is_noticed(factor, same, run, monkeypatch):
    """But not the rounding of another machine."""

    def changed(*args, **options):
        splits = {name: child.to_dataset() for name, child in load(*args, **options).items()}
        return xr.DataTree.from_dict({n: ds.assign(u=factor * ds["u"]) for n, ds in splits.items()})

    load = sciops.runs.data.load
    monkeypatch.setattr(sciops.runs.data, "load", changed)
    message = r"other data than .*train\.u has .* a default or a solver of sciops has changed"
    for data in (lambda: open_run(run.path).data, lambda: darcy(run.path).data):
        if same:
            assert set(data().children) == {"train", "val", "test"}
        else:
            with pytest.raises(ValueError, match=message):
                data()


def test_a_run_of_an_older_version_has_no_marks_of_its_data(run, tmp_path):
    copied = shutil.copytree(run.path, tmp_path / "copied")
    tensors, description = load_model(copied)
    assert description.pop("data").keys() == {f"{s}.{v}" for s in run.data for v in "au"}
    save_model(copied, tensors, description)
    xr.testing.assert_identical(open_run(copied).evaluate(), run.evaluate())


def test_a_page_that_cannot_be_written_may_go_elsewhere(of_lines, tmp_path, monkeypatch):
    def fail(*_):
        raise PermissionError("read-only")

    monkeypatch.setattr(sciops.reporting.frame, "write_text", fail)
    with pytest.raises(OSError, match=r"cannot write .*report\.html .*run\.report\('elsewhere"):
        of_lines.report()


def test_a_store_is_found_again_unless_it_has_changed(tmp_path):
    store = write(tmp_path / "lines.zarr", lines(train=7, test=3))
    run = on_lines(tmp_path / "run", store)
    opened = open_run(tmp_path / "run")
    assert opened.data["val"].sizes["sample"] == 1
    xr.testing.assert_identical(opened.evaluate(), run.evaluate())

    changed = lines(train=7, test=3)
    changed["test"]["u"].values[1, 2] += 1
    write(store, changed, overwrite=True)
    with pytest.raises(ValueError, match=r"lines\.zarr has changed since this run was trained"):
        _ = open_run(tmp_path / "run").data


def test_a_split_that_is_not_there(of_lines):
    with pytest.raises(ValueError, match="no split 'valid'; they have train, val, test"):
        of_lines.evaluate(split="valid")
    with pytest.raises(ValueError, match="data=list must be a zarr store"):
        of_lines.evaluate([1, 2])


# --- prediction -----------------------------------------------------------------------------------


def test_tensors_arrays_and_datasets_are_predicted_alike(of_lines):
    ds = of_lines.data["test"].to_dataset()
    array = ds["a"].values[:, None]
    array.flags.writeable = False
    found = of_lines.predict(array)
    assert isinstance(found, np.ndarray) and found.dtype == np.float32 and found.shape == (3, 1, 16)
    tensor = of_lines.predict(torch.tensor(array))
    assert isinstance(tensor, torch.Tensor) and not tensor.requires_grad
    np.testing.assert_array_equal(tensor.numpy(), found)
    np.testing.assert_array_equal(of_lines.predict(array.astype(float)), found)
    np.testing.assert_array_equal(of_lines.predict(array[::-1]), found[::-1])
    np.testing.assert_array_equal(of_lines.predict(ds)["u"].values, found[:, 0])
    with torch.no_grad():
        direct = of_lines.model(torch.tensor(array))
    torch.testing.assert_close(tensor, direct)


def test_arrays_of_the_training_grid_are_on_its_points(tmp_path):
    run = on_lines(tmp_path / "run", uneven_lines())
    ds = closed_line(9, 3, points=UNEVEN)
    found = run.predict(ds["a"].values[:, None])[:, 0]
    np.testing.assert_array_equal(found, run.predict(ds)["u"].values)
    even = closed_line(11, 3)  # other sizes are uniform
    found = run.predict(even["a"].values[:, None])[:, 0]
    np.testing.assert_array_equal(found, run.predict(even)["u"].values)


def test_arrays_of_another_shape_are_refused(run):
    message = r"x has the shape \(4, 9, 9\), but it must be \(batch, 1, x, y\)"
    with pytest.raises(ValueError, match=message):
        run.predict(np.zeros((4, 9, 9)))
    with pytest.raises(ValueError, match=r"\(4, 2, 9, 9\), but"):
        run.predict(torch.zeros(4, 2, 9, 9))


# --- other resolutions ----------------------------------------------------------------------------


def test_transfer_is_an_evaluation_on_each_grid(run, tmp_path, monkeypatch):
    monkeypatch.setenv("SCIOPS_DATA_DIR", str(tmp_path / "kept"))
    table = sciops.transfer(run.path, [9, 12])
    assert table["relative_l2"].dims == table["control_upsample"].dims == ("resolution", "sample")
    assert table["resolution"].values.tolist() == [9, 12]
    at_home = run.evaluate()["relative_l2"]
    np.testing.assert_allclose(table["relative_l2"].sel(resolution=9), at_home, rtol=1e-5)
    other = sciops.load("darcy", resolution=12, refine=1, n_train=1, n_val=1, n_test=3)
    expected = run.evaluate(other)["relative_l2"]
    np.testing.assert_allclose(table["relative_l2"].sel(resolution=12), expected, rtol=1e-5)
    assert run.transferred is None
    xr.testing.assert_allclose(run.transfer([12]).drop_vars("seconds"), table.drop_vars("seconds"))
    assert run.transferred is not None


def test_transfer_makes_no_more_samples_than_it_needs(run, tmp_path, monkeypatch):
    monkeypatch.setenv("SCIOPS_DATA_DIR", str(tmp_path / "kept"))
    run.transfer([12])
    (store,) = (tmp_path / "kept" / "darcy").glob("12-*.zarr")
    assert [path.name for path in store.iterdir() if path.is_dir()] == ["test"]


def test_an_operator_of_one_grid_says_so(tmp_path):
    fixed = darcy(tmp_path / "run", "xd-grid", epochs=1)
    table = fixed.transfer([12])
    assert table["relative_l2"].sel(resolution=12).isnull().all()
    assert table["relative_l2"].sel(resolution=9).notnull().all()
    assert table["control_upsample"].notnull().all()
    assert "12: this grid-frame XD was built for size=(9, 9)" in table.attrs["refused"]
    with pytest.raises(ValueError, match=r"built for size=\(9, 9\)"):
        fixed.predict(np.zeros((1, 1, 12, 12)))


def test_someones_samples_on_other_grids_are_given(of_lines):
    with pytest.raises(ValueError, match=r"no solver can make .* run\.transfer\(data="):
        of_lines.transfer([32])
    finer = line(32, 3, first=NUMBERS["test"])
    table = of_lines.transfer(data={16: lines()["test"], 32: finer})
    expected = of_lines.evaluate(finer)["relative_l2"]
    np.testing.assert_allclose(table["relative_l2"].sel(resolution=32), expected, rtol=1e-5)


@pytest.mark.parametrize("arguments", [{}, {"resolutions": [9], "data": {9: None}}])
def test_transfer_wants_resolutions_or_data(arguments, run):
    with pytest.raises(ValueError, match=r"resolutions=\[64, 85\] or data={64: dataset}, one of"):
        run.transfer(**arguments)


def test_a_single_resolution_is_a_list_of_one(run):
    assert run.transfer(9)["resolution"].values.tolist() == [9]


def test_a_forecast_is_opened_as_it_was(tmp_path):
    run = flow(tmp_path / "run", forecast="steps", epochs=1)
    xr.testing.assert_identical(open_run(tmp_path / "run").evaluate(), run.evaluate())
    assert json.loads((tmp_path / "run/config.json").read_text())["model"]["forecast"] == "steps"


# --- the mean over symmetries ---------------------------------------------------------------------


@pytest.mark.parametrize("make", [darcy, flow])
def test_a_symmetrised_run_predicts_the_same_in_every_position(make, tmp_path):
    run = make(tmp_path / "run", augment=True)
    names = run.config["training"]["symmetries"]
    mean = run.symmetrised()
    test = run.data["test"].to_dataset()
    samples = MemorySamples(test, run.task)
    y = mean.predict(samples.x)
    for member in members(names, samples.x.shape[2:]):
        moved = member.there(Placed(Batch(samples.x, y))).batch
        torch.testing.assert_close(mean.predict(moved.x), moved.y, rtol=1e-4, atol=1e-5)
    score = float(mean.evaluate()["relative_l2"].mean())
    assert mean.metrics["test_relative_l2"] == pytest.approx(score)
    assert mean.metrics["train_seconds"] == run.metrics["train_seconds"]
    assert mean.metrics["test_relative_l2"] != run.metrics["test_relative_l2"]


def test_without_symmetries_there_is_no_mean(tmp_path):
    with pytest.raises(ValueError, match="not trained with augment=True"):
        darcy(tmp_path / "plain", augment=False).symmetrised()
