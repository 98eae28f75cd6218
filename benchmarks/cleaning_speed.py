"""How fast images are cleaned: networks beside LA Cosmic, and how much memory a large one takes.

    OMP_NUM_THREADS=1 python -m benchmarks.cleaning_speed --ops unet,unet-xd --size 1024
    OMP_NUM_THREADS=1 python -m benchmarks.cleaning_speed --memory 4096

Megapixels a second of a simulated exposure, from the image to mask and filled image, the median of
interleaved repeats.  Networks are those of the recipe.  Weights do not matter for time, so they are
not trained, and flag the 0.2 % of the pixels with the largest answers.  LA Cosmic (astroscrappy)
has up to four rounds and fills its pixels, too.

Writes benchmarks/results/cleaning_speed.csv, cleaning_memory.csv and cleaning_speed.md.  What is
there already is not measured again.
"""

import argparse
from collections.abc import Callable
from functools import cache, partial
from pathlib import Path

import numpy as np
import torch

from benchmarks.measure import peak_megabytes, side_by_side
from benchmarks.results import FOLDER, Rows, digits, markdown
from sciops.atomic import write_text
from sciops.backbones.image_masks import mask_network
from sciops.cosmic.crops import cosmic_task
from sciops.cosmic.simulator import READ_NOISE, simulated_stamp
from sciops.evaluation.image_cleaning import clean, probabilities
from sciops.runs.cosmic import RECIPES

KEY = ("method", "recipe", "threads", "size")
UNITS = {"megapixels_per_second": "megapixels/s", "peak_megabytes": "peak memory, MB"}
TILE = 512  # simulated exposures that an image is put together from
FLAGGED = 0.002


def image_of(size: int) -> np.ndarray:
    """A simulated exposure (size, size), in electrons."""
    count = -(-size // TILE)
    parts = [simulated_stamp(k, size=min(TILE, size)).image for k in range(min(4, count**2))]
    rows = [[parts[(i * count + j) % len(parts)] for j in range(count)] for i in range(count)]
    return np.block(rows)[:size, :size]


def network_cleaner(op: str, recipe: str, image: np.ndarray) -> Callable[[], None]:
    window, options, _ = RECIPES[recipe]
    torch.manual_seed(0)
    model = mask_network(cosmic_task(window), op, **options).eval()
    part = probabilities(model, image[:256, :256])
    threshold = float(np.quantile(part, 1 - FLAGGED))
    return lambda: clean(model, image, threshold=threshold)


def lacosmic_cleaner(image: np.ndarray) -> Callable[[], None]:
    from astroscrappy import detect_cosmics

    return lambda: detect_cosmics(image, readnoise=READ_NOISE, niter=4)


def cleaners(ops: list[str], recipe: str, image: np.ndarray) -> dict[str, Callable[[], None]]:
    """What is compared, by name."""
    own = {op: network_cleaner(op, recipe, image) for op in ops}
    return {**own, "astroscrappy": lacosmic_cleaner(image)}


def speeds(ops: list[str], recipe: str, size: int, repeats: int) -> dict[str, dict[str, float]]:
    """Seconds and megapixels a second of each."""
    image = image_of(size)
    runs = cleaners(ops, recipe, image)
    seconds = dict(zip(runs, side_by_side(list(runs.values()), repeats), strict=True))
    return {
        name: {"seconds": one, "megapixels_per_second": image.size / 1e6 / one}
        for name, one in seconds.items()
    }


def memory(ops: list[str], recipe: str, size: int) -> dict[str, dict[str, float]]:
    """Highest resident memory above that before, when the image was there already."""
    runs = cleaners(ops, recipe, image_of(size))
    return {name: {"peak_megabytes": peak_megabytes(run)} for name, run in runs.items()}


def summary(*tables: Rows) -> str:
    text = "# Cleaning\n\n"
    for table in (rows.table for rows in tables if len(rows.table)):
        shown = table[list(KEY)].copy()
        for column, title in UNITS.items():
            if column in table:
                shown[title] = table[column].map(digits)
        text += markdown(shown) + "\n\n"
    machines = {m: None for rows in tables for m in rows.table.get("machine", [])}
    return text + "Machines:\n" + "\n".join(f"- {m}" for m in machines) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--ops", default="unet,unet-xd")
    parser.add_argument("--recipes", default="quick,paper")
    parser.add_argument("--size", type=int, default=1024, help="of the image that is timed")
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--memory", type=int, help="instead, memory of an image of this size")
    parser.add_argument("--results", type=Path, default=FOLDER)
    chosen = parser.parse_args()
    timed, held = (Rows(f"cleaning_{what}", KEY, chosen.results) for what in ("speed", "memory"))
    ops = chosen.ops.split(",")
    for recipe in chosen.recipes.split(","):
        if chosen.memory:
            measure = partial(memory, ops, recipe, chosen.memory)
            _keep(held, ops, recipe, chosen.memory, measure)
        else:
            measure = partial(speeds, ops, recipe, chosen.size, chosen.repeats)
            _keep(timed, ops, recipe, chosen.size, measure)
    text = summary(timed, held)
    write_text(chosen.results / "cleaning_speed.md", text)
    print(text)


def _keep(rows: Rows, ops: list[str], recipe: str, size: int, measure: Callable[[], dict]) -> None:
    """A row for each method; all are measured together, if one is not there."""
    once = cache(measure)
    for method in (*ops, "astroscrappy"):
        key = dict(method=method, recipe=recipe, threads=torch.get_num_threads(), size=size)
        rows.get(key, lambda method=method: once()[method])


if __name__ == "__main__":
    main()
