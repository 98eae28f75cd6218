"""Images on the sphere: where they lie, what rotations do to them, and what stays."""

import numpy as np
import pytest

from sciops.vision.sphere import (
    HALF_WIDTH,
    on_sphere,
    random_rotation,
    sphere_angles,
    sphere_points,
)

B = 16
IMAGE = np.random.default_rng(0).random((2, 3, 12, 12))


def about_z(angle: float) -> np.ndarray:
    c, s = np.cos(angle), np.sin(angle)
    return np.array([[c, -s, 0], [s, c, 0], [0, 0, 1]])


HEADLONG = np.diag([1.0, -1.0, -1.0])  # half a turn about x: north becomes south


def test_the_grid():
    colatitude, longitude = sphere_angles(2)
    np.testing.assert_allclose(colatitude, np.pi * np.array([1, 3, 5, 7]) / 8)
    np.testing.assert_allclose(longitude, np.pi * np.arange(4) / 2)
    points = sphere_points(2)
    np.testing.assert_allclose((points**2).sum(0), 1)
    np.testing.assert_allclose(
        points[:, 1, 1], [0, np.sin(3 * np.pi / 8), np.cos(3 * np.pi / 8)], atol=1e-15
    )
    with pytest.raises(ValueError, match="bandwidth=0 must be a whole number ≥ 1"):
        sphere_angles(0)


def test_constants_stay_constant_where_the_image_is():
    out = on_sphere(np.full((7, 9), 0.3), bandwidth=B)
    x, y, z = sphere_points(B)
    inside = (np.abs(x / (1 - z)) <= HALF_WIDTH) & (np.abs(y / (1 - z)) <= HALF_WIDTH)
    np.testing.assert_allclose(out[inside], 0.3)
    assert not out[~inside].any() and 0.2 < inside.mean() < 0.5


def test_a_value_worked_out_by_hand():
    """β = 5π/8, α = 0: u = sin β / (1 − cos β) = cot(5π/16), v = 0, between rows 0 and 1 of 2."""
    ramp = np.array([[0.0, 1.0], [2.0, 3.0]])
    u = 1 / np.tan(5 * np.pi / 16)
    column = min((u / 0.75 + 1) / 2 * 2 - 0.5, 1.0)
    expected = 0.5 * 2 + column * 1  # half way down, so far across
    assert on_sphere(ramp, bandwidth=2)[2, 0] == pytest.approx(expected)


def test_linear_functions_are_exact_inside():
    """f = u, sampled on pixels and projected, is u of every point away from the rim."""
    n = 40
    centres = (2 * (np.arange(n) + 0.5) / n - 1) * HALF_WIDTH
    out = on_sphere(np.tile(centres, (n, 1)), bandwidth=B)
    x, y, z = sphere_points(B)
    u, v = x / (1 - z), y / (1 - z)
    middle = np.maximum(np.abs(u), np.abs(v)) < HALF_WIDTH * (1 - 1 / n)
    np.testing.assert_allclose(out[middle], u[middle], atol=1e-12)


def test_energy_lies_in_the_south_and_turns_to_the_north():
    image = np.zeros((20, 20))
    image[4:16, 4:16] = 1  # as digits: the corners are empty
    out = on_sphere(image, bandwidth=B)
    assert out[B:].sum() > 0 and not out[:B].any()
    turned = on_sphere(image, bandwidth=B, rotation=HEADLONG)
    assert turned[:B].sum() > 0 and not turned[B:].any()
    np.testing.assert_allclose(turned, out[::-1, -np.arange(2 * B)], atol=1e-12)


def test_no_rotation_is_the_identity():
    same = on_sphere(IMAGE, bandwidth=B, rotation=np.eye(3))
    np.testing.assert_array_equal(same, on_sphere(IMAGE, bandwidth=B))


@pytest.mark.parametrize("steps", [1, 5])
def test_turns_about_the_axis_shift_longitudes(steps):
    smooth = np.outer(np.hanning(12), np.hanning(12))  # black at the rim, where rounding decides
    turned = on_sphere(smooth, bandwidth=B, rotation=about_z(np.pi * steps / B))
    np.testing.assert_allclose(
        turned, np.roll(on_sphere(smooth, bandwidth=B), steps, -1), atol=1e-9
    )


def test_rotations_compose_and_are_spread_evenly():
    rng = np.random.default_rng(0)
    many = np.stack([random_rotation(rng) for _ in range(4000)])
    np.testing.assert_allclose(
        many @ many.transpose(0, 2, 1), np.broadcast_to(np.eye(3), many.shape), atol=1e-12
    )
    np.testing.assert_allclose(np.linalg.det(many), 1)
    assert np.abs(many.mean(0)).max() < 0.05  # ± 1/√(3 · 4000) expected
    np.testing.assert_allclose((many**2).mean(0), 1 / 3, atol=0.03)


def test_leading_axes_and_types_stay():
    out = on_sphere(IMAGE.astype(np.float32), bandwidth=B)
    assert out.shape == (2, 3, 2 * B, 2 * B) and out.dtype == np.float32
    np.testing.assert_array_equal(out[1, 2], on_sphere(IMAGE[1, 2].astype(np.float32), bandwidth=B))
    assert out.min() >= 0 and out.max() <= 1
