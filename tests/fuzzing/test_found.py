"""What fuzzing has found, one test each: these ended in errors of libraries, or did not end."""

import io
import json
import shutil
import struct
import time
import zlib

import numpy as np
import pytest
import xarray as xr

import sciops
from sciops.checkpoint import CheckpointError
from sciops.config import Optimisation, Training, training_from
from sciops.cosmic.fits_files import read_exposures
from sciops.data.files import ReadError, read_arrays
from sciops.data.ragged_store import open_ragged
from sciops.data.samples import task_of
from sciops.data.store import StoreError, open_store
from sciops.proteins.pdnet import pdnet_names
from sciops.proteins.structures import read_structure
from sciops.runs.comparison import _kept_epochs
from sciops.runs.grammar_result import read_grammar_search
from sciops.runs.trimming import open_trimmed
from sciops.searching.result import load_search
from sciops.studies.study import read_study
from sciops.task import task_from
from sciops.vision.folders import _Bounded, read_folder
from tests.data.toy import toy
from tests.search_toy import LeNet
from tests.studies import term_toy

from . import file_readers, folder_readers
from .folder_readers import VERSION, sign_pairs, sign_store
from .readers import READERS
from .sandbox import subject_of, write_subject


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (b"NAXIS2  =", b"NAXIS9  ="),
        (b"READNSE =                  4.5", b"READNSE = 4.5.6'".ljust(30)),
    ],
)
def test_fits_headers_that_astropy_cannot_use(tmp_path, old, new):
    data = file_readers._fits()[0]["f.fits"]
    assert old in data
    (tmp_path / "f.fits").write_bytes(data.replace(old, new, 1))
    with pytest.raises(ReadError, match=r"f\.fits is damaged, truncated or no FITS file"):
        read_exposures(tmp_path / "f.fits")


def test_fits_that_count_extensions_in_words(tmp_path):
    data = file_readers._fits()[0]["f.fits"]
    card = b"NEXTEND = 'three   '".ljust(80)
    (tmp_path / "f.fits").write_bytes(_with(data, card))
    with pytest.raises(ReadError, match=r"f\.fits is damaged"):
        read_exposures(tmp_path / "f.fits")


@pytest.mark.parametrize("old", [b"NAXIS2  =", b"EXTNAME ="])
def test_images_to_clean_that_astropy_cannot_use(tmp_path, old):
    data = file_readers._fits()[0]["f.fits"]
    place = data.index(old)
    card = old[:8] + b"= 4.5.6'".ljust(72)
    (tmp_path / "f.fits").write_bytes(data[:place] + card + data[place + 80 :])
    with pytest.raises(ReadError, match=r"f\.fits"):
        file_readers._clean(tmp_path)
    assert [file.name for file in tmp_path.iterdir()] == ["f.fits"]


def _with(data: bytes, card: bytes) -> bytes:
    """The file with another card in the place of ATODGAIN of the first header."""
    place = data.index(b"ATODGAIN")
    return data[:place] + card + data[place + 80 :]


def test_npy_of_a_version_that_there_is_not(tmp_path):
    stream = io.BytesIO()
    np.save(stream, np.arange(3))
    (tmp_path / "f.npy").write_bytes(stream.getvalue().replace(b"\x01\x00", b"\x42\x84", 1))
    with pytest.raises(ReadError, match=r"f\.npy: 'array' .* npy of version \(66, 132\)"):
        read_arrays(tmp_path / "f.npy")


def test_lists_of_chains_that_are_no_text(tmp_path):
    write_subject(tmp_path / "in", {**file_readers._pdnet()[0], "psicov.lst": b"\xff\xfe\n"})
    with pytest.raises(ValueError, match="which is no name of a chain"):
        pdnet_names(tmp_path / "in")


def test_small_pictures_that_declare_large_ones(tmp_path):
    whole = file_readers._images()[0]["cats/a.png"]
    head = b"IHDR" + struct.pack(">II", 5000, 6000) + whole[24:29]
    png = whole[:12] + head + struct.pack(">I", zlib.crc32(head)) + whole[33:]
    write_subject(tmp_path / "in", {"cats/a.png": png})
    with pytest.raises(ReadError, match=r"declares 6000 × 5000 pixels; at most .* of this size"):
        read_folder(tmp_path / "in")


def test_pictures_whose_pieces_declare_gigabytes(tmp_path):
    whole = file_readers._images()[0]["cats/a.png"]
    place = whole.index(b"IDAT") - 4
    write_subject(tmp_path / "in", {"cats/a.png": whole[:place] + b"\xff" + whole[place + 1 :]})
    with _Bounded(io.FileIO(tmp_path / "in/cats/a.png")) as file:
        assert file.read(2**40) == (tmp_path / "in/cats/a.png").read_bytes()
    found, _ = read_folder(tmp_path / "in")
    write_subject(tmp_path / "in", {"cats/a.png": whole})
    np.testing.assert_equal(found["all"].images, read_folder(tmp_path / "in")[0]["all"].images)


def test_structures_whose_atoms_biopython_half_knows(tmp_path):
    write_subject(tmp_path / "in", subject_of(READERS["pdb"], 0, 1273))
    with pytest.raises(ValueError, match="is damaged: AttributeError"):
        read_structure(next((tmp_path / "in").iterdir()))


def test_stores_that_zarr_cannot_read(tmp_path):
    subject = dict(folder_readers._stores()[0])
    node = {**json.loads(subject["train/u/zarr.json"]), "dimension_names": [[]]}
    subject["train/u/zarr.json"] = json.dumps(node).encode()
    write_subject(tmp_path / "s", sign_store(subject))
    with pytest.raises(StoreError, match="s is damaged: "):
        open_store(tmp_path / "s")


def test_manifests_whose_entries_are_no_pairs(tmp_path):
    subject = dict(folder_readers._stores()[0])
    name = next(n for n in subject if n.endswith("manifest.json"))
    manifest = json.loads(subject[name])
    manifest["files"]["more"] = [3]
    write_subject(tmp_path / "s", sign_store({**subject, name: json.dumps(manifest).encode()}))
    with pytest.raises(StoreError, match="is damaged"):
        open_store(tmp_path / "s")


def test_manifests_with_numbers_that_are_none(tmp_path):
    subject = dict(folder_readers._stores()[0])
    name = next(n for n in subject if n.endswith("manifest.json"))
    manifest = {**json.loads(subject[name]), "more": float("nan")}
    write_subject(tmp_path / "s", {**subject, name: json.dumps(manifest).encode()})
    with pytest.raises(StoreError, match="its hash does not fit"):
        open_store(tmp_path / "s")


def test_arrays_without_dimensions(tmp_path):
    subject = dict(folder_readers._stores()[0])
    node = json.loads(subject["train/u/zarr.json"])
    node["chunk_grid"]["configuration"]["chunk_shape"] = node["shape"] = []
    subject["train/u/zarr.json"] = json.dumps(node).encode()
    write_subject(tmp_path / "s", sign_store(subject))
    with pytest.raises(StoreError, match="no metadata of an array"):
        open_store(tmp_path / "s")


def test_ragged_stores_without_numbers(tmp_path):
    subject = folder_readers._ragged()[0]
    manifest = next(n for n in subject if n.endswith("manifest.json"))
    left = {n: d for n, d in subject.items() if not n.startswith("train/sample/")}
    about = json.loads(subject[manifest])
    about["files"] = {n: f for n, f in about["files"].items() if n in left}
    write_subject(tmp_path / "s", sign_store({**left, manifest: json.dumps(about).encode()}))
    with pytest.raises(StoreError, match="train has no 'sample'"):
        open_ragged(tmp_path / "s")


@pytest.mark.parametrize("number", [2530, 2648, 4049, 7248, 16027])
def test_runs_with_descriptions_of_something_else(tmp_path, number):
    write_subject(tmp_path / "r", subject_of(READERS["run"], 0, number))
    with pytest.raises(CheckpointError, match="r is not a run that this version"):
        sciops.open_run(tmp_path / "r")


@pytest.mark.parametrize(
    ("term", "message"),
    [
        (f"Linear8({', '.join(['id'] * 200_000)})", "expected at most 100000 heads"),
        (f"Linear8({', '.join(['xd4'] * 20_000)})", "a term of 20003 heads; 2048 are allowed"),
        ("Linear2(conv3, fourier98)", r"has \d+ numbers, and the file \d+"),
        ("Linear3(lift999, fourier998, fourier998)", r"has \d+ numbers, and the file \d+"),
    ],
    ids=lambda text: text[:20],
)
def test_runs_with_terms_larger_than_their_weights(tmp_path, term, message):
    files = {n: (VERSION / "pde-term" / n).read_bytes() for n in folder_readers.FILES}
    old = json.loads(files["config.json"])["model"]["term"].encode()
    new = f"Linear2(lift4, {term})".encode()
    subject = {n: d.replace(old, new) if n.endswith("json") else d for n, d in files.items()}
    write_subject(tmp_path / "r", sign_pairs(subject))
    start = time.process_time()
    with pytest.raises(CheckpointError, match=rf"r is not a run that this version.*{message}"):
        sciops.open_run(tmp_path / "r")
    assert time.process_time() - start < 8  # it took up to 53 s


BLOCK = {"channels": [900, 900, 900], "taps": [900, 900], "bands": None, "scaled": False}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"width": 2**31}, "a size of 2147483648 in the description"),
        ({"blocks": {}}, "trimmed is no trimmed network that this version"),
        ({"blocks": [{}] * 20_000}, "20000 blocks, whose file has"),
        ({"width": 7}, "size mismatch"),
        ({"blocks": [BLOCK]}, r"its blocks have \d{9} numbers, and the file"),
    ],
    ids=["width", "no blocks", "blocks", "another width", "a large block"],
)
def test_trimmed_networks_of_something_else(tmp_path, change, message):
    subject = dict(folder_readers._trimmed()[0])
    document = json.loads(subject["trimmed/model.json"])
    document["notes"]["model"]["found"] |= change
    subject["trimmed/model.json"] = json.dumps(document).encode()
    write_subject(tmp_path / "r", sign_pairs(subject))
    with pytest.raises(CheckpointError, match=message):
        open_trimmed(tmp_path / "r")


@pytest.mark.parametrize(
    ("attrs", "message"),
    [
        ({"inputs": [3]}, r"attrs\['inputs'\] are \[3\]; expected a list"),
        ({"inputs": [{"variable": "a", "frames": []}]}, "expected a list such as"),
        ({"boundary_conditions": 3}, r"attrs\['boundary_conditions'\] are 3"),
    ],
)
def test_attributes_of_stores_that_are_something_else(attrs, message):
    data: xr.Dataset = toy().assign_attrs(attrs)
    with pytest.raises(ValueError, match=message):
        task_of(data)


@pytest.mark.parametrize("file", ["trials.csv", "history.csv", "distances.csv"])
def test_searches_with_damaged_tables(tmp_path, file):
    shutil.copytree(VERSION / "search" / "kept", tmp_path / "s")
    (tmp_path / "s" / file).write_bytes(b"\xff\xfe,1\n2,3,4,5\n")
    with pytest.raises(CheckpointError, match="s is not a search that this version"):
        load_search(tmp_path / "s", LeNet)


def test_searches_of_another_network(tmp_path):
    shutil.copytree(VERSION / "search" / "kept", tmp_path / "s")
    with pytest.raises(CheckpointError, match="give the model_factory of this search"):
        load_search(tmp_path / "s", lambda: LeNet(classes=9))


def test_journals_without_candidates(tmp_path):
    log = folder_readers._journals()[0]["journal.log"].replace(b'"candidate"', b'"candidates"')
    write_subject(tmp_path / "s", {"journal.log": log})
    with pytest.raises(ValueError, match=r"journal\.log cannot be understood"):
        read_study(tmp_path / "s", term_toy.space())


@pytest.mark.parametrize("text", ['{"seconds": {}, "epochs": {}}', '{"seconds": 1, "epochs": [3]}'])
def test_budgets_of_comparisons(tmp_path, text):
    (tmp_path / "epochs.json").write_text(text)
    with pytest.raises(ValueError, match=r"epochs\.json is damaged"):
        _kept_epochs(tmp_path / "epochs.json", 60.0)


@pytest.mark.parametrize("text", ["[", "3", '{"space": "grammar"}'])
def test_searches_in_grammars_without_their_settings(tmp_path, text):
    (tmp_path / "search.json").write_text(text)
    with pytest.raises(ValueError, match=str(tmp_path)):
        read_grammar_search(tmp_path)


@pytest.mark.parametrize("change", [{"weights": 3}, {"weights": {"rat": 1}}, {"coarse": "x"}])
def test_configurations_that_are_something_else(change):
    usual = Training(5, 8, Optimisation(1e-3), Optimisation(1e-2)).as_dict()
    with pytest.raises(ValueError, match="no configuration of a training"):
        training_from({**usual, **change})


@pytest.mark.parametrize("values", [{}, {"inputs": 3}, {"inputs": [{"frames": None}]}])
def test_tasks_that_are_something_else(values):
    with pytest.raises(ValueError, match="this is no task"):
        task_from(values)
