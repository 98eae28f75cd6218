"""The file of a journal: Optuna's, with our lock, opened to go on with or only to be read."""

import contextlib
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from filelock import FileLock

from .early_stopping import EarlyStopping

if TYPE_CHECKING:
    from optuna import Study
    from optuna.storages import JournalStorage
    from optuna.trial import FrozenTrial

FILE, NAME = "journal.log", "study"


def read_trials(folder: Path) -> "list[FrozenTrial]":
    """In the order of their numbers; nothing is written: a disk may be read-only."""
    file = folder / FILE
    storage = _storage(file)
    with _understood(file), _quiet():
        import optuna

        if not optuna.get_all_study_names(storage):  # it is about to begin
            return []
        return optuna.load_study(study_name=NAME, storage=storage).get_trials(deepcopy=False)


class _JournalLock:
    """Optuna's lock of a journal file; a line that a dying process left unfinished is cut off."""

    def __init__(self, file: Path):
        self._file, self._lock = file, FileLock(f"{file}.lock")

    def acquire(self) -> bool:
        self._lock.acquire()
        _cut_unfinished_line(self._file)
        return True

    def release(self) -> None:
        self._lock.release()


def _cut_unfinished_line(file: Path) -> None:
    with file.open("r+b") as stream:
        size = stream.seek(0, 2)
        stream.seek(max(size - 1, 0))
        if size and stream.read() != b"\n":
            stream.truncate(file.read_bytes().rfind(b"\n") + 1)


def _storage(file: Path) -> "JournalStorage":
    try:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "IProgress not found")  # of tqdm, in notebooks
            import optuna
            from optuna.storages.journal import JournalFileBackend
    except ImportError:
        raise ImportError('a study needs Optuna: pip install "sciops[optuna]"') from None
    with _understood(file):
        return optuna.storages.JournalStorage(JournalFileBackend(str(file), _JournalLock(file)))


def open_study(file: Path, early_stopping: EarlyStopping | None) -> "Study":
    storage = _storage(file)
    import optuna

    options = {
        "storage": storage,
        "study_name": NAME,
        "sampler": optuna.samplers.RandomSampler(seed=0),  # never asked: proposers choose
        "pruner": early_stopping.pruner() if early_stopping else optuna.pruners.NopPruner(),
    }
    with _understood(file), _quiet():
        begun = optuna.get_all_study_names(storage)
        return optuna.load_study(**options) if begun else optuna.create_study(**options)


@contextlib.contextmanager
def _understood(file: Path) -> Iterator[None]:
    try:
        yield
    except (ValueError, LookupError, TypeError, AttributeError, AssertionError) as error:
        raise ValueError(
            f"{file} is not the journal of a study, or is damaged ({error}); remove it, or choose "
            "another folder"
        ) from error


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    from optuna import logging

    level = logging.get_verbosity()
    logging.set_verbosity(logging.WARNING)
    try:
        yield
    finally:
        logging.set_verbosity(level)
