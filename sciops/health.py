"""`doctor`: can this machine do what sciops asks of it?  Versions, resources, a self-test.

Every probe says what it found, or raises; a failure becomes a line of the report with what to do
about it, so that one broken part does not hide the others.  Nothing is downloaded, and what is
written for a test is removed.
"""

import os
import platform
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path

from .findings import Findings
from .version import __version__

LEAST_MEMORY, LEAST_DISK = 2**30, 2**30  # bytes
MEMORY_FILE = Path("/proc/meminfo")
REINSTALL = "install sciops again: pip install -e . -c constraints.txt"


@dataclass(frozen=True)
class Finding:
    """One line of the report; the remedy is for when it is not ok."""

    part: str
    ok: bool
    detail: str
    remedy: str = ""


class Health(Findings):
    """What `doctor` found; true if nothing is wrong."""

    def __str__(self) -> str:
        width = max(len(finding.part) for finding in self.findings)
        lines = []
        for f in self.findings:
            lines.append(f"{'ok  ' if f.ok else 'FAIL'} {f.part:{width}}  {f.detail}")
            if not f.ok:
                lines.append(f"{'':{width + 7}}→ {f.remedy}")
        return "\n".join(lines)


def doctor() -> Health:
    """Look at versions, machine and data directory, and try the main parts; takes some seconds."""
    probed = (_probed(part, *probe) for part, probe in PROBES.items())
    return Health((*_versions(), *probed))


def _probed(part: str, probe: Callable[[], str], remedy: str) -> Finding:
    start = time.perf_counter()
    try:
        detail = probe()
    except Exception as error:  # whatever it is, it is what was looked for
        return Finding(part, False, f"{type(error).__name__}: {error}", remedy)
    if part.startswith("self-test"):
        detail += f" ({time.perf_counter() - start:.1f} s)"
    return Finding(part, True, detail, remedy)


# --- versions -------------------------------------------------------------------------------------


def _versions() -> Iterator[Finding]:
    """Python, sciops and every package that it needs."""
    try:
        from packaging.requirements import Requirement
        from packaging.specifiers import SpecifierSet
    except ImportError as error:
        yield Finding("packaging", False, str(error), "pip install packaging")
        return
    try:
        needs = metadata.requires("sciops") or []
        python = metadata.metadata("sciops")["Requires-Python"] or ""
    except metadata.PackageNotFoundError:
        yield Finding("sciops", False, f"{__version__}, but it is not installed", REINSTALL)
        return
    yield Finding("sciops", True, __version__)
    fits = SpecifierSet(python).contains(platform.python_version(), prereleases=True)
    detail, remedy = f"{platform.python_version()} (needs {python})", f"use Python {python}"
    yield Finding("Python", fits, detail, remedy)
    for requirement in map(Requirement, needs):
        if requirement.marker is None or requirement.marker.evaluate({"extra": ""}):
            yield _package(requirement.name, requirement.specifier)


def _package(name: str, wanted) -> Finding:
    """Whether an installed package is new enough; wanted: a SpecifierSet."""
    remedy = f'pip install "{name}{wanted}" -c constraints.txt'
    try:
        found = metadata.version(name)
    except metadata.PackageNotFoundError:
        return Finding(name, False, f"missing (needs {wanted})", remedy)
    fits = wanted.contains(found, prereleases=True)
    return Finding(name, fits, f"{found} (needs {wanted})", remedy)


# --- machine --------------------------------------------------------------------------------------


def _cores() -> str:
    import torch

    from .data.running import cores

    limit = os.environ.get("OMP_NUM_THREADS")
    said = f", OMP_NUM_THREADS={limit}" if limit else ""
    return f"{cores()} to use, torch takes {torch.get_num_threads()} threads{said}"


def _gpu() -> str:
    import torch

    if torch.cuda.is_available():
        count = torch.cuda.device_count()
        return ", ".join(torch.cuda.get_device_name(device) for device in range(count))
    return "Apple" if torch.backends.mps.is_available() else "none, which is fine: CPUs are used"


def _memory() -> str:
    if not MEMORY_FILE.exists():
        return "how much is free is not known on this system"
    lines = dict(line.split(":", 1) for line in MEMORY_FILE.read_text().splitlines())
    free = 1024 * int(lines["MemAvailable"].split()[0])
    if free < LEAST_MEMORY:
        raise MemoryError(f"only {_gigabytes(free)} are free")
    return f"{_gigabytes(free)} free"


def _data_directory() -> str:
    """A file can be made there, or in the nearest folder above it that exists."""
    from .catalogue import data_dir

    folder = data_dir().absolute()
    there = next(path for path in (folder, *folder.parents) if path.exists())
    with tempfile.TemporaryFile(dir=there) as file:
        file.write(b"sciops")
    free = shutil.disk_usage(there).free
    if free < LEAST_DISK:
        raise OSError(f"only {_gigabytes(free)} are free on the disk of {folder}")
    return f"{folder}: writable, {_gigabytes(free)} free"


def _gigabytes(count: int) -> str:
    return f"{count / 2**30:.1f} GB"


# --- self-test ------------------------------------------------------------------------------------


def _xd() -> str:
    """XD = the convolution it starts as; with other K, L, M it is its dense matrix."""
    import torch
    from torch import nn

    from .operators import XD, arch_parameters

    with torch.no_grad(), torch.random.fork_rng(devices=[]):  # the caller's numbers stay
        torch.manual_seed(0)
        conv, x = nn.Conv1d(2, 3, 3, padding=1), torch.randn(4, 2, 16)
        layer = XD.from_conv(conv, 16)
        _expect_equal(layer(x), conv(x), "XD is not the convolution that it starts as")
        for parameter in arch_parameters(layer):
            parameter += 0.1 * torch.randn_like(parameter)
        dense = x.flatten(1) @ layer.as_matrix().mT + layer(torch.zeros_like(x)).flatten(1)
        _expect_equal(layer(x).flatten(1), dense, "XD is not its dense matrix")
    return "XD equals its convolution and its dense matrix"


def _expect_equal(got, expected, otherwise: str) -> None:
    error = (got - expected).abs().max().item()
    if not error < 1e-4:
        raise ArithmeticError(f"{otherwise}: they differ by {error:.1e}")


def _darcy() -> str:
    from .catalogue import generate
    from .domains.checking import check

    report = check(generate("darcy", n=2, resolution=17, workers=1, progress=False))
    if not report:
        raise ArithmeticError("; ".join(report.failures))
    return "a Darcy solution satisfies its equation"


def _checkpoint() -> str:
    import torch

    from .checkpoint import load_model, save_model

    weight = torch.arange(6.0).view(2, 3)
    with tempfile.TemporaryDirectory() as folder:
        save_model(folder, {"weight": weight}, {"made by": "doctor"})
        tensors, _ = load_model(folder)
    if not torch.equal(tensors["weight"], weight):
        raise OSError("a model came back otherwise than it was saved")
    return "a model was saved and came back the same"


PROBES: dict[str, tuple[Callable[[], str], str]] = {  # part → what to try, what if it fails
    "cores": (_cores, REINSTALL),
    "GPU": (_gpu, REINSTALL),
    "memory": (_memory, "close other programs, or take smaller batches and grids"),
    "data": (_data_directory, "set SCIOPS_DATA_DIR to a folder with space that you may write to"),
    "self-test operators": (_xd, REINSTALL),
    "self-test solver": (_darcy, REINSTALL),
    "self-test checkpoint": (
        _checkpoint,
        f"make room in {tempfile.gettempdir()} or set TMPDIR to another folder; else {REINSTALL}",
    ),
}
