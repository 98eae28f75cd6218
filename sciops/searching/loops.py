"""How searches train: the house's loop, which notes how far each layer moved, and a bilevel one."""

from collections.abc import Callable

from torch import Tensor

from sciops.data.shuffling import ShuffledBatches
from sciops.operators import arch_parameters, weight_parameters
from sciops.task import Batch
from sciops.training import Loop

from .bilevel import first_order, second_order, values_kept
from .parts import Part
from .space import Guide

MOVED = "moved:"  # begins the columns of the history that say how far a layer moved


class SearchLoop(Loop):
    """Joint training of weights and architecture, or of weights if the architecture is frozen.

    moved: how far each layer is from the start, by name
    guide: gives the answers to a batch and what a teacher adds to the error of each sample; the
           training errors of the history then contain it, those of validation do not
    """

    def __init__(self, *args, moved: Callable[[], dict[str, float]], guide: Guide | None = None):
        super().__init__(*args)
        self.moved, self.guide = moved, guide

    def notes(self) -> dict[str, float]:
        return {
            **super().notes(),
            **{MOVED + name: distance for name, distance in self.moved().items()},
        }

    def _errors(self, batch: Batch, coords: tuple[Tensor, ...] | None) -> Tensor:
        if self.guide is None or not self.model.training:
            return super()._errors(batch, coords)
        answers, more = self.guide(batch.x)
        return self.error(answers, batch.y) + more


class BilevelLoop(SearchLoop):
    """Each step first moves the architecture, by a batch of other data, and then the weights.

    judges: the other data
    order: 1 or 2 (see `bilevel`)
    """

    def __init__(self, *args, judges: Part, order: int, **options):
        super().__init__(*args, **options)
        self.judges, self.order = judges, order
        self.weights = [p for p in weight_parameters(self.model) if p.requires_grad]
        self.architecture = arch_parameters(self.model)

    def on_train_epoch_start(self) -> None:
        super().on_train_epoch_start()
        sampler = ShuffledBatches(
            len(self.judges),
            self.how.batch_size,
            seed=self.how.seed + 1,
            grids=self.judges.grids,
            anew=self.judges.draws_anew,
            lengths=self.judges.lengths,
        )
        sampler.epoch = self.epoch
        self.order_of_judges = list(sampler)

    def training_step(self, batch: Batch, index: int) -> None:
        self._set_rates(self.epoch + (index + 0.5) / len(self.sampler))
        self._move_architecture(batch, index)
        super().training_step(batch, index)

    def _move_architecture(self, batch: Batch, index: int) -> None:
        chosen = self.order_of_judges[index % len(self.order_of_judges)]
        judge = self.transfer_batch_to_device(self.judges.__getitems__(chosen), self.device, 0)
        losses = (lambda: self._loss(batch)), (lambda: self._loss(judge))
        with values_kept(list(self.model.buffers())):  # such as the means of batch normalisation
            if self.order == 1:
                found = first_order(self.architecture, losses[1])
            else:
                rate = self.made[0].param_groups[0]["lr"]
                found = second_order(self.weights, self.architecture, *losses, rate)
        for parameter, gradient in zip(self.architecture, found, strict=True):
            parameter.grad = gradient
        self.step(1)

    def _loss(self, batch: Batch):
        errors = self._errors(batch, self.coords).sum()
        loss = errors if self.how.loss == "sum" else errors / len(batch.x)
        return self.with_penalties(loss)

    def descend(self, loss) -> None:
        """A step of the weights only."""
        self.made[0].zero_grad()
        self.manual_backward(loss)
        self.step(0)
