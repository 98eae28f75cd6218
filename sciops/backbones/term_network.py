"""Networks of terms: the frame around what a grammar has made.

    fields        positions beside the input; the term, which begins with a lift; two pointwise
                  layers as in FNO, or for classes the mean over all points and a linear layer
    images        NAS-Bench-201: convolution and norm to 16 channels; the term; norm, ReLU, the mean
                  over all points and a linear layer, or for fields two pointwise layers
    activations   ResNet-20, the term being its activation function

An answer at each point has the grid of the input, also if the term halves it.
"""

from collections.abc import Callable, Mapping, Sequence

import torch
from torch import Tensor, nn

from sciops.grammars.motifs import expanded
from sciops.grammars.term import Term, parse_term
from sciops.grammars.topology import TOPOLOGIES, Topology
from sciops.operators.boundaries import SameConvolution, batch_norm
from sciops.task import Task

from .classifiers import Standardized
from .fno_cnn import CONVOLUTIONS
from .heads import FieldHead, GlobalHead, refined
from .normalized import Normalized
from .positions import position_channels, positions, unit_points
from .resnet_cifar import CifarResNet
from .term_activations import ActivationFunction
from .term_modules import Signal, build_term
from .term_primitives import periodic_axes

TERM = "term"  # as an op or backbone: the network that the option `term` spells
TERM_OPTIONS = ("term", "frame", "topologies", "hidden", "depth")
STEM_WIDTH = 16
MAX_HEADS = 2048  # of a network; the largest of nasbench201-hierarchical has 1323


class FieldTerm(nn.Module):
    """(batch, in_channels, *n) -> (batch, out_channels, *n), or (batch, classes).

    hidden: channels between the two pointwise layers behind the term
    """

    def __init__(
        self, task: Task, term: Term, topologies: Mapping[str, Topology], *, hidden: int = 64
    ):
        super().__init__()
        self.task, self.periodic = task, periodic_axes(task)
        channels = task.in_channels + position_channels(task)
        self.body, width, halvings, _ = build_term(term, channels, task, topologies)
        self.factor = 2**halvings
        pointwise = CONVOLUTIONS[len(task.axes) - 1]
        if task.classes:
            self.project = GlobalHead([width], task.out_channels)
        else:
            self.project = nn.Sequential(
                pointwise(width, hidden, 1), nn.GELU(), pointwise(hidden, task.out_channels, 1)
            )

    def forward(self, x: Tensor, coords: tuple[Tensor, ...] | None = None) -> Tensor:
        """coords: points of each axis in units of its length; None: a uniform grid"""
        size = tuple(x.shape[2:])
        points = unit_points(self.task, size) if coords is None else coords
        where = positions(self.task, points, x).expand(len(x), *[-1] * (x.ndim - 1))
        h = self.body(Signal(torch.cat([x, where], 1), coords)).features
        if self.task.classes:
            return self.project([h], size)
        return self.project(refined(h, self.factor, size, self.periodic))


class ImageTerm(nn.Module):
    """(batch, in_channels, *n) -> (batch, classes), or (batch, out_channels, *n)."""

    def __init__(self, task: Task, term: Term, topologies: Mapping[str, Topology]):
        super().__init__()
        periodic, n_axes = periodic_axes(task), len(task.axes)
        self.stem = nn.Sequential(
            SameConvolution(task.in_channels, STEM_WIDTH, 3, periodic=periodic),
            batch_norm(STEM_WIDTH, n_axes, affine=True),
        )
        self.body, width, halvings, _ = build_term(term, STEM_WIDTH, task, topologies)
        self.norm = nn.Sequential(batch_norm(width, n_axes, affine=True), nn.ReLU())
        if task.classes:
            self.head = GlobalHead([width], task.out_channels)
        else:
            self.head = FieldHead([width], [2**halvings], width, task.out_channels, periodic)

    def forward(self, x: Tensor, coords: tuple[Tensor, ...] | None = None) -> Tensor:
        h = self.body(Signal(self.stem(x), coords)).features
        return self.head([self.norm(h)], tuple(x.shape[2:]))


def _activation_network(
    task: Task, term: Term, topologies: Mapping[str, Topology], *, depth: int = 20
) -> nn.Module:
    return CifarResNet(task, depth=depth, activation=lambda: ActivationFunction(term))


FRAMES: dict[str, Callable[..., nn.Module]] = {
    "fields": FieldTerm,
    "images": ImageTerm,
    "activations": _activation_network,
}


def term_network(
    task: Task,
    term: Term | str = "",
    *,
    frame: str = "fields",
    topologies: Mapping[str, Topology | Sequence[Sequence[int]]] | None = None,
    **options,
) -> Normalized | Standardized:
    """The network of a term for a task, its inputs normalised, and its outputs if they are fields.

    topologies: those that a grammar defines, beside the usual ones, or their edges as JSON has them
    options:    hidden= of fields, depth= of activations
    """
    if not term:
        raise ValueError("op='term' needs a term, such as term='Linear2(lift16, conv3)'")
    if frame not in FRAMES:
        raise ValueError(f"there is no frame {frame!r}; there are {', '.join(FRAMES)}")
    term = parse_term(term) if isinstance(term, str) else term
    _check_size(term)
    known = {**TOPOLOGIES, **{n: _topology(t) for n, t in (topologies or {}).items()}}
    try:
        network = FRAMES[frame](task, term, known, **options)
    except TypeError as error:
        raise ValueError(f"frame={frame!r} does not take these options: {error}") from None
    if task.classes:
        return Standardized(network, task.in_channels)
    return Normalized(network, task.in_channels, task.out_channels)


def _check_size(term: Term) -> None:
    """Before layers are made, which takes a millisecond each."""
    size = term.size if term.size > MAX_HEADS else expanded(term).size
    if size > MAX_HEADS:
        raise ValueError(
            f"the network of a term of {size} heads; {MAX_HEADS} are allowed: make it smaller"
        )


def _topology(edges: Topology | Sequence[Sequence[int]]) -> Topology:
    return edges if isinstance(edges, Topology) else Topology(tuple(map(tuple, edges)))
