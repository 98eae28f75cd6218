"""A found network without its masks: plain layers of the found sizes, the same outputs.

What a mask multiplies is in the weights, except that of the channels that a block writes, which
comes after a GELU and stays as a scale.  Kernels are those on the grid that was trained on, so this
network works on that grid only.
"""

import copy
from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch import Tensor, nn

from sciops.operators import Fixed
from sciops.operators.resampling import Band
from sciops.task import Task

from .ccnn import AbstractCcnn, Ccnn, Parts
from .ccnn_grids import trained_grid
from .ccnn_sizes import Grid


class TrimmedBlock(nn.Module):
    """The residual branch of a block; all its tensors are weights.

    channels: in, mid, out
    taps:     of each axis
    bands:    (n, circle, modes, points, periodic) of each axis, or None
    scaled:   whether outputs have a scale
    """

    def __init__(
        self,
        channels: Sequence[int],
        taps: Sequence[int],
        bands: Sequence[Sequence] | None,
        *,
        scaled: bool,
    ):
        super().__init__()
        n_in, n_mid, n_out = channels
        self.norm = nn.ParameterList([torch.ones(n_in), torch.zeros(n_in)])
        self.kernel = nn.Parameter(torch.zeros(n_in, *taps))
        self.mixer = nn.Linear(n_in, n_mid)
        self.linear = nn.Linear(n_mid, n_out)
        self.scale = nn.Parameter(torch.ones(n_out)) if scaled else None
        self.bands = None if bands is None else [Band(*band) for band in bands]
        modes = [band.modes for band in self.bands or ()]
        modes[-1:] = [m // 2 + 1 for m in modes[-1:]]  # of the last axis, f ≥ 0
        self.filters = nn.ParameterList([torch.ones(m) for m in modes])

    def parts(self) -> Parts:
        return Parts(
            norm=tuple(self.norm),
            kernel=self.kernel,
            mixer=(self.mixer.weight, self.mixer.bias),
            linear=(self.linear.weight, self.linear.bias),
            scale=self.scale,
            bands=self.bands,
            filters=list(self.filters),
        )


class TrimmedCcnn(AbstractCcnn):
    """A continuous CNN of plain layers.

    found: of `found_sizes`
    """

    def __init__(
        self,
        task: Task,
        found: Mapping[str, Any],
        *,
        style: str = "paper",
        positions: bool = True,
        cells: bool = False,
        dropout: float = 0.0,
    ):
        options = dict(style=style, positions=positions, cells=cells, dropout=dropout)
        super().__init__(task, found["width"], **options)
        self.resolution = Fixed(tuple(axis.size for axis in task.axes))
        self.blocks = nn.ModuleList(TrimmedBlock(**block) for block in found["blocks"])

    def all_parts(self, grid: Grid) -> list[Parts]:
        own = trained_grid(self.task)
        same = zip(grid.spacings, own.spacings, strict=True)
        if grid.size != own.size or any(abs(a - b) > 1e-4 * b for a, b in same):
            raise ValueError(
                f"a trimmed network was built for size={own.size}, its kernels being those of that "
                f"grid, got {grid.size}; the network with its masks works on any grid"
            )
        return [block.parts() for block in self.blocks]


def found_sizes(network: Ccnn) -> dict[str, Any]:
    """The sizes that a network has on the grid it is trained on, as JSON holds them."""
    with torch.no_grad():
        parts = network.all_parts(trained_grid(network.task))
    return {
        "width": network.encoder.out_features,
        "blocks": [_sizes(p) for p in parts],
    }


def _sizes(parts: Parts) -> dict[str, Any]:
    return {
        "channels": [*reversed(parts.mixer[0].shape), len(parts.linear[0])],
        "taps": list(parts.kernel.shape[1:]),
        "bands": None if parts.bands is None else [list(band) for band in parts.bands],
        "scaled": parts.scale is not None,
    }


def trimmed(model: nn.Module) -> nn.Module:
    """A copy of a model in which its continuous CNN has become one of plain layers."""
    network = _expect_ccnn(model)
    plain = with_found(model, found_sizes(network))
    next(m for m in plain.modules() if isinstance(m, TrimmedCcnn)).load_state_dict(_state(network))
    return plain


def with_found(model: nn.Module, found: Mapping[str, Any]) -> nn.Module:
    """A copy of a model whose continuous CNN is one of plain layers of these sizes, untrained."""
    network = _expect_ccnn(model)
    names = ("style", "positions", "cells", "dropout")
    options = {name: getattr(network, name) for name in names}
    plain = TrimmedCcnn(network.task, found, **options)
    reference = next(network.parameters())
    plain.to(reference.device, reference.dtype).train(network.training)
    return copy.deepcopy(model, {id(network): plain})


def _expect_ccnn(model: nn.Module) -> Ccnn:
    network = ccnn_in(model)
    if network is None:
        raise ValueError("there is no continuous CNN in this model; train one with op='dnarch'")
    return network


def ccnn_in(model: nn.Module) -> Ccnn | None:
    """The continuous CNN that a model is or has inside, if it has masks or could have them."""
    return next((module for module in model.modules() if isinstance(module, Ccnn)), None)


def _state(network: Ccnn) -> dict[str, Tensor]:
    """The state of the plain network."""
    both = ("encoder", "encoder_norm", "decoder_norm", "decoder")
    state = {n: v for n, v in network.state_dict().items() if n.split(".")[0] in both}
    with torch.no_grad():
        for number, parts in enumerate(network.all_parts(trained_grid(network.task))):
            named = {
                "norm.0": parts.norm[0],
                "norm.1": parts.norm[1],
                "kernel": parts.kernel,
                "mixer.weight": parts.mixer[0],
                "mixer.bias": parts.mixer[1],
                "linear.weight": parts.linear[0],
                "linear.bias": parts.linear[1],
                **{f"filters.{a}": f for a, f in enumerate(parts.filters or ())},
            }
            if parts.scale is not None:
                named["scale"] = parts.scale
            state |= {f"blocks.{number}.{name}": value for name, value in named.items()}
    return state
