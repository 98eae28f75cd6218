"""Backbones: networks sized from a Task, with any operator inside."""

from collections.abc import Callable, Mapping
from typing import Any

from torch import nn

from sciops.suggestions import did_you_mean
from sciops.task import Task

from .ccnn import Ccnn
from .cell_network import field_network
from .choice import OPERATORS
from .classifiers import CLASSIFIERS, make_classifier
from .distance_maps import distance_network
from .fno_cnn import FnoCnn
from .forecasting import forecaster
from .image_masks import mask_network
from .neuralop_fno import NeuralopFno
from .normalized import Normalized
from .tcn import Tcn
from .term_network import TERM, term_network
from .trimmed import with_found
from .unet import UNet

__all__ = [
    "BASELINES",
    "CLASSIFIERS",
    "NETWORKS",
    "TERM",
    "Ccnn",
    "FnoCnn",
    "NeuralopFno",
    "Normalized",
    "Tcn",
    "UNet",
    "build_model",
    "make_backbone",
    "make_classifier",
    "term_network",
]

BASELINES: dict[str, Callable[..., nn.Module]] = {
    "unet": UNet,
    "neuralop": NeuralopFno,
    "dnarch": Ccnn,
}
NETWORKS = (*OPERATORS, *BASELINES, TERM)  # what `op` may be of fields
SMALLEST = dict(width=1, blocks=1, hidden=2, layers=2)  # of a continuous CNN that is replaced


def make_backbone(task: Task, op: str, **options) -> Normalized:
    """The network that `op` names: FNO's with that operator, a baseline, or that of a term.

    options: of `FnoCnn` and `make_operator`, of the baseline, or of `term_network`
    """
    if op == TERM:
        return term_network(task, **options)
    if op in BASELINES:
        network = BASELINES[op](task, **options)
    elif op in OPERATORS:
        network = FnoCnn(task, op, **options)
    else:
        raise ValueError(
            f"there is no op={op!r}; there are {', '.join(NETWORKS)}{did_you_mean(op, NETWORKS)}"
        )
    return Normalized(network, task.in_channels, task.out_channels)


def build_model(task: Task, description: Mapping[str, Any]) -> nn.Module:
    """A network by its description: op, backbone or forecast (None or which) and its options.

    A continuous CNN may have `found`, the sizes of the plain network that was made of it.
    """
    options = dict(description)
    if "found" in options:
        found = options.pop("found")
        return with_found(build_model(task, {**options, **SMALLEST}), found)
    op, forecast = options.pop("op"), options.pop("forecast", None)
    backbone = options.pop("backbone", None)
    if backbone == "distance_map":
        return distance_network(task, op, **options)
    if backbone == "cells":
        return field_network(task, **options)
    if backbone == TERM:
        return term_network(task, **options)
    if backbone == "tcn":
        return Tcn(task, op, **options)
    if backbone == "image_mask":
        return mask_network(task, op, **options)
    if backbone in CLASSIFIERS:
        if op not in ("conv", "dnarch"):
            raise ValueError(f"{backbone!r} is made with op='conv'; sciops.relax makes it {op!r}")
        return make_classifier(task, backbone, **options)
    if forecast is None:
        return make_backbone(task, op, **options)
    return forecaster(task, op, forecast, **options)
