"""What to type: the lines below the help of every command."""

EXAMPLES: dict[str, tuple[str, ...]] = {
    "data list": ("sciops data list",),
    "data generate": (
        "sciops data generate darcy --out darcy.zarr --n 1000 --n-test 100 --resolution 85",
        "sciops data generate burgers --out b.zarr --n 500 --set viscosity=0.01",
        "sciops data generate navier_stokes --out ns.zarr --n 200 --scheduler tcp://HOST:8786",
    ),
    "data read": (
        "sciops data read darcy piececonst_r421_N1024_smooth1.mat --out darcy.zarr --resolution 85",
        "sciops data read darcy mine.npz --field a=coeff --field u=sol --set forcing=1.0 "
        "--out mine.zarr",
        "sciops data read protein my-proteins/ --out proteins.zarr",
        "sciops data read vision mnist/ --set variant=permuted --out permuted.zarr",
    ),
    "data check": ("sciops data check darcy.zarr", "sciops data check darcy.zarr --json"),
    "train": (
        "sciops train darcy --op xd --epochs 20 --out darcy-xd --report",
        "sciops train burgers --op fno --resolution 256 --set viscosity=0.01",
        "sciops train navier_stokes --forecast steps --data ns.zarr",
        "sciops train protein --op dilated --data proteins.zarr --set depth=18",
        "sciops train music --set collection=nottingham --data Nottingham.mat",
        "sciops train darcy --devices 2 --strategy ddp --json",
    ),
    "compare": (
        "sciops compare darcy --ops conv,fno,xd --seeds 3 --epochs 20 --csv table.csv",
        "sciops compare darcy --ops conv,fno,xd,xd-grid --resolutions 32,64,85 --out compared",
        "sciops compare burgers --ops fno,xd --seconds 120 --set xd.taps=13 --json",
    ),
    "search": (
        "sciops search digits --space xd --strategy joint --budget 30 --set variant=permuted",
        "sciops search darcy --space discrete --strategy bilevel --set order=1 --out darcy-search",
        "sciops search vision --data cifar/ --space nos --report",
    ),
    "evaluate": (
        "sciops evaluate darcy-xd",
        "sciops evaluate darcy-xd --data darcy.zarr --split val --csv scores.csv",
        "sciops evaluate darcy-xd --symmetrised --json",
        "sciops evaluate darcy-xd --costs",
    ),
    "transfer": (
        "sciops transfer darcy-xd --resolutions 43,64,85,127",
        "sciops transfer darcy-xd --resolutions 43,85 --json",
        "sciops transfer xd-on-32 xd-on-64 --resolutions 32,64,128",
    ),
    "report": ("sciops report darcy-xd --resolutions 43,64,85",),
    "clean": (
        "sciops clean image.fits --run cosmic-xd --out cleaned",
        "sciops clean a.fits b.fits --run cosmic-xd --threshold 0.8 --overwrite",
    ),
    "doctor": ("sciops doctor", "sciops doctor --json"),
}


def examples(command: str) -> str:
    """As typer takes an epilogue: paragraphs, each of which it prints on lines of its own.

    >>> examples("data list")
    'Examples:\\n\\nsciops data list'
    """
    return "\n\n".join(["Examples:", *EXAMPLES[command]])
