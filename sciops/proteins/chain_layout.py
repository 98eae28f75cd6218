"""Where the helices and strands of a made-up protein lie: the layers of its fold.

Small proteins are built in layers: sheets, whose strands lie side by side, and helices in front of
and behind them, all more or less along one direction (here y), with 10 Å between layers.  Elements
that follow each other along the chain run up and down in turn.  So two strands with nothing between
them can pair antiparallel, and two with a helix between them parallel.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

HELIX, STRAND, LOOP = "H", "E", "C"
LENGTHS = {HELIX: (9, 20), STRAND: (5, 10)}  # residues: from, and up to but without
SPACING = {HELIX: 9.6, STRAND: 4.8}  # Å between neighbours in a layer
BETWEEN_LAYERS = 10.0  # Å
USUAL_LOOP = 4  # residues
STAY = {HELIX: 1.0, STRAND: 6.0}  # how much rather the next one is put into the same layer


@dataclass(frozen=True)
class Fold:
    """A kind of protein, by what follows what along its chain."""

    share: float  # of all proteins
    strand_after_helix: float  # probability
    strand_after_strand: float
    sheets: int


FOLDS = (
    Fold(0.20, strand_after_helix=0.00, strand_after_strand=0.00, sheets=0),  # bundles of helices
    Fold(0.25, strand_after_helix=1.00, strand_after_strand=0.97, sheets=2),  # β sandwiches
    Fold(0.25, strand_after_helix=0.95, strand_after_strand=0.08, sheets=1),  # α/β, parallel sheets
    Fold(0.30, strand_after_helix=0.80, strand_after_strand=0.60, sheets=1),  # α + β
)


@dataclass(frozen=True)
class Element:
    """A helix or strand along y at (x, z); it runs up (1) or down (−1), `shift` rungs off centre.

    Rungs are the heights of the residues of strands, the same for all, so that neighbours face.
    """

    kind: str
    length: int
    direction: int
    shift: int
    x: float
    z: float

    def rungs(self) -> np.ndarray:
        """The heights of its residues as if it were a strand, in the order of the chain."""
        rising = np.arange(self.length) - self.length // 2 + self.shift
        return rising[:: self.direction]


def lay_out(residues: int, rng: np.random.Generator) -> list[Element]:
    """Elements of a random fold for about so many residues, in the order of the chain."""
    fold = FOLDS[rng.choice(len(FOLDS), p=[fold.share for fold in FOLDS])]
    kinds, lengths = zip(*_elements(fold, residues, rng), strict=True)
    directions = [(-1) ** i for i in range(len(kinds))]
    places = _places(kinds, directions, fold.sheets, rng)
    shifts = rng.integers(-1, 2, len(kinds)).tolist()
    return [
        Element(kinds[i], lengths[i], directions[i], shifts[i], *places[i])
        for i in range(len(kinds))
    ]


def side_by_side(elements: Sequence[Element]) -> list[tuple[int, int]]:
    """Strands that are neighbours in a sheet, as pairs of positions in `elements`."""
    strands = [i for i, element in enumerate(elements) if element.kind == STRAND]
    return [
        (i, j)
        for i in strands
        for j in strands
        if elements[i].z == elements[j].z
        and math.isclose(elements[j].x - elements[i].x, SPACING[STRAND])
    ]


def _elements(fold: Fold, residues: int, rng: np.random.Generator) -> Iterator[tuple[str, int]]:
    """Kinds and lengths, one at least, until the next would not fit."""
    kind = STRAND if rng.random() < fold.strand_after_helix else HELIX
    used = USUAL_LOOP
    while True:
        length = int(rng.integers(*LENGTHS[kind]))
        yield kind, length
        another = fold.strand_after_strand if kind == STRAND else fold.strand_after_helix
        kind = STRAND if rng.random() < another else HELIX
        used += length + USUAL_LOOP
        if used + np.mean(LENGTHS[kind]) + USUAL_LOOP > residues:
            return


def _places(
    kinds: Sequence[str], directions: Sequence[int], sheets: int, rng: np.random.Generator
) -> dict[int, tuple[float, float]]:
    """(x, z) of every element: strands, if there are any, in the middle and helices around them."""
    core = STRAND if STRAND in kinds else HELIX
    members = [i for i, kind in enumerate(kinds) if kind == core]
    count = sheets if core == STRAND else round(math.sqrt(len(members)))
    outermost = BETWEEN_LAYERS * (count - 1) / 2
    places = {}
    layers = _core_layers(members, count, STAY[core], rng)
    for layer, z in zip(layers, np.linspace(-outermost, outermost, count), strict=True):
        places |= _row(layer, SPACING[core], 0.0, float(z))
    helices = [i for i in range(len(kinds)) if i not in places]
    wanted = {i: _beside_strands(i, places, directions, rng) for i in helices}
    for side in (-1, 1):
        layer = sorted((i for i in helices if wanted[i][1] == side), key=lambda i: wanted[i][0])
        middle = float(np.mean([wanted[i][0] for i in layer])) if layer else 0.0
        places |= _row(layer, SPACING[HELIX], middle, side * (outermost + BETWEEN_LAYERS))
    return places


def _core_layers(
    members: Sequence[int], count: int, stay: float, rng: np.random.Generator
) -> list[list[int]]:
    """The members in layers, each from left to right, in an order as proteins have it.

    The next one is put into a layer with few members, or where the previous one is; there at an
    edge, or less often between two others, rather near the previous one.
    """
    layers: list[list[int]] = [[] for _ in range(count)]
    previous = None
    for member in members:
        weight = np.array([math.exp(-len(layer)) for layer in layers])
        weight *= [stay if previous in layer else 1.0 for layer in layers]
        layer = layers[rng.choice(count, p=weight / weight.sum())]
        near = layer.index(previous) + 0.5 if previous in layer else len(layer) / 2
        weight = np.exp(-np.abs(np.arange(len(layer) + 1) - near) / 1.5)
        weight[1:-1] *= 0.15
        layer.insert(rng.choice(len(weight), p=weight / weight.sum()), member)
        previous = member
    return layers


def _row(
    layer: Sequence[int], spacing: float, middle: float, z: float
) -> dict[int, tuple[float, float]]:
    first = middle - spacing * (len(layer) - 1) / 2
    return {member: (first + spacing * rank, z) for rank, member in enumerate(layer)}


def _beside_strands(
    helix: int,
    strands: Mapping[int, tuple[float, float]],
    directions: Sequence[int],
    rng: np.random.Generator,
) -> tuple[float, int]:
    """x and side (−1 or 1) of a helix, from the strands before and after it.

    A strand, a helix and the next strand make a turn of a right-handed screw, in nearly all
    proteins.
    """
    before = max((i for i in strands if i < helix), default=None)
    after = min((i for i in strands if i > helix), default=None)
    ends = [strands[i][0] for i in (before, after) if i is not None]
    side = int(rng.choice([-1, 1]))
    if len(ends) == 2 and after - before == 2 and ends[0] != ends[1]:
        side = directions[before] * (1 if ends[1] > ends[0] else -1)
    return float(np.mean(ends)), side
