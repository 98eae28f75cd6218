"""The ready spaces: what is in them; that they build is tested with the networks."""

import math

import pytest

from sciops.grammars.counting import size
from sciops.grammars.derivation import derive
from sciops.grammars.listing import all_terms
from sciops.grammars.ready import NAMES, ready_space
from sciops.grammars.term import parse_term


def test_sizes():
    assert size(ready_space("digits").grammar) == 800
    assert size(ready_space("digits").grammar, distinct=True) == 800
    assert len(list(all_terms(ready_space("digits").grammar))) == 800
    assert size(ready_space("digits-cells").grammar, distinct=True) == 640
    assert size(ready_space("digits-stages").grammar, distinct=True) == 288
    fields = ready_space("fields").grammar
    assert 15 < math.log10(size(fields, distinct=True, connected=True)) < 16
    assert size(ready_space("nasbench201-cell").grammar, connected=True) == 15_284


@pytest.mark.parametrize(("n_axes", "wave"), [(1, "fourier16"), (2, "fourier12"), (3, "fourier6")])
def test_fno_is_a_network_for_fields(n_axes, wave):
    grammar = ready_space("fields", n_axes).grammar
    blocks = [f"Block({wave}, pointwise, id, {act})" for act in ("gelu", "gelu", "gelu", "id")]
    lift = "lift12" if n_axes == 3 else "lift16"
    fno = parse_term(f"Linear2({lift}, Linear4({', '.join(blocks)}))")
    assert derive(grammar, fno) is not None
    assert derive(grammar, parse_term(str(fno).replace("fourier", "xd"))) is not None


def test_unknown_spaces():
    with pytest.raises(ValueError, match=f"no space 'cells'; there are {', '.join(NAMES)}"):
        ready_space("cells")
    with pytest.raises(ValueError, match="1, 2 and 3 axes"):
        ready_space("fields", 4)
    with pytest.raises(ValueError, match="ResNet-20"):
        ready_space("activations", 1)
