"""Networks from images to masks, by name: the logit of every pixel, whatever the image's units.

    unet, unet-xd, unet-xd-grid         deepCR's U-Net; its convolutions with a band-limited XD
                                        beside them; XD as published instead of them
    resnet, resnet-xd, resnet-xd-grid   a residual tower, likewise
    fno, xd                             the network of FNO, with our Fourier layer or XD
    dnarch                              a continuous CNN whose sizes are learned

All of them see robustly scaled images (`robust_scaling`), so that the answer is the same for x and
a x + b, a > 0.  What they answer is added to the log-odds of `SHARE`, so that they start with few
pixels taken for hits: from even odds, most steps of a short training would go into that alone.  A
pixel is the unit of length: FNO's network has its window of the Task as domain,
and point j of any other image lies at j/(window − 1).
"""

import math
from collections.abc import Callable

import torch
from torch import Tensor, nn

from sciops.operators import Fixed
from sciops.operators.operator import AbstractOperator
from sciops.suggestions import did_you_mean
from sciops.task import Task

from .ccnn import Ccnn
from .ccnn_grids import trained_grid
from .fno_cnn import FnoCnn
from .mask_unet import MaskUNet
from .resnet import ResNet
from .robust_scaling import Statistics, robust_statistics, robustly_scaled

SHARE = 0.002  # of the pixels of an exposure that are hit, about
LOG_ODDS = math.log(SHARE / (1 - SHARE))


class ImageMask(nn.Module):
    """A network between robust scaling and logits.

    window: of the images that it was made for, (h, w)
    step:   images that are cut out of larger ones should begin at multiples of it
    reach:  how many pixels away an output sees the input; None if it sees all of the window
    of_one_size: whether it takes images of the window's size only
    """

    def __init__(self, network: nn.Module, window: tuple[int, int], *, compress: bool = True):
        super().__init__()
        self.network, self.window, self.compress = network, window, compress
        self.step: int = getattr(network, "step", 1)
        self.reach: int | None = getattr(network, "reach", None)
        operators = (m for m in network.modules() if isinstance(m, AbstractOperator))
        self.of_one_size = any(isinstance(op.resolution, Fixed) for op in operators)

    def statistics(self, x: Tensor) -> Statistics:
        """The centre and scale of images that `forward` uses unless told otherwise."""
        return robust_statistics(x)

    def forward(self, x: Tensor, statistics: Statistics | None = None) -> Tensor:
        """(batch, channel, h, w) in any units -> logits (batch, 1, h, w).

        Pixels that are not finite are unknown: they are seen as sky.

        statistics: of the images that these are cut from; None takes those of x
        """
        size = tuple(x.shape[2:])
        if x.ndim != 4 or 0 in size:
            raise ValueError(f"expected images (batch, channel, h, w), got {tuple(x.shape)}")
        if self.of_one_size and size != self.window:
            raise ValueError(
                f"this network takes images of {self.window} pixels only, got {size}; clean() of "
                "sciops.evaluation.image_cleaning cuts larger ones into windows"
            )
        z = robustly_scaled(x, statistics, compress=self.compress)
        return self.network(z.to(next(self.network.parameters()).dtype)) + LOG_ODDS


class PixelFno(nn.Module):
    """FNO's network on images: a pixel means the same length in all of them."""

    def __init__(self, task: Task, op: str, **options):
        super().__init__()
        self.window = tuple(axis.size for axis in task.axes)
        self.fno = FnoCnn(task, op, **options)

    def forward(self, x: Tensor) -> Tensor:
        size = tuple(x.shape[2:])
        if size == self.window:
            return self.fno(x)
        if any(not 2 <= n <= m for n, m in zip(size, self.window, strict=True)):
            raise ValueError(
                f"this network takes images of 2 × 2 to {self.window} pixels, got {size}; clean() "
                "of sciops.evaluation.image_cleaning cuts larger ones into windows"
            )
        ends = zip(size, self.window, strict=True)
        return self.fno(x, tuple(torch.arange(n, dtype=torch.float64) / (m - 1) for n, m in ends))


class PixelCcnn(nn.Module):
    """A continuous CNN on images of any size: its kernels are as many pixels wide in all."""

    def __init__(self, task: Task, **options):
        super().__init__()
        self.pixel = trained_grid(task).spacings
        self.ccnn = Ccnn(task, positions=False, cells=True, **options)

    def forward(self, x: Tensor) -> Tensor:
        ends = zip(x.shape[2:], self.pixel, strict=True)
        places = tuple(torch.arange(n, dtype=torch.float64) * pixel for n, pixel in ends)
        return self.ccnn(x, places)


def _unet(op: str) -> Callable[..., nn.Module]:
    return lambda task, **options: MaskUNet(task, op, **options)


def _resnet(op: str) -> Callable[..., nn.Module]:
    usual = dict(depth=10, width=32, dropout=0.0, output="logits", scaled=True)
    return lambda task, **options: ResNet(task, op, **usual | options)


def _fno(op: str) -> Callable[..., nn.Module]:
    return lambda task, **options: PixelFno(task, op, **options)


MASK_NETWORKS: dict[str, Callable[..., nn.Module]] = {
    "unet": _unet("conv"),
    "unet-xd": _unet("xd-hybrid"),
    "unet-xd-grid": _unet("xd-grid"),
    "resnet": _resnet("conv"),
    "resnet-xd": _resnet("xd-hybrid"),
    "resnet-xd-grid": _resnet("xd-grid"),
    "fno": _fno("fno"),
    "xd": _fno("xd"),
    "dnarch": PixelCcnn,
}


def mask_network(task: Task, op: str, *, compress: bool = True, **options) -> ImageMask:
    """The network that `op` names, sized from the window of a task.

    compress: asinh of the scaled image
    options:  of `MaskUNet`, `ResNet`, `FnoCnn` or `Ccnn`
    """
    if op not in MASK_NETWORKS:
        raise ValueError(
            f"there is no op={op!r}; there are {', '.join(MASK_NETWORKS)}"
            f"{did_you_mean(op, MASK_NETWORKS)}"
        )
    if len(task.axes) != 2 or any(axis.periodic for axis in task.axes):
        axes = ", ".join(f"{a.name}{' (periodic)' * a.periodic}" for a in task.axes)
        raise ValueError(f"an image has two axes that are not periodic, {task.name!r} has {axes}")
    try:
        network = MASK_NETWORKS[op](task, **options)
    except TypeError as error:
        raise ValueError(f"op={op!r} does not take these options: {error}") from None
    return ImageMask(network, tuple(axis.size for axis in task.axes), compress=compress)
