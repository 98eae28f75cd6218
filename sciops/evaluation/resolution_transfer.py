"""One trained model on other resolutions of the same samples.

A low error on a finer grid says little by itself: a prediction on the training grid that is then
interpolated may do as well.  So each resolution has two controls,

    control_upsample      the input as it is on the training grid → predict → interpolate
    control_downsample    interpolate the input to the training grid → predict → interpolate back,

and running the model on a grid is worth it where it beats both.  Interpolation is that of
`interpolation`.  On the training grid all three are the same.

What the training grid cannot hold is the target's energy above its Nyquist wave number; where the
error sits is seen in its spectrum (`metrics.spectrum`).
"""

import re
import time
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor, nn

from sciops.data.progress import progress_bar
from sciops.data.rows import read_rows, sample_numbers
from sciops.metrics import energy_above, energy_spectrum, nyquist, relative_l2
from sciops.task import Batch, Task

from .grids import coords_of, evenly_spaced, trained_grid
from .levels import Level, levels_of
from .scores import evaluation_mode, nan_where_not_finite, predict, row_slices

if TYPE_CHECKING:
    import xarray as xr

CONTENDERS = {
    "relative_l2": "relative L2 error of the model on this grid",
    "control_upsample": "relative L2 error of the prediction on the training grid, interpolated",
    "control_downsample": "relative L2 error with the input interpolated to the training grid",
}
PER_SAMPLE = {
    **CONTENDERS,
    "energy_above_nyquist": "share of the target's energy that the training grid cannot hold",
}
SPECTRA = {
    "error_spectrum": "energy of the error, mean over samples",
    "target_spectrum": "energy of the target, mean over samples",
}


def across(
    model: nn.Module,
    task: Task,
    datasets: "Mapping[int, xr.Dataset]",
    *,
    batch_size: int = 32,
    progress: bool = True,
) -> "xr.Dataset":
    """Errors (resolution, sample) of a model and its controls, on the same samples on many grids.

    task:       the one the model was built for; its axes are the training grid
    datasets:   by resolution.  The one on the training grid, if there is one, gives the input of
                control_upsample, otherwise the finest does, interpolated
    batch_size: samples at a time; fewer on finer grids, so that these take no more memory

    Also: energy_above_nyquist (resolution, sample); error_spectrum and target_spectrum (resolution,
    wavenumber), summed over channels and NaN beyond a grid; seconds (of a sample's prediction) and
    growth (resolution).  Where the model does not run it has NaN, and attrs["refused"] says why.
    A mean over samples of which one is NaN is NaN.
    """
    levels = levels_of(task, datasets, batch_size)
    source = next((level for level in levels if level.trained), levels[-1])
    samples = len(sample_numbers(source.ds))
    coords = coords_of(task, trained_grid(task))

    def on_training_grid(x: Tensor) -> Tensor:
        return predict(model, x, coords=coords, batch_size=batch_size)

    with evaluation_mode(model), progress_bar("transferring", samples, shown=progress) as count:
        for rows in row_slices(slice(0, samples), batch_size):
            x = source.inward(read_rows(source.ds, task, rows).x)
            trained, seconds = _timed(on_training_grid, x)
            for level in levels:
                level.seconds += seconds if level.trained else 0.0
                parts = row_slices(rows, level.batch_size)
                for part, home in zip(parts, trained.split(level.batch_size), strict=True):
                    batch = read_rows(level.ds, task, part)
                    _measure(level, model, batch, home, on_training_grid)
            count(len(x))
    return _table(levels, task, source)


def refusals(table: "xr.Dataset") -> dict[int, str]:
    """Why the model does not run on a grid, by resolution, from the table of `across`."""
    grids = "|".join(str(n) for n in table["resolution"].values.tolist())
    _, *parts = re.split(rf"(?:^|; )({grids}): ", table.attrs["refused"])
    return {int(n): why for n, why in zip(parts[::2], parts[1::2], strict=True)}


# --- measuring ------------------------------------------------------------------------------------


def _timed(make: Callable[[Tensor], Tensor], x: Tensor) -> tuple[Tensor, float]:
    started = time.perf_counter()
    return make(x), time.perf_counter() - started


def _measure(level: Level, model: nn.Module, batch: Batch, home: Tensor, on_training_grid) -> None:
    """Note all scores of some samples; home: what on_training_grid predicts for them."""
    if level.trained:
        own, up, down = home, home, home
    else:
        own, up = _prediction(level, model, batch), level.outward(home)
        down = level.outward(on_training_grid(level.inward(batch.x)))
    for name, prediction in zip(CONTENDERS, (own, up, down), strict=True):
        errors = relative_l2(prediction.double(), batch.y.double())
        level.note(name, nan_where_not_finite(errors, prediction))
    _note_spectra(level, own, batch.y)


def _prediction(level: Level, model: nn.Module, batch: Batch) -> Tensor:
    """What the model predicts on this grid; NaN if it does not run there."""
    options = dict(coords=level.place["coords"], batch_size=level.batch_size)
    if not level.refused:
        try:
            prediction, seconds = _timed(lambda x: predict(model, x, **options), batch.x)
        except ValueError as error:  # the resolution contract of a fixed operator
            level.refused, level.seconds = str(error), np.nan
        else:
            level.seconds += seconds
            return prediction
    return torch.full_like(batch.y, torch.nan)


def _note_spectra(level: Level, prediction: Tensor, target: Tensor) -> None:
    """NaN where points are not evenly spaced, which have no modes."""
    periodic, lengths = level.place["periodic"], level.place["lengths"]
    prediction, target = prediction.double(), target.double()
    if not evenly_spaced(level.place):
        nothing = target.new_full((len(target), 1), torch.nan)
        level.note("energy_above_nyquist", nothing[:, 0])
        for name in SPECTRA:
            level.note(name, nothing)
        return
    level.note("energy_above_nyquist", energy_above(target, level.cutoff, periodic=periodic))
    for name, values in zip(SPECTRA, (prediction - target, target), strict=True):
        energy = energy_spectrum(values, periodic=periodic, lengths=lengths).sum(1)
        level.note(name, nan_where_not_finite(energy, values))


# --- the result -----------------------------------------------------------------------------------


def _table(levels: list[Level], task: Task, source: Level) -> "xr.Dataset":
    import xarray as xr

    joined = {n: [torch.cat(lv.found[n]).numpy() for lv in levels] for n in (*PER_SAMPLE, *SPECTRA)}
    data = {name: (("resolution", "sample"), np.stack(joined[name])) for name in PER_SAMPLE}
    for name in SPECTRA:
        means = [energies.mean(0) for energies in joined[name]]
        data[name] = (("resolution", "wavenumber"), _padded(means))
    errors = data["relative_l2"][1].mean(1)
    at_training = errors[levels.index(source)] if source.trained else np.nan
    samples = sample_numbers(source.ds)
    with np.errstate(divide="ignore", invalid="ignore"):  # a perfect model has no growth
        data["growth"] = ("resolution", errors / at_training)
    data["seconds"] = ("resolution", [level.seconds / len(samples) for level in levels])
    coords = {
        "resolution": [level.resolution for level in levels],
        "sample": samples,
        "wavenumber": np.arange(data["error_spectrum"][1].shape[1]),
    }
    return _described(xr.Dataset(data, coords, _attrs(levels, task, source)))


def _padded(spectra: list[np.ndarray]) -> np.ndarray:
    longest = max(len(spectrum) for spectrum in spectra)
    return np.stack([np.pad(s, (0, longest - len(s)), constant_values=np.nan) for s in spectra])


def _attrs(levels: list[Level], task: Task, source: Level) -> dict[str, Any]:
    """training_nyquist: the lowest of all axes, on the scale of `wavenumber`."""
    lengths = [axis.length for axis in task.axes]
    limits = nyquist([axis.size for axis in task.axes], [axis.periodic for axis in task.axes])
    return {
        "task": task.name,
        "training_resolution": source.resolution if source.trained else task.axes[0].size,
        "training_nyquist": min(
            k * max(lengths) / length for k, length in zip(limits, lengths, strict=True)
        ),
        "control_upsample_input": f"resolution {source.resolution}"
        + ("" if source.trained else ", interpolated to the training grid"),
        "refused": "; ".join(f"{lv.resolution}: {lv.refused}" for lv in levels if lv.refused),
    }


def _described(table: "xr.Dataset") -> "xr.Dataset":
    others = {
        "growth": "mean relative L2 error over that on the training grid",
        "seconds": "time of a prediction, mean over samples",
    }
    for name, text in {**PER_SAMPLE, **SPECTRA, **others}.items():
        table[name].attrs = {"long_name": text, "units": "1"}
    table["seconds"].attrs["units"] = "s"
    table["wavenumber"].attrs = {"long_name": "wave number", "units": "waves per longest axis"}
    table["resolution"].attrs = {"long_name": "resolution", "units": "points"}
    return table
