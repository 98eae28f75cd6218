"""The shape of a chain: ideal helices and strands, loops between them, side chains.

Positions are those of the Cα atoms in Å, (residues, 3), 3.8 Å from one to the next.
"""

import math
from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from .chain_layout import HELIX, SPACING, STRAND, Element

BOND = 3.8
RISE = {HELIX: 1.5, STRAND: 3.3}  # along the axis, a residue
HELIX_RADIUS, HELIX_TURN = 2.3, math.radians(100)  # a residue
PLEAT = 0.9  # residues of a strand lie so far in front of and behind its sheet, in turn
TWIST = (8.0, 18.0)  # degrees between neighbours in a sheet, from and to
TILT, JITTER = 0.12, 0.3  # deviations of the elements of a fold: radians, Å
SPAN = 3.0  # Å that a residue of a loop bridges
ROUGHNESS = 0.7  # Å, of the loops at first
OUTWARD, SIDEWAYS = 1.22, -0.92  # of Cβ from Cα, in Å; means of X-ray structures, made 1.53 Å long


def helix(length: int, phase: float = 0.0) -> np.ndarray:
    """A right-handed α helix up the y axis, centred: d(i, i+1) = 3.8 Å, d(i, i+3) = 5.1 Å.

    >>> x = helix(6)
    >>> np.linalg.norm(x - x[0], axis=1).round(1).tolist()
    [0.0, 3.8, 5.4, 5.1, 6.2, 8.7]
    """
    steps = np.arange(length) - (length - 1) / 2
    angle = HELIX_TURN * steps + phase
    sine, cosine = HELIX_RADIUS * np.sin(angle), HELIX_RADIUS * np.cos(angle)
    return np.stack([sine, RISE[HELIX] * steps, cosine], axis=1)


def strand(rungs: np.ndarray) -> np.ndarray:
    """A pleated strand in the plane z = 0 with residues at these rungs of the ladder along y.

    >>> x = strand(np.arange(5))
    >>> np.linalg.norm(x - x[0], axis=1).round(1).tolist()
    [0.0, 3.8, 6.6, 10.1, 13.2]
    """
    return np.stack([0.0 * rungs, RISE[STRAND] * rungs, PLEAT * (-1.0) ** rungs], axis=1)


def assemble(elements: Sequence[Element], rng: np.random.Generator) -> list[np.ndarray]:
    """The residues of each element where the layout has it, twisted and a little out of place.

    Neighbours in a sheet are turned against each other, and all layers with them: at x by an angle
    proportional to x about the axis x.
    """
    twist = -math.radians(rng.uniform(*TWIST)) / SPACING[STRAND]
    return [_twisted(_placed(element, rng), twist) for element in elements]


def _placed(element: Element, rng: np.random.Generator) -> np.ndarray:
    if element.kind == STRAND:
        x = strand(element.rungs())
    else:
        x = helix(element.length, phase=rng.uniform(0, 2 * math.pi))
        x = x * [element.direction, element.direction, 1]  # half a turn about z
        x[:, 1] += RISE[STRAND] * element.shift
    slope, jitter = rng.normal(0, TILT, 2), rng.normal(0, JITTER, 3)
    x[:, [0, 2]] += slope * x[:, [1]]
    return x + np.array([element.x, 0, element.z]) + jitter


def _twisted(x: np.ndarray, twist: float) -> np.ndarray:
    cosine, sine = np.cos(twist * x[:, 0]), np.sin(twist * x[:, 0])
    y, z = x[:, 1], x[:, 2]
    return np.stack([x[:, 0], cosine * y - sine * z, sine * y + cosine * z], axis=1)


def shortest_loops(pieces: Sequence[np.ndarray]) -> np.ndarray:
    """How many residues at least are before, between and after pieces of a chain."""
    gaps = [np.linalg.norm(after[0] - before[-1]) for before, after in pairwise(pieces)]
    return np.array([1, *(max(2, math.ceil(gap / SPAN) - 1) for gap in gaps), 1])


def connect(
    pieces: Sequence[np.ndarray], loops: Sequence[int], rng: np.random.Generator
) -> np.ndarray:
    """The chain of the pieces and loops of so many residues before, between and after them.

    A loop is a rough arch that goes on in the direction in which the piece before it ends.
    """
    first, last = pieces[0], pieces[-1]
    chain = [_arch(first[::-1], None, loops[0], rng)[::-1]]
    for (before, after), count in zip(pairwise(pieces), loops[1:-1], strict=True):
        chain += [before, _arch(before, after[0], count, rng)]
    return np.concatenate([*chain, last, _arch(last, None, loops[-1], rng)])


def _arch(
    piece: np.ndarray, end: np.ndarray | None, count: int, rng: np.random.Generator
) -> np.ndarray:
    """`count` residues from the last one of a piece to `end`, or straight on if there is none."""
    ahead = piece[-1] - piece[0]
    ahead /= np.linalg.norm(ahead)
    along = np.arange(1, count + 1)[:, None] / (count + 1)
    reach, rise = SPAN * (count + 1), 0.0
    if end is None:
        end = piece[-1] + reach * ahead
    else:
        rise = math.sqrt(max(reach**2 - np.sum((end - piece[-1]) ** 2), 0)) / 2
    arch = piece[-1] + along * (end - piece[-1]) + rise * np.sin(math.pi * along) * ahead
    return arch + rng.normal(0, ROUGHNESS, arch.shape)


def side_chains(x: np.ndarray) -> np.ndarray:
    """Cβ of every residue, from its Cα and its neighbours': (residues, 3).

        Cβ = Cα + 1.22 Å · u − 0.92 Å · v,    u ∝ (Cα − Cα₋) − (Cα₊ − Cα),
                                              v ∝ (Cα − Cα₋) × (Cα₊ − Cα)

    with unit vectors u (away from both neighbours) and v.  The ends do as their neighbours do.
    """
    before, after = x[1:-1] - x[:-2], x[2:] - x[1:-1]
    offset = OUTWARD * _unit(before - after) + SIDEWAYS * _unit(np.cross(before, after))
    return x + offset[[0, *range(len(offset)), -1]]


def pull_back(x: np.ndarray, gradient: np.ndarray) -> np.ndarray:
    """Jᵀ g of `side_chains`: how a function of Cβ with this gradient changes with the Cα x."""
    before, after = x[1:-1] - x[:-2], x[2:] - x[1:-1]
    on_offset = gradient[1:-1].copy()
    on_offset[0] += gradient[0]
    on_offset[-1] += gradient[-1]
    on_u = OUTWARD * _unit_pulled_back(before - after, on_offset)
    on_v = SIDEWAYS * _unit_pulled_back(np.cross(before, after), on_offset)
    on_before = on_u + np.cross(after, on_v)
    on_after = np.cross(on_v, before) - on_u
    result = gradient.copy()
    result[:-2] -= on_before
    result[1:-1] += on_before - on_after
    result[2:] += on_after
    return result


def _unit(v: np.ndarray) -> np.ndarray:
    return v / np.linalg.norm(v, axis=-1, keepdims=True)


def _unit_pulled_back(v: np.ndarray, gradient: np.ndarray) -> np.ndarray:
    """The same for v / |v|: the part of the gradient across v, over |v|."""
    size = np.linalg.norm(v, axis=-1, keepdims=True)
    unit = v / size
    return (gradient - unit * (unit * gradient).sum(-1, keepdims=True)) / size
