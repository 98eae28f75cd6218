"""Where points are on the training domain: uniform grids of it, parts of it, and none of it."""

import numpy as np
import pytest
import torch

from sciops.data.samples import task_of
from sciops.evaluation.grids import evenly_spaced, geometry, trained_grid
from tests.grid_toy import X_PERIOD, Y_FIRST, Y_LENGTH, closed_line, line, plane


def coords_of(training, ds):
    return geometry(task_of(training), ds)["coords"]


@pytest.mark.parametrize("n", [8, 9, 16, 33])
def test_uniform_grids_of_the_domain_need_no_coordinates(n):
    assert geometry(task_of(line(16)), line(n)) == {
        "coords": None,
        "periodic": (True,),
        "lengths": pytest.approx((X_PERIOD,)),
    }
    place = geometry(task_of(plane(16, 9)), plane(n, n + 4))
    assert place["coords"] is None
    assert place["periodic"] == (True, False)
    assert place["lengths"] == pytest.approx((X_PERIOD, Y_LENGTH))


def test_rounded_coordinates_are_still_uniform():
    ds = line(256)
    ds = ds.assign_coords(x=ds["x"].values.astype("float32"))
    assert coords_of(line(16), ds) is None


def test_points_that_do_not_reach_the_ends():
    y = Y_FIRST + Y_LENGTH * np.linspace(0.25, 0.75, 5)
    place = geometry(task_of(closed_line(9)), closed_line(points=y))
    torch.testing.assert_close(place["coords"][0], torch.linspace(0.25, 0.75, 5).double())
    assert place["lengths"] == pytest.approx((Y_LENGTH / 2,))
    assert evenly_spaced(place)


def test_cell_centres_of_a_finer_grid_begin_before_the_coarse_ones():
    centres = lambda n: (np.arange(n) + 0.5) / n
    coarse, fine = (closed_line(points=Y_FIRST + centres(n)) for n in (4, 8))
    (s,) = coords_of(coarse, fine)
    torch.testing.assert_close(s, torch.as_tensor((centres(8) - centres(4)[0]) / 0.75))
    assert coords_of(coarse, coarse) is None


def test_a_shifted_period_keeps_its_shift():
    ds = line(8)
    (s,) = coords_of(line(16), ds.assign_coords(x=ds["x"] - X_PERIOD / 4))
    torch.testing.assert_close(s, torch.arange(8).double() / 8 - 0.25)


def test_one_axis_with_coordinates_gives_them_for_all():
    ds = plane(12, 9).isel(y=slice(2, 7))
    s, t = coords_of(plane(16, 9), ds)
    torch.testing.assert_close(s, torch.arange(12).double() / 12)
    torch.testing.assert_close(t, torch.linspace(0.25, 0.75, 5).double())


def test_uneven_points():
    y = Y_FIRST + Y_LENGTH * np.linspace(0, 1, 9) ** 2
    training = closed_line(points=y)
    place = geometry(task_of(closed_line(9)), training)
    assert not evenly_spaced(place)
    torch.testing.assert_close(place["coords"][0], torch.linspace(0, 1, 9).double() ** 2)
    assert not evenly_spaced(geometry(task_of(training), training))
    torch.testing.assert_close(trained_grid(task_of(training)), place["coords"])


@pytest.mark.parametrize(
    ("training", "ds", "message"),
    [
        (line(), line().drop_vars("x"), r"do not say where .*'x' are.*assign_coords\(x"),
        (line(), line().isel(x=slice(None, None, -1)), "'x' should be finite and increase"),
        (line(), line(16).isel(x=slice(0, 12)), "period 6.28.* have 12 points from 0"),
        (line(), line().assign_coords(x=np.linspace(0, X_PERIOD, 16)), "whole period without"),
        (
            closed_line(),
            closed_line().assign_coords(y=np.linspace(500, 800, 9)),
            "trained on 'y' from 5 to 8; the data lie outside, from 500 to 800; .*same units",
        ),
    ],
)
def test_grids_of_other_domains_are_errors(training, ds, message):
    with pytest.raises(ValueError, match=message):
        geometry(task_of(training), ds)
