"""As a script: a search that kills its own process after some notes of the journal.

python search_kills.py FOLDER STRATEGY [NOTES]

Without NOTES it runs to its end.
"""

import os
import signal
import sys

from sciops.searching.engine import run_search
from sciops.searching.spaces import make_space
from sciops.searching.strategies import make_strategy
from sciops.searching.work import Work
from tests.search_toy import LeNet, cross_entropy, data, mistakes, quick

OPTIONS = {"restarts": {"cycles": 2}, "random": {"members": 2}}


def search(folder, strategy: str):
    return run_search(
        LeNet,
        *data(8),
        cross_entropy,
        metric=mistakes,
        training=quick(3),
        space=make_space("kop", start="scratch", depth=2),
        strategy=make_strategy(strategy, **OPTIONS.get(strategy, {})),
        folder=folder,
    )


def kill_after(notes: int) -> None:
    note, left = Work._note, [notes]

    def counted(self, name, rows):
        note(self, name, rows)
        left[0] -= 1
        if left[0] == 0:
            os.kill(os.getpid(), signal.SIGKILL)

    Work._note = counted


if __name__ == "__main__":
    if len(sys.argv) > 3:
        kill_after(int(sys.argv[3]))
    search(sys.argv[1], sys.argv[2])
