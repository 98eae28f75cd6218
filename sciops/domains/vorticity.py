"""Incompressible flow on a periodic rectangle, in Fourier space.

    w_t + u·∇w = ν Δw + f,        u = (∂_y ψ, −∂_x ψ),        −Δψ = w

With (u, v) the velocity, A = u² − v² and B = u v, the advection of w = v_x − u_y is

    −u·∇w = ∂_xy A + (∂_yy − ∂_xx) B,

so one evaluation takes two inverse and two forward transforms (Basdevant 1983) instead of the five
of −u·∇w itself.  A grid of n points carries the disc of frequencies |k| ≤ K = ⌊(n − 1)/3⌋: products
are then free of aliasing (the 2/3 rule), and a disc allows longer steps along the diagonals than
the square around it.  Stored are the (2K + 1, K + 1) coefficients of

    w(x, y) = Σ_k c_k exp(2πi (k_x x/L_x + k_y y/L_y)),        c_{−k} = conj(c_k),

which mean the same function on every grid.  Viscosity is integrated exactly, the rest by `etdrk`.
"""

from collections.abc import Callable, Iterator, Sequence

import numpy as np
import scipy.fft

from . import etdrk

COURANT = 2.0  # step · |u·k| at the largest |k|; a Runge–Kutta scheme of order four allows 2.8
MOST_STEPS = 20_000  # between two frames, when data is checked
STEADY = 1e-4


class Unstable(ValueError):
    """The solution left the numbers."""


def highest(n: int) -> int:
    """The highest frequency that n points carry without aliasing of products."""
    return (n - 1) // 3


def coefficients(w: np.ndarray, modes: int) -> np.ndarray:
    """c (…, 2·modes + 1, modes + 1) of fields w (…, n, m); frequencies they cannot have are zero.

    Rows are k_x = 0 … modes, −modes … −1.
    """
    n, m = w.shape[-2:]
    rows, columns = min(modes, (n - 1) // 2), min(modes, (m - 1) // 2) + 1
    half = scipy.fft.rfft(w, axis=-1, norm="forward")[..., :columns]
    full = scipy.fft.fft(half, axis=-2, norm="forward")
    c = np.zeros((*w.shape[:-2], 2 * modes + 1, modes + 1), complex)
    c[..., : rows + 1, :columns] = full[..., : rows + 1, :]
    c[..., 2 * modes + 1 - rows :, :columns] = full[..., n - rows :, :]
    return c


def values(c: np.ndarray, n: int) -> np.ndarray:
    """The fields (…, n, n) of coefficients c, of which frequencies from n/2 on are left out."""
    modes = c.shape[-1] - 1
    kept = min(modes, (n - 1) // 2)
    rows = np.zeros((*c.shape[:-2], n, kept + 1), complex)
    rows[..., : kept + 1, :] = c[..., : kept + 1, : kept + 1]
    rows[..., n - kept :, :] = c[..., 2 * modes + 1 - kept :, : kept + 1]
    rows = scipy.fft.ifft(rows, axis=-2, norm="forward", overwrite_x=True)
    return scipy.fft.irfft(rows, n, axis=-1, norm="forward", overwrite_x=True)


def wavenumbers(modes: int, lengths: tuple[float, float]) -> tuple[np.ndarray, np.ndarray]:
    """2π k_x / L_x (2·modes + 1, 1) and 2π k_y / L_y (modes + 1) of the stored coefficients."""
    rows = np.r_[0 : modes + 1, -modes:0]
    return 2 * np.pi / lengths[0] * rows[:, None], 2 * np.pi / lengths[1] * np.arange(modes + 1)


def disc(modes: int) -> np.ndarray:
    """(2·modes + 1, modes + 1) whether |k| ≤ modes."""
    x, y = wavenumbers(modes, (2 * np.pi, 2 * np.pi))
    return x**2 + y**2 <= modes**2 + 0.5


def velocity_symbols(modes: int, lengths: tuple[float, float]) -> np.ndarray:
    """(2, 2·modes + 1, modes + 1) the factors between coefficients of w and those of u and v."""
    x, y = wavenumbers(modes, lengths)
    squares = x**2 + y**2
    squares[0, 0] = np.inf  # a mean vorticity moves nothing
    return np.stack([1j * y / squares, -1j * x / squares])


def velocity(w: np.ndarray, lengths: tuple[float, float] = (1.0, 1.0)) -> np.ndarray:
    """(2, …, n, n): u and v of vorticity w (…, n, n)."""
    modes = (w.shape[-1] - 1) // 2
    c = coefficients(w, modes)
    return np.stack([values(s * c, w.shape[-1]) for s in velocity_symbols(modes, lengths)])


def advection(n: int, lengths: tuple[float, float], forcing: np.ndarray) -> Callable:
    """c ↦ coefficients of −u·∇w + f, for c (b, …), with products formed on n × n points."""
    modes = highest(n)
    x, y = wavenumbers(modes, lengths)
    of_a, of_b = -x * y * disc(modes), (x**2 - y**2) * disc(modes)  # of ∂_xy and ∂_yy − ∂_xx
    of_velocity = velocity_symbols(modes, lengths)[:, None]

    def nonlinear(c: np.ndarray) -> np.ndarray:
        u, v = values(of_velocity * c, n)
        products = np.empty((2, *u.shape))
        np.multiply(u + v, u - v, out=products[0])
        np.multiply(u, v, out=products[1])
        a, b = coefficients(products, modes)
        a *= of_a
        b *= of_b
        a += b
        a += forcing
        return a

    return nonlinear


def stable_step(w: np.ndarray, n: int, lengths: tuple[float, float] = (1.0, 1.0)) -> float:
    """The time step of Courant number `COURANT` for the fastest of fields w, solved on n points."""
    u, v = velocity(w, lengths)
    rate = 2 * np.pi * highest(n) * np.hypot(u / lengths[0], v / lengths[1]).max()
    return float(COURANT / max(rate, 1e-300))


def _march(
    c: np.ndarray, linear: np.ndarray, nonlinear: Callable, times: np.ndarray, max_step: float
) -> Iterator[np.ndarray]:
    """The coefficients at each of the times."""
    tables = {}
    for interval in np.diff(times, prepend=0.0):
        count = max(1, int(np.ceil(interval / max_step - 1e-9)))
        step = float(f"{interval / count:.12g}")  # so that equal intervals share a table
        if step not in tables:
            tables[step] = etdrk.coefficients(linear, step)
        for _ in range(count):
            c = etdrk.advance(c, nonlinear, tables[step])
        yield c


def solve_vorticity(
    w0: np.ndarray,
    viscosity: float,
    times: Sequence[float],
    *,
    max_step: float,
    forcing: np.ndarray | None = None,
    lengths: tuple[float, float] = (1.0, 1.0),
    solver_resolution: int | None = None,
    resolution: int | None = None,
) -> np.ndarray:
    """Vorticity (b, len(times), r, r) at increasing times > 0 from fields w0 (b, n, n) at time 0.

    max_step: time steps are this long, or a little shorter so as to meet the times
    forcing: f on a grid of any size, none by default
    lengths: the periods L_x, L_y
    solver_resolution: points a side on which products are formed; n by default
    resolution: points a side of the result, r; n by default
    """
    n, times = solver_resolution or w0.shape[-1], np.asarray(times, float)
    if not (np.diff(times, prepend=0.0) > 0).all():
        raise ValueError(f"times must be positive and increasing, not {times.tolist()}")
    modes = highest(n)
    x, y = wavenumbers(modes, lengths)
    f = disc(modes) * coefficients(np.zeros((n, n)) if forcing is None else forcing, modes)
    start, nonlinear = disc(modes) * coefficients(w0, modes), advection(n, lengths, f)
    frames = []
    with np.errstate(over="ignore", invalid="ignore"):
        for c in _march(start, -viscosity * (x**2 + y**2), nonlinear, times, max_step):
            frames.append(values(c, resolution or w0.shape[-1]))
            if not np.isfinite(c).all():
                raise Unstable(
                    f"the flow blew up before time {times[len(frames) - 1]:g} at viscosity="
                    f"{viscosity:g} with steps={int(np.ceil(times[-1] / max_step))} on {n} × {n} "
                    "points: take more steps"
                )
    return np.stack(frames, axis=1)


def relative_norm(difference: np.ndarray, scale: np.ndarray) -> np.ndarray:
    """‖difference‖ / ‖scale‖ over the last two axes; 0/0 is 0."""
    top, bottom = (np.sqrt((a**2).sum((-2, -1))) for a in (difference, scale))
    return np.where(top == 0, 0.0, top / np.maximum(bottom, 1e-300))


def _suspects(w: np.ndarray, times: np.ndarray) -> list[int]:
    """Frames to continue to the next: the first, the last but one, and where the change sticks out.

    A frame that was dropped, doubled or misplaced changes by more or less than its neighbours do.
    """
    last = len(times) - 2
    if last < 2:
        return list(range(last + 1))
    change = np.sqrt(((w[:, 1:] - w[:, :-1]) ** 2).mean((0, 2, 3))) / np.diff(times)
    bend = np.abs(np.diff(np.log(np.maximum(change, 1e-12 * change.max() + 1e-300)), 2))
    return sorted({0, 1 + int(np.argmax(bend)), last})


def continuation_defects(
    w: np.ndarray, times: np.ndarray, *, solver_resolution: int, **equation
) -> np.ndarray:
    """‖w_{i+1} − Φ(w_i)‖ / ‖w_{i+1} − w_i‖ of w (b, t, n, n), the worst of a few i, per sample.

    Φ solves from one frame to the next; `equation` is the viscosity, forcing and lengths.  A change
    of less than STEADY·‖w_{i+1}‖ counts as that: of a steady flow only the rounding changes.
    Frequencies up to n/4 are compared: those that the grid lacks spoil the highest first.
    Infinite for samples that cannot be continued: not finite, or too fast for their frames.
    """
    n = w.shape[-1]
    worst = np.where(np.abs(w).max((1, 2, 3)) < 1e100, 0.0, np.inf)
    sound = np.flatnonzero(worst == 0)
    for i in _suspects(w[sound], times) if len(sound) else []:
        for s in sound:
            end = _follow(w[s, i], times[i + 1] - times[i], solver_resolution, **equation)
            fields = np.stack([w[s, i + 1] - end, w[s, i + 1] - w[s, i], w[s, i + 1]])
            smooth = values(coefficients(fields, n // 4), n)
            wrong, change, size = np.sqrt((smooth**2).sum((-2, -1)))
            defect = wrong / max(change, STEADY * size, 1e-300)
            worst[s] = max(worst[s], defect if np.isfinite(defect) else np.inf)
    return worst


def _follow(w: np.ndarray, interval: float, n: int, *, viscosity, forcing, lengths) -> np.ndarray:
    """One field an interval later; NaN where it cannot be followed."""
    step = stable_step(w, n, lengths)
    if interval > MOST_STEPS * step:
        return np.full_like(w, np.nan)
    settings = {"max_step": step, "lengths": lengths, "solver_resolution": n}
    try:
        return solve_vorticity(w[None], viscosity, [interval], forcing=forcing, **settings)[0, 0]
    except Unstable:
        return np.full_like(w, np.nan)
