"""How long the Gaussian process of a thousand terms takes, of spaces too large for tables.

    python -m benchmarks.grammar_fit

    graphs    the graphs of all terms, level by level, which searches make once for each term
    fit       kernels of all levels and depths, and the likeliest weights and noise
    predict   means and deviations of 200 other terms

Seconds of CPU, one thread.  The score of a term is the share of the labels of its graph that begin
with "c", with some noise: any that graphs explain would do.

Writes benchmarks/results/grammar_fit.csv and .md.
"""

import time
from typing import Any

import numpy as np
import pandas as pd

from benchmarks.results import FOLDER, Rows, digits, markdown
from sciops.atomic import write_text
from sciops.grammars import ready_space
from sciops.searching.term_candidates import TermCandidates
from sciops.studies.gaussian_process import Levels, fit_gaussian_process

SPACES = ("fields", "nasbench201-hierarchical")
TERMS, OTHERS = 1000, 200
KEY = ("space", "terms")


def drawn(name: str, count: int) -> list[Levels]:
    """The graphs of random terms of a ready space, one and another."""
    ready = ready_space(name)
    candidates = TermCandidates(ready.grammar, connected=ready.connected)
    rng = np.random.default_rng(0)
    terms = [candidates.sample(rng) for _ in range(count)]
    return [candidates.levels(term) for term in dict.fromkeys(terms)]


def scores(candidates: list[Levels]) -> np.ndarray:
    labels = [levels[-1].labels for levels in candidates]
    share = [np.mean([label.startswith("c") for label in one]) for one in labels]
    return np.array(share) + 0.02 * np.random.default_rng(1).normal(size=len(share))


def measured(name: str, count: int = TERMS, others: int = OTHERS) -> dict[str, Any]:
    begun = time.process_time()
    candidates = drawn(name, count + others)
    made = time.process_time()
    known = candidates[:-others]
    process = fit_gaussian_process(known, scores(candidates)[:-others])
    fitted = time.process_time()
    process.predict(candidates[-others:])
    return {
        "levels": len(process.hyperparameters.depths),
        "nodes": float(np.mean([len(levels[-1].labels) for levels in known])),
        "graphs": made - begun,
        "fit": fitted - made,
        "predict": time.process_time() - fitted,
    }


def summary(table: pd.DataFrame) -> str:
    shown = table.drop(columns="machine").copy()
    for name in ("nodes", "graphs", "fit", "predict"):
        shown[name] = shown[name].map(digits)
    shown["levels"] = shown["levels"].astype(int)
    machines = "\n".join(f"- {m}" for m in dict.fromkeys(table["machine"]))
    return (
        "# The Gaussian process of a thousand terms: seconds of CPU\n\n"
        f"{markdown(shown)}\n\nMachines:\n{machines}\n"
    )


def main() -> None:
    rows = Rows("grammar_fit", KEY, FOLDER)
    for space in SPACES:
        row = rows.get({"space": space, "terms": TERMS}, lambda space=space: measured(space))
        print(space, dict(row), flush=True)
    write_text(rows.file.with_suffix(".md"), summary(rows.table))


if __name__ == "__main__":
    main()
