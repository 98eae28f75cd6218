"""The report is one safe, valid, repeatable page that says what the run has to say."""

import re
from html.parser import HTMLParser
from pathlib import Path
from types import SimpleNamespace

import matplotlib
import numpy as np
import pandas as pd
import pytest
import torch
import xarray as xr

import sciops.atomic
import sciops.reporting.frame
import sciops.reporting.report
import sciops.reporting.sections
from sciops.backbones import make_backbone
from sciops.checkpoint import save_model
from sciops.data.samples import MemorySamples, task_of
from sciops.evaluation.scores import evaluate
from sciops.plots.shown import median_and_worst
from sciops.plots.style import new_figure
from sciops.reporting.frame import report_text, write_report
from sciops.reporting.page import as_svg, page, table
from tests.plots.toy import data, moved, transfer

VOID = {"meta", "br", "link", "img"}


def toy_run(sizes=None, op="xd", **attrs) -> SimpleNamespace:
    """What a report needs of a Run, untrained."""
    ds = data(sizes or {"x": 16}, n=5).assign_attrs(attrs)
    task, samples = task_of(ds), MemorySamples(ds)
    torch.manual_seed(0)
    model = make_backbone(task, op, width=4, hidden=4, blocks=2).fit(samples.x, samples.y)
    moved(model, 0.02)
    history = pd.DataFrame(
        {"epoch": [1, 2], "train_relative_l2": [0.5, 0.4], "val_relative_l2": [0.6, 0.5]}
    )
    rates = {"weights": {"rate": 0.001}, "architecture": {"rate": 0.01}}
    config = {
        "name": "toy",
        "op": op,
        "recipe": "quick",
        "seed": 7,
        "grids": [16],
        "training": {"epochs": 2, "batch_size": 3, "symmetries": [], **rates},
        "model": {"op": op, "forecast": None, "width": 4},
        "data": {"n_train": 4, "n_val": 1, "n_test": 5, "given": None, "fingerprint": "1f2e"},
    }
    return SimpleNamespace(
        model=model,
        task=task,
        history=history,
        metrics={"train_seconds": 305.0, "val_relative_l2": 0.5},
        config=config,
        path=Path("nowhere"),
        transferred=None,
        data=xr.DataTree.from_dict({"train": ds.isel(sample=slice(4)), "test": ds}),
        evaluate=lambda: evaluate(model, ds, task, progress=False),
    )


class Reader(HTMLParser):
    """Collects text, tags and ids, and checks that tags are closed in order."""

    def __init__(self, source: str):
        super().__init__()
        self.text, self.tags, self.ids, self.links, self.open = [], [], [], [], []
        self.feed(source)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        self.handle_startendtag(tag, attrs)
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.tags.append(tag)
        self.ids += [value for name, value in attrs if name == "id"]
        self.links += [value for name, value in attrs if name in ("href", "src", "xlink:href")]

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, text):
        self.text.append(text)


@pytest.fixture(scope="module")
def run():
    return toy_run(title="Toy flow", equation="u = a < 1", source="made up")


@pytest.fixture(scope="module")
def source(run):
    run.transferred = transfer()  # the last one of the run
    return report_text(run)


@pytest.fixture(scope="module")
def read(source):
    return Reader(source)


def test_the_page_is_valid_and_needs_nothing_else(source, read):
    assert len(read.ids) == len(set(read.ids)) > 0
    assert read.tags.count("svg") == 6
    assert "script" not in read.tags
    inside = [link for link in read.links if not link.startswith("data:image/png;base64,")]
    assert all(link.startswith("#") and link[1:] in set(read.ids) for link in inside)
    assert all(name in set(read.ids) for name in re.findall(r"url\(#([^)]+)\)", source))
    assert not re.search(r"url\((?!#)|@import|<link|<img", source)
    assert len(source) < 3_000_000


def test_the_page_says_what_was_trained(read):
    text = " ".join(read.text)
    assert "xd on Toy flow" in text
    assert (
        "A network of XD operations learned to predict u from a. It had 4 training samples on a "
        "grid of 16 points, and 2 epochs (5 min 5 s)." in text
    )
    for words in ("u = a < 1", "sciops train toy --op xd", "4 train, 5 test", "made up", "1f2e"):
        assert words in text
    for heading in (
        *("Scores on 5 test samples", "What it predicts", "How it learned"),
        *("On other grids", "Which scales it gets right", "What the search learned"),
    ):
        assert heading in read.text


def test_scores_are_mean_median_and_worst(run, read):
    errors = run.evaluate()["relative_l2"].values
    row = read.text.index("relative L2 error")
    shown = [t for t in read.text[row : row + 10] if t.strip()][1:5]
    worst = int(errors.argmax())
    expected = [errors.mean(), np.sort(errors)[2], errors[worst]]
    assert [float(t) for t in shown[:3]] == [float(f"{v:.3g}") for v in expected]
    assert shown[3] == str(worst)
    titles = {f"Median sample (no. {int(np.argsort(errors)[2])})", f"Worst sample (no. {worst})"}
    assert titles == set(median_and_worst(errors))


def test_bands_that_the_grid_does_not_reach_have_no_row(read):
    assert "error in middle wave numbers" in read.text
    assert "error in high wave numbers" not in read.text


def test_transfer_has_a_row_for_each_grid(read):
    table_of = transfer()
    means = table_of["control_upsample"].mean("sample").values
    for grid, mean in zip(("8", "16", "32"), means, strict=True):
        row = read.text.index(grid)
        assert f"{mean:#.3g}" in read.text[row : row + 8]


def test_the_same_run_gives_the_same_bytes_whatever_the_readers_style(
    run, source, tmp_path, monkeypatch
):
    theirs = {"font.size": 30, "savefig.bbox": "tight", "svg.fonttype": "none", "axes.grid": True}
    for name, value in theirs.items():
        monkeypatch.setitem(matplotlib.rcParams, name, value)
    path = write_report(run, tmp_path / "deep" / "report.html")
    assert path.read_bytes() == source.encode()
    assert [p.name for p in path.parent.iterdir()] == ["report.html"]


def test_what_users_write_is_escaped():
    bad = '<script>alert("1")</script>&'
    run = toy_run(op="conv", title=bad, equation=bad, source=bad, parameters={bad: bad})
    run.config.update(op=bad, name=bad)
    ds = run.data["test"].to_dataset()
    ds["u"].attrs["long_name"] = bad
    run.data["test"] = xr.DataTree(ds)
    source = report_text(run)
    read = Reader(source)
    assert "script" not in read.tags
    assert bad in "".join(read.text)
    assert "What the search learned" not in read.text  # a convolution has none
    assert "On other grids" not in read.text


def test_versions_and_machine_are_those_of_the_training(run, tmp_path):
    notes = {"versions": {"torch": "9.9"}, "machine": {"cores": 3}}
    save_model(tmp_path, {"w": torch.zeros(1)}, notes)
    run = SimpleNamespace(**{**vars(run), "path": tmp_path})
    text = "".join(sciops.reporting.report._again(run, run.data["test"].to_dataset()))
    assert "torch 9.9" in text
    assert "cores 3" in text


def test_several_grids_are_named(run):
    run = SimpleNamespace(**{**vars(run), "config": {**run.config, "grids": [8, 32, 16]}})
    text = sciops.reporting.report._what_was_trained(run, run.data["test"].to_dataset())
    assert "a grid of 16 points and coarser or finer ones of 8, 32 along an axis" in text


def test_a_failed_write_leaves_the_old_page(run, source, tmp_path, monkeypatch):
    path = tmp_path / "report.html"
    path.write_text("old")
    monkeypatch.setattr(sciops.reporting.frame, "report_text", lambda *_: source)

    def fail(*_):
        raise OSError("disk full")

    monkeypatch.setattr(sciops.atomic, "publish", fail)
    with pytest.raises(OSError, match="disk full"):
        write_report(run, path)
    assert path.read_text() == "old"


def test_a_folder_is_not_a_file(run, tmp_path):
    with pytest.raises(ValueError, match=r"is a folder; give the name of the file"):
        write_report(run, tmp_path)


def test_predictions_that_are_not_finite_are_told(run):
    scores = run.evaluate().assign_attrs(nonfinite_predictions=2)
    scores["relative_l2"][1] = np.nan
    section = sciops.reporting.sections.scores_section(scores)
    assert "2 predictions of 5 had values that are not finite" in section
    assert "<td>–</td><td>–</td><td>–</td><td>1</td>" in section


def test_a_refused_grid_is_told():
    table_of = transfer().assign_attrs(refused="32: built for 16 <points>")
    for name in ("relative_l2", "error_spectrum"):
        table_of[name][2] = np.nan
    section = sciops.reporting.sections.transfer_section(table_of)
    assert "does not run on every grid. 32: built for 16 &lt;points&gt;" in section
    assert "<td>–</td>" in section


def test_figures_take_the_colours_of_the_page():
    figure = new_figure(2, 2)
    figure.subplots().plot([0, 1], [0, 1], color="#0072b2")
    text = as_svg(figure, "one", 'a "label" <b>')
    assert "var(--line0)" in text
    assert "#0072b2" not in text
    assert 'aria-label="a &quot;label&quot; &lt;b&gt;"' in text
    assert re.match(r"<svg [^>]*viewBox", text)
    assert not re.match(r"<svg [^>]* (width|height)=", text)
    assert "<dc:date>" not in text


def test_pages_without_figures_are_valid_too():
    read = Reader(page("a <title>", [table(["x"], [["1 < 2"]])]))
    assert "1 < 2" in read.text
