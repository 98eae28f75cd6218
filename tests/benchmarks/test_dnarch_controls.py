"""The controls of DNArch: operators that claim to be the same are, and a table is filled once."""

import sys

import pandas as pd
import pytest
import torch

from benchmarks import dnarch_controls
from benchmarks.dnarch_controls import FOURIER, OPERATORS, Kernels, ModesAsTaps, SingleModes
from sciops.operators import FourierLayer
from sciops.operators.depthwise import depthwise

SIZE = (12, 12)


@pytest.fixture
def x() -> torch.Tensor:
    return torch.randn(2, 3, *SIZE, generator=torch.manual_seed(0))


def test_single_modes_are_a_diagonal_fourier_layer(x):
    single, whole = SingleModes(3, SIZE), FourierLayer(3, 3, **FOURIER)
    whole.weight.data.copy_(torch.diag_embed(single.weight.data[..., 0]))
    torch.testing.assert_close(single(x), whole(x))


def test_modes_learned_as_taps_start_as_a_fourier_layer_does(x):
    torch.manual_seed(0)
    other, whole = ModesAsTaps(3, SIZE), FourierLayer(3, 3, **FOURIER)
    assert other.weight.numel() == whole.weight.numel()
    ratio = other(x).square().mean() / whole(x).square().mean()
    assert 0.5 < ratio < 2


def test_pairs_with_kernels_of_the_diagonal_only_are_depthwise(x):
    pairs = Kernels(3, SIZE, pairs=True, hidden=None)
    pairs.taps.data.mul_(torch.eye(3).flatten()[:, None, None])
    single = pairs.kernels()[:: 3 + 1]
    ends = x.clone()
    for axis in (2, 3):
        ends.select(axis, 0).mul_(0.5)
        ends.select(axis, -1).mul_(0.5)
    torch.testing.assert_close(pairs(x), depthwise(ends, single, (False, False)))


def test_every_operator_in_every_body_is_trained_once(tmp_path, monkeypatch, capsys):
    data = dict(resolution=9, counts=dict(train=4, val=2, test=1))
    monkeypatch.setattr(dnarch_controls, "DATA", data)
    monkeypatch.setattr(dnarch_controls, "RATES", (0.01,))
    monkeypatch.setenv("SCIOPS_DATA_DIR", str(tmp_path / "kept"))
    words = ["benchmark", "--epochs", "1", "--width", "2", "--results", str(tmp_path)]
    monkeypatch.setattr(sys, "argv", words)
    dnarch_controls.main()
    table = pd.read_csv(tmp_path / "dnarch_controls.csv")
    assert len(table) == 2 * len(OPERATORS) and (table["val_error"] > 0).all()
    monkeypatch.setattr(dnarch_controls, "trained", None)
    dnarch_controls.main()  # nothing is trained again
    assert "| ccnn | kernels, pairs | 2 | 1 |" in capsys.readouterr().out
