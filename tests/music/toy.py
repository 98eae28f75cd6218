"""Small pieces of music for tests, and the real ones where they are on this machine."""

import numpy as np

from sciops.music.collection import tree_of

REAL = {"jsb": "music/JSB_Chorales.mat", "nottingham": "music/Nottingham.mat"}


def scale(frames: int, seed: int = 0) -> np.ndarray:
    """A walk up and down some keys, two at a time."""
    start = np.random.default_rng(seed).integers(12)
    keys = 20 + start + np.abs((np.arange(frames) + seed) % 14 - 7)
    roll = np.zeros((frames, 88), np.uint8)
    roll[np.arange(frames), keys] = roll[np.arange(frames), keys + 12] = 1
    return roll


def tree():
    lengths = {"train": (20, 12, 30, 9, 50), "val": (18, 25), "test": (40, 28, 7)}
    splits = {s: [scale(n, n) for n in lengths] for s, lengths in lengths.items()}
    return tree_of(splits, {"title": "toy"})
