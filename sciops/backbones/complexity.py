"""What a continuous CNN costs: the published count of operations, and one of what is computed.

Published (Romero & Zeghidour 2023, appendix C), for L points and N channels:

    pointwise linear   L N_in N_out
    Fourier conv       L log₂ L                 as printed, without a factor for the channels
    pointwise          L N                      GELU, dropout, normalisation

each size being that of its mask, and the size of the depth mask being the number of blocks.  The
residual branch has L points of its own resolution; its normalisation comes before and has all.

`measured_flops` counts multiplications and additions of products, convolutions and Fourier
transforms that one forward pass really does.
"""

import math
from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Tensor, nn

from sciops.operators.depthwise import fft_operations


class BlockSize(NamedTuple):
    """Points of the stream and of the residual branch along each axis, and channels."""

    points: Sequence[Tensor]
    coarse: Sequence[Tensor]
    channels: Sequence[Tensor]  # in, mid, out


def block_complexity(size: BlockSize) -> Tensor:
    """norm – conv – linear – GELU – dropout – linear – GELU."""
    points, coarse = math.prod(size.points), math.prod(size.coarse)
    n_in, n_mid, n_out = size.channels
    linear = coarse * (n_in * n_mid + n_mid * n_out)
    pointwise = points * n_in + coarse * (2 * n_mid + n_out)
    return coarse * torch.log2(coarse) + linear + pointwise


def network_complexity(
    blocks: Sequence[BlockSize],
    depth: Tensor,
    width: int,
    in_channels: int,
    out_channels: int,
    dense: bool,
) -> Tensor:
    """Of blocks that are alike on the average, encoder and decoder.

    depth: how many blocks count
    dense: whether there is an output at each point, or one for all
    """
    points = math.prod(blocks[0].points)
    encoder = points * (in_channels * width + 2 * width)
    decoder = points * width + (points if dense else 1) * width * out_channels
    if not dense:
        decoder = decoder + points * width  # the mean
    each = sum(block_complexity(block) for block in blocks) / len(blocks)
    return encoder + depth * each + decoder


def measured_flops(model: nn.Module, x: Tensor) -> int:
    """Of one forward pass; what is only added, copied or compared is not counted."""
    from torch.utils.flop_counter import FlopCounterMode

    fourier = torch.ops.aten
    transforms = dict.fromkeys((fourier._fft_r2c, fourier._fft_c2r, fourier._fft_c2c), _of_fft)
    training = model.training
    counter = FlopCounterMode(display=False, custom_mapping=transforms)
    with torch.no_grad(), counter:
        model.eval()(x)
    model.train(training)
    return counter.get_total_flops()


def _of_fft(x_shape, dims, *args, out_shape=None, **kwargs) -> int:
    """2.5 n log₂ n for each transform of a real field, which is the longer of input and output."""
    longer = max(x_shape, out_shape, key=math.prod)
    points = math.prod(longer[d] for d in dims)
    return round(math.prod(longer) / points * fft_operations(points))
