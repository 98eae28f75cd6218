"""Runs: training by one line, the folder of the result, comparisons of several."""

# What `train_pde` knows for every equation, the usual one first.
OPERATORS = ("xd", "conv", "dnarch", "fno", "neuralop", "unet", "xd-grid")

# What is no equation and has a verb of its own, with the operators that it knows, the usual one
# first: `train_<name>`, which returns the `<Name>Run` of runs/<name>_run.py; its page is
# reporting/<name>_report.py.
TASKS = {
    "protein": ("xd-hybrid", "conv", "dilated", "unet", "xd-grid"),
    "music": ("xd", "conv", "undilated", "xd-grid"),
    "cosmic": (
        *("unet-xd", "unet", "unet-xd-grid", "resnet", "resnet-xd", "resnet-xd-grid"),
        *("fno", "xd", "dnarch"),
    ),
    "vision": ("xd", "conv", "kop", "discrete", "klayer", "linear", "dnarch"),
}
