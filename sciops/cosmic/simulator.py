"""Simulated exposures, so that everything runs without a single file.

They are SYNTHETIC: no telescope took them.  A pixel holds, in electrons,

    image = Poisson(sky + stars and galaxies + hot pixels) + cosmic rays + N(0, read noise²)

cut off at the full well.  `sciops.cosmic.scene` makes the sky, `sciops.cosmic.particles` the cosmic
rays.  What is known about a pixel is kept beside it:

    mask     cosmic rays that stand out of the noise, by the rule of `sciops.cosmic.labels`, as if
             compared with an exposure that had none
    ignore   hot pixels, and saturated ones.  An observer knows both, from dark frames and from the
             full well; from one exposure nobody could tell a hot pixel from a small cosmic ray

Sky, crowding, seeing, exposure time and hot pixels differ from stamp to stamp.
"""

from collections.abc import Iterable

import numpy as np

from sciops.data.progress import progress_bar
from sciops.suggestions import did_you_mean

from .labels import is_hit
from .particles import DETECTORS, cosmic_charge
from .scene import log_uniform, sky_scene
from .stamps import Stamp

SIZE = 128  # pixels along each side
SMALLEST = 16
SKY = (8.0, 120.0)  # electrons a pixel, log-uniform
EXPOSURE = (0.5, 2.0)  # of the mean, log-uniform
READ_NOISE = 4.0  # electrons
FULL_WELL = 6e4  # electrons
HOT = (1e-4, 2e-3)  # share of hot pixels, log-uniform
HOT_CHARGE = (40.0, 4000.0)  # electrons, log-uniform


def generate_stamps(
    numbers: Iterable[int],
    *,
    seed: int = 0,
    size: int = SIZE,
    detector: str = "thin",
    progress: bool = True,
) -> list[Stamp]:
    """The simulated stamps with these numbers; splits are ranges of numbers."""
    numbers = list(numbers)
    stamps = []
    with progress_bar("simulated exposures", len(numbers), shown=progress) as count:
        for number in numbers:
            stamps.append(simulated_stamp(number, seed=seed, size=size, detector=detector))
            count(1)
    return stamps


def simulated_stamp(
    number: int, *, seed: int = 0, size: int = SIZE, detector: str = "thin"
) -> Stamp:
    """A stamp that is a function of its number, the seed, the size and the detector alone.

    detector: "thin", a slab like those of Hubble's CCDs, with short tracks, or "thick", like those
              of red-sensitive cameras on the ground, with long tracks and worms

    >>> stamp = simulated_stamp(3, size=32)
    >>> stamp.image.shape, stamp.field, int(stamp.mask.max())
    ((32, 32), 'synthetic-0-3', 1)
    """
    _check(number, seed, size, detector)
    rng = np.random.default_rng([seed, number])
    exposure, sky = log_uniform(*EXPOSURE, rng), log_uniform(*SKY, rng)
    hot = rng.uniform(size=(size, size)) < log_uniform(*HOT, rng)
    expected = sky + sky_scene(size, rng)
    expected[hot] += log_uniform(*HOT_CHARGE, rng, hot.sum())
    charge = cosmic_charge(size, DETECTORS[detector], exposure, rng)
    image = rng.poisson(expected) + charge + rng.normal(0, READ_NOISE, expected.shape)
    full = image >= FULL_WELL
    noise = np.sqrt(READ_NOISE**2 + expected)
    return Stamp(
        image=np.minimum(image, FULL_WELL).astype(np.float32),
        mask=is_hit(charge, np.sqrt(noise**2 + charge), noise).astype(np.uint8),
        ignore=(hot | full).astype(np.uint8),
        sky=float(sky),
        field=f"synthetic-{seed}-{number}",
    )


def _check(number: int, seed: int, size: int, detector: str) -> None:
    for name, value, least in (("number", number, 0), ("seed", seed, 0), ("size", size, SMALLEST)):
        whole = isinstance(value, int | np.integer) and not isinstance(value, bool)
        if not whole or value < least:
            raise ValueError(f"{name}={value!r} must be a whole number ≥ {least}")
    if detector not in DETECTORS:
        raise ValueError(
            f"detector={detector!r} is not known; there are {', '.join(DETECTORS)}"
            f"{did_you_mean(detector, DETECTORS)}"
        )
