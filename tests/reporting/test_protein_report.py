"""The page of a protein run has its curves of contact precision, beside those of the couplings."""

from dataclasses import replace

import numpy as np
import pytest

from sciops.metrics.distance_map import contact_precision, score_precision
from sciops.reporting import protein_report
from tests.proteins.toy import walk


@pytest.mark.parametrize("has_couplings", [True, False])
def test_precision_beside_that_of_the_couplings(monkeypatch, has_couplings):
    drawn, made = [], protein_report.precision_curves

    def noted(*arguments):
        drawn.append(made(*arguments))
        return drawn[-1]

    monkeypatch.setattr(protein_report, "precision_curves", noted)
    proteins = [walk(60, seed, f"toy{seed}") for seed in range(2)]
    if not has_couplings:
        proteins = [replace(p, maps={"other": p.maps["couplings"]}) for p in proteins]
    page = protein_report._first_of_all("conv", proteins, [p.distance for p in proteins])
    assert "at least 24 residues apart" in page and "<svg" in page
    (axes,) = drawn[0].axes
    lines = {line.get_label(): line.get_ydata() for line in axes.lines}
    assert set(lines) == ({"conv", "couplings alone"} if has_couplings else {"conv"})
    expected = [contact_precision(p.distance, p.distance, top="L/10") for p in proteins]
    assert lines["conv"][0] == pytest.approx(100 * np.nanmean(expected))
    if has_couplings:
        expected = [score_precision(p.maps["couplings"], p.distance, top="L") for p in proteins]
        assert lines["couplings alone"][-1] == pytest.approx(100 * np.nanmean(expected))
