"""A network that was trained to name the class of images."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import torch

from sciops.data.store import open_store
from sciops.evaluation.classes import class_probabilities, evaluate_classes
from sciops.vision.collection import read_tree
from sciops.vision.samples import ImageSamples

from .collection import Collection, CollectionRun
from .run import from_here

if TYPE_CHECKING:
    import xarray as xr
    from matplotlib.figure import Figure

SHOWN = 12  # images of a figure


def _opened(data) -> "xr.DataTree | None":
    if isinstance(data, str | Path) and (Path(data) / "zarr.json").exists():
        return open_store(data)
    return read_tree(data) if isinstance(data, str | Path | Mapping) else None


def _checked(image, name: str) -> np.ndarray:
    """An image (y, x) or (channel, y, x) with its channels."""
    image = np.asarray(image, np.float32)
    if image.ndim not in (2, 3):
        raise ValueError(f"{name} has the shape {image.shape}, expected (y, x) or (channel, y, x)")
    return image if image.ndim == 3 else image[None]


VISION = Collection(
    name="vision",
    sample="sample",
    counts={"train": None, "val": None, "test": None},
    usual={"variant": "plain"},
    opened=_opened,
    wanted="a folder of images, of MNIST's or of CIFAR's files, a table, a store, a tree of "
    "sciops.read('vision', …), or arrays {'train': (images, labels), 'test': …}",
    samples=lambda ds: list(ds["image"].values),
    checked=_checked,
    things="images",
    made="scikit-learn's digits",
    synthetic=False,
)


class VisionRun(CollectionRun):
    """What `train_vision` returns."""

    collection = VISION

    def __repr__(self) -> str:
        op, network = self.config["op"], self.config["network"]
        what = op if op == network else f"{op} in {network}"
        accuracy = self.metrics["test_accuracy"]
        return f"VisionRun({what}, test accuracy {accuracy:.3f}, {from_here(self.path)})"

    @property
    def sequence(self) -> bool:
        """Whether the network reads pixels one after the other."""
        return len(self.task.axes) == 1

    def test_scores(self, *, progress: bool) -> dict[str, float]:
        """Means over the test images."""
        scores = self._scores(self.data["test"].to_dataset(), progress)
        return {str(name): float(values.mean()) for name, values in scores.data_vars.items()}

    def evaluate(self, data=None, *, split: str = "test") -> "xr.Dataset":
        """Accuracy, error rate and cross entropy of every image, and its class.

        data: a Dataset, a tree, files or arrays with splits; None is the data of this run
        """
        import xarray as xr

        if isinstance(data, xr.Dataset):
            return self._scores(data, False)
        found = self.collection.split_in(self.data if data is None else data, split)
        return self._scores(found, False)

    def _scores(self, ds: "xr.Dataset", progress: bool) -> "xr.Dataset":
        samples = ImageSamples(ds, sequence=self.sequence)
        if samples.task.classes != self.task.classes:
            raise ValueError(
                f"the images have the classes {', '.join(samples.task.classes)}; this network "
                f"names {', '.join(self.task.classes)}"
            )
        x, y = samples.__getitems__(range(len(samples)))
        names = self.task.classes
        return evaluate_classes(self.model, x, y, names, ds["sample"].values, progress=progress)

    def predict(self, x) -> np.ndarray:
        """Of images (n, channel, y, x), 0 black and 1 white, the probability of each class.

        x: an array, a list of images, or a Dataset of them; one image (channel, y, x) or (y, x) has
           one row
        """
        import xarray as xr

        if isinstance(x, xr.Dataset):
            x = x["image"].values
        elif isinstance(x, np.ndarray | torch.Tensor) and x.ndim < 4:
            x = [x]
        images = np.stack([_checked(one, f"image {k}") for k, one in enumerate(x)])
        if images.shape[1:] != self.image_shape:
            raise ValueError(
                f"images have the shape {images.shape[1:]}; this network takes {self.image_shape}"
            )
        tensor = torch.from_numpy(images)
        return class_probabilities(self.model, tensor.flatten(2) if self.sequence else tensor)

    @property
    def image_shape(self) -> tuple[int, int, int]:
        """Channels, rows and columns of an image."""
        return tuple(self.config["image"])

    def plot(self, samples: Sequence[int] | None = None) -> "Figure":
        """Test images with the class that was predicted; None shows some that are wrong and others.

        samples: their places in the test data
        """
        from sciops.plots.labelled_images import labelled_images

        test = self.data["test"].to_dataset()
        shown = self._interesting() if samples is None else list(samples)
        chosen = test.isel(sample=shown)
        labels = chosen["label"].values
        return labelled_images(
            chosen["image"].values, self.predict(chosen), labels, self.task.classes
        )

    def _interesting(self) -> list[int]:
        """The worst half and the first of the others."""
        order = np.argsort(-self.evaluate()["cross_entropy"].values, kind="stable")
        worst, others = order[: SHOWN // 2], np.sort(order[SHOWN // 2 :])
        return [*worst.tolist(), *others[: SHOWN - SHOWN // 2].tolist()]
