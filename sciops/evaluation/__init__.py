"""Judging a trained model: scores, other grids, roll-outs, the classical solver."""
