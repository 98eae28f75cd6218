"""Labelled data: stores on disk, how they are made, and samples for networks."""
