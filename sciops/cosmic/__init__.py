"""Cosmic rays in telescope images: reading, a simulator, and batches of stamps."""
