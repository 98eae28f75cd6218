"""Small images and files of them."""

import gzip
import struct

import numpy as np

RNG = np.random.default_rng(0)
IMAGES = RNG.integers(0, 256, (30, 6, 5), dtype=np.uint8)
LABELS = np.arange(30) % 3


def idx_bytes(array: np.ndarray, *, kind: int = 8, sizes=None) -> bytes:
    sizes = array.shape if sizes is None else sizes
    return struct.pack(f">HBB{len(sizes)}I", 0, kind, len(sizes), *sizes) + array.tobytes()


def write_mnist(folder, *, packed=False, joint="-"):
    """The four files of MNIST: 24 images to train, 6 to test."""
    folder.mkdir(exist_ok=True)
    for begin, part in (("train", slice(0, 24)), ("t10k", slice(24, 30))):
        for kind, array, n in (("images", IMAGES, 3), ("labels", LABELS.astype(np.uint8), 1)):
            data = idx_bytes(array[part])
            name = f"{begin}-{kind}{joint}idx{n}-ubyte" + (".gz" if packed else "")
            (folder / name).write_bytes(gzip.compress(data) if packed else data)
    return folder
