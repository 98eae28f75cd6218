"""As a script: save checkpoints in child processes that are killed, and load after every kill.

python checkpoint_kills.py FOLDER KILLS

For states and for models, killed
    before a line of the writing modules, KILLS lines spread over all that a save runs, and
    at KILLS random moments, with 8 MB to write.
Prints for each how many kills left the earlier save, the new one, and temporaries (JSON).
"""

import json
import os
import random
import signal
import sys
import time
from pathlib import Path

import torch

from sciops.checkpoint import load_model, load_state, save_model, save_state

MODULES = ("atomic.py", "checkpoint.py")
LARGE = 2 * 2**20


def save(folder: Path, kind: str, number: int, size: int) -> None:
    """Everything in it says `number`."""
    state = {"a": torch.full((size,), float(number)), "b": torch.full((3,), number)}
    if kind == "state":
        save_state(folder, {**state, "number": number}, {"number": number}, keep=1)
    else:
        save_model(folder, state, {"number": number})


def load(folder: Path, kind: str) -> int:
    """The number that everything in it says."""
    state, notes = load_state(folder) if kind == "state" else load_model(folder)
    number = notes["number"]
    if not (state["a"] == number).all() or state["b"].tolist() != [number] * 3:
        raise SystemExit(f"a mixture of saves: {notes}, {state}")
    return number


def trace_lines(before_line) -> None:
    """Call `before_line()` before every line of MODULES that this process runs."""

    def trace(frame, event, argument):
        if Path(frame.f_code.co_filename).name not in MODULES:
            return None
        if event == "line":
            before_line()
        return trace

    sys.settrace(trace)


def in_child(work) -> int:
    child = os.fork()
    if child == 0:
        work()
        os._exit(0)
    return child


def count_lines(folder: Path, kind: str) -> int:
    count = 0

    def one_more():
        nonlocal count
        count += 1

    trace_lines(one_more)
    save(folder, kind, 0, 10)
    sys.settrace(None)
    return count


def killed_at_line(folder: Path, kind: str, number: int, line: int) -> int:
    def die_at_line():
        nonlocal line
        line -= 1
        if line < 0:
            os.kill(os.getpid(), signal.SIGKILL)

    def work():
        trace_lines(die_at_line)
        save(folder, kind, number, 10)

    return in_child(work)


def killed_at_moment(folder: Path, kind: str, number: int, longest: float) -> int:
    child = in_child(lambda: save(folder, kind, number, LARGE))
    time.sleep(random.uniform(0, longest))
    os.kill(child, signal.SIGKILL)
    return child


def kill_many(folder: Path, kind: str, way: str, kills: int) -> list[int]:
    lines = count_lines(folder, kind)
    begin = time.perf_counter()
    os.waitpid(in_child(lambda: save(folder, kind, 0, LARGE)), 0)
    longest = 1.2 * (time.perf_counter() - begin)
    old = new = temporaries = number = 0
    for i in range(1, kills + 1):
        if way == "lines":
            child = killed_at_line(folder, kind, i, i * lines // (kills + 1))
        else:
            child = killed_at_moment(folder, kind, i, longest)
        os.waitpid(child, 0)
        temporaries += any(path.name.startswith(".") for path in folder.iterdir())
        loaded = load(folder, kind)
        if loaded not in (number, i):
            raise SystemExit(f"after save {i} was killed, {loaded} was there, not {number}")
        old, new, number = old + (loaded == number), new + (loaded == i), loaded
    save(folder, kind, kills + 1, 10)
    if load(folder, kind) != kills + 1:
        raise SystemExit("the undisturbed save is not there")
    return [old, new, temporaries]


def main(folder: Path, kills: int) -> None:
    torch.set_num_threads(1)
    ways = [(kind, way) for kind in ("state", "model") for way in ("lines", "moments")]
    counts = {f"{k}-{w}": kill_many(folder / f"{k}-{w}", k, w, kills) for k, w in ways}
    print(json.dumps(counts))


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]))
