"""Digits as sequences: one order for all images, learnable, and missed where they are missing."""

import sys

import pytest
import torch

from sciops.backbones.tcn import LastStep, Tcn
from sciops.config import Optimisation, Training
from sciops.data.digits import digits_task, load_digits
from sciops.metrics.classes import cross_entropy
from sciops.training import fit


def test_all_images_are_permuted_alike():
    pytest.importorskip("sklearn", reason="scikit-learn is not installed")
    plain, permuted = load_digits(permuted=False), load_digits(permuted=True)
    assert {s: len(data) for s, data in plain.items()} == {"train": 1200, "val": 200, "test": 397}
    assert plain["train"].x.min() == -0.5 and plain["train"].x.max() == 0.5
    columns = plain["train"].x[:, 0].T.tolist()
    order = [columns.index(column) for column in permuted["train"].x[:, 0].T.tolist()]
    seen = [k for k in range(64) if columns.count(columns[k]) == 1]  # some corners are always empty
    assert len(seen) > 55 and order != list(range(64))
    for split in plain:
        assert torch.equal(plain[split].x[..., order], permuted[split].x)
        assert torch.equal(plain[split].y, permuted[split].y)
    again = load_digits(permuted=True)["test"].x
    assert torch.equal(again, permuted["test"].x)


@pytest.mark.parametrize("op", ["undilated", "xd", "xd-grid"])
def test_a_network_learns_them(op):
    pytest.importorskip("sklearn", reason="scikit-learn is not installed")
    digits = load_digits(permuted=True)
    torch.manual_seed(0)
    model = LastStep(Tcn(digits_task(), op, width=8, levels=2, kernel_size=3, dropout=0.0))
    adam = Optimisation(1e-2, schedule="constant")
    history = fit(
        model, digits["train"], digits["val"], Training(2, 64, adam, adam), error=cross_entropy
    )
    assert history["train_cross_entropy"].iloc[-1] < history["train_cross_entropy"].iloc[0]
    x, y = digits["val"].__getitems__(range(200))
    mean = cross_entropy(model.eval()(x), y).mean().item()
    assert history["val_cross_entropy"].iloc[-1] == pytest.approx(mean, rel=1e-3)


def test_without_scikit_learn_it_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "sklearn", None)
    with pytest.raises(ImportError, match=r"not installed: pip install sciops\[digits\]"):
        load_digits(permuted=True)
