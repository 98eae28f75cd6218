"""Which points of a grid are kept, so that the rest is a grid of the same domain."""

from typing import NamedTuple

import numpy as np


class Thinning(NamedTuple):
    """Which points of x and y are kept: every k-th, or so many that `resolution` are left."""

    subsample: int | None = None
    resolution: int | None = None

    def stride(self, dim: str, n: int, end: int, any_divisor: bool) -> int:
        """k, for n points of which the last closes the grid if end = 1."""
        if self.subsample is not None and self.resolution is not None:
            raise ValueError("subsample and resolution say the same thing; give one of them")
        steps = n - end
        fit = [k for k in range(1, steps + 1) if steps % k == 0 and steps // k > 1]
        if not fit:
            raise ValueError(f"{dim!r} has {n} points; a grid needs at least {2 + end}")
        if self.resolution is not None:
            for k in fit:
                if steps // k + end == self.resolution:
                    return k
            raise ValueError(
                f"resolution={self.resolution!r} is not to be had from the {n} points of {dim!r}; "
                f"there are {[steps // k + end for k in fit]}"
            )
        k = 1 if self.subsample is None else self.subsample
        if not isinstance(k, int | np.integer) or k < 1:
            raise ValueError(f"subsample={k!r} should be a whole number of at least 1")
        if k not in fit and not any_divisor:
            raise ValueError(f"subsample={k} should divide the {steps} steps of {dim!r}: {fit}")
        return int(k)
