"""Splits of things of different lengths."""

import numpy as np
import xarray as xr


def toy_splits(seed: int = 0) -> dict[str, xr.Dataset]:
    """Three dimensions, several chunks of the longest one, attributes of each split's own."""
    rng = np.random.default_rng(seed)
    splits = {}
    for split, lengths in {"train": [300, 500, 7], "test": [400]}.items():
        n = np.array(lengths, np.int32)
        splits[split] = xr.Dataset(
            {
                "length": ("word", n, {"long_name": "how many letters"}),
                "letter": ("character", rng.integers(0, 255, n.sum(), np.uint8)),
                "vector": (("character", "axis"), rng.random((n.sum(), 3), np.float32)),
                "pair": ("two", rng.random(4 * (n**2).sum(), np.float32)),
            },
            attrs={"name": "toy", "ids": [f"w{i}" for i in n]},
        )
    return splits
