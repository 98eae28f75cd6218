"""neuraloperator's own FNO, with the defaults of its users, as the opponent."""

from torch import Tensor, nn

from sciops.operators.neuralop import repaired_module
from sciops.task import Task

MODES = {1: 16, 2: 24, 3: 16}  # all frequencies of an axis are counted
WIDTHS = {1: 64, 2: 32, 3: 20}


class NeuralopFno(nn.Module):
    """`neuralop.models.FNO`; it makes its own coordinates, those of a periodic grid.

    repaired: whether its layers are the same function on odd and even grids
    """

    def __init__(
        self,
        task: Task,
        *,
        width: int | None = None,
        modes: int | None = None,
        repaired: bool = False,
    ):
        super().__init__()
        from neuralop.models import FNO

        ndim = len(task.axes)
        layers = {"conv_module": repaired_module()} if repaired else {}
        self.model = FNO(
            n_modes=((MODES[ndim] if modes is None else modes),) * ndim,
            in_channels=task.in_channels,
            out_channels=task.out_channels,
            hidden_channels=WIDTHS[ndim] if width is None else width,
            **layers,
        )
        self.register_state_dict_post_hook(_tensors_only)

    def forward(self, x: Tensor, coords: tuple[Tensor, ...] | None = None) -> Tensor:
        """(batch, in_channels, *n) -> (batch, out_channels, *n); coordinates are ignored."""
        return self.model(x)


def _tensors_only(module: nn.Module, state: dict, prefix: str, local_metadata: dict) -> None:
    """Leave out the arguments, functions among them, that neuraloperator puts into its state."""
    for name in [name for name, value in state.items() if not isinstance(value, Tensor)]:
        del state[name]
