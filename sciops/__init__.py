"""sciops: neural operators for scientists.

The public verbs live here and nothing else does. Each is imported from its module when it is first
used, so `import sciops` is quick and does not even load torch.
"""

from importlib import import_module
from typing import Any

from .version import __version__ as __version__

# public verb → the module that defines it
_VERBS = {
    "arch_parameters": "sciops.operators",
    "check": "sciops.domains.checking",
    "compare": "sciops.runs.comparison",
    "datasets": "sciops.catalogue",
    "doctor": "sciops.health",
    "from_arrays": "sciops.catalogue",
    "generate": "sciops.catalogue",
    "load": "sciops.catalogue",
    "open_run": "sciops.runs.opening",
    "read": "sciops.catalogue",
    "relax": "sciops.searching.patch",
    "relaxation_report": "sciops.searching.relaxation",
    "search": "sciops.runs.searches",
    "train_cosmic": "sciops.runs.cosmic",
    "train_music": "sciops.runs.music",
    "train_pde": "sciops.runs.pde",
    "train_protein": "sciops.runs.protein",
    "train_vision": "sciops.runs.vision",
    "transfer": "sciops.runs.transferring",
    "weight_parameters": "sciops.operators",
}
_PACKAGES = ("operators",)  # building blocks, reached as sciops.operators.XD

__all__ = sorted([*_VERBS, *_PACKAGES])


def __getattr__(name: str) -> Any:
    if name in _PACKAGES:
        return import_module(f"{__name__}.{name}")
    if name not in _VERBS:
        from .suggestions import did_you_mean

        raise AttributeError(
            f"module {__name__!r} has no attribute {name!r}; it has {', '.join(__all__)}"
            f"{did_you_mean(name, __all__)}"
        )
    value = globals()[name] = getattr(import_module(_VERBS[name]), name)
    return value


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
