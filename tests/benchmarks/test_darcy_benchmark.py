"""The benchmark of the Darcy solver, on grids small enough for a test."""

import sys

import numpy as np
import pandas as pd
import pytest

from benchmarks import darcy
from sciops.domains.diffusion import solve_darcy


def test_table_compares_solvers_of_one_problem(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(darcy, "RESOLUTIONS", [(9, None), (16, 2.0)])
    csv = tmp_path / "made" / "table.csv"
    monkeypatch.setattr(sys, "argv", ["darcy", "--quick", "--csv", str(csv)])
    darcy.main()
    assert "16²" in capsys.readouterr().out
    table = pd.read_csv(csv)
    assert list(table["resolution"]) == ["9²", "16²"]
    assert (table["relative difference"] < 1e-7).all() and (table["iterations"] > 5).all()
    ratios = table["spsolve ms"] / table["ours ms, batch 1"]
    assert list(table["times faster"]) == pytest.approx(list(ratios))


def test_matrix_is_the_operator_that_is_solved():
    a = np.exp(np.random.default_rng(0).standard_normal((1, 7, 7)))
    u, _ = solve_darcy(a, 1.0, residual=1e-12)
    np.testing.assert_allclose(darcy.matrix(a[0]) @ u[0, 1:-1, 1:-1].ravel(), 1, rtol=1e-10)
