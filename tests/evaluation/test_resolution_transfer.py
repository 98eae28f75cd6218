"""Models whose error on every grid is known, and networks against the same steps done by hand."""

import numpy as np
import pytest
import scipy.interpolate
import torch
from torch import nn

from sciops.backbones import make_backbone
from sciops.data.samples import MemorySamples, task_of
from sciops.evaluation.resolution_transfer import across
from sciops.metrics import energy_spectrum, relative_l2
from tests.grid_toy import (
    Y_FIRST,
    Y_LENGTH,
    OneGridOnly,
    Power,
    Recorder,
    Where,
    closed_line,
    line,
    plane,
)

CONTENDERS = ["relative_l2", "control_upsample", "control_downsample"]


def network(training, op="fno", **options):
    torch.manual_seed(0)
    data = MemorySamples(training)
    options = dict(width=4, hidden=8, blocks=2, **options)
    return make_backbone(data.task, op, **options).fit(data.x, data.y).eval()


# --- known answers --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("make", "sizes", "model"),
    [
        (line, (16, 8, 9, 21, 64), Power(2, 1.1)),
        (closed_line, (9, 5, 6, 14, 33), Power(1, 1.1)),
        (lambda n: plane(n, n), (16, 7, 24), Power(1, 1.1)),
        (lambda n: plane(n, 9, frames=4), (8, 12), Power(1, 1.1, slice(0, 2))),
    ],
    ids=["line", "closed", "plane", "frames"],
)
def test_what_interpolation_can_follow_has_the_same_error_on_every_grid(make, sizes, model):
    """Ten per cent too much of a function that all grids hold, with and without controls."""
    training = make(sizes[0])
    datasets = {n: make(n) for n in sizes}
    if "w" not in training and model.power == 1:  # the target is the input itself
        datasets = {n: ds.assign(u=ds["a"]) for n, ds in datasets.items()}
    if "w" in training:  # frames 1, 2 → 3, 4 in place of twice and thrice
        datasets = {n: _repeated(ds) for n, ds in datasets.items()}
    table = across(model, task_of(training), datasets, batch_size=3, progress=False)
    assert table["resolution"].values.tolist() == sorted(sizes)
    for name in CONTENDERS:
        assert table[name].dims == ("resolution", "sample")
        np.testing.assert_allclose(table[name], 0.1, rtol=2e-5)
    np.testing.assert_allclose(table["growth"], 1, rtol=2e-5)
    np.testing.assert_array_equal(table["sample"], training["sample"])


def _repeated(ds):
    """The last two frames are the first two."""
    ds = ds.copy(deep=True)
    ds["w"][:, 2:] = ds["w"][:, :2].values
    return ds


def test_what_the_training_grid_cannot_hold():
    """A wave of κ = 10 and amplitude ½ that only 32 points show: nobody predicts it."""
    datasets = {n: line(n, above=0.5) for n in (8, 16, 32)}
    table = across(Power(), task_of(line(16)), datasets, progress=False)
    energy = (datasets[32]["u"].astype(float) ** 2).mean("x").values
    for name in CONTENDERS:
        np.testing.assert_allclose(
            table[name].sel(resolution=32), np.sqrt(0.125 / energy), rtol=1e-5
        )
        np.testing.assert_allclose(table[name].sel(resolution=[8, 16]), 0, atol=1e-6)
    share = table["energy_above_nyquist"]
    np.testing.assert_allclose(share.sel(resolution=32), 0.125 / energy, rtol=1e-5)
    np.testing.assert_allclose(share.sel(resolution=[8, 16]), 0, atol=1e-12)
    spectrum = table["error_spectrum"].sel(resolution=32)
    np.testing.assert_allclose(spectrum.sel(wavenumber=10), 0.125, rtol=1e-5)
    np.testing.assert_allclose(spectrum.drop_sel(wavenumber=10), 0, atol=1e-12)
    assert table.attrs["training_nyquist"] == 8
    assert table.attrs["training_resolution"] == 16


@pytest.mark.parametrize(("half_waves", "share"), [(3, 0.0), (4, 0.0), (5, 1.0)])
def test_nyquist_on_a_part_of_the_domain(half_waves, share):
    """Nine points hold 4 waves on the whole and 2 on half of it, 4 half waves, not 5."""
    y = (Y_FIRST + Y_LENGTH * np.linspace(0.25, 0.75, 17)).astype("float32")
    ds = closed_line(points=y)
    ds["u"][:] = np.cos(np.pi * half_waves * np.linspace(0, 1, 17))
    table = across(Power(), task_of(closed_line(9)), {17: ds}, progress=False)
    np.testing.assert_allclose(table["energy_above_nyquist"], share, atol=1e-9)


class Deviation(nn.Module):
    """The input less its deviation: what a grid does not show is missing from the prediction."""

    def forward(self, x):
        return x - x.std(2, correction=0, keepdim=True)


def test_the_controls_are_different_things():
    """Eight points have lost a wave of the input that the training grid shows."""
    datasets = {}
    for n in (8, 16):
        s = np.arange(n) / n
        ds = datasets[n] = line(n)
        ds["u"][:] = 1 + np.sin(2 * np.pi * s)
        ds["a"][:] = ds["u"].values + (np.cos(10 * np.pi * s) if n > 10 else 0)
    table = across(Deviation(), task_of(datasets[16]), datasets, progress=False).sel(resolution=8)
    norm, with_wave, without = np.sqrt([1.5, 1.0, 0.5])
    np.testing.assert_allclose(table["relative_l2"], without / norm, rtol=1e-5)
    np.testing.assert_allclose(table["control_downsample"], without / norm, rtol=1e-5)
    np.testing.assert_allclose(table["control_upsample"], with_wave / norm, rtol=1e-5)


def test_the_model_is_told_where_the_points_are():
    """Cell centres: a finer grid begins nearer to the wall."""
    datasets = {}
    for n in (6, 12, 24):
        y = Y_FIRST + Y_LENGTH * (np.arange(n) + 0.5) / n
        ds = closed_line(points=y)
        first = Y_FIRST + Y_LENGTH / 12
        datasets[n] = ds.assign(
            u=ds["a"] * 0 + ((ds["y"] - first) / (Y_LENGTH * 5 / 6)).astype("float32")
        )
    task = task_of(datasets[6])
    table = across(Where(task), task, datasets, progress=False)
    for name in CONTENDERS:
        np.testing.assert_allclose(table[name], 0, atol=1e-6)


def test_growth_is_of_the_mean():
    class Coarse(nn.Module):
        def forward(self, x):
            return x**2 * (1 + 0.8 / x.shape[2])

    table = across(Coarse(), task_of(line(8)), {8: line(8), 32: line(32)}, progress=False)
    np.testing.assert_allclose(table["growth"], [1, 0.25], rtol=1e-4)


# --- networks, by hand ----------------------------------------------------------------------------


def by_hand(model, training, ds):
    """Each sample by itself, interpolated row by row with numpy and scipy."""
    inputs, given = MemorySamples(training), MemorySamples(ds)
    rows = []
    for x_home, x, y in zip(inputs.x, given.x, given.y, strict=True):
        home, fine = (d["x"].size for d in (training, ds))
        y_home, y_fine = training["y"].values, ds["y"].values
        up = lambda u, n=fine, old=y_home, new=y_fine: _interpolated(u, n, old, new)
        down = lambda u, n=home, old=y_fine, new=y_home: _interpolated(u, n, old, new)
        with torch.no_grad():
            own, at_home = model(x[None])[0], model(x_home[None])[0]
            low = model(down(x)[None].float())[0]
        rows.append(
            [float(relative_l2(p[None].double(), y[None])) for p in (own, up(at_home), up(low))]
        )
    return np.array(rows)


def _interpolated(u, n, old, new):
    u = scipy.interpolate.CubicSpline(old, u.double().numpy(), axis=-1)(new)
    m = u.shape[-2]
    k = np.fft.fftfreq(m, 1 / m)
    keep = (2 * abs(k) < n)[:, None] if n < m else 1
    wave = np.exp(2j * np.pi * np.outer(np.arange(n) / n, k))
    return torch.as_tensor((wave @ (keep * np.fft.fft(u, axis=-2) / m)).real)


@pytest.mark.parametrize("op", ["fno", "xd", "conv"])
@pytest.mark.parametrize("size", [(24, 13), (9, 7)], ids=str)
def test_a_network_against_the_same_steps_by_hand(op, size):
    training, ds = plane(16, 9), plane(*size)
    options = dict(taps=3) if op == "conv" else dict(frequencies=4)
    model = network(training, op, **options)
    table = across(model, task_of(training), {9: training, 13: ds}, batch_size=3, progress=False)
    expected = by_hand(model, training, ds)
    got = np.stack([table[name].sel(resolution=13).values for name in CONTENDERS], 1)
    np.testing.assert_allclose(got, expected, rtol=1e-4)
    home = [table[name].sel(resolution=9).values for name in CONTENDERS]
    assert np.array_equal(home[0], home[1]) and np.array_equal(home[0], home[2])
    with torch.no_grad():
        data = MemorySamples(ds)
        error = (model(data.x) - data.y).double()
    place = dict(periodic=(True, False), lengths=(2 * np.pi, Y_LENGTH))
    spectrum = energy_spectrum(error, **place).sum(1).mean(0)
    row = table["error_spectrum"].sel(resolution=13).values
    np.testing.assert_allclose(row[: len(spectrum)], spectrum, rtol=1e-4, atol=1e-10)
    assert np.isnan(row[len(spectrum) :]).all()


def test_spectra_end_with_their_grid():
    table = across(Power(2, 1.1), task_of(line(16)), {16: line(16), 32: line(32)}, progress=False)
    assert table["wavenumber"].values.tolist() == list(range(17))
    for name in ("error_spectrum", "target_spectrum"):
        known = np.isfinite(table[name].values).sum(1)
        assert known.tolist() == [9, 17]
    mean = (line(32)["u"].astype(float) ** 2).mean()
    np.testing.assert_allclose(table["target_spectrum"].sel(resolution=32).sum(), mean)


def test_nyquist_of_unequal_axes_is_in_waves_per_longest():
    """9 points on y, of length 3: 4 waves, which are 4 · 2π/3 on the length of x."""
    table = across(Power(), task_of(plane(32, 9)), {9: plane(32, 9)}, progress=False)
    assert table.attrs["training_nyquist"] == pytest.approx(4 * 2 * np.pi / 3)
    assert table["wavenumber"].attrs["units"] == "waves per longest axis"


# --- what does not fit ----------------------------------------------------------------------------


def test_a_model_of_one_grid_still_has_its_controls():
    datasets = {n: line(n) for n in (8, 16, 32)}
    task = task_of(datasets[16])
    table = across(OneGridOnly(Power(2, 1.1), task), task, datasets, batch_size=2, progress=False)
    assert np.isnan(table["relative_l2"].sel(resolution=[8, 32])).all()
    assert np.isnan(table["growth"].sel(resolution=[8, 32])).all()
    assert np.isnan(table["seconds"].sel(resolution=[8, 32])).all()
    assert np.isnan(table["error_spectrum"].sel(resolution=32)).all()
    np.testing.assert_allclose(table["relative_l2"].sel(resolution=16), 0.1, rtol=1e-5)
    for name in CONTENDERS[1:]:
        np.testing.assert_allclose(table[name], 0.1, rtol=1e-5)
    assert "8: built for size=(16,), not (8,)" in table.attrs["refused"]
    assert "32: built for" in table.attrs["refused"] and "16: " not in table.attrs["refused"]


def test_the_grid_frame_refuses_other_grids():
    training = line(16)
    model = network(training, "xd-grid", taps=3)
    table = across(model, task_of(training), {16: training, 20: line(20)}, progress=False)
    assert np.isfinite(table["control_upsample"]).all()
    assert "20: this grid-frame XD was built for" in table.attrs["refused"]


def test_a_model_that_refuses_its_own_grid_is_an_error():
    model = OneGridOnly(Power(), task_of(line(20)))
    with pytest.raises(ValueError, match="built for size"):
        across(model, task_of(line(16)), {20: line(20)}, progress=False)


def test_without_the_training_resolution_the_finest_input_is_interpolated():
    datasets = {n: line(n) for n in (8, 32)}
    model = network(line(16))
    table = across(model, task_of(line(16)), datasets, progress=False)
    full = across(model, task_of(line(16)), {16: line(16), **datasets}, progress=False)
    np.testing.assert_allclose(
        table["control_upsample"], full["control_upsample"].sel(resolution=[8, 32]), rtol=1e-4
    )
    assert np.isnan(table["growth"]).all()
    assert table.attrs["training_resolution"] == 16
    assert table.attrs["control_upsample_input"].startswith("resolution 32, interpolated")
    assert full.attrs["control_upsample_input"] == "resolution 16"


def test_predictions_that_are_not_finite_spoil_the_mean():
    class Broken(nn.Module):
        def forward(self, x):
            y = x**2
            y[0] = torch.inf if x.shape[2] == 32 else y[0]
            return y

    datasets = {16: line(16), 32: line(32)}
    table = across(Broken(), task_of(line(16)), datasets, progress=False)
    lost = np.isnan(table["relative_l2"].sel(resolution=32).values)
    assert lost.tolist() == [True, False, False, False, False]
    assert np.isnan(table["growth"].sel(resolution=32))
    assert np.isnan(table["error_spectrum"].sel(resolution=32)).all()
    assert np.isfinite(table["control_upsample"]).all()


def test_uneven_points_have_no_spectra():
    uneven = closed_line(points=Y_FIRST + Y_LENGTH * np.linspace(0, 1, 12) ** 1.5)
    datasets = {9: closed_line(9), 12: uneven}
    table = across(Power(1, 1.1), task_of(closed_line(9)), datasets, progress=False)
    for name in CONTENDERS:
        np.testing.assert_allclose(table[name], 0.1, rtol=2e-5)
    for name in ("error_spectrum", "target_spectrum", "energy_above_nyquist"):
        known = np.isfinite(table[name].values).any(1)
        assert known.tolist() == [True, False]


def test_finer_grids_come_in_smaller_batches():
    model = Recorder(Power())
    datasets = {16: line(16), 64: line(64)}
    table = across(model, task_of(line(16)), datasets, batch_size=4, progress=False)
    sizes = {(x.shape[2], len(x)) for x, *_ in model.calls}
    assert sizes == {(16, 4), (16, 1), (64, 1)}
    np.testing.assert_allclose(table["relative_l2"], 0, atol=1e-6)
    assert (table["seconds"] > 0).all()


@pytest.mark.parametrize(
    ("datasets", "message"),
    [
        ({}, "at least one resolution"),
        (
            {16: line(16), 32: line(32, first=41)},
            r"resolution 16 has 5 samples \(40, 41, 42, 43, …\) and resolution 32 has 5 samples",
        ),
        ({16: line(16), 32: line(32, samples=3)}, r"has 3 samples \(40, 41, 42\)"),
        ({16: line(16), 32: line(32).drop_vars("u")}, "lack u"),
        ({16: line(16), 32: line(32).isel(sample=slice(None, None, -1))}, "in the same order"),
    ],
)
def test_bad_data_are_errors(datasets, message):
    with pytest.raises(ValueError, match=message):
        across(Power(), task_of(line(16)), datasets, progress=False)


def test_the_table_can_be_kept(tmp_path):
    table = across(Power(2, 1.1), task_of(line(16)), {16: line(16), 32: line(32)}, progress=False)
    for name, variable in table.variables.items():
        assert name == "sample" or {"long_name", "units"} <= set(variable.attrs), name
    table.to_zarr(tmp_path / "transfer.zarr", consolidated=False)
