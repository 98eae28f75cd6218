"""How well classes are predicted, one number a sample.

    cross_entropy = − log p(target),        p = softmax(prediction)
    error_rate    = 0 if the class with the largest score is the target, else 1
    accuracy      = 1 − error_rate

predictions are logits (batch, classes), targets classes (batch,), int64.
"""

import torch.nn.functional as F
from torch import Tensor


def cross_entropy(prediction: Tensor, target: Tensor) -> Tensor:
    """In nats, (batch,)."""
    _check(prediction, target)
    return F.cross_entropy(prediction, target, reduction="none")


def error_rate(prediction: Tensor, target: Tensor) -> Tensor:
    """1 where the class is wrong, (batch,); a prediction with NaN is wrong."""
    return 1 - accuracy(prediction, target)


def accuracy(prediction: Tensor, target: Tensor) -> Tensor:
    """1 where the class is right, (batch,)."""
    _check(prediction, target)
    right = (prediction.argmax(1) == target) & ~prediction.isnan().any(1)
    return right.to(prediction.dtype)


def _check(prediction: Tensor, target: Tensor) -> None:
    if prediction.ndim != 2 or target.shape != prediction.shape[:1]:
        raise ValueError(
            f"expected logits (batch, classes) and classes (batch,), got "
            f"{tuple(prediction.shape)} and {tuple(target.shape)}"
        )
