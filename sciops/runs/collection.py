"""Data of a run that are no fields of an equation: synthetic or given, with train, val and test.

What was used is described in the run's configuration, so that a run opened later finds the same
data again, or can say that they have changed.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from sciops.catalogue import load
from sciops.data.schema import digest
from sciops.data.store import SPLITS

from .data import whole
from .run import AbstractRun

if TYPE_CHECKING:
    import xarray as xr


@dataclass(frozen=True)
class Collection:
    """A kind of data, and how messages speak of it.

    name:    of sciops.load
    sample:  the dimension that counts samples
    counts:  of synthetic samples, by split, where none are asked for
    usual:   the other settings of synthetic samples, as sciops.load takes them
    opened:  what is given, but for a tree, as a tree; None if it is nothing of the kind
    wanted:  what may be given, in words
    samples: those of a split
    checked: a sample that is given by itself, named in the second argument
    things, them: what was given, in words; made: what there is where nothing is given
    synthetic: whether that was made up
    """

    name: str
    sample: str
    counts: Mapping[str, int]
    usual: Mapping[str, Any]
    opened: Callable[[Any], "xr.DataTree | None"]
    wanted: str
    samples: Callable[["xr.Dataset"], list]
    checked: Callable[[Any, str], Any]
    things: str
    made: str
    them: str = "them"
    synthetic: bool = True

    def chosen(
        self, data, counts: Mapping[str, int | None], *, progress: bool, **how
    ) -> tuple["xr.DataTree", dict[str, Any]]:
        """Train, val and test, and their description; data=None makes synthetic ones.

        counts, how: of synthetic samples; None is the usual
        """
        asked = {f"n_{split}": whole(n, f"n_{split}") for split, n in counts.items()} | how
        if data is None:
            usual = {**{f"n_{split}": n for split, n in self.counts.items()}, **self.usual}
            how = {name: usual[name] if v is None else v for name, v in asked.items()}
            return self._synthetic({"seed": 0, **how}, progress)
        if any(value is not None for value in asked.values()):
            *names, last = asked
            made = f"synthetic {self.made}" if self.synthetic else self.made
            raise ValueError(
                f"{', '.join(names)} and {last} are for {made}; the data that are given have their "
                "own"
            )
        return self._given(data)

    def _synthetic(
        self, how: Mapping[str, Any], progress: bool
    ) -> tuple["xr.DataTree", dict[str, Any]]:
        how = {name: list(v) if isinstance(v, tuple) else v for name, v in how.items()}
        return load(self.name, **how, progress=progress), {**how, "synthetic": self.synthetic}

    def _given(self, data) -> tuple["xr.DataTree", dict[str, Any]]:
        tree = self.as_tree(data)
        missing = [split for split in SPLITS if split not in tree.children]
        if missing:
            raise ValueError(
                f"the data have no split {' and no '.join(missing)}, only "
                f"{', '.join(tree.children) or 'none'}; give train, val and test, as "
                f"sciops.read({self.name!r}, …) makes them"
            )
        numbers = {f"n_{split}": tree[split].sizes[self.sample] for split in SPLITS}
        origin = str(Path(data).resolve()) if isinstance(data, str | Path) else None
        return tree, numbers | {"given": origin, "fingerprint": fingerprint(tree)}

    def as_tree(self, data) -> "xr.DataTree":
        """A tree as it is, and whatever else may be given as one."""
        import xarray as xr

        tree = data if isinstance(data, xr.DataTree) else self.opened(data)
        if tree is None:
            raise ValueError(f"data={type(data).__name__} must be {self.wanted}")
        return tree

    def again(self, description: Mapping[str, Any]) -> "xr.DataTree":
        """The data of a run that was opened, by their description."""
        if "fingerprint" not in description:
            how = {name: v for name, v in description.items() if name != "synthetic"}
            return self._synthetic(how, True)[0]
        if description["given"] is None:
            raise ValueError(
                f"this run was trained on {self.things} given to it and not kept with it; give "
                f"{self.them} again: run.data = tree; to judge it on other {self.things}: "
                "run.evaluate(data)"
            )
        tree, found = self._given(description["given"])
        if found["fingerprint"] != description["fingerprint"]:
            raise ValueError(
                f"{description['given']} has changed since this run was trained on it; give the "
                "data you mean: run.evaluate(data)"
            )
        return tree

    def expect_same(self, tree: "xr.DataTree", description: Mapping[str, Any]) -> None:
        """That the data are those of a description, as far as it can be known."""
        expected = description.get("fingerprint")
        if expected is not None and expected != fingerprint(tree):
            raise ValueError(
                f"the data are other {self.things} than when this run was trained; judge it on "
                "those you mean: run.evaluate(data)"
            )

    def samples_in(self, data, split: str) -> list:
        """The samples of a list, or of a split of whatever may be given."""
        if isinstance(data, list | tuple):
            return [self.checked(one, f"{self.sample} {k}") for k, one in enumerate(data)]
        return self.samples(self.split_in(data, split))

    def split_in(self, data, split: str) -> "xr.Dataset":
        """A split of whatever may be given."""
        tree = self.as_tree(data)
        if split not in tree.children:
            known = ", ".join(tree.children)
            raise ValueError(f"the data have no split {split!r}; they have {known}")
        return tree[split].to_dataset()


def fingerprint(tree: "xr.DataTree") -> str:
    """Of all numbers, whatever they are stored in."""
    parts = []
    for split in SPLITS:
        ds = tree[split].to_dataset()
        for name in sorted(map(str, ds.data_vars)):
            values = np.ascontiguousarray(ds[name].values)
            parts += [split, name, str(values.dtype), digest(values.tobytes())]
    return digest("\n".join(parts).encode())


class CollectionRun(AbstractRun):
    """A run on such data; kinds of it say which."""

    collection: Collection

    def _data_again(self) -> "xr.DataTree":
        return self.collection.again(self.config["data"])

    def _own(self, tree: "xr.DataTree") -> "xr.DataTree":
        self.collection.expect_same(tree, self.config["data"])
        return tree

    def samples(self, split: str, data=None) -> list:
        """The samples of a split of the run's data, or of those that are given."""
        return self.collection.samples_in(self.data if data is None else data, split)
