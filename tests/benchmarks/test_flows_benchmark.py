"""The benchmark of the flow solvers runs, and its errors are below what was asked for."""

import pytest

from benchmarks import flows


@pytest.mark.parametrize("case", flows.CASES[:1])
def test_error_is_below_the_stated_one(case):
    row = flows.measure(*case, samples=2)
    assert 0 < row["error"] < row["error asked for"]
    assert row["s a sample, one core"] > 0


@pytest.mark.slow
def test_error_is_below_the_stated_one_for_flows():
    row = flows.measure("navier_stokes", 1e-3, samples=1)
    assert 0 < row["error"] < row["error asked for"]
