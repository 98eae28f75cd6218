"""Searches in grammars: strategies on a table of all small networks, and one search on Darcy flow.

    python -m benchmarks.grammar_search --groups table       800 networks, a quarter of an hour
    python -m benchmarks.grammar_search --groups strategies,tau
    python -m benchmarks.grammar_search --groups curves      a few minutes a grammar
    python -m benchmarks.grammar_search --groups darcy,confirm
    python -m benchmarks.grammar_search --table              only print what is there

    table       every term of a grammar, trained once on scikit-learn's digits; --space digits, of
                three levels, or digits-cells and digits-stages, of four with a repeated cell
    strategies  trials until a term of the best 1 % of the table is found
    curves      the best validation error after each of 40 trials, which nothing ends
    tau         Kendall's τ of the surrogate's predictions, on terms it has not seen
    darcy       the best term of the grammar `fields` on Darcy flow of 32² points, beside FNO and XD
                of as many parameters, all trained for as many epochs
    confirm     the same networks from other starts, seeds 1, 2, …; nothing is chosen any more

Errors are those of the validation data, which choose; test data are shown of what was chosen.

Writes benchmarks/results/grammar_<space>.csv, a row for each network, grammar_search.csv, a row for
each search, grammar_curves.csv, a row for each curve, and grammar_search.md.  Interrupted, it goes
on where it stopped.
"""

import argparse
import re
import time
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import sciops
from benchmarks.grammar_tables import BEST, SPACES, Table, table_of, tabulated
from benchmarks.results import FOLDER, Rows, digits, markdown, mean_and_spread
from sciops.atomic import write_text
from sciops.runs.problems import FIELD_COUNTS, FIELD_GRIDS
from sciops.studies.calibration import rank_correlation
from sciops.studies.candidates import Trial
from sciops.studies.proposers import make_proposer

GROUPS = ("table", "strategies", "curves", "tau", "darcy", "confirm")
KEY = ("group", "space", "arm", "epochs", "seed")
CURVE = ("space", "arm", "epochs", "seed")
DARCY: dict[str, Any] = {"resolution": FIELD_GRIDS["darcy"], **FIELD_COUNTS}
SEARCH: dict[str, Any] = {}  # grammar=, hidden=, …: others than the usual
ARMS = {
    "bayes": make_proposer("bayes"),
    "bayes, flat kernel": make_proposer("bayes", kernel="flat"),
    "evolution": make_proposer("evolution"),
    "random": make_proposer("random"),
}
LIMIT = 400  # trials of a search that does not find it
LENGTH, SHOWN = 40, (5, 10, 15, 20, 30, 40)  # trials of a curve, and those in the table
LEARNED, HELD_OUT = (10, 20, 50, 100), 200  # terms of which a surrogate learns, and is judged on


# --- measurements ---------------------------------------------------------------------------------


def search(table: Table, arm: str, seed: int) -> Iterator[Trial]:
    """The trials of a strategy, one after another."""
    space, trials = table.space, []
    while True:
        rng = np.random.default_rng([seed, len(trials)])
        term = ARMS[arm].propose(space, trials, [], rng)
        trials.append(Trial(term, table.scores[term]))
        yield trials[-1]


def searched(table: Table, arm: str, seed: int) -> dict[str, Any]:
    """Trials until one of the best terms is found, and test errors of what is chosen then."""
    trials, begun = [], time.process_time()
    for trial in islice(search(table, arm, seed), LIMIT):
        trials.append(trial)
        if trial.candidate in table.best:
            break
    chosen = min(trials, key=lambda trial: trial.score).candidate
    return {
        "trials": len(trials),
        "found": trials[-1].candidate in table.best,
        "val": float(table.table.loc[[chosen], "val_cross_entropy"].iloc[0]),
        "test": float(table.table.loc[[chosen], "test_cross_entropy"].iloc[0]),
        "cpu_seconds": time.process_time() - begun,
    }


def curve(table: Table, arm: str, seed: int) -> dict[str, Any]:
    """The least validation error so far after 1, 2, … trials."""
    begun = time.process_time()
    terms = [trial.candidate for trial in islice(search(table, arm, seed), LENGTH)]
    least = np.minimum.accumulate(table.table["val_cross_entropy"][terms].to_numpy())
    cost = {"cpu_seconds": time.process_time() - begun}
    return {**{str(number): value for number, value in enumerate(least, 1)}, **cost}


def curves(rows: Rows, table: Table, epochs: int, seed: int) -> None:
    for arm in ARMS:
        key = {"space": table.name, "arm": arm, "epochs": epochs, "seed": seed}
        row = rows.get(key, lambda arm=arm: curve(table, arm, seed))
        print("curves", table.name, arm, f"seed {seed}:", row[str(LENGTH)], flush=True)


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
    result = sciops.search(
        "darcy", "grammar", "bayes", epochs, progress=False, **known, **DARCY, **SEARCH
    )
    result.report()
    controls = result.trials[result.trials["role"] == "control"]
    networks = {f"best of {trials} terms": result.best}
    networks |= {row["trial"]: row for _, row in controls.iterrows()}
    for arm, row in networks.items():
        scores = {name: row[name] for name in ("val", "test", "parameters", "seconds", "term")}
        cost = result.cost["search_seconds"] if row["role"] == "search" else row["seconds"]
        key = {"group": "darcy", "space": "fields", "arm": arm, "epochs": epochs, "seed": seed}
        rows.get(key, lambda scores=scores, cost=cost: {**scores, "cost": cost})


def confirm(rows: Rows, epochs: int, seed: int, folder: Path) -> None:
    """What the search found and its controls, as they are written in the rows of `darcy`."""
    table = rows.table
    found = table[(table["group"] == "darcy") & (table["epochs"] == str(epochs))]
    if found.empty:
        raise SystemExit(f"{rows.file} has no search with {epochs} epochs; call --groups darcy")
    for known in found.to_dict("records"):
        own = _network(known)
        out = folder / f"confirm-{epochs}-{seed}" / own["op"]
        how = dict(epochs=epochs, seed=seed, out=out, progress=False, **DARCY, **own)
        key = {**known, "group": "confirm", "seed": seed}
        row = rows.get(key, lambda how=how: _trained(**how))
        print("confirm", known["arm"], f"seed {seed}:", row["test"], flush=True)


def _trained(**how) -> dict[str, Any]:
    scores = sciops.train_pde("darcy", **how).metrics
    errors = {split: scores[f"{split}_relative_l2"] for split in ("val", "test")}
    cost = {"parameters": scores["parameters"], "cost": scores["train_seconds"]}
    return {**errors, **cost, "term": how.get("term")}


def _network(row: dict[str, Any]) -> dict[str, Any]:
    """What a row of `darcy` is about, as `train_pde` wants it; controls have it in their names."""
    if isinstance(row["term"], str):
        return {"op": "term", "term": row["term"], "frame": "fields"}
    op, *sizes = row["arm"].split("-")
    parts = (re.fullmatch(r"([a-z]+)(\d+)", size) for size in sizes)
    return {"op": op, **{part[1]: int(part[2]) for part in parts}}


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

ABOUT = {
    "strategies": f"Trials until a term of the best {BEST:.0%} of a grammar is found, of networks "
    "on digits; cross entropy of what was chosen then.",
    "tau": f"Kendall's τ of predictions on up to {HELD_OUT} terms that were not learned from.",
    "darcy": "Relative L2 error on Darcy flow; all networks have as many epochs. The cost of the "
    "best term is that of the whole search.",
    "confirm": "The same networks, trained again from other starts, of which nothing is chosen.",
}


def summary(rows: Rows, curve_rows: Rows) -> str:
    """A table for each group, mean ± spread over the seeds; of curves medians and quartiles."""
    text = "# Searches in grammars: mean ± standard deviation (seeds)\n"
    for group, found in rows.table.groupby("group", sort=False):
        lines = [
            _line(group, key, rows)
            for key, rows in found.groupby(["space", "arm", "epochs"], sort=False)
        ]
        text += f"\n## {group}\n\n{ABOUT[group]}\n\n{markdown(pd.DataFrame(lines))}\n"
        if group == "darcy":
            best = found["term"].dropna()
            text += "\n" + "\n".join(f"    {term}" for term in best) + "\n"
    text += _curve_table(curve_rows.table)
    machines = "\n".join(f"- {m}" for m in dict.fromkeys(rows.table.get("machine", [])))
    return f"{text}\nMachines:\n{machines}\n"


def _curve_table(table: pd.DataFrame) -> str:
    if table.empty:
        return ""
    lines = []
    for (space, arm), found in table.groupby(["space", "arm"], sort=False):
        line = {"grammar": space, "arm": arm, "seeds": str(len(found))}
        for number in SHOWN:
            low, middle, high = found[str(number)].quantile((0.25, 0.5, 0.75))
            line[f"{number} trials"] = f"{digits(middle)} ({digits(low)} to {digits(high)})"
        lines.append(line)
    about = "The least validation cross entropy so far: median over seeds (quartiles)."
    return f"\n## curves\n\n{about}\n\n{markdown(pd.DataFrame(lines))}\n"


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
    if group == "darcy":
        line["cost, s"] = f"{found['cost'].median():.0f}"
    return line


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--groups", default=",".join(GROUPS))
    parser.add_argument("--space", default="digits", help=f"of the table: {', '.join(SPACES)}")
    parser.add_argument("--epochs", type=int, default=10, help="of every network of the table")
    parser.add_argument("--seeds", type=int, default=10, help="of strategies, curves and tau")
    parser.add_argument("--starts", type=int, default=3, help="of confirm")
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
    curve_rows = Rows("grammar_curves", CURVE, asked.results)
    groups = [] if asked.table else asked.groups.split(",")
    for group in groups:
        if group not in GROUPS:
            raise SystemExit(f"there is no group {group!r}; there are {', '.join(GROUPS)}")
        if group == "table":
            tabulated(networks, asked.space, asked.epochs)
        elif group == "darcy":
            darcy(rows, asked.darcy_epochs, asked.trials, asked.workers, 0, asked.runs)
        elif group == "confirm":
            for seed in range(1, asked.starts + 1):
                confirm(rows, asked.darcy_epochs, seed, asked.runs)
        else:
            table = Table(networks, asked.space, asked.epochs)
            for seed in range(asked.seeds):
                if group == "curves":
                    curves(curve_rows, table, asked.epochs, seed)
                else:
                    measured(rows, group, table, asked.epochs, seed)
        if len(rows.table) or len(curve_rows.table):
            write_text(rows.file.with_suffix(".md"), summary(rows, curve_rows))
    print(summary(rows, curve_rows))


if __name__ == "__main__":
    main()
