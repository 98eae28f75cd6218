"""Cosmic rays in images of telescopes: files, a simulator, crops of stamps, filling, LA Cosmic."""
