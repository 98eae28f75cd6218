"""Distance maps of whole proteins, of any length, and their scores."""

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import torch
from torch import nn

from sciops.data.progress import progress_bar
from sciops.data.tiles import tiles
from sciops.memory import expect_memory, memory_there
from sciops.metrics.distance_map import map_scores, symmetrised
from sciops.proteins.map_windows import check_features, input_map, on_canvas, window_size
from sciops.proteins.protein import Protein
from sciops.task import Task

if TYPE_CHECKING:
    import xarray as xr

CORE = 16  # points of a tile whose answers are kept, at least
LIVING = 4  # maps as wide as the network that are in memory at a time, measured


def predict_map(
    model: nn.Module, protein: Protein, task: Task, *, whole: bool | None = None
) -> np.ndarray:
    """The distances (L, L) in Å, symmetric: the two answers for a pair are averaged, once.

    A chain no longer than the training window is seen as in training.  A longer one is seen at once
    by a network of finite reach, if that fits in memory, and in overlapping windows by any other.
    The windows of a network of finite reach give the answer that it gives at once.

    whole: whether a long chain is seen at once; None asks the network and the memory
    """
    check_features([protein], task)
    n, size = len(protein), window_size(task)
    reach = getattr(model, "reach", None)
    tile = size if reach is None else max(size, 2 * reach + CORE)  # shows a pair all it depends on
    needed = bytes_at_once(model, task, n)
    if whole is None:
        whole = reach is not None and not needed > (memory_there() or math.inf)
    at_once = n > size and (whole or (reach is not None and n <= tile))
    if at_once:
        expect_memory(
            needed,
            f"the map of the {n} residues of {protein.name!r} at once",
            "predict it with whole=False, or parts of the chain",
        )
    was_training = model.training
    model.eval()
    try:
        with torch.inference_mode():
            if at_once:
                everything = input_map(protein, task, slice(None), slice(None))
                answer = model(torch.from_numpy(everything)[None])[0, 0].numpy()
            elif n > size and reach is not None:
                answer = _in_tiles(model, protein, task, tile, reach)
            else:
                answer = _in_tiles(model, protein, task, size, size // 8)
    finally:
        model.train(was_training)
    return symmetrised(answer)


def bytes_at_once(model: nn.Module, task: Task, n: int) -> int:
    """About the memory of all n² pairs at once: 4 n² (2 c + 4 w) bytes.

    c channels come in and are put together; w is the width of the widest convolution, and there are
    the stream beside a block, what goes into a convolution, what comes out, and its own copies.
    """
    convolutions = (layer for layer in model.modules() if isinstance(layer, nn.Conv2d))
    width = max((layer.out_channels for layer in convolutions), default=1)
    return 4 * n**2 * (2 * task.in_channels + LIVING * width)


def _in_tiles(model: nn.Module, protein: Protein, task: Task, size: int, margin: int) -> np.ndarray:
    n = len(protein)
    answer = np.empty((n, n), np.float32)
    for tile in tiles((n, n), size, margin):
        x = on_canvas(input_map(protein, task, *tile.window), size, 0.0)
        answer[tile.core] = model(x[None])[0, 0].numpy()[tile.inner]
    return answer


def evaluate_maps(
    model: nn.Module, proteins: Sequence[Protein], task: Task, *, progress: bool = True
) -> "xr.Dataset":
    """Scores of every protein (see `sciops.metrics.distance_map`), NaN where one has no such pair.

    Dimension `protein`, labelled by name; `length` is the number of residues.
    """
    import xarray as xr

    rows = []
    with progress_bar("evaluating", len(proteins), shown=progress) as count:
        for protein in proteins:
            if protein.distance is None:
                raise ValueError(f"no structure is known of {protein.name!r}: it cannot be judged")
            rows.append(map_scores(predict_map(model, protein, task), protein.distance))
            count(1)
    scores = {name: ("protein", np.array([row[name] for row in rows])) for name in rows[0]}
    lengths = ("protein", np.array([len(protein) for protein in proteins]))
    names = [protein.name for protein in proteins]
    return xr.Dataset({**scores, "length": lengths}, {"protein": names})
