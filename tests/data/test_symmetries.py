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
    batch, _ = transformed(Batch(samples.x, samples.y), [symmetry], np.random.default_rng(seed))
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
    points = tuple(torch.linspace(0, 0.9, 8) for _ in shape[2:])
    batch, _ = transformed(Batch(x, 2 * x), [symmetry], np.random.default_rng(7), points)
    assert torch.equal(batch.y, 2 * batch.x)
    assert torch.equal(batch.x.abs().flatten(1).sort().values, x.abs().flatten(1).sort().values)


def test_a_grid_without_the_symmetry_does_without():
    closed = Axis("x", (0.0, 0.5, 1.0), False, 1.0)
    uneven = Axis("y", (0.0, 0.2, 1.0), False, 1.0)
    early = Axis("x", (0.0, 0.25, 0.5), False, 0.75)
    round_ = Axis("x", (0.0, 0.5), True, 1.0)
    fixed = dict(movable=False)
    assert fitting(("flip", "swap", "slide"), (closed, closed), **fixed) == (
        "flip",
        "swap",
        "slide",
    )
    assert fitting(("flip", "swap"), (closed, uneven), **fixed) == ()
    assert fitting(("flip", "swap"), (early, early), **fixed) == ("swap",)
    assert fitting(("roll", "odd_flip"), (round_,), movable=True) == ("roll", "odd_flip")
    assert fitting(("roll", "odd_flip"), (closed,), movable=True) == ()
    assert fitting(("flip",), (round_,), movable=True) == ("flip",)
    twelve = Axis("x", tuple(i / 12 for i in range(12)), True, 1.0)
    assert fitting(("slide", "half_turn", "odd_swap"), (twelve, twelve), **fixed) == ("slide",)


def test_where_points_can_move_a_mirror_does_what_a_flip_cannot():
    early = Axis("x", (0.0, 0.25, 0.5), False, 0.75)
    assert fitting(("flip", "swap"), (early, early), movable=True) == ("mirror", "swap")


def test_a_mirrored_sample_is_the_mirrored_function():
    """Of f(x, y) on points of a domain [0, 1] that stop early, mirrored and swapped."""
    x, y = torch.arange(4) / 5, torch.arange(6) / 8
    f = lambda x, y: (x + 2 * y**2)[None, None]
    batch, seen = Batch(*2 * [f(x[:, None], y[None, :])]), set()
    for seed in range(60):
        rng = np.random.default_rng(seed)
        (moved, _), (s, t) = transformed(batch, ["mirror", "swap"], rng, (x, y))
        swapped = len(s) == 6
        p, q = (t, s) if swapped else (s, t)
        flips = bool(p[0] > 0), bool(q[0] > 0)
        assert bool((s.diff() > 0).all()) and bool((t.diff() > 0).all())
        expected = f((1 - p if flips[0] else p)[:, None], (1 - q if flips[1] else q)[None, :])
        torch.testing.assert_close(moved, expected.mT if swapped else expected)
        seen.add((swapped, *flips))
    assert len(seen) == 8
