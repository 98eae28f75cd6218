"""When the hierarchical kernel pays: what the coarse levels of the tables of networks explain.

    python -m benchmarks.grammar_levels

    variance     1 − (W / (n − g)) / (T / (n − 1)), the share of the scores' variance that the g
                 different graphs of a level explain; W, T: squares within the graphs, and in all
    constructed  Kendall's τ for scores √s c + √(1 − s) f on the same terms: c is a random number
                 of each graph of level 1, f the mean of random numbers of the whole graph's labels
    paired       hierarchical less flat on the same seeds, of what `grammar_search` measured

Reads benchmarks/results/grammar_*.csv of `grammar_search`, writes grammar_levels.csv and .md.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from benchmarks.grammar_search import HELD_OUT
from benchmarks.grammar_search import KEY as SEARCHES
from benchmarks.grammar_tables import SPACES, Table, table_of
from benchmarks.results import FOLDER, Rows, markdown
from sciops.atomic import write_text
from sciops.grammars.labelled_graph import LabelledGraph
from sciops.studies.calibration import rank_correlation
from sciops.studies.candidates import KERNELS, Trial

EPOCHS, SEEDS = 10, 10
SHARES, LEARNED = (0.0, 0.1, 0.25, 0.5), (20, 50)
KEY = ("group", "space", "arm", "seed")
Levels = Sequence[LabelledGraph]  # of one term, from coarse to fine


def explained(graphs: Sequence[LabelledGraph], scores: np.ndarray) -> float:
    """The share of the variance between graphs, without what as many random groups explain.

    >>> one, two = LabelledGraph(("conv",), ()), LabelledGraph(("xd",), ())
    >>> explained([one, one, two, two], np.array([0.0, 0.0, 1.0, 1.0]))
    1.0
    """
    table = pd.DataFrame({"graph": pd.factorize(pd.Series(graphs))[0], "score": scores})
    within = table["score"] - table.groupby("graph")["score"].transform("mean")
    free = len(table) - table["graph"].nunique()
    return float(1 - (within**2).sum() / free / table["score"].var()) if free else float("nan")


def constructed(terms: Sequence[Levels], share: float, rng: np.random.Generator) -> np.ndarray:
    """Scores of variance one, of which level 1 decides a share, (term,)."""
    numbers: dict[Any, float] = {}

    def number(key: Any) -> float:
        return numbers.setdefault(key, rng.normal())

    coarse = np.array([number(levels[1]) for levels in terms])
    fine = np.array([np.mean([number(label) for label in levels[-1].labels]) for levels in terms])
    parts = [(part - part.mean()) / part.std() for part in (coarse, fine)]
    return np.sqrt(share) * parts[0] + np.sqrt(1 - share) * parts[1]


def ranked(table: Table, share: float, learned: int, seed: int) -> dict[str, float]:
    """Kendall's τ of either kernel for the same constructed scores and terms."""
    rng = np.random.default_rng([seed, 1])
    terms = list(table.scores)
    scores = constructed([table.space.levels(term) for term in terms], share, rng)
    trials = [Trial(terms[i], scores[i]) for i in rng.permutation(len(terms))]
    held_out = trials[learned : learned + HELD_OUT]
    found = {k: rank_correlation(table.space, trials[:learned], held_out, k) for k in KERNELS}
    return {**found, "difference": found["hierarchical"] - found["flat"]}


def measured(rows: Rows, table: Table) -> None:
    scores = np.array(list(table.scores.values()))
    levels = [table.space.levels(term) for term in table.scores]
    for level in range(len(levels[0]) - 1):
        graphs = [each[level] for each in levels]
        key = {"group": "variance", "space": table.name, "arm": f"level {level}", "seed": 0}
        found = {"graphs": len(set(graphs)), "share": explained(graphs, scores)}
        rows.get(key, lambda found=found: found)
    for share in SHARES:
        for learned in LEARNED:
            arm = f"share {share}, {learned} terms"
            for seed in range(SEEDS):
                key = {"group": "constructed", "space": table.name, "arm": arm, "seed": seed}
                job = lambda s=share, n=learned, seed=seed: ranked(table, s, n, seed)
                rows.get(key, job)


def paired(searches: pd.DataFrame) -> pd.DataFrame:
    """Differences of what was measured of both kernels, (grammar and quantity)."""
    lines = []
    tau = searches[searches["group"] == "tau"].copy()
    tau[["kernel", "terms"]] = tau["arm"].str.split(", ", expand=True)
    strategies = searches[searches["group"] == "strategies"].copy()
    strategies["kernel"] = strategies["arm"].map(
        {"bayes": "hierarchical", "bayes, flat kernel": "flat"}
    )
    strategies["terms"] = "trials"
    for found, column in ((tau, "tau"), (strategies, "trials")):
        for (space, what), rows in found.groupby(["space", "terms"], sort=False):
            both = rows.pivot_table(column, ["epochs", "seed"], "kernel").dropna()
            lines.append(
                {
                    "grammar": space,
                    "what": what if column == "trials" else f"τ, {what}",
                    **{k: f"{both[k].mean():.3f}" for k in KERNELS},
                    "difference": mean_and_error(both["hierarchical"] - both["flat"]),
                }
            )
    return pd.DataFrame(lines)


def mean_and_error(values: pd.Series) -> str:
    """mean ± standard error of the mean.

    >>> mean_and_error(pd.Series([0.1, 0.3]))
    '+0.200 ± 0.100'
    """
    return f"{values.mean():+.3f} ± {values.sem():.3f}"


def summary(rows: Rows, searches: Rows) -> str:
    table = rows.table
    levels = table[table["group"] == "variance"]
    levels = [
        {
            "grammar": row["space"],
            "level": row["arm"].split()[1],
            "graphs": f"{row['graphs']:.0f}",
            "share": f"{row['share']:.3f}",
        }
        for _, row in levels.iterrows()
    ]
    found = table[table["group"] == "constructed"].groupby(["space", "arm"], sort=False)
    lines = [
        {
            "grammar": space,
            "scores": arm,
            **{k: f"{rows[k].mean():.3f}" for k in KERNELS},
            "difference": mean_and_error(rows["difference"]),
        }
        for (space, arm), rows in found
    ]
    return (
        "# Levels of grammars and the hierarchical kernel\n\n"
        "## variance\n\nThe share of the scores' variance that the graphs of a coarse level "
        f"explain.\n\n{markdown(pd.DataFrame(levels))}\n\n"
        "## paired\n\nHierarchical less flat on the same seeds, mean ± standard error.\n\n"
        f"{markdown(paired(searches.table))}\n\n"
        "## constructed\n\nKendall's τ for scores of which level 1 decides a share, "
        f"mean ± standard error of the paired difference.\n\n{markdown(pd.DataFrame(lines))}\n"
    )


def main(folder: Path = FOLDER) -> None:
    rows = Rows("grammar_levels", KEY, folder)
    for space in SPACES:
        measured(rows, Table(table_of(space, folder), space, EPOCHS))
    text = summary(rows, Rows("grammar_search", SEARCHES, folder))
    write_text(rows.file.with_suffix(".md"), text)
    print(text)


if __name__ == "__main__":
    main()
