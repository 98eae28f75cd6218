"""What trials that were stopped early would have scored, as strategies see them.

    s = max( rₖ + median over f of (s_f − r_f,k),  min over f of s_f )

rₖ is the last report of the stopped trial, after step k; f are the finished trials with a report
after that step.  All are moved by as much, so that their order is that of the reports; and no guess
is better than the best trial that was finished.  Without such an f, s = rₖ.
"""

from collections.abc import Sequence
from statistics import median
from typing import TYPE_CHECKING

from .candidates import C, Trial

if TYPE_CHECKING:
    from .study import TrialRecord


def ended_trials(records: "Sequence[TrialRecord[C]]") -> list[Trial[C]]:
    """Trials that are not running, in the order given; those that were stopped with a guess."""
    done = [record for record in records if record.state == "finished"]
    ended = (record for record in records if record.state != "running")
    return [
        Trial(r.candidate, extrapolated(r, done) if r.state == "stopped" else r.score)
        for r in ended
    ]


def extrapolated(stopped: "TrialRecord[C]", finished: "Sequence[TrialRecord[C]]") -> float:
    """The score that a stopped trial might have had at its end."""
    step = max(stopped.reports)
    gains = [other.score - other.reports[step] for other in finished if step in other.reports]
    if not gains:
        return stopped.score
    best = min(other.score for other in finished if step in other.reports)
    return max(stopped.score + median(gains), best)
