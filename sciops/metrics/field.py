"""Errors of a predicted field p against a target y, one number per sample.

    relative L2    ‖p − y‖₂ / ‖y‖₂              sums over channels and points, unweighted
    relative H¹    ‖p − y‖_H¹ / ‖y‖_H¹          ‖u‖²_H¹ = ∫ u² + |∇u|² dx, summed over channels
    max error      max |p − y| / max |y|
    boundary       rms_∂Ω(p − y) / rms_∂Ω(y)    on the faces of the closed axes

Before anything is squared, p − y and y are divided by max |y| of the sample: a ratio does not
change, and fields of 1e-25 or 1e+25 neither underflow nor overflow in float32.  A target that is
exactly 0 has no scale; the error is then divided by √tiny of the dtype (1e-19 in float32) instead
of 0.  The score is huge, but finite for every sane prediction, and 0 if the prediction is 0 too.
Such samples are better left out, or judged by `max_absolute_error`.

float16 and bfloat16 are computed in float32.
"""

import math
from collections.abc import Sequence

import torch
from torch import Tensor

# a target this much smaller on the faces than in the whole domain counts as zero there
ZERO_ON_FACES = 1e-6


def relative_l2(prediction: Tensor, target: Tensor) -> Tensor:
    """‖p − y‖₂ / ‖y‖₂ over all channels and points of a sample, without quadrature weights.

    >>> y = torch.tensor([[[3.0, 4.0]], [[0.0, 2.0]]])
    >>> relative_l2(torch.zeros_like(y), y).tolist()
    [1.0, 1.0]
    >>> relative_l2(y + torch.tensor([0.0, 1.0]), y)
    tensor([0.2000, 0.5000])
    """
    error, target = error_and_target(prediction, target)
    return ratio(norm(error), norm(target))


def relative_h1(
    prediction: Tensor, target: Tensor, *, periodic: Sequence[bool], lengths: Sequence[float]
) -> Tensor:
    """‖p − y‖_H¹ / ‖y‖_H¹ with ‖u‖²_H¹ = ∫ u² + Σₐ (∂u/∂xₐ)² dx, summed over channels.

    On a periodic axis of n points and period P the gradient is spectral,

        ∫ (∂u/∂x)² dx = P Σₖ (2πk/P)² |ûₖ|²,       |k| ≤ n/2,

    exact for band-limited functions.  The Nyquist mode of an even n counts with its |k| like the
    others, although its derivative vanishes at the points: a sawtooth is a rough error.  On a
    closed axis the gradient is by second-order differences, one-sided at the ends (at least 3
    points), and the integral by the trapezoid rule.  u and ∇u have different units: `lengths` in
    other units give another norm.

    >>> x = torch.arange(64, dtype=torch.float64) / 64 * 2 * math.pi
    >>> y, p = torch.sin(x)[None, None], (torch.sin(x) + 0.1 * torch.sin(2 * x))[None, None]
    >>> expected = 0.1 * ((1 + 4) / (1 + 1)) ** 0.5
    >>> abs(float(relative_h1(p, y, periodic=(True,), lengths=(2 * math.pi,))) - expected) < 1e-12
    True
    """
    error, target = error_and_target(prediction, target)
    check_axes(target, periodic, lengths, least=3)
    return ratio(h1_norm(error, periodic, lengths), h1_norm(target, periodic, lengths))


def max_error(prediction: Tensor, target: Tensor) -> Tensor:
    """max |p − y| / max |y| over all channels and points of a sample.

    >>> max_error(torch.tensor([[[1.0, -3.0]]]), torch.tensor([[[1.0, -4.0]]])).tolist()
    [0.25]
    """
    error, target = error_and_target(prediction, target)
    return ratio(highest(error), highest(target))


def max_absolute_error(prediction: Tensor, target: Tensor) -> Tensor:
    """max |p − y| over all channels and points of a sample, in the units of the field.

    >>> max_absolute_error(torch.tensor([[[1.0, -3.0]]]), torch.tensor([[[1.0, -4.0]]])).tolist()
    [1.0]
    """
    prediction, target = matched(prediction, target)
    return highest(prediction - target)


def boundary_error(prediction: Tensor, target: Tensor, *, periodic: Sequence[bool]) -> Tensor:
    """rms(p − y) / rms(y) on the faces: the points at either end of a closed axis.

    Where the target is zero on the faces (rms below 1e-6 of that of the whole target, as with
    homogeneous Dirichlet conditions) the error is relative to the rms of the whole target.  Only
    the faces are looked at: NaN inside does not show here.  A fully periodic field has no boundary,
    which is a ValueError: leave this metric out.

    >>> y = torch.tensor([[[0.0, 2.0, 2.0, 0.0]]])  # rms √2
    >>> boundary_error(y + torch.tensor([0.1, 9.0, 9.0, 0.1]), y, periodic=(False,))
    tensor([0.0707])
    >>> boundary_error(1.1 * torch.ones(1, 1, 3), torch.ones(1, 1, 3), periodic=(False,))
    tensor([0.1000])
    """
    error, target = error_and_target(prediction, target)
    check_axes(target, periodic)
    if all(periodic):
        raise ValueError(
            "boundary_error needs an axis with ends, but all axes are periodic; leave it out"
        )
    faces = on_faces(target.shape[2:], periodic).to(target.device)
    there, everywhere = rms(target[..., faces]), rms(target)
    reference = torch.where(there > ZERO_ON_FACES * everywhere, there, everywhere)
    return ratio(rms(error[..., faces]), reference)


# --- parts ----------------------------------------------------------------------------------------


def error_and_target(prediction: Tensor, target: Tensor) -> tuple[Tensor, Tensor]:
    """p − y and y, both divided by max |y| of the sample unless it is 0."""
    prediction, target = matched(prediction, target)
    scale = scale_of(target)
    return (prediction - target) / scale, target / scale


def scale_of(field: Tensor) -> Tensor:
    """max |u| of each sample, or 1 where that is 0, as (batch, 1, 1, …)."""
    top = highest(field.detach())
    return torch.where(top > 0, top, 1).view(-1, *[1] * (field.ndim - 1))


def ratio(numerator: Tensor, denominator: Tensor) -> Tensor:
    """The quotient, with √tiny in place of a denominator of 0."""
    return numerator / denominator.clamp(min=math.sqrt(torch.finfo(denominator.dtype).tiny))


def norm(field: Tensor) -> Tensor:
    """The Euclidean norm of each sample; its gradient at 0 is 0."""
    return torch.linalg.vector_norm(field.flatten(1), dim=1)


def rms(field: Tensor) -> Tensor:
    return norm(field) / math.sqrt(math.prod(field.shape[1:]))


def highest(field: Tensor) -> Tensor:
    return field.abs().flatten(1).amax(1)


def h1_norm(field: Tensor, periodic: Sequence[bool], lengths: Sequence[float]) -> Tensor:
    """The H¹ norm of each sample, up to a factor that depends on the grid only."""
    root = trapezoid_roots(field, periodic)
    parts = [norm(root * field)]
    for axis, (is_periodic, length) in enumerate(zip(periodic, lengths, strict=True), start=2):
        if is_periodic:
            parts.append(norm(_spectral_slope(root * field, axis, length)))
        else:
            step = length / (field.shape[axis] - 1)
            (slope,) = torch.gradient(field, spacing=step, dim=axis, edge_order=2)
            parts.append(norm(root * slope))
    return norm(torch.stack(parts, 1))


def trapezoid_roots(field: Tensor, periodic: Sequence[bool]) -> Tensor:
    """√ of the trapezoid weights over the spacing: 1, times √½ for every face a point is on."""
    root = field.new_ones(field.shape[2:])
    for axis, is_periodic in enumerate(periodic):
        if not is_periodic:
            root.movedim(axis, 0)[[0, -1]] *= math.sqrt(0.5)
    return root


def _spectral_slope(field: Tensor, axis: int, period: float) -> Tensor:
    """(2πk/P) ûₖ for k ≥ 0, scaled such that the norm is that of the derivative at the points."""
    n = field.shape[axis]
    count = n // 2 + 1
    k = torch.arange(count, dtype=field.dtype, device=field.device)
    factor = (2 * math.pi / period) * k * root_of_multiplicity(count, n % 2 == 0, k)
    modes = torch.fft.rfft(field, dim=axis, norm="ortho")
    return modes * factor.view(-1, *[1] * (field.ndim - 1 - axis))


def root_of_multiplicity(count: int, last_once: bool, like: Tensor) -> Tensor:
    """√ of how many modes ±k stand for each k = 0 … count−1: √2, but 1 for 0 and maybe the last."""
    root = like.new_full((count,), math.sqrt(2))
    root[0] = 1
    if last_once:
        root[-1] = 1
    return root


def on_faces(shape: Sequence[int], periodic: Sequence[bool]) -> Tensor:
    """Whether a point is at an end of a closed axis, (*space).

    >>> on_faces((3, 3), (True, False)).int().tolist()
    [[1, 0, 1], [1, 0, 1], [1, 0, 1]]
    """
    faces = torch.zeros(tuple(shape), dtype=torch.bool)
    for axis, is_periodic in enumerate(periodic):
        if not is_periodic:
            faces.movedim(axis, 0)[[0, -1]] = True
    return faces


# --- checks ---------------------------------------------------------------------------------------


def matched(prediction: Tensor, target: Tensor) -> tuple[Tensor, Tensor]:
    """Both in one dtype of at least float32, or a ValueError."""
    prediction, target = checked(prediction, "prediction"), checked(target, "target")
    if prediction.shape != target.shape:
        raise ValueError(
            f"prediction and target must have the same shape, got {tuple(prediction.shape)} and "
            f"{tuple(target.shape)}; shapes are not broadcast: predict every channel on the "
            "target's grid"
        )
    dtype = torch.promote_types(prediction.dtype, target.dtype)
    return prediction.to(dtype), target.to(dtype)


def checked(field: Tensor, name: str = "field") -> Tensor:
    """A real field (batch, channel, *space) of at least float32, or a ValueError."""
    if not isinstance(field, Tensor) or not field.is_floating_point():
        got = field.dtype if isinstance(field, Tensor) else type(field).__name__
        raise ValueError(
            f"{name} must be a real floating-point torch.Tensor, got {got}; "
            "use torch.as_tensor(values).float()"
        )
    if field.ndim < 3 or field.numel() == 0:
        raise ValueError(
            f"{name} must be (batch, channel, *space) with at least one sample and one axis of "
            f"space, got {tuple(field.shape)}; a single field u of one channel is u[None, None]"
        )
    return field.to(torch.promote_types(field.dtype, torch.float32))


def check_axes(field: Tensor, periodic, lengths=None, *, least: int = 1) -> None:
    """ValueError unless one value per axis is given and closed axes have enough points."""
    shape = tuple(field.shape[2:])
    for name, values in (("periodic", periodic), ("lengths", lengths)):
        if values is not None and (not isinstance(values, Sequence) or len(values) != len(shape)):
            raise ValueError(
                f"{name} must be a tuple with one value for each of the {len(shape)} axes of "
                f"space {shape}, got {values!r}"
            )
    if lengths is not None and not all(0 < length < math.inf for length in lengths):
        raise ValueError(f"lengths must be positive and finite, got {lengths!r}")
    if any(n < least and not p for n, p in zip(shape, periodic, strict=True)):
        raise ValueError(
            f"a closed axis needs at least {least} points here, got a grid of {shape} with "
            f"periodic={tuple(periodic)}; use a finer grid"
        )
