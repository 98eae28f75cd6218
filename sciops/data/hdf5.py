"""Variables of HDF5 files, which netCDF 4 and MATLAB 7.3 files are too.

MATLAB 7.3 reverses the axes; they are reversed back.  Links and data sets that lead to other files
are refused, and so are packed variables (scale_factor, add_offset) of netCDF.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np

from .found import NUMBERS, Found, ReadError, unreadable


@contextmanager
def open_hdf5(path: Path, *, matlab: bool = False) -> Iterator[dict[str, Found]]:
    try:
        import h5py
    except ImportError as error:
        raise ReadError(f"{path} is HDF5; reading it needs h5py: pip install h5py") from error
    with h5py.File(path, "r") as file:
        yield dict(_walk(file, "", set(), matlab))


@contextmanager
def open_matlab73(path: Path) -> Iterator[dict[str, Found]]:
    with open_hdf5(path, matlab=True) as variables:
        yield variables


def _walk(group, prefix: str, seen: set[int], matlab: bool) -> Iterator[tuple[str, Found]]:
    """Data sets below a group; only hard links are followed, and every group once."""
    import h5py

    for key in group:
        name = prefix + key
        link = group.get(key, getlink=True)
        if isinstance(link, h5py.ExternalLink):
            yield name, unreadable("link", f"is a link to another file, {link.filename!r}")
        elif isinstance(link, h5py.SoftLink):
            yield name, unreadable("link", f"is a soft link; ask for its target {link.path!r}")
        elif isinstance(item := group[key], h5py.Dataset):
            yield name, _dataset_found(item, matlab)
        elif isinstance(item, h5py.Group) and not (matlab and key.startswith("#")):
            address = h5py.h5o.get_info(item.id).addr
            if matlab:
                word = "sparse" if "MATLAB_sparse" in item.attrs else "struct"
                yield name, unreadable(word, f"is a {word}")
            elif address not in seen:
                seen.add(address)
                yield from _walk(item, name + "/", seen, matlab)


def _dataset_found(dataset, matlab: bool) -> Found:
    shape, dtype, attrs = dataset.shape, dataset.dtype, dataset.attrs
    word = _text(attrs.get("MATLAB_class", "")) if matlab else ""
    if word in ("cell", "struct", "char", "function_handle", "string"):
        return unreadable(word, f"is a MATLAB {word}")
    if dtype.kind not in NUMBERS or shape is None:
        return unreadable(str(dtype), f"holds {dtype}", shape or ())
    if dataset.is_virtual or dataset.external:
        return unreadable(str(dtype), "keeps its numbers in another file", shape)
    if "scale_factor" in attrs or "add_offset" in attrs:
        return unreadable(str(dtype), "is packed; unpack it with xarray.open_dataset", shape)
    if not matlab:
        return Found(shape, dtype, lambda: dataset[()])
    if "MATLAB_empty" in attrs:  # the numbers are the size
        return unreadable(word, "is an empty MATLAB array", shape)
    dtype = np.dtype(bool) if word == "logical" else dtype
    return Found(shape[::-1], dtype, lambda: np.asarray(dataset[()]).astype(dtype, copy=False).T)


def _text(value) -> str:
    return value.decode(errors="replace") if isinstance(value, bytes) else str(value)
