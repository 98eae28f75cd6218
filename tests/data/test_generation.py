"""A store has the same bytes whoever makes it, however often they are killed meanwhile."""

import errno
import itertools
import logging
import os
import resource
import shutil
import signal
import subprocess
import sys
import time
from functools import partial
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import zarr
from filelock import FileLock

from sciops.data import generation, parts
from sciops.data.generation import build, tidy
from sciops.data.progress import progress_bar
from sciops.data.schema import CHUNK_BYTES, PARTS, SplitSpec, StoreSpec
from sciops.data.store import StoreError, chunk_files, open_store, verify
from tests.data.store_toy import ATTRS, BLOCK, contents, solve, toy_spec

SCRIPT = Path(__file__).with_name("store_toy.py")
ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory) -> dict[str, bytes]:
    """The bytes of the toy store, made in one go by one thread."""
    path = tmp_path_factory.mktemp("one") / "toy"
    return contents(build(path, toy_spec(), solve, block=BLOCK, workers=1))


def start(*arguments: str | Path, stdout=subprocess.DEVNULL, **options) -> subprocess.Popen:
    """`store_toy.py` in a process of its own."""
    paths = os.pathsep.join([str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])])
    environment = {**os.environ, "PYTHONPATH": paths, "OMP_NUM_THREADS": "1"}
    command = [sys.executable, "-W", "error", str(SCRIPT), *map(str, arguments)]
    pipes = dict(stdout=stdout, stderr=subprocess.PIPE, text=True)
    return subprocess.Popen(command, env=environment, **pipes, **options)


def finish(process: subprocess.Popen) -> str:
    _, messages = process.communicate(timeout=60)
    assert process.returncode == 0, messages
    return messages


def test_locks_and_drafts_of_a_killed_process_go_when_the_store_is_asked_for(tmp_path):
    def made():
        return build(tmp_path / "toy", toy_spec(), solve, block=BLOCK, workers=1)

    lock = made().with_name("toy.lock")
    lock.touch()
    made()
    assert not lock.exists()
    lock.touch()
    draft = tmp_path / "toy.partial" / "0123456789abcdef"
    draft.mkdir(parents=True)
    tidy(tmp_path / "toy")
    assert [path.name for path in tmp_path.iterdir()] == ["toy"]
    draft.mkdir(parents=True)
    with FileLock(lock):  # its process lives
        tidy(tmp_path / "toy")
        assert draft.exists() and lock.exists()


def test_a_store_is_checked_before_it_is_where_it_shall_be(tmp_path):
    def bad(store):
        assert open_store(store) and not (tmp_path / "toy").exists()
        raise RuntimeError("bad")

    with pytest.raises(RuntimeError, match="bad"):
        build(tmp_path / "toy", toy_spec(), solve, block=BLOCK, workers=1, check=bad)
    assert list(tmp_path.iterdir()) == []
    build(tmp_path / "toy", toy_spec(), solve, block=BLOCK, workers=1, check=open_store)


class Counted:
    """`solve`, and which blocks it was asked for; stops after `limit` of them."""

    def __init__(self, limit: float = np.inf):
        self.limit, self.blocks = limit, []

    def __call__(self, samples):
        if len(self.blocks) >= self.limit:
            raise KeyboardInterrupt
        self.blocks.append(list(samples))
        return solve(samples)


def test_bytes_do_not_depend_on_the_number_of_threads(undisturbed, tmp_path):
    path = build(tmp_path / "deep" / "toy", toy_spec(), solve, block=BLOCK, workers=4)
    assert contents(path) == undisturbed
    assert [file.name for file in path.parent.iterdir()] == ["toy"]  # no lock, nothing partial


def test_a_part_that_changes_after_it_was_written_is_noticed(undisturbed, tmp_path):
    path = tmp_path / "toy"

    def disturb(samples):
        for chunk in tmp_path.glob("toy.partial/*/store/train/u/c.0.*"):
            chunk.write_bytes(chunk.read_bytes()[::-1])
        return solve(samples)

    with pytest.raises(StoreError, match="lost or changed files of train-0"):
        build(path, toy_spec(train=8, test=1), disturb, block=BLOCK, workers=1)
    assert not path.exists()
    whole = contents(build(path, toy_spec(), solve, block=BLOCK))
    assert whole == undisturbed


def test_bytes_do_not_depend_on_the_cluster(undisturbed, tmp_path):
    finish(start(tmp_path / "toy", "dask"))
    assert contents(tmp_path / "toy-address") == contents(tmp_path / "toy-client") == undisturbed
    assert "make_block gave {'a': (4, 9)" in (tmp_path / "toy-error").read_text()
    assert not (tmp_path / "toy-bad").exists()


def test_a_worker_of_the_cluster_that_is_killed(undisturbed, tmp_path):
    """Dask gives its parts to another one, and starts a new one."""
    finish(start(tmp_path / "toy", "killed-worker", "0.3"))
    assert (tmp_path / "killed").exists() and contents(tmp_path / "toy") == undisturbed
    assert not (tmp_path / "toy.partial").exists()


def test_dask_is_optional(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(ImportError, match=r'pip install "sciops\[dask\]"'):
        build(tmp_path / "toy", toy_spec(), solve, block=BLOCK, scheduler="tcp://nowhere:1")


def test_blocks_are_whole_and_surplus_is_cut_off(tmp_path):
    counted = Counted()
    few = build(tmp_path / "few", toy_spec(train=5, test=0), counted, block=8)
    many = build(tmp_path / "many", toy_spec(train=16, test=0), solve, block=8)
    assert counted.blocks == [list(range(8))]
    few, many = open_store(few)["train"].dataset, open_store(many)["train"].dataset
    assert few.sizes["sample"] == 5
    for name in ("a", "u", "sample"):
        np.testing.assert_array_equal(few[name].values, many[name].values[:5])


@pytest.mark.parametrize("stop", [1, 3, 7])
def test_interrupted_work_is_not_done_twice(undisturbed, tmp_path, stop):
    path = tmp_path / "toy"
    first, second = Counted(stop), Counted()
    with pytest.raises(KeyboardInterrupt):
        build(path, toy_spec(), first, block=BLOCK, workers=1)
    assert not path.exists()
    build(path, toy_spec(), second, block=BLOCK, workers=1)
    assert len(first.blocks) == stop
    blocks = sorted(first.blocks + second.blocks)
    assert blocks == sorted(map(list, {tuple(block) for block in blocks})) and len(blocks) == 8
    assert contents(path) == undisturbed


def test_damaged_parts_are_made_again(undisturbed, tmp_path):
    path, counted = tmp_path / "toy", Counted()
    with pytest.raises(KeyboardInterrupt):
        build(path, toy_spec(), Counted(6), block=BLOCK, workers=1)
    partial_store = next(path.with_name("toy.partial").iterdir()) / "store"
    (partial_store / "test" / "u" / "c.0.0.0").write_bytes(b"cut")
    (partial_store / "test" / "a" / "c.1.0").unlink()
    (partial_store / "train" / "a" / "c.0.1b2c.partial").write_bytes(b"draft")
    build(path, toy_spec(), counted, block=BLOCK, workers=1)
    starts = [block[0] for block in counted.blocks]
    assert starts == [2 * 10**9, 2 * 10**9 + 4, 16, 20]  # two damaged, two not made before
    assert contents(path) == undisturbed


def test_damaged_metadata_start_anew(undisturbed, tmp_path):
    path, counted = tmp_path / "toy", Counted()
    with pytest.raises(KeyboardInterrupt):
        build(path, toy_spec(), Counted(6), block=BLOCK, workers=1)
    root = next(path.with_name("toy.partial").glob("*/store/zarr.json"))
    root.write_text("{}")
    build(path, toy_spec(), counted, block=BLOCK)
    assert len(counted.blocks) == 8 and contents(path) == undisturbed


def test_partial_work_of_another_specification_is_discarded(undisturbed, tmp_path):
    path, counted = tmp_path / "toy", Counted()
    with pytest.raises(KeyboardInterrupt):
        build(path, toy_spec(seed=4), Counted(6), block=BLOCK, workers=1)
    theirs = path.with_name("toy.partial") / "notes.txt"
    theirs.write_text("not ours")
    build(path, toy_spec(), counted, block=BLOCK)
    assert len(counted.blocks) == 8 and contents(path) == undisturbed
    assert [file.name for file in theirs.parent.iterdir()] == ["notes.txt"]


def test_a_late_worker_of_another_specification_is_harmless(undisturbed, tmp_path):
    """Its file lands in the partial folder while this store is being made."""
    path, other = tmp_path / "toy", toy_spec(seed=4)
    site = parts.Site(path, "0" * 64)

    def slow(samples):
        late = site.store / "train" / "u" / "c.0.0.0"
        late.parent.mkdir(parents=True, exist_ok=True)
        late.write_bytes(b"late")
        return solve(samples)

    assert site.fingerprint != other.fingerprint()
    assert contents(build(path, toy_spec(), slow, block=BLOCK)) == undisturbed
    assert not site.partial.exists()


MOMENTS = [
    "create",
    "write_part",
    "describe",
    "write_manifest",
    "verify",
    "flush",
    "sync",
    "clear",
]


@pytest.mark.parametrize("moment", MOMENTS)
def test_stopped_at_each_step(undisturbed, tmp_path, monkeypatch, moment):
    """The process dies before or after the step; what it left is finished by the next."""
    for after in (False, True):
        path = tmp_path / f"toy-{after}"
        original = getattr(generation, moment)

        def dies(*arguments, original=original, after=after):
            if after:
                original(*arguments)
            raise KeyboardInterrupt

        with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
            patch.setattr(generation, moment, dies)
            build(path, toy_spec(), solve, block=BLOCK)
        if path.exists():
            assert contents(path) == undisturbed
        build(path, toy_spec(), solve, block=BLOCK)
        assert contents(path) == undisturbed
        assert not path.with_name(path.name + ".partial").exists()


def test_an_existing_store_is_used_or_kept(undisturbed, tmp_path):
    path, counted = tmp_path / "toy", Counted()
    build(path, toy_spec(), solve, block=BLOCK)
    assert build(path, toy_spec(), counted, block=BLOCK) == path and not counted.blocks
    changes = [dict(spec=toy_spec(seed=4)), dict(spec=toy_spec(train=23)), dict(block=2)]
    for change in changes:
        arguments = {"spec": toy_spec(), "block": BLOCK, **change}
        with pytest.raises(StoreError, match=r"another specification.*overwrite=True"):
            build(path, make_block=solve, **arguments)
    assert contents(path) == undisturbed
    build(path, toy_spec(train=3), solve, block=BLOCK, overwrite=True)
    assert open_store(path, full=True)["train"].sizes["sample"] == 3
    assert [file.name for file in tmp_path.iterdir()] == ["toy"]


@pytest.mark.parametrize("damage", ["train/u/c.0.0.0", "test/sample/manifest.json"])
def test_a_damaged_store_is_replaced_only_if_asked_for(undisturbed, tmp_path, damage):
    path = build(tmp_path / "toy", toy_spec(), solve, block=BLOCK)
    (path / damage).unlink()
    with pytest.raises(StoreError, match=r"is missing|no manifest"):
        build(path, toy_spec(), solve, block=BLOCK)
    build(path, toy_spec(), solve, block=BLOCK, overwrite=True)
    assert contents(path) == undisturbed


@pytest.mark.parametrize("overwrite", [False, True])
def test_what_is_not_ours_is_left_alone(undisturbed, tmp_path, overwrite):
    (tmp_path / "file").write_text("mine")
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "mine").write_text("mine")
    (tmp_path / "empty").mkdir()
    running = dict(block=BLOCK, overwrite=overwrite)
    for name in ("file", "folder"):
        with pytest.raises(StoreError, match="exists and is no store: it is left alone"):
            build(tmp_path / name, toy_spec(), solve, **running)
    with pytest.raises(StoreError, match=r"cannot write .*choose a path in a folder"):
        build(tmp_path / "file" / "toy", toy_spec(), solve, **running)
    assert (tmp_path / "folder" / "mine").read_text() == (tmp_path / "file").read_text() == "mine"
    assert contents(build(tmp_path / "empty", toy_spec(), solve, **running)) == undisturbed


@pytest.mark.parametrize("there", [False, True])
def test_links_to_where_no_store_is(tmp_path, there):
    if there:
        (tmp_path / "away").mkdir()
    (tmp_path / "toy").symlink_to(tmp_path / "away")
    before = set(tmp_path.iterdir())
    with pytest.raises(StoreError, match=r"toy is a link to .*away, where there is no store; give"):
        build(tmp_path / "toy", toy_spec(), solve, block=BLOCK)
    assert set(tmp_path.iterdir()) == before


def test_forbidden_folders(tmp_path, monkeypatch):
    if os.geteuid():
        tmp_path.chmod(0o500)
    else:  # the superuser may write everywhere: have the system say no
        monkeypatch.setattr(os, "open", raises(PermissionError(errno.EACCES, "Permission denied")))
    try:
        with pytest.raises(StoreError, match="Permission denied; choose a path in a folder that"):
            build(tmp_path / "toy", toy_spec(), solve, block=BLOCK)
    finally:
        tmp_path.chmod(0o700)
    assert not list(tmp_path.iterdir())


def raises(error: Exception):
    def function(*_, **__):
        raise error

    return function


def test_finished_stores_need_no_permission_to_write(tmp_path, monkeypatch):
    path = build(tmp_path / "toy", toy_spec(), solve, block=BLOCK)
    monkeypatch.setattr(generation, "only_process", raises(PermissionError()))
    assert build(path, toy_spec(), solve, block=BLOCK) == path


def test_a_store_that_cannot_fit_is_not_begun(tmp_path, monkeypatch):
    usage = SimpleNamespace(free=22 * 128 + 5 * 128 - 1)  # a and u: 32 numbers of 4 bytes a sample
    monkeypatch.setattr(shutil, "disk_usage", lambda path: usage)
    counted = Counted()
    with pytest.raises(StoreError, match=r"needs 3.46e-06 GB more, .* fewer samples"):
        build(tmp_path / "toy", toy_spec(), counted, block=BLOCK)
    assert not counted.blocks
    usage.free += 1
    build(tmp_path / "toy", toy_spec(), counted, block=BLOCK)


def test_a_disk_that_gets_full(undisturbed, tmp_path, monkeypatch):
    path, counted = tmp_path / "toy", Counted()
    setitem, written = zarr.Array.__setitem__, itertools.count()

    def full(array, selection, values):
        if array.basename == "u" and next(written) >= 3:
            raise OSError(errno.ENOSPC, "No space left on device")
        setitem(array, selection, values)

    with monkeypatch.context() as patch:
        patch.setattr(zarr.Array, "__setitem__", full)
        with pytest.raises(StoreError, match="No space left on device; free some space and run"):
            build(path, toy_spec(), solve, block=BLOCK, workers=1)
    assert not path.exists()
    build(path, toy_spec(), counted, block=BLOCK, workers=1)
    assert len(counted.blocks) == 5  # three parts were finished and kept
    assert contents(path) == undisturbed


def test_a_file_the_system_refuses_to_write(tmp_path):
    """The real thing: a limit of the kernel on the size of a file, met in the middle of one."""
    path = tmp_path / "toy"
    limit = partial(resource.setrlimit, resource.RLIMIT_FSIZE, (2800, 2800))
    process = start(
        path, preexec_fn=lambda: [signal.signal(signal.SIGXFSZ, signal.SIG_IGN), limit()]
    )
    _, messages = process.communicate(timeout=60)
    assert process.returncode != 0
    assert "StoreError: cannot write" in messages and "File too large" in messages
    assert not path.exists()
    finish(start(path))
    verify(path, full=True)


def test_two_processes_make_one_store(undisturbed, tmp_path):
    path = tmp_path / "toy"
    first = start(path, "threads", "0.6")
    while not path.with_name("toy.partial").exists():
        time.sleep(0.01)
    second = start(path, "threads", "100")  # too slow to make it itself within the timeout
    assert "waiting" not in finish(first)
    assert "another process is making" in finish(second)
    assert contents(path) == undisturbed
    assert [file.name for file in tmp_path.iterdir()] == ["toy"]


def test_two_threads_make_one_store(undisturbed, tmp_path, caplog):
    from concurrent.futures import ThreadPoolExecutor

    counted = Counted()
    with caplog.at_level(logging.WARNING), ThreadPoolExecutor(2) as pool:
        make = partial(build, tmp_path / "toy", toy_spec(), counted, block=BLOCK)
        paths = [future.result() for future in [pool.submit(make), pool.submit(make)]]
    assert len(counted.blocks) == 8 and contents(paths[0]) == undisturbed


def test_what_make_block_gives_is_checked(tmp_path):
    bad = {
        "make_block gave .*'u': .4, 3, 9": partial(solve, resolution=9),
        "make_block gave {}": lambda samples: {},
        "a of sample 2000000002 is not finite": lambda s: {
            **solve(s),
            "a": np.where(np.array(s)[:, None] == 2 * 10**9 + 2, np.nan, solve(s)["a"]),
        },
        "u of sample 2000000000 is not finite in float32": lambda s: {
            **solve(s),
            "u": np.full((4, 3, 8), 1e99 if s[0] == 2 * 10**9 else 0.0),
        },
    }
    for message, make_block in bad.items():
        path = tmp_path / str(len(message))
        with pytest.raises(ValueError, match=message):
            build(path, toy_spec(), make_block, block=BLOCK)
        assert not path.exists()
    for block in (0, 2.0, 3):  # 2·10⁹ is no multiple of 3
        with pytest.raises(ValueError, match="block=" + str(block)):
            build(tmp_path / "toy", toy_spec(), solve, block=block)
    with pytest.raises(ValueError, match="workers=0 must be at least 1"):
        build(tmp_path / "toy", toy_spec(), solve, block=BLOCK, workers=0)


def test_errors_of_make_block_are_its_own(tmp_path):
    with pytest.raises(FileNotFoundError, match="input"):
        build(tmp_path / "toy", toy_spec(), raises(FileNotFoundError("input")), block=BLOCK)


@pytest.mark.parametrize(
    ("samples", "points", "block", "length", "files"),
    [
        (1000, 256, 8, 8, 125),  # small: a block is a file
        (100_000, 256, 8, 8 * 195, 65),  # many: at least so many parts …
        (10**6, 256, 8, 2048, 489),  # … of at most 2 MB
        (100, 2**18, 8, 2, 50),  # large samples: a block is several files
        (100, 2**20, 8, 1, 100),
        (5, 256, 8, 5, 1),
    ],
)
def test_size_of_chunks_and_parts(samples, points, block, length, files):
    grid = {"x": np.arange(points)}
    spec = StoreSpec(
        {**ATTRS, "inputs": [], "targets": []},
        {"train": SplitSpec(range(samples), grid)},
        {"u": (("x",), "float32", {})},
    )
    chunk = spec.chunk_samples("train", "u", block)
    listed = parts.list_parts(spec, block)
    assert chunk == length and -(-samples // chunk) == files
    assert chunk == 1 or chunk * points * 4 <= CHUNK_BYTES
    assert all(part.start % chunk == 0 and part.start % block == 0 for part in listed)
    assert sum(part.samples for part in listed) == samples
    assert len(listed) >= min(PARTS, -(-samples // block))


def test_parts_of_many_blocks(tmp_path):
    """Above 64 blocks a part has several; the samples are still those of whole blocks."""
    spec = toy_spec(train=4 * 64 * 3 + 5, test=0)
    path, counted = tmp_path / "toy", Counted()
    build(path, spec, counted, block=BLOCK)
    assert chunk_files(path, "train", "u").length == 3 * BLOCK
    assert sorted(block[0] for block in counted.blocks) == list(range(0, 773, BLOCK))
    one_by_one = np.concatenate([solve(range(k, k + BLOCK))["u"] for k in range(0, 773, BLOCK)])
    stored = open_store(path, full=True)["train/u"].values
    np.testing.assert_array_equal(stored, one_by_one[:773].astype("f4"))


def test_progress_is_silent_without_a_terminal(tmp_path, capfd):
    build(tmp_path / "toy", toy_spec(), solve, block=BLOCK)
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize("variable", ["", "1"])
def test_progress_at_a_terminal(monkeypatch, capfd, variable):
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    monkeypatch.setenv("SCIOPS_NO_PROGRESS", variable)
    with progress_bar("toy", 12, done=4) as advance:
        for _ in range(4):
            time.sleep(0.02)
            advance(2)
    shown = capfd.readouterr()
    assert shown.out == "" and ("12/12" in shown.err) == ("toy" in shown.err) == (not variable)
    assert bool(variable) or "samples/s" in shown.err
