"""Kills victims and looks at what they leave.

A victim works in a child process that has nothing left to import.  It is killed (SIGKILL) at a time
drawn from its own duration, or when it touches its n-th file, n drawn from as many as it touches.
Then what can be read is looked at, the work is done again undisturbed, and the result is compared
with that of work that was never disturbed.  A child that ended before its kill does not count.
"""

import contextlib
import multiprocessing
import os
import random
import shutil
import signal
import sys
import time
from collections.abc import Callable, Iterator
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, NamedTuple

from tests.faults.victim import Result, Victim, left_behind

FORK = multiprocessing.get_context("fork")
TOUCHING = {"open", "os.mkdir", "os.rename", "os.remove", "os.rmdir", "shutil.rmtree"}
DRAWS = 5  # for a kill, before the victim is taken to be too quick for it


class Undisturbed(NamedTuple):
    """What a victim does if it is left alone."""

    seconds: float
    touches: int  # of files
    result: Result


class Fate(NamedTuple):
    """What came of a kill: what was wrong before and after the work was done again."""

    way: str  # "moment" or "file"
    wrong: list[str]
    differs: list[str]


def in_child(function: Callable, *arguments) -> Any:
    """What a function returns in a process of its own; its errors are raised here."""
    mine, its = FORK.Pipe(duplex=False)
    child = FORK.Process(target=_answer, args=(its, function, arguments))
    child.start()
    its.close()
    try:
        kind, answer = mine.recv()
    except EOFError:
        kind, answer = "error", "it died"
    child.join()
    if kind == "error":
        raise RuntimeError(f"{function.__name__}: {answer}")
    return answer


def _answer(pipe: Connection, function: Callable, arguments: tuple) -> None:
    try:
        pipe.send(("answer", function(*arguments)))
    except BaseException as error:
        pipe.send(("error", f"{type(error).__name__}: {error}"))


@contextlib.contextmanager
def counting(folder: Path, dies_at: int | None = None) -> Iterator[list[int]]:
    """Count how often files below a folder are touched; at a given number the process dies."""
    touched, own = [0], str(folder)

    def watch(event: str, arguments: tuple) -> None:
        if event in TOUCHING and str(arguments[0]).startswith(own):
            if touched[0] == dies_at:
                os.kill(os.getpid(), signal.SIGKILL)
            touched[0] += 1

    sys.addaudithook(watch)  # there is no way to remove it: for processes that end soon
    yield touched


def undisturbed(victim: Victim, prepared: Path, folder: Path) -> Undisturbed:
    shutil.copytree(prepared, folder)
    seconds, touches = in_child(_worked, victim, folder)
    return Undisturbed(seconds, touches, in_child(victim.readable, folder))


def _worked(victim: Victim, folder: Path) -> tuple[float, int]:
    begin = time.perf_counter()
    with counting(folder) as touched:
        victim.work(folder)
    return time.perf_counter() - begin, touched[0]


def killed(victim: Victim, folder: Path, way: str, whole: Undisturbed, chance: float) -> bool:
    """Start the work and kill it, `chance` of the way through; whether it was still at work."""
    touch = int(chance * whole.touches) if way == "file" else None
    child = FORK.Process(target=_work_until, args=(victim, folder, touch))
    child.start()
    if way == "moment":
        time.sleep(chance * whole.seconds)
        child.kill()
    child.join()
    return child.exitcode == -signal.SIGKILL


def _work_until(victim: Victim, folder: Path, touch: int | None) -> None:
    with counting(folder, touch):
        victim.work(folder)


def fate(
    victim: Victim, prepared: Path, place: Path, way: str, whole: Undisturbed, draw: random.Random
) -> Fate:
    """Kill a victim once, somewhere, and look."""
    for _ in range(DRAWS):
        shutil.copytree(prepared, place)
        if killed(victim, place, way, whole, draw.random()):
            break
        shutil.rmtree(place)
    else:
        raise RuntimeError(f"{victim.name} ended {DRAWS} times before it could be killed")
    return _looked_at(victim, place, way, whole)


def _looked_at(victim: Victim, place: Path, way: str, whole: Undisturbed) -> Fate:
    """What is wrong in a folder after a kill, and differs when the work was done again."""
    wrong = in_child(victim.wrong, place, whole.result)
    try:
        in_child(victim.work, place)
        found = in_child(victim.readable, place)
        differs = [n for n in {**found, **whole.result} if found.get(n) != whole.result.get(n)]
        differs += [f"left behind: {name}" for name in left_behind(place, victim.stays)]
    except RuntimeError as error:
        differs = [str(error)]
    shutil.rmtree(place)
    return Fate(way, wrong, differs)


def fates(victim: Victim, kills: int, folder: Path, seed: int) -> tuple[Undisturbed, list[Fate]]:
    """So many kills, by turns at random moments and at random files."""
    draw = random.Random(f"{seed} {victim.name}")
    prepared, whole = _ready(victim, folder)
    first = draw.randrange(2)
    ways = [("moment", "file")[(first + k) % 2] for k in range(kills)]
    found = [fate(victim, prepared, folder / "killed", way, whole, draw) for way in ways]
    return whole, found


def swept(victim: Victim, folder: Path) -> tuple[Undisturbed, list[Fate]]:
    """A kill at every file that is touched, one after the other."""
    prepared, whole = _ready(victim, folder)
    found = []
    for touch in range(whole.touches):
        place = Path(shutil.copytree(prepared, folder / "killed"))
        if not killed(victim, place, "file", whole, (touch + 0.5) / whole.touches):
            raise RuntimeError(f"{victim.name} ended before it touched file {touch}")
        found.append(_looked_at(victim, place, "file", whole))
    return whole, found


def _ready(victim: Victim, folder: Path) -> tuple[Path, Undisturbed]:
    """A folder that is ready for the work, and what comes of it undisturbed."""
    prepared = folder / "prepared"
    prepared.mkdir(parents=True)
    in_child(victim.prepare, prepared)
    return prepared, undisturbed(victim, prepared, folder / "whole")
