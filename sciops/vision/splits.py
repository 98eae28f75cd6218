"""Which images are test, val and train, where the files do not say it.

Images are put in an order that depends on the images, their labels and a seed alone, not on where
they were in a file: those of a class are sorted by a hash of the seed and their pixels, and classes
then take turns so that every beginning of the order holds each class in its share.  Test is the
beginning, val follows, the rest is train; so a larger training share never eats into the test data.
Equal images of a class are neighbours, and a cut never divides them.
"""

import hashlib
from collections.abc import Mapping

import numpy as np

from sciops.domains.splits import shares_of

from .images import Labelled

SHARES = {"train": 0.7, "val": 0.1, "test": 0.2}
ORDER = ("test", "val", "train")  # from the beginning
SEED = 0  # the same in every run, so that test images are never trained on


def stratified_order(data: Labelled, seed: int = SEED) -> tuple[np.ndarray, list[bytes]]:
    """Places of the images, in this order, and the hash of each image.

    >>> data = Labelled(np.arange(6, dtype="f4").reshape(6, 1, 1, 1), np.array([0, 0, 0, 1, 1, 1]))
    >>> order, _ = stratified_order(data)
    >>> np.sort(data.labels[order].reshape(3, 2))
    array([[0, 1],
           [0, 1],
           [0, 1]])
    """
    key = seed.to_bytes(8, "little")
    hashes = [
        hashlib.blake2b(np.ascontiguousarray(image), digest_size=16, key=key).digest()
        for image in data.images
    ]
    turns = np.empty(len(hashes))
    for label in np.unique(data.labels):
        members = np.flatnonzero(data.labels == label)
        different = sorted({hashes[k] for k in members})
        turn = {h: (rank + 0.5) / len(different) for rank, h in enumerate(different)}
        turns[members] = [turn[hashes[k]] for k in members]
    order = sorted(range(len(hashes)), key=lambda k: (turns[k], hashes[k], data.labels[k], k))
    return np.array(order), [hashes[k] for k in order]


def divided(data: Labelled, shares: Mapping[str, float | int]) -> dict[str, np.ndarray]:
    """Places of the images of each split; shares are fractions or counts."""
    order, hashes = stratified_order(data)
    beginning_first = {split: shares[split] for split in ORDER if split in shares}
    unknown = {split: shares[split] for split in shares if split not in ORDER}
    cuts = shares_of(len(order), beginning_first | unknown)
    parts, start = {}, 0
    for split, share in cuts.items():
        stop = _past_equals(hashes, share.stop)
        parts[split], start = order[start:stop], stop
    if any(len(part) == 0 for part in parts.values()):
        raise ValueError(f"{len(order)} images, some of them equal, are too few for {dict(shares)}")
    return {split: parts[split] for split in shares}


def _past_equals(hashes: list[bytes], stop: int) -> int:
    """The next cut that does not divide equal images."""
    while 0 < stop < len(hashes) and hashes[stop] == hashes[stop - 1]:
        stop += 1
    return stop
