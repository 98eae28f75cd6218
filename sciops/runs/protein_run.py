"""A network that was trained on proteins."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from sciops.data.ragged_store import open_ragged
from sciops.evaluation.distance_maps import evaluate_maps, predict_map
from sciops.proteins.kept import LENGTH
from sciops.proteins.own_files import Files, protein_from
from sciops.proteins.protein import Protein
from sciops.proteins.ragged import proteins_of

from .collection import Collection, CollectionRun
from .run import from_here

if TYPE_CHECKING:
    import xarray as xr
    from matplotlib.figure import Figure


def _opened(data) -> "xr.DataTree | None":
    return open_ragged(data) if isinstance(data, str | Path) else None


def _checked(protein, name: str) -> Protein:
    if not isinstance(protein, Protein):
        raise ValueError(
            f"{name} is of the kind {type(protein).__name__}; give a Protein, as in "
            "run.proteins('test'), or a store or tree of sciops.read('protein', …)"
        )
    return protein


PROTEINS = Collection(
    name="protein",
    sample="protein",
    counts={"train": 60, "val": 8, "test": 12},
    usual={"length": LENGTH},
    opened=_opened,
    wanted="a store or a tree with train, val and test: sciops.read('protein', …) makes one of "
    "PDNET's folder, or of alignments and structures",
    samples=proteins_of,
    checked=_checked,
    things="proteins",
    made="chains",
)


class ProteinRun(CollectionRun):
    """What `train_protein` returns."""

    collection = PROTEINS

    def __repr__(self) -> str:
        error = self.metrics["test_mae8"]
        return f"ProteinRun({self.config['op']}, test MAE8 {error:.2f} Å, {from_here(self.path)})"

    def test_scores(self, *, progress: bool) -> dict[str, float]:
        """Means over the test proteins, each of equal weight, of those that have such pairs."""
        scores = evaluate_maps(self.model, self.proteins("test"), self.task, progress=progress)
        means = scores.drop_vars("length").to_dataframe().mean()
        return {str(name): float(mean) for name, mean in means.items()}

    def proteins(self, split: str) -> list[Protein]:
        """The proteins of a split of the run's data."""
        return self.samples(split)

    def evaluate(self, data=None, *, split: str = "test") -> "xr.Dataset":
        """Scores of every protein.

        data: proteins, or a tree or store with splits; None is the data of this run
        """
        return evaluate_maps(self.model, self.samples(split, data), self.task)

    def predict(self, x: Protein | Files | str | Path | Sequence[str | Path]) -> np.ndarray:
        """The distances (L, L) in Å of a protein, or of an alignment file."""
        if isinstance(x, str | Path):
            x = Files(x)
        if not isinstance(x, Protein):
            x = protein_from(Files(*x))
        return predict_map(self.model, x, self.task)

    def plot(self, proteins: Sequence[Protein] | None = None) -> "Figure":
        """Truth above the diagonal, prediction below; None shows four of the test proteins."""
        from sciops.plots.distance_maps import distance_maps

        shown = self.proteins("test")[:4] if proteins is None else list(proteins)
        predictions = [self.predict(protein) for protein in shown]
        return distance_maps([p.distance for p in shown], predictions, [p.name for p in shown])
