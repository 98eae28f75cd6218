"""Full disks, forbidden folders, wrong clocks, changed stores: clear errors, nothing is lost."""

import contextlib
import os
import re
import resource
import shutil
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

import sciops
from sciops.data.store import write
from sciops.studies.study import run_study
from tests.faults.further_victims import ALL
from tests.faults.victim import left_behind
from tests.run_toy import lines, on_lines
from tests.studies import study_toy, term_toy

HOUSE = Path(sciops.__file__).parent
KINDS = ["conversion", "ragged store", "states and models", "training", "search by joint", "report"]
NOBODY = 65534
pytestmark = pytest.mark.filterwarnings("ignore")


@pytest.fixture(scope="module", params=KINDS)
def case(request, tmp_path_factory):
    """Some work, a folder that is ready for it, and the result of it."""
    victim = next(v for v in ALL if v.name == request.param)
    prepared = tmp_path_factory.mktemp("prepared")
    victim.prepare(prepared)
    whole = Path(shutil.copytree(prepared, tmp_path_factory.mktemp("whole") / "folder"))
    victim.work(whole)
    return victim, prepared, victim.readable(whole)


@contextlib.contextmanager
def full_disk(limit: int) -> Iterator[None]:
    """The kernel refuses to make a file larger than this (SIGXFSZ is ignored by Python)."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (limit, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


@contextlib.contextmanager
def as_nobody() -> Iterator[None]:
    """Without the rights of the superuser, who may write everywhere."""
    if os.geteuid():
        yield
        return
    os.seteuid(NOBODY)
    try:
        yield
    finally:
        os.seteuid(0)


def test_a_full_disk(case, tmp_path):
    victim, prepared, whole = case
    folder = Path(shutil.copytree(prepared, tmp_path / "folder"))
    with full_disk(3000), pytest.raises((OSError, ValueError, RuntimeError)) as failure:
        victim.work(folder)
    assert re.search("free .*space|write it elsewhere", str(failure.value)), failure.value
    assert victim.wrong(folder, whole) == []
    victim.work(folder)
    assert victim.readable(folder) == whole and left_behind(folder) == []


@pytest.mark.parametrize("workers", [1, 2])
def test_a_full_disk_is_no_fault_of_a_candidate(workers, tmp_path):
    """However often it is tried: the trials go on when there is space."""

    def study():
        how = dict(workers=workers)
        return run_study(study_toy.saving, term_toy.space(), "random", 3, tmp_path, **how)

    for _ in range(4):  # more than there are attempts
        with full_disk(12_000), pytest.raises((OSError, ValueError), match="free disk space"):
            study()
    records = study().records
    assert [(r.state, r.attempts) for r in records] == [("finished", 1)] * 3


def test_a_folder_that_must_not_be_written_to(case):
    victim, prepared, whole = case
    folder = Path(tempfile.mkdtemp())  # which nobody can look into, other than those of pytest
    try:
        shutil.copytree(prepared, folder, dirs_exist_ok=True)
        for path in (folder, *folder.rglob("*")):
            path.chmod(0o555 if path.is_dir() else 0o444)
        with as_nobody(), pytest.raises((OSError, ValueError, RuntimeError)) as failure:
            victim.work(folder)
        assert "Permission denied" in str(failure.value), failure.value
        assert re.search("choose a |write it elsewhere", str(failure.value)), failure.value
        assert victim.wrong(folder, whole) == []
    finally:
        for path in (folder, *folder.rglob("*")):
            path.chmod(0o755)
        shutil.rmtree(folder)


# --- clocks ---------------------------------------------------------------------------------------


class Stopped(Exception):
    pass


def stop_after(epochs: int):
    def look(rows):
        if len(rows) == epochs:
            raise Stopped

    return look


def test_a_clock_that_goes_backwards(tmp_path, monkeypatch):
    """The newest is the newest by its number, whatever times its files have."""
    now = iter(range(2 * 10**9, 0, -1000))
    monkeypatch.setattr(time, "time", lambda: float(next(now)))
    for epochs in (2, 4):
        with pytest.raises(Stopped):
            on_lines(tmp_path / "run", epochs=6, at_epoch_end=stop_after(epochs))
        for age, path in enumerate(sorted((tmp_path / "run").rglob("*"))):
            os.utime(path, (10**9 - age, 10**9 - age))  # later saves look older
    run, whole = on_lines(tmp_path / "run", epochs=6), on_lines(tmp_path / "whole", epochs=6)
    columns = ["epoch", "train_relative_l2", "val_relative_l2"]
    assert run.history[columns].equals(whole.history[columns])


def test_no_line_asks_what_time_it_is():
    """Durations are measured with clocks that only go forwards."""
    asked = re.compile(r"\btime\.time\(|\bdatetime\b|st_mtime|getmtime|st_ctime")
    files = (f for f in sorted(HOUSE.rglob("*.py")) if asked.search(f.read_text(encoding="utf-8")))
    assert [file.relative_to(HOUSE).as_posix() for file in files] == []


# --- data -----------------------------------------------------------------------------------------


def test_a_store_that_changes_under_a_run(tmp_path):
    path = write(tmp_path / "mine.zarr", lines(train=7, test=3))
    with pytest.raises(Stopped):
        on_lines(tmp_path / "run", path, epochs=3, at_epoch_end=stop_after(1))
    shutil.move(path, tmp_path / "kept.zarr")
    changed = lines(train=7, test=3)
    changed["train"]["a"][2, 5] += 1e-3
    write(path, changed)
    with pytest.raises(ValueError, match=r"holds another run \(data\.fingerprint"):
        on_lines(tmp_path / "run", path, epochs=3)
    shutil.rmtree(path)
    shutil.move(tmp_path / "kept.zarr", path)
    on_lines(tmp_path / "run", path, epochs=3)
    write(path, changed, overwrite=True)
    with pytest.raises(ValueError, match="has changed since this run was trained"):
        _ = sciops.open_run(tmp_path / "run").data
