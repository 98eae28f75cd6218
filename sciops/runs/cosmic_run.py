"""A network that was trained to find cosmic rays."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from sciops.cosmic.collection import read_tree
from sciops.cosmic.kept import USUAL
from sciops.cosmic.stamps import Stamp, open_stamps, stamps_of
from sciops.evaluation.cleaned_files import CleanedFiles, clean_file
from sciops.evaluation.image_cleaning import Cleaned, clean, probabilities
from sciops.evaluation.masks import evaluate_masks, pooled_pixels, stamp_logits
from sciops.metrics.mask import RocCurve, roc_curve

from .collection import Collection, CollectionRun
from .run import from_here

if TYPE_CHECKING:
    import xarray as xr
    from matplotlib.figure import Figure

SHOWN = 3  # stamps of a figure


def _opened(data) -> "xr.DataTree | None":
    if not isinstance(data, str | Path):
        return None
    path = Path(data)
    is_of_others = path.is_file() or (path / "npy_train").is_dir()
    return read_tree(path) if is_of_others else open_stamps(path)


def _checked(stamp, name: str) -> Stamp:
    if not isinstance(stamp, Stamp):
        raise ValueError(
            f"{name} is of the kind {type(stamp).__name__}; give a Stamp, as in "
            "run.stamps('test'), or a store or tree of sciops.read('cosmic', …)"
        )
    return stamp


COSMIC = Collection(
    name="cosmic",
    sample="stamp",
    counts={"train": 128, "val": 16, "test": 32},
    usual=USUAL,
    opened=_opened,
    wanted="a FITS file, deepCR's folder, or a store or a tree of sciops.read('cosmic', …)",
    samples=stamps_of,
    checked=_checked,
    things="stamps",
    made="stamps",
)


class CosmicRun(CollectionRun):
    """What `train_cosmic` returns."""

    collection = COSMIC

    def __repr__(self) -> str:
        what = "simulated stamps" if self.config["data"].get("synthetic") else "stamps"
        missed = self.metrics["test_fnr_1e-3"]
        return (
            f"CosmicRun({self.config['op']} on {what}, test: {missed:.2%} of hit pixels missed "
            f"where 0.1% of others are flagged, {from_here(self.path)})"
        )

    def test_scores(self, *, progress: bool) -> dict[str, float]:
        """Of all counted pixels of all test stamps together."""
        return evaluate_masks(self.model, self.stamps("test"), progress=progress).attrs

    def stamps(self, split: str) -> list[Stamp]:
        """The stamps of a split of the run's data."""
        return self.samples(split)

    def evaluate(self, data=None, *, split: str = "test") -> "xr.Dataset":
        """Scores of every stamp; attrs has those of all pixels together.

        data: stamps, or a tree, store or FITS file with splits; None is the data of this run
        """
        return evaluate_masks(self.model, self.samples(split, data))

    def roc(self, data=None, *, split: str = "test") -> RocCurve:
        """Shares of clean and of hit pixels that are flagged, for every threshold of p.

        Its `false_positive_rate` and `true_positive_rate` are what `sciops.plots.roc_curves` draws.

        data: as in `evaluate`
        """
        stamps = self.samples(split, data)
        found = stamp_logits(self.model, stamps, progress=False)
        false, true, threshold = roc_curve(pooled_pixels(found, stamps))
        with np.errstate(over="ignore"):
            return RocCurve(false, true, 1 / (1 + np.exp(-threshold)))

    def predict(self, image: np.ndarray, *, progress: bool = False) -> np.ndarray:
        """The probability that each pixel was hit, float32, of an image (h, w) of any size.

        It may be in any units; where it is not finite the probability is 0.
        """
        return probabilities(self.model, image, progress=progress)

    def clean(
        self,
        image: np.ndarray,
        *,
        threshold: float = 0.5,
        saturation: float | None = None,
        unknown: np.ndarray | None = None,
        progress: bool = False,
    ) -> Cleaned:
        """Image, mask and probabilities: where these exceed the threshold, the image is filled.

        saturation: pixels from here on are never flagged: they may be stars as well
        unknown:    pixels that have no meaning; they are never flagged, and left as they are
        """
        return clean(
            *(self.model, image),
            threshold=threshold,
            saturation=saturation,
            unknown=unknown,
            progress=progress,
        )

    def clean_file(
        self,
        path: str | Path,
        out: str | Path | None = None,
        *,
        threshold: float = 0.5,
        saturation: float | None = None,
        overwrite: bool = False,
        progress: bool = True,
    ) -> CleanedFiles:
        """Clean a FITS file: mask, probabilities and cleaned image become files beside it.

        out:        another folder for them
        saturation: None is the keyword SATURATE of an image, if it has one
        overwrite:  replace files of these names
        """
        return clean_file(
            *(self.model, path, out),
            threshold=threshold,
            saturation=saturation,
            overwrite=overwrite,
            progress=progress,
        )

    def plot(self, stamps: Sequence[Stamp] | None = None) -> "Figure":
        """Image, true mask, probabilities and cleaned image; None: test stamps with most hits."""
        from sciops.plots.masks import mask_panels

        if stamps is None:
            stamps = sorted(self.stamps("test"), key=lambda s: -int((s.mask != 0).sum()))[:SHOWN]
        cleaned = [self.clean(stamp.image) for stamp in stamps]
        return mask_panels(
            [stamp.image for stamp in stamps],
            [one.probability for one in cleaned],
            [one.image for one in cleaned],
            [stamp.mask for stamp in stamps],
            [f"{s.field}[{s.exposure}] ({s.row}, {s.column})" for s in stamps],
            unknown=[stamp.ignore for stamp in stamps],
        )
