"""Normalisation inside the model: physical units go in and come out.

One mean and one deviation a channel, of the training data only, so that they mean the same at every
resolution and travel with the weights.
"""

import torch
from torch import Tensor, nn


class Normalized(nn.Module):
    """y = σ_y · model( (x − μ_x)/σ_x ) + μ_y, channel by channel.

    >>> plain = nn.Conv1d(1, 1, 1)
    >>> wrapped = Normalized(plain).fit(torch.tensor([[[0.0, 4.0]]]), torch.tensor([[[1.0, 3.0]]]))
    >>> wrapped.x_mean.item(), wrapped.x_std.item(), wrapped.y_mean.item(), wrapped.y_std.item()
    (2.0, 2.0, 2.0, 1.0)
    """

    def __init__(self, model: nn.Module, in_channels: int = 1, out_channels: int = 1):
        super().__init__()
        self.model = model
        for side, channels in (("x", in_channels), ("y", out_channels)):
            self.register_buffer(f"{side}_mean", torch.zeros(channels))
            self.register_buffer(f"{side}_std", torch.full((channels,), float("nan")))

    def fit(self, x: Tensor, y: Tensor) -> "Normalized":
        """Take mean and deviation of training data, (n, channels, *space), in double precision."""
        for side, data in (("x", x), ("y", y)):
            if not bool(torch.isfinite(data).all()):
                raise ValueError(
                    f"the training {'inputs' if side == 'x' else 'targets'} have NaN or infinite "
                    "values; look for them with sciops.check"
                )
            channels = data.double().movedim(1, 0).flatten(1)
            mean, std = channels.mean(1), channels.std(1, correction=0)
            constant = std <= 1e-12 * mean.abs()  # nothing to scale
            getattr(self, f"{side}_mean").copy_(mean)
            getattr(self, f"{side}_std").copy_(torch.where(constant, torch.ones_like(std), std))
        return self

    def forward(self, x: Tensor, coords: tuple[Tensor, ...] | None = None) -> Tensor:
        if bool(self.x_std.isnan().any()):
            raise RuntimeError("the normalisation is not known yet; call fit(x, y) or load a model")
        shape = (-1, *[1] * (x.ndim - 2))
        x = (x - self.x_mean.view(shape)) / self.x_std.view(shape)
        y = self.model(x) if coords is None else self.model(x, coords)
        return y * self.y_std.view(shape) + self.y_mean.view(shape)
