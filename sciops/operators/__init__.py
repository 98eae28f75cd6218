"""Operators: layers on `(batch, channel, *space)` and the structured matrices they are made of."""

from . import special
from .butterfly import Butterfly
from .dense import Dense
from .discrete import Discrete
from .fourier import FourierLayer
from .hybrid import Hybrid
from .kaleidoscope import (
    Kaleidoscope,
    dft_blocks,
    haar_blocks,
    identity_blocks,
    permutation_blocks,
    triangular_blocks,
)
from .klayer import KLayer
from .learned_maps import drift
from .neuralop import SpectralConv
from .operator import (
    AbstractOperator,
    AbstractSearchable,
    Fixed,
    arch_parameters,
    weight_parameters,
)
from .xd import XD

__all__ = [
    "XD",
    "AbstractOperator",
    "AbstractSearchable",
    "Butterfly",
    "Dense",
    "Discrete",
    "Fixed",
    "FourierLayer",
    "Hybrid",
    "KLayer",
    "Kaleidoscope",
    "SpectralConv",
    "arch_parameters",
    "dft_blocks",
    "drift",
    "haar_blocks",
    "identity_blocks",
    "permutation_blocks",
    "special",
    "triangular_blocks",
    "weight_parameters",
]
