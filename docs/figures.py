"""The pictures of the mathematics and of some results, drawn by the library itself.

    python -m docs.figures FOLDER

writes them as files to look at; the site draws them anew each time that it is built.
"""

import io
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import torch

from docs.strategy_curves import strategies
from sciops.operators import XD, arch_parameters, special
from sciops.operators.butterfly import butterfly_matrix, dft_twiddle, identity_twiddle
from sciops.plots.style import ERROR_MAP, MUTED, PALETTE, new_figure, styled

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

N = 16  # points of the matrices shown
ONE_DEEP = (1, 1, 1)


def picture(axes: "Axes", matrix: torch.Tensor, title: str, note: str = "") -> None:
    """The real part of a matrix, rows from the top: white is 0, red above, blue below."""
    values = matrix.detach().real.numpy()
    values = np.where(np.abs(values) < 1e-6, 0.0, values)
    limit = np.abs(values).max() or 1.0
    axes.imshow(values, origin="upper", aspect="equal", cmap=ERROR_MAP, vmin=-limit, vmax=limit)
    axes.set(xticks=[], yticks=[], title=title)
    axes.set_xlabel(note, color=MUTED)
    for spine in axes.spines.values():
        spine.set(visible=True, color=MUTED, linewidth=0.6)


def product(count: int, signs: str, height: float) -> "tuple[Figure, list[Axes]]":
    """A figure of some panels in a row, with a sign between each and the next."""
    figure = new_figure(11.0, height)
    widths = [1.0, *[0.1, 1.0] * (count - 1)]
    panels = figure.subplots(1, len(widths), width_ratios=widths)
    for axes, sign in zip(panels[1::2], signs, strict=True):
        axes.axis("off")
        axes.text(0.5, 0.5, sign, ha="center", va="center", fontsize=17, transform=axes.transAxes)
    return figure, list(panels[::2])


def moved(layer: torch.nn.Module, by: float) -> torch.nn.Module:
    """The same layer, or map, after its architecture has gone some way from its start."""
    generator = torch.Generator().manual_seed(0)
    own = list(arch_parameters(layer)) if isinstance(layer, XD) else list(layer.parameters())
    with torch.no_grad():
        for parameter in own:
            parameter += by * torch.randn(parameter.shape, generator=generator)
    return layer


# --- pictures -------------------------------------------------------------------------------------


@styled
def butterfly() -> "Figure":
    """The factors of a Fourier transform, and their product."""
    twiddle = dft_twiddle(N)
    figure, panels = product(len(twiddle) + 1, "···=", 2.7)
    for k in reversed(range(len(twiddle))):
        alone = identity_twiddle(N)
        alone[k] = twiddle[k]
        axes = panels[len(twiddle) - 1 - k]
        picture(axes, butterfly_matrix(alone), f"B{'₀₁₂₃'[k]}", f"pairs {2**k} apart")
    picture(panels[-1], butterfly_matrix(twiddle), "B₃ B₂ B₁ B₀", "Fourier, bit-reversed")
    return figure


@styled
def convolution() -> "Figure":
    """K, the diagonal and M of a convolution, and what they are together."""
    layer = grid_layer(3)
    with torch.no_grad():
        layer.weight.copy_(torch.tensor([[[-1.0, 2.0, -1.0]]]))
    maps = layer.frame
    k, taps_to_modes, m = (part[0].as_matrix() for part in (maps.k, maps.l, maps.m))
    placed = torch.zeros(N)
    placed[layer.frame.axes[0].taps()] = layer.weight[0, 0].detach()
    diagonal = torch.diag(taps_to_modes @ placed.to(k.dtype))
    figure, panels = product(4, "··=", 3.1)
    for axes, matrix, title, note in zip(
        panels,
        (k, diagonal, m, layer.as_matrix()),
        ("K = F⁻¹", "diag(L w)", "M = F", "Re( K diag(L w) M )"),
        ("modes → output", "w = (−1, 2, −1)", "input → modes", "the convolution"),
        strict=True,
    ):
        picture(axes, matrix, title, note)
    return figure


@styled
def family() -> "Figure":
    """Operations with a name, and one without, as matrices of one family."""
    order = torch.randperm(N, generator=torch.Generator().manual_seed(3))
    plain = grid_layer(3)
    spread = grid_layer(3, depth=(1, 3, 1))
    shuffled = grid_layer(3, depth=(1, 1, 3))
    pooled, same = (grid_layer(3, arch_bias=True, gates=True) for _ in range(2))
    axes_of = lambda layer: layer.frame.axes
    shown = {
        "convolution": plain,
        "dilated convolution": spread.set_maps(
            special.dilated_convolution(axes_of(spread), (1, 3, 1), 3)
        ),
        "permutation, convolution": shuffled.set_maps(
            special.permuted_convolution(axes_of(shuffled), (1, 1, 3), [order])
        ),
        "average pooling": pooled.set_maps(
            special.average_pooling(axes_of(pooled), ONE_DEEP, (1, 1))
        ),
        "identity": same.set_maps(special.identity(axes_of(same), ONE_DEEP, (1, 1))),
        "no name": moved(grid_layer(3), 0.15),
    }
    for layer in (plain, spread, shuffled, shown["no name"]):
        with torch.no_grad():
            layer.weight.copy_(torch.tensor([[[0.4, 1.0, -0.7]]]))
    figure = new_figure(11.0, 2.5)
    for axes, (title, layer) in zip(figure.subplots(1, len(shown)), shown.items(), strict=True):
        picture(axes, layer.as_matrix(), title)
        axes.title.set_fontsize(9.5)
    return figure


@styled
def frames() -> "Figure":
    """One function on several grids, through a layer of taps and through a band-limited one."""
    torch.manual_seed(0)
    conv = torch.nn.Conv1d(1, 1, 9, padding=4, padding_mode="circular", bias=False)
    band = moved(XD(1, 1, (9,), modes=(12,), spacing=1 / 32), 0.1)
    figure = new_figure(11.0, 3.2)
    panels = figure.subplots(1, 3, sharex=True)
    for count, colour, mark in (
        (128, PALETTE[0], ""),
        (32, PALETTE[1], "o"),
        (21, PALETTE[2], "s"),
    ):
        x = torch.arange(count) / count
        u = sampled(x)
        look = dict(color=colour, marker=mark, linestyle="none" if mark else "-", markersize=5)
        with torch.no_grad():
            for axes, y in zip(panels, (u, conv(u[None, None]), band(u[None, None])), strict=True):
                axes.plot(x, y.flatten(), label=f"{count} points", **look)
    titles = ("a function", "a convolution of 9 taps", "XD in the band frame")
    for axes, title in zip(panels, titles, strict=True):
        axes.set(title=title, xlabel="x")
    panels[0].legend(loc="lower left")
    return figure


@styled
def causal() -> "Figure":
    """Lower triangular K and M around a causal convolution."""
    plain, layer = (XD(1, 1, (3,), frame="causal", size=N) for _ in range(2))
    with torch.no_grad():
        for one in (plain, layer):
            one.weight.copy_(torch.tensor([[[-0.3, 0.5, 1.0]]]))
    for part in (layer.frame.k, layer.frame.m):
        moved(part, 0.12)
    k, m = (part[0].as_matrix() for part in (layer.frame.k, layer.frame.m))
    figure, panels = product(4, "··=", 3.1)
    impulses = lambda one: one(torch.eye(N)[:, None])[:, 0].T
    shown = ((k, "K"), (impulses(plain), "causal convolution"), (m, "M"))
    for axes, (matrix, title) in zip(panels, shown, strict=False):
        picture(axes, matrix, title)
    picture(panels[-1], impulses(layer), "causal XD", "nothing above the diagonal")
    return figure


def grid_layer(kernel: int, **options) -> XD:
    torch.manual_seed(0)
    return XD(1, 1, (kernel,), frame="grid", size=(N,), **options)


def sampled(x: torch.Tensor) -> torch.Tensor:
    turn = 2 * torch.pi * x
    return torch.sin(turn) + 0.5 * torch.cos(2 * turn + 1) + 0.25 * torch.sin(4 * turn)


PICTURES: dict[str, Callable[[], "Figure"]] = {
    "butterfly": butterfly,
    "convolution": convolution,
    "family": family,
    "frames": frames,
    "causal": causal,
    "strategies": strategies,
}


def drawn() -> dict[str, str]:
    """All pictures as SVG."""
    return {name: _svg(make()) for name, make in PICTURES.items()}


def _svg(figure: "Figure") -> str:
    import matplotlib

    text = io.StringIO()
    with matplotlib.rc_context({"svg.hashsalt": "sciops", "svg.fonttype": "path"}):
        figure.savefig(text, format="svg", bbox_inches="tight", metadata={"Date": None})
    return text.getvalue()


if __name__ == "__main__":
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    for name, make in PICTURES.items():
        make().savefig(folder / f"{name}.png", bbox_inches="tight")
