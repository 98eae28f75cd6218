"""Searches in grammars: strategies on a table of all small networks, and one search on Darcy flow.

    python -m benchmarks.grammar_search --groups table       800 networks, a quarter of an hour
    python -m benchmarks.grammar_search --groups strategies,tau
    python -m benchmarks.grammar_search --groups darcy
    python -m benchmarks.grammar_search --table              only print what is there

    table       every term of a grammar, trained once on scikit-learn's digits; --space digits, of
                three levels, or digits-cells and digits-stages, of four with a repeated cell
    strategies  trials until a term of the best 1 % of the table is found
    tau         Kendall's τ of the surrogate's predictions, on terms it has not seen
    darcy       the best term of the grammar `fields` on Darcy flow of 32² points, beside FNO and XD
                of as many parameters, all trained for as many epochs

Errors are those of the validation data, which choose; test data are shown of what was chosen.

Writes benchmarks/results/grammar_<space>.csv, a row for each network, grammar_search.csv, a row for
each search, and grammar_search.md.  Interrupted, it goes on where it stopped.
"""

import argparse
import time
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import torch

import sciops
from benchmarks.results import FOLDER, Rows, markdown, mean_and_spread
from sciops.atomic import write_text
from sciops.backbones import term_network
from sciops.config import Optimisation, Training
from sciops.grammars import Term, all_terms, parse_term, ready_space
from sciops.metrics.classes import cross_entropy, error_rate
from sciops.runs.term_trials import LEAST_ERROR
from sciops.searching.term_candidates import TermCandidates
from sciops.studies.calibration import rank_correlation
from sciops.studies.candidates import CandidateSpace, Trial
from sciops.studies.proposers import make_proposer
from sciops.training import fit
from sciops.vision.samples import ImageSamples

GROUPS = ("table", "strategies", "tau", "darcy")
KEY = ("group", "space", "arm", "epochs", "seed")
SPACES = ("digits", "digits-cells", "digits-stages")
SPLITS = ("train", "val", "test")
IMAGES: dict[str, Any] = {}  # n_train=, n_val=, n_test=: so many only
DARCY: dict[str, Any] = {}  # resolution=, n_train=, …: others than the usual
ARMS = {
    "bayes": make_proposer("bayes"),
    "bayes, flat kernel": make_proposer("bayes", kernel="flat"),
    "evolution": make_proposer("evolution"),
    "random": make_proposer("random"),
}
BEST = 0.01  # the share of the table that is to be found
LIMIT = 400  # trials of a search that does not find it
LEARNED, HELD_OUT = (10, 20, 50, 100), 200  # terms of which a surrogate learns, and is judged on


# --- the table ------------------------------------------------------------------------------------


def table_of(space: str, folder: Path) -> Rows:
    return Rows(f"grammar_{space.replace('-', '_')}", ("term", "epochs"), folder)


def terms(space: str) -> list[Term]:
    return list(all_terms(ready_space(space).grammar))


def tabulated(rows: Rows, space: str, epochs: int) -> None:
    """Train every term of a space that is not in its table."""
    tree = sciops.load("vision", **IMAGES)
    samples = [ImageSamples(tree[split].to_dataset()) for split in SPLITS]
    known = rows.table
    known = set(known[known["epochs"] == str(epochs)]["term"])
    left = [term for term in terms(space) if str(term) not in known]
    for number, term in enumerate(left):
        key = {"term": str(term), "epochs": epochs}
        rows.get(key, lambda term=term: trained(term, samples, epochs))
        if number % 20 == 0:
            minutes = rows.table["cpu_seconds"].mean() * (len(left) - number) / 60
            print(f"{len(left) - number} networks left, {minutes:.0f} min of CPU", flush=True)


def trained(term: Term, samples: list[ImageSamples], epochs: int) -> dict[str, Any]:
    """Errors of a network, and what it took."""
    train, val, test = samples
    begun = time.process_time()
    torch.manual_seed(0)
    model = term_network(train.task, term).fit(train.x)
    rates = Optimisation(1e-2, ramp=0.1)
    fit(model, train, val, Training(epochs, 64, rates, rates), error=cross_entropy, progress=False)
    model.eval()
    errors = {}
    for split, found in (("val", val), ("test", test)):
        x, y = found.__getitems__(range(len(found)))
        with torch.no_grad():
            answer = model(x)
        errors[f"{split}_cross_entropy"] = float(cross_entropy(answer, y).mean())
        errors[f"{split}_error_rate"] = float(error_rate(answer, y).mean())
    parameters = sum(p.numel() for p in model.parameters())
    return {**errors, "parameters": parameters, "cpu_seconds": time.process_time() - begun}


class Table:
    """Scores of all terms, as searches see them."""

    def __init__(self, rows: Rows, name: str, epochs: int):
        table, self.name = rows.table, name
        table = table[table["epochs"] == str(epochs)]
        self.table = table.set_index(table["term"].map(parse_term))
        missing = len(terms(name)) - len(self.table)
        if missing:
            raise SystemExit(f"{missing} terms are not in {rows.file}; call --groups table first")
        self.scores = np.log(self.table["val_cross_entropy"] + LEAST_ERROR).to_dict()
        ranked = sorted(self.scores, key=self.scores.get)
        self.best = set(ranked[: max(1, round(BEST * len(ranked)))])

    @property
    def space(self) -> CandidateSpace[Term]:
        ready = ready_space(self.name)
        return TermCandidates(ready.grammar, connected=ready.connected).space()


# --- measurements ---------------------------------------------------------------------------------


def searched(table: Table, arm: str, seed: int) -> dict[str, Any]:
    """Trials until one of the best terms is found, and test errors of what is chosen then."""
    space, trials, begun = table.space, [], time.process_time()
    while len(trials) < LIMIT:
        rng = np.random.default_rng([seed, len(trials)])
        term = ARMS[arm].propose(space, trials, [], rng)
        trials.append(Trial(term, table.scores[term]))
        if term in table.best:
            break
    chosen = min(trials, key=lambda trial: trial.score).candidate
    return {
        "trials": len(trials),
        "found": trials[-1].candidate in table.best,
        "val": float(table.table.loc[[chosen], "val_cross_entropy"].iloc[0]),
        "test": float(table.table.loc[[chosen], "test_cross_entropy"].iloc[0]),
        "cpu_seconds": time.process_time() - begun,
    }


def correlated(table: Table, learned: int, kernel: str, seed: int) -> dict[str, Any]:
    """Kendall's τ of the predictions of terms that were not learned from."""
    order = np.random.default_rng(seed).permutation(len(table.scores))
    trials = [Trial(term, score) for term, score in table.scores.items()]
    chosen = [trials[i] for i in order]
    held_out = chosen[learned : learned + HELD_OUT]
    return {"tau": rank_correlation(table.space, chosen[:learned], held_out, kernel)}


def darcy(rows: Rows, epochs: int, trials: int, workers: int, seed: int, folder: Path) -> None:
    """One search; its folder is kept, and goes on."""
    known = dict(seed=seed, trials=trials, workers=workers, out=folder / f"darcy-{epochs}-{seed}")
    result = sciops.search("darcy", "grammar", "bayes", epochs, progress=False, **known, **DARCY)
    result.report()
    controls = result.trials[result.trials["role"] == "control"]
    networks = {f"best of {trials} terms": result.best}
    networks |= {row["trial"]: row for _, row in controls.iterrows()}
    for arm, row in networks.items():
        scores = {name: row[name] for name in ("val", "test", "parameters", "seconds", "term")}
        cost = result.cost["search_seconds"] if row["role"] == "search" else row["seconds"]
        key = {"group": "darcy", "space": "fields", "arm": arm, "epochs": epochs, "seed": seed}
        rows.get(key, lambda scores=scores, cost=cost: {**scores, "cost": cost})


def measured(rows: Rows, group: str, table: Table, epochs: int, seed: int) -> None:
    if group == "strategies":
        jobs = {arm: lambda arm=arm: searched(table, arm, seed) for arm in ARMS}
    else:
        jobs = {
            f"{kernel}, {n} terms": lambda n=n, kernel=kernel: correlated(table, n, kernel, seed)
            for n in LEARNED
            for kernel in ("hierarchical", "flat")
        }
    for arm, job in jobs.items():
        key = {"group": group, "space": table.name, "arm": arm, "epochs": epochs, "seed": seed}
        row = rows.get(key, job)
        print(group, arm, f"seed {seed}:", row["trials" if group == "strategies" else "tau"])


# --- tables ---------------------------------------------------------------------------------------


def summary(rows: Rows) -> str:
    """A table for each group, mean ± spread over the seeds."""
    text = "# Searches in grammars: mean ± standard deviation (seeds)\n"
    table = rows.table
    about = {
        "strategies": f"Trials until a term of the best {BEST:.0%} of a grammar is found, of "
        "networks on digits; cross entropy of what was chosen then.",
        "tau": f"Kendall's τ of predictions on up to {HELD_OUT} terms that were not learned from.",
        "darcy": "Relative L2 error on Darcy flow; all networks have as many epochs. The cost of "
        "the best term is that of the whole search.",
    }
    for group, found in table.groupby("group", sort=False):
        lines = [
            _line(group, key, rows)
            for key, rows in found.groupby(["space", "arm", "epochs"], sort=False)
        ]
        text += f"\n## {group}\n\n{about[group]}\n\n{markdown(pd.DataFrame(lines))}\n"
        if group == "darcy":
            best = found["term"].dropna()
            text += "\n" + "\n".join(f"    {term}" for term in best) + "\n"
    machines = "\n".join(f"- {m}" for m in dict.fromkeys(table.get("machine", [])))
    return f"{text}\nMachines:\n{machines}\n"


def _line(group: str, key: tuple[str, str, str], found: pd.DataFrame) -> dict[str, str]:
    line = dict(zip(("grammar", "arm", "epochs"), key, strict=True))
    if group == "tau":
        return {**line, "τ": mean_and_spread(found["tau"])}
    if group == "strategies":
        line |= {
            "trials": mean_and_spread(found["trials"]),
            "median": f"{found['trials'].median():.0f}",
        }
        line["found"] = f"{int(found['found'].astype(bool).sum())} of {len(found)}"
        return line | {name: mean_and_spread(found[name]) for name in ("val", "test")}
    line |= {name: mean_and_spread(found[name]) for name in ("val", "test")}
    line["parameters"] = f"{found['parameters'].iloc[0]:.0f}"
    return {**line, "cost, s": f"{found['cost'].median():.0f}"}


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--groups", default=",".join(GROUPS))
    parser.add_argument("--space", default="digits", help=f"of the table: {', '.join(SPACES)}")
    parser.add_argument("--epochs", type=int, default=10, help="of every network of the table")
    parser.add_argument("--seeds", type=int, default=10, help="of strategies and tau")
    parser.add_argument("--darcy-epochs", type=int, default=20)
    parser.add_argument("--trials", type=int, default=60, help="of the search on Darcy flow")
    parser.add_argument("--workers", type=int, default=1, help="of the search on Darcy flow")
    parser.add_argument("--runs", type=Path, default=Path("out/grammars"))
    parser.add_argument("--results", type=Path, default=FOLDER)
    parser.add_argument("--table", action="store_true", help="only print what is there")
    asked = parser.parse_args()
    if asked.space not in SPACES:
        parser.error(f"there is no table of {asked.space!r}; there are {', '.join(SPACES)}")
    networks = table_of(asked.space, asked.results)
    rows = Rows("grammar_search", KEY, asked.results)
    groups = [] if asked.table else asked.groups.split(",")
    for group in groups:
        if group not in GROUPS:
            raise SystemExit(f"there is no group {group!r}; there are {', '.join(GROUPS)}")
        if group == "table":
            tabulated(networks, asked.space, asked.epochs)
        elif group == "darcy":
            darcy(rows, asked.darcy_epochs, asked.trials, asked.workers, 0, asked.runs)
        else:
            table = Table(networks, asked.space, asked.epochs)
            for seed in range(asked.seeds):
                measured(rows, group, table, asked.epochs, seed)
        if len(rows.table):
            write_text(rows.file.with_suffix(".md"), summary(rows))
    if len(rows.table):
        print(summary(rows))


if __name__ == "__main__":
    main()
