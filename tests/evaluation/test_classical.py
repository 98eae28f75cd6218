"""The classical solver at a network's own error, and when the network has paid off."""

import math
import time
from types import SimpleNamespace

import numpy as np
import pytest
import torch
import xarray as xr
from torch import nn

import sciops
from sciops.data.samples import MemorySamples, task_of
from sciops.domains.ladders import LADDERS, SOLVERS, Rung
from sciops.evaluation import classical, timing
from sciops.evaluation.classical import break_even, cost_table, generation_seconds, solve_at_error

FLOW = dict(viscosity=2e-3, duration=4.0, frames=4, steps=64, solver_resolution=32)
DATA = {
    "burgers": dict(resolution=64, viscosity=0.02, steps=64, solver_resolution=128),
    "darcy": dict(resolution=17),
    "navier_stokes": dict(resolution=32, **FLOW),
}


@pytest.fixture(autouse=True)
def in_a_hurry(monkeypatch):
    monkeypatch.setattr(timing, "BUDGET", 0.002)
    monkeypatch.setattr(timing, "MOST_CALLS", 3)


@pytest.fixture(scope="module")
def data() -> dict[str, xr.Dataset]:
    return {name: sciops.generate(name, n=3, progress=False, **how) for name, how in DATA.items()}


@pytest.fixture
def clock(monkeypatch):
    """Time that passes only while someone sleeps."""
    now = [0.0]
    monkeypatch.setattr(time, "perf_counter", lambda: now[0])
    monkeypatch.setattr(time, "sleep", lambda seconds: now.append(now.pop() + seconds))


def toy(n: int = 3) -> xr.Dataset:
    """Burgers data with the truth 1."""
    ones = xr.DataArray(np.ones((n, 8), "float32"), dims=("sample", "x"))
    roles = {
        role: [{"variable": v, "frames": None}] for role, v in (("inputs", "a"), ("targets", "u"))
    }
    attrs = {"name": "burgers", "boundary_conditions": {"x": "periodic"}, **roles}
    return xr.Dataset({"a": ones, "u": ones}, {"x": np.arange(8) / 8}, attrs)


def fake(error: float, seconds: float, work: float) -> Rung:
    """A solver that is so wrong and takes so long, a call and not a sample."""

    def solve(x: np.ndarray) -> np.ndarray:
        if math.isinf(error):
            raise ValueError("blew up")
        time.sleep(seconds)
        return x * (1 + error)

    return Rung({"points": work}, work, solve)


@pytest.fixture
def rungs(monkeypatch):
    """Put these rungs in place of those of the domain."""
    return lambda *made: monkeypatch.setattr(classical, "ladder", lambda ds: list(made))


# --- the cheapest setting -------------------------------------------------------------------------


def test_the_cheapest_that_is_good_enough(rungs, clock):
    rungs(
        fake(math.inf, 0, work=1),
        fake(0.3, 0.001, work=2),
        fake(0.01, 0.03, work=3),  # its work was underestimated
        fake(0.09, 0.003, work=4),
        fake(0.05, 0.012, work=5),
    )
    found = solve_at_error("burgers", toy(), 0.1)
    assert found.reached
    assert found.setting == found.note == "points 4"
    assert found.error == pytest.approx(0.09, rel=1e-5)
    assert found.seconds == pytest.approx(0.003)
    assert found.seconds_in_batch == found.best_seconds == pytest.approx(0.001)  # a third
    assert found.ladder["setting"].tolist() == [f"points {work}" for work in range(1, 6)]
    assert np.isinf(found.ladder["error"][0])
    assert found.ladder["problem"][0] == "blew up"


def test_what_would_be_a_waste_is_not_tried(rungs):
    rungs(*(fake(1 / work, 0, work=work) for work in (1, 10, 39, 41, 80)))
    assert solve_at_error("burgers", toy(), 0.2).ladder["points"].tolist() == [1, 10, 39]


def test_the_error_itself_is_good_enough(rungs):
    rungs(fake(1.0, 0, work=1))  # 1 + 1 = 2 is exact
    assert solve_at_error("burgers", toy(), 1.0).reached
    assert not solve_at_error("burgers", toy(), 0.999).reached


def test_the_most_accurate_if_none_is_good_enough(rungs):
    rungs(fake(0.5, 0, 1), fake(0.25, 0.002, 2), fake(math.inf, 0, 3))
    found = solve_at_error("burgers", toy(), 0.1)
    assert not found.reached
    assert found.setting == "points 2"
    assert "no setting reaches 0.1: the most accurate, points 2, has 0.25" in found.note


def test_all_blow_up(rungs):
    rungs(fake(math.inf, 0, 1), fake(math.inf, 0, 2))
    with pytest.raises(ValueError, match="no setting of the solver works on these data: blew up"):
        solve_at_error("burgers", toy(), 0.1)


@pytest.mark.parametrize("name", DATA)
def test_the_solvers_of_the_domains(data, name):
    loose, tight = (solve_at_error(name, data[name], e, samples=2) for e in (0.2, 0.05))
    assert loose.reached and tight.reached
    assert loose.error <= 0.2
    assert tight.error <= 0.05
    assert {"setting", "points", "error", "seconds", "seconds_in_batch"} < set(tight.ladder)
    assert tight.ladder["error"].min() < tight.ladder["error"].iloc[0]


def test_a_coefficient_between_the_nodes_is_not_known(data):
    found = solve_at_error("darcy", data["darcy"], 1e-4)
    assert not found.reached
    assert found.error > 1e-3
    assert "no setting reaches 0.0001" in found.note


def test_only_the_samples_asked_for_are_solved(rungs):
    seen = []
    rungs(Rung({"points": 1}, 1, lambda x: seen.append(len(x)) or x))
    solve_at_error("burgers", toy(5), 0.1, samples=2)
    assert set(seen) == {1, 2}


def test_bad_input(data):
    with pytest.raises(ValueError, match="expected burgers data, the data are called 'darcy'"):
        solve_at_error("burgers", data["darcy"], 0.1)
    for error in (0, -1, math.nan, math.inf, "small"):
        with pytest.raises(ValueError, match="must be a positive number"):
            solve_at_error("darcy", data["darcy"], error)
    with pytest.raises(ValueError, match="samples=0 must be at least 1"):
        solve_at_error("darcy", data["darcy"], 0.1, samples=0)


def test_every_solver_has_a_name():
    assert SOLVERS.keys() == LADDERS.keys() == DATA.keys()


# --- what it cost ---------------------------------------------------------------------------------


def test_break_even():
    spent = dict(data_seconds=30.0, training_seconds=70.0)
    assert break_even(**spent, solver_seconds=0.75, model_seconds=0.25) == 200
    for slower in (0.25, 0.5):
        assert math.isinf(break_even(**spent, solver_seconds=0.25, model_seconds=slower))


def test_generation_is_timed_with_the_settings_of_the_data(data, clock, monkeypatch):
    seen = []

    def solve(samples, *how):
        seen.append((samples, *how))
        time.sleep(0.001 + 0.002 * len(samples))

    monkeypatch.setattr(classical, "domain_named", lambda name: SimpleNamespace(solve=solve))
    ds = data["darcy"].isel(sample=slice(1, None))
    alone, together = generation_seconds(ds, samples=2)
    assert (alone, together) == pytest.approx((0.003, 0.0025))
    assert {tuple(call[0]) for call in seen} == {(1,), (1, 2)}
    assert all(call[1:] == (17, 0, ds.attrs["parameters"]) for call in seen)
    with pytest.raises(ValueError, match="not generated by sciops"):
        generation_seconds(ds.assign_attrs(generator="another program"))


class Wrong(nn.Module):
    """Knows the truth and adds an error of it; takes some seconds a call."""

    def __init__(self, ds: xr.Dataset, error: float, seconds: float):
        super().__init__()
        self.known, self.error, self.seconds = MemorySamples(ds), error, seconds

    def forward(self, x, coords=None):
        time.sleep(self.seconds)
        match = (x[:, None] == self.known.x).flatten(2).all(2).float().argmax(1)
        return (1 + self.error) * self.known.y[match]


def run_of(ds: xr.Dataset, error: float, seconds: float) -> SimpleNamespace:
    """A run with one sample to train and to validate with, tested with all."""
    one = ds.isel(sample=[0])
    tree = xr.DataTree.from_dict(
        {
            "/": xr.Dataset(attrs=ds.attrs),
            "train": one,
            "val": one,
            "test": ds.drop_attrs(deep=False),
        }
    )
    model = Wrong(ds, error, seconds)
    return SimpleNamespace(
        model=model, task=task_of(ds), data=tree, metrics={"train_seconds": 100.0}
    )


@pytest.mark.parametrize("name", DATA)
def test_cost_table(data, name):
    table = cost_table(run_of(data[name], 0.05, 0.0), samples=3)
    assert list(table.index) == ["model", "classical at equal error", "classical as generated"]
    assert list(table) == ["error", "seconds", "seconds_in_batch", "break_even", "note"]
    assert table["error"].tolist() == pytest.approx([0.05, table["error"].iloc[1], 0], rel=1e-4)
    assert 0 < table["error"].iloc[1] <= 0.05 * (1 + 1e-4)
    best = table[["seconds", "seconds_in_batch"]].min(axis=1)
    spent = 100 + 2 * best["classical as generated"]  # one sample to train and one to validate with
    for row in table.index[1:]:
        saved = best[row] - best["model"]
        assert table["break_even"][row] == pytest.approx(spent / saved if saved > 0 else math.inf)
    assert math.isnan(table["break_even"]["model"])
    solver = f"{SOLVERS[name]} (sciops {sciops.__version__}): "
    assert table["note"][1:].str.startswith(solver).all()


def test_a_slow_model_never_pays_off(data, clock):
    table = cost_table(run_of(data["burgers"], 0.05, 0.3), samples=2)
    assert math.isinf(table["break_even"]["classical at equal error"])
    assert "slower and never pays off" in table["note"]["classical at equal error"]
    assert table["seconds"]["model"] == pytest.approx(0.3)
    assert table["seconds_in_batch"]["model"] == pytest.approx(0.3 / 16)


def test_an_error_out_of_reach_has_no_break_even(data):
    table = cost_table(run_of(data["darcy"], 1e-4, 0.0), samples=2)
    assert math.isnan(table["break_even"]["classical at equal error"])
    assert "no setting reaches 0.0001" in table["note"]["classical at equal error"]
    assert not math.isnan(table["break_even"]["classical as generated"])


def test_data_of_unknown_cost(data, rungs, clock):
    ds = data["burgers"].assign_attrs(generator="another program")
    rungs(fake(0.0, 0.02, 1))
    run = run_of(ds, 1e6, 0.0)  # so that the input itself is good enough
    table = cost_table(run, samples=2)
    assert list(table.index) == ["model", "classical at equal error"]
    best = table[["seconds", "seconds_in_batch"]].min(axis=1)
    saved = best["classical at equal error"] - best["model"]
    assert table["break_even"].iloc[1] == pytest.approx(100 / saved)
    assert f"pays off after {100 / saved:,.0f} solves" in table["note"].iloc[1]


def test_a_model_of_another_task(data):
    run = run_of(data["burgers"], 0.05, 0.0)
    run.task = task_of(
        data["darcy"]
        .rename(u="pressure")
        .assign_attrs(targets=[{"variable": "pressure", "frames": None}])
    )
    with pytest.raises(ValueError, match="set their attrs 'inputs' and 'targets'"):
        cost_table(run)


def test_threads_and_mode_are_as_before(data):
    run, threads = run_of(data["burgers"], 0.05, 0.0), torch.get_num_threads()
    run.model.train()
    cost_table(run, samples=2)
    assert run.model.training
    assert torch.get_num_threads() == threads
