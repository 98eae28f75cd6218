"""Readers of what sciops itself wrote: stores, runs, checkpoints, searches, journals, grammars.

Their files carry hashes.  Damage is found by those; `repair` makes them right again, so that an
enemy's files, which have right hashes and wrong content, are tried too.
"""

import hashlib
import json
import tempfile
from collections.abc import Callable
from functools import cache
from pathlib import Path

import numpy as np
import torch
import xarray as xr

import sciops
from sciops import atomic
from sciops.checkpoint import load_state, save_state
from sciops.config import Optimisation, Training, training_from
from sciops.data.ragged_store import open_ragged, write_ragged
from sciops.data.samples import task_of
from sciops.data.schema import canonical, digest
from sciops.data.store import StoreError, chunk_files, open_store, write
from sciops.grammars.grammar import parse_grammar
from sciops.grammars.term import parse_term
from sciops.runs.comparison import _kept_epochs
from sciops.runs.folder import claim
from sciops.runs.grammar_result import read_grammar_search
from sciops.runs.trimming import open_trimmed
from sciops.searching.result import load_search
from sciops.searching.search_folder import claimed
from sciops.studies.study import read_study, run_study
from sciops.task import task_from
from tests.data.toy import toy
from tests.golden_runs import FILES, GOLDEN, TERM
from tests.grammar_search_toy import GRAMMAR, searched
from tests.search_toy import LeNet
from tests.studies import study_toy, term_toy

from .reader import Reader, Subject

RUNS = ("pde-xd", "pde-conv", "pde-term", "pde-dnarch", "flow-steps", "protein-conv")
RUNS += ("music-conv", "cosmic-resnet", "vision-discrete", "vision-term")
VERSION = GOLDEN / "0.1.0"


def files_of(folder: Path) -> Subject:
    """All files of a folder but locks."""
    found = sorted(p for p in folder.rglob("*") if p.is_file() and p.suffix != ".lock")
    return {p.relative_to(folder).as_posix(): p.read_bytes() for p in found}


def _made(make: Callable[[Path], object]) -> Subject:
    with tempfile.TemporaryDirectory() as folder:
        make(Path(folder) / "it")
        return files_of(Path(folder) / "it")


# -- hashes made right -----------------------------------------------------------------------------


def _loaded(data: bytes) -> object:
    try:
        return json.loads(data)
    except (ValueError, RecursionError):
        return None


def sign_pairs(subject: Subject) -> Subject:
    """Pairs of `sciops.atomic` whose JSON says what the tensors are."""
    signed = dict(subject)
    for name in [n for n in subject if n.removesuffix(".json") + ".safetensors" in subject]:
        document, tensors = _loaded(subject[name]), name.removesuffix(".json") + ".safetensors"
        if isinstance(document, dict) and isinstance(document.get("tensors"), dict):
            data = subject[tensors]
            sha = hashlib.sha256(data).hexdigest()
            document["tensors"] |= {"bytes": len(data), "sha256": sha}
            document.pop("sha256", None)
            document = {"sha256": atomic._digest(document), **document}
            signed[name] = json.dumps(document).encode()
    return signed


def sign_store(subject: Subject) -> Subject:
    """A store whose manifest says what its files are."""
    name = next(n for n in subject if n.endswith("manifest.json"))
    manifest = _loaded(subject[name])
    if not isinstance(manifest, dict) or not isinstance(manifest.get("files"), dict):
        return subject
    for file in manifest["files"].keys() & subject.keys():
        manifest["files"][file] = [len(subject[file]), digest(subject[file])]
    manifest.pop("hash", None)
    try:
        return {
            **subject,
            name: json.dumps({**manifest, "hash": digest(canonical(manifest))}).encode(),
        }
    except ValueError:  # NaN has no canonical form
        return subject


# -- stores ----------------------------------------------------------------------------------------


@cache
def _stores() -> list[Subject]:
    splits = {"train": toy(4, 3, frames=3), "test": toy(2, 3, frames=3, first=9)}
    return [_made(lambda path: write(path, splits))]


_GROUPS = ("train/zarr.json", "test/zarr.json", "train/x/zarr.json")


@cache
def _ragged() -> list[Subject]:
    words = xr.Dataset({"length": ("word", [2, 1]), "letter": ("character", [7.5, 8, 9])})
    return [_made(lambda path: write_ragged(path, {"train": words, "test": words}))]


def _read_store(folder: Path) -> None:
    """As training does: chunk by chunk, and then what xarray shows."""
    _chunks(folder, open_store(folder)).load()


def _read_ragged(folder: Path) -> None:
    _chunks(folder, open_ragged(folder)).load()


def _chunks(folder: Path, tree: xr.DataTree) -> xr.DataTree:
    for split, part in tree.children.items():
        for variable in part.variables:
            files = chunk_files(folder, split, variable)
            for i in range(len(files.files)):
                files.read_into(i, np.empty((files.length, *files.shape[1:]), files.dtype))
    return tree


def _read_tasks(folder: Path) -> None:
    """Of attributes alone: they have no other file to name."""
    try:
        tree = open_store(folder)
    except StoreError:
        return
    for part in tree.children.values():
        task_of(part.to_dataset())


# -- runs and checkpoints --------------------------------------------------------------------------


@cache
def _runs() -> list[Subject]:
    return [{name: (VERSION / run / name).read_bytes() for name in FILES} for run in RUNS]


@cache
def _trimmed() -> list[Subject]:
    files = files_of(VERSION / "trimmed")
    return [{name: data for name, data in files.items() if name.startswith("trimmed/")}]


@cache
def _states() -> list[Subject]:
    model = torch.nn.Linear(2, 3)
    state = {"model": model.state_dict(), 3: (1.5, float("inf"), 2**70, None, [True, "x"])}
    state["complex"] = torch.arange(3) * 1j
    return [_made(lambda path: save_state(path, state, {"epoch": 3}))]


@cache
def _searches() -> list[Subject]:
    return [files_of(VERSION / "search" / "kept")]


@cache
def _configs() -> list[Subject]:
    return [{"config.json": (VERSION / "pde-xd" / "config.json").read_bytes()}]


def _claim(folder: Path) -> None:
    """As a training does that takes a folder up again."""
    claim(folder, json.loads((VERSION / "pde-xd" / "config.json").read_bytes()))


def _claim_search(folder: Path) -> None:
    with claimed(folder, {"space": "xd", "epochs": 3}):
        pass


@cache
def _trainings() -> list[Subject]:
    rates = Optimisation(1e-3), Optimisation(1e-2, "sgd", schedule="step")
    training = Training(5, 8, *rates, symmetries=("flip",), coarse=0.5)
    return [{"training.json": json.dumps(training.as_dict()).encode()}]


@cache
def _tasks() -> list[Subject]:
    tasks = [json.loads((VERSION / run / "model.json").read_bytes()) for run in RUNS]
    return [{"task.json": json.dumps(task["notes"]["task"]).encode()} for task in tasks]


def _json(read: Callable[[dict], object]) -> Callable[[Path], None]:
    """Of a document that is one."""

    def run(folder: Path) -> None:
        document = _loaded(next(folder.iterdir()).read_bytes())
        if isinstance(document, dict):
            read(document)

    return run


# -- studies and grammars --------------------------------------------------------------------------


@cache
def _journals() -> list[Subject]:
    def study(path: Path) -> None:
        run_study(study_toy.reporting, term_toy.space(), "random", 4, path)

    return [{"journal.log": _made(study)["journal.log"]}]


@cache
def _grammar_searches() -> list[Subject]:
    made = _made(lambda path: searched(path, "random", trials=2))
    kept = ("search.json", "journal.log", "model.json", "model.safetensors", "metrics.csv")
    return [{name: data for name, data in made.items() if Path(name).name in kept}]


def _text(read: Callable[[str], object]) -> Callable[[Path], object]:
    return lambda folder: read(next(folder.iterdir()).read_bytes().decode(errors="replace"))


READERS = [
    Reader("store", _stores, _read_store, repair=sign_store),
    Reader("ragged", _ragged, _read_ragged, repair=sign_store),
    Reader("attributes", _stores, _read_tasks, _GROUPS, repair=sign_store, names_file=False),
    Reader("run", _runs, sciops.open_run, repair=sign_pairs),
    Reader("trimmed", _trimmed, open_trimmed, repair=sign_pairs),
    Reader("checkpoint", _states, load_state, repair=sign_pairs),
    Reader("search", _searches, lambda f: load_search(f, LeNet), repair=sign_pairs),
    Reader("grammar-search", _grammar_searches, read_grammar_search, repair=sign_pairs),
    Reader("journal", _journals, lambda f: read_study(f, term_toy.space())),
    Reader("config", _configs, _claim),
    Reader(
        "search-config", lambda: [{"search.json": b'{"space": "xd", "epochs": 3}'}], _claim_search
    ),
    Reader(
        "comparison",
        lambda: [{"epochs.json": b'{"seconds": 60.0, "epochs": {"xd": 3, "fno": 5}}'}],
        lambda f: _kept_epochs(f / "epochs.json", 60.0),
    ),
    Reader("training", _trainings, _json(training_from), names_file=False),
    Reader("task", _tasks, _json(task_from), names_file=False),
    Reader(
        "grammar", lambda: [{"g.txt": GRAMMAR.encode()}], _text(parse_grammar), names_file=False
    ),
    Reader("term", lambda: [{"t.txt": TERM.encode()}], _text(parse_term), names_file=False),
]
