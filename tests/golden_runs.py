"""Golden runs: folders that earlier versions wrote, with predictions that must never change.

    tests/golden/VERSION/NAME/            a run as `open_run` opens it, one epoch of a tiny network
    tests/golden/VERSION/NAME/golden.safetensors      x, an input, and y, what its model predicts
    tests/golden/VERSION/search/          the result of a search, as `load_search` opens it
    tests/golden/VERSION/grammar-search/  two trials, as `read_grammar_search` reads them
    tests/golden/VERSION/trimmed/         the plain network that DNArch found
    tests/golden/VERSION/store-NAME/      a store of fields, or of proteins, and its values

`python -m tests.golden_runs` adds those of this version that are missing.  What is there is never
made anew: that later versions can open it is the promise.
"""

import shutil
import tempfile
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import numpy as np
import torch
from safetensors.torch import load_file, save_file
from torch import Tensor, nn

import sciops
from sciops.backbones import CLASSIFIERS
from sciops.data.ragged_store import write_ragged
from sciops.data.store import open_store, write
from sciops.runs import OPERATORS, TASKS
from sciops.runs.trimming import FOLDER as TRIMMED
from sciops.runs.trimming import open_trimmed
from sciops.searching.engine import run_search
from sciops.searching.result import SearchResult
from sciops.vision.collection import read_tree as images_of
from tests import grammar_search_toy, run_toy, search_toy, task_toys

GOLDEN = Path(__file__).parent / "golden"
FILES = ("config.json", "model.json", "model.safetensors", "metrics.csv")
GRAMMAR_FILES = (*FILES, "search.json", "journal.log")
TERM = "Linear2(lift4, Linear2(Linear2(conv3, relu), fourier2))"
ONE = dict(epochs=1)
FORECASTS = ("3d", "steps")
PDE = {
    **run_toy.NETWORKS,
    "dnarch": dict(width=4, blocks=1),
    "neuralop": dict(width=4, modes=2),
    "unet": dict(width=2),
    "term": dict(term=TERM),
}
MODES = dict(weights="modes", depth=[1, 0, 1], tilt=0.5, gain=2.0)
BOTH = dict(weights="both", depth=[1, 0, 1], gain=2.0)
PROTEIN = {"xd-hybrid": dict(channels=2, frequencies=2, taps=3), "unet": dict(depth=None, width=2)}
COSMIC = {
    **{key: dict(hidden=4, frequencies=2) for key in ("fno", "xd")},
    **{key: dict(depth=4) for key in ("resnet", "resnet-xd", "resnet-xd-grid")},
}
SEQUENCES = dict(network="text-cnn", width=4, side=4)
VISION = {
    **dict.fromkeys(("xd", "conv", "discrete", "klayer", "linear"), SEQUENCES),
    "kop": dict(start="scratch", depth=2, **SEQUENCES),
    "dnarch": dict(width=4, blocks=1),
    "term": dict(term=TERM),
}
NETWORKS = {
    "spherical-cnn": dict(side=17),
    "resnet20": dict(depth=8, side=8),
    "text-cnn": dict(width=4),
    "ccnn": dict(width=4, blocks=1),
    "lenet": dict(side=16),
}
LEFT_OUT = ("wide-lenet",)  # LeNet, wider: 1.4 MB

Maker = Callable[[Path], object]


def makers() -> Iterator[tuple[str, Maker]]:
    """The name of every golden run, and what trains it: each operator, and each network."""
    for op in OPERATORS:
        yield f"pde-{op}", lambda out, op=op: run_toy.darcy(out, op, **ONE, **_small(PDE, op))
    yield "pde-xd-modes", lambda out: run_toy.darcy(out, "xd", **ONE, **MODES)
    yield "pde-xd-both", lambda out: run_toy.darcy(out, "xd", **ONE, **BOTH)
    for kind in FORECASTS:
        yield f"flow-{kind}", lambda out, kind=kind: run_toy.flow(out, forecast=kind, **ONE)
    for op in TASKS["protein"]:
        yield f"protein-{op}", lambda out, op=op: _protein(out, op)
    for op in TASKS["music"]:
        yield f"music-{op}", lambda out, op=op: task_toys.train_music(out, op, **ONE)
    for op in TASKS["cosmic"]:
        small = _small(COSMIC, op)
        yield (
            f"cosmic-{op}",
            lambda out, op=op, s=small: task_toys.train_cosmic(out, op, **ONE, **s),
        )
    for op in TASKS["vision"]:
        yield f"vision-{op}", lambda out, op=op: _vision(out, op, **_small(VISION, op))
    for network in [name for name in CLASSIFIERS if name not in LEFT_OUT]:
        how = dict(network=network, **_small(NETWORKS, network))
        yield f"network-{network}", lambda out, how=how: _vision(out, "conv", **how)


def _protein(out: Path, op: str):
    options = {**task_toys.PROTEIN, "data": task_toys.proteins(), **ONE, **_small(PROTEIN, op)}
    return sciops.train_protein(op, out=out, **{n: v for n, v in options.items() if v is not None})


def _vision(out: Path, op: str, *, side: int = 4, **how):
    return task_toys.train_vision(out, op, data=_images(side), **ONE, **how)


def _images(side: int):
    """Noise in three classes."""
    rng, sizes = np.random.default_rng(0), {"train": 9, "val": 3, "test": 3}
    made = {s: (rng.random((n, side, side)), np.arange(n) % 3) for s, n in sizes.items()}
    return images_of(made, classes=["low", "middle", "high"])


def _small(options: dict[str, dict], op: str) -> dict:
    return options.get(op, {})


def made(name: str, make: Maker, folder: Path) -> Path:
    """Train a run and keep of it what `open_run` needs, with an input and a prediction."""
    with tempfile.TemporaryDirectory() as place:
        run = make(Path(place) / "run")
        folder.mkdir(parents=True)
        for file in FILES:
            shutil.copy(run.path / file, folder / file)
        x = input_of(run)
        save_file({"x": x, "y": output_of(run.model, x)}, folder / "golden.safetensors")
    return folder


def input_of(run) -> Tensor:
    """Random numbers of the task's size, (1, channel, *space)."""
    generator = torch.Generator().manual_seed(0)
    sizes = [axis.size for axis in run.task.axes]
    return torch.randn(1, run.task.in_channels, *sizes, generator=generator)


def output_of(model: nn.Module, x: Tensor) -> Tensor:
    with torch.no_grad():
        return model.eval()(x).contiguous()


def search(folder: Path) -> SearchResult:
    """A search around a small network, on two kinds of images."""
    how = dict(training=search_toy.quick(1), space="xd", controls=False, folder=folder)
    torch.manual_seed(0)
    return run_search(search_toy.LeNet, *search_toy.data(), search_toy.cross_entropy, **how)


def made_search(folder: Path) -> None:
    with tempfile.TemporaryDirectory() as place:
        result = search(Path(place) / "search")
        kept = folder / "kept"
        folder.mkdir(parents=True)
        result.save(kept)
        save_file(
            {"x": result.sample, "y": output_of(result.model, result.sample)},
            folder / "golden.safetensors",
        )


def made_grammar_search(folder: Path) -> None:
    """What of its folder is read again."""
    with tempfile.TemporaryDirectory() as place:
        result = grammar_search_toy.searched(Path(place) / "search", "random", trials=2)
        for file in (f for f in result.path.rglob("*") if f.name in GRAMMAR_FILES):
            if "checkpoints" not in file.parts:
                kept = folder / "kept" / file.relative_to(result.path)
                kept.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(file, kept)
        x = input_of(result.run)
        save_file({"x": x, "y": output_of(result.model, x)}, folder / "golden.safetensors")


def made_trimmed(folder: Path) -> None:
    with tempfile.TemporaryDirectory() as place:
        run = run_toy.darcy(Path(place) / "run", "dnarch", **ONE, **PDE["dnarch"])
        shutil.copytree(run.path / TRIMMED, folder / TRIMMED)
        x = input_of(run)
        save_file({"x": x, "y": output_of(open_trimmed(folder), x)}, folder / "golden.safetensors")


STORES = {
    "fields": lambda path: write(path, run_toy.lines()),
    "proteins": lambda path: write_ragged(path, task_toys.proteins()),
}


def made_store(name: str, folder: Path) -> None:
    folder.mkdir(parents=True)
    STORES[name](folder / "kept.zarr")
    save_file(values_of(folder), folder / "golden.safetensors")


def values_of(folder: Path) -> dict[str, Tensor]:
    """All variables and coordinates of a golden store, every file of which is verified."""
    tree = open_store(folder / "kept.zarr", full=True)
    return {
        f"{split}/{name}": torch.from_numpy(np.array(values))
        for split, part in tree.children.items()
        for name, values in part.variables.items()
    }


def golden(folder: Path) -> tuple[Tensor, Tensor]:
    """Input and prediction of a golden folder."""
    kept = load_file(folder / "golden.safetensors")
    return kept["x"], kept["y"]


def main() -> None:
    here = GOLDEN / sciops.__version__
    for name, make in makers():
        if not (here / name).exists():
            made(name, make, here / name)
            size = sum(file.stat().st_size for file in (here / name).iterdir())
            print(f"{name}: {size} bytes", flush=True)
    others = {"search": made_search, "trimmed": made_trimmed}
    others |= {"grammar-search": made_grammar_search}
    others |= {f"store-{name}": partial(made_store, name) for name in STORES}
    for name, make in others.items():
        if not (here / name).exists():
            make(here / name)


if __name__ == "__main__":
    main()
