"""Inpainting: pixels that are not wanted, from those around them.

A masked pixel becomes the median of the known ones among the 5 × 5 around it.  Where a hole is
wider, its rim is known then and the next pixels are filled from it, and so on; what is left after
some rounds, in holes as large as a tile, takes the value of the nearest known pixel.
"""

import numpy as np

RADIUS = 2
ROUNDS = 16  # fill holes of up to 64 pixels across
AT_ONCE = 500_000  # pixels whose neighbourhoods are in memory together


def inpaint(image: np.ndarray, mask: np.ndarray, unknown: np.ndarray | None = None) -> np.ndarray:
    """A copy of an image (h, w) with its masked pixels filled, in the image's own type.

    Pixels that are unknown or not finite are neither used nor, unless masked, changed.
    """
    image, mask = np.asarray(image), np.asarray(mask, dtype=bool)
    if image.ndim != 2 or image.shape != mask.shape:
        raise ValueError(
            f"expected an image (h, w) and a mask of its shape, got {image.shape} and {mask.shape}"
        )
    filled = np.array(image, dtype=image.dtype.newbyteorder("="))
    if not mask.any():
        return filled
    known = np.isfinite(image) & ~mask
    if unknown is not None:
        known &= ~np.asarray(unknown, bool)
    if not known.any():
        raise ValueError(
            "no pixel is left to fill the masked ones from; raise the threshold, or leave out "
            "this image"
        )
    values = _filled_values(filled, known, mask)
    if np.issubdtype(filled.dtype, np.integer):
        values = np.rint(values)
    filled[mask] = values
    return filled


def _filled_values(image: np.ndarray, known: np.ndarray, mask: np.ndarray) -> np.ndarray:
    """Of the masked pixels, in the order of `image[mask]`."""
    floating = np.promote_types(image.dtype, np.float32)
    canvas = np.full([n + 2 * RADIUS for n in image.shape], np.nan, floating)
    inside = canvas[RADIUS:-RADIUS, RADIUS:-RADIUS]
    inside[known] = image[known]
    rows, columns = np.nonzero(mask)
    places = (rows + RADIUS) * canvas.shape[1] + columns + RADIUS
    left, flat = places, canvas.reshape(-1)
    for _ in range(ROUNDS):
        medians = _medians(flat, left, canvas.shape[1])
        found = ~np.isnan(medians)
        flat[left[found]] = medians[found]
        left = left[~found]
        if not len(left) or not found.any():
            break
    if len(left):
        _take_nearest(inside)
    return flat[places]


def _medians(flat: np.ndarray, places: np.ndarray, width: int) -> np.ndarray:
    """Of the known values around each place; NaN if there are none."""
    steps = np.arange(-RADIUS, RADIUS + 1)
    around = (steps[:, None] * width + steps).ravel()
    parts = np.array_split(places, max(1, -(-len(places) // AT_ONCE)))
    return np.concatenate([_median_of_known(flat[part[:, None] + around]) for part in parts])


def _median_of_known(values: np.ndarray) -> np.ndarray:
    """Of each row, NaN being unknown.

    >>> _median_of_known(np.array([[3.0, np.nan, 1.0], [np.nan, np.nan, np.nan]]))
    array([ 2., nan])
    """
    values = np.sort(values, axis=1)  # NaN are last
    count = values.shape[1] - np.isnan(values).sum(1)
    middle = np.stack([np.maximum(count - 1, 0) // 2, count // 2], 1)
    middle = np.minimum(middle, values.shape[1] - 1)
    return np.take_along_axis(values, middle, 1).mean(1, dtype=values.dtype)


def _take_nearest(values: np.ndarray) -> None:
    """Give every NaN the value of the nearest number, in place."""
    from scipy.ndimage import distance_transform_edt

    unknown = np.isnan(values)
    nearest = distance_transform_edt(unknown, return_distances=False, return_indices=True)
    values[unknown] = values[tuple(axis[unknown] for axis in nearest)]
