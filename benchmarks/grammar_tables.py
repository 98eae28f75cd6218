"""All networks of a small grammar, trained once: what searches in grammars are measured on.

Each is trained on scikit-learn's digits.  Errors are those of the validation data, which choose;
test data are shown of what was chosen.
"""

import time
from pathlib import Path
from typing import Any

import numpy as np
import torch

import sciops
from benchmarks.results import Rows
from sciops.backbones import term_network
from sciops.config import Optimisation, Training
from sciops.grammars import Term, all_terms, parse_term, ready_space
from sciops.metrics.classes import cross_entropy, error_rate
from sciops.runs.term_trials import LEAST_ERROR
from sciops.searching.term_candidates import TermCandidates
from sciops.studies.candidates import CandidateSpace
from sciops.training import fit
from sciops.vision.samples import ImageSamples

SPACES = ("digits", "digits-cells", "digits-stages")
SPLITS = ("train", "val", "test")
IMAGES: dict[str, Any] = {}  # n_train=, n_val=, n_test=: so many only
BEST = 0.01  # the share of the table that is to be found


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
