"""Distances in real proteins: towers of several depths with several operators, cross-validated.

    python -m benchmarks.protein_accuracy FOLDER --ops conv,dilated,xd-grid,unet --depths 6,10,18
    python -m benchmarks.protein_accuracy FOLDER --table          only print what is there

FOLDER has alignments/, structures/ and indices/ (see `sciops.read("protein", …)`).  Of the proteins
in the order of their names, split k tests on those number k, k + 5, k + 10, …; two of the others
validate.  All towers have the same width, windows and number of epochs; a U-Net has no depth.

Writes benchmarks/results/protein_accuracy.csv, a row for each run, and protein_accuracy.md.
Interrupted, it goes on where it stopped.
"""

import argparse
from pathlib import Path
from typing import Any

import pandas as pd

import sciops
from benchmarks.results import FOLDER, Rows, markdown, mean_and_spread
from sciops.atomic import write_text
from sciops.metrics.distance_map import across_proteins, precision_scores
from sciops.proteins.collection import OWN, tree_of
from sciops.proteins.own_files import find_files, protein_from
from sciops.proteins.protein import Protein

KEY = ("op", "depth", "split", "seed")
SPLITS = 5
SETTINGS = dict(width=16, window=64, epochs=60, batch_size=4, rate=4e-3, dropout=0.1)
SHOWN = {
    "mae8": "MAE8, Å",
    "mae12": "MAE12, Å",
    "precision_L5": "precision L/5",
    "precision_L2": "L/2",
    "precision_L": "L",
    "precision_Nc": "Nc",
    "lddt": "lDDT",
}


def proteins_in(folder: Path) -> list[Protein]:
    """All proteins of a folder, in the order of their names."""
    return [protein_from(files, name) for name, files in sorted(find_files(folder).items())]


def divided(proteins: list[Protein], k: int) -> dict[str, list[Protein]]:
    """Split k of `SPLITS`."""
    test = proteins[k::SPLITS]
    others = [p for p in proteins if p not in test]
    return {"train": others[:-2], "val": others[-2:], "test": test}


def covariation(proteins: list[Protein], which: str) -> dict[str, Any]:
    """Contact precision of a covariation map alone; it predicts no distances."""
    scores = across_proteins(precision_scores(p.maps[which], p.distance) for p in proteins)
    return {name: scores[name] for name in SHOWN if name in scores}


def arms(ops: str, depths: str) -> list[tuple[str, str]]:
    """Every tower at every depth, and the U-Net once.

    >>> arms("conv,unet", "6,10")
    [('conv', '6'), ('unet', '-'), ('conv', '10')]
    """
    found = [(op, "-" if op == "unet" else d) for d in depths.split(",") for op in ops.split(",")]
    return list(dict.fromkeys(found))


def settings(op: str, depth: str) -> dict[str, Any]:
    """Of a run: the same for all towers, and for the U-Net those of them that it has."""
    if op == "unet":
        return {name: value for name, value in SETTINGS.items() if name != "dropout"}
    return dict(SETTINGS, depth=int(depth))


def trained(
    splits: dict[str, list[Protein]], op: str, depth: str, seed: int, out: Path
) -> dict[str, Any]:
    """The scores of one run on its test proteins."""
    how = dict(data=tree_of(splits, OWN), seed=seed, out=out, progress=False)
    run = sciops.train_protein(op, **how, **settings(op, depth))
    scores = {name: run.metrics[f"test_{name}"] for name in SHOWN}
    names = "val_log_cosh", "train_log_cosh", "train_seconds", "parameters"
    return scores | {name: run.metrics[name] for name in names}


def summary(table: pd.DataFrame) -> str:
    """Mean ± spread over the splits, as Markdown, towers in the order of their depths.

    Of a split it is the mean over the seeds that there are.
    """
    lines = []
    machines = "\n".join(f"- {m}" for m in table["machine"].unique())
    splits = table.drop(columns=["seed", "machine"]).groupby(["op", "depth", "split"], sort=False)
    table = splits.mean().reset_index()
    table = table.sort_values("depth", key=lambda d: d.replace("-", "0").astype(int), kind="stable")
    for (op, depth), rows in table.groupby(["op", "depth"], sort=False):
        cells = {
            title: mean_and_spread(rows[name].dropna())
            for name, title in SHOWN.items()
            if rows[name].notna().any()
        }
        seconds = f"{rows['train_seconds'].median():.0f}" if "train_seconds" in rows else ""
        if "val_log_cosh" in rows and rows["val_log_cosh"].notna().any():
            cells["validation loss"] = mean_and_spread(rows["val_log_cosh"])
        lines.append({"op": op, "depth": depth, **cells, "seconds": seconds.replace("nan", "")})
    text = "# Distances in real proteins: mean ± standard deviation (splits)\n\n"
    return text + markdown(pd.DataFrame(lines).fillna("")) + f"\n\nMachines:\n{machines}\n"


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("folder", type=Path)
    parser.add_argument("--ops", default="conv,dilated,xd-hybrid,xd-grid,unet")
    parser.add_argument("--depths", default="6,10,18")
    parser.add_argument("--splits", default=",".join(map(str, range(SPLITS))))
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--runs", type=Path, default=Path("out/protein"), help="folder of the runs")
    parser.add_argument("--results", type=Path, default=FOLDER)
    parser.add_argument("--table", action="store_true", help="only print what is there")
    chosen = parser.parse_args()
    rows = Rows("protein_accuracy", KEY, chosen.results)
    if not chosen.table:
        proteins = proteins_in(chosen.folder)
        for k in map(int, chosen.splits.split(",")):
            splits = divided(proteins, k)
            for which in ("mutual_information", "couplings"):
                key = dict(op=which, depth="-", split=k, seed=0)
                rows.get(key, lambda which=which, t=splits["test"]: covariation(t, which))
            for op, depth in arms(chosen.ops, chosen.depths):
                key = dict(op=op, depth=depth, split=k, seed=chosen.seed)
                out = chosen.runs / "-".join(str(part) for part in key.values() if part != "-")
                row = rows.get(
                    key, lambda s=splits, a=(op, depth, chosen.seed, out): trained(s, *a)
                )
                print(f"{op} {depth} split {k}: MAE8 {row['mae8']:.2f}", flush=True)
                write_text(chosen.results / "protein_accuracy.md", summary(rows.table))
    print(summary(rows.table))


if __name__ == "__main__":
    main()
