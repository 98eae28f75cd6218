"""The journal of a study: trials that outlive processes and that processes share.

    journal.log       Optuna's journal: a line of JSON for each event, flushed to the disk
    claim.lock        held by who decides what to run next
    trials/00007/     what the objective keeps of trial 7; its second attempt finds it again
    running/00007     held by the process that runs trial 7

Locks end with their process, however it ends.  A trial that nobody holds but that has no end is one
whose process died; whoever claims next takes it over, with the same candidate.  No pickle is read:
Optuna has snapshots of other journals, but none of files.
"""

import json
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from filelock import FileLock, Timeout

from .early_stopping import EarlyStopping
from .journal_file import FILE, open_study

if TYPE_CHECKING:
    from optuna.trial import FrozenTrial


class TrialStopped(Exception):
    """Raised by `Attempt.report`: the trial need not go on."""


class ScoreError(ValueError):
    """A score that is no finite number."""


class Journal:
    """The journal in a folder, made if there is none.

    settings: what must be the same whenever the study goes on, as JSON holds it
    attempts: how many processes may die on one trial before it counts as failed
    """

    def __init__(
        self,
        folder: Path,
        settings: dict[str, Any] | None = None,
        early_stopping: EarlyStopping | None = None,
        attempts: int = 3,
    ):
        self.folder, self.attempts = folder, attempts
        self.last_step = early_stopping.last if early_stopping else None
        for place in (folder / "trials", folder / "running"):
            place.mkdir(parents=True, exist_ok=True)
        with self.claiming():
            self._study = open_study(folder / FILE, early_stopping)
            if settings is not None:
                self._keep(json.loads(json.dumps(settings)))

    def _keep(self, settings: dict[str, Any]) -> None:
        kept = self._study.user_attrs.get("settings")
        if kept is None:
            return self._study.set_user_attr("settings", settings)
        for name in sorted({*kept, *settings}):
            if kept.get(name) != settings.get(name):
                raise ValueError(
                    f"the study in {self.folder} has {name}={kept.get(name)!r}, asked for is "
                    f"{settings.get(name)!r}; go on as it began, or choose another folder"
                )

    def claiming(self) -> FileLock:
        """Be the only one who decides what to run, as a context."""
        return FileLock(self.folder / "claim.lock")

    def trials(self) -> "list[FrozenTrial]":
        """In the order of their numbers."""
        return self._study.get_trials(deepcopy=False)

    def is_over(self, count: int) -> bool:
        """Whether that many trials were begun, and all have ended."""
        trials = self.trials()
        return len(trials) >= count and all(trial.state.is_finished() for trial in trials)

    def claim(self, count: int, propose: Callable[[int], str]) -> "Attempt | None":
        """A trial to run now: one whose process died, else a new one while there are fewer.

        count: how many trials there shall be
        propose: the candidate's text by the number of its trial
        """
        with self.claiming():
            trials = self.trials()
            for trial in trials:
                if not trial.state.is_finished() and (attempt := self._take_over(trial.number)):
                    return attempt
            return self._begin(len(trials), propose) if len(trials) < count else None

    def _take_over(self, number: int) -> "Attempt | None":
        lock = self._hold(number)
        if lock is None:
            return None  # its process lives
        trial = self.trials()[number]
        if not trial.state.is_finished():  # else it ended since it was looked at
            attempt = Attempt(self, trial, lock)
            if attempt.count < self.attempts:
                attempt.note("attempts", attempt.count + 1)
                return attempt
            attempt.fail(f"its process died {attempt.count} times")
        lock.release()
        return None

    def _begin(self, number: int, propose: Callable[[int], str]) -> "Attempt":
        from optuna.trial import TrialState, create_trial

        notes = {"candidate": propose(number), "attempts": 1}
        lock = self._hold(number)
        if lock is None:
            raise RuntimeError(f"trial {number} is held before it began; {self.folder} was changed")
        self._study.add_trial(create_trial(state=TrialState.RUNNING, user_attrs=notes))
        return Attempt(self, self.trials()[number], lock)

    def _hold(self, number: int) -> FileLock | None:
        lock = FileLock(self.folder / "running" / f"{number:05}")
        try:
            lock.acquire(timeout=0)
        except Timeout:
            return None
        return lock


@dataclass
class Attempt:
    """One run of a trial, as its objective sees it."""

    _journal: Journal
    _frozen: "FrozenTrial"
    _lock: FileLock
    _begun: float = field(default_factory=time.monotonic)

    def __post_init__(self):
        from optuna.trial import Trial

        self._trial = Trial(self._journal._study, self._frozen._trial_id)
        self._reported = dict(self._frozen.intermediate_values)
        self.folder.mkdir(exist_ok=True)

    @property
    def number(self) -> int:
        """Of the trial: 0, 1, …"""
        return self._frozen.number

    @property
    def candidate(self) -> str:
        """As text."""
        return self._trial.user_attrs["candidate"]

    @property
    def count(self) -> int:
        """1 for the first attempt."""
        return self._trial.user_attrs["attempts"]

    @property
    def folder(self) -> Path:
        """Where the objective may keep things; the same in every attempt."""
        return self._journal.folder / "trials" / f"{self.number:05}"

    def report(self, step: int, score: float) -> None:
        """Tell a score on the way, after step 1, 2, …; TrialStopped if the trial is not worth more.

        What an earlier attempt reported has been judged, and is not judged again.
        """
        if step < 1:
            raise ValueError(f"step={step} must be a whole number ≥ 1")
        score = finite(score, f"the score after step {step}")
        if step in self._reported:
            return
        self._reported[step] = score
        self._trial.report(score, step)
        if step != self._journal.last_step and self._trial.should_prune():
            raise TrialStopped(f"stopped after step {step} with the score {score:.6g}")

    def finish(self, score: float) -> None:
        self._end("COMPLETE", finite(score, "the score"))

    def stop(self, reason: str) -> None:
        self._end("PRUNED", reason=reason)

    def fail(self, reason: str) -> None:
        self._end("FAIL", reason=reason)

    def forget(self) -> None:
        """Do not count this attempt, which someone interrupted."""
        self.note("attempts", self.count - 1)

    def note(self, name: str, value: Any) -> None:
        self._trial.set_user_attr(name, value)

    def release(self) -> None:
        """Let others take the trial over, if it has not ended."""
        self._lock.release()

    def __enter__(self) -> "Attempt":
        return self

    def __exit__(self, *exception) -> None:
        self.release()

    def _end(self, state: str, score: float | None = None, reason: str | None = None) -> None:
        from optuna.trial import TrialState

        self.note("seconds", time.monotonic() - self._begun)
        if reason is not None:
            self.note("reason", reason)
        self._journal._study.tell(self.number, score, state=TrialState[state])


def finite(score: float, name: str) -> float:
    score = float(score)
    if not abs(score) < float("inf"):
        raise ScoreError(f"{name} is {score}")
    return score
