"""Attention guidance: a student looks where a trained teacher looks (eq. 6 of the paper).

    L = ½ Σⱼ ‖ s_j/‖s_j‖ − t_j/‖t_j‖ ‖₂          s_j, t_j = Σ_c |F_j(·, c)|²  as a vector of points

over the stages j of student and teacher (Zagoruyko & Komodakis 2017, arXiv:1612.03928), the mean of
a batch.  The norm is not squared.  A search adds λ L to the loss of the weights and to that of the
architecture; the derived network is trained without.

Where the teacher's stage has another number of points, its map is averaged over the student's.
"""

from collections.abc import Sequence

import torch
import torch.nn.functional as F
from torch import Tensor

from sciops.backbones.staged import AbstractStaged

GUIDANCE_WEIGHT = 1e3  # λ
ADAPTIVE = (F.adaptive_avg_pool1d, F.adaptive_avg_pool2d, F.adaptive_avg_pool3d)


def attention_map(features: Tensor, size: tuple[int, ...] | None = None) -> Tensor:
    """Σ_c |F(·, c)|² of length 1: (batch, channels, *n) -> (batch, points), on `size` points."""
    energy = features.square().sum(1)
    if size is not None and size != tuple(energy.shape[1:]):
        energy = ADAPTIVE[len(size) - 1](energy[:, None], size)
    return F.normalize(energy.flatten(1), dim=1)


def attention_transfer(student: Sequence[Tensor], teacher: Sequence[Tensor]) -> Tensor:
    """L of the features of their stages."""
    if len(student) != len(teacher):
        raise ValueError(
            f"the student has {len(student)} stages, the teacher {len(teacher)}; Tapped(model, "
            "layers) makes a teacher with as many as there are layers"
        )
    pairs = zip(student, teacher, strict=True)
    apart = [attention_map(s) - attention_map(t, tuple(s.shape[2:])) for s, t in pairs]
    return sum(torch.linalg.vector_norm(a, dim=1).mean() for a in apart) / 2


def guided(student: AbstractStaged, teacher: AbstractStaged, x: Tensor) -> tuple[Tensor, Tensor]:
    """What the student answers, and L: both from one pass."""
    if teacher.training:
        raise ValueError("the teacher is in training mode and would go on changing; use .eval()")
    with torch.no_grad():
        shown = teacher.forward_stages(x)[1]
    answer, stages = student.forward_stages(x)
    return answer, attention_transfer(stages, shown)


def guidance_loss(student: AbstractStaged, teacher: AbstractStaged, x: Tensor) -> Tensor:
    """L of a batch."""
    return guided(student, teacher, x)[1]
