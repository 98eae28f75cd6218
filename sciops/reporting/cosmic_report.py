"""One HTML page about a network that finds cosmic rays."""

from typing import TYPE_CHECKING

import numpy as np

from sciops.plots.masks import roc_curves
from sciops.plots.style import short

from .frame import Own
from .page import counted, drawing, duration, paragraph, section, table

if TYPE_CHECKING:
    import xarray as xr

    from sciops.metrics.mask import RocCurve
    from sciops.runs.cosmic_run import CosmicRun

SCORES = {
    "auroc": "area under the ROC curve",
    "average_precision": "average precision",
    "f1": "F1 at p > 0.5",
    "fnr_1e-3": "hit pixels missed where 0.1 % of the others are flagged",
    "fnr_1e-2": "where 1 % are",
    "masked_bce": "cross entropy, nats per pixel",
}
RATES = ("1e-4", "1e-3", "1e-2")  # shares of clean pixels that are flagged
NB360 = (
    "NAS-Bench-360's score, called 1 − AUROC in its tables, is no area under a curve but the mean "
    "of the two error rates at one threshold, ignored pixels included. Here it is {}."
)


def own_parts(run: "CosmicRun") -> Own:
    """What the page of a run has to say."""
    attrs, scores = run.data["test"].attrs, run.evaluate()
    caption = (
        "Test stamps with the most hit pixels, stretched by asinh. Grey pixels of the masks count "
        "for nothing; cleaned is what p > 0.5 leaves."
    )
    return Own(
        title=f"{run.config['op']} on {attrs.get('title', 'cosmic rays')}",
        lead=_what_was_trained(run),
        note="These exposures are synthetic: no telescope took them."
        if attrs.get("synthetic")
        else "",
        numbers={
            "area under the ROC curve, test": f"{scores.attrs['auroc']:.4f}",
            "hit pixels missed at 0.1 % false alarms": _percent(scores.attrs["fnr_1e-3"]),
        },
        results=[
            _scores_section(scores),
            section("What it finds", drawing(run.plot(), "masks", caption)),
        ],
        beside=[_curve_section(run)],
    )


def _what_was_trained(run: "CosmicRun") -> str:
    best = int(run.history["val_masked_bce"].idxmin()) + 1
    stamps, window = run.data["train"].sizes["stamp"], run.config["window"]
    return (
        f"A network ({run.config['op']}) learned which pixels of an exposure were hit by cosmic "
        f"rays. It had {counted(stamps, 'stamp')}, in windows of {window} × {window} pixels, and "
        f"{counted(len(run.history), 'epoch')} ({duration(run.metrics['train_seconds'])}); kept is "
        f"the model of epoch {best}, which has the least validation error."
    )


def _scores_section(scores: "xr.Dataset") -> str:
    """Of all pixels, and over stamps."""
    rows = []
    for name, title in SCORES.items():
        values = scores[name].to_series()
        found = [scores.attrs[name], values.median(), values.min(), values.max()]
        rows.append([title, *(_digits(name, float(v)) for v in found)])
    hits, count = int(scores["hits"].sum()), counted(scores.sizes["stamp"], "test stamp")
    head = ["score", "all pixels", "median stamp", "lowest", "highest"]
    return section(
        f"Scores on {count}",
        table(head, rows),
        paragraph(
            f"{counted(hits, 'pixel')} of these stamps were hit. Stamps without a hit have no "
            "scores but the last.",
            "note",
        ),
        paragraph(NB360.format(short(scores.attrs["balanced_error_nb360"])), "note"),
    )


def _curve_section(run: "CosmicRun") -> str:
    try:
        curve = run.roc()
    except ValueError as error:  # no hit in the test data
        return section("Found and falsely flagged", paragraph(f"There is none: {error}.", "note"))
    caption = "Of all test pixels that are not to be ignored; dotted: 0.1 % false alarms."
    figure = roc_curves({run.config["op"]: curve[:2]})
    rows = [[_percent(float(rate)), *_at(curve, float(rate))] for rate in RATES]
    head = ["clean pixels flagged", "hit pixels found", "threshold of p"]
    return section("Found and falsely flagged", drawing(figure, "roc", caption), table(head, rows))


def _at(curve: "RocCurve", rate: float) -> list[str]:
    """Share of hits that is found, and the threshold, at the last corner below a rate."""
    last = int(np.searchsorted(curve.false_positive_rate, rate, "right")) - 1
    threshold = curve.threshold[last]
    return [_percent(float(curve.true_positive_rate[last])), short(float(threshold))]


def _digits(name: str, value: float) -> str:
    if name.startswith("fnr"):
        return _percent(value)
    return f"{value:.4f}" if name == "auroc" and value == value else short(value)


def _percent(share: float) -> str:
    """
    >>> _percent(0.0123), _percent(1e-4), _percent(float("nan"))
    ('1.23 %', '0.01 %', '–')
    """
    return "–" if share != share else f"{100 * share:.3g} %"
