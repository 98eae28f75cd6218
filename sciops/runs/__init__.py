"""Runs: training by one line, the folder of the result, comparisons of several."""

# What is no equation and has a verb of its own, with the operators that it knows: `train_<name>`,
# which returns the `<Name>Run` of runs/<name>_run.py; its page is reporting/<name>_report.py.
TASKS = {
    "protein": "conv, dilated, unet, xd-hybrid (if not given) or xd-grid",
    "music": "conv, undilated, xd (if not given) or xd-grid",
    "cosmic": "unet, unet-xd (if not given), unet-xd-grid, resnet, resnet-xd, resnet-xd-grid, fno "
    "or xd",
    "vision": "conv, xd (if not given), kop, discrete, klayer, linear or term",
}
