"""One HTML page about a network that names the class of images."""

from typing import TYPE_CHECKING

import numpy as np

from .frame import Own
from .page import counted, drawing, duration, section, table

if TYPE_CHECKING:
    import xarray as xr

    from sciops.runs.vision_run import VisionRun

NETWORKS = {
    "conv": "with convolutions",
    "xd": "whose convolutions became XD operations",
    "kop": "whose convolutions became K-operations",
    "discrete": "whose convolutions became mixtures of the eight DARTS operations",
    "klayer": "whose convolutions became K-matrices for every pair of channels",
    "linear": "whose convolutions became dense matrices",
    "dnarch": "whose kernels, resolutions, widths and depth are learned",
}


def own_parts(run: "VisionRun") -> Own:
    """What the page of a run has to say."""
    attrs, scores = run.data["test"].attrs, run.evaluate()
    variant = attrs.get("variant", "plain")
    caption = (
        "Above each test image the class that was predicted and its probability, and the true "
        "class where it is another. First those that were predicted worst, then others."
    )
    return Own(
        title=f"{run.config['op']} on {attrs.get('title', 'images')}",
        lead=_what_was_trained(run),
        note="" if variant == "plain" else f"The images are in the variant {variant!r}.",
        numbers={
            "accuracy, test": f"{100 * run.metrics['test_accuracy']:.1f} %",
            "cross entropy, test": f"{run.metrics['test_cross_entropy']:.3f} nats",
        },
        results=[
            _classes_section(scores, run.task.classes),
            section("What it sees", drawing(run.plot(), "images", caption)),
        ],
    )


def _what_was_trained(run: "VisionRun") -> str:
    images = counted(run.data["train"].sizes["sample"], "image")
    size = " × ".join(map(str, run.image_shape[1:]))
    return (
        f"The network {run.config['network']}, {NETWORKS[run.config['op']]}, learned to name one "
        f"of {len(run.task.classes)} classes. It had {images} of {size} pixels and "
        f"{counted(len(run.history), 'epoch')} ({duration(run.metrics['train_seconds'])})."
    )


def _classes_section(scores: "xr.Dataset", classes: tuple[str, ...]) -> str:
    """Of each class, how many images, how many are right, and what the others are taken for."""
    labels, predicted = scores["label"].values, scores["predicted"].values
    rows = []
    for name in classes:
        found = predicted[labels == name]
        wrong, often = np.unique(found[found != name], return_counts=True)
        order = np.argsort(-often, kind="stable")[:3]
        others = ", ".join(f"{wrong[k]} ({often[k]})" for k in order)
        share = f"{100 * np.mean(found == name):.1f} %" if len(found) else "–"
        rows.append([name, str(len(found)), share, others])
    head = ["class", "images", "right", "taken for"]
    return section(f"Accuracy on {counted(len(labels), 'test image')}", table(head, rows))
