"""The section about sizes that a network learned."""

from typing import TYPE_CHECKING

from sciops.backbones.complexity import measured_flops
from sciops.backbones.trimmed import ccnn_in
from sciops.plots.found_sizes import block_sizes, complexity_curve, size_masks
from sciops.plots.style import short

from .page import drawing, pair, paragraph, section, table

if TYPE_CHECKING:
    from sciops.backbones.ccnn import Ccnn
    from sciops.runs.run import AbstractRun

WORDS = (
    "A continuous CNN (DNArch): masks say how far kernels reach, which frequencies, channels and "
    "blocks are used, and learn it by gradients. What lies outside is not computed. The complexity "
    "is the published count of operations, in units of the base network with kernels of any size."
)
BLOCKS = (
    "Grey squares are the domain, the filled parts the kernels, dark frames the frequencies that "
    "are kept, with the points that these need; below the channels that a block reads from the "
    "stream, has in the middle and writes to it."
)


def sizes_section(run: "AbstractRun") -> str:
    """What was found, what it costs, and the masks; "" where nothing of the kind was learned."""
    network = ccnn_in(run.model)
    if network is None or not network.sizes.learn:
        return ""
    sizes = network.sizes
    parts = [paragraph(WORDS), drawing(block_sizes(sizes), "architecture", BLOCKS)]
    if "complexity" in run.history:
        target = None if sizes.penalty() is None else sizes.target
        curve = drawing(complexity_curve(run.history, target), "complexity", "After each epoch.")
        parts.append(pair(curve, table(["", ""], _numbers(network), "text")))
    caption = "Lines of the first block are dark, of the last light; below the dashes all is 0."
    return section("What it became", *parts, drawing(size_masks(sizes), "masks", caption))


def _numbers(network: "Ccnn") -> list[list[str]]:
    sizes = network.sizes
    size = [axis.size for axis in network.task.axes]
    x = next(network.parameters()).new_zeros(2, network.task.in_channels, *size)
    flops = measured_flops(network, x) / 2
    return [
        ["complexity, of the base network", short(sizes.complexity().item())],
        ["operations of a prediction, measured", f"{flops / 1e6:.1f} million"],
        ["blocks", f"{sizes.blocks()} of {sizes.max_blocks}"],
        ["learned", sizes.learn],
    ]
