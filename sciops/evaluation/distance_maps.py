"""Distance maps of whole proteins, of any length, and their scores."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import torch
from torch import nn

from sciops.data.progress import progress_bar
from sciops.data.tiles import tiles
from sciops.metrics.distance_map import map_scores, symmetrised
from sciops.proteins.map_windows import check_features, input_map, on_canvas, window_size
from sciops.proteins.protein import Protein
from sciops.task import Task

if TYPE_CHECKING:
    import xarray as xr

CORE = 16  # points of a tile whose answers are kept, at least


def predict_map(
    model: nn.Module, protein: Protein, task: Task, *, whole: bool | None = None
) -> np.ndarray:
    """The distances (L, L) in Å, symmetric: the two answers for a pair are averaged, once.

    A chain no longer than the training window is seen as in training.  A longer one is seen at once
    by a network of finite reach, and in overlapping windows by any other.

    whole: whether a long chain is seen at once; None asks the network
    """
    check_features([protein], task)
    n, size = len(protein), window_size(task)
    reach = getattr(model, "reach", None)
    whole = reach is not None if whole is None else whole
    tile = size if reach is None else max(size, 2 * reach + CORE)  # shows a pair all it depends on
    was_training = model.training
    model.eval()
    try:
        with torch.inference_mode():
            if n > size and (whole or n <= tile):
                everything = input_map(protein, task, slice(None), slice(None))
                answer = model(torch.from_numpy(everything)[None])[0, 0].numpy()
            elif n > size and reach is not None:
                answer = _in_tiles(model, protein, task, tile, reach)
            else:
                answer = _in_tiles(model, protein, task, size, size // 8)
    finally:
        model.train(was_training)
    return symmetrised(answer)


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
