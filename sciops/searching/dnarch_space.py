"""DNArch as a space: a continuous CNN with learned sizes in the place of any network.

Of the network that is given only what goes in and comes out counts, its normalisation, which is
kept, and the task of fields.  The architecture is the parameters of the masks (`backbones.
ccnn_sizes`); a member has the masks of the architecture, frozen, and computes no more than they
keep.
"""

from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor, nn

from sciops.backbones import FnoCnn, Normalized
from sciops.backbones.ccnn import Ccnn
from sciops.backbones.ccnn_grids import image_task
from sciops.backbones.ccnn_sizes import Sizes, kernel_reach
from sciops.backbones.classifiers import Standardized
from sciops.operators.size_masks import LOWEST, mu_bounds, sigma_of
from sciops.task import Task

from .space import AbstractSpace, Places
from .tracing import copy_model, run


@dataclass(frozen=True)
class DnarchSpace(AbstractSpace):
    """Continuous CNNs of learned sizes.

    learn:  letters of KRWD: kernels, resolutions, widths, depth
    width, blocks: of the base network, whose cost is the target where W or D is learned
    cost:   weight of (C/C_target − 1)² in the loss
    target: C_target in units of the cost of the base network
    """

    learn: str = "KRWD"
    width: int = 16
    blocks: int = 4
    dropout: float = 0.0
    cost: float = 1.0
    target: float = 1.0

    name: ClassVar[str] = "dnarch"
    whole: ClassVar[bool] = True

    def __post_init__(self):
        if self.layers is not None:
            raise ValueError("space 'dnarch' replaces the whole network; leave layers out")
        if not self.learn:
            raise ValueError("learn='' leaves nothing to search; give letters of KRWD")

    def supernet(self, model: nn.Module, sample: Tensor, *, seed: int = 0) -> nn.Module:
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            return self._in_place_of(model, sample)

    def randomise(self, supernet: nn.Module, *, seed: int) -> nn.Module:
        """All cut-offs drawn from where they may be, kernels from a tap to a fifth of the axis."""
        sizes, generator = sizes_in(supernet), torch.Generator().manual_seed(seed)

        def drawn(parameter: Tensor, low: float, high: float) -> None:
            parameter.copy_(low + (high - low) * torch.rand(parameter.shape, generator=generator))

        with torch.no_grad():
            if sizes.kernel is not None:
                drawn(sizes.kernel, 0.0, sigma_of(0.4))
            for name in ("resolution", "width", "depth"):
                if getattr(sizes, name) is not None:
                    drawn(getattr(sizes, name), *mu_bounds(getattr(sizes.tau, name)))
        sizes.project()
        return supernet

    def places(self, model: nn.Module) -> Places:
        """The parameters of each kind of mask, as distances from where it begins."""
        found = {
            name: p.detach().flatten().clone() for name, p in sizes_in(model).named_parameters()
        }
        return {name: p if name == "kernel" else p - LOWEST for name, p in found.items()}

    def described(self, model: nn.Module) -> dict[str, str]:
        sizes = sizes_in(model)
        blocks = range(sizes.blocks())
        words = {
            "kernel": lambda b: " × ".join(f"{100 * r:.0f} %" for r in kernel_reach(sizes, b)),
            "resolution": lambda b: " × ".join(
                f"{n.item():.0f}" for n in sizes.block_size(b).coarse
            ),
            "width": lambda b: " → ".join(map(str, sizes.channels(b))),
        }
        found = {name: "; ".join(map(word, blocks)) for name, word in words.items()}
        found["depth"] = f"{len(blocks)} blocks"
        return {name: found[name] for name, _ in sizes.named_parameters()}

    def _in_place_of(self, model: nn.Module, sample: Tensor) -> nn.Module:
        """The continuous CNN, with the normalisation of a model."""
        if isinstance(model, Normalized | Standardized):
            inside = self._in_place_of(model.model, sample)
            return copy_model(model, {id(model.model): inside})
        if isinstance(model, FnoCnn | Ccnn):
            return self._made(model.task)
        return self._made(_task_of(model, sample), positions=False, cells=True)

    def _made(self, task: Task, **options) -> Ccnn:
        names = ("learn", "width", "blocks", "dropout", "cost", "target")
        return Ccnn(task, **{name: getattr(self, name) for name in names}, **options)


def sizes_in(model: nn.Module) -> Sizes:
    """The sizes of the continuous CNN in a model."""
    found = next((module for module in model.modules() if isinstance(module, Sizes)), None)
    if found is None:
        raise ValueError(
            "this is no network of space 'dnarch'; space.supernet(model, sample) is one"
        )
    return found


def _task_of(model: nn.Module, sample: Tensor) -> Task:
    """Of classes, sized by what goes in and comes out."""
    output = run(copy_model(model), (sample,))
    if output.ndim != 2:
        raise ValueError(
            "space 'dnarch' takes networks of this package for fields, and any network for "
            f"classes (batch, classes); the network makes {tuple(output.shape)}"
        )
    classes = [str(k) for k in range(output.shape[1])]
    return image_task("classes", sample.shape[1], sample.shape[2:], classes)
