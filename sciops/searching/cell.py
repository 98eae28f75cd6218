"""The heterogeneous cell as a search space: how a strategy drives it.

    supernet = Supernet(plan)                      all networks of a plan in one
    supernet.arch_parameters()                     what the architecture optimiser moves; also found
                                                   by sciops.arch_parameters(any model it is in)
    answer, guidance = guided(supernet, teacher, x)
    loss = error(answer, y) + GUIDANCE_WEIGHT * guidance      of the weights on training data and of
                                                   the architecture on other data; without a teacher
                                                   error(supernet(x), y)
    genotype = supernet.derive()                   or random_genotype(plan, seed)
    network = build(genotype, plan)                plain layers; trained from scratch, unguided
    inherit(network, supernet)                     or with the supernet's weights, not trained again

Supernets and networks take `(batch, channel, *space)` in one to three dimensions.  For the fields
of a task `plan_for_fields(task)` sizes them and `Positioned(network, task)` gives them coordinates.
"""

import torch
from torch import nn

from sciops.backbones.cell_network import CellNetwork, CellPlan, derived_network, plan_for_fields
from sciops.backbones.genotype import Genotype
from sciops.backbones.positioned import Positioned
from sciops.operators.boundaries import NORMS

from .derivation import one_hot, random_cell
from .guidance import GUIDANCE_WEIGHT, guidance_loss, guided
from .supernet import Supernet

__all__ = [
    "GUIDANCE_WEIGHT",
    "CellNetwork",
    "CellPlan",
    "Genotype",
    "Positioned",
    "Supernet",
    "build",
    "guidance_loss",
    "guided",
    "inherit",
    "one_hot_weights",
    "plan_for_fields",
    "random_genotype",
]


def build(genotype: Genotype, plan: CellPlan) -> CellNetwork:
    """The network of a genotype, with new weights."""
    return derived_network(plan, genotype)


def random_genotype(plan: CellPlan, seed: int) -> Genotype:
    """A genotype drawn from all that the plan can have, each as probable as any other."""
    generator = torch.Generator().manual_seed(seed)
    kinds = sorted(set(plan.kinds))
    return Genotype(**{kind: random_cell(plan.n_nodes, generator) for kind in kinds})


def one_hot_weights(genotype: Genotype) -> dict[str, torch.Tensor]:
    """With these `supernet.forward_stages(x, weights)` is the network of the genotype."""
    kinds = {kind: genotype.cell(kind) for kind in ("normal", "reduction")}
    return {kind: one_hot(nodes) for kind, nodes in kinds.items() if nodes}


def inherit(network: CellNetwork, supernet: Supernet) -> CellNetwork:
    """Give a network the weights that its operations have in the supernet.

    Scales and shifts of batch norms, which the supernet does not have, stay as they are.
    """
    shared, own = supernet.network.state_dict(), network.state_dict()
    extra = own.keys() - shared.keys() - _scales_and_shifts(network)
    wrong = [name for name in own.keys() & shared.keys() if own[name].shape != shared[name].shape]
    if extra or wrong:
        raise ValueError(
            f"the network has layers that the supernet does not, as {min([*extra, *wrong])}; "
            "build both from the same plan"
        )
    network.load_state_dict({name: shared.get(name, own[name]) for name in own})
    return network


def _scales_and_shifts(network: nn.Module) -> set[str]:
    norms = [name for name, module in network.named_modules() if isinstance(module, NORMS)]
    return {f"{name}.{which}" for name in norms for which in ("weight", "bias")}
