"""A small network and data to search with: which of two marks is in an image?"""

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.utils.data import Dataset

from sciops.config import Optimisation, Training
from sciops.task import Batch

SIZE = 8


class Images(Dataset):
    """Noise with a bar, upright or lying, somewhere in it."""

    def __init__(self, n: int, seed: int):
        generator = torch.Generator().manual_seed(seed)
        self.y = torch.randint(2, (n,), generator=generator)
        self.x = 0.3 * torch.randn(n, 1, SIZE, SIZE, generator=generator)
        places = torch.randint(SIZE - 3, (n, 2), generator=generator).tolist()
        for image, kind, (row, column) in zip(self.x, self.y.tolist(), places, strict=True):
            high, wide = (3, 1) if kind else (1, 3)
            image[:, row : row + high, column : column + wide] += 2

    def __len__(self) -> int:
        return len(self.x)

    def __getitems__(self, indices) -> Batch:
        chosen = torch.as_tensor(indices)
        return Batch(self.x[chosen], self.y[chosen])


class LeNet(nn.Module):
    def __init__(self, classes: int = 2):
        super().__init__()
        self.conv1 = nn.Conv2d(1, 2, 3, padding=1)
        self.conv2 = nn.Conv2d(2, 3, 3, padding=1)
        self.head = nn.Linear(3 * (SIZE // 4) ** 2, classes)

    def forward(self, x: Tensor) -> Tensor:
        x = F.avg_pool2d(F.relu(self.conv1(x)), 2)
        x = F.avg_pool2d(F.relu(self.conv2(x)), 2)
        return self.head(x.flatten(1))


def cross_entropy(predicted: Tensor, target: Tensor) -> Tensor:
    return F.cross_entropy(predicted, target, reduction="none")


def mistakes(predicted: Tensor, target: Tensor) -> Tensor:
    return (predicted.argmax(1) != target).float()


def quick(epochs: int = 2, **changes) -> Training:
    rates = Optimisation(1e-2), Optimisation(1e-2)
    return Training(epochs, 8, *rates, **changes)


def data(n: int = 16) -> tuple[Images, Images, Images]:
    return Images(n, 0), Images(n // 2, 1), Images(n // 2, 2)
