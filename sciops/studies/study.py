"""A study: candidates proposed, tried and recorded, by one process or several.

With one worker, the same seed gives the same sequence of candidates, whether or not the process
was killed on the way: proposal number k follows from the seed, k and the trials before.  Several
workers propose while others still run, so that their sequence depends on who is faster.
"""

import contextlib
import math
import multiprocessing
import pickle
import signal
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic

import numpy as np

from .candidates import C, CandidateSpace, Trial
from .early_stopping import EarlyStopping
from .extrapolation import ended_trials
from .journal import Attempt, Journal, TrialStopped
from .journal_file import FILE, read_trials
from .proposers import AbstractProposer, make_proposer

if TYPE_CHECKING:
    from optuna.trial import FrozenTrial

POLL = 0.2  # seconds until a worker without work looks again
STATES = {"COMPLETE": "finished", "PRUNED": "stopped", "FAIL": "failed", "RUNNING": "running"}

Objective = Callable[[C, Attempt], float]  # the less the better


@dataclass(frozen=True)
class TrialRecord(Generic[C]):
    """What is known of a trial.

    state:    "finished", "stopped" early, "failed" or "running"
    score:    the last reported one of a stopped trial; inf of a failed one; nan while running
    reason:   why it was stopped or failed, else ""
    reports:  scores on the way, by step
    attempts: how many processes ran it
    """

    number: int
    candidate: C
    state: str
    score: float
    reason: str
    reports: dict[int, float]
    attempts: int
    seconds: float


@dataclass(frozen=True)
class StudyResult(Generic[C]):
    """The trials of a study in the order of their numbers."""

    records: list[TrialRecord[C]]

    @property
    def best(self) -> TrialRecord[C]:
        """The finished trial with the least score."""
        finished = [record for record in self.records if record.state == "finished"]
        if not finished:
            raise ValueError(
                f"none of {len(self.records)} trials finished; see the reasons in `records`"
            )
        return min(finished, key=lambda record: record.score)


def run_study(
    objective: Objective,
    space: CandidateSpace[C],
    proposer: str | AbstractProposer,
    n_trials: int,
    folder: str | Path,
    *,
    workers: int = 1,
    seed: int = 0,
    early_stopping: EarlyStopping | None = None,
    attempts: int = 3,
) -> StudyResult[C]:
    """Try candidates until the study in a folder has `n_trials`; it goes on where it was left.

    Any number of processes may call this with the same folder at the same time.

    Args:
        objective: of a candidate and its `Attempt`, which has a folder and takes reports.
            Exceptions and scores that are no finite numbers are recorded, and the study goes on;
            but for errors of the file system, which say nothing of the candidate: they end the
            call, and the same call goes on with the same trial.
        space, proposer: what is searched, and how; a proposer or its name.
        workers: processes to start; 1 works in this one. Others need an objective and a space
            that can be pickled, such as functions of modules.
        early_stopping: the rule by which reports end trials; None ends none.
        attempts: a trial is given up after so many processes died on it.
    """
    for name, value in (("n_trials", n_trials), ("workers", workers), ("attempts", attempts)):
        if value < 1:
            raise ValueError(f"{name}={value} must be a whole number ≥ 1")
    chosen = make_proposer(proposer) if isinstance(proposer, str) else proposer
    folder = Path(folder).resolve()
    order = (objective, space, chosen, n_trials, folder, seed, early_stopping, attempts)
    if workers == 1:
        _work(*order)
    else:
        _open(folder, chosen, seed, early_stopping, attempts)  # errors belong in this process
        _supervise(order, workers, folder / FILE)
    return read_study(folder, space)


def read_study(folder: str | Path, space: CandidateSpace[C]) -> StudyResult[C]:
    """The trials of a study so far, also while it runs."""
    folder = Path(folder)
    if not (folder / FILE).is_file():
        raise ValueError(f"{folder} has no study: {FILE} is missing; check the path")
    trials = read_trials(folder)
    try:
        return StudyResult([_record(trial, space) for trial in trials])
    except (KeyError, IndexError, TypeError, ValueError, RuntimeError, AttributeError) as error:
        raise ValueError(f"{folder / FILE} cannot be understood: {error}") from error


def _open(folder, proposer, seed, early_stopping, attempts) -> Journal:
    rule = early_stopping.as_dict() if early_stopping else None
    settings = {"seed": seed, "proposer": proposer.as_dict(), "early_stopping": rule}
    return Journal(folder, settings, early_stopping, attempts)


# --- one worker -----------------------------------------------------------------------------------


def _work(objective, space, proposer, n_trials, folder, seed, early_stopping, attempts) -> None:
    """Run trials until all have ended, or until the process that started this one is gone."""
    journal = _open(folder, proposer, seed, early_stopping, attempts)
    parent = multiprocessing.parent_process()

    def propose(number: int) -> str:
        rng = np.random.default_rng([seed, number])
        return space.write(proposer.propose(space, *_tried(journal, space), rng))

    while parent is None or parent.is_alive():
        attempt = journal.claim(n_trials, propose)
        if attempt is not None:
            with attempt:
                _run(objective, _read(space, attempt.candidate), attempt)
        elif journal.is_over(n_trials):
            return
        else:
            time.sleep(POLL)  # others run the last trials; one of them may die


def _tried(journal: Journal, space: CandidateSpace[C]) -> tuple[list[Trial[C]], list[C]]:
    """Trials with a score or a guess of it, and candidates without one yet."""
    records = [_record(trial, space) for trial in journal.trials()]
    return ended_trials(records), [r.candidate for r in records if r.state == "running"]


def _run(objective: Objective, candidate: C, attempt: Attempt) -> None:
    try:
        attempt.finish(objective(candidate, attempt))
    except TrialStopped as stopped:
        attempt.stop(str(stopped))
    except Exception as error:
        if _is_of_the_disk(error):
            with contextlib.suppress(OSError):  # it may be full
                attempt.forget()
            raise
        attempt.fail(f"{type(error).__name__}: {error}")
    except BaseException:  # someone stopped it
        attempt.forget()
        raise


def _is_of_the_disk(error: BaseException) -> bool:
    """Whether an error of the operating system is what an error came from."""
    cause = error
    while cause is not None and not isinstance(cause, OSError):
        cause = cause.__cause__
    return cause is not None


def _record(trial: "FrozenTrial", space: CandidateSpace[C]) -> TrialRecord[C]:
    state, notes = STATES[trial.state.name], trial.user_attrs
    without_value = {"failed": math.inf, "running": math.nan}
    return TrialRecord(
        number=trial.number,
        candidate=_read(space, notes["candidate"]),
        state=state,
        score=without_value.get(state, trial.value),
        reason=notes.get("reason", "") if state in ("stopped", "failed") else "",
        reports=dict(sorted(trial.intermediate_values.items())),
        attempts=notes["attempts"],
        seconds=notes.get("seconds", math.nan),
    )


def _read(space: CandidateSpace[C], text: str) -> C:
    try:
        return space.read(text)
    except Exception as error:
        raise ValueError(
            f"the study has a candidate {text!r}, which its space cannot read ({error}); go on "
            "with the space it began with, or choose another folder"
        ) from error


# --- several --------------------------------------------------------------------------------------


def _supervise(order: tuple[Any, ...], workers: int, file: Path) -> None:
    """Run workers, and others in place of those that are killed."""
    sizes = {}  # of the journal when a worker began
    context = multiprocessing.get_context("spawn")
    said, says = context.Pipe(duplex=False)

    def start() -> None:
        process = context.Process(target=_work_for, args=(says, order))
        size = file.stat().st_size
        process.start()
        sizes[process] = size

    _check_pickles(order)
    try:
        for _ in range(workers):
            start()
        while sizes:
            wait([process.sentinel for process in sizes])
            for process in [p for p in sizes if p.exitcode is not None]:
                size = sizes.pop(process)
                if said.poll():
                    raise said.recv()
                _check_end(process.exitcode, grew=file.stat().st_size > size)
                if process.exitcode < 0:
                    start()
    finally:
        for process in sizes:  # only after an error
            process.join(1)
            process.terminate()
            process.join()


def _work_for(says: Connection, order: tuple[Any, ...]) -> None:
    """`_work` in a process that says what the disk refused, and forgets its trial when ended."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    try:
        _work(*order)
    except Exception as error:
        if not _is_of_the_disk(error):
            raise
        says.send(OSError(str(error)))
        sys.exit(1)


def _check_pickles(order: tuple[Any, ...]) -> None:
    try:
        pickle.dumps(order)
    except Exception as error:
        raise ValueError(
            f"several workers need an objective and a space that can be pickled ({error}); use "
            "functions of a module, not lambdas or nested ones, or workers=1"
        ) from error


def _check_end(code: int, grew: bool) -> None:
    if code > 0:
        raise RuntimeError(f"a worker ended with code {code}; its message is above")
    if code < 0 and not grew:
        raise RuntimeError(f"a worker was killed by signal {-code} before it began a trial")
