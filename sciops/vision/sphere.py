"""Images on the sphere, and the sphere as an image again: spherical MNIST (Cohen et al. 2018).

The image is put around the south pole by stereographic projection from the north pole,

    p = (sin β cos α, sin β sin α, cos β)      (u, v) = (p_x, p_y) / (1 − p_z)

so that the equator is the circle u² + v² = 1.  The image is the square |u|, |v| ≤ 0.75 (as
published), u to the right and v downwards; its corners reach a little past the equator.  Outside it
the sphere is black.  What comes back is the sphere on the grid of Driscoll and Healy,

    βⱼ = π (2j + 1) / 4b        αₖ = π k / b        j, k = 0 … 2b − 1

with b the bandwidth: rows are colatitudes from north to south, columns longitudes, a period.  A
rotation R of the sphere gives f(R⁻¹ p) instead of f(p).  Between pixels f is bilinear.

Published: b = 30, one random rotation for 500 images in turn, each image stretched to its full
range.  Here each image has its own rotation, and brightness stays as it is.
"""

import numpy as np

HALF_WIDTH = 0.75  # of the image, the radius of the equator being 1
BANDWIDTH = 30


def sphere_angles(bandwidth: int) -> tuple[np.ndarray, np.ndarray]:
    """β and α of the grid, (2b,) each."""
    if not isinstance(bandwidth, int) or isinstance(bandwidth, bool) or bandwidth < 1:
        raise ValueError(f"bandwidth={bandwidth!r} must be a whole number ≥ 1")
    steps = np.arange(2 * bandwidth)
    return np.pi * (2 * steps + 1) / (4 * bandwidth), np.pi * steps / bandwidth


def sphere_points(bandwidth: int) -> np.ndarray:
    """p on the grid, (3, 2b, 2b)."""
    colatitude, longitude = sphere_angles(bandwidth)
    sine = np.sin(colatitude)[:, None]
    height = np.broadcast_to(np.cos(colatitude)[:, None], (len(sine), len(longitude)))
    return np.stack([sine * np.cos(longitude), sine * np.sin(longitude), height])


def random_rotation(rng: np.random.Generator) -> np.ndarray:
    """A rotation (3, 3), all equally likely: that of a random unit quaternion.

    >>> R = random_rotation(np.random.default_rng(0))
    >>> np.allclose(R @ R.T, np.eye(3)), float(np.linalg.det(R).round(6))
    (True, 1.0)
    """
    w, x, y, z = (q := rng.normal(size=4)) / np.linalg.norm(q)
    return np.array(
        [
            [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
            [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
            [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)],
        ]
    )


def on_sphere(
    images: np.ndarray, *, bandwidth: int = BANDWIDTH, rotation: np.ndarray | None = None
) -> np.ndarray:
    """Images (…, y, x) as functions on the sphere, (…, 2b, 2b), all rotated by R or not at all."""
    points = sphere_points(bandwidth)
    if rotation is not None:
        points = np.einsum("ij,jab->iab", np.asarray(rotation).T, points)  # R⁻¹ p
    below = np.maximum(1 - points[2], 1e-12)  # the north pole itself is infinitely far away
    u, v = points[0] / below, points[1] / below
    inside = (np.abs(u) <= HALF_WIDTH) & (np.abs(v) <= HALF_WIDTH)
    rows, columns = images.shape[-2:]
    y, x = ((t[inside] / HALF_WIDTH + 1) / 2 * n - 0.5 for t, n in ((v, rows), (u, columns)))
    out = np.zeros((*images.shape[:-2], *inside.shape), images.dtype)
    out[..., inside] = _bilinear(images, y, x)
    return out


def _bilinear(images: np.ndarray, y: np.ndarray, x: np.ndarray) -> np.ndarray:
    """Values at the points (y, x), in pixels; beyond the outermost centres, those of the edge."""
    rows, columns = images.shape[-2:]
    (top, bottom, down), (left, right, across) = _between(y, rows), _between(x, columns)
    upper = images[..., top, left] * (1 - across) + images[..., top, right] * across
    lower = images[..., bottom, left] * (1 - across) + images[..., bottom, right] * across
    return (upper * (1 - down) + lower * down).astype(images.dtype)


def _between(t: np.ndarray, n: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The pixels before and behind, and how far it is from the first to the second."""
    t = np.clip(t, 0, n - 1)
    before = np.floor(t).astype(int)
    return before, np.minimum(before + 1, n - 1), t - before
