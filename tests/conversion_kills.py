"""As a script: convert a file to a store, killed at random moments, then once undisturbed.

python conversion_kills.py FILE STORE KILLS
"""

import os
import random
import signal
import sys
import time
from pathlib import Path

import xarray  # noqa: F401  (slow imports before the first child)
import zarr  # noqa: F401

from sciops import check, read  # noqa: F401


def start_conversion(file: str, store: str) -> int:
    """In a child process that has nothing left to import."""
    child = os.fork()
    if child == 0:
        read("darcy", file, fields={"a": "coeff", "u": "sol"}, out=store)
        os._exit(0)
    return child


def main(file: str, store: str, kills: int) -> None:
    os.waitpid(start_conversion(file, f"{store}-undisturbed"), 0)
    begun = 0
    for i in range(kills):
        child = start_conversion(file, store)
        while not Path(f"{store}.partial").exists() and not Path(store).exists():
            time.sleep(0.001)
        time.sleep(random.uniform(0, 0.2 if i % 2 else 0.02))
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        begun += Path(f"{store}.partial").exists()
        if Path(store).exists():
            Path(store).rename(f"{store}-complete-{i}")
    os.waitpid(start_conversion(file, store), 0)
    print(begun)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]))
