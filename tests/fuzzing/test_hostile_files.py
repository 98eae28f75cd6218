"""Files that somebody made in order to do harm: each is refused, quickly, and nothing happens."""

import gzip
import io
import json
import os
import pickle
import signal
import struct
import zipfile
import zlib

import h5py
import numpy as np
import pytest
import torch

import sciops
from sciops.checkpoint import CheckpointError, load_state
from sciops.cosmic.fits_files import read_exposures
from sciops.data.files import ReadError, list_arrays, read_arrays
from sciops.data.store import StoreError, open_store
from sciops.proteins.alignments import read_alignment
from sciops.proteins.pdnet import read_pdnet
from sciops.proteins.structures import read_structure
from sciops.runs.folder import claim
from sciops.vision.cifar import LAYOUTS, read_cifar
from sciops.vision.folders import read_folder
from sciops.vision.idx import read_idx
from sciops.vision.tables import read_table

from . import file_readers, folder_readers
from .folder_readers import VERSION, files_of, sign_pairs, sign_store
from .sandbox import write_subject

TERABYTES = 2**43


class Attack:
    """Makes a file when it is unpickled."""

    def __init__(self, mark):
        self.mark = str(mark)

    def __reduce__(self):
        return os.system, (f"touch {self.mark}",)


@pytest.fixture(autouse=True)
def within_ten_seconds():
    def stop(*_):
        raise TimeoutError("no end within 10 s")

    before = signal.signal(signal.SIGALRM, stop)
    signal.alarm(10)
    yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)


@pytest.fixture
def mark(tmp_path):
    """A file that only an attack makes."""
    yield tmp_path / "hacked"
    assert not (tmp_path / "hacked").exists()


# -- pickles ---------------------------------------------------------------------------------------


def test_a_hostile_pickle_of_pdnet(tmp_path, mark):
    subject = dict(file_readers._pdnet()[0])
    name = next(n for n in subject if n.endswith(".pkl"))
    write_subject(tmp_path / "in", {**subject, name: pickle.dumps({"seq": Attack(mark)})})
    with pytest.raises(ValueError, match=r"names (posix|nt|os)\.system"):
        read_pdnet(tmp_path / "in")


def test_a_hostile_pickle_of_cifar(tmp_path, mark):
    subject = file_readers._cifar()[0]
    write_subject(tmp_path / "in", {**subject, "train": pickle.dumps([Attack(mark)])})
    with pytest.raises(ValueError, match=r"names (posix|nt|os)\.system"):
        read_cifar(tmp_path / "in", LAYOUTS[1])


def test_a_hostile_pickle_in_a_torch_file(tmp_path, mark):
    torch.save({"a": Attack(mark)}, tmp_path / "f.pt")
    with pytest.raises(ReadError, match="does not hold plain tensors"):
        read_arrays(tmp_path / "f.pt")


def test_a_hostile_pickle_in_npy_and_npz(tmp_path, mark):
    array = np.array([Attack(mark)], object)
    np.save(tmp_path / "f.npy", array)
    np.savez(tmp_path / "f.npz", a=array)
    for file in ("f.npy", "f.npz"):
        with pytest.raises(ReadError, match="pickled Python objects"):
            read_arrays(tmp_path / file)


# -- bombs -----------------------------------------------------------------------------------------


def test_a_bomb_in_npz_meets_the_limit(tmp_path):
    np.savez_compressed(tmp_path / "f.npz", a=np.zeros(2**24))
    assert (tmp_path / "f.npz").stat().st_size < 2**18
    with pytest.raises(ReadError, match="the limit is 1048576"):
        read_arrays(tmp_path / "f.npz", limit_bytes=2**20)


def test_a_bomb_in_gzip_meets_the_limit(tmp_path, monkeypatch):
    monkeypatch.setattr("sciops.proteins.alignments.LARGEST", 2**20)
    (tmp_path / "f.a3m").write_bytes(gzip.compress(b">q\n" + b"A" * 2**24))
    with pytest.raises(ValueError, match="more than 1 MiB of text"):
        read_alignment(tmp_path / "f.a3m")


def test_a_bomb_of_brackets_in_json(tmp_path):
    deep = b"[" * 10**5
    write_subject(tmp_path / "run", {"config.json": deep})
    with pytest.raises(ValueError, match="is damaged"):
        claim(tmp_path / "run", {"name": "darcy", "op": "xd"})
    write_subject(tmp_path / "s", {**folder_readers._states()[0], "save-000001/state.json": deep})
    with pytest.raises(CheckpointError, match="is not the JSON of a checkpoint"):
        load_state(tmp_path / "s")


# -- sizes that lie --------------------------------------------------------------------------------


def npy_of_terabytes() -> bytes:
    stream = io.BytesIO()
    header = {"descr": "<f8", "fortran_order": False, "shape": (TERABYTES,)}
    np.lib.format.write_array_header_1_0(stream, header)
    return stream.getvalue()


def test_npy_that_declares_terabytes(tmp_path):
    (tmp_path / "f.npy").write_bytes(npy_of_terabytes())
    with pytest.raises(ReadError, match="is declared as"):
        read_arrays(tmp_path / "f.npy")


def test_npz_whose_member_declares_terabytes(tmp_path):
    with zipfile.ZipFile(tmp_path / "f.npz", "w") as archive:
        archive.writestr("a.npy", npy_of_terabytes())
    with pytest.raises(ReadError, match="is declared as"):
        read_arrays(tmp_path / "f.npz")


def _element(kind: int, data: bytes) -> bytes:
    return struct.pack("<II", kind, len(data)) + data + bytes(-len(data) % 8)


@pytest.mark.parametrize("packed", [False, True])
def test_mat_that_declares_terabytes(tmp_path, packed):
    parts = struct.pack("<IIII", 6, 8, 6, 0) + _element(5, struct.pack("<ii", 2**22, 2**21))
    parts += _element(1, b"a") + struct.pack("<II", 9, 2**32 - 8)
    whole = struct.pack("<II", 14, len(parts)) + parts
    packed_whole = struct.pack("<II", 15, len(zlib.compress(whole))) + zlib.compress(whole)
    head = b"MATLAB 5.0".ljust(124) + b"\x00\x01IM"
    (tmp_path / "f.mat").write_bytes(head + (packed_whole if packed else whole))
    with pytest.raises(ReadError, match="more than a file of"):
        read_arrays(tmp_path / "f.mat")


def test_hdf5_that_declares_terabytes(tmp_path):
    with h5py.File(tmp_path / "f.h5", "w") as file:
        file.create_dataset("a", (TERABYTES,), "f8", chunks=(1024,))
    with pytest.raises(ReadError, match="more than a file of"):
        read_arrays(tmp_path / "f.h5")


def test_idx_that_declares_terabytes(tmp_path):
    (tmp_path / "f").write_bytes(struct.pack(">HBB3I", 0, 8, 3, 2**31, 2**31, 2**31))
    with pytest.raises(ReadError, match="more than the file or the memory"):
        read_idx(tmp_path / "f", 3)


def test_png_that_declares_a_huge_picture(tmp_path):
    whole = file_readers._images()[0]["cats/a.png"]
    head = b"IHDR" + struct.pack(">II", 2**30, 2**30) + whole[24:29]
    png = whole[:12] + head + struct.pack(">I", zlib.crc32(head)) + whole[33:]
    write_subject(tmp_path / "in", {"cats/a.png": png})
    with pytest.raises(ReadError, match=r"too large|declares"):
        read_folder(tmp_path / "in")


def test_fits_that_declares_terabytes(tmp_path):
    cards = ["SIMPLE  =                    T", "BITPIX  =                  -64"]
    cards += ["NAXIS   =                    2", f"NAXIS1  = {2**21:20d}", f"NAXIS2  = {2**21:20d}"]
    header = "".join(card.ljust(80) for card in [*cards, "END"]).ljust(2880)
    (tmp_path / "f.fits").write_text(header)
    for read in (read_exposures, lambda path: file_readers._clean(path.parent)):
        with pytest.raises(ReadError, match=r"can hold|truncated"):
            read(tmp_path / "f.fits")


def test_packed_fits_that_declares_terabytes(tmp_path):
    fits = pytest.importorskip("astropy.io.fits")
    image = fits.CompImageHDU(np.zeros((64, 64), "i2"), name="SCI")
    fits.HDUList([fits.PrimaryHDU(), image]).writeto(tmp_path / "f.fits")
    data = (tmp_path / "f.fits").read_bytes()
    for axis in (b"ZNAXIS1 =", b"ZNAXIS2 ="):
        place = data.index(axis) + 10
        data = data[:place] + str(2**21).rjust(20).encode() + data[place + 20 :]
    (tmp_path / "f.fits").write_bytes(data)
    for read in (read_exposures, lambda path: file_readers._clean(path.parent)):
        with pytest.raises(ReadError, match="can hold"):
            read(tmp_path / "f.fits")


def test_safetensors_that_declare_terabytes(tmp_path):
    subject = dict(folder_readers._states()[0])
    entry = {"dtype": "F32", "shape": [TERABYTES], "data_offsets": [0, 4 * TERABYTES]}
    header = json.dumps({"a": entry}).encode()
    subject["save-000001/state.safetensors"] = struct.pack("<Q", len(header)) + header
    write_subject(tmp_path / "s", sign_pairs(subject))
    with pytest.raises(CheckpointError, match="is not a safetensors file"):
        load_state(tmp_path / "s")


def test_safetensors_whose_header_declares_terabytes(tmp_path):
    subject = dict(folder_readers._states()[0])
    subject["save-000001/state.safetensors"] = struct.pack("<Q", TERABYTES)
    write_subject(tmp_path / "s", sign_pairs(subject))
    with pytest.raises(CheckpointError, match="is not a safetensors file"):
        load_state(tmp_path / "s")


def _store(**changes: object) -> dict[str, bytes]:
    """A store of which an array's metadata say something else, with right hashes."""
    subject = dict(folder_readers._stores()[0])
    node = {**json.loads(subject["train/u/zarr.json"]), **changes}
    return sign_store({**subject, "train/u/zarr.json": json.dumps(node).encode()})


def test_zarr_that_declares_terabytes(tmp_path):
    write_subject(tmp_path / "s", _store(shape=[4, TERABYTES]))
    with pytest.raises(StoreError, match="declares shape"):
        open_store(tmp_path / "s")


def test_zarr_with_a_codec_that_nobody_asked_for(tmp_path):
    write_subject(tmp_path / "s", _store(codecs=[{"name": "numcodecs.pickle"}]))
    with pytest.raises(StoreError, match="not known to schema"):
        open_store(tmp_path / "s")


@pytest.mark.parametrize("option", ["blocks", "width"])
def test_a_run_that_declares_a_huge_network(tmp_path, option):
    subject = files_of(VERSION / "pde-conv")
    document = json.loads(subject["model.json"])
    document["notes"]["config"]["model"][option] = 2**31
    subject["model.json"] = json.dumps(document).encode()
    write_subject(tmp_path / "run", sign_pairs(subject))
    with pytest.raises(CheckpointError, match="a size of 2147483648 in the description"):
        sciops.open_run(tmp_path / "run")


# -- ways out of the folder ------------------------------------------------------------------------


def test_names_in_npz_lead_nowhere(tmp_path):
    with zipfile.ZipFile(tmp_path / "f.npz", "w") as archive:
        archive.writestr("../../outside.npy", file_readers._npy()[0]["f.npy"])
    assert list(read_arrays(tmp_path / "f.npz")) == ["../../outside"]
    assert [file.name for file in tmp_path.iterdir()] == ["f.npz"]


def test_names_in_a_manifest_do_not_lead_out_of_a_store(tmp_path):
    subject = dict(folder_readers._stores()[0])
    name = next(n for n in subject if n.endswith("manifest.json"))
    manifest = json.loads(subject[name])
    manifest["files"]["../outside"] = [3, "x"]
    subject[name] = json.dumps(manifest).encode()
    write_subject(tmp_path / "s", sign_store(subject))
    with pytest.raises(StoreError, match="is damaged"):
        open_store(tmp_path / "s")


def test_names_in_a_list_of_chains_do_not_lead_out_of_pdnet(tmp_path):
    write_subject(tmp_path / "in", {**file_readers._pdnet()[0], "psicov.lst": b"../../x\n"})
    with pytest.raises(ValueError, match="is no name of a chain"):
        read_pdnet(tmp_path / "in")


def test_hdf5_links_to_other_files_are_not_followed(tmp_path):
    with h5py.File(tmp_path / "secret.h5", "w") as file:
        file["u"] = np.ones(3)
    with h5py.File(tmp_path / "f.h5", "w") as file:
        file["a"] = h5py.ExternalLink("secret.h5", "/u")
        (tmp_path / "raw").write_bytes(bytes(80))
        outside = [(str(tmp_path / "raw"), 0, 80)]
        file.create_dataset("b", (10,), "f8", external=outside)
    problems = {entry.name: entry.problem for entry in list_arrays(tmp_path / "f.h5")}
    assert "link to another file" in problems["a"] and "in another file" in problems["b"]
    for name in problems:
        with pytest.raises(ReadError, match="another file"):
            read_arrays(tmp_path / "f.h5", name)


def test_symlinks_to_devices_and_to_themselves_are_no_files(tmp_path):
    (tmp_path / "zero").symlink_to("/dev/zero")
    (tmp_path / "loop").symlink_to("loop")
    (tmp_path / "f.pdb").symlink_to("/dev/zero")
    for name in ("zero", "loop"):
        for read in (read_arrays, read_alignment, read_table, read_exposures):
            with pytest.raises(ValueError, match=r"no file|not a file|Symlink"):
                read(tmp_path / name)
    with pytest.raises(ValueError, match="no file"):
        read_structure(tmp_path / "f.pdb")


def test_a_chunk_that_is_a_symlink_to_a_device(tmp_path):
    write_subject(tmp_path / "s", folder_readers._stores()[0])
    chunk = next(f for f in (tmp_path / "s/train/u").iterdir() if f.name != "zarr.json")
    chunk.unlink()
    chunk.symlink_to("/dev/zero")
    with pytest.raises(StoreError, match="is missing"):
        open_store(tmp_path / "s")


def test_pipes_do_not_make_readers_wait(tmp_path):
    os.mkfifo(tmp_path / "f.pdb")
    for read in (read_arrays, read_alignment, read_table, read_structure, read_exposures):
        with pytest.raises(ValueError, match=r"no file|not a file"):
            read(tmp_path / "f.pdb")
