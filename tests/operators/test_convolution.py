"""The baseline convolution against torch, on every mix of boundaries."""

import pytest
import torch
import torch.nn.functional as F

from sciops.operators.convolution import Convolution

torch.manual_seed(0)


@pytest.mark.parametrize("kernel", [(1, 1), (3, 3), (4, 5)])
@pytest.mark.parametrize("periodic", [(True, True), (False, False), (True, False), (False, True)])
def test_each_axis_is_continued_as_its_boundary_says(kernel, periodic):
    layer = Convolution(2, 3, kernel, periodic=periodic, bias=True).double()
    x = torch.randn(2, 2, 7, 9, dtype=torch.float64)
    expected = torch.zeros(2, 3, 7, 9, dtype=torch.float64)
    for i in range(kernel[0]):
        for j in range(kernel[1]):
            shift = (i - (kernel[0] - 1) // 2, j - (kernel[1] - 1) // 2)
            moved = x
            for axis, s in enumerate(shift):
                moved = moved.roll(-s, 2 + axis)
                n = x.shape[2 + axis]
                if not periodic[axis]:
                    inside = (torch.arange(n) + s >= 0) & (torch.arange(n) + s < n)
                    moved = moved * inside.view([-1 if a == 2 + axis else 1 for a in range(4)])
            expected += torch.einsum("oi,bixy->boxy", layer.weight[:, :, i, j], moved)
    torch.testing.assert_close(layer(x), expected + layer.bias.view(1, -1, 1, 1))


@pytest.mark.parametrize("ndim", [1, 2, 3])
def test_zeros_are_torch_same_padding(ndim):
    layer = Convolution(2, 2, (3,) * ndim, periodic=(False,) * ndim)
    x = torch.randn(1, 2, *[6, 7, 8][:ndim])
    conv = (F.conv1d, F.conv2d, F.conv3d)[ndim - 1]
    torch.testing.assert_close(layer(x), conv(x, layer.weight, padding="same"))


def test_a_kernel_larger_than_the_grid_is_an_error():
    with pytest.raises(ValueError, match=r"kernel of \(9,\) points is larger than the grid"):
        Convolution(1, 1, (9,), periodic=(True,))(torch.zeros(1, 1, 5))
