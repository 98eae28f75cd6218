"""`doctor`: a sound machine passes, and whatever is broken is a line with a remedy."""

from importlib import metadata

import numpy as np
import pytest
import torch

from sciops import health
from sciops.health import Finding, Health, doctor


@pytest.fixture(scope="module")
def sound() -> Health:
    return doctor()


def of(report: Health, part: str) -> Finding:
    (finding,) = [f for f in report.findings if f.part == part]
    return finding


def quick(monkeypatch, *parts: str) -> None:
    """Only these probes."""
    monkeypatch.setattr(health, "PROBES", {part: health.PROBES[part] for part in parts})


def test_this_machine_is_well(sound):
    assert sound.ok, str(sound)
    assert bool(sound)
    assert list(sound.table.columns) == ["part", "ok", "detail", "remedy"]
    assert len(str(sound).splitlines()) == len(sound.findings)


def test_every_dependency_is_looked_at(sound):
    assert of(sound, "torch").detail.startswith(torch.__version__)
    needed = [r.split(">")[0] for r in metadata.requires("sciops") if "extra" not in r]
    assert set(needed) < {f.part for f in sound.findings}
    assert "hypothesis" not in {f.part for f in sound.findings}  # of an extra


@pytest.mark.parametrize(("found", "fits"), [("2.9.1", False), ("2.10.0+cpu", True)])
def test_old_package_fails(monkeypatch, found, fits):
    true = metadata.version
    monkeypatch.setattr(metadata, "version", lambda n: found if n == "torch" else true(n))
    quick(monkeypatch)
    report = doctor()
    assert report.ok == fits
    assert of(report, "torch").detail == f"{found} (needs >=2.10)"
    assert ('→ pip install "torch>=2.10"' in str(report)) == (not fits)


def test_missing_package_fails(monkeypatch):
    true = metadata.version

    def version(name):
        if name == "zarr":
            raise metadata.PackageNotFoundError(name)
        return true(name)

    monkeypatch.setattr(metadata, "version", version)
    quick(monkeypatch)
    assert "missing" in of(doctor(), "zarr").detail
    assert not doctor().ok


def test_sciops_that_is_not_installed(monkeypatch):
    def requires(name):
        raise metadata.PackageNotFoundError(name)

    monkeypatch.setattr(metadata, "requires", requires)
    quick(monkeypatch)
    assert "not installed" in of(doctor(), "sciops").detail


def test_data_directory_that_cannot_be_written_to(monkeypatch, tmp_path):
    quick(monkeypatch, "data")
    monkeypatch.setenv("SCIOPS_DATA_DIR", str(tmp_path / "new" / "folder"))
    assert str(tmp_path / "new" / "folder") in of(doctor(), "data").detail
    assert list(tmp_path.iterdir()) == []  # nothing is made by looking
    (tmp_path / "file").write_text("not a folder")
    monkeypatch.setenv("SCIOPS_DATA_DIR", str(tmp_path / "file" / "folder"))
    report = doctor()
    assert not of(report, "data").ok
    assert "→ set SCIOPS_DATA_DIR" in str(report)


def test_full_disk_and_memory(monkeypatch, tmp_path):
    quick(monkeypatch, "data", "memory")
    monkeypatch.setenv("SCIOPS_DATA_DIR", str(tmp_path))
    monkeypatch.setattr(health, "LEAST_DISK", 2**80)
    monkeypatch.setattr(health, "MEMORY_FILE", tmp_path / "meminfo")
    (tmp_path / "meminfo").write_text("MemTotal: 9 kB\nMemAvailable:     1048575 kB\n")
    report = doctor()
    assert not of(report, "data").ok
    assert not of(report, "memory").ok
    (tmp_path / "meminfo").write_text("MemTotal: 9 kB\nMemAvailable:     1048577 kB\n")
    assert of(doctor(), "memory").detail == "1.0 GB free"
    (tmp_path / "meminfo").unlink()
    assert "not known" in of(doctor(), "memory").detail


def test_wrong_operator_fails(monkeypatch):
    from sciops.operators import XD

    quick(monkeypatch, "self-test operators")
    true = XD.forward
    monkeypatch.setattr(XD, "forward", lambda self, x, coords=None: 1.01 * true(self, x, coords))
    assert "not the convolution" in of(doctor(), "self-test operators").detail
    monkeypatch.setattr(XD, "forward", true)
    monkeypatch.setattr(XD, "as_matrix", lambda self: torch.zeros(3 * 16, 2 * 16))
    assert "not its dense matrix" in of(doctor(), "self-test operators").detail


def test_wrong_solver_fails(monkeypatch):
    from sciops.domains import darcy

    quick(monkeypatch, "self-test solver")
    true = darcy.solve_darcy
    wrong = lambda a, f, **options: (1.1 * true(a, f, **options)[0], np.zeros(len(a)))
    monkeypatch.setattr(darcy, "solve_darcy", wrong)
    assert "defect" in of(doctor(), "self-test solver").detail


def test_checkpoint_that_changes_fails(monkeypatch):
    from sciops import checkpoint

    quick(monkeypatch, "self-test checkpoint")
    monkeypatch.setattr(checkpoint, "load_model", lambda _: ({"weight": torch.zeros(2, 3)}, {}))
    assert "otherwise" in of(doctor(), "self-test checkpoint").detail


def test_random_numbers_go_on_as_if_nothing_happened(monkeypatch):
    quick(monkeypatch, "self-test operators")
    before = torch.get_rng_state()
    doctor()
    assert torch.equal(torch.get_rng_state(), before)


def test_a_probe_that_breaks_does_not_hide_the_others(monkeypatch):
    def broken():
        raise RuntimeError("libsomething.so is missing")

    monkeypatch.setattr(
        health, "PROBES", {"GPU": (broken, "mend it"), "cores": health.PROBES["cores"]}
    )
    report = doctor()
    assert not report
    assert of(report, "GPU") == Finding(
        "GPU", False, "RuntimeError: libsomething.so is missing", "mend it"
    )
    assert of(report, "cores").ok
