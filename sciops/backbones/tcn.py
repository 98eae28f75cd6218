"""Temporal convolutional networks (Bai et al. 2018, arXiv:1803.01271), with XD in their blocks.

    f(h) = dropout( σ( chomp( conv h )))                    padded by d (k − 1), weight-normed
    h ← σ( f₂(f₁(h)) + h )                                  level l = 0, 1, …, with d = 2ˡ
    yₜ = W hₜ + c                                           of every step t

h is taken through a 1 × 1 convolution where the channels change.  Convolutions are padded on both
sides and the last d (k − 1) steps cut off ("chomp"), so that none sees the future.

    conv        as published
    undilated   d = 1 on every level: the baseline and the start of XD in Roberts et al. 2021
    xd          causal XD on whole sequences of any length, starting as undilated
    xd-grid     XD as published there (arXiv:2103.15798): every step has a window of the last steps,
                zeros before the beginning, of which only the last output is used

The published code draws the weights from N(0, 0.01²), but weight norm, which it puts on before,
draws them over: only the 1 × 1 convolutions start so, the others as torch does it.
"""

from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.nn.utils.parametrizations import weight_norm

from sciops.operators import XD, AbstractOperator, Kaleidoscope
from sciops.operators.kaleidoscope import built_together
from sciops.operators.operator import whole_numbers
from sciops.operators.torch_layers import copy_weight_norm, effective_weight, weight_norm_of
from sciops.suggestions import did_you_mean, meant_option
from sciops.task import Task

SMALL = 0.01  # deviation of the weights of 1 × 1 convolutions


class Block(nn.Module):
    """σ( f₂(f₁(h)) + h )."""

    def __init__(self, channels: int, width: int, kernel: int, dilation: int, dropout: float):
        super().__init__()
        self.first = _causal_conv(channels, width, kernel, dilation)
        self.second = _causal_conv(width, width, kernel, dilation)
        self.dropout = nn.Dropout(dropout)
        self.skip = nn.Identity() if channels == width else nn.Conv1d(channels, width, 1)
        if channels != width:
            nn.init.normal_(self.skip.weight, std=SMALL)

    def forward(self, h: Tensor) -> Tensor:
        inner, n = h, h.shape[-1]
        for layer in (self.first, self.second):
            inner = self.dropout(F.relu(layer(inner)[..., :n]))
        return F.relu(inner + self.skip(h))


class Tcn(nn.Module):
    """From the input channels of a task to its target channels at every step, without the future.

    op:          "conv", "undilated", "xd" or "xd-grid"
    kernel_size: taps of each convolution
    options:     of the XD operations: `k_depth`, the depth of their K-matrices; of "xd" also
                 `lags`, how many steps back they may learn to look, and `arch_bias`, whether they
                 have b, which costs as much as another tap
    """

    def __init__(
        self,
        task: Task,
        op: str = "conv",
        *,
        width: int = 150,
        levels: int = 4,
        kernel_size: int = 6,
        dropout: float = 0.2,
        **options,
    ):
        super().__init__()
        _check(task, op)
        width, levels, kernel = (
            whole_numbers(value, 1, name)[0]
            for name, value in (("width", width), ("levels", levels), ("kernel_size", kernel_size))
        )
        channels = [task.in_channels, *[width] * levels]
        dilations = [2**level if op == "conv" else 1 for level in range(levels)]
        self.window = task.axes[0].size if op == "xd-grid" else None
        self.blocks = nn.Sequential(
            *(
                Block(before, width, kernel, dilation, dropout)
                for before, dilation in zip(channels, dilations, strict=False)
            )
        )
        self.project = nn.Conv1d(width, task.out_channels, 1)
        for block in self.blocks:  # when all weights are drawn: the same in every op
            block.first = _relaxed(op, block.first, task, options)
            block.second = _relaxed(op, block.second, task, options)

    def forward(self, x: Tensor) -> Tensor:
        """(batch, in_channels, n) -> (batch, out_channels, n), for any n."""
        if not torch.is_grad_enabled():  # layers keep what they built
            return self._outputs(x)
        maps = (m for m in self.modules() if isinstance(m, Kaleidoscope))
        with built_together(maps):
            return self._outputs(x)

    def _outputs(self, x: Tensor) -> Tensor:
        if self.window is None:
            return self.project(self.blocks(x))
        windows = F.pad(x, (self.window - 1, 0)).unfold(-1, self.window, 1)  # (b, c, n, window)
        last = self.blocks(windows.movedim(1, 2).flatten(0, 1))[..., -1]  # (b · n, width)
        return self.project(last.unflatten(0, (len(x), -1)).mT)


class LastStep(nn.Module):
    """What a network says at the last step: a class for a whole sequence, (batch, classes).

    Nothing has to be causal then, so "xd-grid" sees the sequence as it is, in one window.
    """

    def __init__(self, network: Tcn):
        super().__init__()
        self.network = network
        network.window = None

    def forward(self, x: Tensor) -> Tensor:
        return self.network(x)[..., -1]


def _causal_conv(in_channels: int, out_channels: int, kernel: int, dilation: int) -> nn.Conv1d:
    """Padded on both sides: the last d (k − 1) outputs are to be cut off."""
    padding = dilation * (kernel - 1)
    conv = nn.Conv1d(in_channels, out_channels, kernel, padding=padding, dilation=dilation)
    return weight_norm(conv)


def _as_it_is(conv: nn.Conv1d, task: Task) -> nn.Module:
    return conv


def _xd(
    conv: nn.Conv1d,
    task: Task,
    *,
    k_depth=1,
    lags: int | None = None,
    arch_bias: bool = False,
) -> AbstractOperator:
    window = task.axes[0].size
    options = dict(dilation=conv.dilation, depth=k_depth, lags=window if lags is None else lags)
    with torch.random.fork_rng(devices=[]):  # these random weights are not used
        layer = XD(
            conv.in_channels,
            conv.out_channels,
            conv.kernel_size,
            frame="causal",
            size=window,
            arch_bias=arch_bias,
            gates=True,
            bias=True,
            **options,
        )
    with torch.no_grad():
        layer.weight.copy_(effective_weight(conv))
        layer.bias.copy_(conv.bias)
    copy_weight_norm(weight_norm_of(conv), layer)
    return layer


def _xd_grid(conv: nn.Conv1d, task: Task, *, k_depth=1) -> AbstractOperator:
    return XD.from_conv(conv, task.axes[0].size, depth=k_depth, arch_bias=True, gates=True)


OPERATORS: dict[str, Callable[..., nn.Module]] = {
    "conv": _as_it_is,
    "undilated": _as_it_is,
    "xd": _xd,
    "xd-grid": _xd_grid,
}


def _relaxed(op: str, conv: nn.Conv1d, task: Task, options: dict) -> nn.Module:
    try:
        return OPERATORS[op](conv, task, **options)
    except TypeError as error:
        hint = meant_option(error, Tcn, OPERATORS[op])
        raise ValueError(f"op={op!r} does not take these options: {error}{hint}") from None


def _check(task: Task, op: str) -> None:
    if len(task.axes) != 1:
        raise ValueError(f"a sequence has one axis, but {task.name!r} has {len(task.axes)}")
    if op not in OPERATORS:
        raise ValueError(
            f"there is no op={op!r}; there are {', '.join(OPERATORS)}{did_you_mean(op, OPERATORS)}"
        )
