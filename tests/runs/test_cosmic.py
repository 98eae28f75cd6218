"""`train_cosmic`: runs that can be opened, judged and used to clean; bad input is refused."""

import numpy as np
import pytest

import sciops
from sciops.backbones.image_masks import MASK_NETWORKS
from sciops.cosmic.stamps import stamps_of
from sciops.evaluation.image_cleaning import probabilities
from sciops.runs.cosmic import RECIPES
from sciops.runs.cosmic_run import CosmicRun
from tests.cosmic.mask_toy import sky
from tests.cosmic.toy import exposures as of_one_field
from tests.cosmic.toy import stamp, write_fits
from tests.task_toys import exposures, same_bits
from tests.task_toys import train_cosmic as trained

SCORES = ("auroc", "average_precision", "f1", "fnr_1e-3", "fnr_1e-2", "balanced_error_nb360")
SMALL = {"fno": dict(hidden=8, frequencies=4), "xd": dict(hidden=8, frequencies=4)}


@pytest.mark.parametrize("op", MASK_NETWORKS)
def test_a_run_is_judged_and_opened_again(op, tmp_path):
    small = SMALL.get(op, dict(depth=4) if op.startswith("resnet") else {})
    run = trained(tmp_path / "run", op, epochs=1, **small)
    columns = {"epoch", "train_masked_bce", "val_masked_bce", "seconds"}
    assert set(run.history) == columns | ({"complexity"} if op == "dnarch" else set())
    attrs = run.evaluate().attrs
    assert {f"test_{name}" for name in SCORES} <= set(run.metrics)
    assert [run.metrics[f"test_{name}"] for name in SCORES] == [attrs[name] for name in SCORES]
    opened = sciops.open_run(tmp_path / "run")
    assert isinstance(opened, CosmicRun) and same_bits(run, opened)
    image, _ = sky(30, 41)
    assert np.array_equal(opened.predict(image), run.predict(image))
    assert opened.evaluate(exposures()).equals(run.evaluate())
    assert "of hit pixels missed where 0.1% of others are flagged" in repr(run)


def test_images_of_any_size_are_cleaned(tmp_path):
    run, (image, _) = trained(tmp_path / "run"), sky(37, 50)
    expected = probabilities(run.model, image)
    assert np.array_equal(run.predict(image), expected)
    threshold = float(np.quantile(expected, 0.9))
    cleaned = run.clean(image, threshold=threshold)
    assert np.array_equal(cleaned.mask, expected > threshold) and cleaned.mask.any()
    assert np.array_equal(cleaned.image != image, cleaned.mask)
    dim = run.clean(image, threshold=threshold, saturation=float(np.median(image)))
    assert dim.mask.sum() < cleaned.mask.sum()


def test_files_are_cleaned(tmp_path):
    run = trained(tmp_path / "run")
    file = write_fits(tmp_path / "image.fits", of_one_field(2, (20, 30)))
    median = float(np.median([run.predict(one["SCI"]) for one in of_one_field(2, (20, 30))]))
    done = run.clean_file(file, tmp_path / "out", threshold=median, progress=False)
    assert (done.images, done.pixels) == (2, 1200) and 400 < done.flagged < 800
    assert done.clean == tmp_path / "out" / "image_clean.fits" and done.clean.exists()
    with pytest.raises(ValueError, match="already has image_mask"):
        run.clean_file(file, tmp_path / "out")


def test_a_fits_file_is_data(tmp_path):
    frames = of_one_field(2, (32, 48))
    file = write_fits(tmp_path / "field.fits", frames)
    options = dict(size=16)
    tree = sciops.read("cosmic", file, **options)
    given = trained(tmp_path / "tree", "unet", data=tree, window=8)
    assert given.config["data"]["n_test"] == tree["test"].sizes["stamp"]
    with pytest.raises(ValueError, match="too small for 2 × 2 tiles of size=128"):
        trained(tmp_path / "file", "unet", data=file)


def test_thresholds_of_the_curve_are_those_of_clean(tmp_path):
    """Flagging p ≥ threshold in all test stamps gives the rates of the curve."""
    run = trained(tmp_path / "run", "unet")
    false, true, threshold = run.roc()
    assert threshold[0] == 1 and threshold[-1] == 0 and (np.diff(threshold) <= 0).all()
    stamps = run.stamps("test")
    p = np.stack([run.predict(s.image) for s in stamps]).astype(float)
    keep = np.stack([s.ignore == 0 for s in stamps])
    hit = np.stack([s.mask != 0 for s in stamps])
    for k in range(2, len(threshold) - 1, 2):  # scores of hits; those between are just above them
        flagged = p >= threshold[k] * (1 - 1e-5)
        assert flagged[keep & hit].mean() == pytest.approx(true[k])
        assert flagged[keep & ~hit].mean() == pytest.approx(false[k], abs=0.002)


def test_stamps_may_be_given_by_themselves(tmp_path):
    run = trained(tmp_path / "run", epochs=1)
    mine = stamps_of(exposures()["test"].to_dataset())
    assert run.evaluate(mine).equals(run.evaluate())
    with pytest.raises(ValueError, match="stamp 1 is of the kind ndarray; give a Stamp"):
        run.evaluate([mine[0], mine[0].image])


def test_quick_learns_from_simulated_exposures(tmp_path, monkeypatch):
    """Hits are two in a thousand pixels; even so a short training finds them."""
    monkeypatch.setenv("SCIOPS_DATA_DIR", str(tmp_path / "kept"))
    counts = dict(n_train=24, n_val=4, n_test=8, size=64, window=None, width=8)
    run = trained(tmp_path / "run", "unet", data=None, epochs=8, batch_size=4, **counts)
    assert run.config["window"] == RECIPES["quick"].window
    assert run.metrics["test_auroc"] > 0.98
    assert run.metrics["test_average_precision"] > 0.8 and run.metrics["test_f1"] > 0.7
    assert "simulated stamps" in repr(run)


def test_the_best_epoch_is_kept(tmp_path):
    middle = dict(y=slice(4, 20), x=slice(4, 20))  # stamps of the window's size
    data = exposures().map_over_datasets(lambda ds: ds.isel(middle) if len(ds) else ds)
    run = trained(tmp_path / "run", "unet", data=data, epochs=6, rate=0.3)
    best = run.history["val_masked_bce"].min()
    assert best < 0.9 * run.history["val_masked_bce"].iloc[-1]
    judged = run.evaluate(split="val")["masked_bce"]
    assert float(judged.mean()) == pytest.approx(best, rel=1e-4)


def test_published_settings():
    """Zhang & Bloom 2020; NAS-Bench-360 has the same, of 128² pixels."""
    window, network, how = RECIPES["paper"]
    assert (window, network, how.epochs, how.batch_size) == (128, dict(width=32), 50, 16)
    assert (how.weights.optimiser, how.weights.rate) == ("adam", 5e-3)
    assert how.weights.schedule == "plateau"


def test_figure_and_report(tmp_path):
    run = trained(tmp_path / "run")
    titles = [axes.get_title() for axes in run.plot().axes]
    assert titles[:4] == ["image", "true mask", "probability", "cleaned"]
    page = run.report().read_text()
    assert f"{run.metrics['test_auroc']:.4f}" in page and "What the search learned" in page
    assert "Found and falsely flagged" in page and "hit pixels found" in page
    assert "synthetic" not in page


def test_a_report_without_a_hit(tmp_path):
    tree = exposures()
    tree["test"] = tree["test"].to_dataset().assign(mask=lambda ds: 0 * ds["mask"])
    run = trained(tmp_path / "run", "unet", epochs=1, data=tree)
    assert np.isnan(run.metrics["test_auroc"])
    assert "a ROC curve needs pixels that were hit" in run.report().read_text()


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (dict(op="conv"), "there is no op='conv'; there are unet, unet-xd, unet-xd-grid, resnet"),
        (dict(n_train=5), "n_train, n_val, n_test, size and detector are for synthetic stamps"),
        (dict(window=32), r"the stamps are \(24, 24\), smaller than the crops of 32"),
        (dict(window=1), "size=1 must be a whole number"),
        (dict(data=None, detector="red"), "detector='red' is not known; there are thin, thick"),
        (dict(data=[stamp(1)]), "data=list must be a FITS file, deepCR's folder, or a store"),
    ],
)
def test_what_cannot_work_is_refused(changes, message, tmp_path, monkeypatch):
    monkeypatch.setenv("SCIOPS_DATA_DIR", str(tmp_path / "kept"))
    with pytest.raises(ValueError, match=message):
        trained(tmp_path / "run", **changes)
    assert not (tmp_path / "run").exists()
