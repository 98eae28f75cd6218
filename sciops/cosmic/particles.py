"""Charged particles in a detector: tracks, worms and spots.

A detector is a slab of silicon, `thickness` pixels thick.  Lengths are in pixels, charges in
electrons.

    tracks  Fast protons and muons cross the slab on a straight line.  Through a plane under an
            isotropic flux they come with p(μ) = 2μ, μ = cos θ (n = 1; of muons on the ground, whose
            flux falls as cos² θ, p(μ) ∝ μ³, n = 3), so that

                path = thickness / μ,      seen length = thickness · √(1/μ² − 1)

            The charge is density · path · e^N(0, s²) · (0.8 + 0.25 ℳ), the bracket ≥ 0.4: slow
            particles lose more, by a lognormal factor, and ℳ is Moyal's distribution, that of
            −log N(0, 1)², which is nearly Landau's.
    worms   Electrons are scattered all the time: each step turns the direction by a normal angle.
            They lose more and more on their way, and stop: the charge of a step grows as
            1/√(steps left).
    spots   X-rays, and particles along the line of sight: one place, any charge.

Charge spreads on its way to the pixels, by σ(z) = diffusion · √z where it was freed z of the slab
away from them: oblique tracks in a thick slab begin narrow and end wide.

Particles come from around the stamp too, as many in each area as within it.
"""

from dataclasses import dataclass

import numpy as np

from .scene import log_uniform
from .spots import spots_image

STEP = 0.25  # pixels between the places where charge is freed
LONGEST = 200.0  # pixels
TURN = 0.22  # radian, deviation of the turn of a worm in a step
LEAST_SPREAD = 0.1  # pixels


@dataclass(frozen=True)
class Detector:
    """The slab, and what comes through it.

    thickness, diffusion: pixels
    density: electrons of a fast particle in a pixel's length of silicon
    spread:  s, of the loss of slow particles
    steep:   n, of p(μ) ∝ μⁿ
    rate:    particles in 1024² pixels in the mean exposure
    shares:  of tracks, worms and spots among them
    worm:    lengths of worms, log-uniform, pixels
    """

    thickness: float
    diffusion: float
    density: float
    spread: float
    steep: int
    rate: float
    shares: tuple[float, float, float]
    worm: tuple[float, float]


DETECTORS = {
    "thin": Detector(0.55, 0.22, 1500.0, 0.6, 1, 580.0, (0.88, 0.06, 0.06), (2.0, 12.0)),
    "thick": Detector(12.0, 0.45, 1200.0, 0.3, 3, 150.0, (0.4, 0.45, 0.15), (5.0, 60.0)),
}


def cosmic_charge(
    size: int, detector: Detector, exposure: float, rng: np.random.Generator
) -> np.ndarray:
    """Electrons that particles free in each pixel, (size, size); exposure: 1 is the mean."""
    margin = 4 + round(4 * detector.thickness)
    expected = detector.rate * exposure * (size + 2 * margin) ** 2 / 1024**2
    kinds = rng.choice(3, rng.poisson(expected), p=detector.shares)
    made = [PARTICLES[kind](detector, rng) for kind in kinds]
    if not made:
        return np.zeros((size, size))
    starts = rng.uniform(-margin - 0.5, size + margin - 0.5, (len(made), 2))
    parts = [(y + a, x + b, q, s) for (y, x, q, s), (a, b) in zip(made, starts, strict=True)]
    y, x, charge, spread = (np.concatenate(column) for column in zip(*parts, strict=True))
    near = (np.abs(np.stack([y, x]) - size / 2) < size / 2 + 4).all(0)
    return spots_image(y[near], x[near], charge[near], spread[near], size)


Deposits = tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]  # y, x, charge, spread: (steps,)


def track(detector: Detector, rng: np.random.Generator) -> Deposits:
    """A straight line through the slab, from (0, 0) on."""
    mu = (1 - rng.uniform()) ** (1 / (detector.steep + 1))  # never 0
    seen = min(detector.thickness * np.sqrt(1 / mu**2 - 1), LONGEST)
    path = np.hypot(seen, detector.thickness)
    moyal = 0.8 - 0.25 * np.log(rng.normal() ** 2)
    slow = np.exp(detector.spread * rng.normal())
    charge = detector.density * path * slow * max(moyal, 0.4)
    steps = 2 + int(seen / STEP)
    depth = (np.arange(steps) + 0.5) / steps
    angle = rng.uniform(0, 2 * np.pi)
    uneven = rng.gamma(4, size=steps)  # of the loss from step to step
    places = seen * depth
    deposits = charge * uneven / uneven.sum()
    return (np.sin(angle) * places, np.cos(angle) * places, deposits, _spread(detector, depth))


def worm(detector: Detector, rng: np.random.Generator) -> Deposits:
    """The path of an electron that is scattered all the way, from (0, 0) on."""
    length = log_uniform(*detector.worm, rng)
    steps = 2 + int(length / STEP)
    angle = rng.uniform(0, 2 * np.pi) + np.cumsum(rng.normal(0, TURN, steps))
    places = STEP * np.cumsum(np.stack([np.sin(angle), np.cos(angle)]), axis=1)
    depth = rng.uniform() + 0.5 * np.linspace(-1, 1, steps) * rng.uniform(-1, 1)
    loss = rng.gamma(4, size=steps) / np.sqrt(np.arange(steps, 0, -1))
    charge = detector.density * length * rng.uniform(0.5, 1.5)
    return (*places, charge * loss / loss.sum(), _spread(detector, depth))


def spot(detector: Detector, rng: np.random.Generator) -> Deposits:
    """Charge in one place."""
    charge = detector.density * log_uniform(0.2, 5.0, rng, 1)
    return np.zeros(1), np.zeros(1), charge, _spread(detector, rng.uniform(size=1))


PARTICLES = (track, worm, spot)


def _spread(detector: Detector, depth: np.ndarray) -> np.ndarray:
    return LEAST_SPREAD + detector.diffusion * np.sqrt(np.clip(depth, 0, 1))
