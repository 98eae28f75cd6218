"""neuraloperator's own FNO, with the defaults of its users, as the opponent."""

from torch import Tensor, nn

from sciops.task import Task

MODES = {1: 16, 2: 24, 3: 16}  # all frequencies of an axis are counted
WIDTHS = {1: 64, 2: 32, 3: 20}


class NeuralopFno(nn.Module):
    """`neuralop.models.FNO`; it makes its own coordinates, those of a periodic grid."""

    def __init__(self, task: Task, *, width: int | None = None, modes: int | None = None):
        super().__init__()
        from neuralop.models import FNO

        ndim = len(task.axes)
        self.model = FNO(
            n_modes=((MODES[ndim] if modes is None else modes),) * ndim,
            in_channels=task.in_channels,
            out_channels=task.out_channels,
            hidden_channels=WIDTHS[ndim] if width is None else width,
        )

    def forward(self, x: Tensor, coords: tuple[Tensor, ...] | None = None) -> Tensor:
        """(batch, in_channels, *n) -> (batch, out_channels, *n); coordinates are ignored."""
        return self.model(x)
