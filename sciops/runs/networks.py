"""The network of a run, by the description that its folder keeps."""

from collections.abc import Mapping
from typing import Any

import torch
from torch import nn

from sciops.backbones import CLASSIFIERS, build_model
from sciops.task import Task


def network_of(task: Task, description: Mapping[str, Any]) -> nn.Module:
    """As `build_model`; layers of classifiers are those of the search space that op names.

    description: of a classifier, also `space`, the options of the space
    """
    options = dict(description)
    op, space = options["op"], options.pop("space", {})
    if options.get("backbone") not in CLASSIFIERS or op in ("conv", "dnarch"):
        return build_model(task, options)
    return _relaxed(build_model(task, {**options, "op": "conv"}), task, op, space)


def _relaxed(network: nn.Module, task: Task, op: str, options: Mapping[str, Any]) -> nn.Module:
    """The network inside the normalisation, at the start of a space drawn by the global numbers."""
    from sciops.searching.spaces import make_space

    sample = torch.randn(1, task.in_channels, *(axis.size for axis in task.axes))
    seed = int(torch.randint(2**31, ()))
    network.model = make_space(op, **options).supernet(network.model, sample, seed=seed)
    return network
