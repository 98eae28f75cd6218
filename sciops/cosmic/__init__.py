"""Cosmic rays in images of telescopes: reading, a simulator, batches of stamps, cleaned images."""
