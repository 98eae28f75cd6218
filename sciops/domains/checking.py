"""Is this data what it says it is?  Labels, finite values, leaks between splits, and the equation.

Published data sets had wrong time scales, wrong ranges and parameters that never varied; a network
trains on them all the same.  `check` looks before.
"""

import hashlib
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from sciops.data.samples import task_of
from sciops.findings import Findings

from . import DOMAINS, ONLY_READ, domain_named

if TYPE_CHECKING:
    import xarray as xr

READ_AT_ONCE = 2**27  # bytes of samples that are solved anew
PART = 2**24  # bytes of what is only looked at; while one is read, another is still there
CHECKS = {  # of what is no field, by its name
    "protein": ("sciops.proteins.checking", "check_proteins"),
    "music": ("sciops.music.checking", "check_music"),
    "cosmic": ("sciops.cosmic.checking", "check_cosmic"),
}
NEEDED_ATTRS = ("name", "equation", "boundary_conditions", "parameters", "inputs", "targets")


@dataclass(frozen=True)
class Finding:
    """One line of a report."""

    check: str
    split: str
    ok: bool
    detail: str


class CheckReport(Findings):
    """What `check` found; true if nothing is wrong."""

    @property
    def failures(self) -> list[str]:
        return [f"{f.check} ({f.split}): {f.detail}" for f in self.findings if not f.ok]

    def __str__(self) -> str:
        width = max(len(f.check) for f in self.findings)
        return "\n".join(
            f"{'ok  ' if f.ok else 'FAIL'} {f.check:{width}} {f.split:5} {f.detail}"
            for f in self.findings
        )


def check(data: "xr.Dataset | xr.DataTree | str | Path") -> CheckReport:
    """Check a data set, a tree of splits, or a store (whose files are then verified too).

    >>> import sciops
    >>> report = sciops.check(sciops.generate("darcy", n=4, resolution=17, progress=False))
    >>> report.ok
    True
    """
    findings: list[Finding] = []
    if isinstance(data, str | Path):
        from sciops.data.store import open_store

        data = open_store(data, full=True)
        findings.append(Finding("files", "all", True, "every file has the size and hash it had"))
    for label, splits in _collections(data):
        names = {ds.attrs.get("name") for ds in splits.values()}
        if len(names) == 1 and names <= CHECKS.keys():
            module, function = CHECKS[names.pop()]
            findings += getattr(import_module(module), function)(splits)
            continue
        if all(ds.attrs.get("name") == "vision" for ds in splits.values()):
            from sciops.vision.checking import check_vision

            findings += check_vision(splits)
            continue
        for split, ds in splits.items():
            findings += _check_split(label + split, ds)
        if len(splits) > 1:
            findings.append(_no_leaks(label or "all", splits))
    return CheckReport(tuple(findings))


def _collections(data) -> Iterator[tuple[str, dict[str, "xr.Dataset"]]]:
    """Labels and splits: one collection, or one for each resolution."""
    import xarray as xr

    if isinstance(data, xr.Dataset):
        yield "", {"data": data}
        return
    if not isinstance(data, xr.DataTree):
        raise ValueError(
            f"expected an xarray.Dataset, a DataTree or the path of a store, got {type(data)}"
        )
    children = dict(data.children)
    if children and all(not child.data_vars and child.children for child in children.values()):
        for name, child in children.items():
            yield from ((f"{name}/{label}", splits) for label, splits in _collections(child))
        return
    attrs = data.attrs
    splits = {n: c.to_dataset().assign_attrs({**attrs, **c.attrs}) for n, c in children.items()}
    yield "", splits or {"data": data.to_dataset()}


def _check_split(split: str, ds: "xr.Dataset") -> list[Finding]:
    problems = list(_schema_problems(ds))
    findings = [finding("schema", split, problems, "labelled as the schema wants")]
    if problems:
        return findings  # the rest would only repeat it
    findings.append(finding("coordinates", split, list(_coordinate_problems(ds)), "increasing"))
    bad = list(_value_problems(ds))
    findings.append(finding("values", split, bad, "finite, and no input twice"))
    if not bad:
        findings.append(_equation(split, ds))
    return findings


def finding(check: str, split: str, problems: list[str], fine: str) -> Finding:
    return Finding(check, split, not problems, "; ".join(problems) or fine)


def _schema_problems(ds: "xr.Dataset") -> Iterator[str]:
    missing = [name for name in NEEDED_ATTRS if name not in ds.attrs]
    if missing:
        yield f"attrs lack {', '.join(missing)}"
    malformed = list(_malformed(ds.attrs))
    yield from malformed
    for name, variable in ds.data_vars.items():
        if not variable.dims or variable.dims[0] != "sample":
            yield f"{name} has the dimensions {variable.dims}, the first must be 'sample'"
        if variable.dtype.kind != "f":
            yield f"{name} holds {variable.dtype}, not floating-point numbers"
        if not variable.attrs.get("units"):
            yield f"{name} has no units (use '1' for a number without)"
    lacking = [d for d in ds.dims if d not in ds.coords]
    if lacking:
        yield f"no coordinates for {', '.join(map(str, lacking))}"
    if 0 in ds.sizes.values():
        yield f"there is nothing in it: {dict(ds.sizes)}"
    elif not missing and not malformed and not lacking and ds.data_vars:
        try:
            task_of(ds)
        except ValueError as error:
            yield str(error)


def _malformed(attrs: Mapping) -> Iterator[str]:
    """Metadata of another kind than the schema wants."""
    for name in ("parameters", "boundary_conditions"):
        if not isinstance(attrs.get(name, {}), Mapping):
            yield f"attrs[{name!r}] must be a dictionary, not {attrs[name]!r}"
    for name in ("inputs", "targets"):
        fields = attrs.get(name, [])
        plain = isinstance(fields, list | tuple)
        if not plain or not all(isinstance(f, Mapping) and "variable" in f for f in fields):
            yield f"attrs[{name!r}] must be a list of {{'variable': …, 'frames': …}}: {fields!r}"


def _coordinate_problems(ds: "xr.Dataset") -> Iterator[str]:
    boundaries = ds.attrs["boundary_conditions"]
    for dim in ds.dims:
        points = np.asarray(ds[dim].values, float)
        gaps = np.diff(points)
        if not np.isfinite(points).all():
            yield f"{dim} is not finite"
        elif dim == "sample":
            if len(np.unique(points)) < len(points):
                yield "sample numbers repeat"
        elif (gaps <= 0).any():
            yield f"{dim} does not increase"
        elif boundaries.get(dim) == "periodic" and len(gaps) and np.ptp(gaps) > 1e-4 * gaps.mean():
            yield f"{dim} is periodic, but its spacing varies from {gaps.min():g} to {gaps.max():g}"


def _value_problems(ds: "xr.Dataset") -> Iterator[str]:
    inputs = {field["variable"] for field in ds.attrs["inputs"]}
    for name, variable in ds.data_vars.items():
        bad, low, high = 0, np.inf, -np.inf
        seen: set[bytes] = set()
        for part in parts_of(variable):
            finite = np.isfinite(part)
            bad += int((~finite.reshape(len(part), -1).all(1)).sum())
            values = part[finite]
            low, high = min(low, values.min(initial=np.inf)), max(high, values.max(initial=-np.inf))
            seen.update(_digests(part))
        if bad:
            yield f"{name}: {bad} of {len(variable)} samples have NaN or infinite values"
        elif low == high:
            yield f"{name} is {low:g} everywhere"
        elif len(seen) == 1 < len(variable):
            yield f"{name} is the same in all {len(variable)} samples"
        elif len(seen) < len(variable) and name in inputs:
            yield f"{name}: {len(variable) - len(seen)} samples repeat others"


def parts_of(variable: "xr.DataArray") -> Iterator[np.ndarray]:
    """A variable in pieces of bounded size."""
    count = max(1, PART // max(1, variable.nbytes // max(1, len(variable))))
    for start in range(0, len(variable), count):
        yield variable[start : start + count].values


def _digests(part: np.ndarray) -> list[bytes]:
    return [hashlib.blake2b(np.ascontiguousarray(row), digest_size=16).digest() for row in part]


def _no_leaks(label: str, splits: Mapping[str, "xr.Dataset"]) -> Finding:
    """No sample number, and no equal input, in two splits."""
    problems = []
    numbers: dict[int, str] = {}
    for split, ds in splits.items():
        for number in ds["sample"].values.tolist() if "sample" in ds.coords else []:
            if numbers.setdefault(number, split) != split:
                problems.append(f"sample {number} is in {numbers[number]} and in {split}")
    for (one, other), count in shared_samples(splits).items():
        what = "a sample" if count == 1 else f"{count} samples"
        problems.append(f"{one} and {other} share {what}")
    more = f"; and {len(problems) - 3} more" if len(problems) > 3 else ""
    detail = "; ".join(problems[:3]) + more
    return Finding("splits", label, not problems, detail or "no sample is in two splits")


def shared_samples(splits: Mapping[str, "xr.Dataset"]) -> Counter[tuple[str, str]]:
    """How many samples of a split have the inputs of one of an earlier split, by both names."""
    first: dict[tuple[bytes, ...], str] = {}
    shared: Counter[tuple[str, str]] = Counter()
    for split, ds in splits.items():
        inputs = [f["variable"] for f in ds.attrs.get("inputs", []) if f["variable"] in ds]
        columns = [[d for part in parts_of(ds[name]) for d in _digests(part)] for name in inputs]
        for row in zip(*columns, strict=True):
            if first.setdefault(row, split) != split:
                shared[first[row], split] += 1
    return shared


def _equation(split: str, ds: "xr.Dataset") -> Finding:
    """How far some samples are from solving what they are said to solve."""
    name = ds.attrs["name"]
    if name not in DOMAINS | ONLY_READ:
        return Finding("equation", split, True, f"not checked: no equation is known for {name!r}")
    known = domain_named(name)
    missing = [p for p in known.declared if p not in ds.attrs["parameters"]]
    if missing:
        detail = f"not checked: attrs['parameters'] do not say {', '.join(missing)}"
        return Finding("equation", split, True, detail)
    samples = ds.sizes["sample"]
    count = min(known.judged, max(1, READ_AT_ONCE * samples // ds.nbytes))
    chosen = np.unique(np.linspace(0, samples - 1, count).astype(int))
    some = ds.isel(sample=chosen).load()
    try:
        worst, limit = float(np.max(known.defects(some))), known.tolerance(some)
    except ValueError as error:
        return Finding("equation", split, False, str(error))
    detail = f"defect {worst:.2g} (at most {limit:.2g} is expected) in {len(chosen)} samples"
    return Finding("equation", split, bool(worst <= limit), detail)
