"""Cosmic rays: learned masks beside LA Cosmic, on a real frame and on simulated exposures.

    python -m benchmarks.cosmic_accuracy FOLDER --data real,simulated --ops unet,unet-xd,fno,xd
    python -m benchmarks.cosmic_accuracy FOLDER --ops unet-xd --set arch_rate=0.01
    python -m benchmarks.cosmic_accuracy FOLDER --table          only print what is there

FOLDER has o4k19a010_flt.fits, two exposures of one field by Hubble's STIS.  Tiles of the left half
train, except for the last row, which validates; the right half tests, in both exposures.  Simulated
exposures need no file.

All scores are of the test pixels that are not to be ignored.  LA Cosmic (astroscrappy) has one mask
for each `sigclip`; its scores are those of the curve through all of these, straight between them.
It has a row for each of some settings: the best of them on test data is more than it can promise.

Writes benchmarks/results/cosmic_accuracy.csv, a row for each run, and cosmic_accuracy.md.
Interrupted, it goes on where it stopped.
"""

import argparse
import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import sciops
from benchmarks.results import FOLDER, Rows, markdown, mean_and_spread
from sciops.atomic import write_text
from sciops.cosmic.lacosmic import Noise, lacosmic_rates
from sciops.cosmic.stamps import Stamp, stamps_of
from sciops.metrics.mask import RocCurve
from sciops.runs.cosmic_run import COSMIC

KEY = ("data", "op", "settings", "seed")
FILE = "o4k19a010_flt.fits"
SETTINGS = {"real": dict(epochs=60), "simulated": {}}  # instead of the recipe's
LACOSMIC = (  # how much sharper than a star, and the threshold beside a hit; 5 and 0.3 are usual
    dict(objlim=2),
    dict(objlim=5),
    dict(objlim=2, sigfrac=0.1),
    dict(objlim=5, sigfrac=0.1),
)
SHOWN = {
    "auroc": "1 − AUROC",
    "average_precision": "average precision",
    "fnr_1e-3": "missed at 0.1 % false positives",
    "fnr_1e-2": "at 1 %",
}


def data_of(name: str, folder: Path):
    """What `train_cosmic` is given: a tree, or None for simulated exposures."""
    return sciops.read("cosmic", folder / FILE) if name == "real" else None


def trained(data, op: str, settings: dict[str, Any], out: Path) -> dict[str, Any]:
    """The scores of one run."""
    run = sciops.train_cosmic(op, data=data, out=out, progress=False, **settings)
    scores = {name: run.metrics[f"test_{name}"] for name in SHOWN}
    val = run.history["val_masked_bce"]
    return {
        **scores,
        "f1": run.metrics["test_f1"],
        "val_masked_bce": val.min(),
        "best_epoch": int(val.idxmin()) + 1,
        "epochs": len(val),
        "train_seconds": run.metrics["train_seconds"],
        "parameters": run.metrics["parameters"],
    }


def lacosmic(data, options: dict[str, float]) -> dict[str, float]:
    """The scores of LA Cosmic on the test stamps, which needs no training."""
    tree = COSMIC.chosen(data, dict.fromkeys(COSMIC.counts), progress=False)[0]
    test = tree["test"].to_dataset()
    stamps = stamps_of(test)
    camera = {"gain": test.attrs.get("gain"), "read_noise": test.attrs.get("read_noise")}
    noise = Noise(**{name: value for name, value in camera.items() if value is not None})
    parts = ([getattr(s, part) for s in stamps] for part in ("image", "mask", "ignore"))
    rates = lacosmic_rates(*parts, noise=noise, **options)
    return of_curve(rates, share_of_hits(stamps))


def share_of_hits(stamps: list[Stamp]) -> float:
    """Among the pixels that are not to be ignored."""
    return float(np.mean(np.concatenate([s.mask[s.ignore == 0] for s in stamps]) != 0))


def of_curve(rates: RocCurve, share: float) -> dict[str, float]:
    """Scores of the curve through some points, (0, 0) and (1, 1).

    Average precision has the precision of each point for the hits that it adds; those that no point
    finds are found among all pixels.

    >>> rates = RocCurve(np.array([0.1]), np.array([0.5]), np.array([1.0]))
    >>> found = of_curve(rates, 0.5)  # ½ · 0.1 · 0.5 + 0.9 · 0.75;  ½ · 0.5/0.6 + ½ · ½
    >>> round(found["auroc"], 3), round(found["average_precision"], 3), found["fnr_1e-2"]
    (0.7, 0.667, 0.95)
    """
    order = np.lexsort((rates.true_positive_rate, rates.false_positive_rate))
    false = np.r_[0, rates.false_positive_rate[order], 1]
    true = np.maximum.accumulate(np.r_[0, rates.true_positive_rate[order], 1])
    taken = true * share + false * (1 - share)
    precision = np.divide(true * share, taken, out=np.ones_like(true), where=taken > 0)
    return {
        "auroc": float(np.trapezoid(true, false)),
        "average_precision": float(np.sum(np.diff(true) * precision[1:])),
        "fnr_1e-3": 1 - float(np.interp(1e-3, false, true)),
        "fnr_1e-2": 1 - float(np.interp(1e-2, false, true)),
    }


def summary(rows: Rows) -> str:
    """Mean ± spread over the seeds, as Markdown."""
    lines = []
    for (name, op, settings), found in rows.table.groupby(list(KEY[:-1]), sort=False):
        line = {"data": name, "op": op, "settings": settings}
        found = found.assign(auroc=1 - found["auroc"])  # of which three digits say more
        line |= {title: mean_and_spread(found[score]) for score, title in SHOWN.items()}
        if "train_seconds" in found and found["train_seconds"].notna().any():
            line["seconds of training"] = f"{found['train_seconds'].median():.0f}"
            line["parameters"] = f"{found['parameters'].iloc[0]:.0f}"
        lines.append(line)
    text = "# Cosmic rays: mean ± standard deviation (seeds)\n\n"
    machines = "\n".join(f"- {m}" for m in rows.table["machine"].unique())
    return text + markdown(pd.DataFrame(lines).fillna("")) + f"\n\nMachines:\n{machines}\n"


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("folder", type=Path)
    parser.add_argument("--data", default="real,simulated")
    parser.add_argument("--ops", default="unet,unet-xd,fno,xd")
    parser.add_argument("--seeds", default="0,1,2")
    parser.add_argument(
        "--set", action="append", default=[], help="name=value of another setting, as JSON"
    )
    parser.add_argument("--runs", type=Path, default=Path("out/cosmic"), help="folder of the runs")
    parser.add_argument("--results", type=Path, default=FOLDER)
    parser.add_argument("--table", action="store_true", help="only print what is there")
    chosen = parser.parse_args()
    rows = Rows("cosmic_accuracy", KEY, chosen.results)
    for name in [] if chosen.table else chosen.data.split(","):
        _all_of(rows, name, chosen)
    if len(rows.table):
        print(_written(rows, chosen.results))


def _all_of(rows: Rows, name: str, chosen) -> None:
    data = data_of(name, chosen.folder)
    for options in LACOSMIC:
        words = " ".join(f"{option}={value}" for option, value in options.items())
        key = dict(data=name, op="astroscrappy", settings=words, seed="-")
        rows.get(key, lambda options=options: lacosmic(data, options))
    settings = {n: json.loads(value) for n, value in (s.split("=") for s in chosen.set)}
    words = " ".join(sorted(chosen.set)) or "-"
    for seed in map(int, chosen.seeds.split(",")):
        for op in chosen.ops.split(","):
            key = dict(data=name, op=op, settings=words, seed=seed)
            out = chosen.runs / "-".join(map(str, key.values())).replace(" ", "-")
            how = {**SETTINGS[name], "seed": seed, **settings}
            row = rows.get(key, lambda o=op, how=how, f=out: trained(data, o, how, f))
            print(f"{name} {op} seed {seed}: missed {row['fnr_1e-3']:.4f}", flush=True)
            _written(rows, chosen.results)


def _written(rows: Rows, folder: Path) -> str:
    text = summary(rows)
    write_text(folder / "cosmic_accuracy.md", text)
    return text


if __name__ == "__main__":
    main()
