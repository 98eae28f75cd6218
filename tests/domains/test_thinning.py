"""Grids are thinned by a stride or to a number of points, and keep their ends."""

import numpy as np
import pytest

from sciops.domains.reading import read_layout
from sciops.domains.thinning import Thinning
from tests.domains.layout_files import counted, save_matlab, sizes


def test_strides_of_the_published_darcy_grid():
    points = {5: 85, 4: 106, 3: 141, 2: 211, 1: 421}
    for k, resolution in points.items():
        assert Thinning(resolution=resolution).stride("x", 421, 1, False) == k
        assert Thinning(subsample=k).stride("x", 421, 1, False) == k


def test_strides_of_a_periodic_grid():
    assert Thinning(resolution=256).stride("x", 8192, 0, False) == 32
    assert Thinning().stride("x", 8192, 0, False) == 1


@pytest.mark.parametrize(
    ("thinning", "message"),
    [
        (Thinning(resolution=64), r"resolution=64 is not to be had.*there are \[421, 211, 141"),
        (Thinning(subsample=9), r"subsample=9 should divide the 420 steps of 'x': \[1, 2, 3, 4"),
        (Thinning(subsample=0), "subsample=0 should be a whole number"),
        (Thinning(subsample=2, resolution=211), "give one of them"),
    ],
)
def test_what_does_not_fit_is_an_error(thinning, message):
    with pytest.raises(ValueError, match=message):
        thinning.stride("x", 421, 1, False)


def test_a_file_read_at_a_resolution_and_a_named_split(tmp_path):
    fields = {"coeff": counted(1001, 5, 9), "sol": -counted(1001, 5, 9)}
    path = save_matlab(tmp_path / "piececonst_r421_N1024_smooth1.mat", fields, "5")
    tree = read_layout("darcy", path, split="nas-bench-360")
    assert sizes(tree) == {"train": 900, "val": 100}
    np.testing.assert_array_equal(tree["val/a"], fields["coeff"][900:1000])
    with pytest.raises(ValueError, match="one of 'original', 'nas-bench-360', None"):
        read_layout("darcy", path, split="paper")
    square = {name: array[:, :, :5] for name, array in fields.items()}
    path = save_matlab(tmp_path / "square_smooth1.mat", square, "5")
    coarse = read_layout("darcy", path, resolution=3)
    np.testing.assert_array_equal(coarse["train/u"], square["sol"][:1000, ::2, ::2])
