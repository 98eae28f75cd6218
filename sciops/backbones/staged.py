"""Networks that show what they hold on the way: the outputs of their stages."""

from abc import ABC, abstractmethod
from collections.abc import Sequence

from torch import Tensor, nn


class AbstractStaged(nn.Module, ABC):
    """A network whose inner outputs can be seen, as attention guidance needs them."""

    @abstractmethod
    def forward_stages(self, x: Tensor) -> tuple[Tensor, list[Tensor]]:
        """The output, and of each stage (batch, channels, *points), first to last."""

    def forward(self, x: Tensor) -> Tensor:
        return self.forward_stages(x)[0]


class Tapped(AbstractStaged):
    """Any network, the outputs of some of its layers being its stages.

    >>> import torch
    >>> cnn = nn.Sequential(nn.Conv1d(1, 4, 3), nn.ReLU(), nn.Conv1d(4, 2, 1))
    >>> output, stages = Tapped(cnn, ["1"]).forward_stages(torch.zeros(5, 1, 9))
    >>> output.shape, [stage.shape for stage in stages]
    (torch.Size([5, 2, 7]), [torch.Size([5, 4, 7])])
    """

    def __init__(self, model: nn.Module, layers: Sequence[str]):
        super().__init__()
        known = dict(model.named_modules())
        missing = [name for name in layers if name not in known]
        if missing or not layers:
            raise ValueError(
                f"expected names of layers of the model, got {list(layers)}; there are "
                f"{', '.join(name for name in known if name)}"
            )
        self.model, self.layers = model, tuple(layers)

    def forward_stages(self, x: Tensor) -> tuple[Tensor, list[Tensor]]:
        seen: dict[str, Tensor] = {}
        known = dict(self.model.named_modules())
        hooks = [
            known[name].register_forward_hook(
                lambda module, inputs, output, name=name: seen.update({name: output})
            )
            for name in self.layers
        ]
        try:
            output = self.model(x)
        finally:
            for hook in hooks:
                hook.remove()
        return output, [seen[name] for name in self.layers]
