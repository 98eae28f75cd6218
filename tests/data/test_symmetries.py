"""What a symmetry makes of a solution solves the same equation."""

import numpy as np
import pytest
import torch

import sciops
from sciops.data.samples import MemorySamples, task_of
from sciops.data.symmetries import SYMMETRIES, fitting, transformed
from sciops.domains import DOMAINS, domain_named
from sciops.task import Axis, Batch

SMALL = {
    "darcy": dict(resolution=33),
    "burgers": dict(resolution=64),
    "navier_stokes": dict(resolution=32, viscosity=1e-2, frames=4),
}
CASES = [(name, symmetry) for name in DOMAINS for symmetry in domain_named(name).symmetries]


@pytest.fixture(scope="module")
def made():
    return {name: sciops.generate(name, n=2, progress=False, **SMALL[name]) for name in DOMAINS}


def moved(ds, symmetry: str, seed: int):
    """The data set with its fields transformed."""
    samples = MemorySamples(ds)
    batch = transformed(Batch(samples.x, samples.y), [symmetry], np.random.default_rng(seed))
    task, new = task_of(ds), ds.copy(deep=True)
    for fields, side in ((task.inputs, batch.x), (task.targets, batch.y)):
        (field,) = fields
        if field.frames is None:
            new[field.variable].values[:] = side[:, 0].numpy()
        else:
            new[field.variable].values[:, slice(*field.frames)] = side.numpy()
    return new, batch


@pytest.mark.parametrize(("name", "symmetry"), CASES)
def test_a_transformed_solution_is_a_solution(made, name, symmetry):
    ds, known = made[name], domain_named(name)
    limit, changed = known.tolerance(ds), 0
    for seed in range(6):
        new, batch = moved(ds, symmetry, seed)
        assert (known.defects(new) <= limit).all()
        changed += not torch.equal(batch.x, MemorySamples(ds).x)
    assert changed >= 2


@pytest.mark.parametrize(
    ("name", "wrong"), [("burgers", "flip"), ("navier_stokes", "roll"), ("navier_stokes", "flip")]
)
def test_the_equation_notices_what_is_no_symmetry_of_it(made, name, wrong):
    ds, known = made[name], domain_named(name)
    defects = [known.defects(moved(ds, wrong, seed)[0]).max() for seed in range(6)]
    assert max(defects) > known.tolerance(ds)


@pytest.mark.parametrize("symmetry", SYMMETRIES)
def test_input_and_target_move_together(symmetry):
    shape = (3, 1, 8) if symmetry == "odd_flip" else (3, 1, 8, 8)
    x = torch.randn(shape)
    batch = transformed(Batch(x, 2 * x), [symmetry], np.random.default_rng(7))
    assert torch.equal(batch.y, 2 * batch.x)
    assert torch.equal(batch.x.abs().flatten(1).sort().values, x.abs().flatten(1).sort().values)


def test_a_grid_without_the_symmetry_does_without():
    closed = Axis("x", (0.0, 0.5, 1.0), False, 1.0)
    uneven = Axis("y", (0.0, 0.2, 1.0), False, 1.0)
    round_ = Axis("x", (0.0, 0.5), True, 1.0)
    names = tuple(SYMMETRIES)
    assert fitting(names, (closed, closed)) == ("flip", "swap", "slide")
    assert fitting(("flip", "swap"), (closed, uneven)) == ()
    assert fitting(("roll", "odd_flip"), (round_,)) == ("roll", "odd_flip")
    assert fitting(("roll", "odd_flip"), (closed,)) == ()
