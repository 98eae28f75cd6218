"""Polyphonic music as piano rolls: reading, made-up pieces, and batches of whole sequences."""
