"""What levels explain, scores of which a level decides, and differences of the same seeds."""

import numpy as np
import pandas as pd
import pytest

from benchmarks.grammar_levels import constructed, explained, paired
from sciops.grammars import all_terms, ready_space
from sciops.searching.term_candidates import TermCandidates
from sciops.studies.calibration import rank_correlation
from sciops.studies.candidates import KERNELS, Trial

SPACE = TermCandidates(ready_space("digits-cells").grammar).space()
TERMS = list(all_terms(ready_space("digits-cells").grammar))
LEVELS = [SPACE.levels(term) for term in TERMS]


@pytest.mark.parametrize("share", [0.0, 0.3, 1.0])
def test_level_one_explains_its_share(share):
    rng = np.random.default_rng(0)
    graphs = [levels[1] for levels in LEVELS]
    found = [explained(graphs, constructed(LEVELS, share, rng)) for _ in range(20)]
    assert np.mean(found) == pytest.approx(share, abs=0.1)


def test_share_is_one_less_the_ratio_of_variances():
    """Against sums over graphs, one by one; random groups explain nothing."""
    scores = np.random.default_rng(1).normal(size=len(LEVELS))
    graphs = [levels[2] for levels in LEVELS]
    groups = [scores[[g == graph for g in graphs]] for graph in set(graphs)]
    within = sum(((group - group.mean()) ** 2).sum() for group in groups)
    expected = 1 - within / (len(scores) - len(groups)) / scores.var(ddof=1)
    assert explained(graphs, scores) == pytest.approx(expected)
    assert abs(expected) < 0.05


def test_levels_rank_better_where_a_level_decides():
    """A quarter of the variance is enough, on the terms of a real grammar."""
    differences = []
    for seed in range(4):
        rng = np.random.default_rng(seed)
        scores = constructed(LEVELS, 0.25, rng)
        trials = [Trial(TERMS[i], scores[i]) for i in rng.permutation(len(TERMS))]
        tau = {k: rank_correlation(SPACE, trials[:50], trials[50:150], k) for k in KERNELS}
        differences.append(tau["hierarchical"] - tau["flat"])
    assert min(differences) > 0.05


def test_differences_are_those_of_the_same_seeds():
    arms = [("tau", "hierarchical, 5 terms"), ("tau", "flat, 5 terms")]
    arms += [("strategies", "bayes"), ("strategies", "bayes, flat kernel")]
    values = dict(zip(arms, [(0.5, 0.9), (0.4, 0.6), (10, 30), (20, 30)], strict=True))
    rows = pd.DataFrame(
        [
            dict(group=group, space="toy", arm=arm, epochs="1", seed=str(seed), tau=v, trials=v)
            for (group, arm), both in values.items()
            for seed, v in enumerate(both)
        ]
    )
    found = paired(rows).set_index("what")["difference"]
    assert found.to_dict() == {"τ, 5 terms": "+0.200 ± 0.100", "trials": "-5.000 ± 5.000"}
