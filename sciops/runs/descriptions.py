"""Descriptions of networks in files, which somebody else may have written.

A few words can describe a network that does not fit in memory, so that they are compared with the
weights in the file before the network is made.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch import Tensor

from sciops.backbones.term_network import TERM
from sciops.backbones.trimmed import TrimmedBlock
from sciops.task import Task

from .networks import network_of

LEAST = 1024  # a size that no description is refused for
WRONG = (  # what making a network raises if its description is of something else
    *(LookupError, TypeError, ValueError, ArithmeticError, RuntimeError, AttributeError),
    OSError,
)


def expect_sizes(description: Any, tensors: Mapping[str, Tensor]) -> None:
    """No size of a network is larger than the number of its weights; else building it may not end.

    >>> expect_sizes({"blocks": 10**9}, {"weight": Tensor(3)})
    Traceback (most recent call last):
    ValueError: a size of 1000000000 in the description of a network that has 3 weights
    """
    weights = _count(tensors)
    parts = [description]
    while parts:
        part = parts.pop()
        if isinstance(part, Mapping | list | tuple):
            parts += part.values() if isinstance(part, Mapping) else part
        elif isinstance(part, int) and part > max(weights, LEAST):
            raise ValueError(
                f"a size of {part} in the description of a network that has {weights} weights"
            )


def expect_weights_of_term(
    task: Task, description: Mapping[str, Any], tensors: Mapping[str, Tensor]
) -> None:
    """A few words are a term of any number of weights: those are counted before they are made."""
    if TERM not in (description.get("op"), description.get("backbone")):
        return
    with torch.device("meta"):
        meant, there = _count(network_of(task, description).state_dict()), _count(tensors)
    if meant != there:
        raise ValueError(f"the network of its term has {meant} numbers, and the file {there}")


def expect_weights_of_blocks(
    blocks: Sequence[Mapping[str, Any]], tensors: Mapping[str, Tensor]
) -> None:
    """So are those of trimmed blocks."""
    there = {name: tensor for name, tensor in tensors.items() if "blocks." in name}
    if len(blocks) > len(there):
        raise ValueError(f"{len(blocks)} blocks, whose file has {len(there)} tensors of blocks")
    with torch.device("meta"):
        meant = sum(_count(TrimmedBlock(**block).state_dict()) for block in blocks)
    if meant != _count(there):
        raise ValueError(f"its blocks have {meant} numbers, and the file {_count(there)}")


def _count(tensors: Mapping[str, Tensor]) -> int:
    return sum(tensor.numel() for tensor in tensors.values())
