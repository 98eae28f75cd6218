"""A network that was trained on music."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from sciops.data.ragged_store import open_ragged
from sciops.evaluation.sequences import evaluate_sequences, marginal_nats, predict_next
from sciops.music.collection import read_tree
from sciops.music.rolls import as_roll, pieces_of
from sciops.music.tonal import LENGTH

from .collection import Collection, CollectionRun
from .run import from_here

if TYPE_CHECKING:
    import xarray as xr
    from matplotlib.figure import Figure


def _opened(data) -> "xr.DataTree | None":
    is_path = isinstance(data, str | Path)
    if isinstance(data, Mapping) or (is_path and Path(data).is_file()):
        return read_tree(data)
    return open_ragged(data) if is_path else None


MUSIC = Collection(
    name="music",
    sample="piece",
    counts={"train": 200, "val": 40, "test": 40},
    usual={"length": LENGTH},
    opened=_opened,
    wanted="a .mat file of piano rolls, a store, a tree of sciops.read('music', …), or arrays "
    "{'train': […], 'val': […], 'test': […]}",
    samples=pieces_of,
    checked=as_roll,
    things="music",
    made="pieces",
    them="it",
)


class MusicRun(CollectionRun):
    """What `train_music` returns."""

    collection = MUSIC

    def __repr__(self) -> str:
        what = "synthetic music" if self.config["data"].get("synthetic") else "music"
        score = self.metrics["test_nats"]
        what = f"{self.config['op']} on {what}"
        return f"MusicRun({what}, test {score:.3f} nats a frame, {from_here(self.path)})"

    def test_scores(self, *, progress: bool) -> dict[str, float]:
        """Nats per frame, over all frames; those of the marginals of the keys show what is easy."""
        test = self.pieces("test")
        scores = evaluate_sequences(self.model, test, progress=progress)
        easy = marginal_nats(self.pieces("train"), test)
        return {"nats": scores.attrs["nats"], "marginal_nats": easy}

    def pieces(self, split: str) -> list[np.ndarray]:
        """The rolls of a split of the run's data."""
        return self.samples(split)

    def evaluate(self, data=None, *, split: str = "test") -> "xr.Dataset":
        """Nats per frame of every piece; attrs["nats"] is over all frames.

        data: rolls, or a tree, file or store with splits; None is the data of this run
        """
        return evaluate_sequences(self.model, self.samples(split, data))

    def predict(self, x) -> np.ndarray:
        """Of every frame of a piece (T, 88), the probability of each key in the next, (T, 88)."""
        return predict_next(self.model, as_roll(x))

    def plot(self, pieces: Sequence[np.ndarray] | None = None) -> "Figure":
        """What sounds and what was expected; None shows two of the test pieces."""
        from sciops.plots.piano_rolls import piano_rolls

        shown = self.pieces("test")[:2] if pieces is None else [as_roll(piece) for piece in pieces]
        return piano_rolls(shown, [self.predict(piece) for piece in shown])
