"""Every window is cut from the right place, and the sequences are not copied."""

import numpy as np
import pytest
import torch
import xarray as xr

from sciops.backbones.forecasting import forecaster
from sciops.data.samples import MemorySamples, batches
from sciops.data.windows import WindowSamples
from sciops.metrics import relative_l2
from sciops.training import ShuffledBatches, fit
from tests.data.toy import toy
from tests.training_toy import quick


def sequences(n: int = 3, history: int = 3, frames: int = 5, size: int = 8) -> MemorySamples:
    """Waves that travel by one point a frame."""
    rng = np.random.default_rng(0)
    x, t = np.arange(size) / size, np.arange(1.0, history + frames + 1)
    phase = rng.random((n, 1, 1))
    w = np.sin(2 * np.pi * (x - t[:, None] / size + phase)) * (1 + np.arange(n))[:, None, None]
    coords = {"sample": np.arange(n), "time": t, "x": x}
    attrs = {
        "name": "waves",
        "boundary_conditions": {"x": "periodic"},
        "inputs": [{"variable": "w", "frames": [0, history]}],
        "targets": [{"variable": "w", "frames": [history, history + frames]}],
    }
    return MemorySamples(xr.Dataset({"w": (("sample", "time", "x"), w)}, coords, attrs))


@pytest.mark.parametrize(("history", "frames"), [(3, 5), (4, 2), (2, 7), (1, 1)])
def test_windows_are_those_of_the_whole_sequences(history, frames):
    data = sequences(history=history, frames=frames)
    windows, whole = WindowSamples(data), torch.cat([data.x, data.y], 1)
    expected = [(s, k) for s in range(3) for k in range(frames)]
    assert len(windows) == len(expected)
    batch = windows.__getitems__(list(range(len(windows))))
    for i, (s, k) in enumerate(expected):
        assert torch.equal(batch.x[i], whole[s, k : k + history])
        assert torch.equal(batch.y[i], whole[s, k + history : k + history + 1])
        one = windows[i]
        assert torch.equal(one.x, batch.x[i])
        assert torch.equal(one.y, batch.y[i])


def test_order_of_the_indices_is_kept_and_sequences_are_shared():
    data = sequences()
    windows = WindowSamples(data)
    some = windows.__getitems__([7, 0, 14, 7])
    for place, index in enumerate([7, 0, 14, 7]):
        assert torch.equal(some.x[place], windows[index].x)
        assert torch.equal(some.y[place], windows[index].y)
    assert windows.x is data.x
    assert windows.y is data.y
    with pytest.raises(IndexError):
        windows[len(windows)]


def test_every_window_once_an_epoch():
    windows = WindowSamples(sequences())
    sampler = ShuffledBatches(len(windows), 4, seed=1)
    chosen = sorted(i for batch in sampler for i in batch)
    assert chosen == list(range(15))
    loaded = torch.cat([batch.y for batch in batches(windows, 4, shuffle=True)])
    assert loaded.shape == (15, 1, 8)
    torch.testing.assert_close(loaded.flatten().sort().values, windows.y.flatten().sort().values)


def test_a_step_learns_from_windows_and_is_judged_by_its_roll_out():
    torch.manual_seed(0)
    data = sequences(n=8)
    model = forecaster(data.task, "fno", "steps", width=8, hidden=16, blocks=1, frequencies=2)
    model.fit(data.x, data.y)
    history = fit(model, WindowSamples(data), data, quick(30), progress=False)
    model.eval()
    final = relative_l2(model(data.x), data.y).mean().item()
    assert history["val_relative_l2"].iloc[-1] == pytest.approx(final, rel=1e-4)
    assert final < 0.1 < history["val_relative_l2"].iloc[0]


def test_only_consecutive_frames_of_one_variable_have_windows():
    data = MemorySamples(toy(frames=5))
    with pytest.raises(ValueError, match=r"frames \[a, b\) of one variable as input.*'w'.*'a'"):
        WindowSamples(data)
    with pytest.raises(ValueError, match="windows need frames"):
        WindowSamples(MemorySamples(toy()))
