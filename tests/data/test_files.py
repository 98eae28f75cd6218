"""Other people's files: right numbers, clear errors, and nothing that a file can do to us."""

import io
import os
import pickle
import random
import subprocess
import sys
import zipfile
from pathlib import Path

import numpy as np
import pytest
import scipy.io
import torch

from sciops.data.files import ReadError, list_arrays, read_arrays
from tests.data.file_writers import WRITERS, A, B, h5py, write_netcdf3, write_npz


@pytest.mark.parametrize("kind", WRITERS)
def test_every_format_gives_what_was_written(kind, tmp_path):
    path = tmp_path / "no_suffix_is_needed"
    WRITERS[kind](path, {"a": A, "b": B[None]})
    arrays = read_arrays(path)
    np.testing.assert_array_equal(arrays["a"], A)
    np.testing.assert_array_equal(arrays["b"], B[None])
    assert arrays["a"].dtype == np.float64
    assert arrays["b"].dtype == np.float32
    assert list(read_arrays(path, ["b"])) == ["b"]
    listed = {entry.name: entry for entry in list_arrays(path)}
    assert set(listed) == {"a", "b"}
    assert listed["a"].shape == (2, 3, 4)
    assert np.dtype(listed["b"].dtype).newbyteorder("=") == np.float32
    assert listed["a"].problem is None


def test_packed_netcdf_variables_are_refused(tmp_path):
    with h5py.File(tmp_path / "a.nc", "w") as file:
        file["t"] = np.zeros(3, "i2")
        file["t"].attrs["scale_factor"] = 0.01
    write_netcdf3(tmp_path / "b.nc", {"t": B})
    with scipy.io.netcdf_file(tmp_path / "b.nc", "a") as file:
        file.variables["t"].scale_factor = 0.01
    for name in ("a.nc", "b.nc"):
        with pytest.raises(ReadError, match=r"'t'.*is packed; unpack it with xarray"):
            read_arrays(tmp_path / name)


def test_the_limit_counts_all_arrays(tmp_path):
    write_npz(tmp_path / "a.npz", {"a": A, "b": A})
    assert len(read_arrays(tmp_path / "a.npz", limit_bytes=2 * A.nbytes)) == 2
    with pytest.raises(ReadError, match="'a', 'b' take 384 bytes, the limit is 383"):
        read_arrays(tmp_path / "a.npz", limit_bytes=2 * A.nbytes - 1)


def test_the_usual_limit_is_the_memory_that_is_left(tmp_path, monkeypatch):
    write_npz(tmp_path / "a.npz", {"a": A, "b": A})
    monkeypatch.setenv("SCIOPS_MEMORY", f"{2 * A.nbytes / 1e9:.12f}")
    assert len(read_arrays(tmp_path / "a.npz")) == 2
    monkeypatch.setenv("SCIOPS_MEMORY", f"{A.nbytes / 1e9:.12f}")
    with pytest.raises(ReadError, match="'a', 'b' take 384 bytes, the limit is 192"):
        read_arrays(tmp_path / "a.npz")


def test_reading_writes_nothing(tmp_path):
    for kind, write in WRITERS.items():
        write(tmp_path / kind, {"a": A})
    before = {path: (path.read_bytes(), path.stat().st_mtime_ns) for path in tmp_path.iterdir()}
    for path in before:
        read_arrays(path)
    assert before == {p: (p.read_bytes(), p.stat().st_mtime_ns) for p in tmp_path.iterdir()}


def test_a_bytes_stream_is_no_path():
    with pytest.raises(TypeError):
        read_arrays(io.BytesIO(b"x"))


# -- code in files ----------------------------------------------------------------------------


class Trap:
    """Unpickling this makes a file."""

    def __init__(self, path):
        self.path = str(path)

    def __reduce__(self):
        return os.mkdir, (self.path,)


def traps(folder, sprung):
    trap = Trap(sprung)
    objects = np.array([trap], object)
    np.save(folder / "object.npy", objects, allow_pickle=True)
    write_npz(folder / "object.npz", {"a": A, "b": objects})
    torch.save({"a": torch.ones(2), "b": trap}, folder / "new.pt")
    torch.save({"b": trap}, folder / "old.pt", _use_new_zipfile_serialization=False)
    (folder / "plain.pkl").write_bytes(pickle.dumps(trap))
    np.savez(folder / "hidden.npz", a=A)
    with zipfile.ZipFile(folder / "hidden.npz", "a") as archive:
        archive.writestr("b.npy", pickle.dumps(trap))
    return sorted(folder.iterdir())


def test_code_in_files_does_not_run(tmp_path):
    sprung = tmp_path / "sprung"
    (tmp_path / "files").mkdir()
    files = traps(tmp_path / "files", sprung)
    assert len(files) == 6
    for path in files:
        with pytest.raises(ReadError):
            read_arrays(path)
    assert not sprung.exists()
    pickle.loads((tmp_path / "files" / "plain.pkl").read_bytes())
    assert sprung.exists()  # the trap works


# -- files that are none ----------------------------------------------------------------------


def test_what_is_not_there(tmp_path):
    with pytest.raises(ReadError, match=r"no file .*gone\.mat"):
        read_arrays(tmp_path / "gone.mat")
    with pytest.raises(ReadError, match="not a file but a folder"):
        read_arrays(tmp_path)
    (tmp_path / "empty.h5").touch()
    with pytest.raises(ReadError, match="is empty"):
        list_arrays(tmp_path / "empty.h5")
    (tmp_path / "text.mat").write_text("x, y\n1, 2\n" * 50)
    with pytest.raises(ReadError, match=r"begins with b'x, y.*none of MATLAB 5"):
        read_arrays(tmp_path / "text.mat")
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(ReadError, match="device"):  # and does not wait for a writer
        read_arrays(tmp_path / "pipe")


@pytest.mark.parametrize("kind", WRITERS)
def test_a_wrong_name_lists_the_right_ones(kind, tmp_path):
    WRITERS[kind](tmp_path / "a", {"coeff": A, "sol": A})
    with pytest.raises(ReadError, match="no variable 'u'; it has coeff, sol"):
        read_arrays(tmp_path / "a", ["u"])


@pytest.mark.parametrize("kind", WRITERS)
def test_truncated_files(kind, tmp_path):
    path = tmp_path / "a"
    values = np.random.default_rng(0).normal(size=(20, 30))
    WRITERS[kind](path, {"a": values, "b": values[:7]})
    whole = path.read_bytes()
    for length in (3, 100, 130, len(whole) // 3, len(whole) // 2, len(whole) - 5):
        path.write_bytes(whole[:length])
        with pytest.raises(ReadError):
            read_arrays(path)


FUZZ = """
import random, sys, time, warnings
from pathlib import Path
from sciops.data.files import ReadError, list_arrays, read_arrays
warnings.simplefilter("error")
path, cases = Path(sys.argv[1]), int(sys.argv[2])
read_arrays(path)  # imports what it needs
whole, outcomes, slowest = path.read_bytes(), [0, 0], 0.0
for seed in range(cases):
    rng, raw = random.Random(seed), bytearray(whole)
    for _ in range(rng.randint(1, 4)):
        raw[rng.randrange(len(raw))] = rng.choice([0, 1, 128, 255, rng.randrange(256)])
    path.write_bytes(raw[: rng.randrange(len(raw))] if seed % 5 == 0 else raw)
    start = time.perf_counter()
    try:
        list_arrays(path)
        read_arrays(path, limit_bytes=10**8)
        outcomes[0] += 1
    except ReadError:
        outcomes[1] += 1
    slowest = max(slowest, time.perf_counter() - start)
print(*outcomes, slowest)
"""


@pytest.mark.parametrize("kind", [k for k in WRITERS if k != "torch"] + ["torch"])
def test_damaged_files_are_read_or_refused(kind, tmp_path):
    """In a process of its own: libraries in C might crash."""
    path = tmp_path / "fuzzed"
    WRITERS[kind](path, {"a": A, "b": B[None]})
    command = [sys.executable, "-W", "error", "-c", FUZZ, str(path), "200"]
    root = Path(__file__).resolve().parents[2]
    environment = {**os.environ, "PYTHONPATH": str(root), "OMP_NUM_THREADS": "1"}
    run = subprocess.run(command, capture_output=True, text=True, timeout=60, env=environment)
    assert run.returncode == 0, run.stderr
    assert run.stderr == ""
    read, refused, slowest = map(float, run.stdout.split())
    assert read + refused == 200
    assert refused > 20  # the damage is real
    assert slowest < 2


def test_damage_inside_compressed_data_is_seen(tmp_path):
    """Checksums: a flipped byte never gives wrong numbers from packed MATLAB or npz."""
    for kind in ("matlab7", "npz", "npz packed"):
        path = tmp_path / kind
        WRITERS[kind](path, {"a": A})
        whole, rng = path.read_bytes(), random.Random(0)
        for _ in range(100):
            raw = bytearray(whole)
            raw[rng.randrange(128, len(raw))] ^= 1 << rng.randrange(8)
            path.write_bytes(raw)
            try:
                got = read_arrays(path)
            except ReadError:
                continue
            for array in got.values():
                np.testing.assert_array_equal(array, A)
