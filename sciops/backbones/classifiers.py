"""Networks that name the class of a sample, by name, with the normalisation of their inputs.

lenet           conv 5 × 5 without padding, max pooling (Roberts et al. 2021)
padded-lenet    with padding, average pooling ("Searching for Convolutions")
wide-lenet      three convolutions, normalised
resnet20        of 20 layers; depth= for more
spherical-cnn   for images of the sphere
text-cnn        Kim's, for sequences
linear          linear layers only, the control
ccnn            continuous convolutions; with learn="KRWD" their sizes are learned
"""

from collections.abc import Callable

import torch
from torch import Tensor, nn

from sciops.suggestions import did_you_mean, meant_option
from sciops.task import Task

from .ccnn import Ccnn
from .lenet import LeNet, LinearNetwork, PaddedLeNet, SphericalCnn, WideLeNet, expect_classes
from .resnet_cifar import CifarResNet
from .text_cnn import TextCnn


def _ccnn(task: Task, *, learn: str = "", **options) -> Ccnn:
    """Pixels are cells, and where they are is not said."""
    expect_classes(task)
    return Ccnn(task, learn=learn, positions=False, cells=True, **options)


CLASSIFIERS: dict[str, Callable[..., nn.Module]] = {
    "lenet": LeNet,
    "padded-lenet": PaddedLeNet,
    "wide-lenet": WideLeNet,
    "resnet20": CifarResNet,
    "spherical-cnn": SphericalCnn,
    "text-cnn": TextCnn,
    "linear": LinearNetwork,
    "ccnn": _ccnn,
}


class Standardized(nn.Module):
    """model( (x − μ) / σ ), a mean and a deviation of each channel of the training inputs.

    What comes out, logits, has no units to give back.

    >>> wrapped = Standardized(nn.Flatten(), 1).fit(torch.tensor([[[0.0, 4.0]]]))
    >>> wrapped(torch.tensor([[[4.0, 6.0]]]))
    tensor([[1., 2.]])
    """

    def __init__(self, model: nn.Module, channels: int):
        super().__init__()
        self.model = model
        self.register_buffer("mean", torch.zeros(channels))
        self.register_buffer("deviation", torch.full((channels,), torch.nan))

    def fit(self, x: Tensor) -> "Standardized":
        """Take them from training inputs (n, channels, *space)."""
        channels = x.double().movedim(1, 0).flatten(1)
        if not bool(torch.isfinite(channels).all()):
            raise ValueError("the training inputs have NaN or infinite values; try sciops.check")
        deviation = channels.std(1, correction=0)
        self.mean.copy_(channels.mean(1))
        self.deviation.copy_(deviation.where(deviation > 0, 1.0))
        return self

    def forward(self, x: Tensor) -> Tensor:
        if bool(self.deviation.isnan().any()):
            raise RuntimeError("the normalisation is not known yet; call fit(x) or load a model")
        shape = (-1, *[1] * (x.ndim - 2))
        return self.model((x - self.mean.view(shape)) / self.deviation.view(shape))


def make_classifier(task: Task, name: str, **options) -> Standardized:
    """The network of this name, sized from the task; options are its own.

    Then `fit(x)` it to the training inputs, and train it.
    """
    if name not in CLASSIFIERS:
        raise ValueError(
            f"there is no network {name!r}; there are {', '.join(CLASSIFIERS)}"
            f"{did_you_mean(name, CLASSIFIERS)}"
        )
    try:
        network = CLASSIFIERS[name](task, **options)
    except TypeError as error:
        hint = meant_option(error, CLASSIFIERS[name])
        raise ValueError(f"{name!r} does not take these options: {error}{hint}") from None
    return Standardized(network, task.in_channels)
