"""How all figures look: one palette, one type size, room to breathe.

Colours are those of Okabe and Ito, which colour-blind readers tell apart.  Figures are plain
`matplotlib.figure.Figure`s: no window opens and no global state is left behind.
"""

import io
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache, wraps
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

INK = "#22272e"  # text and axes
MUTED = "#747d89"  # what is said in a low voice: ticks, notes, reference lines
RULE = "#dde1e6"  # grid lines
PAPER = "#ffffff"
PALETTE = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9")  # Okabe, Ito

FIELD_MAP = "viridis"
INPUT_MAP = "cividis"
ERROR_MAP = "RdBu_r"  # symmetric about 0

NOTEBOOK_DPI = 72  # a slide's width is then about that of a notebook

SMALLEST = 1e-12  # of the largest value on a logarithmic axis: below is rounding

# a logarithmic axis of less than this factor has ticks at these multiples of powers of ten
TICKS = {4: (1, 1.5, 2, 3, 4, 5, 7), 20: (1, 2, 3, 5), 500: (1, 2, 5), np.inf: (1,)}

STYLE = {
    "font.family": "DejaVu Sans",  # comes with matplotlib: the same picture everywhere
    "font.size": 11.0,
    "text.usetex": False,
    "text.parse_math": False,  # a name in the data may have a $
    "text.color": INK,
    "axes.titlesize": 12.0,
    "axes.titleweight": "normal",
    "axes.titlecolor": INK,
    "axes.titlepad": 8.0,
    "axes.labelsize": 11.0,
    "axes.labelcolor": INK,
    "axes.edgecolor": MUTED,
    "axes.facecolor": "none",
    "axes.linewidth": 0.8,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": False,
    "axes.axisbelow": True,
    "grid.color": RULE,
    "grid.linewidth": 0.8,
    "xtick.color": MUTED,
    "ytick.color": MUTED,
    "xtick.labelcolor": INK,
    "ytick.labelcolor": INK,
    "xtick.labelsize": 10.0,
    "ytick.labelsize": 10.0,
    "lines.linewidth": 2.0,
    "lines.markersize": 6.0,
    "legend.frameon": False,
    "legend.fontsize": 10.5,
    "figure.facecolor": PAPER,
    "figure.dpi": 110.0,
    "savefig.dpi": 160.0,
    "savefig.facecolor": "auto",
    "image.origin": "lower",
    "image.interpolation": "none",
}


@contextmanager
def own_style(**settings) -> Iterator[None]:
    """Our settings of matplotlib, whatever the reader's are, and then theirs again."""
    import matplotlib

    with matplotlib.rc_context():
        matplotlib.rcdefaults()
        matplotlib.rcParams.update({**STYLE, **settings})
        yield


def styled(draw: Callable[..., "Figure"]) -> Callable[..., "Figure"]:
    """A drawing function in our own style."""

    @wraps(draw)
    def in_style(*args, **options) -> "Figure":
        with own_style():
            return draw(*args, **options)

    return in_style


def new_figure(width: float, height: float) -> "Figure":
    """An empty figure, in inches; a slide is about 12 wide."""
    figure = _figure_class()(figsize=(width, height), layout="constrained")
    figure.get_layout_engine().set(w_pad=0.08, h_pad=0.08)
    return figure


@cache
def _figure_class() -> "type[Figure]":
    """Figures that notebooks show; matplotlib's own are shown only if pyplot was imported."""
    from matplotlib.figure import Figure

    class ShownFigure(Figure):
        def _repr_png_(self) -> bytes:
            from PIL import Image

            drawn, small = io.BytesIO(), io.BytesIO()
            self.savefig(drawn, format="png", dpi=NOTEBOOK_DPI)
            Image.open(drawn).convert("RGB").save(small, format="png", optimize=True)
            return small.getvalue()

    return ShownFigure


def colour(index: int) -> str:
    """The colour of the line with this number."""
    return PALETTE[index % len(PALETTE)]


def with_rules(axes: "Axes", which: str = "y") -> "Axes":
    """Fine lines behind the data."""
    axes.grid(True, which="major", axis=which)
    return axes


def log_scale(axes: "Axes", which: str, values: np.ndarray, *, powers: bool = False) -> None:
    """Make the axis "x" or "y" logarithmic, long enough for the values and a factor of 4 at least.

    Ticks are plain numbers, 0.01, 0.02, 0.03, 0.05, …, or powers, 10⁻⁸, 10⁻⁶, …
    """
    from matplotlib.ticker import FuncFormatter, LogLocator, NullLocator

    values = np.asarray(values, float)
    values = values[np.isfinite(values) & (values > 0)]
    low, high = (values.min(), values.max()) if values.size else (0.1, 1.0)
    low = max(low, high * SMALLEST)
    room = max(1.25, 2 / np.sqrt(high / low))
    axes.set(**{f"{which}scale": "log"})
    axes.set(**{f"{which}lim": (low / room, high * room)})
    steps = (1,) if powers else next(s for span, s in TICKS.items() if high < span * low)
    axis = axes.yaxis if which == "y" else axes.xaxis
    axis.set_major_locator(LogLocator(subs=steps))
    axis.set_minor_locator(NullLocator())
    write = power_of_ten if powers else "{:g}".format
    axis.set_major_formatter(FuncFormatter(lambda value, _: write(value)))


def power_of_ten(value: float) -> str:
    """A power of ten in Unicode.

    >>> power_of_ten(1e-8), power_of_ten(100.0)
    ('10⁻⁸', '10²')
    """
    exponent = str(round(np.log10(value)))
    return "10" + exponent.translate(str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹"))


def label_of(name: str, attrs: dict) -> str:
    """What to write beside an axis or above a field: its long name, or its name, and the unit.

    >>> label_of("u", {"long_name": "pressure", "units": "Pa"}), label_of("x", {"units": "1"})
    ('pressure (Pa)', 'x')
    """
    text, unit = str(attrs.get("long_name") or name), str(attrs.get("units") or "1")
    return text if unit == "1" else f"{text} ({unit})"


def short(value: float) -> str:
    """A number with three significant digits.

    >>> short(0.1197), short(1234.5), short(3e-7), short(0.0), short(float("nan"))
    ('0.120', '1230', '3.00e-07', '0', '–')
    """
    if value != value:
        return "–"
    if value == 0 or 1000 <= abs(value) < 1e6:
        return f"{float(f'{value:.3g}'):.0f}"
    return f"{value:#.3g}".rstrip(".")
