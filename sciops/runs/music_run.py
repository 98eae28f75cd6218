"""A network that was trained on music."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from sciops.evaluation.sequences import evaluate_sequences, marginal_nats, predict_next
from sciops.music.rolls import as_roll

from . import music_data
from .run import AbstractRun

if TYPE_CHECKING:
    import xarray as xr
    from matplotlib.figure import Figure


class MusicRun(AbstractRun):
    """What `train_music` returns."""

    def __repr__(self) -> str:
        what = "synthetic music" if self.config["data"].get("synthetic") else "music"
        score = self.metrics["test_nats"]
        return (
            f"MusicRun({self.config['op']} on {what}, test {score:.3f} nats a frame, {self.path})"
        )

    def _data_again(self) -> "xr.DataTree":
        return music_data.again(self.config["data"])

    def _own(self, tree: "xr.DataTree") -> "xr.DataTree":
        expected = self.config["data"].get("fingerprint")
        if expected not in (None, music_data.fingerprint(tree)):
            raise ValueError(
                "this is other music than when this run was trained; judge it on what you mean: "
                "run.evaluate(data)"
            )
        return tree

    def test_scores(self, *, progress: bool) -> dict[str, float]:
        """Nats per frame, over all frames; those of the marginals of the keys show what is easy."""
        test = self.pieces("test")
        scores = evaluate_sequences(self.model, test, progress=progress)
        easy = marginal_nats(self.pieces("train"), test)
        return {"nats": scores.attrs["nats"], "marginal_nats": easy}

    def pieces(self, split: str) -> list[np.ndarray]:
        """The rolls of a split of the run's data."""
        return music_data.pieces_in(self.data, split)

    def evaluate(self, data=None, *, split: str = "test") -> "xr.Dataset":
        """Nats per frame of every piece; attrs["nats"] is over all frames.

        data: rolls, or a tree, file or store with splits; None is the data of this run
        """
        pieces = self.pieces(split) if data is None else music_data.pieces_in(data, split)
        return evaluate_sequences(self.model, pieces)

    def predict(self, x) -> np.ndarray:
        """Of every frame of a piece (T, 88), the probability of each key in the next, (T, 88)."""
        return predict_next(self.model, as_roll(x))

    def plot(self, pieces: Sequence[np.ndarray] | None = None) -> "Figure":
        """What sounds and what was expected; None shows two of the test pieces."""
        from sciops.plots.piano_rolls import piano_rolls

        shown = self.pieces("test")[:2] if pieces is None else [as_roll(piece) for piece in pieces]
        return piano_rolls(shown, [self.predict(piece) for piece in shown])

    def report(self, path: str | Path | None = None) -> Path:
        """Write one page with everything; its path."""
        from sciops.reporting.music_report import write_report

        return self._write_page(write_report, path)
