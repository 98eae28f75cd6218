"""What every domain must do: registering one is enough to have it tested."""

import json
import pickle

import numpy as np
import pytest

from sciops.data.samples import task_of
from sciops.domains import DOMAINS, domain_named
from sciops.domains.recipe import Recipe

QUICK = {"navier_stokes": {"frames": 20, "duration": 2.0}}  # parameters that make a domain cheap
RESOLUTION = 32


@pytest.fixture(params=DOMAINS)
def recipe(request) -> Recipe:
    return Recipe(request.param, RESOLUTION, 7, QUICK.get(request.param, {}))


def test_solutions_have_the_declared_shapes(recipe):
    fields = recipe.make_block(np.arange(3))
    assert set(fields) == set(recipe.variables)
    for name, variable in recipe.variables.items():
        sizes = tuple(len(recipe.coordinates[dim]) for dim in variable.dims)
        assert fields[name].shape == (3, *sizes)
        assert fields[name].dtype == np.float64
        assert np.isfinite(fields[name]).all()
    space = {dim for v in recipe.variables.values() for dim in v.dims} - {"time"}
    assert space == set(recipe.domain.boundary_conditions)
    assert all(len(recipe.coordinates[dim]) == RESOLUTION for dim in space)


def test_a_sample_is_a_function_of_its_number_and_the_seed(recipe):
    together, alone = recipe.make_block([4, 5, 6]), recipe.make_block([5])
    other = Recipe(recipe.domain.name, RESOLUTION, 8, QUICK.get(recipe.domain.name, {}))
    for name in together:
        np.testing.assert_allclose(together[name][1], alone[name][0], rtol=1e-9, atol=1e-12)
        assert not np.allclose(together[name][0], together[name][1])
        assert not np.allclose(other.make_block([5])[name], alone[name])


def test_it_is_the_same_function_on_a_finer_grid(recipe):
    """Up to what a grid of twice the points shows in addition."""
    finer = Recipe(recipe.domain.name, 2 * RESOLUTION, 7, recipe.parameters)
    closed = "periodic" not in recipe.domain.boundary_conditions.values()
    if closed:  # nested grids have 2n − 1 points
        finer = Recipe(recipe.domain.name, 2 * RESOLUTION - 1, 7, recipe.parameters)
    coarse, fine = recipe.make_block([0, 1]), finer.make_block([0, 1])
    for name, variable in recipe.variables.items():
        every = [slice(None)] + [slice(None, None, 1 if d == "time" else 2) for d in variable.dims]
        difference = np.linalg.norm(coarse[name] - fine[name][tuple(every)])
        assert difference < 0.03 * np.linalg.norm(coarse[name])


def test_blocks_can_be_made_in_another_process(recipe):
    there = pickle.loads(pickle.dumps(recipe.make_block))
    for name, field in recipe.make_block([2]).items():
        np.testing.assert_array_equal(there([2])[name], field)


def test_parameters_can_be_stored_and_given_again(recipe):
    known, parameters = recipe.domain, recipe.parameters
    assert known.with_defaults(json.loads(json.dumps(parameters))) == parameters
    assert set(known.declared) <= set(parameters)
    with pytest.raises(ValueError, match=f"{known.name} has no parameter 'nonsense'; it has "):
        known.with_defaults({"nonsense": 1})


def test_data_sets_describe_a_task_and_obey_their_equation(recipe):
    ds = recipe.in_memory(3, progress=False)
    task = task_of(ds)
    assert task.in_channels >= 1
    assert task.out_channels >= 1
    assert recipe.domain.defects(ds).shape == (3,)
    assert recipe.domain.defects(ds).max() <= recipe.domain.tolerance(ds) < 0.3


def test_unknown_domains_are_named():
    with pytest.raises(ValueError, match="no data set 'heat'; there are burgers, darcy, navier"):
        domain_named("heat")
