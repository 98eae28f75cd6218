"""Searches: spaces, strategies, transfer and NOS, on images and on Darcy flow.

    python -m benchmarks.search_accuracy FOLDER --groups spaces,strategies,transfer,nos,darcy
    python -m benchmarks.search_accuracy FOLDER --groups spaces --data digits --seeds 0,1,2
    python -m benchmarks.search_accuracy FOLDER --table         only print what is there

FOLDER has mnist_5k.csv.gz, MNIST's first 5000 images as a table; the digits need no file.

    spaces      LeNet, and what its convolutions become, on plain and on permuted images
    strategies  on K-operations from scratch, permuted images, the same number of epochs
    transfer    an operation found on digits, frozen, its weights trained on MNIST of 8 × 8 pixels
    nos         networks of cells: guided, unguided, random; on plain images (of MNIST half of them,
                with 14 × 14 pixels) and on Darcy 32²
    darcy       what FNO's convolutional network becomes, under one budget

Images: accuracy in percent, the more the better.  Darcy: relative L2, the less the better.
`supernet` has the weights of the search, `offline` those trained anew with what was found.

Writes benchmarks/results/search_accuracy.csv, a row for each run, and search_accuracy.md.
Interrupted, it goes on where it stopped.
"""

import argparse
import shutil
from collections.abc import Callable, Iterator
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd
import torch
import torch.nn.functional as F

import sciops
from benchmarks.results import FOLDER, Rows, markdown, mean_and_spread
from sciops.atomic import write_text
from sciops.backbones import make_classifier
from sciops.config import changed
from sciops.evaluation.classes import evaluate_classes
from sciops.metrics.classes import cross_entropy
from sciops.runs.problems import FIELD_COUNTS, FIELD_GRIDS, FIELD_NETWORK
from sciops.runs.vision import recipe_of
from sciops.searching.space import freeze
from sciops.training import fit
from sciops.vision.samples import ImageSamples

KEY = ("group", "data", "arm", "epochs", "seed")
MNIST = "mnist_5k.csv.gz"
SPLITS = ("train", "val", "test")
IMAGES: dict[str, Any] = {}  # n_train=, n_val=, n_test=: so many only
DARCY: dict[str, Any] = {}  # resolution=, n_train=, width=, …: others than the usual
CELLS: dict[str, Any] = {}  # width=, n_cells=, n_nodes= of space nos
COARSE, FEWER = 14, 1750  # MNIST in the group nos: pixels of an axis, and training images
SCRATCH = dict(space="kop", start="scratch")
SPACES = {
    "discrete": dict(space="discrete"),
    "xd depth 3": dict(space="xd", depth=3),
    "kop scratch": SCRATCH,
    "kop warm": dict(space="kop"),
    "linear": dict(space="linear"),
    "klayer": dict(space="klayer", depth=2),
}
STRATEGIES = {
    "joint": dict(strategy="joint"),
    "restarts": dict(strategy="restarts"),
    "bilevel, first order": dict(strategy="bilevel", order=1),
    "bilevel, second order": dict(strategy="bilevel", order=2),
    "random": dict(strategy="random"),
}
NOS = {
    "guided": dict(strategy="bilevel", guidance=1000.0),
    "unguided": dict(strategy="bilevel"),
    "random": dict(strategy="random"),
}
PUBLISHED = {  # CIFAR-10, plain and permuted, supernet / offline: Roberts et al. 2020; 2021 for †
    ("spaces", "lenet"): ("– / 75.8", "– / 58.9"),
    ("spaces", "discrete"): ("75.6 / – †", "47.7 / – †"),
    ("spaces", "xd depth 3"): ("77.7 / – †", "63.0 / – †"),
    ("spaces", "kop scratch"): ("75.3 / 73.8", "74.7 / 73.0"),
    ("spaces", "kop warm"): ("76.4 / 76.5", "70.2 / 69.6"),
    ("spaces", "linear"): ("– / 59.2", "– / 59.6"),
    ("spaces", "klayer"): ("– / 68.6", "– / 66.2"),
    ("strategies", "joint"): ("", "75.3 / 73.8 (plain)"),
    ("strategies", "restarts"): ("", "76.8 / 75.4 (plain)"),
    ("strategies", "bilevel, first order"): ("", "51.3 / 57.9 (plain)"),
    ("strategies", "bilevel, second order"): ("", "70.3 / 71.9 (plain)"),
    ("strategies", "random"): ("", "– / 56.8 (plain)"),
    ("nos", "guided"): ("– / 97.3", ""),
    ("nos", "unguided"): ("– / 96.6", ""),
    ("nos", "random"): ("– / 96.2", ""),
}


class Chosen(NamedTuple):
    """What is asked for: images, Darcy flow or not, epochs of a training, folder of searches."""

    folder: Path
    data: list[str]
    fields: bool
    epochs: int
    runs: Path


Job = tuple[dict[str, str], Callable[[int, Path], dict[str, Any]]]  # key; of seed and folder


# --- data -----------------------------------------------------------------------------------------


def images(folder: Path, data: str, variant: str, size: int | None = None, **counts):
    """A tree of digits or MNIST, perhaps of fewer pixels or images (n_train=), in a variant."""
    tree = sciops.load("vision") if data == "digits" else sciops.read("vision", folder / MNIST)
    counts |= IMAGES
    arrays = {split: _arrays(tree[split], counts.get(f"n_{split}"), size) for split in SPLITS}
    return sciops.read("vision", arrays, variant=variant, classes=tree.attrs["classes"])


def _arrays(split, count: int | None, size: int | None):
    pixels, labels = split["image"].values[:count], split["label"].values[:count]
    if size is not None:
        pixels = F.adaptive_avg_pool2d(torch.tensor(pixels), size).numpy()
    return pixels, labels


# --- measurements ---------------------------------------------------------------------------------


def searched(task: str, options: dict[str, Any], epochs: int, seed: int, out: Path, data=None):
    """The scores of one search."""
    known = dict(controls=False, progress=False, budget=epochs, seed=seed, out=out, data=data)
    result = sciops.search(task, **known, **options)
    best = result.trials.sort_values("val", kind="stable").groupby("evaluation")["test"].first()
    if result.notes["metric"] == "error_rate":
        best = 100 * (1 - best)
    return {
        "supernet": best.get("supernet", best.get("member")),  # of random search, the best member
        "offline": best.get("offline", best.get("fixed")),
        "search_seconds": result.cost["search_seconds"],
        "seconds": result.history["seconds"].sum(),
        "parameters": int(result.trials["parameters"].iloc[-1]),
    }


def image_search(arm: dict, chosen: Chosen, data: str, variant: str, seed: int, out: Path):
    cheaper = arm["space"] == "nos" and data == "mnist"
    less = dict(size=COARSE, n_train=FEWER) if cheaper else {}
    tree = images(chosen.folder, data, variant, **less)
    return searched("vision", arm, chosen.epochs, seed, out, tree)


def lenet(chosen: Chosen, data: str, variant: str, seed: int, out: Path) -> dict[str, Any]:
    """The network as it is."""
    tree = images(chosen.folder, data, variant)
    known = dict(epochs=chosen.epochs, seed=seed, out=out, progress=False)
    run = sciops.train_vision("conv", data=tree, **known)
    return {
        "offline": 100 * run.metrics["test_accuracy"],
        "seconds": run.metrics["train_seconds"],
        "parameters": run.metrics["parameters"],
    }


def transferred(chosen: Chosen, arm: str, variant: str, seed: int, out: Path) -> dict[str, Any]:
    """MNIST of 8 × 8 pixels with the operation found on digits, or with others to compare."""
    target = images(chosen.folder, "mnist", variant, size=8)
    if arm == "found on MNIST itself":
        return searched("vision", SCRATCH, chosen.epochs, seed, out, target)
    train, val, test = (ImageSamples(target[s].to_dataset()) for s in SPLITS)
    torch.manual_seed(seed)
    model = make_classifier(train.task, "padded-lenet").fit(train.x)
    if arm != "convolution":
        digits = images(chosen.folder, "digits", variant)
        known = dict(budget=chosen.epochs, seed=seed, out=out, controls=False, progress=False)
        found = sciops.search("vision", data=digits, **known, **SCRATCH)
        model = found.apply(model)
        if arm == "random":
            model = freeze(found.space.randomise(model, seed=seed))
    how = changed(recipe_of("quick"), epochs=chosen.epochs, seed=seed)
    history = fit(model, train, val, how, error=cross_entropy, progress=False)
    scores = evaluate_classes(
        model, test.x, test.y, test.task.classes, target["test"]["sample"].values, progress=False
    )
    return {
        "offline": 100 * float(scores["accuracy"].mean()),
        "seconds": history["seconds"].sum(),
        "parameters": sum(p.numel() for p in model.parameters()),
    }


def field_search(arm: dict, chosen: Chosen, seed: int, out: Path) -> dict[str, Any]:
    return searched("darcy", {**DARCY, **arm}, chosen.epochs, seed, out)


def field_network(chosen: Chosen, seed: int, out: Path) -> dict[str, Any]:
    """The network as it is, on the data of the searches."""
    usual = {"resolution": FIELD_GRIDS["darcy"], **FIELD_COUNTS, **FIELD_NETWORK[2], **DARCY}
    known = dict(epochs=chosen.epochs, seed=seed, out=out, augment=False, progress=False)
    run = sciops.train_pde("darcy", "conv", **known, **usual)
    return {
        "offline": run.metrics["test_relative_l2"],
        "seconds": run.metrics["train_seconds"],
        "parameters": run.metrics["parameters"],
    }


# --- jobs -----------------------------------------------------------------------------------------


def jobs(group: str, chosen: Chosen) -> Iterator[Job]:
    """What a group measures."""
    if group == "spaces":
        for data in chosen.data:
            for variant in ("plain", "permuted"):
                yield _key(data, variant, "lenet"), partial(lenet, chosen, data, variant)
                for arm, how in SPACES.items():
                    measure = partial(image_search, how, chosen, data, variant)
                    yield _key(data, variant, arm), measure
    if group == "strategies":
        for data in chosen.data:
            for arm, how in STRATEGIES.items():
                measure = partial(image_search, {**SCRATCH, **how}, chosen, data, "permuted")
                yield _key(data, "permuted", arm), measure
    if group == "transfer":
        for arm in ("found on digits", "found on MNIST itself", "random", "convolution"):
            measure = partial(transferred, chosen, arm, "permuted")
            yield _key("mnist 8²", "permuted", arm), measure
    if group == "nos":
        for data, (arm, how) in product(chosen.data, NOS.items()):
            cells = {"space": "nos", **CELLS, **how}
            name = f"mnist {COARSE}²" if data == "mnist" else data
            yield _key(name, "plain", arm), partial(image_search, cells, chosen, data, "plain")
        for arm, how in NOS.items() if chosen.fields else ():
            cells = {"space": "nos", **CELLS, **how}
            yield _key("darcy", "", arm), partial(field_search, cells, chosen)
    if group == "darcy":
        yield _key("darcy", "", "convolution"), partial(field_network, chosen)
        for arm, how in {"discrete": {}, "nos": CELLS, "xd": {}}.items():
            yield _key("darcy", "", arm), partial(field_search, {"space": arm, **how}, chosen)


def _key(data: str, variant: str, arm: str) -> dict[str, str]:
    return {"data": f"{data} {variant}".strip(), "arm": arm}


GROUPS = ("spaces", "strategies", "transfer", "nos", "darcy")


# --- tables ---------------------------------------------------------------------------------------


def summary(rows: Rows) -> str:
    """A table for each group, mean ± spread over the seeds beside what was published."""
    text = "# Searches: mean ± standard deviation (seeds)\n"
    table = rows.table
    for group, of_group in table.groupby("group", sort=False):
        lines = [
            _line(group, key, found)
            for key, found in of_group.groupby(["data", "arm", "epochs"], sort=False)
        ]
        text += f"\n## {group}\n\n{markdown(pd.DataFrame(lines).fillna(''))}\n"
    machines = "\n".join(f"- {m}" for m in dict.fromkeys(table.get("machine", [])))
    return f"{text}\nMachines:\n{machines}\n"


def _line(group: str, key: tuple[str, str, str], found: pd.DataFrame) -> dict[str, str]:
    data, arm, epochs = key
    line = {"data": data, "arm": arm, "epochs": epochs}
    for column in ("supernet", "offline"):
        values = found[column].dropna() if column in found else pd.Series(dtype=float)
        line[column] = mean_and_spread(values) if len(values) else "–"
    line["seconds"] = f"{found['seconds'].median():.0f}"
    line["parameters"] = f"{found['parameters'].iloc[0]:.0f}"
    known = ("", "") if data == "darcy" else PUBLISHED.get((group, arm), ("", ""))
    return {**line, "published, CIFAR-10": known[data.endswith("permuted")]}


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("folder", type=Path)
    parser.add_argument("--groups", default=",".join(GROUPS))
    parser.add_argument("--data", default="digits,mnist,darcy")
    parser.add_argument("--epochs", type=int, default=30, help="of every training")
    parser.add_argument("--seeds", default="0,1,2")
    parser.add_argument("--runs", type=Path, default=Path("out/searches"))
    parser.add_argument("--results", type=Path, default=FOLDER)
    parser.add_argument("--table", action="store_true", help="only print what is there")
    asked = parser.parse_args()
    pictures = [name for name in asked.data.split(",") if name != "darcy"]
    fields = "darcy" in asked.data.split(",")
    chosen = Chosen(asked.folder, pictures, fields, asked.epochs, asked.runs)
    rows = Rows("search_accuracy", KEY, asked.results)
    for seed in [] if asked.table else map(int, asked.seeds.split(",")):
        for group in asked.groups.split(","):
            measured(rows, group, seed, chosen)
    if len(rows.table):
        print(summary(rows))


def measured(rows: Rows, group: str, seed: int, chosen: Chosen) -> None:
    """All rows of a group for a seed; the folder of a search is there until its row is."""
    if group not in GROUPS:
        raise SystemExit(f"there is no group {group!r}; there are {', '.join(GROUPS)}")
    for name, measure in jobs(group, chosen):
        key = {"group": group, **name, "epochs": chosen.epochs, "seed": seed}
        out = chosen.runs / "-".join(map(str, key.values())).replace(" ", "-").replace(",", "")
        row = rows.get(key, lambda measure=measure, out=out: measure(seed, out))
        shutil.rmtree(out, ignore_errors=True)
        scores = {k: row.get(k) for k in ("supernet", "offline")}
        print(*name.values(), f"seed {seed}:", scores, flush=True)
        write_text(rows.file.with_suffix(".md"), summary(rows))


if __name__ == "__main__":
    main()
