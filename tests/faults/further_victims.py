"""More work that may be killed: learned sizes, kept data, cleaned images, comparisons; and all."""

import os
from pathlib import Path
from unittest import mock

import numpy as np
import pandas as pd

import sciops
from sciops.data.store import open_store
from sciops.evaluation.cleaned_files import clean_file
from sciops.runs.comparison import compare
from sciops.runs.trimming import open_trimmed
from tests.cosmic.mask_toy import network, sky, stirred
from tests.cosmic.toy import write_fits
from tests.faults.victim import Result, Victim, contents
from tests.faults.victims import VICTIMS, _bytes_of, is_an_epoch, of_run
from tests.run_toy import COUNTS, lines

CLEANED = ("mask", "probability", "clean")
BRIEFLY = dict(epochs=3, batch_size=4, progress=False)


def learn_sizes(folder: Path) -> None:
    sizes = dict(op="dnarch", width=4, blocks=1, hidden=8)
    sciops.train_pde("burgers", data=lines(), out=folder / "run", **sizes, **BRIEFLY)


def of_both_networks(folder: Path) -> Result:
    """The run and, where there is one, the network without masks."""
    found = of_run(folder)
    if (folder / "run" / "trimmed" / "model.json").exists():
        found["trimmed"] = _bytes_of(open_trimmed(folder / "run"))
    return found


def keep(folder: Path) -> None:
    with mock.patch.dict(os.environ, SCIOPS_DATA_DIR=str(folder)):
        sciops.load("darcy", resolution=17, progress=False, **COUNTS)


def of_kept(folder: Path) -> Result:
    found = {}
    for store in folder.glob("darcy/*.zarr"):
        open_store(store, full=True)
        found[store.name] = contents(store)
    return found


def take_image(folder: Path) -> None:
    image = sky()[0]
    write_fits(folder / "a.fits", [{"SCI": image, "ERR": np.ones_like(image)}])


def clean(folder: Path) -> None:
    if not (folder / "a_clean.fits").exists():
        clean_file(stirred(network()), folder / "a.fits", threshold=0.01, progress=False)


def of_cleaned(folder: Path) -> Result:
    """Values, not bytes: headers have times."""
    from astropy.io import fits

    if not (folder / "a_clean.fits").exists():
        return {}
    found = {}
    for kind in CLEANED:
        with fits.open(folder / f"a_{kind}.fits", checksum=True) as hdus:
            found[kind] = [None if h.data is None else h.data.tobytes() for h in hdus]
    return found


def compare_two(folder: Path) -> None:
    compare("burgers", ["conv"], seeds=2, data=lines(), width=4, out=folder / "both", **BRIEFLY)


def of_comparison(folder: Path) -> Result:
    found = {}
    for run in sorted(folder.glob("both/conv-seed*")):
        if (run / "model.json").exists():
            found[run.name] = _bytes_of(sciops.open_run(run).model)
    if (folder / "both" / "comparison.csv").exists():
        table = pd.read_csv(folder / "both" / "comparison.csv")
        found["table"] = table.drop(columns=["seconds_per_epoch", "train_seconds"]).to_dict()
    return found


FURTHER = (
    Victim("learned sizes", learn_sizes, of_both_networks, is_an_epoch),
    Victim("kept data", keep, of_kept),
    Victim("cleaned image", clean, of_cleaned, prepare=take_image),
    Victim("comparison", compare_two, of_comparison),
)
ALL = (*VICTIMS, *FURTHER)
