"""The network of Kim 2014 (arXiv:1408.5882) for sentences, in one dimension.

    y = W dropout( max over steps of σ( conv₃ x ), σ( conv₄ x ), σ( conv₅ x ) ) + c

Three convolutions side by side, of 3, 4 and 5 steps and 100 channels each, and the largest value of
each channel.  x is a sequence that is embedded already, (batch, channels, n): word vectors that
stay as they are ("static"), or anything else that comes in steps.
"""

from collections.abc import Sequence

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from sciops.operators.operator import whole_numbers
from sciops.task import Task

from .lenet import expect_classes


class TextCnn(nn.Module):
    """(batch, channels, n) -> logits (batch, classes), for any n that the kernels fit in.

    kernels: steps of each convolution
    width:   channels of each
    """

    def __init__(
        self,
        task: Task,
        *,
        kernels: Sequence[int] = (3, 4, 5),
        width: int = 100,
        dropout: float = 0.5,
    ):
        super().__init__()
        expect_classes(task)
        if len(task.axes) != 1:
            raise ValueError(f"a sequence has one axis, but {task.name!r} has {len(task.axes)}")
        kernels = whole_numbers(kernels, len(kernels), "kernels")
        (width,) = whole_numbers(width, 1, "width")
        if task.axes[0].size < max(kernels):
            raise ValueError(
                f"sequences of {task.axes[0].size} steps are shorter than kernels={kernels}; pad "
                "them or give smaller ones"
            )
        self.convs = nn.ModuleList(nn.Conv1d(task.in_channels, width, k) for k in kernels)
        self.dropout = nn.Dropout(dropout)
        self.project = nn.Linear(width * len(kernels), task.out_channels)

    def forward(self, x: Tensor) -> Tensor:
        largest = [F.relu(conv(x)).amax(-1) for conv in self.convs]
        return self.project(self.dropout(torch.cat(largest, 1)))
