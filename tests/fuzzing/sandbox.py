"""Readers run in a child process: how each input ends, within limits that the child cannot leave.

    read      it was read: damage that no format could notice, or none
    refused   a ValueError that our own code raised, with a message that names the file
    foreign   any other exception, or one that a library raised through us
    memory    more than `MEMORY` was asked for
    hang      no end within `SECONDS`
    crash     the process died
    escape    code was run, a pickle opened, or something written elsewhere

The first two are as promised.
"""

import contextlib
import linecache
import logging
import multiprocessing
import os
import resource
import shutil
import sys
import tempfile
import time
import warnings
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from random import Random
from typing import NamedTuple

import sciops

from .mutations import damaged, damaged_json, damaged_lines
from .reader import Reader, Subject

SECONDS, MEMORY = 10, 2**30
SHARED = Path(
    "/dev/shm"
)  # files in memory: making and removing them takes most of the time on disks
PROMISED = ("read", "refused")
OUTCOMES = (*PROMISED, "foreign", "memory", "hang", "crash", "escape")
HOUSE = str(Path(sciops.__file__).parent)
RUNS_CODE = {
    *("os.system", "os.exec", "os.posix_spawn", "os.spawn", "os.fork", "subprocess.Popen"),
    *("socket.connect", "socket.bind", "pickle.find_class", "pty.spawn"),
}
CHANGES_FILES = {
    *("os.remove", "os.rename", "os.mkdir", "os.rmdir", "os.symlink", "os.link", "os.truncate"),
    *("os.chmod", "os.chown", "shutil.rmtree", "shutil.move"),
}


class Verdict(NamedTuple):
    """How one input ended; bytes are the most memory so far, above that of the start."""

    number: int
    outcome: str
    detail: str
    seconds: float
    bytes: int


@contextlib.contextmanager
def scratch() -> Iterator[Path]:
    """An empty folder, in memory where there is such a place, that is removed at the end."""
    place = SHARED if os.access(SHARED, os.W_OK) else None
    with tempfile.TemporaryDirectory(dir=place) as folder:
        yield Path(folder)


def subject_of(reader: Reader, seed: int, number: int) -> Subject:
    """The files of input `number`: a valid subject in which one file is damaged."""
    rng = Random(f"{reader.name} {seed} {number}")
    subjects = reader.subjects()
    subject = dict(rng.choice(subjects))
    name = rng.choice(sorted(subject) if reader.damages is None else reader.damages)
    data = subject[name]
    if name.endswith(".json") and rng.random() < 0.7:
        subject[name] = damaged_json(data, rng)
    elif name.endswith(".log") and rng.random() < 0.7:
        subject[name] = damaged_lines(data, rng)
    else:
        donors = [s[n] for s in subjects for n in s if Path(n).suffix == Path(name).suffix]
        subject[name] = damaged(data, rng, donors)
    return reader.repair(subject) if reader.repair and rng.random() < 0.8 else subject


def verdicts(
    reader: Reader, numbers: Sequence[int], folder: Path, *, seed: int = 0
) -> Iterator[Verdict]:
    """How the inputs of these numbers end, each in `folder`/subject."""
    _warm(reader, folder)
    left = list(numbers)
    while left:
        done = 0
        with _child(reader, seed, left, folder) as messages:
            while done < len(left):
                try:
                    end = messages.recv() if messages.poll(SECONDS) else "hang"
                except EOFError:
                    end = "crash"
                if isinstance(end, str):
                    yield Verdict(left[done], end, f"of {reader.name}", SECONDS, 0)
                    break
                yield end
                done += 1
        left = left[done + 1 :]


def _warm(reader: Reader, folder: Path) -> None:
    """What is read must be readable to begin with; and all that it imports is then imported."""
    for subject in reader.subjects():
        write_subject(folder / "subject", subject)
        reader.read(folder / "subject")


def write_subject(folder: Path, subject: Mapping[str, bytes]) -> None:
    shutil.rmtree(folder, ignore_errors=True)
    for name, data in subject.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(data)


@contextlib.contextmanager
def _child(reader: Reader, seed: int, numbers: Sequence[int], folder: Path):
    """What a forked process says, which is killed at the end."""
    context = multiprocessing.get_context("fork")
    receiver, sender = context.Pipe(duplex=False)
    process = context.Process(target=_work, args=(reader, seed, numbers, folder, sender))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # of forks with threads
        process.start()
    sender.close()
    try:
        yield receiver
    finally:
        process.kill()
        process.join()
        receiver.close()


def _work(reader: Reader, seed: int, numbers: Sequence[int], folder: Path, sender) -> None:
    import torch

    torch.set_num_threads(1)
    warnings.simplefilter("ignore")
    logging.disable()
    with Path(os.devnull).open("w") as nowhere:  # C libraries complain to the terminal
        os.dup2(nowhere.fileno(), 2)
    size = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (size + MEMORY, size + MEMORY))
    before, escapes = _peak(), _watched(folder / "subject")
    for number in numbers:
        subject = subject_of(reader, seed, number)
        write_subject(folder / "subject", subject)
        escapes.clear()
        begun = time.monotonic()
        outcome, detail = judged(reader, folder / "subject")
        if escapes or {p.name for p in folder.iterdir()} != {"subject"}:
            outcome, detail = "escape", str(escapes)
        sender.send(Verdict(number, outcome, detail, time.monotonic() - begun, _peak() - before))


def _peak() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def judged(reader: Reader, folder: Path) -> tuple[str, str]:
    """How reading a folder ends, and what was said."""
    try:
        reader.read(folder)
    except BaseException as error:
        said = f"{type(error).__name__}: {error}"
        if any(isinstance(e, MemoryError) for e in _chain(error)):
            return "memory", said
        if isinstance(error, ValueError) and _raised_by_house(error):
            named = not reader.names_file or str(folder) in str(error)
            return ("refused", said) if named else ("foreign", f"names no file: {said}")
        return "foreign", f"{said} [{_place(error)}]"
    return "read", ""


def _chain(error: BaseException | None) -> Iterator[BaseException]:
    while error is not None:
        yield error
        error = error.__cause__ or error.__context__


def _last(error: BaseException):
    traceback = error.__traceback__
    while traceback.tb_next:
        traceback = traceback.tb_next
    return traceback


def _raised_by_house(error: BaseException) -> bool:
    """Whether the last line of the traceback is a `raise` of sciops/."""
    last = _last(error)
    file = last.tb_frame.f_code.co_filename
    return file.startswith(HOUSE) and linecache.getline(file, last.tb_lineno).strip().startswith(
        "raise"
    )


def _place(error: BaseException) -> str:
    last = _last(error)
    return f"{Path(last.tb_frame.f_code.co_filename).name}:{last.tb_lineno}"


def _watched(subject: Path) -> list[str]:
    """What code that is run from now on does beside reading, as far as Python can see it."""
    seen: list[str] = []

    def hook(event: str, args: tuple) -> None:
        if event in RUNS_CODE:
            seen.append(f"{event} {args}")
        elif event == "open" or event in CHANGES_FILES:
            written = event != "open" or (args[2] or 0) & (os.O_WRONLY | os.O_RDWR | os.O_CREAT)
            if written and isinstance(args[0], str | os.PathLike) and not _inside(args[0], subject):
                seen.append(f"{event} {args}")

    sys.addaudithook(hook)
    return seen


def _inside(path: str | os.PathLike, folder: Path) -> bool:
    return Path(path).resolve().is_relative_to(folder.resolve()) or str(path) == os.devnull
