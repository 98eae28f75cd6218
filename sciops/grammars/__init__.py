"""Grammars: spaces of architectures as algebra.  Nothing here builds a network."""
