"""The contract of the proposers, what each does, and that knowing more needs fewer trials."""

import itertools
import math

import numpy as np
import pytest

from sciops.studies import proposers
from sciops.studies.acquisition import Evolution
from sciops.studies.candidates import Trial
from sciops.studies.proposers import PROPOSERS, fit_surrogate, make_proposer
from tests.studies.term_toy import objective, sample, space

QUICK = Evolution(pool=30, generations=4, limit=8, patience=2)
OPTIONS = {
    "random": {},
    "evolution": {"population": 8, "tournament": 3},
    "bayes": {"initial": 6, "evolution": QUICK},
}


def proposer(name, **options):
    return make_proposer(name, **{**OPTIONS[name], **options})


def scored(seed, count):
    rng = np.random.default_rng(seed)
    return [Trial(term, objective(term)) for term in (sample(rng) for _ in range(count))]


def run(name, seed, count, **options):
    chosen, trials = proposer(name, **options), []
    for number in range(count):
        term = chosen.propose(space(), trials, [], np.random.default_rng([seed, number]))
        trials.append(Trial(term, objective(term)))
    return trials


def trials_to(target, name, seed, limit, **options):
    chosen, trials = proposer(name, **options), []
    for number in itertools.count():
        term = chosen.propose(space(), trials, [], np.random.default_rng([seed, number]))
        trials.append(Trial(term, objective(term)))
        if trials[-1].score <= target or number + 1 == limit:
            return number + 1


@pytest.mark.parametrize("name", PROPOSERS)
def test_a_proposal_follows_from_trials_and_generator(name):
    trials = scored(0, 12)
    one, two = (
        proposer(name).propose(space(), trials, [], np.random.default_rng(5)) for _ in range(2)
    )
    other = proposer(name).propose(space(), trials, [], np.random.default_rng(6))
    assert one == two != other


@pytest.mark.parametrize("name", PROPOSERS)
def test_nothing_is_tried_twice(name):
    terms = [trial.candidate for trial in run(name, 1, 15)]
    assert len(set(terms)) == 15


@pytest.mark.parametrize("name", PROPOSERS)
def test_failed_trials_do_not_stop_it(name):
    trials = [Trial(t.candidate, math.inf) for t in scored(2, 10)]
    known = {t.candidate for t in trials}
    for tried in (trials, [*trials, *scored(3, 4)]):
        assert proposer(name).propose(space(), tried, [], np.random.default_rng(0)) not in known


@pytest.mark.parametrize("name", PROPOSERS)
def test_pending_candidates_are_not_proposed(name):
    trials = scored(4, 12)
    first = proposer(name).propose(space(), trials, [], np.random.default_rng(7))
    again = proposer(name).propose(space(), trials, [first], np.random.default_rng(7))
    assert again != first


class Chains:
    """A surrogate to which chains are the least known, until one of them is pending."""

    def __init__(self, known=0):
        self.known = known

    def hallucinate(self, pending):
        return Chains(known=len(pending))

    def predict(self, candidates):
        chains = np.array(["chain" in levels[0].labels for levels in candidates])
        return np.ones(len(chains)), np.where(chains, 0.01 if self.known else 2.0, 1.0)


def test_what_is_pending_counts_as_known_to_bayes(monkeypatch):
    """Not only is it not proposed again: what is like it promises less."""
    monkeypatch.setattr(proposers, "fit_surrogate", lambda *arguments: Chains())
    chain = ("chain", *[("line", "conv", "conv")] * 3)
    for pending, macro in (([], "chain"), ([chain], "ladder")):
        term = proposer("bayes").propose(space(), scored(0, 12), pending, np.random.default_rng(0))
        assert term[0] == macro


def test_hallucination_spreads_what_workers_try():
    """Of the real surrogate: improvement shrinks most near what is pending."""
    trials = scored(8, 20)
    surrogate = fit_surrogate(space(), trials)
    pending = space().levels(sample(np.random.default_rng(40)))
    _, before = surrogate.predict([pending])
    _, after = surrogate.hallucinate([pending]).predict([pending])
    assert after < 0.7 * before


@pytest.mark.parametrize("name", PROPOSERS)
def test_a_space_of_one_candidate_is_no_endless_loop(name):
    only = sample(np.random.default_rng(0))
    lonely = space().__class__(
        lambda rng: only, lambda c, rng: c, lambda a, b, rng: (a, b), space().levels, repr, eval
    )
    trials = [Trial(only, 1.0)] * 12
    assert proposer(name).propose(lonely, trials, [], np.random.default_rng(0)) == only


def test_evolution_mutates_the_best_of_those_alive():
    trials = run("random", 0, 20)
    child = proposer("evolution", tournament=8).propose(
        space(), trials, [], np.random.default_rng(0)
    )
    alive = min(trials[-8:], key=lambda t: t.score).candidate
    assert sum(a != b for a, b in zip(child, alive, strict=True)) == 1


def test_options_of_the_recipes_are_the_defaults():
    assert make_proposer("evolution").as_dict() == {
        "proposer": "evolution",
        "population": 30,
        "tournament": 10,
    }
    bayes = make_proposer("bayes").as_dict()
    assert (bayes["initial"], bayes["kernel"]) == (10, "hierarchical")
    assert bayes["evolution"]["pool"] == 200


def test_failed_trials_count_as_the_worst():
    trials = scored(5, 10)
    failed = Trial(sample(np.random.default_rng(99)), math.inf)
    surrogate = fit_surrogate(space(), [*trials, failed])
    target = surrogate.centre + surrogate.scale * surrogate.targets[-1]
    assert target == pytest.approx(max(t.score for t in trials))


def test_bayes_needs_fewer_trials_than_random_and_evolution():
    """To the best 0.09 % of 65 536 terms, ten seeds."""
    target, limit = 1.2, 100
    needed = {
        name: [trials_to(target, name, seed, limit) for seed in range(10)] for name in PROPOSERS
    }
    assert max(needed["bayes"]) < np.median(needed["random"])
    assert np.mean(needed["bayes"]) < np.mean(needed["evolution"])


def test_unknown_names_and_options_say_what_there_is():
    with pytest.raises(ValueError, match="choose one of random, evolution, bayes"):
        make_proposer("grid")
    with pytest.raises(ValueError, match="it has population, tournament"):
        make_proposer("evolution", size=3)
    with pytest.raises(ValueError, match="tournament=10 must be from 1 to population=5"):
        make_proposer("evolution", population=5)
    with pytest.raises(ValueError, match="kernel='deep'"):
        make_proposer("bayes", kernel="deep")
    with pytest.raises(ValueError, match="initial=0"):
        make_proposer("bayes", initial=0)
