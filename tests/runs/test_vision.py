"""`train_vision`: runs that can be opened and judged; images of every kind."""

import numpy as np
import pytest
import torch

import sciops
from sciops.metrics.classes import cross_entropy
from sciops.runs import vision
from sciops.runs.vision import recipe_of
from sciops.runs.vision_run import VisionRun
from tests.task_toys import images, same_bits
from tests.task_toys import train_vision as trained


@pytest.mark.parametrize("op", ["conv", "xd", "kop", "discrete", "klayer", "linear"])
def test_a_run_is_judged_and_opened_again(op, tmp_path):
    options = {"start": "scratch", "depth": 2} if op == "kop" else {}
    run = trained(tmp_path / "run", op, **options)
    test = run.data["test"].to_dataset()
    with torch.no_grad():
        logits = run.model(torch.tensor(test["image"].values))
    y = torch.tensor(test["label"].values)
    assert run.metrics["test_cross_entropy"] == pytest.approx(
        float(cross_entropy(logits, y).mean()), rel=1e-5
    )
    assert run.metrics["test_accuracy"] == pytest.approx(
        float((logits.argmax(1) == y).double().mean())
    )
    assert run.metrics["test_error_rate"] == pytest.approx(1 - run.metrics["test_accuracy"])
    assert bool(run.metrics["arch_parameters"]) == (op in ("xd", "kop", "discrete"))
    opened = sciops.open_run(tmp_path / "run")
    assert isinstance(opened, VisionRun) and same_bits(run, opened)
    assert opened.metrics == pytest.approx(run.metrics)
    assert np.array_equal(opened.predict(test), run.predict(test))
    assert opened.evaluate(images()).equals(run.evaluate()) and opened.evaluate(test).equals(
        run.evaluate()
    )
    assert "VisionRun" in repr(run) and op in repr(run)


def test_a_term_is_a_network(tmp_path):
    term = "Linear2(lift8, Linear3(Linear2(conv3, relu), down, Linear2(fourier4, tanh)))"
    run = trained(tmp_path / "run", "term", term=term)
    opened = sciops.open_run(tmp_path / "run")
    assert same_bits(run, opened) and opened.config["model"]["term"] == term
    assert repr(run).startswith("VisionRun(term, test accuracy")
    assert f"The network of the term {term} learned" in run.report().read_text()
    with pytest.raises(ValueError, match="is a whole network; leave network='lenet' out"):
        trained(tmp_path / "other", "term", term=term, network="lenet")
    with pytest.raises(ValueError, match="op='term' needs a term, such as"):
        trained(tmp_path / "other", "term")
    assert not (tmp_path / "other").exists()


def test_it_learns_and_the_architecture_moves(tmp_path):
    run = trained(tmp_path / "run", "xd", epochs=25, rate=5e-3)
    assert run.metrics["test_accuracy"] > 0.8
    page = run.report().read_text()
    assert "What the search learned" in page and "What it sees" in page and "middle" in page


def test_pixels_one_after_the_other(tmp_path):
    run = trained(tmp_path / "run", "kop", network="text-cnn")
    assert run.sequence and run.predict(run.samples("test")).shape == (9, 3)
    opened = sciops.open_run(tmp_path / "run")
    opened.data = images()
    assert opened.evaluate().equals(run.evaluate())


def test_predictions_are_probabilities_of_images_of_its_size(tmp_path):
    run = trained(tmp_path / "run", "conv", epochs=1)
    image = run.samples("test")[0]
    rows = [run.predict(x) for x in (image, image[0], [image], torch.tensor(image)[None])]
    assert all(row.shape == (1, 3) and np.array_equal(row, rows[0]) for row in rows)
    assert rows[0].sum() == pytest.approx(1)
    with pytest.raises(ValueError, match=r"shape \(1, 9, 9\); this network takes \(1, 8, 8\)"):
        run.predict(np.zeros((9, 9)))
    with pytest.raises(ValueError, match=r"expected \(y, x\)"):
        run.predict([np.zeros(9)])
    run.plot([0, 3])
    other = images()
    for split in other.children.values():
        split.attrs["classes"] = ["a", "b", "c"]
    with pytest.raises(ValueError, match="the images have the classes a, b, c; this network"):
        run.evaluate(other)


def test_options_go_to_the_operation_the_network_and_the_optimisers(tmp_path):
    options = dict(depth=2, pool="max", clip=1.0)
    run = trained(tmp_path / "run", "xd", epochs=1, **options)
    assert run.config["model"]["space"] == {"depth": 2} and run.config["model"]["pool"] == "max"
    assert run.config["training"]["weights"]["clip"] == 1.0
    with pytest.raises(ValueError, match="there is no network='vgg'; there are lenet"):
        trained(tmp_path / "other", network="vgg")


def test_the_published_recipe():
    plain, permuted = recipe_of("paper"), recipe_of("paper", plain=False)
    assert (plain.epochs, plain.batch_size, plain.weights.rate) == (200, 128, 0.01)
    assert (plain.architecture.rate, plain.architecture.warmup) == (1e-4, 0)
    assert (permuted.architecture.rate, permuted.architecture.warmup) == (1e-3, 50)
    assert recipe_of("paper", network="resnet20").weights.rate == 0.1
    discrete = recipe_of("paper", "discrete", plain=False).architecture
    assert (discrete.rate, discrete.warmup) == (0.1, 0)


def test_learned_sizes_weigh_their_cost_as_recipes_say():
    assert vision._divided("dnarch", {})["cost"] == 5.0
    assert vision._divided("dnarch", {}, "paper")["cost"] == 0.1  # as published for CIFAR-10
    assert vision._divided("dnarch", {"cost": 2.0})["cost"] == 2.0
