"""How much memory there is for this process, asked before work begins that would not fit.

The operating system says yes to almost any request and kills the process later; nothing would tell
why.  So what is needed is estimated first, and refused with the number.
"""

import os
from pathlib import Path

MEMINFO = Path("/proc/meminfo")
STATUS = Path("/proc/self/status")
GROUPS = (  # limit and use of a control group, version 2 and 1
    ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory.current"),
    (
        "/sys/fs/cgroup/memory/memory.limit_in_bytes",
        "/sys/fs/cgroup/memory/memory.usage_in_bytes",
    ),
)


def available_bytes() -> int | None:
    """What this process can still have; None where the system does not say.

    The least of what the machine has left, its control group (a container, a job of a cluster)
    allows, and `ulimit -v` and `-d` allow.
    """
    known = [_of_machine(), _of_group(), _of_limit()]
    return min((n for n in known if n is not None), default=None)


def _of_machine() -> int | None:
    kilobytes = _entry(MEMINFO, "MemAvailable")
    return None if kilobytes is None else kilobytes * 1024


def _of_group() -> int | None:
    for limit, used in GROUPS:
        numbers = [_number(Path(file)) for file in (limit, used)]
        if None not in numbers:
            return max(numbers[0] - numbers[1], 0)
    return None


def _of_limit() -> int | None:
    try:
        import resource
    except ImportError:  # Windows
        return None
    kinds = (resource.RLIMIT_AS, "VmSize"), (resource.RLIMIT_DATA, "VmData")
    pairs = [(resource.getrlimit(kind)[0], _entry(STATUS, entry)) for kind, entry in kinds]
    left = [
        max(limit - used * 1024, 0)
        for limit, used in pairs
        if limit != resource.RLIM_INFINITY and used is not None
    ]
    return min(left, default=None)


def _number(file: Path) -> int | None:
    try:
        return int(file.read_text())
    except (OSError, ValueError):  # none, or "max"
        return None


def _entry(file: Path, name: str) -> int | None:
    """A line `name: 123 kB` of a file of Linux."""
    try:
        lines = file.read_text().splitlines()
    except OSError:
        return None
    return next((int(line.split()[1]) for line in lines if line.startswith(f"{name}:")), None)


def memory_there() -> int | None:
    """`available_bytes`, or what SCIOPS_MEMORY says, in GB, where the system is wrong."""
    said = os.environ.get("SCIOPS_MEMORY")
    return available_bytes() if said is None else int(float(said) * 1e9)


def expect_memory(needed: int, what: str, remedy: str) -> None:
    """ValueError with the number if this process cannot have so many bytes."""
    free = memory_there()
    if free is not None and needed > free:
        raise ValueError(
            f"{what} needs about {needed / 1e9:.3g} GB of memory, {free / 1e9:.3g} GB are there; "
            f"{remedy} (SCIOPS_MEMORY={needed / 1e9:.2g} if you know better)"
        )
