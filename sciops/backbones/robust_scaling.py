"""Robust scaling of images: units, sky and gain are gone before a network sees them.

    z = (x − median x) / s,        s = 1.4826 · median |x − median x|,        then asinh z

Where more than half of the pixels are equal that median is 0, and s = 1.2533 · mean |x − median x|;
both are the deviation of normal noise.  So z is the same for x and a x + b, a > 0.  Stars and
cosmic rays are thousands of deviations above the sky: asinh z is z within the noise and a logarithm
of it far above.

Pixels that are not finite count for nothing, and are z = 0.
"""

from typing import NamedTuple

import torch
from torch import Tensor

OF_MEDIAN, OF_MEAN = 1.4826, 1.2533  # deviation of normal noise / median, mean of its amount


class Statistics(NamedTuple):
    """Of images (batch, channel, h, w): numbers (batch, channel, 1, 1) or maps, pixel by pixel."""

    centre: Tensor
    scale: Tensor


def robust_statistics(x: Tensor) -> Statistics:
    """One centre and one scale for each image and channel, (batch, channel, 1, 1).

    >>> robust_statistics(torch.tensor([[[[1.0, 2.0, 3.0, torch.nan, 900.0]]]])).centre.item()
    2.0
    """
    with torch.no_grad():
        values = torch.where(x.isfinite(), x, torch.nan).flatten(2)
        centre = values.nanmedian(2, keepdim=True).values
        amount = (values - centre).abs_()
        scale = OF_MEDIAN * amount.nanmedian(2, keepdim=True).values
        scale = torch.where(scale > 0, scale, OF_MEAN * amount.nanmean(2, keepdim=True))
        scale = torch.where(scale > 0, scale, 1.0)  # a constant, or nothing known
        return Statistics(centre.nan_to_num(0.0)[..., None], scale[..., None])


def robustly_scaled(
    x: Tensor, statistics: Statistics | None = None, *, compress: bool = True
) -> Tensor:
    """z, or asinh z; statistics=None are those of each image."""
    centre, scale = robust_statistics(x) if statistics is None else statistics
    z = torch.where(x.isfinite(), (x - centre) / scale, 0.0)
    return z.asinh() if compress else z
