"""The same images, made hard for convolutions: permuted, or on a sphere.

    plain               as they are
    permuted            rows and columns in two random orders
    bit-reversed        rows and columns in bit-reversed order, always the same one
    pixels              all pixels in one random order, as permuted MNIST has it for sequences
    spherical           stereographic projection, `sciops.vision.sphere`
    spherical-rotated   the same, each image turned at random

A seed decides what is random; all images, train and test alike, have the same order.  A rotation
depends on the seed and the image's number alone.
"""

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from sciops.suggestions import did_you_mean

from .images import as_tree
from .sphere import BANDWIDTH, on_sphere, random_rotation, sphere_angles

if TYPE_CHECKING:
    import xarray as xr


def bit_reversal(n: int) -> np.ndarray:
    """0 … n − 1 in the order of their bits read backwards.

    If n is no power of two, the order of the next one without the numbers from n on: a permutation
    all the same, but no longer its own inverse.

    >>> bit_reversal(8)
    array([0, 4, 2, 6, 1, 5, 3, 7])
    >>> bit_reversal(6)
    array([0, 4, 2, 1, 5, 3])
    """
    if n < 1:
        raise ValueError(f"n={n!r} must be at least 1")
    bits = (n - 1).bit_length()
    order = [int(f"{k:0{bits}b}"[::-1], 2) if bits else 0 for k in range(2**bits)]
    return np.array([k for k in order if k < n])


def random_orders(sizes: tuple[int, ...], seed: int) -> list[np.ndarray]:
    """A permutation of each size, independent of each other."""
    rng = np.random.default_rng(seed)
    return [rng.permutation(n) for n in sizes]


def reordered(images: np.ndarray, rows: np.ndarray, columns: np.ndarray) -> np.ndarray:
    """out[…, y, x] = images[…, rows[y], columns[x]]."""
    return images[..., rows[:, None], columns]


# -- of a whole split --------------------------------------------------------------------------


def _plain(ds: "xr.Dataset", seed: int) -> "xr.Dataset":
    return ds


def _permuted(ds: "xr.Dataset", seed: int) -> "xr.Dataset":
    images = ds["image"].values
    return _with(ds, reordered(images, *random_orders(images.shape[-2:], seed)))


def _bit_reversed(ds: "xr.Dataset", seed: int) -> "xr.Dataset":
    images = ds["image"].values
    return _with(ds, reordered(images, *map(bit_reversal, images.shape[-2:])))


def _pixels(ds: "xr.Dataset", seed: int) -> "xr.Dataset":
    images = ds["image"].values
    flat = images.reshape(*images.shape[:2], -1)
    (order,) = random_orders(flat.shape[-1:], seed)
    return _with(ds, flat[..., order].reshape(images.shape))


def _spherical(ds: "xr.Dataset", seed: int, *, rotated: bool) -> "xr.Dataset":
    images = ds["image"].values
    if rotated:
        rngs = (np.random.default_rng([seed, number]) for number in ds["sample"].values.tolist())
        turned = [
            on_sphere(image, rotation=random_rotation(rng))
            for image, rng in zip(images, rngs, strict=True)
        ]
        images = np.stack(turned)
    else:
        images = on_sphere(images)
    colatitude, longitude = sphere_angles(BANDWIDTH)
    ends = {"y": "pole to pole", "x": "periodic"}
    points = {"y": np.degrees(colatitude), "x": np.degrees(longitude)}
    return _with(ds.drop_dims(("y", "x")), images, points).assign_attrs(boundary_conditions=ends)


def _with(ds: "xr.Dataset", images: np.ndarray, coords=None) -> "xr.Dataset":
    attrs = {"long_name": "brightness", "units": "1"}
    image = (("sample", "channel", "y", "x"), np.ascontiguousarray(images), attrs)
    return ds.assign_coords(coords or {}).assign(image=image)


VARIANTS: dict[str, Callable[..., "xr.Dataset"]] = {
    "plain": _plain,
    "permuted": _permuted,
    "bit-reversed": _bit_reversed,
    "pixels": _pixels,
    "spherical": partial(_spherical, rotated=False),
    "spherical-rotated": partial(_spherical, rotated=True),
}


def varied(tree: "xr.DataTree", variant: str, *, seed: int = 0) -> "xr.DataTree":
    """Train, val and test in one of the `VARIANTS`; the tree given is left as it is."""
    if variant not in VARIANTS:
        raise ValueError(
            f"there is no variant={variant!r}; there are {', '.join(VARIANTS)}"
            f"{did_you_mean(variant, VARIANTS)}"
        )
    if not isinstance(seed, int) or isinstance(seed, bool) or seed < 0:
        raise ValueError(f"seed={seed!r} must be a whole number ≥ 0")
    done = tree.attrs.get("variant", "plain")
    if done != "plain":
        raise ValueError(f"these images are {done} already; begin with plain ones")
    labels = {} if variant == "plain" else {"variant": variant, "seed": seed}
    made = {
        name: VARIANTS[variant](split.to_dataset(inherit=False), seed).assign_attrs(labels)
        for name, split in tree.children.items()
    }
    return as_tree(made)
