"""A run: a trained model with all that is needed to use it, judge it and repeat it.

    config.json                          what was asked for
    model.safetensors + model.json       weights; task, options, scores, versions, fingerprint
    metrics.csv                          the history, one row an epoch
    checkpoints/                         the state after the last epochs, to resume
    report.html                          one page for people

`open_run(path)` needs nothing else.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor, nn

from sciops.evaluation import scores as evaluation
from sciops.evaluation.grids import coords_of, trained_grid
from sciops.evaluation.labelled import labelled_prediction
from sciops.evaluation.resolution_transfer import across
from sciops.suggestions import did_you_mean
from sciops.task import Task

from . import data as run_data

if TYPE_CHECKING:
    import pandas as pd
    import xarray as xr
    from matplotlib.figure import Figure


def from_here(path: Path) -> str:
    """A path as one would write it: from the working directory, if it is below that.

    >>> from_here(Path.cwd() / "runs" / "first")
    'runs/first'
    """
    here = Path.cwd()
    return (path.relative_to(here) if path.is_relative_to(here) else path).as_posix()


class AbstractRun:
    """A trained model, its task, what was asked for, its scores, its history and its folder."""

    data_marks: Mapping[str, float] = {}  # `marks` of the data that it was trained on

    def __init__(
        self,
        model: nn.Module,
        task: Task,
        config: dict[str, Any],
        metrics: dict[str, float],
        history: "pd.DataFrame",
        path: Path,
        data: "xr.DataTree | None" = None,
    ):
        self.model, self.task, self.config, self.metrics = model, task, config, metrics
        self.history, self.path = history, path
        self._data = data

    @property
    def data(self) -> "xr.DataTree":
        """train, val and test, found or generated again where they are not at hand."""
        if self._data is None:
            self._data = self._data_again()
        return self._data

    @data.setter
    def data(self, tree: "xr.DataTree") -> None:
        self._data = self._own(tree)

    def _own(self, tree: "xr.DataTree") -> "xr.DataTree":
        """The tree, if it is that of this run; otherwise an error, where it can be known."""
        return tree

    def marks(self) -> dict[str, float]:
        """Of data that are made again when they are asked for: numbers to recognise them by."""
        return {}

    def _data_again(self) -> "xr.DataTree":
        raise TypeError(f"{type(self).__name__} must define _data_again()")

    def test_scores(self, *, progress: bool) -> dict[str, float]:
        """Means over the test samples, by name."""
        raise TypeError(f"{type(self).__name__} must define test_scores()")

    def symmetrised(self) -> "AbstractRun":
        """The same run, with means over symmetries, where there are any."""
        raise ValueError(f"{self.config['name']} has no equation whose symmetries are known")

    def report(self, path: str | Path | None = None) -> Path:
        """Write one page with everything; its path."""
        from sciops.reporting.frame import write_report

        return write_report(self, path)


class Run(AbstractRun):
    """What `train_pde` returns and `open_run` opens."""

    transferred: "xr.Dataset | None" = None  # the last result of `transfer`, for the report

    def __repr__(self) -> str:
        error = self.metrics["test_relative_l2"]
        what = f"{self.config['op']} on {self.config['name']}, {self.grid}"
        return f"Run({what}, test relative L2 {error:.4f}, {from_here(self.path)})"

    @property
    def grid(self) -> str:
        """The training grid, as in 43 × 43."""
        return " × ".join(str(axis.size) for axis in self.task.axes)

    @property
    def resolution(self) -> int:
        """Points on the first axis of the training grid."""
        return self.task.axes[0].size

    def _data_again(self) -> "xr.DataTree":
        described = self.config["data"]
        return run_data.again(self.config["name"], self.resolution, described, self.data_marks)

    def _own(self, tree: "xr.DataTree") -> "xr.DataTree":
        described = self.config["data"]
        if "fingerprint" in described:
            return run_data.same_given(tree, described)
        return run_data.expect_marks(run_data.as_tree(tree), self.data_marks)

    def marks(self) -> dict[str, float]:
        """Of generated data; given data have a fingerprint in the configuration."""
        return {} if "fingerprint" in self.config["data"] else run_data.marks(self.data)

    def test_scores(self, *, progress: bool) -> dict[str, float]:
        """Means over the test samples; NaN where the prediction of one of them is not finite."""
        test = self.data["test"].to_dataset()
        scores = evaluation.evaluate(self.model, test, self.task, progress=progress)
        return {
            name: float(variable.mean(skipna=False))
            for name, variable in scores.data_vars.items()
            if variable.dims == ("sample",)
        }

    def evaluate(self, data=None, *, split: str = "test") -> "xr.Dataset":
        """Scores of every sample.

        data: a Dataset, or a tree or store with splits; None is the data of this run
        """
        return evaluation.evaluate(self.model, self._dataset(data, split), self.task)

    def _dataset(self, data, split: str) -> "xr.Dataset":
        import xarray as xr

        if isinstance(data, xr.Dataset):
            return data
        tree = self.data if data is None else run_data.as_tree(data)
        if split not in tree.children:
            known = ", ".join(tree.children)
            hint = did_you_mean(split, tree.children)
            raise ValueError(f"the data have no split {split!r}; they have {known or 'none'}{hint}")
        return tree[split].to_dataset()

    def transfer(
        self,
        resolutions: int | Sequence[int] | None = None,
        *,
        data: "Mapping[int, xr.Dataset] | None" = None,
        split: str = "test",
        progress: bool = True,
    ) -> "xr.Dataset":
        """Errors on other grids of the same samples, beside those of two ways of interpolation.

        data: {resolution: Dataset} where the samples are not from our own solvers
        """
        if (resolutions is None) == (data is None):
            raise ValueError("give resolutions=[64, 85] or data={64: dataset}, one of the two")
        if data is None:
            own = {self.resolution: self._dataset(None, split)}
            others = [r for r in np.atleast_1d(resolutions).tolist() if r != self.resolution]
            described = self.config["data"]
            made = run_data.same_samples(
                self.config["name"], others, described, split, progress=progress
            )
            data = {**made, **own}
        self.transferred = across(self.model, self.task, data, progress=progress)
        return self.transferred

    def symmetrised(self) -> "Run":
        """The same run, each prediction being the mean over the symmetries of its equation.

        They are those that training showed it (`augment`).  Its error is judged anew; predictions
        cost as many times as much as there are members, such as 8 for a square.
        """
        from sciops.evaluation.symmetrised import Symmetrised

        model = Symmetrised(self.model, self.config["training"]["symmetries"]).eval()
        run = Run(model, self.task, self.config, {}, self.history, self.path, self.data)
        run.data_marks = self.data_marks
        scores = {f"test_{k}": v for k, v in run.test_scores(progress=False).items()}
        run.metrics = {**self.metrics, **scores}
        return run

    def rollout(self, data=None, *, steps: int | None = None, split: str = "test") -> "xr.Dataset":
        """Of a forecast: error of every step, stability horizon, energy and spectra.

        steps: frames to predict, also beyond the data; None is as many as they have
        """
        from sciops.evaluation.rollout import rollout

        return rollout(self, self._dataset(data, split), steps=steps)

    def costs(self, *, samples: int = 8) -> "pd.DataFrame":
        """Time per solve beside that of the classical solver, at the model's own error.

        break_even is the number of solves after which data and training have paid off.
        """
        from sciops.evaluation.classical import cost_table

        return cost_table(self, samples=samples)

    def predict(self, x):
        """Targets for inputs: a Dataset for a Dataset, an array (batch, channels, *space) for one.

        An array of the training grid's size is taken to be on it, any other on a uniform grid.
        """
        import xarray as xr

        if isinstance(x, xr.Dataset):
            return labelled_prediction(self.model, x, self.task)
        tensor = x.float() if isinstance(x, Tensor) else torch.from_numpy(np.array(x, np.float32))
        ndim = len(self.task.axes) + 2
        if tensor.ndim != ndim or tensor.shape[1] != self.task.in_channels:
            wanted = (
                f"(batch, {self.task.in_channels}, {', '.join(a.name for a in self.task.axes)})"
            )
            raise ValueError(f"x has the shape {tuple(tensor.shape)}, but it must be {wanted}")
        trained = tuple(tensor.shape[2:]) == tuple(axis.size for axis in self.task.axes)
        coords = coords_of(self.task, trained_grid(self.task)) if trained else None
        y = evaluation.predict(self.model, tensor, coords=coords)
        return y if isinstance(x, Tensor) else y.numpy()

    def plot(self, samples: int | Sequence[int] | None = None) -> "Figure":
        """Input, truth, prediction and error of some test samples."""
        from sciops.plots import fields

        return fields(self, samples=samples)
