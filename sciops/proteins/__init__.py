"""Proteins: from alignments and structures, or PDNET's files, to feature and distance maps."""
