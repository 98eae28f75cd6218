"""`sciops train cosmic`, `evaluate` and `clean` do what the verbs do, and fail in one line."""

import json
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

import sciops
from sciops.cli.app import app
from sciops.cosmic.stamps import write_stamps
from tests.cosmic.toy import exposures, write_fits
from tests.task_toys import exposures as stamps
from tests.task_toys import train_music

fits = pytest.importorskip("astropy.io.fits")


def run(*words: object):
    return CliRunner().invoke(app, [w for word in words for w in str(word).split()])


@pytest.fixture(scope="module")
def trained(tmp_path_factory) -> Path:
    """Trained on the command line, with a page."""
    folder = tmp_path_factory.mktemp("cosmic")
    store = write_stamps(folder / "toy.zarr", stamps())
    small = "--op unet --epochs 1 --set window=16 --set width=4 --report"
    result = run(f"train cosmic {small} --data {store} --out {folder / 'run'}")
    assert result.exit_code == 0, result.output
    assert "test_fnr_1e-3" in result.stdout and (folder / "run" / "report.html").exists()
    return folder / "run"


@pytest.fixture
def image(tmp_path) -> Path:
    return write_fits(tmp_path / "image.fits", exposures(2, (20, 30)))


def test_evaluate(trained):
    result = run("evaluate", trained)
    attrs = sciops.open_run(trained).evaluate().attrs
    assert f"over all pixels: auroc {attrs['auroc']:.4g}, average_precision" in result.stdout
    rows = {row["score"]: row for row in json.loads(run("evaluate", trained, "--json").stdout)}
    assert rows["hits"]["max"] == 2 and set(rows) > {"auroc", "fnr_1e-3", "masked_bce"}


def test_report(trained, tmp_path):
    result = run("report", trained, "--out", tmp_path / "page.html")
    assert result.exit_code == 0 and (tmp_path / "page.html").exists()


def test_clean_writes_three_files_and_says_what_it_found(trained, image, tmp_path):
    expected = [sciops.open_run(trained).predict(one["SCI"]) for one in exposures(2, (20, 30))]
    threshold = float(np.quantile(expected, 0.95))
    out = tmp_path / "out"
    result = run("clean", image, "--run", trained, "--out", out, "--threshold", threshold)
    assert result.exit_code == 0, result.output
    with fits.open(out / "image_mask.fits") as masks:
        flagged = sum(int(hdu.data.sum()) for hdu in masks[1:])
    assert 0 < flagged < 200
    first, *files = result.stdout.splitlines()
    assert first.startswith(f"{image}: {flagged} of 1200 pixels flagged (")
    assert first.endswith("2 images")
    names = [f"image_{kind}.fits" for kind in ("mask", "probability", "clean")]
    assert [Path(line.strip()).name for line in files] == names
    assert sorted(path.name for path in out.iterdir()) == sorted(names)


def test_clean_as_json(trained, image, tmp_path):
    result = run("clean", image, "--run", trained, "--out", tmp_path / "out", "--json")
    assert result.exit_code == 0, result.output
    (done,) = json.loads(result.stdout)
    assert done["image"] == str(image) and done["pixels"] == 1200 and done["images"] == 2
    assert all(Path(done[kind]).exists() for kind in ("mask", "probability", "clean"))


def test_older_files_are_replaced_on_request_only(trained, image):
    asked = ("clean", image, "--run", trained, "--threshold", "0.99")
    assert run(*asked).exit_code == 0
    refused = run(*asked)
    assert refused.exit_code == 2 and "already has image_mask.fits" in refused.stderr
    assert "--overwrite" in refused.stderr
    assert run(*asked, "--overwrite").exit_code == 0


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("clean nothing.fits --run RUN", "nothing.fits is no file"),
        ("clean IMAGE --run nowhere", "nowhere is not a run"),
        ("clean IMAGE --run RUN --threshold 2", "threshold=2.0 must be a probability"),
        ("clean RUN/model.json --run RUN", "is damaged, truncated or no FITS file"),
    ],
)
def test_errors_are_one_line(words, message, trained, image):
    result = run(words.replace("RUN", str(trained)).replace("IMAGE", str(image)))
    assert result.exit_code == 2, result.output
    assert message in result.stderr and len(result.stderr.strip().splitlines()) == 1


def test_only_runs_on_cosmic_rays_clean(image, tmp_path):
    train_music(tmp_path / "music", epochs=1)
    result = run("clean", image, "--run", tmp_path / "music")
    assert result.exit_code == 2
    assert "was trained on music; give a run of `sciops train cosmic`" in result.stderr
