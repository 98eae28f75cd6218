"""Runs: training by one line, the folder of the result, comparisons of several."""
