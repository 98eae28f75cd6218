"""The smallest runs of every task that is no equation."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
import xarray as xr

import sciops
from sciops.cosmic.collection import tree_of as stamps_of
from sciops.cosmic.stamps import write_stamps
from sciops.data.ragged_store import write_ragged
from sciops.data.store import write as write_store
from sciops.music.collection import tree_of as music_of
from sciops.proteins.collection import tree_of as proteins_of
from sciops.runs.collection import CollectionRun
from sciops.vision.collection import read_tree as images_of
from tests.cosmic.toy import stamp
from tests.music.toy import scale
from tests.music.toy import tree as music
from tests.proteins.toy import walk

SPLITS = ("train", "val", "test")
MUSIC = dict(window=8, levels=2, width=4, kernel_size=2, epochs=2, batch_size=2, progress=False)
COSMIC = dict(window=16, width=4, epochs=2, batch_size=2, progress=False)
VISION = dict(epochs=2, batch_size=8, progress=False)
PROTEIN = dict(window=16, depth=4, width=4, epochs=2, batch_size=2, progress=False)


def proteins() -> xr.DataTree:
    kinds = {"train": (20, 12, 30), "val": (18,), "test": (40, 28)}
    splits = {s: [walk(n, n, f"{s}{n}") for n in lengths] for s, lengths in kinds.items()}
    return proteins_of(splits, {"title": "toy"})


def exposures() -> xr.DataTree:
    numbers = {"train": (0, 1, 2, 3), "val": (10,), "test": (20, 21)}
    attrs = {"title": "toy", "units": "electron"}
    return stamps_of({s: [stamp(k, 24) for k in of] for s, of in numbers.items()}, attrs)


def train_cosmic(out, op: str = "unet-xd", **changes) -> CollectionRun:
    own = dict(channels=2, frequencies=2, taps=3) if op in ("unet-xd", "resnet-xd") else {}
    options = {"data": exposures(), **COSMIC, **own, **changes}
    return sciops.train_cosmic(op, out=out, **options)


def train_music(out, op: str = "xd", **changes) -> CollectionRun:
    options = {"name": "jsb", "data": music(), **MUSIC, **changes}
    return sciops.train_music(op=op, out=out, **options)


def train_protein(out, op: str = "xd-hybrid", **changes) -> CollectionRun:
    return sciops.train_protein(op, out=out, **{"data": proteins(), **PROTEIN, **changes})


def images(seed: int = 0) -> xr.DataTree:
    """Noise with a bright row, the number of which is the class, at one of two heights."""
    rng, splits = np.random.default_rng(seed), {}
    for split, n in (("train", 24), ("val", 6), ("test", 9)):
        labels = np.arange(n) % 3
        pictures = 0.3 * rng.random((n, 8, 8))
        pictures[np.arange(n), labels * 2 + rng.integers(2, size=n)] += 0.6
        splits[split] = (pictures, labels)
    return images_of(splits, classes=["low", "middle", "high"])


def train_vision(out, op: str = "xd", **changes) -> CollectionRun:
    return sciops.train_vision(op, out=out, **{"data": images(), **VISION, **changes})


def same_bits(a: CollectionRun, b: CollectionRun) -> bool:
    states = a.model.state_dict(), b.model.state_dict()
    return all(torch.equal(states[0][name], states[1][name]) for name in states[0])


class TaskToy(NamedTuple):
    """A task of tests.

    train:     trains a run in a folder, with these options instead of the usual
    tree:      its data
    other:     data that are not its own
    synthetic: of few synthetic samples
    changes:   options that make another run of it
    resumed:   options of runs that are interrupted
    write:     writes a tree of its data to a store
    """

    train: Callable[..., CollectionRun]
    tree: Callable[[], xr.DataTree]
    other: xr.DataTree
    synthetic: dict[str, Any]
    changes: list[dict[str, Any]]
    resumed: list[dict[str, Any]]
    write: Callable[..., Path] = write_ragged


STEEP = dict(epochs=5, rate=5e-2)  # so high that the best epoch is not the last
TOYS = {
    "protein": TaskToy(
        train_protein,
        proteins,
        proteins_of({s: [walk(20, 20, s)] for s in SPLITS}, {}),
        dict(n_train=2, n_val=1, n_test=1, length=(30, 34)),
        [dict(width=8), dict(window=32), dict(loss="inverse"), dict(seed=1)],
        [dict(epochs=4)],
    ),
    "music": TaskToy(
        train_music,
        music,
        music_of({s: [scale(9)] for s in SPLITS}, {}),
        dict(n_train=3, n_val=1, n_test=1, length=(8, 12)),
        [dict(width=8), dict(window=16), dict(name="nottingham"), dict(seed=1)],
        [STEEP, dict(STEEP, recipe="paper")],
    ),
    "cosmic": TaskToy(
        train_cosmic,
        exposures,
        stamps_of({s: [stamp(50 + i, 24)] for i, s in enumerate(SPLITS)}, {"units": "count"}),
        dict(n_train=2, n_val=1, n_test=2, size=24),
        [dict(width=8), dict(window=20), dict(recipe="paper"), dict(seed=1)],
        [STEEP, dict(STEEP, recipe="paper")],
        write_stamps,
    ),
    "vision": TaskToy(
        train_vision,
        images,
        images(seed=1),
        dict(n_train=20, n_val=5, n_test=5),
        [dict(depth=2), dict(op="discrete"), dict(network="linear", op="conv"), dict(seed=1)],
        [
            dict(epochs=4, flip=True, margin=1),
            dict(epochs=4, recipe="paper", op="kop"),
            dict(epochs=4, op="dnarch", width=4, blocks=2, dropout=0.2),
        ],
        write_store,
    ),
}
