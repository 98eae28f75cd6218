"""Windows of sequences: H frames and the one after them, from every start.

A sequence of H + T frames has T of them.  They overlap, so they are cut when a batch is asked for,
and the sequences stay in memory once.
"""

from collections.abc import Sequence

import torch
from torch import Tensor
from torch.utils.data import Dataset

from sciops.task import Batch

from .samples import MemorySamples


class WindowSamples(Dataset):
    """All windows of the sequences of a forecast; a list of indices gives a `Batch`.

    Window i begins at frame i mod T of sequence ⌊i / T⌋.
    """

    def __init__(self, sequences: MemorySamples):
        inputs, targets = sequences.task.inputs, sequences.task.targets
        if not _follow(inputs, targets):
            raise ValueError(
                f"windows need frames [a, b) of one variable as input and [b, c) as target, got "
                f"{inputs} and {targets}"
            )
        self.x, self.y = sequences.x, sequences.y  # (n, H, *space), (n, T, *space)

    def __len__(self) -> int:
        return len(self.y) * self.y.shape[1]

    def __getitem__(self, index: int) -> Batch:
        sequence, start = divmod(index, self.y.shape[1])
        return Batch(self._history(sequence, start), self.y[sequence, start : start + 1])

    def __getitems__(self, indices: Sequence[int]) -> Batch:
        chosen = torch.as_tensor(indices)
        sequence, start = chosen // self.y.shape[1], chosen % self.y.shape[1]
        pairs = zip(sequence.tolist(), start.tolist(), strict=True)
        history = torch.stack([self._history(s, first) for s, first in pairs])
        return Batch(history, self.y[sequence, start].unsqueeze(1))

    def _history(self, sequence: int, start: int) -> Tensor:
        """Frames start … start + H − 1 of a sequence, of which some are in x and some in y."""
        begin = max(start - self.x.shape[1], 0)
        return torch.cat([self.x[sequence, start:], self.y[sequence, begin:start]])


def _follow(inputs: Sequence, targets: Sequence) -> bool:
    """Whether the target is the same variable as the input, from the frame after its last."""
    if len(inputs) != 1 or len(targets) != 1 or None in (inputs[0].frames, targets[0].frames):
        return False
    same = inputs[0].variable == targets[0].variable
    return same and inputs[0].frames[1] == targets[0].frames[0]
