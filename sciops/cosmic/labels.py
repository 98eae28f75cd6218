"""Which pixels were hit: by comparison, the same rule for real frames and for simulated ones.

    cosmic ray   where   c > 5 · √(noise² + noise_other²)

c is what a pixel has more than it should, noise its deviation, and noise_other that of what it is
compared with.  A real frame is compared with another one of the same field, with the median of the
difference taken out; in a simulation c is known.
"""

import numpy as np

SIGMAS = 5.0


def is_hit(excess: np.ndarray, noise: np.ndarray, noise_other: np.ndarray) -> np.ndarray:
    """Where the excess stands out of both noises together, bool.

    >>> is_hit(np.array([24.0, 26.0]), 3.0, 4.0)
    array([False,  True])
    """
    return excess > SIGMAS * np.hypot(noise, noise_other)


def sky_level(values: np.ndarray, rounds: int = 5) -> float:
    """The median of what is left when stars and cosmic rays are left out: 3σ off, again and again.

    >>> sky_level(np.r_[np.arange(19, 30), 500, 9000])
    24.0
    """
    values = np.ravel(values)
    for _ in range(rounds):
        middle = np.median(values)
        deviation = 1.4826 * np.median(np.abs(values - middle))
        kept = values[np.abs(values - middle) <= 3 * deviation]
        if len(kept) == len(values):
            break
        values = kept
    return float(np.median(values))
