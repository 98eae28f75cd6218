"""A protein refuses features that do not fit its residues."""

from dataclasses import replace

import numpy as np
import pytest

from tests.proteins.toy import walk


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (
            dict(profiles={"p": np.zeros((4, 2))}),
            r"'p' of 'toy' has the shape \(4, 2\)",
        ),
        (dict(profiles={"p": np.zeros(5)}), r"must be \(L, channels\)"),
        (dict(maps={"m": np.zeros((5, 4))}), r"'m' of 'toy' has the shape \(5, 4\).*\(L, L\)"),
        (dict(distance=np.zeros((4, 4))), r"'distance' of 'toy'.*\(L, L\)"),
    ],
)
def test_shapes(changes, message):
    protein = walk(5)
    assert len(protein) == 5
    with pytest.raises(ValueError, match=message):
        replace(protein, **changes)
