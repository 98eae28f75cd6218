"""Images with classes as labelled data.

    image (sample, channel, y, x)   float32, 0 is black and 1 is white
    label (sample)                  int64, the number of a class

y counts rows from the top, x columns from the left, both in pixels.  `sample` is the image's place
in the files it comes from.
"""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from sciops.task import Axis, Field, Task

if TYPE_CHECKING:
    import xarray as xr

BRIGHTEST = {"uint8": 255, "uint16": 65535, "float32": 1, "float64": 1}  # what is white, by dtype
ROLES = {
    "inputs": [{"variable": "image", "frames": None}],
    "targets": [{"variable": "label", "frames": None}],
}
OPEN = {"y": "open", "x": "open"}


class Labelled(NamedTuple):
    """Images and what they are."""

    images: np.ndarray  # (n, channel, y, x), float32 in [0, 1]
    labels: np.ndarray  # (n,), int64


def as_images(images: Any, labels: Any, what: str, *, brightest: float | None = None) -> Labelled:
    """Arrays of the user as images and labels, checked.

    images:    (n, y, x) or (n, channel, y, x)
    brightest: what is white; None is 255 for uint8, 65535 for uint16 and 1 for floats

    >>> as_images(np.full((2, 8, 8), 255, np.uint8), [0, 3], "mine").images.shape
    (2, 1, 8, 8)
    """
    images, labels = np.asarray(images), np.asarray(labels)
    if images.ndim not in (3, 4) or 0 in images.shape:
        raise ValueError(
            f"{what}: images have the shape {images.shape}, expected (n, y, x) or (n, channel, y, "
            "x) with at least one of each"
        )
    if labels.shape != images.shape[:1] or labels.dtype.kind not in "iu":
        raise ValueError(
            f"{what}: labels have the shape {labels.shape} and the type {labels.dtype}, expected "
            f"whole numbers ({len(images)},), one for each image"
        )
    if brightest is None and images.dtype.name not in BRIGHTEST:
        raise ValueError(
            f"{what}: images of {images.dtype} do not say what is white; give brightest=…, or "
            f"one of {', '.join(BRIGHTEST)}"
        )
    white = BRIGHTEST[images.dtype.name] if brightest is None else brightest
    low, high = images.min(), images.max()
    if not (low >= 0 and high <= white):  # also if there are NaNs
        raise ValueError(
            f"{what}: values reach from {low:g} to {high:g}, expected 0 to {white:g}; give "
            "brightest=…, the value of white"
        )
    if labels.min() < 0:
        raise ValueError(f"{what}: the label {labels.min()} is negative; classes count from 0")
    images = images if images.ndim == 4 else images[:, None]
    scaled = np.divide(images, white, dtype=np.float32, casting="unsafe")
    return Labelled(scaled, labels.astype(np.int64))


def as_dataset(
    data: Labelled, samples: Sequence[int] | np.ndarray, attrs: Mapping[str, Any]
) -> "xr.Dataset":
    """One split; attrs: title, classes, source and so on."""
    import xarray as xr

    _, channels, rows, columns = data.images.shape
    coords = {
        "sample": np.asarray(samples, np.int64),
        **{d: np.arange(n) * 1.0 for d, n in (("channel", channels), ("y", rows), ("x", columns))},
    }
    image = {"long_name": "brightness", "units": "1"}
    variables = {
        "image": (("sample", "channel", "y", "x"), data.images, image),
        "label": ("sample", data.labels, {"long_name": "number of the class", "units": "1"}),
    }
    given = {"name": "vision", "boundary_conditions": OPEN, **ROLES, **attrs}
    return xr.Dataset(variables, coords, given)


def as_tree(splits: Mapping[str, "xr.Dataset"]) -> "xr.DataTree":
    """Splits with the same labels, which the tree has too."""
    import xarray as xr

    root = xr.Dataset(attrs=next(iter(splits.values())).attrs)
    return xr.DataTree.from_dict({"/": root, **splits})


def image_task(ds: "xr.Dataset", *, sequence: bool = False) -> Task:
    """Name the class of an image, or of its pixels one after the other.

    sequence: one axis of y · x steps instead of two
    """
    _check(ds)
    inputs = (Field("image", (0, ds.sizes["channel"])),)
    if sequence:
        axes = (_axis("step", np.arange(ds.sizes["y"] * ds.sizes["x"]), False),)
    else:
        ends = ds.attrs["boundary_conditions"]
        axes = tuple(_axis(d, ds[d].values, ends[d] == "periodic") for d in ("y", "x"))
    return Task("vision", inputs, (Field("label"),), axes, tuple(ds.attrs["classes"]))


def _axis(name: str, points: np.ndarray, periodic: bool) -> Axis:
    step = float(points[1] - points[0]) if len(points) > 1 else 1.0
    length = float(points[-1] - points[0]) + (step if periodic or len(points) == 1 else 0.0)
    return Axis(name, tuple(map(float, points)), periodic, length)


def _check(ds: "xr.Dataset") -> None:
    missing = [v for v in ("image", "label") if v not in ds] or [
        a for a in ("classes", "boundary_conditions") if a not in ds.attrs
    ]
    if missing or ds["image"].dims != ("sample", "channel", "y", "x"):
        lack = f"it lacks {', '.join(missing)}" if missing else f"image is {ds['image'].dims}"
        raise ValueError(
            f"no data set of images and classes: {lack}; make one with sciops.read('vision', …)"
        )
