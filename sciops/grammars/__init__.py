"""Architectures as terms of a grammar: how they are written, drawn, compared and searched."""
