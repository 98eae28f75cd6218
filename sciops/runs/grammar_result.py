"""What a search in a grammar found, read from its folder.

search.json         what was asked for
study/              the journal of the trials, and their runs in study/trials/*/run
controls/           runs to compare with
trials.csv          the table
"""

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from torch import nn

from sciops.atomic import MAX_JSON, read_bytes
from sciops.backbones import TERM
from sciops.grammars.grammar import parse_grammar
from sciops.grammars.term import Term
from sciops.searching.search_folder import FILE
from sciops.searching.term_candidates import TermCandidates
from sciops.studies.calibration import cross_validated
from sciops.studies.candidates import Trial
from sciops.studies.extrapolation import ended_trials
from sciops.studies.proposers import finished, fit_surrogate
from sciops.studies.study import StudyResult, TrialRecord, read_study
from sciops.task import Task

from .frame import own_random_numbers
from .networks import network_of
from .opening import open_run
from .run import AbstractRun, from_here
from .term_trials import RUN, validated

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

UNREADABLE = (
    *(LookupError, TypeError, ValueError, RuntimeError, AttributeError, OverflowError),
    StopIteration,
)
STUDY, CONTROLS = "study", "controls"
COLUMNS = (
    *("trial", "role", "state", "val", "test", "epochs", "seconds", "parameters", "term"),
    "reason",
)


@dataclass
class GrammarResult:
    """A search in a grammar with the evidence for what it found.

    settings:   what was asked for
    trials:     a row for each term, and for each control; `val` chooses, the less the better;
                `test` is that of the best term and of controls only
    study:      the trials as the strategy saw them
    """

    path: Path
    settings: dict[str, Any]
    candidates: TermCandidates
    study: StudyResult[Term]
    trials: "pd.DataFrame"

    def __repr__(self) -> str:
        best, strategy = self.best, self.settings["strategy"]["proposer"]
        what = f"{len(self.study.records)} terms by {strategy}, best {best['trial']}"
        scores = f"val {best['val']:.4g}, test {best['test']:.4g}"
        return f"GrammarResult({what}: {scores}, {from_here(self.path)})"

    @property
    def best(self) -> "pd.Series":
        """The finished trial with the least validation error."""
        return self.trials[self.trials["trial"] == str(self.study.best.number)].iloc[0]

    @property
    def won(self) -> bool:
        """Whether the best trial is better than all controls, by the validation data."""
        controls = self.trials[self.trials["role"] == "control"]
        return bool((controls["val"] > self.best["val"]).all())

    @property
    def cost(self) -> dict[str, float]:
        """Epochs and seconds of training, of the search and of controls."""
        sums = self.trials.groupby("role")[["epochs", "seconds"]].sum()
        return {
            f"{role}_{what}": float(sums[what].get(role, 0))
            for role in ("search", "control")
            for what in ("epochs", "seconds")
        }

    @cached_property
    def run(self) -> AbstractRun:
        """The run of the best term: it predicts, is judged on other data, and has a page."""
        return best_run(self.path, self.study)

    @property
    def model(self) -> nn.Module:
        """The best network."""
        return self.run.model

    @property
    def metric(self) -> str:
        """What `val` and `test` are, such as relative_l2."""
        return validated(self.run.history).removeprefix("val_")

    def scored(self) -> list[Trial[Term]]:
        """Terms with a score, as the strategy sees them; those that failed are left out.

        Those that were stopped early have a guess of it, see `sciops.studies.extrapolation`.
        """
        return finished(ended_trials(self.study.records))

    def levels(self) -> "pd.DataFrame":
        """How much each level of the hierarchy counts in the kernel of all trials.

        depth is h of the Weisfeiler–Lehman kernel; the last level is the whole graph.
        """
        import pandas as pd

        surrogate = fit_surrogate(self.candidates.space(), self.scored())
        known = surrogate.hyperparameters
        rows = {"level": range(len(known.weights)), "depth": known.depths, "weight": known.weights}
        return pd.DataFrame(rows)

    def calibration(self) -> "pd.DataFrame":
        """Every finished trial predicted from others: its score, mean and deviation by kernel.

        `attrs["tau"]` has Kendall's τ of means and scores by kernel.
        """
        ended = [record for record in self.study.records if record.state != "running"]
        by_state: dict[str, list[Trial[Term]]] = {"finished": [], "stopped": [], "failed": []}
        for record, trial in zip(ended, ended_trials(ended), strict=True):
            by_state[record.state].append(trial)
        return cross_validated(self.candidates.space(), by_state["finished"], by_state["stopped"])

    def plot(self) -> "Figure":
        """The best validation error so far, by trial."""
        from sciops.plots.study_curves import best_so_far

        return best_so_far(self.trials)

    def report(
        self,
        path: str | Path | None = None,
        *,
        beside: "Mapping[str, GrammarResult] | None" = None,
    ) -> Path:
        """Write one page with everything; its path. None is report.html in the folder.

        beside: other searches for the same by name, such as {"random": other}, drawn with this one
        """
        from sciops.reporting.grammar_report import write_grammar_report

        return write_grammar_report(self, path, beside or {})


def best_run(folder: Path, study: StudyResult[Term]) -> AbstractRun:
    """The run of the best trial; a ValueError with the first reason if none was finished."""
    reasons = [record.reason for record in study.records if record.reason]
    if not any(record.state == "finished" for record in study.records):
        why = f", the first with {reasons[0]!r}" if reasons else ""
        raise ValueError(f"none of {len(study.records)} trials was finished{why}")
    return open_run(_run_of(folder, study.best.number))


def read_grammar_search(folder: str | Path) -> GrammarResult:
    """The search in a folder, as far as it is."""
    folder = Path(folder).resolve()
    try:
        settings = json.loads(read_bytes(folder / FILE, MAX_JSON) or b"{}")
    except (ValueError, RecursionError):
        settings = None
    if not isinstance(settings, dict) or settings.get("space") != "grammar":
        raise ValueError(f"{folder} is not a search in a grammar; check the path")
    try:
        return _result(folder, settings)
    except UNREADABLE as error:
        raise ValueError(f"the search in {folder} cannot be read: {error}") from error


def _result(folder: Path, settings: dict[str, Any]) -> GrammarResult:
    import pandas as pd

    grammar = parse_grammar(settings["grammar"])
    candidates = TermCandidates(grammar, settings["depth"], settings["connected"])
    study = read_study(folder / STUDY, candidates.space())
    result = GrammarResult(folder, settings, candidates, study, pd.DataFrame())
    rows = [_row(result, record) for record in study.records]
    rows += [_control(file.parent) for file in sorted(folder.glob(f"{CONTROLS}/*/model.json"))]
    result.trials = pd.DataFrame(rows, columns=list(COLUMNS))
    return result


def _run_of(folder: Path, number: int) -> Path:
    return folder / STUDY / "trials" / f"{number:05}" / RUN


def _row(result: GrammarResult, record: TrialRecord[Term]) -> dict[str, Any]:
    import pandas as pd

    path, best = _run_of(result.path, record.number), record.number == result.study.best.number
    file = path / "metrics.csv"
    history = pd.read_csv(file) if file.exists() else pd.DataFrame({"seconds": []})
    return {
        "trial": str(record.number),
        "role": "search",
        "state": record.state,
        "val": history[validated(history)].iloc[-1] if len(history) else math.nan,
        "test": result.run.metrics[f"test_{result.metric}"] if best else math.nan,
        "epochs": len(history),
        "seconds": history["seconds"].sum(),
        "parameters": _parameters(result.settings, result.run.task, record.candidate),
        "term": str(record.candidate),
        "reason": record.reason,
    }


def _parameters(settings: dict[str, Any], task: Task, term: Term) -> float:
    try:
        with own_random_numbers(0):
            described = {"op": TERM, "backbone": TERM, "term": str(term), **settings["network"]}
            return sum(p.numel() for p in network_of(task, described).parameters())
    except (ValueError, RuntimeError):  # no network, which is why the trial failed
        return math.nan


def _control(path: Path) -> dict[str, Any]:
    run = open_run(path)
    val = validated(run.history)
    return {
        "trial": path.name,
        "role": "control",
        "state": "finished",
        "val": run.metrics[val],
        "test": run.metrics[f"test_{val.removeprefix('val_')}"],
        "epochs": len(run.history),
        "seconds": run.metrics["train_seconds"],
        "parameters": run.metrics["parameters"],
        "term": "",
        "reason": "",
    }
