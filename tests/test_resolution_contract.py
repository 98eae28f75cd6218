"""Every operator states on which grids it works; on others it raises, and never gives a guess."""

import importlib
import pkgutil

import pytest
import torch
from torch import nn

import sciops.operators
from sciops.operators import XD, AbstractOperator, Fixed, FourierLayer
from sciops.operators.continuous import ContinuousConv
from sciops.operators.convolution import Convolution
from sciops.operators.dense import Dense
from sciops.operators.discrete import Discrete
from sciops.operators.hybrid import Hybrid
from sciops.operators.klayer import KLayer
from sciops.operators.neuralop import SpectralConv
from tests.contracts import assert_resolution_contract

SIZE, OTHER = (8, 6), (11, 8)


def spectral_conv() -> SpectralConv:
    pytest.importorskip("neuralop")
    return SpectralConv(2, 3, (4, 4))


MAKERS = {  # of every class; the causal frame of XD has one axis and tests of its own
    "xd, band": (XD, lambda: XD(2, 3, (3, 3), modes=(4, 4))),
    "xd, grid": (XD, lambda: XD(2, 3, (3, 3), frame="grid", size=SIZE)),
    "fourier": (FourierLayer, lambda: FourierLayer(2, 3, (4, 4))),
    "continuous": (ContinuousConv, lambda: ContinuousConv(2, SIZE, periodic=(True, False))),
    "convolution": (Convolution, lambda: Convolution(2, 3, (3, 3), periodic=(True, False))),
    "dense": (Dense, lambda: Dense(2, 3, SIZE)),
    "discrete": (Discrete, lambda: Discrete(2, 3, margins=((0, 0),) * 2).choose("conv3")),
    "hybrid": (Hybrid, lambda: Hybrid(nn.Conv2d(2, 3, 3, padding="same"))),
    "k-layer": (KLayer, lambda: KLayer(2, 3, SIZE)),
    "neuraloperator": (SpectralConv, spectral_conv),
}
FIXED = {"xd, grid", "dense", "k-layer"}


@pytest.mark.parametrize("name", MAKERS)
def test_it_works_where_it_says_and_raises_elsewhere(name):
    torch.manual_seed(0)
    layer = MAKERS[name][1]()
    assert isinstance(layer.resolution, Fixed) == (name in FIXED)
    assert torch.isfinite(layer(torch.randn(2, 2, *SIZE))).all()
    assert_resolution_contract(layer, SIZE, OTHER)


def test_no_operator_is_left_out():
    for module in pkgutil.iter_modules(sciops.operators.__path__):
        importlib.import_module(f"sciops.operators.{module.name}")
    ours = {
        kind for kind in AbstractOperator.__subclasses__() if kind.__module__.startswith("sciops")
    }
    assert ours == {kind for kind, _ in MAKERS.values()}
