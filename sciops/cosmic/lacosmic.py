"""LA Cosmic (van Dokkum 2001), the classical opponent, by the package astroscrappy.

It flags a pixel whose Laplacian is more than `sigclip` times the noise, in images of counts: the
noise is computed from them, the gain and the read noise, unless the variance is given.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from sciops.metrics.mask import RocCurve

SIGCLIPS = (0.5, 1, 1.5, 2, 3, 4, 4.5, 5, 6, 8, 10, 15, 20, 30, 50, 100)


class Noise(NamedTuple):
    """What LA Cosmic knows of a camera: electrons to a count, read noise and full well in them."""

    gain: float = 1.0
    read_noise: float = 6.5
    saturation: float = 65536.0


def lacosmic_mask(
    image: np.ndarray,
    *,
    sigclip: float = 4.5,
    sigfrac: float = 0.3,
    objlim: float = 5.0,
    rounds: int = 4,
    noise: Noise | None = None,
    variance: np.ndarray | None = None,
    unknown: np.ndarray | None = None,
) -> np.ndarray:
    """The pixels of an image (h, w) that LA Cosmic flags, bool; none where it is not finite.

    variance: of each pixel, in counts squared; None computes it from the noise
    unknown:  pixels that are hidden from it; it does not flag their neighbours either
    """
    detect = _detector()
    noise = Noise() if noise is None else noise
    image = np.ascontiguousarray(image, np.float32)
    out = ~np.isfinite(image)
    if unknown is not None:
        out |= np.asarray(unknown, bool)
    if out.all():
        raise ValueError("the image has no known pixel that is a finite number")
    image = np.where(out, np.median(image[~out]), image)
    if variance is not None:
        variance = np.ascontiguousarray(variance, np.float32)
        variance = np.where(out, np.median(variance[~out]), variance)
    flagged, _ = detect(
        image,
        inmask=out,
        invar=variance,
        sigclip=sigclip,
        sigfrac=sigfrac,
        objlim=objlim,
        gain=noise.gain,
        readnoise=noise.read_noise,
        satlevel=noise.saturation,
        niter=rounds,
    )
    return flagged.astype(bool) & ~out


def lacosmic_rates(
    images: Sequence[np.ndarray],
    truths: Sequence[np.ndarray],
    unknown: Sequence[np.ndarray] | None = None,
    *,
    sigclips: Sequence[float] = SIGCLIPS,
    variances: Sequence[np.ndarray] | None = None,
    **options,
) -> RocCurve:
    """Its ROC curve over all pixels of some images, by sweeping `sigclip`; the rest as in options.

    Thresholds are the sigclips, in the order given; there are no further corners.

    Pixels that are unknown or not finite are not counted.  But for the latter it sees them: were
    they hidden, it would miss every hit next to one of them, and bad pixels may be many.
    """
    unknown = [np.zeros(np.shape(image), bool) for image in images] if unknown is None else unknown
    variances = [None] * len(images) if variances is None else variances
    if not len(images) == len(truths) == len(unknown) == len(variances) > 0:
        raise ValueError(
            "expected a truth, a mask of unknown pixels and a variance for each image, got "
            f"{len(images)} images, {len(truths)}, {len(unknown)} and {len(variances)}"
        )
    counts = np.zeros((len(sigclips), 2, 2))  # (threshold, clean or hit, passed or flagged)
    for image, truth, out, variance in zip(images, truths, unknown, variances, strict=True):
        judged = np.isfinite(image) & ~np.asarray(out, bool)
        hit = np.asarray(truth, bool)[judged]
        for row, sigclip in zip(counts, sigclips, strict=True):
            flagged = lacosmic_mask(image, sigclip=sigclip, variance=variance, **options)[judged]
            np.add.at(row, (hit.astype(int), flagged.astype(int)), 1)
    with np.errstate(invalid="ignore"):  # NaN where there is no such pixel
        shares = counts[..., 1] / counts.sum(-1)
    return RocCurve(shares[:, 0], shares[:, 1], np.array(sigclips, float))


def _detector():
    try:
        from astroscrappy import detect_cosmics
    except ImportError:
        raise ImportError(
            "LA Cosmic is in the package astroscrappy, which is not installed: "
            'pip install "sciops[cosmic]"'
        ) from None
    return detect_cosmics
