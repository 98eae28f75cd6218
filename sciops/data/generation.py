"""Making a store on all cores or on a Dask cluster, with the same bytes every time.

The work is a list of parts.  A part computes its blocks, writes its own files in `<path>.partial`
and then a marker with their hashes.  When all are done the files are compared with the markers,
the manifest is written and the folder is renamed to `path`, where there is a whole store or none.

After an interruption, parts whose files still have their hashes are kept and the rest is computed
again.  A partial store of another specification is discarded.
"""

import contextlib
import logging
import os
import re
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from .manifest import (
    METADATA,
    describe,
    find_manifest,
    flush,
    list_files,
    sync,
    verify,
    write_manifest,
)
from .parts import Blocks, Part, Site, list_parts, write_part, writing
from .progress import progress_bar
from .running import cores, on_cluster, on_threads
from .schema import StoreError, StoreSpec, canonical, create, digest

logger = logging.getLogger(__name__)

MakeBlock = Callable[[Sequence[int]], Mapping[str, np.ndarray]]
Check = Callable[[Path], None]


def build(
    path: str | Path,
    spec: StoreSpec,
    make_block: MakeBlock,
    *,
    block: int,
    workers: int | None = None,
    scheduler: Any = None,
    overwrite: bool = False,
    progress: bool = True,
    check: Check | None = None,
) -> Path:
    """Make the store of `spec` at `path`, unless it is there already.

    make_block: numbers of samples → {variable: (block, *dims)}.  Pure, and determined by the
        attributes of `spec`.  It gets whole blocks that begin at multiples of `block`, and what is
        beyond the last sample is cut off: a sample's bits do not depend on how many there are.
    workers: threads; one for each core if None
    scheduler: the address of a Dask scheduler, or its Client, to use instead of threads.  All
        workers must see `path`, and make_block must be picklable.
    overwrite: replace a store of another specification, or a damaged one
    check: is given the finished store before it is at `path`; if it raises, nothing is kept
    """
    source = Blocks.of(spec, make_block, block)
    fingerprint = digest(canonical([spec.fingerprint(), block]))  # rounding may depend on both
    run = partial(on_cluster, scheduler) if scheduler is not None else partial(on_threads, workers)
    return make_store(path, spec, block, source, fingerprint, run, overwrite, progress, check)


def make_store(
    path: str | Path,
    spec: StoreSpec,
    block: int,
    source: Callable[[Part], Mapping[str, np.ndarray]],
    fingerprint: str,
    run: Callable,
    overwrite: bool,
    progress: bool,
    check: Check | None = None,
) -> Path:
    """`build` with any source of arrays; `fingerprint` stands for all that determines them."""
    site = Site(Path(path).absolute(), fingerprint)
    if site.path.suffix == ".partial":
        raise StoreError(f"{path}: unfinished stores are called so; choose another name")
    if is_there(site, overwrite) and not site.partial.exists():
        tidy(site.path)
        return Path(path)
    with only_process(site.path):
        if not is_there(site, overwrite):
            with writing(site.path):
                _prepare(site, spec, block)
            _fill(site, spec, block, partial(_make_part, site, source), run, progress)
            with writing(site.path):
                publish(site, list_parts(spec, block), check)
        clear(site.partial)
    return Path(path)


def is_there(site: Site, overwrite: bool) -> bool:
    """Whether the wanted store exists; StoreError if something else does that must stay."""
    path = site.path
    with writing(path):
        if not path.exists() or (path.is_dir() and not any(path.iterdir())):
            _check_no_link(path)
            return False
    if not _is_ours(path):
        raise StoreError(f"{path} exists and is no store: it is left alone; choose another path")
    try:
        same = verify(path, full=overwrite)["fingerprint"] == site.fingerprint
    except StoreError:
        if overwrite:
            return False
        raise
    if not same and not overwrite:
        raise StoreError(
            f"{path} is a store of another specification (seed, parameters, number of samples …); "
            "choose another path, or overwrite=True to replace it"
        )
    return same


def _check_no_link(path: Path) -> None:
    """A folder cannot be renamed to a link, which would be noticed when all is computed."""
    if path.is_symlink():
        raise StoreError(
            f"{path} is a link to {path.readlink()}, where there is no store; give the path of the "
            "folder itself, or remove the link"
        )


def _is_ours(path: Path) -> bool:
    """Whether a folder is a store, perhaps a damaged one."""
    root = path / METADATA
    whole = path.is_dir() and find_manifest(path) is not None
    return whole or (root.is_file() and b'"sciops_schema"' in root.read_bytes())


@contextlib.contextmanager
def only_process(path: Path) -> Iterator[None]:
    """Wait until no other process makes the same store."""
    from filelock import FileLock, Timeout

    with writing(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        Path(f"{path}.lock").touch()  # where this fails, the lock would wait for ever
        lock = FileLock(f"{path}.lock")
        try:
            lock.acquire(timeout=0)
        except Timeout:
            logger.warning("another process is making %s: waiting for it", path)
            lock.acquire()
    try:
        yield
    finally:
        with contextlib.suppress(OSError):
            Path(lock.lock_file).unlink()  # those who wait for it notice, and take a new one
        lock.release()


def tidy(path: Path) -> None:
    """Remove what a process that was killed after it had made a store left beside it."""
    lock, site = Path(f"{path}.lock"), Site(path.absolute(), "")
    if lock.exists() or site.partial.exists():
        from filelock import FileLock

        with contextlib.suppress(OSError), FileLock(lock, timeout=0):  # else it is in use
            clear(site.partial)
            lock.unlink()


def _prepare(site: Site, spec: StoreSpec, block: int) -> None:
    """Metadata and coordinates, unless an earlier run wrote them."""
    if site.is_done("skeleton"):
        return
    clear(site.partial)
    site.folder.mkdir(parents=True)
    create(site.store, spec, block)
    site.mark("skeleton", describe(site.store, list_files(site.store)))


def clear(partial_store: Path) -> None:
    """Remove unfinished work, and nothing that is not ours."""
    with contextlib.suppress(OSError):
        for folder in partial_store.iterdir():
            if re.fullmatch("[0-9a-f]{16}", folder.name):
                shutil.rmtree(folder, ignore_errors=True)
        partial_store.rmdir()


def _fill(site: Site, spec: StoreSpec, block: int, make_part, run, progress: bool) -> None:
    """Compute the parts that are not done."""
    parts = list_parts(spec, block)
    with ThreadPoolExecutor(cores()) as pool:
        done = list(pool.map(site.is_done, (part.name for part in parts)))
    missing = [part for part, is_done in zip(parts, done, strict=True) if not is_done]
    check_space(site, sum(part.samples * spec.split_bytes(part.split) for part in missing))
    total = sum(part.samples for part in parts)
    before = total - sum(part.samples for part in missing)
    with progress_bar(site.path.name, total, done=before, shown=progress) as advance:
        if missing:
            run(make_part, missing, lambda part: advance(part.samples))


def check_space(site: Site, needed: int) -> None:
    free = shutil.disk_usage(site.folder).free
    if needed > free:
        raise StoreError(
            f"{site.path} needs {needed / 1e9:.3g} GB more, the disk has {free / 1e9:.3g} GB; "
            "free some space, or ask for fewer samples or a lower resolution"
        )


def _make_part(site: Site, source, part: Part) -> Part:
    """Runs in a thread or on a machine of the cluster."""
    arrays = source(part)
    with writing(site.path):
        site.mark(part.name, write_part(site.store, part, arrays))
    return part


def publish(site: Site, parts: list[Part], check: Check | None = None) -> None:
    """Compare all files with the markers, declare the store complete and rename it."""
    names = ["skeleton", *(part.name for part in parts)]
    with ThreadPoolExecutor(cores()) as pool:
        intact = list(pool.map(site.is_done, names))
    if not all(intact):
        raise StoreError(
            f"{site.store} lost or changed files of {names[intact.index(False)]} after they were "
            "written; run the same again, with a path that all workers share and nothing else uses"
        )
    files = {name: tuple(f) for part in names for name, f in site.marked(part).items()}
    for stray in set(list_files(site.store)) - set(files):  # drafts of a run that was killed
        (site.store / stray).unlink()
    write_manifest(site.store, files, site.fingerprint)
    verify(site.store)
    if check is not None:
        _check(site, check)
    flush(site.store, cores())
    if site.path.is_dir() and any(site.path.iterdir()):
        site.path.rename(site.folder / f"replaced-{os.getpid()}")
    site.store.replace(site.path)
    sync(site.path.parent)


def _check(site: Site, check: Check) -> None:
    try:
        check(site.store)
    except Exception:
        clear(site.partial)
        raise
