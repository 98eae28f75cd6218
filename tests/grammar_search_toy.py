"""The smallest search in a grammar; as a script, one that may be killed.

python grammar_search_toy.py FOLDER [REPORTS]

With REPORTS, its process is killed after so many errors were told.
"""

import os
import signal
import sys
from pathlib import Path

import sciops
from sciops.studies.acquisition import Evolution
from sciops.studies.journal import Attempt
from sciops.studies.proposers import BayesProposer
from tests.run_toy import COUNTS

GRAMMAR = """
NET  -> Linear2(lift4, BODY)
BODY -> Linear2(OP, ACT) | Residual2(OP, id, OP) | Ladder(OP, ACT, OP)
OP   -> conv3 | conv1 | fourier2 | dilated3 | zero
ACT  -> relu | gelu
Ladder = 1-2 2-3 1-3
"""
SMALL = Evolution(pool=20, generations=2, limit=3, patience=1)
BAYES = BayesProposer(initial=3, evolution=SMALL)
DATA = dict(resolution=9, refine=1, batch_size=4, **COUNTS)


def searched(out: Path, strategy=BAYES, trials: int = 5, **changes):
    usual = dict(grammar=GRAMMAR, early_stopping=None, hidden=4, controls=False, progress=False)
    asked = {**usual, **DATA, **changes}
    return sciops.search("darcy", "grammar", strategy, 2, trials=trials, out=out, **asked)


def kill_after(reports: int) -> None:
    report, left = Attempt.report, [reports]

    def counted(self, step, score):
        left[0] -= 1
        if left[0] == 0:
            os.kill(os.getpid(), signal.SIGKILL)
        report(self, step, score)

    Attempt.report = counted


if __name__ == "__main__":
    if len(sys.argv) > 2:
        kill_after(int(sys.argv[2]))
    searched(Path(sys.argv[1]))
