"""One HTML page about a network that predicts music."""

from typing import TYPE_CHECKING

from sciops.plots.style import short

from .frame import Own
from .page import counted, drawing, duration, section, table

if TYPE_CHECKING:
    from sciops.runs.music_run import MusicRun


def own_parts(run: "MusicRun") -> Own:
    """What the page of a run has to say."""
    attrs = run.data["test"].attrs
    caption = "The first test pieces. Row t is predicted from the frames before t alone."
    return Own(
        title=f"{run.config['op']} on {attrs.get('title', 'music')}",
        lead=_what_was_trained(run),
        note="These pieces are synthetic: nobody composed them." if attrs.get("synthetic") else "",
        numbers={
            "nats per frame, test": f"{run.metrics['test_nats']:.3f}",
            "nats per frame, validation": f"{run.history['val_nats'].min():.3f}",
        },
        results=[
            _scores_section(run),
            section("What it expects", drawing(run.plot(), "piano-rolls", caption)),
        ],
    )


def _what_was_trained(run: "MusicRun") -> str:
    best = int(run.history["val_nats"].idxmin()) + 1
    pieces = counted(run.data["train"].sizes["piece"], "piece")
    return (
        f"A temporal convolutional network ({run.config['op']}) learned to predict which of 88 "
        f"keys sound in the next frame. It had {pieces} "
        f"and {counted(len(run.history), 'epoch')} ({duration(run.metrics['train_seconds'])}); "
        f"kept is the model of epoch {best}, which has the least validation error."
    )


def _scores_section(run: "MusicRun") -> str:
    """Over all frames, and over pieces, beside the marginals of the keys."""
    scores = run.evaluate()
    values = scores["nats"].to_series()
    rows = [
        ["this network, over all frames", f"{scores.attrs['nats']:.3f}"],
        ["each key by how often it sounds", f"{run.metrics['test_marginal_nats']:.3f}"],
        ["the median piece", short(float(values.median()))],
        ["the worst piece", f"{short(float(values.max()))} (piece {values.idxmax()})"],
    ]
    count = counted(scores.sizes["piece"], "test piece")
    return section(f"Nats per frame on {count}", table(["", "nats per frame"], rows))
