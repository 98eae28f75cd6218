"""Predictions that respect the symmetries of the equation exactly.

    f̄(x) = 1/|G| Σ_g g⁻¹ f(g x)

commutes with every g in the finite group G, whatever f is, and has at most the error of f on all
positions of a sample (the norm is convex), for |G| times the cost.
"""

from collections.abc import Sequence

from torch import Tensor, nn

from sciops.data.symmetries import Placed, members
from sciops.task import Batch


class Symmetrised(nn.Module):
    """The mean of a network over a group of symmetries.

    names: of `sciops.data.symmetries`, of shifts an evenly spaced few
    """

    def __init__(self, network: nn.Module, names: Sequence[str]):
        super().__init__()
        if not names:
            raise ValueError(
                "this network was not trained with augment=True, or its equation and grid have no "
                "symmetry that it can follow; there is nothing to take the mean over"
            )
        self.network, self.names = network, tuple(names)

    def forward(self, x: Tensor, coords: tuple[Tensor, ...] | None = None) -> Tensor:
        group = members(self.names, x.shape[2:])
        total = None
        for member in group:
            moved = member.there(Placed(Batch(x, x), coords))
            where = () if coords is None else (moved.coords,)
            y = self.network(moved.batch.x, *where)
            y = member.back(moved._replace(batch=Batch(y, y))).batch.y
            total = y if total is None else total + y
        return total / len(group)
