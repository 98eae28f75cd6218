"""Runs of continuous CNNs: sizes in the history, a plain network beside the model, other grids."""

import pytest
import torch

import sciops
from sciops.runs.trimming import open_trimmed
from tests.contracts import random_tensor, relative_error
from tests.task_toys import train_cosmic, train_vision

SMALL = dict(op="dnarch", width=4, blocks=2, hidden=8)


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """Masks learn fast here, so that the architecture moves."""
    folder = tmp_path_factory.mktemp("dnarch")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SCIOPS_DATA_DIR", str(folder / "kept"))
        numbers = dict(resolution=9, n_train=8, n_val=2, n_test=3, epochs=2, batch_size=4)
        made = sciops.train_pde(
            "darcy", **SMALL, **numbers, arch_rate=0.1, out=folder / "run", progress=False
        )
        yield made


def test_the_history_has_the_cost(run):
    assert run.history["complexity"].nunique() == 2
    assert run.metrics["complexity"] == pytest.approx(run.history["complexity"].iloc[-1])
    assert run.metrics["arch_parameters"] == 4 * (2 + 2 + 3) + 1


def test_the_plain_network_is_the_same(run):
    plain = open_trimmed(run.path)
    x = random_tensor(3, 1, 9, 9)
    assert relative_error(plain(x), run.model(x)) < 1e-5
    assert not any("sizes" in name for name in plain.state_dict())


def test_images_too(tmp_path):
    vision = train_vision(tmp_path / "vision", epochs=1, **SMALL)
    x = random_tensor(4, 1, 8, 8)
    assert relative_error(open_trimmed(vision.path)(x), vision.model(x)) < 1e-5
    cosmic = train_cosmic(tmp_path / "cosmic", epochs=1, **SMALL)
    x = random_tensor(2, 1, 16, 16)
    assert relative_error(open_trimmed(cosmic.path)(x), cosmic.model(x)) < 1e-5
    with pytest.raises(ValueError, match="no trimmed network"):
        open_trimmed(tmp_path)


def test_other_grids_and_the_page(run):
    table = run.transfer([9, 12, 17])
    assert bool(table["relative_l2"].notnull().all()) and not table.attrs["refused"]
    page = run.report().read_text(encoding="utf-8")
    assert "What it became" in page and "complexity, of the base network" in page


def test_a_run_without_learned_sizes_says_nothing_of_them(tmp_path):
    from sciops.reporting.sizes_section import sizes_section

    run = train_vision(tmp_path / "run", epochs=1, learn="", **SMALL)
    assert sizes_section(run) == "" and "complexity" not in run.history
    assert torch.equal(
        sciops.open_run(run.path).model(torch.ones(2, 1, 8, 8)), run.model(torch.ones(2, 1, 8, 8))
    )
