"""Task: what is predicted from what, on which axes.  Batch: the tensors a network sees.

A Task is read once from a store's metadata and flows forward only: it sizes a backbone, says which
axes are periodic and which variables are inputs.
"""

from dataclasses import asdict, dataclass
from typing import Any, NamedTuple

from torch import Tensor


@dataclass(frozen=True)
class Axis:
    """A spatial axis of a grid, in physical units."""

    name: str
    points: tuple[float, ...]  # increasing
    periodic: bool
    length: float  # of the period, or of the domain, which begins at the first point

    @property
    def size(self) -> int:
        return len(self.points)

    @property
    def extent(self) -> float:
        """That the points cover: a period, or between the end points."""
        return self.length if self.periodic else self.points[-1] - self.points[0]

    @property
    def ends_early(self) -> bool:
        """Whether the last point lies before the end of the domain."""
        return self.extent < (1 - 1e-6) * self.length


@dataclass(frozen=True)
class Field:
    """A variable of the store, or some of its frames: (start, stop), without the last."""

    variable: str
    frames: tuple[int, int] | None = None

    @property
    def channels(self) -> int:
        return 1 if self.frames is None else self.frames[1] - self.frames[0]


@dataclass(frozen=True)
class Task:
    """Predict the targets from the inputs, both fields on the same axes, or the class of a sample.

    classes: what a sample may be; if there are any, the target is the number of one of them
    """

    name: str
    inputs: tuple[Field, ...]
    targets: tuple[Field, ...]
    axes: tuple[Axis, ...]
    classes: tuple[str, ...] = ()

    @property
    def in_channels(self) -> int:
        return sum(field.channels for field in self.inputs)

    @property
    def out_channels(self) -> int:
        """Of the target field, or a score for each class."""
        return len(self.classes) or sum(field.channels for field in self.targets)


class Batch(NamedTuple):
    """Samples as tensors; frames of time are channels."""

    x: Tensor  # (batch, in_channels, *space)
    y: Tensor  # (batch, out_channels, *space), or classes (batch,)


def task_as_dict(task: Task) -> dict[str, Any]:
    """As JSON holds it.

    >>> axes = (Axis("x", (0.0, 0.5), True, 1.0),)
    >>> task = Task("demo", (Field("u", (0, 2)),), (Field("u", (2, 3)),), axes)
    >>> task_from(task_as_dict(task)) == task
    True
    >>> digits = Task("digits", (Field("pixel"),), (Field("class"),), axes, ("zero", "one"))
    >>> task_from(task_as_dict(digits)) == digits, digits.out_channels
    (True, 2)
    """
    values = _with_lists(asdict(task))
    if not task.classes:
        del values["classes"]  # files of fields are as they were before there were classes
    return values


def task_from(values: dict[str, Any]) -> Task:
    """The task that `task_as_dict` wrote."""
    try:
        return _task(values)
    except (KeyError, IndexError, TypeError, AttributeError) as error:
        raise ValueError(f"this is no task ({error}); give what task_as_dict wrote") from error


def _task(values: dict[str, Any]) -> Task:
    inputs, targets = (
        tuple(Field(f["variable"], f["frames"] and tuple(f["frames"])) for f in values[role])
        for role in ("inputs", "targets")
    )
    axes = tuple(Axis(**{**axis, "points": tuple(axis["points"])}) for axis in values["axes"])
    classes = tuple(values.get("classes", ()))
    return Task(values["name"], inputs, targets, axes, classes)


def _with_lists(value: Any) -> Any:
    """Tuples as the lists that JSON gives back."""
    if isinstance(value, dict):
        return {name: _with_lists(one) for name, one in value.items()}
    return [_with_lists(one) for one in value] if isinstance(value, list | tuple) else value
