"""From labelled data to tensors: what fits in memory becomes one tensor per side of the task.

xarray is the interface, not the inner loop: labels are read once, batches are gathered from
contiguous memory by `__getitems__`, a whole batch at a time.
"""

import operator
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
import torch
from torch import Tensor
from torch.utils.data import DataLoader, Dataset

from sciops.memory import expect_memory
from sciops.task import Axis, Batch, Field, Task

if TYPE_CHECKING:
    import xarray as xr

NOT_SPACE = ("sample", "time")


def task_of(ds: "xr.Dataset") -> Task:
    """What the metadata of a data set declare: inputs, targets and the axes they live on."""
    inputs, targets = (_fields(ds, role) for role in ("inputs", "targets"))
    dims = [d for d in ds[inputs[0].variable].dims if d not in NOT_SPACE]
    for field in (*inputs, *targets):
        space = [d for d in ds[field.variable].dims if d not in NOT_SPACE]
        if space != dims:
            raise ValueError(
                f"{field.variable!r} has the axes {space}, {inputs[0].variable!r} has {dims}; "
                "inputs and targets must share their grid"
            )
    boundaries = ds.attrs.get("boundary_conditions", {})
    if not isinstance(boundaries, Mapping):
        raise ValueError(
            f"attrs['boundary_conditions'] are {boundaries!r:.200}; expected {{'x': 'periodic'}}"
        )
    axes = tuple(_axis(ds, dim, boundaries.get(dim) == "periodic") for dim in dims)
    return Task(ds.attrs.get("name", "data"), inputs, targets, axes)


def _fields(ds: "xr.Dataset", role: str) -> tuple[Field, ...]:
    declared = ds.attrs.get(role)
    if not declared:
        raise ValueError(
            f"the data do not say what their {role} are; set attrs[{role!r}] = "
            '[{"variable": "a", "frames": None}], or use sciops.from_arrays'
        )
    fields = []
    for variable, frames in _declared(declared, role):
        if variable not in ds:
            known = ", ".join(map(str, ds.data_vars))
            raise ValueError(f"attrs[{role!r}] name {variable!r}, but the variables are {known}")
        if frames is not None and not 0 <= frames[0] < frames[1] <= ds.sizes["time"]:
            raise ValueError(
                f"attrs[{role!r}] ask for the frames {list(frames)} of {variable!r}, "
                f"which has {ds.sizes['time']}"
            )
        fields.append(Field(variable, frames))
    return tuple(fields)


def _declared(entries, role: str) -> list[tuple[str, tuple[int, int] | None]]:
    """Variables and their frames, as attributes of a store say them."""
    try:
        pairs = [(entry["variable"], entry.get("frames")) for entry in entries]
        return [(str(v), None if f is None else _two(f)) for v, f in pairs]
    except (TypeError, KeyError, IndexError, AttributeError):
        raise ValueError(
            f"attrs[{role!r}] are {entries!r:.200}; expected a list such as "
            '[{"variable": "u", "frames": [0, 10]}]'
        ) from None


def _two(frames) -> tuple[int, int]:
    return operator.index(frames[0]), operator.index(frames[1])


def _axis(ds: "xr.Dataset", dim: str, periodic: bool) -> Axis:
    points = np.asarray(ds[dim].values, float)
    extent = points[-1] - points[0]
    spacing = extent / (len(points) - 1) if len(points) > 1 else 1.0
    length = extent + spacing if periodic else ds[dim].attrs.get("length", extent)
    return Axis(dim, tuple(points.tolist()), periodic, float(length))


def variables_of(task: Task) -> list[str]:
    """The variables a task needs."""
    return sorted({field.variable for field in (*task.inputs, *task.targets)})


def as_batch(variables: Mapping[str, Tensor], task: Task) -> Batch:
    """Variables (n, [time,] *space) as channels of the two sides of a task, in float32."""
    return Batch(*(_channels(variables, side) for side in (task.inputs, task.targets)))


def _channels(variables: Mapping[str, Tensor], fields: Sequence[Field]) -> Tensor:
    parts = [
        variables[f.variable].unsqueeze(1)
        if f.frames is None
        else variables[f.variable][:, slice(*f.frames)]
        for f in fields
    ]
    one = parts[0] if len(parts) == 1 else torch.cat(parts, 1)
    return one.float().contiguous()


def memory_bytes(ds: "xr.Dataset", task: Task) -> int:
    """Of samples in memory, while they are being brought there: as they are, and as tensors.

    >>> import xarray as xr
    >>> from sciops.task import Field
    >>> ds = xr.Dataset({"a": (("sample", "x"), np.zeros((10, 8), np.float32))})
    >>> memory_bytes(ds, Task("toy", (Field("a"),), (Field("a"),), ()))  # there once already
    320
    """
    return sum(
        ds[name].nbytes * (1 if isinstance(ds[name].variable._data, np.ndarray) else 2)
        for name in variables_of(task)
    )


class MemorySamples(Dataset):
    """Samples in two tensors; a list of indices gives a `Batch`."""

    def __init__(self, ds: "xr.Dataset", task: Task | None = None):
        self.task = task_of(ds) if task is None else task
        names = variables_of(self.task)
        expect_memory(
            memory_bytes(ds, self.task),
            f"to have {ds.sizes.get('sample', 1)} samples in memory",
            "take fewer of them or a coarser grid; training reads what it is given as the path of "
            "a store from there",
        )
        self.x, self.y = as_batch({n: torch.tensor(ds[n].values) for n in names}, self.task)

    def __len__(self) -> int:
        return len(self.x)

    def __getitem__(self, index: int) -> Batch:
        return Batch(self.x[index], self.y[index])

    def __getitems__(self, indices: Sequence[int]) -> Batch:
        chosen = torch.as_tensor(indices)
        return Batch(self.x.index_select(0, chosen), self.y.index_select(0, chosen))


def batches(
    samples: Dataset, batch_size: int, *, shuffle: bool = False, seed: int = 0, workers: int = 0
) -> DataLoader:
    """A loader of `Batch`es; the order of a shuffled one depends on the seed alone."""
    generator = torch.Generator().manual_seed(seed)
    return DataLoader(
        samples,
        batch_size=batch_size,
        shuffle=shuffle,
        generator=generator,
        collate_fn=as_it_is,
        num_workers=workers,
        multiprocessing_context="forkserver" if workers else None,
        persistent_workers=workers > 0,
    )


def as_it_is(batch: Batch) -> Batch:
    """What a loader does with the batch that `__getitems__` made: nothing."""
    return batch
