"""One HTML page about a network for distance maps of proteins."""

from typing import TYPE_CHECKING

from sciops.metrics.distance_map import across_proteins, score_precision
from sciops.plots.distance_maps import distance_maps, error_by_separation, precision_curves
from sciops.plots.style import short
from sciops.proteins.protein import Protein

from .frame import Own
from .page import counted, drawing, duration, paragraph, section, table

if TYPE_CHECKING:
    import xarray as xr

    from sciops.runs.protein_run import ProteinRun

SCORES = {
    "mae8": "MAE8: mean error of pairs within 8 Å, Å",
    "mae12": "MAE12: within 12 Å, Å",
    "precision_L5": "contact precision, best L/5",
    "precision_L2": "contact precision, best L/2",
    "precision_L": "contact precision, best L",
    "precision_Nc": "contact precision, as many as there are contacts",
    "lddt": "lDDT, all pairs",
}
SHOWN = 6  # proteins whose maps are drawn


def own_parts(run: "ProteinRun") -> Own:
    """What the page of a run has to say."""
    proteins, attrs = run.proteins("test"), run.data["test"].attrs
    predictions = [run.predict(protein) for protein in proteins]
    made = "These chains are synthetic: they are protein-like and no proteins."
    return Own(
        title=f"{run.config['op']} on {attrs.get('title', 'proteins')}",
        lead=_what_was_trained(run),
        note=made if attrs.get("synthetic") else "",
        numbers={
            "MAE8, test": f"{run.metrics['test_mae8']:.2f} Å",
            "contact precision L/5, test": short(run.metrics["test_precision_L5"]),
        },
        results=[_scores_section(run.evaluate(proteins), proteins), _maps(proteins, predictions)],
        beside=[
            _near_and_far(run.config["op"], proteins, predictions),
            _first_of_all(run.config["op"], proteins, predictions),
        ],
    )


def _what_was_trained(run: "ProteinRun") -> str:
    train, window = run.data["train"].sizes["protein"], run.task.axes[0].size
    return (
        f"A network ({run.config['op']}) learned to predict the distances between residues from "
        f"{run.task.in_channels} channels of features. It had {counted(train, 'protein')}, in "
        f"windows of {window} residues, and {counted(len(run.history), 'epoch')} "
        f"({duration(run.metrics['train_seconds'])})."
    )


def _scores_section(scores: "xr.Dataset", proteins: list[Protein]) -> str:
    """Long range, means over the proteins, with those of the covariation maps alone beside them."""
    rows = []
    for name, title in SCORES.items():
        values = scores[name].to_series()
        found = [values.mean(), values.median(), values.std()]
        rows.append([title, *(short(float(v)) for v in found), str(values.count())])
    parts = [table(["score", "mean", "median", "deviation", "proteins that have it"], rows)]
    if alone := _covariation_alone(proteins):
        parts.append(paragraph(alone, "note"))
    return section(f"Scores on {counted(len(proteins), 'test protein')}", *parts)


def _covariation_alone(proteins: list[Protein]) -> str:
    if "couplings" not in proteins[0].maps:
        return ""
    scores = ({"L5": score_precision(p.maps["couplings"], p.distance)} for p in proteins)
    found = across_proteins(scores)["L5"]
    return f"The couplings alone have a contact precision of {short(float(found))} (L/5)."


def _maps(proteins: list[Protein], predictions: list) -> str:
    shown = slice(None, SHOWN)
    truths, names = [p.distance for p in proteins[shown]], [p.name for p in proteins[shown]]
    figure = distance_maps(truths, predictions[shown], names)
    caption = "Above the diagonal the truth, below it the prediction, in Å."
    return section("What it predicts", drawing(figure, "maps", caption))


def _near_and_far(op: str, proteins: list[Protein], predictions: list) -> str:
    pairs = [(p, q.distance) for p, q in zip(predictions, proteins, strict=True)]
    caption = "Mean error of pairs within 12 Å, by how far apart they are along the chain."
    figure = error_by_separation({op: pairs})
    return section("Near and far", drawing(figure, "separation", caption))


def _first_of_all(op: str, proteins: list[Protein], predictions: list) -> str:
    """Precision of the network, and of the couplings alone where there are such."""
    pairs = [(p, q.distance) for p, q in zip(predictions, proteins, strict=True)]
    has_couplings = "couplings" in proteins[0].maps
    alone = [(p.maps["couplings"], p.distance) for p in proteins if has_couplings]
    caption = "Contacts among the pairs that are ranked first, at least 24 residues apart."
    figure = precision_curves({op: pairs}, {"couplings alone": alone} if alone else None)
    return section("Contacts", drawing(figure, "precision", caption))
