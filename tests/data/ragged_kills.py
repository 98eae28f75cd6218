"""As a script: write a ragged store, killed at every STEP-th file that it touches, then not.

python ragged_kills.py FOLDER STEP

The stores that were there after a kill are kept as `after-<n>`.
"""

import os
import signal
import sys
from pathlib import Path

import filelock  # noqa: F401  (slow imports before the first child)
import numpy as np
import xarray as xr
import zarr  # noqa: F401

from sciops.data.ragged_store import write_ragged

WATCHED = {"open", "os.mkdir", "os.rename", "os.remove", "os.rmdir", "shutil.rmtree"}


def toy_splits(seed: int = 0) -> dict[str, xr.Dataset]:
    """Three dimensions, several chunks of the longest one, attributes of each split's own."""
    rng = np.random.default_rng(seed)
    splits = {}
    for split, lengths in {"train": [300, 500, 7], "test": [400]}.items():
        n = np.array(lengths, np.int32)
        splits[split] = xr.Dataset(
            {
                "length": ("word", n, {"long_name": "how many letters"}),
                "letter": ("character", rng.integers(0, 255, n.sum(), np.uint8)),
                "vector": (("character", "axis"), rng.random((n.sum(), 3), np.float32)),
                "pair": ("two", rng.random(4 * (n**2).sum(), np.float32)),
            },
            attrs={"name": "toy", "ids": [f"w{i}" for i in n]},
        )
    return splits


def start_writing(path: Path, dies_at: int | None) -> int:
    """In a child process, which kills itself when it touches that file."""
    child = os.fork()
    if child:
        return child
    uses = iter(range(10**9))

    def watch(event: str, arguments: tuple) -> None:
        own = event in WATCHED and str(arguments[0]).startswith(str(path.parent))
        if own and next(uses) == dies_at:
            os.kill(os.getpid(), signal.SIGKILL)

    sys.addaudithook(watch)
    write_ragged(path, toy_splits())
    os._exit(0)


def main(folder: str, step: int) -> None:
    path, use = Path(folder) / "store", 0
    xr.Dataset({"a": ("x", [1])})["a"].copy(deep=True).nbytes  # noqa: B018  (imports as well)
    while True:
        _, status = os.waitpid(start_writing(path, use), 0)
        if path.exists():
            path.rename(path.with_name(f"after-{use}"))
        if os.WIFEXITED(status):
            break
        use += step
    print(use)
    sys.exit(os.waitstatus_to_exitcode(status))


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
