"""Lightning's Trainer as it is wanted here: quiet, without files of its own, with clear ends."""

import contextlib
import logging
import sys
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import pytorch_lightning as pl
from pytorch_lightning.utilities.exceptions import MisconfigurationException, SIGTERMException

OFF = dict.fromkeys(
    ("logger", "enable_checkpointing", "enable_model_summary", "enable_progress_bar"), False
)


class Terminated(SystemExit):
    """The process was asked to end (SIGTERM), as at the time limit of a cluster."""

    def __init__(self, text: str):
        super().__init__(143)  # as shells have it
        print(text, file=sys.stderr, flush=True)


def make_trainer(epochs: int, callbacks: list[pl.Callback], **machine) -> pl.Trainer:
    """machine: devices, num_nodes, strategy and accelerator, as Lightning takes them."""
    return pl.Trainer(
        max_epochs=epochs,
        callbacks=callbacks,
        sync_batchnorm=machine["accelerator"] != "cpu",  # torch has none for CPUs
        use_distributed_sampler=False,
        num_sanity_val_steps=0,
        **machine,
        **OFF,
    )


def usable_machine(**machine) -> dict[str, Any]:
    """devices, num_nodes, strategy and accelerator as they are, if this machine has them.

    Lightning looks for the processors; from now on it knows which process this one is.
    """
    try:
        with quietly(), warnings.catch_warnings(action="ignore"):
            pl.Trainer(**machine, **OFF)
    except (MisconfigurationException, TypeError, RuntimeError) as error:
        asked = ", ".join(f"{name}={value!r}" for name, value in machine.items())
        raise ValueError(f"this machine cannot train with {asked}: {error}") from error
    return machine


@contextlib.contextmanager
def stops_are_told(how_far: Callable[[], str]) -> Iterator[None]:
    """Ctrl-C as KeyboardInterrupt and SIGTERM as Terminated, which say how far it was."""
    try:
        yield
    except SystemExit as stopped:  # as Lightning answers to both
        kind = Terminated if isinstance(stopped, SIGTERMException) else KeyboardInterrupt
        raise kind(how_far()) from None


@contextlib.contextmanager
def quietly() -> Iterator[None]:
    """Without Lightning's advice, which is for other kinds of data."""
    logger = logging.getLogger("pytorch_lightning")
    level = logger.level
    logger.setLevel(logging.WARNING)
    try:
        with warnings.catch_warnings():
            for advice in ("many workers", "no `val_dataloader`", "number of training batches"):
                warnings.filterwarnings("ignore", f".*{advice}")
            warnings.filterwarnings("ignore", ".*LeafSpec", FutureWarning)
            yield
    finally:
        logger.setLevel(level)
