"""The work of sciops that may be killed: stores, states and models, runs, searches, pages."""

import contextlib
import json
import warnings
from functools import partial
from importlib import import_module
from pathlib import Path

import numpy as np
import pandas as pd
import torch

import sciops
from sciops.checkpoint import load_model, load_state, save_model, save_state
from sciops.data.ragged_store import open_ragged, write_ragged
from sciops.data.store import open_store
from sciops.grammars.grammar import parse_grammar
from sciops.runs.grammar_result import STUDY, read_grammar_search
from sciops.searching.engine import run_search
from sciops.searching.result import load_search
from sciops.searching.spaces import make_space
from sciops.searching.strategies import make_strategy
from sciops.searching.term_candidates import TermCandidates
from sciops.studies.journal import FILE
from sciops.studies.proposers import BayesProposer
from sciops.studies.study import read_study
from tests.data.ragged_toy import toy_splits
from tests.faults.victim import Result, Victim, contents
from tests.grammar_search_toy import GRAMMAR, SMALL, searched
from tests.run_toy import lines, on_lines
from tests.search_toy import LeNet, cross_entropy, data, mistakes, quick

WARM = (
    *(
        "dask.array",
        "filelock",
        "google_crc32c",
        "matplotlib.backends.backend_svg",
        "scipy.fftpack",
    ),
    *("sciops.domains.darcy", "sciops.domains.recipe", "sciops.plots.field_panels", "zarr.codecs"),
    *("optuna", "optuna.storages.journal", "scipy.optimize", "sciops.studies.gaussian_process"),
    *("sciops.reporting.report", "pandas.io.formats.csvs", "matplotlib.backends.backend_svg"),
)  # so that the time of a victim is that of its work, not of imports within functions
for module in WARM:
    with contextlib.suppress(ImportError):
        import_module(module)
SAVES = 4  # of the victim that only saves
TIMES = ("seconds", "train_seconds")
LOCKS = ("claim.lock", "journal.log.lock")  # of a study, which several processes may share
OPTIONS = {"bilevel": {}, "joint": {}, "restarts": {"cycles": 2}, "random": {"members": 2}}


# --- stores ---------------------------------------------------------------------------------------


def generate(folder: Path) -> None:
    how = dict(resolution=33, n_test=8, workers=2, progress=False)
    sciops.generate("darcy", 56, out=folder / "store.zarr", **how)


def make_file(folder: Path) -> None:
    """Of someone else."""
    rng = np.random.default_rng(0)
    fields = {name: rng.random((400, 48, 48), np.float32) + 1 for name in ("coeff", "sol")}
    np.savez(folder / "theirs.npz", **fields)


def convert(folder: Path) -> None:
    fields = {"a": "coeff", "u": "sol"}
    with warnings.catch_warnings(action="ignore"):  # it solves no equation
        sciops.read("darcy", folder / "theirs.npz", fields=fields, out=folder / "store.zarr")


def of_store(folder: Path) -> Result:
    """Every byte, if there is a store; it opens, and every file has its hash."""
    path = folder / "store.zarr"
    if not path.exists():
        return {}
    open_store(path, full=True)
    return {"store": contents(path)}


def write_proteins(folder: Path) -> None:
    write_ragged(folder / "store", toy_splits())


def of_ragged_store(folder: Path) -> Result:
    path = folder / "store"
    if not path.exists():
        return {}
    open_ragged(path)
    return {"store": contents(path)}


# --- states and models ----------------------------------------------------------------------------


def save(folder: Path) -> None:
    """One after another; everything in a save has its number."""
    for number in range(1, SAVES + 1):
        tensors = {"a": torch.full((2**18,), float(number)), "b": torch.full((3,), number)}
        save_state(folder / "state", {**tensors, "number": number}, {"number": number}, keep=1)
        save_model(folder / "model", tensors, {"number": number})


def of_saves(folder: Path) -> Result:
    """The number of each save; an error if parts of it are of different ones."""
    found = {}
    if any((folder / "state").glob("save-*")):
        found["state"] = _only_number(*load_state(folder / "state"))
    if (folder / "model" / "model.json").exists():
        found["model"] = _only_number(*load_model(folder / "model"))
    return found


def _only_number(tensors: dict, notes: dict) -> int:
    number = notes["number"]
    if not (tensors["a"] == number).all() or tensors["b"].tolist() != [number] * 3:
        raise ValueError(f"a mixture of saves: {number}, {tensors}")
    return number


def is_a_save(name: str, value) -> bool:
    return value in range(1, SAVES + 1)


# --- runs and searches ----------------------------------------------------------------------------


def train(folder: Path) -> None:
    on_lines(folder / "run", epochs=6)


def of_run(folder: Path) -> Result:
    """The run if it is finished; before that, whether what it would go on from is whole."""
    path, found = folder / "run", {}
    if any(path.glob("checkpoints/save-*")):
        state, _ = load_state(path / "checkpoints")
        found["epochs"] = len(state["history"])
    if (path / "metrics.csv").exists():
        found["rows"] = len(pd.read_csv(path / "metrics.csv"))
    if (path / "model.json").exists():
        run = sciops.open_run(path)
        found["weights"] = _bytes_of(run.model)
        found["scores"] = {k: v for k, v in run.metrics.items() if k not in TIMES}
        found["history"] = run.history.drop(columns="seconds").to_dict("records")
    return found


def is_an_epoch(name: str, value) -> bool:
    return name in ("epochs", "rows") and value in range(1, 6)


def _bytes_of(model: torch.nn.Module) -> dict[str, bytes]:
    return {k: v.contiguous().numpy().tobytes() for k, v in model.state_dict().items()}


def search(strategy: str, folder: Path) -> None:
    """Three networks and a search, of three epochs each."""
    run_search(
        LeNet,
        *data(8),
        cross_entropy,
        metric=mistakes,
        training=quick(3),
        space=make_space("kop", start="scratch", depth=2),
        strategy=make_strategy(strategy, **OPTIONS[strategy]),
        folder=folder / "search",
        progress=False,
    )


def of_search(folder: Path) -> Result:
    path, found = folder / "search", {}
    if (path / "journal.json").exists():
        json.loads((path / "journal.json").read_text())
    for states in path.glob("trainings/*"):
        if any(states.glob("save-*")):
            load_state(states)
    try:
        result = load_search(path)
    except ValueError as error:
        if "not finished" in str(error) or "is not a search" in str(error):
            return {}
        raise
    found["architecture"] = {k: v.numpy().tobytes() for k, v in result.architecture.items()}
    for name in ("trials", "history", "distances"):
        table = getattr(result, name).drop(columns="seconds", errors="ignore")
        found[name] = table.astype(str).to_dict("records")
    return found


def search_grammar(folder: Path) -> None:
    """Three networks of two epochs, the last proposed by a surrogate."""
    searched(folder / "search", BayesProposer(initial=2, evolution=SMALL), trials=3)


def of_grammar_search(folder: Path) -> Result:
    """Every trial that is finished, with its score and its run; what was found, if all are."""
    path, found = folder / "search", {}
    if not (path / STUDY / FILE).exists():
        return found
    space = TermCandidates(parse_grammar(GRAMMAR), connected=True).space()
    for record in read_study(path / STUDY, space).records:
        if record.state != "running":
            run = sciops.open_run(path / STUDY / "trials" / f"{record.number:05}" / "run")
            found[f"trial {record.number}"] = str(record.candidate), record.state, record.score
            found[f"weights {record.number}"] = _bytes_of(run.model)
    if (path / "trials.csv").exists():
        result = read_grammar_search(path)
        found["trials"] = result.trials.drop(columns="seconds").fillna(-1).to_dict("records")
    return found


# --- pages ----------------------------------------------------------------------------------------


def train_briefly(folder: Path) -> None:
    on_lines(folder / "run")
    (folder / "run" / "report.html").write_text("an older page")


def report(folder: Path) -> None:
    run = sciops.open_run(folder / "run")
    run.data = lines()
    run.report()


def of_page(folder: Path) -> Result:
    return {**of_run(folder), "page": (folder / "run" / "report.html").read_bytes()}


def is_the_older_page(name: str, value) -> bool:
    return name == "page" and value == b"an older page"


VICTIMS = (
    Victim("generation", generate, of_store),
    Victim("conversion", convert, of_store, prepare=make_file),
    Victim("ragged store", write_proteins, of_ragged_store),
    Victim("states and models", save, of_saves, is_a_save),
    Victim("training", train, of_run, is_an_epoch),
    *(Victim(f"search by {s}", partial(search, s), of_search) for s in OPTIONS),
    Victim("search in a grammar", search_grammar, of_grammar_search, stays=LOCKS),
    Victim("report", report, of_page, is_the_older_page, prepare=train_briefly),
)
