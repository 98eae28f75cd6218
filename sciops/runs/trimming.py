"""Found networks as they are kept for use: plain layers of the found sizes, without masks.

RUN/trimmed/model.safetensors + model.json      of every run of a continuous CNN
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from torch import nn

from sciops.backbones.trimmed import ccnn_in, found_sizes, trimmed
from sciops.checkpoint import CheckpointError, load_model, save_model
from sciops.task import Task, task_as_dict, task_from

from .descriptions import WRONG, expect_sizes, expect_weights_of_blocks
from .networks import network_of

FOLDER = "trimmed"


def write_trimmed(run: Path, model: nn.Module, task: Task, description: Mapping[str, Any]) -> None:
    """Keep the plain network of a model beside it, if there is a continuous CNN in it.

    description: of the model, as `network_of` takes it
    """
    network = ccnn_in(model)
    if network is None:
        return
    state = {name: tensor.contiguous() for name, tensor in trimmed(model).state_dict().items()}
    about = {"task": task_as_dict(task), "model": {**description, "found": found_sizes(network)}}
    save_model(run / FOLDER, state, about)


def open_trimmed(run: str | Path) -> nn.Module:
    """The plain network of a run, for the grid that it was trained on; in eval mode."""
    folder = Path(run) / FOLDER
    if not (folder / "model.json").exists():
        raise ValueError(f"{run} has no trimmed network; runs with op='dnarch' have one")
    state, about = load_model(folder)
    try:
        task, description = task_from(about["task"]), about["model"]
        expect_sizes(description, state)
        expect_weights_of_blocks(description["found"]["blocks"], state)
        model = network_of(task, description)
        model.load_state_dict(state)
    except WRONG as error:
        raise CheckpointError(
            f"{folder} is no trimmed network that this version of sciops can open ({error}); copy "
            "the whole folder again, or train again"
        ) from error
    return model.eval()
