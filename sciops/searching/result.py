"""What a search found, and what it took: kept as safetensors, JSON and CSV, nothing pickled."""

import shutil
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from torch import Tensor, nn

from sciops.atomic import write_text
from sciops.checkpoint import CheckpointError, load_model, save_model

from .relaxation import ATTRIBUTE
from .search_folder import FILE
from .space import AbstractSpace, Architecture, freeze, install
from .spaces import make_space
from .strategies import AbstractStrategy, make_strategy

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

TABLES = ("trials", "history", "distances")


@dataclass
class SearchResult:
    """A found architecture with the evidence for it.

    architecture: {name of a parameter: tensor}
    sample:       an input of the networks of this search, (1, channel, *space)
    trials:       a row for each network that was judged, controls included; `val` and `test` are
                  means of the metric, the less the better; only `val` chooses
    history:      a row for each epoch of each training
    distances:    how far each layer was from the start after each epoch of the search
    notes:        how it was trained, and `left`, the layers that were left as they are, and why
    model:        the network of the best trial, None if it was loaded without a model_factory
    path:         the folder it is kept in, if it is
    """

    space: AbstractSpace
    strategy: AbstractStrategy
    architecture: Architecture
    sample: Tensor
    trials: "pd.DataFrame"
    history: "pd.DataFrame"
    distances: "pd.DataFrame"
    model: nn.Module | None = None
    notes: dict[str, Any] = field(default_factory=dict)
    path: Path | None = None

    def __repr__(self) -> str:
        best, where = self.best, "" if self.path is None else f", {self.path}"
        what = f"{self.space.name} by {self.strategy.name}, best {best['trial']}"
        return f"SearchResult({what}: val {best['val']:.4g}, test {best['test']:.4g}{where})"

    @property
    def best(self) -> "pd.Series":
        """The trial of the search with the least validation metric."""
        found = self.trials[self.trials["role"] == "search"]
        return found.loc[found["val"].idxmin()]

    @property
    def won(self) -> bool:
        """Whether the best trial is better than all controls, by the validation data."""
        controls = self.trials[self.trials["role"] == "control"]
        return bool((controls["val"] > self.best["val"]).all())

    @property
    def cost(self) -> dict[str, float]:
        """Epochs and seconds of training, of the search, of what came after it and of controls."""
        parts = {"search": [], "offline": [], "control": []}
        for name, rows in self.history.groupby("training", sort=False):
            kind = {"backbone": "control", "random-member": "control"}.get(name, "search")
            parts["offline" if name == "offline" else kind].append(rows)
        cost = {}
        for part, tables in parts.items():
            cost[f"{part}_epochs"] = sum(map(len, tables))
            cost[f"{part}_seconds"] = float(sum(t["seconds"].sum() for t in tables))
        return cost

    def apply(self, model: nn.Module, sample: Tensor | None = None) -> nn.Module:
        """A copy of a model with the architecture found, frozen; its weights are the model's.

        The model may be another one, for another task, if its layers work on grids of the same
        size; to be of use, its weights are trained.

        sample: an input of the model; None is that of the search
        """
        return self.space.member(
            model, self.sample if sample is None else sample, self.architecture
        )

    def layers(self) -> "pd.DataFrame":
        """What each layer of the best network has become, and how far it moved."""
        import pandas as pd

        last = self.distances.groupby("layer", sort=False)["distance"].last()
        known = {} if self.model is None else self.space.described(self.model)
        rows = [
            {"layer": name, "distance": distance} | ({"is": known[name]} if name in known else {})
            for name, distance in last.items()
        ]
        return pd.DataFrame(rows, columns=["layer", "distance", "is"])

    def searched(self) -> dict[str, tuple[nn.Module, tuple[int, ...]]]:
        """The layers of the best network that were changed, and the size of the grid of each.

        There are none in a space that replaces the whole network.
        """
        report = None if self.model is None else vars(self.model).get(ATTRIBUTE)
        changed = [row for row in (() if report is None else report.rows) if row.changed]
        return {row.name: (self.model.get_submodule(row.name), row.size) for row in changed}

    def plot(self) -> "Figure":
        """How far each layer moved in the course of the search."""
        from sciops.plots.search import distance_curves

        return distance_curves(self.distances)

    def report(self, path: str | Path | None = None) -> Path:
        """Write one page with everything; its path. None is report.html in the folder."""
        from sciops.reporting.search_report import write_search_report

        return write_search_report(self, path)

    def save(self, folder: str | Path) -> Path:
        """Keep all of it in a folder; another result there ends to be one before this one is."""
        before, self.path = self.path, Path(folder)
        folder = self.path
        for name in TABLES:
            (folder / f"{name}.csv").unlink(missing_ok=True)
        if self.model is None and before != folder:
            shutil.rmtree(folder / "best", ignore_errors=True)
        about = {**self.strategy.as_dict(), "space": self.space.as_dict(), "notes": self.notes}
        tensors = {"sample": self.sample, **{f"a/{n}": t for n, t in self.architecture.items()}}
        save_model(folder / "architecture", tensors, about)
        if self.model is not None:
            state = {n: t.contiguous() for n, t in self.model.state_dict().items()}
            save_model(folder / "best", state, {"trial": str(self.best["trial"])})
        for name in TABLES:
            write_text(folder / f"{name}.csv", getattr(self, name).to_csv(index=False))
        return folder


def load_search(
    folder: str | Path, model_factory: Callable[[], nn.Module] | None = None
) -> SearchResult:
    """The result that `save` kept.

    model_factory: makes the network that was searched around; without it `.model` is None
    """
    folder, network = Path(folder), None if model_factory is None else model_factory()
    _expect_finished(folder)
    try:
        return _loaded(folder, network)
    except CheckpointError:
        raise
    except (LookupError, TypeError, ValueError, RuntimeError, AttributeError, OSError) as e:
        raise CheckpointError(
            f"{folder} is not a search that this version of sciops can open ({e}); copy the whole "
            "folder again, search again, or give the model_factory of this search"
        ) from e


def _loaded(folder: Path, network: nn.Module | None) -> SearchResult:
    import pandas as pd

    tensors, about = load_model(folder / "architecture")
    space = make_space(**about.pop("space"))
    notes, sample = about.pop("notes"), tensors.pop("sample")
    architecture = {name.removeprefix("a/"): tensor for name, tensor in tensors.items()}
    tables = {name: pd.read_csv(folder / f"{name}.csv") for name in TABLES}
    result = SearchResult(space, make_strategy(**about), architecture, sample, **tables)
    result.notes, result.path = notes, folder
    if network is not None:
        result.model = _network(result, network)
        result.model.load_state_dict(load_model(folder / "best")[0])
    return result


def _expect_finished(folder: Path) -> None:
    """The tables are written last."""
    if all((folder / f"{name}.csv").is_file() for name in TABLES):
        return
    if (folder / FILE).is_file():
        raise ValueError(
            f"{folder} is a search that was not finished; call the same search again to finish it"
        )
    if (folder / "architecture").is_dir():
        raise ValueError(f"the result in {folder} was not finished being saved; save it again")
    raise ValueError(f"{folder} is not a search: it has no {FILE}; give the folder of one")


def _network(result: SearchResult, model: nn.Module) -> nn.Module:
    """Of the kind that the best trial has: the supernet itself, or a member."""
    if result.best["evaluation"] == "supernet":
        supernet = result.space.supernet(model, result.sample)
        return freeze(install(supernet, result.architecture))
    return result.apply(model)
