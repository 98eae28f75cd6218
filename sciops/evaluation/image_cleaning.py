"""Cleaning: the probability of every pixel, a mask, and an image with the masked pixels filled.

Images of any size are seen in overlapping tiles, of each of which the core is kept.  A network of
finite reach computes there what it would compute on the whole image, so there are no seams; one
that sees a whole window at once has its windows as tiles.  What is in memory besides the image and
its answers is one tile.
"""

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from sciops.backbones.folding import folded
from sciops.backbones.image_masks import ImageMask
from sciops.cosmic.inpainting import inpaint
from sciops.cosmic.local_statistics import LocalStatistics, local_statistics
from sciops.data.progress import progress_bar
from sciops.data.tiles import Tile, even_size, tiles

TILE = 512  # pixels along a side, at most


class Cleaned(NamedTuple):
    """All of the shape of the image (h, w)."""

    image: np.ndarray  # masked pixels filled from those around them; type and units of the image
    mask: np.ndarray  # bool
    probability: np.ndarray  # float32; mask is probability > threshold


def clean(
    model: ImageMask,
    image: np.ndarray,
    *,
    threshold: float = 0.5,
    tile: int | None = None,
    overlap: int | None = None,
    saturation: float | None = None,
    unknown: np.ndarray | None = None,
    progress: bool = False,
) -> Cleaned:
    """Find the cosmic rays of an image (h, w) in any units, and fill their pixels.

    tile:       pixels along a side of a tile, at most; None is 512.  A network that sees all of
                its window has windows as tiles
    overlap:    pixels that neighbouring tiles share; None is what the network needs
    saturation: pixels from here on are never flagged: they may be stars as well
    unknown:    pixels that have no meaning, as NaN have none; they are never flagged, and left as
                they are
    """
    image = _checked_image(image)
    if not 0 <= threshold < 1:
        raise ValueError(f"threshold={threshold!r} must be a probability, 0 ≤ threshold < 1")
    chances = probabilities(
        model, image, tile=tile, overlap=overlap, unknown=unknown, progress=progress
    )
    if saturation is not None:
        chances[image >= saturation] = 0
    mask = chances > threshold
    return Cleaned(inpaint(image, mask, unknown), mask, chances)


def probabilities(
    model: ImageMask,
    image: np.ndarray,
    *,
    tile: int | None = None,
    overlap: int | None = None,
    unknown: np.ndarray | None = None,
    progress: bool = False,
) -> np.ndarray:
    """That each pixel of an image (h, w) is hit, float32; 0 where the image is not finite.

    Options are those of `clean`.
    """
    answer = logits(model, image, tile=tile, overlap=overlap, unknown=unknown, progress=progress)
    return torch.from_numpy(answer).sigmoid_().numpy()


def logits(
    model: ImageMask,
    image: np.ndarray,
    *,
    tile: int | None = None,
    overlap: int | None = None,
    unknown: np.ndarray | None = None,
    progress: bool = False,
) -> np.ndarray:
    """log p/(1 − p) of these probabilities, float32; −∞ where the image is not finite."""
    image = _checked_image(image)
    largest, margin = _tiling(model, tile, overlap)
    canvas = _canvas(image, unknown, model.step, model.window if model.of_one_size else (1, 1))
    inside = canvas[: image.shape[0], : image.shape[1]]
    fast = folded(model)
    answer = np.empty(canvas.shape, np.float32)
    places = _places(model, tuple(canvas.shape), largest, margin)
    at_once = max(1, TILE**2 // math.prod(largest))
    with (
        torch.inference_mode(),
        progress_bar("cleaning", len(places), shown=progress, unit="tiles") as count,
    ):
        local = local_statistics(inside, model.window, fast.statistics, tuple(canvas.shape))
        for first in range(0, len(places), at_once):
            some = places[first : first + at_once]
            for place, y in zip(some, _windows(fast, canvas, local, some), strict=True):
                answer[place.core] = y[place.inner]
            count(len(some))
    answer = np.ascontiguousarray(answer[: image.shape[0], : image.shape[1]])
    answer[inside.isnan().numpy()] = -np.inf
    return answer


def _places(
    model: ImageMask, shape: tuple[int, ...], largest: tuple[int, int], margin: int
) -> list[Tile]:
    if model.reach is None:
        return list(tiles(shape, largest, margin, model.step))
    ways = zip(shape, largest, strict=True)
    size = tuple(even_size(n, most, margin, model.step) for n, most in ways)
    return list(tiles(shape, size, margin, model.step))


def _windows(
    model: ImageMask, canvas: Tensor, local: LocalStatistics, some: Sequence[Tile]
) -> np.ndarray:
    """Logits of windows, (tile, h, w)."""
    device = next(model.parameters()).device
    x = torch.stack([canvas[place.window] for place in some])[:, None].to(device)
    parts = zip(*(local.within(*place.window) for place in some), strict=True)
    statistics = tuple(torch.cat(part).to(device) for part in parts)
    return model(x, statistics)[:, 0].float().cpu().numpy()


# --- what is cleaned, and how it is cut -----------------------------------------------------------


def _checked_image(image: np.ndarray) -> np.ndarray:
    image = np.asarray(image)
    if image.ndim != 2 or 0 in image.shape:
        raise ValueError(f"expected an image (h, w), got an array of shape {image.shape}")
    if not np.issubdtype(image.dtype, np.integer) and not np.issubdtype(image.dtype, np.floating):
        raise ValueError(f"expected an image of real numbers, got {image.dtype}")
    return image


def _canvas(
    image: np.ndarray, unknown: np.ndarray | None, step: int, least: tuple[int, int]
) -> Tensor:
    """The image in single or double precision, with NaN wherever nothing is known.

    NaN also make it as large as the network needs it: they are seen as sky.
    """
    single = image.dtype.itemsize <= 2 or image.dtype.newbyteorder("=") == np.float32
    size = [-(-max(n, m) // step) * step for n, m in zip(image.shape, least, strict=True)]
    canvas = np.full(size, np.nan, np.float32 if single else np.float64)
    inside = canvas[: image.shape[0], : image.shape[1]]
    inside[...] = image
    inside[~np.isfinite(inside)] = np.nan
    if unknown is not None:
        if np.shape(unknown) != image.shape:
            raise ValueError(
                f"unknown= must have the shape of the image, {image.shape}, got {np.shape(unknown)}"
            )
        inside[np.asarray(unknown, bool)] = np.nan
    if np.isnan(inside).all():
        raise ValueError("the image has no pixel that is a finite number: there is nothing to see")
    return torch.from_numpy(canvas)


def _tiling(model: ImageMask, tile: int | None, overlap: int | None) -> tuple[tuple[int, int], int]:
    """The largest size of tiles, (h, w), and their margin, multiples of the network's step."""
    step, reach = model.step, model.reach
    for name, value in (("tile", tile), ("overlap", overlap)):
        if value is not None and (not isinstance(value, int) or value < 0):
            raise ValueError(f"{name}={value!r} must be a whole number of pixels")
    if reach is None:
        if tile is not None:
            raise ValueError(
                f"this network sees a whole window of {model.window} pixels at once, so these are "
                f"its tiles: leave tile={tile} out"
            )
        size, usual = model.window, min(model.window) // 8
    else:
        size, usual = (max(TILE, 8 * reach) if tile is None else tile,) * 2, reach
    margin = usual if overlap is None else -(-overlap // 2)
    if reach is not None and margin < reach:
        raise ValueError(
            f"overlap={overlap} leaves seams: this network reaches {reach} pixels, so tiles must "
            f"share {2 * reach} or more"
        )
    height, width, margin = (-(-n // step) * step for n in (*size, margin))
    if min(height, width) <= 2 * margin:
        raise ValueError(
            f"tiles of {min(height, width)} pixels that share {2 * margin} get nowhere; use larger "
            "tiles"
        )
    return (height, width), margin
