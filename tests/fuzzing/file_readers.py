"""Readers of other people's files, with small valid ones made on the spot."""

import gzip
import io
import pickle
import tempfile
from collections.abc import Callable
from functools import cache, partial
from pathlib import Path

import numpy as np
import torch

from sciops.cosmic.fits_files import read_exposures
from sciops.data.files import list_arrays, read_arrays, read_cells
from sciops.domains.reading import read_layout
from sciops.evaluation.cleaned_files import clean_file
from sciops.music.collection import read_tree as read_music
from sciops.proteins.alignments import read_alignment
from sciops.proteins.columns import read_indices
from sciops.proteins.pdnet import read_pdnet
from sciops.proteins.structures import distance_map, read_structure
from sciops.vision.cifar import LAYOUTS, read_cifar
from sciops.vision.folders import read_folder
from sciops.vision.idx import read_pair
from sciops.vision.tables import read_table
from tests.cosmic.mask_toy import network
from tests.cosmic.toy import exposures, write_fits
from tests.data.file_writers import WRITERS
from tests.data.pickle_programs import python2_dumps
from tests.proteins.protein_toy import toy_protein
from tests.proteins.test_alignments import FASTA, STOCKHOLM
from tests.proteins.test_pdnet import features_of, npy, triple_of
from tests.proteins.test_structures import cif, pdb, peptide, residue
from tests.vision.toy import IMAGES, LABELS, idx_bytes

from .reader import Reader, Subject

ARRAYS = {
    "a": np.arange(6.0).reshape(2, 3) + 0.5,
    "b": np.array([[1, 2, 3]], "i4"),
    "c": np.array([[True, False]]),
}
A3M = ">q\nMK-WV\n>b\nMRAaaWV\n>c\n-KX.W-\n"
INDICES = "0\tD\t2\t804 A\n1\tK\t3\t805 A\n3\tV\t5\t807B A\textra\n"


def _kept(write: Callable[[Path], object]) -> bytes:
    """What a writer of files writes."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "file"
        write(path)
        return path.read_bytes()


def _packed(data: bytes) -> bytes:
    return gzip.compress(data, mtime=0)


def _one(name: str, *contents: bytes) -> list[Subject]:
    return [{name: data} for data in contents]


# -- arrays ----------------------------------------------------------------------------------------


def _written(kind: str, arrays=ARRAYS) -> bytes:
    data = _kept(lambda path: WRITERS[kind](path, arrays))
    return data if not kind.startswith("matlab") else b"MATLAB" + data[6:20].ljust(110) + data[116:]


def _without_bools(kind: str) -> bytes:
    return _written(kind, {name: ARRAYS[name] for name in "ab"})


def _cells() -> np.ndarray:
    cells = np.empty((1, 2), object)
    cells[0, :] = [np.eye(3, 88), np.zeros((4, 88), "u1")]
    return cells


@cache
def _matlab5() -> list[Subject]:
    several = {**ARRAYS, "z": np.array([[1 + 2j]]), "text": "words", "s": {"x": 1}}
    return _one(
        "f.mat", *(_written(k, a) for k in ("matlab5", "matlab7") for a in (ARRAYS, several))
    )


@cache
def _music() -> list[Subject]:
    names = {name: _cells() for name in ("traindata", "validdata", "testdata")}
    return _one("f.mat", _written("matlab5", names), _written("matlab7", names))


@cache
def _matlab73() -> list[Subject]:
    head = b"MATLAB 7.3 MAT-file, Platform: GLNXA64".ljust(124) + b"\x00\x02IM"
    data = _kept(lambda path: WRITERS["matlab73"](path, ARRAYS))
    return _one("f.mat", head + data[128:])


def _hdf5_with_groups(path: Path) -> None:
    import h5py

    with h5py.File(path, "w", libver="latest") as file:
        file.create_group("g/h")["u"] = ARRAYS["a"]
        file["g/again"] = file["g/h"]
        file["soft"], file["other"] = h5py.SoftLink("/g/h/u"), h5py.ExternalLink("no.h5", "/u")
        file.attrs["title"] = "toy"


@cache
def _hdf5() -> list[Subject]:
    return _one("f.h5", _without_bools("hdf5"), _kept(_hdf5_with_groups))


@cache
def _npy() -> list[Subject]:
    arrays = (*ARRAYS.values(), np.asfortranarray(ARRAYS["a"]), np.array([1, "x"], object))
    return _one("f.npy", *map(npy, arrays))


@cache
def _npz() -> list[Subject]:
    return _one("f.npz", _written("npz"), _written("npz packed"))


@cache
def _torch() -> list[Subject]:
    content = {"v": torch.arange(4.0)[1:], "h": torch.ones(2, dtype=torch.bfloat16), "n": [1, "x"]}
    return _one("f.pt", _without_bools("torch"), _kept(partial(torch.save, content)))


@cache
def _netcdf3() -> list[Subject]:
    return _one("f.nc", _without_bools("netcdf3"))


@cache
def _fields() -> list[Subject]:
    rng = np.random.default_rng(0)
    arrays = {"a": rng.random((4, 8)), "u": rng.random((4, 8))}
    return _one("f.npz", _kept(lambda path: WRITERS["npz"](path, arrays)))


def _all_arrays(folder: Path) -> None:
    """All that is said to be readable, and every cell."""
    path = next(folder.iterdir())
    entries = list_arrays(path)
    read_arrays(path, [entry.name for entry in entries if entry.problem is None])
    for name in [entry.name for entry in entries if entry.dtype == "cell"]:
        read_cells(path, name)


# -- pickles ---------------------------------------------------------------------------------------


@cache
def _pdnet() -> list[Subject]:
    protein, features = toy_protein(5), features_of(toy_protein(5))
    files = {"psicov.lst": f"{protein.name}\n".encode()}
    files[f"psicov/distance/{protein.name}-cb.npy"] = npy(triple_of(protein))
    dumps = (python2_dumps, partial(pickle.dumps, protocol=3), partial(pickle.dumps, protocol=5))
    return [{**files, f"psicov/features/{protein.name}.pkl": d(features)} for d in dumps]


@cache
def _cifar() -> list[Subject]:
    layout, rng = LAYOUTS[1], np.random.default_rng(0)
    batch = {"data": rng.integers(0, 256, (2, 3072), dtype=np.uint8), layout.labels: [1, 0]}
    names = {layout.names: ["cat", "dog"]}
    files = {"train": batch, "test": batch, layout.meta: names}
    return [
        {name: dumps(value) for name, value in files.items()}
        for dumps in (python2_dumps, pickle.dumps)
    ]


# -- pictures --------------------------------------------------------------------------------------


def _image(kind: str, pixels: np.ndarray, **options) -> bytes:
    from PIL import Image

    stream = io.BytesIO()
    Image.fromarray(pixels).save(stream, kind, **options)
    return stream.getvalue()


@cache
def _images() -> list[Subject]:
    grey, colour = IMAGES[0], np.stack([*IMAGES[:3]], -1)
    packed = dict(compression="tiff_lzw")
    kinds = {
        "a.png": (_image("PNG", grey), _image("PNG", colour)),
        "a.jpg": (_image("JPEG", colour),),
        "a.ppm": (_image("PPM", colour),),
        "a.bmp": (_image("BMP", colour),),
        "a.tif": (_image("TIFF", grey), _image("TIFF", colour, **packed)),
    }
    return [{f"cats/{name}": data} for name, several in kinds.items() for data in several]


@cache
def _idx() -> list[Subject]:
    pair = {"images": idx_bytes(IMAGES), "labels": idx_bytes(LABELS.astype(np.uint8))}
    return [pair, {name: _packed(data) for name, data in pair.items()}]


@cache
def _table() -> list[Subject]:
    rows = np.column_stack([IMAGES[:5, :4, :4].reshape(5, -1), LABELS[:5]])
    text = "".join(",".join(map(str, row)) + "\n" for row in rows).encode()
    return _one("f.csv", text, _packed(text))


# -- proteins and stars ----------------------------------------------------------------------------


def _chain() -> list[dict]:
    hetero = residue("MSE", 4, 11.4, kind="HETATM")
    return [*peptide("ALA GLY TRP"), *hetero, *residue("SER", "4A", 15.2, alt="A", occupancy=0.5)]


@cache
def _pdb() -> list[Subject]:
    texts = [pdb(_chain()), pdb(_chain(), _chain())]
    return [{"f.pdb": text.encode()} for text in texts] + [{"f.pdb.gz": _packed(texts[0].encode())}]


@cache
def _cif() -> list[Subject]:
    return _one("f.cif", cif(_chain()).encode(), cif(_chain(), _chain()).encode())


@cache
def _fits() -> list[Subject]:
    whole = _kept(lambda path: write_fits(path, exposures(1, (4, 5))))
    two = _kept(lambda path: write_fits(path, exposures(2, (3, 3)), leave_out=("ERR",)))
    return _one("f.fits", whole, two)


@cache
def _mask_network():
    return network(width=2).eval()


def _clean(folder: Path) -> None:
    """As `sciops clean` does; what it writes stays in the folder."""
    clean_file(_mask_network(), folder / "f.fits", folder / "cleaned", progress=False)


def _with_file(read: Callable[[Path], object]) -> Callable[[Path], object]:
    return lambda folder: read(next(folder.iterdir()))


def _aligned(name: str, text: str) -> Callable[[], list[Subject]]:
    data = text.encode()
    return lambda: [{name: data}, {f"{name}.gz": _packed(data)}]


READERS = [
    Reader("matlab5", _matlab5, _all_arrays),
    Reader("matlab73", _matlab73, _all_arrays),
    Reader("hdf5", _hdf5, _all_arrays),
    Reader("netcdf3", _netcdf3, _all_arrays),
    Reader("npy", _npy, _all_arrays),
    Reader("npz", _npz, _all_arrays),
    Reader("torch", _torch, _all_arrays),
    Reader("fields", _fields, _with_file(partial(read_layout, "burgers")), names_file=False),
    Reader("music", _music, _with_file(read_music), names_file=False),
    Reader("pdnet", _pdnet, read_pdnet),
    Reader("cifar", _cifar, lambda folder: read_cifar(folder, LAYOUTS[1])),
    Reader("images", _images, read_folder),
    Reader("idx", _idx, lambda folder: read_pair(folder / "images", folder / "labels")),
    Reader("table", _table, _with_file(read_table)),
    Reader("pdb", _pdb, _with_file(lambda path: distance_map(read_structure(path)))),
    Reader("mmcif", _cif, _with_file(lambda path: distance_map(read_structure(path)))),
    Reader("a3m", _aligned("f.a3m", A3M), _with_file(read_alignment)),
    Reader("fasta", _aligned("f.fasta", FASTA), _with_file(read_alignment)),
    Reader("stockholm", _aligned("f.sto", STOCKHOLM), _with_file(read_alignment)),
    Reader("indices", _aligned("f.txt", INDICES), _with_file(read_indices)),
    Reader("fits", _fits, _with_file(read_exposures)),
    Reader("clean", _fits, _clean),
]
