"""Cosmic rays in images of telescopes: reading, made-up images, masks, and cleaned images."""
